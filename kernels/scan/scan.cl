/* SPDX-License-Identifier: Apache-2.0 */
/* Scans: Cumsum, Cumprod and CumulativeLogsumexp along the middle axis of [outer, length, columns],
 * forwards or in reverse, inclusive or exclusive.
 *
 * The order of operations depends only on the shape, so a scan has the same bits on every device. A
 * sequence is cut into chunks of 128 elements, in the direction of the scan:
 *
 *   totals   of each chunk: ((identity o x0) o x1) o ...
 *   before   an exclusive scan of the totals, made in the same way: the total of all chunks before
 *   rows     each chunk again, element by element, starting from the total before it
 *
 *       x:       0 ... 127 | 128 ... 255 | 256 ...
 *       totals:     t0     |     t1      |  ...
 *       before:   identity |     t0      | t0 o t1
 *
 * A sequence of one chunk needs only the last step. An item of a step is one chunk of one sequence.
 * On GPUs the elements of few columns go through local memory (scan_tiles.cl).
 *
 * On processors an item is more than a chunk: a run of columns, which becomes vector code
 * (..._block); or, of one column, 8 chunks at a time, whose additions do not wait for each other
 * (..._line). For logsumexp, and in scan_transposed.cl, those 8 chunks are transposed into vectors.
 * The operations and their order are those of the plain items. If `before` has one chunk and there
 * are enough sequences for all cores, an item of `rows` does all three steps for whole sequences:
 * their elements are then still in the core's cache, and only `rows` is launched.
 *
 * Cost: two reads of the elements (one for whole sequences), one write, and scratch of length /
 * 128. Halves are computed in float32 (C of types.cl), with scratch in float32, and each result is
 * rounded once. Integers wrap. logsumexp(a, b) is larger + log1p(exp(smaller - larger)); it is the
 * larger if the smaller is -infinity, and NaN if both are +infinity, as in TensorFlow. */
#ifndef GANTRY_SCAN_PARAMETERS
#define GANTRY_SCAN_PARAMETERS
#define GANTRY_SCAN_CHUNK 128
#define GANTRY_SCAN_LINES 8
#define GANTRY_SCAN_UPPER 512 /* chunks of totals that scan_upper has room for */
enum { GANTRY_SCAN_SUM, GANTRY_SCAN_PRODUCT, GANTRY_SCAN_LOG_SUM };
/* Items must be numbered as chunks: [outer][chunks][columns]. */
typedef struct gantry__scan_t {
    gantry__work_t work;
    GANTRY_LONG length, columns, chunks;
    GANTRY_LONG operation;
    GANTRY_LONG exclusive, reverse; /* 0 or 1 */
    GANTRY_LONG total;              /* _line, _tile: chunks of all sequences */
    GANTRY_LONG rows;               /* _tile: chunks of a group */
    GANTRY_LONG tiles;              /* _once: tiles of a sequence */
    /* for _rows_line, _rows_block: whole sequences of an item; 0: an item has chunks */
    GANTRY_LONG whole;
    /* for _rows_line: not 0: streaming stores; each sequence must then start a cache line */
    GANTRY_LONG stream;
    gantry__runs_t runs; /* _block: runs of columns */
} gantry__scan_t;
#endif

#ifdef GANTRY_ITEM_TEXT

#undef GANTRY_SCAN_HAS_LOG
#undef GANTRY_SCAN_LOG_LINES
#define GANTRY_SCAN_HAS_LOG (GANTRY_T_IS_FLOAT || GANTRY_T_IS_HALF)
#undef GANTRY_SCAN_EXP
#undef GANTRY_SCAN_LOG
#undef GANTRY_SCAN_LOWEST
#if GANTRY_T_IS(f64)
#define GANTRY_SCAN_EXP(x) gantry__exp_f64(x)
#define GANTRY_SCAN_LOG(x) gantry__log_f64(x)
#define GANTRY_SCAN_LOWEST GANTRY_AS_DOUBLE(((ulong)0xfff00000u) << 32)
#else
#define GANTRY_SCAN_EXP(x) gantry__exp_f32(x)
#define GANTRY_SCAN_LOG(x) gantry__log_f32(x)
#define GANTRY_SCAN_LOWEST GANTRY_AS_FLOAT(0xff800000u)
#endif

/* A call that is not inlined would keep the loop around it scalar. */
#undef GANTRY_SCAN_INLINE
#if defined(__OPENCL_VERSION__) && defined(__clang__)
#define GANTRY_SCAN_INLINE GANTRY_FN __attribute__((always_inline))
#else
#define GANTRY_SCAN_INLINE GANTRY_LONG_FN
#endif

#if GANTRY_SCAN_HAS_LOG
/* log(1 + e) to the last bits: a factor restores the bits of e that 1 + e loses (Higham, Accuracy
 * and Stability, 1.14.1). All values are computed before one is selected, so that loops become
 * vector code. */
GANTRY_SCAN_INLINE C GANTRY_ITEM_FN(log_sum_here)(const C a, const C b) {
    const C larger = a > b ? a : b, smaller = a > b ? b : a;
    const C e = GANTRY_SCAN_EXP(smaller - larger);
    const C u = (C)1 + e;
    const C corrected = GANTRY_SCAN_LOG(u) * (e / (u - (C)1));
    const C log1p = u == (C)1 ? e : corrected;
    const C joined = larger + log1p;
    const C sum = a + b;
    const C number = smaller == GANTRY_SCAN_LOWEST ? larger : joined;

    return ((a != a) | (b != b)) != 0 ? sum : number;
}

GANTRY_ITEM C GANTRY_ITEM_FN(log_sum)(const C a, const C b) {
    return GANTRY_ITEM_FN(log_sum_here)(a, b);
}

/* The same for `count` neighbouring elements, as vectors. */
GANTRY_ITEM void GANTRY_ITEM_FN(log_sum_each)(const C *as, const C *bs, C *out, const int count) {
    for (int c = 0; c < count; ++c) {
        out[c] = GANTRY_ITEM_FN(log_sum_here)(as[c], bs[c]);
    }
}
#endif

GANTRY_ITEM C GANTRY_ITEM_FN(scan_identity)(const GANTRY_LONG operation) {
#if GANTRY_SCAN_HAS_LOG
    if (operation == GANTRY_SCAN_LOG_SUM) {
        return GANTRY_SCAN_LOWEST;
    }
#endif
    return (C)(operation == GANTRY_SCAN_PRODUCT);
}

GANTRY_ITEM C GANTRY_ITEM_FN(scan_join)(const C a, const C b, const GANTRY_LONG operation) {
#if GANTRY_SCAN_HAS_LOG
    if (operation == GANTRY_SCAN_LOG_SUM) {
        return GANTRY_ITEM_FN(log_sum)(a, b);
    }
#endif
    return operation == GANTRY_SCAN_PRODUCT ? (C)((U)a * (U)b) : (C)((U)a + (U)b);
}

#if defined(__OPENCL_VERSION__) || defined(__CUDACC__)

/* The number of elements of chunk i, and the place of its first one in the direction of the scan.
 */
#define GANTRY_FIND_CHUNK                                                                          \
    const GANTRY_LONG chunk = gantry__divide_position(i, p->columns); /* chunk of all sequences */ \
    const GANTRY_LONG outer = gantry__divide_position(chunk, p->chunks);                           \
    const GANTRY_LONG first = (chunk - outer * p->chunks) * GANTRY_SCAN_CHUNK;                     \
    const GANTRY_LONG row = p->reverse ? p->length - 1 - first : first;                            \
    const GANTRY_LONG start = (outer * p->length + row) * p->columns + i - chunk * p->columns;     \
    const GANTRY_LONG left = p->length - first;                                                    \
    const GANTRY_LONG length = left < GANTRY_SCAN_CHUNK ? left : GANTRY_SCAN_CHUNK;

/* Makes the totals of all chunks. */
GANTRY_ITEM void GANTRY_ITEM_FN(scan_totals)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL C *totals,
                                             GANTRY_PARAMETERS(gantry__scan_t) p,
                                             const GANTRY_LONG i) {
    GANTRY_FIND_CHUNK
    const GANTRY_LONG step = p->reverse ? -p->columns : p->columns;
    GANTRY_LONG at = start;
    C total = GANTRY_ITEM_FN(scan_identity)(p->operation);

    for (GANTRY_LONG k = 0; k < length; k++, at += step) {
        total = GANTRY_ITEM_FN(scan_join)(total, GANTRY_WIDEN(x[at]), p->operation);
    }
    totals[i] = total;
}
GANTRY_ITEMS_1_1(scan_totals, T, C, gantry__scan_t)

/* Makes the results of a chunk, from the total before it. It works in place. */
GANTRY_ITEM void GANTRY_ITEM_FN(scan_rows)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL const C *before,
                                           GANTRY_GLOBAL T *out,
                                           GANTRY_PARAMETERS(gantry__scan_t) p,
                                           const GANTRY_LONG i) {
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
GANTRY_ITEMS_2_1(scan_rows, T, C, T, gantry__scan_t)

#undef GANTRY_FIND_CHUNK

#else /* C has the other items for all types */

GANTRY_NO_ITEM(scan_totals)
GANTRY_NO_ITEM(scan_rows)

#endif

#if GANTRY_RUN_MOST > 1

/* ---- on processors ---- */

#define GANTRY_SCAN_ADD(a, b) ((C)((U)(a) + (U)(b)))
#define GANTRY_SCAN_TIMES(a, b) ((C)((U)(a) * (U)(b)))
#if GANTRY_SCAN_HAS_LOG
#define GANTRY_SCAN_OTHERWISE(loop)                 \
    else if (p->operation == GANTRY_SCAN_LOG_SUM) { \
        loop(GANTRY_ITEM_FN(log_sum))               \
    }
#else
#define GANTRY_SCAN_OTHERWISE(loop)
#endif
/* One loop for each operation: loop(JOIN) must be statements. */
#define GANTRY_SCAN_LOOP(loop)                        \
    if (p->operation == GANTRY_SCAN_SUM) {            \
        loop(GANTRY_SCAN_ADD)                         \
    } else if (p->operation == GANTRY_SCAN_PRODUCT) { \
        loop(GANTRY_SCAN_TIMES)                       \
    }                                                 \
    GANTRY_SCAN_OTHERWISE(loop)

/* These are for one column, in OpenCL C only for floats, halves, and integers of 32 and 64 bits. */
#if !defined(__OPENCL_VERSION__) || GANTRY_T_IS_FLOAT || GANTRY_T_IS_HALF || GANTRY_T_IS(i32) || \
    GANTRY_T_IS(i64)

/* These are for elements that are not neighbours. */
#undef GANTRY_SCAN_WIDEN
#undef GANTRY_SCAN_NARROW
#if GANTRY_T_IS(f16)
#define GANTRY_SCAN_WIDEN(x) gantry__lone_f16_to_f32(x)
#define GANTRY_SCAN_NARROW(x) gantry__lone_f32_to_f16(x)
#else
#define GANTRY_SCAN_WIDEN(x) GANTRY_WIDEN(x)
#define GANTRY_SCAN_NARROW(x) GANTRY_NARROW(x)
#endif

/* Finds chunk `number` of all sequences, of one column: its start, in the direction of the scan,
 * and its length. */
#define GANTRY_FIND_LINE(number)                                                \
    const GANTRY_LONG outer = gantry__divide_position(number, p->chunks);       \
    const GANTRY_LONG first = ((number)-outer * p->chunks) * GANTRY_SCAN_CHUNK; \
    const GANTRY_LONG row = p->reverse ? p->length - 1 - first : first;         \
    const GANTRY_LONG left = p->length - first;                                 \
    const int length = (int)(left < GANTRY_SCAN_CHUNK ? left : GANTRY_SCAN_CHUNK);

/* Finds the chunks from `number` up to `end`: their starts, and the number of elements that all of
 * them have. */
#define GANTRY_FIND_LINES(number, end)                                                      \
    const int lines =                                                                       \
        (int)((end) - (number) < GANTRY_SCAN_LINES ? (end) - (number) : GANTRY_SCAN_LINES); \
    GANTRY_LONG starts[GANTRY_SCAN_LINES] = {0};                                            \
    int lengths[GANTRY_SCAN_LINES] = {0};                                                   \
    int common = lines == GANTRY_SCAN_LINES ? GANTRY_SCAN_CHUNK : 0;                        \
    for (int c = 0; c < lines; ++c) {                                                       \
        GANTRY_FIND_LINE((number) + c)                                                      \
        starts[c] = outer * p->length + row;                                                \
        lengths[c] = length;                                                                \
        common = length < common ? length : common;                                         \
    }

#if GANTRY_SCAN_HAS_LOG
#define GANTRY_SCAN_STRETCH 16
/* Joins the chunks of an item by log_sum. That is dozens of instructions, so all lines are computed
 * as one vector: stretches of the lines are transposed on the way in and out. After the end of a
 * line, -infinity leaves its sum unchanged. out must be 0 for totals. */
GANTRY_ITEM void GANTRY_ITEM_FN(log_sum_lines)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                               GANTRY_PARAMETERS(gantry__scan_t) p,
                                               const GANTRY_LONG *starts, const int *lengths,
                                               const int lines, C *sums) {
    const GANTRY_LONG step = p->reverse ? -1 : 1;
    C stretch[GANTRY_SCAN_STRETCH * GANTRY_SCAN_LINES];
    C joined[GANTRY_SCAN_LINES];

    for (int c = 0; c < GANTRY_SCAN_LINES; ++c) {
        joined[c] = c < lines ? sums[c] : GANTRY_SCAN_LOWEST;
    }
    for (int k = 0; k < GANTRY_SCAN_CHUNK; k += GANTRY_SCAN_STRETCH) {
        for (int c = 0; c < GANTRY_SCAN_LINES; ++c) {
            const int length = c < lines ? lengths[c] - k : 0;

            for (int j = 0; j < GANTRY_SCAN_STRETCH; ++j) {
                stretch[j * GANTRY_SCAN_LINES + c] =
                    j < length ? GANTRY_SCAN_WIDEN(x[starts[c] + (k + j) * step])
                               : GANTRY_SCAN_LOWEST;
            }
        }
        for (int j = 0; j < GANTRY_SCAN_STRETCH; ++j) {
            C *const now = stretch + j * GANTRY_SCAN_LINES;
            C next[GANTRY_SCAN_LINES];

            GANTRY_ITEM_FN(log_sum_each)(joined, now, next, GANTRY_SCAN_LINES);
            for (int c = 0; c < GANTRY_SCAN_LINES; ++c) {
                now[c] = p->exclusive ? joined[c] : next[c];
                joined[c] = next[c];
            }
        }
        for (int c = 0; out != 0 && c < lines; ++c) {
            for (int j = 0; j < GANTRY_SCAN_STRETCH && j < lengths[c] - k; ++j) {
                out[starts[c] + (k + j) * step] =
                    GANTRY_SCAN_NARROW(stretch[j * GANTRY_SCAN_LINES + c]);
            }
        }
    }
    for (int c = 0; c < lines; ++c) {
        sums[c] = joined[c];
    }
}
#define GANTRY_SCAN_LOG_LINES(out)                                              \
    if (p->operation == GANTRY_SCAN_LOG_SUM) {                                  \
        GANTRY_ITEM_FN(log_sum_lines)(x, out, p, starts, lengths, lines, sums); \
    } else
#else
#define GANTRY_SCAN_LOG_LINES(out)
#endif

/* A processor cannot prefetch 8 streams by itself. The loop prefetches each cache line of the next
 * item; a prefetch never faults, so the address need not be mapped. */
#define GANTRY_SCAN_ASK (64 / (int)sizeof(T))
#define GANTRY_SCAN_PREFETCH(c, array)                                                        \
    GANTRY_PREFETCH((ulong)(array) + (ulong)((starts[c] + k * step +                          \
                                              GANTRY_SCAN_LINES * GANTRY_SCAN_CHUNK * step) * \
                                             (GANTRY_LONG)sizeof(T)));

#define GANTRY_SCAN_EACH_LINE(do_, JOIN)                                                       \
    do_(0, JOIN) do_(1, JOIN) do_(2, JOIN) do_(3, JOIN) do_(4, JOIN) do_(5, JOIN) do_(6, JOIN) \
        do_(7, JOIN)

#undef GANTRY_SCAN_ALL_TOTALS
#undef GANTRY_SCAN_ALL_ROWS
#undef GANTRY_SCAN_KEPT
#undef GANTRY_SCAN_KEPT_PARAMETER
#undef GANTRY_SCAN_KEPT_ARGUMENT

#if GANTRY_SCAN_HAS_SQUARES

#undef GANTRY_SCAN_SUMS
#if GANTRY_T_IS_HALF
#define GANTRY_SCAN_SUMS f32
#else
#define GANTRY_SCAN_SUMS GANTRY_T
#endif
#define GANTRY_SCAN_V GANTRY_SCAN_VECTOR(GANTRY_T)
#define GANTRY_SCAN_ALL_TOTALS                                                \
    GANTRY_SCAN_LOG_LINES(0) {                                                \
        GANTRY_SCAN_ALL_SQUARES(GANTRY_SCAN_V, GANTRY_SCAN_SQUARES_TOTAL, {}) \
    }
#define GANTRY_SCAN_ALL_ROWS                                                         \
    GANTRY_SCAN_LOG_LINES(out) {                                                     \
        GANTRY_SCAN_ALL_SQUARES(GANTRY_SCAN_V, GANTRY_SCAN_SQUARES_ROWS, {           \
            out[starts[c] + at] = GANTRY_SCAN_NARROW(p->exclusive ? sums[c] : next); \
        })                                                                           \
    }
/* The step `totals` keeps the transposed elements for the results. */
#define GANTRY_SCAN_KEPT GANTRY_SCAN_V kept[GANTRY_SCAN_CHUNK];
#define GANTRY_SCAN_KEPT_PARAMETER , GANTRY_SCAN_V *kept
#define GANTRY_SCAN_KEPT_ARGUMENT , kept

#else

#define GANTRY_SCAN_KEPT
#define GANTRY_SCAN_KEPT_PARAMETER
#define GANTRY_SCAN_KEPT_ARGUMENT

/* Places and sums are separate variables, which a compiler keeps in registers. It does not do so
 * for an array whose address is taken. */
#define GANTRY_SCAN_BEGIN_LINE(c, JOIN)               \
    const GANTRY_LONG place_##c = starts[c] - behind; \
    C sum_##c = sums[c];
#define GANTRY_SCAN_END_LINE(c, JOIN) sums[c] = sum_##c;
#define GANTRY_SCAN_LINE_TOTAL(c, JOIN) sum_##c = JOIN(sum_##c, GANTRY_SCAN_WIDEN(from[place_##c]));
#define GANTRY_SCAN_LINE_ROW(c, JOIN) \
    GANTRY_SCAN_LINE_TOTAL(c, JOIN)   \
    to[place_##c] = GANTRY_SCAN_NARROW(sum_##c);
#define GANTRY_SCAN_LINE_ROW_BEFORE(c, JOIN)                              \
    {                                                                     \
        const C next = JOIN(sum_##c, GANTRY_SCAN_WIDEN(from[place_##c])); \
                                                                          \
        to[place_##c] = GANTRY_SCAN_NARROW(sum_##c);                      \
        sum_##c = next;                                                   \
    }
/* The elements that all lines have. `each` must be statements for one element of all lines, `want`
 * for each 64 bytes of line c. */
#define GANTRY_SCAN_COMMON(JOIN, each, want)                                              \
    {                                                                                     \
        const GANTRY_LONG behind = p->reverse ? common - 1 : 0;                           \
        GANTRY_SCAN_EACH_LINE(GANTRY_SCAN_BEGIN_LINE, JOIN)                               \
        for (int k = 0; k < common;) {                                                    \
            const int stop = k + GANTRY_SCAN_ASK < common ? k + GANTRY_SCAN_ASK : common; \
                                                                                          \
            for (int c = 0; c < GANTRY_SCAN_LINES; ++c) {                                 \
                want                                                                      \
            }                                                                             \
            for (; k < stop; ++k) {                                                       \
                each                                                                      \
            }                                                                             \
        }                                                                                 \
        GANTRY_SCAN_EACH_LINE(GANTRY_SCAN_END_LINE, JOIN)                                 \
    }
#define GANTRY_SCAN_EACH_TOTAL(JOIN)                     \
    GANTRY_GLOBAL const T *from = x + behind + k * step; \
    GANTRY_SCAN_EACH_LINE(GANTRY_SCAN_LINE_TOTAL, JOIN)
#define GANTRY_SCAN_EACH_ROW(line, JOIN)                 \
    GANTRY_GLOBAL const T *from = x + behind + k * step; \
    GANTRY_GLOBAL T *to = out + behind + k * step;       \
    GANTRY_SCAN_EACH_LINE(line, JOIN)
#define GANTRY_SCAN_LINES_TOTAL(JOIN)                                                      \
    if (common > 0) {                                                                      \
        GANTRY_SCAN_COMMON(JOIN, GANTRY_SCAN_EACH_TOTAL(JOIN), GANTRY_SCAN_PREFETCH(c, x)) \
    }                                                                                      \
    for (int c = 0; c < lines; ++c) {                                                      \
        for (int k = common; k < lengths[c]; ++k) {                                        \
            sums[c] = JOIN(sums[c], GANTRY_SCAN_WIDEN(x[starts[c] + k * step]));           \
        }                                                                                  \
    }
#define GANTRY_SCAN_PREFETCH_BOTH GANTRY_SCAN_PREFETCH(c, x) GANTRY_SCAN_PREFETCH(c, out)
#define GANTRY_SCAN_COMMON_ROWS(JOIN, line) \
    GANTRY_SCAN_COMMON(JOIN, GANTRY_SCAN_EACH_ROW(line, JOIN), GANTRY_SCAN_PREFETCH_BOTH)
#define GANTRY_SCAN_LINES_ROWS(JOIN)                                     \
    if (common > 0 && p->exclusive) {                                    \
        GANTRY_SCAN_COMMON_ROWS(JOIN, GANTRY_SCAN_LINE_ROW_BEFORE)       \
    } else if (common > 0) {                                             \
        GANTRY_SCAN_COMMON_ROWS(JOIN, GANTRY_SCAN_LINE_ROW)              \
    }                                                                    \
    for (int c = 0; c < lines; ++c) {                                    \
        for (int k = common; k < lengths[c]; ++k) {                      \
            const GANTRY_LONG at = starts[c] + k * step;                 \
            const C next = JOIN(sums[c], GANTRY_SCAN_WIDEN(x[at]));      \
                                                                         \
            out[at] = GANTRY_SCAN_NARROW(p->exclusive ? sums[c] : next); \
            sums[c] = next;                                              \
        }                                                                \
    }
#define GANTRY_SCAN_EITHER(loop)           \
    if (p->operation == GANTRY_SCAN_SUM) { \
        loop(GANTRY_SCAN_ADD)              \
    } else {                               \
        loop(GANTRY_SCAN_TIMES)            \
    }
#define GANTRY_SCAN_ALL_TOTALS \
    GANTRY_SCAN_LOG_LINES(0) { GANTRY_SCAN_EITHER(GANTRY_SCAN_LINES_TOTAL) }
#define GANTRY_SCAN_ALL_ROWS \
    GANTRY_SCAN_LOG_LINES(out) { GANTRY_SCAN_EITHER(GANTRY_SCAN_LINES_ROWS) }

#endif

/* Makes the totals of up to 8 chunks. */
GANTRY_SHARED_FN void GANTRY_ITEM_FN(line_totals)(GANTRY_GLOBAL const T *x,
                                                  GANTRY_PARAMETERS(gantry__scan_t) p,
                                                  const GANTRY_LONG *starts, const int *lengths,
                                                  const int lines, const int common,
                                                  C *totals GANTRY_SCAN_KEPT_PARAMETER) {
    const GANTRY_LONG step = p->reverse ? -1 : 1;
    C sums[GANTRY_SCAN_LINES];

    for (int c = 0; c < GANTRY_SCAN_LINES; ++c) {
        sums[c] = GANTRY_ITEM_FN(scan_identity)(p->operation);
    }
    GANTRY_SCAN_ALL_TOTALS
    for (int c = 0; c < lines; ++c) {
        totals[c] = sums[c];
    }
}

GANTRY_ITEM void GANTRY_ITEM_FN(scan_totals_line)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL C *totals,
                                                  GANTRY_PARAMETERS(gantry__scan_t) p,
                                                  const GANTRY_LONG i) {
    const GANTRY_LONG number = i * GANTRY_SCAN_LINES;
    C sums[GANTRY_SCAN_LINES];
    GANTRY_SCAN_KEPT
    GANTRY_FIND_LINES(number, p->total)

    GANTRY_ITEM_FN(line_totals)
    (x, p, starts, lengths, lines, common, sums GANTRY_SCAN_KEPT_ARGUMENT);
    for (int c = 0; c < lines; ++c) {
        totals[number + c] = sums[c];
    }
}
GANTRY_ITEMS_1_1(scan_totals_line, T, C, gantry__scan_t)

GANTRY_ITEM void GANTRY_ITEM_FN(scan_rows_line)(GANTRY_GLOBAL const T *x,
                                                GANTRY_GLOBAL const C *before, GANTRY_GLOBAL T *out,
                                                GANTRY_PARAMETERS(gantry__scan_t) p,
                                                const GANTRY_LONG i) {
    const GANTRY_LONG step = p->reverse ? -1 : 1;
    const GANTRY_LONG most = p->whole > 0 ? p->whole * p->chunks : GANTRY_SCAN_LINES;
    const GANTRY_LONG end = p->total < (i + 1) * most ? p->total : (i + 1) * most;
    const C identity = GANTRY_ITEM_FN(scan_identity)(p->operation);
    C gone = identity; /* the total before the chunk `chunk` */
    GANTRY_LONG chunk = 0;

    for (GANTRY_LONG number = i * most; number < end; number += GANTRY_SCAN_LINES) {
        C sums[GANTRY_SCAN_LINES];
        GANTRY_SCAN_KEPT
        GANTRY_FIND_LINES(number, end)

        if (p->whole > 0) {
            GANTRY_ITEM_FN(line_totals)
            (x, p, starts, lengths, lines, common, sums GANTRY_SCAN_KEPT_ARGUMENT);
        }
        for (int c = 0; c < lines; ++c) {
            if (p->whole > 0) {
                const C total = sums[c];

                gone = chunk == 0 ? identity : gone;
                sums[c] = gone;
                gone = GANTRY_ITEM_FN(scan_join)(gone, total, p->operation);
                chunk = chunk + 1 < p->chunks ? chunk + 1 : 0;
            } else {
                sums[c] = p->chunks > 1 ? before[number + c] : identity;
            }
        }
#if GANTRY_SCAN_HAS_SQUARES
        const int streams = p->stream != 0 && common == GANTRY_SCAN_CHUNK;
#endif
        GANTRY_SCAN_ALL_ROWS
    }
#if GANTRY_SCAN_HAS_SQUARES
    GANTRY_STREAM_END();
#endif
}
GANTRY_ITEMS_2_1(scan_rows_line, T, C, T, gantry__scan_t)

#endif

/* Chunk `number` of all sequences, of the columns from `first` on: its start and its length. */
#define GANTRY_FIND_BLOCK(number)                                                      \
    const GANTRY_LONG sequence = gantry__divide_position(number, p->chunks);           \
    const GANTRY_LONG before_it = ((number)-sequence * p->chunks) * GANTRY_SCAN_CHUNK; \
    const GANTRY_LONG row = p->reverse ? p->length - 1 - before_it : before_it;        \
    const GANTRY_LONG left = p->length - before_it;                                    \
    const GANTRY_LONG length = left < GANTRY_SCAN_CHUNK ? left : GANTRY_SCAN_CHUNK;    \
    const GANTRY_LONG start = (sequence * p->length + row) * p->columns + first;

#define GANTRY_SCAN_BLOCK_TOTALS(JOIN)                        \
    for (GANTRY_LONG k = 0; k < length; k++, at += step) {    \
        for (int c = 0; c < count; ++c) {                     \
            sums[c] = JOIN(sums[c], GANTRY_WIDEN(x[at + c])); \
        }                                                     \
    }
#define GANTRY_SCAN_BLOCK_ROWS(JOIN)                                    \
    for (GANTRY_LONG k = 0; k < length; k++, at += step) {              \
        for (int c = 0; c < count; ++c) {                               \
            const C next = JOIN(sums[c], GANTRY_WIDEN(x[at + c]));      \
            out[at + c] = GANTRY_NARROW(p->exclusive ? sums[c] : next); \
            sums[c] = next;                                             \
        }                                                               \
    }

/* Joins the totals of a chunk of `count` columns, which starts at `start`, to `gone`. */
GANTRY_SHARED_FN void GANTRY_ITEM_FN(block_totals)(GANTRY_GLOBAL const T *x,
                                                   GANTRY_PARAMETERS(gantry__scan_t) p,
                                                   const GANTRY_LONG start,
                                                   const GANTRY_LONG length, const int count,
                                                   C *gone) {
    const GANTRY_LONG step = p->reverse ? -p->columns : p->columns;
    const C identity = GANTRY_ITEM_FN(scan_identity)(p->operation);
    GANTRY_LONG at = start;
    C sums[GANTRY_RUN_MOST];

    for (int c = 0; c < count; ++c) {
        sums[c] = identity;
    }
    GANTRY_SCAN_LOOP(GANTRY_SCAN_BLOCK_TOTALS)
    for (int c = 0; c < count; ++c) {
        gone[c] = GANTRY_ITEM_FN(scan_join)(gone[c], sums[c], p->operation);
    }
}

GANTRY_ITEM void GANTRY_ITEM_FN(scan_totals_block)(GANTRY_GLOBAL const T *x,
                                                   GANTRY_GLOBAL C *totals,
                                                   GANTRY_PARAMETERS(gantry__scan_t) p,
                                                   const GANTRY_LONG i) {
    GANTRY_FIND_RUN(p->runs)
    GANTRY_FIND_BLOCK(line)
    const int count = (int)(end - first);
    const C identity = GANTRY_ITEM_FN(scan_identity)(p->operation);
    C sums[GANTRY_RUN_MOST];

    for (int c = 0; c < count; ++c) {
        sums[c] = identity;
    }
    GANTRY_ITEM_FN(block_totals)(x, p, start, length, count, sums);
    for (int c = 0; c < count; ++c) {
        totals[line * p->columns + first + c] = sums[c];
    }
}
GANTRY_ITEMS_1_1(scan_totals_block, T, C, gantry__scan_t)

GANTRY_ITEM void GANTRY_ITEM_FN(scan_rows_block)(GANTRY_GLOBAL const T *x,
                                                 GANTRY_GLOBAL const C *before,
                                                 GANTRY_GLOBAL T *out,
                                                 GANTRY_PARAMETERS(gantry__scan_t) p,
                                                 const GANTRY_LONG i) {
    GANTRY_FIND_RUN(p->runs)
    const GANTRY_LONG step = p->reverse ? -p->columns : p->columns;
    const GANTRY_LONG chunks = p->whole > 0 ? p->chunks : 1, last = (line + 1) * chunks;
    const int count = (int)(end - first);
    const C identity = GANTRY_ITEM_FN(scan_identity)(p->operation);
    C sums[GANTRY_RUN_MOST], gone[GANTRY_RUN_MOST];

    for (int c = 0; c < count; ++c) {
        gone[c] = p->chunks > chunks ? before[line * p->columns + first + c] : identity;
    }
    for (GANTRY_LONG number = line * chunks; number < last; ++number) {
        GANTRY_FIND_BLOCK(number)
        GANTRY_LONG at = start;

        for (int c = 0; c < count; ++c) {
            sums[c] = gone[c];
        }
        if (number + 1 < last) {
            GANTRY_ITEM_FN(block_totals)(x, p, start, length, count, gone);
        }
        GANTRY_SCAN_LOOP(GANTRY_SCAN_BLOCK_ROWS)
    }
}
GANTRY_ITEMS_2_1(scan_rows_block, T, C, T, gantry__scan_t)

#undef GANTRY_SCAN_OTHERWISE

#endif

#endif
