/* SPDX-License-Identifier: Apache-2.0 */
/* The elementwise ops' loops for the integers that are rarer than int32 and int64, for one
 * instruction set (see cpu_simd.h): the dense form alone. */
#include "kernels/elementwise/elementwise_cpu.h"

#include "kernels/common/dialect.cl"

#include "kernels/math/math_integer.cl"

#include "kernels/common/types.cl"

#define GANTRY_DENSE_ONLY

#define GANTRY_EACH_TYPE GANTRY_OTHER_INTEGERS
#define GANTRY_EACH_TEXT "kernels/elementwise/elementwise_cpu_loops.h"
#include "kernels/common/each_type.h"

/* In the order of gantry__cpu_type_column. */
#define ROW_FLOATING(name) {NULL},
#define ROW_BOOLS(name) {NULL},
#define ROW_SIGNED_NUMERIC(name) {name##_i8_dense, name##_i16_dense},
#define ROW_INTEGERS(name)                                \
    {name##_i8_dense,  name##_i16_dense, name##_u8_dense, \
     name##_u16_dense, name##_u32_dense, name##_u64_dense},
#define ROW_NUMERIC(name) ROW_INTEGERS(name)
#define ROW_NUMERIC_BOOL(name) ROW_INTEGERS(name)

gantry__cpu_loop_fn GANTRY_CPU_NAME(integer_loop)(uint32_t row, uint32_t column) {
    static const gantry__cpu_loop_fn loops[GANTRY_K_ROWS][GANTRY_CPU_RARE_TYPES] = {
#define GANTRY_ELEMENTWISE(name, function, summary, form, types, result, check, math, expression) \
    ROW_##types(name)
#include "ops/elementwise.def"
#undef GANTRY_ELEMENTWISE
    };

    return loops[row][column];
}
