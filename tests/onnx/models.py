#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models of published wheels load, and give the outputs of ONNX Runtime.

    models.py FOLDER GANTRY [--device cpu:0] [--only TEXT] [--seconds 0] [--threads 1]

Runs each model of FOLDER (scripts/fetch-models --all) by the command GANTRY and by ONNX Runtime on the same inputs, and
compares: floating outputs to 1e-4 of the largest element (or of 0.01), 1e-2 for models with quantised ops, integers
exactly. With --seconds it measures both, with each number of threads. Needs onnxruntime, onnx and numpy; exit code 77
without them.
model_inputs.py has the inputs.
"""
import argparse
import glob
import json
import math
import os
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
    import onnxruntime as ort
    from model_inputs import cases_of, difference, tolerance_of
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

def session_of(path, threads):
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


class Bench:
    def __init__(self, given, folder):
        self.given, self.folder, self.inputs = given, folder, os.path.join(folder, "inputs.npz")

    def command(self, *words):
        line = [self.given.gantry, "model", *words, "--device", self.given.device]
        done = subprocess.run(line, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode != 0:
            raise RuntimeError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
        return done.stdout

    def compare(self, path, session, arrays, tolerance):
        np.savez(self.inputs, **arrays)
        results = os.path.join(self.folder, "results")
        self.command("run", path, "--inputs", self.inputs, "--save", results)
        for i, (value, wanted) in enumerate(zip(session.get_outputs(), session.run(None, arrays))):
            reason = difference(np.asarray(wanted), np.load(f"{results}/out_{i}.npy"), tolerance)
            if reason:
                raise ValueError(f"output {value.name}: {reason}")

    def times(self, path, arrays, threads):
        """Seconds of a run: of Gantry, of ONNX Runtime; then of the load, likewise."""
        text = self.command("bench", path, "--inputs", self.inputs, "--json", "--seconds", str(self.given.seconds), "--threads", str(threads))
        ours = json.loads(text)
        begin = time.perf_counter()
        session = session_of(path, threads)
        load, samples = time.perf_counter() - begin, []
        session.run(None, arrays)
        end = time.perf_counter() + self.given.seconds
        while time.perf_counter() < end or len(samples) < 3:
            begin = time.perf_counter()
            session.run(None, arrays)
            samples.append(time.perf_counter() - begin)
        return ours["least_seconds"], min(samples), ours["load_seconds"], load


def run_case(bench, path, name, session, arrays, number, ratios):
    label = f"{name} {number}"
    try:
        bench.compare(path, session, arrays, tolerance_of(path))
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        print(f"REFUSED {label}: {error}", flush=True)
        return False
    except ValueError as error:
        print(f"WRONG {label}: {error}", flush=True)
        return False
    line = ""
    for threads in bench.given.threads if bench.given.seconds > 0 else ():
        ours, theirs, load, creation = bench.times(path, arrays, threads)
        ratios.setdefault(threads, []).append((ours / theirs, load / creation))
        line += f"; {threads} thread(s): {1e3 * ours:.3f} ms, {ours / theirs:.2f} of ONNX Runtime's, load {1e3 * load:.1f} ms, {load / creation:.2f}"
    print(f"ok {label}{line}", flush=True)
    return True


def mean_of(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("gantry")
    parser.add_argument("--device", default="cpu:0")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--threads", type=lambda text: [int(word) for word in text.split(",")], default=[1])
    given = parser.parse_args()
    passed, failed, ratios = 0, 0, {}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(given, folder)
        for path in sorted(glob.glob(os.path.join(given.folder, "*.onnx"))):
            name = os.path.basename(path)[:-5]
            if given.only not in name:
                continue
            session = session_of(path, 1)
            for number, arrays in enumerate(cases_of(name, path)):
                if run_case(bench, path, name, session, arrays, number, ratios):
                    passed += 1
                else:
                    failed += 1
    for threads, numbers in ratios.items():
        print(f"{threads} thread(s): {mean_of([run for run, _ in numbers]):.2f} of ONNX Runtime's time in the geometric mean, "
              f"{max(run for run, _ in numbers):.2f} at most; load {mean_of([load for _, load in numbers]):.2f}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
