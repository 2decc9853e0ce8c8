# SPDX-License-Identifier: Apache-2.0
"""The text of not_bridged.txt: TensorFlow's ops without a row, by the reason."""
import glob
import os
import re

# ---- ops that Gantry lacks: families by their names ----

FAMILIES = [
    ("sparse and ragged tensors", r"Sparse|Ragged|DenseToDenseSet|DenseCount|SetSize"),
    ("convolutions and windows of three dimensions, and rare windows",
     r"3D|Dilation2D|Fractional|ExtractVolume|ExtractGlimpse|MaxPool.*Argmax|^Conv$|^Fused.*PadConv|^LRN"),
    ("complex numbers and Fourier transforms", r"FFT|^(Complex|ComplexAbs|Real|Imag|Conj|Angle)$"),
    ("linear algebra", r"Cholesky|^(Batch)?(Matrix|SelfAdjoint|Svd|LogMatrix|Qr|Lu|Eig|Tridiagonal|Banded)"),
    ("images", r"Resize|Image|Crop|Adjust|HSV|BoundingBox|NonMaxSuppression|ScaleAndTranslate|^(RGB)"),
    ("special functions", r"Bessel|Igamma|^(Betainc|Dawsn|Expint|Fresnel\w+|Ndtri|Polygamma|Spence|Zeta|"
                          r"NextAfter)$"),
    ("random distributions and samplers", r"Random|Truncated|Sampler|Sample|NonDeterministicInts|ComputeAccidental|"
                                          r"StochasticCast"),
    ("recurrent cells, CTC and audio", r"LSTM|GRU|CTC|Audio|Mfcc|EditDistance"),
    ("clustering, search and optimizers of other libraries", r"KMC2|Kmeans|Nearest|Sdca|Isotonic"),
]

# What Keras and TensorFlow's guides use most, in this order: the op, and how Gantry's ops could compute it. First those
# that training runs of Keras's layers left on the CPU, then by their mentions in Keras 3 and tensorflow/python.
WANTED = [
    ("MaxPool3D", "two windows, over depths and over images; AvgPool3D as well"),
    ("ImageProjectiveTransformV3", "GatherNd at places made from the transforms, with the steps of CropAndResize"),
    ("Qr", "a kernel of its own; Keras's Orthogonal initializer calls it once for each variable"),
    ("DynamicStitch", "Concat of the rows, then TensorScatterUpdate"),
    ("DynamicPartition", "Equal and BooleanMask for each partition; waits for the device"),
    ("Svd", "a kernel of its own"),
    ("Bucketize", "UpperBound with the boundaries as a constant"),
    ("CTCLoss", "a kernel of its own"),
    ("Complex", "no op of Gantry computes with complex numbers; Real, Imag, Conj and FFTs need that"),
    ("Cholesky", "a kernel of its own"),
    ("DiagPart", "Reshape, MatrixDiagPart; Diag by MatrixDiag and Reshape"),
    ("Cross", "Slice, Mul, Sub, Pack"),
    ("SparseTensorDenseMatMul", "Gather, Mul, UnsortedSegmentSum"),
    ("LRN", "Square, AvgPool over channels, Pow, Mul"),
    ("RandomGamma", "a kernel of its own; StatelessRandomGammaV3 as well"),
]

STRING, RESOURCE, VARIANT, QUANTIZED = 7, 20, 21, {11, 12, 13, 15, 16}
CONTROL = (r"^(If|While|Case|For|Switch|Merge|Enter|Exit|NextIteration|LoopCond|ControlTrigger|PartitionedCall|"
           r"Stateful.*Call|Stateless(If|Case|While)|SymbolicGradient|RemoteCall|Eager|Py|Assert|Abort|Print|NoOp|"
           r"Placeholder|Identity|Map|Batch$|BatchFunction|Unbatch|Stage|Unstage|OrderedMap|FakeParam|"
           r"Timestamp|Sleep|TestAttr|Old|ConstructionFails|Get|DeviceIndex|Fact|HostConst|ImmutableConst|GraphDef)")


def types_of(tf):
    return {a.type for a in list(tf.definition.input_arg) + list(tf.definition.output_arg) if a.type}


def only_strings(tf):
    """Whether a type attribute of an input takes only texts."""
    attrs = {a.type_attr for a in tf.definition.input_arg}
    return any(set(tf.attrs[a].allowed_values.list.type) == {STRING} for a in attrs if a)


def reason(tf):
    """The class of an op without a row."""
    name, types = tf.name, types_of(tf)
    is_ref = any(a.is_ref for a in list(tf.definition.input_arg) + list(tf.definition.output_arg))
    if tf.is_removed():
        return "removed: no graph of this TensorFlow may have them"
    if any(k.device_type == "DEFAULT" for k in tf.kernels):
        return "TensorFlow's own kernels serve every device"
    if name.startswith(("Resource", "Stateful", "Rng")) and RESOURCE in types:
        return "variables without a kernel: with a variable on a GPU, such an op fails"
    if name.startswith(("_", "Xla", "Tpu", "TPU", "Mkl", "Nccl", "Collective", "Debug", "Copy")):
        return "internal: TensorFlow's runtime, compiler, collectives and debugger make them"
    if is_ref or name in ("Variable", "VariableV2", "TemporaryVariable"):
        return "references: variables of TensorFlow 1"
    if re.search(r"Dataset|Iterator|Optional|Reader|Queue|Record|Table|Summary|Stats|Checkpoint|Save|Restore", name):
        return "input, output and tables: they belong on the host"
    if types & QUANTIZED or re.search(r"uant", name):
        return "quantized types, which Gantry does not have"
    if re.search(CONTROL, name):
        return "control flow, functions and Python: TensorFlow's runtime runs them"
    if STRING in types or only_strings(tf) or re.search(r"String|Unicode|Decode|Encode|Json|Proto", name):
        return "texts and encoded data, which belong on the host"
    if types & {RESOURCE, VARIANT}:
        return "handles: lists, generators and other resources"
    for family, pattern in FAMILIES:
        if re.search(pattern, name):
            return f"Gantry lacks: {family}"
    return "Gantry lacks: others"


PREFIXES = {"APPLY": "ResourceApply", "SPARSE": "ResourceSparseApply", "SCATTER": "ResourceScatter",
            "SCATTER_ND": "ResourceScatterNd"}


def by_hand():
    """The ops that files of src/ register by themselves: a name after `.op =` or in a call of register_...(), or in
    variable_kernel.c's table, where a row serves the op on references, too."""
    names = {}
    for path in sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "src", "*.c"))):
        with open(path, encoding="utf-8") as file:
            text_ = file.read()
        for name in re.findall(r'(?:\.op = |register_\w+\()"(\w+)"', text_):
            names[name] = os.path.basename(path)
        if os.path.basename(path) == "variable_kernel.c":
            for macro, name in re.findall(r'^ +(\w+)\("(\w+)",', text_, re.MULTILINE):
                names[PREFIXES[macro] + name] = "variable_kernel.c"
            for name in re.findall(r'^ +\{"(\w+)", "\w+", 1,', text_, re.MULTILINE):
                names[name] = "variable_kernel.c"
    for name in [name for name in names if names[name] == "variable_kernel.c" and "Gather" not in name]:
        names[name.removeprefix("Resource").removesuffix("VariableOp")] = "variable_reference.c"
    return names


def wrap(names):
    lines, line = [], " "
    for name in names:
        if len(line) + len(name) > 118:
            lines.append(line)
            line = " "
        line += " " + name
    return "\n".join(lines + [line])


def text(rows, tensorflow, version, skipped):
    bridged, classes, files = {row.tf for row in rows}, {}, by_hand()
    for tf in tensorflow.values():
        if tf.name in bridged or not tf.has_cpu_kernel():
            continue
        if tf.name in files:
            classes.setdefault("kernels of their own: src/" + files[tf.name], []).append(tf.name)
            continue
        word = f"another meaning: {skipped[tf.name]}" if tf.name in skipped else reason(tf)
        classes.setdefault(word, []).append(tf.name)
    missing = {name for word, names in classes.items() if word.startswith("Gantry lacks") for name in names}
    total = sum(len(names) for names in classes.values())
    lines = [f"Made by generate_op_table.py from TensorFlow {version}: {total} ops with a kernel for CPUs that "
             f"op_table.def has not.", "",
             "The ops that programs want most, and how Gantry could compute them:"]
    for name, how in WANTED:
        if name in bridged or name in files:
            raise SystemExit(f"op_classes.py: {name} is bridged; it is no wanted op any more")
        lines.append(f"  {name}: {how}")
    for word in sorted(classes):
        lines += ["", f"{word} ({len(classes[word])}):", wrap(classes[word])]
    lines += ["", f"Gantry lacks {len(missing)} ops in all."]
    return "\n".join(lines) + "\n"
