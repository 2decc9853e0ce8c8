/* SPDX-License-Identifier: Apache-2.0 */
/* One sort of rows, as sort_items.h and radix_items.h share it: its source, its results, and the
 * order of elements. Owner: the caller; the results are in the call's scratch. Threads:
 * thread-safe. */
#ifndef GANTRY_KERNELS_SORT_CALL_H
#define GANTRY_KERNELS_SORT_CALL_H

#include "kernels/common/item_kernel.h"
#include "kernels/common/indices.cl"
#include "kernels/sort/sort_key.cl"

typedef struct gantry__k_sort_t {
    /* rows of `length` elements with stride `inner`: [rows / inner, length, inner] */
    gantry_span_t source;
    int32_t dtype;
    bool descending, is_total;   /* is_total: the total order of IEEE 754 */
    int64_t rows, length, inner; /* each at least 1 */
    int64_t kept;                /* how many of each row are wanted: 1 to length */
    /* The results: at least the first `kept` of each row, rows `stride` apart. Keys are uint32, or
     * uint64 for elements of 8 bytes; positions in the row are int32. */
    gantry_span_t keys, positions;
    int64_t stride;
} gantry__k_sort_t;

/* The order of elements of the type. */
static inline gantry__order_t gantry__sort_order(int32_t dtype, bool descending, bool is_total) {
    const uint64_t sign = UINT64_C(1) << (8 * gantry__k_size(dtype) - 1),
                   infinity = gantry__type_infinity(dtype);
    const bool lacks_infinity = infinity == gantry__type_nan(dtype);
    const bool has_sign =
        GANTRY__TYPE_IS(dtype, SIGNED_NUMERIC) || GANTRY__TYPE_IS(dtype, QUARTERS);

    return (gantry__order_t){.sign = has_sign ? sign : 0,
                             .infinity = infinity == 0    ? 0
                                         : is_total       ? UINT64_MAX
                                         : lacks_infinity ? gantry__type_greatest(dtype)
                                                          : infinity,
                             .not_negative = !has_sign  ? UINT64_MAX
                                             : is_total ? sign - 1
                                                        : sign,
                             .descending = descending};
}

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
