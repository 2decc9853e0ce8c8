/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolutions of float32 images whose channels come first, on the CPU: each channel is a
 * plane, and a vector has neighbouring places of a row.
 *
 * The rows under some rows of places are copied into lines, with zeros for the padding. A line has
 * as many parts as a step has pixels, so that a column of the windows is contiguous for all places
 * of a row (window.cl shows it). The windows of GANTRY_PLANES_ROWS rows of places are then summed
 * together, because a vector of pixels is in the windows of several rows. Where 16 registers do not
 * have them, two vectors of places are summed row after row instead.
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

#include "kernels/window/window.cl"

#if defined(__AVX512F__)
#define GANTRY_PLANES_SUMS 16
#elif defined(__AVX__)
#define GANTRY_PLANES_SUMS 8
#else
#define GANTRY_PLANES_SUMS 4
#endif
#define GANTRY_PLANES_ROWS 7    /* common sizes of images are multiples of 7; at most 8 */
#define GANTRY_PLANES_ROOM 4096 /* the elements of all lines */
#define GANTRY_PLANES_MOST 16   /* columns of a window, parts of a line */
#define GANTRY_PLANES_TAPS 128

typedef float gantry__planes_vector_t
    __attribute__((vector_size(4 * GANTRY_PLANES_SUMS), aligned(4), may_alias));

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

typedef void (*gantry__planes_fn)(const gantry__planes_t *planes, const float *from, float *out,
                                  int64_t out_apart);

#define GANTRY_PLANES_CLEAR(n, a, b, c) \
    if (n < GANTRY_PLANES_ROWS) sums[n] = (gantry__planes_vector_t){0};
#define GANTRY_PLANES_STORE(n, a, b, c) \
    if (n < GANTRY_PLANES_ROWS) *(gantry__planes_vector_t *)(out + n * out_apart) = sums[n];

/* Rows of any windows. */
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

/* Windows of SIZE x SIZE neighbouring pixels: row j of the lines is in the windows of the rows n of
 * places that begin at most SIZE - 1 rows before it. A vector is read once, which volatile means
 * here, because most reads cross a cache line. */
#define GANTRY_PLANES_ADD(n, j, SIZE, STEP)                                 \
    if (n < GANTRY_PLANES_ROWS && j - n * STEP >= 0 && j - n * STEP < SIZE) \
        sums[n] += pixels * weights[((j - n * STEP) & 7) * SIZE + column];
#define GANTRY_PLANES_COLUMN(j, SIZE, STEP, number)                               \
    {                                                                             \
        const int column = number;                                                \
        const gantry__planes_vector_t pixels =                                    \
            *(const volatile gantry__planes_vector_t *)(from + j * planes->line + \
                                                        planes->offsets[column]); \
        GANTRY_EACH_PLACE(GANTRY_PLANES_ADD, j, SIZE, STEP)                       \
    }
/* all 9 weights stay in registers */
#define GANTRY_PLANES_ROW_3(j, SIZE, STEP)            \
    if (j < (GANTRY_PLANES_ROWS - 1) * STEP + SIZE) { \
        GANTRY_PLANES_COLUMN(j, SIZE, STEP, 0)        \
        GANTRY_PLANES_COLUMN(j, SIZE, STEP, 1)        \
        GANTRY_PLANES_COLUMN(j, SIZE, STEP, 2)        \
    }
/* a loop, because 25 weights do not */
#define GANTRY_PLANES_ROW_5(j, SIZE, STEP)                                          \
    for (int at = 0; j < (GANTRY_PLANES_ROWS - 1) * STEP + SIZE && at < SIZE; ++at) \
    GANTRY_PLANES_COLUMN(j, SIZE, STEP, at)
#define GANTRY_DEFINE_PLANES(name, SIZE, STEP)                                           \
    static void GANTRY_CPU_NAME(name)(const gantry__planes_t *planes, const float *from, \
                                      float *out, int64_t out_apart) {                   \
        const float *weights = planes->weights;                                          \
        gantry__planes_vector_t sums[8];                                                 \
        GANTRY_EACH_PLACE(GANTRY_PLANES_CLEAR, 0, 0, 0)                                  \
        GANTRY_EACH_PIXEL(GANTRY_PLANES_ROW_##SIZE, SIZE, STEP)                          \
        GANTRY_EACH_PLACE(GANTRY_PLANES_STORE, 0, 0, 0)                                  \
    }
GANTRY_DEFINE_PLANES(planes_3, 3, 1)
GANTRY_DEFINE_PLANES(planes_3_by_2, 3, 2)
GANTRY_DEFINE_PLANES(planes_5, 5, 1)
GANTRY_DEFINE_PLANES(planes_5_by_2, 5, 2)

static gantry__planes_fn GANTRY_CPU_NAME(planes_pick)(const gantry__windows_t *p) {
    if (p->rows != p->columns || p->spread_y != 1 || p->step_y > 2 ||
        (p->rows != 3 && p->rows != 5))
        return GANTRY_CPU_NAME(planes_any);
    if (p->rows == 3)
        return p->step_y == 1 ? GANTRY_CPU_NAME(planes_3) : GANTRY_CPU_NAME(planes_3_by_2);
    return p->step_y == 1 ? GANTRY_CPU_NAME(planes_5) : GANTRY_CPU_NAME(planes_5_by_2);
}

/* ---- sums of 16 registers ---- */

/* Sums two vectors of places in `rows` rows, which begin at out. */
typedef void (*gantry__planes_roll_fn)(const gantry__planes_t *planes, const float *from,
                                       float *out, int64_t rows);

#if defined(__AVX512F__)
static gantry__planes_roll_fn GANTRY_CPU_NAME(planes_pick_roll)(const gantry__windows_t *p) {
    (void)p;
    return NULL; /* the sums of GANTRY_PLANES_ROWS rows stay in registers */
}
#else
/* Row j of the lines is in the windows of SIZE rows of places, whose sums are in registers: a ends
 * with this row, and the last letter begins with it. Before row 0, and after the last one, sums
 * are dropped. */
#define GANTRY_PLANES_PAIR(sum) gantry__planes_vector_t sum##_left = {0}, sum##_right = {0};
#define GANTRY_PLANES_PIXELS(column)                                                               \
    const gantry__planes_vector_t left =                                                           \
                                      *(const gantry__planes_vector_t *)(from +                    \
                                                                         planes->offsets[column]), \
                                  right =                                                          \
                                      *(const gantry__planes_vector_t *)(from +                    \
                                                                         planes->offsets[column] + \
                                                                         GANTRY_PLANES_SUMS);
#define GANTRY_PLANES_TAP(sum, weight) \
    sum##_left += left * (weight);     \
    sum##_right += right * (weight);
#define GANTRY_PLANES_MOVE(to, sum) \
    to##_left = sum##_left;         \
    to##_right = sum##_right;
#define GANTRY_PLANES_END(SIZE)                                           \
    if (j >= SIZE - 1) {                                                  \
        *(gantry__planes_vector_t *)out = a_left;                         \
        *(gantry__planes_vector_t *)(out + GANTRY_PLANES_SUMS) = a_right; \
        out += planes->window->out_width;                                 \
    }                                                                     \
    from += planes->line;

static void GANTRY_CPU_NAME(planes_roll_3)(const gantry__planes_t *planes, const float *from,
                                           float *out, int64_t rows) {
    const float *w = planes->weights;
    const float w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4], w5 = w[5], w6 = w[6],
                w7 = w[7], w8 = w[8];
    GANTRY_PLANES_PAIR(a)
    GANTRY_PLANES_PAIR(b)
    for (int64_t j = 0; j < rows + 2; ++j) {
        GANTRY_PLANES_PAIR(c){GANTRY_PLANES_PIXELS(0) GANTRY_PLANES_TAP(a, w6)
                                  GANTRY_PLANES_TAP(b, w3) GANTRY_PLANES_TAP(c, w0)} {
            GANTRY_PLANES_PIXELS(1) GANTRY_PLANES_TAP(a, w7) GANTRY_PLANES_TAP(b, w4)
                GANTRY_PLANES_TAP(c, w1)} {GANTRY_PLANES_PIXELS(2) GANTRY_PLANES_TAP(
            a, w8) GANTRY_PLANES_TAP(b, w5) GANTRY_PLANES_TAP(c, w2)} GANTRY_PLANES_END(3)
            GANTRY_PLANES_MOVE(a, b) GANTRY_PLANES_MOVE(b, c)
    }
}

static void GANTRY_CPU_NAME(planes_roll_5)(const gantry__planes_t *planes, const float *from,
                                           float *out, int64_t rows) {
    const float *weights = planes->weights;
    GANTRY_PLANES_PAIR(a)
    GANTRY_PLANES_PAIR(b)
    GANTRY_PLANES_PAIR(c)
    GANTRY_PLANES_PAIR(d)
    for (int64_t j = 0; j < rows + 4; ++j) {
        GANTRY_PLANES_PAIR(e)
        for (int column = 0; column < 5; ++column) {
            GANTRY_PLANES_PIXELS(column)
            GANTRY_PLANES_TAP(a, weights[20 + column])
            GANTRY_PLANES_TAP(b, weights[15 + column])
            GANTRY_PLANES_TAP(c, weights[10 + column])
            GANTRY_PLANES_TAP(d, weights[5 + column])
            GANTRY_PLANES_TAP(e, weights[column])
        }
        GANTRY_PLANES_END(5)
        GANTRY_PLANES_MOVE(a, b)
        GANTRY_PLANES_MOVE(b, c)
        GANTRY_PLANES_MOVE(c, d)
        GANTRY_PLANES_MOVE(d, e)
    }
}

/* NULL: none sums these windows. */
static gantry__planes_roll_fn GANTRY_CPU_NAME(planes_pick_roll)(const gantry__windows_t *p) {
    if (p->rows != p->columns || p->spread_y != 1 || p->step_y != 1) return NULL;
    return p->rows == 3   ? GANTRY_CPU_NAME(planes_roll_3)
           : p->rows == 5 ? GANTRY_CPU_NAME(planes_roll_5)
                          : NULL;
}
#endif

/* ---- lines ---- */

static inline int64_t planes_least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t planes_most(int64_t a, int64_t b) { return a > b ? a : b; }

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
    for (; i < count; ++i) to[i] = from[i];
}

/* Takes elements of two vectors by number. GCC before 12 has a name of its own for it. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 12
typedef int32_t gantry__planes_numbers_t __attribute__((vector_size(4 * GANTRY_PLANES_SUMS)));
#define GANTRY_PLANES_PICK(a, b, ...) \
    __builtin_shuffle(a, b, (gantry__planes_numbers_t){__VA_ARGS__})
#else
#define GANTRY_PLANES_PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif
#if GANTRY_PLANES_SUMS == 16
#define GANTRY_PLANES_EVERY_SECOND(a, b, n)                                                 \
    GANTRY_PLANES_PICK(a, b, n, n + 2, n + 4, n + 6, n + 8, n + 10, n + 12, n + 14, n + 16, \
                       n + 18, n + 20, n + 22, n + 24, n + 26, n + 28, n + 30)
#elif GANTRY_PLANES_SUMS == 8
#define GANTRY_PLANES_EVERY_SECOND(a, b, n) \
    GANTRY_PLANES_PICK(a, b, n, n + 2, n + 4, n + 6, n + 8, n + 10, n + 12, n + 14)
#else
#define GANTRY_PLANES_EVERY_SECOND(a, b, n) GANTRY_PLANES_PICK(a, b, n, n + 2, n + 4, n + 6)
#endif

/* Splits a vector of pairs. */
static inline void planes_split_vector(const float *from, float *even, float *odd) {
    const gantry__planes_vector_t a = *(const gantry__planes_vector_t *)from,
                                  b = *(const gantry__planes_vector_t *)(from + GANTRY_PLANES_SUMS);
    *(gantry__planes_vector_t *)even = GANTRY_PLANES_EVERY_SECOND(a, b, 0);
    *(gantry__planes_vector_t *)odd = GANTRY_PLANES_EVERY_SECOND(a, b, 1);
}

/* Splits pairs of neighbouring elements. The last vectors overlap those before them. Fewer than a
 * vector may become a vector each, the odd ones last, if that does not read beyond `stop`. */
static inline void planes_split(const float *from, const float *stop, float *even, float *odd,
                                int64_t count) {
    int64_t i = 0;
    if (count > 0 && count < GANTRY_PLANES_SUMS && stop - from >= 2 * GANTRY_PLANES_SUMS) {
        planes_split_vector(from, even, odd);
        return;
    }
    for (; count >= GANTRY_PLANES_SUMS && i < count; i += GANTRY_PLANES_SUMS) {
        i = planes_least(i, count - GANTRY_PLANES_SUMS);
        planes_split_vector(from + 2 * i, even + i, odd + i);
    }
    for (; i < count; ++i) {
        even[i] = from[2 * i];
        odd[i] = from[2 * i + 1];
    }
}

/* Splits the pairs of two parts. Reports which they are. */
static inline gantry__reach_t planes_pairs(const gantry__planes_t *planes, const float *from,
                                           const float *stop, float *line) {
    const gantry__reach_t *inside = planes->inside;
    gantry__reach_t pairs;
    pairs.first = planes_most(inside[0].first, inside[1].first);
    pairs.end = planes_most(planes_least(inside[0].end, inside[1].end), pairs.first);
    planes_split(from + 2 * pairs.first, stop, line + pairs.first,
                 line + planes->length + pairs.first, pairs.end - pairs.first);
    return pairs;
}

/* Copies the pixels of parts whose pixels are apart, without the pairs. */
static void GANTRY_CPU_NAME(planes_parts)(const gantry__planes_t *planes, const float *from,
                                          gantry__reach_t pairs, float *line) {
    const int64_t step = planes->window->step_x;
    const gantry__reach_t *inside = planes->inside;
    for (int64_t k = 0; k < planes->parts; ++k, ++from, line += planes->length) {
        for (int64_t i = inside[k].first; i < inside[k].end; ++i) {
            if (i == pairs.first && pairs.end > i) i = pairs.end;
            if (i < inside[k].end) line[i] = from[step * i];
        }
    }
}

/* Writes zeros between two parts, and nothing more. Volatile: a call would cost more than the few
 * that there are. */
static inline void planes_clear_between(float *line, int64_t begin, int64_t end) {
    for (; begin < end; ++begin) *(volatile float *)(line + begin) = 0;
}

/* Makes the line of a row of the image, which ends before `stop`, and the zeros before the pixels
 * of the next line. The elements after those may be overwritten. */
static void GANTRY_CPU_NAME(planes_line)(const gantry__planes_t *planes, const float *row,
                                         const float *stop, float *line) {
    const gantry__windows_t *p = planes->window;
    const gantry__reach_t *inside = planes->inside;
    const float *from = row + planes->first * p->step_x - p->left;
    const bool splits = planes->parts == 2 && p->step_x == 2;
    gantry__reach_t pairs = {0, 0};
    if (planes->parts == 1 && p->step_x == 1)
        planes_copy(from + inside->first, stop, line + inside->first, inside->end - inside->first);
    if (splits) {
        pairs = planes_pairs(planes, from, stop, line);
        planes_clear_between(line, inside[0].end, planes->length + inside[1].first);
    }
    for (int64_t k = splits ? 1 : 0; k < planes->parts; ++k) {
        const int64_t next = inside[k + 1 < planes->parts ? k + 1 : 0].first;
        planes_clear(line + k * planes->length, inside[k].end, planes->length + next);
    }
    if (p->step_x != 1) GANTRY_CPU_NAME(planes_parts)(planes, from, pairs, line);
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
static void GANTRY_CPU_NAME(planes_sum)(const gantry__planes_t *planes, gantry__planes_fn sum,
                                        const float *lines, int64_t rows, float *out) {
    const int64_t width = planes->window->out_width, places = planes->places;
    const gantry__planes_roll_fn roll = GANTRY_CPU_NAME(planes_pick_roll)(planes->window);
    for (int64_t x = 0; roll && places >= 2 * GANTRY_PLANES_SUMS && x < places;
         x += 2 * GANTRY_PLANES_SUMS) {
        x = planes_least(x, places - 2 * GANTRY_PLANES_SUMS);
        roll(planes, lines + x, out + x, rows);
    }
    for (int64_t y = roll && places >= 2 * GANTRY_PLANES_SUMS ? rows : 0; y < rows;
         y += GANTRY_PLANES_ROWS) {
        y = planes_most(planes_least(y, rows - GANTRY_PLANES_ROWS), 0);
        for (int64_t x = 0; x < places; x += GANTRY_PLANES_SUMS) {
            x = planes_most(planes_least(x, places - GANTRY_PLANES_SUMS), 0);
            const float *from = lines + y * planes->down + x;
            float *to = out + y * width + x;
            if (rows >= GANTRY_PLANES_ROWS && places >= GANTRY_PLANES_SUMS) {
                sum(planes, from, to, width);
            } else {
                float some[GANTRY_PLANES_ROWS * GANTRY_PLANES_SUMS];
                sum(planes, from, some, GANTRY_PLANES_SUMS);
                GANTRY_CPU_NAME(planes_store)
                (planes, some, planes_least(rows, GANTRY_PLANES_ROWS), to);
            }
        }
    }
}

/* Rows [top, bottom) of the places [first, first + places) of plane number `image` of the result,
 * of `all` filters. Returns false, without a result, if a weight is not finite or the lines do not
 * fit. Its lines must not be a part of its caller's frame. */
__attribute__((noinline)) static bool GANTRY_CPU_NAME(planes_depthwise)(
    const float *x, const float *filter, float *out, const gantry__windows_t *p, int64_t image,
    int64_t first, int64_t places, int64_t top, int64_t bottom, int64_t all) {
    const gantry__planes_fn sum = GANTRY_CPU_NAME(planes_pick)(p);
    const int64_t more = (p->rows - 1) * p->spread_y + 1;
    gantry__planes_t planes; /* zeros would cost as much as a small plane */
    float lines[GANTRY_PLANES_ROOM + GANTRY_PLANES_SUMS];
    planes.first = first;
    planes.places = places;
    if (!GANTRY_CPU_NAME(planes_set)(p, filter, image - gantry__divide_position(image, all) * all,
                                     all, &planes))
        return false;
    x += gantry__divide_position(image, p->depth) * p->height * p->width;
    int64_t together = gantry__divide_position(planes.lines - more, p->step_y) + 1;
    together -= together % GANTRY_PLANES_ROWS;
    for (int64_t y = top; y < bottom; y += together) {
        const int64_t rows = planes_least(together, bottom - y),
                      count = (planes_most(rows, GANTRY_PLANES_ROWS) - 1) * p->step_y + more;
        GANTRY_CPU_NAME(planes_lines)(&planes, x, y * p->step_y - p->top, count, lines);
        GANTRY_CPU_NAME(planes_sum)
        (&planes, sum, lines, rows, out + (image * p->out_height + y) * p->out_width + first);
    }
    return true;
}

#endif
