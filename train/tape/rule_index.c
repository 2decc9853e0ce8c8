/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of gathering, scattering and sorting. */
#include <string.h>

#include "train/base/inner_scope.h"
#include "train/tape/rule_help.h"

typedef const gantry_tensor_t tensor;

static const char *const policy_attr[] = {"bad_indices_policy"};

/* The first elements of `count` rows of `size` elements: 0, size, ... */
static tensor *begins_of(gantry__rule_call_t *c, gantry__rule_size_t count,
                         gantry__rule_size_t size, gantry_dtype_t dtype) {
    gantry_scope_t *s = c->scope;
    tensor *zero = gantry_scalar_i64(s, 0);
    if (count.known >= 0 && size.known >= 0)
        return gantry_range(s, gantry_cast(s, zero, dtype),
                            gantry_cast(s, gantry_scalar_i64(s, count.known * size.known), dtype),
                            gantry_cast(s, gantry_scalar_i64(s, size.known), dtype));
    tensor *rows =
        gantry_range(s, zero, gantry__rule_size_tensor(c, count), gantry_scalar_i64(s, 1));
    return gantry_mul(s, rows, gantry__rule_size_tensor(c, size));
}

/* ---- Gather ---- */

/* params are [batch, outer, size, inner], indices [batch, each], each flattened to that, and the
 * result [batch, outer, each, inner]. */
typedef struct gather_t {
    gantry__rule_size_t batch, outer, size, inner, each;
    int32_t axis;
} gather_t;

/* An axis that is not known is -1. */
static gather_t gather_read(gantry__rule_call_t *c) {
    tensor *x = c->x[0];
    const int32_t rank = gantry_tensor_shape(x)->rank;
    const int32_t index_rank = gantry_tensor_shape(c->x[1])->rank;
    int32_t axis, dims = (int32_t)gantry__rule_attr_int(c, "batch_dims");
    if (dims < 0) dims += index_rank;
    gather_t g = {.batch = gantry__rule_sizes(c, x, 0, dims),
                  .each = gantry__rule_sizes(c, c->x[1], dims, index_rank),
                  .axis = -1};
    if (gantry__rule_axis(c, 2, rank, &axis)) {
        g.axis = axis;
        g.outer = gantry__rule_sizes(c, x, dims, axis);
        g.size = gantry__rule_sizes(c, x, axis, axis + 1);
        g.inner = gantry__rule_sizes(c, x, axis + 1, rank);
    } else {
        g.outer = gantry__rule_sizes_where(c, gantry__rule_is_before(c, 2, rank, dims), x);
        g.size = gantry__rule_sizes_where(c, gantry__rule_is_axis(c, 2, rank), x);
        g.inner = gantry__rule_sizes_where(c, gantry__rule_is_behind(c, 2, rank), x);
    }
    return g;
}

/* [batch, each] as places of rows of [batch * size]. Places that may be many are int64. */
static tensor *rows_of(gantry__rule_call_t *c, const gather_t *g) {
    static const gantry__rule_size_t one = {.known = 1};
    gantry_scope_t *s = c->scope;
    if (g->batch.known == 1) return gantry_reshape(s, c->x[1], GANTRY_SHAPE(-1));
    const bool is_open = g->batch.known < 0 || g->size.known < 0;
    tensor *indices = is_open ? gantry__train_cast(s, c->x[1], GANTRY_INT64) : c->x[1];
    tensor *first = begins_of(c, g->batch, g->size, gantry_tensor_dtype(c->x[1]));
    tensor *shifted = gantry_add(
        s, gantry__rule_reshape_by(c, indices, (gantry__rule_size_t[]){g->batch, g->each}, 2),
        gantry__rule_reshape_by(c, first, (gantry__rule_size_t[]){g->batch, one}, 2));
    return gantry_reshape(s, shifted, GANTRY_SHAPE(-1));
}

/* Exchanges the two dimensions in the middle of four. */
static tensor *rule_index_exchange(gantry__rule_call_t *c, tensor *x,
                                   const gantry__rule_size_t sizes[4]) {
    static const int32_t perm[] = {0, 2, 1, 3};
    tensor *four = gantry__rule_reshape_by(c, x, sizes, 4);
    return sizes[1].known == 1 ? four : gantry_transpose(c->scope, four, perm);
}

/* Adds the slices of dy to the rows of params that they come from. */
static tensor *rule_index_put_rows(gantry__rule_call_t *c, const gather_t *g, tensor *rows) {
    tensor *values = rule_index_exchange(
        c, c->dy[0], (gantry__rule_size_t[]){g->batch, g->outer, g->each, g->inner});
    if (!values) return NULL;
    const gantry__rule_size_t count = gantry__rule_times(c, g->batch, g->each);
    values =
        gantry__rule_reshape_by(c, values, (gantry__rule_size_t[]){count, g->outer, g->inner}, 3);
    tensor *inputs[] = {values, rows,
                        gantry__rule_size_tensor(c, gantry__rule_times(c, g->batch, g->size))};
    tensor *sums = gantry__rule_op(c, "UnsortedSegmentSum", inputs, 3, NULL, 0);
    if (g->outer.known != 1)
        sums = rule_index_exchange(c, sums,
                                   (gantry__rule_size_t[]){g->batch, g->size, g->outer, g->inner});
    return gantry__rule_reshape_like(c, sums, c->x[0]);
}

/* The slices of dy themselves, as TensorFlow's IndexedSlices. */
static void give_slices(gantry__rule_call_t *c) {
    gantry_shape_t shape = *gantry_tensor_shape(c->x[0]);
    shape.dims[0] = gantry_tensor_elements(c->x[1]);
    c->slices[0].values = gantry_reshape(c->scope, c->dy[0], shape);
    c->slices[0].indices = gantry_reshape(c->scope, c->x[1], GANTRY_SHAPE(-1));
}

/* Rows, of known sizes. */
static bool gives_slices(const gantry__rule_call_t *c, const gather_t *g) {
    return c->slices[0].is_accepted && g->axis == 0 && g->batch.known == 1 && g->outer.known == 1 &&
           gantry__rule_open_sizes(c->x[0]) == 0 && gantry_tensor_elements(c->x[0]) > 0;
}

static void give_or_put(gantry__rule_call_t *c, const gather_t *g) {
    if (gives_slices(c, g))
        give_slices(c);
    else if (gantry_tensor_elements(c->x[0]) == 0)
        c->dx[0] = gantry_zeros_like(c->scope, c->x[0]);
    else
        c->dx[0] = rule_index_put_rows(c, g, rows_of(c, g));
}

static void rule_gather(gantry__rule_call_t *c) {
    if (!c->wants[0]) return;
    const gather_t g = gather_read(c);
    give_or_put(c, &g);
}

static void rule_embedding(gantry__rule_call_t *c) {
    const int32_t rank = gantry_tensor_shape(c->x[0])->rank;
    const gather_t g = {
        .batch = {.known = 1},
        .outer = {.known = 1},
        .size = gantry__rule_sizes(c, c->x[0], 0, 1),
        .inner = gantry__rule_sizes(c, c->x[0], 1, rank),
        .each = gantry__rule_sizes(c, c->x[1], 0, gantry_tensor_shape(c->x[1])->rank)};
    give_or_put(c, &g);
}

/* The mask covers dimensions from the axis on: the rows are those that Where finds. */
static void rule_boolean_mask(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    const int32_t rank = gantry_tensor_shape(c->x[0])->rank,
                  covered = gantry_tensor_shape(c->x[1])->rank;
    int32_t axis = (int32_t)gantry__rule_attr_int(c, "axis");
    if (axis < 0) axis += rank;
    if (gantry_tensor_elements(c->x[0]) == 0) {
        c->dx[0] = gantry_zeros_like(s, c->x[0]);
        return;
    }
    tensor *flat = gantry_reshape(s, c->x[1], GANTRY_SHAPE(-1));
    tensor *rows = gantry_reshape(s, gantry_where(s, flat), GANTRY_SHAPE(-1));
    const gather_t g = {.batch = {.known = 1},
                        .outer = gantry__rule_sizes(c, c->x[0], 0, axis),
                        .size = gantry__rule_sizes(c, c->x[0], axis, axis + covered),
                        .inner = gantry__rule_sizes(c, c->x[0], axis + covered, rank),
                        .each = gantry__rule_sizes(c, rows, 0, 1)};
    c->dx[0] = rule_index_put_rows(c, &g, rows);
}

/* ---- rows of indices, and indices of elements along an axis ---- */

static const char *const elements_attrs[] = {"axis", "bad_indices_policy"};

/* Whether the op takes indices of elements along its attribute `axis`. */
static bool names_elements(const gantry__rule_call_t *c) {
    return gantry__rule_attr(c, "axis") != NULL;
}

/* What the indices name. */
static tensor *pick_named(gantry__rule_call_t *c, tensor *from, size_t indices) {
    tensor *inputs[4] = {from, c->x[indices]};
    return names_elements(c) ? gantry__rule_again(c, "GatherElements", inputs, elements_attrs, 2)
                             : gantry__rule_again(c, "GatherNd", inputs, policy_attr, 1);
}

/* A way to join updates with what they are scattered onto: an op for rows of indices, and the
 * reduction of ScatterElements. */
typedef struct scatter_way_t {
    const char *op, *reduction;
} scatter_way_t;

static const scatter_way_t replacing = {"TensorScatterUpdate", "NONE"},
                           adding = {"TensorScatterAdd", "ADD"},
                           multiplying = {"TensorScatterMul", "MUL"};

static tensor *scatter_onto(gantry__rule_call_t *c, const scatter_way_t *way, tensor *onto,
                            size_t indices, tensor *updates) {
    tensor *inputs[4] = {onto, c->x[indices], updates};
    if (!names_elements(c)) return gantry__rule_again(c, way->op, inputs, policy_attr, 1);
    const gantry_attr_value_t attrs[] = {
        *gantry__rule_attr(c, "axis"),
        *gantry__rule_attr(c, "bad_indices_policy"),
        {.name = "reduction", .kind = GANTRY_ATTR_STRING, .s = way->reduction}};
    return gantry__rule_op(c, "ScatterElements", inputs, 3, attrs, 3);
}

static tensor *sums_at_rows(gantry__rule_call_t *c, tensor *rows, tensor *updates, tensor *like) {
    tensor *shape = gantry_shape(c->scope, like, gantry_tensor_dtype(rows));
    return gantry__rule_again(c, "ScatterNd", (tensor *[4]){rows, updates, shape}, policy_attr, 1);
}

/* The sums of updates for each place, 0 where there are none. */
static tensor *scatter_sums(gantry__rule_call_t *c, size_t indices, tensor *updates, tensor *like) {
    if (names_elements(c))
        return scatter_onto(c, &adding, gantry_zeros_like(c->scope, like), indices, updates);
    return sums_at_rows(c, c->x[indices], updates, like);
}

/* Rows of indices that begin with the numbers of their batches. */
static tensor *rows_of_batches(gantry__rule_call_t *c, tensor *rows, int64_t batch) {
    static const gantry_scan_options_t counting = {.struct_size = sizeof counting,
                                                   .exclusive = true};
    const gantry_reduce_options_t last = {
        .struct_size = sizeof last, .axes = (int32_t[]){-1}, .axis_count = 1, .keep_dims = true};
    gantry_scope_t *s = c->scope;
    tensor *parts[GANTRY_MAX_RANK], *ones = gantry_ones_like(s, gantry_sum(s, rows, &last));
    for (int32_t d = 0; d < batch; ++d) parts[d] = gantry_cumsum(s, ones, d, &counting);
    parts[batch] = rows;
    return gantry_concat(s, parts, (size_t)batch + 1, -1);
}

static void rule_gather_named(gantry__rule_call_t *c) {
    const int64_t batch = names_elements(c) ? 0 : gantry__rule_attr_int(c, "batch_dims");
    if (!c->wants[0]) return;
    c->dx[0] = batch == 0 ? scatter_sums(c, 1, c->dy[0], c->x[0])
                          : sums_at_rows(c, rows_of_batches(c, c->x[1], batch), c->dy[0], c->x[0]);
}

static void rule_scatter_update(gantry__rule_call_t *c) {
    if (c->wants[0])
        c->dx[0] = scatter_onto(c, &replacing, c->dy[0], 1, gantry_zeros_like(c->scope, c->x[2]));
    if (c->wants[2]) c->dx[2] = pick_named(c, c->dy[0], 1);
}

/* Places take the numbers of the updates; an update whose place has another number is replaced. */
static tensor *gradient_of_last(gantry__rule_call_t *c, size_t indices, tensor *updates) {
    gantry_scope_t *s = c->scope;
    const gantry__rule_size_t count =
        gantry__rule_sizes(c, updates, 0, gantry_tensor_shape(updates)->rank);
    tensor *one = gantry_scalar_i64(s, 1), *all = gantry__rule_size_tensor(c, count);
    tensor *numbers =
        gantry__rule_reshape_like(c, gantry_range(s, one, gantry_add(s, all, one), one), updates);
    tensor *places = gantry_cast(s, gantry_zeros_like(s, c->y[0]), GANTRY_INT64);
    tensor *last = pick_named(c, scatter_onto(c, &replacing, places, indices, numbers), indices);
    tensor *dy = pick_named(c, c->dy[0], indices);
    return gantry_select(s, gantry_equal(s, last, numbers), dy, gantry_zeros_like(s, dy));
}

static void rule_scatter_add(gantry__rule_call_t *c) {
    if (c->wants[0]) c->dx[0] = c->dy[0];
    if (c->wants[2]) c->dx[2] = pick_named(c, c->dy[0], 1);
}

static void rule_scatter_sub(gantry__rule_call_t *c) {
    if (c->wants[0]) c->dx[0] = c->dy[0];
    if (c->wants[2]) c->dx[2] = gantry_neg(c->scope, pick_named(c, c->dy[0], 1));
}

/* The product of what else is multiplied into the place of an update: what the place has in the
 * end, divided by the update; for an update of 0 the product without it, or 0 where two are 0. */
static tensor *product_of_others(gantry__rule_call_t *c, tensor *is_zero, tensor *zero,
                                 tensor *one) {
    gantry_scope_t *s = c->scope;
    tensor *safe = gantry_select(s, is_zero, one, c->x[2]);
    tensor *without = scatter_onto(c, &multiplying, c->x[0], 1, safe);
    tensor *zeros =
        scatter_sums(c, 1, gantry_cast(s, is_zero, gantry_tensor_dtype(c->x[0])), c->x[0]);
    without = gantry_select(s, gantry_greater(s, zeros, one), zero, without);
    return gantry_select(s, is_zero, pick_named(c, without, 1),
                         gantry_div(s, pick_named(c, c->y[0], 1), safe));
}

static void rule_scatter_mul(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    if (c->wants[0])
        c->dx[0] = gantry_mul(
            s, c->dy[0], scatter_onto(c, &multiplying, gantry_ones_like(s, c->x[0]), 1, c->x[2]));
    if (!c->wants[2]) return;
    tensor *zero = gantry__rule_scalar(c, c->x[2], 0), *one = gantry__rule_scalar(c, c->x[2], 1);
    tensor *is_zero = gantry_equal(s, c->x[2], zero);
    c->dx[2] = gantry_mul(s, pick_named(c, c->dy[0], 1), product_of_others(c, is_zero, zero, one));
}

/* Whether elements are equal, as numbers. */
static tensor *equals(gantry__rule_call_t *c, tensor *a, tensor *b) {
    return gantry_cast(c->scope, gantry_equal(c->scope, a, b), gantry_tensor_dtype(a));
}

/* The element and the updates that are the extreme share the gradient. NULL for the gradient of
 * data that is not wanted. */
static void share_extreme(gantry__rule_call_t *c, tensor *data, size_t indices, size_t updates,
                          tensor **data_gradient) {
    gantry_scope_t *s = c->scope;
    tensor *dy = c->dy[0], *is_kept = equals(c, data, c->y[0]);
    tensor *is_taken = equals(c, c->x[updates], pick_named(c, c->y[0], indices));
    tensor *count = gantry_add(s, is_kept, scatter_sums(c, indices, is_taken, data));
    if (data_gradient) *data_gradient = gantry_div(s, gantry_mul(s, dy, is_kept), count);
    if (c->wants[updates])
        c->dx[updates] = gantry_mul(s, pick_named(c, gantry_div(s, dy, count), indices), is_taken);
}

static void rule_scatter_extreme(gantry__rule_call_t *c) {
    share_extreme(c, c->x[0], 1, 2, c->wants[0] ? &c->dx[0] : NULL);
}

static bool reduces_by(const gantry__rule_call_t *c, const char *word) {
    return strcmp(gantry__rule_attr(c, "reduction")->s, word) == 0;
}

static void rule_scatter_elements(gantry__rule_call_t *c) {
    if (reduces_by(c, "ADD")) {
        rule_scatter_add(c);
    } else if (reduces_by(c, "MUL")) {
        rule_scatter_mul(c);
    } else if (!reduces_by(c, "NONE")) {
        rule_scatter_extreme(c);
    } else {
        if (c->wants[0])
            c->dx[0] =
                scatter_onto(c, &replacing, c->dy[0], 1, gantry_zeros_like(c->scope, c->x[2]));
        if (c->wants[2]) c->dx[2] = gradient_of_last(c, 1, c->x[2]);
    }
}

/* It starts from zeros, which every product keeps. */
static void rule_scatter_nd(gantry__rule_call_t *c) {
    if (!c->wants[1]) return;
    if (reduces_by(c, "MUL"))
        c->dx[1] = gantry_zeros_like(c->scope, c->x[1]);
    else if (reduces_by(c, "MAX") || reduces_by(c, "MIN"))
        share_extreme(c, gantry_zeros_like(c->scope, c->y[0]), 0, 1, NULL);
    else if (reduces_by(c, "NONE"))
        c->dx[1] = gradient_of_last(c, 0, c->x[1]);
    else
        c->dx[1] = pick_named(c, c->dy[0], 0);
}

/* ---- sorting: back to the places from which the elements come ---- */

/* positions [.., k] in the rows of x, as positions among all elements */
static tensor *in_all_rows(gantry__rule_call_t *c, tensor *positions, tensor *x) {
    gantry_scope_t *s = c->scope;
    if (!positions || !x) return NULL;
    const int32_t last = gantry_tensor_shape(x)->rank - 1;
    const gantry__rule_size_t rows = gantry__rule_sizes(c, x, 0, last),
                              size = gantry__rule_sizes(c, x, last, last + 1);
    gantry__rule_size_t column[GANTRY_MAX_RANK];
    if (rows.known == 1) return positions;
    if (rows.known < 0 || size.known < 0) positions = gantry_cast(s, positions, GANTRY_INT64);
    if (!positions) return NULL;
    tensor *first = begins_of(c, rows, size, gantry_tensor_dtype(positions));
    for (int32_t d = 0; d < last; ++d) column[d] = gantry__rule_sizes(c, x, d, d + 1);
    column[last] = (gantry__rule_size_t){.known = 1};
    return gantry_add(s, positions, gantry__rule_reshape_by(c, first, column, last + 1));
}

static bool has_few_elements(gantry__rule_call_t *c) {
    if (gantry_tensor_elements(c->x[0]) <= INT32_MAX) return true; /* or they are not known */
    gantry__rule_lacks(c, "takes at most 2^31 - 1 elements");
    return false;
}

/* Exchanges an axis and the last one. */
static tensor *exchange_last(gantry__rule_call_t *c, tensor *x, int32_t axis) {
    int32_t perm[GANTRY_MAX_RANK];
    const int32_t rank = gantry_tensor_shape(c->x[0])->rank;
    if (axis == rank - 1 || !x) return x;
    for (int32_t d = 0; d < rank; ++d) perm[d] = d;
    perm[axis] = rank - 1;
    perm[rank - 1] = axis;
    return gantry_transpose(c->scope, x, perm);
}

static int32_t sorted_axis(gantry__rule_call_t *c) {
    const int32_t axis = (int32_t)gantry__rule_attr_int(c, "axis");
    return axis < 0 ? axis + gantry_tensor_shape(c->x[0])->rank : axis;
}

/* Adds dy to the elements of x at the positions along the axis. like: of x's sizes, with the axis
 * and the last one exchanged. */
static void put_sorted_back(gantry__rule_call_t *c, tensor *dy, tensor *positions, tensor *like) {
    const int32_t axis = sorted_axis(c);
    if (!dy || !positions || !like) return;
    positions = exchange_last(c, positions, axis);
    c->dx[0] =
        exchange_last(c, gantry__rule_put_back(c, dy, in_all_rows(c, positions, like), like), axis);
}

static void rule_top_k(gantry__rule_call_t *c) {
    const int32_t axis = sorted_axis(c);
    if (!c->dy[0] || !has_few_elements(c)) return;
    if (gantry_tensor_elements(c->x[0]) == 0) {
        c->dx[0] = gantry_zeros_like(c->scope, c->x[0]);
        return;
    }
    const bool is_short = gantry_tensor_dtype(c->y[1]) == GANTRY_INT16;
    put_sorted_back(c, exchange_last(c, c->dy[0], axis),
                    is_short ? gantry_cast(c->scope, c->y[1], GANTRY_INT32) : c->y[1],
                    exchange_last(c, c->x[0], axis));
}

static void rule_sort(gantry__rule_call_t *c) {
    static const char *const attrs[] = {"axis", "direction", "order"};
    if (!has_few_elements(c)) return;
    if (gantry_tensor_elements(c->x[0]) == 0) {
        c->dx[0] = c->dy[0];
        return;
    }
    tensor *dy = exchange_last(c, c->dy[0], sorted_axis(c));
    put_sorted_back(c, dy, gantry__rule_again(c, "ArgSort", (tensor *[4]){c->x[0]}, attrs, 3), dy);
}

const gantry__rule_t gantry__rules_index[] = {{"BooleanMask", rule_boolean_mask},
                                              {"EmbeddingLookup", rule_embedding},
                                              {"Gather", rule_gather},
                                              {"GatherElements", rule_gather_named},
                                              {"GatherNd", rule_gather_named},
                                              {"ScatterElements", rule_scatter_elements},
                                              {"ScatterNd", rule_scatter_nd},
                                              {"Sort", rule_sort},
                                              {"TensorScatterAdd", rule_scatter_add},
                                              {"TensorScatterMax", rule_scatter_extreme},
                                              {"TensorScatterMin", rule_scatter_extreme},
                                              {"TensorScatterMul", rule_scatter_mul},
                                              {"TensorScatterSub", rule_scatter_sub},
                                              {"TensorScatterUpdate", rule_scatter_update},
                                              {"TopK", rule_top_k},
                                              {NULL, NULL}};
