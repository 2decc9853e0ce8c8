"""Ops on the matrices in a tensor's last two dimensions: MatrixBandPart."""
import numpy as np

from golden_case import F32, I32, I64, MOVED_TYPES, Recorder, random_values
from golden_shapes import text


def band_reference(inputs, attrs):
    x, lower, upper = inputs
    rows, columns = np.indices(x.shape[-2:])
    kept = ((lower < 0) | (rows - columns <= lower)) & ((upper < 0) | (columns - rows <= upper))
    return np.where(kept, x, np.zeros((), x.dtype)).astype(x.dtype)


def matrix_band_part():
    r = Recorder("MatrixBandPart", reference=band_reference)
    shapes = ((1, 1), (3, 3), (5, 2), (2, 7), (2, 3, 4), (0, 3), (3, 0), (0, 2, 2), (1, 2, 1, 2, 1, 1, 5, 3))
    for dtype in MOVED_TYPES:
        for shape in shapes if dtype == F32 else ((3, 4), (2, 5, 5)):
            most = min(shape[-2:])
            for lower, upper in {(0, 0), (-1, 0), (0, -1), (min(1, most), min(2, most)), (-1, -1)}:
                index = I64 if lower == 0 else I32
                r.add(f"{dtype.name}_{text(shape)}_{lower}_{upper}".replace("-", "m"),
                      [random_values(dtype, shape, "band"), np.array(lower, index), np.array(upper, index)])
    x = random_values(F32, (3, 4), "band")
    r.error("vector", [x[0], np.array(0, I64), np.array(0, I64)], contains="must be at least 2-dim")
    r.error("lower_too_large", [x, np.array(4, I64), np.array(0, I64)], contains="num_lower must be negative or less")
    r.error("upper_too_large", [x, np.array(0, I64), np.array(5, I64)], contains="num_upper must be negative or less")
    r.error("lower_not_a_scalar", [x, np.array([0, 1], I64), np.array(0, I64)])
    return r


def build():
    return {"MatrixBandPart": matrix_band_part}
