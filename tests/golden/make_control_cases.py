#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes keras/control.json: TensorFlow's gradients of branches and loops in a function.

Needs Keras 3.15 and TensorFlow 2.21 (README.md beside this file). Run: python3 make_control_cases.py
Each program here has its twin in tests/unit/train/test_control_gradients.c, by name.
"""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import make_train_cases as cases
import numpy as np
import tensorflow as tf

PROGRAMS = {}


def program(f):
    """A function of tensors x, a, b and variables w, u."""
    PROGRAMS[f.__name__] = f
    return f


def total(x):
    return tf.reduce_sum(x)


@program
def branch_of_inputs(x, a, b, w, u):
    return total(tf.cond(total(x) > 0, lambda: x * a, lambda: tf.sin(x)))


@program
def branch_not_taken(x, a, b, w, u):
    return total(tf.cond(total(x) < 0, lambda: x * a, lambda: tf.sin(x) * w))


@program
def branch_of_captured(x, a, b, w, u):
    return total(tf.cond(total(x) > 0, lambda: x * w * w, lambda: a * a) * a)


@program
def branch_hands_out_captured(x, a, b, w, u):
    return total(tf.cond(total(a) > 0, lambda: x, lambda: tf.identity(w)) * x)


@program
def branch_with_two_outputs(x, a, b, w, u):
    first, second = tf.cond(total(x) > 0, lambda: (x * a, x + w), lambda: (a, x * b))
    return total(first * first * second)


@program
def branch_of_unused_output(x, a, b, w, u):
    first, _ = tf.cond(total(x) > 0, lambda: (x * x, a * w), lambda: (x, a))
    return total(first)


@program
def case_of_three(x, a, b, w, u):
    return total(tf.switch_case(tf.constant(1), [lambda: x * a, lambda: tf.tanh(x) * w, lambda: b * b]))


@program
def case_of_no_such_index(x, a, b, w, u):
    return total(tf.switch_case(tf.constant(7), [lambda: x * a, lambda: tf.tanh(x) * w, lambda: b * b * u]))


@program
def branch_in_branch(x, a, b, w, u):
    return total(tf.cond(total(x) > 0, lambda: tf.cond(total(a) > 100, lambda: x, lambda: x * a * w) * u, lambda: b))


def loop(condition, body, values):
    return tf.while_loop(condition, body, values)


@program
def loop_of_fixed_length(x, a, b, w, u):
    return total(loop(lambda i, h: i < 5, lambda i, h: (i + 1, tf.tanh(h * w + x)), (0, a))[1])


@program
def loop_longer_than_a_chunk(x, a, b, w, u):
    return total(loop(lambda i, h: i < 37, lambda i, h: (i + 1, tf.sin(h * w) + 0.1 * x), (0, a))[1])


@program
def loop_until_value(x, a, b, w, u):
    return total(loop(lambda h: total(h * h) < 1000, lambda h: [h * 1.5 + w * a], [x])[0] * u)


@program
def loop_without_steps(x, a, b, w, u):
    return total(loop(lambda i, h: i < 0, lambda i, h: (i + 1, h * w * a), (0, x))[1] * x)


@program
def loop_of_two_variables(x, a, b, w, u):
    def body(i, g, h, constant):
        return i + 1, g * h, h + w * constant, constant
    _, g, h, _ = loop(lambda i, g, h, constant: i < 4, body, (0, x, a, b))
    return total(g)


@program
def loop_uses_only_in_condition(x, a, b, w, u):
    return total(loop(lambda h: total(h * h) < 50 * total(u * u), lambda h: [h * x * 2.0], [a])[0])


@program
def loop_overwrites(x, a, b, w, u):
    return total(loop(lambda i, h: i < 3, lambda i, h: (i + 1, x * w), (0, a))[1])


@program
def loop_swaps(x, a, b, w, u):
    return total(loop(lambda i, g, h: i < 3, lambda i, g, h: (i + 1, h, g * w), (0, x, a))[1] * b)


@program
def branch_in_loop(x, a, b, w, u):
    def body(i, h):
        return i + 1, tf.cond(i % 2 == 0, lambda: h * w, lambda: tf.sin(h) + a * x)
    return total(loop(lambda i, h: i < 6, body, (0, x))[1])


@program
def loop_in_branch(x, a, b, w, u):
    run = lambda: loop(lambda i, h: i < 4, lambda i, h: (i + 1, tf.tanh(h + w) * a), (0, x))[1]
    return total(tf.cond(total(x) > 0, run, lambda: x * b))


@program
def loop_in_loop(x, a, b, w, u):
    def body(i, h):
        return i + 1, loop(lambda j, g: j < 3, lambda j, g: (j + 1, tf.sin(g * w) + x), (0, h))[1] * u
    return total(loop(lambda i, h: i < 3, body, (0, a))[1])


@program
def recurrent(x, a, b, w, u):
    """x: [time, batch, features], a: the first state [batch, units], w: [features, units], u: [units, units]."""
    def body(t, h):
        return t + 1, tf.tanh(tf.matmul(tf.gather(x, t), w) + tf.matmul(h, u) + b)
    return total(loop(lambda t, h: t < 20, body, (0, a))[1])


def values_of(name):
    rng = cases.rng_for("control", name)
    shapes = [(20, 2, 3), (2, 4), (4,), (3, 4), (4, 4)] if name == "recurrent" else [(3,)] * 5
    return [rng.uniform(0.3, 1.2, shape) for shape in shapes]


def gradients(name, values):
    """y, its gradients, and those of the sum of their squares."""
    tensors = [tf.constant(v) for v in values[:3]]
    variables = [tf.Variable(v) for v in values[3:]]

    @tf.function
    def run(x, a, b):
        sources = [x, a, b, *variables]
        with tf.GradientTape() as outer:
            outer.watch([x, a, b])
            with tf.GradientTape() as inner:
                inner.watch([x, a, b])
                y = PROGRAMS[name](x, a, b, *variables)
            first = inner.gradient(y, sources)
            squares = tf.add_n([total(g * g) for g in first if g is not None])
        return y, first, outer.gradient(squares, sources)
    return run(*tensors)


def control():
    for name in PROGRAMS:
        values = values_of(name)
        y, first, second = gradients(name, values)
        numpy = lambda list_: [None if g is None else g.numpy() for g in list_]
        yield cases.case(name, "control", {}, values, [np.float64(y), *numpy(first), *numpy(second)])
        print(name, float(y), *("None" if g is None else "g" for g in first), "|",
              *("None" if g is None else "g" for g in second))


if __name__ == "__main__":
    cases.write("control", list(control()))
