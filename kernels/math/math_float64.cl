/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementary functions of float64, with the same bits on every device that has float64. Comes after
 * dialect.cl and is empty if GANTRY_HAS_FLOAT64 is 0.
 *
 * The methods are those of math_float32.cl, which explains them, and so are the promises: only IEEE
 * operations, fused where GANTRY_FMA_F64 says so, no table, no branch, a NaN result is always
 * 0x7ff8000000000000.
 *
 * Largest error seen over 80 million random inputs a function (for the last two: |v| <= 4 pi), in
 * units of the exact result's last place (tests/unit/math/test_math_float64.c 20000000; its bound
 * is 1 ulp, 0.5 for sqrt):
 *
 *     function   largest error   at
 *     exp        0.7671 ulp      -708.78065780265911    (a denormal result; normal results: 0.64)
 *     log        0.7441 ulp      0.69877892445888012
 *     tanh       0.8701 ulp      -0.17596771821865947   (another seed)
 *     sigmoid    0.8027 ulp      -708.75184495567021    (a denormal result; normal results: 0.80)
 *     sqrt       0.5 ulp         (correctly rounded)
 *     sin_4pi    0.7148 ulp      0.76755191035495041
 *     cos_4pi    0.7251 ulp      -0.7896241576688896
 *
 * Three differences: log takes s = f / (2 + f) and log(1 + f) = f - f^2/2 + s (f^2/2 + s^2 P(s^2)),
 * since a polynomial in f would need some twenty terms; tanh, for the same reason, is a careful
 * quotient everywhere; exp's and log's polynomials are two, of even and of odd powers: a shorter
 * chain of as many steps. pi/2 has parts of 53, 33 and 53 bits, and so serves up to 2^20 quarters.
 */
#if GANTRY_HAS_FLOAT64

/* constants: made by scripts/make_math_coefficients.py */
#define GANTRY_LOG2E_F64 1.4426950408889634e0
#define GANTRY_LN2_HI_F64 6.9314718055994529e-1
#define GANTRY_LN2_LO_F64 2.3190468138462996e-17
#define GANTRY_TWO_OVER_PI_F64 6.3661977236758138e-1
#define GANTRY_PIO2_HI_F64 1.5707963267948966e0
#define GANTRY_PIO2_MID_F64 6.1232339953846099e-17
#define GANTRY_PIO2_LO_F64 3.5215598651832002e-27
#define GANTRY_EXP_0_F64 5.0000000000000000e-1
#define GANTRY_EXP_1_F64 1.6666666666666674e-1
#define GANTRY_EXP_2_F64 4.1666666666666373e-2
#define GANTRY_EXP_3_F64 8.3333333333239987e-3
#define GANTRY_EXP_4_F64 1.3888888888996210e-3
#define GANTRY_EXP_5_F64 1.9841269878716054e-4
#define GANTRY_EXP_6_F64 2.4801587098553958e-5
#define GANTRY_EXP_7_F64 2.7557252948811965e-6
#define GANTRY_EXP_8_F64 2.7557476441025712e-7
#define GANTRY_EXP_9_F64 2.5105622431601779e-8
#define GANTRY_EXP_10_F64 2.0848719658319766e-9
#define GANTRY_LOG_0_F64 6.6666666666667340e-1
#define GANTRY_LOG_1_F64 3.9999999999416658e-1
#define GANTRY_LOG_2_F64 2.8571428742023308e-1
#define GANTRY_LOG_3_F64 2.2222198605466167e-1
#define GANTRY_LOG_4_F64 1.8183562838634598e-1
#define GANTRY_LOG_5_F64 1.5314084921026960e-1
#define GANTRY_LOG_6_F64 1.4795634846536226e-1
#define GANTRY_SIN_0_F64 -1.6666666666666630e-1
#define GANTRY_SIN_1_F64 8.3333333333218407e-3
#define GANTRY_SIN_2_F64 -1.9841269829358333e-4
#define GANTRY_SIN_3_F64 2.7557313538373732e-6
#define GANTRY_SIN_4_F64 -2.5050734438099653e-8
#define GANTRY_SIN_5_F64 1.5895447076665923e-10
#define GANTRY_COS_0_F64 4.1666666666666595e-2
#define GANTRY_COS_1_F64 -1.3888888888873342e-3
#define GANTRY_COS_2_F64 2.4801587289002005e-5
#define GANTRY_COS_3_F64 -2.7557314216985746e-7
#define GANTRY_COS_4_F64 2.0875705384032109e-9
#define GANTRY_COS_5_F64 -1.1358748370806699e-11
/* constants end */

/* 1.5 * 2^52: adding it rounds to an integer, kept in the low bits */
#define GANTRY_ROUNDER_F64 6755399441055744.0
#define GANTRY_ROUNDER_BITS_F64 ((ulong)0x4338000000000000)
#define GANTRY_ONE_BITS_F64 ((ulong)0x3ff0000000000000)
#define GANTRY_SQRT_HALF_BITS_F64 ((ulong)0x3fe6a09e667f3bcd) /* sqrt(1/2), the least m */
#define GANTRY_NAN_F64 GANTRY_AS_DOUBLE((ulong)0x7ff8000000000000)
#define GANTRY_INFINITY_F64 GANTRY_AS_DOUBLE((ulong)0x7ff0000000000000)

/* x / ln 2 rounded to an integer n, as the double 1.5 * 2^52 + n. */
GANTRY_FN GANTRY_F64 gantry__exp_shifted_f64(GANTRY_F64 x) {
    return GANTRY_FMA_F64(x, GANTRY_LOG2E_F64, GANTRY_ROUNDER_F64);
}

/* x minus n times the high part of ln 2, which is exact; |n| of shifted must be at most 2047. */
GANTRY_FN GANTRY_F64 gantry__exp_high_f64(GANTRY_F64 x, GANTRY_F64 shifted) {
    return GANTRY_FMA_F64(shifted - GANTRY_ROUNDER_F64, -GANTRY_LN2_HI_F64, x);
}

/* (exp(r) - 1 - r - r^2 / 2) / r^3, square = r^2: the even and the odd terms, which do not wait for
 * each other */
GANTRY_FN GANTRY_F64 gantry__exp_terms_f64(GANTRY_F64 r, GANTRY_F64 square) {
    GANTRY_F64 even = GANTRY_FMA_F64(square, GANTRY_EXP_9_F64, GANTRY_EXP_7_F64);
    GANTRY_F64 odd = GANTRY_FMA_F64(square, GANTRY_EXP_10_F64, GANTRY_EXP_8_F64);

    even = GANTRY_FMA_F64(even, square, GANTRY_EXP_5_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_EXP_6_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_EXP_3_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_EXP_4_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_EXP_1_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_EXP_2_F64);
    return GANTRY_FMA_F64(odd, r, even);
}

/* exp(x - n ln 2) - 1 - high, where high is gantry__exp_high_f64(x, shifted). */
GANTRY_FN GANTRY_F64 gantry__exp_low_f64(GANTRY_F64 high, GANTRY_F64 shifted) {
    GANTRY_F64 rest = (shifted - GANTRY_ROUNDER_F64) * GANTRY_LN2_LO_F64;
    GANTRY_F64 r = high - rest;
    GANTRY_F64 square = r * r;
    GANTRY_F64 p = GANTRY_FMA_F64(r * square, gantry__exp_terms_f64(r, square), -rest);

    return GANTRY_FMA_F64(square, GANTRY_EXP_0_F64, p);
}

/* n + 2046, from which 2^n is made as two factors: the double whose exponent is half of n, and
 * the other half. */
GANTRY_FN GANTRY_U64 gantry__exp_biased_f64(GANTRY_F64 shifted) {
    return GANTRY_AS_ULONG(shifted) - (GANTRY_ROUNDER_BITS_F64 - 2046u);
}

GANTRY_FN GANTRY_F64 gantry__exp_first_f64(GANTRY_U64 biased) {
    return GANTRY_AS_DOUBLE((biased >> 1) << 52);
}

GANTRY_FN GANTRY_F64 gantry__exp_second_f64(GANTRY_U64 biased) {
    return GANTRY_AS_DOUBLE((biased - (biased >> 1)) << 52);
}

/* 2^-n for the n of shifted, which must be in [0, 2046]; denormal beyond 1022, which is why it is
 * made of two factors. */
GANTRY_FN GANTRY_F64 gantry__exp_inverse_f64(GANTRY_F64 shifted) {
    GANTRY_U64 biased = (GANTRY_ROUNDER_BITS_F64 + 2046u) - GANTRY_AS_ULONG(shifted);

    return gantry__exp_first_f64(biased) * gantry__exp_second_f64(biased);
}

/* Beyond both ends the computed value has no meaning, so the end's result replaces it. With bounds
 * for x, gcc takes five more steps. */
GANTRY_FN GANTRY_F64 gantry__exp_f64(GANTRY_F64 x) {
    GANTRY_F64 shifted = gantry__exp_shifted_f64(x);
    GANTRY_U64 biased = gantry__exp_biased_f64(shifted);
    GANTRY_F64 high = gantry__exp_high_f64(x, shifted);
    GANTRY_F64 p = 1.0 + high;
    GANTRY_F64 p_low = (high - (p - 1.0)) + gantry__exp_low_f64(high, shifted);
    GANTRY_F64 y = ((p + p_low) * gantry__exp_first_f64(biased)) * gantry__exp_second_f64(biased);

    y = x < 710.0 ? y : GANTRY_INFINITY_F64;
    y = x > -746.0 ? y : 0.0;
    return x == x ? y : GANTRY_NAN_F64;
}

/* k ln 2 + log(1 + f) + correction; 1 + f must be in [sqrt(1/2), sqrt(2)). */
GANTRY_FN GANTRY_F64 gantry__log_parts_f64(GANTRY_F64 k, GANTRY_F64 f, GANTRY_F64 correction) {
    GANTRY_F64 halved = -0.5 * f;
    GANTRY_F64 sum = GANTRY_FMA_F64(k, GANTRY_LN2_HI_F64, f);
    GANTRY_F64 lost = f - GANTRY_FMA_F64(k, -GANTRY_LN2_HI_F64, sum);
    GANTRY_F64 rest = GANTRY_FMA_F64(k, GANTRY_LN2_LO_F64, correction) + lost;
    GANTRY_F64 s = f / (2.0 + f);
    GANTRY_F64 z = s * s;
    GANTRY_F64 square = z * z;
    GANTRY_F64 even = GANTRY_FMA_F64(square, GANTRY_LOG_6_F64, GANTRY_LOG_4_F64);
    GANTRY_F64 odd = GANTRY_FMA_F64(square, GANTRY_LOG_5_F64, GANTRY_LOG_3_F64);

    even = GANTRY_FMA_F64(even, square, GANTRY_LOG_2_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_LOG_1_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_LOG_0_F64);
    even = GANTRY_FMA_F64(odd, z, even);
    even = GANTRY_FMA_F64(even, z, -halved * f);
    return sum + GANTRY_FMA_F64(halved, f, GANTRY_FMA_F64(s, even, rest));
}

GANTRY_FN GANTRY_F64 gantry__log_f64(GANTRY_F64 x) {
    GANTRY_F64 grown = x * 18014398509481984.0;
    GANTRY_F64 scaled = x < 2.2250738585072014e-308 ? grown : x;
    GANTRY_F64 bias =
        x < 2.2250738585072014e-308 ? 4503599627370496.0 + 1077.0 : 4503599627370496.0 + 1023.0;
    GANTRY_U64 bits = GANTRY_AS_ULONG(scaled) + (GANTRY_ONE_BITS_F64 - GANTRY_SQRT_HALF_BITS_F64);
    GANTRY_F64 k = GANTRY_AS_DOUBLE((bits >> 52) | (ulong)0x4330000000000000) - bias;
    GANTRY_F64 f =
        GANTRY_AS_DOUBLE((bits & (ulong)0x000fffffffffffff) + GANTRY_SQRT_HALF_BITS_F64) - 1.0;
    GANTRY_F64 y = gantry__log_parts_f64(k, f, 0.0);

    y = x < GANTRY_INFINITY_F64 ? y : GANTRY_INFINITY_F64;
    y = x >= 0.0 ? y : GANTRY_NAN_F64;
    return x == 0.0 ? -GANTRY_INFINITY_F64 : y;
}

/* N / D for N = p - s and D = p + s, where exp(2 |x|) = p / s and s = 2^-n, both with what rounding
 * took from them. */
GANTRY_FN GANTRY_F64 gantry__tanh_f64(GANTRY_F64 x) {
    GANTRY_U64 sign = GANTRY_AS_ULONG(x) & (ulong)0x8000000000000000;
    GANTRY_F64 a = GANTRY_AS_DOUBLE(GANTRY_AS_ULONG(x) & (ulong)0x7fffffffffffffff);
    GANTRY_F64 bounded = a > 20.0 ? 20.0 : a;
    GANTRY_F64 twice = bounded + bounded;
    GANTRY_F64 shifted = gantry__exp_shifted_f64(twice);
    GANTRY_F64 scale = GANTRY_AS_DOUBLE(((ulong)1023 - GANTRY_AS_ULONG(shifted)) << 52);
    GANTRY_F64 high = gantry__exp_high_f64(twice, shifted);
    GANTRY_F64 low = gantry__exp_low_f64(high, shifted);
    GANTRY_F64 p = 1.0 + (high + low);
    GANTRY_F64 p_low = (high - (p - 1.0)) + low;
    GANTRY_F64 n = p - scale;
    GANTRY_F64 n_low = ((p - n) - scale) + p_low;
    GANTRY_F64 d = p + scale;
    GANTRY_F64 d_low = (scale - (d - p)) + p_low;
    GANTRY_F64 inverse = 1.0 / d;
    GANTRY_F64 q = n * inverse;
    GANTRY_F64 rest = GANTRY_FMA_F64(-q, d, n) + GANTRY_FMA_F64(-q, d_low, n_low);
    GANTRY_F64 y = GANTRY_FMA_F64(rest, inverse, q);

    y = GANTRY_AS_DOUBLE(GANTRY_AS_ULONG(y) | sign);
    return x == x ? y : GANTRY_NAN_F64;
}

/* 1 / (1 + exp(-x)), from v = 1 / (1 + exp(|x|)) = s / (p + s) where exp(|x|) = p / s and s =
 * 2^-n. */
GANTRY_FN GANTRY_F64 gantry__sigmoid_f64(GANTRY_F64 x) {
    GANTRY_F64 a = GANTRY_AS_DOUBLE(GANTRY_AS_ULONG(x) & (ulong)0x7fffffffffffffff);
    GANTRY_F64 bounded = a > 746.0 ? 746.0 : a;
    GANTRY_F64 shifted = gantry__exp_shifted_f64(bounded);
    GANTRY_F64 scale = gantry__exp_inverse_f64(shifted);
    GANTRY_F64 high = gantry__exp_high_f64(bounded, shifted);
    GANTRY_F64 low = gantry__exp_low_f64(high, shifted);
    GANTRY_F64 p = 1.0 + (high + low);
    GANTRY_F64 d = p + scale;
    GANTRY_F64 d_low = (scale - (d - p)) + ((high - (p - 1.0)) + low);
    GANTRY_F64 q = 1.0 / d;
    GANTRY_F64 rest = GANTRY_FMA_F64(-q, d_low, GANTRY_FMA_F64(-q, d, 1.0));
    GANTRY_F64 v = GANTRY_FMA_F64(q, rest, q) * scale;
    GANTRY_F64 above = 1.0 - v;
    GANTRY_F64 y = x < 0.0 ? v : above;

    return x == x ? y : GANTRY_NAN_F64;
}

GANTRY_FN GANTRY_F64 gantry__sqrt_f64(GANTRY_F64 x) {
    GANTRY_U64 bits = GANTRY_AS_ULONG(GANTRY_SQRT_F64(x));
    GANTRY_U64 size = bits & (ulong)0x7fffffffffffffff;

    /* Selected as bits, because compilers may replace one NaN by another, and then drop a select of
     * doubles. */
    return GANTRY_AS_DOUBLE(size > (ulong)0x7ff0000000000000 ? (ulong)0x7ff8000000000000 : bits);
}

/* v - n pi/2 for the n of shifted = 1.5 * 2^52 + n; |n| must be at most 2^20. The difference from n
 * times the first part is exact, as is n times the second, which has 33 bits. */
GANTRY_FN GANTRY_F64 gantry__quarter_high_f64(GANTRY_F64 v, GANTRY_F64 shifted) {
    GANTRY_F64 n = shifted - GANTRY_ROUNDER_F64;

    return GANTRY_FMA_F64(n, -GANTRY_PIO2_MID_F64, GANTRY_FMA_F64(n, -GANTRY_PIO2_HI_F64, v));
}

/* The rounding error of gantry__quarter_high_f64(v, shifted) = high. */
GANTRY_FN GANTRY_F64 gantry__quarter_low_f64(GANTRY_F64 v, GANTRY_F64 shifted, GANTRY_F64 high) {
    GANTRY_F64 n = shifted - GANTRY_ROUNDER_F64;
    GANTRY_F64 first = GANTRY_FMA_F64(n, -GANTRY_PIO2_HI_F64, v);
    GANTRY_F64 rest = GANTRY_FMA_F64(n, -GANTRY_PIO2_MID_F64, first - high);

    return GANTRY_FMA_F64(n, -GANTRY_PIO2_LO_F64, rest);
}

/* sin(high + low); |high| must be at most pi/4 and low far below high */
GANTRY_FN GANTRY_F64 gantry__sin_tail_f64(GANTRY_F64 high, GANTRY_F64 low) {
    GANTRY_F64 u = high * high;
    GANTRY_F64 p = GANTRY_FMA_F64(u, GANTRY_SIN_5_F64, GANTRY_SIN_4_F64);
    GANTRY_F64 rest = GANTRY_FMA_F64(-0.5 * low, u, low);

    p = GANTRY_FMA_F64(p, u, GANTRY_SIN_3_F64);
    p = GANTRY_FMA_F64(p, u, GANTRY_SIN_2_F64);
    p = GANTRY_FMA_F64(p, u, GANTRY_SIN_1_F64);
    p = GANTRY_FMA_F64(p, u, GANTRY_SIN_0_F64);
    return high + GANTRY_FMA_F64(high * u, p, rest);
}

/* cos(high + low); |high| must be at most pi/4 and low far below high */
GANTRY_FN GANTRY_F64 gantry__cos_tail_f64(GANTRY_F64 high, GANTRY_F64 low) {
    GANTRY_F64 u = high * high;
    GANTRY_F64 halved = -0.5 * high;
    GANTRY_F64 w = GANTRY_FMA_F64(halved, high, 1.0);
    GANTRY_F64 rest = GANTRY_FMA_F64(-high, low, GANTRY_FMA_F64(halved, high, 1.0 - w));
    GANTRY_F64 p = GANTRY_FMA_F64(u, GANTRY_COS_5_F64, GANTRY_COS_4_F64);

    p = GANTRY_FMA_F64(p, u, GANTRY_COS_3_F64);
    p = GANTRY_FMA_F64(p, u, GANTRY_COS_2_F64);
    p = GANTRY_FMA_F64(p, u, GANTRY_COS_1_F64);
    p = GANTRY_FMA_F64(p, u, GANTRY_COS_0_F64);
    return w + GANTRY_FMA_F64(u * u, p, rest);
}

/* odd for odd quarters, else even. A mask chooses, because SSE2 cannot compare 64-bit integers. */
GANTRY_FN GANTRY_F64 gantry__of_quarter_f64(GANTRY_U64 quarter, GANTRY_F64 even, GANTRY_F64 odd) {
    GANTRY_U64 bits = GANTRY_AS_ULONG(even);
    GANTRY_U64 mask = (ulong)0 - (quarter & (ulong)1);

    return GANTRY_AS_DOUBLE(bits ^ ((bits ^ GANTRY_AS_ULONG(odd)) & mask));
}

/* sin(v) for |v| <= 4 pi; beyond, the result is unspecified (NaN for NaN and infinities). */
GANTRY_FN GANTRY_F64 gantry__sin_4pi_f64(GANTRY_F64 v) {
    GANTRY_F64 shifted = GANTRY_FMA_F64(v, GANTRY_TWO_OVER_PI_F64, GANTRY_ROUNDER_F64);
    GANTRY_U64 quarter = GANTRY_AS_ULONG(shifted);
    GANTRY_F64 high = gantry__quarter_high_f64(v, shifted);
    GANTRY_F64 low = gantry__quarter_low_f64(v, shifted, high);
    GANTRY_F64 s = gantry__sin_tail_f64(high, low);
    GANTRY_F64 c = gantry__cos_tail_f64(high, low);
    GANTRY_F64 y = gantry__of_quarter_f64(quarter, s, c);

    y = GANTRY_AS_DOUBLE(GANTRY_AS_ULONG(y) ^ ((quarter & (ulong)2) << 62));
    y = v == 0.0 ? v : y;
    return y == y ? y : GANTRY_NAN_F64;
}

/* cos(v) for |v| <= 4 pi; beyond, the result is unspecified (NaN for NaN and infinities). */
GANTRY_FN GANTRY_F64 gantry__cos_4pi_f64(GANTRY_F64 v) {
    GANTRY_F64 shifted = GANTRY_FMA_F64(v, GANTRY_TWO_OVER_PI_F64, GANTRY_ROUNDER_F64);
    GANTRY_U64 quarter = GANTRY_AS_ULONG(shifted);
    GANTRY_F64 high = gantry__quarter_high_f64(v, shifted);
    GANTRY_F64 low = gantry__quarter_low_f64(v, shifted, high);
    GANTRY_F64 s = gantry__sin_tail_f64(high, low);
    GANTRY_F64 c = gantry__cos_tail_f64(high, low);
    GANTRY_F64 y = gantry__of_quarter_f64(quarter, c, s);

    y = GANTRY_AS_DOUBLE(GANTRY_AS_ULONG(y) ^ (((quarter + (ulong)1) & (ulong)2) << 62));
    return y == y ? y : GANTRY_NAN_F64;
}

#endif
