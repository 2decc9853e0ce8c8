/* The geometry of windows over images, which the texts of pooling, patches and convolution share. An image is
 * [batch, height, width, channels]; with the channels outermost of the three (NCHW) it counts as batch x channels images
 * of one channel each. */
#ifndef GANTRY_WINDOW_CL
#define GANTRY_WINDOW_CL

typedef struct gantry_window_t {
    gantry_work_t work;
    GANTRY_LONG height, width, channels;   /* of the image the window slides over */
    GANTRY_LONG out_height, out_width;     /* places of the window */
    GANTRY_LONG rows, columns;             /* elements of the window */
    GANTRY_LONG step_y, step_x;            /* from place to place */
    GANTRY_LONG spread_y, spread_x;        /* from element to element: the dilation */
    GANTRY_LONG top, left;                 /* padding before the image */
    GANTRY_LONG planes;                    /* channels, where they are images of their own; else 0 */
    GANTRY_LONG depth;                     /* of depthwise filters: outputs per channel; of others: outputs */
    gantry_runs_t runs;                    /* stretches of places (gantry_stretch_t); of MaxPool the channels or, where there
                                              is one, places side by side */
} gantry_window_t;

/* An element of [batch, y, x, channel]. */
typedef struct gantry_pixel_t {
    GANTRY_LONG image, y, x, channel;
} gantry_pixel_t;

GANTRY_FN gantry_pixel_t gantry_pixel(GANTRY_LONG position, GANTRY_LONG height, GANTRY_LONG width, GANTRY_LONG channels)
{
    const GANTRY_LONG column = gantry_divide_position(position, channels);
    const GANTRY_LONG row = gantry_divide_position(column, width);
    gantry_pixel_t pixel;

    pixel.image = gantry_divide_position(row, height);
    pixel.channel = position - column * channels;
    pixel.x = column - row * width;
    pixel.y = row - pixel.image * height;
    return pixel;
}

GANTRY_FN int gantry_is_inside(GANTRY_LONG place, GANTRY_LONG size)
{
    return (ulong)place < (ulong)size;
}

/* The elements [first, end) of a window that lie inside the image, along one dimension: element e is at place + e * spread
 * of [0, size). A window may be larger than any image; what is outside costs nothing. Likewise the windows side by side
 * whose element of one number lies inside: spread is then the step between them. */
typedef struct gantry_reach_t {
    GANTRY_LONG first, end;
} gantry_reach_t;

GANTRY_FN gantry_reach_t gantry_reach(GANTRY_LONG place, GANTRY_LONG spread, GANTRY_LONG elements, GANTRY_LONG size)
{
    const GANTRY_LONG left = size > place ? gantry_divide_position(size - place + spread - 1, spread) : 0;
    gantry_reach_t reach;

    reach.first = place < 0 ? gantry_divide_position(spread - 1 - place, spread) : 0;
    reach.end = left < elements ? left : elements;
    return reach;
}

/* What one element of a pool's output, or of a depthwise convolution's, sees: the element, where its window begins, and
 * which of the window's elements lie inside. */
typedef struct gantry_view_t {
    gantry_pixel_t at;
    GANTRY_LONG top, left;
    gantry_reach_t rows, columns;
} gantry_view_t;

/* innermost: elements of the output at one place. */
GANTRY_FN gantry_view_t gantry_view(const gantry_window_t *p, GANTRY_LONG innermost, GANTRY_LONG i)
{
    gantry_view_t view;

    view.at = gantry_pixel(i, p->out_height, p->out_width, innermost);
    view.top = view.at.y * p->step_y - p->top;
    view.left = view.at.x * p->step_x - p->left;
    view.rows = gantry_reach(view.top, p->spread_y, p->rows, p->height);
    view.columns = gantry_reach(view.left, p->spread_x, p->columns, p->width);
    return view;
}

/* The other way: the place whose window, by one of its elements, is `distance` further on than the first one's beginning;
 * -1: there is none. */
GANTRY_FN GANTRY_LONG gantry_place_through(GANTRY_LONG distance, GANTRY_LONG step, GANTRY_LONG places)
{
    const GANTRY_LONG place = step == 1 || distance < 0 ? distance : gantry_divide_position(distance, step);

    return distance >= 0 && place * step == distance && place < places ? place : -1;
}

/* What an item is on processors: places side by side in one row of the output, with all their channels; so what it takes
 * to find them is paid once. Of two of them the second one's window begins step_x further right. */
typedef struct gantry_stretch_t {
    GANTRY_LONG image, place; /* the image, and the first place, counted over all images */
    GANTRY_LONG top, left;    /* where its window begins */
    gantry_reach_t rows;      /* of the windows, that are inside */
    int count;                /* places, GANTRY_RUN_MOST at the most */
} gantry_stretch_t;

GANTRY_FN gantry_stretch_t gantry_stretch(const gantry_window_t *p, GANTRY_LONG i)
{
    GANTRY_FIND_RUN(p->runs)
    gantry_stretch_t stretch;

    stretch.image = gantry_divide_position(line, p->out_height);
    stretch.place = line * p->out_width + first;
    stretch.top = (line - stretch.image * p->out_height) * p->step_y - p->top;
    stretch.left = first * p->step_x - p->left;
    stretch.rows = gantry_reach(stretch.top, p->spread_y, p->rows, p->height);
    stretch.count = (int)(end - first);
    return stretch;
}

/* The columns of a window that begins at `left` which are inside: mostly all of them. */
GANTRY_FN gantry_reach_t gantry_columns_inside(const gantry_window_t *p, GANTRY_LONG left)
{
    const gantry_reach_t all = {0, p->columns};

    return left >= 0 && left + (p->columns - 1) * p->spread_x < p->width
               ? all
               : gantry_reach(left, p->spread_x, p->columns, p->width);
}

/* A run of a pool's output, item i: which elements, and what the first one sees. */
typedef struct gantry_pool_run_t {
    GANTRY_LONG start; /* in the output */
    GANTRY_LONG channel;
    int count, is_of_channels;
    gantry_view_t view;
} gantry_pool_run_t;

GANTRY_FN gantry_pool_run_t gantry_pool_run(const gantry_window_t *p, GANTRY_LONG i)
{
    GANTRY_FIND_RUN(p->runs)
    gantry_pool_run_t run;

    run.start = line * p->runs.size + first;
    run.count = (int)(end - first);
    run.is_of_channels = p->runs.size == p->channels;
    run.channel = run.is_of_channels ? first : 0;
    run.view = gantry_view(p, 1, run.is_of_channels ? line : run.start);
    return run;
}

/* Does `join`, statements, for every element of the run's windows that is inside, row by row: its value in x, an element
 * of T, belongs to the run's k-th result. */
#define GANTRY_EACH_IN_POOL(run, p, x, join)                                                                       \
    for (GANTRY_LONG r = (run).view.rows.first; r < (run).view.rows.end; r++) {                                    \
        const GANTRY_LONG row = ((run).view.at.image * (p)->height + (run).view.top + r) * (p)->width;             \
                                                                                                                   \
        if ((run).is_of_channels) {                                                                                \
            for (GANTRY_LONG c = (run).view.columns.first; c < (run).view.columns.end; c++) {                      \
                GANTRY_GLOBAL const T *from = (x) + (row + (run).view.left + c) * (p)->channels + (run).channel;    \
                for (int k = 0; k < count; k++) {                                                                  \
                    const C value = GANTRY_WIDEN(from[k]);                                                         \
                    join                                                                                           \
                }                                                                                                  \
            }                                                                                                      \
        } else {                                                                                                   \
            for (GANTRY_LONG c = 0; c < (p)->columns; c++) {                                                       \
                const GANTRY_LONG at = (run).view.left + c;                                                        \
                const gantry_reach_t places = gantry_reach(at, (p)->step_x, count, (p)->width);                    \
                for (int k = (int)places.first; k < (int)places.end; k++) {                                        \
                    const C value = GANTRY_WIDEN((x)[row + at + k * (p)->step_x]);                                 \
                    join                                                                                           \
                }                                                                                                  \
            }                                                                                                      \
        }                                                                                                          \
    }

#endif
