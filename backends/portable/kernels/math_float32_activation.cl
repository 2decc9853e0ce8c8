/*
 * Activation functions of float32, with the same bits on every device, and rsqrt. Comes after math_float32_special.cl;
 * the rules are those of math_float32.cl.
 *
 * Largest error over all 2^32 inputs, as tests/unit/exhaustive_math_float32.c --full finds it (see math_float32.cl):
 *
 *     function   largest error   at
 *     softplus   1.0931 ulp      0.346413821
 *     elu        0.9258 ulp      -0.281762391
 *     selu       1.2242 ulp      -0.294127136
 *     silu       1.2296 ulp      -5.15469837
 *     gelu_tanh  1.1856 ulp      -1.39769292
 *     gelu_erf   1.5277 ulp      -10.181284       every 17th input
 *     softsign   1.4992 ulp      2047.37488
 *     rsqrt      1.4903 ulp      1.18276583e-38
 *
 * softplus: max(x, 0) + log(1 + e) with e = exp(-|x|), where 1 + e is a sum of two floats. elu and selu come from
 * expm1; selu's factor is in two parts, the first of 12 bits.
 *   silu, gelu_tanh and gelu_erf are all x G(x) with G(-a) = 1 - G(a) and G(-a) tiny for large a. G(-a) is made as a
 * pair and a power of two: exp(-v) / (1 + exp(-v)) with v = a, or v = 2 sqrt(2/pi) (a + 0.044715 a^3) as a pair; and
 * erfc(a / sqrt(2)) / 2, for which a / sqrt(2) is a pair and the square a^2 / 2 exact. A negative x multiplies before
 * the power of two is applied, so that small results keep their accuracy and only denormal ones are rounded twice.
 * As in TensorFlow, these three and softsign give NaN where the formula meets 0 * infinity or infinity / infinity.
 * TensorFlow rounds the constants of selu and of both gelu to float first; these are the real numbers' functions.
 */

/* constants: made by scripts/make_math_coefficients_special.py */
#define GANTRY_SQRT_HALF_HIGH_F32 7.07106769e-1f
#define GANTRY_SQRT_HALF_LOW_F32 1.21016175e-8f
#define GANTRY_GELU_1_HIGH_F32 1.59576917e0f
#define GANTRY_GELU_1_LOW_F32 -4.53406805e-8f
#define GANTRY_GELU_3_HIGH_F32 7.13548139e-2f
#define GANTRY_GELU_3_LOW_F32 2.39883247e-9f
#define GANTRY_SELU_MORE_F32 5.07009886e-2f
#define GANTRY_SELU_ALPHA_HIGH_F32 1.75830078e0f
#define GANTRY_SELU_ALPHA_LOW_F32 -2.01440402e-4f
/* constants end */

GANTRY_FN GANTRY_F32 gantry_softplus_f32(GANTRY_F32 x)
{
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 bounded = a > 104.0f ? 104.0f : a;
    GANTRY_F32 shifted = gantry__exp_shifted_f32(-bounded);
    gantry_pair_f32_t e = gantry__pair_exp_f32(gantry__pair_of_f32(-bounded), shifted);
    gantry_pair_f32_t one;
    GANTRY_F32 above = x > 0.0f ? x : 0.0f;
    GANTRY_F32 y;

    e = gantry__pair_scale_f32(e, gantry__exp_biased_f32(shifted));
    one = gantry__pair_plus_f32(1.0f, 0.0f, e);
    y = above + gantry__log_of_pair_f32(one.high, one.low);
    return x == x ? y : GANTRY_NAN_F32;
}

GANTRY_FN GANTRY_F32 gantry_elu_f32(GANTRY_F32 x)
{
    GANTRY_F32 below = gantry_expm1_f32(x);

    return x > 0.0f ? x : below;
}

GANTRY_FN GANTRY_F32 gantry_selu_f32(GANTRY_F32 x)
{
    GANTRY_F32 bounded = x < -18.0f ? -18.0f : x > 0.0f ? 0.0f : x;
    GANTRY_F32 shifted = gantry__exp_shifted_f32(bounded);
    gantry_pair_f32_t e = gantry__expm1_pair_f32(bounded, shifted);
    GANTRY_F32 upper = gantry__rounded_upper_f32(e.high);
    GANTRY_F32 below = (e.high + e.low) * GANTRY_SELU_ALPHA_LOW_F32 + e.low * GANTRY_SELU_ALPHA_HIGH_F32;
    GANTRY_F32 above = x + x * GANTRY_SELU_MORE_F32;
    GANTRY_F32 y;

    below = upper * GANTRY_SELU_ALPHA_HIGH_F32 + ((e.high - upper) * GANTRY_SELU_ALPHA_HIGH_F32 + below);
    below = below * gantry__exp_first_f32(gantry__exp_biased_f32(shifted)) *
            gantry__exp_second_f32(gantry__exp_biased_f32(shifted));
    y = x < 0.0f ? below : above;
    return x == x ? y : GANTRY_NAN_F32;
}

/* x G(x), where 2^n below is G(-|x|) for the n + 254 of biased. Beyond `most` G is taken as 0 or 1. */
GANTRY_FN GANTRY_F32 gantry__gate_f32(GANTRY_F32 x, float most, gantry_pair_f32_t below, GANTRY_U32 biased)
{
    gantry_pair_f32_t rest = gantry__pair_scale_f32(below, biased);
    GANTRY_F32 bounded = x < -most ? -most : x > most ? most : x;
    GANTRY_F32 negative = bounded * below.high + bounded * below.low;
    GANTRY_F32 g = 1.0f - rest.high;
    GANTRY_F32 g_low = ((1.0f - g) - rest.high) - rest.low;
    GANTRY_F32 positive = bounded * g + bounded * g_low;
    GANTRY_F32 y;

    negative = (negative * gantry__exp_first_f32(biased)) * gantry__exp_second_f32(biased);
    y = x < 0.0f ? negative : positive;
    y = ((x > most) | (x == 0.0f)) ? x : y;
    return x >= -3.40282347e38f ? y : GANTRY_NAN_F32;
}

/* 2^-n exp(-v) / (1 + exp(-v)) for the n of shifted = gantry__exp_shifted_f32(-v.high), 0 <= v.high <= 170. */
GANTRY_FN gantry_pair_f32_t gantry__sigmoid_below_f32(gantry_pair_f32_t v, GANTRY_F32 shifted)
{
    gantry_pair_f32_t e;
    gantry_pair_f32_t d;

    v.high = -v.high;
    v.low = -v.low;
    e = gantry__pair_exp_f32(v, shifted);
    d = gantry__pair_plus_f32(1.0f, 0.0f, gantry__pair_scale_f32(e, gantry__exp_biased_f32(shifted)));
    return gantry__pair_multiply_f32(e, gantry__pair_inverse_f32(d));
}

GANTRY_FN GANTRY_F32 gantry_silu_f32(GANTRY_F32 x)
{
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 bounded = a > 112.0f ? 112.0f : a;
    GANTRY_F32 shifted = gantry__exp_shifted_f32(-bounded);
    gantry_pair_f32_t below = gantry__sigmoid_below_f32(gantry__pair_of_f32(bounded), shifted);

    return gantry__gate_f32(x, 112.0f, below, gantry__exp_biased_f32(shifted));
}

GANTRY_FN GANTRY_F32 gantry_gelu_tanh_f32(GANTRY_F32 x)
{
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 bounded = a > 12.0f ? 12.0f : a;
    gantry_pair_f32_t v = gantry__two_product_f32(bounded, bounded);
    gantry_pair_f32_t below;
    GANTRY_F32 shifted;

    v = gantry__pair_multiply_f32(v, GANTRY_PAIR(GELU_3));
    v = gantry__pair_times_f32(gantry__pair_add_f32(GANTRY_PAIR(GELU_1), v), bounded);
    shifted = gantry__exp_shifted_f32(-v.high);
    below = gantry__sigmoid_below_f32(v, shifted);
    return gantry__gate_f32(x, 12.0f, below, gantry__exp_biased_f32(shifted));
}

GANTRY_FN GANTRY_F32 gantry_gelu_erf_f32(GANTRY_F32 x)
{
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 bounded = a > 15.0f ? 15.0f : a;
    gantry_pair_f32_t square = gantry__two_product_f32(bounded, bounded);
    gantry_pair_f32_t z = gantry__two_product_f32(bounded, (GANTRY_F32)(GANTRY_SQRT_HALF_HIGH_F32));
    gantry_pair_f32_t below;
    GANTRY_F32 shifted;

    z = gantry__pair_f32(z.high, z.low + bounded * GANTRY_SQRT_HALF_LOW_F32);
    square.high = 0.5f * square.high;
    square.low = 0.5f * square.low;
    shifted = gantry__exp_shifted_f32(-square.high);
    below = gantry__erfc_pair_f32(z, square, shifted);
    below.high = 0.5f * below.high;
    below.low = 0.5f * below.low;
    return gantry__gate_f32(x, 15.0f, below, gantry__exp_biased_f32(shifted));
}

GANTRY_FN GANTRY_F32 gantry_softsign_f32(GANTRY_F32 x)
{
    GANTRY_F32 y = x / (1.0f + GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu));

    return gantry__one_nan_f32(y);
}

GANTRY_FN GANTRY_F32 gantry_rsqrt_f32(GANTRY_F32 x)
{
    GANTRY_F32 y = 1.0f / GANTRY_SQRT_F32(x);

    return gantry__one_nan_f32(y);
}
