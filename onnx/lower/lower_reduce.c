/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, positions of maxima, and running sums. */
#include <string.h>

#include <gantry/ops.h>

#include "onnx/lower/parts.h"

/* A reduction: an op before it and after it, and the op that takes the place of all if it has no
 * axes. */
typedef struct reduce_rule_t {
    const char *name, *before, *op, *after, *without_axes;
    int32_t axes_from;   /* The version from which axes are an input. */
    bool needs_floating; /* Integers are computed in float64. */
} reduce_rule_t;

static const reduce_rule_t reduce_rules[] = {
    {"ReduceSum", NULL, "Sum", NULL, NULL, 13, false},
    {"ReduceMean", NULL, "Mean", NULL, NULL, 18, false},
    {"ReduceMax", NULL, "Max", NULL, NULL, 18, false},
    {"ReduceMin", NULL, "Min", NULL, NULL, 18, false},
    {"ReduceProd", NULL, "Prod", NULL, NULL, 18, false},
    {"ReduceL1", "Abs", "Sum", NULL, "Abs", 18, false},
    {"ReduceL2", NULL, "EuclideanNorm", NULL, "Abs", 18, false},
    {"ReduceSumSquare", "Square", "Sum", NULL, "Square", 18, false},
    {"ReduceLogSum", NULL, "Sum", "Log", "Log", 18, true},
    {"ReduceLogSumExp", NULL, "LogSumExp", NULL, NULL, 18, true}};

static const reduce_rule_t *reduce_rule_of(const char *op) {
    const reduce_rule_t *rule = reduce_rules;
    while (strcmp(rule->name, op) != 0) ++rule;
    return rule;
}

/* The op, if there is one. */
static const gantry_tensor_t *reduce_step(gantry__onnx_call_t *call, const char *op,
                                          const gantry_tensor_t *x) {
    return op ? gantry__onnx_op1(call, op, x) : x;
}

/* The axes of the call; all if it has none, unless noop_with_empty_axes says none. */
static gantry_status_t reduce_axes(gantry__onnx_call_t *call, const reduce_rule_t *rule,
                                   int32_t rank, const int64_t **out_axes, size_t *out_count) {
    static const int64_t all[GANTRY_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    bool is_given = false;
    GANTRY__TRY(gantry__onnx_axes(call, rule->axes_from, 1, (uint32_t)rank, out_axes, out_count,
                                  &is_given));
    if (is_given && *out_count > 0) return GANTRY_OK;
    *out_axes = all;
    *out_count = 0;
    if (gantry__onnx_version(call) < rule->axes_from ||
        gantry__onnx_attr_int(call, "noop_with_empty_axes", 0) == 0)
        *out_count = (size_t)rank;
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_reduce(gantry__onnx_call_t *call) {
    const reduce_rule_t *rule = reduce_rule_of(call->node->op);
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    const gantry_dtype_t dtype = gantry_tensor_dtype(x);
    const int64_t *axes;
    size_t count;
    GANTRY__TRY(reduce_axes(call, rule, gantry_tensor_shape(x)->rank, &axes, &count));
    if (rule->needs_floating && !gantry__onnx_is_floating(dtype))
        x = gantry__onnx_cast(call, x, GANTRY_FLOAT64);
    if (count == 0) {
        x = reduce_step(call, rule->without_axes, x);
    } else {
        x = reduce_step(call, rule->before, x);
        x = gantry__onnx_reduce(call, rule->op, x, axes, count,
                                gantry__onnx_attr_int(call, "keepdims", 1) != 0);
        x = reduce_step(call, rule->after, x);
    }
    return gantry__onnx_give(call, gantry__onnx_cast(call, x, dtype));
}

/* ---- positions ---- */

/* The positions of the last ones: those of the first ones in reverse order, from the end. */
static gantry_status_t arg_last(gantry__onnx_call_t *call, const char *op, int32_t axis,
                                const gantry_tensor_t **out) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    const int64_t last = gantry_tensor_shape(x)->dims[axis] - 1;
    const gantry_tensor_t *places =
        gantry__onnx_op2(call, op, gantry_reverse(call->scope, x, &axis, 1),
                         gantry__onnx_make_scalar(call, GANTRY_INT32, axis));
    *out = gantry__onnx_op2(call, "Sub", gantry__onnx_make_scalar(call, GANTRY_INT64, (double)last),
                            places);
    return GANTRY_OK;
}

static gantry_status_t lower_arg(gantry__onnx_call_t *call, const char *op) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0), *places;
    int64_t axis;
    GANTRY__TRY(gantry__onnx_axis(call, gantry__onnx_attr_int(call, "axis", 0),
                                  (uint32_t)gantry_tensor_shape(x)->rank, &axis));
    if (gantry__onnx_attr_int(call, "select_last_index", 0) != 0)
        GANTRY__TRY(arg_last(call, op, (int32_t)axis, &places));
    else
        places = gantry__onnx_op2(call, op, x,
                                  gantry__onnx_make_scalar(call, GANTRY_INT32, (double)axis));
    if (places && gantry__onnx_attr_int(call, "keepdims", 1) != 0)
        places = gantry_expand_dims(call->scope, places, (int32_t)axis);
    return gantry__onnx_give(call, places);
}

gantry_status_t gantry__onnx_lower_arg_max(gantry__onnx_call_t *call) {
    return lower_arg(call, "ArgMax");
}

gantry_status_t gantry__onnx_lower_arg_min(gantry__onnx_call_t *call) {
    return lower_arg(call, "ArgMin");
}

/* ---- running sums and products ---- */

static gantry_status_t lower_scan_of(gantry__onnx_call_t *call, const char *op) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    int64_t axis;
    GANTRY__TRY(gantry__onnx_get_int(call, 1, "axis", 0, &axis));
    GANTRY__TRY(gantry__onnx_axis(call, axis, (uint32_t)gantry_tensor_shape(x)->rank, &axis));
    const gantry_tensor_t *const inputs[] = {
        x, gantry__onnx_make_scalar(call, GANTRY_INT32, (double)axis)};
    const gantry_attr_value_t attrs[] = {
        GANTRY__ONNX_BOOL_OF("exclusive", gantry__onnx_attr_int(call, "exclusive", 0) != 0),
        GANTRY__ONNX_BOOL_OF("reverse", gantry__onnx_attr_int(call, "reverse", 0) != 0)};
    return gantry__onnx_give(call, gantry__onnx_op(call, op, inputs, 2, attrs, 2));
}

gantry_status_t gantry__onnx_lower_cum_sum(gantry__onnx_call_t *call) {
    return lower_scan_of(call, "Cumsum");
}

gantry_status_t gantry__onnx_lower_cum_prod(gantry__onnx_call_t *call) {
    return lower_scan_of(call, "Cumprod");
}
