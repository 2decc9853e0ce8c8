/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/segment.cl, in the order of every table of them. */
#ifndef GANTRY_PORTABLE_SEGMENT_H
#define GANTRY_PORTABLE_SEGMENT_H

#include "portable/item_kernel.h"
#include "portable/kernels/indices.cl"
#include "portable/kernels/segment.cl"

#define GANTRY_SEGMENT_ITEMS(ITEM) \
    ITEM(combine_sum)              \
    ITEM(combine_difference)       \
    ITEM(combine_product)          \
    ITEM(combine_mean)             \
    ITEM(segment_larger)           \
    ITEM(segment_smaller)          \
    ITEM(scatter_larger)           \
    ITEM(scatter_smaller)          \
    ITEM(combine_count)            \
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
