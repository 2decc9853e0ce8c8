/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of Lgamma and of its derivative, Digamma. The derivative of Digamma is trigamma,
 * TensorFlow's polygamma(1, x), which is made of ops here, so that all higher orders follow:
 *
 *     trigamma(x) = 1 / x^2 + 1 / (x + 1)^2 + ... + 1 / (x + 9)^2 + far(x + 10)
 *     far(z)      = 1 / z + 1 / (2 z^2) + (1/6 - w/30 + w^2/42 - ...) / z^3,  w = 1 / z^2
 *     trigamma(x) = (pi / sin(pi x))^2 - trigamma(1 - x)                    below 1/2
 *
 * The series ends with w^6: far(z) is exact to 1e-16 from z = 10.5 on. It is infinite at 0 and at
 * the negative integers. */
#include "train/tape/rule_help.h"

typedef const gantry_tensor_t tensor;

enum { STEPS = 10 };

static const double pi = 3.14159265358979323846;

/* Bernoulli numbers: B(2), B(4), ... */
static const double bernoulli[] = {1.0 / 6,  -1.0 / 30,       1.0 / 42, -1.0 / 30,
                                   5.0 / 66, -691.0 / 2730.0, 7.0 / 6};

static tensor *rule_gamma_add_number(gantry__rule_call_t *c, tensor *x, double value) {
    return gantry_add(c->scope, x, gantry__rule_number(c, value));
}

static tensor *trigamma_far(gantry__rule_call_t *c, tensor *z) {
    gantry_scope_t *s = c->scope;
    tensor *inverse = gantry_reciprocal(s, z), *w = gantry_square(s, inverse);
    size_t i = sizeof bernoulli / sizeof bernoulli[0] - 1;
    tensor *series = gantry__rule_scale(c, w, bernoulli[i]);
    while (i-- > 0) series = gantry_mul(s, w, rule_gamma_add_number(c, series, bernoulli[i]));
    /* (1 + 1 / (2 z) + series) / z, where series is w (1/6 - w/30 + ...) */
    tensor *sum = gantry_add(s, gantry__rule_scale(c, inverse, 0.5), series);
    return gantry_mul(s, inverse, rule_gamma_add_number(c, sum, 1));
}

/* From 1/2 on. */
static tensor *trigamma_near(gantry__rule_call_t *c, tensor *x) {
    gantry_scope_t *s = c->scope;
    tensor *sum = trigamma_far(c, rule_gamma_add_number(c, x, STEPS));
    for (int k = STEPS - 1; k >= 0; --k)
        sum = gantry_add(s, sum,
                         gantry_square(s, gantry_reciprocal(s, rule_gamma_add_number(c, x, k))));
    return sum;
}

/* Elements from 1/2 on take part with another number, so that no infinity comes from them, nor in
 * higher orders. */
static tensor *trigamma(gantry__rule_call_t *c, tensor *x) {
    gantry_scope_t *s = c->scope;
    tensor *half = gantry__rule_number(c, 0.5), *one = gantry__rule_number(c, 1);
    tensor *is_low = gantry_less(s, x, half);
    tensor *near = trigamma_near(c, gantry_select(s, is_low, gantry_sub(s, one, x), x));
    tensor *low = gantry_select(s, is_low, x, half);
    tensor *rest = gantry_sub(s, low, gantry_stop_gradient(s, gantry_round(s, low)));
    tensor *sine = gantry_sin(s, gantry__rule_scale(c, rest, pi));
    tensor *mirrored = gantry_square(s, gantry_div(s, gantry__rule_number(c, pi), sine));
    return gantry_select(s, is_low, gantry_sub(s, mirrored, near), near);
}

static void rule_digamma(gantry__rule_call_t *c) { gantry__rule_chain(c, trigamma(c, c->x[0])); }

static void rule_lgamma(gantry__rule_call_t *c) {
    gantry__rule_chain(c, gantry_digamma(c->scope, c->x[0]));
}

const gantry__rule_t gantry__rules_gamma[] = {
    {"Digamma", rule_digamma}, {"Lgamma", rule_lgamma}, {NULL, NULL}};
