/* SPDX-License-Identifier: Apache-2.0 */
/* The logits behind a model's outputs, as Keras on TensorFlow finds them: an observer keeps each
 * Softmax and Sigmoid of a scope. If an output is the result of one, the logits are its input, and
 * a cross-entropy of them is exact where probabilities are rounded to 0 or 1. */
#ifndef GANTRY_TRAIN_LOGITS_H
#define GANTRY_TRAIN_LOGITS_H

#include <gantry/observe.h>
#include <gantry_train/loss.h>

/* An op's tensors; references of its own. */
typedef struct gantry__logits_pair_t {
    gantry_tensor_t *input, *output;
    bool is_sigmoid; /* else a softmax */
} gantry__logits_pair_t;

typedef struct gantry__logits_t {
    gantry_observer_t observer;
    gantry_scope_t *scope; /* that is watched; NULL: none */
    gantry__logits_pair_t *pairs;
    size_t pair_count, pair_capacity;
} gantry__logits_t;

/* Whether a loss may take logits: the cross-entropies. */
bool gantry__logits_has(gantry_loss_t loss);
/* Begins to watch a scope. It comes before a tape, since the innermost observer decides about
 * composed ops. */
void gantry__logits_watch(gantry__logits_t *logits, gantry_scope_t *scope);
/* Ends the watch; what was found stays. */
void gantry__logits_end_watch(gantry__logits_t *logits);
/* The logits behind an output for a loss that takes them, a cross-entropy; a binary focal one takes
 * those of a sigmoid. They live until deinit. NULL: there are none, or the loss removes the last
 * dimension of the output to fit the labels: then Keras finds none. */
const gantry_tensor_t *gantry__logits_find(const gantry__logits_t *logits, gantry_loss_t loss,
                                           const gantry_tensor_t *output,
                                           const gantry_tensor_t *labels);
void gantry__logits_deinit(gantry__logits_t *logits);

#endif
