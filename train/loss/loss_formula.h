/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas of losses: each gives a number for each sample, without weights and reduction. A
 * formula must refuse shapes that do not fit in the scope, and must return NULL after a failure.
 *
 * Owner: tensors belong to the scope. Threads: externally synchronised, as the scope. */
#ifndef GANTRY_TRAIN_LOSS_FORMULA_H
#define GANTRY_TRAIN_LOSS_FORMULA_H

#include <gantry_train/loss.h>

/* A formula; `name` is that of the loss, for errors. */
typedef const gantry_tensor_t *(*gantry__train_formula_fn)(gantry_scope_t *scope, const char *name,
                                                           const gantry_tensor_t *labels,
                                                           const gantry_tensor_t *predictions,
                                                           const gantry_loss_options_t *options);

const gantry_tensor_t *gantry__train_sparse_crossentropy(gantry_scope_t *scope, const char *name,
                                                         const gantry_tensor_t *labels,
                                                         const gantry_tensor_t *predictions,
                                                         const gantry_loss_options_t *options);
const gantry_tensor_t *gantry__train_categorical_crossentropy(gantry_scope_t *scope,
                                                              const char *name,
                                                              const gantry_tensor_t *labels,
                                                              const gantry_tensor_t *predictions,
                                                              const gantry_loss_options_t *options);
const gantry_tensor_t *gantry__train_binary_crossentropy(gantry_scope_t *scope, const char *name,
                                                         const gantry_tensor_t *labels,
                                                         const gantry_tensor_t *predictions,
                                                         const gantry_loss_options_t *options);
const gantry_tensor_t *gantry__train_squared_error(gantry_scope_t *scope, const char *name,
                                                   const gantry_tensor_t *labels,
                                                   const gantry_tensor_t *predictions,
                                                   const gantry_loss_options_t *options);
const gantry_tensor_t *gantry__train_absolute_error(gantry_scope_t *scope, const char *name,
                                                    const gantry_tensor_t *labels,
                                                    const gantry_tensor_t *predictions,
                                                    const gantry_loss_options_t *options);
const gantry_tensor_t *gantry__train_huber(gantry_scope_t *scope, const char *name,
                                           const gantry_tensor_t *labels,
                                           const gantry_tensor_t *predictions,
                                           const gantry_loss_options_t *options);

const gantry_tensor_t *gantry__train_kl_divergence(gantry_scope_t *scope, const char *name,
                                                   const gantry_tensor_t *labels,
                                                   const gantry_tensor_t *predictions,
                                                   const gantry_loss_options_t *options);
const gantry_tensor_t *gantry__train_poisson(gantry_scope_t *scope, const char *name,
                                             const gantry_tensor_t *labels,
                                             const gantry_tensor_t *predictions,
                                             const gantry_loss_options_t *options);
const gantry_tensor_t *gantry__train_log_cosh(gantry_scope_t *scope, const char *name,
                                              const gantry_tensor_t *labels,
                                              const gantry_tensor_t *predictions,
                                              const gantry_loss_options_t *options);
const gantry_tensor_t *gantry__train_absolute_percentage_error(
    gantry_scope_t *scope, const char *name, const gantry_tensor_t *labels,
    const gantry_tensor_t *predictions, const gantry_loss_options_t *options);
const gantry_tensor_t *gantry__train_squared_logarithmic_error(
    gantry_scope_t *scope, const char *name, const gantry_tensor_t *labels,
    const gantry_tensor_t *predictions, const gantry_loss_options_t *options);
const gantry_tensor_t *gantry__train_cosine_similarity(gantry_scope_t *scope, const char *name,
                                                       const gantry_tensor_t *labels,
                                                       const gantry_tensor_t *predictions,
                                                       const gantry_loss_options_t *options);
const gantry_tensor_t *gantry__train_hinge(gantry_scope_t *scope, const char *name,
                                           const gantry_tensor_t *labels,
                                           const gantry_tensor_t *predictions,
                                           const gantry_loss_options_t *options);
const gantry_tensor_t *gantry__train_squared_hinge(gantry_scope_t *scope, const char *name,
                                                   const gantry_tensor_t *labels,
                                                   const gantry_tensor_t *predictions,
                                                   const gantry_loss_options_t *options);
const gantry_tensor_t *gantry__train_categorical_hinge(gantry_scope_t *scope, const char *name,
                                                       const gantry_tensor_t *labels,
                                                       const gantry_tensor_t *predictions,
                                                       const gantry_loss_options_t *options);
const gantry_tensor_t *gantry__train_binary_focal_crossentropy(
    gantry_scope_t *scope, const char *name, const gantry_tensor_t *labels,
    const gantry_tensor_t *predictions, const gantry_loss_options_t *options);
const gantry_tensor_t *gantry__train_categorical_focal_crossentropy(
    gantry_scope_t *scope, const char *name, const gantry_tensor_t *labels,
    const gantry_tensor_t *predictions, const gantry_loss_options_t *options);

/* The formula of a program's own loss, which calls the program's function. */
const gantry_tensor_t *gantry__train_own_loss(gantry_scope_t *scope, const char *name,
                                              const gantry_tensor_t *labels,
                                              const gantry_tensor_t *predictions,
                                              const gantry_loss_options_t *options);

/* Refuses options without a function for GANTRY_OWN_LOSS, and options with one for any other
 * loss. */
gantry_status_t gantry__train_loss_function(gantry_loss_t loss,
                                            const gantry_loss_options_t *options);

/* Reads and checks options, with defaults filled in. An error is the thread's last message. */
gantry_status_t gantry__train_loss_options(gantry_loss_t loss, const gantry_loss_options_t *given,
                                           gantry_loss_options_t *out);

#endif
