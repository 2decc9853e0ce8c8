# SPDX-License-Identifier: Apache-2.0
"""Promise: Each op that updates or reads variables gives the CPU kernel's values; reads keep their elements.

Variables on Gantry's devices: every op that updates or reads them, compared with TensorFlow's own CPU kernel.

Run by a Python with TensorFlow and the plug-in, and one GPU of Gantry at least: python test_variables.py"""
import os
import subprocess
import sys
import threading
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tests/golden"))
import numpy as np
import tensorflow as tf
from child import LONGEST_SECONDS
from optimizer_steps import NUMBERS, STEPS
from tensorflow.python.framework import kernels

CPU, GPU = "/device:CPU:0", "/device:GPU:0"
F16, BF16, F32, F64 = tf.float16, tf.bfloat16, tf.float32, tf.float64
NEAR = {F16: 6e-3, BF16: 5e-2, F32: 3e-6, F64: 1e-12}
raw = tf.raw_ops

# The indices of a sparse step follow the gradient.
DENSE_ONLY = ("AdaMax", "Adam", "AdamWithAmsgrad", "AddSign", "GradientDescent", "PowerSign")
FEW_TYPES = {"AdaMax": (F32, F64, F16), "ProximalAdagrad": (F32, F64), "ProximalGradientDescent": (F32, F64)}
POSITIVE = ("accum", "accum_update", "v", "vhat", "ms")
# the difference of two powers, which TensorFlow computes as roots, is divided by lr
WIDE = {"Ftrl": 50, "FtrlV2": 50}


def values(word, shape, seed=0):
    """Numbers that a step may meet: sums of squares are positive."""
    made = np.random.RandomState(seed + sum(word.encode())).standard_normal(shape)
    return np.abs(made) + 3 if word == "ms" else np.abs(made) if word in POSITIVE else made


def run_on(device, op, states, others, attributes, dtype):
    """The op on variables of the device; returns their values."""
    with tf.device(device):
        variables = {word: tf.Variable(tf.cast(tf.constant(value), dtype)) for word, value in states.items()}
        inputs = {word: value if value.dtype.kind == "i" else tf.cast(tf.constant(value), dtype)
                  for word, value in others.items()}
        getattr(raw, op)(**{word: v.handle for word, v in variables.items()}, **inputs, **attributes)
        for v in variables.values():
            assert v.device.endswith(device), v.device
        return [v.numpy().astype(np.float64) for v in variables.values()]


class VariablesCase(unittest.TestCase):
    def check_same(self, op, states, others, attributes=None, dtype=F32, exact=False, scale=1):
        wanted = run_on(CPU, op, states, others, attributes or {}, dtype)
        got = run_on(GPU, op, states, others, attributes or {}, dtype)
        for word, w, g in zip(states, wanted, got):
            bound = 0 if exact else NEAR.get(dtype, 0) * scale
            np.testing.assert_allclose(g, w, rtol=bound, atol=bound, err_msg=f"{op} {dtype.name} {word} {attributes}")


class TestSteps(VariablesCase):
    def check_step(self, name, op, dtype, indices=None):
        states, others, form = STEPS[name]
        shape = (7, 5)
        given = {word: values(word, shape) for word in states.split()}
        rows = shape if indices is None else (len(indices), 5)
        inputs = {word: np.float64(NUMBERS[word]) if word in NUMBERS else values(word, rows) for word in others.split()}
        if indices is not None:
            if name == "ProximalGradientDescent":   # called so in the sparse step
                inputs["grad"] = inputs.pop("delta")
            inputs["indices"] = indices
        for variant in (False, True) if form else (None,):
            self.check_same(op, given, inputs, {} if variant is None else {form: variant}, dtype, scale=WIDE.get(name, 1))

    def test_dense_steps(self):
        for name in STEPS:
            for dtype in FEW_TYPES.get(name, (F32, F64, F16, BF16)):   # of TensorFlow's CPU
                with self.subTest(op=name, dtype=dtype.name):
                    self.check_step(name, "ResourceApply" + name, dtype)

    def test_sparse_steps(self):
        for name in STEPS:
            if name in DENSE_ONLY:
                continue
            for dtype in (F32, F64):
                for indices in (np.array([4, 0, 6], np.int32), np.array([2, 5, 2, 2, 5, 1], np.int64)):
                    with self.subTest(op=name, dtype=dtype.name, indices=indices.tolist()):
                        self.check_step(name, "ResourceSparseApply" + name, dtype, indices)

    def test_sparse_step_of_no_rows(self):
        self.check_step("Momentum", "ResourceSparseApplyMomentum", F32, np.array([], np.int32))

    def test_wrong_index(self):
        v, accum = (tf.Variable(tf.ones((3, 2))) for _ in range(2))
        with tf.device(GPU), self.assertRaisesRegex(tf.errors.InvalidArgumentError, "out of range"):
            raw.ResourceSparseApplyAdagrad(var=v.handle, accum=accum.handle, lr=1.0, grad=tf.ones((2, 2)), indices=[0, 3])
        np.testing.assert_array_equal(v.numpy(), np.ones((3, 2)))


class TestScatter(VariablesCase):
    def test_rows(self):
        for kind in ("Add", "Sub", "Mul", "Div", "Min", "Max", "Update"):
            for dtype in (F32, F64, F16, BF16, tf.int64, tf.uint8):
                for indices, shape in ((np.array([2, 0], np.int32), (2, 3)), (np.array([[1, 3], [0, 2]]), (2, 2, 3)),
                                       (np.array([1, 1, 1, 3], np.int32), (4, 3)), (np.array([1, 2], np.int32), ())):
                    if dtype == BF16 and kind in ("Add", "Sub") and len(shape) == 2 and shape[0] == 4:
                        continue    # sums of bfloat16 are rounded once here, and after each row there
                    with self.subTest(kind=kind, dtype=dtype.name, indices=indices.tolist()):
                        states = {"resource": np.arange(1, 13).reshape(4, 3) * 5.0}
                        updates = np.round(np.abs(values("updates", shape)) + 1)
                        self.check_same("ResourceScatter" + kind, states, {"indices": indices, "updates": updates}, None, dtype,
                                        exact=dtype not in NEAR or kind in ("Update", "Min", "Max"))

    def test_slices(self):
        for kind in ("Add", "Sub", "Min", "Max", "Update"):
            for dtype in (F32, F64, tf.int64):
                for indices, shape in ((np.array([[2], [0]], np.int32), (2, 3)), (np.array([[1, 2], [3, 0], [1, 2]]), (3,))):
                    with self.subTest(kind=kind, dtype=dtype.name, indices=indices.tolist()):
                        states = {"ref": np.arange(12).reshape(4, 3) * 1.0}
                        updates = np.round(values("updates", shape) * 4)
                        self.check_same("ResourceScatterNd" + kind, states, {"indices": indices, "updates": updates}, None, dtype)

    def test_wrong_index(self):
        with tf.device(GPU):
            v = tf.Variable(tf.ones((3, 2)))
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, r"indices\[1\] = 3 is not in \[0, 3\)"):
                raw.ResourceScatterMul(resource=v.handle, indices=[0, 3], updates=tf.ones((2, 2)))
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "updates.shape"):
                raw.ResourceScatterAdd(resource=v.handle, indices=[0, 1], updates=tf.ones((1, 2)))
            np.testing.assert_array_equal(v.numpy(), np.ones((3, 2)))


class TestAssign(VariablesCase):
    def test_every_type_that_tensorflow_assigns(self):
        for dtype in (F16, BF16, F32, F64, tf.int8, tf.int16, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64, tf.complex64,
                      tf.complex128):
            for op in ("AssignAddVariableOp", "AssignSubVariableOp"):
                with self.subTest(op=op, dtype=dtype.name):
                    results = []
                    for device in (CPU, GPU):
                        with tf.device(device):
                            v = tf.Variable(tf.cast([[5, 6], [7, 8]], dtype))
                            getattr(raw, op)(resource=v.handle, value=tf.cast([[1, 2], [3, 4]], dtype))
                            results.append(v.numpy())
                    np.testing.assert_array_equal(results[1], results[0])

    def test_no_kernel_of_tensorflow_reads_an_address(self):
        for op in ("AssignAddVariableOp", "AssignSubVariableOp"):
            types = {"DEFAULT": set(), "GPU": set()}
            for kernel in kernels.get_registered_kernels_for_op(op).kernel:
                if kernel.device_type in types:
                    types[kernel.device_type].update(t for c in kernel.constraint for t in c.allowed_values.list.type)
            self.assertTrue(types["DEFAULT"])
            self.assertEqual(types["DEFAULT"] - types["GPU"], set(), op)

    def test_shapes_that_differ(self):
        with tf.device(GPU):
            v = tf.Variable([1.0, 2.0])
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError,
                                        r"Cannot update variable with shape \[2\] using a Tensor with shape \[1\]"):
                raw.AssignAddVariableOp(resource=v.handle, value=tf.constant([1.0]))
            np.testing.assert_array_equal(v.numpy(), [1, 2])

    def test_scalars_and_empty_variables(self):
        with tf.device(GPU):
            v, empty = tf.Variable(2.0), tf.Variable(tf.zeros((0, 3)))
            v.assign_add(1.5)
            empty.assign_add(tf.zeros((0, 3)))
            self.assertEqual(v.numpy(), 3.5)
            self.assertEqual(empty.numpy().shape, (0, 3))

    def test_assign_of_another_shape(self):
        with tf.device(GPU):
            v = tf.Variable([1.0, 2.0], shape=tf.TensorShape(None))
            v.assign([[1.0, 2.0, 3.0]])
            v.assign_add([[1.0, 1.0, 1.0]])
            np.testing.assert_array_equal(v.numpy(), [[2, 3, 4]])

    def test_variable_that_does_not_exist(self):
        with tf.device(GPU):
            handle = raw.VarHandleOp(dtype=F32, shape=[2], shared_name="nobody made it")
            # TensorFlow's functions, which 2.18 exports, tell Internal
            with self.assertRaises((tf.errors.NotFoundError, tf.errors.FailedPreconditionError, tf.errors.InternalError)):
                raw.AssignAddVariableOp(resource=handle, value=tf.constant([1.0, 2.0]))


class TestAliases(VariablesCase):
    """A tensor that was read keeps its elements, whoever updates the variable."""

    def updates(self):
        def grad(v):
            return tf.ones_like(v)
        yield "AssignAdd", lambda v: v.assign_add(grad(v))
        yield "AssignSub", lambda v: v.assign_sub(grad(v))
        yield "Descent", lambda v: raw.ResourceApplyGradientDescent(var=v.handle, alpha=1.0, delta=grad(v))
        yield "Scatter", lambda v: raw.ResourceScatterAdd(resource=v.handle, indices=[0], updates=tf.ones((1, 300)))
        yield "ScatterMul", lambda v: raw.ResourceScatterMul(resource=v.handle, indices=[0], updates=3.0)
        yield "Sparse", lambda v: raw.ResourceSparseApplyAdagrad(
            var=v.handle, accum=tf.Variable(tf.ones((3, 300))).handle, lr=1.0, grad=tf.ones((1, 300)), indices=[0])

    def test_reads_that_live(self):
        with tf.device(GPU):
            for name, update in self.updates():
                with self.subTest(update=name):
                    v = tf.Variable(tf.fill((3, 300), 2.0))
                    for _ in range(3):
                        before = v.read_value()
                        copy = before.numpy()
                        identity = tf.identity(before)
                        update(v)
                        np.testing.assert_array_equal(before.numpy(), copy)
                        np.testing.assert_array_equal(identity.numpy(), copy)
                        self.assertTrue((v.numpy()[0] != copy[0]).all())

    def test_initial_value_stays(self):
        with tf.device(GPU):
            initial = tf.fill((1000,), 1.0)
            first, second = tf.Variable(initial), tf.Variable(initial)
            first.assign_add(initial)
            first.assign(second)
            first.assign_sub(initial)
            np.testing.assert_array_equal(initial.numpy(), np.ones(1000))
            np.testing.assert_array_equal(second.numpy(), np.ones(1000))
            np.testing.assert_array_equal(first.numpy(), np.zeros(1000))

    def test_value_that_is_the_variable(self):
        with tf.device(GPU):
            v = tf.Variable(tf.fill((1000,), 3.0))
            v.assign_add(v)
            np.testing.assert_array_equal(v.numpy(), np.full(1000, 6.0))

    def test_variable_given_twice(self):
        with tf.device(GPU):
            v, w = tf.Variable([1.0, 2.0]), tf.Variable([1.0, 2.0])
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "given to the op twice"):
                raw.ResourceApplyAdadelta(var=v.handle, accum=v.handle, accum_update=w.handle, lr=1.0, rho=1.0, epsilon=1.0,
                                          grad=[1.0, 1.0])
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "given to the op twice"):
                raw.ResourceApplyAdagrad(var=v.handle, accum=v.handle, lr=1.0, grad=[1.0, 1.0])
            np.testing.assert_array_equal(v.numpy(), [1, 2])


class TestReads(VariablesCase):
    def test_rows(self):
        for dtype in (F32, F64, F16, BF16, tf.int64, tf.uint8, tf.bool, tf.complex64):
            for indices in (np.array([1, 0, 1], np.int32), np.array([[3], [2]], np.int64), np.int32(2)):
                with self.subTest(dtype=dtype.name, indices=indices.tolist()):
                    results = []
                    for device in (CPU, GPU):
                        with tf.device(device):
                            v = tf.Variable((np.arange(12).reshape(4, 3) % 5).astype(dtype.as_numpy_dtype))
                            results += [raw.ResourceGather(resource=v.handle, indices=indices, dtype=dtype).numpy()]
                    np.testing.assert_array_equal(results[1], results[0])

    def test_batches_and_slices(self):
        results = []
        for device in (CPU, GPU):
            with tf.device(device):
                v = tf.Variable(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
                results.append([
                    raw.ResourceGather(resource=v.handle, indices=[[2, 0], [1, 1]], dtype=F32, batch_dims=1).numpy(),
                    raw.ResourceGatherNd(resource=v.handle, indices=[[1, 2], [0, 0]], dtype=F32).numpy(),
                    tf.gather(v, [1]).numpy(), tf.gather_nd(v, [[1, 2, 3]]).numpy(), v.sparse_read([1]).numpy(),
                    tf.nn.embedding_lookup(v, [1, 0]).numpy()])
        for wanted, got in zip(*results):
            np.testing.assert_array_equal(got, wanted)

    def test_wrong_index(self):
        with tf.device(GPU):
            v = tf.Variable(tf.ones((3, 2)))
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, r"is not in \[0, 3\)"):
                raw.ResourceGather(resource=v.handle, indices=[3], dtype=F32).numpy()


SLICES = {   # of a variable of shape (5, 4, 3)
    "row": lambda v, x: v[2].assign(x((4, 3))),
    "rows": lambda v, x: v[1:4].assign(x((3, 4, 3))),
    "strides": lambda v, x: v[4:0:-2, ::3].assign(x((2, 2, 3))),
    "element": lambda v, x: v[-1, 3, 0].assign(x(())),
    "column": lambda v, x: v[..., 1].assign(x((5, 4))),
    "new axis": lambda v, x: v[:, tf.newaxis, 2:3, 1:].assign(x((5, 1, 1, 2))),
    "all": lambda v, x: v[:].assign(x((5, 4, 3))),
    "nothing": lambda v, x: v[3:3].assign(x((0, 4, 3))),
    "spread": lambda v, x: v[1, ::2].assign(x((1, 1, 3))),
    "number": lambda v, x: v[1:3].assign(x(())),
    "beyond": lambda v, x: v[3:99, -9:2].assign(x((2, 2, 3))),
}


class TestSlices(VariablesCase):
    def test_slices(self):
        for name, assign in SLICES.items():
            for dtype in (F32, F16, tf.int64, tf.bool):
                with self.subTest(slice=name, dtype=dtype.name):
                    results = []
                    for device in (CPU, GPU):
                        with tf.device(device):
                            v = tf.Variable(np.zeros((5, 4, 3), dtype.as_numpy_dtype))
                            before = v.read_value()
                            assign(v, lambda shape: np.asarray(values("x", shape) > 0).astype(dtype.as_numpy_dtype))
                            results.append(v.numpy())
                            self.assertFalse(before.numpy().any())
                    np.testing.assert_array_equal(results[1], results[0])

    def test_scalar(self):
        with tf.device(GPU):
            v = tf.Variable(1.0)
            v[...].assign(2.5)
            self.assertEqual(v.numpy(), 2.5)

    def test_refused(self):
        with tf.device(GPU):
            v = tf.Variable(tf.zeros((3, 2)))
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "slice index 3 of dimension 0 out of bounds"):
                v[3].assign([1.0, 2.0])
            for device in (CPU, GPU):
                with tf.device(device), self.assertRaisesRegex(tf.errors.InvalidArgumentError,
                                                               r"Cannot broadcast input shape \[2,2\] into final shape \[2\]"):
                    tf.Variable(tf.zeros((3, 2)))[0].assign([[1.0, 1.0], [2.0, 2.0]])
            np.testing.assert_array_equal(v.numpy(), np.zeros((3, 2)))


class TestThreads(VariablesCase):
    def test_all_updates_count(self):
        with tf.device(GPU):
            v, table = tf.Variable(tf.zeros(100)), tf.Variable(tf.zeros((4, 100)))
            m, w = tf.Variable(tf.zeros(100)), tf.Variable(tf.zeros(100))

        def work():
            with tf.device(GPU):
                one, row = tf.ones(100), tf.ones((1, 100))
                for _ in range(50):
                    v.assign_add(one)
                    raw.ResourceScatterAdd(resource=table.handle, indices=[2], updates=row)
                    # two variables, in both orders
                    raw.ResourceApplyMomentum(var=v.handle, accum=m.handle, lr=0.0, grad=one, momentum=1.0)
                    raw.ResourceApplyMomentum(var=m.handle, accum=w.handle, lr=0.0, grad=one, momentum=1.0)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for variable in (v, m, w, table[2]):
            np.testing.assert_array_equal(np.array(variable), np.full(100, 200.0))

    def test_readers_see_whole_values(self):
        with tf.device(GPU):
            v = tf.Variable(tf.zeros(5000))
            one, seen = tf.ones(5000), []

            def read():
                with tf.device(GPU):
                    for _ in range(60):
                        value = v.read_value().numpy()
                        seen.append(value.min() == value.max())

            thread = threading.Thread(target=read)
            thread.start()
            for _ in range(60):
                v.assign_add(one)
            thread.join()
        self.assertEqual(seen, [True] * 60)


class TestPrograms(VariablesCase):
    def test_variable_calls(self):
        def program(device):
            with tf.device(device):
                v = tf.Variable(np.arange(12, dtype=np.float32).reshape(4, 3))
                slices = tf.IndexedSlices(tf.constant([[1.0, 2, 3], [4, 5, 6]]), tf.constant([2, 0]))
                for call in (v.scatter_add, v.scatter_sub, v.scatter_mul, v.scatter_div, v.scatter_min, v.scatter_max,
                             v.scatter_update):
                    call(slices)
                v.scatter_nd_add([[1]], [[1.0, 1, 1]])
                v.scatter_nd_sub([[1]], [[2.0, 2, 2]])
                v.scatter_nd_update([[3]], [[7.0, 7, 7]])
                v.assign_add(v * 2)
                return [v.numpy(), tf.shape(v).numpy(), tf.size(v).numpy(), (v + 1).numpy(), v[1:3].numpy()]

        for got, wanted in zip(program(GPU), program(CPU)):
            np.testing.assert_array_equal(got, wanted)

    def test_function_keeps_program_order(self):
        with tf.device(GPU):
            v = tf.Variable([1.0, 2.0])

            @tf.function
            def step(x):
                before = v.read_value()
                v.assign_add(x)
                middle = v.read_value()
                v.assign_sub(2 * x)
                return before, middle, v.read_value()

            before, middle, after = step(tf.constant([1.0, 1.0]))
        np.testing.assert_array_equal([before, middle, after], [[1, 2], [2, 3], [0, 1]])

    def train(self, device, optimizer, sparse):
        tf.keras.utils.set_random_seed(1)
        with tf.device(device):
            table = tf.Variable(values("table", (6, 4)).astype(np.float32), name="table")
            bias = tf.Variable(values("bias", (4,)).astype(np.float32), name="bias")
            opt = optimizer()
            for step in range(4):
                with tf.GradientTape() as tape:
                    rows = tf.nn.embedding_lookup(table, [1, 3, 1, step]) if sparse else tf.matmul(tf.ones((2, 6)), table)
                    loss = tf.reduce_mean(tf.square(rows + bias - 0.5))
                opt.apply_gradients(zip(tape.gradient(loss, [table, bias]), [table, bias]))
            return table.numpy(), bias.numpy()

    def check_optimizer(self, optimizer):
        for sparse in (False, True):
            with self.subTest(optimizer=str(optimizer), sparse=sparse):
                for got, wanted in zip(self.train(GPU, optimizer, sparse), self.train(CPU, optimizer, sparse)):
                    np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-6)

    def test_keras_optimizers(self):
        keras = tf.keras.optimizers
        for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl", "Lion"):
            self.check_optimizer(getattr(keras, name))
        self.check_optimizer(lambda: keras.SGD(0.1, momentum=0.9, nesterov=True))
        self.check_optimizer(lambda: keras.Adam(0.1, amsgrad=True))
        self.check_optimizer(lambda: keras.RMSprop(0.1, centered=True, momentum=0.5))

    def test_optimizers_of_version_1(self):
        v1 = tf.compat.v1.train
        for optimizer in (lambda: v1.GradientDescentOptimizer(0.1), lambda: v1.MomentumOptimizer(0.1, 0.9),
                          lambda: v1.MomentumOptimizer(0.1, 0.9, use_nesterov=True), lambda: v1.AdamOptimizer(0.1),
                          lambda: v1.AdagradOptimizer(0.1), lambda: v1.AdadeltaOptimizer(0.1),
                          lambda: v1.RMSPropOptimizer(0.1), lambda: v1.RMSPropOptimizer(0.1, centered=True),
                          lambda: v1.FtrlOptimizer(0.1), lambda: v1.ProximalAdagradOptimizer(0.1),
                          lambda: v1.ProximalGradientDescentOptimizer(0.1, l1_regularization_strength=0.1)):
            self.check_optimizer(optimizer)


IN_PLACE = """
import tensorflow as tf
with tf.device('GPU:0'):
    v = tf.Variable(tf.zeros((4096, 4096)))                 # 64 MiB of 100
    for _ in range(3):
        v.scatter_nd_add([[1]], tf.ones((1, 4096)))
        tf.raw_ops.ResourceScatterMul(resource=v.handle, indices=[1], updates=2.0)
    print(v[1, 0].numpy())
    row = tf.gather(tf.ones((2, 4096)), [0])                # the device checks the index
    row.numpy()                                             # and found it good
    v.scatter_nd_add([[2]], row)
    value = v.read_value()
    try:
        v.scatter_nd_add([[1]], tf.ones((1, 4096)))
        print('copied')
    except tf.errors.ResourceExhaustedError:
        print('no memory for a copy')
"""


class TestProcesses(unittest.TestCase):
    def run_program(self, program, **environment):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=LONGEST_SECONDS,
                              env=dict(os.environ, **environment))
        return done.stdout, done.stderr

    def test_update_needs_no_second_table(self):
        out, err = self.run_program(IN_PLACE, GANTRY_MEMORY_LIMIT="100M")
        self.assertEqual(out.splitlines()[-2:], ["14.0", "no memory for a copy"], err[-2000:])

    def test_missing_functions_are_told(self):
        if tf.version.VERSION.startswith("2.18."):
            self.skipTest("this TensorFlow exports the functions")
        out, _ = self.run_program("""
import tensorflow as tf
with tf.device('GPU:0'):
    v = tf.Variable([1.0, 2.0])
    v.assign([3.0, 4.0])
    print(v.numpy(), (v * 2).numpy())
    try:
        v.assign_add([1.0, 1.0])
    except tf.errors.FailedPreconditionError as error:
        print(error)
""", GANTRY_TF_VARIABLES="none")
        self.assertIn("[3. 4.] [6. 8.]", out)
        self.assertIn(f"TensorFlow {tf.version.VERSION} does not export", out)
        self.assertIn("python -m gantry_tensorflow build-variables", out)


def main():
    if not tf.config.list_physical_devices("GPU"):
        print("test_variables: TensorFlow lists no GPU; the plug-in is not loaded, or Gantry finds no device")
        return 77
    return 0 if unittest.main(exit=False, verbosity=1).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
