/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions of ops_shape.h. */
#include <gantry/ops.h>

#include "run/call_op.h"

typedef const gantry_tensor_t tensor;

#define MOST_ENTRIES 31 /* of a strided slice */

static tensor *add_i64(gantry__extras_t *extras, gantry_scope_t *scope, const int64_t *values,
                       size_t count, const char *what) {
    static const int64_t none = 0;
    if (!gantry__is_given(scope, values, count, what)) return NULL;
    return gantry__add_host(extras, scope, GANTRY_INT64, GANTRY_SHAPE((int64_t)count),
                            values ? values : &none);
}

static tensor *add_axes(gantry__extras_t *extras, gantry_scope_t *scope, const int32_t *axes,
                        size_t count, const char *what) {
    static const int32_t none = 0;
    if (!gantry__is_given(scope, axes, count, what)) return NULL;
    return gantry__add_host(extras, scope, GANTRY_INT32, GANTRY_SHAPE((int64_t)count),
                            axes ? axes : &none);
}

/* Adds the entries of a list; without a list each entry is `otherwise`. More entries than an op
 * takes are refused as missing. */
static tensor *add_entries(gantry__extras_t *extras, gantry_scope_t *scope, const int64_t *values,
                           size_t count, int64_t otherwise, const char *what) {
    int64_t filled[MOST_ENTRIES];
    for (size_t i = 0; i < MOST_ENTRIES; ++i) filled[i] = otherwise;
    return add_i64(extras, scope, values || count > MOST_ENTRIES ? values : filled, count, what);
}

tensor *gantry_strided_slice(gantry_scope_t *scope, tensor *x, const int64_t *begin,
                             const int64_t *end, const int64_t *strides, size_t entry_count,
                             const gantry_strided_slice_options_t *options) {
    gantry_strided_slice_options_t o;
    if (!GANTRY__TAKE_OPTIONS(scope, options, gantry_strided_slice_options_t, shrink_axis_mask, &o))
        return NULL;
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[4] = {x};
    const gantry_attr_value_t attrs[] = {gantry__attr_int("begin_mask", o.begin_mask),
                                         gantry__attr_int("end_mask", o.end_mask),
                                         gantry__attr_int("ellipsis_mask", o.ellipsis_mask),
                                         gantry__attr_int("new_axis_mask", o.new_axis_mask),
                                         gantry__attr_int("shrink_axis_mask", o.shrink_axis_mask)};
    inputs[1] = add_entries(&extras, scope, begin, entry_count, 0, "gantry_strided_slice: begin");
    inputs[2] = add_entries(&extras, scope, end, entry_count, 0, "gantry_strided_slice: end");
    inputs[3] =
        add_entries(&extras, scope, strides, entry_count, 1, "gantry_strided_slice: strides");
    return gantry__call_op(scope, GANTRY__OP_ID_StridedSlice, inputs, 4, attrs, 5, &extras);
}

static const char *pad_mode(gantry_pad_mode_t mode) {
    static const char *const texts[] = {"CONSTANT", "REFLECT", "SYMMETRIC", "EDGE", "WRAP"};
    return (unsigned)mode < 5 ? texts[mode] : "unknown";
}

tensor *gantry_pad(gantry_scope_t *scope, tensor *x, const int64_t *paddings,
                   const gantry_pad_options_t *options) {
    gantry_pad_options_t o;
    if (!GANTRY__TAKE_OPTIONS(scope, options, gantry_pad_options_t, value, &o)) return NULL;
    const bool is_plain = o.mode == GANTRY_PAD_CONSTANT && !o.crop && !o.interior;
    const bool mirrors = o.mode == GANTRY_PAD_REFLECT || o.mode == GANTRY_PAD_SYMMETRIC;
    const size_t interior_count = x && o.interior ? (size_t)x->shape.rank : 0;
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[3] = {x, NULL, o.value};
    static const int64_t none[2 * GANTRY_MAX_RANK];
    inputs[1] = gantry__add_host_of_rank(&extras, scope, x, paddings ? paddings : none, 2,
                                         "gantry_pad: paddings");
    const size_t count = o.value ? 3 : 2;
    if (is_plain) return gantry__call_op(scope, GANTRY__OP_ID_Pad, inputs, count, NULL, 0, &extras);
    const gantry_attr_value_t attrs[] = {gantry__attr_text("mode", pad_mode(o.mode)),
                                         gantry__attr_bool("crop", o.crop),
                                         gantry__attr_ints("interior", o.interior, interior_count)};
    if (mirrors && !o.crop && !o.interior) {
        return gantry__call_op(scope, GANTRY__OP_ID_MirrorPad, inputs, 2, attrs, 1, &extras);
    }
    return gantry__call_op(scope, GANTRY__OP_ID_Pad, inputs, count, attrs, 3, &extras);
}

tensor *gantry_tile(gantry_scope_t *scope, tensor *x, const int64_t *multiples) {
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[] = {
        x, gantry__add_host_of_rank(&extras, scope, x, multiples, 1, "gantry_tile: multiples")};
    return gantry__call_op(scope, GANTRY__OP_ID_Tile, inputs, 2, NULL, 0, &extras);
}

tensor *gantry_reverse(gantry_scope_t *scope, tensor *x, const int32_t *axes, size_t axis_count) {
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[] = {x, add_axes(&extras, scope, axes, axis_count, "gantry_reverse: axes")};
    return gantry__call_op(scope, GANTRY__OP_ID_Reverse, inputs, 2, NULL, 0, &extras);
}

tensor *gantry_roll(gantry_scope_t *scope, tensor *x, const int64_t *shifts, const int32_t *axes,
                    size_t axis_count) {
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[3] = {x};
    inputs[1] = add_i64(&extras, scope, shifts, axis_count, "gantry_roll: shifts");
    inputs[2] = add_axes(&extras, scope, axes, axis_count, "gantry_roll: axes");
    return gantry__call_op(scope, GANTRY__OP_ID_Roll, inputs, 3, NULL, 0, &extras);
}

static tensor *call_blocks(gantry_scope_t *scope, gantry__op_id_t id, tensor *x, int64_t block_size,
                           const char *data_format) {
    const gantry_attr_value_t attrs[] = {
        gantry__attr_int("block_size", block_size),
        gantry__attr_text("data_format", data_format ? data_format : "NHWC")};
    return gantry__call_op(scope, id, &x, 1, attrs, 2, NULL);
}

tensor *gantry_space_to_depth(gantry_scope_t *scope, tensor *x, int64_t block_size,
                              const char *data_format) {
    return call_blocks(scope, GANTRY__OP_ID_SpaceToDepth, x, block_size, data_format);
}

tensor *gantry_depth_to_space(gantry_scope_t *scope, tensor *x, int64_t block_size,
                              const char *data_format) {
    return call_blocks(scope, GANTRY__OP_ID_DepthToSpace, x, block_size, data_format);
}

static tensor *call_batch_blocks(gantry_scope_t *scope, gantry__op_id_t id, tensor *x,
                                 const int64_t *block_shape, size_t block_count,
                                 const int64_t *ends) {
    const int64_t none[2 * GANTRY_MAX_RANK] = {0}, count = (int64_t)block_count;
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[3] = {x};
    inputs[1] = add_i64(&extras, scope, block_shape, block_count,
                        id == GANTRY__OP_ID_SpaceToBatchND ? "gantry_space_to_batch: block_shape"
                                                           : "gantry_batch_to_space: block_shape");
    /* more blocks than dimensions are refused, whatever their paddings are */
    const int64_t given = ends || count <= GANTRY_MAX_RANK ? count : GANTRY_MAX_RANK;
    inputs[2] =
        gantry__add_host(&extras, scope, GANTRY_INT64, GANTRY_SHAPE(given, 2), ends ? ends : none);
    return gantry__call_op(scope, id, inputs, 3, NULL, 0, &extras);
}

tensor *gantry_space_to_batch(gantry_scope_t *scope, tensor *x, const int64_t *block_shape,
                              size_t block_count, const int64_t *paddings) {
    return call_batch_blocks(scope, GANTRY__OP_ID_SpaceToBatchND, x, block_shape, block_count,
                             paddings);
}

tensor *gantry_batch_to_space(gantry_scope_t *scope, tensor *x, const int64_t *block_shape,
                              size_t block_count, const int64_t *crops) {
    return call_batch_blocks(scope, GANTRY__OP_ID_BatchToSpaceND, x, block_shape, block_count,
                             crops);
}

tensor *gantry_invert_permutation(gantry_scope_t *scope, tensor *x) {
    return gantry__call_op(scope, GANTRY__OP_ID_InvertPermutation, &x, 1, NULL, 0, NULL);
}
