/* SPDX-License-Identifier: Apache-2.0 */
/* ScaledDotProductAttention and its gradient: a past is joined to the keys and the values, and one
 * kernel computes all heads. */
#include <math.h>

#include <gantry/ops.h>

#include "compose/compose.h"
#include "op/op_infer.h"
#include "run/call_op.h"

typedef const gantry_tensor_t tensor;

/* Which keys a causal query sees: those up to its own place, counted from the first (no past), or
 * from the last. */
enum { SEES_ALL = 0, ALIGNED_FIRST = 1, ALIGNED_LAST = 2 };

enum { ATTENTION_ATTRS = 4 };

/* The attributes of the op of the core. */
static void attention_attrs(const gantry__compose_t *c, bool has_mask, bool has_past,
                            gantry_attr_value_t out[ATTENTION_ATTRS]) {
    const double given = gantry__infer_attr(c->call, "scale")->f;
    const gantry_shape_t *query = &c->inputs[0]->shape;
    const bool is_causal = gantry__infer_attr(c->call, "is_causal")->i != 0;
    const double dim = (double)query->dims[query->rank - 1];
    out[0] = gantry__attr_bool("has_mask", has_mask);
    out[1] = gantry__attr_int("causal", !is_causal ? SEES_ALL
                                        : has_past ? ALIGNED_LAST
                                                   : ALIGNED_FIRST);
    out[2] = gantry__attr_float("scale", given < 0 || given > 0 ? given : 1 / sqrt(dim));
    out[3] = gantry__attr_float("softcap", gantry__infer_attr(c->call, "softcap")->f);
}

/* The past, then the present. */
static tensor *join_past(const gantry__compose_t *c, tensor *past, tensor *present) {
    tensor *parts[] = {past, present};
    return gantry_concat(c->scope, parts, 2, -2);
}

void gantry__compose_attention(const gantry__compose_t *c) {
    const bool has_mask = c->call->input_count > 3, has_past = c->call->input_count > 4;
    gantry_attr_value_t attrs[ATTENTION_ATTRS];
    tensor *key = has_past ? join_past(c, c->inputs[4], c->inputs[1]) : c->inputs[1];
    tensor *value = has_past ? join_past(c, c->inputs[5], c->inputs[2]) : c->inputs[2];
    tensor *inputs[] = {c->inputs[0], key, value, has_mask ? c->inputs[3] : c->inputs[0]};
    tensor *outputs[2] = {NULL, NULL};
    attention_attrs(c, has_mask, has_past, attrs);
    size_t count = 2;
    (void)gantry__call_op_into(c->scope, GANTRY__OP_ID__Attention, inputs, 4, attrs,
                               ATTENTION_ATTRS, NULL, outputs, &count);
    c->outputs[0] = outputs[0];
    c->outputs[1] = key;
    c->outputs[2] = value;
    c->outputs[3] = outputs[1];
}

void gantry__compose_attention_grad(const gantry__compose_t *c) {
    const bool has_mask = c->call->input_count > 6,
               has_past = gantry__infer_attr(c->call, "has_past")->i != 0;
    gantry_attr_value_t attrs[ATTENTION_ATTRS];
    tensor *inputs[] = {
        c->inputs[0], c->inputs[1], c->inputs[2], has_mask ? c->inputs[6] : c->inputs[0],
        c->inputs[3], c->inputs[4], c->inputs[5]};
    attention_attrs(c, has_mask, has_past, attrs);
    size_t count = 3;
    (void)gantry__call_op_into(c->scope, GANTRY__OP_ID__AttentionGrad, inputs, 7, attrs,
                               ATTENTION_ATTRS, NULL, c->outputs, &count);
}

/* ---- RotaryEmbedding ---- */

void gantry__compose_rotary_embedding(const gantry__compose_t *c) {
    const gantry_attr_value_t attrs[] = {
        gantry__attr_bool("interleaved", gantry__infer_attr(c->call, "interleaved")->i != 0),
        gantry__attr_int("num_heads", gantry__infer_attr(c->call, "num_heads")->i)};
    tensor *inputs[] = {c->inputs[0], c->inputs[1], c->inputs[2]};
    for (int i = 1; i < 3 && c->call->input_count > 3; ++i)
        inputs[i] = gantry_gather(c->scope, c->inputs[i], c->inputs[3], 0);
    c->outputs[0] = gantry__call_op(c->scope, GANTRY__OP_ID__Rotary, inputs, 3, attrs, 2, NULL);
}
