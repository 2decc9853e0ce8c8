# SPDX-License-Identifier: Apache-2.0
"""Where the ops of a TensorFlow program ran.

The plug-in counts its own kernels and copies. This module counts what ran on the CPU, if
GANTRY_TF_REPORT=1 is set when TensorFlow is imported:

  eager ops   TensorFlow reports each one, with the device of its result (op_callbacks).
  functions   TensorFlow reports the graphs of each function that it made ready, cut into one graph
              for each device, after all optimizations (run metadata). A node counts once for each
              call of its function.
  sessions    of TensorFlow 1 give the same of each graph that they run (session_report.py).

The first two cost about 4 us for each eager op, and belong to the thread that runs the first op. While they
are on, tf.summary.trace_on(graph=True) finds no graphs: the run metadata is taken already.

Steps of a loop inside a function count as one; ops of input pipelines (tf.data) are not reported by
TensorFlow. The report says so.
"""

import atexit
import collections
import ctypes
import json
import os
import sys

from gantry_tensorflow import device_info, session_report

SETTING = "GANTRY_TF_REPORT"

# Nodes that compute nothing: TensorFlow's own parts of a graph.
STRUCTURE = frozenset(
    "_Arg _Retval _DeviceArg _DeviceRetval _Send _Recv _HostSend _HostRecv _EagerConst NoOp Const "
    "Identity IdentityN Enter RefEnter Exit RefExit Merge RefMerge Switch RefSwitch _SwitchN "
    "NextIteration RefNextIteration LoopCond ControlTrigger Placeholder VarHandleOp If While Case "
    "StatelessIf StatelessWhile StatelessCase PartitionedCall StatefulPartitionedCall "
    "ReadVariableOp DestroyResourceOp VarIsInitializedOp StopGradient PreventGradient".split()
)

NO_KERNEL = "no kernel for Gantry's devices"
PLACED = "TensorFlow or the program chose the CPU"

NOT_SEEN = (
    "Not counted: ops of input pipelines (tf.data), steps of loops after the first, eager ops of "
    "threads other than the main one."
)


def _text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def _is_pipeline(op):
    return "Dataset" in op or "Iterator" in op or op == "GetOptions"


class _Reasons:
    """Why an op of these types has no kernel on Gantry's devices."""

    def __init__(self):
        self._kernels = {}

    def _of(self, op):
        if op not in self._kernels:
            from tensorflow.python.framework import kernels

            found = kernels.get_registered_kernels_for_op(op).kernel
            self._kernels[op] = [k for k in found if k.device_type in ("GPU", "DEFAULT")]
        return self._kernels[op]

    def why(self, op, types):
        """types: the numbers of the op's type attributes, by name."""
        found = self._of(op)
        if not found:
            return NO_KERNEL
        for kernel in found:
            if all(
                types.get(c.name) is None or types[c.name] in c.allowed_values.list.type
                for c in kernel.constraint
            ):
                return PLACED
        from tensorflow.python.framework import dtypes

        names = sorted(
            {
                dtypes.as_dtype(types[c.name]).name
                for kernel in found
                for c in kernel.constraint
                if types.get(c.name) and types[c.name] not in c.allowed_values.list.type
            }
        )
        return f"no kernel for {', '.join(names)} on Gantry's devices"


class _Function:
    def __init__(self):
        self.calls = 0
        self.nodes = collections.Counter()  # (op, why)


class Counter:
    """Counts what runs on the CPU, from start() on."""

    def __init__(self):
        self._reasons = _Reasons()
        self._eager = collections.Counter()  # (op, why)
        self._functions = collections.defaultdict(_Function)
        self._session_graphs = []
        self.is_on = False
        self.will_start = False  # with the first op
        self.failure = ""

    def start(self):
        from tensorflow.python.eager import context
        from tensorflow.python.framework import op_callbacks

        self.is_on = True
        self._context = context
        context.context().enable_run_metadata()
        op_callbacks.add_op_callback(self._see)

    def _see(self, op_type, inputs, attrs, outputs, op_name=None, graph=None):
        """TensorFlow's callback for each op. A failure of the report is none of the program. The
        next callback, such as tf.debugging.enable_check_numerics, takes what this one returns. The
        op of a graph has a list of outputs, which TensorFlow hands over as a tuple."""
        if graph is None and not self.failure:
            try:
                self._count(_text(op_type), attrs, outputs)
            except Exception as error:  # whatever it is, the program continues
                self.failure = repr(error)
        return list(outputs)

    def _count(self, op, attrs, outputs):
        device = getattr(outputs[0], "device", "") if outputs else ""
        graphs = self._context.context().export_run_metadata().function_graphs
        if op.startswith(("__inference_", "__forward_", "__backward_")):
            function = self._functions[op, device]
            function.calls += 1
            for made in graphs:
                self._add_graphs(function, made.partition_graphs)
        elif "CPU:" in device and op not in STRUCTURE:
            if not _is_pipeline(op):
                self._eager[op, self._reasons.why(op, self._eager_types(attrs))] += 1

    @staticmethod
    def _eager_types(attrs):
        pairs = list(attrs or ())
        return {
            _text(name): int(value)
            for name, value in zip(pairs[::2], pairs[1::2])
            if isinstance(value, int) and not isinstance(value, bool)
        }

    def _add_graphs(self, function, graphs):
        for node in (node for graph in graphs for node in graph.node):
            if "CPU:" not in node.device or node.op in STRUCTURE or _is_pipeline(node.op):
                continue
            types = {name: value.type for name, value in node.attr.items() if value.type}
            function.nodes[node.op, self._reasons.why(node.op, types)] += 1

    def new_session_graph(self):
        """Counts for a graph of a tf.Session, whose runs its caller adds to `calls`."""
        self._session_graphs.append(_Function())
        return self._session_graphs[-1]

    def add_session_graphs(self, function, metadata):
        """Adds the graphs of a run's serialized metadata to these counts."""
        from tensorflow.core.protobuf import config_pb2

        try:
            self._add_graphs(function, config_pb2.RunMetadata.FromString(metadata).partition_graphs)
        except Exception as error:  # whatever it is, the program continues
            self.failure = repr(error)

    def rows(self):
        """One row for each op, reason and place: the most calls first."""
        sums = collections.Counter()
        for (op, why), calls in self._eager.items():
            sums[op, why, "eager"] += calls
        for (name, _), function in self._functions.items():
            short = name.split("_", 3)[-1].rsplit("_", 1)[0]
            for (op, why), nodes in function.nodes.items():
                sums[op, why, short] += nodes * function.calls
        for function in self._session_graphs:
            for (op, why), nodes in function.nodes.items():
                sums[op, why, "tf.Session"] += nodes * function.calls
        return [
            {"op": op, "calls": calls, "why": why, "in": place}
            for (op, why, place), calls in sorted(sums.items(), key=lambda row: (-row[1], row[0]))
        ]


_counter = Counter()
_library = None


def _read_library():
    if _library is None:
        return {}
    needed = _library.gantry_tensorflow_report(None, 0)
    text = ctypes.create_string_buffer(needed + 4096)
    _library.gantry_tensorflow_report(text, len(text))
    return json.loads(text.value.decode("utf-8", "replace"))


def report():
    """What ran where, as a dict: devices with their memory and copies, calls of kernels on Gantry's
    devices, and calls of ops on the CPU with the reason. Ops are counted only if GANTRY_TF_REPORT=1
    was set when TensorFlow was imported; "counts_ops" says so."""
    found = _read_library()
    return {
        "devices": found.get("devices", []),
        "kernels": sorted(found.get("kernels", []), key=lambda row: (-sum(row["calls"]), row["op"])),
        "cpu_ops": _counter.rows(),
        "counts_ops": _counter.is_on or _counter.will_start,
        "not_counted": NOT_SEEN,
        "failure": _counter.failure,
    }


def oom_report(device=None):
    """Who held the memory of a GPU ("GPU:0") when it last failed for lack of it; None: of all GPUs. A text, empty if no GPU
    failed so."""
    texts = []
    for ordinal in range(len(_read_library().get("devices", [])) if device is None else 0):
        texts.append(oom_report(f"GPU:{ordinal}"))
    if device is not None and _library is not None:
        ordinal = int(device.rsplit(":", 1)[-1])
        text = ctypes.create_string_buffer(_library.gantry_tensorflow_oom_report(ordinal, None, 0) + 1)
        _library.gantry_tensorflow_oom_report(ordinal, text, len(text))
        texts.append(text.value.decode("utf-8", "replace"))
    return "\n".join(filter(None, texts))


def _bytes(count):
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def _copies(row):
    return f"{_bytes(row['bytes'])} in {row['copies']}"


def _device_lines(devices):
    yield "Devices"
    for device in devices:
        yield f"  {device['name']}  {device['hardware']}"
        yield (
            f"    memory: {_bytes(device['peak_bytes'])} at most"
            + (f", limit {_bytes(device['limit_bytes'])}" if device["limit_bytes"] else "")
        )
        yield (
            f"    copies: {_copies(device['to_device'])} from the host, "
            f"{_copies(device['to_host'])} to the host, "
            f"{_copies(device['from_device'])} from other devices"
        )


def _op_lines(found):
    yield "Ops on the CPU"
    if not found["cpu_ops"]:
        yield "  none"
    for row in found["cpu_ops"]:
        yield f"  {row['op']:<32}{row['calls']:>9}  {row['why']}; {row['in']}"
    names = "".join(f"{device['name']:>9}" for device in found["devices"])
    yield f"{'Ops on Gantry devices':<34}{names}"
    for row in found["kernels"]:
        yield f"  {row['op']:<32}" + "".join(f"{calls:>9}" for calls in row["calls"])


def format_report(found=None):
    """report() as text."""
    found = report() if found is None else found
    lines = ["gantry-tensorflow: where this program's ops ran", *_device_lines(found["devices"])]
    if found["counts_ops"]:
        lines += [*_op_lines(found), found["not_counted"]]
        if found["failure"]:
            lines.append(f"Counting on the CPU ended early: {found['failure']}")
    else:
        lines.append(f"Ops were not counted: set {SETTING}=1 before TensorFlow is imported.")
    return "\n".join(lines)


def _at_exit(prints, process):
    if os.getpid() != process:
        return  # a child of fork
    if prints:
        print(format_report(), file=sys.stderr, flush=True)
    _library.gantry_tensorflow_end_trace()


def install(library):
    """Called once, when TensorFlow loads the plug-in. library: its path."""
    global _library
    _library = device_info.open_library(library)
    _library.gantry_tensorflow_report.restype = ctypes.c_size_t
    _library.gantry_tensorflow_report.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    _library.gantry_tensorflow_end_trace.restype = None
    prints = os.environ.get(SETTING, "").lower() in ("1", "on", "true", "yes")
    atexit.register(_at_exit, prints, os.getpid())
    return prints and _start_later()


def _start_later():
    """TensorFlow is not imported to the end yet: its context begins with the first op or call."""
    from tensorflow.python.eager import context

    ensure = context.Context.ensure_initialized

    def ensure_initialized(self):
        ensure(self)
        if not _counter.is_on:
            context.Context.ensure_initialized = ensure
            _counter.start()

    context.Context.ensure_initialized = ensure_initialized
    session_report.install(_counter)
    _counter.will_start = True
    return True
