#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: Errors of devices have TensorFlow's class and Gantry's text, and the program continues.

Errors of devices: memory that runs out, an index that a kernel finds wrong, results that nobody reads. Each has
TensorFlow's class and Gantry's text, and the program continues.

    PYTHON test_device_errors.py     PYTHON has TensorFlow and the plug-in
"""

import os
import subprocess
import sys
import unittest

from child import LONGEST_SECONDS

HEAD = """
import sys
import tensorflow as tf
def error_of(make):
    try:
        return type(make()).__name__
    except tf.errors.OpError as error:
        return type(error).__name__ + ": " + error.message
"""


def run(program, **variables):
    values = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="1", GANTRY_OPENCL_CPU="gpu", POCL_DEVICES="pthread")
    values.update(variables)
    done = subprocess.run([sys.executable, "-c", HEAD + program], env=values, text=True, timeout=LONGEST_SECONDS,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


class DeviceErrors(unittest.TestCase):
    def test_memory_runs_out(self):
        code, text = run("""
with tf.device("GPU:0"):
    a, kept = tf.zeros([4 << 20]), []
    for _ in range(3):
        print(error_of(lambda: [kept.append(a + 1.0) for _ in range(99)]))
        kept.clear()
    print("then", float((a + 1.0)[0]))
""", GANTRY_MEMORY_LIMIT="128M")
        self.assertEqual(code, 0, text)
        self.assertEqual(text.count("ResourceExhaustedError: "), 3, text)
        self.assertIn("OOM when allocating tensor with shape[4194304] and type float on", text)
        self.assertIn("then 1.0", text)
        self.assertEqual(text.count("W gantry: Allocator GPU_0_bfc ran out of memory: Add requested 16.00MiB"), 1, text)
        self.assertIn("Chunks in use by size:", text)

    def test_index_out_of_range(self):
        code, text = run("""
with tf.device("GPU:0"):
    rows = tf.gather(tf.range(4.0), [1, 7])
    for _ in range(2):
        print(error_of(rows.numpy))
    print(error_of((rows + 1).numpy))
    print("then", tf.gather(tf.range(4.0), [1, 3]).numpy())
@tf.function
def total(indices):
    with tf.device("GPU:0"):
        return tf.reduce_sum(tf.gather(tf.range(4.0), indices))
print(error_of(lambda: total(tf.constant([1, 7])).numpy()))
print("then", float(total(tf.constant([1, 3]))))
""")
        self.assertEqual(code, 0, text)
        self.assertEqual(text.count("InvalidArgumentError: "), 4, text)
        self.assertIn("indices[1] = 7 is not in [0, 4)", text)
        self.assertIn("then [1. 3.]", text)
        self.assertIn("then 4.0", text)

    def test_result_that_nobody_reads(self):
        code, text = run("""
with tf.device("GPU:0"):
    tf.gather(tf.range(4.0), [1, 7])
tf.test.experimental.sync_devices()
print("then", float(tf.constant(1.0) + 1))
""")
        self.assertEqual(code, 0, text)
        self.assertIn("W gantry: a kernel failed on its device: indices[1]", text)
        self.assertIn("then 2.0", text)


if __name__ == "__main__":
    unittest.main()
