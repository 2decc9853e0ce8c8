#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes checkpoints.json: files of Python's package safetensors, byte for byte.

Run: make_checkpoint_cases.py. With arguments, it reads files instead: make_checkpoint_cases.py FILE... prints each
file's tensors, and fails if the package refuses the file or would write other bytes.
"""
import os
import sys

import ml_dtypes
import numpy as np
import safetensors
import safetensors.numpy

import golden_form

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = {"BOOL": "bool", "UINT8": "uint8", "INT8": "int8", "INT16": "int16", "UINT16": "uint16", "FLOAT16": "float16",
         "BFLOAT16": ml_dtypes.bfloat16, "INT32": "int32", "UINT32": "uint32", "FLOAT32": "float32",
         "COMPLEX64": "complex64", "FLOAT64": "float64", "INT64": "int64", "UINT64": "uint64"}


def every_type():
    """test_checkpoint.c fills its arrays likewise: element k of type i is (i + k) % 2 for BOOL, i + k else."""
    return {f"layer/{name.lower()}": (np.arange(i, i + 3) % (2 if name == "BOOL" else 256)).astype(dtype)
            for i, (name, dtype) in enumerate(TYPES.items())}


CASES = {
    "every_type": (every_type(), {"epoch": "3"}),
    "odd_names": ({"b": np.zeros([0, 2], np.float32), 'a\n"\\\u00e9\x01\U0001f600/': np.array(1.5, np.float32)},
                  {'k\u00e9\t': 'v\\\r\b\f\x1f/'}),
    "empty": ({}, None),
}


def make():
    made = []
    for name, (tensors, texts) in CASES.items():
        data = np.frombuffer(safetensors.numpy.save(tensors, texts), np.uint8)
        made.append({"name": name, "inputs": [], "outputs": [golden_form.array_text(data)]})
    head = {"op": "checkpoints", "made_with": f"safetensors {safetensors.__version__}"}
    golden_form.write_file(os.path.join(HERE, "checkpoints.json"), head, made)


def check(path):
    with safetensors.safe_open(path, "np") as file:
        texts, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}
    for name, tensor in tensors.items():
        print(f"{path}: {name} {tensor.dtype} {list(tensor.shape)}")
    print(f"{path}: {texts}")
    with open(path, "rb") as file:
        written = file.read()
    same = safetensors.numpy.save(tensors, texts) == written
    # The package's order of several texts is not fixed.
    if not same and len(texts or ()) < 2:
        sys.exit(f"{path}: the package writes other bytes")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        check(argument)
    if len(sys.argv) == 1:
        make()
