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

/* Few outputs, for which a panel of B would be empty for the most part: B's columns lie in rows along k, MM_FEW of them at a
 * time, and two lines of images are multiplied with them vector by vector. All pieces are whole vectors long. */

static __attribute__((noinline)) void MM_NAME(lines_dots)(const MM_T *images, const gantry_piece_t *pieces, int64_t count,
                                                          const int64_t lines[2], const MM_T *b, int64_t b_row,
                                                          MM_T sums[2][MM_FEW])
{
    MM_NAME(vec_t) acc[2][MM_FEW];
#pragma GCC unroll 4
    for (int j = 0; j < MM_FEW; j++) {
        acc[0][j] = acc[1][j] = (MM_NAME(vec_t)){0};
    }
    for (const gantry_piece_t *piece = pieces; piece < pieces + count; b += piece->count, piece++) {
        const int64_t one = piece->line[lines[0]], two = piece->line[lines[1]];
        const MM_T *from = one < 0 ? MM_NAME(zeros) : images + one, *next = two < 0 ? MM_NAME(zeros) : images + two;
        for (int64_t p = 0; p < piece->count; p += MM_LANES) {
            MM_NAME(vec_t) a0 = *(const MM_NAME(loose_t) *)(from + p), a1 = *(const MM_NAME(loose_t) *)(next + p);
#pragma GCC unroll 4
            for (int j = 0; j < MM_FEW; j++) {
                MM_NAME(vec_t) weights = *(const MM_NAME(loose_t) *)(b + j * b_row + p);
                acc[0][j] = MM_FMA(a0, weights, acc[0][j]);
                acc[1][j] = MM_FMA(a1, weights, acc[1][j]);
            }
        }
    }
    for (int j = 0; j < MM_FEW; j++) {
        sums[0][j] = MM_NAME(add_lanes)(acc[0][j]);
        sums[1][j] = MM_NAME(add_lanes)(acc[1][j]);
    }
}

static void MM_NAME(multiply_few)(const void *images, const gantry_piece_t *pieces, int64_t count, const void *b,
                                  int64_t b_row, void *c, int64_t c_row, int64_t rows, int64_t columns, int add)
{
    for (int64_t i = 0; i < rows; i += 2) {
        const int64_t both = i + 1 < rows ? 2 : 1, lines[2] = {i, i + both - 1};
        for (int64_t j = 0; j < columns; j += MM_FEW) {
            const int64_t some = columns - j < MM_FEW ? columns - j : MM_FEW;
            MM_T sums[2][MM_FEW];
            MM_NAME(lines_dots)(images, pieces, count, lines, (const MM_T *)b + j * b_row, b_row, sums);
            for (int64_t line = 0; line < both; line++) {
                MM_T *to = (MM_T *)c + (i + line) * c_row + j;
                for (int64_t e = 0; e < some; e++) {
                    to[e] = add ? to[e] + sums[line][e] : sums[line][e];
                }
            }
        }
    }
}
