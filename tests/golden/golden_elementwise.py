# SPDX-License-Identifier: Apache-2.0
"""Elementwise ops: unary, binary with broadcasting, Select, Cast."""
import decimal
import math

import numpy as np

from golden_case import (ALL_TYPES, BF16, BOOL, EXACT, F16, F32, F64, FLOATING, FLOATS, HALVES, I32, I64, INTEGERS, INTS,
                         MOVED_TYPES, NUMBERS, NUMERIC, NUMERIC_BOOL, SIGNED_NUMERIC, UNSIGNED, VALUE, Recorder, cycled,
                         random_values, rng_for)
from golden_shapes import (BAD_BROADCASTS, BROADCASTS, EMPTY_BROADCASTS, EMPTY_SHAPES, FEW_BROADCASTS, LARGE_SIZES,
                           SHAPES, SIZES, text)
from golden_types import further_binary, further_unary, integer_edges, through_float32

decimal.getcontext().prec = 60
decimal.getcontext().Emin, decimal.getcontext().Emax = -10**9, 10**9
D = decimal.Decimal


def correctly_rounded(function, special):
    """An array function from one on Decimals (60 digits); special maps NaN, infinities and poles, or gives None."""
    def one(x, dtype):
        x = float(x)
        y = special(x)
        return dtype.type(float(function(D(x))) if y is None else y)

    def apply(array):
        flat = [one(x, array.dtype) for x in array.reshape(-1)]
        return np.array(flat, dtype=array.dtype).reshape(array.shape)
    return apply


def table(**limits):
    """special() from values at nan, inf, -inf and zero."""
    def special(x):
        if math.isnan(x):
            return math.nan
        if math.isinf(x):
            return limits["top" if x > 0 else "bottom"]
        return limits["zero"](x) if x == 0 and "zero" in limits else None
    return special


def d_exp(x):
    return D("Infinity") if x > 100000 else D(0) if x < -100000 else x.exp()


def d_tanh(x):
    if abs(x) < D("1e-12"):
        return x - x * x * x / 3
    t = d_exp(-2 * abs(x))
    return ((1 - t) / (1 + t)).copy_sign(x)


def log_special(x):
    return math.nan if math.isnan(x) or x < 0 else math.inf if x == math.inf else -math.inf if x == 0 else None


exact_exp = correctly_rounded(d_exp, table(top=math.inf, bottom=0.0))
exact_log = correctly_rounded(lambda x: x.ln(), log_special)
exact_tanh = correctly_rounded(d_tanh, table(top=1.0, bottom=-1.0, zero=lambda x: x))
exact_sigmoid = correctly_rounded(lambda x: 1 / (1 + d_exp(-x)), table(top=1.0, bottom=0.0))

SPECIALS = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0)


def specials(dtype):
    info = np.finfo(dtype)
    return np.array(SPECIALS + (info.max, -info.max, info.tiny, -info.tiny, info.eps, 1 + info.eps), dtype=dtype)


def denormals(dtype):
    info = np.finfo(dtype)
    small = info.smallest_subnormal
    return np.array([small, -small, info.tiny / 2, -info.tiny / 2, info.tiny - small, 3 * small], dtype=dtype)


def corners(dtype):
    info = np.iinfo(dtype)
    return np.array([info.min, info.min + 1, info.max, info.max - 1, 0, 1, -1, 2, -2, 3, 65536, -46341], dtype=dtype)


# op: (TensorFlow's op, reference, types, tolerances by type, largest ulp allowed to TensorFlow itself)
ROUNDED = {F32: {"ulp": 2}, F64: {"ulp": 4}}
UNARY = {
    "Neg": (lambda x: -x, NUMBERS, EXACT), "Abs": (np.abs, NUMBERS, EXACT), "Square": (lambda x: x * x, NUMBERS, EXACT),
    "Sqrt": (np.sqrt, FLOATS, EXACT), "Exp": (exact_exp, FLOATS, ROUNDED), "Log": (exact_log, FLOATS, ROUNDED),
    "Tanh": (exact_tanh, FLOATS, ROUNDED), "Sigmoid": (exact_sigmoid, FLOATS, ROUNDED),
    "Relu": (lambda x: np.maximum(x, x.dtype.type(0)), NUMBERS, VALUE), "Identity": (lambda x: x, MOVED_TYPES, EXACT),
    "ZerosLike": (np.zeros_like, MOVED_TYPES, EXACT), "OnesLike": (np.ones_like, MOVED_TYPES, EXACT),
    "LogicalNot": (np.logical_not, (BOOL,), EXACT),
}
TF_ULP = {"ulp": 16}


def all_types(op, types):
    """The op's types beyond those with many cases."""
    wider = {NUMBERS: SIGNED_NUMERIC if op in ("Neg", "Abs") else NUMERIC, FLOATS: FLOATING, ALL_TYPES: NUMERIC_BOOL}
    return wider.get(types, ())


# Values near range reductions or changes of formula.
RANGES = {
    "Exp": {F32: (88.0, 88.72283, 88.72284, 89.0, -87.0, -87.33654, 0.34657, 0.34658, -0.34658, 1e-8, -1e-8, 20.5),
            F64: (709.0, 709.782712893384, 709.7827128933841, -708.0, -708.396, 0.34657359, 1e-17, -1e-17, 300.25)},
    "Log": {F32: (0.99999994, 1.0000001, 0.70710677, 0.7071068, 1.4142135, 1.4142137, 2.0, 10.0, 1e30, 1e-30),
            F64: (0.9999999999999999, 1.0000000000000002, 0.7071067811865475, 1.4142135623730951, 2.0, 1e300, 1e-300)},
    "Tanh": {F32: (1e-20, -1e-5, 0.0004, 0.00041, 0.62, 0.625, 7.9, 7.91, 9.0, 9.02, -9.1, 20.0, 100.0),
             F64: (1e-200, -1e-9, 0.0004, 0.62, 0.625, 18.9, 19.1, -22.5, 400.0)},
    "Sigmoid": {F32: (1e-20, 16.6, 16.7, 18.0, 88.0, -16.6, -16.7, -18.0, -50.0, -87.0, -9.0, 9.0),
                F64: (1e-200, 36.7, 36.8, 700.0, -36.7, -36.8, -700.0)},
    "Sqrt": {F32: (2.0, 3.0, 1e30, 1e-30, 4.0, 0.25, 16777215.0), F64: (2.0, 3.0, 1e300, 1e-300, 9007199254740991.0)},
}


def unary_values(op, dtype, shape, *name):
    x = random_values(dtype, shape, op, *name)
    return np.abs(x) if op in ("Sqrt", "Log") else x


def unary(op):
    function, types, tolerance = UNARY[op]
    function = through_float32(function)
    r = Recorder(op, reference=lambda inputs, attrs: function(inputs[0]))
    extra = {"tf_tolerance": TF_ULP} if tolerance is ROUNDED else {}
    for dtype in types:
        tol = tolerance[dtype] if tolerance is ROUNDED else tolerance
        name = dtype.name
        sizes = SIZES + LARGE_SIZES if dtype == F32 or types == (BOOL,) else (1, 3, 16, 33, 65)
        for n in sizes:
            values = unary_values(op, dtype, (n,))
            r.add(f"{name}_size_{n}", [cycled(values, 499 if op in RANGES else 61)], tolerance=tol, **extra)
        for shape in (SHAPES if dtype == types[0] else SHAPES[:1] + SHAPES[-2:]) + EMPTY_SHAPES[:3]:
            if len(shape) != 1 or 0 in shape:
                r.add(f"{name}_shape_{text(shape)}", [unary_values(op, dtype, shape)], tolerance=tol, **extra)
        if dtype in FLOATS:
            r.add(f"{name}_special_values", [specials(dtype)], tolerance=tol, **extra)
            r.add(f"{name}_denormals", [denormals(dtype)], tolerance=tol, numpy_only=True)
            if op in RANGES:
                r.add(f"{name}_range_ends", [np.array(RANGES[op][dtype], dtype=dtype)], tolerance=tol, **extra)
                wide = 10.0 ** rng_for(op, name, "wide").uniform(-6, 2 if op in ("Tanh", "Sigmoid") else 1.9, size=64)
                sign = 1 if op in ("Sqrt", "Log") else np.where(np.arange(64) % 2, -1, 1)
                r.add(f"{name}_many_magnitudes", [(wide * sign).astype(dtype)], tolerance=tol, **extra)
        if dtype in INTS:
            r.add(f"{name}_corners_wrap_around", [corners(dtype)], tolerance=tol)
        if op in ("Exp", "Sigmoid") and dtype in FLOATS:
            low = (-87.4, -90.0, -100.0, -103.9, -104.5) if dtype == F32 else (-708.5, -720.0, -740.0, -745.1, -746.0)
            r.add(f"{name}_denormal_results", [np.array(low, dtype=dtype)], tolerance=tol, numpy_only=True)
    further_unary(r, op, function, all_types(op, types), tolerance, **extra)
    if op in ("Neg", "Abs"):
        further_unary(r, op, function, UNSIGNED, tolerance, numpy_only=True)   # TensorFlow has none
    return r


def truncating_divide(x, y):
    if x.dtype.kind == "f":
        return x / y
    x, y = np.broadcast_arrays(x, y)
    wide = [int(a) // int(b) if (a < 0) == (b < 0) else -(abs(int(a)) // abs(int(b)))
            for a, b in zip(x.reshape(-1), y.reshape(-1))]
    lowest, span = int(np.iinfo(x.dtype).min), 2 ** (x.dtype.itemsize * 8)   # the lowest value by -1 wraps around
    return np.array([(w - lowest) % span + lowest for w in wide], dtype=x.dtype).reshape(x.shape)


# op: (TensorFlow's op, reference, types, tolerance)
BINARY = {
    "Add": ("AddV2", np.add, NUMBERS, EXACT), "Sub": ("Sub", np.subtract, NUMBERS, EXACT),
    "Mul": ("Mul", np.multiply, NUMBERS, EXACT), "Div": ("Div", truncating_divide, NUMBERS, EXACT),
    "Maximum": ("Maximum", np.maximum, NUMBERS, VALUE), "Minimum": ("Minimum", np.minimum, NUMBERS, VALUE),
    "Equal": ("Equal", np.equal, ALL_TYPES, EXACT), "NotEqual": ("NotEqual", np.not_equal, ALL_TYPES, EXACT),
    "Less": ("Less", np.less, NUMBERS, EXACT), "LessEqual": ("LessEqual", np.less_equal, NUMBERS, EXACT),
    "Greater": ("Greater", np.greater, NUMBERS, EXACT),
    "GreaterEqual": ("GreaterEqual", np.greater_equal, NUMBERS, EXACT),
    "LogicalAnd": ("LogicalAnd", np.logical_and, (BOOL,), EXACT),
    "LogicalOr": ("LogicalOr", np.logical_or, (BOOL,), EXACT),
}
COMPARISONS = ("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual")


def pair(op, dtype, x_shape, y_shape, *name):
    """Operands; divisors are not zero; comparisons meet equal values often."""
    x, y = random_values(dtype, x_shape, op, "x", *name), random_values(dtype, y_shape, op, "y", *name)
    if op in COMPARISONS and dtype != BOOL:
        x, y = np.asarray(np.trunc(x % 3), dtype=dtype), np.asarray(np.trunc(y % 3), dtype=dtype)
    if op == "Div" and dtype in INTEGERS and dtype not in INTS:
        y = np.where(y == 0, dtype.type(3), y)
    elif op == "Div" and dtype in INTS:
        y = np.where(y % 8 == 0, dtype.type(7), np.asarray(y // 40, dtype=dtype))
        y = np.asarray(np.where(y == 0, dtype.type(-3), y), dtype=dtype)
    return [x, y]


def divisible(dtype, x, y):
    """Pairs for which TensorFlow defines integer division."""
    if dtype not in INTEGERS:
        return np.ones(x.shape, bool)
    return (y != 0) & ~((x == np.iinfo(dtype).min) & (y == dtype.type(-1) if np.iinfo(dtype).min else y != y))


def all_pairs(values):
    return [np.repeat(values, len(values)).reshape(len(values), -1), np.tile(values, (len(values), 1))]


def binary_special(r, op, dtype, tolerance):
    name = dtype.name
    if dtype in FLOATS:
        x, y = all_pairs(specials(dtype) if dtype == F32 else specials(dtype)[:-3])
        if op in ("Mul", "Div", "Add", "Sub"):   # no denormal results: TensorFlow flushes them
            with np.errstate(all="ignore"):
                result = np.abs(BINARY[op][1](x, y))
            keep = (result == 0) | ~(result < np.finfo(dtype).tiny)
            x, y = x[keep], y[keep]
        elif dtype != F32:   # as many pairs with less text
            x, y = specials(dtype)[:, None], specials(dtype)
        r.add(f"{name}_special_values", [x, y], tolerance=tolerance)
        with_normal = np.concatenate([denormals(dtype), np.array([0.0, -0.0, 0.5, -1.0, np.finfo(dtype).tiny], dtype)])
        r.add(f"{name}_denormals", [with_normal[:, None], with_normal], tolerance=tolerance, numpy_only=True)
    elif dtype in INTS:
        values = corners(dtype)
        if op == "Div":
            x, y = all_pairs(values)
            keep = (y != 0) & ~((x == np.iinfo(dtype).min) & (y == -1))
            r.add(f"{name}_corners", [x[keep], y[keep]], tolerance=tolerance)
            r.add(f"{name}_lowest_by_minus_one_wraps", [np.array([np.iinfo(dtype).min], dtype), np.array([-1], dtype)],
                  numpy_only=True)
        else:
            both = all_pairs(values) if dtype == I32 else [values[:, None], values]
            r.add(f"{name}_corners_wrap_around", both, tolerance=tolerance)
    else:
        r.add("bool_truth_table", all_pairs(np.array([False, True])))


def broadcasts(x, y):
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return True


def binary(op):
    tf_op, function, types, tolerance = BINARY[op]
    function = through_float32(function)
    equality = op in ("Equal", "NotEqual")

    def reference(inputs, attrs):
        if not attrs.get("incompatible_shape_error", True) and not broadcasts(*inputs):
            return np.array(op == "NotEqual")
        return np.asarray(function(*inputs))
    r = Recorder(op, tf_op, reference)
    for dtype in types:
        name, main = dtype.name, dtype == types[0]
        sizes = SIZES + LARGE_SIZES if main else (1, 16, 33, 65)
        for n in sizes:
            x, y = pair(op, dtype, (n,), (n,))
            r.add(f"{name}_size_{n}", [cycled(x, 29 if n < 257 else 13), cycled(y, 31 if n < 257 else 17)],
                  tolerance=tolerance)
        for a, b in BROADCASTS + EMPTY_BROADCASTS if main else FEW_BROADCASTS:
            r.add(f"{name}_broadcast_{text(a)}_{text(b)}", pair(op, dtype, a, b), tolerance=tolerance)
        binary_special(r, op, dtype, tolerance)
    further_binary(r, op, function, all_types(op, types), tolerance, lambda dtype, a, b: pair(op, dtype, a, b),
                   pairs=divisible if op == "Div" else None)
    for a, b in BAD_BROADCASTS:
        r.error(f"incompatible_shapes_{text(a)}_{text(b)}", pair(op, types[0], a, b), contains="Incompatible shapes")
    if equality:
        for a, b in BAD_BROADCASTS + (((2, 3), (3,)), ((4,), ()), ((0,), (1,))):
            r.add(f"shapes_may_differ_{text(a)}_{text(b)}", pair(op, types[0], a, b), {"incompatible_shape_error": False})
        r.add("bool_shapes_may_differ", pair(op, BOOL, (2,), (3,)), {"incompatible_shape_error": False})
    if op == "Div":
        for dtype in INTEGERS:
            zero = np.array([4, 0, 2], dtype)
            r.error(f"{dtype.name}_division_by_zero", [np.array([1, 2, 3], dtype), zero], contains="division by zero")
            r.error(f"{dtype.name}_division_by_scalar_zero", [np.array([1, 2], dtype), np.array(0, dtype)],
                    contains="division by zero")
    return r


def select():
    r = Recorder("Select", "SelectV2", lambda inputs, attrs: np.where(*inputs))
    triples = (((), (), ()), ((), (5,), (5,)), ((5,), (5,), (5,)), ((5,), (), ()), ((5,), (5,), ()), ((5,), (), (5,)),
               ((3, 4), (3, 4), (3, 4)), ((4,), (3, 4), (3, 4)), ((3, 1), (3, 4), (3, 4)), ((3, 1), (1, 4), ()),
               ((1, 4), (3, 1), (3, 4)), ((2, 1, 1), (1, 3, 1), (1, 1, 4)), ((), (3, 1), (1, 4)),
               ((2, 3, 4), (4,), (3, 1)), ((2, 1, 2, 1), (1, 3, 1, 2), (2,)),
               ((1, 2, 1, 2, 1), (2, 1, 2, 1, 2), (2, 2, 2, 2, 2)),
               ((2, 2, 1, 1, 2, 1, 1, 2), (2, 2, 1, 1, 2, 1, 1, 2), ()),
               ((2, 1, 2, 1, 2, 1, 2, 1), (1, 2, 1, 2, 1, 2, 1, 2), ()), ((0,), (0,), (0,)), ((0,), (), (1,)),
               ((3, 0), (1,), (3, 1)))
    for dtype in MOVED_TYPES:
        for shapes in triples if dtype == F32 else triples[:1] + triples[5:6] + triples[10:14] + triples[-1:]:
            values = [random_values(t, s, "Select", i) for i, (t, s) in enumerate(zip((BOOL, dtype, dtype), shapes))]
            r.add(f"{dtype.name}_{'_'.join(map(text, shapes))}", values)
        for n in SIZES + LARGE_SIZES if dtype == F32 else (17, 65):
            r.add(f"{dtype.name}_size_{n}", [cycled(random_values(t, (n,), "Select", i), 53 + 6 * i)
                                             for i, t in enumerate((BOOL, dtype, dtype))])
    for dtype in FLOATS:   # the branch not taken must not leak its NaN
        s = specials(dtype)
        r.add(f"{dtype.name}_special_values", [np.arange(len(s)) % 2 == 0, s, s[::-1].copy()])
    for shapes in (((3,), (4,), (4,)), ((2,), (3,), ()), ((2, 3), (2,), (2, 3))):
        values = [random_values(t, s, "Select") for t, s in zip((BOOL, F32, F32), shapes)]
        r.error("incompatible_shapes_" + "_".join(map(text, shapes)), values)
    return r


def cast_values(source, target, n, *name):
    if source in FLOATS:
        x = random_values(source, (n,), "Cast", target.name, *name)
        return x * source.type(1 if target == BOOL else 1000.5) if n > 1 else x
    return random_values(source, (n,), "Cast", target.name, *name)


def cast_specials(source, target):
    """Values whose conversion is defined: floats to integers stay within range."""
    if source == BOOL:
        return np.array([False, True])
    if source in INTS:
        extra = [16777217, -16777217, 16777219,
                 2**31 - 65] + ([2**53 + 1, 2**62 + 1, -2**63 + 1, 2**32 + 5] if source == I64 else [])
        return np.concatenate([corners(source), np.array(extra, dtype=source)])
    if target in INTS:
        edges = [0.0, -0.0, 0.5, -0.5, 0.99, -0.99, 1.5, -1.5, 2.5, 1e6, -1e6, 2147483520.0, -2147483648.0, 1e-30]
        edges += [] if target == I32 else [1e15, -1e15, 9.2e18, -9223372036854775808.0]
        edges += [2147483647.0, 2147483646.9] if source == F64 else []
        return np.array(edges, dtype=source)
    return specials(source)


FRACTION_BITS = {F64: 52, F32: 23, F16: 10, BF16: 7}


def cast_reference(inputs, attrs):
    x, target = inputs[0], attrs["DstT"]
    shortens = x.dtype in FLOATS and FRACTION_BITS.get(target, 99) < FRACTION_BITS[x.dtype]
    if attrs.get("Truncate") and shortens and (x.dtype, target) != (F64, BF16):   # TensorFlow rounds these anyway
        # Drops the bits beyond the target's precision: toward zero.
        whole = I64 if x.dtype == F64 else I32
        dropped = x.view(whole) & ~whole.type(2**(FRACTION_BITS[x.dtype] - FRACTION_BITS[target]) - 1)
        x = np.where(np.isnan(x), x, dropped.view(x.dtype))
    if x.dtype in HALVES or target in HALVES:   # conversions from and to halves go through float32
        x = x.astype(F32)
    return x.astype(target)


def half_values(dtype):
    """The places where a half's range and precision change, of both signs."""
    p = FRACTION_BITS[dtype]
    top, low = (65504.0, 2.0**-14) if dtype == F16 else (float.fromhex("0x1.fep127"), 2.0**-126)
    one = [0.0, 1.0, 1 + 2.0**-p, 1 - 2.0**-(p + 1), 0.3, 2.5, low, low * (1 - 2.0**-p), low * 2.0**-p,
           3 * low * 2.0**-p, top, 2.0**p, 2.0**(p + 1) - 1, 100.0]
    return np.array(one + [-x for x in one], F64)


def around_halves(dtype):
    """Values that round to a half: midpoints between neighbours, which round to the even one, and values beside midpoints."""
    p = FRACTION_BITS[dtype]
    top, low = (65504.0, 2.0**-14) if dtype == F16 else (float.fromhex("0x1.fep127"), 2.0**-126)
    step = low * 2.0**-p   # the smallest denormal
    middles = [1 + 2.0**-(p + 1), 1 + 3 * 2.0**-(p + 1), 2 - 2.0**-(p + 1), top * (1 + 2.0**-(p + 2)),
               step / 2, step * 1.5, step * 2.5, low - step / 2, low + step / 2, 3.5 * step]
    middles.append(top + (top - top * (1 - 2.0**-p)) / 2 if dtype == F16 else top)
    near = [m * f for m in middles for f in (1, 1 - 2.0**-22, 1 + 2.0**-22)]
    if dtype == F16:
        near += [65519.0, 65520.0, 65536.0, 1e6, 1e30]
    return np.array(near + [-x for x in near], F64)


def half_sources(source, target):
    """Values of `source` that show its conversion to `target`; one of the two is a half."""
    half = source if source in HALVES else target
    if source == BOOL:
        return np.array([False, True])
    if source in INTS:
        extra = [2047, 2048, 2049, 2051, 2053, 255, 257, 259, 65503, 65519, 65520, 65535, 16777217, 2**31 - 65, -2049]
        extra += [2**53 + 1, 2**40 + 2**32, 2**40 + 2**32 + 1] if source == I64 else []
        return np.concatenate([corners(source), np.array(extra, dtype=source)])
    if target in INTS:
        inside = half_values(half)
        limit = 2.0**31 if target == I32 else 2.0**63
        return inside[np.abs(inside) < limit].astype(source)
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0])
    other = [around_halves(target)] if target in HALVES else []
    with np.errstate(over="ignore"):
        return np.concatenate([half_values(half), special] + other).astype(source)


def cast_halves(r):
    for source in ALL_TYPES + HALVES:
        for target in ALL_TYPES + HALVES:
            if source not in HALVES and target not in HALVES:
                continue
            name, attrs = f"{source.name}_to_{target.name}", {"DstT": target, "Truncate": False}
            x = half_sources(source, target)
            # TensorFlow flushes denormal float32 operands and results to zero in some places.
            flushed = BF16 in (source, target) and source not in INTS + (BOOL,) and target not in INTS
            normal = np.abs(x.astype(F64)) >= 2.0**-126 if flushed else np.ones(x.shape, bool)
            r.add(f"{name}_special_values", [x[normal | (x == 0) | (x != x)]], attrs)
            if flushed:
                r.add(f"{name}_denormals", [x[~normal & (x != 0) & (x == x)]], attrs, numpy_only=True)
            for n in (1, 17, 65):
                r.add(f"{name}_size_{n}", [cast_values(source, target, n)], attrs)
            r.add(f"{name}_shape_2x3", [random_values(source, (2, 3), "Cast")], {"DstT": target})
            if source in FLOATS:
                r.add(f"{name}_truncate", [x[normal & (x == x)]], {"DstT": target, "Truncate": True})
    for source in HALVES:   # rounded to float32 first, then to the half
        twice = 1 + 2.0**-(FRACTION_BITS[source] + 1) + 2.0**-40
        r.add(f"float64_to_{source.name}_rounds_twice", [np.array([twice, -twice])], {"DstT": source})


def cast_integers(r):
    """Pairs with an integer type that is rarer than int32 and int64; floats stay within the integer's range."""
    for source in NUMERIC_BOOL:
        for target in NUMERIC_BOOL:
            if not any(t in INTEGERS and t not in INTS for t in (source, target)):
                continue
            if source in INTEGERS:
                x = integer_edges(source)
            elif source == BOOL:
                x = np.array([False, True])
            else:
                info = np.iinfo(target)
                x = np.array([v for v in (0.0, -0.0, 0.5, 0.99, 1.5, 2.5, 100.0, 127.0, -1.0, -1.5, -100.0, -128.0, 255.0,
                                          1000.0, 65280.0, -32768.0, 2.0**31, 2.0**40, 2.0**63)
                              if info.min <= v <= info.max and (source != F16 or abs(v) < 65504)]).astype(source)
            r.add(f"{source.name}_to_{target.name}_edges", [x], {"DstT": target})
            r.add(f"{source.name}_to_{target.name}_size_1100", [cycled(np.resize(x, 1100), 7)], {"DstT": target})


def cast():
    r = Recorder("Cast", reference=cast_reference)
    for source in ALL_TYPES:
        for target in ALL_TYPES:
            name, attrs = f"{source.name}_to_{target.name}", {"DstT": target, "Truncate": False}
            for n in (1, 17, 33, 65):
                r.add(f"{name}_size_{n}", [cast_values(source, target, n)], attrs)
            r.add(f"{name}_special_values", [cast_specials(source, target)], attrs)
            for shape in ((), (2, 3), (0, 2), (2, 1, 2, 1, 2, 1, 2, 1)):
                r.add(f"{name}_shape_{text(shape)}", [random_values(source, shape, "Cast")], {"DstT": target})
            if source == F64 and target == F32:
                r.add(f"{name}_rounding", [np.array([1 + 2.0**-24, 1 + 3 * 2.0**-24, 1 + 2.0**-24 + 2.0**-50, 1e300,
                                                     -1e300,
                                                     3.4028235677973366e38, 3.4028234e38, 1e-300, -1e-300])], attrs)
                r.add(f"{name}_truncate", [np.array([1 + 3 * 2.0**-24, 1 + 2.0**-23 - 2.0**-40, -1.9999999999, 0.1,
                                                     -0.1, np.inf, 0.0])],
                      {"DstT": target, "Truncate": True})
                r.add(f"{name}_denormal_results", [np.array([1e-40, -1e-40, 1.4e-45, 7e-46, 7.1e-46, 1.17e-38])], attrs,
                      numpy_only=True)
            if source in FLOATS and target in FLOATS + (BOOL,) and not (source == F64 and target == F32):
                r.add(f"{name}_denormals", [denormals(source)], attrs, numpy_only=True)
    cast_halves(r)
    cast_integers(r)
    return r


def build():
    makers = {op: (lambda op=op: unary(op)) for op in UNARY}
    makers.update({op: (lambda op=op: binary(op)) for op in BINARY})
    makers.update({"Select": select, "Cast": cast})
    return makers
