/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of functions of one number. */
#include "train/tape/rule_help.h"

typedef const gantry_tensor_t tensor;

static const double two_over_root_pi = 1.1283791670955126, half_root_pi = 0.8862269254527580;

/* ---- signs and powers ---- */

static void rule_neg(gantry__rule_call_t *c) { c->dx[0] = gantry_neg(c->scope, c->dy[0]); }

static void rule_abs(gantry__rule_call_t *c) {
    gantry__rule_chain(c, gantry_sign(c->scope, c->x[0]));
}

static void rule_sign(gantry__rule_call_t *c) { c->dx[0] = gantry_zeros_like(c->scope, c->x[0]); }

static void rule_square(gantry__rule_call_t *c) {
    gantry__rule_chain(c, gantry__rule_scale(c, c->x[0], 2));
}

static void rule_reciprocal(gantry__rule_call_t *c) {
    c->dx[0] = gantry__rule_op2(c, "ReciprocalGrad", c->y[0], c->dy[0]);
}

static void rule_sqrt(gantry__rule_call_t *c) {
    c->dx[0] = gantry__rule_op2(c, "SqrtGrad", c->y[0], c->dy[0]);
}

static void rule_rsqrt(gantry__rule_call_t *c) {
    c->dx[0] = gantry__rule_op2(c, "RsqrtGrad", c->y[0], c->dy[0]);
}

/* 1 / (3 y^2) */
static void rule_cbrt(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    gantry__rule_chain(c,
                       gantry_reciprocal(s, gantry__rule_scale(c, gantry_square(s, c->y[0]), 3)));
}

/* The gradient is rounded as x is. */
static void rule_reduce_precision(gantry__rule_call_t *c) {
    const gantry_attr_value_t attrs[] = {*gantry__rule_attr(c, "exponent_bits"),
                                         *gantry__rule_attr(c, "mantissa_bits")};
    c->dx[0] = gantry__rule_op(c, "ReducePrecision", c->dy, 1, attrs, 2);
}

/* ---- exponentials and logarithms ---- */

static void rule_exp(gantry__rule_call_t *c) { gantry__rule_chain(c, c->y[0]); }

static void rule_expm1(gantry__rule_call_t *c) {
    gantry__rule_chain(c, gantry_exp(c->scope, c->x[0]));
}

static void rule_log(gantry__rule_call_t *c) {
    gantry__rule_chain(c, gantry_reciprocal(c->scope, c->x[0]));
}

static void rule_log1p(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    gantry__rule_chain(c, gantry_reciprocal(s, gantry_add(s, gantry__rule_number(c, 1), c->x[0])));
}

/* ---- angles ---- */

static void rule_sin(gantry__rule_call_t *c) {
    gantry__rule_chain(c, gantry_cos(c->scope, c->x[0]));
}

static void rule_cos(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    c->dx[0] = gantry_mul(s, gantry_neg(s, c->dy[0]), gantry_sin(s, c->x[0]));
}

/* 1 / cos(x)^2 */
static void rule_tan(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    gantry__rule_chain(c, gantry_square(s, gantry_reciprocal(s, gantry_cos(s, c->x[0]))));
}

/* 1 - x^2 */
static tensor *one_minus_square(gantry__rule_call_t *c, tensor *x) {
    return gantry_sub(c->scope, gantry__rule_number(c, 1), gantry_square(c->scope, x));
}

/* 1 / sqrt(1 - x^2) */
static tensor *of_arc(gantry__rule_call_t *c) {
    return gantry_reciprocal(c->scope, gantry_sqrt(c->scope, one_minus_square(c, c->x[0])));
}

static void rule_asin(gantry__rule_call_t *c) { gantry__rule_chain(c, of_arc(c)); }

static void rule_acos(gantry__rule_call_t *c) {
    c->dx[0] = gantry_mul(c->scope, gantry_neg(c->scope, c->dy[0]), of_arc(c));
}

/* 1 / (1 + x^2) */
static void rule_atan(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    gantry__rule_chain(c, gantry_reciprocal(s, gantry_add(s, gantry__rule_number(c, 1),
                                                          gantry_square(s, c->x[0]))));
}

/* ---- hyperbolic functions ---- */

static void rule_sinh(gantry__rule_call_t *c) {
    gantry__rule_chain(c, gantry_cosh(c->scope, c->x[0]));
}

static void rule_cosh(gantry__rule_call_t *c) {
    gantry__rule_chain(c, gantry_sinh(c->scope, c->x[0]));
}

static void rule_tanh(gantry__rule_call_t *c) {
    c->dx[0] = gantry__rule_op2(c, "TanhGrad", c->y[0], c->dy[0]);
}

static void rule_asinh(gantry__rule_call_t *c) {
    c->dx[0] = gantry_div(c->scope, c->dy[0], gantry_cosh(c->scope, c->y[0]));
}

static void rule_acosh(gantry__rule_call_t *c) {
    c->dx[0] = gantry_div(c->scope, c->dy[0], gantry_sinh(c->scope, c->y[0]));
}

static void rule_atanh(gantry__rule_call_t *c) {
    gantry__rule_chain(c, gantry_reciprocal(c->scope, one_minus_square(c, c->x[0])));
}

/* ---- special functions ---- */

/* dy factor exp(-x^2) */
static void set_bell(gantry__rule_call_t *c, double factor) {
    gantry_scope_t *s = c->scope;
    tensor *bell = gantry_exp(s, gantry_neg(s, gantry_square(s, c->x[0])));
    c->dx[0] = gantry_mul(s, gantry__rule_scale(c, c->dy[0], factor), bell);
}

static void rule_erf(gantry__rule_call_t *c) { set_bell(c, two_over_root_pi); }

static void rule_erfc(gantry__rule_call_t *c) { set_bell(c, -two_over_root_pi); }

/* dy sqrt(pi) / 2 exp(y^2) */
static void rule_erfinv(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *slope = gantry_exp(s, gantry_square(s, c->y[0]));
    c->dx[0] = gantry_mul(s, gantry__rule_scale(c, c->dy[0], half_root_pi), slope);
}

const gantry__rule_t gantry__rules_unary[] = {{"Abs", rule_abs},
                                              {"Acos", rule_acos},
                                              {"Acosh", rule_acosh},
                                              {"Asin", rule_asin},
                                              {"Asinh", rule_asinh},
                                              {"Atan", rule_atan},
                                              {"Atanh", rule_atanh},
                                              {"Cbrt", rule_cbrt},
                                              {"Cos", rule_cos},
                                              {"Cosh", rule_cosh},
                                              {"Erf", rule_erf},
                                              {"Erfc", rule_erfc},
                                              {"Erfinv", rule_erfinv},
                                              {"Exp", rule_exp},
                                              {"Expm1", rule_expm1},
                                              {"Log", rule_log},
                                              {"Log1p", rule_log1p},
                                              {"Neg", rule_neg},
                                              {"Reciprocal", rule_reciprocal},
                                              {"ReducePrecision", rule_reduce_precision},
                                              {"Rsqrt", rule_rsqrt},
                                              {"Sign", rule_sign},
                                              {"Sin", rule_sin},
                                              {"Sinh", rule_sinh},
                                              {"Sqrt", rule_sqrt},
                                              {"Square", rule_square},
                                              {"Tan", rule_tan},
                                              {"Tanh", rule_tanh},
                                              {NULL, NULL}};
