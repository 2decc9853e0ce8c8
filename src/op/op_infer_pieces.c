/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of ops that join pieces or take them out: Concat, Slice, Gather, OneHot. */
#include "op/op_infer.h"

/* ---- Concat ---- */

/* Joins input i with the result of those before it; axis -1: not known. */
static gantry_status_t join_one(gantry__infer_t *call, uint32_t i, int64_t axis) {
    const gantry_shape_t *first = call->shapes[0], *other = call->shapes[i];
    gantry_shape_t *out = &call->out_shapes[0];
    if (other->rank != first->rank) {
        return gantry__refuse(
            "Ranks of all input tensors should match: shape[0] = %s vs. shape[%u] = %s",
            gantry__shape_text(first).text, (unsigned)i, gantry__shape_text(other).text);
    }
    for (int32_t k = 0; axis >= 0 && k < first->rank; ++k) {
        if (k == axis || gantry__merge_sizes(&out->dims[k], other->dims[k])) continue;
        return gantry__refuse(
            "Dimension %d in both shapes must be equal: shape[0] = %s vs. shape[%u] = %s", (int)k,
            gantry__shape_text(first).text, (unsigned)i, gantry__shape_text(other).text);
    }
    return GANTRY_OK;
}

gantry_status_t gantry__infer_concat(gantry__infer_t *call) {
    const gantry_shape_t *first = call->shapes[0];
    uint32_t count = call->input_count - 1;
    gantry_shape_t *out = &call->out_shapes[0];
    int64_t axis = 0;
    bool is_open;
    GANTRY__TRY(gantry__infer_int_or_open(call, count, &axis, &is_open));
    if (first->rank == 0) {
        return gantry__refuse("Can't concatenate scalars (expand them to vectors, or stack)");
    }
    if (axis < -first->rank || axis >= first->rank) {
        return gantry__refuse(
            "Expected concatenating dimensions in the range [%d, %d), but got %lld",
            -(int)first->rank, (int)first->rank, (long long)axis);
    }
    axis += axis < 0 ? first->rank : 0;
    *out = is_open ? gantry__shape_open(first->rank) : *first;
    for (uint32_t i = 1; i < count; ++i) {
        GANTRY__TRY(join_one(call, i, is_open ? -1 : axis));
        int64_t more = call->shapes[i]->dims[axis];
        if (out->dims[axis] > 0 && more > INT64_MAX - out->dims[axis]) {
            return gantry__refuse("the sizes along dimension %lld add up to more than 2**63 - 1",
                                  (long long)axis);
        }
        out->dims[axis] = gantry__size_add(out->dims[axis], more);
    }
    return GANTRY_OK;
}

/* ---- pieces that are adjacent ---- */

void gantry__piece_extend(gantry__piece_t *piece, int64_t size, int64_t begin, int64_t count,
                          int64_t stride) {
    piece->first = piece->first * (uint64_t)size + (uint64_t)begin;
    piece->is_apart |= count != 1 && stride != 1;
    /* only the outermost dimension with several rows may be partial */
    piece->is_apart |= count != size && piece->has_rows;
    piece->has_rows |= count != 1;
}

/* ---- Slice ---- */

/* most: -1 for an open end. */
static gantry_status_t fail_slice(const char *what, int32_t axis, int64_t most, int64_t given) {
    if (most < 0) {
        return gantry__refuse("Expected %s[%d] of at least 0, but got %lld", what, (int)axis,
                              (long long)given);
    }
    return gantry__refuse("Expected %s[%d] in [0, %lld], but got %lld", what, (int)axis,
                          (long long)most, (long long)given);
}

/* Slices one dimension, of `size`; *from is NULL: not known. */
static gantry_status_t slice_one(int32_t axis, int64_t size, const int64_t *from, int64_t length,
                                 int64_t *out_count) {
    if (from && (*from < 0 || (size >= 0 && *from > size)))
        return fail_slice("begin", axis, size, *from);
    const int64_t rest = size < 0 || !from ? -1 : size - *from;
    const int64_t most = rest < 0 ? size : rest;
    if (length < -1 || (most >= 0 && length > most)) return fail_slice("size", axis, most, length);
    *out_count = length == -1 ? rest : length;
    return GANTRY_OK;
}

gantry_status_t gantry__infer_slice(gantry__infer_t *call) {
    const gantry_shape_t *input = call->shapes[0], *begins = call->shapes[1],
                         *sizes = call->shapes[2];
    gantry_shape_t *out = &call->out_shapes[0];
    gantry__host_ints_t begin = {.data = NULL}, size = {.data = NULL};
    if (begins->rank != 1 || sizes->rank != 1 || !gantry__sizes_fit(begins->dims[0], input->rank) ||
        !gantry__sizes_fit(sizes->dims[0], input->rank)) {
        return gantry__refuse(
            "Expected begin and size arguments to be 1-D tensors of size %d, but got shapes %s and %s instead.",
            (int)input->rank, gantry__shape_text(begins).text, gantry__shape_text(sizes).text);
    }
    if (!gantry__infer_is_open(call, 1)) GANTRY__TRY(gantry__infer_ints(call, 1, &begin));
    if (!gantry__infer_is_open(call, 2)) GANTRY__TRY(gantry__infer_ints(call, 2, &size));
    *out = gantry__shape_open(input->rank);
    gantry__piece_t piece = {.first = 0};
    for (int32_t i = 0; i < input->rank; ++i) {
        int64_t from = 0, length;
        const bool has_begin = gantry__infer_number(call, 1, &begin, i, &from);
        piece.is_apart |= !has_begin || (i > 0 && input->dims[i] < 0);
        if (gantry__infer_number(call, 2, &size, i, &length))
            GANTRY__TRY(
                slice_one(i, input->dims[i], has_begin ? &from : NULL, length, &out->dims[i]));
        gantry__piece_extend(&piece, input->dims[i], from, out->dims[i], 1);
    }
    if (!piece.is_apart) call->piece_first = (int64_t)piece.first;
    return GANTRY_OK;
}

/* ---- boxes that begin where the device says ---- */

/* Checks that there is a start for each dimension, and that the box is not larger than the whole in
 * any. */
static gantry_status_t check_box(const gantry__infer_t *call, const gantry_shape_t *box,
                                 const gantry_shape_t *starts) {
    const gantry_shape_t *whole = call->shapes[0];
    if (box->rank != whole->rank || starts->rank != 1 ||
        !gantry__sizes_fit(starts->dims[0], whole->rank))
        return gantry__refuse(
            "a box of %d dimensions with starts of shape %s does not fit input of %d dimensions; as many dimensions and starts as input has are accepted",
            (int)box->rank, gantry__shape_text(starts).text, (int)whole->rank);
    for (int32_t d = 0; d < whole->rank; ++d) {
        if (whole->dims[d] >= 0 && box->dims[d] > whole->dims[d])
            return gantry__refuse("dimension %d of the box is %lld; at most %lld is accepted",
                                  (int)d, (long long)box->dims[d], (long long)whole->dims[d]);
    }
    return GANTRY_OK;
}

gantry_status_t gantry__infer_dynamic_slice(gantry__infer_t *call) {
    GANTRY__TRY(gantry__infer_dims(call, 2, false, &call->out_shapes[0]));
    return check_box(call, &call->out_shapes[0], call->shapes[1]);
}

gantry_status_t gantry__infer_dynamic_update_slice(gantry__infer_t *call) {
    call->out_shapes[0] = *call->shapes[0];
    return check_box(call, call->shapes[1], call->shapes[2]);
}

/* ---- Gather ---- */

/* Reads the axis; -1: it is not known. */
static gantry_status_t read_gather_axis(gantry__infer_t *call, int32_t *out_axis) {
    const gantry_shape_t *params = call->shapes[0];
    int64_t axis = 0;
    if (call->shapes[2]->rank != 0) {
        return gantry__refuse("axis must be scalar, got shape %s",
                              gantry__shape_text(call->shapes[2]).text);
    }
    if (params->rank == 0) {
        return gantry__refuse("params must be at least 1 dimensional");
    }
    bool is_open;
    GANTRY__TRY(gantry__infer_int_or_open(call, 2, &axis, &is_open));
    *out_axis = -1;
    if (is_open) return GANTRY_OK;
    if (axis < -params->rank || axis >= params->rank) {
        return gantry__refuse("Expected axis in the range [%d, %d), but got %lld",
                              -(int)params->rank, (int)params->rank, (long long)axis);
    }
    *out_axis = (int32_t)axis + (axis < 0 ? params->rank : 0);
    return GANTRY_OK;
}

/* Dimensions that params and indices share in front; a negative number counts from indices' end. */
static gantry_status_t read_batch_dims(const gantry__infer_t *call, int32_t axis,
                                       int32_t *out_count) {
    const gantry_shape_t *params = call->shapes[0], *indices = call->shapes[1];
    int64_t count = gantry__infer_attr(call, "batch_dims")->i;
    if (count < -indices->rank || count > indices->rank) {
        return gantry__refuse("Expected batch_dims in the range [%d, %d], but got %lld",
                              -(int)indices->rank, (int)indices->rank, (long long)count);
    }
    count += count < 0 ? indices->rank : 0;
    if (count >= params->rank) {
        return gantry__refuse("batch_dims (%lld) must be less than rank(params) (%d).",
                              (long long)count, (int)params->rank);
    }
    if (axis >= 0 && count > axis) {
        return gantry__refuse("batch_dims (%lld) must be less than or equal to axis (%d).",
                              (long long)count, (int)axis);
    }
    for (int32_t i = 0; i < count; ++i) {
        if (gantry__sizes_fit(params->dims[i], indices->dims[i])) continue;
        return gantry__refuse("params.shape[%d]: %lld should be equal to indices.shape[%d]: %lld",
                              (int)i, (long long)params->dims[i], (int)i,
                              (long long)indices->dims[i]);
    }
    *out_count = (int32_t)count;
    return GANTRY_OK;
}

/* params[:axis] + indices[batch_dims:] + params[axis + 1:] */
gantry_status_t gantry__infer_gather(gantry__infer_t *call) {
    const gantry_shape_t *params = call->shapes[0], *indices = call->shapes[1];
    gantry_shape_t *out = &call->out_shapes[0];
    int32_t axis = 0, batch_dims = 0;
    GANTRY__TRY(read_gather_axis(call, &axis));
    GANTRY__TRY(read_batch_dims(call, axis, &batch_dims));
    GANTRY__TRY(gantry__infer_rank_fits((int64_t)params->rank - 1 + indices->rank - batch_dims));
    if (axis < 0) {
        *out = gantry__shape_open(params->rank - 1 + indices->rank - batch_dims);
        return GANTRY_OK;
    }
    out->rank = 0;
    for (int32_t i = 0; i < axis; ++i) out->dims[out->rank++] = params->dims[i];
    for (int32_t i = batch_dims; i < indices->rank; ++i) out->dims[out->rank++] = indices->dims[i];
    for (int32_t i = axis + 1; i < params->rank; ++i) out->dims[out->rank++] = params->dims[i];
    return GANTRY_OK;
}

/* ---- OneHot ---- */

static gantry_status_t check_one_hot_scalars(const gantry__infer_t *call) {
    for (uint32_t i = 1; i < 4; ++i) {
        if (call->shapes[i]->rank == 0) continue;
        return gantry__refuse("%s must be a scalar, but got: %s", call->op->inputs[i].name,
                              gantry__shape_text(call->shapes[i]).text);
    }
    return GANTRY_OK;
}

gantry_status_t gantry__infer_one_hot(gantry__infer_t *call) {
    const gantry_shape_t *indices = call->shapes[0];
    int64_t axis = gantry__infer_attr(call, "axis")->i, depth = 0;
    bool is_open;
    gantry_shape_t *out = &call->out_shapes[0];
    if (axis < -1 || axis > indices->rank) {
        return gantry__refuse("Expected axis to be -1 or between [0, %d).  But received: %lld",
                              (int)indices->rank + 1, (long long)axis);
    }
    GANTRY__TRY(check_one_hot_scalars(call));
    GANTRY__TRY(gantry__infer_int_or_open(call, 1, &depth, &is_open));
    if (depth < 0) {
        return gantry__refuse("depth must be non-negative, got: %lld", (long long)depth);
    }
    GANTRY__TRY(gantry__infer_rank_fits((int64_t)indices->rank + 1));
    axis = axis == -1 ? indices->rank : axis;
    if (is_open) depth = -1;
    out->rank = indices->rank + 1;
    for (int32_t i = 0; i < out->rank; ++i) {
        out->dims[i] = i < axis ? indices->dims[i] : i == axis ? depth : indices->dims[i - 1];
    }
    return GANTRY_OK;
}
