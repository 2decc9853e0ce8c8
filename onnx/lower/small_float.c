/* SPDX-License-Identifier: Apache-2.0 */
/* A step of a type between two of its numbers is a power of two, which the bits of a float32 give:
 * all products with it are exact. */
#include "onnx/lower/small_float.h"

#include <math.h>
#include <string.h>

#include <gantry/ops.h>

typedef const gantry_tensor_t tensor;

#define EXPONENT_BITS 0x7F800000 /* Of a float32. */

static tensor *small_number(gantry__onnx_call_t *call, double value) {
    return gantry__onnx_make_scalar(call, GANTRY_FLOAT32, value);
}

static tensor *small_integer(gantry__onnx_call_t *call, int32_t value) {
    return gantry__onnx_make_scalar(call, GANTRY_INT32, (double)value);
}

/* Powers of two: the exponent of x, after half a step or nearly one is added. */
static tensor *round_to_power(gantry__onnx_call_t *call, gantry_scope_t *scope, tensor *x,
                              bool saturates) {
    const char *mode = gantry__onnx_attr_text(call, "round_mode", "up");
    const int32_t added = strcmp(mode, "up") == 0        ? 0x7FFFFF
                          : strcmp(mode, "nearest") == 0 ? 0x400000
                                                         : 0;
    tensor *bits = gantry_bitwise_and(scope, gantry_bitcast(scope, x, GANTRY_INT32),
                                      small_integer(call, INT32_MAX));
    bits = gantry_minimum(scope, bits, small_integer(call, EXPONENT_BITS));
    bits = gantry_bitwise_and(scope, gantry_add(scope, bits, small_integer(call, added)),
                              small_integer(call, EXPONENT_BITS));
    if (saturates) bits = gantry_minimum(scope, bits, small_integer(call, 0x7F000000));
    tensor *is_least = gantry_equal(scope, bits, small_integer(call, 0));
    tensor *is_nan = gantry_is_nan(scope, x);
    if (!saturates)
        is_nan = gantry_logical_or(scope, is_nan,
                                   gantry_equal(scope, bits, small_integer(call, EXPONENT_BITS)));
    bits = gantry_select(scope, is_least, small_integer(call, 0x400000), bits);
    return gantry_select(scope, is_nan, small_number(call, NAN),
                         gantry_bitcast(scope, bits, GANTRY_FLOAT32));
}

/* The step between two numbers of the type at x. */
static tensor *step_at(gantry__onnx_call_t *call, gantry_scope_t *scope, tensor *x,
                       const gantry__onnx_small_float_t *type) {
    tensor *bits = gantry_bitwise_and(scope, gantry_bitcast(scope, x, GANTRY_INT32),
                                      small_integer(call, EXPONENT_BITS));
    tensor *power = gantry_maximum(scope, gantry_bitcast(scope, bits, GANTRY_FLOAT32),
                                   small_number(call, ldexp(1, 1 - type->bias)));
    return gantry_mul(scope, power, small_number(call, ldexp(1, -type->fraction)));
}

tensor *gantry__onnx_round_small(gantry__onnx_call_t *call, gantry_scope_t *scope, tensor *x,
                                 const gantry__onnx_small_float_t *type, bool saturates) {
    const double most = (double)type->most;
    const bool has_nan = type->fraction != 1;
    if (gantry_tensor_dtype(x) != GANTRY_FLOAT32) x = gantry_cast(scope, x, GANTRY_FLOAT32);
    if (type->fraction == 0) return round_to_power(call, scope, x, saturates);
    tensor *zero = small_number(call, 0);
    if (!has_nan) x = gantry_select(scope, gantry_is_nan(scope, x), zero, x);
    if (saturates || !has_nan) {
        x = gantry_maximum(scope, x, small_number(call, -most));
        x = gantry_minimum(scope, x, small_number(call, most));
    }
    tensor *step = step_at(call, scope, x, type);
    tensor *inverse = gantry_sub(scope, small_integer(call, 0x7F000000),
                                 gantry_bitcast(scope, step, GANTRY_INT32));
    inverse = gantry_bitcast(scope, inverse, GANTRY_FLOAT32);
    tensor *y = gantry_mul(scope, gantry_rint(scope, gantry_mul(scope, x, inverse)), step);
    if (!has_nan) return y;
    if (!saturates)
        y = gantry_select(scope,
                          gantry_greater(scope, gantry_abs(scope, y), small_number(call, most)),
                          small_number(call, NAN), y);
    /* There is one zero. */
    return gantry_select(scope, gantry_equal(scope, y, zero), zero, y);
}
