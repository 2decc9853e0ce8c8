/* SPDX-License-Identifier: Apache-2.0 */
/* Products of quantised values: exact in int32, then scaled and rounded once. */
#include "onnx/lower/lower_quantize.h"

#include <gantry/ops.h>

const gantry_tensor_t *gantry__onnx_integer_product(gantry__onnx_call_t *call,
                                                    const gantry_tensor_t *a,
                                                    const gantry_tensor_t *b,
                                                    const gantry_tensor_t *a_zero,
                                                    const gantry_tensor_t *b_zero) {
    gantry_scope_t *scope = call->scope;
    const bool is_row = gantry_tensor_shape(a)->rank == 1;
    const bool is_column = gantry_tensor_shape(b)->rank == 1;
    if (is_row) a = gantry_expand_dims(scope, a, 0);
    if (is_column) b = gantry_expand_dims(scope, b, 1);
    a_zero = gantry__onnx_as_scalar(gantry__onnx_scope_of(call, &a_zero, 1), a_zero);
    b_zero = gantry__onnx_as_scalar(gantry__onnx_scope_of(call, &b_zero, 1), b_zero);
    const gantry_tensor_t *y = gantry_matmul_integer(scope, a, b, a_zero, b_zero, NULL);
    int32_t axes[2];
    size_t count = 0;
    const int32_t rank = gantry_tensor_shape(y)->rank;
    if (is_row) axes[count++] = rank - 2;
    if (is_column) axes[count++] = rank - 1;
    return count ? gantry_squeeze(scope, y, axes, count) : y;
}

gantry_status_t gantry__onnx_lower_matmul_integer(gantry__onnx_call_t *call) {
    return gantry__onnx_give(
        call,
        gantry__onnx_integer_product(call, gantry__onnx_input(call, 0), gantry__onnx_input(call, 1),
                                     gantry__onnx_input(call, 2), gantry__onnx_input(call, 3)));
}

static const gantry_tensor_t *float_of(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return !x || gantry_tensor_dtype(x) == GANTRY_FLOAT32 ? x
                                                          : gantry_cast(scope, x, GANTRY_FLOAT32);
}

const gantry_tensor_t *gantry__onnx_product_factor(gantry__onnx_call_t *call,
                                                   const gantry_tensor_t *a,
                                                   const gantry_tensor_t *b,
                                                   const gantry_tensor_t *y) {
    const gantry_tensor_t *all[3] = {a, b, y};
    gantry_scope_t *scope = gantry__onnx_scope_of(call, all, 3);
    for (size_t i = 0; i < 3; ++i) all[i] = float_of(scope, gantry__onnx_as_scalar(scope, all[i]));
    return gantry_div(scope, gantry_mul(scope, all[0], all[1]), all[2]);
}

const gantry_tensor_t *gantry__onnx_scale_product(gantry__onnx_call_t *call,
                                                  const gantry_tensor_t *sum,
                                                  const gantry_tensor_t *factor,
                                                  const gantry_tensor_t *zero_point,
                                                  const gantry__onnx_quantized_t *type) {
    const gantry_tensor_t *y = gantry_cast(call->scope, sum, GANTRY_FLOAT32);
    y = gantry_mul(call->scope, y, factor);
    return gantry__onnx_round_to(
        call, call->scope, y,
        gantry__onnx_as_scalar(gantry__onnx_scope_of(call, &zero_point, 1), zero_point), type,
        true);
}

gantry_status_t gantry__onnx_lower_qlinear_matmul(gantry__onnx_call_t *call) {
    gantry__onnx_quantized_t type;
    GANTRY__TRY(gantry__onnx_quantized_as(call, 7, &type));
    const gantry_tensor_t *a = gantry__onnx_input(call, 0), *b = gantry__onnx_input(call, 3);
    if (type.is_float) return gantry__onnx_unsupported(call, "values of 8-bit floats");
    const gantry_tensor_t *rows = gantry__onnx_input(call, 1);
    if (gantry_tensor_shape(rows)->rank == 1 && gantry_tensor_elements(rows) > 1)
        rows = gantry_expand_dims(gantry__onnx_scope_of(call, &rows, 1), rows, 1);
    const gantry_tensor_t *sum = gantry__onnx_integer_product(
        call, a, b, gantry__onnx_input(call, 2), gantry__onnx_input(call, 5));
    const gantry_tensor_t *factor = gantry__onnx_product_factor(
        call, rows, gantry__onnx_input(call, 4), gantry__onnx_input(call, 6));
    return gantry__onnx_give(
        call, gantry__onnx_scale_product(call, sum, factor, gantry__onnx_input(call, 7), &type));
}
