/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions of ops_window.h: options become attributes. */
#include <gantry/op.h>
#include <gantry/ops_window.h>

#include "api/api.h"
#include "run/call_op.h"

typedef const gantry_tensor_t tensor;

#define MOST_ATTRS 10

/* The attributes of one call; their lists of four are stored with them. */
typedef struct window_call_t {
    gantry_window_options_t options;
    gantry_attr_value_t attrs[MOST_ATTRS];
    int64_t lists[MOST_ATTRS][8];
    size_t count;
} window_call_t;

static const char *padding_text(gantry_padding_t padding) {
    static const char *const texts[] = {"SAME", "VALID", "EXPLICIT"};
    return (unsigned)padding < 3 ? texts[padding] : "none of gantry_padding_t";
}

static void add_text(window_call_t *call, const char *name, const char *text) {
    call->attrs[call->count++] = gantry__attr_text(name, text);
}

static void add_bool(window_call_t *call, const char *name, bool value) {
    call->attrs[call->count++] = gantry__attr_bool(name, value);
}

static void add_int(window_call_t *call, const char *name, int64_t value) {
    call->attrs[call->count++] = gantry__attr_int(name, value);
}

/* [1, rows, columns, 1], or [1, 1, rows, columns] with channels first. */
static void add_four(window_call_t *call, const char *name, int64_t rows, int64_t columns) {
    int64_t *list = call->lists[call->count];
    const int first = call->options.channels_first ? 2 : 1;
    for (int d = 0; d < 4; ++d) list[d] = 1;
    list[first] = rows;
    list[first + 1] = columns;
    call->attrs[call->count++] = gantry__attr_ints(name, list, 4);
}

static void add_pads(window_call_t *call) {
    int64_t *list = call->lists[call->count];
    const int first = call->options.channels_first ? 4 : 2;
    if (call->options.padding != GANTRY_PADDING_EXPLICIT) return;
    for (int d = 0; d < 8; ++d) list[d] = 0;
    for (int d = 0; d < 4; ++d) list[first + d] = call->options.explicit_paddings[d];
    call->attrs[call->count++] = gantry__attr_ints("explicit_paddings", list, 8);
}

/* The first two numbers, of the length. */
static void add_line_pads(window_call_t *call) {
    int64_t *list = call->lists[call->count];
    const int first = call->options.channels_first ? 4 : 2;
    if (call->options.padding != GANTRY_PADDING_EXPLICIT) return;
    for (int d = 0; d < 6; ++d) list[d] = 0;
    for (int d = 0; d < 2; ++d) list[first + d] = call->options.explicit_paddings[d];
    call->attrs[call->count++] = gantry__attr_ints("explicit_paddings", list, 6);
}

/* The number of an option, in which 0 means 1. */
static int64_t or_one(int64_t value) { return value ? value : 1; }

static void add_strides(window_call_t *call) {
    add_four(call, "strides", or_one(call->options.strides[0]), or_one(call->options.strides[1]));
}

static void add_spreads(window_call_t *call, const char *name) {
    add_four(call, name, or_one(call->options.dilations[0]), or_one(call->options.dilations[1]));
}

static bool has_spreads(const gantry_window_options_t *options) {
    return or_one(options->dilations[0]) != 1 || or_one(options->dilations[1]) != 1;
}

static bool ops_window_take_options(window_call_t *call, gantry_scope_t *scope,
                                    const gantry_window_options_t *given) {
    call->count = 0;
    return GANTRY__TAKE_OPTIONS(scope, given, gantry_window_options_t, channels_first,
                                &call->options);
}

/* Adds padding and format, which all ops have; for_images selects the format's names. False after
 * an InvalidArgument. */
static bool ops_window_begin(window_call_t *call, gantry_scope_t *scope,
                             const gantry_window_options_t *options, bool for_images) {
    static const char *const formats[2][2] = {{"NWC", "NCW"}, {"NHWC", "NCHW"}};
    if (!ops_window_take_options(call, scope, options)) return false;
    add_text(call, "padding", padding_text(call->options.padding));
    add_text(call, "data_format", formats[for_images][call->options.channels_first]);
    return true;
}

static tensor *convolve_inputs(gantry_scope_t *scope, gantry__op_id_t id, tensor *const *inputs,
                               uint32_t count, const gantry_window_options_t *options,
                               gantry__extras_t *extras) {
    window_call_t call;
    if (!ops_window_begin(&call, scope, options, true)) return NULL;
    add_strides(&call);
    add_spreads(&call, "dilations");
    add_pads(&call);
    return gantry__call_op(scope, id, inputs, count, call.attrs, call.count, extras);
}

static tensor *ops_window_convolve(gantry_scope_t *scope, gantry__op_id_t id, tensor *images,
                                   tensor *filter, const gantry_window_options_t *options) {
    tensor *inputs[] = {images, filter};
    return convolve_inputs(scope, id, inputs, 2, options, NULL);
}

tensor *gantry_conv2d(gantry_scope_t *scope, tensor *images, tensor *filter,
                      const gantry_window_options_t *options) {
    return ops_window_convolve(scope, GANTRY__OP_ID_Conv2D, images, filter, options);
}

tensor *gantry_conv_integer(gantry_scope_t *scope, tensor *images, tensor *filter,
                            tensor *images_zero_point, tensor *filter_zero_point,
                            const gantry_window_options_t *options) {
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[] = {images, filter, images_zero_point, filter_zero_point};
    const uint32_t count = gantry__add_zero_points(&extras, scope, inputs);
    return convolve_inputs(scope, GANTRY__OP_ID_ConvInteger, inputs, count, options, &extras);
}

tensor *gantry_depthwise_conv2d(gantry_scope_t *scope, tensor *images, tensor *filter,
                                const gantry_window_options_t *options) {
    return ops_window_convolve(scope, GANTRY__OP_ID_DepthwiseConv2dNative, images, filter, options);
}

tensor *gantry_conv2d_transpose(gantry_scope_t *scope, tensor *images, tensor *filter,
                                gantry_shape_t output_shape,
                                const gantry_window_options_t *options) {
    int32_t sizes[GANTRY_MAX_RANK] = {0};
    gantry__extras_t extras = {.count = 0};
    window_call_t call;
    if (!ops_window_begin(&call, scope, options, true)) return NULL;
    add_strides(&call);
    add_spreads(&call, "dilations");
    add_pads(&call);
    const bool has_rank = output_shape.rank >= 0 && output_shape.rank <= GANTRY_MAX_RANK;
    for (int32_t d = 0; has_rank && d < output_shape.rank; ++d) {
        const int64_t size = output_shape.dims[d];
        /* the op refuses -1 as a size */
        sizes[d] = size < 0 || size > INT32_MAX ? -1 : (int32_t)size;
    }
    tensor *inputs[] = {
        images, filter,
        has_rank
            ? gantry__add_host(&extras, scope, GANTRY_INT32, GANTRY_SHAPE(output_shape.rank), sizes)
            : gantry__add_given_shape(&extras, scope, GANTRY__OP_ID_Conv2DTranspose,
                                      &output_shape)};
    return gantry__call_op(scope, GANTRY__OP_ID_Conv2DTranspose, inputs, 3, call.attrs, call.count,
                           &extras);
}

tensor *gantry_conv1d(gantry_scope_t *scope, tensor *sequences, tensor *filter,
                      const gantry_window_options_t *options) {
    tensor *inputs[] = {sequences, filter};
    window_call_t call;
    if (!ops_window_begin(&call, scope, options, false)) return NULL;
    add_int(&call, "stride", or_one(call.options.strides[0]));
    add_int(&call, "dilations", or_one(call.options.dilations[0]));
    return gantry__call_op(scope, GANTRY__OP_ID_Conv1D, inputs, 2, call.attrs, call.count, NULL);
}

/* What pools have besides their size, unless it is the default. */
static void add_pool(window_call_t *call, bool is_mean) {
    if (call->options.ceil_mode) add_bool(call, "ceil_mode", true);
    if (is_mean && call->options.count_include_pad) add_bool(call, "count_include_pad", true);
}

static bool begin_pool(window_call_t *call, gantry_scope_t *scope, int64_t rows, int64_t columns,
                       bool is_mean, const gantry_window_options_t *options) {
    if (!ops_window_begin(call, scope, options, true)) return false;
    add_four(call, "ksize", rows, columns);
    add_strides(call);
    if (has_spreads(&call->options)) add_spreads(call, "dilations");
    add_pads(call);
    add_pool(call, is_mean);
    return true;
}

static tensor *pool_images(gantry_scope_t *scope, gantry__op_id_t id, tensor *images, int64_t rows,
                           int64_t columns, const gantry_window_options_t *options) {
    window_call_t call;
    if (!begin_pool(&call, scope, rows, columns, id == GANTRY__OP_ID_AvgPool, options)) return NULL;
    return gantry__call_op(scope, id, &images, 1, call.attrs, call.count, NULL);
}

gantry_status_t gantry_max_pool2d_with_argmax(gantry_scope_t *scope, tensor *images, int64_t rows,
                                              int64_t columns,
                                              const gantry_window_options_t *options,
                                              bool include_batch_in_index, bool by_columns,
                                              tensor *outputs[2]) {
    window_call_t call;
    size_t count = 2;
    if (!gantry__is_given(scope, outputs, 2, "gantry_max_pool2d_with_argmax: outputs"))
        return scope ? gantry_scope_status(scope) : GANTRY_INVALID_ARGUMENT;
    outputs[0] = outputs[1] = NULL;
    if (!begin_pool(&call, scope, rows, columns, false, options))
        return scope ? gantry_scope_status(scope) : GANTRY_INVALID_ARGUMENT;
    add_bool(&call, "include_batch_in_index", include_batch_in_index);
    add_int(&call, "storage_order", by_columns);
    return gantry__call_op_into(scope, GANTRY__OP_ID_MaxPoolWithArgmax, &images, 1, call.attrs,
                                call.count, NULL, outputs, &count);
}

tensor *gantry_max_pool2d(gantry_scope_t *scope, tensor *images, int64_t rows, int64_t columns,
                          const gantry_window_options_t *options) {
    return pool_images(scope, GANTRY__OP_ID_MaxPool, images, rows, columns, options);
}

tensor *gantry_avg_pool2d(gantry_scope_t *scope, tensor *images, int64_t rows, int64_t columns,
                          const gantry_window_options_t *options) {
    return pool_images(scope, GANTRY__OP_ID_AvgPool, images, rows, columns, options);
}

static tensor *pool_line(gantry_scope_t *scope, gantry__op_id_t id, tensor *sequences,
                         int64_t length, const gantry_window_options_t *options) {
    window_call_t call;
    if (!ops_window_begin(&call, scope, options, false)) return NULL;
    add_int(&call, "ksize", length);
    add_int(&call, "strides", or_one(call.options.strides[0]));
    add_int(&call, "dilations", or_one(call.options.dilations[0]));
    add_line_pads(&call);
    add_pool(&call, id == GANTRY__OP_ID_AvgPool1D);
    return gantry__call_op(scope, id, &sequences, 1, call.attrs, call.count, NULL);
}

tensor *gantry_max_pool1d(gantry_scope_t *scope, tensor *sequences, int64_t length,
                          const gantry_window_options_t *options) {
    return pool_line(scope, GANTRY__OP_ID_MaxPool1D, sequences, length, options);
}

tensor *gantry_avg_pool1d(gantry_scope_t *scope, tensor *sequences, int64_t length,
                          const gantry_window_options_t *options) {
    return pool_line(scope, GANTRY__OP_ID_AvgPool1D, sequences, length, options);
}

tensor *gantry_extract_image_patches(gantry_scope_t *scope, tensor *images, int64_t rows,
                                     int64_t columns, const gantry_window_options_t *options) {
    window_call_t call;
    if (!ops_window_take_options(&call, scope, options)) return NULL;
    call.options.channels_first = false;
    add_text(&call, "padding", padding_text(call.options.padding));
    add_four(&call, "ksizes", rows, columns);
    add_strides(&call);
    add_spreads(&call, "rates");
    add_pads(&call);
    return gantry__call_op(scope, GANTRY__OP_ID_ExtractImagePatches, &images, 1, call.attrs,
                           call.count, NULL);
}

/* ---- resizing ---- */

static tensor *add_numbers(gantry__extras_t *extras, gantry_scope_t *scope, gantry_dtype_t dtype,
                           const void *list, size_t count) {
    return gantry__add_host(extras, scope, dtype, GANTRY_SHAPE(list ? (int64_t)count : 0), list);
}

static size_t resize_attrs(const gantry_resize_options_t *o, size_t axis_count,
                           gantry_attr_value_t attrs[MOST_ATTRS]) {
    size_t n = 0;
    attrs[n++] = gantry__attr_text("mode", o->mode ? o->mode : "NEAREST");
    attrs[n++] = gantry__attr_text("coordinate_transformation", o->coordinate_transformation
                                                                    ? o->coordinate_transformation
                                                                    : "HALF_PIXEL");
    attrs[n++] =
        gantry__attr_text("nearest_mode", o->nearest_mode ? o->nearest_mode : "ROUND_PREFER_FLOOR");
    attrs[n++] =
        gantry__attr_float("cubic_coeff_a", o->cubic_coeff_a != 0 ? o->cubic_coeff_a : -0.75);
    attrs[n++] = gantry__attr_bool("exclude_outside", o->exclude_outside);
    attrs[n++] = gantry__attr_bool("antialias", o->antialias);
    attrs[n++] = gantry__attr_float("extrapolation_value", o->extrapolation_value);
    attrs[n++] =
        gantry__attr_text("keep_aspect_ratio_policy",
                          o->keep_aspect_ratio_policy ? o->keep_aspect_ratio_policy : "STRETCH");
    if (o->axes) attrs[n++] = gantry__attr_ints("axes", o->axes, axis_count);
    return n;
}

tensor *gantry_resize(gantry_scope_t *scope, tensor *x, const int64_t *sizes, size_t count,
                      const gantry_resize_options_t *options) {
    gantry_resize_options_t o;
    gantry_attr_value_t attrs[MOST_ATTRS];
    gantry__extras_t extras = {.count = 0};
    if (!GANTRY__TAKE_OPTIONS(scope, options, gantry_resize_options_t, roi, &o)) return NULL;
    if (count > GANTRY_MAX_RANK) {
        (void)gantry__scope_fail(
            scope, gantry__refuse("gantry_resize: count is %zu; 0 to %d are accepted", count,
                                  GANTRY_MAX_RANK));
        return NULL;
    }
    tensor *inputs[4] = {x};
    inputs[1] = add_numbers(&extras, scope, GANTRY_INT64, sizes, count);
    if (inputs[1]) inputs[2] = add_numbers(&extras, scope, GANTRY_FLOAT32, o.scales, count);
    if (inputs[2]) inputs[3] = add_numbers(&extras, scope, GANTRY_FLOAT32, o.roi, 2 * count);
    return gantry__call_op(scope, GANTRY__OP_ID_Resize, inputs, 4, attrs,
                           resize_attrs(&o, count, attrs), &extras);
}
