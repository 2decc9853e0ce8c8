/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a MatMulInteger call, as the kernels of every backend need it: that of the product,
 * and the strides of its zero points.
 *
 * Owner: plain values of the caller; nothing is allocated. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_MATMUL_INTEGER_SHAPE_H
#define GANTRY_KERNELS_MATMUL_INTEGER_SHAPE_H

#include "kernels/matmul/matmul_shape.h"

/* The zero points of one operand. Strides are in elements; 0: the lines, or the matrices of the
 * batch, share them. */
typedef struct gantry__zero_points_t {
    const gantry_arg_t *arg; /* NULL: all are 0 */
    int64_t line;            /* from one row of A, or column of B, to the next */
    int64_t batch[GANTRY_MATMUL_BATCH_RANK];
} gantry__zero_points_t;

/* C[i, j] = the sum over p of (A[i, p] - a_zero[i]) (B[p, j] - b_zero[j]), modulo 2^32. k must not
 * be 0. */
typedef struct gantry__integer_product_t {
    gantry__matmul_shape_t shape;
    gantry__zero_points_t zero[2]; /* A's, B's */
} gantry__integer_product_t;

void gantry__integer_product_of(const gantry_op_call_t *call,
                                gantry__integer_product_t *out_product);

/* The types of the kernels of the CPU backend and the pack. */
static const gantry_type_constraint_t gantry__matmul_integer_types[] = {
    {"Ta", GANTRY_MASK_SMALL_MULTIPLIED},
    {"Tb", GANTRY_MASK_SMALL_MULTIPLIED},
    {"Tout", GANTRY_MASK_SMALL_PRODUCTS}};

#endif
