/* SPDX-License-Identifier: Apache-2.0 */
/* The mask of predictions as weights of losses and metrics, as Keras's apply_mask. */
#ifndef GANTRY_TRAIN_MASK_H
#define GANTRY_TRAIN_MASK_H

#include <gantry/gantry.h>

/* Weights, which may be NULL, times the mask, of type dtype. scales: as many times more as the mask
 * leaves out, so that a mean over all places is one over those that it has. */
const gantry_tensor_t *gantry__train_apply_mask(gantry_scope_t *scope,
                                                const gantry_tensor_t *weights,
                                                const gantry_tensor_t *mask, gantry_dtype_t dtype,
                                                bool scales);

#endif
