/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolutions of float32 planes (window_planes_cpu.h) by the usual windows: 3 x 3 or
 * 5 x 5 neighbouring pixels, by steps of 1 or 2.
 *
 * Pixels are read from the image itself. A roll goes down the rows of a plane with one vector of
 * places, or two, and has the sums of their windows in registers: a row of pixels ends the sums of
 * one row of places, and begins those of another. Masks make zeros of what a vector has outside of
 * its row. Rows outside of the image add nothing. Only a row whose vectors would be read beyond the
 * planes is copied. By steps of 2, two vectors of pixels become one of every second pixel, in the
 * order in which shuffles leave the lanes of 128 bits where they are. GANTRY_PLANES_PLACES then
 * gives sums the order of their places.
 *
 * The sums have the bits of window_sum.cl: a sum begins with 0, so that zeros times finite weights
 * do not change it.
 *
 * Owner: nothing. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_WINDOW_ROLLS_CPU_H
#define GANTRY_KERNELS_WINDOW_ROLLS_CPU_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernels/window/window.cl"

#if defined(__AVX512F__)
#define GANTRY_PLANES_SUMS 16
#elif defined(__AVX__)
#define GANTRY_PLANES_SUMS 8
#else
#define GANTRY_PLANES_SUMS 4
#endif

typedef float gantry__planes_vector_t
    __attribute__((vector_size(4 * GANTRY_PLANES_SUMS), aligned(4), may_alias));
typedef int32_t gantry__planes_numbers_t __attribute__((vector_size(4 * GANTRY_PLANES_SUMS)));

static inline int64_t planes_least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t planes_most(int64_t a, int64_t b) { return a > b ? a : b; }

#if defined(__OPTIMIZE_SIZE__)
/* The rows of any windows are enough. */
static int64_t GANTRY_CPU_NAME(rolls_depthwise)(const float *x, const float *filter, float *out,
                                                const gantry__windows_t *p,
                                                const gantry__band_t *band, int64_t all) {
    (void)x, (void)filter, (void)out, (void)p, (void)band, (void)all;
    return 0;
}
#else

#define GANTRY_ROLLS_FN static inline __attribute__((always_inline))
#define GANTRY_ROLLS_MOST 5       /* rows and columns of a window */
#define GANTRY_ROLLS_ROWS 128     /* of pixels that a roll passes, without the last windows' rest */
#define GANTRY_ROLLS_PIXELS 4096  /* of those rows, so that the next vectors find them in a cache */
#define GANTRY_ROLLS_FEWEST 8     /* rows of places */
#define GANTRY_ROLLS_WEIGHTS 2048 /* of the planes that are summed together */
#define GANTRY_ROLLS_WIDEST (1 << 28)
#define GANTRY_ROLLS_NARROWEST 4 /* columns of an image */
#define GANTRY_ROLLS_SPAN (4 * GANTRY_PLANES_SUMS + GANTRY_ROLLS_MOST)
#define GANTRY_ROLLS_SPARE (GANTRY_ROLLS_SPAN / GANTRY_ROLLS_NARROWEST + 3)

typedef struct gantry__rolls_t {
    const gantry__windows_t *window;
    int64_t rows, places; /* of a roll; of a row */
    int64_t apart, right; /* from left to right vector: in the result, in the pixels */
    int64_t pitch;        /* from row to row of the result */
    int64_t start, span;  /* the first column under the left vector, the columns under both */
    const float *first;   /* of the planes; the pixels that may be read from there on: */
    int64_t readable;
    gantry__planes_numbers_t masks[GANTRY_ROLLS_MOST][2];
    /* the rows of pixels; NULL: outside of the image */
    const float *from[GANTRY_ROLLS_ROWS + GANTRY_ROLLS_MOST];
    float spare[GANTRY_ROLLS_SPARE][GANTRY_ROLLS_SPAN];
    float last[(GANTRY_ROLLS_ROWS + 1) * GANTRY_PLANES_SUMS];
    float weights[GANTRY_ROLLS_WEIGHTS];
} gantry__rolls_t;

/* ---- vectors ---- */

/* Takes elements of two vectors by number. GCC before 12 has a name of its own for it. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 12
#define GANTRY_PLANES_PICK(a, b, ...) \
    __builtin_shuffle(a, b, (gantry__planes_numbers_t){__VA_ARGS__})
#else
#define GANTRY_PLANES_PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif
#if GANTRY_PLANES_SUMS == 16
#define GANTRY_PLANES_PLACES 0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15
#define GANTRY_PLANES_EVERY_SECOND(n)                                                              \
    n, n + 2, n + 16, n + 18, n + 4, n + 6, n + 20, n + 22, n + 8, n + 10, n + 24, n + 26, n + 12, \
        n + 14, n + 28, n + 30
#elif GANTRY_PLANES_SUMS == 8
#define GANTRY_PLANES_PLACES 0, 1, 4, 5, 2, 3, 6, 7
#define GANTRY_PLANES_EVERY_SECOND(n) n, n + 2, n + 8, n + 10, n + 4, n + 6, n + 12, n + 14
#else
#define GANTRY_PLANES_PLACES 0, 1, 2, 3
#define GANTRY_PLANES_EVERY_SECOND(n) n, n + 2, n + 4, n + 6
#endif

/* The pixels of neighbouring places, of which `from` is the first, or the one before it. */
GANTRY_ROLLS_FN gantry__planes_vector_t rolls_pixels(const float *from, int step, int is_odd) {
    const gantry__planes_vector_t a = *(const gantry__planes_vector_t *)from;
    if (step == 1) return a;
    const gantry__planes_vector_t b = *(const gantry__planes_vector_t *)(from + GANTRY_PLANES_SUMS);
    return is_odd ? GANTRY_PLANES_PICK(a, b, GANTRY_PLANES_EVERY_SECOND(1))
                  : GANTRY_PLANES_PICK(a, b, GANTRY_PLANES_EVERY_SECOND(0));
}

GANTRY_ROLLS_FN gantry__planes_vector_t rolls_masked(gantry__planes_vector_t pixels,
                                                     gantry__planes_numbers_t mask) {
    return (gantry__planes_vector_t)((gantry__planes_numbers_t)pixels & mask);
}

/* Makes the masks of the vectors, for windows of `columns`. */
static void GANTRY_CPU_NAME(rolls_mask)(gantry__rolls_t *rolls) {
    const int32_t step = (int32_t)rolls->window->step_x, columns = (int32_t)rolls->window->columns;
    int32_t numbers[GANTRY_PLANES_SUMS];
    gantry__planes_numbers_t all;
    for (int i = 0; i < GANTRY_PLANES_SUMS; ++i) *(volatile int32_t *)(numbers + i) = i;
    memcpy(&all, numbers, sizeof all);
    const gantry__planes_numbers_t order =
        step == 1
            ? all
            : GANTRY_PLANES_PICK(all, all + GANTRY_PLANES_SUMS, GANTRY_PLANES_EVERY_SECOND(0));
    const int32_t width = (int32_t)rolls->window->width, apart = (int32_t)rolls->right;
    for (int c = 0; c < columns; ++c) {
        const gantry__planes_numbers_t left = order + ((int32_t)rolls->start + c),
                                       right = left + apart;
        rolls->masks[c][0] = (left >= 0) & (left < width);
        rolls->masks[c][1] = (right >= 0) & (right < width);
    }
}

/* ---- rows ---- */

/* Finds `count` rows of pixels of a plane, from row y on, and copies those that would be read
 * beyond the planes. */
static void GANTRY_CPU_NAME(rolls_rows)(gantry__rolls_t *rolls, const float *plane, int64_t y,
                                        int64_t count) {
    const int64_t width = rolls->window->width, height = rolls->window->height;
    int64_t first = plane - rolls->first + y * width + rolls->start;
    float *spare = rolls->spare[0];
    for (int64_t j = 0; j < count; ++j, ++y, first += width) {
        const bool is_inside = gantry__is_inside(y, height),
                   copies = first < 0 || first + rolls->span > rolls->readable;
        rolls->from[j] = !is_inside ? NULL : copies ? spare : rolls->first + first;
        if (!is_inside || !copies) continue;
        for (int64_t i = 0; i < rolls->span; ++i)
            *(volatile float *)(spare + i) = gantry__is_inside(rolls->start + i, width)
                                                 ? plane[y * width + rolls->start + i]
                                                 : 0;
        spare += GANTRY_ROLLS_SPAN;
    }
}

/* ---- sums ---- */

#define GANTRY_ROLLS_SUM(sum) gantry__planes_vector_t sum##_left = {0}, sum##_right = {0};
#define GANTRY_ROLLS_ADD(sum, weight) \
    {                                 \
        const float by = weight;      \
        sum##_left += left * by;      \
        sum##_right += right * by;    \
    }
#define GANTRY_ROLLS_MOVE(to, sum) \
    to##_left = sum##_left;        \
    to##_right = sum##_right;
/* Adds to sums a column of windows; is_odd is 0 or 1, and 0 by steps of 1. */
#define GANTRY_ROLLS_COLUMN(column, is_odd, ADD)                                          \
    {                                                                                     \
        const int at = column;                                                            \
        const float *const pixels = from + at - is_odd;                                   \
        gantry__planes_vector_t left = rolls_pixels(pixels, step_x, is_odd), right = {0}; \
        if (is_pair) right = rolls_pixels(pixels + beyond, step_x, is_odd);               \
        if (is_masked) left = rolls_masked(left, rolls->masks[at][0]);                    \
        if (is_masked && is_pair) right = rolls_masked(right, rolls->masks[at][1]);       \
        ADD                                                                               \
    }
#define GANTRY_ROLLS_ROW(COLUMNS)          \
    {                                      \
        const float *const from = *rows++; \
        if (from) {                        \
            COLUMNS                        \
        }                                  \
    }
#define GANTRY_ROLLS_3(A, B, C)  \
    GANTRY_ROLLS_COLUMN(0, 0, A) \
    if (step_x == 1)             \
    GANTRY_ROLLS_COLUMN(1, 0, B) else GANTRY_ROLLS_COLUMN(1, 1, B) GANTRY_ROLLS_COLUMN(2, 0, C)
/* For other processors GCC may warn that it ignores this. */
#if defined(__SSE2__) || defined(__aarch64__)
#define GANTRY_ROLLS_LOOP _Pragma("GCC unroll 1")
#else
#define GANTRY_ROLLS_LOOP
#endif
#define GANTRY_ROLLS_5(ADD)                                                                  \
    GANTRY_ROLLS_LOOP for (int column = 0; step_x == 1 && column < 5; ++column)              \
        GANTRY_ROLLS_COLUMN(column, 0, ADD)                                                  \
            GANTRY_ROLLS_LOOP for (int column = 0; step_x == 2 && column < 5; column += 2) { \
        GANTRY_ROLLS_COLUMN(column, 0, ADD)                                                  \
        if (column < 4) GANTRY_ROLLS_COLUMN(column + 1, 1, ADD)                              \
    }

/* Stores sum a of a row of places. What a vector has after its row is of the next ones. */
#define GANTRY_ROLLS_STORE(early)                                                 \
    if (i >= early) {                                                             \
        if (step_x == 2) {                                                        \
            a_left = GANTRY_PLANES_PICK(a_left, a_left, GANTRY_PLANES_PLACES);    \
            a_right = GANTRY_PLANES_PICK(a_right, a_right, GANTRY_PLANES_PLACES); \
        }                                                                         \
        *(gantry__planes_vector_t *)out = a_left;                                 \
        if (is_pair) *(gantry__planes_vector_t *)(out + apart) = a_right;         \
        out += pitch;                                                             \
    }
#define GANTRY_ROLLS_BEGIN                                                          \
    const float *const *rows = rolls->from;                                         \
    const int64_t count = rolls->rows, apart = rolls->apart, beyond = rolls->right, \
                  pitch = rolls->pitch;                                             \
    (void)apart, (void)beyond;

/* Sums rows of places of a plane. Sum a ends with this row of pixels, and the last letter begins
 * with it. Sums that begin before the first row of places, or end after the last one, are dropped.
 * By steps of 2, the row before the first one is passed, too. */
GANTRY_ROLLS_FN void rolls_down_3(const gantry__rolls_t *rolls, const float *w, float *out,
                                  int step_x, int step_y, bool is_pair, bool is_masked) {
    const float w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4], w5 = w[5], w6 = w[6],
                w7 = w[7], w8 = w[8];
    GANTRY_ROLLS_BEGIN
    GANTRY_ROLLS_SUM(a)
    GANTRY_ROLLS_SUM(b)
    for (int64_t i = 0; step_y == 1 && i < count + 2; ++i) {
        GANTRY_ROLLS_SUM(c)
        GANTRY_ROLLS_ROW(
            GANTRY_ROLLS_3(GANTRY_ROLLS_ADD(a, w6) GANTRY_ROLLS_ADD(b, w3) GANTRY_ROLLS_ADD(c, w0),
                           GANTRY_ROLLS_ADD(a, w7) GANTRY_ROLLS_ADD(b, w4) GANTRY_ROLLS_ADD(c, w1),
                           GANTRY_ROLLS_ADD(a, w8) GANTRY_ROLLS_ADD(b, w5) GANTRY_ROLLS_ADD(c, w2)))
        GANTRY_ROLLS_STORE(2)
        GANTRY_ROLLS_MOVE(a, b)
        GANTRY_ROLLS_MOVE(b, c)
    }
    for (int64_t i = 0; step_y == 2 && i < count + 1; ++i) {
        GANTRY_ROLLS_SUM(c)
        GANTRY_ROLLS_ROW(GANTRY_ROLLS_3(GANTRY_ROLLS_ADD(a, w3), GANTRY_ROLLS_ADD(a, w4),
                                        GANTRY_ROLLS_ADD(a, w5)))
        GANTRY_ROLLS_ROW(GANTRY_ROLLS_3(GANTRY_ROLLS_ADD(a, w6) GANTRY_ROLLS_ADD(c, w0),
                                        GANTRY_ROLLS_ADD(a, w7) GANTRY_ROLLS_ADD(c, w1),
                                        GANTRY_ROLLS_ADD(a, w8) GANTRY_ROLLS_ADD(c, w2)))
        GANTRY_ROLLS_STORE(1)
        GANTRY_ROLLS_MOVE(a, c)
    }
}

GANTRY_ROLLS_FN void rolls_down_5(const gantry__rolls_t *rolls, const float *w, float *out,
                                  int step_x, int step_y, bool is_pair, bool is_masked) {
    GANTRY_ROLLS_BEGIN
    GANTRY_ROLLS_SUM(a)
    GANTRY_ROLLS_SUM(b)
    GANTRY_ROLLS_SUM(c)
    GANTRY_ROLLS_SUM(d)
    for (int64_t i = 0; step_y == 1 && i < count + 4; ++i) {
        GANTRY_ROLLS_SUM(e)
        GANTRY_ROLLS_ROW(GANTRY_ROLLS_5(GANTRY_ROLLS_ADD(a, w[20 + at]) GANTRY_ROLLS_ADD(
            b, w[15 + at]) GANTRY_ROLLS_ADD(c, w[10 + at]) GANTRY_ROLLS_ADD(d, w[5 + at])
                                            GANTRY_ROLLS_ADD(e, w[at])))
        GANTRY_ROLLS_STORE(4)
        GANTRY_ROLLS_MOVE(a, b)
        GANTRY_ROLLS_MOVE(b, c)
        GANTRY_ROLLS_MOVE(c, d)
        GANTRY_ROLLS_MOVE(d, e)
    }
    for (int64_t i = 0; step_y == 2 && i < count + 2; ++i) {
        GANTRY_ROLLS_SUM(e)
        GANTRY_ROLLS_ROW(
            GANTRY_ROLLS_5(GANTRY_ROLLS_ADD(a, w[15 + at]) GANTRY_ROLLS_ADD(b, w[5 + at])))
        GANTRY_ROLLS_ROW(GANTRY_ROLLS_5(GANTRY_ROLLS_ADD(a, w[20 + at]) GANTRY_ROLLS_ADD(
            b, w[10 + at]) GANTRY_ROLLS_ADD(e, w[at])))
        GANTRY_ROLLS_STORE(2)
        GANTRY_ROLLS_MOVE(a, b)
        GANTRY_ROLLS_MOVE(b, e)
    }
}

typedef void (*gantry__rolls_fn)(const gantry__rolls_t *rolls, const float *weights, float *out);

#define GANTRY_DEFINE_ROLLS(name, SIZE, step_x, step_y, is_pair, is_masked)               \
    static void GANTRY_CPU_NAME(name)(const gantry__rolls_t *rolls, const float *weights, \
                                      float *out) {                                       \
        rolls_down_##SIZE(rolls, weights, out, step_x, step_y, is_pair, is_masked);       \
    }
#define GANTRY_DEFINE_ROLLS_OF(SIZE, step_x, step_y)                                           \
    GANTRY_DEFINE_ROLLS(rolls_##SIZE##_##step_x##_##step_y, SIZE, step_x, step_y, false, true) \
    GANTRY_DEFINE_ROLLS(rolls_pair_##SIZE##_##step_x##_##step_y, SIZE, step_x, step_y, true, true)
GANTRY_DEFINE_ROLLS_OF(3, 1, 1)
GANTRY_DEFINE_ROLLS_OF(3, 1, 2)
GANTRY_DEFINE_ROLLS_OF(3, 2, 1)
GANTRY_DEFINE_ROLLS_OF(3, 2, 2)
GANTRY_DEFINE_ROLLS_OF(5, 1, 1)
GANTRY_DEFINE_ROLLS_OF(5, 1, 2)
GANTRY_DEFINE_ROLLS_OF(5, 2, 2)
GANTRY_DEFINE_ROLLS(rolls_inner_3, 3, 1, 1, true, false)

#define GANTRY_ROLLS_PICK(name) \
    is_pair ? GANTRY_CPU_NAME(rolls_pair_##name) : GANTRY_CPU_NAME(rolls_##name)

static gantry__rolls_fn GANTRY_CPU_NAME(rolls_pick)(const gantry__windows_t *p, bool is_pair,
                                                    bool is_masked) {
    const bool is_once = p->step_y == 1;
    if (p->rows == 5) {
        if (p->step_x == 2) return GANTRY_ROLLS_PICK(5_2_2);
        return is_once ? GANTRY_ROLLS_PICK(5_1_1) : GANTRY_ROLLS_PICK(5_1_2);
    }
    if (p->step_x == 2) return is_once ? GANTRY_ROLLS_PICK(3_2_1) : GANTRY_ROLLS_PICK(3_2_2);
    if (!is_once) return GANTRY_ROLLS_PICK(3_1_2);
    return is_masked ? GANTRY_ROLLS_PICK(3_1_1) : GANTRY_CPU_NAME(rolls_inner_3);
}

/* Sums rows of a plane, which begin at out. If vectors would write beyond them, they are copied. */
static void GANTRY_CPU_NAME(rolls_sum)(gantry__rolls_t *rolls, gantry__rolls_fn sum,
                                       const float *weights, float *out, bool is_last) {
    const int64_t width = rolls->window->out_width, places = rolls->places;
    const bool copies = rolls->apart == 0 && (is_last || places < width);
    rolls->pitch = copies ? places : width;
    sum(rolls, weights, copies ? rolls->last : out);
    for (int64_t r = 0; copies && r < rolls->rows; ++r)
        memcpy(out + r * width, rolls->last + r * places, (size_t)places * sizeof *out);
}

/* Sums `rows` rows of `planes` planes from row `top` on, at the places of two vectors from place x
 * on. `number` is that of the first plane, of those of its channel. */
static void GANTRY_CPU_NAME(rolls_at)(gantry__rolls_t *rolls, int64_t x, int64_t planes,
                                      int64_t number, int64_t top, float *out) {
    const gantry__windows_t *p = rolls->window;
    const int64_t places = p->out_height * p->out_width;
    const float *plane = rolls->first, *weights = rolls->weights;
    rolls->apart =
        planes_most(planes_least(rolls->places - GANTRY_PLANES_SUMS, GANTRY_PLANES_SUMS), 0);
    rolls->right = rolls->apart * p->step_x;
    rolls->start = x * p->step_x - p->left;
    rolls->span = rolls->right + GANTRY_PLANES_SUMS * p->step_x + p->columns - 1;
    const bool is_pair = rolls->apart != 0,
               is_masked = !is_pair || rolls->start < 0 || rolls->start + rolls->span > p->width;
    const gantry__rolls_fn sum = GANTRY_CPU_NAME(rolls_pick)(p, is_pair, is_masked);
    GANTRY_CPU_NAME(rolls_mask)(rolls);
    for (int64_t k = 0; k < planes; ++k, weights += p->rows * p->columns) {
        GANTRY_CPU_NAME(rolls_rows)
        (rolls, plane, top * p->step_y - p->top - (p->step_y - 1),
         rolls->rows * p->step_y + p->rows - 1);
        GANTRY_CPU_NAME(rolls_sum)
        (rolls, sum, weights, out + x,
         rolls->rows < p->out_height || (planes - 1 - k) * places < GANTRY_PLANES_SUMS);
        out += places;
        number = number + 1 < p->depth ? number + 1 : 0;
        if (number == 0) plane += p->height * p->width;
    }
}

/* ---- planes ---- */

/* Gathers the weights of at most `planes` filters, of `all`. Returns how many have none that is not
 * finite before them. */
static int64_t GANTRY_CPU_NAME(rolls_gather)(const float *filter, int64_t all, int64_t taps,
                                             int64_t planes, float *weights) {
    int64_t k = 0;
    for (int64_t t = 0; t < taps; ++t, filter += all) {
        for (k = 0; k < planes; ++k) *(volatile float *)(weights + k * taps + t) = filter[k];
    }
    for (k = 0; k < planes; ++k, weights += taps) {
        float special = 0;
        for (int64_t t = 0; t < taps; ++t) special += weights[t] - weights[t];
        if (special != 0) break;
    }
    return k;
}

/* Paddings must be less than a window. With more, or with narrower images, more rows would have to
 * be copied than there is room for. */
static bool GANTRY_CPU_NAME(rolls_are_for)(const gantry__windows_t *p) {
    return (p->rows == 3 || p->rows == 5) && p->columns == p->rows && !gantry__has_gaps(p) &&
           p->step_x <= 2 && p->step_y <= 2 && (p->step_x <= p->step_y || p->rows == 3) &&
           p->width >= GANTRY_ROLLS_NARROWEST && p->width < GANTRY_ROLLS_WIDEST &&
           p->left < p->columns && (p->out_width - 1) * p->step_x - p->left < p->width;
}

/* Sums the planes of a band of the result, of `all` filters. Returns how many it summed: all before
 * one with a weight that is not finite, and none for other windows. */
__attribute__((noinline)) static int64_t GANTRY_CPU_NAME(rolls_depthwise)(
    const float *x, const float *filter, float *out, const gantry__windows_t *p,
    const gantry__band_t *band, int64_t all) {
    const int64_t taps = p->rows * p->columns, pixels = p->height * p->width,
                  fit = gantry__divide_position(GANTRY_ROLLS_PIXELS, p->width + 1),
                  most = planes_most(planes_least(fit, GANTRY_ROLLS_ROWS) / p->step_y,
                                     GANTRY_ROLLS_FEWEST);
    gantry__rolls_t rolls;
    int64_t done = 0;
    if (!GANTRY_CPU_NAME(rolls_are_for)(p)) return 0;
    rolls.window = p;
    rolls.places = band->end - band->first;
    filter += band->image - gantry__divide_position(band->image, all) * all;
    while (done < band->images) {
        const int64_t image = band->image + done, plane = gantry__divide_position(image, p->depth);
        const int64_t planes = GANTRY_CPU_NAME(rolls_gather)(
            filter + done, all, taps,
            planes_least(band->images - done, gantry__divide_position(GANTRY_ROLLS_WEIGHTS, taps)),
            rolls.weights);
        if (planes == 0) break;
        done += planes;
        rolls.first = x + plane * pixels;
        rolls.readable =
            (gantry__divide_position(image + planes - 1, p->depth) + 1 - plane) * pixels;
        for (int64_t top = band->top; top < band->bottom; top += most) {
            rolls.rows = planes_least(most, band->bottom - top);
            for (int64_t at = 0; at < rolls.places; at += 2 * GANTRY_PLANES_SUMS) {
                at = planes_most(planes_least(at, rolls.places - 2 * GANTRY_PLANES_SUMS), 0);
                GANTRY_CPU_NAME(rolls_at)
                (&rolls, band->first + at, planes, image - plane * p->depth, top,
                 out + (image * p->out_height + top) * p->out_width);
            }
        }
    }
    return done;
}
#endif

#endif
