/* SPDX-License-Identifier: Apache-2.0 */
/* C[i, j] = the sum over p of (A[i, p] - a_zero[i]) (B[p, j] - b_zero[j]) for integers of 8 and 16
 * bits and bool, modulo 2^32: the result is exact on every device.
 *
 *   matmul_integer_tile  GPUs: 256 work-items for a square of C, 16 * EACH on a side, EACH x EACH
 *                        elements per work-item; A and B pass through local memory, 16 words deep
 *   matmul_integer_item  GPUs that allow no such groups: a work-item for an element of C
 *   matmul_integer_rows  CPUs: a work-group of one for 4 rows and 64 columns of C in private memory
 *
 * A word of the tile is an element less its zero point. Where the device adds four products of
 * bytes in one instruction (cl_khr_integer_dot_product, __dp4a), it is four elements, as signed
 * bytes: an unsigned type's highest bit is inverted, which subtracts 128. The zero points are
 * regarded at the end, with y and z those of A and B, 128 less where a type is unsigned:
 *
 *     sum (a - y)(b - z) = sum a b - y sum b - z (sum a - k y)
 *
 * It must follow matmul_plan.cl.
 *
 * Options: GANTRY_T, A's type; GANTRY_S, B's; GANTRY_FLAGS, the sum of 1 for zero points of A, 2 of
 * B and 4 for a result of bool; GANTRY_EACH 1 or 4; GANTRY_DOTS 1 for types of 8 bits, which the
 * device may add as products of bytes; GANTRY_SERIAL 1 for the form of CPUs, 0 for those of
 * GPUs. */

#if GANTRY_SERIAL || !GANTRY_DOTS
#define GROUP 1
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 610
#define GROUP 4
#define ADD_DOT(a, b, sum) ((uint)__dp4a((int)(a), (int)(b), (int)(sum)))
#elif defined(__opencl_c_integer_dot_product_input_4x8bit_packed)
#if defined(cl_khr_integer_dot_product)
#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable
#endif
#define GROUP 4
#define ADD_DOT(a, b, sum) ((sum) + (uint)dot_4x8packed_ss_int(a, b))
#else
#define GROUP 1
#endif

#if GROUP == 1
#define ADD_DOT(a, b, sum) ((a) * (b) + (sum))
#endif

#define T_IS_MOVED (GROUP == 4 && GANTRY_T_IS_UNSIGNED)
#define S_IS_MOVED (GROUP == 4 && GANTRY_CLASS_OF(GANTRY_S) == GANTRY_CLASS_UNSIGNED)

/* Strides of zero points, in elements; 0: the lines, or the matrices, share them. Must have the
 * same fields as the host's struct. */
typedef struct {
    GANTRY_LONG a_line;
    GANTRY_LONG b_line;
    GANTRY_LONG a_batch[6];
    GANTRY_LONG b_batch[6];
} zeros_t;

/* The zero points of a row of A and of a column of B, as the words have the elements. `first` is
 * the place of the matrix's own. */
#if GANTRY_FLAGS & 1
#define A_ZERO_SPAN GANTRY_SPAN_IN(a_zero),
#define A_ZERO(first, row) \
    ((uint)GANTRY_IN(T, a_zero)[(first) + (row)*zeros.a_line] - (T_IS_MOVED ? 128u : 0u))
#else
#define A_ZERO_SPAN
#define A_ZERO(first, row) (T_IS_MOVED ? 0u - 128u : 0u)
#endif
#if GANTRY_FLAGS & 2
#define B_ZERO_SPAN GANTRY_SPAN_IN(b_zero),
#define B_ZERO(first, column) \
    ((uint)GANTRY_IN(S, b_zero)[(first) + (column)*zeros.b_line] - (S_IS_MOVED ? 128u : 0u))
#else
#define B_ZERO_SPAN
#define B_ZERO(first, column) (S_IS_MOVED ? 0u - 128u : 0u)
#endif

#if GANTRY_FLAGS & 4
#define RESULT uchar
#define STORED(sum) ((uchar)((sum) != 0))
#else
#define RESULT int
#define STORED(sum) ((int)(sum))
#endif

#define SPANS                                                 \
    GANTRY_SPAN_IN(a), GANTRY_SPAN_IN(b), GANTRY_SPAN_OUT(c), \
        A_ZERO_SPAN B_ZERO_SPAN GANTRY_VALUE(matmul_t, plan), GANTRY_VALUE(zeros_t, zeros)

#if !GANTRY_SERIAL

#define SIDE (16 * GANTRY_EACH)
#define A_SIDE (SIDE + 1)
#define DEPTH 16 /* words */

/* The word of an operand's elements from p on, `along` elements apart, of which `left` exist. */
#if GROUP == 4
#define DEFINE_WORD(name, type, is_moved)                                                 \
    GANTRY_FN uint name(GANTRY_GLOBAL const type *p, GANTRY_LONG along, GANTRY_LONG left, \
                        const uint zero) {                                                \
        uint word = 0;                                                                    \
        (void)zero;                                                                       \
        for (int e = 0; e < 4 && e < left; ++e) {                                         \
            word |= (((uint)(uchar)p[e * along]) ^ ((is_moved) ? 0x80u : 0u)) << (8 * e); \
        }                                                                                 \
        return word;                                                                      \
    }
#else
#define DEFINE_WORD(name, type, is_moved)                                                 \
    GANTRY_FN uint name(GANTRY_GLOBAL const type *p, GANTRY_LONG along, GANTRY_LONG left, \
                        const uint zero) {                                                \
        (void)along;                                                                      \
        return left > 0 ? (uint)p[0] - zero : 0u;                                         \
    }
#endif
DEFINE_WORD(word_of_a, T, T_IS_MOVED)
DEFINE_WORD(word_of_b, S, S_IS_MOVED)

GANTRY_KERNEL matmul_integer_tile(SPANS) {
    GANTRY_TAKE(matmul_t, plan)
    GANTRY_TAKE(zeros_t, zeros)
    /* [depth][row]; the padding keeps work-items that write a column of it in different banks */
    GANTRY_LOCAL_ARRAY(uint, a_tile, DEPTH * A_SIDE);
    GANTRY_LOCAL_ARRAY(uint, b_tile, DEPTH * SIDE); /* [depth][column] */
    const matmul_place_t at =
        matmul_place(GANTRY_GROUP_ID(0), plan.blocks_down, plan.blocks_across);
    const GANTRY_LONG batch = at.batch, row = at.row * SIDE, column = at.column * SIDE;
    const GANTRY_LONG a_first = batch_offset(&plan, zeros.a_batch, batch);
    const GANTRY_LONG b_first = batch_offset(&plan, zeros.b_batch, batch);
    GANTRY_GLOBAL const T *x = GANTRY_IN(T, a) + batch_offset(&plan, plan.a_batch, batch);
    GANTRY_GLOBAL const S *y = GANTRY_IN(S, b) + batch_offset(&plan, plan.b_batch, batch);
    GANTRY_GLOBAL RESULT *z = GANTRY_OUT(RESULT, c) + batch * plan.m * plan.n;
    const int item = (int)GANTRY_LOCAL_ID(0);
    const int down = item / 16, across = item % 16;
    uint sums[GANTRY_EACH * GANTRY_EACH];
#if GROUP == 4
    uint of_a[GANTRY_EACH], of_b[GANTRY_EACH]; /* the sums of rows and columns */
#endif
    GANTRY_UNROLLED for (int i = 0; i < GANTRY_EACH; ++i) {
#if GROUP == 4
        of_a[i] = of_b[i] = 0;
#endif
        GANTRY_UNROLLED for (int j = 0; j < GANTRY_EACH; ++j) { sums[i * GANTRY_EACH + j] = 0; }
    }
    for (GANTRY_LONG first = 0; first < plan.k; first += DEPTH * GROUP) {
        /* neighbouring work-items read neighbouring elements, whichever axis is contiguous */
        for (int i = item; i < DEPTH * SIDE; i += 256) {
            int a_deep = plan.a_column == 1 ? i % DEPTH : i / SIDE;
            int a_at = plan.a_column == 1 ? i / DEPTH : i % SIDE;
            int b_deep = plan.b_column == 1 ? i / SIDE : i % DEPTH;
            int b_at = plan.b_column == 1 ? i % SIDE : i / DEPTH;
            GANTRY_LONG a_k = first + a_deep * GROUP;
            GANTRY_LONG b_k = first + b_deep * GROUP;
            uint a_word = 0;
            uint b_word = 0;
            if (row + a_at < plan.m) {
                a_word = word_of_a(x + (row + a_at) * plan.a_row + a_k * plan.a_column,
                                   plan.a_column, plan.k - a_k, A_ZERO(a_first, row + a_at));
            }
            if (column + b_at < plan.n) {
                b_word = word_of_b(y + b_k * plan.b_row + (column + b_at) * plan.b_column,
                                   plan.b_row, plan.k - b_k, B_ZERO(b_first, column + b_at));
            }
            a_tile[a_deep * A_SIDE + a_at] = a_word;
            b_tile[b_deep * SIDE + b_at] = b_word;
        }
        GANTRY_BARRIER();
        for (int deep = 0; deep < DEPTH; ++deep) {
            GANTRY_UNROLLED for (int i = 0; i < GANTRY_EACH; ++i) {
                uint left = a_tile[deep * A_SIDE + down + 16 * i];
                GANTRY_UNROLLED for (int j = 0; j < GANTRY_EACH; ++j) {
                    uint *sum = &sums[i * GANTRY_EACH + j];
                    *sum = ADD_DOT(left, b_tile[deep * SIDE + across + 16 * j], *sum);
                }
#if GROUP == 4
                of_a[i] = ADD_DOT(left, 0x01010101u, of_a[i]);
                of_b[i] = ADD_DOT(b_tile[deep * SIDE + across + 16 * i], 0x01010101u, of_b[i]);
#endif
            }
        }
        GANTRY_BARRIER();
    }
    GANTRY_UNROLLED for (int i = 0; i < GANTRY_EACH; ++i) {
        GANTRY_UNROLLED for (int j = 0; j < GANTRY_EACH; ++j) {
            GANTRY_LONG to_row = row + down + 16 * i, to_column = column + across + 16 * j;
            if (to_row < plan.m && to_column < plan.n) {
                uint sum = sums[i * GANTRY_EACH + j];
#if GROUP == 4
                uint of_row = A_ZERO(a_first, to_row);
                sum -= of_row * of_b[j] +
                       B_ZERO(b_first, to_column) * (of_a[i] - (uint)plan.k * of_row);
#endif
                z[to_row * plan.n + to_column] = STORED(sum);
            }
        }
    }
}

GANTRY_KERNEL matmul_integer_item(SPANS) {
    GANTRY_TAKE(matmul_t, plan)
    GANTRY_TAKE(zeros_t, zeros)
    const GANTRY_LONG place = GANTRY_GLOBAL_ID(0);
    const matmul_place_t at = matmul_place(place, plan.m, plan.n);
    const GANTRY_LONG batch = at.batch, row = at.row, column = at.column;
    uint sum = 0;
    if (place >= plan.elements) {
        return;
    }
    const uint a_less =
        A_ZERO(batch_offset(&plan, zeros.a_batch, batch), row) + (T_IS_MOVED ? 128u : 0u);
    const uint b_less =
        B_ZERO(batch_offset(&plan, zeros.b_batch, batch), column) + (S_IS_MOVED ? 128u : 0u);
    GANTRY_GLOBAL const T *x =
        GANTRY_IN(T, a) + batch_offset(&plan, plan.a_batch, batch) + row * plan.a_row;
    GANTRY_GLOBAL const S *y =
        GANTRY_IN(S, b) + batch_offset(&plan, plan.b_batch, batch) + column * plan.b_column;
    for (GANTRY_LONG deep = 0; deep < plan.k; ++deep) {
        sum += ((uint)x[deep * plan.a_column] - a_less) * ((uint)y[deep * plan.b_row] - b_less);
    }
    GANTRY_OUT(RESULT, c)[place] = STORED(sum);
}

#else

#define ROWS 4
#define COLUMNS 64
#define STEP 64

/* Reads `steps` rows of B, less the columns' zero points, in the order of memory. */
GANTRY_FN void read_piece(uint *piece, GANTRY_GLOBAL const S *b, GANTRY_LONG row_stride,
                          GANTRY_LONG column_stride, const uint *less, int steps, int columns) {
    if (column_stride == 1) {
        for (int p = 0; p < steps; ++p) {
            for (int j = 0; j < columns; ++j) {
                piece[p * COLUMNS + j] = (uint)b[p * row_stride + j] - less[j];
            }
        }
        return;
    }
    for (int j = 0; j < columns; ++j) {
        for (int p = 0; p < steps; ++p) {
            piece[p * COLUMNS + j] = (uint)b[p * row_stride + j * column_stride] - less[j];
        }
    }
}

GANTRY_KERNEL matmul_integer_rows(SPANS) {
    GANTRY_TAKE(matmul_t, plan)
    GANTRY_TAKE(zeros_t, zeros)
    uint sums[ROWS * COLUMNS];
    uint piece[STEP * COLUMNS];
    uint a_less[ROWS];
    uint b_less[COLUMNS];
    /* rows first: the work-groups that a thread takes one after another share columns of B */
    const matmul_place_t at =
        matmul_place(GANTRY_GROUP_ID(0), plan.blocks_across, plan.blocks_down);
    const GANTRY_LONG batch = at.batch, row = at.column * ROWS, column = at.row * COLUMNS;
    const GANTRY_LONG a_first = batch_offset(&plan, zeros.a_batch, batch);
    const GANTRY_LONG b_first = batch_offset(&plan, zeros.b_batch, batch);
    const int rows = (int)(plan.m - row < ROWS ? plan.m - row : ROWS);
    const int columns = (int)(plan.n - column < COLUMNS ? plan.n - column : COLUMNS);
    GANTRY_GLOBAL const T *x =
        GANTRY_IN(T, a) + batch_offset(&plan, plan.a_batch, batch) + row * plan.a_row;
    GANTRY_GLOBAL const S *y =
        GANTRY_IN(S, b) + batch_offset(&plan, plan.b_batch, batch) + column * plan.b_column;
    GANTRY_GLOBAL RESULT *z = GANTRY_OUT(RESULT, c) + (batch * plan.m + row) * plan.n + column;
    for (int i = 0; i < ROWS * COLUMNS; ++i) {
        sums[i] = 0;
    }
    for (int i = 0; i < rows; ++i) {
        a_less[i] = A_ZERO(a_first, row + i);
    }
    for (int j = 0; j < columns; ++j) {
        b_less[j] = B_ZERO(b_first, column + j);
    }
    for (GANTRY_LONG first = 0; first < plan.k; first += STEP) {
        int steps = (int)(plan.k - first < STEP ? plan.k - first : STEP);
        read_piece(piece, y + first * plan.b_row, plan.b_row, plan.b_column, b_less, steps,
                   columns);
        for (int p = 0; p < steps; ++p) {
            for (int i = 0; i < rows; ++i) {
                uint scale = (uint)x[(first + p) * plan.a_column + i * plan.a_row] - a_less[i];
                for (int j = 0; j < columns; ++j) {
                    sums[i * COLUMNS + j] += scale * piece[p * COLUMNS + j];
                }
            }
        }
    }
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) {
            z[i * plan.n + j] = STORED(sums[i * COLUMNS + j]);
        }
    }
}

#endif
