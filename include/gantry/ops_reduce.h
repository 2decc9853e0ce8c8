/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Reductions, scans and losses; ops.h says what holds for all ops, for owners and for threads.
 *
 * float16 and bfloat16 are computed in float32 and rounded once. The order of sums and scans
 * depends on the shape only, so that every device has the same bits. */
#ifndef GANTRY_OPS_REDUCE_H
#define GANTRY_OPS_REDUCE_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- over axes: options may be NULL ---- */

/** Options of reductions. NULL: over all axes, which are removed. */
typedef struct gantry_reduce_options_t {
    uint32_t struct_size; /**< Its sizeof; 0: the fields of version 0.1. */
    const int32_t *axes;  /**< The axes; a negative one counts from the end. NULL: all. */
    size_t axis_count;    /**< Entries of axes. */
    bool keep_dims;       /**< Keeps the axes, with size 1. */
} gantry_reduce_options_t;

/* ---- rows of ops/reduce.def, written by scripts/make-ops-header ---- */

/** Sum: the sum over axes. Takes the floating types and integers. */
GANTRY_API const gantry_tensor_t *gantry_sum(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_reduce_options_t *options);
/** Mean: the mean over axes; integers truncate towards zero. Takes the floating types and integers.
 * */
GANTRY_API const gantry_tensor_t *gantry_mean(gantry_scope_t *scope, const gantry_tensor_t *x,
                                              const gantry_reduce_options_t *options);
/** Max: the maximum over axes. Takes the floating types, integers and bool. */
GANTRY_API const gantry_tensor_t *gantry_max(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_reduce_options_t *options);
/** Min: the minimum over axes. Takes the floating types, integers and bool. */
GANTRY_API const gantry_tensor_t *gantry_min(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_reduce_options_t *options);
/** Prod: the product over axes. Takes the floating types and integers. */
GANTRY_API const gantry_tensor_t *gantry_prod(gantry_scope_t *scope, const gantry_tensor_t *x,
                                              const gantry_reduce_options_t *options);
/** All: whether all elements are true, over axes. Takes bool. */
GANTRY_API const gantry_tensor_t *gantry_all(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_reduce_options_t *options);
/** Any: whether any element is true, over axes. Takes bool. */
GANTRY_API const gantry_tensor_t *gantry_any(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_reduce_options_t *options);
/** EuclideanNorm: the square root of the sum of squares over axes; for integers the sum wraps, and
 * the root truncates. Takes the floating types and integers. */
GANTRY_API const gantry_tensor_t *gantry_euclidean_norm(gantry_scope_t *scope,
                                                        const gantry_tensor_t *x,
                                                        const gantry_reduce_options_t *options);
/** L2Loss: half the sum of squares. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_l2_loss(gantry_scope_t *scope, const gantry_tensor_t *x);

/* ---- end of the rows ---- */

/** log(sum(exp(x))) over axes, without overflow. */
GANTRY_API const gantry_tensor_t *gantry_log_sum_exp(gantry_scope_t *scope,
                                                     const gantry_tensor_t *x,
                                                     const gantry_reduce_options_t *options);
/** The variance over axes: the mean squared distance from the mean. */
GANTRY_API const gantry_tensor_t *gantry_var(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_reduce_options_t *options);
/** The standard deviation over axes: the square root of the variance. */
GANTRY_API const gantry_tensor_t *gantry_std(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_reduce_options_t *options);

/* ---- along an axis ---- */

/** ArgMax: the int64 position of the first maximum along axis. */
GANTRY_API const gantry_tensor_t *gantry_argmax(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                int32_t axis);
/** ArgMin: the int64 position of the first minimum along axis. */
GANTRY_API const gantry_tensor_t *gantry_argmin(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                int32_t axis);

/** Softmax: exp(x) divided by its sum along the last axis. */
GANTRY_API const gantry_tensor_t *gantry_softmax(gantry_scope_t *scope, const gantry_tensor_t *x);
/** LogSoftmax: the logarithm of gantry_softmax. */
GANTRY_API const gantry_tensor_t *gantry_log_softmax(gantry_scope_t *scope,
                                                     const gantry_tensor_t *x);

/* ---- scans along an axis: options may be NULL ---- */

/** Options of scans. */
typedef struct gantry_scan_options_t {
    uint32_t struct_size; /**< Its sizeof; 0: the fields of version 0.1. */
    bool exclusive;       /**< Each result covers the elements before its own. */
    bool reverse;         /**< Scans from the last element to the first. */
} gantry_scan_options_t;

/** Cumsum: the running sum along axis. */
GANTRY_API const gantry_tensor_t *gantry_cumsum(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                int32_t axis, const gantry_scan_options_t *options);
/** Cumprod: the running product along axis. */
GANTRY_API const gantry_tensor_t *gantry_cumprod(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                 int32_t axis,
                                                 const gantry_scan_options_t *options);
/** CumulativeLogsumexp: the running log(sum(exp(x))) along axis, without overflow. */
GANTRY_API const gantry_tensor_t *gantry_cumulative_logsumexp(gantry_scope_t *scope,
                                                              const gantry_tensor_t *x,
                                                              int32_t axis,
                                                              const gantry_scan_options_t *options);

/* ---- losses ---- */

/** SoftmaxCrossEntropyWithLogits: for each row of features [rows, classes], the cross entropy of
 * their softmax against labels, and its gradient with respect to features. labels are
 * probabilities and broadcast with features. Either result may be NULL. Returns the scope's
 * status. */
GANTRY_API gantry_status_t gantry_softmax_cross_entropy_with_logits(
    gantry_scope_t *scope, const gantry_tensor_t *features, const gantry_tensor_t *labels,
    const gantry_tensor_t **out_loss, const gantry_tensor_t **out_backprop);
/** SparseSoftmaxCrossEntropyWithLogits: the same with one label, int32 or int64, per row. A
 * label that names no class is InvalidArgument, at the latest when a result is read. */
GANTRY_API gantry_status_t gantry_sparse_softmax_cross_entropy_with_logits(
    gantry_scope_t *scope, const gantry_tensor_t *features, const gantry_tensor_t *labels,
    const gantry_tensor_t **out_loss, const gantry_tensor_t **out_backprop);

#ifdef __cplusplus
}
#endif
#endif
