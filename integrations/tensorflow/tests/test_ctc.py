# SPDX-License-Identifier: Apache-2.0
"""Promise: tf.nn.ctc_loss with a GPU listed has TensorFlow's losses and gradients, eager and in functions.

tf.nn.ctc_loss with a GPU listed has TensorFlow's losses and gradients. TensorFlow takes cuDNN's op for sparse labels
there, and the plug-in has none."""

import unittest

from child import expect_done

PROGRAM = """
import numpy as np
import tensorflow as tf
assert tf.config.list_physical_devices("GPU"), "no GPU"
numbers = np.random.default_rng(1)
LOGITS = tf.constant(numbers.random((6, 3, 5), dtype="float32"))
LABELS = [[1, 2, 1], [3, 3, 0], [2, 0, 0]]

def sparse(logits, blank):
    return tf.nn.ctc_loss(tf.sparse.from_dense(LABELS), logits, None, [6, 6, 5], blank_index=blank)

def dense(logits, blank):
    return tf.nn.ctc_loss(tf.constant(LABELS), logits, [3, 2, 1], [6, 6, 5], blank_index=blank)

def outcome(work, blank):
    with tf.GradientTape() as tape:
        tape.watch(LOGITS)
        loss = work(LOGITS, blank)
    return loss.numpy(), tape.gradient(loss, LOGITS).numpy()

for blank in (0, -1, 4):
    for work in (sparse, dense):
        with tf.device("CPU"):
            wanted = outcome(work, blank)
        for made in (work, tf.function(work)):
            for mine, theirs in zip(outcome(made, blank), wanted):
                np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)
print("done")
"""


class Ctc(unittest.TestCase):
    def test_losses_and_gradients(self):
        expect_done(self, PROGRAM)


if __name__ == "__main__":
    unittest.main()
