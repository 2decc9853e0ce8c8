/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of StridedSlice and MirrorPad, of ops that move elements.
 *
 * A slice of stride 1 is padded with zeros, in one pass. A stride below 0 is a Reverse before that.
 * A stride s of another size moves n elements apart first: as rows of one element each they are
 * joined with rows of s - 1 zeros, and the n * s elements are the dimension. (Concat is several
 * times as fast as Pad for rows of one element.) The last dimension comes first, while there are
 * few rows.
 *
 *     a b c     a 0 0     a 0 0 b 0 0 c 0 0     0 a 0 0 b 0 0 c 0
 *               b 0 0
 *               c 0 0        one row             placed, and cut where the dimension ends
 *
 * The sums of MirrorPadGrad are TensorFlow's, in its order: dimension after dimension, the border
 * before the middle first. Only the elements that a border mirrors are added to it; the others of
 * the middle are copied once per dimension. */
#include <gantry/ops.h>

#include <string.h>

#include "op/op_infer.h"
#include "run/call_op.h"
#include "compose/compose.h"
#include "run/tensor_state.h"

typedef const gantry_tensor_t tensor;

/* ---- StridedSliceGrad ---- */

/* The elements of x, whose shape this is, with their dimension d `stride` apart; `most` is how many
 * places the dimension may have. */
static tensor *move_apart(const gantry__compose_t *c, tensor *x, gantry_shape_t *shape, int32_t d,
                          int64_t stride, int64_t most) {
    const int64_t count = shape->dims[d];
    int64_t rows = 1, inner = 1, from[GANTRY_MAX_RANK] = {0};
    for (int32_t i = 0; i <= d; ++i) rows *= shape->dims[i];
    for (int32_t i = d + 1; i < shape->rank; ++i) inner *= shape->dims[i];
    tensor *both[] = {
        gantry_reshape(c->scope, x, GANTRY_SHAPE(rows, inner)),
        gantry_zeros(c->scope, c->call->out_dtypes[0], GANTRY_SHAPE(rows, (stride - 1) * inner))};
    x = gantry_concat(c->scope, both, 2, 1);
    shape->dims[d] = count * stride;
    x = gantry_reshape(c->scope, x, *shape);
    if (shape->dims[d] <= most) return x;
    shape->dims[d] = most;
    return gantry_slice(c->scope, x, from, shape->dims);
}

/* Makes all strides positive. */
static tensor *turn_forward(const gantry__compose_t *c, tensor *x, gantry__range_t *ranges,
                            int32_t rank) {
    int32_t axes[GANTRY_MAX_RANK], count = 0;
    for (int32_t d = 0; d < rank; ++d) {
        if (ranges[d].count <= 1) ranges[d].stride = 1;
        if (ranges[d].stride > 0) continue;
        ranges[d].begin += (ranges[d].count - 1) * ranges[d].stride;
        ranges[d].stride = -ranges[d].stride;
        axes[count++] = d;
    }
    return count > 0 ? gantry_reverse(c->scope, x, axes, (size_t)count) : x;
}

static tensor *place(const gantry__compose_t *c, gantry__range_t *ranges,
                     const gantry_shape_t *whole) {
    gantry_shape_t shape = {.rank = whole->rank};
    int64_t paddings[2 * GANTRY_MAX_RANK];
    bool is_whole = true;
    for (int32_t d = 0; d < whole->rank; ++d) shape.dims[d] = ranges[d].count;
    tensor *x = gantry_reshape(c->scope, c->inputs[4], shape);
    x = turn_forward(c, x, ranges, whole->rank);
    for (int32_t d = whole->rank - 1; d >= 0; --d) {
        const int64_t most = whole->dims[d] - ranges[d].begin;
        if (ranges[d].stride > 1) x = move_apart(c, x, &shape, d, ranges[d].stride, most);
        paddings[2 * d] = ranges[d].begin;
        paddings[2 * d + 1] = most - shape.dims[d];
        is_whole = is_whole && shape.dims[d] == whole->dims[d];
    }
    return is_whole ? x : gantry_pad(c->scope, x, paddings, NULL);
}

void gantry__compose_strided_slice_grad(const gantry__compose_t *c) {
    const gantry_shape_t whole = c->call->out_shapes[0];
    gantry__range_t ranges[GANTRY_MAX_RANK];
    gantry_shape_t slice;
    gantry_status_t status = gantry__slice_ranges(c->call, &whole, ranges, &slice);
    if (status != GANTRY_OK) {
        (void)gantry__scope_fail(c->scope, status);
        return;
    }
    /* in steps between, a dimension may have up to twice as many elements; no memory has so many */
    const bool is_huge = gantry_shape_elements(&whole) > INT64_MAX / 16;
    c->outputs[0] = c->inputs[4]->elements == 0 || is_huge
                        ? gantry_zeros(c->scope, c->call->out_dtypes[0], whole)
                        : place(c, ranges, &whole);
}

/* ---- MirrorPadGrad ---- */

/* One dimension, of the input or of the result of the dimensions before it. */
typedef struct fold_t {
    const gantry__compose_t *c;
    tensor *x;
    gantry_shape_t shape; /* the shape of x */
    int32_t axis;
    int64_t before, after, size; /* sizes of the borders and of the middle */
    int64_t apart;               /* elements between a border and the first that it mirrors */
} fold_t;

static tensor *cut(const fold_t *fold, int64_t from, int64_t count) {
    gantry_shape_t size = fold->shape;
    int64_t begin[GANTRY_MAX_RANK] = {0};
    begin[fold->axis] = from;
    size.dims[fold->axis] = count;
    return gantry_slice(fold->c->scope, fold->x, begin, size.dims);
}

static tensor *add_mirrored(const fold_t *fold, tensor *sum, int64_t from, int64_t count) {
    gantry_scope_t *scope = fold->c->scope;
    tensor *mirrored = cut(fold, from, count);
    if (count > 1) mirrored = gantry_reverse(scope, mirrored, &fold->axis, 1);
    return gantry_add(scope, sum, gantry_tensor_donate(scope, mirrored));
}

/* Makes adjacent elements of the result, of which a border mirrors all or none. */
static tensor *fold_part(const fold_t *fold, int64_t from, int64_t to) {
    const int64_t count = to - from, last = fold->size - fold->apart;
    tensor *sum = cut(fold, fold->before + from, count);
    if (from >= fold->apart && to <= fold->apart + fold->before)
        sum = add_mirrored(fold, sum, fold->before + fold->apart - to, count);
    if (from >= last - fold->after && to <= last)
        sum = add_mirrored(fold, sum, fold->before + fold->size + last - to, count);
    return sum;
}

/* The end of the part that begins at from. */
static int64_t part_end(const fold_t *fold, int64_t from) {
    const int64_t last = fold->size - fold->apart;
    const int64_t ends[] = {fold->before > 0 ? fold->apart : 0,
                            fold->before > 0 ? fold->apart + fold->before : 0,
                            fold->after > 0 ? last - fold->after : 0, fold->after > 0 ? last : 0};
    int64_t to = fold->size;
    for (int i = 0; i < 4; ++i) {
        if (ends[i] > from && ends[i] < to) to = ends[i];
    }
    return to;
}

static tensor *fold_axis(const fold_t *fold) {
    tensor *parts[5];
    size_t count = 0;
    for (int64_t from = 0; from < fold->size;) {
        const int64_t to = part_end(fold, from);
        parts[count++] = fold_part(fold, from, to);
        from = to;
    }
    return count == 1 ? parts[0] : gantry_concat(fold->c->scope, parts, count, fold->axis);
}

void gantry__compose_mirror_pad_grad(const gantry__compose_t *c) {
    const bool reflects = strcmp(gantry__infer_attr(c->call, "mode")->s, "REFLECT") == 0;
    fold_t fold = {
        .c = c, .x = c->inputs[0], .shape = c->inputs[0]->shape, .apart = reflects ? 1 : 0};
    gantry__host_ints_t paddings;
    gantry_status_t status = gantry__infer_ints(c->call, 1, &paddings);
    if (status != GANTRY_OK) {
        (void)gantry__scope_fail(c->scope, status);
        return;
    }
    for (fold.axis = 0; fold.axis < fold.shape.rank; ++fold.axis) {
        fold.before = gantry__host_int(&paddings, 2 * fold.axis);
        fold.after = gantry__host_int(&paddings, 2 * fold.axis + 1);
        fold.size = c->call->out_shapes[0].dims[fold.axis];
        if (fold.before == 0 && fold.after == 0) continue;
        fold.x = fold_axis(&fold);
        fold.shape.dims[fold.axis] = fold.size;
    }
    c->outputs[0] = fold.x;
}
