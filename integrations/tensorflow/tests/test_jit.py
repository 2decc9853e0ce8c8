# SPDX-License-Identifier: Apache-2.0
"""Promise: Programs run with XLA asked for by default, by name and not at all, or say why not; hidden GPUs keep XLA.

XLA is asked for by default, by name, and not at all: each program runs, or says why not.

Each case is a process of its own, as the answers hold from `import tensorflow` on.
"""

import os
import subprocess
import sys
import unittest

PROGRAM_HEAD = """
import warnings
import numpy as np
import tensorflow as tf
import keras
assert tf.config.list_physical_devices("GPU"), "no GPU"

def train(jit):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="tanh"),
                              keras.layers.Dense(1)])
    model.compile(loss="mse", optimizer="sgd", **({} if jit is None else {"jit_compile": jit}))
    x = np.linspace(-1, 1, 32, dtype="float32").reshape(8, 4)
    history = model.fit(x, x[:, :1], epochs=3, batch_size=4, shuffle=False, verbose=0)
    return model.jit_compile, history.history["loss"]

@tf.function(jit_compile=True)
def compiled(x):
    return tf.matmul(x, x) + 1.0
"""


def run(program, **environment):
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", PROGRAM_HEAD + program],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return done.returncode, done.stdout.strip(), done.stderr


class Jit(unittest.TestCase):
    def test_fit_default_true_and_false_train_alike(self):
        code, out, err = run(
            """
default, true, false = train(None), train(True), train(False)
assert default[0] is False and true[0] is False, (default, true)
assert default[1] == true[1] == false[1], (default, true, false)
assert default[1][2] < default[1][0]
print("trained")
"""
        )
        self.assertEqual((code, out), (0, "trained"), err)
        self.assertEqual(err.count("Model doesn't support `jit_compile=True`"), 1, err)
        self.assertNotIn("tf.function(jit_compile=True)", err)

    def test_function_with_jit_compile_runs_and_warns_once(self):
        code, out, err = run(
            """
for _ in range(3):
    y = compiled(tf.ones([3, 3]))
print(y.device.split(":")[-2], y.numpy()[0, 0])
"""
        )
        self.assertEqual((code, out), (0, "GPU 4.0"), err)
        self.assertEqual(err.count("XLA has no compiler for Gantry's devices"), 1, err)
        self.assertIn("<string>:", err)  # the warning names the program's line

    def test_setting_error_makes_jit_compile_fail_with_the_reason(self):
        code, out, err = run(
            """
try:
    compiled(tf.ones([3, 3]))
except tf.errors.UnimplementedError as error:
    assert "GANTRY_TF_JIT=run" in str(error), error
    print("refused", train(None)[0])
""",
            GANTRY_TF_JIT="error",
        )
        self.assertEqual((code, out), (0, "refused False"), err)

    def test_setting_xla_leaves_tensorflows_own_error(self):
        code, out, err = run(
            """
try:
    compiled(tf.ones([3, 3]))
except Exception as error:
    print("Could not find compiler" in str(error))
""",
            GANTRY_TF_JIT="xla",
        )
        self.assertEqual((code, out), (0, "True"), err)

    def test_unknown_setting_warns_and_counts_as_run(self):
        code, out, err = run("print(compiled(tf.ones([1, 1])).numpy()[0, 0])", GANTRY_TF_JIT="no")
        self.assertEqual((code, out), (0, "2.0"), err)
        self.assertIn('GANTRY_TF_JIT is "no"; accepted are run, error, xla', err)

    def test_hidden_gpus_keep_xla_of_the_cpu(self):
        code, out, err = run(
            """
tf.config.set_visible_devices([], "GPU")
print(compiled(tf.ones([3, 3])).numpy()[0, 0], compiled._jit_compile)
"""
        )
        self.assertEqual((code, out), (0, "4.0 True"), err)
        self.assertNotIn("Gantry's devices", err)

    def test_random_ops_need_no_seed(self):
        code, out, err = run(
            """
a, b = tf.random.normal([4]), tf.random.uniform([4])
assert np.unique(np.concatenate([a, b])).size == 8
train(None)
tf.random.normal([4])
print("drawn")
"""
        )
        self.assertEqual((code, out), (0, "drawn"), err)


if __name__ == "__main__":
    unittest.main()
