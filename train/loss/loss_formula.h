/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas of losses: of each sample, without weights and reduction. They refuse shapes that do
 * not fit in the scope, and return NULL after a failure. */
#ifndef GANTRY_TRAIN_LOSS_FORMULA_H
#define GANTRY_TRAIN_LOSS_FORMULA_H

#include <gantry_train/loss.h>

/* name is the loss's, for errors. */
typedef const gantry_tensor_t *(*gantry__train_formula_fn)(gantry_scope_t *scope, const char *name,
                                                           const gantry_tensor_t *labels,
                                                           const gantry_tensor_t *predictions,
                                                           const gantry_loss_options_t *options);

/* own_loss calls the program's function. */
#define GANTRY__TRAIN_LOSS(loss, text, function)                                \
    const gantry_tensor_t *gantry__train_##function(                            \
        gantry_scope_t *scope, const char *name, const gantry_tensor_t *labels, \
        const gantry_tensor_t *predictions, const gantry_loss_options_t *options);
#include "train/loss/losses.def"
#undef GANTRY__TRAIN_LOSS

/* A function is given for GANTRY_OWN_LOSS, and for no other. */
gantry_status_t gantry__train_loss_function(gantry_loss_t loss,
                                            const gantry_loss_options_t *options);

/* Reads and checks options, defaults filled in; an error is the thread's last message. */
gantry_status_t gantry__train_loss_options(gantry_loss_t loss, const gantry_loss_options_t *given,
                                           gantry_loss_options_t *out);

#endif
