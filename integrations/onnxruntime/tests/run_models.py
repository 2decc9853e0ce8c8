#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise (run_models.py): Models of published wheels give the outputs of ONNX Runtime's own provider with nodes on Gantry.

    run_models.py LIBRARY FOLDER [--device /CPU:0] [--only TEXT] [--least 0.98]

Makes for each model of FOLDER a session with Gantry's provider and one without, and compares outputs. Prints how many
nodes Gantry took, and why it left the others. Exit code 1: an output differs, or Gantry took less than --least of all
nodes; 77: onnxruntime or numpy is missing.
"""
import argparse
import collections
import glob
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../tests/onnx"))
import models

ort, np = models.ort, models.np
REPORT = os.path.join(tempfile.gettempdir(), f"gantry_ort_{os.getpid()}.txt")


def sessions(path, device, library_device):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.add_provider_for_devices([library_device], {"device": device, "report": REPORT})
    plain = ort.SessionOptions()
    plain.log_severity_level = 4
    return ort.InferenceSession(path, options), ort.InferenceSession(path, plain, providers=["CPUExecutionProvider"])


def difference(got, wanted):
    if got.shape != wanted.shape:
        return float("inf")
    if got.size == 0 or got.dtype.kind not in "f":
        return 0.0 if np.array_equal(got, wanted) else float("inf")
    return float(np.abs(got - wanted).max() / max(0.01, np.abs(wanted).max()))


def taken():
    """Nodes taken and all, and reasons."""
    with open(REPORT, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    os.unlink(REPORT)
    counts = re.search(r"takes (\d+) of (\d+) nodes", lines[-1])
    return int(counts[1]), int(counts[2]), [re.sub(r"node '[^']*' ", "", line) for line in lines[:-1]]


def run_model(path, device, library_device, reasons):
    name = os.path.basename(path)
    mine, theirs = sessions(path, device, library_device)
    took, nodes, left = taken()
    reasons.update(left)
    worst = 0.0
    for arrays in models.cases_of(name, path):
        outputs = zip(mine.run(None, arrays), theirs.run(None, arrays))
        worst = max([worst] + [difference(got, wanted) for got, wanted in outputs])
    print(f"{name}: {took} of {nodes} nodes, difference {worst:.1e}", flush=True)
    return took, nodes, worst


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("folder")
    parser.add_argument("--device", default="/CPU:0")
    parser.add_argument("--only", default="")
    parser.add_argument("--least", type=float, default=0.98)
    parser.add_argument("--most", type=float, default=1e-3)
    options = parser.parse_args()
    if not hasattr(ort, "register_execution_provider_library"):
        print("SKIP: this onnxruntime has no providers of their own")
        return 77
    ort.register_execution_provider_library("gantry.cpu", os.path.abspath(options.library))
    mine = [device for device in ort.get_ep_devices() if device.ep_name == "GantryExecutionProvider"]
    reasons, total, wrong = collections.Counter(), [0, 0], []
    for path in sorted(glob.glob(os.path.join(options.folder, "*.onnx"))):
        if options.only not in path:
            continue
        try:
            took, nodes, worst = run_model(path, options.device, mine[0], reasons)
        except Exception as error:
            print(f"{os.path.basename(path)}: {str(error)[:600]}", flush=True)
            wrong.append(path)
            continue
        total = [total[0] + took, total[1] + nodes]
        quantised = re.search("smart-turn|common_old", path)
        if worst > (2e-2 if quantised else options.most):
            wrong.append(path)
    for reason, count in reasons.most_common():
        print(f"{count} x {reason}")
    print(f"{total[0]} of {total[1]} nodes on Gantry; {len(wrong)} models are wrong: {[os.path.basename(path) for path in wrong]}")
    return 1 if wrong or total[0] < options.least * total[1] else 0


sys.exit(main())
