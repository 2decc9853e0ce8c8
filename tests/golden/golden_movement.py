# SPDX-License-Identifier: Apache-2.0
"""Ops that make, shape or move data: Fill, Range, Reshape, Transpose, Concat, Slice, Gather, OneHot and the like."""
import numpy as np

from golden_case import (BOOL, F32, FLOATS, HALVES, I8, I32, I64, INTEGERS, INTS, MOVED_TYPES, NUMBERS, Recorder, U8, cycled, random_values,
                         rng_for)
from golden_shapes import text


def ints(*values, dtype=I32):
    return np.array(values, dtype=dtype)


def values(dtype, shape, *name):
    return random_values(dtype, shape, "movement", *name)


def named(*parts):
    """(2, -1) as "2_m1"."""
    return "_".join(str(p).replace("-", "m") for p in parts) or "none"


def fill():
    r = Recorder("Fill", reference=lambda x, a: np.full(tuple(x[0]), x[1]))
    shapes = ((), (1,), (17,), (3, 4), (2, 3, 4), (0,), (3, 0, 2), (2, 1, 2, 1, 2, 1, 2, 3), (1000,), (33, 65))
    for dtype in MOVED_TYPES:
        for shape in shapes if dtype == F32 else ((), (17,), (2, 0), (5, 13)):
            for index in INTS if len(shape) < 3 else (I32,):
                r.add(f"{dtype.name}_{text(shape)}_{index.name}", [ints(*shape, dtype=index), values(dtype, ())])
    for dtype in FLOATS + HALVES:
        for label, value in (("nan", np.nan), ("inf", -np.inf), ("minus_zero", -0.0)):
            r.add(f"{dtype.name}_{label}", [ints(5), np.array(value, dtype)])
        small = np.array([1], f"uint{8 * dtype.itemsize}").view(dtype)[0]
        r.add(f"{dtype.name}_denormal", [ints(5), np.array(small, dtype)], numpy_only=True)
    r.error("negative_size", [ints(2, -3), values(F32, ())], contains="-3")
    r.error("dims_not_a_vector", [np.array([[2, 3]], I32), values(F32, ())])
    r.error("value_not_a_scalar", [ints(2), values(F32, (2,))], contains="[2]")
    return r


def range_reference(inputs, attrs):
    start, limit, delta = inputs
    dtype = start.dtype
    if dtype.kind in "iu":
        return np.array(list(range(int(start), int(limit), int(delta))), dtype=dtype)
    count = int(max(0, np.ceil(np.abs((float(limit) - float(start)) / float(delta)))))
    if dtype in HALVES:
        count = int(np.ceil(np.abs((limit - start) / delta)))
        start, delta = start.astype(F32), delta.astype(F32)
        return (start + np.arange(count).astype(F32) * delta).astype(dtype)
    return start + np.arange(count).astype(dtype) * delta


def range_op():
    r = Recorder("Range", reference=range_reference)
    cases = ((0, 5, 1), (3, 18, 3), (3, 19, 3), (5, 0, -1), (10, -11, -7), (-5, 5, 2), (0, 0, 1), (4, 4, -1),
             (0, 1, 100), (0, 257, 1))
    for dtype in NUMBERS:
        for c in cases:
            r.add(f"{dtype.name}_{named(*c)}", [np.array(v, dtype) for v in c])
    for dtype in INTEGERS:   # TensorFlow lists them but has no kernels
        if dtype not in INTS:
            for c in ((0, 5, 1), (3, 19, 3), (0, 120, 17)):
                r.add(f"{dtype.name}_{named(*c)}", [np.array(v, dtype) for v in c], numpy_only=True)
    r.add("uint64_ends", [np.array(v, np.uint64) for v in (2**64 - 30, 2**64 - 1, 7)], numpy_only=True)
    for dtype in HALVES:   # rounded to the half twice by TensorFlow, once by Gantry
        for c in ((0, 5, 1), (0.0, 1.0, 0.1), (1.0, -1.0, -0.3), (0.5, 3.7, 0.7), (0.0, 100.0, 2.5)):
            r.add(f"{dtype.name}_{named(*c)}", [np.array(v, dtype) for v in c], tolerance={"ulp": 1},
                  tf_tolerance={"ulp": 16})
    r.add("int64_large", [np.array(v, I64) for v in (2**40, 2**40 + 30, 7)])
    r.add("int32_ends", [np.array(v, I32) for v in (2**31 - 10, 2**31 - 1, 4)])
    for dtype in FLOATS:   # a running sum, a fused multiply-add or a wider type would round otherwise
        for c in ((0.0, 1.0, 0.25), (0.0, 1.0, 0.1), (1.0, -1.0, -0.3), (0.5, 3.7, 0.7), (0.0, 10.0, 0.1),
                  (-1e6, 1e6, 12345.678), (0.3, 77.0, 0.7), (1.0, -50.0, -0.3)):
            r.add(f"{dtype.name}_fraction_{named(*c)}", [np.array(v, dtype) for v in c])
    for c in ((0, 5, 0), (0, 5, -1), (5, 0, 1)):
        r.error(f"int32_{named(*c)}", [np.array(v, I32) for v in c])
        r.error(f"float32_{named(*c)}", [np.array(v, F32) for v in c])
    r.error("start_not_a_scalar", [ints(0, 1), np.array(5, I32), np.array(1, I32)], contains="start")
    return r


def reshape():
    def reference(x, a):
        shape = tuple(int(n) for n in x[1])
        if 0 in shape:   # TensorFlow's choice when the size cannot be inferred
            shape = tuple(1 if n < 0 else n for n in shape)
        return x[0].reshape(shape)
    r = Recorder("Reshape", reference=reference)
    cases = (((6,), (2, 3)), ((2, 3), (6,)), ((2, 3), (3, 2)), ((2, 3), (-1,)), ((2, 3, 4), (4, -1)),
             ((2, 3, 4), (-1, 1, 2)), ((), (1,)), ((), (1, 1, 1)), ((1,), ()), ((1, 1), ()), ((5,), (5,)),
             ((0,), (0, 3)), ((2, 0), (0,)), ((0, 3), (-1, 3)), ((3, 0), (5, 0)), ((), (-1,)),
             ((2, 1, 2, 1, 2, 1, 2, 3), (48,)), ((48,), (2, 1, 2, 1, 2, 1, 2, -1)), ((16, 3), (2, 2, 2, 2, 3, 1, 1, 1)))
    for shape, target in cases:
        for index in INTS:
            r.add(f"float32_{text(shape)}_to_{named(*target)}_{index.name}",
                  [values(F32, shape), ints(*target, dtype=index)])
    for dtype in MOVED_TYPES:
        r.add(f"{dtype.name}_3x4_to_2x6", [values(dtype, (3, 4)), ints(2, 6)])
    x = values(F32, (2, 3))
    r.error("wrong_count", [x, ints(4, 2)], contains="6")
    r.error("not_divisible", [x, ints(4, -1)])
    r.error("two_unknown", [x, ints(-1, -1)], contains="one")
    r.error("negative_size", [x, ints(-2, 3)], contains="-2")
    r.add("unknown_beside_zero_is_one", [values(F32, (0,)), ints(0, -1)])
    r.error("shape_not_a_vector", [x, np.array([[2, 3]], I32)])
    r.error("scalar_to_empty", [values(F32, ()), ints(0)])
    return r


def expand_dims():
    r = Recorder("ExpandDims", reference=lambda x, a: np.expand_dims(x[0], int(x[1].reshape(()))))
    for shape in ((), (5,), (2, 3), (0, 3), (2, 1, 2, 1, 2, 1, 2)):
        rank = len(shape)
        for dim in sorted({-rank - 1, -1, 0, rank // 2, rank}):
            index = I64 if dim == 0 else I32
            r.add(f"float32_{text(shape)}_at_{named(dim)}", [values(F32, shape), np.array(dim, index)])
    for dtype in MOVED_TYPES:
        r.add(f"{dtype.name}_3x4_at_1", [values(dtype, (3, 4)), np.array(1, I32)])
    r.add("dim_of_one_element_vector", [values(F32, (2, 3)), ints(1)])
    r.error("dim_too_large", [values(F32, (2, 3)), np.array(3, I32)], contains="3")
    r.error("dim_too_small", [values(F32, (2, 3)), np.array(-4, I32)], contains="-4")
    return r


def squeeze():
    def reference(x, a):
        dims = a.get("squeeze_dims", [])
        return np.squeeze(x[0], axis=tuple(dims)) if dims else np.squeeze(x[0])
    r = Recorder("Squeeze", reference=reference)
    cases = (((), []), ((1,), []), ((1,), [0]), ((3,), []), ((1, 3, 1), []), ((1, 3, 1), [0]), ((1, 3, 1), [-1]),
             ((1, 3, 1), [0, 2]), ((1, 3, 1), [2, 0]), ((1, 3, 1), [-3, -1]), ((1, 0, 1), []), ((1, 0, 1), [2]),
             ((1, 1, 1), []), ((1, 1, 1), [1]), ((1, 2, 1, 2, 1, 2, 1, 3), []), ((1, 2, 1, 2, 1, 2, 1, 3), [0, 4, -2]),
             ((1,) * 8, []))
    for shape, dims in cases:
        r.add(f"float32_{text(shape)}_{named(*dims)}", [values(F32, shape)], {"squeeze_dims": dims})
    for dtype in MOVED_TYPES:
        r.add(f"{dtype.name}_no_attribute", [values(dtype, (1, 4, 1))])
    r.error("size_not_one", [values(F32, (1, 3))], {"squeeze_dims": [1]}, contains="1")
    r.error("dim_too_large", [values(F32, (1, 3))], {"squeeze_dims": [2]}, contains="2")
    r.error("dim_too_small", [values(F32, (1, 3))], {"squeeze_dims": [-3]}, contains="-3")
    return r


def transpose():
    r = Recorder("Transpose", reference=lambda x, a: np.transpose(x[0], tuple(x[1])))
    cases = (((), ()), ((5,), (0,)), ((3, 4), (0, 1)), ((3, 4), (1, 0)), ((1, 7), (1, 0)), ((17, 33), (1, 0)),
             ((33, 65), (1, 0)), ((2, 3, 4), (0, 2, 1)), ((2, 3, 4), (2, 0, 1)), ((2, 3, 4), (1, 2, 0)),
             ((2, 3, 4), (2, 1, 0)), ((2, 3, 4), (1, 0, 2)), ((2, 3, 4), (0, 1, 2)), ((5, 1, 17), (2, 1, 0)),
             ((2, 3, 4, 5), (0, 3, 1, 2)), ((2, 3, 4, 5), (0, 2, 3, 1)), ((2, 3, 4, 5), (3, 2, 1, 0)),
             ((2, 3, 4, 5), (1, 0, 3, 2)), ((2, 3, 2, 3, 2), (4, 2, 0, 3, 1)),
             ((2, 3, 1, 2, 3, 2), (5, 0, 4, 1, 3, 2)), ((2, 1, 2, 3, 2, 1, 2), (6, 5, 4, 3, 2, 1, 0)),
             ((2, 1, 2, 3, 2, 1, 2, 2), (7, 0, 6, 1, 5, 2, 4, 3)),
             ((2, 2, 2, 2, 2, 2, 2, 2), (7, 5, 3, 1, 6, 4, 2, 0)), ((0, 3), (1, 0)), ((2, 0, 3), (2, 0, 1)))
    for shape, perm in cases:
        for index in INTS if len(shape) == 2 and max(shape) < 9 else (I32,):
            x = cycled(values(F32, shape), 251)
            r.add(f"float32_{text(shape)}_by_{named(*perm)}_{index.name}", [x, ints(*perm, dtype=index)])
    for dtype in MOVED_TYPES:
        r.add(f"{dtype.name}_5x3", [values(dtype, (5, 3)), ints(1, 0)])
        r.add(f"{dtype.name}_3x5x2", [values(dtype, (3, 5, 2)), ints(2, 0, 1)])
    r.add("negative_axes", [values(F32, (2, 3, 4)), ints(-1, 0, -2)])
    x = values(F32, (2, 3))
    r.error("axis_twice", [x, ints(1, 1)])
    r.error("axis_too_large", [x, ints(0, 2)], contains="2")
    r.error("axis_too_small", [x, ints(0, -3)])
    r.error("perm_too_short", [x, ints(0)], contains="2")
    r.error("perm_too_long", [x, ints(0, 1, 2)], contains="2")
    r.error("perm_not_a_vector", [x, np.array([[1, 0]], I32)])
    return r


def broadcast_to():
    r = Recorder("BroadcastTo", reference=lambda x, a: np.broadcast_to(x[0], tuple(x[1])))
    cases = (((), ()), ((), (5,)), ((), (2, 3)), ((1,), (17,)), ((5,), (5,)), ((4,), (3, 4)), ((3, 1), (3, 4)),
             ((1, 4), (3, 4)), ((1, 1), (3, 4)), ((3, 1), (2, 3, 4)), ((2, 1, 4), (2, 3, 4)),
             ((2, 1, 3, 1), (2, 2, 3, 2)), ((1, 3, 1, 2), (2, 3, 2, 2)), ((1, 2, 1, 2, 1), (2, 2, 2, 2, 2)),
             ((2, 1, 2, 1, 2, 1), (2, 2, 2, 2, 2, 2)), ((1, 2, 1, 2, 1, 2, 1), (2,) * 7),
             ((2, 1, 2, 1, 2, 1, 2, 1), (2,) * 8), ((3,), (2, 1, 2, 1, 2, 1, 2, 3)), ((), (2, 1, 2, 1, 2, 1, 2, 3)),
             ((1,), (0,)), ((1, 3), (0, 3)), ((0,), (2, 0)), ((5, 1), (5, 33)), ((65,), (7, 65)))
    for shape, target in cases:
        for index in INTS if len(target) < 3 else (I32,):
            r.add(f"float32_{text(shape)}_to_{text(target)}_{index.name}",
                  [values(F32, shape), ints(*target, dtype=index)])
    for dtype in MOVED_TYPES:
        r.add(f"{dtype.name}_3x1_to_2x3x4", [values(dtype, (3, 1)), ints(2, 3, 4)])
    r.error("incompatible", [values(F32, (3,)), ints(2, 4)], contains="[3]")
    r.error("rank_too_small", [values(F32, (2, 3)), ints(3)])
    r.error("not_to_one", [values(F32, (3,)), ints(1)])
    r.error("negative_size", [values(F32, (1,)), ints(-2)], contains="-2")
    return r


def concat():
    r = Recorder("Concat", "ConcatV2", lambda x, a: np.concatenate(x[:-1], axis=int(x[-1])))
    cases = ((((3,), (4,)), 0), (((1,), (2,), (3,), (4,)), -1), (((2, 3), (2, 3)), 0), (((2, 3), (2, 4)), 1),
             (((2, 3), (5, 3)), -2), (((2, 3, 4), (2, 1, 4), (2, 2, 4)), 1), (((2, 3, 4), (2, 3, 1)), 2),
             (((1, 3, 4), (2, 3, 4)), 0), (((0,), (3,)), 0), (((2, 0), (2, 3), (2, 0)), 1), (((0, 3), (0, 3)), 0),
             (((0, 3), (0, 4)), 1), (((33,), (65,), (17,)), 0), (((7, 17), (7, 33), (7, 1)), 1),
             (((2, 1, 2, 1, 2), (2, 1, 2, 3, 2)), 3), (((2, 1, 2, 1, 2, 1, 2, 1), (2, 1, 2, 1, 3, 1, 2, 1)), 4),
             (((2, 1, 2, 1, 2, 1, 2, 1), (2, 1, 2, 1, 2, 1, 2, 3)), -1), (((2, 2),) * 9, 0), (((3, 1),) * 17, 1))
    for shapes, axis in cases:
        inputs = [values(F32, s, i) for i, s in enumerate(shapes)]
        index = I64 if axis == 1 else I32
        label = "_".join(map(text, shapes)) if len(shapes) < 5 else f"{len(shapes)}_of_{text(shapes[0])}"
        r.add(f"float32_{label}_axis_{named(axis)}", inputs + [np.array(axis, index)])
    for dtype in MOVED_TYPES:
        for axis in (0, 1):
            r.add(f"{dtype.name}_axis_{axis}",
                  [values(dtype, (3, 4), 0), values(dtype, (3, 4), 1), np.array(axis, I32)])
    a, b = values(F32, (2, 3)), values(F32, (2, 4))
    r.error("sizes_differ", [a, b, np.array(0, I32)], contains="[2,4]")
    r.error("ranks_differ", [a, values(F32, (3,)), np.array(0, I32)])
    r.error("axis_too_large", [a, a, np.array(2, I32)], contains="2")
    r.error("axis_too_small", [a, a, np.array(-3, I32)], contains="-3")
    r.error("scalars", [values(F32, ()), values(F32, ()), np.array(0, I32)])
    return r


def slice_op():
    def reference(x, a):
        parts = [slice(int(b), int(n) if s < 0 else int(b + s)) for b, s, n in zip(x[1], x[2], x[0].shape)]
        return x[0][tuple(parts)]
    r = Recorder("Slice", reference=reference)
    cases = (((), (), ()), ((5,), (0,), (5,)), ((5,), (1,), (3,)), ((5,), (2,), (-1,)), ((5,), (5,), (0,)),
             ((5,), (5,), (-1,)), ((5,), (3,), (0,)), ((3, 4), (0, 0), (3, 4)), ((3, 4), (1, 0), (1, 4)),
             ((3, 4), (0, 1), (3, 2)), ((3, 4), (1, 2), (-1, -1)), ((3, 4), (2, 3), (1, 1)), ((0, 3), (0, 1), (0, 2)),
             ((2, 3, 4), (0, 1, 1), (2, 2, -1)), ((2, 3, 4), (1, 0, 0), (1, 3, 4)), ((17, 33), (3, 5), (9, 17)),
             ((2, 3, 2, 3), (0, 1, 0, 1), (2, 1, 2, 2)), ((2, 3, 2, 3, 2), (1, 0, 0, 2, 0), (1, 2, -1, 1, 2)),
             ((2, 1, 3, 2, 2, 3), (0, 0, 1, 0, 1, 1), (2, 1, 2, 2, 1, 2)),
             ((2, 1, 3, 1, 2, 1, 3), (1, 0, 1, 0, 0, 0, 1), (1, 1, 2, 1, 2, 1, 2)),
             ((2, 1, 3, 1, 2, 1, 2, 3), (0, 0, 1, 0, 1, 0, 0, 1), (2, 1, 2, 1, 1, 1, 2, 2)))
    for shape, begin, size in cases:
        for index in INTS if len(shape) < 3 else (I32,):
            inputs = [cycled(values(F32, shape), 251), ints(*begin, dtype=index), ints(*size, dtype=index)]
            r.add(f"float32_{text(shape)}_from_{named(*begin)}_size_{named(*size)}_{index.name}", inputs)
    for dtype in MOVED_TYPES:
        r.add(f"{dtype.name}_4x5", [values(dtype, (4, 5)), ints(1, 2), ints(2, -1)])
    x = values(F32, (3, 4))
    r.error("begin_too_large", [x, ints(4, 0), ints(-1, 4)], contains="4")
    r.error("begin_negative", [x, ints(-1, 0), ints(1, 4)], contains="-1")
    r.error("size_too_large", [x, ints(1, 0), ints(3, 4)])
    r.error("size_below_minus_one", [x, ints(0, 0), ints(-2, 4)])
    r.error("begin_too_short", [x, ints(0), ints(1)])
    r.error("begin_and_size_differ", [x, ints(0, 0), ints(1)])
    return r


def gather_reference(x, a):
    params, indices, axis = x[0], x[1], int(x[2])
    batch = a.get("batch_dims", 0)
    batch += indices.ndim if batch < 0 else 0
    axis += params.ndim if axis < 0 else 0
    if batch == 0:
        return np.take(params, indices, axis=axis)
    parts = [np.take(params[b], indices[b], axis=axis - batch) for b in np.ndindex(*params.shape[:batch])]
    if not parts:
        shape = params.shape[:axis] + indices.shape[batch:] + params.shape[axis + 1:]
        return np.zeros(shape, params.dtype)
    return np.stack(parts).reshape(params.shape[:batch] + parts[0].shape)


def gather():
    r = Recorder("Gather", "GatherV2", gather_reference)
    # params, indices, axis, batch_dims
    cases = (((5,), (), 0, 0), ((5,), (3,), 0, 0), ((5,), (7,), 0, 0), ((5,), (2, 3), 0, 0), ((3, 4), (), 0, 0),
             ((3, 4), (2,), 0, 0), ((3, 4), (5,), 1, 0), ((3, 4), (2, 3), -1, 0), ((3, 4), (2, 2), -2, 0),
             ((2, 3, 4), (3,), 1, 0), ((2, 3, 4), (2, 2), 1, 0), ((2, 3, 4), (), 2, 0), ((3, 4), (0,), 0, 0),
             ((3, 0), (2,), 0, 0), ((0, 3), (0,), 0, 0), ((3, 4), (2, 0), 1, 0), ((33, 17), (65,), 0, 0),
             ((17, 33), (31,), 1, 0), ((2, 1, 3, 2), (2,), 2, 0), ((2, 1, 2, 1, 3, 1, 2), (2,), 4, 0),
             ((2, 1, 2, 1, 3, 1, 2, 2), (2,), 4, 0), ((2, 3, 2, 1), (1, 2, 1, 1, 2), 1, 0), ((2, 5), (2, 3), 1, 1),
             ((2, 5), (2,), 1, 1), ((2, 3, 4), (2, 2), 1, 1), ((2, 3, 4), (2, 2), 2, 1), ((2, 3, 4), (2, 3, 2), 2, 2),
             ((2, 3, 4), (2, 3), -1, -1), ((2, 3, 4, 2), (2, 3, 5), 2, 2), ((2, 3, 4, 2), (2, 2, 2), 3, 1),
             ((0, 3), (0, 2), 1, 1))
    for shape, index_shape, axis, batch in cases:
        rng = rng_for("Gather", shape, index_shape, axis, batch)
        top = shape[axis] or 1
        index = rng.randint(0, top, size=index_shape)
        attrs = {"batch_dims": batch} if batch or len(r.cases) % 2 else {}
        dtype = INTS[len(r.cases) % 2]
        name = f"float32_{text(shape)}_indices_{text(index_shape)}_axis_{named(axis)}_batch_{named(batch)}"
        params = cycled(values(F32, shape), 251)
        r.add(name, [params, np.asarray(index, dtype=dtype), np.array(axis, INTS[len(r.cases) // 2 % 2])], attrs)
    for dtype in MOVED_TYPES:
        for index in INTS:
            inputs = [values(dtype, (5, 3)), ints(4, 0, 0, 2, dtype=index)]
            r.add(f"{dtype.name}_rows_{index.name}", inputs + [np.array(0, I32)], {"batch_dims": 0})
            r.add(f"{dtype.name}_columns_{index.name}", [values(dtype, (3, 5)), inputs[1], np.array(1, I32)])
    x = values(F32, (3, 4))
    r.error("index_too_large", [x, ints(0, 3, 1), np.array(0, I32)], contains="indices[1] = 3 is not in [0, 3)")
    r.error("index_negative", [x, ints(0, 2, -1), np.array(0, I32)], contains="indices[2] = -1 is not in [0, 3)")
    r.error("index_too_large_int64_axis_1", [x, ints(2**40, dtype=I64), np.array(1, I32)], contains="is not in [0, 4)")
    r.error("index_into_empty", [values(F32, (0, 3)), ints(0), np.array(0, I32)], contains="is not in [0, 0)")
    r.error("axis_too_large", [x, ints(0), np.array(2, I32)], contains="2")
    r.error("axis_too_small", [x, ints(0), np.array(-3, I32)])
    r.error("params_scalar", [values(F32, ()), ints(0), np.array(0, I32)])
    r.error("batch_dims_beyond_indices", [x, ints(0), np.array(1, I32)], {"batch_dims": 2}, contains="batch_dims")
    r.error("batch_sizes_differ", [x, np.zeros((2, 2), I32), np.array(1, I32)], {"batch_dims": 1})
    r.error("batch_dims_beyond_axis", [x, np.zeros((3, 2), I32), np.array(0, I32)], {"batch_dims": 1},
            contains="batch_dims")
    return r


def one_hot_reference(x, a):
    indices, depth, on, off = x
    axis = a.get("axis", -1)
    hot = np.where(indices[..., None] == np.arange(int(depth)), on, off)
    return np.moveaxis(hot, -1, axis)


def one_hot():
    r = Recorder("OneHot", reference=one_hot_reference)
    one = lambda dtype: [np.array(1, dtype), np.array(0, dtype)]
    for shape in ((), (5,), (3, 4), (2, 3, 2), (0,), (2, 0), (1, 2, 1, 2, 1, 2, 3)):
        for axis in sorted({-1, 0, len(shape)}):
            rng = rng_for("OneHot", shape, axis)
            index = np.asarray(rng.randint(0, 4, size=shape), dtype=INTS[len(r.cases) % 2])
            r.add(f"float32_{text(shape)}_axis_{named(axis)}", [index, np.array(4, I32)] + one(F32), {"axis": axis})
    r.add("middle_axis", [np.arange(6, dtype=I64).reshape(2, 3) % 5, np.array(5, I32)] + one(F32), {"axis": 1})
    r.add("out_of_range_is_off", [ints(-1, 0, 3, 4, 100, -2**31), np.array(4, I32)] + one(F32))
    r.add("out_of_range_int64_is_off", [ints(2**32, 1, -2**62, dtype=I64), np.array(3, I32)] + one(F32))
    r.add("int8_ends", [ints(-1, 127, -128, 3, dtype=I8), np.array(128, I32)] + one(F32))
    r.add("uint8_ends", [ints(255, 0, 128, 3, dtype=U8), np.array(256, I32)] + one(F32))
    r.add("uint8_columns", [ints(2, 0, 1, 9, 1, 0, dtype=U8).reshape(2, 3), np.array(3, I32)] + one(F32), {"axis": 1})
    r.add("depth_0", [ints(0, 1), np.array(0, I32)] + one(F32))
    r.add("depth_1", [ints(0, 1), np.array(1, I32)] + one(F32))
    r.add("depth_65", [ints(*range(0, 65, 4)), np.array(65, I32)] + one(F32))
    r.add("float32_on_nan_off_inf", [ints(0, 2), np.array(3, I32), np.array(np.nan, F32), np.array(-np.inf, F32)])
    for dtype in MOVED_TYPES:
        on, off = (True, False) if dtype == BOOL else (7, 3) if dtype.kind == "u" else (7, -3)
        for index in INTS + (I8, U8):
            r.add(f"{dtype.name}_{index.name}",
                  [ints(2, 0, 1, 9, dtype=index), np.array(3, I32), np.array(on, dtype), np.array(off, dtype)])
    r.add("bool_inverted", [ints(2, 0, 1), np.array(3, I32), np.array(False), np.array(True)])
    r.error("depth_negative", [ints(0, 1), np.array(-1, I32)] + one(F32), contains="depth")
    r.error("axis_too_large", [ints(0, 1), np.array(3, I32)] + one(F32), {"axis": 2}, contains="axis")
    r.error("axis_too_small", [ints(0, 1), np.array(3, I32)] + one(F32), {"axis": -2}, contains="axis")
    r.error("depth_not_a_scalar", [ints(0, 1), ints(3)] + one(F32), contains="depth")
    r.error("on_value_not_a_scalar", [ints(0, 1), np.array(3, I32), values(F32, (1,)), values(F32, ())])
    return r


def build():
    return {"Fill": fill, "Range": range_op, "Reshape": reshape, "ExpandDims": expand_dims, "Squeeze": squeeze,
            "Transpose": transpose, "BroadcastTo": broadcast_to, "Concat": concat, "Slice": slice_op, "Gather": gather,
            "OneHot": one_hot}
