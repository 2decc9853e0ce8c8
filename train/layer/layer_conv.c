/* SPDX-License-Identifier: Apache-2.0 */
/* Conv1D, Conv2D and DepthwiseConv2D, channels last. They differ in the shape of the kernel and in
 * the op. */
#include "train/base/fail.h"
#include "train/layer/layer_kernel.h"

typedef const gantry_tensor_t tensor;

/* Builds a layer whose window has this rank. The kernel has `filters` outputs, for all channels
 * together or for each. */
static gantry_status_t conv_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                  size_t input_count, int32_t rank, int64_t filters,
                                  bool is_depthwise) {
    const gantry__kernel_t *k = layer->user;
    const char *kind = layer->kind.name;
    GANTRY__TRY(gantry__layer_check_rank(kind, inputs, input_count, rank + 2, rank + 2));
    GANTRY__TRY(gantry__kernel_check_window(kind, k, inputs, rank));
    const int64_t channels = inputs[0].dims[rank + 1] / k->groups;
    if (channels * k->groups != inputs[0].dims[rank + 1])
        return gantry__train_refuse(
            NULL,
            "layer %s: %lld channels in %lld groups; a number that divides the channels is accepted",
            kind, (long long)inputs[0].dims[rank + 1], (long long)k->groups);
    const gantry_shape_t shape = rank == 1
                                     ? GANTRY_SHAPE(k->sizes[0], channels, filters)
                                     : GANTRY_SHAPE(k->sizes[0], k->sizes[1], channels, filters);
    return gantry__kernel_add_weights(layer, k, shape, is_depthwise ? channels * filters : filters);
}

static gantry_status_t conv1d_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                    size_t input_count, void *user) {
    const gantry__kernel_t *k = user;
    return conv_build(layer, inputs, input_count, 1, k->units, false);
}

static gantry_status_t conv2d_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                    size_t input_count, void *user) {
    const gantry__kernel_t *k = user;
    return conv_build(layer, inputs, input_count, 2, k->units, false);
}

static gantry_status_t depthwise_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                       size_t input_count, void *user) {
    const gantry__kernel_t *k = user;
    return conv_build(layer, inputs, input_count, 2, k->multiplier, true);
}

/* ---- calls ---- */

typedef tensor *(*conv_fn)(gantry_scope_t *scope, tensor *x, tensor *filter,
                           const gantry_window_options_t *options);

/* Puts as many zeros in front as a window has elements before its last one. */
static tensor *pad_front(const gantry_layer_call_t *call, const gantry__kernel_t *k) {
    const int64_t paddings[] = {0, 0, (k->sizes[0] - 1) * k->dilations[0], 0, 0, 0};
    return k->is_causal ? gantry_pad(call->scope, call->inputs[0], paddings, NULL)
                        : call->inputs[0];
}

/* Each group of channels with its filters. */
static tensor *conv_groups(gantry_scope_t *s, tensor *x, tensor *filter, conv_fn op, int64_t groups,
                           const gantry_window_options_t *window) {
    tensor *parts[GANTRY_MAX_OP_INPUTS], *filters[GANTRY_MAX_OP_INPUTS];
    const size_t count = (size_t)groups;
    if (count == 1) return op(s, x, filter, window);
    if (gantry_split(s, x, -1, parts, count) != GANTRY_OK ||
        gantry_split(s, filter, -1, filters, count) != GANTRY_OK)
        return NULL;
    for (size_t i = 0; i < count; ++i) parts[i] = op(s, parts[i], filters[i], window);
    return gantry_concat(s, parts, count, -1);
}

/* Checks the window here again, because an open size may be smaller than the window. */
static tensor *conv_call(const gantry_layer_call_t *call, const gantry__kernel_t *k, conv_fn op,
                         const char *kind) {
    const gantry_window_options_t window = gantry__kernel_image_window(k, 2);
    const gantry_shape_t *input = gantry_tensor_shape(call->inputs[0]);
    const gantry_status_t status = gantry__kernel_check_window(kind, k, input, input->rank - 2);
    if (gantry__train_hand_on(call->scope, status) != GANTRY_OK) return NULL;
    tensor *y =
        conv_groups(call->scope, pad_front(call, k), call->weights[0], op, k->groups, &window);
    return gantry__kernel_finish(call, k, y);
}

static tensor *conv1d_call(const gantry_layer_call_t *call, void *user) {
    return conv_call(call, user, gantry_conv1d, "Conv1D");
}

static tensor *conv2d_call(const gantry_layer_call_t *call, void *user) {
    return conv_call(call, user, gantry_conv2d, "Conv2D");
}

static tensor *depthwise_call(const gantry_layer_call_t *call, void *user) {
    return conv_call(call, user, gantry_depthwise_conv2d, "DepthwiseConv2D");
}

/* ---- constructors ---- */

gantry_layer_t *gantry_conv1d_layer(int64_t filters, int64_t kernel_size,
                                    gantry_activation_t activation,
                                    const gantry_kernel_options_t *options) {
    static const gantry_layer_kind_t kind = GANTRY__LAYER_KIND("Conv1D", conv1d_build, conv1d_call);
    return gantry__kernel_layer(
        &kind, GANTRY__KERNEL_WINDOW | GANTRY__KERNEL_GROUPS | GANTRY__KERNEL_CAUSAL, filters,
        kernel_size, activation, options);
}

gantry_layer_t *gantry_conv2d_layer(int64_t filters, int64_t kernel_size,
                                    gantry_activation_t activation,
                                    const gantry_kernel_options_t *options) {
    static const gantry_layer_kind_t kind = GANTRY__LAYER_KIND("Conv2D", conv2d_build, conv2d_call);
    return gantry__kernel_layer(
        &kind, GANTRY__KERNEL_WINDOW | GANTRY__KERNEL_COLUMNS | GANTRY__KERNEL_GROUPS, filters,
        kernel_size, activation, options);
}

gantry_layer_t *gantry_depthwise_conv2d_layer(int64_t kernel_size, gantry_activation_t activation,
                                              const gantry_kernel_options_t *options) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND("DepthwiseConv2D", depthwise_build, depthwise_call);
    return gantry__kernel_layer(
        &kind, GANTRY__KERNEL_WINDOW | GANTRY__KERNEL_COLUMNS | GANTRY__KERNEL_MULTIPLIER, 1,
        kernel_size, activation, options);
}
