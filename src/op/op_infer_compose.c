/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of ops that run other ops and belong to no other family: ops that return shapes, Eye,
 * EmbeddingLookup, BooleanMask; and of LinSpace. */
#include "op/op_infer.h"

/* ---- shapes ---- */

static gantry_status_t fail_wide(const char *what, int64_t value) {
    return gantry__refuse("output type is 32-bit but %s is %lld", what, (long long)value);
}

gantry_status_t gantry__infer_shape_of(gantry__infer_t *call) {
    const gantry_shape_t *input = call->shapes[0];
    for (int32_t i = 0; i < input->rank; ++i) {
        if (call->out_dtypes[0] == GANTRY_INT32 && input->dims[i] > INT32_MAX)
            return fail_wide("a dimension", input->dims[i]);
    }
    call->out_shapes[0] = GANTRY_SHAPE(input->rank);
    return GANTRY_OK;
}

gantry_status_t gantry__infer_size(gantry__infer_t *call) {
    int64_t elements = gantry_shape_elements(call->shapes[0]);
    if (call->out_dtypes[0] == GANTRY_INT32 && elements > INT32_MAX)
        return fail_wide("the number of elements", elements);
    call->out_shapes[0] = GANTRY_SCALAR;
    return GANTRY_OK;
}

gantry_status_t gantry__infer_scalar(gantry__infer_t *call) {
    call->out_shapes[0] = GANTRY_SCALAR;
    return GANTRY_OK;
}

static gantry_status_t check_shape_inputs(const gantry__infer_t *call) {
    for (uint32_t i = 0; i < 2; ++i) {
        if (call->shapes[i]->rank != 1) {
            return gantry__refuse("In[%u] must be a vector.%s", (unsigned)i,
                                  gantry__shape_text(call->shapes[i]).text);
        }
        GANTRY__TRY(gantry__infer_rank_fits(call->shapes[i]->dims[0]));
    }
    return GANTRY_OK;
}

/* Sizes below 0, which no shape has, are numbers like others here. */
static bool is_broadcast_to(const gantry_shape_t *shape, const gantry_shape_t *both) {
    bool is = true;
    for (int32_t k = 0; k < shape->rank; ++k) {
        const int64_t size = shape->dims[k];
        is = is && (size == 1 || size == both->dims[both->rank - shape->rank + k]);
    }
    return is;
}

/* Reads two shapes on the host, and the shape that they broadcast to. */
static gantry_status_t read_broadcast(gantry__infer_t *call, gantry_shape_t shapes[2],
                                      gantry_shape_t *out_both) {
    GANTRY__TRY(check_shape_inputs(call));
    for (uint32_t i = 0; i < 2; ++i) {
        gantry__host_ints_t dims;
        GANTRY__TRY(gantry__infer_ints(call, i, &dims));
        shapes[i].rank = (int32_t)dims.count;
        for (int32_t k = 0; k < shapes[i].rank; ++k) shapes[i].dims[k] = gantry__host_int(&dims, k);
    }
    if (gantry__broadcast_shapes(&shapes[0], &shapes[1], out_both) &&
        is_broadcast_to(&shapes[0], out_both) && is_broadcast_to(&shapes[1], out_both))
        return GANTRY_OK;
    return gantry__refuse("Incompatible shapes: %s vs. %s", gantry__shape_text(&shapes[0]).text,
                          gantry__shape_text(&shapes[1]).text);
}

gantry_status_t gantry__broadcast_args(gantry__infer_t *call, gantry_shape_t *out_both) {
    gantry_shape_t shapes[2];
    return read_broadcast(call, shapes, out_both);
}

/* Whether one of the two shapes is not known. */
static bool is_shape_unknown(gantry__infer_t *call) {
    return gantry__infer_is_open(call, 0) || gantry__infer_is_open(call, 1);
}

gantry_status_t gantry__infer_broadcast_args(gantry__infer_t *call) {
    gantry_shape_t both;
    if (is_shape_unknown(call)) {
        GANTRY__TRY(check_shape_inputs(call));
        const int64_t first = call->shapes[0]->dims[0], second = call->shapes[1]->dims[0];
        call->out_shapes[0] = GANTRY_SHAPE(first < 0 || second < 0 ? -1
                                           : first > second        ? first
                                                                   : second);
        return GANTRY_OK;
    }
    GANTRY__TRY(gantry__broadcast_args(call, &both));
    call->out_shapes[0] = GANTRY_SHAPE(both.rank);
    return GANTRY_OK;
}

/* Equal shapes have no axes. Of others, each has the axes where its size is 1 or missing, even if
 * the other one's size is 1, too. */
gantry_status_t gantry__broadcast_gradient_args(gantry__infer_t *call, gantry_shape_t out_axes[2]) {
    gantry_shape_t shapes[2] = {GANTRY_SCALAR, GANTRY_SCALAR}, both;
    GANTRY__TRY(read_broadcast(call, shapes, &both));
    const bool is_equal = gantry_shape_equal(&shapes[0], &shapes[1]);
    for (int i = 0; i < 2; ++i) {
        const int32_t missing = both.rank - shapes[i].rank;
        out_axes[i].rank = 0;
        for (int32_t d = 0; d < both.rank && !is_equal; ++d) {
            if (d < missing || shapes[i].dims[d - missing] == 1)
                out_axes[i].dims[out_axes[i].rank++] = d;
        }
    }
    return GANTRY_OK;
}

gantry_status_t gantry__infer_broadcast_gradient_args(gantry__infer_t *call) {
    gantry_shape_t axes[2];
    if (is_shape_unknown(call)) {
        call->out_shapes[0] = call->out_shapes[1] = gantry__shape_open(1);
        return check_shape_inputs(call);
    }
    GANTRY__TRY(gantry__broadcast_gradient_args(call, axes));
    for (int i = 0; i < 2; ++i) call->out_shapes[i] = GANTRY_SHAPE(axes[i].rank);
    return GANTRY_OK;
}

/* ---- Eye, LinSpace ---- */

/* The first `count` inputs are scalars. */
static gantry_status_t check_scalars(const gantry__infer_t *call, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        if (call->shapes[i]->rank == 0) continue;
        return gantry__refuse("%s must be a scalar, not shape %s", call->op->inputs[i].name,
                              gantry__shape_text(call->shapes[i]).text);
    }
    return GANTRY_OK;
}

gantry_status_t gantry__infer_eye(gantry__infer_t *call) {
    const gantry_attr_t *batch = gantry__infer_attr(call, "batch_shape");
    gantry_shape_t *out = &call->out_shapes[0];
    GANTRY__TRY(check_scalars(call, 2));
    GANTRY__TRY(gantry__infer_rank_fits(batch->i));
    GANTRY__TRY(gantry__infer_rank_fits(batch->i + 2));
    out->rank = (int32_t)batch->i + 2;
    for (int32_t i = 0; i < (int32_t)batch->i; ++i) out->dims[i] = batch->list[i];
    bool is_open[2];
    for (uint32_t i = 0; i < 2; ++i)
        GANTRY__TRY(gantry__infer_int_or_open(call, i, &out->dims[batch->i + i], &is_open[i]));
    for (int32_t i = 0; i < out->rank; ++i) {
        if (out->dims[i] < 0)
            return gantry__refuse("Dimension %lld must be >= 0", (long long)out->dims[i]);
    }
    if (out->dims[out->rank - 1] > INT32_MAX)
        return gantry__refuse("num_columns is %lld; at most 2**31 - 1 is accepted",
                              (long long)out->dims[out->rank - 1]);
    for (uint32_t i = 0; i < 2; ++i) {
        if (is_open[i]) out->dims[batch->i + i] = -1;
    }
    return GANTRY_OK;
}

gantry_status_t gantry__infer_lin_space(gantry__infer_t *call) {
    int64_t num = 0;
    bool is_open;
    GANTRY__TRY(check_scalars(call, 3));
    GANTRY__TRY(gantry__infer_int_or_open(call, 2, &num, &is_open));
    if (num <= 0 && !is_open) return gantry__refuse("Requires num > 0: %lld", (long long)num);
    call->out_shapes[0] = GANTRY_SHAPE(is_open ? -1 : num);
    return GANTRY_OK;
}

/* ---- EmbeddingLookup ---- */

gantry_status_t gantry__infer_embedding_lookup(gantry__infer_t *call) {
    const gantry_shape_t *params = call->shapes[0], *ids = call->shapes[1];
    gantry_shape_t *out = &call->out_shapes[0];
    if (params->rank == 0) return gantry__refuse("params must be at least 1 dimensional");
    GANTRY__TRY(gantry__infer_rank_fits((int64_t)params->rank - 1 + ids->rank));
    *out = *ids;
    for (int32_t i = 1; i < params->rank; ++i) out->dims[out->rank++] = params->dims[i];
    return GANTRY_OK;
}

/* ---- BooleanMask ---- */

gantry_status_t gantry__infer_boolean_mask(gantry__infer_t *call) {
    const gantry_shape_t *tensor = call->shapes[0], *mask = call->shapes[1];
    gantry_shape_t *out = &call->out_shapes[0], covered = {.rank = 0};
    int64_t axis = gantry__infer_attr(call, "axis")->i;
    if (mask->rank == 0) return gantry__refuse("mask cannot be scalar.");
    if (axis < -tensor->rank || axis > tensor->rank) {
        return gantry__refuse("axis = %lld not in [%d, %d)", (long long)axis, -(int)tensor->rank,
                              (int)tensor->rank);
    }
    axis += axis < 0 ? tensor->rank : 0;
    for (int64_t i = axis; i < tensor->rank && i < axis + mask->rank; ++i)
        covered.dims[covered.rank++] = tensor->dims[i];
    if (!gantry__shapes_fit(&covered, mask)) {
        return gantry__refuse("Shapes %s and %s are incompatible",
                              gantry__shape_text(&covered).text, gantry__shape_text(mask).text);
    }
    out->rank = 0;
    for (int32_t i = 0; i < axis; ++i) out->dims[out->rank++] = tensor->dims[i];
    out->dims[out->rank++] = -1; /* as many as the mask has true elements */
    for (int32_t i = (int32_t)axis + mask->rank; i < tensor->rank; ++i)
        out->dims[out->rank++] = tensor->dims[i];
    return GANTRY_OK;
}
