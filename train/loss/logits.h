/* SPDX-License-Identifier: Apache-2.0 */
/* The logits behind a model's output, as Keras on TensorFlow finds them: an observer keeps the last
 * Softmax or Sigmoid of a scope. If the output is its result, the logits are its input, and a
 * cross-entropy of them is exact where probabilities are rounded to 0 or 1. */
#ifndef GANTRY_TRAIN_LOGITS_H
#define GANTRY_TRAIN_LOGITS_H

#include <gantry/observe.h>
#include <gantry_train/loss.h>

typedef struct gantry__logits_t {
    gantry_observer_t observer;
    gantry_scope_t *scope;           /* that is watched; NULL: none */
    gantry_tensor_t *input, *output; /* of the op; references of its own */
} gantry__logits_t;

/* Begins to watch a scope, for a cross-entropy; of other losses nothing is watched. It comes before
 * a tape, since the innermost observer decides about composed ops. */
void gantry__logits_watch(gantry__logits_t *logits, gantry_scope_t *scope, gantry_loss_t loss);
/* Ends the watch. The logits behind the output, which live until deinit; NULL: there are none, or
 * the loss removes the last dimension of the output to fit the labels: then Keras finds none. */
const gantry_tensor_t *gantry__logits_find(gantry__logits_t *logits, const gantry_tensor_t *output,
                                           const gantry_tensor_t *labels);
void gantry__logits_deinit(gantry__logits_t *logits);

#endif
