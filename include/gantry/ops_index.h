/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that go by indices; ops.h says what holds for all ops.
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

/* Rows of params along axis by indices (int32, int64); an index out of range is an error at the
 * next read. */
GANTRY_API const gantry_tensor_t *gantry_gather(gantry_scope_t *scope,
                                                const gantry_tensor_t *params,
                                                const gantry_tensor_t *indices, int32_t axis);
/* on_value where the index is, off_value elsewhere (scalars of one type); axis -1: last. */
GANTRY_API const gantry_tensor_t *gantry_one_hot(gantry_scope_t *scope,
                                                 const gantry_tensor_t *indices, int32_t depth,
                                                 const gantry_tensor_t *on_value,
                                                 const gantry_tensor_t *off_value, int32_t axis);
/* The slices of params that the rows of indices lead to. */
GANTRY_API const gantry_tensor_t *gantry_gather_nd(gantry_scope_t *scope,
                                                   const gantry_tensor_t *params,
                                                   const gantry_tensor_t *indices);
/* Zeros of that shape, with the updates added where the rows of indices lead. */
GANTRY_API const gantry_tensor_t *gantry_scatter_nd(gantry_scope_t *scope,
                                                    const gantry_tensor_t *indices,
                                                    const gantry_tensor_t *updates,
                                                    gantry_shape_t shape);

/* ---- updates: a copy of tensor, changed where the rows of indices lead ---- */

/* updates in place of its elements. */
GANTRY_API const gantry_tensor_t *gantry_tensor_scatter_update(gantry_scope_t *scope,
                                                               const gantry_tensor_t *tensor,
                                                               const gantry_tensor_t *indices,
                                                               const gantry_tensor_t *updates);
/* updates added to its elements. */
GANTRY_API const gantry_tensor_t *gantry_tensor_scatter_add(gantry_scope_t *scope,
                                                            const gantry_tensor_t *tensor,
                                                            const gantry_tensor_t *indices,
                                                            const gantry_tensor_t *updates);
/* updates subtracted from its elements. */
GANTRY_API const gantry_tensor_t *gantry_tensor_scatter_sub(gantry_scope_t *scope,
                                                            const gantry_tensor_t *tensor,
                                                            const gantry_tensor_t *indices,
                                                            const gantry_tensor_t *updates);
/* The larger of its element and the update. */
GANTRY_API const gantry_tensor_t *gantry_tensor_scatter_max(gantry_scope_t *scope,
                                                            const gantry_tensor_t *tensor,
                                                            const gantry_tensor_t *indices,
                                                            const gantry_tensor_t *updates);
/* The smaller of its element and the update. */
GANTRY_API const gantry_tensor_t *gantry_tensor_scatter_min(gantry_scope_t *scope,
                                                            const gantry_tensor_t *tensor,
                                                            const gantry_tensor_t *indices,
                                                            const gantry_tensor_t *updates);

/* ---- sorted segments: rows of data (its first dimension), by segment_ids, a vector that never
 * falls and whose last id says how many segments there are. A segment without rows is 0, or 1 for
 * the product. These ops wait for the device. ---- */

/* The sum of each segment. */
GANTRY_API const gantry_tensor_t *gantry_segment_sum(gantry_scope_t *scope,
                                                     const gantry_tensor_t *data,
                                                     const gantry_tensor_t *segment_ids);
/* The mean of each segment. */
GANTRY_API const gantry_tensor_t *gantry_segment_mean(gantry_scope_t *scope,
                                                      const gantry_tensor_t *data,
                                                      const gantry_tensor_t *segment_ids);
/* The largest of each segment. */
GANTRY_API const gantry_tensor_t *gantry_segment_max(gantry_scope_t *scope,
                                                     const gantry_tensor_t *data,
                                                     const gantry_tensor_t *segment_ids);
/* The least of each segment. */
GANTRY_API const gantry_tensor_t *gantry_segment_min(gantry_scope_t *scope,
                                                     const gantry_tensor_t *data,
                                                     const gantry_tensor_t *segment_ids);
/* The product of each segment. */
GANTRY_API const gantry_tensor_t *gantry_segment_prod(gantry_scope_t *scope,
                                                      const gantry_tensor_t *data,
                                                      const gantry_tensor_t *segment_ids);

/* ---- unsorted segments: slices of data, whose shape begins with that of segment_ids; those with
 * negative ids go to none. A segment without slices is 0, 1 for the product, the type's lowest
 * value for the largest, its highest for the least. ---- */

/* The sum of each segment. */
GANTRY_API const gantry_tensor_t *gantry_unsorted_segment_sum(gantry_scope_t *scope,
                                                              const gantry_tensor_t *data,
                                                              const gantry_tensor_t *segment_ids,
                                                              int64_t num_segments);
/* The mean of each segment. */
GANTRY_API const gantry_tensor_t *gantry_unsorted_segment_mean(gantry_scope_t *scope,
                                                               const gantry_tensor_t *data,
                                                               const gantry_tensor_t *segment_ids,
                                                               int64_t num_segments);
/* The largest of each segment. */
GANTRY_API const gantry_tensor_t *gantry_unsorted_segment_max(gantry_scope_t *scope,
                                                              const gantry_tensor_t *data,
                                                              const gantry_tensor_t *segment_ids,
                                                              int64_t num_segments);
/* The least of each segment. */
GANTRY_API const gantry_tensor_t *gantry_unsorted_segment_min(gantry_scope_t *scope,
                                                              const gantry_tensor_t *data,
                                                              const gantry_tensor_t *segment_ids,
                                                              int64_t num_segments);
/* The product of each segment. */
GANTRY_API const gantry_tensor_t *gantry_unsorted_segment_prod(gantry_scope_t *scope,
                                                               const gantry_tensor_t *data,
                                                               const gantry_tensor_t *segment_ids,
                                                               int64_t num_segments);

/* ---- counts ---- */

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

/* ---- results whose shape depends on data: these ops wait for the device ---- */

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
