/* SPDX-License-Identifier: Apache-2.0 */
/* The geometry of windows over images, which pooling, patches and convolution share. An image is
 * [batch, height, width, channels]. An NCHW image counts as batch x channels images of one channel
 * each. */
#ifndef GANTRY_WINDOW_CL
#define GANTRY_WINDOW_CL

typedef struct gantry__windows_t {
    gantry__work_t work;
    GANTRY_LONG height, width, channels; /* size of the image over which the window slides */
    GANTRY_LONG out_height, out_width;   /* places of the window */
    GANTRY_LONG rows, columns;           /* elements of the window */
    GANTRY_LONG step_y, step_x;          /* from place to place */
    GANTRY_LONG spread_y, spread_x;      /* from element to element: the dilation */
    GANTRY_LONG top, left;               /* padding before the image */
    /* NCHW: the number of channels; else 0 */
    GANTRY_LONG planes;
    /* patches and convolve: 1 if the image has its channels first, plus 2 if the result has */
    GANTRY_LONG planar;
    /* for depthwise filters, the outputs of each channel; for other filters, the outputs */
    GANTRY_LONG depth;
    /* on processors: stretches of places (gantry__stretch_t) */
    gantry__runs_t runs;
    /* on processors, of depthwise and of pools with planes: an item covers the stretches of this
     * many rows of places, or, of depthwise, of several whole planes */
    GANTRY_LONG band;
    /* for max_pool_grad: whether the result is 0 where the image is not positive */
    GANTRY_LONG is_gated;
    /* means: the sizes of the image with its padding, which counts; else 0 */
    GANTRY_LONG counted_height, counted_width;
    /* for max_pool_argmax: positions are 64-bit; count rows first; count over all images */
    GANTRY_LONG is_wide, is_by_columns, has_batch;
} gantry__windows_t;

/* An element of [batch, y, x, channel]. */
typedef struct gantry__pixel_t {
    GANTRY_LONG image, y, x, channel;
} gantry__pixel_t;

GANTRY_FN gantry__pixel_t gantry__pixel(GANTRY_LONG position, GANTRY_LONG height, GANTRY_LONG width,
                                        GANTRY_LONG channels) {
    const GANTRY_LONG column = gantry__divide_position(position, channels);
    const GANTRY_LONG row = gantry__divide_position(column, width);
    gantry__pixel_t pixel;

    pixel.image = gantry__divide_position(row, height);
    pixel.channel = position - column * channels;
    pixel.x = column - row * width;
    pixel.y = row - pixel.image * height;
    return pixel;
}

GANTRY_FN int gantry__is_inside(GANTRY_LONG place, GANTRY_LONG size) {
    return (ulong)place < (ulong)size;
}

/* The elements [first, end) of a window that are inside the image along one dimension: element e is
 * at place + e * spread, and the image is [0, size). A window may be larger than the image, because
 * elements outside cost nothing. The same struct describes those windows of a row whose element of
 * one number is inside; spread is then the step between the windows. */
typedef struct gantry__reach_t {
    GANTRY_LONG first, end;
} gantry__reach_t;

/* The gantry__find_... functions must write their results through pointers. If a function with many
 * loops returns a struct and is inlined, LLVM emits an intrinsic that Oclgrind may not know
 * (llvm.experimental.noalias.scope.decl). */
GANTRY_SHARED_FN void gantry__find_reach(GANTRY_LONG place, GANTRY_LONG spread,
                                         GANTRY_LONG elements, GANTRY_LONG size,
                                         gantry__reach_t *reach) {
    const GANTRY_LONG left =
        size > place ? gantry__divide_position(size - place + spread - 1, spread) : 0;

    reach->first = place < 0 ? gantry__divide_position(spread - 1 - place, spread) : 0;
    reach->end = left < elements ? left : elements;
}

/* How many elements a window that begins at (top, left) has in the image with its padding. */
GANTRY_SHARED_FN GANTRY_LONG gantry__counted_elements(const gantry__windows_t *p, GANTRY_LONG top,
                                                      GANTRY_LONG left) {
    gantry__reach_t rows, columns;

    gantry__find_reach(top + p->top, p->spread_y, p->rows, p->counted_height, &rows);
    gantry__find_reach(left + p->left, p->spread_x, p->columns, p->counted_width, &columns);
    return rows.end * columns.end;
}

/* One element of the output of a pool or a depthwise convolution: its position, the beginning of
 * its window, and the elements of that window inside the image. */
typedef struct gantry__view_t {
    gantry__pixel_t at;
    GANTRY_LONG top, left;
    gantry__reach_t rows, columns;
} gantry__view_t;

/* innermost must be the number of output elements at one place. */
GANTRY_SHARED_FN void gantry__find_view(const gantry__windows_t *p, GANTRY_LONG innermost,
                                        GANTRY_LONG i, gantry__view_t *view) {
    view->at = gantry__pixel(i, p->out_height, p->out_width, innermost);
    view->top = view->at.y * p->step_y - p->top;
    view->left = view->at.x * p->step_x - p->left;
    gantry__find_reach(view->top, p->spread_y, p->rows, p->height, &view->rows);
    gantry__find_reach(view->left, p->spread_x, p->columns, p->width, &view->columns);
}

/* The inverse: the place whose window begins `distance` after the beginning of the first window, or
 * -1 if there is none. */
GANTRY_FN GANTRY_LONG gantry__place_through(GANTRY_LONG distance, GANTRY_LONG step,
                                            GANTRY_LONG places) {
    const GANTRY_LONG place =
        step == 1 || distance < 0 ? distance : gantry__divide_position(distance, step);

    return distance >= 0 && place * step == distance && place < places ? place : -1;
}

/* An item on processors: neighbouring places in one row of the output, with all their channels, so
 * that the cost of finding them is paid once. The windows of neighbouring places begin step_x
 * pixels apart. */
typedef struct gantry__stretch_t {
    GANTRY_LONG image, place; /* the image, and the first place, counted over all images */
    GANTRY_LONG top, left;    /* the beginning of that place's window */
    gantry__reach_t rows;     /* rows of the windows inside the image */
    int count;                /* places */
} gantry__stretch_t;

/* The stretch of places [first, end) of row y. */
GANTRY_SHARED_FN void gantry__find_places(const gantry__windows_t *p, GANTRY_LONG image,
                                          GANTRY_LONG y, GANTRY_LONG first, GANTRY_LONG end,
                                          gantry__stretch_t *stretch) {
    stretch->image = image;
    stretch->place = (image * p->out_height + y) * p->out_width + first;
    stretch->top = y * p->step_y - p->top;
    stretch->left = first * p->step_x - p->left;
    gantry__find_reach(stretch->top, p->spread_y, p->rows, p->height, &stretch->rows);
    stretch->count = (int)(end - first);
}

GANTRY_FN void gantry__find_stretch(const gantry__windows_t *p, GANTRY_LONG i,
                                    gantry__stretch_t *stretch) {
    GANTRY_FIND_RUN(p->runs)
    const GANTRY_LONG image = gantry__divide_position(line, p->out_height);

    gantry__find_places(p, image, line - image * p->out_height, first, end, stretch);
}

/* The bands of rows of stretches. */
typedef struct gantry__band_t {
    GANTRY_LONG image, images;
    GANTRY_LONG top, bottom; /* rows of places, without `bottom` */
    GANTRY_LONG first, end;  /* places of a row */
} gantry__band_t;

GANTRY_FN void gantry__find_band(const gantry__windows_t *p, GANTRY_LONG i, gantry__band_t *band) {
    GANTRY_FIND_RUN(p->runs)
    const GANTRY_LONG bands = gantry__divide_position(p->out_height + p->band - 1, p->band);

    band->image = gantry__divide_position(line, bands);
    band->images = p->band > p->out_height ? gantry__divide_position(p->band, p->out_height) : 1;
    band->top = (line - band->image * bands) * p->band;
    band->bottom = band->top + p->band < p->out_height ? band->top + p->band : p->out_height;
    band->first = first;
    band->end = end;
    band->image *= band->images;
}

/* Whether the windows' elements are apart. */
GANTRY_FN int gantry__has_gaps(const gantry__windows_t *p) {
    return p->spread_y != 1 || p->spread_x != 1;
}

/* gantry__find_reach, for windows of which most are inside. */
GANTRY_FN void gantry__find_elements(GANTRY_LONG place, GANTRY_LONG spread, GANTRY_LONG elements,
                                     GANTRY_LONG size, gantry__reach_t *inside) {
    if (place >= 0 && place + (elements - 1) * spread < size) {
        inside->first = 0;
        inside->end = elements;
    } else {
        gantry__find_reach(place, spread, elements, size, inside);
    }
}

/* Finds the columns inside the image, usually all, of a window that begins at `left`. */
GANTRY_FN void gantry__find_columns(const gantry__windows_t *p, GANTRY_LONG left,
                                    gantry__reach_t *inside) {
    gantry__find_elements(left, p->spread_x, p->columns, p->width, inside);
}

/* How many rows count, of windows that begin at `above`; and how many columns of those that begin
 * at `left`. */
GANTRY_FN GANTRY_LONG gantry__pool_counted_rows(const gantry__windows_t *p, GANTRY_LONG above) {
    const int is_counted = p->counted_height > 0;
    gantry__reach_t rows;

    gantry__find_elements(is_counted ? above + p->top : above, p->spread_y, p->rows,
                          is_counted ? p->counted_height : p->height, &rows);
    return rows.end - rows.first;
}

GANTRY_FN GANTRY_LONG gantry__pool_counted_columns(const gantry__windows_t *p, GANTRY_LONG left) {
    const int is_counted = p->counted_width > 0;
    gantry__reach_t columns;

    gantry__find_elements(is_counted ? left + p->left : left, p->spread_x, p->columns,
                          is_counted ? p->counted_width : p->width, &columns);
    return columns.end - columns.first;
}

/* A block of a pool on processors: places of a stretch, and channels, as far as their reduced
 * columns fit one line. */
#define GANTRY_POOL_LINE 1024
/* of a window over a plane: floats have the number of its elements */
#define GANTRY_POOL_MOST_ROWS 16384
/* the most channels of a block; a block of one place, which shares no columns, may have more: */
#define GANTRY_POOL_CHANNELS 64
#define GANTRY_POOL_LONE_CHANNELS (GANTRY_POOL_LINE / 2)
/* the most elements of a window, and the fewest channels, without blocks: */
#define GANTRY_POOL_FEW 4
#define GANTRY_POOL_FEWEST_CHANNELS 16

typedef struct gantry__pool_block_t {
    GANTRY_LONG channel; /* the first channel */
    int place;           /* the first place, counted in the stretch */
    int places, channels;
    int most_channels;
    int columns; /* columns of the windows in one pass: all, except for a block of one place */
    int is_flat; /* few channels: one loop reduces the pixels between the places as well */
} gantry__pool_block_t;

/* Makes the first block. The others have the same numbers of places and channels, or the rest. */
GANTRY_SHARED_FN void gantry__pool_blocks(const gantry__windows_t *p, int places,
                                          gantry__pool_block_t *block) {
    const GANTRY_LONG most = places == 1 ? GANTRY_POOL_LONE_CHANNELS : GANTRY_POOL_CHANNELS;
    const GANTRY_LONG channels = p->channels < most ? p->channels : most;
    const GANTRY_LONG pixels = GANTRY_POOL_LINE / channels, spare = pixels - p->columns;
    const GANTRY_LONG together = spare < p->step_x || p->step_x > 4 * p->columns
                                     ? 1
                                     : gantry__divide_position(spare, p->step_x) + 1;

    block->channel = 0;
    block->place = 0;
    block->places = together < places ? (int)together : places;
    block->channels = (int)channels;
    block->most_channels = (int)most;
    block->columns = (int)(spare < 0 ? pixels : p->columns);
    block->is_flat = p->step_x == 1 || channels < GANTRY_POOL_CHANNELS / 4;
}

/* A depthwise convolution on processors. The pixels under the windows of some neighbouring places
 * are copied into lines: one line for each row of the windows, with an element for each filter and
 * zeros for the padding. A line has step_x parts, so that a column of the windows is one contiguous
 * run for all places:
 *
 *     step_x 2, 3 filters    |pixel 0: f0 f1 f2|pixel 2: f0 f1 f2|...
 *                            |pixel 1: f0 f1 f2|pixel 3: f0 f1 f2|...
 *
 * The weights of a window's element are repeated, so that GANTRY_SUMS_AT_ONCE sums may start at any
 * filter. If there are enough channels, or enough filters for each channel, the loops read the
 * image directly, without lines. */
#define GANTRY_SUMS_AT_ONCE 32
#define GANTRY_HALF_SUMS (GANTRY_SUMS_AT_ONCE / 2)
/* The numbers that all lines hold. There is room for as many weights, and for half as many sums.
 * All of them are on a thread's stack, so wider types have fewer. */
#define GANTRY_LINE_ROOM(size) (16384 / (int)(size))
#define GANTRY_LINE_TAPS 128    /* more than lines have room for */
#define GANTRY_LINE_FILTERS 128 /* the most at once */
#define GANTRY_LINE_FEWEST 8    /* with fewer places at once, fewer filters are taken instead */
/* places at once without lines: with GANTRY_HALF_SUMS or more channels, */
#define GANTRY_PLACES 4
#define GANTRY_FEW_SUMS 8 /* or this many filters, or more, for each channel */
#define GANTRY_MANY_SUMS (GANTRY_PLACES * GANTRY_HALF_SUMS) /* channels of one place */

typedef struct gantry__lines_t {
    int filters, places; /* at once; 0 places: the windows are too large for lines */
    /* rows of windows at once; if these are not all rows, weights are gathered for each block */
    int rows;
    int parts, behind; /* a line's parts; pixels of one that only the last place's window covers */
    int is_direct;     /* no lines: all filters of a channel at a time */
} gantry__lines_t;

GANTRY_SHARED_FN void gantry__set_lines(const gantry__windows_t *p, int filters, int room,
                                        gantry__lines_t *lines) {
    const GANTRY_LONG reach = (p->columns - 1) * p->spread_x + 1,
                      parts = p->step_x < reach ? p->step_x : reach;
    const GANTRY_LONG taps = room / (filters + GANTRY_SUMS_AT_ONCE);
    const GANTRY_LONG behind = gantry__divide_position(reach - 1, p->step_x),
                      most = room / 2 / filters;
    const GANTRY_LONG fit = gantry__divide_position(taps, p->columns),
                      rows = fit < p->rows ? fit : p->rows;
    const GANTRY_LONG pixels =
        rows == 0 ? 0 : gantry__divide_position(room / filters, rows * parts);

    lines->filters = filters;
    lines->places = pixels <= behind         ? 0
                    : pixels - behind < most ? (int)(pixels - behind)
                                             : (int)most;
    lines->rows = (int)rows;
    lines->parts = (int)parts;
    lines->behind = (int)behind;
    lines->is_direct = 0;
}

/* filters must be the number at each place, and room GANTRY_LINE_ROOM. */
GANTRY_SHARED_FN void gantry__find_lines(const gantry__windows_t *p, GANTRY_LONG filters, int room,
                                         int may_be_direct, gantry__lines_t *lines) {
    const int most = filters < GANTRY_LINE_FILTERS ? (int)filters : GANTRY_LINE_FILTERS;
    const GANTRY_LONG step = p->depth == 1 ? GANTRY_HALF_SUMS : p->depth;

    gantry__set_lines(p, most, room, lines);
    if (may_be_direct && p->planes == 0 && step >= GANTRY_FEW_SUMS && step <= most &&
        p->rows * p->columns <= GANTRY_LINE_TAPS) {
        lines->is_direct = 1;
        lines->filters = most < filters ? most - most % (int)step : most;
    } else if (most > GANTRY_SUMS_AT_ONCE && lines->places < GANTRY_LINE_FEWEST) {
        gantry__set_lines(p, GANTRY_SUMS_AT_ONCE, room, lines);
    }
}

/* Makes the next block: as many places of the stretch, from `place` on, as fit. */
GANTRY_SHARED_FN void gantry__next_lines(const gantry__lines_t *lines, const gantry__stretch_t *s,
                                         int place, gantry__lines_t *next) {
    const int left = s->count - place;

    *next = *lines;
    next->places = left < next->places || next->places == 0 ? left : next->places;
}

/* Writes the offsets of the taps of `rows` window rows in the lines: row_size is between rows,
 * part_size between parts of a line, pixel_size between pixels of a part. */
GANTRY_SHARED_FN void gantry__find_taps(const gantry__windows_t *p, const int rows,
                                        const int row_size, const int parts, const int part_size,
                                        const int pixel_size, int *offsets) {
    const int columns = (int)p->columns;

    for (int column = 0; column < columns; ++column) {
        const int at = column * (int)p->spread_x, behind = at / parts;

        for (int row = 0; row < rows; ++row) {
            offsets[row * columns + column] =
                row * row_size + (at - behind * parts) * part_size + behind * pixel_size;
        }
    }
}

/* One element of a window: the offset of its pixel from the window's beginning, and that of its
 * weights from the first ones. */
typedef struct gantry__tap_t {
    GANTRY_LONG pixel, weights;
} gantry__tap_t;

/* Lists the taps of `rows` and `columns`; returns their number. */
GANTRY_SHARED_FN int gantry__list_taps(const gantry__windows_t *p, const gantry__reach_t *rows,
                                       const gantry__reach_t *columns,
                                       const GANTRY_LONG weights_apart, gantry__tap_t *taps) {
    int count = 0;

    for (GANTRY_LONG row = rows->first; row < rows->end; ++row) {
        for (GANTRY_LONG column = columns->first; column < columns->end; column++, count++) {
            taps[count].pixel = (row * p->spread_y * p->width + column * p->spread_x) * p->channels;
            taps[count].weights = (row * p->columns + column) * weights_apart;
        }
    }
    return count;
}

/* For each of the places whose windows share the pixels of a row: window_sum.cl. */
#define GANTRY_EACH_PLACE(DO, A, B, C) \
    DO(0, A, B, C);                    \
    DO(1, A, B, C);                    \
    DO(2, A, B, C);                    \
    DO(3, A, B, C);                    \
    DO(4, A, B, C);                    \
    DO(5, A, B, C);                    \
    DO(6, A, B, C);                    \
    DO(7, A, B, C);
/* For each pixel of a row under 8 windows of up to 5 columns, with steps of up to 2. */
#define GANTRY_EACH_PIXEL(DO, A, B) \
    DO(0, A, B);                    \
    DO(1, A, B);                    \
    DO(2, A, B);                    \
    DO(3, A, B);                    \
    DO(4, A, B);                    \
    DO(5, A, B);                    \
    DO(6, A, B);                    \
    DO(7, A, B);                    \
    DO(8, A, B);                    \
    DO(9, A, B);                    \
    DO(10, A, B);                   \
    DO(11, A, B);                   \
    DO(12, A, B);                   \
    DO(13, A, B);                   \
    DO(14, A, B);                   \
    DO(15, A, B);                   \
    DO(16, A, B);                   \
    DO(17, A, B);                   \
    DO(18, A, B);

#endif
