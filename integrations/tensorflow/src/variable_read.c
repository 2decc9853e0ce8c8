/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and slices that are read from a variable. The variable stays locked until the op is on its
 * stream, so that reading creates no second reference to a large table; the next update can then
 * overwrite it in place. */
#include "variable_row.h"

static const gantry_tensor_t *variable_read_gather(bridge_call_t *call,
                                                   const variable_kernel_t *kernel,
                                                   const gantry_tensor_t *params,
                                                   const gantry_tensor_t *indices) {
    const int32_t axis = kernel->attr_count > 0 ? bridge_nearest_int32(kernel->attrs[0].i) : 0;
    if (axis == 0) return gantry_gather(call->scope, params, indices, 0);
    const gantry_tensor_t *const inputs[] = {
        params, indices,
        gantry_constant(call->scope, GANTRY_INT32, (gantry_shape_t){.rank = 0}, &axis,
                        sizeof axis)};
    const gantry_tensor_t *result = NULL;
    size_t count = 1;
    (void)gantry_op_call(call->scope, kernel->row->gantry, inputs, 3, kernel->attrs, 1, &result,
                         &count);
    return result;
}

void variable_gather_compute(void *data, TF_OpKernelContext *context) {
    const variable_kernel_t *kernel = data;
    bridge_call_t call;
    variables_t variables;
    if (!bridge_begin(&call, context)) return;
    const gantry_tensor_t *result = NULL, *indices = bridge_input(&call, 1);
    variables_begin(&variables, &call, 1, false);
    if (!bridge_has_failed(&call))
        result = variable_read_gather(&call, kernel, variables.values[0], indices);
    variables_end(&variables);
    bridge_output(&call, 0, result);
    bridge_end(&call);
}

void variable_gather_nd_compute(void *data, TF_OpKernelContext *context) {
    const variable_kernel_t *kernel = data;
    bridge_call_t call;
    variables_t variables;
    if (!bridge_begin(&call, context)) return;
    const gantry_tensor_t *result = NULL, *indices = bridge_input(&call, 1);
    size_t count = 1;
    variables_begin(&variables, &call, 1, false);
    if (!bridge_has_failed(&call)) {
        const gantry_tensor_t *const inputs[] = {variables.values[0], indices};
        (void)gantry_op_call(call.scope, kernel->row->gantry, inputs, 2, NULL, 0, &result, &count);
    }
    variables_end(&variables);
    bridge_output(&call, 0, result);
    bridge_end(&call);
}
