/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft: ops on quantised values. Products are exact in int32; other ops compute with the
 * numbers that the values represent, and round once. */
#include "onnx/lower/lower_contrib.h"

#include <gantry/ops.h>

#include "onnx/lower/lower_quantize.h"
#include "onnx/lower/move.h"
#include "onnx/lower/parts.h"

/* ---- ops on numbers ---- */

/* The numbers of input i, whose scale and zero point are the next inputs. */
static const gantry_tensor_t *numbers_of(gantry__onnx_call_t *call, size_t i) {
    const gantry_tensor_t *scale = gantry__onnx_input(call, i + 1);
    const gantry_tensor_t *zero = gantry__onnx_input(call, i + 2);
    scale = gantry__onnx_as_scalar(gantry__onnx_scope_of(call, &scale, 1), scale);
    zero = gantry__onnx_as_scalar(gantry__onnx_scope_of(call, &zero, 1), zero);
    return gantry__onnx_dequantize(call, call->scope, gantry__onnx_input(call, i), scale, zero,
                                   GANTRY_FLOAT32);
}

/* Gives numbers in the type of input `typed`, with the scale of input i and the next one. */
static gantry_status_t give_rounded(gantry__onnx_call_t *call, size_t typed, size_t i,
                                    const gantry_tensor_t *y) {
    gantry__onnx_quantized_t type;
    const gantry_tensor_t *scale = gantry__onnx_input(call, i);
    const gantry_tensor_t *zero = gantry__onnx_input(call, i + 1);
    GANTRY__TRY(gantry_scope_status(call->scope));
    GANTRY__TRY(gantry__onnx_quantized_as(call, typed, &type));
    scale = gantry__onnx_as_scalar(gantry__onnx_scope_of(call, &scale, 1), scale);
    zero = gantry__onnx_as_scalar(gantry__onnx_scope_of(call, &zero, 1), zero);
    return gantry__onnx_give(call, gantry__onnx_quantize(call, call->scope, y, scale, zero, &type));
}

gantry_status_t gantry__onnx_lower_qlinear_add(gantry__onnx_call_t *call) {
    const gantry_tensor_t *a = numbers_of(call, 0), *b = numbers_of(call, 3);
    return give_rounded(call, 0, 6, gantry_add(call->scope, a, b));
}

gantry_status_t gantry__onnx_lower_qlinear_mul(gantry__onnx_call_t *call) {
    const gantry_tensor_t *a = numbers_of(call, 0), *b = numbers_of(call, 3);
    return give_rounded(call, 0, 6, gantry_mul(call->scope, a, b));
}

gantry_status_t gantry__onnx_lower_qlinear_sigmoid(gantry__onnx_call_t *call) {
    return give_rounded(call, 0, 3, gantry_sigmoid(call->scope, numbers_of(call, 0)));
}

gantry_status_t gantry__onnx_lower_qlinear_leaky_relu(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = numbers_of(call, 0);
    const double alpha = (double)gantry__onnx_attr_float(call, "alpha", 0.01f);
    const gantry_tensor_t *falls = gantry_less(call->scope, x, gantry__onnx_like(call, x, 0));
    const gantry_tensor_t *small = gantry_mul(call->scope, x, gantry__onnx_like(call, x, alpha));
    return give_rounded(call, 0, 3, gantry_select(call->scope, falls, small, x));
}

gantry_status_t gantry__onnx_lower_qlinear_where(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = numbers_of(call, 1), *y = numbers_of(call, 4);
    return give_rounded(call, 1, 7, gantry_select(call->scope, gantry__onnx_input(call, 0), x, y));
}

gantry_status_t gantry__onnx_lower_qlinear_concat(gantry__onnx_call_t *call) {
    const size_t count = (call->input_count - 2) / 3;
    if (call->input_count < 5 || (call->input_count - 2) % 3 != 0)
        return gantry__onnx_invalid(call, "%zu inputs; each value has a scale and a zero point",
                                    call->input_count);
    const gantry_tensor_t **parts = gantry__onnx_scratch(call, count, sizeof *parts);
    if (!parts) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < count; ++i) parts[i] = numbers_of(call, 2 + 3 * i);
    GANTRY__TRY(gantry_scope_status(call->scope));
    int64_t axis;
    GANTRY__TRY(gantry__onnx_axis(call, gantry__onnx_attr_int(call, "axis", 0),
                                  (uint32_t)gantry_tensor_shape(parts[0])->rank, &axis));
    return give_rounded(call, 1, 0, gantry__onnx_concat(call, parts, count, (int32_t)axis));
}

/* Softmax of numbers along an axis; below operator set 13 over all dimensions from it on. */
static const gantry_tensor_t *softmax_from(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                           int32_t axis, bool flattens) {
    gantry_scope_t *scope = call->scope;
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    if (axis == shape->rank - 1) return gantry_softmax(scope, x);
    if (flattens) {
        const int64_t rows = gantry__onnx_product(shape, 0, axis);
        const int64_t columns = gantry__onnx_product(shape, axis, shape->rank);
        const gantry_tensor_t *flat = gantry_reshape(scope, x, GANTRY_SHAPE(rows, columns));
        return gantry_reshape(scope, gantry_softmax(scope, flat), *shape);
    }
    const int32_t last = shape->rank - 1;
    x = gantry_softmax(scope, gantry__onnx_exchange(call, x, axis, last));
    return gantry__onnx_exchange(call, x, axis, last);
}

gantry_status_t gantry__onnx_lower_qlinear_softmax(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = numbers_of(call, 0);
    const bool flattens = gantry__onnx_attr_int(call, "opset", 13) < 13;
    int64_t axis = 0;
    GANTRY__TRY(gantry_scope_status(call->scope));
    GANTRY__TRY(gantry__onnx_axis(call, gantry__onnx_attr_int(call, "axis", -1),
                                  (uint32_t)gantry_tensor_shape(x)->rank, &axis));
    if (flattens) GANTRY__TRY(gantry__onnx_need_shape(call, x));
    return give_rounded(call, 0, 3, softmax_from(call, x, (int32_t)axis, flattens));
}

/* ---- pools ---- */

gantry_status_t gantry__onnx_lower_qlinear_average_pool(gantry__onnx_call_t *call) {
    const bool is_last = gantry__onnx_attr_int(call, "channels_last", 0) != 0;
    const gantry_tensor_t *x = numbers_of(call, 0), *y = NULL;
    if (is_last) x = gantry__onnx_move_channels(call, x, true);
    GANTRY__TRY(gantry_scope_status(call->scope));
    GANTRY__TRY(gantry__onnx_lower_inner(call, gantry__onnx_lower_average_pool, &x, 1, &y));
    return give_rounded(call, 0, 3, is_last ? gantry__onnx_move_channels(call, y, false) : y);
}

gantry_status_t gantry__onnx_lower_qlinear_global_average_pool(gantry__onnx_call_t *call) {
    const bool is_last = gantry__onnx_attr_int(call, "channels_last", 0) != 0;
    const gantry_tensor_t *x = numbers_of(call, 0);
    const int32_t rank = gantry_tensor_shape(x)->rank;
    int32_t axes[GANTRY_MAX_RANK];
    for (int32_t i = 2; i < rank; ++i) axes[i - 2] = is_last ? i - 1 : i;
    const gantry_reduce_options_t options = {.struct_size = sizeof options,
                                             .axes = axes,
                                             .axis_count = (size_t)(rank > 2 ? rank - 2 : 0),
                                             .keep_dims = true};
    return give_rounded(call, 0, 3, gantry_mean(call->scope, x, &options));
}

gantry_status_t gantry__onnx_lower_qlinear_reduce_mean(gantry__onnx_call_t *call) {
    size_t count = 0;
    const int64_t *axes = gantry__onnx_attr_ints(call, "axes", &count);
    int32_t list[GANTRY_MAX_RANK];
    if (count > GANTRY_MAX_RANK) return gantry__onnx_invalid(call, "%zu axes", count);
    for (size_t i = 0; i < count; ++i) list[i] = (int32_t)axes[i];
    const gantry_reduce_options_t options = {
        .struct_size = sizeof options,
        .axes = count ? list : NULL,
        .axis_count = count,
        .keep_dims = gantry__onnx_attr_int(call, "keepdims", 1) != 0};
    return give_rounded(call, 0, 3, gantry_mean(call->scope, numbers_of(call, 0), &options));
}

/* ---- products ---- */

/* A matrix, transposed if the attribute says so. */
static const gantry_tensor_t *turn_matrix(gantry__onnx_call_t *call, size_t i, const char *name) {
    const gantry_tensor_t *x = gantry__onnx_input(call, i);
    if (!gantry__onnx_attr_int(call, name, 0)) return x;
    return gantry_matrix_transpose(gantry__onnx_scope_of(call, &x, 1), x);
}

gantry_status_t gantry__onnx_lower_qgemm(gantry__onnx_call_t *call) {
    const gantry_tensor_t *a = turn_matrix(call, 0, "transA"), *b = turn_matrix(call, 3, "transB");
    const gantry_tensor_t *bias = gantry__onnx_input(call, 6), *scale = gantry__onnx_input(call, 7);
    const double alpha = (double)gantry__onnx_attr_float(call, "alpha", 1);
    const gantry_tensor_t *sum = gantry__onnx_integer_product(
        call, a, b, gantry__onnx_input(call, 2), gantry__onnx_input(call, 5));
    if (bias) sum = gantry_add(call->scope, sum, bias);
    const gantry_tensor_t *one = gantry__onnx_make_scalar(call, GANTRY_FLOAT32, 1);
    const gantry_tensor_t *factor = gantry__onnx_product_factor(
        call, gantry__onnx_input(call, 1), gantry__onnx_input(call, 4), scale ? scale : one);
    if (alpha != 1)
        factor = gantry_mul(gantry__onnx_scope_of(call, &factor, 1), factor,
                            gantry__onnx_like(call, factor, alpha));
    GANTRY__TRY(gantry_scope_status(call->scope));
    if (!scale)
        return gantry__onnx_give(
            call, gantry_mul(call->scope, gantry_cast(call->scope, sum, GANTRY_FLOAT32), factor));
    gantry__onnx_quantized_t type;
    GANTRY__TRY(gantry__onnx_quantized_as(call, gantry__onnx_input(call, 8) ? 8 : 0, &type));
    return gantry__onnx_give(
        call, gantry__onnx_scale_product(call, sum, factor, gantry__onnx_input(call, 8), &type));
}

/* A product of integers as numbers: times both scales, and a bias. */
static gantry_status_t give_product(gantry__onnx_call_t *call, const gantry_tensor_t *sum,
                                    const gantry_tensor_t *a_scale, const gantry_tensor_t *b_scale,
                                    const gantry_tensor_t *bias) {
    gantry_scope_t *scope = call->scope;
    const gantry_dtype_t dtype = gantry_tensor_dtype(b_scale);
    const gantry_tensor_t *one = gantry__onnx_make_scalar(call, GANTRY_FLOAT32, 1);
    const gantry_tensor_t *factor = gantry__onnx_product_factor(call, a_scale, b_scale, one);
    const gantry_tensor_t *y = gantry_mul(scope, gantry_cast(scope, sum, GANTRY_FLOAT32), factor);
    if (dtype != GANTRY_FLOAT32) y = gantry_cast(scope, y, dtype);
    if (bias) y = gantry_add(scope, y, bias);
    return gantry__onnx_give(call, y);
}

gantry_status_t gantry__onnx_lower_matmul_integer_to_float(gantry__onnx_call_t *call) {
    const gantry_tensor_t *rows = gantry__onnx_input(call, 2);
    if (gantry_tensor_shape(rows)->rank == 1 && gantry_tensor_elements(rows) > 1)
        rows = gantry_expand_dims(gantry__onnx_scope_of(call, &rows, 1), rows, 1);
    const gantry_tensor_t *sum =
        gantry__onnx_integer_product(call, gantry__onnx_input(call, 0), gantry__onnx_input(call, 1),
                                     gantry__onnx_input(call, 4), gantry__onnx_input(call, 5));
    return give_product(call, sum, rows, gantry__onnx_input(call, 3), gantry__onnx_input(call, 6));
}

gantry_status_t gantry__onnx_lower_dynamic_quantize_matmul(gantry__onnx_call_t *call) {
    const gantry_tensor_t *parts[3];
    gantry__onnx_quantize_dynamic(call, call->scope, gantry__onnx_input(call, 0), parts);
    const gantry_tensor_t *sum = gantry__onnx_integer_product(
        call, parts[0], gantry__onnx_input(call, 1), parts[2], gantry__onnx_input(call, 3));
    return give_product(call, sum, parts[1], gantry__onnx_input(call, 2),
                        gantry__onnx_input(call, 4));
}
