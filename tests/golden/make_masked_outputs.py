#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a model of padded sequences with two outputs by Keras's fit, and writes losses, metrics and weights for
test_output_trainings.c: make_masked_outputs.py > tests/unit/support/train_masked_output_cases.inc

Needs Keras 3.15 and TensorFlow 2.21. One output has the mask of the sequence, the other one has none. A row has the
number of weights' components, the values of each epoch, of an evaluation, and all weights.
"""
import make_layer_cases as cases  # first: it sets the environment

import keras
import numpy as np
import tensorflow as tf
from keras import layers

ROWS, STEPS, BATCH, EPOCHS = 10, 5, 4, 2
WORDS = (np.arange(ROWS * STEPS) * 7 % 11 % 6).reshape(ROWS, STEPS)  # 0 is padding
CLASSES = ((np.arange(ROWS * STEPS) * 5 + np.arange(ROWS * STEPS) // 3) % 3).reshape(ROWS, STEPS)
VALUES = ((np.arange(ROWS * 2) * 23 % 32 - 16) / 16).reshape(ROWS, 2)
WEIGHTS = ((np.arange(ROWS * STEPS) % 4 + 1) / 2).reshape(ROWS, STEPS)
OTHERS = (np.arange(ROWS) % 3 + 1) / 4
NAMES = ["loss", "a_loss", "b_loss", "a_accuracy", "b_mae"]


def make():
    keras.utils.set_random_seed(7)
    given = keras.Input((STEPS,), dtype="int32")
    x = layers.Embedding(6, 3, mask_zero=True)(given)
    x = layers.SimpleRNN(2, return_sequences=True)(x)
    a = layers.Dense(3, activation="softmax", name="a")(x)
    last = layers.SimpleRNN(2)(x)
    return keras.Model(given, [a, layers.Dense(2, name="b")(last)])


def run(weights):
    model = make()
    kind = "weighted_metrics" if weights else "metrics"
    model.compile(keras.optimizers.SGD(0.05), ["sparse_categorical_crossentropy", "mse"], [1.0, 0.5], run_eagerly=True,
                  **{kind: [[keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
                            [keras.metrics.MeanAbsoluteError(name="mae")]]})
    parts = (WORDS, (CLASSES, VALUES)) + ((weights,) if weights else ())
    data = tf.data.Dataset.from_tensor_slices(parts).batch(BATCH)
    history = model.fit(data, epochs=EPOCHS, verbose=0).history
    tested = model.evaluate(data, verbose=0, return_dict=True)
    numbers = [history[name][epoch] for epoch in range(EPOCHS) for name in NAMES] + [tested[name] for name in NAMES]
    embedding, first, last, a, b = model.layers[1:]  # by depth; here by the order in which they are applied
    return numbers + [x for layer in (embedding, first, a, last, b) for weight in layer.weights
                      for x in weight.numpy().ravel()]


def main():
    keras.config.set_floatx("float64")
    cases.print_head("make_masked_outputs.py")
    for weights in ((), (WEIGHTS, OTHERS)):
        numbers = run(weights)
        print(f"{{{len(weights)}, {len(numbers)}, {{{', '.join(f'{x:.12g}' for x in numbers)}}}}},")
    return 0


if __name__ == "__main__":
    main()
