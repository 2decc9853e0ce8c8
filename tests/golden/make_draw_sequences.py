#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/conformance/draw_sequences.inc: sequences of random draws from TensorFlow's eager mode on the CPU.

Each step is a C expression of Gantry's (s: the scope, g: the generator) beside the same draw in TensorFlow. Run:
make_draw_sequences.py. Values are written as tensors of golden files (README.md).
"""
import os

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

import golden_form

HERE = os.path.dirname(os.path.abspath(__file__))
ULP = 4
F16, BF16, F32, F64 = tf.float16, tf.bfloat16, tf.float32, tf.float64
I32, I64, U32, U64 = tf.int32, tf.int64, tf.uint32, tf.uint64
LOGITS = np.array([[0.5, -1.0, 2.0, 0.0], [3.0, -np.inf, 1.0, 2.5]], np.float32)
ROWS = np.arange(12, dtype=np.int32).reshape(6, 2)
g = None


def enum(dtype):
    return "GANTRY_" + dtype.name.upper()


def shape(*dims):
    return "GANTRY_SHAPE(" + ", ".join(map(str, dims)) + ")" if dims else "GANTRY_SCALAR"


def of_generator(name, dims, dtype, draw):
    return f"gantry_generator_{name}(s, g, {shape(*dims)}, {enum(dtype)})", lambda: draw(dims, dtype=dtype)


def with_state(name, dims, dtype, draw, seed=None):
    text = "NULL" if seed is None else f"&(int64_t){{{seed}}}"
    return f"gantry_{name}(s, {shape(*dims)}, {enum(dtype)}, {text})", lambda: draw(dims, dtype=dtype, seed=seed)


# float32 and float64 with two roundings that a fused multiply-add would not have; a range that overflows; bounds of 0; one value
BOUNDS = [(-0.1, 0.3), (-3.0, 7.0), (0.0, -2.5), (1.5, 1.5)]


def constant(value, dtype):
    value = np.asarray(value, np.float64)
    numbers = ", ".join(repr(float(x)) for x in value.flat)
    return f"BOUND(s, {enum(dtype)}, {shape(*value.shape)}, {numbers})"


def ranges(call, dims, draw, bounds=BOUNDS, last=""):
    """Draws of every float type, for each pair of bounds. call: the C call up to the shape."""
    for dtype in (F16, BF16, F32, F64):
        for low, high in bounds:
            yield (f"{call}, {shape(*dims)}, {constant(low, dtype)}, {constant(high, dtype)}{last})",
                   lambda low=low, high=high, dtype=dtype: draw(dims, tf.constant(low, dtype), tf.constant(high, dtype), dtype))


def broadcast_range(call, draw, last=""):
    yield from ranges(call, (2, 3), draw, [([[-1.0], [10.0]], [0.3, 4.0, 20.0])], last)


def state():
    return "gantry_generator_read_state(s, g)", lambda: g.state.read_value()


def generator_steps():
    yield of_generator("uniform", (5,), F32, g.uniform)
    yield of_generator("normal", (2, 3), F32, g.normal)
    yield state()
    yield of_generator("uniform", (3,), F64, g.uniform)
    yield of_generator("uniform", (), F16, g.uniform)
    yield of_generator("normal", (3,), BF16, g.normal)
    yield of_generator("truncated_normal", (9,), F32, g.truncated_normal)
    yield of_generator("truncated_normal", (3,), F64, g.truncated_normal)
    yield of_generator("normal", (0, 3), F32, g.normal)
    yield of_generator("uniform_full_int", (3,), U64, g.uniform_full_int)
    yield of_generator("uniform_full_int", (5,), I32, g.uniform_full_int)
    yield ("gantry_generator_uniform_int(s, g, GANTRY_SHAPE(7), gantry_scalar_i32(s, -5), gantry_scalar_i32(s, 100))",
           lambda: g.uniform((7,), -5, 100, dtype=I32))
    yield ("gantry_generator_uniform_int(s, g, GANTRY_SHAPE(2, 2), gantry_scalar_i64(s, 0), gantry_scalar_i64(s, 10))",
           lambda: g.uniform((2, 2), 0, 10, dtype=I64))
    yield from ranges("gantry_generator_uniform_range(s, g", (5,), g.uniform)
    yield from broadcast_range("gantry_generator_uniform_range(s, g", g.uniform)
    yield state()


def state_steps():
    uniform, normal, truncated = tf.random.uniform, tf.random.normal, tf.random.truncated_normal
    for seed in (None, 7, 7, None, -3):
        yield with_state("random_uniform", (3,), F32, uniform, seed)
    for seed in (None, 7, 7):
        yield with_state("random_uniform", (2,), F64, uniform, seed)
        yield with_state("random_standard_normal", (2, 2), F32, normal, seed)
        yield with_state("random_standard_normal", (3,), F16, normal, seed)
        yield with_state("truncated_normal", (5,), F32, truncated, seed)
        text = "NULL" if seed is None else f"&(int64_t){{{seed}}}"
        yield (f"gantry_random_uniform_int(s, GANTRY_SHAPE(5), gantry_scalar_i32(s, 0), gantry_scalar_i32(s, 9), {text})",
               lambda: uniform((5,), 0, 9, dtype=I32, seed=seed))
        yield (f"gantry_multinomial(s, LOGITS(s), 5, GANTRY_INT64, {text})",
               lambda: tf.random.categorical(LOGITS, 5, seed=seed))
        yield f"gantry_random_shuffle(s, ROWS(s), {text})", lambda: tf.random.shuffle(ROWS, seed=seed)
        def draw(dims, low, high, dtype, seed=seed):
            return uniform(dims, low, high, dtype, seed)
        yield from ranges("gantry_random_uniform_range(s", (3,), draw, BOUNDS[:2], f", {text}")
        yield with_state("random_uniform", (3,), F32, uniform, seed)


def by_seed_steps():
    yield ("gantry_stateless_shuffle(s, ROWS(s), 3, -4)",
           lambda: tf.random.experimental.stateless_shuffle(ROWS, seed=np.array([3, -4])))
    yield ("gantry_stateless_multinomial(s, LOGITS(s), 7, GANTRY_INT32, 1, 2)",
           lambda: tf.random.stateless_categorical(LOGITS, 7, seed=[1, 2], dtype=I32))
    yield ("gantry_stateless_random_uniform_int(s, GANTRY_SHAPE(5), gantry_scalar_i32(s, 1), gantry_scalar_i32(s, 7), 1, 2)",
           lambda: tf.random.stateless_uniform((5,), [1, 2], 1, 7, I32))
    yield ("gantry_stateless_random_uniform_full_int(s, GANTRY_SHAPE(3), GANTRY_INT64, 1, 2)",
           lambda: tf.random.stateless_uniform((3,), [1, 2], None, None, I64))
    yield ("gantry_stateless_random_normal(s, GANTRY_SHAPE(3), GANTRY_FLOAT64, 1, 2)",
           lambda: tf.random.stateless_normal((3,), [1, 2], dtype=F64))
    yield ("gantry_stateless_random_uniform(s, GANTRY_SHAPE(3), GANTRY_BFLOAT16, 1, 2)",
           lambda: tf.random.stateless_uniform((3,), [1, 2], dtype=BF16))
    def draw(dims, low, high, dtype):
        return tf.random.stateless_uniform(dims, [1, 2], low, high, dtype)
    yield from ranges("gantry_stateless_random_uniform_range(s", (5,), draw, last=", 1, 2")
    yield from broadcast_range("gantry_stateless_random_uniform_range(s", draw, ", 1, 2")
    yield ("gantry_stateless_truncated_normal(s, GANTRY_SHAPE(5), GANTRY_FLOAT32, 1, 2)",
           lambda: tf.random.stateless_truncated_normal((5,), [1, 2]))


def write(out, steps):
    for text, draw in steps:
        near = ULP if "normal" in text else 0
        out.write(f'DRAW({text},\n     {near}, "{golden_form.array_text(draw().numpy())}")\n')


def main():
    global g
    with open(os.path.join(HERE, "..", "conformance", "draw_sequences.inc"), "w", encoding="ascii") as out:
        out.write("/* SPDX-License-Identifier: Apache-2.0 */\n")
        out.write("/* Made by tests/golden/make_draw_sequences.py with TensorFlow " + tf.__version__ + ". */\n")
        for seed in (1234, -9):
            out.write(f"GENERATOR({seed})\n")
            g = tf.random.Generator.from_seed(seed)
            write(out, generator_steps())
        for seed in (1234, 0, -5):
            out.write(f"SET_SEED({seed})\n")
            tf.random.set_seed(seed)
            write(out, state_steps())
        write(out, by_seed_steps())


if __name__ == "__main__":
    main()
