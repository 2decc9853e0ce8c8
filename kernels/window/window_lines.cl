/* SPDX-License-Identifier: Apache-2.0 */
/* Patches without making them: for matrix products on processors that read what windows see
 * straight from the images. Comes after window.cl; C and OpenCL C share it.
 *
 * A panel is so many places of the window, one after the other (rows of the product's first
 * operand). Along the sum a window's row lies in the image as it would lie in a patch: a line of
 * columns * channels elements. So a panel's part of the sum is read as pieces, window row after
 * window row, each with one line per place. Where a row of some place leaves the image, what the
 * panel sees of each image row is copied first, with zeros outside: a strip for each window row.
 * Where strips would be long, or elements are spread, pieces end with each pixel, and what is
 * outside is GANTRY_OUTSIDE.
 *
 *     place 0   |--- row 0 ---|--- row 1 ---|--- row 2 ---|
 *     place 1    |--- row 0 ---|...
 *
 * Piece 0 is row 0 of all places, piece 1 row 1, and so on. */
#ifndef GANTRY_WINDOW_LINES_CL
#define GANTRY_WINDOW_LINES_CL

#define GANTRY_PANEL_PLACES 12 /* the most */
#define GANTRY_PANEL_PIECES 32 /* looked for at once */
/* elements of the sum at once: so much of a panel of the filter stays near */
#define GANTRY_PANEL_DEPTH 2048
#define GANTRY_PANEL_ZEROS 512   /* elements of the longest line that may be outside */
#define GANTRY_PANEL_STRIPS 4096 /* elements of all strips at once */
#define GANTRY_OUTSIDE (-1)

/* Few outputs leave a panel of the filter nearly empty: then lines, which must be so many chains
 * long or a multiple, are multiplied with the filter's columns element by element, and the
 * chains' sums added pairwise. The same on all devices. */
#define GANTRY_FEW_OUTPUT_BYTES 16
#define GANTRY_FEW_CHAIN_BYTES 64
#define GANTRY_FEW_COLUMNS 4 /* are packed, the last ones zeros */

GANTRY_FN int gantry__has_few_outputs(GANTRY_LONG outputs, GANTRY_LONG channels, GANTRY_LONG size) {
    return outputs * size <= GANTRY_FEW_OUTPUT_BYTES &&
           channels * size % GANTRY_FEW_CHAIN_BYTES == 0;
}

typedef struct gantry__panel_t {
    /* its number, or GANTRY_OUTSIDE: there is no such place */
    GANTRY_LONG image[GANTRY_PANEL_PLACES];
    GANTRY_LONG top[GANTRY_PANEL_PLACES], left[GANTRY_PANEL_PLACES];
    GANTRY_LONG at[GANTRY_PANEL_PLACES]; /* where in a strip its window begins */
    GANTRY_LONG strip;                   /* elements of a strip */
    GANTRY_LONG start;                   /* of is_inside: the first element that place 0 sees */
    GANTRY_LONG places;
    int is_whole; /* a window's row is one line */
    /* so is each row of each place, nothing is outside, and the places follow each other in one
     * row */
    int is_inside;
} gantry__panel_t;

typedef struct gantry__lines_piece_t {
    GANTRY_LONG line[GANTRY_PANEL_PLACES]; /* its first element in the images, or GANTRY_OUTSIDE */
    GANTRY_LONG count;                     /* elements of each line */
} gantry__lines_piece_t;

/* The panel of `places` places from `first` on, of all there are. */
GANTRY_FN void gantry__find_panel(const gantry__windows_t *w, GANTRY_LONG first, GANTRY_LONG all,
                                  GANTRY_LONG places, gantry__panel_t *panel) {
    GANTRY_LONG row = gantry__divide_position(first, w->out_width), x = first - row * w->out_width;
    GANTRY_LONG image = gantry__divide_position(row, w->out_height),
                y = row - image * w->out_height;
    const GANTRY_LONG top = y * w->step_y - w->top, bottom = top + (w->rows - 1) * w->spread_y;
    const GANTRY_LONG left = x * w->step_x - w->left,
                      right = left + (places - 1) * w->step_x + w->columns - 1;

    panel->places = places;
    panel->strip = 0;
    panel->start = ((image * w->height + top) * w->width + left) * w->channels;
    panel->is_whole = w->spread_x == 1;
    panel->is_inside = panel->is_whole && x + places <= w->out_width && top >= 0 && left >= 0 &&
                       bottom < w->height && right < w->width;
    for (GANTRY_LONG i = 0; !panel->is_inside && i < places; ++i) {
        const int exists = first + i < all;

        panel->image[i] = exists ? image : GANTRY_OUTSIDE;
        panel->top[i] = y * w->step_y - w->top;
        panel->left[i] = x * w->step_x - w->left;
        panel->strip += i == 0 ? 0 : (x == 0 ? w->columns : w->step_x) * w->channels;
        panel->at[i] = panel->strip;
        panel->is_whole =
            panel->is_whole &&
            (!exists || (panel->left[i] >= 0 && panel->left[i] + w->columns <= w->width));
        x = x + 1 < w->out_width ? x + 1 : 0;
        y += x == 0;
        image += y == w->out_height;
        y = y < w->out_height ? y : 0;
    }
    panel->strip += w->columns * w->channels;
}

/* Place i's line from element `offset` of pixel (r, c) of its window on. */
GANTRY_FN GANTRY_LONG gantry__find_line(const gantry__windows_t *w, const gantry__panel_t *panel,
                                        GANTRY_LONG i, GANTRY_LONG r, GANTRY_LONG c,
                                        GANTRY_LONG offset) {
    const GANTRY_LONG y = panel->top[i] + r * w->spread_y, x = panel->left[i] + c * w->spread_x;
    const int is_there =
        panel->image[i] >= 0 && gantry__is_inside(y, w->height) && gantry__is_inside(x, w->width);

    return is_there ? ((panel->image[i] * w->height + y) * w->width + x) * w->channels + offset
                    : GANTRY_OUTSIDE;
}

/* The pieces from element *k of the sum's `depth` elements on; *k moves behind them. Returns how
 * many. */
GANTRY_FN GANTRY_LONG gantry__find_pieces(const gantry__windows_t *w, const gantry__panel_t *panel,
                                          GANTRY_LONG depth, GANTRY_LONG *k,
                                          gantry__lines_piece_t *pieces) {
    const GANTRY_LONG row = w->columns * w->channels, length = panel->is_whole ? row : w->channels;
    const GANTRY_LONG end = depth - *k < GANTRY_PANEL_DEPTH ? depth : *k + GANTRY_PANEL_DEPTH;
    GANTRY_LONG found = 0, r = gantry__divide_position(*k, row), rest = *k - r * row;

    for (; *k < end && found < GANTRY_PANEL_PIECES; ++found) {
        gantry__lines_piece_t *piece = pieces + found;
        const GANTRY_LONG c = panel->is_whole ? 0 : gantry__divide_position(rest, w->channels);
        const GANTRY_LONG offset = rest - c * w->channels;
        GANTRY_LONG count = length - offset < end - *k ? length - offset : end - *k;

        if (panel->is_inside) {
            const GANTRY_LONG from = r * w->spread_y * w->width * w->channels + offset;

            for (int i = 0; i < GANTRY_PANEL_PLACES; ++i) {
                piece->line[i] = panel->start + i * w->step_x * w->channels + from;
            }
        } else {
            count = count < GANTRY_PANEL_ZEROS ? count : GANTRY_PANEL_ZEROS;
            for (GANTRY_LONG i = 0; i < panel->places; ++i) {
                piece->line[i] = gantry__find_line(w, panel, i, r, c, offset);
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

/* ---- strips ---- */

/* Whether strips serve the panel. */
GANTRY_FN int gantry__has_strips(const gantry__windows_t *w, const gantry__panel_t *panel) {
    return !panel->is_whole && w->spread_x == 1 && panel->strip <= GANTRY_PANEL_STRIPS;
}

/* What places that lie in one row of the output see of their windows' rows, in elements: in a
 * strip, from `to` on so many zeros, then `count` of the images' elements, then zeros up to
 * `end`; nothing but zeros where the row is outside. */
typedef struct gantry__strip_part_t {
    GANTRY_LONG to, zeros, count, end;
    GANTRY_LONG from, row; /* of the windows' first row in the images, and to the next one */
    GANTRY_LONG y;         /* of that first row in its image */
} gantry__strip_part_t;

/* The part of the places from `first` on. Returns the place behind them. */
GANTRY_FN GANTRY_LONG gantry__find_strip_part(const gantry__windows_t *w,
                                              const gantry__panel_t *panel, GANTRY_LONG first,
                                              gantry__strip_part_t *part) {
    const GANTRY_LONG image = panel->image[first], y = panel->top[first],
                      left = panel->left[first] * w->channels;
    const GANTRY_LONG begin = left < 0 ? -left : 0, right = w->width * w->channels - left;
    GANTRY_LONG next = first + 1, stop;

    while (next < panel->places && panel->top[next] == y && panel->image[next] == image) {
        next++;
    }
    part->to = panel->at[first];
    part->end = next < panel->places ? panel->at[next] : panel->strip;
    stop = right < part->end - part->to ? right : part->end - part->to;
    part->zeros = begin;
    part->count = image >= 0 && stop > begin ? stop - begin : 0;
    part->row = w->spread_y * w->width * w->channels;
    part->from = (image * w->height + y) * w->width * w->channels + left + begin;
    part->y = y;
    return next;
}

/* Whether window row r has elements of the images there. */
GANTRY_FN int gantry__has_elements(const gantry__windows_t *w, const gantry__strip_part_t *part,
                                   GANTRY_LONG r) {
    return part->count > 0 && gantry__is_inside(part->y + r * w->spread_y, w->height);
}

/* The pieces of `rows` strips, one behind the other. */
GANTRY_FN void gantry__find_strip_pieces(const gantry__windows_t *w, const gantry__panel_t *panel,
                                         GANTRY_LONG rows, gantry__lines_piece_t *pieces) {
    for (GANTRY_LONG r = 0; r < rows; ++r) {
        for (GANTRY_LONG i = 0; i < panel->places; ++i) {
            pieces[r].line[i] = r * panel->strip + panel->at[i];
        }
        pieces[r].count = w->columns * w->channels;
    }
}

/* Of how many window rows strips are made at once. */
GANTRY_FN GANTRY_LONG gantry__strips_at_once(const gantry__panel_t *panel) {
    const GANTRY_LONG fit = gantry__divide_position(GANTRY_PANEL_STRIPS, panel->strip);

    return fit < GANTRY_PANEL_PIECES ? fit : GANTRY_PANEL_PIECES;
}

/* The pieces of the whole sum of panels that are inside, counted from panel->start on: the same for
 * all of them. Returns how many; 0: they are too many. */
GANTRY_FN GANTRY_LONG gantry__find_inside_pieces(const gantry__windows_t *w, GANTRY_LONG depth,
                                                 gantry__lines_piece_t *pieces) {
    gantry__panel_t panel;
    GANTRY_LONG k = 0, found;

    panel.start = 0;
    panel.is_whole = panel.is_inside = 1;
    found = gantry__find_pieces(w, &panel, depth, &k, pieces);
    return k == depth ? found : 0;
}

/* Without padding: where 0 times an infinity may have made NaN, a place is summed again, by what is
 * inside. Defines `name` for places [first, end) by `columns` outputs; filter and c begin with
 * the first of them, of n. `space` is the memory's. */
#define GANTRY_DEFINE_SUM_AGAIN(T_, space, name)                                                 \
    GANTRY_FN void name##_at(const gantry__windows_t *w, space const T_ *images,                 \
                             space const T_ *filter, space T_ *c, const GANTRY_LONG n,           \
                             const GANTRY_LONG columns, const GANTRY_LONG place) {               \
        const gantry__view_t view = gantry__view(w, 1, place);                                   \
        const GANTRY_LONG image = view.at.image * w->height;                                     \
                                                                                                 \
        for (GANTRY_LONG o = 0; o < columns; ++o) {                                              \
            c[o] = 0;                                                                            \
        }                                                                                        \
        for (GANTRY_LONG r = view.rows.first; r < view.rows.end; ++r) {                          \
            const GANTRY_LONG row = (image + view.top + r * w->spread_y) * w->width + view.left; \
                                                                                                 \
            for (GANTRY_LONG s = view.columns.first; s < view.columns.end; ++s) {                \
                space const T_ *pixel = images + (row + s * w->spread_x) * w->channels;          \
                space const T_ *weights = filter + (r * w->columns + s) * w->channels * n;       \
                                                                                                 \
                for (GANTRY_LONG e = 0; e < w->channels; e++, weights += n) {                    \
                    for (GANTRY_LONG o = 0; o < columns; ++o) {                                  \
                        c[o] += pixel[e] * weights[o];                                           \
                    }                                                                            \
                }                                                                                \
            }                                                                                    \
        }                                                                                        \
    }                                                                                            \
    GANTRY_FN void name(const gantry__windows_t *w, space const T_ *images,                      \
                        space const T_ *filter, space T_ *c, const GANTRY_LONG n,                \
                        const GANTRY_LONG columns, const GANTRY_LONG first,                      \
                        const GANTRY_LONG end) {                                                 \
        for (GANTRY_LONG i = first; i < end; ++i) {                                              \
            int is_bad = 0;                                                                      \
                                                                                                 \
            for (GANTRY_LONG o = 0; o < columns; ++o) {                                          \
                is_bad |= c[i * n + o] != c[i * n + o];                                          \
            }                                                                                    \
            if (is_bad) {                                                                        \
                name##_at(w, images, filter, c + i * n, n, columns, i);                          \
            }                                                                                    \
        }                                                                                        \
    }

#endif
