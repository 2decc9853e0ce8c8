/* SPDX-License-Identifier: Apache-2.0 */
/* The float32 functions of the portable text as C, for their tests. A new file of functions is
 * added in two places: to the includes and to GANTRY_MATH_FLOAT32_FILES. No state. */
#ifndef GANTRY_MATH_FLOAT32_TEXT_H
#define GANTRY_MATH_FLOAT32_TEXT_H

#include "kernels/common/dialect.cl"
#include "kernels/math/math_float32.cl"
#include "kernels/math/math_float32_hyperbolic.cl"
#include "kernels/math/math_float32_trig.cl"
#include "kernels/math/math_float32_pair.cl"
#include "kernels/math/math_float32_special.cl"
#include "kernels/math/math_float32_activation.cl"
#include "kernels/math/math_float32_gamma.cl"
#include "kernels/math/math_float32_pow.cl"

/* The same for a device, by name and in this order. */
#define GANTRY_MATH_FLOAT32_FILES                                                                 \
    "common/dialect.cl", "math/math_float32.cl", "math/math_float32_hyperbolic.cl",               \
        "math/math_float32_trig.cl", "math/math_float32_pair.cl", "math/math_float32_special.cl", \
        "math/math_float32_activation.cl", "math/math_float32_gamma.cl",                          \
        "math/math_float32_pow.cl"

#endif
