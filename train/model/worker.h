/* SPDX-License-Identifier: Apache-2.0 */
/* This process among the processes of a training (gantry_multi_worker_strategy).
 *
 * All processes make the same calls. Before numbers are exchanged, the processes agree: each sends
 * a short header, which says its place in the program, numbers that are alike in all of them, and
 * whether it has failed. So a process that has failed, one with another model and one that is
 * elsewhere give an error in every process, and none waits for a call that never comes.
 *
 *     rank 0   header ── gradient of rows 0-3 ──┐             ┌── update
 *     rank 1   header ── gradient of rows 4-7 ──┴─ all-reduce ┴── update
 *
 * The header costs one more latency in each step. Externally synchronised. */
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
    /* the values of all variables, one behind another: gradients of trained ones, new values of the
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

/* NULL after a failure. */
gantry__worker_t *gantry__worker_create(const gantry_communicator_t *communicator);
void gantry__worker_release(gantry__worker_t *worker);
/* Forgets what belongs to the loss and the optimizer. */
void gantry__worker_forget(gantry__worker_t *worker);
/* Whether this process is the one that writes: the only one, or rank 0. */
bool gantry__worker_writes(const gantry__worker_t *worker);

/* All processes say where they are. An error of one, or a difference, is an error in all. */
gantry_status_t gantry__worker_agree(gantry__worker_t *worker, gantry__worker_call_t *call);
/* Keeps the last message, of a failure. */
void gantry__worker_keep_text(gantry__worker_t *worker, gantry_status_t status);
/* Some process has failed, which all know: tells all of them the first one's error. status: of this
 * process, with the kept text. */
gantry_status_t gantry__worker_tell(gantry__worker_t *worker, gantry_status_t status);
/* The work at a place, for errors: "step 17". */
gantry__worker_text_t gantry__worker_say(const gantry__worker_t *worker,
                                         gantry__worker_kind_t kind);
/* Begins and ends a public call. A failure that other processes do not know is told. Without a
 * worker gantry__worker_end returns the status. */
void gantry__worker_begin(gantry__worker_t *worker);
gantry_status_t gantry__worker_end(gantry__worker_t *worker, gantry_status_t status);
/* Sums over all processes, and the bytes of rank 0. */
gantry_status_t gantry__worker_all_reduce(gantry__worker_t *worker, void *elements, size_t count,
                                          gantry_dtype_t dtype, const char *what);
gantry_status_t gantry__worker_broadcast(gantry__worker_t *worker, void *data, size_t bytes,
                                         const char *what);
gantry_status_t gantry__worker_compare(gantry__worker_t *worker, gantry__lines_t *lines,
                                       const char *what);

/* ---- what must be alike: worker_alike.c. Without a worker they do nothing ---- */

/* All processes train the same model in the same way. options of gantry_model_fit, or NULL. */
gantry_status_t gantry__worker_compare_model(gantry_model_t *model,
                                             const gantry_fit_options_t *options);
/* All processes have the same weights, learning rate and number of steps. */
gantry_status_t gantry__worker_compare_weights(gantry_model_t *model);

/* ---- data: worker_step.c ---- */

/* This process's rows of a batch, and their part of all. Returns the number of rows; 0: none. */
int64_t gantry__worker_take_rows(const gantry__worker_t *worker, const gantry_array_t *batch,
                                 size_t count, gantry_array_t *out_part, double *out_share);

/* ---- steps: worker_step.c ---- */

/* What a process wants at a step; then whether any process wants it. */
typedef struct gantry__worker_wishes_t {
    bool stops, shows, interrupts;
} gantry__worker_wishes_t;

/* A step of training on this process's rows; none, if some process stops or interrupts. */
gantry_status_t gantry__worker_train(gantry_model_t *model, const gantry_array_t *batch,
                                     size_t count, gantry__worker_wishes_t *wishes);

/* ---- values of variables: worker_values.c ---- */

/* All processes have built alike models; they get the weights of rank 0. */
gantry_status_t gantry__worker_share_weights(gantry_model_t *model, gantry_status_t status);
/* Rank 0 has loaded a file; all processes get its weights and, if it has them, the optimizer's. */
gantry_status_t gantry__worker_share_loaded(gantry_model_t *model, bool with_state,
                                            gantry_status_t status);
/* Rank 0 has loaded a file; the generators of all processes go on in the step that it has. */
gantry_status_t gantry__worker_share_draws(gantry_model_t *model);
/* The metrics' variables become the sums over all processes. */
gantry_status_t gantry__worker_join_metrics(gantry_model_t *model);
/* After they were read: they count in rank 0 alone. */
gantry_status_t gantry__worker_part_metrics(gantry_model_t *model);

#endif
