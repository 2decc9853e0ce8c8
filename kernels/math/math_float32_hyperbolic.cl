/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hyperbolic sine and cosine and the inverse hyperbolic functions for all float32, with the same
 * bits on every device. It must come after math_float32.cl (which has tanh), whose promises and
 * rules hold here, too.
 *
 * Largest error over all 2^32 inputs, as tests/unit/math/exhaustive_math_float32.c --full finds it
 * (see math_float32.cl):
 *
 *     function   largest error   at
 *     sinh       0.7315 ulp      1.03978419       every 37th input
 *     cosh       0.8747 ulp      -0.000456675654  every 37th input
 *     asinh      1.0115 ulp      -1.17452097      every 37th input
 *     acosh      0.7590 ulp      1.05796528       every 37th input
 *     atanh      0.9041 ulp      -0.669424117     every 37th input
 *
 * How it works. With exp(a) = 2^n q, sinh and cosh are 2^(n - 1) (q -+ 2^(-2 n) / q), where q = p +
 * p_low is kept as a sum and only the last addition rounds much. sinh takes x + x^3 P(x^2) below 1.
 *   asinh and acosh are log(1 + t), with t and what its sum lost: t = a + a^2 / (1 + sqrt(1 + a^2))
 * for asinh(a), and t = b + sqrt(2 b + b^2), b = a - 1, for acosh(a), where the root has its rest,
 * because near 1 it is all there is. From 4096 on both are log(2 a). atanh is log(1 + 2 a / (1 -
 * a)) / 2; below 1/2, where 1 - a would be rounded, x + x^3 P(x^2).
 */

/* constants: made by scripts/make_math_coefficients.py */
#define GANTRY_SINH_0_F32 1.66666672e-1f
#define GANTRY_SINH_1_F32 8.33331048e-3f
#define GANTRY_SINH_2_F32 1.98428956e-4f
#define GANTRY_SINH_3_F32 2.78221364e-6f
#define GANTRY_ATANH_0_F32 3.33333015e-1f
#define GANTRY_ATANH_1_F32 2.00024545e-1f
#define GANTRY_ATANH_2_F32 1.42237440e-1f
#define GANTRY_ATANH_3_F32 1.18168004e-1f
#define GANTRY_ATANH_4_F32 5.15870042e-2f
#define GANTRY_ATANH_5_F32 1.76404580e-1f
/* constants end */

#define GANTRY_LOG_OF_DOUBLE_F32 4096.0f /* from here on asinh(a) and acosh(a) are log(2 a) */

/* (exp(a) - exp(-a)) / 2 for minus = 0x80000000, (exp(a) + exp(-a)) / 2 for minus = 0; a must be in
 * [0, 91]. */
GANTRY_FN GANTRY_F32 gantry__exp_pair_f32(GANTRY_F32 a, GANTRY_U32 minus) {
    GANTRY_F32 shifted = gantry__exp_shifted_f32(a);
    GANTRY_U32 biased = gantry__exp_biased_f32(shifted) - 1u;
    GANTRY_U32 n = GANTRY_AS_UINT(shifted) - 0x4b400000u;
    GANTRY_U32 bounded = n > 60u ? 60u : n;
    GANTRY_F32 high = gantry__exp_high_f32(a, shifted);
    GANTRY_F32 p = 1.0f + high;
    GANTRY_F32 p_low = (high - (p - 1.0f)) + gantry__exp_low_f32(high, shifted);
    GANTRY_F32 other = GANTRY_AS_FLOAT((127u - 2u * bounded) << 23) / (p + p_low);
    GANTRY_F32 y = p + (p_low + GANTRY_AS_FLOAT(GANTRY_AS_UINT(other) ^ minus));

    return (y * gantry__exp_first_f32(biased)) * gantry__exp_second_f32(biased);
}

GANTRY_FN GANTRY_F32 gantry__sinh_f32(GANTRY_F32 x) {
    GANTRY_U32 sign = GANTRY_AS_UINT(x) & 0x80000000u;
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 bounded = a > 90.0f ? 90.0f : a;
    GANTRY_F32 u = bounded * bounded;
    GANTRY_F32 p = GANTRY_FMA_F32(u, GANTRY_SINH_3_F32, GANTRY_SINH_2_F32);
    GANTRY_F32 large = gantry__exp_pair_f32(bounded, 0x80000000u);
    GANTRY_F32 small;
    GANTRY_F32 y;

    p = GANTRY_FMA_F32(p, u, GANTRY_SINH_1_F32);
    p = GANTRY_FMA_F32(p, u, GANTRY_SINH_0_F32);
    small = GANTRY_FMA_F32(bounded * u, p, bounded);
    y = a < 1.0f ? small : large;
    y = GANTRY_AS_FLOAT(GANTRY_AS_UINT(y) | sign);
    return x == x ? y : GANTRY_NAN_F32;
}

GANTRY_FN GANTRY_F32 gantry__cosh_f32(GANTRY_F32 x) {
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 bounded = a > 90.0f ? 90.0f : a;
    GANTRY_F32 y = gantry__exp_pair_f32(bounded, 0u);

    return x == x ? y : GANTRY_NAN_F32;
}

/* log(w + w_low) + extra ln 2; w must be finite and at least 1, and w_low far below w */
GANTRY_FN GANTRY_F32 gantry__log_sum_f32(GANTRY_F32 w, GANTRY_F32 w_low, GANTRY_F32 extra) {
    GANTRY_U32 bits = GANTRY_AS_UINT(w) + (0x3f800000u - GANTRY_SQRT_HALF_BITS_F32);
    GANTRY_F32 k = GANTRY_AS_FLOAT((bits >> 23) | 0x4b000000u) - (8388608.0f + 127.0f);
    GANTRY_F32 f = GANTRY_AS_FLOAT((bits & 0x007fffffu) + GANTRY_SQRT_HALF_BITS_F32) - 1.0f;

    return gantry__log_parts_f32(k + extra, f, w_low / w);
}

/* log(1 + t + t_low) for a < 4096, log(2 a) beyond; t must be at least 0 */
GANTRY_FN GANTRY_F32 gantry__log_one_plus_f32(GANTRY_F32 a, GANTRY_F32 t, GANTRY_F32 t_low) {
    GANTRY_F32 sum = 1.0f + t;
    GANTRY_F32 lost_small = t - (sum - 1.0f);
    GANTRY_F32 lost_large = 1.0f - (sum - t);
    GANTRY_F32 lost = (t < 1.0f ? lost_small : lost_large) + t_low;
    GANTRY_F32 w = a < GANTRY_LOG_OF_DOUBLE_F32 ? sum : a;
    GANTRY_F32 w_low = a < GANTRY_LOG_OF_DOUBLE_F32 ? lost : 0.0f;
    GANTRY_F32 extra = a < GANTRY_LOG_OF_DOUBLE_F32 ? 0.0f : 1.0f;

    return gantry__log_sum_f32(w, w_low, extra);
}

GANTRY_FN GANTRY_F32 gantry__asinh_f32(GANTRY_F32 x) {
    GANTRY_U32 sign = GANTRY_AS_UINT(x) & 0x80000000u;
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 bounded = a > GANTRY_LOG_OF_DOUBLE_F32 ? GANTRY_LOG_OF_DOUBLE_F32 : a;
    GANTRY_F32 square = bounded * bounded;
    GANTRY_F32 root = GANTRY_SQRT_F32(GANTRY_FMA_F32(bounded, bounded, 1.0f));
    GANTRY_F32 above = square / (1.0f + root);
    GANTRY_F32 t = bounded + above;
    GANTRY_F32 y = gantry__log_one_plus_f32(a, t, (bounded - t) + above);

    y = a < GANTRY_INFINITY_F32 ? y : GANTRY_INFINITY_F32;
    /* 2^-12, from which on the square of t's rest, left out above, would begin to count */
    y = a < 2.44140625e-4f ? a : y;
    y = GANTRY_AS_FLOAT(GANTRY_AS_UINT(y) | sign);
    return x == x ? y : GANTRY_NAN_F32;
}

/* sqrt(z + z_low) - root; root must be sqrt(z) rounded */
GANTRY_FN GANTRY_F32 gantry__root_rest_f32(GANTRY_F32 z, GANTRY_F32 z_low, GANTRY_F32 root) {
    return (GANTRY_FMA_F32(-root, root, z) + z_low) / (root + root + 1.0e-30f);
}

GANTRY_FN GANTRY_F32 gantry__acosh_f32(GANTRY_F32 x) {
    GANTRY_F32 bounded = x > GANTRY_LOG_OF_DOUBLE_F32 ? GANTRY_LOG_OF_DOUBLE_F32 : x;
    GANTRY_F32 b = bounded - 1.0f;
    GANTRY_F32 twice = b + b;
    GANTRY_F32 z = GANTRY_FMA_F32(b, b, twice);
    GANTRY_F32 lost = GANTRY_FMA_F32(b, b, twice - z);
    GANTRY_F32 z_low = b < 2.0f ? lost : 0.0f;
    GANTRY_F32 root = GANTRY_SQRT_F32(z);
    GANTRY_F32 t = root + b;
    GANTRY_F32 t_low = ((root - t) + b) + gantry__root_rest_f32(z, z_low, root);
    GANTRY_F32 y = gantry__log_one_plus_f32(x, t, t_low);

    y = x < GANTRY_INFINITY_F32 ? y : GANTRY_INFINITY_F32;
    return x >= 1.0f ? y : GANTRY_NAN_F32;
}

GANTRY_FN GANTRY_F32 gantry__atanh_f32(GANTRY_F32 x) {
    GANTRY_U32 sign = GANTRY_AS_UINT(x) & 0x80000000u;
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 u = a * a;
    GANTRY_F32 p = GANTRY_FMA_F32(u, GANTRY_ATANH_5_F32, GANTRY_ATANH_4_F32);
    GANTRY_F32 t = (a + a) / (1.0f - a);
    GANTRY_F32 w = 1.0f + t;
    GANTRY_F32 large = 0.5f * gantry__log_sum_f32(w, 1.0f - (w - t), 0.0f);
    GANTRY_F32 small;
    GANTRY_F32 y;

    p = GANTRY_FMA_F32(p, u, GANTRY_ATANH_3_F32);
    p = GANTRY_FMA_F32(p, u, GANTRY_ATANH_2_F32);
    p = GANTRY_FMA_F32(p, u, GANTRY_ATANH_1_F32);
    p = GANTRY_FMA_F32(p, u, GANTRY_ATANH_0_F32);
    small = GANTRY_FMA_F32(a * u, p, a);
    y = a < 0.5f ? small : large;
    y = a < 1.0f ? y : GANTRY_INFINITY_F32;
    y = GANTRY_AS_FLOAT(GANTRY_AS_UINT(y) | sign);
    return a <= 1.0f ? y : GANTRY_NAN_F32;
}
