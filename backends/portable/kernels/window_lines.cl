/* Patches without making them: for matrix products on processors that read what windows see straight from the images.
 * Comes after window.cl; C and OpenCL C share it.
 *
 * A panel is so many places of the window, one after the other (rows of the product's first operand). Along the sum a
 * window's row lies in the image as it would lie in a patch: a line of columns * channels elements. So a panel's part of
 * the sum is read as pieces, window row after window row, each with one line per place. Where a row of some place leaves
 * the image, or its elements are spread, pieces end with each pixel, and what is outside is GANTRY_OUTSIDE.
 *
 *     place 0   |--- row 0 ---|--- row 1 ---|--- row 2 ---|
 *     place 1    |--- row 0 ---|...                               piece 0: row 0 of all places; piece 1: ... */
#ifndef GANTRY_WINDOW_LINES_CL
#define GANTRY_WINDOW_LINES_CL

#define GANTRY_PANEL_PLACES 12   /* the most */
#define GANTRY_PANEL_PIECES 32   /* looked for at once */
#define GANTRY_PANEL_DEPTH 2048  /* elements of the sum at once: so much of a panel of the filter stays near */
#define GANTRY_PANEL_ZEROS 512   /* elements of the longest line that may be outside */
#define GANTRY_OUTSIDE (-1)

typedef struct gantry_panel_t {
    GANTRY_LONG image[GANTRY_PANEL_PLACES]; /* its number, or GANTRY_OUTSIDE: there is no such place */
    GANTRY_LONG top[GANTRY_PANEL_PLACES], left[GANTRY_PANEL_PLACES];
    GANTRY_LONG start[GANTRY_PANEL_PLACES]; /* of is_inside: the window's first element */
    GANTRY_LONG places;
    int is_whole;  /* a window's row is one line */
    int is_inside; /* so is each row of each place, and nothing is outside */
} gantry_panel_t;

typedef struct gantry_piece_t {
    GANTRY_LONG line[GANTRY_PANEL_PLACES]; /* its first element in the images, or GANTRY_OUTSIDE */
    GANTRY_LONG count;                     /* elements of each line */
} gantry_piece_t;

/* Sets is_inside: the places follow each other in one row of the output, and no window sees the padding. */
GANTRY_FN void gantry_find_inside(const gantry_window_t *w, GANTRY_LONG first, gantry_panel_t *panel)
{
    const GANTRY_LONG row = gantry_divide_position(first, w->out_width), x = first - row * w->out_width;
    const GANTRY_LONG image = gantry_divide_position(row, w->out_height), y = row - image * w->out_height;
    const GANTRY_LONG top = y * w->step_y - w->top, left = x * w->step_x - w->left;
    const GANTRY_LONG bottom = top + (w->rows - 1) * w->spread_y;
    const GANTRY_LONG right = left + (panel->places - 1) * w->step_x + w->columns - 1;
    const GANTRY_LONG start = ((image * w->height + top) * w->width + left) * w->channels;

    for (int i = 0; i < GANTRY_PANEL_PLACES; i++) {
        panel->start[i] = start + i * w->step_x * w->channels;
    }
    panel->is_inside = w->spread_x == 1 && x + panel->places <= w->out_width && top >= 0 && left >= 0 &&
                       bottom < w->height && right < w->width;
}

/* The panel of `places` places from `first` on, of all there are. */
GANTRY_FN void gantry_find_panel(const gantry_window_t *w, GANTRY_LONG first, GANTRY_LONG all, GANTRY_LONG places,
                                 gantry_panel_t *panel)
{
    GANTRY_LONG row = gantry_divide_position(first, w->out_width), x = first - row * w->out_width;
    GANTRY_LONG image = gantry_divide_position(row, w->out_height), y = row - image * w->out_height;

    panel->places = places;
    panel->is_whole = w->spread_x == 1;
    gantry_find_inside(w, first, panel);
    for (GANTRY_LONG i = 0; !panel->is_inside && i < places; i++) {
        const int exists = first + i < all;
        const GANTRY_LONG left = x * w->step_x - w->left;

        panel->image[i] = exists ? image : GANTRY_OUTSIDE;
        panel->top[i] = y * w->step_y - w->top;
        panel->left[i] = left;
        panel->is_whole = panel->is_whole && (!exists || (left >= 0 && left + w->columns <= w->width));
        x = x + 1 < w->out_width ? x + 1 : 0;
        y += x == 0;
        image += y == w->out_height;
        y = y < w->out_height ? y : 0;
    }
}

/* Place i's line from element `offset` of pixel (r, c) of its window on. */
GANTRY_FN GANTRY_LONG gantry_find_line(const gantry_window_t *w, const gantry_panel_t *panel, GANTRY_LONG i,
                                       GANTRY_LONG r, GANTRY_LONG c, GANTRY_LONG offset)
{
    const GANTRY_LONG y = panel->top[i] + r * w->spread_y, x = panel->left[i] + c * w->spread_x;
    const int is_there = panel->image[i] >= 0 && gantry_is_inside(y, w->height) && gantry_is_inside(x, w->width);

    return is_there ? ((panel->image[i] * w->height + y) * w->width + x) * w->channels + offset : GANTRY_OUTSIDE;
}

/* The pieces from element *k of the sum's `depth` elements on; *k moves behind them. Returns how many. */
GANTRY_FN GANTRY_LONG gantry_find_pieces(const gantry_window_t *w, const gantry_panel_t *panel, GANTRY_LONG depth,
                                         GANTRY_LONG *k, gantry_piece_t *pieces)
{
    const GANTRY_LONG row = w->columns * w->channels, length = panel->is_whole ? row : w->channels;
    const GANTRY_LONG end = depth - *k < GANTRY_PANEL_DEPTH ? depth : *k + GANTRY_PANEL_DEPTH;
    GANTRY_LONG found = 0, r = gantry_divide_position(*k, row), rest = *k - r * row;

    for (; *k < end && found < GANTRY_PANEL_PIECES; found++) {
        gantry_piece_t *piece = pieces + found;
        const GANTRY_LONG c = panel->is_whole ? 0 : gantry_divide_position(rest, w->channels);
        const GANTRY_LONG offset = rest - c * w->channels;
        GANTRY_LONG count = length - offset < end - *k ? length - offset : end - *k;

        if (panel->is_inside) {
            const GANTRY_LONG from = r * w->spread_y * w->width * w->channels + offset;

            for (int i = 0; i < GANTRY_PANEL_PLACES; i++) {
                piece->line[i] = panel->start[i] + from;
            }
        } else {
            count = count < GANTRY_PANEL_ZEROS ? count : GANTRY_PANEL_ZEROS;
            for (GANTRY_LONG i = 0; i < panel->places; i++) {
                piece->line[i] = gantry_find_line(w, panel, i, r, c, offset);
            }
        }
        piece->count = count;
        *k += count;
        rest += count;
        r += rest == row;
        rest = rest == row ? 0 : rest;
    }
    return found;
}

#endif
