# SPDX-License-Identifier: Apache-2.0
"""The inputs of published models (scripts/fetch-models --all), and how far outputs may differ from ONNX Runtime's.

tests/onnx/models.py, the provider's run_models.py and bench/peers take them from here. Inputs are drawn by splitmix64
from crc32("MODEL/INPUT"), so that they are the same on each machine.
"""
import math
import re
import zlib

import numpy as np
import onnx

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


def found_of(model):
    return next((cases for pattern, cases in INPUTS if re.search(pattern, model)), [{}])


def cases_of(model, path):
    """For each case of a model's inputs: arrays by their names, in the order of the file."""
    graph = onnx.load(path, load_external_data=False).graph
    given = {tensor.name for tensor in graph.initializer}
    declared = [(value.name, value.type.tensor_type) for value in graph.input if value.name not in given]
    for case in found_of(model):
        arrays = {}
        for name, tensor in declared:
            shape = tuple(size.dim_value if size.dim_value > 0 else 1 for size in tensor.shape.dim)
            dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
            arrays[name] = drawn(model, name, dtype, *case.get(name, (shape, *SOUND)))
        yield arrays


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


def tolerance_of(path):
    """Relative to the largest element. ONNX Runtime's STFT is up to 2.3e-4 away from the outputs in float64."""
    ops = {node.op_type for node in onnx.load(path, load_external_data=False).graph.node}
    if any("Integer" in op or "Quant" in op or "QLinear" in op for op in ops):
        return 1e-2
    return 3e-4 if "STFT" in ops else 1e-4
