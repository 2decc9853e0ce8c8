/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of a few rows, shaped for processors: c[i, j] = sum over p of narrow[i, p] *
 * wide[p, j] for up to 4 i, where wide's rows run along j. Such a product is as fast as wide is
 * read: in long pieces of several of its rows at a time. A tile of registers would read pieces of
 * some lines, each from another page.
 *
 *     for each block of columns
 *       sums of up to 4 rows, in the first cache
 *       for each group of rows of wide
 *         a piece of each: their products are added to the sums, in the order of p
 *
 * One work-item is one core and owns a range of columns. It must come after opencl_cpu_types.cl and
 * opencl_cpu_tile.cl. */
#define LANES GANTRY_LANES
#define BLOCK (4096 / (long)sizeof(T) / LANES) /* vectors of a row's sums */
#define MOST_ROWS 4

/* Must have the same fields as problem_t of opencl_cpu_rows.c. Strides are in elements. */
typedef struct {
    long rows, columns, k;
    /* from narrow[i, p] to narrow[i + 1, p] and to narrow[i, p + 1] */
    long narrow_row, narrow_along;
    long wide_row; /* from wide[p, j] to wide[p + 1, j] */
    long c_row, c_col;
} problem_t;

/* sums += the products of the columns [begin, end) of wide's rows [first, last). */
static void add_rest(const problem_t *q, __global const T *narrow, __global const T *wide,
                     long first, long last, long begin, long end, V *sums) {
    for (long p = first; p < last; ++p) {
        for (long i = 0; i < q->rows; ++i) {
            const T scale = narrow[i * q->narrow_row + p * q->narrow_along];
            T *sum = (T *)(sums + i * BLOCK);

            for (long j = begin; j < end; ++j) {
                sum[j] = fma(scale, wide[p * q->wide_row + j], sum[j]);
            }
        }
    }
}

/* Rows of narrow, the last ones of which may be absent, by rows of wide: as many pairs as registers
 * hold scales for. */
#define ROWS_1(X) X(0)
#define ROWS_2(X) \
    X(0)          \
    X(1)
#define ROWS_4(X) \
    X(0)          \
    X(1)          \
    X(2)          \
    X(3)
#define ROWS_8(X) \
    X(0)          \
    X(1)          \
    X(2)          \
    X(3)          \
    X(4)          \
    X(5)          \
    X(6)          \
    X(7)
#define PAIRS_1_8(X) \
    X(0, 0)          \
    X(0, 1)          \
    X(0, 2)          \
    X(0, 3)          \
    X(0, 4)          \
    X(0, 5)          \
    X(0, 6)          \
    X(0, 7)
#define PAIRS_2_4(X) \
    X(0, 0)          \
    X(0, 1)          \
    X(0, 2)          \
    X(0, 3)          \
    X(1, 0)          \
    X(1, 1)          \
    X(1, 2)          \
    X(1, 3)
#define PAIRS_4_2(X) \
    X(0, 0)          \
    X(0, 1)          \
    X(1, 0)          \
    X(1, 1)          \
    X(2, 0)          \
    X(2, 1)          \
    X(3, 0)          \
    X(3, 1)

#define SCALE(i, r)      \
    const V s##i##_##r = \
        (V)(i < q->rows ? narrow[i * q->narrow_row + (p + r) * q->narrow_along] : (T)0);
#define SUM(i) V sum##i = sums[i * BLOCK + j];
#define WIDE(r) const V w##r = LOAD(j, wide + (p + r) * q->wide_row);
#define ADD(i, r) sum##i = fma(s##i##_##r, w##r, sum##i);
#define KEEP(i) sums[i * BLOCK + j] = sum##i;

/* Adds to sums the products of `vectors` vectors of wide's rows, in whole groups. Returns how many
 * rows that were. */
#define DEFINE_ADD(rows, group)                                                                   \
    static long add_##rows(const problem_t *q, __global const T *narrow, __global const T *wide,  \
                           long vectors, V *sums) {                                               \
        long p = 0;                                                                               \
                                                                                                  \
        for (; p + group <= q->k; p += group) {                                                   \
            PAIRS_##rows##_##group(SCALE) for (long j = 0; j < vectors; ++j) {                    \
                ROWS_##rows(SUM) ROWS_##group(WIDE) PAIRS_##rows##_##group(ADD) ROWS_##rows(KEEP) \
            }                                                                                     \
        }                                                                                         \
        return p;                                                                                 \
    }

DEFINE_ADD(1, 8)
DEFINE_ADD(2, 4)
DEFINE_ADD(4, 2)

#if GANTRY_EPILOGUE
static void finish_row(V *sums, __global const T *bias, long columns) {
    T *sum = (T *)sums;

    for (long j = 0; j < columns; ++j) {
        sum[j] = finished(sum[j], bias + j);
    }
}
#endif

static void store_row(const V *sums, __global T *c, long c_col, long columns) {
    if (c_col == 1) {
        for (; columns >= LANES; columns -= LANES, sums++, c += LANES) {
            STORE_WHOLE(*sums, 0, c);
        }
    }
    for (long j = 0; j < columns; ++j) {
        c[j * c_col] = ((const T *)sums)[j];
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void opencl_cpu_rows(
    __global const uchar *narrow_base, const ulong narrow_offset, __global const uchar *wide_base,
    const ulong wide_offset, __global uchar *c_base, const ulong c_offset,
    const problem_t q BIAS_PARAMETERS) {
    const long item = (long)get_global_id(0);
    const long items = (long)get_global_size(0);
    const long end = part_begin(q.columns, NR, item + 1, items);
    __global const T *narrow = (__global const T *)(narrow_base + narrow_offset);
    __global const T *wide = (__global const T *)(wide_base + wide_offset);
    __global T *c = (__global T *)(c_base + c_offset);
    V sums[MOST_ROWS * BLOCK];

    for (long first = part_begin(q.columns, NR, item, items); first < end; first += BLOCK * LANES) {
        const long columns = min(end - first, BLOCK * LANES), vectors = columns / LANES;
        long p = 0;

        for (long s = 0; s < MOST_ROWS * BLOCK; ++s) {
            sums[s] = (V)0;
        }
        if (q.rows == 1) {
            p = add_1(&q, narrow, wide + first, vectors, sums);
        } else if (q.rows == 2) {
            p = add_2(&q, narrow, wide + first, vectors, sums);
        } else {
            p = add_4(&q, narrow, wide + first, vectors, sums);
        }
        add_rest(&q, narrow, wide + first, p, q.k, 0, vectors * LANES, sums);
        add_rest(&q, narrow, wide + first, 0, q.k, vectors * LANES, columns, sums);
        for (long i = 0; i < q.rows; ++i) {
#if GANTRY_EPILOGUE
            finish_row(sums + i * BLOCK, BIAS + first, columns);
#endif
            store_row(sums + i * BLOCK, c + i * q.c_row + first * q.c_col, q.c_col, columns);
        }
    }
}
