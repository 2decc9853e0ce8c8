# SPDX-License-Identifier: Apache-2.0
"""What ops compute by attributes that TensorFlow lacks, and ops of bits. The references are integers of Python, and bits. Where XLA
has the op, TensorFlow's jit compiler must agree; so must JAX for the others, if it is installed."""
import numpy as np
import tensorflow as tf

from golden_case import (BF16, EXACT, F16, F32, F64, FLOATING, I32, INTEGERS, INTS, NUMERIC, SIGNED_NUMERIC, U8, Recorder, agrees,
                         canonical, first_difference, random_values)
from golden_math import HALFWAY, wrapped
from golden_shapes import text

try:
    import jax
    jax.config.update("jax_enable_x64", True)
except ImportError:
    jax = None

SHAPES = ((), (3, 4), (2, 1, 2, 1, 2, 1, 2, 3), (0,), (2, 0, 3), (65,))


def agree(name, expected, actual):
    assert agrees(expected, np.asarray(actual), EXACT), (name, first_difference(expected, np.asarray(actual)))


def few(dtype):
    info = np.iinfo(dtype)
    return np.array(sorted({info.min, info.max, 0, 1, 2, 7, info.max // 3} | ({-1, -2, -7, info.min + 1} if info.min else set())), dtype)


def pairs(x, y):
    return [np.repeat(x, len(y)), np.tile(y, len(x))]


def zeros(dtype):
    tiny = np.float64(np.finfo(dtype).smallest_subnormal) if dtype != BF16 else 2.0**-133
    return np.array([0, -0.0, 1, -1, np.nan, np.inf, -np.inf, tiny, -tiny, 2.5], np.float64).astype(dtype)


# ---- divisions and powers that never fail ----

def truncated(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def power(a, b):
    return pow(a, b, 2**64) if b >= 0 else a if a in (0, 1) or (a == -1 and b % 2) else abs(a) == 1


DIVISIONS = {
    "Div": lambda a, b: truncated(a, b) if b else -1, "TruncateDiv": lambda a, b: truncated(a, b) if b else -1,
    "FloorDiv": lambda a, b: a // b if b else -1, "FloorMod": lambda a, b: a % b if b else a,
    "TruncateMod": lambda a, b: a - truncated(a, b) * b if b else a, "Pow": power,
}


def xla(op, x, y):
    @tf.autograph.experimental.do_not_convert
    def body(x, y):
        return {"Div": tf.truncatediv, "TruncateDiv": tf.truncatediv, "TruncateMod": tf.truncatemod, "Pow": tf.pow, "LeftShift": tf.bitwise.left_shift,
                "RightShift": tf.bitwise.right_shift}[op](x, y)
    return tf.function(body, jit_compile=True)(tf.constant(x), tf.constant(y)).numpy()


def never_fails(op, r):
    for dtype in INTEGERS:
        x, y = pairs(few(dtype), few(dtype))
        if op == "Pow":
            x, y = pairs(few(dtype), np.array([0, 1, 2, 3, 5, 40] + ([-1, -2, -3] if dtype.kind == "i" else []), dtype))
        z = wrapped(x, y, DIVISIONS[op])
        if op in ("Div", "TruncateDiv") or (op in ("TruncateMod", "Pow") and dtype in INTS):
            agree(op, z, xla(op, x, y))
        ours(r, f"{dtype.name}_never_fails", [x, y], z, {"never_fails": True})
    x, y = np.arange(-3, 3, dtype=I32).reshape(3, 2), np.array([0, 4], I32)
    ours(r, "int32_never_fails_broadcast", [x, y], wrapped(x, y, DIVISIONS[op]), {"never_fails": True})
    ours(r, "int32_never_fails_x_scalar", [x[2, 1], x], wrapped(x[2, 1], x, DIVISIONS[op]), {"never_fails": True})
    ours(r, "int32_never_fails_y_scalar", [x, y[0]], wrapped(x, y[0], DIVISIONS[op]), {"never_fails": True})
    x, y = np.array([1, -1, 0, 6], F32), np.array([0, 0, 0, 2], F32)
    r.add("float32_never_fails", [x, y], {}, tolerance={"ulp": 2} if op == "Pow" else EXACT)
    r.cases[-1]["attrs"] = {"never_fails": True}
    if op == "Pow":
        unsigned_powers(r)


def unsigned_powers(r):
    for dtype in [t for t in INTEGERS if t.kind == "u"]:
        x, y = pairs(few(dtype), np.array([0, 1, 2, 3, 40, np.iinfo(dtype).max], dtype))
        ours(r, f"{dtype.name}_edges", [x, y], wrapped(x, y, power), {})


def ours(r, name, inputs, output, attrs):
    """A case whose outputs are the reference's; TensorFlow does not run."""
    case = r._begin(name, inputs, attrs)
    case.update(outputs=[canonical(output)], source="reference")
    r.cases.append(case)


# ---- shifts ----

def shifted(op, bits, attrs):
    def one(a, b):
        count = b if attrs.get("shifts_out") and 0 <= b < bits else bits if attrs.get("shifts_out") else min(max(b, 0), bits - 1)
        return a << count if op == "LeftShift" else (a % 2**bits if attrs.get("logical") else a) >> count
    return one


def shifts(op, r):
    for dtype in INTEGERS:
        bits, info = 8 * dtype.itemsize, np.iinfo(dtype)
        counts = [0, 1, bits - 1, bits, bits + 1, 100, info.max] + ([-1, -bits, info.min] if info.min else [])
        x, y = pairs(few(dtype), np.array(counts, dtype))
        for attrs in ({"shifts_out": True}, {"logical": True}, {"shifts_out": True, "logical": True})[:1 if op == "LeftShift" else 3]:
            z = wrapped(x, y, shifted(op, bits, attrs))
            if attrs == {"shifts_out": True}:
                agree(op, z, xla(op, x, y))
            elif "shifts_out" in attrs and jax:
                agree(op, z, jax.lax.shift_right_logical(x, y))
            ours(r, f"{dtype.name}_{'_'.join(attrs)}", [x, y], z, attrs)


# ---- signed zeros, and ties away from zero ----

def extreme(op, x, y):
    """The larger or the smaller of each pair, and NaN if there is one; -0 is below 0."""
    with np.errstate(all="ignore"):
        z = (np.maximum if op == "Maximum" else np.minimum)(x, y)
    if x.dtype not in FLOATING:
        return z
    signs = np.signbit(x), np.signbit(y)
    both = signs[0] & signs[1] if op == "Maximum" else signs[0] | signs[1]
    return np.where((x == 0) & (y == 0), np.where(both, -0.0, 0.0).astype(x.dtype), z).astype(x.dtype)


def extremes(op, r):
    for dtype in NUMERIC:
        x, y = pairs(*[zeros(dtype) if dtype in FLOATING else few(dtype)] * 2)
        z = extreme(op, x, y)
        if jax:
            denormal = np.abs(zeros(dtype)[7]) if dtype in FLOATING else -1  # the compiler's code takes it for 0
            seen = (np.abs(x) != denormal) & (np.abs(y) != denormal)
            agree(op, z[seen], np.asarray(getattr(jax.lax, {"Maximum": "max", "Minimum": "min"}[op])(x, y))[seen])
        ours(r, f"{dtype.name}_signed_zero", [x, y], z, {"signed_zero": True})
    for shape in ((), (7, 1)):
        x, y = np.full(shape, -0.0, F32), np.zeros(3, F32)
        for name, inputs in (("x", [x, y]), ("y", [y, x])):
            ours(r, f"float32_signed_zero_{name}_{text(shape)}", inputs, extreme(op, *np.broadcast_arrays(*inputs)), {"signed_zero": True})


def signs(op, r):
    for dtype in NUMERIC:
        x = zeros(dtype) if dtype in FLOATING else few(dtype)
        y = np.where(x == 0, x, np.sign(x)).astype(dtype)
        ours(r, f"{dtype.name}_signed_zero", [x], y, {"signed_zero": True})


def ties_away(op, r):
    for dtype in SIGNED_NUMERIC:
        if dtype not in FLOATING:
            ours(r, f"{dtype.name}_ties_away", [few(dtype)], few(dtype), {"ties_away": True})
            continue
        some = HALFWAY + (3.5, -0.25, 0.25, 2.4999998, 1023.5, -126.5, 255.0)
        x = np.concatenate([zeros(dtype), np.array([v for v in some if dtype != F16 or abs(v) < 1e4], F64).astype(dtype)])
        wide = x.astype(F64)
        with np.errstate(all="ignore"):
            y = np.copysign(np.floor(np.abs(wide)) + (np.abs(wide) - np.floor(np.abs(wide)) >= 0.5), wide).astype(dtype)
        if jax:
            agree(op, y, jax.lax.round(x, jax.lax.RoundingMethod.AWAY_FROM_ZERO))
        ours(r, f"{dtype.name}_ties_away", [x], y, {"ties_away": True})


# ---- bits ----

def population_count():
    r = Recorder("PopulationCount")
    for dtype in INTEGERS:
        x = np.concatenate([few(dtype), random_values(dtype, (20,), "PopulationCount")])
        r.add(f"{dtype.name}_values", [x])
        count = np.array([bin(int(v) % 2**(8 * dtype.itemsize)).count("1") for v in x], dtype)
        if jax:
            agree(r.op, count, jax.lax.population_count(x))
        ours(r, f"{dtype.name}_of_its_type", [x], count, {"output_type": dtype})
    for shape in SHAPES:
        r.add(f"int32_shape_{text(shape)}", [random_values(I32, shape, "PopulationCount")])
    r.our_error("output_type_is_another", [few(I32)], {"output_type": np.dtype("int64")}, "output_type is int64; accepted are uint8")
    return r


def count_leading_zeros():
    def reference(inputs, attrs):
        x = inputs[0]
        bits = 8 * x.dtype.itemsize
        z = np.array([bits - (int(v) % 2**bits).bit_length() for v in x.reshape(-1)], x.dtype).reshape(x.shape)
        if jax:
            agree("CountLeadingZeros", z, jax.lax.clz(x))
        return z
    r = Recorder("CountLeadingZeros", "none", reference)
    for dtype in INTEGERS:
        powers = np.array([1 << k for k in range(8 * dtype.itemsize - (dtype.kind == "i"))], dtype)
        r.add(f"{dtype.name}_values", [np.concatenate([few(dtype), powers, powers - 1])], numpy_only=True)
    for shape in SHAPES:
        r.add(f"int32_shape_{text(shape)}", [random_values(I32, shape, "CountLeadingZeros")], numpy_only=True)
    r.our_error("of_floats", [np.zeros(3, F32)], {}, "CountLeadingZeros")
    return r


WIDTHS = {F16: (5, 10), BF16: (8, 7), F32: (8, 23), F64: (11, 52)}   # exponent, fraction


def reduced(bits, widths, exponent, mantissa):
    """XLA's algorithm, on the bits of a value without its sign."""
    full_exponent, full_mantissa = widths
    infinity = ((1 << full_exponent) - 1) << full_mantissa
    if bits > infinity:
        return infinity + 1
    if mantissa < full_mantissa:
        cut = full_mantissa - mantissa
        bits = (bits + (1 << cut - 1) - 1 + (bits >> cut & 1)) >> cut << cut
    if exponent < full_exponent:
        bias, smaller = (1 << full_exponent - 1) - 1, (1 << exponent - 1) - 1
        if bits >> full_mantissa > bias + smaller:
            return infinity
        if bits >> full_mantissa <= bias - smaller:
            return 0
    return bits


def reduce_precision_reference(inputs, attrs):
    x = inputs[0]
    unsigned, bits = np.dtype(f"uint{8 * x.dtype.itemsize}"), 8 * x.dtype.itemsize
    values = [(int(v) >> bits - 1 << bits - 1) * (not np.isnan(f)) | reduced(int(v) % (1 << bits - 1), WIDTHS[x.dtype], **dict(
        exponent=attrs["exponent_bits"], mantissa=attrs["mantissa_bits"])) for v, f in zip(x.reshape(-1).view(unsigned), x.reshape(-1))]
    return np.array(values, unsigned).view(x.dtype).reshape(x.shape)


def reduce_precision():
    r = Recorder("ReducePrecision", "none", reduce_precision_reference)
    for dtype in FLOATING:
        exponent, mantissa = WIDTHS[dtype]
        bits = np.dtype(f"int{8 * dtype.itemsize}")
        ends = np.array([0, 1, 3, (1 << mantissa) - 1, 1 << mantissa, ((1 << exponent) - 1 << mantissa) - 1, (1 << exponent) - 1 << mantissa], bits)
        any_bits = np.random.RandomState(17).bytes(40 * dtype.itemsize)
        near = np.array([1, 1.5, 2.5, 3.0, 65519.0, 65520.0, 57344.0, 61440.0, 2.0**-14, 2.0**-15 * 1.999, 1.1e-5, 0.1, 448, 464, 240], F64)
        with np.errstate(all="ignore"):
            x = np.concatenate([zeros(dtype), ends.view(dtype), near.astype(dtype), np.frombuffer(any_bits, dtype)])
        x = np.concatenate([x, -x])
        for e, m in ((8, 7), (5, 10), (4, 3), (5, 2), (1, 0), (8, 23), (2, 0), (11, 4), (5, 0), (100, 1), (3, 60), (64, 64)):
            attrs = {"exponent_bits": e, "mantissa_bits": m}
            if jax and (dtype != BF16 or (e, m) != (64, 64)):
                agree((r.op, dtype, attrs), reduce_precision_reference([x], attrs), jax.lax.reduce_precision(x, e, m))
            r.add(f"{dtype.name}_e{e}_m{m}", [x], attrs, numpy_only=True)
    for shape in SHAPES:
        r.add(f"float32_shape_{text(shape)}", [random_values(F32, shape, "ReducePrecision")], {"exponent_bits": 5, "mantissa_bits": 4}, numpy_only=True)
    one = [np.ones(1, F32)]
    r.our_error("no_exponent", one, {"exponent_bits": 0, "mantissa_bits": 7}, "exponent_bits is 0; accepted is 1 and more")
    r.our_error("negative_mantissa", one, {"exponent_bits": 5, "mantissa_bits": -1}, "mantissa_bits is -1; accepted is 0 and more")
    r.our_error("no_mantissa_bits", one, {"exponent_bits": 5}, "mantissa_bits")
    return r


EXTENDED = {**{op: never_fails for op in DIVISIONS}, "LeftShift": shifts, "RightShift": shifts, "Maximum": extremes, "Minimum": extremes,
            "Sign": signs, "Round": ties_away}


def extend(op, recorder):
    if op in EXTENDED:
        EXTENDED[op](op, recorder)


def build():
    return {"PopulationCount": population_count, "CountLeadingZeros": count_leading_zeros, "ReducePrecision": reduce_precision}
