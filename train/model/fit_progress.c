/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "train/model/fit_progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define BAR_WIDTH 20
#define SECONDS_BETWEEN 0.1

static double now(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void gantry__fit_progress_init(gantry__fit_progress_t *progress, gantry_write_fn write, void *user,
                               bool is_terminal) {
    *progress = (gantry__fit_progress_t){.write = write, .user = user, .is_terminal = is_terminal};
}

void gantry__fit_progress_begin(gantry__fit_progress_t *progress, int64_t epoch, int64_t epochs,
                                int64_t steps) {
    char text[64];
    if (progress->steps <= 0) progress->steps = steps; /* else the first epoch counted them */
    progress->step = 0;
    progress->began = progress->shown = now();
    if (!progress->write) return;
    (void)snprintf(text, sizeof text, "Epoch %lld/%lld\n", (long long)epoch + 1, (long long)epochs);
    progress->write(text, progress->user);
}

bool gantry__fit_progress_is_due(gantry__fit_progress_t *progress) {
    if (!progress->write || !progress->is_terminal) return false;
    const double time = now();
    if (time - progress->shown < SECONDS_BETWEEN) return false;
    progress->shown = time;
    return true;
}

typedef struct line_t {
    char text[1024];
    size_t length;
} line_t;

static void add(line_t *line, const char *text) {
    const size_t length = strlen(text), room = sizeof line->text - 1 - line->length;
    const size_t used = length < room ? length : room;
    memcpy(line->text + line->length, text, used);
    line->length += used;
    line->text[line->length] = '\0';
}

static void add_bar(line_t *line, const gantry__fit_progress_t *progress) {
    const int64_t filled =
        progress->steps > 0 ? progress->step * BAR_WIDTH / progress->steps : BAR_WIDTH;
    add(line, " ");
    for (int64_t i = 0; i < BAR_WIDTH; ++i) add(line, i < filled ? "\u2501" : " ");
}

static void add_times(line_t *line, const gantry__fit_progress_t *progress, bool is_last) {
    char text[64];
    const double passed = now() - progress->began;
    const double each = progress->step > 0 ? passed / (double)progress->step : 0;
    const double left = each * (double)(progress->steps - progress->step);
    (void)snprintf(text, sizeof text, " %.0fs", is_last || progress->steps <= 0 ? passed : left);
    add(line, text);
    if (each >= 1)
        (void)snprintf(text, sizeof text, " %.0fs/step", each);
    else if (each >= 1e-3)
        (void)snprintf(text, sizeof text, " %.0fms/step", each * 1e3);
    else
        (void)snprintf(text, sizeof text, " %.0fus/step", each * 1e6);
    add(line, text);
}

void gantry__fit_progress_show(gantry__fit_progress_t *progress, const char *const *names,
                               const double *values, size_t count, bool is_last) {
    line_t line = {.length = 0};
    char text[128];
    if (is_last) progress->steps = progress->step;
    if (!progress->write) return;
    if (progress->is_terminal) add(&line, "\r");
    if (progress->steps > 0)
        (void)snprintf(text, sizeof text, "%lld/%lld", (long long)progress->step,
                       (long long)progress->steps);
    else
        (void)snprintf(text, sizeof text, "%lld/Unknown", (long long)progress->step);
    add(&line, text);
    add_bar(&line, progress);
    add_times(&line, progress, is_last);
    for (size_t i = 0; i < count; ++i) {
        (void)snprintf(text, sizeof text, " - %s: %.4f", names[i], values[i]);
        add(&line, text);
    }
    if (is_last) add(&line, "\n");
    progress->write(line.text, progress->user);
}
