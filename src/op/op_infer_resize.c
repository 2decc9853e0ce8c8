/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of Resize and ResizeGrad, of the parts of all resizes, and what Resize's attributes and
 * host inputs say. */
#include <inttypes.h>
#include <math.h>

#include "op/resize_call.h"

#include "ops/type_rows.h"

/* ---- words ---- */

static gantry_status_t resize_read_words(gantry__infer_t *call, gantry__resize_call_t *out) {
    static const char *const modes[] = {"NEAREST", "LINEAR", "CUBIC"};
    static const char *const coordinates[] = {
        "HALF_PIXEL", "HALF_PIXEL_SYMMETRIC", "PYTORCH_HALF_PIXEL", "ALIGN_CORNERS",
        "ASYMMETRIC", "TF_HALF_PIXEL_FOR_NN", "TF_CROP_AND_RESIZE"};
    static const char *const roundings[] = {"ROUND_PREFER_FLOOR", "ROUND_PREFER_CEIL", "FLOOR",
                                            "CEIL"};
    size_t mode, coordinate, rounding;
    GANTRY__TRY(gantry__infer_choice(call, "mode", modes, 3, &mode));
    GANTRY__TRY(
        gantry__infer_choice(call, "coordinate_transformation", coordinates, 7, &coordinate));
    GANTRY__TRY(gantry__infer_choice(call, "nearest_mode", roundings, 4, &rounding));
    out->mode = (gantry__resize_mode_t)mode;
    out->coordinate = (gantry__resize_coordinate_t)coordinate;
    out->nearest = (gantry__resize_nearest_t)rounding;
    out->cubic = gantry__infer_attr(call, "cubic_coeff_a")->f;
    out->excludes_outside = gantry__infer_attr(call, "exclude_outside")->i;
    out->antialias = gantry__infer_attr(call, "antialias")->i;
    return GANTRY_OK;
}

/* Whether the mode takes the type and the other words. */
static gantry_status_t resize_check_words(const gantry__infer_t *call,
                                          const gantry__resize_call_t *read) {
    const gantry_dtype_t dtype = call->dtypes[0];
    const char *mode = gantry__infer_attr(call, "mode")->s;
    if (read->mode != GANTRY__RESIZE_NEAREST && !GANTRY__TYPE_IS(dtype, NUMERIC))
        return gantry__refuse(
            "attribute 'mode' is %s, which has no values of %s; floating types and integers are accepted",
            mode, gantry_dtype_name(dtype));
    if (read->mode == GANTRY__RESIZE_NEAREST && read->antialias)
        return gantry__refuse(
            "attribute 'antialias' is true and 'mode' is NEAREST; LINEAR or CUBIC is accepted");
    if (read->coordinate == GANTRY__RESIZE_TF_CROP_AND_RESIZE && GANTRY__TYPE_IS(dtype, COMPLEXES))
        return gantry__refuse(
            "attribute 'coordinate_transformation' is TF_CROP_AND_RESIZE, whose extrapolation_value is not of %s; other types are accepted",
            gantry_dtype_name(dtype));
    return GANTRY_OK;
}

/* ---- dimensions ---- */

/* Writes the dimensions that are resized, in the order of sizes and scales. */
static gantry_status_t resize_read_axes(const gantry__infer_t *call, gantry__resize_call_t *out,
                                        int32_t order[GANTRY_MAX_RANK], int32_t *out_count) {
    const gantry_attr_t *axes = gantry__infer_attr(call, "axes");
    const int64_t count = axes->i > 0 ? axes->i : out->rank;
    for (int64_t i = 0; i < count; ++i) {
        const int64_t given = axes->i > 0 ? axes->list[i] : i,
                      axis = given < 0 ? given + out->rank : given;
        if (axis < 0 || axis >= out->rank)
            return gantry__refuse("attribute 'axes' has %" PRId64 " at place %" PRId64
                                  "; a number in [%d, %d) is accepted",
                                  given, i, -out->rank, out->rank);
        if (out->resizes[axis])
            return gantry__refuse(
                "attribute 'axes' has dimension %" PRId64 " twice; each once is accepted", axis);
        out->resizes[axis] = true;
        order[i] = (int32_t)axis;
    }
    *out_count = (int32_t)count;
    return GANTRY_OK;
}

/* The numbers of a host vector: none if it is left out. */
typedef struct resize_list_t {
    int64_t count; /* -1: open */
    bool is_open;  /* the numbers are not known */
    gantry__host_ints_t ints;
    const void *floats;
} resize_list_t;

static gantry_status_t resize_read_list(gantry__infer_t *call, uint32_t input, const char *name,
                                        int64_t expected, resize_list_t *out) {
    *out = (resize_list_t){.count = 0};
    if (input >= call->input_count) return GANTRY_OK;
    const gantry_shape_t *shape = call->shapes[input];
    if (shape->rank != 1)
        return gantry__refuse("%s must be a vector, got shape %s", name,
                              gantry__shape_text(shape).text);
    out->count = shape->dims[0];
    if (out->count > 0 && out->count != expected)
        return gantry__refuse("%s has %" PRId64 " numbers; 0 or %" PRId64 " are accepted", name,
                              out->count, expected);
    out->is_open = gantry__infer_is_open(call, input);
    if (out->is_open || out->count == 0) return GANTRY_OK;
    if (call->dtypes[input] == GANTRY_INT64) return gantry__infer_ints(call, input, &out->ints);
    return gantry__infer_host_data(call, input, &out->floats);
}

static float resize_list_float(const resize_list_t *list, int64_t i) {
    float value;
    memcpy(&value, (const char *)list->floats + (size_t)i * sizeof value, sizeof value);
    return value;
}

static gantry_status_t resize_take_size(gantry__resize_axis_t *axis, int64_t size, int32_t d) {
    if (size < 0)
        return gantry__refuse(
            "sizes has %" PRId64 " for dimension %d; a number from 0 on is accepted", size, d);
    if (axis->source == 0 && size > 0)
        return gantry__refuse(
            "sizes has %" PRId64 " for dimension %d, whose size is 0; 0 is accepted", size, d);
    axis->result = size;
    axis->scale = axis->source > 0 ? (double)size / (double)axis->source : 1.0;
    return GANTRY_OK;
}

static gantry_status_t resize_take_scale(gantry__resize_axis_t *axis, float scale, int32_t d) {
    if (!(scale > 0) || isinf(scale))
        return gantry__refuse(
            "scales has %g for dimension %d; a finite number greater than 0 is accepted",
            (double)scale, d);
    const float size = scale * (float)axis->source;
    if (size >= 0x1p62f)
        return gantry__refuse("scales has %g for dimension %d, whose size is %" PRId64
                              ": the result has too many elements",
                              (double)scale, d, axis->source);
    axis->scale = (double)scale;
    axis->result = axis->source < 0 ? -1 : (int64_t)size;
    return GANTRY_OK;
}

/* Gives all dimensions one scale, if the policy is not STRETCH. */
static gantry_status_t resize_keep_ratio(gantry__infer_t *call, gantry__resize_call_t *out,
                                         const int32_t *order, int32_t count) {
    static const char *const policies[] = {"STRETCH", "NOT_LARGER", "NOT_SMALLER"};
    size_t policy;
    GANTRY__TRY(gantry__infer_choice(call, "keep_aspect_ratio_policy", policies, 3, &policy));
    if (policy == 0 || count == 0) return GANTRY_OK;
    double scale = out->axes[order[0]].scale;
    bool is_open = false;
    for (int32_t i = 0; i < count; ++i) {
        const gantry__resize_axis_t *axis = &out->axes[order[i]];
        is_open = is_open || axis->source < 0 || axis->result < 0;
        if (policy == 1 ? axis->scale < scale : axis->scale > scale) scale = axis->scale;
    }
    for (int32_t i = 0; i < count; ++i) {
        gantry__resize_axis_t *axis = &out->axes[order[i]];
        const float size = is_open ? -1.0f : roundf((float)scale * (float)axis->source);
        if (!(size < 0x1p62f))
            return gantry__refuse("sizes ask for %g elements of dimension %d: there are too many",
                                  (double)size, (int)order[i]);
        axis->scale = scale;
        axis->result = (int64_t)size;
    }
    return GANTRY_OK;
}

static gantry_status_t resize_read_sizes(gantry__infer_t *call, uint32_t first,
                                         gantry__resize_call_t *out) {
    int32_t order[GANTRY_MAX_RANK], count = 0;
    resize_list_t sizes, scales, roi;
    GANTRY__TRY(resize_read_axes(call, out, order, &count));
    GANTRY__TRY(resize_read_list(call, first, "sizes", count, &sizes));
    GANTRY__TRY(resize_read_list(call, first + 1, "scales", count, &scales));
    GANTRY__TRY(resize_read_list(call, first + 2, "roi", 2 * (int64_t)count, &roi));
    if (count > 0 &&
        ((sizes.count == 0 && scales.count == 0) || (sizes.count > 0 && scales.count > 0)))
        return gantry__refuse("sizes has %" PRId64 " numbers and scales %" PRId64
                              "; one of them with %d is accepted",
                              sizes.count, scales.count, count);
    const bool crops = out->coordinate == GANTRY__RESIZE_TF_CROP_AND_RESIZE;
    if (crops && roi.count == 0 && count > 0)
        return gantry__refuse(
            "roi is empty, and attribute 'coordinate_transformation' TF_CROP_AND_RESIZE; %d numbers are accepted",
            2 * count);
    for (int32_t i = 0; i < count; ++i) {
        const int32_t d = order[i];
        gantry__resize_axis_t *axis = &out->axes[d];
        axis->result = -1;
        if (sizes.count > 0 && !sizes.is_open)
            GANTRY__TRY(resize_take_size(axis, gantry__host_int(&sizes.ints, i), d));
        if (scales.count > 0 && !scales.is_open)
            GANTRY__TRY(resize_take_scale(axis, resize_list_float(&scales, i), d));
        if (!crops || roi.count <= 0 || roi.is_open) continue;
        axis->from = resize_list_float(&roi, i);
        axis->to = resize_list_float(&roi, count + i);
        if (!isfinite(axis->from) || !isfinite(axis->to))
            return gantry__refuse("roi is [%g, %g] for dimension %d; finite numbers are accepted",
                                  (double)axis->from, (double)axis->to, d);
    }
    return scales.count == 0 ? resize_keep_ratio(call, out, order, count) : GANTRY_OK;
}

gantry_status_t gantry__resize_read(gantry__infer_t *call, const gantry_shape_t *source,
                                    uint32_t first, gantry__resize_call_t *out) {
    *out = (gantry__resize_call_t){.rank = source->rank};
    for (int32_t d = 0; d < source->rank; ++d)
        out->axes[d] = (gantry__resize_axis_t){source->dims[d], source->dims[d], 1.0, 0.0f, 1.0f};
    GANTRY__TRY(resize_read_words(call, out));
    GANTRY__TRY(resize_check_words(call, out));
    return resize_read_sizes(call, first, out);
}

static void resize_write_shape(const gantry__resize_call_t *read, gantry_shape_t *out) {
    out->rank = read->rank;
    for (int32_t d = 0; d < read->rank; ++d) out->dims[d] = read->axes[d].result;
}

gantry_status_t gantry__infer_resize(gantry__infer_t *call) {
    gantry__resize_call_t read;
    GANTRY__TRY(gantry__resize_read(call, call->shapes[0], 1, &read));
    resize_write_shape(&read, &call->out_shapes[0]);
    return GANTRY_OK;
}

gantry_status_t gantry__infer_resize_grad(gantry__infer_t *call) {
    gantry_shape_t *source = &call->out_shapes[0], result;
    gantry__resize_call_t read;
    GANTRY__TRY(gantry__infer_dims(call, 1, false, source));
    if (source->rank != call->shapes[0]->rank)
        return gantry__refuse(
            "original_shape has %d sizes, and grads has shape %s; %d are accepted", source->rank,
            gantry__shape_text(call->shapes[0]).text, call->shapes[0]->rank);
    GANTRY__TRY(gantry__resize_read(call, source, 2, &read));
    resize_write_shape(&read, &result);
    if (!gantry__shapes_fit(call->shapes[0], &result))
        return gantry__refuse("grads has shape %s; %s is accepted, which Resize gives for %s",
                              gantry__shape_text(call->shapes[0]).text,
                              gantry__shape_text(&result).text, gantry__shape_text(source).text);
    for (int32_t d = 0; d < source->rank; ++d) {
        if (!read.resizes[d]) (void)gantry__merge_sizes(&source->dims[d], call->shapes[0]->dims[d]);
    }
    return GANTRY_OK;
}

/* ---- parts ---- */

/* The core makes the tables, whose sizes are right. */
gantry_status_t gantry__infer_resize_axis(gantry__infer_t *call) {
    gantry_shape_t *out = &call->out_shapes[0];
    const int64_t axis = gantry__infer_attr(call, "axis")->i;
    const gantry_shape_t *table = call->shapes[1];
    const bool is_linear = call->input_count == 3;
    *out = *call->shapes[0];
    if (axis < 0 || axis >= out->rank || table->rank != (is_linear ? 2 : 1))
        return gantry__refuse("dimension %" PRId64 " of shape %s, by a table of shape %s", axis,
                              gantry__shape_text(out).text, gantry__shape_text(table).text);
    out->dims[axis] = table->dims[0] < 0 ? -1 : table->dims[0] - (is_linear ? 0 : 1);
    return GANTRY_OK;
}
