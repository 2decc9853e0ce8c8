/* SPDX-License-Identifier: Apache-2.0 */
/* d = alpha op(a) op(b) + beta c in plain loops, of float32, float64, float16 and bfloat16,
 * accumulated in double. Threads: each product is one thread's. */
#ifndef GANTRY_TESTS_STAND_IN_PRODUCT_H
#define GANTRY_TESTS_STAND_IN_PRODUCT_H

#include "stand_in_pocl.h"

typedef struct stand_in_matrix_t {
    int32_t type; /* CUDA_R_32F 0, 64F 1, 16F 2, 16BF 14 */
    int32_t is_row_major;
    uint64_t rows; /* as stored */
    uint64_t columns;
    int64_t leading;
    int32_t batch;
    int64_t batch_stride; /* elements */
    int is_transposed;
} stand_in_matrix_t;

/* cublasLtEpilogue_t */
enum { STAND_IN_RELU = 2, STAND_IN_BIAS = 4 };

typedef struct stand_in_product_t {
    stand_in_matrix_t a;
    stand_in_matrix_t b;
    stand_in_matrix_t c;
    stand_in_matrix_t d;
    uintptr_t data[4];
    int compute_type;
    int scale_type;
    double alpha;
    double beta;
    int epilogue;       /* 1: none; else STAND_IN_RELU | STAND_IN_BIAS */
    uintptr_t bias;     /* d.rows elements of d's type, added to each column */
    uint8_t *workspace; /* overwritten, so the caller must not need its contents */
    size_t workspace_bytes;
    stand_in_context_t *context;
} stand_in_product_t;

/* 0, or -1 when the parts do not match */
int stand_in__check_product(const stand_in_product_t *product);
uint64_t stand_in__matrix_bytes(const stand_in_matrix_t *matrix);
void stand_in__set_scales(stand_in_product_t *product, const void *alpha, const void *beta);
void stand_in__run_product(void *product);

#endif
