/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of windows over images. First the shared part: attributes as lists of four, padding, and
 * the geometry (gantry__window_t), which is read from the attributes and gives the number of places
 * of a window. Then the ops: pooling, patches, depthwise convolution. Conv2D, a composed op, takes
 * its geometry from here (op/op_infer_conv.c). */
#include "op/op_infer_window.h"

#include <inttypes.h>

/* ---- lists of four ---- */

static gantry_status_t infer_window_read_four(const gantry__infer_t *call, const char *name,
                                              const char *what, int64_t fallback, int64_t out[4]) {
    const gantry_attr_t *attr = gantry__infer_attr(call, name);
    if (attr->i == 0 && fallback > 0) {
        for (int d = 0; d < 4; ++d) out[d] = fallback;
        return GANTRY_OK;
    }
    if (attr->i != 4) {
        return gantry__refuse("Sliding window %s field must specify 4 dimensions, got %" PRId64,
                              what, attr->i);
    }
    for (int d = 0; d < 4; ++d) {
        out[d] = attr->list[d];
        if (out[d] < 1 || out[d] > INT32_MAX) {
            return gantry__refuse(
                "Sliding window %s must be positive and less than 2^31. The specified or inferred %s is: %" PRId64
                ",%" PRId64 ",%" PRId64 ",%" PRId64,
                what, what, attr->list[0], attr->list[1], attr->list[2], attr->list[3]);
        }
    }
    return GANTRY_OK;
}

/* Takes the two entries of the image; the others must be 1. TensorFlow's depthwise convolution
 * calls others invalid. */
static gantry_status_t take_two(const gantry__infer_t *call, const int64_t four[4], int32_t first,
                                const char *what, int64_t out[2]) {
    const int32_t channel = first == 1 ? 3 : 1;
    if (four[0] != 1 || four[channel] != 1) {
        return gantry__fail(strncmp(call->op->name, "Depthwise", 9) == 0 ? GANTRY_INVALID_ARGUMENT
                                                                         : GANTRY_UNIMPLEMENTED,
                            "%s in the batch and depth dimensions are not supported: %" PRId64
                            " and %" PRId64 "; 1 is accepted",
                            what, four[0], four[channel]);
    }
    out[0] = four[first];
    out[1] = four[first + 1];
    return GANTRY_OK;
}

static gantry_status_t read_two(const gantry__infer_t *call, const char *name, const char *what,
                                int64_t fallback, int32_t first, int64_t out[2]) {
    int64_t four[4];
    GANTRY__TRY(infer_window_read_four(call, name, what, fallback, four));
    return take_two(call, four, first, what, out);
}

/* ---- padding ---- */

static gantry_status_t read_explicit(const gantry__infer_t *call, gantry__window_t *w) {
    const gantry_attr_t *pads = gantry__infer_attr(call, "explicit_paddings");
    if (pads->i != 8) {
        return gantry__refuse(
            "explicit_paddings attribute must contain 8 values, but got: %" PRId64, pads->i);
    }
    for (int32_t d = 0; d < 4; ++d) {
        const int64_t before = pads->list[2 * d], after = pads->list[2 * d + 1];
        if (before < 0 || after < 0 || before > INT32_MAX || after > INT32_MAX) {
            return gantry__refuse(
                "All elements of explicit_paddings must be nonnegative and less than 2^31; those of dimension %d are %" PRId64
                " and %" PRId64,
                (int)d, before, after);
        }
        if (d == w->first || d == w->first + 1) {
            w->before[d - w->first] = before;
            w->after[d - w->first] = after;
        } else if (before != 0 || after != 0) {
            return gantry__refuse(
                "Nonzero explicit padding in the batch or depth dimensions is not supported: %" PRId64
                " and %" PRId64,
                before, after);
        }
    }
    return GANTRY_OK;
}

static gantry_status_t read_padding(const gantry__infer_t *call, gantry__window_t *w) {
    const char *padding = gantry__infer_attr(call, "padding")->s;
    const gantry_attr_t *pads = gantry__infer_attr(call, "explicit_paddings");
    w->is_same = strcmp(padding, "SAME") == 0;
    w->before[0] = w->before[1] = w->after[0] = w->after[1] = 0;
    if (pads && !w->is_same && strcmp(padding, "EXPLICIT") == 0) return read_explicit(call, w);
    if (!w->is_same && strcmp(padding, "VALID") != 0) {
        return gantry__refuse(
            "Value for attr 'padding' of \"%s\" is not in the list of allowed values: \"SAME\", \"VALID\"%s",
            padding, pads ? ", \"EXPLICIT\"" : "");
    }
    if (pads && pads->i != 0) {
        return gantry__refuse(
            "explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT");
    }
    return GANTRY_OK;
}

/* ---- geometry ---- */

static gantry_status_t read_format(const gantry__infer_t *call, gantry__window_t *w) {
    const gantry_attr_t *attr = gantry__infer_attr(call, "data_format");
    const char *format = attr ? attr->s : "NHWC";
    if (strcmp(format, "NHWC") != 0 && strcmp(format, "NCHW") != 0) {
        return gantry__refuse(
            "Value for attr 'data_format' of \"%s\" is not in the list of allowed values: \"NHWC\", \"NCHW\"",
            format);
    }
    w->first = format[1] == 'C' ? 2 : 1;
    w->channel = format[1] == 'C' ? 1 : 3;
    return GANTRY_OK;
}

gantry_status_t gantry__window_read(const gantry__infer_t *call,
                                    const gantry__window_attrs_t *names, gantry__window_t *out) {
    GANTRY__TRY(read_format(call, out));
    if (names->size) GANTRY__TRY(read_two(call, names->size, "ksize", 0, out->first, out->window));
    GANTRY__TRY(read_two(call, "strides", "strides", 0, out->first, out->step));
    out->spread[0] = out->spread[1] = 1;
    if (names->spread)
        GANTRY__TRY(read_two(call, names->spread, names->spread, 1, out->first, out->spread));
    const gantry_attr_t *ceil = gantry__infer_attr(call, "ceil_mode");
    out->is_ceil = ceil && ceil->i != 0;
    return read_padding(call, out);
}

/* The limits of TensorFlow's kernels: with them no sum below overflows. */
static gantry_status_t check_sizes(const gantry__window_t *w, const gantry_shape_t *image, int d) {
    const int64_t size = image->dims[w->first + d];
    if (size <= INT32_MAX && w->window[d] <= INT32_MAX) return GANTRY_OK;
    return gantry__refuse("an image of %" PRId64 " and a window of %" PRId64
                          " along dimension %d are too large; less than 2^31 is accepted",
                          size, w->window[d], (int)w->first + d);
}

int64_t gantry__window_places_along(int64_t size, int64_t before, int64_t after, int64_t reach,
                                    int64_t step, bool is_ceil) {
    const int64_t room = size + before + after - reach + step;
    if (!is_ceil || room <= 0) return room < 0 ? -1 : room / step;
    const int64_t places = (room + step - 1) / step;
    return (places - 1) * step >= size + before ? places - 1 : places;
}

gantry_status_t gantry__window_places(const gantry__window_t *w, const gantry_shape_t *image,
                                      int64_t out[2]) {
    for (int d = 0; d < 2; ++d) {
        GANTRY__TRY(check_sizes(w, image, d));
        const int64_t size = image->dims[w->first + d];
        out[d] = -1;
        if (size < 0 || (w->window[d] < 0 && !w->is_same)) continue;
        const int64_t reach = (w->window[d] - 1) * w->spread[d] + 1;
        out[d] = w->is_same ? size / w->step[d] + (size % w->step[d] != 0)
                            : gantry__window_places_along(size, w->before[d], w->after[d], reach,
                                                          w->step[d], w->is_ceil);
        if (out[d] < 0) {
            return gantry__refuse(
                "Computed output size would be negative: %" PRId64 " [input_size: %" PRId64
                ", effective_filter_size: %" PRId64 ", stride: %" PRId64 "]",
                size + w->before[d] + w->after[d] - reach + w->step[d], size, reach, w->step[d]);
        }
    }
    return GANTRY_OK;
}

static gantry_status_t check_image(const gantry_shape_t *image, const char *what) {
    if (image->rank == 4) return GANTRY_OK;
    return gantry__refuse("%s must be 4-dimensional: %s", what, gantry__shape_text(image).text);
}

/* ---- pooling ---- */

/* A window may begin in the padding, but has an element of the image. */
static bool padding_is_within(int64_t padding, int64_t window, int64_t spread) {
    return padding / spread + (padding % spread != 0) < window;
}

static gantry_status_t pool_shape(const gantry__infer_t *call, const gantry_shape_t *image,
                                  const char *what, gantry_shape_t *out) {
    static const gantry__window_attrs_t names = {.size = "ksize", .spread = "dilations"};
    gantry__window_t w;
    int64_t places[2];
    GANTRY__TRY(check_image(image, what));
    GANTRY__TRY(gantry__window_read(call, &names, &w));
    for (int d = 0; d < 2; ++d) {
        if (padding_is_within(w.before[d], w.window[d], w.spread[d]) &&
            padding_is_within(w.after[d], w.window[d], w.spread[d]))
            continue;
        return gantry__refuse("padding %" PRId64 " and %" PRId64
                              " needs to be smaller than the window size %" PRId64
                              ", whose dilation is %" PRId64,
                              w.before[d], w.after[d], w.window[d], w.spread[d]);
    }
    GANTRY__TRY(gantry__window_places(&w, image, places));
    *out = *image;
    out->dims[w.first] = places[0];
    out->dims[w.first + 1] = places[1];
    return GANTRY_OK;
}

static gantry_status_t infer_pool(gantry__infer_t *call) {
    return pool_shape(call, call->shapes[0], "pooling input", &call->out_shapes[0]);
}

gantry_status_t gantry__infer_max_pool(gantry__infer_t *call) { return infer_pool(call); }

gantry_status_t gantry__infer_avg_pool(gantry__infer_t *call) { return infer_pool(call); }

gantry_status_t gantry__infer_max_pool_with_argmax(gantry__infer_t *call) {
    const gantry_shape_t *image = call->shapes[0];
    const int64_t order = gantry__infer_attr(call, "storage_order")->i;
    const bool has_batch = gantry__infer_attr(call, "include_batch_in_index")->i != 0;
    int64_t positions = 1;
    GANTRY__TRY(infer_pool(call));
    call->out_shapes[1] = call->out_shapes[0];
    if (order != 0 && order != 1)
        return gantry__refuse("storage_order is %" PRId64 "; 0 and 1 are accepted", order);
    for (int32_t d = has_batch ? 0 : 1; d < 4; ++d) {
        const int64_t size = image->dims[d];
        if (size <= 0 || positions <= 0)
            positions = -1;
        else if (__builtin_mul_overflow(positions, size, &positions))
            positions = INT64_MAX; /* an empty batch */
    }
    if (call->out_dtypes[1] == GANTRY_INT32 && positions > INT32_MAX) {
        return gantry__refuse(
            "%" PRId64 " positions need argmax in int64; int32 holds less than 2^31", positions);
    }
    return GANTRY_OK;
}

static gantry_status_t expect_shape(const gantry__infer_t *call, uint32_t input,
                                    const gantry_shape_t *wanted) {
    if (gantry__shapes_fit(call->shapes[input], wanted)) return GANTRY_OK;
    return gantry__refuse("Expected %s shape to be %s, but got %s", call->op->inputs[input].name,
                          gantry__shape_text(wanted).text,
                          gantry__shape_text(call->shapes[input]).text);
}

gantry_status_t gantry__infer_max_pool_grad(gantry__infer_t *call) {
    gantry_shape_t places;
    GANTRY__TRY(pool_shape(call, call->shapes[0], "orig_input", &places));
    GANTRY__TRY(expect_shape(call, 1, &places));
    GANTRY__TRY(expect_shape(call, 2, &places));
    call->out_shapes[0] = *call->shapes[0];
    return GANTRY_OK;
}

gantry_status_t gantry__infer_max_pool_grad_grad(gantry__infer_t *call) {
    GANTRY__TRY(pool_shape(call, call->shapes[0], "orig_input", &call->out_shapes[0]));
    GANTRY__TRY(expect_shape(call, 1, &call->out_shapes[0]));
    return expect_shape(call, 2, call->shapes[0]);
}

gantry_status_t gantry__infer_relu_max_pool_grad(gantry__infer_t *call) {
    gantry_shape_t places;
    GANTRY__TRY(pool_shape(call, call->shapes[0], "orig_input", &places));
    call->out_shapes[0] = *call->shapes[0];
    return expect_shape(call, 1, &places);
}

gantry_status_t gantry__infer_avg_pool_grad(gantry__infer_t *call) {
    gantry_shape_t *image = &call->out_shapes[0], places;
    GANTRY__TRY(gantry__infer_dims(call, 0, false, image));
    GANTRY__TRY(pool_shape(call, image, "orig_input_shape: the images", &places));
    GANTRY__TRY(expect_shape(call, 1, &places));
    const int32_t channel = strcmp(gantry__infer_attr(call, "data_format")->s, "NCHW") == 0 ? 1 : 3;
    (void)gantry__merge_sizes(&image->dims[0], call->shapes[1]->dims[0]);
    (void)gantry__merge_sizes(&image->dims[channel], call->shapes[1]->dims[channel]);
    return GANTRY_OK;
}

/* ---- patches ---- */

/* The product of two sizes; open if one is. False if it overflows. */
static bool window_depth(int64_t size, int64_t other, int64_t *out) {
    if (size >= 0 && other >= 0) return !__builtin_mul_overflow(size, other, out);
    *out = -1;
    return true;
}

static gantry_status_t read_order(const gantry__infer_t *call, const char *name,
                                  size_t *out_is_first) {
    static const char *const formats[] = {"NHWC", "NCHW"};
    return gantry__infer_choice(call, name, formats, 2, out_is_first);
}

gantry_status_t gantry__window_images(const gantry__infer_t *call, const char *what,
                                      gantry_shape_t *out) {
    const gantry_shape_t *images = call->shapes[0];
    const int64_t *dims = images->dims;
    size_t is_first;
    GANTRY__TRY(read_order(call, "input_format", &is_first));
    GANTRY__TRY(check_image(images, what));
    *out = is_first ? GANTRY_SHAPE(dims[0], dims[2], dims[3], dims[1]) : *images;
    return GANTRY_OK;
}

gantry_status_t gantry__window_result(const gantry__infer_t *call) {
    const gantry_shape_t last = call->out_shapes[0];
    const int64_t *dims = last.dims;
    size_t is_first;
    GANTRY__TRY(read_order(call, "output_format", &is_first));
    if (is_first) call->out_shapes[0] = GANTRY_SHAPE(dims[0], dims[3], dims[1], dims[2]);
    return GANTRY_OK;
}

static const gantry__window_attrs_t patch_names = {.size = "ksizes", .spread = "rates"};

gantry_status_t gantry__infer_extract_image_patches(gantry__infer_t *call) {
    gantry_shape_t image, *out = &call->out_shapes[0];
    gantry__window_t w;
    int64_t places[2], depth;
    GANTRY__TRY(gantry__window_images(call, "input", &image));
    GANTRY__TRY(gantry__window_read(call, &patch_names, &w));
    GANTRY__TRY(gantry__window_places(&w, &image, places));
    if (!window_depth(w.window[0] * w.window[1], image.dims[3], &depth))
        return gantry__refuse("patches of %" PRId64 " x %" PRId64 " x %" PRId64 " are too large",
                              w.window[0], w.window[1], image.dims[3]);
    *out = image;
    out->dims[1] = places[0];
    out->dims[2] = places[1];
    out->dims[3] = depth;
    return GANTRY_OK;
}

gantry_status_t gantry__infer_fold_image_patches(gantry__infer_t *call) {
    const gantry_shape_t *patches = call->shapes[0];
    gantry_shape_t *out = &call->out_shapes[0], wanted;
    gantry__window_t w;
    int64_t places[2], depth;
    GANTRY__TRY(check_image(patches, "patches"));
    GANTRY__TRY(gantry__window_read(call, &patch_names, &w));
    GANTRY__TRY(gantry__infer_dims(call, 1, false, out));
    GANTRY__TRY(check_image(out, "sizes: the images"));
    GANTRY__TRY(gantry__window_places(&w, out, places));
    if (!window_depth(w.window[0] * w.window[1], out->dims[3], &depth)) depth = INT64_MAX;
    wanted = (gantry_shape_t){.rank = 4, .dims = {out->dims[0], places[0], places[1], depth}};
    (void)gantry__merge_sizes(&out->dims[0], patches->dims[0]);
    if (gantry__shapes_fit(patches, &wanted)) return GANTRY_OK;
    return gantry__refuse("patches have the shape %s; of these images they have %s",
                          gantry__shape_text(patches).text, gantry__shape_text(&wanted).text);
}

/* ---- convolutions ---- */

static const gantry__window_attrs_t conv_names = {.spread = "dilations"};

gantry_status_t gantry__window_read_conv(const gantry__infer_t *call, const gantry_shape_t *image,
                                         const gantry_shape_t *filter, gantry__window_t *out) {
    GANTRY__TRY(check_image(image, "convolution input"));
    GANTRY__TRY(check_image(filter, "convolution filter"));
    GANTRY__TRY(gantry__window_read(call, &conv_names, out));
    for (int d = 0; d < 3; ++d) {
        if (filter->dims[d] != 0 && (d == 2 || filter->dims[d] <= INT32_MAX)) continue;
        return gantry__refuse(
            "filter must not have zero elements (i.e. all dimensions must be non-zero), nor 2^31 rows or columns: %s",
            gantry__shape_text(filter).text);
    }
    out->window[0] = filter->dims[0];
    out->window[1] = filter->dims[1];
    return GANTRY_OK;
}

gantry_status_t gantry__window_depthwise(const gantry__infer_t *call, const gantry_shape_t *image,
                                         const gantry_shape_t *filter, gantry_shape_t *out) {
    gantry__window_t w;
    int64_t places[2];
    GANTRY__TRY(gantry__window_read_conv(call, image, filter, &w));
    int64_t channels = filter->dims[2];
    if (!gantry__merge_sizes(&channels, image->dims[w.channel])) {
        return gantry__refuse("input and filter must have the same depth: %" PRId64 " vs %" PRId64,
                              image->dims[w.channel], filter->dims[2]);
    }
    GANTRY__TRY(gantry__window_places(&w, image, places));
    *out = *image;
    out->dims[w.first] = places[0];
    out->dims[w.first + 1] = places[1];
    if (!window_depth(channels, filter->dims[3], &out->dims[w.channel]))
        return gantry__refuse("filter %s is too large", gantry__shape_text(filter).text);
    return GANTRY_OK;
}

gantry_status_t gantry__infer_depthwise_conv(gantry__infer_t *call) {
    return gantry__window_depthwise(call, call->shapes[0], call->shapes[1], &call->out_shapes[0]);
}
