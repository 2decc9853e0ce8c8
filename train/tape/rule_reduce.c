/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of reductions. A reduced tensor has its axes back, with size 1, before it meets x. */
#include "train/tape/rule_help.h"

typedef const gantry_tensor_t tensor;

/* The axes of a reduction. */
typedef struct axes_t {
    int32_t list[GANTRY_MAX_RANK]; /* ascending, from 0 on */
    size_t count;
    bool are_kept; /* keep_dims */
    tensor *mask;  /* bool [rank], of axes that are not known; else NULL */
} axes_t;

/* Axes may be given twice. */
static axes_t rule_reduce_read_axes(const gantry__rule_call_t *c) {
    int64_t given[GANTRY_MAX_RANK];
    size_t count;
    bool is_reduced[GANTRY_MAX_RANK] = {false};
    const int32_t rank = gantry_tensor_shape(c->x[0])->rank;
    axes_t axes = {.are_kept = gantry__rule_attr_int(c, "keep_dims") != 0};
    if (!gantry__rule_knows_ints(c, 1, given, GANTRY_MAX_RANK, &count)) {
        axes.mask = gantry__rule_is_axis(c, 1, rank);
        return axes;
    }
    for (size_t i = 0; i < count; ++i) {
        const int64_t axis = given[i] < 0 ? given[i] + rank : given[i];
        if (axis >= 0 && axis < rank) is_reduced[axis] = true;
    }
    for (int32_t d = 0; d < rank; ++d) {
        if (is_reduced[d]) axes.list[axes.count++] = d;
    }
    return axes;
}

/* A reduction of x over the axes, which keeps them. */
static tensor *rule_reduce_by_op(const gantry__rule_call_t *c, const char *op, tensor *x) {
    const gantry_attr_value_t keep = {.name = "keep_dims", .kind = GANTRY_ATTR_BOOL, .i = true};
    return gantry__rule_op(c, op, (tensor *[]){x, c->x[1]}, 2, &keep, 1);
}

/* A reduced tensor with its axes back. */
static tensor *rule_reduce_keep(const gantry__rule_call_t *c, const axes_t *axes, tensor *reduced) {
    if (axes->are_kept || !reduced) return reduced;
    if (axes->mask) return gantry__rule_keep_axes(c, axes->mask, reduced);
    gantry_shape_t shape = gantry__shape(c->x[0]);
    for (size_t i = 0; i < axes->count; ++i) shape.dims[axes->list[i]] = 1;
    if (gantry__rule_open_sizes(reduced) == 0) return gantry_reshape(c->scope, reduced, shape);
    for (size_t i = 0; i < axes->count; ++i)
        reduced = gantry_expand_dims(c->scope, reduced, axes->list[i]);
    return reduced;
}

static tensor *rule_reduce_repeat(const gantry__rule_call_t *c, const axes_t *axes,
                                  tensor *reduced) {
    return gantry__rule_broadcast_like(c, rule_reduce_keep(c, axes, reduced), c->x[0]);
}

/* ---- sums ---- */

static void rule_sum(gantry__rule_call_t *c) {
    const axes_t axes = rule_reduce_read_axes(c);
    c->dx[0] = rule_reduce_repeat(c, &axes, c->dy[0]);
}

/* How many elements make one of the mean. */
static tensor *count_each(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    const int64_t from = gantry_tensor_elements(c->x[0]), to = gantry_tensor_elements(c->y[0]);
    if (from >= 0 && to >= 0)
        return gantry__rule_scalar(c, c->x[0], to > 0 ? (double)(from / to) : 1);
    tensor *most =
        gantry_maximum(s, gantry_size(s, c->y[0], GANTRY_INT64), gantry_scalar_i64(s, 1));
    tensor *each = gantry_floor_div(s, gantry_size(s, c->x[0], GANTRY_INT64), most);
    return gantry_cast(s, each, gantry_tensor_dtype(c->x[0]));
}

static void rule_mean(gantry__rule_call_t *c) {
    const axes_t axes = rule_reduce_read_axes(c);
    c->dx[0] = rule_reduce_repeat(c, &axes, gantry_div(c->scope, c->dy[0], count_each(c)));
}

/* x / (y / dy): NaN where the norm is 0 */
static void rule_euclidean_norm(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    const axes_t axes = rule_reduce_read_axes(c);
    c->dx[0] = gantry_div(s, c->x[0], rule_reduce_keep(c, &axes, gantry_div(s, c->y[0], c->dy[0])));
}

static void rule_l2_loss(gantry__rule_call_t *c) {
    c->dx[0] = gantry_mul(c->scope, c->x[0], c->dy[0]);
}

/* ---- the variance: 2 (x - mean) / count ---- */

static tensor *from_mean(gantry__rule_call_t *c) {
    return gantry_sub(c->scope, c->x[0], rule_reduce_by_op(c, "Mean", c->x[0]));
}

static void rule_var(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    const axes_t axes = rule_reduce_read_axes(c);
    tensor *each = gantry_div(s, gantry__rule_scale(c, c->dy[0], 2), count_each(c));
    c->dx[0] = gantry_mul(s, from_mean(c), rule_reduce_keep(c, &axes, each));
}

/* NaN where the deviation is 0 */
static void rule_std(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    const axes_t axes = rule_reduce_read_axes(c);
    tensor *each = gantry_div(s, gantry_div(s, c->dy[0], count_each(c)), c->y[0]);
    c->dx[0] = gantry_mul(s, from_mean(c), rule_reduce_keep(c, &axes, each));
}

/* Outputs: the mean and the variance. */
static void rule_moments(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    const axes_t axes = rule_reduce_read_axes(c);
    tensor *sum = NULL;
    if (c->dy[0]) sum = rule_reduce_repeat(c, &axes, gantry_div(s, c->dy[0], count_each(c)));
    if (c->dy[1]) {
        tensor *each = gantry_div(s, gantry__rule_scale(c, c->dy[1], 2), count_each(c));
        tensor *spread = gantry_mul(s, from_mean(c), rule_reduce_keep(c, &axes, each));
        sum = sum ? gantry_add(s, sum, spread) : spread;
    }
    c->dx[0] = sum;
}

/* dy exp(x - y): the parts would go through the maximum for nothing. */
static void rule_log_sum_exp(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    const axes_t axes = rule_reduce_read_axes(c);
    tensor *share = gantry_exp(s, gantry_sub(s, c->x[0], rule_reduce_keep(c, &axes, c->y[0])));
    c->dx[0] = gantry_mul(s, rule_reduce_keep(c, &axes, c->dy[0]), share);
}

/* ---- extremes: elements that are all the largest share the gradient ---- */

static void rule_extreme(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    const axes_t axes = rule_reduce_read_axes(c);
    tensor *is_chosen =
        gantry_cast(s, gantry_equal(s, rule_reduce_keep(c, &axes, c->y[0]), c->x[0]),
                    gantry_tensor_dtype(c->x[0]));
    tensor *share = gantry_div(s, is_chosen, rule_reduce_by_op(c, "Sum", is_chosen));
    c->dx[0] = gantry_mul(s, share, rule_reduce_keep(c, &axes, c->dy[0]));
}

/* ---- products: of all elements before and after each, because one may be 0 ---- */

static tensor *others_along(gantry__rule_call_t *c, tensor *x, int32_t axis) {
    gantry_scope_t *s = c->scope;
    tensor *before = gantry_cumprod(s, x, axis, &(gantry_scan_options_t){.exclusive = true});
    tensor *behind =
        gantry_cumprod(s, x, axis, &(gantry_scan_options_t){.exclusive = true, .reverse = true});
    return gantry_mul(s, before, behind);
}

/* The sizes of the reduced dimensions together, which come first, and of the others. */
static void find_matrix(gantry__rule_call_t *c, const axes_t *axes, tensor *turned,
                        gantry__rule_size_t out[2]) {
    const int32_t rank = gantry_tensor_shape(c->x[0])->rank, count = (int32_t)axes->count;
    for (int i = 0; i < 2 && !axes->mask; ++i)
        out[i] = gantry__rule_sizes(c, turned, i == 0 ? 0 : count, i == 0 ? count : rank);
    if (!axes->mask) return;
    out[0] = gantry__rule_sizes_where(c, axes->mask, c->x[0]);
    out[1] = gantry__rule_sizes_where(c, gantry_logical_not(c->scope, axes->mask), c->x[0]);
}

/* The reduced axes come first, in order, then the others; back: the inverse. */
static void rule_reduce_order_axes(gantry__rule_call_t *c, const axes_t *axes, tensor **perm,
                                   tensor **back) {
    const int32_t rank = gantry_tensor_shape(c->x[0])->rank;
    int64_t order[GANTRY_MAX_RANK], inverse[GANTRY_MAX_RANK];
    int32_t at = 0;
    if (axes->mask) {
        *perm = gantry__rule_order_axes(c, axes->mask, rank);
        *back = gantry_invert_permutation(c->scope, *perm);
        return;
    }
    for (size_t i = 0; i < axes->count; ++i) order[at++] = axes->list[i];
    for (int32_t d = 0; d < rank; ++d) {
        bool is_reduced = false;
        for (size_t i = 0; i < axes->count; ++i) is_reduced |= axes->list[i] == d;
        if (!is_reduced) order[at++] = d;
    }
    for (int32_t d = 0; d < rank; ++d) inverse[order[d]] = d;
    *perm = gantry__rule_host_ints(c, order, (size_t)rank);
    *back = gantry__rule_host_ints(c, inverse, (size_t)rank);
}

static tensor *others_over(gantry__rule_call_t *c, const axes_t *axes) {
    gantry__rule_size_t matrix[2];
    tensor *perm, *back;
    rule_reduce_order_axes(c, axes, &perm, &back);
    tensor *turned = perm && back ? gantry__rule_op2(c, "Transpose", c->x[0], perm) : NULL;
    if (!turned) return NULL;
    find_matrix(c, axes, turned, matrix);
    tensor *product = others_along(c, gantry__rule_reshape_by(c, turned, matrix, 2), 0);
    product = gantry__rule_reshape_like(c, product, turned);
    return product ? gantry__rule_op2(c, "Transpose", product, back) : NULL;
}

static void rule_prod(gantry__rule_call_t *c) {
    const axes_t axes = rule_reduce_read_axes(c);
    if (!axes.mask && axes.count == 0) {
        c->dx[0] = c->dy[0];
        return;
    }
    tensor *others = !axes.mask && axes.count == 1 ? others_along(c, c->x[0], axes.list[0])
                                                   : others_over(c, &axes);
    if (others) c->dx[0] = gantry_mul(c->scope, rule_reduce_keep(c, &axes, c->dy[0]), others);
}

const gantry__rule_t gantry__rules_reduce[] = {{"EuclideanNorm", rule_euclidean_norm},
                                               {"L2Loss", rule_l2_loss},
                                               {"LogSumExp", rule_log_sum_exp},
                                               {"Max", rule_extreme},
                                               {"Mean", rule_mean},
                                               {"Min", rule_extreme},
                                               {"Moments", rule_moments},
                                               {"Prod", rule_prod},
                                               {"Std", rule_std},
                                               {"Sum", rule_sum},
                                               {"Var", rule_var},
                                               {NULL, NULL}};
