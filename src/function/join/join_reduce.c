/* SPDX-License-Identifier: Apache-2.0 */
/* gantry_reduce_with_body: the reduced axes become one, between those before and those after it,
 * which are merged where sizes are known; that axis is joined, and the result gets its shape.
 *
 *     [2, a, b, 3] over a and b  ->  [2, a * b, 3]  ->  [2, 1, 3]  ->  [2, 3]
 *
 * With several open sizes, or one and a size of 0, the reduced axes come first, all others are one,
 * and the result's sizes are read in each call. */
#include <gantry/ops.h>

#include "base/fp_mode.h"
#include "function/join/join.h"
#include "shared/struct_size.h"

typedef const gantry_tensor_t tensor;

/* How the operands are laid out. */
typedef struct reduce_plan_t {
    bool is_reduced[GANTRY_MAX_RANK];
    int32_t perm[GANTRY_MAX_RANK]; /* kept axes, reduced ones, kept ones */
    bool moves;                    /* perm changes something */
    gantry_shape_t joined;         /* with the one axis of reduced elements */
    int32_t axis;                  /* its number */
    int64_t length;                /* its size */
    bool is_flat;                  /* joined is [length][all others] */
    gantry_shape_t result;
} reduce_plan_t;

static gantry_status_t reduce_read_axes(const gantry_reduce_body_options_t *options,
                                        const gantry_shape_t *shape, reduce_plan_t *plan) {
    for (int32_t d = 0; !options->axes && d < shape->rank; ++d) plan->is_reduced[d] = true;
    for (size_t i = 0; options->axes && i < options->axis_count; ++i) {
        const int32_t given = options->axes[i], d = given < 0 ? given + shape->rank : given;
        GANTRY__TRY(gantry__join_check_axis(given, (int64_t)i, shape->rank));
        if (plan->is_reduced[d])
            return gantry__refuse(
                "axes[%zu] is %d, which is axis %d again; each axis once is "
                "accepted",
                i, given, d);
        plan->is_reduced[d] = true;
    }
    return GANTRY_OK;
}

static gantry_status_t reduce_find_length(const gantry_shape_t *shape, reduce_plan_t *plan) {
    plan->length = 1;
    for (int32_t d = 0; d < shape->rank; ++d) {
        if (!plan->is_reduced[d]) continue;
        if (shape->dims[d] < 0)
            return gantry__fail(GANTRY_UNIMPLEMENTED,
                                "the size of axis %d is open; a size that is known when the "
                                "function is traced is accepted, because the calls of body follow "
                                "from it",
                                d);
        plan->length *= shape->dims[d];
    }
    return GANTRY_OK;
}

/* Appends the axes from first to last - 1 that are reduced, or are not. */
static int32_t reduce_append_axes(reduce_plan_t *plan, int32_t count, int32_t first, int32_t last,
                                  bool is_reduced) {
    for (int32_t d = first; d < last; ++d)
        if (plan->is_reduced[d] == is_reduced) plan->perm[count++] = d;
    return count;
}

/* The reduced axes stay where the first of them is if all of them follow each other; else the kept
 * axes come first. */
static int32_t reduce_order_axes(reduce_plan_t *plan, int32_t rank, int32_t *out_before) {
    int32_t first = 0, last = rank;
    while (first < rank && !plan->is_reduced[first]) ++first;
    while (last > first && !plan->is_reduced[last - 1]) --last;
    int32_t count = reduce_append_axes(plan, 0, 0, last, false);
    *out_before = count;
    count = reduce_append_axes(plan, count, first, last, true);
    const int32_t reduced = count - *out_before;
    (void)reduce_append_axes(plan, count, last, rank, false);
    return reduced;
}

/* -1 with an open size, unless a size is 0. */
static int64_t product_of_axes(const gantry_shape_t *shape, const int32_t *axes, int32_t count) {
    int64_t size = 1;
    for (int32_t i = 0; i < count && size != 0; ++i) {
        const int64_t next = shape->dims[axes[i]];
        size = next == 0 ? 0 : next < 0 || size < 0 ? -1 : size * next;
    }
    return size;
}

/* Kept axes before or after the reduced ones become one. */
static void reduce_add_kept(reduce_plan_t *plan, const gantry_shape_t *shape, const int32_t *axes,
                            int32_t count) {
    if (count > 0) plan->joined.dims[plan->joined.rank++] = product_of_axes(shape, axes, count);
}

/* Whether reshapes find all sizes, wherever the reduced axes are. */
static bool reduce_takes_shape(const gantry_shape_t *shape) {
    int32_t open = 0, empty = 0;
    for (int32_t d = 0; d < shape->rank; ++d) {
        open += shape->dims[d] < 0;
        empty += shape->dims[d] == 0;
    }
    return open == 0 || (open == 1 && empty == 0);
}

static void reduce_join_axes(const gantry_shape_t *shape, reduce_plan_t *plan) {
    int32_t before = 0, reduced;
    plan->is_flat = !reduce_takes_shape(shape);
    if (plan->is_flat) {
        reduced = reduce_append_axes(plan, 0, 0, shape->rank, true);
        (void)reduce_append_axes(plan, reduced, 0, shape->rank, false);
    } else {
        reduced = reduce_order_axes(plan, shape->rank, &before);
    }
    for (int32_t d = 0; d < shape->rank; ++d) plan->moves |= plan->perm[d] != d;
    reduce_add_kept(plan, shape, plan->perm, before);
    plan->axis = plan->joined.rank;
    plan->joined.dims[plan->joined.rank++] = plan->length;
    reduce_add_kept(plan, shape, plan->perm + before + reduced, shape->rank - before - reduced);
}

static gantry_status_t reduce_make_plan(const gantry_reduce_body_options_t *options,
                                        const gantry_shape_t *shape, reduce_plan_t *plan) {
    GANTRY__TRY(reduce_read_axes(options, shape, plan));
    GANTRY__TRY(reduce_find_length(shape, plan));
    for (int32_t d = 0; d < shape->rank; ++d) {
        if (!plan->is_reduced[d] || options->keep_dims)
            plan->result.dims[plan->result.rank++] = plan->is_reduced[d] ? 1 : shape->dims[d];
    }
    reduce_join_axes(shape, plan);
    return GANTRY_OK;
}

static gantry_status_t reduce_shaped(const gantry__join_t *join, tensor **x,
                                     const gantry_shape_t *shape) {
    if (gantry_shape_equal(&x[0]->shape, shape)) return GANTRY_OK;
    for (uint32_t i = 0; i < join->count; ++i) x[i] = gantry_reshape(join->scope, x[i], *shape);
    return gantry__join_status(join);
}

/* The result's sizes: those of an operand, and of its reduced axes, if they are kept, 1. */
static tensor *reduce_sizes(gantry_scope_t *scope, const reduce_plan_t *plan, tensor *operand) {
    const int64_t one = 1;
    const int32_t rank = operand->shape.rank;
    const bool keeps = plan->result.rank == rank;
    int32_t places[GANTRY_MAX_RANK], count = 0;
    for (int32_t d = 0; d < rank; ++d)
        if (keeps || !plan->is_reduced[d]) places[count++] = plan->is_reduced[d] ? rank : d;
    tensor *const sizes[] = {
        gantry_shape(scope, operand, GANTRY_INT64),
        gantry_constant(scope, GANTRY_INT64, GANTRY_SHAPE(1), &one, sizeof one)};
    return gantry_gather(scope, gantry_concat(scope, sizes, 2, 0),
                         gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(count), places,
                                         (size_t)count * sizeof *places),
                         0);
}

/* x, or inits where nothing is joined, in the shape of these sizes. */
static gantry_status_t reduce_shaped_as(const gantry__join_t *join, const reduce_plan_t *plan,
                                        tensor *sizes, tensor *const *inits, tensor **x) {
    const bool fills = plan->length == 0;
    for (uint32_t i = 0; i < join->count; ++i) {
        tensor *const of_fill[] = {sizes, inits[i]}, *const of_reshape[] = {x[i], sizes};
        size_t count = 1;
        (void)gantry_op_call(join->scope, fills ? "Fill" : "Reshape", fills ? of_fill : of_reshape,
                             2, NULL, 0, &x[i], &count);
    }
    return gantry__join_status(join);
}

static gantry_status_t reduce_by_plan(const gantry__join_t *join, const reduce_plan_t *plan,
                                      bool in_order, tensor *const *inits, tensor **x) {
    tensor *sizes = plan->is_flat ? reduce_sizes(join->scope, plan, x[0]) : NULL;
    if (sizes && plan->length == 0) return reduce_shaped_as(join, plan, sizes, inits, x);
    for (uint32_t i = 0; plan->moves && i < join->count; ++i)
        x[i] = gantry_transpose(join->scope, x[i], plan->perm);
    GANTRY__TRY(gantry__join_status(join));
    GANTRY__TRY(reduce_shaped(join, x, &plan->joined));
    if (plan->length == 0) {
        const int64_t none[GANTRY_MAX_RANK] = {0};
        int64_t paddings[2 * GANTRY_MAX_RANK] = {0};
        paddings[2 * plan->axis] = 1;
        GANTRY__TRY(gantry__join_pad(join, inits, paddings, none, x));
    } else {
        GANTRY__TRY(gantry__join_tree(join, x, plan->axis, in_order));
        GANTRY__TRY(gantry__join_inits(join, inits, x));
    }
    return sizes ? reduce_shaped_as(join, plan, sizes, inits, x)
                 : reduce_shaped(join, x, &plan->result);
}

static gantry_status_t reduce_joined(gantry__join_t *join, tensor *const *operands,
                                     tensor *const *inits,
                                     const gantry_reduce_body_options_t *given, tensor **x) {
    gantry_reduce_body_options_t options;
    reduce_plan_t plan = {.length = 0};
    GANTRY__TRY(gantry__struct_read(given, 0, &options, sizeof options, "options"));
    GANTRY__TRY(gantry__join_begin(join, operands));
    GANTRY__TRY(gantry__join_check_inits(join, operands, inits));
    GANTRY__TRY(reduce_make_plan(&options, &operands[0]->shape, &plan));
    gantry__join_copy(join, operands, x);
    return reduce_by_plan(join, &plan, options.in_order, inits, x);
}

gantry_status_t gantry_reduce_with_body(gantry_scope_t *scope, tensor *const *operands,
                                        tensor *const *inits, size_t count,
                                        gantry_function_body_fn body, void *user,
                                        const gantry_reduce_body_options_t *options,
                                        tensor **outputs) {
    GANTRY__OWN_FP_MODE(fp);
    gantry__join_t join =
        gantry__join_of("gantry_reduce_with_body", scope, body, user, count, outputs);
    gantry__joined_t x;
    const gantry_status_t status = reduce_joined(&join, operands, inits, options, x);
    return gantry__join_end(&join, status, x);
}
