/* SPDX-License-Identifier: Apache-2.0 */
/* The check of a model's step: it knows the part of the step, and the layer of each op. A rule of
 * the tape belongs to the layer whose op it differentiates. Owner: the model has its check; texts
 * that are given must live until the next ones are. Threads: externally synchronised, as the
 * model's step. */
#ifndef GANTRY_TRAIN_NUMERICS_STATE_H
#define GANTRY_TRAIN_NUMERICS_STATE_H

#include <gantry_train/numerics.h>

struct gantry_tape_t;

/* Enters a part of a step: "forward", "the loss"; NULL leaves it. numerics may be NULL in these
 * calls. */
void gantry__numerics_enter(gantry_numerics_t *numerics, const char *part);
/* Sets the layer that runs; NULL if none does. */
void gantry__numerics_set_layer(gantry_numerics_t *numerics, const char *layer);
/* Enters "backward" with this tape; a tape of NULL leaves it, for the sum of gradients. */
void gantry__numerics_set_tape(gantry_numerics_t *numerics, const struct gantry_tape_t *tape);

/* Fills in an observer that checks a scope's ops, too, for gantry_scope_observe: of a scope whose
 * ops no observer of the scopes around it sees. It must stay valid until the scope has ended.
 * Returns NULL if numerics is NULL. */
gantry_observer_t *gantry__numerics_observer(gantry_numerics_t *numerics, gantry_observer_t *out);

#endif
