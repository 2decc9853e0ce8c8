# SPDX-License-Identifier: Apache-2.0
"""Cumsum, Cumprod and CumulativeLogsumexp."""
import itertools
import math

import ml_dtypes
import numpy as np

from golden_case import EXACT, F32, F64, FLOATS, HALVES, I32, I64, Recorder, cycled, is_float, random_values
from golden_shapes import text

INTEGERS = tuple(np.dtype(n) for n in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"))
TYPES = FLOATS + HALVES + INTEGERS


def values(dtype, shape, op):
    """Products stay near 1."""
    x = cycled(random_values(dtype, shape, op), 131)
    if op == "Cumprod" and is_float(dtype):
        x = np.asarray(1 + np.asarray(x, F64) / 64, dtype)
    return x


def log_add(a, b):
    if math.isnan(a) or math.isnan(b):
        return math.nan
    larger, smaller = max(a, b), min(a, b)
    if smaller == -math.inf:
        return larger
    return math.nan if larger == math.inf == smaller else larger + math.log1p(math.exp(smaller - larger))


JOIN = {"Cumsum": (0, lambda a, b: a + b), "Cumprod": (1, lambda a, b: a * b), "CumulativeLogsumexp": (-math.inf, log_add)}


def scan_row(op, row, exclusive):
    """Floats in float64 (the sum exact at each step), integers in Python's, both cut to the type at the end."""
    start, join = JOIN[op]
    out, total = [], start
    for v in row:
        after = join(total, float(v) if is_float(row.dtype) else int(v))
        out.append(total if exclusive else after)
        total = after
    if is_float(row.dtype):
        return np.array(out, F64).astype(row.dtype)
    return np.array([v % 2 ** (8 * row.dtype.itemsize) for v in out], np.uint64).astype(row.dtype)


def scan_reference(op):
    def reference(inputs, attrs):
        x, axis = inputs[0], int(inputs[1])
        rows = np.moveaxis(x, axis, -1)
        flat = rows.reshape(int(np.prod(rows.shape[:-1], dtype=np.int64)), rows.shape[-1])
        if attrs.get("reverse", False):
            flat = flat[:, ::-1]
        out = np.array([scan_row(op, row, attrs.get("exclusive", False)) for row in flat], x.dtype)
        if attrs.get("reverse", False):
            out = out[:, ::-1] if out.size else out
        return np.moveaxis(out.reshape(rows.shape), -1, axis)
    return reference


def bounds(op, x, axis):
    """(Gantry's, TensorFlow's): TensorFlow adds one by one, halves in the half."""
    if not is_float(x.dtype):
        return EXACT, EXACT
    if not np.isfinite(np.asarray(x, F64)).all():
        return {"ulp": 2}, {"ulp": 2}
    eps, n = float(ml_dtypes.finfo(x.dtype).eps), x.shape[axis]
    sums = float(np.abs(np.asarray(x, F64)).sum(axis).max()) if x.size else 0.0
    products = float(np.abs(np.cumprod(np.asarray(x, F64), axis)).max()) if x.size else 0.0
    scale = {"Cumsum": sums, "Cumprod": products, "CumulativeLogsumexp": 4.0 + math.log(n or 1)}[op]
    if x.dtype in HALVES:
        return {"ulp": 1}, {"abs": eps * n * scale + eps}
    return {"ulp": 2, "abs": eps * scale * (4 + math.log2(n or 1))}, {"ulp": 2, "abs": eps * scale * (4 + n)}


def scan(op):
    r = Recorder(op, reference=scan_reference(op))
    types = FLOATS + HALVES if op == "CumulativeLogsumexp" else TYPES

    def add(name, x, axis, exclusive=False, reverse=False, index=I32, numpy_only=False):
        ours, theirs = bounds(op, x, axis)
        r.add(name, [x, np.array(axis, index)], {"exclusive": exclusive, "reverse": reverse}, tolerance=ours,
              tf_tolerance=theirs, numpy_only=numpy_only)
    for exclusive, reverse in itertools.product((False, True), (False, True)):
        tail = ("_exclusive" if exclusive else "") + ("_reverse" if reverse else "")
        long = (((300,), 0), ((130, 2), 0), ((2, 129), 1)) if exclusive == reverse else ()
        for shape, axis in (((5,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 3, 4), 1), ((2, 3, 4), -1)) + long:
            add(f"float32_{text(shape)}_axis_{axis}{tail}".replace("-", "m"), values(F32, shape, op), axis, exclusive,
                reverse, I64 if axis == 1 else I32)
        for dtype in types[1:]:
            add(f"{dtype.name}_3x5{tail}", values(dtype, (3, 5), op), 1, exclusive, reverse)
    for n in (1, 2, 127, 128):
        add(f"float32_size_{n}", values(F32, (n,), op), 0)
    for dtype in HALVES + (np.dtype("int8"),):
        if dtype not in types:
            continue
        add(f"{dtype.name}_300", values(dtype, (300,), op), 0)
    for shape, axis in (((0,), 0), ((0, 3), 1), ((3, 0), 0), ((1, 2, 1, 2, 1, 3, 1, 2), 5), ((1, 1), 0)):
        add(f"float32_shape_{text(shape)}", values(F32, shape, op), axis, index=I64)
    i, n = np.inf, np.nan
    for dtype in FLOATS:
        for k, row in enumerate(([1, n, 2], [1, i, 2], [-i, 1, 2], [i, -i, 1], [-i, -i, 1], [i, i, 0], [-0.0, -0.0, 0.0])):
            # TensorFlow's CumulativeLogsumexp loses a NaN again
            wrong = op == "CumulativeLogsumexp" and np.isnan(row).any()
            add(f"{dtype.name}_special_{k}", np.array(row, dtype), 0, numpy_only=wrong)
            add(f"{dtype.name}_special_{k}_exclusive", np.array(row, dtype), 0, True, numpy_only=wrong)
    x = values(F32, (3, 4), op)
    r.error("axis_too_large", [x, np.array(2, I32)], contains="Expected scan axis in the range [-2, 2), but got 2")
    r.error("axis_too_small", [x, np.array(-3, I32)], contains="ScanOp")
    r.error("axis_not_a_scalar", [x, np.array([0], I32)], contains="ScanOp: axis must be a scalar")
    r.error("scalar", [values(F32, (), op), np.array(0, I32)], contains="ScanOp")
    return r


def build():
    return {op: (lambda op=op: scan(op)) for op in JOIN}
