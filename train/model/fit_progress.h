/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the progress of a training: the bar of train/progress, by the clock. Owner: the caller has
 * the struct, which owns nothing. Threads: externally synchronised. */
#ifndef GANTRY_TRAIN_FIT_PROGRESS_H
#define GANTRY_TRAIN_FIT_PROGRESS_H

#include <gantry_train/model.h>

#include "train/progress/progress.h"

typedef struct gantry__fit_progress_t {
    gantry_write_fn write; /* NULL: nothing is written */
    void *user;
    bool is_terminal;
    int32_t columns;     /* of the terminal; 0: read from it */
    int64_t step, steps; /* steps 0: not known */
    double shown;        /* seconds of a clock that never goes back */
    gantry__progress_t bar;
} gantry__fit_progress_t;

void gantry__fit_progress_init(gantry__fit_progress_t *progress, gantry_write_fn write,
                               const gantry_fit_options_t *options);
void gantry__fit_progress_begin(gantry__fit_progress_t *progress, int64_t epoch, int64_t epochs,
                                int64_t steps);
/* Returns whether values must be read and shown: ten times a second at most, on a terminal. */
bool gantry__fit_progress_is_due(gantry__fit_progress_t *progress);
/* Shows values in the order of their names, as Keras does. */
void gantry__fit_progress_show(gantry__fit_progress_t *progress, const char *const *names,
                               const double *values, size_t count, bool is_last);

#endif
