#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes keras/{losses,metrics,initializers,seeds}.json: values of Keras's losses, metrics, initialisers.

Needs Keras 3.15 and TensorFlow 2.21 (README.md beside this file). Run: python3 make_train_cases.py
"""
import os
import zlib

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

import golden_form

FLOATS = ("float32", "float64")


def rng_for(*name):
    """A generator seeded by a name, so that adding cases does not change others."""
    return np.random.RandomState(zlib.crc32(repr(name).encode()))


def text(array):
    """None: there is no such tensor."""
    return golden_form.array_text(None if array is None else np.asarray(array, order="C"))


def attr(value):
    return {"float": value} if isinstance(value, float) else value


def case(name, op, attrs, inputs, outputs):
    """Inputs and outputs are arrays or None. Attributes that are 0 are left out."""
    given = {k: attr(v) for k, v in attrs.items() if v}
    return {"name": name, "op": op, "attrs": given, "inputs": [text(x) for x in inputs], "outputs": [text(x) for x in outputs]}


def write(name, made):
    golden_form.write_keras(name, keras.__version__, made)


# ---- losses ----

LOSSES = {
    "SPARSE_CATEGORICAL_CROSSENTROPY": keras.losses.SparseCategoricalCrossentropy,
    "CATEGORICAL_CROSSENTROPY": keras.losses.CategoricalCrossentropy,
    "BINARY_CROSSENTROPY": keras.losses.BinaryCrossentropy,
    "MEAN_SQUARED_ERROR": keras.losses.MeanSquaredError,
    "MEAN_ABSOLUTE_ERROR": keras.losses.MeanAbsoluteError,
    "HUBER": keras.losses.Huber,
    "KL_DIVERGENCE": keras.losses.KLDivergence,
    "POISSON": keras.losses.Poisson,
    "LOG_COSH": keras.losses.LogCosh,
    "MEAN_ABSOLUTE_PERCENTAGE_ERROR": keras.losses.MeanAbsolutePercentageError,
    "MEAN_SQUARED_LOGARITHMIC_ERROR": keras.losses.MeanSquaredLogarithmicError,
    "COSINE_SIMILARITY": keras.losses.CosineSimilarity,
    "HINGE": keras.losses.Hinge,
    "SQUARED_HINGE": keras.losses.SquaredHinge,
    "CATEGORICAL_HINGE": keras.losses.CategoricalHinge,
    "BINARY_FOCAL_CROSSENTROPY": keras.losses.BinaryFocalCrossentropy,
    "CATEGORICAL_FOCAL_CROSSENTROPY": keras.losses.CategoricalFocalCrossentropy,
    "DICE": keras.losses.Dice,
}


AXIS_BIAS = 100     # because attributes that are 0 are left out


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)).astype(x.dtype)


def loss_case(name, loss, labels, predictions, weights=None, reduction="none", **options):
    made = LOSSES[loss](reduction=reduction, dtype=predictions.dtype.name, **options)
    watched = tf.constant(predictions)
    with tf.GradientTape() as tape:
        tape.watch(watched)
        result = made(labels, watched, weights)
    expected = np.asarray(result, predictions.dtype)
    gradient = np.asarray(tape.gradient(result, watched), predictions.dtype)
    attrs = {"from_logits": options.get("from_logits", False), "label_smoothing": float(options.get("label_smoothing", 0)),
             "delta": float(options.get("delta", 0)), "reduction": reduction, "gamma": float(options.get("gamma", 0)),
             "alpha": float(options.get("alpha", 0)), "balances_classes": options.get("apply_class_balancing", False)}
    attrs.update({f"axis_{i}": axis + AXIS_BIAS for i, axis in enumerate(options.get("axis") or ())})
    return case(f"{name} {predictions.dtype.name}", loss.lower(), attrs, [labels, predictions, weights], [expected, gradient])


def sparse_losses(dtype):
    rng = rng_for("sparse", dtype)
    loss = "SPARSE_CATEGORICAL_CROSSENTROPY"
    logits = rng.uniform(-4, 4, (4, 5)).astype(dtype)
    cube = rng.uniform(-4, 4, (2, 3, 5)).astype(dtype)
    labels, weights = np.array([0, 4, 2, 1], "int32"), np.array([1, 0.5, 0, 3], dtype)
    yield loss_case("logits", loss, labels, logits, from_logits=True)
    yield loss_case("probabilities", loss, labels, softmax(logits))
    yield loss_case("unnormalised", loss, labels, np.abs(logits))
    yield loss_case("zeros and ones", loss, labels, np.eye(5, dtype=dtype)[[0, 3, 2, 1]])
    yield loss_case("int64 column", loss, labels.astype("int64")[:, None], logits, from_logits=True)
    yield loss_case("uint8 labels", loss, labels.astype("uint8"), logits, from_logits=True)
    yield loss_case("float labels", loss, labels.astype(dtype), logits, from_logits=True)
    yield loss_case("rank 3", loss, np.array([[0, 1, 2], [4, 3, 2]], "int32"), cube, from_logits=True)
    yield loss_case("rank 3 mean", loss, np.array([[0, 1, 2], [4, 3, 2]], "int32"), softmax(cube),
                    reduction="sum_over_batch_size")
    yield loss_case("rank 1", loss, np.array(3, "int32"), logits[0], from_logits=True)
    yield loss_case("sum", loss, labels, logits, reduction="sum", from_logits=True)
    yield loss_case("mean", loss, labels, logits, reduction="sum_over_batch_size", from_logits=True)
    yield loss_case("weights", loss, labels, logits, weights, from_logits=True)
    yield loss_case("weights column mean", loss, labels, logits, weights[:, None], "sum_over_batch_size", from_logits=True)
    yield loss_case("weights mean", loss, labels, softmax(logits), weights, "sum_over_batch_size")
    yield loss_case("weights weighted mean", loss, labels, logits, weights, "mean_with_sample_weight", from_logits=True)
    yield loss_case("weight scalar", loss, labels, logits, np.array(0.25, dtype), "sum", from_logits=True)
    yield loss_case("float32 weights", loss, labels, logits, weights.astype("float32"), "sum", from_logits=True)
    yield loss_case("rank 3 weights", loss, np.array([[0, 1, 2], [4, 3, 2]], "int32"), cube, np.array([[1, 2, 0], [0, 1, 1]], dtype),
                    "sum_over_batch_size", from_logits=True)
    yield loss_case("rank 3 weights of rows", loss, np.array([[0, 1, 2], [4, 3, 2]], "int32"), cube, np.array([[1], [3]], dtype),
                    "sum_over_batch_size", from_logits=True)
    yield loss_case("one class", loss, np.array([0, 0], "int32"), logits[:2, :1], from_logits=True)


def categorical_losses(dtype):
    rng = rng_for("categorical", dtype)
    loss = "CATEGORICAL_CROSSENTROPY"
    logits = rng.uniform(-4, 4, (4, 5)).astype(dtype)
    cube = rng.uniform(-4, 4, (2, 3, 5)).astype(dtype)
    hot, soft = np.eye(5, dtype="int32")[[0, 4, 2, 1]], softmax(rng.uniform(-2, 2, (4, 5)).astype(dtype))
    weights = np.array([1, 0.5, 0, 3], dtype)
    yield loss_case("logits", loss, soft, logits, from_logits=True)
    yield loss_case("int labels", loss, hot, logits, from_logits=True)
    yield loss_case("probabilities", loss, soft, softmax(logits))
    yield loss_case("unnormalised", loss, hot, np.abs(logits))
    yield loss_case("zeros and ones", loss, hot, np.eye(5, dtype=dtype)[[0, 3, 2, 1]])
    yield loss_case("smoothing logits", loss, hot, logits, label_smoothing=0.1, from_logits=True)
    yield loss_case("smoothing", loss, hot, softmax(logits), reduction="sum_over_batch_size", label_smoothing=0.25)
    yield loss_case("rank 3", loss, softmax(cube[::-1]), cube, from_logits=True)
    yield loss_case("rank 3 mean", loss, softmax(cube[::-1]), softmax(cube), reduction="sum_over_batch_size")
    yield loss_case("rank 1", loss, soft[0], logits[0], from_logits=True)
    yield loss_case("weights sum", loss, soft, logits, weights, "sum", from_logits=True)
    yield loss_case("weights mean", loss, hot, softmax(logits), weights, "sum_over_batch_size")


def binary_losses(dtype):
    rng = rng_for("binary", dtype)
    loss = "BINARY_CROSSENTROPY"
    logits = rng.uniform(-6, 6, (4, 3)).astype(dtype)
    probabilities = (1 / (1 + np.exp(-logits))).astype(dtype)
    labels = rng.randint(0, 2, (4, 3)).astype("int32")
    soft = rng.uniform(0, 1, (4, 3)).astype(dtype)
    edge = np.array([[0, 1, 0.5], [1, 0, 1], [1e-8, 1, 0], [0, 0, 1]], dtype)
    yield loss_case("logits", loss, labels, logits, from_logits=True)
    yield loss_case("soft logits", loss, soft, logits, from_logits=True)
    yield loss_case("far logits", loss, labels, logits * 30, from_logits=True)
    yield loss_case("zero logits", loss, soft, np.zeros((4, 3), dtype), from_logits=True)
    yield loss_case("probabilities", loss, labels, probabilities)
    yield loss_case("zeros and ones", loss, labels, edge)
    yield loss_case("bool labels", loss, labels.astype(bool), probabilities)
    yield loss_case("smoothing", loss, labels, probabilities, label_smoothing=0.1)
    yield loss_case("smoothing logits", loss, labels, logits, reduction="sum", label_smoothing=0.5, from_logits=True)
    yield loss_case("column", loss, labels[:, 0], probabilities[:, :1])
    yield loss_case("column of labels", loss, labels[:, :1], probabilities[:, 0])
    yield loss_case("rank 1", loss, labels[:, 0], probabilities[:, 0])
    yield loss_case("weights mean", loss, labels, probabilities, np.array([1, 0, 2, 0.5], dtype), "sum_over_batch_size")


def regressions(dtype):
    rng = rng_for("regression", dtype)
    predictions, labels = rng.uniform(-3, 3, (4, 3)).astype(dtype), rng.uniform(-3, 3, (4, 3)).astype(dtype)
    cube = rng.uniform(-3, 3, (2, 2, 3)).astype(dtype)
    weights = np.array([1, 0.5, 0, 3], dtype)
    for loss in ("MEAN_SQUARED_ERROR", "MEAN_ABSOLUTE_ERROR", "HUBER"):
        yield loss_case("matrix", loss, labels, predictions)
        yield loss_case("mean", loss, labels, predictions, reduction="sum_over_batch_size")
        yield loss_case("weights mean", loss, labels, predictions, weights, "sum_over_batch_size")
        yield loss_case("weights column sum", loss, labels, predictions, weights[:, None], "sum")
        yield loss_case("int labels", loss, np.round(labels).astype("int32"), predictions, reduction="sum")
        yield loss_case("column", loss, labels[:, 0], predictions[:, :1])
        yield loss_case("column of labels", loss, labels[:, :1], predictions[:, 0])
        yield loss_case("rank 1", loss, labels[:, 0], predictions[:, 0], reduction="sum_over_batch_size")
        yield loss_case("rank 1 weights", loss, labels[:, 0], predictions[:, 0], weights, "sum_over_batch_size")
        yield loss_case("rank 3", loss, cube[::-1], cube)
        yield loss_case("rank 3 weights", loss, cube[::-1], cube, np.array([[1, 2], [0, 0.5]], dtype), "sum_over_batch_size")
    yield loss_case("delta", "HUBER", labels, predictions, delta=0.5)
    yield loss_case("delta large", "HUBER", labels, predictions, delta=3.0)
    yield loss_case("at delta", "HUBER", np.array([[0, 0, 0]], dtype), np.array([[1, -1, 0]], dtype))


def divergences(dtype):
    rng = rng_for("divergence", dtype)
    predictions, labels = rng.uniform(0.1, 3, (4, 3)).astype(dtype), rng.uniform(0.1, 3, (4, 3)).astype(dtype)
    shares, signs = softmax(predictions), np.where(rng.uniform(-1, 1, (4, 3)) > 0, 1, -1).astype("int32")
    weights = np.array([1, 0.5, 0, 3], dtype)
    for loss in ("KL_DIVERGENCE", "POISSON", "LOG_COSH", "MEAN_ABSOLUTE_PERCENTAGE_ERROR", "MEAN_SQUARED_LOGARITHMIC_ERROR",
                 "COSINE_SIMILARITY"):
        y, p = (softmax(labels), shares) if loss == "KL_DIVERGENCE" else (labels, predictions)
        yield loss_case("matrix", loss, y, p)
        yield loss_case("weights mean", loss, y, p, weights, "sum_over_batch_size")
        yield loss_case("rank 3 sum", loss, np.stack([y, y[::-1]]), np.stack([p, p]), reduction="sum")
        yield loss_case("rank 1", loss, y[0], p[0])
    yield loss_case("zeros and ones", "KL_DIVERGENCE", np.eye(3, dtype="int32"), np.eye(3, dtype=dtype)[[0, 2, 1]])
    yield loss_case("zero labels", "MEAN_ABSOLUTE_PERCENTAGE_ERROR", np.zeros((2, 3), "int32"), predictions[:2] * np.array(1e-6, dtype))
    yield loss_case("negative", "MEAN_SQUARED_LOGARITHMIC_ERROR", labels, predictions - np.array(1.5, dtype))
    yield loss_case("far", "LOG_COSH", labels, predictions * np.array(30, dtype))
    for loss in ("HINGE", "SQUARED_HINGE"):
        yield loss_case("signs", loss, signs, predictions - np.array(1, dtype))
        yield loss_case("binary", loss, (signs + 1) // 2, predictions - np.array(1, dtype))
        yield loss_case("numbers", loss, labels, predictions - np.array(1, dtype), weights, "sum_over_batch_size")
    yield loss_case("classes", "CATEGORICAL_HINGE", np.eye(3, dtype="int32")[[0, 2, 1, 1]], predictions)
    yield loss_case("mean", "CATEGORICAL_HINGE", np.eye(3, dtype="int32")[[0, 2, 1, 1]], predictions - np.array(1, dtype), weights,
                    "sum_over_batch_size")


def focal_losses(dtype):
    rng = rng_for("focal", dtype)
    logits = rng.uniform(-3, 3, (4, 3)).astype(dtype)
    binary, hot = rng.randint(0, 2, (4, 3)).astype("int32"), np.eye(3, dtype="int32")[[0, 2, 1, 1]]
    weights = np.array([1, 0.5, 0, 3], dtype)
    for loss, labels, p in (("BINARY_FOCAL_CROSSENTROPY", binary, (1 / (1 + np.exp(-logits))).astype(dtype)),
                            ("CATEGORICAL_FOCAL_CROSSENTROPY", hot, softmax(logits))):
        yield loss_case("probabilities", loss, labels, p)
        yield loss_case("logits", loss, labels, logits, from_logits=True)
        yield loss_case("gamma", loss, labels, p, gamma=0.5)
        yield loss_case("alpha", loss, labels, p, alpha=0.75)
        yield loss_case("smoothing mean", loss, labels, p, weights, "sum_over_batch_size", label_smoothing=0.25)
    yield loss_case("balanced", "BINARY_FOCAL_CROSSENTROPY", binary, logits, apply_class_balancing=True, from_logits=True)
    yield loss_case("balanced alpha", "BINARY_FOCAL_CROSSENTROPY", binary, (1 / (1 + np.exp(-logits))).astype(dtype),
                    apply_class_balancing=True, alpha=0.75, gamma=3.0)


def dice_losses(dtype):
    rng = rng_for("dice", dtype)
    images = rng.uniform(0, 1, (2, 3, 4, 2)).astype(dtype)
    labels = rng.randint(0, 2, images.shape).astype("int32")
    weights = np.array([1, 3], dtype)
    yield loss_case("all", "DICE", labels, images)
    yield loss_case("all mean", "DICE", labels, images, reduction="sum_over_batch_size")
    yield loss_case("all weights", "DICE", labels, images, weights, "sum_over_batch_size")
    for axis in ((1, 2, 3), (-1,), (0,), (2, -3), (0, 1, 2, 3)):
        yield loss_case(f"axis {axis}", "DICE", labels, images, axis=axis)
    yield loss_case("of images mean", "DICE", labels, images, reduction="sum_over_batch_size", axis=(1, 2, 3))
    yield loss_case("of images weights", "DICE", labels, images, weights, "sum_over_batch_size", axis=(1, 2, 3))
    yield loss_case("of images weighted mean", "DICE", labels, images, weights, "mean_with_sample_weight", axis=(1, 2, 3))
    yield loss_case("of images weights sum", "DICE", labels, images, weights[:, None], "sum", axis=(1, 2, 3))
    yield loss_case("rank 1", "DICE", labels[0, 0, :, 0], images[0, 0, :, 0])
    yield loss_case("soft labels", "DICE", images[::-1].copy(), images, axis=(1, 2, 3))
    yield loss_case("nothing", "DICE", np.zeros((2, 3), "int32"), np.zeros((2, 3), dtype), axis=(1,))
    yield loss_case("column", "DICE", labels[0, 0, :, 0], images[0, 0, :, :1])


def losses():
    for dtype in FLOATS:
        for make in (sparse_losses, categorical_losses, binary_losses, regressions, dice_losses):
            yield from make(dtype)
        keras.config.set_floatx(dtype)  # some constants have this type, whatever the predictions have
        for make in (divergences, focal_losses):
            yield from make(dtype)
        keras.config.set_floatx("float32")


# ---- metrics ----

def accuracy(name, first):
    """What `accuracy` means to compile(), which chooses from the shapes."""
    from keras.src.trainers.compile_utils import get_metric
    return get_metric("accuracy", np.asarray(first[0]), np.asarray(first[1]))


def with_dtype(made, dtype):
    """The same metric with state of another type; compile() has no argument for it."""
    config = made.get_config()
    config["dtype"] = dtype
    return type(made).from_config({k: v for k, v in config.items() if k != "fn"})


def metric_case(name, kind, make, updates, dtype="float32", threshold=0.0, from_logits=False, thresholds=None, **members):
    """threshold: or k, or how many thresholds; None: none. The inputs are labels, predictions and weights of each update,
    and the list of thresholds; the outputs are the results after the updates."""
    made, inputs, outputs = make(), [], []
    for labels, predictions, weights in updates:
        if labels is None:
            made.update_state(predictions, sample_weight=weights)
        else:
            made.update_state(labels, predictions, sample_weight=weights)
        inputs += [labels, predictions, weights]
        outputs.append(np.asarray(made.result(), dtype))
    inputs += [] if thresholds is None else [np.array(thresholds, "float64")]
    number = {"has_no_threshold": True} if threshold is None else {"number": float(threshold)}
    return case(f"{name} {dtype}", kind, {"dtype": {"type": dtype}, "from_logits": from_logits, **number, **members}, inputs, outputs)


def metrics_of(dtype):
    rng = rng_for("metrics", dtype)
    m = keras.metrics

    def scores(shape):
        return rng.uniform(0, 1, shape).astype(dtype)
    weights = [np.array([1, 0.5, 0, 3], dtype), np.array([2, 0, 1, 1], dtype)]
    sparse = [rng.randint(0, 10, (4,)).astype("int32") for _ in range(2)]
    wide = [scores((4, 10)) for _ in range(2)]
    hot = [np.eye(10, dtype="int32")[s] for s in sparse]
    binary = [rng.randint(0, 2, (4, 3)).astype("int32") for _ in range(2)]
    narrow = [scores((4, 3)) for _ in range(2)]
    plain = [None, None]

    # Right in some rows.
    for k in range(2):
        wide[k][0, sparse[k][0]] = 2
        wide[k][3, sparse[k][3]] = 2

    def updates(labels, predictions, given=plain):
        return list(zip(labels, predictions, given))

    def chosen(labels, predictions, given=plain):
        batches = updates(labels, predictions, given)
        return lambda: with_dtype(accuracy("accuracy", batches[0]), dtype), batches
    for name, labels, predictions in (
            ("sparse", sparse, wide), ("sparse column", [s[:, None] for s in sparse], wide), ("dense", hot, wide),
            ("int64", [s.astype("int64") for s in sparse], wide), ("float labels", [s.astype(dtype) for s in sparse], wide),
            ("uint8", [s.astype("uint8") for s in sparse], wide),
            ("binary", [b[:, 0] for b in binary], [n[:, :1] for n in narrow]),
            ("binary column", [b[:, :1] for b in binary], [n[:, :1] for n in narrow])):
        for label, given in (("", plain), (" weighted", weights), (" weighted column", [w[:, None] for w in weights])):
            make, batches = chosen(labels, predictions, given)
            yield metric_case(f"accuracy {name}{label}", "accuracy", make, batches, dtype)
    cube = [scores((2, 3, 4)) for _ in range(2)]
    steps = [rng.randint(0, 4, (2, 3)).astype("int32") for _ in range(2)]
    for label, given in (("", plain), (" weighted", [np.array([[1, 0, 2], [1, 1, 0.5]], dtype)] * 2),
                         (" weighted rows", [np.array([1, 3], dtype)] * 2)):
        make, batches = chosen(steps, cube, given)
        yield metric_case(f"accuracy rank 3{label}", "accuracy", make, batches, dtype)
    out_of_range = [np.array([10, -1, 3, 4], "int32")]
    yield metric_case("sparse out of range", "sparse_categorical_accuracy", lambda: m.SparseCategoricalAccuracy(dtype=dtype),
                      updates(out_of_range, wide[:1]), dtype)
    yield metric_case("sparse", "sparse_categorical_accuracy", lambda: m.SparseCategoricalAccuracy(dtype=dtype),
                      updates(sparse, wide), dtype)
    yield metric_case("categorical", "categorical_accuracy", lambda: m.CategoricalAccuracy(dtype=dtype),
                      updates(hot, wide, weights), dtype)
    yield metric_case("binary", "binary_accuracy", lambda: m.BinaryAccuracy(dtype=dtype, threshold=0.5),
                      updates(binary, narrow, weights), dtype, 0.5)
    yield metric_case("binary at 0", "binary_accuracy", lambda: m.BinaryAccuracy(dtype=dtype, threshold=0.0),
                      updates(binary, [n - dtype_half(dtype) for n in narrow]), dtype, 0.0)
    scores32 = [w.astype("float32") for w in wide]  # TensorFlow's InTopK takes nothing else
    for k in (1, 5, 10):
        yield metric_case(f"sparse top {k}", "sparse_top_k", lambda: m.SparseTopKCategoricalAccuracy(k=k, dtype=dtype),
                          updates(sparse, scores32, weights if k == 5 else plain), dtype, k)
        yield metric_case(f"top {k}", "top_k", lambda: m.TopKCategoricalAccuracy(k=k, dtype=dtype), updates(hot, scores32), dtype, k)
    yield metric_case("sparse top 5 column", "sparse_top_k", lambda: m.SparseTopKCategoricalAccuracy(k=5, dtype=dtype),
                      updates([s[:, None] for s in sparse], scores32, weights), dtype, 5)
    yield metric_case("sparse top 2 rank 3", "sparse_top_k", lambda: m.SparseTopKCategoricalAccuracy(k=2, dtype=dtype),
                      updates(steps, [c.astype("float32") for c in cube]), dtype, 2)
    yield metric_case("mean", "mean", lambda: m.Mean(dtype=dtype), [(None, n, None) for n in narrow], dtype)
    yield metric_case("mean scalar", "mean", lambda: m.Mean(dtype=dtype),
                      [(None, np.array(v, dtype), None) for v in (2, 5)], dtype)
    yield metric_case("mean scalar weighted", "mean", lambda: m.Mean(dtype=dtype),
                      [(None, np.array(v, dtype), np.array(w, dtype)) for v, w in ((2, 32), (5, 8))], dtype)
    yield metric_case("mean weighted", "mean", lambda: m.Mean(dtype=dtype),
                      [(None, n, w) for n, w in zip(narrow, weights)], dtype)
    yield metric_case("mean int", "mean", lambda: m.Mean(dtype=dtype), [(None, s, None) for s in sparse], dtype)
    yield metric_case("mean no weight", "mean", lambda: m.Mean(dtype=dtype),
                      [(None, narrow[0], np.zeros(4, dtype))], dtype)
    real = [scores((4, 3)) for _ in range(2)]
    for kind, make in (("mean_squared_error", m.MeanSquaredError), ("mean_absolute_error", m.MeanAbsoluteError),
                       ("root_mean_squared_error", m.RootMeanSquaredError), ("cosine_similarity", m.CosineSimilarity),
                       ("kl_divergence", m.KLDivergence)):
        yield metric_case("matrix", kind, lambda: make(dtype=dtype), updates(real, narrow), dtype)
        yield metric_case("weighted", kind, lambda: make(dtype=dtype), updates(real, narrow, weights), dtype)
        if kind != "kl_divergence":  # Keras's broadcasts a vector against a column
            yield metric_case("column", kind, lambda: make(dtype=dtype), updates([r[:, 0] for r in real], [n[:, :1] for n in narrow]), dtype)
        yield metric_case("rank 3", kind, lambda: make(dtype=dtype), updates([c[::-1] for c in cube], cube, [np.array([1, 3], dtype)] * 2), dtype)
    yield from curves(dtype)
    yield from confusions(dtype)
    yield from scores_of_classes(dtype)
    yield from intersections(dtype)


def dtype_half(dtype):
    return np.array(0.5, dtype)


def curves(dtype):
    rng = rng_for("auc", dtype)
    m = keras.metrics

    def batch(n):
        labels = rng.randint(0, 2, (n, 1))
        score = np.clip(rng.uniform(0, 1, (n, 1)) * 0.7 + labels * 0.3, 0, 1).astype(dtype)
        return labels.astype("int32"), score, None

    def auc(**options):
        return lambda: m.AUC(dtype=dtype, **options)
    two = [batch(20), batch(13)]
    yield metric_case("auc", "auc", auc(), two, dtype, 200)
    yield metric_case("auc of 3 thresholds", "auc", auc(num_thresholds=3), two, dtype, 3)
    yield metric_case("auc of 2 thresholds", "auc", auc(num_thresholds=2), two, dtype, 2)
    yield metric_case("auc of vectors", "auc", auc(), [(y[:, 0], p[:, 0], None) for y, p, _ in two], dtype, 200)
    yield metric_case("auc of a vector and a column", "auc", auc(), [(y[:, 0], p, None) for y, p, _ in two], dtype, 200)
    weighted = [(y, p, rng.uniform(0, 2, (len(y),)).astype(dtype)) for y, p, _ in two]
    yield metric_case("auc weighted", "auc", auc(), weighted, dtype, 200)
    matrix = [(np.repeat(y, 2, 1), np.concatenate([p, 1 - p], 1), None) for y, p, _ in two]
    yield metric_case("auc of a matrix", "auc", auc(), matrix, dtype, 200)
    yield metric_case("auc of a matrix weighted", "auc", auc(),
                      [(y, p, w) for (y, p, _), (_, _, w) in zip(matrix, weighted)], dtype, 200)
    logits = [(y, (8 * p - 4).astype(dtype), None) for y, p, _ in two]
    yield metric_case("auc of logits", "auc", auc(from_logits=True), logits, dtype, 200, True)
    edge = [(np.array([0, 1, 1, 0, 1], "int32"), np.array([0, 1, 0.5, 1.5, -0.5], dtype), None)]
    yield metric_case("auc at the ends", "auc", auc(), edge, dtype, 200)
    for name, options, batches in (("", {}, two), (" of 3 thresholds", {"num_thresholds": 3}, two), (" weighted", {}, weighted),
                                   (" of a matrix", {}, matrix), (" at the ends", {}, edge)):
        yield metric_case(f"pr auc{name}", "auc", auc(curve="PR", **options), batches, dtype,
                          options.get("num_thresholds", 200), curve="pr")
    yield metric_case("pr auc of one class", "auc", auc(curve="PR"), [(np.zeros(3, "int32"), np.array([0.1, 0.5, 0.9], dtype), None)],
                      dtype, 200, curve="pr")
    yield metric_case("auc of one class", "auc", auc(), [(np.ones(3, "int32"), np.array([0.1, 0.5, 0.9], dtype), None)], dtype, 200)


def confusions(dtype):
    """Counts of right and wrong predictions, and their rates."""
    rng = rng_for("confusion", dtype)
    m = keras.metrics
    labels = [rng.randint(0, 2, (n, 3)).astype("int32") for n in (5, 4)]
    scores = [np.round(rng.uniform(0, 1, (n, 3)), 1).astype(dtype) for n in (5, 4)]  # with equals
    rows = [rng.uniform(0, 2, (n,)).astype(dtype) for n in (5, 4)]
    plain = [None, None]
    for kind, make in (("PRECISION", m.Precision), ("RECALL", m.Recall), ("TRUE_POSITIVES", m.TruePositives),
                       ("TRUE_NEGATIVES", m.TrueNegatives), ("FALSE_POSITIVES", m.FalsePositives), ("FALSE_NEGATIVES", m.FalseNegatives)):
        kind = kind.lower()
        for threshold in (0.5, 0.0, 0.25, 1.0):
            yield metric_case(f"at {threshold}", kind, lambda: make(thresholds=threshold, dtype=dtype), list(zip(labels, scores, plain)),
                              dtype, threshold)
        yield metric_case("weighted", kind, lambda: make(dtype=dtype), list(zip(labels, scores, rows)), dtype, 0.5)
        yield metric_case("weights of places", kind, lambda: make(dtype=dtype),
                          [(y[:, 0], p[:, 0], w) for y, p, w in zip(labels, scores, rows)], dtype, 0.5)
        yield metric_case("column", kind, lambda: make(dtype=dtype), [(y[:, 0], p[:, :1], None) for y, p in zip(labels, scores)], dtype, 0.5)
        yield metric_case("bool", kind, lambda: make(dtype=dtype), [(y.astype(bool), p, None) for y, p in zip(labels, scores)], dtype, 0.5)
    for kind, make in (("precision", m.Precision), ("recall", m.Recall)):
        for k in (1, 2, 3):
            yield metric_case(f"top {k}", kind, lambda: make(top_k=k, dtype=dtype), list(zip(labels, scores, plain)), dtype, None, top_k=k)
        yield metric_case("top 2 at 0.5", kind, lambda: make(thresholds=0.5, top_k=2, dtype=dtype), list(zip(labels, scores, rows)),
                          dtype, 0.5, top_k=2)
        yield metric_case("top 2 of a vector", kind, lambda: make(top_k=2, dtype=dtype), [(y[:, 0], p[:, 0], None) for y, p in zip(labels, scores)],
                          dtype, None, top_k=2)
    of_class = {"class_id": 2}
    for kind, make in (("precision", m.Precision), ("recall", m.Recall)):
        yield metric_case("of class 2", kind, lambda: make(class_id=2, dtype=dtype), list(zip(labels, scores, rows)), dtype, 0.5, **of_class)
        yield metric_case("of class 2 in the top 2", kind, lambda: make(class_id=2, top_k=2, dtype=dtype), list(zip(labels, scores, plain)),
                          dtype, None, top_k=2, **of_class)
        yield metric_case("of class 2 in the top 1 at two thresholds", kind,
                          lambda: make(thresholds=[0.25, 0.75], class_id=2, top_k=1, dtype=dtype), list(zip(labels, scores, rows)),
                          dtype, top_k=1, **of_class, thresholds=[0.25, 0.75])
    for kind, make in (("PRECISION", m.Precision), ("RECALL", m.Recall), ("TRUE_POSITIVES", m.TruePositives),
                       ("TRUE_NEGATIVES", m.TrueNegatives), ("FALSE_POSITIVES", m.FalsePositives), ("FALSE_NEGATIVES", m.FalseNegatives)):
        for name, given, weights in (("one threshold", [0.75], plain), ("three thresholds", [0.25, 0.5, 0.75], plain),
                                     ("weighted, two thresholds", [0.75, 0.25], rows)):
            yield metric_case(name, kind.lower(), lambda: make(thresholds=given, dtype=dtype), list(zip(labels, scores, weights)),
                              dtype, thresholds=given)


def scores_of_classes(dtype):
    rng = rng_for("fbeta", dtype)
    m = keras.metrics
    classes = 4
    labels = [rng.randint(0, 2, (n, classes)).astype("int32") for n in (6, 5)]
    hot = [np.eye(classes, dtype="int32")[rng.randint(0, classes, n)] for n in (6, 5)]
    soft = [rng.uniform(0, 1, (n, classes)).astype(dtype) for n in (6, 5)]
    scores = [rng.uniform(0, 1, (n, classes)).astype(dtype) for n in (6, 5)]
    scores[0][2] = 0  # no class
    rows = [rng.uniform(0, 2, (n,)).astype(dtype) for n in (6, 5)]
    for average in (None, "micro", "macro", "weighted"):
        given = {"average": str(average).lower(), "classes": classes}
        for name, threshold, y, w in (("largest", None, hot, [None, None]), ("above 0.5", 0.5, labels, [None, None]),
                                      ("weighted", 0.25, labels, rows), ("largest weighted", None, hot, rows), ("shares", 0.5, soft, rows)):
            yield metric_case(f"{name} {average}", "f1_score", lambda: m.F1Score(average=average, threshold=threshold, dtype=dtype),
                              list(zip(y, scores, w)), dtype, threshold or 0, **given)
        yield metric_case(f"beta 2 {average}", "fbeta_score",
                          lambda: m.FBetaScore(average=average, beta=2.0, threshold=0.5, dtype=dtype),
                          list(zip(labels, scores, rows)), dtype, 0.5, beta=2.0, **given)


def iou_case(name, kind, make, updates, dtype, classes=0, targets=(), threshold=0.0, **options):
    """targets: a 1, then a digit for each target class."""
    given = {"classes": classes, "targets": int("1" + "".join(map(str, targets)))}
    if "ignore_class" in options:
        given.update(ignored=options["ignore_class"] + AXIS_BIAS)
    if kind in ("iou", "mean_iou"):
        given.update(dense_labels=not options.get("sparse_y_true", True), dense_predictions=not options.get("sparse_y_pred", True))
    else:
        given.update(sparse_predictions=options.get("sparse_y_pred", False))
    return metric_case(name, kind, lambda: make(dtype=dtype, **options), updates, dtype, threshold, **given)


def intersections(dtype):
    rng = rng_for("iou", dtype)
    m = keras.metrics
    classes, shapes = 4, ((5, 3), (2, 3))
    labels = [rng.randint(0, classes, s).astype("int32") for s in shapes]
    predictions = [np.where(rng.uniform(0, 1, s) < 0.5, y, rng.randint(0, classes, s)).astype("int32") for s, y in zip(shapes, labels)]
    few = [(np.minimum(y, 2), np.minimum(p, 1), None) for y, p in zip(labels, predictions)]     # class 3 is nowhere
    scores = [rng.uniform(0, 1, (*s, classes)).astype(dtype) for s in shapes]
    hot = [np.eye(classes, dtype="int32")[y] for y in labels]
    places = [rng.uniform(0, 2, s).astype(dtype) for s in shapes]
    plain, whole = list(zip(labels, predictions, [None, None])), list(zip(labels, predictions, places))
    strange = [y - (y == 1) * 3 + (y == 2) * 300 for y in labels]
    for targets in ((0,), (3,), (0, 2), (1, 1, 3), (3, 2, 1, 0)):
        def make(**o):
            return m.IoU(classes, targets, **o)
        yield iou_case(f"of classes {targets}", "iou", make, plain, dtype, classes, targets)
        yield iou_case(f"of few classes {targets}", "iou", make, few, dtype, classes, targets)
        yield iou_case(f"weighted {targets}", "iou", make, whole, dtype, classes, targets)
    def mean(**o):
        return m.MeanIoU(classes, **o)
    def of_one_hot(**o):
        return m.OneHotIoU(classes, (0, 2), **o)
    def mean_of_one_hot(**o):
        return m.OneHotMeanIoU(classes, **o)
    yield iou_case("plain", "mean_iou", mean, plain, dtype, classes)
    yield iou_case("few classes", "mean_iou", mean, few, dtype, classes)
    yield iou_case("weighted", "mean_iou", mean, whole, dtype, classes)
    yield iou_case("one weight", "mean_iou", mean, [(y, p, np.array(2.5, dtype)) for y, p, _ in plain], dtype, classes)
    yield iou_case("rows weighted", "mean_iou", mean, [(y[:, 0], p[:, 0], w[:, 0]) for y, p, w in whole], dtype, classes)
    yield iou_case("columns", "mean_iou", mean, [(y[:, :1], p[:, 0], w[:, :1]) for y, p, w in whole], dtype, classes)
    yield iou_case("images", "mean_iou", mean, [(y[..., None], p, None) for y, p, _ in plain], dtype, classes)
    yield iou_case("out of range", "mean_iou", mean, list(zip(strange, predictions, places)), dtype, classes)
    yield iou_case("predictions out of range", "mean_iou", mean, list(zip(labels, strange, places)), dtype, classes)
    yield iou_case("float classes", "mean_iou", mean, [(y.astype(dtype), p.astype(dtype), None) for y, p, _ in plain], dtype, classes)
    yield iou_case("int64 and uint8", "mean_iou", mean, [(y.astype("int64"), p.astype("uint8"), None) for y, p, _ in plain], dtype, classes)
    for ignored in (0, 2, -2, 255):
        yield iou_case(f"ignored {ignored}", "mean_iou", mean, list(zip(strange if ignored == -2 else labels, predictions, places)), dtype,
                       classes, ignore_class=ignored)
    yield iou_case("dense labels", "mean_iou", mean, list(zip(hot, predictions, places)), dtype, classes, sparse_y_true=False)
    yield iou_case("dense predictions", "mean_iou", mean, list(zip(labels, scores, places)), dtype, classes, sparse_y_pred=False)
    yield iou_case("dense", "mean_iou", mean, list(zip(hot, scores, [None, None])), dtype, classes, sparse_y_true=False, sparse_y_pred=False)
    for label, given in (("", [None, None]), (" weighted", places)):
        yield iou_case(f"one hot{label}", "one_hot_iou", of_one_hot, list(zip(hot, scores, given)), dtype, classes, (0, 2))
        yield iou_case(f"one hot{label}", "one_hot_mean_iou", mean_of_one_hot, list(zip(hot, scores, given)), dtype, classes)
    yield iou_case("sparse predictions", "one_hot_mean_iou", mean_of_one_hot, list(zip(hot, predictions, places)), dtype, classes,
                   sparse_y_pred=True)
    yield iou_case("bool labels", "one_hot_iou", of_one_hot, [(y.astype(bool), s, None) for y, s in zip(hot, scores)], dtype, classes, (0, 2),
                   ignore_class=2)
    binary = [(y % 2, np.round(s[..., 0], 1), w) for y, s, w in zip(labels, scores, places)]    # with the thresholds themselves
    for targets in ((0,), (1,), (0, 1)):
        for threshold in (0.5, 0.3, -1.0):
            def binary_iou(**o):
                return m.BinaryIoU(targets, threshold, **o)
            yield iou_case(f"{targets} at {threshold}", "binary_iou", binary_iou, binary, dtype, 2, targets, threshold)


def metrics():
    for dtype in FLOATS:
        keras.config.set_floatx(dtype)  # AUC's variables have this type, whatever its own
        yield from metrics_of(dtype)
        keras.config.set_floatx("float32")


# ---- initialisers ----

SHAPES = {"scalar": (), "vector": (5,), "matrix": (6, 4), "kernel": (3, 2, 5), "filter": (2, 2, 3, 4)}


def initializer_case(name, kind, make, shape, dtype, exact, **members):
    """The output is the value; a bound of 0 wants the same bits."""
    return case(f"{name} {dtype}", kind.lower(), {"is_exact": exact, **members}, [], [np.asarray(make(shape, dtype=dtype))])


def initializers_of(dtype):
    i = keras.initializers
    for label, shape in SHAPES.items():
        for seed in (1, 2 ** 40 + 7, -3) if label == "matrix" else (42,):
            for kind, make, exact in (("RANDOM_UNIFORM", i.RandomUniform, True), ("RANDOM_NORMAL", i.RandomNormal, False),
                                      ("TRUNCATED_NORMAL", i.TruncatedNormal, False),
                                      ("GLOROT_UNIFORM", i.GlorotUniform, True), ("GLOROT_NORMAL", i.GlorotNormal, False),
                                      ("HE_UNIFORM", i.HeUniform, True), ("HE_NORMAL", i.HeNormal, False),
                                      ("LECUN_UNIFORM", i.LecunUniform, True), ("LECUN_NORMAL", i.LecunNormal, False)):
                yield initializer_case(f"{kind.lower()} {label} {seed}", kind, make(seed=seed), shape, dtype, exact, seed=seed)
    for label, shape in (("matrix", (6, 4)), ("wide", (4, 6)), ("square", (5, 5)), ("filter", (2, 2, 3, 4)), ("column", (5, 1)),
                         ("row", (1, 5)), ("one", (1, 1)), ("tall", (40, 3))):
        yield initializer_case(f"orthogonal {label}", "ORTHOGONAL", i.Orthogonal(seed=7), shape, dtype, False, seed=7)
    yield initializer_case("orthogonal gain", "ORTHOGONAL", i.Orthogonal(gain=1.5, seed=8), (3, 4), dtype, False, seed=8, gain=1.5)
    yield initializer_case("random_uniform of a range", "RANDOM_UNIFORM", i.RandomUniform(0.25, 3.0, seed=5), (7,), dtype, True,
                           seed=5, minval=0.25, maxval=3.0)
    yield initializer_case("random_normal of a mean", "RANDOM_NORMAL", i.RandomNormal(2.0, 0.5, seed=5), (7,), dtype, False,
                           seed=5, mean=2.0, stddev=0.5)
    yield initializer_case("truncated_normal of a mean", "TRUNCATED_NORMAL", i.TruncatedNormal(-1.0, 2.0, seed=5), (7,), dtype, False,
                           seed=5, mean=-1.0, stddev=2.0)
    for mode in ("fan_in", "fan_out", "fan_avg"):
        for distribution in ("truncated_normal", "untruncated_normal", "uniform"):
            yield initializer_case(f"variance_scaling {mode} {distribution}", "VARIANCE_SCALING",
                                   i.VarianceScaling(0.7, mode, distribution, seed=9), (2, 3, 5), dtype, distribution == "uniform",
                                   seed=9, scale=0.7, mode=mode, distribution=distribution)
    yield initializer_case("variance_scaling of nothing", "VARIANCE_SCALING", i.VarianceScaling(seed=9), (3, 2), dtype, False, seed=9)
    generator = keras.random.SeedGenerator(11)
    made = i.GlorotUniform(seed=generator)
    for draw in range(3):
        yield initializer_case(f"seed generator {draw}", "GLOROT_UNIFORM", made, (2, 3), dtype, True, seed=11, draw=draw)
    yield initializer_case("identity", "IDENTITY", i.Identity(), (3, 3), dtype, True)
    yield initializer_case("identity wide", "IDENTITY", i.Identity(gain=0.3), (2, 4), dtype, True, gain=0.3)


def initializers():
    i = keras.initializers
    for dtype in FLOATS:
        yield from initializers_of(dtype)
    for dtype in FLOATS + ("int32", "int64"):
        yield initializer_case("zeros", "ZEROS", i.Zeros(), (2, 3), dtype, True)
        yield initializer_case("ones", "ONES", i.Ones(), (2, 3), dtype, True)
        yield initializer_case("constant", "CONSTANT", i.Constant(3), (4,), dtype, True, value=3.0)
    for dtype in FLOATS:
        yield initializer_case("constant 0.1", "CONSTANT", i.Constant(0.1), (2,), dtype, True, value=0.1)
        yield initializer_case("constant scalar", "CONSTANT", i.Constant(-2.5), (), dtype, True, value=-2.5)


# ---- seeds that Keras chooses ----

def state_seed(generator):
    return int(np.asarray(generator.state)[0])


def default_seeds():
    """Of layers that are given none, in the order in which they are made."""
    k = keras.layers
    for seed in (0, 1, 812, 2 ** 31, 2 ** 32 - 1):
        keras.utils.set_random_seed(seed)
        made = [k.Embedding(10, 4), k.Conv1D(3, 2), k.Dropout(0.5), k.LSTM(2), k.Dense(1), k.Dense(2, "relu", kernel_initializer="zeros"),
                k.Dense(1)]
        cell = made[3].cell
        drawn = [made[0].embeddings_initializer.seed, made[1].kernel_initializer.seed, state_seed(made[2].seed_generator),
                 cell.kernel_initializer.seed, cell.recurrent_initializer.seed, state_seed(cell.seed_generator),
                 made[4].kernel_initializer.seed, made[6].kernel_initializer.seed]
        yield case(str(seed), "seed", {}, [np.int64(seed)], [np.array(drawn, "int64")])


if __name__ == "__main__":
    write("losses", list(losses()))
    write("metrics", list(metrics()))
    write("initializers", list(initializers()))
    write("seeds", list(default_seeds()))
