# SPDX-License-Identifier: Apache-2.0
"""Promise: Random ops with a state begin their sequences on a GPU where TensorFlow's do, and have the CPU's numbers.

Random ops with a state on a GPU: their sequences begin where TensorFlow's do, and have the CPU's numbers."""

import unittest

from child import expect_done

PROGRAM = """
import numpy as np
import tensorflow as tf
assert tf.config.list_physical_devices("GPU"), "no GPU"

def draws():
    logits = tf.math.log([[0.2, 0.8]])
    return [tf.random.uniform([4]), tf.random.normal([3]), tf.random.truncated_normal([3]),
            tf.random.uniform([3], 0, 9, tf.int32), tf.random.shuffle(tf.range(8.0)), tf.random.categorical(logits, 5),
            tf.random.uniform([2], seed=4), tf.random.uniform([2], seed=4)]

def eager(seed):
    tf.random.set_seed(seed)
    return [np.asarray(value) for _ in range(2) for value in draws()]

def function(seed):
    # each call of a function goes on, and two ops with one seed draw the same numbers
    tf.random.set_seed(seed)
    made = tf.function(draws)
    first, second = made(), made()
    np.testing.assert_array_equal(first[-1], first[-2])
    assert (first[-1].numpy() != second[-1].numpy()).all()
    return [np.asarray(value) for value in [*first, *second]]

def session(seed):
    # a sequence begins anew in each session
    with tf.Graph().as_default():
        tf.compat.v1.set_random_seed(seed)
        values = draws()
        found = []
        for _ in range(2):
            with tf.compat.v1.Session() as session:
                found.append([session.run(values) for _ in range(2)])
    for first, second in zip(*found):
        for a, b in zip(first, second):
            np.testing.assert_array_equal(a, b)
    return [value for values in found[0] for value in values]

for program in (eager, function, session):
    results = []
    for device in ("GPU:0", "CPU:0", "GPU:0", "GPU:0"):
        with tf.device(device):
            results.append(program(3))
    for other in results[1:]:
        for a, b in zip(results[0], other):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6, err_msg=program.__name__)
print("done")
"""


class Random(unittest.TestCase):
    def test_seeds_begin_the_sequences_of_the_cpu(self):
        expect_done(self, PROGRAM)


if __name__ == "__main__":
    unittest.main()
