/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions. Floats become integers by truncation and saturate, and NaN becomes 0, which ONNX
 * leaves undefined; integers wrap; bool is x != 0. Integers of 4 and 2 bits are in integers of
 * 8. */
#include <gantry/ops.h>

#include "onnx/lower/small_float.h"

/* x within the finite numbers of a float8, for `saturate`. */
static const gantry_tensor_t *cast_clamped(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                           gantry_dtype_t dtype) {
    const double most = dtype == GANTRY_FLOAT8_E4M3FN ? 448 : 57344;
    if (!gantry__onnx_is_floating(gantry_tensor_dtype(x)))
        x = gantry__onnx_cast(call, x, GANTRY_FLOAT32);
    x = gantry__onnx_op_number(call, "Maximum", x, -most);
    return gantry__onnx_op_number(call, "Minimum", x, most);
}

static gantry_status_t cast_to(gantry__onnx_call_t *call, gantry_dtype_t dtype) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    if (gantry__onnx_is_float8(dtype) && gantry_tensor_dtype(x) != dtype &&
        gantry__onnx_attr_int(call, "saturate", 1) != 0)
        x = cast_clamped(call, x, dtype);
    return gantry__onnx_give(call, gantry__onnx_cast(call, x, dtype));
}

/* Integers of few bits. */
typedef struct cast_few_t {
    int32_t number;       /* ONNX's, of the type */
    gantry_dtype_t dtype; /* that holds them */
    int bits;
    bool is_signed;
} cast_few_t;

static const cast_few_t *cast_find_few(int64_t number) {
    static const cast_few_t all[] = {{21, GANTRY_UINT8, 4, false},
                                     {22, GANTRY_INT8, 4, true},
                                     {25, GANTRY_UINT8, 2, false},
                                     {26, GANTRY_INT8, 2, true}};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        if (all[i].number == number) return &all[i];
    return NULL;
}

/* To ONNX's type with this number; dtype holds its elements. The lowest bits of an integer stay. */
static gantry_status_t cast_to_number(gantry__onnx_call_t *call, int64_t number,
                                      gantry_dtype_t dtype) {
    const cast_few_t *few = cast_find_few(number);
    const gantry__onnx_small_float_t *small = gantry__onnx_small_float(number);
    if (small)
        return gantry__onnx_give(
            call, gantry__onnx_round_small(call, call->scope, gantry__onnx_input(call, 0), small,
                                           gantry__onnx_attr_int(call, "saturate", 1) != 0));
    if (!few) return cast_to(call, dtype);
    const double count = 1 << few->bits;
    const gantry_tensor_t *x = gantry__onnx_cast(call, gantry__onnx_input(call, 0), GANTRY_INT32);
    x = gantry__onnx_op_number(call, "BitwiseAnd", x, count - 1);
    if (few->is_signed) {
        x = gantry__onnx_op_number(call, "BitwiseXor", x, count / 2);
        x = gantry__onnx_op_number(call, "Sub", x, count / 2);
    }
    return gantry__onnx_give(call, gantry__onnx_cast(call, x, few->dtype));
}

gantry_status_t gantry__onnx_lower_cast(gantry__onnx_call_t *call) {
    const int64_t number = gantry__onnx_attr_int(call, "to", 0);
    gantry_dtype_t dtype = GANTRY_DTYPE_NONE;
    if (!cast_find_few(number) && !gantry__onnx_small_float(number)) {
        GANTRY__TRY(gantry__onnx_attr_dtype(call, "to", GANTRY_DTYPE_NONE, &dtype));
        if (dtype == GANTRY_DTYPE_NONE) return gantry__onnx_invalid(call, "to is not given");
    }
    return cast_to_number(call, number, dtype);
}

gantry_status_t gantry__onnx_lower_cast_like(gantry__onnx_call_t *call) {
    return cast_to_number(call, gantry__onnx_input_type(call, 1),
                          gantry_tensor_dtype(gantry__onnx_input(call, 1)));
}

gantry_status_t gantry__onnx_lower_bit_cast(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    const gantry_dtype_t from = gantry_tensor_dtype(x);
    const int32_t number = gantry__onnx_input_type(call, 0);
    const char *name = NULL;
    gantry_dtype_t to;
    GANTRY__TRY(gantry__onnx_attr_dtype(call, "to", GANTRY_DTYPE_NONE, &to));
    if (number && gantry__onnx_dtype(number, &name) == GANTRY_DTYPE_NONE)
        return gantry__onnx_unsupported(call, "the bits of %s", name);
    if (to == GANTRY_DTYPE_NONE) return gantry__onnx_invalid(call, "to is not given");
    if (gantry_dtype_size(from) != gantry_dtype_size(to))
        return gantry__onnx_invalid(call, "elements of %s have another size than %s",
                                    gantry_dtype_name(from), gantry_dtype_name(to));
    if (from == to) return gantry__onnx_give(call, x);
    if (to == GANTRY_BOOL) /* Only 0 and 1 are bools. */
        x = gantry__onnx_op_number(call, "NotEqual", gantry_bitcast(call->scope, x, GANTRY_UINT8),
                                   0);
    else if (from == GANTRY_BOOL)
        x = gantry__onnx_cast(call, gantry__onnx_cast(call, x, GANTRY_UINT8), to);
    else
        x = gantry_bitcast(call->scope, x, to);
    return gantry__onnx_give(call, x);
}
