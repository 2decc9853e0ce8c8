/* SPDX-License-Identifier: Apache-2.0 */
/* References for the functions of ops/functions.def that the C library lacks: NAME of
 * double and, for functions of float64 that the texts compute, NAMEl of long double. Those of
 * double are within a few units of double's last place of the exact result; with 64 bits of long
 * double, the others are within about 2^-60 of it (digamma: except near its zeros). A reference is
 * NaN or infinite if TensorFlow's function is. No state. Threads: thread-safe. */
#ifndef GANTRY_MATH_REFERENCE_H
#define GANTRY_MATH_REFERENCE_H

#include <math.h>

static inline double sigmoid_reference(double x) { return 1.0 / (1.0 + exp(-x)); }

static inline double softplus_reference(double x) {
    return x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static inline double elu_reference(double x) { return x < 0.0 ? expm1(x) : x; }

static inline double selu_reference(double x) {
    const double scale = 1.0507009873554804934193349852946;
    const double alpha = 1.6732632423543772848170429916717;
    return x < 0.0 ? scale * alpha * expm1(x) : scale * x;
}

static inline double silu_reference(double x) {
    return x < 0.0 ? x * (exp(x) / (1.0 + exp(x))) : x / (1.0 + exp(-x));
}

static inline double gelu_tanh_reference(double x) {
    const double twice_root = 1.5957691216057307117597842397375;
    const double v = twice_root * (x + 0.044715 * x * x * x);
    return x < 0.0 ? x * (exp(v) / (1.0 + exp(v))) : x / (1.0 + exp(-v));
}

/* The exact x^2 / 2 is a sum of two doubles; a plain erfc would use a rounded x / sqrt(2). */
static inline double gelu_erf_reference(double x) {
    const double root = 0.70710678118654752440;
    const double root_low = -4.8336466567264567e-17;
    const double z = x * root;
    const double z_low = fma(x, root, -z) + x * root_low;
    const double slope = 1.1283791670955125739 * exp(-z * z);
    return isinf(x) ? (x > 0.0 ? x : NAN) : 0.5 * x * (erfc(-z) + slope * z_low);
}

static inline double softsign_reference(double x) { return x / (1.0 + fabs(x)); }

static inline double rsqrt_reference(double x) { return 1.0 / sqrt(x); }

/* log(a) - 1 / (2 a) - w / 12 + ..., a >= 12 */
#define DIGAMMA_SERIES(a, w, L)                                 \
    (-0.5##L / (a) -                                            \
     (w) *                                                      \
         (1.0##L / 12 -                                         \
          (w) * (1.0##L / 120 -                                 \
                 (w) * (1.0##L / 252 -                          \
                        (w) * (1.0##L / 240 -                   \
                               (w) * (1.0##L / 132 -            \
                                      (w) * (691.0##L / 32760 - \
                                             (w) * (1.0##L / 12 - (w) * (3617.0##L / 8160)))))))))

static inline long double digamma_long(double x) {
    const long double pi = 3.14159265358979323846264338327950288L;
    const double t = x < 0.0 ? nearbyint(-x) + x : 0.0; /* exact */
    long double a = x < 0.0 ? 1.0L - (long double)x : (long double)x;
    long double y = x < 0.0 ? -pi * cosl(pi * (long double)t) / sinl(pi * (long double)t) : 0.0L;
    for (; a < 24.0L; a += 1.0L) {
        y -= 1.0L / a;
    }
    const long double w = 1.0L / (a * a);
    return y + (logl(a) + DIGAMMA_SERIES(a, w, L));
}

/* Double suffices except near zeros. A long double of 64 bits is accurate to 2^-60 there. */
static inline double digamma_reference(double x) {
    if (isnan(x) || (x <= 0.0 && x == floor(x))) {
        return NAN;
    }
    if (fabs(x) < 1e-9) {
        return -1.0 / x - 0.57721566490153286061; /* the next term is 1.6 x */
    }
    if (x < 24.0) {
        return (double)digamma_long(x);
    }
    const double w = 1.0 / (x * x);
    return log(x) + DIGAMMA_SERIES(x, w, );
}

/* ---- of long double ---- */

static inline long double sigmoid_referencel(long double x) { return 1.0L / (1.0L + expl(-x)); }

static inline long double softplus_referencel(long double x) {
    return x > 0.0L ? x + log1pl(expl(-x)) : log1pl(expl(x));
}

static inline long double elu_referencel(long double x) { return x < 0.0L ? expm1l(x) : x; }

static inline long double selu_referencel(long double x) {
    const long double scale = 1.0507009873554804934193349852946L;
    const long double alpha = 1.6732632423543772848170429916717L;
    return x < 0.0L ? scale * alpha * expm1l(x) : scale * x;
}

static inline long double times_sigmoid_long(long double x, long double v) {
    return x < 0.0L ? x * (expl(v) / (1.0L + expl(v))) : x / (1.0L + expl(-v));
}

static inline long double silu_referencel(long double x) { return times_sigmoid_long(x, x); }

static inline long double gelu_tanh_referencel(long double x) {
    const long double twice_root = 1.5957691216057307117597842397375L;
    return times_sigmoid_long(x, twice_root * (x + 0.044715L * x * x * x));
}

static inline long double gelu_erf_referencel(long double x) {
    const long double root = 0.70710678118654752440084436210485L;
    const long double z = x * root;
    const long double slope = 1.12837916709551257389615890312L * expl(-z * z);
    if (isinf(x)) {
        return x > 0.0L ? x : (long double)NAN;
    }
    return 0.5L * x * (erfcl(-z) + slope * fmal(x, root, -z));
}

static inline long double softsign_referencel(long double x) { return x / (1.0L + fabsl(x)); }

static inline long double rsqrt_referencel(long double x) { return 1.0L / sqrtl(x); }

static inline long double digamma_referencel(long double x) {
    if (isnan(x) || (x <= 0.0L && x == floorl(x))) {
        return (long double)NAN;
    }
    return isinf(x) ? x : digamma_long((double)x);
}

/* Newton's steps from an approximation that is right to 0.5 %, on erf or on erfc, whichever keeps
 * the digits of the argument. */
static inline long double erfinv_referencel(long double x) {
    const long double half_root_pi = 0.88622692545275801364908374167057L;
    const long double a = fabsl(x), l = log1pl(-a * a), h = 4.3307467508L + l / 2.0L;
    long double y = sqrtl(sqrtl(h * h - l / 0.147L) - h);
    if (!(a < 1.0L)) return a == 1.0L ? x * (long double)INFINITY : (long double)NAN;
    if (a < 1e-10L) return half_root_pi * x; /* the next term is 0.3 x^3 */
    for (int i = 0; i < 6; ++i) {
        const long double more = a < 0.5L ? a - erfl(y) : erfcl(y) - (1.0L - a);
        y += more * half_root_pi * expl(y * y);
    }
    return copysignl(y, x);
}

static inline double erfinv_reference(double x) { return (double)erfinv_referencel(x); }

#endif
