/* SPDX-License-Identifier: Apache-2.0 */
/* Further reductions, scans and losses; ops.h includes this file and says what holds for all ops.
 * Halves are computed in float32 and rounded once. Sums and scans are done in an order that
 * depends on the shape alone: the same bits on every device. */
#ifndef GANTRY_OPS_REDUCE_H
#define GANTRY_OPS_REDUCE_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gantry_reduce_options_t;

/* ---- over axes; options may be NULL: over all ---- */

GANTRY_API const gantry_tensor_t *gantry_prod(gantry_scope_t *scope, const gantry_tensor_t *x,
                                              const struct gantry_reduce_options_t *options);
/* Of bool: whether all are true, whether any is. */
GANTRY_API const gantry_tensor_t *gantry_all(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const struct gantry_reduce_options_t *options);
GANTRY_API const gantry_tensor_t *gantry_any(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const struct gantry_reduce_options_t *options);
/* sqrt(sum(x * x)); of integers the sum wraps around and the root is cut. */
GANTRY_API const gantry_tensor_t *gantry_euclidean_norm(
    gantry_scope_t *scope, const gantry_tensor_t *x, const struct gantry_reduce_options_t *options);
/* log(sum(exp(x))), without overflow. */
GANTRY_API const gantry_tensor_t *gantry_log_sum_exp(gantry_scope_t *scope,
                                                     const gantry_tensor_t *x,
                                                     const struct gantry_reduce_options_t *options);
/* The mean squared distance from the mean, and its root. */
GANTRY_API const gantry_tensor_t *gantry_var(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const struct gantry_reduce_options_t *options);
GANTRY_API const gantry_tensor_t *gantry_std(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const struct gantry_reduce_options_t *options);
/* int64 positions of the first least element along axis. */
GANTRY_API const gantry_tensor_t *gantry_argmin(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                int32_t axis);

/* ---- scans along an axis; options may be NULL ---- */

typedef struct gantry_scan_options_t {
    uint32_t struct_size; /* its sizeof; 0: the fields of version 0.1 */
    bool exclusive;       /* each result is of the elements before its own */
    bool reverse;         /* from the last to the first */
} gantry_scan_options_t;

GANTRY_API const gantry_tensor_t *gantry_cumsum(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                int32_t axis, const gantry_scan_options_t *options);
GANTRY_API const gantry_tensor_t *gantry_cumprod(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                 int32_t axis,
                                                 const gantry_scan_options_t *options);
GANTRY_API const gantry_tensor_t *gantry_cumulative_logsumexp(gantry_scope_t *scope,
                                                              const gantry_tensor_t *x,
                                                              int32_t axis,
                                                              const gantry_scan_options_t *options);

/* ---- losses ---- */

/* sum(x * x) / 2, a scalar. */
GANTRY_API const gantry_tensor_t *gantry_l2_loss(gantry_scope_t *scope, const gantry_tensor_t *x);
/* Per row of features [rows, classes], the cross entropy of their softmax against labels, and its
 * gradient for features: labels are probabilities, which broadcast with features, or (sparse) one
 * class per row, int32 or int64, where a class out of range is InvalidArgument at the latest
 * when a result is read. Either result may be NULL. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_softmax_cross_entropy_with_logits(
    gantry_scope_t *scope, const gantry_tensor_t *features, const gantry_tensor_t *labels,
    const gantry_tensor_t **out_loss, const gantry_tensor_t **out_backprop);
GANTRY_API gantry_status_t gantry_sparse_softmax_cross_entropy_with_logits(
    gantry_scope_t *scope, const gantry_tensor_t *features, const gantry_tensor_t *labels,
    const gantry_tensor_t **out_loss, const gantry_tensor_t **out_backprop);

#ifdef __cplusplus
}
#endif
#endif
