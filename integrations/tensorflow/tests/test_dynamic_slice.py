# SPDX-License-Identifier: Apache-2.0
"""Promise: keras.ops.slice_update and XLA's dynamic slices have NumPy's values, and XLA's rule for the ends, on a
GPU.

keras.ops.slice_update and XLA's dynamic slices on a GPU of Gantry: NumPy's values, and XLA's rule for the ends."""

import unittest

from child import expect_done

PROGRAM = """
import keras
import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2xla.ops.gen_xla_ops import xla_dynamic_slice, xla_dynamic_update_slice
assert tf.config.list_physical_devices("GPU"), "no GPU"
tf.config.set_soft_device_placement(False)

def put(x, update, begin):
    begin = [min(max(b, 0), s - u) for b, s, u in zip(begin, x.shape, update.shape)]
    out = x.copy()
    out[tuple(slice(b, b + u) for b, u in zip(begin, update.shape))] = update
    return out, begin

numbers = np.random.default_rng(1)
with tf.device("GPU:0"):
    for dtype in ("float32", "float64", "float16", "int32", "int64", "uint8", "bool"):
        x = (numbers.random((4, 5, 3)) * 9).astype(dtype)
        update = (numbers.random((2, 3, 1)) * 9).astype(dtype)
        for begin in ((0, 0, 0), (1, 2, 2), (3, 4, 2), (-1, -7, 0)):
            wanted, inside = put(x, update, begin)
            for kind in (tf.int32, tf.int64):
                at = tf.constant(begin, kind)
                result = xla_dynamic_update_slice(tf.constant(x), tf.constant(update), at)
                assert result.device.endswith("GPU:0"), result.device
                np.testing.assert_array_equal(result.numpy(), wanted)
                part = xla_dynamic_slice(tf.constant(x), at, tf.constant(update.shape, kind))
                np.testing.assert_array_equal(part.numpy(), x[tuple(slice(b, b + u) for b, u in zip(inside, update.shape))])
    x = np.array([[np.nan, 1], [2, np.inf]], "float32")
    result = keras.ops.slice_update(tf.constant(x), [1, 0], tf.constant([[7.0, 8.0]]))
    np.testing.assert_array_equal(result.numpy(), [[np.nan, 1], [7, 8]])
    function = tf.function(lambda x, at: keras.ops.slice_update(x, [at, 0], tf.constant([[7.0, 8.0]])))
    np.testing.assert_array_equal(function(tf.constant(x), tf.constant(0)).numpy(), [[7, 8], [2, np.inf]])
    np.testing.assert_array_equal(xla_dynamic_update_slice(tf.constant(x), tf.zeros((0, 2)), tf.constant([0, 0])).numpy(), x)
    for update, at, text in ((tf.zeros((3, 2)), [0, 0], "dimension 0 of the box is 3; at most 2"), (tf.zeros((2,)), [0, 0], "a box of 1 dimensions"),
                             (tf.zeros((1, 1)), [0], "with starts of shape [1] does not fit")):
        try:
            xla_dynamic_update_slice(tf.constant(x), update, tf.constant(at))
            raise SystemExit(text)
        except tf.errors.InvalidArgumentError as error:
            assert text in str(error), error
print("done")
"""


class DynamicSlice(unittest.TestCase):
    def test_dynamic_slices_have_the_values_of_numpy(self):
        expect_done(self, PROGRAM)


if __name__ == "__main__":
    unittest.main()
