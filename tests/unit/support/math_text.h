/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the portable text as C, for their tests. A new file of functions is added in
 * two places: to the includes, and to the files of its type. No state. Threads: thread-safe. */
#ifndef GANTRY_MATH_TEXT_H
#define GANTRY_MATH_TEXT_H

#include "kernels/common/dialect.cl"
#include "kernels/math/math_float32.cl"
#include "kernels/math/math_float32_hyperbolic.cl"
#include "kernels/math/math_float32_trig.cl"
#include "kernels/math/math_float32_pair.cl"
#include "kernels/math/math_float32_special.cl"
#include "kernels/math/math_float32_activation.cl"
#include "kernels/math/math_float32_gamma.cl"
#include "kernels/math/math_float32_pow.cl"
#include "kernels/math/math_float64.cl"
#include "kernels/math/math_float64_library.cl"
#include "kernels/math/math_float64_trig.cl"
#include "kernels/math/math_float64_special.cl"
#include "kernels/math/math_erf.cl"
#include "kernels/math/math_root.cl"

/* The same for a device, by name and in this order, for each type. */
#define GANTRY_MATH_FLOAT32_FILES                                                                 \
    "common/dialect.cl", "math/math_float32.cl", "math/math_float32_hyperbolic.cl",               \
        "math/math_float32_trig.cl", "math/math_float32_pair.cl", "math/math_float32_special.cl", \
        "math/math_float32_activation.cl", "math/math_float32_gamma.cl",                          \
        "math/math_float32_pow.cl", "math/math_erf.cl", "math/math_root.cl"
#define GANTRY_MATH_FLOAT64_FILES                                                        \
    "common/dialect.cl", "math/math_float64.cl", "math/math_float64_library.cl",         \
        "math/math_float64_trig.cl", "math/math_float64_special.cl", "math/math_erf.cl", \
        "math/math_root.cl"

#endif
