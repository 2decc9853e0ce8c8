/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of convolutions, and of windows over sequences. */
#include <inttypes.h>

#include "op/op_infer_window.h"

/* ---- images ---- */

/* The output's shape of a convolution of image with filter. */
static gantry_status_t conv_shape(const gantry__infer_t *call, const gantry_shape_t *image,
                                  const gantry_shape_t *filter, gantry_shape_t *out) {
    gantry__window_t w;
    int64_t places[2];
    GANTRY__TRY(gantry__window_read_conv(call, image, filter, &w));
    const int64_t channels = image->dims[w.channel], each = filter->dims[2],
                  outputs = filter->dims[3];
    const bool is_open = channels < 0 || each < 0 || outputs < 0;
    if (!is_open && channels % each != 0) {
        return gantry__refuse("input depth must be evenly divisible by filter depth: %" PRId64
                              " vs %" PRId64,
                              channels, each);
    }
    if (!is_open && channels > 0 && outputs % (channels / each) != 0) {
        return gantry__refuse("output depth must be evenly divisible by number of groups: %" PRId64
                              " vs %" PRId64,
                              outputs, channels / each);
    }
    GANTRY__TRY(gantry__window_places(&w, image, places));
    *out = *image;
    out->dims[w.first] = places[0];
    out->dims[w.first + 1] = places[1];
    out->dims[w.channel] = outputs;
    return GANTRY_OK;
}

gantry_status_t gantry__infer_conv_2d(gantry__infer_t *call) {
    return conv_shape(call, call->shapes[0], call->shapes[1], &call->out_shapes[0]);
}

gantry_status_t gantry__infer_conv_integer(gantry__infer_t *call) {
    GANTRY__TRY(gantry__infer_small_types(call));
    GANTRY__TRY(gantry__infer_conv_2d(call));
    GANTRY__TRY(gantry__infer_zero_point(call, 2, 1, NULL));
    return gantry__infer_zero_point(call, 3, call->shapes[1]->dims[3], NULL);
}

gantry_status_t gantry__infer_convolve_images(gantry__infer_t *call) {
    GANTRY__TRY(gantry__infer_convolved_rows(call));
    return gantry__window_result(call);
}

gantry_status_t gantry__infer_convolved_rows(gantry__infer_t *call) {
    const gantry_shape_t *filter = call->shapes[1];
    gantry_shape_t images;
    GANTRY__TRY(gantry__window_images(call, "convolution input", &images));
    return conv_shape(call, &images, filter, &call->out_shapes[0]);
}

/* Used before the format is checked. */
static bool infer_conv_is_channels_first(const gantry__infer_t *call) {
    return strcmp(gantry__infer_attr(call, "data_format")->s, "NCHW") == 0;
}

/* Reads the image's shape from input_sizes: all of it, or TensorFlow's short form with its two
 * dimensions. Its batch is that of the result. */
static gantry_status_t read_image(gantry__infer_t *call, uint32_t input,
                                  const gantry_shape_t *filter, const gantry_shape_t *result,
                                  gantry_shape_t *out) {
    GANTRY__TRY(gantry__infer_dims(call, input, false, out));
    if (out->rank == 2 && filter->rank == 4 && result->rank == 4) {
        const bool last = !infer_conv_is_channels_first(call);
        const int64_t rows = out->dims[0], columns = out->dims[1], depth = filter->dims[2];
        *out = last ? (gantry_shape_t){.rank = 4, .dims = {result->dims[0], rows, columns, depth}}
                    : (gantry_shape_t){.rank = 4, .dims = {result->dims[0], depth, rows, columns}};
    }
    if (out->rank == 4) {
        if (result->rank == 4) (void)gantry__merge_sizes(&out->dims[0], result->dims[0]);
        return GANTRY_OK;
    }
    return gantry__refuse("%s must contain 4 values or 2 values, but got: %d",
                          call->op->inputs[input].name, out->rank);
}

/* The input `place` must be the result of a convolution of image with filter: its shape is
 * `wanted`. */
static gantry_status_t expect_result(const gantry__infer_t *call, uint32_t place,
                                     const gantry_shape_t *wanted, const gantry_shape_t *image,
                                     const gantry_shape_t *filter) {
    if (gantry__shapes_fit(wanted, call->shapes[place])) return GANTRY_OK;
    return gantry__refuse(
        "Size of %s doesn't match computed: actual = %s, computed = %s of images %s and filter %s",
        call->op->inputs[place].name, gantry__shape_text(call->shapes[place]).text,
        gantry__shape_text(wanted).text, gantry__shape_text(image).text,
        gantry__shape_text(filter).text);
}

static gantry_status_t check_gradient(const gantry__infer_t *call, uint32_t place,
                                      const gantry_shape_t *image, const gantry_shape_t *filter) {
    gantry_shape_t wanted;
    GANTRY__TRY(conv_shape(call, image, filter, &wanted));
    return expect_result(call, place, &wanted, image, filter);
}

/* Input `sizes` has the image's shape, input 1 is the filter, input `place` the result. */
static gantry_status_t infer_transposed(gantry__infer_t *call, uint32_t sizes, uint32_t place) {
    gantry_shape_t *image = &call->out_shapes[0];
    GANTRY__TRY(read_image(call, sizes, call->shapes[1], call->shapes[place], image));
    return check_gradient(call, place, image, call->shapes[1]);
}

gantry_status_t gantry__infer_conv_2d_backprop_input(gantry__infer_t *call) {
    return infer_transposed(call, 0, 2);
}

gantry_status_t gantry__infer_conv_2d_transpose(gantry__infer_t *call) {
    return infer_transposed(call, 2, 0);
}

gantry_status_t gantry__infer_conv_2d_backprop_filter(gantry__infer_t *call) {
    GANTRY__TRY(gantry__infer_dims(call, 1, false, &call->out_shapes[0]));
    return check_gradient(call, 2, call->shapes[0], &call->out_shapes[0]);
}

gantry_status_t gantry__infer_images_filter_gradient(gantry__infer_t *call) {
    const gantry_shape_t *images = call->shapes[0];
    gantry_shape_t *filter = &call->out_shapes[0], wanted;
    GANTRY__TRY(gantry__infer_dims(call, 1, false, filter));
    GANTRY__TRY(conv_shape(call, images, filter, &wanted));
    return expect_result(call, 2, &wanted, images, filter);
}

gantry_status_t gantry__infer_images_gradient(gantry__infer_t *call) {
    gantry_shape_t *images = &call->out_shapes[0], wanted;
    GANTRY__TRY(gantry__infer_dims(call, 0, false, images));
    GANTRY__TRY(conv_shape(call, images, call->shapes[1], &wanted));
    return expect_result(call, 2, &wanted, images, call->shapes[1]);
}

/* ---- depthwise ---- */

static gantry_status_t check_depthwise(const gantry__infer_t *call, const gantry_shape_t *image,
                                       const gantry_shape_t *filter) {
    gantry_shape_t wanted;
    GANTRY__TRY(gantry__window_depthwise(call, image, filter, &wanted));
    return expect_result(call, 2, &wanted, image, filter);
}

gantry_status_t gantry__infer_depthwise_backprop_input(gantry__infer_t *call) {
    GANTRY__TRY(gantry__infer_dims(call, 0, false, &call->out_shapes[0]));
    return check_depthwise(call, &call->out_shapes[0], call->shapes[1]);
}

gantry_status_t gantry__infer_depthwise_backprop_filter(gantry__infer_t *call) {
    GANTRY__TRY(gantry__infer_dims(call, 1, false, &call->out_shapes[0]));
    return check_depthwise(call, call->shapes[0], &call->out_shapes[0]);
}

/* A part has a number of rows of places, counted over all images. */
gantry_status_t gantry__infer_depthwise_filter_parts(gantry__infer_t *call) {
    const gantry_shape_t *places = call->shapes[2];
    gantry_shape_t filter, *out = &call->out_shapes[0];
    GANTRY__TRY(gantry__infer_dims(call, 1, false, &filter));
    GANTRY__TRY(check_depthwise(call, call->shapes[0], &filter));
    const bool is_open = places->dims[0] < 0 || places->dims[1] < 0;
    const int64_t rows = is_open ? 1 : places->dims[0] * places->dims[1],
                  most = GANTRY__DEPTHWISE_PARTS_MOST, each = (rows + most - 1) / most;
    if (!gantry__sizes_fit(filter.dims[3], 1) || rows == 0) {
        return gantry__refuse(
            "filter_sizes %s with out_backprop %s: one output for each channel and "
            "a row of places are needed",
            gantry__shape_text(&filter).text, gantry__shape_text(places).text);
    }
    *out = (gantry_shape_t){.rank = 4,
                            .dims = {is_open ? -1 : (rows + each - 1) / each, filter.dims[0],
                                     filter.dims[1], filter.dims[2]}};
    return GANTRY_OK;
}

/* ---- sequences: [batch, length, channels], or NCW [batch, channels, length] ---- */

typedef struct line_t {
    int32_t at, channel; /* dimensions */
    int64_t window, step, spread;
    int64_t before, after; /* explicit padding */
    bool is_ceil;
} line_t;

static gantry_status_t infer_conv_read_line(const gantry__infer_t *call, const char *what,
                                            line_t *out) {
    const char *format = gantry__infer_attr(call, "data_format")->s;
    if (call->shapes[0]->rank != 3) {
        return gantry__refuse("%s must be 3-dimensional: %s", what,
                              gantry__shape_text(call->shapes[0]).text);
    }
    if (strcmp(format, "NWC") != 0 && strcmp(format, "NCW") != 0) {
        return gantry__refuse(
            "Value for attr 'data_format' of \"%s\" is not in the list of allowed values: \"NWC\", \"NCW\"",
            format);
    }
    out->at = format[1] == 'C' ? 2 : 1;
    out->channel = 3 - out->at;
    return GANTRY_OK;
}

/* Reads explicit_paddings, two numbers per dimension, if the op has them. */
static gantry_status_t read_line_padding(const gantry__infer_t *call, line_t *line) {
    const char *padding = gantry__infer_attr(call, "padding")->s;
    const gantry_attr_t *pads = gantry__infer_attr(call, "explicit_paddings");
    const bool is_explicit = strcmp(padding, "EXPLICIT") == 0;
    if (strcmp(padding, "SAME") != 0 && strcmp(padding, "VALID") != 0 && !(pads && is_explicit)) {
        return gantry__refuse(
            "Value for attr 'padding' of \"%s\" is not in the list of allowed values: \"SAME\", \"VALID\"%s",
            padding, pads ? ", \"EXPLICIT\"" : "");
    }
    if (!pads || (!is_explicit && pads->i == 0)) return GANTRY_OK;
    if (!is_explicit || pads->i != 6) {
        return gantry__refuse(
            "explicit_paddings has %" PRId64
            " numbers with padding \"%s\"; with \"EXPLICIT\" 6 are accepted, else none",
            pads->i, padding);
    }
    line->before = pads->list[2 * line->at];
    line->after = pads->list[2 * line->at + 1];
    for (int32_t k = 0; k < 6; ++k) {
        const bool is_own = k / 2 == line->at;
        if (is_own ? pads->list[k] >= 0 && pads->list[k] < line->window : pads->list[k] == 0)
            continue;
        return gantry__refuse(
            "padding %" PRId64 " of dimension %d %s", pads->list[k], (int)k / 2,
            is_own ? "must not be negative and needs to be smaller than the window size"
                   : "must be 0: that of the length is accepted");
    }
    return GANTRY_OK;
}

static gantry_status_t infer_line(gantry__infer_t *call, const line_t *line, gantry_shape_t *out) {
    const char *padding = gantry__infer_attr(call, "padding")->s;
    const int64_t length = call->shapes[0]->dims[line->at];
    const bool same = strcmp(padding, "SAME") == 0;
    if (line->window == 0 || line->step < 1 || line->spread < 1 || line->window > INT32_MAX ||
        line->step > INT32_MAX || line->spread > INT32_MAX || length > INT32_MAX) {
        return gantry__refuse(
            "window, stride and dilation must be positive and, as the length, less than 2^31; they are %" PRId64
            ", %" PRId64 ", %" PRId64 " of %" PRId64,
            line->window, line->step, line->spread, length);
    }
    const int64_t reach = (line->window - 1) * line->spread + 1;
    const bool is_open = length < 0 || (line->window < 0 && !same);
    const int64_t places = is_open ? -1
                           : same  ? length / line->step + (length % line->step != 0)
                                   : gantry__window_places_along(length, line->before, line->after,
                                                                 reach, line->step, line->is_ceil);
    if (!is_open && places < 0) {
        return gantry__refuse("Computed output size would be negative: length %" PRId64
                              ", window %" PRId64 ", stride %" PRId64,
                              length, reach, line->step);
    }
    *out = *call->shapes[0];
    out->dims[line->at] = places;
    return GANTRY_OK;
}

gantry_status_t gantry__infer_pool_1d(gantry__infer_t *call) {
    line_t line = {.window = gantry__infer_attr(call, "ksize")->i,
                   .step = gantry__infer_attr(call, "strides")->i,
                   .spread = gantry__infer_attr(call, "dilations")->i,
                   .is_ceil = gantry__infer_attr(call, "ceil_mode")->i != 0};
    if (line.window < 0) line.window = 0; /* refused below */
    GANTRY__TRY(infer_conv_read_line(call, "pooling input", &line));
    GANTRY__TRY(read_line_padding(call, &line));
    return infer_line(call, &line, &call->out_shapes[0]);
}

gantry_status_t gantry__infer_conv_1d(gantry__infer_t *call) {
    const gantry_shape_t *filter = call->shapes[1];
    line_t line = {.step = gantry__infer_attr(call, "stride")->i,
                   .spread = gantry__infer_attr(call, "dilations")->i};
    GANTRY__TRY(infer_conv_read_line(call, "convolution input", &line));
    GANTRY__TRY(read_line_padding(call, &line));
    if (filter->rank != 3 || filter->dims[0] == 0 || filter->dims[1] == 0) {
        return gantry__refuse(
            "convolution filter must be 3-dimensional, without empty dimensions: %s",
            gantry__shape_text(filter).text);
    }
    const int64_t channels = call->shapes[0]->dims[line.channel], each = filter->dims[1],
                  outputs = filter->dims[2];
    const bool is_open = channels < 0 || each < 0 || outputs < 0;
    if (!is_open && (channels % each != 0 || (channels > 0 && outputs % (channels / each) != 0))) {
        return gantry__refuse(
            "input depth must be evenly divisible by filter depth, and output depth by their quotient: %" PRId64
            ", %" PRId64 ", %" PRId64,
            channels, each, outputs);
    }
    line.window = filter->dims[0];
    GANTRY__TRY(infer_line(call, &line, &call->out_shapes[0]));
    call->out_shapes[0].dims[line.channel] = outputs;
    return GANTRY_OK;
}
