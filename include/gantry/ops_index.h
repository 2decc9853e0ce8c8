/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Ops that use indices; ops.h says what holds for all ops, for owners and for threads.
 *
 * Indices are int32 or int64. An index out of range, also a negative one, is InvalidArgument: at the
 * call on the CPU, at the next read of the result on other devices. ONNX's negative indices, which
 * count from the end, must be added to the size before.
 *
 * A row of indices, indices[..., k], names a slice of a tensor: k indices for the first k
 * dimensions, the other dimensions whole. Several updates of one place take effect in their order,
 * on every device. */
#ifndef GANTRY_OPS_INDEX_H
#define GANTRY_OPS_INDEX_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Gather: the slices of params along axis that indices name. */
GANTRY_API const gantry_tensor_t *gantry_gather(gantry_scope_t *scope,
                                                const gantry_tensor_t *params,
                                                const gantry_tensor_t *indices, int32_t axis);
/** OneHot: a new dimension of size depth at axis (-1: the last), with on_value at each index and
 * off_value elsewhere. Both are scalars of one type, the result's. */
GANTRY_API const gantry_tensor_t *gantry_one_hot(gantry_scope_t *scope,
                                                 const gantry_tensor_t *indices, int32_t depth,
                                                 const gantry_tensor_t *on_value,
                                                 const gantry_tensor_t *off_value, int32_t axis);
/** GatherNd: the slices of params that the rows of indices name. */
GANTRY_API const gantry_tensor_t *gantry_gather_nd(gantry_scope_t *scope,
                                                   const gantry_tensor_t *params,
                                                   const gantry_tensor_t *indices);
/** ScatterNd: zeros of this shape, with updates added to the slices that the rows of indices
 * name. gantry_op_call takes the attribute reduction: "ADD", "NONE" (the last update wins), "MUL",
 * "MAX" or "MIN". */
GANTRY_API const gantry_tensor_t *gantry_scatter_nd(gantry_scope_t *scope,
                                                    const gantry_tensor_t *indices,
                                                    const gantry_tensor_t *updates,
                                                    gantry_shape_t shape);

/* ---- updates: indices have rows, which name the slices of tensor that updates change ---- */

/** A copy of tensor whose named slices are replaced by updates. */
GANTRY_API const gantry_tensor_t *gantry_tensor_scatter_update(gantry_scope_t *scope,
                                                               const gantry_tensor_t *tensor,
                                                               const gantry_tensor_t *indices,
                                                               const gantry_tensor_t *updates);
/** A copy of tensor with updates added to its named slices. */
GANTRY_API const gantry_tensor_t *gantry_tensor_scatter_add(gantry_scope_t *scope,
                                                            const gantry_tensor_t *tensor,
                                                            const gantry_tensor_t *indices,
                                                            const gantry_tensor_t *updates);
/** A copy of tensor with updates subtracted from its named slices. */
GANTRY_API const gantry_tensor_t *gantry_tensor_scatter_sub(gantry_scope_t *scope,
                                                            const gantry_tensor_t *tensor,
                                                            const gantry_tensor_t *indices,
                                                            const gantry_tensor_t *updates);
/** A copy of tensor with its named slices multiplied by updates. */
GANTRY_API const gantry_tensor_t *gantry_tensor_scatter_mul(gantry_scope_t *scope,
                                                            const gantry_tensor_t *tensor,
                                                            const gantry_tensor_t *indices,
                                                            const gantry_tensor_t *updates);
/** A copy of tensor whose named slices become the elementwise maximum of slice and update. */
GANTRY_API const gantry_tensor_t *gantry_tensor_scatter_max(gantry_scope_t *scope,
                                                            const gantry_tensor_t *tensor,
                                                            const gantry_tensor_t *indices,
                                                            const gantry_tensor_t *updates);
/** A copy of tensor whose named slices become the elementwise minimum of slice and update. */
GANTRY_API const gantry_tensor_t *gantry_tensor_scatter_min(gantry_scope_t *scope,
                                                            const gantry_tensor_t *tensor,
                                                            const gantry_tensor_t *indices,
                                                            const gantry_tensor_t *updates);

/* ---- indices of elements ----
 * Each index names an element at its own position, except that the index takes the place of the
 * position along axis (a negative axis counts from the end). indices have the rank of data, and
 * along other axes at most its sizes. */

/** GatherElements: the elements of data that indices name, in the shape of indices. */
GANTRY_API const gantry_tensor_t *gantry_gather_elements(gantry_scope_t *scope,
                                                         const gantry_tensor_t *data,
                                                         const gantry_tensor_t *indices,
                                                         int32_t axis);
/** ScatterElements: a copy of data whose elements that indices name are joined with updates, of the
 * shape of indices. reduction: "NONE" (replaced; the last update wins), "ADD", "MUL", "MAX" or
 * "MIN"; NULL is "NONE". */
GANTRY_API const gantry_tensor_t *gantry_scatter_elements(gantry_scope_t *scope,
                                                          const gantry_tensor_t *data,
                                                          const gantry_tensor_t *indices,
                                                          const gantry_tensor_t *updates,
                                                          int32_t axis, const char *reduction);

/* ---- sorted segments ----
 * segment_ids is a vector that never falls, with an id for each row of data (its first dimension).
 * The last id decides the number of segments. A segment without rows is 0, or 1 for the product.
 * These ops wait for the device. */

/** The sum of each segment. */
GANTRY_API const gantry_tensor_t *gantry_segment_sum(gantry_scope_t *scope,
                                                     const gantry_tensor_t *data,
                                                     const gantry_tensor_t *segment_ids);
/** The mean of each segment. */
GANTRY_API const gantry_tensor_t *gantry_segment_mean(gantry_scope_t *scope,
                                                      const gantry_tensor_t *data,
                                                      const gantry_tensor_t *segment_ids);
/** The maximum of each segment. */
GANTRY_API const gantry_tensor_t *gantry_segment_max(gantry_scope_t *scope,
                                                     const gantry_tensor_t *data,
                                                     const gantry_tensor_t *segment_ids);
/** The minimum of each segment. */
GANTRY_API const gantry_tensor_t *gantry_segment_min(gantry_scope_t *scope,
                                                     const gantry_tensor_t *data,
                                                     const gantry_tensor_t *segment_ids);
/** The product of each segment. */
GANTRY_API const gantry_tensor_t *gantry_segment_prod(gantry_scope_t *scope,
                                                      const gantry_tensor_t *data,
                                                      const gantry_tensor_t *segment_ids);

/* ---- unsorted segments ----
 * The shape of segment_ids is the beginning of data's shape: an id for each slice. Slices with
 * negative ids are ignored. A segment without slices is 0, or 1 for the product, the type's lowest
 * value for the maximum, and its highest value for the minimum. */

/** The sum of each segment. */
GANTRY_API const gantry_tensor_t *gantry_unsorted_segment_sum(gantry_scope_t *scope,
                                                              const gantry_tensor_t *data,
                                                              const gantry_tensor_t *segment_ids,
                                                              int64_t num_segments);
/** The mean of each segment. */
GANTRY_API const gantry_tensor_t *gantry_unsorted_segment_mean(gantry_scope_t *scope,
                                                               const gantry_tensor_t *data,
                                                               const gantry_tensor_t *segment_ids,
                                                               int64_t num_segments);
/** The maximum of each segment. */
GANTRY_API const gantry_tensor_t *gantry_unsorted_segment_max(gantry_scope_t *scope,
                                                              const gantry_tensor_t *data,
                                                              const gantry_tensor_t *segment_ids,
                                                              int64_t num_segments);
/** The minimum of each segment. */
GANTRY_API const gantry_tensor_t *gantry_unsorted_segment_min(gantry_scope_t *scope,
                                                              const gantry_tensor_t *data,
                                                              const gantry_tensor_t *segment_ids,
                                                              int64_t num_segments);
/** The product of each segment. */
GANTRY_API const gantry_tensor_t *gantry_unsorted_segment_prod(gantry_scope_t *scope,
                                                               const gantry_tensor_t *data,
                                                               const gantry_tensor_t *segment_ids,
                                                               int64_t num_segments);

/* ---- counts ---- */

/** Bincount: counts how often each value in [0, size) occurs in arr (int32). With weights it
 * adds up their values. Values from size on are ignored; negative values are InvalidArgument.
 * weights has arr's shape, or is empty; its type is the result's type. */
GANTRY_API const gantry_tensor_t *gantry_bincount(gantry_scope_t *scope, const gantry_tensor_t *arr,
                                                  int32_t size, const gantry_tensor_t *weights);
/** DenseBincount: the same for a vector, or for each row of a matrix, of int32 or int64. With
 * binary each value that occurs counts 1. */
GANTRY_API const gantry_tensor_t *gantry_dense_bincount(gantry_scope_t *scope,
                                                        const gantry_tensor_t *input, int32_t size,
                                                        const gantry_tensor_t *weights,
                                                        bool binary);

/* ---- results whose shape depends on data: these ops wait for the device ---- */

/** Where: the positions of the n elements that are true, or not 0, in row-major order: int64[n,
 * rank]. */
GANTRY_API const gantry_tensor_t *gantry_where(gantry_scope_t *scope,
                                               const gantry_tensor_t *condition);
/** UniqueWithCounts: the distinct values of a vector, in the order of their first occurrence.
 * *out_idx is the position of each element among them, *out_count how often each occurs; both
 * are int32 and may be NULL. */
GANTRY_API const gantry_tensor_t *gantry_unique(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                const gantry_tensor_t **out_idx,
                                                const gantry_tensor_t **out_count);

#ifdef __cplusplus
}
#endif
#endif
