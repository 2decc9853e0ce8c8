#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the rows of onnx/table with the schemas of onnx, and those of com.microsoft with ONNX Runtime's.

    check_rows.py

For each operator set of a row: the numbers of inputs and outputs, the attributes with their kinds, and those that must
be given. A row may have less outputs, which are then refused where they are used. Needs onnx and onnxruntime. Exit code
1 for any difference.
"""
import importlib.machinery
import importlib.util
import glob
import os
import sys

import onnx
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
loader = importlib.machinery.SourceFileLoader("make_onnx_doc", os.path.join(ROOT, "scripts", "make-onnx-doc"))
doc = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_onnx_doc", loader))
loader.exec_module(doc)

LETTERS = {"FLOAT": "f", "INT": "i", "STRING": "s", "TENSOR": "t", "GRAPH": "g", "FLOATS": "F", "INTS": "I", "STRINGS": "S", "TENSORS": "T",
           "GRAPHS": "G", "SPARSE_TENSOR": "x", "SPARSE_TENSORS": "X", "TYPE_PROTO": "p", "TYPE_PROTOS": "P"}
MICROSOFT = "com.microsoft"
MANY = (1 << 31) - 1  # of a schema

# ONNX Runtime has them, for models that it has written, without a schema of that operator set.
RUNTIME_ONLY = {"LayerNormalization", "SimplifiedLayerNormalization"}


def kind_of(attribute):
    return LETTERS[str(attribute.type).rsplit(".", maxsplit=1)[-1].upper()]


def histories():
    """The schemas of each op, by domain and name, the newest first."""
    found = {}
    contrib = [schema for schema in runtime.get_all_operator_schema() if schema.domain == MICROSOFT]
    for schema in [*onnx.defs.get_all_schemas_with_history(), *contrib]:
        found.setdefault((schema.domain, schema.name), []).append(schema)
    for schemas in found.values():
        schemas.sort(key=lambda schema: -schema.since_version)
    return found


def count_of(word):
    return MANY if word == "MANY" else int(word)


def least_of(schema):
    """The inputs in front that must be given; one behind an optional one is the function's to check."""
    least = 0
    for entry in schema.inputs:
        if entry.option == type(entry.option).Optional:
            break
        least += schema.min_input - least if entry.option == type(entry.option).Variadic else 1
    return least


def differences(words, schema):
    """Yields what a row has otherwise than a schema."""
    least, most, outputs = (count_of(word) for word in words[4:7])
    has = {entry[2:]: entry[:2] for entry in (words[8].split() if len(words) > 8 else [])}
    wants = {name: kind_of(attribute) + ("!" if attribute.required else ":") for name, attribute in schema.attributes.items()}
    if (least, most) != (least_of(schema), schema.max_input):
        yield f"{least} to {most} inputs, not {least_of(schema)} to {schema.max_input}"
    if outputs > schema.max_output:
        yield f"{outputs} outputs, not {schema.max_output}"
    for name in sorted({*has, *wants}):
        if has.get(name) != wants.get(name):
            yield f"attribute {name} is {has.get(name, 'missing')}, not {wants.get(name, 'there')}"


def versions_of(words):
    first = max(int(words[2]), doc.OLDEST) if words[0] == "" else int(words[2])
    return range(first, int(words[3]) + 1)


def check(words, schemas):
    said = set()
    for version in versions_of(words):
        schema = next((schema for schema in schemas if schema.since_version <= version), None)
        if not schema and words[1] in RUNTIME_ONLY:
            continue
        for text in differences(words, schema) if schema else ["there is no such op"]:
            if text not in said:
                print(f"{words[1]} of operator set {version}: {text}")
            said.add(text)
    return len(said)


def main():
    found, count, wrong = histories(), 0, 0
    for path in sorted(glob.glob(os.path.join(ROOT, "onnx", "table", "rows_*.def"))):
        for form, words in doc.rows_of(path):
            if form == "PLAIN":
                words = [*words[:4], words[4], words[4], "1", "plain", ""]
            if form != "NO_ROW":
                count += 1
                wrong += check(words, found.get((words[0], words[1]), []))
    print(f"{count} rows, {wrong} differences")
    return 1 if wrong or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
