/* SPDX-License-Identifier: Apache-2.0 */
/* MultiHeadAttention: softmax(Q K' / sqrt(key_dim)) V for each head, of projections of its inputs.
 * Weights have Keras's shapes, [size, heads, dim], and are used as matrices [size, heads dim]. */
#include <math.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "train/layer/layer_state.h"

typedef const gantry_tensor_t tensor;

typedef struct attention_t {
    int64_t heads, key_dim, value_dim;
    double dropout;
    bool has_bias, is_causal, takes_mask;
    gantry_initializer_t kernel;
    const char
        *_Atomic why_scores; /* the newest call needed all scores in memory; NULL: it did not */
} attention_t;

/* Its inputs: query, value, key, then the attention mask, if it takes one. Without a key, the value
 * is the key, too; one input is all. */
enum { QUERY = 0, VALUE = 1, KEY = 2 };

/* Returns the number of inputs without the attention mask. */
static size_t role_count(const attention_t *a, size_t input_count) {
    return input_count - (a->takes_mask && input_count > 0 ? 1 : 0);
}

static size_t attention_input_of(size_t input_count, size_t role) {
    if (role < input_count) return role;
    return input_count - 1;
}

/* ---- weights: kernel and bias of query, key, value and output ---- */

static gantry_status_t attention_add_pair(gantry_layer_t *layer, const attention_t *a,
                                          const char *kernel, gantry_shape_t kernel_shape,
                                          const char *bias, gantry_shape_t bias_shape) {
    static const gantry_initializer_t zeros = {.struct_size = sizeof zeros};
    GANTRY__TRY(gantry_layer_add_weight(layer, kernel, kernel_shape, &a->kernel, true));
    if (!a->has_bias) return GANTRY_OK;
    return gantry_layer_add_weight(layer, bias, bias_shape, &zeros, true);
}

/* [batch, queries, keys] or [batch, heads, queries, keys]; sizes of 1 are repeated. */
static gantry_status_t check_mask(const attention_t *a, const gantry_shape_t *mask,
                                  const gantry_shape_t *scores) {
    const int32_t skipped = scores->rank - mask->rank;
    bool fits = mask->rank == 3 || mask->rank == 4;
    char text[256], wanted[256];
    for (int32_t d = 1; fits && d < mask->rank; ++d) {
        const int64_t size = mask->dims[d], all = scores->dims[mask->rank == 3 ? d + skipped : d];
        fits = size == all || size == 1 || size < 0 || all < 0;
    }
    if (fits) return GANTRY_OK;
    (void)gantry_shape_format(mask, text, sizeof text);
    (void)gantry_shape_format(scores, wanted, sizeof wanted);
    return gantry__train_refuse(
        NULL,
        "layer MultiHeadAttention: the attention mask has shape %s; a shape that repeats to %s of batch, %lld heads, queries and keys is accepted, with or without heads",
        text, wanted, (long long)a->heads);
}

static gantry_status_t attention_check_inputs(const attention_t *a, const gantry_shape_t *inputs,
                                              size_t all_count) {
    const size_t input_count = role_count(a, all_count);
    if (input_count < 1 || input_count > 3)
        return gantry__train_refuse(NULL, "layer MultiHeadAttention has %zu inputs; %s", all_count,
                                    a->takes_mask
                                        ? "2 to 4 are accepted: query, value, key, attention mask"
                                        : "1 to 3 are accepted: query, value, key");
    for (size_t i = 0; i < input_count; ++i)
        GANTRY__TRY(gantry__layer_check_rank("MultiHeadAttention", inputs + i, 1, 3, 3));
    const int64_t values = inputs[attention_input_of(input_count, VALUE)].dims[1],
                  keys = inputs[attention_input_of(input_count, KEY)].dims[1];
    if (values != keys)
        return gantry__train_refuse(
            NULL, "layer MultiHeadAttention: %lld values with %lld keys; as many keys are accepted",
            (long long)values, (long long)keys);
    if (!a->takes_mask) return GANTRY_OK;
    const gantry_shape_t scores = GANTRY_SHAPE(-1, a->heads, inputs[QUERY].dims[1], keys);
    return check_mask(a, &inputs[input_count], &scores);
}

/* Makes a kernel by its rows and columns as a matrix, because an initialiser would take the first
 * dimension as a window's size. */
static tensor *make_kernel(gantry_scope_t *s, const gantry_initializer_t *initializer,
                           gantry_dtype_t dtype, const gantry_shape_t *shape, int64_t rows) {
    const bool has_fans = initializer->kind >= GANTRY_INIT_VARIANCE_SCALING &&
                          initializer->kind <= GANTRY_INIT_LECUN_NORMAL;
    const int64_t columns = gantry_shape_elements(shape) / rows;
    if (!has_fans) return gantry_initialize(s, initializer, dtype, *shape);
    return gantry_reshape(s, gantry_initialize(s, initializer, dtype, GANTRY_SHAPE(rows, columns)),
                          *shape);
}

static tensor *make_input_kernel(gantry_scope_t *s, const gantry_initializer_t *initializer,
                                 gantry_dtype_t dtype, const gantry_shape_t *shape) {
    return make_kernel(s, initializer, dtype, shape, shape->dims[0]);
}

static tensor *make_output_kernel(gantry_scope_t *s, const gantry_initializer_t *initializer,
                                  gantry_dtype_t dtype, const gantry_shape_t *shape) {
    return make_kernel(s, initializer, dtype, shape, shape->dims[0] * shape->dims[1]);
}

/* Keras's initialiser takes a seed when the layer is made, and a copy of it another one for each
 * kernel. The generator of dropout is made before the last kernel. */
static void refine_kernels(gantry_layer_t *layer, const attention_t *a) {
    const size_t each = a->has_bias ? 2 : 1, output = 3 * each;
    for (size_t i = 0; i < output; i += each) layer->weights[i].make = make_input_kernel;
    layer->weights[output].make = make_output_kernel;
    layer->weights[0].seeds_before = gantry__layer_takes_seed(&layer->weights[0]) ? 1 : 0;
    layer->weights[output].seeds_before = a->dropout > 0 ? 1 : 0;
}

static gantry_status_t attention_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                       size_t all_count, void *user) {
    const attention_t *a = user;
    const size_t input_count = role_count(a, all_count);
    GANTRY__TRY(attention_check_inputs(a, inputs, all_count));
    const int64_t query = inputs[QUERY].dims[2],
                  key = inputs[attention_input_of(input_count, KEY)].dims[2],
                  value = inputs[attention_input_of(input_count, VALUE)].dims[2];
    const gantry_shape_t key_bias = GANTRY_SHAPE(a->heads, a->key_dim),
                         value_bias = GANTRY_SHAPE(a->heads, a->value_dim);
    GANTRY__TRY(attention_add_pair(layer, a, "query/kernel",
                                   GANTRY_SHAPE(query, a->heads, a->key_dim), "query/bias",
                                   key_bias));
    GANTRY__TRY(attention_add_pair(layer, a, "key/kernel", GANTRY_SHAPE(key, a->heads, a->key_dim),
                                   "key/bias", key_bias));
    GANTRY__TRY(attention_add_pair(layer, a, "value/kernel",
                                   GANTRY_SHAPE(value, a->heads, a->value_dim), "value/bias",
                                   value_bias));
    GANTRY__TRY(attention_add_pair(layer, a, "attention_output/kernel",
                                   GANTRY_SHAPE(a->heads, a->value_dim, query),
                                   "attention_output/bias", GANTRY_SHAPE(query)));
    refine_kernels(layer, a);
    return GANTRY_OK;
}

/* ---- a call ---- */

/* Exchanges heads and places. */
static const int32_t swap_heads[] = {0, 2, 1, 3};

/* rows kernel + bias, for the pair of weights `pair`. */
static tensor *project(const gantry_layer_call_t *call, tensor *rows, size_t pair, int64_t from,
                       int64_t to) {
    const bool has_bias = call->weight_count == 8;
    gantry_scope_t *s = call->scope;
    tensor *kernel = call->weights[has_bias ? 2 * pair : pair];
    tensor *y = gantry_matmul(s, rows, gantry_reshape(s, kernel, GANTRY_SHAPE(from, to)), NULL);
    if (!has_bias) return y;
    return gantry_bias_add(s, y, gantry_reshape(s, call->weights[2 * pair + 1], GANTRY_SHAPE(to)));
}

/* [batch, length, size] to [batch, heads, length, dim]. */
static tensor *to_heads(const gantry_layer_call_t *call, tensor *x, size_t pair, int64_t heads,
                        int64_t dim) {
    gantry_scope_t *s = call->scope;
    const gantry_shape_t shape = *gantry_tensor_shape(x);
    tensor *rows = gantry_reshape(s, x, GANTRY_SHAPE(-1, shape.dims[2]));
    tensor *y = project(call, rows, pair, shape.dims[2], heads * dim);
    return gantry_transpose(s, gantry_reshape(s, y, GANTRY_SHAPE(-1, shape.dims[1], heads, dim)),
                            swap_heads);
}

/* Numbers 0, 1, ... of this shape. */
static tensor *count_up(gantry_scope_t *s, int64_t count, gantry_shape_t shape) {
    tensor *numbers = gantry_range(s, gantry_scalar_i32(s, 0), gantry_scalar_i32(s, (int32_t)count),
                                   gantry_scalar_i32(s, 1));
    return gantry_reshape(s, numbers, shape);
}

/* A query sees the keys up to its own place. */
static tensor *see_earlier(gantry_scope_t *s, tensor *scores) {
    const gantry_shape_t *shape = gantry_tensor_shape(scores);
    const int64_t queries = shape->dims[2], keys = shape->dims[3];
    return gantry_greater_equal(s, count_up(s, queries, GANTRY_SHAPE(queries, 1)),
                                count_up(s, keys, GANTRY_SHAPE(1, keys)));
}

/* Joins two masks by and. Either may be NULL: then all keys are seen. */
static tensor *see_both(gantry_scope_t *s, tensor *a, tensor *b) {
    return a && b ? gantry_logical_and(s, a, b) : a ? a : b;
}

/* A mask [batch, n] with its n at `axis` of the scores. */
static tensor *mask_at(gantry_scope_t *s, tensor *mask, int64_t axis) {
    if (!mask) return NULL;
    const int64_t n = gantry_tensor_shape(mask)->dims[1];
    return gantry_reshape(s, mask,
                          axis == 2 ? GANTRY_SHAPE(-1, 1, n, 1) : GANTRY_SHAPE(-1, 1, 1, n));
}

/* The attention mask, of any type, for all heads. */
static tensor *given_mask(gantry_scope_t *s, tensor *mask) {
    if (gantry_tensor_dtype(mask) != GANTRY_BOOL) mask = gantry_cast(s, mask, GANTRY_BOOL);
    return mask && gantry_tensor_shape(mask)->rank == 3 ? gantry_expand_dims(s, mask, 1) : mask;
}

/* Booleans that broadcast to the scores [batch, heads, queries, keys]; NULL: all is seen. A query
 * sees no key where `rows` is false, whose last size is 1. They are apart, because together they
 * would be as large as the scores of a head. */
typedef struct seen_t {
    tensor *rows, *keys;
} seen_t;

/* What masks let a query see, without the order of causal attention. */
static seen_t find_seen(const gantry_layer_call_t *call, const attention_t *a) {
    gantry_scope_t *s = call->scope;
    tensor *const *masks = call->masks;
    const size_t count = role_count(a, call->input_count);
    seen_t seen = {mask_at(s, masks[QUERY], 2),
                   mask_at(s, masks[attention_input_of(count, VALUE)], 3)};
    if (count > KEY) seen.keys = see_both(s, seen.keys, mask_at(s, masks[KEY], 3));
    tensor *given = a->takes_mask ? given_mask(s, call->inputs[count]) : NULL;
    if (!given) return seen;
    tensor **side = gantry_tensor_shape(given)->dims[3] == 1 ? &seen.rows : &seen.keys;
    *side = see_both(s, *side, given);
    return seen;
}

/* The parts of the keys, which add up to 1. As in Keras, a query that sees none takes the same part
 * of all; with dropout, none. */
static tensor *weigh_keys(const gantry_layer_call_t *call, const attention_t *a, tensor *scores) {
    gantry_scope_t *s = call->scope;
    if (!scores) return NULL;
    const gantry_dtype_t dtype = gantry_tensor_dtype(scores);
    const seen_t masks = find_seen(call, a);
    tensor *masked = see_both(s, masks.rows, masks.keys), *seen = masked;
    if (a->is_causal) seen = see_both(s, seen, see_earlier(s, scores));
    if (seen) scores = gantry_select(s, seen, scores, gantry__train_constant(s, dtype, -1e9));
    tensor *parts = gantry_softmax(s, scores);
    if (masked && a->dropout > 0)
        parts = gantry_select(s, seen, parts, gantry__train_constant(s, dtype, 0));
    return gantry__layer_dropout(call, parts, a->dropout);
}

/* The values, mixed by products and a softmax of all scores. */
static tensor *mix_by_scores(const gantry_layer_call_t *call, const attention_t *a, tensor *q,
                             tensor *k, tensor *v) {
    static const gantry_matmul_options_t by_rows = {.transpose_b = true};
    gantry_scope_t *s = call->scope;
    tensor *scale = gantry__train_constant(s, gantry_tensor_dtype(q), 1 / sqrt((double)a->key_dim));
    tensor *scores = gantry_matmul(s, gantry_mul(s, q, scale), k, &by_rows);
    return gantry_matmul(s, weigh_keys(call, a, scores), v, NULL);
}

/* ScaledDotProductAttention gives zeros to a query that sees no key. As in Keras, it takes the same
 * part of all values here; with dropout, none. sums: the op's log_sum_exp. */
static tensor *fill_blind(gantry_scope_t *s, const attention_t *a, const seen_t *seen, tensor *v,
                          tensor *mixed, tensor *sums) {
    static const int32_t keys_axis[] = {2};
    static const gantry_reduce_options_t over_keys = {
        .axes = keys_axis, .axis_count = 1, .keep_dims = true};
    tensor *sees = seen->rows;
    if (!mixed || (a->dropout > 0 && !sees)) return mixed;
    if (a->dropout > 0)
        return gantry_select(s, sees, mixed,
                             gantry__train_constant(s, gantry_tensor_dtype(mixed), 0));
    if (seen->keys) {
        tensor *lowest = gantry__train_constant(s, gantry_tensor_dtype(sums), -INFINITY);
        tensor *sees_key = gantry_expand_dims(s, gantry_not_equal(s, sums, lowest), -1);
        sees = see_both(s, sees, sees_key);
    }
    return gantry_select(s, sees, mixed, gantry_mean(s, v, &over_keys));
}

/* The same values by ScaledDotProductAttention, whose memory does not grow with the scores. */
static tensor *mix_by_op(const gantry_layer_call_t *call, const attention_t *a, tensor *q,
                         tensor *k, tensor *v) {
    gantry_scope_t *s = call->scope;
    const seen_t seen = find_seen(call, a);
    const gantry_scaled_attention_options_t options = {
        .struct_size = sizeof options, .mask = seen.keys, .is_causal = a->is_causal};
    tensor *outputs[4] = {NULL};
    (void)gantry_scaled_dot_product_attention(s, q, k, v, &options, outputs);
    if (!seen.rows && !seen.keys) return outputs[0];
    return fill_blind(s, a, &seen, v, outputs[0], outputs[3]);
}

/* The scores of a head from which on ScaledDotProductAttention takes no more time than products and
 * a softmax do. */
#define MANY_SCORES (INT64_C(1) << 18)
/* The elements of a head that the op accepts. */
#define MOST_ELEMENTS 1024

/* Why a call needs all scores in memory; NULL: it does not. */
static const char *why_scores(const gantry_layer_call_t *call, const attention_t *a, tensor *q,
                              tensor *k) {
    const int64_t queries = gantry_tensor_shape(q)->dims[2], keys = gantry_tensor_shape(k)->dims[2];
    if (a->dropout > 0 && call->training) return "dropout takes weights away from keys";
    if (a->key_dim > MOST_ELEMENTS || a->value_dim > MOST_ELEMENTS)
        return "a head has more than 1,024 elements";
    if (queries < 1 || keys < (MANY_SCORES + queries - 1) / queries)
        return "a head has fewer than 262,144 scores";
    return NULL;
}

/* The values, mixed by the parts of the keys: [batch, heads, queries, value_dim]. */
static tensor *mix_values(const gantry_layer_call_t *call, attention_t *a, tensor *q, tensor *k,
                          tensor *v) {
    const char *why = why_scores(call, a, q, k);
    a->why_scores = why;
    return why ? mix_by_scores(call, a, q, k, v) : mix_by_op(call, a, q, k, v);
}

static tensor *attention_call(const gantry_layer_call_t *call, void *user) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    attention_t *a = user;
    gantry_scope_t *s = call->scope;
    tensor *const *x = call->inputs, *query = x[QUERY];
    const size_t count = role_count(a, call->input_count);
    const gantry_shape_t shape = *gantry_tensor_shape(query);
    const int64_t width = a->heads * a->value_dim;
    tensor *q = to_heads(call, query, 0, a->heads, a->key_dim);
    tensor *k = to_heads(call, x[attention_input_of(count, KEY)], 1, a->heads, a->key_dim);
    tensor *v = to_heads(call, x[attention_input_of(count, VALUE)], 2, a->heads, a->value_dim);
    if (gantry_scope_status(s) != GANTRY_OK) return NULL;
    tensor *mixed = gantry_transpose(s, mix_values(call, a, q, k, v), swap_heads);
    tensor *y =
        project(call, gantry_reshape(s, mixed, GANTRY_SHAPE(-1, width)), 3, width, shape.dims[2]);
    return gantry_reshape(s, y, GANTRY_SHAPE(-1, shape.dims[1], shape.dims[2]));
}

/* ---- the constructor ---- */

static bool check_numbers(const attention_t *a) {
    if (a->heads <= 0 || a->key_dim <= 0 || a->value_dim <= 0)
        (void)gantry__train_refuse(NULL,
                                   "layer MultiHeadAttention: %lld heads of key_dim %lld and "
                                   "value_dim %lld; positive numbers are accepted",
                                   (long long)a->heads, (long long)a->key_dim,
                                   (long long)a->value_dim);
    else if (!(a->dropout >= 0 && a->dropout < 1))
        (void)gantry__train_refuse(
            NULL, "layer MultiHeadAttention: dropout is %g; [0, 1) is accepted", a->dropout);
    else
        return true;
    return false;
}

gantry_layer_t *gantry_multi_head_attention(int64_t heads, int64_t key_dim,
                                            const gantry_attention_options_t *options) {
    static const gantry_layer_kind_t kind = GANTRY__LAYER_KIND(
        "MultiHeadAttention", attention_build, attention_call, .passes_masks = true);
    gantry_attention_options_t o;
    if (gantry__struct_read(options, sizeof o, &o, sizeof o, "gantry_attention_options_t") !=
        GANTRY_OK)
        return NULL;
    attention_t a = {.heads = heads,
                     .key_dim = key_dim,
                     .value_dim = o.value_dim ? o.value_dim : key_dim,
                     .dropout = o.dropout,
                     .has_bias = !o.no_bias,
                     .is_causal = o.causal,
                     .takes_mask = o.attention_mask};
    if (!check_numbers(&a) ||
        !gantry__layer_initializer(o.kernel_initializer, GANTRY_INIT_GLOROT_UNIFORM, &a.kernel))
        return NULL;
    gantry_layer_t *layer = gantry__layer_make(&kind, sizeof a, o.name);
    if (!layer) return NULL;
    *(attention_t *)layer->user = a;
    layer->applied.ends_masks = true;
    layer->applied.repeats_first = o.attention_mask ? 2 : 1;
    return layer;
}

const char *gantry_attention_why_scores(const gantry_layer_t *layer) {
    const bool is_attention = layer && layer->kind.call == attention_call;
    return is_attention ? ((const attention_t *)layer->user)->why_scores : NULL;
}
