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

/* The program's own: calls its function. */
const gantry_tensor_t *gantry__train_own_loss(gantry_scope_t *scope, const char *name,
                                              const gantry_tensor_t *labels,
                                              const gantry_tensor_t *predictions,
                                              const gantry_loss_options_t *options);

/* A function is given for GANTRY_OWN_LOSS, and for no other. */
gantry_status_t gantry__train_loss_function(gantry_loss_t loss,
                                            const gantry_loss_options_t *options);

/* Reads and checks options, defaults filled in; an error is the thread's last message. */
gantry_status_t gantry__train_loss_options(gantry_loss_t loss, const gantry_loss_options_t *given,
                                           gantry_loss_options_t *out);

#endif
