/* SPDX-License-Identifier: Apache-2.0 */
/* Ops, branches and loops of a graph, and subgraphs. */
#include "function/build/graph_description.h"
#include "run/runtime_state.h"
#include "shared/struct_size.h"

/* Reads the node of a call into this library's struct, and empties the places of values. */
static gantry_status_t graph_begin_node(const gantry_graph_t *graph, const char *call,
                                        const char *what, const gantry_graph_node_t *given,
                                        gantry_graph_node_t *out_node) {
    GANTRY__TRY(gantry__graph_check_open(graph, call));
    if (!given) return gantry__refuse("%s: node is NULL; a node is accepted", call);
    return gantry__struct_read(given, 0, out_node, sizeof *out_node, what);
}

static void graph_write_values(const gantry__graph_item_t *item, gantry_graph_value_t *outputs) {
    for (uint32_t i = 0; i < item->output_count; ++i) outputs[i] = item->first_output + i;
}

/* ---- ops ---- */

/* The op's outputs are counted before the node is added, so that too little room adds none. */
static gantry_status_t graph_check_room(const gantry_graph_node_t *node, size_t room) {
    gantry__infer_t infer = {.op = node->op ? gantry__op_find(node->op) : NULL,
                             .input_count = (uint32_t)node->input_count};
    if (!infer.op || gantry__op_infer(&infer, node->attrs, node->attr_count) != GANTRY_OK ||
        gantry__op_count_outputs(&infer) != GANTRY_OK || infer.output_count <= room)
        return GANTRY_OK; /* other errors are those of the node */
    return gantry__refuse("gantry_graph_add_node: op %s has %u outputs; there is room for %zu",
                          infer.op->name, infer.output_count, room);
}

gantry_status_t gantry_graph_add_node(gantry_graph_t *graph, const gantry_graph_node_t *node,
                                      gantry_graph_value_t *outputs, size_t *output_count) {
    static const char call[] = "gantry_graph_add_node";
    const gantry__graph_item_t *added;
    gantry__graph_item_t item = {.kind = GANTRY_GRAPH_OP};
    if (!output_count)
        return gantry__refuse("%s: output_count is NULL; a number is accepted", call);
    const size_t room = outputs ? *output_count : 0;
    if (!outputs && *output_count > 0)
        return gantry__refuse("%s: outputs is NULL; an array of %zu is accepted", call,
                              *output_count);
    *output_count = 0;
    GANTRY__TRY(graph_begin_node(graph, call, "gantry_graph_add_node: node", node, &item.node));
    GANTRY__TRY(graph_check_room(&item.node, room));
    GANTRY__TRY(gantry__graph_add_item(graph, call, &item, &added));
    graph_write_values(added, outputs);
    *output_count = added->output_count;
    return GANTRY_OK;
}

/* ---- subgraphs ---- */

static gantry_status_t make_subgraph(gantry_graph_t *graph, const char *call, const char *name,
                                     gantry_graph_t **out_subgraph) {
    const gantry__heap_t *heap = &graph->root->runtime->heap;
    gantry_graph_t *subgraph = gantry__heap_zalloc(heap, sizeof *subgraph);
    if (!subgraph) return GANTRY_RESOURCE_EXHAUSTED;
    const gantry_status_t status =
        gantry__graph_copy_text(graph, call, "the name", name, &subgraph->name);
    if (status != GANTRY_OK) {
        gantry__heap_free(heap, subgraph, sizeof *subgraph);
        return status;
    }
    subgraph->root = graph->root;
    subgraph->parent = graph;
    subgraph->depth = graph->depth + 1;
    subgraph->next = graph->root->newest;
    graph->root->newest = *out_subgraph = subgraph;
    return GANTRY_OK;
}

gantry_status_t gantry_graph_add_subgraph(gantry_graph_t *graph, const char *name,
                                          gantry_graph_t **out_subgraph) {
    static const char call[] = "gantry_graph_add_subgraph";
    if (!out_subgraph)
        return gantry__refuse("%s: out_subgraph is NULL; an address is accepted", call);
    *out_subgraph = NULL;
    GANTRY__TRY(gantry__graph_check_open(graph, call));
    if (graph->depth == GANTRY_MAX_NESTING)
        return gantry__fail(
            GANTRY_RESOURCE_EXHAUSTED,
            "%s: it is inside %d subgraphs, the most that are accepted (GANTRY_MAX_NESTING)", call,
            GANTRY_MAX_NESTING);
    return make_subgraph(graph, call, name, out_subgraph);
}

static gantry_status_t graph_add_block(gantry_graph_t *graph, const char *call,
                                       const gantry__graph_item_t *item,
                                       gantry_graph_value_t *outputs) {
    const gantry__graph_item_t *added;
    if (item->node.op || item->node.attr_count > 0)
        return gantry__refuse("%s: node has %s; none is accepted", call,
                              item->node.op ? "an op" : "attributes");
    GANTRY__TRY(gantry__graph_add_item(graph, call, item, &added));
    if (outputs) graph_write_values(added, outputs);
    return GANTRY_OK;
}

gantry_status_t gantry_graph_add_case(gantry_graph_t *graph, const gantry_graph_node_t *node,
                                      gantry_graph_t *const *subgraphs, size_t subgraph_count,
                                      gantry_graph_value_t *outputs, size_t output_count) {
    static const char call[] = "gantry_graph_add_case";
    gantry__graph_item_t item = {.kind = GANTRY_GRAPH_CASE};
    GANTRY__TRY(graph_begin_node(graph, call, "gantry_graph_add_case: node", node, &item.node));
    if (!subgraphs) return gantry__refuse("%s: subgraphs is NULL; an array is accepted", call);
    if (!outputs && output_count > 0)
        return gantry__refuse("%s: outputs is NULL; an array of %zu is accepted", call,
                              output_count);
    const bool fits = subgraph_count > 0 && subgraph_count <= GANTRY_MAX_GRAPH_BRANCHES;
    if (fits && subgraphs[0] && subgraphs[0]->output_count != output_count)
        return gantry__refuse(
            "%s: there is room for %zu outputs; %zu are accepted, as many as subgraphs have", call,
            output_count, subgraphs[0]->output_count);
    gantry_graph_t *given[GANTRY_MAX_GRAPH_BRANCHES];
    item.subgraph_count = subgraph_count < UINT32_MAX ? (uint32_t)subgraph_count : UINT32_MAX;
    item.subgraphs = given;
    for (size_t i = 0; fits && i < subgraph_count; ++i) given[i] = subgraphs[i];
    return graph_add_block(graph, call, &item, outputs);
}

gantry_status_t gantry_graph_add_while(gantry_graph_t *graph, const gantry_graph_node_t *node,
                                       gantry_graph_t *condition, gantry_graph_t *body,
                                       uint64_t most_steps, gantry_graph_value_t *outputs) {
    static const char call[] = "gantry_graph_add_while";
    gantry_graph_t *subgraphs[] = {condition, body};
    gantry__graph_item_t item = {.kind = GANTRY_GRAPH_WHILE,
                                 .subgraphs = subgraphs,
                                 .subgraph_count = 2,
                                 .most_steps = most_steps};
    GANTRY__TRY(graph_begin_node(graph, call, "gantry_graph_add_while: node", node, &item.node));
    if (!condition || !body)
        return gantry__refuse("%s: %s is NULL; one from gantry_graph_add_subgraph is accepted",
                              call, condition ? "body" : "condition");
    if (!outputs && item.node.input_count > 0)
        return gantry__refuse("%s: outputs is NULL; an array of %zu is accepted", call,
                              item.node.input_count);
    return graph_add_block(graph, call, &item, outputs);
}

gantry_status_t gantry_graph_add_join(gantry_graph_t *graph, const gantry_graph_node_t *node,
                                      gantry_graph_t *body, gantry_graph_value_t *outputs) {
    static const char call[] = "gantry_graph_add_join";
    const gantry__graph_item_t *added;
    gantry__graph_item_t item = {
        .kind = GANTRY_GRAPH_JOIN, .subgraphs = &body, .subgraph_count = 1};
    GANTRY__TRY(graph_begin_node(graph, call, "gantry_graph_add_join: node", node, &item.node));
    if (!body || !outputs)
        return gantry__refuse("%s: %s is NULL; %s is accepted", call, body ? "outputs" : "body",
                              body ? "an array" : "one from gantry_graph_add_subgraph");
    GANTRY__TRY(gantry__graph_add_item(graph, call, &item, &added));
    graph_write_values(added, outputs);
    return GANTRY_OK;
}
