/* SPDX-License-Identifier: Apache-2.0 */
#include "train/progress/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>

#include "shared/c_locale.h"
#include "train/base/fail.h"

#define BAR_COLUMNS 20
#define TIME_COLUMNS 22    /* of the time left, and the time of a step */
#define DRAW_INTERVAL 0.05 /* seconds */
#define BAR_PIECE "\xe2\x94\x81"
#define BOLD "\x1b[1m"
#define GREEN "\x1b[32m"
#define WHITE "\x1b[37m"
#define PLAIN "\x1b[0m"

typedef struct line_t {
    char *out;
    size_t bytes;
    size_t used;    /* of the whole text, also what did not fit */
    size_t columns; /* that it takes on a terminal */
    size_t most;    /* columns */
    size_t covered; /* columns of the line that was there before; 0: none */
} line_t;

static void line_put(line_t *line, const char *format, ...) GANTRY__PRINTF(2, 3);

/* Text of which each byte takes a column. */
static void line_put(line_t *line, const char *format, ...) {
    const bool fits = line->used < line->bytes;
    va_list arguments;
    va_start(arguments, format);
    const int length = gantry__format(fits ? line->out + line->used : NULL,
                                      fits ? line->bytes - line->used : 0, format, arguments);
    va_end(arguments);
    if (length < 0) return;
    line->used += (size_t)length;
    line->columns += (size_t)length;
}

/* A sequence that changes the look of what follows. */
static void line_style(line_t *line, const char *sequence) {
    const size_t before = line->columns;
    line_put(line, "%s", sequence);
    line->columns = before;
}

static void line_repeat(line_t *line, const char *piece, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        const size_t before = line->columns;
        line_put(line, "%s", piece);
        line->columns = before + 1;
    }
}

/* ---- parts ---- */

static int digits_of(int64_t number) {
    int digits = 1;
    for (; number >= 10; number /= 10) ++digits;
    return digits;
}

/* Whether so many columns more fit. */
static bool line_has_room(const line_t *line, size_t columns) {
    return columns <= line->most && line->columns <= line->most - columns;
}

/* Spaces over what is left of the line before. */
static void line_cover(line_t *line) {
    while (line->columns < line->covered && line_has_room(line, 1)) line_put(line, " ");
    line->covered = 0;
}

static void put_bar(line_t *line, int64_t current, int64_t target) {
    if (target <= 0) {
        line_put(line, "%7" PRId64 "/Unknown", current);
        return;
    }
    const int64_t done = (int64_t)(BAR_COLUMNS * ((double)current / (double)target));
    line_style(line, BOLD);
    line_put(line, "%*" PRId64 "/%" PRId64, digits_of(target), current, target);
    line_style(line, PLAIN);
    if (!line_has_room(line, 1 + BAR_COLUMNS + TIME_COLUMNS)) return;
    line_put(line, " ");
    if (done > 0) {
        line_style(line, GREEN);
        line_repeat(line, BAR_PIECE, done);
        line_style(line, PLAIN);
    }
    line_style(line, WHITE);
    line_repeat(line, BAR_PIECE, BAR_COLUMNS - done);
    line_style(line, PLAIN);
}

/* Hours, minutes and seconds of the time left. */
static void put_time_left(line_t *line, double seconds) {
    const int64_t whole = seconds > 0 && seconds < 1e15 ? (int64_t)seconds : 0;
    const int hours_place = 3600, minutes_place = 60;
    if (seconds > hours_place) {
        line_put(line, "%" PRId64 ":%02d:%02d", whole / hours_place,
                 (int)(whole % hours_place / minutes_place), (int)(whole % minutes_place));
    } else if (seconds > minutes_place) {
        line_put(line, "%d:%02d", (int)(whole / minutes_place), (int)(whole % minutes_place));
    } else {
        line_put(line, "%ds", (int)whole);
    }
}

static void put_step_time(line_t *line, double seconds) {
    if (!line_has_room(line, TIME_COLUMNS / 2)) return;
    if (seconds >= 1 || seconds == 0)
        line_put(line, " %.0fs/step", seconds);
    else if (seconds >= 1e-3)
        line_put(line, " %.0fms/step", seconds * 1e3);
    else
        line_put(line, " %.0fus/step", seconds * 1e6);
}

/* Writes a value. Keras has one bound for bars, and another one for plain lines. */
static void progress_put_value(line_t *line, const gantry__progress_value_t *given,
                               bool is_terminal) {
    const double value = given->value;
    const bool is_large = (is_terminal ? fabs(value) : value) > 1e-3;
    line_put(line, " - %s:", given->name);
    if (isnan(value))
        line_put(line, " nan"); /* C may write -nan */
    else if (is_large)
        line_put(line, " %.4f", value);
    else
        line_put(line, " %.4e", value);
}

static size_t value_columns(const gantry__progress_value_t *given, bool is_terminal) {
    line_t measured = {.out = NULL};
    progress_put_value(&measured, given, is_terminal);
    return measured.columns;
}

/* Values that do not fit are left out of a line that is drawn again; of the last one they come on
 * the next line. */
static void put_values(line_t *line, const gantry__progress_value_t *values, size_t count,
                       bool is_terminal, bool is_last) {
    for (size_t i = 0; i < count; ++i) {
        if (!line_has_room(line, value_columns(&values[i], is_terminal))) {
            if (!is_last) continue;
            line_cover(line);
            line_put(line, "\n");
            line->columns = 0;
        }
        progress_put_value(line, &values[i], is_terminal);
    }
}

/* ---- texts ---- */

static void put_redrawn(gantry__progress_t *progress, int64_t current, double now, double step_time,
                        const gantry__progress_value_t *values, size_t count, bool is_last,
                        line_t *line) {
    line_style(line, "\r");
    put_bar(line, current, progress->target);
    line_put(line, " ");
    line_style(line, BOLD);
    if (progress->target > 0 && !is_last)
        put_time_left(line, step_time * (double)(progress->target - current));
    else
        line_put(line, "%.0fs", now - progress->start);
    line_style(line, PLAIN);
    put_step_time(line, step_time);
    line->covered = progress->columns;
    put_values(line, values, count, true, is_last);
    progress->columns = line->columns;
    line_cover(line);
    if (is_last) line_put(line, "\n");
}

static void put_plain(const gantry__progress_t *progress, int64_t current, double now,
                      double step_time, const gantry__progress_value_t *values, size_t count,
                      line_t *line) {
    line_put(line, "%*" PRId64 "/%" PRId64 " - %.0fs -", digits_of(progress->target), current,
             progress->target, now - progress->start);
    put_step_time(line, step_time);
    put_values(line, values, count, false, true);
    line_put(line, "\n");
}

/* The mean time of a step, without the first one, which is slower than the others. */
static double step_duration(gantry__progress_t *progress, int64_t current, double now) {
    if (current <= 0) return 0;
    const double duration = progress->has_first && current > 1
                                ? (now - progress->after_first) / (double)(current - 1)
                                : (now - progress->start) / (double)current;
    if (current == 1) {
        progress->after_first = now;
        progress->has_first = true;
    }
    return duration;
}

void gantry__progress_begin(gantry__progress_t *progress, int64_t target, bool is_terminal,
                            double now) {
    *progress = (gantry__progress_t){
        .target = target > 0 ? target : 0, .is_terminal = is_terminal, .start = now};
}

size_t gantry__progress_update(gantry__progress_t *progress, int64_t current, double now,
                               const gantry__progress_value_t *values, size_t count, bool is_last,
                               char *out, size_t out_bytes) {
    /* without the last column, after which some terminals go on to the next line */
    line_t line = {
        .out = out,
        .bytes = out_bytes,
        .most = progress->is_terminal && progress->width > 0 ? progress->width - 1 : SIZE_MAX};
    if (out_bytes > 0) out[0] = '\0';
    const double step_time = step_duration(progress, current, now);
    if (is_last && progress->target == 0) progress->target = current;
    if (progress->is_terminal) {
        const bool is_early =
            progress->has_drawn && now - progress->last_drawn < DRAW_INTERVAL && !is_last;
        if (is_early) return 0;
        put_redrawn(progress, current, now, step_time, values, count, is_last, &line);
    } else if (is_last) {
        put_plain(progress, current, now, step_time, values, count, &line);
    }
    progress->has_drawn = true;
    progress->last_drawn = now;
    return line.used;
}
