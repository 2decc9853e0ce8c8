/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs from outside: made, released, and their inputs, constants, variables, outputs and
 * metadata. graph_items.c has what all nodes need, graph_nodes.c ops, branches and loops. */
#include <stdio.h>
#include <string.h>

#include "base/fp_mode.h"
#include "function/build/graph_description.h"
#include "function/call/function.h"
#include "run/runtime_state.h"
#include "run/tensor_state.h"
#include "run/variable_state.h"
#include "shared/printable.h"

/* ---- life ---- */

static void graph_destroy_one(const gantry__heap_t *heap, gantry_graph_t *graph) {
    for (size_t i = 0; i < graph->item_count; ++i) {
        gantry_tensor_release(graph->items[i].tensor);
        gantry_variable_release(graph->items[i].variable);
        gantry__draws_release(graph->items[i].draws);
    }
    gantry__heap_free(heap, graph->items, graph->item_capacity * sizeof *graph->items);
    gantry__heap_free(heap, graph->inputs, graph->input_capacity * sizeof *graph->inputs);
    gantry__heap_free(heap, graph->outputs, graph->output_capacity * sizeof *graph->outputs);
    gantry__heap_free(heap, graph, sizeof *graph);
}

static void graph_destroy(gantry_graph_t *graph) {
    gantry__graph_root_t *root = graph->root;
    gantry_runtime_t *runtime = root->runtime;
    const gantry__heap_t *heap = &runtime->heap;
    while (root->newest) {
        gantry_graph_t *subgraph = root->newest;
        root->newest = subgraph->next;
        graph_destroy_one(heap, subgraph);
    }
    graph_destroy_one(heap, graph);
    for (size_t i = 0; i < root->text_count; ++i) {
        gantry__heap_free_text(heap, root->texts[i].key);
        gantry__heap_free_text(heap, root->texts[i].text);
    }
    for (size_t i = 0; i < root->variable_count; ++i) gantry_variable_release(root->variables[i]);
    gantry__heap_free(heap, root->variables, root->variable_capacity * sizeof *root->variables);
    gantry__id_map_deinit(&root->variable_numbers);
    gantry__heap_free(heap, root->texts, root->text_capacity * sizeof *root->texts);
    gantry__heap_free(heap, root->values, root->value_capacity * sizeof *root->values);
    gantry__arena_deinit(&root->arena);
    gantry__heap_free(heap, root, sizeof *root);
    gantry__runtime_drop(runtime, 1);
}

static gantry_status_t make_root(gantry_runtime_t *runtime, gantry_graph_t **out_graph) {
    const gantry__heap_t *heap = &runtime->heap;
    gantry_graph_t *graph = gantry__heap_zalloc(heap, sizeof *graph);
    gantry__graph_root_t *root = gantry__heap_zalloc(heap, sizeof *root);
    if (!graph || !root) {
        gantry__heap_free(heap, graph, sizeof *graph);
        gantry__heap_free(heap, root, sizeof *root);
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    atomic_init(&root->references, 1);
    root->runtime = gantry__runtime_retain(runtime, 1);
    gantry__arena_init(&root->arena, heap);
    gantry__id_map_init(&root->variable_numbers, heap);
    graph->root = root;
    *out_graph = graph;
    return GANTRY_OK;
}

gantry_status_t gantry_graph_create(gantry_runtime_t *runtime, const char *name,
                                    gantry_graph_t **out_graph) {
    gantry_graph_t *graph;
    if (!out_graph)
        return gantry__refuse("gantry_graph_create: out_graph is NULL; an address is accepted");
    *out_graph = NULL;
    GANTRY__TRY(gantry__runtime_check_well(runtime));
    GANTRY__TRY(make_root(runtime, &graph));
    const gantry_status_t status = gantry__graph_copy_text(
        graph, "gantry_graph_create", "the name", name && *name ? name : "graph", &graph->name);
    if (status == GANTRY_OK)
        *out_graph = graph;
    else
        graph_destroy(graph);
    return status;
}

gantry_graph_t *gantry_graph_retain(gantry_graph_t *graph) {
    if (graph && !graph->parent) atomic_fetch_add(&graph->root->references, 1);
    return graph;
}

void gantry_graph_release(gantry_graph_t *graph) {
    if (!graph || graph->parent || !gantry__runtime_is_ours(graph->root->runtime)) return;
    if (atomic_fetch_sub(&graph->root->references, 1) == 1) graph_destroy(graph);
}

/* ---- texts ---- */

/* Cut between characters. */
gantry__graph_label_t gantry__graph_label(const char *name) {
    gantry__graph_label_t label = {""};
    size_t used = 0;
    for (const char *at = name; *at;) {
        const size_t bytes = gantry__utf8_bytes(at);
        if (used + (bytes ? bytes : 1) + sizeof "..." > sizeof label.text) {
            memcpy(label.text + used, "...", sizeof "...");
            used += sizeof "..." - 1;
            break;
        }
        memcpy(label.text + used, at, bytes ? bytes : 1);
        used += bytes ? bytes : 1;
        at += bytes ? bytes : 1;
    }
    label.text[used] = '\0';
    gantry__make_printable(label.text, 0);
    return label;
}

gantry_status_t gantry__graph_copy_text(gantry_graph_t *graph, const char *call, const char *what,
                                        const char *text, const char **out_copy) {
    *out_copy = "";
    if (!text || !*text) return GANTRY_OK;
    const size_t bytes = strlen(text);
    if (bytes > GANTRY_MAX_GRAPH_TEXT)
        return gantry__refuse(
            "%s: %s begins with \"%s\" and is too long; 0 to %d bytes are accepted", call, what,
            gantry__graph_label(text).text, GANTRY_MAX_GRAPH_TEXT);
    *out_copy = gantry__arena_strdup(&graph->root->arena, text);
    return *out_copy ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

gantry_status_t gantry__graph_check_open(const gantry_graph_t *graph, const char *call) {
    if (!graph)
        return gantry__refuse(
            "%s: the graph is NULL; one from gantry_graph_create or gantry_graph_add_subgraph is accepted",
            call);
    GANTRY__TRY(gantry__runtime_check_well(graph->root->runtime));
    if (atomic_load(&graph->root->is_frozen))
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "%s: a function was made of the graph \"%s\", which does not change any more; a graph of which none was made is accepted",
            call, gantry__graph_label(graph->name).text);
    if (graph->is_closed)
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "%s: a branch or a loop has the subgraph \"%s\", which does not change any more; one that none has is accepted",
            call, gantry__graph_label(graph->name).text);
    return GANTRY_OK;
}

/* ---- inputs ---- */

static gantry_status_t check_place(const char *call, const void *place, const char *what) {
    return place ? GANTRY_OK : gantry__refuse("%s: %s is NULL; an address is accepted", call, what);
}

/* Adds a node with one value. */
static gantry_status_t graph_add_one(gantry_graph_t *graph, const char *call,
                                     const gantry__graph_item_t *item,
                                     gantry_graph_value_t *out_value) {
    const gantry__graph_item_t *added;
    GANTRY__TRY(gantry__graph_add_item(graph, call, item, &added));
    *out_value = added->first_output;
    return GANTRY_OK;
}

gantry_status_t gantry_graph_add_input(gantry_graph_t *graph, const gantry_input_spec_t *spec,
                                       gantry_graph_value_t *out_value) {
    static const char call[] = "gantry_graph_add_input";
    GANTRY__TRY(gantry__graph_check_open(graph, call));
    GANTRY__TRY(check_place(call, spec, "spec"));
    GANTRY__TRY(check_place(call, out_value, "out_value"));
    if (graph->input_count == GANTRY_MAX_FUNCTION_VALUES)
        return gantry__refuse("%s: the graph has %d inputs, the most that are accepted", call,
                              GANTRY_MAX_FUNCTION_VALUES);
    if (!graph->parent || spec->dtype != GANTRY_DTYPE_NONE)
        GANTRY__TRY(gantry__function_check_input(call, spec, graph->input_count));
    return graph_add_one(graph, call,
                         &(gantry__graph_item_t){.kind = GANTRY_GRAPH_INPUT,
                                                 .node.name = spec->name,
                                                 .dtype = spec->dtype,
                                                 .shape = spec->shape},
                         out_value);
}

/* ---- constants and variables ---- */

gantry_status_t gantry_graph_add_constant(gantry_graph_t *graph, const char *name,
                                          const gantry_tensor_t *tensor,
                                          gantry_graph_value_t *out_value) {
    static const char call[] = "gantry_graph_add_constant";
    GANTRY__TRY(gantry__graph_check_open(graph, call));
    GANTRY__TRY(check_place(call, out_value, "out_value"));
    if (!tensor || tensor->runtime != graph->root->runtime || tensor->is_symbolic)
        return gantry__refuse(
            "%s: the tensor is %s; a tensor with elements, of the graph's runtime, is accepted",
            call,
            !tensor               ? "NULL"
            : tensor->is_symbolic ? "symbolic"
                                  : "of another runtime");
    gantry_tensor_t *held = gantry_tensor_retain(tensor);
    const gantry_status_t status = graph_add_one(
        graph, call,
        &(gantry__graph_item_t){.kind = GANTRY_GRAPH_CONSTANT, .node.name = name, .tensor = held},
        out_value);
    gantry_tensor_release(held);
    return status;
}

static gantry_status_t graph_check_variable(const gantry_graph_t *graph, const char *call,
                                            const gantry_variable_t *variable) {
    if (variable && variable->runtime == graph->root->runtime) return GANTRY_OK;
    return gantry__refuse("%s: the variable is %s; one of the graph's runtime is accepted", call,
                          variable ? "of another runtime" : "NULL");
}

gantry_status_t gantry_graph_add_read(gantry_graph_t *graph, const char *name,
                                      gantry_variable_t *variable,
                                      gantry_graph_value_t *out_value) {
    static const char call[] = "gantry_graph_add_read";
    GANTRY__TRY(gantry__graph_check_open(graph, call));
    GANTRY__TRY(check_place(call, out_value, "out_value"));
    GANTRY__TRY(graph_check_variable(graph, call, variable));
    return graph_add_one(
        graph, call,
        &(gantry__graph_item_t){.kind = GANTRY_GRAPH_READ, .node.name = name, .variable = variable},
        out_value);
}

gantry_status_t gantry_graph_add_assign(gantry_graph_t *graph, const char *name,
                                        gantry_variable_t *variable, gantry_assign_mode_t mode,
                                        gantry_graph_value_t value) {
    static const char call[] = "gantry_graph_add_assign";
    const gantry__graph_item_t *added;
    GANTRY__TRY(gantry__graph_check_open(graph, call));
    GANTRY__TRY(graph_check_variable(graph, call, variable));
    if (mode < GANTRY_ASSIGN_SET || mode > GANTRY_ASSIGN_SUB)
        return gantry__refuse("%s: mode is %d; a gantry_assign_mode_t, 0 to 2, is accepted", call,
                              (int)mode);
    const gantry__graph_item_t item = {.kind = GANTRY_GRAPH_ASSIGN,
                                       .node = {.name = name, .inputs = &value, .input_count = 1},
                                       .variable = variable,
                                       .mode = mode};
    return gantry__graph_add_item(graph, call, &item, &added);
}

/* ---- outputs ---- */

gantry_status_t gantry_graph_add_output(gantry_graph_t *graph, const char *name,
                                        gantry_graph_value_t value) {
    static const char call[] = "gantry_graph_add_output";
    gantry__graph_output_t output = {.value = value};
    GANTRY__TRY(gantry__graph_check_open(graph, call));
    if (graph->output_count == GANTRY_MAX_FUNCTION_VALUES)
        return gantry__refuse("%s: the graph has %d outputs, the most that are accepted", call,
                              GANTRY_MAX_FUNCTION_VALUES);
    GANTRY__TRY(gantry__graph_check_value(graph, call, "value", value));
    GANTRY__TRY(gantry__graph_copy_text(graph, call, "the name", name, &output.name));
    if (!gantry__heap_grow(&graph->root->runtime->heap, &graph->outputs, graph->output_count,
                           &graph->output_capacity, sizeof output))
        return GANTRY_RESOURCE_EXHAUSTED;
    graph->outputs[graph->output_count++] = output;
    return GANTRY_OK;
}

/* ---- metadata ---- */

static size_t find_text(const gantry__graph_root_t *root, const char *key) {
    size_t i = 0;
    while (i < root->text_count && strcmp(root->texts[i].key, key) != 0) ++i;
    return i;
}

static void remove_text(gantry__graph_root_t *root, size_t at) {
    const gantry__heap_t *heap = &root->runtime->heap;
    if (at == root->text_count) return;
    gantry__heap_free_text(heap, root->texts[at].key);
    gantry__heap_free_text(heap, root->texts[at].text);
    memmove(&root->texts[at], &root->texts[at + 1],
            (--root->text_count - at) * sizeof *root->texts);
}

static gantry_status_t graph_put_text(gantry__graph_root_t *root, const char *key,
                                      const char *text) {
    const gantry__heap_t *heap = &root->runtime->heap;
    const size_t at = find_text(root, key);
    const bool is_new = at == root->text_count;
    if (is_new && !gantry__heap_grow(heap, &root->texts, root->text_count, &root->text_capacity,
                                     sizeof *root->texts))
        return GANTRY_RESOURCE_EXHAUSTED;
    char *copy = gantry__heap_strdup(heap, text);
    char *own_key = copy && is_new ? gantry__heap_strdup(heap, key) : NULL;
    if (!copy || (is_new && !own_key)) {
        gantry__heap_free_text(heap, copy);
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    if (is_new) {
        root->texts[root->text_count++] = (gantry__graph_text_t){own_key, copy};
        return GANTRY_OK;
    }
    gantry__heap_free_text(heap, root->texts[at].text);
    root->texts[at].text = copy;
    return GANTRY_OK;
}

static gantry_status_t check_metadata_key(const char *key) {
    const size_t bytes = strlen(key);
    if (bytes > 0 && bytes <= GANTRY_MAX_GRAPH_TEXT) return GANTRY_OK;
    return gantry__refuse(
        "gantry_graph_set_metadata: the key \"%s\" is too %s; 1 to %d bytes are accepted",
        gantry__graph_label(key).text, bytes == 0 ? "short" : "long", GANTRY_MAX_GRAPH_TEXT);
}

gantry_status_t gantry_graph_set_metadata(gantry_graph_t *graph, const char *key,
                                          const char *text) {
    static const char call[] = "gantry_graph_set_metadata";
    GANTRY__TRY(gantry__graph_check_open(graph, call));
    GANTRY__TRY(check_place(call, key, "key"));
    GANTRY__TRY(check_metadata_key(key));
    if (graph->parent)
        return gantry__refuse(
            "%s: the subgraph \"%s\" has no metadata; a graph from gantry_graph_create is accepted",
            call, gantry__graph_label(graph->name).text);
    if (!text) {
        remove_text(graph->root, find_text(graph->root, key));
        return GANTRY_OK;
    }
    return graph_put_text(graph->root, key, text);
}
