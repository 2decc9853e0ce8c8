/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a MatMul or BatchMatMul call in the form kernels of every backend want: one
 * product's sizes and strides, and the batch's.
 *
 * Owner: plain values, nothing allocated. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_MATMUL_SHAPE_H
#define GANTRY_KERNELS_MATMUL_SHAPE_H

#include "kernels/common/kernel_definition.h"

#define GANTRY_MATMUL_BATCH_RANK (GANTRY_MAX_RANK - 2)

/* C[m, n] = A[m, k] B[k, n] per element of the batch. Strides in elements; a transposed operand is
 * one with its strides exchanged, a broadcast one has batch strides of 0. C is dense. */
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

/* A vendor's library looks at the card's own limits and launches past the core: where a logical
 * device imitates a smaller one than own, the driver's, it could not be held to that, so the
 * portable kernels take over. */
static inline int gantry__matmul_has_whole_card(const gantry_op_call_t *call,
                                                const gantry_device_info_t *own) {
    return call->device_info->max_work_group_size == own->max_work_group_size &&
           call->device_info->local_memory_bytes == own->local_memory_bytes;
}

/* Both ops' kernels of one way to compute products; a table's initialiser. supports_ may be
 * NULL. */
#define GANTRY__MATMUL_KERNELS(priority_, types, supports_, compute_)                    \
    {                                                                                    \
        GANTRY_K_DEFINITION("MatMul", types, 1, NULL, 0, .priority = priority_,          \
                            .supports = supports_, .compute = compute_),                 \
            GANTRY_K_DEFINITION("BatchMatMul", types, 1, NULL, 0, .priority = priority_, \
                                .supports = supports_, .compute = compute_)              \
    }
/* The priority of products that a backend has above the portable pack's. */
#define GANTRY__MATMUL_ABOVE_PACK 10
/* What the CPU backend and the pack compute; of int16 BatchMatMul only, by the ops' definitions. */
static const gantry_type_constraint_t gantry__matmul_types[] = {
    {"T", GANTRY_DTYPES_NUMBERS | GANTRY_DTYPES_HALVES | GANTRY_DTYPE_BIT(GANTRY_INT16)}};

#endif
