# SPDX-License-Identifier: Apache-2.0
"""Programs of tests, each in a process of its own, since a process loads the plug-in once."""

import os
import subprocess
import sys


def expect_done(case, program):
    """Fails the test case with the program's messages unless it ends well and prints "done" alone."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    case.assertEqual((done.returncode, done.stdout.strip()), (0, "done"), done.stderr)
