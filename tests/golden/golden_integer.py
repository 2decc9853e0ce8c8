# SPDX-License-Identifier: Apache-2.0
"""MatMulInteger and ConvInteger. TensorFlow's BatchMatMulV3 multiplies 8-bit integers without zero points; the reference
evaluator of the package onnx has zero points, one of A and one of B's columns at most. NumPy has all."""
import numpy as np
import tensorflow as tf
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from golden_case import BOOL, EXACT, F32, I8, I16, I32, U8, Recorder, cycled, random_values
from golden_conv import patch_matrix
from golden_window import channels_last, explicit_of

ONNX_TYPES = {"int8": TensorProto.INT8, "uint8": TensorProto.UINT8}
PAIRS = ((I8, I8), (U8, I8), (I8, U8), (U8, U8), (I16, I16), (BOOL, BOOL))


def values(dtype, shape, *name):
    return random_values(dtype, shape, "integer", *name)


def ends(dtype, shape):
    """The ends of the type, and values near them, in an order that no row repeats."""
    if dtype == BOOL:
        return np.resize(np.array([1, 0, 1, 1, 0, 0, 1], BOOL), shape)
    i = np.iinfo(dtype)
    return np.resize(np.array([i.max, i.min, i.max, 1, i.min, i.min + 1, i.max - 1], dtype), shape)


def flip(x):
    return np.ascontiguousarray(np.swapaxes(x, -1, -2))


def wrapped(sums, attrs):
    """The result's type: int32, or for bool the or of ands."""
    if attrs.get("Tout") == BOOL:
        return sums != 0
    return sums.astype(np.int64).astype(np.int32)


def as_rows(zero, matrix, axis):
    """A zero point as an array that broadcasts with the matrix, whose lines are on this axis."""
    if zero.ndim == 1 and zero.size > 1:
        return zero.reshape(-1, 1) if axis == 0 else zero.reshape(1, -1)
    return zero.reshape(()) if zero.size == 1 else zero


def product(inputs, attrs):
    a = flip(inputs[0]) if attrs.get("adj_x") else inputs[0]
    b = flip(inputs[1]) if attrs.get("adj_y") else inputs[1]
    a, b = a.astype(np.int64), b.astype(np.int64)
    if len(inputs) > 2:
        a = a - as_rows(inputs[2].astype(np.int64), a, 0)
    if len(inputs) > 3:
        b = b - as_rows(inputs[3].astype(np.int64), b, 1)
    return wrapped(np.matmul(a, b), attrs)


def run_onnx(op, names, inputs, attrs):
    """One node of the reference evaluator."""
    infos = [helper.make_tensor_value_info(n, ONNX_TYPES[x.dtype.name], x.shape) for n, x in zip(names, inputs)]
    out = helper.make_tensor_value_info("y", TensorProto.INT32, None)
    node = helper.make_node(op, names[:len(inputs)], ["y"], **attrs)
    model = helper.make_model(helper.make_graph([node], "case", infos, [out]))
    return tf.constant(ReferenceEvaluator(model).run(None, dict(zip(names, inputs)))[0].astype(np.int32))


def BatchMatMulV3(inputs, attrs):
    """TensorFlow's op, or ONNX's where there are zero points."""
    if len(inputs) == 2:
        return tf.raw_ops.BatchMatMulV3(x=inputs[0], y=inputs[1], Tout=tf.int32, adj_x=attrs.get("adj_x", False),
                                        adj_y=attrs.get("adj_y", False))
    return run_onnx("MatMulInteger", ["a", "b", "c", "d"], [x.numpy() for x in inputs], {})


SIZES = ((1, 1, 1), (1, 17, 5), (5, 17, 1), (2, 3, 4), (9, 7, 5), (16, 16, 16), (15, 33, 17), (33, 65, 3), (3, 257, 40))
ZEROS = {"no_zero_points": (), "first": (1,), "scalars": (1, 1), "columns": (1, 2), "rows": (2, 1), "rows_and_columns": (2, 2)}


def zeros_of(a, b, m, n, kinds):
    """Zero points of both types: 1 is a scalar, 2 a vector."""
    return [ends(x.dtype, (lines,) if kind == 2 else ())
            for kind, x, lines in zip(kinds, (a, b), (m, n))]


def mat_mul_integer():
    r = Recorder("MatMulInteger", BatchMatMulV3, product)
    for first, second in PAIRS:
        here = f"{first.name}_{second.name}"
        bytes_ = first not in (I16, BOOL)
        for m, k, n in SIZES if first == I8 else SIZES[3:5] + SIZES[7:]:
            a, b = cycled(values(first, (m, k), "a"), 97), cycled(values(second, (k, n), "b"), 89)
            r.add(f"{here}_{m}x{k}x{n}", [a, b], numpy_only=not bytes_)
        for adj_x, adj_y in ((False, True), (True, False), (True, True)):
            a, b = ends(first, (5, 4) if adj_x else (4, 5)), ends(second, (3, 5) if adj_y else (5, 3))
            r.add(f"{here}_ends" + "_adjx" * adj_x + "_adjy" * adj_y, [a, b], {"adj_x": adj_x, "adj_y": adj_y},
                  numpy_only=not bytes_)
        if first == BOOL:
            continue
        for name, kinds in list(ZEROS.items())[1:]:
            a, b = ends(first, (5, 11)), ends(second, (11, 4))
            r.add(f"{here}_{name}", [a, b, *zeros_of(a, b, 5, 4, kinds)], numpy_only=not bytes_ or 2 in kinds[:1])
        a, b = ends(first, (2, 1, 3, 5)), ends(second, (3, 5, 2))
        r.add(f"{here}_batches_with_zero_points", [a, b, ends(first, (2, 1, 3, 1)), ends(second, (3, 1, 2))], numpy_only=True)
        r.add(f"{here}_batches_one_vector", [a, b, ends(first, (3,)), ends(second, (2,))], numpy_only=True)
        r.add(f"{here}_batches_transposed_one_zero_point", [flip(a), flip(b), ends(first, (1,)), ends(second, ())],
              {"adj_x": True, "adj_y": True}, numpy_only=True)
        r.add(f"{here}_nothing_to_sum", [ends(first, (2, 0)), ends(second, (0, 3)), ends(first, ()), ends(second, (3,))],
              numpy_only=True)
        r.add(f"{here}_empty", [ends(first, (0, 2)), ends(second, (2, 3))], numpy_only=not bytes_)
    edge = (1, 2, 1, 2, 1, 2, 3, 4)
    r.add("int8_uint8_rank_8", [values(I8, edge, "a"), values(U8, edge[:6] + (4, 2), "b")], numpy_only=True)
    r.add("int16_sums_wrap_around", [np.full((1, 4), -32768, I16), np.full((4, 2), -32768, I16)], numpy_only=True)
    r.add("int8_sums_wrap_around", [np.full((1, 140000), -128, I8), np.full((140000, 1), -128, I8), np.array(127, I8),
                                    np.array(127, I8)], numpy_only=True)
    for m, k, n in ((2, 3, 4), (9, 40, 33), (3, 0, 2)):
        a, b = values(BOOL, (m, k), "or"), values(BOOL, (k, n), "or")
        a[0] = False
        r.add(f"bool_or_of_ands_{m}x{k}x{n}", [a, b], {"Tout": BOOL}, numpy_only=True)
    x = lambda dtype, *shape: values(dtype, shape)
    r.our_error("types_int8_int16", [x(I8, 2, 3), x(I16, 3, 2)], contains="int8")
    r.our_error("types_bool_int8", [x(BOOL, 2, 3), x(I8, 3, 2)], contains="bool")
    r.our_error("type_int32", [x(I32, 2, 3), x(I32, 3, 2)], contains="int32")
    r.our_error("result_bool_of_int8", [x(I8, 2, 3), x(I8, 3, 2)], {"Tout": BOOL}, contains="Tout")
    r.our_error("result_float32", [x(I8, 2, 3), x(I8, 3, 2)], {"Tout": F32}, contains="float32")
    r.our_error("inner_sizes_differ", [x(I8, 2, 3), x(I8, 4, 2)], contains="[2,3]")
    r.our_error("vector", [x(I8, 3), x(I8, 3, 2)], contains="ndims")
    r.our_error("batches_differ", [x(I8, 2, 2, 3), x(I8, 3, 3, 2)], contains="batch")
    r.our_error("zero_point_of_other_type", [x(I8, 2, 3), x(I8, 3, 2), x(U8)], contains="uint8")
    r.our_error("zero_point_of_bool", [x(BOOL, 2, 3), x(BOOL, 3, 2), x(BOOL)], contains="bool has no zero point")
    r.our_error("zero_point_too_long", [x(I8, 2, 3), x(I8, 3, 2), x(I8, 3)], contains="[3]")
    r.our_error("zero_point_of_y_too_short", [x(I8, 2, 3), x(I8, 3, 4), x(I8), x(I8, 3)], contains="[3]")
    r.our_error("zero_point_matrix", [x(I8, 2, 3), x(I8, 3, 2), x(I8, 1, 2)], contains="[1,2]")
    return r


def conv_reference(inputs, attrs):
    """The padding is the zero point: 0 after it is subtracted."""
    x, lists, back = channels_last([inputs[0]], attrs)
    x, f = x.astype(np.int64), inputs[1].astype(np.int64)
    if len(inputs) > 2:
        x = x - inputs[2].astype(np.int64).reshape(())
    if len(inputs) > 3:
        f = f - inputs[3].astype(np.int64)
    spread = (lists("dilations") or [1, 1, 1, 1])[1:3]
    p = patch_matrix(x, f, lists("strides")[1:3], spread, attrs["padding"], explicit_of(lists))
    groups = x.shape[3] // max(f.shape[2], 1)
    each = f.shape[3] // max(groups, 1)
    out = [np.einsum("nyxrcd,rcde->nyxe", p[..., g * f.shape[2]:(g + 1) * f.shape[2]], f[..., g * each:(g + 1) * each])
           for g in range(groups)]
    return back(wrapped(np.concatenate(out, axis=3), attrs))


def ConvInteger(inputs, attrs):
    """ONNX's op, with channels first and a filter [outputs, channels, rows, columns]."""
    x, f, *zeros = [t.numpy() for t in inputs]
    first = attrs.get("data_format") == "NCHW"
    pick = (lambda l: l[2:]) if first else (lambda l: l[1:3])
    given = {"strides": pick(attrs["strides"]), "dilations": pick(attrs.get("dilations") or [1, 1, 1, 1])}
    if attrs["padding"] == "EXPLICIT":
        e = attrs["explicit_paddings"][4 if first else 2:][:4]
        given["pads"] = [e[0], e[2], e[1], e[3]]
    else:
        given["auto_pad"] = {"SAME": "SAME_UPPER", "VALID": "VALID"}[attrs["padding"]]
    given["group"] = x.shape[1 if first else 3] // f.shape[2]
    given["kernel_shape"] = list(f.shape[:2])
    x = np.ascontiguousarray(x if first else x.transpose(0, 3, 1, 2))
    out = run_onnx("ConvInteger", ["x", "w", "p", "q"], [x, np.ascontiguousarray(f.transpose(3, 2, 0, 1)), *zeros], given)
    return out if first else tf.constant(np.ascontiguousarray(out.numpy().transpose(0, 2, 3, 1)))


CONVS = (   # image, filter, strides, dilations, padding
    ((1, 5, 5, 1), (3, 3, 1, 1), (1, 1), (1, 1), "SAME"), ((2, 6, 7, 3), (2, 3, 3, 5), (2, 1), (1, 1), "VALID"),
    ((2, 6, 7, 3), (3, 2, 3, 4), (3, 2), (1, 1), "SAME"), ((2, 4, 3, 8), (1, 1, 8, 6), (1, 1), (1, 1), "VALID"),
    ((1, 9, 8, 2), (3, 3, 2, 3), (1, 1), (2, 3), "SAME"), ((1, 4, 5, 4), (3, 3, 2, 6), (1, 1), (1, 1), "SAME"),
    ((1, 5, 4, 3), (3, 2, 1, 6), (1, 1), (1, 1), [0, 0, 2, 1, 0, 3, 0, 0]),
)


def conv_integer():
    r = Recorder("ConvInteger", ConvInteger, conv_reference)
    for first, second in PAIRS:
        here = f"{first.name}_{second.name}"
        for i, (image, filter_, steps, spread, padding) in enumerate(CONVS):
            if i not in (0, 2, 6) and first not in (I8, U8):
                continue
            attrs = {"strides": [1, *steps, 1], "dilations": [1, *spread, 1],
                     "padding": padding if isinstance(padding, str) else "EXPLICIT"}
            if not isinstance(padding, str):
                attrs["explicit_paddings"] = padding
            inputs = [cycled(values(first, image, "x"), 97), cycled(values(second, filter_, "f"), 89)]
            only = True if first in (I16, BOOL) else i == 4 or padding == "SAME" and steps != (1, 1)
            r.add(f"{here}_{i}", inputs, attrs, numpy_only=only)
            if first == BOOL:
                continue
            zeros = [ends(first, (1,) if i % 2 else ()), ends(second, (filter_[3],) if i % 3 else ())]
            r.add(f"{here}_{i}_input_zero_point", inputs + zeros[:1], attrs, numpy_only=True)
            r.add(f"{here}_{i}_zero_points", inputs + zeros, attrs, numpy_only=True)
    first = {"strides": [1, 1, 2, 1], "padding": "SAME", "data_format": "NCHW"}
    x, f = values(U8, (2, 3, 6, 5), "first"), values(I8, (3, 3, 3, 4), "first")
    r.add("channels_first", [x, f], first, numpy_only=True)
    r.add("channels_first_zero_points", [x, f, np.array(130, U8), np.array([1, -2, 127, -128], I8)], first, numpy_only=True)
    explicit = {"strides": [1, 1, 1, 1], "padding": "EXPLICIT", "explicit_paddings": [0, 0, 0, 0, 1, 0, 2, 1], "data_format": "NCHW"}
    r.add("channels_first_explicit", [x, f, np.array(7, U8)], explicit, numpy_only=True)
    one = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    r.add("no_images", [values(I8, (0, 4, 4, 2)), values(I8, (2, 2, 2, 3)), np.array(3, I8)], one, numpy_only=True)
    r.add("ends_uint8", [ends(U8, (1, 4, 4, 2)), ends(U8, (2, 2, 2, 3)), ends(U8, ()), ends(U8, (3,))], one, numpy_only=True)
    r.add("ends_int8", [ends(I8, (1, 4, 4, 2)), ends(I8, (2, 2, 2, 3)), ends(I8, ()), ends(I8, (3,))], one, numpy_only=True)
    r.add("ends_int16", [ends(I16, (1, 4, 4, 2)), ends(I16, (2, 2, 2, 3)), ends(I16, ()), ends(I16, (3,))], one, numpy_only=True)
    r.add("bool_or_of_ands", [values(BOOL, (1, 4, 5, 1), "or"), values(BOOL, (2, 2, 1, 3), "or")], {**one, "Tout": BOOL},
          numpy_only=True)
    y = lambda dtype, *shape: values(dtype, shape)
    r.our_error("types_int8_bool", [y(I8, 1, 4, 4, 1), y(BOOL, 2, 2, 1, 1)], one, contains="bool")
    r.our_error("groups", [y(I8, 1, 4, 4, 3), y(I8, 2, 2, 2, 2)], one, contains="3 vs 2")
    r.our_error("padding_word", [y(I8, 1, 4, 4, 1), y(I8, 2, 2, 1, 1)], {**one, "padding": "ROUND"}, contains="ROUND")
    r.our_error("input_zero_point_vector", [y(I8, 1, 4, 4, 2), y(I8, 2, 2, 2, 3), y(I8, 2)], one, contains="[2]")
    r.our_error("filter_zero_point_too_long", [y(I8, 1, 4, 4, 2), y(I8, 2, 2, 2, 3), y(I8), y(I8, 4)], one, contains="[4]")
    r.our_error("filter_zero_point_of_other_type", [y(U8, 1, 4, 4, 2), y(I8, 2, 2, 2, 3), y(U8), y(U8)], one, contains="uint8")
    r.our_error("filter_rank_3", [y(I8, 1, 4, 4, 2), y(I8, 2, 2, 2)], one, contains="4")
    return r


def build():
    return {"MatMulInteger": mat_mul_integer, "ConvInteger": conv_integer}
