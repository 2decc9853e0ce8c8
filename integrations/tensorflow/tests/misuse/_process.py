# SPDX-License-Identifier: Apache-2.0
"""Where the plug-in under test is, and children with a deadline."""

import glob
import os
import signal
import subprocess
import sys
import sysconfig

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from child import LONGEST_SECONDS  # noqa: E402

FOUND = "skipped: no file of the plug-in was found beside this Python's TensorFlow"


def plugin_file():
    path = os.environ.get("TF_PLUGGABLE_DEVICE_LIBRARY_PATH", "")
    if os.path.isfile(path):
        return path
    installed = glob.glob(os.path.join(sysconfig.get_paths()["platlib"], "tensorflow-plugins", "*gantry*"))
    return installed[0] if installed else None


def take_interrupts():
    """A shell lets its background jobs ignore SIGINT, and their children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(code, **environment):
    """A Python process that runs `code`; its output can be read line by line."""
    return subprocess.Popen([sys.executable, "-u", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, env=dict(os.environ, **environment), preexec_fn=take_interrupts)


def run(code, **environment):
    """Exit code and output of a Python process; a hang is an error."""
    child = start(code, **environment)
    try:
        output, _ = child.communicate(timeout=LONGEST_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        raise AssertionError(f"hangs: {child.communicate()[0]}") from None
    return child.returncode, output
