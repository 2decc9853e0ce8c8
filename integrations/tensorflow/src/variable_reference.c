/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of TensorFlow 1, which ops get by reference: a mutex and a tensor, without a handle.
 *
 *     VariableV2, IsVariableInitialized, RefSwitch ...    TensorFlow's own kernels for every device
 *     Assign                                              here
 *     AssignAdd, ApplyAdam, ScatterAdd ...                the rows of their resource forms
 *
 * TensorFlow puts a variable and all ops that get it on one device, and chooses a GPU as soon as
 * each of them has a kernel. Only the variables file reaches a reference, so without it no kernel
 * is registered, and such variables stay on the CPU. */
#include <string.h>

#include "variable_open.h"
#include "variable_row.h"

bool variable_has_references(void) {
    const variable_functions_t *functions = variable_open();
    return functions && functions->assign;
}

/* ---- names ---- */

const char *variable_reference_op(const variable_row_t *row) {
    static const char prefix[] = "Resource";
    static const char *const without[] = {"Gather", "KerasMomentum", "AdamWithAmsgrad"};
    if (strcmp(row->op, "AssignAddVariableOp") == 0) return "AssignAdd";
    if (strcmp(row->op, "AssignSubVariableOp") == 0) return "AssignSub";
    for (size_t i = 0; i < sizeof without / sizeof without[0]; ++i) {
        if (strstr(row->op, without[i])) return NULL;
    }
    return row->op + sizeof prefix - 1;
}

/* ---- Assign ---- */

/* A node's kernel is a pointer to one of these two. */
static const bool validates = true, takes_any_shape = false;

static void *assign_create(TF_OpKernelConstruction *construction) {
    TF_Status *status = TF_NewStatus();
    TF_Bool flag = 1;
    TF_OpKernelConstruction_GetAttrBool(construction, "validate_shape", &flag, status);
    TF_DeleteStatus(status);
    return (void *)(uintptr_t)(flag ? &validates : &takes_any_shape);
}

static void variable_reference_assign_compute(void *kernel, TF_OpKernelContext *context) {
    bridge_call_t call;
    if (!bridge_begin(&call, context)) return;
    variables_assign_reference(&call, *(const bool *)kernel);
    bridge_end(&call);
}

void variable_reference_register(void) {
    const uint64_t types = GANTRY_DTYPES_NUMERIC_BOOL | GANTRY_DTYPE_BIT(TF_COMPLEX64) |
                           GANTRY_DTYPE_BIT(TF_COMPLEX128);
    const register_kernel_t kernel = {.op = "Assign",
                                      .types = {{"T", types}},
                                      .create = assign_create,
                                      .compute = variable_reference_assign_compute,
                                      .destroy = bridge_destroy_nothing};
    if (variable_has_references()) register_kernel(&kernel);
}
