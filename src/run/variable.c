/* SPDX-License-Identifier: Apache-2.0 */
/* Variables: a counted slot that holds a tensor. Reading takes the present tensor, which no
 * assignment changes; assigning swaps in a new one.
 *
 * assign_add and assign_sub run Add and Sub on the variable's device. They hold the variable's
 * update lock from reading to swapping, so that concurrent updates by two threads both count. */
#include <gantry/variable.h>

#include <string.h>

#include "base/fp_mode.h"
#include "memory/allocator.h"
#include "run/dispatch.h"
#include "run/eager.h"
#include "run/observe.h"
#include "run/trace_hooks.h"
#include "run/variable_state.h"

#include "ops/type_rows.h"

static bool lives_on_cpu_only(gantry_dtype_t dtype) {
    return dtype != GANTRY_INT64 && GANTRY__TYPE_IS(dtype, INTEGERS);
}

/* Tensors are immutable, so one that is there already is shared. */
gantry_status_t gantry__variable_own(const gantry_scope_t *scope, const gantry_tensor_t *value,
                                     gantry_logical_device_t *device, gantry_tensor_t **out_value) {
    const gantry__allocation_t purpose = {.owner = "AssignVariableOp", .tag = scope->tag};
    if (value->device != device) return gantry__tensor_copy_to(value, device, &purpose, out_value);
    *out_value = gantry_tensor_retain(value);
    return GANTRY_OK;
}

static gantry_status_t init_variable(gantry_variable_t *variable, gantry_scope_t *scope,
                                     const gantry_tensor_t *initial, const char *name) {
    variable->runtime = scope->runtime;
    variable->dtype = initial->dtype;
    variable->shape = initial->shape;
    GANTRY__TRY(gantry__place_core_op(scope, GANTRY__OP_ID_VarHandleOp, "VarHandleOp",
                                      initial->dtype, lives_on_cpu_only(initial->dtype), NULL,
                                      &variable->device));
    variable->name = gantry__heap_strdup(&scope->runtime->heap, name ? name : "Variable");
    if (!variable->name) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_logical_device_t *device;
    GANTRY__TRY(gantry__place_core_op(scope, GANTRY__OP_ID_AssignVariableOp, "AssignVariableOp",
                                      initial->dtype, false, variable->device, &device));
    return gantry__variable_own(scope, initial, variable->device, &variable->value);
}

static gantry_status_t variable_check_value(const gantry_scope_t *scope,
                                            const gantry_variable_t *variable,
                                            const gantry_tensor_t *value, const char *op) {
    if (!variable) return gantry__refuse("op %s: the variable is NULL", op);
    if (variable->runtime != scope->runtime)
        return gantry__refuse("op %s: variable %s belongs to another runtime", op, variable->name);
    if (!value)
        return gantry__refuse("op %s: the value for variable %s is NULL", op, variable->name);
    if (value->runtime != scope->runtime)
        return gantry__refuse("op %s: the value belongs to another runtime", op);
    if (value->is_symbolic) GANTRY__TRY(gantry__trace_check_input(scope, value, op, 0));
    if (value->dtype != variable->dtype) {
        return gantry__refuse("Trying to assign variable %s with wrong dtype. Expected %s got %s",
                              variable->name, gantry_dtype_name(variable->dtype),
                              gantry_dtype_name(value->dtype));
    }
    if (!gantry_shape_equal(&value->shape, &variable->shape)) {
        char expected[GANTRY_MAX_RANK * 21 + 3], got[GANTRY_MAX_RANK * 21 + 3];
        (void)gantry_shape_format(&variable->shape, expected, sizeof expected);
        (void)gantry_shape_format(&value->shape, got, sizeof got);
        return gantry__refuse(
            "Cannot update variable %s with shape %s using a Tensor with shape %s, shapes must be equal.",
            variable->name, expected, got);
    }
    return GANTRY_OK;
}

static void variable_destroy(gantry_variable_t *variable) {
    gantry_runtime_t *runtime = variable->runtime;
    gantry_tensor_release(variable->value);
    gantry__heap_free_text(&runtime->heap, variable->name);
    gantry__mutex_deinit(&variable->update);
    gantry__mutex_deinit(&variable->lock);
    gantry__heap_free(&runtime->heap, variable, sizeof *variable);
    gantry__runtime_drop(runtime, 1);
}

static gantry_status_t variable_make(gantry_scope_t *scope, const gantry_tensor_t *initial,
                                     const char *name, gantry_variable_t **out_variable) {
    GANTRY__RECORD(recorded, scope->runtime, GANTRY__OP_ID_VarHandleOp, NULL);
    if (!initial || initial->runtime != scope->runtime) {
        return gantry__refuse("variable %s: the initial value is %s", name ? name : "Variable",
                              initial ? "a tensor of another runtime" : "NULL");
    }
    if (scope->trace)
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "variable %s is created while a function is traced; create variables before, and read and assign them in the body",
            name ? name : "Variable");
    if (initial->is_symbolic) return gantry__tensor_fail_symbolic(initial);
    gantry_variable_t *variable = gantry__heap_zalloc(&scope->runtime->heap, sizeof *variable);
    if (!variable) return GANTRY_RESOURCE_EXHAUSTED;
    if (gantry__mutex_init(&variable->update) != 0 || gantry__mutex_init(&variable->lock) != 0) {
        gantry__heap_free(&scope->runtime->heap, variable, sizeof *variable);
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
    }
    gantry__runtime_retain(scope->runtime, 1);
    gantry_status_t status = init_variable(variable, scope, initial, name);
    if (status != GANTRY_OK) {
        variable_destroy(variable);
        return status;
    }
    atomic_init(&variable->references, 1);
    recorded.device = variable->device;
    *out_variable = variable;
    return GANTRY_OK;
}

gantry_variable_t *gantry_variable_create(gantry_scope_t *scope, const gantry_tensor_t *initial,
                                          const char *name) {
    GANTRY__OWN_FP_MODE(fp);
    gantry_status_t status = gantry__scope_check(scope);
    if (status != GANTRY_OK) return NULL;
    gantry_variable_t *variable = NULL;
    status = variable_make(scope, initial, name, &variable);
    if (status != GANTRY_OK) (void)gantry__scope_fail(scope, status);
    return variable;
}

void gantry_variable_release(gantry_variable_t *variable) {
    if (!variable || !gantry__fork_guard_ask(&variable->runtime->fork)) return;
    if (atomic_fetch_sub(&variable->references, 1) == 1) variable_destroy(variable);
}

gantry_dtype_t gantry_variable_dtype(const gantry_variable_t *variable) {
    return variable ? variable->dtype : GANTRY_DTYPE_NONE;
}

const gantry_shape_t *gantry_variable_shape(const gantry_variable_t *variable) {
    static const gantry_shape_t none = {.rank = 0};
    return variable ? &variable->shape : &none;
}

const gantry_logical_device_t *gantry_variable_device(const gantry_variable_t *variable) {
    return variable ? variable->device : NULL;
}

const char *gantry_variable_name(const gantry_variable_t *variable) {
    return variable ? variable->name : "";
}

uint64_t gantry_variable_assignments(const gantry_scope_t *scope, gantry_variable_t *variable) {
    if (!variable) return 0;
    if (scope && scope->trace) return gantry__trace_assignments(scope, variable);
    gantry__mutex_lock(&variable->lock);
    const uint64_t count = variable->assignments;
    gantry__mutex_unlock(&variable->lock);
    return count;
}

gantry_variable_t *gantry__variable_retain(gantry_variable_t *variable) {
    atomic_fetch_add(&variable->references, 1);
    return variable;
}

gantry_logical_device_t *gantry__variable_home(const gantry_variable_t *variable) {
    return variable->device;
}

static gantry_tensor_t *retain_value(gantry_variable_t *variable) {
    gantry__mutex_lock(&variable->lock);
    gantry_tensor_t *value = gantry_tensor_retain(variable->value);
    gantry__mutex_unlock(&variable->lock);
    return value;
}

gantry_tensor_t *gantry__variable_take(gantry_variable_t *variable) {
    gantry_tensor_t *value = retain_value(variable);
    while (!value) { /* until the update that overwrites it has ended */
        gantry__mutex_lock(&variable->update);
        value = retain_value(variable);
        gantry__mutex_unlock(&variable->update);
    }
    return value;
}

gantry_tensor_t *gantry__variable_withdraw(gantry_variable_t *variable, bool *out_is_alone) {
    gantry__mutex_lock(&variable->lock);
    gantry_tensor_t *value = variable->value;
    *out_is_alone = gantry__tensor_is_sole(value);
    if (*out_is_alone) {
        variable->value = NULL;
    } else {
        (void)gantry_tensor_retain(value);
    }
    gantry__mutex_unlock(&variable->lock);
    return value;
}

bool gantry__variable_try_withdraw(gantry_variable_t *variable, gantry_tensor_t *value) {
    if (!gantry__mutex_try_lock(&variable->update)) return false;
    gantry__mutex_lock(&variable->lock);
    bool is_alone = variable->value == value;
    if (is_alone) {
        gantry_tensor_release(value);
        is_alone = gantry__tensor_is_sole(value);
        variable->value = is_alone ? NULL : gantry_tensor_retain(value);
    }
    gantry__mutex_unlock(&variable->lock);
    if (!is_alone) gantry__mutex_unlock(&variable->update);
    return is_alone;
}

void gantry__variable_put(gantry_variable_t *variable, gantry_tensor_t *value) {
    gantry__mutex_lock(&variable->lock);
    gantry_tensor_t *old = variable->value;
    variable->value = value;
    ++variable->assignments;
    gantry__mutex_unlock(&variable->lock);
    gantry_tensor_release(old);
}

void gantry__variable_replace(gantry_variable_t *variable, gantry_tensor_t *value) {
    gantry__mutex_lock(&variable->update);
    gantry__variable_put(variable, value);
    gantry__mutex_unlock(&variable->update);
}

static gantry_status_t take_value(gantry_scope_t *scope, gantry_variable_t *variable,
                                  gantry_tensor_t **out_tensor) {
    GANTRY__RECORD(recorded, scope->runtime, GANTRY__OP_ID_ReadVariableOp,
                   gantry_variable_device(variable));
    if (!variable) return gantry__refuse("op ReadVariableOp: the variable is NULL");
    if (variable->runtime != scope->runtime)
        return gantry__refuse("op ReadVariableOp: variable %s belongs to another runtime",
                              variable->name);
    if (scope->trace) return gantry__trace_read(scope, variable, out_tensor);
    gantry_logical_device_t *device;
    GANTRY__TRY(gantry__place_core_op(scope, GANTRY__OP_ID_ReadVariableOp, "ReadVariableOp",
                                      variable->dtype, false, variable->device, &device));
    gantry_tensor_t *value = gantry__variable_take(variable);
    gantry_status_t status =
        /* an object of the scope's own, over the same memory */
        gantry__tensor_alias(scope, value, &value->shape, out_tensor);
    if (status == GANTRY_OK) status = gantry__tensor_inherit_faults(*out_tensor, value);
    gantry_tensor_release(value);
    if (status != GANTRY_OK) gantry_tensor_release(*out_tensor);
    return status;
}

const gantry_tensor_t *gantry_variable_read(gantry_scope_t *scope, gantry_variable_t *variable) {
    GANTRY__OWN_FP_MODE(fp);
    gantry_status_t status = gantry__scope_check(scope);
    if (status != GANTRY_OK) return NULL;
    gantry_tensor_t *tensor = NULL;
    status = take_value(scope, variable, &tensor);
    if (status != GANTRY_OK) {
        (void)gantry__scope_fail(scope, status);
        return NULL;
    }
    gantry__scope_adopt(scope, tensor);
    if (scope->observer)
        (void)gantry__scope_fail(scope, gantry__observe_read(scope, variable, tensor));
    return tensor;
}

static gantry_status_t variable_set_value(gantry_scope_t *scope, gantry_variable_t *variable,
                                          const gantry_tensor_t *value) {
    GANTRY__RECORD(recorded, scope->runtime, GANTRY__OP_ID_AssignVariableOp,
                   gantry_variable_device(variable));
    GANTRY__TRY(variable_check_value(scope, variable, value, "AssignVariableOp"));
    if (scope->trace)
        return gantry__trace_assign(scope, gantry__op_get(GANTRY__OP_ID_AssignVariableOp), variable,
                                    value, NULL);
    gantry_logical_device_t *device;
    GANTRY__TRY(gantry__place_core_op(scope, GANTRY__OP_ID_AssignVariableOp, "AssignVariableOp",
                                      variable->dtype, false, variable->device, &device));
    gantry_tensor_t *own;
    GANTRY__TRY(gantry__variable_own(scope, value, variable->device, &own));
    gantry__variable_replace(variable, own);
    return GANTRY_OK;
}

gantry_status_t gantry_variable_assign(gantry_scope_t *scope, gantry_variable_t *variable,
                                       const gantry_tensor_t *value) {
    GANTRY__OWN_FP_MODE(fp);
    gantry_status_t status = gantry__scope_check(scope);
    if (status != GANTRY_OK) return status;
    return gantry__scope_fail(scope, variable_set_value(scope, variable, value));
}

/* Computes with the update lock held. The kernel may still be pending when the new value is put:
 * the value has its own point. */
gantry_status_t gantry__variable_update(gantry_scope_t *scope, gantry_variable_t *variable,
                                        const gantry_tensor_t *value, const gantry__op_def_t *op,
                                        gantry__kept_plan_t *kept) {
    const gantry__recorded_as_t as = {kept}, *const outer = scope->recorded_as;
    gantry__mutex_lock(&variable->update);
    scope->recorded_as = &as;
    gantry_tensor_t *present = gantry__variable_take(variable);
    const gantry_tensor_t *inputs[] = {present, value};
    const gantry_tensor_t *result;
    gantry_status_t status = gantry__run_op(scope,
                                            &(gantry__op_request_t){.op = op,
                                                                    .inputs = inputs,
                                                                    .input_count = 2,
                                                                    .pinned = variable->device,
                                                                    .outputs = &result,
                                                                    .room = 1},
                                            NULL);
    scope->recorded_as = outer;
    gantry_tensor_release(present);
    if (status == GANTRY_OK) {
        gantry__variable_put(variable, gantry_tensor_retain(result));
        gantry_tensor_drop(scope, result);
    }
    gantry__mutex_unlock(&variable->update);
    return status;
}

static gantry_status_t variable_compute_value(gantry_scope_t *scope, gantry_variable_t *variable,
                                              const gantry_tensor_t *value,
                                              gantry__op_id_t variable_op, const char *log_name,
                                              gantry__op_id_t arithmetic) {
    GANTRY__RECORD(recorded, scope->runtime, variable_op, gantry_variable_device(variable));
    gantry_status_t status = variable_check_value(scope, variable, value, log_name);
    gantry__kept_plan_t *kept;
    if (status == GANTRY_OK && scope->trace)
        return gantry__scope_fail(
            scope, gantry__trace_assign(scope, gantry__op_get(variable_op), variable, value,
                                        gantry__op_get(arithmetic)));
    if (status == GANTRY_OK)
        status = gantry__plan_core_op(scope, variable_op, log_name, variable->dtype, false,
                                      variable->device, &kept);
    if (status != GANTRY_OK) return gantry__scope_fail(scope, status);
    return gantry__variable_update(scope, variable, value, gantry__op_get(arithmetic), kept);
}

static gantry_status_t update(gantry_scope_t *scope, gantry_variable_t *variable,
                              const gantry_tensor_t *value, gantry__op_id_t variable_op,
                              const char *log_name, gantry__op_id_t arithmetic) {
    gantry_status_t status = gantry__scope_check(scope);
    if (status != GANTRY_OK) return status;
    return variable_compute_value(scope, variable, value, variable_op, log_name, arithmetic);
}

gantry_status_t gantry_variable_assign_add(gantry_scope_t *scope, gantry_variable_t *variable,
                                           const gantry_tensor_t *value) {
    GANTRY__OWN_FP_MODE(fp);
    return update(scope, variable, value, GANTRY__OP_ID_AssignAddVariableOp, "AssignAddVariableOp",
                  GANTRY__OP_ID_Add);
}

gantry_status_t gantry_variable_assign_sub(gantry_scope_t *scope, gantry_variable_t *variable,
                                           const gantry_tensor_t *value) {
    GANTRY__OWN_FP_MODE(fp);
    return update(scope, variable, value, GANTRY__OP_ID_AssignSubVariableOp, "AssignSubVariableOp",
                  GANTRY__OP_ID_Sub);
}
