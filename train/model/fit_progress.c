/* SPDX-License-Identifier: Apache-2.0 */
#include "train/model/fit_progress.h"

#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/os/terminal.h"
#include "train/base/fp_mode.h"

#define SECONDS_BETWEEN 0.1
#define MOST_SHOWN 32
#define USUAL_COLUMNS 80

void gantry__fit_progress_init(gantry__fit_progress_t *progress, gantry_write_fn write,
                               const gantry_fit_options_t *options) {
    *progress = (gantry__fit_progress_t){.write = write,
                                         .user = options->write_user,
                                         .is_terminal = options->is_terminal,
                                         .columns = options->columns};
}

/* Finds the width of the terminal. A program that writes elsewhere says how wide that is. */
static size_t find_width(const gantry__fit_progress_t *progress) {
    size_t columns, lines;
    if (progress->columns > 0) return (size_t)progress->columns;
    gantry__os_terminal_size(stdout, &columns, &lines);
    if (columns == 0) gantry__os_terminal_size(stderr, &columns, &lines);
    return columns > 0 ? columns : USUAL_COLUMNS;
}

static void fit_progress_write_text(const gantry__fit_progress_t *progress, const char *text) {
    GANTRY__TRAIN_PROGRAM_FP_MODE(program);
    progress->write(text, progress->user);
}

void gantry__fit_progress_begin(gantry__fit_progress_t *progress, int64_t epoch, int64_t epochs,
                                int64_t steps) {
    char text[64];
    if (steps > 0) progress->steps = steps; /* else the first epoch counts them */
    progress->step = 0;
    progress->shown = gantry__now_seconds();
    gantry__progress_begin(&progress->bar, progress->steps, progress->is_terminal, progress->shown);
    if (!progress->write) return;
    (void)snprintf(text, sizeof text, "Epoch %lld/%lld\n", (long long)epoch + 1, (long long)epochs);
    fit_progress_write_text(progress, text);
}

bool gantry__fit_progress_is_due(gantry__fit_progress_t *progress) {
    if (!progress->write || !progress->is_terminal) return false;
    const double time = gantry__now_seconds();
    if (time - progress->shown < SECONDS_BETWEEN) return false;
    progress->shown = time;
    return true;
}

static void insert(gantry__progress_value_t *sorted, size_t count, gantry__progress_value_t value) {
    size_t at = count;
    for (; at > 0 && strcmp(sorted[at - 1].name, value.name) > 0; --at) sorted[at] = sorted[at - 1];
    sorted[at] = value;
}

void gantry__fit_progress_show(gantry__fit_progress_t *progress, const char *const *names,
                               const double *values, size_t count, bool is_last) {
    gantry__progress_value_t sorted[MOST_SHOWN];
    char text[2048];
    if (is_last) progress->steps = progress->step;
    if (!progress->write) return;
    if (count > MOST_SHOWN) count = MOST_SHOWN;
    for (size_t i = 0; i < count; ++i)
        insert(sorted, i, (gantry__progress_value_t){names[i], values[i]});
    progress->bar.width = find_width(progress);
    if (gantry__progress_update(&progress->bar, progress->step, gantry__now_seconds(), sorted,
                                count, is_last, text, sizeof text) > 0)
        fit_progress_write_text(progress, text);
}
