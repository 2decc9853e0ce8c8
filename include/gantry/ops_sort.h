/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Sorting, and searches in sorted rows; ops.h says what holds for all ops, for owners and for
 * threads. Sorted elements have any float or integer type, bool or float8; those of searches any
 * float or integer type. NaN counts as larger than all numbers, and -0 equals 0. Equal elements
 * keep their order. gantry_op_call takes further attributes: the total order of IEEE 754, and
 * the smallest k elements, along any axis. */
#ifndef GANTRY_OPS_SORT_H
#define GANTRY_OPS_SORT_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The elements in ascending or descending order along axis; a negative axis counts from the
 * end. */
GANTRY_API const gantry_tensor_t *gantry_sort(gantry_scope_t *scope, const gantry_tensor_t *values,
                                              int32_t axis, bool descending);
/** The int32 positions of the elements that gantry_sort returns. */
GANTRY_API const gantry_tensor_t *gantry_argsort(gantry_scope_t *scope,
                                                 const gantry_tensor_t *values, int32_t axis,
                                                 bool descending);
/** SortByKeys: count tensors of one shape, each of any type, put along axis in the order of the
 * first num_keys of them: the first key decides, and the others where it is equal. descending has a
 * bool for each key; NULL: all ascend. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_sort_by_keys(gantry_scope_t *scope,
                                               const gantry_tensor_t *const *operands, size_t count,
                                               size_t num_keys, int32_t axis,
                                               const bool *descending,
                                               const gantry_tensor_t **outputs);
/** TopK: the k largest elements of each row (along the last axis), the largest first, of equal ones
 * the lower position first. *out_indices, if not NULL, are their int32 positions. */
GANTRY_API const gantry_tensor_t *gantry_top_k(gantry_scope_t *scope, const gantry_tensor_t *input,
                                               int32_t k, const gantry_tensor_t **out_indices);
/** InTopK: bool[n], whether class targets[i] (int32 or int64) is among the k largest of
 * predictions[i] (float32[n, classes]). Classes equal to the k-th are among them. The result is
 * false for a target that names no class, and for a row with an infinity or a NaN. */
GANTRY_API const gantry_tensor_t *gantry_in_top_k(gantry_scope_t *scope,
                                                  const gantry_tensor_t *predictions,
                                                  const gantry_tensor_t *targets, int32_t k);
/** LowerBound: the int32 first position at which each of a row's values could be inserted into
 * the row of sorted_inputs so that it stays sorted. Both are matrices with equally many rows. */
GANTRY_API const gantry_tensor_t *gantry_lower_bound(gantry_scope_t *scope,
                                                     const gantry_tensor_t *sorted_inputs,
                                                     const gantry_tensor_t *values);
/** UpperBound: the same for the last position. */
GANTRY_API const gantry_tensor_t *gantry_upper_bound(gantry_scope_t *scope,
                                                     const gantry_tensor_t *sorted_inputs,
                                                     const gantry_tensor_t *values);

#ifdef __cplusplus
}
#endif
#endif
