/* Products whose first operand is lines of images, for convolutions: a part of cpu_matmul_body.h for types that have them
 * (MM_HAS_LINES). Its macros and vectors are there. */

static const MM_T MM_NAME(zeros)[GANTRY_PANEL_ZEROS];
_Static_assert(MM_ROWS <= GANTRY_PANEL_PLACES, "a panel of places has a line for each row");

/* C's block of MM_ROWS x MM_COLUMNS += or = the product of lines of images and one panel of B, over k. */
static __attribute__((noinline)) void MM_NAME(lines_tile)(const MM_T *images, const gantry_piece_t *pieces,
                                                          int64_t count, const MM_T *restrict b, MM_T *restrict c,
                                                          int64_t c_stride, int64_t rows, int64_t columns, int add)
{
    MM_NAME(vec_t) acc[MM_ROWS][2];
    uintptr_t out = (uintptr_t)c;
    MM_CLEAR(acc)
    for (const gantry_piece_t *piece = pieces; piece < pieces + count; piece++) {
        for (int64_t done = 0, some; done < piece->count; done += some) {
            const MM_T *from[MM_ROWS];
            some = piece->count - done < MM_STEPS ? piece->count - done : MM_STEPS;
#pragma GCC unroll 16
            for (int i = 0; i < MM_ROWS; i++) {
                from[i] = (piece->line[i] < 0 ? MM_NAME(zeros) : images + piece->line[i]) + done + some;
                __asm__("" : "+r"(from[i])); /* else gcc counts in bytes, and a register for an end is missing */
            }
            if (MM_VECTOR_BYTES >= GANTRY__CPU_LINE_BYTES) { /* shorter vectors are no faster than memory */
                gantry__cpu_want_to_write(out, 2 * MM_VECTOR_BYTES);
            }
            out += (uintptr_t)c_stride * sizeof(MM_T);
#define MM_LINE(i) from[i][p]
            for (int64_t p = -some; p < 0; p++) { /* no register for an end: twelve are taken by lines */
                MM_STEP(acc, MM_LINE, b)
                b += MM_COLUMNS;
            }
        }
#undef MM_LINE
    }
    MM_NAME(store)(acc, c, c_stride, rows, columns, add);
}

static void MM_NAME(multiply_lines)(const void *images, const gantry_piece_t *pieces, int64_t count, const void *b,
                                    int64_t b_panel, void *c, int64_t c_row, int64_t rows, int64_t columns, int add)
{
    for (int64_t j = 0; j < columns; j += MM_COLUMNS) {
        MM_NAME(lines_tile)(images, pieces, count, (const MM_T *)b + j / MM_COLUMNS * b_panel, (MM_T *)c + j, c_row, rows,
                            columns - j < MM_COLUMNS ? columns - j : MM_COLUMNS, add);
    }
}

/* ---- few outputs ---- */

#define MM_CHAINS (GANTRY_FEW_CHAIN_BYTES / (int)sizeof(MM_T))
#define MM_PARTS (GANTRY_FEW_CHAIN_BYTES / MM_VECTOR_BYTES) /* vectors of chains */
#define MM_FEW (MM_PARTS == 1 ? 4 : 2)                      /* columns at a time, by two lines: the registers are full */
_Static_assert(GANTRY_FEW_COLUMNS % MM_FEW == 0, "columns are packed in whole groups");

/* Adds to the chains of MM_FEW columns of two lines, or begins them. */
static __attribute__((noinline)) void MM_NAME(few_dots)(const MM_T *images, const gantry_piece_t *pieces, int64_t count,
                                                        int64_t line, int64_t next_line, const MM_T *b, int64_t b_row,
                                                        MM_T *chains, MM_T *next_chains, int add)
{
    MM_NAME(vec_t) acc[2][MM_FEW][MM_PARTS];
#pragma GCC unroll 4
    for (int j = 0; j < MM_FEW; j++) {
#pragma GCC unroll 4
        for (int part = 0; part < MM_PARTS; part++) {
            const int64_t at = j * MM_CHAINS + part * MM_LANES;
            acc[0][j][part] = acc[1][j][part] = (MM_NAME(vec_t)){0};
            if (add) {
                acc[0][j][part] = *(const MM_NAME(loose_t) *)(chains + at);
                acc[1][j][part] = *(const MM_NAME(loose_t) *)(next_chains + at);
            }
        }
    }
    for (const gantry_piece_t *piece = pieces; piece < pieces + count; b += piece->count, piece++) {
        const int64_t one = piece->line[line], two = piece->line[next_line];
        const MM_T *from = one < 0 ? MM_NAME(zeros) : images + one, *next = two < 0 ? MM_NAME(zeros) : images + two;
        for (int64_t p = 0; p < piece->count; p += MM_CHAINS) {
#pragma GCC unroll 4
            for (int part = 0; part < MM_PARTS; part++) {
                const int64_t at = p + part * MM_LANES;
                MM_NAME(vec_t) a0 = *(const MM_NAME(loose_t) *)(from + at), a1 = *(const MM_NAME(loose_t) *)(next + at);
#pragma GCC unroll 4
                for (int j = 0; j < MM_FEW; j++) {
                    MM_NAME(vec_t) weights = *(const MM_NAME(loose_t) *)(b + j * b_row + at);
                    acc[0][j][part] = MM_FMA(a0, weights, acc[0][j][part]);
                    acc[1][j][part] = MM_FMA(a1, weights, acc[1][j][part]);
                }
            }
        }
    }
#pragma GCC unroll 4
    for (int j = 0; j < MM_FEW; j++) {
#pragma GCC unroll 4
        for (int part = 0; part < MM_PARTS; part++) {
            const int64_t at = j * MM_CHAINS + part * MM_LANES;
            *(MM_NAME(loose_t) *)(chains + at) = acc[0][j][part];
            *(MM_NAME(loose_t) *)(next_chains + at) = acc[1][j][part];
        }
    }
}

static void MM_NAME(multiply_few)(const void *images, const gantry_piece_t *pieces, int64_t count, const void *b,
                                  int64_t b_row, void *chains, int64_t rows, int64_t columns, int add)
{
    MM_T unused[MM_FEW * MM_CHAINS]; /* of the second line where there is but one */
    memset(unused, 0, sizeof unused);
    for (int64_t i = 0; i < rows; i += 2) {
        const int is_single = i + 1 == rows;
        for (int64_t j = 0; j < columns; j += MM_FEW) {
            MM_T *own = (MM_T *)chains + (i * GANTRY_FEW_COLUMNS + j) * MM_CHAINS;
            MM_NAME(few_dots)(images, pieces, count, i, is_single ? i : i + 1, (const MM_T *)b + j * b_row, b_row, own,
                              is_single ? unused : own + GANTRY_FEW_COLUMNS * MM_CHAINS, add);
        }
    }
}

static void MM_NAME(sum_few)(const void *chains, void *c, int64_t c_row, int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            MM_T sums[MM_CHAINS];
            memcpy(sums, (const MM_T *)chains + (i * GANTRY_FEW_COLUMNS + j) * MM_CHAINS, sizeof sums);
            for (int apart = MM_CHAINS / 2; apart > 0; apart /= 2) {
                for (int e = 0; e < apart; e++) {
                    sums[e] += sums[e + apart];
                }
            }
            ((MM_T *)c)[i * c_row + j] = sums[0];
        }
    }
}

#undef MM_CHAINS
#undef MM_PARTS
#undef MM_FEW
