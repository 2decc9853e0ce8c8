/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that go by indices; included by ops.h, whose words on results and errors hold here too.
 * Indices are int32 or int64. An index that is out of range is InvalidArgument: at the call on the
 * CPU, at the next read of the result elsewhere.
 *
 * Rows of indices: indices[..., k] lead to slices of a tensor, which are whole where k is less than
 * its rank. Updates of one place take effect in their order, on every device. */
#ifndef GANTRY_OPS_INDEX_H
#define GANTRY_OPS_INDEX_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The slices of params that the rows of indices lead to. */
GANTRY_API const gantry_tensor_t *gantry_gather_nd(gantry_scope_t *scope,
                                                   const gantry_tensor_t *params,
                                                   const gantry_tensor_t *indices);
/* Zeros of that shape, with the updates added where the rows of indices lead. */
GANTRY_API const gantry_tensor_t *gantry_scatter_nd(gantry_scope_t *scope,
                                                    const gantry_tensor_t *indices,
                                                    const gantry_tensor_t *updates,
                                                    gantry_shape_t shape);

/* X(C name, TOKEN, "op name"): tensor, with updates put in, added, ... where the rows of indices
 * lead. */
#define GANTRY_TENSOR_SCATTER_OPS(X)                                       \
    X(tensor_scatter_update, TENSOR_SCATTER_UPDATE, "TensorScatterUpdate") \
    X(tensor_scatter_add, TENSOR_SCATTER_ADD, "TensorScatterAdd")          \
    X(tensor_scatter_sub, TENSOR_SCATTER_SUB, "TensorScatterSub")          \
    X(tensor_scatter_max, TENSOR_SCATTER_MAX, "TensorScatterMax")          \
    X(tensor_scatter_min, TENSOR_SCATTER_MIN, "TensorScatterMin")
#define GANTRY_DECLARE_TENSOR_SCATTER(name, token, op)                                        \
    GANTRY_API const gantry_tensor_t *gantry_##name(                                          \
        gantry_scope_t *scope, const gantry_tensor_t *tensor, const gantry_tensor_t *indices, \
        const gantry_tensor_t *updates);
GANTRY_TENSOR_SCATTER_OPS(GANTRY_DECLARE_TENSOR_SCATTER)

/* Rows of data (its first dimension) by segment: segment_ids, a vector, never falls, and the last
 * id says how many segments there are. A segment without rows is 0, or 1 for the product. */
#define GANTRY_SEGMENT_OPS(X)                    \
    X(segment_sum, SEGMENT_SUM, "SegmentSum")    \
    X(segment_mean, SEGMENT_MEAN, "SegmentMean") \
    X(segment_max, SEGMENT_MAX, "SegmentMax")    \
    X(segment_min, SEGMENT_MIN, "SegmentMin")    \
    X(segment_prod, SEGMENT_PROD, "SegmentProd")
#define GANTRY_DECLARE_SEGMENT(name, token, op)      \
    GANTRY_API const gantry_tensor_t *gantry_##name( \
        gantry_scope_t *scope, const gantry_tensor_t *data, const gantry_tensor_t *segment_ids);
GANTRY_SEGMENT_OPS(GANTRY_DECLARE_SEGMENT)

/* Slices of data, whose shape begins with that of segment_ids, by segment; those with negative ids
 * go to none. A segment without slices is 0, 1 for the product, the type's lowest value for the
 * maximum, its highest for the minimum. */
#define GANTRY_UNSORTED_SEGMENT_OPS(X)                                     \
    X(unsorted_segment_sum, UNSORTED_SEGMENT_SUM, "UnsortedSegmentSum")    \
    X(unsorted_segment_mean, UNSORTED_SEGMENT_MEAN, "UnsortedSegmentMean") \
    X(unsorted_segment_max, UNSORTED_SEGMENT_MAX, "UnsortedSegmentMax")    \
    X(unsorted_segment_min, UNSORTED_SEGMENT_MIN, "UnsortedSegmentMin")    \
    X(unsorted_segment_prod, UNSORTED_SEGMENT_PROD, "UnsortedSegmentProd")
#define GANTRY_DECLARE_UNSORTED_SEGMENT(name, token, op)                                        \
    GANTRY_API const gantry_tensor_t *gantry_##name(                                            \
        gantry_scope_t *scope, const gantry_tensor_t *data, const gantry_tensor_t *segment_ids, \
        int64_t num_segments);
GANTRY_UNSORTED_SEGMENT_OPS(GANTRY_DECLARE_UNSORTED_SEGMENT)

/* How often each number from 0 to size - 1 comes in arr (int32), or the sum of its weights; larger
 * numbers are passed over, negative ones are InvalidArgument. weights, of arr's shape or without
 * elements, says what type the result has. */
GANTRY_API const gantry_tensor_t *gantry_bincount(gantry_scope_t *scope, const gantry_tensor_t *arr,
                                                  int32_t size, const gantry_tensor_t *weights);
/* The same of a vector or of each row of a matrix, int32 or int64; binary: 1 for every number
 * that comes. */
GANTRY_API const gantry_tensor_t *gantry_dense_bincount(gantry_scope_t *scope,
                                                        const gantry_tensor_t *input, int32_t size,
                                                        const gantry_tensor_t *weights,
                                                        bool binary);

/* The following wait for the device: the shape of their results depends on data. The ops of
 * sorted segments do, too. */

/* int64[n, rank]: where the n elements stand that are true, or not 0. */
GANTRY_API const gantry_tensor_t *gantry_where(gantry_scope_t *scope,
                                               const gantry_tensor_t *condition);
/* The values of a vector, each once, in the order of their first coming. *out_idx: which of them
 * each element is; *out_count: how often each comes; both int32, both may be NULL. */
GANTRY_API const gantry_tensor_t *gantry_unique(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                const gantry_tensor_t **out_idx,
                                                const gantry_tensor_t **out_count);

#ifdef __cplusplus
}
#endif
#endif
