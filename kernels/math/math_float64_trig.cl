/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sine and cosine of float64. It must come after math_float64.cl, whose promises and rules hold
 * here, too, and whose coefficients it uses, and after math_float64_library.cl. It is empty where
 * GANTRY_HAS_FLOAT64 is 0.
 *
 * Near (|x| < 2^20) the bits are the same on every device; beyond, the results are the language's
 * own.
 *
 * Largest error seen over 80 million random inputs a function, in units of the exact result's last
 * place (tests/unit/math/test_math_float64.c 20000000, where the ranges are; the library being
 * glibc's):
 *
 *     function   largest error   at
 *     sin        0.7207 ulp      307181.01773050148
 *     cos        0.7280 ulp      0.78602537887608714
 *
 * x = n pi/2 + r, |r| <= pi/4, with r as a sum high + low. x less n times the first part of pi/2 is
 * exact, a multiple of 2^-53 below 1. n is below 2^20, so n times the second part, of 33 bits, is
 * exact, too; what its subtraction rounds goes into low. Only n mod 4 matters. Odd n take the
 * cosine's polynomial of r, even n the sine's, and the two differ only in their coefficients:
 *
 *     sine     high + (r^3 P(r^2) + low (1 - r^2 / 2))
 *     cosine   (1 - r^2 / 2) + (r^4 P(r^2) + (the rest of 1 - r^2 / 2 - high low))
 */
#if GANTRY_HAS_FLOAT64

#define GANTRY_NEAR_LIMIT_F64 1048576.0

/* An angle modulo 2 pi: (high + low) + quarter pi/2; only quarter's last two bits count. */
typedef struct gantry__angle_f64_t {
    GANTRY_F64 high;
    GANTRY_F64 low;
    GANTRY_U64 quarter;
} gantry__angle_f64_t;

GANTRY_FN gantry__angle_f64_t gantry__reduce_near_f64(GANTRY_F64 x) {
    GANTRY_F64 shifted = GANTRY_FMA_F64(x, GANTRY_TWO_OVER_PI_F64, GANTRY_ROUNDER_F64);
    gantry__angle_f64_t angle;

    angle.high = gantry__quarter_high_f64(x, shifted);
    angle.low = gantry__quarter_low_f64(x, shifted, angle.high);
    angle.quarter = GANTRY_AS_ULONG(shifted);
    return angle;
}

#define GANTRY_TURN_F64(index)                                              \
    gantry__of_quarter_f64(quarter, (GANTRY_F64)(GANTRY_SIN_##index##_F64), \
                           (GANTRY_F64)(GANTRY_COS_##index##_F64))

/* sin((high + low) + quarter pi/2), chosen by masks, because compilers compute both branches. */
GANTRY_FN GANTRY_F64 gantry__sin_of_angle_f64(GANTRY_F64 high, GANTRY_F64 low, GANTRY_U64 quarter) {
    GANTRY_F64 u = high * high;
    GANTRY_F64 halved = -0.5 * high;
    GANTRY_F64 w = GANTRY_FMA_F64(halved, high, 1.0);
    GANTRY_F64 lead = gantry__of_quarter_f64(quarter, high, w);
    GANTRY_F64 rest =
        gantry__of_quarter_f64(quarter, GANTRY_FMA_F64(-0.5 * low, u, low),
                               GANTRY_FMA_F64(-high, low, GANTRY_FMA_F64(halved, high, 1.0 - w)));
    GANTRY_F64 factor = u * gantry__of_quarter_f64(quarter, high, u);
    GANTRY_F64 p = GANTRY_FMA_F64(u, GANTRY_TURN_F64(5), GANTRY_TURN_F64(4));

    p = GANTRY_FMA_F64(p, u, GANTRY_TURN_F64(3));
    p = GANTRY_FMA_F64(p, u, GANTRY_TURN_F64(2));
    p = GANTRY_FMA_F64(p, u, GANTRY_TURN_F64(1));
    p = GANTRY_FMA_F64(p, u, GANTRY_TURN_F64(0));
    p = lead + GANTRY_FMA_F64(factor, p, rest);
    return GANTRY_AS_DOUBLE(GANTRY_AS_ULONG(p) ^ ((quarter & (ulong)2) << 62));
}

#undef GANTRY_TURN_F64

/* sin(x) for |x| < GANTRY_NEAR_LIMIT_F64; beyond, the result is unspecified. */
GANTRY_FN GANTRY_F64 gantry__sin_near_f64(GANTRY_F64 x) {
    gantry__angle_f64_t angle = gantry__reduce_near_f64(x);
    GANTRY_F64 y = gantry__sin_of_angle_f64(angle.high, angle.low, angle.quarter);

    return x == 0.0 ? x : y;
}

/* cos(x) for |x| < GANTRY_NEAR_LIMIT_F64; beyond, the result is unspecified. */
GANTRY_FN GANTRY_F64 gantry__cos_near_f64(GANTRY_F64 x) {
    gantry__angle_f64_t angle = gantry__reduce_near_f64(x);

    return gantry__sin_of_angle_f64(angle.high, angle.low, angle.quarter + (ulong)1);
}

/* Defines name(x), which takes the near function or the language's own. */
#define GANTRY_NEAR_OR_LIBRARY(name)                                                     \
    GANTRY_FN GANTRY_F64 gantry__##name##_f64(GANTRY_F64 x) {                            \
        GANTRY_F64 a = GANTRY_AS_DOUBLE(GANTRY_AS_ULONG(x) & (ulong)0x7fffffffffffffff); \
        GANTRY_F64 y = gantry__##name##_near_f64(x);                                     \
                                                                                         \
        if (GANTRY_ANY_LANE(!(a < GANTRY_NEAR_LIMIT_F64))) {                             \
            GANTRY_F64 far = gantry__canonical_f64(name(x));                             \
            y = a < GANTRY_NEAR_LIMIT_F64 ? y : far;                                     \
        }                                                                                \
        return y;                                                                        \
    }

GANTRY_NEAR_OR_LIBRARY(sin)
GANTRY_NEAR_OR_LIBRARY(cos)

#undef GANTRY_NEAR_OR_LIBRARY

#endif
