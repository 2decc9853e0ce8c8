# SPDX-License-Identifier: Apache-2.0
"""Pack, Unpack, Split and SplitV: tensors stacked and cut along a dimension."""
import numpy as np

from golden_case import F32, I32, I64, MOVED_TYPES, Recorder, random_values
from golden_shapes import text

SHAPES = ((), (3,), (2, 3), (0, 2), (2, 1, 3), (1, 2, 1, 2, 1, 2, 3))


def pack():
    r = Recorder("Pack")
    for shape in SHAPES:
        for count in (1, 2, 5):
            for axis in sorted({0, -1, len(shape) // 2}):
                r.add(f"{text(shape)}_{count}_axis_{axis}".replace("-", "m"),
                      [random_values(F32, shape, "pack", i) for i in range(count)], {"axis": axis})
    for dtype in MOVED_TYPES:
        r.add(f"{dtype.name}", [random_values(dtype, (2, 3), "pack", i) for i in range(3)], {"axis": 1})
    x = random_values(F32, (2,), "pack")
    r.add("sixty_four", [random_values(F32, (2,), "pack", i) for i in range(64)], {"axis": 1})
    r.error("other_size", [x, x[:1]], contains="Shapes of all inputs must match: values[0].shape = [2] != values[1]")
    r.error("other_rank", [x, x[0]], contains="Shapes of all inputs must match")
    r.error("axis_too_large", [x, x], {"axis": 2}, contains="axis = 2 not in [-2, 2)")
    r.error("axis_too_small", [x, x], {"axis": -3}, contains="axis = -3 not in [-2, 2)")
    return r


def unpack():
    r = Recorder("Unpack")
    for shape in SHAPES[1:] + ((5, 0), (1, 4)):
        for axis in sorted({0, -1, len(shape) // 2}):
            if axis < len(shape) and shape[axis] > 0:  # a case has an output; test_output_list.c has none
                r.add(f"{text(shape)}_axis_{axis}".replace("-", "m"), [random_values(F32, shape, "unpack")],
                      {"num": shape[axis], "axis": axis})
    for dtype in MOVED_TYPES:
        r.add(f"{dtype.name}", [random_values(dtype, (3, 2), "unpack")], {"num": 3})
    for axis in (3, 7):
        r.add(f"of_rank_8_axis_{axis}", [random_values(F32, (1, 2, 1, 2, 1, 2, 1, 3), "unpack")], {"num": 3 if axis == 7 else 2, "axis": axis})
    x = random_values(F32, (2, 3), "unpack")
    r.add("sixty_four", [random_values(F32, (2, 64), "unpack")], {"num": 64, "axis": 1})
    r.error("other_number", [x], {"num": 3}, contains="Input shape axis 0 must equal 3, got shape [2,3]")
    r.error("axis_too_large", [x], {"num": 2, "axis": 2}, contains="axis = 2 not in [-2, 2)")
    r.error("scalar", [np.float32(1)], {"num": 1}, contains="axis = 0 not in [0, 0)")
    r.error("negative_number", [x], {"num": -1})
    return r


def split():
    r = Recorder("Split")
    for shape, axis, num in (((6,), 0, 2), ((6,), -1, 3), ((6,), 0, 6), ((4, 3), 0, 2), ((4, 3), 1, 3), ((4, 3), -2, 1),
                             ((0, 3), 0, 2), ((0, 4), 1, 2), ((2, 3, 8), 2, 4), ((1, 2, 1, 2, 2, 1, 4, 3), 6, 2)):
        r.add(f"{text(shape)}_{num}_axis_{axis}".replace("-", "m"), [np.array(axis, I32), random_values(F32, shape, "split")],
              {"num_split": num})
    for dtype in MOVED_TYPES:
        r.add(f"{dtype.name}", [np.array(1, I32), random_values(dtype, (3, 4), "split")], {"num_split": 2})
    x = random_values(F32, (2, 3), "split")
    r.error("uneven", [np.array(1, I32), x], {"num_split": 2},
            contains="but got split_dim 1 (size = 3) and num_split 2")
    r.error("axis_too_large", [np.array(2, I32), x], {"num_split": 2}, contains="but got 2")
    r.error("axis_too_small", [np.array(-3, I32), x], {"num_split": 2}, contains="but got -3")
    r.error("axis_a_vector", [np.array([0], I32), x], {"num_split": 2}, contains="split_dim must be a scalar but has rank 1")
    r.error("scalar", [np.array(0, I32), x[0, 0]], {"num_split": 1}, contains="-input rank(-0) <= split_dim < input rank (0)")
    r.error("no_parts", [np.array(0, I32), x], {"num_split": 0}, contains="must be at least minimum 1")
    return r


def split_v():
    r = Recorder("SplitV")
    for shape, sizes, axis in (((6,), (1, 2, 3), 0), ((6,), (6,), 0), ((6,), (0, 6), -1), ((6,), (2, -1, 1), 0),
                               ((4, 3), (3, 1), 0), ((4, 3), (-1, 0, 2), 1), ((0, 3), (0, 0), 0), ((3, 0), (1, -1), 0),
                               ((2, 3, 5), (1, 3, 1), -1), ((6,), (2, 4, -1), 0), ((1, 2, 1, 2, 2, 1, 4, 3), (1, 3), 6)):
        for index in (I32, I64):
            name = "_".join(map(str, sizes))
            r.add(f"{index.name}_{text(shape)}_{name}_axis_{axis}".replace("-", "m"),
                  [random_values(F32, shape, "split_v"), np.array(sizes, index), np.array(axis, I32)],
                  {"num_split": len(sizes)})
    for dtype in MOVED_TYPES:
        r.add(f"{dtype.name}", [random_values(dtype, (3, 4), "split_v"), np.array([3, 1], I64), np.array(1, I32)],
              {"num_split": 2})
    x = random_values(F32, (2, 3), "split_v")

    def bad(name, sizes, axis, num, contains):
        r.error(name, [x, np.array(sizes, I32), np.array(axis, I32)], {"num_split": num}, contains=contains)
    bad("too_little", [1, 1], 1, 2, "Determined shape must either match input shape along split_dim exactly")
    bad("too_much", [1, 4], 1, 2, "Determined shape must either match")
    bad("too_much_beside_the_rest", [4, -1], 1, 2, "Determined shape must either match")
    bad("three_sizes_for_two", [1, 1, 1], 1, 2, "got 1 -D and 3 elements")
    bad("two_open", [-1, -1], 1, 2, "There can only be one -1 in the input.")
    bad("negative", [-2, 5], 1, 2, "Split size at index 0 must be >= 0. Got: -2")
    bad("only_one_too_small", [2], 1, 1, "Input size: 3 output size: 2")
    bad("axis_too_large", [1, 2], 2, 2, "-input rank(-2) <= split_dim < input rank (2), but got 2")
    bad("sizes_a_matrix", [[1, 2]], 1, 2, "got 2 -D and 2 elements")
    return r


def build():
    return {"Pack": pack, "Split": split, "SplitV": split_v, "Unpack": unpack}
