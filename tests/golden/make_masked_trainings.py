#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains padded sequences with Keras, and writes its losses, metrics and weights for test_masked_training.c:
make_masked_trainings.py > tests/unit/support/train_masked_cases.inc

Needs Keras 3.15 and TensorFlow 2.21. A row has a loss, a reduction, whether samples have weights, the loss and the
metrics of evaluate, then all weights after an epoch of two batches. Data and first weights come from the generator of
make_layer_cases.py.
"""
import make_layer_cases as cases  # first: it sets the environment

import keras
import numpy as np

ROWS, STEPS, UNITS, CLASSES = 8, 5, 2, 3

LOSSES = (
    ("GANTRY_MEAN_SQUARED_ERROR", keras.losses.MeanSquaredError, "GANTRY_LINEAR", 1,
     lambda: [keras.metrics.MeanMetricWrapper(keras.losses.mean_absolute_error)]),
    ("GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY", keras.losses.SparseCategoricalCrossentropy, "GANTRY_SOFTMAX", CLASSES,
     lambda: [keras.metrics.SparseCategoricalAccuracy(),
              keras.metrics.MeanMetricWrapper(keras.losses.sparse_categorical_crossentropy)]),
    ("GANTRY_BINARY_CROSSENTROPY", keras.losses.BinaryCrossentropy, "GANTRY_SIGMOID", 1,
     lambda: [keras.metrics.BinaryAccuracy(), keras.metrics.AUC()]),
)
REDUCTIONS = (("sum_over_batch_size", "GANTRY_REDUCTION_SUM_OVER_BATCH_SIZE"), ("sum", "GANTRY_REDUCTION_SUM"),
              ("mean_with_sample_weight", "GANTRY_REDUCTION_MEAN_WITH_SAMPLE_WEIGHT"))


def labels_of(draw, loss):
    """Numbers for a regression, classes, or 0 and 1."""
    if loss == "GANTRY_MEAN_SQUARED_ERROR":
        return draw.floats((ROWS, STEPS, 1), 1024)
    limit = CLASSES if loss == "GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY" else 2
    return np.array([draw.next(limit) for _ in range(ROWS * STEPS)], "float64").reshape((ROWS, STEPS, 1))


def train(index, loss, make_loss, activation, outputs, make_metrics, reduction, weighted):
    draw = cases.Draw(100 + index)
    x, y = draw.ints((ROWS, STEPS)), labels_of(draw, loss)
    weights = np.abs(draw.floats((ROWS, STEPS), 1024)) if weighted else None
    model = keras.Sequential([
        keras.layers.Embedding(cases.TABLE, 3, mask_zero=True),
        keras.layers.LSTM(UNITS, return_sequences=True),
        keras.layers.Dense(outputs, activation={"GANTRY_LINEAR": None, "GANTRY_SOFTMAX": "softmax",
                                                "GANTRY_SIGMOID": "sigmoid"}[activation])])
    model.build((None, STEPS))
    for layer in model.layers:
        cases.set_weights(layer, draw)
    model.compile(keras.optimizers.SGD(0.5), make_loss(reduction=reduction), weighted_metrics=make_metrics(),
                  run_eagerly=True)
    numbers = list(model.evaluate(x, y, sample_weight=weights, batch_size=4, verbose=0))
    model.fit(x, y, sample_weight=weights, batch_size=4, shuffle=False, verbose=0)
    for weight in model.weights:
        numbers += list(weight.numpy().ravel())
    return numbers


def main():
    keras.config.set_floatx("float64")
    cases.print_head("make_masked_trainings.py")
    index = 0
    for loss, make_loss, activation, outputs, make_metrics in LOSSES:
        for keras_reduction, reduction in REDUCTIONS:
            for weighted in (False, True) if loss != "GANTRY_BINARY_CROSSENTROPY" else (False,):
                numbers = train(index, loss, make_loss, activation, outputs, make_metrics, keras_reduction, weighted)
                text = ", ".join(f"{x:.12g}" for x in numbers)
                print(f"{{{loss}, {activation}, {outputs}, {reduction}, {str(weighted).lower()}, {len(numbers)}, "
                      f"{{{text}}}}},")
                index += 1
    return 0


if __name__ == "__main__":
    main()
