/* SPDX-License-Identifier: Apache-2.0 */
/* ConvInteger and QLinearConv, over images and sequences. */
#include "onnx/lower/lower_quantize.h"

#include <gantry/ops.h>

#include <string.h>

/* A filter [outputs, channels, rows, columns], or without rows, as Gantry wants it: [rows, columns,
 * channels, outputs]. */
static const gantry_tensor_t *turn_filter(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                          const gantry_tensor_t *filter) {
    static const int32_t order[4] = {2, 3, 1, 0};
    (void)call;
    if (gantry_tensor_shape(filter)->rank == 3) filter = gantry_expand_dims(scope, filter, 2);
    return gantry_transpose(scope, filter, order);
}

/* A list with a number for each spatial dimension; NULL: not given. */
static gantry_status_t read_window_list(gantry__onnx_call_t *call, const char *name, size_t wanted,
                                        const int64_t **out) {
    size_t count = 0;
    *out = gantry__onnx_attr_ints(call, name, &count);
    if (*out && count != wanted)
        return gantry__onnx_invalid(call, "%s has %zu numbers, not %zu", name, count, wanted);
    return GANTRY_OK;
}

/* Padding of dimension i for as many windows as ceil(size / stride). */
static void pad_same(gantry_window_options_t *options, size_t i, int64_t size, int64_t filter,
                     bool is_upper) {
    const int64_t step = options->strides[i], count = (size + step - 1) / step;
    int64_t total = (count - 1) * step + (filter - 1) * options->dilations[i] + 1 - size;
    if (total < 0) total = 0;
    options->explicit_paddings[2 * i] = is_upper ? total / 2 : total - total / 2;
    options->explicit_paddings[2 * i + 1] = total - options->explicit_paddings[2 * i];
}

/* The windows of a convolution of x, [batch, channels, rows, columns], with a filter in Gantry's
 * form. A sequence has no rows; its numbers are those of columns. */
static gantry_status_t read_windows(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                    const gantry_tensor_t *filter, size_t spatial,
                                    gantry_window_options_t *options) {
    const int64_t *strides, *dilations, *pads;
    GANTRY__TRY(read_window_list(call, "strides", spatial, &strides));
    GANTRY__TRY(read_window_list(call, "dilations", spatial, &dilations));
    GANTRY__TRY(read_window_list(call, "pads", 2 * spatial, &pads));
    const char *mode = gantry__onnx_attr_text(call, "auto_pad", "NOTSET");
    const bool is_upper = strcmp(mode, "SAME_UPPER") == 0;
    const bool is_same = is_upper || strcmp(mode, "SAME_LOWER") == 0;
    const bool is_set = strcmp(mode, "NOTSET") == 0;
    if (!is_same && !is_set && strcmp(mode, "VALID") != 0)
        return gantry__onnx_invalid(call, "auto_pad \"%s\"", mode);
    *options = (gantry_window_options_t){.struct_size = sizeof *options,
                                         .strides = {1, 1},
                                         .dilations = {1, 1},
                                         .padding = GANTRY_PADDING_EXPLICIT,
                                         .channels_first = true};
    if (is_same) GANTRY__TRY(gantry__onnx_need_shape(call, x));
    for (size_t i = 0; i < spatial; ++i) {
        const size_t k = i + 2 - spatial;
        if (strides) options->strides[k] = strides[i];
        if (dilations) options->dilations[k] = dilations[i];
        if (options->strides[k] < 1 || options->dilations[k] < 1)
            return gantry__onnx_invalid(call, "strides and dilations must be 1 or more");
        if (is_set && pads) {
            options->explicit_paddings[2 * k] = pads[i];
            options->explicit_paddings[2 * k + 1] = pads[i + spatial];
        } else if (is_same) {
            pad_same(options, k, gantry_tensor_shape(x)->dims[2 + k],
                     gantry_tensor_shape(filter)->dims[k], is_upper);
        }
    }
    return GANTRY_OK;
}

/* The convolution of inputs x and filter, less their zero points, in int32. */
static gantry_status_t convolve_integers(gantry__onnx_call_t *call, size_t filter_input,
                                         const gantry_tensor_t *x_zero,
                                         const gantry_tensor_t *filter_zero,
                                         const gantry_tensor_t **out) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    const gantry_shape_t *given = gantry_tensor_shape(gantry__onnx_input(call, filter_input));
    const int32_t rank = gantry_tensor_shape(x)->rank;
    if (rank != 3 && rank != 4)
        return gantry__onnx_unsupported(call, "a convolution of integers of rank %d", rank);
    if (given->rank != rank)
        return gantry__onnx_invalid(call, "a filter of rank %d for values of rank %d", given->rank,
                                    rank);
    const int64_t group = gantry__onnx_attr_int(call, "group", 1);
    const int64_t channels = gantry_tensor_shape(x)->dims[1];
    if (channels >= 0 && given->dims[1] >= 0 && channels != given->dims[1] * group)
        return gantry__onnx_invalid(call, "%lld channels, but %lld groups of filters of %lld",
                                    (long long)channels, (long long)group,
                                    (long long)given->dims[1]);
    const gantry_tensor_t *filter = gantry__onnx_prepared(call, filter_input, 0, turn_filter);
    if (rank == 3) x = gantry_expand_dims(call->scope, x, 2);
    gantry_window_options_t options;
    GANTRY__TRY(read_windows(call, x, filter, (size_t)rank - 2, &options));
    x_zero = gantry__onnx_as_scalar(gantry__onnx_scope_of(call, &x_zero, 1), x_zero);
    filter_zero = gantry__onnx_as_scalar(gantry__onnx_scope_of(call, &filter_zero, 1), filter_zero);
    *out = gantry_conv_integer(call->scope, x, filter, x_zero, filter_zero, &options);
    const int32_t rows = 2;
    if (rank == 3) *out = gantry_squeeze(call->scope, *out, &rows, 1);
    return gantry_scope_status(call->scope);
}

gantry_status_t gantry__onnx_lower_conv_integer(gantry__onnx_call_t *call) {
    const gantry_tensor_t *y = NULL;
    GANTRY__TRY(
        convolve_integers(call, 1, gantry__onnx_input(call, 2), gantry__onnx_input(call, 3), &y));
    return gantry__onnx_give(call, y);
}

/* A vector of one number for each channel, in a shape that broadcasts to images or sequences. */
static const gantry_tensor_t *by_channel(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                         int32_t rank) {
    if (!x || gantry_tensor_elements(x) == 1) return x;
    const gantry_shape_t shape = {.rank = rank - 1, .dims = {gantry_tensor_elements(x), 1, 1}};
    return gantry_reshape(gantry__onnx_scope_of(call, &x, 1), x, shape);
}

gantry_status_t gantry__onnx_lower_qlinear_conv(gantry__onnx_call_t *call) {
    gantry__onnx_quantized_t type;
    const gantry_tensor_t *y = NULL, *bias = gantry__onnx_input(call, 8);
    GANTRY__TRY(gantry__onnx_quantized_as(call, 7, &type));
    GANTRY__TRY(
        convolve_integers(call, 3, gantry__onnx_input(call, 2), gantry__onnx_input(call, 5), &y));
    const int32_t rank = gantry_tensor_shape(y)->rank;
    if (bias) {
        const gantry_shape_t shape = {.rank = rank - 1,
                                      .dims = {gantry_tensor_elements(bias), 1, 1}};
        gantry_scope_t *own = gantry__onnx_scope_of(call, &bias, 1);
        y = gantry_add(call->scope, y, gantry_reshape(own, bias, shape));
    }
    const gantry_tensor_t *factor = gantry__onnx_product_factor(
        call, gantry__onnx_input(call, 1), by_channel(call, gantry__onnx_input(call, 4), rank),
        gantry__onnx_input(call, 6));
    return gantry__onnx_give(
        call, gantry__onnx_scale_product(call, y, factor, gantry__onnx_input(call, 7), &type));
}
