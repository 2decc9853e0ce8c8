# SPDX-License-Identifier: Apache-2.0
"""Promise: Conv3D and its two gradients on a GPU agree with the CPU for both layouts, groups, strides, dilations and
paddings.
Promise: The gradients of Conv3D on a GPU refuse sizes of more than 31 bits, and cut none.
Promise: Keras's Conv3D and keras.ops.conv take channels first and groups on a GPU, in fit too.

Run by a Python with TensorFlow and the plug-in, and one GPU of Gantry at least: python test_conv3d.py"""
import itertools
import os
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import keras
import numpy as np
import tensorflow as tf

GPU = "/device:GPU:0"
NEAR = {"float16": 5e-3, "bfloat16": 4e-2, "float32": 2e-5, "float64": 1e-12}
raw = tf.raw_ops
HALF = np.random.RandomState(1)


def numbers(shape, dtype="float64"):
    return HALF.standard_normal(shape).astype(dtype)


def taps(size, filters, strides, dilations, padding):
    """For each axis: the output's size, and the input's places of each of the filter's elements, -1 for a zero."""
    axes = []
    for n, f, s, d in zip(size, filters, strides, dilations):
        reach = (f - 1) * d + 1
        count = -(-n // s) if padding == "SAME" else max((n - reach) // s + 1, 0)
        before = max((count - 1) * s + reach - n, 0) // 2 if padding == "SAME" else 0
        places = np.arange(count)[None, :] * s + np.arange(f)[:, None] * d - before
        axes.append((count, np.where((places >= 0) & (places < n), places, -1)))
    return axes


def reference(x, w, dy, strides, dilations, padding):
    """The convolution, with channels last, and its two gradients for dy, element by element of the filter."""
    axes = taps(x.shape[1:4], w.shape[:3], strides, dilations, padding)
    groups, y = x.shape[4] // w.shape[3], np.zeros((x.shape[0], *(a[0] for a in axes), w.shape[4]))
    framed = np.pad(x, ((0, 0), (0, 1), (0, 1), (0, 1), (0, 0)))  # place -1 is a zero
    dframed, dw = np.zeros_like(framed), np.zeros_like(w)
    for k in itertools.product(*map(range, w.shape[:3])):
        places = np.ix_(range(x.shape[0]), *(a[1][i] for a, i in zip(axes, k)))
        for g in range(groups):
            here, there = slice(g * w.shape[3], (g + 1) * w.shape[3]), slice(g * (w.shape[4] // groups), (g + 1) * (w.shape[4] // groups))
            part = framed[..., here][places]
            y[..., there] += part @ w[k][:, there]
            if dy is not None:
                dw[k][:, there] += np.tensordot(part, dy[..., there], ([0, 1, 2, 3],) * 2)
                np.add.at(dframed[..., here], places, dy[..., there] @ w[k][:, there].T)
    return y, dframed[:, :-1, :-1, :-1], dw


def first(array):
    return np.moveaxis(array, 4, 1)


CASES = {  # input, filter, strides, dilations
    "plain": ((2, 5, 6, 4, 3), (2, 3, 2, 3, 4), (1, 1, 1), (1, 1, 1)),
    "groups": ((2, 5, 4, 4, 6), (3, 2, 2, 2, 9), (1, 1, 1), (1, 1, 1)),
    "depthwise": ((1, 4, 4, 4, 4), (2, 2, 2, 1, 4), (1, 1, 1), (1, 1, 1)),
    "strides": ((2, 7, 6, 5, 4), (3, 2, 3, 2, 4), (2, 3, 1), (1, 1, 1)),
    "wide strides": ((1, 7, 7, 7, 2), (1, 1, 1, 2, 3), (3, 2, 3), (1, 1, 1)),
    "dilations": ((1, 9, 7, 6, 2), (3, 2, 2, 1, 2), (1, 1, 1), (2, 2, 3)),
    "deep": ((1, 3, 4, 4, 1), (3, 4, 4, 1, 1), (1, 1, 1), (1, 1, 1)),
}


def run_raw(x, w, dy, strides, dilations, padding, layout, dtype):
    """The three ops on the GPU, with channels last again."""
    is_first = layout == "NCDHW"
    words = {"padding": padding, "data_format": layout,
             "strides": [1, 1, *strides] if is_first else [1, *strides, 1],
             "dilations": [1, 1, *dilations] if is_first else [1, *dilations, 1]}
    put = first if is_first else np.asarray
    x, w, dy = (tf.constant(a, dtype) for a in (put(x), w, put(dy)))
    out = [raw.Conv3D(input=x, filter=w, **words),
           raw.Conv3DBackpropInputV2(input_sizes=x.shape, filter=w, out_backprop=dy, **words),
           raw.Conv3DBackpropFilterV2(input=x, filter_sizes=w.shape, out_backprop=dy, **words)]
    assert all(o.device.endswith("GPU:0") for o in out)
    out = [o.numpy().astype("float64") for o in out]
    return [np.moveaxis(o, 1, 4) if is_first and i < 2 else o for i, o in enumerate(out)]


class TestOps(unittest.TestCase):
    def check(self, name, padding, layout, dtype):
        shape, filters, strides, dilations = CASES[name]
        x, w = (numbers(s, "float32").astype(dtype if dtype != "bfloat16" else tf.bfloat16.as_numpy_dtype).astype("float64")
                for s in (shape, filters))
        y, _, _ = reference(x, w, None, strides, dilations, padding)
        dy = np.round(numbers(y.shape) * 4) / 4
        with tf.device(GPU):
            got = run_raw(x, w, dy, strides, dilations, padding, layout, dtype)
        for what, wanted, have in zip(("y", "dx", "dw"), reference(x, w, dy, strides, dilations, padding), got):
            bound = NEAR[dtype] * max(np.abs(wanted).max(), 1)
            np.testing.assert_allclose(have, wanted, rtol=0, atol=bound, err_msg=f"{name} {padding} {layout} {dtype} {what}")

    def test_each_form_in_both_layouts(self):
        for name, padding, layout in itertools.product(CASES, ("SAME", "VALID"), ("NDHWC", "NCDHW")):
            with self.subTest(case=name, padding=padding, layout=layout):
                self.check(name, padding, layout, "float32")

    def test_each_type(self):
        for name, dtype in itertools.product(("groups", "strides"), ("float16", "bfloat16", "float64")):
            with self.subTest(case=name, dtype=dtype):
                self.check(name, "SAME", "NCDHW", dtype)

    def test_nothing_to_sum(self):
        with tf.device(GPU):
            w = tf.ones((2, 2, 2, 3, 4))
            self.assertEqual(tf.nn.conv3d(tf.zeros((0, 4, 4, 4, 3)), w, [1] * 5, "SAME").shape, (0, 4, 4, 4, 4))
            small = raw.Conv3D(input=tf.ones((1, 1, 4, 4, 3)), filter=w, strides=[1] * 5, padding="VALID")
            self.assertEqual(small.shape, (1, 0, 3, 3, 4))
            gradient = raw.Conv3DBackpropInputV2(input_sizes=[1, 1, 4, 4, 3], filter=w, out_backprop=small, strides=[1] * 5,
                                                 padding="VALID")
            np.testing.assert_array_equal(gradient, np.zeros((1, 1, 4, 4, 3)))

    def test_shapes_that_do_not_fit(self):
        with tf.device(GPU):
            for shape in ((1, 3, 3, 3, 4), (3, 3, 3)):
                with self.subTest(shape=shape), self.assertRaisesRegex(tf.errors.InvalidArgumentError, "Conv3D|rank 5"):
                    raw.Conv3D(input=tf.ones(shape), filter=tf.ones((2, 2, 2, 3, 4)), strides=[1] * 5, padding="VALID")
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, r"out_backprop is \[1,2,2,2,5\]"):
                raw.Conv3DBackpropInputV2(input_sizes=[1, 3, 3, 3, 3], filter=tf.ones((2, 2, 2, 3, 4)),
                                          out_backprop=tf.ones((1, 2, 2, 2, 5)), strides=[1] * 5, padding="VALID")

    def test_sizes_that_no_op_takes(self):
        wide = 2**32 + 2
        with tf.device(GPU):
            for axis in (1, 2, 3):
                sizes, strides = [1] * 5, [1] * 5
                sizes[axis], strides[axis] = wide, 2**31 - 1
                with self.subTest(axis=axis), self.assertRaisesRegex(tf.errors.InvalidArgumentError, "at most 2147483647"):
                    raw.Conv3DBackpropInputV2(input_sizes=tf.constant(sizes, tf.int64), filter=tf.ones((1,) * 5),
                                              out_backprop=tf.ones([3 if d == axis else 1 for d in range(5)]), strides=strides,
                                              padding="SAME")
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "elements of 64 bits"):
                raw.Conv3DBackpropInputV2(input_sizes=tf.constant([1] + [2**30] * 3 + [1], tf.int64), filter=tf.ones((1,) * 5),
                                          out_backprop=tf.ones((1,) * 5), strides=[1] + [2**30] * 3 + [1], padding="SAME")


class TestKeras(unittest.TestCase):
    def test_ops_conv_takes_both_layouts_and_groups(self):
        for dtype in ("float32", "float64", "float16"):
            for groups in (1, 2):
                x, w = numbers((1, 3, 3, 3, 4), dtype), numbers((2, 2, 2, 4 // groups, 4), dtype)
                wanted, _, _ = reference(x.astype("float64"), w.astype("float64"), None, (1, 1, 1), (1, 1, 1), "VALID")
                last = keras.ops.conv(x, w, data_format="channels_last")
                front = keras.ops.conv(first(x), w, data_format="channels_first")
                for got in (last, np.moveaxis(np.asarray(front), 1, 4)):
                    np.testing.assert_allclose(np.asarray(got, "float64"), wanted, rtol=0, atol=NEAR[dtype] * 8)

    def test_layers_train(self):
        x, y = numbers((4, 4, 4, 4, 4), "float32"), np.ones((4, 1), "float32")
        losses = {}
        for layout in ("channels_last", "channels_first"):
            keras.utils.set_random_seed(1)
            model = keras.Sequential([keras.Input((4, 4, 4, 4)), keras.layers.Conv3D(4, 2, groups=2, data_format=layout),
                                      keras.layers.Conv3DTranspose(2, 2, data_format=layout), keras.layers.GlobalAveragePooling3D(
                                          data_format=layout), keras.layers.Dense(1)])
            model.compile("sgd", "mse")
            data = x if layout == "channels_last" else first(x)
            losses[layout] = model.fit(data, y, epochs=3, batch_size=4, verbose=0).history["loss"]
            self.assertLess(losses[layout][2], losses[layout][0])
        np.testing.assert_allclose(losses["channels_first"], losses["channels_last"], rtol=1e-4)


if __name__ == "__main__":
    unittest.main()
