/* SPDX-License-Identifier: Apache-2.0 */
/* Attention and RotaryEmbedding of ai.onnx. */
#include "onnx/lower/lower_attention.h"

#include <math.h>

#include <gantry/ops.h>

#include "onnx/lower/parts.h"

gantry_status_t gantry__onnx_split_heads(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                         int64_t heads, const gantry_tensor_t **out) {
    static const int32_t order[4] = {0, 2, 1, 3};
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    if (shape->rank != 3)
        return gantry__onnx_invalid(call, "queries, keys or values of rank %d, not 3", shape->rank);
    if (heads < 1 || shape->dims[2] % heads != 0)
        return gantry__onnx_invalid(call, "%lld heads of %lld elements", (long long)heads,
                                    (long long)shape->dims[2]);
    const gantry_tensor_t *parts =
        gantry_reshape(call->scope, x,
                       GANTRY_SHAPE(shape->dims[0], shape->dims[1], heads, shape->dims[2] / heads));
    *out = gantry_transpose(call->scope, parts, order);
    return gantry_scope_status(call->scope);
}

const gantry_tensor_t *gantry__onnx_join_heads(gantry__onnx_call_t *call,
                                               const gantry_tensor_t *x) {
    static const int32_t order[4] = {0, 2, 1, 3};
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    const gantry_shape_t flat =
        GANTRY_SHAPE(shape->dims[0], shape->dims[2], shape->dims[1] * shape->dims[3]);
    return x ? gantry_reshape(call->scope, gantry_transpose(call->scope, x, order), flat) : NULL;
}

/* ---- which keys a query sees ---- */

static int64_t past_count(const gantry__onnx_attention_t *attention) {
    return attention->past_key ? gantry_tensor_shape(attention->past_key)->dims[2] : 0;
}

static int64_t key_count(const gantry__onnx_attention_t *attention) {
    return past_count(attention) + gantry_tensor_shape(attention->key)->dims[2];
}

/* 0, 1, ... count - 1 along the last dimension of two, or the first of them. */
static const gantry_tensor_t *places(gantry__onnx_call_t *call, int64_t count, bool is_column) {
    int64_t *values = gantry__onnx_scratch(call, (size_t)count + 1, sizeof *values);
    if (!values) return NULL;
    for (int64_t i = 0; i < count; ++i) values[i] = i;
    const gantry_tensor_t *row = gantry__onnx_make_ints(call, GANTRY_INT64, values, (size_t)count);
    const gantry_shape_t shape = is_column ? GANTRY_SHAPE(count, 1) : GANTRY_SHAPE(1, count);
    return gantry_reshape(call->host, row, shape);
}

/* What is seen so far and this. */
static const gantry_tensor_t *both_seen(gantry_scope_t *scope, const gantry_tensor_t *x,
                                        const gantry_tensor_t *y) {
    return x ? gantry_logical_and(scope, x, y) : y;
}

/* A bool that says which keys a query sees by the lengths, the windows and, if it is causal, the
 * order; NULL with OK: all. */
static gantry_status_t keys_seen(const gantry__onnx_attention_t *attention, bool is_causal,
                                 const gantry_tensor_t **out) {
    gantry__onnx_call_t *call = attention->call;
    const int64_t queries = gantry_tensor_shape(attention->query)->dims[2];
    const gantry_tensor_t *seen = NULL, *lengths = attention->lengths;
    gantry_scope_t *scope =
        lengths && !gantry__onnx_is_known(call, lengths) ? call->scope : call->host;
    const gantry_tensor_t *keys = places(call, key_count(attention), false);
    const gantry_tensor_t *place = places(call, queries, true);
    if (lengths) {
        const gantry_shape_t shape = GANTRY_SHAPE(gantry_tensor_elements(lengths), 1, 1, 1);
        lengths = gantry_reshape(scope, gantry_cast(scope, lengths, GANTRY_INT64), shape);
        seen = gantry_less(scope, keys, lengths);
    }
    *out = seen;
    if (!is_causal && attention->left < 0 && attention->right < 0)
        return gantry_scope_status(scope);
    const gantry_tensor_t *begin = gantry_scalar_i64(call->host, past_count(attention));
    if (lengths && attention->counts_from_lengths)
        begin = gantry_sub(scope, lengths, gantry_scalar_i64(call->host, queries));
    place = gantry_add(scope, place, begin);
    if (is_causal) seen = both_seen(scope, seen, gantry_less_equal(scope, keys, place));
    if (attention->left >= 0) {
        const gantry_tensor_t *first =
            gantry_sub(scope, place, gantry_scalar_i64(call->host, attention->left));
        seen = both_seen(scope, seen, gantry_greater_equal(scope, keys, first));
    }
    if (attention->right >= 0) {
        const gantry_tensor_t *last =
            gantry_add(scope, place, gantry_scalar_i64(call->host, attention->right));
        seen = both_seen(scope, seen, gantry_less_equal(scope, keys, last));
    }
    *out = seen;
    GANTRY__TRY(gantry_scope_status(call->host));
    return gantry_scope_status(scope);
}

/* A mask of the query's type, or bool, for all keys: one that is shorter hides the others. */
static gantry_status_t whole_mask(const gantry__onnx_attention_t *attention,
                                  const gantry_tensor_t **out) {
    gantry__onnx_call_t *call = attention->call;
    gantry_scope_t *scope = call->scope;
    const gantry_tensor_t *mask = attention->mask;
    *out = mask;
    if (!mask) return GANTRY_OK;
    GANTRY__TRY(gantry__onnx_need_shape(call, mask));
    const gantry_shape_t *shape = gantry_tensor_shape(mask);
    if (shape->rank == 0 || shape->rank > 4)
        return gantry__onnx_invalid(call, "a mask of rank %d", shape->rank);
    const gantry_dtype_t dtype = gantry_tensor_dtype(attention->query);
    if (gantry_tensor_dtype(mask) != GANTRY_BOOL && gantry_tensor_dtype(mask) != dtype)
        mask = gantry_cast(scope, mask, dtype);
    const int64_t missing = key_count(attention) - shape->dims[shape->rank - 1];
    if (missing > 0 && shape->dims[shape->rank - 1] != 1) {
        int64_t paddings[8] = {0};
        paddings[2 * shape->rank - 1] = missing;
        const bool is_bool = gantry_tensor_dtype(mask) == GANTRY_BOOL;
        const gantry_pad_options_t options = {
            .struct_size = sizeof options,
            .value =
                gantry__onnx_make_scalar(call, gantry_tensor_dtype(mask), is_bool ? 0 : -HUGE_VAL)};
        mask = gantry_pad(scope, mask, paddings, &options);
    }
    *out = mask;
    return gantry_scope_status(scope);
}

/* The mask together with what the lengths, the windows and, if it is causal, the order say. */
static gantry_status_t attention_masks(gantry__onnx_attention_t *attention, bool is_causal) {
    gantry__onnx_call_t *call = attention->call;
    const gantry_tensor_t *mask = NULL, *seen = NULL;
    GANTRY__TRY(whole_mask(attention, &mask));
    GANTRY__TRY(keys_seen(attention, is_causal, &seen));
    if (mask && seen && gantry_tensor_dtype(mask) == GANTRY_BOOL) {
        mask = gantry_logical_and(call->scope, mask, seen);
    } else if (mask && seen) {
        const gantry_tensor_t *hidden =
            gantry__onnx_make_scalar(call, gantry_tensor_dtype(mask), -HUGE_VAL);
        mask = gantry_select(call->scope, seen, mask, hidden);
    } else if (seen) {
        mask = seen;
    }
    attention->whole_mask = mask;
    return gantry_scope_status(call->scope);
}

/* Whether the op's own causal order is that of the node, so that no mask has a number for each
 * query and key. */
static bool is_plain_causal(const gantry__onnx_attention_t *attention) {
    if (!attention->is_causal) return false;
    if (attention->lengths && attention->counts_from_lengths) return false;
    if (attention->left >= 0 || attention->right >= 0) return false;
    const int64_t queries = gantry_tensor_shape(attention->query)->dims[2];
    return !attention->past_key || gantry_tensor_shape(attention->key)->dims[2] == queries;
}

/* Refuses a past of keys or values, which may be NULL, of another rank than 4. */
static gantry_status_t refuse_past_rank(gantry__onnx_call_t *call, const gantry_tensor_t *past) {
    if (!past) return GANTRY_OK;
    if (gantry_tensor_shape(past)->rank != 4)
        return gantry__onnx_invalid(call, "a past of rank %d, not 4",
                                    gantry_tensor_shape(past)->rank);
    return gantry__onnx_need_shape(call, past);
}

gantry_status_t gantry__onnx_check_attention(const gantry__onnx_attention_t *attention) {
    const gantry_tensor_t *parts[3] = {attention->query, attention->key, attention->value};
    static const char *const names[3] = {"queries", "keys", "values"};
    for (size_t i = 0; i < 3; ++i) {
        const int32_t rank = gantry_tensor_shape(parts[i])->rank;
        if (rank != 4)
            return gantry__onnx_invalid(attention->call, "%s of rank %d, not 3 or 4", names[i],
                                        rank);
        if (gantry_tensor_elements(parts[i]) < 1)
            return gantry__onnx_unsupported(attention->call, "%s without elements", names[i]);
    }
    GANTRY__TRY(refuse_past_rank(attention->call, attention->past_key));
    return refuse_past_rank(attention->call, attention->past_value);
}

gantry_status_t gantry__onnx_attend(gantry__onnx_attention_t *attention) {
    gantry__onnx_call_t *call = attention->call;
    GANTRY__TRY(gantry__onnx_check_attention(attention));
    const bool is_plain = is_plain_causal(attention);
    GANTRY__TRY(attention_masks(attention, attention->is_causal && !is_plain));
    gantry_scaled_attention_options_t options = {.struct_size = sizeof options,
                                                 .mask = attention->whole_mask,
                                                 .past_key = attention->past_key,
                                                 .past_value = attention->past_value,
                                                 .is_causal = is_plain,
                                                 .scale = attention->scale,
                                                 .softcap = attention->softcap};
    const gantry_tensor_t *outputs[4] = {NULL};
    GANTRY__TRY(gantry_scaled_dot_product_attention(call->scope, attention->query, attention->key,
                                                    attention->value, &options, outputs));
    attention->output = outputs[0];
    attention->present_key = outputs[1];
    attention->present_value = outputs[2];
    attention->log_sums = outputs[3];
    return GANTRY_OK;
}

/* ---- scores as an output ---- */

/* query key' scale, [batch, heads, queries, keys]: heads of queries share those of keys. */
static const gantry_tensor_t *multiply_heads(const gantry__onnx_attention_t *attention) {
    gantry_scope_t *scope = attention->call->scope;
    const gantry_shape_t *q = gantry_tensor_shape(attention->query);
    const gantry_shape_t *k = gantry_tensor_shape(attention->present_key);
    const int64_t keys = k->dims[2], shared = q->dims[1] / k->dims[1];
    const double scale = attention->scale != 0 ? attention->scale : 1 / sqrt((double)q->dims[3]);
    const gantry_tensor_t *factor = gantry__onnx_make_scalar(
        attention->call, gantry_tensor_dtype(attention->query), sqrt(scale));
    const gantry_tensor_t *query = gantry_mul(scope, attention->query, factor);
    const gantry_tensor_t *key = gantry_mul(scope, attention->present_key, factor);
    query = gantry_reshape(scope, query,
                           GANTRY_SHAPE(q->dims[0], k->dims[1], shared * q->dims[2], q->dims[3]));
    const gantry_matmul_options_t options = {.struct_size = sizeof options, .transpose_b = true};
    const gantry_tensor_t *scores = gantry_matmul(scope, query, key, &options);
    return gantry_reshape(scope, scores, GANTRY_SHAPE(q->dims[0], q->dims[1], q->dims[2], keys));
}

/* The mask as numbers that are added. */
static const gantry_tensor_t *add_mask(const gantry__onnx_attention_t *attention,
                                       const gantry_tensor_t *scores) {
    gantry_scope_t *scope = attention->call->scope;
    const gantry_tensor_t *mask = attention->whole_mask;
    if (!mask) return scores;
    if (gantry_tensor_dtype(mask) != GANTRY_BOOL) return gantry_add(scope, scores, mask);
    const gantry_tensor_t *hidden =
        gantry__onnx_make_scalar(attention->call, gantry_tensor_dtype(scores), -HUGE_VAL);
    return gantry_select(scope, mask, scores, hidden);
}

/* Softmax, whose rows without a key are 0. */
static const gantry_tensor_t *softmax_seen(const gantry__onnx_attention_t *attention,
                                           const gantry_tensor_t *scores) {
    gantry_scope_t *scope = attention->call->scope;
    const int32_t last = -1;
    const gantry_reduce_options_t options = {
        .struct_size = sizeof options, .axes = &last, .axis_count = 1, .keep_dims = true};
    const gantry_tensor_t *hidden =
        gantry__onnx_make_scalar(attention->call, gantry_tensor_dtype(scores), -HUGE_VAL);
    const gantry_tensor_t *sees =
        gantry_greater(scope, gantry_max(scope, scores, &options), hidden);
    return gantry_select(scope, sees, gantry_softmax(scope, scores),
                         gantry_zeros_like(scope, scores));
}

gantry_status_t gantry__onnx_attention_scores(gantry__onnx_attention_t *attention, int64_t mode,
                                              const gantry_tensor_t **out) {
    gantry__onnx_call_t *call = attention->call;
    if (mode < 0 || mode > 3)
        return gantry__onnx_invalid(call, "qk_matmul_output_mode is %lld", (long long)mode);
    /* The op took the causal order; the mask has it now. */
    if (mode >= 2 && is_plain_causal(attention)) GANTRY__TRY(attention_masks(attention, true));
    const gantry_tensor_t *scores = multiply_heads(attention);
    if (mode >= 1 && attention->softcap > 0) {
        const gantry_tensor_t *cap =
            gantry__onnx_make_scalar(call, gantry_tensor_dtype(scores), attention->softcap);
        scores = gantry_tanh(call->scope, gantry_div(call->scope, scores, cap));
        scores = gantry_mul(call->scope, scores, cap);
    }
    if (mode >= 2) scores = add_mask(attention, scores);
    if (mode == 3) scores = softmax_seen(attention, scores);
    *out = scores;
    return gantry_scope_status(call->scope);
}

/* ---- rows ---- */

/* Query, key and value with their heads apart. */
static gantry_status_t attention_heads(gantry__onnx_attention_t *attention) {
    gantry__onnx_call_t *call = attention->call;
    const gantry_tensor_t **parts[3] = {&attention->query, &attention->key, &attention->value};
    const int64_t heads[2] = {gantry__onnx_attr_int(call, "q_num_heads", 0),
                              gantry__onnx_attr_int(call, "kv_num_heads", 0)};
    for (size_t i = 0; i < 3; ++i) {
        const gantry_tensor_t *x = gantry__onnx_input(call, i);
        if (!x) return gantry__onnx_invalid(call, "input %zu is missing", i);
        GANTRY__TRY(gantry__onnx_need_shape(call, x));
        *parts[i] = x;
        if (gantry_tensor_shape(x)->rank == 3)
            GANTRY__TRY(gantry__onnx_split_heads(call, x, heads[i > 0], parts[i]));
        else if (gantry_tensor_shape(x)->rank != 4)
            return gantry__onnx_invalid(call, "input %zu has rank %d; accepted are 3 and 4", i,
                                        gantry_tensor_shape(x)->rank);
    }
    const gantry_dtype_t dtype = gantry_tensor_dtype(attention->query);
    if (gantry_tensor_dtype(attention->value) != dtype)
        return gantry__onnx_unsupported(call, "values of another type than queries");
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_attention(gantry__onnx_call_t *call) {
    gantry__onnx_attention_t attention = {
        .call = call,
        .mask = gantry__onnx_input(call, 3),
        .past_key = gantry__onnx_input(call, 4),
        .past_value = gantry__onnx_input(call, 5),
        .lengths = gantry__onnx_input(call, 6),
        .counts_from_lengths = true,
        .is_causal = gantry__onnx_attr_int(call, "is_causal", 0) != 0,
        .left = gantry__onnx_attr_int(call, "left_window_size", -1),
        .right = gantry__onnx_attr_int(call, "right_window_size", -1),
        .scale = (double)gantry__onnx_attr_float(call, "scale", 0),
        .softcap = (double)gantry__onnx_attr_float(call, "softcap", 0)};
    if (attention.left < -1 || attention.right < -1)
        return gantry__onnx_invalid(call, "windows of %lld and %lld; -1 and more are accepted",
                                    (long long)attention.left, (long long)attention.right);
    if (!attention.past_key != !attention.past_value)
        return gantry__onnx_invalid(call, "past_key and past_value must be given together");
    if (attention.past_key && attention.lengths)
        return gantry__onnx_invalid(call, "nonpad_kv_seqlen excludes past_key");
    GANTRY__TRY(attention_heads(&attention));
    GANTRY__TRY(gantry__onnx_attend(&attention));
    const bool is_flat = gantry_tensor_shape(gantry__onnx_input(call, 0))->rank == 3;
    const gantry_tensor_t *y = attention.output;
    GANTRY__TRY(gantry__onnx_set(call, 0, is_flat ? gantry__onnx_join_heads(call, y) : y));
    GANTRY__TRY(gantry__onnx_set(call, 1, attention.present_key));
    GANTRY__TRY(gantry__onnx_set(call, 2, attention.present_value));
    if (!gantry__onnx_wants(call, 3)) return GANTRY_OK;
    GANTRY__TRY(gantry__onnx_attention_scores(
        &attention, gantry__onnx_attr_int(call, "qk_matmul_output_mode", 0), &y));
    return gantry__onnx_set(call, 3, y);
}

/* ---- FlexAttention ---- */

/* What a graph makes of the scores, or of the weights. */
static gantry_status_t change_scores(gantry__onnx_call_t *call, const char *name,
                                     const gantry_tensor_t **scores) {
    const gantry__onnx_graph_t *graph = gantry__onnx_attr_graph(call, name);
    GANTRY__TRY(gantry_scope_status(call->scope));
    if (!graph) return GANTRY_OK;
    if (graph->input_count != 1 || graph->output_count != 1)
        return gantry__onnx_invalid(call, "%s has %zu inputs and %zu outputs; it has one of each",
                                    name, graph->input_count, graph->output_count);
    const gantry_shape_t shape = *gantry_tensor_shape(*scores);
    const gantry_tensor_t *changed = NULL;
    GANTRY__TRY(gantry__onnx_lower_subgraph(call, call->scope, graph, scores, &changed));
    if (!gantry_shape_equal(gantry_tensor_shape(changed), &shape))
        return gantry__onnx_invalid(call, "%s changes the shape", name);
    *scores = changed;
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_flex_attention(gantry__onnx_call_t *call) {
    gantry_scope_t *scope = call->scope;
    gantry__onnx_attention_t attention = {
        .call = call,
        .left = -1,
        .right = -1,
        .scale = (double)gantry__onnx_attr_float(call, "scale", 0)};
    GANTRY__TRY(attention_heads(&attention));
    if (!gantry__onnx_attr_graph(call, "score_mod") && !gantry__onnx_attr_graph(call, "prob_mod")) {
        GANTRY__TRY(gantry__onnx_attend(&attention));
        return gantry__onnx_give(call, attention.output);
    }
    GANTRY__TRY(gantry__onnx_check_attention(&attention));
    const gantry_dtype_t dtype = gantry_tensor_dtype(attention.query);
    gantry_dtype_t precision = dtype == GANTRY_FLOAT64 ? dtype : GANTRY_FLOAT32;
    GANTRY__TRY(gantry__onnx_attr_dtype(call, "softmax_precision", precision, &precision));
    attention.present_key = attention.key;
    const gantry_tensor_t *x = gantry__onnx_cast(call, multiply_heads(&attention), precision);
    GANTRY__TRY(change_scores(call, "score_mod", &x));
    x = gantry_softmax(scope, x);
    GANTRY__TRY(change_scores(call, "prob_mod", &x));
    const gantry_shape_t *q = gantry_tensor_shape(attention.query);
    const gantry_shape_t *v = gantry_tensor_shape(attention.value);
    const int64_t rows = q->dims[1] / v->dims[1] * q->dims[2];
    x = gantry_reshape(scope, gantry__onnx_cast(call, x, dtype),
                       GANTRY_SHAPE(q->dims[0], v->dims[1], rows, v->dims[2]));
    x = gantry_matmul(scope, x, attention.value, NULL);
    return gantry__onnx_give(
        call,
        gantry_reshape(scope, x, GANTRY_SHAPE(q->dims[0], q->dims[1], q->dims[2], v->dims[3])));
}

gantry_status_t gantry__onnx_lower_rotary_embedding(gantry__onnx_call_t *call) {
    const gantry_rotary_options_t options = {
        .struct_size = sizeof options,
        .interleaved = gantry__onnx_attr_int(call, "interleaved", 0) != 0,
        .num_heads = gantry__onnx_attr_int(call, "num_heads", 0),
        .dim = gantry__onnx_attr_int(call, "rotary_embedding_dim", 0)};
    return gantry__onnx_give(
        call, gantry_rotary_embedding(call->scope, gantry__onnx_input(call, 0),
                                      gantry__onnx_input(call, 1), gantry__onnx_input(call, 2),
                                      gantry__onnx_input(call, 3), &options));
}
