/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Ops that run other ops; ops.h includes this file and says what holds for all ops, for owners and
 * for threads.
 *
 * Each part is placed on its own, and its placement record names the op that the program called
 * (part_of). */
#ifndef GANTRY_OPS_COMPOSE_H
#define GANTRY_OPS_COMPOSE_H

#include <gantry/ops_reduce.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- joining and splitting: lists have up to GANTRY_MAX_OP_OUTPUTS tensors ---- */

/** Joins count tensors of one shape along a new dimension: dimension axis of the result. */
GANTRY_API const gantry_tensor_t *gantry_pack(gantry_scope_t *scope,
                                              const gantry_tensor_t *const *values, size_t count,
                                              int32_t axis);
/** Splits x along axis into count tensors without that dimension; count is its size.
 *
 * gantry_unpack, gantry_split and gantry_split_v write to outputs, which the scope owns, and
 * return the scope's status. After a failure outputs are NULL. */
GANTRY_API gantry_status_t gantry_unpack(gantry_scope_t *scope, const gantry_tensor_t *x,
                                         int32_t axis, const gantry_tensor_t **outputs,
                                         size_t count);
/** Splits x along axis into count equal parts. */
GANTRY_API gantry_status_t gantry_split(gantry_scope_t *scope, const gantry_tensor_t *x,
                                        int32_t axis, const gantry_tensor_t **outputs,
                                        size_t count);
/** Splits x along axis into count parts of these sizes. One size may be -1: the rest. */
GANTRY_API gantry_status_t gantry_split_v(gantry_scope_t *scope, const gantry_tensor_t *x,
                                          const int64_t *sizes, int32_t axis,
                                          const gantry_tensor_t **outputs, size_t count);

/* ---- shapes: small tensors on the host, made without waiting for x ---- */

/** The shape of x as a vector. out_type is GANTRY_INT32 or GANTRY_INT64. */
GANTRY_API const gantry_tensor_t *gantry_shape(gantry_scope_t *scope, const gantry_tensor_t *x,
                                               gantry_dtype_t out_type);
/** The number of elements of x as a scalar. out_type is GANTRY_INT32 or GANTRY_INT64. */
GANTRY_API const gantry_tensor_t *gantry_size(gantry_scope_t *scope, const gantry_tensor_t *x,
                                              gantry_dtype_t out_type);
/** The number of dimensions of x, an int32 scalar. */
GANTRY_API const gantry_tensor_t *gantry_rank(gantry_scope_t *scope, const gantry_tensor_t *x);
/** The shape to which two shapes, vectors of int32 or int64, broadcast. */
GANTRY_API const gantry_tensor_t *gantry_broadcast_args(gantry_scope_t *scope,
                                                        const gantry_tensor_t *s0,
                                                        const gantry_tensor_t *s1);

/* ---- making tensors ---- */

/** A matrix of rows x columns with ones on the main diagonal and zeros elsewhere. */
GANTRY_API const gantry_tensor_t *gantry_eye(gantry_scope_t *scope, int64_t rows, int64_t columns,
                                             gantry_dtype_t dtype);
/** A vector of num values at even steps from start to stop, both scalars of one type. With num 1
 * the value is start. */
GANTRY_API const gantry_tensor_t *gantry_lin_space(gantry_scope_t *scope,
                                                   const gantry_tensor_t *start,
                                                   const gantry_tensor_t *stop, int64_t num);

/** The rows of params that ids (int32 or int64, of any shape) name. An id out of range is an
 * error at the next read. */
GANTRY_API const gantry_tensor_t *gantry_embedding_lookup(gantry_scope_t *scope,
                                                          const gantry_tensor_t *params,
                                                          const gantry_tensor_t *ids);

/** The slices of x where mask (bool) is true. The mask covers the dimensions of x from axis on.
 * Waits for the mask, to count its true elements. */
GANTRY_API const gantry_tensor_t *gantry_boolean_mask(gantry_scope_t *scope,
                                                      const gantry_tensor_t *x,
                                                      const gantry_tensor_t *mask, int32_t axis);

/* ---- normalisation: float16 and bfloat16 are computed in float32 ---- */

/** Mean and variance over axes, as tf.nn.moments. options may be NULL. Returns the scope's
 * status. */
GANTRY_API gantry_status_t gantry_moments(gantry_scope_t *scope, const gantry_tensor_t *x,
                                          const gantry_reduce_options_t *options,
                                          const gantry_tensor_t **out_mean,
                                          const gantry_tensor_t **out_variance);
/** (x - mean) / sqrt(variance + variance_epsilon) * scale + offset, broadcasting, as
 * tf.nn.batch_normalization. */
GANTRY_API const gantry_tensor_t *gantry_batch_norm(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                    const gantry_tensor_t *mean,
                                                    const gantry_tensor_t *variance,
                                                    const gantry_tensor_t *offset,
                                                    const gantry_tensor_t *scale,
                                                    double variance_epsilon);

/** Options of gantry_fused_batch_norm. */
typedef struct gantry_fused_batch_norm_options_t {
    uint32_t struct_size; /**< Its sizeof; 0: the fields of version 0.1. */
    double epsilon;       /**< Added to the variance; 0: 0.0001. */
    /** Weight of the new statistics; 0: 1, so that the former ones do not count. */
    double exponential_avg_factor;
    bool inference;      /**< Normalises with mean and variance, not with those of x. */
    bool channels_first; /**< x is NCHW; otherwise NHWC. */
} gantry_fused_batch_norm_options_t;

/** FusedBatchNorm: normalises x, of four dimensions, over all but its channels. outputs are y,
 * the new mean and the new variance (unbiased in training). options may be NULL. Returns the
 * scope's status. */
GANTRY_API gantry_status_t gantry_fused_batch_norm(
    gantry_scope_t *scope, const gantry_tensor_t *x, const gantry_tensor_t *scale,
    const gantry_tensor_t *offset, const gantry_tensor_t *mean, const gantry_tensor_t *variance,
    const gantry_fused_batch_norm_options_t *options, const gantry_tensor_t *outputs[3]);
/** Normalises x over its dimensions from axis on, then multiplies by scale and adds offset, as
 * Keras' LayerNormalization. scale and offset have the shape of these dimensions. */
GANTRY_API const gantry_tensor_t *gantry_layer_norm(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                    const gantry_tensor_t *scale,
                                                    const gantry_tensor_t *offset, int32_t axis,
                                                    double epsilon);
/** RMSNorm: x divided by sqrt(mean square + epsilon) over its dimensions from axis on, then
 * multiplied by scale, which has the shape of these dimensions. */
GANTRY_API const gantry_tensor_t *gantry_rms_norm(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                  const gantry_tensor_t *scale, int32_t axis,
                                                  double epsilon);
/** GroupNorm: normalises each of num_groups runs of channels for each element of the batch, then
 * multiplies by scale and adds offset, both with an element for each channel. Channels are the last
 * dimension, or with channels_first dimension 1. */
GANTRY_API const gantry_tensor_t *gantry_group_norm(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                    const gantry_tensor_t *scale,
                                                    const gantry_tensor_t *offset,
                                                    int64_t num_groups, double epsilon,
                                                    bool channels_first);
/** InstanceNorm: the same with a group for each channel. */
GANTRY_API const gantry_tensor_t *gantry_instance_norm(gantry_scope_t *scope,
                                                       const gantry_tensor_t *x,
                                                       const gantry_tensor_t *scale,
                                                       const gantry_tensor_t *offset,
                                                       double epsilon, bool channels_first);
/** Sets elements to 0 with probability rate, in [0, 1), and divides the others by 1 - rate. For
 * one seed every device drops the same elements. */
GANTRY_API const gantry_tensor_t *gantry_dropout(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                 double rate, int64_t seed0, int64_t seed1);

/** Combines one or two tensors by an equation: "ij,jk->ik". An ellipsis broadcasts:
 * "...ij->...ji". */
GANTRY_API const gantry_tensor_t *gantry_einsum(gantry_scope_t *scope, const char *equation,
                                                const gantry_tensor_t *const *inputs, size_t count);

#ifdef __cplusplus
}
#endif
#endif
