# SPDX-License-Identifier: Apache-2.0
"""The cases: each defined once, with its data, the right result and how much work it is.

A case has a kind, which names the function case_<kind> that a peer has for it, and parameters for that function. The
data is made from a fixed seed, so that every worker has the same. The right result is NumPy's, of float64 where a case
rounds.
"""

import dataclasses
import functools

import numpy as np

import op_cases
import peer_bodies
import peer_models
import peer_networks
import peer_training

MI = 1 << 20


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    kind: str
    work: str  # what is done, for people
    unit: str  # "GFLOP/s", "GB/s", "Gel/s" (10^9 elements a second), "us" (time of a call), "samples/s"
    amount: float  # of the unit's FLOP, bytes, elements or samples in one call
    make: object  # random generator -> list of input arrays
    want: object  # inputs -> list of right results; None: not compared
    params: dict = dataclasses.field(default_factory=dict)
    tolerance: float = 1e-5  # of the largest absolute value of a result; 0: equal
    shows_ulp: bool = False  # the largest error against float64 is stated
    fields: object = None  # results -> results in a form that does not depend on a peer's order
    differs: object = None  # a right result and a peer's -> None or what is wrong; None: by tolerance
    is_training: bool = False  # inputs and results are NumPy arrays on the host; a call changes what the next one gives
    among: float = 0.0  # want is None, and so much of the largest value may a peer's results be off the nearest other's
    least: tuple = (0.5, 0.5)  # ratios to the fastest peer that Gantry's CPU backend and its /GPU:0 are to reach

    def inputs(self):
        return self.make(np.random.default_rng(7))

    def right_results(self, inputs):
        want = self.want(*inputs)
        return self.fields(want) if self.fields else want


def compare(case, want, got):
    """want: as right_results gives it -> (None or what is wrong, the largest error in ulp or None)"""
    got = case.fields(got) if case.fields else got
    if len(got) != len(want):
        return f"{len(got)} results, not {len(want)}", None
    if case.differs:
        return next(filter(None, map(case.differs, want, got)), None), None
    for g, w in zip(got, want):
        if g.shape != w.shape:
            return f"shape {list(g.shape)}, not {list(w.shape)}", None
        scale = float(np.max(np.abs(w), initial=0))
        worst = float(np.max(np.abs(g.astype(np.float64) - w), initial=0))
        if not worst <= case.tolerance * scale:
            return f"off by {worst:.3g} where {case.tolerance * scale:.3g} is allowed", None
    if not case.shows_ulp:
        return None, None
    step = np.spacing(np.abs(want[0].astype(np.float32))).astype(np.float64)
    return None, float(np.max(np.abs(got[0].astype(np.float64) - want[0]) / step))


# ---- data ----


def uniform(*shapes, low=-1.0, high=1.0):
    return lambda random: [(random.random(s, dtype=np.float32) * (high - low) + low).astype(np.float32) for s in shapes]


def with_integers(shape, count, most, is_sorted=False):
    """floats of that shape, and int32 from 0 to most - 1; sorted ones leave no number out"""

    def make(random):
        ids = random.integers(0, most, count, dtype=np.int32)
        if is_sorted:
            ids[:most] = np.arange(most)
            ids.sort()
        return [random.random(shape, dtype=np.float32), ids]

    return make


def integers(count, most):
    return lambda random: [random.integers(0, most, count, dtype=np.int32)]


def distinct(*shape):
    """a random order of different numbers, so that a sort or top-k has one answer"""
    return lambda random: [random.permutation(int(np.prod(shape))).reshape(shape).astype(np.float32)]


# ---- right results ----


def wide(f):
    return lambda *x: [f(*(a.astype(np.float64) for a in x))]


def patches(x, rows, columns):
    windows = np.lib.stride_tricks.sliding_window_view(x, (rows, columns), axis=(1, 2))
    return windows.transpose(0, 1, 2, 4, 5, 3)


def want_conv(x, w):
    """no padding, strides of 1; float32, since the sums of float64 take long"""
    if x.ndim == 3:
        return [want_conv(x[:, None], w[None])[0][:, 0]]
    taken = patches(x, w.shape[0], w.shape[1])
    return [taken.reshape(*taken.shape[:3], -1) @ w.reshape(-1, w.shape[-1])]


def want_padded_conv(x, w):
    """out of the images' size; windows of odd sizes"""
    around = [(size // 2, size // 2) for size in w.shape[:2]]
    return want_conv(np.pad(x, [(0, 0), *around, (0, 0)]), w)


def want_pool(x):
    n, h, w, c = x.shape
    return [x.reshape(n, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))]


def want_softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def want_layer_norm(x, scale, offset):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * scale + offset


def want_scatter(updates, ids):
    return [np.bincount(ids, updates, len(updates))]


def want_segments(data, ids):
    return [np.add.reduceat(data.astype(np.float64), np.flatnonzero(np.diff(ids, prepend=-1)))]


def want_unique(x):
    return list(np.unique(x, return_inverse=True))


def unique_fields(results):
    """the values in order, and the input put together again: any order of the values is right"""
    values, index = results
    return [np.sort(values), values[index]]


def want_erf(x):
    from scipy.special import erf  # comes with JAX

    return erf(x)


# ---- the list ----

AHEAD = (1.0, 1.0)
LONG_SUM = 1e-4  # millions of float32 added one after another, as some peers do


def matmul(n):
    return Case(
        f"matmul_{n}",
        "matmul",
        f"[{n},{n}] x [{n},{n}]",
        "GFLOP/s",
        2.0 * n**3,
        uniform((n, n), (n, n)),
        wide(np.matmul),
        least=(0.95, 0.9),
    )


def mlp(rows):
    sizes = (784, 512, 512, 10)
    shapes = [shape for a, b in zip(sizes, sizes[1:]) for shape in ((a, b), (b,))]
    return Case(
        f"mlp_{rows}",
        "mlp",
        f"{'-'.join(map(str, sizes))}, {rows} rows, by a compiler",
        "GFLOP/s",
        2.0 * rows * sum(a * b for a, b in zip(sizes, sizes[1:])),
        uniform((rows, sizes[0]), *shapes),
        wide(peer_bodies.mlp(lambda x: np.maximum(x, 0))),
        least=AHEAD,
    )


WORDS, LENGTH, LABELS = 10000, 300, 46


def classifier_data(rows):
    """small weights, so that no label is certain"""
    pooled = ((LENGTH - 4) // 2 - 2) // 2
    shapes = [(WORDS, 7), (5, 7, 64), (64,), (3, 64, 32), (32,), (pooled * 32, LABELS), (LABELS,)]
    scales = [1, 0.3, 0.1, 0.1, 0.1, 0.05, 0.1]

    def make(random):
        ids = random.integers(0, WORDS, (rows, LENGTH), dtype=np.int32)
        return [ids, *((random.random(s, dtype=np.float32) * 2 - 1) * np.float32(k) for s, k in zip(shapes, scales))]

    return make


def want_classes(ids, table, *weights):
    def conv(x, w, b):
        taken = np.lib.stride_tricks.sliding_window_view(x, len(w), axis=1).swapaxes(2, 3)
        return taken.reshape(*taken.shape[:2], -1) @ w.reshape(-1, w.shape[-1]) + b

    def pool(x):
        return x.reshape(len(x), -1, 2, x.shape[-1]).max(axis=2)

    body = peer_bodies.text_classifier(
        lambda table, ids: table[ids],
        conv,
        lambda x: np.maximum(x, 0),
        pool,
        lambda x: x.reshape(len(x), -1),
        want_softmax,
    )
    return [body(ids, table.astype(np.float64), *(w.astype(np.float64) for w in weights))]


def text_classifier(rows):
    products = ((LENGTH - 4) * 5 * 7 * 64, (LENGTH - 8) // 2 * 3 * 64 * 32, (LENGTH - 8) // 4 * 32 * LABELS)
    return Case(
        f"text_classifier_{rows}",
        "text_classifier",
        f"its forward pass, {rows} texts of {LENGTH} words, by a compiler",
        "GFLOP/s",
        2.0 * rows * sum(products),
        classifier_data(rows),
        want_classes,
        least=AHEAD,
    )


# Small ones were off by 1e-5 in TensorFlow's float32, and by 1e-2 in bfloat16, which has 8 bits.
NETWORK_TOLERANCES = {("float32", False): 5e-5, ("bfloat16", False): 2e-2, ("float32", True): 1e-3, ("bfloat16", True): 1e-1}


def described_network(name, rows, shrink):
    """-> the network, its rows, and how far results may be off"""
    described = {**peer_networks.NETWORKS, **peer_networks.large(shrink != 1)}[name]
    return described, rows if shrink == 1 else max(1, rows // 16), NETWORK_TOLERANCES[described.precision, described.is_large]


def training(network, rows, steps, shrink):
    described, rows_now, tolerance = described_network(network, rows, shrink)
    precision = "" if described.precision == "float32" else f" in {described.precision}"
    return Case(
        f"{network}_train_{rows}",
        "train",
        f"{steps} steps of {described.optimizer.capitalize()}{precision}, each with {rows_now} samples of {list(described.sample)}",
        "samples/s",
        steps * rows_now,
        peer_training.data(described, rows_now, steps),
        None if described.is_large else functools.partial(peer_training.right_losses, described),
        params={"network": described},
        tolerance=tolerance,
        is_training=True,
        among=tolerance if described.is_large else 0.0,
        least=(2.0, 1.5) if network == "text_classifier" else AHEAD,
    )


def inference(network, rows, shrink):
    described, rows_now, tolerance = described_network(network, rows, shrink)
    return Case(
        f"{network}_{rows}",
        "network",
        f"its logits, {rows_now} samples of {list(described.sample)}, by a compiler",
        "samples/s",
        rows_now,
        peer_training.one_batch(described, rows_now),
        None if described.is_large else functools.partial(peer_training.right_logits, described),
        params={"network": described},
        tolerance=tolerance,
        among=tolerance if described.is_large else 0.0,
        least=AHEAD,
    )


# The large networks are the first and last cases, so that a run with a limit has both precisions and smaller cases.
HALVES, WIDE = ([name for name in peer_networks.large(True) if ("_bfloat16" in name) == is_half] for is_half in (True, False))
RUN = {"digits_cnn": (32, 256), "transformer": (16, 64), **dict.fromkeys([*HALVES, *WIDE], (32,))}
STEPS = ((32, 2),)
SMALL = {"mlp": ((32, 8), (256, 4)), "text_classifier": ((32, 8), (256, 4)), "digits_cnn": ((32, 8), (256, 4)), "transformer": ((16, 8), (64, 4))}
TRAINED = {**dict.fromkeys(HALVES, STEPS), **SMALL, **dict.fromkeys(WIDE, STEPS)}


def function(name, f, n, low, high):
    return Case(
        name,
        "function",
        f"{name}(a) of {n} elements from {low} to {high}",
        "Gel/s",
        n,
        uniform(n, low=low, high=high),
        wide(f),
        {"name": name},
        shows_ulp=True,
    )


def conv(name, x, w, padding="VALID"):
    is_same = padding == "SAME"
    places = np.prod(x[:-1] if is_same else [x[0], *(a - b + 1 for a, b in zip(x[1:-1], w[:-2]))])
    return Case(
        name,
        f"conv{len(x) - 2}d",
        f"{list(x)} by {list(w)}" + (", SAME" if is_same else ""),
        "GFLOP/s",
        2.0 * places * np.prod(w),
        uniform(x, w),
        want_padded_conv if is_same else want_conv,
        {"padding": padding} if is_same else {},
        least=AHEAD,
    )


def op_case(op):
    # conformance and golden files are where results are compared
    return Case(op.name, "op", "one op", "us", 1.0, op.make, None, {"op": op})


def ops(shrink):
    return [op_case(op) for op in op_cases.all_ops(shrink)]


def models(shrink):
    """shrink: has no effect, because the inputs of models are given"""
    return peer_models.model_cases(Case)


def all_cases(shrink):
    """shrink: sizes are divided by so much, for a check that all runs"""
    big, mid, small = 16 * MI // shrink, 4 * MI // shrink, MI // shrink
    side = int(mid**0.5)
    rows = 4096 // shrink
    batch = max(1, 32 // shrink)

    def bytes_case(name, kind, work, each, make, want, **more):
        return Case(name, kind, work, "GB/s", each, make, want, **more)

    def elements_case(name, kind, work, n, make, want, **more):
        return Case(name, kind, work, "Gel/s", n, make, want, **more)

    return [
        *(matmul(n // (1 if shrink == 1 else 8)) for n in (256, 1024, 2048)),
        bytes_case("add", "add", "a + b, 12 B each", 12.0 * big, uniform(big, big), lambda a, b: [a + b], least=AHEAD),
        bytes_case(
            "sum",
            "sum",
            "all elements, 4 B each",
            4.0 * big,
            uniform(big, low=0),
            lambda a: [a.sum(dtype=np.float64)],
            least=AHEAD,
            tolerance=LONG_SUM,
        ),
        bytes_case(
            "chain",
            "chain",
            "relu(x*y+x)*0.5+tanh(y), op by op, 12 B each",
            12.0 * big,
            uniform(big, big),
            lambda x, y: [np.maximum(x * y + x, 0) * 0.5 + np.tanh(y)],
        ),
        bytes_case(
            "chain_fused",
            "chain_fused",
            "the same by a compiler of chains",
            12.0 * big,
            uniform(big, big),
            lambda x, y: [np.maximum(x * y + x, 0) * 0.5 + np.tanh(y)],
        ),
        bytes_case(
            "chain_20",
            "chain_20",
            "ten times r = r*y + x by a compiler, 12 B each",
            12.0 * big,
            uniform(big, big),
            wide(peer_bodies.chain_20),
        ),
        bytes_case(
            "softmax_ops",
            "softmax_ops",
            f"softmax written out of ops by a compiler, [{rows},1024], 8 B each",
            8.0 * rows * 1024,
            uniform((rows, 1024), low=-5, high=5),
            wide(want_softmax),
        ),
        bytes_case(
            "layer_norm_ops",
            "layer_norm_ops",
            f"layer norm written out of ops by a compiler, [{rows},1024], 8 B each",
            8.0 * rows * 1024,
            uniform((rows, 1024), 1024, 1024),
            wide(want_layer_norm),
        ),
        *(mlp(rows) for rows in (1, 256)),
        *(text_classifier(rows) for rows in (32, 256)),
        *(inference(network, rows, shrink) for network, each in RUN.items() for rows in each),
        *(training(network, *sizes, shrink) for network, each in TRAINED.items() for sizes in each),
        function("tanh", np.tanh, mid, -4, 4),
        function("exp", np.exp, mid, -10, 10),
        function("erf", want_erf, mid, -3, 3),
        function("sin", np.sin, mid, -10, 10),
        function("log", np.log, mid, 2, 100),
        conv("conv1d_text_1", (batch, 300, 7), (5, 7, 64)),
        conv("conv1d_text_2", (8 * batch, 148, 64), (3, 64, 32)),
        conv("conv2d_3x3_64", (batch // 4 or 1, 56, 56, 64), (3, 3, 64, 64)),
        conv("conv2d_1x1_256", (batch // 4 or 1, 28, 28, 256), (1, 1, 256, 128)),
        conv("conv2d_first", (batch, 64, 64, 3), (5, 5, 3, 32)),
        conv("conv2d_digits", (4 * batch, 28, 28, 1), (5, 5, 1, 32), "SAME"),
        conv("conv2d_padded", (batch // 2 or 1, 32, 32, 16), (3, 3, 16, 32), "SAME"),
        elements_case("sort", "sort", "ascending", small, distinct(small), lambda a: [np.sort(a)], least=AHEAD),
        elements_case(
            "sort_rows",
            "sort",
            "rows of 256",
            small,
            distinct(small // 256, 256),
            lambda a: [np.sort(a)],
            least=AHEAD,
        ),
        elements_case(
            "top_k",
            "top_k",
            "the largest 100",
            small,
            distinct(small),
            lambda a: [np.sort(a)[:-101:-1]],
            params={"k": 100},
            least=AHEAD,
        ),
        elements_case(
            "top_k_rows",
            "top_k",
            "the largest 10 of each of 1,024",
            small,
            distinct(small // 1024, 1024),
            lambda a: [np.sort(a)[:, :-11:-1]],
            params={"k": 10},
            least=AHEAD,
        ),
        bytes_case(
            "gather",
            "gather",
            "single elements, 12 B each",
            12.0 * mid,
            with_integers(mid, mid, mid),
            lambda a, i: [a[i]],
            least=AHEAD,
        ),
        bytes_case(
            "gather_rows",
            "gather",
            "rows of 64, 8 B an element",
            8.0 * mid,
            with_integers((mid // 64, 64), mid // 64, mid // 64),
            lambda a, i: [a[i]],
            least=AHEAD,
        ),
        bytes_case(
            "transpose",
            "transpose",
            f"[{side},{side}], 8 B each",
            8.0 * side**2,
            uniform((side, side)),
            lambda a: [a.T],
            least=AHEAD,
        ),
        bytes_case(
            "cumsum",
            "cumsum",
            "a vector, 8 B each",
            8.0 * mid,
            uniform(mid, low=0),
            lambda a: [np.cumsum(a, dtype=np.float64)],
            least=AHEAD,
            tolerance=LONG_SUM,
        ),
        bytes_case(
            "cumsum_rows",
            "cumsum",
            f"rows of [{side},{side}], 8 B each",
            8.0 * side**2,
            uniform((side, side), low=0),
            lambda a: [np.cumsum(a, axis=-1, dtype=np.float64)],
            least=AHEAD,
            tolerance=LONG_SUM,
        ),
        elements_case(
            "scatter_nd",
            "scatter_nd",
            "single elements added into zeros",
            small,
            with_integers(small, small, small),
            want_scatter,
        ),
        bytes_case(
            "segment_sum",
            "segment_sum",
            "rows of 64, 1,024 of them a segment, 4 B each",
            4.0 * mid,
            with_integers((mid // 64, 64), mid // 64, mid // 65536 or 1, True),
            want_segments,
        ),
        elements_case(
            "bincount",
            "bincount",
            "int32 below 1,000",
            mid,
            integers(mid, 1000),
            lambda a: [np.bincount(a, minlength=1000)],
            params={"size": 1000},
            tolerance=0,
        ),
        elements_case(
            "unique",
            "unique",
            "int32 below 50,000, and where each stands",
            small,
            integers(small, 50000),
            want_unique,
            tolerance=0,
            fields=unique_fields,
        ),
        bytes_case(
            "softmax",
            "softmax",
            f"[{rows},1024], 8 B each",
            8.0 * rows * 1024,
            uniform((rows, 1024), low=-5, high=5),
            wide(want_softmax),
        ),
        bytes_case(
            "layer_norm",
            "layer_norm",
            f"[{rows},1024], 8 B each",
            8.0 * rows * 1024,
            uniform((rows, 1024), 1024, 1024),
            wide(want_layer_norm),
        ),
        bytes_case(
            "max_pool",
            "max_pool",
            "2x2 of [b,64,64,64], 5 B an element",
            5.0 * batch * 64**3,
            uniform((batch, 64, 64, 64)),
            want_pool,
        ),
        Case(
            "add_4",
            "add",
            "4 elements, to a readable result",
            "us",
            1,
            uniform(4, 4),
            lambda a, b: [a + b],
            least=(None, None),
        ),  # the figure wanted is without ctypes: gantry_bench --case dispatch,launch
        Case(
            "matmul_4",
            "matmul",
            "[4,4] x [4,4], to a readable result",
            "us",
            1,
            uniform((4, 4), (4, 4)),
            wide(np.matmul),
            least=(None, None),
        ),
    ]
