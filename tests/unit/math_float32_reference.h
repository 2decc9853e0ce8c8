/* References in double for the functions of math_float32_functions.def that the C library does not have. Each is within
 * a few units of double's last place of the exact result, and NaN or infinite where TensorFlow's function is. No state. */
#ifndef GANTRY_MATH_FLOAT32_REFERENCE_H
#define GANTRY_MATH_FLOAT32_REFERENCE_H

#include <math.h>

static inline double sigmoid_reference(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static inline double softplus_reference(double x)
{
    return x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static inline double elu_reference(double x)
{
    return x < 0.0 ? expm1(x) : x;
}

static inline double selu_reference(double x)
{
    const double scale = 1.0507009873554804934193349852946;
    const double alpha = 1.6732632423543772848170429916717;
    return x < 0.0 ? scale * alpha * expm1(x) : scale * x;
}

static inline double silu_reference(double x)
{
    return x < 0.0 ? x * (exp(x) / (1.0 + exp(x))) : x / (1.0 + exp(-x));
}

static inline double gelu_tanh_reference(double x)
{
    const double twice_root = 1.5957691216057307117597842397375;
    const double v = twice_root * (x + 0.044715 * x * x * x);
    return x < 0.0 ? x * (exp(v) / (1.0 + exp(v))) : x / (1.0 + exp(-v));
}

/* The exact x^2 / 2 is a sum of two doubles; erfc alone would see x / sqrt(2) rounded. */
static inline double gelu_erf_reference(double x)
{
    const double root = 0.70710678118654752440;
    const double root_low = -4.8336466567264567e-17;
    const double z = x * root;
    const double z_low = fma(x, root, -z) + x * root_low;
    const double slope = 1.1283791670955125739 * exp(-z * z);
    return isinf(x) ? (x > 0.0 ? x : NAN) : 0.5 * x * (erfc(-z) + slope * z_low);
}

static inline double softsign_reference(double x)
{
    return x / (1.0 + fabs(x));
}

static inline double rsqrt_reference(double x)
{
    return 1.0 / sqrt(x);
}

#endif
