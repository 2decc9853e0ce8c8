# SPDX-License-Identifier: Apache-2.0
"""Programs of tests, each in a process of its own, since a process loads the plug-in once."""

import os
import subprocess
import sys

# The longest that a program may take. It ends one that hangs; a busy machine takes long, and no test judges a time.
LONGEST_SECONDS = 3600


def expect_done(case, program):
    """Fails the test case with the program's messages unless it ends well and prints only "done"."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=LONGEST_SECONDS,
    )
    case.assertEqual((done.returncode, done.stdout.strip()), (0, "done"), done.stderr)
