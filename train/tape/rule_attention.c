/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of attention and of rotary embeddings. */
#include <math.h>

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/tape/rule_help.h"

typedef const gantry_tensor_t tensor;

enum { QUERY = 0, KEY = 1, VALUE = 2, MASK = 3, PAST_KEY = 4, PAST_VALUE = 5 };
enum { OUTPUT = 0, ALL_KEYS = 1, ALL_VALUES = 2, SUMS = 3 };

static bool rule_attention_has(const gantry__rule_call_t *c, size_t input) {
    return c->record->input_count > input;
}

static bool is_causal_attention(const gantry__rule_call_t *c) {
    return gantry__rule_attr(c, "is_causal")->i != 0;
}

/* ---- the gradient of an added mask: that of the scores, all of which are computed ---- */

/* The queries of all heads that share a head of keys are the rows of one matrix. */
static tensor *attention_rows(const gantry__rule_call_t *c, tensor *x, tensor *keys) {
    if (gantry_tensor_shape(x)->rank == 3) return x;
    const int64_t heads = gantry_tensor_shape(x)->dims[1],
                  key_heads = gantry_tensor_shape(keys)->dims[1];
    gantry__rule_size_t group = {.known = heads < 0 || key_heads < 1 ? -1 : heads / key_heads};
    if (group.known < 0)
        group.open =
            gantry_floor_div(c->scope, gantry__rule_size_tensor(c, gantry__rule_sizes(c, x, 1, 2)),
                             gantry__rule_size_tensor(c, gantry__rule_sizes(c, keys, 1, 2)));
    const gantry__rule_size_t sizes[] = {
        gantry__rule_sizes(c, x, 0, 1), gantry__rule_sizes(c, keys, 1, 2),
        gantry__rule_times(c, group, gantry__rule_sizes(c, x, 2, 3)),
        gantry__rule_sizes(c, x, 3, 4)};
    return gantry__rule_reshape_by(c, x, sizes, 4);
}

/* x times y', one row for each query. */
static tensor *attention_scores(const gantry__rule_call_t *c, tensor *x, tensor *y) {
    static const gantry_matmul_options_t by_rows = {.transpose_b = true};
    gantry_scope_t *s = c->scope;
    tensor *product = gantry_matmul(s, attention_rows(c, x, y), y, &by_rows);
    const int32_t rank = gantry_tensor_shape(x)->rank;
    gantry__rule_size_t sizes[4];
    if (rank == 3) return product;
    for (int32_t d = 0; d < 3; ++d) sizes[d] = gantry__rule_sizes(c, x, d, d + 1);
    sizes[3] = gantry__rule_sizes(c, y, 2, 3);
    return gantry__rule_reshape_by(c, product, sizes, 4);
}

/* Numbers 0, 1, ... below a size. */
static tensor *attention_places(const gantry__rule_call_t *c, tensor *x, int32_t axis) {
    gantry_scope_t *s = c->scope;
    return gantry_range(s, gantry_scalar_i32(s, 0), gantry__rule_size(c, x, axis),
                        gantry_scalar_i32(s, 1));
}

/* Whether a query sees a key, as [queries, keys]. past: how many keys the first query sees before
 * its own; NULL: none. */
static tensor *attention_seen(const gantry__rule_call_t *c, tensor *keys, tensor *past) {
    gantry_scope_t *s = c->scope;
    const int32_t axis = gantry_tensor_shape(c->x[QUERY])->rank - 2;
    tensor *last = attention_places(c, c->x[QUERY], axis);
    if (past) last = gantry_add(s, last, past);
    return gantry_greater_equal(s, gantry_expand_dims(s, last, 1), attention_places(c, keys, axis));
}

/* The attribute scale, or 1 / sqrt(dim). A dim that depends on data is computed in float64, as a
 * known one is. */
static tensor *attention_scale(const gantry__rule_call_t *c, tensor *query) {
    const double given = gantry__rule_attr(c, "scale")->f;
    const gantry_shape_t *shape = gantry_tensor_shape(query);
    const int64_t dim = shape->dims[shape->rank - 1];
    if (given < 0 || given > 0) return gantry__rule_scalar(c, query, given);
    if (dim >= 0) return gantry__rule_scalar(c, query, 1 / sqrt((double)dim));
    tensor *open = gantry__rule_size(c, query, shape->rank - 1);
    gantry_scope_t *host = gantry__train_begin_on(c->scope, "/CPU:0");
    tensor *root = gantry_sqrt(host, gantry_cast(host, open, GANTRY_FLOAT64));
    tensor *scale = gantry_div(host, gantry__train_constant(host, GANTRY_FLOAT64, 1), root);
    scale = gantry_cast(host, scale, gantry_tensor_dtype(query));
    return gantry__train_end(c->scope, host, scale);
}

/* The scores before the mask. */
static tensor *attention_raw_scores(const gantry__rule_call_t *c, tensor *query, tensor *keys) {
    gantry_scope_t *s = c->scope;
    const double cap = gantry__rule_attr(c, "softcap")->f;
    tensor *scores = attention_scores(c, gantry_mul(s, query, attention_scale(c, query)), keys);
    if (!(cap > 0)) return scores;
    tensor *limit = gantry__rule_scalar(c, query, cap);
    return gantry_mul(s, gantry_tanh(s, gantry_div(s, scores, limit)), limit);
}

/* The sum of each query's numbers. */
static tensor *sum_of_queries(const gantry__rule_call_t *c, tensor *x) {
    static const int32_t last[] = {-1};
    static const gantry_reduce_options_t over_last = {
        .axes = last, .axis_count = 1, .keep_dims = true};
    return gantry_sum(c->scope, x, &over_last);
}

static tensor *slope_as(const gantry__rule_call_t *c, tensor *x, gantry_dtype_t dtype) {
    return !x || gantry_tensor_dtype(x) == dtype ? x : gantry_cast(c->scope, x, dtype);
}

/* The weights of keys from their log_sum_exp. mask may be NULL; past as of attention_seen. */
static tensor *attention_weights(const gantry__rule_call_t *c, tensor *query, tensor *keys,
                                 tensor *mask, tensor *sums, tensor *past) {
    gantry_scope_t *s = c->scope;
    tensor *zero = gantry__rule_scalar(c, sums, 0),
           *lowest = gantry__rule_scalar(c, sums, -INFINITY);
    tensor *base = gantry_select(s, gantry_equal(s, sums, lowest), zero, sums);
    tensor *scores = attention_raw_scores(c, query, keys);
    const bool is_added = mask && gantry_tensor_dtype(mask) != GANTRY_BOOL;
    if (is_added) scores = gantry_add(s, scores, mask);
    tensor *parts = gantry_exp(s, gantry_sub(s, scores, base));
    if (mask && !is_added) parts = gantry_select(s, mask, parts, zero);
    if (!is_causal_attention(c)) return parts;
    return gantry_select(s, attention_seen(c, keys, past), parts, zero);
}

static tensor *mask_gradient(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *sums = gantry_expand_dims(s, c->y[SUMS], -1);
    if (!sums) return NULL;
    const gantry_dtype_t wide = gantry_tensor_dtype(sums);
    tensor *x[] = {c->x[QUERY],  c->y[ALL_KEYS], c->y[ALL_VALUES],
                   c->y[OUTPUT], c->dy[OUTPUT],  c->x[MASK]};
    for (size_t i = 0; i < GANTRY__RULE_COUNT(x); ++i) x[i] = slope_as(c, x[i], wide);
    const int32_t axis = gantry_tensor_shape(c->x[QUERY])->rank - 2;
    tensor *past = is_causal_attention(c) && rule_attention_has(c, PAST_KEY)
                       ? gantry__rule_size(c, c->x[PAST_KEY], axis)
                       : NULL;
    tensor *parts = attention_weights(c, x[0], x[1], x[5], sums, past);
    tensor *along = sum_of_queries(c, gantry_mul(s, x[4], x[3]));
    tensor *slopes = gantry_mul(s, parts, gantry_sub(s, attention_scores(c, x[4], x[2]), along));
    return slope_as(c, gantry__rule_sum_to(c, slopes, x[5]), gantry_tensor_dtype(c->x[MASK]));
}

/* ---- ScaledDotProductAttention ---- */

/* The part of `all` keys that begins after `before` (NULL: at the first), and is as long as
 * `part`. */
static tensor *keys_of(const gantry__rule_call_t *c, tensor *all, tensor *before, tensor *part) {
    gantry_scope_t *s = c->scope;
    const gantry_shape_t *shape = gantry_tensor_shape(part);
    const int32_t axis = shape->rank - 2;
    int64_t begin[GANTRY_MAX_RANK] = {0};
    const int64_t known = before ? gantry_tensor_shape(before)->dims[axis] : 0;
    if (known >= 0 && gantry__rule_open_sizes(part) == 0) {
        begin[axis] = known;
        return gantry_slice(s, all, begin, shape->dims);
    }
    tensor *first = before ? gantry__rule_size(c, before, axis) : gantry_scalar_i32(s, 0);
    tensor *end = gantry_add(s, first, gantry__rule_size(c, part, axis));
    return gantry_gather(s, all, gantry_range(s, first, end, gantry_scalar_i32(s, 1)), axis);
}

/* Sets the gradients of present keys or values, and of their past, from that of all. */
static void set_key_slopes(gantry__rule_call_t *c, tensor *all, size_t input, size_t past) {
    if (!rule_attention_has(c, past)) {
        c->dx[input] = all;
        return;
    }
    if (c->wants[input]) c->dx[input] = keys_of(c, all, c->x[past], c->x[input]);
    if (c->wants[past]) c->dx[past] = keys_of(c, all, NULL, c->x[past]);
}

/* The gradient of what the kernel takes, from that of the output; NULL where that is NULL. */
static void kernel_slopes(gantry__rule_call_t *c, tensor *out[3]) {
    static const char *const names[] = {"is_causal", "scale", "softcap"};
    gantry_attr_value_t attrs[4] = {{.name = "has_past", .kind = GANTRY_ATTR_BOOL}};
    tensor *inputs[] = {c->x[QUERY],  c->y[ALL_KEYS], c->y[ALL_VALUES],
                        c->y[OUTPUT], c->y[SUMS],     c->dy[OUTPUT],
                        NULL};
    size_t input_count = 6, count = 3;
    if (!c->dy[OUTPUT]) return;
    attrs[0].i = rule_attention_has(c, PAST_KEY);
    for (size_t i = 0; i < 3; ++i) attrs[1 + i] = *gantry__rule_attr(c, names[i]);
    if (rule_attention_has(c, MASK)) inputs[input_count++] = c->x[MASK];
    (void)gantry_op_call(c->scope, "ScaledDotProductAttentionGrad", inputs, input_count, attrs, 4,
                         out, &count);
}

static void rule_attention(gantry__rule_call_t *c) {
    tensor *slopes[3] = {NULL};
    if (c->dy[SUMS]) {
        (void)gantry__train_refuse(
            c->scope,
            "ScaledDotProductAttention: a gradient of log_sum_exp; one of output, present_key and present_value is accepted");
        return;
    }
    kernel_slopes(c, slopes);
    for (size_t i = 0; i < 2; ++i) {
        tensor *own = c->dy[ALL_KEYS + i];
        tensor **all = &slopes[1 + i];
        *all = *all && own ? gantry_add(c->scope, *all, own) : *all ? *all : own;
        if (*all) set_key_slopes(c, *all, KEY + i, PAST_KEY + i);
    }
    c->dx[QUERY] = slopes[0];
    if (rule_attention_has(c, MASK) && c->wants[MASK] && c->dy[OUTPUT] &&
        gantry_tensor_dtype(c->x[MASK]) != GANTRY_BOOL)
        c->dx[MASK] = mask_gradient(c);
}

/* ---- ScaledDotProductAttentionGrad: all scores are computed ----
 *
 * With the weights P of scores S, and A = dy value', the op gives
 *
 *     dS = P (A - along),  along = sum(P A),  dq = scale dS key,  dk = scale dS' query,  dv = P' dy
 *
 * Of slopes u, w and z of dq, dk and dv, G = scale (u key' + query w') is that of dS. The others:
 *
 *     of A   P (G - sum(P G))
 *     of P   G (A - along) - A sum(P G) + dy z'
 *     of S   P (of P - sum(P of P))
 *
 * output and log_sum_exp follow from query, key and value, so theirs are in those. */

/* scores [batch, heads, queries, keys] times y of the heads of keys, one row for each query. */
static tensor *mix_keys_by(const gantry__rule_call_t *c, tensor *scores, tensor *y) {
    gantry_scope_t *s = c->scope;
    gantry__rule_size_t sizes[4];
    tensor *mixed = gantry_matmul(s, attention_rows(c, scores, y), y, NULL);
    if (gantry_tensor_shape(scores)->rank == 3) return mixed;
    for (int32_t d = 0; d < 3; ++d) sizes[d] = gantry__rule_sizes(c, scores, d, d + 1);
    sizes[3] = gantry__rule_sizes(c, y, 3, 4);
    return gantry__rule_reshape_by(c, mixed, sizes, 4);
}

/* scores' x, one row for each key. */
static tensor *gather_by(const gantry__rule_call_t *c, tensor *scores, tensor *x) {
    static const gantry_matmul_options_t by_columns = {.transpose_a = true};
    tensor *keys = c->x[KEY];
    return gantry_matmul(c->scope, attention_rows(c, scores, keys), attention_rows(c, x, keys),
                         &by_columns);
}

/* x + y, either of which may be NULL. */
static tensor *sum_of_both(const gantry__rule_call_t *c, tensor *x, tensor *y) {
    return x && y ? gantry_add(c->scope, x, y) : x ? x : y;
}

/* Weights times x less the sum of their products: the slope of softmax. */
static tensor *weigh_apart(const gantry__rule_call_t *c, tensor *weights, tensor *x) {
    tensor *sum = sum_of_queries(c, gantry_mul(c->scope, weights, x));
    return gantry_mul(c->scope, weights, gantry_sub(c->scope, x, sum));
}

enum { GRAD_SUMS = 4, GRAD_SLOPE = 5, GRAD_MASK = 6 };

/* The weights of a recorded gradient; x: the query, keys and the mask or NULL, as wide as sums. */
static tensor *grad_weights(const gantry__rule_call_t *c, tensor *query, tensor *keys, tensor *mask,
                            tensor *sums) {
    const int32_t axis = gantry_tensor_shape(query)->rank - 2;
    tensor *past = NULL;
    if (is_causal_attention(c) && gantry__rule_attr(c, "has_past")->i != 0)
        past = gantry_sub(c->scope, gantry__rule_size(c, keys, axis),
                          gantry__rule_size(c, query, axis));
    return attention_weights(c, query, keys, mask, sums, past);
}

static void rule_attention_again(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    if (gantry__rule_attr(c, "softcap")->f > 0) {
        gantry__rule_lacks(c, "with softcap");
        return;
    }
    const bool has_mask = rule_attention_has(c, GRAD_MASK),
               adds = has_mask && gantry_tensor_dtype(c->x[GRAD_MASK]) != GANTRY_BOOL;
    tensor *sums = gantry_expand_dims(s, c->x[GRAD_SUMS], -1);
    if (!sums) return;
    const gantry_dtype_t wide = gantry_tensor_dtype(sums);
    tensor *q = slope_as(c, c->x[QUERY], wide), *k = slope_as(c, c->x[KEY], wide),
           *v = slope_as(c, c->x[VALUE], wide), *dy = slope_as(c, c->x[GRAD_SLOPE], wide),
           *u = slope_as(c, c->dy[0], wide), *w = slope_as(c, c->dy[1], wide),
           *z = slope_as(c, c->dy[2], wide),
           *mask = !has_mask ? NULL
                   : adds    ? slope_as(c, c->x[GRAD_MASK], wide)
                             : c->x[GRAD_MASK],
           *scale = attention_scale(c, q), *weights = grad_weights(c, q, k, mask, sums);
    tensor *a = attention_scores(c, dy, v), *of_weights = NULL, *of_dy = NULL, *of_v = NULL;
    if (z) {
        of_weights = attention_scores(c, dy, z);
        of_dy = mix_keys_by(c, weights, z);
    }
    tensor *slopes = weigh_apart(c, weights, a);
    if (u || w) {
        tensor *g = sum_of_both(c, u ? attention_scores(c, u, k) : NULL,
                                w ? attention_scores(c, q, w) : NULL);
        g = gantry_mul(s, g, scale);
        tensor *sum = sum_of_queries(c, gantry_mul(s, weights, g)),
               *along = sum_of_queries(c, gantry_mul(s, weights, a)),
               *of_a = gantry_mul(s, weights, gantry_sub(s, g, sum));
        tensor *more =
            gantry_sub(s, gantry_mul(s, g, gantry_sub(s, a, along)), gantry_mul(s, a, sum));
        of_weights = sum_of_both(c, of_weights, more);
        of_dy = sum_of_both(c, of_dy, mix_keys_by(c, of_a, v));
        of_v = gather_by(c, of_a, dy);
    }
    if (!of_weights) return;
    tensor *of_scores = weigh_apart(c, weights, of_weights);
    if (adds && c->wants[GRAD_MASK])
        c->dx[GRAD_MASK] = slope_as(c, gantry__rule_sum_to(c, of_scores, mask),
                                    gantry_tensor_dtype(c->x[GRAD_MASK]));
    of_scores = gantry_mul(s, of_scores, scale);
    slopes = gantry_mul(s, slopes, scale);
    tensor *all[] = {
        sum_of_both(c, mix_keys_by(c, of_scores, k), w ? mix_keys_by(c, slopes, w) : NULL),
        sum_of_both(c, gather_by(c, of_scores, q), u ? gather_by(c, slopes, u) : NULL), of_v};
    const gantry_dtype_t own = gantry_tensor_dtype(c->x[QUERY]);
    for (size_t i = 0; i < 3; ++i) c->dx[i] = slope_as(c, all[i], own);
    c->dx[GRAD_SLOPE] = slope_as(c, of_dy, own);
}

/* ---- RotaryEmbedding: turned back ---- */

static const char *const rotary_attrs[] = {"interleaved", "num_heads", "rotary_embedding_dim"};

/* x by other caches. */
static tensor *turn(const gantry__rule_call_t *c, tensor *x, tensor *cosines, tensor *sines) {
    tensor *inputs[] = {x, cosines, sines, c->record->input_count > 3 ? c->x[3] : NULL};
    return gantry__rule_again(c, "RotaryEmbedding", inputs, rotary_attrs,
                              GANTRY__RULE_COUNT(rotary_attrs));
}

/* The sums of both elements of each pair, over all heads: [batch, length, half]. */
static tensor *sum_pairs(const gantry__rule_call_t *c, tensor *products, int64_t half) {
    gantry_scope_t *s = c->scope;
    const bool is_flat = gantry_tensor_shape(products)->rank == 3,
               is_interleaved = gantry__rule_attr(c, "interleaved")->i != 0;
    const int32_t axes[] = {is_flat ? 2 : 1, is_interleaved ? 4 : 3};
    const gantry_reduce_options_t over = {.axes = axes, .axis_count = 2};
    const gantry__rule_size_t heads = {.known = gantry__rule_attr_int(c, "num_heads")},
                              two = {.known = 2}, pairs = {.known = half};
    gantry__rule_size_t sizes[5];
    for (int32_t d = 0; d < 3; ++d)
        sizes[d] = is_flat && d == 2 ? heads : gantry__rule_sizes(c, products, d, d + 1);
    sizes[3] =
        is_flat
            ? (gantry__rule_size_t){.known = gantry_tensor_shape(products)->dims[2] / heads.known}
            : gantry__rule_sizes(c, products, 3, 4);
    tensor *rows = is_flat ? gantry__rule_reshape_by(c, products, sizes, 4) : products;
    rows = gantry_slice(s, rows, (const int64_t[]){0, 0, 0, 0},
                        (const int64_t[]){-1, -1, -1, 2 * half});
    sizes[3] = is_interleaved ? pairs : two;
    sizes[4] = is_interleaved ? two : pairs;
    return gantry_sum(s, gantry__rule_reshape_by(c, rows, sizes, 5), &over);
}

/* The gradient of a cache, from what each place gave. */
static tensor *cache_slope(const gantry__rule_call_t *c, tensor *products) {
    gantry_scope_t *s = c->scope;
    tensor *cache = c->x[1];
    const gantry_shape_t *shape = gantry_tensor_shape(cache);
    const int64_t half = shape->dims[shape->rank - 1];
    if (half < 0 ||
        (gantry_tensor_shape(products)->rank == 3 && gantry_tensor_shape(products)->dims[2] < 0)) {
        (void)gantry__train_refuse(
            s,
            "RotaryEmbedding: the gradient of a cache with open sizes of heads; known ones are accepted");
        return NULL;
    }
    tensor *places = sum_pairs(c, products, half);
    if (c->record->input_count == 3) return gantry__rule_sum_to(c, places, cache);
    const gantry__rule_size_t rows[] = {gantry__rule_sizes(c, c->x[3], 0, 2), {.known = half}};
    tensor *inputs[] = {gantry__rule_reshape_by(c, places, rows, 2),
                        gantry__rule_reshape_by(c, c->x[3], rows, 1),
                        gantry__rule_size(c, cache, 0)};
    return gantry__rule_op(c, "UnsortedSegmentSum", inputs, 3, NULL, 0);
}

/* With a pair (a, b) and its gradient (da, db), a cosine's is a da + b db, and a sine's
 * a db - b da. */
static void rule_rotary(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *x = c->x[0], *dy = c->dy[0];
    if (c->wants[0]) c->dx[0] = turn(c, dy, c->x[1], gantry_neg(s, c->x[2]));
    if (c->wants[1]) c->dx[1] = cache_slope(c, gantry_mul(s, dy, x));
    if (c->wants[2]) {
        tensor *quarter = turn(c, x, gantry_zeros_like(s, c->x[1]), gantry_ones_like(s, c->x[1]));
        c->dx[2] = cache_slope(c, gantry_mul(s, dy, quarter));
    }
}

const gantry__rule_t gantry__rules_attention[] = {
    {"RotaryEmbedding", rule_rotary},
    {"ScaledDotProductAttention", rule_attention},
    {"ScaledDotProductAttentionGrad", rule_attention_again},
    {NULL, NULL}};
