/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions of ops_compose.h. */
#include <string.h>

#include <gantry/ops.h>

#include "run/call_op.h"

typedef const gantry_tensor_t tensor;

/* The status after a failure that the scope has kept, or without a scope. */
static gantry_status_t status_of(const gantry_scope_t *scope) {
    return scope ? scope->status : GANTRY_INVALID_ARGUMENT;
}

/* ---- putting together and taking apart ---- */

tensor *gantry_pack(gantry_scope_t *scope, tensor *const *values, size_t count, int32_t axis) {
    if (!gantry__is_given(scope, values, count, "gantry_pack: values")) return NULL;
    const gantry_attr_value_t attr = gantry__attr_int("axis", axis);
    return gantry__call_op(scope, GANTRY__OP_ID_Pack, values, count, &attr, 1, NULL);
}

gantry_status_t gantry_unpack(gantry_scope_t *scope, tensor *x, int32_t axis, tensor **outputs,
                              size_t count) {
    if (!gantry__is_given(scope, outputs, count, "gantry_unpack: outputs")) return status_of(scope);
    const gantry_attr_value_t attrs[] = {gantry__attr_int("num", (int64_t)count),
                                         gantry__attr_int("axis", axis)};
    return gantry__call_op_into(scope, GANTRY__OP_ID_Unpack, &x, 1, attrs, 2, NULL, outputs,
                                &count);
}

gantry_status_t gantry_split(gantry_scope_t *scope, tensor *x, int32_t axis, tensor **outputs,
                             size_t count) {
    if (!gantry__is_given(scope, outputs, count, "gantry_split: outputs")) return status_of(scope);
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[] = {gantry__add_host_i32(&extras, scope, axis), x};
    const gantry_attr_value_t attr = gantry__attr_int("num_split", (int64_t)count);
    return gantry__call_op_into(scope, GANTRY__OP_ID_Split, inputs, 2, &attr, 1, &extras, outputs,
                                &count);
}

gantry_status_t gantry_split_v(gantry_scope_t *scope, tensor *x, const int64_t *sizes, int32_t axis,
                               tensor **outputs, size_t count) {
    if (!gantry__is_given(scope, outputs, count, "gantry_split_v: outputs"))
        return status_of(scope);
    /* after a failure the code below empties outputs */
    (void)gantry__is_given(scope, sizes, count, "gantry_split_v: sizes");
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[] = {x, NULL, NULL};
    if (sizes)
        inputs[1] =
            gantry__add_host(&extras, scope, GANTRY_INT64, GANTRY_SHAPE((int64_t)count), sizes);
    if (inputs[1]) inputs[2] = gantry__add_host_i32(&extras, scope, axis);
    const gantry_attr_value_t attr = gantry__attr_int("num_split", (int64_t)count);
    return gantry__call_op_into(scope, GANTRY__OP_ID_SplitV, inputs, 3, &attr, 1, &extras, outputs,
                                &count);
}

/* ---- shapes ---- */

tensor *gantry_shape(gantry_scope_t *scope, tensor *x, gantry_dtype_t out_type) {
    const gantry_attr_value_t attr = gantry__attr_type("out_type", out_type);
    return gantry__call_op(scope, GANTRY__OP_ID_Shape, &x, 1, &attr, 1, NULL);
}

tensor *gantry_size(gantry_scope_t *scope, tensor *x, gantry_dtype_t out_type) {
    const gantry_attr_value_t attr = gantry__attr_type("out_type", out_type);
    return gantry__call_op(scope, GANTRY__OP_ID_Size, &x, 1, &attr, 1, NULL);
}

tensor *gantry_rank(gantry_scope_t *scope, tensor *x) {
    return gantry__call_op(scope, GANTRY__OP_ID_Rank, &x, 1, NULL, 0, NULL);
}

tensor *gantry_broadcast_args(gantry_scope_t *scope, tensor *s0, tensor *s1) {
    tensor *inputs[] = {s0, s1};
    return gantry__call_op(scope, GANTRY__OP_ID_BroadcastArgs, inputs, 2, NULL, 0, NULL);
}

/* ---- making tensors, rows by number ---- */

tensor *gantry_eye(gantry_scope_t *scope, int64_t rows, int64_t columns, gantry_dtype_t dtype) {
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[] = {gantry__add_host_i64(&extras, scope, rows), NULL};
    if (inputs[0]) inputs[1] = gantry__add_host_i64(&extras, scope, columns);
    const gantry_attr_value_t attr = gantry__attr_type("dtype", dtype);
    return gantry__call_op(scope, GANTRY__OP_ID_Eye, inputs, 2, &attr, 1, &extras);
}

tensor *gantry_lin_space(gantry_scope_t *scope, tensor *start, tensor *stop, int64_t num) {
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[] = {start, stop, gantry__add_host_i64(&extras, scope, num)};
    return gantry__call_op(scope, GANTRY__OP_ID_LinSpace, inputs, 3, NULL, 0, &extras);
}

tensor *gantry_embedding_lookup(gantry_scope_t *scope, tensor *params, tensor *ids) {
    tensor *inputs[] = {params, ids};
    return gantry__call_op(scope, GANTRY__OP_ID_EmbeddingLookup, inputs, 2, NULL, 0, NULL);
}

tensor *gantry_boolean_mask(gantry_scope_t *scope, tensor *x, tensor *mask, int32_t axis) {
    tensor *inputs[] = {x, mask};
    const gantry_attr_value_t attr = gantry__attr_int("axis", axis);
    return gantry__call_op(scope, GANTRY__OP_ID_BooleanMask, inputs, 2, &attr, 1, NULL);
}

/* ---- normalisation ---- */

gantry_status_t gantry_moments(gantry_scope_t *scope, tensor *x,
                               const gantry_reduce_options_t *options, tensor **out_mean,
                               tensor **out_variance) {
    if (out_mean) *out_mean = NULL;
    if (out_variance) *out_variance = NULL;
    if (!gantry__is_given(scope, out_mean, 1, "gantry_moments: out_mean") ||
        !gantry__is_given(scope, out_variance, 1, "gantry_moments: out_variance"))
        return status_of(scope);
    gantry_reduce_options_t o;
    if (!GANTRY__TAKE_OPTIONS(scope, options, gantry_reduce_options_t, keep_dims, &o))
        return status_of(scope);
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[] = {x, gantry__add_host_axes(&extras, scope, x, &o)}, *outputs[2];
    const gantry_attr_value_t attr = gantry__attr_bool("keep_dims", true);
    size_t count = 2;
    gantry_status_t status = gantry__call_op_into(scope, GANTRY__OP_ID_Moments, inputs, 2, &attr,
                                                  o.keep_dims ? 1 : 0, &extras, outputs, &count);
    *out_mean = outputs[0];
    *out_variance = outputs[1];
    return status;
}

tensor *gantry_batch_norm(gantry_scope_t *scope, tensor *x, tensor *mean, tensor *variance,
                          tensor *offset, tensor *scale, double variance_epsilon) {
    tensor *inputs[] = {x, mean, variance, offset, scale};
    const gantry_attr_value_t attr = gantry__attr_float("variance_epsilon", variance_epsilon);
    return gantry__call_op(scope, GANTRY__OP_ID_BatchNorm, inputs, 5, &attr, 1, NULL);
}

gantry_status_t gantry_fused_batch_norm(gantry_scope_t *scope, tensor *x, tensor *scale,
                                        tensor *offset, tensor *mean, tensor *variance,
                                        const gantry_fused_batch_norm_options_t *options,
                                        tensor *outputs[3]) {
    if (!gantry__is_given(scope, outputs, 3, "gantry_fused_batch_norm: outputs"))
        return status_of(scope);
    for (int i = 0; i < 3; ++i) outputs[i] = NULL;
    gantry_fused_batch_norm_options_t o;
    if (!GANTRY__TAKE_OPTIONS(scope, options, gantry_fused_batch_norm_options_t, channels_first,
                              &o))
        return status_of(scope);
    tensor *inputs[] = {x, scale, offset, mean, variance}, *all[6];
    const gantry_attr_value_t attrs[] = {
        gantry__attr_bool("is_training", !o.inference),
        gantry__attr_text("data_format", o.channels_first ? "NCHW" : "NHWC"),
        gantry__attr_float("epsilon", o.epsilon != 0 ? o.epsilon : 0.0001),
        gantry__attr_float("exponential_avg_factor",
                           o.exponential_avg_factor != 0 ? o.exponential_avg_factor : 1)};
    size_t count = 6;
    gantry_status_t status = gantry__call_op_into(scope, GANTRY__OP_ID_FusedBatchNorm, inputs, 5,
                                                  attrs, 4, NULL, all, &count);
    memcpy(outputs, all, 3 * sizeof *outputs);
    /* for gradients; gantry_op_call returns them */
    for (int i = 3; i < 6; ++i) gantry_tensor_drop(scope, all[i]);
    return status;
}

tensor *gantry_layer_norm(gantry_scope_t *scope, tensor *x, tensor *scale, tensor *offset,
                          int32_t axis, double epsilon) {
    tensor *inputs[] = {x, scale, offset};
    const gantry_attr_value_t attrs[] = {gantry__attr_int("axis", axis),
                                         gantry__attr_float("epsilon", epsilon)};
    return gantry__call_op(scope, GANTRY__OP_ID_LayerNorm, inputs, 3, attrs, 2, NULL);
}

tensor *gantry_rms_norm(gantry_scope_t *scope, tensor *x, tensor *scale, int32_t axis,
                        double epsilon) {
    tensor *inputs[] = {x, scale};
    const gantry_attr_value_t attrs[] = {gantry__attr_int("axis", axis),
                                         gantry__attr_float("epsilon", epsilon)};
    return gantry__call_op(scope, GANTRY__OP_ID_RMSNorm, inputs, 2, attrs, 2, NULL);
}

tensor *gantry_group_norm(gantry_scope_t *scope, tensor *x, tensor *scale, tensor *offset,
                          int64_t num_groups, double epsilon, bool channels_first) {
    tensor *inputs[] = {x, scale, offset};
    const gantry_attr_value_t attrs[] = {
        gantry__attr_int("num_groups", num_groups), gantry__attr_float("epsilon", epsilon),
        gantry__attr_text("data_format", channels_first ? "NCHW" : "NHWC")};
    return gantry__call_op(scope, GANTRY__OP_ID_GroupNorm, inputs, 3, attrs, 3, NULL);
}

tensor *gantry_instance_norm(gantry_scope_t *scope, tensor *x, tensor *scale, tensor *offset,
                             double epsilon, bool channels_first) {
    tensor *inputs[] = {x, scale, offset};
    const gantry_attr_value_t attrs[] = {
        gantry__attr_float("epsilon", epsilon),
        gantry__attr_text("data_format", channels_first ? "NCHW" : "NHWC")};
    return gantry__call_op(scope, GANTRY__OP_ID_InstanceNorm, inputs, 3, attrs, 2, NULL);
}

tensor *gantry_dropout(gantry_scope_t *scope, tensor *x, double rate, int64_t seed0,
                       int64_t seed1) {
    gantry__extras_t extras = {.count = 0};
    const int64_t seed[] = {seed0, seed1};
    tensor *inputs[] = {x, gantry__add_host(&extras, scope, GANTRY_INT64, GANTRY_SHAPE(2), seed)};
    const gantry_attr_value_t attr = gantry__attr_float("rate", rate);
    return gantry__call_op(scope, GANTRY__OP_ID_Dropout, inputs, 2, &attr, 1, &extras);
}

/* ---- Einstein's sum ---- */

tensor *gantry_einsum(gantry_scope_t *scope, const char *equation, tensor *const *inputs,
                      size_t count) {
    if (!gantry__is_given(scope, inputs, count, "gantry_einsum: inputs")) return NULL;
    const gantry_attr_value_t attr = gantry__attr_text("equation", equation);
    return gantry__call_op(scope, GANTRY__OP_ID_Einsum, inputs, count, &attr, 1, NULL);
}
