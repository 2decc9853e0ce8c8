/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between element types that the languages leave open: float to integer saturates, and
 * NaN becomes 0. It must come after dialect.cl; C loops and device text share it. It selects
 * instead of branching, so that a loop over any of these becomes vector code. */

GANTRY_FN int gantry__f32_to_i32(float x) {
    float y = x >= -2147483648.0f ? x : -2147483648.0f;
    int r = (int)(y < 2147483648.0f ? y : 0.0f);

    r = y < 2147483648.0f ? r : 2147483647;
    return x == x ? r : 0;
}

GANTRY_FN GANTRY_LONG gantry__f32_to_i64(float x) {
    float y = x >= -9223372036854775808.0f ? x : -9223372036854775808.0f;
    GANTRY_LONG r = (GANTRY_LONG)(y < 9223372036854775808.0f ? y : 0.0f);

    r = y < 9223372036854775808.0f ? r : (GANTRY_LONG)0x7fffffffffffffff;
    return x == x ? r : 0;
}

GANTRY_FN ulong gantry__f32_to_u64(float x) {
    float y = x > 0.0f ? x : 0.0f;
    ulong r = (ulong)(y < 18446744073709551616.0f ? y : 0.0f);

    return y < 18446744073709551616.0f ? r : ~(ulong)0;
}

/* The narrower integers go through 64 bits. */
#define GANTRY_LOWEST_U8 0
#define GANTRY_HIGHEST_U8 255
#define GANTRY_LOWEST_I8 -128
#define GANTRY_HIGHEST_I8 127
#define GANTRY_LOWEST_U16 0
#define GANTRY_HIGHEST_U16 65535
#define GANTRY_LOWEST_I16 -32768
#define GANTRY_HIGHEST_I16 32767
#define GANTRY_LOWEST_U32 0
#define GANTRY_HIGHEST_U32 0xffffffffu

GANTRY_FN GANTRY_LONG gantry__clamp_i64(GANTRY_LONG x, GANTRY_LONG lowest, GANTRY_LONG highest) {
    return x < lowest ? lowest : x > highest ? highest : x;
}

#if GANTRY_HAS_FLOAT64
GANTRY_FN ulong gantry__f64_to_u64(double x) {
    double y = x > 0.0 ? x : 0.0;
    ulong r = (ulong)(y < 18446744073709551616.0 ? y : 0.0);

    return y < 18446744073709551616.0 ? r : ~(ulong)0;
}

GANTRY_FN int gantry__f64_to_i32(double x) {
    double y = x > -2147483649.0 ? x : -2147483648.0;
    int r = (int)(y < 2147483648.0 ? y : 0.0);

    r = y < 2147483648.0 ? r : 2147483647;
    return x == x ? r : 0;
}

GANTRY_FN GANTRY_LONG gantry__f64_to_i64(double x) {
    double y = x >= -9223372036854775808.0 ? x : -9223372036854775808.0;
    GANTRY_LONG r = (GANTRY_LONG)(y < 9223372036854775808.0 ? y : 0.0);

    r = y < 9223372036854775808.0 ? r : (GANTRY_LONG)0x7fffffffffffffff;
    return x == x ? r : 0;
}

/* Rounds toward zero, for Cast's attribute Truncate. The nearest float32 is at most one step too
 * far from zero. */
GANTRY_FN float gantry__f64_to_f32_truncated(double x) {
    float nearest = (float)x;
    double wide = (double)nearest;
    int too_far = x > 0.0 ? wide > x : wide < x;

    return GANTRY_AS_FLOAT(GANTRY_AS_UINT(nearest) - (too_far ? 1u : 0u));
}
#endif

/* ---- float8 ----
 *
 *   float8_e5m2     s eeeee mm      the upper half of a float16
 *   float8_e4m3fn   s eeee mmm      without infinity: the largest pattern is NaN, 448 is next to it
 *
 * As half.cl for float16: towards float32 exactly; to the nearest, of two as near the even one. A
 * value beyond the range becomes infinity, in float8_e4m3fn NaN; a NaN is the positive one. */
GANTRY_FN float gantry__f8e5m2_to_f32(uchar x) {
    const uint magnitude = ((uint)x & 0x7fu) << 21;
    const uint denormal =
        GANTRY_AS_UINT(GANTRY_AS_FLOAT(magnitude + (113u << 23)) - GANTRY_AS_FLOAT(113u << 23));
    const uint special = magnitude | 0x7f800000u | (magnitude > (31u << 23) ? 0x00400000u : 0u);
    const uint finite = magnitude < (1u << 23) ? denormal : magnitude + (112u << 23);

    return GANTRY_AS_FLOAT((magnitude >= (31u << 23) ? special : finite) | ((uint)x & 0x80u) << 24);
}

GANTRY_FN float gantry__f8e4m3_to_f32(uchar x) {
    const uint magnitude = ((uint)x & 0x7fu) << 20;
    const uint denormal =
        GANTRY_AS_UINT(GANTRY_AS_FLOAT(magnitude + (121u << 23)) - GANTRY_AS_FLOAT(121u << 23));
    const uint finite = magnitude < (1u << 23) ? denormal : magnitude + (120u << 23);

    return GANTRY_AS_FLOAT((((uint)x & 0x7fu) == 0x7fu ? 0x7fc00000u : finite) | ((uint)x & 0x80u)
                                                                                     << 24);
}

/* The addition of a power of two rounds a denormal result, whose bits are then at the end of the
 * sum's fraction: one unit there is 2^-16, and 2^-9 for float8_e4m3fn. */
GANTRY_FN uchar gantry__f32_to_f8e5m2(float x) {
    const uint bits = GANTRY_AS_UINT(x), sign = bits >> 24 & 0x80u;
    const uint magnitude = bits & 0x7fffffffu;
    const uint normal = (magnitude - (112u << 23) + 0xfffffu + (magnitude >> 21 & 1u)) >> 21;
    const uint denormal = GANTRY_AS_UINT(GANTRY_AS_FLOAT(magnitude) + 128.0f) - (134u << 23);
    const uint finite = magnitude < (113u << 23) ? denormal : normal;

    /* from 61440 on, halfway between the largest number and 65536 */
    return (uchar)(x != x ? 0x7eu : (magnitude >= 0x47700000u ? 0x7cu : finite) | sign);
}

GANTRY_FN uchar gantry__f32_to_f8e4m3(float x) {
    const uint bits = GANTRY_AS_UINT(x), sign = bits >> 24 & 0x80u;
    const uint magnitude = bits & 0x7fffffffu;
    const uint normal = (magnitude - (120u << 23) + 0x7ffffu + (magnitude >> 20 & 1u)) >> 20;
    const uint denormal = GANTRY_AS_UINT(GANTRY_AS_FLOAT(magnitude) + 16384.0f) - (141u << 23);
    const uint finite = magnitude < (121u << 23) ? denormal : normal;

    /* beyond 464, halfway between the largest number and 480 */
    return (uchar)(x != x || magnitude > 0x43e80000u ? 0x7fu : finite | sign);
}

/* Fraction bits, for Truncate; x, of a narrow type, without its lowest `count` bits, a NaN
 * unchanged. */
#define GANTRY_FRACTION_f8e4m3 3
#define GANTRY_FRACTION_f8e5m2 2
#define GANTRY_FRACTION_f16 10
#define GANTRY_FRACTION_bf16 7
#define GANTRY_WITHOUT_BITS(widen, x, count) \
    (widen(x) != widen(x) ? widen(x) : widen((x) >> (count) << (count)))

#if GANTRY_HAS_FLOAT64
/* As a float32 whose last bit says that the rest is not 0: a second rounding then gives what one
 * would. */
GANTRY_FN float gantry__f64_to_f32_odd(double x) {
    const float cut = gantry__f64_to_f32_truncated(x);

    return GANTRY_AS_FLOAT(GANTRY_AS_UINT(cut) | ((double)cut != x ? 1u : 0u));
}
#endif
