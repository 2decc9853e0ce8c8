/* SPDX-License-Identifier: Apache-2.0 */
/* A fused group of nodes: a model of libgantry_onnx, with inputs and outputs in host memory. */
#include <stdlib.h>
#include <string.h>

#include "provider.h"

#define FEW_VALUES 32

/* A group. Any thread may run it. */
typedef struct fused_t {
    ort_compute_t base; /* must be first */
    ort_provider_t *provider;
    char *device;
    ort_bytes_t bytes; /* the model uses them */
    gantry_onnx_model_t *model;
    size_t input_count, output_count;
} fused_t;

/* ---- a run ---- */

gantry_dtype_t ort_dtype_of(int type) {
    static const gantry_dtype_t dtypes[] = {
        [1] = GANTRY_FLOAT32,  [2] = GANTRY_UINT8,    [3] = GANTRY_INT8,    [4] = GANTRY_UINT16,
        [5] = GANTRY_INT16,    [6] = GANTRY_INT32,    [7] = GANTRY_INT64,   [9] = GANTRY_BOOL,
        [10] = GANTRY_FLOAT16, [11] = GANTRY_FLOAT64, [12] = GANTRY_UINT32, [13] = GANTRY_UINT64,
        [16] = GANTRY_BFLOAT16};
    return type >= 0 && type <= 16 ? dtypes[type] : GANTRY_DTYPE_NONE;
}

static ort_status_t *read_ort_shape(const fused_t *fused, const ort_value_t *value, size_t i,
                                    gantry_dtype_t *out_dtype, gantry_shape_t *out_shape) {
    const ort_api_t *api = fused->provider->api;
    ort_tensor_info_t *info;
    size_t rank = 0;
    int type = 0;
    *out_shape = (gantry_shape_t){0};
    ORT_TRY(api->GetTensorTypeAndShape(value, &info));
    ort_status_t *failed = api->GetTensorElementType(info, &type);
    if (!failed) failed = api->GetDimensionsCount(info, &rank);
    if (!failed && rank > GANTRY_MAX_RANK)
        failed = ort_fail(
            fused->provider, ORT_INVALID_ARGUMENT,
            "Gantry: InvalidArgument: input %zu has %zu dimensions; at most %d are accepted", i,
            rank, GANTRY_MAX_RANK);
    if (!failed) failed = api->GetDimensions(info, out_shape->dims, rank);
    api->ReleaseTensorTypeAndShapeInfo(info);
    out_shape->rank = (int32_t)rank;
    *out_dtype = ort_dtype_of(type);
    return failed;
}

/* Failures of Gantry stay in the scope. */
static ort_status_t *tensor_of_ort(const fused_t *fused, gantry_scope_t *scope,
                                   ort_kernel_context_t *context, size_t i,
                                   const gantry_tensor_t **out_tensor) {
    const ort_api_t *api = fused->provider->api;
    const ort_value_t *value = NULL;
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    const void *data = NULL;
    size_t size;
    *out_tensor = NULL;
    ORT_TRY(api->KernelContext_GetInput(context, i, &value));
    if (!value) return NULL;
    ORT_TRY(read_ort_shape(fused, value, i, &dtype, &shape));
    ORT_TRY(api->GetTensorSizeInBytes(value, &size));
    if (size > 0) ORT_TRY(api->GetTensorData(value, &data));
    *out_tensor = gantry_constant(scope, dtype, shape, data ? data : "", size);
    return NULL;
}

static ort_status_t *give_output(const fused_t *fused, ort_kernel_context_t *context, size_t i,
                                 const gantry_tensor_t *tensor) {
    const ort_api_t *api = fused->provider->api;
    const gantry_shape_t *shape = gantry_tensor_shape(tensor);
    const size_t bytes = gantry_tensor_bytes(tensor);
    ort_value_t *value = NULL;
    size_t room;
    void *data;
    ORT_TRY(api->KernelContext_GetOutput(context, i, shape->dims, (size_t)shape->rank, &value));
    if (bytes == 0 || !value) return NULL;
    ORT_TRY(api->GetTensorSizeInBytes(value, &room));
    if (room != bytes) /* ONNX Runtime makes it of the type that it has inferred */
        return ort_fail(fused->provider, ORT_RUNTIME_EXCEPTION,
                        "Gantry: output %zu has %zu bytes of %s; ONNX Runtime has room for %zu", i,
                        bytes, gantry_dtype_name(gantry_tensor_dtype(tensor)), room);
    ORT_TRY(api->GetTensorMutableData(value, &data));
    const gantry_status_t status = gantry_tensor_read(tensor, data, bytes);
    if (status == GANTRY_OK) return NULL;
    return ort_fail_as(fused->provider, status, gantry_last_message());
}

static ort_status_t *run_in_scope(const fused_t *fused, gantry_scope_t *scope,
                                  ort_kernel_context_t *context, const gantry_tensor_t **inputs,
                                  const gantry_tensor_t **outputs) {
    for (size_t i = 0; i < fused->input_count; ++i)
        ORT_TRY(tensor_of_ort(fused, scope, context, i, &inputs[i]));
    const gantry_status_t status = gantry_onnx_model_run(
        fused->model, scope, inputs, fused->input_count, outputs, fused->output_count);
    if (status != GANTRY_OK)
        return ort_fail_as(fused->provider, status, gantry_scope_message(scope));
    for (size_t i = 0; i < fused->output_count; ++i)
        ORT_TRY(give_output(fused, context, i, outputs[i]));
    return NULL;
}

static ort_status_t *fused_run(ort_compute_t *self, void *state, ort_kernel_context_t *context) {
    const fused_t *fused = (const fused_t *)self;
    const gantry_tensor_t *few[FEW_VALUES] = {NULL}, **values = few;
    const size_t count = fused->input_count + fused->output_count;
    (void)state;
    if (count > FEW_VALUES) values = calloc(count, sizeof *values);
    gantry_scope_t *scope = gantry_scope_begin(fused->provider->runtime, fused->device);
    ort_status_t *failed = NULL;
    if (!values || !scope)
        failed = ort_out_of_memory(fused->provider);
    else
        failed = run_in_scope(fused, scope, context, values, values + fused->input_count);
    if (scope) (void)gantry_scope_end(scope);
    if (values != few) free(values);
    return failed;
}

static ort_status_t *fused_begin(ort_compute_t *self, ort_compute_context_t *context,
                                 void **out_state) {
    (void)context;
    *out_state = self;
    return NULL;
}

static void fused_end(ort_compute_t *self, void *state) {
    (void)self;
    (void)state;
}

/* ---- compiling ---- */

/* The nodes of the group, with the inputs and outputs of the node that takes its place. */
static ort_status_t *put_fused(fused_t *fused, const ort_graph_t *graph, const ort_node_t *node,
                               const ort_value_info_t **values, const ort_node_t **nodes,
                               size_t node_count) {
    const ort_api_t *api = fused->provider->api;
    const ort_part_t part = {.graph = graph,
                             .nodes = nodes,
                             .node_count = node_count,
                             .inputs = values,
                             .outputs = values + fused->input_count,
                             .input_count = fused->input_count,
                             .output_count = fused->output_count};
    ORT_TRY(api->Node_GetInputs(node, values, fused->input_count));
    ORT_TRY(api->Node_GetOutputs(node, values + fused->input_count, fused->output_count));
    ORT_TRY(api->Graph_GetNodes(graph, nodes, node_count));
    return ort_write_model(fused->provider, &part, SIZE_MAX, &fused->bytes);
}

static ort_status_t *compile_fused(fused_t *fused, const ort_graph_t *graph,
                                   const ort_node_t *node) {
    const ort_api_t *api = fused->provider->api;
    const gantry_onnx_options_t options = {.struct_size = sizeof options, .device = fused->device};
    size_t node_count;
    ORT_TRY(api->Node_GetNumInputs(node, &fused->input_count));
    ORT_TRY(api->Node_GetNumOutputs(node, &fused->output_count));
    ORT_TRY(api->Graph_GetNumNodes(graph, &node_count));
    const ort_value_info_t **values =
        calloc(fused->input_count + fused->output_count + 1, sizeof *values);
    const ort_node_t **nodes = calloc(node_count + 1, sizeof *nodes);
    ort_status_t *failed = values && nodes
                               ? put_fused(fused, graph, node, values, nodes, node_count)
                               : ort_out_of_memory(fused->provider);
    free(values);
    free(nodes);
    if (failed) return failed;
    const gantry_status_t status =
        gantry_onnx_model_load_bytes(fused->provider->runtime, "ONNX Runtime", fused->bytes.data,
                                     fused->bytes.size, &options, &fused->model);
    if (status == GANTRY_OK) return NULL;
    return ort_fail_as(fused->provider, status, gantry_last_message());
}

ort_status_t *ort_compute_create(ort_provider_t *provider, const char *device,
                                 const ort_graph_t *graph, const ort_node_t *node,
                                 ort_compute_t **out_compute) {
    fused_t *fused = calloc(1, sizeof *fused);
    *out_compute = NULL;
    if (!fused) return ort_out_of_memory(provider);
    fused->base = (ort_compute_t){.version = ORT_VERSION,
                                  .CreateState = fused_begin,
                                  .Compute = fused_run,
                                  .ReleaseState = fused_end};
    fused->provider = ort_provider_retain(provider);
    fused->device = strdup(device);
    ort_status_t *failed =
        fused->device ? compile_fused(fused, graph, node) : ort_out_of_memory(provider);
    if (failed)
        ort_compute_release(&fused->base);
    else
        *out_compute = &fused->base;
    return failed;
}

void ort_compute_release(ort_compute_t *compute) {
    fused_t *fused = (fused_t *)compute;
    if (!fused) return;
    gantry_onnx_model_release(fused->model);
    free(fused->bytes.data);
    free(fused->device);
    ort_provider_release(fused->provider);
    free(fused);
}
