# SPDX-License-Identifier: Apache-2.0
"""Promise: tf.random.Generator draws on a GPU what it draws on the CPU, and its state moves on alike."""

import unittest

from child import expect_done

PROGRAM = r"""
import re
import numpy as np
import tensorflow as tf
assert tf.config.list_physical_devices("GPU"), "no GPU"

def draws():
    generator = tf.random.Generator.from_seed(7)
    yield generator.normal([3])
    yield generator.uniform([2], 0, 5, tf.int32)
    yield generator.truncated_normal([2])
    yield generator.state.read_value()
    yield generator.split(2)[1].normal([2])
    yield generator.make_seeds(2)
    function = tf.function(lambda: generator.uniform([2]))
    yield function()
    yield function()
    generator.skip(1000)
    yield generator.state.read_value()

def states():
    for delta in (0, 1, 2**30 + 12345, 2**64 - 1):
        state = tf.Variable(np.array([-300, -1, 5], np.int64))
        yield tf.raw_ops.RngReadAndSkip(resource=state.handle, alg=1, delta=tf.constant(delta, tf.uint64))
        yield state.read_value()

def refusals():
    for state, alg in ([1, 2], 1), ([[1, 2, 3]], 1):
        variable = tf.Variable(np.array(state, np.int64))
        try:
            tf.raw_ops.RngReadAndSkip(resource=variable.handle, alg=alg, delta=tf.constant(1, tf.uint64))
        except tf.errors.InvalidArgumentError as error:
            yield np.array(re.search(r"(For the Philox|RNG state)[^\[]*\d", error.message).group())
    try:
        tf.random.Generator.from_seed(3, "threefry").uniform([2])
    except tf.errors.UnimplementedError as error:
        yield np.array(re.search("Non-XLA.*algorithm", error.message).group())
    else:
        raise AssertionError("neither device has ThreeFry")

for numbers in draws, states, refusals:
    results = []
    for device in "CPU:0", "GPU:0":
        with tf.device(device):
            results.append([np.asarray(tensor) for tensor in numbers()])
    assert len(results[0]) == len(results[1]) > 0, results
    for cpu, gpu in zip(*results):
        is_equal = np.allclose(cpu, gpu, 1e-5) if cpu.dtype == np.float32 else np.array_equal(cpu, gpu)
        assert is_equal, (numbers.__name__, cpu, gpu)
print("done")
"""


class Generator(unittest.TestCase):
    def test_generator_on_gpu_draws_what_the_cpu_draws(self):
        expect_done(self, PROGRAM)

    def test_binomial_needs_a_generator_on_the_cpu(self):
        """As docs/tensorflow.md says of ops on variables without a kernel."""
        expect_done(self, """
import tensorflow as tf
draw = lambda generator: generator.binomial([4, 1], [8.0], [0.5], tf.int32)
try:
    draw(tf.random.Generator.from_seed(7))
except tf.errors.InvalidArgumentError as error:
    assert "StatefulRandomBinomial" in error.message and "no supported kernel for GPU" in error.message, error
else:
    raise AssertionError("docs/tensorflow.md says that it has no kernel")
with tf.device("CPU"):
    generator = tf.random.Generator.from_seed(7)
assert 0 <= tf.reduce_min(draw(generator)) and tf.reduce_max(draw(generator)) <= 8
print("done")
""")


if __name__ == "__main__":
    unittest.main()
