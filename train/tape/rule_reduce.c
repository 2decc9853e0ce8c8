/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of reductions and scans. */
#include "train/tape/rule.h"

typedef const gantry_tensor_t tensor;

/* x's shape with 1 in place of the reduced dimensions. */
static bool kept_shape(const gantry__rule_call_t *c, gantry_shape_t *out_shape) {
    int64_t axes[GANTRY_MAX_RANK];
    size_t count;
    *out_shape = gantry__shape(c->x[0]);
    if (!gantry__rule_read_ints(c, 1, axes, GANTRY_MAX_RANK, &count)) return false;
    for (size_t i = 0; i < count; ++i)
        out_shape->dims[axes[i] < 0 ? axes[i] + out_shape->rank : axes[i]] = 1;
    return true;
}

/* A reduced tensor, such as the gradient, repeated over what was reduced. */
static tensor *repeat(gantry__rule_call_t *c, tensor *reduced) {
    gantry_shape_t kept;
    if (!kept_shape(c, &kept)) return NULL;
    return gantry_broadcast_to(c->scope, gantry_reshape(c->scope, reduced, kept),
                               gantry__shape(c->x[0]));
}

static void rule_sum(gantry__rule_call_t *c) { c->dx[0] = repeat(c, c->dy[0]); }

static void rule_mean(gantry__rule_call_t *c) {
    const int64_t from = gantry_tensor_elements(c->x[0]), to = gantry_tensor_elements(c->y[0]);
    const int64_t each = from > 0 && to > 0 ? from / to : 1;
    tensor *dy = gantry_div(c->scope, c->dy[0], gantry__rule_scalar(c, c->dy[0], (double)each));
    c->dx[0] = repeat(c, dy);
}

const gantry__rule_t gantry__rules_reduce[] = {
    {"Mean", rule_mean}, {"Sum", rule_sum}, {NULL, NULL}};
