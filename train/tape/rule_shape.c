/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of ops that move elements: shapes, pieces, paddings, casts. */
#include "train/tape/rule.h"

static void rule_identity(gantry__rule_call_t *c) { c->dx[0] = c->dy[0]; }

static void rule_reshape(gantry__rule_call_t *c) {
    c->dx[0] = gantry_reshape(c->scope, c->dy[0], gantry__shape(c->x[0]));
}

static void rule_cast(gantry__rule_call_t *c) {
    c->dx[0] = gantry_cast(c->scope, c->dy[0], gantry_tensor_dtype(c->x[0]));
}

const gantry__rule_t gantry__rules_shape[] = {
    {"Cast", rule_cast},       {"ExpandDims", rule_reshape}, {"Identity", rule_identity},
    {"Reshape", rule_reshape}, {"Squeeze", rule_reshape},    {NULL, NULL}};
