# SPDX-License-Identifier: Apache-2.0
"""The types beyond float32, float64, int32, int64 and bool, in elementwise ops: few cases for each type, with all its edges."""
import ml_dtypes
import numpy as np

from golden_case import BOOL, EXACT, F32, FLOATING, HALVES, INTEGERS, NUMBERS, VALUE, random_values

FLOAT_EDGES = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0)
HALF = {"ulp": 1}   # a float32 result with an error of an ulp or two, rounded


def float_edges(dtype):
    info = ml_dtypes.finfo(dtype)
    ends = [float(x) for x in (info.max, -info.max, info.tiny, -info.tiny, info.eps, 1 + info.eps)]
    return np.array(FLOAT_EDGES + tuple(ends), np.float64).astype(dtype)


def integer_edges(dtype):
    info = np.iinfo(dtype)
    near = (0, 1, -1, 2, -2, 3, 7, -46341, 65536)
    return np.array([info.min, info.min + 1, info.max, info.max - 1] + [x for x in near if info.min <= x <= info.max],
                    dtype=dtype)


def half_denormals(dtype):
    """The least, the largest and one between, of either sign."""
    least = float(ml_dtypes.finfo(dtype).smallest_subnormal)
    largest = float(ml_dtypes.finfo(dtype).tiny) - least
    return np.array([least, -least, 3 * least, largest, -largest]).astype(dtype)


def edges(dtype):
    if dtype == BOOL:
        return np.array([False, True])
    return integer_edges(dtype) if dtype in INTEGERS else float_edges(dtype)


def through_float32(function):
    """A function of arrays, for halves: computed in float32 and rounded once."""
    def apply(*arrays):
        if arrays[0].dtype not in HALVES:
            return function(*arrays)
        result = np.asarray(function(*[a.astype(F32) for a in arrays]))
        return result if result.dtype == BOOL else result.astype(arrays[0].dtype)
    return apply


def without_denormals(function, arrays):
    """The places of these arrays of one shape without a denormal operand or result, because TensorFlow flushes denormals of
    float32, and with them those of bfloat16."""
    with np.errstate(all="ignore"):
        result = np.asarray(function(*arrays))
    keep = np.ones(result.shape, bool)
    for a in arrays + [result]:
        if a.dtype in FLOATING:
            size = np.abs(a.astype(np.float64))
            keep &= ~((size > 0) & (size < float(ml_dtypes.finfo(a.dtype).tiny)))
    return [a[keep] for a in arrays]


def further_unary(r, op, function, types, tolerance, attrs=None, **extra):
    for dtype in types:
        if dtype in NUMBERS or dtype == BOOL:
            continue
        exact = tolerance in (EXACT, VALUE)
        tol = tolerance if exact or dtype not in HALVES else HALF
        arrays = [edges(dtype)]
        if dtype in HALVES:
            arrays = without_denormals(function, arrays)
            r.add(f"{dtype.name}_denormals", [half_denormals(dtype)], attrs, tolerance=tol, **{**extra, "numpy_only": True})
        r.add(f"{dtype.name}_edges", arrays, attrs, tolerance=tol, **extra)
        r.add(f"{dtype.name}_size_33", [random_values(dtype, (33,), op)], attrs, tolerance=tol, **extra)


def further_binary(r, op, function, types, tolerance, operands, attrs=None, pairs=None, **extra):
    """operands(dtype, x_shape, y_shape): random values that the op takes; pairs(dtype, x, y): those that it takes."""
    for dtype in types:
        if dtype in NUMBERS or dtype == BOOL:
            continue
        exact = tolerance in (EXACT, VALUE)
        tol = tolerance if exact or dtype not in HALVES else HALF
        values = edges(dtype)[:-4] if dtype in HALVES else edges(dtype)
        x, y = np.repeat(values, len(values)), np.tile(values, len(values))
        if pairs:
            keep = pairs(dtype, x, y)
            x, y = x[keep], y[keep]
        if dtype in HALVES:
            x, y = without_denormals(function, [x, y])
            small = np.concatenate([half_denormals(dtype), np.array([0.0, -0.0, 0.5, 3.0]).astype(dtype)])
            r.add(f"{dtype.name}_denormals", [small[:, None], small], attrs, tolerance=tol, **{**extra, "numpy_only": True})
        if x.size == values.size**2:   # as many pairs with less text
            x, y = values[:, None], values
        r.add(f"{dtype.name}_edges", [x, y], attrs, tolerance=tol, **extra)
        for a, b in (((33,), (33,)), ((3, 4), ()), ((), (5,)), ((3, 1), (2, 1, 4))):
            name = "_".join("x".join(map(str, s)) if s else "scalar" for s in (a, b))
            r.add(f"{dtype.name}_{name}", operands(dtype, a, b), attrs, tolerance=tol, **extra)
