/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting, and searches in what is sorted; included by ops.h, whose words on results and errors
 * hold here too. Elements are of any float or integer type. NaN counts as larger than all else;
 * equal elements stay in their order. */
#ifndef GANTRY_OPS_SORT_H
#define GANTRY_OPS_SORT_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The elements along the axis (negative: from the end) in ascending or descending order. */
GANTRY_API const gantry_tensor_t *gantry_sort(gantry_scope_t *scope, const gantry_tensor_t *values,
                                              int32_t axis, bool descending);
/* Where the elements that gantry_sort gives stand along the axis: int32. */
GANTRY_API const gantry_tensor_t *gantry_argsort(gantry_scope_t *scope,
                                                 const gantry_tensor_t *values, int32_t axis,
                                                 bool descending);
/* The k largest elements of each row (along the last axis), largest first; *out_indices, if not
 * NULL: where they stand, int32. */
GANTRY_API const gantry_tensor_t *gantry_top_k(gantry_scope_t *scope, const gantry_tensor_t *input,
                                               int32_t k, const gantry_tensor_t **out_indices);
/* bool[n]: is the class targets[i] (int32, int64) among the k largest of predictions[i] (float32[n,
 * classes])? Classes as large as the k-th are among them; false for no class, and for a row with
 * an infinity or a NaN. */
GANTRY_API const gantry_tensor_t *gantry_in_top_k(gantry_scope_t *scope,
                                                  const gantry_tensor_t *predictions,
                                                  const gantry_tensor_t *targets, int32_t k);
/* int32: the first (lower) or last (upper) place that each of the row's values could take in the
 * row of sorted_inputs, so that it stays sorted; both are matrices with as many rows. */
GANTRY_API const gantry_tensor_t *gantry_lower_bound(gantry_scope_t *scope,
                                                     const gantry_tensor_t *sorted_inputs,
                                                     const gantry_tensor_t *values);
GANTRY_API const gantry_tensor_t *gantry_upper_bound(gantry_scope_t *scope,
                                                     const gantry_tensor_t *sorted_inputs,
                                                     const gantry_tensor_t *values);

#ifdef __cplusplus
}
#endif
#endif
