#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains models of an open number of steps with Keras on batches of different lengths, for test_open_lengths.c:
make_open_cases.py > tests/unit/support/train_open_cases.inc

Needs Keras 3.15 and TensorFlow 2.21. A row has a model's numbers: the loss (and accuracy) of evaluate, the outputs for
each batch, the losses of two epochs, then all weights. Data and first weights come from the generator of
make_layer_cases.py.
"""
import make_layer_cases as cases  # first: it sets the environment

import keras
import numpy as np
import tensorflow as tf
from keras import layers

CLASSES = 3
BATCHES = ((4, 5), (4, 8), (4, 5), (3, 12))  # rows, steps
LENGTHS = (3, 5, 2, 4, 6, 1, 7)  # of sequences that padded_batch joins


class Batches(keras.utils.PyDataset):
    def __init__(self, batches):
        super().__init__()
        self.batches = batches

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        return self.batches[index]


def words(draw):
    """Conv1D and GlobalMaxPooling1D."""
    model = keras.Sequential([
        keras.Input((None,), dtype="int64"), layers.Embedding(cases.TABLE, 3), layers.Conv1D(4, 3, activation="relu"),
        layers.MaxPooling1D(2), layers.GlobalMaxPooling1D(), layers.Dense(CLASSES, activation="softmax")])
    model.compile(keras.optimizers.SGD(0.5), "sparse_categorical_crossentropy",
                  metrics=[keras.metrics.SparseCategoricalAccuracy()], run_eagerly=True)
    batches = [(draw.ints(b), np.array([draw.next(CLASSES) for _ in range(b[0])], "int64")) for b in BATCHES]
    return model, batches


def steps(draw):
    """LSTM, with an output for each step."""
    model = keras.Sequential([
        keras.Input((None, 2)), layers.LSTM(3, return_sequences=True), layers.Dense(2, activation="tanh")])
    model.compile(keras.optimizers.SGD(0.5), "mse", run_eagerly=True)
    return model, [(draw.floats((*b, 2), 1024), draw.floats((*b, 2), 4096)) for b in BATCHES]


def padded(draw):
    """A mask over batches of padded_batch."""
    model = keras.Sequential([
        keras.Input((None,), dtype="int64"), layers.Embedding(cases.TABLE, 3, mask_zero=True), layers.GRU(2),
        layers.Dense(CLASSES, activation="softmax")])
    model.compile(keras.optimizers.SGD(0.5), "sparse_categorical_crossentropy", run_eagerly=True)
    rows = [(draw.ints((length,)), draw.next(CLASSES)) for length in LENGTHS]
    data = tf.data.Dataset.from_generator(
        lambda: iter(rows), output_signature=(tf.TensorSpec((None,), "int64"), tf.TensorSpec((), "int64")))
    return model, [(x.numpy(), y.numpy()) for x, y in data.padded_batch(3)]


def numbers_of(make, seed):
    draw = cases.Draw(seed)
    model, batches = make(draw)
    for layer in model.layers:
        cases.set_weights(layer, draw)
    numbers = list(np.atleast_1d(model.evaluate(Batches(batches), verbose=0)))
    for x, _ in batches:
        numbers += list(np.asarray(model.predict_on_batch(x)).ravel())
    numbers += model.fit(Batches(batches), epochs=2, shuffle=False, verbose=0).history["loss"]
    for weight in model.weights:
        numbers += list(weight.numpy().ravel())
    return numbers


def main():
    keras.config.set_floatx("float64")
    cases.print_head("make_open_cases.py")
    for seed, make in enumerate((words, steps, padded)):
        numbers = numbers_of(make, 300 + seed)
        text = ", ".join(f"{x:.15g}" for x in numbers)
        print(f"{{{len(numbers)}, {{{text}}}}},")
    return 0


if __name__ == "__main__":
    main()
