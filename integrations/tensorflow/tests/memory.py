# SPDX-License-Identifier: Apache-2.0
"""Promise: In long runs neither the process nor the device memory that its tensors take grows.

Long runs on Gantry's devices: the process does not grow, nor does what its tensors take of a device's limit.

TensorFlow's get_memory_info counts nothing for devices of plug-ins. PoCL's devices have the host's memory, so that the
process would grow by what they lose; and the limit is so small that a leak of tensors would meet it.
"""

import gc
import os
import sys

import numpy as np

import harness

STEPS = {"quick": 300, "full": 2000, "nightly": 10000}

LIMIT = 64 << 20
if "GANTRY_LOGICAL_DEVICES" in os.environ:  # one card serves as two GPUs
    os.environ["GANTRY_LOGICAL_DEVICES"] = f"GPU:0={LIMIT},{LIMIT}"
else:
    os.environ["GANTRY_MEMORY_LIMIT"] = str(LIMIT)

program = harness.Program()


def resident_kilobytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def steady(record, tf, step, name, allowed_kilobytes=6000):
    """A tenth of the steps warms up; the rest must not grow."""
    steps = STEPS[record.size]
    for _ in range(max(steps // 10, 100)):
        step()
    gc.collect()
    resident = resident_kilobytes()
    for _ in range(steps):
        step()
    gc.collect()
    growth = resident_kilobytes() - resident
    record.note(f"{name}: {steps} steps, {growth:+} KB resident")
    record.check(growth < allowed_kilobytes, f"{name}: the process grew by {growth} KB in {steps} steps")


@program.case(size="quick", gantry_only=True)
def eager_steps(record):
    import tensorflow as tf

    a = tf.constant(np.random.RandomState(0).rand(64, 64).astype(np.float32))

    def step():
        return float(tf.reduce_sum(tf.nn.relu(tf.matmul(a, a)) - a[:, :1]))

    steady(record, tf, step, "eager")


@program.case(gantry_only=True)
def function_steps(record):
    import tensorflow as tf

    v = tf.Variable(tf.ones((32, 32)))

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.tanh(tf.matmul(v, v) * 0.01))
        v.assign_sub(0.01 * tape.gradient(loss, v))
        return loss

    steady(record, tf, lambda: float(step()), "tf.function")


@program.case(gantry_only=True)
def training_steps(record):
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(4)])
    model.compile("adam", "mse")
    x, y = np.ones((32, 8), np.float32), np.ones((32, 4), np.float32)
    steady(record, tf, lambda: model.train_on_batch(x, y), "train_on_batch")


@program.case(size="quick", gantry_only=True)
def copies_between_devices(record):
    import tensorflow as tf

    host = np.arange(4096, dtype=np.float32)

    def step():
        with tf.device("GPU:0"):
            a = tf.constant(host) + 1
        with tf.device("GPU:1"):
            b = a * 2
        return b.numpy()[5]

    record.check(step() == 12, "the copy is right")
    steady(record, tf, step, "copies")


@program.case(gantry_only=True)
def errors_leak_nothing(record):
    import tensorflow as tf

    a, b = tf.ones((64, 3)), tf.ones((64, 5))

    def step():
        try:
            tf.raw_ops.MatMul(a=a, b=b)
        except tf.errors.InvalidArgumentError:
            return
        record.check(False, "no error")

    # TensorFlow's CPU loses 0.65 KB with each such error, too
    steady(record, tf, step, "errors", 6000 + STEPS[record.size])


@program.case(size="quick", gantry_only=True)
def limit_holds(record):
    """LIMIT is the environment's: a second large tensor does not fit together with the first, and fits after it."""
    import tensorflow as tf

    half = LIMIT * 5 // 8 // 4
    kept = tf.fill((half,), 1.0)
    try:
        tf.fill((half,), 2.0)
        record.check(False, "two tensors of 5/8 of the limit fitted")
    except tf.errors.ResourceExhaustedError as error:
        record.check("OOM when allocating tensor" in str(error) and str(LIMIT) in str(error), str(error)[:800])
    with tf.device("GPU:1"):  # has a limit of its own
        record.check(float(tf.reduce_max(tf.fill((half,), 3.0))) == 3, "the other device's memory")
    record.check(float(kept[half - 1]) == 1, "the first tensor after the error")
    del kept
    gc.collect()
    for i in range(40):  # two and a half times the limit in turn
        record.check(float(tf.fill((half,), float(i))[0]) == i, f"tensor {i} after the first was freed")


if __name__ == "__main__":
    sys.exit(program.main())
