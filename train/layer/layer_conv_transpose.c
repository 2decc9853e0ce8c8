/* SPDX-License-Identifier: Apache-2.0 */
/* Conv1DTranspose, Conv2DTranspose: the gradient of a convolution as a layer. */
#include "train/base/fail.h"
#include "train/layer/layer_kernel.h"

typedef const gantry_tensor_t tensor;

/* rank is that of the window. */
static gantry_status_t transpose_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                       size_t input_count, int32_t rank) {
    const gantry__kernel_t *k = layer->user;
    GANTRY__TRY(
        gantry__layer_check_rank(layer->kind.name, inputs, input_count, rank + 2, rank + 2));
    const int64_t channels = inputs[0].dims[rank + 1];
    const gantry_shape_t shape = rank == 1
                                     ? GANTRY_SHAPE(k->sizes[0], k->units, channels)
                                     : GANTRY_SHAPE(k->sizes[0], k->sizes[1], k->units, channels);
    return gantry__kernel_add_weights(layer, k, shape, k->units);
}

static gantry_status_t transpose1d_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                         size_t input_count, void *user) {
    (void)user;
    return transpose_build(layer, inputs, input_count, 1);
}

static gantry_status_t transpose2d_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                         size_t input_count, void *user) {
    (void)user;
    return transpose_build(layer, inputs, input_count, 2);
}

/* What an output has beyond `stride` places for each of the input's. */
static int64_t conv_transpose_more(const gantry__kernel_t *k, size_t i) {
    const int64_t stride = k->strides[i], spread = (k->sizes[i] - 1) * k->dilations[i] + 1;
    if (k->has_output_padding)
        return (k->is_same ? spread % 2 : spread) + k->output_padding[i] - stride;
    return k->is_same || spread < stride ? 0 : spread - stride;
}

/* Rows or columns of the output, i of the window's dimensions, from n of the input: a convolution
 * of the output has n again. */
static bool conv_transpose_grow(const gantry__kernel_t *k, int32_t rank, size_t i, int64_t *size) {
    return gantry__layer_grow(rank == 1 ? "Conv1DTranspose" : "Conv2DTranspose", k->strides[i],
                              conv_transpose_more(k, i), size);
}

static tensor *transpose_call(const gantry_layer_call_t *call, const gantry__kernel_t *k,
                              int32_t rank) {
    gantry_scope_t *s = call->scope;
    const gantry_window_options_t window = gantry__kernel_image_window(k, rank);
    tensor *x = gantry__kernel_image(s, call->inputs[0], rank, 1);
    if (!x) return NULL;
    gantry_shape_t shape = *gantry_tensor_shape(x);
    for (size_t i = 0; i < (size_t)rank; ++i) {
        if (conv_transpose_grow(k, rank, i, &shape.dims[rank == 1 ? 2 : i + 1])) continue;
        (void)gantry__train_hand_on(s, GANTRY_INVALID_ARGUMENT);
        return NULL;
    }
    shape.dims[3] = k->units;
    tensor *filter = gantry__kernel_image(s, call->weights[0], rank, 0);
    x = gantry_conv2d_transpose(s, x, filter, shape, &window);
    return gantry__kernel_finish(call, k, gantry__kernel_sequence(s, x, rank));
}

static tensor *transpose1d_call(const gantry_layer_call_t *call, void *user) {
    return transpose_call(call, user, 1);
}

static tensor *transpose2d_call(const gantry_layer_call_t *call, void *user) {
    return transpose_call(call, user, 2);
}

gantry_layer_t *gantry_conv1d_transpose_layer(int64_t filters, int64_t kernel_size,
                                              gantry_activation_t activation,
                                              const gantry_kernel_options_t *options) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND("Conv1DTranspose", transpose1d_build, transpose1d_call);
    return gantry__kernel_layer(&kind, GANTRY__KERNEL_WINDOW | GANTRY__KERNEL_OUTPUT_PADDING,
                                filters, kernel_size, activation, options);
}

gantry_layer_t *gantry_conv2d_transpose_layer(int64_t filters, int64_t kernel_size,
                                              gantry_activation_t activation,
                                              const gantry_kernel_options_t *options) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND("Conv2DTranspose", transpose2d_build, transpose2d_call);
    return gantry__kernel_layer(
        &kind, GANTRY__KERNEL_WINDOW | GANTRY__KERNEL_COLUMNS | GANTRY__KERNEL_OUTPUT_PADDING,
        filters, kernel_size, activation, options);
}
