/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that lowering functions share: other shapes and orders, joined parts, indices from the end.
 * Each takes NULL for a tensor whose making failed, and then returns NULL. A tensor that it returns
 * may be the one that it got.
 *
 * Owner: the scopes of the call. Threads: as the call. */
#ifndef GANTRY_ONNX_MOVE_H
#define GANTRY_ONNX_MOVE_H

#include <gantry/ops.h>

#include "onnx/lower/lower.h"

/* The product of the sizes of dimensions begin to end - 1; -1: one is open. */
int64_t gantry__onnx_product(const gantry_shape_t *shape, int32_t begin, int32_t end);
/* Reshape; nothing, if it has the shape. */
const gantry_tensor_t *gantry__onnx_reshape(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                            gantry_shape_t shape);
/* Transpose; a Reshape if only sizes of 1 move. */
const gantry_tensor_t *gantry__onnx_transpose(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                              const int32_t *perm);
/* Concat of any number of tensors. */
const gantry_tensor_t *gantry__onnx_concat(gantry__onnx_call_t *call,
                                           const gantry_tensor_t *const *values, size_t count,
                                           int32_t axis);
/* Elements begin to begin + count - 1 of an axis. */
const gantry_tensor_t *gantry__onnx_part(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                         int32_t axis, int64_t begin, int64_t count);
/* BroadcastTo; nothing, if it has the shape. */
const gantry_tensor_t *gantry__onnx_broadcast(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                              gantry_shape_t shape);
/* Cast; nothing, if it has the type. */
const gantry_tensor_t *gantry__onnx_cast(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                         gantry_dtype_t dtype);
/* Numbers in a shape: a tensor of the host scope. */
const gantry_tensor_t *gantry__onnx_ints_of(gantry__onnx_call_t *call, gantry_dtype_t dtype,
                                            const int64_t *values, gantry_shape_t shape);
/* Indices of input i with those that count from the end counted from the begin. Column k of their
 * last dimension, of `count`, is about dimension first + k of data; count 1: all are about first.
 */
const gantry_tensor_t *gantry__onnx_count_from_begin(gantry__onnx_call_t *call, size_t i,
                                                     const gantry_tensor_t *data, int32_t first,
                                                     int32_t count);

/* Attributes of gantry__onnx_op. */
#define GANTRY__ONNX_INT_OF(text, value) \
    ((gantry_attr_value_t){.name = (text), .kind = GANTRY_ATTR_INT, .i = (value)})
#define GANTRY__ONNX_BOOL_OF(text, value) \
    ((gantry_attr_value_t){.name = (text), .kind = GANTRY_ATTR_BOOL, .i = (value)})
#define GANTRY__ONNX_TEXT_OF(text, value) \
    ((gantry_attr_value_t){.name = (text), .kind = GANTRY_ATTR_STRING, .s = (value)})
#define GANTRY__ONNX_INTS_OF(text, values, count) \
    ((gantry_attr_value_t){                       \
        .name = (text), .kind = GANTRY_ATTR_INTS, .i = (count), .list = (values)})
#define GANTRY__ONNX_FLOAT_OF(text, value) \
    ((gantry_attr_value_t){.name = (text), .kind = GANTRY_ATTR_FLOAT, .f = (value)})
#define GANTRY__ONNX_TYPE_OF(text, value) \
    ((gantry_attr_value_t){.name = (text), .kind = GANTRY_ATTR_TYPE, .i = (value)})

#endif
