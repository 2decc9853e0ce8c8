"""Random ops by seed and their V2 forms with key and counter: uniform, normal, truncated normal, integers, classes."""
import numpy as np

from golden_case import BF16, EXACT, F16, F32, F64, FLOATS, HALVES, I32, I64, INTS, Recorder, random_values
from golden_shapes import text
import philox_reference

U32, U64 = np.dtype("uint32"), np.dtype("uint64")
DRAWN = INTS + (U32, U64)
FILL = {"RandomUniform": philox_reference.uniform, "RandomNormal": philox_reference.normal,
        "TruncatedNormal": philox_reference.truncated_normal, "RandomUniformFullInt": philox_reference.whole}
# TensorFlow's own logf, sinf and cosf are within 2 ulp of the reference; Gantry's may be as far on the other side.
NEAR, TF_NEAR = {"ulp": 4}, {"ulp": 2}
SHAPES = ((), (1,), (2,), (3,), (4,), (5,), (7,), (8,), (17,), (33,), (257,), (2, 3), (3, 5, 7),
          (2, 1, 2, 1, 3, 1, 2, 2), (0,), (3, 0))
SEEDS = ((0, 0), (1, 2), (-1, -1), (42, 0), (0, 42), (2**31 - 1, -2**31))
LONG_SEEDS = ((2**40 + 3, -2**50 - 7), (2**63 - 1, -2**63))
FEW_SHAPES = ((), (1,), (5,), (2, 3), (65,), (0,))
PHILOX, AUTO_SELECT = 1, 3


def shaped(kind, counter, key, shape, dtype):
    count = int(np.prod(shape, dtype=np.int64))
    return FILL[kind](counter, key, count, dtype).reshape(shape)


def tolerances(kind):
    return {"tolerance": NEAR, "tf_tolerance": TF_NEAR} if "Normal" in kind else {"tolerance": EXACT}


def types_of(kind):
    """With the shapes that each is drawn in."""
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
    bounds = tolerances(kind)
    for dtype, shapes in types_of(kind):
        for k, shape in enumerate(shapes):
            inputs = [np.array(shape, INTS[k % 2]), np.array((7, k), INTS[k // 2 % 2])]
            r.add(f"{dtype.name}_shape_{text(shape)}", inputs, {"dtype": dtype}, **bounds)
        seeds = SEEDS + LONG_SEEDS if dtype in FLOATS and "Random" in kind else SEEDS[1:3]
        for seed in seeds:
            for seed_type in INTS if seed in SEEDS else (I64,):
                label = "_".join(map(str, seed)).replace("-", "m")
                r.add(f"{dtype.name}_seed_{label}_{seed_type.name}", [np.array((6,), I32), np.array(seed, seed_type)],
                      {"dtype": dtype}, **bounds)
    r.add("default_dtype", [np.array((5,), I32), np.array((3, 4), I32)], **bounds)
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
    bounds = tolerances(kind)
    inputs = key_inputs
    for dtype, shapes in types_of(kind):
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
        for seed in SEEDS[:3] if dtype in FLOATS else ():   # what the op by seed gives
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
        numpy_only = dtype in (U32, U64)   # TensorFlow defines them and has no kernel
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


def multinomial():
    def reference(x, attrs):
        key, counter = philox_reference.scramble(x[2])
        return philox_reference.classes(counter, key, x[0], int(x[1])).astype(attrs.get("output_dtype", I64))
    r = Recorder("StatelessMultinomial", reference=reference)

    def inputs(logits, samples, k=0):
        return [logits, np.array(samples, I32), np.array((k, 8), INTS[k % 2])]
    # Small: TensorFlow splits a larger batch among its threads, and the numbers then depend on their count.
    shapes = ((1, 1, 3), (1, 2, 9), (2, 3, 5), (3, 7, 2), (1, 40, 6), (1, 100, 3), (4, 5, 0), (0, 3, 2))
    for dtype in (F32, F64, F16, BF16):
        for k, (rows, count, samples) in enumerate(shapes):
            for output in INTS if dtype == F32 else INTS[k % 2:k % 2 + 1]:
                r.add(f"{dtype.name}_{rows}x{count}_{samples}_{output.name}",
                      inputs(random_values(dtype, (rows, count), "logits"), samples, k), {"output_dtype": output})
    special = np.array([[np.nan, 0, np.inf, 1, -np.inf]], F32)
    r.add("not_finite", inputs(special, 20))
    r.add("nothing_finite", inputs(np.full((2, 3), -np.inf, F32), 4))
    r.add("far_below", inputs(np.array([[-1000, 0, -2000, 3]], F32), 9))
    r.add("large", inputs(np.array([[3e38, -3e38, 3e38]], F32), 9))
    x = random_values(F32, (2, 3), "logits")
    r.error("logits_a_vector", inputs(x[0], 3), contains="logits should be a matrix")
    r.error("samples_negative", inputs(x, -3), contains="num_samples should be non")
    r.error("samples_a_vector", inputs(x, [3]), contains="num_samples should be a scalar")
    r.error("no_classes", inputs(x[:, :0], 3), contains="num_classes should be positive")
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


def build():
    makers = {"Stateless" + kind: (lambda kind=kind: by_seed(kind)) for kind in FILL}
    makers.update({f"Stateless{kind}V2": (lambda kind=kind: by_key(kind)) for kind in FILL})
    makers.update({f"StatelessRandomUniformInt{version}": (lambda version=version: bounded(version))
                   for version in ("", "V2")})
    makers.update({f"StatelessRandomGetKeyCounter{suffix}": (lambda suffix=suffix: key_counter(suffix))
                   for suffix in ("", "Alg")})
    makers.update({"StatelessMultinomial": multinomial, "StatelessRandomGetAlg": get_alg})
    return makers
