/* SPDX-License-Identifier: Apache-2.0 */
/* All loops of the elementwise family for one instruction set (cpu_simd.h). */
#include "kernels/elementwise/elementwise_cpu.h"

#include "kernels/common/cpu_stream_store.h"

#include "kernels/common/dialect.cl"

#include "kernels/math/math_float32.cl"
#include "kernels/math/math_float32_pair.cl"
#include "kernels/math/math_float32_hyperbolic.cl"
#include "kernels/math/math_float32_trig.cl"
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
#include "kernels/math/math_bits.cl"
#include "kernels/math/math_integer.cl"
#include "kernels/math/math_modulo.cl"
#include "kernels/math/math_rounding.cl"

#include "kernels/common/types.cl"

#if defined(__AVX2__)
#include "kernels/elementwise/elementwise_cpu_blocks.h"
#endif

#define GANTRY_EACH_TYPE GANTRY_NUMBERS_BOOL
#define GANTRY_EACH_TEXT "kernels/elementwise/elementwise_cpu_loops.h"
#include "kernels/common/each_type.h"

#include "kernels/elementwise/elementwise_cpu_fast_range.h"

/* ---- tables ---- */

#define GANTRY_EACH_TYPE GANTRY_NUMBERS_BOOL
#define GANTRY_EACH_TEXT "kernels/elementwise/elementwise_cpu_table.h"
#include "kernels/common/each_type.h"

#define COLUMN(type) [GANTRY_CPU_COLUMN_##type] = table_##type,
const gantry__cpu_loops_t *GANTRY_CPU_NAME(element_loops)(uint32_t column) {
    static const gantry__cpu_loops_t *const tables[] = {GANTRY_NUMBERS_BOOL(COLUMN)};

    return tables[column];
}

/* ---- loops over bits, by size ---- */

#define SELECT(B)                                                                    \
    static void select_##B(const uint8_t *condition, const B *x, const B *y, B *out, \
                           int64_t count) {                                          \
        for (int64_t i = 0; i < count; ++i) {                                        \
            const B t = x[i];                                                        \
            const B e = y[i];                                                        \
            out[i] = condition[i] != 0 ? t : e;                                      \
        }                                                                            \
    }

SELECT(uint8_t)
SELECT(uint16_t)
SELECT(uint32_t)
SELECT(uint64_t)
SELECT(gantry__k_pair_t)

void GANTRY_CPU_NAME(select_loop)(uint32_t bytes, const uint8_t *condition, const void *x,
                                  const void *y, void *out, int64_t count) {
    if (bytes == 1) {
        select_uint8_t(condition, x, y, out, count);
    } else if (bytes == 2) {
        select_uint16_t(condition, x, y, out, count);
    } else if (bytes == 4) {
        select_uint32_t(condition, x, y, out, count);
    } else if (bytes == 8) {
        select_uint64_t(condition, x, y, out, count);
    } else {
        select_gantry__k_pair_t(condition, x, y, out, count);
    }
}

/* ---- streaming stores ---- */

#define BLOCK_BYTES 512 /* small enough that reads and writes of memory overlap */

/* The number of elements before out reaches a line's boundary; all of them if it never does. */
static int64_t elements_to_line(const char *out, uint32_t bytes, int64_t count) {
    uint64_t gap = (GANTRY__CPU_LINE_BYTES - (uint64_t)(uintptr_t)out % GANTRY__CPU_LINE_BYTES) %
                   GANTRY__CPU_LINE_BYTES;

    if (gap % bytes != 0 || (int64_t)(gap / bytes) > count) return count;
    return (int64_t)(gap / bytes);
}

/* Writes a block, and prefetches the operands of the next one from `ahead` and `beside`; their
 * steps must be the bytes that make a line of the output, or 0 if there is no second operand. A
 * prefetch past an operand's end has no effect. */
static void stream_block(char *out, const char *block, uintptr_t ahead, uint32_t ahead_step,
                         uintptr_t beside, uint32_t beside_step) {
    for (int64_t b = 0; b < BLOCK_BYTES; b += GANTRY__CPU_LINE_BYTES) {
        __builtin_prefetch((const void *)ahead);
        ahead += ahead_step;
        if (beside_step != 0) {
            __builtin_prefetch((const void *)beside);
            beside += beside_step;
        }
        gantry__cpu_stream_line(out + b, block + b);
    }
}

int32_t GANTRY_CPU_NAME(stream_loop)(gantry__cpu_loop_fn loop, const char *x, uint32_t x_bytes,
                                     const char *y, uint32_t y_bytes, char *out, uint32_t out_bytes,
                                     int64_t count) {
    _Alignas(GANTRY__CPU_LINE_BYTES) char block[BLOCK_BYTES];
    const int64_t step = BLOCK_BYTES / out_bytes;
    const uint32_t line = GANTRY__CPU_LINE_BYTES / out_bytes;
    const bool two = x != y && y_bytes != 0;
    int64_t i = elements_to_line(out, out_bytes, count);
    int32_t bad = i > 0 ? loop(x, y, out, i) : 0;

    for (; count - i >= step; i += step) {
        bad |= loop(x + i * x_bytes, y + i * y_bytes, block, step);
        stream_block(out + i * out_bytes, block, (uintptr_t)x + (uintptr_t)(i + step) * x_bytes,
                     line * x_bytes, (uintptr_t)y + (uintptr_t)(i + step) * y_bytes,
                     two ? line * y_bytes : 0);
    }
    gantry__cpu_stream_fence();
    if (i < count) {
        bad |= loop(x + i * x_bytes, y + i * y_bytes, out + i * out_bytes, count - i);
    }
    return bad;
}

#define FILL(B)                                                         \
    static void fill_##B(const void *value, char *out, int64_t count) { \
        const B v = ((const B *)value)[0];                              \
        for (int64_t i = 0; i < count; ++i) {                           \
            ((B *)(void *)out)[i] = v;                                  \
        }                                                               \
    }

FILL(uint8_t)
FILL(uint16_t)
FILL(uint32_t)
FILL(uint64_t)
FILL(gantry__k_pair_t)

static void fill_cached(uint32_t bytes, const void *value, char *out, int64_t count) {
    if (bytes == 1) {
        fill_uint8_t(value, out, count);
    } else if (bytes == 2) {
        fill_uint16_t(value, out, count);
    } else if (bytes == 4) {
        fill_uint32_t(value, out, count);
    } else if (bytes == 8) {
        fill_uint64_t(value, out, count);
    } else {
        fill_gantry__k_pair_t(value, out, count);
    }
}

void GANTRY_CPU_NAME(fill_loop)(uint32_t bytes, const void *value, char *out, int64_t count,
                                bool stream) {
    _Alignas(GANTRY__CPU_LINE_BYTES) char line[GANTRY__CPU_LINE_BYTES];
    const int64_t step = GANTRY__CPU_LINE_BYTES / bytes;
    int64_t i = stream ? elements_to_line(out, bytes, count) : count;

    fill_cached(bytes, value, out, i);
    if (i == count) return;
    fill_cached(bytes, value, line, step);
    for (; count - i >= step; i += step) {
        gantry__cpu_stream_line(out + i * bytes, line);
    }
    gantry__cpu_stream_fence();
    fill_cached(bytes, value, out + i * bytes, count - i);
}
