/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and their gradients as products of patches that are in no memory: an element of A is
 * read from the images when its tile is loaded. The kernels are matmul_tile and matmul_item of
 * matmul.cl otherwise, which this text must follow. Sums have the order that they have over patches
 * in memory, so the bits are equal.
 *
 *   GANTRY_PATCHES 1  A is patches of images whose channels come last: a convolution
 *                  2  the same, of images whose channels come first
 *                  3  A is patches, transposed, and B the gradient of the result: the gradient of
 *                     the filter
 *                  4  the gradient of the images. A row of A is a pixel. For each element of the
 *                     window, its columns are the outputs at the place whose element the pixel is,
 *                     and B is the filter's element. The products are rounded to T, as patches are,
 *                     and added up element by element
 *
 * With steps above 1 it depends on a pixel's remainders by the steps which elements it can be. The
 * batch of the gradient is these remainders, so that a group skips what none of its pixels is.
 *
 * Both a row and a column of A have a place in the images, and what is read is at their sum. A
 * work-item keeps its rows. The group keeps the columns of a tile in local memory, and finds those
 * of the next tile while it multiplies. */

#if !GANTRY_SERIAL

/* Must have the same fields as gantry__patches_t. Numbers of places, pixels and elements have 31
 * bits, sizes 28. */
typedef struct {
    GANTRY_LONG height, width;              /* of what is read */
    GANTRY_LONG image, row, pixel, channel; /* its strides, in elements */
    GANTRY_LONG places_y, places_x;         /* of an image: places; 4: pixels of a batch */
    GANTRY_LONG step_y, step_x;             /* from place to place */
    GANTRY_LONG top, left;                  /* padding before the image */
    GANTRY_LONG rows, columns, channels;    /* of the window */
    GANTRY_LONG spread_y, spread_x;         /* from element to element */
    GANTRY_LONG out_height, out_width;      /* 4: the images */
} patches_t;

/* A part of a place in what is read. */
typedef struct {
    int y, x;
    GANTRY_LONG at;
} tap_t;

#define NOWHERE (-(1 << 29))

GANTRY_FN void set_tap(const patches_t *p, const int y, const int x, const GANTRY_LONG from,
                       const int is_there, tap_t *tap) {
    tap->y = is_there ? y : NOWHERE;
    tap->x = x;
    tap->at = from + y * p->row + x * p->pixel;
}

/* The place of number `index`. */
GANTRY_FN void find_place(const patches_t *p, const uint index, const GANTRY_LONG end, tap_t *tap) {
    const uint line = index / (uint)p->places_x, image = line / (uint)p->places_y;
    const int y = (int)(line - image * (uint)p->places_y);
    const int x = (int)(index - line * (uint)p->places_x);

#if GANTRY_PATCHES == 4
    set_tap(p, y, x, image * p->image, index < end, tap);
#else
    set_tap(p, y * (int)p->step_y - (int)p->top, x * (int)p->step_x - (int)p->left,
            image * p->image, index < end, tap);
#endif
}

/* The element of number `index` of a patch. */
GANTRY_FN void find_element(const patches_t *p, const uint index, const GANTRY_LONG end,
                            tap_t *tap) {
    const uint pixel = index / (uint)p->channels, row = pixel / (uint)p->columns;

    set_tap(p, (int)row * (int)p->spread_y,
            (int)(pixel - row * (uint)p->columns) * (int)p->spread_x,
            (index - pixel * (uint)p->channels) * p->channel, index < end, tap);
}

GANTRY_FN int is_inside(const patches_t *p, const tap_t *row, const int y, const int x) {
    return (uint)(row->y + y) < (uint)p->height && (uint)(row->x + x) < (uint)p->width;
}

#if GANTRY_PATCHES == 4

/* The remainders of batch number `batch`. */
GANTRY_FN void find_remainders(const patches_t *p, const int batch, int *y, int *x) {
    *y = batch / (int)p->step_x;
    *x = batch - *y * (int)p->step_x;
}

/* What must be added to the number of a pixel in the batch for the place whose element it is. False
 * if no pixel of the batch is this element. */
GANTRY_FN int find_shifts(const patches_t *p, const int element, const int batch, int *y, int *x) {
    const int r = element / (int)p->columns, c = element - r * (int)p->columns;
    const int step_y = (int)p->step_y, step_x = (int)p->step_x;
    int down, right;

    find_remainders(p, batch, &down, &right);
    down += (int)p->top - r * (int)p->spread_y;
    right += (int)p->left - c * (int)p->spread_x;
    *y = down / step_y;
    *x = right / step_x;
    return *y * step_y == down && *x * step_x == right;
}

/* The offset of the row's pixel in the images; -1: there is none. */
GANTRY_FN GANTRY_LONG find_pixel(const patches_t *p, const uint row, const int batch) {
    const uint line = row / (uint)p->places_x, image = line / (uint)p->places_y;
    int down, right;

    find_remainders(p, batch, &down, &right);
    const GANTRY_LONG y = (line - image * (uint)p->places_y) * p->step_y + down;
    const GANTRY_LONG x = (row - line * (uint)p->places_x) * p->step_x + right;

    return y < p->out_height && x < p->out_width
               ? ((image * p->out_height + y) * p->out_width + x) * p->channels
               : -1;
}
#endif

/* FOR_ELEMENTS repeats its block for each element of the window whose products are apart: `depth`
 * columns of A. */
#if GANTRY_PATCHES == 4
#define FIND_ROW find_place
#define FIND_COLUMN(index, tap) \
    set_tap(&patches, shift_y, shift_x, index, (index) < (uint)plan.k, tap)
#define FOR_ELEMENTS \
    for (int element = 0; element < (int)(patches.rows * patches.columns); ++element)
#define FIND_SHIFTS           \
    int shift_y, shift_x;     \
    const GANTRY_LONG depth = \
        find_shifts(&patches, element, (int)batch, &shift_y, &shift_x) ? plan.k : 0;
#define OF_ELEMENT (element * plan.n * plan.k)
#elif GANTRY_PATCHES == 3
#define FIND_ROW find_element
#define FIND_COLUMN(index, tap) find_place(&patches, index, plan.k, tap)
#else
#define FIND_ROW find_place
#define FIND_COLUMN(index, tap) find_element(&patches, index, plan.k, tap)
#endif
#if GANTRY_PATCHES != 4
#define FOR_ELEMENTS
#define FIND_SHIFTS const GANTRY_LONG depth = plan.k;
#define OF_ELEMENT 0
#endif

/* neighbouring work-items read neighbouring channels, or neighbouring places of a channel */
#if GANTRY_PATCHES == 1 || GANTRY_PATCHES == 4
#define OWN_ROWS GANTRY_MATMUL_EACH
#define DEEP_OF(i) ((i) % DEPTH)
#define ROW_OF(i) ((i) / DEPTH)
#else
#define OWN_ROWS 1
#define DEEP_OF(i) ((i) / SIDE)
#define ROW_OF(i) ((i) % SIDE)
#endif

#define FIND_COLUMNS(first)                            \
    if (item < DEPTH) {                                \
        tap_t tap;                                     \
        FIND_COLUMN((uint)(first) + (uint)item, &tap); \
        deep_y[item] = tap.y;                          \
        deep_x[item] = tap.x;                          \
        deep_at[item] = tap.at;                        \
    }

#define LOAD_TILES(first)                                                                 \
    GANTRY_UNROLLED for (int i = 0; i < GANTRY_MATMUL_EACH; ++i) {                        \
        const int deep = DEEP_OF(item + 256 * i), to = ROW_OF(item + 256 * i);            \
        const tap_t *from = &own[i % OWN_ROWS];                                           \
        const int is_there = is_inside(&patches, from, deep_y[deep], deep_x[deep]);       \
        a_tile[deep * A_SIDE + to] = is_there ? LOAD(x[from->at + deep_at[deep]]) : (U)0; \
    }                                                                                     \
    for (int i = item; i < DEPTH * SIDE; i += 256) {                                      \
        int deep = plan.b_column == 1 ? i / SIDE : i % DEPTH;                             \
        int to = plan.b_column == 1 ? i % SIDE : i / DEPTH;                               \
        GANTRY_LONG from =                                                                \
            OF_ELEMENT + ((first) + deep) * plan.b_row + (column + to) * plan.b_column;   \
        int is_there = column + to < plan.n && (first) + deep < plan.k;                   \
        b_tile[deep * SIDE + to] = is_there ? LOAD(y[from]) : (U)0;                       \
    }

/* Adds an element's finished sums to the totals. PoCL 3.1 computes this wrongly for halves without
 * the barrier, because the loop before, whose barriers part the group's work, may have no rounds.
 */
#define ADD_TOTALS()                                                                  \
    GANTRY_BARRIER();                                                                 \
    GANTRY_UNROLLED for (int i = 0; i < GANTRY_MATMUL_EACH; ++i) {                    \
        tap_t of;                                                                     \
        find_place(&patches, (uint)row + (uint)(down + 16 * i), plan.m, &of);         \
        const int is_there = depth > 0 && is_inside(&patches, &of, shift_y, shift_x); \
        GANTRY_UNROLLED for (int j = 0; j < GANTRY_MATMUL_EACH; ++j) {                \
            const int k = i * GANTRY_MATMUL_EACH + j;                                 \
            totals[k] = is_there ? totals[k] + LOAD(STORED(sums[k])) : totals[k];     \
            sums[k] = 0;                                                              \
        }                                                                             \
    }

GANTRY_KERNEL patches_tile(GANTRY_SPAN_IN(a), GANTRY_SPAN_IN(b), GANTRY_SPAN_OUT(c),
                           BIAS_SPAN GANTRY_VALUE(matmul_t, plan),
                           GANTRY_VALUE(patches_t, patches)) {
    GANTRY_TAKE(matmul_t, plan)
    GANTRY_TAKE(patches_t, patches)
    GANTRY_LOCAL_ARRAY(U, a_tile, DEPTH * A_SIDE);
    GANTRY_LOCAL_ARRAY(U, b_tile, DEPTH * SIDE);
    GANTRY_LOCAL_ARRAY(int, deep_y, DEPTH);
    GANTRY_LOCAL_ARRAY(int, deep_x, DEPTH);
    GANTRY_LOCAL_ARRAY(GANTRY_LONG, deep_at, DEPTH);
    const matmul_place_t at =
        matmul_place(GANTRY_GROUP_ID(0), plan.blocks_down, plan.blocks_across);
    const GANTRY_LONG batch = at.batch, row = at.row * SIDE, column = at.column * SIDE;
    GANTRY_GLOBAL const T *x = GANTRY_IN(T, a);
    GANTRY_GLOBAL const T *y = GANTRY_IN(T, b);
    const int item = (int)GANTRY_LOCAL_ID(0);
#if GANTRY_EPILOGUE & 4
    const int down = item % 16, across = item / 16;
#else
    const int down = item / 16;
    const int across = item % 16;
#endif
    U sums[GANTRY_MATMUL_EACH * GANTRY_MATMUL_EACH];
    tap_t own[OWN_ROWS];
    GANTRY_UNROLLED for (int i = 0; i < OWN_ROWS; ++i) {
        FIND_ROW(&patches, (uint)row + (uint)ROW_OF(item + 256 * i), plan.m, &own[i]);
    }
    GANTRY_UNROLLED for (int i = 0; i < GANTRY_MATMUL_EACH * GANTRY_MATMUL_EACH; ++i) {
        sums[i] = 0;
    }
#if GANTRY_PATCHES == 4
    U totals[GANTRY_MATMUL_EACH * GANTRY_MATMUL_EACH];
    GANTRY_UNROLLED for (int i = 0; i < GANTRY_MATMUL_EACH * GANTRY_MATMUL_EACH; ++i) {
        totals[i] = 0;
    }
#endif
    FOR_ELEMENTS {
        FIND_SHIFTS
        FIND_COLUMNS(0)
        GANTRY_BARRIER();
        for (GANTRY_LONG first = 0; first < depth; first += DEPTH) {
            LOAD_TILES(first)
            GANTRY_BARRIER();
            FIND_COLUMNS(first + DEPTH)
            ADD_TILES()
            GANTRY_BARRIER();
        }
#if GANTRY_PATCHES == 4
        ADD_TOTALS()
#endif
    }
    GANTRY_UNROLLED for (int i = 0; i < GANTRY_MATMUL_EACH; ++i) {
        const GANTRY_LONG to_row = row + down + 16 * i;
#if GANTRY_PATCHES == 4
        const GANTRY_LONG to =
            to_row < plan.m ? find_pixel(&patches, (uint)to_row, (int)batch) : -1;
#endif
        GANTRY_UNROLLED for (int j = 0; j < GANTRY_MATMUL_EACH; ++j) {
            const GANTRY_LONG to_column = column + across + 16 * j;
#if GANTRY_PATCHES == 4
            if (to >= 0 && to_column < plan.n) {
                GANTRY_OUT(T, c)[to + to_column] = STORED(totals[i * GANTRY_MATMUL_EACH + j]);
            }
#else
            if (to_row < plan.m && to_column < plan.n) {
                GANTRY_OUT(T, c)
                [OFFSET(to_row, to_column)] =
                    finished(sums[i * GANTRY_MATMUL_EACH + j], BIAS(batch, to_column));
            }
#endif
        }
    }
}

GANTRY_KERNEL patches_item(GANTRY_SPAN_IN(a), GANTRY_SPAN_IN(b), GANTRY_SPAN_OUT(c),
                           BIAS_SPAN GANTRY_VALUE(matmul_t, plan),
                           GANTRY_VALUE(patches_t, patches)) {
    GANTRY_TAKE(matmul_t, plan)
    GANTRY_TAKE(patches_t, patches)
    const GANTRY_LONG place = GANTRY_GLOBAL_ID(0);
    const matmul_place_t at = matmul_place(place, plan.m, plan.n);
    const GANTRY_LONG batch = at.batch, row = at.row, column = at.column;
    GANTRY_GLOBAL const T *x = GANTRY_IN(T, a);
    GANTRY_GLOBAL const T *y = GANTRY_IN(T, b) + column * plan.b_column;
    tap_t own, tap;
    U sum = 0;
#if GANTRY_PATCHES == 4
    U total = 0;
#endif
    if (place >= plan.elements) {
        return;
    }
    FIND_ROW(&patches, (uint)row, plan.m, &own);
    FOR_ELEMENTS {
        FIND_SHIFTS
        for (uint deep = 0; deep < (uint)depth; ++deep) {
            FIND_COLUMN(deep, &tap);
            const int is_there = is_inside(&patches, &own, tap.y, tap.x);
            sum = MULTIPLY_ADD(is_there ? LOAD(x[own.at + tap.at]) : (U)0,
                               LOAD(y[OF_ELEMENT + deep * plan.b_row]), sum);
        }
#if GANTRY_PATCHES == 4
        total = depth > 0 && is_inside(&patches, &own, shift_y, shift_x) ? total + LOAD(STORED(sum))
                                                                         : total;
        sum = 0;
#endif
    }
#if GANTRY_PATCHES == 4
    const GANTRY_LONG to = find_pixel(&patches, (uint)row, (int)batch);
    if (to >= 0) {
        GANTRY_OUT(T, c)[to + column] = STORED(total);
    }
#else
    GANTRY_OUT(T, c)[OFFSET(row, column)] = finished(sum, BIAS(batch, column));
#endif
}

#endif
