# SPDX-License-Identifier: Apache-2.0
"""Long runs on Gantry's devices: neither the process nor the devices' memory grows, and nothing is left at the end."""

import gc
import sys

import numpy as np

import harness

STEPS = {"quick": 300, "full": 2000, "nightly": 10000}

program = harness.Program()


def resident_kilobytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def device_bytes(tf, index=0):
    return tf.config.experimental.get_memory_info(f"GPU:{index}")["current"]


def steady(record, tf, step, name, allowed_kilobytes=6000):
    """A tenth of the steps warms up; the rest must not grow."""
    steps = STEPS[record.size]
    for _ in range(max(steps // 10, 100)):
        step()
    gc.collect()
    resident, held = resident_kilobytes(), device_bytes(tf)
    for _ in range(steps):
        step()
    gc.collect()
    growth = resident_kilobytes() - resident
    record.note(f"{name}: {steps} steps, {growth:+} KB resident, {device_bytes(tf) - held:+} device bytes")
    record.check(growth < allowed_kilobytes, f"{name}: the process grew by {growth} KB in {steps} steps")
    record.check(device_bytes(tf) <= held, f"{name}: device memory grew from {held} to {device_bytes(tf)} bytes")


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

    steady(record, tf, step, "errors")


@program.case(gantry_only=True)
def reported_memory(record):
    """get_memory_info counts what lives, and its peak can be reset."""
    import tensorflow as tf

    before = device_bytes(tf)
    kept = tf.random.uniform((1 << 20,))  # 4 MiB
    sum_of = float(tf.reduce_sum(kept))
    info = tf.config.experimental.get_memory_info("GPU:0")
    record.check(info["current"] >= before + (4 << 20), f"{info} does not count 4 MiB")
    record.check(info["peak"] >= info["current"], f"{info}: the peak is below the present")
    del kept
    gc.collect()
    record.check(device_bytes(tf) < before + (4 << 20), f"{device_bytes(tf)} bytes after the tensor, {before} before")
    record.check(sum_of > 0, "the sum")


if __name__ == "__main__":
    sys.exit(program.main())
