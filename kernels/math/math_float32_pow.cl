/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pow of float32, with the same bits on every device. It must come after math_float32_special.cl;
 * the rules are those of math_float32.cl.
 *
 * Largest error over 8 million random pairs (tests/unit/math/test_math_pow.c 2000000): 0.9596
 * ulp, at x = 0.737768829, y = -286.912811. Its bound is 1 ulp.
 *
 * |x|^y = exp(y log |x|), where logarithm and product are pairs: y log |x| may be 100 and still
 * needs an error of 2^-26. A logarithm of 42 bits takes a sixth of the time more for 0.17 ulp less.
 * y is held to 2^32, where every |x| but 1 has long overflowed or vanished, so that nothing on the
 * way does. Special values are those of C99's pow, put in place by selects at the end.
 */

/* 0x80000000 if y is an odd integer, else 0. */
GANTRY_FN GANTRY_U32 gantry__odd_sign_f32(GANTRY_F32 y) {
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(y) & 0x7fffffffu);
    GANTRY_F32 shifted = a + 8388608.0f;
    GANTRY_U32 odd = a < 8388608.0f ? GANTRY_AS_UINT(shifted) : GANTRY_AS_UINT(a);
    GANTRY_F32 whole = a < 8388608.0f ? shifted - 8388608.0f : a;

    odd = whole == a ? odd : 0u;
    return (a < 16777216.0f ? odd : 0u) << 31;
}

/* a^y; a must be finite and above 0, |y| at most 2^32. */
GANTRY_LONG_FN GANTRY_F32 gantry__pow_above_f32(GANTRY_F32 a, GANTRY_F32 y) {
    gantry__pair_f32_t t = gantry__pair_times_f32(gantry__log_to_pair_f32(a), y);
    gantry__pair_f32_t least = gantry__pair_constant_f32(-110.0f, 0.0f);
    gantry__pair_f32_t most = gantry__pair_constant_f32(100.0f, 0.0f);
    GANTRY_F32 shifted;

    t = gantry__pair_below_f32(t.high, -110.0f, least, t);
    t = gantry__pair_below_f32(t.high, 100.0f, t, most);
    shifted = gantry__exp_shifted_f32(t.high);
    return gantry__pair_scale_f32(gantry__pair_exp_f32(t, shifted), gantry__exp_biased_f32(shifted))
        .high;
}

GANTRY_LONG_FN GANTRY_F32 gantry__pow_f32(GANTRY_F32 x, GANTRY_F32 y) {
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 y_size = GANTRY_AS_FLOAT(GANTRY_AS_UINT(y) & 0x7fffffffu);
    GANTRY_F32 y_least = y < -4294967296.0f ? -4294967296.0f : y;
    GANTRY_U32 sign = gantry__odd_sign_f32(y) & GANTRY_AS_UINT(x);
    GANTRY_F32 whole = y_size < 8388608.0f ? (y_size + 8388608.0f) - 8388608.0f : y_size;
    GANTRY_F32 of_zero = y < 0.0f ? GANTRY_INFINITY_F32 : 0.0f;
    GANTRY_F32 of_infinity = y < 0.0f ? 0.0f : GANTRY_INFINITY_F32;
    GANTRY_F32 z = gantry__pow_above_f32(a, y_least > 4294967296.0f ? 4294967296.0f : y_least);

    z = a == 0.0f ? of_zero : z;
    z = a == GANTRY_INFINITY_F32 ? of_infinity : z;
    z = GANTRY_AS_FLOAT(GANTRY_AS_UINT(z) | sign);
    z = ((x < 0.0f) & (x >= -3.40282347e38f) & (whole != y_size)) ? GANTRY_NAN_F32 : z;
    z = ((x != x) | (y != y)) ? GANTRY_NAN_F32 : z;
    return ((x == 1.0f) | (y == 0.0f)) ? 1.0f : z;
}
