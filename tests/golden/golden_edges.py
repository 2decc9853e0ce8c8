# SPDX-License-Identifier: Apache-2.0
"""The edges of every type in the ops that move data: NaN, infinities, both zeros, denormals, the ends of integers.

One case per op and type; the op returns its input bit by bit. When TensorFlow has no kernel for a type, the case moves
another type of the same size."""
import ml_dtypes
import numpy as np

from golden_case import BOOL, EXACT, F16, F32, F64, I8, I16, I32, I64, MOVED_TYPES, U8, U16, U32, U64, canonical, is_float, run_tensorflow, tf

I, L = (lambda *v: np.array(v, I32)), (lambda *v: np.array(v, I64))
ANY = MOVED_TYPES + (U32, U64)
TWINS = {1: (I8, U8), 2: (F16, I16, U16), 4: (F32, I32), 8: (F64, I64)}


def edge_values(dtype):
    """Sixteen elements; a type with fewer edges repeats them."""
    if dtype == BOOL:
        return np.arange(16) % 3 == 0
    if dtype == np.complex64:
        return np.stack([edge_values(F32), edge_values(F32)[::-1]], -1).view(dtype).reshape(16)
    if not is_float(dtype):
        info = np.iinfo(dtype)
        ends = [info.max, info.min, info.max - 1, info.min + 1, 0, 1, info.max // 2, info.max // 3]
        return np.resize(np.array(ends, dtype), 16)
    info = ml_dtypes.finfo(dtype)
    least, tiny, top = (float(x) for x in (info.smallest_subnormal, info.tiny, info.max))
    return np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, least, -least, tiny - least, least - tiny, tiny, -tiny, top, -top, 1.0, -1.0,
                     1 + float(info.eps)]).astype(dtype)


def image(x):
    return x.reshape(1, 4, 4, 1)


def square(x):
    return x.reshape(4, 4)


# op: (inputs, attributes) of sixteen elements
MOVING = {
    "ZerosLike": lambda x: ([square(x)], {}),
    "OnesLike": lambda x: ([square(x)], {}),
    "Identity": lambda x: ([square(x)], {}),
    "StopGradient": lambda x: ([square(x)], {}),
    "Select": lambda x: ([np.arange(16) % 2 == 0, x, x[::-1].copy()], {}),
    "Reshape": lambda x: ([x, I(2, 8)], {}),
    "ExpandDims": lambda x: ([x, np.array(0, I32)], {}),
    "Squeeze": lambda x: ([x.reshape(1, 16, 1)], {}),
    "Transpose": lambda x: ([x.reshape(2, 8), I(1, 0)], {}),
    "BroadcastTo": lambda x: ([x, I(2, 16)], {}),
    "Concat": lambda x: ([x[:7], x[7:], np.array(0, I32)], {}),
    "Slice": lambda x: ([x, I(0), I(13)], {}),
    "Gather": lambda x: ([x, np.arange(15, -1, -1, dtype=I32), np.array(0, I32)], {}),
    "GatherNd": lambda x: ([square(x), I(3, 2, 1, 0).reshape(4, 1)], {}),
    "EmbeddingLookup": lambda x: ([square(x), I(3, 0, 2, 1)], {}),
    "Pack": lambda x: ([x[:8], x[8:]], {"axis": 1}),
    "Unpack": lambda x: ([x.reshape(2, 8)], {"num": 2}),
    "Split": lambda x: ([np.array(0, I32), x], {"num_split": 2}),
    "SplitV": lambda x: ([x, L(3, 13), np.array(0, I32)], {"num_split": 2}),
    "Shape": lambda x: ([square(x)], {}),
    "Size": lambda x: ([square(x)], {}),
    "Rank": lambda x: ([square(x)], {}),
    "BooleanMask": lambda x: ([x, np.arange(16) % 4 != 3], {}),
    "MatrixBandPart": lambda x: ([square(x), np.array(1, I64), np.array(2, I64)], {}),
    "MatrixDiag": lambda x: ([x.reshape(2, 8), I(0), np.array(-1, I32), np.array(-1, I32), x[0]], {}),
    "MatrixDiagPart": lambda x: ([square(x), I(-1, 1), x[1]], {}),
    "MatrixSetDiag": lambda x: ([square(x), x[:8].reshape(2, 4), I(0, 1)], {}),
    "XlaDynamicSlice": lambda x: ([x, I(9), I(13)], {}),
    "XlaDynamicUpdateSlice": lambda x: ([x, x[:8], I(4)], {}),
    "StridedSlice": lambda x: ([x, I(15), I(-17), I(-1)], {}),
    "StridedSliceGrad": lambda x: ([I(33), I(31), I(-34), I(-2), x], {}),
    "Pad": lambda x: ([x, I(1, 2).reshape(1, 2), x[0]], {}),
    "MirrorPad": lambda x: ([x, I(15, 3).reshape(1, 2)], {"mode": "REFLECT"}),
    "Tile": lambda x: ([x, I(2)], {}),
    "Reverse": lambda x: ([x, I(0)], {}),
    "Roll": lambda x: ([x, I(3), I(0)], {}),
    "SpaceToDepth": lambda x: ([image(x)], {"block_size": 2}),
    "DepthToSpace": lambda x: ([x.reshape(1, 2, 2, 4)], {"block_size": 2}),
    "SpaceToBatchND": lambda x: ([image(x), I(2, 2), np.zeros((2, 2), I32)], {}),
    "BatchToSpaceND": lambda x: ([x.reshape(4, 2, 2, 1), I(2, 2), np.zeros((2, 2), I32)], {}),
    "TensorScatterUpdate": lambda x: ([x, I(*range(8, 16)).reshape(8, 1), x[:8]], {}),
    "ExtractImagePatches": lambda x: ([image(x)], {"ksizes": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "rates": [1, 1, 1, 1], "padding": "VALID"}),
    "StatelessShuffle": lambda x: ([x, np.array([3], U64), np.array([1, 2], U64), np.array(1, I32)], {}),
    "OneHot": lambda x: ([I(0, 2**31 - 1, -2**31, 1), np.array(2, I32), x[1], x[0]], {}),
    "Fill": lambda x: ([I(3), x[0]], {}),
}


def move(r, name, make, x):
    inputs, attrs = make(x)
    for kind in (x.dtype,) + tuple(t for t in TWINS.get(x.dtype.itemsize, ()) if t != x.dtype):
        try:
            outputs = run_tensorflow(r.tf_op, *make(x.view(kind)))
            break
        except (tf.errors.NotFoundError, tf.errors.UnimplementedError, tf.errors.InvalidArgumentError, TypeError) as e:
            refusal = e
    else:
        raise refusal
    case = r._begin(name, inputs, attrs)
    case["outputs"] = [canonical(y.view(x.dtype) if kind != x.dtype and y.dtype == kind else y) for y in outputs]
    r.cases.append(case)


def extend(op, r):
    if op not in MOVING:
        return
    for dtype in ANY:
        x = edge_values(dtype)
        move(r, f"{dtype.name}_edge_values", MOVING[op], x)
        if op in ("OneHot", "Fill") and dtype.kind != "c":     # these take one element at a time
            for k in (1, 3, 4, 5, 15) if is_float(dtype) else (1, 7):
                move(r, f"{dtype.name}_edge_value_{k}", MOVING[op], np.roll(x, -k))
