/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions of ops_reduce.h. */
#include <gantry/ops_reduce.h>

#include "run/call_op.h"

/* ---- over axes ---- */

static const gantry_tensor_t *ops_reduce_one(gantry_scope_t *scope, gantry__op_id_t id,
                                             const gantry_tensor_t *x,
                                             const gantry_reduce_options_t *options) {
    gantry_reduce_options_t o;
    if (!GANTRY__TAKE_OPTIONS(scope, options, gantry_reduce_options_t, keep_dims, &o)) return NULL;
    gantry__extras_t extras = {.count = 0};
    const gantry_tensor_t *inputs[] = {x, gantry__add_host_axes(&extras, scope, x, &o)};
    const gantry_attr_value_t attr = gantry__attr_bool("keep_dims", true);
    return gantry__call_op(scope, id, inputs, 2, &attr, o.keep_dims ? 1 : 0, &extras);
}

#define REDUCE_AXES(name, op)                                                             \
    const gantry_tensor_t *gantry_##name(gantry_scope_t *scope, const gantry_tensor_t *x, \
                                         const gantry_reduce_options_t *options) {        \
        return ops_reduce_one(scope, GANTRY__OP_ID_##op, x, options);                     \
    }
#define REDUCE_WHOLE(name, op)                                                              \
    const gantry_tensor_t *gantry_##name(gantry_scope_t *scope, const gantry_tensor_t *x) { \
        return gantry__call_op(scope, GANTRY__OP_ID_##op, &x, 1, NULL, 0, NULL);            \
    }
#define GANTRY_REDUCTION(op, function, summary, form, types, tree, finish, empty) \
    REDUCE_##form(function, op)
#include "ops/reduce.def"

typedef const gantry_tensor_t tensor;

/* This op is composed, and therefore has no row. */
REDUCE_AXES(log_sum_exp, LogSumExp)
REDUCE_AXES(var, Var)
REDUCE_AXES(std, Std)

#define ALONG_AXIS(name, op)                                                            \
    tensor *gantry_##name(gantry_scope_t *scope, tensor *x, int32_t axis) {             \
        gantry__extras_t extras = {.count = 0};                                         \
        tensor *inputs[] = {x, gantry__add_host_i32(&extras, scope, axis)};             \
        return gantry__call_op(scope, GANTRY__OP_ID_##op, inputs, 2, NULL, 0, &extras); \
    }
/* These go along the last axis. */
REDUCE_WHOLE(softmax, Softmax)
REDUCE_WHOLE(log_softmax, LogSoftmax)

ALONG_AXIS(argmax, ArgMax)
ALONG_AXIS(argmin, ArgMin)

/* ---- scans ---- */

static tensor *ops_reduce_scan(gantry_scope_t *scope, gantry__op_id_t id, tensor *x, int32_t axis,
                               const gantry_scan_options_t *options) {
    gantry_scan_options_t o;
    if (!GANTRY__TAKE_OPTIONS(scope, options, gantry_scan_options_t, reverse, &o)) return NULL;
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[] = {x, gantry__add_host_i32(&extras, scope, axis)};
    const gantry_attr_value_t attrs[] = {gantry__attr_bool("exclusive", o.exclusive),
                                         gantry__attr_bool("reverse", o.reverse)};
    return gantry__call_op(scope, id, inputs, 2, attrs, 2, &extras);
}

#define SCAN(name, op)                                                       \
    tensor *gantry_##name(gantry_scope_t *scope, tensor *x, int32_t axis,    \
                          const gantry_scan_options_t *options) {            \
        return ops_reduce_scan(scope, GANTRY__OP_ID_##op, x, axis, options); \
    }
SCAN(cumsum, Cumsum)
SCAN(cumprod, Cumprod)
SCAN(cumulative_logsumexp, CumulativeLogsumexp)

/* ---- losses ---- */

static gantry_status_t cross_entropy(gantry_scope_t *scope, gantry__op_id_t id, tensor *features,
                                     tensor *labels, tensor **out_loss, tensor **out_backprop) {
    tensor *inputs[] = {features, labels}, *outputs[2] = {NULL, NULL};
    size_t count = 2;
    gantry_status_t status =
        gantry__call_op_into(scope, id, inputs, 2, NULL, 0, NULL, outputs, &count);
    if (out_loss) *out_loss = outputs[0];
    if (out_backprop) *out_backprop = outputs[1];
    return status;
}

gantry_status_t gantry_softmax_cross_entropy_with_logits(gantry_scope_t *scope, tensor *features,
                                                         tensor *labels, tensor **out_loss,
                                                         tensor **out_backprop) {
    return cross_entropy(scope, GANTRY__OP_ID_SoftmaxCrossEntropyWithLogits, features, labels,
                         out_loss, out_backprop);
}

gantry_status_t gantry_sparse_softmax_cross_entropy_with_logits(gantry_scope_t *scope,
                                                                tensor *features, tensor *labels,
                                                                tensor **out_loss,
                                                                tensor **out_backprop) {
    return cross_entropy(scope, GANTRY__OP_ID_SparseSoftmaxCrossEntropyWithLogits, features, labels,
                         out_loss, out_backprop);
}
