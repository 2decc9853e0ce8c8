/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of adjacent elements, more than 64, in one column, on CPUs: the lanes of the tree
 * (reduce.cl, which must come before) are vectors of 64 bytes, which stay in registers. For
 * float32, float64, int32 and int64. Option: GANTRY_READS_AHEAD 1 for a CPU whose hardware
 * prefetcher is enough. */
#if GANTRY_SERIAL

#if GANTRY_T_IS(f32)
#define LINE_WIDTH 16
typedef float16 line_t;
#define LINE_LOAD(q, x) vload16(q, x)
#define LINE_STORE(v, q, x) vstore16(v, q, x)
#elif GANTRY_T_IS(f64)
#define LINE_WIDTH 8
typedef double8 line_t;
#define LINE_LOAD(q, x) vload8(q, x)
#define LINE_STORE(v, q, x) vstore8(v, q, x)
#elif GANTRY_T_IS(i32) && REDUCE_IS_EXTREME
#define LINE_WIDTH 16
typedef int16 line_t;
#define LINE_LOAD(q, x) vload16(q, x)
#define LINE_STORE(v, q, x) vstore16(v, q, x)
#elif GANTRY_T_IS(i32) && GANTRY_REDUCE_OP != GANTRY_TREE_WIDE_SUM
#define LINE_WIDTH 16
typedef uint16 line_t;
#define LINE_LOAD(q, x) as_uint16(vload16(q, x))
#define LINE_STORE(v, q, x) vstore16(v, q, x)
#elif GANTRY_T_IS(i64) && REDUCE_IS_EXTREME
#define LINE_WIDTH 8
typedef long8 line_t;
#define LINE_LOAD(q, x) vload8(q, x)
#define LINE_STORE(v, q, x) vstore8(v, q, x)
#elif GANTRY_T_IS(i64)
#define LINE_WIDTH 8
typedef ulong8 line_t;
#define LINE_LOAD(q, x) as_ulong8(vload8(q, x))
#define LINE_STORE(v, q, x) vstore8(v, q, x)
#endif

#if defined(LINE_WIDTH)

#define LINE_AHEAD 4096 /* bytes */
#if GANTRY_READS_AHEAD
#define LINE_PREFETCH(address)
#else
#define LINE_PREFETCH(address) GANTRY_PREFETCH(address)
#endif
#define LINE_VECTORS (LANES / LINE_WIDTH)
#if GANTRY_REDUCE_OP == GANTRY_TREE_MAX
#define LINE_OP(a, b) ((((b) != (b)) | ((b) > (a))) ? (b) : (a))
#elif GANTRY_REDUCE_OP == GANTRY_TREE_MIN
#define LINE_OP(a, b) ((((b) != (b)) | ((b) < (a))) ? (b) : (a))
#else
#define LINE_OP(a, b) REDUCE_OP(a, b)
#endif
#if GANTRY_REDUCE_OP == GANTRY_TREE_SQUARES
#define LINE_TERM(x) ((x) * (x))
#else
#define LINE_TERM(x) (x)
#endif

GANTRY_FN void line_start(line_t *sums) {
    GANTRY_UNROLLED for (int q = 0; q < LINE_VECTORS; ++q) { sums[q] = (line_t)(REDUCE_IDENTITY); }
}

/* Adds elements [i, i + count), which must be whole rows of lanes. */
GANTRY_FN void line_rows(line_t *sums, GANTRY_GLOBAL const T *x, int i, int count) {
    for (int end = i + count; i < end; i += LANES) {
        GANTRY_UNROLLED for (int q = 0; q < LINE_VECTORS; ++q) {
            const line_t value = LINE_LOAD(q, x + i);
            LINE_PREFETCH((ulong)(x + i + q * LINE_WIDTH) + LINE_AHEAD);
            sums[q] = LINE_OP(sums[q], LINE_TERM(value));
        }
    }
}

GANTRY_FN ACC line_fold(line_t *sums) {
    ACC lanes[LANES];
    GANTRY_FOLD_LANES(LINE_OP, LINE_STORE, sums, LINE_VECTORS, LINE_WIDTH, lanes)
    return lanes[0];
}

/* Reduces `count` adjacent elements, which must be at most a chunk. */
GANTRY_FN ACC line_chunk(GANTRY_GLOBAL const T *x, int count) {
    line_t sums[LINE_VECTORS];
    const int whole = count - count % LANES;
    line_start(sums);
    line_rows(sums, x, 0, whole);
    if (whole < count) {
        ACC lanes[LANES];
        GANTRY_UNROLLED for (int q = 0; q < LINE_VECTORS; ++q) { LINE_STORE(sums[q], q, lanes); }
        for (int k = 0; whole + k < count; ++k) {
            const ACC value = REDUCE_LOAD(x[whole + k]);
            lanes[k] = REDUCE_OP(lanes[k], value);
        }
        GANTRY_UNROLLED for (int q = 0; q < LINE_VECTORS; ++q) {
#if LINE_WIDTH == 16
            sums[q] = vload16(q, lanes);
#else
            sums[q] = vload8(q, lanes);
#endif
        }
    }
    return line_fold(sums);
}

/* Reduces two sequences of `count` adjacent elements, which must be whole rows of lanes, by turns a
 * row of each. The hardware prefetcher follows each load instruction separately, and fetches more
 * if these read in two places. */
GANTRY_FN void line_pair(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL const T *y, int count, ACC *first,
                         ACC *second) {
    line_t a[LINE_VECTORS], b[LINE_VECTORS];
    line_start(a);
    line_start(b);
    for (int i = 0; i < count; i += LANES) {
        line_rows(a, x, i, LANES);
        line_rows(b, y, i, LANES);
    }
    *first = line_fold(a);
    *second = line_fold(b);
}

/* Does the units of a work-group. */
GANTRY_BODY_FN void line_units(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out), const reduce_level_t level,
                               const GANTRY_LONG group) {
    const GANTRY_LONG first = group * level.each;
    const GANTRY_LONG end = first + level.each < level.units ? first + level.each : level.units;
    const GANTRY_LONG apart = (end - first + 1) / 2;
    for (GANTRY_LONG unit = first; unit < first + apart; ++unit) {
        const int is_pair = unit + apart < end;
        const chunk_t chunk = find_chunk(&level, unit),
                      other = find_chunk(&level, is_pair ? unit + apart : unit);
        GANTRY_GLOBAL const T *x = GANTRY_IN(T, in) + chunk.offset + chunk.row;
        GANTRY_GLOBAL const T *y = GANTRY_IN(T, in) + other.offset + other.row;
        const int count = (int)chunk_rows(&level, chunk.row),
                  others = (int)chunk_rows(&level, other.row);
        if (is_pair && count == others && count % LANES == 0) {
            ACC one, two;
            line_pair(x, y, count, &one, &two);
            PUT(unit, one);
            PUT(unit + apart, two);
        } else {
            PUT(unit, line_chunk(x, count));
            if (is_pair) {
                PUT(unit + apart, line_chunk(y, others));
            }
        }
    }
}

GANTRY_KERNEL reduce_line(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out),
                          GANTRY_VALUE(reduce_level_t, level)) {
    GANTRY_TAKE(reduce_level_t, level)
    line_units(in_base, in_offset, out_base, out_offset, level, GANTRY_GROUP_ID(0));
}

#endif

#endif
