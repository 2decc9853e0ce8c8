#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains models by Keras's fit with its options and callbacks, and writes losses, metrics and weights for
test_fit_keras.c: make_fit_cases.py > tests/unit/support/train_fit_cases.inc

Needs Keras 3.15 and TensorFlow 2.21. A row has the values of each epoch, those of a validation last, then all weights.
"""
import make_layer_cases as cases  # first: it sets the environment

import keras
import numpy as np
import tensorflow as tf
from keras import callbacks, layers

ROWS, TESTED, FEATURES, BATCH = 20, 7, 3, 6
NAMES = ("loss", "accuracy", "weighted_accuracy")


def points(rows, factor):
    return ((np.arange(rows * FEATURES) * factor % 64 - 32) / 32).reshape(rows, FEATURES)


def labels(rows, factor):
    i = np.arange(rows)
    return ((i * factor + i // 3) % 3).astype("int32")


X, Y, TEST_X, TEST_Y = points(ROWS, 37), labels(ROWS, 5), points(TESTED, 23), labels(TESTED, 7)


class Record(callbacks.Callback):
    def __init__(self, numbers):
        super().__init__()
        self.numbers = numbers

    def on_epoch_end(self, epoch, logs=None):
        for prefix in ("", "val_"):
            self.numbers += [logs[prefix + name] for name in NAMES if prefix + name in logs]


def make(*middle):
    keras.utils.set_random_seed(7)
    return keras.Sequential([layers.Dense(5, activation="tanh"), *middle, layers.Dense(3, activation="softmax")])


def compile_model(model, rate=2.0, weighted=False, optimizer=None):
    more = {"weighted_metrics": [keras.metrics.SparseCategoricalAccuracy(name="weighted_accuracy")]} if weighted else {}
    model.compile(optimizer or keras.optimizers.SGD(rate), "sparse_categorical_crossentropy",
                  metrics=[keras.metrics.SparseCategoricalAccuracy(name="accuracy")], run_eagerly=True, **more)
    return model


def fit(numbers, model, epochs, *given, **options):
    model.fit(X, Y, batch_size=BATCH, epochs=epochs, shuffle=False, verbose=0, validation_data=(TEST_X, TEST_Y),
              callbacks=[Record(numbers), *given], **options)


def ended(numbers, model):
    return numbers + [x for weight in model.weights for x in weight.numpy().ravel()]


def best_weights():
    numbers, model = [], compile_model(make())
    fit(numbers, model, 12, callbacks.EarlyStopping(patience=2, min_delta=0.001, restore_best_weights=True))
    return ended(numbers, model)


def best_of_all():
    numbers, model = [], compile_model(make())
    fit(numbers, model, 4, callbacks.EarlyStopping(monitor="val_accuracy", patience=4, restore_best_weights=True))
    return ended(numbers, model)


def baseline():
    numbers, model = [], compile_model(make(), 0.1)
    fit(numbers, model, 12, callbacks.EarlyStopping(patience=3, baseline=1.0, start_from_epoch=2))
    return ended(numbers, model)


def twice():
    numbers, model, stopping = [], compile_model(make()), callbacks.EarlyStopping(patience=2)
    fit(numbers, model, 12, stopping)
    fit(numbers, model, 12, stopping)
    return ended(numbers, model)


def plateau():
    numbers, model = [], compile_model(make(), 4.0)
    lowering = callbacks.ReduceLROnPlateau(factor=0.5, patience=1, cooldown=1, min_lr=0.75, min_delta=0.01)
    fit(numbers, model, 12, lowering)
    return ended(numbers, model)


def class_weights():
    numbers, model = [], compile_model(make(), 0.5, True)
    fit(numbers, model, 3, class_weight={0: 1.0, 1: 2.5, 2: 0.5})
    return ended(numbers, model)


def steps():
    numbers, model = [], compile_model(make())
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(BATCH)
    model.fit(data, epochs=5, steps_per_epoch=3, verbose=0, callbacks=[Record(numbers)])
    return ended(numbers, model)


def endless():
    numbers, model = [], compile_model(make())
    data = tf.data.Dataset.from_tensor_slices((X, Y)).repeat().batch(BATCH)
    model.fit(data, epochs=3, steps_per_epoch=4, verbose=0, callbacks=[Record(numbers)])
    return ended(numbers, model)


def every_second():
    numbers, model = [], compile_model(make(), 2.0)
    fit(numbers, model, 9, callbacks.EarlyStopping(patience=2), validation_freq=2)
    return ended(numbers, model)


def frozen():
    numbers, model = [], make(layers.BatchNormalization(momentum=0.5))
    model.layers[0].trainable = model.layers[1].trainable = False
    fit(numbers, compile_model(model), 2)
    model.layers[0].trainable = model.layers[1].trainable = True
    fit(numbers, compile_model(model), 2)
    return ended(numbers, model)


def frozen_later():
    """The optimizer stays, and has moments of weights that are not trained any more."""
    numbers, model = [], make(layers.BatchNormalization(momentum=0.5))
    sgd = keras.optimizers.SGD(0.5, momentum=0.5)
    for trainable in (True, False):
        model.layers[0].trainable = trainable
        fit(numbers, compile_model(model, optimizer=sgd), 2)
    return ended(numbers, model)


def shared():
    """A BatchNormalization that is applied twice keeps both statistics."""
    keras.utils.set_random_seed(7)
    given, norm = keras.Input((FEATURES,)), layers.BatchNormalization(momentum=0.5)
    x = layers.Dense(FEATURES, activation="tanh")(norm(given))
    numbers, model = [], compile_model(keras.Model(given, layers.Dense(3, activation="softmax")(norm(x))), 0.5)
    fit(numbers, model, 3)
    return ended(numbers, model)


def main():
    keras.config.set_floatx("float64")
    cases.print_head("make_fit_cases.py")
    for run in (best_weights, best_of_all, baseline, twice, plateau, class_weights, steps, endless, every_second,
                frozen, frozen_later, shared):
        numbers = run()
        text = ", ".join(f"{x:.12g}" for x in numbers)
        print(f'{{"{run.__name__}", {run.__name__}, {len(numbers)}, {{{text}}}}},')
    return 0


if __name__ == "__main__":
    main()
