/* SPDX-License-Identifier: Apache-2.0 */
/* Square matrix products by cuBLASLt called directly, with the same types, layout (row-major) and
 * workspace limit as Gantry's.
 *
 * The library proposes algorithms, the best first by its own heuristic. Opening a product also
 * measures the first few and finds the fastest. Owner: the caller. Threads: externally
 * synchronised. */
#ifndef GANTRY_BENCH_CUDA_PRODUCT_H
#define GANTRY_BENCH_CUDA_PRODUCT_H

#include "cuda_vendor.h"

#define BENCH_PRODUCT_CHOICES 8

typedef enum bench_product_type_t {
    BENCH_PRODUCT_FLOAT32,
    BENCH_PRODUCT_TF32, /* float32 whose inputs the library rounds */
    BENCH_PRODUCT_FLOAT16,
    BENCH_PRODUCT_BFLOAT16,
    BENCH_PRODUCT_TYPES
} bench_product_type_t;

/* The library's cublasLtMatmulHeuristicResult_t. */
typedef struct bench_product_choice_t {
    uint64_t algorithm[8];
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
} bench_product_choice_t;

typedef struct bench_product_t {
    const bench_card_t *card;
    bench_cublas_t lt;
    size_t matrix_bytes;
    void *handle, *description, *layout, *preference;
    bench_address_t a, b, c, workspace;
    bench_product_choice_t choices[BENCH_PRODUCT_CHOICES];
    int choice_count;
    int fastest; /* of choices */
} bench_product_t;

/* a and b must have n * n elements each. It returns false after a message on standard error; then
 * there is nothing to close. */
bool bench_product_open(bench_product_t *product, const bench_card_t *card,
                        bench_product_type_t type, int n, const void *a, const void *b);
/* The same without measuring: fastest is the first algorithm. */
bool bench_product_open_first(bench_product_t *product, const bench_card_t *card,
                              bench_product_type_t type, int n, const void *a, const void *b);
void bench_product_close(bench_product_t *product);
/* Runs `calls` products one after the other, and waits at the end. */
bool bench_product_run(const bench_product_t *product, int choice, int calls);
/* Reads c, n * n elements. */
bool bench_product_read(const bench_product_t *product, void *c);

#endif
