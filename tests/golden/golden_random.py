"""StatelessRandomUniform and StatelessRandomNormal, and their V2 forms with key and counter."""
import numpy as np

from golden_case import EXACT, F32, FLOATS, I32, I64, INTS, Recorder
from golden_shapes import text
import philox_reference

U64 = np.dtype("uint64")
FILL = {"Uniform": philox_reference.uniform, "Normal": philox_reference.normal}
# TensorFlow's own logf, sinf and cosf are within 2 ulp of the reference; Gantry's may be as far on the other side.
TOLERANCE = {"Uniform": EXACT, "Normal": {"ulp": 4}}
TF_TOLERANCE = {"Uniform": EXACT, "Normal": {"ulp": 2}}
SHAPES = ((), (1,), (2,), (3,), (4,), (5,), (7,), (8,), (17,), (33,), (257,), (2, 3), (3, 5, 7),
          (2, 1, 2, 1, 3, 1, 2, 2), (0,), (3, 0))
SEEDS = ((0, 0), (1, 2), (-1, -1), (42, 0), (0, 42), (2**31 - 1, -2**31))
LONG_SEEDS = ((2**40 + 3, -2**50 - 7), (2**63 - 1, -2**63))
PHILOX, AUTO_SELECT = 1, 3


def shaped(kind, counter, key, shape, dtype):
    count = int(np.prod(shape, dtype=np.int64))
    return FILL[kind](counter, key, count, dtype).reshape(shape)


def by_seed(kind):
    def reference(x, attrs):
        key, counter = philox_reference.scramble(x[1])
        return shaped(kind, counter, key, tuple(x[0]), attrs.get("dtype", F32))
    r = Recorder("StatelessRandom" + kind, reference=reference)
    bounds = {"tolerance": TOLERANCE[kind], "tf_tolerance": TF_TOLERANCE[kind]}
    for dtype in FLOATS:
        for k, shape in enumerate(SHAPES):
            inputs = [np.array(shape, INTS[k % 2]), np.array((7, k), INTS[k // 2 % 2])]
            r.add(f"{dtype.name}_shape_{text(shape)}", inputs, {"dtype": dtype}, **bounds)
        for seed in SEEDS + LONG_SEEDS:
            for seed_type in INTS if seed in SEEDS else (I64,):
                label = "_".join(map(str, seed)).replace("-", "m")
                r.add(f"{dtype.name}_seed_{label}_{seed_type.name}", [np.array((6,), I32), np.array(seed, seed_type)],
                      {"dtype": dtype}, **bounds)
    r.add("default_dtype", [np.array((5,), I32), np.array((3, 4), I32)], **bounds)
    one = np.array((1, 2), I64)
    r.error("negative_size", [np.array((2, -3), I32), one], {"dtype": F32}, contains="-3")
    r.error("seed_too_long", [np.array((2,), I32), np.array((1, 2, 3), I64)], {"dtype": F32}, contains="seed")
    r.error("seed_scalar", [np.array((2,), I32), np.array(1, I64)], {"dtype": F32}, contains="seed")
    return r


def by_key(kind):
    def reference(x, attrs):
        counter = int(x[2][0]) | int(x[2][1]) << 64
        return shaped(kind, counter, int(x[1][0]), tuple(x[0]), attrs.get("dtype", F32))
    r = Recorder(f"StatelessRandom{kind}V2", reference=reference)
    bounds = {"tolerance": TOLERANCE[kind], "tf_tolerance": TF_TOLERANCE[kind]}

    def inputs(shape, key, counter, algorithm=PHILOX, index=I32):
        return [np.array(shape, index), np.array([key], U64), np.array(counter, U64), np.array(algorithm, I32)]
    for dtype in FLOATS:
        for k, shape in enumerate(SHAPES):
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
        for seed in SEEDS[:3]:   # what the op by seed gives
            key, counter = philox_reference.scramble(seed)
            label = "_".join(map(str, seed)).replace("-", "m")
            r.add(f"{dtype.name}_key_of_seed_{label}", inputs((6,), key, (counter % 2**64, counter >> 64)),
                  {"dtype": dtype}, **bounds)
    r.error("negative_size", inputs((2, -3), 1, (0, 0)), {"dtype": F32}, contains="-3")
    r.error("key_too_long", [np.array((2,), I32), np.array([1, 2], U64), np.array([0, 0], U64), np.array(1, I32)],
            {"dtype": F32}, contains="key")
    r.error("algorithm_unknown", inputs((2,), 1, (0, 0), 17), {"dtype": F32}, contains="17")
    return r


def build():
    makers = {"StatelessRandom" + kind: (lambda kind=kind: by_seed(kind)) for kind in FILL}
    makers.update({f"StatelessRandom{kind}V2": (lambda kind=kind: by_key(kind)) for kind in FILL})
    return makers
