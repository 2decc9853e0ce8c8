/* SPDX-License-Identifier: Apache-2.0 */
/* What the products for processors share: panels and how they are packed, and the tile of c that is
 * kept in registers: GANTRY_MR rows of GANTRY_VECTORS vectors, so that MR * VECTORS accumulators,
 * VECTORS vectors of b and one broadcast fit. It must follow opencl_cpu_types.cl; its options are
 * GANTRY_VECTORS, and GANTRY_EPILOGUE: 1 adds a bias to the finished elements of c, 2 takes their
 * Relu, 3 does both. */
#define Q CAT(T, 4)
#define STORE CAT(vstore, GANTRY_LANES)
/* For elements anywhere in memory, because PoCL's vstore16 makes three stores of a vector. */
typedef V __attribute__((aligned(sizeof(T)))) loose_t;
#define STORE_WHOLE(value, v, to) *(__global loose_t *)((to) + (v)*GANTRY_LANES) = (value)
#define NR (GANTRY_VECTORS * GANTRY_LANES)

#if GANTRY_VECTORS == 4
#define VECTORS(X, i) \
    X(i, 0)           \
    X(i, 1)           \
    X(i, 2)           \
    X(i, 3)
#elif GANTRY_VECTORS == 2
#define VECTORS(X, i) \
    X(i, 0)           \
    X(i, 1)
#else
#define VECTORS(X, i) X(i, 0)
#endif

/* Prefetches a line before it is needed. It is only a hint, worth 3 percent of a large product;
 * OpenCL's own prefetch() does nothing on processors, and not every runtime takes the compiler's
 * builtin, so the one that is known to take it is recognised by its macro. */
#if defined(POCL_DEVICE_ADDRESS_BITS) && defined(__clang__)
#define FETCH(address, is_written) __builtin_prefetch((const void *)(ulong)(address), is_written, 3)
#else
#define FETCH(address, is_written)
#endif

/* The places in c are prefetched row by row, one with each line of a, because all at once would
 * make every access wait. */
#define LINE_ELEMENTS (64 / (long)sizeof(T))
#define FETCH_OUT(i, v) FETCH(out + v * GANTRY_LANES, 1);

/* ---- packing ---- */

/* Transposes four rows of four elements: to[p * step + i] = from[i * row + p]. */
static void transpose_quad(__global T *to, long step, __global const T *from, long row) {
    const Q r0 = vload4(0, from);
    const Q r1 = vload4(0, from + row);
    const Q r2 = vload4(0, from + 2 * row);
    const Q r3 = vload4(0, from + 3 * row);

    vstore4((Q)(r0.s0, r1.s0, r2.s0, r3.s0), 0, to);
    vstore4((Q)(r0.s1, r1.s1, r2.s1, r3.s1), 0, to + step);
    vstore4((Q)(r0.s2, r1.s2, r2.s2, r3.s2), 0, to + 2 * step);
    vstore4((Q)(r0.s3, r1.s3, r2.s3, r3.s3), 0, to + 3 * step);
}

/* to[p * width + i] = from[i * across + p * along] for i below width and p below depth; zero where
 * i is not below valid. */
static void pack_slow(__global T *to, long width, __global const T *from, long valid, long depth,
                      long across, long along) {
    for (long p = 0; p < depth; ++p) {
        for (long i = 0; i < width; ++i) {
            to[p * width + i] = i < valid ? from[i * across + p * along] : (T)0;
        }
    }
}

/* Packs a full panel whose lines run along p: transposed in quads, the rest element by element. */
static void pack_transposed(__global T *to, long width, __global const T *from, long depth,
                            long across) {
    const long quads = depth / 4 * 4;

    for (long p = 0; p < quads; p += 4) {
        long i = 0;

        for (; i + 4 <= width; i += 4) {
            transpose_quad(to + p * width + i, width, from + i * across + p, across);
        }
        for (; i < width; ++i) {
            for (long q = p; q < p + 4; ++q) {
                to[q * width + i] = from[i * across + q];
            }
        }
    }
    pack_slow(to + quads * width, width, from + quads, width, depth - quads, across, 1);
}

static void copy_line(__global T *to, __global const T *from) {
    long i = 0;

    for (; i + 4 <= MR; i += 4) vstore4(vload4(0, from + i), 0, to + i);
    for (; i < MR; ++i) to[i] = from[i];
}

/* Packs a panel whose lines of MR have the packed order. Rows that do not exist get what comes
 * after the others, as long as anything does, because they are not stored. */
static void pack_lines(__global T *to, __global const T *from, long valid, long depth, long along) {
    const long behind = (depth - 1) * along + valid - MR;
    const long whole = behind < 0 ? 0 : min(depth, behind / along + 1);

    for (long p = 0; p < whole; ++p) copy_line(to + p * MR, from + p * along);
    pack_slow(to + whole * MR, MR, from + whole * along, valid, depth - whole, 1, along);
}

static void pack_rows(__global T *to, __global const T *from, long rows, long depth, long across,
                      long along) {
    for (long i = 0; i < rows; i += MR, to += MR * depth, from += MR * across) {
        if (across == 1) {
            pack_lines(to, from, min(rows - i, (long)MR), depth, along);
        } else if (along == 1 && rows - i >= MR) {
            pack_transposed(to, MR, from, depth, across);
        } else {
            pack_slow(to, MR, from, rows - i, depth, across, along);
        }
    }
}

#define COLUMN_MOVE(p, v) STORE_WHOLE(LOAD(v, from + p * along), v, to + p * NR);

static void pack_columns(__global T *to, __global const T *from, long columns, long depth,
                         long across, long along, int is_direct) {
    for (long j = 0; j < columns; j += NR, to += NR * depth, from += NR * across) {
        const int is_full = columns - j >= NR;

        if (is_full && is_direct) {
            continue;
        }
        if (is_full && across == 1) {
            for (long p = 0; p < depth; ++p) {
                VECTORS(COLUMN_MOVE, p)
            }
        } else if (is_full && along == 1) {
            pack_transposed(to, NR, from, depth, across);
        } else {
            pack_slow(to, NR, from, columns - j, depth, across, along);
        }
    }
}

/* ---- MR x NR of c ---- */

#define CLEAR(i, v) V x##i##_##v = (V)0;
#define READ_B(i, v) const V b##v = LOAD(v, b);
#define STEP(i, v) x##i##_##v = fma(s, b##v, x##i##_##v);
#define ADD_C(i, v) x##i##_##v += LOAD(v, c + i * c_row);
#define STORE_C(i, v) STORE_WHOLE(x##i##_##v, v, c + i * c_row);
#define SPILL(i, v) STORE(x##i##_##v, v, tile + i * NR);
#define ROW_CLEAR(i) VECTORS(CLEAR, i)
#define ROW_STEP(i)            \
    {                          \
        const V s = (V)(a[i]); \
        VECTORS(STEP, i)       \
    }
#define ROW_ADD(i) VECTORS(ADD_C, i)
#define ROW_STORE(i) VECTORS(STORE_C, i)
#define ROW_SPILL(i) VECTORS(SPILL, i)

/* Writes the registers to a whole tile of adjacent columns, or element by element. */
#define TILE_STORE(c, c_row, c_col, rows, columns, is_first)                            \
    if ((rows) >= MR && (columns) >= NR && (c_col) == 1) {                              \
        if (!(is_first)) {                                                              \
            ROWS(ROW_ADD)                                                               \
        }                                                                               \
        ROWS(ROW_STORE)                                                                 \
    } else {                                                                            \
        T tile[MR * NR];                                                                \
                                                                                        \
        ROWS(ROW_SPILL)                                                                 \
        for (long i = 0; i < MR && i < (rows); ++i) {                                   \
            for (long j = 0; j < NR && j < (columns); ++j) {                            \
                __global T *element = (c) + i * (c_row) + j * (c_col);                  \
                                                                                        \
                *element = (is_first) ? tile[i * NR + j] : *element + tile[i * NR + j]; \
            }                                                                           \
        }                                                                               \
    }

/* ---- the epilogue: as BiasAdd and Relu of ops/elementwise.def compute ---- */

#if GANTRY_EPILOGUE & 1
#define BIAS_PARAMETERS , __global const uchar *bias_base, const ulong bias_offset
#define BIAS ((__global const T *)(bias_base + bias_offset))
#define READ_BIAS(i, v) const V bias##v = LOAD(v, bias);
#define ADD_BIAS(i, v) x##i##_##v += bias##v;
#define WITH_BIAS(x, at) ((x) + (at))
#else
#define BIAS_PARAMETERS
#define BIAS ((__global const T *)0)
#define READ_BIAS(i, v)
#define ADD_BIAS(i, v)
#define WITH_BIAS(x, at) (x)
#endif
#if GANTRY_EPILOGUE & 2
#define TAKE_RELU(i, v) x##i##_##v = x##i##_##v < (V)0 ? (V)0 : x##i##_##v;
#define WITH_RELU(x) ((x) < (T)0 ? (T)0 : (x))
#else
#define TAKE_RELU(i, v)
#define WITH_RELU(x) (x)
#endif

#define FINISH(i, v) ADD_BIAS(i, v) TAKE_RELU(i, v)
#define ROW_FINISH(i) VECTORS(FINISH, i)

/* Ends a tile of c, whose rows are c_row apart and whose columns c_col: TILE_STORE with the
 * epilogue of elements that is_last finishes. */
#if GANTRY_EPILOGUE
static T finished(const T sum, __global const T *bias) {
    const T x = WITH_BIAS(sum, *bias);

    return WITH_RELU(x);
}

#define EPILOGUE_PARAMETERS , __global const T *bias, int is_last
#define TILE_END                                                                              \
    if (rows >= MR && columns >= NR && c_col == 1 && bias_col == 1) {                         \
        if (!is_first) {                                                                      \
            ROWS(ROW_ADD)                                                                     \
        }                                                                                     \
        if (is_last) {                                                                        \
            VECTORS(READ_BIAS, 0)                                                             \
            ROWS(ROW_FINISH)                                                                  \
        }                                                                                     \
        ROWS(ROW_STORE)                                                                       \
    } else {                                                                                  \
        T tile[MR * NR];                                                                      \
                                                                                              \
        ROWS(ROW_SPILL)                                                                       \
        for (long i = 0; i < MR && i < rows; ++i) {                                           \
            for (long j = 0; j < NR && j < columns; ++j) {                                    \
                __global T *element = c + i * c_row + j * c_col;                              \
                const T sum = is_first ? tile[i * NR + j] : *element + tile[i * NR + j];      \
                                                                                              \
                *element = is_last ? finished(sum, bias + i * bias_row + j * bias_col) : sum; \
            }                                                                                 \
        }                                                                                     \
    }
#else
#define finished(sum, bias) (sum)
#define EPILOGUE_PARAMETERS
#define TILE_END TILE_STORE(c, c_row, c_col, rows, columns, is_first)
#endif

/* Where part `index` of `parts` begins, in whole panels. */
static long part_begin(long size, long panel, long index, long parts) {
    return min(size, (size + panel - 1) / panel * index / parts * panel);
}
