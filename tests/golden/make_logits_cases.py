#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains small models whose outputs are saturated: probabilities of exactly 0 and 1. Writes Keras's losses and weights
for tests/unit/train/test_logits.c: make_logits_cases.py > tests/unit/support/train_logits.inc

Keras on TensorFlow finds the logits behind a softmax or a sigmoid; behind a reshape it does not, nor where it removes
the last dimension of predictions to fit labels without it."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
import keras
import numpy as np

ROWS, FEATURES, CLASSES, STEPS = 6, 3, 4, 4
layers = keras.layers


def numbers(count, scale):
    """Numbers by a linear congruential generator of 32 bits, multiples of 1/64: exact in float32."""
    state, out = 7, []
    for _ in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        out.append(((state >> 8) % 129 - 64) / 64 * scale)
    return np.array(out)


# The losses are numbers of gantry_loss_t; the last layers are those of the test.
SPARSE, CATEGORICAL, BINARY = 1, 2, 3
CASES = [
    ("dense_softmax", SPARSE, [lambda: layers.Dense(CLASSES, activation="softmax")]),
    ("activation_softmax", CATEGORICAL, [lambda: layers.Dense(CLASSES), lambda: layers.Activation("softmax")]),
    ("dense_sigmoid", BINARY, [lambda: layers.Dense(CLASSES, activation="sigmoid")]),
    ("sigmoid_of_classes", CATEGORICAL, [lambda: layers.Dense(CLASSES, activation="sigmoid")]),
    ("softmax_of_bits", BINARY, [lambda: layers.Dense(CLASSES, activation="softmax")]),
    ("one_bit", BINARY, [lambda: layers.Dense(1, activation="sigmoid")]),
    (
        "behind_a_reshape",
        SPARSE,
        [lambda: layers.Dense(CLASSES, activation="softmax"), lambda: layers.Reshape((CLASSES,))],
    ),
]
LOSSES = {
    SPARSE: keras.losses.SparseCategoricalCrossentropy,
    CATEGORICAL: keras.losses.CategoricalCrossentropy,
    BINARY: keras.losses.BinaryCrossentropy,
}


def run(dtype, name, loss, last, rows_of_rows):
    keras.backend.set_floatx(dtype)
    keras.config.set_dtype_policy(dtype)
    shape = (ROWS, 2, FEATURES) if rows_of_rows else (ROWS, FEATURES)
    x = numbers(int(np.prod(shape)), 4).reshape(shape).astype(dtype)
    classes = np.arange(int(np.prod(shape[:-1]))).reshape(shape[:-1]) * 3 % CLASSES
    y = classes if loss == SPARSE else np.eye(CLASSES)[classes].astype(dtype)
    units = 1 if name == "one_bit" else CLASSES
    if name == "one_bit":
        y = (classes % 2).astype(dtype)
    m = keras.Sequential([keras.Input(shape[1:])] + [make() for make in last])
    m.set_weights([numbers(FEATURES * units, 64).reshape(FEATURES, units), numbers(units, 1)])
    m.compile(optimizer=keras.optimizers.SGD(0.5), loss=LOSSES[loss]())
    losses = []
    for _ in range(STEPS):
        losses.append(float(m.train_on_batch(x, y)))
        m.reset_metrics()
    return losses + [float(v) for w in m.get_weights() for v in np.asarray(w, "float64").ravel()]


def write(name, values):
    print(f"static const double {name}[] = {{")
    for v in values:
        print(f"    {v:.17g},")
    print("};")


if __name__ == "__main__":
    print("/* SPDX-License-Identifier: Apache-2.0 */")
    print(f"/* Made by tests/golden/make_logits_cases.py with Keras {keras.__version__}. */")
    rows = []
    for name, loss, last in CASES:
        for deep in (False, True):
            if deep and name == "behind_a_reshape":
                continue
            for dtype in ("float32", "float64"):
                label = f"logits_{name}{'_deep' if deep else ''}_{dtype}"
                write(label, run(dtype, name, loss, last, deep))
                rows.append(
                    f'    {{"{name}", {loss}, {"true" if deep else "false"}, GANTRY_{dtype.upper()}, {label}}},'
                )
    print("static const logits_case_t logits_cases[] = {")
    print("\n".join(rows))
    print("};")
