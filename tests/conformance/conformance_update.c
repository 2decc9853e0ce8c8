/* SPDX-License-Identifier: Apache-2.0 */
/* Golden cases of ops that update variables, with variables: at once and in a function, they get
 * the bits that the op on tensors gives. */
#include <string.h>

#include "conformance.h"

#define MOST_VARIABLES 4

typedef struct updated_t {
    const golden_case_t *item;
    gantry_variable_t *variables[MOST_VARIABLES];
    size_t count;
} updated_t;

static gantry_status_t update(gantry_scope_t *scope, const updated_t *updated,
                              const gantry_tensor_t *const *others) {
    gantry_attr_value_t attrs[CONFORMANCE_MAX_ATTRS];
    const size_t attr_count = conformance_make_attrs(updated->item, attrs);
    return gantry_variable_update(scope, updated->item->op, updated->variables, updated->count,
                                  others, updated->item->input_count - updated->count, attrs,
                                  attr_count);
}

static void updating(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)update(scope, user, inputs);
    outputs[0] = inputs[0];
}

static gantry_status_t update_in_function(conformance_t *c, gantry_scope_t *scope,
                                          updated_t *updated,
                                          const gantry_tensor_t *const *others) {
    const size_t count = updated->item->input_count - updated->count;
    gantry_input_spec_t specs[CONFORMANCE_MAX_INPUTS];
    gantry_function_t *function;
    const gantry_tensor_t *output;
    for (size_t i = 0; i < count; ++i) {
        const golden_tensor_t *given = &updated->item->inputs[updated->count + i];
        specs[i] = (gantry_input_spec_t){.dtype = given->dtype, .shape = given->shape};
    }
    gantry_status_t status = gantry_function_trace(c->runtime, "update", updating, updated, specs,
                                                   count, 1, NULL, &function);
    if (status != GANTRY_OK) {
        conformance_fail(c, "tracing the update: %s", conformance_last_error(status));
        return status;
    }
    status = gantry_function_call(scope, function, others, count, &output, 1);
    gantry_function_release(function);
    return status;
}

static void check_values(conformance_t *c, gantry_scope_t *scope, const updated_t *updated,
                         const char *what, const golden_tensor_t *results) {
    for (size_t i = 0; i < updated->count; ++i) {
        golden_tensor_t got = {0};
        gantry_status_t status =
            conformance_read(gantry_variable_read(scope, updated->variables[i]), &got);
        if (status == GANTRY_OK)
            conformance_check_same(c, what, &results[i], &got);
        else
            conformance_fail(c, "%s, variable %zu: %s", what, i, conformance_last_error(status));
        conformance_free_outputs(&got, 1);
    }
}

/* No other tensor holds their values, so that these are overwritten. */
static void make_variables(conformance_t *c, updated_t *updated) {
    gantry_scope_t *scope = conformance_scope(c);
    for (size_t i = 0; i < updated->count; ++i) {
        const golden_tensor_t *given = &updated->item->inputs[i];
        updated->variables[i] = gantry_variable_create(
            scope, gantry_constant(scope, given->dtype, given->shape, given->data, given->bytes),
            updated->item->op);
    }
    conformance_end_scope(c, scope, GANTRY_OK);
}

static void run_update(conformance_t *c, gantry_scope_t *scope, const golden_case_t *item,
                       const gantry_tensor_t *const *inputs, bool in_function,
                       const golden_tensor_t *results) {
    updated_t updated = {.item = item, .count = item->output_count};
    const char *what = in_function ? "an update in a function" : "an update at once";
    make_variables(c, &updated);
    const gantry_tensor_t *const *others = inputs + updated.count;
    gantry_status_t status = in_function ? update_in_function(c, scope, &updated, others)
                                         : update(scope, &updated, others);
    CHECK(c, status == GANTRY_OK, "%s failed: %s", what, gantry_scope_message(scope));
    if (status == GANTRY_OK) check_values(c, scope, &updated, what, results);
    for (size_t i = 0; i < updated.count; ++i) gantry_variable_release(updated.variables[i]);
}

void conformance_check_update(conformance_t *c, gantry_scope_t *scope, const golden_case_t *item,
                              const gantry_tensor_t *const *inputs,
                              const golden_tensor_t *results) {
    if (strncmp(item->op, "ResourceApply", strlen("ResourceApply")) != 0 &&
        strncmp(item->op, "ResourceScatter", strlen("ResourceScatter")) != 0)
        return;
    run_update(c, scope, item, inputs, false, results);
    run_update(c, scope, item, inputs, true, results);
}
