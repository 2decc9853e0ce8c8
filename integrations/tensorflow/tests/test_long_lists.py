#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ops with more inputs or outputs than one call of Gantry takes give what TensorFlow's CPU gives, on the GPU.

    PYTHON test_long_lists.py     PYTHON has TensorFlow and the plug-in
"""

import os
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("GANTRY_OPENCL_CPU", "gpu")

import numpy as np
import tensorflow as tf

COUNTS = (63, 64, 65, 130, 200)
ROWS = np.arange(200 * 6, dtype="float32").reshape(200, 6)


def rows(count):
    return [tf.identity(tf.constant(row)) for row in ROWS[:count]]


class LongLists(unittest.TestCase):
    def compare(self, make):
        for count in COUNTS:
            with self.subTest(count=count):
                results = []
                for device in ("CPU:0", "GPU:0"):
                    with tf.device(device):
                        made = make(count)
                    results.append(made if isinstance(made, list) else [made])
                self.assertEqual(len(results[0]), len(results[1]))
                for wanted, got in zip(*results):
                    self.assertIn("GPU:0", got.device)
                    np.testing.assert_array_equal(wanted.numpy(), got.numpy())

    def test_stack(self):
        for axis in (0, 1, -1):
            self.compare(lambda count: tf.stack(rows(count), axis))

    def test_concat(self):
        self.compare(lambda count: tf.concat(rows(count), 0))
        self.compare(lambda count: tf.concat([row[None] for row in rows(count)], -1))

    def test_add_n(self):
        self.compare(lambda count: tf.add_n(rows(count)))

    def test_unstack(self):
        self.compare(lambda count: tf.unstack(tf.constant(ROWS[:count]) + 1))
        self.compare(lambda count: tf.unstack(tf.transpose(tf.constant(ROWS[:count])), axis=-1))

    def test_split(self):
        self.compare(lambda count: tf.split(tf.constant(ROWS[:count]) + 0, count))

    def test_unequal_parts_name_the_limit(self):
        with tf.device("GPU:0"), self.assertRaises(tf.errors.UnimplementedError) as caught:
            tf.split(tf.constant(ROWS) + 0, [3] + [1] * 197)
        self.assertIn("SplitV has 3 inputs and 198 outputs; Gantry takes 64 of each", caught.exception.message)


if __name__ == "__main__":
    unittest.main()
