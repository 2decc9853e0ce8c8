/* SPDX-License-Identifier: Apache-2.0 */
/* Reads sizes, strides and batches of a product from a call (matmul_shape.h). */
#include "kernels/matmul/matmul_shape.h"

/* Writes the rows, columns and strides of one operand's last two axes. */
static void operand_shape(const gantry_arg_t *arg, bool transpose, int64_t *rows, int64_t *columns,
                          int64_t *row_stride, int64_t *column_stride) {
    int64_t first = arg->dims[arg->rank - 2];
    int64_t last = arg->dims[arg->rank - 1];
    *rows = transpose ? last : first;
    *columns = transpose ? first : last;
    *row_stride = transpose ? 1 : last;
    *column_stride = transpose ? last : 1;
}

/* Writes the strides of one operand along the output's batch axes. */
static void batch_strides(const gantry_arg_t *arg, const gantry_arg_t *output, int64_t *strides) {
    int64_t stride = arg->dims[arg->rank - 2] * arg->dims[arg->rank - 1];
    for (int32_t i = output->rank - 3; i >= 0; --i) {
        int32_t axis = i - (output->rank - arg->rank);
        int64_t dim = axis >= 0 ? arg->dims[axis] : 1;
        strides[i] = dim == 1 ? 0 : stride;
        stride *= dim;
    }
}

/* Whether the first or second operand is transposed. BatchMatMul has other names for this. */
static bool is_transposed(const gantry_op_call_t *call, bool second) {
    const gantry_attr_t *attr = gantry__k_attr(call, second ? "transpose_b" : "transpose_a");
    if (!attr) attr = gantry__k_attr(call, second ? "adj_y" : "adj_x");
    return attr && attr->i != 0;
}

void gantry__matmul_shape_of(const gantry_op_call_t *call, gantry__matmul_shape_t *out_shape) {
    const gantry_arg_t *a = call->inputs[0], *b = call->inputs[1], *output = call->outputs[0];
    gantry__matmul_shape_t *shape = out_shape;
    int64_t k;
    operand_shape(a, is_transposed(call, false), &shape->m, &shape->k, &shape->a_row,
                  &shape->a_column);
    operand_shape(b, is_transposed(call, true), &k, &shape->n, &shape->b_row, &shape->b_column);
    shape->c_row = shape->n;
    shape->c_column = 1;
    shape->c_batch = shape->m * shape->n;
    shape->batches = 1;
    shape->batch_rank = output->rank - 2;
    for (int32_t i = 0; i < shape->batch_rank; ++i) {
        shape->batch_dims[i] = output->dims[i];
        shape->batches *= output->dims[i];
    }
    batch_strides(a, output, shape->a_batch);
    batch_strides(b, output, shape->b_batch);
}

void gantry__matmul_grouped_shape_of(const gantry_op_call_t *call,
                                     gantry__matmul_shape_t *out_shape) {
    const int64_t *x = call->inputs[0]->dims, *w = call->inputs[1]->dims;
    const int64_t groups = x[1], depth = x[2], columns = w[2];
    const bool is_interleaved = gantry__k_attr_int(call, "interleaved", 0) != 0;
    *out_shape = (gantry__matmul_shape_t){.m = x[0],
                                          .n = columns,
                                          .k = depth,
                                          .a_row = groups * depth,
                                          .a_column = 1,
                                          .b_row = groups * columns,
                                          .b_column = 1,
                                          .c_row = groups * columns,
                                          .c_column = is_interleaved ? groups : 1,
                                          .c_batch = is_interleaved ? 1 : columns,
                                          .batches = groups,
                                          .batch_rank = 1,
                                          .batch_dims = {groups},
                                          .a_batch = {depth},
                                          .b_batch = {columns}};
}
