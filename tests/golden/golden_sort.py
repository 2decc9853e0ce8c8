# SPDX-License-Identifier: Apache-2.0
"""Sorting and searches in sorted data: Sort, ArgSort, TopK, InTopK, LowerBound, UpperBound.

TensorFlow's order of NaNs depends on their places, because its comparison is then no order. In Gantry NaN is larger than
all other values, last in ascending order, as in NumPy, so those cases come from the reference."""
import numpy as np
import tensorflow as tf

from golden_case import BF16, F16, F32, F64, I32, I64, Recorder, is_float, random_values, rng_for
from golden_shapes import text

NUMERIC = (F32, F64, F16, BF16) + tuple(np.dtype(n) for n in ("int8", "int16", "int32", "int64", "uint8", "uint16",
                                                             "uint32", "uint64"))


def few_values(dtype, shape, *name):
    """Values that often come twice, of both signs where the type has them."""
    values = rng_for("few", dtype.name, tuple(shape), *name).randint(-9, 10, size=shape)
    return values.astype(np.int64).astype(dtype) if is_float(dtype) else values.astype(dtype)


def specials(dtype):
    """Extremes, zeros of both signs, NaN, and denormals, which TensorFlow takes as 0: for numpy_only cases."""
    if is_float(dtype):
        tiny = np.array(1, {2: np.uint16, 4: np.uint32, 8: np.uint64}[dtype.itemsize]).view(dtype)
        return np.array([0.0, -0.0, np.inf, -np.inf, 1, np.nan, -1, tiny, -tiny, -0.0, 0.0, np.inf], dtype)
    info = np.iinfo(dtype)
    return np.array([info.max, info.min, 0, 1, info.max, info.min, info.max - 1], dtype)


def order(x, descending, axis=-1):
    """Positions in order, NaN the largest, equal ones as they come."""
    x = x.astype(np.float64) if x.dtype in (F16, BF16, F32) else x
    if x.dtype.kind == "f":
        rank = np.searchsorted(np.unique(x[~np.isnan(x)]), x)
        rank = np.where(np.isnan(x), x.size, rank)
    else:
        rank = np.unique(x, return_inverse=True)[1].reshape(x.shape)
    return np.argsort(-rank if descending else rank, axis=axis, kind="stable").astype(I32)


def sort_reference(inputs, attrs):
    axis = attrs.get("axis", -1)
    at = order(inputs[0], attrs.get("direction") == "DESCENDING", axis)
    return np.take_along_axis(inputs[0], at.astype(I64), axis)


def arg_sort_reference(inputs, attrs):
    return order(inputs[0], attrs.get("direction") == "DESCENDING", attrs.get("axis", -1))


def tf_sort(inputs, attrs):
    return [tf.sort(inputs[0], **attrs)]


def tf_argsort(inputs, attrs):
    return [tf.argsort(inputs[0], **attrs)]


def sort_cases(op, function, reference):
    r = Recorder(op, tf_op=function, reference=reference)
    for dtype in NUMERIC:
        for direction in ("ASCENDING", "DESCENDING"):
            r.add(f"{dtype.name}_{direction.lower()}", [few_values(dtype, (3, 21))], {"direction": direction})
        r.add(f"{dtype.name}_specials", [specials(dtype)], numpy_only=is_float(dtype))
    for shape in ((1,), (8,), (9,), (16,), (17,), (1, 100), (0, 3), (3, 0), (2, 1, 3, 1, 2, 1, 1, 5)):
        r.add(f"float32_{text(shape)}", [random_values(F32, shape, op)])
    for axis in (0, 1, -2, 2):
        r.add(f"axis_{axis}".replace("-", "m"), [few_values(F32, (5, 19, 3))], {"axis": axis})
    r.add("axis_0_descending", [few_values(I64, (35, 2))], {"axis": 0, "direction": "DESCENDING"})
    x = np.array([[np.nan, 2, -np.inf, np.nan], [np.inf, np.nan, 1, -1]], F32)
    for direction in ("ASCENDING", "DESCENDING"):
        r.add(f"nan_{direction.lower()}", [x], {"direction": direction}, numpy_only=True)
    return r


def refused(r):
    """Calls that TensorFlow's Python refuses with errors of other kinds."""
    x = np.zeros((2, 3), F32)
    r.our_error("axis_too_large", [x], {"axis": 2}, "axis 2 is out of range")
    r.our_error("axis_too_small", [x], {"axis": -3}, "axis -3 is out of range")
    r.our_error("scalar", [x[0, 0]], contains="out of range")
    r.our_error("direction", [x], {"direction": "UP"}, "should be one of ASCENDING, DESCENDING. Received: direction=UP")
    return r


def top_reference(inputs, attrs):
    x, k = inputs
    at = order(x, True)[..., :int(k)]
    return [np.take_along_axis(x, at.astype(I64), -1), at.astype(attrs.get("index_type", I32))]


def top_k():
    r = Recorder("TopK", "TopKV2", top_reference)
    for dtype in NUMERIC:
        for k in (3, 21):
            r.add(f"{dtype.name}_{k}", [few_values(dtype, (2, 21)), np.array(k, I32)])
    for shape, k in (((1,), 1), ((7,), 0), ((200,), 1), ((200,), 9), ((3, 130), 17), ((0, 4), 2), ((2, 0), 0),
                     ((1, 1, 2, 1, 1, 1, 1, 33), 5)):
        r.add(f"float32_{text(shape)}_{k}", [random_values(F32, shape, "top"), np.array(k, I32)])
    for dtype in NUMERIC:
        x = specials(dtype)
        r.add(f"{dtype.name}_specials", [x, np.array(x.size - 1, I32)], numpy_only=is_float(dtype))
    r.add("int64_indices", [few_values(F32, (2, 21)), np.array(4, I64)], {"index_type": I64, "sorted": True})
    r.add("nan", [np.array([1, np.nan, 3, np.nan, np.inf], F32), np.array(4, I32)], numpy_only=True)
    x = np.array([1, 3, 2], F32)
    r.error("k_too_large", [x, np.array(4, I32)], contains="input must have at least k columns. Had 3, needed 4")
    r.error("k_negative", [x, np.array(-1, I32)], contains="Need k >= 0, got -1")
    r.error("k_vector", [x, np.array([1], I32)], contains="k must be scalar, got shape [1]")
    r.error("scalar", [np.array(1, F32), np.array(1, I32)], contains="input must be >= 1-D, got shape []")
    return r


def in_top_k():
    r = Recorder("InTopK", "InTopKV2")
    x = random_values(F32, (6, 10), "in top")
    for k in (-1, 0, 1, 3, 10, 11):
        r.add(f"k_{k}".replace("-", "m"), [x, np.array([0, 9, 3, 4, 4, 1], I32), np.array(k, I32)])
    r.add("int64", [x, np.array([0, 9, 3, 4, 4, 1], I64), np.array(4, I64)])
    r.add("no_class", [x, np.array([-1, 10, 3, 4, 2**31 - 1, -2**31], I32), np.array(10, I32)])
    bad = np.array([[1, 2, 3], [np.nan, 2, 3], [np.inf, 2, 3], [2, 2, 1], [-np.inf, 1, 0], [0.0, -0.0, -1]], F32)
    for target in range(3):
        for k in (1, 2):
            r.add(f"specials_{target}_{k}", [bad, np.full(6, target, I32), np.array(k, I32)])
    small = specials(F32)[[0, 1, 7, 8]]     # TensorFlow takes denormals as 0; -least < 0 < least
    r.reference = lambda inputs, attrs: np.array([np.sum(row > row[t]) < int(inputs[2]) for row, t in zip(inputs[0], inputs[1])])
    r.add("denormals", [np.tile(small, (4, 1)), np.arange(4, dtype=I32), np.array(2, I32)], numpy_only=True)
    r.reference = None
    r.add("ends_of_int64", [x[:2], np.array([2**63 - 1, -2**63], I64), np.array(10, I64)])
    wide = random_values(F32, (3, 700), "in top")
    for k in (40, 400):
        r.add(f"wide_{k}", [wide, np.array([5, 300, 699], I32), np.array(k, I32)])
    r.add("no_rows", [np.zeros((0, 3), F32), np.zeros(0, I32), np.array(1, I32)])
    r.error("rows", [x, np.array([0, 1], I32), np.array(1, I32)],
            contains="First dimension of predictions 6 must match length of targets 2")
    r.error("targets_matrix", [x, np.zeros((6, 1), I32), np.array(1, I32)], contains="targets must be 1-dimensional")
    r.error("predictions_vector", [x[0], np.zeros(6, I32), np.array(1, I32)],
            contains="predictions must be 2-dimensional")
    r.error("k_vector", [x, np.zeros(6, I32), np.array([1], I32)], contains="k must be 0-D, got shape [1]")
    return r


def bound_reference(op):
    """NaN is below all for LowerBound, above all for UpperBound."""
    side = "left" if op == "LowerBound" else "right"

    def reference(inputs, attrs):
        rows, values = (x.astype(F64) if is_float(x.dtype) else x for x in inputs)
        out = np.stack([np.searchsorted(row, v, side) for row, v in zip(rows, values)]) if len(rows) else np.zeros(values.shape)
        if is_float(inputs[0].dtype):
            out = np.where(np.isnan(values), 0 if side == "left" else rows.shape[1], out)
        return out.astype(attrs.get("out_type", I32))
    return reference


def bound(op):
    r = Recorder(op, reference=bound_reference(op))
    for dtype in NUMERIC:
        rows = few_values(dtype, (2, 17))
        rows = np.sort(rows.astype(F64)).astype(dtype) if dtype == BF16 else np.sort(rows)
        for out_type in (I32, I64) if dtype in (F32, I64) else (I32,):
            r.add(f"{dtype.name}_{out_type.name}", [rows, few_values(dtype, (2, 9), "values")], {"out_type": out_type})
        if is_float(dtype):
            numbers = np.array([[-np.inf, -1, -0.0, 0.0, 0.25, 1, np.inf, np.inf]]).astype(dtype)
            r.add(f"{dtype.name}_specials", [numbers, np.array([[-np.inf, -2, -0.0, 0.0, 0.5, np.inf, np.nan]]).astype(dtype)])
            least = specials(dtype)[7]
            numbers = np.array([[-1, -least, -0.0, 0.0, least, 1]]).astype(dtype)
            r.add(f"{dtype.name}_denormals", [numbers, numbers[:, 1:5]], numpy_only=True)
        else:
            ends = np.sort(specials(dtype))[None]
            r.add(f"{dtype.name}_extremes", [ends, ends[:, ::2]])
    for n, m in ((1, 1), (0, 3), (3, 0), (100, 40)):
        r.add(f"float32_{n}_{m}", [np.sort(random_values(F32, (3, n), op)), random_values(F32, (3, m), op, "values")])
    x = np.zeros((2, 3), F32)
    r.error("vector", [x[0], x], contains="Shape must be rank 2 but is rank 1 for `sorted_inputs` argument")
    r.error("rows", [x, x[:1]], contains="Leading dim_size of both tensors must match.")
    return r


def build():
    return {"Sort": lambda: refused(sort_cases("Sort", tf_sort, sort_reference)),
            "ArgSort": lambda: refused(sort_cases("ArgSort", tf_argsort, arg_sort_reference)),
            "TopK": top_k,
            "InTopK": in_top_k,
            "LowerBound": lambda: bound("LowerBound"),
            "UpperBound": lambda: bound("UpperBound")}
