#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a model by Keras's fit with metrics that keep their own state, regularizers and constraints, and writes losses, metrics and weights for
test_fit_options.c: make_option_cases.py > tests/unit/support/train_option_cases.inc

Needs Keras 3.15 and TensorFlow 2.21. A row has the values of each epoch, of an evaluation, and all weights. Values
stand in the order of gantry_model_evaluate.
"""
import make_layer_cases as cases  # first: it sets the environment

import keras
import numpy as np
import tensorflow as tf
from keras import layers

ROWS, FEATURES, BATCH, EPOCHS = 20, 3, 6, 3
X = ((np.arange(ROWS * FEATURES) * 37 % 64 - 32) / 32).reshape(ROWS, FEATURES)
Y = (np.arange(ROWS * 3) * 29 % 47 % 2).reshape(ROWS, 3).astype("int32")
WEIGHTS = (np.arange(ROWS) % 4 + 1) / 2


def dense(units, activation, **options):
    return layers.Dense(units, activation=activation, **options)


def make(first=None, last=None):
    keras.utils.set_random_seed(7)
    return keras.Sequential([dense(5, "tanh", **(first or {})), dense(3, "sigmoid", **(last or {}))])


def train(model, optimizer, names=("loss",), epochs=EPOCHS, **more):
    model.compile(optimizer, "binary_crossentropy", **more)
    data = tf.data.Dataset.from_tensor_slices((X, Y, WEIGHTS)).batch(BATCH)
    history = model.fit(data, epochs=epochs, verbose=0).history
    tested = model.evaluate(data, verbose=0, return_dict=True)
    if set(history) != set(names):
        raise ValueError(f"{sorted(history)} are Keras's names")
    numbers = [history[name][epoch] for epoch in range(epochs) for name in names] + [tested[name] for name in names]
    return numbers + [x for weight in model.weights for x in weight.numpy().ravel()]


def sgd(**options):
    # numbers that are exact in float32: Keras rounds options to it, also for float64
    return keras.optimizers.SGD(0.5, **options)


# ---- metrics ----

def judged():
    m = keras.metrics
    names = ["precision", "recall", "f1", "fbeta", "pr", "root", "negatives"]

    def metrics(prefix=""):
        made = [m.Precision(0.5), m.Recall(0.25, top_k=2), m.F1Score("macro", 0.5), m.FBetaScore("weighted", 2.0), m.AUC(50, "PR"),
                m.RootMeanSquaredError(), m.FalseNegatives(0.5)]
        for metric, name in zip(made, names):
            metric.name = prefix + name
        return made
    return train(make(), sgd(), ["loss", *names, *("w_" + name for name in names)], metrics=metrics(), weighted_metrics=metrics("w_"))


# ---- regularizers and constraints ----

def regularized():
    r = keras.regularizers
    model = make({"kernel_regularizer": r.L1L2(0.015625, 0.03125), "bias_regularizer": r.L1(0.0625)}, {"kernel_regularizer": r.L2(0.125)})
    return train(model, sgd())


def frozen():
    model = make({"kernel_regularizer": keras.regularizers.L2(0.125)}, {"bias_regularizer": keras.regularizers.L2(0.125)})
    model.layers[0].trainable = False
    return train(model, sgd())


def constrained():
    c = keras.constraints
    model = make({"kernel_constraint": c.MaxNorm(0.5), "bias_constraint": c.NonNeg()},
                 {"kernel_constraint": c.MinMaxNorm(0.2, 0.6, 0.5, axis=1), "bias_constraint": c.UnitNorm()})
    return train(model, sgd())


def both():
    r, c = keras.regularizers, keras.constraints
    model = make({"kernel_regularizer": r.L2(0.125), "kernel_constraint": c.UnitNorm([0, 1])}, {"kernel_constraint": c.MaxNorm()})
    return train(model, sgd(momentum=0.5, weight_decay=0.0078125))


CASES = [judged, regularized, frozen, constrained, both]


def main():
    keras.config.set_floatx("float64")
    cases.print_head("make_option_cases.py")
    for case in CASES:
        numbers = case()
        text = ", ".join(f"{float(x):.12g}" for x in numbers)
        print(f'{{"{case.__name__}", {case.__name__}, {len(numbers)}, {{{text}}}}},')
    return 0


if __name__ == "__main__":
    main()
