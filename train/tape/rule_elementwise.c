/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of elementwise ops. A binary op sums its gradients over what was broadcast. */
#include "train/tape/rule.h"

typedef const gantry_tensor_t tensor;

/* Sets the gradient of an operand of a binary op. */
static void set_operand(gantry__rule_call_t *c, size_t i, tensor *gradient) {
    c->dx[i] = gantry__rule_sum_to(c, gradient, c->x[i]);
}

/* ---- binary ---- */

static void rule_add(gantry__rule_call_t *c) {
    if (c->wants[0]) set_operand(c, 0, c->dy[0]);
    if (c->wants[1]) set_operand(c, 1, c->dy[0]);
}

static void rule_sub(gantry__rule_call_t *c) {
    if (c->wants[0]) set_operand(c, 0, c->dy[0]);
    if (c->wants[1]) set_operand(c, 1, gantry_neg(c->scope, c->dy[0]));
}

static void rule_mul(gantry__rule_call_t *c) {
    if (c->wants[0]) set_operand(c, 0, gantry_mul(c->scope, c->dy[0], c->x[1]));
    if (c->wants[1]) set_operand(c, 1, gantry_mul(c->scope, c->x[0], c->dy[0]));
}

/* d(x / y) / dy = (-x / y) / y */
static void rule_div(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *x = c->x[0], *y = c->x[1], *dy = c->dy[0];
    if (c->wants[0]) set_operand(c, 0, gantry_div(s, dy, y));
    if (c->wants[1])
        set_operand(c, 1, gantry_mul(s, dy, gantry_div(s, gantry_div(s, gantry_neg(s, x), y), y)));
}

/* ---- unary ---- */

static void rule_neg(gantry__rule_call_t *c) { c->dx[0] = gantry_neg(c->scope, c->dy[0]); }

static void rule_square(gantry__rule_call_t *c) {
    c->dx[0] = gantry_mul(c->scope, c->dy[0], gantry__rule_scale(c, c->x[0], 2));
}

static void rule_exp(gantry__rule_call_t *c) { c->dx[0] = gantry_mul(c->scope, c->dy[0], c->y[0]); }

static void rule_log(gantry__rule_call_t *c) {
    c->dx[0] = gantry_mul(c->scope, c->dy[0], gantry_reciprocal(c->scope, c->x[0]));
}

const gantry__rule_t gantry__rules_elementwise[] = {
    {"Add", rule_add},       {"Div", rule_div}, {"Exp", rule_exp},
    {"Log", rule_log},       {"Mul", rule_mul}, {"Neg", rule_neg},
    {"Square", rule_square}, {"Sub", rule_sub}, {NULL, NULL}};
