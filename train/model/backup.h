/* SPDX-License-Identifier: Apache-2.0 */
/* Backups: all from which a training goes on as if nothing had happened. A backup is a model's
 * file, with the metrics' variables in the middle of an epoch, and with texts:
 *
 *     epoch, step    how many are done, of the training and of the epoch
 *     iterations     "3,1": of the shuffles when the epoch began, of the training's data set, then
 *                    of the validation's
 *     callback/N     the state of callback N
 *
 * Owner: the caller has a position, and the file that open returns. Threads: externally
 * synchronised, as the model. */
#ifndef GANTRY_TRAIN_BACKUP_H
#define GANTRY_TRAIN_BACKUP_H

#include <gantry_train/checkpoint.h>

#include "train/model/model_state.h"

/* The most shuffles of both data sets. */
#define GANTRY__BACKUP_SHUFFLES 64

/* Where a training is. */
typedef struct gantry__position_t {
    int64_t epoch, step;
    uint64_t iterations[GANTRY__BACKUP_SHUFFLES];
    size_t iteration_count;
} gantry__position_t;

/* Reads the counts of the shuffles of both data sets, whose sum must be at most
 * GANTRY__BACKUP_SHUFFLES; more are refused. */
gantry_status_t gantry__position_take(gantry__position_t *position, gantry_dataset_t *batches,
                                      gantry_dataset_t *validation);
/* Writes o->backup. Of several processes, rank 0 writes and reads it, but all must make these
 * calls, because the others wait for what rank 0 reports. */
gantry_status_t gantry__backup_save(gantry_model_t *model, const gantry_fit_options_t *o,
                                    const gantry__position_t *position);
/* Opens o->backup, if it exists, and reads where the training goes on. *out_file is NULL in
 * processes that do not read. */
gantry_status_t gantry__backup_open(gantry_model_t *model, const gantry_fit_options_t *o,
                                    gantry__position_t *position, gantry_checkpoint_t **out_file,
                                    bool *out_exists);
/* Sets the model, whose optimizer and metrics must be built, and the states of callbacks. */
gantry_status_t gantry__backup_restore(gantry_model_t *model, const gantry_fit_options_t *o,
                                       const gantry__position_t *position,
                                       const gantry_checkpoint_t *file);
/* Sets the iteration counts of the shuffles of both data sets. */
gantry_status_t gantry__backup_set_iterations(const gantry__position_t *position,
                                              gantry_dataset_t *batches,
                                              const gantry_fit_options_t *o);

/* ---- save.c ---- */

gantry_status_t gantry__model_save_with(gantry_model_t *model, const char *path, bool with_metrics,
                                        const gantry_checkpoint_text_t *texts, size_t text_count);
/* path is that of the checkpoint, for errors. */
gantry_status_t gantry__model_load_from(gantry_model_t *model, const char *path,
                                        const gantry_checkpoint_t *checkpoint, bool with_metrics);

#endif
