/* SPDX-License-Identifier: Apache-2.0 */
#include "math_float32_loops.h"

#include "math_text.h"

#define GANTRY_MATH_FUNCTION(form, op, name, ...)                                    \
    static void loop_##name(float *restrict y, const float *restrict x, int count) { \
        for (int i = 0; i < count; ++i) {                                            \
            y[i] = gantry__##name##_f32(x[i]);                                       \
        }                                                                            \
    }
#include "ops/functions.def"

const math_float32_loop_t *GANTRY_CPU_NAME(math_float32_loops)(void) {
    static const math_float32_loop_t loops[] = {
#define GANTRY_MATH_FUNCTION(form, op, name, ...) loop_##name,
#include "ops/functions.def"
    };
    return loops;
}
