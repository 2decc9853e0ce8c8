/* SPDX-License-Identifier: Apache-2.0 */
/* Products for convolutions, whose first operand consists of lines of images. This is a part of
 * matmul_cpu_body.h, which must define the macros and vector types before it, for types with
 * MM_HAS_LINES. Owner: the caller's memory. Threads: thread-safe. */

static const MM_T MM_NAME(zeros)[GANTRY_PANEL_ZEROS];

/* Sets a tile of C to the product of lines of images and one panel of B, over k, or adds it if
 * add. */
static inline __attribute__((always_inline)) void MM_NAME(lines_tile)(
    const MM_T *images, const gantry__lines_piece_t *pieces, int64_t count, int lines, int vectors,
    const MM_T *restrict b, MM_T *restrict c, int64_t c_stride, int64_t rows, int64_t columns,
    int add) {
    MM_NAME(tile_t) acc;
    uintptr_t out = (uintptr_t)c;
    MM_NAME(clear)(acc, lines, vectors);
    for (const gantry__lines_piece_t *piece = pieces; piece < pieces + count; ++piece) {
        for (int64_t done = 0, some; done < piece->count; done += some) {
            const MM_T *from[MM_MOST_LINES];
            some = piece->count - done < MM_STEPS ? piece->count - done : MM_STEPS;
#pragma GCC unroll 16
            for (int i = 0; i < lines; ++i) {
                from[i] =
                    (piece->line[i] < 0 ? MM_NAME(zeros) : images + piece->line[i]) + done + some;
                /* Without this, gcc counts in bytes and needs one more register for an end. */
                __asm__("" : "+r"(from[i]));
            }
            if (MM_VECTOR_BYTES >= GANTRY__CPU_LINE_BYTES)
                gantry__cpu_prefetch_for_write(out, (uint64_t)vectors * MM_VECTOR_BYTES);
            out += (uintptr_t)c_stride * sizeof(MM_T);
#define MM_LINE(i) from[i][p]
            /* p counts up to 0, which saves a register for the end: the lines take twelve */
            for (int64_t p = -some; p < 0; ++p) {
                MM_STEP(acc, lines, vectors, MM_LINE, b)
                b += vectors * MM_LANES;
            }
        }
#undef MM_LINE
    }
    MM_NAME(store)(acc, lines, vectors, c, c_stride, rows, columns, add);
}

static __attribute__((noinline)) void MM_NAME(wide_tile)(const MM_T *images,
                                                         const gantry__lines_piece_t *pieces,
                                                         int64_t count, const MM_T *restrict b,
                                                         MM_T *restrict c, int64_t c_stride,
                                                         int64_t rows, int64_t columns, int add) {
    MM_NAME(lines_tile)(images, pieces, count, MM_ROWS, 2, b, c, c_stride, rows, columns, add);
}

static void MM_NAME(multiply_lines)(const void *images, const gantry__lines_piece_t *pieces,
                                    int64_t count, const void *b, int64_t b_panel, void *c,
                                    int64_t c_row, int64_t rows, int64_t columns, bool add) {
    for (int64_t j = 0; j < columns; j += MM_COLUMNS) {
        MM_NAME(wide_tile)
        (images, pieces, count, (const MM_T *)b + j / MM_COLUMNS * b_panel, (MM_T *)c + j, c_row,
         rows, columns - j < MM_COLUMNS ? columns - j : MM_COLUMNS, add);
    }
}

/* ---- a panel of one vector ---- */

static void MM_NAME(pack_narrow)(const gantry__cpu_gemm_t *gemm, int64_t first, int64_t count,
                                 int64_t k_first, int64_t k_count, void *target) {
    MM_NAME(pack_panel)
    ((const MM_T *)gemm->b + first * gemm->b_column + k_first * gemm->b_row, gemm->b_column,
     gemm->b_row, count, MM_LANES, k_count, target);
}

static void MM_NAME(multiply_narrow)(const void *images, const gantry__lines_piece_t *pieces,
                                     int64_t count, const void *b, int64_t b_panel, void *c,
                                     int64_t c_row, int64_t rows, int64_t columns, bool add) {
    (void)b_panel; /* there is only one panel */
    MM_NAME(lines_tile)(images, pieces, count, MM_MOST_LINES, 1, b, c, c_row, rows, columns, add);
}

static const gantry__cpu_gemm_loops_t MM_NAME(narrow_loops) = {
    .rows = MM_MOST_LINES,
    .columns = (int64_t)(MM_VECTOR_BYTES / sizeof(MM_T)),
    .pack_b = MM_NAME(pack_narrow),
    .multiply_lines = MM_NAME(multiply_narrow)};

/* ---- few outputs ---- */

#define MM_CHAINS (GANTRY_FEW_CHAIN_BYTES / (int)sizeof(MM_T))
#define MM_FEW GANTRY_FEW_COLUMNS
/* taken at a time: with MM_FEW columns, as many as fit 16 registers */
#define MM_FEW_LINES (MM_ROWS % 3 == 0 ? 3 : 2)
_Static_assert(MM_ROWS % MM_FEW_LINES == 0, "lines are taken in whole groups");

/* Adds to one vector of the chains of MM_FEW columns of MM_FEW_LINES lines from `line` on, or
 * starts them if not add. images, b and chains must begin at the first element of that vector. */
static __attribute__((noinline)) void MM_NAME(few_dots)(const MM_T *images,
                                                        const gantry__lines_piece_t *pieces,
                                                        int64_t count, int64_t line, const MM_T *b,
                                                        int64_t b_row, MM_T *chains, int add) {
    MM_NAME(vec_t) acc[MM_FEW_LINES][MM_FEW];
#define MM_CHAIN(i, j) (*(MM_NAME(loose_t) *)(chains + ((i)*MM_FEW + (j)) * MM_CHAINS))
#pragma GCC unroll 4
    for (int i = 0; i < MM_FEW_LINES; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < MM_FEW; ++j) {
            acc[i][j] = (MM_NAME(vec_t)){0};
            if (add) acc[i][j] = MM_CHAIN(i, j);
        }
    }
    for (const gantry__lines_piece_t *piece = pieces; piece < pieces + count;
         b += piece->count, piece++) {
        const MM_T *from[MM_FEW_LINES];
#pragma GCC unroll 4
        for (int i = 0; i < MM_FEW_LINES; ++i)
            from[i] = piece->line[line + i] < 0 ? MM_NAME(zeros) : images + piece->line[line + i];
        for (int64_t p = 0; p < piece->count; p += MM_CHAINS) {
            MM_NAME(vec_t) lines[MM_FEW_LINES];
#pragma GCC unroll 4
            for (int i = 0; i < MM_FEW_LINES; ++i)
                lines[i] = *(const MM_NAME(loose_t) *)(from[i] + p);
#pragma GCC unroll 4
            for (int j = 0; j < MM_FEW; ++j) {
                MM_NAME(vec_t) weights = *(const MM_NAME(loose_t) *)(b + j * b_row + p);
#pragma GCC unroll 4
                for (int i = 0; i < MM_FEW_LINES; ++i)
                    acc[i][j] = MM_FMA(lines[i], weights, acc[i][j]);
            }
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < MM_FEW_LINES; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < MM_FEW; ++j) MM_CHAIN(i, j) = acc[i][j];
    }
#undef MM_CHAIN
}

/* The last group of lines may go beyond the last place, so a panel must have lines of zeros
 * there. */
static void MM_NAME(multiply_few)(const void *images, const gantry__lines_piece_t *pieces,
                                  int64_t count, const void *b, int64_t b_row, void *chains,
                                  int64_t rows, bool add) {
    for (int64_t i = 0; i < rows; i += MM_FEW_LINES) {
        for (int64_t part = 0; part < MM_CHAINS; part += MM_LANES) {
            MM_NAME(few_dots)
            ((const MM_T *)images + part, pieces, count, i, (const MM_T *)b + part, b_row,
             (MM_T *)chains + i * MM_FEW * MM_CHAINS + part, add);
        }
    }
}

/* The compiler makes vectors of loops with constant bounds. Without a first copy, they need not
 * wait for that copy's stores. */
#define MM_HALVE(to, from, count) \
    for (int e = 0; e < (count); ++e) (to)[e] = (from)[e] + (from)[e + (count)];

static void MM_NAME(sum_few)(const void *chains, void *c, int64_t c_row, int64_t rows,
                             int64_t columns) {
    _Static_assert(MM_CHAINS == 8 || MM_CHAINS == 16, "as halves are added below");
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
            const MM_T *from = (const MM_T *)chains + (i * MM_FEW + j) * MM_CHAINS;
            MM_T eight[8], four[4];
            if (MM_CHAINS == 16) {
                MM_HALVE(eight, from, 8)
                from = eight;
            }
            MM_HALVE(four, from, 4)
            ((MM_T *)c)[i * c_row + j] = (four[0] + four[2]) + (four[1] + four[3]);
        }
    }
}

#undef MM_HALVE
#undef MM_CHAINS
#undef MM_FEW
#undef MM_FEW_LINES
