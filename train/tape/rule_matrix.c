/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of products and of ops on matrices. */
#include "train/tape/rule.h"

typedef const gantry_tensor_t tensor;

static tensor *product(gantry__rule_call_t *c, tensor *a, tensor *b, bool transpose_a,
                       bool transpose_b) {
    return gantry_matmul(
        c->scope, a, b,
        &(gantry_matmul_options_t){.transpose_a = transpose_a, .transpose_b = transpose_b});
}

static void rule_matmul(gantry__rule_call_t *c) {
    const bool ta = gantry__rule_attr_int(c, "transpose_a"),
               tb = gantry__rule_attr_int(c, "transpose_b");
    tensor *a = c->x[0], *b = c->x[1], *dy = c->dy[0];
    if (c->wants[0]) c->dx[0] = ta ? product(c, b, dy, tb, true) : product(c, dy, b, false, !tb);
    if (c->wants[1]) c->dx[1] = tb ? product(c, dy, a, true, ta) : product(c, a, dy, !ta, false);
}

const gantry__rule_t gantry__rules_matrix[] = {{"MatMul", rule_matmul}, {NULL, NULL}};
