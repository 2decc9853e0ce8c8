# SPDX-License-Identifier: Apache-2.0
"""Promise: CheckNumerics on the device passes numbers and ends the op at others as TensorFlow's CPU does, in
functions, too.

CheckNumerics on the device: numbers pass, others end the op as on TensorFlow's CPU, also where
tf.debugging.assert_all_finite puts the op at an argument or a variable of a function."""

import math
import unittest

import numpy as np
import tensorflow as tf

TYPES = ("float32", "float64", "float16", "bfloat16")


class CheckNumerics(unittest.TestCase):
    def test_numbers_pass(self):
        for name in TYPES:
            for values in ([1.0, -2.0], []):
                x = tf.constant(values, name) + 0
                y = tf.debugging.check_numerics(x, "here")
                self.assertIn("GPU", y.device)
                np.testing.assert_array_equal(y.numpy(), x.numpy())

    def test_others_are_named(self):
        for values, words in (([1.0, math.nan], "NaN"), ([-math.inf, 2.0], "Inf"), ([math.nan, math.inf], "Inf and NaN")):
            for name in TYPES:
                with self.assertRaisesRegex(tf.errors.InvalidArgumentError, f"here : Tensor had {words} values"):
                    tf.debugging.check_numerics(tf.constant(values, name) + 0, "here")

    def test_arguments_and_variables_of_functions(self):
        variable = tf.Variable([1.0, 2.0])

        @tf.function
        def checked(x, others):
            y = tf.debugging.assert_all_finite(x, "an argument") + tf.debugging.assert_all_finite(variable, "a variable")
            return [y] + [tf.debugging.assert_all_finite(o, "one of several") for o in others]

        got = checked(tf.ones(2), [tf.zeros(2), tf.ones(1)])
        np.testing.assert_array_equal(got[0].numpy(), [2.0, 3.0])
        np.testing.assert_array_equal(got[2].numpy(), [1.0])
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "an argument : Tensor had NaN values"):
            checked(tf.constant([math.nan, 0.0]), [])

    def test_gradient(self):
        x = tf.constant([1.0, 2.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.debugging.check_numerics(x * 2, "here") * 3
        np.testing.assert_array_equal(tape.gradient(y, x).numpy(), [6.0, 6.0])


if __name__ == "__main__":
    unittest.main()
