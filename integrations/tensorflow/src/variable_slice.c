/* SPDX-License-Identifier: Apache-2.0 */
/* ResourceStridedSliceAssign: variable[1:3].assign(value). Gantry has no such op; three others give
 * the variable's new value:
 *
 *     taken     StridedSliceGrad of trues: where the slice lies
 *     spread    StridedSliceGrad of value: value there, zeros elsewhere
 *     result    taken ? spread : variable
 *
 * The value broadcasts to the shape of the slice, which StridedSlice tells. */
#include <stdlib.h>

#include "variable_access.h"

#define MASK_COUNT 5

static const char *const mask_names[MASK_COUNT] = {"begin_mask", "end_mask", "ellipsis_mask",
                                                   "new_axis_mask", "shrink_axis_mask"};

/* A node's kernel. */
typedef struct slice_kernel_t {
    gantry_attr_value_t masks[MASK_COUNT];
} slice_kernel_t;

/* StridedSlice or StridedSliceGrad, with begin, end and strides of the call. */
static const gantry_tensor_t *call_slice(bridge_call_t *call, const slice_kernel_t *kernel,
                                         const char *op, const gantry_tensor_t *const *inputs,
                                         size_t input_count) {
    const gantry_tensor_t *result = NULL;
    size_t count = 1;
    (void)gantry_op_call(call->scope, op, inputs, input_count, kernel->masks, MASK_COUNT, &result,
                         &count);
    return result;
}

/* The value in the shape of the slice that the variable has there. NULL after an error. */
static const gantry_tensor_t *fit_value(bridge_call_t *call, const slice_kernel_t *kernel,
                                        const gantry_tensor_t *const inputs[5],
                                        const gantry_tensor_t *variable,
                                        const gantry_tensor_t *value) {
    const gantry_tensor_t *const sliced[] = {variable, inputs[1], inputs[2], inputs[3]};
    const gantry_tensor_t *slice = call_slice(call, kernel, "StridedSlice", sliced, 4);
    if (!slice) return NULL;
    if (gantry_shape_equal(gantry_tensor_shape(slice), gantry_tensor_shape(value))) return value;
    return gantry_broadcast_to(call->scope, value, *gantry_tensor_shape(slice));
}

static const gantry_tensor_t *spread(bridge_call_t *call, const slice_kernel_t *kernel,
                                     const gantry_tensor_t *inputs[5],
                                     const gantry_tensor_t *value) {
    inputs[4] = value;
    return call_slice(call, kernel, "StridedSliceGrad", inputs, 5);
}

/* A shape as a vector of the type of begin. */
static const gantry_tensor_t *shape_vector(bridge_call_t *call, const gantry_shape_t *shape,
                                           gantry_dtype_t dtype) {
    int32_t narrow[GANTRY_MAX_RANK];
    for (int32_t i = 0; i < shape->rank; ++i) narrow[i] = (int32_t)shape->dims[i];
    const bool is_wide = dtype == GANTRY_INT64;
    return gantry_constant(call->scope, dtype, GANTRY_SHAPE(shape->rank),
                           is_wide ? (const void *)shape->dims : narrow,
                           (size_t)shape->rank * (is_wide ? sizeof *shape->dims : sizeof *narrow));
}

static void assign_slice(bridge_call_t *call, const slice_kernel_t *kernel,
                         const gantry_tensor_t *inputs[5], const gantry_tensor_t *value,
                         gantry_tensor_t **variable) {
    const bool yes = true;
    value = fit_value(call, kernel, inputs, *variable, value);
    if (!value) return;
    inputs[0] = shape_vector(call, gantry_tensor_shape(*variable), gantry_tensor_dtype(inputs[1]));
    const gantry_tensor_t *trues =
        gantry_fill(call->scope, *gantry_tensor_shape(value),
                    gantry_constant(call->scope, GANTRY_BOOL, GANTRY_SCALAR, &yes, sizeof yes));
    const gantry_tensor_t *taken = spread(call, kernel, inputs, trues);
    const gantry_tensor_t *result =
        gantry_select(call->scope, taken, spread(call, kernel, inputs, value), *variable);
    if (!result) return;
    gantry_tensor_release(*variable);
    *variable = gantry_tensor_retain(result);
}

static void slice_compute(void *kernel, TF_OpKernelContext *context) {
    bridge_call_t call;
    variables_t variables;
    const gantry_tensor_t *inputs[5] = {NULL}, *value;
    if (!bridge_begin(&call, context)) return;
    for (int i = 1; i < 4; ++i) inputs[i] = bridge_input(&call, i);
    value = bridge_input(&call, 4);
    variables_begin(&variables, &call, 1, true);
    if (!bridge_has_failed(&call)) assign_slice(&call, kernel, inputs, value, &variables.values[0]);
    variables_end(&variables);
    bridge_end(&call);
}

static void *slice_create(TF_OpKernelConstruction *construction) {
    slice_kernel_t *kernel = calloc(1, sizeof *kernel);
    if (!kernel) {
        bridge_refuse(construction, GANTRY_RESOURCE_EXHAUSTED, "No host memory is left.");
        return NULL;
    }
    TF_Status *status = TF_NewStatus();
    for (size_t i = 0; i < MASK_COUNT; ++i) {
        kernel->masks[i] = (gantry_attr_value_t){.name = mask_names[i], .kind = GANTRY_ATTR_INT};
        TF_OpKernelConstruction_GetAttrInt64(construction, mask_names[i], &kernel->masks[i].i,
                                             status);
    }
    if (TF_GetCode(status) != TF_OK) TF_OpKernelConstruction_Failure(construction, status);
    TF_DeleteStatus(status);
    return kernel;
}

static void slice_destroy(void *kernel) { free(kernel); }

#define BIT(type) GANTRY_DTYPE_BIT(GANTRY_##type)

void variable_slice_register(void);

void variable_slice_register(void) {
    const uint64_t types = BIT(FLOAT16) | BIT(BFLOAT16) | BIT(FLOAT32) | BIT(FLOAT64) | BIT(INT8) |
                           BIT(INT16) | BIT(INT32) | BIT(INT64) | BIT(UINT8) | BIT(UINT16) |
                           BIT(UINT32) | BIT(UINT64) | BIT(BOOL);
    register_kernel(
        &(register_kernel_t){.op = "ResourceStridedSliceAssign",
                             .types = {{"T", types}, {"Index", BIT(INT32) | BIT(INT64)}},
                             .host_args = {"ref", "begin", "end", "strides"},
                             .create = slice_create,
                             .compute = slice_compute,
                             .destroy = slice_destroy});
}
