#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models of published wheels load, and give the outputs of ONNX Runtime.

    models.py FOLDER GANTRY [--device cpu:0] [--only TEXT] [--seconds 0] [--threads 1]

Runs each model of FOLDER (scripts/fetch-models --all) by the command GANTRY and by ONNX Runtime on the same inputs, and
compares: floating outputs to 1e-4 of the largest element (or of 0.01), 1e-2 for models with quantised ops, integers
exactly. With --seconds it measures both, with each number of threads. Needs onnxruntime, onnx and numpy; exit code 77
without them.
Inputs are drawn by splitmix64 from crc32("MODEL/INPUT"), so that they are the same on each machine.
"""
import argparse
import glob
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import zlib

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

SOUND, IMAGE, ZERO = (-0.5, 0.5), (0, 1), (0, 0)
RATE = ((), 16000, 16001)
# For a model's name: cases of inputs, each with its shape and range; other inputs have the declared shape and SOUND.
INPUTS = (
    ("magika", [{"bytes": ((1, 2048), 0, 257)}, {"bytes": ((32, 2048), 0, 257)}]),
    ("openwakeword.*silero", [{"input": ((1, 512), *SOUND), "sr": RATE, "h": ((2, 1, 64), *ZERO), "c": ((2, 1, 64), *ZERO)}]),
    ("silero.*(sequence|v6)", [{"input": ((100, 576), *SOUND), "h": ((1, 1, 128), *ZERO), "c": ((1, 1, 128), *ZERO)}]),
    ("silero", [{"input": ((1, 576), *SOUND), "state": ((2, 1, 128), *ZERO), "sr": RATE}]),
    ("det", [{"x": ((1, 3, 320, 320), *IMAGE), "images": ((1, 3, 416, 416), 0, 255)},
             {"x": ((1, 3, 640, 640), *IMAGE), "images": ((1, 3, 416, 416), 0, 255)}]),
    ("rec", [{"x": ((1, 3, 48, 320), *IMAGE)}, {"x": ((6, 3, 48, 320), *IMAGE)}]),
    ("cls", [{"x": ((1, 3, 48, 192), *IMAGE)}, {"x": ((6, 3, 48, 192), *IMAGE)}]),
    ("nudenet", [{"images": ((1, 3, 320, 320), *IMAGE)}]),
    ("ddddocr", [{"input1": ((1, 1, 64, 200), *IMAGE)}]),
    ("basic_pitch", [{"serving_default_input_2:0": ((1, 43844, 1), *SOUND)}]),
    ("swift_f0", [{"audio": ((1, 16000), *SOUND), "fmin": ((), 46.875, 46.875), "fmax": ((), 2093.75, 2093.75)}]),
    ("melspectrogram", [{"input": ((1, 1760), -1000, 1000)}]),
    ("embedding", [{"input_1": ((1, 76, 32, 1), *IMAGE)}]),
    ("onnx_asr", [{"waveforms": ((1, 16000), *SOUND), "waveforms_lens": ((1,), 16000, 16001)}]),
    ("light_", [{"data_0": ((1, 3, 224, 224), *IMAGE), "gpu_0/data_0": ((1, 3, 224, 224), *IMAGE)}]),
)
TYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(double)": np.float64}


def drawn(model, name, dtype, shape, low, high):
    count = math.prod(shape)
    with np.errstate(over="ignore"):
        bits = np.uint64(zlib.crc32(f"{model}/{name}".encode())) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        bits ^= bits >> np.uint64(31)
    if np.dtype(dtype).kind == "f":
        values = low + (high - low) * ((bits >> np.uint64(40)).astype(np.float64) * 2.0**-24)
    else:
        values = low + (bits >> np.uint64(33)).astype(np.int64) % (high - low)
    return values.astype(dtype).reshape(shape)


def cases_of(model, session):
    found = next((cases for pattern, cases in INPUTS if re.search(pattern, model)), [{}])
    for case in found:
        arrays = {}
        for value in session.get_inputs():
            declared = tuple(size if isinstance(size, int) and size > 0 else 1 for size in value.shape)
            arrays[value.name] = drawn(model, value.name, TYPES[value.type], *case.get(value.name, (declared, *SOUND)))
        yield arrays


def session_of(path, threads):
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def difference(wanted, given, tolerance):
    """None, or how an output differs."""
    if wanted.shape != given.shape or wanted.dtype != given.dtype:
        return f"{given.dtype} {given.shape}, not {wanted.dtype} {wanted.shape}"
    if wanted.dtype.kind != "f":
        return None if (wanted == given).all() else f"{int((wanted != given).sum())} of {wanted.size} elements differ"
    if wanted.size == 0:
        return None
    largest = float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0))
    worst = float(np.nan_to_num(np.abs(wanted.astype(np.float64) - given), nan=0 if np.isnan(wanted).all() else np.inf).max())
    return None if worst <= tolerance * max(largest, 1e-2) else f"by {worst:.3g}, where the largest element is {largest:.3g}"


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


def tolerance_of(path):
    """Relative to the largest element. ONNX Runtime's STFT is up to 2.3e-4 away from the outputs in float64."""
    ops = {node.op_type for node in onnx.load(path, load_external_data=False).graph.node}
    if any("Integer" in op or "Quant" in op or "QLinear" in op for op in ops):
        return 1e-2
    return 3e-4 if "STFT" in ops else 1e-4


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
            for number, arrays in enumerate(cases_of(name, session)):
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
