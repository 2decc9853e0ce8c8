# SPDX-License-Identifier: Apache-2.0
"""Promise: A Keras model of images with channels first has the values and losses of the one with channels last.

Both models run and train on a GPU, since TensorFlow's CPU has no kernels for channels first."""

import unittest

import keras
import numpy as np
import tensorflow as tf
from keras import layers

BOUND = 1e-5  # of values near 1: sums in another order


def numbers(shape, seed):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def make_model(layout):
    keras.utils.set_random_seed(3)
    shape, axis = ((16, 16, 3), 3) if layout == "channels_last" else ((3, 16, 16), 1)
    kept = {"padding": "same", "data_format": layout}
    return keras.Sequential([
        keras.Input(shape),
        layers.ZeroPadding2D(1, data_format=layout),
        layers.Conv2D(8, 3, activation="relu", **kept),
        layers.BatchNormalization(axis=axis),
        layers.DepthwiseConv2D(3, activation="relu6", **kept),
        layers.MaxPooling2D(2, data_format=layout),
        layers.SeparableConv2D(8, 3, **kept),
        layers.Conv2D(8, 3, groups=2, dilation_rate=2, **kept),
        layers.AveragePooling2D(2, **kept),
        layers.Conv2DTranspose(4, 3, strides=2, **kept),
        layers.UpSampling2D(2, data_format=layout),
        layers.Cropping2D(1, data_format=layout),
        layers.GroupNormalization(2, axis=axis),
        layers.GlobalAveragePooling2D(data_format=layout),
        layers.Dense(2),
    ])


class Layouts(unittest.TestCase):
    def test_both_layouts_have_one_result(self):
        assert tf.config.list_physical_devices("GPU"), "no GPU"
        images, wanted, results = numbers((8, 16, 16, 3), 0), numbers((8, 2), 1), {}
        for layout in ("channels_last", "channels_first"):
            model, data = make_model(layout), images if layout == "channels_last" else np.moveaxis(images, 3, 1)
            eager, function = model(data), tf.function(model)(data)
            self.assertTrue(eager.device.endswith("GPU:0"), eager.device)
            model.compile(keras.optimizers.SGD(0.05), "mse")
            losses = model.fit(data, wanted, epochs=3, batch_size=4, shuffle=False, verbose=0).history["loss"]
            self.assertLess(losses[2], losses[0])
            results[layout] = eager, function, losses, model.predict(data, verbose=0)
        for last, first in zip(*results.values()):
            np.testing.assert_allclose(first, last, rtol=0, atol=BOUND)


if __name__ == "__main__":
    unittest.main()
