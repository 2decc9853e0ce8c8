#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes gradients.json: what tf.GradientTape gives for the ops that libgantry_train has gradients of.

A case is one call of an op in the form of README.md, with these attributes of its own:

    test_inputs     how many of `inputs` are the op's; behind them lie the gradients of its outputs of a floating type
    test_outputs    how many outputs the op has
    test_of         the inputs that have a gradient; `outputs` are those gradients, or one 0 where there is none.
                    TensorFlow gives None for all other inputs.
    test_smooth     the op is smooth at these inputs: differences must give the same gradient
    test_second     likewise for the gradient of the gradient
    test_untold     TensorFlow has no such op: differences alone judge the gradient

Each case exists in float32 and in float64, where the op's results are of that type.
"""
import inspect
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from golden_case import F32, F64, is_float, rng_for, write_cases  # before TensorFlow: sets its options
from golden_attention import tf_attention
from golden_form import FUNCTION_CASES

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

RAW = {"Add": "AddV2", "BatchMatMul": "BatchMatMulV2", "Concat": "ConcatV2", "Gather": "GatherV2", "Pad": "PadV2",
       "MatrixDiagPart": "MatrixDiagPartV3", "MatrixDiag": "MatrixDiagV3", "MatrixSetDiag": "MatrixSetDiagV3",
       "Reverse": "ReverseV2", "Select": "SelectV2", "TopK": "TopKV2", "FusedBatchNorm": "FusedBatchNormV3"}
HERE = os.path.dirname(os.path.abspath(__file__))
CASES = []


class Values:
    """Values of a floating type: which range, and the shape; or given ones."""

    def __init__(self, kind, shape=(), given=None):
        self.kind, self.shape, self.given = kind, shape, given

    def make(self, dtype, *name):
        if self.given is not None:
            return np.asarray(self.given, dtype)
        rng = rng_for("tape", self.kind, self.shape, *name)
        low, high = {"any": (-2, 2), "positive": (0.4, 2.4), "unit": (-0.9, 0.9), "above": (1.3, 3)}.get(self.kind, (0, 0))
        if self.kind == "apart":  # no two are near each other, none is near 0
            count = int(np.prod(self.shape))
            values = (rng.permutation(count) + 1) * 0.375 * rng.choice([-1, 1], size=count)
            return values.reshape(self.shape).astype(dtype)
        if self.kind == "off":    # no value is near 0, 3 or 6
            values = rng.choice([-2.5, -1.75, -0.75, 0.5, 1.25, 2.5, 4.5, 7.25], size=self.shape)
            return values.astype(dtype)
        return np.round(rng.uniform(low, high, size=self.shape) * 256).astype(dtype) / dtype.type(256)


def any_(*shape):
    return Values("any", shape)


def positive(*shape):
    return Values("positive", shape)


def unit(*shape):
    return Values("unit", shape)


def apart(*shape):
    return Values("apart", shape)


def off(*shape):
    return Values("off", shape)


def above(*shape):
    return Values("above", shape)


def at(values):
    return Values("given", given=values)


def ints(values, dtype=np.int32):
    return np.asarray(values, dtype)


def add(op, inputs, attrs=None, name="", function=None, smooth=True, second=False, untold=False, none=(), tolerance=None,
        weights=None, kinds=(F32, F64)):
    """A case of inputs, Values or arrays. function: TensorFlow's, of the inputs, where it is no op of this name.
    weights: the gradient of the one output; else it is drawn. none: inputs for which TensorFlow has zeros, and Gantry no gradient. tolerance: of float32 and of float64."""
    CASES.append(dict(op=op, inputs=inputs, attrs=attrs or {}, name=name, function=function, smooth=smooth,
                      second=second, untold=untold, none=none, tolerance=tolerance, weights=weights, kinds=kinds))


def run_raw(name, tensors, attrs):
    definition = op_def_registry.get(name)
    arguments, place, lists = {}, 0, sum(1 for a in definition.input_arg if a.number_attr)
    for arg in definition.input_arg:
        count = len(tensors) - len(definition.input_arg) + 1 if lists and arg.number_attr else 1
        arguments[arg.name] = list(tensors[place:place + count]) if arg.number_attr else tensors[place]
        place += count
    assert place == len(tensors), (name, place, len(tensors))
    arguments.update({k: tf.as_dtype(v) if isinstance(v, np.dtype) else v for k, v in attrs.items()})
    function = getattr(tf.raw_ops, name)
    names = inspect.signature(function).parameters  # TensorFlow's Python renames some
    return function(**{k if k in names else "axis": v for k, v in arguments.items()})


def run(case, arrays, number):
    """The op's outputs, the gradients of outputs that were used, and those of the inputs."""
    tensors = [tf.constant(a) for a in arrays]
    watched = [t for t in tensors if t.dtype.is_floating]
    with tf.device("/CPU:0"), tf.GradientTape() as tape:
        for tensor in watched:
            tape.watch(tensor)
        results = (case["function"](*tensors) if case["function"]
                   else run_raw(RAW.get(case["op"], case["op"]), tensors, case["attrs"]))
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        floating = [r for r in results if r.dtype.is_floating]
        weights = [(case["weights"] or any_(*r.shape)).make(np.dtype(r.dtype.as_numpy_dtype), "dy", case["op"], number, i) for i, r in
                   enumerate(floating)]
    gradients = tape.gradient(floating, tensors, output_gradients=[tf.constant(w) for w in weights])
    return len(results), weights, [None if g is None else tf.convert_to_tensor(g).numpy() for g in gradients]


def record(case, number, dtype):
    arrays = [x.make(dtype, case["op"], number, i) if isinstance(x, Values) else x for i, x in enumerate(case["inputs"])]
    if case["untold"]:
        outputs, weights, gradients = 1, [case["untold"].make(dtype, "dy", case["op"], number)], []
        of = [i for i, a in enumerate(arrays) if is_float(a.dtype) and i not in case["none"]]
    else:
        outputs, weights, gradients = run(case, arrays, number)
        of = [i for i, g in enumerate(gradients) if g is not None and i not in case["none"]]
    attrs = dict(case["attrs"], test_inputs=len(arrays), test_outputs=outputs, test_of=of, test_smooth=case["smooth"],
                 test_second=case["second"], test_untold=bool(case["untold"]))
    bound = (case["tolerance"] or (4e-6, 4e-14))[0 if dtype == F32 else 1]
    return {"name": "_".join(t for t in (case["op"], case["name"], str(number), dtype.name) if t), "op": case["op"],
            "attrs": attrs, "inputs": arrays + weights,
            "outputs": [gradients[i] for i in of if gradients] or [np.zeros((), dtype)],
            "tolerance": {"abs": bound, "rel": bound}}


def arithmetic():
    for op in ("Add", "Sub", "Mul", "Div", "SquaredDifference", "DivNoNan", "MulNoNan"):
        second = positive if "Div" in op else any_
        add(op, [any_(2, 3), second(2, 3)], second=True)
        add(op, [any_(2, 3), second(3)], second=True)
        add(op, [any_(2, 1, 2), second(3, 1)], second=True)
        add(op, [any_(), second(2)], second=True)
        add(op, [any_(2, 2), second()], second=True)
    add("DivNoNan", [at([1, 2, 0]), at([0, 2, 0])], name="zero", smooth=False)
    add("MulNoNan", [at([1, np.inf, 2]), at([0, 0, 3])], name="zero", smooth=False)
    add("Div", [at([1, 0]), at([0, 0])], name="zero", smooth=False)
    add("FloorMod", [at([5.25, -5.25, 1.5]), at([2, 2, -4])])
    add("FloorMod", [at([[5.25], [-3.5]]), at([2, -3])])
    add("Maximum", [apart(2, 3), at([0.1, -0.1, 0.2])])
    add("Minimum", [apart(2, 3), at([[0.1], [-0.1]])])
    for op in ("Maximum", "Minimum"):
        add(op, [at([1, 2, 3, 0]), at([1, 2.5, 2, 0])], name="ties", smooth=False)
        add(op, [at([[1, 1], [0, 2]]), at(1)], name="ties", smooth=False)
    add("Pow", [positive(2, 2), any_(2, 2)], second=True)
    add("Pow", [positive(2, 2), any_(2)], second=True)
    add("Pow", [any_(3), at(2)], name="square", smooth=False)
    add("Pow", [at([0, 0, 0, 0, -2, -2, 1, 2]), at([0, 1, 2, 0.5, 2, 3, 0, 0])], name="edges", smooth=False)
    add("Atan2", [off(2, 3), off(3)], second=True)
    add("Atan2", [at([0, 1, 0]), at([1, 0, -1])], name="axes", smooth=False)
    add("Xdivy", [positive(2, 2), positive(2)], second=True)
    add("Xlogy", [positive(2, 2), positive(2)], second=True)
    add("Xlog1py", [positive(2, 2), positive(2)], second=True)
    for op in ("Xdivy", "Xlogy", "Xlog1py"):
        add(op, [at([0, 0, 1]), at([0, 2, 0.5])], name="zero", smooth=False)
    add("AddN", [any_(2, 2), any_(2, 2), any_(2, 2)])
    add("AddN", [any_(2)])
    add("Select", [np.array([[True, False]] * 2), any_(2, 2), any_(2)])
    add("Select", [np.array(True), any_(), any_(3)])
    add("ClipByValue", [at([-3, -0.5, 0.25, 4]), at(-1), at(1)])
    add("ClipByValue", [at([[-3, 0.5], [0.25, 4]]), at([[-1, 0], [-1, 0]]), at(1)])
    add("ClipByValue", [at([-1, 1, 0]), at(-1), at(1)], name="bounds", smooth=False)


def unary():
    for op in ("Neg", "Square", "Exp", "Expm1", "Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Erf",
               "Erfc", "Sigmoid", "Softplus"):
        values = unit if op == "Tan" else any_
        add(op, [values(2, 3)], second=True, tolerance=(8e-6, 4e-13))
        add(op, [values()], second=True, tolerance=(8e-6, 4e-13))
    for op in ("Sqrt", "Rsqrt", "Log", "Log1p", "Reciprocal"):
        add(op, [positive(2, 3)], second=True)
        add(op, [at([0, 1])], name="zero", smooth=False)
    for op in ("Sqrt", "Rsqrt", "Reciprocal"):
        add(op, [at([0, 0, 4])], name="quiet", smooth=False, weights=at([0, 1, 0]))
    add("Lgamma", [positive(2, 3)], second=True, tolerance=(8e-6, 4e-13))
    for op in ("Asin", "Acos", "Atanh"):
        add(op, [unit(2, 3)], second=True, tolerance=(8e-6, 4e-13))
        add(op, [at([1, -1, 0])], name="ends", smooth=False)
    add("Acosh", [above(2, 3)], second=True, tolerance=(8e-6, 4e-13))
    add("Abs", [off(2, 3)], second=True)
    add("Abs", [at([0, -1, 1])], name="zero", smooth=False)
    add("Sign", [off(3)], second=True)
    add("Sign", [at([0, -1])], name="zero", smooth=False)
    add("Cbrt", [off(2, 3)], function=lambda x: tf.sign(x) * tf.pow(tf.abs(x), tf.constant(1 / 3, x.dtype)), second=True)
    add("ReducePrecision", [at([0.5, -3.25, 7])], {"exponent_bits": 5, "mantissa_bits": 4}, function=lambda x, a=None, b=None: tf.identity(x),
        smooth=False, weights=at([1.5, -2, 0.25]))
    add("Tanh", [at([0, 20, -20])], name="ends", smooth=False)
    add("Sigmoid", [at([0, 90, -90])], name="ends", smooth=False)
    for op in ("Floor", "Ceil", "Round", "Rint", "IsNan", "OnesLike", "ZerosLike"):
        add(op, [off(3)])
    for op in ("FloorDiv", "TruncateDiv", "Less", "Equal"):
        add(op, [off(3), off(3)])


def activations():
    zero = at([0, -1, 1, 6, 7, 3])
    for op in ("Relu", "Relu6", "Elu", "Selu", "Softsign"):
        add(op, [off(2, 3)], second=True, tolerance=(8e-6, 4e-13))
        add(op, [zero], name="corners", smooth=False)
    add("Relu", [at([-1, 0, 1, -1])], name="infinite", smooth=False, weights=at([np.inf, np.inf, np.inf, np.nan]))
    add("LeakyRelu", [off(2, 3)], second=True)
    add("LeakyRelu", [off(2, 3)], {"alpha": 0.375}, second=True)
    add("LeakyRelu", [zero], name="corners", smooth=False)
    add("Silu", [any_(2, 3)], function=tf.nn.silu, second=True)
    add("Gelu", [any_(2, 3)], {"approximate": False}, function=lambda x: tf.nn.gelu(x, False), second=True,
        tolerance=(4e-6, 1e-7))
    add("Gelu", [any_(2, 3)], {"approximate": True}, function=lambda x: tf.nn.gelu(x, True), second=True,
        tolerance=(4e-6, 1e-7))


def reductions():
    for op in ("Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm", "LogSumExp", "Var", "Std"):
        functions = {"LogSumExp": tf.reduce_logsumexp, "Var": tf.math.reduce_variance, "Std": tf.math.reduce_std}
        values = apart if op in ("Max", "Min") else any_
        for shape, axes, kept in (((2, 3), [0, 1], False), ((2, 3), [1], False), ((2, 3, 2), [0, -1], True),
                                  ((2, 3, 2), [1], True), ((2, 3, 2), [0, 2], False), ((3,), [], False)):
            if op in ("Std", "EuclideanNorm", "Var") and not axes:
                continue  # of one number: a corner
            function = functions.get(op)
            add(op, [values(*shape), ints(axes)], {"keep_dims": kept}, second=op not in ("Max", "Min"),
                function=function and (lambda x, a, f=function, k=kept, n=list(axes): f(x, n, k)),
                tolerance=(8e-6, 4e-13))
    add("Prod", [at([[0, 2, 3], [0, 0, 3]]), ints([1])], {"keep_dims": False}, name="zeros")
    add("Prod", [at([[0, 2, 3], [4, 0, 3]]), ints([0, 1])], {"keep_dims": False}, name="zeros")
    for op in ("Max", "Min"):
        add(op, [at([[1, 1, 0], [0, 2, 2]]), ints([1])], {"keep_dims": False}, name="ties", smooth=False)
        add(op, [at([[1, 1], [1, 1]]), ints([0, 1])], {"keep_dims": True}, name="ties", smooth=False)
    add("EuclideanNorm", [at([0, 0]), ints([0])], {"keep_dims": False}, name="zero", smooth=False)
    add("Std", [at([2, 2]), ints([0])], {"keep_dims": False}, name="zero", smooth=False,
        function=lambda x, a: tf.math.reduce_std(x, [0], False))
    add("LogSumExp", [at([-np.inf, 1, 2]), ints([0])], {"keep_dims": False}, name="infinity", smooth=False,
        function=lambda x, a: tf.reduce_logsumexp(x, [0], False))
    add("Moments", [any_(2, 3), ints([1])], {"keep_dims": False}, function=lambda x, a: tf.nn.moments(x, [1]))
    add("L2Loss", [any_(2, 3)], second=True)
    for op in ("ArgMax", "ArgMin"):
        add(op, [apart(2, 3), ints(1)])
    for op in ("Cumsum", "Cumprod", "CumulativeLogsumexp"):
        for exclusive in (False, True):
            for reverse in (False, True):
                if op == "CumulativeLogsumexp" and exclusive:
                    continue  # begins with the lowest number
                add(op, [positive(2, 3), ints(-1 if reverse else 0)], {"exclusive": exclusive, "reverse": reverse},
                    tolerance=(1e-5, 1e-12))
    add("Cumprod", [at([2, 0, 3]), ints(0)], name="zero", smooth=False)


def shapes():
    add("Identity", [any_(2)])
    add("Cast", [any_(3)], {"DstT": F64}, name="double", tolerance=(2e-6, 2e-6))
    add("Cast", [any_(3)], {"DstT": F32}, name="single", tolerance=(2e-6, 2e-6), smooth=False)
    add("Cast", [any_(3)], {"DstT": np.dtype("int32")}, name="integer")
    add("Reshape", [any_(2, 3), ints([3, -1])])
    add("ExpandDims", [any_(2, 3), ints(1)])
    add("Squeeze", [any_(2, 1, 3, 1)], {"squeeze_dims": [1]})
    add("Transpose", [any_(2, 3, 2), ints([2, 0, 1])])
    add("BroadcastTo", [any_(2, 1), ints([3, 2, 2])])
    add("BroadcastTo", [any_(), ints([2, 2])])
    add("Tile", [any_(2, 3), ints([2, 1])])
    add("Tile", [any_(2, 1, 2), ints([2, 3, 2])])
    add("Tile", [any_(2), ints([0])], name="empty")
    add("Concat", [any_(2, 1), any_(2, 2), any_(2, 1), ints(1)])
    add("Concat", [any_(1, 2), any_(2, 2), ints(-2)])
    add("Concat", [any_(0, 2), any_(2, 2), ints(0)])
    add("Pack", [any_(2), any_(2), any_(2)], {"axis": 1})
    add("Pack", [any_(2, 1)], {"axis": -1})
    add("Unpack", [any_(2, 3)], {"num": 3, "axis": 1})
    add("Split", [ints(1), any_(2, 4)], {"num_split": 2})
    add("SplitV", [any_(2, 4), ints([1, 3]), ints(-1)], {"num_split": 2})
    add("Slice", [any_(3, 4), ints([1, 0]), ints([2, 3])])
    add("Slice", [any_(3, 2), ints([1, 0]), ints([-1, -1])])
    add("StridedSlice", [any_(4, 3), ints([1, 2]), ints([4, 0]), ints([2, -1])])
    add("StridedSlice", [any_(3, 2, 2), ints([0, 1, 0]), ints([0, 2, 0]), ints([1, 1, 1])],
        {"ellipsis_mask": 1, "shrink_axis_mask": 2, "new_axis_mask": 4})
    add("StridedSlice", [any_(5), ints([0]), ints([0]), ints([-2])], {"begin_mask": 1, "end_mask": 1})
    add("Pad", [any_(2, 2), ints([[1, 0], [0, 2]]), at(3)])
    add("MirrorPad", [any_(3, 3), ints([[1, 2], [0, 1]])], {"mode": "REFLECT"})
    add("MirrorPad", [any_(2, 3), ints([[1, 2], [0, 1]])], {"mode": "SYMMETRIC"})
    for mode in ("EDGE", "WRAP", "REFLECT", "SYMMETRIC"):
        add("Pad", [any_(3), ints([[7, 4]])], {"mode": mode}, untold=any_(14))
        add("Pad", [any_(3, 4), ints([[1, 2], [-1, 5]])], {"mode": mode, "crop": True}, untold=any_(6, 8))
    add("Pad", [any_(3, 4), ints([[1, -1], [-2, -1]])], {"crop": True}, untold=any_(3, 1))
    add("Pad", [any_(3, 2), ints([[1, -1], [-2, 4]])], {"crop": True, "interior": [2, 1]}, untold=any_(7, 5))
    add("Pad", [any_(3, 0), ints([[1, 1], [0, 2]])], {"interior": [2, 1]}, name="empty", untold=any_(9, 2))
    add("Reverse", [any_(2, 3), ints([1])])
    add("Roll", [any_(2, 3), ints([1, -2]), ints([1, 0])])
    for op, shape in (("SpaceToDepth", (1, 2, 4, 1)), ("DepthToSpace", (1, 1, 2, 4))):
        add(op, [any_(*shape)], {"block_size": 2})
    add("SpaceToBatchND", [any_(1, 3, 1), ints([2]), ints([[1, 0]])])
    add("BatchToSpaceND", [any_(2, 2, 1), ints([2]), ints([[1, 0]])])
    add("Fill", [ints([2, 2]), any_()])
    add("MatrixBandPart", [any_(3, 3), ints(1, np.int64), ints(0, np.int64)])
    add("MatrixDiag", [any_(2, 2), ints(0), ints(-1), ints(-1), at(0)])
    add("MatrixDiag", [any_(2, 2), ints([0, 1]), ints(2), ints(3), at(1)], {"align": "LEFT_RIGHT"})
    add("MatrixDiagPart", [any_(2, 3), ints(0), at(0)])
    add("MatrixDiagPart", [any_(3, 3), ints([-1, 1]), at(2)], {"align": "RIGHT_RIGHT"})
    add("MatrixSetDiag", [any_(2, 3), any_(2), ints(0)])
    add("MatrixSetDiag", [any_(3, 3), any_(2, 3), ints([0, 1])], {"align": "LEFT_LEFT"})
    window = {"ksizes": [1, 2, 2, 1], "strides": [1, 1, 2, 1], "rates": [1, 1, 1, 1], "padding": "SAME"}
    add("ExtractImagePatches", [any_(1, 3, 3, 1)], window)
    add("ExtractImagePatches", [any_(1, 2, 3, 4)], {**window, "input_format": "NCHW"}, name="planes", second=True,
        function=lambda x: tf.raw_ops.ExtractImagePatches(images=tf.transpose(x, [0, 2, 3, 1]), **window))
    add("FoldImagePatches", [any_(1, 3, 2, 4), ints([1, 3, 3, 1], np.int64)], window, untold=any_(1, 3, 3, 1))


def grid(i):
    """Positions of indices of elements along axis 1 of a matrix, as rows of indices."""
    return tf.stack([tf.repeat(tf.range(i.shape[0])[:, None], i.shape[1], 1), i], -1)


def further_indices():
    """Reductions, and indices of elements along an axis."""
    onto = {"NONE": tf.tensor_scatter_nd_update, "ADD": tf.tensor_scatter_nd_add, "MAX": tf.tensor_scatter_nd_max,
            "MIN": tf.tensor_scatter_nd_min}
    for reduction in ("NONE", "MAX", "MIN"):
        add("ScatterNd", [ints([[1], [3], [0]]), apart(3, 2), ints([4, 2])], {"reduction": reduction},
            function=lambda i, u, s, f=onto[reduction]: f(tf.zeros(s, u.dtype), i, u))
    add("ScatterNd", [ints([[1], [0]]), any_(2, 2), ints([3, 2])], {"reduction": "MUL"}, function=lambda i, u, s: tf.scatter_nd(i, u * 0, s))
    for axis in (0, 1):
        turn = tf.transpose if axis == 0 else tf.identity
        add("GatherElements", [any_(3, 3), ints([[2, 0, 2], [1, 1, 0]] if axis == 0 else [[2, 0], [1, 1], [0, 0]])], {"axis": axis},
            function=lambda x, i, turn=turn: turn(tf.gather_nd(turn(x), grid(turn(i)))))
    i = ints([[2, 0], [1, 0]])
    for reduction, function in onto.items():
        add("ScatterElements", [apart(2, 3), i, apart(2, 2)], {"axis": 1, "reduction": reduction},
            function=lambda x, i, u, f=function: f(x, grid(i), u))
    twice = ints([[2, 0, 2], [1, 1, 1]])
    for reduction in ("ADD", "MUL"):
        product = lambda x, i, u: x * tf.reshape(tf.math.unsorted_segment_prod(tf.reshape(u, [-1]), tf.reshape(i + tf.constant([[0], [3]]), [-1]), 6), [2, 3])
        add("ScatterElements", [any_(2, 3), twice, any_(2, 3)], {"axis": 1, "reduction": reduction}, name="twice", second=True,
            function=product if reduction == "MUL" else lambda x, i, u: tf.tensor_scatter_nd_add(x, grid(i), u))
    add("ScatterElements", [any_(2, 3), twice, any_(2, 3)], {"axis": 1, "reduction": "NONE"}, name="replaced",
        function=lambda x, i, u: tf.tensor_scatter_nd_update(x, [[0, 0], [0, 2], [1, 1]], tf.gather_nd(u, [[0, 1], [0, 2], [1, 2]])))
    add("ScatterNd", [ints([[1], [3], [1]]), any_(3, 2), ints([4, 2])], {"reduction": "NONE"}, name="replaced",
        function=lambda i, u, s: tf.tensor_scatter_nd_update(tf.zeros(s, u.dtype), [[3], [1]], tf.gather(u, [1, 2])))
    add("ScatterElements", [at([[1, 2, 3], [4, 5, 6]]), twice, at([[3, 1, 3], [5, 5, 7]])], {"axis": 1, "reduction": "MAX"}, name="ties",
        smooth=False, function=lambda x, i, u: tf.tensor_scatter_nd_max(x, grid(i), u))


def taken(x, at, axis):
    turn = tf.transpose if axis == 0 else tf.identity
    return turn(tf.gather(turn(x), turn(at), batch_dims=1))


def sorted_by(first, second, *others):
    """By two keys along axis 0; equal ones keep their order."""
    at = tf.argsort(second, axis=0, stable=True)
    at = taken(at, tf.argsort(taken(first, at, 0), axis=0, stable=True), 0)
    return [taken(x, at, 0) for x in (first, second, *others)]


def box_begin(whole, size, starts):
    return tf.clip_by_value(starts, 0, tf.shape(whole, starts.dtype) - tf.cast(size, starts.dtype))


def take_box(whole, starts, size):
    return tf.slice(whole, box_begin(whole, size, starts), size)


def put_box(whole, box, starts):
    begin = box_begin(whole, tf.shape(box), starts)
    around = tf.stack([begin, tf.shape(whole) - tf.shape(box) - begin], 1)
    return tf.where(tf.pad(tf.ones_like(box), around) > 0, tf.pad(box, around), whole)


def boxes():
    """TensorFlow has no gradients of XLA's ops: other ops say the same."""
    for shape, box, starts in (((3, 4), (2, 3), (1, 0)), ((4, 3), (1, 3), (-5, 2)), ((5,), (2,), (9,)), ((2, 3, 2), (1, 2, 2), (0, 1, 1))):
        add("XlaDynamicSlice", [any_(*shape), ints(starts), ints(box)], function=take_box, second=len(shape) == 3)
        add("XlaDynamicUpdateSlice", [any_(*shape), any_(*box), ints(starts)], function=put_box, second=len(shape) == 3)
    add("XlaDynamicSlice", [any_(3), ints([1]), ints([0])], name="empty", function=take_box)
    add("XlaDynamicUpdateSlice", [any_(3), any_(0), ints([1])], name="empty", function=put_box)


def indices():
    add("Gather", [any_(3, 2), ints([2, 0, 2]), ints(0)], {"batch_dims": 0})
    add("Gather", [any_(3, 2), ints(1), ints(0)], {"batch_dims": 0})
    add("Gather", [any_(2, 3, 2), ints([[2, 0], [1, 1]], np.int64), ints(1)], {"batch_dims": 0})
    add("Gather", [any_(2, 3), ints([0, 2]), ints(-1)], {"batch_dims": 0})
    add("Gather", [any_(2, 3), ints([[0, 0], [2, 1]]), ints(1)], {"batch_dims": 1})
    add("Gather", [any_(2, 2, 3, 1), ints([[0, 0], [2, 1]]), ints(2)], {"batch_dims": 1})
    add("GatherNd", [any_(3, 2), ints([[2], [0], [2]])])
    add("GatherNd", [any_(2, 2), ints([[[1, 0]], [[0, 1]]])])
    add("GatherNd", [any_(2, 3, 2), ints([[[2], [2]], [[0], [1]]])], {"batch_dims": 1}, untold=any_(2, 2, 2))
    add("GatherNd", [any_(2, 2, 3), ints([[[2], [0]], [[1], [1]]])], {"batch_dims": 2}, untold=any_(2, 2), second=True)
    add("ScatterNd", [ints([[1], [3], [1]]), any_(3, 2), ints([4, 2])])
    for op in ("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin"):
        add(op, [any_(4, 2), ints([[1], [3]]), any_(2, 2)])
    for op in ("TensorScatterMax", "TensorScatterMin"):
        add(op, [at([1, 2, 3, 4]), ints([[1], [1], [2]]), at([2, 2, 3])], name="ties", smooth=False)
    add("TensorScatterMul", [any_(4, 2), ints([[1], [3], [1]]), any_(3, 2)], second=True,
        function=lambda x, i, u: x * tf.math.unsorted_segment_prod(u, i[:, 0], 4))
    add("TensorScatterMul", [at([2, 3, 0, 5, 0]), ints([[0], [0], [1], [2], [3], [3], [4]]), at([0, 4, 0, 6, 0, 0, 0])], name="zeros",
        smooth=False, function=lambda x, i, u: x * tf.math.unsorted_segment_prod(u, i[:, 0], 5))
    further_indices()
    add("EmbeddingLookup", [any_(3, 2), ints([[2, 0], [2, 1]])], function=tf.gather)
    add("BooleanMask", [any_(3, 2), np.array([True, False, True])], function=tf.boolean_mask)
    for op in ("SegmentSum", "SegmentMean", "SegmentMax", "SegmentMin", "SegmentProd"):
        values = apart if "M" in op and op != "SegmentMean" else any_
        add(op, [values(4, 2), ints([0, 0, 2, 2])])
        unsorted = "Unsorted" + op
        mean = (lambda x, i, n: tf.math.unsorted_segment_mean(x, i, n)) if op == "SegmentMean" else None
        add(unsorted, [values(4, 2), ints([1, 0, -1, 1]), ints(2)], function=mean)
        add(unsorted, [values(2, 2), ints([[1, 0], [1, 3]]), ints(4)], function=mean, smooth=op not in ("SegmentMax", "SegmentMin"))
    for op in ("SegmentMax", "SegmentMin"):
        add(op, [at([1, 1, 2, 2, 1]), ints([0, 0, 1, 1, 1])], name="ties", smooth=False)
        add("Unsorted" + op, [at([1, 1, 2, 2, 1]), ints([1, 1, 0, 0, 0]), ints(2)], name="ties", smooth=False)
    for op, further in (("SegmentProd", []), ("UnsortedSegmentProd", [ints(3)])):
        add(op, [at([2, 0, 3, 0, 0, 4, 5]), ints([0, 0, 0, 1, 1, 1, 2])] + further, name="zeros")
    add("Sort", [apart(2, 4)], {"axis": -1, "direction": "ASCENDING"}, function=lambda x: tf.sort(x))
    add("Sort", [apart(3, 2)], {"axis": 0, "direction": "DESCENDING"},
        function=lambda x: tf.sort(x, axis=0, direction="DESCENDING"))
    add("Sort", [apart(3)], {"axis": 0, "direction": "DESCENDING"},
        function=lambda x: tf.sort(x, axis=0, direction="DESCENDING"))
    add("TopK", [apart(2, 4), ints(2)])
    add("TopK", [apart(4), ints(3)])
    add("TopK", [apart(4, 3), ints(2)], {"axis": 0, "largest": False},
        function=lambda x, k: [tf.transpose(-tf.math.top_k(-tf.transpose(x), k).values), tf.zeros([2, 3], tf.int32)])
    add("SortByKeys", [at([[1, 2], [0, 2], [1, 2], [0, 1]]), apart(4, 2), any_(4, 2)], {"num_keys": 2, "axis": 0}, smooth=False,
        function=sorted_by)
    add("SortByKeys", [apart(2, 4), any_(2, 4)], {"descending": [1]},
        function=lambda x, y: [taken(z, tf.argsort(x, direction="DESCENDING", stable=True), 1) for z in (x, y)])
    add("OneHot", [ints([0, 1]), ints(2), at(1), at(0)])


def products():
    for a, b in ((False, False), (True, False), (False, True), (True, True)):
        shapes_ = ((3, 2) if a else (2, 3)), ((2, 3) if b else (3, 2))
        add("MatMul", [any_(*shapes_[0]), any_(*shapes_[1])], {"transpose_a": a, "transpose_b": b}, second=not a)
        add("BatchMatMul", [any_(2, *shapes_[0]), any_(1, *shapes_[1])], {"adj_x": a, "adj_y": b})
    add("BiasAdd", [any_(2, 3), any_(3)])
    for op in ("Softmax", "LogSoftmax"):
        add(op, [any_(2, 3)], second=True)
    add("SoftmaxCrossEntropyWithLogits", [any_(2, 3), positive(2, 3)], name="loss", smooth=False,  # labels whose sum is not 1
        function=lambda x, y: tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=x, labels=y)[:1])
    add("SparseSoftmaxCrossEntropyWithLogits", [any_(2, 3), ints([2, 0], np.int64)],
        function=lambda x, y: tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(features=x, labels=y)[:1])
    for equation, parts in (("ij,jk->ik", [any_(2, 3), any_(3, 2)]), ("bij->bji", [any_(2, 1, 2)]),
                            ("ij,ij->", [any_(2, 2), any_(2, 2)]), ("ii->i", [any_(2, 2)])):
        add("Einsum", parts, {"equation": equation}, function=lambda *x, e=equation: tf.einsum(e, *x))


def windows():
    conv = {"strides": [1, 1, 2, 1], "padding": "SAME", "data_format": "NHWC", "dilations": [1, 1, 1, 1]}
    add("Conv2D", [any_(1, 3, 3, 2), any_(2, 2, 2, 1)], conv)
    add("Conv2D", [any_(1, 3, 3, 1), any_(2, 2, 1, 2)], dict(conv, strides=[1, 1, 1, 1], padding="VALID"))
    add("Conv2DBackpropInput", [ints([1, 3, 3, 2]), any_(2, 2, 2, 1), any_(1, 3, 2, 1)], conv)
    add("Conv2DBackpropFilter", [any_(1, 3, 3, 2), ints([2, 2, 2, 1]), any_(1, 3, 2, 1)], conv)
    square = dict(conv, strides=[1, 1, 1, 1])
    add("DepthwiseConv2dNative", [any_(1, 3, 2, 2), any_(2, 2, 2, 1)], square)
    add("DepthwiseConv2dNativeBackpropInput", [ints([1, 3, 2, 2]), any_(2, 2, 2, 1), any_(1, 3, 2, 2)], square)
    add("DepthwiseConv2dNativeBackpropFilter", [any_(1, 3, 2, 2), ints([2, 2, 2, 1]), any_(1, 3, 2, 2)], square)
    add("Conv2DTranspose", [any_(1, 2, 2, 1), any_(2, 2, 2, 1), ints([1, 4, 4, 2])],
        {"strides": [1, 2, 2, 1], "padding": "SAME", "data_format": "NHWC"},
        function=lambda x, w, n: tf.nn.conv2d_transpose(x, w, [1, 4, 4, 2], 2, "SAME"))
    pads = [[0, 0], [1, 0], [2, 1], [0, 0]]
    add("Conv2DTranspose", [any_(1, 2, 3, 2), any_(2, 2, 1, 2), ints([1, 4, 4, 1])],
        {"strides": [1, 2, 2, 1], "padding": "EXPLICIT", "explicit_paddings": sum(pads, []), "data_format": "NHWC",
         "dilations": [1, 2, 1, 1]},
        function=tf.function(lambda x, w, n: tf.nn.conv2d_transpose(x, w, [1, 4, 4, 1], 2, pads, dilations=[2, 1]), jit_compile=True))
    add("Conv1D", [any_(1, 4, 2), any_(2, 2, 1)], {"stride": 2, "padding": "SAME"},
        function=lambda x, w: tf.nn.conv1d(x, w, 2, "SAME"))
    pool = {"ksize": [1, 2, 2, 1], "strides": [1, 1, 2, 1], "padding": "SAME", "data_format": "NHWC"}
    add("AvgPool", [any_(1, 3, 3, 1)], pool)
    add("AvgPoolGrad", [ints([1, 3, 3, 1]), any_(1, 3, 2, 1)], pool)
    add("MaxPool", [apart(1, 3, 3, 1)], pool)
    add("MaxPool", [at(np.ones((1, 2, 2, 1)))], pool, name="ties", smooth=False)
    # attributes of Gantry's own, [1, 5, 4, 1]: 3 x 2 places, and 2 x 2 of windows with gaps
    padded = {"ksize": [1, 3, 2, 1], "strides": [1, 2, 2, 1], "padding": "EXPLICIT", "explicit_paddings": [0, 0, 2, 1, 1, 0, 0, 0]}
    apart_windows = {**padded, "strides": [1, 2, 3, 1], "dilations": [1, 2, 2, 1], "ceil_mode": True}
    for attrs, places in ((padded, (1, 3, 2, 1)), (apart_windows, (1, 3, 2, 1))):
        for counts in (False, True):
            add("AvgPool", [any_(1, 5, 4, 1)], {**attrs, "count_include_pad": counts}, untold=any_(*places))
            add("AvgPoolGrad", [ints([1, 5, 4, 1]), any_(*places)], {**attrs, "count_include_pad": counts}, untold=any_(1, 5, 4, 1))
        add("MaxPool", [apart(1, 5, 4, 1)], attrs, untold=any_(*places))
        add("MaxPoolWithArgmax", [apart(1, 5, 4, 1)], attrs, untold=any_(*places))
    add("MaxPoolWithArgmax", [apart(1, 3, 3, 1)], pool, untold=any_(1, 3, 2, 1))
    for op, shape in (("MaxPoolGrad", (1, 3, 2, 1)), ("MaxPoolGradGrad", (1, 3, 3, 1))):
        image = apart(1, 3, 3, 1).make(F64, "pooled")
        pooled = tf.nn.max_pool2d(image, [2, 2], [1, 2], "SAME").numpy()
        add(op, [at(image), at(pooled), any_(*shape)], pool)
    add("AvgPool1D", [any_(1, 4, 1)], {"ksize": 2, "strides": 1, "padding": "SAME"},
        function=lambda x: tf.nn.avg_pool1d(x, 2, 1, "SAME"))
    line = {"ksize": 2, "strides": 2, "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 1, 0, 0], "dilations": 2, "ceil_mode": True}
    add("AvgPool1D", [any_(1, 5, 1)], {**line, "count_include_pad": True}, untold=any_(1, 3, 1))
    add("MaxPool1D", [apart(1, 5, 1)], line, untold=any_(1, 3, 1))
    add("MaxPool1D", [apart(1, 4, 1)], {"ksize": 2, "strides": 1, "padding": "SAME"},
        function=lambda x: tf.nn.max_pool1d(x, 2, 1, "SAME"))


def resizes():
    near, half, none = (4e-5, 4e-5), {"half_pixel_centers": True}, ints([], np.int64)
    for op in ("ResizeNearestNeighbor", "ResizeBilinear", "ResizeBicubic"):
        for attrs in ({}, half):
            add(op, [any_(1, 3, 4, 2), ints([5, 3])], attrs, smooth=op == "ResizeNearestNeighbor", tolerance=near,
                kinds=(F32, F64) if op == "ResizeNearestNeighbor" else (F32,))
    add("ResizeNearestNeighbor", [any_(1, 3, 4, 2), ints([6, 8])], {}, second=True)
    add("ResizeNearestNeighborGrad", [any_(1, 6, 4, 2), ints([3, 4])], {}, untold=any_(1, 3, 4, 2))
    add("ResizeBilinearGrad", [any_(1, 3, 4, 2), any_(1, 2, 5, 2)], half, untold=any_(1, 2, 5, 2), none=[1], kinds=(F32,))
    add("ResizeBicubicGrad", [any_(1, 3, 4, 2), any_(1, 2, 5, 2)], half, untold=any_(1, 2, 5, 2), none=[1], kinds=(F32,))
    scaled = [ints([5, 3]), ints([1.5, 0.75], F32), ints([0.5, -0.25], F32)]
    add("ScaleAndTranslate", [any_(1, 3, 4, 2), *scaled], {"kernel_type": "triangle"}, smooth=False, tolerance=near, kinds=(F32,))
    add("ScaleAndTranslateGrad", [any_(1, 5, 3, 2), any_(1, 3, 4, 2), *scaled[1:]], {"kernel_type": "triangle"}, untold=any_(1, 3, 4, 2), none=[1, 2, 3], kinds=(F32,))
    add("CropAndResize", [any_(2, 4, 5, 2), at([[0.1, 0.2, 0.8, 0.9], [0.3, -0.5, 0.6, 0.75]]), ints([1, 0]), ints([3, 2])], {},
        smooth=False, tolerance=near, kinds=(F32,))
    add("CropAndResizeGradImage", [any_(2, 3, 2, 2), ints([[0.1, 0.2, 0.8, 0.9], [0.3, -0.5, 0.6, 0.75]], F32), ints([1, 0]), ints([2, 4, 5, 2])],
        {"T": F32}, untold=any_(2, 4, 5, 2), smooth=False, kinds=(F32,))
    add("CropAndResizeGradBoxes", [any_(2, 3, 2, 2), any_(2, 4, 5, 2), at([[0.1, 0.2, 0.8, 0.9], [0.3, -0.5, 0.6, 0.75]]), ints([1, 0])], {},
        untold=any_(2, 4), kinds=(F32,))
    for mode in ({}, {"mode": "LINEAR"}, {"mode": "CUBIC", "exclude_outside": True}, {"mode": "LINEAR", "antialias": True}):
        add("Resize", [any_(2, 3, 4), ints([2, 5, 3], np.int64)], mode, untold=any_(2, 5, 3))
        add("ResizeGrad", [any_(2, 5, 3), ints([2, 3, 4], np.int64), ints([2, 5, 3], np.int64)], mode, untold=any_(2, 3, 4))
    add("Resize", [any_(2, 3, 4), none, ints([1, 2, 0.75], F32)], {"mode": "LINEAR"}, untold=any_(2, 6, 3), none=[2])


def layer_norm(x, scale, offset):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + tf.cast(0.001, x.dtype)) * scale + offset


def norms():
    add("BatchNorm", [any_(2, 3), any_(3), positive(3), any_(3), any_(3)], {"variance_epsilon": 0.25},
        function=lambda x, m, v, o, s: tf.nn.batch_normalization(x, m, v, o, s, 0.25))
    add("LayerNorm", [any_(2, 3), any_(3), any_(3)], {"axis": -1, "epsilon": 0.001}, function=layer_norm,
        tolerance=(2e-5, 1e-7))
    training = {"epsilon": 0.25, "data_format": "NHWC", "is_training": True}
    add("FusedBatchNorm", [any_(2, 1, 2, 2), any_(2), any_(2), at(np.zeros(0)), at(np.zeros(0))], training,
        function=lambda x, s, o, m, v: fused_norm(x, s, o, m, v, training), tolerance=(1e-5, 1e-12))
    add("FusedBatchNorm", [any_(2, 1, 2, 2), any_(2), any_(2), any_(2), positive(2)], dict(training, is_training=False),
        none=[3, 4],
        function=lambda x, s, o, m, v: fused_norm(x, s, o, m, v, dict(training, is_training=False)))
    add("FusedBatchNormGrad", [any_(1, 1, 3, 2), any_(1, 1, 3, 2), any_(2), any_(2), positive(2), at(np.zeros(0))],
        dict(training, is_training=False), untold=any_(1, 1, 3, 2), none=[1, 3, 5])
    add("Dropout", [any_(2, 3), ints([1, 2], np.int64)], {"rate": 0.5}, untold=any_(2, 3))
    add("StatelessShuffle", [any_(3, 2), ints([7], np.uint64), ints([1, 2], np.uint64), ints(1)], untold=any_(3, 2))


def fused_norm(x, scale, offset, mean, variance, attrs):
    if x.dtype == tf.float32:
        return tf.raw_ops.FusedBatchNormV3(x=x, scale=scale, offset=offset, mean=mean, variance=variance, **attrs)[:1]
    if attrs["is_training"]:
        mean, variance = tf.nn.moments(x, [0, 1, 2])
    return tf.nn.batch_normalization(x, mean, variance, offset, scale, attrs["epsilon"])


def attention(*inputs, **attrs):
    return tf_attention(list(inputs), attrs)[0]


def group_norm(groups, last):
    """Of x with channels last or second."""
    def run_norm(x, scale, offset):
        first = x if not last else tf.transpose(x, [0, x.shape.rank - 1, *range(1, x.shape.rank - 1)])
        parts = tf.reshape(first, [x.shape[0], groups, -1])
        mean, variance = tf.nn.moments(parts, [2], keepdims=True)
        y = tf.reshape((parts - mean) * tf.math.rsqrt(variance + tf.constant(0.25, x.dtype)), first.shape)
        y = y if not last else tf.transpose(y, [0, *range(2, x.shape.rank), 1])
        sizes = [-1] if last else [-1] + [1] * (x.shape.rank - 2)
        return y * tf.reshape(scale, sizes) + tf.reshape(offset, sizes)
    return run_norm


def rotary(interleaved, places=None):
    def turn(x, cos, sin, *_):
        if places is not None:
            cos, sin = tf.gather(cos, places)[:, None], tf.gather(sin, places)[:, None]
        a, b = (x[..., 0::2], x[..., 1::2]) if interleaved else tf.split(x, 2, -1)
        pair = [cos * a - sin * b, sin * a + cos * b]
        return tf.reshape(tf.stack(pair, -1), x.shape) if interleaved else tf.concat(pair, -1)
    return turn


def attentions():
    near = (2e-5, 2e-13)
    q, k, v = any_(1, 2, 3, 4), any_(1, 2, 5, 4), any_(1, 2, 5, 2)
    op = "ScaledDotProductAttention"
    add(op, [q, k, v], function=attention, tolerance=near)
    add(op, [any_(1, 4, 3, 4), k, v], {"scale": 0.25, "softcap": 1.5}, tolerance=near, name="groups",
        function=lambda *x: attention(*x, scale=0.25, softcap=1.5))
    mask = np.array([[1, 0, 1, 0, 1], [0, 0, 0, 0, 0], [0, 1, 1, 1, 0]], bool)
    add(op, [q, k, v, mask], function=attention, tolerance=near, name="mask")
    add(op, [any_(2, 3, 4), any_(2, 5, 4), any_(2, 5, 4), any_(3, 5)], {"is_causal": True}, tolerance=near, name="added",
        function=lambda *x: attention(*x, is_causal=True))
    past = [any_(1, 2, 2, 4), any_(1, 2, 2, 2)]
    add(op, [any_(1, 4, 3, 4), any_(1, 2, 3, 4), any_(1, 2, 3, 2), any_(1, 1, 1, 5), *past], {"is_causal": True}, tolerance=near, name="past",
        function=lambda *x: attention(*x, is_causal=True))
    angles = np.linspace(0, 3, 10).reshape(5, 2)
    caches = [at(np.cos(angles)), at(np.sin(angles))]
    op = "RotaryEmbedding"
    add(op, [any_(1, 2, 5, 4), *caches], {"interleaved": False}, function=rotary(False))
    add(op, [any_(2, 2, 3, 4), *caches, ints([[0, 4, 1], [3, 3, 2]], np.int64)], {"interleaved": True},
        function=rotary(True, [[0, 4, 1], [3, 3, 2]]))
    add("RMSNorm", [any_(2, 3, 4), any_(3, 4)], {"axis": 1, "epsilon": 0.25}, tolerance=(2e-5, 1e-12),
        function=lambda x, s: x * tf.math.rsqrt(tf.reduce_mean(x * x, [1, 2], keepdims=True) + tf.constant(0.25, x.dtype)) * s)
    add("GroupNorm", [any_(2, 3, 4), any_(4), any_(4)], {"num_groups": 2, "epsilon": 0.25}, function=group_norm(2, True), tolerance=(2e-5, 1e-12))
    add("GroupNorm", [any_(2, 4, 3, 2), any_(4), any_(4)], {"num_groups": 2, "epsilon": 0.25, "data_format": "NCHW"}, tolerance=(2e-5, 1e-12),
        function=group_norm(2, False))
    add("InstanceNorm", [any_(2, 3, 4), any_(4), any_(4)], {"epsilon": 0.25}, function=group_norm(4, True), tolerance=(2e-5, 1e-12))


def gradient_ops():
    """Gradients of these are gradients of the second order."""
    for op in ("ReluGrad", "Relu6Grad", "LeakyReluGrad"):
        add(op, [any_(2, 3), off(2, 3)])
    for op in ("EluGrad", "SeluGrad"):
        add(op, [any_(2, 3), unit(2, 3)])
    add("SoftplusGrad", [any_(2, 3), any_(2, 3)], tolerance=(8e-6, 4e-13))
    add("SoftsignGrad", [any_(2, 3), off(2, 3)], untold=any_(2, 3))
    for op in ("TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad"):
        add(op, [positive(2, 3), any_(2, 3)])
    add("BiasAddGrad", [any_(2, 3)])
    add("StridedSliceGrad", [ints([4, 3]), ints([1, 2]), ints([4, 0]), ints([2, -1]), any_(2, 2)])
    add("MirrorPadGrad", [any_(4, 3), ints([[1, 1], [0, 1]])], {"mode": "REFLECT"})


def gamma():
    """Digamma's gradient is polygamma(1, x), infinite at 0 and at negative integers."""
    above_zero = at([0.01, 0.3, 0.5, 0.75, 1, 1.5, 2.25, 3, 5.5, 9, 10.5, 33, 1000])
    add("Digamma", [positive(2, 3)], second=True, tolerance=(2e-5, 2e-12))
    for op in ("Digamma", "Lgamma"):
        add(op, [above_zero], name="ends", smooth=False, tolerance=(2e-5, 2e-12))
    add("Digamma", [at([-0.25, -0.5, -1.25, 0, -1])], name="below", smooth=False, tolerance=(2e-5, 2e-12))
    add("Digamma", [at([-7.75, -20.5])], name="far", second=True, untold=any_(2))  # TensorFlow errs in float32


def empty():
    for op in ("Sum", "Mean", "Prod", "Max", "Min"):
        add(op, [any_(0, 3), ints([0])], {"keep_dims": False}, name="empty", smooth=False)
        add(op, [any_(2, 0), ints([0, 1])], {"keep_dims": True}, name="empty", smooth=False)
    for op in ("Add", "Mul", "Maximum"):
        add(op, [any_(0, 3), any_(3)], name="empty")
    for op in ("Cumsum", "Cumprod", "CumulativeLogsumexp"):
        add(op, [any_(0, 2), ints(0)], name="empty")
    add("Relu", [any_(0)], name="empty")
    add("Reshape", [any_(0, 2), ints([2, 0])], name="empty")
    add("Transpose", [any_(0, 2), ints([1, 0])], name="empty")
    add("BroadcastTo", [any_(1, 2), ints([0, 2])], name="empty")
    add("Slice", [any_(3), ints([1]), ints([0])], name="empty")
    add("StridedSlice", [any_(3), ints([2]), ints([1]), ints([1])], name="empty")
    add("Pad", [any_(0, 2), ints([[1, 1], [0, 0]]), at(1)], name="empty")
    add("Unpack", [any_(0, 2)], {"num": 2, "axis": 1}, name="empty")
    add("Gather", [any_(3, 2), ints(np.zeros(0)), ints(0)], {"batch_dims": 0}, name="empty")
    add("Gather", [any_(3, 0), ints([1, 2]), ints(0)], {"batch_dims": 0}, name="empty")
    add("GatherNd", [any_(3, 2), ints(np.zeros((0, 1)))], name="empty")
    add("ScatterNd", [ints(np.zeros((0, 1))), any_(0, 2), ints([3, 2])], name="empty")
    add("UnsortedSegmentSum", [any_(0, 2), ints(np.zeros(0)), ints(2)], name="empty")
    add("UnsortedSegmentMax", [any_(0, 2), ints(np.zeros(0)), ints(2)], name="empty", smooth=False)
    add("TopK", [any_(2, 3), ints(0)], name="empty")
    add("MatMul", [any_(2, 0), any_(0, 3)], name="empty")


def functions():
    """Functions of ops/functions.def that no family above has, in the range of their golden cases."""
    for op in sorted(FUNCTION_CASES.keys() - {case["op"] for case in CASES}):
        values = unit if FUNCTION_CASES[op][:2] == (1, 0) else any_
        for shape in ((2, 3), ()):
            add(op, [values(*shape)], second=True, tolerance=(8e-6, 4e-13))


def write(path):
    for family in (arithmetic, unary, activations, reductions, shapes, boxes, indices, products, windows, resizes, norms, attentions,
                   gradient_ops, gamma, empty, functions):
        family()
    recorded, numbers = [], {}
    for case in CASES:
        number = numbers[case["op"]] = numbers.get(case["op"], 0) + 1
        recorded += [record(case, number, dtype) for dtype in case["kinds"]]
    size = write_cases(path, {"op": "Gradients", "tensorflow_op": "GradientTape"}, recorded)
    print(f"{len(recorded)} cases of {len(numbers)} ops, {size} bytes")


if __name__ == "__main__":
    write(os.path.join(HERE, "gradients.json"))
