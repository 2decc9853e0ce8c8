/* SPDX-License-Identifier: Apache-2.0 */
/* The progress bar of an epoch, as Keras prints it: texts for the caller to write.
 *
 * On a terminal each text redraws the line, at most every 0.05 s:
 *
 *     100/938 ━━━━━━━━━━━━━━━━━━━━ 12s 13ms/step - accuracy: 0.5012 - loss: 1.2345
 *
 * A line that is drawn again must fit into the terminal, because one that wraps could not be drawn
 * over. Values that do not fit are left out, of narrow terminals also the bar and the time of a
 * step. The line at an epoch's end has all values, on further lines if they do not fit.
 *
 * Elsewhere the end of the epoch has one line, "938/938 - 12s - 13ms/step - loss: 1.2345". Time is
 * a number of seconds that the caller reads from a clock; the bar reads none. Owner: nothing is
 * kept; the bar is a plain value of the caller. Threads: externally synchronised. */
#ifndef GANTRY_TRAIN_PROGRESS_H
#define GANTRY_TRAIN_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The loss or a metric; the value is shown as it is. */
typedef struct gantry__progress_value_t {
    const char *name;
    double value;
} gantry__progress_value_t;

/* The state of a bar; begin sets it. */
typedef struct gantry__progress_t {
    int64_t target; /* steps of the epoch; 0: unknown */
    bool is_terminal;
    double start, last_drawn;
    double after_first; /* when the first step ended */
    bool has_first, has_drawn;
    size_t columns; /* of the line that is on the terminal */
    size_t width;   /* of the terminal, which may change at any time; 0: any */
} gantry__progress_t;

void gantry__progress_begin(gantry__progress_t *progress, int64_t target, bool is_terminal,
                            double now);

/* The text to write after `current` steps at time `now`, and its length, which is 0 if nothing is
 * to be written. Text that does not fit is cut to out_bytes - 1 bytes; the length is that of the
 * whole text, as snprintf's. The last call of an epoch has is_last; an epoch of unknown length
 * gets its target from that call. */
size_t gantry__progress_update(gantry__progress_t *progress, int64_t current, double now,
                               const gantry__progress_value_t *values, size_t count, bool is_last,
                               char *out, size_t out_bytes);

#endif
