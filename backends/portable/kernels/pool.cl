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
    C best = GANTRY_POOL_LEAST;

    for (GANTRY_LONG r = 0; r < p->rows; r++) {
        const GANTRY_LONG y = at.y * p->step_y - p->top + r;

        for (GANTRY_LONG c = 0; c < p->columns && gantry_is_inside(y, p->height); c++) {
            const GANTRY_LONG column = at.x * p->step_x - p->left + c;

            if (gantry_is_inside(column, p->width)) {
                const C value =
                    GANTRY_WIDEN(x[((at.image * p->height + y) * p->width + column) * p->channels + at.channel]);
                best = value > best ? value : best;
            }
        }
    }
    out[i] = GANTRY_NARROW(best);
}
GANTRY_ITEMS_1_1(max_pool, T, T, gantry_window_t)

#undef GANTRY_POOL_LEAST
#endif
