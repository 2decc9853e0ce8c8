/* SPDX-License-Identifier: Apache-2.0 */
/* A model as its own files see it: a network, the program that trains it, the replicas that run it,
 * and what they do at the moment.
 *
 * Owner: references are counted; the program has one, and each model that has this one as a block
 * has one of its own. Threads: externally synchronised, together with all models that share its
 * layers; gantry_model_stop may be called from another thread. */
#ifndef GANTRY_TRAIN_MODEL_STATE_H
#define GANTRY_TRAIN_MODEL_STATE_H

#include "train/model/network.h"
#include "train/model/program.h"
#include "train/model/replicas.h"
#include "train/model/run_state.h"

struct gantry_model_t {
    size_t references;
    gantry_runtime_t *runtime;
    gantry_scope_t
        *keeper; /* keeps the runtime in memory, so that calls after its release are refused */
    char *name;
    gantry_dtype_t dtype;
    int64_t seed;
    gantry_status_t status; /* the first error of putting it together, with its text */
    char *message;
    gantry__network_t net;
    gantry__model_program_t program;
    gantry__replicas_t replicas;
    gantry__run_state_t state;
};

/* Keeps the error if it is the model's first one, and returns the model's status. */
gantry_status_t gantry__model_fail(gantry_model_t *model, gantry_status_t status);
/* Returns OK if the model may be used; otherwise its error, which becomes the thread's last message
 * again. */
gantry_status_t gantry__model_check(const gantry_model_t *model, const char *call);
/* The same at the begin of a call that all processes of a training make. Such a call must end with
 * gantry__worker_end. Where the model has failed, the other processes get its error, because they
 * wait for this one. */
gantry_status_t gantry__model_begin(gantry_model_t *model, const char *call);

#endif
