# SPDX-License-Identifier: Apache-2.0
"""The command `gantry` of the wheel."""

import os
import sys

from gantry_tensorflow import places


def main():
    try:
        os.execv(places.COMMAND, [places.COMMAND] + sys.argv[1:])
    except OSError as error:
        print(f"gantry: {places.COMMAND} does not start: {error.strerror}; install the wheel again: "
              "pip install --force-reinstall --no-deps gantry-tensorflow", file=sys.stderr)
        return 1
