#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains models of several outputs, and with losses and metrics that are functions, by Keras's fit, and writes losses,
metrics and weights for test_outputs.c: make_output_cases.py > tests/unit/support/train_output_cases.inc

Needs Keras 3.15 and TensorFlow 2.21. A row has the names of the values, then the values of each epoch, of an
evaluation, the predictions of each output and all weights. Names stand in the order of gantry_model_evaluate.
"""
import make_layer_cases as cases  # first: it sets the environment

import keras
import numpy as np
import tensorflow as tf
from keras import layers

ROWS, FEATURES, BATCH, EPOCHS = 20, 3, 6, 3
X = ((np.arange(ROWS * FEATURES) * 37 % 64 - 32) / 32).reshape(ROWS, FEATURES)
CLASSES = ((np.arange(ROWS) * 5 + np.arange(ROWS) // 3) % 3).astype("int32")
VALUES = ((np.arange(ROWS * 2) * 23 % 32 - 16) / 16).reshape(ROWS, 2)
WEIGHTS = (np.arange(ROWS) % 4 + 1) / 2
OTHERS = (np.arange(ROWS) % 3 + 1) / 4


def make():
    keras.utils.set_random_seed(7)
    given = keras.Input((FEATURES,))
    x = layers.Dense(5, activation="tanh")(given)
    return keras.Model(given, [layers.Dense(3, activation="softmax", name="a")(x), layers.Dense(2, name="b")(x)])


def right(name):
    return keras.metrics.SparseCategoricalAccuracy(name=name)


def error(name):
    return keras.metrics.MeanAbsoluteError(name=name)


def quartic(labels, predictions):
    return tf.reduce_mean((labels - predictions) ** 4, axis=-1)


def largest(labels, predictions):
    return tf.reduce_max(tf.abs(labels - predictions))


CROSS = "sparse_categorical_crossentropy"


def two():
    return (CROSS, "mse"), None, {"metrics": [[right("accuracy")], [error("mae")]]}, (), [
        "loss", "a_loss", "b_loss", "a_accuracy", "b_mae"]


def weighted():
    more = {"weighted_metrics": [[right("accuracy")], [error("mae"), error("mae")]],
            "metrics": [[right("accuracy")], []]}
    return (CROSS, "mse"), [0.5, 2.0], more, (WEIGHTS,), [
        "loss", "a_loss", "b_loss", "a_accuracy", "a_weighted_accuracy", "b_mae", "b_weighted_mae"]


def weights_of_each():
    more = {"weighted_metrics": [[right("accuracy")], [error("mae")]]}
    return (CROSS, "mse"), [1.0, 0.25], more, (WEIGHTS, OTHERS), ["loss", "a_loss", "b_loss", "a_accuracy", "b_mae"]


def functions():
    return (CROSS, quartic), [1.0, 3.0], {"metrics": [[right("accuracy")], [quartic]]}, (), [
        "loss", "a_loss", "b_loss", "a_accuracy", "b_quartic"]


def one_number():
    return (CROSS, largest), [1.0, 0.5], {}, (), ["loss", "a_loss", "b_loss"]


def run(case):
    loss, loss_weights, more, weights, names = case()
    model, numbers = make(), []
    model.compile(keras.optimizers.SGD(0.05), list(loss), loss_weights, run_eagerly=True, **more)
    parts = (X, (CLASSES, VALUES)) + ((weights if len(weights) > 1 else weights[0],) if weights else ())
    data = tf.data.Dataset.from_tensor_slices(parts).batch(BATCH)
    history = model.fit(data, epochs=EPOCHS, verbose=0).history
    tested = model.evaluate(data, verbose=0, return_dict=True)
    if set(history) != set(names):
        raise ValueError(f"{sorted(history)} are Keras's names")
    for epoch in range(EPOCHS):
        numbers += [history[name][epoch] for name in names]
    numbers += [tested[name] for name in names]
    for output in model.predict(X, batch_size=BATCH, verbose=0):
        numbers += list(output.ravel())
    return names, numbers + [x for weight in model.weights for x in weight.numpy().ravel()]


def main():
    keras.config.set_floatx("float64")
    cases.print_head("make_output_cases.py")
    for case in (two, weighted, weights_of_each, functions, one_number):
        names, numbers = run(case)
        texts = ", ".join(f'"{name}"' for name in names)
        values = ", ".join(f"{x:.12g}" for x in numbers)
        print(f"{{{case.__name__}, {len(names)}, {{{texts}}}, {len(numbers)}, {{{values}}}}},")
    return 0


if __name__ == "__main__":
    main()
