# SPDX-License-Identifier: Apache-2.0
"""Gathering and scattering by rows of indices: GatherNd, ScatterNd, TensorScatterUpdate, Add, Sub, Mul, Max, Min; and by
indices of elements along an axis: GatherElements, ScatterElements. What TensorFlow lacks comes from ONNX's reference."""
import numpy as np
import tensorflow as tf

from golden_case import BOOL, F16, F32, F64, I32, I64, MOVED_TYPES, NUMERIC_BOOL, Recorder, random_values, rng_for
from golden_edges import ANY, edge_values
from golden_onnx import add_reference, onnx_op
from golden_shapes import text
from golden_sort import NUMERIC, few_values

REDUCTIONS = ("NONE", "ADD", "MUL", "MAX", "MIN")

# params, indices, batch_dims
BATCHES = (((2, 5), (2, 1), 1), ((2, 5), (2, 3, 1), 1), ((2, 3, 4), (2, 2, 2), 1), ((2, 3, 4), (2, 2, 1), 1), ((2, 3, 4), (2, 3, 5, 1), 2),
           ((2, 3, 4), (2, 3, 1), 2), ((2, 3, 4), (2, 5, 0), 1), ((0, 3), (0, 2, 1), 1), ((2, 1, 2, 1, 2, 1, 2, 3), (2, 1, 2, 3, 4), 3),
           ((7, 33, 5), (7, 40, 1), 1))

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
    gather_nd_of_batches(r)
    return r


def gather_nd_of_batches(r):
    """TensorFlow has the attribute batch_dims in Python only; ONNX's reference must agree."""
    def run(x, a):
        wanted = tf.gather_nd(*x, batch_dims=a["batch_dims"]).numpy()
        assert not x[1].size or np.array_equal(wanted, onnx_op("GatherND", [x[0], x[1].astype(I64)], a)[0])
        return [wanted]
    for i, (dims, shape, batch) in enumerate(BATCHES):
        index = (I32, I64)[i % 2]
        add_reference(r, run, f"float32_{text(dims)}_{text(shape)}_batch_{batch}",
                      [random_values(F32, dims, "gather_nd"), indices_into(dims[batch:], shape, index)], {"batch_dims": batch})
    for dtype in (F64, F16, I64, BOOL):
        add_reference(r, run, f"{dtype.name}_batch", [random_values(dtype, (2, 3, 2), "gather_nd"), indices_into((3, 2), (2, 4, 1), I32)],
                      {"batch_dims": 1})
    x, one = np.zeros((2, 3), F32), np.zeros((2, 1), I32)
    r.our_error("batch_outside", [x, np.array([[1], [3]], I32)], {"batch_dims": 1}, "indices[1] = [3] does not index into param shape [3]")
    r.reference = lambda x, a: np.array([5, 0], F32)
    r.add("batch_ignored", [np.array([[4, 5], [6, 7]], F32), np.array([[1], [2]], I32)], {"bad_indices_policy": "IGNORE", "batch_dims": 1},
          numpy_only=True)
    r.reference = None
    r.our_error("batch_negative", [x, one], {"batch_dims": -1}, "batch_dims is -1; 0 to 1 are accepted")
    r.our_error("batch_too_large", [x, one], {"batch_dims": 2}, "batch_dims is 2; 0 to 1 are accepted")
    r.our_error("batch_sizes", [x, one[:1]], {"batch_dims": 1},
                "the first 1 dimensions of params[shape=[2,3]] and indices[shape=[1,1]] must be equal")
    r.our_error("batch_too_deep", [x, np.zeros((2, 2), I32)], {"batch_dims": 1}, "must be <= params rank; saw: 2 vs. 1")


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


def factors(dtype, shape, *name):
    """Few other than 1, so that products are exact in each type."""
    return rng_for("factors", dtype.name, tuple(shape), *name).choice([1, 1, 1, 2, 3], size=shape).astype(dtype)


def values_for(reduction, dtype, shape, *name):
    make = random_values if dtype == BOOL else factors if reduction == "MUL" else few_values
    return make(dtype, shape, *name)


def scatter_by(inputs, attrs):
    """ONNX's ScatterND over zeros."""
    indices, updates, shape = inputs
    zeros = np.zeros(tuple(shape), updates.dtype)
    return onnx_op("ScatterND", [zeros, indices.astype(I64), updates], {"reduction": attrs["reduction"].lower()})


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
    for reduction in REDUCTIONS:
        for dtype in NUMERIC_BOOL if reduction != "ADD" else (F32, F16):
            updates = values_for(reduction, dtype, (12,), reduction)
            if reduction in ("NONE", "ADD") or dtype != BOOL:
                add_reference(r, scatter_by, f"{dtype.name}_{reduction.lower()}",
                              [indices_into((2, 3), (12, 2), I32), updates, np.array((2, 3), I32)], {"reduction": reduction})
        add_reference(r, scatter_by, f"slices_{reduction.lower()}",
                      [indices_into((7, 33), (20, 1), I64), few_values(F32, (20, 33), reduction), np.array((7, 33), I64)],
                      {"reduction": reduction})
    for reduction in ("MUL", "MAX", "MIN"):     # all, any, all of zeros, which are false
        r.reference = lambda x, a: np.zeros(2, bool) if a["reduction"] != "MAX" else np.array([False, True])
        r.add(f"bool_{reduction.lower()}", [np.array([[0], [1], [1]], I32), np.array([False, True, False]), np.array([2], I32)],
              {"reduction": reduction}, numpy_only=True)
        r.reference = None
    r.our_error("reduction", [np.zeros((1, 1), I32), np.ones(1, F32), np.array([3], I32)], {"reduction": "add"},
                'Value for attr \'reduction\' of "add" is not in the list of allowed values: "ADD", "NONE", "MUL", "MAX", "MIN"')
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


def multiply(inputs, attrs):
    """TensorFlow's ResourceScatterMul of all elements, row by row of the indices."""
    tensor, indices, updates = (x.numpy() for x in inputs)
    if indices.dtype not in (I32, I64):
        raise TypeError("indices are int32 or int64")
    depth = indices.shape[-1]
    inner = int(np.prod(tensor.shape[depth:]))
    rows = indices.reshape(-1, depth).astype(I64)
    keep = np.all((rows >= 0) & (rows < tensor.shape[:depth]), -1)
    places = np.ravel_multi_index(tuple(rows[keep].T), tensor.shape[:depth]) if keep.any() else np.zeros(0, I64)
    variable = tf.Variable(tensor.reshape(-1, inner))
    tf.raw_ops.ResourceScatterMul(resource=variable.handle, indices=places, updates=updates.reshape(-1, inner)[keep])
    return tf.reshape(variable.read_value(), tensor.shape)


def scatter_mul():
    """TensorFlow has the op for variables."""
    r = Recorder("TensorScatterMul", multiply)
    for i, (dims, shape) in enumerate(SCATTERS):
        index = (I32, I64)[i % 2]
        r.add(f"float32_{text(dims)}_{text(shape)}",
              [random_values(F32, dims, "mul"), indices_into(dims, shape, index),
               random_values(F32, updates_shape(dims, shape), "scatter")])
    for dtype in NUMERIC:
        r.add(dtype.name, [few_values(dtype, (2, 3), "mul"), indices_into((2, 3), (12, 2), I64), factors(dtype, (12,), "mul")])
    r.add("specials", [np.array([1, np.nan, 3, 0, np.inf, -0.0, 5], F32), np.array([[0], [1], [2], [2], [3], [4], [5], [6]], I32),
                       np.array([np.inf, 1, np.nan, 7, -2.0, -np.inf, -3.0, 0.0], F32)])
    x = np.zeros(3, F32)
    r.add("ignored", [np.ones(3, F32), np.array([[1], [5], [-1], [0]], I32), np.full(4, 2, F32)], {"bad_indices_policy": "IGNORE"})
    r.our_error("outside", [x, np.array([[1], [5]], I32), np.ones(2, F32)],
                contains="indices[1] = [5] does not index into shape [3]")
    r.our_error("negative", [np.zeros((3, 2), F32), np.array([[1, 1], [0, -1]], I64), np.ones(2, F32)],
                contains="indices[1] = [0, -1] does not index into shape [3,2]")
    r.our_error("rows", [x, np.array([[1], [1]], I32), np.ones(3, F32)], contains="Dimensions [0,1) of indices[shape=[2,1]]")
    r.our_error("bool", [x > 0, np.array([[1]], I32), np.ones(1, bool)], contains="value for attr 'T' of bool is not in the list")
    return r


def bools_of(r, reduction):
    """TensorFlow has no bool here."""
    x, indices = random_values(BOOL, (2, 3), reduction), indices_into((2, 3), (5, 2), I32)
    add_reference(r, lambda i, a: onnx_op("ScatterND", [i[0], i[1].astype(I64), i[2]], {"reduction": reduction}), "bool",
                  [x, indices, random_values(BOOL, (5,), reduction, 1)])
    return r


# data, indices, axis: indices may be shorter than data along other axes
ELEMENTS = (((5,), (3,), 0), ((4, 3), (4, 2), 1), ((4, 3), (6, 3), 0), ((4, 3), (2, 5), -1), ((2, 3, 4), (2, 7, 4), 1),
            ((2, 3, 4), (1, 2, 3), 1), ((2, 3, 4), (2, 3, 1), 2), ((3, 2, 5), (4, 2, 5), -3), ((4, 3), (0, 3), 0),
            ((0, 3), (0, 3), 0), ((1,), (1,), 0), ((2, 1, 2, 1, 2, 1, 2, 3), (2, 1, 2, 1, 2, 1, 2, 4), 7), ((3, 1, 60), (3, 1, 70), 2))
FAR = np.array([[2**62], [-(2**63)], [1]], I64)     # times a stride beyond 64 bits


def elements_into(dims, shape, axis, dtype, *name):
    return rng_for("elements", dims, shape, axis, *name).randint(0, max(dims[axis], 1), size=shape).astype(dtype)


def box_of(data, indices, axis):
    """The part of data that indices reach."""
    return tuple(slice(None) if d == axis else slice(n) for d, n in enumerate(indices.shape))


def along_axis(inputs, attrs):
    data, indices = inputs
    axis = attrs.get("axis", 0) % data.ndim
    return onnx_op("GatherElements", [data[box_of(data, indices, axis)], indices], {"axis": axis})


def onto_elements(inputs, attrs):
    data, indices, updates = inputs
    axis, out = attrs.get("axis", 0) % data.ndim, data.copy()
    box = box_of(data, indices, axis)
    out[box] = onnx_op("ScatterElements", [data[box], indices, updates],
                       {"axis": axis, "reduction": attrs.get("reduction", "NONE").lower()})[0]
    return [out]


def element_name(dims, shape, axis):
    return f"float32_{text(dims)}_{text(shape)}_{axis}".replace("-", "m")


def element_errors(r, further):
    """further: the updates."""
    x, one = np.zeros((2, 3), F32), np.zeros((1, 1), I32)
    r.our_error("outside", [x, np.array([[0, 1], [2, 3]], I32), *further((2, 2))], {"axis": 1}, "indices[1,1] = 3 is not in [0, 3)")
    r.our_error("negative", [x, np.array([[0, -1]], I64), *further((1, 2))], {"axis": 1}, "indices[0,1] = -1 is not in [0, 3)")
    r.our_error("axis", [x, one, *further((1, 1))], {"axis": 2}, "axis 2 is out of range [-2, 2) of data's shape [2,3]")
    r.our_error("scalar", [x[0, 0], one[0, 0], *further(())], contains="axis 0 is out of range [0, 0) of data's shape []")
    r.our_error("rank", [x, one[0], *further((1,))], contains="data has shape [2,3], indices have shape [1]")
    r.our_error("longer", [x, np.zeros((1, 4), I32), *further((1, 4))], contains="along other axes than 0 at most data's sizes")
    r.our_error("no_data", [x[:0], one, *further((1, 1))], contains="data of shape [0,3] has no elements for indices of shape [1,1]")
    r.our_error("policy", [x, one, *further((1, 1))], {"bad_indices_policy": "WRAP"}, "Bad indices policy 'WRAP' is unknown")


def gather_elements():
    r = Recorder("GatherElements", "none")
    for i, (dims, shape, axis) in enumerate(ELEMENTS):
        add_reference(r, along_axis, element_name(dims, shape, axis),
                      [random_values(F32, dims, "elements"), elements_into(dims, shape, axis, (I32, I64)[i % 2])], {"axis": axis})
    for dtype in ANY:
        add_reference(r, along_axis, dtype.name, [edge_values(dtype).reshape(4, 4), elements_into((4, 4), (3, 4), 0, I64)])
    r.reference = lambda x, a: np.array([5, 0, 0], F32)
    r.add("ignored", [np.array([4, 5], F32), np.array([1, 2, -1], I32)], {"bad_indices_policy": "IGNORE"}, numpy_only=True)
    r.reference = lambda x, a: np.array([[0], [0], [6]], F32)
    r.add("ignored_far", [np.array([[4, 5], [6, 7]], F32), FAR], {"bad_indices_policy": "IGNORE"}, numpy_only=True)
    r.reference = None
    element_errors(r, lambda shape: [])
    return r


def scatter_elements():
    r = Recorder("ScatterElements", "none")
    for i, (dims, shape, axis) in enumerate(ELEMENTS):
        for reduction in REDUCTIONS if i < 4 else (REDUCTIONS[i % 5],):
            add_reference(r, onto_elements, element_name(dims, shape, axis) + "_" + reduction.lower(),
                          [few_values(F32, dims, "data"), elements_into(dims, shape, axis, (I32, I64)[i % 2]),
                           few_values(F32, shape, "updates")], {"axis": axis, "reduction": reduction})
    for dtype in ANY:
        x = edge_values(dtype)
        add_reference(r, onto_elements, dtype.name, [x, np.arange(15, 7, -1, dtype=I32), x[:8]])
    for dtype in NUMERIC_BOOL:
        for reduction in REDUCTIONS[1:]:
            if dtype != BOOL or reduction in ("MAX", "MIN"):
                add_reference(r, onto_elements, f"{dtype.name}_{reduction.lower()}",
                              [values_for(reduction, dtype, (2, 4), "data"), elements_into((2, 4), (2, 9), 1, I32),
                               values_for(reduction, dtype, (2, 9), "updates")], {"axis": 1, "reduction": reduction})
    r.reference = lambda x, a: np.array([4, 7], F32)
    r.add("ignored", [np.array([4, 5], F32), np.array([1, 2, -1], I32), np.array([2, 8, 9], F32)],
          {"bad_indices_policy": "IGNORE", "reduction": "ADD"}, numpy_only=True)
    r.reference = lambda x, a: np.array([[4, 5], [15, 7]], F32)
    r.add("ignored_far", [np.array([[4, 5], [6, 7]], F32), FAR, np.array([[1], [2], [9]], F32)],
          {"bad_indices_policy": "IGNORE", "reduction": "ADD"}, numpy_only=True)
    r.reference = None
    element_errors(r, lambda shape: [np.zeros(shape, F32)])
    x, one = np.zeros((2, 3), F32), np.zeros((1, 1), I32)
    r.our_error("updates", [x, one, np.zeros((1, 2), F32)], contains="updates of shape [1,2] must have the shape of indices, [1,1]")
    r.our_error("reduction", [x, one, np.zeros((1, 1), F32)], {"reduction": "SUM"},
                'Value for attr \'reduction\' of "SUM" is not in the list of allowed values')
    r.our_error("complex_sum", [x.astype(np.complex64), one, np.zeros((1, 1), np.complex64)], {"reduction": "ADD"},
                "reduction ADD takes no complex64; NONE takes every type")
    return r


def build():
    makers = {"GatherNd": gather_nd, "ScatterNd": scatter_nd,
              "TensorScatterUpdate": lambda: tensor_scatter("TensorScatterUpdate", MOVED_TYPES)}
    for kind in ("Add", "Sub"):
        makers["TensorScatter" + kind] = lambda op="TensorScatter" + kind: tensor_scatter(op, NUMERIC)
    for kind in ("Max", "Min"):
        makers["TensorScatter" + kind] = lambda kind=kind: bools_of(tensor_scatter("TensorScatter" + kind, NUMERIC), kind.lower())
    makers |= {"TensorScatterMul": scatter_mul, "GatherElements": gather_elements, "ScatterElements": scatter_elements}
    return makers
