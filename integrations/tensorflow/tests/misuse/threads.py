# SPDX-License-Identifier: Apache-2.0
"""Promise: Eight threads of a TensorFlow program use two devices at once and get right results.

Eight threads use both devices at once: eager ops, a shared tf.function, a shared variable, and copies between devices."""

import threading

import tensorflow as tf

shared = tf.Variable(tf.zeros((8,)))
wrong = []


@tf.function
def product(a, b):
    return tf.reduce_sum(tf.matmul(a, b))


def work(number):
    try:
        with tf.device(f"GPU:{number % 2}"):
            a = tf.fill((32, 32), float(number))
            b = tf.ones((32, 32))
        for _ in range(40):
            with tf.device(f"GPU:{(number + 1) % 2}"):
                c = tf.identity(a) + b
            if float(product(a, b)) != number * 32.0 ** 3 or float(tf.reduce_max(c)) != number + 1:
                wrong.append(f"thread {number} read a wrong value")
            shared.assign_add(tf.ones((8,)))
    except Exception as error:  # pylint: disable=broad-except
        wrong.append(repr(error))


threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not wrong, wrong[:3]
assert shared.numpy().tolist() == [320.0] * 8, shared.numpy()
print("ok")
