/* A matrix product shaped for processors: c[i, j] = sum over p of a[i, p] * b[p, j].
 *
 * One work-item is one core; it owns tiles of c and needs nobody else. Within a tile:
 *
 *     for each block of columns (nc) and of the sum (kc)    kc x nc of b is packed into panels of NR columns, p major
 *       for each block of rows (mc)                         mc x kc of a is packed into panels of MR rows, p major
 *         for each panel of b, for each panel of a          MR x NR of c in registers: MR broadcasts, NR of b
 *
 * A panel of b (kc * NR) stays near while all panels of a pass by, the block of a (mc * kc) in the second cache. Packed
 * panels are padded with zeros to full width, so the innermost loop has no edges; only the store of an edge tile goes
 * element by element. The sum over p runs in one order, so an element's value does not depend on how tiles are shared
 * out. Where b's rows lie as they would in a panel and are used a few times only, packing them does not pay: is_direct.
 *
 * Options: GANTRY_T_ID 1 (float32) or 2 (float64); GANTRY_LANES elements in a vector register; the register tile is
 * GANTRY_MR rows of GANTRY_VECTORS vectors: MR * VECTORS accumulators, VECTORS vectors of b and one broadcast must fit
 * in the registers. Source of the scheme: Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication",
 * 2008. */
#pragma OPENCL FP_CONTRACT OFF

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)

#if GANTRY_T_ID == 2
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define T double
#else
#define T float
#endif
#define V CAT(T, GANTRY_LANES)
#define Q CAT(T, 4)
#define LOAD CAT(vload, GANTRY_LANES)
#define STORE CAT(vstore, GANTRY_LANES)
#define MR GANTRY_MR
#define NR (GANTRY_VECTORS * GANTRY_LANES)

#if MR == 12
#define ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#elif MR == 6
#define ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5)
#elif MR == 4
#define ROWS(X) X(0) X(1) X(2) X(3)
#elif MR == 2
#define ROWS(X) X(0) X(1)
#endif

#if GANTRY_VECTORS == 4
#define VECTORS(X, i) X(i, 0) X(i, 1) X(i, 2) X(i, 3)
#else
#define VECTORS(X, i) X(i, 0) X(i, 1)
#endif

/* Brings a line near before it is needed. Only a hint, worth 3 percent of a large product; OpenCL's own prefetch() does
 * nothing on processors, and not every runtime takes the compiler's builtin, so the one that is known to is asked for
 * by its macro. */
#if defined(POCL_DEVICE_ADDRESS_BITS) && defined(__clang__)
#define FETCH(address, is_written) __builtin_prefetch((const void *)(ulong)(address), is_written, 3)
#else
#define FETCH(address, is_written)
#endif

/* As problem_t of opencl_cpu_matmul.c. Strides, block sizes and offsets are in elements. */
typedef struct {
    long m, n, k;
    long a_row, a_col; /* from a[i, p] to a[i + 1, p] and to a[i, p + 1] */
    long b_row, b_col;
    long c_row, c_col, c_batch;
    long tiles_m, tiles_n; /* of one product */
    long tasks;            /* tiles of all products */
    long mc, nc, kc;
    long slot; /* scratch of one work-item */
    long is_direct;
    long batch_rank;
    long batch_dims[6], a_batch[6], b_batch[6];
} problem_t;

/* ---- packing ---- */

/* Four rows of four elements, turned: to[p * step + i] = from[i * row + p]. */
static void turn_quad(__global T *to, long step, __global const T *from, long row)
{
    const Q r0 = vload4(0, from);
    const Q r1 = vload4(0, from + row);
    const Q r2 = vload4(0, from + 2 * row);
    const Q r3 = vload4(0, from + 3 * row);

    vstore4((Q)(r0.s0, r1.s0, r2.s0, r3.s0), 0, to);
    vstore4((Q)(r0.s1, r1.s1, r2.s1, r3.s1), 0, to + step);
    vstore4((Q)(r0.s2, r1.s2, r2.s2, r3.s2), 0, to + 2 * step);
    vstore4((Q)(r0.s3, r1.s3, r2.s3, r3.s3), 0, to + 3 * step);
}

/* to[p * width + i] = from[i * across + p * along] for i below width and p below depth; zero where i is not below
 * valid. */
static void pack_slow(__global T *to, long width, __global const T *from, long valid, long depth, long across,
                      long along)
{
    for (long p = 0; p < depth; p++) {
        for (long i = 0; i < width; i++) {
            to[p * width + i] = i < valid ? from[i * across + p * along] : (T)0;
        }
    }
}

/* A full panel whose lines run along p: turned in quads, the rest element by element. */
static void pack_turned(__global T *to, long width, __global const T *from, long depth, long across)
{
    const long quads = depth / 4 * 4;

    for (long p = 0; p < quads; p += 4) {
        long i = 0;

        for (; i + 4 <= width; i += 4) {
            turn_quad(to + p * width + i, width, from + i * across + p, across);
        }
        for (; i < width; i++) {
            for (long q = p; q < p + 4; q++) {
                to[q * width + i] = from[i * across + q];
            }
        }
    }
    pack_slow(to + quads * width, width, from + quads, width, depth - quads, across, 1);
}

static void pack_rows(__global T *to, __global const T *from, long rows, long depth, long across, long along)
{
    for (long i = 0; i < rows; i += MR, to += MR * depth, from += MR * across) {
        if (along == 1 && rows - i >= MR) {
            pack_turned(to, MR, from, depth, across);
        } else {
            pack_slow(to, MR, from, rows - i, depth, across, along);
        }
    }
}

#define COLUMN_MOVE(p, v) STORE(LOAD(v, from + p * along), v, to + p * NR);

static void pack_columns(__global T *to, __global const T *from, long columns, long depth, long across, long along,
                         int is_direct)
{
    for (long j = 0; j < columns; j += NR, to += NR * depth, from += NR * across) {
        const int is_full = columns - j >= NR;

        if (is_full && is_direct) {
            continue;
        }
        if (is_full && across == 1) {
            for (long p = 0; p < depth; p++) {
                VECTORS(COLUMN_MOVE, p)
            }
        } else if (is_full && along == 1) {
            pack_turned(to, NR, from, depth, across);
        } else {
            pack_slow(to, NR, from, columns - j, depth, across, along);
        }
    }
}

/* ---- MR x NR of c ---- */

#define CLEAR(i, v) V x##i##_##v = (V)0;
#define FETCH_C(i, v) FETCH(c + i * c_row + v * GANTRY_LANES, 1);
#define READ_B(i, v) const V b##v = LOAD(v, b);
#define STEP(i, v) x##i##_##v = fma(s, b##v, x##i##_##v);
#define ADD_C(i, v) x##i##_##v += LOAD(v, c + i * c_row);
#define STORE_C(i, v) STORE(x##i##_##v, v, c + i * c_row);
#define SPILL(i, v) STORE(x##i##_##v, v, tile + i * NR);
#define ROW_CLEAR(i) VECTORS(CLEAR, i)
#define ROW_FETCH(i) VECTORS(FETCH_C, i)
#define ROW_STEP(i)            \
    {                          \
        const V s = (V)(a[i]); \
        VECTORS(STEP, i)       \
    }
#define ROW_ADD(i) VECTORS(ADD_C, i)
#define ROW_STORE(i) VECTORS(STORE_C, i)
#define ROW_SPILL(i) VECTORS(SPILL, i)

/* c is set by the first block of the sum and added to by the others. b's rows are b_step apart. */
static void product_tile(long depth, __global const T *a, __global const T *b, long b_step, __global T *c, long c_row,
                         long c_col, long rows, long columns, int is_first)
{
    const int is_full = rows >= MR && columns >= NR && c_col == 1;

    ROWS(ROW_CLEAR)
    ROWS(ROW_FETCH) /* an edge tile's too: a hint may point anywhere, a branch here would double the loop's code */
    for (long p = 0; p < depth; p++, a += MR, b += b_step) {
        VECTORS(READ_B, 0)
        ROWS(ROW_STEP)
    }
    if (is_full) {
        if (!is_first) {
            ROWS(ROW_ADD)
        }
        ROWS(ROW_STORE)
    } else {
        T tile[MR * NR];

        ROWS(ROW_SPILL)
        for (long i = 0; i < MR && i < rows; i++) {
            for (long j = 0; j < NR && j < columns; j++) {
                __global T *element = c + i * c_row + j * c_col;

                *element = is_first ? tile[i * NR + j] : *element + tile[i * NR + j];
            }
        }
    }
}

/* ---- blocks ---- */

/* mc x kc of a, packed, by kc x nc of b, packed but for the panels taken as they lie. */
static void product_block(const problem_t *q, __global const T *packed_a, __global const T *packed_b,
                          __global const T *b, __global T *c, long rows, long columns, long depth, int is_first)
{
    for (long j = 0; j < columns; j += NR) {
        const int is_direct = q->is_direct && columns - j >= NR;
        __global const T *panel = is_direct ? b + j * q->b_col : packed_b + j * depth;

        for (long i = 0; i < rows; i += MR) {
            product_tile(depth, packed_a + i * depth, panel, is_direct ? q->b_row : NR, c + i * q->c_row + j * q->c_col,
                         q->c_row, q->c_col, rows - i, columns - j, is_first);
        }
    }
}

static void product(const problem_t *q, __global const T *a, __global const T *b, __global T *c, __global T *packed_a,
                    __global T *packed_b, long m, long n)
{
    for (long j = 0; j < n; j += q->nc) {
        const long columns = min(q->nc, n - j);

        for (long p = 0; p < q->k; p += q->kc) {
            const long depth = min(q->kc, q->k - p);
            __global const T *b_block = b + p * q->b_row + j * q->b_col;

            pack_columns(packed_b, b_block, columns, depth, q->b_col, q->b_row, q->is_direct != 0);
            for (long i = 0; i < m; i += q->mc) {
                const long rows = min(q->mc, m - i);

                pack_rows(packed_a, a + i * q->a_row + p * q->a_col, rows, depth, q->a_row, q->a_col);
                product_block(q, packed_a, packed_b, b_block, c + i * q->c_row + j * q->c_col, rows, columns, depth,
                              p == 0);
            }
        }
    }
}

/* ---- tiles ---- */

/* Where part `index` of `parts` begins, in whole panels. */
static long part_begin(long size, long panel, long index, long parts)
{
    return min(size, (size + panel - 1) / panel * index / parts * panel);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void opencl_cpu_matmul(
    __global const uchar *a_base, const ulong a_offset, __global const uchar *b_base, const ulong b_offset,
    __global uchar *c_base, const ulong c_offset, __global uchar *scratch_base, const ulong scratch_offset,
    const problem_t q)
{
    const long item = (long)get_global_id(0);
    const long items = (long)get_global_size(0);
    __global T *packed_a = (__global T *)(scratch_base + scratch_offset) + item * q.slot;
    __global T *packed_b = packed_a + q.mc * q.kc;

    for (long task = q.tasks * item / items; task < q.tasks * (item + 1) / items; task++) {
        const long tile = task % (q.tiles_m * q.tiles_n);
        const long batch = task / (q.tiles_m * q.tiles_n);
        const long i0 = part_begin(q.m, MR, tile / q.tiles_n, q.tiles_m);
        const long i1 = part_begin(q.m, MR, tile / q.tiles_n + 1, q.tiles_m);
        const long j0 = part_begin(q.n, NR, tile % q.tiles_n, q.tiles_n);
        const long j1 = part_begin(q.n, NR, tile % q.tiles_n + 1, q.tiles_n);
        __global const T *a = (__global const T *)(a_base + a_offset) + i0 * q.a_row;
        __global const T *b = (__global const T *)(b_base + b_offset) + j0 * q.b_col;
        __global T *c = (__global T *)(c_base + c_offset) + batch * q.c_batch + i0 * q.c_row + j0 * q.c_col;
        long rest = batch;

        for (long d = q.batch_rank - 1; d >= 0; d--) {
            a += rest % q.batch_dims[d] * q.a_batch[d];
            b += rest % q.batch_dims[d] * q.b_batch[d];
            rest /= q.batch_dims[d];
        }
        product(&q, a, b, c, packed_a, packed_b, i1 - i0, j1 - j0);
    }
}
