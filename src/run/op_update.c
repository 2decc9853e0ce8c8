/* SPDX-License-Identifier: Apache-2.0 */
/* Updates of values that a program keeps outside of variables: the op's results replace its first
 * inputs, over their memory where nobody else holds it. */
#include <gantry/op.h>

#include <string.h>

#include "base/fp_mode.h"
#include "run/eager.h"
#include "run/variable_state.h"

#define MOST_VALUES 4

typedef struct replacement_t {
    const gantry__op_def_t *op;
    gantry_tensor_t **values;
    size_t value_count, input_count;
    const gantry_attr_value_t *attrs;
    size_t attr_count;
    const gantry_tensor_t *inputs[GANTRY__MAX_INPUTS]; /* values first */
} replacement_t;

static gantry_status_t find_replacement(const char *name, const gantry__op_def_t **out_op) {
    if (!name) return gantry__refuse("gantry_op_update: the op's name is NULL");
    *out_op = gantry__op_find(name);
    if (!*out_op) return gantry__fail(GANTRY_NOT_FOUND, "Op type not registered '%s'", name);
    if (!((*out_op)->flags & GANTRY__OP_SEQUENCED)) return GANTRY_OK;
    return gantry__refuse("op %s is not called by name; the functions of variable.h run it", name);
}

static gantry_status_t check_value(const gantry_scope_t *scope, const replacement_t *call,
                                   size_t i) {
    const gantry_tensor_t *value = call->values[i];
    if (!value)
        return gantry__refuse("op %s: value %zu is NULL; a tensor is accepted", call->op->name, i);
    if (value->runtime != scope->runtime)
        return gantry__refuse("op %s: value %zu belongs to another runtime", call->op->name, i);
    return value->is_symbolic ? gantry__tensor_fail_symbolic(value) : GANTRY_OK;
}

static gantry_status_t check_replacement(const gantry_scope_t *scope, const replacement_t *call,
                                         const void *inputs) {
    const char *op = call->op->name;
    if (scope->trace)
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "op %s updates tensors while a function is traced; the body updates variables", op);
    if (call->value_count < 1 || call->value_count > MOST_VALUES)
        return gantry__refuse("op %s: %zu values are given; 1 to %d are accepted", op,
                              call->value_count, MOST_VALUES);
    if (!call->values || (!inputs && call->input_count > 0) ||
        (!call->attrs && call->attr_count > 0))
        return gantry__refuse(
            "op %s: %s is NULL; an array with as many entries as its count is accepted", op,
            !call->values                      ? "values"
            : !inputs && call->input_count > 0 ? "inputs"
                                               : "attrs");
    if (call->input_count > GANTRY__MAX_INPUTS - MOST_VALUES)
        return gantry__refuse("op %s: %zu inputs are given; at most %d are", op, call->input_count,
                              GANTRY__MAX_INPUTS - MOST_VALUES);
    for (size_t i = 0; i < call->value_count; ++i) GANTRY__TRY(check_value(scope, call, i));
    return GANTRY_OK;
}

static gantry_status_t replacement_check_result(const replacement_t *call,
                                                const gantry_tensor_t *result, size_t i) {
    const gantry_tensor_t *value = call->values[i];
    if (result->dtype == value->dtype && gantry_shape_equal(&result->shape, &value->shape))
        return GANTRY_OK;
    return gantry__refuse(
        "op %s: output %zu has not the type and shape of input %zu, in whose place it is to be",
        call->op->name, i, i);
}

/* Replaces the values: all new ones exist before the first one is in its place. */
static gantry_status_t replace_values(gantry_scope_t *inner, const replacement_t *call) {
    const gantry_tensor_t *results[GANTRY__MAX_OUTPUTS];
    gantry_tensor_t *own[MOST_VALUES] = {NULL};
    size_t count;
    /* with an output too few the call fails after the kernel, and the values stay */
    for (size_t i = 0; i < call->value_count && call->op->output_count >= call->value_count; ++i)
        inner->overwritten |= (uint32_t)gantry__tensor_is_sole(call->values[i]) << i;
    GANTRY__TRY(
        gantry__run_op(inner,
                       &(gantry__op_request_t){.op = call->op,
                                               .inputs = call->inputs,
                                               .input_count = call->value_count + call->input_count,
                                               .attrs = call->attrs,
                                               .attr_count = call->attr_count,
                                               .outputs = results,
                                               .room = GANTRY__MAX_OUTPUTS},
                       &count));
    gantry_status_t status = GANTRY_OK;
    if (count < call->value_count)
        status = gantry__refuse("op %s has %zu outputs for %zu values to replace", call->op->name,
                                count, call->value_count);
    for (size_t i = 0; i < call->value_count && status == GANTRY_OK; ++i) {
        status = replacement_check_result(call, results[i], i);
        if (status == GANTRY_OK)
            status = gantry__variable_own(inner, results[i], call->values[i]->device, &own[i]);
    }
    for (size_t i = 0; i < call->value_count; ++i) {
        gantry_tensor_release(status == GANTRY_OK ? call->values[i] : own[i]);
        if (status == GANTRY_OK) call->values[i] = own[i];
    }
    return status;
}

static gantry_status_t run_replacement(gantry_scope_t *scope, const replacement_t *call) {
    gantry_scope_t inner;
    gantry_status_t status =
        gantry__scope_begin_update(&inner, scope, call->op, call->values[0]->device);
    if (status == GANTRY_OK) status = replace_values(&inner, call);
    if (inner.status != GANTRY_OK)
        status = gantry__fail(inner.status, "%s", gantry_scope_message(&inner));
    gantry__scope_end_parts(&inner);
    return status;
}

gantry_status_t gantry_op_update(gantry_scope_t *scope, const char *name, gantry_tensor_t **values,
                                 size_t value_count, const gantry_tensor_t *const *inputs,
                                 size_t input_count, const gantry_attr_value_t *attrs,
                                 size_t attr_count) {
    GANTRY__OWN_FP_MODE(fp);
    replacement_t call = {.values = values,
                          .value_count = value_count,
                          .input_count = input_count,
                          .attrs = attrs,
                          .attr_count = attr_count};
    gantry_status_t status = gantry__scope_check(scope);
    if (status != GANTRY_OK) return status;
    status = find_replacement(name, &call.op);
    if (status == GANTRY_OK) status = check_replacement(scope, &call, inputs);
    if (status == GANTRY_OK) {
        for (size_t i = 0; i < value_count; ++i) call.inputs[i] = values[i];
        if (input_count > 0)
            memcpy(call.inputs + value_count, inputs, input_count * sizeof *inputs);
        status = run_replacement(scope, &call);
    }
    return gantry__scope_fail(scope, status);
}
