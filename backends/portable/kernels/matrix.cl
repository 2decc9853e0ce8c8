/* Ops on the matrices in a tensor's last two dimensions, by element size. Items are elements of the output.
 *
 * Diagonals are numbered by column - row. Several of them lie together from `upper` down to `lower`, each in as many
 * elements as the longest has: shorter ones at the left or at the right end, the rest is padding.
 *
 *     1 2 3      upper 1, lower -1      . 2 6    at the right
 *     4 5 6                             1 5 9
 *     7 8 9                             4 8 .    at the left */
#ifndef GANTRY_MATRIX_PARAMETERS
#define GANTRY_MATRIX_PARAMETERS
/* Below: `lower` diagonals, above: `upper`; a negative number keeps all. */
typedef struct gantry_band_t {
    gantry_work_t work;
    GANTRY_LONG rows, columns;
    GANTRY_LONG lower, upper;
} gantry_band_t;

typedef struct gantry_diagonals_t {
    gantry_work_t work;
    GANTRY_LONG rows, columns;
    GANTRY_LONG lower, upper;
    GANTRY_LONG length;       /* of the longest diagonal */
    GANTRY_LONG right_above;  /* 1: those above the main one (and that, if right_below is 1 too) lie at the right */
    GANTRY_LONG right_below;
    ulong padding; /* its bits */
} gantry_diagonals_t;
#endif

#ifdef GANTRY_ITEM_TEXT

/* Sets batch, row, column of element i in matrices of this size. */
#define GANTRY_FIND_CELL(rows_, columns_)                                                                     \
    const ulong line = gantry_divide_position((ulong)i, (ulong)(columns_), p->work.count);                    \
    const GANTRY_LONG batch = (GANTRY_LONG)gantry_divide_position(line, (ulong)(rows_), p->work.count);       \
    const GANTRY_LONG row = (GANTRY_LONG)line - batch * (rows_);                                              \
    const GANTRY_LONG column = i - (GANTRY_LONG)line * (columns_);

GANTRY_ITEM void GANTRY_ITEM_FN(band)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                      GANTRY_PARAMETERS(gantry_band_t) p, const GANTRY_LONG i)
{
    GANTRY_FIND_CELL(p->rows, p->columns)
    const int is_kept = (p->lower < 0 || row - column <= p->lower) && (p->upper < 0 || column - row <= p->upper);

    out[i] = is_kept ? x[i] : (T)0;
}
GANTRY_ITEMS_1_1(band, T, T, gantry_band_t)

/* Elements of a diagonal of matrices, and how many places are before them. */
GANTRY_ITEM GANTRY_LONG GANTRY_ITEM_FN(diagonal_length)(GANTRY_PARAMETERS(gantry_diagonals_t) p, const GANTRY_LONG d)
{
    const GANTRY_LONG down = p->rows + (d < 0 ? d : 0);
    const GANTRY_LONG along = p->columns - (d > 0 ? d : 0);

    return down < along ? down : along;
}

GANTRY_ITEM GANTRY_LONG GANTRY_ITEM_FN(diagonal_start)(GANTRY_PARAMETERS(gantry_diagonals_t) p, const GANTRY_LONG d)
{
    const int is_left = (d >= 0 && !p->right_above) || (d <= 0 && !p->right_below);

    return is_left ? 0 : p->length - GANTRY_ITEM_FN(diagonal_length)(p, d);
}

/* The place of a cell among the diagonals, -1 when it is on none of them. */
GANTRY_ITEM GANTRY_LONG GANTRY_ITEM_FN(diagonal_place)(GANTRY_PARAMETERS(gantry_diagonals_t) p,
                                                       const GANTRY_LONG batch, const GANTRY_LONG row,
                                                       const GANTRY_LONG column)
{
    const GANTRY_LONG d = column - row;
    const GANTRY_LONG place = (row < column ? row : column) + GANTRY_ITEM_FN(diagonal_start)(p, d);

    if (d < p->lower || d > p->upper) {
        return -1;
    }
    return (batch * (p->upper - p->lower + 1) + p->upper - d) * p->length + place;
}

GANTRY_ITEM void GANTRY_ITEM_FN(diagonals)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                           GANTRY_PARAMETERS(gantry_diagonals_t) p, const GANTRY_LONG i)
{
    GANTRY_FIND_CELL(p->rows, p->columns)
    const GANTRY_LONG place = GANTRY_ITEM_FN(diagonal_place)(p, batch, row, column);

    out[i] = place >= 0 ? x[place] : (T)p->padding;
}
GANTRY_ITEMS_1_1(diagonals, T, T, gantry_diagonals_t)

GANTRY_ITEM void GANTRY_ITEM_FN(set_diagonals)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL const T *diagonals,
                                               GANTRY_GLOBAL T *out, GANTRY_PARAMETERS(gantry_diagonals_t) p,
                                               const GANTRY_LONG i)
{
    GANTRY_FIND_CELL(p->rows, p->columns)
    const GANTRY_LONG place = GANTRY_ITEM_FN(diagonal_place)(p, batch, row, column);

    out[i] = place >= 0 ? diagonals[place] : x[i];
}
GANTRY_ITEMS_2_1(set_diagonals, T, T, T, gantry_diagonals_t)

/* Here the rows of the output are diagonals. */
GANTRY_ITEM void GANTRY_ITEM_FN(diagonal_part)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                               GANTRY_PARAMETERS(gantry_diagonals_t) p, const GANTRY_LONG i)
{
    GANTRY_FIND_CELL(p->upper - p->lower + 1, p->length)
    const GANTRY_LONG d = p->upper - row;
    const GANTRY_LONG at = column - GANTRY_ITEM_FN(diagonal_start)(p, d);
    const int is_there = at >= 0 && at < GANTRY_ITEM_FN(diagonal_length)(p, d);
    const GANTRY_LONG from_row = batch * p->rows + at - (d < 0 ? d : 0);

    out[i] = is_there ? x[from_row * p->columns + at + (d > 0 ? d : 0)] : (T)p->padding;
}
GANTRY_ITEMS_1_1(diagonal_part, T, T, gantry_diagonals_t)

#endif
