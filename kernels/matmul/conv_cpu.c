/* SPDX-License-Identifier: Apache-2.0 */
/* ConvolveImages and _FusedConvolveImages of the CPU backend, float32 and float64: the product
 *
 *     patches [batch * out_height * out_width, rows * columns * channels]
 *     x filter [rows * columns * channels, outputs]
 *
 * without storing the patches (kernels/window/window_lines.cl). The filter is packed once in a
 * call, or once for all calls if it is a constant, and the threads share the panels of places, or
 * units of them if the filter is large.
 * Every element is summed over k in a fixed order: one term after the other, or in several chains
 * if there are few outputs. */
#include <string.h>

#include "kernels/matmul/matmul_cpu_epilogue.h"
#include "kernels/matmul/matmul_cpu.h"
#include "kernels/common/cpu_interleave.h"
#include "kernels/common/cpu_prefetch.h"
#include "host/try.h"
#include "kernels/common/cpu_form.h"
#include "kernels/matmul/matmul_shape.h"

#define WORTH_A_THREAD (INT64_C(1) << 18) /* so many multiplications pay for a thread */
#define EPILOGUE_ELEMENTS 4096            /* a program runs over so many at once: a few panels */

typedef struct conv_t {
    const gantry__windows_t *window;
    const gantry__cpu_gemm_loops_t *loops;
    gantry__cpu_gemm_t gemm; /* all but A */
    const void *images;
    char *packed; /* the filter: panels of all k, or the rows of multiply_few */
    bool is_few;  /* multiply_few computes it */
    int64_t size; /* bytes of an element */
    bool without_padding;
    /* A panel has places of one group of so many: all places, or those of an image, so that its
     * sums do not depend on its neighbours'. */
    int64_t group;
    /* The number of places that are computed as one, whose window covers theirs; 1: each by itself.
     * own and own_filter are the window and the filter of one place. */
    int64_t together;
    const gantry__windows_t *own;
    const void *own_filter;
    void *planes;   /* the result with its channels first; NULL: it is C */
    bool is_shared; /* all panels of inner places have the same pieces: one sum, not in parts */
    /* of units: the images with their padding, and the elements from row to row and from image to
     * image */
    const void *padded;
    bool is_padded; /* false: the images need none, and are used themselves */
    int64_t row_pitch, image_pitch;
    int64_t unit_panels, unit_columns; /* a unit's panels of places, and columns of the filter */
} conv_t;

/* Packs panels [begin, end) of the filter. */
static void pack_filter(void *context, int64_t begin, int64_t end) {
    const conv_t *conv = context;
    const int64_t columns = conv->loops->columns, first = begin * columns;
    conv->loops->pack_b(&conv->gemm, first, gantry__least(conv->gemm.n, end * columns) - first, 0,
                        conv->gemm.k, conv->packed + first * conv->gemm.k * conv->size);
}

static void pack_few(const conv_t *conv, int64_t rows) {
    const int64_t size = conv->size, n = conv->gemm.n, depth = conv->gemm.k;
    memset(conv->packed, 0, (size_t)(rows * depth * size));
    for (int64_t j = 0; j < n; ++j) {
        for (int64_t k = 0; k < depth; ++k) {
            memcpy(conv->packed + (j * depth + k) * size,
                   (const char *)conv->gemm.b + (k * n + j) * size, (size_t)size);
        }
    }
}

/* Prefetches the elements that the next panel reads and this one does not. The hardware prefetcher
 * starts too late on such short lines. The addresses may be after the images' end, because a
 * prefetch never faults. */
static void prefetch_panel(const conv_t *conv, const gantry__panel_t *panel) {
    const gantry__windows_t *w = conv->window;
    const int64_t bytes = panel->places * w->step_x * w->channels * conv->size;
    const int64_t end = panel->start + ((panel->places - 1) * w->step_x + w->columns) * w->channels;
    for (int64_t r = 0; panel->is_inside && r < w->rows; ++r) {
        gantry__cpu_prefetch(
            (uintptr_t)conv->images +
                (uintptr_t)((end + r * w->spread_y * w->width * w->channels) * conv->size),
            (uint64_t)bytes);
    }
}

/* The first place of panel number `panel`; for the number of panels, the number of places. */
static int64_t first_place(const conv_t *conv, int64_t panel) {
    const int64_t rows = conv->loops->rows, each = (conv->group + rows - 1) / rows;
    return panel / each * conv->group + panel % each * rows;
}

/* The end of the panel that begins with place `first`. */
static int64_t panel_end(const conv_t *conv, int64_t first) {
    return gantry__least((first / conv->group + 1) * conv->group, first + conv->loops->rows);
}

/* Computes the panel's part of C from the place `first` on, or its chains if there are few
 * outputs. The pieces must be those of the sum from its element `k` on. Their lines are offsets
 * from images. */
static void multiply_panel(const conv_t *conv, const void *images,
                           const gantry__lines_piece_t *pieces, int64_t count, int64_t k,
                           int64_t first, void *chains) {
    const gantry__cpu_gemm_t *gemm = &conv->gemm;
    const int64_t columns = conv->loops->columns, rows = panel_end(conv, first) - first;
    char *c = (char *)gemm->c + first * gemm->n * conv->size;
    if (conv->is_few) {
        conv->loops->multiply_few(images, pieces, count, conv->packed + k * conv->size, gemm->k,
                                  chains, rows, k > 0);
    } else {
        conv->loops->multiply_lines(images, pieces, count, conv->packed + k * columns * conv->size,
                                    gemm->k * columns, c, gemm->n, rows, gemm->n, k > 0);
    }
}

static void conv_cpu_clear(char *begin, const char *end) {
    if (end > begin) /* rarely */
        memset(begin, 0, (size_t)(end - begin));
}

/* Copies the strips of `rows` window rows from `first` on. */
static void fill_strips(const conv_t *conv, const gantry__panel_t *panel, int64_t first,
                        int64_t rows, char *strips) {
    const int64_t size = conv->size;
    gantry__strip_part_t part;
    for (int64_t i = 0; i < panel->places;) {
        i = gantry__find_strip_part(conv->window, panel, i, &part);
        for (int64_t r = 0; r < rows; ++r) {
            char *strip = strips + r * panel->strip * size, *to = strip + part.to * size,
                 *end = strip + part.end * size;
            if (gantry__has_elements(conv->window, &part, first + r)) {
                const int64_t from = part.from + (first + r) * part.row;
                conv_cpu_clear(to, to + part.zeros * size);
                to += part.zeros * size;
                memcpy(to, (const char *)conv->images + from * size, (size_t)(part.count * size));
                to += part.count * size;
            }
            conv_cpu_clear(to, end);
        }
    }
}

static void convolve_strips(const conv_t *conv, const gantry__panel_t *panel,
                            gantry__lines_piece_t *pieces, int64_t place, void *chains) {
    const gantry__windows_t *w = conv->window;
    const int64_t at_once = gantry__strips_at_once(panel);
    _Alignas(double) char strips[GANTRY_PANEL_STRIPS * sizeof(double)];
    for (int64_t r = 0, rows; r < w->rows; r += rows) {
        rows = gantry__least(w->rows - r, at_once);
        fill_strips(conv, panel, r, rows, strips);
        gantry__find_strip_pieces(w, panel, rows, pieces);
        multiply_panel(conv, strips, pieces, rows, r * w->columns * w->channels, place, chains);
    }
}

static void convolve_pieces(const conv_t *conv, const gantry__panel_t *panel,
                            gantry__lines_piece_t *pieces, int64_t place, void *chains) {
    for (int64_t k = 0; k < conv->gemm.k;) {
        const int64_t start = k,
                      count = gantry__find_pieces(conv->window, panel, conv->gemm.k, &k, pieces);
        multiply_panel(conv, conv->images, pieces, count, start, place, chains);
    }
}

/* ---- without padding ---- */

GANTRY_DEFINE_SUM_AGAIN(float, , sum_again_float)
GANTRY_DEFINE_SUM_AGAIN(double, , sum_again_double)

static void leave_padding_out(const conv_t *conv, int64_t first, int64_t column, int64_t columns) {
    const gantry__cpu_gemm_t *gemm = &conv->gemm;
    const int64_t each = conv->together, n = gemm->n / each, end = panel_end(conv, first),
                  at = column * conv->size;
    const void *filter = (const char *)conv->own_filter + at;
    void *c = (char *)gemm->c + at;
    if (conv->size == sizeof(float)) {
        sum_again_float(conv->own, conv->images, filter, c, n, columns, first * each, end * each);
    } else {
        sum_again_double(conv->own, conv->images, filter, c, n, columns, first * each, end * each);
    }
}

#define ELEMENT_BYTES 4
#include "kernels/common/cpu_lanes.h"
#include "kernels/common/cpu_square.h"
#define ELEMENT_BYTES 8
#include "kernels/common/cpu_lanes.h"
#include "kernels/common/cpu_square.h"

/* Moves `columns` of places [first, end) of C to the planes of their images. */
static void give_planes(const conv_t *conv, int64_t first, int64_t end, int64_t column,
                        int64_t columns) {
    const int64_t n = conv->gemm.n / conv->together,
                  area = conv->own->out_height * conv->own->out_width;
    for (int64_t next; first < end; first = next) {
        const int64_t image = first / area, to = (image * n + column) * area + first % area;
        next = gantry__least(end, (image + 1) * area);
        const char *from = (const char *)conv->gemm.c + (first * n + column) * conv->size;
        char *planes = (char *)conv->planes + to * conv->size;
        if (conv->size == sizeof(uint32_t)) {
            cpu_tile_4((const void *)from, n, (void *)planes, area, next - first, columns);
        } else {
            cpu_tile_8((const void *)from, n, (void *)planes, area, next - first, columns);
        }
    }
}

/* Runs the epilogue over the places from *done on to `end`, and moves them to planes, if they are
 * many, or if is_all. */
static void finish_places(const conv_t *conv, int64_t *done, int64_t end, bool is_all) {
    const int64_t each = conv->together, n = conv->gemm.n / each, first = *done * each,
                  places = (end - *done) * each;
    if ((!conv->gemm.epilogue && !conv->planes) || (!is_all && places * n < EPILOGUE_ELEMENTS))
        return;
    if (conv->gemm.epilogue) gantry__cpu_epilogue_run(conv->gemm.epilogue, first, places, 0, n);
    if (conv->planes) give_planes(conv, first, end * each, 0, n);
    *done = end;
}

/* Computes panels [begin, end) of places. */
static void convolve_panels(void *context, int64_t begin, int64_t end) {
    const conv_t *conv = context;
    const int64_t rows = conv->loops->rows, n = conv->gemm.n, depth = conv->gemm.k;
    _Alignas(double) char chains[GANTRY_PANEL_PLACES * GANTRY_FEW_COLUMNS * GANTRY_FEW_CHAIN_BYTES];
    gantry__lines_piece_t inside[GANTRY_PANEL_PIECES], pieces[GANTRY_PANEL_PIECES];
    const int64_t inside_count = gantry__find_inside_pieces(conv->window, depth, inside);
    int64_t done = first_place(conv, begin); /* the places that have had their epilogue */
    gantry__panel_t panel;
    for (int64_t i = begin; i < end; ++i) {
        const int64_t first = first_place(conv, i), stop = panel_end(conv, first);
        gantry__find_panel(conv->window, first, stop, rows, &panel);
        prefetch_panel(conv, &panel);
        if (panel.is_inside && inside_count > 0) {
            multiply_panel(conv, (const char *)conv->images + panel.start * conv->size, inside,
                           inside_count, 0, first, chains);
        } else if (gantry__has_strips(conv->window, &panel)) {
            convolve_strips(conv, &panel, pieces, first, chains);
        } else {
            convolve_pieces(conv, &panel, pieces, first, chains);
        }
        if (conv->is_few) {
            conv->loops->sum_few(chains, (char *)conv->gemm.c + first * n * conv->size, n,
                                 stop - first, n);
        }
        if (conv->without_padding && (conv->together > 1 || !panel.is_inside))
            leave_padding_out(conv, first, 0, n / conv->together);
        finish_places(conv, &done, stop, i + 1 == end);
    }
}

/* ---- units ---- */

/* A filter that does not fit a cache would be read anew for each panel of places. So the work is
 * cut into units of many panels of places and few of the filter, and a panel of the filter meets
 * all panels of places while a cache has it:
 *
 *     for each panel of the filter
 *         for each panel of places
 *             for each part of the sum     the tile
 *
 * The images are first copied with their padding, so each row of a window is a line, wherever it
 * is. The sum has the parts that it has without units, so the bits are the same. */
#define UNIT_PANELS 12       /* of places, at most */
#define UNIT_FILTER_PANELS 8 /* at most, if all threads have units then */
#define UNITS_PER_THREAD 4
#define UNIT_ROWS 16 /* of the window, at most: a piece for each */
#define UNIT_FILTER_BYTES \
    (INT64_C(1) << 18)                      /* a filter of so many does not fit the nearest cache */
#define UNIT_IMAGE_BYTES (INT64_C(1) << 20) /* or as many as the filter has: what a copy may take */

/* A panel of places: its geometry, and where the window of each place begins in the padded
 * images. */
typedef struct unit_panel_t {
    gantry__panel_t panel;
    int64_t first, stop; /* places */
    int64_t begin[GANTRY_PANEL_PLACES];
} unit_panel_t;

static void find_unit_panel(const conv_t *conv, int64_t number, unit_panel_t *out) {
    const gantry__windows_t *w = conv->window;
    const int64_t rows = conv->loops->rows, first = first_place(conv, number),
                  stop = panel_end(conv, first);
    gantry__find_panel(w, first, stop, rows, &out->panel);
    out->first = first;
    out->stop = stop;
    for (int64_t i = 0; i < rows; ++i) {
        const int64_t place = gantry__least(first + i, stop - 1), row = place / w->out_width;
        out->begin[i] = row / w->out_height * conv->image_pitch +
                        row % w->out_height * w->step_y * conv->row_pitch +
                        place % w->out_width * w->step_x * w->channels;
    }
}

/* The end of the part of the panel's sum that begins at k, as convolve_panels cuts it. */
static int64_t unit_part_end(const conv_t *conv, const gantry__panel_t *panel, int64_t k) {
    const gantry__windows_t *w = conv->window;
    const int64_t depth = conv->gemm.k, row = w->columns * w->channels,
                  length = panel->is_whole ? row : w->channels;
    if (panel->is_inside && conv->is_shared) return depth;
    if (gantry__has_strips(w, panel))
        return gantry__least(depth, k + gantry__strips_at_once(panel) * row);
    const int64_t end = gantry__least(depth, k + GANTRY_PANEL_DEPTH);
    for (int piece = 0; piece < GANTRY_PANEL_PIECES && k < end; ++piece) {
        const int64_t count = gantry__least(length - k % length, end - k);
        k += panel->is_inside ? count : gantry__least(count, GANTRY_PANEL_ZEROS);
    }
    return k;
}

/* Finds the pieces of elements [k, end) of the sum: one for each row of the window. */
static int64_t find_unit_pieces(const conv_t *conv, const unit_panel_t *unit, int64_t k,
                                int64_t end, gantry__lines_piece_t *pieces) {
    const gantry__windows_t *w = conv->window;
    const int64_t length = w->columns * w->channels;
    int64_t found = 0, row = k / length;
    for (; k < end; k += pieces[found++].count) {
        const int64_t from = row * (w->spread_y * conv->row_pitch - length) + k;
        for (int64_t i = 0; i < conv->loops->rows; ++i)
            pieces[found].line[i] = unit->begin[i] + from;
        pieces[found].count = gantry__least(++row * length, end) - k;
    }
    return found;
}

/* Sets the columns of one panel of the filter, from `column` on, for one panel of places. */
static void multiply_unit_panel(const conv_t *conv, const unit_panel_t *unit, int64_t column) {
    const gantry__cpu_gemm_t *gemm = &conv->gemm;
    const int64_t columns = conv->loops->columns, size = conv->size;
    const char *packed = conv->packed + column * gemm->k * size;
    char *c = (char *)gemm->c + (unit->first * gemm->n + column) * size;
    gantry__lines_piece_t pieces[UNIT_ROWS];
    for (int64_t k = 0, end; k < gemm->k; k = end) {
        end = unit_part_end(conv, &unit->panel, k);
        const int64_t count = find_unit_pieces(conv, unit, k, end, pieces);
        conv->loops->multiply_lines(conv->padded, pieces, count, packed + k * columns * size, 0, c,
                                    gemm->n, unit->stop - unit->first,
                                    gantry__least(gemm->n - column, columns), k > 0);
    }
}

static int64_t places_panels(const conv_t *conv) {
    const int64_t rows = conv->loops->rows;
    return conv->gemm.m / conv->group * ((conv->group + rows - 1) / rows);
}

static int64_t unit_groups(const conv_t *conv) {
    return (places_panels(conv) + conv->unit_panels - 1) / conv->unit_panels;
}

/* Computes units [begin, end). Units of the same columns are neighbours. */
static void convolve_units(void *context, int64_t begin, int64_t end) {
    const conv_t *conv = context;
    const int64_t groups = unit_groups(conv), panels = places_panels(conv),
                  width = conv->unit_columns;
    unit_panel_t units[UNIT_PANELS];
    for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t panel = unit % groups * conv->unit_panels, column = unit / groups * width,
                      count = gantry__least(panels - panel, conv->unit_panels),
                      columns = gantry__least(conv->gemm.n - column, width);
        for (int64_t i = 0; i < count; ++i) find_unit_panel(conv, panel + i, &units[i]);
        for (int64_t j = column; j < column + columns; j += conv->loops->columns) {
            for (int64_t i = 0; i < count; ++i) multiply_unit_panel(conv, &units[i], j);
        }
        for (int64_t i = 0; i < count && conv->without_padding; ++i) {
            if (!units[i].panel.is_inside) leave_padding_out(conv, units[i].first, column, columns);
        }
        const int64_t first = units[0].first, stop = units[count - 1].stop;
        if (conv->gemm.epilogue)
            gantry__cpu_epilogue_run(conv->gemm.epilogue, first, stop - first, column, columns);
        if (conv->planes) give_planes(conv, first, stop, column, columns);
    }
}

/* Copies rows [begin, end) of the padded images, counted over all images. */
static void pad_rows(void *context, int64_t begin, int64_t end) {
    const conv_t *conv = context;
    const gantry__windows_t *w = conv->window;
    const int64_t size = conv->size, rows = conv->image_pitch / conv->row_pitch,
                  line = w->width * w->channels, left = w->left * w->channels,
                  count = gantry__least(line, conv->row_pitch - left);
    for (int64_t row = begin; row < end; ++row) {
        const int64_t y = row % rows - w->top;
        char *to = (char *)(uintptr_t)conv->padded + row * conv->row_pitch * size;
        if (count <= 0 || !gantry__is_inside(y, w->height)) {
            memset(to, 0, (size_t)(conv->row_pitch * size));
            continue;
        }
        memset(to, 0, (size_t)(left * size));
        memcpy(to + left * size,
               (const char *)conv->images + (row / rows * w->height + y) * line * size,
               (size_t)(count * size));
        memset(to + (left + count) * size, 0, (size_t)((conv->row_pitch - left - count) * size));
    }
}

/* Whether the convolution is cut into units; sets the pitches. The bytes of the copy are a double,
 * because paddings may make them too many for an integer. */
static bool has_units(conv_t *conv, int64_t filter_bytes) {
    const gantry__windows_t *w = conv->window;
    const int64_t panels = places_panels(conv), groups = (panels + UNIT_PANELS - 1) / UNIT_PANELS,
                  width = (w->out_width - 1) * w->step_x + w->columns,
                  height = (w->out_height - 1) * w->step_y + (w->rows - 1) * w->spread_y + 1,
                  images = conv->gemm.m / (w->out_height * w->out_width);
    const double bytes =
                     (double)(images * w->channels * conv->size) * (double)width * (double)height,
                 most = (double)(filter_bytes > UNIT_IMAGE_BYTES ? filter_bytes : UNIT_IMAGE_BYTES);
    if (conv->is_few || conv->together > 1 || !conv->loops->narrow || w->spread_x != 1 ||
        w->rows > UNIT_ROWS || panels == 1 || filter_bytes < UNIT_FILTER_BYTES)
        return false;
    conv->unit_panels = (panels + groups - 1) / groups;
    conv->is_padded = w->top > 0 || w->left > 0 || width > w->width || height > w->height;
    if (conv->is_padded && bytes > most) return false;
    conv->row_pitch = (conv->is_padded ? width : w->width) * w->channels;
    conv->image_pitch = (conv->is_padded ? height : w->height) * conv->row_pitch;
    return true;
}

static int32_t pad_images(gantry_op_call_t *call, conv_t *conv) {
    const gantry__windows_t *w = conv->window;
    const int64_t rows =
        conv->gemm.m / (w->out_height * w->out_width) * (conv->image_pitch / conv->row_pitch);
    gantry_span_t span;
    conv->padded = conv->images;
    if (!conv->is_padded) return GANTRY_OK;
    GANTRY__TRY(
        call->services->scratch(call, (uint64_t)(rows * conv->row_pitch * conv->size), &span));
    conv->padded = (const void *)(uintptr_t)(span.region + span.offset_bytes);
    gantry__cpu_parallel_for(call->device, rows, WORTH_A_THREAD / (8 * conv->row_pitch) + 1,
                             pad_rows, conv);
    return GANTRY_OK;
}

static int32_t convolve_by_units(gantry_op_call_t *call, conv_t *conv) {
    gantry__lines_piece_t pieces[GANTRY_PANEL_PIECES];
    const int64_t groups = unit_groups(conv), n = conv->gemm.n, columns = conv->loops->columns,
                  threads = call->device->pool ? gantry__cpu_pool_threads(call->device->pool) : 1;
    GANTRY__TRY(pad_images(call, conv));
    conv->is_shared = gantry__find_inside_pieces(conv->window, conv->gemm.k, pieces) > 0;
    conv->unit_columns = UNIT_FILTER_PANELS * columns;
    while (conv->unit_columns > columns &&
           groups * n < UNITS_PER_THREAD * threads * conv->unit_columns)
        conv->unit_columns /= 2;
    gantry__cpu_parallel_for(call->device,
                             groups * ((n + conv->unit_columns - 1) / conv->unit_columns), 1,
                             convolve_units, conv);
    return GANTRY_OK;
}

static int32_t conv_cpu_convolve(gantry_op_call_t *call, conv_t *conv) {
    const gantry__cpu_gemm_t *gemm = &conv->gemm;
    const int64_t columns = conv->loops->columns, rows = conv->loops->rows;
    const int64_t panels = places_panels(conv), width = conv->is_few ? GANTRY_FEW_COLUMNS : columns;
    const int64_t filter_panels = (gemm->n + width - 1) / width;
    const uint64_t bytes = (uint64_t)(filter_panels * width * gemm->k * conv->size);
    bool is_made = false;
    conv->packed = NULL;
    if (conv->together == 1 && gemm->m <= GANTRY_CPU_FORM_LINES)
        conv->packed = gantry__cpu_form(
            call, 1, (uint64_t)gemm->n << 8 | (uint64_t)columns << 1 | conv->is_few, bytes,
            &is_made);
    if (!conv->packed) {
        gantry_span_t span;
        GANTRY__TRY(call->services->scratch(call, bytes, &span));
        conv->packed = (char *)(uintptr_t)(span.region + span.offset_bytes);
    }
    if (is_made) {
        /* an earlier call has packed it */
    } else if (conv->is_few) {
        pack_few(conv, filter_panels * width);
    } else {
        gantry__cpu_parallel_for(call->device, filter_panels,
                                 WORTH_A_THREAD / (8 * gemm->k * columns) + 1, pack_filter, conv);
    }
    if (has_units(conv, (int64_t)bytes)) return convolve_by_units(call, conv);
    gantry__cpu_parallel_for(call->device, panels, WORTH_A_THREAD / (rows * gemm->k * gemm->n) + 1,
                             convolve_panels, conv);
    return GANTRY_OK;
}

/* ---- images whose channels come first ---- */

typedef struct planar_t {
    const gantry__windows_t *window;
    const char *from;
    char *to;
    int64_t size;
} planar_t;

/* Puts the channels of rows [begin, end), counted over all images, next to each other. */
static void interleave_rows(void *context, int64_t begin, int64_t end) {
    const planar_t *planar = context;
    const int64_t height = planar->window->height, width = planar->window->width,
                  channels = planar->window->channels;
    for (int64_t row = begin; row < end; ++row) {
        const int64_t first = (row / height * channels * height + row % height) * width;
        const void *from = planar->from + first * planar->size;
        void *to = planar->to + row * width * channels * planar->size;
        if (planar->size == sizeof(uint32_t)) {
            gantry__cpu_interleave_4(to, from, height * width, channels, width);
        } else {
            gantry__cpu_interleave_8(to, from, height * width, channels, width);
        }
    }
}

/* The lines of window_lines.cl need the channels last. */
static int32_t interleave_images(gantry_op_call_t *call, conv_t *conv) {
    const gantry__windows_t *w = conv->window;
    planar_t planar = {.window = w, .from = conv->images, .size = conv->size};
    gantry_span_t span;
    if (w->planar == 0) return GANTRY_OK;
    GANTRY__TRY(call->services->scratch(
        call, (uint64_t)(call->inputs[0]->element_count * conv->size), &span));
    planar.to = (char *)(uintptr_t)(span.region + span.offset_bytes);
    conv->images = planar.to;
    gantry__cpu_parallel_for(call->device, call->inputs[0]->dims[0] * w->height,
                             WORTH_A_THREAD / (8 * w->width * w->channels + 1) + 1, interleave_rows,
                             &planar);
    return GANTRY_OK;
}

/* ---- places computed as one ---- */

/* With few outputs most of a vector is empty. Then neighbouring places are computed as one, whose
 * window is that many columns wider, and whose filter has each place's weights between zeros:
 *
 *     filter of 3 columns, 2 places     place 0   a b c 0
 *                                       place 1   0 a b c
 *
 * The zeros do not change a sum, unless they meet an infinity or NaN. Therefore the places with a
 * NaN are summed again, as without padding. The wider window may be summed in other parts, so a
 * convolution with an epilogue must join the same places. Returns how many places that are. */
static int64_t places_together(const conv_t *conv) {
    const gantry__windows_t *w = conv->window;
    int64_t together = conv->gemm.n > 0 ? conv->loops->narrow->columns / conv->gemm.n : 1;
    if (!conv->without_padding || conv->is_few || w->columns == 1 || w->step_x != 1 ||
        w->spread_x != 1)
        return 1;
    while (together > 1 &&
           (w->out_width % together != 0 ||
            w->rows * (w->columns + together - 1) * w->channels > GANTRY_PANEL_DEPTH)) {
        --together;
    }
    return together > 1 ? together : 1;
}

static int32_t join_places(gantry_op_call_t *call, conv_t *conv, gantry__windows_t *joined) {
    const gantry__windows_t *w = conv->own;
    const int64_t each = conv->together, n = conv->gemm.n * conv->size,
                  columns = w->columns + each - 1, k = w->rows * columns * w->channels;
    gantry_span_t span;
    GANTRY__TRY(call->services->scratch(call, (uint64_t)(k * each * n), &span));
    char *filter = (char *)(uintptr_t)(span.region + span.offset_bytes);
    const char *from = conv->own_filter;
    memset(filter, 0, (size_t)(k * each * n));
    for (int64_t r = 0; r < w->rows; ++r) {
        for (int64_t e = 0; e < w->columns * w->channels; ++e, from += n) {
            for (int64_t j = 0; j < each; ++j) {
                const int64_t row = r * columns * w->channels + j * w->channels + e;
                memcpy(filter + (row * each + j) * n, from, (size_t)n);
            }
        }
    }
    *joined = *w;
    joined->columns = columns;
    joined->step_x = each;
    joined->out_width = w->out_width / each;
    conv->window = joined;
    conv->gemm.b = filter;
    conv->gemm.m /= each;
    conv->gemm.n *= each;
    conv->gemm.k = k;
    conv->gemm.b_row = conv->gemm.c_row = conv->gemm.n;
    return GANTRY_OK;
}

/* `planes`: the result, if its channels come first; output 0 is then the place for C. */
static int32_t compute_with(gantry_op_call_t *call, const gantry__cpu_epilogue_t *epilogue,
                            void *planes) {
    static const gantry__window_names_t names = {"strides", "dilations", NULL};
    const gantry_arg_t *images = call->inputs[0], *filter = call->inputs[1],
                       *out = call->outputs[0];
    const int64_t n = filter->dims[3], places = n > 0 ? out->element_count / n : 0;
    gantry__windows_t window, joined;
    conv_t conv = {
        .window = &window,
        .own = &window,
        .own_filter = filter->data,
        .together = 1,
        .planes = planes,
        .loops = GANTRY_CPU_PICK(gantry__cpu_simd_level(call->device), gemm_loops)(out->dtype),
        .gemm = {.n = n,
                 .b = filter->data,
                 .b_row = n,
                 .b_column = 1,
                 .c = out->data,
                 .c_row = n,
                 .c_column = 1,
                 .epilogue = epilogue},
        .images = images->data,
        .size = gantry__k_size(out->dtype),
        .without_padding = gantry__window_is_without_padding(call)};
    gantry__window_fill(call, &names, images, out, filter->dims[0], filter->dims[1], &window);
    if (filter->element_count == 0) { /* without channels every sum is 0 */
        memset(out->data, 0, (size_t)(out->element_count * conv.size));
        if (epilogue) gantry__cpu_epilogue_run(epilogue, 0, places, 0, n);
        if (planes) give_planes(&conv, 0, places, 0, n);
        return GANTRY_OK;
    }
    conv.gemm.m = places;
    conv.gemm.k = filter->element_count / n;
    conv.is_few = gantry__has_few_outputs(n, window.channels, conv.size);
    GANTRY__TRY(interleave_images(call, &conv));
    conv.together = places_together(&conv);
    if (!conv.is_few && n <= conv.loops->narrow->columns) conv.loops = conv.loops->narrow;
    if (conv.together > 1) GANTRY__TRY(join_places(call, &conv, &joined));
    conv.group =
        gantry__k_keeps_rows(call) ? conv.window->out_height * conv.window->out_width : conv.gemm.m;
    return conv_cpu_convolve(call, &conv);
}

/* A call whose output 0 is the place for C: the result, or scratch memory if its channels come
 * first. */
typedef struct own_call_t {
    gantry_op_call_t call;
    gantry_arg_t out, *outputs[1];
    int64_t dims[4];
    void *planes; /* the result, if its channels come first */
} own_call_t;

static int32_t begin_own(gantry_op_call_t *call, own_call_t *own) {
    own->call = *call;
    own->planes = NULL;
    if (!gantry__window_is_planar(call, "output_format")) return GANTRY_OK;
    own->out = gantry__window_result_arg(call, own->dims);
    own->planes = own->out.data;
    own->outputs[0] = &own->out;
    own->call.outputs = own->outputs;
    GANTRY__TRY(call->services->scratch(
        call, (uint64_t)(own->out.element_count * gantry__k_size(own->out.dtype)), &own->out.span));
    own->out.data = (void *)(uintptr_t)(own->out.span.region + own->out.span.offset_bytes);
    return GANTRY_OK;
}

static int32_t conv_cpu_compute(gantry_op_call_t *call) {
    own_call_t own;
    GANTRY__TRY(begin_own(call, &own));
    return compute_with(&own.call, NULL, own.planes);
}

static int32_t conv_cpu_compute_fused(gantry_op_call_t *call) {
    own_call_t own;
    gantry__cpu_epilogue_t epilogue;
    GANTRY__TRY(begin_own(call, &own));
    gantry__cpu_epilogue_init(&epilogue, &own.call);
    return compute_with(&own.call, &epilogue, own.planes);
}

static const gantry_type_constraint_t types[] = {{"T", GANTRY_DTYPES_FLOATS}};
static const gantry_kernel_def_t convolve_images =
    GANTRY_K_DEFINITION("ConvolveImages", types, 1, NULL, 0, .priority = GANTRY__MATMUL_ABOVE_PACK,
                        .supports = gantry__window_is_whole, .compute = conv_cpu_compute);
static const gantry_kernel_def_t fused_images =
    GANTRY_K_DEFINITION("_FusedConvolveImages", types, 1, NULL, 0,
                        .priority = GANTRY__MATMUL_ABOVE_PACK, .supports = gantry__window_is_whole,
                        .compute = conv_cpu_compute_fused, .data = &convolve_images);
extern const gantry_kernel_def_t gantry__cpu_conv_filter_kernel; /* from conv_filter_cpu.c */
const gantry_kernel_def_t *const gantry__cpu_conv_kernels[] = {&convolve_images, &fused_images,
                                                               &gantry__cpu_conv_filter_kernel};
const uint32_t gantry__cpu_conv_kernel_count = GANTRY_K_COUNT_OF(gantry__cpu_conv_kernels);
