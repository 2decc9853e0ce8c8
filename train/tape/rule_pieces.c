/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of ops that cut tensors, join them, and pad them. */
#include <string.h>

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

/* The slices of dy that are one input's, by their positions along the axis. */
static tensor *gather_part(const gantry__rule_call_t *c, size_t input, int32_t axis) {
    gantry_scope_t *s = c->scope;
    tensor *begin = gantry_scalar_i32(s, 0);
    for (size_t i = 0; i < input; ++i)
        begin = gantry_add(s, begin, gantry__rule_size(c, c->x[i], axis));
    tensor *end = gantry_add(s, begin, gantry__rule_size(c, c->x[input], axis));
    tensor *positions = gantry_range(s, begin, end, gantry_scalar_i32(s, 1));
    return gantry_gather(s, c->dy[0], positions, axis);
}

/* The part of dy that is one input's. */
static tensor *rule_pieces_cut(const gantry__rule_call_t *c, size_t input, int32_t axis) {
    const int64_t known = known_begin(c, input, axis);
    int64_t begin[GANTRY_MAX_RANK] = {0};
    if (known < 0) return gather_part(c, input, axis);
    begin[axis] = known;
    return gantry_slice(c->scope, c->dy[0], begin, gantry_tensor_shape(c->x[input])->dims);
}

/* The same along an axis that is not known; is_axis: a mask of it. */
static tensor *cut_where(const gantry__rule_call_t *c, size_t input, tensor *is_axis) {
    gantry_scope_t *s = c->scope;
    tensor *zero = gantry_scalar_i64(s, 0), *begin = zero;
    for (size_t i = 0; i < input; ++i)
        begin = gantry_add(s, begin, gantry__rule_sizes_where(c, is_axis, c->x[i]).open);
    tensor *inputs[] = {c->dy[0], gantry_select(s, is_axis, begin, zero),
                        gantry_shape(s, c->x[input], GANTRY_INT64)};
    return gantry__rule_op(c, "Slice", inputs, 3, NULL, 0);
}

static void rule_concat(gantry__rule_call_t *c) {
    const size_t count = c->record->input_count - 1;
    const int32_t rank = gantry_tensor_shape(c->y[0])->rank;
    int32_t axis;
    const bool is_known = gantry__rule_axis(c, count, rank, &axis);
    tensor *is_axis = is_known ? NULL : gantry__rule_is_axis(c, count, rank);
    for (size_t i = 0; i < count; ++i) {
        if (c->wants[i])
            c->dx[i] = count == 1 ? c->dy[0]
                       : is_known ? rule_pieces_cut(c, i, axis)
                                  : cut_where(c, i, is_axis);
    }
}

/* ---- splitting: the gradients of all parts are joined ---- */

static size_t gather_parts(gantry__rule_call_t *c, tensor **parts) {
    for (size_t i = 0; i < c->record->output_count; ++i) parts[i] = gantry__rule_dy(c, i);
    return c->record->output_count;
}

static void rule_pieces_join(gantry__rule_call_t *c, size_t value, size_t axis_input) {
    tensor *parts[GANTRY_MAX_OP_OUTPUTS + 1];
    const size_t count = gather_parts(c, parts);
    parts[count] = c->x[axis_input];
    c->dx[value] = count == 1 ? parts[0] : gantry__rule_op(c, "Concat", parts, count + 1, NULL, 0);
}

static void rule_split(gantry__rule_call_t *c) { rule_pieces_join(c, 1, 0); }

static void rule_split_v(gantry__rule_call_t *c) { rule_pieces_join(c, 0, 2); }

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

/* Pads by computed paddings: [before, after] for each dimension. */
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

static const char *const stride_attrs[] = {"begin_mask", "end_mask", "ellipsis_mask",
                                           "new_axis_mask", "shrink_axis_mask"};

/* The row-major positions of the elements of x, in its shape. */
static tensor *positions_of(const gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *range = gantry_range(s, gantry_scalar_i64(s, 0), gantry_size(s, c->x[0], GANTRY_INT64),
                                 gantry_scalar_i64(s, 1));
    return gantry__rule_reshape_like(c, range, c->x[0]);
}

/* With sizes that depend on data: the same pieces of the positions in x say where each element of
 * dy comes from. */
static tensor *put_back_pieces(gantry__rule_call_t *c) {
    tensor *inputs[] = {positions_of(c), c->x[1], c->x[2], c->x[3]};
    if (!inputs[0]) return NULL;
    tensor *places = gantry__rule_again(c, "StridedSlice", inputs, stride_attrs,
                                        GANTRY__RULE_COUNT(stride_attrs));
    return gantry__rule_put_back(c, c->dy[0], places, c->x[0]);
}

static void rule_strided_slice(gantry__rule_call_t *c) {
    if (gantry__rule_open_sizes(c->x[0]) > 0) {
        c->dx[0] = put_back_pieces(c);
        return;
    }
    tensor *shape = gantry_shape(c->scope, c->x[0], gantry_tensor_dtype(c->x[1]));
    tensor *inputs[] = {shape, c->x[1], c->x[2], c->x[3], c->dy[0]};
    c->dx[0] =
        gantry__rule_op(c, "StridedSliceGrad", inputs, 5, c->record->attrs, c->record->attr_count);
}

/* ---- boxes that begin where the device says ---- */

static void rule_dynamic_slice(gantry__rule_call_t *c) {
    c->dx[0] = gantry_dynamic_update_slice(c->scope, gantry_zeros_like(c->scope, c->x[0]), c->dy[0],
                                           c->x[1]);
}

static void rule_dynamic_update_slice(gantry__rule_call_t *c) {
    if (c->wants[0])
        c->dx[0] = gantry_dynamic_update_slice(c->scope, c->dy[0],
                                               gantry_zeros_like(c->scope, c->x[1]), c->x[2]);
    if (!c->wants[1]) return;
    tensor *inputs[] = {c->dy[0], c->x[2], gantry_shape(c->scope, c->x[1], GANTRY_INT64)};
    c->dx[1] = gantry__rule_op(c, "XlaDynamicSlice", inputs, 3, NULL, 0);
}

/* ---- paddings ---- */

/* The inside of dy, from both ends. */
static tensor *without_border(gantry__rule_call_t *c, const int64_t *paddings) {
    int64_t begin[GANTRY_MAX_RANK], end[GANTRY_MAX_RANK];
    gantry_strided_slice_options_t masks = {0};
    const int32_t rank = gantry_tensor_shape(c->x[0])->rank;
    for (int32_t d = 0; d < rank; ++d) {
        begin[d] = paddings[2 * d];
        end[d] = -paddings[2 * d + 1];
        if (end[d] == 0) masks.end_mask |= 1 << d;
    }
    return rank == 0
               ? c->dy[0]
               : gantry_strided_slice(c->scope, c->dy[0], begin, end, NULL, (size_t)rank, &masks);
}

/* The same with paddings that are not known, by the size of x. */
static tensor *slice_inside(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    const int32_t rank = gantry_tensor_shape(c->x[0])->rank;
    tensor *before = gantry_slice(s, c->x[1], (int64_t[]){0, 0}, (int64_t[]){rank, 1});
    tensor *inputs[] = {c->dy[0], gantry_reshape(s, before, GANTRY_SHAPE(rank)),
                        gantry_shape(s, c->x[0], gantry_tensor_dtype(c->x[1]))};
    return gantry__rule_op(c, "Slice", inputs, 3, NULL, 0);
}

/* What is cut of the border is put back as zeros, by paddings that are not known, and every so many
 * elements are those of x. */
static tensor *uncut(gantry__rule_call_t *c, const int64_t *steps, int32_t rank) {
    const gantry_attr_value_t crop = {.name = "crop", .kind = GANTRY_ATTR_BOOL, .i = 1};
    const gantry_strided_slice_options_t all = {
        .struct_size = sizeof all, .begin_mask = 0xff, .end_mask = 0xff};
    tensor *inputs[] = {c->dy[0], gantry_neg(c->scope, c->x[1])};
    tensor *whole = gantry__rule_op(c, "Pad", inputs, 2, &crop, 1);
    return gantry_strided_slice(c->scope, whole, NULL, NULL, steps, (size_t)rank, &all);
}

/* Along a dimension, element i of x, of `size`, is element i * step + before of y, of `kept`. Finds
 * the first one that y has, its place there, and how many follow each other. */
static int64_t find_kept(int64_t size, int64_t step, int64_t before, int64_t kept,
                         int64_t *out_first, int64_t *out_place) {
    const uint64_t cut = before < 0 ? 0 - (uint64_t)before : 0, rest = cut % (uint64_t)step;
    const uint64_t first = cut / (uint64_t)step + (rest > 0);
    *out_place = before >= 0 ? before : rest > 0 ? step - (int64_t)rest : 0;
    *out_first = first < (uint64_t)size ? (int64_t)first : size;
    if (*out_first == size || *out_place >= kept) return 0;
    const int64_t there = (kept - 1 - *out_place) / step + 1, left = size - *out_first;
    return there < left ? there : left;
}

/* Takes the elements of x out of dy, then puts zeros in the places of those that were cut: neither
 * tensor is larger than dy and x. */
static tensor *without_spaces(gantry__rule_call_t *c, const gantry_attr_value_t *interior) {
    int64_t paddings[2 * GANTRY_MAX_RANK] = {0}, begin[GANTRY_MAX_RANK], end[GANTRY_MAX_RANK],
                         steps[GANTRY_MAX_RANK], around[2 * GANTRY_MAX_RANK];
    const gantry_shape_t *x = gantry_tensor_shape(c->x[0]), *y = gantry_tensor_shape(c->dy[0]);
    size_t count;
    bool is_empty = false;
    for (int32_t d = 0; d < x->rank; ++d) {
        const int64_t spaces = interior->i > 0 ? interior->list[d] : 0;
        steps[d] = spaces < INT64_MAX ? spaces + 1 : INT64_MAX;
    }
    if (!gantry__rule_knows_ints(c, 1, paddings, 2 * GANTRY_MAX_RANK, &count) ||
        gantry__rule_open_sizes(c->x[0]) + gantry__rule_open_sizes(c->dy[0]) > 0)
        return uncut(c, steps, x->rank);
    for (int32_t d = 0; d < x->rank; ++d) {
        int64_t first;
        const int64_t found =
            find_kept(x->dims[d], steps[d], paddings[2 * d], y->dims[d], &first, &begin[d]);
        is_empty = is_empty || found == 0;
        end[d] = found > 0 ? begin[d] + (found - 1) * steps[d] + 1 : begin[d];
        around[2 * d] = first;
        around[2 * d + 1] = x->dims[d] - first - found;
    }
    if (is_empty) return gantry_zeros_like(c->scope, c->x[0]);
    tensor *taken =
        gantry_strided_slice(c->scope, c->dy[0], begin, end, steps, (size_t)x->rank, NULL);
    return gantry_pad(c->scope, taken, around, NULL);
}

/* The border repeats elements: the same border of the positions in x says where each element of dy
 * comes from. */
static tensor *sum_repeated(gantry__rule_call_t *c) {
    static const char *const attrs[] = {"mode", "crop"};
    tensor *positions[4] = {positions_of(c), c->x[1]};
    tensor *places = positions[0] ? gantry__rule_again(c, "Pad", positions, attrs, 2) : NULL;
    return gantry__rule_put_back(c, c->dy[0], places, c->x[0]);
}

static void rule_pad(gantry__rule_call_t *c) {
    const gantry_attr_value_t *interior = gantry__rule_attr(c, "interior");
    int64_t paddings[2 * GANTRY_MAX_RANK];
    size_t count;
    if (!c->wants[0]) return;
    if (strcmp(gantry__rule_attr(c, "mode")->s, "CONSTANT") != 0)
        c->dx[0] = sum_repeated(c);
    else if (interior->i > 0 || gantry__rule_attr_int(c, "crop"))
        c->dx[0] = without_spaces(c, interior);
    else
        c->dx[0] = gantry__rule_knows_ints(c, 1, paddings, 2 * GANTRY_MAX_RANK, &count)
                       ? without_border(c, paddings)
                       : slice_inside(c);
}

static void rule_mirror_pad(gantry__rule_call_t *c) {
    static const char *const mode[] = {"mode"};
    c->dx[0] = gantry__rule_again(c, "MirrorPadGrad", (tensor *[4]){c->dy[0], c->x[1]}, mode, 1);
}

const gantry__rule_t gantry__rules_pieces[] = {{"Concat", rule_concat},
                                               {"MirrorPad", rule_mirror_pad},
                                               {"Pack", rule_pack},
                                               {"Pad", rule_pad},
                                               {"Slice", rule_slice},
                                               {"Split", rule_split},
                                               {"SplitV", rule_split_v},
                                               {"StridedSlice", rule_strided_slice},
                                               {"Unpack", rule_unpack},
                                               {"XlaDynamicSlice", rule_dynamic_slice},
                                               {"XlaDynamicUpdateSlice", rule_dynamic_update_slice},
                                               {NULL, NULL}};
