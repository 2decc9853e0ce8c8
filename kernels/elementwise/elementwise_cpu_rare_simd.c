/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of elementwise ops for types that are rarer than int32 and int64, for one instruction
 * set (cpu_simd.h). They have only the dense form. */
#include "kernels/elementwise/elementwise_cpu.h"

#include "kernels/common/dialect.cl"

#include "kernels/math/math_bits.cl"
#include "kernels/math/math_integer.cl"

#include "kernels/common/types.cl"

#define GANTRY_DENSE_ONLY

#define GANTRY_EACH_TYPE GANTRY_RARE
#define GANTRY_EACH_TEXT "kernels/elementwise/elementwise_cpu_loops.h"
#include "kernels/common/each_type.h"

#define GANTRY_EACH_TYPE GANTRY_RARE
#define GANTRY_EACH_TEXT "kernels/elementwise/elementwise_cpu_table.h"
#include "kernels/common/each_type.h"

#define COLUMN(type) [GANTRY_CPU_COLUMN_##type - GANTRY_CPU_TYPES] = dense_table_##type,
gantry__cpu_loop_fn GANTRY_CPU_NAME(dense_loop)(uint32_t row, uint32_t column) {
    static const gantry__cpu_loop_fn *const tables[] = {GANTRY_RARE(COLUMN)};

    return tables[column - GANTRY_CPU_TYPES][row];
}
