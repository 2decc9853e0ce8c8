/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of products of small integers for one kind of words. matmul_integer_cpu_simd.c includes
 * this file once for each kind, so it has no guard. The includer must define MI_NAME(x), MI_TARGET
 * (attributes of each function), MI_ROWS, MI_ONES (a word of ones), MI_A_IS_UNSIGNED and
 * MI_DOT(acc, a, b), which adds to each lane of acc the products of the elements in a word, and
 * MI_IS_TUNED; the file undefines them at its end. Tuned loops have plain panels of A, short ones
 * of B, and tiles of one vector; the others have none, because of the library's size.
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
    mi_vec_t acc[MI_ROWS][2], int lines, int vectors, const gantry__integer_part_t *part) {
    int32_t *restrict c = part->c, edge[MI_ROWS * 2 * MI_LANES];
    const int64_t c_row = part->c_row;
    const bool add = part->add;
    if (part->rows == lines && part->columns == vectors * MI_LANES) {
#pragma GCC unroll 16
        for (int i = 0; i < lines; ++i) {
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v) {
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
        for (int v = 0; v < vectors; ++v)
            *(mi_loose_t *)(edge + (2 * i + v) * MI_LANES) = acc[i][v];
    }
    for (int64_t i = 0; i < part->rows; ++i) {
        for (int64_t j = 0; j < part->columns; ++j) {
            const int32_t value = edge[i * 2 * MI_LANES + j];
            c[i * c_row + j] = add ? c[i * c_row + j] + value : value;
        }
    }
}

static inline __attribute__((always_inline)) MI_TARGET mi_vec_t MI_NAME(of_b)(const char *b,
                                                                              bool is_short) {
#if MI_IS_TUNED
    if (is_short) return MI_WIDENED(int8_t, b);
#else
    (void)is_short;
#endif
    return *(const mi_loose_t *)(const void *)b;
}

/* Callers must pass constants for lines, vectors and is_short. A plain panel is read by two
 * pointers, because an address is a pointer and at most two strides. */
static inline __attribute__((always_inline)) MI_TARGET void MI_NAME(tile)(
    const uint32_t *restrict a, int64_t a_row, const char *restrict b, int64_t words, int lines,
    int vectors, bool is_short, const gantry__integer_part_t *part) {
    mi_vec_t acc[MI_ROWS][2];
    const int64_t bytes = is_short ? MI_BYTES / 2 : MI_BYTES;
    const int64_t row = MI_IS_TUNED ? a_row : 1, step = MI_IS_TUNED ? 1 : MI_ROWS;
    const uint32_t *fourth = a + 3 * row;
#pragma GCC unroll 16
    for (int i = 0; i < lines; ++i) acc[i][0] = acc[i][1] = (mi_vec_t){0};
    for (int64_t w = 0; w < words; ++w, a += step, fourth += step, b += 2 * bytes) {
        const mi_vec_t b0 = MI_NAME(of_b)(b, is_short), b1 = MI_NAME(of_b)(b + bytes, is_short);
#pragma GCC unroll 16
        for (int i = 0; i < lines; ++i) {
            const mi_vec_t of_a = MI_NAME(splat)(i < 3 ? a[i * row] : fourth[(i - 3) * row]);
            acc[i][0] = MI_DOT(acc[i][0], of_a, b0);
            if (vectors == 2) acc[i][1] = MI_DOT(acc[i][1], of_a, b1);
        }
    }
    MI_NAME(store)(acc, lines, vectors, part);
}

static inline __attribute__((always_inline)) MI_TARGET void MI_NAME(tiles)(
    const uint32_t *a, int64_t a_row, const void *b, int64_t words, bool is_short,
    const gantry__integer_part_t *part) {
    if (part->rows == 1)
        MI_NAME(tile)(a, a_row, b, words, 1, 2, is_short, part);
    else if (part->rows <= 4)
        MI_NAME(tile)(a, a_row, b, words, 4, 2, is_short, part);
    else if (MI_IS_TUNED && part->columns <= MI_LANES)
        MI_NAME(tile)(a, a_row, b, words, MI_ROWS, 1, is_short, part);
    else
        MI_NAME(tile)(a, a_row, b, words, MI_ROWS, 2, is_short, part);
}

static MI_TARGET void MI_NAME(multiply)(const uint32_t *a, int64_t a_row, const void *b,
                                        int64_t words, const gantry__integer_part_t *part) {
    MI_NAME(tiles)(a, a_row, b, words, false, part);
}

#if MI_IS_TUNED
static MI_TARGET void MI_NAME(multiply_short)(const uint32_t *a, int64_t a_row, const void *b,
                                              int64_t words, const gantry__integer_part_t *part) {
    MI_NAME(tiles)(a, a_row, b, words, true, part);
}
#else
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
#endif

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

static MI_TARGET void MI_NAME(multiply_line)(const uint32_t *a, int64_t a_row, const void *b,
                                             int64_t words, const gantry__integer_part_t *part) {
    const int32_t sum = MI_NAME(dot)(a, 1, b, 1, words);
    (void)a_row;
    *part->c = part->add ? *part->c + sum : sum;
}

static MI_TARGET void MI_NAME(sum_line_a)(const uint32_t *line, int64_t words, int32_t *sums) {
    const mi_vec_t ones = MI_NAME(splat)(MI_ONES);
    sums[0] += MI_NAME(dot)(line, 1, (const uint32_t *)&ones, 0, words);
}

#if MI_IS_TUNED
static MI_TARGET void MI_NAME(sum_a)(const uint32_t *panel, int64_t words, int32_t *sums) {
    const mi_vec_t ones = MI_NAME(splat)(MI_ONES);
    for (int64_t i = 0; i < MI_ROWS; ++i, panel += words) {
        mi_vec_t acc = {0};
        int64_t w = 0;
        for (; w + MI_LANES <= words; w += MI_LANES)
            acc = MI_DOT(acc, *(const mi_loose_t *)(panel + w), ones);
        for (; w < words; ++w) sums[i] += (int16_t)panel[w] + (int16_t)(panel[w] >> 16);
        for (int lane = 0; lane < MI_LANES; ++lane) sums[i] += acc[lane];
    }
}
#endif

static MI_TARGET void MI_NAME(sum_line_b)(const uint32_t *line, int64_t words, int32_t *sums) {
    const mi_vec_t ones = MI_NAME(splat)(MI_ONES);
    sums[0] += MI_NAME(dot)((const uint32_t *)&ones, 0, line, 1, words);
}

static const gantry__integer_loops_t MI_NAME(loops) = {
    .group = MI_GROUP,
    .a_is_unsigned = MI_A_IS_UNSIGNED,
    .panels = {.rows = MI_ROWS,
               .columns = 2 * MI_LANES,
               .a_is_plain = MI_IS_TUNED,
               .sum_a = MI_NAME(sum_a),
               .sum_b = MI_NAME(sum_b),
#if MI_IS_TUNED
               .multiply_short = MI_NAME(multiply_short),
#endif
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
#undef MI_IS_TUNED
#undef MI_PACK
#undef MI_DOT
