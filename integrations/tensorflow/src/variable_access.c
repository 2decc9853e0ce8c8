/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the values of variables under their locks, and gives them back (variable_access.h). */
#include "variable_access.h"

#include <string.h>

#include "memory.h"
#include "variable_open.h"

/* TensorFlow's functions give no status to the copy and return none from it. */
static _Thread_local gantry_status_t copy_status;

/* Copies between addresses of one device: both then name one tensor, and no element moves. */
static void copy_variable(TF_OpKernelContext *context, TF_Tensor *from, TF_Tensor *to) {
    (void)context;
    const gantry_status_t status = memory_copy(device_memory(), NULL, TF_TensorData(to),
                                               TF_TensorData(from), TF_TensorByteSize(from));
    if (status) copy_status = status;
    TF_DeleteTensor(from);
    TF_DeleteTensor(to);
}

/* ---- taking values ---- */

gantry_dtype_t variables_arithmetic_type(gantry_dtype_t dtype) {
    const TF_DataType type = (TF_DataType)dtype;
    return type == TF_COMPLEX64 ? GANTRY_FLOAT32 : type == TF_COMPLEX128 ? GANTRY_FLOAT64 : dtype;
}

/* Fails the call with an error of TensorFlow, which is in the status, or, if the variable is not
 * there, in the context. */
static void fail_from_tensorflow(bridge_call_t *call) {
    const bool is_told = TF_GetCode(call->status) != TF_OK;
    bridge_fail(call, is_told ? (gantry_status_t)TF_GetCode(call->status) : GANTRY_NOT_FOUND, "%s",
                is_told ? TF_Message(call->status) : "The variable does not exist.");
}

static void variable_access_take_tensor(variables_t *variables,
                                        const variable_functions_t *functions, int i) {
    bridge_call_t *call = variables->call;
    if (bridge_has_failed(call)) return;
    copy_status = GANTRY_OK;
    variables->tensors[i] =
        functions->tensor(variables->lock, call->context, i, copy_variable, call->status);
    if (copy_status) {
        bridge_fail(call, copy_status, "%s", gantry_last_message());
    } else if (!variables->tensors[i]) {
        fail_from_tensorflow(call);
    }
}

static gantry_tensor_t *value_at(const variables_t *variables, const TF_Tensor *tensor,
                                 gantry_dtype_t dtype, const gantry_shape_t *shape) {
    gantry_scope_t *scope = variables->call->scope;
    const void *address = TF_TensorData(tensor);
    if (!gantry_shape_elements(shape))
        return gantry_tensor_retain(gantry_constant(scope, dtype, *shape, "", 0));
    return variables->is_update ? memory_take(device_memory(), scope, (void *)address, dtype, shape)
                                : memory_tensor(device_memory(), scope, address, dtype, shape);
}

static void variable_access_take_value(variables_t *variables, int i) {
    bridge_call_t *call = variables->call;
    const TF_Tensor *tensor = variables->tensors[i];
    gantry_shape_t shape;
    if (bridge_has_failed(call) || !bridge_shape(call, tensor, &shape)) return;
    gantry_dtype_t dtype = (gantry_dtype_t)TF_TensorType(tensor);
    const gantry_dtype_t part = variables_arithmetic_type(dtype);
    if (variables->is_update && part != dtype) {
        shape = GANTRY_SHAPE(2 * TF_TensorElementCount(tensor));
        dtype = part;
    }
    variables->values[i] = value_at(variables, tensor, dtype, &shape);
}

void variables_begin(variables_t *variables, bridge_call_t *call, int count, bool is_update) {
    const variable_functions_t *functions = variable_open();
    *variables = (variables_t){.call = call, .is_update = is_update, .count = count};
    if (bridge_has_failed(call)) return;
    if (!functions) {
        bridge_fail(call, GANTRY_FAILED_PRECONDITION, "%s", variable_missing_text());
        return;
    }
    variables->lock = functions->lock(call->context, count, is_update, call->status);
    if (!variables->lock) {
        fail_from_tensorflow(call);
        return;
    }
    for (int i = 0; i < count; ++i) variable_access_take_tensor(variables, functions, i);
    for (int i = 0; i < count; ++i) variable_access_take_value(variables, i);
}

/* Gives a value back. After a failure the values must be the former ones. */
static void give_value(variables_t *variables, int i) {
    const gantry_tensor_t *value = variables->values[i];
    if (!variables->is_update || !value) return;
    const gantry_status_t status =
        memory_bind(device_memory(), TF_TensorData(variables->tensors[i]), value);
    if (status) bridge_fail(variables->call, status, "%s", gantry_last_message());
}

void variables_end(variables_t *variables) {
    for (int i = 0; i < variables->count; ++i) {
        give_value(variables, i);
        gantry_tensor_release(variables->values[i]);
        if (variables->tensors[i]) TF_DeleteTensor(variables->tensors[i]);
    }
    if (variables->lock) variable_open()->unlock(variables->lock);
}

void variables_assign_reference(bridge_call_t *call, bool validate_shape) {
    if (bridge_has_failed(call)) return;
    copy_status = GANTRY_OK;
    variable_open()->assign(call->context, validate_shape, copy_variable, call->status);
    if (copy_status) {
        bridge_fail(call, copy_status, "%s", gantry_last_message());
    } else if (TF_GetCode(call->status) != TF_OK) {
        fail_from_tensorflow(call);
    }
}
