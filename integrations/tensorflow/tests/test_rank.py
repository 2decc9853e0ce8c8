# SPDX-License-Identifier: Apache-2.0
"""Promise: Reductions, elementwise ops, Fill, Concat, Pack, Transpose and splits of up to 13 dimensions equal
TensorFlow's CPU.

Reductions, elementwise ops, Fill, Concat, Pack, Transpose and splits of tensors with more dimensions than Gantry's eight.
Gradients of tf.tile and tf.repeat make such reductions."""

import unittest

from child import expect_done

START = """
import numpy as np
import tensorflow as tf
assert tf.config.list_physical_devices("GPU"), "no GPU"
tf.config.set_soft_device_placement(False)
numbers = np.random.default_rng(1)
SHAPE = (2, 1, 3, 2, 1, 2, 3, 1, 2, 1, 2)  # of 11 dimensions

def on(device, work):
    with tf.device(device):
        result = work()
        assert result.device.endswith(device), result.device
        return result.dtype, result.shape.as_list(), result.numpy()

def same(work, bound):
    (kind, shape, mine), (other_kind, other_shape, theirs) = on("GPU:0", work), on("CPU:0", work)
    assert (kind, shape) == (other_kind, other_shape), (shape, other_shape)
    np.testing.assert_allclose(mine.astype("float64"), theirs.astype("float64"), bound, bound)

def fails(kind, text, work, devices=("GPU:0",)):
    for device in devices:
        try:
            on(device, work)
        except kind as error:
            assert text in str(error), error
        else:
            raise SystemExit(f"no error on {device}: {text}")

def gradient(work, *arrays):
    inputs = [tf.constant(array) for array in arrays]
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        y = work(*inputs)
    return tape.gradient(y, inputs)[0]
"""

REDUCTIONS = """
OPS = [tf.reduce_sum, tf.reduce_mean, tf.reduce_prod, tf.reduce_max, tf.reduce_min, tf.math.reduce_euclidean_norm]
AXES = [(0,), (1, 3), (0, 1, 2), (3, 4, 5), (2, -1, 6), (), tuple(range(11)), (0, 3, 6, 8, 10), tuple(range(0, 11, 2))]

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
fails(tf.errors.UnimplementedError, "no neighbours", lambda: tf.reduce_mean(tf.constant(x), list(range(0, 10, 2))))
for axes in ((10,), (1, 1)):
    fails(tf.errors.InvalidArgumentError, "nvalid reduction", lambda: tf.reduce_sum(tf.constant(x), axes),
          ("CPU:0", "GPU:0"))

x = numbers.random((2, 3, 4, 5, 2)).astype("float32")
same(lambda: gradient(lambda x: tf.repeat(tf.repeat(x, 2, axis=1), 3, axis=2) ** 2, x), 1e-6)
same(lambda: gradient(lambda x: tf.tile(x, (2, 3, 2, 1, 2)) ** 3, x), 1e-5)
print("done")
"""

ELEMENTWISE = """
x, y = (numbers.random(SHAPE).astype("float32") + 0.5 for _ in range(2))
wide = numbers.random((2, 1, 3, 2, 2, 2, 3, 1, 2, 5, 2)).astype("float32")
row = numbers.random((3, 1, 2, 4, 2)).astype("float32")
column = numbers.random((2,) + (1,) * 10).astype("float32")
nothing = np.zeros((0,) + SHAPE, "float32")

for op in (tf.exp, tf.negative, tf.nn.relu, tf.math.is_nan, tf.zeros_like, tf.ones_like, tf.nn.leaky_relu,
           lambda a: tf.cast(a, tf.int64), lambda a: tf.clip_by_value(a, 0.6, 0.9)):
    same(lambda: op(tf.constant(x)), 1e-6)
for op in (tf.add, tf.multiply, tf.pow, tf.greater, tf.equal, tf.math.squared_difference):
    for a, b in ((x, y), (x, np.float32(2)), (x, wide), (wide, x), (x, row), (row, x), (column, x), (nothing, x)):
        same(lambda: op(tf.constant(a), tf.constant(b)), 1e-5)
for dtype in ("int32", "int64", "float64", "uint8"):
    same(lambda: tf.constant((x * 9).astype(dtype)) + tf.constant((y * 9).astype(dtype)), 0)
chosen = on("GPU:0", lambda: tf.where(tf.constant(x > 0.9), tf.constant(x), tf.constant(row)))  # the CPU takes 8
np.testing.assert_array_equal(chosen[2], np.where(x > 0.9, x, row))
same(lambda: tf.add_n([tf.constant(x), tf.constant(y), tf.constant(x)]), 1e-6)
same(lambda: gradient(lambda a, b: tf.tanh(a) * tf.nn.relu(b) + a ** 3, x, row), 1e-5)
same(lambda: tf.function(lambda: tf.sigmoid(tf.constant(x)) * tf.constant(y))(), 1e-6)
fails(tf.errors.InvalidArgumentError, "ncompatible shapes", lambda: tf.constant(x) + np.ones((3,), "float32"),
      ("CPU:0", "GPU:0"))
fails(tf.errors.UnimplementedError, "alternate",
      lambda: tf.ones((2, 1) * 5) + tf.ones((1, 2) * 5))

for kind in (tf.int32, tf.int64):
    for shape in (SHAPE, (0,) + SHAPE):
        same(lambda: tf.fill(tf.constant(shape, kind), tf.constant(3.5)), 0)
same(lambda: tf.zeros((2, 3, 4) * 4), 0)
fails(tf.errors.InvalidArgumentError, "must be >= 0", lambda: tf.fill((2,) * 8 + (-1,), tf.constant(1.0)),
      ("CPU:0", "GPU:0"))
fails(tf.errors.InvalidArgumentError, "", lambda: tf.fill((1,) * 300, tf.constant(1.0)), ("CPU:0", "GPU:0"))
fails(tf.errors.InvalidArgumentError, "", lambda: tf.fill((2 ** 31 - 1,) * 9, tf.constant(1.0)), ("CPU:0", "GPU:0"))
print("done")
"""

MOVES = """
x, y = (numbers.random(SHAPE).astype("float32") for _ in range(2))
wide = numbers.random((2, 1, 3, 5, 1, 2, 3, 1, 2, 1, 2)).astype("float32")
nothing = np.zeros((0,) + SHAPE, "float32")

for dtype in ("float32", "int64", "int32", "bool", "complex64"):
    a, b, c = ((array * 3).astype(dtype) for array in (x, y, wide))
    for axis in (0, 3, 10, -1):
        same(lambda: tf.concat([a, b, a], axis), 0) if dtype != "complex64" else None
        np.testing.assert_array_equal(on("GPU:0", lambda: tf.stack([a, b, a], axis))[2], np.stack([a, b, a], axis))
    np.testing.assert_array_equal(on("GPU:0", lambda: tf.concat([c, b], 3))[2], np.concatenate([c, b], 3))
    for work in (lambda: tf.split(a, 3, 2)[1], lambda: tf.split(c, [2, 1, -1], 3)[2], lambda: tf.unstack(a, axis=6)[2],
                 lambda: tf.split(a, 1, 3)[0]):
        same(work, 0) if dtype != "complex64" else None
    for perm in (range(11), range(10, -1, -1), (3, 4, 5, 6, 7, 8, 9, 10, 0, 1, 2), numbers.permutation(11)):
        np.testing.assert_array_equal(on("GPU:0", lambda: tf.transpose(a, list(perm)))[2], a.transpose(*perm))
eight = numbers.random((2, 1, 3, 2, 1, 2, 2, 3)).astype("float32")
for axis in (0, 8, -1, -9, 4):
    same(lambda: tf.stack([eight, eight + 1], axis), 0)
for empty in (lambda: tf.concat([nothing, nothing], 0), lambda: tf.stack([nothing, nothing], 12),
              lambda: tf.transpose(nothing)):
    same(empty, 0)
many = numbers.random((2, 3) * 5).astype("float32")  # of ten dimensions that all stay apart
for perm in (range(9, -1, -1), numbers.permutation(10)):
    same(lambda: tf.transpose(many, list(perm)), 0)
same(lambda: tf.transpose(tf.ones((1,) * 12)), 0)
same(lambda: gradient(lambda a: tf.transpose(tf.concat([a * a, a], 3)) ** 2, x), 1e-6)
same(lambda: gradient(lambda a: tf.stack([a * a, a], 2) ** 2, x), 1e-6)
same(lambda: gradient(lambda a: tf.split(a * a, [1, 2], 2)[1] ** 2, x), 1e-6)
same(lambda: gradient(lambda a: tf.unstack(a)[1] ** 3, x), 1e-6)
same(lambda: tf.function(lambda: tf.stack([tf.constant(x), tf.constant(y)], 2))(), 0)

for axis in (11, -12):
    fails(tf.errors.InvalidArgumentError, "", lambda: tf.raw_ops.ConcatV2(values=[x, y], axis=axis), ("CPU:0", "GPU:0"))
for raw in (lambda: tf.raw_ops.ConcatV2(values=[x, wide], axis=0), lambda: tf.raw_ops.ConcatV2(values=[x, nothing], axis=0),
            lambda: tf.raw_ops.Pack(values=[x, wide], axis=0), lambda: tf.raw_ops.Pack(values=[x, y], axis=12),
            lambda: tf.split(x, 2, 2), lambda: tf.split(x, [1, 1], 2), lambda: tf.raw_ops.Unpack(value=x, num=3, axis=0),
            lambda: tf.raw_ops.Unpack(value=x, num=2, axis=11), lambda: tf.raw_ops.Transpose(x=x, perm=[0] * 11), lambda: tf.raw_ops.Transpose(x=x, perm=[0, 1]),
            lambda: tf.raw_ops.Transpose(x=x, perm=[11] + list(range(10)))):
    fails(tf.errors.InvalidArgumentError, "", raw, ("CPU:0", "GPU:0"))
print("done")
"""


class Rank(unittest.TestCase):
    def test_reductions_of_many_dimensions_equal_the_cpu(self):
        expect_done(self, START + REDUCTIONS)

    def test_elementwise_ops_of_many_dimensions_equal_the_cpu(self):
        expect_done(self, START + ELEMENTWISE)

    def test_moves_of_many_dimensions_equal_the_cpu(self):
        expect_done(self, START + MOVES)


if __name__ == "__main__":
    unittest.main()
