/* SPDX-License-Identifier: Apache-2.0 */
/* What layers with a kernel and a bias share: Dense and the convolutions. */
#ifndef GANTRY_TRAIN_LAYER_KERNEL_H
#define GANTRY_TRAIN_LAYER_KERNEL_H

#include "train/layer/layer_state.h"

typedef struct gantry__kernel_t {
    int64_t units, sizes[2]; /* outputs; rows and columns of the window */
    gantry_activation_t activation;
    bool has_bias, is_same, is_causal;
    gantry_initializer_t kernel, bias;
    int64_t strides[2], dilations[2], multiplier, groups;
} gantry__kernel_t;

/* The layer; NULL after a failure. */
gantry_layer_t *gantry__kernel_layer(const gantry_layer_kind_t *kind, int64_t units, int64_t size,
                                     gantry_activation_t activation,
                                     const gantry_kernel_options_t *options);
/* Adds "kernel" of this shape, and "bias" unless there is none. */
gantry_status_t gantry__kernel_add_weights(gantry_layer_t *layer, const gantry__kernel_t *k,
                                           gantry_shape_t kernel, int64_t bias);
/* y plus bias, activated. */
const gantry_tensor_t *gantry__kernel_finish(const gantry_layer_call_t *call,
                                             const gantry__kernel_t *k, const gantry_tensor_t *y);

#endif
