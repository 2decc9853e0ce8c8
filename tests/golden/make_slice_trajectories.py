#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/unit/train/slice_trajectories.inc: weights under Keras's optimizers with gradients that are slices.

The rows of make_optimizer_trajectories.py, with three variables: a small one and a large one, whose gradients are
IndexedSlices with rows that occur several times, and one with a dense gradient. The test computes the same weights,
indices and slices. Of the large variable the rows that slices name are kept, and one more.
Run: make_slice_trajectories.py.
"""
import os
import warnings

import make_optimizer_trajectories as trajectories

import keras
import numpy as np
import tensorflow as tf
from keras import optimizers as opt

OPTIMIZERS = trajectories.OPTIMIZERS + [
    trajectories.row("Adagrad, clipnorm", "adagrad", opt.Adagrad, [".learning_rate = 0.1", ".clipnorm = 0.75"],
                     learning_rate=0.1, clipnorm=0.75),
    trajectories.row("Adagrad, clipvalue", "adagrad", opt.Adagrad, [".learning_rate = 0.1", ".clipvalue = 0.25"],
                     learning_rate=0.1, clipvalue=0.25),
    trajectories.row("Adagrad, global clipnorm", "adagrad", opt.Adagrad,
                     [".learning_rate = 0.1", ".global_clipnorm = 0.75"], learning_rate=0.1, global_clipnorm=0.75),
]

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS, WIDTH = [5, 3000], 3
NAMED = [[0, 1, 3, 4], [0, 7, 1499, 2999]]  # rows that slices name
LEFT = [2, 5]  # a row that they never name
SLICES = 6
DENSE = 3
STEPS = 8
KEPT = {"float64": [1, 8], "float32": [8]}


def weight(j):
    return 1 + (j * 11) % 17 / 16


def row_of(t, v, i):
    """The row of slice i of variable v in step t: some occur twice and more in a step."""
    return NAMED[v][(t + v + i * i) % 4]


def value(t, v, j):
    return ((t * 7 + v * 3 + j * 13 + j * j * 5) % 31 - 15) / 16


def gradients(t, dtype):
    out = []
    for v in range(2):
        values = np.array([value(t, v, j) for j in range(SLICES * WIDTH)], dtype).reshape(SLICES, WIDTH)
        indices = np.array([row_of(t, v, i) for i in range(SLICES)], "int64" if v else "int32")
        out.append(tf.IndexedSlices(tf.constant(values), tf.constant(indices), tf.constant([ROWS[v], WIDTH])))
    out.append(keras.ops.convert_to_tensor(np.array([value(t, 2, j) for j in range(DENSE)], dtype)))
    return out


def kept_rows(variables):
    parts = [variables[v].numpy()[NAMED[v] + [LEFT[v]]].reshape(-1) for v in range(2)]
    return np.concatenate(parts + [variables[2].numpy()])


def train(cls, kwargs, dtype):
    keras.config.set_floatx(dtype)
    warnings.simplefilter("ignore")
    shapes = [(ROWS[0], WIDTH), (ROWS[1], WIDTH), (DENSE,)]
    variables = [
        keras.Variable(np.array([weight(j) for j in range(int(np.prod(s)))], dtype).reshape(s), dtype=dtype) for s in shapes
    ]
    optimizer = cls(**(trajectories.widen(cls, kwargs) if dtype == "float64" else kwargs))
    kept = []
    for t in range(1, STEPS + 1):
        optimizer.apply(gradients(t, dtype), variables)
        if t in KEPT[dtype]:
            kept.append(kept_rows(variables))
    return kept


def main():
    path = os.path.join(HERE, "..", "unit", "train", "slice_trajectories.inc")
    with open(path, "w") as out:
        out.write("/* SPDX-License-Identifier: Apache-2.0 */\n")
        out.write(f"/* Written by tests/golden/make_slice_trajectories.py with Keras {keras.__version__}. */\n")
        out.write(f"/* Rows: name, the call, the weights of steps {KEPT['float64']} in float64, those of steps\n"
                  f" * {KEPT['float32']} in float32. */\n")
        for name, text, cls, kwargs, skips in OPTIMIZERS:
            if skips:
                continue
            full, narrow = (train(cls, kwargs, dtype) for dtype in ("float64", "float32"))
            out.write(f'SLICE_ROW("{name}", ({text}),\n')
            out.write("    (" + ",\n     ".join(trajectories.numbers(row, "float64") for row in full) + "),\n")
            out.write("    (" + ",\n     ".join(trajectories.numbers(row, "float32") for row in narrow) + "))\n")


if __name__ == "__main__":
    main()
