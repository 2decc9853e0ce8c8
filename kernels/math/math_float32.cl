/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementary functions of float32, with the same bits on every device. Comes after dialect.cl.
 *
 * Only additions, multiplications, fused multiply-adds, divisions, comparisons and integer
 * operations on bits are used, each of which IEEE 754 defines to the last bit; no table, no branch.
 * No compiler fuses by itself: GANTRY_FMA_F32 says where. What would be a branch is a select
 * between values already computed, so that a loop over any of these becomes vector code. A NaN
 * result is always 0x7fc00000. GANTRY_F32 is float, or a vector of floats where dialect.cl was
 * asked for lanes.
 *
 * Largest error over all 2^32 inputs (for the last two: |v| <= 4 pi), in units of the exact
 * result's last place, as tests/unit/math/exhaustive_math_float32.c --full finds it against double
 * precision:
 *
 *     function   largest error   at               note
 *     exp        0.7791 ulp      -87.7102127      a denormal result, rounded twice
 *     log        0.7925 ulp      0.706471264      every 37th input
 *     tanh       1.4966 ulp      0.553701401
 *     sigmoid    0.7932 ulp      0.347459376      every 7th input
 *     sqrt       0.5 ulp         (correctly rounded)
 *     sin_4pi    0.8270 ulp      2.36009932       every 37th input
 *     cos_4pi    0.8009 ulp      0.82790786       every 37th input
 *
 * How it works. exp: x = n ln 2 + r, |r| <= ln(2) / 2, exp(x) = 2^n (1 + r + r^2 P(r)). The integer
 * n is found by adding 1.5 * 2^23, which leaves it in the low bits of the sum. r is kept as a high
 * part that is exact and the rest. 2^n may be outside float's range though the result is not, so it
 * is applied in two halves; only the second can round, in the denormal range.
 *   log: x = 2^k m, sqrt(1/2) <= m < sqrt(2), f = m - 1, log(x) = k ln 2 + f - f^2 / 2 + f^3 P(f),
 * where the rounding error of k ln 2 + f is added back.
 *   tanh: a polynomial of its own up to 0.55, where it is 1/2. Beyond, 1 - 2 e / (1 + e) with e =
 * exp(-2 a), where the quotient is below 1/2 and loses little. One exponential for both would cost
 * a fifth more, because near 0 it needs a numerator of its own.
 *   sigmoid: v = 1 / (1 + exp(|x|)) for negative x and 1 - v for the others. v must be right to
 * half a place though it divides by a sum, so the sum is kept as d + d_low and the quotient's
 * second half comes from the residual 1 - q (d + d_low), whose first product is exact.
 *   sin and cos: v = n pi/2 + r with r as a sum of two. pi/2 has three parts, of 24, 14 and 24
 * bits. v - n times the first is exact (a multiple of 2^-24 below 1). n times the second is exact,
 * too, and below 2^-15, so that what its subtraction rounds is a float.
 *
 * Some shapes look arbitrary, but have a reason. Values are computed before a select rather than in
 * its arms, or compilers make branches of them. Polynomials follow Horner: a shape with a shorter
 * chain takes more instructions, and a loop has other elements to work on meanwhile.
 */

/* constants: made by scripts/make_math_coefficients.py */
#define GANTRY_LOG2E_F32 1.44269502e0f
#define GANTRY_LN2_HI_F32 6.93145752e-1f
#define GANTRY_LN2_LO_F32 1.42860677e-6f
#define GANTRY_LN2_F32 6.93147182e-1f
#define GANTRY_TWO_OVER_PI_F32 6.36619747e-1f
#define GANTRY_PIO2_HI_F32 1.57079637e0f
#define GANTRY_PIO2_MID_F32 -4.37103154e-8f
#define GANTRY_PIO2_LO_F32 -1.07463463e-12f
#define GANTRY_EXP_0_F32 4.99999940e-1f
#define GANTRY_EXP_1_F32 1.66665182e-1f
#define GANTRY_EXP_2_F32 4.16684151e-2f
#define GANTRY_EXP_3_F32 8.36898852e-3f
#define GANTRY_EXP_4_F32 1.38140714e-3f
#define GANTRY_LOG_0_F32 3.33333135e-1f
#define GANTRY_LOG_1_F32 -2.50000089e-1f
#define GANTRY_LOG_2_F32 2.00021207e-1f
#define GANTRY_LOG_3_F32 -1.66679978e-1f
#define GANTRY_LOG_4_F32 1.42195448e-1f
#define GANTRY_LOG_5_F32 -1.24055810e-1f
#define GANTRY_LOG_6_F32 1.18881911e-1f
#define GANTRY_LOG_7_F32 -1.16757080e-1f
#define GANTRY_LOG_8_F32 6.74662590e-2f
#define GANTRY_TANH_0_F32 -3.33333164e-1f
#define GANTRY_TANH_1_F32 1.33325443e-1f
#define GANTRY_TANH_2_F32 -5.38475476e-2f
#define GANTRY_TANH_3_F32 2.10507140e-2f
#define GANTRY_TANH_4_F32 -6.24285033e-3f
#define GANTRY_SIN_0_F32 -1.66666552e-1f
#define GANTRY_SIN_1_F32 8.33218917e-3f
#define GANTRY_SIN_2_F32 -1.95182904e-4f
#define GANTRY_COS_0_F32 4.16666456e-2f
#define GANTRY_COS_1_F32 -1.38873095e-3f
#define GANTRY_COS_2_F32 2.44323237e-5f
/* constants end */

/* 1.5 * 2^23: adding it rounds to an integer, kept in the low bits */
#define GANTRY_ROUNDER_F32 12582912.0f
#define GANTRY_SQRT_HALF_BITS_F32 0x3f3504f3u /* sqrt(1/2), the least m */
#define GANTRY_NAN_F32 GANTRY_AS_FLOAT(0x7fc00000u)
#define GANTRY_INFINITY_F32 GANTRY_AS_FLOAT(0x7f800000u)

/* Returns x / ln 2 rounded to an integer n, as the float 1.5 * 2^23 + n. */
GANTRY_FN GANTRY_F32 gantry__exp_shifted_f32(GANTRY_F32 x) {
    return GANTRY_FMA_F32(x, GANTRY_LOG2E_F32, GANTRY_ROUNDER_F32);
}

/* Returns x minus the high part of n ln 2, which is exact. shifted must be 1.5 * 2^23 + n, |n| <=
 * 255. */
GANTRY_FN GANTRY_F32 gantry__exp_high_f32(GANTRY_F32 x, GANTRY_F32 shifted) {
    return GANTRY_FMA_F32(shifted - GANTRY_ROUNDER_F32, -GANTRY_LN2_HI_F32, x);
}

/* (exp(r) - 1 - r) / r^2 */
GANTRY_FN GANTRY_F32 gantry__exp_terms_f32(GANTRY_F32 r) {
    GANTRY_F32 p = GANTRY_FMA_F32(r, GANTRY_EXP_4_F32, GANTRY_EXP_3_F32);

    p = GANTRY_FMA_F32(p, r, GANTRY_EXP_2_F32);
    p = GANTRY_FMA_F32(p, r, GANTRY_EXP_1_F32);
    return GANTRY_FMA_F32(p, r, GANTRY_EXP_0_F32);
}

/* exp(high - rest) - 1 - high. rest must be far below high, or high at most 0.4. */
GANTRY_FN GANTRY_F32 gantry__exp_rest_f32(GANTRY_F32 high, GANTRY_F32 rest) {
    GANTRY_F32 r = high - rest;

    return GANTRY_FMA_F32(gantry__exp_terms_f32(r), r * r, -rest);
}

/* exp(x - n ln 2) - 1 - high, where high is gantry__exp_high_f32(x, shifted). */
GANTRY_FN GANTRY_F32 gantry__exp_low_f32(GANTRY_F32 high, GANTRY_F32 shifted) {
    return gantry__exp_rest_f32(high, (shifted - GANTRY_ROUNDER_F32) * GANTRY_LN2_LO_F32);
}

/* 2^n as two factors: the float whose exponent is half of n, and the other half. n must be in
 * [-254, 254]. */
GANTRY_FN GANTRY_U32 gantry__exp_biased_f32(GANTRY_F32 shifted) {
    return GANTRY_AS_UINT(shifted) - (0x4b400000u - 254u);
}

GANTRY_FN GANTRY_F32 gantry__exp_first_f32(GANTRY_U32 biased) {
    return GANTRY_AS_FLOAT((biased >> 1) << 23);
}

GANTRY_FN GANTRY_F32 gantry__exp_second_f32(GANTRY_U32 biased) {
    return GANTRY_AS_FLOAT((biased - (biased >> 1)) << 23);
}

/* 2^-n for the n of shifted, which must be in [0, 254]; denormal beyond 126, which is why it is
 * made of two factors. */
GANTRY_FN GANTRY_F32 gantry__exp_inverse_f32(GANTRY_F32 shifted) {
    GANTRY_U32 biased = (0x4b400000u + 254u) - GANTRY_AS_UINT(shifted);

    return gantry__exp_first_f32(biased) * gantry__exp_second_f32(biased);
}

/* 1 / (d + d_low) as q + the result. q must be 1 / d rounded, and d_low below d's last place. */
GANTRY_FN GANTRY_F32 gantry__reciprocal_rest_f32(GANTRY_F32 d, GANTRY_F32 d_low, GANTRY_F32 q) {
    return q * GANTRY_FMA_F32(-q, d_low, GANTRY_FMA_F32(-q, d, 1.0f));
}

GANTRY_FN GANTRY_F32 gantry__exp_f32(GANTRY_F32 x) {
    /* -104, by bits, because gcc makes four comparisons of two selects of floats */
    GANTRY_U32 bits = GANTRY_AS_UINT(x) > 0xc2d00000u ? 0xc2d00000u : GANTRY_AS_UINT(x);
    GANTRY_F32 low = GANTRY_AS_FLOAT(bits);
    GANTRY_F32 bounded = low > 89.0f ? 89.0f : low;
    GANTRY_F32 shifted = gantry__exp_shifted_f32(bounded);
    GANTRY_U32 biased = gantry__exp_biased_f32(shifted);
    GANTRY_F32 high = gantry__exp_high_f32(bounded, shifted);
    GANTRY_F32 p = 1.0f + high;
    GANTRY_F32 p_low = (high - (p - 1.0f)) + gantry__exp_low_f32(high, shifted);
    GANTRY_F32 first = gantry__exp_first_f32(biased);
    GANTRY_F32 y = GANTRY_FMA_F32(p_low, first, p * first) * gantry__exp_second_f32(biased);

    return x == x ? y : GANTRY_NAN_F32;
}

/* k ln 2 + log(1 + f) + correction; 1 + f must be in [sqrt(1/2), sqrt(2)). */
GANTRY_FN GANTRY_F32 gantry__log_parts_f32(GANTRY_F32 k, GANTRY_F32 f, GANTRY_F32 correction) {
    GANTRY_F32 square = f * f;
    GANTRY_F32 sum = GANTRY_FMA_F32(k, GANTRY_LN2_HI_F32, f);
    GANTRY_F32 lost = f - GANTRY_FMA_F32(k, -GANTRY_LN2_HI_F32, sum);
    GANTRY_F32 rest = GANTRY_FMA_F32(k, GANTRY_LN2_LO_F32, correction) + lost;
    GANTRY_F32 p = GANTRY_FMA_F32(f, GANTRY_LOG_8_F32, GANTRY_LOG_7_F32);

    p = GANTRY_FMA_F32(p, f, GANTRY_LOG_6_F32);
    p = GANTRY_FMA_F32(p, f, GANTRY_LOG_5_F32);
    p = GANTRY_FMA_F32(p, f, GANTRY_LOG_4_F32);
    p = GANTRY_FMA_F32(p, f, GANTRY_LOG_3_F32);
    p = GANTRY_FMA_F32(p, f, GANTRY_LOG_2_F32);
    p = GANTRY_FMA_F32(p, f, GANTRY_LOG_1_F32);
    p = GANTRY_FMA_F32(p, f, GANTRY_LOG_0_F32);
    p = GANTRY_FMA_F32(square * f, p, rest);
    return sum + GANTRY_FMA_F32(square, -0.5f, p);
}

GANTRY_LONG_FN GANTRY_F32 gantry__log_f32(GANTRY_F32 x) {
    GANTRY_F32 grown = x * 8388608.0f;
    GANTRY_F32 scaled = x < 1.17549435e-38f ? grown : x;
    GANTRY_F32 bias = x < 1.17549435e-38f ? 8388608.0f + 150.0f : 8388608.0f + 127.0f;
    GANTRY_U32 bits = GANTRY_AS_UINT(scaled) + (0x3f800000u - GANTRY_SQRT_HALF_BITS_F32);
    GANTRY_F32 k = GANTRY_AS_FLOAT((bits >> 23) | 0x4b000000u) - bias;
    GANTRY_F32 f = GANTRY_AS_FLOAT((bits & 0x007fffffu) + GANTRY_SQRT_HALF_BITS_F32) - 1.0f;
    GANTRY_F32 y = gantry__log_parts_f32(k, f, 0.0f);

    y = x < GANTRY_INFINITY_F32 ? y : GANTRY_INFINITY_F32;
    y = x >= 0.0f ? y : GANTRY_NAN_F32;
    return x == 0.0f ? -GANTRY_INFINITY_F32 : y;
}

/* tanh(a) for 0.55 <= a <= 10 as 1 - 2 e / (1 + e), where 2 e = 2 exp(-2 a) = 2^n 2 exp(-2 r), r =
 * a + n ln(2) / 2; unspecified below. The polynomial is exp's: the factors are powers of two, so
 * nothing is rounded. */
GANTRY_FN GANTRY_F32 gantry__tanh_far_f32(GANTRY_F32 a) {
    GANTRY_F32 shifted = GANTRY_FMA_F32(a, -2.0f * GANTRY_LOG2E_F32, GANTRY_ROUNDER_F32);
    GANTRY_F32 r = GANTRY_FMA_F32(shifted - GANTRY_ROUNDER_F32, 0.5f * GANTRY_LN2_F32, a);
    GANTRY_F32 p = GANTRY_FMA_F32(r, 128.0f * GANTRY_EXP_4_F32, -64.0f * GANTRY_EXP_3_F32);
    GANTRY_F32 twice;

    p = GANTRY_FMA_F32(p, r, 32.0f * GANTRY_EXP_2_F32);
    p = GANTRY_FMA_F32(p, r, -16.0f * GANTRY_EXP_1_F32);
    p = GANTRY_FMA_F32(p, r, 8.0f * GANTRY_EXP_0_F32);
    p = GANTRY_FMA_F32(p, r, -4.0f);
    p = GANTRY_FMA_F32(p, r, 2.0f);
    twice = GANTRY_AS_FLOAT(GANTRY_AS_UINT(p) + (GANTRY_AS_UINT(shifted) << 23));
    return 1.0f - twice / GANTRY_FMA_F32(twice, 0.5f, 1.0f);
}

GANTRY_FN GANTRY_F32 gantry__tanh_f32(GANTRY_F32 x) {
    GANTRY_U32 sign = GANTRY_AS_UINT(x) & 0x80000000u;
    GANTRY_U32 bits = GANTRY_AS_UINT(x) & 0x7fffffffu;
    /* 10; compilers take the smaller of integers in one step */
    GANTRY_F32 a = GANTRY_AS_FLOAT(bits > 0x41200000u ? 0x41200000u : bits);
    GANTRY_F32 far = gantry__tanh_far_f32(a);
    GANTRY_F32 u = a * a;
    GANTRY_F32 p = GANTRY_FMA_F32(u, GANTRY_TANH_4_F32, GANTRY_TANH_3_F32);
    GANTRY_F32 y;

    p = GANTRY_FMA_F32(p, u, GANTRY_TANH_2_F32);
    p = GANTRY_FMA_F32(p, u, GANTRY_TANH_1_F32);
    p = GANTRY_FMA_F32(p, u, GANTRY_TANH_0_F32);
    y = GANTRY_FMA_F32(a * u, p, a);
    y = a < 0.55f ? y : far;
    y = GANTRY_AS_FLOAT(GANTRY_AS_UINT(y) | sign);
    return x == x ? y : GANTRY_NAN_F32;
}

/* 1 / (1 + exp(-x)), from v = 1 / (1 + exp(|x|)) = s / (p + s) where exp(|x|) = p / s and s =
 * 2^-n. */
GANTRY_FN GANTRY_F32 gantry__sigmoid_f32(GANTRY_F32 x) {
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 bounded = a > 104.0f ? 104.0f : a;
    GANTRY_F32 shifted = gantry__exp_shifted_f32(bounded);
    GANTRY_F32 scale = gantry__exp_inverse_f32(shifted);
    GANTRY_F32 high = gantry__exp_high_f32(bounded, shifted);
    GANTRY_F32 low = gantry__exp_low_f32(high, shifted);
    GANTRY_F32 p = 1.0f + (high + low);
    GANTRY_F32 d = p + scale;
    GANTRY_F32 d_low = (scale - (d - p)) + ((high - (p - 1.0f)) + low);
    GANTRY_F32 q = 1.0f / d;
    GANTRY_F32 v = (q + gantry__reciprocal_rest_f32(d, d_low, q)) * scale;
    GANTRY_F32 above = 1.0f - v;
    GANTRY_F32 y = x < 0.0f ? v : above;

    return x == x ? y : GANTRY_NAN_F32;
}

GANTRY_FN GANTRY_F32 gantry__sqrt_f32(GANTRY_F32 x) {
    GANTRY_U32 bits = GANTRY_AS_UINT(GANTRY_SQRT_F32(x));

    /* Selected as bits, because compilers may replace one NaN by another, and then drop a select of
     * floats. */
    return GANTRY_AS_FLOAT((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : bits);
}

/* v - n pi/2 for the n of shifted = 1.5 * 2^23 + n; |n| must be at most 8. */
GANTRY_FN GANTRY_F32 gantry__quarter_high_f32(GANTRY_F32 v, GANTRY_F32 shifted) {
    GANTRY_F32 n = shifted - GANTRY_ROUNDER_F32;

    return GANTRY_FMA_F32(n, -GANTRY_PIO2_MID_F32, GANTRY_FMA_F32(n, -GANTRY_PIO2_HI_F32, v));
}

/* The rounding error of gantry__quarter_high_f32(v, shifted), which `high` must be. */
GANTRY_FN GANTRY_F32 gantry__quarter_low_f32(GANTRY_F32 v, GANTRY_F32 shifted, GANTRY_F32 high) {
    GANTRY_F32 n = shifted - GANTRY_ROUNDER_F32;
    GANTRY_F32 first = GANTRY_FMA_F32(n, -GANTRY_PIO2_HI_F32, v);
    GANTRY_F32 rest = GANTRY_FMA_F32(n, -GANTRY_PIO2_MID_F32, first - high);

    return GANTRY_FMA_F32(n, -GANTRY_PIO2_LO_F32, rest);
}

/* sin(high + low); |high| must be at most pi/4 and low far below high */
GANTRY_FN GANTRY_F32 gantry__sin_tail_f32(GANTRY_F32 high, GANTRY_F32 low) {
    GANTRY_F32 u = high * high;
    GANTRY_F32 p = GANTRY_FMA_F32(u, GANTRY_SIN_2_F32, GANTRY_SIN_1_F32);

    p = GANTRY_FMA_F32(p, u, GANTRY_SIN_0_F32);
    return high + GANTRY_FMA_F32(high * u, p, low);
}

/* cos(high + low); |high| must be at most pi/4 and low far below high */
GANTRY_FN GANTRY_F32 gantry__cos_tail_f32(GANTRY_F32 high, GANTRY_F32 low) {
    GANTRY_F32 u = high * high;
    GANTRY_F32 halved = -0.5f * high;
    GANTRY_F32 w = GANTRY_FMA_F32(halved, high, 1.0f);
    GANTRY_F32 rest = GANTRY_FMA_F32(halved, high, 1.0f - w);
    GANTRY_F32 p = GANTRY_FMA_F32(u, GANTRY_COS_2_F32, GANTRY_COS_1_F32);

    p = GANTRY_FMA_F32(p, u, GANTRY_COS_0_F32);
    return w + GANTRY_FMA_F32(u * u, p, GANTRY_FMA_F32(-high, low, rest));
}

/* sin(v) for |v| <= 4 pi; beyond, the result is unspecified (NaN for NaN and infinities). */
GANTRY_FN GANTRY_F32 gantry__sin_4pi_f32(GANTRY_F32 v) {
    GANTRY_F32 shifted = GANTRY_FMA_F32(v, GANTRY_TWO_OVER_PI_F32, GANTRY_ROUNDER_F32);
    GANTRY_U32 quarter = GANTRY_AS_UINT(shifted);
    GANTRY_F32 high = gantry__quarter_high_f32(v, shifted);
    GANTRY_F32 low = gantry__quarter_low_f32(v, shifted, high);
    GANTRY_F32 s = gantry__sin_tail_f32(high, low);
    GANTRY_F32 c = gantry__cos_tail_f32(high, low);
    GANTRY_F32 y = (quarter & 1u) != 0u ? c : s;

    y = GANTRY_AS_FLOAT(GANTRY_AS_UINT(y) ^ ((quarter & 2u) << 30));
    y = v == 0.0f ? v : y;
    return y == y ? y : GANTRY_NAN_F32;
}

/* cos(v) for |v| <= 4 pi; beyond, the result is unspecified (NaN for NaN and infinities). */
GANTRY_FN GANTRY_F32 gantry__cos_4pi_f32(GANTRY_F32 v) {
    GANTRY_F32 shifted = GANTRY_FMA_F32(v, GANTRY_TWO_OVER_PI_F32, GANTRY_ROUNDER_F32);
    GANTRY_U32 quarter = GANTRY_AS_UINT(shifted);
    GANTRY_F32 high = gantry__quarter_high_f32(v, shifted);
    GANTRY_F32 low = gantry__quarter_low_f32(v, shifted, high);
    GANTRY_F32 s = gantry__sin_tail_f32(high, low);
    GANTRY_F32 c = gantry__cos_tail_f32(high, low);
    GANTRY_F32 y = (quarter & 1u) != 0u ? s : c;

    y = GANTRY_AS_FLOAT(GANTRY_AS_UINT(y) ^ (((quarter + 1u) & 2u) << 30));
    return y == y ? y : GANTRY_NAN_F32;
}
