/* SPDX-License-Identifier: Apache-2.0 */
/* A product's sizes and strides, and how its groups and work-items share C, for matmul.cl and
 * matmul_integer.cl. */

/* Must have the same fields as gantry__matmul_plan_t. Strides are in elements; a broadcast operand
 * has batch strides of 0. */
typedef struct {
    GANTRY_LONG m;
    GANTRY_LONG n;
    GANTRY_LONG k;
    GANTRY_LONG a_row;
    GANTRY_LONG a_column;
    GANTRY_LONG b_row;
    GANTRY_LONG b_column;
    GANTRY_LONG c_row;
    GANTRY_LONG c_column;
    GANTRY_LONG c_batch;
    GANTRY_LONG blocks_down;
    GANTRY_LONG blocks_across;
    GANTRY_LONG elements; /* elements of C, in the whole batch */
    GANTRY_LONG batch_rank;
    GANTRY_LONG batch_dims[6];
    GANTRY_LONG a_batch[6];
    GANTRY_LONG b_batch[6];
} matmul_t;

/* The offset in an operand of the batch's element `index`. */
GANTRY_FN GANTRY_LONG batch_offset(const matmul_t *plan, const GANTRY_LONG *strides,
                                   GANTRY_LONG index) {
    return gantry__offset(6, plan->batch_rank, plan->batch_dims, strides, index);
}

/* A place in a batch of matrices of `rows` rows and `columns` columns, which are elements or
 * blocks. */
typedef struct {
    GANTRY_LONG batch, row, column;
} matmul_place_t;

GANTRY_FN matmul_place_t matmul_place(GANTRY_LONG index, GANTRY_LONG rows, GANTRY_LONG columns) {
    const GANTRY_LONG line = gantry__divide_position(index, columns);
    matmul_place_t at;
    at.batch = gantry__divide_position(line, rows);
    at.row = line - at.batch * rows;
    at.column = index - line * columns;
    return at;
}
