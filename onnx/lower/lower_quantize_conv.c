/* SPDX-License-Identifier: Apache-2.0 */
/* ConvInteger and QLinearConv, over images and sequences. */
#include "onnx/lower/lower_quantize.h"

#include <gantry/ops.h>

#include "onnx/lower/window.h"

/* The key of the prepared filter; 0 and 1 are those of the filter of numbers. */
#define INTEGER_FILTER 2

const gantry_tensor_t *gantry__onnx_turn_filter(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                                const gantry_tensor_t *filter) {
    static const int32_t order[4] = {2, 3, 1, 0};
    (void)call;
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
    const int64_t group = gantry__onnx_attr_int(call, "group", 1);
    const int64_t channels = gantry_tensor_shape(x)->dims[1];
    if (channels >= 0 && given->dims[1] >= 0 && channels != given->dims[1] * group)
        return gantry__onnx_invalid(call, "%lld channels, but %lld groups of filters of %lld",
                                    (long long)channels, (long long)group,
                                    (long long)given->dims[1]);
    gantry__onnx_window_t window;
    GANTRY__TRY(gantry__onnx_read_kernel(call, x, given->dims + 2, &window));
    GANTRY__TRY(gantry__onnx_read_padding(call, x, &window));
    const gantry_window_options_t options = gantry__onnx_plane_options(&window);
    const gantry_tensor_t *filter = gantry__onnx_prepared(call, filter_input, INTEGER_FILTER, make);
    x_zero = gantry__onnx_as_scalar(gantry__onnx_scope_of(call, &x_zero, 1), x_zero);
    filter_zero = gantry__onnx_as_scalar(gantry__onnx_scope_of(call, &filter_zero, 1), filter_zero);
    x = gantry__onnx_to_planes(call, x, &window);
    *out = gantry_conv_integer(call->scope, x, filter, x_zero, filter_zero, &options);
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
