/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions of ops_attention.h. */
#include <string.h>

#include <gantry/ops_attention.h>

#include "run/call_op.h"

typedef const gantry_tensor_t tensor;

static gantry_status_t ops_attention_status(const gantry_scope_t *scope) {
    return scope ? gantry_scope_status(scope) : GANTRY_INVALID_ARGUMENT;
}

/* query, key and value are there; adds what the options have, and returns how many inputs there
 * are. A past without a mask has one that masks nothing. */
static uint32_t add_optional_inputs(gantry__extras_t *extras, gantry_scope_t *scope,
                                    const gantry_scaled_attention_options_t *o, tensor *inputs[6]) {
    static const bool all = true;
    const bool has_past = o->past_key || o->past_value;
    inputs[3] = o->mask || !has_past
                    ? o->mask
                    : gantry__add_host(extras, scope, GANTRY_BOOL, GANTRY_SCALAR, &all);
    inputs[4] = o->past_key;
    inputs[5] = o->past_value;
    return has_past ? 6 : o->mask ? 4 : 3;
}

gantry_status_t gantry_scaled_dot_product_attention(
    gantry_scope_t *scope, tensor *query, tensor *key, tensor *value,
    const gantry_scaled_attention_options_t *options, tensor *outputs[4]) {
    gantry_scaled_attention_options_t o;
    gantry__extras_t extras = {.count = 0};
    size_t output_count = 4;
    if (!gantry__is_given(scope, outputs, 4, "gantry_scaled_dot_product_attention: outputs"))
        return ops_attention_status(scope);
    memset(outputs, 0, 4 * sizeof *outputs);
    if (!GANTRY__TAKE_OPTIONS(scope, options, gantry_scaled_attention_options_t, softcap, &o))
        return ops_attention_status(scope);
    tensor *inputs[6] = {query, key, value};
    const uint32_t count = add_optional_inputs(&extras, scope, &o, inputs);
    const gantry_attr_value_t attrs[] = {gantry__attr_bool("is_causal", o.is_causal),
                                         gantry__attr_float("scale", o.scale),
                                         gantry__attr_float("softcap", o.softcap)};
    return gantry__call_op_into(scope, GANTRY__OP_ID_ScaledDotProductAttention, inputs, count,
                                attrs, 3, &extras, outputs, &output_count);
}

tensor *gantry_rotary_embedding(gantry_scope_t *scope, tensor *x, tensor *cos_cache,
                                tensor *sin_cache, tensor *position_ids,
                                const gantry_rotary_options_t *options) {
    gantry_rotary_options_t o;
    tensor *inputs[] = {x, cos_cache, sin_cache, position_ids};
    if (!GANTRY__TAKE_OPTIONS(scope, options, gantry_rotary_options_t, dim, &o)) return NULL;
    const gantry_attr_value_t attrs[] = {gantry__attr_bool("interleaved", o.interleaved),
                                         gantry__attr_int("num_heads", o.num_heads),
                                         gantry__attr_int("rotary_embedding_dim", o.dim)};
    return gantry__call_op(scope, GANTRY__OP_ID_RotaryEmbedding, inputs, position_ids ? 4 : 3,
                           attrs, 3, NULL);
}
