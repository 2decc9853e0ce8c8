"""TensorFlow's stateless random numbers in NumPy: Philox 4x32-10, the scrambling of a seed, uniform and normal values.

Generator (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011). A 128-bit counter, as four
32-bit words with the lowest first, and a 64-bit key, as two words, give four 32-bit words. Group g of the stream is the
output at counter + g (128-bit addition).

Uniform values take one word (float32) or two (float64); normal values come in pairs by Box and Muller's method from two
words (float32) or four (float64). Each function below gives `count` values; what is left of the last group is dropped.
"""
import numpy as np

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
    """Key and counter that TensorFlow's stateless ops make of seed[2] (int32 is sign-extended): one Philox block whose
    counter is the seed; its first two words are the key, its last two the upper half of the counter."""
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


def uniform(counter, key, count, dtype):
    if dtype == np.float32:
        return to_float32(words(counter, key, count))
    return to_float64(words(counter, key, 2 * count))


def rounded(function, x):
    """function in float64 (extended precision for float64), rounded to x's type."""
    wide = np.float64 if x.dtype == np.float32 else np.longdouble
    return function(x.astype(wide)).astype(x.dtype)


def normal(counter, key, count, dtype):
    """Pairs (r sin a, r cos a) with r = sqrt(-2 log max(u1, 1e-7)) and a = 2 pi u2, each step rounded to dtype.

    a is a float64 product even for float32, rounded once. With 2 pi in float32, results differ by thousands of ulp
    where a sine or cosine is near zero."""
    dtype = np.dtype(dtype)
    u = uniform(counter, key, 2 * -(-count // 2), dtype)
    u1, u2 = np.maximum(u[0::2], dtype.type(1e-7)), u[1::2]
    angle = (2.0 * np.pi * u2.astype(np.float64)).astype(dtype)
    radius = np.sqrt(dtype.type(-2) * rounded(np.log, u1))
    pairs = np.stack([rounded(np.sin, angle) * radius, rounded(np.cos, angle) * radius], axis=1)
    return pairs.reshape(-1)[:count]
