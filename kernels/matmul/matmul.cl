/* SPDX-License-Identifier: Apache-2.0 */
/* C = op(A) op(B) for every element type, any strides, any batch: simple kernels that run
 * everywhere. A backend may have faster ones for its devices, with a higher priority.
 *
 *   matmul_tile  GPUs: 256 work-items for a square of C, 16 * EACH on a side, EACH x EACH elements
 *                per work-item; A and B pass through local memory, 16 deep
 *   matmul_item  GPUs that allow no such groups: a work-item for an element of C
 *   matmul_rows  CPUs: a work-group of one for 4 rows and 64 columns of C in private memory, loops
 *                over columns
 *
 * Elements are summed over k in rising order, floats with a fused multiply-add if the device has a
 * fast one: the compiler says so, or GANTRY_HAS_FMA for a GPU whose driver has one at all. Results
 * have the same bits from run to run; between devices the last bit may differ. 16-bit floats are
 * widened when they are loaded, summed in float32 and rounded once at the end.
 *
 * A bias and a Relu are computed from the finished element, as BiasAdd and Relu compute them.
 *
 * It must follow matmul_plan.cl.
 *
 * With planes the rows are places of images, c_column of each, and C is [images, columns, places].
 *
 * Programs with GANTRY_PATCHES have the kernels of matmul_patches.cl, which must follow, instead.
 *
 * Options: GANTRY_T; GANTRY_MATMUL_EACH 1, 4 or 8; GANTRY_EPILOGUE 1 for a bias, 2 for a Relu, 3
 * for both, and 4 more for planes; GANTRY_SERIAL 1 for the form of CPUs, 0 for those of GPUs. */

#if GANTRY_T_IS_HALF
#define LOAD(x) GANTRY_WIDEN(x)
#define STORED(x) GANTRY_NARROW(x)
#else
#define LOAD(x) ((U)(x))
#define STORED(x) ((T)(x))
#endif

#if defined(__CUDACC__) && (GANTRY_T_IS_FLOAT || GANTRY_T_IS_HALF)
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)
#elif (GANTRY_T_IS(f32) || GANTRY_T_IS_HALF) && (defined(FP_FAST_FMAF) || defined(GANTRY_HAS_FMA))
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)
#elif GANTRY_T_IS(f64) && defined(FP_FAST_FMA)
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)
#else
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#endif

#if GANTRY_EPILOGUE & 4
GANTRY_FN GANTRY_LONG plane_offset(const matmul_t *plan, GANTRY_LONG row, GANTRY_LONG column) {
    const GANTRY_LONG image = gantry__divide_position(row, plan->c_column);

    return image * plan->c_batch + column * plan->c_column + row - image * plan->c_column;
}
#define OFFSET(row, column) plane_offset(&plan, row, column)
#else
#define OFFSET(row, column) ((row)*plan.c_row + (column)*plan.c_column)
#endif

#if GANTRY_EPILOGUE & 1
#define BIAS_SPAN GANTRY_SPAN_IN(bias),
#if GANTRY_EPILOGUE & 4
#define BIAS(batch, column) GANTRY_IN(T, bias)[column]
#else
/* With a bias, a batch is the groups of a row. */
#define BIAS(batch, column) GANTRY_IN(T, bias)[(batch)*plan.c_batch + (column)*plan.c_column]
#endif
#else
#define BIAS_SPAN
#define BIAS(batch, column) ((T)0)
#endif

/* Makes an element of c from its sum. */
GANTRY_FN T finished(const U sum, const T bias) {
    T x = STORED(sum);
#if GANTRY_EPILOGUE & 1
    x = STORED(LOAD(x) + LOAD(bias));
#endif
#if (GANTRY_EPILOGUE & 2) && GANTRY_T_IS_HALF
    x = GANTRY_WIDEN(x) < 0.0f ? GANTRY_NARROW(0.0f) : x;
#elif GANTRY_EPILOGUE & 2
    x = x < (T)0 ? (T)0 : x;
#endif
    return x;
}

#if !GANTRY_SERIAL

#define SIDE (16 * GANTRY_MATMUL_EACH)
#define A_SIDE (SIDE + 1)
#define DEPTH 16

/* Adds the products of a tile of A and a tile of B to the sums of the work-item. */
#define ADD_TILES()                                                                     \
    for (int deep = 0; deep < DEPTH; ++deep) {                                          \
        GANTRY_UNROLLED for (int i = 0; i < GANTRY_MATMUL_EACH; ++i) {                  \
            U left = a_tile[deep * A_SIDE + down + 16 * i];                             \
            GANTRY_UNROLLED for (int j = 0; j < GANTRY_MATMUL_EACH; ++j) {              \
                U *sum = &sums[i * GANTRY_MATMUL_EACH + j];                             \
                *sum = MULTIPLY_ADD(left, b_tile[deep * SIDE + across + 16 * j], *sum); \
            }                                                                           \
        }                                                                               \
    }

#if !defined(GANTRY_PATCHES)

GANTRY_KERNEL matmul_tile(GANTRY_SPAN_IN(a), GANTRY_SPAN_IN(b), GANTRY_SPAN_OUT(c),
                          BIAS_SPAN GANTRY_VALUE(matmul_t, plan)) {
    GANTRY_TAKE(matmul_t, plan)
    /* [depth][row]; the padding keeps work-items that write a column of it in different banks */
    GANTRY_LOCAL_ARRAY(U, a_tile, DEPTH * A_SIDE);
    GANTRY_LOCAL_ARRAY(U, b_tile, DEPTH * SIDE); /* [depth][column] */
    const matmul_place_t at =
        matmul_place(GANTRY_GROUP_ID(0), plan.blocks_down, plan.blocks_across);
    const GANTRY_LONG batch = at.batch, row = at.row * SIDE, column = at.column * SIDE;
    GANTRY_GLOBAL const T *x = GANTRY_IN(T, a) + batch_offset(&plan, plan.a_batch, batch);
    GANTRY_GLOBAL const T *y = GANTRY_IN(T, b) + batch_offset(&plan, plan.b_batch, batch);
    GANTRY_GLOBAL T *z = GANTRY_OUT(T, c) + batch * plan.c_batch;
    const int item = (int)GANTRY_LOCAL_ID(0);
#if GANTRY_EPILOGUE & 4 /* neighbouring work-items write neighbouring elements */
    const int down = item % 16, across = item / 16;
#else
    const int down = item / 16;
    const int across = item % 16;
#endif
    U sums[GANTRY_MATMUL_EACH * GANTRY_MATMUL_EACH];
    GANTRY_UNROLLED for (int i = 0; i < GANTRY_MATMUL_EACH * GANTRY_MATMUL_EACH; ++i) {
        sums[i] = 0;
    }
    for (GANTRY_LONG first = 0; first < plan.k; first += DEPTH) {
        /* neighbouring work-items read neighbouring elements, whichever axis is contiguous */
        for (int i = item; i < DEPTH * SIDE; i += 256) {
            int a_deep = plan.a_column == 1 ? i % DEPTH : i / SIDE;
            int a_at = plan.a_column == 1 ? i / DEPTH : i % SIDE;
            int b_deep = plan.b_column == 1 ? i / SIDE : i % DEPTH;
            int b_at = plan.b_column == 1 ? i % SIDE : i / DEPTH;
            GANTRY_LONG a_place = (row + a_at) * plan.a_row + (first + a_deep) * plan.a_column;
            GANTRY_LONG b_place = (first + b_deep) * plan.b_row + (column + b_at) * plan.b_column;
            int a_inside = row + a_at < plan.m && first + a_deep < plan.k;
            int b_inside = column + b_at < plan.n && first + b_deep < plan.k;
            a_tile[a_deep * A_SIDE + a_at] = a_inside ? LOAD(x[a_place]) : (U)0;
            b_tile[b_deep * SIDE + b_at] = b_inside ? LOAD(y[b_place]) : (U)0;
        }
        GANTRY_BARRIER();
        ADD_TILES()
        GANTRY_BARRIER();
    }
    GANTRY_UNROLLED for (int i = 0; i < GANTRY_MATMUL_EACH; ++i) {
        GANTRY_UNROLLED for (int j = 0; j < GANTRY_MATMUL_EACH; ++j) {
            GANTRY_LONG to_row = row + down + 16 * i;
            GANTRY_LONG to_column = column + across + 16 * j;
            if (to_row < plan.m && to_column < plan.n) {
                z[OFFSET(to_row, to_column)] =
                    finished(sums[i * GANTRY_MATMUL_EACH + j], BIAS(batch, to_column));
            }
        }
    }
}

GANTRY_KERNEL matmul_item(GANTRY_SPAN_IN(a), GANTRY_SPAN_IN(b), GANTRY_SPAN_OUT(c),
                          BIAS_SPAN GANTRY_VALUE(matmul_t, plan)) {
    GANTRY_TAKE(matmul_t, plan)
    const GANTRY_LONG place = GANTRY_GLOBAL_ID(0);
    const matmul_place_t at = matmul_place(place, plan.m, plan.n);
    const GANTRY_LONG batch = at.batch, row = at.row, column = at.column;
    U sum = 0;
    if (place >= plan.elements) {
        return;
    }
    GANTRY_GLOBAL const T *x =
        GANTRY_IN(T, a) + batch_offset(&plan, plan.a_batch, batch) + row * plan.a_row;
    GANTRY_GLOBAL const T *y =
        GANTRY_IN(T, b) + batch_offset(&plan, plan.b_batch, batch) + column * plan.b_column;
    for (GANTRY_LONG deep = 0; deep < plan.k; ++deep) {
        sum = MULTIPLY_ADD(LOAD(x[deep * plan.a_column]), LOAD(y[deep * plan.b_row]), sum);
    }
    GANTRY_OUT(T, c)
    [batch * plan.c_batch + OFFSET(row, column)] = finished(sum, BIAS(batch, column));
}

#endif

#else

#define ROWS 4
#define COLUMNS 64
#define STEP 64

/* sums[i][j] += a[i] * b[j] for one k; a's rows are `stride` apart. */
GANTRY_FN void add_outer(U *sums, GANTRY_GLOBAL const T *a, GANTRY_LONG stride, int rows,
                         GANTRY_GLOBAL const T *b, int columns) {
    for (int i = 0; i < rows; ++i) {
        U scale = LOAD(a[i * stride]);
        U *row = sums + i * COLUMNS;
        for (int j = 0; j < columns; ++j) {
            row[j] = MULTIPLY_ADD(scale, LOAD(b[j]), row[j]);
        }
    }
}

GANTRY_FN void add_outer_private(U *sums, GANTRY_GLOBAL const T *a, GANTRY_LONG stride, int rows,
                                 const U *b, int columns) {
    for (int i = 0; i < rows; ++i) {
        U scale = LOAD(a[i * stride]);
        U *row = sums + i * COLUMNS;
        for (int j = 0; j < columns; ++j) {
            row[j] = MULTIPLY_ADD(scale, b[j], row[j]);
        }
    }
}

/* Reads `steps` rows of B in the order of memory. */
GANTRY_FN void read_piece(U *piece, GANTRY_GLOBAL const T *b, GANTRY_LONG row_stride,
                          GANTRY_LONG column_stride, int steps, int columns) {
    if (column_stride == 1) {
        for (int p = 0; p < steps; ++p) {
            for (int j = 0; j < columns; ++j) {
                piece[p * COLUMNS + j] = LOAD(b[p * row_stride + j]);
            }
        }
        return;
    }
    for (int j = 0; j < columns; ++j) {
        for (int p = 0; p < steps; ++p) {
            piece[p * COLUMNS + j] = LOAD(b[p * row_stride + j * column_stride]);
        }
    }
}

GANTRY_KERNEL matmul_rows(GANTRY_SPAN_IN(a), GANTRY_SPAN_IN(b), GANTRY_SPAN_OUT(c),
                          BIAS_SPAN GANTRY_VALUE(matmul_t, plan)) {
    GANTRY_TAKE(matmul_t, plan)
    U sums[ROWS * COLUMNS];
    U piece[STEP * COLUMNS]; /* a piece of B with 16-bit floats or strided columns */
    /* rows first: the work-groups that a thread takes one after another share columns of B */
    const matmul_place_t at =
        matmul_place(GANTRY_GROUP_ID(0), plan.blocks_across, plan.blocks_down);
    const GANTRY_LONG batch = at.batch, row = at.column * ROWS, column = at.row * COLUMNS;
    const int rows = (int)(plan.m - row < ROWS ? plan.m - row : ROWS);
    const int columns = (int)(plan.n - column < COLUMNS ? plan.n - column : COLUMNS);
    GANTRY_GLOBAL const T *x =
        GANTRY_IN(T, a) + batch_offset(&plan, plan.a_batch, batch) + row * plan.a_row;
    GANTRY_GLOBAL const T *y =
        GANTRY_IN(T, b) + batch_offset(&plan, plan.b_batch, batch) + column * plan.b_column;
    GANTRY_GLOBAL T *z = GANTRY_OUT(T, c) + batch * plan.c_batch;
    for (int i = 0; i < ROWS * COLUMNS; ++i) {
        sums[i] = 0;
    }
    for (GANTRY_LONG first = 0; first < plan.k; first += STEP) {
        int steps = (int)(plan.k - first < STEP ? plan.k - first : STEP);
#if !GANTRY_T_IS_HALF
        if (plan.b_column == 1) {
            for (int p = 0; p < steps; ++p) {
                add_outer(sums, x + (first + p) * plan.a_column, plan.a_row, rows,
                          y + (first + p) * plan.b_row, columns);
            }
            continue;
        }
#endif
        read_piece(piece, y + first * plan.b_row, plan.b_row, plan.b_column, steps, columns);
        for (int p = 0; p < steps; ++p) {
            add_outer_private(sums, x + (first + p) * plan.a_column, plan.a_row, rows,
                              piece + p * COLUMNS, columns);
        }
    }
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) {
            z[OFFSET(row + i, column + j)] =
                finished(sums[i * COLUMNS + j], BIAS(batch, column + j));
        }
    }
}

#endif
