# SPDX-License-Identifier: Apache-2.0
"""Gathering and scattering by rows of indices: GatherNd, ScatterNd, TensorScatterUpdate, Add, Sub, Max, Min."""
import numpy as np

from golden_case import BOOL, F32, F64, I32, I64, MOVED_TYPES, Recorder, random_values, rng_for
from golden_shapes import text
from golden_sort import NUMERIC, few_values

# params, indices
GATHERS = (((5,), (3, 1)), ((5,), (1,)), ((4, 3), (2, 2)), ((4, 3), (2,)), ((4, 3), (1,)), ((4, 3), (2, 3, 1)),
           ((4, 3), (2, 0)), ((2, 3, 4), (2, 2, 2)), ((2, 3, 4), (3, 3)), ((0, 3), (0, 1)),
           ((4, 3), (0, 2)), ((2, 1, 2, 1, 2, 1, 2, 3), (5, 7)), ((2, 1, 2, 1, 2, 1, 2, 3), (1, 6)),
           ((1,), (2, 1, 2, 1, 2, 1, 2, 1)), ((40, 33), (50, 1)))


def indices_into(dims, shape, dtype, *name):
    """Rows of indices, at random, so that some lead to the same place."""
    rng = rng_for("indices", tuple(dims), tuple(shape), *name)
    depth = shape[-1]
    columns = [rng.randint(0, max(dims[d], 1), size=shape[:-1]) for d in range(depth)]
    return np.stack(columns, -1).astype(dtype) if depth else np.zeros(shape, dtype)


def gather_nd():
    r = Recorder("GatherNd")
    for i, (dims, shape) in enumerate(GATHERS):
        index = (I32, I64)[i % 2]
        r.add(f"float32_{text(dims)}_{text(shape)}",
              [random_values(F32, dims, "gather_nd"), indices_into(dims, shape, index)])
    for dtype in MOVED_TYPES:
        r.add(f"{dtype.name}", [random_values(dtype, (4, 5), "gather_nd"), indices_into((4, 5), (3, 2), I32)])
        r.add(f"{dtype.name}_rows", [random_values(dtype, (4, 5), "gather_nd"), indices_into((4, 5), (3, 1), I64)])
    x = random_values(F32, (2, 3), "gather_nd")
    r.error("outside", [x[0], np.array([[2], [7]], I32)], contains="indices[1] = [7] does not index into param shape [3]")
    r.error("negative", [x, np.array([[[1, 2], [0, -1]]], I64)],
            contains="indices[0,1] = [0, -1] does not index into param shape [2,3]")
    r.add("ignored", [x, np.array([[1, 2], [0, -1], [2, 0], [0, 1]], I64)], {"bad_indices_policy": "IGNORE"})
    r.error("too_deep", [x, np.zeros((1, 3), I32)],
            contains="index innermost dimension length must be <= params rank; saw: 3 vs. 2")
    r.error("scalar_indices", [x, np.array(1, I32)], contains="indices must be at least a vector")
    r.error("scalar_params", [np.array(1, F32), np.zeros((1, 1), I32)], contains="params must be at least a vector")
    r.error("empty_params", [np.zeros((0, 3), F32), np.zeros((1, 1), I32)],
            contains="Requested more than 0 entries, but params is empty.  Params shape: [0,3]")
    return r


# output, indices
SCATTERS = (((5,), (3, 1)), ((5,), (40, 1)), ((4, 3), (2, 2)), ((4, 3), (9, 1)), ((4, 3), (2, 3, 1)),
            ((2, 3, 4), (2, 2, 2)), ((2, 3, 4), (30, 3)), ((5,), (0, 1)), ((2, 1, 2, 1, 2, 1, 2, 3), (9, 6)),
            ((300, 3), (200, 1)), ((7, 33), (20, 1)))


def updates_shape(dims, shape):
    return tuple(shape[:-1]) + tuple(dims[shape[-1]:])


def scatter_errors(r, make):
    """make: the inputs from output shape, indices, updates."""
    one = np.ones(1, F32)
    r.error("outside", make((3,), np.array([[1], [5]], I32), np.ones(2, F32)),
            contains="indices[1] = [5] does not index into shape [3]")
    r.error("negative", make((3, 2), np.array([[1, 1], [0, -1]], I64), np.ones(2, F32)),
            contains="indices[1] = [0, -1] does not index into shape [3,2]")
    r.add("ignored", make((3,), np.array([[1], [5], [-1], [0]], I32), np.ones(4, F32)),
          {"bad_indices_policy": "IGNORE"})
    r.error("rows", make((3,), np.array([[1], [1]], I32), np.ones(3, F32)))
    r.error("slices", make((2, 3), np.array([[1]], I32), np.ones((1, 2), F32)))
    r.error("rank", make((3,), np.array([[1]], I32), np.ones((1, 2), F32)))
    r.error("too_deep", make((3, 2), np.array([[1, 1, 1]], I32), one))
    r.error("scalar_indices", make((3,), np.array(1, I32), one),
            contains="Indices shape must have rank at least one. Found:[]")
    r.error("empty_output", make((0,), np.array([[0]], I32), one),
            contains="Indices and updates specified for empty output")
    r.error("no_depth", make((3,), np.zeros((2, 0), I32), np.ones((2, 3), F32)),
            contains="Indices and updates specified for empty output")


def scatter_nd():
    r = Recorder("ScatterNd")
    for i, (dims, shape) in enumerate(SCATTERS):
        index = (I32, I64)[i % 2]
        r.add(f"float32_{text(dims)}_{text(shape)}",
              [indices_into(dims, shape, index), random_values(F32, updates_shape(dims, shape), "scatter"),
               np.array(dims, index)])
    for dtype in NUMERIC + (BOOL,):
        updates = random_values(BOOL, (12,)) if dtype == BOOL else few_values(dtype, (12,))
        r.add(dtype.name, [indices_into((2, 3), (12, 2), I32), updates, np.array((2, 3), I32)])
    r.add("specials", [np.array([[0], [1], [1], [2], [2], [3]], I32),
                       np.array([-0.0, np.inf, -np.inf, np.nan, 1, 3e38], F32), np.array([5], I32)])
    r.error("shape_scalar", [np.zeros((1, 1), I32), np.ones(1, F32), np.array(3, I32)],
            contains="Shape must be a vector")
    r.error("shape_negative", [np.zeros((1, 1), I32), np.ones(1, F32), np.array([-3], I32)],
            contains="Dimension -3 must be >= 0")
    scatter_errors(r, lambda dims, indices, updates: [indices, updates, np.array(dims, indices.dtype)])
    return r


def tensor_scatter(op, dtypes):
    r = Recorder(op)
    for i, (dims, shape) in enumerate(SCATTERS):
        index = (I32, I64)[i % 2]
        r.add(f"float32_{text(dims)}_{text(shape)}",
              [random_values(F32, dims, op), indices_into(dims, shape, index),
               random_values(F32, updates_shape(dims, shape), "scatter")])
    for dtype in dtypes:
        values = few_values if dtype in NUMERIC else random_values
        r.add(dtype.name, [values(dtype, (2, 3), op), indices_into((2, 3), (12, 2), I64), values(dtype, (12,), op)])
    r.add("specials", [np.array([1, np.nan, 3, 0, np.inf, -0.0, 5], F32),
                       np.array([[0], [1], [2], [2], [3], [4], [5], [6]], I32),
                       np.array([np.inf, 1, np.nan, 7, -0.0, -np.inf, 0.0, np.nan], F32)])
    scatter_errors(r, lambda dims, indices, updates: [np.zeros(dims, F32), indices, updates])
    return r


def build():
    makers = {"GatherNd": gather_nd, "ScatterNd": scatter_nd,
              "TensorScatterUpdate": lambda: tensor_scatter("TensorScatterUpdate", MOVED_TYPES)}
    for kind in ("Add", "Sub", "Max", "Min"):
        makers["TensorScatter" + kind] = lambda op="TensorScatter" + kind: tensor_scatter(op, NUMERIC)
    return makers
