# SPDX-License-Identifier: Apache-2.0
"""Calls that TensorFlow refuses and that differ from a good call in one place.

Each op has a good call among its cases. The script changes one part of the call at a time: an input's type, its rank,
one of its sizes, an axis or a size on the host, an attribute. Among calls with the same message from TensorFlow, numbers
aside, the first is recorded."""
import re

import numpy as np
from tensorflow.python.framework import op_def_registry

import check_coverage
from golden_case import BOOL, F32, F64, I32, INTS, run_tensorflow, said, tf

OPS = {op.name: op for op in check_coverage.read_ops()}
NUMBERS = (-1, -9, 0, 9)


def conv_1d(x, a):
    return tf.nn.conv1d(*x, a.get("stride", 1), a["padding"], a.get("data_format", "NWC"), a.get("dilations", 1))


def conv_2d_transpose(x, a):
    return tf.nn.conv2d_transpose(*x, a["strides"], a.get("padding", "SAME"), a.get("data_format", "NHWC"), a.get("dilations"))


def pool_1d(function):
    return lambda x, a: function(x[0], a.get("ksize", 1), a.get("strides", 1), a["padding"], a.get("data_format", "NWC"))


def reduced(function):
    return lambda x, a: function(x[0], x[1], a.get("keep_dims", False))


# TensorFlow's ops for cases that are recorded without TensorFlow, or whose case itself names the version.
ASKED = {"Conv1D": conv_1d, "Conv2DTranspose": conv_2d_transpose, "MaxPool1D": pool_1d(tf.nn.max_pool1d), "AvgPool1D": pool_1d(tf.nn.avg_pool1d),
         "LogSumExp": reduced(tf.reduce_logsumexp), "Var": reduced(tf.math.reduce_variance), "Std": reduced(tf.math.reduce_std),
         "MatrixDiag": "MatrixDiagV3", "MatrixDiagPart": "MatrixDiagPartV3", "MatrixSetDiag": "MatrixSetDiagV3"}
# Calls that Gantry accepts although TensorFlow refuses them: op (a beginning, as a regular expression), a part of
# TensorFlow's message.
TAKEN = (("BooleanMask", "Shapes () and"),                  # an axis of -1
         ("ClipByValue", "clip_value_min and"),             # bounds broadcast to the input
         ("DepthwiseConv2dNative", "equal length strides"),
         ("ExtractImagePatches", "Sliding window rates"),   # without rates the rates are 1
         ("FusedBatchNorm", "Value for attr 'T' of double"),
         (r"(Max|Min|Maximum|Minimum|(Unsorted)?Segment(Max|Min)|Sort|ArgSort|TopK)$", "'T' of bool"),
         ("MaxPoolWithArgmax", "tensor_in must not be empty"),
         ("ResizeNearestNeighbor", "Value for attr 'T'"),   # every type
         (r"(Abs|Neg|Sign)$", "'T' of uint8"),
         (r"(Sort|ArgSort)$", "TensorFlow has no order"),
         ("UnsortedSegment", "is out of range [0, 0)"))     # an op with an empty result reads no ids

# TensorFlow writes out of bounds for some changed calls of these ops.
UNSAFE = ("AvgPoolGrad", "MaxPoolGrad", "MaxPoolGradGrad")
# XLA compiles these ops for TensorFlow; its messages are about the compiler's graph.
COMPILED = ("XlaDynamicSlice", "XlaDynamicUpdateSlice")


def good_call(r):
    """The first of the smallest ranks that are not trivial, and that TensorFlow accepts: it has not all attributes."""
    def weight(case):
        sizes = [x.size for x in case["inputs"]]
        least = min((x.ndim for x in case["inputs"][:1]), default=0)
        return -len(sizes) if r.op.startswith("Matrix") else 0, least == 0, 0 in sizes, sum(sizes) > 40, -len(case.get("attrs", {}))
    calls = sorted((c for c in r.cases if "error" not in c), key=weight)
    return next((c for c in calls if refusal(r.tf_op, c["inputs"], c.get("attrs", {})) is None), calls[0])


def other_type(x):
    return x.astype(F64 if x.dtype == F32 else F32) if x.dtype != BOOL else x.astype(I32)


def changed_inputs(op, inputs):
    """(label, inputs)"""
    for i, x in enumerate(inputs):
        host = i < len(op.inputs) and "HOST" in op.inputs[i][0]
        changes = [("of_other_type", other_type(x)), ("of_complex", np.zeros(x.shape, np.complex64))]
        changes += [(f"of_{t}", np.ones(x.shape, t)) for t in ("bool", "int32", "uint8")]
        changes += [("of_one_rank_more", x[None]), ("a_matrix", np.zeros((2, 2), x.dtype))]
        changes += [("a_scalar", x.reshape(-1)[0])] if x.ndim and x.size else []
        changes += [("of_one_rank_less", x[0])] if x.ndim and x.shape[0] else []
        for d in range(x.ndim):
            changes.append((f"shorter_{d}", np.take(x, range(x.shape[d] - 1), d) if x.shape[d] else x))
            changes.append((f"longer_{d}", np.concatenate([x, np.take(x, [0], d)], d) if x.shape[d] else x))
            changes.append((f"empty_{d}", np.take(x, [], d)))
        if x.dtype in INTS and (host or x.size <= 16):
            for k in range(min(x.size, 3)):
                for v in NUMBERS:
                    y = x.copy().reshape(-1)
                    y[k] = v
                    changes.append((f"{k}_is_{v}", y.reshape(x.shape)))
        for label, y in changes:
            yield f"input_{i}_{label}".replace("-", "m"), inputs[:i] + [y] + inputs[i + 1:]


TYPES = tuple(np.dtype(t) for t in ("bool", "float32", "int32", "complex64"))
OTHERS = {"STRING_ATTR": ("", "FOO"), "STRING_REQUIRED": ("FOO",), "FLOAT_ATTR": (-1.0,), "INT_ATTR": NUMBERS, "INT_REQUIRED": NUMBERS,
          "TYPE_OR": TYPES, "TYPE_REQUIRED": TYPES, "OUTPUTS_ATTR": (0, -1, 9), "LENGTH_ATTR": (0, 9)}


def other_lists(old):
    """One entry less, one more, none, and each one wrong; for a list that is not given, forbidden contents."""
    if not old:
        return [[0], [-1], [1, 0, 0, 1], [1, 1, 1, 1, 1]]
    return [old[:-1], old + [1], []] + [old[:k] + [v] + old[k + 1:] for k in range(len(old)) for v in NUMBERS]


def changed_attrs(op, tf_op, attrs):
    definition = None if callable(tf_op) else op_def_registry.get(tf_op)
    for name, kind in op.kinds.items():
        if definition and name not in {a.name for a in definition.attr}:     # an attribute of Gantry's own
            continue
        values = other_lists(attrs.get(name)) if kind == "INTS_ATTR" else OTHERS.get(kind, ())
        for k, v in enumerate(values):
            yield f"{name}_{k}", {**attrs, name: v}


def changed_calls(op, tf_op, case):
    inputs, attrs = case["inputs"], case.get("attrs", {})
    for label, changed in changed_inputs(op, inputs):
        yield label, changed, attrs
    for label, changed in changed_attrs(op, tf_op, attrs):
        yield label, inputs, changed


def alike(message):
    return re.sub(r"-?\d+|\[[^\]]*\]", "#", message)[:60]


def refusal(tf_op, inputs, attrs):
    """TensorFlow's message, or None. Other errors concern the form of the call, or types without a kernel."""
    try:
        run_tensorflow(tf_op, inputs, attrs)
    except tf.errors.InvalidArgumentError as e:
        return said(e)
    except ValueError as e:
        return str(e).splitlines()[0] if callable(tf_op) else None
    except Exception:
        return None
    return None


def extend(op, r):
    if op in UNSAFE + COMPILED or OPS[op].skipped:     # TensorFlow ends the process if a resource has another type than the op
        return
    usual, r.tf_op = r.tf_op, ASKED.get(op, r.tf_op)
    known = {alike(c["tf_message"]) for c in r.cases if "tf_message" in c}
    for label, inputs, attrs in changed_calls(OPS[op], r.tf_op, good_call(r)):
        message = refusal(r.tf_op, inputs, attrs)
        if message is None or alike(message) in known or any(re.match(o, op) and part in message for o, part in TAKEN):
            continue
        known.add(alike(message))
        r.error(f"refused_{label}", inputs, attrs)
    r.tf_op = usual
