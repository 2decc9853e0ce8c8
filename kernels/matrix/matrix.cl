/* SPDX-License-Identifier: Apache-2.0 */
/* Ops on the matrices in a tensor's last two dimensions, by element size. An item is a run in the
 * output's last dimension.
 *
 * The number of a diagonal is column - row. Several diagonals are stored as rows, from `upper` down
 * to `lower`. All rows are as long as the longest diagonal. A shorter one is at the left or at the
 * right end of its row, and the rest is padding.
 *
 *     1 2 3      upper 1, lower -1      . 2 6    at the right
 *     4 5 6                             1 5 9
 *     7 8 9                             4 8 .    at the left */
#ifndef GANTRY_MATRIX_PARAMETERS
#define GANTRY_MATRIX_PARAMETERS
/* Keeps `lower` diagonals below the main one and `upper` above it; a negative number keeps all. */
typedef struct gantry__band_t {
    gantry__work_t work;
    gantry__runs_t runs;
    GANTRY_LONG rows, columns;
    GANTRY_LONG lower, upper;
} gantry__band_t;

typedef struct gantry__diagonals_t {
    gantry__work_t work;
    gantry__runs_t runs;
    GANTRY_LONG rows, columns;
    GANTRY_LONG lower, upper;
    GANTRY_LONG length; /* the longest diagonal's */
    /* 1: diagonals above the main one are at the right, and so is the main one if both are 1. */
    GANTRY_LONG right_above;
    GANTRY_LONG right_below;
    ulong padding[2]; /* the bits of the value */
} gantry__diagonals_t;
#endif

#ifdef GANTRY_ITEM_TEXT

/* Sets batch, row and the columns first to end of item i, in matrices of rows_ rows. */
#define GANTRY_FIND_COLUMNS(rows_)                                  \
    GANTRY_FIND_RUN(p->runs)                                        \
    const GANTRY_LONG batch = gantry__divide_position(line, rows_); \
    const GANTRY_LONG row = line - batch * (rows_);                 \
    GANTRY_GLOBAL T *outs = out + line * p->runs.size;

GANTRY_ITEM void GANTRY_ITEM_FN(band)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                      GANTRY_PARAMETERS(gantry__band_t) p, const GANTRY_LONG i) {
    GANTRY_FIND_COLUMNS(p->rows)
    GANTRY_GLOBAL const T *ins = x + line * p->runs.size;
    const GANTRY_LONG least = p->lower < 0 ? 0 : row - p->lower;
    const GANTRY_LONG most = p->upper < 0 ? p->columns : row + p->upper;

    for (GANTRY_LONG column = first; column < end; ++column) {
        outs[column] = column >= least && column <= most ? ins[column] : GANTRY_T_ZERO;
    }
}
GANTRY_ITEMS_1_1(band, T, T, gantry__band_t)

/* The number of elements of diagonal d; diagonal_start is the number of places before them. */
GANTRY_ITEM GANTRY_LONG GANTRY_ITEM_FN(diagonal_length)(GANTRY_PARAMETERS(gantry__diagonals_t) p,
                                                        const GANTRY_LONG d) {
    const GANTRY_LONG down = p->rows + (d < 0 ? d : 0);
    const GANTRY_LONG along = p->columns - (d > 0 ? d : 0);

    return down < along ? down : along;
}

GANTRY_ITEM GANTRY_LONG GANTRY_ITEM_FN(diagonal_start)(GANTRY_PARAMETERS(gantry__diagonals_t) p,
                                                       const GANTRY_LONG d) {
    const int is_left = (d >= 0 && !p->right_above) || (d <= 0 && !p->right_below);

    return is_left ? 0 : p->length - GANTRY_ITEM_FN(diagonal_length)(p, d);
}

/* Returns the place of a cell in the stored diagonals, or -1 if it is on none of them. */
GANTRY_ITEM GANTRY_LONG GANTRY_ITEM_FN(diagonal_place)(GANTRY_PARAMETERS(gantry__diagonals_t) p,
                                                       const GANTRY_LONG batch,
                                                       const GANTRY_LONG row,
                                                       const GANTRY_LONG column) {
    const GANTRY_LONG d = column - row;
    const GANTRY_LONG place = (row < column ? row : column) + GANTRY_ITEM_FN(diagonal_start)(p, d);

    if (d < p->lower || d > p->upper) {
        return -1;
    }
    return (batch * (p->upper - p->lower + 1) + p->upper - d) * p->length + place;
}

GANTRY_ITEM void GANTRY_ITEM_FN(diagonals)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                           GANTRY_PARAMETERS(gantry__diagonals_t) p,
                                           const GANTRY_LONG i) {
    GANTRY_FIND_COLUMNS(p->rows)
    for (GANTRY_LONG column = first; column < end; ++column) {
        const GANTRY_LONG place = GANTRY_ITEM_FN(diagonal_place)(p, batch, row, column);

        outs[column] = place >= 0 ? x[place] : GANTRY_T_OF_TWO(p->padding);
    }
}
GANTRY_ITEMS_1_1(diagonals, T, T, gantry__diagonals_t)

GANTRY_ITEM void GANTRY_ITEM_FN(set_diagonals)(GANTRY_GLOBAL const T *x,
                                               GANTRY_GLOBAL const T *diagonals,
                                               GANTRY_GLOBAL T *out,
                                               GANTRY_PARAMETERS(gantry__diagonals_t) p,
                                               const GANTRY_LONG i) {
    GANTRY_FIND_COLUMNS(p->rows)
    GANTRY_GLOBAL const T *ins = x + line * p->runs.size;

    for (GANTRY_LONG column = first; column < end; ++column) {
        const GANTRY_LONG place = GANTRY_ITEM_FN(diagonal_place)(p, batch, row, column);

        outs[column] = place >= 0 ? diagonals[place] : ins[column];
    }
}
GANTRY_ITEMS_2_1(set_diagonals, T, T, T, gantry__diagonals_t)

/* The rows of the output are diagonals. */
GANTRY_ITEM void GANTRY_ITEM_FN(diagonal_part)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                               GANTRY_PARAMETERS(gantry__diagonals_t) p,
                                               const GANTRY_LONG i) {
    GANTRY_FIND_COLUMNS(p->upper - p->lower + 1)
    const GANTRY_LONG d = p->upper - row;
    const GANTRY_LONG start = GANTRY_ITEM_FN(diagonal_start)(p, d);
    const GANTRY_LONG length = GANTRY_ITEM_FN(diagonal_length)(p, d);
    const GANTRY_LONG corner = (batch * p->rows - (d < 0 ? d : 0)) * p->columns + (d > 0 ? d : 0);

    for (GANTRY_LONG column = first; column < end; ++column) {
        const GANTRY_LONG at = column - start;

        outs[column] = at >= 0 && at < length ? x[corner + at * (p->columns + 1)]
                                              : GANTRY_T_OF_TWO(p->padding);
    }
}
GANTRY_ITEMS_1_1(diagonal_part, T, T, gantry__diagonals_t)

#endif
