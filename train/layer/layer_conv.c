/* SPDX-License-Identifier: Apache-2.0 */
/* Conv1D, Conv2D and DepthwiseConv2D, channels last. */
#include "train/base/fail.h"
#include "train/layer/layer_kernel.h"

typedef const gantry_tensor_t tensor;

static gantry_window_options_t window_of(const gantry__kernel_t *k) {
    return (gantry_window_options_t){
        .strides = {k->strides[0], k->strides[1]},
        .dilations = {k->dilations[0], k->dilations[1]},
        .padding = k->is_same ? GANTRY_PADDING_SAME : GANTRY_PADDING_VALID};
}

static gantry_status_t check_image(const char *kind, const gantry__kernel_t *k,
                                   const gantry_shape_t *inputs, size_t input_count, int32_t rank) {
    const int64_t spread[] = {(k->size - 1) * k->dilations[0] + 1,
                              (k->size - 1) * k->dilations[1] + 1};
    GANTRY__TRAIN_TRY(gantry__layer_check_rank(kind, inputs, input_count, rank + 2, rank + 2));
    return k->is_same ? GANTRY_OK : gantry__layer_check_window(kind, inputs, rank, spread);
}

/* ---- Conv1D ---- */

static gantry_status_t conv1d_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                    size_t input_count, void *user) {
    const gantry__kernel_t *k = user;
    GANTRY__TRAIN_TRY(check_image("Conv1D", k, inputs, input_count, 1));
    return gantry__kernel_add_weights(layer, k, GANTRY_SHAPE(k->size, inputs[0].dims[2], k->units),
                                      k->units);
}

static tensor *conv1d_call(const gantry_layer_call_t *call, void *user) {
    const gantry__kernel_t *k = user;
    const gantry_window_options_t window = window_of(k);
    return gantry__kernel_finish(
        call, k, gantry_conv1d(call->scope, call->inputs[0], call->weights[0], &window));
}

gantry_layer_t *gantry_conv1d_layer(int64_t filters, int64_t kernel_size,
                                    gantry_activation_t activation,
                                    const gantry_kernel_options_t *options) {
    static const gantry_layer_kind_t kind = {.struct_size = sizeof kind,
                                             .name = "Conv1D",
                                             .build = conv1d_build,
                                             .call = conv1d_call,
                                             .release = gantry__layer_free_user};
    return gantry__kernel_layer(&kind, filters, kernel_size, activation, options);
}

/* ---- Conv2D ---- */

static gantry_status_t conv2d_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                    size_t input_count, void *user) {
    const gantry__kernel_t *k = user;
    GANTRY__TRAIN_TRY(check_image("Conv2D", k, inputs, input_count, 2));
    return gantry__kernel_add_weights(
        layer, k, GANTRY_SHAPE(k->size, k->size, inputs[0].dims[3], k->units), k->units);
}

static tensor *conv2d_call(const gantry_layer_call_t *call, void *user) {
    const gantry__kernel_t *k = user;
    const gantry_window_options_t window = window_of(k);
    return gantry__kernel_finish(
        call, k, gantry_conv2d(call->scope, call->inputs[0], call->weights[0], &window));
}

gantry_layer_t *gantry_conv2d_layer(int64_t filters, int64_t kernel_size,
                                    gantry_activation_t activation,
                                    const gantry_kernel_options_t *options) {
    static const gantry_layer_kind_t kind = {.struct_size = sizeof kind,
                                             .name = "Conv2D",
                                             .build = conv2d_build,
                                             .call = conv2d_call,
                                             .release = gantry__layer_free_user};
    return gantry__kernel_layer(&kind, filters, kernel_size, activation, options);
}

/* ---- DepthwiseConv2D ---- */

static gantry_status_t depthwise_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                       size_t input_count, void *user) {
    const gantry__kernel_t *k = user;
    GANTRY__TRAIN_TRY(check_image("DepthwiseConv2D", k, inputs, input_count, 2));
    const int64_t channels = inputs[0].dims[3];
    return gantry__kernel_add_weights(layer, k,
                                      GANTRY_SHAPE(k->size, k->size, channels, k->multiplier),
                                      channels * k->multiplier);
}

static tensor *depthwise_call(const gantry_layer_call_t *call, void *user) {
    const gantry__kernel_t *k = user;
    const gantry_window_options_t window = window_of(k);
    return gantry__kernel_finish(
        call, k, gantry_depthwise_conv2d(call->scope, call->inputs[0], call->weights[0], &window));
}

gantry_layer_t *gantry_depthwise_conv2d_layer(int64_t kernel_size, gantry_activation_t activation,
                                              const gantry_kernel_options_t *options) {
    static const gantry_layer_kind_t kind = {.struct_size = sizeof kind,
                                             .name = "DepthwiseConv2D",
                                             .build = depthwise_build,
                                             .call = depthwise_call,
                                             .release = gantry__layer_free_user};
    return gantry__kernel_layer(&kind, 1, kernel_size, activation, options);
}
