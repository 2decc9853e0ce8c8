# SPDX-License-Identifier: Apache-2.0
"""python -m gantry_tensorflow: doctor, build-variables, report."""

import argparse
import runpy
import sys

from gantry_tensorflow import doctor, places

REPORT = """\
GANTRY_TF_REPORT=1 python program.py    prints at exit which ops ran on the CPU, how often, and the bytes they moved
GANTRY_TRACE=trace.json python program.py, then `gantry trace trace.json --html page.html`    a timeline of ops and copies
docs/tensorflow.md explains both.
"""


def run_doctor(options, _):
    return doctor.run(as_json=options.json, require=options.require)


def run_build_variables(_, rest):
    """The script in the folder of the C++ file does the work and has its own options."""
    script = places.BUILD_VARIABLES
    sys.argv = [f"{sys.argv[0]} build-variables", *rest]
    return runpy.run_path(script)["main"](rest)


def run_report(_, __):
    print(REPORT, end="")
    return 0


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m gantry_tensorflow",
                                     description="Gantry's devices as GPUs of TensorFlow.")
    parser.add_argument("--version", action="version", version=f"gantry-tensorflow {places.VERSION}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    command = commands.add_parser("doctor", help="says whether TensorFlow and Gantry work together, and the remedies")
    command.add_argument("--json", action="store_true", help="prints one JSON value and nothing else")
    command.add_argument("--require", type=int, default=0, metavar="N", help="fails with fewer than N GPUs in TensorFlow")
    command.set_defaults(run=run_doctor)
    command = commands.add_parser("build-variables", add_help=False,
                                  help="compiles what TensorFlow 2.19 and later need for variables, once")
    command.set_defaults(run=run_build_variables)
    command = commands.add_parser("report", help="says how to see which ops ran on the CPU")
    command.set_defaults(run=run_report)
    options, rest = parser.parse_known_args(arguments)
    if rest and options.run is not run_build_variables:
        parser.error(f"\"{rest[0]}\" is not understood")
    return options.run(options, rest)


if __name__ == "__main__":
    sys.exit(main())
