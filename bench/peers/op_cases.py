# SPDX-License-Identifier: Apache-2.0
"""One case for nearly every op that a peer has, for `run --ops`: which op is far behind a peer's?

An Op says what Gantry runs, on which inputs, and how TensorFlow and PyTorch say the same. TensorFlow's raw op of the same
name is the default; "" stands for a peer without the op. Sizes are beyond the caches where that is usual.
"""

import dataclasses

import numpy as np

MI = 1 << 20
IMAGES = (16, 64, 64, 64)


@dataclasses.dataclass(frozen=True)
class Op:
    name: str  # of the case: the op's, and what tells it from others of the op
    make: object  # random generator -> list of input arrays
    attrs: dict = dataclasses.field(default_factory=dict)
    tensorflow: object = None  # name of a raw op, or (tf, inputs...) -> result; None: the op's own name
    torch: object = ""  # name in torch or torch.nn.functional, or (torch, inputs...) -> result

    @property
    def op(self):
        return self.name.split(":")[0]


# ---- data ----


def uniform(random, shape, low=-2.0, high=2.0):
    return random.uniform(low, high, shape).astype(np.float32)


def whole(random, shape, low, high):
    return random.integers(low, high, shape).astype(np.int32)


def shape_of(*dims):
    return np.array(dims, np.int32)


def floats(*shapes, low=-2.0, high=2.0):
    return lambda r: [uniform(r, s, low, high) for s in shapes]


# ---- ops of one and two operands ----

# PyTorch's name where it is not TensorFlow's in small letters
TORCH_NAMES = {
    "Rint": "round",
    "LeakyRelu": "leaky_relu",
    "FloorDiv": "floor_divide",
    "FloorMod": "remainder",
    "TruncateMod": "fmod",
    "Xlog1py": "",
    "SquaredDifference": "",
    "Xdivy": "",
    "DivNoNan": "",
    "MulNoNan": "",
    "Equal": "eq",
    "Greater": "gt",
    "GreaterEqual": "ge",
    "Less": "lt",
    "LessEqual": "le",
    "NotEqual": "ne",
    "BitwiseAnd": "bitwise_and",
    "LeftShift": "bitwise_left_shift",
    "Invert": "bitwise_not",
}
TENSORFLOW_NAMES = {"Add": "AddV2", "Div": "RealDiv"}
AROUND_ZERO = (
    "Abs Asinh Atan Ceil Cos Cosh Elu Erf Erfc Exp Expm1 Floor IsFinite IsInf IsNan LeakyRelu Neg Relu Relu6 Rint Round "
    "Selu Sigmoid Sign Sin Sinh Softplus Softsign Square Tan Tanh"
)
POSITIVE = "Digamma Lgamma Log Log1p Reciprocal Rsqrt Sqrt"
PAIRS = (
    "Add Sub Mul Div Maximum Minimum Atan2 FloorDiv FloorMod TruncateMod SquaredDifference Xlog1py Xdivy DivNoNan MulNoNan "
    "Equal Greater GreaterEqual Less LessEqual NotEqual"
)
INTEGER_PAIRS = "Add Mul FloorDiv FloorMod TruncateMod Maximum BitwiseAnd LeftShift Less"


def torch_name(op):
    return TORCH_NAMES.get(op, op.lower())


def unary(names, n, low, high):
    return [Op(name, floats(n, low=low, high=high), torch=torch_name(name)) for name in names.split()]


def elementwise(n):
    def pair(r):
        return [uniform(r, n), uniform(r, n, 0.1, 2.0)]

    def integers(r):
        return [whole(r, n, -1000, 1000), whole(r, n, 1, 30)]

    def powers(r):
        return [uniform(r, n, 0.1, 2.0), uniform(r, n)]

    def binary(name, make, tag=""):
        return Op(name + tag, make, tensorflow=TENSORFLOW_NAMES.get(name), torch=torch_name(name))

    return [
        *unary(AROUND_ZERO, n, -2.0, 2.0),
        *unary(POSITIVE, n, 0.01, 30.0),
        *unary("Acos Asin Atanh", n, -0.99, 0.99),
        *unary("Acosh", n, 1.0, 30.0),
        Op("Gelu", floats(n), {}, lambda tf, a: tf.nn.gelu(a), "gelu"),
        Op("Silu", floats(n), {}, lambda tf, a: tf.nn.silu(a), "silu"),
        *(binary(name, pair) for name in PAIRS.split()),
        *(binary(name, integers, ":int32") for name in INTEGER_PAIRS.split()),
        Op("Pow", powers, torch="pow"),
        Op("Xlogy", powers, torch="xlogy"),
        Op("Abs:int32", lambda r: [whole(r, n, -9, 9)], torch="abs"),
        Op("LogicalAnd", lambda r: [r.random(n) < 0.5, r.random(n) < 0.5], torch="logical_and"),
        Op("LogicalNot", lambda r: [r.random(n) < 0.5], torch="logical_not"),
        Op("Select", lambda r: [r.random(n) < 0.5, uniform(r, n), uniform(r, n)], torch="where"),
        Op(
            "ClipByValue",
            lambda r: [uniform(r, n), np.float32(-1), np.float32(1)],
            torch=lambda torch, a, low, high: a.clamp(-1, 1),
        ),
        Op("AddN", floats(n, n, n), {}, lambda tf, *a: tf.raw_ops.AddN(inputs=list(a))),
        Op("ZerosLike", floats(n), torch="zeros_like"),
        *(
            Op(f"{name}:float64", lambda r: [r.uniform(0.1, 2.0, n // 4)], torch=torch_name(name))
            for name in ("Exp", "Tanh", "Log", "Sin", "Erf", "Sqrt", "Sigmoid")
        ),
        *(
            Op(
                f"Cast:{source}-{target}",
                lambda r, source=source: [r.uniform(0, 9, n).astype(source)],
                {"DstT": np.dtype(target)},
                lambda tf, a, target=target: tf.cast(a, target),
                lambda torch, a, target=target: a.to(getattr(torch, target)),
            )
            for source, target in (
                ("float32", "float64"),
                ("float32", "int32"),
                ("int32", "float32"),
                ("bool", "float32"),
                ("int32", "int64"),
            )
        ),
    ]


# ---- ops along axes ----


def reductions(n, side):
    def along(name, tag, axes, torch, shape=(side, side)):
        return Op(f"{name}:{tag}", lambda r: [uniform(r, shape), shape_of(*axes)], torch=torch)

    def scan(name, axis, torch, tensorflow=None):
        return Op(
            f"{name}:axis {axis}",
            lambda r: [uniform(r, (side, side), 0.99, 1.01), np.int32(axis)],
            {},
            tensorflow,
            lambda _, a, at: getattr(a, torch)(axis),
        )

    rows = []
    for name, torch in (("Sum", "sum"), ("Mean", "mean"), ("Max", "amax"), ("Min", "amin")):
        rows += [
            along(name, "all", (0, 1), lambda _, a, at, f=torch: getattr(a, f)()),
            along(name, "rows", (1,), lambda _, a, at, f=torch: getattr(a, f)(1)),
            along(name, "columns", (0,), lambda _, a, at, f=torch: getattr(a, f)(0)),
            along(name, "rows of 16", (1,), lambda _, a, at, f=torch: getattr(a, f)(1), (n // 16, 16)),
        ]
    square = floats((side, side))
    return rows + [
        along("Prod", "rows", (1,), lambda _, a, at: a.prod(1)),
        Op(
            "Var",
            lambda r: [uniform(r, (side, side)), shape_of(1)],
            {},
            lambda tf, a, at: tf.math.reduce_variance(a, 1),
            lambda torch, a, at: torch.var(a, 1, correction=0),
        ),
        Op(
            "LogSumExp",
            lambda r: [uniform(r, (side, side)), shape_of(1)],
            {},
            lambda tf, a, at: tf.reduce_logsumexp(a, 1),
            lambda torch, a, at: torch.logsumexp(a, 1),
        ),
        Op("L2Loss", square),
        Op("All", lambda r: [np.ones(n, bool), shape_of(0)], torch=lambda _, a, at: a.all()),
        Op("ArgMax:rows", lambda r: [uniform(r, (side, side)), np.int32(1)], torch=lambda _, a, at: a.argmax(1)),
        Op("ArgMax:columns", lambda r: [uniform(r, (side, side)), np.int32(0)], torch=lambda _, a, at: a.argmax(0)),
        scan("Cumsum", 1, "cumsum"),
        scan("Cumsum", 0, "cumsum"),
        scan("Cumprod", 1, "cumprod"),
        scan("CumulativeLogsumexp", 1, "logcumsumexp"),
        Op("Softmax", square, torch=lambda _, a: a.softmax(1)),
        Op("Softmax:rows of 16", floats((n // 16, 16)), torch=lambda _, a: a.softmax(1)),
        Op("LogSoftmax", square, torch=lambda _, a: a.log_softmax(1)),
        Op("Add:row", floats((side, side), (side,)), {}, "AddV2", "add"),
        Op("Add:column", floats((side, side), (side, 1)), {}, "AddV2", "add"),
        Op("BiasAdd", floats((side, side), (side,)), torch="add"),
    ]


# ---- moving elements ----


def movement(n, side):
    half = side // 2

    def square(*more):
        return lambda r: [uniform(r, (side, side)), *more]

    def turned(*order):
        tag = "".join(map(str, order))
        return Op(
            f"Transpose:{tag}",
            lambda r: [uniform(r, IMAGES), shape_of(*order)],
            torch=lambda _, a, at: a.permute(order).contiguous(),
        )

    paddings = np.array([[3, 5], [7, 9]], np.int32)
    return [
        turned(0, 2, 3, 1),
        turned(0, 2, 1, 3),
        turned(3, 2, 1, 0),
        Op(
            "Concat:1",
            lambda r: [uniform(r, (side, side)), uniform(r, (side, side)), np.int32(1)],
            {},
            lambda tf, a, b, at: tf.concat([a, b], 1),
            lambda torch, a, b, at: torch.cat([a, b], 1),
        ),
        Op(
            "Pack:1",
            floats(n, n),
            {"axis": 1},
            lambda tf, a, b: tf.stack([a, b], 1),
            lambda torch, a, b: torch.stack([a, b], 1),
        ),
        Op(
            "Unpack:1",
            floats((n // 2, 2)),
            {"num": 2, "axis": 1},
            lambda tf, a: tf.unstack(a, 2, 1),
            lambda _, a: [part.contiguous() for part in a.unbind(1)],
        ),
        Op(
            "Split:1",
            lambda r: [np.int32(1), uniform(r, (side, side))],
            {"num_split": 4},
            torch=lambda _, at, a: [part.contiguous() for part in a.split(side // 4, 1)],
        ),
        Op("Pad", square(paddings), torch=lambda torch, a, p: torch.nn.functional.pad(a, (7, 9, 3, 5))),
        Op(
            "MirrorPad",
            square(paddings),
            {"mode": "REFLECT"},
            torch=lambda torch, a, p: torch.nn.functional.pad(a[None], (7, 9, 3, 5), mode="reflect"),
        ),
        Op("Tile", lambda r: [uniform(r, (half, half)), shape_of(2, 2)], torch=lambda _, a, m: a.repeat(2, 2)),
        Op(
            "BroadcastTo",
            lambda r: [uniform(r, side), shape_of(side, side)],
            torch=lambda _, a, s: a.expand(side, side).contiguous(),
        ),
        Op("Reverse:0", square(shape_of(0)), {}, "ReverseV2", lambda _, a, at: a.flip(0)),
        Op("Reverse:1", square(shape_of(1)), {}, "ReverseV2", lambda _, a, at: a.flip(1)),
        Op("Roll", square(shape_of(5), shape_of(1)), torch=lambda _, a, by, at: a.roll(5, 1)),
        Op(
            "Slice",
            square(shape_of(3, 5), shape_of(side - 9, side - 9)),
            torch=lambda _, a, b, s: a[3 : side - 6, 5 : side - 4].contiguous(),
        ),
        Op(
            "StridedSlice",
            square(shape_of(0, 0), shape_of(side, side), shape_of(1, 2)),
            torch=lambda _, a, b, e, s: a[:, ::2].contiguous(),
        ),
        Op("MatrixBandPart", square(np.int64(0), np.int64(-1)), torch=lambda _, a, low, up: a.triu()),
        Op("DepthToSpace", floats(IMAGES), {"block_size": 2}),
        Op("SpaceToDepth", floats(IMAGES), {"block_size": 2}),
    ]


def indexing(n, small):
    table, picks, segments = (65536, 128), 16384, 4096

    def by_segments(is_sorted):
        def make(r):
            ids = whole(r, 65536, 0, segments)
            more = [] if is_sorted else [np.int32(segments)]
            return [uniform(r, (65536, 64)), np.sort(ids) if is_sorted else ids, *more]

        return make

    def scattered(r):
        return [uniform(r, small), whole(r, (small, 1), 0, small), uniform(r, small)]

    def sorted_and_values(r):
        return [np.sort(uniform(r, (1, 65536)), axis=1), uniform(r, (1, small // 4))]

    return [
        Op(
            "Gather:elements",
            lambda r: [uniform(r, n), whole(r, n, 0, n), np.int32(0)],
            {},
            "GatherV2",
            lambda _, a, i, at: a[i],
        ),
        Op(
            "Gather:rows",
            lambda r: [uniform(r, table), whole(r, picks, 0, table[0]), np.int32(0)],
            {},
            "GatherV2",
            lambda _, a, i, at: a.index_select(0, i),
        ),
        Op(
            "GatherNd",
            lambda r: [uniform(r, (2048, 2048)), whole(r, (small, 2), 0, 2048)],
            torch=lambda _, a, i: a[i[:, 0], i[:, 1]],
        ),
        Op(
            "ScatterNd:rows",
            lambda r: [whole(r, (picks, 1), 0, table[0]), uniform(r, (picks, 128)), shape_of(*table)],
            torch=lambda torch, i, u, s: torch.zeros(table).index_add_(0, i[:, 0], u),
        ),
        Op("TensorScatterAdd", scattered, torch=lambda _, a, i, u: a.index_add(0, i[:, 0], u)),
        Op("TensorScatterUpdate", scattered, torch=lambda _, a, i, u: a.index_copy(0, i[:, 0].long(), u)),
        *(Op(f"Segment{name}", by_segments(True)) for name in ("Sum", "Max", "Mean", "Prod")),
        *(Op(f"UnsortedSegment{name}", by_segments(False)) for name in ("Sum", "Max")),
        Op(
            "OneHot",
            lambda r: [whole(r, 65536, 0, 64), np.int32(64), np.float32(1), np.float32(0)],
            torch=lambda torch, i, *more: torch.nn.functional.one_hot(i.long(), 64).float(),
        ),
        Op("Where", lambda r: [r.random(n) < 0.5], torch=lambda _, a: a.nonzero()),
        Op(
            "BooleanMask",
            lambda r: [uniform(r, n), r.random(n) < 0.5],
            {},
            lambda tf, a, mask: tf.boolean_mask(a, mask),
            lambda _, a, mask: a[mask],
        ),
        Op("Sort", floats(small), {}, lambda tf, a: tf.sort(a), lambda _, a: a.sort()),
        Op("Sort:rows", floats((4096, 256)), {}, lambda tf, a: tf.sort(a), lambda _, a: a.sort(1)),
        Op("ArgSort", floats(small), {}, lambda tf, a: tf.argsort(a), lambda _, a: a.argsort()),
        Op("LowerBound", sorted_and_values, torch=lambda torch, a, v: torch.searchsorted(a, v)),
        Op("InvertPermutation", lambda r: [r.permutation(small).astype(np.int32)]),
        Op(
            "InTopK",
            lambda r: [uniform(r, (65536, 100)), whole(r, 65536, 0, 100), np.int32(5)],
            {},
            "InTopKV2",
        ),
    ]


# ---- networks and products ----


def images_first(a):
    return a.permute(0, 3, 1, 2)


def filters_first(w):
    return w.permute(3, 2, 0, 1)


def networks(side):
    image = (16, side, side, 64)
    one = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    two = {"strides": [1, 2, 2, 1], "padding": "SAME"}

    def pool(name, shape, function):
        return Op(
            name,
            floats(shape),
            {"ksize": [1, 3, 3, 1], **two},
            torch=lambda torch, a: getattr(torch.nn.functional, function)(images_first(a), 3, 2, 1),
        )

    def depthwise(name, shape, filters):
        """filters: of each channel, windows of 3 x 3"""
        channels = shape[3]
        return Op(
            name,
            floats(shape, (3, 3, channels, filters)),
            one,
            torch=lambda torch, a, w: torch.nn.functional.conv2d(
                images_first(a), w.permute(2, 3, 0, 1).reshape(-1, 1, 3, 3), padding=1, groups=channels
            ),
        )

    def convolved(torch, a, w, **how):
        return torch.nn.functional.conv2d(images_first(a), filters_first(w), **how)

    def transposed(torch, size, w, a):
        return torch.nn.functional.conv_transpose2d(images_first(a), filters_first(w), padding=1)

    def statistics(r):
        return [uniform(r, image), *(uniform(r, 64, 0.5, 2.0) for _ in range(4))]

    def labelled(r):
        return [uniform(r, (4096, 512)), np.full((4096, 512), 1 / 512, np.float32)]

    return [
        Op("Conv2D", floats(image, (3, 3, 64, 64)), one, torch=lambda t, a, w: convolved(t, a, w, padding=1)),
        Op(
            "Conv2D:stride 2",
            floats(image, (3, 3, 64, 64)),
            two,
            torch=lambda t, a, w: convolved(t, a, w, padding=1, stride=2),
        ),
        Op("Conv2D:1x1", floats(image, (1, 1, 64, 256)), one, torch=convolved),
        Op("Conv2D:3 outputs", floats(image, (3, 3, 64, 3)), one, torch=lambda t, a, w: convolved(t, a, w, padding=1)),
        depthwise("DepthwiseConv2dNative", image, 1),
        depthwise("DepthwiseConv2dNative:20", (16, side, side, 20), 1),
        depthwise("DepthwiseConv2dNative:multiplier", (16, 2 * side, 2 * side, 3), 8),
        Op(
            "Conv2DBackpropInput",
            lambda r: [np.array(image, np.int32), uniform(r, (3, 3, 64, 64)), uniform(r, image)],
            one,
            torch=transposed,
        ),
        Op(
            "ExtractImagePatches",
            floats(image),
            {"ksizes": [1, 3, 3, 1], "strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "VALID"},
        ),
        pool("MaxPool", image, "max_pool2d"),
        pool("AvgPool", image, "avg_pool2d"),
        pool("MaxPool:few", (16, 2 * side, 2 * side, 4), "max_pool2d"),
        pool("AvgPool:few", (16, 2 * side, 2 * side, 4), "avg_pool2d"),
        Op(
            "FusedBatchNorm:given",
            statistics,
            {"is_training": False},
            lambda tf, *a: tf.raw_ops.FusedBatchNormV3(
                **dict(zip(("x", "scale", "offset", "mean", "variance"), a)), is_training=False
            ),
            lambda torch, x, s, o, m, v: torch.nn.functional.batch_norm(images_first(x), m, v, s, o),
        ),
        Op(
            "FusedBatchNorm:own",
            lambda r: [*statistics(r)[:3], np.empty(0, np.float32), np.empty(0, np.float32)],
            {"is_training": True},
            lambda tf, *a: tf.raw_ops.FusedBatchNormV3(
                **dict(zip(("x", "scale", "offset", "mean", "variance"), a)), is_training=True
            ),
            lambda torch, x, s, o, m, v: torch.nn.functional.batch_norm(
                images_first(x), None, None, s, o, training=True
            ),
        ),
        Op("SoftmaxCrossEntropyWithLogits", labelled),
        Op(
            "SparseSoftmaxCrossEntropyWithLogits",
            lambda r: [uniform(r, (4096, 512)), whole(r, 4096, 0, 512)],
        ),
    ]


def products(side):
    def matmul(tag, a, b, **attrs):
        turned = attrs.get("transpose_a")
        return Op(
            f"MatMul:{tag}",
            floats(a, b),
            attrs,
            torch=lambda torch, a, b: torch.mm(a.t() if turned else a, b),
        )

    return [
        matmul("512", (512, 512), (512, 512)),
        matmul("column", (side, side), (side, 1)),
        matmul("row", (1, side), (side, side)),
        matmul("thin", (4096, 512), (512, 16)),
        matmul("transposed", (1024, 1024), (1024, 1024), transpose_a=True),
        Op(
            "MatMul:float64", lambda r: [r.random((512, 512)), r.random((512, 512))], torch=lambda t, a, b: t.mm(a, b)
        ),
        Op("BatchMatMul", floats((64, 128, 64), (64, 64, 128)), {}, "BatchMatMulV2", lambda t, a, b: t.bmm(a, b)),
    ]


def made(n):
    seeds = {"seed": 1, "seed2": 2}
    draws = {"dtype": np.dtype(np.float32), **seeds}

    def size(r):
        return [shape_of(n)]

    def drawn(name):
        return lambda tf, shape: getattr(tf.raw_ops, name)(shape=shape, dtype=tf.float32)

    return [
        Op(
            "Fill",
            lambda r: [shape_of(n), np.float32(3)],
            torch=lambda torch, s, v: torch.full((n,), 3.0),
        ),
        Op(
            "LinSpace",
            lambda r: [np.float32(0), np.float32(1), np.int32(n)],
            torch=lambda torch, a, b, c: torch.linspace(0, 1, n),
        ),
        Op("RandomUniform", size, draws, drawn("RandomUniform"), lambda torch, s: torch.rand(n)),
        Op("RandomStandardNormal", size, draws, drawn("RandomStandardNormal"), lambda torch, s: torch.randn(n)),
        Op("TruncatedNormal", size, draws, drawn("TruncatedNormal")),
        Op(
            "RandomShuffle",
            floats(n // 4),
            seeds,
            lambda tf, a: tf.raw_ops.RandomShuffle(value=a),
            lambda torch, a: a[torch.randperm(n // 4)],
        ),
    ]


def all_ops(shrink):
    n, small = 4 * MI // shrink, MI // shrink
    side = int(n**0.5)
    return [
        *elementwise(n),
        *reductions(n, side),
        *movement(n, side),
        *indexing(n, small),
        *networks(56 if shrink == 1 else 8),
        *products(side),
        *made(n),
    ]
