# SPDX-License-Identifier: Apache-2.0
"""The text of a tensor in golden files (README.md: Tensors), written and read. Needs nothing besides Python, so that
tests may use it without NumPy; tests/conformance/golden_tensor.c reads the same texts."""
import ast
import base64
import collections
import functools
import itertools
import json
import math
import os
import random
import re
import struct
import zlib

FLOATS = {"float16": (10, -24, 0x7c00), "bfloat16": (7, -133, 0x7f80), "float32": (23, -149, 0x7f800000),
          "float64": (52, -1074, 0x7ff0000000000000)}  # bits of the fraction, exponent of the smallest value, infinity
INTEGERS = {f"{sign}int{bits}": (bits // 8, sign == "") for sign in ("", "u") for bits in (8, 16, 32, 64)}
SIZES = {"bool": 1, "complex64": 8, "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8,
         **{name: size for name, (size, _) in INTEGERS.items()}}


def rows_of(table, pattern):
    """What the pattern finds in the rows of ops/TABLE.def."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "ops", table + ".def")
    with open(path, encoding="ascii") as rows:
        return re.findall(pattern, rows.read(), re.M)


# {"float32": "f32", ...}
SHORT = {long.lower(): short for short, long in rows_of("types", r"^GANTRY_ELEMENT_TYPE\((\w+), (\w+),")}
# {"Erf": (4, 0, 1e-8, ...), ...}: the column `cases` of the functions that have golden cases from it
FUNCTION_CASES = {op: ast.literal_eval(cases) for op, cases in
                  rows_of("functions", r"^GANTRY_MATH_FUNCTION\(OP, (\w+), .*, (\([^()]+\))\)$")}
LONG = {short: long for long, short in SHORT.items()}
SAMPLES, HASHED_SAMPLES = 64, 16   # of a tensor that is written as samples and a sum, or as samples and a hash
DRAW_LOW, DRAW_SPAN = -4.0, 8.0   # drawn floats lie between -4 and 4,
INT_LOW, INT_SPAN = -1000, 2000   # drawn integers are -1000 to 1000
MASK = (1 << 64) - 1


# ---- elements ----

def elements_of(shape):
    return math.prod(shape)


def float_number(dtype, bits):
    fraction, least, infinity = FLOATS[dtype]
    top = infinity + (1 << fraction)
    magnitude = bits & top - 1
    exponent = magnitude >> fraction
    if magnitude > infinity:
        return math.nan
    value = (math.inf if magnitude == infinity else math.ldexp(magnitude, least) if exponent == 0 else
             math.ldexp((magnitude & (1 << fraction) - 1) + (1 << fraction), least + exponent - 1))
    return -value if bits & top else value


def float_bits(dtype, value):
    """The bits of the nearest value of the type, ties to even; every NaN is the positive quiet one."""
    fraction, least, infinity = FLOATS[dtype]
    sign = infinity + (1 << fraction) if math.copysign(1, value) < 0 else 0
    if math.isnan(value):
        return infinity | 1 << fraction - 1
    if math.isinf(value) or value == 0:
        return sign | (infinity if value else 0)
    step = max(math.frexp(value)[1] - fraction - 1, least)
    count = round(math.ldexp(abs(value), -step))   # the ties of round() are even
    return sign | min(count + (step - least << fraction), infinity)


def number_text(dtype, bits):
    """The shortest decimal number that gives these bits; None for a type without such numbers, and for other NaNs."""
    if dtype == "complex64":
        return None
    if dtype not in FLOATS:
        size, signed = INTEGERS.get(dtype, (1, False))
        return str(bits - (1 << 8 * size) if signed and bits >> 8 * size - 1 else bits)
    value = float_number(dtype, bits)
    texts = (f"{value:.{digits}g}" for digits in range(1, 18))
    text = next((t for t in texts if float_bits(dtype, float(t)) == bits), None)
    return text and text.replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


def number_bits(dtype, text):
    if dtype in FLOATS:
        return float_bits(dtype, float(text))
    return int(text) & (1 << 8 * SIZES[dtype]) - 1


# ---- drawn elements ----

def words_of(seed):
    """Python's generator with the state that NumPy's RandomState(seed) begins with."""
    state = [seed & 0xffffffff]
    for i in range(1, 624):
        state.append(1812433253 * (state[-1] ^ state[-1] >> 30) + i & 0xffffffff)
    made = random.Random()
    made.setstate((3, tuple(state) + (624,), None))
    return made


def drawn_below(words, limit):
    """A number from 0 to limit, by words without their upper bits."""
    mask = (1 << limit.bit_length()) - 1
    while (value := words.getrandbits(32) & mask) > limit:
        pass
    return value


@functools.lru_cache(maxsize=64)
def drawn(dtype, seed, count):
    """golden_case.random_values, flat: floats of all bits between -4 and 4, integers from -1000 to 1000 (wrapped), or
    booleans."""
    words, size = words_of(seed), SIZES[dtype]
    if dtype in FLOATS:
        bits = [float_bits(dtype, DRAW_LOW + DRAW_SPAN * words.random()) for _ in range(count)]
    elif dtype == "bool":
        bits = [drawn_below(words, 1) for _ in range(count)]
    else:
        bits = [INT_LOW + drawn_below(words, INT_SPAN) & (1 << 8 * size) - 1 for _ in range(count)]
    return b"".join(b.to_bytes(size, "little") for b in bits)


# ---- samples ----

def sample_places(count, samples):
    """The places of the samples: the first, the last, and the others spread by the golden ratio."""
    return [0, count - 1] + [(k * 0x9e3779b1 & 0xffffffff) * count >> 32 for k in range(1, samples - 1)]


def xxh64(data):
    """XXH64 with the seed 0."""
    p1, p2, p3, p4, p5 = (0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9, 0x85ebca77c2b2ae63,
                          0x27d4eb2f165667c5)

    def rotated(x, n):
        return (x << n | x >> 64 - n) & MASK

    def mixed(sum_, word):
        return rotated(sum_ + word * p2 & MASK, 31) * p1 & MASK

    at, hash_ = 0, p5
    if len(data) >= 32:
        sums = [p1 + p2 & MASK, p2, 0, -p1 & MASK]
        for at in range(0, len(data) - 31, 32):
            sums = [mixed(s, w) for s, w in zip(sums, struct.unpack_from("<4Q", data, at))]
        at += 32
        hash_ = sum(rotated(s, n) for s, n in zip(sums, (1, 7, 12, 18))) & MASK
        for s in sums:
            hash_ = ((hash_ ^ mixed(0, s)) * p1 + p4) & MASK
    hash_ = hash_ + len(data) & MASK
    while at + 8 <= len(data):
        hash_ = (rotated(hash_ ^ mixed(0, int.from_bytes(data[at:at + 8], "little")), 27) * p1 + p4) & MASK
        at += 8
    if at + 4 <= len(data):
        hash_ = (rotated(hash_ ^ int.from_bytes(data[at:at + 4], "little") * p1 & MASK, 23) * p2 + p3) & MASK
        at += 4
    for byte in data[at:]:
        hash_ = rotated(hash_ ^ byte * p5 & MASK, 11) * p1 & MASK
    hash_ = (hash_ ^ hash_ >> 33) * p2 & MASK
    hash_ = (hash_ ^ hash_ >> 29) * p3 & MASK
    return hash_ ^ hash_ >> 32


# ---- texts ----

def base64_text(data):
    return "=" + base64.b64encode(data).decode().rstrip("=")


def base64_bytes(text):
    return base64.b64decode(text[1:] + "=" * (-len(text[1:]) % 4))


def smallest_period(items):
    """The least p with items[i] == items[i - p] for all i >= p (the failure function of Knuth, Morris and Pratt)."""
    border = [0] * (len(items) + 1)
    k = 0
    for i in range(1, len(items)):
        while k and items[i] != items[k]:
            k = border[k]
        k += items[i] == items[k]
        border[i + 1] = k
    return len(items) - border[len(items)]


def plain_text(dtype, data):
    """Elements as numbers, "number:count" where it comes several times in a row, or as bytes, whichever is shorter."""
    size = SIZES[dtype]
    in_bytes, texts, length = base64_text(data), [], -1
    runs = itertools.groupby(data[at:at + size] for at in range(0, len(data), size))
    for element, run in runs:
        text, count = number_text(dtype, int.from_bytes(element, "little")), len(list(run))
        if text is None:
            return in_bytes
        counted = f"{text}:{count}"
        texts.append(counted if len(counted) < (len(text) + 1) * count else ",".join([text] * count))
        length += len(texts[-1]) + 1
        if length > len(in_bytes):
            return in_bytes
    return ",".join(texts)


def head_text(dtype, shape):
    return f"{SHORT[dtype]}[{','.join(map(str, shape))}]"


def tensor_text(dtype, shape, data, seed=None):
    """seed: the elements may be those of drawn(), or the first of them, repeated."""
    head, size = head_text(dtype, shape), SIZES[dtype]
    if not data:
        return head
    count = len(data) // size
    period = smallest_period([data[i:i + size] for i in range(0, len(data), size)])
    cycled = 2 * period <= count and count > 1
    given = data[:period * size] if cycled else data
    body = plain_text(dtype, given) + "*" * cycled
    if seed is not None and dtype != "complex64" and drawn(dtype, seed, len(given) // size) == given:
        body = min(body, f"~{seed}" + f"*{period}" * cycled, key=len)
    return f"{head} {body}"


def plain_zeros(dtype, data):
    """-0 as 0"""
    if dtype not in FLOATS:
        return data
    size, zero = SIZES[dtype], (FLOATS[dtype][2] + (1 << FLOATS[dtype][0])).to_bytes(SIZES[dtype], "little")
    return b"".join(bytes(size) if data[i:i + size] == zero else data[i:i + size] for i in range(0, len(data), size))


def array_text(array):
    """Of a NumPy array, or None"""
    if array is None:
        return None
    return tensor_text(array.dtype.name, array.shape, array.astype(array.dtype.newbyteorder("<")).tobytes())


def weighted_sum(dtype, data):
    """golden_sum of tests/conformance/golden_compare.c"""
    size = SIZES[dtype]
    numbers = (float_number(dtype, int.from_bytes(data[i:i + size], "little")) for i in range(0, len(data), size))
    return math.fsum((1 + (i * 0x9e3779b1 & 0xffffffff) / 2**32) * x for i, x in enumerate(numbers) if math.isfinite(x))


def sampled_text(dtype, shape, data, hashed=False, is_value=False):
    """hashed: all bits are promised, or, with is_value, all values, for which -0 is 0; otherwise a sum goes with the
    samples. Of NaNs data has the positive quiet one only."""
    size = SIZES[dtype]
    places = sample_places(len(data) // size, HASHED_SAMPLES if hashed else SAMPLES)
    samples = b"".join(data[i * size:i * size + size] for i in places)
    check = f"{xxh64(plain_zeros(dtype, data) if is_value else data):016x}" if hashed else f"={weighted_sum(dtype, data)!r}"
    return f"{head_text(dtype, shape)} ?{plain_text(dtype, samples)}#{check}"


def read_head(text):
    """(type, shape, the text of the data)"""
    head, _, body = text.partition(" ")
    dtype, _, dims = head.rstrip("]").partition("[")
    return LONG[dtype], [int(n) for n in dims.split(",") if n], body


def read_plain(dtype, body):
    if body.startswith("="):
        return base64_bytes(body)
    runs = (t.partition(":") for t in body.split(",") if t)
    return b"".join(number_bits(dtype, t).to_bytes(SIZES[dtype], "little") * int(count or 1) for t, _, count in runs)


def read_tensor(text):
    """(type, shape, bytes); of a sampled tensor the bytes of the samples."""
    dtype, shape, body = read_head(text)
    size = SIZES[dtype]
    whole = elements_of(shape) * size
    if body.startswith("?"):
        return dtype, shape, read_plain(dtype, body[1:].partition("#")[0])
    if body.startswith("~"):
        seed, _, period = body[1:].partition("*")
        given = drawn(dtype, int(seed), int(period) if period else elements_of(shape))
    else:
        given = read_plain(dtype, body.rstrip("*"))
    assert len(given) == whole or "*" in body, text
    return dtype, shape, (given * -(-whole // max(len(given), 1)))[:whole]


# ---- texts that several tensors of a file have ----

def share(texts):
    """{name: text} of long texts that come more than once; the name follows from the text."""
    counts = collections.Counter(t for t in texts if t)
    return {f"{zlib.crc32(t.encode()):08x}": t for t, n in counts.items() if n > 1 and (n - 1) * len(t) > 12 * n + 24}


def write_file(path, head, cases):
    """Cases as JSON, one a line; the members inputs and outputs are lists of texts, or of None for a tensor that is not
    given."""
    shared = share([t for c in cases for key in ("inputs", "outputs") for t in c.get(key, ())])
    names = {text: f"@{name}" for name, text in shared.items()}
    assert len(names) == len(shared)
    lines = []
    for case in cases:
        lists = {key: [names.get(t, t) for t in case[key]] for key in ("inputs", "outputs") if key in case}
        lines.append(json.dumps({**case, **lists}, separators=(",", ":")))
    with open(path, "w", encoding="ascii") as out:
        out.write(json.dumps({"format": 2, **head}, separators=(",", ":"))[:-1])
        if shared:
            out.write(',"tensors":{\n' + ",\n".join(f'"{name}":"{text}"' for name, text in sorted(shared.items())) + "\n}")
        out.write(',"cases":[\n' + ",\n".join(lines) + "\n]}\n")
    return os.path.getsize(path)


def write_keras(name, version, cases):
    """keras/NAME.json, made with a version of Keras; returns its size."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "keras", name + ".json")
    size = write_file(path, {"op": name, "made_with": f"Keras {version}"}, cases)
    print(f"keras/{name}.json: {size} bytes")
    return size


def read_file(path):
    """The file's members, with the texts of shared tensors in their places."""
    with open(path, encoding="ascii") as file:
        content = json.load(file)
    shared = content.get("tensors", {})
    for case in content["cases"]:
        for key in ("inputs", "outputs"):
            case[key] = [shared[t[1:]] if t and t.startswith("@") else t for t in case.get(key, ())]
    return content
