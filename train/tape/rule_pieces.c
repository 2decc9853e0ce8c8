/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of ops that cut tensors, join them, and pad them. */
#include "train/tape/rule_help.h"

typedef const gantry_tensor_t tensor;

/* ---- joining ---- */

/* Sizes that are known up to an input, along the axis. */
static int64_t known_begin(const gantry__rule_call_t *c, size_t input, int32_t axis) {
    int64_t begin = 0;
    for (size_t i = 0; i <= input; ++i) {
        const int64_t size = gantry_tensor_shape(c->x[i])->dims[axis];
        if (size < 0) return -1;
        begin += i < input ? size : 0;
    }
    return begin;
}

/* 1 at the axis, 0 elsewhere */
static tensor *unit(const gantry__rule_call_t *c, int32_t rank, int32_t axis) {
    int64_t values[GANTRY_MAX_RANK] = {0};
    values[axis] = 1;
    return gantry__rule_host_ints(c, values, (size_t)rank);
}

/* The part of dy that is one input's. */
static tensor *cut(const gantry__rule_call_t *c, size_t input, int32_t axis) {
    gantry_scope_t *s = c->scope;
    const gantry_shape_t *x = gantry_tensor_shape(c->x[input]);
    const int64_t known = known_begin(c, input, axis);
    if (known >= 0) {
        int64_t begin[GANTRY_MAX_RANK] = {0};
        begin[axis] = known;
        return gantry_slice(s, c->dy[0], begin, x->dims);
    }
    tensor *sizes = gantry_shape(s, c->x[input], GANTRY_INT32), *before = NULL;
    for (size_t i = 0; i < input; ++i) {
        tensor *shape = gantry_shape(s, c->x[i], GANTRY_INT32);
        before = before ? gantry_add(s, before, shape) : shape;
    }
    if (!before) before = gantry_zeros_like(s, sizes);
    tensor *begin = gantry_mul(s, before, unit(c, x->rank, axis));
    return gantry__rule_op(c, "Slice", (tensor *[]){c->dy[0], begin, sizes}, 3, NULL, 0);
}

static void rule_concat(gantry__rule_call_t *c) {
    const size_t count = c->record->input_count - 1;
    int32_t axis;
    if (!gantry__rule_axis(c, count, gantry_tensor_shape(c->y[0])->rank, &axis)) return;
    for (size_t i = 0; i < count; ++i) {
        if (c->wants[i]) c->dx[i] = count == 1 ? c->dy[0] : cut(c, i, axis);
    }
}

/* ---- splitting: the gradients of all parts are joined ---- */

static size_t gather_parts(gantry__rule_call_t *c, tensor **parts) {
    for (size_t i = 0; i < c->record->output_count; ++i) parts[i] = gantry__rule_dy(c, i);
    return c->record->output_count;
}

static void join(gantry__rule_call_t *c, size_t value, size_t axis_input) {
    tensor *parts[GANTRY_MAX_OP_OUTPUTS];
    int32_t axis;
    if (!gantry__rule_axis(c, axis_input, gantry_tensor_shape(c->x[value])->rank, &axis)) return;
    const size_t count = gather_parts(c, parts);
    c->dx[value] = count == 1 ? parts[0] : gantry_concat(c->scope, parts, count, axis);
}

static void rule_split(gantry__rule_call_t *c) { join(c, 1, 0); }

static void rule_split_v(gantry__rule_call_t *c) { join(c, 0, 2); }

static void rule_unpack(gantry__rule_call_t *c) {
    tensor *parts[GANTRY_MAX_OP_OUTPUTS];
    const size_t count = gather_parts(c, parts);
    if (count == 0)
        c->dx[0] = gantry_zeros_like(c->scope, c->x[0]);
    else
        c->dx[0] = gantry_pack(c->scope, parts, count, (int32_t)gantry__rule_attr_int(c, "axis"));
}

static void rule_pack(gantry__rule_call_t *c) {
    tensor *parts[GANTRY_MAX_OP_INPUTS] = {NULL};
    const size_t count = c->record->input_count;
    if (gantry_unpack(c->scope, c->dy[0], (int32_t)gantry__rule_attr_int(c, "axis"), parts,
                      count) != GANTRY_OK)
        return;
    for (size_t i = 0; i < count; ++i) {
        if (c->wants[i]) c->dx[i] = parts[i];
    }
}

/* ---- a box: zeros around it ---- */

/* Paddings that are computed: [before, behind] for each dimension. */
static tensor *pad_by_shapes(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *before = gantry_cast(s, c->x[1], GANTRY_INT32);
    tensor *behind = gantry_sub(s,
                                gantry_sub(s, gantry_shape(s, c->x[0], GANTRY_INT32),
                                           gantry_shape(s, c->dy[0], GANTRY_INT32)),
                                before);
    tensor *paddings = gantry_pack(s, (tensor *[]){before, behind}, 2, 1);
    return gantry__rule_op2(c, "Pad", c->dy[0], paddings);
}

static void rule_slice(gantry__rule_call_t *c) {
    int64_t begin[GANTRY_MAX_RANK], paddings[2 * GANTRY_MAX_RANK];
    size_t count;
    const gantry_shape_t *x = gantry_tensor_shape(c->x[0]), *dy = gantry_tensor_shape(c->dy[0]);
    if (gantry__rule_open_sizes(c->x[0]) > 0 || gantry__rule_open_sizes(c->dy[0]) > 0 ||
        !gantry__rule_knows_ints(c, 1, begin, GANTRY_MAX_RANK, &count)) {
        c->dx[0] = pad_by_shapes(c);
        return;
    }
    for (int32_t d = 0; d < x->rank; ++d) {
        paddings[2 * d] = begin[d];
        paddings[2 * d + 1] = x->dims[d] - dy->dims[d] - begin[d];
    }
    c->dx[0] = gantry_pad(c->scope, c->dy[0], paddings, NULL);
}

static void rule_strided_slice(gantry__rule_call_t *c) {
    tensor *shape = gantry_shape(c->scope, c->x[0], gantry_tensor_dtype(c->x[1]));
    tensor *inputs[] = {shape, c->x[1], c->x[2], c->x[3], c->dy[0]};
    c->dx[0] =
        gantry__rule_op(c, "StridedSliceGrad", inputs, 5, c->record->attrs, c->record->attr_count);
}

/* ---- paddings ---- */

static void rule_pad(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    int64_t paddings[2 * GANTRY_MAX_RANK], begin[GANTRY_MAX_RANK];
    size_t count;
    const gantry_shape_t *x = gantry_tensor_shape(c->x[0]);
    if (!c->wants[0]) return;
    if (gantry__rule_open_sizes(c->x[0]) == 0 &&
        gantry__rule_knows_ints(c, 1, paddings, 2 * GANTRY_MAX_RANK, &count)) {
        for (int32_t d = 0; d < x->rank; ++d) begin[d] = paddings[2 * d];
        c->dx[0] = gantry_slice(s, c->dy[0], begin, x->dims);
        return;
    }
    tensor *first = gantry_slice(s, c->x[1], (int64_t[]){0, 0}, (int64_t[]){x->rank, 1});
    first = gantry_reshape(s, gantry_cast(s, first, GANTRY_INT32), GANTRY_SHAPE(x->rank));
    tensor *inputs[] = {c->dy[0], first, gantry_shape(s, c->x[0], GANTRY_INT32)};
    c->dx[0] = gantry__rule_op(c, "Slice", inputs, 3, NULL, 0);
}

static void rule_mirror_pad(gantry__rule_call_t *c) {
    static const char *const mode[] = {"mode"};
    c->dx[0] = gantry__rule_again(c, "MirrorPadGrad", (tensor *[4]){c->dy[0], c->x[1]}, mode, 1);
}

const gantry__rule_t gantry__rules_pieces[] = {
    {"Concat", rule_concat},  {"MirrorPad", rule_mirror_pad},
    {"Pack", rule_pack},      {"Pad", rule_pad},
    {"Slice", rule_slice},    {"Split", rule_split},
    {"SplitV", rule_split_v}, {"StridedSlice", rule_strided_slice},
    {"Unpack", rule_unpack},  {NULL, NULL}};
