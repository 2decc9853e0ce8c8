/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/sort/radix.cl, kernels/sort/sort_network.cl (with sort_network_rows.cl) and
 * kernels/sort/top_k.cl: sorting on processors (gantry__k_is_serial must be true).
 *
 * Owner: results are in the call's scratch and end with the call. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_RADIX_ITEMS_H
#define GANTRY_KERNELS_RADIX_ITEMS_H

#include "kernels/sort/sort_call.h"
#include "kernels/sort/radix.cl"
#include "kernels/sort/sort_network_rows.cl"
#include "kernels/sort/sort_network.cl"
#include "kernels/sort/top_k.cl"

#define GANTRY_RADIX_ITEMS(ITEM) \
    ITEM(radix_rows)             \
    ITEM(radix_keys)             \
    ITEM(radix_count)            \
    ITEM(radix_spread)           \
    ITEM(radix_finish)           \
    ITEM(radix_restore)          \
    ITEM(network_values)         \
    ITEM(network_pairs)          \
    ITEM(top_parts)              \
    ITEM(top_join)

/* Does what gantry__sort_rows does; rows must have less than 2^31 elements. */
int32_t gantry__radix_sort(gantry_op_call_t *call, gantry__k_sort_t *sort);
/* Writes the sorted elements, in the source's shape; kept must be the length of a row. */
int32_t gantry__radix_values(gantry_op_call_t *call, const gantry__k_sort_t *sort,
                             const gantry_span_t *out);
/* The same as gantry__radix_sort, for the few first of many: inner must be 1, and kept must be
 * allowed by gantry__radix_is_top. */
int32_t gantry__radix_top(gantry_op_call_t *call, gantry__k_sort_t *sort);
static inline bool gantry__radix_is_top(const gantry__k_sort_t *sort) {
    return sort->inner == 1 && sort->kept <= sort->length / 8;
}

#endif
