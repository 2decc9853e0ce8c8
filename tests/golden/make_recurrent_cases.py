#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs Keras's recurrent layers over long sequences and with kept states for test_recurrent.c, and writes their numbers
to keras/recurrent.json: make_recurrent_cases.py > tests/unit/support/train_recurrent_cases.inc

Needs Keras 3.15 and TensorFlow 2.21. Data and first weights come from the generator of make_layer_cases.py.

A row LONG has a layer's outputs for x [2, 50, 3], then the gradients of x and of all weights of the sum of outputs
times factors. A row STATEFUL has the numbers of a model, the layer and a Dense(1), on 3 batches of 2 sequences of 4
steps: predictions; the loss of evaluate; all weights after an epoch; predictions; the same after reset_state.
"""
import make_layer_cases as cases  # first: it sets the environment

import contextlib
import sys

import golden_form

import keras
import numpy as np
import tensorflow as tf
from keras import layers

BATCH, STEPS, FEATURES, UNITS, LONG = 2, 4, 3, 2, 50

KINDS = ((layers.SimpleRNN, "gantry_simple_rnn"), (layers.LSTM, "gantry_lstm"), (layers.GRU, "gantry_gru"))
NUMBERS = []


def print_row(macro, index, expression, numbers):
    print(f"{macro}({index}, {expression})")
    NUMBERS.append(cases.numbers_case(f"{macro.lower()} {index}", numbers))


def c_layer(function, **members):
    """`function`, with options as C has them."""
    values = {name: str(value).lower() for name, value in members.items()}
    return f"{function}({UNITS}, {cases.options_of('recurrent', **values)})"


# ---- long sequences ----

def long_numbers(index, layer):
    draw = cases.Draw(500 + index)
    x = tf.constant(draw.floats((BATCH, LONG, FEATURES), 1024))
    layer(x)
    cases.set_weights(layer, draw)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer(x)
        target = tf.reduce_sum(y * draw.floats(y.shape, 4096))
    parts = [y] + tape.gradient(target, [x] + [w.value for w in layer.trainable_weights])
    return np.concatenate([np.asarray(p).ravel() for p in parts])


def write_long():
    index = 0
    for kind, function in KINDS:
        for options in ({}, {"return_sequences": True, "go_backwards": True}):
            print_row("LONG", index, c_layer(function, **options), long_numbers(index, kind(UNITS, **options)))
            index += 1
    layer = layers.GRU(UNITS, reset_after=False, return_sequences=True)
    print_row("LONG", index, c_layer("gantry_gru", reset_before=True, return_sequences=True), long_numbers(index, layer))


# ---- kept states ----

def stateful_numbers(index, layer, masked):
    draw = cases.Draw(700 + index)
    x = draw.floats((3 * BATCH, STEPS, FEATURES), 1024)
    if masked:
        x[1, 2], x[4, 0], x[3, 3] = 0, 0, 0
    y = draw.floats((3 * BATCH, 1), 1024)
    model = keras.Sequential([layers.Input(batch_shape=(BATCH, STEPS, FEATURES)), layers.Masking(0.0), layer,
                              layers.Dense(1)])
    for one in model.layers:
        cases.set_weights(one, draw)
    model.compile(keras.optimizers.SGD(0.5), keras.losses.MeanSquaredError(), run_eagerly=True)
    assert len(model.get_weights()) == len(model.trainable_weights)  # no state is among them

    def predict():
        return model.predict(x, batch_size=BATCH, verbose=0).ravel()

    numbers = [predict(), [model.evaluate(x, y, batch_size=BATCH, verbose=0)]]
    model.fit(x, y, batch_size=BATCH, shuffle=False, verbose=0)
    numbers += [w.numpy().ravel() for w in model.weights] + [predict()]
    layer.reset_states() if isinstance(layer, layers.Bidirectional) else layer.reset_state()
    return np.concatenate(numbers + [predict()])


def write_stateful():
    index = 0
    for kind, function in KINDS:
        for masked in (False, True):
            options = {"stateful": True, "go_backwards": masked}
            print_row("STATEFUL", index, f"{str(masked).lower()}, {c_layer(function, **options)}",
                      stateful_numbers(index, kind(UNITS, **options), masked))
            index += 1
    both = f"gantry_bidirectional({c_layer('gantry_lstm', stateful=True)}, GANTRY_MERGE_CONCAT, NULL)"
    print_row("STATEFUL", index, f"true, {both}",
              stateful_numbers(index, layers.Bidirectional(layers.LSTM(UNITS, stateful=True)), True))


def main():
    keras.config.set_floatx("float64")
    cases.print_head("make_recurrent_cases.py")
    write_long()
    write_stateful()
    with contextlib.redirect_stdout(sys.stderr):
        golden_form.write_keras("recurrent", keras.__version__, NUMBERS)
    return 0


if __name__ == "__main__":
    main()
