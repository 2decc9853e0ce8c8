#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains models that share layers by Keras, and writes losses, predictions and weights for test_shared.c:
make_shared_cases.py > tests/unit/support/train_shared_cases.inc

Needs Keras 3.15 and TensorFlow 2.21. Keras takes `trainable` when it traces a step, so that each step here runs eagerly
with the flags that its model was compiled with.
"""
import make_layer_cases as cases  # first: it sets the environment

import keras
import numpy as np
from keras import layers

ROWS, FEATURES, LATENT, STEPS = 8, 3, 2, 6


def adam(rate):
    """All numbers are exact in float32, to which Keras rounds them."""
    return keras.optimizers.Adam(rate, beta_1=0.875, beta_2=0.9375, epsilon=2**-20)


def numbers_of(count, factor, step):
    return ((np.arange(count) * factor + step * 11) % 64 - 32) / 32


def set_all(ordered):
    draw = cases.Draw(11)
    for layer in ordered:
        cases.set_weights(layer, draw)


def weights_of(ordered):
    return [x for layer in ordered for weight in layer.weights for x in weight.numpy().ravel()]


def train(model, x, y):
    model.reset_metrics()
    return [float(model.train_on_batch(x, y))]


def gan():
    """A generator, and a discriminator that trains alone; together, where the discriminator is frozen."""
    generator = keras.Sequential([keras.Input((LATENT,)), layers.Dense(4, activation="tanh"),
                                  layers.BatchNormalization(momentum=0.5), layers.Dense(FEATURES)], name="generator")
    judge = keras.Sequential([keras.Input((FEATURES,)), layers.Dense(4, activation="tanh"),
                              layers.BatchNormalization(momentum=0.5), layers.Dense(1, activation="sigmoid")],
                             name="discriminator")
    noise = keras.Input((LATENT,))
    both = keras.Model(noise, judge(generator(noise)))
    ordered = [*generator.layers, *judge.layers]
    set_all(ordered)
    judge.compile(adam(1 / 64), "binary_crossentropy", run_eagerly=True)
    both.compile(adam(1 / 32), "binary_crossentropy", run_eagerly=True)
    out = []
    for step in range(STEPS):
        real = numbers_of(ROWS * FEATURES, 37, step).reshape(ROWS, FEATURES)
        z = numbers_of(ROWS * LATENT, 29, step).reshape(ROWS, LATENT)
        judge.trainable = True
        out += train(judge, real, np.ones((ROWS, 1)))
        out += train(judge, np.asarray(generator(z, training=False)), np.zeros((ROWS, 1)))
        judge.trainable = False
        out += train(both, z, np.ones((ROWS, 1)))
    return out + list(both.predict(z, verbose=0).ravel()) + weights_of(ordered)


def transfer():
    """An encoder that learns in an autoencoder, gets a head while it is frozen, and then learns with it."""
    x = numbers_of(ROWS * FEATURES, 37, 0).reshape(ROWS, FEATURES)
    y = numbers_of(ROWS * 2, 23, 0).reshape(ROWS, 2)
    encoder = keras.Sequential([keras.Input((FEATURES,)), layers.Dense(LATENT, activation="tanh"),
                                layers.BatchNormalization(momentum=0.5)], name="encoder")
    decoder, head = layers.Dense(FEATURES), layers.Dense(2)
    inputs = keras.Input((FEATURES,))
    codes = encoder(inputs)
    whole, judge = keras.Model(inputs, decoder(codes)), keras.Model(inputs, head(codes))
    ordered = [*encoder.layers, decoder, head]
    set_all(ordered)
    out = []
    whole.compile(keras.optimizers.SGD(0.1), "mse", run_eagerly=True)
    for _ in range(STEPS):
        out += train(whole, x, x)
    encoder.trainable = False
    judge.compile(keras.optimizers.SGD(0.1), "mse", run_eagerly=True)
    for _ in range(STEPS):
        out += train(judge, x, y)
    encoder.trainable = True
    judge.compile(adam(1 / 64), "mse", run_eagerly=True)
    for _ in range(STEPS):
        out += train(judge, x, y)
    out += train(whole, x, x)
    return out + list(encoder.predict(x, verbose=0).ravel()) + weights_of(ordered)


def main():
    keras.config.set_floatx("float64")
    cases.print_head("make_shared_cases.py")
    for make in (gan, transfer):
        numbers = make()
        print(f"static const double {make.__name__}_numbers[] = {{{', '.join(f'{x:.12g}' for x in numbers)}}};")
    return 0


if __name__ == "__main__":
    main()
