/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution shaped for processors: the product of what a window sees at each of its places with
 * the filter, whose patches are never made (window_lines.cl). It must follow opencl_cpu_tile.cl.
 *
 * One work-item is one core. It packs a block of the filter's columns (nc, all of the sum) into
 * panels of NR columns, then takes its share of the places, MR at a time: their lines are read from
 * the images one element each per step of the sum, and broadcast. With few outputs (option
 * GANTRY_FEW, window_lines.cl) the filter's columns are packed as rows along the sum, and FEW_LINES
 * places' lines are multiplied with FEW of them at a time. Every element is summed in one order,
 * whichever item does it.
 *
 * With GANTRY_PLANES the channels of c come first: some panels are finished in a block of scratch,
 * as rows of nc columns, and then moved. */

/* Must have the same fields as problem_t of opencl_cpu_conv.c. */
typedef struct {
    gantry__windows_t window;
    long m, n, k; /* places, outputs, elements of a patch */
    long nc;
    long slot; /* scratch of one work-item: the packed block, strips, zeros */
    /* not 0: what is in the padding is left out, where 0 times an infinity would be NaN */
    long without_padding;
    /* A panel has places of one group of so many: all places, or those of an image, so that its
     * sums do not depend on its neighbours'. */
    long group;
} problem_t;

#ifdef GANTRY_PLANES
#define C_ROW(q) ((q)->nc)
#else
#define C_ROW(q) ((q)->n)
#endif

#if !GANTRY_FEW
#define CHAIN 0 /* none */
#define LINE(i) \
    __global const T *a##i = (piece->line[i] < 0 ? zeros : images + piece->line[i]) + piece->count;
#define LINE_STEP(i)              \
    {                             \
        const V s = (V)(a##i[p]); \
        VECTORS(STEP, i)          \
    }
/* Four at a time: PRODUCT_STEP of opencl_cpu_matmul.cl. */
#define LINES_STEP         \
    {                      \
        VECTORS(READ_B, 0) \
        ROWS(LINE_STEP)    \
        p++;               \
        b += NR;           \
    }

/* Computes MR x NR of c, or as much of it as exists. */
static void lines_tile(__global const T *images, __global const T *zeros,
                       const gantry__lines_piece_t *pieces, long count, __global const T *b,
                       __global T *c, long c_row, long rows, long columns,
                       int is_first EPILOGUE_PARAMETERS) {
    const long c_col = 1;
#if GANTRY_EPILOGUE
    const long bias_row = 0, bias_col = 1;
#endif

    ROWS(ROW_CLEAR)
    for (const gantry__lines_piece_t *piece = pieces; piece < pieces + count; ++piece) {
        ROWS(LINE)
        long p = -piece->count; /* no register for an end: MR are for lines */
        while (p <= -4) {
            LINES_STEP LINES_STEP LINES_STEP LINES_STEP
        }
        while (p < 0) {
            LINES_STEP
        }
    }
    TILE_END
}

#if GANTRY_EPILOGUE
#define PANEL_EPILOGUE(j) , bias + (j), is_last
#else
#define PANEL_EPILOGUE(j)
#endif

/* Computes the panel of `rows` places from `i` on by all columns. Pieces are of the sum from
 * element `k` on; images: where their lines count from. */
static void convolve_panel(const problem_t *q, __global const T *images,
                           const gantry__lines_piece_t *pieces, long count,
                           __global const T *packed, __global const T *zeros, __global T *c, long i,
                           long rows, long columns, long k, T *chains, __global const T *bias,
                           int is_last) {
    for (long j = 0; j < columns; j += NR) {
        lines_tile(images, zeros, pieces, count, packed + j * q->k + k * NR, c + i * C_ROW(q) + j,
                   C_ROW(q), rows, columns - j, k == 0 PANEL_EPILOGUE(j));
    }
}

static void pack_filter(const problem_t *q, __global T *packed, __global const T *filter,
                        long columns) {
    pack_columns(packed, filter, columns, q->k, 1, q->n, 0);
}
#else
#define FEW GANTRY_FEW_COLUMNS
#if IS_DOUBLE
#define CHAINS double8
#define LOAD_CHAINS vload8
#else
#define CHAINS float16
#define LOAD_CHAINS vload16
#endif
#define CHAIN (GANTRY_FEW_CHAIN_BYTES / (long)sizeof(T)) /* elements */
#if MR % 3 == 0 /* lines at a time: with FEW columns as many as 16 registers hold */
#define FEW_LINES 3
#define LINES(X) \
    X(0)         \
    X(1)         \
    X(2)
#else
#define FEW_LINES 2
#define LINES(X) \
    X(0)         \
    X(1)
#endif
#define COLUMNS(X, i) \
    X(i, 0)           \
    X(i, 1)           \
    X(i, 2)           \
    X(i, 3)

#define FEW_BEGIN(i, j) V x##i##_##j = add ? LOAD(0, chains + (i * FEW + j) * CHAIN) : (V)0;
#define FEW_FROM(i)          \
    __global const T *a##i = \
        (piece->line[line + i] < 0 ? zeros : images + piece->line[line + i]) + part;
#define FEW_READ(i) const V l##i = LOAD(0, a##i + p);
#define FEW_WEIGHTS(i, j) const V w##j = LOAD(0, b + j * k + p);
#define FEW_STEP(i, j) x##i##_##j = fma(l##i, w##j, x##i##_##j);
#define FEW_END(i, j) STORE(x##i##_##j, 0, chains + (i * FEW + j) * CHAIN);
#define FEW_LINE_BEGIN(i) COLUMNS(FEW_BEGIN, i)
#define FEW_LINE_STEP(i) COLUMNS(FEW_STEP, i)
#define FEW_LINE_END(i) COLUMNS(FEW_END, i)

/* Adds to one vector of the chains, from their element `part` on, of FEW columns of FEW_LINES lines
 * from `line` on, or begins them; k elements from one column to the next. b and chains must begin
 * with that vector's first element. */
static void few_dots(__global const T *images, __global const T *zeros,
                     const gantry__lines_piece_t *pieces, long count, long line, long part,
                     __global const T *b, long k, T *chains, int add) {
    LINES(FEW_LINE_BEGIN)
    for (const gantry__lines_piece_t *piece = pieces; piece < pieces + count;
         b += piece->count, piece++) {
        LINES(FEW_FROM)
        for (long p = 0; p < piece->count; p += CHAIN) {
            LINES(FEW_READ)
            COLUMNS(FEW_WEIGHTS, 0)
            LINES(FEW_LINE_STEP)
        }
    }
    LINES(FEW_LINE_END)
}

static T add_chains(CHAINS x) {
#if IS_DOUBLE
    const double4 four = x.lo + x.hi;
#else
    const float8 eight = x.lo + x.hi;
    const float4 four = eight.lo + eight.hi;
#endif
    const CAT(T, 2) two = four.lo + four.hi;

    return two.lo + two.hi;
}

/* The same as the other one; `chains` keeps those of MR places from piece to piece, and the last
 * pieces give c. */
static void convolve_panel(const problem_t *q, __global const T *images,
                           const gantry__lines_piece_t *pieces, long count,
                           __global const T *packed, __global const T *zeros, __global T *c,
                           long first, long places, long columns, long k, T *chains,
                           __global const T *bias, int is_last) {
    for (long i = 0; i < places; i += FEW_LINES) {
        for (long part = 0; part < CHAIN; part += GANTRY_LANES) {
            few_dots(images, zeros, pieces, count, i, part, packed + k + part, q->k,
                     chains + i * FEW * CHAIN + part, k > 0);
        }
    }
    for (long i = 0; is_last && i < places; ++i) {
        for (long j = 0; j < columns; ++j) {
            const T sum = add_chains(LOAD_CHAINS(0, chains + (i * FEW + j) * CHAIN));

            c[(first + i) * C_ROW(q) + j] = finished(sum, bias + j);
        }
    }
}

static void pack_filter(const problem_t *q, __global T *packed, __global const T *filter,
                        long columns) {
    for (long j = 0; j < FEW; ++j) {
        for (long p = 0; p < q->k; ++p) {
            *packed++ = j < columns ? filter[p * q->n + j] : (T)0;
        }
    }
}
#endif

/* Prefetches what the next panel sees beyond this one, beyond the images, too, because the
 * hardware's prefetcher is late for many short lines. */
static void fetch_ahead(const gantry__windows_t *w, const gantry__panel_t *panel,
                        __global const T *images) {
    const long count = panel->places * w->step_x * w->channels;
    const long last = panel->start + ((panel->places - 1) * w->step_x + w->columns) * w->channels;

    for (long r = 0; panel->is_inside && r < w->rows; ++r) {
        __global const T *from = images + last + r * w->spread_y * w->width * w->channels;

        for (long at = 0; at < count; at += 64 / sizeof(T)) {
            FETCH(from + at, 0);
        }
    }
}

/* Makes strips of `rows` window rows from `first` on. */
static void fill_strips(const gantry__windows_t *w, const gantry__panel_t *panel,
                        __global const T *images, long first, long rows, __global T *strips) {
    gantry__strip_part_t part;

    for (long i = 0; i < panel->places;) {
        i = gantry__find_strip_part(w, panel, i, &part);
        for (long r = 0; r < rows; ++r) {
            const int is_there = gantry__has_elements(w, &part, first + r);
            const long count = is_there ? part.count : 0,
                       zeros = is_there ? part.zeros : part.end - part.to;
            __global const T *from = images + part.from + (first + r) * part.row;
            __global T *strip = strips + r * panel->strip, *to = strip + part.to;

            for (long e = 0; e < zeros; ++e) {
                *to++ = 0;
            }
            for (long e = 0; e < count; ++e) {
                *to++ = from[e];
            }
            while (to < strip + part.end) {
                *to++ = 0;
            }
        }
    }
}

#ifdef GANTRY_PLANES
#define PLANE_PLACES 64

/* Moves `count` rows of a block to planes, which are `area` apart. */
static void turn_block(__global T *to, long area, __global const T *block, long row, long count,
                       long columns) {
    for (long j = 0; j < columns; j += 4) {
        long i = 0;

        for (; j + 4 <= columns && i + 4 <= count; i += 4) {
            transpose_quad(to + j * area + i, area, block + i * row + j, row);
        }
        for (; i < count; ++i) {
            for (long k = j; k < columns && k < j + 4; ++k) {
                to[k * area + i] = block[i * row + k];
            }
        }
    }
}

/* Moves places [first, end) to the planes of their images; c must begin with the first column's. */
static void give_planes(const problem_t *q, __global const T *block, __global T *c, long first,
                        long end, long columns) {
    const long area = q->window.out_height * q->window.out_width;

    for (long next; first < end; first = next) {
        const long image = first / area;

        next = min(end, (image + 1) * area);
        turn_block(c + image * q->n * area + first - image * area, area, block, q->nc, next - first,
                   columns);
        block += (next - first) * q->nc;
    }
}
#else
GANTRY_DEFINE_SUM_AGAIN(T, __global, sum_again)
#endif

/* Computes panels [begin, end) of places by `columns` columns of the filter, which must be packed;
 * filter, c and bias must begin with the first of them. */
BODY_FN void convolve(const problem_t *q, __global const T *images, __global const T *filter,
                      __global const T *packed, __global const T *zeros, __global T *strips,
                      __global T *c, __global const T *bias, long begin, long end, long columns) {
    gantry__panel_t panel;
    gantry__lines_piece_t pieces[GANTRY_PANEL_PIECES], inside[GANTRY_PANEL_PIECES];
    T chains[GANTRY_FEW ? MR * GANTRY_FEW_COLUMNS * CHAIN : 1];
    const long inside_count = gantry__find_inside_pieces(&q->window, q->k, inside);
#ifdef GANTRY_PLANES
    __global T *const block = strips - q->nc * PLANE_PLACES;
    long done = -1; /* the first place of the block; -1: not begun */
#endif

    for (long number = begin; number < end; ++number) {
        const long each = (q->group + MR - 1) / MR,
                   i = number / each * q->group + number % each * MR,
                   rows = min((long)MR, (i / q->group + 1) * q->group - i);

        gantry__find_panel(&q->window, i, i + rows, MR, &panel);
        fetch_ahead(&q->window, &panel, images);
        const int is_inside = panel.is_inside && inside_count > 0;
        const int has_strips = !is_inside && gantry__has_strips(&q->window, &panel);
        __global const T *from = is_inside ? images + panel.start : has_strips ? strips : images;

#ifdef GANTRY_PLANES
        done = done < 0 ? i : done;
        __global T *const to = block;
        const long at = i - done;
#else
        __global T *const to = c;
        const long at = i;
#endif
        for (long k = 0, r = 0; k < q->k;) {
            const long start = k;
            long count = inside_count;

            if (has_strips) {
                count = min(q->window.rows - r, gantry__strips_at_once(&panel));
                fill_strips(&q->window, &panel, images, r, count, strips);
                gantry__find_strip_pieces(&q->window, &panel, count, pieces);
                r += count;
                k = r * q->window.columns * q->window.channels;
            } else if (is_inside) {
                k = q->k;
            } else {
                count = gantry__find_pieces(&q->window, &panel, q->k, &k, pieces);
            }
            convolve_panel(q, from, is_inside ? inside : pieces, count, packed, zeros, to, at, rows,
                           columns, start, chains, bias, k >= q->k);
        }
#ifdef GANTRY_PLANES
        if (number + 1 == end || i + rows - done + MR > PLANE_PLACES) {
            give_planes(q, block, c, done, i + rows, columns);
            done = i + rows;
        }
#else
        if (q->without_padding && !panel.is_inside) {
            sum_again(&q->window, images, filter, c, q->n, columns, i, i + rows);
        }
#endif
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void opencl_cpu_conv(
    __global const uchar *images_base, const ulong images_offset, __global const uchar *filter_base,
    const ulong filter_offset, __global uchar *c_base, const ulong c_offset,
    __global uchar *scratch_base, const ulong scratch_offset, const problem_t q BIAS_PARAMETERS) {
    const long item = (long)get_global_id(0), items = (long)get_global_size(0);
    const long panels = q.m / q.group * ((q.group + MR - 1) / MR);
    const long begin = panels * item / items, end = panels * (item + 1) / items;
    __global T *packed = (__global T *)(scratch_base + scratch_offset) + item * q.slot;
    __global T *zeros = packed + q.slot - GANTRY_PANEL_ZEROS, *strips = zeros - GANTRY_PANEL_STRIPS;

    for (long i = 0; i < GANTRY_PANEL_ZEROS; ++i) {
        zeros[i] = 0;
    }
    for (long j = 0; j < q.n; j += q.nc) {
        const long columns = min(q.nc, q.n - j);
        __global const T *filter = (__global const T *)(filter_base + filter_offset) + j;

        pack_filter(&q, packed, filter, columns);
#ifdef GANTRY_PLANES
        const long first = j * q.window.out_height * q.window.out_width;
#else
        const long first = j;
#endif
        convolve(&q, (__global const T *)(images_base + images_offset), filter, packed, zeros,
                 strips, (__global T *)(c_base + c_offset) + first, BIAS + j, begin, end, columns);
    }
}
