/* The shape of a MatMul or BatchMatMul call in the form kernels of every backend want: one product's sizes and strides,
 * and the batch's.
 *
 * Owner: plain values, nothing allocated. Threads: thread-safe. */
#ifndef GANTRY_MATMUL_SHAPE_H
#define GANTRY_MATMUL_SHAPE_H

#include "portable/kernel_types.h"

#define GANTRY_MATMUL_BATCH_RANK (GANTRY_K_MAX_RANK - 2)

/* C[m, n] = A[m, k] B[k, n] per element of the batch. Strides in elements; a transposed operand is one with its strides
 * exchanged, a broadcast one has batch strides of 0. C is dense. */
typedef struct gantry__matmul_shape_t {
    int64_t m;
    int64_t n;
    int64_t k;
    int64_t a_row;
    int64_t a_column;
    int64_t b_row;
    int64_t b_column;
    int64_t batches; /* product of batch_dims */
    int32_t batch_rank;
    int64_t batch_dims[GANTRY_MATMUL_BATCH_RANK];
    int64_t a_batch[GANTRY_MATMUL_BATCH_RANK];
    int64_t b_batch[GANTRY_MATMUL_BATCH_RANK];
} gantry__matmul_shape_t;

/* Reads attributes transpose_a, transpose_b of MatMul or adj_x, adj_y of BatchMatMul. */
void gantry__matmul_shape_of(const gantry_op_call_t *call, gantry__matmul_shape_t *out_shape);

#endif
