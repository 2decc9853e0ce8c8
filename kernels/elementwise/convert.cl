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
