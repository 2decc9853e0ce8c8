/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/index/scatter.cl, and the order of updates by slice, which other families
 * use, too.
 *
 * Owner: keys and positions are in the call's scratch and end with the call. Threads:
 * thread-safe. */
#ifndef GANTRY_KERNELS_SCATTER_ITEMS_H
#define GANTRY_KERNELS_SCATTER_ITEMS_H

#include "kernels/common/item_kernel.h"
#include "kernels/common/indices.cl"
#include "kernels/index/scatter.cl"
#include "kernels/index/bins.cl"
#include "kernels/index/buckets.cl"

#define GANTRY_SCATTER_ITEMS(ITEM) \
    ITEM(gather_nd)                \
    ITEM(slice_keys)               \
    ITEM(segment_keys)             \
    ITEM(scatter_last)             \
    ITEM(scatter_direct)           \
    ITEM(slice_keys_run)           \
    ITEM(segment_keys_run)         \
    ITEM(bin_parts)                \
    ITEM(gather_elements)          \
    ITEM(element_keys)

/* Updates, either slice by slice, in any order of slices, or in their own order. */
typedef struct gantry__k_updates_t {
    /* The caller must set this: updates keep their order, and there are no positions. */
    bool stay;
    int64_t slices; /* slices of the output */
    int64_t count;  /* at least 1 */
    int64_t inner;  /* elements of a slice; at least 1 */
    /* uint32 and int32: updates of one slice are neighbours. There are no positions where the
     * updates themselves are in order. */
    gantry_span_t keys, positions;
} gantry__k_updates_t;

/* Makes keys of rows of indices, which are the op's input `input` and name slices of a tensor of
 * `shape`. It sets count and inner, too. A row outside the tensor is a fault, unless the attribute
 * bad_indices_policy is "IGNORE". */
int32_t gantry__scatter_by_slices(gantry_op_call_t *call, uint32_t input, const gantry_arg_t *shape,
                                  gantry__k_updates_t *updates);

/* The same for indices of elements, the op's input 1, along its attribute `axis`. */
int32_t gantry__scatter_by_elements(gantry_op_call_t *call, const gantry_arg_t *shape,
                                    gantry__k_updates_t *updates);

/* Replaces slices of output 0 by those of `values`; the last one of a slice wins. */
int32_t gantry__scatter_replace(gantry_op_call_t *call, const gantry__k_updates_t *updates,
                                const gantry_span_t *values);

/* The message for a bad id. The CPU calls explain. Devices print `words`, with a position and the
 * limit, or `value_words` where the id is known. inside_words replaces value_words for an id that
 * is not negative. */
typedef struct gantry__k_bad_ids_t {
    void (*explain)(const gantry_op_call_t *call, int64_t position, char *text, size_t text_bytes);
    const char *words, *value_words, *inside_words;
} gantry__k_bad_ids_t;

/* The words for ids of the op's input that are not in [0, limit). */
gantry_fault_words_t gantry__scatter_words(const gantry_op_call_t *call, int64_t input,
                                           int64_t limit, const gantry__k_bad_ids_t *bad);

/* Makes keys of segment ids. The caller must set updates->count, and all parameters but is_wide,
 * count and the data of input. */
int32_t gantry__scatter_by_segments(gantry_op_call_t *call, gantry__segments_t *parameters,
                                    const gantry__k_bad_ids_t *bad, gantry__k_updates_t *updates);

/* Prepares a launch of one item for each worker. Workers own boxes of rows x columns of slices x
 * inner elements. */
void gantry__scatter_boxes(const gantry_op_call_t *call, const gantry__k_updates_t *updates,
                           int64_t *out_rows, int64_t *out_columns,
                           gantry__k_item_launch_t *launch);

/* Combines the updates, which kept their order, with output 0 on devices that are not serial;
 * `operation` is one of bins.cl. */
int32_t gantry__scatter_unsorted(gantry_op_call_t *call, int32_t operation,
                                 const gantry__k_updates_t *updates, const gantry_span_t *values);

/* Counts the numbers of the input in `bins` bins; a negative number is a fault. *out_counts holds
 * *out_tables tables of uint32, which the caller must add up. gantry__scatter_can_count must be
 * true for the call. */
int32_t gantry__scatter_count(gantry_op_call_t *call, uint32_t input, int64_t bins,
                              const gantry__k_bad_ids_t *bad, gantry_span_t *out_counts,
                              int64_t *out_tables);
/* Counts in output 0, which must be zeros, on devices that are not serial: the first 32 bits of an
 * element are then its count, and the rest stays 0. is_binary: they are 1, in the output's type. */
int32_t gantry__scatter_count_here(gantry_op_call_t *call, int64_t bins, int64_t per_row,
                                   const gantry__k_bad_ids_t *bad, bool is_binary);
/* Whether gantry__scatter_count is for the call: on processors, for fewer bins than numbers. */
static inline bool gantry__scatter_can_count(const gantry_op_call_t *call, int64_t count,
                                             int64_t bins) {
    return gantry__k_is_serial(call) && bins > 0 && bins <= count && count <= UINT32_MAX;
}

#endif
