/* SPDX-License-Identifier: Apache-2.0 */
/* References in double for the functions of math_float32_functions.def that the C library lacks.
 * They are within a few units of double's last place of the exact result, and NaN or infinite if
 * TensorFlow's function is. No state. */
#ifndef GANTRY_MATH_FLOAT32_REFERENCE_H
#define GANTRY_MATH_FLOAT32_REFERENCE_H

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

/* The exact x^2 / 2 is a sum of two doubles; erfc alone would use a rounded x / sqrt(2). */
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

static inline long double digamma_reference_long(double x) {
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
        return (double)digamma_reference_long(x);
    }
    const double w = 1.0 / (x * x);
    return log(x) + DIGAMMA_SERIES(x, w, );
}

#endif
