#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes random models of several nodes, with the outputs of ONNX Runtime: cases of node_tests.c.

    random_graphs.py FOLDER [--seed N] [--count N]

A model has two inputs, 4 to 14 steps over the values so far, and all values that nobody reads as outputs, with some
others. Steps are elementwise ops, reductions, normalisations, convolutions and pools, products, moves, shape
arithmetic, an If whose condition the values decide, Loop, Scan, LSTM, GRU, RNN, and products of quantised values. Operator sets are 13 to 22. Models whose outputs are not finite,
or that ONNX Runtime refuses, are left out. Needs onnx, onnxruntime and numpy.
"""
import argparse
import importlib.util
import os
import random
import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

HERE = os.path.dirname(os.path.abspath(__file__))
SPEC = importlib.util.spec_from_file_location("make_versions", os.path.join(HERE, "make_versions.py"))
versions = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(versions)

OPSETS = (13, 14, 15, 16, 17, 18, 19, 20, 21, 22)
UNARY = ("Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Softplus", "Softsign", "Erf", "HardSwish", "HardSigmoid", "LeakyRelu", "Elu", "Selu",
         "Identity", "Sin", "Cos", "ThresholdedRelu", "Celu", "Gelu", "Mish")
SINCE = {"HardSwish": 14, "Gelu": 20, "Mish": 18, "LayerNormalization": 17}
BINARY = ("Add", "Sub", "Mul", "Max", "Min", "Add", "Mul")
REDUCTIONS = ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceLogSumExp")
MOST_ELEMENTS = 4000


class Graph:
    """A graph that grows: values are names with shapes of float32."""

    def __init__(self, rng, numbers, opset, prefix="", values=()):
        self.rng, self.numbers, self.opset, self.prefix = rng, numbers, opset, prefix
        self.nodes, self.tensors, self.values, self.read, self.count = [], [], list(values), set(), 0

    def name(self, kind):
        self.count += 1
        return self.rng.choice(("{p}{k}{n}", "{p}/{k}:{n}", "{p}{k} {n}'", "model/{p}{k}/{n}:0")).format(p=self.prefix, k=kind, n=self.count)

    def constant(self, shape, low=-1.5, high=1.5):
        return self.tensor(self.numbers.uniform(low, high, shape).astype(np.float32))

    def ints(self, *values):
        return self.tensor(np.array(values, np.int64))

    def tensor(self, array):
        name = self.name("c")
        self.tensors.append(versions.tensor_of(name, array))
        return name

    def node(self, op, inputs, **attrs):
        """A node whose result is no value of later steps."""
        if self.opset < SINCE.get(op, 0):
            op = "Tanh"
        name = self.name(op)
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attrs))
        self.read.update(inputs)
        return name

    def emit(self, op, inputs, shape, **attrs):
        name = self.node(op, inputs, **attrs)
        self.values.append((name, tuple(shape)))
        return name

    def pick(self, rank=None):
        found = [value for value in self.values if rank is None or len(value[1]) == rank]
        return self.rng.choice(found[-5:]) if found else None


def step_unary(graph):
    x, shape = graph.pick()
    op = graph.rng.choice(UNARY)
    graph.emit(op, [x], shape)


def step_safe(graph):
    """Ops whose argument must not be any number."""
    x, shape = graph.pick()
    op = graph.rng.choice(("Exp", "Sqrt", "Reciprocal", "Log", "Pow"))
    if op == "Exp":
        graph.emit(op, [graph.node("Tanh", [x])], shape)
        return
    above = graph.node("Add", [graph.node("Abs", [x]), graph.constant((), 0.5, 1.5)])
    graph.emit(op, [above, graph.constant((), -1, 2)] if op == "Pow" else [above], shape)


def step_clip(graph):
    x, shape = graph.pick()
    graph.emit("Clip", [x, graph.constant((), -1, 0), graph.constant((), 0, 1)][: graph.rng.choice((2, 3))], shape)


def step_binary(graph):
    x, shape = graph.pick()
    op = graph.rng.choice(BINARY)
    same = [name for name, other in graph.values if other == shape]
    if graph.rng.random() < 0.5:
        graph.emit(op, [x, graph.rng.choice(same)], shape)
        return
    part = tuple(1 if graph.rng.random() < 0.4 else size for size in shape[graph.rng.randint(0, len(shape)) :])
    inputs = [x, graph.constant(part)]
    graph.emit(op, inputs[::-1] if graph.rng.random() < 0.3 else inputs, shape)


def step_reduce(graph):
    x, shape = graph.pick()
    if not shape:
        return
    axis, op, keeps = graph.rng.randint(0, len(shape) - 1), graph.rng.choice(REDUCTIONS), graph.rng.random() < 0.8
    result = [1 if i == axis else size for i, size in enumerate(shape)] if keeps else shape[:axis] + shape[axis + 1 :]
    if graph.opset >= (13 if op == "ReduceSum" else 18):
        reduced = graph.emit(op, [x, graph.ints(axis - len(shape))], result, keepdims=int(keeps))
    else:
        reduced = graph.emit(op, [x], result, axes=[axis], keepdims=int(keeps))
    if keeps and graph.rng.random() < 0.6:
        graph.emit(graph.rng.choice(("Sub", "Mul", "Add")), [x, reduced], shape)


def step_norm(graph):
    x, shape = graph.pick()
    if not shape:
        return
    axis = graph.rng.randint(-len(shape), -1)
    kind = graph.rng.choice(("Softmax", "LogSoftmax", "LayerNormalization", "InstanceNormalization", "BatchNormalization"))
    if kind == "LayerNormalization" and graph.opset >= 17:
        graph.emit(kind, [x, graph.constant(shape[axis:]), graph.constant(shape[axis:])], shape, axis=axis)
    elif kind == "InstanceNormalization" and len(shape) >= 3:
        graph.emit(kind, [x, graph.constant(shape[1:2]), graph.constant(shape[1:2])], shape)
    elif kind == "BatchNormalization" and len(shape) >= 2:
        each = shape[1:2]
        graph.emit(kind, [x, graph.constant(each), graph.constant(each), graph.constant(each), graph.constant(each, 0.3, 2)], shape)
    else:
        graph.emit("LogSoftmax" if kind == "LogSoftmax" else "Softmax", [x], shape, axis=axis)


def follow(graph, y, shape):
    """What may be folded into a convolution, or be part of its kernel."""
    each = (shape[1], 1, 1)
    for _ in range(graph.rng.randint(0, 3)):
        kind = graph.rng.choice(("BatchNormalization", "Mul", "Add", "Relu", "Sigmoid", "Sum"))
        if kind == "BatchNormalization":
            own = [graph.constant(each[:1]) for _ in range(3)] + [graph.constant(each[:1], 0.3, 2)]
        elif kind in ("Mul", "Add"):
            own = [graph.constant(graph.rng.choice((each, (1, *each), (), (1,))))]
        else:
            own = [y] if kind == "Sum" else []
        y = graph.emit(kind, [y, *own], shape)


def step_rearrange(graph):
    """Images made larger, channels shuffled, and parts that change places."""
    found = graph.pick(4)
    if not found:
        return
    x, (batch, channels, rows, columns) = found
    kind = graph.rng.randint(0, 2)
    if kind == 0 and rows * columns < 200:
        scales = graph.tensor(np.array([1, 1, 2, 2], np.float32))
        graph.emit("Resize", [x, "", scales], (batch, channels, 2 * rows, 2 * columns), mode=graph.rng.choice(("nearest", "linear")),
                   coordinate_transformation_mode=graph.rng.choice(("asymmetric", "half_pixel")), nearest_mode="floor")
    elif kind == 1 and channels % 2 == 0:
        parts = graph.node("Reshape", [x, graph.ints(batch, 2, channels // 2, rows, columns)])
        turned = graph.node("Transpose", [parts], perm=[0, 2, 1, 3, 4])
        graph.emit("Reshape", [turned, graph.ints(batch, channels, rows, columns)], (batch, channels, rows, columns))
    elif channels > 1:
        ends = [graph.node("Slice", [x, graph.ints(begin), graph.ints(end), graph.ints(1)]) for begin, end in ((0, 1), (1, channels))]
        graph.emit("Concat", ends[::-1], (batch, channels, rows, columns), axis=1)


def step_images(graph):
    found = graph.pick(4)
    if not found or min(found[1][2:]) < 3:
        return
    x, (batch, channels, rows, columns) = found
    pad, stride = graph.rng.choice((0, 1)), graph.rng.choice((1, 1, 2))
    size = [(n + 2 * pad - 3) // stride + 1 for n in (rows, columns)]
    at = {"kernel_shape": [3, 3], "pads": [pad] * 4, "strides": [stride] * 2}
    kind = graph.rng.choice(("Conv", "Conv", "ConvTranspose", "Depthwise", "MaxPool", "AveragePool", "GlobalAveragePool"))
    if kind in ("Conv", "ConvTranspose"):
        outputs = graph.rng.randint(1, 5)
        filters = (outputs, channels, 3, 3) if kind == "Conv" else (channels, outputs, 3, 3)
        if kind == "ConvTranspose":
            size = [(n - 1) * stride + 3 - 2 * pad for n in (rows, columns)]
        inputs = [x, graph.constant(filters, -0.4, 0.4)] + ([graph.constant((outputs,))] if graph.rng.random() < 0.5 else [])
        follow(graph, graph.emit(kind, inputs, (batch, outputs, *size), **at), (batch, outputs, *size))
    elif kind == "Depthwise":
        y = graph.emit("Conv", [x, graph.constant((channels, 1, 3, 3))], (batch, channels, *size), group=channels, **at)
        follow(graph, y, (batch, channels, *size))
    elif kind == "GlobalAveragePool":
        graph.emit(kind, [x], (batch, channels, 1, 1))
    else:
        graph.emit(kind, [x], (batch, channels, *size), **at)


def step_product(graph):
    x, shape = graph.pick()
    if len(shape) < 2:
        return
    outputs = graph.rng.randint(1, 6)
    if len(shape) == 2 and graph.rng.random() < 0.5:
        graph.emit("Gemm", [x, graph.constant((outputs, shape[1])), graph.constant((outputs,))], (shape[0], outputs), transB=1,
                   alpha=graph.rng.choice((1.0, 0.5)))
        return
    y = graph.emit("MatMul", [x, graph.constant((shape[-1], outputs))], (*shape[:-1], outputs))
    if graph.rng.random() < 0.6:
        graph.emit("Add", [y, graph.constant((outputs,))], (*shape[:-1], outputs))


def step_move(graph):
    x, shape = graph.pick()
    if not shape:
        return
    axis, kind = graph.rng.randint(0, len(shape) - 1), graph.rng.randint(0, 6)
    if kind == 0:
        order = graph.rng.sample(range(len(shape)), len(shape))
        graph.emit("Transpose", [x], [shape[i] for i in order], perm=order)
    elif kind == 1:
        graph.emit("Concat", [x, x], [2 * size if i == axis else size for i, size in enumerate(shape)], axis=axis)
    elif kind == 2 and shape[axis] > 1:
        result = [size - 1 if i == axis else size for i, size in enumerate(shape)]
        graph.emit("Slice", [x, graph.ints(1), graph.ints(2**62), graph.ints(axis)], result)
    elif kind == 3:
        graph.emit("Gather", [x, graph.ints(0, -1, 0)], [3 if i == axis else size for i, size in enumerate(shape)], axis=axis)
    elif kind == 4:
        graph.emit("Flatten", [x], (int(np.prod(shape[:axis])), int(np.prod(shape[axis:]))), axis=axis)
    elif kind == 5:
        pads = [0] * len(shape) + [int(i == axis) for i in range(len(shape))]
        graph.emit("Pad", [x, graph.ints(*pads)], [size + (i == axis) for i, size in enumerate(shape)])
    else:
        graph.emit("Unsqueeze", [x, graph.ints(axis)], (*shape[:axis], 1, *shape[axis:]))


def step_shape_arithmetic(graph):
    """The sizes of a value, multiplied and joined, are the shape of a Reshape."""
    x, shape = graph.pick()
    if len(shape) < 2:
        return
    sizes = graph.node("Shape", [x])
    first = graph.node("Gather", [sizes, graph.ints(0)], axis=0)
    graph.emit("Reshape", [x, graph.node("Concat", [first, graph.ints(-1)], axis=0)], (shape[0], int(np.prod(shape[1:]))))


def step_where(graph):
    x, shape = graph.pick()
    condition = graph.node(graph.rng.choice(("Greater", "Less")), [x, graph.constant(())])
    graph.emit("Where", [condition, x, graph.constant(())], shape)


def step_if(graph):
    """One of two branches, which read a value of the graph around them."""
    if graph.prefix:
        return
    x, shape = graph.pick()
    axes = [] if not shape else {"keepdims": 0}
    total = graph.node("ReduceSum", [x], **dict(axes))
    branches = []
    for word in ("then", "else"):
        inner = Graph(graph.rng, graph.numbers, graph.opset, word, [(x, shape)])
        for _ in range(graph.rng.randint(1, 3)):
            graph.rng.choice((step_unary, step_binary, step_clip))(inner)
        last = next(name for name, other in reversed(inner.values) if other == shape)
        result = inner.emit("Identity", [last], shape)
        branches.append(helper.make_graph(inner.nodes, word, [], [helper.make_tensor_value_info(result, TensorProto.FLOAT, shape)], inner.tensors))
    condition = graph.node("Greater", [total, graph.constant(())])
    graph.emit("If", [condition], shape, then_branch=branches[0], else_branch=branches[1])


def inside(graph, word, values):
    """A body's graph; its values may be some of the graph around it."""
    graph.count += 1
    return Graph(graph.rng, graph.numbers, graph.opset, f"{word}{graph.count} ", values)


def compute(inner, shape, bounded=True):
    """Some steps of a body, whose last result has this shape."""
    for _ in range(inner.rng.randint(1, 3)):
        inner.rng.choice((step_unary, step_binary, step_clip))(inner)
    last = next(name for name, other in reversed(inner.values) if other == shape)
    return inner.emit("Tanh" if bounded else "Identity", [last], shape)


def body_of(inner, word, inputs, outputs):
    """A body; inputs and outputs are names with types and shapes."""
    return helper.make_graph(inner.nodes, word, [helper.make_tensor_value_info(*value) for value in inputs],
                             [helper.make_tensor_value_info(*value) for value in outputs], inner.tensors)


def step_loop(graph):
    """A loop with a number of steps, whose condition stays or is decided by values, and a row of each step."""
    if graph.prefix:
        return
    x, shape = graph.pick()
    count, rng = graph.rng.choice((1, 2, 5, 40)), graph.rng
    inner = inside(graph, "loop", [])
    i, go, state = (inner.name(kind) for kind in ("i", "go", "state"))
    inner.values = [(x, shape), (state, shape)]
    last = compute(inner, shape)
    if rng.random() < 0.3:
        total = inner.node("ReduceSum", [last], keepdims=0)
        stays = inner.node("Less", [total, inner.constant((), 0, 3)])
    else:
        stays = inner.node("Identity", [go])
    row = inner.node("Neg", [last])
    body = body_of(inner, "body", [(i, TensorProto.INT64, ()), (go, TensorProto.BOOL, ()), (state, TensorProto.FLOAT, shape)],
                   [(stays, TensorProto.BOOL, ()), (last, TensorProto.FLOAT, shape), (row, TensorProto.FLOAT, shape)])
    names = [graph.name("last"), graph.name("rows")]
    most = graph.tensor(np.array(count, np.int64))
    if rng.random() < 0.2:  # A count that depends on values.
        positive = graph.node("Greater", [graph.node("ReduceSum", [x], keepdims=0), graph.constant(())])
        most = graph.node("Where", [positive, most, graph.tensor(np.array(2, np.int64))])
    graph.nodes.append(helper.make_node("Loop", [most, "", x], names, name=names[0], body=body))
    graph.read.update((x, most))
    graph.values.append((names[0], tuple(shape)))
    graph.values.append((graph.emit("ReduceSum", [names[1], graph.ints(0)], shape, keepdims=0), tuple(shape)))
    graph.read.add(names[1])


def step_scan(graph):
    """The rows of a value, in one of two directions, along an axis."""
    x, shape = graph.pick()
    if graph.prefix or len(shape) < 2:
        return
    axis = graph.rng.randint(0, len(shape) - 1)
    rest = shape[:axis] + shape[axis + 1 :]
    inner = inside(graph, "scan", [])
    state, row = inner.name("state"), inner.name("row")
    inner.values = [(row, rest), (state, rest)]
    last = inner.node("Tanh", [inner.node("Add", [state, compute(inner, rest)])])
    shown = inner.node("Sub", [last, row])
    body = body_of(inner, "body", [(state, TensorProto.FLOAT, rest), (row, TensorProto.FLOAT, rest)],
                   [(last, TensorProto.FLOAT, rest), (shown, TensorProto.FLOAT, rest)])
    names = [graph.name("last"), graph.name("rows")]
    graph.nodes.append(helper.make_node("Scan", [graph.constant(rest), x], names, name=names[0], body=body, num_scan_inputs=1,
                                        scan_input_axes=[axis - len(shape)], scan_output_axes=[axis],
                                        scan_input_directions=[graph.rng.randint(0, 1)], scan_output_directions=[graph.rng.randint(0, 1)]))
    graph.read.add(x)
    graph.values += [(names[0], tuple(rest)), (names[1], tuple(shape))]


def step_recurrent(graph):
    """LSTM, GRU or RNN over a value of three dimensions, or over many copies of one of two."""
    rng, found = graph.rng, graph.pick(3)
    if not found:
        found = graph.pick(2)
        if not found:
            return
        x, shape = found
        found = graph.node("Mul", [x, graph.constant((40, 1, 1))]), (40, *shape)
    x, (steps, batch, inputs) = found
    op, units, direction = rng.choice(("LSTM", "GRU", "RNN")), rng.randint(1, 5), rng.choice(("forward", "reverse", "bidirectional"))
    many, gates = 2 if direction == "bidirectional" else 1, {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    given = [x, graph.constant((many, gates * units, inputs)), graph.constant((many, gates * units, units))]
    given.append(graph.constant((many, 2 * gates * units)) if rng.random() < 0.7 else "")
    given.append(graph.tensor(np.array([rng.randint(1, steps) for _ in range(batch)], np.int32)) if rng.random() < 0.4 else "")
    given.append(graph.constant((many, batch, units)) if rng.random() < 0.5 else "")
    more = {"linear_before_reset": rng.randint(0, 1)} if op == "GRU" else {}
    names = [graph.name("y"), graph.name("h")]
    graph.nodes.append(helper.make_node(op, given, names, name=names[0], hidden_size=units, direction=direction, **more))
    graph.read.update(name for name in given if name)
    graph.values += [(names[0], (steps, many, batch, units)), (names[1], (many, batch, units))]


def quantised(graph, x, low=-3.0, high=3.0):
    """x in bytes and back."""
    scale = graph.tensor(np.float32((high - low) / 255 * graph.numbers.uniform(0.9, 1.1)).reshape(()))
    zero = graph.tensor(np.array(128, np.uint8))
    return graph.node("DequantizeLinear", [graph.node("QuantizeLinear", [x, scale, zero]), scale, zero])


def step_quantised(graph):
    """A product or a convolution of values in bytes with weights in bytes, of one scale or of one for each column."""
    rng, found = graph.rng, graph.pick(4) if graph.rng.random() < 0.5 else None
    is_image = bool(found) and min(found[1][2:]) >= 3
    x, shape = found if is_image else graph.pick()
    if len(shape) < 2:
        return
    outputs = rng.randint(1, 6)
    weights = (outputs, shape[1], 3, 3) if is_image else (shape[-1], outputs)
    axis = 0 if is_image else 1
    q = graph.tensor(graph.numbers.randint(-127, 128, weights).astype(np.int8))
    each = (outputs,) if rng.random() < 0.6 else ()
    scale = graph.constant(each, 0.002, 0.01)
    zero = graph.tensor(np.zeros(each, np.int8))
    w = graph.node("DequantizeLinear", [q, scale, zero], axis=axis)
    x = quantised(graph, x)
    if is_image:
        result = (shape[0], outputs, shape[2] - 2, shape[3] - 2)
        graph.emit("Conv", [x, w] + ([graph.constant((outputs,))] if rng.random() < 0.5 else []), result)
    else:
        result = (*shape[:-1], outputs)
        graph.emit("MatMul", [x, w], result)


STEPS = ([step_loop, step_scan, step_recurrent, step_quantised] * 2 + [step_unary] * 4 + [step_binary] * 4 + [step_safe, step_clip, step_where, step_shape_arithmetic, step_if] + [step_reduce] * 2
         + [step_norm] * 2 + [step_images] * 4 + [step_rearrange] * 2 + [step_product] * 2 + [step_move] * 3)


def make_model(rng, numbers):
    """A model and its inputs."""
    graph = Graph(rng, numbers, rng.choice(OPSETS))
    rank = rng.choice((2, 3, 4, 4))
    shape = tuple(rng.randint(1, 4) for _ in range(rank - 2)) + tuple(rng.randint(3, 7) for _ in range(2))
    names = [graph.name("x"), graph.name("z")]
    graph.values = [(name, shape) for name in names]
    for _ in range(rng.randint(4, 14)):
        rng.choice(STEPS)(graph)
        graph.values = [value for value in graph.values if np.prod(value[1]) <= MOST_ELEMENTS and len(value[1]) <= 5] or graph.values
    made = [name for name, _ in graph.values[2:]]
    outputs = [name for name in made if name not in graph.read or rng.random() < 0.1][:8]
    if not outputs:
        return None
    fed = [numbers.uniform(-2, 2, shape).astype(np.float32) for _ in names]
    declared = ("batch", *shape[1:]) if rng.random() < 0.3 else shape
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, declared) for name in names]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    model = helper.make_model(helper.make_graph(graph.nodes, "graph", values, results, graph.tensors),
                              opset_imports=[helper.make_opsetid("", graph.opset)], ir_version=versions.IR[graph.opset])
    return model, dict(zip(names, fed))


def run(model, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feeds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    given = parser.parse_args()
    refused = 0
    for i in range(given.count):
        rng = random.Random(given.seed * 1000003 + i)
        made = make_model(rng, np.random.RandomState(rng.getrandbits(31)))
        if not made:
            continue
        try:
            want = run(*made)
        except Exception:  # pylint: disable=broad-except
            refused += 1
            continue
        if all(np.isfinite(value).all() and np.abs(value).max(initial=0) < 1e4 for value in want):
            versions.add(f"graph_{given.seed}_{i}", made[0], list(made[1].values()), want, 2e-3, 2e-4)
    versions.write_folder(given.folder)
    print(f"{len(versions.CASES)} graphs of seed {given.seed}; ONNX Runtime refuses {refused} others")


if __name__ == "__main__":
    sys.exit(main())
