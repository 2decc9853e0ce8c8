/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles a family of items (kernels/common/item_kernel.h) into the CPU backend. Owner: constant
 * data of the library. Threads: thread-safe. */
/* The file of a family:
 *
 *     #include "kernels/common/cpu_items.h"
 *     #define GANTRY_ITEM_TEXT_FILE "kernels/matrix/matrix.cl"
 *     #define GANTRY_ITEM_LIST GANTRY_MATRIX_ITEMS
 *     #define GANTRY_ITEM_TYPES GANTRY_BY_SIZE             the types its text is made for
 *     #include "kernels/common/cpu_items_of_types.h"
 *     GANTRY_CPU_ITEM_FAMILY(matrix);
 *
 * The file must include the texts that the family's own text needs (math_float32.cl, say) before. A
 * family whose items gain from vector code has a file named ..._cpu_simd.c, which is compiled once
 * for each instruction set (cpu_simd.h); the device's set is chosen at run time. */
#ifndef GANTRY_KERNELS_CPU_ITEMS_H
#define GANTRY_KERNELS_CPU_ITEMS_H

#include "kernels/common/cpu_simd.h"
#include "kernels/common/item_kernel.h"

#include "kernels/common/types.cl"

#include "kernels/common/half.cl"

#include "kernels/common/item.cl"

#define GANTRY_ITEM_FUNCTIONS_(t, i) functions_##t##_##i
#define GANTRY_ITEM_FUNCTIONS(t, i) GANTRY_ITEM_FUNCTIONS_(t, i)
#define GANTRY_ITEM_FUNCTION(name) GANTRY_RANGE_FN(name),
#define GANTRY_ITEM_ROW(t_, i_) \
    {.t = GANTRY_ID_##t_, .i = GANTRY_ID_##i_, .functions = GANTRY_ITEM_FUNCTIONS(t_, i_)},

/* A family whose text has an index type must define GANTRY_I and GANTRY_ITEM_ROWS anew
 * (loss_cpu.c). */
#define GANTRY_I none
#define GANTRY_ITEM_ROW_OF(t_) GANTRY_ITEM_ROW(t_, none)
#define GANTRY_ITEM_ROWS GANTRY_ITEM_TYPES(GANTRY_ITEM_ROW_OF)

#ifndef GANTRY_CPU_VARIANT
#define GANTRY_CPU_ITEM_FAMILY(family)                                                    \
    static const gantry__k_item_row_t rows[] = {GANTRY_ITEM_ROWS{.t = 0}};                \
    extern const gantry__k_items_t gantry__cpu_##family##_items;                          \
    const gantry__k_items_t gantry__cpu_##family##_items = {.run = gantry__cpu_run_items, \
                                                            .rows = {rows}}

#else

/* Each variant of the instruction set has its own rows. The file of the first variant also defines
 * the family, which names the rows of all variants. */
#define GANTRY_CPU_IS_FIRST_base 1
#define GANTRY_CPU_IS_FIRST_avx2 0
#define GANTRY_CPU_IS_FIRST_avx512 0
#define GANTRY_CPU_IS_FIRST_(variant) GANTRY_CPU_IS_FIRST_##variant
#define GANTRY_CPU_IS_FIRST(variant) GANTRY_CPU_IS_FIRST_(variant)
/* For families that leave out types for which AVX2 is as fast as AVX-512. */
#define GANTRY_CPU_IS_AVX512_base 0
#define GANTRY_CPU_IS_AVX512_avx2 0
#define GANTRY_CPU_IS_AVX512_avx512 1
#define GANTRY_CPU_IS_AVX512_(variant) GANTRY_CPU_IS_AVX512_##variant
#define GANTRY_CPU_IS_AVX512(variant) GANTRY_CPU_IS_AVX512_(variant)

#if GANTRY_CPU_HAS_VARIANTS
#define GANTRY_CPU_ITEM_ROWS(family)                                        \
    {                                                                       \
        gantry__cpu_##family##_rows_base, gantry__cpu_##family##_rows_avx2, \
            gantry__cpu_##family##_rows_avx512                              \
    }
#define GANTRY_CPU_ITEM_DECLARE(family)                                   \
    extern const gantry__k_item_row_t gantry__cpu_##family##_rows_base[]; \
    extern const gantry__k_item_row_t gantry__cpu_##family##_rows_avx2[]; \
    extern const gantry__k_item_row_t gantry__cpu_##family##_rows_avx512[];
#else
#define GANTRY_CPU_ITEM_ROWS(family) \
    { gantry__cpu_##family##_rows_base }
#define GANTRY_CPU_ITEM_DECLARE(family) \
    extern const gantry__k_item_row_t gantry__cpu_##family##_rows_base[];
#endif

#if GANTRY_CPU_IS_FIRST(GANTRY_CPU_VARIANT)
#define GANTRY_CPU_ITEM_TABLE(family)                                                     \
    ;                                                                                     \
    extern const gantry__k_items_t gantry__cpu_##family##_items;                          \
    const gantry__k_items_t gantry__cpu_##family##_items = {.run = gantry__cpu_run_items, \
                                                            .rows = GANTRY_CPU_ITEM_ROWS(family)}
#else
#define GANTRY_CPU_ITEM_TABLE(family)
#endif

#define GANTRY_CPU_ITEM_FAMILY(family)                              \
    GANTRY_CPU_ITEM_DECLARE(family)                                 \
    const gantry__k_item_row_t GANTRY_CPU_NAME(family##_rows)[] = { \
        GANTRY_ITEM_ROWS{.t = 0}} GANTRY_CPU_ITEM_TABLE(family)

#endif

#endif
