/* SPDX-License-Identifier: Apache-2.0 */
/* References in long double for the functions of math_float64_special.cl. With 64 bits of long
 * double, the references are within about 2^-60 of the exact results (digamma: except near its
 * zeros). A reference is NaN or infinite if TensorFlow's function is. No state. */
#ifndef GANTRY_MATH_FLOAT64_REFERENCE_H
#define GANTRY_MATH_FLOAT64_REFERENCE_H

#include <math.h>

#include "math_float32_reference.h"

static inline long double softplus_reference_long(long double x) {
    return x > 0.0L ? x + log1pl(expl(-x)) : log1pl(expl(x));
}

static inline long double elu_reference_long(long double x) { return x < 0.0L ? expm1l(x) : x; }

static inline long double selu_reference_long(long double x) {
    const long double scale = 1.0507009873554804934193349852946L;
    const long double alpha = 1.6732632423543772848170429916717L;
    return x < 0.0L ? scale * alpha * expm1l(x) : scale * x;
}

static inline long double times_sigmoid_long(long double x, long double v) {
    return x < 0.0L ? x * (expl(v) / (1.0L + expl(v))) : x / (1.0L + expl(-v));
}

static inline long double silu_reference_long(long double x) { return times_sigmoid_long(x, x); }

static inline long double gelu_tanh_reference_long(long double x) {
    const long double twice_root = 1.5957691216057307117597842397375L;
    return times_sigmoid_long(x, twice_root * (x + 0.044715L * x * x * x));
}

static inline long double gelu_erf_reference_long(long double x) {
    const long double root = 0.70710678118654752440084436210485L;
    const long double z = x * root;
    const long double slope = 1.12837916709551257389615890312L * expl(-z * z);
    if (isinf(x)) {
        return x > 0.0L ? x : (long double)NAN;
    }
    return 0.5L * x * (erfcl(-z) + slope * fmal(x, root, -z));
}

static inline long double softsign_reference_long(long double x) { return x / (1.0L + fabsl(x)); }

static inline long double rsqrt_reference_long(long double x) { return 1.0L / sqrtl(x); }

static inline long double digamma_reference_of_long(long double x) {
    if (isnan(x) || (x <= 0.0L && x == floorl(x))) {
        return (long double)NAN;
    }
    return isinf(x) ? x : digamma_reference_long((double)x);
}

#endif
