/* SPDX-License-Identifier: Apache-2.0 */
/* QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear. */
#include "onnx/lower/lower_quantize.h"

#include <gantry/ops.h>

#include "onnx/lower/small_float.h"

static const gantry__onnx_quantized_t quantized_types[] = {
    {2, GANTRY_UINT8, 0, 255, false},
    {3, GANTRY_INT8, -128, 127, false},
    {4, GANTRY_UINT16, 0, 65535, false},
    {5, GANTRY_INT16, -32768, 32767, false},
    {17, GANTRY_FLOAT8_E4M3FN, -448, 448, true},
    {18, GANTRY_FLOAT32, -240, 240, true},
    {19, GANTRY_FLOAT8_E5M2, -57344, 57344, true},
    {20, GANTRY_FLOAT32, -57344, 57344, true},
    {21, GANTRY_UINT8, 0, 15, false},
    {22, GANTRY_INT8, -8, 7, false},
    {23, GANTRY_FLOAT32, -6, 6, true},
    {25, GANTRY_UINT8, 0, 3, false},
    {26, GANTRY_INT8, -2, 1, false},
};

gantry_scope_t *gantry__onnx_scope_of(gantry__onnx_call_t *call,
                                      const gantry_tensor_t *const *tensors, size_t count) {
    for (size_t i = 0; i < count; ++i)
        if (tensors[i] && !gantry__onnx_is_known(call, tensors[i])) return call->scope;
    return call->host;
}

gantry_status_t gantry__onnx_quantized(gantry__onnx_call_t *call, int32_t number,
                                       gantry__onnx_quantized_t *out) {
    for (size_t i = 0; i < sizeof quantized_types / sizeof *quantized_types; ++i) {
        if (quantized_types[i].number != number) continue;
        *out = quantized_types[i];
        return GANTRY_OK;
    }
    const char *name = NULL;
    (void)gantry__onnx_dtype(number, &name);
    return gantry__onnx_unsupported(call, "quantised values of type %s", name);
}

gantry_status_t gantry__onnx_quantized_as(gantry__onnx_call_t *call, size_t i,
                                          gantry__onnx_quantized_t *out) {
    const int32_t number = gantry__onnx_input_type(call, i);
    const gantry_dtype_t dtype = gantry_tensor_dtype(gantry__onnx_input(call, i));
    for (size_t k = 0; k < sizeof quantized_types / sizeof *quantized_types; ++k) {
        *out = quantized_types[k];
        const bool fits = number ? number == out->number : dtype != GANTRY_FLOAT32;
        if (out->dtype == dtype && fits) return GANTRY_OK;
    }
    return gantry__onnx_unsupported(call, "input %zu, quantised values, of type %s", i,
                                    gantry_dtype_name(dtype));
}

const gantry_tensor_t *gantry__onnx_as_scalar(gantry_scope_t *scope, const gantry_tensor_t *x) {
    if (!x || gantry_tensor_elements(x) != 1 || gantry_tensor_shape(x)->rank == 0) return x;
    return gantry_reshape(scope, x, GANTRY_SCALAR);
}

/* Numbers of blocks, each repeated for the elements of its block. */
static const gantry_tensor_t *spread_blocks(gantry_scope_t *scope, const gantry_shape_t *shape,
                                            const gantry_tensor_t *numbers, int32_t axis,
                                            int64_t block) {
    const gantry_shape_t *blocks = gantry_tensor_shape(numbers);
    gantry_shape_t narrow = {.rank = blocks->rank + 1}, wide, flat = *blocks;
    for (int32_t i = 0, k = 0; i < blocks->rank; ++i) {
        narrow.dims[k++] = blocks->dims[i];
        if (i == axis) narrow.dims[k++] = 1;
    }
    wide = narrow;
    wide.dims[axis + 1] = block;
    flat.dims[axis] *= block;
    const gantry_tensor_t *x = gantry_reshape(scope, numbers, narrow);
    x = gantry_reshape(scope, gantry_broadcast_to(scope, x, wide), flat);
    const int64_t begin[GANTRY_MAX_RANK] = {0};
    return flat.dims[axis] == shape->dims[axis] ? x : gantry_slice(scope, x, begin, shape->dims);
}

/* Refuses numbers that are not those of blocks. */
static gantry_status_t check_blocks(gantry__onnx_call_t *call, const gantry_shape_t *shape,
                                    const gantry_shape_t *blocks, int64_t axis, int64_t block) {
    if (block < 1) return gantry__onnx_invalid(call, "block_size is %lld", (long long)block);
    if (blocks->rank != shape->rank || shape->rank == GANTRY_MAX_RANK)
        return gantry__onnx_invalid(call, "a scale of rank %d for blocks of values of rank %d",
                                    blocks->rank, shape->rank);
    for (int32_t i = 0; i < shape->rank; ++i) {
        const int64_t size = shape->dims[i];
        const int64_t wanted = i == axis ? size / block + (size % block != 0) : size;
        if (blocks->dims[i] != wanted)
            return gantry__onnx_invalid(call, "dimension %d of the scale is %lld, not %lld", i,
                                        (long long)blocks->dims[i], (long long)wanted);
    }
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_spread(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                    const gantry_tensor_t *numbers, int64_t axis, int64_t block,
                                    const gantry_tensor_t **out) {
    *out = NULL;
    if (!numbers) return GANTRY_OK;
    const gantry_shape_t *shape = gantry_tensor_shape(x), *own = gantry_tensor_shape(numbers);
    gantry_scope_t *scope = gantry__onnx_scope_of(call, &numbers, 1);
    if (block == 0 && gantry_tensor_elements(numbers) == 1) {
        *out = gantry__onnx_as_scalar(scope, numbers);
        return gantry_scope_status(scope);
    }
    int64_t at = 0;
    GANTRY__TRY(gantry__onnx_axis(call, axis, (uint32_t)shape->rank, &at));
    if (block != 0) {
        GANTRY__TRY(gantry__onnx_need_shape(call, x));
        GANTRY__TRY(check_blocks(call, shape, own, at, block));
        *out = spread_blocks(scope, shape, numbers, (int32_t)at, block);
        return gantry_scope_status(scope);
    }
    if (own->rank != 1 || (shape->dims[at] >= 0 && own->dims[0] != shape->dims[at]))
        return gantry__onnx_invalid(
            call, "a scale of rank %d and %lld elements for axis %lld of %lld", own->rank,
            (long long)gantry_tensor_elements(numbers), (long long)at, (long long)shape->dims[at]);
    gantry_shape_t column = {.rank = shape->rank - (int32_t)at};
    for (int32_t i = 0; i < column.rank; ++i) column.dims[i] = i ? 1 : own->dims[0];
    *out = gantry_reshape(scope, numbers, column);
    return gantry_scope_status(scope);
}

static const gantry_tensor_t *quantize_cast(gantry_scope_t *scope, const gantry_tensor_t *x,
                                            gantry_dtype_t dtype) {
    return !x || gantry_tensor_dtype(x) == dtype ? x : gantry_cast(scope, x, dtype);
}

const gantry_tensor_t *gantry__onnx_dequantize(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                               const gantry_tensor_t *x,
                                               const gantry_tensor_t *scale,
                                               const gantry_tensor_t *zero_point,
                                               gantry_dtype_t dtype) {
    gantry_scope_t *small = gantry__onnx_scope_of(call, &scale, 1);
    const gantry_dtype_t type = dtype == GANTRY_FLOAT64 ? GANTRY_FLOAT64 : GANTRY_FLOAT32;
    if (zero_point && gantry_tensor_dtype(x) == GANTRY_INT32) {
        x = gantry_sub(scope, x, zero_point);
        zero_point = NULL;
    }
    x = quantize_cast(scope, x, type);
    if (zero_point) {
        gantry_scope_t *own = gantry__onnx_scope_of(call, &zero_point, 1);
        x = gantry_sub(scope, x, quantize_cast(own, zero_point, type));
    }
    x = gantry_mul(scope, x, quantize_cast(small, scale, type));
    return quantize_cast(scope, x, dtype);
}

const gantry_tensor_t *gantry__onnx_round_to(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                             const gantry_tensor_t *y,
                                             const gantry_tensor_t *zero_point,
                                             const gantry__onnx_quantized_t *type, bool saturates) {
    if (gantry_tensor_dtype(y) != GANTRY_FLOAT64) y = quantize_cast(scope, y, GANTRY_FLOAT32);
    const gantry_dtype_t dtype = gantry_tensor_dtype(y);
    if (!type->is_float) y = gantry_rint(scope, y);
    if (zero_point) {
        gantry_scope_t *own = gantry__onnx_is_known(call, zero_point) ? call->host : scope;
        y = gantry_add(scope, y, quantize_cast(own, zero_point, dtype));
    }
    const gantry__onnx_small_float_t *small = gantry__onnx_small_float(type->number);
    if (small) return gantry__onnx_round_small(call, scope, y, small, saturates);
    if (saturates)
        y = gantry_clip_by_value(scope, y, gantry__onnx_make_scalar(call, dtype, type->low),
                                 gantry__onnx_make_scalar(call, dtype, type->high));
    return gantry_cast(scope, y, type->dtype);
}

const gantry_tensor_t *gantry__onnx_quantize(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                             const gantry_tensor_t *y, const gantry_tensor_t *scale,
                                             const gantry_tensor_t *zero_point,
                                             const gantry__onnx_quantized_t *type) {
    gantry_scope_t *own = gantry__onnx_scope_of(call, &scale, 1);
    y = quantize_cast(scope, y, GANTRY_FLOAT32);
    y = gantry_div(scope, y, quantize_cast(own, scale, GANTRY_FLOAT32));
    return gantry__onnx_round_to(call, scope, y, zero_point, type, true);
}

/* ---- rows ---- */

/* The type of QuantizeLinear's result. */
static gantry_status_t result_type(gantry__onnx_call_t *call, gantry__onnx_quantized_t *out) {
    const int32_t given = (int32_t)gantry__onnx_attr_int(call, "output_dtype", 0);
    if (given) return gantry__onnx_quantized(call, given, out);
    if (gantry__onnx_input(call, 2)) return gantry__onnx_quantized_as(call, 2, out);
    return gantry__onnx_quantized(call, 2, out);
}

gantry_status_t gantry__onnx_lower_quantize_linear(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0), *scale = NULL, *zero_point = NULL;
    const int64_t axis = gantry__onnx_attr_int(call, "axis", 1);
    const int64_t block = gantry__onnx_attr_int(call, "block_size", 0);
    const int32_t precision = (int32_t)gantry__onnx_attr_int(call, "precision", 0);
    const bool saturates = gantry__onnx_attr_int(call, "saturate", 1) != 0;
    gantry__onnx_quantized_t type;
    GANTRY__TRY(result_type(call, &type));
    GANTRY__TRY(gantry__onnx_spread(call, x, gantry__onnx_input(call, 1), axis, block, &scale));
    GANTRY__TRY(
        gantry__onnx_spread(call, x, gantry__onnx_input(call, 2), axis, block, &zero_point));
    const gantry_dtype_t dtype =
        precision ? gantry__onnx_dtype(precision, NULL) : gantry_tensor_dtype(scale);
    gantry_scope_t *own = gantry__onnx_scope_of(call, &scale, 1);
    const gantry_tensor_t *y = gantry_div(call->scope, quantize_cast(call->scope, x, dtype),
                                          quantize_cast(own, scale, dtype));
    return gantry__onnx_give(call, gantry__onnx_round_to(call, call->scope, y, zero_point, &type,
                                                         saturates || !type.is_float));
}

gantry_status_t gantry__onnx_lower_dequantize_linear(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0), *scale = NULL, *zero_point = NULL;
    const int64_t axis = gantry__onnx_attr_int(call, "axis", 1);
    const int64_t block = gantry__onnx_attr_int(call, "block_size", 0);
    const int32_t number = (int32_t)gantry__onnx_attr_int(call, "output_dtype", 0);
    GANTRY__TRY(gantry__onnx_spread(call, x, gantry__onnx_input(call, 1), axis, block, &scale));
    GANTRY__TRY(
        gantry__onnx_spread(call, x, gantry__onnx_input(call, 2), axis, block, &zero_point));
    const gantry_dtype_t dtype =
        number ? gantry__onnx_dtype(number, NULL) : gantry_tensor_dtype(scale);
    return gantry__onnx_give(
        call, gantry__onnx_dequantize(call, call->scope, x, scale, zero_point, dtype));
}

void gantry__onnx_quantize_dynamic(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                   const gantry_tensor_t *x, const gantry_tensor_t *out[3]) {
    static const gantry__onnx_quantized_t type = {2, GANTRY_UINT8, 0, 255, false};
    const gantry_tensor_t *zero = gantry__onnx_make_scalar(call, GANTRY_FLOAT32, 0);
    const gantry_tensor_t *most = gantry__onnx_make_scalar(call, GANTRY_FLOAT32, 255);
    const gantry_tensor_t *high = gantry_maximum(scope, gantry_max(scope, x, NULL), zero);
    const gantry_tensor_t *low = gantry_minimum(scope, gantry_min(scope, x, NULL), zero);
    const gantry_tensor_t *scale = gantry_div(scope, gantry_sub(scope, high, low), most);
    const gantry_tensor_t *begin = gantry_div(scope, gantry_sub(scope, zero, low), scale);
    begin = gantry_clip_by_value(scope, begin, zero, most);
    out[1] = scale;
    out[2] = gantry_cast(scope, gantry_rint(scope, begin), GANTRY_UINT8);
    out[0] = gantry__onnx_quantize(call, scope, x, scale, out[2], &type);
}

gantry_status_t gantry__onnx_lower_dynamic_quantize_linear(gantry__onnx_call_t *call) {
    const gantry_tensor_t *parts[3];
    gantry__onnx_quantize_dynamic(call, call->scope, gantry__onnx_input(call, 0), parts);
    for (size_t i = 0; i < 3; ++i) GANTRY__TRY(gantry__onnx_set(call, i, parts[i]));
    return GANTRY_OK;
}
