# SPDX-License-Identifier: Apache-2.0
"""Elementwise ops beyond the first ones of golden_elementwise.py: a line each for reference, types, values and bound. The
functions have their values in ops/functions.def."""
import mpmath
import numpy as np
import tensorflow as tf

from golden_case import (BOOL, EXACT, F32, F64, FLOATING, FLOATS, HALVES, I32, I64, INTEGERS, INTS, NUMERIC, SIGNED_NUMERIC, VALUE,
                         Recorder, random_values, rng_for)
from golden_elementwise import all_pairs, corners, denormals, divisible, specials
from golden_form import FUNCTION_CASES
from golden_shapes import text
from golden_types import further_binary, further_unary, half_denormals, through_float32

LONG = np.longdouble   # 64 bits of fraction: enough to round to float64
mpmath.mp.prec = 120


def wide(function):
    """A function of arrays from one of long doubles."""
    def apply(*arrays):
        with np.errstate(all="ignore"):
            return np.asarray(function(*[a.astype(LONG) for a in arrays])).astype(arrays[0].dtype)
    return apply


def precise(function, top, bottom, poles=lambda x: None):
    """A function of arrays from one of mpmath's; poles(x) gives the value at points where mpmath has none."""
    def one(x):
        x = float(x)
        if np.isnan(x):
            return np.nan
        if np.isinf(x):
            return top if x > 0 else bottom
        if poles(x) is not None:
            return poles(x)
        y = function(mpmath.mpf(x))
        return float(y) if abs(y) > mpmath.mpf("1e-400") else 0.0

    def apply(array):
        return np.array([one(x) for x in array.reshape(-1)]).astype(array.dtype).reshape(array.shape)
    return apply


def of_mpmath(op):
    """The function of mpmath with the op's name in lower case; NaN where it has no real value."""
    def one(x):
        try:
            y = getattr(mpmath, op.lower())(mpmath.mpf(x))
        except ValueError:
            return np.nan
        return float(y) if isinstance(y, mpmath.mpf) else np.nan

    def apply(array):
        return np.array([one(float(x)) for x in array.reshape(-1)]).astype(array.dtype).reshape(array.shape)
    return apply


def at_poles(value):
    return lambda x: value if x <= 0 and x == np.floor(x) else None


def gelu_tanh(x):
    return x / (1 + np.exp(-2 * np.sqrt(2 / LONG(np.pi)) * (x + LONG("0.044715") * x**3)))


def erfc(x):
    return mpmath.erfc(x) if abs(x) < 1000 else mpmath.mpf(0 if x > 0 else 2)


def gelu_erf(x):
    return x * erfc(-x / mpmath.sqrt(2)) / 2


SCALE, ALPHA = LONG("1.0507009873554804934193349852946"), LONG("1.6732632423543772848170429916717")
ULP_2 = {F32: {"ulp": 2}, F64: {"ulp": 8}}    # float64 may use the device library's functions
ULP_FAR = {F32: {"ulp": 2}, F64: {"ulp": 64}}   # far down, where an exponential magnifies its argument's error
ULP_4 = {F32: {"ulp": 4}, F64: {"ulp": 16, "abs": 1e-15}}
LOOSE = {F32: {"ulp": 64, "abs": 2e-6}, F64: {"ulp": 64, "abs": 1e-13}}   # TensorFlow's tolerance
for half in HALVES:
    LOOSE[half] = {"ulp": 3}

# op: (reference, bound); of mpmath with ULP_2 where there is no line
REFERENCES = {
    "Expm1": (wide(np.expm1), ULP_2),
    "Log1p": (wide(np.log1p), ULP_2),
    "Rsqrt": (wide(lambda x: 1 / np.sqrt(x)), ULP_2),
    "Sin": (wide(np.sin), ULP_2),
    "Cos": (wide(np.cos), ULP_2),
    "Tan": (wide(np.tan), ULP_2),
    "Asin": (wide(np.arcsin), ULP_2),
    "Acos": (wide(np.arccos), ULP_2),
    "Atan": (wide(np.arctan), ULP_2),
    "Sinh": (wide(np.sinh), ULP_2),
    "Cosh": (wide(np.cosh), ULP_2),
    "Asinh": (wide(np.arcsinh), ULP_2),
    "Acosh": (wide(np.arccosh), ULP_2),
    "Atanh": (wide(np.arctanh), ULP_2),
    "Erf": (precise(mpmath.erf, 1.0, -1.0), ULP_2),
    "Erfc": (precise(erfc, 0.0, 2.0), ULP_2),
    "Lgamma": (precise(lambda x: mpmath.log(abs(mpmath.gamma(x))), np.inf, np.inf, at_poles(np.inf)), ULP_4),
    "Digamma": (precise(mpmath.digamma, np.inf, np.nan, at_poles(np.nan)), ULP_4),
    "Softplus": (wide(lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))), ULP_2),
    "Softsign": (wide(lambda x: x / (1 + np.abs(x))), ULP_2),
    "Elu": (wide(lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x)), ULP_2),
    "Selu": (wide(lambda x: SCALE * np.where(x < 0, ALPHA * np.expm1(np.minimum(x, 0)), x)), ULP_2),
    "Silu": (wide(lambda x: x / (1 + np.exp(-x))), ULP_2),
    "Cbrt": (wide(np.cbrt), ULP_2),
}
# op: (reference, bound, scale of the random values, offset, places where a formula changes)
FUNCTIONS = {op: (*REFERENCES.get(op, (of_mpmath(op), ULP_2)), scale, offset, places)
             for op, (scale, offset, *places) in FUNCTION_CASES.items()}


def function_values(op, dtype, n):
    _, _, scale, offset, _ = FUNCTIONS[op]
    return (rng_for(op, dtype.name, n).uniform(-scale, scale, size=n) + offset).astype(dtype)


def normal(values):
    """Without denormals, and without values that give denormals, because TensorFlow flushes those."""
    return values[(values == 0) | ~(np.abs(values) < 8 * np.finfo(values.dtype).tiny)]


def silu(inputs, attrs):
    return tf.nn.silu(inputs[0])


def gelu_of_python(inputs, attrs):
    return tf.nn.gelu(inputs[0], **attrs)


def add_function(r, name, function, x, attrs, tolerance):
    """Only the reference for values that TensorFlow flushes as denormal. TensorFlow's float64 erf of infinity is NaN, and its
    gelu uses float32 constants. Where a function of mpmath has no value, TensorFlow may give an infinity."""
    with np.errstate(all="ignore"):
        y = np.abs(function(x).astype(F64))
    tiny = 2.0**-126 if x.dtype != F64 else 2.0**-1022   # also for bfloat16
    flushed = ((y > 0) & (y < tiny)).any()
    beyond = r.op not in REFERENCES and (np.isnan(y) & ~np.isnan(x)).any()
    r.add(name, [x], attrs, tolerance=tolerance, tf_tolerance=LOOSE[x.dtype], 
          numpy_only=bool(flushed or beyond) or (r.op in ("Erf", "Gelu") and x.dtype == F64) or r.op == "Cbrt")


def unary_function(op, function=None, bound=None, attrs=None, r=None, label=""):
    if not function:
        function, bound = FUNCTIONS[op][:2]
    function = through_float32(function)
    if not r:
        r = Recorder(op, {"Silu": silu, "Cbrt": "none"}.get(op, op), lambda inputs, attrs: function(inputs[0]))
    for dtype in FLOATS:
        tol, name = bound[dtype], dtype.name + label
        sizes = (1, 3, 17, 65) if dtype == F32 else (17,)
        for n in sizes:
            add_function(r, f"{name}_size_{n}", function, function_values(op, dtype, n), attrs, tol)
        add_function(r, f"{name}_special_values", function, normal(specials(dtype)), attrs, tol)
        r.add(f"{name}_denormals", [denormals(dtype)], attrs, tolerance=tol, numpy_only=True)
        places = np.array([p for p in FUNCTIONS[op][4] if abs(p) < np.finfo(dtype).max], F64).astype(dtype)
        r.add(f"{name}_places", [places], attrs, tolerance=tol, numpy_only=True)   # TensorFlow is inaccurate at some places
    for shape in ((), (3, 4), (2, 1, 2, 1, 2, 1, 2, 3), (0,), (2, 0, 3)):
        x = function_values(op, F32, int(np.prod(shape))).reshape(shape)
        add_function(r, f"float32{label}_shape_{text(shape)}", function, x, attrs, bound[F32])
    add_function(r, f"float32{label}_size_1000", function, np.resize(function_values(op, F32, 31), 1000), attrs, bound[F32])
    for dtype in HALVES:
        for n, x in (("edges", None), ("denormals", half_denormals(dtype)), ("size_33", function_values(op, dtype, 33))):
            if x is None:
                x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 7.75], F64).astype(dtype)
            r.add(f"{dtype.name}{label}_{n}", [x], attrs, tolerance={"ulp": 1}, numpy_only=True)
    if r.tf_op == "none":
        r.our_error("of_integers", [np.ones(2, I32)], {}, op)
    return r


def gelu():
    forms = {False: through_float32(precise(gelu_erf, np.inf, np.nan)), True: through_float32(wide(gelu_tanh))}
    r = Recorder("Gelu", gelu_of_python, lambda inputs, attrs: forms[attrs.get("approximate", False)](inputs[0]))
    unary_function("Gelu", forms[False], ULP_FAR, {"approximate": False}, r)
    unary_function("Gelu", forms[True], ULP_FAR, {"approximate": True}, r, "_approximate")
    return r


def round_even(x):
    return np.rint(x) if x.dtype in FLOATING else x


# op: (reference, types, comparison); Round of integers is the identity, which TensorFlow's kernel is not
PLAIN = {
    "Sign": (np.sign, NUMERIC, VALUE), "Reciprocal": (lambda x: x.dtype.type(1) / x, FLOATING, EXACT),
    "Invert": (np.invert, INTEGERS, EXACT), "Floor": (np.floor, FLOATING, VALUE), "Ceil": (np.ceil, FLOATING, VALUE),
    "Round": (round_even, SIGNED_NUMERIC, VALUE), "Rint": (np.rint, FLOATING, VALUE),
    "Relu6": (lambda x: np.minimum(np.maximum(x, x.dtype.type(0)), x.dtype.type(6)), NUMERIC, VALUE),
    "IsNan": (np.isnan, FLOATING, EXACT), "IsInf": (np.isinf, FLOATING, EXACT),
    "IsFinite": (np.isfinite, FLOATING, EXACT),
}
HALFWAY = (0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 5.99, 6.5, 8388607.5, -8388608.0, 1e10, 2147483648.0)


def plain(op):
    function, types, tolerance = PLAIN[op]
    function = through_float32(function)
    r = Recorder(op, reference=lambda inputs, attrs: function(inputs[0]))
    tf_has = {"Rint": FLOATS, "Reciprocal": (), "Sign": SIGNED_NUMERIC}.get(op, types)
    for dtype in (F32, F64, I32, I64):
        if dtype not in types:
            continue
        alone = op == "Reciprocal" or (op == "Round" and dtype in INTS)   # TensorFlow's reciprocal is an ulp off
        for n in (1, 3, 17, 65) if dtype == types[0] else (17,):
            r.add(f"{dtype.name}_size_{n}", [random_values(dtype, (n,), op)], tolerance=tolerance, numpy_only=alone)
        if dtype in INTS:
            r.add(f"{dtype.name}_corners", [corners(dtype)], tolerance=tolerance, numpy_only=alone)
            continue
        r.add(f"{dtype.name}_special_values", [normal(specials(dtype))], tolerance=tolerance, numpy_only=alone)
        r.add(f"{dtype.name}_denormals", [denormals(dtype)], tolerance=tolerance, numpy_only=True)
        r.add(f"{dtype.name}_halfway", [np.array(HALFWAY, dtype)], tolerance=tolerance, numpy_only=alone)
    first = types[0] if types[0] in (F32, F64) + INTS else F32 if F32 in types else I32
    for shape in ((), (3, 4), (2, 1, 2, 1, 2, 1, 2, 3), (0,), (2, 0, 3)):
        r.add(f"{first.name}_shape_{text(shape)}", [random_values(first, shape, op)], tolerance=tolerance,
              numpy_only=op == "Reciprocal")
    r.add(f"{first.name}_size_1000", [np.resize(random_values(first, (31,), op), 1000)], tolerance=tolerance,
          numpy_only=op == "Reciprocal")
    further_unary(r, op, function, [t for t in types if t in tf_has and not (op == "Round" and t in INTEGERS)], tolerance)
    further_unary(r, op, function, [t for t in types if t not in tf_has or (op == "Round" and t in INTEGERS)], tolerance,
                  numpy_only=True)
    return r


# ---- two operands ----

def floor_divide(x, y):
    return np.floor(x / y) if x.dtype in FLOATING else wrapped(x, y, lambda a, b: a // b)


def truncate_divide(x, y):
    return np.trunc(x / y) if x.dtype in FLOATING else wrapped(x, y, lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1))


def truncate_mod(x, y):
    if x.dtype in FLOATING:
        return np.fmod(x, y)
    return wrapped(x, y, lambda a, b: abs(a) % abs(b) * (1 if a >= 0 else -1))


def floor_mod(x, y):
    if x.dtype in FLOATING:
        r = np.fmod(x, y)
        return np.where((r != 0) & ((r < 0) != (y < 0)), r + y, r).astype(x.dtype)
    return wrapped(x, y, lambda a, b: a % b)


def wrapped(x, y, function):
    """An integer function of Python's integers."""
    x, y = np.broadcast_arrays(x, y)
    bits = 8 * x.dtype.itemsize
    lowest = int(np.iinfo(x.dtype).min)
    out = [(function(int(a), int(b)) - lowest) % 2**bits + lowest for a, b in zip(x.reshape(-1), y.reshape(-1))]
    return np.array(out, dtype=x.dtype).reshape(x.shape)


def power(x, y):
    if x.dtype in FLOATING:
        return wide(np.power)(x, y)
    return wrapped(x, y, lambda a, b: pow(a, b, 2**64))


def shift(function):
    def apply(x, y):
        bits = 8 * x.dtype.itemsize
        return wrapped(x, y, lambda a, b: function(a, min(max(b, 0), bits - 1)))
    return apply


def no_nan(function, zero):
    return lambda x, y: np.where((x if zero == "x" else y) == 0, x.dtype.type(0), function(x, y)).astype(x.dtype)


# op: (reference, types, bound, the types whose results are not TensorFlow's: it has no kernel, or rounds halves twice)
BINARY = {
    "FloorDiv": (floor_divide, NUMERIC, VALUE, HALVES), "TruncateDiv": (truncate_divide, NUMERIC, VALUE, ()),
    "FloorMod": (floor_mod, NUMERIC, VALUE, ()),
    "TruncateMod": (truncate_mod, NUMERIC, VALUE, [t for t in NUMERIC if t not in FLOATS + INTS]),
    "DivNoNan": (no_nan(np.divide, "y"), FLOATING, VALUE, ()), "MulNoNan": (no_nan(np.multiply, "y"), FLOATING, VALUE, ()),
    "Xdivy": (no_nan(np.divide, "x"), FLOATING, VALUE, ()),
    "Xlogy": (no_nan(wide(lambda x, y: x * np.log(y)), "x"), FLOATING, ULP_2, ()),
    "Xlog1py": (no_nan(wide(lambda x, y: x * np.log1p(y)), "x"), FLOATING, ULP_2, ()),
    "Pow": (power, SIGNED_NUMERIC, ULP_2, ()), "Atan2": (wide(np.arctan2), FLOATING, ULP_2, ()),
    "SquaredDifference": (lambda x, y: np.square(x - y), SIGNED_NUMERIC, EXACT,
                          [t for t in SIGNED_NUMERIC if t not in FLOATS + INTS]),
    "BitwiseAnd": (np.bitwise_and, INTEGERS, EXACT, ()), "BitwiseOr": (np.bitwise_or, INTEGERS, EXACT, ()),
    "BitwiseXor": (np.bitwise_xor, INTEGERS, EXACT, ()),
    "LeftShift": (shift(lambda a, b: a << b), INTEGERS, EXACT, ()),
    "RightShift": (shift(lambda a, b: a >> b), INTEGERS, EXACT, ()),
    "LogicalXor": (np.logical_xor, (BOOL,), EXACT, ()),
}
DIVIDES = ("FloorDiv", "TruncateDiv", "FloorMod", "TruncateMod")


def takes(op):
    """The pairs of a type that the op takes; None: all."""
    if op in DIVIDES:
        return divisible
    if op == "Pow":
        return lambda dtype, x, y: np.ones(x.shape, bool) if dtype in FLOATING else (y >= 0) & (np.abs(y.astype(F64)) < 70)
    return None


def operands(op, dtype, x_shape, y_shape):
    x, y = random_values(dtype, x_shape, op, "x"), random_values(dtype, y_shape, op, "y")
    if dtype in INTEGERS and op in DIVIDES:
        y = np.where(y == 0, dtype.type(7), y)
        y = np.asarray(np.where(np.arange(y.size).reshape(y.shape) % 2, y % 13 + (y % 13 == 0), y), dtype)
    if dtype in INTEGERS and op == "Pow":
        y = np.abs(y % 6).astype(dtype)
    if "Shift" in op:
        y = np.asarray(y % 70 if dtype.itemsize > 1 else y % 10, dtype)
    if op in ("Pow", "Xlogy", "Xlog1py") and dtype in FLOATING:
        x, y = (np.abs(x), y) if op == "Pow" else (x, np.abs(y))
    return [x, np.asarray(y, dtype)]


def special_pairs(op, dtype, function):
    """All pairs of special values whose results TensorFlow does not flush."""
    values = np.array([True, False]) if dtype == BOOL else corners(dtype) if dtype in INTS else normal(specials(dtype))
    x, y = all_pairs(values)
    keep = takes(op)(dtype, x, y) if takes(op) else np.ones(x.shape, bool)
    x, y = x[keep], y[keep]
    if dtype in FLOATS:
        with np.errstate(all="ignore"):
            size = np.abs(x / y if op == "FloorDiv" else function(x, y))
        keep = (size == 0) | ~(size < np.finfo(dtype).tiny)
        x, y = x[keep], y[keep]
    return [x, y]


def binary(op):
    function, types, bound, missing = BINARY[op]
    function = through_float32(function)
    r = Recorder(op, "NotEqual" if op == "LogicalXor" else op, lambda inputs, attrs: np.asarray(function(*inputs)))
    main = F32 if F32 in types else I32 if I32 in types else BOOL
    for dtype in (F32, F64, I32, I64, BOOL):
        if dtype not in types:
            continue
        exact = not isinstance(bound, dict) or F32 not in bound or dtype in INTS
        tol = (EXACT if dtype in INTS else bound) if exact else bound[dtype]
        extra = {} if exact else {"tf_tolerance": LOOSE[dtype]}
        alone = dtype in missing or (op in ("FloorMod", "TruncateMod") and dtype in FLOATS)
        for n in (1, 17, 65, 1000) if dtype == main else (33,):
            x, y = operands(op, dtype, (n,), (n,))
            if n == 1000:
                x, y = np.resize(x[:31], n), np.resize(y[:29], n)
            r.add(f"{dtype.name}_size_{n}", [x, y], tolerance=tol, **extra)
        shapes = (((), (5,)), ((5,), ()), ((3, 4), (4,)), ((3, 1), (1, 4)), ((2, 1, 4), (3, 1)), ((0,), (1,)), ((3, 0), (3, 1)),
                  ((2, 2, 2, 1, 1, 1, 2, 2), (2, 1, 2)), ((1, 3, 1, 2, 1, 2, 1, 2), (2, 1, 2, 1, 2, 1, 2, 1)))
        for a, b in shapes if dtype == main else shapes[:4]:
            r.add(f"{dtype.name}_broadcast_{text(a)}_{text(b)}", operands(op, dtype, a, b), tolerance=tol, **extra)
        pairs = special_pairs(op, dtype, function)
        r.add(f"{dtype.name}_special_values", pairs, tolerance=tol, numpy_only=alone, **extra)
        if dtype in FLOATS:
            with_normal = np.concatenate([denormals(dtype), np.array([0.0, -0.0, 0.5, -1.0, 3.0], dtype)])
            r.add(f"{dtype.name}_denormals", all_pairs(with_normal), tolerance=tol, numpy_only=True)
    half = through_float32(function)
    tol = bound if bound in (EXACT, VALUE) else {"ulp": 1}
    for group, alone in (([t for t in types if t not in missing], False), (missing, True)):
        further_binary(r, op, half, group, tol, lambda dtype, a, b: operands(op, dtype, a, b), pairs=takes(op),
                       numpy_only=alone)
    a, b = operands(op, main, (2, 3), (2,))
    r.error("incompatible_shapes", [a, b], contains="Incompatible shapes")
    if op in DIVIDES:
        for dtype in INTEGERS if op == "FloorDiv" else INTS:
            refused(r, f"{dtype.name}_division_by_zero", [np.array([1, 2, 3], dtype), np.array([4, 0, 2], dtype)],
                    "division by zero")
    if op == "Pow":
        for dtype in [t for t in INTEGERS if t in types]:
            top = np.iinfo(dtype).max
            r.add(f"{dtype.name}_largest_exponent", [np.array([0, 1, -1, 2, 3, top, -top - 1], dtype), np.array(top, dtype)])
            refused(r, f"{dtype.name}_negative_exponent", [np.array([1, 2], dtype), np.array([2, -1], dtype)],
                    "negative integer powers")
    return r


def refused(r, name, inputs, contains):
    """TensorFlow's kernels of TruncateDiv and TruncateMod return Internal; Div's return InvalidArgument."""
    tf_op = r.tf_op
    r.tf_op = "FloorDiv" if tf_op.startswith("Truncate") else tf_op
    r.error(name, inputs, contains=contains)
    r.tf_op = tf_op


# ---- the rest ----

def large(values):
    """The pairs without denormal products, because TensorFlow flushes such results."""
    return values[np.abs(values) != np.finfo(values.dtype).tiny]


def leaky_relu():
    def reference(inputs, attrs):
        x, alpha = inputs[0], np.float32(attrs.get("alpha", 0.2))
        slope = np.asarray(alpha).astype(x.dtype)   # rounded to the type first
        return through_float32(lambda x, y: np.where(x > 0, x, x * y))(x, slope)
    r = Recorder("LeakyRelu", reference=reference)
    for dtype in FLOATS:
        for alpha in (0.2, 0.0, -1.5, 3.0):
            r.add(f"{dtype.name}_special_values_alpha_{alpha}", [large(specials(dtype))], {"alpha": alpha}, tolerance=VALUE)
        r.add(f"{dtype.name}_denormals", [denormals(dtype)], numpy_only=True)
        for n in (1, 17, 1000):
            r.add(f"{dtype.name}_size_{n}", [np.resize(random_values(dtype, (n,), "LeakyRelu")[:33], n)], {"alpha": 0.3})
        for shape in ((), (3, 4), (2, 1, 2, 1, 2, 1, 2, 3), (0,), (2, 0, 3)) if dtype == F32 else ():
            r.add(f"{dtype.name}_shape_{text(shape)}", [random_values(dtype, shape, "LeakyRelu")])
    further_unary(r, "LeakyRelu", lambda x: x * x.dtype.type(0.25), FLOATING, VALUE, {"alpha": 0.25})
    return r


def clip_by_value():
    def reference(inputs, attrs):
        x, low, high = np.broadcast_arrays(*inputs)
        x = np.where(high < x, high, x)
        return np.where(x < low, low, x)
    r = Recorder("ClipByValue", reference=reference)
    shapes = (((7,), (), ()), ((3, 4), (3, 4), ()), ((3, 4), (), (3, 4)), ((3, 4), (3, 4), (3, 4)), ((), (), ()), ((0,), (), ()),
              ((2, 1, 2, 1, 2, 1, 2, 3), (), ()))
    ours = (((3, 4), (4,), (3, 1)), ((2, 3, 4), (3, 1), (2, 1, 1)), ((5, 1), (1, 1), (1,)))
    for dtype in NUMERIC:
        alone = dtype.name in ("uint32", "uint64")
        for a, b, c in shapes + ours if dtype == F32 else shapes[:3] + ours[:1]:
            low, high = random_values(dtype, b, "low"), random_values(dtype, c, "high")
            r.add(f"{dtype.name}_{text(a)}_{text(b)}_{text(c)}", [random_values(dtype, a, "Clip"), low, high], tolerance=VALUE,
                  numpy_only=alone or (a, b, c) in ours)
    r.add("float32_size_1000", [np.resize(random_values(F32, (31,), "Clip"), 1000), np.array(-1, F32), np.array(2, F32)])
    for dtype in FLOATING:
        s = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -5.0, 5.0], F64).astype(dtype)
        for name, low, high in (("inside", -2, 2), ("crossed", 3, 2), ("low_is_nan", np.nan, 2), ("high_is_nan", -2, np.nan),
                                ("infinite", -np.inf, np.inf)):
            r.add(f"{dtype.name}_{name}", [s, np.array(low, dtype), np.array(high, dtype)], tolerance=VALUE)
    x = random_values(F32, (2, 3), "Clip")
    r.error("bound_too_short", [x, random_values(F32, (2,), "low"), np.array(3, F32)],
            contains="clip_value_min and clip_value_max must be")
    r.error("bound_larger_than_input", [x[0], x, np.array(3, F32)], contains="clip_value_min and clip_value_max must be")
    return r


def build():
    makers = {op: (lambda op=op: unary_function(op)) for op in FUNCTIONS}
    makers.update({op: (lambda op=op: plain(op)) for op in PLAIN})
    makers.update({op: (lambda op=op: binary(op)) for op in BINARY})
    makers.update({"Gelu": gelu, "LeakyRelu": leaky_relu, "ClipByValue": clip_by_value})
    return makers
