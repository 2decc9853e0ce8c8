# SPDX-License-Identifier: Apache-2.0
"""Promise: A graph of TensorFlow 1 keeps its reference variables on a GPU, pinned or not, and each op on them gives what TensorFlow's CPU gives.
Promise: A value that an op took from a reference variable stays as it was, whoever updates the variable.
Promise: Without a variables file, reference variables stay on the CPU and work there.

Run by a Python with TensorFlow, the plug-in, its variables file, and one GPU of Gantry at least: python test_references.py"""
import os
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np
import tensorflow as tf
from child import expect_done
from test_variables import CPU, DENSE_ONLY, FEW_TYPES, GPU, NEAR, WIDE, values
from optimizer_steps import NUMBERS, STEPS

v1 = tf.compat.v1
raw = tf.raw_ops
WITHOUT = ("KerasMomentum", "AdamWithAmsgrad")  # TensorFlow 1 has no such ops
TYPES = (tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.int64, tf.uint32)


def run_on(device, op, states, others, attributes, dtype):
    """The op on reference variables of the device, in a session without soft placement: their values."""
    with tf.Graph().as_default(), tf.device(device):
        number = dtype.as_numpy_dtype
        variables = {word: v1.Variable(value.astype(number), use_resource=False) for word, value in states.items()}
        inputs = {word: tf.constant(value if value.dtype.kind == "i" else value.astype(number)) for word, value in others.items()}
        out = getattr(raw, op)(**{word: v._variable for word, v in variables.items()}, **inputs, **attributes)
        assert out.dtype._is_ref_dtype
        with v1.Session() as session:
            session.run([v.initializer for v in variables.values()])
            answer = session.run(tf.identity(out))
            kept = session.run([tf.identity(v) for v in variables.values()])
        np.testing.assert_array_equal(answer, kept[0])
        return [value.astype(np.complex128 if dtype.is_complex else np.float64) for value in kept]


class ReferencesCase(unittest.TestCase):
    def check_same(self, op, states, others, attributes=None, dtype=tf.float32, exact=False, scale=1):
        wanted = run_on(CPU, op, states, others, attributes or {}, dtype)
        got = run_on(GPU, op, states, others, attributes or {}, dtype)
        for word, w, g in zip(states, wanted, got):
            bound = 0 if exact else NEAR.get(dtype, 0) * scale
            np.testing.assert_allclose(g, w, rtol=bound, atol=bound, err_msg=f"{op} {dtype.name} {word} {attributes}")


class TestSteps(ReferencesCase):
    def check_step(self, name, op, dtype, indices=None):
        states, others, form = STEPS[name]
        rows = (7, 5) if indices is None else (len(indices), 5)
        inputs = {word: np.float64(NUMBERS[word]) if word in NUMBERS else values(word, rows) for word in others.split()}
        if indices is not None:
            if name == "ProximalGradientDescent":  # called so in the sparse step
                inputs["grad"] = inputs.pop("delta")
            inputs["indices"] = indices
        self.check_same(op, {word: values(word, (7, 5)) for word in states.split()}, inputs, {form: True} if form else {}, dtype,
                        scale=WIDE.get(name, 1))

    def test_dense_steps(self):
        for name in (name for name in STEPS if name not in WITHOUT):
            for dtype in (t for t in FEW_TYPES.get(name, (tf.float32, tf.float64, tf.float16)) if t != tf.bfloat16):
                with self.subTest(op=name, dtype=dtype.name):
                    self.check_step(name, "Apply" + name, dtype)

    def test_sparse_steps(self):
        for name in (name for name in STEPS if name not in WITHOUT + DENSE_ONLY):
            for indices in (np.array([4, 0, 6], np.int32), np.array([2, 5, 2, 2, 5, 1], np.int64)):
                with self.subTest(op=name, indices=indices.tolist()):
                    self.check_step(name, "SparseApply" + name, tf.float32, indices)


class TestAssign(ReferencesCase):
    def test_every_type_of_a_variable(self):
        for dtype in (*TYPES, tf.complex64, tf.complex128):
            for op in ("Assign", "AssignAdd", "AssignSub"):
                with self.subTest(op=op, dtype=dtype.name):
                    self.check_same(op, {"ref": np.array([[5, 6], [7, 8]])}, {"value": np.array([[1, 2], [3, 4.]])}, None, dtype, True)
        self.check_same("Assign", {"ref": np.array([0, 1])}, {"value": np.array([1, 0.])}, None, tf.bool, True)

    def test_shapes(self):
        for shape in ((), (0, 3), (2, 3)):
            self.check_same("AssignAdd", {"ref": np.ones(shape)}, {"value": np.ones(shape)}, exact=True)
        self.check_same("Assign", {"ref": np.ones((2, 3))}, {"value": np.ones((4,))}, {"validate_shape": False}, exact=True)
        with tf.Graph().as_default(), tf.device(GPU), v1.Session() as session:
            given = v1.placeholder(tf.float32)
            v = v1.Variable([1.0, 2.0], use_resource=False)
            change = raw.Assign(ref=v._variable, value=given)
            session.run(v.initializer)
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, r"both tensors to match. lhs shape= \[2\] rhs shape= \[3\]"):
                session.run(change, {given: [1.0, 2.0, 3.0]})
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, r"Cannot update variable with shape \[2\]"):
                session.run(raw.AssignAdd(ref=v._variable, value=given), {given: [1.0]})
            np.testing.assert_array_equal(session.run(v), [1, 2])

    def test_variable_that_is_not_initialized(self):
        with tf.Graph().as_default(), tf.device(GPU), v1.Session() as session:
            v = v1.Variable([1.0, 2.0], use_resource=False, name="early")
            self.assertFalse(session.run(v1.is_variable_initialized(v)))
            with self.assertRaisesRegex(tf.errors.FailedPreconditionError, "uninitialized value early"):
                session.run(v1.assign_add(v, [1.0, 1.0]))


class TestRows(ReferencesCase):
    def test_scatter(self):
        updates, indices = np.round(np.abs(values("updates", (4, 3))) + 1), np.array([1, 1, 3, 0], np.int32)
        for kind in ("Add", "Sub", "Mul", "Div", "Min", "Max", "Update"):
            for dtype in (tf.float32, tf.float64, tf.int64):
                with self.subTest(kind=kind, dtype=dtype.name):
                    self.check_same("Scatter" + kind, {"ref": np.arange(1, 13).reshape(4, 3) * 5.0},
                                    {"indices": indices, "updates": updates}, None, dtype)

    def test_scatter_nd(self):
        for kind in ("Add", "Sub", "Min", "Max", "Update"):
            with self.subTest(kind=kind):
                self.check_same("ScatterNd" + kind, {"ref": np.arange(12).reshape(4, 3) * 1.0},
                                {"indices": np.array([[2], [0]], np.int32), "updates": np.round(values("updates", (2, 3)) * 4)})

    def test_slice(self):
        results = []
        for device in (CPU, GPU):
            with tf.Graph().as_default(), tf.device(device), v1.Session() as session:
                v = v1.Variable(tf.zeros((5, 4)), use_resource=False)
                session.run(v.initializer)
                session.run(v[4:0:-2, 1].assign([1.0, 2.0]))
                results.append(session.run(v))
        np.testing.assert_array_equal(*results)


class TestAliases(unittest.TestCase):
    def test_values_that_were_taken_stay(self):
        with tf.Graph().as_default(), tf.device(GPU), v1.Session() as session:
            initial = tf.fill([1000], 2.0)
            v, w = v1.Variable(initial, use_resource=False), v1.Variable(initial, use_resource=False)
            before = tf.identity(v)
            with tf.control_dependencies([before]):
                update = v1.assign_add(v, tf.ones([1000]))
            with tf.control_dependencies([update]):
                late = before * 1.0
            session.run([v.initializer, w.initializer])
            for number in (2.0, 3.0):
                np.testing.assert_array_equal(session.run(late), np.full(1000, number))
            np.testing.assert_array_equal(session.run(v), np.full(1000, 4.0))
            np.testing.assert_array_equal(session.run(w), np.full(1000, 2.0))

    def test_variable_given_twice(self):
        with tf.Graph().as_default(), tf.device(GPU), v1.Session() as session:
            v = v1.Variable([1.0, 2.0], use_resource=False)
            session.run(v.initializer)
            step = raw.ApplyAdagrad(var=v._variable, accum=v._variable, lr=1.0, grad=[1.0, 1.0])
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "given to the op twice"):
                session.run(step)
            np.testing.assert_array_equal(session.run(v), [1, 2])


OPTIMIZERS = {
    "descent": lambda: v1.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: v1.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adam": lambda: v1.train.AdamOptimizer(0.1),
    "adagrad": lambda: v1.train.AdagradOptimizer(0.1),
    "rmsprop": lambda: v1.train.RMSPropOptimizer(0.01, centered=True),
    "ftrl": lambda: v1.train.FtrlOptimizer(0.1),
}


class TestPrograms(unittest.TestCase):
    """Whole programs, without a pin and with soft placement off."""

    def train(self, make_optimizer, device):
        with tf.Graph().as_default(), tf.device(device):
            x = tf.constant(values("x", (16, 4)), tf.float32)
            table = v1.get_variable("table", initializer=tf.constant(values("table", (6, 4)), tf.float32), use_resource=False)
            w = v1.get_variable("w", initializer=tf.constant(values("w", (4, 1)), tf.float32), use_resource=False)
            step = v1.Variable(0, trainable=False, use_resource=False, dtype=tf.int64)
            rows = tf.nn.embedding_lookup(table, [0, 3, 3, 5])
            loss = tf.reduce_sum((x @ w) ** 2) + tf.reduce_sum(rows ** 2)
            train = make_optimizer().minimize(loss, global_step=step)
            with v1.Session() as session:
                session.run(v1.global_variables_initializer())
                options, data = v1.RunOptions(output_partition_graphs=True), v1.RunMetadata()
                for _ in range(5):
                    session.run(train, options=options, run_metadata=data)
                places = {node.device[-5:] for graph in data.partition_graphs for node in graph.node if node.op.startswith(
                    ("VariableV2", "Apply", "SparseApply"))}
                return session.run([w, table, step]), places

    def test_unpinned_optimizers_train_on_the_gpu_as_on_the_cpu(self):
        for name, make in OPTIMIZERS.items():
            with self.subTest(optimizer=name):
                wanted, _ = self.train(make, CPU)
                got, places = self.train(make, None)
                self.assertEqual(places, {"GPU:0"})
                for w, g in zip(wanted, got):
                    np.testing.assert_allclose(g, w, rtol=2e-4, atol=2e-5)

    def test_save_and_restore(self):
        with tf.Graph().as_default(), tf.device(GPU), v1.Session(config=v1.ConfigProto(allow_soft_placement=True)) as session:
            v = v1.Variable([1.0, 2.0], use_resource=False)
            saver = v1.train.Saver()
            session.run(v.initializer)
            path = saver.save(session, os.path.join(self.enterContext(__import__("tempfile").TemporaryDirectory()), "model"))
            session.run(v1.assign(v, [5.0, 5.0]))
            saver.restore(session, path)
            np.testing.assert_array_equal(session.run(v), [1, 2])


class TestWithoutFile(unittest.TestCase):
    def test_variables_stay_on_the_cpu(self):
        expect_done(self, """
import os
os.environ["GANTRY_TF_VARIABLES"] = "none"
import tensorflow as tf
assert tf.config.list_physical_devices("GPU")
v1 = tf.compat.v1
with tf.Graph().as_default(), v1.Session() as session:
    v = v1.Variable(1.0, use_resource=False)
    step = v1.train.AdamOptimizer(0.1).minimize((v - 2.0) ** 2)
    session.run(v1.global_variables_initializer())
    session.run(step)
    assert abs(session.run(v) - 1.1) < 1e-3
print("done")
""")


if __name__ == "__main__":
    unittest.main()
