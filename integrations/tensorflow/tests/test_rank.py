# SPDX-License-Identifier: Apache-2.0
"""Reductions of tensors with more dimensions than Gantry's eight, as gradients of tf.tile and tf.repeat make them."""

import unittest

from child import expect_done

PROGRAM = """
import numpy as np
import tensorflow as tf
assert tf.config.list_physical_devices("GPU"), "no GPU"
tf.config.set_soft_device_placement(False)

OPS = [tf.reduce_sum, tf.reduce_mean, tf.reduce_prod, tf.reduce_max, tf.reduce_min, tf.math.reduce_euclidean_norm]
SHAPE = (2, 1, 3, 2, 1, 2, 3, 1, 2, 1, 2)  # of 11 dimensions
AXES = [(0,), (1, 3), (0, 1, 2), (3, 4, 5), (2, -1, 6), (), tuple(range(11)), (0, 3, 6, 8, 10), tuple(range(0, 11, 2))]

def on(device, work):
    with tf.device(device):
        result = work()
        assert result.device.endswith(device), result.device
        return result.dtype, result.shape.as_list(), result.numpy()

def same(work, bound):
    (kind, shape, mine), (other_kind, other_shape, theirs) = on("GPU:0", work), on("CPU:0", work)
    assert (kind, shape) == (other_kind, other_shape), (shape, other_shape)
    np.testing.assert_allclose(mine.astype("float64"), theirs.astype("float64"), bound, bound)

numbers = np.random.default_rng(1)
for dtype, bound in (("float32", 1e-6), ("float64", 1e-14), ("int32", 0), ("int64", 0)):
    x = (numbers.random(SHAPE) * 3 + 1).astype(dtype)
    for op in OPS[:-1] if dtype.startswith("int") else OPS:
        for axes in AXES:
            for keep in (False, True):
                same(lambda: op(tf.constant(x), axes, keepdims=keep), bound)
flags = numbers.random(SHAPE) > 0.5
for op in (tf.reduce_all, tf.reduce_any):
    same(lambda: op(tf.constant(flags), (0, 2, 5)), 0)
same(lambda: tf.reduce_sum(tf.constant(np.zeros((0,) + SHAPE)), (0, 2)), 0)

# ten dimensions in turn kept and reduced
x = numbers.random((2,) * 10).astype("float32")
for axes in (range(0, 10, 2), range(1, 10, 2)):
    same(lambda: tf.reduce_sum(tf.constant(x), list(axes)), 1e-6)
try:
    on("GPU:0", lambda: tf.reduce_mean(tf.constant(x), list(range(0, 10, 2))))
    raise SystemExit("a mean over ten dimensions in turn")
except tf.errors.UnimplementedError as error:
    assert "no neighbours" in str(error), error
for axes in ((10,), (1, 1)):
    for device in ("CPU:0", "GPU:0"):
        try:
            on(device, lambda: tf.reduce_sum(tf.constant(x), axes))
            raise SystemExit(f"axes {axes}")
        except tf.errors.InvalidArgumentError as error:
            assert "nvalid reduction" in str(error), error

def gradient(work):
    x = tf.constant(numbers_of_gradient)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = work(x)
    return tape.gradient(y, x)

numbers_of_gradient = numbers.random((2, 3, 4, 5, 2)).astype("float32")
same(lambda: gradient(lambda x: tf.repeat(tf.repeat(x, 2, axis=1), 3, axis=2) ** 2), 1e-6)
same(lambda: gradient(lambda x: tf.tile(x, (2, 3, 2, 1, 2)) ** 3), 1e-5)
print("done")
"""


class Rank(unittest.TestCase):
    def test_reductions_of_many_dimensions_equal_the_cpu(self):
        expect_done(self, PROGRAM)


if __name__ == "__main__":
    unittest.main()
