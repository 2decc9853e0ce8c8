/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Ops that map elements to elements; ops.h says what holds for all ops, for owners and for threads.
 * Operands broadcast. "Floats" are float16, bfloat16, float32 and float64; "integers" have 8 to 64
 * bits, signed and unsigned. The result has the operands' type where nothing else is said. */
#ifndef GANTRY_OPS_ELEMENTWISE_H
#define GANTRY_OPS_ELEMENTWISE_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- rows of ops/elementwise.def, written by scripts/make-ops-header ---- */

/** Add: x + y, broadcasting. Takes the floating types and integers. */
GANTRY_API const gantry_tensor_t *gantry_add(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_tensor_t *y);
/** Sub: x - y, broadcasting. Takes the floating types and integers. */
GANTRY_API const gantry_tensor_t *gantry_sub(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_tensor_t *y);
/** Mul: x * y, broadcasting. Takes the floating types and integers. */
GANTRY_API const gantry_tensor_t *gantry_mul(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_tensor_t *y);
/** Div: x / y, broadcasting; integers truncate towards zero; if never_fails, an integer divided by
 * 0 is -1: all bits set. Takes the floating types and integers; dividing an integer by 0 is
 * InvalidArgument; gantry_op_call takes the attribute. */
GANTRY_API const gantry_tensor_t *gantry_div(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_tensor_t *y);
/** FloorDiv: x / y rounded down; if never_fails, an integer divided by 0 is -1: all bits set. Takes
 * the floating types and integers; dividing an integer by 0 is InvalidArgument; gantry_op_call
 * takes the attribute. */
GANTRY_API const gantry_tensor_t *gantry_floor_div(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                   const gantry_tensor_t *y);
/** TruncateDiv: x / y truncated towards zero; if never_fails, an integer divided by 0 is -1: all
 * bits set. Takes the floating types and integers; dividing an integer by 0 is InvalidArgument;
 * gantry_op_call takes the attribute. */
GANTRY_API const gantry_tensor_t *gantry_truncate_div(gantry_scope_t *scope,
                                                      const gantry_tensor_t *x,
                                                      const gantry_tensor_t *y);
/** FloorMod: the remainder of FloorDiv, with y's sign; if never_fails, that of an integer divided
 * by 0 is x. Takes the floating types and integers; dividing an integer by 0 is InvalidArgument;
 * gantry_op_call takes the attribute. */
GANTRY_API const gantry_tensor_t *gantry_floor_mod(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                   const gantry_tensor_t *y);
/** TruncateMod: the remainder of TruncateDiv, with x's sign; if never_fails, that of an integer
 * divided by 0 is x. Takes the floating types and integers; dividing an integer by 0 is
 * InvalidArgument; gantry_op_call takes the attribute. */
GANTRY_API const gantry_tensor_t *gantry_truncate_mod(gantry_scope_t *scope,
                                                      const gantry_tensor_t *x,
                                                      const gantry_tensor_t *y);
/** DivNoNan: x / y, and 0 where y is 0. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_div_no_nan(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                    const gantry_tensor_t *y);
/** MulNoNan: x * y, and 0 where y is 0, whatever x is. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_mul_no_nan(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                    const gantry_tensor_t *y);
/** Xdivy: x / y, and 0 where x is 0. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_xdivy(gantry_scope_t *scope, const gantry_tensor_t *x,
                                               const gantry_tensor_t *y);
/** Xlogy: x log(y), and 0 where x is 0. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_xlogy(gantry_scope_t *scope, const gantry_tensor_t *x,
                                               const gantry_tensor_t *y);
/** Xlog1py: x log(1 + y), and 0 where x is 0. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_xlog1py(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                 const gantry_tensor_t *y);
/** Pow: x to the power of y; if never_fails, a negative power of an integer is 1 / x to the power
 * of -y, truncated towards zero, and 0 where x is 0. Takes the floating types and integers; a
 * negative exponent of an integer is InvalidArgument; gantry_op_call takes the attribute. */
GANTRY_API const gantry_tensor_t *gantry_pow(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_tensor_t *y);
/** Atan2: the angle of the point (x, y). Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_atan2(gantry_scope_t *scope, const gantry_tensor_t *y,
                                               const gantry_tensor_t *x);
/** SquaredDifference: (x - y) squared. Takes the floating types and signed integers. */
GANTRY_API const gantry_tensor_t *gantry_squared_difference(gantry_scope_t *scope,
                                                            const gantry_tensor_t *x,
                                                            const gantry_tensor_t *y);
/** Maximum: the larger of x and y, broadcasting; if signed_zero, 0 is larger than -0. Takes the
 * floating types, integers and bool; gantry_op_call takes the attribute. */
GANTRY_API const gantry_tensor_t *gantry_maximum(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                 const gantry_tensor_t *y);
/** Minimum: the smaller of x and y, broadcasting; if signed_zero, -0 is smaller than 0. Takes the
 * floating types, integers and bool; gantry_op_call takes the attribute. */
GANTRY_API const gantry_tensor_t *gantry_minimum(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                 const gantry_tensor_t *y);
/** BitwiseAnd: the bits that are set in x and y. Takes int8, int16, int32, int64, uint8, uint16,
 * uint32, uint64. */
GANTRY_API const gantry_tensor_t *gantry_bitwise_and(gantry_scope_t *scope,
                                                     const gantry_tensor_t *x,
                                                     const gantry_tensor_t *y);
/** BitwiseOr: the bits that are set in x or y. Takes int8, int16, int32, int64, uint8, uint16,
 * uint32, uint64. */
GANTRY_API const gantry_tensor_t *gantry_bitwise_or(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                    const gantry_tensor_t *y);
/** BitwiseXor: the bits that are set in exactly one of x and y. Takes int8, int16, int32, int64,
 * uint8, uint16, uint32, uint64. */
GANTRY_API const gantry_tensor_t *gantry_bitwise_xor(gantry_scope_t *scope,
                                                     const gantry_tensor_t *x,
                                                     const gantry_tensor_t *y);
/** LeftShift: x's bits shifted up by y, which is clamped to [0, bits - 1]; if shifts_out, any other
 * y gives 0. Takes int8, int16, int32, int64, uint8, uint16, uint32, uint64; gantry_op_call takes
 * the attribute. */
GANTRY_API const gantry_tensor_t *gantry_left_shift(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                    const gantry_tensor_t *y);
/** RightShift: x's bits shifted down by y, which is clamped to [0, bits - 1]; if shifts_out, any
 * other y leaves copies of the sign; if logical, zeros take the sign's place. Takes int8, int16,
 * int32, int64, uint8, uint16, uint32, uint64; gantry_op_call takes the attribute. */
GANTRY_API const gantry_tensor_t *gantry_right_shift(gantry_scope_t *scope,
                                                     const gantry_tensor_t *x,
                                                     const gantry_tensor_t *y);
/** Neg: -x; of an unsigned integer 0 - x, which wraps. Takes the floating types and integers. */
GANTRY_API const gantry_tensor_t *gantry_neg(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Abs: the absolute value. Takes the floating types and integers. */
GANTRY_API const gantry_tensor_t *gantry_abs(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Sign: 1, 0 or -1; if signed_zero, -0 of -0. Takes the floating types and integers;
 * gantry_op_call takes the attribute. */
GANTRY_API const gantry_tensor_t *gantry_sign(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Square: x * x. Takes the floating types and integers. */
GANTRY_API const gantry_tensor_t *gantry_square(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Reciprocal: 1 / x. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_reciprocal(gantry_scope_t *scope,
                                                    const gantry_tensor_t *x);
/** Invert: x with every bit inverted. Takes int8, int16, int32, int64, uint8, uint16, uint32,
 * uint64. */
GANTRY_API const gantry_tensor_t *gantry_invert(gantry_scope_t *scope, const gantry_tensor_t *x);
/** PopulationCount: how many bits of x are set, as output_type: uint8 or x's type. Takes int8,
 * int16, int32, int64, uint8, uint16, uint32, uint64; returns uint8; gantry_op_call takes the
 * attribute. */
GANTRY_API const gantry_tensor_t *gantry_population_count(gantry_scope_t *scope,
                                                          const gantry_tensor_t *x);
/** CountLeadingZeros: how many bits of x above the highest one that is set are not; of 0 all. Takes
 * int8, int16, int32, int64, uint8, uint16, uint32, uint64. */
GANTRY_API const gantry_tensor_t *gantry_count_leading_zeros(gantry_scope_t *scope,
                                                             const gantry_tensor_t *x);
/** Floor: the largest integer that is not above x. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_floor(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Ceil: the smallest integer that is not below x. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_ceil(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Round: the nearest integer; ties go to the even one or, if ties_away, away from 0. Takes the
 * floating types and signed integers; gantry_op_call takes the attribute. */
GANTRY_API const gantry_tensor_t *gantry_round(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Rint: the nearest integer; ties go to the even one. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_rint(gantry_scope_t *scope, const gantry_tensor_t *x);
/** ReducePrecision: x rounded to a float of exponent_bits and mantissa_bits: too large becomes
 * infinite, denormal 0. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_reduce_precision(gantry_scope_t *scope,
                                                          const gantry_tensor_t *x,
                                                          int32_t exponent_bits,
                                                          int32_t mantissa_bits);
/** Relu: the larger of 0 and x. Takes the floating types and integers. */
GANTRY_API const gantry_tensor_t *gantry_relu(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Relu6: x clamped to [0, 6]. Takes the floating types and integers. */
GANTRY_API const gantry_tensor_t *gantry_relu6(gantry_scope_t *scope, const gantry_tensor_t *x);
/** LeakyRelu: x where x is positive, alpha * x elsewhere. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_leaky_relu(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                    float alpha);
/** Sqrt: the square root. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_sqrt(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Cbrt: the cube root. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_cbrt(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Exp: e to the power of x. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_exp(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Log: the natural logarithm. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_log(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Tanh: the hyperbolic tangent. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_tanh(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Sigmoid: 1 / (1 + exp(-x)). Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_sigmoid(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Sin: the sine. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_sin(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Cos: the cosine. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_cos(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Tan: the tangent. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_tan(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Asin: the inverse sine. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_asin(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Acos: the inverse cosine. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_acos(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Atan: the inverse tangent. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_atan(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Sinh: the hyperbolic sine. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_sinh(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Cosh: the hyperbolic cosine. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_cosh(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Asinh: the inverse hyperbolic sine. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_asinh(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Acosh: the inverse hyperbolic cosine. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_acosh(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Atanh: the inverse hyperbolic tangent. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_atanh(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Expm1: exp(x) - 1, accurate for small x. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_expm1(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Log1p: log(1 + x), accurate for small x. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_log1p(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Erf: the error function. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_erf(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Erfc: 1 - erf(x). Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_erfc(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Erfinv: the inverse of Erf. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_erfinv(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Lgamma: the logarithm of the absolute value of gamma(x). Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_lgamma(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Digamma: the derivative of Lgamma. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_digamma(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Rsqrt: 1 / sqrt(x). Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_rsqrt(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Softplus: log(1 + exp(x)). Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_softplus(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Softsign: x / (1 + |x|). Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_softsign(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Elu: x where x is positive, exp(x) - 1 elsewhere. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_elu(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Selu: Elu, scaled so that activations stay normalised. Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_selu(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Silu: x times Sigmoid(x). Takes the floating types. */
GANTRY_API const gantry_tensor_t *gantry_silu(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Gelu: x times the normal distribution function, or an approximation by Tanh. Takes the floating
 * types. */
GANTRY_API const gantry_tensor_t *gantry_gelu(gantry_scope_t *scope, const gantry_tensor_t *x,
                                              bool approximate);
/** Equal: x == y, broadcasting. Takes the floating types, integers and bool; returns bool. */
GANTRY_API const gantry_tensor_t *gantry_equal(gantry_scope_t *scope, const gantry_tensor_t *x,
                                               const gantry_tensor_t *y);
/** NotEqual: x != y, broadcasting. Takes the floating types, integers and bool; returns bool. */
GANTRY_API const gantry_tensor_t *gantry_not_equal(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                   const gantry_tensor_t *y);
/** Less: x < y, broadcasting. Takes the floating types and integers; returns bool. */
GANTRY_API const gantry_tensor_t *gantry_less(gantry_scope_t *scope, const gantry_tensor_t *x,
                                              const gantry_tensor_t *y);
/** LessEqual: x <= y, broadcasting. Takes the floating types and integers; returns bool. */
GANTRY_API const gantry_tensor_t *gantry_less_equal(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                    const gantry_tensor_t *y);
/** Greater: x > y, broadcasting. Takes the floating types and integers; returns bool. */
GANTRY_API const gantry_tensor_t *gantry_greater(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                 const gantry_tensor_t *y);
/** GreaterEqual: x >= y, broadcasting. Takes the floating types and integers; returns bool. */
GANTRY_API const gantry_tensor_t *gantry_greater_equal(gantry_scope_t *scope,
                                                       const gantry_tensor_t *x,
                                                       const gantry_tensor_t *y);
/** IsNan: whether x is NaN. Takes the floating types; returns bool. */
GANTRY_API const gantry_tensor_t *gantry_is_nan(gantry_scope_t *scope, const gantry_tensor_t *x);
/** IsInf: whether x is infinite. Takes the floating types; returns bool. */
GANTRY_API const gantry_tensor_t *gantry_is_inf(gantry_scope_t *scope, const gantry_tensor_t *x);
/** IsFinite: whether x is a finite number. Takes the floating types; returns bool. */
GANTRY_API const gantry_tensor_t *gantry_is_finite(gantry_scope_t *scope, const gantry_tensor_t *x);
/** LogicalAnd: x and y, broadcasting. Takes bool. */
GANTRY_API const gantry_tensor_t *gantry_logical_and(gantry_scope_t *scope,
                                                     const gantry_tensor_t *x,
                                                     const gantry_tensor_t *y);
/** LogicalOr: x or y, broadcasting. Takes bool. */
GANTRY_API const gantry_tensor_t *gantry_logical_or(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                    const gantry_tensor_t *y);
/** LogicalXor: true where exactly one of x and y is true. Takes bool. */
GANTRY_API const gantry_tensor_t *gantry_logical_xor(gantry_scope_t *scope,
                                                     const gantry_tensor_t *x,
                                                     const gantry_tensor_t *y);
/** LogicalNot: not x. Takes bool. */
GANTRY_API const gantry_tensor_t *gantry_logical_not(gantry_scope_t *scope,
                                                     const gantry_tensor_t *x);

/* ---- end of the rows ---- */

/** ClipByValue: x clamped to [min, max], which broadcast to x. */
GANTRY_API const gantry_tensor_t *gantry_clip_by_value(gantry_scope_t *scope,
                                                       const gantry_tensor_t *x,
                                                       const gantry_tensor_t *min,
                                                       const gantry_tensor_t *max);
/** Select: x where condition (bool) is true, y elsewhere; all three broadcast. x and y have one
 * type, any. */
GANTRY_API const gantry_tensor_t *gantry_select(gantry_scope_t *scope,
                                                const gantry_tensor_t *condition,
                                                const gantry_tensor_t *x, const gantry_tensor_t *y);
/** Cast: x converted to dtype. Float to integer truncates towards zero and saturates; NaN
 * becomes 0. Any number to bool is x != 0. */
GANTRY_API const gantry_tensor_t *gantry_cast(gantry_scope_t *scope, const gantry_tensor_t *x,
                                              gantry_dtype_t dtype);
/** AddN: the sum of count tensors of one shape and type. */
GANTRY_API const gantry_tensor_t *gantry_add_n(gantry_scope_t *scope,
                                               const gantry_tensor_t *const *values, size_t count);
/** BiasAdd: value plus bias, a vector along its last dimension. */
GANTRY_API const gantry_tensor_t *gantry_bias_add(gantry_scope_t *scope,
                                                  const gantry_tensor_t *value,
                                                  const gantry_tensor_t *bias);

#ifdef __cplusplus
}
#endif
#endif
