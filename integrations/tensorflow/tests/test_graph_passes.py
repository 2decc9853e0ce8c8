# SPDX-License-Identifier: Apache-2.0
"""Promise: TensorFlow's passes over graphs leave ops that Gantry has: no fused ops for cuDNN, no Transposes to NCHW.

TensorFlow's passes over graphs leave ops that Gantry has: no fused ops for cuDNN, no Transposes to NCHW.

One process traces and runs all functions, as the plug-in's settings hold from `import tensorflow` on."""

import unittest

from child import expect_done

PROGRAM = """
import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context
assert tf.config.list_physical_devices("GPU"), "no GPU"

random = np.random.default_rng(1)
image, filters, bias = (random.random(shape, np.float32) for shape in ((2, 8, 8, 3), (3, 3, 3, 4), (4,)))

def convolution(image, filters, bias):
    return tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(image, filters, 1, "SAME"), bias))

def product(image, filters, bias):
    return tf.nn.gelu(tf.nn.bias_add(tf.matmul(image[0, 0], filters[0, 0]), bias), approximate=True)

def normalisation(image, filters, bias):
    result = tf.raw_ops.FusedBatchNormV3(x=image, scale=bias[:3], offset=bias[:3], mean=bias[:3],
                                         variance=bias[1:], is_training=False)
    return tf.nn.relu(result.y)

for body in (convolution, product, normalisation):
    with tf.device("CPU:0"):
        expected = body(image, filters, bias)
    context.enable_run_metadata()
    with tf.device("GPU:0"):
        result = tf.function(body)(*map(tf.constant, (image, filters, bias)))  # constants would be folded
    graphs = context.export_run_metadata().function_graphs
    context.disable_run_metadata()
    assert result.device.endswith("GPU:0"), result.device
    assert np.allclose(result, expected, rtol=1e-5, atol=1e-6), body.__name__
    ops = {node.op for graph in graphs for part in graph.partition_graphs for node in part.node
           if node.device.endswith("GPU:0")}
    strange = {op for op in ops if "Fused" in op and op != "FusedBatchNormV3" or op == "Transpose"}
    assert not strange, f"{body.__name__}: {strange}"
print("done")
"""


class GraphPasses(unittest.TestCase):
    def test_functions_run_with_their_own_ops(self):
        expect_done(self, PROGRAM)


if __name__ == "__main__":
    unittest.main()
