/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bits of integers and of floats, exact on every device. Comes after dialect.cl.
 *
 * bit_count adds neighbouring fields of 1, 2 and 4 bits, and a product adds the bytes. Two sums do
 * for 32 bits on s390x, where GCC 12 counts the bits of two such products together.
 * leading_zeros sets all bits below the highest one, and counts the others.
 *
 * reduce_precision rounds a float to one of fewer bits, as XLA does: the fraction to the nearest
 * one, ties to even, on the bits, so that a carry goes into the exponent; a denormal's places are
 * those of its type. A value beyond the smaller range then becomes infinite, and one below its
 * least normal number 0 of its sign; a NaN stays one. y is gantry__precision_code of
 * ops/type_rows.h. The denormals of float16 are normal numbers here: a sum with the power of two
 * whose last place is theirs rounds them.
 */
GANTRY_FN uint gantry__bit_count_u32(uint x) {
    x -= (x >> 1) & 0x55555555u;
    x = (x & 0x33333333u) + ((x >> 2) & 0x33333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0fu;
#if defined(__s390x__)
    x += x >> 8;
    return (x + (x >> 16)) & 0x3fu;
#else
    return (x * 0x01010101u) >> 24;
#endif
}

GANTRY_FN ulong gantry__bit_count_u64(ulong x) {
    x -= (x >> 1) & (ulong)0x5555555555555555;
    x = (x & (ulong)0x3333333333333333) + ((x >> 2) & (ulong)0x3333333333333333);
    x = (x + (x >> 4)) & (ulong)0x0f0f0f0f0f0f0f0f;
    return (x * (ulong)0x0101010101010101) >> 56;
}

GANTRY_FN uint gantry__leading_zeros_u32(uint x) {
    x |= x >> 1;
    x |= x >> 2;
    x |= x >> 4;
    x |= x >> 8;
    x |= x >> 16;
    return gantry__bit_count_u32(~x);
}

GANTRY_FN ulong gantry__leading_zeros_u64(ulong x) {
    x |= x >> 1;
    x |= x >> 2;
    x |= x >> 4;
    x |= x >> 8;
    x |= x >> 16;
    x |= x >> 32;
    return gantry__bit_count_u64(~x);
}

/* y is 16 times the bits of the fraction, plus those of the exponent or 0; other numbers have no
 * meaning. */
GANTRY_FN float gantry__reduce_precision_f32(float x, float y) {
    const uint code = (uint)((y >= 0.0f) & (y < 384.0f) ? y : 0.0f);
    const uint kept = code >> 4, exponent = code & 15u;
    const uint shift = 23u - kept;
    const uint last = 1u << shift;
    const uint bits = GANTRY_AS_UINT(x);
    const uint sign = bits & 0x80000000u, size = bits & 0x7fffffffu;
    const uint bias = shift == 0 ? 0u : (last >> 1) - 1u + ((size >> shift) & 1u);
    const uint rounded = (size + bias) & ~(last - 1u);
    const uint all = (uint)((exponent == 0) | (exponent == 15u));
    const uint range = (1u << ((all ? 8u : exponent) - 1u)) - 1u;
    const uint most = (128u + range) << 23, least = all ? 0u : (128u - range) << 23;
    const uint place = (136u - (kept < 23u ? kept : 23u)) << 23; /* 2^(9 - kept) */
    const uint small =
        GANTRY_AS_UINT((GANTRY_AS_FLOAT(size) + GANTRY_AS_FLOAT(place)) - GANTRY_AS_FLOAT(place));
    const uint reduced = rounded >= most ? 0x7f800000u : rounded < least ? 0u : rounded;
    const uint result = (exponent == 15u) & (size < 0x38800000u) ? small : reduced;

    return GANTRY_AS_FLOAT(size <= 0x7f800000u ? result | sign : 0x7fc00000u);
}

#if GANTRY_HAS_FLOAT64
GANTRY_FN double gantry__reduce_precision_f64(double x, double y) {
    const uint code = (uint)((y >= 0.0) & (y < 848.0) ? y : 0.0);
    const uint exponent = code & 15u;
    const uint shift = 52u - (code >> 4);
    const ulong one = 1;
    const ulong last = one << shift;
    const ulong bits = GANTRY_AS_ULONG(x);
    const ulong sign = bits & (one << 63), size = bits & ~(one << 63);
    const ulong bias = shift == 0 ? (ulong)0 : (last >> 1) - one + ((size >> shift) & one);
    const ulong rounded = (size + bias) & ~(last - one);
    const ulong range = (one << ((exponent == 0 ? 11u : exponent) - 1u)) - one;
    const ulong infinite = (ulong)2047 << 52;
    const ulong most = ((ulong)1024 + range) << 52;
    const ulong least = exponent == 0 ? (ulong)0 : ((ulong)1024 - range) << 52;
    const ulong reduced = rounded >= most ? infinite : rounded < least ? (ulong)0 : rounded;

    return GANTRY_AS_DOUBLE(size <= infinite ? reduced | sign : infinite | one << 51);
}
#endif
