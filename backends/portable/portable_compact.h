/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/compact.cl, in the order of every table of them. */
#ifndef GANTRY_PORTABLE_COMPACT_H
#define GANTRY_PORTABLE_COMPACT_H

#include "portable/item_kernel.h"
#include "portable/kernels/indices.cl"
#include "portable/kernels/compact.cl"

#define GANTRY_COMPACT_ITEMS(ITEM) \
    ITEM(scan_sums)                \
    ITEM(scan_spread)              \
    ITEM(where_count)              \
    ITEM(where_write)              \
    ITEM(unique_marks)             \
    ITEM(unique_indices)           \
    ITEM(unique_counts)            \
    ITEM(unique_values)            \
    ITEM(heads_count)              \
    ITEM(heads_write)              \
    ITEM(heads_number)             \
    ITEM(heads_values)             \
    ITEM(heads_lengths)            \
    ITEM(heads_indices)

#endif
