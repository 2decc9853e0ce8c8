/* Gather: out[b, o, k, i] = params[b, o, indices[b, k], i], by element size (T is uchar, ushort, int or long and stands for all types
 * of that size), indices of type I. An index outside [0, limit) gives 0 and is reported by its position in indices (input 1). Before this come
 * dialect, launch, types and work. */
typedef struct gantry_gather_t {
    gantry_work_t work; /* over the output's elements */
    GANTRY_LONG outer;
    GANTRY_LONG limit;
    GANTRY_LONG picks;
    GANTRY_LONG inner;
} gantry_gather_t;

#if GANTRY_SERIAL

GANTRY_KERNEL gather(GANTRY_SPAN_IN(params), GANTRY_SPAN_IN(indices), GANTRY_SPAN_OUT(out), const gantry_gather_t p, GANTRY_SPAN_OUT(fault))
{
    const GANTRY_LONG end = GANTRY_END(p.work);
    GANTRY_LONG i = GANTRY_FIRST(p.work);
    GANTRY_LONG at = i % p.inner; /* within a row */
    GANTRY_LONG pick = i / p.inner % p.picks;
    GANTRY_LONG matrix = i / p.inner / p.picks; /* (b, o) */
    GANTRY_LONG bad = -1; /* the first of this work-item */

    /* single elements: a short loop, so that many reads are on their way at once */
    while (p.inner == 1 && i < end) {
        const GANTRY_LONG left = p.picks - pick, length = left < end - i ? left : end - i;
        const GANTRY_LONG position = gantry_divide_position(matrix, p.outer) * p.picks + pick;
        GANTRY_GLOBAL const I *index = GANTRY_IN(I, indices) + position;
        GANTRY_GLOBAL const T *ins = GANTRY_IN(T, params) + matrix * p.limit;
        GANTRY_GLOBAL T *outs = GANTRY_OUT(T, out) + i;

        for (GANTRY_LONG e = 0; e < length; e++) {
            const GANTRY_LONG from = (GANTRY_LONG)index[e];

            if ((ulong)from < (ulong)p.limit) {
                outs[e] = ins[from];
            } else {
                outs[e] = 0;
                bad = bad < 0 ? position + e : bad;
            }
        }
        i += length;
        pick = 0;
        matrix++;
    }
    while (i < end) {
        const GANTRY_LONG position = gantry_divide_position(matrix, p.outer) * p.picks + pick;
        const GANTRY_LONG index = (GANTRY_LONG)GANTRY_IN(I, indices)[position];
        const GANTRY_LONG left = p.inner - at;
        const GANTRY_LONG length = left < end - i ? left : end - i;
        GANTRY_GLOBAL T *outs = GANTRY_OUT(T, out) + i;

        if (index >= 0 && index < p.limit) {
            GANTRY_GLOBAL const T *ins = GANTRY_IN(T, params) + (matrix * p.limit + index) * p.inner + at;
            for (GANTRY_LONG e = 0; e < length; e++) {
                outs[e] = ins[e];
            }
        } else {
            for (GANTRY_LONG e = 0; e < length; e++) {
                outs[e] = 0;
            }
            bad = bad < 0 ? position : bad;
        }
        i += length;
        at = 0;
        pick++;
        if (pick == p.picks) {
            pick = 0;
            matrix++;
        }
    }
    if (bad >= 0) {
        GANTRY_FAULT(fault, GANTRY_FAULT_INDEX_OUT_OF_RANGE, 1, bad);
    }
}

#else

GANTRY_KERNEL gather(GANTRY_SPAN_IN(params), GANTRY_SPAN_IN(indices), GANTRY_SPAN_OUT(out), const gantry_gather_t p, GANTRY_SPAN_OUT(fault))
{
    for (GANTRY_LONG i = GANTRY_FIRST(p.work); i < GANTRY_END(p.work); i += GANTRY_STEP) {
        const GANTRY_LONG row = gantry_divide_position(i, p.inner);
        const GANTRY_LONG at = i - row * p.inner;
        const GANTRY_LONG matrix = gantry_divide_position(row, p.picks);
        const GANTRY_LONG batch = gantry_divide_position(matrix, p.outer);
        const GANTRY_LONG position = row - (matrix - batch) * p.picks;
        const GANTRY_LONG index = (GANTRY_LONG)GANTRY_IN(I, indices)[position];
        T value = 0;

        if (index >= 0 && index < p.limit) {
            value = GANTRY_IN(T, params)[(matrix * p.limit + index) * p.inner + at];
        } else {
            GANTRY_FAULT(fault, GANTRY_FAULT_INDEX_OUT_OF_RANGE, 1, position);
        }
        GANTRY_OUT(T, out)[i] = value;
    }
}

#endif
