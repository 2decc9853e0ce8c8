/* SPDX-License-Identifier: Apache-2.0 */
/* Reads sizes and strides of a product of small integers from a call (matmul_integer_shape.h). */
#include "kernels/matmul/matmul_integer_shape.h"

/* The zero points of operand `side`: one of all lines, a vector of all matrices, or a vector of
 * each matrix. A matrix's vectors are as far from each other as its elements, divided by k. */
static gantry__zero_points_t zero_points_of(const gantry_op_call_t *call, uint32_t side,
                                            const gantry__matmul_shape_t *shape) {
    gantry__zero_points_t zero = {.arg = NULL};
    if (call->input_count <= 2 + side) return zero;
    zero.arg = call->inputs[2 + side];
    const bool is_one = zero.arg->element_count == 1;
    const int64_t *strides = side == 0 ? shape->a_batch : shape->b_batch;
    zero.line = is_one ? 0 : 1;
    for (int32_t i = 0; i < shape->batch_rank; ++i)
        zero.batch[i] = is_one || zero.arg->rank == 1 ? 0 : strides[i] / shape->k;
    return zero;
}

void gantry__integer_product_of(const gantry_op_call_t *call,
                                gantry__integer_product_t *out_product) {
    gantry__matmul_shape_of(call, &out_product->shape);
    for (uint32_t side = 0; side < 2; ++side)
        out_product->zero[side] = zero_points_of(call, side, &out_product->shape);
}
