# SPDX-License-Identifier: Apache-2.0
"""Composed ops: queries of shapes, Eye, LinSpace, EmbeddingLookup, normalisation, Dropout, Einsum.

Ops that TensorFlow composes in Python are recorded from its Python functions (tf.eye, tf.nn.moments,
tf.nn.batch_normalization, tf.keras.layers.LayerNormalization, tf.nn.experimental.stateless_dropout,
tf.nn.embedding_lookup)."""
import numpy as np

from golden_case import (BF16, BOOL, F16, F32, F64, FLOATS, HALVES, I32, I64, INTS, MOVED_TYPES, UNSIGNED, Recorder, random_values,
                         rng_for, tf)
from golden_edge_rows import denormal_rows, special_rows
from golden_shapes import EMPTY_SHAPES, SHAPES, text

# TensorFlow's tolerance with halves, because TensorFlow rounds them at each step.
HALF_STEPS = {F16: {"rel": 0.01, "abs": 0.02}, BF16: {"rel": 0.08, "abs": 0.15}}
# The tolerance covers sums, which TensorFlow adds in another order, and a square root. Halves are rounded once, from
# float32.
NEAR = {F32: {"rel": 2e-6, "abs": 2e-6}, F64: {"rel": 4e-15, "abs": 4e-15}, F16: {"ulp": 1, "rel": 2e-6, "abs": 1e-5},
        BF16: {"ulp": 1, "rel": 2e-6, "abs": 1e-5}}


def signed(*numbers):
    return "_".join(map(str, numbers)).replace("-", "m")


# ---- shapes ----

def shape_of(op):
    r = Recorder(op)
    for shape in SHAPES + EMPTY_SHAPES:
        for kind in (None,) if op == "Rank" else INTS:
            r.add(f"{text(shape)}_{kind.name if kind else ''}", [random_values(F32, shape, "shape")],
                  {"out_type": kind} if kind else {})
    for dtype in MOVED_TYPES:
        r.add(dtype.name, [random_values(dtype, (2, 3), "shape")])
    return r


def broadcast_args():
    r = Recorder("BroadcastArgs")
    for a, b in (((), ()), ((2, 3), (3,)), ((3,), (2, 3)), ((2, 1), (1, 5)), ((), (4, 1)), ((2, 1, 3), (1, 4, 1)), ((0, 1), (1, 7)),
                 ((2, 1, 2, 1, 2, 1, 2, 1), (1, 3, 1, 3, 1, 3, 1, 3))):
        for kind in INTS:
            r.add(f"{kind.name}_{text(a)}_{text(b)}", [np.array(a, kind), np.array(b, kind)])
    r.error("do_not_fit", [np.array([2, 3], I32), np.array([2], I32)], contains="Incompatible shapes: [2,3] vs. [2]")
    r.error("matrix", [np.array([[2, 3]], I32), np.array([2], I32)], contains="In[0] must be a vector.")
    r.error("scalar", [np.array([2], I32), np.array(2, I32)], contains="In[1] must be a vector.")
    return r


# ---- making tensors ----

def tf_eye(inputs, attrs):
    return tf.eye(inputs[0], inputs[1], batch_shape=attrs.get("batch_shape"), dtype=attrs.get("dtype", F32))


def eye():
    r = Recorder("Eye", tf_op=tf_eye)
    for rows, columns in ((0, 0), (1, 1), (3, 3), (2, 5), (5, 2), (0, 3), (3, 0), (17, 17)):
        for kind in INTS:
            r.add(f"{kind.name}_{rows}_{columns}", [np.array(rows, kind), np.array(columns, kind)])
    for batch in ([2], [3, 1, 2], [0, 2], [1, 2, 1, 2, 1, 2]):
        r.add(f"batch_{text(batch)}", [np.array(2, I32), np.array(3, I32)], {"batch_shape": batch})
    for dtype in MOVED_TYPES + UNSIGNED[2:]:
        if dtype != np.complex64:
            r.add(dtype.name, [np.array(3, I32), np.array(2, I32)], {"dtype": dtype, "batch_shape": [2]})
    r.error("negative", [np.array(-1, I32), np.array(2, I32)], contains="Dimension -1 must be >= 0")
    return r


def lin_space_reference(inputs, attrs):
    """Halves are computed in float32 and rounded once."""
    start, stop, num = (x.astype(F32) if x.dtype in HALVES else x for x in inputs)
    if num == 1:
        return inputs[0].reshape(1)
    step = (stop - start) / start.dtype.type(num - 1)
    out = start + step * np.arange(num).astype(start.dtype)
    out[0], out[-1] = start, stop
    return out.astype(inputs[0].dtype)


def lin_space():
    r = Recorder("LinSpace", reference=lin_space_reference)
    for dtype in HALVES:    # TensorFlow has no kernels for them
        for start, stop, num in ((0, 1, 11), (-3.7, 2.3, 17), (5, -5, 7), (2, 9, 1), (1, 2, 2), (0.1, 0.3, 300)) + (((0, 1, 2500),) if dtype == F16 else ()):
            r.add(f"{dtype.name}_{signed(start, stop, num)}", [np.array(x).astype(dtype) for x in (start, stop)] + [np.array(num, I32)],
                  numpy_only=True)
    for dtype in FLOATS + HALVES:
        least = denormal_rows(dtype)[0, 0]
        for k, (start, stop) in enumerate(((-0.0, 1), (1, -0.0), (np.nan, 1), (1, np.nan), (np.inf, 1), (1, -np.inf), (least, 8 * least),
                                           (8 * least, -least))):
            r.add(f"{dtype.name}_edges_{k}", [np.array(x).astype(dtype) for x in (start, stop)] + [np.array(3, I32)],
                  numpy_only=dtype in HALVES or k > 5)
    for dtype in FLOATS:
        for start, stop, num in ((0, 1, 5), (0, 1, 11), (-3.7, 2.3, 17), (5, -5, 7), (1, 1, 3), (2, 9, 1), (1, 2, 2),
                                 (0.1, 0.3, 300), (np.inf, 1, 3), (1, np.nan, 3), (3e38, -3e38, 4)):
            for kind in INTS:
                r.add(f"{dtype.name}_{kind.name}_{signed(start, stop, num)}",
                      [np.array(start, dtype), np.array(stop, dtype), np.array(num, kind)])
    one, two = np.array(1, F32), np.array(2, I32)
    r.error("no_number", [one, one, np.array(0, I32)], contains="Requires num > 0: 0")
    r.error("start_a_vector", [one.reshape(1), one, two], contains="start must be a scalar, not shape [1]")
    r.error("stop_a_vector", [one, one.reshape(1), two], contains="stop must be a scalar, not shape [1]")
    r.error("num_a_vector", [one, one, two.reshape(1)], contains="num must be a scalar, not shape [1]")
    return r


def tf_embedding_lookup(inputs, attrs):
    return tf.nn.embedding_lookup(inputs[0], inputs[1])


def embedding_lookup():
    r = Recorder("EmbeddingLookup", tf_op=tf_embedding_lookup)
    for shape, ids in (((4, 3), (5,)), ((4, 3), ()), ((4,), (2, 3)), ((3, 2, 2), (2, 2)), ((4, 0), (2,)), ((4, 3), (0,))):
        for kind in INTS:
            r.add(f"{kind.name}_{text(shape)}_{text(ids)}",
                  [random_values(F32, shape, "embed"), rng_for("embed", ids).randint(0, shape[0], ids).astype(kind)])
    for dtype in MOVED_TYPES:
        r.add(dtype.name, [random_values(dtype, (4, 2), "embed"), np.array([3, 0, 3], I32)])
    r.add("of_rank_8", [random_values(F32, (3, 2, 1, 2, 1, 1), "embed"), np.array([[[2, 1, 0]]], I32)])
    x = random_values(F32, (4, 2), "embed")
    r.error("id_out_of_range", [x, np.array([0, 4], I32)], contains="indices[1]")
    r.error("id_negative", [x, np.array([-1], I64)], contains="indices[0]")
    return r


def tf_boolean_mask(inputs, attrs):
    return tf.boolean_mask(inputs[0], inputs[1], axis=attrs.get("axis", 0))


def boolean_mask():
    r = Recorder("BooleanMask", tf_op=tf_boolean_mask)

    def mask(shape, *name):
        return rng_for("mask", shape, *name).randint(0, 2, shape).astype(BOOL)
    for shape, covered, axis in (((7,), (7,), 0), ((4, 3), (4,), 0), ((4, 3), (3,), 1), ((4, 3), (4, 3), 0), ((2, 3, 4), (3, 4), 1),
                                 ((2, 3, 4), (2, 3), 0), ((4, 3), (4,), -2), ((300,), (300,), 0), ((0, 3), (0,), 0),
                                 ((1, 2, 1, 2, 1, 2, 1, 3), (2, 1, 2), 3)):
        for kind in ("some", "none", "all"):
            m = mask(covered) if kind == "some" else np.full(covered, kind == "all")
            r.add(f"{text(shape)}_by_{text(covered)}_{signed(axis)}_{kind}", [random_values(F32, shape, "mask"), m], {"axis": axis})
    for dtype in MOVED_TYPES:
        r.add(dtype.name, [random_values(dtype, (5, 2), "mask"), mask((5,), 1)])
    x = random_values(F32, (2, 3), "mask")
    r.error("too_long", [x, mask((3,))], contains="are incompatible")
    r.error("too_many_dimensions", [x[0], mask((3, 2))], contains="are incompatible")
    r.error("scalar", [x, np.array(True)], contains="mask cannot be scalar.")
    return r


# ---- normalisation ----

def tf_moments(inputs, attrs):
    return tf.nn.moments(inputs[0], inputs[1].numpy().tolist(), keepdims=attrs.get("keep_dims", False))


def moments():
    r = Recorder("Moments", tf_op=tf_moments)
    for dtype in FLOATS:
        for shape, axes in (((5,), [0]), ((3, 4), [0]), ((3, 4), [-1]), ((3, 4), [0, 1]), ((2, 3, 4, 5), [0, 1, 2]),
                            ((2, 3, 4), [0, 2]), ((70, 3), [0]), ((3, 0), [0])):
            for keep in (False, True):
                r.add(f"{dtype.name}_{text(shape)}_{signed(*axes)}_{keep}",
                      [random_values(dtype, shape, "moments"), np.array(axes, I32)], {"keep_dims": keep},
                      tolerance=NEAR[dtype])
    for dtype in HALVES:
        for shape, axes in (((3, 4), [0]), ((2, 3, 4, 5), [0, 1, 2])):
            r.add(f"{dtype.name}_{text(shape)}", [random_values(dtype, shape, "moments"), np.array(axes, I32)],
                  tolerance=NEAR[dtype])
    r.add("of_rank_8", [random_values(F32, (2, 1, 2, 1, 2, 1, 2, 3), "moments"), np.array([1, 2, 7], I32)], tolerance=NEAR[F32])
    r.add("far_from_zero", [(random_values(F32, (64,), "moments") + 1000).astype(F32), np.array([0], I64)],
          tolerance={"rel": 1e-5})
    return r


def tf_batch_norm(inputs, attrs):
    return tf.nn.batch_normalization(*inputs, attrs.get("variance_epsilon", 0.001))


def batch_norm_reference(inputs, attrs):
    x, mean, variance, offset, scale = (i.astype(np.longdouble) for i in inputs)
    factor = scale / np.sqrt(variance + attrs.get("variance_epsilon", 0.001))
    return np.asarray(x * factor + (offset - mean * factor)).astype(F64).astype(inputs[0].dtype)


def one_special(rows, usual):
    """Each argument in turn consists of special rows; the other arguments hold one usual number each."""
    for at in range(len(usual)):
        yield at, [rows if i == at else np.full(rows.shape, v).astype(rows.dtype) for i, v in enumerate(usual)]


def batch_norm_edges(r):
    for dtype in FLOATS + HALVES:
        for at, inputs in one_special(special_rows(dtype), (1, 0.5, 2, 0.25, 3)):
            r.add(f"{dtype.name}_special_{at}", inputs, tolerance=NEAR[dtype], tf_tolerance=HALF_STEPS.get(dtype))
        for at, inputs in one_special(denormal_rows(dtype), (0, 0, 2, 0, 3)):
            r.add(f"{dtype.name}_denormal_{at}", inputs, tolerance={"ulp": 4}, numpy_only=True)


def batch_norm():
    r = Recorder("BatchNorm", tf_op=tf_batch_norm, reference=batch_norm_reference)
    batch_norm_edges(r)
    for dtype in FLOATS + HALVES:
        for shape, one in (((2, 3, 3, 4), (4,)), ((5, 3), (3,)), ((5, 3), (1, 3)), ((5, 3), (5, 1)), ((5, 3), ()), ((0, 3), (3,)),
                           ((2, 3, 4), (2, 3, 4)), ((2, 1, 2, 1, 2, 1, 2, 3), (3,))):
            parts = [random_values(dtype, one, "batch", i) for i in range(4)]
            parts[1] = np.asarray(np.abs(parts[1]), dtype)
            r.add(f"{dtype.name}_{text(shape)}_{text(one)}", [random_values(dtype, shape, "batch")] + parts,
                  {"variance_epsilon": 0.01}, tolerance=NEAR[dtype], tf_tolerance=HALF_STEPS.get(dtype))
    x, v = random_values(F32, (5, 3), "batch"), np.ones(3, F32)
    r.error("mean_too_short", [x, v[:2], v, v, v])
    return r


def tf_fused_batch_norm(inputs, attrs):
    """FusedBatchNormV3. Its CPU kernel leaves parts of the reserve spaces undefined; the case holds Gantry's values there."""
    full = {"epsilon": 0.0001, "exponential_avg_factor": 1.0, "data_format": "NHWC", "is_training": True, **attrs}
    y, mean, variance, saved_mean, saved_variance, _ = tf.raw_ops.FusedBatchNormV3(
        x=inputs[0], scale=inputs[1], offset=inputs[2], mean=inputs[3], variance=inputs[4], **full)
    if tf.size(y) == 0:
        saved_mean, saved_variance = tf.zeros_like(saved_mean), tf.zeros_like(saved_variance)
    elif not full["is_training"]:
        saved_mean, saved_variance = inputs[3], inputs[4]
    return [y, mean, variance, saved_mean, saved_variance, tf.zeros([0])]


def fused_reference(inputs, attrs):
    """Without averages of earlier statistics, channels last."""
    x, scale, offset, mean, variance = (i.astype(np.longdouble) for i in inputs)
    rows = x.reshape(-1, x.shape[3])
    if attrs.get("is_training", True):
        mean, variance = rows.mean(0), rows.var(0)
    y = (x - mean) * (scale / np.sqrt(variance + attrs.get("epsilon", 0.0001))) + offset
    given = variance * len(rows) / (len(rows) - 1) if attrs.get("is_training", True) else variance
    u = inputs[1].dtype
    return [y.astype(F64).astype(inputs[0].dtype)] + [s.astype(F64).astype(u) for s in (mean, given, mean, variance)] + [np.zeros(0, u)]


def fused_edges(r):
    """A channel for each special row. TensorFlow has no float64 here."""
    r.reference, plain = fused_reference, {"is_training": False}
    ones = [np.full(5, v) for v in (2, 0.5, 0.25, 1)]
    for dtype in FLOATS + HALVES:
        u = F64 if dtype == F64 else F32
        bounds = {"tolerance": NEAR[dtype], "tf_tolerance": HALF_STEPS.get(dtype), "numpy_only": dtype == F64}
        few = [v.astype(u) for v in ones]
        if dtype == F64:
            r.add("float64", [random_values(dtype, (2, 3, 1, 5), "fused")] + few, **bounds)
            r.add("float64_inference", [random_values(dtype, (2, 3, 1, 5), "fused")] + few, plain, **bounds)
        for label, rows in (("special", special_rows(dtype)[:5]), ("denormal", denormal_rows(dtype))):
            x = rows.T.reshape(1, 1, 3, 5)
            alone = {**bounds, "numpy_only": label == "denormal" or dtype == F64}
            r.add(f"{dtype.name}_{label}", [x] + few, **alone)
            r.add(f"{dtype.name}_{label}_inference", [x] + few, plain, **alone)
            if dtype not in FLOATS:
                continue
            special = np.array([np.nan, np.inf, -np.inf, -0.0, 1], dtype) if label == "special" else rows[:, 0]
            for at in range(4):
                parts = [special if i == at else v for i, v in enumerate(few)]
                r.add(f"{dtype.name}_{label}_argument_{at}", [np.ones((1, 1, 3, 5), dtype)] + parts, plain, **alone)
    r.reference = None


def fused_batch_norm():
    r = Recorder("FusedBatchNorm", tf_op=tf_fused_batch_norm)

    def channels(count, *name):
        parts = [random_values(F32, (count,), "fused", i, *name) for i in range(4)]
        parts[3] = np.abs(parts[3])
        return parts

    for training in (True, False):
        for form in ("NHWC", "NCHW"):
            for shape in ((2, 3, 3, 4), (1, 1, 1, 3), (2, 2, 2, 1), (3, 4, 5, 2)):
                for factor in (1.0, 0.25) if shape[0] == 2 else (1.0,):
                    x = random_values(F32, shape, "fused")
                    x = x.transpose(0, 3, 1, 2) if form == "NCHW" else x
                    r.add(f"{'training' if training else 'inference'}_{form}_{text(shape)}_{factor}",
                          [x] + channels(shape[3]),
                          {"is_training": training, "data_format": form, "exponential_avg_factor": factor,
                           "epsilon": 0.001}, tolerance=NEAR[F32])
        r.add(f"empty_{training}", [np.zeros((0, 2, 2, 3), F32)] + channels(3), {"is_training": training})
    for dtype in HALVES:
        for training in (True, False):
            r.add(f"{dtype.name}_{training}", [random_values(dtype, (2, 2, 2, 3), "fused")] + channels(3),
                  {"is_training": training}, tolerance=NEAR[dtype])
    fused_edges(r)
    empty = np.zeros(0, F32)
    x, parts = random_values(F32, (2, 2, 2, 3), "fused"), channels(3)
    r.add("training_without_statistics", [x] + parts[:2] + [empty, empty], tolerance=NEAR[F32])
    r.error("rank_3", [x[0]] + parts, contains="-dimensional[2,2,3]")
    r.error("scale_a_matrix", [x, parts[0][None]] + parts[1:], contains="scale must be 1-dimensional[1,3]")
    r.error("scale_too_short", [x, parts[0][:2]] + parts[1:],
            contains="scale must have the same number of elements as the channels of x, got 2 and 3")
    r.error("offset_too_short", [x, parts[0], parts[1][:2]] + parts[2:], contains="offset must have the same number")
    r.error("mean_too_short", [x] + parts[:2] + [parts[2][:2], parts[3]], {"is_training": False},
            contains="When is_training=false, mean must have the same number of elements")
    r.error("no_mean_to_average_with", [x] + parts[:2] + [empty, empty], {"exponential_avg_factor": 0.5},
            contains="When exponential_avg_factor != 1, mean must have the same number of elements")
    r.error("data_format", [x] + parts, {"data_format": "NXYZ"}, contains="is not in the list of allowed values")
    return r


def tf_fused_batch_norm_grad(inputs, attrs):
    full = {"epsilon": 0.0001, "data_format": "NHWC", "is_training": True, **attrs}
    return list(tf.raw_ops.FusedBatchNormGradV3(
        y_backprop=inputs[0], x=inputs[1], scale=inputs[2], reserve_space_1=inputs[3], reserve_space_2=inputs[4],
        reserve_space_3=inputs[5], **full))


def fused_grad_reference(inputs, attrs):
    """The derivative of y = (x - mean) / sqrt(variance + epsilon) * scale + offset; in training mean and variance depend on x."""
    u, form = inputs[2].dtype, attrs.get("data_format", "NHWC")
    dy, x, scale, mean, variance = (i.astype(np.longdouble) for i in inputs[:5])
    if form == "NCHW":
        dy, x = dy.transpose(0, 2, 3, 1), x.transpose(0, 2, 3, 1)
    r = 1 / np.sqrt(variance + attrs.get("epsilon", 0.0001))
    centred, axes = x - mean, (0, 1, 2)
    offset_backprop, product = dy.sum(axes), (dy * centred).sum(axes)
    n = x.size // x.shape[3] or 1
    dx = scale * r * (dy - offset_backprop / n - centred * (product / n * r * r) if attrs.get("is_training", True) else dy)
    dx = dx.transpose(0, 3, 1, 2) if form == "NCHW" else dx
    return [dx.astype(F64).astype(inputs[0].dtype), (product * r).astype(F64).astype(u), offset_backprop.astype(F64).astype(u),
            np.zeros(0, u), np.zeros(0, u)]


def fused_batch_norm_grad():
    r = Recorder("FusedBatchNormGrad", tf_op=tf_fused_batch_norm_grad, reference=fused_grad_reference)
    near = {F32: {"abs": 2e-5, "rel": 2e-5}, F64: {"abs": 1e-13, "rel": 1e-13}, F16: {"abs": 0.01, "rel": 0.002}, BF16: {"abs": 0.05, "rel": 0.01}}

    def call(dtype, shape, form, *name):
        u = F64 if dtype == F64 else F32
        dy, x = (random_values(dtype, shape, "fused grad", i, *name) for i in range(2))
        rows = x.astype(F64).reshape(-1, shape[3])
        mean, variance = (rows.mean(0), rows.var(0)) if len(rows) else (np.zeros(shape[3]), np.ones(shape[3]))
        dy, x = (v.transpose(0, 3, 1, 2) if form == "NCHW" else v for v in (dy, x))
        return [dy, x, random_values(u, (shape[3],), "fused grad"), mean.astype(u), variance.astype(u), np.zeros(0, u)]

    for training in (True, False):
        for form in ("NHWC", "NCHW"):
            for shape in ((2, 3, 3, 4), (1, 1, 1, 3), (2, 2, 2, 1), (3, 4, 5, 2), (0, 2, 2, 3), (2, 3, 2, 17)):
                r.add(f"{'training' if training else 'inference'}_{form}_{text(shape)}", call(F32, shape, form),
                      {"is_training": training, "data_format": form, "epsilon": 0.001}, tolerance=near[F32],
                      numpy_only=not training and form == "NCHW")     # TensorFlow's CPU kernel refuses it
            for dtype in HALVES + (F64,):     # TensorFlow has no float64 here
                r.add(f"{dtype.name}_{form}_{training}", call(dtype, (2, 3, 1, 5), form), {"is_training": training, "data_format": form},
                      tolerance=near[dtype], numpy_only=dtype == F64 or not training and form == "NCHW")
    # a channel for each special row: (nan, inf, -0, denormal) meets usual numbers
    for dtype in FLOATS + HALVES:
        for label, rows in (("special", special_rows(dtype)[:5]), ("denormal", denormal_rows(dtype))):
            for at in range(5):
                inputs = call(dtype, (1, 1, 3, 5), "NHWC", label)
                u = inputs[2].dtype
                inputs[at] = rows.T.reshape(1, 1, 3, 5) if at < 2 else rows[:, 0].astype(u)
                r.add(f"{dtype.name}_{label}_{at}", inputs, tolerance=near[dtype], numpy_only=True)
    inputs = call(F32, (2, 2, 2, 3), "NHWC")

    def changed(at, value):
        return inputs[:at] + [value] + inputs[at + 1:]

    r.error("shapes_differ", changed(0, inputs[0][:1]), contains="x and y_backprop must have same shape, but x has shape [2,2,2,3] and y_backprop has shape [1,2,2,3]")
    r.error("rank_3", changed(0, inputs[0][0]), contains="-dimensional[2,2,3]")
    r.error("scale_a_matrix", changed(2, inputs[2][None]), contains="scale must be 1-dimensional[1,3]")
    r.error("mean_a_matrix", changed(3, inputs[2][None]), contains="saved mean must be 1-dimensional[1,3]")
    r.error("variance_a_matrix", changed(4, inputs[2][None]), contains="saved variance must be 1-dimensional[1,3]")
    for at, name in ((2, "scale"), (3, "reserve_space_1"), (4, "reserve_space_2")):
        r.error(f"{name}_too_short", changed(at, inputs[2][:2]),
                contains=f"{name} must have the same number of elements as the channels of x, got 2 and 3")
    r.error("data_format", inputs, {"data_format": "NXYZ"}, contains="is not in the list of allowed values")
    return r


def normalize_channels():
    """Gantry's own op: FusedBatchNorm's last step."""
    def reference(inputs, attrs):
        x, mean, factor, offset = (value.astype(np.float64) for value in inputs)
        return ((x - mean[:, None]) * factor[:, None] + offset[:, None]).astype(inputs[0].dtype)

    r = Recorder("NormalizeChannels", reference=reference)
    for dtype in FLOATS:
        for shape in ((1, 1, 1), (5, 3, 1), (2, 64, 1), (3, 65, 1), (2, 3, 4), (3, 2, 65), (1, 7, 130), (0, 3, 2), (2, 0, 3), (2, 3, 0)):
            r.add(f"{dtype.name}_{text(shape)}",
                  [random_values(dtype, shape, "channels")] + [random_values(dtype, shape[1:2], "channels", i) for i in range(3)],
                  tolerance=NEAR[dtype], numpy_only=True)
        for label, rows, usual in (("special", special_rows(dtype), (1, 0.5, 2, 3)), ("denormal", denormal_rows(dtype), (0, 0, 2, 0))):
            for at, (x, *channels) in one_special(rows.ravel(), usual):
                r.add(f"{dtype.name}_{label}_{at}", [x[None, :, None]] + channels, tolerance={**NEAR[dtype], "ulp": 4}, numpy_only=True)
    x, one = random_values(F32, (2, 3, 4), "channels"), np.ones(3, F32)
    r.our_error("rank_2", [x[0]] + [one] * 3, contains="x must have the shape [outer, channels, inner], got [3,4]")
    r.our_error("mean_too_short", [x, one[:2], one, one], contains="mean must have shape [3], one number for each channel of x, got [2]")
    r.our_error("factor_a_matrix", [x, one, one[None], one], contains="factor must have shape [3]")
    r.our_error("offset_too_long", [x, one, one, np.ones(4, F32)], contains="offset must have shape [3]")
    r.our_error("types_differ", [x, one.astype(F64), one, one], contains="was expected to be a float32 tensor but is a float64 tensor")
    return r


def tf_layer_norm(inputs, attrs):
    x, scale, offset = inputs
    axes = list(range(attrs.get("axis", -1) % len(x.shape), len(x.shape)))
    layer = tf.keras.layers.LayerNormalization(axis=axes, epsilon=attrs.get("epsilon", 0.001), dtype=x.dtype.name)
    layer.build(x.shape)
    layer.set_weights([scale.numpy(), offset.numpy()])
    return tf.convert_to_tensor(layer(x))


def layer_norm_reference(inputs, attrs):
    x, scale, offset = (i.astype(np.longdouble) for i in inputs)
    axes = tuple(range(x.ndim - scale.ndim, x.ndim))
    y = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + attrs.get("epsilon", 0.001)) * scale + offset
    return y.astype(F64).astype(inputs[0].dtype)


def layer_norm_special_values(r, dtype, numpy_only):
    one, half = (np.full(3, v).astype(dtype) for v in (1, 0.5))
    near = {"tolerance": {**NEAR[dtype], "abs": 1e-3 if dtype in HALVES else 1e-5}, "tf_tolerance": HALF_STEPS.get(dtype)}
    r.add(f"{dtype.name}_special", [special_rows(dtype), one, half], **near, numpy_only=numpy_only)
    for k, row in enumerate(special_rows(dtype)[:3]):
        # TensorFlow subtracts mean * scale from the offset, so that an infinite scale gives NaN
        r.add(f"{dtype.name}_special_scale_{k}", [np.array([[1, 2, 4]]).astype(dtype), row, half], **near, numpy_only=numpy_only or k > 0)
        r.add(f"{dtype.name}_special_offset_{k}", [np.array([[1, 2, 4]]).astype(dtype), one, row], **near, numpy_only=numpy_only)
    zero = np.full(3, -0.0).astype(dtype)
    r.add(f"{dtype.name}_denormal", [denormal_rows(dtype), zero, denormal_rows(dtype)[1]], tolerance={"ulp": 1}, numpy_only=True)
    r.add(f"{dtype.name}_denormal_scale", [np.array([[1, 2, 4]]).astype(dtype), denormal_rows(dtype)[1], zero], tolerance={"ulp": 4},
          numpy_only=True)


def layer_norm_edges(r):
    for dtype in FLOATS + HALVES:
        layer_norm_special_values(r, dtype, numpy_only=False)
    x, one = random_values(F32, (2, 3), "layer"), np.ones(3, F32)
    r.our_error("axis_too_large", [x, one, one], {"axis": 2}, "2")
    r.our_error("axis_too_small", [x, one, one], {"axis": -3}, "-3")
    r.our_error("scale_too_short", [x, one[:2], one], contains="scale")
    r.our_error("offset_too_short", [x, one, one[:2]], contains="offset")
    r.our_error("scale_a_matrix", [x, one[None], one], contains="scale")
    r.our_error("scalar", [one[0], one, one])
    r.add("float32_empty", [np.zeros((0, 3), F32), np.ones(3, F32), np.zeros(3, F32)], numpy_only=True)


def layer_norm():
    r = Recorder("LayerNorm", tf_op=tf_layer_norm, reference=layer_norm_reference)
    layer_norm_edges(r)
    for dtype in FLOATS:
        for shape, axis in (((5,), -1), ((3, 4), -1), ((3, 4), 1), ((3, 4), 0), ((2, 3, 4), 1), ((2, 3, 5), -2),
                            ((2, 3, 64), -1), ((1, 2, 2, 1, 2, 1, 2, 3), 6), ((3, 1), -1), *([((1, 4097), -1)] if dtype == F32 else [])):
            inner = shape[axis % len(shape):]
            r.add(f"{dtype.name}_{text(shape)}_{signed(axis)}",
                  [random_values(dtype, shape, "layer"), random_values(dtype, inner, "layer", 1),
                   random_values(dtype, inner, "layer", 2)], {"axis": axis, "epsilon": 0.01},
                  tolerance={k: 4 * v for k, v in NEAR[dtype].items()})
    for dtype in HALVES:
        for shape in ((3, 4), (2, 3, 17)):
            r.add(f"{dtype.name}_{text(shape)}",
                  [random_values(dtype, shape, "layer"), random_values(dtype, shape[-1:], "layer", 1),
                   random_values(dtype, shape[-1:], "layer", 2)], tolerance={**NEAR[dtype], "abs": 1e-3}, tf_tolerance=HALF_STEPS[dtype])
    return r


def layer_norm_rows():
    """Gantry's own op: LayerNorm for rows that are one chunk of the tree of sums."""
    r = Recorder("LayerNormRows", reference=layer_norm_reference)
    for dtype in FLOATS:
        close = {k: 4 * v for k, v in NEAR[dtype].items()}
        for shape, axis in (((1,), 0), ((5,), -1), ((3, 4), 0), ((2, 3, 4), 1), ((1, 2, 2, 1, 2, 1, 2, 3), 6), ((3, 33), 1), ((5, 64), 1),
                            ((2, 65), 1), ((70, 10), 1), ((1, 1, 1000), 2), *([((1, 4095), 1)] if dtype == F32 else [])):
            inner = shape[axis % len(shape):]
            r.add(f"{dtype.name}_{text(shape)}_{signed(axis)}",
                  [random_values(dtype, shape, "rows"), random_values(dtype, inner, "rows", 1), random_values(dtype, inner, "rows", 2)],
                  {"axis": axis, "epsilon": 0.01}, tolerance=close, numpy_only=True)
        layer_norm_special_values(r, dtype, numpy_only=True)
    x, one = random_values(F32, (2, 3), "rows"), np.ones(3, F32)
    r.our_error("axis_too_large", [x, one, one], {"axis": 2}, "2")
    r.our_error("scale_too_short", [x, one[:2], one], contains="scale")
    r.our_error("offset_too_short", [x, one, one[:2]], contains="offset")
    r.our_error("too_long", [np.ones(4097, F32)] * 3, contains="scale must have 1 to 4096 elements, got shape [4097]")
    r.our_error("no_elements", [np.ones((2, 0), F32), np.ones(0, F32), np.ones(0, F32)], contains="got shape [0]")
    r.our_error("types_differ", [x, one.astype(F64), one], contains="was expected to be a float32 tensor but is a float64 tensor")
    r.add("float32_empty", [np.zeros((0, 3), F32), np.ones(3, F32), np.zeros(3, F32)], numpy_only=True)
    return r


def tf_dropout(inputs, attrs):
    return tf.nn.experimental.stateless_dropout(inputs[0], rate=attrs["rate"], seed=inputs[1],
                                                noise_shape=attrs.get("noise_shape"))


def dropout():
    r = Recorder("Dropout", tf_op=tf_dropout)
    for dtype in FLOATS:
        for shape in ((), (7,), (3, 33), (0, 2), (2, 3, 4)):
            for rate in (0.5, 0.1, 0.0):
                for seed in (np.array([1, 2], I32), np.array([-7, 1 << 40], I64)):
                    r.add(f"{dtype.name}_{text(shape)}_{rate}_{seed.dtype.name}",
                          [random_values(dtype, shape, "dropout"), seed], {"rate": rate})
    for dtype in HALVES:
        for rate in (0.5, 0.1):
            r.add(f"{dtype.name}_{rate}", [random_values(dtype, (3, 33), "dropout"), np.array([1, 2], I32)], {"rate": rate})
    for dtype in FLOATS + HALVES:
        r.add(f"{dtype.name}_special", [special_rows(dtype), np.array([1, 2], I32)], {"rate": 0.25})
        r.add(f"{dtype.name}_denormal_rate_0", [denormal_rows(dtype), np.array([1, 2], I32)], {"rate": 0.0})
    x, seed = random_values(F32, (3, 4), "dropout"), np.array([3, 4], I64)
    r.add("of_rank_8", [random_values(F32, (2, 1, 2, 1, 2, 1, 2, 3), "dropout"), seed], {"rate": 0.5})
    r.add("noise_of_rows", [x, seed], {"rate": 0.5, "noise_shape": [3, 1]})
    r.add("noise_of_columns", [x, seed], {"rate": 0.5, "noise_shape": [1, 4]})
    r.error("rate_1", [x, seed], {"rate": 1.0}, contains="in the range [0, 1)")
    r.error("rate_negative", [x, seed], {"rate": -0.5}, contains="in the range [0, 1)")
    r.error("noise_does_not_fit", [x, seed], {"rate": 0.5, "noise_shape": [2, 4]})
    return r


# ---- Einsum ----

def einsum():
    r = Recorder("Einsum")
    forms = (("ij,jk->ik", (2, 3), (3, 4)), ("ij,kj->ik", (2, 3), (4, 3)), ("ji,jk->ik", (3, 2), (3, 4)),
             ("ij,jk->ki", (2, 3), (3, 4)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("bij,bkj->bik", (2, 3, 4), (2, 5, 4)),
             ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)), ("bqhd,bkhd->bhqk", (2, 3, 2, 4), (2, 5, 2, 4)),
             ("bhqk,bkhd->bqhd", (2, 2, 3, 5), (2, 5, 2, 4)), ("abc,cd->abd", (2, 3, 4), (4, 5)), ("abc,bcd->ad", (2, 3, 4), (3, 4, 5)),
             ("i,i->", (5,), (5,)), ("i,i->i", (5,), (5,)), ("i,j->ij", (3,), (4,)), ("i,->i", (3,), ()), (",->", (), ()),
             ("ij,ij->", (2, 3), (2, 3)), ("ij,kl->", (2, 3), (3, 2)), ("ij,kl->ijkl", (2, 3), (3, 2)), ("bi,bj->bij", (2, 3), (2, 4)),
             ("ij->ji", (2, 3)), ("ij->", (2, 3)), ("ij->i", (2, 3)), ("ij->j", (2, 3)), ("ijk->kij", (2, 3, 4)), ("->", ()),
             ("ii->i", (4, 4)), ("ii->", (4, 4)), ("iji->ij", (3, 2, 3)), ("iii->i", (3, 3, 3)), ("iijj->ji", (2, 2, 3, 3)),
             ("ii,ij->j", (3, 3), (3, 2)), ("ij,jk->", (2, 3), (3, 4)), ("ijl,jk->ik", (2, 3, 2), (3, 4)),
             ("...ij->...ji", (5, 2, 3)), ("...i->...", (2, 3, 4)), ("i...->...", (2, 3)), ("...->...", (2, 3)),
             ("...ij,...jk->...ik", (5, 1, 2, 3), (4, 3, 2)), ("...ij,jk->...ik", (2, 2, 3), (3, 4)), ("...ij,...jk->...ik", (2, 3), (4, 3, 2)),
             ("...i,i...->...", (2, 3), (3, 2)), ("ab,ab...->...", (2, 3), (2, 3, 4)), ("i...j,j->...i", (2, 3, 4), (4,)),
             ("i->ii", (3,)), ("ij->iji", (2, 3)), ("ij->ijij", (2, 3)), ("ii->ii", (3, 3)), ("i->iii", (2,)), ("i,j->jii", (2,), (3,)),
             ("...i->...ii", (2, 3)), ("ij,jk->ikk", (2, 3), (3, 2)), ("i->ii", (0,)),
             ("ij,jk->ik", (0, 3), (3, 2)), ("ij,jk->ik", (2, 0), (0, 3)), ("ij->i", (2, 0)), ("Ab,bC->AC", (2, 3), (3, 4)))
    for n, (equation, *shapes) in enumerate(forms):
        label = "".join(x if x.isalnum() else "_" for x in equation.replace("->", " to ").replace("...", " e "))
        r.add(f"{n}_{label}", [random_values(F32, s, "einsum", i) for i, s in enumerate(shapes)], {"equation": equation},
              tolerance={"rel": 4e-6, "abs": 4e-6})
    r.add("of_rank_8", [random_values(F32, (2, 1, 2, 1, 2, 1, 2, 3), "einsum"), random_values(F32, (3, 2), "einsum")],
          {"equation": "abcdefgh,hi->abcdefgi"}, tolerance={"rel": 4e-6, "abs": 4e-6})
    for dtype in HALVES:    # TensorFlow rounds partial sums
        for equation, *shapes in forms[:2] + forms[4:5] + forms[15:16] + forms[26:28]:
            r.reference = lambda inputs, attrs: np.einsum(attrs["equation"], *[x.astype(F64) for x in inputs]).astype(inputs[0].dtype)
            r.add(f"{dtype.name}_{equation.replace('->', '_').replace(',', '_')}",
                  [random_values(dtype, s, "einsum", i) for i, s in enumerate(shapes)], {"equation": equation},
                  tolerance=NEAR[dtype], tf_tolerance=HALF_STEPS[dtype])
    r.reference = None
    for dtype in (F64, I32, I64):
        for equation, *shapes in forms[:2] + forms[4:5] + forms[26:28]:
            r.add(f"{dtype.name}_{equation.replace('->', '_').replace(',', '_')}",
                  [random_values(dtype, s, "einsum", i) for i, s in enumerate(shapes)], {"equation": equation},
                  tolerance=NEAR.get(dtype, {"exact": True}))
    x, y = random_values(F32, (2, 3), "einsum"), random_values(F32, (3, 4), "einsum")

    def bad(name, equation, inputs, contains):
        r.error(name, inputs, {"equation": equation}, contains=contains)
    bad("no_arrow", "ij,jk", [x, y], "Expecting exactly one '->' in einsum equation: ij,jk")
    bad("two_arrows", "ij->jk->", [x], "Expecting exactly one '->'")
    bad("three_inputs", "ij,jk,kl->il", [x, y, x], "Expecting 1 or 2 input subscripts in equation 'ij,jk,kl->il' but got: 3")
    bad("one_missing", "ij,jk->ik", [x], "Expected 2 inputs but got: 1")
    bad("one_too_many", "ij->ij", [x, y], "Expected 1 inputs but got: 2")
    bad("other_size", "ij,jk->ik", [x, x], "Expected dimension 3 at axis 0 of the input shaped [2,3] but got dimension 2")
    bad("not_square", "ii->i", [x], "Expected dimension 2 at axis 1 of the input shaped [2,3] but got dimension 3")
    bad("rank", "ijk->ij", [x], "Expected input 0 to have rank 3 but got: 2")
    bad("rank_at_least", "...ijk->ij...", [x], "Expected input 0 to have rank at least 3 but got: 2")
    bad("no_ellipsis_in_output", "i...->i", [x], "but no ellipsis (...) was found in the output subscripts.")
    bad("batches_do_not_fit", "...ij,...jk->...ik", [np.zeros((2, 2, 3), F32), np.zeros((3, 3, 2), F32)],
        "Invalid broadcasting dimensions: [2,2,3] vs. [3,3,2]")
    return r


def build():
    return {"Shape": lambda: shape_of("Shape"), "Size": lambda: shape_of("Size"), "Rank": lambda: shape_of("Rank"),
            "BroadcastArgs": broadcast_args, "Eye": eye, "LinSpace": lin_space, "EmbeddingLookup": embedding_lookup, "BooleanMask": boolean_mask,
            "Moments": moments, "BatchNorm": batch_norm, "FusedBatchNorm": fused_batch_norm, "FusedBatchNormGrad": fused_batch_norm_grad, "LayerNorm": layer_norm,
            "LayerNormRows": layer_norm_rows, "NormalizeChannels": normalize_channels,
            "Dropout": dropout, "Einsum": einsum}
