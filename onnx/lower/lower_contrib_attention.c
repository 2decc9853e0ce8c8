/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft: MultiHeadAttention, Attention, their packed forms, QAttention and RotaryEmbedding.
 * Masks of these ops add a number that is far below all scores, and do not hide keys. */
#include "onnx/lower/lower_attention.h"

#include <gantry/ops.h>

#include "onnx/lower/lower_contrib.h"
#include "onnx/lower/lower_quantize.h"
#include "onnx/lower/lower_recurrent.h"

/* What a mask adds to the score of a key that is hidden. */
#define HIDDEN_SCORE (-10000.0f)

/* ---- masks ---- */

/* 0 where this is true, and the attribute's number elsewhere. */
static const gantry_tensor_t *hide_unseen(gantry__onnx_call_t *call, const gantry_tensor_t *seen,
                                          gantry_dtype_t dtype) {
    const double hidden = (double)gantry__onnx_attr_float(call, "mask_filter_value", HIDDEN_SCORE);
    return gantry_select(call->scope, seen, gantry__onnx_make_scalar(call, dtype, 0),
                         gantry__onnx_make_scalar(call, dtype, hidden));
}

/* Whether the number of a key is below a count of each batch element: [batch, 1, 1, keys]. */
static const gantry_tensor_t *within_lengths(gantry__onnx_call_t *call,
                                             const gantry_tensor_t *lengths, int64_t keys) {
    int64_t *places = gantry__onnx_scratch(call, (size_t)keys + 1, sizeof *places);
    if (!places) return NULL;
    for (int64_t i = 0; i < keys; ++i) places[i] = i;
    const gantry_tensor_t *row =
        gantry__onnx_make_ints(call, gantry_tensor_dtype(lengths), places, (size_t)keys);
    const int64_t batch = gantry_tensor_shape(lengths)->dims[0];
    return gantry_less(call->scope, row,
                       gantry_reshape(call->scope, lengths, GANTRY_SHAPE(batch, 1, 1, 1)));
}

/* A mask [batch], the lengths; [batch, keys]; or [batch, queries, keys]: numbers that are added. */
static gantry_status_t read_contrib_mask(gantry__onnx_call_t *call, const gantry_tensor_t *mask,
                                         int64_t batch, int64_t keys, gantry_dtype_t dtype,
                                         const gantry_tensor_t **out) {
    gantry_scope_t *scope = call->scope;
    *out = NULL;
    if (!mask) return GANTRY_OK;
    GANTRY__TRY(gantry__onnx_need_shape(call, mask));
    const gantry_shape_t *shape = gantry_tensor_shape(mask);
    if (shape->rank == 1 && shape->dims[0] == batch) {
        *out = hide_unseen(call, within_lengths(call, mask, keys), dtype);
        return gantry_scope_status(scope);
    }
    const gantry_shape_t wide =
        shape->rank == 2 ? GANTRY_SHAPE(shape->dims[0], 1, 1, shape->dims[1])
                         : GANTRY_SHAPE(shape->dims[0], 1, shape->dims[1], shape->dims[2]);
    if ((shape->rank != 2 && shape->rank != 3) || shape->dims[shape->rank - 1] != keys)
        return gantry__onnx_unsupported(
            call, "a mask of rank %d whose last size is %lld", shape->rank,
            (long long)(shape->rank ? shape->dims[shape->rank - 1] : 0));
    const gantry_tensor_t *zero = gantry__onnx_make_scalar(call, gantry_tensor_dtype(mask), 0);
    const gantry_tensor_t *seen =
        gantry_tensor_dtype(mask) == GANTRY_BOOL ? mask : gantry_greater(scope, mask, zero);
    *out = hide_unseen(call, gantry_reshape(scope, seen, wide), dtype);
    return gantry_scope_status(scope);
}

/* Sets the mask: what hides keys and a bias, either of which may be missing. */
static gantry_status_t set_contrib_mask(gantry__onnx_attention_t *attention,
                                        const gantry_tensor_t *mask, const gantry_tensor_t *bias) {
    gantry__onnx_call_t *call = attention->call;
    GANTRY__TRY(gantry__onnx_check_attention(attention));
    const int64_t batch = gantry_tensor_shape(attention->query)->dims[0];
    const int64_t keys =
        gantry_tensor_shape(attention->key)->dims[2] +
        (attention->past_key ? gantry_tensor_shape(attention->past_key)->dims[2] : 0);
    const gantry_tensor_t *hidden = NULL;
    GANTRY__TRY(
        read_contrib_mask(call, mask, batch, keys, gantry_tensor_dtype(attention->query), &hidden));
    attention->mask = hidden ? hidden : bias;
    if (hidden && bias) attention->mask = gantry_add(call->scope, hidden, bias);
    return gantry_scope_status(call->scope);
}

/* ---- MultiHeadAttention ---- */

/* Elements begin to begin + count - 1 of a vector. */
static const gantry_tensor_t *part_of_vector(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                             int64_t begin, int64_t count) {
    return gantry_slice(gantry__onnx_is_known(call, x) ? call->host : call->scope, x, &begin,
                        &count);
}

/* Part k of [batch, length, heads, parts, size], as [batch, length, heads * size]. */
static const gantry_tensor_t *packed_part(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                          int64_t k) {
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    const int64_t begin[5] = {0, 0, 0, k, 0};
    const int64_t size[5] = {shape->dims[0], shape->dims[1], shape->dims[2], 1, shape->dims[4]};
    return gantry_reshape(
        call->scope, gantry_slice(call->scope, x, begin, size),
        GANTRY_SHAPE(shape->dims[0], shape->dims[1], shape->dims[2] * shape->dims[4]));
}

/* Query, key and value, [batch, length, heads * size] or, key and value, with their heads apart. */
static gantry_status_t unpack_inputs(gantry__onnx_call_t *call, const gantry_tensor_t *parts[3]) {
    for (size_t i = 0; i < 3; ++i) {
        parts[i] = gantry__onnx_input(call, i);
        if (parts[i]) GANTRY__TRY(gantry__onnx_need_shape(call, parts[i]));
    }
    const int32_t query_rank = gantry_tensor_shape(parts[0])->rank;
    const int32_t key_rank = gantry_tensor_shape(parts[1])->rank;
    if (!parts[1] && query_rank == 5) {
        const gantry_tensor_t *packed = parts[0];
        for (size_t i = 0; i < 3; ++i) parts[i] = packed_part(call, packed, (int64_t)i);
    } else if (parts[1] && !parts[2] && key_rank == 5) {
        const gantry_tensor_t *packed = parts[1];
        for (size_t i = 1; i < 3; ++i) parts[i] = packed_part(call, packed, (int64_t)i - 1);
    } else if (!parts[1] || !parts[2]) {
        return gantry__onnx_invalid(call, "a query of rank %d without key or value", query_rank);
    }
    return gantry_scope_status(call->scope);
}

/* Refuses a bias of queries, keys and values that is no vector; none is accepted. */
static gantry_status_t check_bias(gantry__onnx_call_t *call, const gantry_tensor_t *bias) {
    if (!bias || gantry_tensor_shape(bias)->rank == 1) return GANTRY_OK;
    return gantry__onnx_invalid(call, "a bias of rank %d, not 1", gantry_tensor_shape(bias)->rank);
}

/* Adds the bias of queries, keys and values to them. */
static gantry_status_t add_biases(gantry__onnx_call_t *call, const gantry_tensor_t *bias,
                                  const gantry_tensor_t *parts[3]) {
    int64_t begin = 0;
    GANTRY__TRY(check_bias(call, bias));
    for (size_t i = 0; bias && i < 3; ++i) {
        const gantry_shape_t *shape = gantry_tensor_shape(parts[i]);
        if (shape->rank != 3)
            return gantry__onnx_unsupported(call, "a bias for keys whose heads are apart");
        const gantry_tensor_t *own = part_of_vector(call, bias, begin, shape->dims[2]);
        begin += shape->dims[2];
        parts[i] = gantry_add(call->scope, parts[i], own);
    }
    GANTRY__TRY(gantry_scope_status(call->host));
    return gantry_scope_status(call->scope);
}

/* Sets output, present key, present value and scores. */
static gantry_status_t set_attended(gantry__onnx_attention_t *attention) {
    gantry__onnx_call_t *call = attention->call;
    GANTRY__TRY(gantry__onnx_attend(attention));
    GANTRY__TRY(gantry__onnx_set(call, 0, gantry__onnx_join_heads(call, attention->output)));
    GANTRY__TRY(gantry__onnx_set(call, 1, attention->present_key));
    GANTRY__TRY(gantry__onnx_set(call, 2, attention->present_value));
    if (!gantry__onnx_wants(call, 3)) return GANTRY_OK;
    const gantry_tensor_t *scores = NULL;
    GANTRY__TRY(gantry__onnx_attention_scores(attention, 2, &scores));
    return gantry__onnx_set(call, 3, scores);
}

gantry_status_t gantry__onnx_check_multi_head_attention(gantry__onnx_call_t *call) {
    if (gantry__onnx_has_input(call, 8))
        return gantry__onnx_unsupported(
            call, "past_sequence_length: a cache that the op changes in its place");
    if (gantry__onnx_has_input(call, 9)) return gantry__onnx_unsupported(call, "cache_indirection");
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_multi_head_attention(gantry__onnx_call_t *call) {
    const gantry_tensor_t *parts[3];
    const int64_t heads = gantry__onnx_attr_int(call, "num_heads", 0);
    GANTRY__TRY(unpack_inputs(call, parts));
    GANTRY__TRY(add_biases(call, gantry__onnx_input(call, 3), parts));
    for (size_t i = 0; i < 3; ++i)
        if (gantry_tensor_shape(parts[i])->rank == 3)
            GANTRY__TRY(gantry__onnx_split_heads(call, parts[i], heads, &parts[i]));
    gantry__onnx_attention_t attention = {
        .call = call,
        .query = parts[0],
        .key = parts[1],
        .value = parts[2],
        .past_key = gantry__onnx_input(call, 6),
        .past_value = gantry__onnx_input(call, 7),
        .is_causal = gantry__onnx_attr_int(call, "unidirectional", 0) != 0,
        .left = -1,
        .right = -1,
        .scale = (double)gantry__onnx_attr_float(call, "scale", 0)};
    if (!attention.past_key != !attention.past_value)
        return gantry__onnx_invalid(call, "past_key and past_value must be given together");
    GANTRY__TRY(
        set_contrib_mask(&attention, gantry__onnx_input(call, 4), gantry__onnx_input(call, 5)));
    return set_attended(&attention);
}

/* ---- Attention and QAttention ---- */

/* Inputs of both, by their numbers. */
typedef struct projected_inputs_t {
    size_t mask, past, bias; /* bias SIZE_MAX: the op has none. */
} projected_inputs_t;

/* The sizes of query, key and value in a dimension that has all of them: given, or thirds. */
static gantry_status_t projected_sizes(gantry__onnx_call_t *call, int64_t whole, int64_t sizes[3]) {
    size_t count = 0;
    const int64_t *given = gantry__onnx_attr_ints(call, "qkv_hidden_sizes", &count);
    int64_t left = whole;
    GANTRY__TRY(gantry_scope_status(call->scope));
    if (!given && whole % 3 != 0)
        return gantry__onnx_invalid(call, "weights of %lld columns; multiples of 3 are accepted",
                                    (long long)whole);
    if (given && count != 3)
        return gantry__onnx_invalid(call, "qkv_hidden_sizes has %zu numbers; 3 are accepted",
                                    count);
    for (size_t i = 0; i < 3; ++i) {
        sizes[i] = given ? given[i] : whole / 3;
        left = sizes[i] < 0 || sizes[i] > left ? -1 : left - sizes[i];
    }
    if (left == 0) return GANTRY_OK;
    return gantry__onnx_invalid(call, "qkv_hidden_sizes do not have the sum %lld",
                                (long long)whole);
}

/* Cuts [batch, length, sizes] into query, key and value, with their heads apart. */
static gantry_status_t cut_projection(gantry__onnx_call_t *call, const gantry_tensor_t *all,
                                      const gantry_tensor_t *parts[3]) {
    const int64_t heads = gantry__onnx_attr_int(call, "num_heads", 0);
    int64_t sizes[3];
    GANTRY__TRY(gantry_scope_status(call->scope));
    GANTRY__TRY(gantry__onnx_need_shape(call, all));
    const gantry_shape_t *shape = gantry_tensor_shape(all);
    if (shape->rank != 3)
        return gantry__onnx_invalid(call, "an input of rank %d; 3 is accepted", shape->rank);
    GANTRY__TRY(projected_sizes(call, shape->dims[2], sizes));
    int64_t begin[3] = {0}, size[3] = {shape->dims[0], shape->dims[1], 0};
    for (size_t i = 0; i < 3; ++i) {
        size[2] = sizes[i];
        parts[i] = gantry_slice(call->scope, all, begin, size);
        begin[2] += size[2];
        GANTRY__TRY(gantry_scope_status(call->scope));
        GANTRY__TRY(gantry__onnx_split_heads(call, parts[i], heads, &parts[i]));
    }
    return GANTRY_OK;
}

/* Attention of the products of the input with the weights of queries, keys and values. */
static gantry_status_t attend_projected(gantry__onnx_call_t *call, const gantry_tensor_t *all,
                                        projected_inputs_t inputs) {
    gantry_scope_t *scope = call->scope;
    const gantry_tensor_t *parts[3], *past = gantry__onnx_input(call, inputs.past);
    GANTRY__TRY(cut_projection(call, all, parts));
    const gantry_shape_t *kept = gantry_tensor_shape(past);
    if (past && (kept->rank != 5 || kept->dims[0] != 2))
        return gantry__onnx_invalid(call, "a past of rank %d, not [2, batch, heads, length, size]",
                                    kept->rank);
    gantry__onnx_attention_t attention = {
        .call = call,
        .query = parts[0],
        .key = parts[1],
        .value = parts[2],
        .past_key = past ? gantry__onnx_row_of(scope, past, 0) : NULL,
        .past_value = past ? gantry__onnx_row_of(scope, past, 1) : NULL,
        .is_causal = gantry__onnx_attr_int(call, "unidirectional", 0) != 0,
        .left = -1,
        .right = -1,
        .scale = (double)gantry__onnx_attr_float(call, "scale", 0)};
    GANTRY__TRY(gantry_scope_status(scope));
    GANTRY__TRY(set_contrib_mask(&attention, gantry__onnx_input(call, inputs.mask),
                                 gantry__onnx_input(call, inputs.bias)));
    GANTRY__TRY(gantry__onnx_attend(&attention));
    GANTRY__TRY(gantry__onnx_set(call, 0, gantry__onnx_join_heads(call, attention.output)));
    if (!gantry__onnx_wants(call, 1)) return GANTRY_OK;
    const gantry_tensor_t *present[2] = {gantry_expand_dims(scope, attention.present_key, 0),
                                         gantry_expand_dims(scope, attention.present_value, 0)};
    return gantry__onnx_set(call, 1, gantry_concat(scope, present, 2, 0));
}

gantry_status_t gantry__onnx_check_qattention(gantry__onnx_call_t *call) {
    if (gantry__onnx_attr_int(call, "do_rotary", 0))
        return gantry__onnx_unsupported(call, "do_rotary");
    if (gantry__onnx_attr_int(call, "past_present_share_buffer", 0))
        return gantry__onnx_unsupported(call, "a past that the op changes in its place");
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_check_contrib_attention(gantry__onnx_call_t *call) {
    if (gantry__onnx_has_input(call, 6))
        return gantry__onnx_unsupported(call, "a past that the op changes in its place");
    return gantry__onnx_check_qattention(call);
}

gantry_status_t gantry__onnx_lower_contrib_attention(gantry__onnx_call_t *call) {
    const gantry_tensor_t *bias = gantry__onnx_input(call, 2);
    const gantry_tensor_t *all =
        gantry_matmul(call->scope, gantry__onnx_input(call, 0), gantry__onnx_input(call, 1), NULL);
    if (bias) all = gantry_add(call->scope, all, bias);
    return attend_projected(call, all, (projected_inputs_t){3, 4, 5});
}

gantry_status_t gantry__onnx_lower_qattention(gantry__onnx_call_t *call) {
    gantry_scope_t *scope = call->scope;
    const gantry_tensor_t *one = gantry__onnx_make_scalar(call, GANTRY_FLOAT32, 1);
    const gantry_tensor_t *factor = gantry__onnx_product_factor(call, gantry__onnx_input(call, 3),
                                                                gantry__onnx_input(call, 4), one);
    const gantry_tensor_t *all =
        gantry__onnx_integer_product(call, gantry__onnx_input(call, 0), gantry__onnx_input(call, 1),
                                     gantry__onnx_input(call, 6), gantry__onnx_input(call, 7));
    all = gantry_mul(scope, gantry_cast(scope, all, GANTRY_FLOAT32), factor);
    all = gantry_add(scope, all, gantry__onnx_input(call, 2));
    return attend_projected(call, all, (projected_inputs_t){5, 8, SIZE_MAX});
}

/* ---- packed tokens ---- */

/* Whether two tokens are of one sequence, [tokens, tokens]: as many sequences end before each. */
static const gantry_tensor_t *same_sequence(gantry__onnx_call_t *call, const gantry_tensor_t *ends,
                                            int64_t tokens) {
    gantry_scope_t *scope = call->scope;
    const int32_t first = 0;
    const int64_t count = gantry_tensor_elements(ends);
    int64_t *places = gantry__onnx_scratch(call, (size_t)tokens + 1, sizeof *places);
    if (!places) return NULL;
    for (int64_t i = 0; i < tokens; ++i) places[i] = i;
    const gantry_tensor_t *row =
        gantry__onnx_make_ints(call, gantry_tensor_dtype(ends), places, (size_t)tokens);
    const gantry_tensor_t *ended =
        gantry_less_equal(scope, gantry_reshape(scope, ends, GANTRY_SHAPE(count, 1)), row);
    const gantry_reduce_options_t options = {
        .struct_size = sizeof options, .axes = &first, .axis_count = 1, .keep_dims = true};
    ended = gantry_sum(scope, gantry_cast(scope, ended, GANTRY_INT32), &options);
    return gantry_equal(scope, gantry_reshape(scope, ended, GANTRY_SHAPE(tokens, 1)), ended);
}

/* Attention of tokens [tokens, heads * size], of sequences that follow each other. */
static gantry_status_t attend_packed(gantry__onnx_call_t *call, const gantry_tensor_t *parts[3],
                                     size_t ends_input) {
    const gantry_tensor_t *ends = gantry__onnx_input(call, ends_input);
    const int64_t heads = gantry__onnx_attr_int(call, "num_heads", 0);
    gantry__onnx_attention_t attention = {
        .call = call,
        .left = -1,
        .right = -1,
        .scale = (double)gantry__onnx_attr_float(call, "scale", 0)};
    const gantry_tensor_t **heads_of[3] = {&attention.query, &attention.key, &attention.value};
    if (!ends) return gantry__onnx_invalid(call, "cumulative_sequence_length is missing");
    GANTRY__TRY(gantry__onnx_need_shape(call, ends));
    for (size_t i = 0; i < 3; ++i) {
        const gantry_tensor_t *x = gantry_expand_dims(call->scope, parts[i], 0);
        GANTRY__TRY(gantry_scope_status(call->scope));
        GANTRY__TRY(gantry__onnx_split_heads(call, x, heads, heads_of[i]));
    }
    GANTRY__TRY(gantry__onnx_check_attention(&attention));
    attention.mask = same_sequence(call, ends, gantry_tensor_shape(attention.query)->dims[2]);
    GANTRY__TRY(gantry_scope_status(call->scope));
    GANTRY__TRY(gantry__onnx_attend(&attention));
    const gantry_tensor_t *y = gantry__onnx_join_heads(call, attention.output);
    return gantry__onnx_give(call, gantry_squeeze(call->scope, y, (const int32_t[]){0}, 1));
}

/* Refuses input i, a bias of the scores. */
static gantry_status_t refuse_packed_bias(gantry__onnx_call_t *call, size_t i) {
    if (!gantry__onnx_has_input(call, i)) return GANTRY_OK;
    return gantry__onnx_unsupported(call, "attention_bias of packed tokens");
}

gantry_status_t gantry__onnx_check_packed_multi_head_attention(gantry__onnx_call_t *call) {
    return refuse_packed_bias(call, 6);
}

gantry_status_t gantry__onnx_check_packed_attention(gantry__onnx_call_t *call) {
    return refuse_packed_bias(call, 5);
}

gantry_status_t gantry__onnx_lower_packed_multi_head_attention(gantry__onnx_call_t *call) {
    const gantry_tensor_t *parts[3], *bias = gantry__onnx_input(call, 3);
    int64_t begin = 0;
    for (size_t i = 0; i < 3; ++i) {
        parts[i] = gantry__onnx_input(call, i);
        if (parts[i]) GANTRY__TRY(gantry__onnx_need_shape(call, parts[i]));
    }
    if (!parts[1] && !parts[2] && gantry_tensor_shape(parts[0])->rank == 4) {
        const gantry_tensor_t *packed = gantry_expand_dims(call->scope, parts[0], 0);
        for (size_t i = 0; i < 3; ++i)
            parts[i] = gantry_squeeze(call->scope, packed_part(call, packed, (int64_t)i),
                                      (const int32_t[]){0}, 1);
    }
    GANTRY__TRY(gantry_scope_status(call->scope));
    GANTRY__TRY(check_bias(call, bias));
    for (size_t i = 0; i < 3; ++i) {
        if (!parts[i] || gantry_tensor_shape(parts[i])->rank != 2)
            return gantry__onnx_invalid(call, "query, key and value are [tokens, hidden size]");
        const int64_t size = gantry_tensor_shape(parts[i])->dims[1];
        if (bias)
            parts[i] = gantry_add(call->scope, parts[i], part_of_vector(call, bias, begin, size));
        begin += size;
    }
    return attend_packed(call, parts, 5);
}

gantry_status_t gantry__onnx_lower_packed_attention(gantry__onnx_call_t *call) {
    gantry_scope_t *scope = call->scope;
    const gantry_tensor_t *parts[3];
    int64_t sizes[3];
    const gantry_tensor_t *all =
        gantry_matmul(scope, gantry__onnx_input(call, 0), gantry__onnx_input(call, 1), NULL);
    all = gantry_add(scope, all, gantry__onnx_input(call, 2));
    GANTRY__TRY(gantry_scope_status(scope));
    GANTRY__TRY(gantry__onnx_need_shape(call, all));
    const gantry_shape_t *shape = gantry_tensor_shape(all);
    if (shape->rank != 2)
        return gantry__onnx_invalid(call, "an input of rank %d; 2 is accepted", shape->rank);
    GANTRY__TRY(projected_sizes(call, shape->dims[1], sizes));
    int64_t begin[2] = {0}, size[2] = {shape->dims[0], 0};
    for (size_t i = 0; i < 3; ++i) {
        size[1] = sizes[i];
        parts[i] = gantry_slice(scope, all, begin, size);
        begin[1] += size[1];
    }
    GANTRY__TRY(gantry_scope_status(scope));
    return attend_packed(call, parts, 4);
}

/* ---- RotaryEmbedding ---- */

/* Places [batch, length]: given so, or the first place of all. */
static gantry_status_t read_rotary_places(gantry__onnx_call_t *call, int64_t batch, int64_t length,
                                          const gantry_tensor_t **out) {
    const gantry_tensor_t *places = gantry__onnx_input(call, 1);
    *out = places;
    if (gantry_tensor_shape(places)->rank == 2) return GANTRY_OK;
    int64_t *values = gantry__onnx_scratch(call, (size_t)length + 1, sizeof *values);
    if (!values) return GANTRY_RESOURCE_EXHAUSTED;
    for (int64_t i = 0; i < length; ++i) values[i] = i;
    const gantry_tensor_t *row =
        gantry__onnx_make_ints(call, gantry_tensor_dtype(places), values, (size_t)length);
    row = gantry_add(call->scope, row, gantry_reshape(call->scope, places, GANTRY_SHAPE(1)));
    *out = gantry_broadcast_to(call->scope, row, GANTRY_SHAPE(batch, length));
    return gantry_scope_status(call->scope);
}

/* Turns x by cosines and sines at places, or, without places, of [batch, length, half]. */
static gantry_status_t give_turned(gantry__onnx_call_t *call, const gantry_tensor_t *cosines,
                                   const gantry_tensor_t *sines, const gantry_tensor_t *places) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    const gantry_shape_t *shape = gantry_tensor_shape(x), *own = gantry_tensor_shape(cosines);
    const int64_t turned = 2 * own->dims[own->rank - 1];
    gantry_rotary_options_t options = {
        .struct_size = sizeof options,
        .interleaved = gantry__onnx_attr_int(call, "interleaved", 0) != 0,
        .num_heads = shape->rank == 3 ? gantry__onnx_attr_int(call, "num_heads", 0) : 0,
        .dim = gantry__onnx_attr_int(call, "rotary_embedding_dim", 0)};
    if (shape->rank == 3 && options.num_heads == 0 && turned > 0)
        options.num_heads = shape->dims[2] / turned;
    return gantry__onnx_give(
        call, gantry_rotary_embedding(call->scope, x, cosines, sines, places, &options));
}

gantry_status_t gantry__onnx_check_contrib_rotary(gantry__onnx_call_t *call) {
    if (!gantry__onnx_attr_int(call, "is_packed_batching", 0)) return GANTRY_OK;
    return gantry__onnx_unsupported(call, "is_packed_batching");
}

/* Refuses an input that has no heads, and a cache that is no matrix. */
static gantry_status_t check_rotary(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    const int32_t rank = gantry_tensor_shape(x)->rank;
    const int32_t cache_rank = gantry_tensor_shape(gantry__onnx_input(call, 2))->rank;
    if (rank != 3 && rank != 4)
        return gantry__onnx_invalid(call, "an input of rank %d; accepted are 3 and 4", rank);
    if (cache_rank == 2) return GANTRY_OK;
    return gantry__onnx_invalid(call, "cos_cache has rank %d, not 2", cache_rank);
}

gantry_status_t gantry__onnx_lower_contrib_rotary(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0), *places = NULL;
    GANTRY__TRY(check_rotary(call));
    if (gantry_tensor_elements(x) == 0) return gantry__onnx_give(call, x);
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    GANTRY__TRY(
        read_rotary_places(call, shape->dims[0], shape->dims[shape->rank == 3 ? 1 : 2], &places));
    return give_turned(call, gantry__onnx_input(call, 2), gantry__onnx_input(call, 3), places);
}

/* Of three places of a token each column of a cache belongs to one: *sections[i] has those of place
 * 1 + i as a bool [columns]. */
static gantry_status_t read_sections(gantry__onnx_call_t *call, int64_t columns,
                                     const gantry_tensor_t *sections[2]) {
    size_t count;
    const int64_t *sizes = gantry__onnx_attr_ints(call, "mrope_section", &count);
    const int64_t layout = gantry__onnx_attr_int(call, "mrope_layout", 0);
    int64_t *marks = gantry__onnx_scratch(call, (size_t)columns + 1, sizeof *marks);
    if (!marks) return GANTRY_RESOURCE_EXHAUSTED;
    bool fits = count == 3 && (layout == 0 || layout == 1);
    for (size_t i = 0; i < 3 && fits; ++i) fits = sizes[i] >= 0 && sizes[i] <= columns;
    if (!fits || sizes[0] + sizes[1] + sizes[2] != columns)
        return gantry__onnx_invalid(call,
                                    "mrope_section of %zu sizes for %lld columns, layout %lld; "
                                    "3 with that sum, and the layouts 0 and 1 are accepted",
                                    count, (long long)columns, (long long)layout);
    for (int64_t k = 1; k < 3; ++k) {
        const int64_t first = k == 1 ? sizes[0] : sizes[0] + sizes[1];
        for (int64_t i = 0; i < columns; ++i)
            marks[i] = layout ? i % 3 == k && i < 3 * sizes[k] : i >= first && i < first + sizes[k];
        sections[k - 1] = gantry__onnx_make_ints(call, GANTRY_BOOL, marks, (size_t)columns);
    }
    return gantry_scope_status(call->host);
}

gantry_status_t gantry__onnx_lower_sectioned_rotary(gantry__onnx_call_t *call) {
    gantry_scope_t *scope = call->scope;
    const gantry_tensor_t *places = gantry__onnx_input(call, 1), *sections[2], *caches[2];
    GANTRY__TRY(check_rotary(call));
    GANTRY__TRY(gantry__onnx_need_shape(call, gantry__onnx_input(call, 2)));
    if (gantry_tensor_shape(places)->rank != 3 || gantry_tensor_shape(places)->dims[0] != 3)
        return gantry__onnx_invalid(call, "position_ids must have the shape [3, batch, length]");
    GANTRY__TRY(
        read_sections(call, gantry_tensor_shape(gantry__onnx_input(call, 2))->dims[1], sections));
    for (size_t i = 0; i < 2; ++i) {
        const gantry_tensor_t *all =
            gantry_gather(scope, gantry__onnx_input(call, 2 + i), places, 0);
        GANTRY__TRY(gantry_scope_status(scope));
        caches[i] = gantry__onnx_row_of(scope, all, 0);
        for (int64_t k = 0; k < 2; ++k)
            caches[i] = gantry_select(scope, sections[k], gantry__onnx_row_of(scope, all, k + 1),
                                      caches[i]);
    }
    GANTRY__TRY(gantry_scope_status(scope));
    return give_turned(call, caches[0], caches[1], NULL);
}
