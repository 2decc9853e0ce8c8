# SPDX-License-Identifier: Apache-2.0
"""MatMul and BatchMatMul."""
import ml_dtypes
import numpy as np

from golden_case import BF16, EXACT, F16, F32, F64, FLOATS, HALVES, I16, INTS, NUMBERS, Recorder, cycled, random_values
from golden_shapes import text


def values(dtype, shape, *name):
    return random_values(dtype, shape, "matmul", *name)


def product(a, b):
    """Sums of nearly exact products: halves and float32 in float64, float64 in extended precision; integers wrap
    around."""
    wide = {F32: np.float64, F64: np.longdouble}.get(a.dtype, np.float64 if a.dtype in HALVES else np.int64)
    return np.matmul(a.astype(wide), b.astype(wide)).astype(a.dtype)


def bound(a, b):
    """k eps max|a| max|b|, which holds for any order of multiplications and additions. Halves are summed in float32 and
    rounded once, so their bound is float32's eps, and 1 ulp when the sum lies on the other side of a half's midpoint."""
    if a.dtype in INTS + (I16,):
        return EXACT
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return {"ulp": 2}
    top = float(np.abs(a).max(initial=0)) * float(np.abs(b).max(initial=0))
    return {"ulp": 1, "abs": a.shape[-1] * float(np.finfo(F32 if a.dtype in HALVES else a.dtype).eps) * top}


def flip(x):
    return np.ascontiguousarray(np.swapaxes(x, -1, -2))


def add(r, name, a, b, first=False, second=False, explicit=True):
    """Records a case; first and second say which operands are transposed."""
    attrs = {r.keys[0]: first, r.keys[1]: second} if explicit else {}
    r.add(name, [a, b], attrs, tolerance=bound(flip(a) if first else a, b))


def operands(dtype, batch_a, batch_b, m, k, n, first, second):
    """Cyclic with two primes, to keep the files small; an operand that the op transposes is stored transposed."""
    a = values(dtype, batch_a + ((k, m) if first else (m, k)), "a")
    b = values(dtype, batch_b + ((n, k) if second else (k, n)), "b")
    return cycled(a, 97), cycled(b, 89)


SIZES = ((1, 1, 1), (1, 7, 1), (7, 1, 7), (1, 17, 5), (5, 17, 1), (1, 1, 33), (2, 3, 4), (3, 4, 5), (4, 4, 4),
         (8, 8, 8), (9, 7, 5), (16, 16, 16), (15, 31, 2), (2, 65, 3), (33, 17, 5), (15, 33, 17), (31, 16, 33),
         (17, 33, 65), (64, 64, 5), (65, 63, 5), (1, 100, 100), (100, 100, 1), (33, 100, 40), (2, 1000, 3),
         (3, 257, 16))
OTHER_SIZES = ((1, 1, 1), (1, 7, 1), (2, 3, 4), (9, 17, 5), (16, 16, 16), (17, 33, 9), (3, 0, 4), (0, 3, 4))
EMPTY_SIZES = ((3, 0, 4), (0, 3, 4), (3, 4, 0), (0, 0, 0), (0, 3, 0))
FOUR = ((False, False), (False, True), (True, False), (True, True))


ONES = [[1.0]] * 4
# Rows whose sum in the type itself would lose terms that float32 keeps; the result shows them after the one rounding.
# Then ties to the even neighbour, and values near the largest.
ROUNDINGS = {
    F16: ([[2048, 1, 1, 1], [2048, 1, 0, 0], [2048, 3, 0, 0], [60000, 60000, -60000, 0], [65504, 15, 0, 0],
           [65504, 16, 0, 0], [-65504, -16, 0, 0], [2.0**-24, 2.0**-24, 2.0**-14, 0]], ONES),
    BF16: ([[256, 1, 1, 1], [256, 1, 0, 0], [256, 3, 0, 0], [2.0**15, 1, -2.0**15, 0], [1, 2.0**-8, 2.0**-10, 0],
            [1, 2.0**-8, 0, 0], [-1, -(2.0**-8), -(2.0**-7), 0], [2.0**-100, 2.0**-108, 2.0**-109, 0]], ONES),
}


def mat_mul():
    def reference(x, attrs):
        a = flip(x[0]) if attrs.get("transpose_a") else x[0]
        return product(a, flip(x[1]) if attrs.get("transpose_b") else x[1])
    r = Recorder("MatMul", reference=reference)
    r.keys = ("transpose_a", "transpose_b")
    for dtype in NUMBERS + HALVES:
        sizes = SIZES + EMPTY_SIZES if dtype == F32 else OTHER_SIZES
        for m, k, n in sizes:
            many = m * n <= 64 or (m, k, n) in ((16, 16, 16), (15, 33, 17))
            for first, second in FOUR if many and dtype == F32 or (m, k, n) == (2, 3, 4) else FOUR[:1]:
                name = f"{dtype.name}_{m}x{k}x{n}" + "_ta" * first + "_tb" * second
                add(r, name, *operands(dtype, (), (), m, k, n, first, second), first, second)
        add(r, f"{dtype.name}_no_attributes", *operands(dtype, (), (), 3, 5, 2, False, False), explicit=False)
    for dtype in FLOATS + HALVES:
        i, n = np.inf, np.nan
        a = np.array([[1, 2, 3], [n, 0, 0], [i, 0, 0], [0, 0, 0], [i, -i, 0], [-0.0, -0.0, -0.0]], dtype)
        add(r, f"{dtype.name}_special_values", a, np.array([[1, 0, 2], [1, 1, 1], [2, -1, 1]], dtype))
        add(r, f"{dtype.name}_zero_times_infinity", a[3:4], np.array([[i, 0], [0, n], [1, 1]], dtype))
        small = ml_dtypes.finfo(dtype).smallest_subnormal
        r.add(f"{dtype.name}_denormals", [np.array([[small, 2 * small]], dtype), np.array([[1.0], [2.0]], dtype)],
              numpy_only=True)
    for dtype in INTS:
        top, low = np.iinfo(dtype).max, np.iinfo(dtype).min
        add(r, f"{dtype.name}_wraps_around", np.array([[top, 2], [low, -1], [top, top]], dtype),
            np.array([[2, 3], [top, low]], dtype))
    for dtype in HALVES:
        a, b = ROUNDINGS[dtype]   # TensorFlow rounds partial sums
        r.add(f"{dtype.name}_sums_beyond_its_precision", [np.array(a, dtype), np.array(b, dtype)], numpy_only=True)
    x = lambda *shape: values(F32, shape)
    r.error("inner_sizes_differ", [x(2, 3), x(4, 5)], {"transpose_a": False, "transpose_b": False}, contains="[2,3]")
    r.error("inner_sizes_differ_transposed", [x(2, 3), x(3, 5)], {"transpose_a": True, "transpose_b": False},
            contains="[2,3]")
    r.error("vector", [x(3), x(3, 2)])
    r.error("rank_3", [x(2, 2, 3), x(3, 2)])
    return r


BATCHES = (
    ((), ()), ((2,), (2,)), ((), (2,)), ((2,), ()), ((1,), (3,)), ((3,), (1,)), ((2, 3), (2, 3)), ((2, 1), (1, 3)),
    ((1, 3), (2, 1)), ((3,), (2, 3)), ((2, 3), ()), ((2, 1), (3,)), ((2, 1, 2), (1, 3, 1)),
    ((2, 2, 1, 2), (2, 2, 3, 2)), ((2, 1, 2, 1, 2), (2, 1, 2, 1, 2)), ((1, 2, 1, 2, 1, 2), (1, 2, 1, 2, 1, 2)),
    ((1, 2, 1, 2, 1, 2), (2,)), ((1, 2, 1, 2, 1, 2), (2, 1, 2, 1, 2, 1)), ((0,), (0,)), ((0,), (1,)), ((2, 0), (1, 1)),
)
BATCH_SIZES = ((3, 17, 33, 5), (5, 1, 65, 1), (2, 16, 16, 16), (2, 33, 9, 17), (17, 3, 3, 3), (2, 3, 0, 4),
               (2, 0, 3, 4), (2, 3, 4, 0), (3, 1, 100, 7))


def batch_mat_mul():
    def reference(x, attrs):
        a = flip(x[0]) if attrs.get("adj_x") else x[0]
        return product(a, flip(x[1]) if attrs.get("adj_y") else x[1])
    r = Recorder("BatchMatMul", "BatchMatMulV2", reference)
    r.keys = ("adj_x", "adj_y")
    for dtype in NUMBERS + HALVES + (I16,):
        for batch_a, batch_b in BATCHES if dtype == F32 else BATCHES[1:3] + BATCHES[7:8]:
            for first, second in FOUR if batch_a in ((2,), (2, 1)) else (FOUR[0], FOUR[3]):
                a, b = operands(dtype, batch_a, batch_b, 3, 4, 2, first, second)
                add(r, f"{dtype.name}_{text(a.shape)}_by_{text(b.shape)}" + "_adjx" * first + "_adjy" * second, a, b,
                    first, second)
        add(r, f"{dtype.name}_no_attributes", *operands(dtype, (2,), (2,), 3, 5, 2, False, False), explicit=False)
    for batch, m, k, n in BATCH_SIZES:
        add(r, f"float32_batch_{batch}_{m}x{k}x{n}", *operands(F32, (batch,), (batch,), m, k, n, False, False))
    add(r, "float32_17x33_by_one_matrix", *operands(F32, (4,), (), 17, 33, 5, False, False))
    top, low = np.iinfo(I16).max, np.iinfo(I16).min
    add(r, "int16_wraps_around", np.array([[[top, 2], [low, -1], [top, top], [300, 300]]], I16),
        np.array([[[2, 3], [top, low]]], I16))
    add(r, "int16_17x300x33", *operands(I16, (2,), (2,), 17, 300, 33, False, True), False, True)
    add(r, "int16_nothing_to_sum", *operands(I16, (2,), (2,), 3, 0, 4, False, False))
    a = np.array([[[np.inf, 0]], [[np.nan, 1]]], F32)
    add(r, "float32_special_values", a, np.array([[[1.0], [2.0]], [[0.0], [2.0]]], F32))
    x = lambda *shape: values(F32, shape)
    r.error("inner_sizes_differ", [x(2, 2, 3), x(2, 4, 5)], {"adj_x": False, "adj_y": False})
    r.error("inner_sizes_differ_adjoint", [x(2, 2, 3), x(2, 3, 5)], {"adj_x": True, "adj_y": False})
    r.error("batches_differ", [x(2, 2, 3), x(3, 3, 5)])
    r.error("vector", [x(3), x(3, 2)])
    return r


def build():
    return {"MatMul": mat_mul, "BatchMatMul": batch_mat_mul}
