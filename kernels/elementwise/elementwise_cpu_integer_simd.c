/* SPDX-License-Identifier: Apache-2.0 */
/* The elementwise ops' loops for the integers that are rarer than int32 and int64, for one
 * instruction set (see cpu_simd.h): the dense form alone. */
#include "kernels/elementwise/elementwise_cpu.h"

#include "kernels/common/dialect.cl"

#include "kernels/math/math_integer.cl"

#include "kernels/common/types.cl"

#define GANTRY_DENSE_ONLY

#define GANTRY_T_ID 6
#include "kernels/elementwise/elementwise_cpu_loops.h"

#define GANTRY_T_ID 5
#include "kernels/elementwise/elementwise_cpu_loops.h"

#define GANTRY_T_ID 4
#include "kernels/elementwise/elementwise_cpu_loops.h"

#define GANTRY_T_ID 17
#include "kernels/elementwise/elementwise_cpu_loops.h"

#define GANTRY_T_ID 22
#include "kernels/elementwise/elementwise_cpu_loops.h"

#define GANTRY_T_ID 23
#include "kernels/elementwise/elementwise_cpu_loops.h"

/* In the order of gantry__cpu_type_column. */
#define ROW_FLOATING(name) {NULL},
#define ROW_BOOLS(name) {NULL},
#define ROW_SIGNED_NUMERIC(name) {name##_6_dense, name##_5_dense},
#define ROW_INTEGERS(name)                             \
    {name##_6_dense,  name##_5_dense,  name##_4_dense, \
     name##_17_dense, name##_22_dense, name##_23_dense},
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
