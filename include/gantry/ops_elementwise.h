/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that map elements to elements; ops.h says what holds for all ops. Operands broadcast. */
#ifndef GANTRY_OPS_ELEMENTWISE_H
#define GANTRY_OPS_ELEMENTWISE_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- rows of ops/elementwise.def, written by scripts/make-ops-header ---- */

/* x + y, broadcasting. */
GANTRY_API const gantry_tensor_t *gantry_add(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_tensor_t *y);
/* x - y, broadcasting. */
GANTRY_API const gantry_tensor_t *gantry_sub(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_tensor_t *y);
/* x * y, broadcasting. */
GANTRY_API const gantry_tensor_t *gantry_mul(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_tensor_t *y);
/* x / y, broadcasting; integers are truncated towards zero. */
GANTRY_API const gantry_tensor_t *gantry_div(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_tensor_t *y);
/* x / y rounded down. */
GANTRY_API const gantry_tensor_t *gantry_floor_div(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                   const gantry_tensor_t *y);
/* x / y truncated towards zero. */
GANTRY_API const gantry_tensor_t *gantry_truncate_div(gantry_scope_t *scope,
                                                      const gantry_tensor_t *x,
                                                      const gantry_tensor_t *y);
/* The remainder of FloorDiv, with the sign of y. */
GANTRY_API const gantry_tensor_t *gantry_floor_mod(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                   const gantry_tensor_t *y);
/* The remainder of TruncateDiv, with the sign of x. */
GANTRY_API const gantry_tensor_t *gantry_truncate_mod(gantry_scope_t *scope,
                                                      const gantry_tensor_t *x,
                                                      const gantry_tensor_t *y);
/* x / y, and 0 if y is 0. */
GANTRY_API const gantry_tensor_t *gantry_div_no_nan(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                    const gantry_tensor_t *y);
/* x * y, and 0 if y is 0, whatever x is. */
GANTRY_API const gantry_tensor_t *gantry_mul_no_nan(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                    const gantry_tensor_t *y);
/* x / y, and 0 if x is 0. */
GANTRY_API const gantry_tensor_t *gantry_xdivy(gantry_scope_t *scope, const gantry_tensor_t *x,
                                               const gantry_tensor_t *y);
/* x log(y), and 0 if x is 0. */
GANTRY_API const gantry_tensor_t *gantry_xlogy(gantry_scope_t *scope, const gantry_tensor_t *x,
                                               const gantry_tensor_t *y);
/* x log(1 + y), and 0 if x is 0. */
GANTRY_API const gantry_tensor_t *gantry_xlog1py(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                 const gantry_tensor_t *y);
/* x to the power of y. */
GANTRY_API const gantry_tensor_t *gantry_pow(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_tensor_t *y);
/* The angle of the point (x, y). */
GANTRY_API const gantry_tensor_t *gantry_atan2(gantry_scope_t *scope, const gantry_tensor_t *y,
                                               const gantry_tensor_t *x);
/* (x - y) squared. */
GANTRY_API const gantry_tensor_t *gantry_squared_difference(gantry_scope_t *scope,
                                                            const gantry_tensor_t *x,
                                                            const gantry_tensor_t *y);
/* The larger of x and y, broadcasting. */
GANTRY_API const gantry_tensor_t *gantry_maximum(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                 const gantry_tensor_t *y);
/* The smaller of x and y, broadcasting. */
GANTRY_API const gantry_tensor_t *gantry_minimum(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                 const gantry_tensor_t *y);
/* The bits that x and y share. */
GANTRY_API const gantry_tensor_t *gantry_bitwise_and(gantry_scope_t *scope,
                                                     const gantry_tensor_t *x,
                                                     const gantry_tensor_t *y);
/* The bits of x and of y. */
GANTRY_API const gantry_tensor_t *gantry_bitwise_or(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                    const gantry_tensor_t *y);
/* The bits of either x or y, not of both. */
GANTRY_API const gantry_tensor_t *gantry_bitwise_xor(gantry_scope_t *scope,
                                                     const gantry_tensor_t *x,
                                                     const gantry_tensor_t *y);
/* x shifted left by y bits; y is clamped to [0, bits - 1]. */
GANTRY_API const gantry_tensor_t *gantry_left_shift(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                    const gantry_tensor_t *y);
/* x shifted right by y bits, with its sign; y is clamped to [0, bits - 1]. */
GANTRY_API const gantry_tensor_t *gantry_right_shift(gantry_scope_t *scope,
                                                     const gantry_tensor_t *x,
                                                     const gantry_tensor_t *y);
/* -x. */
GANTRY_API const gantry_tensor_t *gantry_neg(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The absolute value. */
GANTRY_API const gantry_tensor_t *gantry_abs(gantry_scope_t *scope, const gantry_tensor_t *x);
/* 1, 0 or -1. */
GANTRY_API const gantry_tensor_t *gantry_sign(gantry_scope_t *scope, const gantry_tensor_t *x);
/* x * x. */
GANTRY_API const gantry_tensor_t *gantry_square(gantry_scope_t *scope, const gantry_tensor_t *x);
/* 1 / x. */
GANTRY_API const gantry_tensor_t *gantry_reciprocal(gantry_scope_t *scope,
                                                    const gantry_tensor_t *x);
/* x with every bit inverted. */
GANTRY_API const gantry_tensor_t *gantry_invert(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The largest integer that is not above x. */
GANTRY_API const gantry_tensor_t *gantry_floor(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The smallest integer that is not below x. */
GANTRY_API const gantry_tensor_t *gantry_ceil(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The nearest integer; of two the even one. */
GANTRY_API const gantry_tensor_t *gantry_round(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The nearest integer; of two the even one. */
GANTRY_API const gantry_tensor_t *gantry_rint(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The larger of 0 and x. */
GANTRY_API const gantry_tensor_t *gantry_relu(gantry_scope_t *scope, const gantry_tensor_t *x);
/* x clamped to [0, 6]. */
GANTRY_API const gantry_tensor_t *gantry_relu6(gantry_scope_t *scope, const gantry_tensor_t *x);
/* x if it is positive, else alpha x. */
GANTRY_API const gantry_tensor_t *gantry_leaky_relu(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                    float alpha);
/* The square root. */
GANTRY_API const gantry_tensor_t *gantry_sqrt(gantry_scope_t *scope, const gantry_tensor_t *x);
/* e to the power of x. */
GANTRY_API const gantry_tensor_t *gantry_exp(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The natural logarithm. */
GANTRY_API const gantry_tensor_t *gantry_log(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The hyperbolic tangent. */
GANTRY_API const gantry_tensor_t *gantry_tanh(gantry_scope_t *scope, const gantry_tensor_t *x);
/* 1 / (1 + exp(-x)). */
GANTRY_API const gantry_tensor_t *gantry_sigmoid(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The sine. */
GANTRY_API const gantry_tensor_t *gantry_sin(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The cosine. */
GANTRY_API const gantry_tensor_t *gantry_cos(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The tangent. */
GANTRY_API const gantry_tensor_t *gantry_tan(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The inverse sine. */
GANTRY_API const gantry_tensor_t *gantry_asin(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The inverse cosine. */
GANTRY_API const gantry_tensor_t *gantry_acos(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The inverse tangent. */
GANTRY_API const gantry_tensor_t *gantry_atan(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The hyperbolic sine. */
GANTRY_API const gantry_tensor_t *gantry_sinh(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The hyperbolic cosine. */
GANTRY_API const gantry_tensor_t *gantry_cosh(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The inverse hyperbolic sine. */
GANTRY_API const gantry_tensor_t *gantry_asinh(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The inverse hyperbolic cosine. */
GANTRY_API const gantry_tensor_t *gantry_acosh(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The inverse hyperbolic tangent. */
GANTRY_API const gantry_tensor_t *gantry_atanh(gantry_scope_t *scope, const gantry_tensor_t *x);
/* e to the power of x, less 1. */
GANTRY_API const gantry_tensor_t *gantry_expm1(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The natural logarithm of 1 + x. */
GANTRY_API const gantry_tensor_t *gantry_log1p(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The error function. */
GANTRY_API const gantry_tensor_t *gantry_erf(gantry_scope_t *scope, const gantry_tensor_t *x);
/* 1 less the error function. */
GANTRY_API const gantry_tensor_t *gantry_erfc(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The logarithm of the magnitude of gamma(x). */
GANTRY_API const gantry_tensor_t *gantry_lgamma(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The derivative of Lgamma. */
GANTRY_API const gantry_tensor_t *gantry_digamma(gantry_scope_t *scope, const gantry_tensor_t *x);
/* 1 over the square root. */
GANTRY_API const gantry_tensor_t *gantry_rsqrt(gantry_scope_t *scope, const gantry_tensor_t *x);
/* log(1 + exp(x)). */
GANTRY_API const gantry_tensor_t *gantry_softplus(gantry_scope_t *scope, const gantry_tensor_t *x);
/* x / (1 + |x|). */
GANTRY_API const gantry_tensor_t *gantry_softsign(gantry_scope_t *scope, const gantry_tensor_t *x);
/* x if it is positive, else exp(x) - 1. */
GANTRY_API const gantry_tensor_t *gantry_elu(gantry_scope_t *scope, const gantry_tensor_t *x);
/* Elu, scaled so that activations keep mean 0 and variance 1. */
GANTRY_API const gantry_tensor_t *gantry_selu(gantry_scope_t *scope, const gantry_tensor_t *x);
/* x times Sigmoid(x). */
GANTRY_API const gantry_tensor_t *gantry_silu(gantry_scope_t *scope, const gantry_tensor_t *x);
/* x times the normal distribution function, or an approximation by Tanh. */
GANTRY_API const gantry_tensor_t *gantry_gelu(gantry_scope_t *scope, const gantry_tensor_t *x,
                                              bool approximate);
/* x == y, broadcasting. */
GANTRY_API const gantry_tensor_t *gantry_equal(gantry_scope_t *scope, const gantry_tensor_t *x,
                                               const gantry_tensor_t *y);
/* x != y, broadcasting. */
GANTRY_API const gantry_tensor_t *gantry_not_equal(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                   const gantry_tensor_t *y);
/* x < y, broadcasting. */
GANTRY_API const gantry_tensor_t *gantry_less(gantry_scope_t *scope, const gantry_tensor_t *x,
                                              const gantry_tensor_t *y);
/* x <= y, broadcasting. */
GANTRY_API const gantry_tensor_t *gantry_less_equal(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                    const gantry_tensor_t *y);
/* x > y, broadcasting. */
GANTRY_API const gantry_tensor_t *gantry_greater(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                 const gantry_tensor_t *y);
/* x >= y, broadcasting. */
GANTRY_API const gantry_tensor_t *gantry_greater_equal(gantry_scope_t *scope,
                                                       const gantry_tensor_t *x,
                                                       const gantry_tensor_t *y);
/* Whether x is NaN. */
GANTRY_API const gantry_tensor_t *gantry_is_nan(gantry_scope_t *scope, const gantry_tensor_t *x);
/* Whether x is infinite. */
GANTRY_API const gantry_tensor_t *gantry_is_inf(gantry_scope_t *scope, const gantry_tensor_t *x);
/* Whether x is a finite number. */
GANTRY_API const gantry_tensor_t *gantry_is_finite(gantry_scope_t *scope, const gantry_tensor_t *x);
/* x and y, broadcasting. */
GANTRY_API const gantry_tensor_t *gantry_logical_and(gantry_scope_t *scope,
                                                     const gantry_tensor_t *x,
                                                     const gantry_tensor_t *y);
/* x or y, broadcasting. */
GANTRY_API const gantry_tensor_t *gantry_logical_or(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                    const gantry_tensor_t *y);
/* Whether exactly one of x and y is true. */
GANTRY_API const gantry_tensor_t *gantry_logical_xor(gantry_scope_t *scope,
                                                     const gantry_tensor_t *x,
                                                     const gantry_tensor_t *y);
/* Not x. */
GANTRY_API const gantry_tensor_t *gantry_logical_not(gantry_scope_t *scope,
                                                     const gantry_tensor_t *x);

/* ---- end of the rows ---- */

/* x held to [min, max], which broadcast to x. */
GANTRY_API const gantry_tensor_t *gantry_clip_by_value(gantry_scope_t *scope,
                                                       const gantry_tensor_t *x,
                                                       const gantry_tensor_t *min,
                                                       const gantry_tensor_t *max);
/* condition ? x : y, elementwise, all three broadcast. */
GANTRY_API const gantry_tensor_t *gantry_select(gantry_scope_t *scope,
                                                const gantry_tensor_t *condition,
                                                const gantry_tensor_t *x, const gantry_tensor_t *y);
/* Float to integer cuts towards zero and saturates (NaN gives 0); anything to bool is x != 0. */
GANTRY_API const gantry_tensor_t *gantry_cast(gantry_scope_t *scope, const gantry_tensor_t *x,
                                              gantry_dtype_t dtype);
GANTRY_API const gantry_tensor_t *gantry_add_n(gantry_scope_t *scope,
                                               const gantry_tensor_t *const *values, size_t count);
/* Adds bias, a vector, along the last dimension. */
GANTRY_API const gantry_tensor_t *gantry_bias_add(gantry_scope_t *scope,
                                                  const gantry_tensor_t *value,
                                                  const gantry_tensor_t *bias);

#ifdef __cplusplus
}
#endif
#endif
