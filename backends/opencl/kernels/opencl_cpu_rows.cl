/* Matrix products of a few rows, shaped for processors: c[i, j] = sum over p of narrow[i, p] * wide[p, j] for up to 4 i, where
 * wide's rows run along j. Such a product is as fast as wide is read: in long pieces of several of its rows at a time, whose next
 * ones are asked for meanwhile. A tile of registers would read pieces of some lines, each from another page.
 *
 *     for each block of columns             sums of 4 rows, in the first cache
 *       for each 4 rows of wide             a piece of each: their products added to the sums, in the order of p
 *
 * One work-item is one core and owns a range of columns. Comes after opencl_cpu_types.cl and opencl_cpu_tile.cl. */
#define LANES GANTRY_LANES
#define BLOCK (4096 / (long)sizeof(T) / LANES) /* vectors of a row's sums */
#define MOST_ROWS 4
#define GROUP 4 /* rows of wide at a time */

/* As problem_t of opencl_cpu_rows.c. Strides are in elements. */
typedef struct {
    long rows, columns, k;
    long narrow_row, narrow_along; /* from narrow[i, p] to narrow[i + 1, p] and to narrow[i, p + 1] */
    long wide_row;                 /* from wide[p, j] to wide[p + 1, j] */
    long c_row, c_col;
} problem_t;

/* The first `count` elements, then zeros. */
static V load_part(__global const T *from, long count)
{
    T part[LANES];

    for (long i = 0; i < LANES; i++) {
        part[i] = i < count ? from[i] : (T)0;
    }
    return LOAD(0, part);
}

/* sums += the products of the rows p ... p + group - 1 of wide, of which `piece` points to the first one's columns. */
static void add_rows(const problem_t *q, __global const T *narrow, __global const T *piece, long p, long columns, int group,
                     V *sums)
{
    T scales[MOST_ROWS][GROUP];

    for (long i = 0; i < q->rows; i++) {
        for (int r = 0; r < group; r++) {
            scales[i][r] = narrow[i * q->narrow_row + (p + r) * q->narrow_along];
        }
    }
    for (long j = 0; j < columns; j += LANES, sums++, piece += LANES) {
        V rows[GROUP];

        for (int r = 0; r < group; r++) {
            __global const T *from = piece + r * q->wide_row;

            FETCH(from + GROUP * q->wide_row, 0);
            rows[r] = columns - j >= LANES ? LOAD(0, from) : load_part(from, columns - j);
        }
        for (long i = 0; i < q->rows; i++) {
            V sum = sums[i * BLOCK];

            for (int r = 0; r < group; r++) {
                sum = fma((V)(scales[i][r]), rows[r], sum);
            }
            sums[i * BLOCK] = sum;
        }
    }
}

static void store_row(const V *sums, __global T *c, long c_col, long columns)
{
    if (c_col == 1) {
        for (; columns >= LANES; columns -= LANES, sums++, c += LANES) {
            STORE_WHOLE(*sums, 0, c);
        }
    }
    for (long j = 0; j < columns; j++) {
        c[j * c_col] = ((const T *)sums)[j];
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void opencl_cpu_rows(
    __global const uchar *narrow_base, const ulong narrow_offset, __global const uchar *wide_base, const ulong wide_offset,
    __global uchar *c_base, const ulong c_offset, const problem_t q)
{
    const long item = (long)get_global_id(0);
    const long items = (long)get_global_size(0);
    const long end = part_begin(q.columns, NR, item + 1, items);
    __global const T *narrow = (__global const T *)(narrow_base + narrow_offset);
    __global const T *wide = (__global const T *)(wide_base + wide_offset);
    __global T *c = (__global T *)(c_base + c_offset);
    V sums[MOST_ROWS * BLOCK];

    for (long first = part_begin(q.columns, NR, item, items); first < end; first += BLOCK * LANES) {
        const long columns = min(end - first, BLOCK * LANES);
        long p = 0;

        for (long s = 0; s < MOST_ROWS * BLOCK; s++) {
            sums[s] = (V)0;
        }
        for (; p + GROUP <= q.k; p += GROUP) {
            add_rows(&q, narrow, wide + p * q.wide_row + first, p, columns, GROUP, sums);
        }
        for (; p < q.k; p++) {
            add_rows(&q, narrow, wide + p * q.wide_row + first, p, columns, 1, sums);
        }
        for (long i = 0; i < q.rows; i++) {
            store_row(sums + i * BLOCK, c + i * q.c_row + first * q.c_col, q.c_col, columns);
        }
    }
}
