/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a step's body, which is recorded or runs. */
#ifndef GANTRY_TRAIN_STEP_H
#define GANTRY_TRAIN_STEP_H

#include <gantry_train/tape.h>

#include "train/model/model_state.h"

/* The work of one replica. */
typedef struct gantry__replica_t {
    gantry__model_run_t run;
    int64_t first, rows;            /* its part of the batch */
    const gantry_tensor_t **inputs; /* its part of the model's inputs */
    const gantry_tensor_t *output, *loss;
    const gantry_tensor_t **gradients; /* of trained variables; NULL: none, or slices */
    gantry_gradient_t *slices;         /* the same of a step that uses slices */
} gantry__replica_t;

typedef struct gantry__step_call_t {
    gantry_model_t *model;
    gantry__step_t step;
    gantry_scope_t *scope;
    const gantry_tensor_t *const *batch; /* inputs, labels */
    const gantry_tensor_t *sample_weights;
    int64_t rows;
    gantry__replica_t *replicas;
    size_t replica_count; /* that have rows */
    size_t trained_count; /* trained variables */
    bool uses_slices;     /* one replica, and the optimizer profits by them */
    /* room: tensors to join, what gradients are of, gradients by replica and trained variable */
    const gantry_tensor_t **list;
    gantry_source_t *sources;
    const gantry_tensor_t **reduced;
    gantry_variable_t **variables;
    const gantry_tensor_t *result; /* of PREDICT */
} gantry__step_call_t;

/* After a failure gantry__step_deinit is called, too. */
gantry_status_t gantry__step_init(gantry__step_call_t *c, const gantry__step_body_t *body,
                                  gantry_scope_t *scope, const gantry_tensor_t *const *inputs);
void gantry__step_deinit(gantry__step_call_t *c);

/* ---- all-reduce: reduce.c ---- */

/* Adds the replicas' gradients: fills c->reduced for every replica. A variable without a gradient
 * on all replicas has none. */
void gantry__step_reduce(gantry__step_call_t *c);
/* The mean, by rows, of the new values of a variable that is not trained. */
const gantry_tensor_t *gantry__step_mean_update(gantry__step_call_t *c, size_t variable);

#endif
