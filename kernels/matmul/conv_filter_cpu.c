/* SPDX-License-Identifier: Apache-2.0 */
/* _ImagesFilterGradient of the CPU backend, the gradient of a convolution's filter, float32 and
 * float64: the product
 *
 *     patches, turned [rows * columns * channels, batch * out_height * out_width]
 *     x gradient of the result [batch * out_height * out_width, outputs]
 *
 * without storing the patches. The elements of a panel of the filter that are neighbours in the
 * images are so at every place, at equal distances. So the loops read them from the images. Only
 * panels over several rows of the window, and places at borders, are packed. An element of a window
 * outside the image adds nothing.
 *
 * The sum runs over all places and the product is small, so the places are cut into chunks, whose
 * products are added up in their order:
 *
 *                       chunk 0      chunk 1            a unit of work is a tile of the
 *     tile 0 of A     [ places   |   places   ]         filter's elements in one chunk; it
 *     tile 1 of A     [          |            ]         packs the result's gradient itself
 *
 * The number of chunks depends on the shapes alone, and so do the bits of the result. */
#include <string.h>

#include "kernels/common/try.h"
#include "kernels/matmul/matmul_cpu.h"
#include "kernels/matmul/matmul_shape.h"

#define TILE_PANELS 8
#define TILE_COLUMNS 128 /* outputs whose panels a unit packs at once */
#define PLACES_AT_ONCE 256
#define LEAST_PLACES 512      /* of a chunk */
#define UNITS 32              /* wanted */
#define PARTS_BYTES (8 << 20) /* the most for products of chunks */
#define LANES_PER_THREAD 4
#define MOST_ROWS 16                   /* of a panel */
#define FILTER_WORK (INT64_C(1) << 18) /* multiplications that pay for a thread */

typedef struct filter_t {
    const gantry__windows_t *window;
    const gantry__cpu_gemm_loops_t *loops;
    gantry__cpu_gemm_t gemm; /* m: elements of the filter for one output; k: places; without A */
    const char *images;
    int64_t elements;      /* of the images */
    int64_t size;          /* of an element */
    int64_t tiles, chunks; /* a chunk has `places` places */
    int64_t places;
    int64_t lanes; /* a lane computes neighbouring units, one after the other, in its memory */
    char *packed;
    uint64_t lane_bytes;
    char *parts; /* [chunks, m, n]; with one chunk, the result */
} filter_t;

static int64_t filter_round_up(int64_t value, int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

/* Elements of a window that are neighbours in the images, in one of the window's rows. */
typedef struct filter_run_t {
    int64_t row, first, last; /* the first and the last column of the window */
    int64_t channel;          /* of the first element */
    int64_t offset;           /* from the beginning of the window */
    int64_t count;
} filter_run_t;

/* The runs of elements [first, first + count). Returns their number. */
static int find_runs(const filter_t *filter, int64_t first, int64_t count, filter_run_t *runs) {
    const gantry__windows_t *w = filter->window;
    const int64_t together = w->spread_x == 1 ? w->columns : 1, line = together * w->channels;
    int found = 0;
    for (int64_t done = 0; done < count; ++found) {
        const int64_t at = first + done, pixel = at / w->channels, inside = at % line;
        const int64_t length = gantry__least(line - inside, count - done);
        filter_run_t *run = runs + found;
        *run = (filter_run_t){.row = pixel / w->columns,
                              .first = pixel % w->columns,
                              .last = (at + length - 1) / w->channels % w->columns,
                              .channel = at % w->channels,
                              .count = length};
        run->offset = (run->row * w->spread_y * w->width + run->first * w->spread_x) * w->channels +
                      run->channel;
        done += length;
    }
    return found;
}

static void copy_run(char *restrict to, const char *restrict from, int64_t count, int64_t size) {
    if (size == sizeof(float)) {
        for (int64_t i = 0; i < count; ++i) memcpy(to + i * 4, from + i * 4, 4);
    } else {
        for (int64_t i = 0; i < count; ++i) memcpy(to + i * 8, from + i * 8, 8);
    }
}

/* The run's elements at one place, whose window begins at `start` in the images and at column
 * `left`; zeros outside. */
static void pack_place(const filter_t *filter, const filter_run_t *run, int64_t start, int64_t left,
                       char *to) {
    const gantry__windows_t *w = filter->window;
    const char *from = filter->images + (start + run->offset) * filter->size;
    if (left + run->first * w->spread_x >= 0 && left + run->last * w->spread_x < w->width) {
        copy_run(to, from, run->count, filter->size);
        return;
    }
    for (int64_t i = 0; i < run->count; ++i, to += filter->size, from += filter->size) {
        const int64_t column = run->first + (run->channel + i) / w->channels;
        if (gantry__is_inside(left + column * w->spread_x, w->width)) {
            memcpy(to, from, (size_t)filter->size);
        } else {
            memset(to, 0, (size_t)filter->size);
        }
    }
}

/* One panel of the filter, and the packed gradients of `count` places from `place` on. */
typedef struct filter_panel_t {
    filter_run_t runs[MOST_ROWS];
    int run_count;
    int64_t rows; /* of the panel */
    int64_t place, count;
    const char *b;
    int64_t columns;
    char *c;
    char *packed; /* a panel of A */
} filter_panel_t;

static void multiply_places(const filter_t *filter, const filter_panel_t *panel, const void *a,
                            int64_t a_step, int64_t place, int64_t count) {
    const int64_t width = filter->loops->columns;
    filter->loops->multiply_steps(
        a, a_step, panel->b + (place - panel->place) * width * filter->size, panel->count * width,
        count, panel->c, filter->gemm.n, panel->rows, panel->columns);
}

/* Places [x, end) of row y of an image, packed. `place` is the number of place x. */
static void sum_packed(const filter_t *filter, const filter_panel_t *panel, int64_t line, int64_t x,
                       int64_t end) {
    const gantry__windows_t *w = filter->window;
    const int64_t rows = filter->loops->rows, image = line / w->out_height,
                  top = line % w->out_height * w->step_y - w->top;
    if (x >= end) return;
    memset(panel->packed, 0, (size_t)((end - x) * rows * filter->size));
    for (int64_t k = x; k < end; ++k) {
        const int64_t left = k * w->step_x - w->left,
                      start = ((image * w->height + top) * w->width + left) * w->channels;
        char *to = panel->packed + (k - x) * rows * filter->size;
        for (const filter_run_t *run = panel->runs; run < panel->runs + panel->run_count; ++run) {
            if (gantry__is_inside(top + run->row * w->spread_y, w->height))
                pack_place(filter, run, start, left, to);
            to += run->count * filter->size;
        }
    }
    multiply_places(filter, panel, panel->packed, rows, line * w->out_width + x, end - x);
}

/* The same for a panel of one run, read from the images as far as all its columns are inside. The
 * loops read whole panels, which must not reach beyond the images' end. */
static void sum_inside(const filter_t *filter, const filter_panel_t *panel, int64_t line, int64_t x,
                       int64_t end) {
    const gantry__windows_t *w = filter->window;
    const filter_run_t *run = panel->runs;
    const int64_t y = line % w->out_height * w->step_y - w->top, step = w->step_x * w->channels;
    gantry__reach_t from, to;
    if (!gantry__is_inside(y + run->row * w->spread_y, w->height)) return;
    gantry__find_reach(run->first * w->spread_x - w->left, w->step_x, end, w->width, &from);
    gantry__find_reach(run->last * w->spread_x - w->left, w->step_x, end, w->width, &to);
    const int64_t first = from.first < x ? x : gantry__least(from.first, end),
                  last = to.end < first ? first : to.end;
    const int64_t at =
        ((line / w->out_height * w->height + y) * w->width + first * w->step_x - w->left) *
            w->channels +
        run->offset;
    const int64_t room = filter->elements - filter->loops->rows - at,
                  whole = room < 0 ? first : gantry__least(last, first + room / step + 1);
    if (whole > first)
        multiply_places(filter, panel, filter->images + at * filter->size, step,
                        line * w->out_width + first, whole - first);
    sum_packed(filter, panel, line, whole, last);
    if (run->first == run->last) return;
    sum_packed(filter, panel, line, x, first);
    sum_packed(filter, panel, line, last, end);
}

static void sum_panel(const filter_t *filter, const filter_panel_t *panel) {
    const int64_t width = filter->window->out_width, last = panel->place + panel->count;
    for (int64_t k = panel->place, some; k < last; k += some) {
        const int64_t line = k / width, x = k - line * width;
        some = gantry__least(width - x, last - k);
        if (panel->run_count == 1) {
            sum_inside(filter, panel, line, x, x + some);
        } else {
            sum_packed(filter, panel, line, x, x + some);
        }
    }
}

/* A unit: rows [first, first + rows) of the filter's elements over one chunk. */
static void sum_unit(const filter_t *filter, int64_t chunk, int64_t tile, char *packed) {
    const gantry__cpu_gemm_t *gemm = &filter->gemm;
    const int64_t size = filter->size, n = gemm->n, each = filter->loops->rows,
                  first = tile * TILE_PANELS * each,
                  end = gantry__least(first + TILE_PANELS * each, gemm->m);
    const int64_t begin = chunk * filter->places,
                  stop = gantry__least(begin + filter->places, gemm->k);
    char *const c = filter->parts + chunk * gemm->m * n * size;
    char *const packed_b = packed + each * PLACES_AT_ONCE * size;
    filter_panel_t panel = {.packed = packed, .b = packed_b};
    memset(c + first * n * size, 0, (size_t)((end - first) * n * size));
    for (panel.place = begin; panel.place < stop; panel.place += panel.count) {
        panel.count = gantry__least(PLACES_AT_ONCE, stop - panel.place);
        for (int64_t j = 0; j < n; j += TILE_COLUMNS) {
            panel.columns = gantry__least(TILE_COLUMNS, n - j);
            if (n == filter->loops->columns) { /* the rows of B are a packed panel */
                panel.b = (const char *)gemm->b + panel.place * n * size;
            } else {
                filter->loops->pack_b(gemm, j, panel.columns, panel.place, panel.count, packed_b);
            }
            for (int64_t row = first; row < end; row += each) {
                panel.rows = gantry__least(each, end - row);
                panel.run_count = find_runs(filter, row, panel.rows, panel.runs);
                panel.c = c + (row * n + j) * size;
                sum_panel(filter, &panel);
            }
        }
    }
}

static void sum_lanes(void *context, int64_t begin, int64_t end) {
    const filter_t *filter = context;
    const int64_t units = filter->tiles * filter->chunks, lanes = filter->lanes;
    char *packed = filter->packed + (uint64_t)begin * filter->lane_bytes;
    for (int64_t unit = units * begin / lanes; unit < units * end / lanes; ++unit)
        sum_unit(filter, unit / filter->tiles, unit % filter->tiles, packed);
}

#define ADD_CHUNKS(T, parts, out, begin, end, elements, chunks)  \
    for (int64_t i = begin; i < (end); ++i) {                    \
        T sum = ((const T *)(parts))[i];                         \
        for (int64_t chunk = 1; chunk < (chunks); ++chunk)       \
            sum += ((const T *)(parts))[chunk * (elements) + i]; \
        ((T *)(out))[i] = sum;                                   \
    }

static void add_filter_chunks(void *context, int64_t begin, int64_t end) {
    const filter_t *filter = context;
    const int64_t elements = filter->gemm.m * filter->gemm.n;
    if (filter->size == sizeof(float)) {
        ADD_CHUNKS(float, filter->parts, filter->gemm.c, begin, end, elements, filter->chunks)
    } else {
        ADD_CHUNKS(double, filter->parts, filter->gemm.c, begin, end, elements, filter->chunks)
    }
}

/* Cuts the work into units and takes their memory. */
static int32_t cut_filter(gantry_op_call_t *call, filter_t *filter) {
    const gantry__cpu_gemm_t *gemm = &filter->gemm;
    const int64_t rows = TILE_PANELS * filter->loops->rows;
    gantry_span_t span;
    filter->tiles = (gemm->m + rows - 1) / rows;
    filter->chunks = gantry__least(
        (UNITS + filter->tiles - 1) / filter->tiles,
        gantry__least(gemm->k / LEAST_PLACES, PARTS_BYTES / (gemm->m * gemm->n * filter->size)));
    if (filter->chunks < 1) filter->chunks = 1;
    filter->places = (gemm->k + filter->chunks - 1) / filter->chunks;
    filter->chunks = (gemm->k + filter->places - 1) / filter->places;
    filter->lanes =
        gantry__least(filter->tiles * filter->chunks, LANES_PER_THREAD * gantry__k_units(call));
    filter->lane_bytes =
        (uint64_t)((filter->loops->rows +
                    gantry__least(TILE_COLUMNS, filter_round_up(gemm->n, filter->loops->columns))) *
                   PLACES_AT_ONCE * filter->size);
    const uint64_t packed = filter->lane_bytes * (uint64_t)filter->lanes,
                   parts = filter->chunks > 1
                               ? (uint64_t)(filter->chunks * gemm->m * gemm->n * filter->size)
                               : 0;
    GANTRY__TRY(call->services->scratch(call, packed + parts, &span));
    filter->packed = (char *)(uintptr_t)(span.region + span.offset_bytes);
    filter->parts = filter->chunks > 1 ? filter->packed + packed : gemm->c;
    return GANTRY_OK;
}

static int32_t conv_filter_compute(gantry_op_call_t *call) {
    static const gantry__window_names_t names = {"strides", "dilations"};
    const gantry_arg_t *images = call->inputs[0], *grad = call->inputs[2], *out = call->outputs[0];
    const int64_t n = out->dims[3], m = out->element_count / n;
    gantry__windows_t window;
    filter_t filter = {
        .window = &window,
        .loops = GANTRY_CPU_PICK(gantry__cpu_simd_level(call->device), gemm_loops)(out->dtype),
        .gemm = {.m = m,
                 .n = n,
                 .k = grad->element_count / n,
                 .b = grad->data,
                 .b_row = n,
                 .b_column = 1,
                 .c = out->data},
        .images = images->data,
        .elements = images->element_count,
        .size = gantry__k_size(out->dtype)};
    if (filter.gemm.k == 0) {
        memset(out->data, 0, (size_t)(out->element_count * filter.size));
        return GANTRY_OK;
    }
    gantry__window_fill(call, &names, images, grad, out->dims[0], out->dims[1], &window);
    GANTRY__TRY(cut_filter(call, &filter));
    gantry__cpu_parallel_for(call->device, filter.lanes,
                             FILTER_WORK * filter.lanes / (m * n * filter.gemm.k) + 1, sum_lanes,
                             &filter);
    if (filter.chunks > 1)
        gantry__cpu_parallel_for(call->device, m * n, FILTER_WORK / filter.chunks,
                                 add_filter_chunks, &filter);
    return GANTRY_OK;
}

static const gantry_type_constraint_t types[] = {{"T", GANTRY_DTYPES_FLOATS}};
static const char *const hosts[] = {"filter_sizes"};
const gantry_kernel_def_t gantry__cpu_conv_filter_kernel = GANTRY_K_DEFINITION(
    "_ImagesFilterGradient", types, 1, hosts, 1, .compute = conv_filter_compute);
