#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/unit/run/device_scopes.inc: the device that nested tf.device blocks request in a tf.function.

Needs TensorFlow 2.21 (README.md beside this file). Run: python3 make_device_scopes.py
A row has the texts of Gantry, the outermost first, TensorFlow's device in the innermost block, and Gantry's where it
differs: there a new type clears the index. Gantry's "" is TensorFlow's None, and Gantry's "/" is TensorFlow's "".
"""
import itertools
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import tensorflow as tf

HERE = os.path.dirname(os.path.abspath(__file__))
TEXTS = ["/GPU:1", "gpu:0", "/device:GPU:*", "/CPU:0", "cpu", "/job:worker", "/job:localhost/task:0/device:CPU:1",
         "/replica:0/task:1", "/", ""]
TRIPLES = ["/GPU:1", "/CPU:*", "/job:worker/GPU:2", "/task:0", ""]


def of_tensorflow(text):
    return None if text == "" else "" if text == "/" else text


def requested(chain):
    devices = []

    @tf.function
    def nested():
        def enter(rest):
            if rest:
                with tf.device(of_tensorflow(rest[0])):
                    return enter(rest[1:])
            result = tf.constant(1.0) + 1.0
            devices.append(result.op.device)
            return result

        return enter(chain)

    nested.get_concrete_function()
    return devices[0]


def without_foreign_index(chain):
    spec = tf.DeviceSpec()
    for text in chain:
        inner = tf.DeviceSpec.from_string(text)
        if text == "":
            spec = inner
            continue
        if inner.device_type and inner.device_type != spec.device_type:
            spec = spec.replace(device_index=None)
        spec = spec.make_merged_spec(inner)
    return spec.to_string()


def main():
    chains = [(text,) for text in TEXTS]
    chains += itertools.product(TEXTS, repeat=2)
    chains += itertools.product(TRIPLES, repeat=3)
    with open(os.path.join(HERE, "..", "unit", "run", "device_scopes.inc"), "w") as file:
        file.write("/* SPDX-License-Identifier: Apache-2.0 */\n")
        file.write(f"/* Written by tests/golden/make_device_scopes.py with TensorFlow {tf.__version__}. */\n")
        for chain in chains:
            device, own = requested(chain), without_foreign_index(chain)
            texts = ", ".join(f'"{text}"' for text in chain)
            differs = "NULL" if own == device else f'"{own}"'
            file.write(f'{{{{{texts}}}, {len(chain)}, "{device}", {differs}}},\n')


main()
