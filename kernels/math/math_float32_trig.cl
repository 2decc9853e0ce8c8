/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sine, cosine, tangent and their inverses for all float32, with the same bits on every device. It
 * must come after math_float32.cl, whose promises and rules hold here, too, and whose constants and
 * tails these functions use.
 *
 * Largest error over all 2^32 inputs, as tests/unit/math/exhaustive_math_float32.c --full finds it
 * (see math_float32.cl):
 *
 *     function   largest error   at
 *     sin        0.7501 ulp      1.65606324e+27   every 7th input
 *     cos        0.7542 ulp      275274.938       every 7th input
 *     tan        1.0550 ulp      -1.7891417e+19   every 7th input
 *     asin       0.7026 ulp      0.528967202      every 7th input
 *     acos       0.6767 ulp      0.545018554      every 7th input
 *     atan       1.1958 ulp      -1.01739264      every 37th input
 *     atan2      1.0294 ulp      y = 1.63577667e-19, x = 1.73881094e-19
 *                                (of 12 million pairs: test_math_atan2 3000000)
 *
 * How it works. sin, cos and tan: x = n pi/2 + r, |r| <= pi/4, with r as a sum high + low. Only n
 * mod 4 matters.
 *   Near (|x| < 1024): n is below 2^10, as math_float32.cl says.
 *   Far: x = 2^e m with a 24-bit integer m, and x 2/pi / 4 is needed modulo 1. Bits of 2/pi that m
 * 2^e turns into multiples of 4 are dropped, so that 96 bits from a place that e gives are enough
 * (Payne and Hanek):
 *
 *     0.00..0 1010 0010 1111 1001 ...    2/pi after 15 zeros, in 32-bit words
 *             [  w0  |  w1  |  w2  ]     begins at bit e' = exponent of x - 10; four words are
 *                                        chosen, then shifted
 *
 * The product's upper 64 bits are n mod 4 and 62 bits of the fraction. No float32 is nearer than
 * 2^-30 to a multiple of pi/2, so 32 bits of it mean something. The fraction becomes three exact
 * floats, and is multiplied by pi/2 as pairs. Devices leave this out where no lane needs it; a C
 * loop always computes both ways, in order to be vector code.
 *   tan: t = tan(r) for even n, -1 / t for odd n, with the quotient's rest.
 *   asin and acos: x + x^3 P(x^2) up to 1/2. Beyond, pi/2 - 2 asin(s), s = sqrt((1 - x) / 2), with
 * s as a sum of the rounded root and a rest.
 *   atan: t = x or 1 / x, whichever is below 1; t + t^3 P(t^2), with the rest of 1 / x. The
 * quotient of atan2, and its rest, come from operands scaled so that nothing overflows. All of the
 * inverse functions end in base + t + tail, where base is 0, pi/2 or pi: gantry__sum_with_base_f32.
 */

/* constants: made by scripts/make_math_coefficients.py */
#define GANTRY_HALF_PI_F32 1.57079637e0f
#define GANTRY_HALF_PI_LOW_F32 -4.37113883e-8f
#define GANTRY_TWO_OVER_PI_WORD_0 0x000145f3u
#define GANTRY_TWO_OVER_PI_WORD_1 0x06dc9c88u
#define GANTRY_TWO_OVER_PI_WORD_2 0x2a53f84eu
#define GANTRY_TWO_OVER_PI_WORD_3 0xafa3ea69u
#define GANTRY_TWO_OVER_PI_WORD_4 0xbb81b6c5u
#define GANTRY_TWO_OVER_PI_WORD_5 0x2b327887u
#define GANTRY_TWO_OVER_PI_WORD_6 0x2083fca2u
#define GANTRY_TAN_0_F32 -1.66666508e-1f
#define GANTRY_TAN_1_F32 1.33326754e-1f
#define GANTRY_TAN_2_F32 5.40589131e-2f
#define GANTRY_TAN_3_F32 2.12862045e-2f
#define GANTRY_TAN_4_F32 1.08274659e-2f
#define GANTRY_TAN_5_F32 9.82019483e-5f
#define GANTRY_TAN_6_F32 4.37272573e-3f
#define GANTRY_ASIN_0_F32 1.66667521e-1f
#define GANTRY_ASIN_1_F32 7.49530941e-2f
#define GANTRY_ASIN_2_F32 4.54691425e-2f
#define GANTRY_ASIN_3_F32 2.41848435e-2f
#define GANTRY_ASIN_4_F32 4.21581678e-2f
#define GANTRY_ATAN_0_F32 -8.33329931e-2f
#define GANTRY_ATAN_1_F32 1.99985534e-1f
#define GANTRY_ATAN_2_F32 -1.42642871e-1f
#define GANTRY_ATAN_3_F32 1.09523930e-1f
#define GANTRY_ATAN_4_F32 -8.40399414e-2f
#define GANTRY_ATAN_5_F32 5.79661280e-2f
#define GANTRY_ATAN_6_F32 -3.11857574e-2f
#define GANTRY_ATAN_7_F32 1.09186014e-2f
#define GANTRY_ATAN_8_F32 -1.79446919e-3f
/* constants end */

#define GANTRY_NEAR_LIMIT_F32 1024.0f

/* An angle modulo 2 pi: (high + low) + quarter pi/2; only quarter's last two bits count. */
typedef struct gantry__angle_f32_t {
    GANTRY_F32 high;
    GANTRY_F32 low;
    GANTRY_U32 quarter;
} gantry__angle_f32_t;

GANTRY_FN gantry__angle_f32_t gantry__reduce_near_f32(GANTRY_F32 x) {
    GANTRY_F32 shifted = GANTRY_FMA_F32(x, GANTRY_TWO_OVER_PI_F32, GANTRY_ROUNDER_F32);
    gantry__angle_f32_t angle;

    angle.high = gantry__quarter_high_f32(x, shifted);
    angle.low = gantry__quarter_low_f32(x, shifted, angle.high);
    angle.quarter = GANTRY_AS_UINT(shifted);
    return angle;
}

/* The 32 bits of the two words that begin at bit `shift`, which must be below 32. */
GANTRY_FN GANTRY_U32 gantry__word_at_u32(GANTRY_U32 first, GANTRY_U32 second, GANTRY_U32 shift) {
    return (first << shift) | ((second >> 1) >> (31u - shift));
}

/* high + low = fraction pi/2 for a quarter's fraction (g 2^32 + low_bits) / 2^62 - 1/2; g must be
 * below 2^30. */
GANTRY_FN gantry__angle_f32_t gantry__angle_of_fraction_f32(GANTRY_U32 g, GANTRY_U32 low_bits) {
    GANTRY_U32 middle_bits = ((g & 0x7fu) << 16) | (low_bits >> 16);
    GANTRY_F32 first = GANTRY_AS_FLOAT((g >> 7) | 0x3f800000u) - 1.5f;
    GANTRY_F32 second = GANTRY_AS_FLOAT(middle_bits | 0x34000000u) - 1.19209290e-7f;
    GANTRY_F32 third = GANTRY_AS_FLOAT(((low_bits & 0xffffu) << 7) | 0x28800000u) - 1.42108547e-14f;
    GANTRY_F32 sum = first + second;
    GANTRY_F32 rest = (second - (sum - first)) + third;
    gantry__angle_f32_t angle;

    angle.high = sum * GANTRY_HALF_PI_F32;
    angle.low = GANTRY_FMA_F32(sum, GANTRY_HALF_PI_F32, -angle.high) +
                GANTRY_FMA_F32(sum, GANTRY_HALF_PI_LOW_F32, rest * GANTRY_HALF_PI_F32);
    angle.quarter = 0u;
    return angle;
}

/* Reduces a, which must be positive and finite, and at least 1024. */
GANTRY_FN gantry__angle_f32_t gantry__reduce_far_f32(GANTRY_F32 a) {
    GANTRY_U32 bits = GANTRY_AS_UINT(a);
    GANTRY_U32 m = (bits & 0x007fffffu) | 0x00800000u;
    GANTRY_U32 place = (bits >> 23) - 137u;
    GANTRY_U32 shift = place & 31u;
    GANTRY_U32 p0 = (place & 64u) != 0u ? GANTRY_TWO_OVER_PI_WORD_2 : GANTRY_TWO_OVER_PI_WORD_0;
    GANTRY_U32 p1 = (place & 64u) != 0u ? GANTRY_TWO_OVER_PI_WORD_3 : GANTRY_TWO_OVER_PI_WORD_1;
    GANTRY_U32 p2 = (place & 64u) != 0u ? GANTRY_TWO_OVER_PI_WORD_4 : GANTRY_TWO_OVER_PI_WORD_2;
    GANTRY_U32 p3 = (place & 64u) != 0u ? GANTRY_TWO_OVER_PI_WORD_5 : GANTRY_TWO_OVER_PI_WORD_3;
    GANTRY_U32 p4 = (place & 64u) != 0u ? GANTRY_TWO_OVER_PI_WORD_6 : GANTRY_TWO_OVER_PI_WORD_4;
    GANTRY_U32 q0 = (place & 32u) != 0u ? p1 : p0;
    GANTRY_U32 q1 = (place & 32u) != 0u ? p2 : p1;
    GANTRY_U32 q2 = (place & 32u) != 0u ? p3 : p2;
    GANTRY_U32 q3 = (place & 32u) != 0u ? p4 : p3;
    GANTRY_U32 w1 = gantry__word_at_u32(q1, q2, shift);
    GANTRY_U32 middle = m * w1;
    GANTRY_U32 low = middle + GANTRY_MUL_HIGH_U32(m, gantry__word_at_u32(q2, q3, shift));
    GANTRY_U32 carry = low < middle ? 1u : 0u;
    GANTRY_U32 high = m * gantry__word_at_u32(q0, q1, shift) + GANTRY_MUL_HIGH_U32(m, w1) + carry;
    /* Half a quarter is added, so that n is the nearest integer. */
    GANTRY_U32 turned = high + 0x20000000u;
    gantry__angle_f32_t angle = gantry__angle_of_fraction_f32(turned & 0x3fffffffu, low);

    angle.quarter = turned >> 30;
    return angle;
}

GANTRY_FN gantry__angle_f32_t gantry__reduce_f32(GANTRY_F32 x) {
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    gantry__angle_f32_t angle = gantry__reduce_near_f32(x);

    if (GANTRY_ANY_LANE(a >= GANTRY_NEAR_LIMIT_F32)) {
        gantry__angle_f32_t distant = gantry__reduce_far_f32(a);
        GANTRY_U32 sign = GANTRY_AS_UINT(x) & 0x80000000u;
        GANTRY_U32 negated = 0u - (sign >> 31);
        GANTRY_U32 quarter = (distant.quarter ^ negated) - negated;
        GANTRY_F32 high = GANTRY_AS_FLOAT(GANTRY_AS_UINT(distant.high) ^ sign);
        GANTRY_F32 low = GANTRY_AS_FLOAT(GANTRY_AS_UINT(distant.low) ^ sign);

        angle.high = a >= GANTRY_NEAR_LIMIT_F32 ? high : angle.high;
        angle.low = a >= GANTRY_NEAR_LIMIT_F32 ? low : angle.low;
        angle.quarter = a >= GANTRY_NEAR_LIMIT_F32 ? quarter : angle.quarter;
    }
    return angle;
}

/* sin(high + low). Unlike in gantry__sin_tail_f32, low may be half of high's last place. */
GANTRY_FN GANTRY_F32 gantry__sin_of_angle_f32(gantry__angle_f32_t angle) {
    GANTRY_F32 halved = -0.5f * angle.high;

    return gantry__sin_tail_f32(angle.high,
                                GANTRY_FMA_F32(angle.low, halved * angle.high, angle.low));
}

/* sin, cos and tan of x, which may be infinite or NaN, from its angle; the angle may then be
 * anything. */
GANTRY_FN GANTRY_F32 gantry__sin_from_f32(GANTRY_F32 x, gantry__angle_f32_t angle) {
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 s = gantry__sin_of_angle_f32(angle);
    GANTRY_F32 c = gantry__cos_tail_f32(angle.high, angle.low);
    GANTRY_F32 y = (angle.quarter & 1u) != 0u ? c : s;

    y = GANTRY_AS_FLOAT(GANTRY_AS_UINT(y) ^ ((angle.quarter & 2u) << 30));
    y = x == 0.0f ? x : y;
    return a < GANTRY_INFINITY_F32 ? y : GANTRY_NAN_F32;
}

GANTRY_FN GANTRY_F32 gantry__cos_from_f32(GANTRY_F32 x, gantry__angle_f32_t angle) {
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 s = gantry__sin_of_angle_f32(angle);
    GANTRY_F32 c = gantry__cos_tail_f32(angle.high, angle.low);
    GANTRY_F32 y = (angle.quarter & 1u) != 0u ? s : c;

    y = GANTRY_AS_FLOAT(GANTRY_AS_UINT(y) ^ (((angle.quarter + 1u) & 2u) << 30));
    return a < GANTRY_INFINITY_F32 ? y : GANTRY_NAN_F32;
}

/* tan(r + low) - r for |r| <= pi/4, as r^3 (P(r^2) + 1/2): the half takes most of what P would have
 * to round. Times low comes 1 + tan(r)^2, or something near it that does not wait for tan(r). */
GANTRY_FN GANTRY_F32 gantry__tan_tail_f32(GANTRY_F32 r, GANTRY_F32 low) {
    GANTRY_F32 u = r * r;
    GANTRY_F32 cube = r * u;
    GANTRY_F32 p = GANTRY_FMA_F32(u, GANTRY_TAN_6_F32, GANTRY_TAN_5_F32);
    GANTRY_F32 rest = GANTRY_FMA_F32(low, 1.625f * u, low);

    p = GANTRY_FMA_F32(p, u, GANTRY_TAN_4_F32);
    p = GANTRY_FMA_F32(p, u, GANTRY_TAN_3_F32);
    p = GANTRY_FMA_F32(p, u, GANTRY_TAN_2_F32);
    p = GANTRY_FMA_F32(p, u, GANTRY_TAN_1_F32);
    p = GANTRY_FMA_F32(p, u, GANTRY_TAN_0_F32);
    return GANTRY_FMA_F32(cube, 0.5f, GANTRY_FMA_F32(cube, p, rest));
}

/* -1 / (t + t_low); t_low must be far below t */
GANTRY_FN GANTRY_F32 gantry__minus_inverse_f32(GANTRY_F32 t, GANTRY_F32 t_low) {
    GANTRY_F32 q = 1.0f / t;

    return -(q + gantry__reciprocal_rest_f32(t, t_low, q));
}

GANTRY_FN GANTRY_F32 gantry__tan_from_f32(GANTRY_F32 x, gantry__angle_f32_t angle) {
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 tail = gantry__tan_tail_f32(angle.high, angle.low);
    GANTRY_F32 t = angle.high + tail;
    GANTRY_F32 inverse = gantry__minus_inverse_f32(t, (angle.high - t) + tail);
    GANTRY_F32 y = (angle.quarter & 1u) != 0u ? inverse : t;

    y = x == 0.0f ? x : y;
    return a < GANTRY_INFINITY_F32 ? y : GANTRY_NAN_F32;
}

GANTRY_FN GANTRY_F32 gantry__sin_f32(GANTRY_F32 x) {
    return gantry__sin_from_f32(x, gantry__reduce_f32(x));
}

GANTRY_FN GANTRY_F32 gantry__cos_f32(GANTRY_F32 x) {
    return gantry__cos_from_f32(x, gantry__reduce_f32(x));
}

GANTRY_FN GANTRY_F32 gantry__tan_f32(GANTRY_F32 x) {
    return gantry__tan_from_f32(x, gantry__reduce_f32(x));
}

/* The same bits for |x| < GANTRY_NEAR_LIMIT_F32 and NaN, at a fourth of the cost where
 * GANTRY_ANY_LANE skips nothing. */
GANTRY_FN GANTRY_F32 gantry__sin_near_f32(GANTRY_F32 x) {
    return gantry__sin_from_f32(x, gantry__reduce_near_f32(x));
}

GANTRY_FN GANTRY_F32 gantry__cos_near_f32(GANTRY_F32 x) {
    return gantry__cos_from_f32(x, gantry__reduce_near_f32(x));
}

GANTRY_FN GANTRY_F32 gantry__tan_near_f32(GANTRY_F32 x) {
    return gantry__tan_from_f32(x, gantry__reduce_near_f32(x));
}

/* base + (t + tail). base must be 0 or above t, base_low what is missing in base, and tail far
 * below t. */
GANTRY_FN GANTRY_F32 gantry__sum_with_base_f32(GANTRY_F32 base, GANTRY_F32 base_low, GANTRY_F32 t,
                                               GANTRY_F32 tail) {
    GANTRY_F32 sum = base + t;

    return sum + ((((base - sum) + t) + base_low) + tail);
}

/* asin(s) - s; s must be in [0, 1/2], and u = s^2 */
GANTRY_FN GANTRY_F32 gantry__asin_tail_f32(GANTRY_F32 s, GANTRY_F32 u) {
    GANTRY_F32 p = GANTRY_FMA_F32(u, GANTRY_ASIN_4_F32, GANTRY_ASIN_3_F32);

    p = GANTRY_FMA_F32(p, u, GANTRY_ASIN_2_F32);
    p = GANTRY_FMA_F32(p, u, GANTRY_ASIN_1_F32);
    p = GANTRY_FMA_F32(p, u, GANTRY_ASIN_0_F32);
    return s * u * p;
}

/* high + low = asin(a) for 0 <= a <= 1/2; beyond, it is 2 asin(sqrt((1 - a) / 2)), which is pi/2 -
 * asin(a). */
GANTRY_FN gantry__angle_f32_t gantry__asin_parts_f32(GANTRY_F32 a) {
    GANTRY_F32 halved = (1.0f - a) * 0.5f;
    GANTRY_F32 root = GANTRY_SQRT_F32(halved);
    GANTRY_F32 lower = GANTRY_FMA_F32(-root, root, halved) / (root + root + 1.0e-30f);
    GANTRY_F32 squared = a * a;
    GANTRY_F32 s = a > 0.5f ? root : a;
    GANTRY_F32 u = a > 0.5f ? halved : squared;
    GANTRY_F32 tail = gantry__asin_tail_f32(s, u);
    GANTRY_F32 large_high = root + root;
    GANTRY_F32 large_low = (lower + tail) + (lower + tail);
    gantry__angle_f32_t angle;

    angle.high = a > 0.5f ? large_high : a;
    angle.low = a > 0.5f ? large_low : tail;
    angle.quarter = 0u;
    return angle;
}

GANTRY_FN GANTRY_F32 gantry__asin_f32(GANTRY_F32 x) {
    GANTRY_U32 sign = GANTRY_AS_UINT(x) & 0x80000000u;
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    gantry__angle_f32_t part = gantry__asin_parts_f32(a);
    GANTRY_F32 small = part.high + part.low;
    GANTRY_F32 large = gantry__sum_with_base_f32(GANTRY_HALF_PI_F32, GANTRY_HALF_PI_LOW_F32,
                                                 -part.high, -part.low);
    GANTRY_F32 y = a > 0.5f ? large : small;

    y = GANTRY_AS_FLOAT(GANTRY_AS_UINT(y) | sign);
    return a <= 1.0f ? y : GANTRY_NAN_F32;
}

GANTRY_FN GANTRY_F32 gantry__acos_f32(GANTRY_F32 x) {
    GANTRY_U32 sign = GANTRY_AS_UINT(x) & 0x80000000u;
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    gantry__angle_f32_t part = gantry__asin_parts_f32(a);
    /* pi/2 - x in the middle, 2 asin(s) on the right, pi - 2 asin(s) on the left */
    GANTRY_U32 turned = a > 0.5f ? sign : sign ^ 0x80000000u;
    GANTRY_F32 high = GANTRY_AS_FLOAT(GANTRY_AS_UINT(part.high) ^ turned);
    GANTRY_F32 low = GANTRY_AS_FLOAT(GANTRY_AS_UINT(part.low) ^ turned);
    GANTRY_F32 outer = x < 0.0f ? 2.0f * GANTRY_HALF_PI_F32 : 0.0f;
    GANTRY_F32 outer_low = x < 0.0f ? 2.0f * GANTRY_HALF_PI_LOW_F32 : 0.0f;
    GANTRY_F32 base = a > 0.5f ? outer : GANTRY_HALF_PI_F32;
    GANTRY_F32 base_low = a > 0.5f ? outer_low : GANTRY_HALF_PI_LOW_F32;
    GANTRY_F32 y = gantry__sum_with_base_f32(base, base_low, high, low);

    return a <= 1.0f ? y : GANTRY_NAN_F32;
}

/* atan(t) - t for 0 <= t <= 1, as t^3 (P(t^2) - 1/4): the quarter takes most of what P would
 * have to round. */
GANTRY_FN GANTRY_F32 gantry__atan_tail_f32(GANTRY_F32 t) {
    GANTRY_F32 u = t * t;
    GANTRY_F32 cube = t * u;
    GANTRY_F32 p = GANTRY_FMA_F32(u, GANTRY_ATAN_8_F32, GANTRY_ATAN_7_F32);

    p = GANTRY_FMA_F32(p, u, GANTRY_ATAN_6_F32);
    p = GANTRY_FMA_F32(p, u, GANTRY_ATAN_5_F32);
    p = GANTRY_FMA_F32(p, u, GANTRY_ATAN_4_F32);
    p = GANTRY_FMA_F32(p, u, GANTRY_ATAN_3_F32);
    p = GANTRY_FMA_F32(p, u, GANTRY_ATAN_2_F32);
    p = GANTRY_FMA_F32(p, u, GANTRY_ATAN_1_F32);
    p = GANTRY_FMA_F32(p, u, GANTRY_ATAN_0_F32);
    return GANTRY_FMA_F32(cube, p, -0.25f * cube);
}

GANTRY_FN GANTRY_F32 gantry__atan_f32(GANTRY_F32 x) {
    GANTRY_U32 sign = GANTRY_AS_UINT(x) & 0x80000000u;
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    /* From 2^30 on the result is pi/2. */
    GANTRY_F32 bounded = a > 1073741824.0f ? 1073741824.0f : a;
    GANTRY_F32 inverse = 1.0f / bounded;
    GANTRY_F32 t = bounded > 1.0f ? inverse : bounded;
    GANTRY_F32 tail = gantry__atan_tail_f32(t);
    GANTRY_F32 small = t + tail;
    GANTRY_F32 rest = inverse * GANTRY_FMA_F32(-inverse, bounded, 1.0f);
    GANTRY_F32 large = gantry__sum_with_base_f32(GANTRY_HALF_PI_F32, GANTRY_HALF_PI_LOW_F32,
                                                 -inverse, -(tail + rest));
    GANTRY_F32 y = bounded > 1.0f ? large : small;

    y = GANTRY_AS_FLOAT(GANTRY_AS_UINT(y) | sign);
    return x == x ? y : GANTRY_NAN_F32;
}

/* The angle of the point (x, y), -pi to pi. */
GANTRY_LONG_FN GANTRY_F32 gantry__atan2_f32(GANTRY_F32 y, GANTRY_F32 x) {
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 b = GANTRY_AS_FLOAT(GANTRY_AS_UINT(y) & 0x7fffffffu);
    GANTRY_F32 greater = a < b ? b : a;
    GANTRY_F32 lesser = a < b ? a : b;
    GANTRY_F32 quotient = lesser / greater;
    GANTRY_F32 equal = greater == 0.0f ? 0.0f : 1.0f;
    GANTRY_F32 t = lesser == greater ? equal : quotient;
    /* The rest of the quotient, from operands scaled to the middle of the exponents. Below 2^-12 it
     * does not count. */
    GANTRY_F32 shrunk = greater > 1.15292150e18f ? 8.07793567e-28f : 1.0f;
    GANTRY_F32 scale = greater < 8.67361738e-19f ? 1.23794004e27f : shrunk;
    GANTRY_F32 divisor = greater * scale;
    GANTRY_F32 quotient_rest = GANTRY_FMA_F32(-t, divisor, lesser * scale) / divisor;
    GANTRY_F32 inner_rest = t < 1.0f ? quotient_rest : 0.0f;
    GANTRY_F32 rest = t > 2.44140625e-4f ? inner_rest : 0.0f;
    GANTRY_F32 tail =
        GANTRY_FMA_F32(rest, GANTRY_FMA_F32(-0.5f * t, t, 1.0f), gantry__atan_tail_f32(t));
    /* On the far sides of the axes the angle is counted from pi/2 or from pi, upwards or
     * downwards. */
    GANTRY_U32 left = GANTRY_AS_UINT(x) & 0x80000000u;
    GANTRY_U32 turned = a < b ? left ^ 0x80000000u : left;
    GANTRY_F32 side = left != 0u ? 2.0f * GANTRY_HALF_PI_F32 : 0.0f;
    GANTRY_F32 side_low = left != 0u ? 2.0f * GANTRY_HALF_PI_LOW_F32 : 0.0f;
    GANTRY_F32 base = a < b ? GANTRY_HALF_PI_F32 : side;
    GANTRY_F32 base_low = a < b ? GANTRY_HALF_PI_LOW_F32 : side_low;
    GANTRY_F32 high = GANTRY_AS_FLOAT(GANTRY_AS_UINT(t) ^ turned);
    GANTRY_F32 low = GANTRY_AS_FLOAT(GANTRY_AS_UINT(tail) ^ turned);
    GANTRY_F32 angle = gantry__sum_with_base_f32(base, base_low, high, low);

    angle = GANTRY_AS_FLOAT(GANTRY_AS_UINT(angle) | (GANTRY_AS_UINT(y) & 0x80000000u));
    angle = x == x ? angle : GANTRY_NAN_F32;
    return y == y ? angle : GANTRY_NAN_F32;
}
