/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that only fused programs need, for one instruction set (cpu_simd.h). */
#include "kernels/elementwise/fused_cpu.h"

#include "kernels/common/cpu_stream_store.h"

#include "kernels/common/dialect.cl"

#include "kernels/common/types.cl"

#define GANTRY_EACH_TYPE GANTRY_NUMBERS
#define GANTRY_EACH_TEXT "kernels/elementwise/fused_cpu_clip.h"
#include "kernels/common/each_type.h"

#define GANTRY_EACH_TYPE GANTRY_OTHER_INTEGERS
#define GANTRY_EACH_TEXT "kernels/elementwise/fused_cpu_clip.h"
#include "kernels/common/each_type.h"

#define COLUMN(type) [GANTRY_CPU_COLUMN_##type] = clip_##type,
gantry__cpu_clip_fn GANTRY_CPU_NAME(clip_loop)(uint32_t column) {
    static const gantry__cpu_clip_fn loops[GANTRY_CPU_ALL_TYPES] = {
        GANTRY_NUMBERS(COLUMN) GANTRY_OTHER_INTEGERS(COLUMN)};

    return loops[column];
}

void GANTRY_CPU_NAME(stream_copy)(char *out, const char *in, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += GANTRY__CPU_LINE_BYTES) {
        gantry__cpu_stream_line(out + i, in + i);
    }
    gantry__cpu_stream_fence();
}
