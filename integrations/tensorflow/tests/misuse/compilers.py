# SPDX-License-Identifier: Apache-2.0
"""Promise: TensorFlow's LLVM and the OpenCL driver's LLVM compile in turn in one process.

TensorFlow's LLVM and the OpenCL driver's LLVM compile in turn, in one process."""

import tensorflow as tf


@tf.function(jit_compile=True)
def compiled_for_cpu(x):
    return tf.reduce_sum(tf.sin(x) * 2 + 1)


x = tf.random.stateless_uniform((50, 20), (3, 4))
with tf.device("/CPU:0"):
    first = float(compiled_for_cpu(tf.identity(x)))
for i, step in enumerate((tf.sin, tf.cumsum, lambda y: tf.sort(y, -1), tf.nn.softmax, lambda y: tf.matmul(y, y, transpose_b=True))):
    on_gpu = step(x)
    assert "GPU" in on_gpu.device, (i, on_gpu.device)
    with tf.device("/CPU:0"):
        on_cpu = step(tf.identity(x))
        again = float(compiled_for_cpu(tf.identity(x) + float(i)))
    assert float(tf.reduce_max(tf.abs(tf.identity(on_gpu) - tf.identity(on_cpu)))) < 1e-3, i
assert first != again
print("ok")
