/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/index/segment.cl, in the order that every table of them must have. Owner:
 * nothing, this is a list. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_SEGMENT_ITEMS_H
#define GANTRY_KERNELS_SEGMENT_ITEMS_H

#include "kernels/common/item_kernel.h"
#include "kernels/common/indices.cl"
#include "kernels/index/segment.cl"

#define GANTRY_SEGMENT_ITEMS(ITEM) \
    ITEM(combine_sum)              \
    ITEM(combine_difference)       \
    ITEM(combine_product)          \
    ITEM(combine_mean)             \
    ITEM(segment_larger)           \
    ITEM(segment_smaller)          \
    ITEM(scatter_larger)           \
    ITEM(scatter_smaller)          \
    ITEM(count_values)             \
    ITEM(direct_sum)               \
    ITEM(direct_difference)        \
    ITEM(direct_product)           \
    ITEM(direct_segment_larger)    \
    ITEM(direct_segment_smaller)   \
    ITEM(direct_scatter_larger)    \
    ITEM(direct_scatter_smaller)   \
    ITEM(direct_count)             \
    ITEM(direct_mean)              \
    ITEM(join_counts)

#endif
