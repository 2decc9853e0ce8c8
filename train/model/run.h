/* SPDX-License-Identifier: Apache-2.0 */
/* One run of the layers of a model. Owner: the caller of gantry__run_init has the run, and must end
 * it by gantry__run_deinit; tensors belong to the run's scope. Threads: externally synchronised, as
 * the model. */
#ifndef GANTRY_TRAIN_RUN_H
#define GANTRY_TRAIN_RUN_H

#include "train/model/model_state.h"

typedef struct gantry__model_run_t gantry__model_run_t;
struct gantry__model_run_t {
    gantry__layer_run_t of_layer; /* first: what the layer that is called gets */
    gantry_model_t *model;
    gantry_scope_t *scope;
    const gantry_tensor_t *const *inputs;
    size_t replica;
    size_t value; /* the one that is computed */
    bool training;
    /* By variable: values, and new values of those that are not trained. One block of memory, which
     * begins at weights, has all of these arrays. */
    const gantry_tensor_t **weights, **updates;
    const gantry_tensor_t **values; /* by value */
    const gantry_tensor_t **masks;  /* by value; NULL: none */
    /* of one layer, with room for the widest */
    const gantry_tensor_t **layer_inputs, **layer_masks;
    bool builds;                          /* layers add their weights, which are zeros */
    bool regularizes;                     /* adds up what regularizers of layers' outputs say */
    const gantry_tensor_t *activity_loss; /* their sum for the batch; NULL: none yet */
    /* In a build with open sizes, the same layers on inputs of other sizes; otherwise NULL. */
    gantry__model_run_t *twin;
};

/* Allocates what a run needs. The caller must call gantry__run_deinit, after a failure, too. */
gantry_status_t gantry__run_init(gantry__model_run_t *run, gantry_model_t *model);
void gantry__run_deinit(gantry__model_run_t *run);
/* Calls the layer of a value, whose inputs must be computed; false after a failure, which the scope
 * keeps. */
bool gantry__run_value(gantry__model_run_t *run, size_t v);
/* Computes all values, and returns the first output; NULL after a failure, which the scope
 * keeps. */
const gantry_tensor_t *gantry__run_layers(gantry__model_run_t *run);
/* Reads all variables of the run's replica. */
void gantry__run_read_weights(gantry__model_run_t *run);

/* ---- draws.c ---- */

/* Returns the generator of the layer that is called; NULL after a failure, which the call's scope
 * keeps. */
gantry_generator_t *gantry__run_generator(const gantry_layer_call_t *call);

#endif
