/* SPDX-License-Identifier: Apache-2.0 */
/* ConvInteger and QLinearConv, over images and sequences. */
#include "onnx/lower/lower_quantize.h"

#include <gantry/ops.h>

#include "onnx/lower/window.h"

/* The key of the prepared filter; 0 and 1 are those of the filter of numbers. */
#define INTEGER_FILTER 2
#define CHANNEL_FILTER 3
/* Sums of so many products of bytes less their zero points are exact in float32. */
#define MOST_EXACT_TAPS 256

bool gantry__onnx_has_channel_groups(const gantry__onnx_call_t *call, const gantry_shape_t *filter,
                                     int64_t group) {
    const gantry_shape_t *shape = gantry_tensor_shape(gantry__onnx_input(call, 0));
    if (group < 2 || shape->rank < 3 || filter->dims[1] != 1 || shape->dims[1] != group)
        return false;
    return gantry_shape_elements(filter) / (filter->dims[0] ? filter->dims[0] : 1) <=
           MOST_EXACT_TAPS;
}

/* ---- a group for each channel ---- */

/* A filter [channels * outputs, 1, rows, columns] as [rows, columns, channels, outputs] of float32.
 * channels is input 0's second size. */
static const gantry_tensor_t *spread_filter(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                            const gantry_tensor_t *filter) {
    static const int32_t order[4] = {2, 3, 0, 1};
    const gantry_shape_t *shape = gantry_tensor_shape(filter);
    const int64_t channels = gantry_tensor_shape(gantry__onnx_input(call, 0))->dims[1];
    const int64_t rows = shape->rank == 3 ? 1 : shape->dims[2];
    const gantry_shape_t apart =
        GANTRY_SHAPE(channels, shape->dims[0] / channels, rows, shape->dims[shape->rank - 1]);
    filter = gantry_transpose(scope, gantry_reshape(scope, filter, apart), order);
    return gantry_cast(scope, filter, GANTRY_FLOAT32);
}

/* x less its zero point, as float32. */
static const gantry_tensor_t *less_zero(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                        const gantry_tensor_t *x, const gantry_tensor_t *zero) {
    if (gantry_tensor_dtype(x) != GANTRY_FLOAT32) x = gantry_cast(scope, x, GANTRY_FLOAT32);
    if (!zero) return x;
    return gantry_sub(scope, x,
                      gantry_cast(gantry__onnx_scope_of(call, &zero, 1), zero, GANTRY_FLOAT32));
}

/* The sums of a convolution whose groups have one channel: exact, because they are small. */
static const gantry_tensor_t *convolve_channels(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                                size_t filter_input, gantry__onnx_make_fn make,
                                                const gantry_tensor_t *x_zero,
                                                const gantry_tensor_t *filter_zero,
                                                const gantry_window_options_t *options) {
    const gantry_tensor_t *filter = gantry__onnx_prepared(call, filter_input, CHANNEL_FILTER, make);
    const gantry_shape_t *shape = gantry_tensor_shape(filter);
    if (filter_zero && gantry_tensor_elements(filter_zero) > 1)
        filter_zero = gantry_reshape(gantry__onnx_scope_of(call, &filter_zero, 1), filter_zero,
                                     GANTRY_SHAPE(shape->dims[2], shape->dims[3]));
    gantry_scope_t *scope = gantry__onnx_scope_of(call, &filter, 1);
    if (filter_zero && !gantry__onnx_is_known(call, filter_zero)) scope = call->scope;
    const gantry_tensor_t *y =
        gantry_depthwise_conv2d(call->scope, less_zero(call, call->scope, x, x_zero),
                                less_zero(call, scope, filter, filter_zero), options);
    return gantry_cast(call->scope, y, GANTRY_INT32);
}

const gantry_tensor_t *gantry__onnx_turn_filter(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                                const gantry_tensor_t *filter) {
    static const int32_t order[4] = {2, 3, 1, 0};
    const int64_t group = gantry__onnx_attr_int(call, "group", 1);
    if (gantry__onnx_has_channel_groups(call, gantry_tensor_shape(filter), group))
        return spread_filter(call, scope, filter);
    if (gantry_tensor_shape(filter)->rank == 3) filter = gantry_expand_dims(scope, filter, 2);
    return gantry_transpose(scope, filter, order);
}

gantry_status_t gantry__onnx_convolve_integers(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                               size_t filter_input, gantry__onnx_make_fn make,
                                               const gantry_tensor_t *x_zero,
                                               const gantry_tensor_t *filter_zero,
                                               const gantry_tensor_t **out) {
    const gantry_shape_t *given = gantry_tensor_shape(gantry__onnx_input(call, filter_input));
    const int32_t rank = gantry_tensor_shape(x)->rank;
    if (rank != 3 && rank != 4)
        return gantry__onnx_unsupported(call, "a convolution of integers of rank %d", rank);
    if (given->rank != rank)
        return gantry__onnx_invalid(call, "a filter of rank %d for values of rank %d", given->rank,
                                    rank);
    GANTRY__TRY(gantry__onnx_need_shape(call, gantry__onnx_input(call, filter_input)));
    const int64_t group = gantry__onnx_attr_int(call, "group", 1);
    const int64_t channels = gantry_tensor_shape(x)->dims[1];
    if (group < 1 ||
        (channels >= 0 && (channels % group != 0 || channels / group != given->dims[1])))
        return gantry__onnx_invalid(call, "%lld channels, but %lld groups of filters of %lld",
                                    (long long)channels, (long long)group,
                                    (long long)given->dims[1]);
    gantry__onnx_window_t window;
    GANTRY__TRY(gantry__onnx_read_kernel(call, x, given->dims + 2, &window));
    GANTRY__TRY(gantry__onnx_read_padding(call, x, &window));
    GANTRY__TRY(gantry__onnx_check_reach(call, &window, false));
    const gantry_window_options_t options = gantry__onnx_plane_options(&window);
    x_zero = gantry__onnx_as_scalar(gantry__onnx_scope_of(call, &x_zero, 1), x_zero);
    filter_zero = gantry__onnx_as_scalar(gantry__onnx_scope_of(call, &filter_zero, 1), filter_zero);
    x = gantry__onnx_to_planes(call, x, &window);
    if (gantry__onnx_has_channel_groups(call, given, group))
        *out = convolve_channels(call, x, filter_input, make, x_zero, filter_zero, &options);
    else
        *out = gantry_conv_integer(call->scope, x,
                                   gantry__onnx_prepared(call, filter_input, INTEGER_FILTER, make),
                                   x_zero, filter_zero, &options);
    *out = gantry__onnx_from_planes(call, *out, &window);
    return gantry_scope_status(call->scope);
}

gantry_status_t gantry__onnx_lower_conv_integer(gantry__onnx_call_t *call) {
    const gantry_tensor_t *y = NULL;
    GANTRY__TRY(gantry__onnx_convolve_integers(
        call, gantry__onnx_input(call, 0), 1, gantry__onnx_turn_filter, gantry__onnx_input(call, 2),
        gantry__onnx_input(call, 3), &y));
    return gantry__onnx_give(call, y);
}

const gantry_tensor_t *gantry__onnx_channel_column(gantry__onnx_call_t *call,
                                                   const gantry_tensor_t *x, int32_t rank) {
    if (!x || gantry_tensor_elements(x) == 1) return x;
    const gantry_shape_t shape = {.rank = rank - 1, .dims = {gantry_tensor_elements(x), 1, 1}};
    return gantry_reshape(gantry__onnx_scope_of(call, &x, 1), x, shape);
}

gantry_status_t gantry__onnx_lower_qlinear_conv(gantry__onnx_call_t *call) {
    gantry__onnx_quantized_t type;
    const gantry_tensor_t *y = NULL, *bias = gantry__onnx_input(call, 8);
    GANTRY__TRY(gantry__onnx_quantized_as(call, 7, &type));
    GANTRY__TRY(gantry__onnx_convolve_integers(
        call, gantry__onnx_input(call, 0), 3, gantry__onnx_turn_filter, gantry__onnx_input(call, 2),
        gantry__onnx_input(call, 5), &y));
    const int64_t outputs = gantry_tensor_shape(gantry__onnx_input(call, 3))->dims[0];
    GANTRY__TRY(gantry__onnx_check_bias(call, 8, outputs));
    for (size_t i = 4; i < 6; ++i) {
        const int64_t count = gantry_tensor_elements(gantry__onnx_input(call, i));
        if (count != 1 && count >= 0 && count != outputs)
            return gantry__onnx_invalid(call, "input %zu has %lld elements for %lld outputs", i,
                                        (long long)count, (long long)outputs);
    }
    const int32_t rank = gantry_tensor_shape(y)->rank;
    if (bias) {
        const gantry_shape_t shape = {.rank = rank - 1,
                                      .dims = {gantry_tensor_elements(bias), 1, 1}};
        gantry_scope_t *own = gantry__onnx_scope_of(call, &bias, 1);
        y = gantry_add(call->scope, y, gantry_reshape(own, bias, shape));
    }
    const gantry_tensor_t *factor = gantry__onnx_product_factor(
        call, gantry__onnx_input(call, 1),
        gantry__onnx_channel_column(call, gantry__onnx_input(call, 4), rank),
        gantry__onnx_input(call, 6));
    return gantry__onnx_give(
        call, gantry__onnx_scale_product(call, y, factor, gantry__onnx_input(call, 7), &type));
}
