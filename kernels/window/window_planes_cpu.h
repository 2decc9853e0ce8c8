/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolutions of float32 images whose channels come first, on the CPU: each channel is a
 * plane, and a vector has neighbouring places of a row. window_rolls_cpu.h has the usual windows;
 * these are all others.
 *
 * The rows under some rows of places are copied into lines, with zeros for the padding. A line has
 * as many parts as a step has pixels, so that a column of the windows is contiguous for all places
 * of a row (window.cl shows it). The windows of GANTRY_PLANES_ROWS rows of places are then summed
 * together.
 *
 * The sums have the bits of window_sum.cl: a sum begins with 0, so that zeros times finite weights
 * do not change it.
 *
 * Owner: nothing. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_WINDOW_PLANES_CPU_H
#define GANTRY_KERNELS_WINDOW_PLANES_CPU_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernels/window/window_rolls_cpu.h"

#define GANTRY_PLANES_ROWS 7    /* common sizes of images are multiples of 7; at most 8 */
#define GANTRY_PLANES_ROOM 4096 /* the elements of all lines */
#define GANTRY_PLANES_MOST 16   /* columns of a window, parts of a line */
#define GANTRY_PLANES_TAPS 128

typedef struct gantry__planes_t {
    const gantry__windows_t *window;
    int64_t first, places;                      /* the places of a row */
    int64_t parts, length, line, lines;         /* of a line, of a part, of all parts; that fit */
    int64_t down;                               /* from row to row of places in the lines */
    int64_t offsets[GANTRY_PLANES_MOST];        /* of the columns in a line */
    gantry__reach_t inside[GANTRY_PLANES_MOST]; /* by part: the pixels inside the image */
    float weights[GANTRY_PLANES_TAPS];
} gantry__planes_t;

/* ---- sums ---- */

#define GANTRY_PLANES_CLEAR(n, a, b, c) \
    if (n < GANTRY_PLANES_ROWS) sums[n] = (gantry__planes_vector_t){0};
#define GANTRY_PLANES_STORE(n, a, b, c) \
    if (n < GANTRY_PLANES_ROWS) *(gantry__planes_vector_t *)(out + n * out_apart) = sums[n];

#define GANTRY_PLANES_ADD_ANY(n, a, b, c) \
    if (n < GANTRY_PLANES_ROWS)           \
        sums[n] += *(const gantry__planes_vector_t *)(at + n * planes->down) * *weights;
static void GANTRY_CPU_NAME(planes_any)(const gantry__planes_t *planes, const float *from,
                                        float *out, int64_t out_apart) {
    const gantry__windows_t *p = planes->window;
    const float *weights = planes->weights;
    gantry__planes_vector_t sums[8];
    GANTRY_EACH_PLACE(GANTRY_PLANES_CLEAR, 0, 0, 0)
    for (int64_t r = 0; r < p->rows; ++r, from += p->spread_y * planes->line) {
        for (int64_t c = 0; c < p->columns; ++c, ++weights) {
            const float *at = from + planes->offsets[c];
            GANTRY_EACH_PLACE(GANTRY_PLANES_ADD_ANY, 0, 0, 0)
        }
    }
    GANTRY_EACH_PLACE(GANTRY_PLANES_STORE, 0, 0, 0)
}

/* ---- lines ---- */

/* Writes zeros from `begin` on to `end`, which are usually few, and up to a vector more. */
static inline void planes_clear(float *line, int64_t begin, int64_t end) {
    if (begin < end) *(gantry__planes_vector_t *)(line + begin) = (gantry__planes_vector_t){0};
    if (begin + GANTRY_PLANES_SUMS < end)
        memset(line + begin, 0, (size_t)(end - begin) * sizeof *line);
}

/* Copies neighbouring elements. May read and write up to a vector more, but does not read beyond
 * `stop`. */
static inline void planes_copy(const float *from, const float *stop, float *to, int64_t count) {
    int64_t i = 0;
    for (; i < count && stop - from >= i + GANTRY_PLANES_SUMS; i += GANTRY_PLANES_SUMS)
        *(gantry__planes_vector_t *)(to + i) = *(const gantry__planes_vector_t *)(from + i);
    for (; i < count; ++i) *(volatile float *)(to + i) = from[i];
}

/* Copies the pixels of parts whose pixels are apart. */
static void GANTRY_CPU_NAME(planes_parts)(const gantry__planes_t *planes, const float *from,
                                          float *line) {
    const int64_t step = planes->window->step_x;
    const gantry__reach_t *inside = planes->inside;
    for (int64_t k = 0; k < planes->parts; ++k, ++from, line += planes->length) {
        for (int64_t i = inside[k].first; i < inside[k].end; ++i)
            *(volatile float *)(line + i) = from[step * i];
    }
}

/* Makes the line of a row of the image, which ends before `stop`, and the zeros before the pixels
 * of the next line. The elements after those may be overwritten. */
static void GANTRY_CPU_NAME(planes_line)(const gantry__planes_t *planes, const float *row,
                                         const float *stop, float *line) {
    const gantry__windows_t *p = planes->window;
    const gantry__reach_t *inside = planes->inside;
    const float *from = row + planes->first * p->step_x - p->left;
    if (planes->parts == 1 && p->step_x == 1)
        planes_copy(from + inside->first, stop, line + inside->first, inside->end - inside->first);
    for (int64_t k = 0; k < planes->parts; ++k) {
        const int64_t next = inside[k + 1 < planes->parts ? k + 1 : 0].first;
        planes_clear(line + k * planes->length, inside[k].end, planes->length + next);
    }
    if (p->step_x != 1) GANTRY_CPU_NAME(planes_parts)(planes, from, line);
}

/* Makes `count` lines, from row `top` of the plane on. */
static void GANTRY_CPU_NAME(planes_lines)(const gantry__planes_t *planes, const float *plane,
                                          int64_t top, int64_t count, float *lines) {
    const gantry__windows_t *p = planes->window;
    planes_clear(lines, 0, planes->inside->first);
    for (int64_t r = top; r < top + count; ++r, lines += planes->line) {
        if (gantry__is_inside(r, p->height)) {
            GANTRY_CPU_NAME(planes_line)
            (planes, plane + r * p->width, plane + p->height * p->width, lines);
        } else {
            planes_clear(lines, 0, planes->line + planes->inside->first);
        }
    }
}

/* ---- planes ---- */

/* Whether lines fit and all weights are finite. `own` is the filter of `all`. */
static bool GANTRY_CPU_NAME(planes_set)(const gantry__windows_t *p, const float *filter,
                                        int64_t own, int64_t all, gantry__planes_t *planes) {
    const int64_t reach = (p->columns - 1) * p->spread_x + 1;
    if (p->columns > GANTRY_PLANES_MOST || p->rows * p->columns > GANTRY_PLANES_TAPS ||
        reach > GANTRY_PLANES_ROOM || planes_least(p->step_x, reach) > GANTRY_PLANES_MOST)
        return false;
    planes->window = p;
    planes->parts = planes_least(p->step_x, reach);
    planes->length = planes_most(planes->places, GANTRY_PLANES_SUMS) +
                     gantry__divide_position(reach - 1, p->step_x);
    planes->line = planes->parts * planes->length;
    if (planes->length > GANTRY_PLANES_ROOM) return false;
    /* the zeros of a next line follow the last one */
    planes->lines = gantry__divide_position(GANTRY_PLANES_ROOM - planes->length, planes->line);
    planes->down = p->step_y * planes->line;
    if (planes->lines < (GANTRY_PLANES_ROWS - 1) * p->step_y + (p->rows - 1) * p->spread_y + 1)
        return false;
    for (int64_t c = 0, part = 0, places = 0; c < p->columns; ++c, part += p->spread_x) {
        for (; part >= planes->parts; part -= planes->parts) ++places;
        planes->offsets[c] = part * planes->length + places;
    }
    for (int64_t k = 0; k < planes->parts; ++k) {
        gantry__reach_t *inside = &planes->inside[k];
        gantry__find_reach(planes->first * p->step_x - p->left + k, p->step_x, planes->length,
                           p->width, inside);
        inside->first = planes_least(inside->first, planes->length);
        inside->end = planes_most(inside->first, inside->end);
    }
    float special = 0;
    for (int64_t t = 0; t < p->rows * p->columns; ++t) {
        planes->weights[t] = filter[t * all + own];
        special += planes->weights[t] - planes->weights[t];
    }
    return special == 0;
}

/* Writes rows of fewer places, or fewer rows, than are summed together. Rows that are contiguous
 * are written in order, each with some elements of the next one, which then overwrites them. */
static void GANTRY_CPU_NAME(planes_store)(const gantry__planes_t *planes, const float *sums,
                                          int64_t rows, float *out) {
    const int64_t width = planes->window->out_width, places = planes->places;
    for (int64_t r = 0; r < rows; ++r, sums += GANTRY_PLANES_SUMS, out += width) {
        if (places >= GANTRY_PLANES_SUMS ||
            (places == width && (rows - r) * width >= GANTRY_PLANES_SUMS)) {
            *(gantry__planes_vector_t *)out = *(const gantry__planes_vector_t *)sums;
        } else {
            memcpy(out, sums, (size_t)places * sizeof *out);
        }
    }
}

/* Sums `rows` rows of places, whose first window's row begins the lines. The last vectors overlap
 * those before them. */
static void GANTRY_CPU_NAME(planes_sum)(const gantry__planes_t *planes, const float *lines,
                                        int64_t rows, float *out) {
    const int64_t width = planes->window->out_width, places = planes->places;
    for (int64_t y = 0; y < rows; y += GANTRY_PLANES_ROWS) {
        y = planes_most(planes_least(y, rows - GANTRY_PLANES_ROWS), 0);
        for (int64_t x = 0; x < places; x += GANTRY_PLANES_SUMS) {
            x = planes_most(planes_least(x, places - GANTRY_PLANES_SUMS), 0);
            const float *from = lines + y * planes->down + x;
            float *to = out + y * width + x;
            if (rows >= GANTRY_PLANES_ROWS && places >= GANTRY_PLANES_SUMS) {
                GANTRY_CPU_NAME(planes_any)(planes, from, to, width);
            } else {
                float some[GANTRY_PLANES_ROWS * GANTRY_PLANES_SUMS];
                GANTRY_CPU_NAME(planes_any)(planes, from, some, GANTRY_PLANES_SUMS);
                GANTRY_CPU_NAME(planes_store)
                (planes, some, planes_least(rows, GANTRY_PLANES_ROWS), to);
            }
        }
    }
}

/* One plane of a band of the result, of `all` filters. Returns false, without a result, if a weight
 * is not finite or the lines do not fit. Its lines must not be a part of its caller's frame. */
__attribute__((noinline)) static bool GANTRY_CPU_NAME(planes_depthwise)(
    const float *x, const float *filter, float *out, const gantry__windows_t *p,
    const gantry__band_t *band, int64_t all) {
    const int64_t more = (p->rows - 1) * p->spread_y + 1, image = band->image;
    gantry__planes_t planes; /* zeros would cost as much as a small plane */
    float lines[GANTRY_PLANES_ROOM + GANTRY_PLANES_SUMS];
    planes.first = band->first;
    planes.places = band->end - band->first;
    if (!GANTRY_CPU_NAME(planes_set)(p, filter, image - gantry__divide_position(image, all) * all,
                                     all, &planes))
        return false;
    x += gantry__divide_position(image, p->depth) * p->height * p->width;
    int64_t together = gantry__divide_position(planes.lines - more, p->step_y) + 1;
    together -= together % GANTRY_PLANES_ROWS;
    for (int64_t y = band->top; y < band->bottom; y += together) {
        const int64_t rows = planes_least(together, band->bottom - y),
                      count = (planes_most(rows, GANTRY_PLANES_ROWS) - 1) * p->step_y + more;
        GANTRY_CPU_NAME(planes_lines)(&planes, x, y * p->step_y - p->top, count, lines);
        GANTRY_CPU_NAME(planes_sum)
        (&planes, lines, rows, out + (image * p->out_height + y) * p->out_width + band->first);
    }
    return true;
}

#endif
