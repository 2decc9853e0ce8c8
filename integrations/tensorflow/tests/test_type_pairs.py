#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: Each combination of an op's types that TensorFlow's CPU computes runs on the GPU, or on the CPU by soft
placement.

An op of the table runs with every combination of its types that TensorFlow's CPU computes: on the GPU where its row
has the types, else on the CPU by soft placement. table_check.py tries the types of a row one by one.

    PYTHON test_type_pairs.py     PYTHON has TensorFlow and the plug-in
"""

import itertools
import os
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("GANTRY_OPENCL_CPU", "gpu")

import table_check  # first: it has settings for TensorFlow
import numpy as np
import tensorflow as tf
import table_cases

TYPES = [*table_check.TYPES.values(), "complex128"]
# TensorFlow's CPU reads four bytes of an int16 dimension, so it may find any number.
UNREADABLE = ("ArgMax", "Tidx", "int16")


def type_attrs(definition):
    """{name: those of TYPES that the op takes} of an op's type attributes."""
    every = {}
    for attr in definition.attr:
        if attr.type == "type":
            allowed = {tf.as_dtype(t).name for t in attr.allowed_values.list.type} or set(TYPES)
            every[attr.name] = [name for name in TYPES
                                if name in allowed and (definition.name, attr.name, name) != UNREADABLE]
    return every


def arguments(definition, count):
    """The type attribute of each of so many inputs, or None; [] if the number does not fit."""
    args = [arg.type_attr or None for arg in definition.input_arg]
    if definition.input_arg and definition.input_arg[0].number_attr:
        args = [args[0]] * (count - len(args) + 1) + args[1:]
    return args if len(args) == count else []


def call_with(definition, case, types):
    """The case's call with these types, or None if it cannot have them."""
    _, inputs, attrs = case
    args = arguments(definition, len(inputs))
    if len(args) != len(inputs):
        return None
    with np.errstate(all="ignore"):
        inputs = [x.astype(tf.as_dtype(types[arg]).as_numpy_dtype) if arg else x for x, arg in zip(inputs, args)]
    try:
        return table_check.Call(definition, inputs, {**attrs, **{a: t for a, t in types.items() if a not in args}})
    except ValueError:
        return None


def cases_of(op, gantry, definition):
    """Few small cases with elements."""
    cases = [table_cases.fit(definition, case) for case in table_check.golden_cases(gantry, "tensorflow")]
    return (table_cases.extra(op) + sorted(cases, key=table_check.size_of))[:4]


def try_types(definition, cases, types):
    """The word of table_check.py for these types, and a note: "refused" if TensorFlow's CPU refuses every case."""
    word = note = None
    for case in cases:
        call = call_with(definition, case, types)
        if not call:
            continue
        word, note = table_check.judge(call)
        if word not in ("refused", "only_there", "other_error"):
            return word, note
    return word, note


class Types(unittest.TestCase):
    def test_casts_to_every_type(self):
        tf.config.set_soft_device_placement(True)
        for source, wanted in itertools.product(TYPES, TYPES):
            cast = lambda x, to=wanted: tf.cast(x, to)
            with self.subTest(source=source, wanted=wanted), tf.device("/GPU:0"):
                x = tf.identity(tf.constant(np.array([0, 1, 2]), source))
                for run in (cast, tf.function(cast)):
                    y = run(x)
                    self.assertEqual(y.dtype.name, wanted)
                    self.assertEqual([complex(e) for e in y.numpy()], [0, 1, 1 if "bool" in (source, wanted) else 2])

    def test_every_combination_of_types(self):
        from tensorflow.python.framework import op_def_registry
        tf.config.set_soft_device_placement(True)
        seen, ran, bad = set(), 0, []
        for op, gantry, _ in table_check.read_rows():
            definition = op_def_registry.get(op)
            if op in seen:
                continue
            seen.add(op)
            every, cases = type_attrs(definition), cases_of(op, gantry, definition)
            for combination in itertools.product(*every.values()):
                types = dict(zip(every, combination))
                word, note = try_types(definition, cases, types)
                ran += word in table_check.RAN
                if word in ("different", "only_here") and not table_cases.known(op, None, word, note):
                    bad.append(f"{word}: {op} {types}: {note}")
        print(f"{ran} combinations of types of {len(seen)} ops ran", flush=True)
        self.assertFalse(bad, "\n" + "\n".join(bad))
        self.assertGreater(ran, 2500)


if __name__ == "__main__":
    unittest.main()
