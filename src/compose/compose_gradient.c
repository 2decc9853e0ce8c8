/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients that are elementwise, and that of BiasAdd.
 *
 * Each formula has TensorFlow's operations in TensorFlow's order, for halves too, which are rounded
 * after each: so the bits are those of TensorFlow's vector loops. (Its loops for the last elements
 * of a row compute SigmoidGrad, SqrtGrad and RsqrtGrad in another order.) A factor of 0 or 1, in
 * place of a choice, keeps NaN and makes NaN of infinities. */
#include <gantry/ops.h>

#include <string.h>

#include "op/op_infer.h"
#include "compose/compose.h"
#include "run/tensor_state.h"

typedef const gantry_tensor_t tensor;

static tensor *number(const gantry__compose_t *c, double value) {
    return gantry__compose_scalar(c, c->call->out_dtypes[0], value);
}

static tensor *donate(const gantry__compose_t *c, tensor *x) {
    return gantry_tensor_donate(c->scope, x);
}

/* ---- activations: gradients, and features or outputs ---- */

/* Gives gradients times 1 where `kept` is true, times 0 elsewhere. */
static void give_kept(const gantry__compose_t *c, tensor *kept) {
    tensor *factor = gantry_cast(c->scope, kept, c->call->out_dtypes[0]);
    c->outputs[0] = gantry_mul(c->scope, c->inputs[0], donate(c, factor));
}

void gantry__compose_relu_grad(const gantry__compose_t *c) {
    give_kept(c, gantry_greater(c->scope, c->inputs[1], number(c, 0)));
}

void gantry__compose_relu6_grad(const gantry__compose_t *c) {
    tensor *above = gantry_greater(c->scope, c->inputs[1], number(c, 0)),
           *below = gantry_less(c->scope, c->inputs[1], number(c, 6));
    give_kept(c, gantry_logical_and(c->scope, donate(c, above), below));
}

/* alpha is a float32 first, as TensorFlow's attribute. */
void gantry__compose_leaky_relu_grad(const gantry__compose_t *c) {
    const float alpha = (float)gantry__infer_attr(c->call, "alpha")->f;
    c->outputs[0] =
        gantry_select(c->scope, gantry_greater(c->scope, c->inputs[1], number(c, 0)), c->inputs[0],
                      donate(c, gantry_mul(c->scope, c->inputs[0], number(c, (double)alpha))));
}

/* Gives gradients * (outputs + shift) where outputs < 0, `above` elsewhere. */
static void give_elu(const gantry__compose_t *c, double shift, tensor *above) {
    tensor *slope = gantry_add(c->scope, c->inputs[1], number(c, shift)),
           *below = gantry_mul(c->scope, c->inputs[0], donate(c, slope));
    c->outputs[0] = gantry_select(c->scope, gantry_less(c->scope, c->inputs[1], number(c, 0)),
                                  donate(c, below), above);
}

void gantry__compose_elu_grad(const gantry__compose_t *c) { give_elu(c, 1, c->inputs[0]); }

void gantry__compose_selu_grad(const gantry__compose_t *c) {
    give_elu(c, 1.7580993408473768599402175208123,
             gantry_mul(c->scope, c->inputs[0], number(c, 1.0507009873554804934193349852946)));
}

void gantry__compose_softplus_grad(const gantry__compose_t *c) {
    tensor *power = gantry_exp(c->scope, donate(c, gantry_neg(c->scope, c->inputs[1])));
    c->outputs[0] = gantry_div(c->scope, c->inputs[0],
                               donate(c, gantry_add(c->scope, donate(c, power), number(c, 1))));
}

void gantry__compose_softsign_grad(const gantry__compose_t *c) {
    tensor *sum = gantry_add(c->scope, donate(c, gantry_abs(c->scope, c->inputs[1])), number(c, 1));
    c->outputs[0] =
        gantry_div(c->scope, c->inputs[0], donate(c, gantry_square(c->scope, donate(c, sum))));
}

/* ---- functions: their result y, and dy ---- */

/* Returns dy with y's shape, which it need not have. */
static tensor *shaped_dy(const gantry__compose_t *c) {
    const gantry_shape_t *shape = &c->inputs[0]->shape;
    const bool is_alike = gantry_shape_equal(&c->inputs[1]->shape, shape);
    return is_alike ? c->inputs[1] : gantry_reshape(c->scope, c->inputs[1], *shape);
}

void gantry__compose_tanh_grad(const gantry__compose_t *c) {
    tensor *square = gantry_square(c->scope, c->inputs[0]);
    c->outputs[0] = gantry_mul(c->scope, shaped_dy(c),
                               donate(c, gantry_sub(c->scope, number(c, 1), donate(c, square))));
}

void gantry__compose_sigmoid_grad(const gantry__compose_t *c) {
    tensor *rest = gantry_sub(c->scope, number(c, 1), c->inputs[0]);
    c->outputs[0] = gantry_mul(c->scope, shaped_dy(c),
                               donate(c, gantry_mul(c->scope, c->inputs[0], donate(c, rest))));
}

void gantry__compose_sqrt_grad(const gantry__compose_t *c) {
    tensor *slope = gantry_div(c->scope, number(c, 0.5), c->inputs[0]);
    c->outputs[0] = gantry_mul_no_nan(c->scope, donate(c, slope), shaped_dy(c));
}

void gantry__compose_rsqrt_grad(const gantry__compose_t *c) {
    tensor *square = gantry_square(c->scope, c->inputs[0]),
           *half = gantry_mul(c->scope, number(c, -0.5), donate(c, square)),
           *third = gantry_mul_no_nan(c->scope, c->inputs[0], shaped_dy(c));
    c->outputs[0] = gantry_mul_no_nan(c->scope, donate(c, half), third);
}

void gantry__compose_reciprocal_grad(const gantry__compose_t *c) {
    tensor *square = gantry_square(c->scope, c->inputs[0]);
    c->outputs[0] = gantry_mul_no_nan(c->scope, donate(c, gantry_neg(c->scope, donate(c, square))),
                                      shaped_dy(c));
}

/* ---- BiasAddGrad ---- */

void gantry__compose_bias_add_grad(const gantry__compose_t *c) {
    static const int32_t axes[] = {0, 2};
    const gantry_shape_t *shape = &c->inputs[0]->shape;
    const bool channels_first = strcmp(gantry__infer_attr(c->call, "data_format")->s, "NCHW") == 0;
    const int32_t channel = channels_first ? 1 : shape->rank - 1;
    int64_t outer = 1, inner = 1;
    for (int32_t d = 0; d < channel; ++d) outer *= shape->dims[d];
    for (int32_t d = channel + 1; d < shape->rank; ++d) inner *= shape->dims[d];
    gantry_shape_t lines = GANTRY_SHAPE(outer, shape->dims[channel], inner);
    if (inner == 1) lines.rank = 2;
    c->outputs[0] =
        gantry_sum(c->scope, gantry_reshape(c->scope, c->inputs[0], lines),
                   &(gantry_reduce_options_t){.axes = axes, .axis_count = (size_t)lines.rank - 1});
}
