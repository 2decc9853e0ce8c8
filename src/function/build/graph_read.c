/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a graph. */
#include <string.h>

#include <gantry/saved_function.h>

#include "function/build/graph_description.h"
#include "shared/struct_size.h"

const char *gantry_graph_name(const gantry_graph_t *graph) { return graph ? graph->name : ""; }

size_t gantry_graph_node_count(const gantry_graph_t *graph) {
    return graph ? graph->item_count : 0;
}

size_t gantry_graph_input_count(const gantry_graph_t *graph) {
    return graph ? graph->input_count : 0;
}

size_t gantry_graph_output_count(const gantry_graph_t *graph) {
    return graph ? graph->output_count : 0;
}

size_t gantry_graph_metadata_count(const gantry_graph_t *graph) {
    return graph && !graph->parent ? graph->root->text_count : 0;
}

static gantry_status_t check_index(const gantry_graph_t *graph, const char *call, const char *what,
                                   size_t index, size_t count) {
    if (!graph) return gantry__refuse("%s: the graph is NULL; a graph is accepted", call);
    if (index < count) return GANTRY_OK;
    return gantry__fail(GANTRY_OUT_OF_RANGE, "%s: %s %zu of %zu; 0 to one less is accepted", call,
                        what, index, count);
}

gantry_status_t gantry_graph_get_node(const gantry_graph_t *graph, size_t index,
                                      gantry_graph_node_info_t *out_info) {
    static const char call[] = "gantry_graph_get_node";
    GANTRY__TRY(check_index(graph, call, "node", index, gantry_graph_node_count(graph)));
    const gantry__graph_item_t *item = &graph->items[index];
    const gantry_graph_node_info_t info = {.struct_size = sizeof info,
                                           .kind = item->kind,
                                           .node = item->node,
                                           .first_output = item->first_output,
                                           .output_count = item->output_count,
                                           .dtype = item->dtype,
                                           .shape = item->shape,
                                           .tensor = item->tensor,
                                           .variable = item->variable,
                                           .mode = item->mode,
                                           .subgraphs = item->subgraphs,
                                           .subgraph_count = item->subgraph_count,
                                           .most_steps = item->most_steps};
    return gantry__struct_fill(out_info, &info, sizeof info, "gantry_graph_get_node: out_info");
}

gantry_status_t gantry_graph_get_input(const gantry_graph_t *graph, size_t index,
                                       gantry_input_spec_t *out_spec,
                                       gantry_graph_value_t *out_value) {
    static const char call[] = "gantry_graph_get_input";
    GANTRY__TRY(check_index(graph, call, "input", index, gantry_graph_input_count(graph)));
    const gantry__graph_item_t *item = &graph->items[graph->inputs[index]];
    if (out_spec)
        *out_spec = (gantry_input_spec_t){
            .name = item->node.name, .dtype = item->dtype, .shape = item->shape};
    if (out_value) *out_value = item->first_output;
    return GANTRY_OK;
}

gantry_status_t gantry_graph_get_output(const gantry_graph_t *graph, size_t index,
                                        const char **out_name, gantry_graph_value_t *out_value) {
    static const char call[] = "gantry_graph_get_output";
    GANTRY__TRY(check_index(graph, call, "output", index, gantry_graph_output_count(graph)));
    if (out_name) *out_name = graph->outputs[index].name;
    if (out_value) *out_value = graph->outputs[index].value;
    return GANTRY_OK;
}

gantry_status_t gantry_graph_get_metadata(const gantry_graph_t *graph, size_t index,
                                          const char **out_key, const char **out_text) {
    static const char call[] = "gantry_graph_get_metadata";
    GANTRY__TRY(check_index(graph, call, "text", index, gantry_graph_metadata_count(graph)));
    if (out_key) *out_key = graph->root->texts[index].key;
    if (out_text) *out_text = graph->root->texts[index].text;
    return GANTRY_OK;
}

/* ---- variables ---- */

size_t gantry_graph_variable_count(const gantry_graph_t *graph) {
    return graph ? graph->root->variable_count : 0;
}

gantry_variable_t *gantry_graph_get_variable(const gantry_graph_t *graph, size_t index) {
    const size_t count = gantry_graph_variable_count(graph);
    return check_index(graph, "gantry_graph_get_variable", "variable", index, count) == GANTRY_OK
               ? graph->root->variables[index]
               : NULL;
}

gantry_variable_t *gantry_graph_find_variable(const gantry_graph_t *graph, const char *name) {
    static const char call[] = "gantry_graph_find_variable";
    const size_t count = gantry_graph_variable_count(graph);
    if (!graph || !name) {
        (void)gantry__refuse("%s: the %s is NULL; one is accepted", call, graph ? "name" : "graph");
        return NULL;
    }
    for (size_t i = 0; i < count; ++i) {
        gantry_variable_t *variable = graph->root->variables[i];
        if (strcmp(gantry_variable_name(variable), name) == 0) return variable;
    }
    (void)gantry__fail(GANTRY_NOT_FOUND, "%s: none of the graph's %zu variables is \"%s\"", call,
                       count, gantry__graph_label(name).text);
    return NULL;
}
