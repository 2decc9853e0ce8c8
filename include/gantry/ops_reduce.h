/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, scans and losses; ops.h includes this file and says what holds for all ops.
 * Halves are computed in float32 and rounded once. Sums and scans are done in an order that
 * depends on the shape alone: the same bits on every device. */
#ifndef GANTRY_OPS_REDUCE_H
#define GANTRY_OPS_REDUCE_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- over axes; options may be NULL: over all ---- */

typedef struct gantry_reduce_options_t {
    uint32_t struct_size; /* its sizeof; 0: the fields of version 0.1 */
    const int32_t *axes;  /* negative counts from the end; NULL: all */
    size_t axis_count;
    bool keep_dims;
} gantry_reduce_options_t;

/* ---- rows of ops/reduce.def, written by scripts/make-ops-header ---- */

/* The sum over axes. */
GANTRY_API const gantry_tensor_t *gantry_sum(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_reduce_options_t *options);
/* The mean over axes; integers are truncated towards zero. */
GANTRY_API const gantry_tensor_t *gantry_mean(gantry_scope_t *scope, const gantry_tensor_t *x,
                                              const gantry_reduce_options_t *options);
/* The largest over axes. */
GANTRY_API const gantry_tensor_t *gantry_max(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_reduce_options_t *options);
/* The smallest over axes. */
GANTRY_API const gantry_tensor_t *gantry_min(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_reduce_options_t *options);
/* The product over axes. */
GANTRY_API const gantry_tensor_t *gantry_prod(gantry_scope_t *scope, const gantry_tensor_t *x,
                                              const gantry_reduce_options_t *options);
/* Whether all are true, over axes. */
GANTRY_API const gantry_tensor_t *gantry_all(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_reduce_options_t *options);
/* Whether any is true, over axes. */
GANTRY_API const gantry_tensor_t *gantry_any(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_reduce_options_t *options);
/* The root of the sum of squares over axes; the sum of integers wraps, their root is truncated. */
GANTRY_API const gantry_tensor_t *gantry_euclidean_norm(gantry_scope_t *scope,
                                                        const gantry_tensor_t *x,
                                                        const gantry_reduce_options_t *options);
/* Half the sum of squares. */
GANTRY_API const gantry_tensor_t *gantry_l2_loss(gantry_scope_t *scope, const gantry_tensor_t *x);

/* ---- end of the rows ---- */

/* log(sum(exp(x))), without overflow. */
GANTRY_API const gantry_tensor_t *gantry_log_sum_exp(gantry_scope_t *scope,
                                                     const gantry_tensor_t *x,
                                                     const gantry_reduce_options_t *options);
/* The variance: the mean squared distance from the mean. */
GANTRY_API const gantry_tensor_t *gantry_var(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_reduce_options_t *options);
/* The standard deviation: the root of the variance. */
GANTRY_API const gantry_tensor_t *gantry_std(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_reduce_options_t *options);
/* ---- along an axis ---- */

/* int64 positions of the first largest element along axis. */
GANTRY_API const gantry_tensor_t *gantry_argmax(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                int32_t axis);
/* int64 positions of the first least element along axis. */
GANTRY_API const gantry_tensor_t *gantry_argmin(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                int32_t axis);

/* exp(x) over its sum along the last axis. */
GANTRY_API const gantry_tensor_t *gantry_softmax(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The logarithm of gantry_softmax. */
GANTRY_API const gantry_tensor_t *gantry_log_softmax(gantry_scope_t *scope,
                                                     const gantry_tensor_t *x);

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
