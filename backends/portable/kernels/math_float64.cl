/*
 * Elementary functions of float64, with the same bits on every device that has float64. Comes after dialect.cl and
 * leaves nothing where GANTRY_HAS_FLOAT64 is 0.
 *
 * The same methods as math_float32.cl, which explains them, and the same promises: IEEE operations alone, no fused
 * multiply-add, no table, no branch, a NaN result is 0x7ff8000000000000.
 *
 * Largest error seen by tests/unit/test_math_float64.c (bound: 1 ulp), 400 million inputs each:
 *
 * @table@
 *
 * One difference: log takes s = f / (2 + f) and log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)), since a polynomial in f
 * would need some twenty terms.
 */
#if GANTRY_HAS_FLOAT64

/* constants: made by scripts/make_math_coefficients.py */
#define GANTRY_LOG2E_F64 1.4426950408889634e0
#define GANTRY_LN2_HI_F64 6.9314718056011770e-1
#define GANTRY_LN2_LO_F64 -1.7239444525614835e-13
#define GANTRY_EXP_0_F64 5.0000000000000000e-1
#define GANTRY_EXP_1_F64 1.6666666666666693e-1
#define GANTRY_EXP_2_F64 4.1666666666667913e-2
#define GANTRY_EXP_3_F64 8.3333333333086099e-3
#define GANTRY_EXP_4_F64 1.3888888888303895e-3
#define GANTRY_EXP_5_F64 1.9841269915515507e-4
#define GANTRY_EXP_6_F64 2.4801588452529138e-5
#define GANTRY_EXP_7_F64 2.7557216830929315e-6
#define GANTRY_EXP_8_F64 2.7556320371934865e-7
#define GANTRY_EXP_9_F64 2.5117995727522033e-8
#define GANTRY_EXP_10_F64 2.1206670086238043e-9
#define GANTRY_LOG_0_F64 6.6666666666667340e-1
#define GANTRY_LOG_1_F64 3.9999999999416658e-1
#define GANTRY_LOG_2_F64 2.8571428742023308e-1
#define GANTRY_LOG_3_F64 2.2222198605466167e-1
#define GANTRY_LOG_4_F64 1.8183562838634598e-1
#define GANTRY_LOG_5_F64 1.5314084921026960e-1
#define GANTRY_LOG_6_F64 1.4795634846536226e-1
#define GANTRY_TANH_0_F64 -3.3333333333333276e-1
#define GANTRY_TANH_1_F64 1.3333333333322822e-1
#define GANTRY_TANH_2_F64 -5.3968253961546725e-2
#define GANTRY_TANH_3_F64 2.1869488322276850e-2
#define GANTRY_TANH_4_F64 -8.8632315567428177e-3
#define GANTRY_TANH_5_F64 3.5920814524075177e-3
#define GANTRY_TANH_6_F64 -1.4554745986106537e-3
#define GANTRY_TANH_7_F64 5.8816325873034016e-4
#define GANTRY_TANH_8_F64 -2.3266519913913718e-4
#define GANTRY_TANH_9_F64 8.2288974917463242e-5
#define GANTRY_TANH_10_F64 -1.8860240819988587e-5
/* constants end */

#define GANTRY_ROUNDER_F64 6755399441055744.0 /* 1.5 * 2^52: adding it rounds to an integer, kept in the low bits */
#define GANTRY_ROUNDER_BITS_F64 ((ulong)0x4338000000000000)
#define GANTRY_ONE_BITS_F64 ((ulong)0x3ff0000000000000)
#define GANTRY_SPLITTER_F64 402653184.0  /* 1.5 * 2^28: adding it rounds to a multiple of 2^-24 */
#define GANTRY_SQRT_HALF_BITS_F64 ((ulong)0x3fe6a09e667f3bcd) /* sqrt(1/2), the least m */
#define GANTRY_NAN_F64 GANTRY_AS_DOUBLE((ulong)0x7ff8000000000000)
#define GANTRY_INFINITY_F64 GANTRY_AS_DOUBLE((ulong)0x7ff0000000000000)

/* x / ln 2 rounded to an integer n, as the double 1.5 * 2^52 + n. */
GANTRY_FN double gantry__exp_shifted_f64(double x)
{
    return x * GANTRY_LOG2E_F64 + GANTRY_ROUNDER_F64;
}

/* x minus the high part of n ln 2, which is exact, for the n of shifted, |n| <= 2047. */
GANTRY_FN double gantry__exp_high_f64(double x, double shifted)
{
    return x - (shifted - GANTRY_ROUNDER_F64) * GANTRY_LN2_HI_F64;
}

/* exp(x - n ln 2) - 1 - high, where high is gantry__exp_high_f64(x, shifted). */
GANTRY_FN double gantry__exp_low_f64(double high, double shifted)
{
    double rest = (shifted - GANTRY_ROUNDER_F64) * GANTRY_LN2_LO_F64;
    double r = high - rest;
    double square = r * r;
    double p = GANTRY_EXP_10_F64 * square + (GANTRY_EXP_9_F64 * r + GANTRY_EXP_8_F64);

    p = p * square + (GANTRY_EXP_7_F64 * r + GANTRY_EXP_6_F64);
    p = p * square + (GANTRY_EXP_5_F64 * r + GANTRY_EXP_4_F64);
    p = p * square + (GANTRY_EXP_3_F64 * r + GANTRY_EXP_2_F64);
    p = p * square + (GANTRY_EXP_1_F64 * r + GANTRY_EXP_0_F64);
    return p * square - rest;
}

/* n + 2046, from which 2^n is made as two factors: the double whose exponent is half of n, and the other half. */
GANTRY_FN ulong gantry__exp_biased_f64(double shifted)
{
    return GANTRY_AS_ULONG(shifted) - (GANTRY_ROUNDER_BITS_F64 - 2046u);
}

GANTRY_FN double gantry__exp_first_f64(ulong biased)
{
    return GANTRY_AS_DOUBLE((biased >> 1) << 52);
}

GANTRY_FN double gantry__exp_second_f64(ulong biased)
{
    return GANTRY_AS_DOUBLE((biased - (biased >> 1)) << 52);
}

/* The double of x's upper 26 significant bits. */
GANTRY_FN double gantry__upper_f64(double x)
{
    return GANTRY_AS_DOUBLE(GANTRY_AS_ULONG(x) & (ulong)0xfffffffff8000000);
}

/* 1 - q (d + d_low) where q has 26 significant bits, q d is near 1 and d < 4. */
GANTRY_FN double gantry__residual_f64(double q, double d, double d_low)
{
    double upper = (d + GANTRY_SPLITTER_F64) - GANTRY_SPLITTER_F64;

    return (1.0 - q * upper) - q * ((d - upper) + d_low);
}

GANTRY_FN double gantry_exp_f64(double x)
{
    double least = x < -746.0 ? -746.0 : x;
    double bounded = least > 710.0 ? 710.0 : least;
    double shifted = gantry__exp_shifted_f64(bounded);
    ulong biased = gantry__exp_biased_f64(shifted);
    double high = gantry__exp_high_f64(bounded, shifted);
    double p = 1.0 + high;
    double y = p + ((high - (p - 1.0)) + gantry__exp_low_f64(high, shifted));

    y = (y * gantry__exp_first_f64(biased)) * gantry__exp_second_f64(biased);
    return x == x ? y : GANTRY_NAN_F64;
}

GANTRY_FN double gantry_log_f64(double x)
{
    double grown = x * 18014398509481984.0;
    double scaled = x < 2.2250738585072014e-308 ? grown : x;
    double bias = x < 2.2250738585072014e-308 ? 4503599627370496.0 + 1077.0 : 4503599627370496.0 + 1023.0;
    ulong bits = GANTRY_AS_ULONG(scaled) + (GANTRY_ONE_BITS_F64 - GANTRY_SQRT_HALF_BITS_F64);
    double k = GANTRY_AS_DOUBLE((bits >> 52) | (ulong)0x4330000000000000) - bias;
    double f = GANTRY_AS_DOUBLE((bits & (ulong)0x000fffffffffffff) + GANTRY_SQRT_HALF_BITS_F64) - 1.0;
    double half_square = 0.5 * f * f;
    double high = k * GANTRY_LN2_HI_F64;
    double sum = high + f;
    double lost = f - (sum - high);
    double s = f / (2.0 + f);
    double z = s * s;
    double square = z * z;
    double p = GANTRY_LOG_6_F64 * square + (GANTRY_LOG_5_F64 * z + GANTRY_LOG_4_F64);
    double y;

    p = p * square + (GANTRY_LOG_3_F64 * z + GANTRY_LOG_2_F64);
    p = p * square + (GANTRY_LOG_1_F64 * z + GANTRY_LOG_0_F64);
    y = sum + ((s * (half_square + p * z) + (k * GANTRY_LN2_LO_F64 + lost)) - half_square);
    y = x < GANTRY_INFINITY_F64 ? y : GANTRY_INFINITY_F64;
    y = x >= 0.0 ? y : GANTRY_NAN_F64;
    return x == 0.0 ? -GANTRY_INFINITY_F64 : y;
}

GANTRY_FN double gantry_tanh_f64(double x)
{
    ulong sign = GANTRY_AS_ULONG(x) & (ulong)0x8000000000000000;
    double a = GANTRY_AS_DOUBLE(GANTRY_AS_ULONG(x) & (ulong)0x7fffffffffffffff);
    double bounded = a > 20.0 ? 20.0 : a;
    double twice = bounded + bounded;
    double shifted = gantry__exp_shifted_f64(twice);
    double scale = GANTRY_AS_DOUBLE(((ulong)1023 - GANTRY_AS_ULONG(shifted)) << 52);
    double high = gantry__exp_high_f64(twice, shifted);
    double low = gantry__exp_low_f64(high, shifted);
    double p = 1.0 + (high + low);
    double d = p + scale;
    double d_low = (scale - (d - p)) + ((high - (p - 1.0)) + low);
    double q = gantry__upper_f64(1.0 / d);
    double rest = gantry__residual_f64(q, d, d_low);
    double w = q * (scale + scale);
    double large = 1.0 - (w + w * (rest + rest * rest));
    double u = bounded * bounded;
    double s = GANTRY_TANH_10_F64;
    double y;

    s = s * u + GANTRY_TANH_9_F64;
    s = s * u + GANTRY_TANH_8_F64;
    s = s * u + GANTRY_TANH_7_F64;
    s = s * u + GANTRY_TANH_6_F64;
    s = s * u + GANTRY_TANH_5_F64;
    s = s * u + GANTRY_TANH_4_F64;
    s = s * u + GANTRY_TANH_3_F64;
    s = s * u + GANTRY_TANH_2_F64;
    s = s * u + GANTRY_TANH_1_F64;
    s = s * u + GANTRY_TANH_0_F64;
    s = bounded + bounded * u * s;
    y = bounded < 0.5625 ? s : large;
    y = GANTRY_AS_DOUBLE(GANTRY_AS_ULONG(y) | sign);
    return x == x ? y : GANTRY_NAN_F64;
}

/* 1 / (1 + exp(-x)) */
GANTRY_FN double gantry_sigmoid_f64(double x)
{
    double least = x < -746.0 ? -746.0 : x;
    double minus = -(least > 746.0 ? 746.0 : least);
    double shifted = gantry__exp_shifted_f64(minus);
    double n = shifted - GANTRY_ROUNDER_F64;
    ulong biased = gantry__exp_biased_f64((n > 0.0 ? -n : n) + GANTRY_ROUNDER_F64);
    double first = gantry__exp_first_f64(biased);
    double second = gantry__exp_second_f64(biased);
    double high = gantry__exp_high_f64(minus, shifted);
    double low = gantry__exp_low_f64(high, shifted);
    double p = 1.0 + (high + low);
    double p_low = (high - (p - 1.0)) + low;
    double larger = n > 0.0 ? p : 1.0;
    double smaller = ((n > 0.0 ? 1.0 : p) * first) * second;
    double scaled_low = (p_low * first) * second;
    double d = larger + smaller;
    double d_low = (smaller - (d - larger)) + (n > 0.0 ? p_low : scaled_low);
    double q = gantry__upper_f64(1.0 / d);
    double rest = gantry__residual_f64(q, d, d_low);
    double above = q + q * (rest + rest * rest);
    double below = (above * first) * second;
    double y = n > 0.0 ? below : above;

    return x == x ? y : GANTRY_NAN_F64;
}

GANTRY_FN double gantry_sqrt_f64(double x)
{
    ulong bits = GANTRY_AS_ULONG(GANTRY_SQRT_F64(x));
    ulong size = bits & (ulong)0x7fffffffffffffff;

    /* Chosen as bits: compilers may take one NaN for another, and then drop a choice between doubles. */
    return GANTRY_AS_DOUBLE(size > (ulong)0x7ff0000000000000 ? (ulong)0x7ff8000000000000 : bits);
}

#endif
