# SPDX-License-Identifier: Apache-2.0
"""Random ops by seed and their V2 forms with key and counter: uniform, normal, truncated normal, integers,
classes, permutations."""
import ml_dtypes
import numpy as np
import tensorflow as tf

from golden_case import (BF16, EXACT, F16, F32, F64, FLOATS, HALVES, I32, I64, INTS, MOVED_TYPES, Recorder, cycled,
                         random_values)
from golden_edges import ANY, edge_values
from golden_shapes import text
import philox_reference

U32, U64 = np.dtype("uint32"), np.dtype("uint64")
DRAWN = INTS + (U32, U64)
FILL = {"RandomUniform": philox_reference.uniform, "RandomNormal": philox_reference.normal,
        "TruncatedNormal": philox_reference.truncated_normal, "RandomUniformFullInt": philox_reference.whole}
# TensorFlow's own logf, sinf and cosf are within 2 ulp of the reference; Gantry's may differ as much in the other
# direction.
NEAR, TF_NEAR = {"ulp": 4}, {"ulp": 2}
NEAR_HALF = {"ulp": 1}   # both round once
SHAPES = ((), (1,), (2,), (3,), (4,), (5,), (7,), (8,), (17,), (33,), (257,), (2, 3), (3, 5, 7),
          (2, 1, 2, 1, 3, 1, 2, 2), (0,), (3, 0))
SEEDS = ((0, 0), (1, 2), (-1, -1), (42, 0), (0, 42), (2**31 - 1, -2**31))
LONG_SEEDS = ((2**40 + 3, -2**50 - 7), (2**63 - 1, -2**63))
FEW_SHAPES = ((), (1,), (5,), (2, 3), (65,), (0,), (2, 1, 2, 1, 3, 1, 2, 2))
PHILOX, AUTO_SELECT = 1, 3


def shaped(kind, counter, key, shape, dtype):
    count = int(np.prod(shape, dtype=np.int64))
    return FILL[kind](counter, key, count, dtype).reshape(shape)


def tolerances(kind, dtype=F32):
    if "Normal" not in kind:
        return {"tolerance": EXACT}
    return {"tolerance": NEAR_HALF} if dtype in HALVES else {"tolerance": NEAR, "tf_tolerance": TF_NEAR}


def types_of(kind):
    """With the shapes of each draw."""
    if "Int" in kind:
        return [(dtype, FEW_SHAPES) for dtype in DRAWN]
    return [(dtype, SHAPES if "Random" in kind else FEW_SHAPES) for dtype in FLOATS] + [
        (dtype, FEW_SHAPES) for dtype in HALVES]


def by_seed(kind):
    default = U64 if "Int" in kind else F32

    def reference(x, attrs):
        key, counter = philox_reference.scramble(x[1])
        return shaped(kind, counter, key, tuple(x[0]), attrs.get("dtype", default))
    r = Recorder("Stateless" + kind, reference=reference)
    for dtype, shapes in types_of(kind):
        bounds = tolerances(kind, dtype)
        for k, shape in enumerate(shapes):
            inputs = [np.array(shape, INTS[k % 2]), np.array((7, k), INTS[k // 2 % 2])]
            r.add(f"{dtype.name}_shape_{text(shape)}", inputs, {"dtype": dtype}, **bounds)
        seeds = SEEDS + LONG_SEEDS if dtype in FLOATS and "Random" in kind else SEEDS[1:3]
        for seed in seeds:
            for seed_type in INTS if seed in SEEDS else (I64,):
                label = "_".join(map(str, seed)).replace("-", "m")
                r.add(f"{dtype.name}_seed_{label}_{seed_type.name}", [np.array((6,), I32), np.array(seed, seed_type)],
                      {"dtype": dtype}, **bounds)
    r.add("default_dtype", [np.array((5,), I32), np.array((3, 4), I32)], **tolerances(kind))
    one = np.array((1, 2), I64)
    r.error("negative_size", [np.array((2, -3), I32), one], {"dtype": default}, contains="-3")
    r.error("seed_too_long", [np.array((2,), I32), np.array((1, 2, 3), I64)], {"dtype": default}, contains="seed")
    r.error("seed_scalar", [np.array((2,), I32), np.array(1, I64)], {"dtype": default}, contains="seed")
    if "Int" in kind:
        r.error("seed_unsigned", [np.array((6,), I32), np.array((1, 2), U64)], {"dtype": I32}, contains="eed")
    return r


def key_inputs(shape, key, counter, algorithm=PHILOX, index=I32):
    return [np.array(shape, index), np.array([key], U64), np.array(counter, U64), np.array(algorithm, I32)]


def counter_of(halves):
    return int(halves[0]) | int(halves[1]) << 64


def by_key(kind):
    default = U64 if "Int" in kind else F32

    def reference(x, attrs):
        return shaped(kind, counter_of(x[2]), int(x[1][0]), tuple(x[0]), attrs.get("dtype", default))
    r = Recorder(f"Stateless{kind}V2", reference=reference)
    inputs = key_inputs
    for dtype, shapes in types_of(kind):
        bounds = tolerances(kind, dtype)
        for k, shape in enumerate(shapes):
            r.add(f"{dtype.name}_shape_{text(shape)}", inputs(shape, 12345 + k, (0, 77), index=INTS[k % 2]),
                  {"dtype": dtype}, **bounds)
        top = 2**64 - 1
        for label, key, counter in (("zeros", 0, (0, 0)), ("ones", top, (top, top)),
                                    ("large_key", 0xFEDCBA9876543210, (1, 2)),
                                    ("carry_32", 5, (2**32 - 2, 9)), ("carry_64", 5, (top - 1, 9)),
                                    ("carry_96", 5, (top - 1, 2**32 - 1)),
                                    ("carry_128", 5, (top - 1, top))):
            r.add(f"{dtype.name}_{label}", inputs((17,), key, counter), {"dtype": dtype}, **bounds)
        r.add(f"{dtype.name}_algorithm_chosen_by_device", inputs((6,), 9, (1, 1), AUTO_SELECT), {"dtype": dtype},
              **bounds)
        for seed in SEEDS[:3] if dtype in FLOATS else ():   # the result of the op by seed
            key, counter = philox_reference.scramble(seed)
            label = "_".join(map(str, seed)).replace("-", "m")
            r.add(f"{dtype.name}_key_of_seed_{label}", inputs((6,), key, (counter % 2**64, counter >> 64)),
                  {"dtype": dtype}, **bounds)
    r.error("negative_size", inputs((2, -3), 1, (0, 0)), {"dtype": default}, contains="-3")
    r.error("key_too_long", [np.array((2,), I32), np.array([1, 2], U64), np.array([0, 0], U64), np.array(1, I32)],
            {"dtype": default}, contains="key")
    r.error("algorithm_unknown", inputs((2,), 1, (0, 0), 17), {"dtype": default}, contains="17")
    return r


BOUNDS = {I32: ((0, 1), (0, 10), (-5, 5), (-2**31, 2**31 - 1), (2**31 - 2, 2**31 - 1)),
          I64: ((0, 7), (-2**63, 2**63 - 1), (-2**40, 2**41)),
          U32: ((0, 3), (5, 2**32 - 1)),
          U64: ((1, 1000), (2**63, 2**64 - 1))}


def bounded(version):
    by_key = version == "V2"

    def reference(x, attrs):
        key, counter = (int(x[1][0]), counter_of(x[2])) if by_key else philox_reference.scramble(x[1])
        count = int(np.prod(x[0], dtype=np.int64))
        return philox_reference.integers(counter, key, count, x[-1].dtype, x[-2], x[-1]).reshape(tuple(x[0]))
    r = Recorder("StatelessRandomUniformInt" + version, reference=reference)

    def inputs(shape, k, index=I32):
        return key_inputs(shape, 99 + k, (2**64 - 2, k), index=index) if by_key else [
            np.array(shape, index), np.array((k, 5), INTS[k % 2])]
    for dtype in DRAWN if by_key else INTS:
        numpy_only = dtype in (U32, U64)   # TensorFlow defines them but has no kernel
        for low, high in BOUNDS[dtype]:
            name = f"{dtype.name}_from_{low}_to_{high}".replace("-", "m")
            r.add(name, inputs((9,), 3) + [np.array(v, dtype) for v in (low, high)], numpy_only=numpy_only)
        for k, shape in enumerate(FEW_SHAPES):
            r.add(f"{dtype.name}_shape_{text(shape)}", inputs(shape, k, INTS[k % 2]) + [
                np.array(v, dtype) for v in (1, 100)], numpy_only=numpy_only)
    r.add("empty_range_of_nothing", inputs((0,), 1) + [np.array(5, I32), np.array(5, I32)])
    for low, high in ((5, 5), (5, -5)):
        r.error(f"from_{low}_to_{high}".replace("-", "m"), inputs((3,), 1) + [np.array(low, I64), np.array(high, I64)],
                contains="Need minval < maxval")
    r.error("minval_a_vector", inputs((3,), 1) + [np.array([1], I32), np.array(5, I32)], contains="minval")
    r.error("maxval_a_vector", inputs((3,), 1) + [np.array(1, I32), np.array([5], I32)], contains="maxval")
    return r


def edge_logits(dtype, denormal=False):
    least = float(ml_dtypes.finfo(dtype).smallest_subnormal)
    return np.array([[least, -0.0, -least]] if denormal else [[np.nan, 0, np.inf, 1, -np.inf, -0.0]]).astype(dtype)


def multinomial():
    def reference(x, attrs):
        key, counter = philox_reference.scramble(x[2])
        return philox_reference.classes(counter, key, x[0], int(x[1])).astype(attrs.get("output_dtype", I64))
    r = Recorder("StatelessMultinomial", reference=reference)

    def inputs(logits, samples, k=0):
        return [logits, np.array(samples, I32), np.array((k, 8), INTS[k % 2])]
    # Small, because TensorFlow splits a larger batch among its threads, and the numbers then depend on the thread
    # count.
    shapes = ((1, 1, 3), (1, 2, 9), (2, 3, 5), (3, 7, 2), (1, 40, 6), (1, 100, 3), (4, 5, 0), (0, 3, 2))
    for dtype in (F32, F64, F16, BF16):
        for k, (rows, count, samples) in enumerate(shapes):
            for output in INTS if dtype == F32 else INTS[k % 2:k % 2 + 1]:
                r.add(f"{dtype.name}_{rows}x{count}_{samples}_{output.name}",
                      inputs(random_values(dtype, (rows, count), "logits"), samples, k), {"output_dtype": output})
        r.add(f"{dtype.name}_edges", inputs(edge_logits(dtype), 20))
        r.add(f"{dtype.name}_denormals", inputs(edge_logits(dtype, True), 20), numpy_only=True)
    r.add("nothing_finite", inputs(np.full((2, 3), -np.inf, F32), 4))
    r.add("far_below", inputs(np.array([[-1000, 0, -2000, 3]], F32), 9))
    r.add("large", inputs(np.array([[3e38, -3e38, 3e38]], F32), 9))
    x = random_values(F32, (2, 3), "logits")
    r.error("logits_a_vector", inputs(x[0], 3), contains="logits should be a matrix")
    r.error("samples_negative", inputs(x, -3), contains="num_samples should be non")
    r.error("samples_a_vector", inputs(x, [3]), contains="num_samples should be a scalar")
    r.error("no_classes", inputs(x[:, :0], 3), contains="num_classes should be positive")
    return r


def multinomial_by_key():
    """An op of our own: StatelessMultinomial with the key and counter of the other V2 ops."""
    def reference(x, attrs):
        found = philox_reference.classes(counter_of(x[3]), int(x[2][0]), x[0], int(x[1]))
        return found.astype(attrs.get("output_dtype", I64))
    r = Recorder("StatelessMultinomialV2", reference=reference)
    for k, (rows, count, samples) in enumerate(((1, 2, 9), (3, 7, 2), (2, 513, 40), (5, 1500, 8))):
        for dtype in (F32, F64, F16, BF16)[:1 if count > 100 else 4]:
            logits = cycled(random_values(dtype, (rows, count), "logits"), 37)
            r.add(f"{dtype.name}_{rows}x{count}_{samples}",
                  [logits, np.array(samples, I32)] + key_inputs((), 5 + k, (2**64 - 3, k))[1:],
                  {"output_dtype": INTS[k % 2]}, numpy_only=True)
    for dtype in (F32, F64, F16, BF16):
        for label, logits in (("edges", edge_logits(dtype)), ("denormals", edge_logits(dtype, True))):
            r.add(f"{dtype.name}_{label}", [logits, np.array(20, I32)] + key_inputs((), 7, (0, 3))[1:], numpy_only=True)
    r.add("no_rows", [np.zeros((0, 3), F32), np.array(4, I32)] + key_inputs((), 7, (0, 3))[1:], numpy_only=True)
    x, key = np.zeros((2, 3), F32), key_inputs((), 7, (0, 3))[1:]
    r.our_error("logits_a_vector", [x[0], np.array(4, I32)] + key, contains="logits should be a matrix")
    r.our_error("samples_a_vector", [x, np.array([4], I32)] + key, contains="num_samples should be a scalar")
    r.our_error("samples_negative", [x, np.array(-4, I32)] + key, contains="num_samples should be non-negative")
    r.our_error("no_classes", [x[:, :0], np.array(4, I32)] + key, contains="num_classes should be positive")
    r.our_error("algorithm_unknown", [x, np.array(4, I32)] + key[:2] + [np.array(17, I32)], contains="17")
    r.our_error("counter_too_short", [x, np.array(4, I32), key[0], key[1][:1], key[2]], contains="counter")
    return r


def shuffle():
    def reference(x, attrs):
        count = x[0].shape[0] if x[0].ndim else 1
        return x[0][philox_reference.permutation(counter_of(x[2]), int(x[1][0]), count)] if x[0].ndim else x[0]
    r = Recorder("StatelessShuffle", reference=reference)
    for k, shape in enumerate(((), (1,), (2,), (9,), (1000,), (4, 3), (1, 5), (7, 2, 3), (0, 3), (3, 0))):
        r.add(f"float32_{text(shape)}",
              [cycled(random_values(F32, shape, "shuffle"), 41)] + key_inputs((), 12 + k, (2**64 - 1, k))[1:])
    for dtype in MOVED_TYPES:
        r.add(f"{dtype.name}_5x2", [random_values(dtype, (5, 2), "shuffle")] + key_inputs((), 3, (1, 2))[1:])
    r.add("of_rank_8", [random_values(F32, (3, 1, 2, 1, 2, 1, 2, 1), "shuffle")] + key_inputs((), 3, (1, 2))[1:])
    x = random_values(F32, (3,), "shuffle")
    r.error("key_too_long", [x, np.array([1, 2], U64), np.array([0, 0], U64), np.array(1, I32)], contains="key")
    r.error("algorithm_unknown", [x] + key_inputs((), 1, (0, 0), 17)[1:], contains="17")
    return r


def key_counter(suffix):
    def reference(x, attrs):
        key, counter = philox_reference.scramble(x[0])
        halves = np.array([counter % 2**64, counter >> 64], U64)
        return [np.array([key], U64), halves] + ([np.array(PHILOX, I32)] if suffix else [])
    r = Recorder("StatelessRandomGetKeyCounter" + suffix, reference=reference)
    for seed in SEEDS + LONG_SEEDS:
        for seed_type in INTS if seed in SEEDS else (I64,):
            label = "_".join(map(str, seed)).replace("-", "m")
            r.add(f"seed_{label}_{seed_type.name}", [np.array(seed, seed_type)])
    r.error("seed_too_long", [np.array((1, 2, 3), I64)], contains="seed")
    return r


def get_alg():
    r = Recorder("StatelessRandomGetAlg", reference=lambda x, attrs: np.array(PHILOX, I32))
    r.add("philox", [])
    return r


class StatefulRecorder(Recorder):
    """Each case is the op's first call with these seeds, because setting a seed resets TensorFlow's state."""

    def _begin(self, name, inputs, attrs):
        tf.random.set_seed(0)
        return super()._begin(name, inputs, attrs)


SEED_PAIRS = ((1, 2), (0, 7), (2**31 - 2, 87654321), (-1, -2**40), (2**52 + 1, 0))


def place_of(attrs):
    """A stream's counter and key: the second seed is the counter's upper half, the first the key."""
    return (attrs["seed2"] % 2**64) << 64, attrs["seed"] % 2**64


def with_state(op, kind):
    def reference(x, attrs):
        return shaped(kind, *place_of(attrs), tuple(x[0]), attrs["dtype"])
    r = StatefulRecorder(op, reference=reference)
    for dtype, _ in types_of(kind):
        bounds = tolerances(kind, dtype)
        for k, shape in enumerate(FEW_SHAPES):
            seed, seed2 = SEED_PAIRS[k % len(SEED_PAIRS)]
            r.add(f"{dtype.name}_{text(shape)}", [np.array(shape, INTS[k % 2])],
                  {"dtype": dtype, "seed": seed, "seed2": seed2}, **bounds)
    r.error("negative_size", [np.array((2, -3), I32)], {"dtype": F32, "seed": 1}, contains="-3")
    return r


def integers_with_state():
    def reference(x, attrs):
        count = int(np.prod(x[0], dtype=np.int64))
        return philox_reference.integers(*place_of(attrs), count, x[1].dtype, x[1], x[2]).reshape(tuple(x[0]))
    r = StatefulRecorder("RandomUniformInt", reference=reference)
    for dtype in INTS:
        for k, shape in enumerate(FEW_SHAPES):
            seed, seed2 = SEED_PAIRS[k % len(SEED_PAIRS)]
            r.add(f"{dtype.name}_{text(shape)}",
                  [np.array(shape, INTS[k % 2]), np.array(-k, dtype), np.array(90, dtype)],
                  {"seed": seed, "seed2": seed2})
    r.error("empty_range", [np.array((2,), I32), np.array(5, I32), np.array(5, I32)], {"seed": 1},
            contains="Need minval < maxval")
    return r


def multinomial_with_state():
    def reference(x, attrs):
        found = philox_reference.classes(*place_of(attrs), x[0], int(x[1]))
        return found.astype(attrs.get("output_dtype", I64))
    r = StatefulRecorder("Multinomial", reference=reference)
    for k, dtype in enumerate((F32, F64, F16, BF16)):
        for rows, count, samples in ((1, 2, 9), (3, 7, 2), (2, 3, 0)):
            r.add(f"{dtype.name}_{rows}x{count}_{samples}",
                  [random_values(dtype, (rows, count), "logits"), np.array(samples, I32)],
                  {"output_dtype": INTS[k % 2], "seed": SEED_PAIRS[k][0], "seed2": SEED_PAIRS[k][1]})
        for label, logits in (("edges", edge_logits(dtype)), ("denormals", edge_logits(dtype, True))):
            r.add(f"{dtype.name}_{label}", [logits, np.array(20, I32)], {"seed": 3, "seed2": k}, numpy_only=label == "denormals")
    r.error("samples_negative", [np.zeros((2, 3), F32), np.array(-1, I32)], {"seed": 1},
            contains="num_samples should be non")
    return r


def shuffle_with_state():
    def reference(x, attrs):
        return x[0][philox_reference.permutation(*place_of(attrs), x[0].shape[0])] if x[0].ndim else x[0]
    r = StatefulRecorder("RandomShuffle", reference=reference)
    for k, shape in enumerate(((), (1,), (2,), (9,), (4, 3), (0, 3))):
        seed, seed2 = SEED_PAIRS[k % len(SEED_PAIRS)]
        for dtype in (F32, I64):
            r.add(f"{dtype.name}_{text(shape)}", [random_values(dtype, shape, "shuffle")], {"seed": seed, "seed2": seed2})
    for dtype in ANY:
        if dtype not in (F32, I64):
            r.add(f"{dtype.name}_5x2", [random_values(dtype, (5, 2), "shuffle")], {"seed": 5, "seed2": 6})
        r.add(f"{dtype.name}_edge_values", [edge_values(dtype)], {"seed": 5, "seed2": 6})
    r.add("of_rank_8", [random_values(F32, (3, 1, 2, 1, 2, 1, 2, 1), "shuffle")], {"seed": 5, "seed2": 6})
    return r


def build():
    makers = {"Stateless" + kind: (lambda kind=kind: by_seed(kind)) for kind in FILL}
    makers.update({f"Stateless{kind}V2": (lambda kind=kind: by_key(kind)) for kind in FILL})
    makers.update({f"StatelessRandomUniformInt{version}": (lambda version=version: bounded(version))
                   for version in ("", "V2")})
    makers.update({f"StatelessRandomGetKeyCounter{suffix}": (lambda suffix=suffix: key_counter(suffix))
                   for suffix in ("", "Alg")})
    makers.update({"StatelessMultinomial": multinomial, "StatelessMultinomialV2": multinomial_by_key,
                   "StatelessShuffle": shuffle, "StatelessRandomGetAlg": get_alg})
    for op, kind in (("RandomUniform", "RandomUniform"), ("RandomStandardNormal", "RandomNormal"),
                     ("TruncatedNormal", "TruncatedNormal")):
        makers[op] = lambda op=op, kind=kind: with_state(op, kind)
    makers.update({"RandomUniformInt": integers_with_state, "Multinomial": multinomial_with_state,
                   "RandomShuffle": shuffle_with_state})
    return makers
