#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: Unmodified TensorFlow programs give on Gantry's devices what TensorFlow's CPU kernels give.

Runs TensorFlow programs on Gantry's devices and on TensorFlow's CPU kernels, and compares them.

    python run_tests.py [--quick | --nightly] [--plugin FILE] [--select PATTERN] [--timeout SECONDS]

Run it by a Python that has TensorFlow. Without --plugin, the plug-in is the one installed in that Python. Unless the
environment says otherwise, PoCL's CPU devices are the two GPUs. The last line counts: N passed, N failed, N skipped.
Exit code: 0 all passed; 1 something failed, or nothing was tested.
"""

import argparse
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import time

import numpy

from child import LONGEST_SECONDS

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = ("errors.py", "training.py", "random_graphs.py", "memory.py")
QUICK_MISUSE = ("no_device.py",)
EXECUTING = re.compile(r"(Executing op \S+ in device \S+)$")
# TensorFlow's and Gantry's messages, the node that a message names in a line of its own, and the nodes of the small
# graphs that eager ops make
MESSAGE = re.compile(r"^([IWEF]\d{4} |\d{4}-\d\d-\d\d |WARNING: |To enable the following|[IWEF] gantry|gantry|\S+: \(\S+\): /job:|"
                     r"\t \[\[.*\]\]$|$)")


class Totals:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def report(self, name, faults, notes=(), seconds=0.0, skipped=False):
        state = "skipped" if skipped else "FAILED" if faults else "ok"
        print(f"{name:48} {state:8} {seconds:6.1f} s", flush=True)
        for line in [*faults, *notes]:
            print("    " + line.rstrip().replace("\n", "\n    "), flush=True)
        self.skipped += skipped
        self.failed += bool(faults) and not skipped
        self.passed += not faults and not skipped

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped", flush=True)
        return 1 if self.failed or not self.passed else 0


def environment(side, options, **changes):
    """The environment of a test process: the plug-in under test, and two GPUs."""
    values = dict(os.environ)
    values.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    values.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    if side == "gantry":
        values.setdefault("GANTRY_OPENCL_CPU", "gpu")
        values.setdefault("POCL_DEVICES", "pthread pthread")
    else:
        # An installed plug-in then lists no GPU. Hidden ones would not do: Keras chooses XLA where a GPU is listed,
        # visible or not, and XLA draws other random numbers.
        values["GANTRY_BACKENDS"] = "cpu"
    if options.plugin:
        values.pop("TF_PLUGGABLE_DEVICE_LIBRARY_PATH", None)
        if side == "gantry":
            values["TF_PLUGGABLE_DEVICE_LIBRARY_PATH"] = options.plugin
            package = os.path.join(os.path.dirname(HERE), "python")
            values["PYTHONPATH"] = os.pathsep.join([package, values.get("PYTHONPATH", "")])
    values.update(changes)
    return values


def ending(code):
    """How a process ended, in words."""
    if code >= 0:
        return f"exit code {code}"
    return f"died by {signal.Signals(-code).name}"


# ---- programs of cases --------------------------------------------------------------------------


class Side:
    """One side of a program: its processes, one after another while cases kill them, and its results."""

    def __init__(self, program, side, options, folder):
        self.program, self.side, self.options = program, side, options
        self.out = os.path.join(folder, f"{program}.{side}")
        self.log = self.out + ".log"
        self.results = {}
        self.process = None

    def start(self):
        command = [sys.executable, os.path.join(HERE, self.program), "--side", self.side, "--size", self.options.size,
                   "--select", self.options.case, "--out", self.out, "--done", *self.results]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, env=environment(self.side, self.options), stdout=log,
                                            stderr=subprocess.STDOUT)

    def finish(self):
        """Waits; starts the process again after a case that killed it."""
        while True:
            code = self.wait()
            dead = self.read(code)
            if not dead:
                return
            self.start()

    def wait(self):
        try:
            return self.process.wait(timeout=self.options.timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def read(self, code):
        """Reads the records; returns the case in which the process died."""
        begun = None
        if os.path.exists(self.out):
            with open(self.out, "rb") as records:
                for record in unpickled(records):
                    begun = record["case"] if record["state"] == "begun" else None
                    if not begun:
                        self.results[record["case"]] = record
            os.remove(self.out)
        if code and not begun:
            self.results["(start)"] = self.failure("(start)", code)
        if begun:
            self.results[begun] = self.failure(begun, code)
        return begun

    def failure(self, case, code):
        text = f"{self.side}: the process ended, {ending(code)}\n" + tail(self.log)
        return {"case": case, "state": "failed", "values": [], "faults": [text], "notes": [], "seconds": 0.0}


def unpickled(file):
    while True:
        try:
            yield pickle.load(file)
        except EOFError:
            return


def tail(path, lines=25):
    with open(path, "r", errors="replace") as file:
        return "".join(file.readlines()[-lines:])


def run_program(program, options, totals, folder):
    sides = [Side(program, side, options, folder) for side in ("gantry", "cpu")]
    for side in sides:
        side.start()
    for side in sides:
        side.finish()
    gantry, cpu = sides
    for case, mine in gantry.results.items():
        theirs = cpu.results.get(case)
        faults, notes = judge(mine, theirs)
        name = case if program == "quick.py" else f"{program[:-3]}.{case}"
        totals.report(name, faults, notes, mine["seconds"], mine["state"] == "skipped")
    for case in cpu.results.keys() - gantry.results.keys():
        totals.report(f"{program[:-3]}: {case}", ["ran on the CPU's side alone"])


def judge(mine, theirs):
    """Faults and notes of a case. A case without a CPU side has promises of its own only."""
    faults, notes = list(mine["faults"]), list(mine["notes"])
    if theirs is None:
        return faults, notes
    faults += [f"TensorFlow's CPU side: {fault}" for fault in theirs["faults"]]
    if "failed" in (mine["state"], theirs["state"]) or mine["state"] == "skipped":
        return faults, notes
    other = {name: (kind, bound, value) for name, kind, bound, value in theirs["values"]}
    for name, (ours, *_) in zip(other, mine["values"]):
        if name != ours:
            return faults + [f"the sides recorded different values: {ours}, and on the CPU {name}"], notes
    for name, kind, bound, value in mine["values"]:
        fault = difference(kind, bound, value, other[name][2])
        if fault:
            faults.append(f"{name}: {fault}")
    return faults[:12] + ([f"... {len(faults) - 12} more"] if len(faults) > 12 else []), notes


def difference(kind, bound, mine, theirs):
    """None where two values agree; else a text."""
    if kind == "text":
        return None if mine == theirs else f"text differs\n  gantry: {mine}\n  cpu:    {theirs}"
    (dtype, ours), (wanted, reference) = mine, theirs
    if dtype != wanted or ours.shape != reference.shape:
        return f"{dtype}{list(ours.shape)} instead of {wanted}{list(reference.shape)}"
    if kind == "exact":
        return inexact(ours, reference, signs=bool(bound))
    return outside(ours, reference, *bound, dtype)


def inexact(ours, reference, signs):
    if ours.dtype.kind == "O":
        return None if list(ours.flat) == list(reference.flat) else f"{ours} instead of {reference}"
    same = ours == reference
    if ours.dtype.kind in "fc":
        same |= numpy.isnan(ours) & numpy.isnan(reference)
        if signs and ours.dtype.kind == "f":
            same &= (numpy.signbit(ours) == numpy.signbit(reference)) | numpy.isnan(ours)
    if numpy.all(same):
        return None
    at = tuple(int(place[0]) for place in numpy.nonzero(~same)) if ours.ndim else ()
    return f"{numpy.sum(~same)} of {ours.size} differ, first at {list(at)}: {ours[at]!r} instead of {reference[at]!r}"


def outside(ours, reference, bound, floor, dtype):
    if dtype == "bfloat16":
        ours, reference = ((half.astype(numpy.uint32) << 16).view(numpy.float32) for half in (ours, reference))
    wide = numpy.complex128 if ours.dtype.kind == "c" else numpy.float64
    ours, reference = ours.astype(wide), reference.astype(wide)
    odd = ~(numpy.isfinite(ours) & numpy.isfinite(reference))
    same = (ours == reference) | (numpy.isnan(ours) & numpy.isnan(reference))
    if numpy.any(odd & ~same):
        return f"{numpy.sum(odd & ~same)} of {ours.size} are not finite alike"
    finite = numpy.where(odd, 0, reference)
    scale = numpy.max(numpy.abs(finite), initial=floor)
    error = numpy.max(numpy.abs(numpy.where(odd, 0, ours) - finite), initial=0.0)
    if error <= bound * scale:
        return None
    return f"differs by {error / scale if scale else error:.3g} of the largest value; {bound:.3g} is allowed"


# ---- the guide, and programs that misuse TensorFlow ---------------------------------------------


def run_guide(options, totals, folder):
    with open(os.path.join(HERE, "guide_expected.txt")) as file:
        parts = re.split(r"^== (\S+)( quick)?\n", file.read(), flags=re.M)[1:]
    for name, quick, wanted in zip(parts[0::3], parts[1::3], parts[2::3]):
        if (options.size == "quick" and not quick) or not re.search(options.case, name):
            continue
        begin = time.monotonic()
        log = os.path.join(folder, "guide.log")
        with open(log, "w") as file:  # one stream for both, as in a terminal
            code = subprocess.call([sys.executable, "-u", os.path.join(HERE, "guide.py"), name], stdout=file,
                                   stderr=subprocess.STDOUT, timeout=options.timeout,
                                   env=environment("gantry", options, TF_CPP_MIN_LOG_LEVEL="0"))
        faults = [] if not code else [ending(code) + "\n" + tail(log)]
        printed = guide_lines(log)
        if not faults and printed != wanted.split("\n")[:-1]:
            faults = [first_difference(printed, wanted.split("\n")[:-1])]
        totals.report(f"guide.{name}", faults, seconds=time.monotonic() - begin)


def guide_lines(log):
    """What the script printed, and the lines of log_device_placement; not TensorFlow's other messages."""
    lines = []
    with open(log, errors="replace") as file:
        for line in file.read().split("\n"):
            executing = EXECUTING.search(line)
            if executing or not MESSAGE.match(line):
                lines.append(executing.group(1).replace("op _Mkl", "op ") if executing else line)  # oneDNN's on the CPU
    return lines


def first_difference(printed, wanted):
    for number, (mine, theirs) in enumerate(zip(printed + ["(end)"], wanted + ["(end)"]), 1):
        if mine != theirs:
            return f"line {number}\n  printed:  {mine}\n  expected: {theirs}"
    return "the number of lines differs"


def run_misuse(options, totals, folder):
    for file in sorted(os.listdir(os.path.join(HERE, "misuse"))):
        if not file.endswith(".py") or file.startswith("_") or not re.search(options.case, file):
            continue
        if options.size == "quick" and file not in QUICK_MISUSE:
            continue
        begin = time.monotonic()
        log = os.path.join(folder, file + ".log")
        with open(log, "w") as out:
            code = subprocess.call([sys.executable, os.path.join(HERE, "misuse", file)], stdout=out,
                                   stderr=subprocess.STDOUT, timeout=options.timeout,
                                   env=environment("gantry", options))
        lines = tail(log, 1000).split("\n")
        skip = [line for line in lines if line.startswith("skipped: ")]
        faults = [] if not code and ("ok" in lines or skip) else [ending(code) + "\n" + tail(log)]
        totals.report(f"misuse.{file[:-3]}", faults, skip, time.monotonic() - begin, bool(skip) and not faults)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", dest="size", action="store_const", const="quick", default="full")
    parser.add_argument("--nightly", dest="size", action="store_const", const="nightly")
    parser.add_argument("--plugin", help="libgantry_tensorflow.so; default: the installed one")
    parser.add_argument("--select", default="", metavar="PATTERN", help="guide, misuse, or a program; PROGRAM.CASE")
    parser.add_argument("--timeout", type=float, default=0, help="seconds for a process")
    options = parser.parse_args()
    options.program, _, options.case = options.select.partition(".")
    options.plugin = os.path.abspath(options.plugin) if options.plugin else None
    options.timeout = options.timeout or LONGEST_SECONDS * (4 if options.size == "nightly" else 1)
    return options


def main():
    options = parse_options()
    totals = Totals()
    with tempfile.TemporaryDirectory(prefix="gantry-tensorflow-") as folder:
        if options.size == "quick" and not options.program:
            run_program("quick.py", options, totals, folder)
        else:
            for program in PROGRAMS:
                if program.startswith(options.program):
                    run_program(program, options, totals, folder)
        if "guide".startswith(options.program):
            run_guide(options, totals, folder)
        if "misuse".startswith(options.program):
            run_misuse(options, totals, folder)
    return totals.finish()


if __name__ == "__main__":
    sys.exit(main())
