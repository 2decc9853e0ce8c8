# SPDX-License-Identifier: Apache-2.0
"""Ops on segments, SegmentSum and its kin and UnsortedSegmentSum and its kin, and Bincount, DenseBincount.

Values are small whole numbers with exact sums and products in every type, because TensorFlow adds the rows of sorted
segments in its own order."""
import numpy as np
import tensorflow as tf

from golden_case import BOOL, F32, F64, I32, I64, U8, VALUE, Recorder, random_values, rng_for
from golden_onnx import add_reference
from golden_shapes import text
from golden_sort import NUMERIC, few_values

FLOATING = tuple(t for t in NUMERIC if t.kind in "fV" or t.name == "bfloat16")


def small(dtype, shape, op):
    """Few factors other than 1, so that products stay small."""
    if not op.endswith("Prod"):
        return few_values(dtype, shape, op)
    return rng_for(op, dtype.name, tuple(shape)).choice([1, 1, 1, 2, 3], size=shape).astype(dtype)


def sorted_segment(op):
    r = Recorder(op)
    ids = np.array([0, 0, 2, 2, 2, 3, 6], I32)
    tolerance = {"ulp": 1} if op == "SegmentMean" else VALUE
    for dtype in NUMERIC:
        r.add(dtype.name, [small(dtype, (7, 2), op), ids], tolerance=tolerance)
    for shape in ((7,), (7, 1, 33), (7, 0), (7, 2, 1, 1, 1, 2, 1, 3)):
        r.add(f"float32_{text(shape)}", [small(F32, shape, op), ids.astype(I64)], tolerance=tolerance)
    many = np.sort(rng_for("many").randint(0, 40, size=150))
    r.add("many", [small(F32, (150, 3), op), many.astype(I64)], tolerance=tolerance)
    r.add("one", [small(F64, (1, 3), op), np.array([2], I32)], tolerance=tolerance)
    r.add("none", [np.zeros((0, 3), F32), np.zeros(0, I32)])
    r.add("infinities", [np.array([-np.inf, np.inf, np.inf], F32), np.array([0, 1, 1], I32)])
    add_bools(r, op, ids)
    x = np.ones(3, F32)
    r.error("falling", [x, np.array([0, 2, 1], I32)], contains="segment ids are not increasing")
    r.error("negative", [x, np.array([-3, -2, -1], I64)], contains="segment ids must be >= 0")
    r.error("negative_first", [x, np.array([-1, 0, 1], I32)])
    r.error("length", [x, np.array([0, 1], I32)],
            contains="segment_ids should be the same size as dimension 0 of input.")
    r.error("matrix", [x, np.array([[0, 1, 2]], I32)], contains="segment_ids should be a vector.")
    r.error("scalar", [np.array(1, F32), np.array([0], I32)], contains="input must be at least rank 1")
    return r


def add_bools(r, op, *inputs):
    """TensorFlow has no bool here: its op of uint8."""
    if op[-3:] in ("Max", "Min"):
        x = random_values(BOOL, (7, 2), op)
        run = lambda i, a: [y.numpy() > 0 for y in [getattr(tf.raw_ops, op)(**a | dict(zip(("data", "segment_ids", "num_segments"),
                                                                                           [i[0].astype(U8), *i[1:]])))]]
        add_reference(r, run, "bool", [x, *inputs])


def unsorted_mean(inputs, attrs):
    return [tf.math.unsorted_segment_mean(*inputs)]


def unsorted_segment(op, dtypes, tf_op=None):
    r = Recorder(op, tf_op)
    ids = np.array([3, -1, 1, 1, 0, 4, 1], I32)
    tolerance = {"ulp": 1} if op == "UnsortedSegmentMean" else {"exact": True}
    for dtype in dtypes:
        r.add(dtype.name, [small(dtype, (7, 2), op), ids, np.array(6, I32)], tolerance=tolerance)
    for shape in ((7,), (7, 1, 33), (7, 2, 1, 1, 1, 2, 1, 3)):
        r.add(f"float32_{text(shape)}", [small(F32, shape, op), ids.astype(I64), np.array(5, I64)],
              tolerance=tolerance)
    many = rng_for("many").randint(-2, 20, size=(10, 30))
    r.add("many", [small(F32, (10, 30, 2), op), many.astype(I32), np.array(20, I32)], tolerance=tolerance)
    if op != "UnsortedSegmentMean":
        r.add("order", [random_values(F32, (10, 30, 1), op) / 2, many.astype(I32) // 4, np.array(5, I32)])
    r.add("scalar_id", [few_values(F32, (3,), op), np.array(1, I32), np.array(3, I32)])
    r.add("none", [np.zeros((0, 2), F32), np.zeros(0, I32), np.array(2, I32)])
    r.add("no_segments", [np.ones(2, F32), np.array([-1, -1], I32), np.array(0, I32)])
    if op[-3:] in ("Max", "Min"):
        r.add("specials", [np.array([np.nan, 1, 1, np.nan, -np.inf, np.inf, -0.0, 0.0, 0.0, -0.0], F32),
                           np.array([0, 0, 1, 1, 2, 3, 4, 4, 5, 5], I32), np.array(7, I32)])
    add_bools(r, op, ids, np.array(6, I32))
    x = np.ones(3, F32)
    if op != "UnsortedSegmentMean":
        r.error("outside", [x, np.array([0, 5, 1], I32), np.array(3, I32)],
                contains="segment_ids[1] = 5 is out of range [0, 3)")
        r.error("outside_matrix", [np.ones((2, 2, 3), F32), np.array([[0, 1], [-5, 3]], I64), np.array(3, I32)],
                contains="segment_ids[1,1] = 3 is out of range [0, 3)")
        r.error("shape", [np.ones((2, 2), F32), np.array([0, 1, 1], I32), np.array(2, I32)],
                contains="data.shape = [2,2] does not start with segment_ids.shape = [3]")
        r.error("rank", [np.array(1, F32), np.array([0, 1], I32), np.array(2, I32)],
                contains="data.shape = [] does not start with segment_ids.shape = [2]")
        r.error("negative_segments", [x, np.array([0, 1, 1], I32), np.array(-2, I32)],
                contains="Input num_segments == -2 must not be negative.")
        r.error("segments_vector", [x, np.array([0, 1, 1], I32), np.array([2], I32)],
                contains="num_segments should be a scalar, not shape [1]")
    return r


def bincount():
    r = Recorder("Bincount")
    values = rng_for("bincount").randint(0, 12, size=200).astype(I32)
    for dtype in (F32, F64, I32, I64):
        r.add(f"{dtype.name}_ones", [values, np.array(10, I32), np.zeros(0, dtype)])
        r.add(f"{dtype.name}_weights", [values, np.array(10, I32), few_values(dtype, (200,))])
    r.add("matrix", [values.reshape(20, 10), np.array(12, I32), few_values(I32, (20, 10))])
    r.add("scalar", [np.array(1, I32), np.array(3, I32), np.array(1, F32)])
    r.add("of_rank_8", [values[:24].reshape(2, 1, 2, 1, 2, 1, 3, 1), np.array(12, I32), np.zeros(0, I32)])
    r.add("none", [np.zeros(0, I32), np.array(3, I32), np.zeros(0, F32)])
    r.add("no_bins", [values, np.array(0, I32), np.zeros(0, F32)])
    r.error("negative", [np.array([1, -2], I32), np.array(4, I32), np.zeros(0, F32)],
            contains="Input arr must be non-negative!")
    r.error("negative_size", [values, np.array(-1, I32), np.zeros(0, F32)], contains="size (-1) must be non-negative")
    r.error("size_vector", [values, np.array([3], I32), np.zeros(0, F32)],
            contains="Shape must be rank 0 but is rank 1")
    r.error("weights", [values, np.array(3, I32), np.ones(3, F32)],
            contains="Input indices and weights must have the same size.")
    return r


def dense_bincount():
    r = Recorder("DenseBincount")
    values = rng_for("dense").randint(0, 12, size=(4, 15))
    for dtype in (F32, F64, I32, I64):
        for index in (I32, I64):
            size, x = np.array(10, index), values.astype(index)
            for is_binary in (False, True):
                kind = f"{dtype.name}_{index.name}" + ("_binary" if is_binary else "")
                r.add(f"{kind}_ones", [x, size, np.zeros(0, dtype)], {"binary_output": is_binary})
                r.add(f"{kind}_weights", [x, size, few_values(dtype, (4, 15))], {"binary_output": is_binary})
    r.add("vector", [values[0].astype(I32), np.array(12, I32), few_values(F32, (15,))])
    r.add("no_rows", [np.zeros((0, 3), I32), np.array(2, I32), np.zeros(0, F32)])
    r.add("no_columns", [np.zeros((3, 0), I32), np.array(2, I32), np.zeros(0, F32)])
    x = values.astype(I32)
    r.error("negative", [np.array([1, -2], I32), np.array(4, I32), np.zeros(0, F32)],
            contains="Input arr must be non-negative!")
    r.error("rank", [x.reshape(4, 5, 3), np.array(4, I32), np.zeros(0, F32)],
            contains="Shape must be at most rank 2 but is rank 3")
    r.error("negative_size", [x, np.array(-3, I32), np.zeros(0, F32)], contains="size (-3) must be non-negative")
    r.error("weights", [x, np.array(3, I32), np.ones(60, F32)], contains="`weights` must be the same shape as `arr`")
    return r


def build():
    makers = {"Bincount": bincount, "DenseBincount": dense_bincount,
              "UnsortedSegmentMean": lambda: unsorted_segment("UnsortedSegmentMean", FLOATING, unsorted_mean)}
    for kind in ("Sum", "Mean", "Max", "Min", "Prod"):
        makers["Segment" + kind] = lambda op="Segment" + kind: sorted_segment(op)
        if kind != "Mean":
            makers["UnsortedSegment" + kind] = lambda op="UnsortedSegment" + kind: unsorted_segment(op, NUMERIC)
    return makers
