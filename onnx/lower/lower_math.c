/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic, comparison and bits, where an op of ONNX is not just one of Gantry's. */
#include <math.h>
#include <string.h>

#include <gantry/ops.h>

#include "onnx/lower/chains.h"
#include "onnx/lower/parts.h"

/* The op of operator set 7, whose second operand has the first one's dimensions from axis on; -1:
 * the last ones. */
static gantry_status_t lower_aligned_at(gantry__onnx_call_t *call, int64_t axis) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0), *y = gantry__onnx_input(call, 1);
    const gantry_shape_t *shape = gantry_tensor_shape(x), *own = gantry_tensor_shape(y);
    if (axis == -1) axis = shape->rank - own->rank;
    if (gantry_tensor_elements(y) == 1) axis = shape->rank;
    if (axis < 0 || (own->rank > shape->rank - axis && gantry_tensor_elements(y) != 1))
        return gantry__onnx_invalid(call, "axis %lld for operands of %d and %d dimensions",
                                    (long long)axis, (int)shape->rank, (int)own->rank);
    gantry_shape_t wide = {.rank = shape->rank - (int32_t)axis};
    for (int32_t i = 0; i < wide.rank; ++i) wide.dims[i] = i < own->rank ? own->dims[i] : 1;
    const gantry_tensor_t *const inputs[2] = {x, gantry__onnx_reshape(call, y, wide)};
    if (!inputs[1]) return gantry__onnx_give(call, NULL);
    GANTRY__TRY(gantry__onnx_need_fit(call, "the second operand", inputs[1], x));
    gantry__onnx_call_t inner = *call;
    inner.row = gantry__onnx_find_row("", call->node->op, 7);
    inner.inputs = inputs;
    const gantry_status_t status = inner.row->lower(&inner);
    call->prepared = inner.prepared;
    return status;
}

/* Below operator set 7 the dimensions of the second operand are some of the first one's: from
 * `axis` on, or the last ones. */
gantry_status_t gantry__onnx_lower_aligned(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0), *y = gantry__onnx_input(call, 1);
    GANTRY__TRY(gantry__onnx_need_shape(call, y));
    if (!gantry__onnx_attr_int(call, "broadcast", 0) && gantry_tensor_elements(x) >= 0 &&
        !gantry_shape_equal(gantry_tensor_shape(x), gantry_tensor_shape(y)))
        return gantry__onnx_invalid(call, "operands of two shapes, and broadcast is 0");
    return lower_aligned_at(call, gantry__onnx_attr_int(call, "axis", -1));
}

/* The slope of PRelu broadcasts always; a vector of it is one for each channel. */
gantry_status_t gantry__onnx_lower_aligned_slope(gantry__onnx_call_t *call) {
    const gantry_tensor_t *slope = gantry__onnx_input(call, 1);
    GANTRY__TRY(gantry__onnx_need_shape(call, slope));
    return lower_aligned_at(call, gantry_tensor_shape(slope)->rank == 1 ? 1 : -1);
}

/* Integers that are divided by 0, which ONNX leaves undefined, fail in Gantry. */
gantry_status_t gantry__onnx_lower_mod(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0), *y = gantry__onnx_input(call, 1);
    const int64_t truncates = gantry__onnx_attr_int(call, "fmod", 0);
    if (truncates != 0 && truncates != 1)
        return gantry__onnx_invalid(call, "fmod is %lld; it is 0 or 1", (long long)truncates);
    if (!truncates && gantry__onnx_version(call) < 28 &&
        gantry__onnx_is_floating(gantry_tensor_dtype(x)))
        return gantry__onnx_invalid(call, "fmod is 0; below operator set 28 floats need fmod 1");
    return gantry__onnx_give(call,
                             gantry__onnx_op2(call, truncates ? "TruncateMod" : "FloorMod", x, y));
}

gantry_status_t gantry__onnx_lower_bit_shift(gantry__onnx_call_t *call) {
    const char *direction = gantry__onnx_attr_text(call, "direction", "not given");
    const bool is_left = strcmp(direction, "LEFT") == 0;
    if (!is_left && strcmp(direction, "RIGHT") != 0)
        return gantry__onnx_invalid(call, "direction is %s; it is LEFT or RIGHT", direction);
    return gantry__onnx_give(
        call, gantry__onnx_op_attr(call, is_left ? "LeftShift" : "RightShift",
                                   gantry__onnx_input(call, 0), gantry__onnx_input(call, 1),
                                   GANTRY__ONNX_BOOL_OF("shifts_out", true)));
}

/* Whether y is known to be 2, and x has the shape of the result. */
static bool pow_is_square(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                          const gantry_tensor_t *y) {
    double value = 0;
    return gantry_tensor_elements(y) == 1 &&
           gantry_tensor_shape(y)->rank <= gantry_tensor_shape(x)->rank &&
           gantry__onnx_is_known(call, y) &&
           gantry__onnx_get_double(call, 1, "Y", 0, &value) == GANTRY_OK && value == 2;
}

/* The result has x's type. A power of integers that is a float is computed in float64 and
 * truncated; integers to a negative power fail in Gantry. */
gantry_status_t gantry__onnx_lower_pow(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0), *y = gantry__onnx_input(call, 1);
    if (pow_is_square(call, x, y))
        return gantry__onnx_give(call, gantry__onnx_op1(call, "Square", x));
    const gantry_dtype_t base = gantry_tensor_dtype(x), power = gantry_tensor_dtype(y);
    gantry_dtype_t work = base;
    if (!gantry__onnx_is_floating(base) && base != power)
        work = gantry__onnx_is_floating(power) ? GANTRY_FLOAT64 : GANTRY_INT64;
    const gantry_tensor_t *result = gantry__onnx_op2(call, "Pow", gantry__onnx_cast(call, x, work),
                                                     gantry__onnx_cast(call, y, work));
    return gantry__onnx_give(call, gantry__onnx_cast(call, result, base));
}

/* A bound of Clip: an attribute below operator set 11, then an input. NULL: there is none. */
static gantry_status_t clip_bound(gantry__onnx_call_t *call, size_t i, const char *name,
                                  const gantry_tensor_t **out) {
    if (gantry__onnx_version(call) >= 11) return gantry__onnx_scalar_input(call, i, name, out);
    *out = NULL;
    if (gantry__onnx_find_attr(call->node, name))
        *out = gantry__onnx_make_scalar(call, gantry_tensor_dtype(gantry__onnx_input(call, 0)),
                                        (double)gantry__onnx_attr_float(call, name, 0));
    return GANTRY_OK;
}

/* Not ClipByValue: if min is more than max, each element becomes max. */
gantry_status_t gantry__onnx_lower_clip(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0), *min, *max;
    GANTRY__TRY(clip_bound(call, 1, "min", &min));
    GANTRY__TRY(clip_bound(call, 2, "max", &max));
    if (min) x = gantry__onnx_op2(call, "Maximum", x, min);
    if (max) x = gantry__onnx_op2(call, "Minimum", x, max);
    return gantry__onnx_give(call, x);
}

static const gantry_tensor_t *fold_inputs(gantry__onnx_call_t *call, const char *op) {
    const gantry_tensor_t *folded = gantry__onnx_input(call, 0);
    for (size_t i = 1; i < call->input_count; ++i)
        folded = gantry__onnx_op2(call, op, folded, gantry__onnx_input(call, i));
    return folded;
}

gantry_status_t gantry__onnx_lower_max(gantry__onnx_call_t *call) {
    return gantry__onnx_give(call, fold_inputs(call, "Maximum"));
}

gantry_status_t gantry__onnx_lower_min(gantry__onnx_call_t *call) {
    return gantry__onnx_give(call, fold_inputs(call, "Minimum"));
}

gantry_status_t gantry__onnx_lower_sum(gantry__onnx_call_t *call) {
    return gantry__onnx_give(call, fold_inputs(call, "Add"));
}

gantry_status_t gantry__onnx_lower_mean(gantry__onnx_call_t *call) {
    const gantry_tensor_t *sum = fold_inputs(call, "Add");
    if (call->input_count > 1)
        sum = gantry__onnx_op_number(call, "Div", sum, (double)call->input_count);
    return gantry__onnx_give(call, sum);
}

/* Input 0; a float8 as float32, since no op compares it. */
static const gantry_tensor_t *widened_input(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    return gantry__onnx_is_float8(gantry_tensor_dtype(x))
               ? gantry__onnx_cast(call, x, GANTRY_FLOAT32)
               : x;
}

gantry_status_t gantry__onnx_lower_is_nan(gantry__onnx_call_t *call) {
    return gantry__onnx_give(call, gantry__onnx_op1(call, "IsNan", widened_input(call)));
}

gantry_status_t gantry__onnx_lower_is_inf(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = widened_input(call);
    const bool positive = gantry__onnx_attr_int(call, "detect_positive", 1) != 0,
               negative = gantry__onnx_attr_int(call, "detect_negative", 1) != 0;
    const gantry_tensor_t *result;
    if (positive != negative)
        result = gantry__onnx_op_number(call, "Equal", x,
                                        positive ? (double)INFINITY : -(double)INFINITY);
    else
        result = gantry__onnx_op1(call, "IsInf", x);
    if (!positive && !negative) result = gantry__onnx_op1(call, "ZerosLike", result);
    return gantry__onnx_give(call, result);
}
