/* SPDX-License-Identifier: Apache-2.0 */
/* Large products of float32 by a library: the stripes of C, one call of the library for each, and
 * which products are better computed by our own loops. */
#include "kernels/matmul/cpu_blas.h"
#include "kernels/matmul/matmul_cpu.h"
#include "kernels/matmul/matmul_cpu_epilogue.h"

#define MOST_STRIPES 64
/* Multiplications that pay for a library's call. */
#define LIBRARY_MULTIPLICATIONS (INT64_C(1) << 16)
/* Few rows of A, and of a large B the least k, columns for each thread, and elements, which the L2
 * cache does not hold. */
#define FEW_ROWS 48
#define FEW_ROWS_K 256
#define FEW_ROWS_COLUMNS 512
#define FEW_ROWS_ELEMENTS (INT64_C(1) << 18)

static int64_t library_threads(const gantry_backend_device_t *device) {
    return device->pool ? (int64_t)gantry__cpu_pool_threads(device->pool) : 1;
}

typedef struct {
    const gantry__cpu_gemm_t *gemm;
    gantry__cpu_blas_t *blas;
    int library;
    int64_t stripe; /* rows or columns of C */
    bool by_rows;
    int32_t codes[MOST_STRIPES];
} stripes_t;

static void run_stripes(void *context, int64_t begin, int64_t end) {
    stripes_t *stripes = context;
    const gantry__cpu_gemm_t *gemm = stripes->gemm;
    for (int64_t i = begin; i < end; ++i) {
        int64_t first = i * stripes->stripe;
        int64_t count =
            gantry__least((stripes->by_rows ? gemm->m : gemm->n) - first, stripes->stripe);
        const float *a = (const float *)gemm->a + (stripes->by_rows ? first * gemm->a_row : 0);
        const float *b = (const float *)gemm->b + (stripes->by_rows ? 0 : first * gemm->b_column);
        float *c = (float *)gemm->c + (stripes->by_rows ? first * gemm->c_row : first);
        bool transpose_a = gemm->a_column != 1 || gemm->a_row < gemm->k;
        bool transpose_b = gemm->b_column != 1 || gemm->b_row < gemm->n;
        stripes->codes[i] = gantry__cpu_blas_sgemm(
            stripes->blas, stripes->library, transpose_a, transpose_b,
            stripes->by_rows ? count : gemm->m, stripes->by_rows ? gemm->n : count, gemm->k, a,
            transpose_a ? gemm->a_column : gemm->a_row, b,
            transpose_b ? gemm->b_column : gemm->b_row, c, gemm->c_row);
        if (gemm->epilogue && stripes->codes[i] == 0)
            gantry__cpu_epilogue_run(
                gemm->epilogue, stripes->by_rows ? first : 0, stripes->by_rows ? count : gemm->m,
                stripes->by_rows ? 0 : first, stripes->by_rows ? gemm->n : count);
    }
}

bool gantry__cpu_library_multiply(gantry_backend_device_t *device, const gantry__cpu_gemm_t *gemm,
                                  int library, bool parallel) {
    stripes_t stripes = {
        .gemm = gemm, .blas = device->blas, .library = library, .by_rows = gemm->m >= gemm->n};
    int64_t side = stripes.by_rows ? gemm->m : gemm->n;
    int64_t count = parallel ? library_threads(device) : 1;
    count = gantry__least(gantry__least(count, MOST_STRIPES), (side + 31) / 32);
    stripes.stripe = ((side + count - 1) / count + 15) / 16 * 16;
    count = (side + stripes.stripe - 1) / stripes.stripe;
    if (parallel)
        gantry__cpu_parallel_for(device, count, 1, run_stripes, &stripes);
    else
        run_stripes(&stripes, 0, count);
    for (int64_t i = 0; i < count; ++i)
        if (stripes.codes[i] != 0) return false;
    return true;
}

/* Whether few rows meet a large B, so that the time is that of reading B. The libraries copy B in
 * each call, all of it before they multiply. Only of a shape, so that a function whose B is packed
 * already has the bits of the op. Measured with AVX2. */
static bool meets_few_rows(const gantry_backend_device_t *device, const gantry__cpu_gemm_t *gemm) {
    return device->simd_level == GANTRY_CPU_AVX2 && gemm->m <= FEW_ROWS && gemm->b_column == 1 &&
           gemm->k >= FEW_ROWS_K && gemm->n >= FEW_ROWS_COLUMNS * library_threads(device) &&
           gemm->k * gemm->n >= FEW_ROWS_ELEMENTS &&
           gantry__cpu_blas_has_no_wish(device->blas, gemm->m, gemm->n, gemm->k);
}

int gantry__cpu_library_for(const gantry_backend_device_t *device, const gantry__cpu_gemm_t *gemm,
                            int32_t dtype) {
    if (dtype != GANTRY_FLOAT32 || !device->blas || gemm->keeps_rows ||
        gemm->m * gemm->n * gemm->k < LIBRARY_MULTIPLICATIONS || meets_few_rows(device, gemm))
        return GANTRY_CPU_BLAS_OWN;
    return gantry__cpu_blas_choose_rows(device->blas, gemm->m, gemm->n, gemm->k,
                                        gemm->b_column == 1 ? gemm->b_row : 0);
}
