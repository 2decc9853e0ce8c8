/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products with a narrow side, shaped for processors: c[i, j] = sum over p of wide[i, p] *
 * narrow[p, j] for few j, where wide's rows run along p. Packing wide as the general kernel does
 * would cost as much as the product, so each element is a dot product of two rows:
 *
 *     for each block of the sum (kc)
 *       pack narrow: groups of 4 columns, LANES elements of a column side by side
 *       for each MR rows of wide
 *         4 x MR dot products in registers, a vector each; wide is read once, in place
 *
 * The lanes are added pairwise at a block's end. One work-item is one core and owns a range of
 * rows.
 *
 * It must follow opencl_cpu_types.cl. 4 * MR accumulators, 4 vectors of narrow and one of wide must
 * fit in the registers. */
#define LANES GANTRY_LANES

/* Must have the same fields as problem_t of opencl_cpu_dots.c. Strides are in elements. */
typedef struct {
    long rows, columns, k;
    long wide_row; /* from wide[i, p] to wide[i + 1, p] */
    /* from narrow[p, j] to narrow[p + 1, j] and to narrow[p, j + 1] */
    long narrow_along, narrow_across;
    long c_row, c_col;
    long kc;
    long slot; /* a work-item's scratch */
} problem_t;

static T add_lanes(V x) {
#if LANES == 16
    const CAT(T, 8) eight = x.lo + x.hi;
    const CAT(T, 4) four = eight.lo + eight.hi;
    const CAT(T, 2) two = four.lo + four.hi;
#elif LANES == 8
    const CAT(T, 4) four = x.lo + x.hi;
    const CAT(T, 2) two = four.lo + four.hi;
#elif LANES == 4
    const CAT(T, 2) two = x.lo + x.hi;
#else
    const CAT(T, 2) two = x;
#endif
    return two.lo + two.hi;
}

/* Loads the first `count` elements, then zeros. */
static V load_part(__global const T *from, long count) {
    T part[LANES];

    for (long i = 0; i < LANES; ++i) {
        part[i] = i < count ? from[i] : (T)0;
    }
    return LOAD(0, part);
}

/* to[((g * blocks + t) * 4 + j) * LANES + i] = narrow[t * LANES + i, 4 * g + j], zero outside. */
static void pack_narrow(__global T *to, __global const T *from, const problem_t *q, long depth) {
    for (long j0 = 0; j0 < q->columns; j0 += 4) {
        for (long p0 = 0; p0 < depth; p0 += LANES) {
            for (long j = j0; j < j0 + 4; ++j) {
                for (long p = p0; p < p0 + LANES; p++, to++) {
                    *to = j < q->columns && p < depth
                              ? from[p * q->narrow_along + j * q->narrow_across]
                              : (T)0;
                }
            }
        }
    }
}

/* Rows beyond the last one read that row again, for sums that are not used. */
#define ROW_POINTER(i) __global const T *r##i = wide + min((long)i, rows - 1) * q->wide_row;
#define ROW_CLEAR(i) V x##i##0 = (V)0, x##i##1 = (V)0, x##i##2 = (V)0, x##i##3 = (V)0;
#define ROW_ADD(i, w)                  \
    {                                  \
        const V l = w;                 \
        x##i##0 = fma(l, n0, x##i##0); \
        x##i##1 = fma(l, n1, x##i##1); \
        x##i##2 = fma(l, n2, x##i##2); \
        x##i##3 = fma(l, n3, x##i##3); \
    }
#define ROW_STEP(i) ROW_ADD(i, LOAD(t, r##i))
#define ROW_TAIL(i) ROW_ADD(i, load_part(r##i + t * LANES, depth - t * LANES))
#define ROW_SUM(i)                        \
    sums[4 * i] = add_lanes(x##i##0);     \
    sums[4 * i + 1] = add_lanes(x##i##1); \
    sums[4 * i + 2] = add_lanes(x##i##2); \
    sums[4 * i + 3] = add_lanes(x##i##3);
#define READ_NARROW                       \
    const V n0 = LOAD(4 * t, narrow);     \
    const V n1 = LOAD(4 * t + 1, narrow); \
    const V n2 = LOAD(4 * t + 2, narrow); \
    const V n3 = LOAD(4 * t + 3, narrow);

/* Computes MR rows by one group of 4 columns. The first block of the sum sets c, and the others add
 * to it. */
BODY_FN void dots_tile(const problem_t *q, __global const T *wide, __global const T *narrow,
                       long depth, __global T *c, long rows, long columns, int is_first) {
    T sums[4 * MR];
    long t = 0;

    ROWS(ROW_POINTER)
    ROWS(ROW_CLEAR)
    for (; (t + 1) * LANES <= depth; ++t) {
        READ_NARROW
        ROWS(ROW_STEP)
    }
    if (t * LANES < depth) {
        READ_NARROW
        ROWS(ROW_TAIL)
    }
    ROWS(ROW_SUM)
    for (long i = 0; i < MR && i < rows; ++i) {
        for (long j = 0; j < 4 && j < columns; ++j) {
            __global T *element = c + i * q->c_row + j * q->c_col;

            *element = is_first ? sums[4 * i + j] : *element + sums[4 * i + j];
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void opencl_cpu_dots(
    __global const uchar *wide_base, const ulong wide_offset, __global const uchar *narrow_base,
    const ulong narrow_offset, __global uchar *c_base, const ulong c_offset,
    __global uchar *scratch_base, const ulong scratch_offset, const problem_t q) {
    const long item = (long)get_global_id(0);
    const long items = (long)get_global_size(0);
    const long panels = (q.rows + MR - 1) / MR;
    const long begin = panels * item / items * MR;
    const long end = min(q.rows, panels * (item + 1) / items * MR);
    __global const T *wide = (__global const T *)(wide_base + wide_offset);
    __global const T *narrow = (__global const T *)(narrow_base + narrow_offset);
    __global T *c = (__global T *)(c_base + c_offset);
    __global T *packed = (__global T *)(scratch_base + scratch_offset) + item * q.slot;

    for (long p = 0; p < q.k; p += q.kc) {
        const long depth = min(q.kc, q.k - p);
        const long group = (depth + LANES - 1) / LANES * LANES * 4;

        pack_narrow(packed, narrow + p * q.narrow_along, &q, depth);
        for (long i = begin; i < end; i += MR) {
            for (long j = 0; j < q.columns; j += 4) {
                dots_tile(&q, wide + i * q.wide_row + p, packed + j / 4 * group, depth,
                          c + i * q.c_row + j * q.c_col, end - i, q.columns - j, p == 0);
            }
        }
    }
}
