/* Ops on the matrices in a tensor's last two dimensions, by element size. Items are elements of the output. */
#ifndef GANTRY_MATRIX_PARAMETERS
#define GANTRY_MATRIX_PARAMETERS
/* Below: `lower` diagonals, above: `upper`; a negative number keeps all. */
typedef struct gantry_band_t {
    gantry_work_t work;
    GANTRY_LONG rows, columns;
    GANTRY_LONG lower, upper;
} gantry_band_t;
#endif

#ifdef GANTRY_ITEM_TEXT

GANTRY_ITEM void GANTRY_ITEM_FN(band)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                      GANTRY_PARAMETERS(gantry_band_t) p, const GANTRY_LONG i)
{
    const GANTRY_LONG column = i % p->columns;
    const GANTRY_LONG row = i / p->columns % p->rows;
    const int is_kept = (p->lower < 0 || row - column <= p->lower) && (p->upper < 0 || column - row <= p->upper);

    out[i] = is_kept ? x[i] : (T)0;
}
GANTRY_ITEMS_1_1(band, T, T, gantry_band_t)

#endif
