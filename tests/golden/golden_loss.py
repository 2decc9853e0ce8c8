# SPDX-License-Identifier: Apache-2.0
"""LogSumExp, Var, Std, L2Loss and the cross entropies of logits."""
import ml_dtypes
import numpy as np
import tensorflow as tf

from golden_case import EXACT, F32, F64, FLOATS, HALVES, I32, I64, VALUE, Recorder, cycled, random_values
from golden_edge_rows import denormal_rows, special_rows
from golden_shapes import text

FLOATING = FLOATS + HALVES
LONG = np.longdouble


def values(dtype, shape, *name):
    return cycled(random_values(dtype, shape, "loss", *name), 67)


def eps_of(dtype):
    return float(ml_dtypes.finfo(dtype).eps)


def wide(x):
    return np.asarray(x, F64).astype(LONG)


def narrow(x, dtype):
    return np.asarray(np.asarray(x, LONG).astype(F64)).astype(dtype)


def axes_of(x, axes):
    return tuple(int(a) % x.ndim for a in axes.reshape(-1)) if x.ndim else ()


def log_sum_exp(x, axes, keep):
    top = np.max(x, axes, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(top), top, 0)
    total = np.log(np.sum(np.exp(x - shift), axes, keepdims=True)) + shift
    return total if keep else total.reshape([n for d, n in enumerate(x.shape) if d not in axes])


def variance(x, axes, keep):
    return np.mean((x - np.mean(x, axes, keepdims=True)) ** 2, axes, keepdims=keep)


STATISTICS = {
    "LogSumExp": (log_sum_exp, tf.math.reduce_logsumexp),
    "Var": (variance, tf.math.reduce_variance),
    "Std": (lambda x, axes, keep: np.sqrt(variance(x, axes, keep)), tf.math.reduce_std),
}


def statistic(op):
    """Ops that TensorFlow composes in Python: also runs TensorFlow's function."""
    formula, function = STATISTICS[op]

    def reference(inputs, attrs):
        x, axes = inputs[0], axes_of(inputs[0], inputs[1])
        out = narrow(formula(wide(x), axes, attrs.get("keep_dims", False)), x.dtype)
        theirs = np.asarray(function(tf.constant(x), list(axes), attrs.get("keep_dims", False)).numpy(), F64)
        bound = 64 * eps_of(x.dtype) * (1 + np.abs(np.asarray(out, F64)))
        assert ((np.abs(theirs - np.asarray(out, F64)) <= bound) | (theirs == np.asarray(out, F64)) |
                (np.isnan(theirs) & np.isnan(np.asarray(out, F64)))).all(), (op, x, theirs, out)
        return out
    r = Recorder(op, reference=reference)

    def add(name, x, axes, keep=False, index=I32):
        tolerance = {"ulp": 1} if x.dtype in HALVES else {"ulp": 4, "abs": 8 * eps_of(x.dtype)}
        r.add(name, [x, np.array(axes, index)], {"keep_dims": keep}, tolerance=tolerance, numpy_only=True)
    for dtype in FLOATING:
        for shape, axes in (((5,), (0,)), ((3, 4), (0,)), ((3, 4), (-1,)), ((2, 3, 4), (0, 2)), ((2, 65), (1,)), ((), ())):
            add(f"{dtype.name}_{text(shape)}_{len(axes)}_{sum(axes)}".replace("-", "m"), values(dtype, shape), axes)
    for shape, axes in (((3, 4), (0, 1)), ((2, 3, 4), (1,)), ((3, 1), (1,)), ((2, 2, 2, 2, 2, 2, 2, 2), (0, 3, 7)),
                        ((2, 300), (1,)), ((0, 2), (1,))):
        add(f"float32_{text(shape)}_keep", values(F32, shape, "keep"), axes, True, I64)
    add("float32_large", np.array([[1000, 1001, 999], [-1000, -1001, -1000]], F32), (1,))
    i, n = np.inf, np.nan
    for k, row in enumerate(([1, n, 2], [i, 1, 2], [-i, 1, 2], [-i, -i, -i], [i, -i, 0])):
        add(f"float32_special_{k}", np.array([row], F32), (1,))
    with np.errstate(all="ignore"):
        add("float32_none", values(F32, (0,)), (0,))
    return r


def with_errors(op):
    """With the wording of TensorFlow's reductions."""
    r = statistic(op)
    r.our_error("axis_too_large", [values(F32, (3, 4)), np.array([2], I32)], contains="Invalid reduction dimension")
    r.our_error("axis_twice", [values(F32, (3, 4)), np.array([0, -2], I32)], contains="duplicate dimension")
    return r


def l2_loss():
    r = Recorder("L2Loss", reference=lambda x, a: narrow(np.sum(wide(x[0]) ** 2) / 2, x[0].dtype))
    for dtype in FLOATING:
        for shape in ((), (0,), (1,), (5,), (3, 4), (2, 3, 4), (65,), (300,)):
            x = values(dtype, shape)
            r.add(f"{dtype.name}_{text(shape)}", [x], tolerance={"ulp": 1 if dtype in HALVES else 4},
                  tf_tolerance={"rel": eps_of(dtype) * (4 + x.size)})
        for k, row in enumerate(([1, np.nan], [np.inf, 1], [-0.0, -0.0])):
            r.add(f"{dtype.name}_special_{k}", [np.array(row).astype(dtype)], tolerance=VALUE)
        r.add(f"{dtype.name}_denormals", [denormal_rows(dtype)], tolerance={"ulp": 1}, numpy_only=True)
    r.add("of_rank_8", [values(F32, (2, 1, 2, 1, 2, 1, 2, 3))], tolerance={"ulp": 4}, tf_tolerance={"rel": 1e-5})
    return r


def softmax_parts(features):
    x = wide(features)
    shifted = x - np.max(x, 1, keepdims=True, initial=-np.inf)
    total = np.sum(np.exp(shifted), 1, keepdims=True)
    return shifted - np.log(total), np.exp(shifted) / total


def loss_bounds(dtype, classes):
    eps = eps_of(dtype)
    if dtype in HALVES:
        return {"ulp": 1, "abs": eps / 4}, {"rel": 16 * eps, "abs": 8 * eps * (4 + classes)}
    return ({"rel": 8 * eps, "abs": 4 * eps * (4 + classes)},) * 2


def cross_entropy():
    def reference(inputs, attrs):
        features, labels = np.broadcast_arrays(*inputs)
        log_p, p = softmax_parts(features)
        return [narrow(np.sum(wide(labels) * -log_p, 1), features.dtype), narrow(p - wide(labels), features.dtype)]
    r = Recorder("SoftmaxCrossEntropyWithLogits", reference=reference)

    def add(name, features, labels):
        ours, theirs = loss_bounds(features.dtype, features.shape[-1])
        r.add(name, [features, labels], tolerance=ours, tf_tolerance=theirs)

    def edges(dtype):
        for label, rows in (("special", special_rows(dtype)), ("denormal", denormal_rows(dtype))):
            ours, theirs = loss_bounds(dtype, 3)
            small = {"tolerance": ours, "tf_tolerance": theirs, "numpy_only": label == "denormal"}
            r.add(f"{dtype.name}_{label}_features", [rows, np.array([[0.25, 0.5, 0.25]]).astype(dtype)], **small)
            r.add(f"{dtype.name}_{label}_labels", [np.array([[1, 2, 0.5]]).astype(dtype), rows], **small)

    def weights(dtype, shape):
        x = np.abs(np.asarray(values(dtype, shape, "labels"), F64))
        return np.asarray(x / max(x.sum(-1).max() if x.size else 1, 1), dtype)
    for dtype in FLOATING:
        for shape in ((1, 3), (4, 5), (2, 65), (3, 1)):
            add(f"{dtype.name}_{text(shape)}", values(dtype, shape), weights(dtype, shape))
        edges(dtype)
    for left, right in (((1, 3), (2, 3)), ((4, 3), (1, 3)), ((2, 3), (2, 1)), ((3,), (2, 3)), ((0, 3), (0, 3)), ((3, 0), (3, 0)),
                        ((2, 300), (2, 300))):
        add(f"float32_{text(left)}_with_{text(right)}", values(F32, left), weights(F32, right))
    add("float32_large", np.array([[1000, 1001, 0], [-1000, 0, 1]], F32), np.array([[0, 1, 0], [0.5, 0.5, 0]], F32))
    for k, row in enumerate(([1, np.nan, 2], [np.inf, 1, 2], [-np.inf, 1, 2])):
        add(f"float32_special_{k}", np.array([row], F32), np.array([[0, 0.5, 0.5]], F32))
    x = values(F32, (2, 3))
    r.error("no_broadcast", [x, values(F32, (3, 2))], contains="logits and labels must be broadcastable")
    r.error("vectors", [x[0], x[1]], contains="must be either 2-dimensional, or broadcasted to be 2-dimensional")
    r.error("cubes", [x[None], x[None]], contains="must be either 2-dimensional")
    return r


def sparse_cross_entropy():
    def reference(inputs, attrs):
        features, labels = inputs
        log_p, p = softmax_parts(features)
        rows = np.arange(len(labels))
        p[rows, labels] -= 1
        return [narrow(-log_p[rows, labels], features.dtype), narrow(p, features.dtype)]
    r = Recorder("SparseSoftmaxCrossEntropyWithLogits", reference=reference)

    def add(name, features, labels):
        ours, theirs = loss_bounds(features.dtype, features.shape[-1])
        r.add(name, [features, labels], tolerance=ours, tf_tolerance=theirs)
    for dtype in FLOATING:
        for shape in ((1, 3), (4, 5), (2, 65), (3, 1)):
            for index in (I32, I64):
                labels = np.abs(random_values(index, shape[:1], "labels")) % shape[1]
                add(f"{dtype.name}_{text(shape)}_{index.name}", values(dtype, shape), labels.astype(index))
        ours, theirs = loss_bounds(dtype, 3)
        for label, rows in (("special", special_rows(dtype)), ("denormal", denormal_rows(dtype))):
            r.add(f"{dtype.name}_{label}", [rows, np.arange(len(rows), dtype=I32) % 3], tolerance=ours, tf_tolerance=theirs,
                  numpy_only=label == "denormal")
    add("float32_0x3", values(F32, (0, 3)), np.zeros(0, I32))
    add("float32_2x300", values(F32, (2, 300)), np.array([0, 299], I32))
    for k, row in enumerate(([1, np.nan, 2], [np.inf, 1, 2], [-np.inf, 1, 2])):
        for label in (0, 1):
            add(f"float32_special_{k}_{label}", np.array([row], F32), np.array([label], I32))
    x = values(F32, (2, 10))
    for name, labels in (("above", [0, 10]), ("negative", [-1, 0]), ("far", [2, 2000000000])):
        for index in (I32, I64):
            r.error(f"label_{name}_{index.name}", [x, np.array(labels, index)], contains="Received a label value")
    r.error("not_a_matrix", [x[0], np.zeros(10, I32)], contains="logits must be 2-D")
    r.error("labels_not_a_vector", [x, np.zeros((2, 1), I32)], contains="labels must be 1-D")
    r.error("batches_differ", [x, np.zeros(3, I32)], contains="must have the same first dimension")
    r.error("no_classes", [values(F32, (3, 0)), np.zeros(3, I32)], contains="Must have at least one class")
    return r


def rows():
    """Gantry's own op: the last step of the op above."""
    def reference(inputs, attrs):
        log_p, p, labels = inputs
        at = np.arange(len(labels))
        p = p.copy()
        p[at, labels] -= 1
        return [-log_p[at, labels], p]
    r = Recorder("SparseCrossEntropyRows", reference=reference)
    for dtype in FLOATS:
        for index in (I32, I64):
            r.add(f"{dtype.name}_{index.name}", [values(dtype, (3, 5), "log"), values(dtype, (3, 5), "p"), np.array([0, 4, 2], index)],
                  tolerance=EXACT, numpy_only=True)
        for label, x in (("special", special_rows(dtype)), ("denormal", denormal_rows(dtype))):
            r.add(f"{dtype.name}_{label}", [x, x[::-1].copy(), np.arange(len(x), dtype=I32) % 3], tolerance=VALUE, numpy_only=True)
    r.add("no_rows", [np.zeros((0, 3), F32), np.zeros((0, 3), F32), np.zeros(0, I32)], numpy_only=True)
    x, labels = values(F32, (2, 3)), np.zeros(2, I32)
    r.our_error("label_too_large", [x, x, labels + 3], contains="Received a label value")
    r.our_error("shapes_differ", [x, x[:, :2], labels], contains="log_softmax and softmax must have one shape, got [2,3] and [2,2]")
    r.our_error("batches_differ", [x, x, labels[:1]], contains="must have the same first dimension")
    r.our_error("labels_a_matrix", [x, x, labels[None]], contains="labels must be 1-D")
    r.our_error("types_differ", [x, x.astype(F64), labels], contains="was expected to be a float32 tensor but is a float64 tensor")
    return r


def build():
    makers = {op: (lambda op=op: with_errors(op)) for op in STATISTICS}
    makers.update({"L2Loss": l2_loss, "SoftmaxCrossEntropyWithLogits": cross_entropy,
                   "SparseSoftmaxCrossEntropyWithLogits": sparse_cross_entropy, "SparseCrossEntropyRows": rows})
    return makers
