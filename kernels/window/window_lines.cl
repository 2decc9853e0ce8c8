/* SPDX-License-Identifier: Apache-2.0 */
/* Implicit im2col, for matrix products on processors: the product reads the pixels of the windows
 * directly from the images, and no patches are stored. C and OpenCL C share this file, which must
 * follow window.cl.
 *
 * A panel is a number of consecutive places of the window (rows of the product's first operand). A
 * row of the window has the same form in the image as it would have in a patch: a line of columns *
 * channels elements. So the sum is cut into pieces, one for each row of the window, and a piece has
 * a line for each place of the panel. If a row of some place leaves the image, the panel's part of
 * each image row is first copied into a strip, with zeros outside: one strip for each window row.
 * If strips would be too long, or the window is dilated, a piece covers only one pixel of the
 * window, and a line outside the image is GANTRY_OUTSIDE.
 *
 *     place 0   |--- row 0 ---|--- row 1 ---|--- row 2 ---|
 *     place 1    |--- row 0 ---|...
 *
 * Piece 0 is row 0 of all places, piece 1 row 1, and so on. */
#ifndef GANTRY_WINDOW_LINES_CL
#define GANTRY_WINDOW_LINES_CL

#define GANTRY_PANEL_PLACES 12 /* the most */
#define GANTRY_PANEL_PIECES 32 /* found at once */
/* elements of the sum at once: this much of a panel of the filter stays in the cache */
#define GANTRY_PANEL_DEPTH 2048
#define GANTRY_PANEL_ZEROS 512   /* the longest piece with lines outside: as many zeros exist */
#define GANTRY_PANEL_STRIPS 4096 /* elements of all strips at once */
#define GANTRY_OUTSIDE (-1)

/* With few outputs a panel of the filter would be nearly empty. Instead, lines are multiplied with
 * the filter's columns element by element, in GANTRY_FEW_CHAIN_BYTES of parallel chains, and the
 * sums of the chains are added pairwise. The length of a line must be a multiple of the chains. All
 * devices compute the same. */
#define GANTRY_FEW_OUTPUT_BYTES 16
#define GANTRY_FEW_CHAIN_BYTES 64
#define GANTRY_FEW_COLUMNS 4 /* packed columns of the filter, padded with zeros */

GANTRY_FN int gantry__has_few_outputs(GANTRY_LONG outputs, GANTRY_LONG channels, GANTRY_LONG size) {
    return outputs * size <= GANTRY_FEW_OUTPUT_BYTES &&
           channels * size % GANTRY_FEW_CHAIN_BYTES == 0;
}

typedef struct gantry__panel_t {
    /* its number; GANTRY_OUTSIDE: the place does not exist */
    GANTRY_LONG image[GANTRY_PANEL_PLACES];
    GANTRY_LONG top[GANTRY_PANEL_PLACES], left[GANTRY_PANEL_PLACES];
    GANTRY_LONG at[GANTRY_PANEL_PLACES]; /* the beginning of its window in a strip */
    GANTRY_LONG strip;                   /* elements of a strip */
    GANTRY_LONG start;                   /* if is_inside: the first element of place 0's window */
    GANTRY_LONG places;
    int is_whole; /* each row of each window is one line in the image */
    /* is_whole, all windows are inside the image, and all places are in one row of the output */
    int is_inside;
} gantry__panel_t;

typedef struct gantry__lines_piece_t {
    GANTRY_LONG line[GANTRY_PANEL_PLACES]; /* the first element in the images, or GANTRY_OUTSIDE */
    GANTRY_LONG count;                     /* elements of each line */
} gantry__lines_piece_t;

/* Finds the panel of `places` places from `first` on; `all` is the number of places that exist. */
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

/* Finds the line of place i that starts at element `offset` of pixel (r, c) of the window. */
GANTRY_FN GANTRY_LONG gantry__find_line(const gantry__windows_t *w, const gantry__panel_t *panel,
                                        GANTRY_LONG i, GANTRY_LONG r, GANTRY_LONG c,
                                        GANTRY_LONG offset) {
    const GANTRY_LONG y = panel->top[i] + r * w->spread_y, x = panel->left[i] + c * w->spread_x;
    const int is_there =
        panel->image[i] >= 0 && gantry__is_inside(y, w->height) && gantry__is_inside(x, w->width);

    return is_there ? ((panel->image[i] * w->height + y) * w->width + x) * w->channels + offset
                    : GANTRY_OUTSIDE;
}

/* Finds the pieces that start at element *k of the sum's `depth` elements; sets *k to their end.
 * Returns their number. */
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

/* Whether the panel uses strips. */
GANTRY_FN int gantry__has_strips(const gantry__windows_t *w, const gantry__panel_t *panel) {
    return !panel->is_whole && w->spread_x == 1 && panel->strip <= GANTRY_PANEL_STRIPS;
}

/* The part of a strip for places in one row of the output, in elements: `zeros` zeros from `to` on,
 * then `count` elements of the images, then zeros up to `end`. If the row is outside the image, all
 * of it is zeros. */
typedef struct gantry__strip_part_t {
    GANTRY_LONG to, zeros, count, end;
    GANTRY_LONG from, row; /* the windows' first row in the images; the distance of the next row */
    GANTRY_LONG y;         /* place of the first row in its image */
} gantry__strip_part_t;

/* Finds the part that begins with place `first`. Returns the first place after it. */
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

/* Whether row r of the part's windows has elements of the images. */
GANTRY_FN int gantry__has_elements(const gantry__windows_t *w, const gantry__strip_part_t *part,
                                   GANTRY_LONG r) {
    return part->count > 0 && gantry__is_inside(part->y + r * w->spread_y, w->height);
}

/* Finds the pieces of `rows` strips, which must follow each other in memory. */
GANTRY_FN void gantry__find_strip_pieces(const gantry__windows_t *w, const gantry__panel_t *panel,
                                         GANTRY_LONG rows, gantry__lines_piece_t *pieces) {
    for (GANTRY_LONG r = 0; r < rows; ++r) {
        for (GANTRY_LONG i = 0; i < panel->places; ++i) {
            pieces[r].line[i] = r * panel->strip + panel->at[i];
        }
        pieces[r].count = w->columns * w->channels;
    }
}

/* The number of window rows whose strips are made at once. */
GANTRY_FN GANTRY_LONG gantry__strips_at_once(const gantry__panel_t *panel) {
    const GANTRY_LONG fit = gantry__divide_position(GANTRY_PANEL_STRIPS, panel->strip);

    return fit < GANTRY_PANEL_PIECES ? fit : GANTRY_PANEL_PIECES;
}

/* Finds the pieces of the whole sum for panels with is_inside, relative to panel->start: all such
 * panels share them. Returns their number, or 0 if there are too many. */
GANTRY_FN GANTRY_LONG gantry__find_inside_pieces(const gantry__windows_t *w, GANTRY_LONG depth,
                                                 gantry__lines_piece_t *pieces) {
    gantry__panel_t panel;
    GANTRY_LONG k = 0, found;

    panel.start = 0;
    panel.is_whole = panel.is_inside = 1;
    found = gantry__find_pieces(w, &panel, depth, &k, pieces);
    return k == depth ? found : 0;
}

/* For convolutions that leave the padding out. The product above takes the padding as zeros, and 0
 * times an infinity is NaN. So a place with a NaN is summed again over the elements inside the
 * image. Defines `name` for places [first, end) and `columns` of the n outputs; filter and c must
 * begin at the first of these outputs. `space` is OpenCL's address space. */
#define GANTRY_DEFINE_SUM_AGAIN(T_, space, name)                                                 \
    GANTRY_FN void name##_at(const gantry__windows_t *w, space const T_ *images,                 \
                             space const T_ *filter, space T_ *c, const GANTRY_LONG n,           \
                             const GANTRY_LONG columns, const GANTRY_LONG place) {               \
        gantry__view_t view;                                                                     \
        gantry__find_view(w, 1, place, &view);                                                   \
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
