/* SPDX-License-Identifier: Apache-2.0 */
/*
 * erf and its inverse, with the same bits on every device that has the type. The text must come
 * after math_float32.cl or math_float64.cl, whose promises and rules hold here, too, and has the
 * functions of the types whose text came before.
 *
 * Largest error in units of the exact result's last place: of float32 over all 2^32 inputs
 * (tests/unit/math/exhaustive_math_float32.c --full; erfinv: every 37th), of float64 over 80
 * million random inputs (tests/unit/math/test_math_float64.c 20000000; erfinv: 5 million):
 *
 *     function   float32, at                float64, at
 *     erf        1.3282 ulp, 1.06292856     1.1616 ulp, 0.99441896879851965
 *     erfinv     1.8455 ulp, 0.994836867    2.2759 ulp, 0.99484032928260735
 *
 * erf of float32: x + x P(x^2) below 1.0625. Beyond, 1 - Q(x - 1)^4: the fourth root of erfc needs
 * 8 terms up to 4, where erf is 1, and what Q loses counts little, because erfc is below 1/7 there.
 * An exponential in its place halves the error and takes twice the time: its steps wait for one
 * another.
 *   erf of float64: x + x P(x^2) below 1. From 1 on: 1 - 2^P(x - 1), where P is a polynomial for
 * log2(erfc); what it rounds is a small part of erfc, which itself is a small part of the result.
 * From 6 on the result is 1.
 *   erfinv: x P(w) with w = -log(1 - x^2), of which P is smooth up to the ends. 1 - x^2 is the
 * product of 1 - |x|, which is exact from 1/2 on, and 1 + |x|. P is 0.875 and a polynomial of w, or
 * sqrt(w) and a polynomial of sqrt(w) near the ends, so that what the polynomial rounds is a small
 * part of P, and one fused step takes the sum. At 1 it is an infinity, beyond 1 NaN.
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
#define GANTRY_ERFINV_0_F32 6.26409352e-1f
#define GANTRY_ERFINV_1_F32 2.46640280e-1f
#define GANTRY_ERFINV_2_F32 -4.17738687e-3f
#define GANTRY_ERFINV_3_F32 -1.25274190e-3f
#define GANTRY_ERFINV_4_F32 2.18344445e-4f
#define GANTRY_ERFINV_5_F32 -4.96334678e-6f
#define GANTRY_ERFINV_6_F32 -3.46270690e-6f
#define GANTRY_ERFINV_7_F32 4.66170064e-7f
#define GANTRY_ERFINV_8_F32 2.32327686e-8f
#define GANTRY_ERFINV_9_F32 -8.79100348e-9f
#define GANTRY_ERFINV_FAR_0_F32 -1.67023197e-1f
#define GANTRY_ERFINV_FAR_1_F32 1.67508749e-3f
#define GANTRY_ERFINV_FAR_2_F32 9.44568403e-3f
#define GANTRY_ERFINV_FAR_3_F32 -7.63941091e-3f
#define GANTRY_ERFINV_FAR_4_F32 5.68317296e-3f
#define GANTRY_ERFINV_FAR_5_F32 -3.58698773e-3f
#define GANTRY_ERFINV_FAR_6_F32 1.49585574e-3f
#define GANTRY_ERFINV_FAR_7_F32 -7.66183875e-5f
#define GANTRY_ERFINV_FAR_8_F32 -3.18722479e-4f
#define GANTRY_ERFINV_FAR_9_F32 1.28963176e-4f
#define GANTRY_ERF_0_F64 1.2837916709551256e-1
#define GANTRY_ERF_1_F64 -3.7612638903183337e-1
#define GANTRY_ERF_2_F64 1.1283791670936537e-1
#define GANTRY_ERF_3_F64 -2.6866170641868539e-2
#define GANTRY_ERF_4_F64 5.2239775958284121e-3
#define GANTRY_ERF_5_F64 -8.5483254351140855e-4
#define GANTRY_ERF_6_F64 1.2055278848772393e-4
#define GANTRY_ERF_7_F64 -1.4924431520809201e-5
#define GANTRY_ERF_8_F64 1.6443704434734314e-6
#define GANTRY_ERF_9_F64 -1.6180414465543500e-7
#define GANTRY_ERF_10_F64 1.3600652893439133e-8
#define GANTRY_ERF_11_F64 -7.5769678759358121e-10
#define GANTRY_ERFC_LOG2_0_F64 -2.6684166967815997e0
#define GANTRY_ERFC_LOG2_1_F64 -3.8072253458535865e0
#define GANTRY_ERFC_LOG2_2_F64 -1.2163466576872080e0
#define GANTRY_ERFC_LOG2_3_F64 -5.9959990014906754e-2
#define GANTRY_ERFC_LOG2_4_F64 1.4475749828703652e-2
#define GANTRY_ERFC_LOG2_5_F64 -2.8535082824077095e-3
#define GANTRY_ERFC_LOG2_6_F64 3.4237526103872375e-4
#define GANTRY_ERFC_LOG2_7_F64 3.7937559192097384e-5
#define GANTRY_ERFC_LOG2_8_F64 -3.9239831194934673e-5
#define GANTRY_ERFC_LOG2_9_F64 1.3952926237033694e-5
#define GANTRY_ERFC_LOG2_10_F64 -3.0758863089310387e-6
#define GANTRY_ERFC_LOG2_11_F64 2.9564033342364783e-7
#define GANTRY_ERFC_LOG2_12_F64 8.3580055488127868e-8
#define GANTRY_ERFC_LOG2_13_F64 -4.8119061941147332e-8
#define GANTRY_ERFC_LOG2_14_F64 1.2272421193574662e-8
#define GANTRY_ERFC_LOG2_15_F64 -1.8994050942102273e-9
#define GANTRY_ERFC_LOG2_16_F64 1.7170788077546048e-10
#define GANTRY_ERFC_LOG2_17_F64 -6.9950540459303817e-12
#define GANTRY_EXP2_0_F64 6.9314718055994529e-1
#define GANTRY_EXP2_1_F64 2.4022650695910125e-1
#define GANTRY_EXP2_2_F64 5.5504108664820688e-2
#define GANTRY_EXP2_3_F64 9.6181291076008965e-3
#define GANTRY_EXP2_4_F64 1.3333558146708963e-3
#define GANTRY_EXP2_5_F64 1.5403530446133774e-4
#define GANTRY_EXP2_6_F64 1.5252733537886690e-5
#define GANTRY_EXP2_7_F64 1.3215441582704033e-6
#define GANTRY_EXP2_8_F64 1.0178187099565755e-7
#define GANTRY_EXP2_9_F64 7.0725859492923174e-9
#define GANTRY_EXP2_10_F64 4.4356558882661070e-10
#define GANTRY_ERFINV_0_F64 7.7865456268310274e-1
#define GANTRY_ERFINV_1_F64 2.4015818242558834e-1
#define GANTRY_ERFINV_2_F64 -6.0336708714269693e-3
#define GANTRY_ERFINV_3_F64 -7.4070253415457288e-4
#define GANTRY_ERFINV_4_F64 1.8673420802048444e-4
#define GANTRY_ERFINV_5_F64 -1.3882523394174421e-5
#define GANTRY_ERFINV_6_F64 -1.3654691772253628e-6
#define GANTRY_ERFINV_7_F64 4.2347881710869013e-7
#define GANTRY_ERFINV_8_F64 -2.9070389913334716e-8
#define GANTRY_ERFINV_9_F64 -4.1126606395345948e-9
#define GANTRY_ERFINV_10_F64 1.0512225715646416e-9
#define GANTRY_ERFINV_11_F64 -5.4142946827826306e-11
#define GANTRY_ERFINV_12_F64 -1.2978504879965894e-11
#define GANTRY_ERFINV_13_F64 2.6305035151864340e-12
#define GANTRY_ERFINV_14_F64 -8.0792858521522222e-14
#define GANTRY_ERFINV_15_F64 -4.0015902098528590e-14
#define GANTRY_ERFINV_16_F64 6.5333401255718395e-15
#define GANTRY_ERFINV_17_F64 -3.9877720129496446e-17
#define GANTRY_ERFINV_18_F64 -1.2344881379243878e-16
#define GANTRY_ERFINV_19_F64 1.5545181391880273e-17
#define GANTRY_ERFINV_20_F64 6.9567314238383089e-19
#define GANTRY_ERFINV_21_F64 -3.4876403028692357e-19
#define GANTRY_ERFINV_22_F64 1.6539047732703297e-20
#define GANTRY_ERFINV_23_F64 3.2193530594714330e-21
#define GANTRY_ERFINV_24_F64 -3.0015762502275796e-22
#define GANTRY_ERFINV_FAR_0_F64 -1.5777657633187059e-1
#define GANTRY_ERFINV_FAR_1_F64 9.9782771612560456e-3
#define GANTRY_ERFINV_FAR_2_F64 7.1274997266339486e-4
#define GANTRY_ERFINV_FAR_3_F64 -6.0789402748582058e-4
#define GANTRY_ERFINV_FAR_4_F64 2.1217671317444131e-4
#define GANTRY_ERFINV_FAR_5_F64 -6.4419750417512791e-5
#define GANTRY_ERFINV_FAR_6_F64 2.1980129176851002e-5
#define GANTRY_ERFINV_FAR_7_F64 -1.0197667219373351e-5
#define GANTRY_ERFINV_FAR_8_F64 5.8072633983065521e-6
#define GANTRY_ERFINV_FAR_9_F64 -3.2111193886658061e-6
#define GANTRY_ERFINV_FAR_10_F64 1.4901887395404096e-6
#define GANTRY_ERFINV_FAR_11_F64 -5.1528158309687343e-7
#define GANTRY_ERFINV_FAR_12_F64 9.3266164037543037e-8
#define GANTRY_ERFINV_FAR_13_F64 2.5644483205051780e-8
#define GANTRY_ERFINV_FAR_14_F64 -3.0113155377498748e-8
#define GANTRY_ERFINV_FAR_15_F64 1.3403493156870263e-8
#define GANTRY_ERFINV_FAR_16_F64 -3.0911036465464938e-9
#define GANTRY_ERFINV_FAR_17_F64 -1.6446454628209340e-10
#define GANTRY_ERFINV_FAR_18_F64 4.7636319399185580e-10
#define GANTRY_ERFINV_FAR_19_F64 -1.9997622981696501e-10
#define GANTRY_ERFINV_FAR_20_F64 2.8351010896779437e-11
#define GANTRY_ERFINV_FAR_21_F64 7.3409081473035768e-12
#define GANTRY_ERFINV_FAR_22_F64 -2.5535459187890383e-12
#define GANTRY_ERFINV_FAR_23_F64 4.1625992312900055e-13
#define GANTRY_ERFINV_FAR_24_F64 -5.8853984886208559e-13
#define GANTRY_ERFINV_FAR_25_F64 1.7181196587985584e-13
#define GANTRY_ERFINV_FAR_26_F64 6.3020701581797842e-14
#define GANTRY_ERFINV_FAR_27_F64 -2.7045124770162812e-14
#define GANTRY_ERFINV_FAR_28_F64 -1.3230859823761874e-15
#define GANTRY_ERFINV_FAR_29_F64 1.0152793473267706e-15
/* constants end */

#if defined(GANTRY_NAN_F32)

/* The fourth root of erfc(a); a must be in [1.0625, 4]. */
GANTRY_FN GANTRY_F32 gantry__erfc_root_f32(GANTRY_F32 a) {
    GANTRY_F32 t = a - 1.0f;
    GANTRY_F32 p = GANTRY_FMA_F32(t, GANTRY_ERF_FAR_7_F32, GANTRY_ERF_FAR_6_F32);

    p = GANTRY_FMA_F32(p, t, GANTRY_ERF_FAR_5_F32);
    p = GANTRY_FMA_F32(p, t, GANTRY_ERF_FAR_4_F32);
    p = GANTRY_FMA_F32(p, t, GANTRY_ERF_FAR_3_F32);
    p = GANTRY_FMA_F32(p, t, GANTRY_ERF_FAR_2_F32);
    p = GANTRY_FMA_F32(p, t, GANTRY_ERF_FAR_1_F32);
    return GANTRY_FMA_F32(p, t, GANTRY_ERF_FAR_0_F32);
}

GANTRY_FN GANTRY_F32 gantry__erf_f32(GANTRY_F32 x) {
    GANTRY_U32 sign = GANTRY_AS_UINT(x) & 0x80000000u;
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 bounded = a > 4.0f ? 4.0f : a;
    GANTRY_F32 u = bounded * bounded;
    GANTRY_F32 p = GANTRY_FMA_F32(u, GANTRY_ERF_6_F32, GANTRY_ERF_5_F32);
    GANTRY_F32 root = gantry__erfc_root_f32(bounded);
    GANTRY_F32 half_way = root * root;
    GANTRY_F32 far = GANTRY_FMA_F32(-half_way, half_way, 1.0f);
    GANTRY_F32 y;

    p = GANTRY_FMA_F32(p, u, GANTRY_ERF_4_F32);
    p = GANTRY_FMA_F32(p, u, GANTRY_ERF_3_F32);
    p = GANTRY_FMA_F32(p, u, GANTRY_ERF_2_F32);
    p = GANTRY_FMA_F32(p, u, GANTRY_ERF_1_F32);
    p = GANTRY_FMA_F32(p, u, GANTRY_ERF_0_F32);
    y = GANTRY_FMA_F32(bounded, p, bounded);
    y = a < 1.0625f ? y : far;
    y = GANTRY_AS_FLOAT(GANTRY_AS_UINT(y) | sign);
    return x == x ? y : GANTRY_NAN_F32;
}

/* erfinv(x) / x - 0.875; w must be in [0, 5] */
GANTRY_FN GANTRY_F32 gantry__erfinv_near_f32(GANTRY_F32 w) {
    GANTRY_F32 t = w - 2.5f;
    GANTRY_F32 p = GANTRY_FMA_F32(t, GANTRY_ERFINV_9_F32, GANTRY_ERFINV_8_F32);

    p = GANTRY_FMA_F32(p, t, GANTRY_ERFINV_7_F32);
    p = GANTRY_FMA_F32(p, t, GANTRY_ERFINV_6_F32);
    p = GANTRY_FMA_F32(p, t, GANTRY_ERFINV_5_F32);
    p = GANTRY_FMA_F32(p, t, GANTRY_ERFINV_4_F32);
    p = GANTRY_FMA_F32(p, t, GANTRY_ERFINV_3_F32);
    p = GANTRY_FMA_F32(p, t, GANTRY_ERFINV_2_F32);
    p = GANTRY_FMA_F32(p, t, GANTRY_ERFINV_1_F32);
    return GANTRY_FMA_F32(p, t, GANTRY_ERFINV_0_F32);
}

/* erfinv(x) / x - root; root must be in [2.23, 4] */
GANTRY_FN GANTRY_F32 gantry__erfinv_far_f32(GANTRY_F32 root) {
    GANTRY_F32 t = root - 3.0f;
    GANTRY_F32 p = GANTRY_FMA_F32(t, GANTRY_ERFINV_FAR_9_F32, GANTRY_ERFINV_FAR_8_F32);

    p = GANTRY_FMA_F32(p, t, GANTRY_ERFINV_FAR_7_F32);
    p = GANTRY_FMA_F32(p, t, GANTRY_ERFINV_FAR_6_F32);
    p = GANTRY_FMA_F32(p, t, GANTRY_ERFINV_FAR_5_F32);
    p = GANTRY_FMA_F32(p, t, GANTRY_ERFINV_FAR_4_F32);
    p = GANTRY_FMA_F32(p, t, GANTRY_ERFINV_FAR_3_F32);
    p = GANTRY_FMA_F32(p, t, GANTRY_ERFINV_FAR_2_F32);
    p = GANTRY_FMA_F32(p, t, GANTRY_ERFINV_FAR_1_F32);
    return GANTRY_FMA_F32(p, t, GANTRY_ERFINV_FAR_0_F32);
}

GANTRY_FN GANTRY_F32 gantry__erfinv_f32(GANTRY_F32 x) {
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 w = -gantry__log_f32((1.0f - a) * (1.0f + a));
    GANTRY_F32 root = GANTRY_SQRT_F32(w);
    GANTRY_F32 near = GANTRY_FMA_F32(x, 0.875f, x * gantry__erfinv_near_f32(w));
    GANTRY_F32 far = GANTRY_FMA_F32(x, root, x * gantry__erfinv_far_f32(root));
    GANTRY_F32 y = w < 5.0f ? near : far;

    y = a == 1.0f ? x * GANTRY_INFINITY_F32 : y;
    return y == y ? y : GANTRY_NAN_F32;
}

#endif
#if defined(GANTRY_NAN_F64)

/* erf(a) / a - 1; a must be in [0, 1], and u = a^2 */
GANTRY_FN GANTRY_F64 gantry__erf_near_f64(GANTRY_F64 u) {
    GANTRY_F64 square = u * u;
    GANTRY_F64 even = GANTRY_FMA_F64(square, GANTRY_ERF_10_F64, GANTRY_ERF_8_F64);
    GANTRY_F64 odd = GANTRY_FMA_F64(square, GANTRY_ERF_11_F64, GANTRY_ERF_9_F64);

    even = GANTRY_FMA_F64(even, square, GANTRY_ERF_6_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERF_7_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERF_4_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERF_5_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERF_2_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERF_3_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERF_0_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERF_1_F64);
    return GANTRY_FMA_F64(odd, u, even);
}

/* log2(erfc(1 + t)); t must be in [0, 5], of which less matters the greater t is */
GANTRY_FN GANTRY_F64 gantry__erfc_log2_f64(GANTRY_F64 t) {
    GANTRY_F64 square = t * t;
    GANTRY_F64 even = GANTRY_FMA_F64(square, GANTRY_ERFC_LOG2_16_F64, GANTRY_ERFC_LOG2_14_F64);
    GANTRY_F64 odd = GANTRY_FMA_F64(square, GANTRY_ERFC_LOG2_17_F64, GANTRY_ERFC_LOG2_15_F64);

    even = GANTRY_FMA_F64(even, square, GANTRY_ERFC_LOG2_12_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFC_LOG2_13_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFC_LOG2_10_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFC_LOG2_11_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFC_LOG2_8_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFC_LOG2_9_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFC_LOG2_6_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFC_LOG2_7_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFC_LOG2_4_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFC_LOG2_5_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFC_LOG2_2_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFC_LOG2_3_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFC_LOG2_0_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFC_LOG2_1_F64);
    return GANTRY_FMA_F64(odd, t, even);
}

/* 2^v; v must be in [-1000, 0] */
GANTRY_FN GANTRY_F64 gantry__exp2_below_f64(GANTRY_F64 v) {
    GANTRY_F64 shifted = v + GANTRY_ROUNDER_F64;
    GANTRY_F64 f = v - (shifted - GANTRY_ROUNDER_F64);
    GANTRY_F64 square = f * f;
    GANTRY_F64 even = GANTRY_FMA_F64(square, GANTRY_EXP2_10_F64, GANTRY_EXP2_8_F64);
    GANTRY_F64 odd = GANTRY_FMA_F64(square, GANTRY_EXP2_9_F64, GANTRY_EXP2_7_F64);

    even = GANTRY_FMA_F64(even, square, GANTRY_EXP2_6_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_EXP2_5_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_EXP2_4_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_EXP2_3_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_EXP2_2_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_EXP2_1_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_EXP2_0_F64);
    even = GANTRY_FMA_F64(odd, f, even);
    return GANTRY_FMA_F64(f, even, 1.0) *
           GANTRY_AS_DOUBLE((GANTRY_AS_ULONG(shifted) + (ulong)1023) << 52);
}

GANTRY_FN GANTRY_F64 gantry__erf_f64(GANTRY_F64 x) {
    GANTRY_U64 sign = GANTRY_AS_ULONG(x) & (ulong)0x8000000000000000;
    GANTRY_F64 a = GANTRY_AS_DOUBLE(GANTRY_AS_ULONG(x) & (ulong)0x7fffffffffffffff);
    GANTRY_F64 near = GANTRY_FMA_F64(a, gantry__erf_near_f64(a * a), a);
    GANTRY_F64 far = 1.0 - gantry__exp2_below_f64(gantry__erfc_log2_f64(a - 1.0));
    GANTRY_F64 y = a < 1.0 ? near : far;

    y = a < 6.0 ? y : 1.0;
    y = GANTRY_AS_DOUBLE(GANTRY_AS_ULONG(y) | sign);
    return x == x ? y : GANTRY_NAN_F64;
}

/* erfinv(x) / x - 0.875; w must be in [0, 6.25] */
GANTRY_FN GANTRY_F64 gantry__erfinv_near_f64(GANTRY_F64 w) {
    GANTRY_F64 t = w - 3.125;
    GANTRY_F64 square = t * t;
    GANTRY_F64 even = GANTRY_FMA_F64(square, GANTRY_ERFINV_24_F64, GANTRY_ERFINV_22_F64);
    GANTRY_F64 odd = GANTRY_FMA_F64(square, GANTRY_ERFINV_23_F64, GANTRY_ERFINV_21_F64);

    even = GANTRY_FMA_F64(even, square, GANTRY_ERFINV_20_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFINV_18_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFINV_19_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFINV_16_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFINV_17_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFINV_14_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFINV_15_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFINV_12_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFINV_13_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFINV_10_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFINV_11_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFINV_8_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFINV_9_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFINV_6_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFINV_7_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFINV_4_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFINV_5_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFINV_2_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFINV_3_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFINV_0_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFINV_1_F64);
    return GANTRY_FMA_F64(odd, t, even);
}

/* erfinv(x) / x - root; root must be in [2.5, 6.06] */
GANTRY_FN GANTRY_F64 gantry__erfinv_far_f64(GANTRY_F64 root) {
    GANTRY_F64 t = root - 4.25;
    GANTRY_F64 square = t * t;
    GANTRY_F64 even = GANTRY_FMA_F64(square, GANTRY_ERFINV_FAR_28_F64, GANTRY_ERFINV_FAR_26_F64);
    GANTRY_F64 odd = GANTRY_FMA_F64(square, GANTRY_ERFINV_FAR_29_F64, GANTRY_ERFINV_FAR_27_F64);

    even = GANTRY_FMA_F64(even, square, GANTRY_ERFINV_FAR_24_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFINV_FAR_25_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFINV_FAR_22_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFINV_FAR_23_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFINV_FAR_20_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFINV_FAR_21_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFINV_FAR_18_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFINV_FAR_19_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFINV_FAR_16_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFINV_FAR_17_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFINV_FAR_14_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFINV_FAR_15_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFINV_FAR_12_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFINV_FAR_13_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFINV_FAR_10_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFINV_FAR_11_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFINV_FAR_8_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFINV_FAR_9_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFINV_FAR_6_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFINV_FAR_7_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFINV_FAR_4_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFINV_FAR_5_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFINV_FAR_2_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFINV_FAR_3_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_ERFINV_FAR_0_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_ERFINV_FAR_1_F64);
    return GANTRY_FMA_F64(odd, t, even);
}

GANTRY_FN GANTRY_F64 gantry__erfinv_f64(GANTRY_F64 x) {
    GANTRY_F64 a = GANTRY_AS_DOUBLE(GANTRY_AS_ULONG(x) & (ulong)0x7fffffffffffffff);
    GANTRY_F64 w = -gantry__log_f64((1.0 - a) * (1.0 + a));
    GANTRY_F64 root = GANTRY_SQRT_F64(w);
    GANTRY_F64 near = GANTRY_FMA_F64(x, 0.875, x * gantry__erfinv_near_f64(w));
    GANTRY_F64 far = GANTRY_FMA_F64(x, root, x * gantry__erfinv_far_f64(root));
    GANTRY_F64 y = w < 6.25 ? near : far;

    y = a == 1.0 ? x * GANTRY_INFINITY_F64 : y;
    return y == y ? y : GANTRY_NAN_F64;
}

#endif
