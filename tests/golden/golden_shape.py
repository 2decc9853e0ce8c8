# SPDX-License-Identifier: Apache-2.0
"""Ops that move elements: Pad, MirrorPad, Tile, Reverse, Roll, SpaceToDepth, DepthToSpace,
SpaceToBatchND, BatchToSpaceND, InvertPermutation."""
import numpy as np

from golden_case import F32, I32, I64, INTS, MOVED_TYPES, Recorder, cycled, random_values, rng_for
from golden_shapes import text

FURTHER_TYPES = MOVED_TYPES + (np.dtype("uint32"), np.dtype("uint64"))
RANK8 = (2, 1, 3, 1, 2, 1, 2, 3)


def values(dtype, shape, *name):
    return cycled(random_values(dtype, shape, "shape", *name), 29)


def ints(*numbers, dtype=I32):
    return np.array(numbers, dtype=dtype)


def named(numbers):
    return "_".join(str(n).replace("-", "m") for n in numbers) or "none"


# paddings as pairs (before, after)
PADDINGS = (((), ()), ((5,), ((0, 0),)), ((5,), ((2, 0),)), ((5,), ((0, 3),)), ((5,), ((4, 4),)),
            ((3, 4), ((1, 2), (2, 1))),
            ((3, 4), ((0, 0), (1, 1))), ((3, 4), ((2, 2), (0, 0))), ((1, 7), ((0, 0), (3, 6))),
            ((2, 3, 4), ((1, 1), (0, 0), (2, 0))), ((2, 3, 4), ((0, 0), (2, 1), (0, 0))), ((2, 130), ((1, 0), (65, 2))),
            ((2, 3, 2, 5), ((0, 1), (1, 0), (1, 1), (0, 4))), ((2, 3, 2, 3, 2), ((1, 0), (0, 0), (0, 1), (2, 2), (0, 0))))


def pad():
    def reference(x, a):
        value = x[2] if len(x) > 2 else np.zeros((), x[0].dtype)
        return np.pad(x[0], [tuple(p) for p in x[1]], constant_values=value) if x[0].ndim else x[0]
    r = Recorder("Pad", "Pad", reference)
    more = (((0,), ((2, 1),)), ((0, 3), ((1, 1), (0, 2))), ((2, 0), ((0, 0), (3, 70))), ((3,), ((0, 0),)),
            ((2, 1, 3, 1, 2, 1), ((0, 1), (1, 0), (0, 0), (2, 0), (0, 0), (0, 1))))
    for shape, pairs in PADDINGS + more:
        for index in INTS if len(shape) == 2 else (I32,):
            paddings = np.array(pairs, index).reshape(-1, 2)
            r.add(f"float32_{text(shape)}_by_{named(paddings.ravel())}_{index.name}", [values(F32, shape), paddings])
    x, paddings = values(F32, RANK8), np.array(((0, 1), (1, 0), (0, 0), (1, 1), (0, 0), (0, 0), (1, 0), (0, 2)), I32)
    r.add("rank_8", [x, paddings], numpy_only=True)   # TensorFlow: up to rank 6
    r.error("paddings_too_few", [x, paddings[:7]], contains="The first dimension of paddings must be the rank of inputs")
    x, paddings = values(F32, (3, 4)), np.array(((1, 0), (0, 2)), I32)
    r.error("paddings_not_a_matrix", [x, ints(1, 1)], contains="paddings must be a matrix with 2 columns: [2]")
    r.error("paddings_of_3_columns", [x, np.zeros((2, 3), I32)], contains="paddings must be a matrix with 2 columns: [2,3]")
    r.error("paddings_negative", [x, np.array(((1, -1), (0, 0)), I32)], contains="Paddings must be non-negative: 1 -1")
    r.error("paddings_overflow", [x, np.array(((2**62, 2**62), (0, 0)), I64)])
    r.tf_op = "PadV2"
    for dtype in FURTHER_TYPES:
        r.add(f"{dtype.name}_value", [values(dtype, (3, 4)), paddings, values(dtype, (), "value")])
        r.add(f"{dtype.name}_value_rows", [values(dtype, (2, 2, 3)), np.array(((1, 0), (0, 0), (0, 1)), I64),
                                           values(dtype, (), "value")])
    for label, value in (("nan", np.nan), ("minus_infinity", -np.inf), ("minus_zero", -0.0)):
        r.add(f"float32_{label}", [x, paddings, np.array(value, F32)])
    r.add("float32_empty_value", [values(F32, (0, 3)), np.array(((1, 1), (0, 2)), I32), np.array(2.5, F32)])
    r.error("value_not_a_scalar", [x, paddings, np.zeros(1, F32)], contains="constant_values must be a scalar. Found: [1]")
    pad_beyond_tensorflow(r)
    return r


# Attributes that TensorFlow does not have. Paddings below 0 remove elements first; then NumPy's modes pad what is left.
MODES = {"EDGE": "edge", "WRAP": "wrap", "REFLECT": "reflect", "SYMMETRIC": "symmetric"}
EXTENDED = (((5,), ((2, 3),)), ((3,), ((11, 8),)), ((1,), ((3, 2),)), ((2,), ((7, 0),)), ((5,), ((-2, 4),)), ((6,), ((-1, -2),)),
            ((5,), ((9, -3),)), ((3, 4), ((1, 2), (5, 9))), ((3, 4), ((4, 0), (0, 0))), ((4, 3), ((-1, -1), (0, 0))),
            ((3, 1, 4), ((2, 0), (0, 3), (0, 0))), ((2, 4, 1), ((1, 1), (-1, -2), (0, 0))), ((2, 3, 4), ((0, 0), (7, -1), (0, 0))),
            ((2, 3, 4), ((0, 0), (0, 0), (-3, 5))), ((2, 130), ((1, 0), (300, 2))), ((0, 3), ((0, 0), (1, 7))))
# shape, paddings, elements in between
SPACED = (((3,), ((0, 0),), (1,)), ((3,), ((2, 1),), (2,)), ((4,), ((-1, -2),), (1,)), ((4,), ((-2, 3),), (2,)), ((3,), ((-20, 30),), (1,)),
          ((0,), ((1, 2),), (3,)), ((1,), ((1, -1),), (5,)), ((2, 3), ((0, 1), (1, 0)), (0, 2)), ((2, 3), ((1, 0), (0, 0)), (2, 0)),
          ((3, 2, 2), ((0, 0), (-1, 1), (0, 0)), (0, 1, 0)), ((2, 1, 3), ((1, 1), (0, 0), (-1, -1)), (3, 4, 1)),
          ((2, 90), ((0, 1), (5, -7)), (1, 1)), ((2, 0), ((0, 0), (1, 1)), (1, 1)))


def extended(x, a):
    cut = tuple(slice(max(0, -int(p[0])), n - max(0, -int(p[1]))) for n, p in zip(x[0].shape, x[1]))
    kept, paddings = x[0][cut], np.maximum(x[1], 0)
    if kept.size == 0:
        return np.empty(np.array(kept.shape) + paddings.sum(1), x[0].dtype)
    return np.pad(kept, [tuple(int(n) for n in p) for p in paddings], mode=MODES[a["mode"]])


def spaced(x, a):
    value, at = x[2] if len(x) > 2 else np.zeros((), x[0].dtype), x[0]
    for d, (low, high) in enumerate(x[1]):
        apart = (a.get("interior") or [0] * at.ndim)[d] + 1
        whole = max((at.shape[d] - 1) * apart + 1, 0)
        out = np.full(at.shape[:d] + (whole + low + high,) + at.shape[d + 1:], value, at.dtype)
        for i in range(at.shape[d]):
            if 0 <= low + i * apart < out.shape[d]:
                out[(slice(None),) * d + (low + i * apart,)] = at[(slice(None),) * d + (i,)]
        at = out
    return at


def pad_beyond_tensorflow(r):
    def add(label, x, pairs, attrs, *value):
        paddings = np.array(pairs, I64 if len(pairs) == 2 else I32)
        r.reference = spaced if attrs.get("mode", "CONSTANT") == "CONSTANT" else extended
        if (paddings < 0).any():
            attrs = {**attrs, "crop": True}
        r.add(label, [x, paddings, *value], attrs, numpy_only=True)
    for mode in MODES:
        for shape, pairs in EXTENDED:
            add(f"{mode.lower()}_{text(shape)}_by_{named(np.ravel(pairs))}", values(F32, shape), pairs, {"mode": mode})
        add(f"{mode.lower()}_rank_8", values(F32, RANK8), ((0, 1), (1, 0), (0, 0), (1, 1), (-1, 0), (0, 0), (3, 0), (0, 5)),
            {"mode": mode})
        for error, shape, pairs in (("of_nothing", (0, 3), ((1, 0), (0, 0))), ("of_nothing_left", (3,), ((-3, 1),)),
                                    ("too_short", (3,), ((-4, 2),))):
            r.our_error(f"{mode.lower()}_{error}", [values(F32, shape), np.array(pairs, I32)], {"mode": mode, "crop": True},
                    contains="remove more than the 3 elements of dimension 0" if error == "too_short" else
                    "need an element of dimension 0 to repeat, and none of")
        r.our_error(f"{mode.lower()}_negative", [values(F32, (3,)), np.array(((-1, 1),), I32)], {"mode": mode},
                contains="Paddings must be non-negative: -1 1")
        r.our_error(f"{mode.lower()}_interior", [values(F32, (3,)), np.array(((1, 1),), I32)], {"mode": mode, "interior": [1]},
                contains=f"interior has 1 numbers in mode {mode} of an input of rank 1")
    for shape, pairs, interior in SPACED:
        add(f"interior_{text(shape)}_by_{named(np.ravel(pairs))}_and_{named(interior)}", values(F32, shape), pairs,
            {"interior": list(interior)}, np.array(2.5, F32))
    for shape, pairs in (((5,), ((-1, -2),)), ((5,), ((-4, 3),)), ((5,), ((-9, 12),)), ((3, 4), ((-1, 2), (3, -2))), ((3,), ((-3, 0),)),
                         ((3, 4), ((-(2**62), 2**62), (0, 0))), ((3, 4), ((2**62, -(2**62)), (0, 0)))):
        add(f"crop_{text(shape)}_by_{named(np.ravel(pairs))}", values(F32, shape), pairs, {})
    add("interior_far", values(F32, (2, 5)), ((-1, 2 - 2**40), (0, 0)), {"interior": [2**40, 0]})
    add("interior_far_end", values(F32, (2, 5)), ((-1 - 2**40, 1), (0, 0)), {"interior": [2**40, 0]})
    for dtype in FURTHER_TYPES:
        add(f"{dtype.name}_edge", values(dtype, (2, 3)), ((0, 1), (2, 1)), {"mode": "EDGE"})
        add(f"{dtype.name}_wrap", values(dtype, (2, 3)), ((0, 1), (4, 1)), {"mode": "WRAP"})
        add(f"{dtype.name}_reflect", values(dtype, (2, 3)), ((0, 3), (4, 1)), {"mode": "REFLECT"})
        add(f"{dtype.name}_interior", values(dtype, (2, 3)), ((0, 1), (-1, 1)), {"interior": [1, 2]}, values(dtype, (), "value"))
    x = values(F32, (3,))
    r.our_error("interior_of_another_rank", [x, np.array(((1, 1),), I32)], {"interior": [1, 1]}, contains="interior has 2 numbers")
    r.our_error("interior_negative", [x, np.array(((1, 1),), I32)], {"interior": [-1]}, contains="interior[0] must not be negative: -1")
    r.our_error("crop_too_much", [x, np.array(((-2, -2),), I32)], {"crop": True}, contains="remove more than the 3 elements of dimension 0")
    r.our_error("mode_unknown", [x, np.array(((1, 1),), I32)], {"mode": "MEAN"}, contains="\"MEAN\" is not in the list")


def mirror_pad():
    def reference(x, a):
        mode = {"REFLECT": "reflect", "SYMMETRIC": "symmetric"}[a["mode"]]
        if x[0].size == 0:
            return np.empty(np.array(x[0].shape) + x[1].sum(1), x[0].dtype)
        if x[0].ndim == 0:
            return x[0]
        return np.pad(x[0], [tuple(p) for p in x[1]], mode=mode)
    r = Recorder("MirrorPad", reference=reference)
    for mode in ("REFLECT", "SYMMETRIC"):
        for shape, pairs in PADDINGS:
            paddings = np.array(pairs, I64 if len(shape) == 3 else I32).reshape(-1, 2)
            most = np.array(shape, int) - (mode == "REFLECT")
            paddings = np.minimum(paddings, most[:, None]).astype(paddings.dtype)
            r.add(f"{mode.lower()}_{text(shape)}_by_{named(paddings.ravel())}", [values(F32, shape), paddings],
                  {"mode": mode})
        for dtype in FURTHER_TYPES:
            if dtype.name not in ("uint32", "uint64") or mode == "REFLECT":
                r.add(f"{mode.lower()}_{dtype.name}", [values(dtype, (3, 4)), np.array(((1, 2), (3, 1)), I32)], {"mode": mode})
        paddings = np.array(((1, 0), (0, 0), (2, 1), (0, 0), (0, 1), (0, 0), (1, 1), (2, 0)), I32)
        r.add(f"{mode.lower()}_rank_8", [values(F32, RANK8), paddings], {"mode": mode}, numpy_only=True)
        # more padding, and longer rows, than processors handle at once
        r.add(f"{mode.lower()}_long", [values(F32, (2, 150)), np.array(((1, 1), (100, 149)), I32)], {"mode": mode})
        x = values(F32, (3, 4))
        what = "not less than" if mode == "REFLECT" else "greater than"
        r.error(f"{mode.lower()}_too_much", [x, np.array(((0, 0), (0, 5)), I32)], {"mode": mode}, contains=f"0, 5 {what} 4")
        r.error(f"{mode.lower()}_negative", [x, np.array(((0, 0), (-1, 0)), I32)], {"mode": mode},
                contains="paddings must be non-negative: -1 0")
        r.error(f"{mode.lower()}_empty_padded", [values(F32, (0, 3)), np.array(((1, 0), (0, 0)), I32)], {"mode": mode})
        r.error(f"{mode.lower()}_too_few", [x, np.array(((1, 0),), I32)], {"mode": mode}, contains="must be the rank of inputs")
    r.add("symmetric_empty", [values(F32, (0, 3)), np.array(((0, 0), (1, 1)), I32)], {"mode": "SYMMETRIC"})
    r.error("reflect_empty_unpadded", [values(F32, (0, 3)), np.array(((0, 0), (1, 1)), I32)], {"mode": "REFLECT"})
    r.error("mode_wrap", [x, np.array(((1, 0), (0, 0)), I32)], {"mode": "WRAP"}, contains="\"WRAP\" is not in the list")
    r.error("mode_missing", [x, np.array(((1, 0), (0, 0)), I32)], contains="mode")
    return r


def tile():
    r = Recorder("Tile", reference=lambda x, a: np.tile(x[0], tuple(x[1])) if x[0].ndim else x[0])
    cases = (((), ()), ((5,), (1,)), ((5,), (3,)), ((1,), (17,)), ((3, 4), (1, 2)), ((3, 4), (2, 1)), ((3, 4), (2, 3)),
             ((1, 4), (5, 1)), ((3, 1), (1, 9)), ((2, 3, 4), (1, 2, 1)), ((2, 3, 4), (2, 1, 2)), ((2, 3, 4), (3, 2, 2)),
             ((2, 1, 3), (1, 33, 1)), ((3, 65), (2, 2)), ((2, 33), (2, 5)), ((3, 4), (0, 2)), ((0, 3), (2, 2)),
             ((2, 3, 2, 3), (1, 2, 2, 1)), ((2, 1, 2, 3, 2), (1, 2, 1, 2, 2)), (RANK8, (1, 2, 1, 2, 1, 2, 1, 2)),
             ((2,) * 8, (2, 1, 2, 1, 2, 1, 2, 1)), ((1, 2) * 4, (2, 1) * 4))
    for shape, multiples in cases:
        for index in INTS if len(shape) < 3 else (I32,):
            r.add(f"float32_{text(shape)}_by_{named(multiples)}_{index.name}",
                  [values(F32, shape), ints(*multiples, dtype=index)])
    for dtype in FURTHER_TYPES:
        r.add(f"{dtype.name}_3x2_by_2_3", [values(dtype, (3, 2)), ints(2, 3)])
    x = values(F32, (3, 4))
    r.error("multiples_too_few", [x, ints(2)], contains="Expected multiples argument to be a vector of length 2 but got length 1")
    r.error("multiples_for_a_scalar", [values(F32, ()), ints(2)], contains="of length 0 but got length 1")
    r.error("multiples_negative", [x, ints(2, -1)], contains="Expected multiples[1] >= 0, but got -1")
    r.error("multiples_not_a_vector", [x, np.ones((1, 2), I32)], contains="Expected multiples to be 1-D, but got shape [1,2]")
    r.error("too_large", [x, ints(2**40, 2**40, dtype=I64)])
    r.error("overflow", [x, ints(2**62, 1, dtype=I64)])
    return r


def reverse():
    def reference(x, a):
        return np.flip(x[0], tuple(int(n) for n in x[1])) if x[0].ndim else x[0]
    r = Recorder("Reverse", "ReverseV2", reference)
    cases = (((), ()), ((), (0,)), ((5,), ()), ((5,), (0,)), ((5,), (-1,)), ((1,), (0,)), ((3, 4), (0,)), ((3, 4), (1,)),
             ((3, 4), (0, 1)), ((3, 4), (-1, 0)), ((2, 3, 4), (1,)), ((2, 3, 4), (0, 2)), ((2, 3, 4), (2, 1, 0)),
             ((17, 33), (0,)), ((17, 33), (1,)), ((3, 2, 5, 2), (1, 3)), ((0, 3), (0, 1)), ((3, 0), (1,)),
             ((2, 3, 2, 3, 2), (0, 2, 4)), (RANK8, (0, 2, 7)), ((2,) * 8, (1, -2)), ((2,) * 8, tuple(range(8))))
    for shape, axes in cases:
        for index in INTS if len(shape) < 3 else (I32,):
            r.add(f"float32_{text(shape)}_along_{named(axes)}_{index.name}", [values(F32, shape), ints(*axes, dtype=index)])
    for dtype in FURTHER_TYPES:
        r.add(f"{dtype.name}_3x5", [values(dtype, (3, 5)), ints(1)])
    x = values(F32, (3, 4))
    r.error("axis_twice", [x, ints(0, -2)], contains="axis 0 specified more than once.")
    r.error("axis_too_large", [x, ints(2)], contains="'axis'[0] = 2 is out of valid range [")
    r.error("axis_too_small", [x, ints(0, -3)], contains="'axis'[1] = -3 is out of valid range [")
    r.error("axis_not_a_vector", [x, np.array(0, I32)], contains="'dims' must be 1-dimension, not 0")
    return r


def roll():
    def reference(x, a):
        return np.roll(x[0], [int(n) for n in np.atleast_1d(x[1])], [int(n) for n in np.atleast_1d(x[2])])
    r = Recorder("Roll", reference=reference)
    cases = (((5,), (1,), (0,)), ((5,), (-2,), (0,)), ((5,), (13,), (-1,)), ((1,), (3,), (0,)), ((3, 4), (1,), (0,)),
             ((3, 4), (1,), (1,)), ((3, 4), (1, -1), (0, 1)), ((3, 4), (1, 1), (1, 1)), ((3, 4), (0,), (0,)), ((3, 4), (), ()),
             ((3, 130), (65,), (1,)), ((2, 3, 4), (1,), (1,)), ((2, 3, 4), (-1, 2), (-3, 2)), ((0, 3), (1, 1), (0, 1)),
             ((3, 0), (2,), (1,)), ((2, 3, 2, 3, 2), (1, 2, 1), (0, 3, 4)), (RANK8, (1, -1, 1, 4), (0, 2, 6, 7)),
             ((2,) * 8, (1,) * 8, tuple(range(8))))
    for shape, shifts, axes in cases:
        for index in INTS if len(shape) == 2 else (I32,):
            r.add(f"float32_{text(shape)}_{named(shifts)}_along_{named(axes)}_{index.name}",
                  [values(F32, shape), ints(*shifts, dtype=index), ints(*axes, dtype=I64 if index == I32 else I32)])
    r.add("scalars", [values(F32, (3, 4)), np.array(2, I32), np.array(1, I32)])
    r.add("int64_lowest", [values(F32, (3, 4)), ints(-2**63, dtype=I64), ints(1)], numpy_only=True)
    for dtype in FURTHER_TYPES:
        r.add(f"{dtype.name}_3x5", [values(dtype, (3, 5)), ints(1, -2), ints(0, 1)])
    x = values(F32, (3, 4))
    r.error("counts_differ", [x, ints(1, 2), ints(0)], contains="shift and axis must have the same size")
    r.error("scalar_and_vector", [x, np.array(1, I32), ints(0)], contains="shift and axis must have the same size")
    r.error("axis_too_large", [x, ints(1), ints(2)], contains="axis 2 is out of range")
    r.error("axis_too_small", [x, ints(1), ints(-3)], contains="axis -1 is out of range")
    r.error("input_a_scalar", [values(F32, ()), ints(1), ints(0)], contains="input must be 1-D or higher")
    r.error("shift_a_matrix", [x, np.ones((1, 1), I32), ints(0)], contains="shift must be a scalar or a 1-D vector. Found: [1,1]")
    r.error("axis_a_matrix", [x, ints(1), np.ones((1, 1), I32)], contains="axis must be a scalar or a 1-D vector. Found: [1,1]")
    return r


def blocks_reference(x, a, to_depth):
    block, image = a["block_size"], x[0]
    is_nchw = a.get("data_format", "NHWC") == "NCHW"
    if is_nchw:
        image = image.transpose(0, 2, 3, 1)
    n, h, w, c = image.shape
    if to_depth:
        image = image.reshape(n, h // block, block, w // block, block, c).transpose(0, 1, 3, 2, 4, 5)
        image = image.reshape(n, h // block, w // block, c * block * block)
    else:
        c //= block * block
        image = image.reshape(n, h, w, block, block, c).transpose(0, 1, 3, 2, 4, 5).reshape(n, h * block, w * block, c)
    return image.transpose(0, 3, 1, 2) if is_nchw else image


def blocks(op, to_depth):
    r = Recorder(op, reference=lambda x, a: blocks_reference(x, a, to_depth))
    for n, h, w, c, block in ((1, 1, 1, 1, 2), (1, 2, 2, 3, 2), (2, 1, 3, 1, 3), (3, 2, 1, 5, 2), (1, 4, 3, 2, 4),
                              (0, 2, 2, 1, 2), (1, 2, 0, 1, 2), (2, 3, 3, 16, 2), (1, 9, 17, 1, 2)):
        small, large = (n, h, w, c * block * block), (n, h * block, w * block, c)
        for data_format in ("NHWC", "NCHW"):
            shape = large if to_depth else small
            if data_format == "NCHW":
                shape = (shape[0], shape[3], shape[1], shape[2])
            attrs = {"block_size": block, "data_format": data_format}
            # TensorFlow has NCHW on cards only
            r.add(f"{data_format}_{text(shape)}_by_{block}", [values(F32, shape)],
                  attrs if data_format == "NCHW" else {"block_size": block}, numpy_only=data_format == "NCHW")
    for dtype in FURTHER_TYPES:
        r.add(f"{dtype.name}", [values(dtype, (1, 4, 2, 8))], {"block_size": 2})
    x = values(F32, (1, 4, 4, 3))
    divisible = "Image width 4 and height 4 should be divisible by block_size: 3" if to_depth else "should be divisible by: 9"
    r.error("not_divisible", [x], {"block_size": 3}, contains=divisible)
    r.error("block_too_large", [x], {"block_size": 2**31 - 1})
    r.error("block_not_an_int32", [x], {"block_size": 2**40}, contains="out of range for an int32")
    for block in (1, 0, -2):
        r.error(f"block_{block}".replace("-", "m"), [x], {"block_size": block}, contains="must be at least minimum 2")
    r.error("block_missing", [x], contains="block_size")
    r.error("rank_3", [x[0]], {"block_size": 2}, contains="nput rank should be")
    r.error("format_unknown", [x], {"block_size": 2, "data_format": "HWCN"}, contains="\"HWCN\" is not in the list")
    return r


def to_batch_reference(x, a):
    image, block, ends = x[0], [int(n) for n in x[1]], [tuple(int(n) for n in p) for p in x[2]]
    rank = len(block)
    image = np.pad(image, [(0, 0)] + ends + [(0, 0)] * (image.ndim - 1 - rank))
    shape, rest = image.shape, image.shape[1 + rank:]
    split = [n for size, b in zip(shape[1:], block) for n in (size // b, b)]
    order = [2 + 2 * d for d in range(rank)] + [0] + [1 + 2 * d for d in range(rank)]
    image = image.reshape([shape[0]] + split + list(rest)).transpose(order + list(range(1 + 2 * rank, image.ndim + rank)))
    return image.reshape([int(shape[0] * np.prod(block, dtype=int))] + split[::2] + list(rest))


def to_space_reference(x, a):
    image, block, ends = x[0], [int(n) for n in x[1]], [tuple(int(n) for n in p) for p in x[2]]
    rank = len(block)
    batch, cells, rest = image.shape[0] // int(np.prod(block, dtype=int)), image.shape[1:1 + rank], image.shape[1 + rank:]
    order = [rank] + [n for d in range(rank) for n in (rank + 1 + d, d)]
    image = image.reshape(block + [batch] + list(cells) + list(rest))
    image = image.transpose(order + list(range(1 + 2 * rank, image.ndim)))
    image = image.reshape([batch] + [c * b for c, b in zip(cells, block)] + list(rest))
    return image[(slice(None),) + tuple(slice(p[0], n - p[1]) for p, n in zip(ends, image.shape[1:]))]


def batch_blocks(op, to_batch):
    r = Recorder(op, reference=to_batch_reference if to_batch else to_space_reference)
    # space, blocks, paddings or crops
    cases = (((1, 2, 2, 1), (2, 2), ((0, 0), (0, 0))), ((2, 4, 3, 2), (2, 3), ((0, 0), (0, 0))), ((1, 4, 5, 3), (3, 2), ((1, 1), (0, 1))),
             ((3, 5), (2,), ((1, 0),)), ((2, 3, 4), (1,), ((1, 1),)), ((2, 3, 4), (), ()), ((1, 7, 1, 2), (4,), ((0, 1),)),
             ((2, 2, 3, 2, 1), (2, 1, 2), ((1, 1), (2, 0), (0, 0))), ((0, 4), (2,), ((0, 0),)), ((1, 3, 17), (3, 16), ((0, 0), (8, 7))),
             ((2, 3, 1, 2, 1, 2, 1, 3), (2,), ((1, 0),)))
    name = "paddings" if to_batch else "crops"
    for space, block, ends in cases:
        ends = np.array(ends, I32).reshape(-1, 2)
        shape = space if to_batch else to_batch_reference([np.zeros(space, F32), block, ends], {}).shape
        for index in INTS if len(space) == 4 else (I32,):
            r.add(f"float32_{text(shape)}_by_{named(block)}_{name}_{named(ends.ravel())}_{index.name}",
                  [values(F32, shape), ints(*block, dtype=index), ends.astype(I64 if index == I32 else I32)])
    five = (2,) * 5   # TensorFlow: up to 4 dimensions in blocks
    shape = (1,) + five if to_batch else (32,) + (1,) * 5
    r.add("five_blocks", [values(F32, shape), ints(*five), np.zeros((5, 2), I32)], numpy_only=True)
    for dtype in FURTHER_TYPES:
        r.add(dtype.name, [values(dtype, (2, 4, 3) if to_batch else (4, 2, 3)), ints(2), np.array(((1, 1),), I32)],
              numpy_only=dtype.name in ("bool", "complex64"))
    x, none = values(F32, (4, 4, 2, 3)), np.zeros((2, 2), I32)
    r.error("block_zero", [x, ints(0, 1), none], contains="must be positive, got" if to_batch else "positive, got")
    r.error("block_negative", [x, ints(-1, 1), none], contains="positive, got")
    r.error("blocks_not_a_vector", [x, np.array(2, I32), none[:1]], contains="block_shape rank should be 1 instead of 0")
    r.error("too_many_blocks", [x, ints(2, 2, 1, 1), np.zeros((4, 2), I32)], contains="input rank should be >= 5 instead of 4")
    r.error(f"{name}_too_few", [x, ints(2, 2), none[:1]], contains=f"{name} should have shape [2, 2] instead of [1,2]")
    r.error(f"{name}_a_vector", [x, ints(2, 2), none[0]], contains=f"{name} should have shape [2, 2] instead of [2]")
    r.error(f"{name}_negative", [x, ints(2, 2), np.array(((-1, 1), (0, 0)), I32)], contains=f"{name.capitalize()} must be non-negative")
    if to_batch:
        r.error("not_divisible", [x, ints(2, 2), np.array(((1, 0), (0, 0)), I32)],
                contains="padded_shape[0]=5 is not divisible by block_shape[0]=2")
    else:
        r.error("not_divisible", [x, ints(3, 1), none], contains="batch dimension (4) is not divisible by product of block sizes (3)")
        r.error("crops_too_large", [x, ints(2, 2), np.array(((5, 4), (0, 0)), I32)], contains="cropped_shape[0]")
        r.add("crops_of_all", [x, ints(2, 2), np.array(((5, 3), (0, 0)), I32)])
    return r


def invert_permutation():
    def reference(x, a):
        out = np.empty_like(x[0])
        out[x[0]] = np.arange(x[0].size)
        return out
    r = Recorder("InvertPermutation", reference=reference)
    for dtype in INTS:
        for n in (0, 1, 2, 17, 64, 257):
            r.add(f"{dtype.name}_{n}", [rng_for("permutation", n).permutation(n).astype(dtype)])
        r.error(f"{dtype.name}_twice", [np.array((2, 0, 1, 2), dtype)], contains="duplicated in the input")
        r.error(f"{dtype.name}_too_large", [np.array((2, 0, 3), dtype)], contains="not between 0 and")
        r.error(f"{dtype.name}_negative", [np.array((-1, 0, 1), dtype)], contains="not between 0 and")
    r.error("matrix", [np.zeros((2, 2), I32)], contains="invert_permutation expects a 1D vector.")
    r.error("scalar", [np.zeros((), I32)], contains="invert_permutation expects a 1D vector.")
    return r


def build():
    return {"Pad": pad, "MirrorPad": mirror_pad, "Tile": tile, "Reverse": reverse, "Roll": roll,
            "SpaceToDepth": lambda: blocks("SpaceToDepth", True), "DepthToSpace": lambda: blocks("DepthToSpace", False),
            "SpaceToBatchND": lambda: batch_blocks("SpaceToBatchND", True),
            "BatchToSpaceND": lambda: batch_blocks("BatchToSpaceND", False),
            "InvertPermutation": invert_permutation}
