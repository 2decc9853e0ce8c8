#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cells and totals of the summaries that Keras prints, for test_summary.c, which builds the same models:
make_summary_cases.py > tests/unit/support/train_summary_cases.inc

Needs Keras 3.15.
"""
import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["COLUMNS"] = "1000"

import keras
from keras import layers

LONG = "a_layer_with_a_name_that_is_longer_than_a_column_of_the_table"


def sequential():
    return keras.Sequential([
        keras.Input((2,)), layers.Dense(16, name=LONG), layers.BatchNormalization(),
        layers.Dense(2000, name="a_name_of_thirty_one_characters"), layers.Dense(3, name="a_name_of_23_characters"),
        layers.Dense(3, name="a_name_of_24__characters"), layers.Reshape((3, 1, 1, 1, 1, 1)), layers.Flatten()])


def chain():
    given = keras.Input((4, 3))
    x = layers.LSTM(8, return_sequences=True)(given)
    return keras.Model(given, layers.Dense(5000)(layers.Flatten()(x)))


def connections():
    first, second = keras.Input((4, 3)), keras.Input((4, 3))
    shared = layers.Dense(3, name="shared_dense_layer_with_a_long_name")
    a, b = shared(first), shared(second)
    s = layers.Add()([a, b, first])
    y, h, c = layers.LSTM(2, return_sequences=True, return_state=True)(s)
    t = layers.Flatten()(layers.Concatenate()([y, s]))
    o = layers.Concatenate(name="joined")([t, h, c])
    return keras.Model([first, second], layers.Dense(1000, name="x")(o))


def branches():
    """Layers that are made in another order than that of their depth, and an input that is not needed."""
    first, second, unused = keras.Input((4,)), keras.Input((4,)), keras.Input((2,))
    late = layers.Dense(4, name="late")(second)
    left = layers.Dense(4, name="left_1")(first)
    left = layers.Dense(4, name="left_2")(left)
    left = layers.Dense(4, name="left_3")(left)
    return keras.Model([first, second, unused], layers.Add()([late, left]))


def shared_at_two_depths():
    given = keras.Input((4,))
    shared = layers.Dense(4, name="shared")
    x = shared(given)
    y = layers.Dense(4, name="between")(x)
    z = shared(y)
    return keras.Model(given, layers.Add(name="sum")([layers.Activation("relu", name="short")(x), z, x]))


def attention():
    given = keras.Input((4, 8))
    s = layers.Add()([given, layers.MultiHeadAttention(2, 4)(given, given)])
    return keras.Model(given, layers.Add()([s, s]))


def blocks():
    """A sequential block that is applied twice, and a functional one of two outputs."""
    first, second, given = keras.Input((4,)), keras.Input((4,)), keras.Input((2,))
    twice = keras.Sequential([keras.Input((4,)), layers.Dense(3, name="one"), layers.Dense(2, name="two")], name="twice")
    both = keras.Model(given, [layers.Dense(3, name="p")(given), layers.Dense(2, name="q")(given)], name="both")
    p, q = both(twice(first))
    return keras.Model([first, second], layers.Concatenate()([p, twice(second), q]), name="functional")


def sequential_block():
    block = keras.Sequential([keras.Input((4,)), layers.Dense(3), layers.BatchNormalization()], name="block")
    return keras.Sequential([keras.Input((2,)), layers.Dense(4, name="first"), block, layers.Dense(5, name="last")])


def open_sizes():
    """An open number of steps, and an open number of rows and columns."""
    words, image = keras.Input((None,)), keras.Input((None, None, 3))
    x = layers.MaxPooling1D(2)(layers.Conv1D(8, 5)(layers.Embedding(100, 4)(words)))
    x = layers.GlobalMaxPooling1D()(layers.LSTM(6, return_sequences=True)(x))
    y = layers.GlobalAveragePooling2D()(layers.Reshape((-1, 1, 4))(layers.Conv2D(4, 3)(image)))
    return keras.Model([words, image], layers.Concatenate()([x, y]))


def plain(text):
    """Each row of the table as its cells with a blank between them; its lines are dropped."""
    for line in text.rstrip("\n").split("\n"):
        if line[0] in "\u2502\u2503":
            line = " " + " ".join(line[1:-1].replace("\u2502", " ").replace("\u2503", " ").split())
        if line[0] not in "\u250f\u2521\u251c\u2514":
            yield line.rstrip()


def main():
    print("/* SPDX-License-Identifier: Apache-2.0 */")
    print(f"/* Made by tests/golden/make_summary_cases.py with Keras {keras.__version__}; do not edit. */")
    print("/* clang-format off */")
    for make in (sequential, chain, connections, branches, shared_at_two_depths, open_sizes, attention, blocks,
                 sequential_block):
        keras.utils.clear_session()
        text = []
        make().summary(line_length=1000, print_fn=lambda line: text.append(line))
        print(f'{{"{make.__name__}", make_{make.__name__}, {{')
        print("\n".join(' "' + line.replace('"', '\\"') + '\\n",' for line in plain("".join(text))) + "}},")
    return 0


if __name__ == "__main__":
    main()
