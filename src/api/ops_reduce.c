/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions of the reductions of ops.h and of ops_reduce.h. */
#include <gantry/ops.h>

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

#define REDUCTION(name, TOKEN)                                                            \
    const gantry_tensor_t *gantry_##name(gantry_scope_t *scope, const gantry_tensor_t *x, \
                                         const gantry_reduce_options_t *options) {        \
        return ops_reduce_one(scope, GANTRY__OP_ID_##TOKEN, x, options);                  \
    }
REDUCTION(sum, SUM)
REDUCTION(mean, MEAN)
REDUCTION(max, MAX)
REDUCTION(min, MIN)
REDUCTION(prod, PROD)
REDUCTION(all, ALL)
REDUCTION(any, ANY)
REDUCTION(euclidean_norm, EUCLIDEAN_NORM)
REDUCTION(log_sum_exp, LOG_SUM_EXP)
REDUCTION(var, VAR)
REDUCTION(std, STD)

#define ALONG_AXIS(name, TOKEN)                                                            \
    const gantry_tensor_t *gantry_##name(gantry_scope_t *scope, const gantry_tensor_t *x,  \
                                         int32_t axis) {                                   \
        gantry__extras_t extras = {.count = 0};                                            \
        const gantry_tensor_t *inputs[] = {x, gantry__add_host_i32(&extras, scope, axis)}; \
        return gantry__call_op(scope, GANTRY__OP_ID_##TOKEN, inputs, 2, NULL, 0, &extras); \
    }
ALONG_AXIS(argmax, ARG_MAX)
ALONG_AXIS(argmin, ARG_MIN)

/* ---- scans ---- */

static const gantry_tensor_t *ops_reduce_scan(gantry_scope_t *scope, gantry__op_id_t id,
                                              const gantry_tensor_t *x, int32_t axis,
                                              const gantry_scan_options_t *options) {
    gantry_scan_options_t o;
    if (!GANTRY__TAKE_OPTIONS(scope, options, gantry_scan_options_t, reverse, &o)) return NULL;
    gantry__extras_t extras = {.count = 0};
    const gantry_tensor_t *inputs[] = {x, gantry__add_host_i32(&extras, scope, axis)};
    const gantry_attr_value_t attrs[] = {gantry__attr_bool("exclusive", o.exclusive),
                                         gantry__attr_bool("reverse", o.reverse)};
    return gantry__call_op(scope, id, inputs, 2, attrs, 2, &extras);
}

#define SCAN(name, TOKEN)                                                                      \
    const gantry_tensor_t *gantry_##name(gantry_scope_t *scope, const gantry_tensor_t *x,      \
                                         int32_t axis, const gantry_scan_options_t *options) { \
        return ops_reduce_scan(scope, GANTRY__OP_ID_##TOKEN, x, axis, options);                \
    }
SCAN(cumsum, CUMSUM)
SCAN(cumprod, CUMPROD)
SCAN(cumulative_logsumexp, CUMULATIVE_LOGSUMEXP)

/* ---- losses ---- */

const gantry_tensor_t *gantry_l2_loss(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry__call_op(scope, GANTRY__OP_ID_L2_LOSS, &x, 1, NULL, 0, NULL);
}

static gantry_status_t cross_entropy(gantry_scope_t *scope, gantry__op_id_t id,
                                     const gantry_tensor_t *features, const gantry_tensor_t *labels,
                                     const gantry_tensor_t **out_loss,
                                     const gantry_tensor_t **out_backprop) {
    const gantry_tensor_t *inputs[] = {features, labels}, *outputs[2] = {NULL, NULL};
    size_t count = 2;
    gantry_status_t status =
        gantry__call_op_into(scope, id, inputs, 2, NULL, 0, NULL, outputs, &count);
    if (out_loss) *out_loss = outputs[0];
    if (out_backprop) *out_backprop = outputs[1];
    return status;
}

gantry_status_t gantry_softmax_cross_entropy_with_logits(gantry_scope_t *scope,
                                                         const gantry_tensor_t *features,
                                                         const gantry_tensor_t *labels,
                                                         const gantry_tensor_t **out_loss,
                                                         const gantry_tensor_t **out_backprop) {
    return cross_entropy(scope, GANTRY__OP_ID_SOFTMAX_CROSS_ENTROPY_WITH_LOGITS, features, labels,
                         out_loss, out_backprop);
}

gantry_status_t gantry_sparse_softmax_cross_entropy_with_logits(
    gantry_scope_t *scope, const gantry_tensor_t *features, const gantry_tensor_t *labels,
    const gantry_tensor_t **out_loss, const gantry_tensor_t **out_backprop) {
    return cross_entropy(scope, GANTRY__OP_ID_SPARSE_SOFTMAX_CROSS_ENTROPY_WITH_LOGITS, features,
                         labels, out_loss, out_backprop);
}
