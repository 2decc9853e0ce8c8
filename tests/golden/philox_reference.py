# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's random numbers in NumPy: Philox 4x32-10, the scrambling of a seed, uniform, normal and truncated normal
values, integers, permutations, classes.

Generator (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011). A 128-bit counter, as four
32-bit words with the lowest first, and a 64-bit key, as two words, give four 32-bit words. Group g of the stream is the
output at counter + g (128-bit addition).

Uniform values take one word (two for float64); normal values come in pairs by Box and Muller's method from two words
(float64: four). Each function below gives `count` values and drops the rest of the last group.
"""
import ml_dtypes
import numpy as np

F16, BF16 = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)

MASK = np.uint64(0xFFFFFFFF)
MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
KEY_STEPS = (np.uint64(0x9E3779B9), np.uint64(0xBB67AE85))
SCRAMBLE_KEY = 0x02461E293EC8F720


def philox(counter, key, groups):
    """Words of `groups` groups: uint32 [groups, 4]. counter is an integer below 2^128, key one below 2^64."""
    counters = [(counter + g) % 2**128 for g in range(groups)]
    c = [np.array([n >> (32 * i) & 0xFFFFFFFF for n in counters], dtype=np.uint64) for i in range(4)]
    k = [np.uint64(key & 0xFFFFFFFF), np.uint64(key >> 32)]
    for _ in range(10):
        low, high = MULTIPLIERS[0] * c[0], MULTIPLIERS[1] * c[2]
        c = [(high >> np.uint64(32)) ^ c[1] ^ k[0], high & MASK, (low >> np.uint64(32)) ^ c[3] ^ k[1], low & MASK]
        k = [(k[i] + KEY_STEPS[i]) & MASK for i in range(2)]
    return np.stack(c, axis=1).astype(np.uint32)


def scramble(seed):
    """Key and counter that TensorFlow's stateless ops derive from seed[2] (int32 is sign-extended): one Philox block has the
    seed as its counter. The block's first two words are the key, its last two the upper half of the counter."""
    counter = (int(seed[0]) % 2**64) | (int(seed[1]) % 2**64) << 64
    w = [int(v) for v in philox(counter, SCRAMBLE_KEY, 1)[0]]
    return w[0] | w[1] << 32, (w[2] | w[3] << 32) << 64


def words(counter, key, count):
    return philox(counter, key, -(-count // 4)).reshape(-1)[:count]


def to_float32(w):
    """23 low bits as a mantissa with exponent 0: [1, 2), less 1."""
    return ((w & np.uint32(0x7FFFFF)) | np.uint32(0x3F800000)).view(np.float32) - np.float32(1)


def to_float64(w):
    """Of two words, the low 20 bits of the first above all 32 of the second."""
    w = w.astype(np.uint64)
    bits = (w[0::2] & np.uint64(0xFFFFF)) << np.uint64(32) | w[1::2] | np.uint64(0x3FF) << np.uint64(52)
    return bits.view(np.float64) - 1.0


def to_half(w, dtype):
    """As many low bits as the fraction has, as a mantissa with exponent 0, less 1."""
    bits = 10 if dtype == F16 else 7
    return ((w & np.uint32(2**bits - 1)) * 2.0**-bits).astype(dtype)


def uniform(counter, key, count, dtype):
    if dtype in (F16, BF16):
        return to_half(words(counter, key, count), dtype)
    if dtype == np.float32:
        return to_float32(words(counter, key, count))
    return to_float64(words(counter, key, 2 * count))


def rounded(function, x):
    """function in float64 (extended precision for float64), rounded to x's type."""
    wide = np.float64 if x.dtype == np.float32 else np.longdouble
    return function(x.astype(wide)).astype(x.dtype)


def whole(counter, key, count, dtype):
    """Any integers of a type of 32 or 64 bits; of two words, the first is the lower half."""
    dtype = np.dtype(dtype)
    if dtype.itemsize == 4:
        return words(counter, key, count).view(dtype)
    w = words(counter, key, 2 * count).astype(np.uint64)
    return (w[0::2] | w[1::2] << np.uint64(32)).view(dtype)


def integers(counter, key, count, dtype, lowest, limit):
    """lowest + a whole number modulo limit - lowest, in arithmetic that wraps."""
    dtype = np.dtype(dtype)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    span = (int(limit) - int(lowest)) % 2**(8 * dtype.itemsize)
    raw = whole(counter, key, count, unsigned) % unsigned.type(span)
    with np.errstate(over="ignore"):
        return (raw + unsigned.type(int(lowest) % 2**(8 * dtype.itemsize))).view(dtype)


def permutation(counter, key, count):
    """Fisher and Yates from the front: place i changes with place i + word % (count - i)."""
    order = np.arange(count)
    for i, word in enumerate(words(counter, key, max(count - 1, 0))):
        j = i + int(word) % (count - i)
        order[[i, j]] = order[[j, i]]
    return order


def classes(counter, key, logits, samples):
    """Draws by the running sum of exp(logit - largest finite logit), to which infinite and NaN logits add nothing. The class
    is the first whose sum is above u times the total, with a float64 u for each sample, row by row."""
    u = uniform(counter, key, logits.shape[0] * samples, np.dtype(np.float64)).reshape(logits.shape[0], samples)
    out = np.zeros(u.shape, np.int64)
    for row, line in enumerate(logits.astype(np.float64)):
        finite = np.isfinite(line)
        top = line[finite].max() if finite.any() else 0.0
        sums = np.cumsum(np.where(finite, np.exp(np.where(finite, line - top, 0.0)), 0.0))
        out[row] = np.searchsorted(sums, u[row] * sums[-1], side="right")
    return out


def truncated_normal(counter, key, count, dtype):
    """Normal values without those of magnitude 2 or more. Each four values (float64: two) come from their own stretch of
    256 (128) counter steps."""
    dtype = np.dtype(dtype)
    size = 2 if dtype == np.float64 else 4
    out = []
    for group in range(-(-count // size)):
        values = normal(counter + group * 64 * size, key, 64 * size, np.float64 if size == 2 else np.float32)
        out.append(values[np.abs(values) < 2][:size])
    return np.concatenate(out)[:count].astype(dtype) if out else np.zeros(0, dtype)


def normal(counter, key, count, dtype):
    """Pairs (r sin a, r cos a) with r = sqrt(-2 log max(u1, 1e-7)) and a = 2 pi u2, each step rounded to dtype.

    a is a float64 product even for float32, rounded once. With 2 pi in float32, results differ by thousands of ulp
    where a sine or cosine is near zero. float16 and bfloat16 are float32 values rounded."""
    dtype = np.dtype(dtype)
    if dtype in (F16, BF16):
        return normal(counter, key, count, np.float32).astype(dtype)
    u = uniform(counter, key, 2 * -(-count // 2), dtype)
    u1, u2 = np.maximum(u[0::2], dtype.type(1e-7)), u[1::2]
    angle = (2.0 * np.pi * u2.astype(np.float64)).astype(dtype)
    radius = np.sqrt(dtype.type(-2) * rounded(np.log, u1))
    pairs = np.stack([rounded(np.sin, angle) * radius, rounded(np.cos, angle) * radius], axis=1)
    return pairs.reshape(-1)[:count]
