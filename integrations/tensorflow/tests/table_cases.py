# SPDX-License-Identifier: Apache-2.0
"""What table_check.py knows about single ops."""
import numpy as np

# A result is close within so many units of the type's precision, relative to the larger of the element and 1/64 of
# the largest element.
UNITS = 16

# Ops that draw numbers from a state: only shapes and types are compared.
DRAWN = {"RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt", "Multinomial",
         "RandomShuffle"}

# Type attributes that must be the same.
SAME_TYPES = {"BatchMatMulV3": ["Ta", "Tb", "Tout"], "SparseMatMul": ["Ta", "Tb"]}

# Attributes of Gantry that TensorFlow's op lacks, and their only value there.
LACKING = {"explicit_paddings": [], "align": "LEFT_LEFT", "batch_dims": 0, "data_format": "NHWC"}

# (op, word, part of the note, reason): differences that stay.
KNOWN = [
    ("ArgMax", "only_here", "a larger type is accepted", "TensorFlow wraps the position"),
    ("AvgPoolGrad", "only_here", "Expected grad shape", "TensorFlow's CPU does not compare the shape"),
    ("BatchMatMul", "only_there", "In[0]", "the first version refuses to broadcast"),
    ("Bitcast", "only_here", "tensors have at most 8", "TensorFlow's tensors have up to 254 dimensions"),
    ("CropAndResize", "other_error", "not OutOfRangeError", "numbers of images are checked as all indices are"),
    ("CropAndResizeGradBoxes", "other_error", "not OutOfRangeError", "numbers of images are checked as all indices are"),
    ("CropAndResizeGradImage", "other_error", "not OutOfRangeError", "numbers of images are checked as all indices are"),
    ("CropAndResizeGradBoxes", "different", "np.float32(105.72431), not np.float32(105.72435)",
     "float32 sums of large terms in another order"),
    ("CropAndResizeGradImage", "different", "not np.float16(", "TensorFlow's CPU adds up in float16, Gantry in float32"),
    ("CropAndResizeGradImage", "different", "not np.float64(", "grads are float32, and Gantry adds up in float32"),
    ("FusedBatchNormV3", "different", "float32[0], not float32[]",
     "the sixth output is empty: TensorFlow's CPU has a scalar there, and its GPU a vector"),
    ("FusedBatchNormV2", "different", "np.float32(0.25), not np.float32(",
     "TensorFlow's CPU leaves the statistics of halves as its memory was when it does not train"),
    ("FusedBatchNormV3", "different", "np.float32(0.25), not np.float32(",
     "TensorFlow's CPU leaves the statistics of halves as its memory was when it does not train"),
    ("ResizeBilinearGrad", "different", "not np.float64(",
     "grads and their products are float32, and Gantry adds up in float32"),
    ("Round", "different", "not np.int", "TensorFlow's CPU rounds integers to 0"),
    ("ScaleAndTranslate", "only_here", "translation is [0, inf]", "TensorFlow's CPU gives 0 for every pixel"),
    ("Tile", "only_there", "data type is not supported", "TensorFlow's CPU has no kernel"),
    ("TruncateDiv", "other_error", "Unexpected error", "TensorFlow's CPU calls a division by zero an internal error"),
    ("TruncateMod", "other_error", "Unexpected error", "TensorFlow's CPU calls a division by zero an internal error"),
    ("Where", "only_there", "No WhereOp available", "TensorFlow's CPU has no kernel"),
]

# (op, type, reason): nothing to compare with.
CANNOT_RUN = [
    ("Tile", "uint16", "TensorFlow's CPU has a kernel that refuses"),
    ("Where", "float16", "TensorFlow's CPU has a kernel that refuses"),
]


def extra(op):
    """Cases for versions of an op whose arguments no case of Gantry's op has."""
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 7
    return {
        "BatchMatMul": [("2x3x4_by_2x4x3", [x, x.reshape(2, 4, 3)], {})],
        "MatrixSetDiag": [("2x3x4", [x, x[:, 0, :3] * 10], {})],
        "Select": [("same_shapes", [x > 0, x, -x], {}), ("rows", [np.array([True, False]), x, x * 3], {}),
                   ("scalar", [np.array(False), x, x * 3], {})],
    }.get(op, [])


def may_leave_out(op, name, value):
    """May a case with this attribute of Gantry's run, though TensorFlow's op has no such attribute?"""
    if op in ("MatrixDiag", "MatrixDiagPart", "MatrixSetDiag"):
        return name == "align"
    return name in LACKING and value == LACKING[name]


def fit(definition, case):
    """A case of Gantry's op as one of TensorFlow's version of it: both devices get the same, so the result may be
    another."""
    name, inputs, attrs = case
    op, attrs = definition.name, dict(attrs)
    args = definition.input_arg
    if op in ("InTopK",):
        attrs["k"] = int(inputs[-1])
    if op.startswith("MaxPool") and op.endswith("V2"):
        inputs = [*inputs, np.array(attrs.pop("ksize"), np.int32), np.array(attrs.pop("strides"), np.int32)]
    if op == "Concat":
        inputs = [inputs[-1].astype(np.int32), *inputs[:-1]]
    if op.startswith("FusedBatchNorm") and not any(a.name == "U" for a in definition.attr):
        attrs.pop("U", None)
    if op == "BatchMatMulV3":
        attrs["Tout"] = "int32" if inputs[0].dtype.itemsize == 1 else inputs[0].dtype.name
    if not any(a.number_attr for a in args) and len(inputs) > len(args):
        inputs = inputs[:len(args)]
    return name, inputs, attrs


def cannot_run(op, dtype):
    """The reason for which nothing can be compared, or None."""
    return next((reason for name, type_, reason in CANNOT_RUN if (name, type_) == (op, dtype)), None)


def known(op, dtype, word, note):
    """The reason for which a difference stays, or None."""
    for name, word_, part, reason in KNOWN:
        if op == name and word == word_ and part in note:
            return reason
    return None
