/* SPDX-License-Identifier: Apache-2.0 */
/* The check of a model's step: it knows the part of the step, and the layer of each op. A rule of
 * the tape belongs to the layer whose op it differentiates. */
#ifndef GANTRY_TRAIN_NUMERICS_STATE_H
#define GANTRY_TRAIN_NUMERICS_STATE_H

#include <gantry_train/numerics.h>

struct gantry_tape_t;

/* Parts of a step: "forward", "the loss"; NULL: none. numerics may be NULL in these calls. */
void gantry__numerics_enter(gantry_numerics_t *numerics, const char *part);
/* The layer that runs; NULL: none. */
void gantry__numerics_set_layer(gantry_numerics_t *numerics, const char *layer);
/* Enters "backward", by this tape; tape NULL: leaves it for the sum of gradients. */
void gantry__numerics_set_tape(gantry_numerics_t *numerics, const struct gantry_tape_t *tape);

/* Fills in an observer that checks a scope's ops, too, for gantry_scope_observe: of a scope whose
 * ops no observer of the scopes around it sees. numerics NULL: returns NULL. */
gantry_observer_t *gantry__numerics_observer(gantry_numerics_t *numerics, gantry_observer_t *out);

#endif
