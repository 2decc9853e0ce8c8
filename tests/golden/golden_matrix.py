# SPDX-License-Identifier: Apache-2.0
"""Ops on the matrices in a tensor's last two dimensions: MatrixBandPart, MatrixDiag, MatrixDiagPart, MatrixSetDiag."""
import numpy as np

from golden_case import F32, I32, I64, MOVED_TYPES, Recorder, cycled, random_values
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


ALIGNMENTS = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")
FURTHER_TYPES = MOVED_TYPES + (np.dtype("uint32"), np.dtype("uint64"))


def values(dtype, shape, *name):
    return cycled(random_values(dtype, shape, "diagonals", *name), 29)


def ints(k):
    return np.array(k, I32)


def length_of(d, rows, columns):
    return min(rows + min(d, 0), columns - max(d, 0))


def places(rows, columns, lower, upper, align):
    """(row of the band, place in it, row, column) of every element of the diagonals."""
    longest = max(length_of(d, rows, columns) for d in range(lower, upper + 1))
    for d in range(upper, lower - 1, -1):
        n = length_of(d, rows, columns)
        above, below = align.split("_")
        is_left = (d >= 0 and above == "LEFT") or (d <= 0 and below == "LEFT")
        start = 0 if is_left else longest - n
        for i in range(n):
            yield upper - d, start + i, i - min(d, 0), i + max(d, 0)


def band_of(k):
    return int(np.min(k)), int(np.max(k))


def as_band(diagonal, lower, upper):
    return diagonal.reshape(diagonal.shape[:-1] + (1, diagonal.shape[-1])) if lower == upper else diagonal


def set_reference(x, diagonal, k, align):
    lower, upper = band_of(k)
    out, band = x.copy(), as_band(diagonal, lower, upper)
    for at, place, row, column in places(*x.shape[-2:], lower, upper, align):
        out[..., row, column] = band[..., at, place]
    return out


def diag_reference(inputs, attrs):
    diagonal, k, rows, columns, padding = (list(inputs) + [ints(0), ints(-1), ints(-1), None][len(inputs) - 1:])[:5]
    lower, upper = band_of(k)
    least = (diagonal.shape[-1] - min(upper, 0), diagonal.shape[-1] + max(lower, 0))
    sizes = [int(rows), int(columns)]
    if sizes == [-1, -1]:
        sizes = [max(least)] * 2
    sizes = [n if s == -1 else s for s, n in zip(sizes, least)]
    shape = as_band(diagonal, lower, upper).shape[:-2] + tuple(sizes)
    out = np.full(shape, padding if padding is not None else np.zeros((), diagonal.dtype), diagonal.dtype)
    return set_reference(out, diagonal, k, attrs.get("align", "RIGHT_LEFT"))


def part_reference(inputs, attrs):
    x, k, padding = (list(inputs) + [ints(0), None][len(inputs) - 1:])[:3]
    lower, upper = band_of(k)
    rows, columns = x.shape[-2:]
    longest = max(length_of(d, rows, columns) for d in range(lower, upper + 1))
    out = np.full(x.shape[:-2] + (upper - lower + 1, longest), padding if padding is not None else 0, x.dtype)
    for at, place, row, column in places(rows, columns, lower, upper, attrs.get("align", "RIGHT_LEFT")):
        out[..., at, place] = x[..., row, column]
    return out[..., 0, :] if lower == upper else out


def named(*numbers):
    return "_".join(str(int(n)) for part in numbers for n in np.ravel(part)).replace("-", "m")


def matrix_diag():
    r = Recorder("MatrixDiag", "MatrixDiag", diag_reference)
    for shape in ((1,), (3,), (17,), (2, 3), (0,), (2, 0), (1, 2, 1, 2, 1, 1, 3)):
        r.add(f"float32_{text(shape)}", [values(F32, shape)])
    r.error("scalar", [values(F32, ())], contains="diagonal must be at least 1-dim, received shape: []")
    r.tf_op = "MatrixDiagV3"
    cases = (((3,), 1, -1, -1), ((3,), -2, -1, -1), ((3,), 0, 5, -1), ((3,), 0, -1, 6), ((3,), 1, 3, -1), ((3,), -1, 6, 3),
             ((3,), (0, 0), 3, 4), ((2, 3), (0, 1), -1, -1), ((2, 3), (-1, 0), 3, 5), ((3, 2), (-1, 1), 3, 2),
             ((4, 3), (-2, 1), -1, -1), ((2, 3, 4), (-1, 1), 4, 5), ((2, 3), (2, 3), -1, -1), ((2, 1, 3), (1, 1), -1, -1),
             ((2, 2, 3), (-3, -2), 6, -1), ((2, 0), (0, 1), -1, -1), ((1, 2, 1, 2, 1, 1, 2, 3), (0, 1), 3, 3))
    for shape, k, rows, columns in cases:
        x = values(F32, shape)
        for align in ALIGNMENTS if np.ndim(k) and k[0] != k[1] and len(shape) < 4 else ("RIGHT_LEFT",):
            r.add(f"float32_{text(shape)}_{named(k, rows, columns)}_{align.lower()}",
                  [x, ints(k), ints(rows), ints(columns), np.array(-7.5, F32)], {"align": align})
    for dtype in FURTHER_TYPES:
        r.add(f"{dtype.name}", [values(dtype, (2, 3)), ints((0, 1)), ints(3), ints(4), values(dtype, (), "padding")])
    x, none, zero = values(F32, (2, 3)), ints(-1), np.array(0, F32)
    r.error("rows_too_few", [x, ints(0), ints(2), none, zero], contains="The number of rows is too small.")
    r.error("rows_below_minus_1", [x, ints(0), ints(-2), none, zero], contains="The number of rows is too small.")
    r.error("columns_too_few", [x, ints(1), none, ints(3), zero], contains="The number of columns is too small.")
    r.error("both_too_many", [x, ints(0), ints(4), ints(4), zero], contains="The number of rows or columns is not consistent")
    r.error("diagonals_too_few", [x, ints((0, 2)), none, none, zero], contains="The number of diagonals provided in the input does not match")
    r.error("all_diagonals", [x, ints((-2**31, 2**31 - 1)), none, none, zero], contains="The number of diagonals provided")
    r.error("vector_of_diagonals", [x[0], ints((0, 1)), none, none, zero], contains="The number of diagonals provided")
    r.error("k_falling", [x, ints((1, 0)), none, none, zero], contains="lower_diag_index must not be larger than upper_diag_index: 1 > 0")
    r.error("k_of_3", [x, ints((0, 1, 2)), none, none, zero], contains="diag_index must have only one or two elements, received 3 elements.")
    r.error("k_of_none", [x, np.zeros(0, I32), none, none, zero])
    r.error("k_a_matrix", [x, ints([[0]]), none, none, zero], contains="diag_index must be a scalar or vector, received shape: [1,1]")
    r.error("rows_a_vector", [x, ints(0), ints([3]), none, zero], contains="num_rows must be a scalar")
    r.error("columns_a_vector", [x, ints(0), none, ints([3]), zero], contains="num_cols must be a scalar")
    r.error("padding_a_vector", [x, ints(0), none, none, np.zeros(1, F32)], contains="padding_value must be a scalar")
    r.error("align_unknown", [x, ints(0), none, none, zero], {"align": "RIGHT"}, contains="\"RIGHT\" is not in the list of allowed values")
    return r


BANDS = (((3, 3), 0), ((3, 3), 2), ((3, 3), -2), ((2, 5), (0, 0)), ((3, 4), (-1, 2)), ((3, 4), (-2, 3)), ((5, 2), (-4, 1)),
         ((5, 3), (-3, -1)), ((2, 3, 4), (1, 2)), ((2, 3, 3), (-1, 1)), ((2, 17, 9), (-3, 1)), ((0, 3, 3), (0, 1)))
SOME_BANDS = (((0, 3), 0), ((3, 0), 0), ((0, 0), 0), ((1, 2, 1, 2, 1, 1, 3, 4), (-1, 1)))


def alignments_of(shape, k):
    return ALIGNMENTS if np.ndim(k) and k[0] != k[1] and len(shape) < 4 and shape[0] != 0 else ("RIGHT_LEFT",)


def band_refusals(r, call):
    r.error("k_too_large", call(ints(4)), contains="lower_diag_index is out of bound: 4")
    r.error("k_too_small", call(ints(-3)), contains="lower_diag_index is out of bound: -3")
    r.error("upper_too_large", call(ints((-2, 4))), contains="upper_diag_index is out of bound: 4")
    r.error("all_diagonals", call(ints((-2**31, 2**31 - 1))), contains="lower_diag_index is out of bound: -2147483648")
    r.error("k_falling", call(ints((1, 0))), contains="lower_diag_index must not be larger than upper_diag_index: 1 > 0")
    r.error("k_of_3", call(ints((0, 1, 2))), contains="diag_index must have only one or two elements, received 3 elements.")
    r.error("k_a_matrix", call(ints([[0], [1]])), contains="diag_index must be a scalar or vector, received shape: [2,1]")
    r.error("align_unknown", call(ints(0)), {"align": "UP_DOWN"}, contains="\"UP_DOWN\" is not in the list of allowed values")


def matrix_diag_part():
    r = Recorder("MatrixDiagPart", "MatrixDiagPart", part_reference)
    for shape in ((1, 1), (3, 3), (2, 5), (5, 2), (2, 3, 4), (1, 2, 1, 2, 1, 1, 3, 2)):
        r.add(f"float32_{text(shape)}", [values(F32, shape)])
    r.error("vector", [values(F32, (3,))], contains="input must be at least 2-dim, received shape: [3]")
    r.tf_op = "MatrixDiagPartV3"
    for shape, k in BANDS + SOME_BANDS:
        for align in alignments_of(shape, k):
            r.add(f"float32_{text(shape)}_{named(k)}_{align.lower()}", [values(F32, shape), ints(k), np.array(-7.5, F32)],
                  {"align": align})
    for dtype in FURTHER_TYPES:
        r.add(f"{dtype.name}", [values(dtype, (3, 4)), ints((-1, 2)), values(dtype, (), "padding")])
    x = values(F32, (3, 4))
    band_refusals(r, lambda k: [x, k, np.array(0, F32)])
    r.error("padding_a_vector", [x, ints(0), np.zeros(2, F32)], contains="must be")
    return r


def matrix_set_diag():
    r = Recorder("MatrixSetDiag", "MatrixSetDiag",
                 lambda x, a: set_reference(x[0], x[1], x[2] if len(x) > 2 else ints(0), a.get("align", "RIGHT_LEFT")))
    for shape in ((1, 1), (3, 3), (2, 5), (5, 2), (2, 3, 4), (1, 2, 1, 2, 1, 1, 3, 2)):
        r.add(f"float32_{text(shape)}", [values(F32, shape), values(F32, shape[:-2] + (min(shape[-2:]),), "new")])
    x = values(F32, (3, 4))
    r.error("diagonal_too_short", [x, x[0, :2]])
    r.error("vector", [x[0], x[0]], contains="input must be at least 2-dim, received shape: [4]")
    r.tf_op = "MatrixSetDiagV3"
    for shape, k in BANDS + SOME_BANDS:
        diagonal = values(F32, part_reference([np.zeros(shape, F32), ints(k)], {}).shape, "new")
        for align in alignments_of(shape, k):
            r.add(f"float32_{text(shape)}_{named(k)}_{align.lower()}", [values(F32, shape), diagonal, ints(k)],
                  {"align": align})
    for dtype in FURTHER_TYPES:
        r.add(f"{dtype.name}", [values(dtype, (3, 4)), values(dtype, (2, 3), "new"), ints((-1, 0))])
    band_refusals(r, lambda k: [x, x[0, :3], k])
    r.error("diagonal_a_scalar", [x, x[0, 0], ints(0)], contains="diagonal must be at least 1-dim, received shape: []")
    r.error("diagonals_too_few", [x, x[:, :3], ints((0, 1))])
    r.error("diagonals_too_short", [x, x[:2, :2], ints((0, 1))])
    r.error("matrices_too_few", [values(F32, (2, 3, 4)), x[0, :3], ints(0)])
    return r


def build():
    return {"MatrixBandPart": matrix_band_part, "MatrixDiag": matrix_diag, "MatrixDiagPart": matrix_diag_part,
            "MatrixSetDiag": matrix_set_diag}
