/* MaxPool: items are runs of the output (window.cl). What lies in the padding counts for nothing. */
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
    const gantry_pool_run_t run = gantry_pool_run(p, i);
    const int count = GANTRY_RUN_MOST == 1 ? 1 : run.count;
    C best[GANTRY_RUN_MOST];

    for (int k = 0; k < count; k++) {
        best[k] = GANTRY_POOL_LEAST;
    }
    GANTRY_EACH_IN_POOL(run, p, x, { best[k] = value > best[k] ? value : best[k]; })
    for (int k = 0; k < count; k++) {
        out[run.start + k] = GANTRY_NARROW(best[k]);
    }
}
GANTRY_ITEMS_1_1(max_pool, T, T, gantry_window_t)

#undef GANTRY_POOL_LEAST
#endif
