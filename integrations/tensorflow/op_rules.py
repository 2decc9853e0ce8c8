# SPDX-License-Identifier: Apache-2.0
"""What generate_op_table.py cannot read from the registries: names, attributes and types that differ."""

# The TensorFlow that the table is made from.
TENSORFLOW = "2.21.0 for x86_64"

# TensorFlow's op, and Gantry's op of the same meaning under another name.
ALIASES = {
    "RealDiv": "Div",
    "AddV2": "Add",
    "Inv": "Reciprocal",
    "InvGrad": "ReciprocalGrad",
    "Mod": "TruncateMod",
    "Snapshot": "Identity",
    "GuaranteeConst": "Identity",
    "ScatterNdNonAliasingAdd": "TensorScatterAdd",
    "ConjugateTranspose": "Transpose",
    "SparseMatMul": "MatMul",
}

# Ops of both that have no row, and the reason.
SKIPPED = {
    "Reverse": "the first version takes booleans in place of axes",
    "UniqueV2": "takes an axis",
    "UniqueWithCountsV2": "takes an axis",
    "SegmentSumV2": "takes the number of segments",
    "SegmentProdV2": "takes the number of segments",
    "SegmentMaxV2": "takes the number of segments",
    "SegmentMinV2": "takes the number of segments",
}

# Ops for which TensorFlow has kernels on every GPU that no plug-in's device can run: ours come before them.
BEFORE_TENSORFLOW = {
    "XlaDynamicSlice": "compiled by XLA, which has no compiler for Gantry's devices; Keras calls it",
    "XlaDynamicUpdateSlice": "compiled by XLA; keras.ops.slice_update calls it",
}

# TensorFlow's name of an input, and Gantry's.
RENAMED_INPUTS = {
    "Where": {"input": "condition"},
    "ScatterNdNonAliasingAdd": {"input": "tensor"},
}

# Attributes of TensorFlow that change no result, and the reason.
IGNORED_ATTRS = {
    "SparseMatMul": {"a_is_sparse": "a hint", "b_is_sparse": "a hint"},
}

# Texts of attributes that Gantry has and TensorFlow's version of the op has not.
FIXED_ATTRS = {
    "MatrixDiagV2": {"align": "LEFT_LEFT"},
    "MatrixDiagPartV2": {"align": "LEFT_LEFT"},
    "MatrixSetDiagV2": {"align": "LEFT_LEFT"},
}

# Type attributes that Gantry has under another name.
RENAMED_TYPES = {
    ("BatchMatMulV3", "Ta"): "T",
    ("BatchMatMulV3", "Tb"): "T",
    ("BatchMatMulV3", "Tout"): "T",
    ("SparseMatMul", "Ta"): "T",
    ("SparseMatMul", "Tb"): "T",
}

# The type attribute that decides about a kernel: the first of these that an op has, or its first.
MAIN_TYPES = ("dtype", "Tout", "T", "Tparams", "SrcT", "Ta")

# Ops whose type attributes must all be the same type in Gantry.
SAME_TYPES = {"BatchMatMulV3", "SparseMatMul"}

# A second op of Gantry, which serves further types of an op: those of each type attribute.
FURTHER = {
    "BatchMatMulV3": ("MatMulInteger", {"Ta": {4, 6}, "Tb": {4, 6}, "Tout": {3}}),
}

# Types that Gantry has under the name, with another meaning, and the reason.
WITHOUT_TYPES = {
    "ConjugateTranspose": {8: "Gantry's Transpose does not conjugate"},
    "SparseMatMul": {14: "the result is float32"},
}

# As in TensorFlow's builds for CUDA, int32 is the type of shapes, and stays in host memory.
INT32_ON_HOST = {"BroadcastTo", "Pack", "Pad", "PadV2", "Prod", "ReverseV2", "ScatterNd", "Split", "SplitV",
                 "StridedSlice", "StridedSliceGrad", "Sum"}

# Ops whose inputs and outputs all stay in host memory, where Gantry's CPU computes them.
ON_HOST = {"StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg", "StatelessRandomGetAlg"}

# Ops that a function of src/op_adapters.c prepares, and their inputs in host memory.
ADAPTERS = {
    "Concat": ("adapt_concat", ["concat_dim"]),
    "FusedBatchNormGrad": ("adapt_batch_norm_grad", []),
    "FusedBatchNormGradV2": ("adapt_batch_norm_grad", []),
    "Gather": ("adapt_gather", []),
    "InTopK": ("adapt_k", []),
    "MaxPoolGradGradV2": ("adapt_window", ["ksize", "strides"]),
    "MaxPoolGradV2": ("adapt_window", ["ksize", "strides"]),
    "MaxPoolV2": ("adapt_window", ["ksize", "strides"]),
    "Select": ("adapt_select", []),
}

# Ops of Gantry whose inputs have one shape, or broadcast, besides the rows of ops/elementwise.def.
ELEMENTWISE = {"AddN", "Cast", "ClipByValue", "EluGrad", "LeakyReluGrad", "OnesLike", "ReciprocalGrad", "Relu6Grad",
               "ReluGrad", "RsqrtGrad", "Select", "SeluGrad", "SigmoidGrad", "SoftplusGrad", "SoftsignGrad", "SqrtGrad",
               "TanhGrad", "ZerosLike"}


def type_attr(op, name):
    return RENAMED_TYPES.get((op, name), name)
