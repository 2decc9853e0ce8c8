/* SPDX-License-Identifier: Apache-2.0 */
/* A product of a few rows without packing, in the order of the blocked product: within each block
 * of k one fused multiply-add after the other, from 0 on; then the blocks' sums one after the
 * other. So its bits are those of the same rows among many. This is a part of matmul_cpu_body.h,
 * which must define the macros and vector types before it. Owner: the caller's memory. Threads:
 * thread-safe. */

/* sum[j] += the products of `rows` rows of B, one after the other. columns must be a multiple of
 * two vectors, and rows a constant. */
static inline __attribute__((always_inline)) void MM_NAME(fuse_vectors)(
    const MM_T *b, int64_t b_row, const MM_T *a, int64_t a_column, int rows, int64_t columns,
    MM_T *restrict sum) {
    for (int64_t j = 0; j < columns; j += 2 * MM_LANES) {
        MM_NAME(loose_t) *out = (MM_NAME(loose_t) *)(sum + j);
        MM_NAME(vec_t) next0 = out[0], next1 = out[1];
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) {
            const MM_NAME(loose_t) *in = (const MM_NAME(loose_t) *)(b + r * b_row + j);
            const MM_NAME(vec_t) s = a[r * a_column] - (MM_NAME(vec_t)){0};
            next0 = MM_FMA(s, in[0], next0);
            next1 = MM_FMA(s, in[1], next1);
        }
        out[0] = next0;
        out[1] = next1;
    }
}

/* The same for any rows and columns. sum must have room for whole pairs of vectors. */
static void MM_NAME(fuse_rows)(const MM_T *b, int64_t b_row, const MM_T *a, int64_t a_column,
                               int64_t rows, int64_t columns, MM_T *sum) {
    const int64_t whole = columns / (2 * MM_LANES) * (2 * MM_LANES);
    MM_T last[2 * MM_VECTOR_BYTES / sizeof(MM_T)] = {0};
    if (rows == MM_GROUP)
        MM_NAME(fuse_vectors)(b, b_row, a, a_column, MM_GROUP, whole, sum);
    else
        for (int64_t r = 0; r < rows; ++r)
            MM_NAME(fuse_vectors)(b + r * b_row, b_row, a + r * a_column, a_column, 1, whole, sum);
    for (int64_t r = 0; whole < columns && r < rows; ++r) {
        memcpy(last, b + r * b_row + whole, (size_t)(columns - whole) * sizeof(MM_T));
        MM_NAME(fuse_vectors)(last, 0, a + r * a_column, a_column, 1, 2 * MM_LANES, sum + whole);
    }
}

/* Adds `depth` rows of B from `k` on to the sums of columns [first, first + count), as thin_rows
 * does. */
static void MM_NAME(fuse_block)(const gantry__cpu_gemm_t *gemm, int64_t k, int64_t depth,
                                int64_t first, int64_t count, MM_T sums[][MM_BLOCK]) {
    const int64_t most = gemm->m == 1 ? MM_BLOCK : MM_STRIP;
    for (int64_t p = k, rows; p < k + depth; p += rows) {
        const MM_T *b = (const MM_T *)gemm->b + p * gemm->b_row + first;
        rows = k + depth - p < MM_GROUP ? k + depth - p : MM_GROUP;
        for (int64_t j = 0, strip; j < count; j += strip) {
            strip = count - j < most ? count - j : most;
            for (int64_t r = 0; r < rows && gemm->m > 1; ++r) {
                gantry__cpu_prefetch(
                    (uintptr_t)(b + j) + (uintptr_t)((rows + r) * gemm->b_row) * sizeof(MM_T),
                    (uint64_t)strip * sizeof(MM_T));
            }
            for (int64_t i = 0; i < gemm->m; ++i) {
                MM_NAME(fuse_rows)
                (b + j, gemm->b_row, (const MM_T *)gemm->a + i * gemm->a_row + p * gemm->a_column,
                 gemm->a_column, rows, strip, sums[i] + j);
            }
        }
    }
}

static void MM_NAME(ordered)(const gantry__cpu_gemm_t *gemm, int64_t k_block, int64_t begin,
                             int64_t end) {
    MM_T sums[GANTRY_CPU_THIN][MM_BLOCK];
    for (int64_t first = begin, count; first < end; first += count) {
        count = end - first < MM_BLOCK ? end - first : MM_BLOCK;
        for (int64_t k = 0; k < gemm->k; k += k_block) {
            const int64_t depth = gemm->k - k < k_block ? gemm->k - k : k_block;
            memset(sums, 0, sizeof sums[0] * (size_t)gemm->m);
            MM_NAME(fuse_block)(gemm, k, depth, first, count, sums);
            for (int64_t i = 0; i < gemm->m; ++i) {
                MM_T *c = (MM_T *)gemm->c + i * gemm->c_row + first * gemm->c_column;
                for (int64_t j = 0; j < count; ++j, c += gemm->c_column)
                    *c = k > 0 ? *c + sums[i][j] : sums[i][j];
            }
        }
    }
}
