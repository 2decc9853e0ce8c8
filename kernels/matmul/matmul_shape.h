/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a MatMul or BatchMatMul call, as the kernels of every backend need it: sizes and
 * strides of one product, and of the batch.
 *
 * Owner: plain values of the caller; nothing is allocated. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_MATMUL_SHAPE_H
#define GANTRY_KERNELS_MATMUL_SHAPE_H

#include <stdbool.h>

#include "kernels/common/kernel_definition.h"

#define GANTRY_MATMUL_BATCH_RANK (GANTRY_MAX_RANK - 2)

/* C[m, n] = A[m, k] B[k, n] for each element of the batch. Strides are in elements: those of a
 * transposed operand are exchanged, and a broadcast operand has batch strides of 0. The batch of
 * products of groups is the groups, which share the rows of each operand. */
typedef struct gantry__matmul_shape_t {
    int64_t m;
    int64_t n;
    int64_t k;
    int64_t a_row;
    int64_t a_column;
    int64_t b_row;
    int64_t b_column;
    int64_t c_row;
    int64_t c_column;
    int64_t c_batch;
    int64_t batches; /* the product of batch_dims */
    int32_t batch_rank;
    int64_t batch_dims[GANTRY_MATMUL_BATCH_RANK];
    int64_t a_batch[GANTRY_MATMUL_BATCH_RANK];
    int64_t b_batch[GANTRY_MATMUL_BATCH_RANK];
} gantry__matmul_shape_t;

/* Reads the attributes transpose_a, transpose_b of MatMul or adj_x, adj_y of BatchMatMul. The
 * result must have the product's rows. */
void gantry__matmul_shape_of(const gantry_op_call_t *call, gantry__matmul_shape_t *out_shape);

/* The same of _GroupedMatMul or _FusedGroupedMatMul. */
void gantry__matmul_grouped_shape_of(const gantry_op_call_t *call,
                                     gantry__matmul_shape_t *out_shape);

/* Whether the logical device has all the limits of the card, own. A logical device may imitate a
 * smaller card. A vendor's library would not respect its limits, because it reads those of the card
 * and launches past the core; the portable kernels serve such a device instead. */
static inline bool gantry__matmul_has_whole_card(const gantry_op_call_t *call,
                                                 const gantry_device_info_t *own) {
    return call->device_info->max_work_group_size == own->max_work_group_size &&
           call->device_info->local_memory_bytes == own->local_memory_bytes;
}

/* The kernels of both ops for one algorithm: the initialiser of a table. supports_ may be NULL.
 * library_ is the vendor's that the algorithm may call; NULL: none. */
#define GANTRY__MATMUL_KERNELS(priority_, types, promises_, library_, supports_, compute_)         \
    {                                                                                              \
        GANTRY_K_PROMISING(promises_, "MatMul", types, 1, NULL, 0, .priority = priority_,          \
                           .supports = supports_, .compute = compute_, .library = library_),       \
            GANTRY_K_PROMISING(promises_, "BatchMatMul", types, 1, NULL, 0, .priority = priority_, \
                               .supports = supports_, .compute = compute_, .library = library_)    \
    }
/* The kernel that also runs a program over the product of the kernel product_, which must be a
 * MatMul. The passes of functions find that kernel by its definition. */
#define GANTRY__MATMUL_FUSED_KERNEL(product_, priority_, types, promises_, library_, supports_, \
                                    compute_)                                                   \
    GANTRY_K_PROMISING(promises_, "_FusedMatMul", types, 1, NULL, 0, .priority = priority_,     \
                       .supports = supports_, .compute = compute_, .data = product_,            \
                       .library = library_)
/* The kernels of products of groups, without a program and with one. */
#define GANTRY__MATMUL_GROUPED_KERNEL(priority_, types, promises_, library_, supports_, compute_) \
    GANTRY_K_PROMISING(promises_, "_GroupedMatMul", types, 1, NULL, 0, .priority = priority_,     \
                       .supports = supports_, .compute = compute_, .library = library_)
#define GANTRY__MATMUL_FUSED_GROUPED_KERNEL(product_, priority_, types, promises_, library_,       \
                                            supports_, compute_)                                   \
    GANTRY_K_PROMISING(promises_, "_FusedGroupedMatMul", types, 1, NULL, 0, .priority = priority_, \
                       .supports = supports_, .compute = compute_, .data = product_,               \
                       .library = library_)
/* The priority of a backend's own products, above those of the portable pack. */
#define GANTRY__MATMUL_ABOVE_PACK 10
/* The types of the CPU backend and the pack. By the ops' definitions only BatchMatMul has int16. */
static const gantry_type_constraint_t gantry__matmul_types[] = {
    {"T", GANTRY_DTYPES_NUMBERS | GANTRY_DTYPES_HALVES | GANTRY_DTYPE_BIT(GANTRY_INT16)}};

#endif
