/* SPDX-License-Identifier: Apache-2.0 */
/* The progress of a training as text, as Keras prints it: a bar that is drawn again and again on a
 * terminal, one line for each epoch elsewhere. */
#ifndef GANTRY_TRAIN_FIT_PROGRESS_H
#define GANTRY_TRAIN_FIT_PROGRESS_H

#include <gantry_train/model.h>

typedef struct gantry__fit_progress_t {
    gantry_write_fn write; /* NULL: nothing is written */
    void *user;
    bool is_terminal;
    int64_t step, steps; /* steps negative: not known */
    double began, shown; /* seconds of a clock that never goes back */
} gantry__fit_progress_t;

void gantry__fit_progress_init(gantry__fit_progress_t *progress, gantry_write_fn write, void *user,
                               bool is_terminal);
void gantry__fit_progress_begin(gantry__fit_progress_t *progress, int64_t epoch, int64_t epochs,
                                int64_t steps);
/* Whether the bar is to be drawn: ten times a second at most. */
bool gantry__fit_progress_is_due(gantry__fit_progress_t *progress);
void gantry__fit_progress_show(gantry__fit_progress_t *progress, const char *const *names,
                               const double *values, size_t count, bool is_last);

#endif
