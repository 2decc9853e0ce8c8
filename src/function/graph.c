/* SPDX-License-Identifier: Apache-2.0 */
#include "function/graph.h"

void gantry__graph_init(gantry__graph_t *graph, const gantry__heap_t *heap) {
    *graph = (gantry__graph_t){.heap = heap};
    gantry__arena_init(&graph->arena, heap);
}

void gantry__graph_deinit(gantry__graph_t *graph) {
    for (size_t i = 0; i < graph->node_count; ++i) {
        gantry_tensor_release(graph->nodes[i].tensor);
        gantry_variable_release(graph->nodes[i].variable);
    }
    gantry__heap_free(graph->heap, graph->nodes, graph->node_capacity * sizeof *graph->nodes);
    gantry__heap_free(graph->heap, graph->values, graph->value_capacity * sizeof *graph->values);
    gantry__arena_deinit(&graph->arena);
}

/* Copies the texts and lists that an attribute points to. Names are constants of the definition. */
static bool graph_keep_attr(gantry__arena_t *arena, gantry_attr_t *attr) {
    if (attr->s && !(attr->s = gantry__arena_strdup(arena, attr->s))) return false;
    const bool has_list = attr->list && attr->i > 0;
    if (!has_list) return true;
    attr->list = gantry__arena_copy(arena, attr->list, (size_t)attr->i, sizeof *attr->list);
    return attr->list != NULL;
}

static bool graph_keep_attrs(gantry__arena_t *arena, gantry__node_t *node) {
    const uint32_t count = node->attrs ? node->op->attr_count : 0;
    gantry_attr_t *attrs = gantry__arena_copy(arena, node->attrs, count, sizeof *attrs);
    node->attrs = attrs;
    if (!attrs) return false;
    for (uint32_t i = 0; i < count; ++i) {
        if (!graph_keep_attr(arena, &attrs[i])) return false;
    }
    return true;
}

static bool graph_keep_node(gantry__arena_t *arena, gantry__node_t *node) {
    node->inputs = gantry__arena_copy(arena, node->inputs, node->input_count, sizeof *node->inputs);
    node->controls =
        gantry__arena_copy(arena, node->controls, node->control_count, sizeof *node->controls);
    node->colocated =
        gantry__arena_copy(arena, node->colocated, node->colocated_count, sizeof *node->colocated);
    node->name = gantry__arena_strdup(arena, node->name);
    return node->inputs && node->controls && node->colocated && node->name &&
           graph_keep_attrs(arena, node);
}

static bool graph_add_value(gantry__graph_t *graph, uint32_t node, gantry_dtype_t dtype,
                            const gantry_shape_t *shape) {
    if (!gantry__heap_grow(graph->heap, &graph->values, graph->value_count, &graph->value_capacity,
                           sizeof *graph->values))
        return false;
    const int64_t elements = gantry_shape_elements(shape);
    graph->values[graph->value_count++] =
        (gantry__value_t){.node = node,
                          .dtype = dtype,
                          .shape = *shape,
                          .elements = elements,
                          .bytes = (uint64_t)elements * gantry_dtype_size(dtype)};
    return true;
}

gantry_status_t gantry__graph_add(gantry__graph_t *graph, const gantry__node_t *node,
                                  const gantry_dtype_t *dtypes, const gantry_shape_t *shapes,
                                  uint32_t *out_node) {
    gantry__node_t kept = *node;
    const uint32_t index = (uint32_t)graph->node_count;
    kept.first_output = (uint32_t)graph->value_count;
    bool is_kept = gantry__heap_grow(graph->heap, &graph->nodes, graph->node_count,
                                     &graph->node_capacity, sizeof *graph->nodes) &&
                   graph_keep_node(&graph->arena, &kept);
    for (uint32_t i = 0; is_kept && i < kept.output_count; ++i)
        is_kept = graph_add_value(graph, index, dtypes[i], &shapes[i]);
    if (!is_kept) {
        graph->value_count = kept.first_output;
        gantry_tensor_release(node->tensor);
        gantry_variable_release(node->variable);
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    graph->nodes[graph->node_count++] = kept;
    *out_node = index;
    return GANTRY_OK;
}
