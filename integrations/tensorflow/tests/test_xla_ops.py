# SPDX-License-Identifier: Apache-2.0
"""Promise: An op that only XLA computes (XlaCallModule of models from JAX, XlaEinsum) runs on the CPU, wherever a program puts it.
Promise: After an op that only XLA computes, keras.utils.clear_session and the end of the program leave the process
alive.
Promise: Keras's JaxLayer trains and predicts in a model whose variables are on a GPU.

Run by a Python with TensorFlow, the plug-in and its variables file: python test_xla_ops.py. The last promise needs JAX."""
import importlib.util
import unittest

from child import expect_done

HEAD = '''
import keras
import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops as xla

assert tf.config.list_physical_devices("GPU"), "no GPU"
MODULE = """module @f { func.func public @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = stablehlo.negate %x : tensor<2x3xf32>
  return %y : tensor<2x3xf32> } }"""
X = np.arange(6, dtype="float32").reshape(2, 3)

def call(x):
    return xla.xla_call_module([x], version=9, module=MODULE, Sout=[(2, 3)], Tout=[tf.float32], platforms=["CPU"])[0]

def same(got, wanted):
    np.testing.assert_array_equal(got, wanted)
'''
TAIL = '''
keras.utils.clear_session()
same(call(tf.constant(X)), -X)
print("done")
'''


class Placement(unittest.TestCase):
    def test_eager_and_in_functions(self):
        expect_done(self, HEAD + '''
x = tf.constant(X)
same(call(x), -X)
same(tf.function(call)(x), -X)
with tf.device("/GPU:0"):
    y = call(x + 0)
    same(tf.function(call)(x), -X)
assert y.device.endswith("CPU:0"), y.device
z = tf.function(lambda x: tf.matmul(call(x * 2), x, transpose_b=True))(x)
assert z.device.endswith("GPU:0"), z.device
same(z, -2 * X @ X.T)
''' + TAIL)

    def test_replicas_and_sessions(self):
        expect_done(self, HEAD + '''
strategy = tf.distribute.MirroredStrategy()
for value in strategy.experimental_local_results(strategy.run(tf.function(lambda: call(tf.constant(X))))):
    same(value, -X)
v1 = tf.compat.v1
with tf.Graph().as_default(), v1.Session() as session:
    same(session.run(call(tf.constant(X) + 0.0)), -X)
''' + TAIL)

    def test_other_ops_of_xla(self):
        expect_done(self, HEAD + '''
with tf.device("/GPU:0"):
    x = tf.constant(X) + 0
    same(xla.xla_einsum(x, x, equation="ij,kj->ik"), X @ X.T)
    same(xla.xla_pad(x, 1.0, [0, 0], [1, 0], [0, 0]), np.pad(X, ((0, 1), (0, 0)), constant_values=1))
    whole = tf.constant(X.astype("complex64"))  # a type that Gantry's own kernel of this op has not
    same(xla.xla_dynamic_slice(whole, [1, 1], [1, 2]), X[1:2, 1:3])
''' + TAIL)

    def test_without_soft_placement_a_pinned_op_names_the_reason(self):
        expect_done(self, HEAD + '''
tf.config.set_soft_device_placement(False)
try:
    with tf.device("/GPU:0"):
        call(tf.constant(X))
    print("no error")
except tf.errors.InvalidArgumentError as error:
    assert "XlaCallModule" in str(error), error
tf.config.set_soft_device_placement(True)
''' + TAIL)


@unittest.skipUnless(all(map(importlib.util.find_spec, ("jax", "jaxlib", "scipy"))), "JAX is not installed: pip install jax")
class Jax(unittest.TestCase):
    def test_jax_layer_trains_and_predicts(self):
        expect_done(self, HEAD + '''
import contextlib
import jax.numpy as jnp

def make():
    inner = keras.layers.JaxLayer(lambda params, inputs, training=None: jnp.tanh(inputs @ params["w"]),
                                  lambda rng, inputs, training=None: {"w": jnp.ones((inputs.shape[-1], 2)) * 0.1})
    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(3), inner, keras.layers.Dense(1)])

for strategy in (None, tf.distribute.MirroredStrategy()):
    with strategy.scope() if strategy else contextlib.nullcontext():
        model = make()
        model.compile("sgd", "mse")
    losses = model.fit(np.ones((8, 3)), np.ones((8, 1)), epochs=3, verbose=0).history["loss"]
    assert losses[2] < losses[0], losses
    assert model.predict(np.ones((2, 3)), verbose=0).shape == (2, 1)
''' + TAIL)


if __name__ == "__main__":
    unittest.main()
