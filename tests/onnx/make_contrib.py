#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes cases of control flow, recurrent, quantised and attention ops, and of com.microsoft's ops.

    make_contrib.py FOLDER                  a folder for each case, as scripts/make-onnx-cases
    make_contrib.py --pack FILE.tar.gz      all cases in one file

The outputs are those of ONNX Runtime; where it computes less exactly, a case has those of a formula of NumPy. Needs
onnx, onnxruntime and numpy.
"""
import importlib.machinery
import importlib.util
import argparse
import os
import sys

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
loader = importlib.machinery.SourceFileLoader("make_versions", os.path.join(HERE, "make_versions.py"))
base = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_versions", loader))
loader.exec_module(base)
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
MICROSOFT = "com.microsoft"


def floats(*shape, low=-1.0, high=1.0, seed=0):
    count = int(np.prod(shape))
    return np.random.RandomState(count + seed).uniform(low, high, shape).astype(np.float32)


def whole(*shape, low=0, high=256, dtype=np.uint8, seed=0):
    count = int(np.prod(shape))
    return np.random.RandomState(count + seed).randint(low, high, shape).astype(dtype)


def info(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def add_graph(name, nodes, opset, feeds, outputs, constants=None, want=None, rtol=1e-4, atol=1e-5):
    """A case of a graph. feeds, constants: names with arrays; outputs: names with types."""
    feeds = {key: np.asarray(array) for key, array in feeds.items()}
    values = [info(key, array) for key, array in feeds.items()]
    results = [helper.make_tensor_value_info(key, dtype, None) for key, dtype in outputs.items()]
    tensors = [numpy_helper.from_array(np.asarray(array), key) for key, array in (constants or {}).items()]
    graph = helper.make_graph(nodes, "graph", values, results, tensors)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=base.IR.get(opset, 10))
    if want is None:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        want = session.run(None, feeds)
    base.add(name, model, list(feeds.values()), want, rtol, atol)


def case(name, op, version, inputs, outputs=1, constants=(), domain="", types=(FLOAT,), want=None, rtol=1e-4, atol=1e-5, **attrs):
    """A case of one node, as that of make_versions."""
    inputs = [None if array is None else np.asarray(array) for array in inputs]
    names = ["" if array is None else f"x{i}" for i, array in enumerate(inputs)]
    out_names = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
    node = helper.make_node(op, names, out_names, name="node", domain=domain, **attrs)
    feeds = {names[i]: array for i, array in enumerate(inputs) if array is not None and i not in constants}
    fixed = {names[i]: inputs[i] for i in constants}
    results = {key: types[i] if i < len(types) else types[-1] for i, key in enumerate(key for key in out_names if key)}
    add_graph(name, [node], version, feeds, results, fixed, want, rtol, atol)


def contrib(name, op, inputs, outputs=1, constants=(), **more):
    case(name, op, 17, inputs, outputs, constants, MICROSOFT, **more)


def body(nodes, inputs, outputs, constants=None):
    """A subgraph. inputs, outputs: names with types."""
    return helper.make_graph(nodes, "body", [helper.make_tensor_value_info(key, dtype, () if dtype in (INT64, BOOL) else None) for key, dtype in inputs.items()],
                             [helper.make_tensor_value_info(key, dtype, None) for key, dtype in outputs.items()],
                             [numpy_helper.from_array(np.asarray(array), key) for key, array in (constants or {}).items()])


# ---- control flow ----
def if_cases():
    x, y = floats(2, 3), floats(2, 3, seed=1)

    def branches(nodes_then, nodes_else):
        return helper.make_node("If", ["cond"], ["out"], then_branch=body(nodes_then, {}, {"a": FLOAT}),
                                else_branch=body(nodes_else, {}, {"b": FLOAT}))

    add, sub = helper.make_node("Add", ["x", "y"], ["a"]), helper.make_node("Sub", ["x", "y"], ["b"])
    hand_on = helper.make_node("Identity", ["x"], ["a"])
    row = helper.make_node("ReduceSum", ["x"], ["b"])
    dead = [helper.make_node("Relu", ["x"], ["alone"]), helper.make_node("If", ["cond"], ["out"], then_branch=body([helper.make_node("Neg", ["alone"], ["a"])], {}, {"a": FLOAT}),
            else_branch=body([sub], {}, {"b": FLOAT})), helper.make_node("Add", ["x", "y"], ["sum"])]
    add_graph("if_unused", dead, 16, {"cond": np.array(True), "x": x, "y": y}, {"sum": FLOAT})
    for truth in (True, False):
        feeds = {"cond": np.array(truth), "x": x, "y": y}
        add_graph(f"if_{truth}", [branches([add], [sub])], 16, feeds, {"out": FLOAT})
        add_graph(f"if_one_element_{truth}", [branches([add], [sub])], 16, {**feeds, "cond": np.array([truth])}, {"out": FLOAT})
        add_graph(f"if_outer_{truth}", [branches([hand_on], [sub])], 16, feeds, {"out": FLOAT})
        add_graph(f"if_other_shape_{truth}", [branches([add], [row])], 16, {key: feeds[key] for key in ("cond", "x", "y")}, {"out": FLOAT})
        computed = [helper.make_node("ReduceSum", ["x"], ["total"], keepdims=0), helper.make_node("Greater", ["total", "zero"], ["cond"])]
        sign = np.float32(1 if truth else -1)
        data = {"x": (np.abs(x) * sign).astype(np.float32), "y": y}
        for name, node in (("", branches([add], [sub])), ("_shape", branches([add], [row]))):
            add_graph(f"if_computed{name}_{truth}", [*computed, node], 16, data, {"out": FLOAT}, {"zero": np.float32(0)})
        inner = branches([add], [sub])
        inner.output[0] = "a"
        add_graph(f"if_in_if_{truth}", [branches([inner], [sub])], 16, feeds, {"out": FLOAT})


def loop_node(outputs, nodes, carried, scans, condition="cond_in", m="m", cond="cond", constants=None, number=""):
    """A Loop whose body hands its condition on, unless it computes one."""
    scalars = {f"{number}i": INT64, f"{number}cond_in": BOOL}
    ins = {**scalars, **{key: FLOAT for key in carried}}
    outs = {f"{number}cond_out": BOOL, **{f"{key}_next": FLOAT for key in carried}, **{key: FLOAT for key in scans}}
    if condition:
        nodes = [helper.make_node("Identity", [number + condition], [f"{number}cond_out"]), *nodes]
    return helper.make_node("Loop", [m, cond, *(f"{key}_0" for key in carried)], outputs, body=body(nodes, ins, outs, constants))


def loop_cases():
    x = floats(2, 3)
    step = [helper.make_node("Mul", ["s", "half"], ["part"]), helper.make_node("Cast", ["i"], ["number"], to=FLOAT),
            helper.make_node("Add", ["part", "number"], ["s_next"]), helper.make_node("Relu", ["part"], ["row"])]
    half = {"half": np.float32(0.5)}
    for count in (0, 1, 5, 40, 70):
        node = loop_node(["last", "rows"], step, ["s"], ["row"], constants=half)
        types = {"last": FLOAT, "rows": FLOAT}
        feeds = {"s_0": x}
        # ONNX Runtime gives no rows the shape [0].
        want = None if count else [x, np.zeros((0, 2, 3), np.float32)]
        add_graph(f"loop_{count}", [node], 16, feeds, types, {"m": np.int64(count), "cond": np.array(True)}, want)
        add_graph(f"loop_bound_{count}", [node], 16, {"m": np.int64(count), "cond": np.array(True), **feeds}, types, None, want)
        only = loop_node(["last"], step[:3], ["s"], [], cond="", constants=half)
        add_graph(f"loop_last_{count}", [only], 16, {"m": np.array([count]), **feeds}, {"last": FLOAT})
    stop = loop_node(["last", "rows"], step, ["s"], ["row"], constants=half)
    add_graph("loop_false", [stop], 16, {"s_0": x}, {"last": FLOAT, "rows": FLOAT}, {"m": np.int64(4), "cond": np.array(False)},
              [x, np.zeros((0, 2, 3), np.float32)])
    # The condition is about the step's number, which is known, and about values, which are not.
    until = [helper.make_node("Less", ["i", "seven"], ["cond_out"]), *step]
    node = loop_node(["last", "rows"], until, ["s"], ["row"], condition="", m="", constants={**half, "seven": np.int64(7)})
    add_graph("loop_until_number", [node], 16, {"s_0": x}, {"last": FLOAT, "rows": FLOAT}, {"cond": np.array(True)})
    grows = [helper.make_node("Add", ["s", "s"], ["s_next"]), helper.make_node("ReduceMax", ["s_next"], ["most"], keepdims=0),
             helper.make_node("Less", ["most", "limit"], ["cond_out"])]
    limit = {"limit": np.float32(100)}
    for m, name in (("", "no_m"), ("m", "m")):
        node = loop_node(["last"], grows, ["s"], [], condition="", m=m, constants=limit)
        fixed = {"cond": np.array(True), **({"m": np.int64(50)} if m else {})}
        add_graph(f"loop_until_value_{name}", [node], 16, {"s_0": np.abs(x)}, {"last": FLOAT}, fixed)
        node = loop_node(["last", "rows"], [*grows, helper.make_node("Neg", ["s_next"], ["row"])], ["s"], ["row"], condition="", m=m, constants=limit)
        add_graph(f"loop_until_value_rows_{name}", [node], 16, {"s_0": np.abs(x)}, {"last": FLOAT, "rows": FLOAT}, fixed)
    # A value that grows.
    longer = [helper.make_node("Concat", ["s", "x"], ["s_next"], axis=0)]
    node = loop_node(["last"], longer, ["s"], [])
    for count in (3, 40):
        add_graph(f"loop_grows_{count}", [node], 16, {"s_0": x, "x": x}, {"last": FLOAT}, {"m": np.int64(count), "cond": np.array(True)})
    # A count that is computed, and a value from outside.
    total = [helper.make_node("ReduceSum", ["n"], ["sum"], keepdims=0), helper.make_node("Cast", ["sum"], ["m"], to=INT64)]
    inside = [helper.make_node("Add", ["s", "x"], ["s_next"])]
    node = loop_node(["last"], inside, ["s"], [], cond="")
    add_graph("loop_computed_count", [*total, node], 16, {"n": np.array([3, 4], np.float32), "s_0": x, "x": x}, {"last": FLOAT})
    node = loop_node(["last", "rows"], [*inside, helper.make_node("Neg", ["s"], ["row"])], ["s"], ["row"], cond="")
    add_graph("loop_computed_count_rows", [*total, node], 16, {"n": np.array([3, 4], np.float32), "s_0": x, "x": x}, {"last": FLOAT, "rows": FLOAT})
    inner = loop_node(["s_next"], [helper.make_node("Add", ["t", "x"], ["t_next"])], ["t"], [], m="two", cond="", number="inner_")
    inner.input[2] = "s"
    nested = loop_node(["last"], [inner], ["s"], [], cond="")
    for count in (2, 50):
        add_graph(f"loop_in_loop_{count}", [nested], 16, {"s_0": x, "x": x}, {"last": FLOAT}, {"m": np.int64(count), "two": np.int64(2)})


def scan_cases():
    for steps in (3, 45):
        x, z, s = floats(steps, 2, 3), floats(2, steps, seed=1), floats(2, 3, seed=2)
        nodes = [helper.make_node("Unsqueeze", ["z_i", "one"], ["column"]), helper.make_node("Mul", ["x_i", "column"], ["part"]),
                 helper.make_node("Add", ["s", "part"], ["s_next"]), helper.make_node("Sub", ["s", "x_i"], ["row"])]
        graph = body(nodes, {"s": FLOAT, "x_i": FLOAT, "z_i": FLOAT}, {"s_next": FLOAT, "row": FLOAT}, {"one": np.array([1])})
        for name, attrs in (("", {}), ("_reversed", {"scan_input_directions": [1, 0], "scan_output_directions": [1]}),
                            ("_axes", {"scan_output_axes": [1]}), ("_last_axis", {"scan_output_axes": [-1], "scan_output_directions": [1]})):
            node = helper.make_node("Scan", ["s_0", "x", "z"], ["last", "rows"], body=graph, num_scan_inputs=2,
                                    **{"scan_input_axes": [0, 1], **attrs})
            add_graph(f"scan_{steps}{name}", [node], 16, {"s_0": s, "x": x, "z": z}, {"last": FLOAT, "rows": FLOAT})
    # Operator set 8: a batch.
    graph = body([helper.make_node("Add", ["s", "x"], ["s_next"]), helper.make_node("Identity", ["s_next"], ["row"])],
                 {"s": FLOAT, "x": FLOAT}, {"s_next": FLOAT, "row": FLOAT})
    node = helper.make_node("Scan", ["", "s_0", "xs"], ["last", "rows"], body=graph, num_scan_inputs=1)
    add_graph("scan_8", [node], 8, {"s_0": floats(2, 3), "xs": floats(2, 4, 3)}, {"last": FLOAT, "rows": FLOAT})
    node = helper.make_node("Scan", ["", "s_0", "xs"], ["last", "rows"], body=graph, num_scan_inputs=1, directions=[1])
    add_graph("scan_8_reversed", [node], 8, {"s_0": floats(2, 3), "xs": floats(2, 4, 3)}, {"last": FLOAT, "rows": FLOAT})


# ---- recurrent ----
def recurrent_cases():
    units, inputs = 3, 4
    for op, gates, names in (("LSTM", 4, ["y", "y_h", "y_c"]), ("GRU", 3, ["y", "y_h"]), ("RNN", 1, ["y", "y_h"])):
        for direction in ("forward", "reverse", "bidirectional"):
            many = 2 if direction == "bidirectional" else 1
            weights = [floats(many, gates * units, inputs), floats(many, gates * units, units, seed=1)]
            bias = floats(many, 2 * gates * units, seed=2)
            for steps in (1, 5, 40):
                x = floats(steps, 2, inputs)
                first = [floats(many, 2, units, seed=3)] + ([floats(many, 2, units, seed=4)] if op == "LSTM" else [])
                lengths = np.array([steps, (steps + 1) // 2], np.int32)
                name = f"{op.lower()}_{direction}_{steps}"
                case(name, op, 14, [x, *weights], names, constants=(1, 2), direction=direction, hidden_size=units)
                case(f"{name}_states", op, 14, [x, *weights, bias, None, *first], names, constants=(1, 2, 3), direction=direction, hidden_size=units)
                case(f"{name}_lengths", op, 14, [x, *weights, bias, lengths, *first], names, constants=(1, 2, 3), direction=direction, hidden_size=units)
                case(f"{name}_known_lengths", op, 11, [x, *weights, bias, lengths], names, constants=(1, 2, 3, 4), direction=direction, hidden_size=units)
            case(f"{op.lower()}_{direction}_last", op, 14, [floats(5, 2, inputs), *weights, bias], ["", "y_h"], constants=(1, 2, 3), direction=direction, hidden_size=units)
            case(f"{op.lower()}_{direction}_clip", op, 14, [floats(5, 2, inputs), *weights, bias], names, constants=(1, 2, 3), direction=direction, hidden_size=units, clip=0.3)
            case(f"{op.lower()}_{direction}_fed", op, 14, [floats(5, 2, inputs), *weights, bias], names, direction=direction, hidden_size=units)
    peephole_cases(units, inputs)
    gru_cases(units, inputs)
    activation_cases(units, inputs)


def peephole_cases(units, inputs):
    for direction, many in (("forward", 1), ("bidirectional", 2)):
        given = [floats(5, 2, inputs), floats(many, 4 * units, inputs), floats(many, 4 * units, units, seed=1),
                 floats(many, 8 * units, seed=2), None, floats(many, 2, units, seed=3), floats(many, 2, units, seed=4)]
        names = ["y", "y_h", "y_c"]
        case(f"lstm_{direction}_peepholes", "LSTM", 14, [*given, floats(many, 3 * units, seed=5)], names, direction=direction, hidden_size=units)
        case(f"lstm_{direction}_coupled", "LSTM", 14, given, names, direction=direction, hidden_size=units, input_forget=1)


def gru_cases(units, inputs):
    for direction, many in (("forward", 1), ("bidirectional", 2)):
        given = [floats(5, 2, inputs), floats(many, 3 * units, inputs), floats(many, 3 * units, units, seed=1),
                 floats(many, 6 * units, seed=2), None, floats(many, 2, units, seed=3)]
        for linear in (0, 1):
            case(f"gru_{direction}_linear_{linear}", "GRU", 14, given, ["y", "y_h"], direction=direction, hidden_size=units, linear_before_reset=linear)
        case(f"gru_{direction}_linear_first", "GRU", 14, given[:4], ["y", "y_h"], direction=direction, hidden_size=units, linear_before_reset=1)


def activation_cases(units, inputs):
    x, w, r = floats(4, 2, inputs), floats(1, units, inputs), floats(1, units, units, seed=1)
    plain = ("Relu", "Tanh", "Sigmoid", "Softsign", "Softplus")
    numbers = {"Affine": ([0.5], [0.2]), "LeakyRelu": ([0.3], []), "ThresholdedRelu": ([0.2], []), "ScaledTanh": ([0.7], [1.5]),
               "HardSigmoid": ([0.3], [0.4]), "Elu": ([0.6], [])}
    for name in plain:
        case(f"rnn_{name.lower()}", "RNN", 14, [x, w, r], ["y", "y_h"], activations=[name], hidden_size=units)
    for name, (alpha, beta) in numbers.items():
        more = {"activation_alpha": alpha, **({"activation_beta": beta} if beta else {})}
        case(f"rnn_{name.lower()}", "RNN", 14, [x, w, r], ["y", "y_h"], activations=[name], hidden_size=units, **more)
    case("lstm_activations", "LSTM", 14, [x, floats(1, 4 * units, inputs), floats(1, 4 * units, units, seed=1)], ["y", "y_h", "y_c"],
         activations=["HardSigmoid", "LeakyRelu", "Affine"], activation_alpha=[0.3, 0.2, 0.8], activation_beta=[0.4, 0.1], hidden_size=units)
    wide = [x, floats(2, 3 * units, inputs), floats(2, 3 * units, units, seed=1)]
    case("gru_activations", "GRU", 14, wide, ["y", "y_h"], activations=["Sigmoid", "LeakyRelu", "HardSigmoid", "Relu"],
         activation_alpha=[0.2, 0.3], activation_beta=[0.45], hidden_size=units, direction="bidirectional")


# ---- quantised ----
def quantize_cases():
    x = floats(2, 3, 4, low=-4, high=4)
    ties = np.array([[-2.5, -1.5, -0.5, 0.5], [1.5, 2.5, 300, -300]], np.float32)
    scales = np.array([0.02, 0.5, 0.11], np.float32)
    for dtype, number in ((np.uint8, TensorProto.UINT8), (np.int8, TensorProto.INT8)):
        case(f"quantize_{np.dtype(dtype).name}", "QuantizeLinear", 13, [x, np.float32(0.03), dtype(7)], types=(number,))
        case(f"quantize_ties_{np.dtype(dtype).name}", "QuantizeLinear", 10, [ties, np.float32(1), dtype(3)], types=(number,))
        case(f"quantize_axis_{np.dtype(dtype).name}", "QuantizeLinear", 13, [x, scales, np.array([1, 2, 3], dtype)], constants=(1, 2), types=(number,))
        case(f"quantize_axis_last_{np.dtype(dtype).name}", "QuantizeLinear", 13, [x, floats(4, low=0.01, high=0.1), np.arange(4).astype(dtype)], axis=-1, types=(number,))
        q = whole(2, 3, 4, low=np.iinfo(dtype).min, high=np.iinfo(dtype).max, dtype=dtype)
        case(f"dequantize_{np.dtype(dtype).name}", "DequantizeLinear", 10, [q, np.float32(0.03), dtype(7)])
        case(f"dequantize_axis_{np.dtype(dtype).name}", "DequantizeLinear", 13, [q, scales, np.array([1, 2, 3], dtype)], constants=(1, 2))
    case("quantize_none", "QuantizeLinear", 13, [x, np.float32(0.03)], types=(TensorProto.UINT8,))
    case("dequantize_int32", "DequantizeLinear", 13, [whole(2, 3, low=-9000, high=9000, dtype=np.int32), np.float32(0.003)])
    blocks = floats(2, 3, 2, low=0.01, high=0.1)
    case("quantize_blocks", "QuantizeLinear", 21, [x, blocks, whole(2, 3, 2, high=20)], axis=2, block_size=2, types=(TensorProto.UINT8,))
    case("dequantize_blocks", "DequantizeLinear", 21, [whole(2, 3, 4), blocks, whole(2, 3, 2, high=20)], axis=2, block_size=2)
    uneven = floats(2, 3, 2, low=0.01, high=0.1)
    case("dequantize_uneven_blocks", "DequantizeLinear", 21, [whole(2, 3, 3), uneven], axis=2, block_size=2,
         want=[(whole(2, 3, 3).astype(np.float32) * np.repeat(uneven, 2, 2)[:, :, :3])])
    types = (TensorProto.UINT8, FLOAT, TensorProto.UINT8)
    for name, data in (("", x), ("_positive", np.abs(x) + 1), ("_negative", -np.abs(x) - 1)):
        case(f"dynamic_quantize{name}", "DynamicQuantizeLinear", 11, [data.astype(np.float32)], 3, types=types)


def product_cases():
    number = TensorProto.UINT8
    a, b = whole(3, 5), whole(5, 4, seed=1)
    signed = whole(5, 4, low=-128, high=128, dtype=np.int8)
    wide = (TensorProto.INT32,)
    case("matmul_integer", "MatMulInteger", 10, [a, b, np.uint8(12), np.uint8(100)], types=wide)
    case("matmul_integer_columns", "MatMulInteger", 10, [a, signed, np.uint8(12), np.array([1, -2, 3, -4], np.int8)], constants=(1, 3), types=wide)
    case("matmul_integer_none", "MatMulInteger", 10, [whole(2, 3, 5), signed], types=wide)
    image, filters = whole(1, 4, 6, 5), whole(6, 2, 3, 3, seed=1)
    for name, attrs in (("", {}), ("_pads", {"pads": [1, 2, 0, 1]}), ("_strides", {"strides": [2, 1], "dilations": [1, 2]}),
                        ("_same", {"auto_pad": "SAME_UPPER", "strides": [2, 2]}), ("_same_lower", {"auto_pad": "SAME_LOWER"})):
        case(f"conv_integer{name}", "ConvInteger", 10, [image, filters, np.uint8(9), np.uint8(100)], constants=(1, 3), types=wide, group=2, **attrs)
        given = [image, np.float32(0.02), np.uint8(9), whole(6, 2, 3, 3, low=-128, high=128, dtype=np.int8), floats(6, low=0.01, high=0.02),
                 np.zeros(6, np.int8), np.float32(0.6), np.uint8(120), whole(6, low=-500, high=500, dtype=np.int32)]
        case(f"qlinear_conv{name}", "QLinearConv", 10, given, constants=(3, 4, 5, 8), types=(number,), group=2, rtol=0, atol=1, **attrs)
    wide_image = whole(2, 4, 6, 5)
    for name, many in (("", 4), ("_two", 8)):
        filters, zeros = whole(many, 1, 3, 2, low=-128, high=128, dtype=np.int8), whole(many, low=-9, high=9, dtype=np.int8)
        case(f"conv_integer_channels{name}", "ConvInteger", 10, [wide_image, filters, np.uint8(200), np.int8(5)], constants=(1, 3), types=wide, group=4, pads=[1, 0, 0, 1])
        given = [wide_image, np.float32(0.02), np.uint8(9), filters, floats(many, low=0.01, high=0.02), zeros, np.float32(0.0317), np.uint8(120)]
        case(f"qlinear_conv_channels{name}", "QLinearConv", 10, given, constants=(3, 4, 5), types=(number,), group=4, strides=[2, 1])
    case("conv_integer_channels_sequence", "ConvInteger", 10, [whole(2, 4, 9), whole(4, 1, 3), np.uint8(200), np.uint8(5)], constants=(1,), types=wide, group=4, pads=[1, 1])
    line = [whole(2, 3, 9), np.float32(0.02), np.uint8(9), whole(4, 3, 3), np.float32(0.01), np.uint8(120), np.float32(0.3), np.uint8(120)]
    case("qlinear_conv_sequence", "QLinearConv", 10, line, constants=(3, 4, 5), types=(number,), pads=[1, 1], rtol=0, atol=1)
    given = [a, np.float32(0.02), np.uint8(12), b, np.float32(0.03), np.uint8(100), np.float32(0.2), np.uint8(90)]
    case("qlinear_matmul", "QLinearMatMul", 10, given, types=(number,), rtol=0, atol=1)
    given[3:6] = [signed, floats(4, low=0.01, high=0.03), np.array([0, 1, 2, 3], np.int8)]
    case("qlinear_matmul_columns", "QLinearMatMul", 10, given, constants=(3, 4, 5), types=(number,), rtol=0, atol=1)


def joined_cases():
    """Products of values that DequantizeLinear made. Each model has the result as it is."""

    def give(name, op, x, w, scale, zero, axis=1, bias=None, fed=False, **attrs):
        nodes = [helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]), helper.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"]),
                 helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], axis=axis)]
        feeds, fixed = {"x": x}, {"xs": np.float32(0.0171), "xz": np.uint8(120), "w": w, "ws": scale, "wz": zero}
        if fed:
            feeds["w"] = fixed.pop("w")
        names = ["xd", "wd"]
        if bias is not None:
            fixed.update({"b": bias, "bs": np.float32(0.0003), "bz": np.int32(0)})
            nodes.append(helper.make_node("DequantizeLinear", ["b", "bs", "bz"], ["bd"]))
            names.append("bd")
        nodes.append(helper.make_node(op, names, ["y"], **attrs))
        graph = helper.make_graph(nodes, "graph", [info(key, array) for key, array in feeds.items()], [helper.make_tensor_value_info("y", FLOAT, None)],
                                  [numpy_helper.from_array(np.asarray(array), key) for key, array in fixed.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        base.add(f"joined_{name}", model, list(feeds.values()), session.run(None, feeds), 1e-4, 1e-4)

    x, w = floats(2, 3, 8, low=-2, high=2), whole(8, 5, low=-128, high=128, dtype=np.int8)
    one, columns, none = np.float32(0.011), floats(5, low=0.01, high=0.02), np.zeros(5, np.int8)
    give("matmul", "MatMul", x, w, one, np.int8(3))
    give("matmul_columns", "MatMul", x, w, columns, np.array([0, 1, -2, 3, 4], np.int8))
    give("matmul_rows", "MatMul", x, w, floats(8, low=0.01, high=0.02), np.zeros(8, np.int8), axis=0)
    give("matmul_fed", "MatMul", x, w, columns, none, axis=-1, fed=True)
    give("matmul_batch", "MatMul", x, whole(2, 8, 5), one, np.uint8(100))
    give("matmul_batch_fed", "MatMul", x, whole(2, 8, 5), one, np.uint8(100), fed=True)
    give("gemm", "Gemm", x[0], w, one, np.int8(0), bias=whole(5, low=-900, high=900, dtype=np.int32))
    turned = np.ascontiguousarray(w.T)
    give("gemm_turned", "Gemm", x[0], turned, columns, none, axis=0, bias=whole(5, low=-900, high=900, dtype=np.int32), transB=1)
    give("gemm_turned_fed", "Gemm", x[0], turned, columns, none, axis=0, fed=True, transB=1)
    give("gemm_alpha", "Gemm", x[0], w, one, np.int8(0), alpha=0.5)
    image, filters = floats(1, 4, 6, 5, low=-2, high=2), whole(6, 4, 3, 3, low=-128, high=128, dtype=np.int8)
    six = floats(6, low=0.01, high=0.02)
    give("conv", "Conv", image, filters, six, np.zeros(6, np.int8), axis=0, bias=whole(6, low=-900, high=900, dtype=np.int32), pads=[1, 1, 1, 1])
    give("conv_strides", "Conv", image, filters, one, np.int8(2), axis=0, strides=[2, 1], dilations=[1, 2], pads=[0, 2, 1, 2])
    give("conv_groups", "Conv", image, whole(6, 2, 3, 3), one, np.uint8(90), axis=0, group=2)
    channels = whole(4, 1, 3, 3, low=-128, high=128, dtype=np.int8)
    give("conv_channels", "Conv", image, channels, floats(4, low=0.01, high=0.02), np.zeros(4, np.int8), axis=0, group=4, pads=[1, 1, 1, 1])
    give("conv_sequence", "Conv", floats(2, 4, 9), whole(6, 4, 3), six, np.full(6, 128, np.uint8), axis=0, pads=[1, 1])


# ---- signals ----
def signal_cases():
    x = floats(2, 1000)
    window = np.hanning(401)[:400].astype(np.float32)
    frames = np.stack([x[:, i * 160:i * 160 + 400] for i in range(4)], 1).astype(np.float64)
    spectrum = np.fft.rfft(frames * window.astype(np.float64))
    want = [np.stack([spectrum.real, spectrum.imag], -1).astype(np.float32)]
    case("stft", "STFT", 17, [x[:, :, None], np.int64(160), window, np.int64(400)], constants=(1, 2, 3), want=want, atol=1e-4)
    case("stft_rank_2", "STFT", 17, [x, np.int64(160), window, np.int64(400)], constants=(1, 2, 3), want=want, atol=1e-4)
    case("stft_fed_window", "STFT", 17, [x[:, :, None], np.int64(160), window], want=want, atol=1e-4)
    y = floats(3, 2, 6, 1)
    spectrum = np.fft.fft(y[..., 0], axis=0)
    both = lambda z: np.stack([z.real, z.imag], -1).astype(np.float32)
    case("dft_axis_0", "DFT", 20, [y, None, np.int64(0)], constants=(2,), want=[both(spectrum)])
    case("dft_longer", "DFT", 20, [y, np.int64(9)], constants=(1,), want=[both(np.fft.fft(y[..., 0], 9))])
    case("dft_shorter_onesided", "DFT", 20, [y, np.int64(5)], constants=(1,), want=[both(np.fft.rfft(y[..., 0], 5))], onesided=1)
    half = both(np.fft.rfft(y[..., 0]))
    case("dft_back", "DFT", 20, [half], want=[y], onesided=1, inverse=1)
    case("dft_back_odd", "DFT", 20, [both(np.fft.rfft(y[:, :, :5, 0])), np.int64(5)], constants=(1,), want=[y[:, :, :5]], onesided=1, inverse=1)
    case("dft_17", "DFT", 17, [y], want=[both(np.fft.fft(y[..., 0], axis=1))])


# ---- com.microsoft ----
def fused_cases():
    x, w, b = floats(1, 3, 6, 5), floats(4, 3, 3, 3, seed=1), floats(4, seed=2)
    contrib("fused_conv_relu", "FusedConv", [x, w, b], constants=(1, 2), activation="Relu", pads=[1, 1, 1, 1])
    contrib("fused_conv_added", "FusedConv", [x, w, b, floats(1, 4, 6, 5, seed=3)], constants=(1, 2), activation="Relu", pads=[1, 1, 1, 1])
    contrib("fused_conv_leaky", "FusedConv", [x, w], constants=(1,), activation="LeakyRelu", activation_params=[0.2])
    contrib("fused_conv_clip", "FusedConv", [x, w], constants=(1,), activation="Clip", activation_params=[-0.2, 0.3])
    contrib("fused_conv_hard_sigmoid", "FusedConv", [x, w], constants=(1,), activation="HardSigmoid", activation_params=[0.3, 0.4])
    for op in ("Sigmoid", "Tanh"):
        contrib(f"fused_conv_{op.lower()}", "FusedConv", [x, w, b], constants=(1, 2), activation=op)
    a, c = floats(2, 3, 4, 5), floats(2, 3, 4, 6, seed=1)
    contrib("fused_matmul", "FusedMatMul", [a, floats(2, 3, 5, 6)], alpha=0.5)
    contrib("fused_matmul_a", "FusedMatMul", [a, c], transA=1)
    contrib("fused_matmul_b", "FusedMatMul", [a, floats(2, 3, 6, 5)], transB=1, alpha=2.0)
    contrib("fused_matmul_batch", "FusedMatMul", [floats(4, 2, 3, 5), floats(2, 3, 5, 6)], transBatchA=1)
    contrib("fused_matmul_batch_both", "FusedMatMul", [floats(5, 2, 3, 4), floats(2, 3, 5, 6)], transBatchA=1, transA=1)
    contrib("transpose_matmul", "TransposeMatMul", [a, c], transA=1)
    given = [floats(3, 4), floats(4, 5), floats(5)]
    contrib("fused_gemm_relu", "FusedGemm", given, activation="Relu", alpha=0.5)
    contrib("fused_gemm_leaky", "FusedGemm", [floats(4, 3), floats(4, 5)], activation="LeakyRelu", activation_alpha=0.3, transA=1)
    y = floats(2, 3, 8, low=-4, high=4)
    contrib("quick_gelu", "QuickGelu", [y])
    contrib("quick_gelu_alpha", "QuickGelu", [y], alpha=1.5)
    contrib("gelu", "Gelu", [y])
    contrib("bias_gelu", "BiasGelu", [y, floats(8)])
    contrib("fast_gelu", "FastGelu", [y])
    contrib("fast_gelu_bias", "FastGelu", [y, floats(8)])


def norm_cases():
    x, skip, scale, offset, bias = floats(2, 3, 8), floats(2, 3, 8, seed=1), floats(8), floats(8, seed=1), floats(8, seed=2)
    outs = ["y", "", "", "sum"]
    contrib("skip_layer_norm", "SkipLayerNormalization", [x, skip, scale, offset, bias], outs, epsilon=1e-5)
    contrib("skip_layer_norm_least", "SkipLayerNormalization", [x, skip, scale])
    contrib("skip_rms_norm", "SkipSimplifiedLayerNormalization", [x, skip, scale, bias], outs, epsilon=1e-6)
    contrib("skip_rms_norm_least", "SkipSimplifiedLayerNormalization", [x, skip, scale])
    image, gamma, beta = floats(2, 4, 3, 8), floats(8), floats(8, seed=1)
    folded = image.reshape(2, 12, 2, 4).astype(np.float64)
    normal = (folded - folded.mean((1, 3), keepdims=True)) / np.sqrt(folded.var((1, 3), keepdims=True) + 1e-5)
    want = (normal.reshape(image.shape) * gamma + beta).astype(np.float32)
    contrib("group_norm", "GroupNorm", [image, gamma, beta], constants=(1, 2), groups=2, activation=0, want=[want])
    contrib("group_norm_silu", "GroupNorm", [image, gamma, beta], constants=(1, 2), groups=2, activation=1, want=[want / (1 + np.exp(-want))])
    contrib("bias_softmax", "BiasSoftmax", [floats(2, 3, 4, 5), floats(2, 1, 1, 5)], axis=3, is_inner_broadcast=1,
            want=[np.exp(z := floats(2, 3, 4, 5) + floats(2, 1, 1, 5)) / np.exp(z).sum(-1, keepdims=True)])
    case("rms_norm", "SimplifiedLayerNormalization", 17, [x, scale], ["y"], epsilon=1e-6)


def pack(values, bits):
    """Numbers [..., n] in bytes, the lowest bits first; n is filled up with zeros."""
    each = 8 // bits
    rest = -values.shape[-1] % each
    values = np.concatenate([values, np.zeros((*values.shape[:-1], rest), np.uint8)], -1).reshape(*values.shape[:-1], -1, each)
    return sum(values[..., i].astype(np.uint32) << (bits * i) for i in range(each)).astype(np.uint8)


def bit_cases():
    for bits, block, rows, columns in ((4, 16, 32, 6), (4, 32, 40, 5), (8, 16, 32, 6), (2, 16, 48, 6)):
        blocks = -(-rows // block)
        q = whole(columns, blocks, block, high=1 << bits)
        packed, scales = pack(q, bits), floats(columns, blocks, low=0.01, high=0.1)
        zeros = whole(columns, blocks, high=1 << bits, seed=1)
        x, bias = floats(2, 3, rows), floats(columns)

        def want(zero, added=0):
            weights = ((q.astype(np.float64) - zero[..., None]) * scales[..., None]).reshape(columns, -1)[:, :rows]
            return [(x @ weights.T + added).astype(np.float32)]

        middle = np.full((columns, blocks), 1 << (bits - 1))
        name = f"matmul_bits_{bits}_{block}_{rows}"
        more = {"K": rows, "N": columns, "bits": bits, "block_size": block}
        contrib(name, "MatMulNBits", [x, packed, scales.reshape(-1)], constants=(1, 2), want=want(middle), **more)
        contrib(f"{name}_zeros", "MatMulNBits", [x, packed, scales, pack(zeros, bits)], constants=(1, 2, 3), want=want(zeros), **more)
        contrib(f"{name}_bias", "MatMulNBits", [x, packed, scales, None, None, bias], constants=(1, 2, 5), want=want(middle, bias), **more)
        contrib(f"{name}_fed", "MatMulNBits", [x, packed, scales, (zeros + 0.5).astype(np.float32)], want=want(zeros + 0.5), **more)
    table = whole(9, 32, high=16)
    scales, ids = floats(9, 2, low=0.01, high=0.1), np.array([[1, 8, 0], [3, -1, 2]])
    zeros = whole(9, 2, high=16, seed=1)

    def rows(zero):
        return [((table - np.repeat(zero, 16, 1)) * np.repeat(scales, 16, 1))[ids].astype(np.float32)]

    more = {"block_size": 16, "quantize_axis": 1, "gather_axis": 0, "bits": 4}
    contrib("gather_blocks", "GatherBlockQuantized", [pack(table, 4), ids, scales, pack(zeros, 4)], constants=(0, 2, 3), want=rows(zeros.astype(np.float32)), **more)
    contrib("gather_blocks_middle", "GatherBlockQuantized", [pack(table, 4), ids, scales], constants=(0, 2), want=rows(np.full((9, 2), 8, np.float32)), **more)


    for name, dtype in (("float8", ml_dtypes.float8_e4m3fn), ("float8_unsigned_zero", ml_dtypes.float8_e4m3fnuz), ("float4", ml_dtypes.float4_e2m1fn)):
        table = floats(9, 32, low=-6, high=6).astype(dtype)
        for kind, shape, block in (("blocks", (9, 2), 16), ("rows", (9, 1), 0), ("one", (1, 1), 0)):
            scales = floats(*shape, low=0.01, high=0.1)
            each = np.repeat(np.broadcast_to(scales, (9, shape[1])), 32 // shape[1], 1)
            contrib(f"gather_{name}_{kind}", "GatherBlockQuantized", [table, ids, scales], constants=(0, 2), block_size=block,
                    want=[(table.astype(np.float32) * each)[ids]])


def quantized_contrib_cases():
    number, step = (TensorProto.UINT8,), {"rtol": 0, "atol": 1}
    a, b = whole(2, 3, 4), whole(2, 3, 4, seed=1)
    pair = [a, np.float32(0.03), np.uint8(100), b, np.float32(0.02), np.uint8(120), np.float32(0.04), np.uint8(90)]
    for op, join in (("QLinearAdd", np.add), ("QLinearMul", np.multiply)):
        for name, right in (("", b), ("_broadcast", whole(4))):
            y = join((a.astype(np.float32) - 100) * np.float32(0.03), (right.astype(np.float32) - 120) * np.float32(0.02))
            want = [np.clip(np.rint(y / np.float32(0.04)) + 90, 0, 255).astype(np.uint8)]
            contrib(f"{op.lower()}{name}", op, [*pair[:3], right, *pair[4:]], types=number, want=want)
    one = [a, np.float32(0.03), np.uint8(100), np.float32(0.01), np.uint8(3)]
    contrib("qlinearsigmoid", "QLinearSigmoid", one, constants=(1, 2, 3, 4), types=number, **step)
    contrib("qlinearleakyrelu", "QLinearLeakyRelu", one, constants=(1, 2, 3, 4), types=number, alpha=0.2, **step)
    for opset, axis in ((13, -1), (13, 1), (11, 1)):
        contrib(f"qlinearsoftmax_{opset}_{axis % 3}", "QLinearSoftmax", [a, np.float32(0.03), np.uint8(100), np.float32(1 / 256), np.uint8(0)],
                constants=(1, 2, 3, 4), types=number, axis=axis, opset=opset, **step)
    contrib("qlinearconcat", "QLinearConcat", [np.float32(0.04), np.uint8(90), *pair[:6]], constants=(0, 1, 3, 4, 6, 7), types=number, axis=1, **step)
    image = [whole(1, 3, 6, 5), np.float32(0.0317), np.uint8(100), np.float32(0.0231), np.uint8(90)]
    contrib("qlinearaveragepool", "QLinearAveragePool", image, constants=(1, 2, 3, 4), types=number, kernel_shape=[3, 3], pads=[1, 1, 1, 1], **step)
    contrib("qlinearglobalaveragepool", "QLinearGlobalAveragePool", image, constants=(1, 2, 3, 4), types=number, **step)
    last = [whole(1, 6, 5, 3), *image[1:]]
    contrib("qlinearglobalaveragepool_last", "QLinearGlobalAveragePool", last, constants=(1, 2, 3, 4), types=number, channels_last=1, **step)
    contrib("qlinearwhere", "QLinearWhere", [a > 100, *pair], constants=(2, 3, 5, 6, 7, 8), types=number, **step)
    left, right = whole(3, 5), whole(5, 4, low=-128, high=128, dtype=np.int8)
    gemm = [left, np.float32(0.02), np.uint8(12), right, floats(4, low=0.01, high=0.02), np.zeros(4, np.int8), whole(4, low=-500, high=500, dtype=np.int32)]
    contrib("qgemm", "QGemm", [*gemm, np.float32(0.2), np.uint8(90)], constants=(3, 4, 5, 6), types=number, **step)
    contrib("qgemm_numbers", "QGemm", gemm, constants=(3, 4, 5, 6))
    turned = [np.ascontiguousarray(left.T), *gemm[1:3], np.ascontiguousarray(right.T), np.float32(0.01), np.int8(0)]
    contrib("qgemm_turned", "QGemm", turned, constants=(3, 4, 5), transA=1, transB=1)
    x = floats(2, 3, 5)
    contrib("dynamic_matmul", "DynamicQuantizeMatMul", [x, right, np.float32(0.01), np.int8(3), floats(4)], constants=(1, 2, 3, 4))
    contrib("dynamic_matmul_columns", "DynamicQuantizeMatMul", [x, right, floats(4, low=0.01, high=0.02)], constants=(1, 2))
    contrib("integer_to_float", "MatMulIntegerToFloat", [left, right, np.float32(0.02), floats(4, low=0.01, high=0.02), np.uint8(12), np.zeros(4, np.int8), floats(4)], constants=(1, 3, 5, 6))
    units, inputs = 3, 4
    for direction, many in (("forward", 1), ("bidirectional", 2)):
        weights = [whole(many, inputs, 4 * units, low=-127, high=128, dtype=np.int8), whole(many, units, 4 * units, low=-127, high=128, dtype=np.int8, seed=1)]
        given = [floats(5, 2, inputs), *weights, floats(many, 8 * units), None, None, None, None, np.full(many, 0.01, np.float32), np.zeros(many, np.int8),
                 np.full(many, 0.008, np.float32), np.zeros(many, np.int8)]
        contrib(f"dynamic_lstm_{direction}", "DynamicQuantizeLSTM", given, ["y", "y_h", "y_c"], constants=(1, 2, 3, 8, 9, 10, 11), rtol=0.02, atol=0.02,
                direction=direction, hidden_size=units)
    # What is after the longest sequence does not count in the extremes by which the inputs are rounded.
    weights = [whole(1, inputs, 4 * units, low=-63, high=64, dtype=np.int8), whole(1, units, 4 * units, low=-63, high=64, dtype=np.int8, seed=1)]
    padded = floats(5, 1, inputs)
    padded[3:] = np.nan
    given = [padded, *weights, None, np.array([3], np.int32), None, None, None, np.full(1, 0.01, np.float32), np.zeros(1, np.int8), np.full(1, 0.008, np.float32), np.zeros(1, np.int8)]
    contrib("dynamic_lstm_padding", "DynamicQuantizeLSTM", given, ["y", "y_h", "y_c"], constants=(1, 2, 8, 9, 10, 11), hidden_size=units)
    contrib("microsoft_quantize", "QuantizeLinear", [x, np.float32(0.0001), np.uint16(300)], types=(TensorProto.UINT16,))
    contrib("microsoft_dequantize", "DequantizeLinear", [whole(2, 3, high=60000, dtype=np.uint16), np.float32(0.001), np.uint16(300)])


def attention_cases():
    heads, size, batch, steps, past = 2, 4, 2, 3, 2
    hidden = heads * size
    q, k, v = floats(batch, steps, hidden), floats(batch, 5, hidden), floats(batch, 5, hidden, seed=1)
    bias, mask = floats(3 * hidden), np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    contrib("mha", "MultiHeadAttention", [q, k, v], num_heads=heads)
    contrib("mha_bias", "MultiHeadAttention", [q, k, v, bias], num_heads=heads)
    contrib("mha_mask", "MultiHeadAttention", [q, k, v, None, mask], num_heads=heads)
    contrib("mha_lengths", "MultiHeadAttention", [q, k, v, None, np.array([3, 5], np.int32)], num_heads=heads)
    contrib("mha_attention_bias", "MultiHeadAttention", [q, k, v, None, None, floats(1, heads, steps, 5)], num_heads=heads, scale=0.3)
    contrib("mha_causal", "MultiHeadAttention", [q, q, q], num_heads=heads, unidirectional=1)
    kept = [floats(batch, heads, past, size, seed=3), floats(batch, heads, past, size, seed=4)]
    contrib("mha_past", "MultiHeadAttention", [q, q, q, None, None, None, *kept], ["y", "k", "v"], num_heads=heads)
    contrib("mha_cross", "MultiHeadAttention", [q, floats(batch, heads, 5, size), floats(batch, heads, 5, size, seed=1)], num_heads=heads)
    x, w = floats(batch, steps, 6), floats(6, 3 * hidden)
    contrib("attention", "Attention", [x, w, bias], constants=(1, 2), num_heads=heads)
    contrib("attention_causal", "Attention", [x, w, bias], constants=(1, 2), num_heads=heads, unidirectional=1)
    contrib("attention_mask", "Attention", [x, w, bias, np.array([[1, 1, 0], [1, 1, 1]], np.int32)], constants=(1, 2), num_heads=heads)
    contrib("attention_lengths", "Attention", [x, w, bias, np.array([2, 3], np.int32)], constants=(1, 2), num_heads=heads)
    contrib("attention_past", "Attention", [x, w, bias, None, np.stack(kept)], ["y", "present"], constants=(1, 2), num_heads=heads, unidirectional=1)
    wq, xq = whole(6, 3 * hidden, low=-128, high=128, dtype=np.int8), whole(batch, steps, 6)
    quantised = [xq, wq, bias, np.float32(0.01), np.float32(0.012)]
    contrib("qattention", "QAttention", [*quantised, None, np.uint8(120), np.int8(0)], constants=(1, 2, 3, 4, 6, 7), num_heads=heads, unidirectional=1)
    contrib("qattention_mask", "QAttention", [*quantised, np.array([2, 3], np.int32), np.uint8(120), np.int8(0)], constants=(1, 2, 3, 4, 6, 7), num_heads=heads)
    cos, sin = floats(10, size // 2), floats(10, size // 2, seed=1)
    places = np.array([[1, 2, 3], [4, 5, 6]])
    for name, ids, interleaved in (("", places, 0), ("_interleaved", places, 1), ("_first", np.array([4]), 0)):
        contrib(f"rotary{name}", "RotaryEmbedding", [q, ids, cos, sin], constants=(2, 3), interleaved=interleaved)
    contrib("rotary_heads", "RotaryEmbedding", [floats(batch, heads, steps, size), places, cos, sin])
    contrib("rotary_part", "RotaryEmbedding", [q, places, floats(10, 1), floats(10, 1, seed=1)], rotary_embedding_dim=2, num_heads=heads)
    group_cases()


def group_cases():
    heads, few, size = 4, 2, 16
    cos, sin = floats(16, size // 2), floats(16, size // 2, seed=1)
    names = ["y", "k", "v"]
    for batch in (1, 2):
        for name, steps, past, room in (("prompt", 3, 0, 0), ("step", 1, 4, 4), ("room", 1, 4, 12), ("more", 3, 4, 7)):
            if name == "more" and batch > 1:
                continue
            total = steps + past
            q, k, v = floats(batch, steps, heads * size), floats(batch, steps, few * size), floats(batch, steps, few * size, seed=1)
            kept = [floats(batch, few, room, size, seed=3 + i) for i in range(2)] if room else [None, None]
            for array in kept if room else []:
                array[:, :, past:] = 0
            if name == "more":
                kept = [array[:, :, :past] for array in kept]
            last, all_keys = np.full(batch, total - 1, np.int32), np.array([total], np.int32)
            given, more = [q, k, v, *kept, last, all_keys], {"num_heads": heads, "kv_num_heads": few}
            for variant, attrs, caches in (("", {}, []), ("_rotary", {"do_rotary": 1}, [cos, sin]), ("_interleaved", {"do_rotary": 1, "rotary_interleaved": 1}, [cos, sin]),
                                           ("_window", {"local_window_size": 2}, []), ("_softcap", {"softcap": 2.0, "scale": 0.5}, [])):
                contrib(f"gqa_{name}_{batch}{variant}", "GroupQueryAttention", [*given, *caches], names, constants=(6,), **more, **attrs)
            packed = np.concatenate([q, k, v], -1)
            contrib(f"gqa_{name}_{batch}_packed", "GroupQueryAttention", [packed, None, None, *kept, last, all_keys], names, constants=(6,), **more)
    # Elements of a batch with lengths of their own.
    given = [floats(2, 1, heads * size), floats(2, 1, few * size), floats(2, 1, few * size, seed=1), floats(2, few, 12, size, seed=3),
             floats(2, few, 12, size, seed=4), np.array([4, 2], np.int32), np.array([5], np.int32)]
    for array in given[3:5]:
        array[0, :, 4:] = array[1, :, 2:] = 0
    contrib("gqa_lengths", "GroupQueryAttention", given, names, constants=(6,), num_heads=heads, kv_num_heads=few)
    contrib("gqa_lengths_rotary", "GroupQueryAttention", [*given, cos, sin], names, constants=(6,), num_heads=heads, kv_num_heads=few, do_rotary=1)


def attend(q, k, v, scale=None, added=0.0, sink=None):
    """softmax(q k' scale + added) v of heads [batch, heads, length, size]; exp(sink) is in the divisor, too."""
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1).astype(np.float64) for x in (k, v))
    scores = q @ k.transpose(0, 1, 3, 2) * (scale or q.shape[-1] ** -0.5) + added
    weights = np.exp(scores)
    return weights / (weights.sum(-1, keepdims=True) + (0 if sink is None else np.exp(sink).reshape(1, -1, 1, 1))) @ v


def apart(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def together(x):
    x = x.transpose(0, 2, 1, 3)
    return x.reshape(*x.shape[:2], -1).astype(np.float32)


def cache_cases():
    heads, few, size, past = 4, 2, 16, 4
    for batch in (1, 2):
        q, k, v = floats(batch, 1, heads * size), floats(batch, 1, few * size), floats(batch, 1, few * size, seed=1)
        kept = [floats(batch, few, past, size, seed=3 + i) for i in range(2)]
        ends = [np.full(batch, past, np.int32), np.array([past + 1], np.int32)]
        more = {"num_heads": heads, "kv_num_heads": few}
        names, none = ["y", "k", "v"], [None] * 4
        contrib(f"gqa_sink_{batch}", "GroupQueryAttention", [q, k, v, *kept, *ends, *none, floats(heads, low=-2, high=2)], names, constants=(6,), **more)
        contrib(f"gqa_smooth_{batch}", "GroupQueryAttention", [q, k, v, *kept, *ends], names, constants=(6,), smooth_softmax=1, **more)
        for kind in (1, 2):
            contrib(f"gqa_scores_{kind}_{batch}", "GroupQueryAttention", [q, k, v, *kept, *ends], [*names, "qk"], constants=(6,), qk_output=kind, softcap=3.0, **more)
        if batch == 1:
            many = [floats(1, 3, heads * size), floats(1, 3, few * size), floats(1, 3, few * size, seed=1), None, None, np.array([2], np.int32), np.array([3], np.int32)]
            contrib("gqa_scores_sink", "GroupQueryAttention", [*many, *none, floats(heads)], [*names, "qk"], constants=(6,), qk_output=2, **more)
            contrib("gqa_scores_window", "GroupQueryAttention", many, [*names, "qk"], constants=(6,), qk_output=1, local_window_size=2, **more)
            contrib("mha_scores", "MultiHeadAttention", [many[0]] * 3 + [None, None, floats(1, heads, 3, 3)], [*names, "qk"], num_heads=heads)
            contrib("gqa_sink_prompt", "GroupQueryAttention", [*many, *none, floats(heads)], names, constants=(6,), **more)
        for bits, dtype, number, rows in ((8, np.int8, TensorProto.INT8, size), (4, np.uint8, TensorProto.UINT8, size // 2)):
            for kind, shape in (("PER_TENSOR", (1,)), ("PER_CHANNEL", (1, few, 1, size))):
                scales = [floats(*shape, low=0.05, high=0.2, seed=i) for i in range(2)]
                caches = [whole(batch, few, past + 2 * (batch - 1), rows, low=np.iinfo(dtype).min, high=np.iinfo(dtype).max, dtype=dtype, seed=i) for i in range(2)]
                for array in caches:
                    array[:, :, past:] = 0
                contrib(f"gqa_cache_{bits}_{kind.lower()}_{batch}", "GroupQueryAttention", [q, k, v, *caches, *ends, *none, None, *scales], names, constants=(6,),
                        types=(FLOAT, number, number), k_quant_type=kind, v_quant_type=kind, kv_cache_bit_width=bits, **more)
        # Heads of queries and keys are normalised.
        weights = [floats(size, low=0.5, high=1.5), floats(size, low=0.5, high=1.5, seed=1)]
        heads_of = [apart(x, n).astype(np.float64) for x, n in ((q, heads), (k, few), (v, few))]
        for i in range(2):
            heads_of[i] = (heads_of[i] / np.sqrt((heads_of[i] ** 2).mean(-1, keepdims=True) + 1e-5) * weights[i]).astype(np.float32)
        present = [np.concatenate([kept[i], heads_of[1 + i].astype(np.float32)], 2) for i in range(2)]
        contrib(f"gqa_norm_{batch}", "GroupQueryAttention", [q, k, v, *kept, *ends, *none, None, None, None, *weights], names, constants=(6,), qk_norm_epsilon=1e-5,
                want=[together(attend(heads_of[0], *present)), *present], **more)


def packed_cases():
    heads, size, lengths = 2, 4, (1, 2, 4)
    tokens, hidden = sum(lengths), heads * size
    ends = np.cumsum([0, *lengths]).astype(np.int32)
    offsets = np.zeros((3, 4), np.int32)
    x, weights, bias = floats(tokens, 6), floats(6, 3 * hidden), floats(3 * hidden)

    def by_sequence(q, k, v, scale=None):
        parts = [[apart(x[None, a:b], heads) for x in (q, k, v)] for a, b in zip(ends, ends[1:])]
        return np.concatenate([together(attend(*three, scale))[0] for three in parts])

    q, k, v = np.split(x @ weights + bias, 3, 1)
    contrib("packed_attention", "PackedAttention", [x, weights, bias, offsets, ends], constants=(1, 2), num_heads=heads, want=[by_sequence(q, k, v)])
    q, k, v = floats(tokens, hidden), floats(tokens, hidden, seed=1), floats(tokens, 2 * hidden)
    contrib("packed_heads", "PackedMultiHeadAttention", [q, k, v, None, offsets, ends], num_heads=heads, scale=0.3, want=[by_sequence(q, k, v, 0.3)])
    bias = floats(4 * hidden)
    cut = np.split(bias, (hidden, 2 * hidden))
    contrib("packed_heads_bias", "PackedMultiHeadAttention", [q, k, v, bias, offsets, ends], constants=(3,), num_heads=heads,
            want=[by_sequence(q + cut[0], k + cut[1], v + cut[2])])
    all_heads = floats(tokens, heads, 3, size)
    parts = [all_heads[:, :, i].reshape(tokens, hidden) for i in range(3)]
    contrib("packed_heads_joined", "PackedMultiHeadAttention", [all_heads, None, None, None, offsets, ends], num_heads=heads, want=[by_sequence(*parts)])
    refusal("packed_bias", "PackedMultiHeadAttention", 17, [q, k, v, None, offsets, ends, floats(1, heads, 4, 4)], domain=MICROSOFT, num_heads=heads)


def expert_cases():
    count, size, inner = 4, 8, 16
    for tokens in (1, 5):
        x, scores = floats(tokens, size), floats(tokens, count, low=-3, high=3)
        for kind in ("relu", "gelu", "silu", "identity", "swiglu"):
            wide = inner * (2 if kind == "swiglu" else 1)
            given = [x, scores, floats(count, wide, size), floats(count, wide), floats(count, size, inner, seed=1), floats(count, size, seed=1)]
            more = {"swiglu_fusion": 1, "swiglu_limit": 0.5, "activation_alpha": 1.7, "activation_beta": 1.0} if kind == "swiglu" else {}
            contrib(f"moe_{kind}_{tokens}", "MoE", given, constants=(2, 3, 4, 5), k=2, activation_type=kind, normalize_routing_weights=1, **more)
        contrib(f"moe_one_{tokens}", "MoE", [x.reshape(1, tokens, size), *given[1:2], floats(count, inner, size), None, given[4]], constants=(2, 4), k=1)
        contrib(f"moe_fed_{tokens}", "MoE", [x, scores, floats(count, inner, size), floats(count, inner), *given[4:]], k=3)
        # What ONNX Runtime has on other devices only: gates in one half, and in a third product.
        first, third = floats(count, inner, size), floats(count, inner, size, seed=2)
        second = floats(count, size, inner, seed=1)
        shares = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        shares = np.where(shares >= np.sort(shares, 1)[:, -2:-1], shares, 0)
        gate = np.einsum("ts,ehs->teh", x, first)
        gate = gate / (1 + np.exp(-gate)) * np.einsum("ts,ehs->teh", x, third)
        want = [np.einsum("te,teh,esh->ts", shares, gate, second).astype(np.float32)]
        contrib(f"moe_gate_{tokens}", "MoE", [x, scores, first, None, second, None, third], constants=(2, 4, 6), k=2, activation_type="swiglu", want=want)
        contrib(f"moe_gate_half_{tokens}", "MoE", [x, scores, np.concatenate([first, third], 1), None, second], constants=(2, 4), k=2, activation_type="swiglu",
                swiglu_fusion=2, want=want)
    quantised_expert_cases()


def quantised_expert_cases():
    count, size, inner, block = 3, 16, 32, 16
    for bits in (4, 8):
        for tokens in (1, 5):
            x, scores = floats(tokens, size), floats(tokens, count, low=-3, high=3)
            q = [whole(count, inner, size, high=1 << bits), whole(count, size, inner, high=1 << bits)]
            scales = [floats(count, inner, low=0.001, high=0.01), floats(count, size, low=0.001, high=0.01)]
            more = {"k": 2, "activation_type": "silu", "normalize_routing_weights": 1, "expert_weight_bits": bits, "rtol": 1e-3, "atol": 1e-4}

            def want(first, second):
                shares = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
                shares = np.where(shares >= np.sort(shares, 1)[:, -2:-1], shares, 0)
                h = np.einsum("ts,ehs->teh", x, first)
                return [np.einsum("te,teh,esh->ts", shares / shares.sum(1, keepdims=True), h / (1 + np.exp(-h)), second).astype(np.float32)]

            middle = 1 << (bits - 1)
            numbers = [(q[i] - np.float64(middle)) * scales[i][..., None] for i in range(2)]
            given = [x, scores, pack(q[0], bits), scales[0], None, pack(q[1], bits), scales[1]]
            contrib(f"qmoe_{bits}_{tokens}", "QMoE", given, constants=(2, 3, 5, 6), want=want(*numbers), **more)
            blocks = [floats(count, inner, size // block, low=0.001, high=0.01), floats(count, size, inner // block, low=0.001, high=0.01)]
            zeros = [whole(*blocks[i].shape, high=1 << bits, seed=i) for i in range(2)]
            numbers = [(q[i] - np.repeat(zeros[i], block, 2).astype(np.float64)) * np.repeat(blocks[i], block, 2) for i in range(2)]
            given = [x, scores, pack(q[0], bits), blocks[0], None, pack(q[1], bits), blocks[1], *[None] * 4, *(pack(zero, bits) for zero in zeros)]
            contrib(f"qmoe_{bits}_blocks_{tokens}", "QMoE", given, constants=(2, 3, 5, 6, 11, 12), block_size=block, want=want(*numbers), **more)


def nhwc_cases():
    x, w, b = floats(1, 3, 6, 5), floats(4, 3, 3, 3, seed=1), floats(4, seed=2)
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[1, 1, 1, 1])
    graph = helper.make_graph([node], "g", [info("x", x), info("w", w), info("b", b)], [helper.make_tensor_value_info("y", FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    y = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x, "w": w, "b": b})[0].transpose(0, 2, 3, 1)
    added = floats(*y.shape, seed=3)
    contrib("nhwc_conv", "NhwcConv", [last, w, b], constants=(1, 2), pads=[1, 1, 1, 1], want=[y])
    contrib("nhwc_fused_conv", "NhwcFusedConv", [last, w, b, added], constants=(1, 2), pads=[1, 1, 1, 1], activation="Relu", want=[np.maximum(y + added, 0)])
    contrib("nhwc_max_pool", "NhwcMaxPool", [whole(1, 6, 5, 3)], kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 1], types=(TensorProto.UINT8,))
    for name, axes, channels_last in (("", (0, 1, 2, 3), 0), ("_last", (0, 2, 3, 1), 1)):
        image = np.ascontiguousarray(whole(1, 4, 6, 5).transpose(axes))
        given = [image, np.float32(0.02), np.uint8(9), whole(6, 2, 3, 3), np.float32(0.01), np.uint8(120), np.float32(0.6), np.uint8(120),
                 whole(6, low=-500, high=500, dtype=np.int32)]
        contrib(f"microsoft_qlinear_conv{name}", "QLinearConv", given, constants=(3, 4, 5, 8), types=(TensorProto.UINT8,), group=2, channels_last=channels_last, rtol=0, atol=1)


def other_contrib_cases():
    ids, segments = np.array([[1, 3, 0], [2, 2, 4]], np.int32), np.array([[0, 0, 1], [1, 0, 0]], np.int32)
    tables = [floats(6, 8), floats(5, 8, seed=1), floats(2, 8, seed=2)]
    mask = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
    given = [ids, segments, *tables, floats(8), floats(8, seed=1)]
    names = ["y", "mask", "sum"]
    types = (FLOAT, TensorProto.INT32, FLOAT)
    contrib("embed", "EmbedLayerNormalization", [*given, mask], names, constants=(2, 3, 4, 5, 6), types=types, epsilon=1e-5)
    contrib("embed_words", "EmbedLayerNormalization", [ids, None, *tables[:2], None, *given[5:]], names[:2], constants=(2, 3, 5, 6), types=types)
    contrib("embed_places", "EmbedLayerNormalization", [*given, None, np.array([[4, 0, 1]], np.int32)], names, constants=(2, 3, 4, 5, 6), types=types)
    for kind in (0, 1):
        packed, scales = whole(16 * 3 // 2), floats(3, low=0.5, high=2)
        contrib(f"bnb4_{kind}", "MatMulBnb4", [floats(2, 16), packed, scales], constants=(1, 2), K=16, N=3, block_size=16, quant_type=kind)
    contrib("microsoft_trilu", "Trilu", [floats(2, 3, 4), np.int64(1)], constants=(1,), upper=0)
    contrib("microsoft_gather_nd", "GatherND", [floats(2, 3, 4), np.array([[0, 2], [1, 0]])])
    contrib("microsoft_grid_sample", "GridSample", [floats(1, 2, 4, 5), floats(1, 3, 2, 2)], mode="bilinear", align_corners=1)
    heads, steps, size = 2, 5, 4
    rows = [floats(1, steps, heads * size, seed=i) for i in range(3)]
    state, decay, rate = floats(1, heads, size, size), floats(1, steps, heads, low=-1, high=0), floats(1, steps, heads, low=0, high=1)
    for rule, extra in (("linear", []), ("gated", [decay]), ("delta", [None, rate]), ("gated_delta", [decay, rate])):
        contrib(f"microsoft_linear_{rule}", "LinearAttention", [*rows, state, *extra], 2, q_num_heads=heads, kv_num_heads=heads, update_rule=rule)
    taps = floats(3, 1, 4)
    contrib("microsoft_causal_conv", "CausalConvWithState", [floats(2, 3, 6), taps, floats(3), floats(2, 3, 3)], 2, constants=(1, 2), activation="silu")
    contrib("microsoft_causal_conv_dilated", "CausalConvWithState", [floats(2, 3, 6), taps, None, floats(2, 3, 6, seed=1)], 2, constants=(1,), dilation=2)


def turned_cases():
    heads, size, batch, steps = 2, 12, 2, 3
    q, cos, sin = floats(batch, steps, heads * size), floats(10, size // 2), floats(10, size // 2, seed=1)
    places = whole(3, batch, steps, high=10, dtype=np.int64)
    for layout in (0, 1):
        for interleaved in (0, 1):
            contrib(f"sectioned_rotary_{layout}_{interleaved}", "MRotaryEmbedding", [q, places, cos, sin], constants=(2, 3), mrope_section=[3, 2, 1],
                    mrope_layout=layout, interleaved=interleaved, num_heads=heads)
    contrib("sectioned_rotary_heads", "MRotaryEmbedding", [floats(batch, heads, steps, size), places, cos, sin], mrope_section=[2, 2, 2])
    for gate in ("silu", "sigmoid"):
        contrib(f"gated_rms_norm_{gate}", "GatedRMSNorm", [floats(2, 3, 8), floats(4), floats(2, 3, 8, seed=1)], activation=gate)
    x = floats(2, 3, 7, 6, low=-4, high=4)
    regions = np.array([[0, 0, 0, 5, 6], [1, 1.4, 2.6, 3, 5], [0, 4, 4, 9, 9], [1, 3, 3, 2, 2], [0, 20, 20, 30, 30]], np.float32)
    case("max_roi_pool", "MaxRoiPool", 13, [x, regions], constants=(1,), pooled_shape=[3, 2])
    case("max_roi_pool_fed", "MaxRoiPool", 13, [x, regions], pooled_shape=[2, 2])
    case("max_roi_pool_scaled", "MaxRoiPool", 11, [x, regions * np.array([1, 2, 2, 2, 2], np.float32)], constants=(1,), pooled_shape=[4, 4], spatial_scale=0.5)


# ---- what must be refused ----
def refusal(name, op, version, inputs, outputs=1, constants=(), domain="", **attrs):
    case(f"refused_{name}", op, version, inputs, outputs, constants, domain, want=[np.zeros(1, np.float32)] * outputs, **attrs)


def refused_cases():
    x, w, r = floats(4, 2, 3), floats(1, 16, 3), floats(1, 16, 4)
    refusal("direction", "LSTM", 14, [x, w, r], direction="sideways", hidden_size=4)
    refusal("activation", "LSTM", 14, [x, w, r], activations=["Sigmoid", "Tanh", "Cosh"], hidden_size=4)
    refusal("activation_count", "LSTM", 14, [x, w, r], activations=["Sigmoid"], hidden_size=4)
    refusal("hidden_size", "LSTM", 14, [x, w, r], hidden_size=5)
    refusal("lengths", "LSTM", 14, [x, w, r, None, np.array([5, 1], np.int32)], constants=(4,), hidden_size=4)
    refusal("weights", "GRU", 14, [x, w, r], hidden_size=4)
    refusal("rank", "RNN", 14, [x[0], w, r], hidden_size=4)
    refusal("scale_axis", "QuantizeLinear", 13, [floats(2, 3), np.ones(2, np.float32), np.zeros(2, np.uint8)])
    refusal("scale_blocks", "DequantizeLinear", 21, [whole(2, 4), floats(2, 3)], axis=1, block_size=2)
    refusal("block_size", "DequantizeLinear", 19, [whole(2, 4), floats(2, 2)], axis=1, block_size=2)
    refusal("attention_past", "Attention", 23, [floats(1, 2, 3, 4)] * 3 + [None, floats(1, 2, 3, 4)])
    refusal("attention_heads", "Attention", 23, [floats(1, 3, 8)] * 3, q_num_heads=3, kv_num_heads=2)
    refusal("attention_mode", "Attention", 23, [floats(1, 2, 3, 4)] * 3, 4, qk_matmul_output_mode=4)
    refusal("update_rule", "LinearAttention", 27, [floats(1, 3, 8)] * 3, 2, q_num_heads=2, kv_num_heads=2, update_rule="best")
    refusal("dft_axis", "DFT", 17, [floats(2, 3, 2)], axis=2)
    refusal("dft_onesided", "DFT", 17, [floats(2, 3, 2)], onesided=1)
    refusal("dft_long", "DFT", 17, [floats(1, 5000, 2)])
    refusal("frames", "STFT", 17, [floats(1, 8, 1), np.int64(2), None, np.int64(9)], constants=(1, 3))
    refusal("bits", "MatMulNBits", 17, [floats(2, 16), whole(3, 1, 6), floats(3)], domain=MICROSOFT, K=16, N=3, bits=3, block_size=16)
    refusal("fused", "FusedConv", 17, [floats(1, 3, 6, 5), floats(4, 3, 3, 3)], domain=MICROSOFT, activation="Cosh")
    group = [floats(2, 1, 16)] * 3 + [floats(2, 2, 6, 8)] * 2
    heads = {"domain": MICROSOFT, "num_heads": 2, "kv_num_heads": 2, "constants": (6,)}
    ends = [np.array([5, 5], np.int32), np.array([6], np.int32)]
    refusal("sink_heads", "GroupQueryAttention", 17, [*group, *ends, *[None] * 4, floats(3)], 3, **heads)
    refusal("rotary_sections", "MRotaryEmbedding", 17, [floats(1, 2, 8), np.zeros((3, 1, 2), np.int64), floats(4, 4), floats(4, 4)], domain=MICROSOFT, mrope_section=[1, 1, 1])
    refusal("roi_image", "MaxRoiPool", 13, [floats(1, 1, 4, 4), np.array([[1, 0, 0, 2, 2]], np.float32)], constants=(1,), pooled_shape=[2, 2])
    refusal("scores", "GroupQueryAttention", 17, [*group, *ends], 4, **heads)
    refusal("cache_scale", "GroupQueryAttention", 17, [*group, *ends], 3, k_quant_type="PER_TENSOR", **heads)
    refusal("cache_kind", "GroupQueryAttention", 17, [*group, *ends], 3, k_quant_type="PER_ROW", **heads)
    refusal("norm_weight", "GroupQueryAttention", 17, [*group, *ends, *[None] * 7, floats(8)], 3, **heads)
    # Places that are known in a run only: behind the cache, and before it.
    refusal("places_behind", "GroupQueryAttention", 17, [*group, np.array([5, 6], np.int32), ends[1]], 3, **heads)
    refusal("places_before", "GroupQueryAttention", 17, [*group, np.array([5, -2], np.int32), ends[1]], 3, **heads)
    experts = [floats(2, 8), floats(2, 4), floats(4, 16, 8), None, floats(4, 8, 16)]
    refusal("moe_many", "MoE", 17, experts, domain=MICROSOFT, k=5)
    refusal("moe_activation", "MoE", 17, experts, domain=MICROSOFT, activation_type="geglu")
    refusal("moe_experts", "MoE", 17, [*experts[:2], floats(3, 16, 8), *experts[3:]], domain=MICROSOFT)
    refusal("qmoe_kind", "QMoE", 17, [*experts[:2], whole(4, 16, 4), floats(4, 16), None, whole(4, 8, 8), floats(4, 8)], domain=MICROSOFT, quant_type="fp4")
    refusal("qmoe_scale", "QMoE", 17, [*experts[:2], whole(4, 16, 4), floats(4, 15), None, whole(4, 8, 8), floats(4, 8)], domain=MICROSOFT)
    refusal("bnb4_scales", "MatMulBnb4", 17, [floats(2, 16), whole(24), floats(2)], domain=MICROSOFT, K=16, N=3, block_size=16, quant_type=0)
    refusal("paged", "PagedAttention", 17, [floats(2, 16)], domain=MICROSOFT)
    refusal("state_window", "LinearAttention", 17, [floats(1, 3, 8)] * 3, 2, domain=MICROSOFT, q_num_heads=2, kv_num_heads=2, update_rule="linear", state_window=2)
    forever = loop_node(["last"], [helper.make_node("Neg", ["s"], ["s_next"])], ["s"], [], m="", cond="")
    add_graph("refused_endless", [forever], 16, {"s_0": x}, {"last": FLOAT}, want=[x])
    refusal("past_value", "GroupQueryAttention", 17, [floats(1, 1, 16)] * 3 + [floats(1, 2, 3, 8), None, np.array([3], np.int32), np.array([4], np.int32)], 3,
            constants=(6,), domain=MICROSOFT, num_heads=2, kv_num_heads=2)
    refusal("past_state", "CausalConvWithState", 27, [floats(1, 2, 4), floats(2, 1, 3), None, floats(1, 2, 3)], 2)
    refusal("dft_huge", "DFT", 17, [floats(1, 5, 2), np.int64(2**62)], constants=(1,))
    joined = [helper.make_node("DequantizeLinear", ["a", "s"], ["a_d"]), helper.make_node("DequantizeLinear", ["b", "s"], ["b_d"]),
              helper.make_node("Gemm", ["a_d", "b_d", "c"], ["y"])]
    add_graph("refused_joined_wide", joined, 17, {"a": whole(1, 3), "b": whole(3, 2), "s": np.float32(0.5), "c": floats(4, 2)}, {"y": FLOAT}, want=[x])
    refusal("beam", "BeamSearch", 17, [np.zeros((1, 1), np.int32)], domain=MICROSOFT)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--pack", metavar="FILE")
    given = parser.parse_args()
    if not given.folder and not given.pack:
        parser.error("a folder or --pack is needed")
    for make in (if_cases, loop_cases, scan_cases, recurrent_cases, quantize_cases, product_cases, joined_cases, signal_cases, fused_cases, norm_cases, bit_cases,
                 quantized_contrib_cases, attention_cases, cache_cases, packed_cases, expert_cases, nhwc_cases, other_contrib_cases, turned_cases, refused_cases):
        make()
    if given.folder:
        base.write_folder(given.folder)
    if given.pack:
        base.write_packed(given.pack)
    print(f"{len(base.CASES)} cases of onnx {onnx.__version__} and onnxruntime {onnxruntime.__version__}")


if __name__ == "__main__":
    sys.exit(main())
