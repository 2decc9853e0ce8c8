/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of gathering, scattering and sorting. */
#include "train/tape/rule_help.h"

typedef const gantry_tensor_t tensor;

static const char *const policy_attr[] = {"bad_indices_policy"};

/* ---- Gather ---- */

/* params are [batch, outer, size, inner], indices [batch, each], each flattened to that, and the
 * result [batch, outer, each, inner]. A number that depends on data is -1. */
typedef struct gather_t {
    int64_t batch, outer, size, inner, each;
    int32_t axis;
} gather_t;

static int64_t multiply_sizes(const gantry_shape_t *shape, int32_t from, int32_t to) {
    int64_t count = 1;
    for (int32_t d = from; d < to; ++d) {
        if (shape->dims[d] < 0) return -1;
        count *= shape->dims[d];
    }
    return count;
}

static bool gather_read(const gantry__rule_call_t *c, gather_t *g) {
    const gantry_shape_t *params = gantry_tensor_shape(c->x[0]);
    const gantry_shape_t *indices = gantry_tensor_shape(c->x[1]);
    int32_t axis, dims = (int32_t)gantry__rule_attr_int(c, "batch_dims");
    if (!gantry__rule_axis(c, 2, params->rank, &axis)) return false;
    if (dims < 0) dims += indices->rank;
    *g = (gather_t){.batch = multiply_sizes(params, 0, dims),
                    .outer = multiply_sizes(params, dims, axis),
                    .size = params->dims[axis],
                    .inner = multiply_sizes(params, axis + 1, params->rank),
                    .each = multiply_sizes(indices, dims, indices->rank),
                    .axis = axis};
    if (g->batch >= 0 && g->outer >= 0 && g->inner >= 0 && (g->batch == 1 || g->size >= 0))
        return true;
    gantry__rule_lacks(c, "needs known sizes of params");
    return false;
}

/* The first elements of `count` rows of `size` elements: 0, size, ... */
static tensor *begins_of(gantry__rule_call_t *c, int64_t count, int64_t size,
                         gantry_dtype_t dtype) {
    gantry_scope_t *s = c->scope;
    return gantry_range(s, gantry_cast(s, gantry_scalar_i64(s, 0), dtype),
                        gantry_cast(s, gantry_scalar_i64(s, count * size), dtype),
                        gantry_cast(s, gantry_scalar_i64(s, size), dtype));
}

/* [batch, each] as places of rows of [batch * size] */
static tensor *rows_of(gantry__rule_call_t *c, const gather_t *g) {
    gantry_scope_t *s = c->scope;
    if (g->batch == 1) return gantry_reshape(s, c->x[1], GANTRY_SHAPE(-1));
    tensor *first = begins_of(c, g->batch, g->size, gantry_tensor_dtype(c->x[1]));
    tensor *shifted = gantry_add(s, gantry_reshape(s, c->x[1], GANTRY_SHAPE(g->batch, g->each)),
                                 gantry_reshape(s, first, GANTRY_SHAPE(g->batch, 1)));
    return gantry_reshape(s, shifted, GANTRY_SHAPE(-1));
}

/* Exchanges the two dimensions in the middle of four. */
static tensor *exchange(gantry__rule_call_t *c, tensor *x, gantry_shape_t shape) {
    static const int32_t perm[] = {0, 2, 1, 3};
    tensor *four = gantry_reshape(c->scope, x, shape);
    return shape.dims[1] == 1 ? four : gantry_transpose(c->scope, four, perm);
}

static tensor *row_count(gantry__rule_call_t *c, const gather_t *g) {
    gantry_scope_t *s = c->scope;
    if (g->size >= 0) return gantry_scalar_i64(s, g->batch * g->size);
    /* the size alone: batch is 1, and the axis is the only open one */
    tensor *all = gantry_size(s, c->x[0], GANTRY_INT64);
    const int64_t each = g->outer * g->inner;
    return gantry_floor_div(s, all, gantry_scalar_i64(s, each > 0 ? each : 1));
}

/* Adds the slices of dy to the rows of params that they come from. */
static tensor *put_rows(gantry__rule_call_t *c, const gather_t *g, tensor *rows) {
    gantry_scope_t *s = c->scope;
    tensor *values = exchange(c, c->dy[0], GANTRY_SHAPE(g->batch, g->outer, g->each, g->inner));
    if (!values) return NULL;
    const int64_t count = g->each < 0 ? -1 : g->batch * g->each;
    values = gantry_reshape(s, values, GANTRY_SHAPE(count, g->outer, g->inner));
    tensor *inputs[] = {values, rows, row_count(c, g)};
    tensor *sums = gantry__rule_op(c, "UnsortedSegmentSum", inputs, 3, NULL, 0);
    if (g->outer != 1)
        sums = exchange(c, sums, GANTRY_SHAPE(g->batch, g->size, g->outer, g->inner));
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
    return c->slices[0].is_accepted && g->axis == 0 && g->batch == 1 && g->outer == 1 &&
           gantry__rule_open_sizes(c->x[0]) == 0 && gantry_tensor_elements(c->x[0]) > 0;
}

static void give_or_put(gantry__rule_call_t *c, const gather_t *g) {
    if (gives_slices(c, g))
        give_slices(c);
    else if (gantry_tensor_elements(c->x[0]) == 0)
        c->dx[0] = gantry_zeros_like(c->scope, c->x[0]);
    else
        c->dx[0] = put_rows(c, g, rows_of(c, g));
}

static void rule_gather(gantry__rule_call_t *c) {
    gather_t g;
    if (c->wants[0] && gather_read(c, &g)) give_or_put(c, &g);
}

static void rule_embedding(gantry__rule_call_t *c) {
    const gantry_shape_t *x = gantry_tensor_shape(c->x[0]);
    const gather_t g = {.batch = 1,
                        .outer = 1,
                        .size = x->dims[0],
                        .inner = multiply_sizes(x, 1, x->rank),
                        .each = gantry_tensor_elements(c->x[1])};
    if (g.inner < 0)
        gantry__rule_lacks(c, "needs known sizes of params");
    else
        give_or_put(c, &g);
}

/* The mask covers dimensions from the axis on: the rows are those that Where finds. */
static void rule_boolean_mask(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    const gantry_shape_t *x = gantry_tensor_shape(c->x[0]), *mask = gantry_tensor_shape(c->x[1]);
    int32_t axis = (int32_t)gantry__rule_attr_int(c, "axis");
    if (axis < 0) axis += x->rank;
    const gather_t g = {.batch = 1,
                        .outer = multiply_sizes(x, 0, axis),
                        .size = multiply_sizes(x, axis, axis + mask->rank),
                        .inner = multiply_sizes(x, axis + mask->rank, x->rank),
                        .each = -1};
    if (gantry__rule_open_sizes(c->x[0]) > 0) {
        gantry__rule_lacks(c, "needs known sizes");
        return;
    }
    if (gantry_tensor_elements(c->x[0]) == 0) {
        c->dx[0] = gantry_zeros_like(s, c->x[0]);
        return;
    }
    tensor *flat = gantry_reshape(s, c->x[1], GANTRY_SHAPE(-1));
    c->dx[0] = put_rows(c, &g, gantry_reshape(s, gantry_where(s, flat), GANTRY_SHAPE(-1)));
}

/* ---- rows of indices ---- */

static tensor *gather_rows(gantry__rule_call_t *c, tensor *from, size_t indices) {
    return gantry__rule_again(c, "GatherNd", (tensor *[4]){from, c->x[indices]}, policy_attr, 1);
}

static tensor *scatter_rows(gantry__rule_call_t *c, size_t indices, tensor *updates, tensor *like) {
    tensor *shape = gantry_shape(c->scope, like, gantry_tensor_dtype(c->x[indices]));
    return gantry__rule_again(c, "ScatterNd", (tensor *[4]){c->x[indices], updates, shape},
                              policy_attr, 1);
}

static void rule_gather_nd(gantry__rule_call_t *c) {
    if (c->wants[0]) c->dx[0] = scatter_rows(c, 1, c->dy[0], c->x[0]);
}

static void rule_scatter_nd(gantry__rule_call_t *c) {
    if (c->wants[1]) c->dx[1] = gather_rows(c, c->dy[0], 0);
}

static void rule_tensor_scatter_update(gantry__rule_call_t *c) {
    tensor *inputs[] = {c->dy[0], c->x[1], NULL, NULL};
    if (c->wants[0]) {
        inputs[2] = gantry_zeros_like(c->scope, c->x[2]);
        c->dx[0] = gantry__rule_again(c, "TensorScatterUpdate", inputs, policy_attr, 1);
    }
    if (c->wants[2]) c->dx[2] = gather_rows(c, c->dy[0], 1);
}

static void rule_tensor_scatter_add(gantry__rule_call_t *c) {
    if (c->wants[0]) c->dx[0] = c->dy[0];
    if (c->wants[2]) c->dx[2] = gather_rows(c, c->dy[0], 1);
}

static void rule_tensor_scatter_sub(gantry__rule_call_t *c) {
    if (c->wants[0]) c->dx[0] = c->dy[0];
    if (c->wants[2]) c->dx[2] = gantry_neg(c->scope, gather_rows(c, c->dy[0], 1));
}

/* Whether elements are equal, as numbers. */
static tensor *equals(gantry__rule_call_t *c, tensor *a, tensor *b) {
    return gantry_cast(c->scope, gantry_equal(c->scope, a, b), gantry_tensor_dtype(a));
}

/* The element and the updates that are the extreme share the gradient. */
static void rule_tensor_scatter_extreme(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *dy = c->dy[0], *is_kept = equals(c, c->x[0], c->y[0]);
    tensor *is_taken = equals(c, c->x[2], gather_rows(c, c->y[0], 1));
    tensor *count = gantry_add(s, is_kept, scatter_rows(c, 1, is_taken, c->x[0]));
    if (c->wants[0]) c->dx[0] = gantry_div(s, gantry_mul(s, dy, is_kept), count);
    if (c->wants[2])
        c->dx[2] = gantry_mul(s, gather_rows(c, gantry_div(s, dy, count), 1), is_taken);
}

/* ---- sorting: back to the places from which the elements come ---- */

/* positions [.., k] in rows of `size` elements, as positions among all elements */
static tensor *in_all_rows(gantry__rule_call_t *c, tensor *positions, int64_t size) {
    gantry_scope_t *s = c->scope;
    const gantry_shape_t *shape = gantry_tensor_shape(positions);
    const int64_t rows = multiply_sizes(shape, 0, shape->rank - 1);
    if (rows == 1) return positions;
    tensor *first = begins_of(c, rows, size, gantry_tensor_dtype(positions));
    gantry_shape_t column = *shape;
    column.dims[shape->rank - 1] = 1;
    return gantry_add(s, positions, gantry_reshape(s, first, column));
}

static bool has_known_sizes(gantry__rule_call_t *c) {
    if (gantry__rule_open_sizes(c->x[0]) == 0 && gantry_tensor_elements(c->x[0]) <= INT32_MAX)
        return true;
    gantry__rule_lacks(c, "needs known sizes, of at most 2^31 - 1 elements");
    return false;
}

static void rule_top_k(gantry__rule_call_t *c) {
    const gantry_shape_t *x = gantry_tensor_shape(c->x[0]);
    if (!c->dy[0] || !has_known_sizes(c)) return;
    if (gantry_tensor_elements(c->x[0]) == 0)
        c->dx[0] = gantry_zeros_like(c->scope, c->x[0]);
    else
        c->dx[0] = gantry__rule_put_back(c, c->dy[0], in_all_rows(c, c->y[1], x->dims[x->rank - 1]),
                                         c->x[0]);
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

static void rule_sort(gantry__rule_call_t *c) {
    static const char *const attrs[] = {"axis", "direction"};
    const gantry_shape_t *x = gantry_tensor_shape(c->x[0]);
    int32_t axis = (int32_t)gantry__rule_attr_int(c, "axis");
    if (axis < 0) axis += x->rank;
    if (!has_known_sizes(c)) return;
    if (gantry_tensor_elements(c->x[0]) == 0) {
        c->dx[0] = c->dy[0];
        return;
    }
    tensor *positions = gantry__rule_again(c, "ArgSort", (tensor *[4]){c->x[0]}, attrs, 2);
    tensor *dy = exchange_last(c, c->dy[0], axis);
    positions = exchange_last(c, positions, axis);
    if (!dy || !positions) return;
    tensor *back = gantry__rule_put_back(c, dy, in_all_rows(c, positions, x->dims[axis]), dy);
    c->dx[0] = exchange_last(c, back, axis);
}

const gantry__rule_t gantry__rules_index[] = {{"BooleanMask", rule_boolean_mask},
                                              {"EmbeddingLookup", rule_embedding},
                                              {"Gather", rule_gather},
                                              {"GatherNd", rule_gather_nd},
                                              {"ScatterNd", rule_scatter_nd},
                                              {"Sort", rule_sort},
                                              {"TensorScatterAdd", rule_tensor_scatter_add},
                                              {"TensorScatterMax", rule_tensor_scatter_extreme},
                                              {"TensorScatterMin", rule_tensor_scatter_extreme},
                                              {"TensorScatterSub", rule_tensor_scatter_sub},
                                              {"TensorScatterUpdate", rule_tensor_scatter_update},
                                              {"TopK", rule_top_k},
                                              {NULL, NULL}};
