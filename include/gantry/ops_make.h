/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Ops that make tensors from numbers; ops.h says what holds for all ops, for owners and for
 * threads. */
#ifndef GANTRY_OPS_MAKE_H
#define GANTRY_OPS_MAKE_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Makes a tensor of the elements at data, row-major; bytes is their total size. Copies data
 * before it returns. A bool that is not 0 becomes 1. */
GANTRY_API const gantry_tensor_t *gantry_constant(gantry_scope_t *scope, gantry_dtype_t dtype,
                                                  gantry_shape_t shape, const void *data,
                                                  size_t bytes);
/** A float32 scalar. */
GANTRY_API const gantry_tensor_t *gantry_scalar_f32(gantry_scope_t *scope, float value);
/** An int32 scalar. */
GANTRY_API const gantry_tensor_t *gantry_scalar_i32(gantry_scope_t *scope, int32_t value);
/** An int64 scalar. */
GANTRY_API const gantry_tensor_t *gantry_scalar_i64(gantry_scope_t *scope, int64_t value);
/** Fill: a tensor of this shape whose elements have the value of a scalar tensor. */
GANTRY_API const gantry_tensor_t *gantry_fill(gantry_scope_t *scope, gantry_shape_t shape,
                                              const gantry_tensor_t *value);
/** A tensor of zeros. */
GANTRY_API const gantry_tensor_t *gantry_zeros(gantry_scope_t *scope, gantry_dtype_t dtype,
                                               gantry_shape_t shape);
/** A tensor of ones. */
GANTRY_API const gantry_tensor_t *gantry_ones(gantry_scope_t *scope, gantry_dtype_t dtype,
                                              gantry_shape_t shape);
/** ZerosLike: zeros of x's shape and type. */
GANTRY_API const gantry_tensor_t *gantry_zeros_like(gantry_scope_t *scope,
                                                    const gantry_tensor_t *x);
/** OnesLike: ones of x's shape and type. */
GANTRY_API const gantry_tensor_t *gantry_ones_like(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Range: start, start + delta, and so on, while below limit, or above it when delta is
 * negative. All three are scalars of one number type. */
GANTRY_API const gantry_tensor_t *gantry_range(gantry_scope_t *scope, const gantry_tensor_t *start,
                                               const gantry_tensor_t *limit,
                                               const gantry_tensor_t *delta);

#ifdef __cplusplus
}
#endif
#endif
