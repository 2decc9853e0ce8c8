/* SPDX-License-Identifier: Apache-2.0 */
/* SeparableConv1D, SeparableConv2D: filters of each channel, then sums over their outputs. */
#include "train/base/fail.h"
#include "train/layer/layer_kernel.h"

typedef const gantry_tensor_t tensor;

/* rank is that of the window. */
static gantry_status_t separable_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                       size_t input_count, int32_t rank) {
    const gantry__kernel_t *k = layer->user;
    GANTRY__TRY(
        gantry__layer_check_rank(layer->kind.name, inputs, input_count, rank + 2, rank + 2));
    GANTRY__TRY(gantry__kernel_check_window(layer->kind.name, k, inputs, rank));
    const int64_t channels = inputs[0].dims[rank + 1], joined = channels * k->multiplier;
    const gantry_shape_t depthwise =
        rank == 1 ? GANTRY_SHAPE(k->sizes[0], channels, k->multiplier)
                  : GANTRY_SHAPE(k->sizes[0], k->sizes[1], channels, k->multiplier);
    const gantry_shape_t pointwise =
        rank == 1 ? GANTRY_SHAPE(1, joined, k->units) : GANTRY_SHAPE(1, 1, joined, k->units);
    GANTRY__TRY(gantry_layer_add_weight(layer, "depthwise_kernel", depthwise, &k->kernel, true));
    GANTRY__TRY(gantry_layer_add_weight(layer, "pointwise_kernel", pointwise, &k->kernel, true));
    if (!k->has_bias) return GANTRY_OK;
    return gantry_layer_add_weight(layer, "bias", GANTRY_SHAPE(k->units), &k->bias, true);
}

static gantry_status_t separable1d_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                         size_t input_count, void *user) {
    (void)user;
    return separable_build(layer, inputs, input_count, 1);
}

static gantry_status_t separable2d_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                         size_t input_count, void *user) {
    (void)user;
    return separable_build(layer, inputs, input_count, 2);
}

static tensor *separable_call(const gantry_layer_call_t *call, const gantry__kernel_t *k,
                              const char *kind, int32_t rank) {
    gantry_scope_t *s = call->scope;
    const gantry_window_options_t window = gantry__kernel_image_window(k, rank), single = {0};
    const gantry_status_t status =
        gantry__kernel_check_window(kind, k, gantry_tensor_shape(call->inputs[0]), rank);
    if (gantry__train_hand_on(s, status) != GANTRY_OK) return NULL;
    tensor *x = gantry__kernel_image(s, call->inputs[0], rank, 1);
    x = gantry_depthwise_conv2d(s, x, gantry__kernel_image(s, call->weights[0], rank, 0), &window);
    x = gantry_conv2d(s, x, gantry__kernel_image(s, call->weights[1], rank, 0), &single);
    return gantry__kernel_finish(call, k, gantry__kernel_sequence(s, x, rank));
}

static tensor *separable1d_call(const gantry_layer_call_t *call, void *user) {
    return separable_call(call, user, "SeparableConv1D", 1);
}

static tensor *separable2d_call(const gantry_layer_call_t *call, void *user) {
    return separable_call(call, user, "SeparableConv2D", 2);
}

gantry_layer_t *gantry_separable_conv1d_layer(int64_t filters, int64_t kernel_size,
                                              gantry_activation_t activation,
                                              const gantry_kernel_options_t *options) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND("SeparableConv1D", separable1d_build, separable1d_call);
    return gantry__kernel_layer(
        &kind, GANTRY__KERNEL_WINDOW | GANTRY__KERNEL_MULTIPLIER | GANTRY__KERNEL_POINTWISE,
        filters, kernel_size, activation, options);
}

gantry_layer_t *gantry_separable_conv2d_layer(int64_t filters, int64_t kernel_size,
                                              gantry_activation_t activation,
                                              const gantry_kernel_options_t *options) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND("SeparableConv2D", separable2d_build, separable2d_call);
    return gantry__kernel_layer(&kind,
                                GANTRY__KERNEL_WINDOW | GANTRY__KERNEL_COLUMNS |
                                    GANTRY__KERNEL_MULTIPLIER | GANTRY__KERNEL_POINTWISE,
                                filters, kernel_size, activation, options);
}
