#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a BatchNormalization by Keras's fit under a MirroredStrategy of two CPUs, and writes losses and weights for
test_replica_layers.c: make_replica_cases.py > tests/unit/support/train_replica_cases.inc

Needs Keras 3.15 and TensorFlow 2.21. The row has the loss of each epoch and of an evaluation, then the weights. Keras
keeps moving statistics of each device, and saves and shows those of the first one; here they become the mean of both.
"""
import make_layer_cases as cases  # first: it sets the environment

import keras
import numpy as np
import tensorflow as tf
from keras import layers

ROWS, FEATURES, BATCH, EPOCHS = 24, 3, 6, 2
X = ((np.arange(ROWS * FEATURES) * 37 % 64 - 32) / 32).reshape(ROWS, FEATURES)
Y = ((np.arange(ROWS * 2) * 23 % 32 - 16) / 16).reshape(ROWS, 2)


def make(strategy):
    with strategy.scope():
        keras.utils.set_random_seed(7)
        model = keras.Sequential([keras.Input((FEATURES,)), layers.Dense(4), layers.BatchNormalization(momentum=0.75),
                                  layers.Activation("tanh"), layers.Dense(2)])
        model.compile(keras.optimizers.SGD(0.125), "mse")
    return model


def main():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    keras.config.set_floatx("float64")
    model = make(tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]))
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(BATCH)
    numbers = list(model.fit(data, epochs=EPOCHS, verbose=0).history["loss"])
    for weight in model.non_trainable_variables:
        if len(weight.shape) == 1 and weight.name.startswith("moving"):
            weight.assign(np.mean([copy.numpy() for copy in weight.value.values], axis=0))
    numbers.append(model.evaluate(data, verbose=0))
    numbers += [x for layer in model.layers for weight in layer.weights for x in np.ravel(weight.numpy())]
    cases.print_head("make_replica_cases.py")
    print(", ".join(f"{x:.12g}" for x in numbers))
    return 0


if __name__ == "__main__":
    main()
