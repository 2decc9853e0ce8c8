/*
 * expm1, log1p, erf and erfc of float32, with the same bits on every device. Comes after math_float32_pair.cl; the
 * rules are those of math_float32.cl.
 *
 * Largest error over all 2^32 inputs, as tests/unit/exhaustive_math_float32.c --full finds it (see math_float32.cl):
 *
 *     function   largest error   at
 *     expm1      1.2589 ulp      0.348901093
 *     log1p      0.8830 ulp      0.417241126
 *     erf        1.4638 ulp      1.04607666
 *     erfc       1.1579 ulp      7.36635542
 *
 * expm1: with exp(x) = 2^n (1 + h + l) as there, the result is 2^n ((1 - 2^-n) + h + l), whose first term is exact as
 * far as it matters. log1p: 1 + x is a sum of two floats, the second of which joins f before the polynomial.
 *   erfc: exp(-z^2) v P(v - v0) with v = 1 / (z + 2), which maps [0, infinity) to an interval on which P needs 12
 * terms. z^2 is exact as a pair; v, the last two steps of P and the products are pairs too, so that little is lost
 * before the result is rounded. 2^n comes last, in two halves, as in exp. erfc of a negative z is 2 minus that.
 *   erf: x + x P(x^2) below 1.0625. Beyond, 1 - Q(x - 1)^4: the fourth root of erfc needs 8 terms up to 4, where erf is 1,
 * and what Q loses counts little, as erfc is below 1/7 there. An exponential in its place halves the error and takes twice
 * the time: its steps wait for one another.
 */

/* constants: made by scripts/make_math_coefficients_special.py */
#define GANTRY_ERF_0_F32 1.28379166e-1f
#define GANTRY_ERF_1_F32 -3.76126200e-1f
#define GANTRY_ERF_2_F32 1.12834878e-1f
#define GANTRY_ERF_3_F32 -2.68489234e-2f
#define GANTRY_ERF_4_F32 5.17789694e-3f
#define GANTRY_ERF_5_F32 -7.91073719e-4f
#define GANTRY_ERF_6_F32 7.50489053e-5f
#define GANTRY_ERF_FAR_0_F32 6.29769862e-1f
#define GANTRY_ERF_FAR_1_F32 -4.15495157e-1f
#define GANTRY_ERF_FAR_2_F32 4.41239448e-3f
#define GANTRY_ERF_FAR_3_F32 5.04468903e-2f
#define GANTRY_ERF_FAR_4_F32 -2.95288651e-3f
#define GANTRY_ERF_FAR_5_F32 -6.40161149e-3f
#define GANTRY_ERF_FAR_6_F32 1.91294111e-3f
#define GANTRY_ERF_FAR_7_F32 -1.70228930e-4f
#define GANTRY_ERFC_MIDDLE_F32 2.91015625e-1f
#define GANTRY_ERFC_0_HIGH_F32 1.14198709e0f
#define GANTRY_ERFC_0_LOW_F32 -2.96679659e-8f
#define GANTRY_ERFC_1_HIGH_F32 3.12561607e0f
#define GANTRY_ERFC_1_LOW_F32 -6.19079055e-9f
#define GANTRY_ERFC_2_F32 4.69893980e0f
#define GANTRY_ERFC_3_F32 1.33579874e0f
#define GANTRY_ERFC_4_F32 -6.52337122e0f
#define GANTRY_ERFC_5_F32 -3.20375276e0f
#define GANTRY_ERFC_6_F32 1.45781670e1f
#define GANTRY_ERFC_7_F32 1.49654791e-1f
#define GANTRY_ERFC_8_F32 -3.72568474e1f
#define GANTRY_ERFC_9_F32 3.15563297e1f
#define GANTRY_ERFC_10_F32 6.73176575e1f
#define GANTRY_ERFC_11_F32 -1.18275253e2f
/* constants end */

/* 2^-n (exp(x) - 1) for the n of shifted = gantry__exp_shifted_f32(x), |n| <= 128; |low| below 1/4 of |high|. */
GANTRY_FN gantry_pair_f32_t gantry__expm1_pair_f32(GANTRY_F32 x, GANTRY_F32 shifted)
{
    GANTRY_F32 inverse = gantry__exp_inverse_f32(shifted);
    GANTRY_F32 less = 1.0f - inverse;
    GANTRY_F32 high = gantry__exp_high_f32(x, shifted);
    GANTRY_F32 low = gantry__exp_low_f32(high, shifted);
    gantry_pair_f32_t y;

    y.high = less + high;
    y.low = ((high - (y.high - less)) + ((1.0f - less) - inverse)) + low;
    return y;
}

GANTRY_FN GANTRY_F32 gantry_expm1_f32(GANTRY_F32 x)
{
    GANTRY_F32 low = x < -18.0f ? -18.0f : x;
    GANTRY_F32 bounded = low > 89.0f ? 89.0f : low;
    GANTRY_F32 shifted = gantry__exp_shifted_f32(bounded);
    GANTRY_U32 biased = gantry__exp_biased_f32(shifted);
    gantry_pair_f32_t part = gantry__expm1_pair_f32(bounded, shifted);
    GANTRY_F32 y = ((part.high + part.low) * gantry__exp_first_f32(biased)) * gantry__exp_second_f32(biased);

    y = x == 0.0f ? x : y;
    return x == x ? y : GANTRY_NAN_F32;
}

/* log(high + low) for a normal pair, 2^-25 < high < infinity; right also where high is 1 and low is all there is. */
GANTRY_FN GANTRY_F32 gantry__log_of_pair_f32(GANTRY_F32 high, GANTRY_F32 low)
{
    GANTRY_U32 bits = GANTRY_AS_UINT(high) + (0x3f800000u - GANTRY_SQRT_HALF_BITS_F32);
    GANTRY_U32 biased = bits >> 23;
    GANTRY_F32 k = GANTRY_AS_FLOAT(biased | 0x4b000000u) - (8388608.0f + 127.0f);
    GANTRY_F32 m = GANTRY_AS_FLOAT((bits & 0x007fffffu) + GANTRY_SQRT_HALF_BITS_F32) - 1.0f;
    GANTRY_F32 m_low = low * GANTRY_AS_FLOAT((254u - (biased > 254u ? 254u : biased)) << 23);
    GANTRY_F32 f = m + m_low;

    return gantry__log_parts_f32(k, f, (m - f) + m_low);
}

GANTRY_FN GANTRY_F32 gantry_log1p_f32(GANTRY_F32 x)
{
    gantry_pair_f32_t one = gantry__two_sum_f32(x, (GANTRY_F32)(1.0f));
    GANTRY_F32 y = gantry__log_of_pair_f32(one.high, one.low);

    y = x < GANTRY_INFINITY_F32 ? y : GANTRY_INFINITY_F32;
    y = x >= -1.0f ? y : GANTRY_NAN_F32;
    y = x == 0.0f ? x : y;
    return x == -1.0f ? -GANTRY_INFINITY_F32 : y;
}

/* erfc(z) exp(z^2) for a pair 0 <= z <= 11. */
GANTRY_FN gantry_pair_f32_t gantry__erfc_scaled_f32(gantry_pair_f32_t z)
{
    gantry_pair_f32_t v = gantry__pair_inverse_f32(gantry__pair_add_f32(z, gantry__pair_of_f32((GANTRY_F32)(2.0f))));
    gantry_pair_f32_t u = gantry__pair_add_f32(v, gantry__pair_of_f32((GANTRY_F32)(-GANTRY_ERFC_MIDDLE_F32)));
    GANTRY_F32 w = u.high;
    GANTRY_F32 square = w * w;
    GANTRY_F32 p = GANTRY_ERFC_11_F32 * w + GANTRY_ERFC_10_F32;
    gantry_pair_f32_t y;

    p = p * square + (GANTRY_ERFC_9_F32 * w + GANTRY_ERFC_8_F32);
    p = p * square + (GANTRY_ERFC_7_F32 * w + GANTRY_ERFC_6_F32);
    p = p * square + (GANTRY_ERFC_5_F32 * w + GANTRY_ERFC_4_F32);
    p = p * square + (GANTRY_ERFC_3_F32 * w + GANTRY_ERFC_2_F32);
    y = gantry__pair_multiply_f32(u, GANTRY_PAIR_PLUS(ERFC_1, gantry__pair_of_f32(p * w)));
    return gantry__pair_multiply_f32(v, GANTRY_PAIR_PLUS(ERFC_0, y));
}

/* 2^-n erfc(z) for z^2 = square and the n of shifted = gantry__exp_shifted_f32(-square.high). */
GANTRY_FN gantry_pair_f32_t gantry__erfc_pair_f32(gantry_pair_f32_t z, gantry_pair_f32_t square, GANTRY_F32 shifted)
{
    square.high = -square.high;
    square.low = -square.low;
    return gantry__pair_multiply_f32(gantry__pair_exp_f32(square, shifted), gantry__erfc_scaled_f32(z));
}

/* x 2^n for the n + 254 of biased */
GANTRY_FN gantry_pair_f32_t gantry__pair_scale_f32(gantry_pair_f32_t x, GANTRY_U32 biased)
{
    x.high = (x.high * gantry__exp_first_f32(biased)) * gantry__exp_second_f32(biased);
    x.low = (x.low * gantry__exp_first_f32(biased)) * gantry__exp_second_f32(biased);
    return x;
}

/* erfc(a), 0 <= a <= 11; the high part is erfc(a) rounded. */
GANTRY_FN gantry_pair_f32_t gantry__erfc_above_f32(GANTRY_F32 a)
{
    gantry_pair_f32_t square = gantry__two_product_f32(a, a);
    GANTRY_F32 shifted = gantry__exp_shifted_f32(-square.high);
    gantry_pair_f32_t y = gantry__erfc_pair_f32(gantry__pair_of_f32(a), square, shifted);

    return gantry__pair_scale_f32(y, gantry__exp_biased_f32(shifted));
}

GANTRY_FN GANTRY_F32 gantry_erfc_f32(GANTRY_F32 x)
{
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    gantry_pair_f32_t above = gantry__erfc_above_f32(a > 11.0f ? 11.0f : a);
    GANTRY_F32 below = 2.0f - above.high;
    GANTRY_F32 y;

    below = below + (((2.0f - below) - above.high) - above.low);
    y = x < 0.0f ? below : above.high;
    return x == x ? y : GANTRY_NAN_F32;
}

/* The fourth root of erfc(a), 1.0625 <= a <= 4. */
GANTRY_FN GANTRY_F32 gantry__erfc_root_f32(GANTRY_F32 a)
{
    GANTRY_F32 t = a - 1.0f;
    GANTRY_F32 square = t * t;
    GANTRY_F32 p = GANTRY_ERF_FAR_7_F32 * t + GANTRY_ERF_FAR_6_F32;

    p = p * square + (GANTRY_ERF_FAR_5_F32 * t + GANTRY_ERF_FAR_4_F32);
    p = p * square + (GANTRY_ERF_FAR_3_F32 * t + GANTRY_ERF_FAR_2_F32);
    return (p * square + GANTRY_ERF_FAR_1_F32 * t) + GANTRY_ERF_FAR_0_F32;
}

GANTRY_FN GANTRY_F32 gantry_erf_f32(GANTRY_F32 x)
{
    GANTRY_U32 sign = GANTRY_AS_UINT(x) & 0x80000000u;
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 bounded = a > 4.0f ? 4.0f : a;
    GANTRY_F32 u = bounded * bounded;
    GANTRY_F32 p = (GANTRY_ERF_6_F32 * u + GANTRY_ERF_5_F32) * (u * u) + (GANTRY_ERF_4_F32 * u + GANTRY_ERF_3_F32);
    GANTRY_F32 root = gantry__erfc_root_f32(bounded);
    GANTRY_F32 half_way = root * root;
    GANTRY_F32 far = 1.0f - half_way * half_way;
    GANTRY_F32 y;

    p = p * u + GANTRY_ERF_2_F32;
    p = p * u + GANTRY_ERF_1_F32;
    p = p * u + GANTRY_ERF_0_F32;
    y = bounded + bounded * p;
    y = a < 1.0625f ? y : far;
    y = GANTRY_AS_FLOAT(GANTRY_AS_UINT(y) | sign);
    return x == x ? y : GANTRY_NAN_F32;
}
