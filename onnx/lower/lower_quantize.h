/* SPDX-License-Identifier: Apache-2.0 */
/* Quantised values: a number is (element - zero point) * scale. What the rows of ai.onnx and of
 * com.microsoft share.
 *
 * Owner: the scopes of the call. Threads: as the call. */
#ifndef GANTRY_ONNX_LOWER_QUANTIZE_H
#define GANTRY_ONNX_LOWER_QUANTIZE_H

#include "onnx/lower/lower.h"

/* A type to which numbers are rounded. */
typedef struct gantry__onnx_quantized_t {
    int32_t number; /* ONNX's. */
    gantry_dtype_t dtype;
    double low, high; /* Both can be had. */
    bool is_float;    /* A float of 8 bits, to which a cast rounds. */
} gantry__onnx_quantized_t;

/* The scope for what is made of these tensors, which may be NULL: the host's if all are known. */
gantry_scope_t *gantry__onnx_scope_of(gantry__onnx_call_t *call,
                                      const gantry_tensor_t *const *tensors, size_t count);
/* The type of ONNX's number; Unimplemented. */
gantry_status_t gantry__onnx_quantized(gantry__onnx_call_t *call, int32_t number,
                                       gantry__onnx_quantized_t *out);
/* The type of input i, which must be there. */
gantry_status_t gantry__onnx_quantized_as(gantry__onnx_call_t *call, size_t i,
                                          gantry__onnx_quantized_t *out);
/* A scale or a zero point in a shape that broadcasts to x's: of one element, one for each place of
 * axis, or, with a block size, one for each block of it. NULL stays NULL. */
gantry_status_t gantry__onnx_spread(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                    const gantry_tensor_t *numbers, int64_t axis, int64_t block,
                                    const gantry_tensor_t **out);
/* (x - zero_point) * scale as dtype, computed in float32, or float64 for it. zero_point may be
 * NULL; both broadcast. */
const gantry_tensor_t *gantry__onnx_dequantize(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                               const gantry_tensor_t *x,
                                               const gantry_tensor_t *scale,
                                               const gantry_tensor_t *zero_point,
                                               gantry_dtype_t dtype);
/* y, which is divided by its scale already, rounded to a type: ties to even, then the zero point,
 * then saturation. zero_point may be NULL. */
const gantry_tensor_t *gantry__onnx_round_to(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                             const gantry_tensor_t *y,
                                             const gantry_tensor_t *zero_point,
                                             const gantry__onnx_quantized_t *type, bool saturates);
/* Both: round(y / scale). */
const gantry_tensor_t *gantry__onnx_quantize(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                             const gantry_tensor_t *y, const gantry_tensor_t *scale,
                                             const gantry_tensor_t *zero_point,
                                             const gantry__onnx_quantized_t *type);
/* Bytes for float32 x, with the scale and the zero point that its extremes give: DynamicQuantizeLinear.
 * x without other values than 0 has the scale 0. */
void gantry__onnx_quantize_dynamic(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                   const gantry_tensor_t *out[3]);
/* The product of integers of inputs a and b less those of a_zero and b_zero, in int32, by numpy's
 * rules of ranks. */
const gantry_tensor_t *gantry__onnx_integer_product(gantry__onnx_call_t *call,
                                                    const gantry_tensor_t *a,
                                                    const gantry_tensor_t *b,
                                                    const gantry_tensor_t *a_zero,
                                                    const gantry_tensor_t *b_zero);
/* The factor of a product: the scales of both operands over that of the result. */
const gantry_tensor_t *gantry__onnx_product_factor(gantry__onnx_call_t *call,
                                                   const gantry_tensor_t *a,
                                                   const gantry_tensor_t *b,
                                                   const gantry_tensor_t *y);
/* An integer product times its factor, rounded to a type. */
const gantry_tensor_t *gantry__onnx_scale_product(gantry__onnx_call_t *call,
                                                  const gantry_tensor_t *sum,
                                                  const gantry_tensor_t *factor,
                                                  const gantry_tensor_t *zero_point,
                                                  const gantry__onnx_quantized_t *type);
/* A tensor of one element as a scalar; others as they are. */
const gantry_tensor_t *gantry__onnx_as_scalar(gantry_scope_t *scope, const gantry_tensor_t *x);

#endif
