/* MaxPool: items are elements of the output. What lies in the padding counts for nothing. */
#ifdef GANTRY_ITEM_TEXT

#if GANTRY_T_IS_FLOAT || GANTRY_T_IS_HALF
#define GANTRY_POOL_LEAST (C)(-GANTRY_AS_FLOAT(0x7f800000u))
#elif GANTRY_T_IS_UNSIGNED
#define GANTRY_POOL_LEAST (C)0
#else
#define GANTRY_POOL_LEAST (C)((U)1 << (8 * sizeof(T) - 1))
#endif

/* What is larger wins, so that NaN is passed over, as in TensorFlow. */
GANTRY_ITEM void GANTRY_ITEM_FN(max_pool)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                          GANTRY_PARAMETERS(gantry_window_t) p, const GANTRY_LONG i)
{
    const gantry_pixel_t at = gantry_pixel((ulong)i, (ulong)p->out_height, (ulong)p->out_width, (ulong)p->channels,
                                           p->work.count);
    const GANTRY_LONG y = at.y * p->step_y - p->top, left = at.x * p->step_x - p->left;
    const gantry_reach_t rows = gantry_reach(y, 1, p->rows, p->height);
    const gantry_reach_t columns = gantry_reach(left, 1, p->columns, p->width);
    C best = GANTRY_POOL_LEAST;

    for (GANTRY_LONG r = rows.first; r < rows.end; r++) {
        const GANTRY_LONG row = (at.image * p->height + y + r) * p->width + left;

        for (GANTRY_LONG c = columns.first; c < columns.end; c++) {
            const C value = GANTRY_WIDEN(x[(row + c) * p->channels + at.channel]);

            best = value > best ? value : best;
        }
    }
    out[i] = GANTRY_NARROW(best);
}
GANTRY_ITEMS_1_1(max_pool, T, T, gantry_window_t)

#undef GANTRY_POOL_LEAST
#endif
