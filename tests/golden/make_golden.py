#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes cases/<Op>.json by running TensorFlow (see README.md). Usage: make_golden.py [--out FOLDER] [Op...]"""
import argparse
import glob
import importlib
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

HERE = os.path.dirname(os.path.abspath(__file__))


def find_makers():
    """The makers of all golden_*.py that list cases: build() gives {op: function that records its cases}. Also the makers
    that add to the cases of any op: extend(op, recorder)."""
    makers, further = {}, []
    importlib.import_module("golden_case")  # before TensorFlow, which others import: sets its options
    for path in sorted(glob.glob(os.path.join(HERE, "golden_*.py"))):
        module = importlib.import_module(os.path.basename(path)[:-3])
        for op, maker in getattr(module, "build", dict)().items():
            assert op not in makers, f"{op} is made in two files; the second is {path}"
            makers[op] = maker
        if hasattr(module, "extend"):
            further.append(module.extend)
    return makers, further


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default=os.path.join(HERE, "cases"))
    parser.add_argument("ops", nargs="*", help="the ops to make (all)")
    options = parser.parse_args()
    makers, further = find_makers()
    os.makedirs(options.out, exist_ok=True)
    total = 0
    for op in options.ops or sorted(makers):
        recorder = makers[op]()
        for extend in further:
            extend(op, recorder)
        size = recorder.write(options.out)
        total += size
        errors = sum(1 for c in recorder.cases if "error" in c)
        numpy = sum(1 for c in recorder.cases if c.get("source") == "numpy")
        apart = ", ".join(f"{k} {v}" for k, v in sorted(recorder.tf_ulp.items()) if v)
        print(f"{op:24s} {len(recorder.cases):5d} cases {errors:4d} errors {numpy:4d} numpy {size:8d} bytes"
              + (f"  TensorFlow apart from the reference by ulp: {apart}" if apart else ""), flush=True)
    print(f"{total} bytes")


if __name__ == "__main__":
    main()
