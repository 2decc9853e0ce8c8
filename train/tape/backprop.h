/* SPDX-License-Identifier: Apache-2.0 */
/* A gradient in steps: the caller says how far the backward pass goes, and gets the gradients of
 * the sources one by one, so that it may use the first ones while the pass goes on. Owner: the
 * caller has the gradient, and must end it. Threads: externally synchronised, as the tape. */
#ifndef GANTRY_TRAIN_BACKPROP_H
#define GANTRY_TRAIN_BACKPROP_H

#include <gantry_train/tape.h>

typedef struct gantry__backprop_t gantry__backprop_t;

/* Begins a gradient of a tape with regard to variables. The tape and the sources must outlive
 * it. */
gantry_status_t gantry__backprop_begin(gantry_tape_t *tape, const gantry_tensor_t *target,
                                       const gantry_source_t *sources, size_t count,
                                       gantry__backprop_t **out_backprop);
/* Frees the gradient, and what the tape recorded. NULL does no harm. */
void gantry__backprop_end(gantry__backprop_t *backprop);

/* Writes the positions of the sources in the order in which their gradients are complete. */
void gantry__backprop_order(const gantry__backprop_t *backprop, size_t *out_order);
/* Goes on until the gradient of a source is complete. *out_gradient belongs to the tape's scope; it
 * is NULL if the target does not depend on the source. */
gantry_status_t gantry__backprop_until(gantry__backprop_t *backprop, size_t source,
                                       const gantry_tensor_t **out_gradient);

#endif
