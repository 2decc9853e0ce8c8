/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, LogSoftmax and Hardmax. From operator set 13 on they work along one axis, by default the
 * last one. Before it they work on all dimensions from the axis on, by default the second, as if
 * these were one. */
#include <gantry/ops.h>

#include "onnx/lower/parts.h"

/* The axis of the call. */
static gantry_status_t softmax_axis(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                    int64_t *out_axis) {
    const int64_t fallback = gantry__onnx_version(call) < 13 ? 1 : -1;
    return gantry__onnx_axis(call, gantry__onnx_attr_int(call, "axis", fallback),
                             (uint32_t)gantry_tensor_shape(x)->rank, out_axis);
}

/* x as a matrix whose columns are the dimensions from axis on. */
static gantry_status_t flatten_from(gantry__onnx_call_t *call, const gantry_tensor_t **x,
                                    int64_t axis) {
    gantry_shape_t matrix = GANTRY_SHAPE(1, 1);
    GANTRY__TRY(gantry__onnx_need_shape(call, *x));
    const gantry_shape_t *shape = gantry_tensor_shape(*x);
    for (int32_t i = 0; i < shape->rank; ++i) matrix.dims[i >= axis] *= shape->dims[i];
    *x = gantry__onnx_reshape(call, *x, matrix);
    return GANTRY_OK;
}

static gantry_status_t softmax_of(gantry__onnx_call_t *call, const char *op) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    const gantry_shape_t shape = *gantry_tensor_shape(x);
    int64_t axis;
    GANTRY__TRY(softmax_axis(call, x, &axis));
    if (axis == shape.rank - 1) return gantry__onnx_give(call, gantry__onnx_op1(call, op, x));
    if (gantry__onnx_version(call) < 13) {
        GANTRY__TRY(flatten_from(call, &x, axis));
        return gantry__onnx_give(call,
                                 gantry__onnx_reshape(call, gantry__onnx_op1(call, op, x), shape));
    }
    x = gantry__onnx_exchange(call, x, axis, shape.rank - 1);
    x = gantry__onnx_exchange(call, gantry__onnx_op1(call, op, x), axis, shape.rank - 1);
    return gantry__onnx_give(call, x);
}

gantry_status_t gantry__onnx_lower_softmax(gantry__onnx_call_t *call) {
    return softmax_of(call, "Softmax");
}

gantry_status_t gantry__onnx_lower_log_softmax(gantry__onnx_call_t *call) {
    return softmax_of(call, "LogSoftmax");
}

/* 1 at the first maximum, 0 elsewhere. */
gantry_status_t gantry__onnx_lower_hardmax(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    const gantry_shape_t shape = *gantry_tensor_shape(x);
    int64_t axis;
    GANTRY__TRY(softmax_axis(call, x, &axis));
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    if (gantry_tensor_elements(x) == 0) return gantry__onnx_give(call, x);
    if (gantry__onnx_version(call) < 13) {
        GANTRY__TRY(flatten_from(call, &x, axis));
        axis = 1;
    }
    const int64_t depth = x ? gantry_tensor_shape(x)->dims[axis] : 0;
    if (depth > INT32_MAX)
        return gantry__onnx_unsupported(call, "an axis of %lld elements", (long long)depth);
    const gantry_dtype_t dtype = gantry_tensor_dtype(gantry__onnx_input(call, 0));
    const gantry_tensor_t *first = x ? gantry_argmax(call->scope, x, (int32_t)axis) : NULL;
    if (first)
        x = gantry_one_hot(call->scope, first, (int32_t)depth,
                           gantry__onnx_make_scalar(call, dtype, 1),
                           gantry__onnx_make_scalar(call, dtype, 0), (int32_t)axis);
    return gantry__onnx_give(call, gantry__onnx_reshape(call, first ? x : NULL, shape));
}
