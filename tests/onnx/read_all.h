/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at everything of a model that was read, for sanitizers and fuzzers. Header only. */
#ifndef TESTS_READ_ALL_H
#define TESTS_READ_ALL_H

#include <stdlib.h>
#include <string.h>

#include "onnx/file/read.h"

#define MOST_TENSOR_BYTES ((size_t)1 << 20)

/* Ends the program if what a model must keep does not hold. */
#define MUST_HOLD(condition)       \
    do {                           \
        if (!(condition)) abort(); \
    } while (0)

static inline void read_all_of_tensor(const gantry__onnx_file_t *file,
                                      const gantry__onnx_tensor_t *tensor) {
    const size_t item_bytes = gantry_dtype_size(gantry__onnx_stored_dtype(tensor->type));
    if ((uint64_t)tensor->count > MOST_TENSOR_BYTES / 16) return;
    const size_t size = (size_t)tensor->count * item_bytes;
    void *bytes = malloc(size + 1);
    MUST_HOLD(bytes);
    const gantry_status_t status = gantry__onnx_tensor_data(file, tensor, bytes, size);
    MUST_HOLD(status == GANTRY_OK || status == GANTRY_UNIMPLEMENTED);
    const void *span = gantry__onnx_tensor_span(file, tensor);
    if (span) MUST_HOLD(memcmp(span, bytes, size) == 0);
    free(bytes);
}

static inline void read_all_of_graph(const gantry__onnx_file_t *file,
                                     const gantry__onnx_graph_t *graph);

static inline void read_all_of_node(const gantry__onnx_file_t *file,
                                    const gantry__onnx_graph_t *graph,
                                    const gantry__onnx_node_t *node) {
    const gantry__onnx_graph_model_t *model = gantry__onnx_file_model(file);
    char text[64];
    gantry__onnx_describe_node(node, text, sizeof text);
    for (size_t i = 0; i < node->input_count; ++i)
        MUST_HOLD(node->inputs[i] == GANTRY__ONNX_NO_VALUE || node->inputs[i] < model->value_count);
    for (size_t i = 0; i < node->output_count; ++i) {
        if (node->outputs[i] == GANTRY__ONNX_NO_VALUE) continue;
        const gantry__onnx_value_info_t *info = &model->values[node->outputs[i]];
        MUST_HOLD(info->graph == graph && info->source == GANTRY__ONNX_FROM_NODE);
        MUST_HOLD(&graph->nodes[info->node] == node);
    }
    for (size_t i = 0; i < node->attr_count; ++i) {
        const gantry__onnx_attr_t *attr = &node->attrs[i];
        MUST_HOLD(gantry__onnx_find_attr(node, attr->name));
        for (size_t k = 0; attr->tensors && k < attr->count; ++k)
            read_all_of_tensor(file, attr->tensors[k]);
        for (size_t k = 0; attr->graphs && k < attr->count; ++k)
            read_all_of_graph(file, attr->graphs[k]);
        for (size_t k = 0; attr->texts && k < attr->count; ++k)
            MUST_HOLD(strlen((const char *)attr->texts[k].data) == attr->texts[k].size);
    }
}

static inline void read_all_of_graph(const gantry__onnx_file_t *file,
                                     const gantry__onnx_graph_t *graph) {
    const gantry__onnx_graph_model_t *model = gantry__onnx_file_model(file);
    for (size_t i = 0; i < graph->node_count; ++i) {
        MUST_HOLD(graph->nodes[i].index == i);
        read_all_of_node(file, graph, &graph->nodes[i]);
    }
    for (size_t i = 0; i < graph->input_count; ++i)
        MUST_HOLD(model->values[graph->inputs[i]].graph == graph);
    for (size_t i = 0; i < graph->output_count; ++i)
        MUST_HOLD(graph->outputs[i] < model->value_count);
    for (size_t i = 0; i < graph->capture_count; ++i)
        MUST_HOLD(model->values[graph->captures[i]].graph != graph);
    if (!graph->parent) MUST_HOLD(graph->capture_count == 0);
}

static inline void read_all(const gantry__onnx_file_t *file) {
    const gantry__onnx_graph_model_t *model = gantry__onnx_file_model(file);
    for (size_t i = 0; i < model->value_count; ++i) {
        const gantry__onnx_value_info_t *info = &model->values[i];
        MUST_HOLD(strlen(info->name) > 0 && info->graph);
        if (info->tensor) read_all_of_tensor(file, info->tensor);
    }
    read_all_of_graph(file, model->graph);
}

#endif
