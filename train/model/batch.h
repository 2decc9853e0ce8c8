/* SPDX-License-Identifier: Apache-2.0 */
/* A batch on its way to a step: its components, its parts, and the one place where it is checked.
 *
 *     inputs | labels of each output with a loss or metrics | weights: none, one, or one each
 *
 * Owner: the data set has the arrays. Threads: externally synchronised, as the model. */
#ifndef GANTRY_TRAIN_BATCH_H
#define GANTRY_TRAIN_BATCH_H

#include "train/model/class_weights.h"

/* ---- the check: batch_check.c ---- */

/* Builds the model for the batch, unless it is built, adds weights of classes, if class_weights is
 * not NULL, and refuses a batch on which the step cannot run. *count becomes the number of
 * components that the step uses. Each batch of a data set must pass here once, before its step,
 * which checks nothing again. `call` names the public call. */
gantry_status_t gantry__batch_accept(gantry_model_t *model, gantry__step_mode_t step,
                                     const char *call, gantry__class_weights_t *class_weights,
                                     const gantry_array_t **batch, size_t *count);
/* Returns whether an input of a built model takes this shape. Sizes of a sequential model without
 * open ones are an example, as in Keras: an image may be larger. A size below 0 is not known. */
bool gantry__model_takes_shape(const gantry_model_t *model, size_t input,
                               const gantry_shape_t *given);

/* ---- ranges of words and labels: batch_ranges.c ---- */

/* Refuses labels that name no class, and words that an embedding does not have. */
gantry_status_t gantry__batch_check_ranges(gantry_model_t *model, gantry__step_mode_t step,
                                           const gantry_array_t *batch);

/* ---- components and parts: batch_parts.c ---- */

/* Returns how many components are weights of samples. */
size_t gantry__model_weight_count(const gantry_model_t *model, gantry__step_mode_t step,
                                  size_t count);
/* Returns the component of a batch with the weights of a target's samples; 0 if there is none. */
size_t gantry__model_weights_of(const gantry_model_t *model, size_t target, size_t weight_count);
/* Returns the output whose labels, or weights of samples, a component has. */
size_t gantry__model_output_of(const gantry_model_t *model, size_t component);
/* Returns the type in which a step takes a component: an input's own, if that is a float and the
 * numbers of the batch are real; otherwise theirs. */
gantry_dtype_t gantry__model_component_type(const gantry_model_t *model, size_t component,
                                            gantry_dtype_t given);
/* Returns whether a component of this shape fits what a step was traced for. */
bool gantry__batch_fits_spec(const gantry_input_spec_t *spec, const gantry_shape_t *shape);
/* Makes a tensor of a component of a batch; an input is converted to its type. */
const gantry_tensor_t *gantry__model_make_component(const gantry_model_t *model,
                                                    gantry_scope_t *scope,
                                                    const gantry_array_t *array, size_t component);
/* Returns the first row of a replica's part; of replica `count`, the number of rows. */
int64_t gantry__replica_first_row(const gantry__replicas_t *replicas, int64_t rows, size_t replica);

#endif
