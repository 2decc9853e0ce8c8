/*
 * Elementary functions of float32, with the same bits on every device. Comes after dialect.cl.
 *
 * Only additions, multiplications, divisions, comparisons and integer operations on bits are used, each of which IEEE
 * 754 defines to the last bit; no fused multiply-add, no table, no branch. What would be a branch is a select between
 * values already computed, so that a loop over any of these becomes vector code. A NaN result is always 0x7fc00000.
 *
 * Largest error over all 2^32 inputs (for the last two: |v| <= 4 pi), in units of the exact result's last place,
 * found by tests/unit/exhaustive_math_float32.c --full:
 *
 * @table@
 *
 * How it works. exp: x = n ln 2 + r, |r| <= ln(2) / 2, exp(x) = 2^n (1 + t), t = r + r^2 P(r). The integer n is found
 * by adding 1.5 * 2^23, which leaves it in the low bits of the sum. 2^n may lie outside float's range though the
 * result does not, so it is applied in two halves; only the second can round, in the denormal range.
 *   tanh and sigmoid need 1 / (1 + exp) to more than float's precision. The denominator is kept as a sum D + d; the
 * quotient starts as 12 bits q of 1 / D, so that q times the high half of D is exact, and the rest of it comes from
 * the residual 1 - q (D + d), which is then known to about 36 bits. The division's own last bit does not matter.
 *   log: x = 2^k m, sqrt(1/2) <= m < sqrt(2), f = m - 1, log(x) = k ln 2 + f - f^2 / 2 + f^3 P(f), where the rounding
 * error of k ln 2 + f is added back. sin and cos: v = n pi/2 + r with pi/2 in three parts whose products with n <= 8
 * are exact.
 */

/* constants: made by scripts/make_math_coefficients.py */
#define GANTRY_LOG2E_F32 1.44269502e0f
#define GANTRY_LN2_HI_F32 6.93145752e-1f
#define GANTRY_LN2_LO_F32 1.42860677e-6f
#define GANTRY_TWO_OVER_PI_F32 6.36619747e-1f
#define GANTRY_PIO2_HI_F32 1.57079315e0f
#define GANTRY_PIO2_MID_F32 3.17493686e-6f
#define GANTRY_PIO2_LO_F32 2.56334407e-12f
#define GANTRY_EXP_0_F32 4.99999940e-1f
#define GANTRY_EXP_1_F32 1.66665182e-1f
#define GANTRY_EXP_2_F32 4.16684151e-2f
#define GANTRY_EXP_3_F32 8.36898852e-3f
#define GANTRY_EXP_4_F32 1.38140714e-3f
#define GANTRY_LOG_0_F32 3.33333135e-1f
#define GANTRY_LOG_1_F32 -2.50000089e-1f
#define GANTRY_LOG_2_F32 2.00021207e-1f
#define GANTRY_LOG_3_F32 -1.66679993e-1f
#define GANTRY_LOG_4_F32 1.42195463e-1f
#define GANTRY_LOG_5_F32 -1.24055743e-1f
#define GANTRY_LOG_6_F32 1.18881941e-1f
#define GANTRY_LOG_7_F32 -1.16757080e-1f
#define GANTRY_LOG_8_F32 6.74662590e-2f
#define GANTRY_TANH_0_F32 -3.33333135e-1f
#define GANTRY_TANH_1_F32 1.33324370e-1f
#define GANTRY_TANH_2_F32 -5.38357571e-2f
#define GANTRY_TANH_3_F32 2.10003871e-2f
#define GANTRY_TANH_4_F32 -6.16965443e-3f
#define GANTRY_SIN_0_F32 -1.66666552e-1f
#define GANTRY_SIN_1_F32 8.33218917e-3f
#define GANTRY_SIN_2_F32 -1.95182904e-4f
#define GANTRY_COS_0_F32 4.16666456e-2f
#define GANTRY_COS_1_F32 -1.38873095e-3f
#define GANTRY_COS_2_F32 2.44323237e-5f
/* constants end */

#define GANTRY_ROUNDER_F32 12582912.0f        /* 1.5 * 2^23: adding it rounds to an integer, kept in the low bits */
#define GANTRY_SPLITTER_F32 12288.0f          /* 1.5 * 2^13: adding it rounds to a multiple of 2^-10 */
#define GANTRY_SQRT_HALF_BITS_F32 0x3f3504f3u /* sqrt(1/2), the least m */
#define GANTRY_NAN_F32 GANTRY_AS_FLOAT(0x7fc00000u)
#define GANTRY_INFINITY_F32 GANTRY_AS_FLOAT(0x7f800000u)

/* x / ln 2 rounded to an integer n, as the float 1.5 * 2^23 + n. */
GANTRY_FN float gantry__exp_shifted_f32(float x)
{
    return x * GANTRY_LOG2E_F32 + GANTRY_ROUNDER_F32;
}

/* x minus the high part of n ln 2, which is exact, for the n of shifted = 1.5 * 2^23 + n, |n| <= 255. */
GANTRY_FN float gantry__exp_high_f32(float x, float shifted)
{
    return x - (shifted - GANTRY_ROUNDER_F32) * GANTRY_LN2_HI_F32;
}

/* exp(x - n ln 2) - 1 - high, where high is gantry__exp_high_f32(x, shifted). */
GANTRY_FN float gantry__exp_low_f32(float high, float shifted)
{
    float rest = (shifted - GANTRY_ROUNDER_F32) * GANTRY_LN2_LO_F32;
    float r = high - rest;
    float square = r * r;
    float p = GANTRY_EXP_4_F32 * square + (GANTRY_EXP_3_F32 * r + GANTRY_EXP_2_F32);

    p = p * square + (GANTRY_EXP_1_F32 * r + GANTRY_EXP_0_F32);
    return p * square - rest;
}

/* 2^n as two factors: the float whose exponent is half of n, and the other half. -254 <= n <= 254. */
GANTRY_FN uint gantry__exp_biased_f32(float shifted)
{
    return GANTRY_AS_UINT(shifted) - (0x4b400000u - 254u);
}

GANTRY_FN float gantry__exp_first_f32(uint biased)
{
    return GANTRY_AS_FLOAT((biased >> 1) << 23);
}

GANTRY_FN float gantry__exp_second_f32(uint biased)
{
    return GANTRY_AS_FLOAT((biased - (biased >> 1)) << 23);
}

/* The float of x's upper 12 significant bits. */
GANTRY_FN float gantry__upper_f32(float x)
{
    return GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0xfffff000u);
}

/* 1 - q (d + d_low) where q has 12 significant bits, q d is near 1 and d < 4. */
GANTRY_FN float gantry__residual_f32(float q, float d, float d_low)
{
    float upper = (d + GANTRY_SPLITTER_F32) - GANTRY_SPLITTER_F32;

    return (1.0f - q * upper) - q * ((d - upper) + d_low);
}

GANTRY_FN float gantry_exp_f32(float x)
{
    float low = x < -104.0f ? -104.0f : x;
    float bounded = low > 89.0f ? 89.0f : low;
    float shifted = gantry__exp_shifted_f32(bounded);
    uint biased = gantry__exp_biased_f32(shifted);
    float high = gantry__exp_high_f32(bounded, shifted);
    float p = 1.0f + high;
    float y = p + ((high - (p - 1.0f)) + gantry__exp_low_f32(high, shifted));

    y = (y * gantry__exp_first_f32(biased)) * gantry__exp_second_f32(biased);
    return x == x ? y : GANTRY_NAN_F32;
}

GANTRY_FN float gantry_log_f32(float x)
{
    float grown = x * 8388608.0f;
    float scaled = x < 1.17549435e-38f ? grown : x;
    float bias = x < 1.17549435e-38f ? 150.0f : 127.0f;
    uint bits = GANTRY_AS_UINT(scaled) + (0x3f800000u - GANTRY_SQRT_HALF_BITS_F32);
    float k = (float)(int)(bits >> 23) - bias;
    float f = GANTRY_AS_FLOAT((bits & 0x007fffffu) + GANTRY_SQRT_HALF_BITS_F32) - 1.0f;
    float square = f * f;
    float high = k * GANTRY_LN2_HI_F32;
    float sum = high + f;
    float lost = f - (sum - high);
    float p = GANTRY_LOG_8_F32;
    float y;

    p = p * f + GANTRY_LOG_7_F32;
    p = p * f + GANTRY_LOG_6_F32;
    p = p * f + GANTRY_LOG_5_F32;
    p = p * f + GANTRY_LOG_4_F32;
    p = p * f + GANTRY_LOG_3_F32;
    p = p * f + GANTRY_LOG_2_F32;
    p = p * f + GANTRY_LOG_1_F32;
    p = p * f + GANTRY_LOG_0_F32;
    y = sum + ((square * f * p + (k * GANTRY_LN2_LO_F32 + lost)) - 0.5f * square);
    y = x < GANTRY_INFINITY_F32 ? y : GANTRY_INFINITY_F32;
    y = x >= 0.0f ? y : GANTRY_NAN_F32;
    return x == 0.0f ? -GANTRY_INFINITY_F32 : y;
}

GANTRY_FN float gantry_tanh_f32(float x)
{
    uint sign = GANTRY_AS_UINT(x) & 0x80000000u;
    float a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    float bounded = a > 10.0f ? 10.0f : a;
    float twice = bounded + bounded;
    float shifted = gantry__exp_shifted_f32(twice);
    float scale = GANTRY_AS_FLOAT((127u - GANTRY_AS_UINT(shifted)) << 23);
    float high = gantry__exp_high_f32(twice, shifted);
    float low = gantry__exp_low_f32(high, shifted);
    float p = 1.0f + (high + low);
    float d = p + scale;
    float d_low = (scale - (d - p)) + ((high - (p - 1.0f)) + low);
    float q = gantry__upper_f32(1.0f / d);
    float rest = gantry__residual_f32(q, d, d_low);
    float w = q * (scale + scale);
    float large = 1.0f - (w + w * (rest + rest * rest));
    float u = bounded * bounded;
    float s = GANTRY_TANH_4_F32;
    float y;

    s = s * u + GANTRY_TANH_3_F32;
    s = s * u + GANTRY_TANH_2_F32;
    s = s * u + GANTRY_TANH_1_F32;
    s = s * u + GANTRY_TANH_0_F32;
    s = bounded + bounded * u * s;
    y = bounded < 0.5625f ? s : large;
    y = GANTRY_AS_FLOAT(GANTRY_AS_UINT(y) | sign);
    return x == x ? y : GANTRY_NAN_F32;
}

/* 1 / (1 + exp(-x)) */
GANTRY_FN float gantry_sigmoid_f32(float x)
{
    float least = x < -104.0f ? -104.0f : x;
    float minus = -(least > 104.0f ? 104.0f : least);
    float shifted = gantry__exp_shifted_f32(minus);
    float n = shifted - GANTRY_ROUNDER_F32;
    uint biased = gantry__exp_biased_f32((n > 0.0f ? -n : n) + GANTRY_ROUNDER_F32);
    float first = gantry__exp_first_f32(biased);
    float second = gantry__exp_second_f32(biased);
    float high = gantry__exp_high_f32(minus, shifted);
    float low = gantry__exp_low_f32(high, shifted);
    float p = 1.0f + (high + low);
    float p_low = (high - (p - 1.0f)) + low;
    float larger = n > 0.0f ? p : 1.0f;
    float smaller = ((n > 0.0f ? 1.0f : p) * first) * second;
    float scaled_low = (p_low * first) * second;
    float d = larger + smaller;
    float d_low = (smaller - (d - larger)) + (n > 0.0f ? p_low : scaled_low);
    float q = gantry__upper_f32(1.0f / d);
    float rest = gantry__residual_f32(q, d, d_low);
    float above = q + q * (rest + rest * rest);
    float below = (above * first) * second;
    float y = n > 0.0f ? below : above;

    return x == x ? y : GANTRY_NAN_F32;
}

GANTRY_FN float gantry_sqrt_f32(float x)
{
    uint bits = GANTRY_AS_UINT(GANTRY_SQRT_F32(x));

    /* Chosen as bits: compilers may take one NaN for another, and then drop a choice between floats. */
    return GANTRY_AS_FLOAT((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : bits);
}

/* v - n pi/2 for the n of shifted = 1.5 * 2^23 + n, |n| <= 8. */
GANTRY_FN float gantry__quarter_high_f32(float v, float shifted)
{
    float n = shifted - GANTRY_ROUNDER_F32;

    return (v - n * GANTRY_PIO2_HI_F32) - n * GANTRY_PIO2_MID_F32;
}

/* What rounding took from gantry__quarter_high_f32(v, shifted) = high. */
GANTRY_FN float gantry__quarter_low_f32(float v, float shifted, float high)
{
    float n = shifted - GANTRY_ROUNDER_F32;

    return (((v - n * GANTRY_PIO2_HI_F32) - high) - n * GANTRY_PIO2_MID_F32) - n * GANTRY_PIO2_LO_F32;
}

/* sin(high + low) for |high| <= pi/4 and low far below high */
GANTRY_FN float gantry__sin_tail_f32(float high, float low)
{
    float u = high * high;
    float p = GANTRY_SIN_2_F32;

    p = p * u + GANTRY_SIN_1_F32;
    p = p * u + GANTRY_SIN_0_F32;
    return high + (high * u * p + low);
}

/* cos(high + low) for |high| <= pi/4 and low far below high */
GANTRY_FN float gantry__cos_tail_f32(float high, float low)
{
    float u = high * high;
    float h = 0.5f * u;
    float w = 1.0f - h;
    float p = GANTRY_COS_2_F32;

    p = p * u + GANTRY_COS_1_F32;
    p = p * u + GANTRY_COS_0_F32;
    return w + (((1.0f - w) - h) + (u * u * p - high * low));
}

/* sin(v) for |v| <= 4 pi; beyond, the result means nothing (NaN for NaN and infinities). */
GANTRY_FN float gantry_sin_4pi_f32(float v)
{
    float shifted = v * GANTRY_TWO_OVER_PI_F32 + GANTRY_ROUNDER_F32;
    uint quarter = GANTRY_AS_UINT(shifted);
    float high = gantry__quarter_high_f32(v, shifted);
    float low = gantry__quarter_low_f32(v, shifted, high);
    float s = gantry__sin_tail_f32(high, low);
    float c = gantry__cos_tail_f32(high, low);
    float y = (quarter & 1u) != 0u ? c : s;

    y = GANTRY_AS_FLOAT(GANTRY_AS_UINT(y) ^ ((quarter & 2u) << 30));
    y = v == 0.0f ? v : y;
    return y == y ? y : GANTRY_NAN_F32;
}

/* cos(v) for |v| <= 4 pi; beyond, the result means nothing (NaN for NaN and infinities). */
GANTRY_FN float gantry_cos_4pi_f32(float v)
{
    float shifted = v * GANTRY_TWO_OVER_PI_F32 + GANTRY_ROUNDER_F32;
    uint quarter = GANTRY_AS_UINT(shifted);
    float high = gantry__quarter_high_f32(v, shifted);
    float low = gantry__quarter_low_f32(v, shifted, high);
    float s = gantry__sin_tail_f32(high, low);
    float c = gantry__cos_tail_f32(high, low);
    float y = (quarter & 1u) != 0u ? s : c;

    y = GANTRY_AS_FLOAT(GANTRY_AS_UINT(y) ^ (((quarter + 1u) & 2u) << 30));
    return y == y ? y : GANTRY_NAN_F32;
}
