/* SPDX-License-Identifier: Apache-2.0 */
/* The mask of predictions as weights of losses and metrics, as Keras's apply_mask makes it. Owner:
 * tensors belong to the scope. Threads: externally synchronised, as the scope. */
#ifndef GANTRY_TRAIN_MASK_H
#define GANTRY_TRAIN_MASK_H

#include <gantry/gantry.h>

/* Returns the weights, which may be NULL, times the mask, in type dtype. If `scales` is set, they
 * are divided by the share of places that the mask has, so that a mean over all places is one over
 * those places. */
const gantry_tensor_t *gantry__train_apply_mask(gantry_scope_t *scope,
                                                const gantry_tensor_t *weights,
                                                const gantry_tensor_t *mask, gantry_dtype_t dtype,
                                                bool scales);

#endif
