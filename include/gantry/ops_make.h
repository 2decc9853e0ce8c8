/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that make tensors of nothing else than numbers; ops.h says what holds for all ops. */
#ifndef GANTRY_OPS_MAKE_H
#define GANTRY_OPS_MAKE_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Copies bytes = elements * size from data before it returns. A bool that is not 0 becomes 1. */
GANTRY_API const gantry_tensor_t *gantry_constant(gantry_scope_t *scope, gantry_dtype_t dtype,
                                                  gantry_shape_t shape, const void *data,
                                                  size_t bytes);
GANTRY_API const gantry_tensor_t *gantry_scalar_f32(gantry_scope_t *scope, float value);
GANTRY_API const gantry_tensor_t *gantry_scalar_i32(gantry_scope_t *scope, int32_t value);
GANTRY_API const gantry_tensor_t *gantry_scalar_i64(gantry_scope_t *scope, int64_t value);
/* Filled with a scalar tensor's value. */
GANTRY_API const gantry_tensor_t *gantry_fill(gantry_scope_t *scope, gantry_shape_t shape,
                                              const gantry_tensor_t *value);
GANTRY_API const gantry_tensor_t *gantry_zeros(gantry_scope_t *scope, gantry_dtype_t dtype,
                                               gantry_shape_t shape);
GANTRY_API const gantry_tensor_t *gantry_ones(gantry_scope_t *scope, gantry_dtype_t dtype,
                                              gantry_shape_t shape);
GANTRY_API const gantry_tensor_t *gantry_zeros_like(gantry_scope_t *scope,
                                                    const gantry_tensor_t *x);
GANTRY_API const gantry_tensor_t *gantry_ones_like(gantry_scope_t *scope, const gantry_tensor_t *x);
/* start, start + delta, ... below limit (above, when delta is negative): scalars of one number
 * type. */
GANTRY_API const gantry_tensor_t *gantry_range(gantry_scope_t *scope, const gantry_tensor_t *start,
                                               const gantry_tensor_t *limit,
                                               const gantry_tensor_t *delta);

#ifdef __cplusplus
}
#endif
#endif
