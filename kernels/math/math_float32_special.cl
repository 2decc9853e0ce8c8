/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expm1, log1p and erfc of float32, with the same bits on every device. It must come after
 * math_float32_pair.cl; the rules are those of math_float32.cl.
 *
 * Largest error over all 2^32 inputs, as tests/unit/math/exhaustive_math_float32.c --full finds it
 * (see math_float32.cl):
 *
 *     function   largest error   at
 *     expm1      0.9906 ulp      0.349078655      every 37th input
 *     log1p      0.8769 ulp      0.449530035      every 37th input
 *     erfc       3.8194 ulp      0.00188123959    every 37th input
 *
 * expm1: with exp(x) = 2^n (1 + h + l) as in math_float32.cl, the result is 2^n ((1 - 2^-n) + h +
 * l), whose first term is exact as far as it matters. log1p: 1 + x is a sum of two floats, the
 * second of which joins f before the polynomial.
 *   erfc: exp(-z^2) v (1 + P(z v)) with v = 1 / (z + c): z v maps [0, infinity) to [0, 1), where P
 * needs 10 terms. z^2 is a pair, and the exponential is 2^n (1 + e), so that it loses little. 2^n
 * comes last, in two steps of which only the second can round. erfc of a negative z is 2 minus
 * that. With v, P and the exponential as pairs of floats the error would be a third of this and the
 * time five times as long.
 */

/* constants: made by scripts/make_math_coefficients_special.py */
#define GANTRY_ERFC_SHIFT_F32 2.37500000e0f
#define GANTRY_ERFC_0_F32 4.74020317e-2f
#define GANTRY_ERFC_1_F32 -1.55928886e0f
#define GANTRY_ERFC_2_F32 1.65579915e0f
#define GANTRY_ERFC_3_F32 -1.08725846e0f
#define GANTRY_ERFC_4_F32 1.73451960e-1f
#define GANTRY_ERFC_5_F32 3.59106719e-1f
#define GANTRY_ERFC_6_F32 -1.91472307e-1f
#define GANTRY_ERFC_7_F32 -1.60279319e-1f
#define GANTRY_ERFC_8_F32 1.04529232e-1f
#define GANTRY_ERFC_9_F32 9.77715328e-2f
/* constants end */

#define GANTRY_TWO_TO_MINUS_64_F32 5.42101086e-20f

/* 2^-n (exp(x) - 1) for the n of shifted = gantry__exp_shifted_f32(x), |n| <= 128; |low| is below
 * 1/4 of |high|. */
GANTRY_FN gantry__pair_f32_t gantry__expm1_pair_f32(GANTRY_F32 x, GANTRY_F32 shifted) {
    GANTRY_F32 inverse = gantry__exp_inverse_f32(shifted);
    GANTRY_F32 less = 1.0f - inverse;
    GANTRY_F32 high = gantry__exp_high_f32(x, shifted);
    GANTRY_F32 low = gantry__exp_low_f32(high, shifted);
    gantry__pair_f32_t y;

    y.high = less + high;
    y.low = ((high - (y.high - less)) + ((1.0f - less) - inverse)) + low;
    return y;
}

GANTRY_FN GANTRY_F32 gantry__expm1_f32(GANTRY_F32 x) {
    /* -18, by bits as in exp */
    GANTRY_U32 bits = GANTRY_AS_UINT(x) > 0xc1900000u ? 0xc1900000u : GANTRY_AS_UINT(x);
    GANTRY_F32 low = GANTRY_AS_FLOAT(bits);
    GANTRY_F32 bounded = low > 89.0f ? 89.0f : low;
    GANTRY_F32 shifted = gantry__exp_shifted_f32(bounded);
    GANTRY_U32 biased = gantry__exp_biased_f32(shifted);
    gantry__pair_f32_t part = gantry__expm1_pair_f32(bounded, shifted);
    GANTRY_F32 y =
        ((part.high + part.low) * gantry__exp_first_f32(biased)) * gantry__exp_second_f32(biased);

    y = x == 0.0f ? x : y;
    return x == x ? y : GANTRY_NAN_F32;
}

/* log(high + low) for a normal pair; high must be above 2^-25 and finite. It is accurate also for
 * high = 1, where low is all that counts. */
GANTRY_FN GANTRY_F32 gantry__log_of_pair_f32(GANTRY_F32 high, GANTRY_F32 low) {
    GANTRY_U32 bits = GANTRY_AS_UINT(high) + (0x3f800000u - GANTRY_SQRT_HALF_BITS_F32);
    GANTRY_U32 biased = bits >> 23;
    GANTRY_F32 k = GANTRY_AS_FLOAT(biased | 0x4b000000u) - (8388608.0f + 127.0f);
    GANTRY_F32 m = GANTRY_AS_FLOAT((bits & 0x007fffffu) + GANTRY_SQRT_HALF_BITS_F32) - 1.0f;
    GANTRY_F32 m_low = low * GANTRY_AS_FLOAT((254u - (biased > 254u ? 254u : biased)) << 23);
    GANTRY_F32 f = m + m_low;

    return gantry__log_parts_f32(k, f, (m - f) + m_low);
}

GANTRY_FN GANTRY_F32 gantry__log1p_f32(GANTRY_F32 x) {
    gantry__pair_f32_t one = gantry__two_sum_f32(x, (GANTRY_F32)(1.0f));
    GANTRY_F32 y = gantry__log_of_pair_f32(one.high, one.low);

    y = x < GANTRY_INFINITY_F32 ? y : GANTRY_INFINITY_F32;
    y = x >= -1.0f ? y : GANTRY_NAN_F32;
    y = x == 0.0f ? x : y;
    return x == -1.0f ? -GANTRY_INFINITY_F32 : y;
}

/* exp(-(v + rest)) = 2^n (1 + result) for the n of shifted = gantry__exp_shifted_f32(-v); rest must
 * be at most 0.1. */
GANTRY_FN GANTRY_F32 gantry__exp_falling_f32(GANTRY_F32 v, GANTRY_F32 rest, GANTRY_F32 shifted) {
    GANTRY_F32 high = gantry__exp_high_f32(-v, shifted);

    return high + gantry__exp_rest_f32(
                      high, GANTRY_FMA_F32(shifted - GANTRY_ROUNDER_F32, GANTRY_LN2_LO_F32, rest));
}

/* 2^(n + 64) for the n of shifted, which must be in [-190, 63]: what it multiplies stays normal
 * until 2^-64 follows. */
GANTRY_FN GANTRY_F32 gantry__exp_raised_f32(GANTRY_F32 shifted) {
    return GANTRY_AS_FLOAT((GANTRY_AS_UINT(shifted) + (127u + 64u)) << 23);
}

/* c0 + c1 w + ... + c9 w^9 */
GANTRY_FN GANTRY_F32 gantry__ten_terms_f32(GANTRY_F32 w, float c0, float c1, float c2, float c3,
                                           float c4, float c5, float c6, float c7, float c8,
                                           float c9) {
    GANTRY_F32 p = GANTRY_FMA_F32(w, c9, c8);

    p = GANTRY_FMA_F32(p, w, c7);
    p = GANTRY_FMA_F32(p, w, c6);
    p = GANTRY_FMA_F32(p, w, c5);
    p = GANTRY_FMA_F32(p, w, c4);
    p = GANTRY_FMA_F32(p, w, c3);
    p = GANTRY_FMA_F32(p, w, c2);
    p = GANTRY_FMA_F32(p, w, c1);
    return GANTRY_FMA_F32(p, w, c0);
}

#define GANTRY_TEN_TERMS(name, w)                                                                 \
    gantry__ten_terms_f32(w, GANTRY_##name##_0_F32, GANTRY_##name##_1_F32, GANTRY_##name##_2_F32, \
                          GANTRY_##name##_3_F32, GANTRY_##name##_4_F32, GANTRY_##name##_5_F32,    \
                          GANTRY_##name##_6_F32, GANTRY_##name##_7_F32, GANTRY_##name##_8_F32,    \
                          GANTRY_##name##_9_F32)

/* (x + x p) (1 + e) 2^n for the n of shifted */
GANTRY_FN GANTRY_F32 gantry__fallen_f32(GANTRY_F32 x, GANTRY_F32 p, GANTRY_F32 e,
                                        GANTRY_F32 shifted) {
    GANTRY_F32 low = x * p;
    GANTRY_F32 y = x + GANTRY_FMA_F32(x + low, e, low);

    return (y * gantry__exp_raised_f32(shifted)) * GANTRY_TWO_TO_MINUS_64_F32;
}

/* x 2^n for the n + 254 of biased */
GANTRY_FN gantry__pair_f32_t gantry__pair_scale_f32(gantry__pair_f32_t x, GANTRY_U32 biased) {
    x.high = (x.high * gantry__exp_first_f32(biased)) * gantry__exp_second_f32(biased);
    x.low = (x.low * gantry__exp_first_f32(biased)) * gantry__exp_second_f32(biased);
    return x;
}

GANTRY_FN GANTRY_F32 gantry__erfc_f32(GANTRY_F32 x) {
    GANTRY_U32 bits = GANTRY_AS_UINT(x) & 0x7fffffffu;
    GANTRY_U32 bounded = bits > 0x41240000u ? 0x41240000u : bits; /* 10.25, where erfc is 0 */
    GANTRY_F32 a = GANTRY_AS_FLOAT(bounded);
    GANTRY_F32 square = a * a;
    GANTRY_F32 shifted = gantry__exp_shifted_f32(-square);
    GANTRY_F32 e = gantry__exp_falling_f32(square, GANTRY_FMA_F32(a, a, -square), shifted);
    GANTRY_F32 v = 1.0f / (a + GANTRY_ERFC_SHIFT_F32);
    GANTRY_F32 w = GANTRY_FMA_F32(a, v, -0.5f);
    GANTRY_F32 above = gantry__fallen_f32(v, GANTRY_TEN_TERMS(ERFC, w), e, shifted);
    GANTRY_F32 below = 2.0f - above;
    GANTRY_F32 y = x < 0.0f ? below : above;

    return x == x ? y : GANTRY_NAN_F32;
}
