# SPDX-License-Identifier: Apache-2.0
"""Cases of one test program, and the values that they record for run_tests.py.

run_tests.py starts a program twice: on Gantry's devices and on TensorFlow's CPU kernels. A case runs the same code on
both sides and records values by name. The runner compares a value of one side with the value of the other:

    exact        dtype, shape and every bit; a NaN equals a NaN
    within=x     dtype and shape; the difference is at most x times the largest magnitude of the value
    text         equal strings

A case writes its record when it ends, so a process that dies names the case that killed it.
"""

import argparse
import collections
import os
import pickle
import re
import time
import traceback

SIZES = ("quick", "full", "nightly")
# What TensorFlow itself keeps on the CPU: input pipelines, and plumbing that every graph has.
PLUMBING = re.compile(r"(Dataset|Iterator|Optional|^_|^Arg$|^Const$|^NoOp$|^Placeholder|Summary|Assert|^Print|^String|^GetOptions$)")


class Skip(Exception):
    """A case cannot run here; the text says why."""


class Record:
    """What one case hands to the runner."""

    def __init__(self, side, size):
        self.side = side
        self.size = size
        self.values = []
        self.notes = []
        self.faults = []

    @property
    def on_gantry(self):
        return self.side == "gantry"

    def exact(self, name, value, signs=True):
        """`signs`: a zero keeps its sign."""
        self.values.append((name, "exact", float(signs), as_array(value)))

    def within(self, name, value, bound, floor=0.0):
        """`floor`: a magnitude that the bound counts from, where the value may vanish."""
        self.values.append((name, "within", (bound, floor), as_array(value)))

    def text(self, name, value):
        self.values.append((name, "text", 0.0, str(value)))

    def note(self, text):
        """A line that the runner prints under the case."""
        self.notes.append(text)

    def check(self, condition, text):
        """A promise of only one side. The case goes on, so that a later fault shows as well."""
        if not condition:
            self.faults.append(text)


def as_array(value):
    import numpy

    array = value.numpy() if hasattr(value, "numpy") else numpy.asarray(value)
    # numpy's own pickles do not know bfloat16: its bits travel under its name
    return (str(array.dtype), numpy.asarray(array).copy() if array.dtype.kind != "V" else array.view(numpy.uint16))


class Program:
    """The cases of a program in the order of their definition."""

    def __init__(self):
        self.cases = []

    def case(self, size="full", gantry_only=False):
        """Decorator: the case runs at `size` and at every larger size."""

        def add(function):
            self.cases.append((function.__name__, SIZES.index(size), gantry_only, function))
            return function

        return add

    def main(self):
        arguments = parse_arguments()
        wanted = SIZES.index(arguments.size)
        check_side(arguments.side)
        with open(arguments.out, "ab") as out:
            for name, size, gantry_only, function in self.cases:
                if size > wanted or name in arguments.done or not re.search(arguments.select, name):
                    continue
                if gantry_only and arguments.side != "gantry":
                    continue
                pickle.dump({"case": name, "state": "begun"}, out)
                out.flush()
                pickle.dump(run_case(name, function, arguments), out)
                out.flush()


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--side", choices=("gantry", "cpu"), default="gantry")
    parser.add_argument("--size", choices=SIZES, default="full")
    parser.add_argument("--select", default="")
    parser.add_argument("--done", nargs="*", default=[])
    parser.add_argument("--out", default=os.devnull)
    return parser.parse_args()


def check_side(side):
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    if side == "cpu" and gpus:
        raise SystemExit(f"the CPU's side lists {gpus}")
    if side == "gantry" and not gpus:
        raise SystemExit("no GPU is listed: the plug-in was not loaded, or found no device")


def run_case(name, function, arguments):
    record = Record(arguments.side, arguments.size)
    result = {"case": name, "state": "ok"}
    begin = time.monotonic()
    try:
        function(record)
    except Skip as reason:
        result["state"] = "skipped"
        record.notes.append(str(reason))
    except Exception:  # pylint: disable=broad-except
        result["state"] = "failed"
        record.faults.append(traceback.format_exc())
    result.update(values=record.values, notes=record.notes, faults=record.faults, seconds=time.monotonic() - begin)
    if arguments.out == os.devnull:
        print(name, result["state"], *record.faults, *record.notes, sep="\n  ")
    return result


class Placements:
    """Counts the nodes of all graphs that run inside the block, by op, type and device."""

    def __enter__(self):
        from tensorflow.python.eager import context

        self.context = context.context()
        self.context.enable_graph_collection()
        self.on_gpu = 0
        self.on_cpu = collections.Counter()
        return self

    def __exit__(self, *_):
        metadata = self.context.export_run_metadata()
        self.context.disable_graph_collection()
        for function in metadata.function_graphs:
            self.count([node for part in function.partition_graphs for node in part.node])

    def count(self, nodes):
        """Counts one function. A function wholly on the CPU is an input pipeline's, but for an eager op's: it has one
        node that computes."""
        gpu = sum("device:GPU" in node.device for node in nodes)
        cpu = [node for node in nodes if "device:CPU" in node.device and not PLUMBING.search(node.op)]
        self.on_gpu += gpu
        if gpu or len(cpu) == 1:
            self.on_cpu.update(described(node) for node in cpu if not is_shape_arithmetic(node))


def node_types(node):
    from tensorflow import dtypes

    names = [name for name in ("SrcT", "DstT", "T", "dtype", "out_type", "Tparams") if name in node.attr]
    return [dtypes.as_dtype(node.attr[name].type) for name in names]


def described(node):
    return f"{node.op}({', '.join(kind.name for kind in node_types(node))})"


def is_shape_arithmetic(node):
    """Integers and bools of the CPU only; TensorFlow computes shapes there, on real GPUs too."""
    kinds = node_types(node)
    return node.op in ("Shape", "ShapeN", "Size", "Rank") or bool(kinds) and all(kind.is_integer or kind.is_bool for kind in kinds)
