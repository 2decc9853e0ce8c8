/* SPDX-License-Identifier: Apache-2.0 */
/* What the normalisations share: their options, their axes, and the weights gamma and beta. Owner:
 * the layer owns its gantry__norm_t; tensors belong to the call's scope. Threads: externally
 * synchronised, as the layer's model. */
#ifndef GANTRY_TRAIN_LAYER_NORM_H
#define GANTRY_TRAIN_LAYER_NORM_H

#include "train/layer/layer_state.h"

typedef struct gantry__norm_t {
    double epsilon, momentum;
    bool has_scale, has_offset;
    int32_t axes[GANTRY_MAX_RANK]; /* as given; of a built layer from 1 on */
    size_t axis_count;
    int64_t groups; /* GroupNormalization; -1: as many as elements */
} gantry__norm_t;

/* Makes the layer, with at most `most_axes` axes, and with this epsilon where the options name
 * none. It returns NULL after a failure. */
gantry_layer_t *gantry__norm_layer(const gantry_layer_kind_t *kind, size_t most_axes,
                                   double epsilon, const gantry_norm_options_t *options);
/* Finds the axes of the input, and refuses one of a rank above most_rank. */
gantry_status_t gantry__norm_find_axes(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                       size_t input_count, int32_t most_rank);
/* Adds a weight with a number for each element of the axes. */
gantry_status_t gantry__norm_add(gantry_layer_t *layer, const char *name,
                                 const gantry_shape_t *input, gantry_init_t kind, bool trainable);
/* Adds those of gamma and beta that the layer has. */
gantry_status_t gantry__norm_add_scale_and_offset(gantry_layer_t *layer,
                                                  const gantry_shape_t *input);
/* Return gamma and beta; ones and zeros where the layer has no such weight. */
const gantry_tensor_t *gantry__norm_scale(const gantry_layer_call_t *call, const gantry__norm_t *n);
const gantry_tensor_t *gantry__norm_offset(const gantry_layer_call_t *call,
                                           const gantry__norm_t *n);
/* Returns `value`, which must have a number for each element of the axes, in a shape that
 * broadcasts to x. A NULL gives NULL. */
const gantry_tensor_t *gantry__norm_spread(gantry_scope_t *s, const gantry__norm_t *n,
                                           const gantry_tensor_t *x, const gantry_tensor_t *value);
/* Returns x divided by the root of the sum of its squares over the axes. The root counts as at
 * least epsilon, so that zeros give zeros. */
const gantry_tensor_t *gantry__layer_unit(gantry_scope_t *s, const gantry_tensor_t *x,
                                          const int32_t *axes, size_t count, double epsilon);

#endif
