/* SPDX-License-Identifier: Apache-2.0 */
#include "math_float32_loops.h"

#include "math_float32_text.h"

#define MATH_FUNCTION(name, reference, bound_ulp, domain)                            \
    static void loop_##name(float *restrict y, const float *restrict x, int count) { \
        for (int i = 0; i < count; ++i) {                                            \
            y[i] = gantry__##name##_f32(x[i]);                                       \
        }                                                                            \
    }
#include "math_float32_functions.def"
#undef MATH_FUNCTION

const math_float32_loop_t *GANTRY_CPU_NAME(math_float32_loops)(void) {
    static const math_float32_loop_t loops[] = {
#define MATH_FUNCTION(name, reference, bound_ulp, domain) loop_##name,
#include "math_float32_functions.def"
#undef MATH_FUNCTION
    };
    return loops;
}
