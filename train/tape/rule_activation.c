/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of activation functions. */
#include "train/tape/rule_help.h"

typedef const gantry_tensor_t tensor;

static const double root_half = 0.7071067811865476;           /* sqrt(1 / 2) */
static const double root_two_over_pi = 0.7978845608028654;    /* sqrt(2 / pi) */
static const double one_over_root_two_pi = 0.398942280401433; /* 1 / sqrt(2 pi) */
static const double gelu_cubic = 0.044715;

/* ---- by TensorFlow's ops for them: at a corner the gradient is 0 ---- */

static void rule_relu(gantry__rule_call_t *c) {
    c->dx[0] = gantry__rule_op2(c, "ReluGrad", c->dy[0], c->y[0]);
}

static void rule_relu6(gantry__rule_call_t *c) {
    c->dx[0] = gantry__rule_op2(c, "Relu6Grad", c->dy[0], c->y[0]);
}

static void rule_leaky_relu(gantry__rule_call_t *c) {
    c->dx[0] = gantry__rule_op(c, "LeakyReluGrad", (tensor *[]){c->dy[0], c->x[0]}, 2,
                               gantry__rule_attr(c, "alpha"), 1);
}

/* The slope is a step: its own is 0, and TensorFlow has zeros, not None. */
static void rule_of_steps(gantry__rule_call_t *c) {
    const gantry_attr_value_t *alpha = gantry__rule_attr(c, "alpha");
    if (c->wants[0])
        c->dx[0] = gantry__rule_op(c, c->record->op, (tensor *[]){c->dy[0], c->x[1]}, 2, alpha,
                                   alpha != NULL);
    if (c->wants[1]) c->dx[1] = gantry_zeros_like(c->scope, c->x[1]);
}

static void rule_elu(gantry__rule_call_t *c) {
    c->dx[0] = gantry__rule_op2(c, "EluGrad", c->dy[0], c->y[0]);
}

static void rule_selu(gantry__rule_call_t *c) {
    c->dx[0] = gantry__rule_op2(c, "SeluGrad", c->dy[0], c->y[0]);
}

static void rule_softsign(gantry__rule_call_t *c) {
    c->dx[0] = gantry__rule_op2(c, "SoftsignGrad", c->dy[0], c->x[0]);
}

static void rule_sigmoid(gantry__rule_call_t *c) {
    c->dx[0] = gantry__rule_op2(c, "SigmoidGrad", c->y[0], c->dy[0]);
}

/* ---- by the input ---- */

static void rule_softplus(gantry__rule_call_t *c) {
    gantry__rule_chain(c, gantry_sigmoid(c->scope, c->x[0]));
}

/* With p = sigmoid(x): p (1 + x (1 - p)) */
static void rule_silu(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *p = gantry_sigmoid(s, c->x[0]), *one = gantry__rule_number(c, 1);
    tensor *slope = gantry_add(s, one, gantry_mul(s, c->x[0], gantry_sub(s, one, p)));
    gantry__rule_chain(c, gantry_mul(s, p, slope));
}

/* (1 + erf(x / sqrt(2))) / 2 + x exp(-x^2 / 2) / sqrt(2 pi) */
static void gelu_exact(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *x = c->x[0];
    tensor *part = gantry_add(s, gantry__rule_number(c, 1),
                              gantry_erf(s, gantry__rule_scale(c, x, root_half)));
    tensor *bell = gantry_exp(s, gantry__rule_scale(c, gantry_square(s, x), -0.5));
    gantry__rule_chain(
        c, gantry_add(s, gantry__rule_scale(c, part, 0.5),
                      gantry_mul(s, gantry__rule_scale(c, x, one_over_root_two_pi), bell)));
}

/* With t = tanh(k (x + a x^3)): (1 + t) / 2 + x (1 - t^2) k (1 + 3 a x^2) / 2 */
static void gelu_by_tanh(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *x = c->x[0], *one = gantry__rule_number(c, 1), *square = gantry_square(s, x);
    tensor *inner = gantry_mul(
        s, x, gantry_add(s, one, gantry__rule_scale(c, square, gelu_cubic))); /* x + a x^3 */
    tensor *t = gantry_tanh(s, gantry__rule_scale(c, inner, root_two_over_pi));
    tensor *slope = gantry_add(s, one, gantry__rule_scale(c, square, 3 * gelu_cubic));
    tensor *along = gantry_mul(s, gantry_sub(s, one, gantry_square(s, t)), slope);
    tensor *right = gantry_mul(s, gantry__rule_scale(c, x, root_two_over_pi / 2), along);
    gantry__rule_chain(c, gantry_add(s, gantry__rule_scale(c, gantry_add(s, one, t), 0.5), right));
}

static void rule_gelu(gantry__rule_call_t *c) {
    if (gantry__rule_attr_int(c, "approximate"))
        gelu_by_tanh(c);
    else
        gelu_exact(c);
}

const gantry__rule_t gantry__rules_activation[] = {{"Elu", rule_elu},
                                                   {"Gelu", rule_gelu},
                                                   {"LeakyRelu", rule_leaky_relu},
                                                   {"LeakyReluGrad", rule_of_steps},
                                                   {"Relu", rule_relu},
                                                   {"Relu6", rule_relu6},
                                                   {"Relu6Grad", rule_of_steps},
                                                   {"ReluGrad", rule_of_steps},
                                                   {"Selu", rule_selu},
                                                   {"Sigmoid", rule_sigmoid},
                                                   {"Silu", rule_silu},
                                                   {"Softplus", rule_softplus},
                                                   {"Softsign", rule_softsign},
                                                   {NULL, NULL}};
