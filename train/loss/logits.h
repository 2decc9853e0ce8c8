/* SPDX-License-Identifier: Apache-2.0 */
/* The logits of a model's outputs, as Keras on TensorFlow finds them: an observer keeps each
 * Softmax and Sigmoid of a scope. If an output is the result of one, the logits are its input, and
 * a cross-entropy of the logits is exact where probabilities are rounded to 0 or 1.
 *
 * Owner: the caller has the gantry__logits_t, which holds references to the tensors until deinit.
 * Threads: externally synchronised, as the scope. */
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
/* Begins to watch a scope. It must be called before a tape begins in the scope, because the
 * innermost observer decides about composed ops. */
void gantry__logits_watch(gantry__logits_t *logits, gantry_scope_t *scope);
/* Ends the watch; what was found stays. */
void gantry__logits_end_watch(gantry__logits_t *logits);
/* Returns the logits of an output for a loss that takes them, a cross-entropy; a binary focal one
 * takes those of a sigmoid. They live until deinit. NULL is returned if there are none, or if the
 * loss removes the last dimension of the output to fit the labels, because Keras then finds
 * none. */
const gantry_tensor_t *gantry__logits_find(const gantry__logits_t *logits, gantry_loss_t loss,
                                           const gantry_tensor_t *output,
                                           const gantry_tensor_t *labels);
void gantry__logits_deinit(gantry__logits_t *logits);

#endif
