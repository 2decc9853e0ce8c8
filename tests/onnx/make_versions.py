#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes cases of what the onnx package's node tests lack: versions of operator sets, left-out inputs, other types,
and models that must be refused.

    make_versions.py FOLDER                 a folder for each case, as scripts/make-onnx-cases
    make_versions.py --pack FILE.tar.gz     all cases in one file

The outputs are those of ONNX Runtime. Where it refuses a model that ONNX allows, or does not follow ONNX, a case has
the outputs of onnx.reference or a formula of NumPy. Needs onnx, onnxruntime and numpy.
"""
import argparse
import importlib.machinery
import importlib.util
import io
import os
import sys
import tarfile
import warnings
import gzip

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

warnings.filterwarnings("ignore")
onnxruntime.set_default_logger_severity(4)
HERE = os.path.dirname(os.path.abspath(__file__))
loader = importlib.machinery.SourceFileLoader("make_onnx_cases", os.path.join(HERE, "..", "..", "scripts", "make-onnx-cases"))
make_onnx_cases = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_onnx_cases", loader))
loader.exec_module(make_onnx_cases)

IR = {6: 3, 7: 3, 8: 3, 9: 4, 10: 5, 11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9, 20: 9, 21: 10, 22: 10,
      23: 11, 24: 11, 25: 12, 26: 13, 27: 13, 28: 13}
CASES = []


def floats(*shape, low=-3.0, high=3.0, dtype=np.float32):
    count = int(np.prod(shape))
    return np.random.RandomState(count).uniform(low, high, shape).astype(dtype)


def tensor_of(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def model_of(op, opset, inputs, outputs, constants, attrs, types):
    """A model of one node. inputs: arrays, or None for one that is left out; constants: the indices of those that
    are initializers; outputs: how many, or a list of names, of which "" is left out."""
    names = ["" if array is None else f"x{i}" for i, array in enumerate(inputs)]
    out_names = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
    node = helper.make_node(op, names, out_names, name="node", **attrs)
    fed = [i for i, array in enumerate(inputs) if array is not None and i not in constants]
    values = [helper.make_tensor_value_info(names[i], helper.np_dtype_to_tensor_dtype(inputs[i].dtype), inputs[i].shape) for i in fed]
    results = [helper.make_tensor_value_info(name, types[i] if i < len(types) else types[-1], None)
               for i, name in enumerate(name for name in out_names if name)]
    tensors = [tensor_of(names[i], inputs[i]) for i in constants]
    if opset < 9:
        values += [helper.make_tensor_value_info(names[i], helper.np_dtype_to_tensor_dtype(inputs[i].dtype), inputs[i].shape) for i in constants]
    graph = helper.make_graph([node], "graph", values, results, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR.get(opset, 13))
    return model, [inputs[i] for i in fed], [names[i] for i in fed]


def outputs_of(model, names, inputs, by):
    feeds = dict(zip(names, inputs))
    if by == "ort":
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return session.run(None, feeds)
    return ReferenceEvaluator(model).run(None, feeds)


def case(name, op, opset, inputs, outputs=1, constants=(), by="ort", want=None, types=(TensorProto.FLOAT,), rtol=1e-5, atol=1e-6, **attrs):
    """Adds a case; `want` has its outputs, or `by` says who computes them."""
    model, fed, names = model_of(op, opset, inputs, outputs, constants, attrs, types)
    if want is None:
        want = outputs_of(model, names, fed, by)
    add(name, model, fed, want, rtol, atol)


def refusal(name, op, opset, inputs, outputs=1, constants=(), types=(TensorProto.FLOAT,), **attrs):
    model, fed, _ = model_of(op, opset, inputs, outputs, constants, attrs, types)
    add(f"refused_{name}", model, fed, [np.zeros(1, np.float32)] * len(model.graph.output), 0, 0)


def add(name, model, inputs, outputs, rtol, atol):
    """Outputs are stored in the types that the model says."""
    types = [helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type) for value in model.graph.output]
    arrays = [np.asarray(value) if np.asarray(value).dtype.kind == "V" else np.asarray(value).astype(kind) for value, kind in zip(outputs, types)]
    made = make_onnx_cases.Case(name, model, inputs, arrays, rtol, atol)
    made.check = "values"
    CASES.append(made)


def ints(*values, dtype=np.int64):
    return np.array(values, dtype)


# ---- softmax ----
def softmax_cases():
    x, wide = floats(2, 3, 4), floats(2, 3, 2, 2)
    ties = np.round(floats(2, 3, 2))
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        name, data = op.lower(), ties if op == "Hardmax" else x
        for opset in (7, 11, 12):
            case(f"{name}_{opset}_default", op, opset, [data])
        case(f"{name}_11_axis_0", op, 11, [data], axis=0)
        case(f"{name}_11_axis_last", op, 11, [data], axis=-1)
        case(f"{name}_11_axis_middle", op, 11, [data], axis=-2)
        case(f"{name}_13_default", op, 13, [data])
        case(f"{name}_13_axis_0", op, 13, [data], axis=0)
        case(f"{name}_13_axis_middle", op, 13, [data], axis=1)
        case(f"{name}_13_channels", op, 13, [wide], axis=1)
        case(f"{name}_12_channels", op, 12, [wide], axis=1)
    case("hardmax_nothing", "Hardmax", 13, [np.zeros((2, 0), np.float32)], want=[np.zeros((2, 0), np.float32)])
    refusal("softmax_axis", "Softmax", 13, [x], axis=3)


# ---- elementwise ----
def clip_cases():
    x = np.array([-5, -1, 0, 0.5, 3, np.nan, np.inf], np.float32)
    low, high = np.float32(-1), np.float32(2)
    case("clip_7", "Clip", 7, [x], min=-1.0, max=2.0)
    case("clip_10_max", "Clip", 10, [x[:5]], max=2.0)
    case("clip_6_min_above_max", "Clip", 10, [x[:5]], min=4.0, max=2.0, want=[np.full(5, 2, np.float32)])
    case("clip_11", "Clip", 11, [x, np.array(low), np.array(high)])
    case("clip_11_min", "Clip", 11, [x[:5], np.array(low)])
    case("clip_12_max", "Clip", 12, [x[:6], None, np.array(high)])
    case("clip_13_none", "Clip", 13, [x[:5]])
    case("clip_13_min_above_max", "Clip", 13, [x[:5], np.array(4, np.float32), np.array(2, np.float32)])
    case("clip_13_bound_of_one_element", "Clip", 13, [floats(2, 2), np.array([low]), np.array([high])], constants=(1, 2),
         want=[np.clip(floats(2, 2), low, high)])
    case("clip_12_int8", "Clip", 12, [ints(-9, 0, 9, dtype=np.int8), np.array(-3, np.int8), np.array(4, np.int8)], types=(TensorProto.INT8,))
    case("clip_13_uint64", "Clip", 13, [ints(1, 2**63, 2**64 - 1, dtype=np.uint64), np.array(2, np.uint64)], types=(TensorProto.UINT64,))
    refusal("clip_11_attribute", "Clip", 11, [x], min=0.0)
    refusal("clip_10_input", "Clip", 10, [x, np.array(low)])
    refusal("clip_13_two_bounds", "Clip", 13, [x, np.array([low, low])], constants=(1,))


def aligned_cases():
    """Operator set 6, which ONNX Runtime does not have."""
    x, channels, row = floats(2, 3, 4, 5), floats(3), floats(4, 5)
    for op, join in (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide)):
        case(f"{op.lower()}_6", op, 6, [x, x[::-1].copy()], want=[join(x, x[::-1])])
        case(f"{op.lower()}_6_axis", op, 6, [x, channels], axis=1, broadcast=1, want=[join(x, channels.reshape(3, 1, 1))])
        case(f"{op.lower()}_6_last", op, 6, [x, row], broadcast=1, want=[join(x, row)])
        case(f"{op.lower()}_6_one", op, 6, [x, floats(1)], broadcast=1, constants=(1,), want=[join(x, floats(1))])
    case("pow_6_axis", "Pow", 6, [np.abs(x), channels], axis=1, broadcast=1, want=[np.abs(x) ** channels.reshape(3, 1, 1)])
    case("greater_6_axis", "Greater", 6, [x, channels], axis=1, broadcast=1, types=(TensorProto.BOOL,), want=[x > channels.reshape(3, 1, 1)])
    case("and_6_axis", "And", 6, [x > 0, channels > 0], axis=1, broadcast=1, types=(TensorProto.BOOL,), want=[(x > 0) & (channels > 0).reshape(3, 1, 1)])
    case("prelu_6", "PRelu", 6, [x, channels], constants=(1,), want=[np.where(x < 0, x * channels.reshape(3, 1, 1), x)])
    case("dropout_6", "Dropout", 6, [x], is_test=1, want=[x])
    refusal("add_6_shapes", "Add", 6, [x, row])
    refusal("add_6_axis", "Add", 6, [x, row], axis=3, broadcast=1)
    refusal("add_6_sizes", "Add", 6, [x, channels], broadcast=1)
    refusal("dropout_6", "Dropout", 6, [x])
    refusal("batch_norm_6", "BatchNormalization", 6, [x, *[floats(3)] * 4])


def arithmetic_cases():
    x, y = floats(2, 3), floats(3)
    refusal("add_6_attributes", "Add", 7, [x, y], axis=1, broadcast=1)
    aligned_cases()
    for op in ("Sum", "Mean", "Max", "Min"):
        case(f"{op.lower()}_one", op, 13, [x])
        case(f"{op.lower()}_three", op, 13, [x, y, floats(2, 1)])
        case(f"{op.lower()}_8", op, 8, [x, y])
    case("max_12_uint8", "Max", 12, [ints(1, 200, dtype=np.uint8), ints(3, dtype=np.uint8)], types=(TensorProto.UINT8,))
    case("min_nan", "Min", 13, [np.array([1, np.nan], np.float32), np.array([np.nan, 2], np.float32)])
    for op, dtype in (("Abs", np.uint8), ("Sign", np.uint16), ("Sign", np.int64)):
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        case(f"{op.lower()}_{np.dtype(dtype).name}", op, 13, [ints(0, 1, 200, dtype=dtype)], types=(kind,))
    case("div_int", "Div", 14, [ints(7, -7, 7, -7), ints(2, 2, -2, -2)], types=(TensorProto.INT64,))
    a, b = ints(-4, 7, 5, -7), ints(2, -3, 8, 3)
    case("mod_int", "Mod", 13, [a, b], types=(TensorProto.INT64,))
    case("mod_int_fmod", "Mod", 13, [a, b], fmod=1, types=(TensorProto.INT64,))
    case("mod_uint8", "Mod", 10, [ints(9, 7, dtype=np.uint8), ints(4, 7, dtype=np.uint8)], types=(TensorProto.UINT8,))
    fa, fb = np.array([-4.3, 7.2, 5, -1, 1], np.float32), np.array([2.1, -3.4, 8, np.inf, -np.inf], np.float32)
    case("mod_float_fmod", "Mod", 13, [fa, fb], fmod=1)
    case("mod_28_float", "Mod", 28, [fa, fb], want=[np.array([2 * 2.1 + 2.1 - 4.3, 7.2 - 3 * 3.4, 5, np.inf, -np.inf], np.float32)])
    refusal("mod_13_float", "Mod", 13, [fa, fb])
    case("pow_12_int_float", "Pow", 12, [ints(1, 2, 3, -2, dtype=np.int32), np.array([2, 0.5, 1.5, 3], np.float32)],
         types=(TensorProto.INT32,), want=[np.array([1, 1, 5, -8], np.int32)])
    case("pow_12_float_int", "Pow", 12, [np.array([1.5, -2, 4], np.float32), ints(2, 3, -1)])
    case("pow_15_int_int", "Pow", 15, [ints(2, -3, 7, dtype=np.int32), ints(5, 3, 0)], types=(TensorProto.INT32,))
    case("pow_7_square", "Pow", 7, [x, np.array([2], np.float32)], constants=(1,))
    case("pow_square_of_more_dimensions", "Pow", 13, [y, np.array([[2]], np.float32)], constants=(1,))
    case("pow_half", "Pow", 13, [np.abs(x), np.array(0.5, np.float32)], constants=(1,))
    bits = ints(1, 255, 64, 9, dtype=np.uint8)
    counts = ints(1, 8, 200, 7, dtype=np.uint8)
    for direction in ("LEFT", "RIGHT"):
        shifted = [int(v) << int(c) & 255 if direction == "LEFT" else int(v) >> int(c) for v, c in zip(bits, counts)]
        case(f"bitshift_11_{direction.lower()}", "BitShift", 11, [bits, counts], direction=direction, types=(TensorProto.UINT8,),
             want=[np.array(shifted, np.uint8)])
    v, c = ints(-8, -8, 5, -1, dtype=np.int32), ints(1, -1, 40, 31, dtype=np.int32)
    case("bitshift_28_right", "BitShift", 28, [v, c], direction="RIGHT", types=(TensorProto.INT32,), want=[ints(-4, -1, 0, -1, dtype=np.int32)])
    case("bitshift_28_left", "BitShift", 28, [v, c], direction="LEFT", types=(TensorProto.INT32,),
         want=[ints(-16, 0, 0, -2**31, dtype=np.int32)])
    refusal("bitshift_direction", "BitShift", 11, [bits, counts], direction="UP", types=(TensorProto.UINT8,))
    z = np.array([1, np.inf, -np.inf, np.nan], np.float32)
    for positive in (0, 1):
        for negative in (0, 1):
            case(f"isinf_{positive}{negative}", "IsInf", 20, [z], detect_positive=positive, detect_negative=negative, types=(TensorProto.BOOL,))
    for op in ("GreaterOrEqual", "LessOrEqual"):
        case(f"{op.lower()}_12_nan", op, 12, [z, np.array(1, np.float32)], types=(TensorProto.BOOL,))
    case("where_three_ways", "Where", 16, [np.array([[True], [False]]), floats(3), np.array(7, np.float32)])


def activation_cases():
    x = np.array([-3, -1, -0.25, 0, 0.25, 1, 3], np.float32)
    for op, opset, attrs in (("Elu", 7, {"alpha": 2.0}), ("Elu", 22, {}), ("Selu", 7, {"alpha": 2.0, "gamma": 3.0}), ("Selu", 7, {}),
                             ("Celu", 12, {"alpha": 2.0}), ("Celu", 12, {}), ("HardSigmoid", 7, {}), ("HardSigmoid", 22, {"alpha": 1.0, "beta": 0.0}),
                             ("HardSwish", 14, {}), ("LeakyRelu", 7, {}), ("LeakyRelu", 16, {"alpha": 0.3}), ("ThresholdedRelu", 10, {}),
                             ("Shrink", 9, {"bias": 0.5, "lambd": 1.0}), ("Shrink", 9, {}), ("Swish", 24, {"alpha": 2.0}), ("Swish", 24, {}),
                             ("Gelu", 20, {"approximate": "tanh"}), ("Gelu", 20, {}), ("Mish", 18, {}), ("Softplus", 7, {}), ("Softsign", 7, {})):
        by = "reference" if op == "Swish" else "ort"
        case(f"{op.lower()}_{opset}_{len(attrs)}", op, opset, [x], by=by, rtol=1e-4, **attrs)
    negative = np.where(x < 0, -0.5 * np.expm1(x / -0.5), x).astype(np.float32)
    case("celu_negative_alpha", "Celu", 12, [x], alpha=-0.5, want=[negative])
    case("relu_14_int8", "Relu", 14, [ints(-3, 0, 5, dtype=np.int8)], types=(TensorProto.INT8,))
    for dtype in (np.int32, np.uint8):
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        case(f"shrink_{np.dtype(dtype).name}", "Shrink", 9, [ints(0, 1, 2, 5, dtype=dtype)], lambd=1.5, bias=1.0, types=(kind,))
    case("shrink_negative_int", "Shrink", 9, [ints(-5, -1, 5, dtype=np.int8)], lambd=1.5, bias=1.25, types=(TensorProto.INT8,))
    wide = floats(2, 3, 2, 2)
    case("prelu_channels", "PRelu", 16, [wide, floats(3, 1, 1)], constants=(1,))
    case("prelu_single", "PRelu", 7, [wide, np.array([0.25], np.float32)], constants=(1,))
    case("prelu_fed", "PRelu", 9, [wide, np.array([0.25], np.float32)])
    refusal("prelu_wide_slope", "PRelu", 9, [floats(3), floats(2, 3)])
    refusal("prelu_slope", "PRelu", 9, [floats(2, 1), floats(2, 3)])
    refusal("gelu_19", "Gelu", 19, [x])
    refusal("gelu_form", "Gelu", 20, [x], approximate="erf")
    refusal("relu_alpha", "Relu", 13, [x], alpha=0.1)
    refusal("elu_kind", "Elu", 13, [x], alpha="much")


# ---- conversions and what is made ----
def cast_cases():
    x = np.array([-1.5, 0, 0.5, 300.75, np.nan], np.float32)
    case("cast_7_bool", "Cast", 7, [x[:4]], to=TensorProto.BOOL, types=(TensorProto.BOOL,))
    case("cast_9_int64", "Cast", 9, [x[:4]], to=TensorProto.INT64, types=(TensorProto.INT64,))
    case("cast_13_half", "Cast", 13, [x[:4]], to=TensorProto.FLOAT16, types=(TensorProto.FLOAT16,))
    case("cast_13_same", "Cast", 13, [x[:4]], to=TensorProto.FLOAT)
    case("castlike_15", "CastLike", 15, [x[:4], np.zeros((2, 2), np.int32)], types=(TensorProto.INT32,))
    large = np.array([1, 460, 500, -1e9, np.inf, -np.inf, np.nan], np.float32)
    for kind, dtype, top in ((TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn, 448), (TensorProto.FLOAT8E5M2, ml_dtypes.float8_e5m2, 57344)):
        for saturate in (0, 1):
            data = large if saturate else np.abs(large)
            want = (np.clip(data, -top, top) if saturate else data).astype(dtype)
            name = f"cast_19_{np.dtype(dtype).name}_{saturate}"
            case(name, "Cast", 19, [data], to=kind, saturate=saturate, types=(kind,), want=[want])
    case("bitcast", "BitCast", 26, [np.array([1, -2], np.float32)], to=TensorProto.INT32, types=(TensorProto.INT32,),
         want=[np.array([1, -2], np.float32).view(np.int32)])
    refusal("bitcast_size", "BitCast", 26, [x], to=TensorProto.INT64, types=(TensorProto.INT64,))
    refusal("cast_text", "Cast", 13, [x], to=TensorProto.STRING)
    refusal("cast_number", "Cast", 13, [x], to=99)
    refusal("cast_13_saturate", "Cast", 13, [x], to=TensorProto.FLOAT16, saturate=0)


def made_cases():
    case("constant_float", "Constant", 12, [], value_float=2.5)
    case("constant_floats", "Constant", 12, [], value_floats=[2.5, -1.0])
    case("constant_int", "Constant", 13, [], value_int=2**53 + 1, types=(TensorProto.INT64,))
    case("constant_ints", "Constant", 13, [], value_ints=[2**62 + 1, -3], types=(TensorProto.INT64,))
    case("constant_half", "Constant", 9, [], value=tensor_of("v", np.array([[1.5]], np.float16)), types=(TensorProto.FLOAT16,))
    values, places = tensor_of("v", np.array([3, 4], np.float32)), tensor_of("i", ints(1, 5))
    case("constant_sparse", "Constant", 11, [], sparse_value=helper.make_sparse_tensor(values, places, [2, 3]),
         want=[np.array([[0, 3, 0], [0, 0, 4]], np.float32)])
    refusal("constant_text", "Constant", 13, [], value_string="a")
    refusal("constant_two", "Constant", 13, [], value_int=1, value_float=1.0)
    refusal("constant_11_float", "Constant", 11, [], value_float=1.0)
    for fed in ((), (0,)):
        name = "known" if fed else "fed"
        case(f"constant_of_shape_{name}", "ConstantOfShape", 9, [ints(2, 3)], constants=fed)
        case(f"range_{name}", "Range", 11, [np.array(10, np.int16), np.array(-5, np.int16), np.array(-4, np.int16)],
             constants=(0, 1, 2) if fed else (), types=(TensorProto.INT16,))
    case("constant_of_shape_empty", "ConstantOfShape", 20, [np.zeros(0, np.int64)], value=tensor_of("v", ints(7)), types=(TensorProto.INT64,))
    case("constant_of_shape_zero", "ConstantOfShape", 9, [ints(0, 3)], value=tensor_of("v", np.array([True])), types=(TensorProto.BOOL,))
    refusal("constant_of_shape_negative", "ConstantOfShape", 9, [ints(2, -3)])
    refusal("constant_of_shape_rank", "ConstantOfShape", 9, [ints(1, 1, 1, 1, 1, 1, 1, 1, 1)])
    case("range_float", "Range", 11, [np.array(1, np.float32), np.array(2, np.float32), np.array(0.3, np.float32)])
    case("range_none", "Range", 11, [np.array(5), np.array(5), np.array(1)], types=(TensorProto.INT64,))
    case("range_backwards", "Range", 11, [np.array(5, np.int32), np.array(9, np.int32), np.array(-1, np.int32)], types=(TensorProto.INT32,))
    refusal("range_delta", "Range", 11, [np.array(5), np.array(6), np.array(0)], types=(TensorProto.INT64,))
    halves = [np.array(v, np.float16) for v in (2048, 2056, 1)]
    case("range_27_half", "Range", 27, halves, types=(TensorProto.FLOAT16,), want=[np.arange(2048, 2056, 1, np.float32).astype(np.float16)])
    eye = floats(3, 4)
    for k in (-2, 0, 1, 9, -9):
        case(f"eyelike_{k + 9}", "EyeLike", 9, [eye], k=k, by="reference" if abs(k) == 9 else "ort")
    case("eyelike_type", "EyeLike", 22, [eye], dtype=TensorProto.INT32, types=(TensorProto.INT32,))
    refusal("eyelike_rank", "EyeLike", 9, [floats(3)])
    for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        case(f"{op.lower()}_odd", op, 17, [np.array(7)], atol=1e-6)
        case(f"{op.lower()}_double", op, 17, [np.array(6, np.int32)], constants=(0,), periodic=0, output_datatype=TensorProto.DOUBLE,
             types=(TensorProto.DOUBLE,), atol=1e-6)
    refusal("window_of_one", "HannWindow", 17, [np.array(1)], periodic=0)
    refusal("window_negative", "HannWindow", 17, [np.array(-1)])
    case("melweightmatrix_wide", "MelWeightMatrix", 17,
         [np.array(10), np.array(256), np.array(16000), np.array(20, np.float32), np.array(8000, np.float32)], constants=(0, 1, 2, 3, 4))
    refusal("affine_grid_theta", "AffineGrid", 20, [floats(1, 4, 3), ints(2, 1, 2, 2)])
    refusal("mel_edge", "MelWeightMatrix", 17, [np.array(8), np.array(16), np.array(100), np.array(0, np.float32), np.array(8000, np.float32)])
    refusal("random_int", "RandomNormal", 7, [], shape=[2], dtype=TensorProto.INT32)
    refusal("dropout_ratio", "Dropout", 13, [eye, np.array(1, np.float32), np.array(True)], constants=(1, 2))


# ---- reductions ----
def reduce_cases():
    x = floats(2, 3, 4, low=0.25)
    whole = ints(*range(-11, 13), dtype=np.int32).reshape(2, 3, 4)
    for op in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp"):
        name, full = f"reduce_{op.lower()}", f"Reduce{op}"
        first = 13 if op == "Sum" else 18
        case(f"{name}_7", full, 7, [x], axes=[1], rtol=1e-4)
        case(f"{name}_{first - 1}_negative", full, first - 1, [x], axes=[-1, 0], keepdims=0, rtol=1e-4)
        case(f"{name}_{first - 1}_all", full, first - 1, [x], rtol=1e-4)
        case(f"{name}_{first}_axes", full, first, [x, ints(-1)], constants=(1,), rtol=1e-4)
        case(f"{name}_{first}_fed", full, first, [x, ints(2, 0)], keepdims=0, rtol=1e-4)
        case(f"{name}_{first}_all", full, first, [x, np.zeros(0, np.int64)], constants=(1,), keepdims=0, rtol=1e-4)
        plain = {"L1": np.abs(x), "L2": np.abs(x), "SumSquare": x * x, "LogSum": np.log(x)}.get(op, x)
        case(f"{name}_{first}_noop", full, first, [x], noop_with_empty_axes=1, want=[plain], rtol=1e-4)
        case(f"{name}_{first}_scalar", full, first, [np.array(2.5, np.float32)], rtol=1e-4)
        refusal(f"{name}_{first}_attribute", full, first, [x], axes=[1])
        refusal(f"{name}_{first}_axis", full, first, [x, ints(3)], constants=(1,))
        if op not in ("LogSum", "LogSumExp", "Prod"):
            want = None
            if op in ("Mean", "L2"):
                sums = whole.sum(1, keepdims=True) if op == "Mean" else (whole * whole).sum(1, keepdims=True)
                want = [np.trunc(sums / 3 if op == "Mean" else np.sqrt(sums)).astype(np.int32)]
            case(f"{name}_int", full, 13, [whole] + ([ints(1)] if op == "Sum" else []), types=(TensorProto.INT32,), want=want,
                 **({} if op == "Sum" else {"axes": [1]}))
    flags = np.array([[True, False], [False, False]])
    case("reduce_max_20_bool", "ReduceMax", 20, [flags, ints(1)], types=(TensorProto.BOOL,))
    case("reduce_min_20_bool", "ReduceMin", 20, [flags, ints(1)], keepdims=0, types=(TensorProto.BOOL,))
    case("reduce_l1_uint64", "ReduceL1", 18, [ints(2**63, 5, dtype=np.uint64)], types=(TensorProto.UINT64,), want=[ints(2**63 + 5, dtype=np.uint64)])
    tied = np.array([[2, 1, 2], [0, 3, 3]], np.float32)
    for op in ("ArgMax", "ArgMin"):
        case(f"{op.lower()}_7", op, 7, [tied], types=(TensorProto.INT64,))
        case(f"{op.lower()}_12_last", op, 12, [tied], axis=-1, keepdims=0, select_last_index=1, types=(TensorProto.INT64,))
        case(f"{op.lower()}_13_first", op, 13, [tied], axis=1, types=(TensorProto.INT64,))
    refusal("argmax_11_last", "ArgMax", 11, [tied], select_last_index=1, types=(TensorProto.INT64,))
    case("cumsum_axis_of_one_element", "CumSum", 11, [x, ints(-2, dtype=np.int32)], exclusive=1, reverse=1, want=[
        np.flip(np.cumsum(np.flip(x, 1), 1), 1) - x], rtol=1e-4)
    case("cumsum_int", "CumSum", 14, [whole, np.array(2)], types=(TensorProto.INT32,))
    case("cumprod", "CumProd", 26, [x, np.array(0)], constants=(1,), want=[np.cumprod(x, 0)])
    refusal("cumsum_axis", "CumSum", 14, [x, np.array(3)])


# ---- normalisations and losses ----
def normalised(x, axes, epsilon):
    mean = x.mean(axes, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + epsilon)


def add_unread(x, parameters, want):
    """A node that trains, because it has five outputs, of which nobody reads four."""
    model, fed, _ = model_of("BatchNormalization", 9, [x, *parameters], 5, (), {"momentum": 0.75}, (TensorProto.FLOAT,))
    del model.graph.output[1:]
    add("batch_norm_9_unread", model, fed, [want], 1e-5, 1e-5)


def norm_cases():
    x, epsilon = floats(2, 4, 3, 2), np.float32(1e-5)
    scale, bias, mean, var = floats(4), floats(4, low=1), floats(4, low=-1), floats(4, low=0.5)
    parameters = [scale, bias, mean, var]
    each = [v.reshape(4, 1, 1) for v in parameters]
    plain = ((x - each[2]) / np.sqrt(each[3] + epsilon) * each[0] + each[1]).astype(np.float32)
    for opset in (7, 9, 14, 15):
        case(f"batch_norm_{opset}", "BatchNormalization", opset, [x, *parameters], constants=(1, 2, 3, 4), want=[plain])
    case("batch_norm_15_fed", "BatchNormalization", 15, [x, *parameters], epsilon=0.1)
    case("batch_norm_15_rows", "BatchNormalization", 15, [floats(3, 4), *parameters])
    full = [floats(4, 3, 2), floats(4, 3, 2, low=1), floats(4, 3, 2, low=-1), floats(4, 3, 2, low=0.5)]
    case("batch_norm_8_not_spatial", "BatchNormalization", 8, [x, *full], spatial=0,
         want=[((x - full[2]) / np.sqrt(full[3] + epsilon) * full[0] + full[1]).astype(np.float32)])
    half = x.astype(np.float16)
    case("batch_norm_15_half", "BatchNormalization", 15, [half, *parameters], types=(TensorProto.FLOAT16,), rtol=2e-3, atol=2e-3,
         want=[((half.astype(np.float32) - each[2]) / np.sqrt(each[3] + epsilon) * each[0] + each[1]).astype(np.float16)])
    batch_mean, batch_var = x.mean((0, 2, 3)), x.var((0, 2, 3))
    trained = normalised(x, (0, 2, 3), epsilon) * each[0] + each[1]
    running = [mean * 0.75 + batch_mean * 0.25, var * 0.75 + batch_var * 0.25]
    case("batch_norm_14_trains", "BatchNormalization", 14, [x, *parameters], 3, training_mode=1, momentum=0.75, want=[trained, *running])
    case("batch_norm_9_trains", "BatchNormalization", 9, [x, *parameters], 5, momentum=0.75, want=[trained, *running, batch_mean, batch_var])
    add_unread(x, parameters, trained)
    case("batch_norm_9_left_out", "BatchNormalization", 9, [x, *parameters], ["y0", "", ""], want=[plain])
    refusal("batch_norm_14_outputs", "BatchNormalization", 14, [x, *parameters], 3)
    refusal("batch_norm_9_spatial", "BatchNormalization", 9, [x, *parameters], spatial=1)
    case("batch_norm_one_dimension", "BatchNormalization", 15, [floats(5), *[v[:1] for v in parameters]],
         want=[(floats(5) - mean[0]) / np.sqrt(var[0] + epsilon) * scale[0] + bias[0]])
    refusal("batch_norm_one_channel", "BatchNormalization", 15, [floats(4), *parameters])
    refusal("instance_norm_channels", "InstanceNormalization", 7, [x, floats(2), floats(2)])
    refusal("batch_norm_channels", "BatchNormalization", 15, [x, *[floats(2)] * 4])
    by_group, offsets = floats(2), floats(2, low=1)
    grouped = normalised(x.reshape(2, 2, -1), (2,), epsilon)
    by_18 = (grouped * by_group.reshape(2, 1) + offsets.reshape(2, 1)).reshape(x.shape)
    by_21 = grouped.reshape(x.shape) * each[0] + each[1]
    for opset in (18, 20):
        case(f"group_norm_{opset}", "GroupNormalization", opset, [x, by_group, offsets], num_groups=2, want=[by_18])
    case("group_norm_18_known", "GroupNormalization", 18, [x, by_group, offsets], constants=(1, 2), num_groups=2, want=[by_18])
    case("group_norm_21", "GroupNormalization", 21, [x, scale, bias], num_groups=2, want=[by_21])
    refusal("group_norm_18_channels", "GroupNormalization", 18, [x, scale, bias], num_groups=2)
    refusal("group_norm_21_groups", "GroupNormalization", 21, [x, by_group, offsets], num_groups=2)
    refusal("group_norm_three", "GroupNormalization", 21, [x, scale, bias], num_groups=3)
    case("instance_norm_7", "InstanceNormalization", 7, [x, scale, bias], rtol=1e-4)
    rows = floats(2, 3, 5)
    case("layer_norm_17_no_bias", "LayerNormalization", 17, [rows, floats(5)], rtol=1e-4)
    case("layer_norm_17_axis", "LayerNormalization", 17, [rows, floats(3, 5), floats(3, 5)], axis=1, rtol=1e-4)
    wide, moved = floats(1), floats(5)
    case("layer_norm_17_wide_scale", "LayerNormalization", 17, [rows, wide, moved], axis=1, rtol=1e-4,
         want=[normalised(rows, (1, 2), epsilon) * wide + moved])
    case("layer_norm_17_outputs", "LayerNormalization", 17, [rows, floats(5), floats(5)], 3, rtol=1e-4)
    case("layer_norm_11", "LayerNormalization", 11, [rows, floats(5), floats(5)], rtol=1e-4,
         want=[normalised(rows, (2,), epsilon) * floats(5) + floats(5)])
    doubles = rows.astype(np.float64)
    case("layer_norm_17_double", "LayerNormalization", 17, [doubles, floats(5).astype(np.float64)], types=(TensorProto.DOUBLE,),
         want=[normalised(doubles, (2,), 1e-5) * floats(5)])
    refusal("layer_norm_scale", "LayerNormalization", 17, [rows, floats(2, 2, 3, 5)])
    square = np.sqrt((rows * rows).mean(-1, keepdims=True) + epsilon)
    case("rms_norm_23", "RMSNormalization", 23, [rows, floats(5)], want=[rows / square * floats(5)])
    case("rms_norm_23_wide_scale", "RMSNormalization", 23, [rows, floats(1)], want=[rows / square * floats(1)])
    zeros = np.array([[0, 0], [3, -4]], np.float32)
    case("lp_norm_2", "LpNormalization", 22, [zeros], axis=1, want=[np.array([[0, 0], [0.6, -0.8]], np.float32)])
    case("lp_norm_1", "LpNormalization", 7, [zeros], axis=1, p=1, want=[np.array([[0, 0], [3 / 7, -4 / 7]], np.float32)])
    case("mean_variance_norm", "MeanVarianceNormalization", 9, [x], axes=[1, -1], want=[normalised(x, (1, 3), 0)], rtol=1e-4)
    for size in (1, 2, 3, 4):
        images = floats(2, 5, 3, 1)
        padded = np.pad(images * images, ((0, 0), ((size - 1) // 2, size // 2), (0, 0), (0, 0)))
        sums = sum(padded[:, i : i + 5] for i in range(size))
        case(f"lrn_{size}", "LRN", 13, [images], size=size, alpha=0.5, beta=0.6, bias=2.0, want=[images / (2 + 0.5 / size * sums) ** 0.6])
    refusal("lrn_size", "LRN", 13, [x], size=0)
    for opset in (7, 10, 12, 22):
        mask = np.ones(rows.shape, np.float32 if opset == 7 else bool)
        case(f"dropout_{opset}", "Dropout", opset, [rows], 2, types=(TensorProto.FLOAT, TensorProto.FLOAT if opset == 7 else TensorProto.BOOL),
             want=[rows, mask])
    scores, labels, weights = floats(3, 4, 2), np.array([[0, 3], [-1, 2], [1, -1]]), floats(4, low=0.5)
    for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
        for reduction in ("none", "sum", "mean"):
            case(f"{op.lower()}_{reduction}", op, 13, [scores, labels, weights], ignore_index=-1, reduction=reduction, by="reference")
    refusal("loss_reduction", "SoftmaxCrossEntropyLoss", 13, [scores, labels], reduction="max")
    refusal("loss_fewer_labels", "NegativeLogLikelihoodLoss", 13, [scores, labels[:1]])
    refusal("loss_weights", "SoftmaxCrossEntropyLoss", 13, [scores, labels, floats(5)])
    refusal("loss_labels", "SoftmaxCrossEntropyLoss", 13, [scores, labels[0]])


# ---- chains that are folded into a convolution ----
def chain(name, filters, steps, attrs=None, op="Conv", bias=None, images=(2, 4, 5, 5), also=None, opset=15, want=None):
    """A convolution, and the steps after it: (op, constants). also: the index of a step whose input is an output, too."""
    x, w = floats(*images), floats(*filters)
    tensors, names = [tensor_of("w", w)], ["x", "w"]
    if bias is not None:
        tensors.append(tensor_of("bias", bias))
        names.append("bias")
    nodes, value = [helper.make_node(op, names, ["v0"], name="conv", **(attrs or {}))], "v0"
    for i, (step, constants, *swapped) in enumerate(steps):
        own = [f"c{i}_{k}" for k in range(len(constants))]
        tensors += [tensor_of(name_, array) for name_, array in zip(own, constants)]
        inputs = [*own, value] if swapped else [value, *own]
        nodes.append(helper.make_node(step, inputs, [f"v{i + 1}"], name=f"step{i}"))
        value = f"v{i + 1}"
    outs = [value] + ([f"v{also}"] if also is not None else [])
    results = [helper.make_tensor_value_info(out, TensorProto.FLOAT, None) for out in outs]
    graph = helper.make_graph(nodes, "graph", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)], results, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR[opset])
    add(name, model, [x], outputs_of(model, ["x"], [x], "ort") if want is None else [np.zeros(1, np.float32)], 1e-4, 1e-5)


def fold_cases():
    def norm(channels):
        return ("BatchNormalization", [floats(channels), floats(channels, low=-2), floats(channels, low=-1), floats(channels, low=0.5)])
    each = floats(3).reshape(3, 1, 1)
    chain("fold_norm", (3, 4, 3, 3), [norm(3)])
    chain("fold_norm_bias", (3, 4, 3, 3), [norm(3), ("Relu", [])], bias=floats(3))
    chain("fold_norm_9", (3, 4, 1, 1), [norm(3)], opset=9)
    chain("fold_all", (3, 4, 3, 3), [("Mul", [each]), ("Add", [np.array(0.5, np.float32), ], True), norm(3), ("Mul", [each.reshape(1, 3, 1, 1)], True), ("Add", [each])])
    chain("fold_depthwise", (8, 1, 3, 3), [norm(8)], {"group": 4, "pads": [1, 1, 1, 1]})
    chain("fold_groups", (6, 2, 3, 3), [norm(6), ("Add", [np.ones((1, 6, 1, 1), np.float32)])], {"group": 2})
    chain("fold_transposed", (4, 3, 3, 3), [norm(3), ("Mul", [each])], {"strides": [2, 2], "output_padding": [1, 1]}, "ConvTranspose", floats(3))
    chain("fold_transposed_groups", (4, 2, 3, 3), [norm(4)], {"group": 2}, "ConvTranspose")
    chain("fold_one_dimension", (3, 4, 3), [norm(3), ("Mul", [floats(3, 1)])], images=(2, 4, 7))
    chain("fold_volume", (3, 4, 2, 2, 2), [norm(3)], images=(1, 4, 3, 3, 3), bias=floats(3))
    chain("refused_fold_norm", (3, 4, 3, 3), [("BatchNormalization", [floats(1)] * 4)], want=0)
    chain("fold_not_rows", (3, 4, 3, 3), [("Mul", [floats(3)]), ("Add", [floats(3, 1)])])
    chain("fold_not_wider", (3, 4, 3, 3), [("Add", [floats(2, 3, 1, 1)])], images=(1, 4, 5, 5))
    chain("fold_not_more_dimensions", (3, 4, 3, 3), [("Mul", [floats(1, 1, 3, 1, 1)])])
    chain("fold_not_read_twice", (3, 4, 3, 3), [norm(3), ("Add", [each])], also=1)
    chain("fold_not_an_output", (3, 4, 3, 3), [norm(3)], also=0)


# ---- windows that only ceil_mode fits ----
def ceil_cases():
    for op, opset in (("MaxPool", 12), ("AveragePool", 12), ("LpPool", 18)):
        name = op.lower()
        case(f"{name}_ceil_small", op, opset, [floats(1, 2, 2, 7)], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
        case(f"{name}_ceil_small_line", op, opset, [floats(1, 2, 1)], kernel_shape=[2], strides=[3], ceil_mode=1)


# ---- steps that hand on what they got ----
def loop(name, nodes, results):
    """Three steps over a and b, which x and -x are at first; the names of the two values and the slices that a step hands on."""
    def value(key, kind=TensorProto.FLOAT, shape=None):
        return helper.make_tensor_value_info(key, kind, shape)
    ins = [value("i", TensorProto.INT64, []), value("go", TensorProto.BOOL, []), value("a"), value("b")]
    body = helper.make_graph(nodes, "body", ins, [value("go", TensorProto.BOOL, []), *(value(key) for key in results)])
    outs = [f"y{i}" for i in range(len(results))]
    steps = helper.make_node("Loop", ["m", "", "x", "minus"], outs, body=body, name="loop")
    x = floats(2, 3)
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["minus"]), steps], "graph", [value("x", shape=x.shape)],
                              [value(key) for key in outs], [tensor_of("m", ints(3)[0])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=IR[15])
    add(name, model, [x], outputs_of(model, ["x"], [x], "ort"), 1e-5, 1e-6)


def loop_cases():
    twice, less = helper.make_node("Add", ["a", "a"], ["c"]), helper.make_node("Sub", ["a", "b"], ["c"])
    loop("loop_slice_of_input", [twice], ["c", "b", "a"])
    loop("loop_moves_on", [less], ["c", "a"])
    loop("loop_moves_back", [less], ["b", "c"])


def write_files(case_of):
    return make_onnx_cases.files_of(case_of)


def write_folder(folder):
    for made in CASES:
        place = os.path.join(folder, made.name)
        os.makedirs(place, exist_ok=True)
        for name, data in write_files(made):
            with open(os.path.join(place, name), "wb") as file:
                file.write(data)


def write_packed(path):
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for made in CASES:
            for name, data in write_files(made):
                entry = tarfile.TarInfo(f"{made.name}/{name}")
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(raw.getvalue())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--pack", metavar="FILE")
    given = parser.parse_args()
    if not given.folder and not given.pack:
        parser.error("a folder or --pack is needed")
    for make in (softmax_cases, clip_cases, arithmetic_cases, activation_cases, cast_cases, made_cases, reduce_cases, norm_cases, fold_cases,
                 ceil_cases, loop_cases):
        make()
    if given.folder:
        write_folder(given.folder)
    if given.pack:
        write_packed(given.pack)
    print(f"{len(CASES)} cases of onnx {onnx.__version__} and onnxruntime {onnxruntime.__version__}")


if __name__ == "__main__":
    sys.exit(main())
