/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of products, and of bias. */
#include <string.h>

#include "train/tape/rule_help.h"

typedef const gantry_tensor_t tensor;

static tensor *product(gantry__rule_call_t *c, tensor *a, tensor *b, bool transpose_a,
                       bool transpose_b) {
    return gantry_matmul(
        c->scope, a, b,
        &(gantry_matmul_options_t){.transpose_a = transpose_a, .transpose_b = transpose_b});
}

/* y = a b: da = dy b', db = a' dy, each in the form that needs no transpose of its own. db must
 * come first, because it is the last to use a, which is a layer's input, and whose memory is free
 * then. */
static void matmul_gradients(gantry__rule_call_t *c, bool ta, bool tb) {
    tensor *a = c->x[0], *b = c->x[1], *dy = c->dy[0];
    if (c->wants[1])
        c->dx[1] = gantry__rule_sum_to(
            c, tb ? product(c, dy, a, true, ta) : product(c, a, dy, !ta, false), b);
    if (c->wants[0])
        c->dx[0] = gantry__rule_sum_to(
            c, ta ? product(c, b, dy, tb, true) : product(c, dy, b, false, !tb), a);
}

static void rule_matmul(gantry__rule_call_t *c) {
    matmul_gradients(c, gantry__rule_attr_int(c, "transpose_a"),
                     gantry__rule_attr_int(c, "transpose_b"));
}

static void rule_batch_matmul(gantry__rule_call_t *c) {
    matmul_gradients(c, gantry__rule_attr_int(c, "adj_x"), gantry__rule_attr_int(c, "adj_y"));
}

/* The axes that are no channels. */
static void rule_bias_add(gantry__rule_call_t *c) {
    const gantry_attr_value_t *format = gantry__rule_attr(c, "data_format");
    const int32_t rank = gantry_tensor_shape(c->x[0])->rank;
    const int32_t channels = format && strcmp(format->s, "NCHW") == 0 ? 1 : rank - 1;
    int32_t axes[GANTRY_MAX_RANK];
    size_t count = 0;
    for (int32_t d = 0; d < rank; ++d) {
        if (d != channels) axes[count++] = d;
    }
    c->dx[0] = c->dy[0];
    if (c->wants[1])
        c->dx[1] = gantry_sum(c->scope, c->dy[0],
                              &(gantry_reduce_options_t){.axes = axes, .axis_count = count});
}

const gantry__rule_t gantry__rules_matrix[] = {{"BatchMatMul", rule_batch_matmul},
                                               {"BiasAdd", rule_bias_add},
                                               {"MatMul", rule_matmul},
                                               {NULL, NULL}};
