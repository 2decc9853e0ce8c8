# SPDX-License-Identifier: Apache-2.0
"""Promise: The report counts ops on the CPU with the reason, kernels, copies and memory; a timeline has node names.

The report and the timeline of a TensorFlow program, whose author knows where each op ran.
Promise: The report counts the ops of graphs that a tf.Session runs, on the CPU with the reason.

Each case is a process of its own: the settings hold from `import tensorflow` on.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM_HEAD = """
import numpy as np
import tensorflow as tf
import gantry_tensorflow
"""

# 2 calls of a function with one op without kernel; then eager: 3 on the CPU, 5 on the GPU.
PROGRAM = """
@tf.function
def train(x):
    product = tf.matmul(x, x, name="product")
    return tf.linalg.svd(product, compute_uv=False) + tf.reduce_sum(product)

x = tf.constant(np.eye(3, dtype="float32"))
for _ in range(2):
    train(x)
for _ in range(3):
    tf.strings.length("abc")
for _ in range(5):
    y = tf.tanh(x)
y.numpy()
"""


def run(program, **environment):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM_HEAD + program],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        raise AssertionError(f"exit code {done.returncode}: {done.stderr}")
    return done.stdout, done.stderr


def run_report(program, **environment):
    out, _ = run(
        program + "\nimport json; print(json.dumps(gantry_tensorflow.report()))", **environment
    )
    return json.loads(out.splitlines()[-1])


class Report(unittest.TestCase):
    def test_ops_on_the_cpu_are_counted_with_the_reason(self):
        found = run_report(PROGRAM, GANTRY_TF_REPORT="1")
        rows = {(row["op"], row["in"]): row for row in found["cpu_ops"]}
        self.assertEqual(set(rows), {("Svd", "train"), ("StringLength", "eager")})
        self.assertEqual(rows["Svd", "train"]["calls"], 2)
        self.assertEqual(rows["StringLength", "eager"]["calls"], 3)
        self.assertIn("no kernel for Gantry's devices", rows["Svd", "train"]["why"])

    def test_types_without_kernel_and_chosen_devices_are_told_apart(self):
        found = run_report(
            """
with tf.device("CPU:0"):
    tf.tanh(tf.ones([2]))
tf.tanh(tf.ones([2], "complex64"))
""",
            GANTRY_TF_REPORT="1",
        )
        why = {row["why"] for row in found["cpu_ops"] if row["op"] == "Tanh"}
        self.assertEqual(
            why,
            {
                "no kernel for complex64 on Gantry's devices",
                "TensorFlow or the program chose the CPU",
            },
        )

    def test_kernels_are_counted_by_device(self):
        found = run_report(
            PROGRAM + 'with tf.device("GPU:0"):\n    tf.exp(x)\n', GANTRY_TF_REPORT="1"
        )
        calls = {row["op"]: row["calls"][0] for row in found["kernels"]}
        self.assertEqual((calls["MatMul"], calls["Tanh"], calls["Exp"]), (2, 5, 1))

    def test_copies_and_memory_are_told_without_the_setting(self):
        found = run_report(
            """
with tf.device("GPU:0"):
    y = tf.constant(np.ones(1000, "float32")) + 1.0
    y.numpy()
if len(tf.config.list_logical_devices("GPU")) > 1:
    with tf.device("GPU:1"):
        tf.identity(y).numpy()
"""
        )
        first = found["devices"][0]
        self.assertGreaterEqual(first["to_device"]["bytes"], 4000)
        self.assertGreaterEqual(first["to_host"]["bytes"], 4000)
        self.assertGreaterEqual(first["peak_bytes"], 4000)
        if len(found["devices"]) > 1:
            self.assertEqual(found["devices"][1]["from_device"], {"copies": 1, "bytes": 4000})
        self.assertFalse(found["counts_ops"])
        self.assertEqual((found["cpu_ops"], found["kernels"]), ([], []))

    def test_report_is_printed_at_exit_once_and_only_if_asked_for(self):
        _, err = run(PROGRAM, GANTRY_TF_REPORT="1")
        self.assertEqual(err.count("where this program's ops ran"), 1)
        self.assertIn("Svd", err)
        self.assertIn("Not counted: ops of input pipelines", err)
        for on in ("on", "True", "yes"):
            _, err = run(PROGRAM, GANTRY_TF_REPORT=on)
            self.assertEqual(err.count("where this program's ops ran"), 1, on)
        for off in ("", "0", "off", "False", "no"):
            _, err = run(PROGRAM, GANTRY_TF_REPORT=off)
            self.assertNotIn("where this program's ops ran", err)

    def test_a_program_without_an_op_is_not_told_to_count(self):
        _, err = run("", GANTRY_TF_REPORT="1")
        self.assertNotIn("Ops were not counted", err)
        self.assertIn("Ops on the CPU\n  none", err)

    def test_a_forked_child_prints_no_report(self):
        _, err = run(
            PROGRAM + "import os, sys\nif os.fork() == 0:\n    sys.exit()\nos.wait()",
            GANTRY_TF_REPORT="1",
        )
        self.assertEqual(err.count("where this program's ops ran"), 1)

    def test_a_failure_of_the_report_leaves_the_program_alone(self):
        found = run_report(
            """
from gantry_tensorflow import op_report
op_report._counter._reasons = None
"""
            + PROGRAM,
            GANTRY_TF_REPORT="1",
        )
        self.assertIn("NoneType", found["failure"])
        self.assertEqual(found["cpu_ops"], [])

    def test_other_callbacks_of_ops_and_ops_of_many_outputs_work_beside_the_report(self):
        program = """
from tensorflow.python.ops import gen_array_ops
@tf.function
def root(x):
    parts = gen_array_ops.split(0, x, 2)
    assert isinstance(parts, list), parts
    a, b = tf.nn.top_k(x, 1)
    return tf.sqrt(x) * 2 + parts[0] + a

print(tf.add(1.0, 2.0).numpy(), root(tf.constant([1.0, 4.0])).numpy())
tf.debugging.enable_check_numerics()
print(tf.exp(tf.constant([0.0])).numpy())
for call in (lambda x: tf.sqrt(x), tf.function(lambda x: tf.sqrt(x) * 2)):
    try:
        call(tf.constant([-1.0]))
        print("no error")
    except tf.errors.InvalidArgumentError as error:
        print("NaN" in str(error))
"""
        out = run(program, GANTRY_TF_REPORT="1")[0]
        self.assertEqual(out.splitlines()[1:], ["[1.]", "True", "True"])
        self.assertEqual(out, run(program)[0])

    def test_sessions_of_tensorflow_1_are_counted(self):
        found = run_report(
            """
v1 = tf.compat.v1
with tf.Graph().as_default():
    a = v1.placeholder(tf.float32, [2, 2])
    b = tf.matmul(a, tf.linalg.inv(a))
    pair = tf.linalg.logdet(tf.matmul(a, a))
    whole = v1.Variable(1, use_resource=False)
    values = {a: [[2.0, 1.0], [1.0, 3.0]]}
    with v1.Session() as session:
        session.run(whole.initializer)
        data, options = v1.RunMetadata(), v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
        for _ in range(3):
            session.run(b, values)
        session.run(pair, values, options=options, run_metadata=data)
        assert data.step_stats.dev_stats
        call = session.make_callable(b, [a])
        call(np.eye(2))
        try:
            session.run(b, {a: np.zeros((2, 2))})
        except tf.errors.InvalidArgumentError:
            pass
    with v1.Session() as session:
        session.run([b], values)
""",
            GANTRY_TF_REPORT="1",
        )
        rows = {row["op"]: row for row in found["cpu_ops"]}
        self.assertEqual((rows["MatrixInverse"]["calls"], rows["MatrixInverse"]["in"]), (5, "tf.Session"))
        self.assertEqual(rows["Cholesky"]["calls"], 1)
        self.assertIn("no kernel for int32", rows["VariableV2"]["why"])
        self.assertNotIn("MatMul", rows)
        self.assertEqual(found["failure"], "")

    def test_results_are_those_without_the_report(self):
        program = PROGRAM + "print(train(x * 2).numpy().tobytes().hex())"
        self.assertEqual(run(program, GANTRY_TF_REPORT="1")[0], run(program)[0])


class Timeline(unittest.TestCase):
    def test_timeline_shows_nodes_around_gantrys_ops(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            run(PROGRAM, GANTRY_TRACE=path)
            with open(path, encoding="utf-8") as file:
                events = json.load(file)
        nodes = [event for event in events if event.get("cat") == "program"]
        product = [node for node in nodes if node["name"] == "product"]
        self.assertEqual([node["args"]["detail"] for node in product], ["MatMul", "MatMul"])
        inner = [event for event in events if event.get("cat") == "op" and event["name"] == "MatMul"]
        self.assertEqual(len(inner), 2)
        for node, op in zip(product, inner):
            self.assertEqual(node["tid"], op["tid"])
            self.assertLessEqual(node["ts"], op["ts"])
            self.assertLessEqual(op["ts"] + op["dur"], node["ts"] + node["dur"])
        # The last op of the program is there: the file is complete at exit.
        self.assertEqual(sum(node["name"].startswith("Tanh") for node in nodes), 5)


if __name__ == "__main__":
    unittest.main()
