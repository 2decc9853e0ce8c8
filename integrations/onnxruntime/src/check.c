/* SPDX-License-Identifier: Apache-2.0 */
/* Whether Gantry has nodes: their types, and a model of them, which libgantry_onnx takes or refuses
 * by its own rules. Weights are not copied for that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "provider.h"

/* Larger initializers are inputs of the model that is tried. */
#define MOST_TRIED_BYTES 4096
#define TEXT_ELEMENT 8 /* ONNX's STRING */

/* *out_why: NULL if the value is taken. */
static ort_status_t *refuse_ort_value(const ort_provider_t *provider, const ort_value_info_t *value,
                                      const char **out_why) {
    const ort_api_t *api = provider->api;
    const ort_type_info_t *type = NULL;
    const ort_tensor_info_t *info = NULL;
    size_t rank;
    int element;
    *out_why = NULL;
    if (!value) return NULL;
    ORT_TRY(api->GetValueInfoTypeInfo(value, &type));
    if (type) ORT_TRY(api->CastTypeInfoToTensorInfo(type, &info));
    if (!info) {
        *out_why = "a value is no tensor";
        return NULL;
    }
    ORT_TRY(api->GetTensorElementType(info, &element));
    ORT_TRY(api->GetDimensionsCount(info, &rank));
    if (ort_dtype_of(element) == GANTRY_DTYPE_NONE)
        *out_why = "a tensor has an element type that Gantry lacks";
    if (rank > GANTRY_MAX_RANK) *out_why = "a tensor has more dimensions than Gantry's have";
    return NULL;
}

/* libgantry_onnx judges a body's values itself, except for texts, which it finds in a run. */
static ort_status_t *refuse_body_value(const ort_provider_t *provider,
                                       const ort_value_info_t *value, const char **out_why) {
    const ort_api_t *api = provider->api;
    const ort_type_info_t *type = NULL;
    const ort_tensor_info_t *info = NULL;
    int element = 0;
    *out_why = NULL;
    if (!value) return NULL;
    ORT_TRY(api->GetValueInfoTypeInfo(value, &type));
    if (type) ORT_TRY(api->CastTypeInfoToTensorInfo(type, &info));
    if (info) ORT_TRY(api->GetTensorElementType(info, &element));
    if (element == TEXT_ELEMENT) *out_why = "a node of a subgraph has texts";
    return NULL;
}

typedef ort_status_t *(*refuse_fn)(const ort_provider_t *provider, const ort_value_info_t *value,
                                   const char **out_why);

/* A check of values; why: the first reason. */
typedef struct value_check_t {
    const ort_provider_t *provider;
    refuse_fn refuse;
    const char *why;
} value_check_t;

static ort_status_t *check_ort_value(void *user, const ort_value_info_t *value) {
    value_check_t *check = user;
    return check->why ? NULL : check->refuse(check->provider, value, &check->why);
}

static ort_status_t *refuse_values(const ort_provider_t *provider, const ort_node_t *node,
                                   refuse_fn refuse, const char **out_why) {
    value_check_t check = {.provider = provider, .refuse = refuse};
    ORT_TRY(ort_each_value(provider, node, ORT_INPUTS, check_ort_value, &check));
    ORT_TRY(ort_each_value(provider, node, ORT_BODY_INPUTS, check_ort_value, &check));
    ORT_TRY(ort_each_value(provider, node, ORT_OUTPUTS, check_ort_value, &check));
    *out_why = check.why;
    return NULL;
}

static ort_status_t *refuse_bodies(const ort_provider_t *provider, const ort_node_t *node,
                                   const char **out_why);

static ort_status_t *refuse_body(const ort_provider_t *provider, const ort_graph_t *graph,
                                 const char **out_why) {
    size_t count;
    ORT_TRY(provider->api->Graph_GetNumNodes(graph, &count));
    const ort_node_t **nodes = calloc(count + 1, sizeof *nodes);
    if (!nodes) return ort_out_of_memory(provider);
    ort_status_t *failed = provider->api->Graph_GetNodes(graph, nodes, count);
    for (size_t i = 0; i < count && !failed && !*out_why; ++i) {
        failed = refuse_values(provider, nodes[i], refuse_body_value, out_why);
        if (!failed && !*out_why) failed = refuse_bodies(provider, nodes[i], out_why);
    }
    free(nodes);
    return failed;
}

static ort_status_t *refuse_bodies(const ort_provider_t *provider, const ort_node_t *node,
                                   const char **out_why) {
    size_t count;
    ORT_TRY(provider->api->Node_GetNumSubgraphs(node, &count));
    if (count == 0) return NULL;
    const ort_graph_t **graphs = calloc(count, sizeof *graphs);
    const char **names = calloc(count, sizeof *names);
    ort_status_t *failed = graphs && names
                               ? provider->api->Node_GetSubgraphs(node, graphs, count, names)
                               : ort_out_of_memory(provider);
    for (size_t i = 0; i < count && !failed && !*out_why; ++i)
        failed = refuse_body(provider, graphs[i], out_why);
    free(graphs);
    free(names);
    return failed;
}

static ort_status_t *refuse_types(const ort_provider_t *provider, const ort_node_t *node,
                                  const char **out_why) {
    ORT_TRY(refuse_values(provider, node, refuse_ort_value, out_why));
    return *out_why ? NULL : refuse_bodies(provider, node, out_why);
}

/* The outputs of nodes, which the caller frees. */
static ort_status_t *list_all_outputs(const ort_provider_t *provider, const ort_part_t *part,
                                      const ort_value_info_t ***out_list, size_t *out_count) {
    const ort_value_info_t **list = NULL;
    size_t used = 0;
    *out_list = NULL;
    for (size_t i = 0; i < part->node_count; ++i) {
        size_t count;
        ORT_TRY(provider->api->Node_GetNumOutputs(part->nodes[i], &count));
        list = realloc(*out_list, (used + count + 1) * sizeof *list);
        if (!list) return ort_out_of_memory(provider);
        *out_list = list;
        ORT_TRY(provider->api->Node_GetOutputs(part->nodes[i], list + used, count));
        used += count;
    }
    *out_count = used;
    return NULL;
}

/* Writes a model of these nodes whose outputs are those of all of them, so that each is needed. */
static ort_status_t *make_tried(const ort_provider_t *provider, const ort_graph_t *graph,
                                const ort_node_t *const *nodes, size_t node_count,
                                ort_bytes_t *bytes) {
    ort_part_t part = {.graph = graph, .nodes = nodes, .node_count = node_count};
    const ort_value_info_t **outputs;
    ort_status_t *failed = list_all_outputs(provider, &part, &outputs, &part.output_count);
    part.outputs = outputs;
    if (!failed) failed = ort_write_model(provider, &part, MOST_TRIED_BYTES, bytes);
    free(outputs);
    return failed;
}

/* Whether a loaded model has all its ops. A refused node of a subgraph does not fail its loading:
 * the branch may not be taken. ONNX Runtime has the op, so the whole node is left to it. */
static bool has_all_ops(const gantry_onnx_model_t *model, char *text, size_t size) {
    gantry_onnx_op_t op = {.struct_size = sizeof op};
    for (size_t i = 0; gantry_onnx_model_get_op(model, i, &op) == GANTRY_OK; ++i) {
        if (!op.reason) continue;
        (void)snprintf(text, size, "%s of a subgraph: %s", op.op, op.reason);
        return false;
    }
    return true;
}

/* What the provider cannot write, and what libgantry_onnx refuses, is a reason. */
static ort_status_t *load_tried(const ort_provider_t *provider, const ort_bytes_t *bytes,
                                char *text, size_t size, bool *out_has) {
    gantry_onnx_model_t *model = NULL;
    const gantry_status_t status = gantry_onnx_model_load_bytes(
        provider->runtime, "ONNX Runtime", bytes->data, bytes->size, NULL, &model);
    if (status == GANTRY_RESOURCE_EXHAUSTED)
        return ort_fail_as(provider, status, gantry_last_message());
    *out_has = status == GANTRY_OK && has_all_ops(model, text, size);
    if (status != GANTRY_OK) (void)snprintf(text, size, "%s", gantry_last_message());
    gantry_onnx_model_release(model);
    return NULL;
}

static ort_status_t *try_nodes(const ort_provider_t *provider, const ort_graph_t *graph,
                               const ort_node_t *const *nodes, size_t count, char *text,
                               size_t size, bool *out_has) {
    ort_bytes_t bytes = {0};
    ort_status_t *failed = make_tried(provider, graph, nodes, count, &bytes);
    if (!failed) {
        failed = load_tried(provider, &bytes, text, size, out_has);
    } else if (provider->api->GetErrorCode(failed) == ORT_NOT_IMPLEMENTED) {
        (void)snprintf(text, size, "%s", provider->api->GetErrorMessage(failed));
        provider->api->ReleaseStatus(failed);
        failed = NULL;
    }
    free(bytes.data);
    return failed;
}

ort_status_t *ort_check_nodes(const ort_provider_t *provider, const ort_graph_t *graph,
                              const ort_node_t *const *nodes, size_t count, char *text, size_t size,
                              bool *out_has) {
    *out_has = false;
    for (size_t i = 0; i < count; ++i) {
        const char *why;
        ORT_TRY(refuse_types(provider, nodes[i], &why));
        if (!why) continue;
        (void)snprintf(text, size, "%s", why);
        return NULL;
    }
    return count > 0 ? try_nodes(provider, graph, nodes, count, text, size, out_has) : NULL;
}
