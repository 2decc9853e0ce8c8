/* SPDX-License-Identifier: Apache-2.0 */
/* Small parts of lowerings that compute; move.h has those that move. A function that returns a
 * tensor returns NULL after a failure, which its scope keeps, and for NULL: a chain of calls needs
 * no check before gantry__onnx_give.
 *
 * Owner: call->scope owns what they return, or call->host, where that is said. Threads: a call
 * belongs to one thread. */
#ifndef GANTRY_ONNX_PARTS_H
#define GANTRY_ONNX_PARTS_H

#include "onnx/lower/move.h"

/* ---- types ---- */

bool gantry__onnx_is_floating(gantry_dtype_t dtype); /* 16, 32 or 64 bits. */
bool gantry__onnx_is_half(gantry_dtype_t dtype);     /* float16 and bfloat16. */
bool gantry__onnx_is_unsigned(gantry_dtype_t dtype);
bool gantry__onnx_is_float8(gantry_dtype_t dtype);
/* The type of an attribute that has ONNX's number of one, such as `to`; fallback if it is not
 * given. Unimplemented for a type that Gantry does not have. */
gantry_status_t gantry__onnx_attr_dtype(gantry__onnx_call_t *call, const char *name,
                                        gantry_dtype_t fallback, gantry_dtype_t *out_dtype);

/* ---- ops ---- */

/* An op of x and a number of x's type. */
const gantry_tensor_t *gantry__onnx_op_number(gantry__onnx_call_t *call, const char *op,
                                              const gantry_tensor_t *x, double value);
/* x * factor + offset, without a product by 1 and a sum with 0. */
const gantry_tensor_t *gantry__onnx_scale(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                          double factor, double offset);
/* An op of x, and of y if it is not NULL, with one attribute. */
const gantry_tensor_t *gantry__onnx_op_attr(gantry__onnx_call_t *call, const char *op,
                                            const gantry_tensor_t *x, const gantry_tensor_t *y,
                                            gantry_attr_value_t attr);
/* t where the condition holds, else e. */
const gantry_tensor_t *gantry__onnx_select(gantry__onnx_call_t *call,
                                           const gantry_tensor_t *condition,
                                           const gantry_tensor_t *t, const gantry_tensor_t *e);
/* A reduction by its name, over these axes; x itself if there are none. */
const gantry_tensor_t *gantry__onnx_reduce(gantry__onnx_call_t *call, const char *op,
                                           const gantry_tensor_t *x, const int64_t *axes,
                                           size_t axis_count, bool keep_dims);
/* x with two of its dimensions exchanged; x itself if they are the same. */
const gantry_tensor_t *gantry__onnx_exchange(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                             int64_t a, int64_t b);
/* A tensor of one element as a scalar; *out NULL: input i is left out. InvalidArgument for another
 * number of elements. */
gantry_status_t gantry__onnx_scalar_input(gantry__onnx_call_t *call, size_t i, const char *name,
                                          const gantry_tensor_t **out);
/* Fails as InvalidArgument unless a tensor, which may be NULL, broadcasts to x without making it
 * larger. Sizes that are open are not compared. */
gantry_status_t gantry__onnx_need_fit(gantry__onnx_call_t *call, const char *name,
                                      const gantry_tensor_t *tensor, const gantry_tensor_t *x);
/* A vector, one element for each channel, in the shape [C, 1, ..., 1] that broadcasts to channels
 * of x, its second dimension. */
const gantry_tensor_t *gantry__onnx_by_channel(gantry__onnx_call_t *call,
                                               const gantry_tensor_t *vector,
                                               const gantry_tensor_t *x);

#endif
