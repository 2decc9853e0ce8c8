# SPDX-License-Identifier: Apache-2.0
"""Gantry through its C API, op by op, and chains as functions.

A call waits for its result and drops it, as Python does with the other peers' results. Which device: PEER is gantry_cpu
or gantry_gpu (/GPU:0, which is PoCL on a machine without a card). An op that cannot run there is an error and not a
figure of another device.
"""

import ctypes
import json
import os
import subprocess
import time

import numpy as np

import peer_training
from gantry_ctypes import Gantry, ReduceOptions, Shape, WindowOptions
from gantry_onnx_ctypes import Model
from gantry_train_ctypes import Network, Trainer
import gantry_loop

LACKS = {}
DEVICES = {"gantry_cpu": "CPU:0", "gantry_gpu": "GPU:0"}
gantry = None


def open_first(threads):
    """without what open_peer asks for the report"""
    global gantry
    os.environ["GANTRY_CPU_THREADS"] = str(threads)
    os.environ["GANTRY_OPENCL_CPU"] = "gpu"
    os.environ["GANTRY_PLACEMENT"] = "require"
    device = DEVICES[os.environ["PEER"]]
    gantry = Gantry(os.path.join(os.environ["GANTRY_BUILD"], "lib", "libgantry.so"), device)
    return device


def open_peer(threads):
    device = open_first(threads)
    empty_us = empty_calls_us()
    version = gantry.library.gantry_version().decode()
    cost = f"about {empty_us:.2f} us of each call are ctypes' own (three empty calls)"
    return f"Gantry {version} on /{device}{hardware(device)}; {cost}"


def empty_calls_us():
    empty, scope, calls, best = gantry.library.gantry_scope_status, gantry.scope, 1000, 1.0
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(calls):
            empty(scope), empty(scope), empty(scope)
        best = min(best, time.perf_counter() - start)
    return best / calls * 1e6


def hardware(device):
    """as Gantry's own tool tells; "" without it"""
    tool = os.path.join(os.environ["GANTRY_BUILD"], "bin", "gantry")
    try:
        listed = json.loads(subprocess.run([tool, "devices", "--json"], stdout=subprocess.PIPE, check=True).stdout)[
            "devices"
        ]
        return next(f" ({d['hardware']}; {d['platform']})" for d in listed if d["logical"] == "/" + device)
    except (OSError, subprocess.CalledProcessError, StopIteration):
        return ""


def put(array):
    return gantry.put(array)


def forget(inputs):
    for tensor in inputs:
        gantry.drop(tensor)


class Case:
    """Calls of one op: timed() waits and drops, () keeps the results for fetch."""

    def __init__(self, op, *arguments, others=()):
        self.run = lambda: op(*arguments)
        self.others = others  # further results, as addresses that the op fills

    def __call__(self):
        return (gantry.keep(self.run()), *(other.value for other in self.others))

    def timed(self):
        run, wait, drop, scope, others = (
            self.run,
            gantry.library.gantry_tensor_wait,
            gantry.library.gantry_tensor_drop,
            gantry.scope,
            self.others,
        )

        def call():
            tensor = run()
            if wait(tensor):
                gantry.check(False)
            drop(scope, tensor)

        def call_with_others():
            call()
            for other in others:
                drop(scope, other)

        return call_with_others if others else call


def fetch(result):
    arrays = [gantry.read(tensor) for tensor in result]
    forget(result)
    return arrays


class OpCase:
    """A call by the op's name; waits for all its results and drops them."""

    def __init__(self, op, inputs):
        self.call = gantry.call(op.op, inputs, op.attrs)

    def timed(self):
        return self.call


def case_op(*inputs, op):
    return OpCase(op, inputs)


def case_matmul(a, b):
    return Case(gantry.op("matmul"), a, b, None)


def case_add(a, b):
    return Case(gantry.op("add"), a, b)


def case_sum(a):
    return Case(gantry.op("sum"), a, None)


def case_chain(x, y):
    add, mul, relu, tanh = (gantry.op(name) for name in ("add", "mul", "relu", "tanh"))
    half = gantry.keep(gantry.op("scalar_f32")(0.5))

    def chain():
        made = [mul(x, y)]
        for step in (lambda r: add(r, x), relu, lambda r: mul(r, half)):
            made.append(step(made[-1]))
            gantry.drop(made[-2])
        right = tanh(y)
        result = add(made[-1], right)
        gantry.drop(made[-1])
        gantry.drop(right)
        return result

    return Case(chain)


def traced(build, *inputs):
    return Case(gantry.function(build, inputs))


def case_chain_fused(x, y):
    half = gantry.put(np.float32(0.5))

    def build(op, given):
        x, y = given
        return op("add")(op("mul")(op("relu")(op("add")(op("mul")(x, y), x)), half), op("tanh")(y))

    return traced(build, x, y)


def case_chain_20(x, y):
    def build(op, given):
        r, (x, y) = given[0], given
        for _ in range(10):
            r = op("add")(op("mul")(r, y), x)
        return r

    return traced(build, x, y)


def case_softmax_ops(x):
    last = ctypes.byref(ReduceOptions.last())

    def build(op, given):
        e = op("exp")(op("sub")(given[0], op("max")(given[0], last)))
        return op("div")(e, op("sum")(e, last))

    return traced(build, x)


def case_layer_norm_ops(x, scale, offset):
    last, epsilon = ctypes.byref(ReduceOptions.last()), gantry.put(np.float32(1e-5))

    def build(op, given):
        x, scale, offset = given
        centred = op("sub")(x, op("mean")(x, last))
        spread = op("rsqrt")(op("add")(op("mean")(op("square")(centred), last), epsilon))
        return op("add")(op("mul")(op("mul")(centred, spread), scale), offset)

    return traced(build, x, scale, offset)


def case_mlp(x, *layers):
    def build(op, given):
        r, layers = given[0], given[1:]
        for i in range(0, len(layers), 2):
            r = op("add")(op("matmul")(r, layers[i], None), layers[i + 1])
            r = op("relu")(r) if i + 2 < len(layers) else r
        return r

    return traced(build, x, *layers)


def case_text_classifier(ids, *weights):
    def body(op, given):
        def conv(x, w, b):
            return op("add")(op("conv1d")(x, w, inside(1)), b)

        x, weights = op("gather")(given[1], given[0], 0), given[2:]
        for i in (0, 2):
            x = op("max_pool1d")(op("relu")(conv(x, *weights[i : i + 2])), 2, inside(2))
        x = op("matmul")(op("reshape")(x, Shape.of([rows, -1])), weights[4], None)
        return op("softmax")(op("add")(x, weights[5]))

    rows = gantry.shape(ids)[0]
    return traced(body, ids, *weights)


def case_network(x, *weights, network):
    arrays = [gantry.read(w) for w in weights]
    if network.is_composed:
        loop = gantry_loop.Loop(gantry, network, arrays)
        return traced(lambda op, given: loop.logits(op("add").args[0], given[0], False)[0], x)
    dtype = "int32" if network.words else "float32"
    model = Network(gantry, DEVICES[os.environ["PEER"]], network, dtype, arrays)
    return traced(lambda op, given: model.call(op("add").args[0], given[0]), x)


def case_train(inputs, labels, *weights, network):
    device = DEVICES[os.environ["PEER"]]
    if network.is_composed:
        return peer_training.Training(
            own_step=lambda: gantry_loop.Training(gantry, network, inputs, labels, weights).epoch
        )
    return peer_training.Training(
        gantry_model_fit=lambda: Trainer(gantry, device, network, inputs, labels, weights).epoch
    )


def case_model(*inputs, path):
    return Model(gantry, path, inputs)


def case_function(a, name):
    return Case(gantry.op(name), a)


def inside(stride, padding="VALID"):
    return ctypes.byref(WindowOptions(strides=(stride, stride), padding=("SAME", "VALID").index(padding)))


def engine(parts):
    """what computed a convolution, by the ops that ran it"""
    if "ConvolveImages" in parts:
        return {"cuda": "cuDNN"}.get(parts["ConvolveImages"], f"one kernel, {parts['ConvolveImages']}")
    return "patches" if "ExtractImagePatches" in parts else "product of pixels" if "MatMul" in parts else ", ".join(parts)


class Convolution(Case):
    """Its way is the engine that ran."""

    def __init__(self, name, x, w, options):
        super().__init__(gantry.op(name), x, w, options)
        self.composed = name.capitalize().replace("1d", "1D").replace("2d", "2D")

    def __call__(self):
        found = super().__call__()
        self.way = engine(gantry.new_parts(self.composed))
        return found


def case_conv1d(x, w):
    return Convolution("conv1d", x, w, inside(1))


def case_conv2d(x, w, padding="VALID"):
    return Convolution("conv2d", x, w, inside(1, padding))


def case_max_pool(x):
    return Case(gantry.op("max_pool2d"), x, 2, 2, inside(2))


def case_sort(a):
    return Case(gantry.op("sort"), a, -1, False)


def case_top_k(a, k):
    return Case(gantry.op("top_k"), a, k, None)


def case_gather(a, i):
    return Case(gantry.op("gather"), a, i, 0)


def case_transpose(a):
    return Case(gantry.op("transpose"), a, None)


def case_cumsum(a):
    return Case(gantry.op("cumsum"), a, -1, None)


def case_scatter_nd(updates, ids):
    count = len(gantry.read(ids))
    rows = put(gantry.read(ids).reshape(-1, 1))
    return Case(gantry.op("scatter_nd"), rows, updates, Shape.of([count]))


def case_segment_sum(data, ids):
    return Case(gantry.op("segment_sum"), data, ids)


def case_bincount(a, size):
    return Case(gantry.op("bincount"), a, size, put(np.empty(0, np.int32)))


def case_unique(a):
    index = ctypes.c_void_p()
    return Case(gantry.op("unique"), a, ctypes.byref(index), None, others=(index,))


def case_softmax(x):
    return Case(gantry.op("softmax"), x)


def case_layer_norm(x, scale, offset):
    return Case(gantry.op("layer_norm"), x, scale, offset, -1, 1e-5)
