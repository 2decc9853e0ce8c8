/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft: GroupQueryAttention with a cache of keys and values. The cache has room for the
 * longest sequence, or exactly for the past; new keys come after the valid ones of each element of
 * the batch, of which seqlens_k has the last place. */
#include "onnx/lower/lower_attention.h"

#include <gantry/ops.h>

#include "onnx/lower/lower_contrib.h"
#include "onnx/lower/lower_steps.h"

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

/* Refuses what it does not have. */
static gantry_status_t check_group_query(gantry__onnx_call_t *call) {
    static const char *const names[] = {"head_sink",     "k_scale",       "v_scale",
                                        "q_norm_weight", "k_norm_weight", "query_seqlens"};
    for (size_t i = 0; i < 6; ++i)
        if (gantry__onnx_input(call, 11 + i))
            return gantry__onnx_unsupported(call, "the input %s", names[i]);
    if (gantry__onnx_attr_int(call, "smooth_softmax", -1) > 0)
        return gantry__onnx_unsupported(call, "smooth_softmax");
    if (gantry__onnx_wants(call, 3)) return gantry__onnx_unsupported(call, "the output output_qk");
    if (gantry__onnx_attr_int(call, "sliding_window_cache", 0))
        return gantry__onnx_unsupported(call, "sliding_window_cache");
    if (gantry__onnx_attr_int(call, "kv_cache_bit_width", 0))
        return gantry__onnx_unsupported(call, "a quantised cache");
    return GANTRY_OK;
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
    const gantry_shape_t shape =
        GANTRY_SHAPE(group->batch, group->key_heads, group->room, group->size);
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

gantry_status_t gantry__onnx_lower_group_query_attention(gantry__onnx_call_t *call) {
    group_t group = {.call = call,
                     .heads = gantry__onnx_attr_int(call, "num_heads", 0),
                     .key_heads = gantry__onnx_attr_int(call, "kv_num_heads", 0)};
    gantry__onnx_attention_t attention = {.call = call, .right = -1};
    const int64_t window = gantry__onnx_attr_int(call, "local_window_size", -1);
    GANTRY__TRY(check_group_query(call));
    GANTRY__TRY(unpack_group(&group));
    GANTRY__TRY(read_lengths_of(&group));
    GANTRY__TRY(turn_parts(&group));
    GANTRY__TRY(gantry__onnx_split_heads(call, group.parts[0], group.heads, &attention.query));
    GANTRY__TRY(gantry__onnx_split_heads(call, group.parts[1], group.key_heads, &attention.key));
    GANTRY__TRY(gantry__onnx_split_heads(call, group.parts[2], group.key_heads, &attention.value));
    GANTRY__TRY(write_cache(&group, gantry__onnx_input(call, 3), attention.key, &attention.key));
    GANTRY__TRY(
        write_cache(&group, gantry__onnx_input(call, 4), attention.value, &attention.value));
    attention.mask = gantry__onnx_input(call, 10);
    attention.lengths = group.lengths;
    attention.counts_from_lengths = !group.is_first;
    attention.is_causal = gantry__onnx_attr_int(call, "causal", 1) != 0;
    attention.left = window > 0 ? window - 1 : -1;
    attention.scale = (double)gantry__onnx_attr_float(call, "scale", 0);
    attention.softcap = (double)gantry__onnx_attr_float(call, "softcap", 0);
    GANTRY__TRY(gantry__onnx_attend(&attention));
    GANTRY__TRY(gantry__onnx_set(call, 0, gantry__onnx_join_heads(call, attention.output)));
    GANTRY__TRY(gantry__onnx_set(call, 1, attention.key));
    return gantry__onnx_set(call, 2, attention.value);
}
