/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log |gamma(x)| and its derivative, digamma, of float32, with the same bits on every device. It
 * must come after math_float32_pair.cl; the rules are those of math_float32.cl. As in TensorFlow
 * lgamma is infinite and digamma NaN at 0 and at the negative integers.
 *
 * Largest error, as tests/unit/math/exhaustive_math_float32.c finds it (see math_float32.cl):
 *
 *     function   largest error   at               inputs
 *     lgamma     1.8042 ulp      -2.45643353      every 37th input
 *     digamma    2.31 ulp        -1.57331502      every 101st; all from -4194304 to -0.45
 *
 * How it works, with a = |x| and t = a less the nearest integer, which is exact. Positive x:
 *     lgamma     from 9/4 on   (x - 1/2) (log(x) - 1) + (log(2 pi) - 1) / 2 + (1/12 + w P(w)) / x,
 *                              w = 1 / x^2
 *                from 5/4 on   (x - 2) P(x - 2)
 *                below         (x - 1) P(x - 1) - log(x), as lgamma(x + 1) - log(x)
 *     digamma    from 2 on     log(x) - 1 / (2 x) - w (1/12 + w P(w))
 *                from 1 on     d P(d), where d = x - 1.4616 is the distance from the root, a pair
 *                below         the same for x + 1, less 1 / x
 * Negative x: lgamma(x) = -log(a |sin(pi t)| / pi) - lgamma(a), and digamma(x) = digamma(1 + a) +
 * pi cot(pi t), where pi cot(pi t) = 1 / t - t P(t^2).
 *   Between any two negative integers the two summands cancel somewhere. Next to a zero the sum
 * keeps only what its summands have beyond float's 24 bits, so all of this is calculated in pairs,
 * and every first coefficient of a polynomial is a pair where its rounding would show. That is
 * enough for all but the zeros nearest to 0, where floats are dense, and two of digamma's further
 * out that happen to have a float within 2^-28. Each of these has a row: its place as a pair, and a
 * polynomial of four terms, which holds within 1/256 of the distance to the nearest integer.
 */

/* constants: made by scripts/make_math_coefficients_special.py */
#define GANTRY_GAMMA2_0_HIGH_F32 4.22784328e-1f
#define GANTRY_GAMMA2_0_LOW_F32 6.61461108e-9f
#define GANTRY_GAMMA2_1_HIGH_F32 3.22467029e-1f
#define GANTRY_GAMMA2_1_LOW_F32 -3.40863426e-9f
#define GANTRY_GAMMA2_2_F32 -6.73522949e-2f
#define GANTRY_GAMMA2_3_F32 2.05815285e-2f
#define GANTRY_GAMMA2_4_F32 -7.38451863e-3f
#define GANTRY_GAMMA2_5_F32 2.87403422e-3f
#define GANTRY_GAMMA2_6_F32 -1.24576641e-3f
#define GANTRY_GAMMA2_7_F32 5.63367910e-4f
#define GANTRY_GAMMA2_8_F32 2.84726091e-4f
#define GANTRY_GAMMA2_9_F32 1.07988238e-3f
#define GANTRY_GAMMA2_10_F32 8.04766314e-4f
#define GANTRY_GAMMA2_11_F32 3.25408328e-4f
#define GANTRY_TWELFTH_HIGH_F32 8.33333358e-2f
#define GANTRY_TWELFTH_LOW_F32 -2.48352694e-9f
#define GANTRY_STIRLING_0_F32 -2.77776504e-3f
#define GANTRY_STIRLING_1_F32 7.92830950e-4f
#define GANTRY_STIRLING_2_F32 -5.76221501e-4f
#define GANTRY_STIRLING_3_F32 6.24879089e-4f
#define GANTRY_STIRLING_4_F32 -5.04793774e-4f
#define GANTRY_STIRLING_BASE_HIGH_F32 4.18938547e-1f
#define GANTRY_STIRLING_BASE_LOW_F32 -1.41681449e-8f
#define GANTRY_SINC_1_HIGH_F32 -1.64493406e0f
#define GANTRY_SINC_1_LOW_F32 -8.65883454e-9f
#define GANTRY_SINC_2_HIGH_F32 8.11742425e-1f
#define GANTRY_SINC_2_LOW_F32 3.18448851e-10f
#define GANTRY_SINC_0_F32 -1.90751821e-1f
#define GANTRY_SINC_1_F32 2.61477418e-2f
#define GANTRY_SINC_2_F32 -2.34498410e-3f
#define GANTRY_SINC_3_F32 1.43797399e-4f
#define GANTRY_COT_HEAD_0_HIGH_F32 3.28986812e0f
#define GANTRY_COT_HEAD_0_LOW_F32 1.73176691e-8f
#define GANTRY_COT_HEAD_1_HIGH_F32 2.16464639e0f
#define GANTRY_COT_HEAD_1_LOW_F32 8.03220601e-8f
#define GANTRY_COT_HEAD_2_HIGH_F32 2.03468609e0f
#define GANTRY_COT_HEAD_2_LOW_F32 3.54068881e-8f
#define GANTRY_COT_HEAD_3_HIGH_F32 2.00815463e0f
#define GANTRY_COT_HEAD_3_LOW_F32 8.17348749e-8f
#define GANTRY_COT_HEAD_4_HIGH_F32 2.00198913e0f
#define GANTRY_COT_HEAD_4_LOW_F32 2.40501912e-8f
#define GANTRY_COT_0_F32 2.00048780e0f
#define GANTRY_COT_1_F32 2.00035882e0f
#define GANTRY_COT_2_F32 1.99468374e0f
#define GANTRY_COT_3_F32 2.06625366e0f
#define GANTRY_COT_4_F32 1.50882792e0f
#define GANTRY_COT_5_F32 4.21658373e0f
#define GANTRY_COT_6_F32 -3.82026362e0f
#define GANTRY_COT_7_F32 9.53728199e0f
#define GANTRY_PSI_ROOT_LESS_1_HIGH_F32 4.61632133e-1f
#define GANTRY_PSI_ROOT_LESS_1_LOW_F32 1.24381501e-8f
#define GANTRY_PSI_0_HIGH_F32 9.67672229e-1f
#define GANTRY_PSI_0_LOW_F32 1.60668581e-8f
#define GANTRY_PSI_1_F32 -4.42763180e-1f
#define GANTRY_PSI_2_F32 2.58499920e-1f
#define GANTRY_PSI_3_F32 -1.63941920e-1f
#define GANTRY_PSI_4_F32 1.07816495e-1f
#define GANTRY_PSI_5_F32 -7.22183660e-2f
#define GANTRY_PSI_6_F32 4.89391014e-2f
#define GANTRY_PSI_7_F32 -3.29943560e-2f
#define GANTRY_PSI_8_F32 2.15018205e-2f
#define GANTRY_PSI_9_F32 -1.58835463e-2f
#define GANTRY_PSI_10_F32 1.45827625e-2f
#define GANTRY_PSI_11_F32 -7.93702528e-3f
#define GANTRY_PSI_FAR_0_F32 -8.33333191e-3f
#define GANTRY_PSI_FAR_1_F32 3.96808516e-3f
#define GANTRY_PSI_FAR_2_F32 -4.15873248e-3f
#define GANTRY_PSI_FAR_3_F32 7.37152575e-3f
#define GANTRY_PSI_FAR_4_F32 -1.77566726e-2f
#define GANTRY_PSI_FAR_5_F32 4.48939912e-2f
#define GANTRY_PSI_FAR_6_F32 -9.31652486e-2f
#define GANTRY_PSI_FAR_7_F32 1.26948386e-1f
#define GANTRY_PSI_FAR_8_F32 -8.10892507e-2f
#define GANTRY_LGAMMA_ZERO0_AT_HIGH_F32 -2.45702481e0f
#define GANTRY_LGAMMA_ZERO0_AT_LOW_F32 7.44775619e-8f
#define GANTRY_LGAMMA_ZERO0_WIDTH_F32 1.78525294e-3f
#define GANTRY_LGAMMA_ZERO0_1_F32 1.51560342e0f
#define GANTRY_LGAMMA_ZERO0_2_F32 4.85832119e0f
#define GANTRY_LGAMMA_ZERO0_3_F32 1.41129112e0f
#define GANTRY_LGAMMA_ZERO0_4_F32 8.72178268e0f
#define GANTRY_LGAMMA_ZERO1_AT_HIGH_F32 -2.74768257e0f
#define GANTRY_LGAMMA_ZERO1_AT_LOW_F32 -7.53162794e-8f
#define GANTRY_LGAMMA_ZERO1_WIDTH_F32 9.85614606e-4f
#define GANTRY_LGAMMA_ZERO1_1_F32 -1.91435015e0f
#define GANTRY_LGAMMA_ZERO1_2_F32 9.57518959e0f
#define GANTRY_LGAMMA_ZERO1_3_F32 -2.00951347e1f
#define GANTRY_LGAMMA_ZERO1_4_F32 6.26272812e1f
#define GANTRY_LGAMMA_ZERO2_AT_HIGH_F32 -3.14358091e0f
#define GANTRY_LGAMMA_ZERO2_AT_LOW_F32 2.51937209e-8f
#define GANTRY_LGAMMA_ZERO2_WIDTH_F32 5.60862827e-4f
#define GANTRY_LGAMMA_ZERO2_1_F32 7.78188467e0f
#define GANTRY_LGAMMA_ZERO2_2_F32 2.58313389e1f
#define GANTRY_LGAMMA_ZERO2_3_F32 1.12268990e2f
#define GANTRY_LGAMMA_ZERO2_4_F32 5.88890747e2f
#define GANTRY_LGAMMA_ZERO3_AT_HIGH_F32 -3.95529437e0f
#define GANTRY_LGAMMA_ZERO3_AT_LOW_F32 8.57926494e-8f
#define GANTRY_LGAMMA_ZERO3_WIDTH_F32 1.74631699e-4f
#define GANTRY_LGAMMA_ZERO3_1_F32 -2.07250614e1f
#define GANTRY_LGAMMA_ZERO3_2_F32 2.51714676e2f
#define GANTRY_LGAMMA_ZERO3_3_F32 -3.73060474e3f
#define GANTRY_LGAMMA_ZERO3_4_F32 6.25880820e4f
#define GANTRY_LGAMMA_ZERO4_AT_HIGH_F32 -4.03936195e0f
#define GANTRY_LGAMMA_ZERO4_AT_LOW_F32 1.13994815e-7f
#define GANTRY_LGAMMA_ZERO4_WIDTH_F32 1.53757181e-4f
#define GANTRY_LGAMMA_ZERO4_1_F32 2.67904816e1f
#define GANTRY_LGAMMA_ZERO4_2_F32 3.24255310e2f
#define GANTRY_LGAMMA_ZERO4_3_F32 5.46569189e3f
#define GANTRY_LGAMMA_ZERO4_4_F32 1.04145555e5f
#define GANTRY_DIGAMMA_ZERO0_AT_HIGH_F32 -5.04083037e-1f
#define GANTRY_DIGAMMA_ZERO0_AT_LOW_F32 2.91119484e-8f
#define GANTRY_DIGAMMA_ZERO0_WIDTH_F32 1.93717575e-3f
#define GANTRY_DIGAMMA_ZERO0_1_F32 8.93979836e0f
#define GANTRY_DIGAMMA_ZERO0_2_F32 -8.09345484e-1f
#define GANTRY_DIGAMMA_ZERO0_3_F32 3.22585716e1f
#define GANTRY_DIGAMMA_ZERO0_4_F32 -2.76101160e0f
#define GANTRY_DIGAMMA_ZERO1_AT_HIGH_F32 -1.57349849e0f
#define GANTRY_DIGAMMA_ZERO1_AT_LOW_F32 1.43101433e-8f
#define GANTRY_DIGAMMA_ZERO1_WIDTH_F32 1.66602153e-3f
#define GANTRY_DIGAMMA_ZERO1_1_F32 9.94151402e0f
#define GANTRY_DIGAMMA_ZERO1_2_F32 -7.80259418e0f
#define GANTRY_DIGAMMA_ZERO1_3_F32 3.99119110e1f
#define GANTRY_DIGAMMA_ZERO1_4_F32 -5.48209343e1f
#define GANTRY_DIGAMMA_ZERO2_AT_HIGH_F32 -2.61072087e0f
#define GANTRY_DIGAMMA_ZERO2_AT_LOW_F32 4.43488357e-9f
#define GANTRY_DIGAMMA_ZERO2_WIDTH_F32 1.52062159e-3f
#define GANTRY_DIGAMMA_ZERO2_1_F32 1.08483286e1f
#define GANTRY_DIGAMMA_ZERO2_2_F32 -1.27707253e1f
#define GANTRY_DIGAMMA_ZERO2_3_F32 5.12173538e1f
#define GANTRY_DIGAMMA_ZERO2_4_F32 -1.00203629e2f
#define GANTRY_DIGAMMA_ZERO3_AT_HIGH_F32 -3.63529348e0f
#define GANTRY_DIGAMMA_ZERO3_AT_LOW_F32 1.17297233e-7f
#define GANTRY_DIGAMMA_ZERO3_WIDTH_F32 1.42463529e-3f
#define GANTRY_DIGAMMA_ZERO3_1_F32 1.16509390e1f
#define GANTRY_DIGAMMA_ZERO3_2_F32 -1.69383373e1f
#define GANTRY_DIGAMMA_ZERO3_3_F32 6.31620598e1f
#define GANTRY_DIGAMMA_ZERO3_4_F32 -1.45451996e2f
#define GANTRY_DIGAMMA_ZERO4_AT_HIGH_F32 -4.65323782e0f
#define GANTRY_DIGAMMA_ZERO4_AT_LOW_F32 5.79284887e-8f
#define GANTRY_DIGAMMA_ZERO4_WIDTH_F32 1.35454000e-3f
#define GANTRY_DIGAMMA_ZERO4_1_F32 1.23696384e1f
#define GANTRY_DIGAMMA_ZERO4_2_F32 -2.06369972e1f
#define GANTRY_DIGAMMA_ZERO4_3_F32 7.51670151e1f
#define GANTRY_DIGAMMA_ZERO4_4_F32 -1.91198807e2f
#define GANTRY_DIGAMMA_ZERO5_AT_HIGH_F32 -5.66716242e0f
#define GANTRY_DIGAMMA_ZERO5_AT_LOW_F32 -2.31914079e-8f
#define GANTRY_DIGAMMA_ZERO5_WIDTH_F32 1.30014669e-3f
#define GANTRY_DIGAMMA_ZERO5_1_F32 1.30214062e1f
#define GANTRY_DIGAMMA_ZERO5_2_F32 -2.40108337e1f
#define GANTRY_DIGAMMA_ZERO5_3_F32 8.70534515e1f
#define GANTRY_DIGAMMA_ZERO5_4_F32 -2.37418182e2f
#define GANTRY_DIGAMMA_ZERO6_AT_HIGH_F32 -6.67841816e0f
#define GANTRY_DIGAMMA_ZERO6_AT_LOW_F32 -5.35885647e-8f
#define GANTRY_DIGAMMA_ZERO6_WIDTH_F32 1.25617883e-3f
#define GANTRY_DIGAMMA_ZERO6_1_F32 1.36188517e1f
#define GANTRY_DIGAMMA_ZERO6_2_F32 -2.71387196e1f
#define GANTRY_DIGAMMA_ZERO6_3_F32 9.87562866e1f
#define GANTRY_DIGAMMA_ZERO6_4_F32 -2.83988922e2f
#define GANTRY_DIGAMMA_ZERO7_AT_HIGH_F32 -6.67959061e1f
#define GANTRY_DIGAMMA_ZERO7_AT_LOW_F32 2.42336706e-10f
#define GANTRY_DIGAMMA_ZERO7_WIDTH_F32 7.97241926e-4f
#define GANTRY_DIGAMMA_ZERO7_1_F32 2.75713406e1f
#define GANTRY_DIGAMMA_ZERO7_2_F32 -1.16113419e2f
#define GANTRY_DIGAMMA_ZERO7_3_F32 5.79488464e2f
#define GANTRY_DIGAMMA_ZERO7_4_F32 -2.82112744e3f
#define GANTRY_DIGAMMA_ZERO8_AT_HIGH_F32 -9.58082199e1f
#define GANTRY_DIGAMMA_ZERO8_AT_LOW_F32 -1.75744830e-9f
#define GANTRY_DIGAMMA_ZERO8_WIDTH_F32 7.49140978e-4f
#define GANTRY_DIGAMMA_ZERO8_1_F32 3.07218094e1f
#define GANTRY_DIGAMMA_ZERO8_2_F32 -1.40371124e2f
#define GANTRY_DIGAMMA_ZERO8_3_F32 7.42257935e2f
#define GANTRY_DIGAMMA_ZERO8_4_F32 -3.85210840e3f
/* constants end */

/* One row: where x is near that zero, its distance and the polynomial there take the place of d
 * and c1 to c4. */
#define GANTRY_TAKE_ZERO(zero)                                          \
    off = x - GANTRY_##zero##_AT_HIGH_F32;                              \
    size = GANTRY_AS_FLOAT(GANTRY_AS_UINT(off) & 0x7fffffffu);          \
    off = off - GANTRY_##zero##_AT_LOW_F32;                             \
    d = size < GANTRY_##zero##_WIDTH_F32 ? off : d;                     \
    c1 = size < GANTRY_##zero##_WIDTH_F32 ? GANTRY_##zero##_1_F32 : c1; \
    c2 = size < GANTRY_##zero##_WIDTH_F32 ? GANTRY_##zero##_2_F32 : c2; \
    c3 = size < GANTRY_##zero##_WIDTH_F32 ? GANTRY_##zero##_3_F32 : c3; \
    c4 = size < GANTRY_##zero##_WIDTH_F32 ? GANTRY_##zero##_4_F32 : c4

/* y, or the value that the rows give near a zero of the function. */
#define GANTRY_NEAR_ZEROS(name, ROWS)                       \
    GANTRY_FN GANTRY_F32 name(GANTRY_F32 x, GANTRY_F32 y) { \
        GANTRY_F32 off, size;                               \
        GANTRY_F32 d = 0.0f;                                \
        GANTRY_F32 c1 = 0.0f;                               \
        GANTRY_F32 c2 = 0.0f;                               \
        GANTRY_F32 c3 = 0.0f;                               \
        GANTRY_F32 c4 = 0.0f;                               \
        GANTRY_F32 z;                                       \
                                                            \
        ROWS;                                               \
        z = GANTRY_FMA_F32(d, c4, c3);                      \
        z = GANTRY_FMA_F32(z, d, c2);                       \
        z = d * GANTRY_FMA_F32(z, d, c1);                   \
        return c1 != 0.0f ? z : y;                          \
    }

GANTRY_NEAR_ZEROS(gantry__lgamma_zeros_f32, GANTRY_TAKE_ZERO(LGAMMA_ZERO0);
                  GANTRY_TAKE_ZERO(LGAMMA_ZERO1); GANTRY_TAKE_ZERO(LGAMMA_ZERO2);
                  GANTRY_TAKE_ZERO(LGAMMA_ZERO3); GANTRY_TAKE_ZERO(LGAMMA_ZERO4))
GANTRY_NEAR_ZEROS(gantry__digamma_zeros_f32, GANTRY_TAKE_ZERO(DIGAMMA_ZERO0);
                  GANTRY_TAKE_ZERO(DIGAMMA_ZERO1); GANTRY_TAKE_ZERO(DIGAMMA_ZERO2);
                  GANTRY_TAKE_ZERO(DIGAMMA_ZERO3); GANTRY_TAKE_ZERO(DIGAMMA_ZERO4);
                  GANTRY_TAKE_ZERO(DIGAMMA_ZERO5); GANTRY_TAKE_ZERO(DIGAMMA_ZERO6);
                  GANTRY_TAKE_ZERO(DIGAMMA_ZERO7); GANTRY_TAKE_ZERO(DIGAMMA_ZERO8))

/* |x| minus the nearest integer, exactly; 0 from 2^23 on. */
GANTRY_FN GANTRY_F32 gantry__from_integer_f32(GANTRY_F32 a) {
    GANTRY_F32 nearest = (a + 8388608.0f) - 8388608.0f;

    return a < 8388608.0f ? a - nearest : 0.0f;
}

GANTRY_FN gantry__pair_f32_t gantry__pair_negative_f32(gantry__pair_f32_t x) {
    x.high = -x.high;
    x.low = -x.low;
    return x;
}

/* lgamma(a) = (a - 1/2) (log(a) - 1) + base + (1/12 + w P(w)) / a with w = 1 / a^2; a must be at
 * least 9/4. With a scale below 1 the first term, which is then all that counts, is scaled. */
GANTRY_LONG_FN gantry__pair_f32_t gantry__stirling_f32(GANTRY_F32 a, gantry__pair_f32_t log_a,
                                                       GANTRY_F32 scale) {
    GANTRY_F32 bounded = a > 1e9f ? 1e9f : a;
    gantry__pair_f32_t inverse = gantry__pair_inverse_f32(gantry__pair_of_f32(bounded));
    GANTRY_F32 w = inverse.high * inverse.high;
    GANTRY_F32 p = GANTRY_FMA_F32(w, GANTRY_STIRLING_4_F32, GANTRY_STIRLING_3_F32);
    gantry__pair_f32_t tail;
    gantry__pair_f32_t y;

    p = GANTRY_FMA_F32(p, w, GANTRY_STIRLING_2_F32);
    p = GANTRY_FMA_F32(p, w, GANTRY_STIRLING_1_F32);
    p = GANTRY_FMA_F32(p, w, GANTRY_STIRLING_0_F32);
    tail =
        gantry__pair_multiply_f32(inverse, GANTRY_PAIR_PLUS(TWELFTH, gantry__pair_of_f32(p * w)));
    tail = GANTRY_PAIR_PLUS(STIRLING_BASE, tail);
    y = gantry__pair_add_f32(log_a, gantry__pair_of_f32((GANTRY_F32)(-1.0f)));
    y = gantry__pair_multiply_f32(y, gantry__two_sum_f32(a * scale, (GANTRY_F32)(-0.5f)));
    return gantry__pair_add_f32(y, tail);
}

/* lgamma(2 + t); t must be in [-1, 1/4]. */
GANTRY_LONG_FN gantry__pair_f32_t gantry__lgamma_two_f32(GANTRY_F32 t) {
    GANTRY_F32 square = t * t;
    GANTRY_F32 p = GANTRY_FMA_F32(t, GANTRY_GAMMA2_11_F32, GANTRY_GAMMA2_10_F32);
    gantry__pair_f32_t y;

    p = GANTRY_FMA_F32(p, square, GANTRY_FMA_F32(t, GANTRY_GAMMA2_9_F32, GANTRY_GAMMA2_8_F32));
    p = GANTRY_FMA_F32(p, square, GANTRY_FMA_F32(t, GANTRY_GAMMA2_7_F32, GANTRY_GAMMA2_6_F32));
    p = GANTRY_FMA_F32(p, square, GANTRY_FMA_F32(t, GANTRY_GAMMA2_5_F32, GANTRY_GAMMA2_4_F32));
    p = GANTRY_FMA_F32(p, square, GANTRY_FMA_F32(t, GANTRY_GAMMA2_3_F32, GANTRY_GAMMA2_2_F32));
    y = gantry__pair_times_f32(GANTRY_PAIR_PLUS(GAMMA2_1, gantry__pair_of_f32(p * t)), t);
    return gantry__pair_times_f32(GANTRY_PAIR_PLUS(GAMMA2_0, y), t);
}

/* sin(pi t) / pi; t must be in [0, 1/2]. */
GANTRY_FN gantry__pair_f32_t gantry__sin_over_pi_f32(GANTRY_F32 t) {
    gantry__pair_f32_t u = gantry__two_product_f32(t, t);
    GANTRY_F32 p = GANTRY_FMA_F32(u.high, GANTRY_SINC_3_F32, GANTRY_SINC_2_F32);
    gantry__pair_f32_t y;

    p = GANTRY_FMA_F32(p, u.high, GANTRY_SINC_1_F32);
    p = GANTRY_FMA_F32(p, u.high, GANTRY_SINC_0_F32);
    y = gantry__pair_multiply_f32(u, GANTRY_PAIR_PLUS(SINC_2, gantry__pair_of_f32(p * u.high)));
    y = gantry__pair_multiply_f32(u, GANTRY_PAIR_PLUS(SINC_1, y));
    y = gantry__pair_times_f32(gantry__pair_plus_f32(1.0f, 0.0f, y), t);
    return gantry__pair_below_f32(t, 1e-15f, gantry__pair_of_f32(t), y);
}

/* log |gamma| of a >= 0 as base, less log(a) below 5/4; without the scale above 10^18
 * (gantry__stirling_f32). */
GANTRY_LONG_FN gantry__pair_f32_t gantry__lgamma_base_f32(GANTRY_F32 a, gantry__pair_f32_t log_a) {
    GANTRY_F32 scale = a > 1e18f ? 0.0009765625f : 1.0f;
    gantry__pair_f32_t near =
        gantry__lgamma_two_f32((a < 2.25f ? a : 2.0f) - (a < 1.25f ? 1.0f : 2.0f));

    return gantry__pair_below_f32(a, 2.25f, near, gantry__stirling_f32(a, log_a, scale));
}

/* lgamma(a) for a > 0; elsewhere the result is unspecified. */
GANTRY_FN GANTRY_F32 gantry__lgamma_positive_f32(GANTRY_F32 a, gantry__pair_f32_t base,
                                                 gantry__pair_f32_t log_a) {
    GANTRY_F32 unscale = a > 1e18f ? 1024.0f : 1.0f;
    gantry__pair_f32_t none = gantry__pair_constant_f32(0.0f, 0.0f);
    gantry__pair_f32_t rest =
        gantry__pair_below_f32(a, 1.25f, gantry__pair_negative_f32(log_a), none);

    return gantry__pair_add_f32(base, rest).high * unscale;
}

/* The same for x = -a < 0; t must be the distance to the nearest integer. */
GANTRY_LONG_FN GANTRY_F32 gantry__lgamma_negative_f32(GANTRY_F32 x, GANTRY_F32 a, GANTRY_F32 t,
                                                      gantry__pair_f32_t base,
                                                      gantry__pair_f32_t log_a) {
    gantry__pair_f32_t log_sin = gantry__pair_log_f32(gantry__sin_over_pi_f32(t));
    gantry__pair_f32_t none = gantry__pair_constant_f32(0.0f, 0.0f);
    gantry__pair_f32_t y = gantry__pair_below_f32(a, 1.25f, none, log_a);

    y = gantry__pair_add_f32(gantry__pair_add_f32(base, y), log_sin);
    return gantry__lgamma_zeros_f32(x, -y.high);
}

GANTRY_FN GANTRY_F32 gantry__lgamma_f32(GANTRY_F32 x) {
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 from = gantry__from_integer_f32(a);
    GANTRY_F32 t = GANTRY_AS_FLOAT(GANTRY_AS_UINT(from) & 0x7fffffffu);
    gantry__pair_f32_t log_a = gantry__pair_log_f32(gantry__pair_of_f32(a));
    gantry__pair_f32_t base = gantry__lgamma_base_f32(a, log_a);
    GANTRY_F32 y = gantry__lgamma_positive_f32(a, base, log_a);
    GANTRY_F32 pole;

    if (GANTRY_ANY_LANE(x < 0.0f)) {
        GANTRY_F32 negative = gantry__lgamma_negative_f32(x, a, t, base, log_a);

        y = x < 0.0f ? negative : y;
    }
    pole = x <= 0.0f ? GANTRY_INFINITY_F32 : y;
    y = t == 0.0f ? pole : y;
    y = a < GANTRY_INFINITY_F32 ? y : GANTRY_INFINITY_F32;
    return x == x ? y : GANTRY_NAN_F32;
}

/* The same bits for a positive x, at half the cost where GANTRY_ANY_LANE skips nothing. */
GANTRY_FN GANTRY_F32 gantry__lgamma_near_f32(GANTRY_F32 x) {
    gantry__pair_f32_t log_x = gantry__pair_log_f32(gantry__pair_of_f32(x));
    GANTRY_F32 y = gantry__lgamma_positive_f32(x, gantry__lgamma_base_f32(x, log_x), log_x);

    y = ((x == 0.0f) | (x == GANTRY_INFINITY_F32)) ? GANTRY_INFINITY_F32 : y;
    return x == x ? y : GANTRY_NAN_F32;
}

/* pi cot(pi t) - 1 / t; |t| must be at most 1/2. */
GANTRY_FN gantry__pair_f32_t gantry__cot_tail_f32(GANTRY_F32 t) {
    gantry__pair_f32_t u = gantry__two_product_f32(t, t);
    GANTRY_F32 p = GANTRY_FMA_F32(u.high, GANTRY_COT_7_F32, GANTRY_COT_6_F32);
    gantry__pair_f32_t y;

    p = GANTRY_FMA_F32(p, u.high, GANTRY_COT_5_F32);
    p = GANTRY_FMA_F32(p, u.high, GANTRY_COT_4_F32);
    p = GANTRY_FMA_F32(p, u.high, GANTRY_COT_3_F32);
    p = GANTRY_FMA_F32(p, u.high, GANTRY_COT_2_F32);
    p = GANTRY_FMA_F32(p, u.high, GANTRY_COT_1_F32);
    p = GANTRY_FMA_F32(p, u.high, GANTRY_COT_0_F32);
    y = GANTRY_PAIR_PLUS(COT_HEAD_4, gantry__pair_of_f32(p * u.high));
    y = GANTRY_PAIR_PLUS(COT_HEAD_3, gantry__pair_multiply_f32(u, y));
    y = GANTRY_PAIR_PLUS(COT_HEAD_2, gantry__pair_multiply_f32(u, y));
    y = GANTRY_PAIR_PLUS(COT_HEAD_1, gantry__pair_multiply_f32(u, y));
    y = GANTRY_PAIR_PLUS(COT_HEAD_0, gantry__pair_multiply_f32(u, y));
    return gantry__pair_times_f32(y, -t);
}

/* digamma(a) = log(a) - 1 / (2 a) - w (1/12 + w P(w)), w = 1 / a^2, for a pair a >= 2. */
GANTRY_LONG_FN gantry__pair_f32_t gantry__digamma_far_f32(gantry__pair_f32_t a) {
    gantry__pair_f32_t bounded =
        gantry__pair_below_f32(a.high, 1e9f, a, gantry__pair_constant_f32(1e9f, 0.0f));
    gantry__pair_f32_t inverse = gantry__pair_inverse_f32(bounded);
    gantry__pair_f32_t w = gantry__pair_multiply_f32(inverse, inverse);
    GANTRY_F32 p = GANTRY_FMA_F32(w.high, GANTRY_PSI_FAR_8_F32, GANTRY_PSI_FAR_7_F32);

    p = GANTRY_FMA_F32(p, w.high, GANTRY_PSI_FAR_6_F32);
    p = GANTRY_FMA_F32(p, w.high, GANTRY_PSI_FAR_5_F32);
    p = GANTRY_FMA_F32(p, w.high, GANTRY_PSI_FAR_4_F32);
    p = GANTRY_FMA_F32(p, w.high, GANTRY_PSI_FAR_3_F32);
    p = GANTRY_FMA_F32(p, w.high, GANTRY_PSI_FAR_2_F32);
    p = GANTRY_FMA_F32(p, w.high, GANTRY_PSI_FAR_1_F32);
    p = GANTRY_FMA_F32(p, w.high, GANTRY_PSI_FAR_0_F32);
    w = gantry__pair_multiply_f32(w, GANTRY_PAIR_PLUS(TWELFTH, gantry__pair_of_f32(p * w.high)));
    inverse.high = 0.5f * inverse.high;
    inverse.low = 0.5f * inverse.low;
    w = gantry__pair_add_f32(inverse, w);
    return gantry__pair_add_f32(gantry__pair_log_f32(a), gantry__pair_negative_f32(w));
}

/* digamma(1 + f), where f must be in [0, 1): P(d) d, with d = 1 + f - 1.4616, the root. */
GANTRY_LONG_FN gantry__pair_f32_t gantry__digamma_root_f32(GANTRY_F32 f) {
    gantry__pair_f32_t root = GANTRY_PAIR(PSI_ROOT_LESS_1);
    gantry__pair_f32_t d = gantry__two_sum_f32(f, -root.high);
    GANTRY_F32 t = d.high;
    GANTRY_F32 square = t * t;
    GANTRY_F32 p = GANTRY_FMA_F32(t, GANTRY_PSI_11_F32, GANTRY_PSI_10_F32);

    d = gantry__pair_f32(d.high, d.low - root.low);
    p = GANTRY_FMA_F32(p, square, GANTRY_FMA_F32(t, GANTRY_PSI_9_F32, GANTRY_PSI_8_F32));
    p = GANTRY_FMA_F32(p, square, GANTRY_FMA_F32(t, GANTRY_PSI_7_F32, GANTRY_PSI_6_F32));
    p = GANTRY_FMA_F32(p, square, GANTRY_FMA_F32(t, GANTRY_PSI_5_F32, GANTRY_PSI_4_F32));
    p = GANTRY_FMA_F32(p, square, GANTRY_FMA_F32(t, GANTRY_PSI_3_F32, GANTRY_PSI_2_F32));
    p = GANTRY_FMA_F32(p, t, GANTRY_PSI_1_F32);
    return gantry__pair_multiply_f32(GANTRY_PAIR_PLUS(PSI_0, gantry__pair_of_f32(p * t)), d);
}

/* digamma of x = -a < 0, t being a less the nearest integer: digamma(1 + a) + pi cot(pi t) */
GANTRY_LONG_FN GANTRY_F32 gantry__digamma_negative_f32(GANTRY_F32 x, GANTRY_F32 a, GANTRY_F32 t) {
    GANTRY_F32 size = GANTRY_AS_FLOAT(GANTRY_AS_UINT(t) & 0x7fffffffu);
    GANTRY_F32 bounded = size < 1e-12f ? 1.0f : t;
    gantry__pair_f32_t far = gantry__digamma_far_f32(gantry__two_sum_f32(a, (GANTRY_F32)(1.0f)));
    gantry__pair_f32_t near = gantry__digamma_root_f32(a < 1.0f ? a : 0.5f);
    gantry__pair_f32_t y = gantry__pair_inverse_f32(gantry__pair_of_f32(bounded));
    GANTRY_F32 z;

    y = gantry__pair_add_f32(y, gantry__cot_tail_f32(t));
    y = gantry__pair_add_f32(gantry__pair_below_f32(a, 1.0f, near, far), y);
    z = gantry__digamma_zeros_f32(x, y.high);
    z = size < 1e-12f ? 1.0f / t : z;
    return t == 0.0f ? GANTRY_NAN_F32 : z;
}

/* For a positive x: digamma(x), or digamma(1 + x) - 1 / x below 1. */
GANTRY_LONG_FN GANTRY_F32 gantry__digamma_near_f32(GANTRY_F32 x) {
    GANTRY_F32 at_most_one = x > 1.0f ? 1.0f : x;
    GANTRY_F32 bounded = x < 1e-12f ? 1.0f : at_most_one;
    gantry__pair_f32_t far = gantry__digamma_far_f32(gantry__pair_of_f32(x));
    gantry__pair_f32_t near = gantry__digamma_root_f32(x < 1.0f ? x : x < 2.0f ? x - 1.0f : 0.5f);
    gantry__pair_f32_t none = gantry__pair_constant_f32(0.0f, 0.0f);
    gantry__pair_f32_t less = gantry__pair_inverse_f32(gantry__pair_of_f32(-bounded));
    GANTRY_F32 z;

    near = gantry__pair_below_f32(x - 1.0f, 1.0f, near, far);
    z = gantry__pair_add_f32(near, gantry__pair_below_f32(x, 1.0f, less, none)).high;
    z = x < 1e-12f ? -1.0f / x : z;
    z = x == 0.0f ? GANTRY_NAN_F32 : z;
    z = x > 3.40282347e38f ? x : z;
    return x == x ? z : GANTRY_NAN_F32;
}

GANTRY_FN GANTRY_F32 gantry__digamma_f32(GANTRY_F32 x) {
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 z = gantry__digamma_near_f32(a);

    if (GANTRY_ANY_LANE(x < 0.0f)) {
        GANTRY_F32 negative = gantry__digamma_negative_f32(x, a, gantry__from_integer_f32(a));

        z = x < 0.0f ? negative : z;
    }
    return x >= -3.40282347e38f ? z : GANTRY_NAN_F32;
}
