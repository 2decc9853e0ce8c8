# SPDX-License-Identifier: Apache-2.0
"""Promise: Without a device TensorFlow starts, lists no GPU, and computes on its CPU.

The plug-in finds no device: TensorFlow starts, lists no GPU, and computes on its CPU."""

import os
import tempfile

os.environ["GANTRY_OPENCL_CPU"] = "off"
os.environ["OCL_ICD_VENDORS"] = tempfile.mkdtemp()
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import tensorflow as tf  # noqa: E402

assert tf.config.list_physical_devices("GPU") == [], tf.config.list_physical_devices()
assert float(tf.reduce_sum(tf.ones((3, 3)))) == 9
with tf.device("/GPU:0"):
    assert "CPU" in tf.add(1.0, 2.0).device  # soft placement, as on every machine without a GPU
print("ok")
