# SPDX-License-Identifier: Apache-2.0
"""Reductions, ArgMax, ArgMin, AddN, BiasAdd, Softmax and LogSoftmax."""
import decimal
import math

import ml_dtypes
import numpy as np

from golden_case import (ALL_TYPES, BOOL, EXACT, F32, F64, FLOATS, HALVES, I16, I32, I64, INTEGERS, INTS, NUMBERS, U16, VALUE,
                         Recorder, cycled, is_float, random_values)
from golden_shapes import LARGE_SIZES, SIZES, text

D = decimal.Decimal


def values(dtype, shape, *name):
    return random_values(dtype, shape, "reduction", *name)


def named(axes):
    return "_".join(str(a).replace("-", "m") for a in axes) or "none"


SMALL_INTEGERS = tuple(np.dtype(n) for n in ("int8", "uint8", "int16", "uint16", "uint32", "uint64"))
MORE_TYPES = HALVES + SMALL_INTEGERS    # in addition to NUMBERS


def wrap(value, dtype):
    return int(np.array(value % 2 ** (dtype.itemsize * 8), np.uint64).astype(dtype))


def total(row):
    """The correctly rounded sum (float64's fsum is exact before its one rounding); integers wrap around."""
    if not is_float(row.dtype):
        return wrap(sum(int(v) for v in row), row.dtype)
    row = row.astype(F64)
    return math.fsum(row) if np.isfinite(row).all() else float(np.sum(row))


def mean(row):
    """Integers: the sum in 64 bits (which may wrap around), divided with truncation; 0 for no elements."""
    if not is_float(row.dtype):
        t = total(row.astype(np.uint64 if row.dtype.kind == "u" else I64))
        return abs(t) // max(len(row), 1) * (1 if t >= 0 else -1)
    return total(row) / len(row) if len(row) else math.nan


def product(row):
    if not is_float(row.dtype):
        return wrap(math.prod(int(v) for v in row), row.dtype)
    return float(np.prod(row.astype(F64).astype(np.longdouble)))


def norm(row):
    """For integers the sum wraps around and the root is truncated; the root of a negative number is undefined."""
    if not is_float(row.dtype):
        square = wrap(sum(int(v) ** 2 for v in row), row.dtype)
        assert square >= 0
        return math.isqrt(square)
    return float(np.sqrt(np.sum(np.square(row.astype(F64).astype(np.longdouble)))))


def lowest(dtype):
    return -math.inf if is_float(dtype) else int(np.iinfo(dtype).min)


def highest(dtype):
    return math.inf if is_float(dtype) else int(np.iinfo(dtype).max)


ROWS = {
    "Sum": total,
    "Mean": mean,
    "Max": lambda row: np.max(row) if len(row) else lowest(row.dtype),
    "Min": lambda row: np.min(row) if len(row) else highest(row.dtype),
    "Prod": product,
    "EuclideanNorm": norm,
    "All": np.all,
    "Any": np.any,
}


def by_rows(x, axes):
    """x as (kept shape, rows to reduce); axes may be negative."""
    axes = [a + x.ndim if a < 0 else a for a in axes]
    kept = [d for d in range(x.ndim) if d not in axes]
    moved = np.transpose(x, kept + axes)
    count = int(np.prod([x.shape[a] for a in axes], dtype=np.int64))
    outer = int(np.prod([x.shape[d] for d in kept], dtype=np.int64))
    return axes, [x.shape[d] for d in kept], moved.reshape(outer, count)


def reduce_reference(op):
    def reference(inputs, attrs):
        x, axes = inputs[0], [int(a) for a in inputs[1].reshape(-1)]
        axes, kept, rows = by_rows(x, axes)
        if attrs.get("keep_dims", False):
            kept = [1 if d in axes else n for d, n in enumerate(x.shape)]
        return np.array([ROWS[op](row) for row in rows], dtype=x.dtype).reshape(kept)
    return reference


def reduce_tolerance(op, x, axes):
    """A bound for any sensible order of additions: a few eps, growing with log2 of the count, times sum |x|."""
    if op in ("Max", "Min") or not is_float(x.dtype):
        return VALUE if is_float(x.dtype) else EXACT
    _, _, rows = by_rows(x, list(axes))
    if x.dtype in HALVES:   # float32 inside
        return {"ulp": 1}
    if not np.isfinite(x).all():
        return {"ulp": 2}
    if op in ("Prod", "EuclideanNorm"):
        return {"ulp": 2, "rel": float(np.finfo(x.dtype).eps) * (2 + (rows.shape[1] if op == "Prod" else 8))}
    count = rows.shape[1]
    largest = max((math.fsum(np.abs(r)) for r in rows), default=0.0)
    bound = float(np.finfo(x.dtype).eps) * (2 + math.log2(max(count, 1))) * largest
    return {"ulp": 1, "abs": bound / count if op == "Mean" and count else bound}


MATRIX = (3, 4)
CUBE = (2, 3, 4)
AXES = (
    ((), ()), (MATRIX, ()), (MATRIX, (0,)), (MATRIX, (1,)), (MATRIX, (-1,)), (MATRIX, (-2,)), (MATRIX, (0, 1)),
    (MATRIX, (1, 0)), (MATRIX, (-1, 0)), ((1, 7), (0,)), ((1, 7), (1,)), ((7, 1), (0,)), ((7, 1), (1,)), (CUBE, (0,)),
    (CUBE, (1,)), (CUBE, (2,)), (CUBE, (0, 1)), (CUBE, (0, 2)), (CUBE, (1, 2)), (CUBE, (0, 1, 2)), (CUBE, (-1, -3)),
    ((2, 3, 2, 3), (0, 2)), ((2, 3, 2, 3), (1, 3)), ((2, 3, 2, 3), (0, 3)), ((2, 3, 2, 3), (1, 2)),
    ((2, 3, 2, 3), (3,)), ((2, 3, 2, 3, 2), (0, 2, 4)), ((2, 3, 2, 3, 2), (1, 3)), ((2, 3, 2, 3, 2), (4, 1)),
    ((2, 1, 2, 3, 2, 3), (0, 2, 4)), ((2, 1, 2, 3, 2, 1, 2), (1, 3, 5)), ((2, 2, 2, 2, 2, 2, 2, 2), (0, 2, 4, 6)),
    ((2, 2, 2, 2, 2, 2, 2, 2), (1, 3, 5, 7)), ((2, 2, 2, 2, 2, 2, 2, 2), (0, 3, 4, 7)),
    ((2, 2, 2, 2, 2, 2, 2, 2), (-1,)), ((2, 2, 2, 2, 2, 2, 2, 2), (0, 1, 2, 3, 4, 5, 6, 7)), ((17, 33), (0,)),
    ((17, 33), (1,)), ((65, 31), (0,)), ((31, 65), (1,)), ((5, 17, 9), (1,)), ((5, 17, 9), (0, 2)), ((3, 1000), (1,)),
    ((1000, 3), (0,)), ((9, 16, 33), (0, 1)),
)
EMPTY_AXES = (((0,), (0,)), ((0,), ()), ((0, 3), (0,)), ((0, 3), (1,)), ((3, 0), (1,)), ((2, 0, 3), (1,)),
              ((2, 0, 3), (0,)), ((2, 0, 3), (0, 1, 2)))


def reduction_specials(r, op, dtype):
    name = dtype.name
    axis = np.array([1], I32)
    if dtype in FLOATS:
        n, i = np.nan, np.inf
        rows = np.array([[1, n, 2, 3, 4], [n, 1, 2, 3, n], [i, 1, 2, 3, 4], [-i, 1, 2, 3, 4], [i, -i, 0, 1, 2],
                         [0, -0.0, 0, -0.0, 0],
                         [-0.0] * 5, [i, n, -i, 1, 0], [i, i, i, i, i]], dtype)
        for k, row in enumerate(rows):
            r.add(f"{name}_special_values_row_{k}", [row[None, :], axis],
                  tolerance=reduce_tolerance(op, row[None, :], (1,)))
        r.add(f"{name}_special_values_column", [rows[:1].T.copy(), np.array([0], I32)], tolerance=VALUE)
        small = np.finfo(dtype).smallest_subnormal
        r.add(f"{name}_denormals", [np.array([[small, 2 * small, small, 4 * small], [-small, 0, -2 * small, -small]],
                                             dtype), axis],
              tolerance=EXACT, numpy_only=True)
        if op in ("Sum", "Mean"):
            x = values(dtype, (2, 65), "cancel")
            x = np.concatenate([x * dtype.type(1000), -x[:, ::-1] * dtype.type(1000), np.ones((2, 1), dtype)], axis=1)
            r.add(f"{name}_cancellation", [x, axis], {"keep_dims": True}, tolerance=reduce_tolerance(op, x, (1,)))
    else:
        info = np.iinfo(dtype)
        x = np.array([[info.max, 1, 5], [info.min, -1, 0], [info.min, info.min, 3], [info.max, info.max, info.max]],
                     dtype)
        r.add(f"{name}_corners_wrap_around", [x, axis])


def typed(op, dtype, shape):
    """Values whose products and squares stay in range."""
    x = values(dtype, shape, op, "typed")
    if dtype in SMALL_INTEGERS and op == "EuclideanNorm":
        return x % dtype.type(2) * (np.arange(x.size).reshape(shape) % 8 == 0)
    if is_float(dtype) and op == "Prod":
        return np.asarray(1 + np.asarray(x, F64) / 32, dtype)
    return x


def further_type(r, op, dtype):
    for shape, axes in (((5,), (0,)), (MATRIX, (0,)), (MATRIX, (1,)), (CUBE, (0, 2)), ((2, 65), (1,)), ((300,), (0,)),
                        ((3, 130), (0,)), ((0, 2), (0,)), ((3, 1), (1,)), ((), ())):
        x = cycled(typed(op, dtype, shape), 67)
        tolerance = reduce_tolerance(op, x, axes)
        count = int(np.prod([x.shape[a] for a in axes], dtype=np.int64))
        theirs = {"rel": float(ml_dtypes.finfo(dtype).eps) * (count + 2), "abs": 8.0} if dtype in HALVES else tolerance
        r.add(f"{dtype.name}_{text(shape)}_axes_{named(axes)}", [x, np.array(axes, I32)], tolerance=tolerance,
              tf_tolerance=theirs)
    if dtype.kind in "iu" and op == "EuclideanNorm":    # squares of the ends are 1 and 0 there, as they wrap around
        info = np.iinfo(dtype)
        r.add(f"{dtype.name}_ends", [np.array([[info.max, 0], [info.min, 3], [info.max, info.min]], dtype), np.array([1], I32)])
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        r.add(f"{dtype.name}_corners_wrap_around",
              [np.array([[info.max, 1, 5], [info.min, 7, 0], [info.max, info.max, info.max]], dtype),
               np.array([1], I32)])
    if dtype in HALVES:
        n, i = np.nan, np.inf
        for k, row in enumerate(([1, n, 2], [i, 1, 2], [-i, 1, i], [-0.0, -0.0, -0.0])):
            r.add(f"{dtype.name}_special_values_{k}", [np.array([row], dtype), np.array([1], I32)],
                  tolerance=VALUE if op in ("Max", "Min") else {"ulp": 1})


def new_reduction(op, types):
    """All reductions share the code for axes and their errors, so a few shapes suffice."""
    r = Recorder(op, reference=reduce_reference(op))
    for dtype in types:
        further_type(r, op, dtype)
    main = types[0]
    for k, (shape, axes) in enumerate(AXES[:26] + ((((2,) * 8), (0, 3, 4, 7)),)):
        x = typed(op, main, shape)
        r.add(f"{main.name}_{text(shape)}_over_{named(axes)}_keep", [x, np.array(axes, INTS[k % 2])],
              {"keep_dims": True}, tolerance=reduce_tolerance(op, x, axes))
    if main == F32:
        for k, row in enumerate(([1, np.nan, 2], [np.inf, 1, 2], [np.inf, -np.inf, 1], [np.inf, 0, 1], [-0.0, -0.0, 1])):
            r.add(f"special_values_{k}", [np.array([row], F32), np.array([1], I32)], tolerance={"ulp": 1})
        x = cycled(typed(op, F32, (4500,)), 113)
        r.add("float32_4500", [x, np.array([0], I32)], tolerance=reduce_tolerance(op, x, (0,)))
    r.error("axis_too_large", [typed(op, main, MATRIX), np.array([2], I32)], contains="2")
    r.error("axis_twice", [typed(op, main, MATRIX), np.array([0, -2], I32)], contains="0")
    return r


def reduction(op):
    r = Recorder(op, reference=reduce_reference(op))
    for dtype in MORE_TYPES:
        further_type(r, op, dtype)

    def add(dtype, shape, axes, keep, index=I32, period=127):
        x = values(dtype, shape, op)
        x = cycled(x, period)
        inputs = [x, np.array(axes, dtype=index)]
        r.add(f"{dtype.name}_{text(shape)}_axes_{named(axes)}" + ("_keep" if keep else ""), inputs, {"keep_dims": keep},
              tolerance=reduce_tolerance(op, x, axes))
    for dtype in NUMBERS:
        main = dtype == F32
        for n in SIZES + LARGE_SIZES + (4099,) if main else (1, 16, 33, 65, 257, 4099):
            add(dtype, (n,), (0,), n % 2 == 0)
        chosen = AXES if main else AXES[:1] + AXES[2:4] + AXES[6:7] + AXES[17:18] + AXES[27:28] + AXES[31:32]
        for k, (shape, axes) in enumerate(chosen):
            add(dtype, shape, axes, False, INTS[k % 2])
            if main and len(shape) <= 3 and max(shape, default=0) < 8 or k % 3 == 0:
                add(dtype, shape, axes, True, INTS[k % 2])
        for shape, axes in EMPTY_AXES if main else EMPTY_AXES[:1] + EMPTY_AXES[2:4]:
            add(dtype, shape, axes, False)
            if main:
                add(dtype, shape, axes, True)
        reduction_specials(r, op, dtype)
    add(F32, (67, 4099), (1,), False, period=113)
    add(F32, (4099, 7), (0,), False, period=113)
    x = values(F32, MATRIX, op)
    r.add("axis_scalar", [x, np.array(1, I32)], tolerance=reduce_tolerance(op, x, (1,)))
    r.error("axis_too_large", [x, np.array([2], I32)], contains="2")
    r.error("axis_too_small", [x, np.array([-3], I32)], contains="-3")
    r.error("axis_twice", [x, np.array([0, -2], I32)], contains="0")
    r.error("axis_of_scalar", [values(F32, ()), np.array([0], I32)])
    return r


def arg_edges(r, largest):
    """-0 equals 0 and denormals are numbers; TensorFlow does not define the place of a NaN."""
    for dtype in FLOATS + HALVES:
        least = ml_dtypes.finfo(dtype).smallest_subnormal * (1 if largest else -1)
        r.add(f"{dtype.name}_denormals", [np.array([[-0.0, least, 0], [-least, 0, least], [0, least, 2 * least]], dtype), np.array(1, I32)],
              numpy_only=True)
    x = values(F32, (2, 1, 2, 1, 2, 1, 2, 3), "arg")
    for axis in (2, 7):
        r.add(f"of_rank_8_axis_{axis}", [x, np.array(axis, I32)], numpy_only=True)     # TensorFlow's end at 7


def arg_max():
    def reference(x, a):
        return np.argmax(x[0], axis=int(x[1])).astype(a.get("output_type", I64))
    r = Recorder("ArgMax", reference=reference)
    shapes = (((5,), 0), ((5,), -1), (MATRIX, 0), (MATRIX, 1), (MATRIX, -2), (CUBE, 0), (CUBE, 1), (CUBE, 2),
              (CUBE, -1), ((17, 33), 0), ((17, 33), 1), ((2, 3, 2, 3), 2), ((2, 3, 2, 3, 2), 1),
              ((2, 1, 2, 3, 2, 3), 3), ((2, 1, 2, 3, 2, 1, 2), 3), ((1, 7), 0), ((3, 1000), 1), ((1000, 3), 0),
              ((0, 3), 1), ((3, 0), 0))
    for shape, axis in shapes:
        for out in INTS:
            x = cycled(values(F32, shape), 127)
            r.add(f"float32_{text(shape)}_axis_{named([axis])}_{out.name}", [x, np.array(axis, out)],
                  {"output_type": out})
    for n in SIZES + (257, 4099):
        r.add(f"float32_size_{n}", [cycled(values(F32, (n,)), 131), np.array(0, I32)])
    for dtype in ALL_TYPES:
        for shape, axis in ((CUBE, 1), ((33,), 0), (MATRIX, 1)):
            r.add(f"{dtype.name}_{text(shape)}", [values(dtype, shape, "types"), np.array(axis, I32)])
    for dtype in NUMBERS:   # the first of equals
        ties = np.array([[1, 3, 3, 2, 3], [0, 0, 0, 0, 0], [-1, -2, -1, -1, -3]], dtype)
        r.add(f"{dtype.name}_ties", [ties, np.array(1, I32)])
    for dtype in FLOATS:
        rows = np.array([[-np.inf, -np.inf, -np.inf], [1, np.inf, np.inf], [-np.inf, -1, np.inf], [-0.0, 0.0, -0.0]],
                        dtype)
        r.add(f"{dtype.name}_infinities_and_zeros", [rows, np.array(1, I32)])
    for dtype in INTS:
        info = np.iinfo(dtype)
        r.add(f"{dtype.name}_corners", [np.array([[info.min, info.max, info.max], [info.min, info.min, info.min]],
                                                 dtype), np.array(1, I32)])
    for out, reach in ((I16, 2**15), (U16, 2**16)):     # TensorFlow wraps around from there on
        for dtype in (F32, BOOL):
            x = np.zeros((1, reach + 1), dtype)
            r.add(f"{dtype.name}_most_for_{out.name}", [x[:, 1:], np.array(1, I32)], {"output_type": out})
            r.our_error(f"{dtype.name}_too_many_for_{out.name}", [x, np.array(1, I32)], {"output_type": out},
                        contains=f"numbers up to {reach - 1}, and {reach} is possible")
    x = values(F32, MATRIX)
    r.error("axis_too_large", [x, np.array(2, I32)], contains="2")
    r.error("axis_too_small", [x, np.array(-3, I32)], contains="-3")
    r.error("scalar_input", [values(F32, ()), np.array(0, I32)])
    r.error("empty_axis", [values(F32, (0, 3)), np.array(0, I32)], contains="empty")
    r.error("axis_not_a_scalar", [x, np.array([0, 1], I32)], contains="scalar")
    arg_edges(r, True)
    further_arg(r, (np.dtype("int16"), np.dtype("uint16"), I32))
    return r


def further_arg(r, outputs):
    """All types, both ends, ties; outputs are the types of the result."""
    for dtype in MORE_TYPES:
        for shape, axis in (((33,), 0), (MATRIX, 1), ((130,), 0)):
            r.add(f"{dtype.name}_{text(shape)}", [cycled(values(dtype, shape, "more"), 67), np.array(axis, I32)])
        r.add(f"{dtype.name}_ties", [np.array([[1, 3, 3, 1, 2], [0, 0, 0, 0, 0]], dtype), np.array(1, I32)])
        if dtype in HALVES:
            rows = np.array([[-np.inf, -np.inf, np.inf], [1, np.inf, np.inf], [-0.0, 0.0, -0.0]], dtype)
        else:
            info = np.iinfo(dtype)
            rows = np.array([[info.min, info.max, info.max], [info.max, info.min, info.min], [info.max] * 3], dtype)
        r.add(f"{dtype.name}_ends", [rows, np.array(1, I32)])
    for out in outputs:
        r.add(f"float32_to_{out.name}", [values(F32, (3, 300)) if out == I32 else values(F32, (3, 40)), np.array(1, I32)],
              {"output_type": out})


def arg_min():
    def reference(x, a):
        return np.argmin(x[0], axis=int(x[1])).astype(a.get("output_type", I64))
    r = Recorder("ArgMin", reference=reference)
    for shape, axis in ((MATRIX, 0), (MATRIX, -2), (CUBE, 0), (CUBE, 1), (CUBE, -1), ((17, 33), 0), ((2, 3, 2, 3, 2), 1),
                        ((3, 1000), 1), ((0, 3), 1), ((2, 5, 70), 1)):
        for out in INTS:
            r.add(f"float32_{text(shape)}_axis_{named([axis])}_{out.name}",
                  [cycled(values(F32, shape), 127), np.array(axis, out)], {"output_type": out})
    for dtype in ALL_TYPES:
        for shape, axis in ((CUBE, 1), ((33,), 0)):
            r.add(f"{dtype.name}_{text(shape)}", [values(dtype, shape, "types"), np.array(axis, I32)])
    for dtype in FLOATS:
        rows = np.array([[np.inf] * 3, [1, -np.inf, -np.inf], [-0.0, 0.0, -0.0], [np.inf, -1, 1]], dtype)
        r.add(f"{dtype.name}_infinities_and_zeros", [rows, np.array(1, I32)])
    for dtype in INTS:
        info = np.iinfo(dtype)
        r.add(f"{dtype.name}_corners", [np.array([[info.max, info.min, info.min], [info.max] * 3], dtype),
                                        np.array(1, I32)])
    arg_edges(r, False)
    further_arg(r, INTS)
    x = values(F32, MATRIX)
    r.error("axis_too_large", [x, np.array(2, I32)], contains="2")
    r.error("scalar_input", [values(F32, ()), np.array(0, I32)])
    r.error("empty_axis", [values(F32, (0, 3)), np.array(0, I32)], contains="empty")
    r.error("short_output", [x, np.array(0, I32)], {"output_type": np.dtype("int16")})
    return r


def add_n():
    def reference(x, a):
        if x[0].dtype in HALVES:
            return np.sum([v.astype(F32) for v in x], axis=0, dtype=F32).astype(x[0].dtype)
        if x[0].dtype in INTEGERS:
            return np.sum(x, axis=0, dtype=x[0].dtype)
        columns = np.stack([v.reshape(-1) for v in x], axis=1)
        return np.array([total(c) for c in columns], x[0].dtype).reshape(x[0].shape)
    r = Recorder("AddN", reference=reference)

    def add(name, inputs):
        dtype, exact = inputs[0].dtype, inputs[0].dtype in INTEGERS or len(inputs) < 3
        bound = float(np.finfo(dtype).eps) * len(inputs) * 4.0 * len(inputs) if dtype in FLOATS else 0
        r.add(name, inputs, tolerance=VALUE if exact and dtype in FLOATS else EXACT
              if exact else {"ulp": 1, "abs": bound / 4})
    for dtype in NUMBERS:
        for n in (1, 2, 3, 5, 8, 9, 17) if dtype == F32 else (1, 2, 3, 9):
            add(f"{dtype.name}_{n}_inputs", [values(dtype, (5,), i) for i in range(n)])
        for shape in ((), (0,), (2, 3), (33,), (65,), (2, 0, 3), (1, 2, 1, 3, 1, 2, 1, 2)):
            add(f"{dtype.name}_shape_{text(shape)}", [values(dtype, shape, i) for i in range(3)])
    add("float32_size_1000", [cycled(values(F32, (1000,), i), 17 + 2 * i) for i in range(2)])
    for dtype in INTS:
        top = np.full(3, np.iinfo(dtype).max, dtype)
        add(f"{dtype.name}_wrap_around", [top, top, top])
    for dtype in INTEGERS:
        if dtype not in INTS:
            add(f"{dtype.name}_3_inputs", [values(dtype, (33,), i) for i in range(3)])
    for dtype in HALVES:   # TensorFlow rounds after every addition, Gantry after seven of them
        for n in (2, 3, 9):
            r.add(f"{dtype.name}_{n}_inputs", [np.abs(values(dtype, (33,), i)) for i in range(n)],
                  tolerance={"ulp": 1}, tf_tolerance={"ulp": 8})
    s = np.array([np.nan, np.inf, -np.inf, np.inf, -0.0], F32)
    r.add("float32_special_values", [s, np.array([1, 1, 1, -np.inf, -0.0], F32)], tolerance=VALUE)
    r.error("shapes_differ", [values(F32, (2, 3)), values(F32, (3, 2))])
    r.error("no_broadcast", [values(F32, (2, 3)), values(F32, (3,))])
    return r


def bias_add():
    def reference(x, a):
        value, bias = x
        if a.get("data_format", "NHWC") == "NCHW":
            bias = bias.reshape((-1,) + (1,) * (value.ndim - 2))
        return value + bias
    r = Recorder("BiasAdd", reference=reference)
    shapes = ((1, 1), (2, 3), (3, 17), (5, 33), (2, 3, 4), (2, 3, 4, 5), (2, 3, 1, 2, 4), (2, 3, 1, 2, 1, 2),
              (2, 3, 1, 2, 1, 2, 1, 2), (0, 3), (2, 0, 3), (2, 3, 0))
    for dtype in NUMBERS:
        for shape in shapes if dtype == F32 else shapes[1:6:2]:
            value = cycled(values(dtype, shape), 61)
            r.add(f"{dtype.name}_{text(shape)}_default", [value, values(dtype, shape[-1:], "bias")])
            for form, size in (("NHWC", shape[-1]), ("NCHW", shape[1])):
                r.add(f"{dtype.name}_{text(shape)}_{form}", [value, values(dtype, (size,), "bias")],
                      {"data_format": form})
    for dtype in INTEGERS + HALVES:
        if dtype not in INTS:
            r.add(f"{dtype.name}_3x17", [values(dtype, (3, 17)), values(dtype, (17,), "bias")])
            r.add(f"{dtype.name}_2x3x5_NCHW", [values(dtype, (2, 3, 5)), values(dtype, (3,), "bias")],
                  {"data_format": "NCHW"})
    r.error("bias_too_short", [values(F32, (2, 3)), values(F32, (2,))])
    r.error("bias_not_a_vector", [values(F32, (2, 3)), values(F32, (1, 3))])
    r.error("value_a_vector", [values(F32, (3,)), values(F32, (3,))])
    r.error("bias_too_long_nchw", [values(F32, (2, 3, 4, 4)), values(F32, (4,))], {"data_format": "NCHW"})
    return r


def softmax_row(row, log):
    """Correctly rounded, or the value at infinities and NaN."""
    dtype = row.dtype
    row = row.astype(F64)
    top = max((float(v) for v in row), default=0.0) if not np.isnan(row).any() else math.nan
    if not math.isfinite(top):
        return np.full(row.shape, np.nan, dtype)
    shifted = [D(float(v)) - D(top) if v > -np.inf else None for v in row]
    powers = [D(0) if s is None else s.exp() for s in shifted]
    whole = sum(powers)
    if log:
        out = [-math.inf if s is None else float(s - whole.ln()) for s in shifted]
    else:
        out = [float(p / whole) for p in powers]
    return np.array(out, dtype)


def softmax(op):
    log = op == "LogSoftmax"

    def reference(x, a):
        rows = x[0].reshape(-1, x[0].shape[-1]) if x[0].size else x[0]
        return np.array([softmax_row(row, log) for row in rows], x[0].dtype).reshape(x[0].shape) if x[0].size else x[0]
    r = Recorder(op, reference=reference)

    def add(name, x):
        eps, finite = float(ml_dtypes.finfo(x.dtype).eps), np.asarray(x, F64)[np.isfinite(x)]
        spread = float(finite.max()) - float(finite.min()) if finite.size else 0.0
        relative = max(8 * eps, eps * (4 + spread))
        tolerance = {"abs": relative} if log else {"rel": relative}
        if log:
            tolerance["rel"] = 4 * eps
        theirs = None
        if x.dtype in HALVES:   # float32 inside, one rounding; TensorFlow rounds at each step
            tolerance, theirs = {"ulp": 1}, {"rel": 16 * eps * (4 + spread), "abs": 16 * eps}
        r.add(name, [x], tolerance=tolerance, tf_tolerance=theirs)
    for dtype in FLOATS:
        for n in SIZES + LARGE_SIZES if dtype == F32 else (1, 16, 33, 65):
            add(f"{dtype.name}_size_{n}", cycled(values(dtype, (n,), op), 127))
            if n in (3, 17, 65):
                add(f"{dtype.name}_5x{n}", values(dtype, (5, n), op))
        for shape in ((2, 3, 4), (2, 1, 3, 2), (1, 2, 1, 3, 2), (2, 1, 2, 1, 2, 1, 2, 3), (0,), (0, 3), (3, 0),
                      (2, 0, 3), (65, 2), (33, 1)):
            add(f"{dtype.name}_shape_{text(shape)}", values(dtype, shape, op))
        add(f"{dtype.name}_equal", np.full((2, 7), 3.25, dtype))
        add(f"{dtype.name}_large_logits",
            np.array([[1000, 1001, 1002, 950], [-1000, -1001, -1002, -990], [88, 89, 90, 40]], dtype))
        add(f"{dtype.name}_wide", (values(dtype, (4, 10), op, "wide") * dtype.type(9)))
        i, n = np.inf, np.nan
        add(f"{dtype.name}_minus_infinity", np.array([[0, -i, 1], [-i, -i, 5], [2, 1, -i]], dtype))
        for k, row in enumerate(([n, 1, 2], [1, n, 2], [i, 1, 2], [i, i, 0], [-i, -i, -i], [i, -i, 0])):
            add(f"{dtype.name}_not_finite_{k}", np.array([row], dtype))
    for dtype in HALVES:
        for shape in ((1, 3), (5, 17), (2, 65), (3, 300), (0, 3)):
            add(f"{dtype.name}_shape_{text(shape)}", cycled(values(dtype, shape, op), 67))
        add(f"{dtype.name}_minus_infinity", np.array([[0, -np.inf, 1]], dtype))
        add(f"{dtype.name}_nan", np.array([[0, np.nan, 1]], dtype))
    r.error("scalar", [values(F32, ())])
    return r


def build():
    makers = {op: (lambda op=op: reduction(op)) for op in ("Sum", "Mean", "Max", "Min")}
    makers.update({op: (lambda op=op: new_reduction(op, (F32, F64, I32, I64) + MORE_TYPES)) for op in ("Prod", "EuclideanNorm")})
    makers.update({op: (lambda op=op: new_reduction(op, (BOOL,))) for op in ("All", "Any")})
    makers.update({op: (lambda op=op: softmax(op)) for op in ("Softmax", "LogSoftmax")})
    makers.update({"ArgMax": arg_max, "ArgMin": arg_min, "AddN": add_n, "BiasAdd": bias_add})
    return makers
