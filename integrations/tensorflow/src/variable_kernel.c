/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that update variables. The update happens while the variables are locked:
 *
 *     inputs           taken first, so that nothing is uploaded while others wait
 *     lock, take       the values are removed from their addresses: nobody else can hold them
 *     gantry_op_update new values, in the memory of the former ones
 *     bind, unlock     the addresses get the new values, or after a failure the former ones
 *
 * A tensor that was read from the variable has an address of its own by then (variable_access.h),
 * and shares Gantry's tensor: gantry_op_update then takes new memory. */
#include <stdlib.h>
#include <string.h>

#include "variable_row.h"

size_t variable_inputs(bridge_call_t *call, int first, const gantry_tensor_t **out) {
    const int count = TF_NumInputs(call->context) - first;
    for (int i = 0; i < count; ++i) out[i] = bridge_input(call, first + i);
    return (size_t)count;
}

/* ---- steps of optimizers, rows and slices ---- */

static void update_compute(void *data, TF_OpKernelContext *context) {
    const variable_kernel_t *kernel = data;
    const variable_row_t *row = kernel->row;
    const gantry_tensor_t *inputs[16];
    bridge_call_t call;
    variables_t variables;
    if (!bridge_begin(&call, context)) return;
    const size_t count = variable_inputs(&call, row->variables, inputs);
    variables_begin(&variables, &call, row->variables, true);
    if (!bridge_has_failed(&call))
        (void)gantry_op_update(call.scope, row->gantry, variables.values, (size_t)row->variables,
                               inputs, count, kernel->attrs, kernel->attr_count);
    variables_end(&variables);
    bridge_end(&call);
}

/* ---- adding and subtracting ---- */

/* An input under the type for arithmetic: complex numbers are pairs of numbers, which Gantry
 * adds. */
static const gantry_tensor_t *input_as(bridge_call_t *call, int i, gantry_dtype_t dtype) {
    TF_Tensor *tensor = bridge_take_input(call, i);
    if (!tensor) return NULL;
    const gantry_shape_t pairs = GANTRY_SHAPE(2 * TF_TensorElementCount(tensor));
    const gantry_tensor_t *input = bridge_tensor_at(call, TF_TensorData(tensor), dtype, &pairs);
    TF_DeleteTensor(tensor);
    return input;
}

static bool variable_kernel_check_shapes(bridge_call_t *call, const gantry_tensor_t *variable,
                                         const gantry_tensor_t *value) {
    const gantry_shape_t *wanted = gantry_tensor_shape(variable), *got = gantry_tensor_shape(value);
    char expected[256], given[256];
    if (gantry_shape_equal(wanted, got)) return true;
    (void)gantry_shape_format(wanted, expected, sizeof expected);
    (void)gantry_shape_format(got, given, sizeof given);
    bridge_fail(call, GANTRY_INVALID_ARGUMENT,
                "Cannot update variable with shape %s using a Tensor with shape %s, shapes must be "
                "equal.",
                expected, given);
    return false;
}

static void assign_compute(void *data, TF_OpKernelContext *context) {
    const variable_kernel_t *kernel = data;
    bridge_call_t call;
    variables_t variables;
    if (!bridge_begin(&call, context)) return;
    const gantry_dtype_t dtype = (gantry_dtype_t)TF_InputDatatype(context, 1);
    const gantry_dtype_t part = variables_arithmetic_type(dtype);
    const gantry_tensor_t *value =
        part == dtype ? bridge_input(&call, 1) : input_as(&call, 1, part);
    variables_begin(&variables, &call, 1, true);
    if (!bridge_has_failed(&call) &&
        variable_kernel_check_shapes(&call, variables.values[0], value))
        (void)gantry_op_update(call.scope, kernel->row->gantry, variables.values, 1, &value, 1,
                               NULL, 0);
    variables_end(&variables);
    bridge_end(&call);
}

/* ---- the table ---- */

#define FLOATS GANTRY_DTYPES_FLOATING
#define NUMBERS GANTRY_DTYPES_NUMERIC
#define MOVED (GANTRY_DTYPES_NUMERIC_BOOL | GANTRY_DTYPE_BIT(GANTRY_COMPLEX64))
/* TensorFlow's kernels of these ops read the elements at the address, so every type that they take
 * must have a kernel here. */
#define ASSIGNED (NUMBERS | GANTRY_DTYPE_BIT(TF_COMPLEX64) | GANTRY_DTYPE_BIT(TF_COMPLEX128))

#define APPLY(name, count, ...)                                                        \
    {                                                                                  \
        "ResourceApply" name, "ResourceApply" name, count, "T", FLOATS, {__VA_ARGS__}, \
            update_compute, 0                                                          \
    }
#define SPARSE(name, count, indices, ...)                                                    \
    {                                                                                        \
        "ResourceSparseApply" name, "ResourceApply" name, count, "T", FLOATS, {__VA_ARGS__}, \
            variable_rounds_compute, indices                                                 \
    }
#define SCATTER(name, types)                                                         \
    {                                                                                \
        "ResourceScatter" name, "ResourceScatterNd" name, 1, "dtype", types, {NULL}, \
            variable_scatter_compute, 1                                              \
    }
#define SCATTER_ND(name, types)                                                                    \
    {                                                                                              \
        "ResourceScatterNd" name, "ResourceScatterNd" name, 1, "T", types, {"bad_indices_policy"}, \
            variable_scatter_nd_compute, 1                                                         \
    }

static const variable_row_t rows[] = {
    {"AssignAddVariableOp", "Add", 1, "dtype", ASSIGNED, {NULL}, assign_compute, 0},
    {"AssignSubVariableOp", "Sub", 1, "dtype", ASSIGNED, {NULL}, assign_compute, 0},
    APPLY("Adadelta", 3, NULL),
    APPLY("Adagrad", 2, "update_slots"),
    APPLY("AdagradV2", 2, "update_slots"),
    APPLY("AdaMax", 3, NULL),
    APPLY("Adam", 3, "use_nesterov"),
    APPLY("AdamWithAmsgrad", 4, NULL),
    APPLY("AddSign", 2, NULL),
    APPLY("CenteredRMSProp", 4, NULL),
    APPLY("Ftrl", 3, "multiply_linear_by_lr"),
    APPLY("FtrlV2", 3, "multiply_linear_by_lr"),
    APPLY("GradientDescent", 1, NULL),
    APPLY("KerasMomentum", 2, "use_nesterov"),
    APPLY("Momentum", 2, "use_nesterov"),
    APPLY("PowerSign", 2, NULL),
    APPLY("ProximalAdagrad", 2, NULL),
    APPLY("ProximalGradientDescent", 1, NULL),
    APPLY("RMSProp", 3, NULL),
    SPARSE("Adadelta", 3, 7, NULL),
    SPARSE("Adagrad", 2, 4, "update_slots"),
    SPARSE("AdagradV2", 2, 5, "update_slots"),
    SPARSE("CenteredRMSProp", 4, 9, NULL),
    SPARSE("Ftrl", 3, 4, "multiply_linear_by_lr"),
    SPARSE("FtrlV2", 3, 4, "multiply_linear_by_lr"),
    SPARSE("KerasMomentum", 2, 4, "use_nesterov"),
    SPARSE("Momentum", 2, 4, "use_nesterov"),
    SPARSE("ProximalAdagrad", 2, 6, NULL),
    SPARSE("ProximalGradientDescent", 1, 5, NULL),
    SPARSE("RMSProp", 3, 8, NULL),
    SCATTER("Add", NUMBERS),
    SCATTER("Max", NUMBERS),
    SCATTER("Min", NUMBERS),
    SCATTER("Mul", NUMBERS),
    SCATTER("Sub", NUMBERS),
    SCATTER("Update", MOVED),
    {"ResourceScatterDiv", "Div", 1, "dtype", NUMBERS, {NULL}, variable_rounds_compute, 1},
    SCATTER_ND("Add", NUMBERS),
    SCATTER_ND("Max", NUMBERS),
    SCATTER_ND("Min", NUMBERS),
    SCATTER_ND("Sub", NUMBERS),
    SCATTER_ND("Update", MOVED),
    {"ResourceGather", "Gather", 1, "dtype", MOVED, {"batch_dims"}, variable_gather_compute, 0},
    {"ResourceGatherNd", "GatherNd", 1, "dtype", MOVED, {NULL}, variable_gather_nd_compute, 0},
};

#define ROW_COUNT (sizeof rows / sizeof rows[0])

/* ---- making kernels ---- */

static void variable_kernel_read_attr(variable_kernel_t *kernel,
                                      TF_OpKernelConstruction *construction, const char *name,
                                      TF_Status *status) {
    gantry_attr_value_t *value = &kernel->attrs[kernel->attr_count];
    TF_Bool flag = 0;
    if (!TF_OpKernelConstruction_HasAttr(construction, name, status)) return;
    *value = (gantry_attr_value_t){.name = name, .kind = GANTRY_ATTR_BOOL};
    if (strcmp(name, "bad_indices_policy") == 0) {
        value->kind = GANTRY_ATTR_STRING;
        value->s = kernel->text;
        TF_OpKernelConstruction_GetAttrString(construction, name, kernel->text,
                                              sizeof kernel->text - 1, status);
    } else if (strcmp(name, "batch_dims") == 0) {
        value->kind = GANTRY_ATTR_INT;
        TF_OpKernelConstruction_GetAttrInt64(construction, name, &value->i, status);
    } else {
        TF_OpKernelConstruction_GetAttrBool(construction, name, &flag, status);
        value->i = flag;
    }
    kernel->attr_count += TF_GetCode(status) == TF_OK;
}

static bool is_op_of(const variable_row_t *row, const char *op) {
    const char *reference = variable_reference_op(row);
    return strcmp(row->op, op) == 0 || (reference && strcmp(reference, op) == 0);
}

static void *variable_create(TF_OpKernelConstruction *construction) {
    char op[128];
    if (!bridge_op_name(construction, op, sizeof op)) return NULL;
    variable_kernel_t *kernel = calloc(1, sizeof *kernel);
    if (!kernel) {
        bridge_refuse_memory(construction);
        return NULL;
    }
    kernel->row = rows;
    while (!is_op_of(kernel->row, op)) ++kernel->row;
    TF_Status *status = TF_NewStatus();
    for (size_t i = 0; i < VARIABLE_ATTRS && kernel->row->attrs[i]; ++i)
        variable_kernel_read_attr(kernel, construction, kernel->row->attrs[i], status);
    TF_DeleteStatus(status);
    return kernel;
}

static void variable_kernel_destroy(void *kernel) { free(kernel); }

/* TensorFlow names the inputs that are variables; they are on the host. */
static const char *const places[][VARIABLES_MOST + 1] = {
    {"Adadelta", "var", "accum", "accum_update"},
    {"Adagrad", "var", "accum"},
    {"AdaMax", "var", "m", "v"},
    {"AdamWithAmsgrad", "var", "m", "v", "vhat"},
    {"Adam", "var", "m", "v"},
    {"CenteredRMSProp", "var", "mg", "ms", "mom"},
    {"Ftrl", "var", "accum", "linear"},
    {"GradientDescent", "var"},
    {"Momentum", "var", "accum"},
    {"RMSProp", "var", "ms", "mom"},
    {"Sign", "var", "m"},
    {"ScatterNd", "ref"},
    {"", "resource"},
};

static void name_places(register_kernel_t *kernel) {
    size_t i = 0;
    while (!strstr(kernel->op, places[i][0])) ++i;
    for (size_t k = 0; k < VARIABLES_MOST; ++k) kernel->host_args[k] = places[i][k + 1];
}

/* Registers the form by reference. References are on the device, as are the tensors to which they
 * refer. */
static void register_reference(const register_kernel_t *kernel, const variable_row_t *row) {
    register_kernel_t reference = *kernel;
    reference.op = variable_reference_op(row);
    reference.types[0].attr = "T";
    for (size_t k = 0; k < VARIABLES_MOST; ++k) reference.host_args[k] = NULL;
    if (reference.op) register_kernel(&reference);
}

void variable_kernel_register(void) {
    const bool has_references = variable_has_references();
    for (size_t i = 0; i < ROW_COUNT; ++i) {
        register_kernel_t kernel = {.op = rows[i].op,
                                    .types = {{rows[i].type, rows[i].types}},
                                    .create = variable_create,
                                    .compute = rows[i].compute,
                                    .destroy = variable_kernel_destroy};
        name_places(&kernel);
        register_kernel(&kernel);
        if (has_references) register_reference(&kernel, &rows[i]);
    }
    variable_slice_register(MOVED, false);
    if (has_references) variable_slice_register(MOVED, true);
}
