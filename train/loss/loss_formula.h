/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas of losses: each gives a number for each sample, without weights and reduction. A
 * formula must refuse shapes that do not fit in the scope, and must return NULL after a failure.
 *
 * Owner: tensors belong to the scope. Threads: externally synchronised, as the scope. */
#ifndef GANTRY_TRAIN_LOSS_FORMULA_H
#define GANTRY_TRAIN_LOSS_FORMULA_H

#include <gantry_train/loss.h>

/* What a formula gets. */
typedef struct gantry__loss_call_t {
    const char *name; /* of the loss, for errors */
    const gantry_tensor_t *labels, *predictions;
    const gantry_loss_options_t *options;
} gantry__loss_call_t;

typedef const gantry_tensor_t *(*gantry__train_formula_fn)(gantry_scope_t *scope,
                                                           const gantry__loss_call_t *c);

/* The formula of each loss; own_loss calls the program's function. */
#define GANTRY__TRAIN_LOSS(loss, text, function)                           \
    const gantry_tensor_t *gantry__train_##function(gantry_scope_t *scope, \
                                                    const gantry__loss_call_t *c);
#include "train/loss/losses.def"
#undef GANTRY__TRAIN_LOSS

/* Refuses options without a function for GANTRY_OWN_LOSS, and options with one for any other
 * loss. */
gantry_status_t gantry__train_loss_function(gantry_loss_t loss,
                                            const gantry_loss_options_t *options);

/* Reads and checks options, with defaults filled in. An error is the thread's last message. */
gantry_status_t gantry__train_loss_options(gantry_loss_t loss, const gantry_loss_options_t *given,
                                           gantry_loss_options_t *out);

#endif
