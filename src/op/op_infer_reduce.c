/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of reductions, of ArgMax and of Softmax. */
#include "op/op_infer.h"

/* The axes as a mask of dimensions; each occurs once, negative ones count from the end. */
static gantry_status_t read_axes(gantry__infer_t *call, int32_t rank, uint32_t *out_mask) {
    gantry__host_ints_t axes;
    GANTRY__TRY(gantry__infer_ints(call, 1, &axes));
    uint32_t mask = 0;
    for (int64_t i = 0; i < axes.count; ++i) {
        int64_t axis = gantry__host_int(&axes, i);
        if (axis < -rank || axis >= rank) {
            return gantry__refuse(
                "Invalid reduction dimension (%lld for input with %d dimension(s)", (long long)axis,
                (int)rank);
        }
        uint32_t bit = UINT32_C(1) << (axis < 0 ? axis + rank : axis);
        if (mask & bit) {
            return gantry__refuse(
                "Invalid reduction arguments: Axes contains duplicate dimension: %lld",
                (long long)(axis < 0 ? axis + rank : axis));
        }
        mask |= bit;
    }
    *out_mask = mask;
    return GANTRY_OK;
}

/* Infers the shape without the axes, of which only the number is known: each occurs once. */
static gantry_status_t reduce_unknown(gantry__infer_t *call, bool keep) {
    const gantry_shape_t *input = call->shapes[0];
    const int64_t count = gantry_shape_elements(call->shapes[1]);
    if (count > input->rank) {
        return gantry__refuse("Invalid reduction arguments: %lld axes of %d dimension(s)",
                              (long long)count, (int)input->rank);
    }
    if (count < 0 && !keep) return gantry__fail_open_rank(call, 1);
    call->out_shapes[0] = gantry__shape_open(input->rank - (keep ? 0 : (int32_t)count));
    return GANTRY_OK;
}

gantry_status_t gantry__infer_reduce(gantry__infer_t *call) {
    const gantry_shape_t *input = call->shapes[0];
    gantry_shape_t *out = &call->out_shapes[0];
    bool keep = gantry__infer_attr(call, "keep_dims")->i != 0;
    uint32_t mask = 0;
    if (gantry__infer_is_open(call, 1)) return reduce_unknown(call, keep);
    GANTRY__TRY(read_axes(call, input->rank, &mask));
    out->rank = 0;
    for (int32_t i = 0; i < input->rank; ++i) {
        bool reduced = (mask >> i & 1) != 0;
        if (!reduced || keep) out->dims[out->rank++] = reduced ? 1 : input->dims[i];
    }
    return GANTRY_OK;
}

gantry_status_t gantry__infer_arg_max(gantry__infer_t *call) {
    const gantry_shape_t *input = call->shapes[0];
    gantry_shape_t *out = &call->out_shapes[0];
    if (call->shapes[1]->rank != 0) {
        return gantry__refuse("dimension must be a scalar, but received tensor of shape: %s",
                              gantry__shape_text(call->shapes[1]).text);
    }
    int64_t axis = 0;
    bool is_open;
    GANTRY__TRY(gantry__infer_int_or_open(call, 1, &axis, &is_open));
    if (is_open && input->rank > 0) {
        *out = gantry__shape_open(input->rank - 1);
        return GANTRY_OK;
    }
    if (axis < -input->rank || axis >= input->rank) {
        return gantry__refuse("Expected dimension in the range [%d, %d), but got %lld",
                              -(int)input->rank, (int)input->rank, (long long)axis);
    }
    axis += axis < 0 ? input->rank : 0;
    if (input->dims[axis] == 0) {
        return gantry__refuse("Reduction axis %lld is empty in shape %s", (long long)axis,
                              gantry__shape_text(input).text);
    }
    GANTRY__TRY(gantry__infer_reach(call, "output_type", input->dims[axis] - 1));
    out->rank = 0;
    for (int32_t i = 0; i < input->rank; ++i) {
        if (i != axis) out->dims[out->rank++] = input->dims[i];
    }
    return GANTRY_OK;
}

gantry_status_t gantry__infer_softmax(gantry__infer_t *call) {
    if (call->shapes[0]->rank == 0) {
        return gantry__refuse("logits must have >= 1 dimension, got []");
    }
    return gantry__infer_same(call);
}
