/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digamma, activation functions and rsqrt of float64. It must come after math_float64.cl and
 * math_float64_library.cl and is empty if GANTRY_HAS_FLOAT64 is 0.
 *
 * elu, selu and gelu_erf use the library's expm1 and erfc, so their last bits differ between
 * devices. The others only use math_float64.cl and have the same bits everywhere.
 *
 * gelu_tanh and gelu_erf are x G(x), where G(x) for a large negative x magnifies any error of its
 * argument. So the argument is a sum of two doubles, whose second part enters by the first term of
 * Taylor's series.
 *   digamma: P(d) d with the distance d from the root 1.4616 on [1, 2); brought there from [2, 6)
 * by digamma(x + 1) = digamma(x) + 1 / x, the sum of whose terms is one quotient; log(x) - 1 / (2
 * x) - w P(w), w = 1 / x^2, from 6 on; and digamma(1 - x) + pi cot(pi t), t = -x less the nearest
 * integer, for negative x.
 *
 * Largest error seen over 8 million random inputs a function (tests/unit/math/test_math_float64.c
 * 2000000, where the ranges are), the library being glibc's:
 *
 *     function   largest error   at
 *     softplus   1.4507 ulp      -3.4599096578415001
 *     elu        0.7661 ulp      -0.38944541247451436
 *     selu       1.6221 ulp      -0.30687645285614318
 *     silu       2.6792 ulp      -712.19755890028216
 *     gelu_tanh  3.3667 ulp      -21.077437587160009
 *     gelu_erf   4.0049 ulp      -29.872241332923974
 *     softsign   1.4897 ulp      -9.2940666255687536e-10
 *     rsqrt      1.4863 ulp      1.0013894765952491
 *     digamma    3.8242 ulp      3.0037503736811249   (of positive arguments)
 *     digamma    5.3926 ulp      -0.32898629732610496   (of negative ones away from its zeros)
 */
#if GANTRY_HAS_FLOAT64

/* constants: made by scripts/make_math_coefficients_special.py */
#define GANTRY_SQRT_HALF_HIGH_F64 7.0710678118654757e-1
#define GANTRY_SQRT_HALF_LOW_F64 -4.8336466567264567e-17
#define GANTRY_GELU_1_HIGH_F64 1.5957691216057308e0
#define GANTRY_GELU_1_LOW_F64 -9.9693088091109202e-17
#define GANTRY_GELU_3_HIGH_F64 7.1354816272600249e-2
#define GANTRY_GELU_3_LOW_F64 -6.1751499181553150e-19
#define GANTRY_TWO_OVER_ROOT_PI_F64 1.1283791670955126e0
#define GANTRY_SELU_SCALE_F64 1.0507009873554805e0
#define GANTRY_SELU_ALPHA_F64 1.7580993408473768e0
#define GANTRY_PI_F64 3.1415926535897931e0
#define GANTRY_PSI_ROOT_LESS_1_HIGH_F64 4.6163214496836236e-1
#define GANTRY_PSI_ROOT_LESS_1_LOW_F64 -1.5522348162858677e-17
#define GANTRY_PSI_0_F64 9.6767224544762120e-1
#define GANTRY_PSI_1_F64 -4.4276316898359142e-1
#define GANTRY_PSI_2_F64 2.5849976095564681e-1
#define GANTRY_PSI_3_F64 -1.6394270544260631e-1
#define GANTRY_PSI_4_F64 1.0782405069182494e-1
#define GANTRY_PSI_5_F64 -7.2199561237694235e-2
#define GANTRY_PSI_6_F64 4.8804288124394260e-2
#define GANTRY_PSI_7_F64 -3.3161127285208244e-2
#define GANTRY_PSI_8_F64 2.2597649751356055e-2
#define GANTRY_PSI_9_F64 -1.5424746754016054e-2
#define GANTRY_PSI_10_F64 1.0538757096791883e-2
#define GANTRY_PSI_11_F64 -7.2048041384847154e-3
#define GANTRY_PSI_12_F64 4.9272732319366004e-3
#define GANTRY_PSI_13_F64 -3.3674575437340065e-3
#define GANTRY_PSI_14_F64 2.3006410847299760e-3
#define GANTRY_PSI_15_F64 -1.5893901599894457e-3
#define GANTRY_PSI_16_F64 1.1048003276085206e-3
#define GANTRY_PSI_17_F64 -7.0052899357386930e-4
#define GANTRY_PSI_18_F64 4.1369095027633481e-4
#define GANTRY_PSI_19_F64 -3.9376017334214700e-4
#define GANTRY_PSI_20_F64 4.0799067096889709e-4
#define GANTRY_PSI_21_F64 -1.8378544220213608e-4
#define GANTRY_PSI_FAR_0_F64 8.3333333333332982e-2
#define GANTRY_PSI_FAR_1_F64 -8.3333333329148572e-3
#define GANTRY_PSI_FAR_2_F64 3.9682537975250067e-3
#define GANTRY_PSI_FAR_3_F64 -4.1666327998993325e-3
#define GANTRY_PSI_FAR_4_F64 7.5720046865848361e-3
#define GANTRY_PSI_FAR_5_F64 -2.0846000591075921e-2
#define GANTRY_PSI_FAR_6_F64 7.3556523518041303e-2
#define GANTRY_PSI_FAR_7_F64 -2.1457046262106239e-1
/* constants end */

/* The rounding error of the product a b, whose rounded value p must be. */
GANTRY_FN GANTRY_F64 gantry__product_low_f64(GANTRY_F64 a, GANTRY_F64 b, GANTRY_F64 p) {
    return GANTRY_FMA_F64(a, b, -p);
}

/* log(1 + e); e must be in [0, 1]. */
GANTRY_FN GANTRY_F64 gantry__log_above_one_f64(GANTRY_F64 e) {
    GANTRY_F64 one = 1.0 + e;
    GANTRY_F64 correction = (e - (one - 1.0)) / one;
    GANTRY_F64 k = one >= 1.4142135623730951 ? 1.0 : 0.0;
    GANTRY_F64 m = one >= 1.4142135623730951 ? 0.5 * one : one;

    return gantry__log_parts_f64(k, m - 1.0, correction);
}

GANTRY_FN GANTRY_F64 gantry__softplus_f64(GANTRY_F64 x) {
    GANTRY_F64 a = GANTRY_AS_DOUBLE(GANTRY_AS_ULONG(x) & (ulong)0x7fffffffffffffff);
    GANTRY_F64 above = x > 0.0 ? x : 0.0;
    GANTRY_F64 y = above + gantry__log_above_one_f64(gantry__exp_f64(-a));

    return x == x ? y : GANTRY_NAN_F64;
}

GANTRY_FN GANTRY_F64 gantry__elu_f64(GANTRY_F64 x) {
    GANTRY_F64 below = gantry__expm1_f64(x);

    return x > 0.0 ? x : below;
}

GANTRY_FN GANTRY_F64 gantry__selu_f64(GANTRY_F64 x) {
    GANTRY_F64 below = gantry__expm1_f64(x) * GANTRY_SELU_ALPHA_F64;
    GANTRY_F64 above = x * GANTRY_SELU_SCALE_F64;

    return x > 0.0 ? above : below;
}

/* y, but x where y is x anyway and the formula may meet 0 * infinity: above `most` and at 0. It is
 * NaN for -infinity. */
GANTRY_FN GANTRY_F64 gantry__gate_ends_f64(GANTRY_F64 x, double most, GANTRY_F64 y) {
    y = x > most ? x : y;
    y = x == 0.0 ? x : y;
    return x >= -1.7976931348623157e308 ? y : GANTRY_NAN_F64;
}

/* x exp(v) / (1 + exp(v)) for v + v_low, both of which must have x's sign; exp(v) comes in two
 * halves, because it may be denormal. */
GANTRY_FN GANTRY_F64 gantry__times_sigmoid_f64(GANTRY_F64 x, GANTRY_F64 v, GANTRY_F64 v_low) {
    GANTRY_F64 half_exp = gantry__exp_f64(0.5 * v);
    GANTRY_F64 first = x * half_exp;
    GANTRY_F64 far = GANTRY_FMA_F64(first, v_low, first) * half_exp;
    GANTRY_F64 g = gantry__sigmoid_f64(v);
    GANTRY_F64 product = x * g;
    GANTRY_F64 y = GANTRY_FMA_F64(product, v_low * (1.0 - g), product);

    return v < -700.0 ? far : y;
}

GANTRY_FN GANTRY_F64 gantry__silu_f64(GANTRY_F64 x) {
    GANTRY_F64 bounded = x < -800.0 ? -800.0 : x > 800.0 ? 800.0 : x;

    return gantry__gate_ends_f64(x, 800.0,
                                 gantry__times_sigmoid_f64(bounded, bounded, 0.0 * bounded));
}

GANTRY_FN GANTRY_F64 gantry__gelu_tanh_f64(GANTRY_F64 x) {
    GANTRY_F64 bounded = x < -24.0 ? -24.0 : x > 24.0 ? 24.0 : x;
    GANTRY_F64 square = bounded * bounded;
    GANTRY_F64 square_low = gantry__product_low_f64(bounded, bounded, square);
    GANTRY_F64 third = square * GANTRY_GELU_3_HIGH_F64;
    GANTRY_F64 third_low =
        gantry__product_low_f64(square, (GANTRY_F64)(GANTRY_GELU_3_HIGH_F64), third) +
        GANTRY_FMA_F64(square_low, GANTRY_GELU_3_HIGH_F64, square * GANTRY_GELU_3_LOW_F64);
    GANTRY_F64 factor = GANTRY_GELU_1_HIGH_F64 + third;
    GANTRY_F64 share = factor - GANTRY_GELU_1_HIGH_F64;
    GANTRY_F64 factor_low = ((GANTRY_GELU_1_HIGH_F64 - (factor - share)) + (third - share)) +
                            (third_low + GANTRY_GELU_1_LOW_F64);
    GANTRY_F64 v = factor * bounded;
    GANTRY_F64 v_low =
        GANTRY_FMA_F64(factor_low, bounded, gantry__product_low_f64(factor, bounded, v));

    return gantry__gate_ends_f64(x, 24.0, gantry__times_sigmoid_f64(bounded, v, v_low));
}

GANTRY_FN GANTRY_F64 gantry__gelu_erf_f64(GANTRY_F64 x) {
    GANTRY_F64 bounded = x < -40.0 ? -40.0 : x > 40.0 ? 40.0 : x;
    GANTRY_F64 z = bounded * GANTRY_SQRT_HALF_HIGH_F64;
    GANTRY_F64 z_low = GANTRY_FMA_F64(
        bounded, GANTRY_SQRT_HALF_LOW_F64,
        gantry__product_low_f64(bounded, (GANTRY_F64)(GANTRY_SQRT_HALF_HIGH_F64), z));
    GANTRY_F64 slope = GANTRY_TWO_OVER_ROOT_PI_F64 * gantry__exp_f64(-z * z);
    GANTRY_F64 y = (0.5 * bounded) * GANTRY_FMA_F64(slope, z_low, gantry__erfc_f64(-z));

    return gantry__gate_ends_f64(x, 40.0, y);
}

GANTRY_FN GANTRY_F64 gantry__softsign_f64(GANTRY_F64 x) {
    GANTRY_F64 y = x / (1.0 + GANTRY_AS_DOUBLE(GANTRY_AS_ULONG(x) & (ulong)0x7fffffffffffffff));

    return gantry__canonical_f64(y);
}

GANTRY_FN GANTRY_F64 gantry__rsqrt_f64(GANTRY_F64 x) {
    return gantry__canonical_f64(1.0 / GANTRY_SQRT_F64(x));
}

/* digamma(x); x must be at least 6. */
GANTRY_FN GANTRY_F64 gantry__digamma_far_f64(GANTRY_F64 x) {
    GANTRY_F64 inverse = 1.0 / x;
    GANTRY_F64 w = inverse * inverse;
    GANTRY_F64 p = GANTRY_FMA_F64(w, GANTRY_PSI_FAR_7_F64, GANTRY_PSI_FAR_6_F64);

    p = GANTRY_FMA_F64(p, w, GANTRY_PSI_FAR_5_F64);
    p = GANTRY_FMA_F64(p, w, GANTRY_PSI_FAR_4_F64);
    p = GANTRY_FMA_F64(p, w, GANTRY_PSI_FAR_3_F64);
    p = GANTRY_FMA_F64(p, w, GANTRY_PSI_FAR_2_F64);
    p = GANTRY_FMA_F64(p, w, GANTRY_PSI_FAR_1_F64);
    p = GANTRY_FMA_F64(p, w, GANTRY_PSI_FAR_0_F64);
    return gantry__log_f64(x) - GANTRY_FMA_F64(w, p, 0.5 * inverse);
}

/* digamma(1 + f) + more; f must be in [0, 1). */
GANTRY_FN GANTRY_F64 gantry__digamma_root_f64(GANTRY_F64 f, GANTRY_F64 more) {
    GANTRY_F64 d = (f - GANTRY_PSI_ROOT_LESS_1_HIGH_F64) - GANTRY_PSI_ROOT_LESS_1_LOW_F64;
    GANTRY_F64 square = d * d;
    GANTRY_F64 even = GANTRY_FMA_F64(square, GANTRY_PSI_20_F64, GANTRY_PSI_18_F64);
    GANTRY_F64 odd = GANTRY_FMA_F64(square, GANTRY_PSI_21_F64, GANTRY_PSI_19_F64);

    even = GANTRY_FMA_F64(even, square, GANTRY_PSI_16_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_PSI_17_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_PSI_14_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_PSI_15_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_PSI_12_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_PSI_13_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_PSI_10_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_PSI_11_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_PSI_8_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_PSI_9_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_PSI_6_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_PSI_7_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_PSI_4_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_PSI_5_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_PSI_2_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_PSI_3_F64);
    even = GANTRY_FMA_F64(even, square, GANTRY_PSI_0_F64);
    odd = GANTRY_FMA_F64(odd, square, GANTRY_PSI_1_F64);
    return GANTRY_FMA_F64(GANTRY_FMA_F64(odd, d, even), d, more);
}

/* digamma(x) for 1 <= x < 6, others taken as 1: 1 / (x - 1) + 1 / (x - 2) + ... is over / under. */
GANTRY_FN GANTRY_F64 gantry__digamma_near_f64(GANTRY_F64 x) {
    GANTRY_F64 least = x < 1.0 ? 1.0 : x;
    GANTRY_F64 f = least >= 6.0 ? 0.0 : least - 1.0;
    GANTRY_F64 over = 0.0;
    GANTRY_F64 under = 1.0;

    for (int i = 0; i < 4; ++i) {
        GANTRY_F64 more = GANTRY_FMA_F64(over, f, under);
        GANTRY_F64 times = under * f;

        over = f >= 1.0 ? more : over;
        under = f >= 1.0 ? times : under;
        f = f >= 1.0 ? f - 1.0 : f;
    }
    return gantry__digamma_root_f64(f, over / under);
}

GANTRY_FN GANTRY_F64 gantry__digamma_f64(GANTRY_F64 x) {
    GANTRY_F64 a = GANTRY_AS_DOUBLE(GANTRY_AS_ULONG(x) & (ulong)0x7fffffffffffffff);
    GANTRY_F64 nearest = (a + 4503599627370496.0) - 4503599627370496.0;
    GANTRY_F64 t = a < 4503599627370496.0 ? a - nearest : 0.0;
    GANTRY_F64 angle = t * GANTRY_PI_F64;
    GANTRY_F64 cotangent = GANTRY_PI_F64 * gantry__cos_4pi_f64(angle) / gantry__sin_4pi_f64(angle);
    GANTRY_F64 from = x < 1.0 ? 1.0 + a : a;
    GANTRY_F64 near = gantry__digamma_near_f64(from);
    GANTRY_F64 far = gantry__digamma_far_f64(from < 6.0 ? 6.0 : from);
    GANTRY_F64 pole = x < 0.0 ? cotangent : -1.0 / a;
    GANTRY_F64 y = from < 6.0 ? near : far;

    y = x < 1.0 ? y + pole : y;
    y = t == 0.0 ? (x <= 0.0 ? GANTRY_NAN_F64 : y) : y;
    y = x > 1.7976931348623157e308 ? x : y;
    return x >= -1.7976931348623157e308 ? y : GANTRY_NAN_F64;
}

#endif
