#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes formats.json: arrays and the texts NumPy and TensorFlow print for them.

Needs NumPy 2.4 (earlier versions switch to exponents elsewhere) and TensorFlow. Run: python3 make_format_cases.py
A case has the array as its input and NumPy's text as "text"; with the attribute as_tensorflow it is the text of a tensor.
With the attribute step the array has 0, step, 2 step...; the input shows its type and shape. With the attribute type the
input has the bytes of that type: a float8 as uint8, complex128 as float64 with a last dimension of two.
"""
import math
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import ml_dtypes
import numpy as np
import tensorflow as tf

import golden_form

DEFAULTS = {"precision": 8, "threshold": 1000, "edgeitems": 3, "linewidth": 75}

cases = []


def add(name, values, dtype, shape=None, **options):
    array = np.asarray(values, dtype=dtype)
    cases.append((name, array.reshape(shape) if shape is not None else array, options))


def add_scalars():
    for text in ("0", "-0", "1", "-1.5", "0.1", "3.14159274", "1e-4", "9.99e-5", "123456.789", "999999.9", "1e6", "1e7",
                 "16777217", "1e8", "1e15", "1e16", "1e22", "1e-45", "3.4028235e38", "nan", "inf", "-inf"):
        for dtype in ("float32", "float64"):
            add(f"scalar {text}", np.float64(text).astype(dtype), dtype)
    for text in ("0.1", "1000", "999.5", "65504", "6e-8", "0.0001"):
        add(f"scalar {text}", np.float16(text), "float16")
    add("scalar 1e308", 1e308, "float64")
    add("scalar 5e-324", 5e-324, "float64")
    for value, dtype in ((0, "int32"), (-2147483648, "int32"), (9223372036854775807, "int64"),
                         (18446744073709551615, "uint64"), (255, "uint8"), (-128, "int8"), (True, "bool"), (False, "bool"),
                         (1 + 2j, "complex64"), (complex(0, -1.5), "complex64"), (complex(1e7, 1e-7), "complex64"), (0, "complex64")):
        add(f"scalar {value}", value, dtype)


def add_small():
    add("guide", [[22, 28], [49, 64]], "float32")
    add("guide towers", [[44, 56], [98, 128]], "float32")
    add("vector", [1, 2, 3], "float32")
    add("one", [7.25], "float64")
    add("columns", [[1, 2.5], [10, -0.125]], "float32")
    add("negative zero", [0.0, -0.0], "float32")
    add("thirds", np.arange(1, 7) / 3, "float64", (2, 3))
    add("thirds", np.arange(1, 7) / 3, "float32", (2, 3))
    add("thirds", np.arange(1, 7) / 3, "float16", (2, 3))
    add("eight digits", [0.123456789, 1.0], "float64")
    add("rounding up", [0.999999999, 9.999999999], "float64")
    add("unit fractions", 1 / np.arange(1, 12), "float32")
    for low in (1e-3, 1e-4, 9.9e-5, 1e-8):
        add(f"smallest {low}", [low, 0.05, 0], "float32")
        add(f"smallest {low}", [low, 0.05, 0], "float64")
    for high in (99999, 999999, 1e6, 99999999, 1e8, 1e10):
        add(f"largest {high}", [high, -high / 2], "float32")
        add(f"largest {high}", [high, -high / 2], "float64")
    for ratio in (999, 1000, 1000.5, 1001):
        add(f"ratio {ratio}", [ratio, 1, 0], "float32")
        add(f"ratio {ratio}", [ratio, 1, 0], "float64")
        add(f"ratio {ratio}", [ratio / 10, 0.1, 0], "float16")
    add("exponents of three digits", [1e300, 1e-300, -1], "float64")
    add("exact digits behind", [1e-5, 1.2345678e10], "float32")
    add("zero among exponents", [0, 1.5e10], "float64")
    add("subnormal", [1e-45, 1e-38], "float32")
    add("extremes", [np.finfo("f4").max, np.finfo("f4").tiny], "float32")


def add_special():
    nan, inf = np.nan, np.inf
    for name, values in (("nan", [nan]), ("nan and one", [nan, 1]), ("nan and tenths", [nan, 0.1, 10.25]),
                         ("inf", [inf, -inf]), ("inf and one", [inf, 1]), ("minus inf and one", [-inf, 1]),
                         ("all three", [nan, inf, -inf, 1.5]), ("nan among exponents", [nan, 1e-10, 1e10]),
                         ("minus inf among exponents", [-inf, 1e-10, -1e10]),
                         ("inf hides no exponent", [inf, 123456789])):
        add(name, values, "float32")
        add(name, values, "float64")
    add("complex", [1 + 2j, 0.5 - 1e-3j], "complex64")
    add("complex with nan", [complex(nan, 1), complex(1, inf), complex(1, -inf), complex(-0.0, nan)], "complex64")
    add("complex matrix", np.arange(6) * (1 - 0.5j), "complex64", (2, 3))
    add("bool", [True, False], "bool")
    add("bool matrix", [[True, True], [True, True]], "bool")


def add_integers():
    add("widths", [1, 10, -100], "int32")
    add("extremes", [-2147483648, 2147483647, 0], "int32")
    add("extremes", [-9223372036854775808, 9223372036854775807], "int64")
    add("extremes", [0, 18446744073709551615], "uint64")
    add("extremes", [-128, 127], "int8")
    add("extremes", [-32768, 32767], "int16")
    add("extremes", [0, 65535], "uint16")
    add("extremes", [0, 4294967295], "uint32")
    add("bytes", np.arange(0, 256, 17), "uint8", (4, 4))
    add("matrix", np.arange(12) - 5, "int64", (3, 4))


def add_shapes():
    for shape in ((0,), (2, 0), (0, 3), (2, 0, 4)):
        add("empty", np.zeros(shape), "float32")
    for shape in ((1,), (1, 1), (1, 1, 1), (2, 2, 2), (2, 1, 3, 2), (2, 1, 2, 1, 2), (1,) * 8,
                  (2, 1, 1, 2, 1, 1, 2, 1)):
        add(f"rank {len(shape)}", np.arange(np.prod(shape)), "int32", shape)
        add(f"rank {len(shape)}", np.arange(np.prod(shape)) / 4, "float32", shape)
    for count in (16, 17, 25, 26, 40, 100):
        add(f"wrapping {count}", np.arange(count), "int32")
        add(f"wrapping {count}", np.arange(count) / 2, "float32")
    add("wrapping in rank 3", np.arange(2 * 2 * 30), "int64", (2, 2, 30))
    add("wrapping bools", np.arange(30) % 3 == 0, "bool")
    add("trailing blanks at the wrap", np.tile([1.0, 2.125], 12), "float64")
    rng = np.random.default_rng(1)
    add("random", rng.uniform(0, 1, 12), "float32", (3, 4))
    add("random normal", rng.normal(size=20), "float32")
    add("random normal", rng.normal(size=(4, 5)), "float64")
    add("random wide", 10.0 ** rng.uniform(-6, 6, 8), "float64")


def add_summaries():
    for shape in ((1001,), (2000,), (40, 30), (7, 200), (6, 200), (1001, 1), (1, 1001), (11, 11, 11), (7, 1, 200),
                  (1,) * 7 + (1001,)):
        size = int(np.prod(shape))
        add(f"ramp {size}", np.arange(size), "int32", shape)
        add(f"ramp {size}", np.arange(size) / 8, "float32", shape)
    add("ramp 1000", np.arange(1000), "int32")
    add("ramp of bools", np.ones(1500), "bool")
    add("ramp in rank 6", np.arange(3 * 2 * 3 * 3 * 3 * 7), "int32", (3, 2, 3, 3, 3, 7), edgeitems=1)


def add_options():
    numbers = [0.0005, 0.1, 0.123456, 2.5, 1234.5678]
    for precision in (1, 2, 4, 12):
        add(f"precision {precision}", numbers, "float32", precision=precision)
        add(f"precision {precision}", numbers[:4], "float64", precision=precision)
    add("threshold 5", np.arange(8), "int64", threshold=5)
    add("edge items 1", np.arange(36), "int64", (6, 6), threshold=5, edgeitems=1)
    for width in (3, 10, 20, 40, 120):
        add(f"line width {width}", np.arange(24) * 7, "int32", (2, 12), linewidth=width)


def add_suppressed():
    numbers = [0.0005, 1e-7, 123.456, -2.5]
    for dtype in ("float16", "float32", "float64", "complex64"):
        add("suppressed", numbers, dtype, suppress=True)
        add("suppressed, precision 3", numbers, dtype, suppress=True, precision=3)
        add("suppressed, and a large one", [1e9 if dtype != "float16" else 2000, 1e-7], dtype, suppress=True)


# ---- tensors ----

DTYPES = {name: np.dtype(getattr(ml_dtypes, name, name)) for name in (
    "bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float8_e5m2", "float8_e4m3fn",
    "bfloat16", "float16", "float32", "float64", "complex64", "complex128")}
SHAPES = [(), (0,), (1,), (5,), (13,), (30,), (2, 3), (3, 1), (4, 9), (0, 2), (2, 2, 3), (2, 1, 2, 2), (1, 2, 1, 1, 3)]
SPECIAL = [0.0, -0.0, 1.0, -1.5, math.nan, math.inf, -math.inf, 1e-5, 12345678.0, 0.1, 999.5, 99999.5]


def random_reals(rng, count):
    kind = rng.integers(6)
    if kind == 0:
        return rng.normal(size=count)
    if kind == 1:
        return 10.0 ** rng.uniform(-6, 6, count) * rng.choice([-1, 1], count)
    if kind == 2:
        return rng.integers(-50, 50, count) / rng.choice([1, 2, 4, 8, 3])
    if kind == 3:
        return 10.0 ** rng.integers(-9, 9, count)
    return rng.normal(size=count) * 10.0 ** rng.integers(-5, 6) if kind == 4 else rng.choice(SPECIAL, count)


def random_array(rng, dtype, shape):
    count = math.prod(shape)
    if dtype.kind in "iub":
        bound = 2 if dtype.kind == "b" else min(np.iinfo(dtype).max, 10 ** int(rng.integers(1, 6)))
        signs = rng.choice([-1, 1], count) if dtype.kind == "i" else 1
        return (rng.integers(0, bound, count) * signs).astype(dtype).reshape(shape)
    if rng.random() < 0.15:   # all bits
        return np.frombuffer(rng.bytes(count * dtype.itemsize), dtype).reshape(shape)
    with np.errstate(all="ignore"):
        if dtype.kind == "c":
            parts = random_reals(rng, 2 * count).astype(f"f{dtype.itemsize // 2}")
            return parts.view(dtype).reshape(shape)
        return random_reals(rng, count).astype(dtype).reshape(shape)


def random_options(rng):
    options = {}
    if rng.random() < 0.4:
        options["precision"] = int(rng.integers(1, 13))
    if rng.random() < 0.3:
        options["threshold"], options["edgeitems"] = int(rng.integers(1, 12)), int(rng.integers(1, 4))
    if rng.random() < 0.3:
        options["linewidth"] = int(rng.integers(4, 121))
    if rng.random() < 0.3:
        options["suppress"] = True
    return options


def add_tensors():
    rng = np.random.default_rng(58)
    for name, dtype in DTYPES.items():
        for shape in SHAPES:
            add(f"tensor of {name}", random_array(rng, dtype, shape), dtype, **random_options(rng), as_tensorflow=True)
    for shape in ((1001,), (40, 30), (7, 200)):
        size = math.prod(shape)
        add(f"tensor of {size}", np.arange(size), "int32", shape, as_tensorflow=True)
        add(f"tensor of {size}", np.arange(size) / 8, "float32", shape, as_tensorflow=True)
    add("tensor of rank 8", np.arange(256) / 4, "float32", (2,) * 8, as_tensorflow=True)


def ramp_step(array):
    """The step when the array is 0, step, 2 step...: such arrays are made by the test."""
    flat = array.reshape(-1)
    if flat.size < 64 or flat.dtype.name not in ("int32", "float32"):
        return None
    step = float(flat[1])
    return step if np.array_equal(flat, (np.arange(flat.size) * step).astype(flat.dtype)) else None


def printed(array, options):
    numpys = {name: value for name, value in options.items() if name != "as_tensorflow"}
    with np.printoptions(**{**DEFAULTS, **numpys}):
        if "as_tensorflow" in options:
            return str(tf.constant(array))
        return str(array[()] if array.shape == () else array)


def record(name, array, options):
    text, step, attrs = printed(array, options), ramp_step(array), dict(options)
    if step is not None:
        attrs["step"], array = {"float": step}, np.zeros_like(array)
    if array.dtype.name not in golden_form.SIZES:
        attrs["type"] = {"type": array.dtype.name}
        array = (array[..., np.newaxis].view("f8") if array.dtype.kind == "c" else
                 np.ascontiguousarray(array).view("u1").reshape(array.shape))
    return {"name": name, **({"attrs": attrs} if attrs else {}), "inputs": [golden_form.array_text(array)], "text": text}


def main():
    for part in (add_scalars, add_small, add_special, add_integers, add_shapes, add_summaries, add_options, add_suppressed,
                 add_tensors):
        part()
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "formats.json")
    recorded = [record(*case) for case in cases]
    size = golden_form.write_file(path, {"op": "formats", "made_with": f"NumPy {np.__version__}, TensorFlow {tf.__version__}"}, recorded)
    print(f"{len(cases)} cases, {size} bytes")


if __name__ == "__main__":
    main()
