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
    const gantry_view_t view = gantry_view(p, p->channels, i);
    C best = GANTRY_POOL_LEAST;

    for (GANTRY_LONG r = view.rows.first; r < view.rows.end; r++) {
        const GANTRY_LONG row = (view.at.image * p->height + view.top + r) * p->width + view.left;

        for (GANTRY_LONG c = view.columns.first; c < view.columns.end; c++) {
            const C value = GANTRY_WIDEN(x[(row + c) * p->channels + view.at.channel]);

            best = value > best ? value : best;
        }
    }
    out[i] = GANTRY_NARROW(best);
}
GANTRY_ITEMS_1_1(max_pool, T, T, gantry_window_t)

#undef GANTRY_POOL_LEAST
#endif
