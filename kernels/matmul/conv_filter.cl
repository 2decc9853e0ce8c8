/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of a convolution's filter without storing the patches, for processors: C and
 * OpenCL C. The product
 *
 *     the patches, transposed [rows * columns * channels, places]
 *     x the gradient of the result [places, outputs]
 *
 * A's panels are elements of the window, some of them neighbours. Where these are neighbours in the
 * images, too, they are read from there: one line for each place. Panels of several runs, and
 * places at borders, are packed. An element of a window outside the image adds nothing.
 *
 * The sum runs over all places and the product is small, so the places are cut into chunks, whose
 * products are added up in their order:
 *
 *                       chunk 0      chunk 1            a unit of work is a tile of the
 *     tile 0 of A     [ places   |   places   ]         filter's elements in one chunk; it
 *     tile 1 of A     [          |            ]         packs the result's gradient itself
 *
 * The number of chunks depends only on the shapes, and so do the bits of the result.
 *
 * The text must come after window.cl. Whoever includes it must define, for each element type:
 *   GANTRY_FILTER_T, GANTRY_FILTER_SPACE   the type, and OpenCL's address space of memory
 *   GANTRY_FILTER_NAME(name)               the name of a function or type of that element type
 *   GANTRY_FILTER_PACK(q, grad, columns, places, to)
 *       packs `columns` columns of `places` rows of the gradient into panels of q->panel_columns
 *   GANTRY_FILTER_MULTIPLY(q, a, a_step, b, b_panel, places, c, rows, columns)
 *       c += a panel of A, a_step elements from place to place, times panels of B, b_panel
 *       elements from one to the next. It may read q->panel_rows rows of A. */
#ifndef GANTRY_CONV_FILTER_CL
#define GANTRY_CONV_FILTER_CL

#define GANTRY_FILTER_PANELS 8    /* panels of A in a tile */
#define GANTRY_FILTER_COLUMNS 128 /* outputs whose panels a unit packs at once */
#define GANTRY_FILTER_PLACES 256  /* places at once */
#define GANTRY_FILTER_ROWS 16     /* most rows of a panel of A */

typedef struct gantry__filter_t {
    gantry__windows_t window;
    GANTRY_LONG m, n, k;                   /* elements of the window, outputs, places */
    GANTRY_LONG elements;                  /* elements of all images */
    GANTRY_LONG panel_rows, panel_columns; /* rows of a panel of A, columns of one of B */
    GANTRY_LONG tiles, chunks, places;     /* a chunk has `places` places */
    /* a lane computes neighbouring units, one after the other, in its `lane_elements` of memory */
    GANTRY_LONG lanes, lane_elements;
} gantry__filter_t;

/* Elements of a window that are neighbours in the images, in one row of the window. */
typedef struct gantry__filter_run_t {
    GANTRY_LONG row, first, last; /* the first and the last column of the window */
    GANTRY_LONG channel;          /* the first element's */
    GANTRY_LONG offset;           /* from the beginning of the window */
    GANTRY_LONG count;
} gantry__filter_run_t;

GANTRY_FN GANTRY_LONG gantry__filter_least(GANTRY_LONG a, GANTRY_LONG b) { return a < b ? a : b; }

/* Writes the runs of elements [first, first + count). Returns their number. */
GANTRY_FN int gantry__find_filter_runs(const gantry__windows_t *w, GANTRY_LONG first,
                                       GANTRY_LONG count, gantry__filter_run_t *runs) {
    const GANTRY_LONG together = w->spread_x == 1 ? w->columns : 1, line = together * w->channels;
    int found = 0;

    for (GANTRY_LONG done = 0; done < count; ++found) {
        const GANTRY_LONG at = first + done, pixel = gantry__divide_position(at, w->channels),
                          behind = gantry__divide_position(at, line);
        const GANTRY_LONG length = gantry__filter_least((behind + 1) * line - at, count - done);
        const GANTRY_LONG last = gantry__divide_position(at + length - 1, w->channels);
        gantry__filter_run_t *run = runs + found;

        run->row = gantry__divide_position(pixel, w->columns);
        run->first = pixel - run->row * w->columns;
        run->last = last - run->row * w->columns;
        run->channel = at - pixel * w->channels;
        run->count = length;
        run->offset = (run->row * w->spread_y * w->width + run->first * w->spread_x) * w->channels +
                      run->channel;
        done += length;
    }
    return found;
}

/* Places in one row of the output, from x on: the line they are in, counted over all images, and
 * the beginning of the window of the row's place 0. */
typedef struct gantry__filter_line_t {
    GANTRY_LONG line, image, top;
} gantry__filter_line_t;

GANTRY_FN void gantry__find_filter_line(const gantry__windows_t *w, GANTRY_LONG line,
                                        gantry__filter_line_t *out) {
    out->line = line;
    out->image = gantry__divide_position(line, w->out_height);
    out->top = (line - out->image * w->out_height) * w->step_y - w->top;
}

#endif

/* ---- for each element type ---- */

#if defined(GANTRY_FILTER_T)

#define FILTER_T GANTRY_FILTER_T
#define FILTER_SPACE GANTRY_FILTER_SPACE
#define FILTER_NAME GANTRY_FILTER_NAME

/* One panel of A, and the packed gradients of `count` places from `place` on. */
typedef struct FILTER_NAME(filter_panel_t) {
    FILTER_SPACE const FILTER_T *images;
    gantry__filter_run_t runs[GANTRY_FILTER_ROWS];
    int run_count;
    GANTRY_LONG rows; /* the panel's */
    GANTRY_LONG place, count;
    FILTER_SPACE const FILTER_T *b;
    GANTRY_LONG columns;
    FILTER_SPACE FILTER_T *c;
    FILTER_SPACE FILTER_T *packed; /* a panel of A */
} FILTER_NAME(filter_panel_t);

/* Packs the run's elements at one place, whose window begins at `start` in the images and at column
 * `left`; elements outside are zeros. */
GANTRY_FN void FILTER_NAME(pack_filter_place)(const gantry__windows_t *w,
                                              const gantry__filter_run_t *run,
                                              FILTER_SPACE const FILTER_T *images,
                                              GANTRY_LONG start, GANTRY_LONG left,
                                              FILTER_SPACE FILTER_T *to) {
    const GANTRY_LONG from = start + run->offset;

    if (left + run->first * w->spread_x >= 0 && left + run->last * w->spread_x < w->width) {
        for (GANTRY_LONG i = 0; i < run->count; ++i) {
            to[i] = images[from + i];
        }
        return;
    }
    for (GANTRY_LONG i = 0; i < run->count; ++i) {
        const GANTRY_LONG column =
            run->first + gantry__divide_position(run->channel + i, w->channels);

        to[i] = gantry__is_inside(left + column * w->spread_x, w->width) ? images[from + i]
                                                                         : (FILTER_T)0;
    }
}

GANTRY_FN void FILTER_NAME(multiply_filter_places)(const gantry__filter_t *q,
                                                   const FILTER_NAME(filter_panel_t) * panel,
                                                   FILTER_SPACE const FILTER_T *a,
                                                   GANTRY_LONG a_step, GANTRY_LONG place,
                                                   GANTRY_LONG count) {
    GANTRY_FILTER_MULTIPLY(q, a, a_step, panel->b + (place - panel->place) * q->panel_columns,
                           panel->count * q->panel_columns, count, panel->c, panel->rows,
                           panel->columns);
}

/* Adds places [x, end) of a line, whose elements it packs first. */
GANTRY_SHARED_FN void FILTER_NAME(sum_filter_packed)(const gantry__filter_t *q,
                                                     const FILTER_NAME(filter_panel_t) * panel,
                                                     const gantry__filter_line_t *at, GANTRY_LONG x,
                                                     GANTRY_LONG end) {
    const gantry__windows_t *w = &q->window;

    for (GANTRY_LONG k = x; k < end; ++k) {
        const GANTRY_LONG left = k * w->step_x - w->left,
                          start =
                              ((at->image * w->height + at->top) * w->width + left) * w->channels;
        FILTER_SPACE FILTER_T *to = panel->packed + (k - x) * q->panel_rows,
                              *line_end = to + q->panel_rows;

        for (const gantry__filter_run_t *run = panel->runs; run < panel->runs + panel->run_count;
             ++run) {
            if (gantry__is_inside(at->top + run->row * w->spread_y, w->height)) {
                FILTER_NAME(pack_filter_place)(w, run, panel->images, start, left, to);
            } else {
                for (GANTRY_LONG i = 0; i < run->count; ++i) {
                    to[i] = 0;
                }
            }
            to += run->count;
        }
        while (to < line_end) {
            *to++ = 0;
        }
    }
    if (x < end) {
        FILTER_NAME(multiply_filter_places)
        (q, panel, panel->packed, q->panel_rows, at->line * w->out_width + x, end - x);
    }
}

/* The same for a panel of one run, read from the images as far as all its columns are inside. The
 * product reads whole panels, which must not reach beyond the images' end. */
GANTRY_FN void FILTER_NAME(sum_filter_inside)(const gantry__filter_t *q,
                                              const FILTER_NAME(filter_panel_t) * panel,
                                              const gantry__filter_line_t *at, GANTRY_LONG x,
                                              GANTRY_LONG end) {
    const gantry__windows_t *w = &q->window;
    const gantry__filter_run_t *run = panel->runs;
    const GANTRY_LONG step = w->step_x * w->channels;
    gantry__reach_t from, to;

    if (!gantry__is_inside(at->top + run->row * w->spread_y, w->height)) {
        return;
    }
    gantry__find_reach(run->first * w->spread_x - w->left, w->step_x, end, w->width, &from);
    gantry__find_reach(run->last * w->spread_x - w->left, w->step_x, end, w->width, &to);
    const GANTRY_LONG first = from.first < x ? x : gantry__filter_least(from.first, end),
                      last = to.end < first ? first : to.end;
    const GANTRY_LONG begin =
        ((at->image * w->height + at->top) * w->width + first * w->step_x - w->left) * w->channels +
        run->offset;
    const GANTRY_LONG room = q->elements - q->panel_rows - begin,
                      whole = room < 0 ? first
                                       : gantry__filter_least(
                                             last, first + gantry__divide_position(room, step) + 1);

    if (whole > first) {
        FILTER_NAME(multiply_filter_places)
        (q, panel, panel->images + begin, step, at->line * w->out_width + first, whole - first);
    }
    FILTER_NAME(sum_filter_packed)(q, panel, at, whole, last);
    if (run->first != run->last) {
        FILTER_NAME(sum_filter_packed)(q, panel, at, x, first);
        FILTER_NAME(sum_filter_packed)(q, panel, at, last, end);
    }
}

GANTRY_FN void FILTER_NAME(sum_filter_panel)(const gantry__filter_t *q,
                                             const FILTER_NAME(filter_panel_t) * panel) {
    const GANTRY_LONG width = q->window.out_width, last = panel->place + panel->count;

    for (GANTRY_LONG k = panel->place, some; k < last; k += some) {
        const GANTRY_LONG line = gantry__divide_position(k, width), x = k - line * width;
        gantry__filter_line_t at;

        gantry__find_filter_line(&q->window, line, &at);
        some = gantry__filter_least(width - x, last - k);
        if (panel->run_count == 1) {
            FILTER_NAME(sum_filter_inside)(q, panel, &at, x, x + some);
        } else {
            FILTER_NAME(sum_filter_packed)(q, panel, &at, x, x + some);
        }
    }
}

/* Sums a tile of the filter's elements over one chunk. parts is [chunks, m, n], or with one chunk
 * the result. `memory` must be the lane's own. */
GANTRY_FN void FILTER_NAME(sum_filter_unit)(const gantry__filter_t *q,
                                            FILTER_SPACE const FILTER_T *images,
                                            FILTER_SPACE const FILTER_T *grad,
                                            FILTER_SPACE FILTER_T *parts, GANTRY_LONG unit,
                                            FILTER_SPACE FILTER_T *memory) {
    const GANTRY_LONG chunk = gantry__divide_position(unit, q->tiles),
                      tile = GANTRY_FILTER_PANELS * q->panel_rows,
                      first = (unit - chunk * q->tiles) * tile,
                      end = gantry__filter_least(first + tile, q->m);
    const GANTRY_LONG begin = chunk * q->places,
                      stop = gantry__filter_least(begin + q->places, q->k);
    FILTER_SPACE FILTER_T *c = parts + chunk * q->m * q->n,
                          *packed_b = memory + q->panel_rows * GANTRY_FILTER_PLACES;
    FILTER_NAME(filter_panel_t) panel;

    panel.images = images;
    panel.packed = memory;
    for (GANTRY_LONG i = first * q->n; i < end * q->n; ++i) {
        c[i] = 0;
    }
    for (panel.place = begin; panel.place < stop; panel.place += panel.count) {
        panel.count = gantry__filter_least(GANTRY_FILTER_PLACES, stop - panel.place);
        for (GANTRY_LONG j = 0; j < q->n; j += GANTRY_FILTER_COLUMNS) {
            FILTER_SPACE const FILTER_T *b = grad + panel.place * q->n + j;

            panel.columns = gantry__filter_least(GANTRY_FILTER_COLUMNS, q->n - j);
            panel.b = packed_b;
            if (q->n == q->panel_columns) { /* then the rows of B are a packed panel */
                panel.b = b;
            } else {
                GANTRY_FILTER_PACK(q, b, panel.columns, panel.count, packed_b);
            }
            for (GANTRY_LONG row = first; row < end; row += q->panel_rows) {
                panel.rows = gantry__filter_least(q->panel_rows, end - row);
                panel.run_count = gantry__find_filter_runs(&q->window, row, panel.rows, panel.runs);
                panel.c = c + row * q->n + j;
                FILTER_NAME(sum_filter_panel)(q, &panel);
            }
        }
    }
}

/* Adds up elements [begin, end) of the result from all chunks, in the chunks' order. */
GANTRY_FN void FILTER_NAME(add_filter_chunks)(const gantry__filter_t *q,
                                              FILTER_SPACE const FILTER_T *parts,
                                              FILTER_SPACE FILTER_T *out, GANTRY_LONG begin,
                                              GANTRY_LONG end) {
    for (GANTRY_LONG i = begin; i < end; ++i) {
        FILTER_T sum = parts[i];

        for (GANTRY_LONG chunk = 1; chunk < q->chunks; ++chunk) {
            sum += parts[chunk * q->m * q->n + i];
        }
        out[i] = sum;
    }
}

#undef FILTER_T
#undef FILTER_SPACE
#undef FILTER_NAME

#endif
