/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/lower/parts.h"

/* ---- types ---- */

bool gantry__onnx_is_half(gantry_dtype_t dtype) {
    return dtype == GANTRY_FLOAT16 || dtype == GANTRY_BFLOAT16;
}

bool gantry__onnx_is_floating(gantry_dtype_t dtype) {
    return dtype == GANTRY_FLOAT32 || dtype == GANTRY_FLOAT64 || gantry__onnx_is_half(dtype);
}

bool gantry__onnx_is_unsigned(gantry_dtype_t dtype) {
    return dtype == GANTRY_UINT8 || dtype == GANTRY_UINT16 || dtype == GANTRY_UINT32 ||
           dtype == GANTRY_UINT64;
}

bool gantry__onnx_is_float8(gantry_dtype_t dtype) {
    return dtype == GANTRY_FLOAT8_E4M3FN || dtype == GANTRY_FLOAT8_E5M2;
}

gantry_status_t gantry__onnx_attr_dtype(gantry__onnx_call_t *call, const char *name,
                                        gantry_dtype_t fallback, gantry_dtype_t *out_dtype) {
    const gantry__onnx_attr_t *attr = gantry__onnx_find_attr(call->node, name);
    *out_dtype = fallback;
    if (!attr) return GANTRY_OK;
    const int64_t number = gantry__onnx_attr_int(call, name, 0);
    const char *text = "of no number of ONNX";
    if (number > 0 && number <= INT32_MAX)
        *out_dtype = gantry__onnx_dtype((int32_t)number, &text);
    else
        *out_dtype = GANTRY_DTYPE_NONE;
    if (*out_dtype != GANTRY_DTYPE_NONE) return GANTRY_OK;
    return gantry__onnx_unsupported(call, "%s is %lld (%s), elements that Gantry does not have",
                                    name, (long long)number, text);
}

/* ---- ops ---- */

const gantry_tensor_t *gantry__onnx_op_number(gantry__onnx_call_t *call, const char *op,
                                              const gantry_tensor_t *x, double value) {
    if (!x) return NULL;
    return gantry__onnx_op2(call, op, x,
                            gantry__onnx_make_scalar(call, gantry_tensor_dtype(x), value));
}

const gantry_tensor_t *gantry__onnx_scale(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                          double factor, double offset) {
    if (factor != 1) x = gantry__onnx_op_number(call, "Mul", x, factor);
    if (offset != 0) x = gantry__onnx_op_number(call, "Add", x, offset);
    return x;
}

const gantry_tensor_t *gantry__onnx_op_attr(gantry__onnx_call_t *call, const char *op,
                                            const gantry_tensor_t *x, const gantry_tensor_t *y,
                                            gantry_attr_value_t attr) {
    const gantry_tensor_t *const inputs[] = {x, y};
    return x ? gantry__onnx_op(call, op, inputs, y ? 2 : 1, &attr, 1) : NULL;
}

const gantry_tensor_t *gantry__onnx_select(gantry__onnx_call_t *call,
                                           const gantry_tensor_t *condition,
                                           const gantry_tensor_t *t, const gantry_tensor_t *e) {
    if (!condition || !t || !e) return NULL;
    return gantry_select(call->scope, condition, t, e);
}

const gantry_tensor_t *gantry__onnx_reduce(gantry__onnx_call_t *call, const char *op,
                                           const gantry_tensor_t *x, const int64_t *axes,
                                           size_t axis_count, bool keep_dims) {
    if (!x || axis_count == 0) return x;
    const gantry_tensor_t *places = gantry__onnx_make_ints(call, GANTRY_INT64, axes, axis_count);
    if (!places) return NULL;
    return gantry__onnx_op_attr(call, op, x, places, GANTRY__ONNX_BOOL_OF("keep_dims", keep_dims));
}

const gantry_tensor_t *gantry__onnx_exchange(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                             int64_t a, int64_t b) {
    if (!x || a == b) return x;
    int32_t places[GANTRY_MAX_RANK];
    for (int32_t i = 0; i < gantry_tensor_shape(x)->rank; ++i) places[i] = i;
    places[a] = (int32_t)b;
    places[b] = (int32_t)a;
    return gantry__onnx_transpose(call, x, places);
}

gantry_status_t gantry__onnx_scalar_input(gantry__onnx_call_t *call, size_t i, const char *name,
                                          const gantry_tensor_t **out) {
    *out = gantry__onnx_input(call, i);
    if (!*out || gantry_tensor_shape(*out)->rank == 0) return GANTRY_OK;
    const int64_t count = gantry_tensor_elements(*out);
    if (count == -1) return gantry__onnx_need_shape(call, *out);
    if (count != 1)
        return gantry__onnx_invalid(call, "%s has %lld elements; it must have one", name,
                                    (long long)count);
    *out = gantry__onnx_reshape(call, *out, GANTRY_SCALAR);
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_need_fit(gantry__onnx_call_t *call, const char *name,
                                      const gantry_tensor_t *tensor, const gantry_tensor_t *x) {
    if (!tensor || !x) return GANTRY_OK;
    const gantry_shape_t *small = gantry_tensor_shape(tensor), *large = gantry_tensor_shape(x);
    const int32_t before = large->rank - small->rank;
    bool fits = before >= 0;
    for (int32_t i = 0; i < small->rank && fits; ++i) {
        const int64_t size = small->dims[i], other = large->dims[before + i];
        fits = size == 1 || size == other || size < 0 || other < 0;
    }
    if (fits) return GANTRY_OK;
    char texts[2][160];
    (void)gantry_shape_format(small, texts[0], sizeof texts[0]);
    (void)gantry_shape_format(large, texts[1], sizeof texts[1]);
    return gantry__onnx_invalid(call, "%s of %s does not broadcast to %s", name, texts[0],
                                texts[1]);
}

const gantry_tensor_t *gantry__onnx_by_channel(gantry__onnx_call_t *call,
                                               const gantry_tensor_t *vector,
                                               const gantry_tensor_t *x) {
    if (!vector || !x) return NULL;
    gantry_shape_t shape = *gantry_tensor_shape(vector);
    const int32_t rank = gantry_tensor_shape(x)->rank;
    if (shape.rank != 1 || rank < 2) return vector;
    shape.rank = rank - 1;
    for (int32_t i = 1; i < shape.rank; ++i) shape.dims[i] = 1;
    return gantry__onnx_reshape(call, vector, shape);
}
