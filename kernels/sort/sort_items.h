/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/sort/sort.cl, and the sort for ops of other families.
 *
 * Owner: results are in the call's scratch and end with the call. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_SORT_ITEMS_H
#define GANTRY_KERNELS_SORT_ITEMS_H

#include "kernels/common/item_kernel.h"
#include "kernels/common/indices.cl"
#include "kernels/sort/sort_key.cl"
#include "kernels/sort/sort.cl"

#define GANTRY_SORT_ITEMS(ITEM) \
    ITEM(sort_runs)             \
    ITEM(sort_merge)            \
    ITEM(sort_values)           \
    ITEM(sort_indices)          \
    ITEM(sort_bound)            \
    ITEM(in_top_count)          \
    ITEM(in_top)

/* The order of elements of the type. */
gantry__order_t gantry__sort_order(int32_t dtype, bool descending);

typedef struct gantry__k_sort_t {
    /* rows of `length` elements with stride `inner`: [rows / inner, length, inner] */
    gantry_span_t source;
    int32_t dtype;
    bool descending;
    int64_t rows, length, inner; /* each at least 1 */
    int64_t kept;                /* how many of each row are wanted: 1 to length */
    /* The results: at least the first `kept` of each row, rows `stride` apart. Keys are uint32, or
     * uint64 for elements of 8 bytes; positions in the row are int32. */
    gantry_span_t keys, positions;
    int64_t stride;
} gantry__k_sort_t;

/* Sorts; equal elements keep their order. Returns Unimplemented for rows of 2^31 elements or
 * more. */
int32_t gantry__sort_rows(gantry_op_call_t *call, gantry__k_sort_t *sort);

/* The bytes of the key of an element. */
static inline int64_t gantry__k_key_bytes(int32_t dtype) {
    return gantry__k_size(dtype) == 8 ? 8 : 4;
}

/* Takes the next `bytes` of *rest, a scratch that must be large enough for all takes. */
static inline gantry_span_t gantry__k_cut(gantry_span_t *rest, int64_t bytes) {
    const uint64_t size = ((uint64_t)bytes + 15) / 16 * 16;
    const gantry_span_t out = {rest->region, rest->offset_bytes, size};

    rest->offset_bytes += size;
    rest->size_bytes -= size < rest->size_bytes ? size : rest->size_bytes;
    return out;
}

#endif
