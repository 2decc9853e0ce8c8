/* SPDX-License-Identifier: Apache-2.0 */
/* Ops, one C function each. Definitions are TensorFlow's, of the op's highest version; broadcasting
 * is NumPy's.
 *
 * Every function returns a tensor of the scope, or NULL after an error that the scope keeps:
 * InvalidArgument for shapes and types, and for NULL where an input, an array that is not empty or
 * a place for a result is wanted and NULL has no meaning of its own; Unimplemented where no device
 * has a kernel, ResourceExhausted when memory is out. In a failed scope they do nothing. Options
 * may be NULL; what is 0 or NULL in them is the default. Their struct_size may stay 0, which stands
 * for the fields of version 0.1; else it is their sizeof (docs/api_conventions.md). Which types
 * an op takes is listed in docs/ops.md. */
#ifndef GANTRY_OPS_H
#define GANTRY_OPS_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- making tensors ---- */

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

/* ---- elementwise ---- */

/* X(C name, TOKEN, "op name") */
#define GANTRY_UNARY_OPS(X)                   \
    X(identity, IDENTITY, "Identity")         \
    X(neg, NEG, "Neg")                        \
    X(abs, ABS, "Abs")                        \
    X(square, SQUARE, "Square")               \
    X(sqrt, SQRT, "Sqrt")                     \
    X(exp, EXP, "Exp")                        \
    X(log, LOG, "Log")                        \
    X(tanh, TANH, "Tanh")                     \
    X(sigmoid, SIGMOID, "Sigmoid")            \
    X(relu, RELU, "Relu")                     \
    X(logical_not, LOGICAL_NOT, "LogicalNot") \
    X(softmax, SOFTMAX, "Softmax")            \
    X(log_softmax, LOG_SOFTMAX, "LogSoftmax") \
    X(sign, SIGN, "Sign")                     \
    X(reciprocal, RECIPROCAL, "Reciprocal")   \
    X(invert, INVERT, "Invert")               \
    X(floor, FLOOR, "Floor")                  \
    X(ceil, CEIL, "Ceil")                     \
    X(round, ROUND, "Round")                  \
    X(rint, RINT, "Rint")                     \
    X(expm1, EXPM1, "Expm1")                  \
    X(log1p, LOG1P, "Log1p")                  \
    X(rsqrt, RSQRT, "Rsqrt")                  \
    X(sin, SIN, "Sin")                        \
    X(cos, COS, "Cos")                        \
    X(tan, TAN, "Tan")                        \
    X(asin, ASIN, "Asin")                     \
    X(acos, ACOS, "Acos")                     \
    X(atan, ATAN, "Atan")                     \
    X(sinh, SINH, "Sinh")                     \
    X(cosh, COSH, "Cosh")                     \
    X(asinh, ASINH, "Asinh")                  \
    X(acosh, ACOSH, "Acosh")                  \
    X(atanh, ATANH, "Atanh")                  \
    X(erf, ERF, "Erf")                        \
    X(erfc, ERFC, "Erfc")                     \
    X(lgamma, LGAMMA, "Lgamma")               \
    X(digamma, DIGAMMA, "Digamma")            \
    X(relu6, RELU6, "Relu6")                  \
    X(elu, ELU, "Elu")                        \
    X(selu, SELU, "Selu")                     \
    X(softplus, SOFTPLUS, "Softplus")         \
    X(softsign, SOFTSIGN, "Softsign")         \
    X(silu, SILU, "Silu")                     \
    X(is_nan, IS_NAN, "IsNan")                \
    X(is_inf, IS_INF, "IsInf")                \
    X(is_finite, IS_FINITE, "IsFinite")
#define GANTRY_BINARY_OPS(X)                                       \
    X(add, ADD, "Add")                                             \
    X(sub, SUB, "Sub")                                             \
    X(mul, MUL, "Mul")                                             \
    X(div, DIV, "Div")                                             \
    X(maximum, MAXIMUM, "Maximum")                                 \
    X(minimum, MINIMUM, "Minimum")                                 \
    X(equal, EQUAL, "Equal")                                       \
    X(not_equal, NOT_EQUAL, "NotEqual")                            \
    X(less, LESS, "Less")                                          \
    X(less_equal, LESS_EQUAL, "LessEqual")                         \
    X(greater, GREATER, "Greater")                                 \
    X(greater_equal, GREATER_EQUAL, "GreaterEqual")                \
    X(logical_and, LOGICAL_AND, "LogicalAnd")                      \
    X(logical_or, LOGICAL_OR, "LogicalOr")                         \
    X(logical_xor, LOGICAL_XOR, "LogicalXor")                      \
    X(floor_div, FLOOR_DIV, "FloorDiv")                            \
    X(floor_mod, FLOOR_MOD, "FloorMod")                            \
    X(truncate_div, TRUNCATE_DIV, "TruncateDiv")                   \
    X(truncate_mod, TRUNCATE_MOD, "TruncateMod")                   \
    X(div_no_nan, DIV_NO_NAN, "DivNoNan")                          \
    X(mul_no_nan, MUL_NO_NAN, "MulNoNan")                          \
    X(pow, POW, "Pow")                                             \
    X(squared_difference, SQUARED_DIFFERENCE, "SquaredDifference") \
    X(atan2, ATAN2, "Atan2")                                       \
    X(xdivy, XDIVY, "Xdivy")                                       \
    X(xlogy, XLOGY, "Xlogy")                                       \
    X(xlog1py, XLOG1PY, "Xlog1py")                                 \
    X(bitwise_and, BITWISE_AND, "BitwiseAnd")                      \
    X(bitwise_or, BITWISE_OR, "BitwiseOr")                         \
    X(bitwise_xor, BITWISE_XOR, "BitwiseXor")                      \
    X(left_shift, LEFT_SHIFT, "LeftShift")                         \
    X(right_shift, RIGHT_SHIFT, "RightShift")

/* gantry_exp(scope, x) and so on; softmax and log_softmax work along the last axis. */
#define GANTRY_DECLARE_UNARY(name, token, op)                              \
    GANTRY_API const gantry_tensor_t *gantry_##name(gantry_scope_t *scope, \
                                                    const gantry_tensor_t *x);
/* gantry_add(scope, x, y) and so on. Div truncates integers; comparisons give bool; gantry_atan2
 * takes y first. */
#define GANTRY_DECLARE_BINARY(name, token, op)       \
    GANTRY_API const gantry_tensor_t *gantry_##name( \
        gantry_scope_t *scope, const gantry_tensor_t *x, const gantry_tensor_t *y);
GANTRY_UNARY_OPS(GANTRY_DECLARE_UNARY)
GANTRY_BINARY_OPS(GANTRY_DECLARE_BINARY)

/* x where it is positive, else alpha times x. */
GANTRY_API const gantry_tensor_t *gantry_leaky_relu(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                    float alpha);
/* x times the normal distribution function, or its approximation by a hyperbolic tangent. */
GANTRY_API const gantry_tensor_t *gantry_gelu(gantry_scope_t *scope, const gantry_tensor_t *x,
                                              bool approximate);
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

/* ---- shape ---- */

/* one -1 allowed */
GANTRY_API const gantry_tensor_t *gantry_reshape(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                 gantry_shape_t shape);
GANTRY_API const gantry_tensor_t *gantry_expand_dims(gantry_scope_t *scope,
                                                     const gantry_tensor_t *x, int32_t axis);
/* axes NULL: all dimensions of 1. */
GANTRY_API const gantry_tensor_t *gantry_squeeze(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                 const int64_t *axes, size_t axis_count);
/* perm NULL reverses the dimensions; else one entry per dimension. */
GANTRY_API const gantry_tensor_t *gantry_transpose(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                   const int32_t *perm);
GANTRY_API const gantry_tensor_t *gantry_broadcast_to(gantry_scope_t *scope,
                                                      const gantry_tensor_t *x,
                                                      gantry_shape_t shape);
GANTRY_API const gantry_tensor_t *gantry_concat(gantry_scope_t *scope,
                                                const gantry_tensor_t *const *values, size_t count,
                                                int32_t axis);
/* begin and size have one entry per dimension; size -1: to the end. */
GANTRY_API const gantry_tensor_t *gantry_slice(gantry_scope_t *scope, const gantry_tensor_t *x,
                                               const int64_t *begin, const int64_t *size);
/* Rows of params along axis by indices (int32, int64); an index out of range is an error at the
 * next read. */
GANTRY_API const gantry_tensor_t *gantry_gather(gantry_scope_t *scope,
                                                const gantry_tensor_t *params,
                                                const gantry_tensor_t *indices, int32_t axis);
/* on_value where the index is, off_value elsewhere (scalars of one type); axis -1: last. */
GANTRY_API const gantry_tensor_t *gantry_one_hot(gantry_scope_t *scope,
                                                 const gantry_tensor_t *indices, int32_t depth,
                                                 const gantry_tensor_t *on_value,
                                                 const gantry_tensor_t *off_value, int32_t axis);

/* ---- reductions ---- */

typedef struct gantry_reduce_options_t {
    uint32_t struct_size; /* its sizeof; 0: the fields of version 0.1 */
    const int32_t *axes;  /* negative counts from the end; NULL: all */
    size_t axis_count;
    bool keep_dims;
} gantry_reduce_options_t;

GANTRY_API const gantry_tensor_t *gantry_sum(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_reduce_options_t *options);
GANTRY_API const gantry_tensor_t *gantry_mean(gantry_scope_t *scope, const gantry_tensor_t *x,
                                              const gantry_reduce_options_t *options);
GANTRY_API const gantry_tensor_t *gantry_max(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_reduce_options_t *options);
GANTRY_API const gantry_tensor_t *gantry_min(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const gantry_reduce_options_t *options);
/* int64 positions of the first largest element along axis. */
GANTRY_API const gantry_tensor_t *gantry_argmax(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                int32_t axis);

/* ---- matrices ---- */

typedef struct gantry_matmul_options_t {
    uint32_t struct_size; /* its sizeof; 0: the fields of version 0.1 */
    bool transpose_a;
    bool transpose_b;
} gantry_matmul_options_t;

/* [..., n, k] x [..., k, m] = [..., n, m]; leading dimensions broadcast. options may be NULL. */
GANTRY_API const gantry_tensor_t *gantry_matmul(gantry_scope_t *scope, const gantry_tensor_t *a,
                                                const gantry_tensor_t *b,
                                                const gantry_matmul_options_t *options);

#ifdef __cplusplus
}
#endif

/* ---- families with a header of their own ---- */

#include <gantry/ops_compose.h>
#include <gantry/ops_index.h>
#include <gantry/ops_matrix.h>
#include <gantry/ops_random.h>
#include <gantry/ops_reduce.h>
#include <gantry/ops_shape.h>
#include <gantry/ops_sort.h>
#include <gantry/ops_window.h>

#endif
