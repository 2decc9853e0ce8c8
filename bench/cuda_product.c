/* SPDX-License-Identifier: Apache-2.0 */
/* cuBLASLt is column-major. A row-major matrix is the transpose of a column-major one, so a
 * row-major C = A B is a column-major C' = B' A': the operands change places, and one layout serves
 * all three. */
#include "cuda_product.h"

#include <stdio.h>
#include <string.h>

#include "timer.h"

#define WORKSPACE_BYTES (UINT64_C(32) << 20) /* Gantry's limit */
#define TRIAL_NS 10000000u

enum { PREFERENCE_WORKSPACE = 1 };
enum { SCALE_FLOAT32 = 0, COMPUTE_FLOAT32 = 68, COMPUTE_TF32 = 77 };

static const struct {
    int type, compute;
    size_t bytes;
} kinds[BENCH_PRODUCT_TYPES] = {
    [BENCH_PRODUCT_FLOAT32] = {0, COMPUTE_FLOAT32, 4},
    [BENCH_PRODUCT_TF32] = {0, COMPUTE_TF32, 4},
    [BENCH_PRODUCT_FLOAT16] = {2, COMPUTE_FLOAT32, 2},
    [BENCH_PRODUCT_BFLOAT16] = {14, COMPUTE_FLOAT32, 2},
};

static bool is_ok(int code, const char *what) {
    if (code != 0) (void)fprintf(stderr, "raw cuBLASLt: %s: code %d\n", what, code);
    return code == 0;
}

static bool describe(bench_product_t *product, bench_product_type_t type, int n) {
    const bench_cublas_t *lt = &product->lt;
    uint64_t most = WORKSPACE_BYTES;
    return is_ok(lt->cublasLtCreate(&product->handle), "cublasLtCreate") &&
           is_ok(lt->cublasLtMatmulDescCreate(&product->description, kinds[type].compute,
                                              SCALE_FLOAT32),
                 "the description") &&
           is_ok(lt->cublasLtMatrixLayoutCreate(&product->layout, kinds[type].type, (uint64_t)n,
                                                (uint64_t)n, n),
                 "the layout") &&
           is_ok(lt->cublasLtMatmulPreferenceCreate(&product->preference), "the preference") &&
           is_ok(lt->cublasLtMatmulPreferenceSetAttribute(product->preference, PREFERENCE_WORKSPACE,
                                                          &most, sizeof most),
                 "the workspace");
}

static bool fill(bench_product_t *product, const void *a, const void *b) {
    const bench_card_t *card = product->card;
    product->a = bench_card_alloc(card, product->matrix_bytes);
    product->b = product->a ? bench_card_alloc(card, product->matrix_bytes) : 0;
    product->c = product->b ? bench_card_alloc(card, product->matrix_bytes) : 0;
    product->workspace = product->c ? bench_card_alloc(card, WORKSPACE_BYTES) : 0;
    return product->workspace && bench_card_write(card, product->a, a, product->matrix_bytes) &&
           bench_card_write(card, product->b, b, product->matrix_bytes);
}

static bool propose(bench_product_t *product) {
    void *layout = product->layout;
    int code = product->lt.cublasLtMatmulAlgoGetHeuristic(
        product->handle, product->description, layout, layout, layout, layout, product->preference,
        BENCH_PRODUCT_CHOICES, product->choices, &product->choice_count);
    return is_ok(code, "cublasLtMatmulAlgoGetHeuristic") && product->choice_count > 0;
}

static double seconds_per_call(const bench_product_t *product, int choice) {
    int calls = 0;
    if (!bench_product_run(product, choice, 1)) return 0;
    uint64_t start = bench_now_ns(), end;
    do {
        if (!bench_product_run(product, choice, 2)) return 0;
        calls += 2;
        end = bench_now_ns();
    } while (end - start < TRIAL_NS);
    return (double)(end - start) * 1e-9 / calls;
}

static bool find_fastest(bench_product_t *product) {
    double least = 0;
    for (int i = 0; i < product->choice_count; ++i) {
        double seconds = seconds_per_call(product, i);
        if (i == 0 && seconds <= 0) return false;
        if (seconds <= 0 || (i > 0 && seconds >= least)) continue;
        least = seconds;
        product->fastest = i;
    }
    return true;
}

bool bench_product_open_first(bench_product_t *product, const bench_card_t *card,
                              bench_product_type_t type, int n, const void *a, const void *b) {
    memset(product, 0, sizeof *product);
    product->card = card;
    product->matrix_bytes = (size_t)n * (size_t)n * kinds[type].bytes;
    if (!bench_cublas_open(&product->lt, card->cuda.driver_version)) return false;
    if (describe(product, type, n) && fill(product, a, b) && propose(product)) return true;
    bench_product_close(product);
    return false;
}

bool bench_product_open(bench_product_t *product, const bench_card_t *card,
                        bench_product_type_t type, int n, const void *a, const void *b) {
    if (!bench_product_open_first(product, card, type, n, a, b)) return false;
    if (find_fastest(product)) return true;
    bench_product_close(product);
    return false;
}

void bench_product_close(bench_product_t *product) {
    const bench_cublas_t *lt = &product->lt;
    bench_address_t memory[] = {product->a, product->b, product->c, product->workspace};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; ++i)
        bench_card_free(product->card, memory[i]);
    if (product->preference) (void)lt->cublasLtMatmulPreferenceDestroy(product->preference);
    if (product->layout) (void)lt->cublasLtMatrixLayoutDestroy(product->layout);
    if (product->description) (void)lt->cublasLtMatmulDescDestroy(product->description);
    if (product->handle) (void)lt->cublasLtDestroy(product->handle);
    memset(product, 0, sizeof *product);
}

static const void *at(bench_address_t address) { return (const void *)(uintptr_t)address; }

bool bench_product_run(const bench_product_t *product, int choice, int calls) {
    const float one = 1, zero = 0;
    const bench_product_choice_t *way = &product->choices[choice];
    void *layout = product->layout, *c = (void *)(uintptr_t)product->c;
    for (int i = 0; i < calls; ++i) {
        int code = product->lt.cublasLtMatmul(
            product->handle, product->description, &one, at(product->b), layout, at(product->a),
            layout, &zero, c, layout, c, layout, way->algorithm,
            (void *)(uintptr_t)product->workspace, way->workspace_bytes, product->card->stream);
        if (code != 0) return false;
    }
    return bench_card_wait(product->card);
}

bool bench_product_read(const bench_product_t *product, void *c) {
    return bench_card_read(product->card, c, product->c, product->matrix_bytes);
}
