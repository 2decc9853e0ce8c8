# SPDX-License-Identifier: Apache-2.0
"""The edges of every type in the ops that compute with rows, windows and products: NaN, infinities, zeros of both signs, denormals, the
ends of integers.

A row has one such number among ordinary ones, so that one result shows its effect. Denormals are separate cases that
only the reference gives: TensorFlow flushes them to zero."""
import ml_dtypes
import numpy as np

from golden_case import EXACT, F64, FLOATING, FLOATS, HALVES, I16, I32, I64, INTEGERS, INTS, VALUE, is_float

NAN, INF = np.nan, np.inf
ONE = np.array([1], I32)


def special_rows(dtype):
    return np.array([[NAN, 1, 2], [2, INF, 1], [1, 2, -INF], [INF, -INF, 1], [-0.0, -0.0, -0.0], [2, -0.0, 1], [1, 0.5, -2]]).astype(dtype)


def denormal_rows(dtype):
    info = ml_dtypes.finfo(dtype)
    least, tiny = float(info.smallest_subnormal), float(info.tiny)
    return np.array([[least, 0, 0], [least, least, 2 * least], [tiny - least, least, 0], [-least, 3 * least, -0.0],
                     [-least, -least, least]]).astype(dtype)


def integer_rows(dtype):
    info = np.iinfo(dtype)
    return np.array([[info.max, 0, 0], [0, info.min, 0], [info.max, 1, 0], [info.max, info.min, 1], [info.max, info.max, info.max],
                     [info.min, info.min, 3], [info.max - 1, 1, info.min + 1]], dtype)


def ones(x, *shape):
    return np.ones(shape, x.dtype)


def image(m):
    """Rows as an image of one channel."""
    return m.reshape(1, *m.shape, 1)


WINDOW = {"strides": [1, 1, 1, 1], "padding": "VALID"}
ROW_OF_3 = {**WINDOW, "ksize": [1, 1, 3, 1]}


def reduced(op):
    return {"rows": lambda m: ([m, ONE], {})}


def sizes(m):
    return np.array((1, len(m), 3, 1), I32)


def first(m):
    """The rows' first elements as an image of one column."""
    return m[:, 0].reshape(1, -1, 1, 1).copy()


def across(m):
    """Rows as the channels of an image of one row."""
    return m.T.reshape(1, 1, 3, -1).copy()


SEGMENTS = ("SegmentSum", "SegmentMean", "SegmentMax", "SegmentMin", "SegmentProd")
SCATTERS = ("TensorScatterAdd", "TensorScatterSub", "TensorScatterMul", "TensorScatterMax", "TensorScatterMin")
JOIN = {"Sum": np.add, "Mean": np.add, "Add": np.add, "Prod": np.multiply, "Mul": np.multiply, "Max": np.maximum, "Min": np.minimum, "Sub": np.subtract}

# op: {label: (inputs, attributes) of the rows}
ROWS = {
    **{op: reduced(op) for op in ("Sum", "Mean", "Prod", "EuclideanNorm", "Max", "Min", "LogSumExp", "Var", "Std", "Moments")},
    "Softmax": {"rows": lambda m: ([m], {})},
    "LogSoftmax": {"rows": lambda m: ([m], {})},
    **{op: {"rows": lambda m: ([m, np.array(1, I32)], {}),
            "exclusive": lambda m: ([m, np.array(-1, I32)], {"exclusive": True, "reverse": True})}
       for op in ("Cumsum", "Cumprod", "CumulativeLogsumexp")},
    "AddN": {"rows": lambda m: ([m, m[::-1].copy(), ones(m, *m.shape)], {})},
    "BiasAdd": {"value": lambda m: ([m, m[-1]], {}), "bias": lambda m: ([ones(m, 2, m.size), m.reshape(-1)], {})},
    "BiasAddGrad": {"rows": lambda m: ([m.T.copy()], {})},
    "MirrorPadGrad": {"rows": lambda m: ([m, np.array(((0, 0), (1, 1)), I32)], {"mode": "SYMMETRIC"})},
    "ClipByValue": {"rows": lambda m: ([m, np.roll(m, 1, 0), np.roll(m, 2, 0)], {})},
    "MatMul": {"left": lambda m: ([m, ones(m, 3, 2)], {}), "right": lambda m: ([ones(m, 3, 2), m], {"transpose_a": True, "transpose_b": True})},
    "BatchMatMul": {"left": lambda m: ([m[None], ones(m, 2, 3, 2)], {}), "right": lambda m: ([ones(m, 2, 3), m[None]], {"adj_y": True})},
    "Einsum": {"left": lambda m: ([m, ones(m, 3, 2)], {"equation": "ij,jk->ik"}),
               "right": lambda m: ([ones(m, 2, 3), m], {"equation": "ij,kj->ik"})},
    "AvgPool": {"rows": lambda m: ([image(m)], ROW_OF_3)},
    "MaxPool": {"rows": lambda m: ([image(m)], ROW_OF_3)},
    "MaxPoolWithArgmax": {"rows": lambda m: ([image(m)], ROW_OF_3)},
    "MaxPoolGrad": {"orig_input": lambda m: ([image(m), first(m), ones(m, 1, len(m), 1, 1)], ROW_OF_3),
                    "grad": lambda m: ([image(np.tile(ones(m, 3), (len(m), 1))), first(m), first(m)], ROW_OF_3)},
    "MaxPoolGradGrad": {"orig_input": lambda m: ([image(m), first(m), image(ones(m, *m.shape))], ROW_OF_3),
                        "grad": lambda m: ([image(np.tile(ones(m, 3), (len(m), 1))), first(m), image(m)], ROW_OF_3)},
    "AvgPoolGrad": {"grad": lambda m: ([sizes(m), first(m)], ROW_OF_3)},
    "DepthwiseConv2dNative": {"input": lambda m: ([image(m), ones(m, 1, 3, 1, 1)], WINDOW),
                              "filter": lambda m: ([ones(m, 1, 1, 3, 1), m.T.reshape(1, 3, 1, -1)], WINDOW)},
    "Conv2D": {"input": lambda m: ([image(m), ones(m, 1, 3, 1, 2)], WINDOW),
               "filter": lambda m: ([ones(m, 1, 1, 3, 1), m.T.reshape(1, 3, 1, -1)], WINDOW)},
    "ConvolveImages": {"images": lambda m: ([image(m), ones(m, 1, 3, 1, 2)], WINDOW),
                       "filter": lambda m: ([ones(m, 1, 1, 3, 1), m.T.reshape(1, 3, 1, -1)], WINDOW)},
    "Conv1D": {"input": lambda m: ([m[:, :, None], ones(m, 3, 1, 2)], {"padding": "VALID"}),
               "filters": lambda m: ([ones(m, 1, 3, 1), m.T.reshape(3, 1, -1)], {"padding": "VALID"})},
    "Conv2DBackpropInput": {"out_backprop": lambda m: ([sizes(m), ones(m, 1, 3, 1, 1), m[:, 0].reshape(1, -1, 1, 1)], WINDOW),
                            "filter": lambda m: ([np.array((1, 1, m.size, 1), I32), m.reshape(1, -1, 1, 1), ones(m, 1, 1, 1, 1)], WINDOW)},
    "Conv2DBackpropFilter": {"input": lambda m: ([across(m), np.array((1, 1, len(m), 1), I32), ones(m, 1, 1, 3, 1)], WINDOW),
                             "out_backprop": lambda m: ([ones(m, 1, 1, 3, 1), np.array((1, 1, 1, len(m)), I32), across(m)], WINDOW)},
    **{op: {"input": lambda m, t=t: ([across(m), np.array((1, 1, len(m), 1), t), ones(m, 1, 1, 3, len(m))], WINDOW),
            "out_backprop": lambda m, t=t: ([ones(m, 1, 1, 3, len(m)), np.array((1, 1, len(m), 1), t), across(m)], WINDOW)}
       for op, t in (("DepthwiseConv2dNativeBackpropFilter", I32), ("DepthwiseFilterParts", I64))},
    "DepthwiseConv2dNativeBackpropInput": {
        "out_backprop": lambda m: ([sizes(m), ones(m, 1, 3, 1, 1), first(m)], WINDOW),
        "filter": lambda m: ([np.array((1, 1, m.size, 1), I32), m.reshape(1, -1, 1, 1), ones(m, 1, 1, 1, 1)], WINDOW)},
    "Conv2DTranspose": {"input": lambda m: ([m[:, 0].reshape(1, -1, 1, 1), ones(m, 1, 3, 1, 1), sizes(m)], WINDOW),
                        "filter": lambda m: ([ones(m, 1, 1, 1, 1), m.reshape(1, -1, 1, 1), np.array((1, 1, m.size, 1), I32)], WINDOW)},
    "FoldImagePatches": {"rows": lambda m: ([m.reshape(1, -1, 1, 3), sizes(m).astype(I64)], {**WINDOW, "ksizes": [1, 1, 3, 1], "rates": [1, 1, 1, 1]})},
    **{op: {"rows": lambda m: ([m.T.copy(), np.array([1, 1, 1], I32)], {})} for op in SEGMENTS},
    **{"Unsorted" + op: {"rows": lambda m: ([m.T.copy(), np.array([1, 1, 1], I32), np.array(3, I32)], {})} for op in SEGMENTS},
    "ScatterNd": {"updates": lambda m: ([np.array([[1], [1], [3]], I32), m.T.copy(), np.array((4, len(m)), I32)], {})},
    **{op: {"tensor": lambda m: ([np.tile(m[:, 0], (2, 1)), np.array([[1], [1]], I32), m.T[1:].copy()], {}),
            "updates": lambda m: ([np.tile(m[:, 2], (2, 1)), np.array([[1], [1]], I32), m.T[:2].copy()], {})} for op in SCATTERS},
    "Bincount": {"weights": lambda m: ([np.tile(np.arange(len(m), dtype=I32)[:, None], 3), np.array(len(m), I32), m], {})},
    "DenseBincount": {"weights": lambda m: ([np.array([0, 2, 2], I32), np.array(4, I32), m[2]], {}),
                      "rows": lambda m: ([np.tile(np.array([0, 2, 2], I32), (len(m), 1)), np.array(4, I32), m], {})},
    "MaxPool1D": {"rows": lambda m: ([m[:, :, None]], {"ksize": 3, "strides": 1, "padding": "VALID"})},
    "AvgPool1D": {"rows": lambda m: ([m[:, :, None]], {"ksize": 3, "strides": 1, "padding": "VALID"})},
}
# Recorded only from the reference: types without a TensorFlow kernel, ops composed in Python, and ops that differ
# for NaN (README.md).
ALONE = {"LogSumExp", "Var", "Std", "Conv1D", "ConvolveImages", "MaxPool1D", "AvgPool1D", "FoldImagePatches",
         "Conv2DTranspose", "MaxPool", "MaxPoolWithArgmax", "DepthwiseFilterParts", "MaxPoolGradGrad",
         "DepthwiseConv2dNativeBackpropInput",
         "CumulativeLogsumexp",
         ("ClipByValue", "uint32"), ("ClipByValue", "uint64"), ("Conv2D", "int64"), ("MaxPool", "uint32"), ("MaxPool", "uint64")}
INTEGER_OPS = {**{op: INTEGERS for op in ("Sum", "Mean", "Prod", "Max", "Min", "Cumsum", "Cumprod", "AddN", "BiasAdd", "BiasAddGrad", "MirrorPadGrad", "ClipByValue",
                                          "MaxPool", "MaxPoolWithArgmax", "MaxPool1D")},
               **{op: INTEGERS for op in SEGMENTS + SCATTERS + ("ScatterNd",)},
               **{"Unsorted" + op: INTEGERS for op in SEGMENTS if op != "SegmentMean"},
               "BatchMatMul": INTS + (I16,),
               **{op: INTS for op in ("MatMul", "Einsum", "Conv2D", "Conv1D", "Bincount", "DenseBincount")}}
CHOOSES = ("Max", "Min", "MaxPool", "MaxPoolWithArgmax", "MaxPoolGrad", "MaxPoolGradGrad", "MaxPool1D", "ClipByValue", "BiasAdd", "AddN")
FUNCTIONS = ("LogSumExp", "Softmax", "LogSoftmax", "Moments", "Var", "Std", "CumulativeLogsumexp")


def tolerance(op, dtype):
    """Sums of three such numbers are exact up to their one rounding; squares of denormals may vanish."""
    if not is_float(dtype):
        return EXACT
    if op in CHOOSES:
        return VALUE
    if dtype in HALVES:
        return {"ulp": 1, "abs": 1e-19} if op in ("EuclideanNorm", "Std") else {"ulp": 1}
    info = np.finfo(dtype)
    small = {"EuclideanNorm": float(np.sqrt(info.tiny))}.get(op, 16 * float(info.eps) if op in FUNCTIONS else 0.0)
    return {"ulp": 4, "abs": small} if small else {"ulp": 1}


# ---- denormals of ops whose other cases have no reference ----

def narrow(x, dtype):
    return np.asarray(np.asarray(x, np.longdouble).astype(F64)).astype(dtype)


def einsum(inputs, attrs):
    return narrow(np.einsum(attrs["equation"], *[x.astype(np.longdouble) for x in inputs]), inputs[0].dtype)


def moments(inputs, attrs):
    wide = inputs[0].astype(np.longdouble)
    return [narrow(x, inputs[0].dtype) for x in (wide.mean(1), wide.var(1))]


def segments(kind):
    """All three rows are of segment 1."""
    def reference(inputs, attrs):
        data = inputs[0]
        empty = {"Prod": 1.0, "Max": float(ml_dtypes.finfo(data.dtype).min), "Min": float(ml_dtypes.finfo(data.dtype).max)}.get(kind, 0.0)
        empty = empty if len(inputs) == 3 else float(kind == "Prod")    # a sorted segment without rows is 0, or 1
        one = JOIN[kind].reduce(data.astype(np.longdouble), 0) / (3 if kind == "Mean" else 1)
        none = np.full(one.shape, empty)
        return narrow([none, one, none] if len(inputs) == 3 else [none, one], data.dtype)
    return reference


def scatter(kind):
    """Both updates go to row 1."""
    def reference(inputs, attrs):
        tensor, _, updates = (x.astype(np.longdouble) for x in inputs)
        return narrow([tensor[0], JOIN[kind](JOIN[kind](tensor[1], updates[0]), updates[1])], inputs[0].dtype)
    return reference


def scatter_nd(inputs, attrs):
    updates = inputs[1].astype(np.longdouble)
    return narrow([updates[0] * 0, updates[0] + updates[1], updates[0] * 0, updates[2]], inputs[1].dtype)


def bincount(inputs, attrs):
    return narrow(inputs[2].astype(np.longdouble).sum(1), inputs[2].dtype)


def dense_bincount(inputs, attrs):
    w = np.atleast_2d(inputs[2]).astype(np.longdouble)
    out = np.stack([w[:, 0], w[:, 0] * 0, w[:, 1] + w[:, 2], w[:, 0] * 0], 1)
    return narrow(out if inputs[2].ndim == 2 else out[0], inputs[2].dtype)


DENORMALS = {"Einsum": einsum, "Moments": moments, "ScatterNd": scatter_nd, "Bincount": bincount, "DenseBincount": dense_bincount,
             **{unsorted + op: segments(op[7:]) for op in SEGMENTS for unsorted in ("", "Unsorted")},
             **{op: scatter(op[13:]) for op in SCATTERS}}


def extend(op, r):
    floating = FLOATS if "Bincount" in op or op == "DepthwiseFilterParts" else FLOATING
    for label, make in ROWS.get(op, {}).items():
        for dtype in floating:
            theirs = {"rel": 16 * float(ml_dtypes.finfo(dtype).eps)} if op == "Softmax" and dtype in HALVES else None
            inputs, attrs = make(special_rows(dtype))
            r.add(f"{dtype.name}_special_{label}", inputs, attrs, tolerance=tolerance(op, dtype), tf_tolerance=theirs,
                  numpy_only=op in ALONE)
            inputs, attrs = make(denormal_rows(dtype))
            usual, r.reference = r.reference, DENORMALS.get(op, r.reference)
            r.add(f"{dtype.name}_denormal_{label}", inputs, attrs, tolerance=tolerance(op, dtype), numpy_only=True)
            r.reference = usual
        for dtype in INTEGER_OPS.get(op, ()):
            inputs, attrs = make(integer_rows(dtype))
            r.add(f"{dtype.name}_ends_{label}", inputs, attrs, numpy_only=op in ALONE or (op, dtype.name) in ALONE)
