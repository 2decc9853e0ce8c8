/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of attention: ScaledDotProductAttention, its gradient, and the ops of the core that
 * compute them.
 *
 * query [batch, heads, queries, dim], key [batch, key_heads, keys, dim], value [batch, key_heads,
 * keys, value_dim]; tensors of three dimensions have one head, which they leave out. */
#include <float.h>

#include "op/op_infer.h"

/* Where a size is in a tensor of the given rank: a dimension from the end. */
enum { LENGTH_FROM_END = 2, DIM_FROM_END = 1 };

static int64_t size_from_end(const gantry_shape_t *shape, int32_t from_end) {
    return shape->dims[shape->rank - from_end];
}

static int64_t head_count_of(const gantry_shape_t *shape) {
    return shape->rank == 4 ? shape->dims[1] : 1;
}

static gantry_status_t check_ranks(const gantry__infer_t *call, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        const gantry_shape_t *shape = call->shapes[i];
        if ((shape->rank == 3 || shape->rank == 4) && shape->rank == call->shapes[0]->rank)
            continue;
        return gantry__refuse(
            "query, key and value must each have the shape [batch, heads, length, dim], or each [batch, length, dim], but %s has shape %s",
            call->op->inputs[i].name, gantry__shape_text(shape).text);
    }
    return GANTRY_OK;
}

static gantry_status_t check_heads(const gantry_shape_t *query, const gantry_shape_t *key) {
    const int64_t heads = head_count_of(query), key_heads = head_count_of(key);
    if (heads < 0 || key_heads < 0) return GANTRY_OK;
    if (key_heads > 0 ? heads % key_heads == 0 : heads == 0) return GANTRY_OK;
    return gantry__refuse(
        "query has %lld heads and key has %lld; a multiple of key's heads is accepted",
        (long long)heads, (long long)key_heads);
}

static gantry_status_t check_dims(const gantry_shape_t *query, const gantry_shape_t *value) {
    const int64_t dims[] = {size_from_end(query, DIM_FROM_END), size_from_end(value, DIM_FROM_END)};
    for (int i = 0; i < 2; ++i) {
        if (dims[i] <= GANTRY__ATTENTION_DIM_MOST && dims[i] != 0) continue;
        return gantry__refuse("a head of %s has %lld elements; 1 to %d are accepted",
                              i == 0 ? "query and key" : "value", (long long)dims[i],
                              GANTRY__ATTENTION_DIM_MOST);
    }
    return GANTRY_OK;
}

/* Whether all sizes of two tensors agree, except the one at a distance from the end. */
static bool agree_apart_from(const gantry_shape_t *a, const gantry_shape_t *b, int32_t from_end) {
    for (int32_t d = 0; d < a->rank; ++d) {
        if (d != a->rank - from_end && !gantry__sizes_fit(a->dims[d], b->dims[d])) return false;
    }
    return true;
}

/* Checks query, key and value, at places 0 to 2. */
static gantry_status_t check_triple(const gantry__infer_t *call) {
    const gantry_shape_t *query = call->shapes[0], *key = call->shapes[1], *value = call->shapes[2];
    GANTRY__TRY(check_ranks(call, 3));
    if (!agree_apart_from(key, value, DIM_FROM_END))
        return gantry__refuse(
            "key has shape %s and value has shape %s; shapes that differ only in the last size are accepted",
            gantry__shape_text(key).text, gantry__shape_text(value).text);
    if (!gantry__sizes_fit(query->dims[0], key->dims[0]) ||
        !gantry__sizes_fit(size_from_end(query, DIM_FROM_END), size_from_end(key, DIM_FROM_END)))
        return gantry__refuse(
            "query has shape %s and key has shape %s; the same batch and the same last size are accepted",
            gantry__shape_text(query).text, gantry__shape_text(key).text);
    GANTRY__TRY(check_heads(query, key));
    return check_dims(query, value);
}

/* The mask at `place` broadcasts to [batch, heads, queries, keys]. */
static gantry_status_t check_attention_mask(const gantry__infer_t *call, uint32_t place,
                                            int64_t keys) {
    const gantry_shape_t *mask = call->shapes[place];
    gantry_shape_t scores = *call->shapes[0];
    scores.dims[scores.rank - 1] = keys;
    bool fits = mask->rank <= scores.rank;
    for (int32_t d = 1; fits && d <= mask->rank; ++d) {
        const int64_t size = size_from_end(mask, d);
        fits = size == 1 || gantry__sizes_fit(size, size_from_end(&scores, d));
    }
    const gantry_dtype_t type = call->dtypes[place];
    if (fits && (type == GANTRY_BOOL || type == call->dtypes[0])) return GANTRY_OK;
    if (fits)
        return gantry__refuse("mask has type %s; bool and the type of query, %s, are accepted",
                              gantry_dtype_name(type), gantry_dtype_name(call->dtypes[0]));
    return gantry__refuse(
        "mask has shape %s; a shape that broadcasts to that of the scores, %s, is accepted",
        gantry__shape_text(mask).text, gantry__shape_text(&scores).text);
}

static gantry_status_t check_attention_numbers(const gantry__infer_t *call) {
    const double scale = gantry__infer_attr(call, "scale")->f,
                 softcap = gantry__infer_attr(call, "softcap")->f;
    if (!(scale - scale == 0))
        return gantry__refuse("scale is %g; a finite number is accepted, and 0 for 1 / sqrt(dim)",
                              scale);
    const bool is_double = call->dtypes[0] == GANTRY_FLOAT64;
    const double least = is_double ? DBL_MIN : (double)FLT_MIN;
    if (softcap != 0 && !(softcap >= least && softcap <= (is_double ? DBL_MAX : (double)FLT_MAX)))
        return gantry__refuse(
            "softcap is %g; a finite number above 0 is accepted, from %g on, and 0 for none",
            softcap, least);
    return GANTRY_OK;
}

/* ---- the ops of the core ---- */

static gantry_status_t check_attention_rows(const gantry__infer_t *call) {
    GANTRY__TRY(check_triple(call));
    GANTRY__TRY(check_attention_numbers(call));
    if (gantry__infer_attr(call, "has_mask")->i == 0) return GANTRY_OK;
    return check_attention_mask(call, 3, size_from_end(call->shapes[1], LENGTH_FROM_END));
}

/* Sets the shapes of the output and of the logarithms of the sums; the latter are never halves. */
static void set_attention_results(gantry__infer_t *call, uint32_t statistic) {
    const gantry_shape_t *query = call->shapes[0];
    gantry_shape_t *out = &call->out_shapes[0], *sums = &call->out_shapes[statistic];
    *out = *sums = *query;
    out->dims[out->rank - 1] = size_from_end(call->shapes[2], DIM_FROM_END);
    --sums->rank;
    call->out_dtypes[statistic] =
        call->dtypes[0] == GANTRY_FLOAT64 ? GANTRY_FLOAT64 : GANTRY_FLOAT32;
}

gantry_status_t gantry__infer_attention_rows(gantry__infer_t *call) {
    GANTRY__TRY(check_attention_rows(call));
    set_attention_results(call, 1);
    return GANTRY_OK;
}

gantry_status_t gantry__infer_attention_grad(gantry__infer_t *call) {
    GANTRY__TRY(check_attention_rows(call));
    for (int i = 0; i < 3; ++i) call->out_shapes[i] = *call->shapes[i];
    return GANTRY_OK;
}

/* ---- ScaledDotProductAttention ---- */

/* Checks the past of keys (place 4) and values (place 5), and returns its length. */
static gantry_status_t check_past(const gantry__infer_t *call, int64_t *out_length) {
    *out_length = 0;
    if (call->input_count <= 4) return GANTRY_OK;
    if (call->input_count == 5)
        return gantry__refuse("past_key is given without past_value; both or neither are accepted");
    for (uint32_t i = 0; i < 2; ++i) {
        const gantry_shape_t *past = call->shapes[4 + i], *present = call->shapes[1 + i];
        if (past->rank == present->rank && agree_apart_from(past, present, LENGTH_FROM_END))
            continue;
        return gantry__refuse("%s has shape %s; the shape of %s, %s, with any length is accepted",
                              call->op->inputs[4 + i].name, gantry__shape_text(past).text,
                              call->op->inputs[1 + i].name, gantry__shape_text(present).text);
    }
    *out_length = size_from_end(call->shapes[4], LENGTH_FROM_END);
    int64_t of_values = size_from_end(call->shapes[5], LENGTH_FROM_END);
    if (gantry__merge_sizes(out_length, of_values)) return GANTRY_OK;
    return gantry__refuse("past_key has %lld places and past_value has %lld; as many are accepted",
                          (long long)*out_length, (long long)of_values);
}

/* With a past, causal attention needs a key for each query. */
static gantry_status_t check_causal(const gantry__infer_t *call) {
    const int64_t queries = size_from_end(call->shapes[0], LENGTH_FROM_END),
                  keys = size_from_end(call->shapes[1], LENGTH_FROM_END);
    if (call->input_count <= 4 || gantry__infer_attr(call, "is_causal")->i == 0 ||
        gantry__sizes_fit(queries, keys))
        return GANTRY_OK;
    return gantry__refuse(
        "is_causal with a past has %lld queries and %lld keys; as many keys as queries are accepted",
        (long long)queries, (long long)keys);
}

gantry_status_t gantry__infer_attention(gantry__infer_t *call) {
    int64_t past;
    GANTRY__TRY(check_triple(call));
    GANTRY__TRY(check_attention_numbers(call));
    GANTRY__TRY(check_past(call, &past));
    GANTRY__TRY(check_causal(call));
    const int64_t keys = gantry__size_add(size_from_end(call->shapes[1], LENGTH_FROM_END), past);
    if (call->input_count > 3) GANTRY__TRY(check_attention_mask(call, 3, keys));
    set_attention_results(call, 3);
    for (int i = 0; i < 2; ++i) {
        call->out_shapes[1 + i] = *call->shapes[1 + i];
        call->out_shapes[1 + i].dims[call->out_shapes[1 + i].rank - LENGTH_FROM_END] = keys;
    }
    return GANTRY_OK;
}

gantry_status_t gantry__infer_attention_gradient(gantry__infer_t *call) {
    GANTRY__TRY(check_triple(call));
    GANTRY__TRY(check_attention_numbers(call));
    gantry_shape_t out = *call->shapes[0], sums = out;
    out.dims[out.rank - 1] = size_from_end(call->shapes[2], DIM_FROM_END);
    --sums.rank;
    const gantry_shape_t *const wanted[] = {&out, &sums, &out};
    for (uint32_t i = 0; i < 3; ++i) {
        if (gantry__shapes_fit(call->shapes[3 + i], wanted[i])) continue;
        return gantry__refuse("%s has shape %s; %s is accepted", call->op->inputs[3 + i].name,
                              gantry__shape_text(call->shapes[3 + i]).text,
                              gantry__shape_text(wanted[i]).text);
    }
    if (call->input_count > 6)
        GANTRY__TRY(check_attention_mask(call, 6, size_from_end(call->shapes[1], LENGTH_FROM_END)));
    for (int i = 0; i < 3; ++i) call->out_shapes[i] = *call->shapes[i];
    return GANTRY_OK;
}

/* ---- RotaryEmbedding ---- */

/* x is [batch, heads, length, size], or [batch, length, num_heads * size]. Sets the sizes of a head
 * and of its places. */
static gantry_status_t read_heads(const gantry__infer_t *call, int64_t *out_size,
                                  int64_t *out_length) {
    const gantry_shape_t *x = call->shapes[0];
    const int64_t heads = gantry__infer_attr(call, "num_heads")->i;
    if (x->rank != 3 && x->rank != 4)
        return gantry__refuse(
            "x must have the shape [batch, heads, length, size], or [batch, length, num_heads * size], got %s",
            gantry__shape_text(x).text);
    const int64_t last = x->dims[x->rank - 1];
    *out_length = x->dims[x->rank == 4 ? 2 : 1];
    *out_size = x->rank == 4 ? last : -1;
    if (x->rank == 4 && (heads == 0 || gantry__sizes_fit(x->dims[1], heads))) return GANTRY_OK;
    if (x->rank == 3 && heads >= 1 && (last < 0 || last % heads == 0)) {
        *out_size = gantry__size_divide(last, heads);
        return GANTRY_OK;
    }
    return gantry__refuse("num_heads is %lld with x of shape %s; %s", (long long)heads,
                          gantry__shape_text(x).text,
                          x->rank == 3 ? "a divisor of its last size is accepted"
                                       : "0 and the size of its dimension of heads are accepted");
}

static gantry_status_t refuse_cache(const gantry__infer_t *call, uint32_t place, const char *what) {
    return gantry__refuse("%s has shape %s; %s is accepted", call->op->inputs[place].name,
                          gantry__shape_text(call->shapes[place]).text, what);
}

/* half: the pairs that are turned, -1 if any number up to half the head's size is. */
static gantry_status_t check_caches(const gantry__infer_t *call, int64_t size, int64_t half) {
    const gantry_shape_t *cos = call->shapes[1];
    const int64_t pairs = cos->rank > 0 ? cos->dims[cos->rank - 1] : 0;
    const bool fits =
        half >= 0 ? gantry__sizes_fit(pairs, half) : size < 0 || pairs < 0 || pairs <= size / 2;
    if (!fits) return refuse_cache(call, 1, "a last size of half the elements that are turned");
    if (gantry__shapes_fit(cos, call->shapes[2])) return GANTRY_OK;
    return refuse_cache(call, 2, "the shape of cos_cache");
}

/* The first sizes of an input, without `trailing` ones: [length] or [batch, length]. */
static gantry_status_t check_places(const gantry__infer_t *call, uint32_t place, int32_t trailing,
                                    int64_t length) {
    const gantry_shape_t *shape = call->shapes[place];
    const int32_t rank = shape->rank - trailing;
    if ((rank == 1 || rank == 2) && gantry__sizes_fit(shape->dims[rank - 1], length) &&
        (rank == 1 || gantry__sizes_fit(shape->dims[0], call->shapes[0]->dims[0])))
        return GANTRY_OK;
    return refuse_cache(call, place, "a place for each of x's, with x's batch or without one");
}

gantry_status_t gantry__infer_rotary(gantry__infer_t *call) {
    int64_t size, length;
    GANTRY__TRY(read_heads(call, &size, &length));
    GANTRY__TRY(check_caches(call, size, -1));
    GANTRY__TRY(check_places(call, 1, 1, length));
    call->out_shapes[0] = *call->shapes[0];
    return GANTRY_OK;
}

gantry_status_t gantry__infer_rotary_embedding(gantry__infer_t *call) {
    const int64_t turned = gantry__infer_attr(call, "rotary_embedding_dim")->i;
    int64_t size, length;
    GANTRY__TRY(read_heads(call, &size, &length));
    const int64_t all = turned != 0 ? turned : size;
    if (turned < 0 || (all >= 0 && all % 2 != 0) || (size >= 0 && all > size))
        return gantry__refuse(
            "rotary_embedding_dim is %lld with heads of %lld elements; an even number up to that is accepted, and 0 for all of an even number",
            (long long)turned, (long long)size);
    GANTRY__TRY(check_caches(call, size, gantry__size_divide(all, 2)));
    call->out_shapes[0] = *call->shapes[0];
    if (call->input_count == 3) return check_places(call, 1, 1, length);
    if (call->shapes[1]->rank != 2)
        return refuse_cache(call, 1, "with position_ids, [positions, half]");
    return check_places(call, 3, 0, length);
}
