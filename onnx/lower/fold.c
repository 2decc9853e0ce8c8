/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/lower/fold.h"

#include <gantry/gantry.h>

#include "onnx/lower/chains.h"
#include "onnx/lower/run.h"

typedef const gantry_tensor_t tensor;

/* The key of a prepared bias; those of filters are less. */
#define FOLDED_BIAS 64

/* What a chain does to each output of a convolution: y * scale + offset. NULL: by 1, with 0. */
typedef struct folded_t {
    gantry__onnx_call_t *call;
    gantry_scope_t *scope;
    int64_t outputs;
    tensor *scale, *offset;
} folded_t;

static size_t position_of(const gantry__onnx_call_t *call) {
    return call->run->first_node + call->node->index;
}

/* A constant as a float64 vector of channels or, if it may be one, a scalar. */
static tensor *fold_read(folded_t *folded, gantry__onnx_value_t value, bool may_be_scalar) {
    tensor *x = gantry__onnx_run_get(folded->call->run, value);
    if (!x) {
        (void)gantry_scope_fail(folded->scope, folded->call->run->status, gantry_last_message());
        return NULL;
    }
    const bool is_scalar = may_be_scalar && gantry_tensor_elements(x) == 1;
    x = gantry_cast(folded->scope, x, GANTRY_FLOAT64);
    return gantry_reshape(folded->scope, x,
                          is_scalar ? GANTRY_SCALAR : GANTRY_SHAPE(folded->outputs));
}

static void fold_multiply(folded_t *folded, tensor *factor) {
    gantry_scope_t *s = folded->scope;
    folded->scale = folded->scale ? gantry_mul(s, folded->scale, factor) : factor;
    if (folded->offset) folded->offset = gantry_mul(s, folded->offset, factor);
}

static void fold_add(folded_t *folded, tensor *term) {
    folded->offset = folded->offset ? gantry_add(folded->scope, folded->offset, term) : term;
}

static void fold_norm(folded_t *folded, const gantry__onnx_node_t *node) {
    gantry_scope_t *s = folded->scope;
    const gantry__onnx_attr_t *attr = gantry__onnx_find_attr(node, "epsilon");
    const double epsilon = (double)(attr ? attr->floats[0] : 1e-5f);
    tensor *in[5];
    for (size_t i = 1; i < 5; ++i) in[i] = fold_read(folded, node->inputs[i], false);
    tensor *small = gantry_constant(s, GANTRY_FLOAT64, GANTRY_SCALAR, &epsilon, sizeof epsilon);
    tensor *factor = gantry_div(s, in[1], gantry_sqrt(s, gantry_add(s, in[4], small)));
    fold_add(folded, gantry_neg(s, in[3]));
    fold_multiply(folded, factor);
    fold_add(folded, in[2]);
}

/* Joins the chain of the call; with_bias: what it does to the convolution's bias. */
static void fold_chain(folded_t *folded, bool with_bias) {
    const gantry__onnx_plan_t *plan = &folded->call->run->constants->plan;
    const gantry__onnx_node_t *conv = folded->call->node;
    if (with_bias && conv->input_count > 2 && conv->inputs[2] != GANTRY__ONNX_NO_VALUE)
        fold_add(folded, fold_read(folded, conv->inputs[2], false));
    for (size_t at = position_of(folded->call); plan->next_folded[at] != 0;) {
        at = plan->next_folded[at] - 1;
        const gantry__onnx_node_t *node = gantry__onnx_node_at(plan, at);
        if (gantry__onnx_is_op(node, "BatchNormalization")) {
            fold_norm(folded, node);
            continue;
        }
        tensor *constant =
            fold_read(folded, node->inputs[!plan->is_constant[node->inputs[0]]], true);
        if (gantry__onnx_is_op(node, "Mul"))
            fold_multiply(folded, constant);
        else
            fold_add(folded, constant);
    }
}

static bool has_chain(const gantry__onnx_call_t *call) {
    return call->run->constants->plan.next_folded[position_of(call)] != 0;
}

tensor *gantry__onnx_folded_filter(gantry__onnx_call_t *call, gantry_scope_t *scope, tensor *w,
                                   int32_t axis) {
    folded_t folded = {.call = call, .scope = scope, .outputs = gantry_tensor_shape(w)->dims[axis]};
    if (!has_chain(call)) return w;
    fold_chain(&folded, false);
    if (!folded.scale) return w;
    gantry_shape_t shape = {.rank = gantry_tensor_shape(w)->rank - axis,
                            .dims = {gantry_tensor_elements(folded.scale), 1, 1, 1, 1}};
    tensor *scale = gantry_cast(scope, folded.scale, gantry_tensor_dtype(w));
    return gantry_mul(scope, w, gantry_reshape(scope, scale, shape));
}

/* [outputs] of a filter's type, for a filter of any form. */
static tensor *make_folded_bias(gantry__onnx_call_t *call, gantry_scope_t *scope, tensor *w) {
    const bool is_transposed = gantry__onnx_is_op(call->node, "ConvTranspose");
    const int64_t outputs = gantry_tensor_shape(w)->dims[is_transposed];
    folded_t folded = {.call = call, .scope = scope, .outputs = outputs};
    fold_chain(&folded, true);
    tensor *bias =
        folded.offset ? folded.offset : gantry_zeros(scope, GANTRY_FLOAT64, GANTRY_SCALAR);
    return gantry_broadcast_to(scope, gantry_cast(scope, bias, gantry_tensor_dtype(w)),
                               GANTRY_SHAPE(outputs));
}

tensor *gantry__onnx_folded_bias(gantry__onnx_call_t *call) {
    if (!has_chain(call)) return gantry__onnx_input(call, 2);
    return gantry__onnx_prepared(call, 1, FOLDED_BIAS, make_folded_bias);
}
