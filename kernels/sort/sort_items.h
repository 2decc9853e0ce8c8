/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/sort/sort.cl, and the sort for ops of other families.
 *
 * Owner: results are in the call's scratch and end with the call. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_SORT_ITEMS_H
#define GANTRY_KERNELS_SORT_ITEMS_H

#include "kernels/sort/sort_call.h"
#include "kernels/sort/sort.cl"

#define GANTRY_SORT_ITEMS(ITEM) \
    ITEM(sort_runs)             \
    ITEM(sort_merge)            \
    ITEM(sort_values)           \
    ITEM(sort_indices)          \
    ITEM(sort_short_indices)    \
    ITEM(sort_bound)            \
    ITEM(in_top_count)          \
    ITEM(in_top)

/* Sorts; equal elements keep their order. Returns Unimplemented for rows of 2^31 elements or
 * more. */
int32_t gantry__sort_rows(gantry_op_call_t *call, gantry__k_sort_t *sort);

#endif
