/* SPDX-License-Identifier: Apache-2.0 */
/* Generators of the layers that draw: one for each place of a layer in the model and each replica,
 * so that no two lanes of a step take from one stream. Their numbers follow from the model's seed,
 * and their states are a part of the model's file: rows of place, replica and state.
 *
 * Owner: the model. Threads: externally synchronised, as the model. */
#ifndef GANTRY_TRAIN_DRAWS_H
#define GANTRY_TRAIN_DRAWS_H

#include <gantry_train/checkpoint.h>

#include "train/model/model_state.h"

/* The name of the rows in a model's file. */
#define GANTRY__DRAWS_NAME "generators"

/* Makes the rows for a file, in int64. The caller must free *out_data. There are no rows if no
 * layer has drawn. */
gantry_status_t gantry__model_get_draws(const gantry_model_t *model, gantry_array_t *out_rows,
                                        int64_t **out_data);
/* Sets the states that a file has, if any. Rows of places and replicas that the model lacks are
 * left out. */
gantry_status_t gantry__model_load_draws(gantry_model_t *model,
                                         const gantry_checkpoint_t *checkpoint);
void gantry__model_release_draws(gantry_model_t *model);

/* ---- several processes ----
 * A process draws as many numbers as its rows need. So that all go on alike from rank 0's file, the
 * generators begin each step of training at a place that follows from the number of the step. */

/* Begins the next step. */
gantry_status_t gantry__model_begin_draws(gantry_model_t *model);
/* Reports the step that the generators are in, which a file has set. */
gantry_status_t gantry__model_drawn_steps(const gantry_model_t *model, uint64_t *out_steps);

#endif
