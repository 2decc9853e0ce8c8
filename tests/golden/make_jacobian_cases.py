#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes TensorFlow's jacobians in float64 for test_jacobian.c:
make_jacobian_cases.py > tests/unit/support/train_jacobian_cases.inc

Needs TensorFlow 2.21. y = tanh(x w) + x_00 with x [3, 2] and w [2, 4]; a row has its jacobian of x, of w, the second
order of sum(y^2) of x, and the batch jacobian of tanh(x w) of x.
"""
import make_layer_cases as cases  # first: it sets the environment

import numpy as np
import tensorflow as tf

X = ((np.arange(6) * 7 % 11 - 5) / 8).reshape(3, 2)
W = ((np.arange(8) * 5 % 13 - 6) / 8).reshape(2, 4)


def main():
    x, w = tf.constant(X), tf.Variable(W)
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            product = tf.tanh(x @ w)
            y = product + x[0, 0]
            loss = tf.reduce_sum(y * y)
        of_x, of_w = tape.jacobian(y, [x, w], experimental_use_pfor=False)
        first = tape.gradient(loss, x)
    second = outer.jacobian(first, x, experimental_use_pfor=False)
    batch = tape.batch_jacobian(product, x, experimental_use_pfor=False)
    cases.print_head("make_jacobian_cases.py")
    for numbers in (of_x, of_w, second, batch):
        print(f"{{{', '.join(f'{v:.17g}' for v in numbers.numpy().ravel())}}},")
    return 0


if __name__ == "__main__":
    main()
