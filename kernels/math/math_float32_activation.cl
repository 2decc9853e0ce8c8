/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activation functions of float32, with the same bits on every device, and rsqrt. It must come
 * after math_float32_special.cl; the rules are those of math_float32.cl.
 *
 * Largest error over all 2^32 inputs, as tests/unit/math/exhaustive_math_float32.c --full finds it
 * (see math_float32.cl):
 *
 *     function   largest error   at
 *     softplus   1.0634 ulp      0.37189433       every 37th input
 *     elu        0.8352 ulp      -0.213569194     every 37th input
 *     selu       1.0264 ulp      -0.322519809     every 37th input
 *     silu       2.4108 ulp      -9.17332268      every 37th input
 *     gelu_tanh  2.3101 ulp      -2.48961115      every 37th input
 *     gelu_erf   3.8517 ulp      -0.00756195234   every 37th input
 *     softsign   1.4992 ulp      2047.37488
 *     rsqrt      1.4903 ulp      1.18276583e-38
 *
 * softplus: max(x, 0) + log(1 + e) with e = exp(-|x|), where 1 + e is a sum of two floats. elu and
 * selu come from expm1; selu's factor is in two parts.
 *   silu, gelu_tanh and gelu_erf are all x G(x) with G(-a) = 1 - G(a) and G(-a) tiny for large a.
 * The first two have G(a) = 1 / (1 + exp(-v)) and G(-a) = exp(-v) G(a) with v = a, or v = 2
 * sqrt(2/pi) (a + 0.044715 a^3) as a pair; the third is max(x, 0) less a erfc(a / sqrt(2)) / 2,
 * made like erfc with a / (a + c) as its first factor. The exponential is 2^n (1 + e), and 2^n
 * comes last, so that small results keep their accuracy and only denormal ones are rounded twice.
 * As in TensorFlow, these three and softsign give NaN where the formula meets 0 * infinity or
 * infinity / infinity. TensorFlow rounds the constants of selu and of both gelu to float first;
 * here they are not rounded.
 */

/* constants: made by scripts/make_math_coefficients_special.py */
#define GANTRY_GELU_SHIFT_F32 4.18750000e0f
#define GANTRY_GELU_0_F32 -2.41452962e-1f
#define GANTRY_GELU_1_F32 -1.24206436e0f
#define GANTRY_GELU_2_F32 1.64293277e0f
#define GANTRY_GELU_3_F32 -1.69707251e0f
#define GANTRY_GELU_4_F32 1.26262367e0f
#define GANTRY_GELU_5_F32 -5.16416490e-1f
#define GANTRY_GELU_6_F32 -1.05831310e-1f
#define GANTRY_GELU_7_F32 2.69048631e-1f
#define GANTRY_GELU_8_F32 -5.32394610e-2f
#define GANTRY_GELU_9_F32 -1.10111028e-1f
#define GANTRY_GELU_1_HIGH_F32 1.59576917e0f
#define GANTRY_GELU_1_LOW_F32 -4.53406805e-8f
#define GANTRY_GELU_3_HIGH_F32 7.13548139e-2f
#define GANTRY_GELU_3_LOW_F32 2.39883247e-9f
#define GANTRY_SELU_MORE_F32 5.07009886e-2f
#define GANTRY_SELU_ALPHA_HIGH_F32 1.75830078e0f
#define GANTRY_SELU_ALPHA_LOW_F32 -2.01440402e-4f
/* constants end */

GANTRY_FN GANTRY_F32 gantry__softplus_f32(GANTRY_F32 x) {
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 bounded = a > 104.0f ? 104.0f : a;
    GANTRY_F32 shifted = gantry__exp_shifted_f32(-bounded);
    gantry__pair_f32_t e = gantry__pair_exp_f32(gantry__pair_of_f32(-bounded), shifted);
    gantry__pair_f32_t one;
    GANTRY_F32 above = x > 0.0f ? x : 0.0f;
    GANTRY_F32 y;

    e = gantry__pair_scale_f32(e, gantry__exp_biased_f32(shifted));
    one = gantry__pair_plus_f32(1.0f, 0.0f, e);
    y = above + gantry__log_of_pair_f32(one.high, one.low);
    return x == x ? y : GANTRY_NAN_F32;
}

GANTRY_FN GANTRY_F32 gantry__elu_f32(GANTRY_F32 x) {
    GANTRY_F32 below = gantry__expm1_f32(x);

    return x > 0.0f ? x : below;
}

GANTRY_FN GANTRY_F32 gantry__selu_f32(GANTRY_F32 x) {
    GANTRY_F32 bounded = x < -18.0f ? -18.0f : x > 0.0f ? 0.0f : x;
    GANTRY_F32 shifted = gantry__exp_shifted_f32(bounded);
    gantry__pair_f32_t e = gantry__expm1_pair_f32(bounded, shifted);
    GANTRY_F32 below = GANTRY_FMA_F32(e.high + e.low, GANTRY_SELU_ALPHA_LOW_F32,
                                      e.low * GANTRY_SELU_ALPHA_HIGH_F32);
    GANTRY_F32 above = GANTRY_FMA_F32(x, GANTRY_SELU_MORE_F32, x);
    GANTRY_F32 y;

    below = GANTRY_FMA_F32(e.high, GANTRY_SELU_ALPHA_HIGH_F32, below);
    below = below * gantry__exp_first_f32(gantry__exp_biased_f32(shifted)) *
            gantry__exp_second_f32(gantry__exp_biased_f32(shifted));
    y = x < 0.0f ? below : above;
    return x == x ? y : GANTRY_NAN_F32;
}

/* x G(x) for G(-a) = exp(-v) / (1 + exp(-v)). exp(-v) must be 2^n (1 + e) for the n of shifted;
 * beyond `most` G is 0 or 1. */
GANTRY_FN GANTRY_F32 gantry__gate_f32(GANTRY_F32 x, float most, GANTRY_F32 e, GANTRY_F32 shifted) {
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 bounded = a > most ? most : a;
    GANTRY_F32 raised = gantry__exp_raised_f32(shifted);
    GANTRY_F32 risen = (1.0f + e) * raised;
    GANTRY_F32 rising = bounded / GANTRY_FMA_F32(risen, GANTRY_TWO_TO_MINUS_64_F32, 1.0f);
    GANTRY_F32 falling = (GANTRY_FMA_F32(rising, e, rising) * raised) * GANTRY_TWO_TO_MINUS_64_F32;
    GANTRY_F32 y = x < 0.0f ? -falling : rising;

    y = ((x > most) | (x == 0.0f)) ? x : y;
    return x >= -3.40282347e38f ? y : GANTRY_NAN_F32;
}

GANTRY_FN GANTRY_F32 gantry__silu_f32(GANTRY_F32 x) {
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 bounded = a > 112.0f ? 112.0f : a;
    GANTRY_F32 shifted = gantry__exp_shifted_f32(-bounded);

    return gantry__gate_f32(x, 112.0f, gantry__exp_falling_f32(bounded, 0.0f, shifted), shifted);
}

GANTRY_FN GANTRY_F32 gantry__gelu_tanh_f32(GANTRY_F32 x) {
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 bounded = a > 11.0f ? 11.0f : a;
    gantry__pair_f32_t v = gantry__two_product_f32(bounded, bounded);
    GANTRY_F32 shifted;

    v = gantry__pair_multiply_f32(v, GANTRY_PAIR(GELU_3));
    v = gantry__pair_times_f32(gantry__pair_add_f32(GANTRY_PAIR(GELU_1), v), bounded);
    shifted = gantry__exp_shifted_f32(-v.high);
    return gantry__gate_f32(x, 11.0f, gantry__exp_falling_f32(v.high, v.low, shifted), shifted);
}

GANTRY_FN GANTRY_F32 gantry__gelu_erf_f32(GANTRY_F32 x) {
    /* x, or -0 below 0. Selected as bits, because LLVM 15 takes a -0 of floats as 0. */
    GANTRY_U32 whole = GANTRY_AS_UINT(x);
    GANTRY_F32 above = GANTRY_AS_FLOAT(whole > 0x80000000u ? 0x80000000u : whole);
    GANTRY_U32 bits = whole & 0x7fffffffu;
    GANTRY_U32 bounded = bits > 0x41680000u ? 0x41680000u : bits; /* 14.5, where the result is 0 */
    GANTRY_F32 a = GANTRY_AS_FLOAT(bounded);
    GANTRY_F32 halved = 0.5f * a;
    GANTRY_F32 square = halved * a;
    GANTRY_F32 shifted = gantry__exp_shifted_f32(-square);
    GANTRY_F32 e = gantry__exp_falling_f32(square, GANTRY_FMA_F32(halved, a, -square), shifted);
    GANTRY_F32 u = a / (a + GANTRY_GELU_SHIFT_F32);
    GANTRY_F32 below = gantry__fallen_f32(u, GANTRY_TEN_TERMS(GELU, u - 0.5f), e, shifted);
    GANTRY_F32 y = above - below;

    return x >= -3.40282347e38f ? y : GANTRY_NAN_F32;
}

GANTRY_FN GANTRY_F32 gantry__softsign_f32(GANTRY_F32 x) {
    GANTRY_F32 y = x / (1.0f + GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu));

    return gantry__one_nan_f32(y);
}

GANTRY_FN GANTRY_F32 gantry__rsqrt_f32(GANTRY_F32 x) {
    GANTRY_F32 y = 1.0f / GANTRY_SQRT_F32(x);

    return gantry__one_nan_f32(y);
}
