# SPDX-License-Identifier: Apache-2.0
"""Sorting and searches in sorted data: Sort, ArgSort, SortByKeys, TopK, InTopK, LowerBound, UpperBound.

TensorFlow's order of NaNs depends on their places, because its comparison is then no order. In Gantry NaN is larger than
all other values, last in ascending order, as in NumPy, so those cases come from the reference."""
import numpy as np
import tensorflow as tf

from golden_case import BF16, BOOL, F16, F32, F64, I16, I32, I64, Recorder, is_float, random_values, rng_for
from golden_onnx import add_reference, onnx_op
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


def total_rank(x):
    """The bits as integers in the total order of IEEE 754."""
    bits = x.view({2: np.uint16, 4: np.uint32, 8: np.uint64}[x.dtype.itemsize])
    sign = bits.dtype.type(1 << (8 * x.dtype.itemsize - 1))
    return np.where(bits & sign, ~bits, bits | sign)


def rank_of(x, is_total=False):
    """Numbers in the order of the elements: NaN the largest, zeros equal."""
    if is_total and is_float(x.dtype):
        return np.unique(total_rank(x), return_inverse=True)[1].reshape(x.shape)
    x = x.astype(np.float64) if x.dtype in (F16, BF16, F32) else x
    if x.dtype.kind == "f":
        rank = np.searchsorted(np.unique(x[~np.isnan(x)]), x)
        return np.where(np.isnan(x), x.size, rank)
    return np.unique(x, return_inverse=True)[1].reshape(x.shape)


def order(x, descending, axis=-1, is_total=False):
    """Positions in order, equal ones as they come."""
    rank = rank_of(x, is_total)
    return np.argsort(-rank if descending else rank, axis=axis, kind="stable").astype(I32)


def is_total(attrs):
    return attrs.get("order") == "TOTAL"


def sort_reference(inputs, attrs):
    axis = attrs.get("axis", -1)
    at = order(inputs[0], attrs.get("direction") == "DESCENDING", axis, is_total(attrs))
    return np.take_along_axis(inputs[0], at.astype(I64), axis)


def arg_sort_reference(inputs, attrs):
    return order(inputs[0], attrs.get("direction") == "DESCENDING", attrs.get("axis", -1), is_total(attrs))


def sorted_by(function, inputs, attrs):
    if "order" in attrs:
        raise ValueError("TensorFlow has no order")
    return [function(inputs[0], **attrs)]


def tf_sort(inputs, attrs):
    return sorted_by(tf.sort, inputs, attrs)


def tf_argsort(inputs, attrs):
    return sorted_by(tf.argsort, inputs, attrs)


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
        r.add(f"bool_{direction.lower()}", [random_values(BOOL, (3, 21), op)], {"direction": direction}, numpy_only=True)
        for dtype in NUMERIC:   # files have only one NaN, the positive one
            r.add(f"{dtype.name}_total_{direction.lower()}", [specials(dtype)], {"direction": direction, "order": "TOTAL"}, numpy_only=True)
    r.our_error("order", [x], {"order": "IEEE"},
                'Value for attr \'order\' of "IEEE" is not in the list of allowed values: "NUMERIC", "TOTAL"')
    return r


def keys_reference(inputs, attrs):
    axis, count = attrs.get("axis", -1), attrs.get("num_keys", 1)
    falls = attrs.get("descending") or [0] * count
    ranks = [rank_of(x, is_total(attrs)) * (-1 if down else 1) for x, down in zip(inputs, falls)]
    at = np.lexsort(ranks[::-1], axis)     # NumPy's last key decides first
    if not any(falls) and not is_total(attrs) and all(x.dtype != BF16 for x in inputs[:count]):
        assert (at == np.lexsort(inputs[:count][::-1], axis)).all()
    return [np.take_along_axis(x, at, axis) for x in inputs]


def sort_by_keys():
    """NumPy's lexsort."""
    r = Recorder("SortByKeys", "none", keys_reference)
    add = lambda name, inputs, attrs=None: r.add(name, inputs, attrs, numpy_only=True)
    few = lambda dtype, shape, *name: random_values(BOOL, shape, *name) if dtype == BOOL else few_values(dtype, shape, *name)
    places = np.arange(42, dtype=I32).reshape(2, 21)
    for k, dtype in enumerate(NUMERIC + (BOOL,)):
        other = (NUMERIC + (BOOL,))[k - 3]
        for falls in ([], [0, 1], [1, 0]):
            add(f"{dtype.name}_{other.name}_{text(falls)}", [few(dtype, (2, 21), 0), few(other, (2, 21), 1), places],
                {"num_keys": 2, "descending": falls})
        if is_float(dtype):
            x = np.tile(specials(dtype), 2)
            for kind in ("NUMERIC", "TOTAL"):
                add(f"{dtype.name}_specials_{kind.lower()}", [x, np.repeat([1, 0], 12).astype(I32), np.arange(24, dtype=I64)],
                    {"num_keys": 2, "order": kind})
    one = random_values(F32, (3, 17), "keys")
    add("one_key", [few_values(F32, (3, 17), "keys"), one])
    add("one_key_descending", [few_values(I32, (3, 17), "keys"), one], {"descending": [1]})
    add("one_operand", [one])
    add("only_keys", [few_values(F32, (3, 17), k) for k in range(3)], {"num_keys": 3, "descending": [1, 0, 1]})
    for axis in (0, 1, -2, 2):
        add(f"axis_{axis}".replace("-", "m"), [few_values(F32, (4, 9, 3), 0), few_values(I64, (4, 9, 3), 1), random_values(BOOL, (4, 9, 3), 2)],
            {"num_keys": 2, "axis": axis})
    add("complex64_values", [few_values(F32, (9,), 0), random_values(np.dtype("complex64"), (9,), 1)])
    for shape in ((1,), (0, 3), (3, 0), (2, 1, 3, 1, 2, 1, 1, 5), (1, 700)):
        add(f"float32_{text(shape)}", [few_values(F32, shape, 0), few_values(F32, shape, 1), few_values(I32, shape, 2)], {"num_keys": 2})
    x = np.zeros((2, 3), F32)
    r.our_error("no_keys", [x, x], {"num_keys": 0}, "num_keys is 0; 1 to 2, the number of operands, is accepted")
    r.our_error("many_keys", [x, x], {"num_keys": 3}, "num_keys is 3; 1 to 2, the number of operands, is accepted")
    r.our_error("shapes", [x, x[:, :2]], contains="operand 1 has shape [2,2], and operand 0 has [2,3]; they must be equal")
    r.our_error("axis", [x, x], {"axis": 2}, "axis 2 is out of range")
    r.our_error("scalar", [x[0, 0]], contains="out of range")
    r.our_error("complex_key", [x.astype(np.complex64)], contains="operand 0 is a key of type complex64; keys are")
    for label, falls in (("few", [1]), ("many", [0, 0, 0]), ("not_a_bool", [0, 2])):
        r.our_error("descending_" + label, [x, x], {"num_keys": 2, "descending": falls},
                    "attribute 'descending' must have a number, 0 or 1, for each of num_keys = 2 keys, or none")
    r.our_error("order", [x], {"order": ""}, 'Value for attr \'order\' of "" is not in the list of allowed values')
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
    axis = attrs.get("axis", -1)
    at = np.take(order(x, attrs.get("largest", True), axis, is_total(attrs)), np.arange(int(k)), axis)
    return [np.take_along_axis(x, at.astype(I64), axis), at.astype(attrs.get("index_type", I32))]


def onnx_top(inputs, attrs):
    """As ONNX has it; its positions are int64."""
    values, at = onnx_op("TopK", [inputs[0], inputs[1].reshape(1).astype(I64)],
                         {"axis": attrs.get("axis", -1), "largest": int(attrs.get("largest", True)), "sorted": 1}, 2)
    return [values, at.astype(attrs.get("index_type", I32))]


def further_top(r):
    """What TensorFlow lacks: the smallest, other axes, bool, the total order."""
    for axis in (0, 1, -2, 2):
        for largest in (False, True):
            x, attrs = few_values(F32, (5, 19, 3), "top"), {"axis": axis, "largest": largest, "index_type": I64}
            add_reference(r, onnx_top, f"axis_{axis}_{('smallest', 'largest')[largest]}".replace("-", "m"), [x, np.array(3, I64)], attrs)
    for dtype in NUMERIC + (BOOL,):
        x = random_values(BOOL, (2, 21), "top") if dtype == BOOL else few_values(dtype, (2, 21))
        r.add(f"{dtype.name}_smallest", [x, np.array(4, I32)], {"largest": False, "sorted": False}, numpy_only=True)
        if dtype != BOOL:
            r.add(f"{dtype.name}_total", [specials(dtype), np.array(6, I32)], {"largest": False, "order": "TOTAL"}, numpy_only=True)
    r.add("bool_largest", [random_values(BOOL, (2, 21), "top"), np.array(4, I32)], numpy_only=True)
    r.add("smallest_of_many", [few_values(F32, (3, 700), "top"), np.array(9, I32)], {"largest": False}, numpy_only=True)
    r.add("many_along_0", [few_values(F32, (700, 3), "top"), np.array(9, I32)], {"axis": 0}, numpy_only=True)
    x = np.zeros((3, 2), F32)
    r.our_error("axis", [x, np.array(1, I32)], {"axis": 2}, "axis 2 is out of range [-2, 2) of shape [3,2]")
    r.our_error("k_of_axis", [x, np.array(4, I32)], {"axis": 0}, "input must have at least k elements along the axis. Had 3, needed 4")
    r.our_error("order", [x, np.array(1, I32)], {"order": "total"}, 'Value for attr \'order\' of "total" is not in the list')
    r.our_error("short_positions", [np.zeros(32769, np.int8), np.array(1, I32)], {"index_type": I16},
                "attribute 'index_type' is int16, which holds numbers up to 32767, and 32768 is possible")
    return r


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
    r.add("int16_indices", [few_values(F32, (2, 21)), np.array(4, I64)], {"index_type": I16})
    r.add("int16_k", [few_values(F32, (2, 21)), np.array(4, I16)])
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
            "SortByKeys": sort_by_keys,
            "TopK": lambda: further_top(top_k()),
            "InTopK": in_top_k,
            "LowerBound": lambda: bound("LowerBound"),
            "UpperBound": lambda: bound("UpperBound")}
