/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/index/compaction.cl, in the order that every table of them must have. Owner:
 * nothing, this is a list. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_COMPACTION_ITEMS_H
#define GANTRY_KERNELS_COMPACTION_ITEMS_H

#include "kernels/common/item_kernel.h"
#include "kernels/common/indices.cl"
#include "kernels/index/compaction.cl"

#define GANTRY_COMPACTION_ITEMS(ITEM) \
    ITEM(scan_sums)                   \
    ITEM(scan_spread)                 \
    ITEM(where_count)                 \
    ITEM(where_write)                 \
    ITEM(heads_count)                 \
    ITEM(heads_write)                 \
    ITEM(heads_number)                \
    ITEM(heads_values)                \
    ITEM(heads_lengths)               \
    ITEM(heads_indices)

#endif
