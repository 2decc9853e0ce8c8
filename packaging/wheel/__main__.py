# SPDX-License-Identifier: Apache-2.0
"""python -m gantry --cflags --libs: what a compiler needs to build a program with the library of this package."""
import shlex
import sys

from . import CMAKE_PREFIX_PATH, INCLUDE, LIB, PKG_CONFIG_PATH

ANSWERS = {
    "--cflags": shlex.quote(f"-I{INCLUDE}"),
    "--libs": f"{shlex.quote(f'-L{LIB}')} -lgantry {shlex.quote(f'-Wl,-rpath,{LIB}')}",
    "--pkg-config-path": PKG_CONFIG_PATH,
    "--cmake-prefix-path": CMAKE_PREFIX_PATH,
}
if len(sys.argv) < 2 or not set(sys.argv[1:]) <= set(ANSWERS):
    sys.exit(f'python -m gantry: "{" ".join(sys.argv[1:])}" is not understood; accepted are {" ".join(ANSWERS)}')
print(" ".join(ANSWERS[option] for option in sys.argv[1:]))
