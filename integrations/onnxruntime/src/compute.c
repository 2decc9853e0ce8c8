/* SPDX-License-Identifier: Apache-2.0 */
/* A fused group of nodes: a model of libgantry_onnx. Its inputs and outputs are where ONNX Runtime
 * has them: on a GPU in memory of memory.c, on the CPU in the host's memory. */
#include <stdlib.h>
#include <string.h>

#include "provider.h"

#define FEW_VALUES 32

/* A group. Any thread may run it. */
typedef struct fused_t {
    ort_compute_t base; /* must be first */
    ort_provider_t *provider;
    char *device;
    const gantry_logical_device_t *logical; /* of this name */
    ort_bytes_t bytes;                      /* the model uses them */
    gantry_onnx_model_t *model;
    size_t input_count, output_count;
    bool reads_together; /* several outputs, of a device that computes while they are read */
} fused_t;

/* ---- a run ---- */

static ort_status_t *take_ort_input(const fused_t *fused, gantry_scope_t *scope,
                                    ort_kernel_context_t *context, size_t i,
                                    const gantry_tensor_t **out_tensor, bool *out_is_foreign) {
    const ort_value_t *value = NULL;
    ort_content_t content;
    ORT_TRY(fused->provider->api->KernelContext_GetInput(context, i, &value));
    if (!value) return NULL;
    ORT_TRY(ort_describe_value(fused->provider, (ort_what_t){"input", i}, value, &content));
    if (content.place == ORT_FOREIGN) *out_is_foreign = true;
    return ort_tensor_of_value(fused->provider, scope, fused->logical, &content, out_tensor);
}

/* The tensors of a run; reads: by output, of those that are read to the host. */
typedef struct run_values_t {
    const gantry_tensor_t **inputs, **outputs;
    gantry_read_t **reads;
} run_values_t;

static ort_status_t *give_ort_output(const fused_t *fused, ort_kernel_context_t *context, size_t i,
                                     const run_values_t *values) {
    const gantry_shape_t *shape = gantry_tensor_shape(values->outputs[i]);
    ort_value_t *value = NULL;
    ort_content_t content;
    ORT_TRY(fused->provider->api->KernelContext_GetOutput(context, i, shape->dims,
                                                          (size_t)shape->rank, &value));
    if (!value) return NULL;
    ORT_TRY(ort_describe_value(fused->provider, (ort_what_t){"output", i}, value, &content));
    return ort_store_tensor(fused->provider, &content, values->outputs[i],
                            fused->reads_together ? &values->reads[i] : NULL);
}

/* All reads begin before one is waited for. */
static ort_status_t *give_ort_outputs(const fused_t *fused, ort_kernel_context_t *context,
                                      const run_values_t *values) {
    ort_status_t *failed = NULL;
    for (size_t i = 0; i < fused->output_count && !failed; ++i)
        failed = give_ort_output(fused, context, i, values);
    for (size_t i = 0; i < fused->output_count; ++i) {
        gantry_read_t *read = values->reads[i];
        const gantry_status_t status = read && !failed ? gantry_read_wait(read) : GANTRY_OK;
        if (status != GANTRY_OK)
            failed = ort_fail_as(fused->provider, status, gantry_last_message());
        gantry_read_release(read);
    }
    return failed;
}

/* Failures of Gantry with inputs stay in the scope until the model runs. An output on a device is
 * not waited for; foreign memory is the program's again when this returns. */
static ort_status_t *run_in_scope(const fused_t *fused, gantry_scope_t *scope,
                                  ort_kernel_context_t *context, const run_values_t *values) {
    bool is_foreign = false;
    for (size_t i = 0; i < fused->input_count; ++i)
        ORT_TRY(take_ort_input(fused, scope, context, i, &values->inputs[i], &is_foreign));
    gantry_status_t status =
        gantry_onnx_model_run(fused->model, scope, values->inputs, fused->input_count,
                              values->outputs, fused->output_count);
    if (status != GANTRY_OK)
        return ort_fail_as(fused->provider, status, gantry_scope_message(scope));
    ORT_TRY(give_ort_outputs(fused, context, values));
    if (!is_foreign) return NULL;
    status = gantry_runtime_synchronize(fused->provider->runtime);
    return status == GANTRY_OK ? NULL : ort_fail_as(fused->provider, status, gantry_last_message());
}

static ort_status_t *run_ort_group(const fused_t *fused, ort_kernel_context_t *context,
                                   const run_values_t *values) {
    (void)pthread_rwlock_rdlock(&fused->provider->work);
    gantry_scope_t *scope = gantry_scope_begin_on(fused->provider->runtime, fused->logical);
    ort_status_t *failed =
        scope ? run_in_scope(fused, scope, context, values) : ort_out_of_memory(fused->provider);
    if (scope) (void)gantry_scope_end(scope);
    (void)pthread_rwlock_unlock(&fused->provider->work);
    return failed;
}

static ort_status_t *fused_run(ort_compute_t *self, void *state, ort_kernel_context_t *context) {
    const fused_t *fused = (const fused_t *)self;
    const gantry_tensor_t *few[FEW_VALUES] = {NULL}, **tensors = few;
    gantry_read_t *few_reads[FEW_VALUES] = {NULL}, **reads = few_reads;
    const size_t count = fused->input_count + fused->output_count;
    ort_status_t *failed = NULL;
    (void)state;
    if (count > FEW_VALUES) {
        failed = ort_new_addresses(fused->provider, count, &tensors);
        if (!failed) failed = ort_new_addresses(fused->provider, count, &reads);
    }
    if (!failed)
        failed = run_ort_group(fused, context,
                               &(run_values_t){tensors, tensors + fused->input_count, reads});
    if (tensors != few) free(tensors);
    if (reads != few_reads) free(reads);
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
    const gantry_onnx_options_t options = {.struct_size = sizeof options};
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
    ort_status_t *failed = fused->device ? ort_find_device(provider, device, &fused->logical)
                                         : ort_out_of_memory(provider);
    if (!failed) failed = compile_fused(fused, graph, node);
    if (!failed)
        fused->reads_together = fused->output_count > 1 &&
                                strcmp(gantry_logical_device_type(fused->logical), "CPU") != 0;
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
