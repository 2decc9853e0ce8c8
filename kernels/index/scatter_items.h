/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/index/scatter.cl, and updates in the order of the slices they go to, for ops
 * of other families.
 *
 * Owner: keys and positions lie in the call's scratch and end with the call. Threads:
 * thread-safe. */
#ifndef GANTRY_KERNELS_SCATTER_ITEMS_H
#define GANTRY_KERNELS_SCATTER_ITEMS_H

#include "kernels/common/item_kernel.h"
#include "kernels/common/indices.cl"
#include "kernels/index/scatter.cl"

#define GANTRY_SCATTER_ITEMS(ITEM) \
    ITEM(gather_nd)                \
    ITEM(slice_keys)               \
    ITEM(segment_keys)             \
    ITEM(scatter_last)             \
    ITEM(scatter_direct)           \
    ITEM(slice_keys_run)           \
    ITEM(segment_keys_run)         \
    ITEM(bin_parts)

/* Updates, in the order of their slices or in their own. */
typedef struct gantry__k_updates_t {
    /* set before: they stay in their own order, and there are no positions */
    bool stay;
    int64_t slices; /* that they go to */
    int64_t count;  /* at least 1 */
    int64_t inner;  /* elements of a slice, at least 1 */
    /* uint32, int32; without positions where the updates themselves are in order */
    gantry_span_t keys, positions;
} gantry__k_updates_t;

/* By the slices of a tensor of the shape that rows of indices, the op's input of that number, lead
 * to. count and inner are set, too. Indices that lead outside are a fault, but for the attribute
 * bad_indices_policy "IGNORE". */
int32_t gantry__scatter_by_slices(gantry_op_call_t *call, uint32_t input, const gantry_arg_t *shape,
                                  gantry__k_updates_t *updates);

/* Why an id is bad: its text on the CPU, and on devices words of a place and the limit, and where
 * the id is known the CPU's: inside_words for one that is not negative, if they are others. */
typedef struct gantry__k_bad_ids_t {
    void (*explain)(const gantry_op_call_t *call, int64_t position, char *text, size_t text_bytes);
    const char *words, *value_words, *inside_words;
} gantry__k_bad_ids_t;

/* By segments: parameters but is_wide, count and input's data are set; updates->count, too. */
int32_t gantry__scatter_by_segments(gantry_op_call_t *call, gantry__segments_t *parameters,
                                    const gantry__k_bad_ids_t *bad, gantry__k_updates_t *updates);

/* A launch of one item for each of a few workers, which own boxes of rows x columns of slices x
 * inner elements. */
void gantry__scatter_boxes(const gantry_op_call_t *call, const gantry__k_updates_t *updates,
                           int64_t *out_rows, int64_t *out_columns,
                           gantry__k_item_launch_t *launch);

/* Counts the numbers of the input in `bins` bins, those of negative numbers bad; *out_tables tables
 * of uint32 counts, which add up to the count. */
int32_t gantry__scatter_count(gantry_op_call_t *call, uint32_t input, int64_t bins,
                              const gantry__k_bad_ids_t *bad, gantry_span_t *out_counts,
                              int64_t *out_tables);
/* Whether that pays. */
static inline bool gantry__scatter_can_count(const gantry_op_call_t *call, int64_t count,
                                             int64_t bins) {
    return gantry__k_is_serial(call) && bins > 0 && bins <= count && count <= UINT32_MAX;
}

#endif
