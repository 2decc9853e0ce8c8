/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft: GroupQueryAttention with a cache of keys and values. The cache has room for the
 * longest sequence, or exactly for the past; new keys come after the valid ones of each element of
 * the batch, of which seqlens_k has the last place. */
#include "onnx/lower/lower_attention.h"

#include <string.h>

#include <gantry/ops.h>

#include "onnx/lower/lower_contrib.h"
#include "onnx/lower/lower_quantize.h"
#include "onnx/lower/lower_steps.h"
#include "onnx/lower/parts.h"

/* A node. */
typedef struct group_t {
    gantry__onnx_call_t *call;
    int64_t heads, key_heads, batch, queries, size;
    int64_t total;                   /* Keys with the new ones, of the longest element. */
    int64_t room;                    /* Of the cache. */
    bool is_first;                   /* There is no past. */
    const gantry_tensor_t *lengths;  /* [batch] of int64: valid keys, the new ones among them. */
    const gantry_tensor_t *begin;    /* [batch] of int64: the place of the first new one. */
    const gantry_tensor_t *parts[3]; /* Query, key and value: [batch, queries, heads * size]. */
} group_t;

/* A cache of keys or of values. */
typedef struct group_cache_t {
    const gantry_tensor_t *past;   /* NULL: none. */
    const gantry_tensor_t *scale;  /* NULL: it is not quantised. */
    gantry__onnx_quantized_t type; /* Of the quantised numbers; those of 4 bits are in pairs. */
} group_cache_t;

gantry_status_t gantry__onnx_check_group_query_attention(gantry__onnx_call_t *call) {
    if (gantry__onnx_has_input(call, 16))
        return gantry__onnx_unsupported(call, "the input query_seqlens");
    if (gantry__onnx_attr_int(call, "sliding_window_cache", 0))
        return gantry__onnx_unsupported(call, "sliding_window_cache");
    if (gantry__onnx_has_input(call, 14) != gantry__onnx_has_input(call, 15))
        return gantry__onnx_invalid(call, "q_norm_weight and k_norm_weight must be given together");
    return GANTRY_OK;
}

/* The cache of keys, 0, or of values, 1. */
static gantry_status_t read_group_cache(gantry__onnx_call_t *call, size_t i, group_cache_t *cache) {
    const char *kind = gantry__onnx_attr_text(call, i ? "v_quant_type" : "k_quant_type", "NONE");
    const int64_t bits = gantry__onnx_attr_int(call, "kv_cache_bit_width", 0);
    *cache = (group_cache_t){.past = gantry__onnx_input(call, 3 + i)};
    if (strcmp(kind, "NONE") == 0) return GANTRY_OK;
    if (strcmp(kind, "PER_TENSOR") != 0 && strcmp(kind, "PER_CHANNEL") != 0)
        return gantry__onnx_invalid(
            call, "a cache of kind '%s'; accepted are NONE, PER_TENSOR and PER_CHANNEL", kind);
    if (bits != 0 && bits != 4 && bits != 8)
        return gantry__onnx_invalid(call, "kv_cache_bit_width is %lld; 4 and 8 are accepted",
                                    (long long)bits);
    cache->scale = gantry__onnx_input(call, 12 + i);
    if (!cache->scale || !cache->past)
        return gantry__onnx_invalid(call, "a quantised cache needs its scale and the past");
    if (bits == 4) {
        if (gantry_tensor_dtype(cache->past) != GANTRY_UINT8)
            return gantry__onnx_invalid(call, "a cache of 4 bits of type %s, not uint8",
                                        gantry_dtype_name(gantry_tensor_dtype(cache->past)));
        return gantry__onnx_quantized(call, 22, &cache->type);
    }
    return gantry__onnx_quantized_as(call, 3 + i, &cache->type);
}

/* Query, key and value, which may come as one. */
static gantry_status_t unpack_group(group_t *group) {
    gantry__onnx_call_t *call = group->call;
    for (size_t i = 0; i < 3; ++i) group->parts[i] = gantry__onnx_input(call, i);
    GANTRY__TRY(gantry__onnx_need_shape(call, group->parts[0]));
    const gantry_shape_t *shape = gantry_tensor_shape(group->parts[0]);
    const bool is_packed = !group->parts[1];
    if (shape->rank != 3 || group->heads < 1 || group->heads > shape->dims[2] ||
        group->key_heads < 1 || group->key_heads > shape->dims[2])
        return gantry__onnx_invalid(call, "%lld heads of queries and %lld of keys for rank %d",
                                    (long long)group->heads, (long long)group->key_heads,
                                    shape->rank);
    const int64_t all = is_packed ? group->heads + 2 * group->key_heads : group->heads;
    if (shape->dims[2] % all != 0)
        return gantry__onnx_invalid(call, "%lld heads of queries and %lld of keys",
                                    (long long)group->heads, (long long)group->key_heads);
    if (gantry_tensor_elements(group->parts[0]) == 0)
        return gantry__onnx_unsupported(call, "queries without elements");
    group->batch = shape->dims[0];
    group->queries = shape->dims[1];
    group->size = shape->dims[2] / all;
    const gantry_tensor_t *packed = group->parts[0];
    int64_t begin[3] = {0}, size[3] = {group->batch, group->queries, 0};
    for (size_t i = 0; is_packed && i < 3; ++i) {
        size[2] = (i ? group->key_heads : group->heads) * group->size;
        group->parts[i] = gantry_slice(call->scope, packed, begin, size);
        begin[2] += size[2];
    }
    if (!group->parts[2]) return gantry__onnx_invalid(call, "value is missing");
    return gantry_scope_status(call->scope);
}

/* The places of the first new rows: a place at which they would not fit into the room is an index
 * outside of the table of places, which fails the run. */
static gantry_status_t check_new_places(group_t *group) {
    gantry__onnx_call_t *call = group->call;
    const int64_t count = group->room - group->queries + 1;
    int64_t *places = gantry__onnx_scratch(call, (size_t)count, sizeof *places);
    if (!places) return GANTRY_RESOURCE_EXHAUSTED;
    for (int64_t i = 0; i < count; ++i) places[i] = i;
    const gantry_tensor_t *table =
        gantry__onnx_make_ints(call, GANTRY_INT64, places, (size_t)count);
    group->begin = gantry_gather(call->scope, table, group->begin, 0);
    return gantry_scope_status(call->scope);
}

/* Lengths and the room. A batch of one element has all keys, so that its places are known. */
static gantry_status_t read_lengths_of(group_t *group) {
    gantry__onnx_call_t *call = group->call;
    const gantry_tensor_t *past = gantry__onnx_input(call, 3);
    if (!past != !gantry__onnx_input(call, 4))
        return gantry__onnx_invalid(call, "past_key and past_value must be given together");
    for (size_t i = 3; i < 5; ++i) {
        const gantry_tensor_t *cache = gantry__onnx_input(call, i);
        if (cache) GANTRY__TRY(gantry__onnx_need_shape(call, cache));
        if (cache && gantry_tensor_shape(cache)->rank != 4)
            return gantry__onnx_invalid(call, "a cache of rank %d, not 4",
                                        gantry_tensor_shape(cache)->rank);
    }
    GANTRY__TRY(gantry__onnx_get_int(call, 6, "total_sequence_length", 0, &group->total));
    const int64_t kept = past ? gantry_tensor_shape(past)->dims[2] : 0;
    group->room = kept > group->total ? kept : group->total;
    group->is_first = group->queries == group->total;
    if (group->total < group->queries)
        return gantry__onnx_invalid(call, "total_sequence_length is %lld for %lld queries",
                                    (long long)group->total, (long long)group->queries);
    if (group->batch == 1) {
        const int64_t begin = group->total - group->queries;
        group->lengths = gantry__onnx_make_ints(call, GANTRY_INT64, &group->total, 1);
        group->begin = gantry__onnx_make_ints(call, GANTRY_INT64, &begin, 1);
        return gantry_scope_status(call->host);
    }
    gantry_scope_t *scope = call->scope;
    const gantry_tensor_t *last =
        gantry_reshape(scope, gantry_cast(scope, gantry__onnx_input(call, 5), GANTRY_INT64),
                       GANTRY_SHAPE(group->batch));
    group->lengths = gantry_add(scope, last, gantry_scalar_i64(call->host, 1));
    group->begin = group->is_first ? gantry_zeros(scope, GANTRY_INT64, GANTRY_SHAPE(group->batch))
                                   : gantry_sub(scope, group->lengths,
                                                gantry_scalar_i64(call->host, group->queries));
    return group->is_first ? gantry_scope_status(scope) : check_new_places(group);
}

/* Normalises each head of queries and keys. */
static gantry_status_t norm_parts(group_t *group) {
    static const char *const names[2] = {"q_norm_epsilon", "k_norm_epsilon"};
    gantry__onnx_call_t *call = group->call;
    for (size_t i = 0; i < 2 && gantry__onnx_input(call, 14); ++i) {
        const float both = gantry__onnx_attr_float(call, "qk_norm_epsilon", 1e-6f);
        const gantry_shape_t shape = *gantry_tensor_shape(group->parts[i]);
        const gantry_tensor_t *x = gantry_reshape(
            call->scope, group->parts[i],
            GANTRY_SHAPE(group->batch, -1, i ? group->key_heads : group->heads, group->size));
        x = gantry_rms_norm(call->scope, x, gantry__onnx_input(call, 14 + i), -1,
                            (double)gantry__onnx_attr_float(call, names[i], both));
        group->parts[i] = gantry_reshape(call->scope, x, shape);
        GANTRY__TRY(gantry_scope_status(call->scope));
    }
    return GANTRY_OK;
}

/* Turns queries and keys by their places. */
static gantry_status_t turn_parts(group_t *group) {
    gantry__onnx_call_t *call = group->call;
    gantry_scope_t *scope = call->scope;
    if (!gantry__onnx_attr_int(call, "do_rotary", 0)) return GANTRY_OK;
    const gantry_tensor_t *cosines = gantry__onnx_input(call, 7);
    const gantry_tensor_t *sines = gantry__onnx_input(call, 8);
    const gantry_tensor_t *places = gantry__onnx_input(call, 9);
    if (!cosines || !sines)
        return gantry__onnx_invalid(call, "do_rotary needs cos_cache and sin_cache");
    if (!places) {
        int64_t *values = gantry__onnx_scratch(call, (size_t)group->queries + 1, sizeof *values);
        if (!values) return GANTRY_RESOURCE_EXHAUSTED;
        for (int64_t i = 0; i < group->queries; ++i) values[i] = i;
        places = gantry_add(
            scope, gantry__onnx_make_ints(call, GANTRY_INT64, values, (size_t)group->queries),
            gantry_reshape(scope, group->begin, GANTRY_SHAPE(group->batch, 1)));
    }
    const int64_t turned = 2 * gantry_tensor_shape(cosines)->dims[1];
    for (size_t i = 0; i < 2; ++i) {
        const gantry_rotary_options_t options = {
            .struct_size = sizeof options,
            .interleaved = gantry__onnx_attr_int(call, "rotary_interleaved", 0) != 0,
            .num_heads = i ? group->key_heads : group->heads,
            .dim = turned == group->size ? 0 : turned};
        group->parts[i] =
            gantry_rotary_embedding(scope, group->parts[i], cosines, sines, places, &options);
    }
    return gantry_scope_status(scope);
}

/* The new rows of one element written into its cache. */
static const gantry_tensor_t *write_element(const group_t *group, const gantry_tensor_t *cache,
                                            const gantry_tensor_t *rows, int64_t element) {
    gantry_scope_t *scope = group->call->scope;
    const gantry_shape_t *from = gantry_tensor_shape(cache), *new = gantry_tensor_shape(rows);
    const int64_t begin[4] = {element, 0, 0, 0}, one = 1;
    const int64_t cache_size[4] = {1, from->dims[1], from->dims[2], from->dims[3]};
    const int64_t row_size[4] = {1, new->dims[1], new->dims[2], new->dims[3]};
    if (group->batch > 1) {
        cache = gantry_slice(scope, cache, begin, cache_size);
        rows = gantry_slice(scope, rows, begin, row_size);
    }
    const gantry_tensor_t *zeros = gantry_zeros(scope, GANTRY_INT64, GANTRY_SHAPE(2));
    const gantry_tensor_t *last = gantry_zeros(scope, GANTRY_INT64, GANTRY_SHAPE(1));
    const gantry_tensor_t *starts[3] = {zeros, gantry_slice(scope, group->begin, &element, &one),
                                        last};
    return gantry_dynamic_update_slice(scope, cache, rows, gantry_concat(scope, starts, 3, 0));
}

/* The cache with the new rows [batch, heads, queries, size]. */
static gantry_status_t write_cache(const group_t *group, const gantry_tensor_t *past,
                                   const gantry_tensor_t *rows, const gantry_tensor_t **out) {
    gantry__onnx_call_t *call = group->call;
    gantry_scope_t *scope = call->scope;
    const int64_t kept = past ? gantry_tensor_shape(past)->dims[2] : 0;
    *out = rows;
    if (kept == 0 && group->room == group->queries) return GANTRY_OK;
    if (group->batch == 1 && kept + group->queries == group->total) {
        const gantry_tensor_t *parts[2] = {past, rows};
        *out = gantry_concat(scope, parts, 2, 2);
        return gantry_scope_status(scope);
    }
    const gantry_shape_t shape = GANTRY_SHAPE(group->batch, group->key_heads, group->room,
                                              gantry_tensor_shape(rows)->dims[3]);
    const int64_t paddings[8] = {0, 0, 0, 0, 0, group->room - kept, 0, 0};
    const gantry_tensor_t *cache = past ? gantry_pad(scope, past, paddings, NULL)
                                        : gantry_zeros(scope, gantry_tensor_dtype(rows), shape);
    const gantry_tensor_t **parts =
        gantry__onnx_scratch(call, (size_t)group->batch + 1, sizeof *parts);
    if (!parts) return GANTRY_RESOURCE_EXHAUSTED;
    for (int64_t i = 0; i < group->batch; ++i) {
        parts[i] = write_element(group, cache, rows, i);
        const int32_t first = 0;
        if (group->batch > 1) parts[i] = gantry_squeeze(scope, parts[i], &first, 1);
    }
    *out = group->batch == 1 ? parts[0]
                             : gantry__onnx_stack(call, parts, (size_t)group->batch, 0, false);
    return gantry_scope_status(scope);
}

/* Refuses a scale of a cache that is neither one nor one for each head and element. */
static gantry_status_t check_group_scale(const group_t *group, const group_cache_t *cache) {
    const int64_t count = gantry_tensor_elements(cache->scale);
    if (!cache->scale || count == 1 || count == group->key_heads * group->size) return GANTRY_OK;
    GANTRY__TRY(gantry__onnx_need_shape(group->call, cache->scale));
    return gantry__onnx_invalid(group->call,
                                "a scale of %lld elements for a cache of %lld heads of %lld; one, "
                                "or one for each element of a head, is accepted",
                                (long long)count, (long long)group->key_heads,
                                (long long)group->size);
}

/* A scale for each head and element, or one. */
static const gantry_tensor_t *group_scale(const group_t *group, const group_cache_t *cache) {
    gantry_scope_t *scope = gantry__onnx_scope_of(group->call, &cache->scale, 1);
    if (gantry_tensor_elements(cache->scale) == 1)
        return gantry_reshape(scope, cache->scale, GANTRY_SCALAR);
    return gantry_reshape(scope, cache->scale, GANTRY_SHAPE(group->key_heads, 1, group->size));
}

/* Writes rows to a quantised cache; *out has the cache's numbers. */
static gantry_status_t write_quantized_cache(const group_t *group, const group_cache_t *cache,
                                             const gantry_tensor_t **present,
                                             const gantry_tensor_t **out) {
    gantry__onnx_call_t *call = group->call;
    gantry_scope_t *scope = call->scope;
    const bool is_packed = cache->type.number == 22;
    const gantry_dtype_t dtype = gantry_tensor_dtype(*out);
    const gantry_tensor_t *scale = group_scale(group, cache);
    const gantry_tensor_t *rows =
        gantry__onnx_quantize(call, scope, *out, scale, NULL, &cache->type);
    if (is_packed) rows = gantry__onnx_pack_pairs(call, rows);
    GANTRY__TRY(gantry_scope_status(scope));
    GANTRY__TRY(write_cache(group, cache->past, rows, present));
    const gantry_tensor_t *x = *present;
    if (is_packed) x = gantry__onnx_unpack_bits(call, scope, x, 4);
    const gantry_tensor_t *middle = gantry__onnx_make_scalar(call, GANTRY_UINT8, 8);
    *out = gantry__onnx_dequantize(call, scope, x, scale, is_packed ? middle : NULL, dtype);
    return gantry_scope_status(scope);
}

/* Keys, 0, or values, 1, with their heads apart, and the cache in which they are then. */
static gantry_status_t write_part(const group_t *group, size_t i, const gantry_tensor_t **present,
                                  const gantry_tensor_t **out) {
    group_cache_t cache;
    GANTRY__TRY(read_group_cache(group->call, i, &cache));
    GANTRY__TRY(check_group_scale(group, &cache));
    GANTRY__TRY(gantry__onnx_split_heads(group->call, group->parts[1 + i], group->key_heads, out));
    if (cache.scale) return write_quantized_cache(group, &cache, present, out);
    GANTRY__TRY(write_cache(group, cache.past, *out, present));
    *out = *present;
    return GANTRY_OK;
}

/* Output 3, the scores, or the weights, of which a row has this share; NULL: all. */
static gantry_status_t set_group_scores(gantry__onnx_attention_t *attention,
                                        const gantry_tensor_t *share) {
    gantry__onnx_call_t *call = attention->call;
    const int64_t mode = gantry__onnx_attr_int(call, "qk_output", 0);
    const gantry_tensor_t *scores = NULL;
    if (!gantry__onnx_wants(call, 3)) return GANTRY_OK;
    if (mode != 1 && mode != 2)
        return gantry__onnx_invalid(
            call, "qk_output is %lld for the output output_qk; 1 and 2 are accepted",
            (long long)mode);
    GANTRY__TRY(gantry__onnx_attention_scores(attention, mode + 1, &scores));
    if (mode == 1) {
        const gantry_tensor_t *zero = gantry__onnx_like(call, scores, 0);
        const gantry_tensor_t *is_hidden = gantry_is_inf(call->scope, scores);
        scores = gantry_select(call->scope, is_hidden, zero, scores);
    } else if (share) {
        scores = gantry_mul(call->scope, scores,
                            gantry__onnx_cast(call, share, gantry_tensor_dtype(scores)));
    }
    return gantry__onnx_set(call, 3, scores);
}

/* The weights of a row have a sum below 1, *share: a number for each head, 0 without head_sink, is
 * in the divisor, too. */
static gantry_status_t share_with_sink(gantry__onnx_attention_t *attention,
                                       const gantry_tensor_t **share) {
    gantry__onnx_call_t *call = attention->call;
    gantry_scope_t *scope = call->scope;
    const gantry_tensor_t *sink = gantry__onnx_input(call, 11), *y = attention->output;
    *share = NULL;
    if (!sink && gantry__onnx_attr_int(call, "smooth_softmax", -1) <= 0) return GANTRY_OK;
    gantry_shape_t shape = *gantry_tensor_shape(y);
    if (sink && gantry_tensor_elements(sink) != shape.dims[1])
        return gantry__onnx_invalid(call, "head_sink has %lld elements for %lld heads",
                                    (long long)gantry_tensor_elements(sink),
                                    (long long)shape.dims[1]);
    shape.dims[3] = 1;
    const gantry_tensor_t *sums = gantry_reshape(scope, attention->log_sums, shape);
    const gantry_dtype_t dtype = gantry_tensor_dtype(sums), given = gantry_tensor_dtype(y);
    if (sink)
        sums = gantry_sub(
            scope, sums,
            gantry__onnx_cast(call, gantry_reshape(scope, sink, GANTRY_SHAPE(shape.dims[1], 1, 1)),
                              dtype));
    *share = gantry_sigmoid(scope, sums);
    y = gantry_mul(scope, gantry__onnx_cast(call, y, dtype), *share);
    attention->output = gantry__onnx_cast(call, y, given);
    return gantry_scope_status(scope);
}

gantry_status_t gantry__onnx_lower_group_query_attention(gantry__onnx_call_t *call) {
    group_t group = {.call = call,
                     .heads = gantry__onnx_attr_int(call, "num_heads", 0),
                     .key_heads = gantry__onnx_attr_int(call, "kv_num_heads", 0)};
    gantry__onnx_attention_t attention = {.call = call, .right = -1};
    const gantry_tensor_t *present[2] = {NULL}, *share = NULL;
    const int64_t window = gantry__onnx_attr_int(call, "local_window_size", -1);
    GANTRY__TRY(unpack_group(&group));
    GANTRY__TRY(read_lengths_of(&group));
    GANTRY__TRY(norm_parts(&group));
    GANTRY__TRY(turn_parts(&group));
    GANTRY__TRY(gantry__onnx_split_heads(call, group.parts[0], group.heads, &attention.query));
    GANTRY__TRY(write_part(&group, 0, &present[0], &attention.key));
    GANTRY__TRY(write_part(&group, 1, &present[1], &attention.value));
    attention.mask = gantry__onnx_input(call, 10);
    attention.lengths = group.lengths;
    attention.counts_from_lengths = !group.is_first;
    attention.is_causal = gantry__onnx_attr_int(call, "causal", 1) != 0;
    attention.left = window > 0 ? window - 1 : -1;
    attention.scale = (double)gantry__onnx_attr_float(call, "scale", 0);
    attention.softcap = (double)gantry__onnx_attr_float(call, "softcap", 0);
    GANTRY__TRY(gantry__onnx_attend(&attention));
    GANTRY__TRY(share_with_sink(&attention, &share));
    GANTRY__TRY(gantry__onnx_set(call, 0, gantry__onnx_join_heads(call, attention.output)));
    GANTRY__TRY(gantry__onnx_set(call, 1, present[0]));
    GANTRY__TRY(gantry__onnx_set(call, 2, present[1]));
    return set_group_scores(&attention, share);
}
