/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix product shaped for processors: c[i, j] = sum over p of a[i, p] * b[p, j].
 *
 * One work-item is one core; it owns tiles of c and needs no other. Within a tile:
 *
 *     for each block of columns (nc) and of the sum (kc)
 *       pack kc x nc of b into panels of NR columns, p major
 *       for each block of rows (mc)
 *         pack mc x kc of a into panels of MR rows, p major
 *         for each panel of b, for each panel of a
 *           MR x NR of c in registers: MR broadcasts, NR of b
 *
 * A panel of b (kc * NR) stays near while all panels of a pass by, the block of a (mc * kc) in the
 * second cache. Packed panels are padded with zeros to full width, so the innermost loop has no
 * edges; only the store of an edge tile goes element by element. The sum over p runs in one order,
 * so an element's value does not depend on how tiles are divided. Where b's rows are already as in
 * a panel and are used only a few times, packing them does not pay: is_direct. Nor does it pay
 * for rows of a that few panels of b meet: is_plain, they are then read from MR places at a time.
 *
 * It must follow opencl_cpu_tile.cl. Source of the scheme: Goto and van de Geijn, "Anatomy of
 * High-Performance Matrix Multiplication", 2008. */

/* Must equal problem_t of opencl_cpu_matmul.c. Strides, block sizes and offsets are in elements. */
typedef struct {
    long m, n, k;
    long a_row, a_col; /* from a[i, p] to a[i + 1, p] and to a[i, p + 1] */
    long b_row, b_col;
    long c_row, c_col, c_batch;
    long tiles_m, tiles_n; /* of one product */
    long tasks;            /* tiles of all products */
    long mc, nc, kc;
    long slot; /* scratch of one work-item */
    long is_direct, is_plain;
    /* from c[i, j]'s bias to c[i + 1, j]'s and to c[i, j + 1]'s; with a bias, a batch is the groups
     * of a row */
    long bias_row, bias_col;
    long batch_rank;
    long batch_dims[6], a_batch[6], b_batch[6];
} problem_t;

/* ---- the epilogue of a tile ---- */

/* What tiles and blocks get of the epilogue. bias must be that of the first element. */
#if GANTRY_EPILOGUE
#define EPILOGUE_ARGUMENTS(i, j) , bias + (i)*q->bias_row + (j)*q->bias_col, is_last
#define TILE_PARAMETERS EPILOGUE_PARAMETERS, long bias_row, long bias_col
#define TILE_ARGUMENTS(i, j) EPILOGUE_ARGUMENTS(i, j), q->bias_row, q->bias_col
#else
#define EPILOGUE_ARGUMENTS(i, j)
#define TILE_PARAMETERS
#define TILE_ARGUMENTS(i, j)
#endif

/* ---- MR x NR of c ---- */

/* A panel of b is more than the first cache holds. Where a step is of wide vectors, its rows are
 * prefetched some steps ahead. Narrow vectors have more steps, so that the prefetch costs more than
 * it saves. */
#define STEPS_AHEAD 8
#if GANTRY_LANES == 16
#define FETCH_B(i, v) FETCH(b + STEPS_AHEAD * b_step + v * GANTRY_LANES, 0);
#else
#define FETCH_B(i, v)
#endif
/* Does four at a time, because on a core that shares its decoder with another thread each
 * instruction of a loop's turn counts. */
#define PRODUCT_STEP        \
    {                       \
        VECTORS(FETCH_B, 0) \
        VECTORS(READ_B, 0)  \
        ROWS(ROW_STEP)      \
        a += MR;            \
        b += b_step;        \
    }

/* The first block of the sum sets c, the others add to it. b's rows must be b_step apart. */
static void product_tile(long depth, __global const T *a, __global const T *b, long b_step,
                         __global T *c, long c_row, long c_col, long rows, long columns,
                         int is_first TILE_PARAMETERS) {
    __global T *out = c;

    ROWS(ROW_CLEAR)
    for (long p = 0; p < depth;) {
        const long stop = min(p + LINE_ELEMENTS, depth);

        VECTORS(FETCH_OUT, 0)
        out += c_row;
        for (; p + 4 <= stop; p += 4) {
            PRODUCT_STEP PRODUCT_STEP PRODUCT_STEP PRODUCT_STEP
        }
        for (; p < stop; ++p) {
            PRODUCT_STEP
        }
    }
    TILE_END
}

/* The same with rows of a in place, a_row apart. Rows that do not exist repeat the last one, and
 * are not stored. `next` are the ends of rows that are prefetched meanwhile. */
#define PLAIN_ROW(i) __global const T *a##i = a + min((long)i, rows - 1) * a_row + depth;
#define PLAIN_STEP(i)             \
    {                             \
        const V s = (V)(a##i[p]); \
        VECTORS(STEP, i)          \
    }

static void plain_tile(long depth, __global const T *a, long a_row, __global const T *b,
                       long b_step, __global T *c, long c_row, long c_col, long rows, long columns,
                       int is_first, __global const T *next, long next_rows TILE_PARAMETERS) {
    __global T *out = c;

    ROWS(ROW_CLEAR)
    ROWS(PLAIN_ROW)
    for (long p = -depth; p < 0;) { /* no register for an end: MR are for rows */
        const long stop = min(p + LINE_ELEMENTS, 0L);

        for (long i = 0; i < next_rows; ++i) {
            FETCH(next + i * a_row + p, 0);
        }
        VECTORS(FETCH_OUT, 0)
        out += c_row;
        for (; p < stop; p++, b += b_step) {
            VECTORS(READ_B, 0)
            ROWS(PLAIN_STEP)
        }
    }
    TILE_END
}

/* ---- blocks ---- */

/* The panel of b of the columns from j on, and how far apart its rows are. */
static __global const T *panel_of_b(const problem_t *q, __global const T *packed_b,
                                    __global const T *b, long j, long columns, long depth,
                                    long *b_step) {
    const int is_direct = q->is_direct && columns - j >= NR;

    *b_step = is_direct ? q->b_row : NR;
    return is_direct ? b + j * q->b_col : packed_b + j * depth;
}

/* Multiplies mc x kc of a, packed, by kc x nc of b, packed except for panels that are in place. */
static void product_block(const problem_t *q, __global const T *packed_a,
                          __global const T *packed_b, __global const T *b, __global T *c, long rows,
                          long columns, long depth, int is_first EPILOGUE_PARAMETERS) {
    for (long j = 0; j < columns; j += NR) {
        long b_step;
        __global const T *panel = panel_of_b(q, packed_b, b, j, columns, depth, &b_step);

        for (long i = 0; i < rows; i += MR) {
            product_tile(depth, packed_a + i * depth, panel, b_step,
                         c + i * q->c_row + j * q->c_col, q->c_row, q->c_col, rows - i, columns - j,
                         is_first TILE_ARGUMENTS(i, j));
        }
    }
}

/* The same with a in place: few panels of b, so all of them pass by each panel of a, which comes
 * from far away. Its rows are prefetched one panel ahead, some of them while each panel of b
 * passes: the hardware's prefetcher is late for short rows, and all at once would stall loads. */
static void plain_block(const problem_t *q, __global const T *a, __global const T *packed_b,
                        __global const T *b, __global T *c, long rows, long columns, long depth,
                        int is_first EPILOGUE_PARAMETERS) {
    for (long i = 0; i < rows; i += MR, a += MR * q->a_row, c += MR * q->c_row) {
        const long ahead = min((long)MR, rows - i - MR);

        for (long j = 0; j < columns; j += NR) {
            long b_step;
            __global const T *panel = panel_of_b(q, packed_b, b, j, columns, depth, &b_step);
            const long next = ahead * j / columns,
                       next_end = ahead * min(j + NR, columns) / columns;

            plain_tile(depth, a, q->a_row, panel, b_step, c + j * q->c_col, q->c_row, q->c_col,
                       rows - i, columns - j, is_first, a + (MR + next) * q->a_row + depth,
                       next_end - next TILE_ARGUMENTS(i, j));
        }
    }
}

#if GANTRY_EPILOGUE
#define BLOCK_ARGUMENTS , bias + i * q->bias_row + j * q->bias_col, p + depth == q->k
#else
#define BLOCK_ARGUMENTS
#endif

BODY_FN void product(const problem_t *q, __global const T *a, __global const T *b, __global T *c,
                     __global const T *bias, __global T *packed_a, __global T *packed_b, long m,
                     long n) {
    for (long j = 0; j < n; j += q->nc) {
        const long columns = min(q->nc, n - j);

        for (long p = 0; p < q->k; p += q->kc) {
            const long depth = min(q->kc, q->k - p);
            __global const T *b_block = b + p * q->b_row + j * q->b_col;

            pack_columns(packed_b, b_block, columns, depth, q->b_col, q->b_row, q->is_direct != 0);
            for (long i = 0; i < m; i += q->mc) {
                const long rows = min(q->mc, m - i);
                __global const T *a_block = a + i * q->a_row + p * q->a_col;
                __global T *c_block = c + i * q->c_row + j * q->c_col;

                if (q->is_plain) {
                    plain_block(q, a_block, packed_b, b_block, c_block, rows, columns, depth,
                                p == 0 BLOCK_ARGUMENTS);
                } else {
                    pack_rows(packed_a, a_block, rows, depth, q->a_row, q->a_col);
                    product_block(q, packed_a, packed_b, b_block, c_block, rows, columns, depth,
                                  p == 0 BLOCK_ARGUMENTS);
                }
            }
        }
    }
}

/* ---- tiles ---- */

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void opencl_cpu_matmul(
    __global const uchar *a_base, const ulong a_offset, __global const uchar *b_base,
    const ulong b_offset, __global uchar *c_base, const ulong c_offset,
    __global uchar *scratch_base, const ulong scratch_offset, const problem_t q BIAS_PARAMETERS) {
    const long item = (long)get_global_id(0);
    const long items = (long)get_global_size(0);
    __global T *packed_a = (__global T *)(scratch_base + scratch_offset) + item * q.slot;
    __global T *packed_b = packed_a + q.mc * q.kc;

    for (long task = q.tasks * item / items; task < q.tasks * (item + 1) / items; ++task) {
        const long tile = task % (q.tiles_m * q.tiles_n);
        const long batch = task / (q.tiles_m * q.tiles_n);
        const long i0 = part_begin(q.m, MR, tile / q.tiles_n, q.tiles_m);
        const long i1 = part_begin(q.m, MR, tile / q.tiles_n + 1, q.tiles_m);
        const long j0 = part_begin(q.n, NR, tile % q.tiles_n, q.tiles_n);
        const long j1 = part_begin(q.n, NR, tile % q.tiles_n + 1, q.tiles_n);
        __global const T *a = (__global const T *)(a_base + a_offset) + i0 * q.a_row;
        __global const T *b = (__global const T *)(b_base + b_offset) + j0 * q.b_col;
        __global T *c =
            (__global T *)(c_base + c_offset) + batch * q.c_batch + i0 * q.c_row + j0 * q.c_col;
        long rest = batch;

        for (long d = q.batch_rank - 1; d >= 0; --d) {
            a += rest % q.batch_dims[d] * q.a_batch[d];
            b += rest % q.batch_dims[d] * q.b_batch[d];
            rest /= q.batch_dims[d];
        }
        product(&q, a, b, c, BIAS + batch * q.c_batch + i0 * q.bias_row + j0 * q.bias_col, packed_a,
                packed_b, i1 - i0, j1 - j0);
    }
}
