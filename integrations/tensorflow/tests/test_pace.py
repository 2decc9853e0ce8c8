#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: A program that enqueues and never reads runs ahead of its device by a bounded number of kernels.

A program that enqueues and never reads runs ahead of its device by a bounded number of kernels: most of the work is
done when the last call returns. On PoCL, this process's processor time counts the work.

    PYTHON test_pace.py     PYTHON has TensorFlow and the plug-in
"""

import os
import time
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("GANTRY_OPENCL_CPU", "gpu")

import tensorflow as tf

CALLS = 3500  # at most about 1,024 are in flight: src/pace.c


class Pace(unittest.TestCase):
    def check(self, call):
        """The share of the processor time that passes before the last call returns."""
        hardware = tf.config.experimental.get_device_details(tf.config.list_physical_devices("GPU")[0])["device_name"]
        if "pthread" not in hardware:
            self.skipTest(f"{hardware} is not PoCL, and its work costs this process no processor time")
        x = call(tf.fill((384, 384), 0.5))
        x.numpy()
        begin = time.process_time()
        for _ in range(CALLS):
            y = call(x)
        enqueued = time.process_time()
        y.numpy()
        share = (enqueued - begin) / (time.process_time() - begin)
        print(f"{share:.2f} of the work is done when the last call returns")
        self.assertGreater(share, 0.6)

    def test_eager(self):
        with tf.device("/GPU:0"):
            self.check(lambda x: tf.matmul(x, x))

    def test_function(self):
        with tf.device("/GPU:0"):
            self.check(tf.function(lambda x: tf.matmul(x, x)))


if __name__ == "__main__":
    unittest.main()
