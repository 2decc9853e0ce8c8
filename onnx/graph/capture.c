/* SPDX-License-Identifier: Apache-2.0 */
/* Captures: the values that a subgraph, or one within it, reads of graphs around it. Subgraphs come
 * after the graphs around them in the list, so its way back meets the inner ones first, and a graph
 * takes those of the subgraphs of its nodes as they are. */
#include <string.h>

#include "shared/memory.h"
#include "onnx/graph/build.h"

/* The captures of one graph. */
typedef struct capture_list_t {
    gantry__onnx_build_t *build;
    const gantry__onnx_graph_t *graph;
    uint32_t *seen, serial; /* seen[value] is serial: it is in the list. */
    gantry__onnx_value_t *values;
    size_t count, capacity;
} capture_list_t;

static gantry_status_t capture(capture_list_t *list, gantry__onnx_value_t value) {
    if (value == GANTRY__ONNX_NO_VALUE || list->build->values[value].graph == list->graph ||
        list->seen[value] == list->serial)
        return GANTRY_OK;
    list->seen[value] = list->serial;
    GANTRY__TRY(gantry__onnx_grow_list(list->build->reader, &list->values, list->count,
                                       &list->capacity, sizeof *list->values));
    list->values[list->count++] = value;
    return GANTRY_OK;
}

static gantry_status_t capture_all(capture_list_t *list, const gantry__onnx_value_t *values,
                                   size_t count) {
    GANTRY__TRY(gantry__onnx_work(list->build->reader, count));
    for (size_t i = 0; i < count; ++i) GANTRY__TRY(capture(list, values[i]));
    return GANTRY_OK;
}

static gantry_status_t capture_of_node(capture_list_t *list, const gantry__onnx_node_t *node) {
    GANTRY__TRY(capture_all(list, node->inputs, node->input_count));
    for (size_t i = 0; i < node->attr_count; ++i) {
        const gantry__onnx_attr_t *attr = &node->attrs[i];
        if (attr->kind != GANTRY__ONNX_GRAPH && attr->kind != GANTRY__ONNX_GRAPHS) continue;
        for (size_t k = 0; k < attr->count; ++k)
            GANTRY__TRY(
                capture_all(list, attr->graphs[k]->captures, attr->graphs[k]->capture_count));
    }
    return GANTRY_OK;
}

static gantry_status_t capture_of_graph(capture_list_t *list, gantry__onnx_graph_t *graph) {
    list->graph = graph;
    list->serial++;
    list->count = 0;
    for (size_t i = 0; i < graph->node_count; ++i)
        GANTRY__TRY(capture_of_node(list, &graph->nodes[i]));
    GANTRY__TRY(capture_all(list, graph->outputs, graph->output_count));
    gantry__onnx_value_t *captures =
        gantry__onnx_model_alloc(list->build->reader, list->count, sizeof *captures);
    if (!captures) return GANTRY_RESOURCE_EXHAUSTED;
    if (list->count > 0) memcpy(captures, list->values, list->count * sizeof *captures);
    graph->captures = captures;
    graph->capture_count = list->count;
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_make_captures(gantry__onnx_build_t *build) {
    capture_list_t list = {.build = build};
    gantry_status_t status = GANTRY_OK;
    list.seen = gantry__alloc(build->value_count, sizeof *list.seen);
    if (!list.seen) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = build->graph_count; i-- > 0 && status == GANTRY_OK;)
        status = capture_of_graph(&list, build->graphs[i]);
    gantry__free(list.seen);
    gantry__free(list.values);
    return status;
}
