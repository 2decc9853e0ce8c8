/* SPDX-License-Identifier: Apache-2.0 */
/* Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011)
 * and TensorFlow's values from its words. This file must follow dialect.cl, the math texts and
 * half.cl; C loops and device text share it.
 *
 * A 128-bit counter and a 64-bit key give four words. Group g of a stream is the output at counter
 * + g. A value of at most 32 bits takes one word, and one of 64 bits two. The Box-Muller transform
 * makes pairs of normal values, sine first, from two uniform ones. All devices give the same bits;
 * those of uniform values and integers are also TensorFlow's. */
#ifndef GANTRY_PHILOX_CL
#define GANTRY_PHILOX_CL

typedef struct gantry__words_t {
    uint a, b, c, d;
} gantry__words_t;

#define GANTRY_PHILOX_ROUND(k0, k1)                    \
    {                                                  \
        ulong first = (ulong)w.a * 0xD2511F53u;        \
        ulong second = (ulong)w.c * 0xCD9E8D57u;       \
        w.a = (uint)(second >> 32) ^ w.b ^ (uint)(k0); \
        w.b = (uint)second;                            \
        w.c = (uint)(first >> 32) ^ w.d ^ (uint)(k1);  \
        w.d = (uint)first;                             \
    }

/* The words at counter (high, low) + group; k0 must be the key's low half. */
GANTRY_FN gantry__words_t gantry__philox(ulong low, ulong high, ulong group, uint k0, uint k1) {
    ulong sum = low + group;
    ulong top = high + (sum < low ? 1u : 0u);
    gantry__words_t w;

    w.a = (uint)sum;
    w.b = (uint)(sum >> 32);
    w.c = (uint)top;
    w.d = (uint)(top >> 32);
    GANTRY_PHILOX_ROUND(k0, k1)
    GANTRY_PHILOX_ROUND(k0 + 0x9E3779B9u, k1 + 0xBB67AE85u)
    GANTRY_PHILOX_ROUND(k0 + 2u * 0x9E3779B9u, k1 + 2u * 0xBB67AE85u)
    GANTRY_PHILOX_ROUND(k0 + 3u * 0x9E3779B9u, k1 + 3u * 0xBB67AE85u)
    GANTRY_PHILOX_ROUND(k0 + 4u * 0x9E3779B9u, k1 + 4u * 0xBB67AE85u)
    GANTRY_PHILOX_ROUND(k0 + 5u * 0x9E3779B9u, k1 + 5u * 0xBB67AE85u)
    GANTRY_PHILOX_ROUND(k0 + 6u * 0x9E3779B9u, k1 + 6u * 0xBB67AE85u)
    GANTRY_PHILOX_ROUND(k0 + 7u * 0x9E3779B9u, k1 + 7u * 0xBB67AE85u)
    GANTRY_PHILOX_ROUND(k0 + 8u * 0x9E3779B9u, k1 + 8u * 0xBB67AE85u)
    GANTRY_PHILOX_ROUND(k0 + 9u * 0x9E3779B9u, k1 + 9u * 0xBB67AE85u)
    return w;
}

/* A value in [0, 1) from the low 23 bits. */
GANTRY_FN float gantry__uniform_f32(uint word) {
    return GANTRY_AS_FLOAT((word & 0x007fffffu) | 0x3f800000u) - 1.0f;
}

/* A value in [0, 1) from as many low bits as the type's fraction has. */
GANTRY_FN ushort gantry__uniform_f16(uint word) {
    return gantry__f32_to_f16((float)(int)(word & 0x3ffu) * 9.765625e-4f); /* 2^-10 */
}

GANTRY_FN ushort gantry__uniform_bf16(uint word) {
    return gantry__f32_to_bf16((float)(int)(word & 0x7fu) * 7.8125e-3f); /* 2^-7 */
}

/* lowest + a number below range. Small numbers are slightly more likely, unless range is a power of
 * two. */
GANTRY_FN uint gantry__integer_32(uint word, uint lowest, uint range) {
    return lowest + word % range;
}

/* 64 bits; the first word is the lower half. */
GANTRY_FN ulong gantry__two_words(uint first, uint second) {
    return (ulong)second << 32 | (ulong)first;
}

GANTRY_FN ulong gantry__integer_64(uint first, uint second, ulong lowest, ulong range) {
    return lowest + gantry__two_words(first, second) % range;
}

/* 2 pi u for the u of gantry__uniform_f32(word): the bits of the float64 product rounded to
 * float32, without float64. Multiplies the 23-bit integer with 2 pi = HIGH + LOW in two parts.
 * Halves of 12 bits, whose products are exact, give the rounding error of HIGH's product. */
GANTRY_FN float gantry__angle_f32(uint word) {
    const float high = 7.49014077e-7f;  /* 2 pi / 2^23, upper 24 bits: 0x1.921fb6p-21 */
    const float upper = 7.48783350e-7f; /* high's upper 12 bits: 0x1.920p-21 */
    const float low = -2.08432142e-14f; /* the rest: -0x1.777a5cp-46 */
    float whole = (float)(int)(word & 0x007fffffu);
    float m1 = (float)(int)(word & 0x007ff000u);
    float m0 = (float)(int)(word & 0x00000fffu);
    float product = whole * high;
    float lost = ((m1 * upper - product) + m1 * (high - upper)) + m0 * upper;

    return product + ((lost + m0 * (high - upper)) + whole * low);
}

/* The radius of a pair of normal values, which are sine and cosine of the angle times the
 * radius. */
GANTRY_FN float gantry__radius_f32(uint word) {
    float u = gantry__uniform_f32(word);

    return gantry__sqrt_f32(-2.0f * gantry__log_f32(u < 1.0e-7f ? 1.0e-7f : u));
}

/* The four normal values of a block. */
GANTRY_FN void gantry__normals_f32(const gantry__words_t w, float *values) {
    const float radius_0 = gantry__radius_f32(w.a);
    const float radius_1 = gantry__radius_f32(w.c);
    const float angle_0 = gantry__angle_f32(w.b);
    const float angle_1 = gantry__angle_f32(w.d);

    values[0] = gantry__sin_4pi_f32(angle_0) * radius_0;
    values[1] = gantry__cos_4pi_f32(angle_0) * radius_0;
    values[2] = gantry__sin_4pi_f32(angle_1) * radius_1;
    values[3] = gantry__cos_4pi_f32(angle_1) * radius_1;
}

#if GANTRY_HAS_FLOAT64
/* A value in [0, 1): the low 20 bits of the first word, followed by all of the second. */
GANTRY_FN double gantry__uniform_f64(uint first, uint second) {
    ulong bits = ((ulong)(first & 0x000fffffu) << 32) | (ulong)second;

    return GANTRY_AS_DOUBLE(bits | ((ulong)0x3ff << 52)) - 1.0;
}

GANTRY_FN double gantry__radius_f64(double u) {
    return gantry__sqrt_f64(-2.0 * gantry__log_f64(u < 1.0e-7 ? 1.0e-7 : u));
}

/* The two normal values of a block. */
GANTRY_FN void gantry__normals_f64(const gantry__words_t w, double *values) {
    const double radius = gantry__radius_f64(gantry__uniform_f64(w.a, w.b));
    const double angle = 6.283185307179586 * gantry__uniform_f64(w.c, w.d);

    values[0] = gantry__sin_4pi_f64(angle) * radius;
    values[1] = gantry__cos_4pi_f64(angle) * radius;
}
#endif

#endif
