/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of elementwise ops of several inputs. A binary op sums its gradients over what was
 * broadcast. */
#include "train/tape/rule_help.h"

typedef const gantry_tensor_t tensor;

/* Sets the gradient of an operand of a binary op. */
static void set_operand(gantry__rule_call_t *c, size_t i, tensor *gradient) {
    c->dx[i] = gantry__rule_sum_to(c, gradient, c->x[i]);
}

/* ---- arithmetic ---- */

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

static void rule_mul_no_nan(gantry__rule_call_t *c) {
    if (c->wants[0]) set_operand(c, 0, gantry_mul_no_nan(c->scope, c->dy[0], c->x[1]));
    if (c->wants[1]) set_operand(c, 1, gantry_mul_no_nan(c->scope, c->x[0], c->dy[0]));
}

/* d(x / y) / dy = (-x / y) / y */
static void rule_div(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *x = c->x[0], *y = c->x[1], *dy = c->dy[0];
    if (c->wants[0]) set_operand(c, 0, gantry_div(s, dy, y));
    if (c->wants[1])
        set_operand(c, 1, gantry_mul(s, dy, gantry_div(s, gantry_div(s, gantry_neg(s, x), y), y)));
}

static void rule_div_no_nan(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *x = c->x[0], *y = c->x[1], *dy = c->dy[0];
    if (c->wants[0]) set_operand(c, 0, gantry_div_no_nan(s, dy, y));
    if (c->wants[1]) {
        tensor *quotient = gantry_div_no_nan(s, gantry_neg(s, x), y);
        set_operand(c, 1, gantry_mul(s, dy, gantry_div_no_nan(s, quotient, y)));
    }
}

/* x - floor(x / y) y */
static void rule_floor_mod(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    if (c->wants[0]) set_operand(c, 0, c->dy[0]);
    if (c->wants[1]) {
        tensor *quotient = gantry_floor_div(s, c->x[0], c->x[1]);
        set_operand(c, 1, gantry_mul(s, c->dy[0], gantry_neg(s, quotient)));
    }
}

static void rule_squared_difference(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *first =
        gantry_mul(s, gantry__rule_scale(c, c->dy[0], 2), gantry_sub(s, c->x[0], c->x[1]));
    if (c->wants[0]) set_operand(c, 0, first);
    if (c->wants[1]) set_operand(c, 1, gantry_neg(s, first));
}

static void rule_add_n(gantry__rule_call_t *c) {
    for (size_t i = 0; i < c->record->input_count; ++i) {
        if (c->wants[i]) c->dx[i] = c->dy[0];
    }
}

/* ---- powers, logarithms, angles ---- */

/* log(x) where x is positive, else 0: a real power of a negative number has no derivative. */
static tensor *safe_log(gantry__rule_call_t *c, tensor *x) {
    gantry_scope_t *s = c->scope;
    tensor *is_positive = gantry_greater(s, x, gantry__rule_number(c, 0));
    tensor *safe = gantry_select(s, is_positive, x, gantry__rule_number(c, 1));
    return gantry_select(s, is_positive, gantry_log(s, safe), gantry__rule_number(c, 0));
}

static void rule_pow(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *x = c->x[0], *y = c->x[1], *dy = c->dy[0];
    if (c->wants[0]) {
        tensor *lower = gantry_pow(s, x, gantry_sub(s, y, gantry__rule_number(c, 1)));
        set_operand(c, 0, gantry_mul(s, gantry_mul(s, dy, y), lower));
    }
    if (c->wants[1]) set_operand(c, 1, gantry_mul(s, gantry_mul(s, dy, c->y[0]), safe_log(c, x)));
}

/* 1 where x is not 0, else 0. */
static tensor *is_not_zero(gantry__rule_call_t *c, tensor *x) {
    return gantry_cast(c->scope, gantry_not_equal(c->scope, x, gantry__rule_number(c, 0)),
                       gantry_tensor_dtype(x));
}

static void rule_xlogy(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *x = c->x[0], *y = c->x[1], *dy = c->dy[0];
    if (c->wants[0]) set_operand(c, 0, gantry_mul(s, gantry_xlogy(s, is_not_zero(c, x), y), dy));
    if (c->wants[1]) set_operand(c, 1, gantry_mul(s, gantry_xdivy(s, x, y), dy));
}

static void rule_xlog1py(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *x = c->x[0], *y = c->x[1], *dy = c->dy[0];
    if (c->wants[0]) set_operand(c, 0, gantry_mul(s, gantry_xlog1py(s, is_not_zero(c, x), y), dy));
    if (c->wants[1])
        set_operand(
            c, 1,
            gantry_mul(s, gantry_xdivy(s, x, gantry_add(s, y, gantry__rule_number(c, 1))), dy));
}

static void rule_xdivy(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *x = c->x[0], *y = c->x[1], *dy = c->dy[0];
    if (c->wants[0]) set_operand(c, 0, gantry_mul(s, gantry_xdivy(s, is_not_zero(c, x), y), dy));
    if (c->wants[1])
        set_operand(c, 1,
                    gantry_mul(s, gantry_xdivy(s, gantry_neg(s, x), gantry_square(s, y)), dy));
}

/* Inputs y, x: the angle of the point (x, y). */
static void rule_atan2(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *y = c->x[0], *x = c->x[1];
    tensor *scaled =
        gantry_div(s, c->dy[0], gantry_add(s, gantry_square(s, y), gantry_square(s, x)));
    if (c->wants[0]) set_operand(c, 0, gantry_mul(s, x, scaled));
    if (c->wants[1]) set_operand(c, 1, gantry_mul(s, gantry_neg(s, y), scaled));
}

/* ---- choices ---- */

/* dy where the condition holds and where it does not, to two operands. */
static void rule_elementwise_choose(gantry__rule_call_t *c, tensor *condition, size_t where_true,
                                    size_t where_false) {
    gantry_scope_t *s = c->scope;
    tensor *zero = gantry__rule_scalar(c, c->dy[0], 0);
    if (c->wants[where_true])
        set_operand(c, where_true, gantry_select(s, condition, c->dy[0], zero));
    if (c->wants[where_false])
        set_operand(c, where_false, gantry_select(s, condition, zero, c->dy[0]));
}

/* Equal operands: all of the gradient is the first one's. */
static void rule_maximum(gantry__rule_call_t *c) {
    rule_elementwise_choose(c, gantry_greater_equal(c->scope, c->x[0], c->x[1]), 0, 1);
}

static void rule_minimum(gantry__rule_call_t *c) {
    rule_elementwise_choose(c, gantry_less_equal(c->scope, c->x[0], c->x[1]), 0, 1);
}

static void rule_select(gantry__rule_call_t *c) { rule_elementwise_choose(c, c->x[0], 1, 2); }

static void rule_clip(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *zero = gantry__rule_number(c, 0), *dy = c->dy[0];
    tensor *is_below = gantry_less(s, c->x[0], c->x[1]);
    tensor *is_above = gantry_greater(s, c->x[0], c->x[2]);
    if (c->wants[0])
        c->dx[0] = gantry_select(s, gantry_logical_or(s, is_below, is_above), zero, dy);
    if (c->wants[1]) set_operand(c, 1, gantry_select(s, is_below, dy, zero));
    if (c->wants[2]) set_operand(c, 2, gantry_select(s, is_above, dy, zero));
}

const gantry__rule_t gantry__rules_elementwise[] = {{"Add", rule_add},
                                                    {"AddN", rule_add_n},
                                                    {"Atan2", rule_atan2},
                                                    {"ClipByValue", rule_clip},
                                                    {"Div", rule_div},
                                                    {"DivNoNan", rule_div_no_nan},
                                                    {"FloorMod", rule_floor_mod},
                                                    {"Maximum", rule_maximum},
                                                    {"Minimum", rule_minimum},
                                                    {"Mul", rule_mul},
                                                    {"MulNoNan", rule_mul_no_nan},
                                                    {"Pow", rule_pow},
                                                    {"Select", rule_select},
                                                    {"SquaredDifference", rule_squared_difference},
                                                    {"Sub", rule_sub},
                                                    {"Xdivy", rule_xdivy},
                                                    {"Xlog1py", rule_xlog1py},
                                                    {"Xlogy", rule_xlogy},
                                                    {NULL, NULL}};
