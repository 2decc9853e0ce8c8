/* SPDX-License-Identifier: Apache-2.0 */
/* Where a model is trained: its devices, their shares of a batch, and this process of several.
 * Owner: the model owns the replicas and their worker. Threads: externally synchronised, as the
 * model. */
#ifndef GANTRY_TRAIN_REPLICAS_H
#define GANTRY_TRAIN_REPLICAS_H

#include <gantry_train/model.h>

typedef struct gantry__worker_t gantry__worker_t;

typedef struct gantry__replicas_t {
    char **devices; /* an entry may be NULL: no request */
    size_t count;
    bool has_nccl;            /* the strategy reduces by NCCL */
    double *weights;          /* shares of a batch; NULL: equal */
    gantry__worker_t *worker; /* worker.h; NULL: there is one process */
} gantry__replicas_t;

/* Begins a scope on the device of a replica, inside `parent`, or without a parent if that is NULL.
 * It returns NULL after a failure, which the parent gets. */
gantry_scope_t *gantry__model_scope(const gantry_model_t *model, gantry_scope_t *parent,
                                    size_t replica);

#endif
