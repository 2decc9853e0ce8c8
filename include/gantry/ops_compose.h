/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that Gantry makes of others; ops.h includes this file and says what holds for all ops. Their
 * parts are placed one by one, and each placement's record names the op that was called
 * (part_of). */
#ifndef GANTRY_OPS_COMPOSE_H
#define GANTRY_OPS_COMPOSE_H

#include <gantry/ops_reduce.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- putting together and taking apart; lists have up to GANTRY_MAX_OP_OUTPUTS tensors ---- */

/* Tensors of one shape along a new dimension, which is result's axis. */
GANTRY_API const gantry_tensor_t *gantry_pack(gantry_scope_t *scope,
                                              const gantry_tensor_t *const *values, size_t count,
                                              int32_t axis);
/* The other way: count tensors, as many as x has along axis, into outputs. These three return the
 * scope's status; after a failure outputs are NULL. */
GANTRY_API gantry_status_t gantry_unpack(gantry_scope_t *scope, const gantry_tensor_t *x,
                                         int32_t axis, const gantry_tensor_t **outputs,
                                         size_t count);
/* count equal parts along axis. */
GANTRY_API gantry_status_t gantry_split(gantry_scope_t *scope, const gantry_tensor_t *x,
                                        int32_t axis, const gantry_tensor_t **outputs,
                                        size_t count);
/* Parts of these sizes along axis; one may be -1: what is left. */
GANTRY_API gantry_status_t gantry_split_v(gantry_scope_t *scope, const gantry_tensor_t *x,
                                          const int64_t *sizes, int32_t axis,
                                          const gantry_tensor_t **outputs, size_t count);

/* ---- shapes: small tensors on the host, made without waiting for x ---- */

/* out_type is GANTRY_INT32 or GANTRY_INT64. */

GANTRY_API const gantry_tensor_t *gantry_shape(gantry_scope_t *scope, const gantry_tensor_t *x,
                                               gantry_dtype_t out_type);
GANTRY_API const gantry_tensor_t *gantry_size(gantry_scope_t *scope, const gantry_tensor_t *x,
                                              gantry_dtype_t out_type);
GANTRY_API const gantry_tensor_t *gantry_rank(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The shape that two shapes (vectors of integers) broadcast to. */
GANTRY_API const gantry_tensor_t *gantry_broadcast_args(gantry_scope_t *scope,
                                                        const gantry_tensor_t *s0,
                                                        const gantry_tensor_t *s1);

/* ---- making tensors ---- */

GANTRY_API const gantry_tensor_t *gantry_eye(gantry_scope_t *scope, int64_t rows, int64_t columns,
                                             gantry_dtype_t dtype);
/* num values at even steps; the first is start, the last is stop (num 1: start). */
GANTRY_API const gantry_tensor_t *gantry_lin_space(gantry_scope_t *scope,
                                                   const gantry_tensor_t *start,
                                                   const gantry_tensor_t *stop, int64_t num);

/* Rows of params by ids of any shape; an id out of range is an error at the next read. */
GANTRY_API const gantry_tensor_t *gantry_embedding_lookup(gantry_scope_t *scope,
                                                          const gantry_tensor_t *params,
                                                          const gantry_tensor_t *ids);

/* The slices of x where mask (bool) is true: the mask covers x's dimensions from axis on. Waits for
 * the mask, whose true elements are counted. */
GANTRY_API const gantry_tensor_t *gantry_boolean_mask(gantry_scope_t *scope,
                                                      const gantry_tensor_t *x,
                                                      const gantry_tensor_t *mask, int32_t axis);

/* ---- normalisation; halves are computed in float32 ---- */

/* Mean and variance over axes, as tf.nn.moments. options may be NULL. Returns the scope's
 * status. */
GANTRY_API gantry_status_t gantry_moments(gantry_scope_t *scope, const gantry_tensor_t *x,
                                          const gantry_reduce_options_t *options,
                                          const gantry_tensor_t **out_mean,
                                          const gantry_tensor_t **out_variance);
/* (x - mean) / sqrt(variance + variance_epsilon) * scale + offset, broadcasting, as
 * tf.nn.batch_normalization. */
GANTRY_API const gantry_tensor_t *gantry_batch_norm(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                    const gantry_tensor_t *mean,
                                                    const gantry_tensor_t *variance,
                                                    const gantry_tensor_t *offset,
                                                    const gantry_tensor_t *scale,
                                                    double variance_epsilon);

typedef struct gantry_fused_batch_norm_options_t {
    uint32_t struct_size;          /* its sizeof; 0: the fields of version 0.1 */
    double epsilon;                /* 0: 0.0001 */
    double exponential_avg_factor; /* 0: 1, so that former statistics do not count */
    bool inference;                /* mean and variance are used, not those of x */
    bool channels_first;           /* NCHW; else NHWC */
} gantry_fused_batch_norm_options_t;

/* FusedBatchNormV3: x has four dimensions; outputs are y, the new mean, the new variance (unbiased
 * in training). options may be NULL. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_fused_batch_norm(
    gantry_scope_t *scope, const gantry_tensor_t *x, const gantry_tensor_t *scale,
    const gantry_tensor_t *offset, const gantry_tensor_t *mean, const gantry_tensor_t *variance,
    const gantry_fused_batch_norm_options_t *options, const gantry_tensor_t *outputs[3]);
/* Over the dimensions from axis on, whose shape scale and offset have; as Keras'
 * LayerNormalization. */
GANTRY_API const gantry_tensor_t *gantry_layer_norm(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                    const gantry_tensor_t *scale,
                                                    const gantry_tensor_t *offset, int32_t axis,
                                                    double epsilon);
/* Elements become 0 with probability rate (in [0, 1)), the same ones for the same seed on every
 * device; the others are divided by 1 - rate. */
GANTRY_API const gantry_tensor_t *gantry_dropout(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                 double rate, int64_t seed0, int64_t seed1);

/* One or two tensors by an equation: "ij,jk->ik"; "...ij->...ji" broadcasts. */
GANTRY_API const gantry_tensor_t *gantry_einsum(gantry_scope_t *scope, const char *equation,
                                                const gantry_tensor_t *const *inputs, size_t count);

#ifdef __cplusplus
}
#endif
#endif
