/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a step's body, which is traced into a function, or runs eagerly. Owner: the caller of
 * gantry__step_init has the call and must end it; tensors belong to the scopes of the step and of
 * its replicas. Threads: externally synchronised, as the model. */
#ifndef GANTRY_TRAIN_STEP_H
#define GANTRY_TRAIN_STEP_H

#include <gantry_train/tape.h>

#include "train/loss/logits.h"
#include "train/model/run.h"
#include "train/optimizer/optimizer_slices.h"
#include "train/tape/backprop.h"

/* The work of one replica. */
typedef struct gantry__replica_t {
    gantry__model_run_t run;
    int64_t first, rows;            /* its part of the batch */
    const gantry_tensor_t **inputs; /* its part of the model's inputs, then gradients, joined */
    const gantry_tensor_t *outputs[GANTRY_MAX_COMPONENTS];
    const gantry_tensor_t *masks[GANTRY_MAX_COMPONENTS]; /* of outputs; NULL: none */
    gantry__logits_t logits;                             /* of the outputs */
    /* of each target, NULL: none; and weighted together */
    const gantry_tensor_t *losses[GANTRY_MAX_COMPONENTS], *loss;
    const gantry_tensor_t **gradients; /* of trained variables; NULL: none, or slices */
    gantry_gradient_t *slices;         /* the same of a step that uses slices */
    /* of TRAIN, while it is recorded */
    gantry_scope_t *scope;
    gantry_tape_t *tape;
    gantry__backprop_t *backprop;
    gantry_source_t *sources;       /* trained variables */
    const gantry_tensor_t **joined; /* the gradients of each bucket, one after another */
} gantry__replica_t;

typedef struct gantry__step_call_t {
    gantry_model_t *model;
    gantry__step_mode_t step;
    gantry_scope_t *scope;
    const gantry_tensor_t *const *batch; /* inputs, labels, weights of samples */
    size_t weight_count;                 /* of components that are weights */
    const gantry_tensor_t *share; /* of this process of several, of all rows; NULL: one process */
    int64_t rows;
    gantry__replica_t *replicas;
    size_t replica_count; /* that have rows */
    size_t trained_count; /* trained variables */
    size_t *order;        /* these, as the backward pass completes their gradients; bucket_ends */
    size_t *bucket_ends;  /* of each bucket the end of its variables in `order` */
    size_t bucket_count;
    bool uses_slices;               /* some of slice_use are not dense */
    gantry__slice_use_t *slice_use; /* of each trained variable's gradient */
    /* room: tensors to join, then gradients by replica and trained variable */
    const gantry_tensor_t **list;
    const gantry_tensor_t **reduced;
    gantry_variable_t **variables;
    /* of PREDICT the outputs; of TRAIN in several processes one */
    const gantry_tensor_t *results[GANTRY_MAX_COMPONENTS];
} gantry__step_call_t;

/* Prepares a call. The caller must call gantry__step_deinit after a failure, too. */
gantry_status_t gantry__step_init(gantry__step_call_t *c, const gantry__step_body_t *body,
                                  gantry_scope_t *scope, const gantry_tensor_t *const *inputs);
void gantry__step_deinit(gantry__step_call_t *c);

/* ---- a batch's step: step_trace.c ---- */

/* Runs one step on a batch that gantry__batch_accept has taken; of several processes, on this one's
 * rows, if it has any. The scope owns out_results: for PREDICT they are the outputs; for TRAIN in
 * several processes the vector to add, which is not applied yet. */
gantry_status_t gantry__model_step(gantry_model_t *model, gantry__step_mode_t step,
                                   gantry_scope_t *scope, const gantry_array_t *batch, size_t count,
                                   const gantry_tensor_t **out_results);

/* ---- the body: step.c ---- */

/* The body of a step's function, whose user is a gantry__step_body_t. */
void gantry__step_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user);

/* ---- one replica: step_replica.c ---- */

/* Runs the forward pass: begins the replica's scope and, for TRAIN, its backward pass. */
void gantry__step_begin_replica(gantry__step_call_t *c, gantry__replica_t *replica);
/* Gives a replica of the call the work of the model's replica `number` on these rows. */
void gantry__step_take_rows(gantry__step_call_t *c, gantry__replica_t *replica, size_t number,
                            int64_t first, int64_t rows);
/* Ends the replica's scope; what is needed of it moves to the step's scope. */
void gantry__step_end_replica(gantry__step_call_t *c, gantry__replica_t *replica);
/* Returns a replica's rows of a tensor. */
const gantry_tensor_t *gantry__step_part_of(const gantry__step_call_t *c, gantry_scope_t *scope,
                                            const gantry_tensor_t *x,
                                            const gantry__replica_t *replica);
/* Makes a failure the step's. Its text must be the thread's last message, so this must be called
 * once, directly after the failure. */
void gantry__step_note(gantry__step_call_t *c, gantry_status_t status);
bool gantry__step_has_failed(const gantry__step_call_t *c);
/* Moves a tensor of a replica's scope, or NULL, to the step's. */
void gantry__step_keep(gantry_scope_t *scope, const gantry_tensor_t **part);

/* ---- losses and metrics: step_losses.c ---- */

/* Computes the losses of a replica's outputs. replica->loss is NULL after a failure. */
void gantry__step_compute_losses(gantry__step_call_t *c, gantry__replica_t *replica);
/* Returns an output of all replicas, joined by rows. */
const gantry_tensor_t *gantry__step_join_outputs(gantry__step_call_t *c, gantry_scope_t *scope,
                                                 size_t output);
void gantry__step_update_metrics(gantry__step_call_t *c, gantry_scope_t *scope);

/* ---- forward, backward and all-reduce of all replicas: reduce.c ---- */

/* Runs all replicas and adds their gradients, and fills c->reduced for every replica of the model.
 * A variable without a gradient must have none on all replicas. */
void gantry__step_train_replicas(gantry__step_call_t *c);
/* Returns the mean, by rows, of the new values of a variable that is not trained. */
const gantry_tensor_t *gantry__step_mean_update(gantry__step_call_t *c, size_t variable);

/* ---- gradients that are slices: step_slices.c ---- */

/* Fills slice_use for batches of this many rows. */
void gantry__step_choose_slices(gantry__step_call_t *c, int64_t rows);
/* Computes the gradients of a step that uses slices, into replica->slices. */
void gantry__step_differentiate_slices(gantry__step_call_t *c, gantry__replica_t *replica);

/* ---- several processes: worker_step.c ---- */

/* Makes the vector that the processes add. The step's scope owns it. */
const gantry_tensor_t *gantry__worker_flatten(gantry__step_call_t *c);

#endif
