/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which a body joins a sequence, x[0] to x[n - 1], the elements along an axis. All
 * sequences of a tensor are joined by the same calls.
 *
 * The order of sums, that of kernels/reduce/reduce.cl, where a lane without elements is left out:
 *
 *   chunk   x is cut into chunks of 4096; the last one may be shorter.
 *   lane    in a chunk, lane l of 64 is x[l] joined with x[l + 64], x[l + 128], ... in this order.
 *   fold    lane l takes lane l + apart, for apart = 32, 16, 8, 4, 2, 1 and l < apart. Lane 0 is
 *           the chunk's result.
 *   levels  the chunks' results are a sequence of their own, until one is left.
 *
 * The whole chunks are joined together, with axes of chunks, rows and lanes:
 *
 *       [chunks][64 rows][64 lanes]    rows: 63 calls on [chunks][1][64]; fold: 6 on halves
 *
 * and the last, shorter one after them. So a level takes at most 63 + 6 calls for whole chunks and
 * 63 + 6 for the last one, one of them on a part of the lanes: 138 in all, n / 4096 elements go on.
 *
 * The order of neighbours: x[0] and x[1], x[2] and x[3], ... become a sequence of half the length,
 * to which an element without a neighbour goes unchanged, until one is left: calls as the logarithm
 * of the length to base 2, rounded up.
 *
 *       0 1 2 3 4 5 6  ->  01 23 45 6  ->  0123 456  ->  0123456
 */
#include <gantry/ops.h>

#include "function/join/join.h"

typedef const gantry_tensor_t tensor;

#define LANES 64
#define CHUNK 4096

/* Joins count elements at `right` to the first count of left, with its tensors, along an axis of
 * which left has more or as many. */
static gantry_status_t tree_part(const gantry__join_t *join, tensor **left, tensor *const *right,
                                 int32_t axis, int64_t count) {
    gantry__joined_t part, rest;
    const int64_t more = left[0]->shape.dims[axis] - count;
    if (more > 0) {
        GANTRY__TRY(gantry__join_slice(join, left, axis, 0, count, 1, part));
        GANTRY__TRY(gantry__join_slice(join, left, axis, count, more, 1, rest));
        gantry__join_drop(join, left);
        gantry__join_copy(join, part, left);
    }
    GANTRY__TRY(gantry__join_call(join, left, right, part));
    gantry__join_drop(join, left);
    if (more > 0) {
        GANTRY__TRY(gantry__join_concat(join, part, rest, axis, left));
        gantry__join_drop(join, part);
        gantry__join_drop(join, rest);
    } else {
        gantry__join_copy(join, part, left);
    }
    return GANTRY_OK;
}

/* Lanes of a chunk, with their tensors, become one. */
static gantry_status_t tree_fold(const gantry__join_t *join, tensor **lanes, int32_t axis) {
    for (int64_t apart = LANES / 2; apart > 0; apart /= 2) {
        const int64_t count = lanes[0]->shape.dims[axis] - apart;
        gantry__joined_t low, high;
        if (count <= 0) continue;
        GANTRY__TRY(gantry__join_slice(join, lanes, axis, apart, count, 1, high));
        GANTRY__TRY(gantry__join_slice(join, lanes, axis, 0, apart, 1, low));
        gantry__join_drop(join, lanes);
        GANTRY__TRY(tree_part(join, low, high, axis, count));
        gantry__join_drop(join, high);
        gantry__join_copy(join, low, lanes);
    }
    return GANTRY_OK;
}

/* Rows of `step` elements along an axis: the first of them, joined with the others in their order;
 * the last row may be shorter. */
static gantry_status_t tree_rows(const gantry__join_t *join, tensor *const *x, int32_t axis,
                                 int64_t step, tensor **out_row) {
    const int64_t length = x[0]->shape.dims[axis];
    GANTRY__TRY(gantry__join_slice(join, x, axis, 0, length < step ? length : step, 1, out_row));
    for (int64_t at = step; at < length; at += step) {
        const int64_t count = length - at < step ? length - at : step;
        gantry__joined_t row;
        GANTRY__TRY(gantry__join_slice(join, x, axis, at, count, 1, row));
        GANTRY__TRY(tree_part(join, out_row, row, axis, count));
        gantry__join_drop(join, row);
    }
    return GANTRY_OK;
}

/* The axis becomes several of these sizes, or the other way round; a size left open is -1. */
static gantry_status_t tree_reshape(const gantry__join_t *join, tensor **x, int32_t axis,
                                    int32_t old, const int64_t *sizes, int32_t count) {
    const gantry_shape_t from = x[0]->shape;
    gantry_shape_t to = {.rank = from.rank - old + count};
    for (int32_t d = 0; d < axis; ++d) to.dims[d] = from.dims[d];
    for (int32_t d = 0; d < count; ++d) to.dims[axis + d] = sizes[d];
    for (int32_t d = axis + old; d < from.rank; ++d) to.dims[d - old + count] = from.dims[d];
    for (uint32_t i = 0; i < join->count; ++i) {
        tensor *made = gantry_reshape(join->scope, x[i], to);
        gantry_tensor_drop(join->scope, x[i]);
        x[i] = made;
    }
    return gantry__join_status(join);
}

/* Each of the whole chunks along the axis becomes one element. */
static gantry_status_t tree_chunks(const gantry__join_t *join, tensor **x, int32_t axis) {
    const int64_t chunks = x[0]->shape.dims[axis] / CHUNK;
    gantry__joined_t lanes;
    GANTRY__TRY(tree_reshape(join, x, axis, 1, (int64_t[]){chunks, CHUNK / LANES, LANES}, 3));
    GANTRY__TRY(tree_rows(join, x, axis + 1, 1, lanes));
    gantry__join_drop(join, x);
    GANTRY__TRY(tree_fold(join, lanes, axis + 2));
    GANTRY__TRY(tree_reshape(join, lanes, axis, 3, &chunks, 1));
    gantry__join_copy(join, lanes, x);
    return GANTRY_OK;
}

/* A sequence of at most a chunk becomes one element. */
static gantry_status_t tree_short(const gantry__join_t *join, tensor **x, int32_t axis) {
    gantry__joined_t lanes;
    GANTRY__TRY(tree_rows(join, x, axis, LANES, lanes));
    gantry__join_drop(join, x);
    GANTRY__TRY(tree_fold(join, lanes, axis));
    gantry__join_copy(join, lanes, x);
    return GANTRY_OK;
}

/* Each chunk becomes one element. */
static gantry_status_t tree_level(const gantry__join_t *join, tensor **x, int32_t axis) {
    const int64_t length = x[0]->shape.dims[axis], rest = length % CHUNK;
    gantry__joined_t last, whole;
    if (length <= CHUNK) return tree_short(join, x, axis);
    if (rest == 0) return tree_chunks(join, x, axis);
    GANTRY__TRY(gantry__join_slice(join, x, axis, 0, length - rest, 1, whole));
    GANTRY__TRY(gantry__join_slice(join, x, axis, length - rest, rest, 1, last));
    gantry__join_drop(join, x);
    GANTRY__TRY(tree_chunks(join, whole, axis));
    GANTRY__TRY(tree_short(join, last, axis));
    GANTRY__TRY(gantry__join_concat(join, whole, last, axis, x));
    gantry__join_drop(join, whole);
    gantry__join_drop(join, last);
    return GANTRY_OK;
}

static gantry_status_t tree_neighbours(const gantry__join_t *join, tensor **x, int32_t axis) {
    const int64_t length = x[0]->shape.dims[axis], pairs = length / 2;
    gantry__joined_t left, right, made, last;
    GANTRY__TRY(gantry__join_slice(join, x, axis, 0, pairs, 2, left));
    GANTRY__TRY(gantry__join_slice(join, x, axis, 1, pairs, 2, right));
    if (length % 2) GANTRY__TRY(gantry__join_slice(join, x, axis, length - 1, 1, 1, last));
    gantry__join_drop(join, x);
    GANTRY__TRY(gantry__join_call(join, left, right, made));
    gantry__join_drop(join, left);
    gantry__join_drop(join, right);
    gantry__join_copy(join, made, x);
    if (length % 2 == 0) return GANTRY_OK;
    GANTRY__TRY(gantry__join_concat(join, made, last, axis, x));
    gantry__join_drop(join, made);
    gantry__join_drop(join, last);
    return GANTRY_OK;
}

gantry_status_t gantry__join_tree(const gantry__join_t *join, tensor **x, int32_t axis,
                                  bool in_order) {
    while (x[0]->shape.dims[axis] > 1)
        GANTRY__TRY(in_order ? tree_neighbours(join, x, axis) : tree_level(join, x, axis));
    return GANTRY_OK;
}

/* Elementwise, so that it takes open sizes: init wherever x has an element. */
static tensor *spread_init(gantry_scope_t *scope, tensor *init, tensor *x) {
    if (x->shape.rank == 0) return init;
    const bool yes = true;
    return gantry_select(
        scope, gantry_constant(scope, GANTRY_BOOL, GANTRY_SCALAR, &yes, sizeof yes), init, x);
}

gantry_status_t gantry__join_spread(const gantry__join_t *join, tensor *const *inits,
                                    tensor *const *x, tensor **out) {
    for (uint32_t i = 0; i < join->count; ++i) out[i] = spread_init(join->scope, inits[i], x[i]);
    return gantry__join_status(join);
}

gantry_status_t gantry__join_inits(const gantry__join_t *join, tensor *const *inits, tensor **x) {
    gantry__joined_t left, made;
    GANTRY__TRY(gantry__join_spread(join, inits, x, left));
    GANTRY__TRY(gantry__join_call(join, left, x, made));
    gantry__join_drop(join, left);
    gantry__join_drop(join, x);
    gantry__join_copy(join, made, x);
    return GANTRY_OK;
}
