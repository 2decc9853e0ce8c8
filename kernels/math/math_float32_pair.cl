/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers kept as the unevaluated sum of two floats, and the exponential and the logarithm of them.
 * It must come after math_float32.cl, whose rules hold here: only IEEE operations, no branch,
 * lanes. The functions of math_float32_special.cl, _gamma.cl, _activation.cl and _pow.cl compute in
 * these between a rounded argument and a rounded result.
 *
 *     high   1.xxxxxxxxxxxxxxxxxxxxxxx
 *     low                             x.xxxxxxxxxxxxxxxxxxxxxxx   at most half of high's last place
 *
 * A pair has some 48 bits. Sums follow Knuth and Dekker: what rounding took from an addition is
 * itself a float, which a few more additions find. So is what it took from a product, which a fused
 * multiply-add finds. None of this holds where a low part falls below the denormals: there, and for
 * denormal arguments, the low part is kept out.
 *
 * Logarithm: log(x) = k ln 2 + log(m) as in math_float32.cl, and log(m) = 2 s (1 + z/3 + z^2/5 +
 * z^3 P(z)) with s = f / (2 + f) and z = s^2, where everything but P is a pair; some 42 bits are
 * right. Where 33 are enough what follows z/3 is a float, and so is the product of all that follows
 * the 1 with s. Exponential: as in math_float32.cl, with the low part added to the reduced
 * argument; some 26 bits are right.
 */

/* constants: made by scripts/make_math_coefficients_special.py */
#define GANTRY_PAIR_LN2_HIGH_F32 6.93145752e-1f
#define GANTRY_PAIR_LN2_MIDDLE_F32 1.42861973e-6f
#define GANTRY_PAIR_LN2_LOW_F32 -1.29053200e-11f
#define GANTRY_THIRD_HIGH_F32 3.33333343e-1f
#define GANTRY_THIRD_LOW_F32 -9.93410776e-9f
#define GANTRY_FIFTH_HIGH_F32 2.00000003e-1f
#define GANTRY_FIFTH_LOW_F32 -2.98023228e-9f
#define GANTRY_PAIR_LOG_0_F32 1.42857984e-1f
#define GANTRY_PAIR_LOG_1_F32 1.10991344e-1f
#define GANTRY_PAIR_LOG_2_F32 9.63259935e-2f
/* constants end */

typedef struct {
    GANTRY_F32 high;
    GANTRY_F32 low;
} gantry__pair_f32_t;

GANTRY_FN gantry__pair_f32_t gantry__pair_of_f32(GANTRY_F32 high) {
    gantry__pair_f32_t y;

    y.high = high;
    y.low = 0.0f;
    return y;
}

/* high + low as a normal pair; |high| must be at least |low|, or high 0. */
GANTRY_FN gantry__pair_f32_t gantry__pair_f32(GANTRY_F32 high, GANTRY_F32 low) {
    gantry__pair_f32_t y;

    y.high = high + low;
    y.low = low - (y.high - high);
    return y;
}

/* a + b exactly. */
GANTRY_FN gantry__pair_f32_t gantry__two_sum_f32(GANTRY_F32 a, GANTRY_F32 b) {
    gantry__pair_f32_t y;
    GANTRY_F32 share;

    y.high = a + b;
    share = y.high - a;
    y.low = (a - (y.high - share)) + (b - share);
    return y;
}

/* a b exactly, unless the low part is denormal. */
GANTRY_FN gantry__pair_f32_t gantry__two_product_f32(GANTRY_F32 a, GANTRY_F32 b) {
    gantry__pair_f32_t y;

    y.high = a * b;
    y.low = GANTRY_FMA_F32(a, b, -y.high);
    return y;
}

/* x + y within 2^-46 of the larger of the two. */
GANTRY_FN gantry__pair_f32_t gantry__pair_add_f32(gantry__pair_f32_t x, gantry__pair_f32_t y) {
    gantry__pair_f32_t sum = gantry__two_sum_f32(x.high, y.high);

    return gantry__pair_f32(sum.high, sum.low + (x.low + y.low));
}

GANTRY_FN gantry__pair_f32_t gantry__pair_multiply_f32(gantry__pair_f32_t x, gantry__pair_f32_t y) {
    gantry__pair_f32_t product = gantry__two_product_f32(x.high, y.high);

    return gantry__pair_f32(
        product.high, GANTRY_FMA_F32(x.high, y.low, GANTRY_FMA_F32(x.low, y.high, product.low)));
}

GANTRY_FN gantry__pair_f32_t gantry__pair_times_f32(gantry__pair_f32_t x, GANTRY_F32 y) {
    gantry__pair_f32_t product = gantry__two_product_f32(x.high, y);

    return gantry__pair_f32(product.high, GANTRY_FMA_F32(x.low, y, product.low));
}

/* 1 / x; |x| must be between 2^-60 and 2^60. */
GANTRY_FN gantry__pair_f32_t gantry__pair_inverse_f32(gantry__pair_f32_t x) {
    GANTRY_F32 high = 1.0f / x.high;

    return gantry__pair_f32(high, gantry__reciprocal_rest_f32(x.high, x.low, high));
}

/* y with one NaN for all, 0x7fc00000. It is selected as bits, because compilers may replace one NaN
 * by another. */
GANTRY_FN GANTRY_F32 gantry__one_nan_f32(GANTRY_F32 y) {
    GANTRY_U32 bits = GANTRY_AS_UINT(y);

    return GANTRY_AS_FLOAT((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : bits);
}

/* The constant high + low, as lanes where there are lanes. */
GANTRY_FN gantry__pair_f32_t gantry__pair_constant_f32(float high, float low) {
    gantry__pair_f32_t y;

    y.high = high;
    y.low = low;
    return y;
}

/* The constant high + low plus x; |x| must be below |high|. */
GANTRY_FN gantry__pair_f32_t gantry__pair_plus_f32(float high, float low, gantry__pair_f32_t x) {
    gantry__pair_f32_t y;
    GANTRY_F32 sum = high + x.high;

    y = gantry__pair_f32(sum, (x.high - (sum - high)) + (x.low + low));
    return y;
}

#define GANTRY_PAIR(NAME) \
    gantry__pair_constant_f32(GANTRY_##NAME##_HIGH_F32, GANTRY_##NAME##_LOW_F32)
#define GANTRY_PAIR_PLUS(NAME, x) \
    gantry__pair_plus_f32(GANTRY_##NAME##_HIGH_F32, GANTRY_##NAME##_LOW_F32, x)

/* a < limit ? x : y */
GANTRY_FN gantry__pair_f32_t gantry__pair_below_f32(GANTRY_F32 a, float limit, gantry__pair_f32_t x,
                                                    gantry__pair_f32_t y) {
    gantry__pair_f32_t chosen;

    chosen.high = a < limit ? x.high : y.high;
    chosen.low = a < limit ? x.low : y.low;
    return chosen;
}

/* exp(x) / 2^n for the n of shifted = gantry__exp_shifted_f32(x.high); |n| must be at most 255. */
GANTRY_FN gantry__pair_f32_t gantry__pair_exp_f32(gantry__pair_f32_t x, GANTRY_F32 shifted) {
    GANTRY_F32 high = gantry__exp_high_f32(x.high, shifted);
    GANTRY_F32 low = GANTRY_FMA_F32(shifted - GANTRY_ROUNDER_F32, -GANTRY_LN2_LO_F32, x.low);
    GANTRY_F32 r = high + low;
    GANTRY_F32 one = 1.0f + high;
    GANTRY_F32 rest = GANTRY_FMA_F32(gantry__exp_terms_f32(r), r * r, low);

    return gantry__pair_f32(one, (high - (one - 1.0f)) + rest);
}

/* f / (2 + f) for f = high + low; |f| must be at most 1/2. */
GANTRY_FN gantry__pair_f32_t gantry__atanh_argument_f32(GANTRY_F32 high, GANTRY_F32 low) {
    GANTRY_F32 d = 2.0f + high;
    GANTRY_F32 d_low = (high - (d - 2.0f)) + low;
    GANTRY_F32 inverse = 1.0f / d;
    GANTRY_F32 q = high * inverse;
    GANTRY_F32 rest = GANTRY_FMA_F32(-q, d_low, GANTRY_FMA_F32(-q, d, high)) + low;

    return gantry__pair_f32(q, rest * inverse);
}

/* x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2): k and s = f / (2 + f). x must be finite and above
 * 0; x.high may be denormal, x.low must then be 0. */
typedef struct gantry__pair_log_argument_f32 {
    GANTRY_F32 k;
    gantry__pair_f32_t s;
} gantry__pair_log_argument_f32_t;

GANTRY_FN gantry__pair_log_argument_f32_t gantry__pair_log_argument_f32(gantry__pair_f32_t x) {
    GANTRY_F32 grown = x.high * 8388608.0f;
    GANTRY_F32 scaled = x.high < 1.17549435e-38f ? grown : x.high;
    GANTRY_F32 bias = x.high < 1.17549435e-38f ? 8388608.0f + 150.0f : 8388608.0f + 127.0f;
    GANTRY_U32 bits = GANTRY_AS_UINT(scaled) + (0x3f800000u - GANTRY_SQRT_HALF_BITS_F32);
    GANTRY_U32 biased = bits >> 23;
    GANTRY_F32 f = GANTRY_AS_FLOAT((bits & 0x007fffffu) + GANTRY_SQRT_HALF_BITS_F32) - 1.0f;
    GANTRY_F32 low = x.low * GANTRY_AS_FLOAT((254u - (biased > 254u ? 254u : biased)) << 23);
    gantry__pair_log_argument_f32_t y;

    y.k = GANTRY_AS_FLOAT(biased | 0x4b000000u) - bias;
    y.s = gantry__atanh_argument_f32(f, low);
    return y;
}

/* z (1/7 + z P(z)), what follows 1/5 */
GANTRY_FN GANTRY_F32 gantry__pair_log_rest_f32(GANTRY_F32 z) {
    GANTRY_F32 p = GANTRY_FMA_F32(z, GANTRY_PAIR_LOG_2_F32, GANTRY_PAIR_LOG_1_F32);

    return z * GANTRY_FMA_F32(p, z, GANTRY_PAIR_LOG_0_F32);
}

/* k ln 2 + 2 (s + y) */
GANTRY_FN gantry__pair_f32_t gantry__pair_log_sum_f32(GANTRY_F32 k, gantry__pair_f32_t s,
                                                      gantry__pair_f32_t y) {
    gantry__pair_f32_t sum;

    sum.high = s.high + s.high;
    sum.low = s.low + s.low;
    y.high = y.high + y.high;
    y.low = y.low + y.low;
    y = gantry__pair_add_f32(sum, y);
    /* The first two products are exact. */
    sum = gantry__pair_f32(k * GANTRY_PAIR_LN2_HIGH_F32, k * GANTRY_PAIR_LN2_MIDDLE_F32);
    sum.low = GANTRY_FMA_F32(k, GANTRY_PAIR_LN2_LOW_F32, sum.low);
    return gantry__pair_add_f32(sum, y);
}

/* log(x); x must be finite and above 0. x.high may be denormal, x.low must then be 0. */
GANTRY_LONG_FN gantry__pair_f32_t gantry__pair_log_f32(gantry__pair_f32_t x) {
    gantry__pair_log_argument_f32_t a = gantry__pair_log_argument_f32(x);
    gantry__pair_f32_t z = gantry__pair_multiply_f32(a.s, a.s);
    gantry__pair_f32_t y =
        GANTRY_PAIR_PLUS(FIFTH, gantry__pair_of_f32(gantry__pair_log_rest_f32(z.high)));

    y = GANTRY_PAIR_PLUS(THIRD, gantry__pair_multiply_f32(z, y));
    y = gantry__pair_multiply_f32(a.s, gantry__pair_multiply_f32(z, y));
    return gantry__pair_log_sum_f32(a.k, a.s, y);
}

/* log(x), some 33 bits of it; x must be finite and above 0. */
GANTRY_LONG_FN gantry__pair_f32_t gantry__log_to_pair_f32(GANTRY_F32 x) {
    gantry__pair_log_argument_f32_t a = gantry__pair_log_argument_f32(gantry__pair_of_f32(x));
    gantry__pair_f32_t z = gantry__pair_multiply_f32(a.s, a.s);
    GANTRY_F32 p = z.high * (GANTRY_FIFTH_HIGH_F32 + gantry__pair_log_rest_f32(z.high));
    gantry__pair_f32_t y =
        gantry__pair_multiply_f32(z, GANTRY_PAIR_PLUS(THIRD, gantry__pair_of_f32(p)));

    y.low = GANTRY_FMA_F32(a.s.high, y.low, a.s.low * y.high);
    y.high = a.s.high * y.high;
    return gantry__pair_log_sum_f32(a.k, a.s, y);
}
