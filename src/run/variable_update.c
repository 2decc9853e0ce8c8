/* SPDX-License-Identifier: Apache-2.0 */
/* Updates of several variables by one op, whose first inputs and whose outputs are their values.
 *
 *     at once       the variables' update locks are held from reading to assigning, so that
 *                   concurrent updates all count; they are taken in the order of addresses
 *     in a trace    reads, the op's parts and assignments become nodes
 *
 * All new values exist before the first one is assigned. A value that only its variable holds is
 * overwritten: a kernel that does so begins when nothing else can fail. Meanwhile the variable has
 * no value, and readers wait for its update lock. */
#include <gantry/variable.h>

#include <stdio.h>
#include <string.h>

#include "base/fp_mode.h"
#include "device/logical_device.h"
#include "run/eager.h"
#include "run/trace_hooks.h"
#include "run/variable_state.h"

#define MOST_UPDATED 4

typedef struct update_t {
    const gantry__op_def_t *op;
    gantry_variable_t *const *variables;
    uint32_t count; /* the number of variables */
    size_t input_count;
    const gantry_attr_value_t *attrs;
    size_t attr_count;
    const gantry_tensor_t *inputs[GANTRY__MAX_INPUTS]; /* values of variables first */
} update_t;

/* ---- checks ---- */

static gantry_status_t find_update(const char *name, const gantry__op_def_t **out_op) {
    const uint32_t flags = GANTRY__OP_VARIABLE | GANTRY__OP_COMPOSED;
    if (!name) return gantry__refuse("gantry_variable_update: the op's name is NULL");
    *out_op = gantry__op_find(name);
    if (!*out_op) return gantry__fail(GANTRY_NOT_FOUND, "Op type not registered '%s'", name);
    if (((*out_op)->flags & flags) == flags) return GANTRY_OK;
    return gantry__refuse(
        "op %s updates no variables; ops whose names begin with ResourceApply or ResourceScatter are accepted",
        name);
}

static gantry_status_t check_variable(const gantry_scope_t *scope, const update_t *update,
                                      uint32_t i) {
    const char *op = update->op->name, *place = update->op->inputs[i].name;
    const gantry_variable_t *variable = update->variables[i], *first = update->variables[0];
    if (!variable) return gantry__refuse("op %s: variable %u (%s) is NULL", op, i, place);
    if (variable->runtime != scope->runtime)
        return gantry__refuse("op %s: variable %s (%s) belongs to another runtime", op,
                              variable->name, place);
    if (variable->device != first->device)
        return gantry__refuse(
            "op %s: variable %s (%s) lives on %s and %s (%s) on %s; variables of one device are accepted",
            op, variable->name, place, variable->device->name, first->name,
            update->op->inputs[0].name, first->device->name);
    for (uint32_t k = 0; k < i; ++k) {
        if (update->variables[k] == variable)
            return gantry__refuse(
                "op %s: variable %s is given as %s and as %s; different variables are accepted", op,
                variable->name, update->op->inputs[k].name, place);
    }
    return GANTRY_OK;
}

static gantry_status_t check_update(const gantry_scope_t *scope, const update_t *update,
                                    size_t variable_count, const void *inputs) {
    const gantry__op_def_t *op = update->op;
    if (variable_count != op->output_count)
        return gantry__refuse("op %s updates %u variables, from %s to %s; %zu are given", op->name,
                              op->output_count, op->inputs[0].name,
                              op->inputs[op->output_count - 1].name, variable_count);
    if (!update->variables || (!inputs && update->input_count > 0) ||
        (!update->attrs && update->attr_count > 0))
        return gantry__refuse(
            "op %s: %s is NULL; an array with as many entries as its count is accepted", op->name,
            !update->variables ? "variables"
            : !inputs          ? "inputs"
                               : "attrs");
    if (update->input_count > GANTRY__MAX_INPUTS - MOST_UPDATED)
        return gantry__refuse("op %s is given %zu inputs; it takes %u", op->name,
                              update->input_count, op->input_count - op->output_count);
    for (uint32_t i = 0; i < update->count; ++i) GANTRY__TRY(check_variable(scope, update, i));
    return GANTRY_OK;
}

/* ---- running it ---- */

/* Runs the update in the inner scope, which fails with its message. */
static gantry_status_t run_update(gantry_scope_t *inner, const update_t *update,
                                  const gantry_tensor_t **results) {
    return gantry__run_op(
        inner,
        &(gantry__op_request_t){.op = update->op,
                                .inputs = update->inputs,
                                .input_count = update->count + update->input_count,
                                .attrs = update->attrs,
                                .attr_count = update->attr_count,
                                .outputs = results,
                                .room = update->count},
        NULL);
}

static gantry_status_t record_update(gantry_scope_t *outer, gantry_scope_t *inner,
                                     update_t *update) {
    const gantry__op_def_t *assign = gantry__op_get(GANTRY__OP_ID_AssignVariableOp);
    const gantry_tensor_t *results[MOST_UPDATED];
    for (uint32_t i = 0; i < update->count; ++i) {
        gantry_tensor_t *value;
        GANTRY__TRY(gantry__trace_read(inner, update->variables[i], &value));
        gantry__scope_adopt(inner, value);
        update->inputs[i] = value;
    }
    (void)snprintf(inner->next_name, sizeof inner->next_name, "%s", outer->next_name);
    outer->next_name[0] = '\0';
    GANTRY__TRY(run_update(inner, update, results));
    for (uint32_t i = 0; i < update->count; ++i)
        GANTRY__TRY(gantry__trace_assign(inner, assign, update->variables[i], results[i], NULL));
    return GANTRY_OK;
}

/* Sorts variables into the order in which all threads must lock them. */
static void sort_variables(const update_t *update, gantry_variable_t **sorted) {
    for (uint32_t i = 0; i < update->count; ++i) {
        uint32_t at = i;
        for (; at > 0 && sorted[at - 1] > update->variables[i]; --at) sorted[at] = sorted[at - 1];
        sorted[at] = update->variables[i];
    }
}

static gantry_status_t compute_values(gantry_scope_t *inner, update_t *update,
                                      gantry_tensor_t **values) {
    const gantry_tensor_t *results[MOST_UPDATED];
    GANTRY__TRY(run_update(inner, update, results));
    for (uint32_t i = 0; i < update->count; ++i)
        GANTRY__TRY(
            gantry__variable_own(inner, results[i], update->variables[i]->device, &values[i]));
    return GANTRY_OK;
}

static gantry_status_t update_now(gantry_scope_t *inner, update_t *update) {
    gantry_variable_t *sorted[MOST_UPDATED] = {NULL};
    gantry_tensor_t *present[MOST_UPDATED] = {NULL}, *values[MOST_UPDATED] = {NULL};
    sort_variables(update, sorted);
    for (uint32_t i = 0; i < update->count; ++i) gantry__mutex_lock(&sorted[i]->update);
    for (uint32_t i = 0; i < update->count; ++i) {
        bool is_alone;
        update->inputs[i] = present[i] = gantry__variable_withdraw(update->variables[i], &is_alone);
        inner->overwritten |= (uint32_t)is_alone << i;
    }
    gantry_status_t status = compute_values(inner, update, values);
    for (uint32_t i = 0; i < update->count; ++i) {
        const bool is_new = status == GANTRY_OK;
        gantry__variable_put(update->variables[i], is_new ? values[i] : present[i]);
        gantry_tensor_release(is_new ? present[i] : values[i]);
    }
    for (uint32_t i = update->count; i-- > 0;) gantry__mutex_unlock(&sorted[i]->update);
    return status;
}

static gantry_status_t update_all(gantry_scope_t *scope, update_t *update) {
    gantry_scope_t inner;
    gantry_status_t status =
        gantry__scope_begin_update(&inner, scope, update->op, update->variables[0]->device);
    if (status == GANTRY_OK)
        status = scope->trace ? record_update(scope, &inner, update) : update_now(&inner, update);
    if (inner.status != GANTRY_OK)
        status = gantry__fail(inner.status, "variable %s: %s", update->variables[0]->name,
                              gantry_scope_message(&inner));
    gantry__scope_end_parts(&inner);
    return status;
}

gantry_status_t gantry_variable_update(gantry_scope_t *scope, const char *op,
                                       gantry_variable_t *const *variables, size_t variable_count,
                                       const gantry_tensor_t *const *inputs, size_t input_count,
                                       const gantry_attr_value_t *attrs, size_t attr_count) {
    GANTRY__OWN_FP_MODE(fp);
    update_t update = {.variables = variables,
                       .input_count = input_count,
                       .attrs = attrs,
                       .attr_count = attr_count};
    gantry_status_t status = gantry__scope_check(scope);
    if (status != GANTRY_OK) return status;
    status = find_update(op, &update.op);
    if (status == GANTRY_OK) {
        update.count = update.op->output_count;
        status = check_update(scope, &update, variable_count, inputs);
    }
    if (status == GANTRY_OK && input_count > 0)
        memcpy(update.inputs + update.count, inputs, input_count * sizeof *inputs);
    if (status == GANTRY_OK) status = update_all(scope, &update);
    return gantry__scope_fail(scope, status);
}
