#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: TensorFlow's guide "Use a GPU" prints what TensorFlow prints on a machine with two GPUs.

The calls of TensorFlow's guide "Use a GPU", one section a process: python guide.py SECTION.

Every call is one that a program for two GPUs makes; none knows Gantry. guide_expected.txt has what TensorFlow prints on
a machine with two GPUs, and the lines of log_device_placement.
"""

import sys

import tensorflow as tf

ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
COLUMNS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


def product():
    return tf.matmul(tf.constant(ROWS), tf.constant(COLUMNS))


def devices():
    print("Num GPUs Available: ", len(tf.config.list_physical_devices("GPU")))
    for device in tf.config.list_physical_devices():
        print(device)
    for device in tf.config.list_logical_devices():
        print(device)
    print(tf.test.gpu_device_name())


def log_placement():
    tf.debugging.set_log_device_placement(True)
    print(product())


def manual():
    tf.debugging.set_log_device_placement(True)
    with tf.device("/CPU:0"):
        a = tf.constant(ROWS)
        b = tf.constant(COLUMNS)
    print(a.device, b.device)
    c = tf.matmul(a, b)
    print(c.device)
    with tf.device("/GPU:1"):
        d = tf.matmul(a, b)
    print(d.device)
    with tf.device("/device:CPU:0"):
        e = tf.matmul(c, d)
    print(e)


def visible():
    gpus = tf.config.list_physical_devices("GPU")
    tf.config.set_visible_devices(gpus[0], "GPU")
    logical_gpus = tf.config.list_logical_devices("GPU")
    print(len(gpus), "Physical GPUs,", len(logical_gpus), "Logical GPU")
    print(product().device)
    try:
        tf.config.set_visible_devices(gpus, "GPU")
    except RuntimeError as error:
        print(error)


def visible_second():
    gpus = tf.config.list_physical_devices("GPU")
    tf.config.set_visible_devices(gpus[1], "GPU")
    print(tf.config.get_visible_devices("GPU"))
    print(tf.config.list_logical_devices("GPU"), product().device)


def growth():
    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    logical_gpus = tf.config.list_logical_devices("GPU")
    print(len(gpus), "Physical GPUs,", len(logical_gpus), "Logical GPUs")
    print([tf.config.experimental.get_memory_growth(gpu) for gpu in gpus])
    try:
        tf.config.experimental.set_memory_growth(gpus[0], False)
    except RuntimeError as error:
        print(error)


def soft_placement():
    tf.config.set_soft_device_placement(True)
    tf.debugging.set_log_device_placement(True)
    with tf.device("/device:GPU:2"):
        print(product())


def hard_placement():
    tf.config.set_soft_device_placement(False)
    try:
        with tf.device("/device:GPU:2"):
            product()
    except (RuntimeError, tf.errors.InvalidArgumentError) as error:
        print(type(error).__name__, str(error).partition("Could not satisfy device specification ")[1:2])
    with tf.device("/device:GPU:1"):
        print(product())


def by_hand():
    tf.debugging.set_log_device_placement(True)
    gpus = tf.config.list_logical_devices("GPU")
    parts = []
    for gpu in gpus:
        with tf.device(gpu.name):
            parts.append(product())
    with tf.device("/CPU:0"):
        print(tf.add_n(parts))


def mirrored():
    strategy = tf.distribute.MirroredStrategy(tf.config.list_logical_devices("GPU"))
    print("replicas", strategy.num_replicas_in_sync)
    with strategy.scope():
        inputs = tf.keras.layers.Input(shape=(1,))
        predictions = tf.keras.layers.Dense(1, kernel_initializer="zeros")(inputs)
        model = tf.keras.models.Model(inputs=inputs, outputs=predictions)
        model.compile(loss="mse", optimizer=tf.keras.optimizers.SGD(learning_rate=0.2))
    x = tf.reshape(tf.linspace(-1.0, 1.0, 64), (64, 1))
    model.fit(tf.data.Dataset.from_tensor_slices((x, 3 * x + 1)).batch(16), epochs=20, shuffle=False, verbose=0)
    kernel, bias = model.get_weights()
    print(f"kernel {kernel[0, 0]:.2f}, bias {bias[0]:.2f}")
    for variable in model.trainable_variables:
        print([copy.device for copy in strategy.experimental_local_results(variable.value)])


SECTIONS = (devices, log_placement, manual, visible, visible_second, growth, soft_placement, hard_placement, by_hand,
            mirrored)

if __name__ == "__main__":
    {section.__name__: section for section in SECTIONS}[sys.argv[1]]()
