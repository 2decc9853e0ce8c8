/* What a family of items needs to be compiled into the CPU backend; see portable/item_kernel.h. A family's file:
 *
 *     #include "cpu/cpu_items.h"
 *     #define GANTRY_ITEM_TEXT_FILE "portable/kernels/matrix.cl"
 *     #define GANTRY_ITEM_LIST GANTRY_MATRIX_ITEMS
 *     #include "cpu/cpu_items_by_size.h"                the types its text is made for, or rows of its own
 *     GANTRY_CPU_ITEM_FAMILY(matrix);
 *
 * Texts that the family's own needs (math_float32.cl) are included in front. Constant data; thread-safe. */
#ifndef GANTRY_CPU_ITEMS_H
#define GANTRY_CPU_ITEMS_H

#include "cpu/cpu_simd.h"
#include "portable/item_kernel.h"

#include "portable/kernels/types.cl"

#include "portable/kernels/half.cl"

#include "portable/kernels/item.cl"

#define GANTRY_ITEM_FUNCTIONS_(t, i) functions_##t##_##i
#define GANTRY_ITEM_FUNCTIONS(t, i) GANTRY_ITEM_FUNCTIONS_(t, i)
#define GANTRY_ITEM_FUNCTION(name) GANTRY_RANGE_FN(name),
#define GANTRY_ITEM_ROW(t_, i_) {.t = t_, .i = i_, .functions = GANTRY_ITEM_FUNCTIONS(t_, i_)},

/* GANTRY_ITEM_ROWS is what the header of the types defined. */
#define GANTRY_CPU_ITEM_FAMILY(family)                                                                      \
    static const gantry_k_item_row_t rows[] = {GANTRY_ITEM_ROWS};                                           \
    extern const gantry_k_items_t gantry__cpu_##family##_items;                                             \
    const gantry_k_items_t gantry__cpu_##family##_items = {                                                 \
        .run = gantry__cpu_run_items, .rows = rows, .row_count = sizeof rows / sizeof rows[0]}

/* Where the device's instruction set matters: GANTRY_CPU_ITEM_VARIANT in a *_simd.c file (cpu_simd.h) in place of the
 * above, and this in another file. */
#define GANTRY_CPU_ITEM_VARIANT(family)                                      \
    static const gantry_k_item_row_t rows[] = {GANTRY_ITEM_ROWS};            \
    extern const gantry_k_items_t GANTRY_CPU_NAME(family##_variant);         \
    const gantry_k_items_t GANTRY_CPU_NAME(family##_variant) = {             \
        .run = gantry__cpu_run_items, .rows = rows, .row_count = sizeof rows / sizeof rows[0]}
#define GANTRY_CPU_ITEM_FAMILY_OF_VARIANTS(family)                                                             \
    GANTRY_CPU_DECLARE(extern const gantry_k_items_t, family##_variant, );                                     \
    static const gantry_k_items_t *const family##_variants[] = {GANTRY_CPU_EACH_VARIANT(family##_variant)};    \
    extern const gantry_k_items_t gantry__cpu_##family##_items;                                                \
    const gantry_k_items_t gantry__cpu_##family##_items = {.run = gantry__cpu_run_items,                       \
                                                           .variants = family##_variants}

#endif
