#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains models that have models as layers by Keras's fit, and writes losses, predictions and weights for
test_nested.c: make_nested_cases.py > tests/unit/support/train_nested_cases.inc

Needs Keras 3.15 and TensorFlow 2.21. A row has the loss of each epoch and of an evaluation, the predictions, and all
weights, in the order in which layers are applied first.
"""
import make_layer_cases as cases  # first: it sets the environment

import keras
import numpy as np
import tensorflow as tf
from keras import layers

ROWS, FEATURES, BATCH, EPOCHS = 20, 3, 6, 2
X = ((np.arange(ROWS * FEATURES) * 37 % 64 - 32) / 32).reshape(ROWS, FEATURES)
X2 = ((np.arange(ROWS * FEATURES) * 29 % 64 - 32) / 32).reshape(ROWS, FEATURES)
Y = ((np.arange(ROWS * 2) * 23 % 32 - 16) / 16).reshape(ROWS, 2)


def twins():
    """A sequential block with moving means on both inputs, and a functional one with two inputs and two outputs, which
    has a sequential block of its own."""
    first, second = keras.Input((FEATURES,)), keras.Input((FEATURES,))
    block = keras.Sequential([layers.Dense(4, activation="tanh"), layers.BatchNormalization(momentum=0.5)], name="block")
    a, b = block(first), block(second)
    p, q = keras.Input((4,)), keras.Input((4,))
    inner = keras.Sequential([layers.Dense(3, activation="tanh")], name="inner")
    total = layers.Add()([inner(p), inner(q)])
    mixer = keras.Model([p, q], [layers.Dense(2)(total), total], name="mixer")
    c, d = mixer([a, b])
    last = layers.Dense(2)
    model = keras.Model([first, second], last(layers.Concatenate()([c, d])))
    return model, (X, X2), [*block.layers, *inner.layers, mixer.layers[-1], last]


def chain():
    block = keras.Sequential([layers.Dense(4, activation="tanh"), layers.Dense(3)], name="block")
    model = keras.Sequential([keras.Input((FEATURES,)), layers.Dense(5, activation="tanh"), block, layers.Dense(2)])
    return model, X, [model.layers[0], *block.layers, model.layers[2]]


def run(make):
    keras.utils.set_random_seed(7)
    model, inputs, ordered = make()
    draw = cases.Draw(11)
    for layer in ordered:
        cases.set_weights(layer, draw)
    model.compile(keras.optimizers.SGD(0.05), "mse", run_eagerly=True)
    data = tf.data.Dataset.from_tensor_slices((inputs, Y)).batch(BATCH)
    numbers = list(model.fit(data, epochs=EPOCHS, verbose=0).history["loss"]) + [model.evaluate(data, verbose=0)]
    numbers += list(model.predict(data, verbose=0).ravel())
    return numbers + [x for layer in ordered for weight in layer.weights for x in weight.numpy().ravel()]


def main():
    keras.config.set_floatx("float64")
    cases.print_head("make_nested_cases.py")
    for make in (twins, chain):
        numbers = run(make)
        print(f"{{make_{make.__name__}, {len(numbers)}, {{{', '.join(f'{x:.12g}' for x in numbers)}}}}},")
    return 0


if __name__ == "__main__":
    main()
