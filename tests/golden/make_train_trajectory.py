#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the text classifier of docs/training.md with Keras, and writes its losses and weights for
tests/unit/train/test_trajectory.c: make_train_trajectory.py > tests/unit/support/train_trajectory.inc

The data are numbers of a generator that the test has, too; the first weights are Keras's own for seeds. Two habits of
Keras on TensorFlow are left out, which its other backends do not have: numbers such as beta_1 keep their precision,
and the gradient of the embedding is dense, so that a word that occurs twice has one gradient, not two."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
import keras
import numpy as np
import tensorflow as tf
from keras.src import ops

cast = ops.cast
ops.cast = lambda x, dtype: tf.constant(x, dtype) if isinstance(x, float) else cast(x, dtype)

STEPS, BATCH, LENGTH, WORDS, CLASSES = 20, 8, 60, 500, 10


def data():
    """Words and labels by a linear congruential generator of 32 bits."""
    state, words, labels = 1, [], []

    def draw(limit):
        nonlocal state
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        return (state >> 8) % limit

    for _ in range(STEPS * BATCH):
        label = draw(CLASSES)
        labels.append(label)
        words.append([10 + label if draw(4) == 0 else draw(WORDS) for _ in range(LENGTH)])
    return np.array(words, "int32"), np.array(labels, "int32")


def model(dtype):
    keras.backend.set_floatx(dtype)
    keras.config.set_dtype_policy(dtype)
    layers = keras.layers
    glorot, uniform = keras.initializers.GlorotUniform, keras.initializers.RandomUniform
    return keras.Sequential(
        [
            keras.Input((LENGTH,), dtype="int32"),
            layers.Embedding(WORDS, 7, embeddings_initializer=uniform(-0.05, 0.05, seed=1)),
            layers.Conv1D(64, 5, activation="relu", kernel_initializer=glorot(seed=2)),
            layers.MaxPooling1D(2),
            layers.Conv1D(32, 3, activation="relu", kernel_initializer=glorot(seed=3)),
            layers.MaxPooling1D(2),
            layers.Flatten(),
            layers.Dense(CLASSES, activation="softmax", kernel_initializer=glorot(seed=4)),
        ]
    )


def run(dtype):
    words, labels = data()
    m = model(dtype)
    optimizer, loss_of = keras.optimizers.Nadam(), keras.losses.SparseCategoricalCrossentropy()
    losses = []
    for i in range(STEPS):
        part = slice(i * BATCH, (i + 1) * BATCH)
        with tf.GradientTape() as tape:
            loss = loss_of(labels[part], m(words[part], training=True))
        gradients = [tf.convert_to_tensor(g) for g in tape.gradient(loss, m.trainable_variables)]
        optimizer.apply_gradients(zip(gradients, m.trainable_variables))
        losses.append(float(loss))
    sums = []
    for w in m.weights:
        w = np.asarray(w, "float64").ravel()
        sums += [w.sum(), np.abs(w).sum(), w[len(w) // 3]]
    return losses, sums


def write(name, values):
    print(f"static const double {name}[] = {{")
    for v in values:
        print(f"    {v:.17g},")
    print("};")


if __name__ == "__main__":
    print("/* SPDX-License-Identifier: Apache-2.0 */")
    print(f"/* Made by tests/golden/make_train_trajectory.py with Keras {keras.__version__}. */")
    for dtype in ("float32", "float64"):
        losses, sums = run(dtype)
        write(f"trajectory_losses_{dtype}", losses)
        write(f"trajectory_weights_{dtype}", sums)
