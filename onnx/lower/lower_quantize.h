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
/* DynamicQuantizeLinear: bytes for float32 x, with the scale and the zero point that its extremes
 * give. x without other values than 0 has the scale 0. */
void gantry__onnx_quantize_dynamic(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                   const gantry_tensor_t *x, const gantry_tensor_t *out[3]);
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
/* Whether a convolution of input 0 has a group for each channel, and sums that float32 has. */
bool gantry__onnx_has_channel_groups(const gantry__onnx_call_t *call, const gantry_shape_t *filter,
                                     int64_t group);
/* A filter [outputs, channels, rows, columns], or without rows, as Gantry wants it: [rows, columns,
 * channels, outputs]; of such groups [rows, columns, channels, outputs of each] in float32. */
const gantry_tensor_t *gantry__onnx_turn_filter(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                                const gantry_tensor_t *filter);
/* The convolution of x with the filter that make returns of an input, less their zero points, in
 * int32. */
gantry_status_t gantry__onnx_convolve_integers(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                               size_t filter_input, gantry__onnx_make_fn make,
                                               const gantry_tensor_t *x_zero,
                                               const gantry_tensor_t *filter_zero,
                                               const gantry_tensor_t **out);
/* A vector of one number for each channel, in a shape that broadcasts to images or sequences. */
const gantry_tensor_t *gantry__onnx_channel_column(gantry__onnx_call_t *call,
                                                   const gantry_tensor_t *x, int32_t rank);
/* Products of numbers that DequantizeLinear made of bytes, kept in integers. */
typedef enum gantry__onnx_joined_t {
    GANTRY__ONNX_JOINED_MATMUL = 0,
    GANTRY__ONNX_JOINED_GEMM = 1,
    GANTRY__ONNX_JOINED_CONV = 2
} gantry__onnx_joined_t;
/* Computes output 0 by the exact product of integers, if both operands are such numbers and the row
 * has no more than the product and a bias; *out_done says so. */
gantry_status_t gantry__onnx_join_quantized(gantry__onnx_call_t *call, gantry__onnx_joined_t kind,
                                            bool *out_done);
/* A tensor of one element as a scalar; others as they are. */
const gantry_tensor_t *gantry__onnx_as_scalar(gantry_scope_t *scope, const gantry_tensor_t *x);

#endif
