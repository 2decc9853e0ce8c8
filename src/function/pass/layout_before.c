/* SPDX-License-Identifier: Apache-2.0 */
#include "function/pass/layout_before.h"

#include <string.h>

static size_t count_lists(const gantry__layout_t *layout) {
    size_t count = layout->graph->output_count;
    for (size_t i = 0; i < layout->node_count; ++i) count += layout->graph->nodes[i].input_count;
    return count;
}

/* Transposes of constants are folded. */
static uint64_t moved_by(const gantry__layout_t *layout, uint32_t index) {
    const gantry__graph_t *graph = layout->graph;
    const gantry__node_t *node = &graph->nodes[index];
    if (node->kind != GANTRY__NODE_OP || node->input_count == 0 || node->output_count == 0)
        return 0;
    const gantry__value_t *operand = &graph->values[node->inputs[0]];
    const uint64_t bytes = graph->values[node->first_output].bytes;
    if (node->op->id == GANTRY__OP_ID_Transpose)
        return graph->nodes[operand->node].kind == GANTRY__NODE_CONST ? 0 : bytes;
    if (!gantry__layout_is_window(node) || !gantry__layout_is_channels_first(node)) return 0;
    if (index >= layout->node_count || layout->planes[index] == GANTRY__PLANES_SLOW)
        return operand->bytes + bytes;
    return layout->planes[index] == GANTRY__PLANES_SLOWER ? (operand->bytes + bytes) / 2 : 0;
}

gantry_status_t gantry__layout_remember(const gantry__layout_t *layout,
                                        gantry__layout_before_t *out) {
    const gantry__graph_t *graph = layout->graph;
    const gantry__heap_t *heap = graph->heap;
    const size_t nodes = layout->node_count, values = layout->value_count;
    out->moved = 0;
    out->list_count = count_lists(layout);
    out->nodes = gantry__heap_zalloc(heap, nodes * sizeof *out->nodes);
    out->values = gantry__heap_zalloc(heap, values * sizeof *out->values);
    out->lists = gantry__heap_zalloc(heap, out->list_count * sizeof *out->lists);
    if (!out->nodes || !out->values || !out->lists) return GANTRY_RESOURCE_EXHAUSTED;
    memcpy(out->nodes, graph->nodes, nodes * sizeof *out->nodes);
    memcpy(out->values, graph->values, values * sizeof *out->values);
    uint32_t *list = out->lists;
    for (uint32_t i = 0; i < nodes; list += graph->nodes[i++].input_count) {
        if (graph->nodes[i].input_count > 0)
            memcpy(list, graph->nodes[i].inputs, graph->nodes[i].input_count * sizeof *list);
        out->moved += moved_by(layout, i);
    }
    if (graph->output_count > 0) memcpy(list, graph->outputs, graph->output_count * sizeof *list);
    return GANTRY_OK;
}

void gantry__layout_before_deinit(const gantry__layout_t *layout, gantry__layout_before_t *before) {
    const gantry__heap_t *heap = layout->graph->heap;
    gantry__heap_free(heap, before->nodes, layout->node_count * sizeof *before->nodes);
    gantry__heap_free(heap, before->values, layout->value_count * sizeof *before->values);
    gantry__heap_free(heap, before->lists, before->list_count * sizeof *before->lists);
}

bool gantry__layout_moves_more(const gantry__layout_t *layout,
                               const gantry__layout_before_t *before) {
    uint64_t moved = 0;
    for (size_t i = 0; i < layout->order_count; ++i) moved += moved_by(layout, layout->order[i]);
    return moved > before->moved;
}

gantry_status_t gantry__layout_restore(gantry__layout_t *layout,
                                       const gantry__layout_before_t *before) {
    gantry__graph_t *graph = layout->graph;
    const uint32_t *list = before->lists;
    layout->order_count = 0;
    memcpy(graph->values, before->values, layout->value_count * sizeof *graph->values);
    for (uint32_t i = 0; i < layout->node_count; list += graph->nodes[i++].input_count) {
        graph->nodes[i] = before->nodes[i];
        if (graph->nodes[i].input_count > 0)
            memcpy(graph->nodes[i].inputs, list, graph->nodes[i].input_count * sizeof *list);
        GANTRY__TRY(gantry__layout_place(layout, i));
    }
    if (graph->output_count > 0) memcpy(graph->outputs, list, graph->output_count * sizeof *list);
    return GANTRY_OK;
}
