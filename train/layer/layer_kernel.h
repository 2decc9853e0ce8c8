/* SPDX-License-Identifier: Apache-2.0 */
/* What the layers with a kernel and a bias share: Dense and the convolutions. Their constructors
 * read the options into a gantry__kernel_t, which is the layer's user.
 *
 * Owner: the layer owns its gantry__kernel_t; tensors belong to the call's scope. Threads:
 * externally synchronised, as the layer's model. */
#ifndef GANTRY_TRAIN_LAYER_KERNEL_H
#define GANTRY_TRAIN_LAYER_KERNEL_H

#include "train/layer/layer_state.h"

typedef struct gantry__kernel_t {
    int64_t units, sizes[2]; /* outputs; rows and columns of the window */
    gantry_activation_t activation;
    bool has_bias, is_same, is_causal;
    gantry_initializer_t kernel, bias;
    int64_t strides[2], dilations[2], multiplier, groups;
    bool has_output_padding;
    int64_t output_padding[2];
} gantry__kernel_t;

/* The options that a kind of layer has a use for, in addition to those of all kinds. */
typedef enum gantry__kernel_use_t {
    GANTRY__KERNEL_WINDOW = 1,     /* strides, dilations, padding */
    GANTRY__KERNEL_COLUMNS = 2,    /* a window of two dimensions */
    GANTRY__KERNEL_MULTIPLIER = 4, /* depth_multiplier */
    GANTRY__KERNEL_GROUPS = 8,
    GANTRY__KERNEL_CAUSAL = 16,
    GANTRY__KERNEL_POINTWISE = 32, /* two kernels, with the same rules */
    GANTRY__KERNEL_OUTPUT_PADDING = 64
} gantry__kernel_use_t;

/* Makes the layer. uses must be an OR of gantry__kernel_use_t; options that it does not name are
 * refused. It returns NULL after a failure. */
gantry_layer_t *gantry__kernel_layer(const gantry_layer_kind_t *kind, unsigned uses, int64_t units,
                                     int64_t size, gantry_activation_t activation,
                                     const gantry_kernel_options_t *options);
/* Adds the weight "kernel" of this shape, and "bias" of `bias` elements if the layer has one. */
gantry_status_t gantry__kernel_add_weights(gantry_layer_t *layer, const gantry__kernel_t *k,
                                           gantry_shape_t kernel, int64_t bias);
/* Refuses an input that is smaller than the window, unless the padding fills it. rank is that of
 * the window. */
gantry_status_t gantry__kernel_check_window(const char *kind, const gantry__kernel_t *k,
                                            const gantry_shape_t *input, int32_t rank);
/* Returns y plus the bias, which is the last weight, activated. */
const gantry_tensor_t *gantry__kernel_finish(const gantry_layer_call_t *call,
                                             const gantry__kernel_t *k, const gantry_tensor_t *y);

/* ---- sequences as images of one row; rank: of the window ---- */

gantry_window_options_t gantry__kernel_image_window(const gantry__kernel_t *k, int32_t rank);
/* Returns a sequence with a dimension of 1 at `axis`, which must be 1 for a batch and 0 for a
 * kernel; an image is returned as it is. */
const gantry_tensor_t *gantry__kernel_image(gantry_scope_t *scope, const gantry_tensor_t *x,
                                            int32_t rank, int32_t axis);
/* Makes a batch of sequences again. */
const gantry_tensor_t *gantry__kernel_sequence(gantry_scope_t *scope, const gantry_tensor_t *x,
                                               int32_t rank);

#endif
