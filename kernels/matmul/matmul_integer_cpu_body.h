/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of products of small integers for one kind of words. matmul_integer_cpu_simd.c includes
 * this file once for each kind, so it has no guard. The includer must define MI_NAME(x), MI_TARGET
 * (attributes of each function), MI_ROWS, MI_ONES (a word of ones), MI_A_IS_UNSIGNED and
 * MI_DOT(acc, a, b), which adds to each lane of acc the products of the elements in a word; the
 * file undefines them at its end, and MI_WORD(type, at, along) likewise.
 *
 * As in matmul_cpu_body.h, the innermost loop keeps MI_ROWS x 2 vectors of C in registers; a step
 * of it is a word. Sums wrap around, so their order does not matter.
 *
 * Owner: the caller's memory. Threads: thread-safe. */

static inline __attribute__((always_inline)) MI_TARGET mi_vec_t MI_NAME(splat)(uint32_t word) {
    return (mi_vec_t){0} + (int32_t)word;
}

/* Stores the rows x columns of C that exist. */
static inline __attribute__((always_inline)) MI_TARGET void MI_NAME(store)(
    mi_vec_t acc[MI_ROWS][2], int lines, int32_t *restrict c, int64_t c_row, int64_t rows,
    int64_t columns, int add) {
    int32_t edge[MI_ROWS * 2 * MI_LANES];
    if (rows == lines && columns == 2 * MI_LANES) {
#pragma GCC unroll 16
        for (int i = 0; i < lines; ++i) {
#pragma GCC unroll 2
            for (int v = 0; v < 2; ++v) {
                mi_loose_t *to = (mi_loose_t *)(c + i * c_row + v * MI_LANES);
                if (add) acc[i][v] += *to;
                *to = acc[i][v];
            }
        }
        return;
    }
#pragma GCC unroll 16
    for (int i = 0; i < lines; ++i) {
#pragma GCC unroll 2
        for (int v = 0; v < 2; ++v) *(mi_loose_t *)(edge + (2 * i + v) * MI_LANES) = acc[i][v];
    }
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
            const int32_t value = edge[i * 2 * MI_LANES + j];
            c[i * c_row + j] = add ? c[i * c_row + j] + value : value;
        }
    }
}

/* Callers must pass a constant for lines. */
static inline __attribute__((always_inline)) MI_TARGET void MI_NAME(tile)(
    const uint32_t *restrict a, const uint32_t *restrict b, int64_t words, int lines,
    int32_t *restrict c, int64_t c_row, int64_t rows, int64_t columns, int add) {
    mi_vec_t acc[MI_ROWS][2];
#pragma GCC unroll 16
    for (int i = 0; i < lines; ++i) acc[i][0] = acc[i][1] = (mi_vec_t){0};
    for (int64_t w = 0; w < words; ++w, a += MI_ROWS, b += 2 * MI_LANES) {
        const mi_vec_t b0 = *(const mi_loose_t *)b, b1 = *(const mi_loose_t *)(b + MI_LANES);
#pragma GCC unroll 16
        for (int i = 0; i < lines; ++i) {
            const mi_vec_t of_a = MI_NAME(splat)(a[i]);
            acc[i][0] = MI_DOT(acc[i][0], of_a, b0);
            acc[i][1] = MI_DOT(acc[i][1], of_a, b1);
        }
    }
    MI_NAME(store)(acc, lines, c, c_row, rows, columns, add);
}

static MI_TARGET void MI_NAME(multiply)(const uint32_t *a, const uint32_t *b, int64_t words,
                                        int32_t *c, int64_t c_row, int64_t rows, int64_t columns,
                                        bool add) {
    if (rows == 1)
        MI_NAME(tile)(a, b, words, 1, c, c_row, rows, columns, add);
    else if (rows <= 4)
        MI_NAME(tile)(a, b, words, 4, c, c_row, rows, columns, add);
    else
        MI_NAME(tile)(a, b, words, MI_ROWS, c, c_row, rows, columns, add);
}

static MI_TARGET void MI_NAME(sum_a)(const uint32_t *panel, int64_t words, int32_t *sums) {
    const mi_vec_t ones = MI_NAME(splat)(MI_ONES);
    uint32_t last[MI_ROWS + MI_LANES] = {0}; /* because a vector may reach into the next panel */
    memcpy(last, panel + (words - 1) * MI_ROWS, MI_ROWS * sizeof *last);
    for (int64_t i = 0; i < MI_ROWS; i += MI_LANES) {
        mi_vec_t acc = MI_DOT((mi_vec_t){0}, *(const mi_loose_t *)(last + i), ones);
        for (int64_t w = 0; w < words - 1; ++w)
            acc = MI_DOT(acc, *(const mi_loose_t *)(panel + w * MI_ROWS + i), ones);
        for (int lane = 0; lane < MI_LANES && i + lane < MI_ROWS; ++lane)
            sums[i + lane] += acc[lane];
    }
}

static MI_TARGET void MI_NAME(sum_b)(const uint32_t *panel, int64_t words, int32_t *sums) {
    const mi_vec_t ones = MI_NAME(splat)(MI_ONES);
    for (int64_t j = 0; j < 2 * MI_LANES; j += MI_LANES) {
        mi_vec_t acc = *(const mi_loose_t *)(sums + j);
        for (int64_t w = 0; w < words; ++w)
            acc = MI_DOT(acc, ones, *(const mi_loose_t *)(panel + w * 2 * MI_LANES + j));
        *(mi_loose_t *)(sums + j) = acc;
    }
}

/* ---- panels of one line ---- */

/* The product of two lines. Callers must pass constants for the steps: 1, or 0 for a line that has
 * the same vector everywhere. */
static inline __attribute__((always_inline)) MI_TARGET int32_t
MI_NAME(dot)(const uint32_t *a, int64_t a_step, const uint32_t *b, int64_t b_step, int64_t words) {
    mi_vec_t acc[2] = {{0}, {0}};
    uint32_t rest[2][MI_LANES] = {{0}, {0}};
    int64_t w = 0;
    for (; w + 2 * MI_LANES <= words; w += 2 * MI_LANES) {
#pragma GCC unroll 2
        for (int v = 0; v < 2; ++v) {
            const int64_t at = w + v * MI_LANES;
            acc[v] = MI_DOT(acc[v], *(const mi_loose_t *)(a + at * a_step),
                            *(const mi_loose_t *)(b + at * b_step));
        }
    }
    for (int64_t left; w < words; w += left) {
        left = words - w < MI_LANES ? words - w : MI_LANES;
        memset(rest, 0, sizeof rest);
        memcpy(rest[0], a + w * a_step, (size_t)left * sizeof *a);
        memcpy(rest[1], b + w * b_step, (size_t)left * sizeof *b);
        acc[0] = MI_DOT(acc[0], *(const mi_loose_t *)rest[0], *(const mi_loose_t *)rest[1]);
    }
    acc[0] += acc[1];
    for (int lane = 1; lane < MI_LANES; ++lane) acc[0][0] += acc[0][lane];
    return acc[0][0];
}

static MI_TARGET void MI_NAME(multiply_line)(const uint32_t *a, const uint32_t *b, int64_t words,
                                             int32_t *c, int64_t c_row, int64_t rows,
                                             int64_t columns, bool add) {
    const int32_t sum = MI_NAME(dot)(a, 1, b, 1, words);
    (void)c_row;
    (void)rows;
    (void)columns;
    *c = add ? *c + sum : sum;
}

static MI_TARGET void MI_NAME(sum_line_a)(const uint32_t *line, int64_t words, int32_t *sums) {
    const mi_vec_t ones = MI_NAME(splat)(MI_ONES);
    sums[0] += MI_NAME(dot)(line, 1, (const uint32_t *)&ones, 0, words);
}

static MI_TARGET void MI_NAME(sum_line_b)(const uint32_t *line, int64_t words, int32_t *sums) {
    const mi_vec_t ones = MI_NAME(splat)(MI_ONES);
    sums[0] += MI_NAME(dot)((const uint32_t *)&ones, 0, line, 1, words);
}

static const gantry__integer_loops_t MI_NAME(loops) = {
    .group = MI_GROUP,
    .a_is_unsigned = MI_A_IS_UNSIGNED,
    .panels = {.rows = MI_ROWS,
               .columns = 2 * MI_LANES,
               .sum_a = MI_NAME(sum_a),
               .sum_b = MI_NAME(sum_b),
               .multiply = MI_NAME(multiply)},
    .lines = {.rows = 1,
              .columns = 1,
              .sum_a = MI_NAME(sum_line_a),
              .sum_b = MI_NAME(sum_line_b),
              .multiply = MI_NAME(multiply_line)},
    .pack = MI_PACK,
    .correct = mi_correct};

#undef MI_NAME
#undef MI_TARGET
#undef MI_GROUP
#undef MI_ONES
#undef MI_A_IS_UNSIGNED
#undef MI_PACK
#undef MI_DOT
