# SPDX-License-Identifier: Apache-2.0
"""Runs one TensorFlow op, compares it with a reference and records the result as a golden case.

README.md beside this file describes a case's contents and form.
"""
import json
import os
import zlib

import golden_form

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import ml_dtypes
import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context, execute
from tensorflow.python.framework import op_def_registry

F32, F64, I32, I64, BOOL = (np.dtype(n) for n in ("float32", "float64", "int32", "int64", "bool"))
F16, BF16 = np.dtype("float16"), np.dtype(ml_dtypes.bfloat16)
FLOATS = (F32, F64)
HALVES = (F16, BF16)
INTS = (I32, I64)
NUMBERS = FLOATS + INTS
ALL_TYPES = NUMBERS + (BOOL,)
I8, I16, U8, U16, U32, U64 = (np.dtype(n) for n in ("int8", "int16", "uint8", "uint16", "uint32", "uint64"))
SIGNED = INTS + (I8, I16)
UNSIGNED = (U8, U16, U32, U64)
INTEGERS = SIGNED + UNSIGNED
FLOATING = FLOATS + HALVES
SIGNED_NUMERIC = FLOATING + SIGNED
NUMERIC = FLOATING + INTEGERS
NUMERIC_BOOL = NUMERIC + (BOOL,)
MOVED_TYPES = ALL_TYPES + HALVES + tuple(np.dtype(n) for n in ("int8", "uint8", "int16", "uint16", "complex64"))

EXACT = {"exact": True}   # same bits; every NaN equals every NaN
VALUE = {"ulp": 0}        # same values; -0 equals +0
LONG, LONG_HASHED = 2048, 256   # outputs of so many bytes are written as samples, or as samples and a hash


def rng_for(*name):
    """A generator seeded by a name, so that adding cases does not change others. RandomState's streams are frozen."""
    return np.random.RandomState(zlib.crc32(repr(name).encode()))


DRAWN = {}  # by type and first elements: the seeds that random_values drew them with


def beginning(dtype, data):
    return np.dtype(dtype).name, data[:4 * np.dtype(dtype).itemsize]


def random_values(dtype, shape, *name):
    """Full-mantissa floats in (-4, 4), small-ish integers of both signs, or booleans. The files name the seed in place of
    such values, also of another type, and where a case has the first of them, or these repeated."""
    seed = zlib.crc32(repr((str(dtype), tuple(shape), *name)).encode())
    rng = np.random.RandomState(seed)
    if dtype == BOOL:
        kinds, drawn = (BOOL,), rng.randint(0, 2, size=shape)
    elif dtype.kind in "iu":
        kinds, drawn = INTEGERS, rng.randint(-1000, 1001, size=shape)
    else:
        kinds, drawn = FLOATING, np.asarray(rng.uniform(-4.0, 4.0, size=shape))
    for kind in kinds:
        DRAWN[beginning(kind, drawn.reshape(-1)[:4].astype(kind).tobytes())] = seed
    return np.asarray(drawn, dtype=dtype) if dtype.kind == "f" or dtype == BF16 else np.asarray(drawn).astype(dtype)


def cycled(values, period):
    """The first values of an array, repeated to its shape, when this makes the file smaller."""
    return np.resize(values.reshape(-1)[:period], values.shape) if values.size > period else values


def is_float(dtype):
    return dtype.kind == "f" or dtype == BF16


def canonical(array):
    """One NaN for all, since its sign and payload depend on the machine that ran TensorFlow."""
    array = np.asarray(array, order="C")
    if is_float(array.dtype) and np.isnan(array).any():
        array = array.copy()
        array[np.isnan(array)] = np.nan
    return array


def encode_tensor(x):
    array = canonical(np.asarray(x))
    data = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return golden_form.tensor_text(array.dtype.name, array.shape, data, DRAWN.get(beginning(array.dtype, data)))


def encode_output(x, tolerance):
    """A long output as samples if this makes the file smaller: with a hash where all bits or all values are promised, else
    with a sum."""
    array = canonical(np.asarray(x))
    whole, exact = encode_tensor(array), tolerance.get("exact", False)
    hashed = exact or not any(tolerance.values()) or not is_float(array.dtype)
    if array.nbytes < (LONG_HASHED if hashed else LONG):
        return whole
    data = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return min(whole, golden_form.sampled_text(array.dtype.name, array.shape, data, hashed, not exact), key=len)


def encode_attr(value):
    """Booleans, integers, their lists and strings are JSON's; others name their kind."""
    if isinstance(value, float):
        return {"float": value}
    if isinstance(value, np.dtype):
        return {"type": value.name}
    if isinstance(value, tuple):
        return {"shape": list(value)}
    return value


def encode_case(case):
    made = dict(case, inputs=[encode_tensor(x) for x in case["inputs"]])
    if "attrs" in case:
        made["attrs"] = {k: encode_attr(v) for k, v in case["attrs"].items()}
    if "outputs" in case:
        made["outputs"] = [encode_output(x, case.get("tolerance", EXACT)) for x in case["outputs"]]
    if case.get("message_contains"):
        made.pop("tf_message", None)   # the reader has a part of it
    return made


def write_cases(path, head, cases):
    return golden_form.write_file(path, head, [encode_case(case) for case in cases])


def run_python(function, inputs, attrs):
    """Runs a function of TensorFlow's Python interface on the CPU: function(list of tensors, attrs) gives a tensor or a list."""
    with tf.device("/CPU:0"):
        results = function([tf.constant(np.asarray(x)) for x in inputs], attrs)
    return [r.numpy() for r in (results if isinstance(results, (list, tuple)) else [results])]


def run_tensorflow(tf_op, inputs, attrs):
    """Runs the op by name on the CPU; raises tf.errors.OpError. Type and count attributes come from the inputs. An op that
    TensorFlow composes in Python is a function (run_python) instead of a name."""
    if callable(tf_op):
        return run_python(tf_op, inputs, attrs)
    definition = op_def_registry.get(tf_op)
    arrays = [np.asarray(x) for x in inputs]
    full, at, lists = {}, 0, sum(1 for a in definition.input_arg if a.number_attr)
    for arg in definition.input_arg:
        count = len(arrays) - len(definition.input_arg) + 1 if arg.number_attr else 1
        assert lists <= 1
        if arg.number_attr:
            full[arg.number_attr] = count
        if arg.type_attr and count > 0:
            full.setdefault(arg.type_attr, tf.as_dtype(arrays[at].dtype).as_datatype_enum)
        at += count
    assert at == len(arrays), (tf_op, at, len(arrays))
    for attr in definition.attr:
        if attr.name not in full and attr.HasField("default_value"):
            kind = attr.default_value.WhichOneof("value")
            full[attr.name] = list(attr.default_value.list.i) if kind == "list" else getattr(attr.default_value, kind)
    for key, value in attrs.items():
        full[key] = tf.as_dtype(value).as_datatype_enum if isinstance(value, np.dtype) else value
    flat = [x for pair in full.items() for x in pair]
    with tf.device("/CPU:0"):
        tensors = [tf.constant(a) for a in arrays]
        count = sum(full[a.number_attr] if a.number_attr else 1 for a in definition.output_arg)
        results = execute.quick_execute(tf_op, count, tensors, tuple(flat), context.context())
    return [r.numpy() for r in results]


def said(error):
    """The message without the node and op names that eager execution adds."""
    message = error.message.split(" [Op:")[0].strip()
    if message.startswith("{{function_node"):
        message = message.split("}} ", 1)[1]
    return message.splitlines()[0]


def ordered(array):
    """Floats as integers whose differences are distances in ulp; -0 and +0 are both 0."""
    bits = array.view({2: np.int16, 4: np.int32, 8: np.int64}[array.dtype.itemsize]).astype(object)
    top = 1 << (array.dtype.itemsize * 8 - 1)
    return np.where(bits < 0, -(bits + top), bits)


def ulp_distance(a, b):
    """Largest distance; NaN equals NaN; infinite if just one side is NaN."""
    a, b = np.atleast_1d(np.asarray(a, order="C")), np.atleast_1d(np.ascontiguousarray(b))
    if a.size == 0:
        return 0
    if (np.isnan(a) != np.isnan(b)).any():
        return float("inf")
    keep = ~np.isnan(a)
    return max((abs(d) for d in (ordered(a[keep]) - ordered(b[keep]))), default=0)


def agrees(expected, actual, tolerance):
    """The rule of golden_compare in tests/conformance/golden.c."""
    if expected.dtype != actual.dtype or expected.shape != actual.shape:
        return False
    if tolerance.get("exact"):
        return canonical(expected).tobytes() == canonical(actual).tobytes()
    if not is_float(expected.dtype):
        return bool((expected == actual).all())
    e, a = np.atleast_1d(expected), np.atleast_1d(actual)
    for x, y in zip(e.reshape(-1), a.reshape(-1)):
        if x == y or (np.isnan(x) and np.isnan(y)):
            continue
        if np.isnan(x) or np.isnan(y) or np.isinf(x) or np.isinf(y):
            return False
        if "ulp" in tolerance and ulp_distance(x, y) <= tolerance["ulp"]:
            continue
        bound = tolerance.get("abs", 0.0) + tolerance.get("rel", 0.0) * abs(float(x))
        if not abs(float(x) - float(y)) <= bound:
            return False
    return True


def first_difference(expected, actual):
    if expected.dtype != actual.dtype or expected.shape != actual.shape:
        return f"reference {expected.dtype}{expected.shape}, TensorFlow {actual.dtype}{actual.shape}"
    pairs = zip(canonical(expected).reshape(-1), canonical(actual).reshape(-1))
    found = [(i, e, a) for i, (e, a) in enumerate(pairs) if e.tobytes() != a.tobytes()]
    return f"{len(found)} differ; first [index, reference, TensorFlow]: {found[:4]}"


class Recorder:
    """The cases of one op."""

    def __init__(self, op, tf_op=None, reference=None):
        self.op, self.tf_op, self.reference = op, tf_op or op, reference
        self.cases, self.names, self.tf_ulp, self.refused = [], set(), {}, 0

    def _begin(self, name, inputs, attrs):
        assert name not in self.names, (self.op, name)
        self.names.add(name)
        case = {"name": name}
        if attrs:
            case["attrs"] = attrs
        case["inputs"] = [canonical(x) for x in inputs]
        return case

    def add(self, name, inputs, attrs=None, tolerance=EXACT, tf_tolerance=None, numpy_only=False, keep_tf=False):
        """Records one case.

        Exact: records TensorFlow's output, which must equal the reference's if one exists. With a tolerance: records
        the reference's output; TensorFlow's must lie within tf_tolerance (default: the same) of it. keep_tf records
        TensorFlow's instead. numpy_only: TensorFlow is known to differ (denormals). Only the reference gives the
        cases that TensorFlow does not implement (broadcasts of many dimensions)."""
        attrs = attrs or {}
        case = self._begin(name, inputs, attrs)
        expected = actual = None
        with np.errstate(all="ignore"):
            if self.reference:
                expected = self.reference([np.asarray(x) for x in inputs], attrs)
                expected = expected if isinstance(expected, list) else [expected]
        if not numpy_only:
            try:
                actual = run_tensorflow(self.tf_op, inputs, attrs)
            except (tf.errors.UnimplementedError, tf.errors.InvalidArgumentError) as e:
                if not expected or not any(t in str(e) for t in ("not supported", "Unhandled", "nimplemented",
                                                                 "not yet supported", "support rank", "Rank of")):
                    raise
                self.refused += 1
        if expected and actual:
            for e, a in zip(expected, actual):
                e = np.asarray(e)
                if is_float(e.dtype) and tolerance.get("ulp"):
                    self.tf_ulp[e.dtype.name] = max(self.tf_ulp.get(e.dtype.name, 0), ulp_distance(e, a))
                if not agrees(e, a, tf_tolerance or tolerance):
                    raise AssertionError(f"{self.op}/{name}: {first_difference(e, a)}")
        from_tf = actual is not None and (not expected or tolerance.get("exact") or tolerance == VALUE or keep_tf)
        case["outputs"] = [canonical(x) for x in (actual if from_tf else expected)]
        if tolerance != EXACT:
            case["tolerance"] = tolerance
        if not from_tf:
            case["source"] = "numpy" if actual is None else "reference"
        self.cases.append(case)

    def error(self, name, inputs, attrs=None, contains=""):
        """Records a call that TensorFlow refuses; Gantry's message must contain `contains`, too."""
        attrs = attrs or {}
        case = self._begin(name, inputs, attrs)
        try:
            got = run_tensorflow(self.tf_op, inputs, attrs)
        except (tf.errors.OpError, ValueError) as e:
            message = said(e) if isinstance(e, tf.errors.OpError) else str(e).splitlines()[0]
            case["error"] = type(e).__name__.removesuffix("Error") if isinstance(e, tf.errors.OpError) else "InvalidArgument"
            case["message_contains"] = contains
            case["tf_message"] = message[:240]
            assert contains in message, (self.op, name, message)
        else:
            raise AssertionError(f"{self.op}/{name}: TensorFlow accepts it: {got}")
        self.cases.append(case)

    def our_error(self, name, inputs, attrs=None, contains=""):
        """Records a call that Gantry refuses and that TensorFlow has no op for, refuses with an error of another kind, or answers wrongly."""
        case = self._begin(name, inputs, attrs or {})
        case.update(error="InvalidArgument", message_contains=contains)
        self.cases.append(case)

    def write(self, folder):
        said_op = self.tf_op.__name__ if callable(self.tf_op) else self.tf_op
        return write_cases(os.path.join(folder, self.op + ".json"), {"op": self.op, "tensorflow_op": said_op}, self.cases)
