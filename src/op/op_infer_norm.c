/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of normalisation: Moments, BatchNorm, FusedBatchNorm and its gradients, LayerNorm,
 * RMSNorm, GroupNorm, InstanceNorm, Dropout. */
#include "op/op_infer.h"

gantry_status_t gantry__infer_moments(gantry__infer_t *call) {
    GANTRY__TRY(gantry__infer_reduce(call));
    call->out_shapes[1] = call->out_shapes[0];
    return GANTRY_OK;
}

gantry_status_t gantry__infer_batch_norm(gantry__infer_t *call) {
    gantry_shape_t all = *call->shapes[0];
    for (uint32_t i = 1; i < call->input_count; ++i) {
        gantry_shape_t both;
        if (!gantry__broadcast_shapes(&all, call->shapes[i], &both)) {
            return gantry__refuse(
                "Incompatible shapes: %s vs. %s (%s)", gantry__shape_text(&all).text,
                gantry__shape_text(call->shapes[i]).text, call->op->inputs[i].name);
        }
        all = both;
    }
    call->out_shapes[0] = all;
    return GANTRY_OK;
}

/* ---- FusedBatchNorm ---- */

static gantry_status_t check_statistics(const gantry__infer_t *call, bool is_training,
                                        int64_t *channels) {
    const bool is_averaged = gantry__infer_attr(call, "exponential_avg_factor")->f != 1.0;
    for (uint32_t i = 1; i < 5; ++i) {
        const char *name = call->op->inputs[i].name;
        /* mean and variance: in training, statistics that have no weight may have any shape */
        const bool is_given = i > 2;
        if (call->shapes[i]->rank != 1) {
            return gantry__refuse("%s must be 1-dimensional%s", name,
                                  gantry__shape_text(call->shapes[i]).text);
        }
        if ((is_given && is_training && !is_averaged) ||
            gantry__merge_sizes(channels, call->shapes[i]->dims[0]))
            continue;
        return gantry__refuse(
            "%s%s must have the same number of elements as the channels of x, got %lld and %lld",
            !is_given     ? ""
            : is_training ? "When exponential_avg_factor != 1, "
                          : "When is_training=false, ",
            name, (long long)call->shapes[i]->dims[0], (long long)*channels);
    }
    return GANTRY_OK;
}

/* Finds the number of channels of x, which must have four dimensions in the data format. */
static gantry_status_t infer_channels(const gantry__infer_t *call, const gantry_shape_t *x,
                                      int64_t *out_channels) {
    const char *format = gantry__infer_attr(call, "data_format")->s;
    if (strcmp(format, "NHWC") != 0 && strcmp(format, "NCHW") != 0) {
        return gantry__refuse(
            "Value for attr 'data_format' of \"%s\" is not in the list of allowed values: \"NHWC\", \"NCHW\"",
            format);
    }
    if (x->rank != 4) {
        return gantry__refuse("input must be 4-dimensional%s", gantry__shape_text(x).text);
    }
    *out_channels = x->dims[strcmp(format, "NCHW") == 0 ? 1 : 3];
    return GANTRY_OK;
}

gantry_status_t gantry__infer_fused_batch_norm(gantry__infer_t *call) {
    const gantry_shape_t *x = call->shapes[0];
    int64_t channels;
    GANTRY__TRY(infer_channels(call, x, &channels));
    GANTRY__TRY(check_statistics(call, gantry__infer_attr(call, "is_training")->i != 0, &channels));
    call->out_shapes[0] = *x;
    for (uint32_t k = 1; k < 5; ++k) call->out_shapes[k] = GANTRY_SHAPE(channels);
    call->out_shapes[5] = GANTRY_SHAPE(0);
    return GANTRY_OK;
}

static gantry_status_t check_vectors(const gantry__infer_t *call, int64_t *channels) {
    static const char *const names[] = {"scale", "saved mean", "saved variance"};
    for (uint32_t i = 2; i < 5; ++i) {
        const gantry_shape_t *shape = call->shapes[i];
        if (shape->rank != 1)
            return gantry__refuse("%s must be 1-dimensional%s", names[i - 2],
                                  gantry__shape_text(shape).text);
        if (gantry__merge_sizes(channels, shape->dims[0])) continue;
        return gantry__refuse(
            "%s must have the same number of elements as the channels of x, got %lld and %lld",
            call->op->inputs[i].name, (long long)shape->dims[0], (long long)*channels);
    }
    return GANTRY_OK;
}

gantry_status_t gantry__infer_fused_batch_norm_grad(gantry__infer_t *call) {
    const gantry_shape_t *dy = call->shapes[0], *x = call->shapes[1];
    gantry_shape_t both = *x;
    int64_t channels;
    GANTRY__TRY(infer_channels(call, dy, &channels));
    if (!gantry__merge_shapes(&both, dy))
        return gantry__refuse(
            "x and y_backprop must have same shape, but x has shape %s and y_backprop has shape %s",
            gantry__shape_text(x).text, gantry__shape_text(dy).text);
    GANTRY__TRY(check_vectors(call, &channels));
    call->out_shapes[0] = both;
    call->out_shapes[1] = call->out_shapes[2] = GANTRY_SHAPE(channels);
    call->out_shapes[3] = call->out_shapes[4] = GANTRY_SHAPE(0);
    return GANTRY_OK;
}

/* Checks that all inputs except the first have this shape. */
static gantry_status_t check_others(const gantry__infer_t *call, const gantry_shape_t *shape,
                                    const char *what) {
    for (uint32_t i = 1; i < call->input_count; ++i) {
        if (gantry__shapes_fit(call->shapes[i], shape)) continue;
        return gantry__refuse("%s must have shape %s, %s, got %s", call->op->inputs[i].name,
                              gantry__shape_text(shape).text, what,
                              gantry__shape_text(call->shapes[i]).text);
    }
    return GANTRY_OK;
}

gantry_status_t gantry__infer_normalize_channels(gantry__infer_t *call) {
    const gantry_shape_t *x = call->shapes[0];
    if (x->rank != 3) {
        return gantry__refuse("x must have the shape [outer, channels, inner], got %s",
                              gantry__shape_text(x).text);
    }
    const gantry_shape_t channels = GANTRY_SHAPE(x->dims[1]);
    GANTRY__TRY(check_others(call, &channels, "one number for each channel of x"));
    call->out_shapes[0] = *x;
    return GANTRY_OK;
}

/* ---- LayerNorm ---- */

gantry_status_t gantry__infer_layer_norm(gantry__infer_t *call) {
    const gantry_shape_t *x = call->shapes[0];
    int64_t axis = gantry__infer_attr(call, "axis")->i;
    if (axis < -x->rank || axis >= x->rank) {
        return gantry__refuse(
            "Invalid axis. Expected 0 <= axis < inputs.rank (with inputs.rank=%d). Received: axis=%lld",
            (int)x->rank, (long long)axis);
    }
    axis += axis < 0 ? x->rank : 0;
    gantry_shape_t inner = {.rank = x->rank - (int32_t)axis};
    for (int32_t i = 0; i < inner.rank; ++i) inner.dims[i] = x->dims[axis + i];
    GANTRY__TRY(check_others(call, &inner, "that of the normalised dimensions"));
    call->out_shapes[0] = *x;
    return GANTRY_OK;
}

gantry_status_t gantry__infer_layer_norm_rows(gantry__infer_t *call) {
    GANTRY__TRY(gantry__infer_layer_norm(call));
    const int64_t length = gantry_shape_elements(call->shapes[1]);
    const bool is_open = gantry__shape_is_open(call->shapes[1]);
    if ((length < 1 && !is_open) || length > GANTRY__LAYER_NORM_ROWS_MOST) {
        return gantry__refuse("scale must have 1 to %d elements, got shape %s",
                              GANTRY__LAYER_NORM_ROWS_MOST,
                              gantry__shape_text(call->shapes[1]).text);
    }
    return GANTRY_OK;
}

/* ---- RMSNorm, GroupNorm, InstanceNorm: TensorFlow has none of them ---- */

static gantry_status_t check_epsilon(const gantry__infer_t *call) {
    const double epsilon = gantry__infer_attr(call, "epsilon")->f;
    if (epsilon >= 0 && epsilon - epsilon == 0) return GANTRY_OK;
    return gantry__refuse("epsilon is %g; a finite number from 0 on is accepted", epsilon);
}

gantry_status_t gantry__infer_rms_norm(gantry__infer_t *call) {
    GANTRY__TRY(check_epsilon(call));
    return gantry__infer_layer_norm(call);
}

/* Checks x [batch, ..., channels], or [batch, channels, ...], and the numbers per channel. */
static gantry_status_t check_channels(gantry__infer_t *call, int64_t *out_channels) {
    static const char *const formats[] = {"NHWC", "NCHW"};
    const gantry_shape_t *x = call->shapes[0];
    size_t format;
    GANTRY__TRY(check_epsilon(call));
    GANTRY__TRY(gantry__infer_choice(call, "data_format", formats, 2, &format));
    if (x->rank < 2) {
        return gantry__refuse("x must have a batch and channels, 2 dimensions or more, got %s",
                              gantry__shape_text(x).text);
    }
    const gantry_shape_t channels = GANTRY_SHAPE(x->dims[format == 0 ? x->rank - 1 : 1]);
    GANTRY__TRY(check_others(call, &channels, "one number for each channel of x"));
    *out_channels = channels.dims[0];
    call->out_shapes[0] = *x;
    return GANTRY_OK;
}

gantry_status_t gantry__infer_group_norm(gantry__infer_t *call) {
    const int64_t groups = gantry__infer_attr(call, "num_groups")->i;
    int64_t channels;
    GANTRY__TRY(check_channels(call, &channels));
    if (groups >= 1 && (channels < 0 || channels % groups == 0)) return GANTRY_OK;
    return gantry__refuse("num_groups is %lld; a divisor of x's %lld channels is accepted",
                          (long long)groups, (long long)channels);
}

gantry_status_t gantry__infer_instance_norm(gantry__infer_t *call) {
    int64_t channels;
    return check_channels(call, &channels);
}

/* ---- Dropout ---- */

gantry_status_t gantry__infer_dropout(gantry__infer_t *call) {
    const gantry_attr_t *noise = gantry__infer_attr(call, "noise_shape");
    const double rate = gantry__infer_attr(call, "rate")->f;
    const gantry_shape_t *x = call->shapes[0];
    if (!(rate >= 0 && rate < 1)) {
        return gantry__refuse("rate must be in the range [0, 1), got %g", rate);
    }
    if (call->shapes[1]->rank != 1 || !gantry__sizes_fit(call->shapes[1]->dims[0], 2)) {
        return gantry__refuse("seed must have shape [2], not %s",
                              gantry__shape_text(call->shapes[1]).text);
    }
    call->out_shapes[0] = *x;
    if (noise->i == 0) return GANTRY_OK;
    GANTRY__TRY(gantry__infer_rank_fits(noise->i));
    gantry_shape_t given = {.rank = (int32_t)noise->i}, both;
    for (int32_t i = 0; i < given.rank; ++i) given.dims[i] = noise->list[i];
    if (!gantry__shape_is_open(&given) && gantry__broadcast_shapes(x, &given, &both) &&
        gantry__merge_shapes(&call->out_shapes[0], &both))
        return GANTRY_OK;
    return gantry__refuse("noise_shape %s does not broadcast to x's shape %s",
                          gantry__shape_text(&given).text, gantry__shape_text(x).text);
}
