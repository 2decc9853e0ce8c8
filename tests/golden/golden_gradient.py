# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's gradient ops: elementwise ones, BiasAddGrad, StridedSliceGrad, MirrorPadGrad, BroadcastGradientArgs, StopGradient.

An elementwise reference does TensorFlow's operations in its order, each rounded to the type. TensorFlow flushes denormals: pairs
of which an operation meets one are cases that only the reference gives."""
import ml_dtypes
import numpy as np
import tensorflow as tf

from golden_case import (EXACT, F32, F64, FLOATING, FLOATS, HALVES, I32, INTEGERS, INTS, MOVED_TYPES, NUMERIC, Recorder, cycled,
                         random_values, rng_for)
from golden_shape import PADDINGS, values
from golden_shapes import EMPTY_SHAPES, SHAPES, text
from golden_strided_slice import index_of, random_case, spec_of
from golden_types import half_denormals, integer_edges

RANK8 = SHAPES[-1]


# ---- elementwise ----

def no_nan(x, y):
    return np.where(y == 0, y.dtype.type(0), x * y)


def relu_grad(k, r, g, x):
    return r(g * (x > k(0)).astype(g.dtype))


def relu6_grad(k, r, g, x):
    return r(g * ((x > k(0)) & (x < k(6))).astype(g.dtype))


def leaky_relu_grad(k, r, g, x, alpha=0.2):
    return np.where(x > k(0), g, r(g * k(np.float32(alpha))))


def elu_grad(k, r, g, y):
    return np.where(y < k(0), r(r(y + k(1)) * g), g)


def selu_grad(k, r, g, y):
    return np.where(y < k(0), r(g * r(y + k(1.7580993408473768599402175208123))), r(g * k(1.0507009873554804934193349852946)))


def softplus_grad(k, r, g, x):
    power = np.exp(-x.astype(np.longdouble if x.dtype in FLOATS else F32)).astype(x.dtype)
    return r(g / r(r(power) + k(1)))


def softsign_grad(k, r, g, x):
    return r(g / r(np.square(r(np.abs(x) + k(1)))))


def tanh_grad(k, r, y, dy):
    return r(dy * r(k(1) - r(y * y)))


def sigmoid_grad(k, r, y, dy):
    return r(dy * r(y * r(k(1) - y)))


def sqrt_grad(k, r, y, dy):
    return r(no_nan(r(k(0.5) / y), dy))


def rsqrt_grad(k, r, y, dy):
    return r(no_nan(r(k(-0.5) * r(y * y)), r(no_nan(y, dy))))


def reciprocal_grad(k, r, y, dy):
    return r(no_nan(-r(y * y), dy))


# op: (reference, places where its formula changes)
OF_FEATURES = {"ReluGrad": (relu_grad, (1e-30,)), "Relu6Grad": (relu6_grad, (6.0, 5.9)), "LeakyReluGrad": (leaky_relu_grad, (1e-30,)),
               "EluGrad": (elu_grad, (-0.7,)), "SeluGrad": (selu_grad, (-1.7580993,)), "SoftplusGrad": (softplus_grad, (-17.0, -80.0, 9.0)),
               "SoftsignGrad": (softsign_grad, (1e5,))}
OF_RESULTS = {"TanhGrad": (tanh_grad, (0.99,)), "SigmoidGrad": (sigmoid_grad, (0.99,)), "SqrtGrad": (sqrt_grad, (1e-3,)),
              "RsqrtGrad": (rsqrt_grad, (300.0, 1e-3)), "ReciprocalGrad": (reciprocal_grad, (300.0, 1e-3))}


def keep(x):
    return x


def flush(x):
    small = (x != 0) & (np.abs(x.astype(F64)) < float(ml_dtypes.finfo(x.dtype).tiny))
    return np.where(small, np.copysign(np.zeros((), x.dtype), x), x).astype(x.dtype)


def constant_of(dtype):
    return lambda value: np.asarray(value).astype(dtype)


def apply_reference(formula, rounded, inputs, attrs):
    a, b = inputs
    with np.errstate(all="ignore"):
        return np.asarray(formula(constant_of(a.dtype), rounded, a, b.reshape(a.shape), **attrs)).astype(a.dtype)


def in_vectors(name):
    """The op over multiples of 64 elements: its loop for the last few elements has another order of operations."""
    def vectors_of(inputs, attrs):
        y, dy = inputs
        run = getattr(tf.raw_ops, name)
        if tf.size(y) != tf.size(dy):
            return run(y=y, dy=dy)
        padding = [[0, -tf.size(y).numpy() % 64]]
        both = [tf.pad(tf.reshape(t, [-1]), padding) for t in (y, dy)]
        return tf.reshape(run(y=both[0], dy=both[1])[:tf.size(y).numpy()], y.shape)
    return vectors_of


def pairs_of(dtype, further):
    if dtype in INTEGERS:
        x = integer_edges(dtype)
        return np.repeat(x, len(x)), np.tile(x, len(x))
    top = float(ml_dtypes.finfo(dtype).max)
    a = np.array((np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -0.3, top)).astype(dtype)
    b = np.concatenate([a, np.array((-2.5, -top, 1e-30) + further, F64).astype(dtype)])
    pairs = [(x, y) for x in a for y in b] + [(x, y) for x in b[len(a):] for y in a[:7]]
    return tuple(np.array(side).astype(dtype) for side in zip(*pairs))


def elementwise(op):
    formula, further = {**OF_FEATURES, **OF_RESULTS}[op]
    apart = op in ("SigmoidGrad", "SqrtGrad", "RsqrtGrad")
    r = Recorder(op, in_vectors(op) if apart else op, lambda inputs, attrs: apply_reference(formula, keep, inputs, attrs if op == "LeakyReluGrad" else {}))
    options = ({"alpha": 0.3},) if op == "LeakyReluGrad" else ({},)
    bounds = {t: {"ulp": 2 if t in HALVES else 4} for t in FLOATING} if op == "SoftplusGrad" else {}

    def add(name, inputs, attrs=options[0], **more):
        r.add(name, inputs, attrs, tolerance=bounds.get(inputs[0].dtype, EXACT),
              tf_tolerance={"ulp": 16} if bounds and inputs[0].dtype in FLOATS else None, **more)
    for dtype in NUMERIC if op in ("ReluGrad", "Relu6Grad") else FLOATING:
        a, b = pairs_of(dtype, further)
        if dtype in FLOATING:
            both = [np.resize(half_denormals(dtype), 15), np.repeat(np.array((1.0, -0.5, 3.0)).astype(dtype), 5)]
            add(f"{dtype.name}_denormals", both, numpy_only=True)
            add(f"{dtype.name}_by_denormals", both[::-1], numpy_only=True)
            plain, flushed = (np.asarray(apply_reference(formula, f, [f(a), f(b)], options[0])) for f in (keep, flush))
            same = (plain == flushed) | (np.isnan(plain) & np.isnan(flushed))
            a, b = a[same], b[same]
        add(f"{dtype.name}_edges", [a, b])
        add(f"{dtype.name}_size_33", [random_values(dtype, (33,), op, i) for i in "ab"])
    add("float32_size_1000", [cycled(random_values(F32, (1000,), op, i), n) for i, n in (("a", 29), ("b", 31))])
    for shape in SHAPES[:2] + SHAPES[3:8:2] + SHAPES[-1:] + EMPTY_SHAPES[:2] + EMPTY_SHAPES[-1:]:
        add(f"float32_{text(shape)}", [random_values(F32, shape, op, i) for i in "ab"])
    if op == "LeakyReluGrad":
        for alpha in (0.0, -1.5):
            add(f"alpha_{alpha}".replace("-", "m"), [random_values(F32, (7,), op, i) for i in "ab"], {"alpha": alpha})
        add("alpha_left_out", [random_values(F64, (7,), op, i) for i in "ab"], {})
    mismatches(op, r, add)
    return r


def mismatches(op, r, add):
    x = random_values(F32, (2, 3), op)
    if op in OF_FEATURES:
        for other in (x.reshape(6), x.reshape(3, 2), x[0], x[0, 0]):
            r.error(f"shapes_differ_{text(np.shape(other))}", [x, np.asarray(other)], contains="must have the same size and shape")
        return
    for other in (x.reshape(6), x.reshape(3, 2)):
        add(f"float32_2x3_and_{text(other.shape)}", [x, other])
    for other in (x[0], np.asarray(x[0, 0])):
        r.error(f"counts_differ_{text(other.shape)}", [x, other], contains="must have same number of elements, got 6 and")


# ---- BiasAddGrad ----

def bias_add_grad():
    def reference(inputs, attrs):
        x = inputs[0]
        axis = 1 if attrs.get("data_format") == "NCHW" else x.ndim - 1
        others = tuple(d for d in range(x.ndim) if d != axis)
        if x.dtype in INTEGERS:
            return x.sum(others, dtype=x.dtype)
        return x.astype(np.longdouble).sum(others).astype(F64).astype(x.dtype)
    r = Recorder("BiasAddGrad", reference=reference)

    def bound(dtype, count):
        if dtype in INTEGERS:
            return EXACT
        return {"ulp": 1} if dtype in HALVES else {"ulp": 1, "abs": float(np.finfo(dtype).eps) * 8 * count}
    for layout in ("NHWC", "NCHW"):
        for shape in ((2, 3), (1, 1), (65, 3), (3, 65), (2, 3, 4), (2, 5, 3, 4), (2, 1, 2, 3, 2), RANK8, (0, 3), (3, 0), (2, 3, 0), (300, 2)):
            r.add(f"{layout}_{text(shape)}", [cycled(random_values(F32, shape, "bias"), 67)], {"data_format": layout}, bound(F32, np.prod(shape)))
        for dtype in NUMERIC:
            r.add(f"{layout}_{dtype.name}", [random_values(dtype, (3, 2, 5), "bias")], {"data_format": layout}, bound(dtype, 30),
                  {"rel": 16 * float(ml_dtypes.finfo(dtype).eps)} if dtype in HALVES else None)   # TensorFlow rounds partial sums
        for shape in ((), (3,)):
            r.error(f"{layout}_of_{text(shape)}", [random_values(F32, shape, "bias")], {"data_format": layout},
                    contains="Input tensor must be at least 2D:")
    r.error("unknown_layout", [random_values(F32, (2, 3), "bias")], {"data_format": "CHW"}, contains="is not in the list of allowed values")
    return r


# ---- StridedSliceGrad ----

def strided_slice_grad():
    def reference(x, attrs):
        out = np.zeros(tuple(x[0]), x[4].dtype)
        out[index_of(*x[1:4], attrs)] = x[4]
        return out
    r = Recorder("StridedSliceGrad", reference=reference)
    s = slice

    def add(name, shape, index, dtype=F32, kind=I32):
        spec, attrs = spec_of(*index)
        dy = values(dtype, np.zeros(shape, bool)[index_of(*spec.T, attrs)].shape)
        r.add(name, [np.array(shape, kind)] + [np.ascontiguousarray(spec[:, i]).astype(kind) for i in range(3)] + [dy], attrs)
    indices = (((5,), (s(None),)), ((5,), ()), ((), ()), ((), (Ellipsis, None)), ((5,), (s(1, 4),)), ((5,), (-1,)), ((5,), (s(None, None, -1),)),
               ((7,), (s(None, None, 2),)), ((7,), (s(1, None, 3),)), ((8,), (s(None, None, -3),)), ((300,), (s(5, 290, 7),)),
               ((3, 4), (1,)), ((3, 4), (s(None), 2)), ((3, 4), (s(None), s(1, 3))), ((9, 17), (s(None, None, 2), s(None, None, -4))),
               ((9, 17, 5), (s(1, None), 3, s(None, None, -1))), ((2, 3, 4), (Ellipsis, None, s(1, 2), None)), ((6, 4, 3), (s(4, None, -2),)),
               ((65, 33), (s(None, None, 64), s(None, None, 32))), ((2, 3, 4), (s(1, 1), s(None), 2)), ((0, 3), (s(None), s(0, 2))),
               ((3, 0), (s(None, None, -1),)), (RANK8, (Ellipsis, s(None, None, 2))), (RANK8, (s(1, None), Ellipsis, 1)))
    for k, (shape, index) in enumerate(indices):
        add(f"index_{k}_of_{text(shape)}", shape, index, kind=INTS[k % 2])
    rng = rng_for("gradient masks")
    for i in range(40):
        add(f"random_{i}", *random_case(rng), dtype=np.dtype("uint8"))
    for dtype in MOVED_TYPES + (np.dtype("uint32"), np.dtype("uint64")):
        add(f"{dtype.name}_4x3x2", (4, 3, 2), (s(None, None, -2), 1, Ellipsis, None), dtype)

    def call(shape, begin, end, strides, dy, **attrs):
        return [np.array(x, I32) for x in (shape, begin, end, strides)] + [values(F32, dy)], attrs
    for name, (inputs, attrs), message in (
            ("dy_turned", call((2, 3), (0, 0), (2, 3), (1, 1), (3, 2)), "shape of dy was [3,2] instead of [2,3]"),
            ("dy_flat", call((2, 3), (0, 0), (2, 3), (1, 1), (6,)), "shape of dy was [6] instead of [2,3]"),
            ("dy_of_an_index", call((3,), (2,), (3,), (1,), (1,), shrink_axis_mask=1), "shape of dy was [1] instead of []"),
            ("shape_a_matrix", call(((2, 3),), (0, 0), (2, 3), (1, 1), (2, 3)), "shape must be"),
            ("size_negative", call((-2, 3), (0, 0), (2, 3), (1, 1), (2, 3)), "Dimension -2 must be >= 0"),
            ("stride_0", call((3,), (0,), (3,), (0,), (3,)), "strides[0] must be non-zero"),
            ("index_too_large", call((3,), (3,), (4,), (1,), (), shrink_axis_mask=1), "slice index 3 of dimension 0 out of bounds.")):
        r.error(name, inputs, attrs, contains=message)
    return r


# ---- MirrorPadGrad ----

def fold(x, axis, before, after, apart):
    """One dimension: the border before the middle first."""
    x = np.moveaxis(x, axis, 0)
    size = len(x) - before - after
    out = x[before:before + size].copy()
    out[apart:apart + before] += x[:before][::-1]
    last = size - apart
    out[last - after:last] += x[before + size:][::-1]
    return np.moveaxis(out, 0, axis)


def mirror_pad_grad():
    def reference(inputs, attrs):
        out = inputs[0]
        for axis, (before, after) in enumerate(inputs[1]):
            out = fold(out, axis, before, after, int(attrs["mode"] == "REFLECT"))
        return np.ascontiguousarray(out).reshape(out.shape)
    r = Recorder("MirrorPadGrad", reference=reference)

    def add(name, shape, pairs, mode, dtype=F32, kind=I32):
        """shape: of the result"""
        most = np.array(shape, int) - (mode == "REFLECT")
        pairs = np.minimum(np.array(pairs, int).reshape(-1, 2), most[:, None])
        padded = tuple(int(n) for n in np.array(shape, int) + pairs.sum(1))
        if 0 not in shape:
            r.add(f"{mode.lower()}_{name}", [values(dtype, padded), pairs.astype(kind)], {"mode": mode}, numpy_only=len(shape) > 5)
    for mode in ("REFLECT", "SYMMETRIC"):
        for shape, pairs in PADDINGS:
            add(f"{text(shape)}_by_{'_'.join(map(str, np.ravel(pairs)))}", shape, pairs, mode, kind=INTS[len(shape) % 2])
        for dtype in NUMERIC:
            add(dtype.name, (3, 4), ((1, 2), (3, 1)), mode, dtype)
        add("rank_8", RANK8, ((1, 0), (0, 0), (2, 1), (0, 0), (0, 1), (0, 0), (1, 1), (2, 0)), mode)
        add("long", (2, 150), ((1, 1), (100, 149)), mode)
        add("all", (5,), ((5, 5),), mode)
        x = values(F32, (3, 4))
        r.error(f"{mode.lower()}_too_much", [x, np.array(((0, 0), (0, 3)), I32)], {"mode": mode}, contains="paddings must be")
        r.error(f"{mode.lower()}_negative", [x, np.array(((0, 0), (-1, 0)), I32)], {"mode": mode}, contains="addings must be non-negative: -1")
        r.error(f"{mode.lower()}_more_than_all", [x, np.array(((2, 2), (0, 0)), I32)], {"mode": mode}, contains="Total paddings must be less than the input")
        r.error(f"{mode.lower()}_too_few", [x, np.array(((1, 0),), I32)], {"mode": mode}, contains="must be the rank of inputs")
        r.error(f"{mode.lower()}_empty", [values(F32, (0, 3)), np.zeros((2, 2), I32)], {"mode": mode}, contains="Total paddings must be less than the input")
    r.error("mode_wrap", [x, np.array(((1, 0), (0, 0)), I32)], {"mode": "WRAP"}, contains="\"WRAP\" is not in the list")
    return r


# ---- BroadcastGradientArgs, StopGradient ----

def broadcast_gradient_args():
    r = Recorder("BroadcastGradientArgs")
    for a, b in (((), ()), ((1,), ()), ((), (1,)), ((1,), (1,)), ((1, 1), (1, 1)), ((2, 3), (2, 3)), ((2, 1), (1, 1)), ((2, 3), (3,)), ((3,), (2, 3)),
                 ((1, 3), (3,)), ((2, 1, 3), (1, 4, 1)), ((), (4, 1)), ((0, 1), (1, 7)), ((1, 0), (1,)), ((5, 1, 1), (2,)),
                 ((2, 1, 2, 1, 2, 1, 2, 1), (1, 3, 1, 3, 1, 3, 1, 3)), ((2, 2, 2, 1, 1, 1, 2, 2), (2, 1, 2))):
        for kind in INTS:
            r.add(f"{kind.name}_{text(a)}_{text(b)}", [np.array(a, kind), np.array(b, kind)])
    r.error("do_not_fit", [np.array([2, 3], I32), np.array([2], I32)], contains="Incompatible shapes: [2,3] vs. [2]")
    r.error("matrix", [np.array([[2, 3]], I32), np.array([2], I32)], contains="In[0] must be a vector.")
    r.error("scalar", [np.array([2], I32), np.array(2, I32)], contains="In[1] must be a vector.")
    return r


def stop_gradient():
    r = Recorder("StopGradient", reference=lambda inputs, attrs: inputs[0])
    for shape in SHAPES + EMPTY_SHAPES:
        r.add(f"float32_{text(shape)}", [random_values(F32, shape, "stop")])
    return r


def build():
    makers = {op: (lambda op=op: elementwise(op)) for op in (*OF_FEATURES, *OF_RESULTS)}
    makers.update({"BiasAddGrad": bias_add_grad, "StridedSliceGrad": strided_slice_grad, "MirrorPadGrad": mirror_pad_grad,
                   "BroadcastGradientArgs": broadcast_gradient_args, "StopGradient": stop_gradient})
    return makers
