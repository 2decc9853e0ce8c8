#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: Ops with more inputs or outputs than one call of Gantry takes give what TensorFlow's CPU gives, on the
GPU.
Promise: An axis or a number of more than 32 bits is not cut to 32 bits on a GPU.

Ops with more inputs or outputs than one call of Gantry takes give what TensorFlow's CPU gives, on the GPU.

    PYTHON test_long_lists.py     PYTHON has TensorFlow and the plug-in
"""

import os
import re
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("GANTRY_OPENCL_CPU", "gpu")

import numpy as np
import tensorflow as tf

COUNTS = (63, 64, 65, 100, 200)
ROWS = np.arange(200 * 6, dtype="float32").reshape(200, 6)


def rows(count):
    return [tf.identity(tf.constant(row)) for row in ROWS[:count]]


def refusal(test, make):
    """The error on the GPU, whose class and text are those of TensorFlow's CPU but for the op's name."""
    texts = []
    for device in ("CPU:0", "GPU:0"):
        with tf.device(device), test.assertRaises(tf.errors.InvalidArgumentError) as caught:
            make()
        texts.append(re.sub(r"^\{\{.*?\}\} (\w+ ?: )?| \[Op:.*", "", caught.exception.message))
    test.assertEqual(texts[0], texts[1])
    return texts[1]


class LongLists(unittest.TestCase):
    def compare(self, make, on_host=False):
        """Eagerly and in a function: equal elements, on the GPU."""
        for count in COUNTS:
            for run in (make, tf.function(make)):
                with self.subTest(count=count):
                    results = []
                    for device in ("CPU:0", "GPU:0"):
                        with tf.device(device):
                            made = run(count)
                        results.append(made if isinstance(made, list) else [made])
                    self.assertEqual(len(results[0]), len(results[1]))
                    for wanted, got in zip(*results):
                        self.assertTrue(on_host or "GPU:0" in got.device)
                        np.testing.assert_array_equal(wanted.numpy(), got.numpy())

    def test_stack(self):
        for axis in (0, 1, -1):
            self.compare(lambda count: tf.stack(rows(count), axis))

    def test_concat(self):
        self.compare(lambda count: tf.concat(rows(count), 0))
        self.compare(lambda count: tf.concat([row[None] for row in rows(count)], -1))
        self.compare(lambda count: tf.raw_ops.Concat(values=rows(count), concat_dim=0))
        self.compare(lambda count: tf.raw_ops.ConcatV2(values=rows(count), axis=tf.constant(0, tf.int64)))

    def test_add_n(self):
        self.compare(lambda count: tf.add_n(rows(count)))

    def test_unstack(self):
        self.compare(lambda count: tf.unstack(tf.constant(ROWS[:count]) + 1))
        self.compare(lambda count: tf.unstack(tf.transpose(tf.constant(ROWS[:count])), axis=-1))

    def test_split(self):
        self.compare(lambda count: tf.split(tf.constant(ROWS[:count]) + 0, count))

    def test_split_into_unequal_parts(self):
        for dtype in (tf.int32, tf.int64):
            def sizes(count, rest):
                return tf.constant([rest, 0] + [1] * (count - 2), dtype)
            self.compare(lambda count: tf.split(tf.constant(ROWS[:count]) + 0, sizes(count, 2), num=count))
            self.compare(lambda count: tf.split(tf.constant(ROWS) + 0, sizes(count, -1), num=count))
            self.compare(lambda count: tf.split(tf.transpose(tf.constant(ROWS)), sizes(count, -1), -1, num=count))

    def test_int32_and_no_elements(self):
        whole = ROWS.astype("int32")
        self.compare(lambda count: tf.stack([tf.constant(row) for row in whole[:count]]), on_host=True)
        self.compare(lambda count: tf.unstack(tf.constant(whole[:count])), on_host=True)
        self.compare(lambda count: tf.split(tf.constant(whole[:count]), count), on_host=True)
        self.compare(lambda count: tf.split(tf.constant(whole), [1] * (count - 1) + [-1]), on_host=True)
        self.compare(lambda count: tf.unstack(tf.zeros((count, 0))))
        self.compare(lambda count: tf.split(tf.zeros((0, 2)) + 0, count))

    def test_gradients(self):
        def gradient(count):
            x = tf.constant(ROWS[:count]) / 600
            with tf.GradientTape() as tape:
                tape.watch(x)
                parts = tf.unstack(x) + [part[0] for part in tf.split(x, [1] * (count - 1) + [-1])]
                y = tf.reduce_sum(tf.stack(parts) * tf.concat([x, x * x], 0))
            return tape.gradient(y, x)
        self.compare(gradient)

    def test_shapes_that_are_unknown_until_the_call(self):
        @tf.function(input_signature=[tf.TensorSpec(None, tf.float32)])
        def parts(x):
            return tf.raw_ops.SplitV(value=x, size_splits=tf.constant([-1] + [1] * 99), axis=0, num_split=100)
        with tf.device("GPU:0"):
            self.assertEqual(parts(tf.constant(ROWS))[0].shape, (101, 6))
            with self.assertRaises(tf.errors.InvalidArgumentError):
                parts(tf.constant(ROWS[:50]))

    def test_shapes_that_differ(self):
        def other(shape):
            return rows(80) + [tf.zeros(shape)] + rows(19)
        self.assertIn("values[80].shape = [5]", refusal(self, lambda: tf.raw_ops.Pack(values=other(5), axis=0)))
        self.assertIn("shape[80] = [5,2]", refusal(self, lambda: tf.raw_ops.ConcatV2(values=other((5, 2)), axis=0)))
        refusal(self, lambda: tf.raw_ops.ConcatV2(values=[row[None] for row in other(5)], axis=0))
        refusal(self, lambda: tf.raw_ops.Concat(concat_dim=0, values=[row[None] for row in other(5)]))
        with tf.device("GPU:0"), self.assertRaises(tf.errors.InvalidArgumentError) as caught:
            tf.raw_ops.AddN(inputs=other(5))
        self.assertIn("must have the same size and shape.  Input 0: [6] != input 80: [5]", caught.exception.message)

    def test_axes_and_sizes_that_do_not_fit(self):
        refusal(self, lambda: tf.raw_ops.Pack(values=rows(100), axis=3))
        refusal(self, lambda: tf.raw_ops.ConcatV2(values=rows(100), axis=4))
        refusal(self, lambda: tf.raw_ops.ConcatV2(values=rows(100), axis=[0, 1]))
        refusal(self, lambda: tf.raw_ops.Unpack(value=ROWS, num=100, axis=3))
        refusal(self, lambda: tf.raw_ops.Unpack(value=ROWS, num=100, axis=0))
        refusal(self, lambda: tf.raw_ops.Unpack(value=1.0, num=100, axis=0))
        for axis in (5, -3, [0, 1]):
            refusal(self, lambda: tf.raw_ops.Split(axis=axis, value=ROWS, num_split=100))
        refusal(self, lambda: tf.raw_ops.Split(axis=0, value=1.0, num_split=100))
        refusal(self, lambda: tf.raw_ops.Split(axis=0, value=ROWS, num_split=99))

    def test_unequal_parts_that_do_not_fit(self):
        def split(sizes, axis=0):
            return lambda: tf.raw_ops.SplitV(value=ROWS, size_splits=sizes, axis=axis, num_split=100)
        refusal(self, split([2] * 100, 5))
        refusal(self, split([2] * 99))
        refusal(self, split([[2] * 100]))
        refusal(self, split([1] * 100))
        refusal(self, split([-1, -1] + [1] * 98))
        for sizes in ([3] * 100, [-1] + [3] * 99, [2] * 99 + [-3], [2 ** 31 - 1] * 100):
            with tf.device("GPU:0"), self.assertRaises(tf.errors.InvalidArgumentError):
                split(sizes)()
        with tf.device("GPU:0"), self.assertRaises(tf.errors.InvalidArgumentError):
            split(tf.constant([2 ** 63 - 1] * 100, tf.int64))()


class WideNumbers(unittest.TestCase):
    def test_numbers_of_more_than_32_bits(self):
        with tf.device("GPU:0"):
            targets = tf.constant([0])
            self.assertTrue(tf.raw_ops.InTopK(predictions=[[0.1, 0.9]], targets=targets, k=2 ** 32 + 1).numpy()[0])
            with self.assertRaises(tf.errors.InvalidArgumentError):
                tf.raw_ops.Pack(values=[targets] * 100, axis=2 ** 32)


if __name__ == "__main__":
    unittest.main()
