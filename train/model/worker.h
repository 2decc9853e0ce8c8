/* SPDX-License-Identifier: Apache-2.0 */
/* This process among the processes of a training (gantry_multi_worker_strategy).
 *
 * All processes must make the same calls. Before numbers are exchanged, the processes agree: each
 * sends a short header, which says its place in the program, numbers that are alike in all of them,
 * and whether it has failed. So a process that has failed, one with another model and one that is
 * elsewhere give an error in every process, and none waits for a call that never comes.
 *
 *     rank 0   header ── gradient of rows 0-3 ──┐             ┌── update
 *     rank 1   header ── gradient of rows 4-7 ──┴─ all-reduce ┴── update
 *
 * The header costs one more latency in each step. Owner: the model has its worker. Threads:
 * externally synchronised, as the model. */
#ifndef GANTRY_TRAIN_WORKER_H
#define GANTRY_TRAIN_WORKER_H

#include "train/base/fail.h"
#include "train/model/model_state.h"
#include "train/strategy/compare.h"

/* A place in the program. */
typedef enum gantry__worker_kind_t {
    GANTRY__WORKER_BUILD,
    GANTRY__WORKER_FIT,
    GANTRY__WORKER_STEP,
    GANTRY__WORKER_METRICS,
    GANTRY__WORKER_EPOCH,
    GANTRY__WORKER_LOAD,
    GANTRY__WORKER_BACKUP,
    GANTRY__WORKER_SETTINGS,
    GANTRY__WORKER_TEST,
    GANTRY__WORKER_WEIGHTS,
    GANTRY__WORKER_END, /* of a public call */
    GANTRY__WORKER_KINDS
} gantry__worker_kind_t;

enum { GANTRY__WORKER_VALUES = 4, GANTRY__WORKER_SUMS = 3 };

/* What a process says at a place. */
typedef struct gantry__worker_call_t {
    gantry__worker_kind_t kind;
    uint64_t values[GANTRY__WORKER_VALUES]; /* alike in all processes */
    uint64_t sums[GANTRY__WORKER_SUMS];     /* becomes the sum over all processes */
    gantry_status_t status; /* this process's failure, with its text as the last message */
} gantry__worker_call_t;

struct gantry__worker_t {
    gantry_communicator_t communicator;
    uint64_t *table;                      /* what each process says, to name the one that differs */
    bool is_told;                         /* all processes have this call's error */
    uint64_t step;                        /* of training, from 1 */
    uint64_t drawn_steps;                 /* of this training and those before, by draws.h */
    uint64_t tested_batches, tested_rows; /* since the metrics were reset */
    /* the values of all variables, one after another: gradients of trained ones, new values of the
     * others; then for each variable whether it has any, and whether a process has failed */
    void *flat;
    int64_t flat_elements; /* with those */
    bool *has_value;       /* by variable, when apply was traced */
    const gantry_tensor_t **gradients;
    gantry_variable_t **variables; /* trained ones */
    gantry_function_t *apply;
    char own[GANTRY__TRAIN_MESSAGE_BYTES], told[GANTRY__TRAIN_MESSAGE_BYTES];
};

typedef struct gantry__worker_text_t {
    char text[192];
} gantry__worker_text_t;

/* Makes the worker of a communicator; returns NULL after a failure. */
gantry__worker_t *gantry__worker_create(const gantry_communicator_t *communicator);
void gantry__worker_release(gantry__worker_t *worker);
/* Forgets what belongs to the loss and the optimizer. */
void gantry__worker_forget(gantry__worker_t *worker);
/* Returns whether this process is the one that writes: the only one, or rank 0. */
bool gantry__worker_writes(const gantry__worker_t *worker);

/* Compares where all processes are in the program. An error of one, or a difference, is an error in
 * all. */
gantry_status_t gantry__worker_agree(gantry__worker_t *worker, gantry__worker_call_t *call);
/* Keeps the last message, of a failure. */
void gantry__worker_keep_text(gantry__worker_t *worker, gantry_status_t status);
/* Sends all processes the first one's error, after they have agreed that some process has failed.
 * status must be that of this process, whose text was kept. */
gantry_status_t gantry__worker_tell(gantry__worker_t *worker, gantry_status_t status);
/* Names the work at a place, for errors: "step 17". */
gantry__worker_text_t gantry__worker_say(const gantry__worker_t *worker,
                                         gantry__worker_kind_t kind);
/* Begin and end a public call. A failure that the other processes do not know is sent to them by
 * end. Without a worker, end returns the status. */
void gantry__worker_begin(gantry__worker_t *worker);
gantry_status_t gantry__worker_end(gantry__worker_t *worker, gantry_status_t status);
/* all_reduce sums over all processes, and broadcast sends the bytes of rank 0. `what` names the
 * work in errors. */
gantry_status_t gantry__worker_all_reduce(gantry__worker_t *worker, void *elements, size_t count,
                                          gantry_dtype_t dtype, const char *what);
gantry_status_t gantry__worker_broadcast(gantry__worker_t *worker, void *data, size_t bytes,
                                         const char *what);
gantry_status_t gantry__worker_compare(gantry__worker_t *worker, gantry__lines_t *lines,
                                       const char *what);

/* ---- what must be alike: worker_alike.c. Without a worker they do nothing ---- */

/* Refuses processes that do not train the same model in the same way. options are those of
 * gantry_model_fit, or NULL. */
gantry_status_t gantry__worker_compare_model(gantry_model_t *model,
                                             const gantry_fit_options_t *options);
/* Refuses processes that differ in weights, learning rate or number of steps. */
gantry_status_t gantry__worker_compare_weights(gantry_model_t *model);

/* ---- data: worker_step.c ---- */

/* Takes this process's rows of a batch, and their share of all. It returns the number of rows,
 * which may be 0. */
int64_t gantry__worker_take_rows(const gantry__worker_t *worker, const gantry_array_t *batch,
                                 size_t count, gantry_array_t *out_part, double *out_share);

/* ---- steps: worker_step.c ---- */

/* Before a step, what this process wants; after it, whether any process wants it. */
typedef struct gantry__worker_wishes_t {
    bool stops, shows, interrupts;
} gantry__worker_wishes_t;

/* Runs a step of training on this process's rows, or none if some process stops or interrupts. */
gantry_status_t gantry__worker_train(gantry_model_t *model, const gantry_array_t *batch,
                                     size_t count, gantry__worker_wishes_t *wishes);

/* ---- values of variables: worker_values.c ---- */

/* Gives all processes the weights of rank 0. They must have built alike models. */
gantry_status_t gantry__worker_share_weights(gantry_model_t *model, gantry_status_t status);
/* Gives all processes the weights that rank 0 has loaded and, with_state, those of its
 * optimizer. */
gantry_status_t gantry__worker_share_loaded(gantry_model_t *model, bool with_state,
                                            gantry_status_t status);
/* Sets the generators of all processes to the step of the file that rank 0 has loaded. */
gantry_status_t gantry__worker_share_draws(gantry_model_t *model);
/* Sets the metrics' variables to the sums over all processes. */
gantry_status_t gantry__worker_join_metrics(gantry_model_t *model);
/* Undoes the join after the metrics were read: from then on the sums count only in rank 0. */
gantry_status_t gantry__worker_part_metrics(gantry_model_t *model);

#endif
