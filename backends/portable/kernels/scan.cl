/* Scans: Cumsum, Cumprod and CumulativeLogsumexp along the middle axis of [outer, length, columns], forwards or in
 * reverse, each element with itself or without (exclusive).
 *
 * The order of operations depends on the shape alone, so that a scan has the same bits on every device. A sequence is cut
 * into chunks of 128 elements, in the direction of the scan:
 *
 *   totals   of each chunk: ((identity o x0) o x1) o ...
 *   before   the chunks' totals, scanned in the same way, exclusive: what has gone before each chunk
 *   rows     each chunk once more, element by element from what was before it
 *
 *       x:       0 ... 127 | 128 ... 255 | 256 ...        a sequence of one chunk needs the last step only
 *       totals:     t0     |     t1      |  ...
 *       before:   identity |     t0      | t0 o t1        an item of a step is one chunk of one sequence
 *
 * Cost: two reads and one write of the elements, length / 128 of scratch. Halves are computed in float32 (C of types.cl),
 * scratch is float32 too, and each result is rounded once. Integers wrap. logsumexp(a, b) is the larger plus
 * log1p(exp(smaller - larger)), the larger itself where the smaller is -infinity, NaN where both are +infinity, as
 * TensorFlow has it. */
#ifndef GANTRY_SCAN_PARAMETERS
#define GANTRY_SCAN_PARAMETERS
#define GANTRY_SCAN_CHUNK 128
enum { GANTRY_SCAN_SUM, GANTRY_SCAN_PRODUCT, GANTRY_SCAN_LOG_SUM };
/* Items count chunks: [outer][chunks][columns]. */
typedef struct gantry_scan_t {
    gantry_work_t work;
    GANTRY_LONG length, columns, chunks;
    GANTRY_LONG operation;
    GANTRY_LONG exclusive, reverse; /* 0 or 1 */
} gantry_scan_t;
#endif

#ifdef GANTRY_ITEM_TEXT

#undef GANTRY_SCAN_HAS_LOG
#define GANTRY_SCAN_HAS_LOG (GANTRY_T_IS_FLOAT || GANTRY_T_IS_HALF)
#undef GANTRY_SCAN_EXP
#undef GANTRY_SCAN_LOG
#undef GANTRY_SCAN_LOWEST
#if GANTRY_T_ID == GANTRY_FLOAT64
#define GANTRY_SCAN_EXP(x) gantry_exp_f64(x)
#define GANTRY_SCAN_LOG(x) gantry_log_f64(x)
#define GANTRY_SCAN_LOWEST GANTRY_AS_DOUBLE(((ulong)0xfff00000u) << 32)
#else
#define GANTRY_SCAN_EXP(x) gantry_exp_f32(x)
#define GANTRY_SCAN_LOG(x) gantry_log_f32(x)
#define GANTRY_SCAN_LOWEST GANTRY_AS_FLOAT(0xff800000u)
#endif

#if GANTRY_SCAN_HAS_LOG
/* log(1 + e) to the last bits: what 1 + e loses of e is put back as a factor (Higham, Accuracy and Stability, 1.14.1). */
GANTRY_ITEM C GANTRY_ITEM_FN(log_sum)(const C a, const C b)
{
    const C larger = a > b ? a : b, smaller = a > b ? b : a;
    const C e = GANTRY_SCAN_EXP(smaller - larger);
    const C u = (C)1 + e;
    const C log1p = u == (C)1 ? e : GANTRY_SCAN_LOG(u) * (e / (u - (C)1));

    return a != a || b != b ? a + b : smaller == GANTRY_SCAN_LOWEST ? larger : larger + log1p;
}
#endif

GANTRY_ITEM C GANTRY_ITEM_FN(scan_identity)(const GANTRY_LONG operation)
{
#if GANTRY_SCAN_HAS_LOG
    if (operation == GANTRY_SCAN_LOG_SUM) {
        return GANTRY_SCAN_LOWEST;
    }
#endif
    return (C)(operation == GANTRY_SCAN_PRODUCT);
}

GANTRY_ITEM C GANTRY_ITEM_FN(scan_join)(const C a, const C b, const GANTRY_LONG operation)
{
#if GANTRY_SCAN_HAS_LOG
    if (operation == GANTRY_SCAN_LOG_SUM) {
        return GANTRY_ITEM_FN(log_sum)(a, b);
    }
#endif
    return operation == GANTRY_SCAN_PRODUCT ? (C)((U)a * (U)b) : (C)((U)a + (U)b);
}

/* Elements of chunk i, and where its first one in the scan's direction lies. */
#define GANTRY_FIND_CHUNK                                                                            \
    const GANTRY_LONG chunk = gantry_divide_position(i, p->columns); /* of all sequences' chunks */  \
    const GANTRY_LONG outer = gantry_divide_position(chunk, p->chunks);                              \
    const GANTRY_LONG first = (chunk - outer * p->chunks) * GANTRY_SCAN_CHUNK;                       \
    const GANTRY_LONG row = p->reverse ? p->length - 1 - first : first;                              \
    const GANTRY_LONG start = (outer * p->length + row) * p->columns + i - chunk * p->columns;       \
    const GANTRY_LONG left = p->length - first;                                                      \
    const GANTRY_LONG length = left < GANTRY_SCAN_CHUNK ? left : GANTRY_SCAN_CHUNK;

/* The totals of all chunks. */
GANTRY_ITEM void GANTRY_ITEM_FN(scan_totals)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL C *totals,
                                             GANTRY_PARAMETERS(gantry_scan_t) p, const GANTRY_LONG i)
{
    GANTRY_FIND_CHUNK
    const GANTRY_LONG step = p->reverse ? -p->columns : p->columns;
    GANTRY_LONG at = start;
    C total = GANTRY_ITEM_FN(scan_identity)(p->operation);

    for (GANTRY_LONG k = 0; k < length; k++, at += step) {
        total = GANTRY_ITEM_FN(scan_join)(total, GANTRY_WIDEN(x[at]), p->operation);
    }
    totals[i] = total;
}
GANTRY_ITEMS_1_1(scan_totals, T, C, gantry_scan_t)

/* A chunk's results from what was before it; in place too. */
GANTRY_ITEM void GANTRY_ITEM_FN(scan_rows)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL const C *before,
                                           GANTRY_GLOBAL T *out, GANTRY_PARAMETERS(gantry_scan_t) p,
                                           const GANTRY_LONG i)
{
    GANTRY_FIND_CHUNK
    const GANTRY_LONG step = p->reverse ? -p->columns : p->columns;
    GANTRY_LONG at = start;
    C sum = p->chunks > 1 ? before[i] : GANTRY_ITEM_FN(scan_identity)(p->operation);

    for (GANTRY_LONG k = 0; k < length; k++, at += step) {
        const C next = GANTRY_ITEM_FN(scan_join)(sum, GANTRY_WIDEN(x[at]), p->operation);

        out[at] = GANTRY_NARROW(p->exclusive ? sum : next);
        sum = next;
    }
}
GANTRY_ITEMS_2_1(scan_rows, T, C, T, gantry_scan_t)

#undef GANTRY_FIND_CHUNK

#endif
