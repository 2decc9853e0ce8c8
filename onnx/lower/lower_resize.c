/* SPDX-License-Identifier: Apache-2.0 */
/* Resize and Upsample, by Gantry's Resize, which has the words of ONNX in capitals. Dimensions that
 * keep their size are left out, so that only the others are resized. */
#include <string.h>

#include "onnx/lower/move.h"

typedef const gantry_tensor_t tensor;

/* The longest word of an attribute. */
#define WORD_BYTES 32

/* What a Resize gets, in the order of its axes. */
typedef struct resize_t {
    size_t count; /* Axes. */
    int64_t axes[GANTRY_MAX_RANK];
    const int64_t *sizes; /* NULL: by scales. */
    const double *scales, *roi;
    size_t roi_count;
    char mode[WORD_BYTES], place[WORD_BYTES], nearest[WORD_BYTES], policy[WORD_BYTES];
    double cubic, outside;
    bool excludes, antialiases;
} resize_t;

/* An attribute's word in capitals. */
static gantry_status_t resize_word(gantry__onnx_call_t *call, const char *name,
                                   const char *fallback, char *word) {
    const char *text = gantry__onnx_attr_text(call, name, fallback);
    if (strlen(text) >= WORD_BYTES)
        return gantry__onnx_invalid(call, "%s '%s' is no word of the op", name, text);
    size_t count = 0;
    for (; text[count]; ++count) {
        const char letter = text[count];
        word[count] = letter >= 'a' && letter <= 'z' ? (char)(letter - 'a' + 'A') : letter;
    }
    word[count] = 0;
    return GANTRY_OK;
}

/* Version 10, and Upsample: places without halves. */
static gantry_status_t read_old_words(gantry__onnx_call_t *call, resize_t *resize) {
    GANTRY__TRY(resize_word(call, "mode", "nearest", resize->mode));
    memcpy(resize->place, "ASYMMETRIC", sizeof "ASYMMETRIC");
    memcpy(resize->nearest, "FLOOR", sizeof "FLOOR");
    memcpy(resize->policy, "STRETCH", sizeof "STRETCH");
    resize->cubic = -0.75;
    if (strcmp(resize->mode, "BILINEAR") == 0) memcpy(resize->mode, "LINEAR", sizeof "LINEAR");
    return GANTRY_OK;
}

static gantry_status_t read_words(gantry__onnx_call_t *call, resize_t *resize) {
    GANTRY__TRY(resize_word(call, "mode", "nearest", resize->mode));
    GANTRY__TRY(resize_word(call, "coordinate_transformation_mode", "half_pixel", resize->place));
    GANTRY__TRY(resize_word(call, "nearest_mode", "round_prefer_floor", resize->nearest));
    GANTRY__TRY(resize_word(call, "keep_aspect_ratio_policy", "stretch", resize->policy));
    resize->cubic = (double)gantry__onnx_attr_float(call, "cubic_coeff_a", -0.75f);
    resize->outside = (double)gantry__onnx_attr_float(call, "extrapolation_value", 0);
    resize->excludes = gantry__onnx_attr_int(call, "exclude_outside", 0) != 0;
    resize->antialiases = gantry__onnx_attr_int(call, "antialias", 0) != 0;
    return GANTRY_OK;
}

static gantry_status_t read_resized_axes(gantry__onnx_call_t *call, int32_t rank,
                                         resize_t *resize) {
    size_t count;
    const int64_t *given = gantry__onnx_attr_ints(call, "axes", &count);
    resize->count = given ? count : (size_t)rank;
    if (resize->count > (size_t)rank)
        return gantry__onnx_invalid(call, "%zu axes of %d dimensions", count, (int)rank);
    for (size_t i = 0; i < resize->count; ++i)
        GANTRY__TRY(gantry__onnx_axis(call, given ? given[i] : (int64_t)i, (uint32_t)rank,
                                      &resize->axes[i]));
    return GANTRY_OK;
}

/* Reads an optional input of numbers; NULL: left out, or without elements. */
static gantry_status_t read_numbers(gantry__onnx_call_t *call, size_t i, const char *name,
                                    const double **out_numbers, size_t *out_count) {
    *out_numbers = NULL;
    *out_count = 0;
    if (!gantry__onnx_input(call, i)) return GANTRY_OK;
    GANTRY__TRY(gantry__onnx_get_doubles(call, i, name, out_numbers, out_count));
    if (*out_count == 0) *out_numbers = NULL;
    return GANTRY_OK;
}

static gantry_status_t resize_sizes(gantry__onnx_call_t *call, resize_t *resize) {
    size_t scale_count, size_count = 0;
    GANTRY__TRY(read_numbers(call, 1, "roi", &resize->roi, &resize->roi_count));
    GANTRY__TRY(read_numbers(call, 2, "scales", &resize->scales, &scale_count));
    if (gantry__onnx_input(call, 3))
        GANTRY__TRY(gantry__onnx_get_ints(call, 3, "sizes", &resize->sizes, &size_count));
    if (size_count == 0) resize->sizes = NULL;
    if (resize->sizes) resize->scales = NULL;
    if ((resize->sizes ? size_count : scale_count) != resize->count)
        return gantry__onnx_invalid(call, "%zu scales and %zu sizes for %zu axes", scale_count,
                                    size_count, resize->count);
    if (strcmp(resize->place, "TF_CROP_AND_RESIZE") != 0)
        resize->roi = NULL;
    else if (!resize->roi || resize->roi_count != 2 * resize->count)
        return gantry__onnx_invalid(call, "roi has %zu numbers for %zu axes", resize->roi_count,
                                    resize->count);
    return GANTRY_OK;
}

/* ONNX's ALIGN_CORNERS of scales has the last place of a result of `size * scale` elements, not
 * rounded, where Gantry has that of the whole elements. Where the two differ, the same places are
 * those of TF_CROP_AND_RESIZE with a region that ends before the last pixel. */
static gantry_status_t align_by_scales(gantry__onnx_call_t *call, const gantry_shape_t *shape,
                                       resize_t *resize) {
    bool differs = false;
    if (!resize->scales || strcmp(resize->place, "ALIGN_CORNERS") != 0) return GANTRY_OK;
    double *roi = gantry__onnx_scratch(call, 2 * resize->count, sizeof *roi);
    int64_t *sizes = gantry__onnx_scratch(call, resize->count, sizeof *sizes);
    if (!roi || !sizes) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < resize->count; ++i) {
        const float wanted = (float)shape->dims[resize->axes[i]] * (float)resize->scales[i];
        if (!(wanted >= 1 && wanted < 9e15f)) return GANTRY_OK; /* Gantry refuses it. */
        sizes[i] = (int64_t)wanted;
        roi[i] = 0;
        roi[i + resize->count] = sizes[i] > 1 ? (double)(sizes[i] - 1) / (double)(wanted - 1) : 0;
        differs = differs || (float)sizes[i] != wanted;
    }
    if (!differs) return GANTRY_OK;
    if (resize->antialiases)
        return gantry__onnx_unsupported(call,
                                        "align_corners with antialias and scales that give "
                                        "no whole size");
    memcpy(resize->place, "TF_CROP_AND_RESIZE", sizeof "TF_CROP_AND_RESIZE");
    resize->sizes = sizes;
    resize->scales = NULL;
    resize->roi = roi;
    resize->roi_count = 2 * resize->count;
    return GANTRY_OK;
}

/* Leaves out dimensions that stay as they are: the region and the policy are about all of them. */
static gantry_status_t leave_out_same(gantry__onnx_call_t *call, const gantry_shape_t *shape,
                                      resize_t *resize) {
    size_t left = 0;
    int64_t *sizes = gantry__onnx_scratch(call, resize->count, sizeof *sizes);
    double *scales = gantry__onnx_scratch(call, resize->count, sizeof *scales);
    if (resize->roi || strcmp(resize->policy, "STRETCH") != 0) return GANTRY_OK;
    if (resize->count > 0 && (!sizes || !scales)) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < resize->count; ++i) {
        const int64_t axis = resize->axes[i];
        if (resize->sizes ? resize->sizes[i] == shape->dims[axis] : resize->scales[i] == 1)
            continue;
        resize->axes[left] = axis;
        if (resize->sizes)
            sizes[left] = resize->sizes[i];
        else
            scales[left] = resize->scales[i];
        ++left;
    }
    resize->count = left;
    if (resize->sizes)
        resize->sizes = sizes;
    else
        resize->scales = scales;
    return GANTRY_OK;
}

static tensor *floats_of(gantry__onnx_call_t *call, const double *numbers, size_t count) {
    float *floats = gantry__onnx_scratch(call, count, sizeof *floats);
    if (!floats && count > 0) return NULL;
    for (size_t i = 0; i < count; ++i) floats[i] = (float)numbers[i];
    return gantry_constant(call->host, GANTRY_FLOAT32, GANTRY_SHAPE((int64_t)count), floats,
                           count * sizeof *floats);
}

static tensor *call_resize(gantry__onnx_call_t *call, tensor *x, const resize_t *resize) {
    const gantry_attr_value_t attrs[] = {
        GANTRY__ONNX_TEXT_OF("mode", resize->mode),
        GANTRY__ONNX_TEXT_OF("coordinate_transformation", resize->place),
        GANTRY__ONNX_TEXT_OF("nearest_mode", resize->nearest),
        GANTRY__ONNX_TEXT_OF("keep_aspect_ratio_policy", resize->policy),
        GANTRY__ONNX_FLOAT_OF("cubic_coeff_a", resize->cubic),
        GANTRY__ONNX_FLOAT_OF("extrapolation_value", resize->outside),
        GANTRY__ONNX_BOOL_OF("exclude_outside", resize->excludes),
        GANTRY__ONNX_BOOL_OF("antialias", resize->antialiases),
        GANTRY__ONNX_INTS_OF("axes", resize->axes, (int64_t)resize->count)};
    if (resize->count == 0) return x;
    tensor *const inputs[] = {x,
                              gantry__onnx_make_ints(call, GANTRY_INT64, resize->sizes,
                                                     resize->sizes ? resize->count : 0),
                              floats_of(call, resize->scales, resize->sizes ? 0 : resize->count),
                              floats_of(call, resize->roi, resize->roi ? resize->roi_count : 0)};
    return gantry__onnx_op(call, "Resize", inputs, resize->roi ? 4 : 3, attrs,
                           sizeof attrs / sizeof *attrs);
}

/* Version 10, and Upsample. The nearest place is rounded up along dimensions that shrink, and down
 * along others, as ONNX Runtime does: ONNX leaves it open. */
static gantry_status_t give_old_resize(gantry__onnx_call_t *call, resize_t *resize) {
    tensor *x = gantry__onnx_input(call, 0);
    double scales[GANTRY_MAX_RANK];
    GANTRY__TRY(leave_out_same(call, gantry_tensor_shape(x), resize));
    if (strcmp(resize->mode, "NEAREST") != 0)
        return gantry__onnx_give(call, call_resize(call, x, resize));
    for (int32_t shrinks = 0; shrinks < 2; ++shrinks) {
        resize_t part = *resize;
        part.count = 0;
        part.scales = scales;
        if (shrinks) memcpy(part.nearest, "CEIL", sizeof "CEIL");
        for (size_t i = 0; i < resize->count; ++i) {
            if ((resize->scales[i] < 1) != (shrinks != 0)) continue;
            scales[part.count] = resize->scales[i];
            part.axes[part.count++] = resize->axes[i];
        }
        x = call_resize(call, x, &part);
    }
    return gantry__onnx_give(call, x);
}

gantry_status_t gantry__onnx_lower_resize(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    resize_t resize = {0};
    size_t scale_count;
    GANTRY__TRY(read_resized_axes(call, shape->rank, &resize));
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    if (gantry__onnx_version(call) >= 11) {
        GANTRY__TRY(read_words(call, &resize));
        GANTRY__TRY(resize_sizes(call, &resize));
        GANTRY__TRY(align_by_scales(call, shape, &resize));
    } else {
        GANTRY__TRY(read_old_words(call, &resize));
        GANTRY__TRY(read_numbers(call, 1, "scales", &resize.scales, &scale_count));
        if (scale_count != resize.count)
            return gantry__onnx_invalid(call, "%zu scales for %zu dimensions", scale_count,
                                        resize.count);
        return give_old_resize(call, &resize);
    }
    GANTRY__TRY(leave_out_same(call, shape, &resize));
    return gantry__onnx_give(call, call_resize(call, x, &resize));
}

gantry_status_t gantry__onnx_lower_upsample(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    resize_t resize = {0};
    size_t count;
    double scales[GANTRY_MAX_RANK];
    if (gantry__onnx_version(call) >= 9) return gantry__onnx_lower_resize(call);
    const float *given = gantry__onnx_attr_floats(call, "scales", &count);
    if (count != (size_t)shape->rank)
        return gantry__onnx_invalid(call, "%zu scales for %d dimensions", count, (int)shape->rank);
    for (size_t i = 0; i < count; ++i) scales[i] = (double)given[i];
    GANTRY__TRY(read_resized_axes(call, shape->rank, &resize));
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    GANTRY__TRY(read_old_words(call, &resize));
    resize.scales = scales;
    return give_old_resize(call, &resize);
}
