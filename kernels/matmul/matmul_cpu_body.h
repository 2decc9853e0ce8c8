/* SPDX-License-Identifier: Apache-2.0 */
/* Our own matrix product for one element type. matmul_cpu_simd.c includes this file once for each
 * type, so it has no guard. The includer must define MM_NAME(x), MM_T, MM_ROWS, MM_HAS_LINES and
 * MM_FMA(a, b, c) = a * b + c on vectors; the file undefines them at its end.
 *
 *                     B panel: 2 vectors wide
 *
 *                       k | b0 b1 |
 *                         v
 *       A panel:      a0  c00 c01
 *       MM_ROWS rows  a1  c10 c11
 *                     ...
 *
 * The innermost loop keeps MM_ROWS x 2 vectors of C in registers. For each k it loads two vectors
 * of B and MM_ROWS scalars of A. A is packed in panels of MM_ROWS rows and B in panels of two
 * vectors, both with k as the slowest index, so that all loads are sequential. Packing pads the
 * edges with zeros, and only the store regards the true size. Cost: 2 m n k operations, and (m + n)
 * k elements packed once for each block.
 *
 * Source of the blocking: Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication,
 * 2008. Owner: the caller's memory. Threads: thread-safe. */

typedef MM_T MM_NAME(vec_t) __attribute__((vector_size(MM_VECTOR_BYTES)));
typedef MM_T MM_NAME(loose_t)
    __attribute__((vector_size(MM_VECTOR_BYTES), aligned(sizeof(MM_T)), may_alias));

/* A short vector, for elements that do not fill a whole one. */
typedef MM_T MM_NAME(quad_t) __attribute__((vector_size(16), aligned(sizeof(MM_T)), may_alias));

#define MM_QUAD ((int64_t)(16 / sizeof(MM_T)))
#define MM_LANES ((int64_t)(MM_VECTOR_BYTES / sizeof(MM_T)))
#define MM_COLUMNS (2 * MM_LANES)
#define MM_MOST_LINES GANTRY_PANEL_PLACES /* lines of a tile */
_Static_assert(MM_ROWS <= MM_MOST_LINES, "a panel of places has a line for each row");
/* steps of a line; then one row of C is prefetched, because prefetching all rows at once would
 * stall the loads. With shorter vectors, computing is not faster than memory: nothing is
 * prefetched, and no line is cut, because each cut costs a tenth of its steps. */
#define MM_STEPS (MM_VECTOR_BYTES >= GANTRY__CPU_LINE_BYTES ? 48 : INT64_MAX)

/* A tile: `lines` x `vectors` vectors of C in registers. Callers must pass constants for both. In
 * the functions of tiles, `add` is an int, because with a bool gcc spills more registers and is 3 %
 * slower. */
typedef MM_NAME(vec_t) MM_NAME(tile_t)[MM_MOST_LINES][2];

/* Stores (=, or += if add) the part of a tile that exists. A row of the tile has `width` elements,
 * which must be whole vectors. */
static __attribute__((noinline)) void MM_NAME(store_part)(const MM_T *restrict tile, int64_t width,
                                                          MM_T *restrict c, int64_t c_stride,
                                                          int64_t rows, int64_t columns, int add) {
    int64_t i = 0;
    /* The rows of C follow each other without gaps here, so a row may write beyond its end, where
     * the next rows overwrite that. */
    for (; !add && c_stride == columns && (rows - i) * columns >= width; ++i) {
        for (int64_t j = 0; j < width; j += MM_LANES) {
            *(MM_NAME(loose_t) *)(c + i * columns + j) =
                *(const MM_NAME(loose_t) *)(tile + i * width + j);
        }
    }
    for (; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
            MM_T value = tile[i * width + j];
            c[i * c_stride + j] = add ? c[i * c_stride + j] + value : value;
        }
    }
}

/* Stores (=, or += if add) a tile, of which `rows` x `columns` elements exist. */
static inline __attribute__((always_inline)) void MM_NAME(store)(MM_NAME(tile_t) acc, int lines,
                                                                 int vectors, MM_T *restrict c,
                                                                 int64_t c_stride, int64_t rows,
                                                                 int64_t columns, int add) {
    const int64_t width = vectors * MM_LANES;
    MM_T edge[MM_MOST_LINES * MM_COLUMNS];
    if (rows == lines && columns == width) {
#pragma GCC unroll 16
        for (int i = 0; i < lines; ++i) {
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v) {
                MM_NAME(loose_t) *to = (MM_NAME(loose_t) *)(c + i * c_stride + v * MM_LANES);
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
            *(MM_NAME(loose_t) *)(edge + i * width + v * MM_LANES) = acc[i][v];
    }
    MM_NAME(store_part)(edge, width, c, c_stride, rows, columns, add);
}

static inline __attribute__((always_inline)) void MM_NAME(clear)(MM_NAME(tile_t) acc, int lines,
                                                                 int vectors) {
#pragma GCC unroll 16
    for (int i = 0; i < lines; ++i) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) acc[i][v] = (MM_NAME(vec_t)){0};
    }
}

/* One step of k: a(i) is row i of A, and b points to `vectors` vectors of B. */
#define MM_STEP(acc, lines, vectors, a, b)                            \
    MM_NAME(vec_t) of_b[2];                                           \
    _Pragma("GCC unroll 2") for (int v = 0; v < (vectors); ++v) {     \
        of_b[v] = *(const MM_NAME(loose_t) *)((b) + v * MM_LANES);    \
    }                                                                 \
    _Pragma("GCC unroll 16") for (int i = 0; i < (lines); ++i) {      \
        MM_NAME(vec_t) s = a(i) - (MM_NAME(vec_t)){0};                \
        _Pragma("GCC unroll 2") for (int v = 0; v < (vectors); ++v) { \
            acc[i][v] = MM_FMA(s, of_b[v], acc[i][v]);                \
        }                                                             \
    }

/* Sets or adds to C's block of MM_ROWS x MM_COLUMNS the product of one panel each, over k. A's
 * columns are a_step elements apart. */
static __attribute__((noinline)) void MM_NAME(tile)(int64_t k, const MM_T *restrict a,
                                                    int64_t a_step, const MM_T *restrict b,
                                                    MM_T *restrict c, int64_t c_stride,
                                                    int64_t rows, int64_t columns, int add) {
    MM_NAME(tile_t) acc;
    MM_NAME(clear)(acc, MM_ROWS, 2);
#define MM_PACKED(i) a[i]
    for (int64_t p = 0; p < k; ++p) {
        MM_STEP(acc, MM_ROWS, 2, MM_PACKED, b)
        a += a_step;
        b += MM_COLUMNS;
    }
#undef MM_PACKED
    MM_NAME(store)(acc, MM_ROWS, 2, c, c_stride, rows, columns, add);
}

/* ---- packing ---- */

/* Panels of B that are packed at a time. */
#define MM_PANELS 8

/* Packs one panel of `width` rows or columns, `count` of which exist: target[p * width + i] =
 * source[i * across + p * along]. */
static inline __attribute__((always_inline)) void MM_NAME(pack_panel)(const MM_T *restrict source,
                                                                      int64_t across, int64_t along,
                                                                      int64_t count, int64_t width,
                                                                      int64_t k,
                                                                      MM_T *restrict target) {
    if (count < width) {
        for (int64_t p = 0; p < k; ++p)
            for (int64_t i = 0; i < width; ++i)
                target[p * width + i] = i < count ? source[i * across + p * along] : 0;
    } else if (across == 1 && width % MM_LANES == 0) { /* gcc makes calls of memmove of a loop */
        for (int64_t p = 0; p < k; ++p)
            for (int64_t i = 0; i < width; i += MM_LANES)
                *(MM_NAME(loose_t) *)(target + p * width + i) =
                    *(const MM_NAME(loose_t) *)(source + p * along + i);
    } else if (across == 1) {
        for (int64_t p = 0; p < k; ++p)
            memcpy(target + p * width, source + p * along, (size_t)width * sizeof(MM_T));
    } else {
        for (int64_t p = 0; p < k; ++p)
            for (int64_t i = 0; i < width; ++i)
                target[p * width + i] = source[i * across + p * along];
    }
}

static void MM_NAME(pack_a)(const gantry__cpu_gemm_t *gemm, int64_t first, int64_t count,
                            int64_t k_first, int64_t k_count, void *target) {
    MM_T *to = target;
    for (int64_t i = 0; i < count; i += MM_ROWS) {
        const MM_T *source =
            (const MM_T *)gemm->a + (first + i) * gemm->a_row + k_first * gemm->a_column;
        int64_t rows = count - i < MM_ROWS ? count - i : MM_ROWS;
        MM_NAME(pack_panel)(source, gemm->a_row, gemm->a_column, rows, MM_ROWS, k_count, to);
        to += MM_ROWS * k_count;
    }
}

/* Packs whole panels of contiguous rows, several at a time: the rows of one panel are short and far
 * from each other, and no prefetcher follows them. Only for float32, because of the library's size.
 * Returns the number of columns that it packed. */
static inline int64_t MM_NAME(pack_rows_of_b)(const MM_T *restrict source, int64_t b_row,
                                              int64_t count, int64_t k, MM_T *restrict target) {
    const int64_t whole = count / MM_COLUMNS * MM_COLUMNS;
    for (int64_t first = 0, end; first < whole; first = end) {
        end = first + MM_PANELS * MM_COLUMNS < whole ? first + MM_PANELS * MM_COLUMNS : whole;
        for (int64_t p = 0; p < k; ++p) {
            for (int64_t j = first; j < end; j += MM_COLUMNS) {
                for (int64_t i = 0; i < MM_COLUMNS; i += MM_LANES)
                    *(MM_NAME(loose_t) *)(target + j * k + p * MM_COLUMNS + i) =
                        *(const MM_NAME(loose_t) *)(source + p * b_row + j + i);
            }
        }
    }
    return whole;
}

static void MM_NAME(pack_b)(const gantry__cpu_gemm_t *gemm, int64_t first, int64_t count,
                            int64_t k_first, int64_t k_count, void *target) {
    MM_T *to = target;
    int64_t j = 0;
    if (MM_HAS_LINES && gemm->b_column == 1)
        j = MM_NAME(pack_rows_of_b)((const MM_T *)gemm->b + first + k_first * gemm->b_row,
                                    gemm->b_row, count, k_count, to);
    for (to += j * k_count; j < count; j += MM_COLUMNS) {
        const MM_T *source =
            (const MM_T *)gemm->b + (first + j) * gemm->b_column + k_first * gemm->b_row;
        int64_t columns = count - j < MM_COLUMNS ? count - j : MM_COLUMNS;
        MM_NAME(pack_panel)(source, gemm->b_column, gemm->b_row, columns, MM_COLUMNS, k_count, to);
        to += MM_COLUMNS * k_count;
    }
}

static void MM_NAME(multiply)(const void *a, const void *b, int64_t k_count, void *c, int64_t c_row,
                              int64_t rows, int64_t columns, bool add) {
    for (int64_t j = 0; j < columns; j += MM_COLUMNS) {
        for (int64_t i = 0; i < rows; i += MM_ROWS) {
            int64_t tile_rows = rows - i < MM_ROWS ? rows - i : MM_ROWS;
            int64_t tile_columns = columns - j < MM_COLUMNS ? columns - j : MM_COLUMNS;
            MM_NAME(tile)
            (k_count, (const MM_T *)a + i * k_count, MM_ROWS, (const MM_T *)b + j * k_count,
             (MM_T *)c + i * c_row + j, c_row, tile_rows, tile_columns, add);
        }
    }
}

#if MM_HAS_LINES
static void MM_NAME(multiply_steps)(const void *a, int64_t a_step, const void *b, int64_t b_panel,
                                    int64_t k_count, void *c, int64_t c_row, int64_t rows,
                                    int64_t columns) {
    for (int64_t j = 0; j < columns; j += MM_COLUMNS) {
        MM_NAME(tile)
        (k_count, a, a_step, (const MM_T *)b + j / MM_COLUMNS * b_panel, (MM_T *)c + j, c_row, rows,
         columns - j < MM_COLUMNS ? columns - j : MM_COLUMNS, 1);
    }
}

#include "kernels/matmul/matmul_cpu_lines.h"
#endif

/* ---- without packing ---- */

static void MM_NAME(tiny)(const gantry__cpu_gemm_t *gemm) {
    for (int64_t i = 0; i < gemm->m; ++i) {
        const MM_T *a = (const MM_T *)gemm->a + i * gemm->a_row;
        MM_T *c = (MM_T *)gemm->c + i * gemm->c_row;
        for (int64_t j = 0; j < gemm->n; ++j) {
            const MM_T *b = (const MM_T *)gemm->b + j * gemm->b_column;
            MM_T sum = 0;
            for (int64_t p = 0; p < gemm->k; ++p) sum += a[p * gemm->a_column] * b[p * gemm->b_row];
            c[j * gemm->c_column] = sum;
        }
    }
}

#define MM_BLOCK ((int64_t)(4096 / sizeof(MM_T)))
#define MM_STRIP ((int64_t)(256 / sizeof(MM_T)))
#define MM_GROUP 4        /* rows of B at a time */
#define MM_GROUP_OF_ONE 8 /* if A is one row */

/* sum[j] += the products of `rows` rows of B, one after the other. columns must be a multiple of
 * two vectors, and rows a constant. */
static inline __attribute__((always_inline)) void MM_NAME(add_vectors)(const MM_T *b, int64_t b_row,
                                                                       const MM_T *a,
                                                                       int64_t a_column, int rows,
                                                                       int64_t columns,
                                                                       MM_T *restrict sum) {
    for (int64_t j = 0; j < columns; j += 2 * MM_LANES) {
        MM_NAME(loose_t) *out = (MM_NAME(loose_t) *)(sum + j);
        MM_NAME(vec_t) next0 = out[0], next1 = out[1];
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) {
            const MM_NAME(loose_t) *in = (const MM_NAME(loose_t) *)(b + r * b_row + j);
            next0 += a[r * a_column] * in[0];
            next1 += a[r * a_column] * in[1];
        }
        out[0] = next0;
        out[1] = next1;
    }
}

static void MM_NAME(add_rows)(const MM_T *b, int64_t b_row, const MM_T *a, int64_t a_column,
                              int64_t rows, int64_t count, MM_T *sum) {
    const int64_t vectors = count / (2 * MM_LANES) * (2 * MM_LANES);
    if (rows == MM_GROUP_OF_ONE)
        MM_NAME(add_vectors)(b, b_row, a, a_column, MM_GROUP_OF_ONE, vectors, sum);
    else if (rows == MM_GROUP)
        MM_NAME(add_vectors)(b, b_row, a, a_column, MM_GROUP, vectors, sum);
    else
        for (int64_t r = 0; r < rows; ++r)
            MM_NAME(add_vectors)(b + r * b_row, b_row, a + r * a_column, a_column, 1, vectors, sum);
    int64_t j = vectors;
    /* only for float32, because of the library's size */
    for (; MM_HAS_LINES && MM_QUAD == 4 && j + MM_QUAD <= count; j += MM_QUAD) {
        MM_NAME(quad_t) next = *(MM_NAME(quad_t) *)(sum + j);
        for (int64_t r = 0; r < rows; ++r)
            next += a[r * a_column] * *(const MM_NAME(quad_t) *)(b + r * b_row + j);
        *(MM_NAME(quad_t) *)(sum + j) = next;
    }
    for (; j < count; ++j) {
        MM_T total = sum[j];
        for (int64_t r = 0; r < rows; ++r) total += a[r * a_column] * b[r * b_row + j];
        sum[j] = total;
    }
}

/* For rows of B that are contiguous. It scales the rows of B and adds them to the rows of C,
 * several at a time. One row of C reads whole blocks of B, which the hardware prefetcher follows.
 * With more rows of C the loop reads B in strips, which are too short for that prefetcher, and so
 * prefetches the strips of the next rows itself. */
static void MM_NAME(thin_rows)(const gantry__cpu_gemm_t *gemm, int64_t first, int64_t count) {
    const int64_t group = gemm->m == 1 ? MM_GROUP_OF_ONE : MM_GROUP,
                  most = gemm->m == 1 ? MM_BLOCK : MM_STRIP;
    MM_T acc[GANTRY_CPU_THIN][MM_BLOCK];
    for (int64_t i = 0; i < gemm->m; ++i)
        for (int64_t j = 0; j < count; ++j) acc[i][j] = 0;
    for (int64_t p = 0, rows; p < gemm->k; p += rows) {
        const MM_T *b = (const MM_T *)gemm->b + p * gemm->b_row + first;
        rows = gemm->k - p < group ? gemm->k - p : group;
        for (int64_t j = 0, strip; j < count; j += strip) {
            strip = count - j < most ? count - j : most;
            for (int64_t r = 0; r < rows && gemm->m > 1; ++r) {
                gantry__cpu_prefetch(
                    (uintptr_t)(b + j) + (uintptr_t)((rows + r) * gemm->b_row) * sizeof(MM_T),
                    (uint64_t)strip * sizeof(MM_T));
            }
            for (int64_t i = 0; i < gemm->m; ++i) {
                MM_NAME(add_rows)
                (b + j, gemm->b_row, (const MM_T *)gemm->a + i * gemm->a_row + p * gemm->a_column,
                 gemm->a_column, rows, strip, acc[i] + j);
            }
        }
    }
    for (int64_t i = 0; i < gemm->m; ++i)
        for (int64_t j = 0; j < count; ++j)
            ((MM_T *)gemm->c)[i * gemm->c_row + (first + j) * gemm->c_column] = acc[i][j];
}

#if MM_HAS_LINES
#include "kernels/matmul/matmul_cpu_ordered.h"
#endif

/* For columns of B that are contiguous: the loop computes inner products of MM_DOTS columns at a
 * time with all rows of A. */

/* The elements of A that are copied to the stack: as many of each row as fit, up to MM_DEPTH. */
#define MM_COPIED ((int64_t)(40960 / sizeof(MM_T)))
#define MM_DEPTH ((int64_t)(16384 / sizeof(MM_T)))

static inline MM_T MM_NAME(add_lanes)(MM_NAME(vec_t) x) {
    MM_T sum = x[0];
    for (int lane = 1; lane < (int)MM_LANES; ++lane) sum += x[lane];
    return sum;
}

/* sums[i * MM_DOTS + j] = the inner product of row i of A and column j of B. Callers must pass
 * constants for rows and columns. */
static inline __attribute__((always_inline)) void MM_NAME(dots)(
    const MM_T *restrict a, int64_t a_row, const MM_T *restrict b, int64_t b_column, int64_t k,
    int rows, int columns, MM_T *restrict sums) {
    MM_NAME(vec_t) acc[GANTRY_CPU_THIN][MM_DOTS];
    int64_t p = 0;
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < columns; ++j) acc[i][j] = (MM_NAME(vec_t)){0};
    }
    for (; p + MM_LANES <= k; p += MM_LANES) {
        MM_NAME(vec_t) column[MM_DOTS];
#pragma GCC unroll 4
        for (int j = 0; j < columns; ++j)
            column[j] = *(const MM_NAME(loose_t) *)(b + j * b_column + p);
#pragma GCC unroll 8
        for (int i = 0; i < rows; ++i) {
            MM_NAME(vec_t) row = *(const MM_NAME(loose_t) *)(a + i * a_row + p);
#pragma GCC unroll 4
            for (int j = 0; j < columns; ++j) acc[i][j] = MM_FMA(row, column[j], acc[i][j]);
        }
    }
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) {
            MM_T sum = MM_NAME(add_lanes)(acc[i][j]);
            for (int64_t rest = p; rest < k; ++rest)
                sum += a[i * a_row + rest] * b[j * b_column + rest];
            sums[i * MM_DOTS + j] = sum;
        }
    }
}

static void MM_NAME(dots_of)(int64_t rows, const MM_T *a, int64_t a_row, const MM_T *b,
                             int64_t b_column, int64_t k, bool is_one, MM_T *sums) {
#define MM_CASE(n)                                           \
    if (is_one)                                              \
        MM_NAME(dots)(a, a_row, b, b_column, k, n, 1, sums); \
    else                                                     \
        MM_NAME(dots)(a, a_row, b, b_column, k, n, MM_DOTS, sums);
    if (rows <= 2)
        MM_CASE(2)
    else if (rows <= 4)
        MM_CASE(4)
    else
        MM_CASE(6)
#undef MM_CASE
}

/* Computes columns [begin, end) of C. For each piece of k the loop copies A's rows to the stack,
 * and adds a row of zeros if their number is odd. */
static void MM_NAME(thin_dots)(const gantry__cpu_gemm_t *gemm, int64_t begin, int64_t end) {
    MM_T rows[MM_COPIED], sums[GANTRY_CPU_THIN * MM_DOTS];
    const int64_t even = (gemm->m + 1) / 2 * 2, fit = MM_COPIED / even / MM_LANES * MM_LANES;
    const int64_t depth = fit < MM_DEPTH ? fit : MM_DEPTH;
    for (int64_t first = 0; first < gemm->k; first += depth) {
        const MM_T *a = (const MM_T *)gemm->a + first * gemm->a_column;
        const int64_t k = gemm->k - first < depth ? gemm->k - first : depth;
        for (int64_t i = 0; i < even; ++i)
            for (int64_t p = 0; p < k; ++p)
                rows[i * depth + p] = i < gemm->m ? a[i * gemm->a_row + p * gemm->a_column] : 0;
        for (int64_t j = begin, step; j < end; j += step) {
            step = end - j < MM_DOTS ? 1 : MM_DOTS;
            MM_NAME(dots_of)
            (gemm->m, rows, depth, (const MM_T *)gemm->b + j * gemm->b_column + first,
             gemm->b_column, k, step == 1, sums);
            for (int64_t i = 0; i < gemm->m; ++i) {
                MM_T *c = (MM_T *)gemm->c + i * gemm->c_row + j * gemm->c_column;
                for (int64_t e = 0; e < step; ++e) {
                    MM_T sum = sums[i * MM_DOTS + e];
                    c[e * gemm->c_column] = first > 0 ? c[e * gemm->c_column] + sum : sum;
                }
            }
        }
    }
}

static void MM_NAME(thin)(const gantry__cpu_gemm_t *gemm, int64_t begin, int64_t end) {
    for (int64_t first = begin; gemm->b_column == 1 && first < end; first += MM_BLOCK)
        MM_NAME(thin_rows)(gemm, first, end - first < MM_BLOCK ? end - first : MM_BLOCK);
    if (gemm->b_column != 1) MM_NAME(thin_dots)(gemm, begin, end);
}

static const gantry__cpu_gemm_loops_t MM_NAME(loops) = {
    .rows = MM_ROWS,
    .columns = (int64_t)(2 * MM_VECTOR_BYTES / sizeof(MM_T)),
    .pack_a = MM_NAME(pack_a),
    .pack_b = MM_NAME(pack_b),
    .multiply = MM_NAME(multiply),
#if MM_HAS_LINES
    .multiply_steps = MM_NAME(multiply_steps),
    .multiply_lines = MM_NAME(multiply_lines),
    .multiply_few = MM_NAME(multiply_few),
    .sum_few = MM_NAME(sum_few),
    .narrow = &MM_NAME(narrow_loops),
    .ordered = MM_NAME(ordered),
#endif
    .tiny = MM_NAME(tiny),
    .thin = MM_NAME(thin)};

#undef MM_BLOCK
#undef MM_STRIP
#undef MM_GROUP
#undef MM_GROUP_OF_ONE
#undef MM_DEPTH
#undef MM_COPIED
#undef MM_STEP
#undef MM_QUAD
#undef MM_LANES
#undef MM_COLUMNS
#undef MM_MOST_LINES
#undef MM_STEPS
#undef MM_NAME
#undef MM_HAS_LINES
#undef MM_T
#undef MM_FMA
