/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that are made of a graph, and graphs of functions. */
#include <gantry/observe.h>

#include <string.h>

#include "base/fp_mode.h"
#include "function/build/graph_description.h"
#include "function/call/function.h"
#include "function/trace/trace.h"

static void release_graph(void *graph) { gantry_graph_release(graph); }

static gantry_status_t describe_itself(void *user, gantry_graph_t **out_graph) {
    *out_graph = user;
    return GANTRY_OK;
}

/* ---- a function of a graph ---- */

static gantry_status_t graph_check_whole(const gantry_graph_t *graph) {
    static const char call[] = "gantry_function_from_graph";
    if (!graph)
        return gantry__refuse("%s: the graph is NULL; one from gantry_graph_create is accepted",
                              call);
    if (graph->parent)
        return gantry__refuse("%s: \"%s\" is a subgraph; one from gantry_graph_create is accepted",
                              call, gantry__graph_label(graph->name).text);
    for (const gantry_graph_t *at = graph->root->newest; at; at = at->next) {
        if (!at->is_closed)
            return gantry__refuse(
                "%s: no branch or loop has the subgraph \"%s\"; a graph whose subgraphs have one is accepted",
                call, gantry__graph_label(at->name).text);
    }
    return GANTRY_OK;
}

/* Lists that a function copies. */
typedef struct graph_lists_t {
    gantry_input_spec_t *inputs;
    const char **output_names;
    gantry_metadata_t *metadata;
} graph_lists_t;

static void fill_lists(const gantry_graph_t *graph, const graph_lists_t *lists) {
    for (size_t i = 0; i < graph->input_count; ++i) {
        const gantry__graph_item_t *item = &graph->items[graph->inputs[i]];
        lists->inputs[i] = (gantry_input_spec_t){
            .name = item->node.name, .dtype = item->dtype, .shape = item->shape};
    }
    for (size_t i = 0; i < graph->output_count; ++i)
        lists->output_names[i] = graph->outputs[i].name;
    for (size_t i = 0; i < graph->root->text_count; ++i)
        lists->metadata[i] = (gantry_metadata_t){.key = graph->root->texts[i].key,
                                                 .text = graph->root->texts[i].text};
}

static gantry_status_t make_of_lists(gantry_graph_t *graph, const graph_lists_t *lists,
                                     const gantry_function_options_t *options,
                                     gantry_function_t **out_function) {
    const gantry__graph_label_t name = gantry__graph_label(graph->name);
    static const gantry__function_origin_t origin = {.describe = describe_itself};
    const gantry__function_source_t source = {.call = "gantry_function_from_graph",
                                              .name = name.text,
                                              .body = gantry__graph_body,
                                              .user = graph,
                                              .release_user = release_graph,
                                              .origin = &origin,
                                              .inputs = lists->inputs,
                                              .input_count = graph->input_count,
                                              .output_count = graph->output_count,
                                              .output_names = lists->output_names,
                                              .metadata = lists->metadata,
                                              .metadata_count = graph->root->text_count};
    fill_lists(graph, lists);
    return gantry__function_make(graph->root->runtime, &source, options, out_function);
}

static gantry_status_t make_of_graph(gantry_graph_t *graph,
                                     const gantry_function_options_t *options,
                                     gantry_function_t **out_function) {
    gantry__arena_t arena;
    gantry__arena_init(&arena, &graph->root->runtime->heap);
    const graph_lists_t lists = {
        .inputs = gantry__arena_zalloc(&arena, graph->input_count, sizeof *lists.inputs),
        .output_names =
            gantry__arena_zalloc(&arena, graph->output_count, sizeof *lists.output_names),
        .metadata = gantry__arena_zalloc(&arena, graph->root->text_count, sizeof *lists.metadata)};
    const gantry_status_t status = lists.inputs && lists.output_names && lists.metadata
                                       ? make_of_lists(graph, &lists, options, out_function)
                                       : GANTRY_RESOURCE_EXHAUSTED;
    gantry__arena_deinit(&arena);
    return status;
}

gantry_status_t gantry_function_from_graph(gantry_graph_t *graph,
                                           const gantry_function_options_t *options,
                                           gantry_function_t **out_function) {
    GANTRY__OWN_FP_MODE(fp);
    if (!out_function)
        return gantry__refuse(
            "gantry_function_from_graph: out_function is NULL; an address is accepted");
    *out_function = NULL;
    GANTRY__TRY(graph_check_whole(graph));
    GANTRY__TRY(gantry__runtime_check_well(graph->root->runtime));
    (void)gantry_graph_retain(graph);
    const bool was_frozen = atomic_exchange(&graph->root->is_frozen, true);
    const gantry_status_t status = make_of_graph(graph, options, out_function);
    if (status == GANTRY_OK) return GANTRY_OK;
    if (!was_frozen) atomic_store(&graph->root->is_frozen, false);
    gantry_graph_release(graph);
    return status;
}

/* ---- the graph of a function ---- */

typedef struct describe_call_t {
    const gantry_function_t *function;
    gantry_graph_t *graph;
    gantry__graph_aliases_t aliases;
} describe_call_t;

static gantry_status_t describe_shown(const gantry__specialization_t *specialization, void *user) {
    describe_call_t *call = user;
    const gantry_function_t *function = call->function;
    return gantry__graph_describe(call->graph, &specialization->graph, function->inputs,
                                  function->texts.output_names, &call->aliases);
}

static gantry_status_t note_alias(gantry__graph_aliases_t *aliases, const gantry_tensor_t *tensor,
                                  const gantry_tensor_t *source) {
    uint32_t *place = gantry__id_map_at(&aliases->places, (uint64_t)(uintptr_t)tensor);
    if (!place || !gantry__heap_grow(aliases->places.heap, &aliases->pairs, aliases->count,
                                     &aliases->capacity, sizeof *aliases->pairs))
        return GANTRY_RESOURCE_EXHAUSTED;
    aliases->pairs[aliases->count][0] = gantry_tensor_retain(tensor);
    aliases->pairs[aliases->count][1] = gantry_tensor_retain(source);
    *place = (uint32_t)++aliases->count;
    return GANTRY_OK;
}

/* A library's own gradient may be that of the ops it ran, only faster. */
static bool is_gradient_apart(const gantry_observation_t *observation) {
    if (strcmp(observation->op, GANTRY__PREVENT_GRADIENT) == 0) return true;
    if (strcmp(observation->op, "CustomGradient") != 0) return false;
    for (size_t i = 0; i < observation->attr_count; ++i) {
        if (strcmp(observation->attrs[i].name, "is_that_of_ops") == 0)
            return observation->attrs[i].i == 0;
    }
    return true;
}

/* The nodes are the last ones of what has the gradient, and of its inputs. */
static gantry_status_t mark_apart(gantry__graph_aliases_t *aliases, const gantry_scope_t *scope,
                                  const gantry_observation_t *observation) {
    for (size_t i = 0; i < observation->output_count; ++i) {
        const gantry_tensor_t *output = observation->outputs[i];
        const gantry__graph_t *graph = scope->trace ? scope->trace->graph : NULL;
        if (!graph || !output->is_symbolic || output->trace != scope->trace->id)
            return gantry__fail(GANTRY_UNIMPLEMENTED,
                                "%s: output %zu of a gradient of the program's own is no node",
                                "gantry_function_get_graph", i);
        const gantry__node_t *node = &graph->nodes[graph->values[output->value].node];
        uint32_t *is_apart = gantry__id_map_at(&aliases->apart, (uint64_t)(uintptr_t)node->name);
        if (!is_apart) return GANTRY_RESOURCE_EXHAUSTED;
        *is_apart = 1;
    }
    return GANTRY_OK;
}

/* A function that is called in the body returns tensors under objects of their own. */
static gantry_status_t observe_aliases(gantry_scope_t *scope,
                                       const gantry_observation_t *observation, void *user) {
    describe_call_t *call = user;
    if (is_gradient_apart(observation)) return mark_apart(&call->aliases, scope, observation);
    if (strcmp(observation->op, "Identity") != 0 || observation->input_count != 1 ||
        observation->output_count != 1 || observation->outputs[0]->is_symbolic)
        return GANTRY_OK;
    return note_alias(&call->aliases, observation->outputs[0], observation->inputs[0]);
}

static void end_aliases(gantry__graph_aliases_t *aliases) {
    for (size_t i = 0; i < aliases->count; ++i) {
        gantry_tensor_release(aliases->pairs[i][0]);
        gantry_tensor_release(aliases->pairs[i][1]);
    }
    gantry__heap_free(aliases->places.heap, aliases->pairs,
                      aliases->capacity * sizeof *aliases->pairs);
    gantry__id_map_deinit(&aliases->places);
    gantry__id_map_deinit(&aliases->apart);
}

static gantry_status_t describe_function(gantry_function_t *function, gantry_graph_t *graph) {
    describe_call_t call = {.function = function, .graph = graph};
    gantry_observer_t observer = {.observe = observe_aliases, .user = &call};
    for (size_t i = 0; i < function->texts.metadata_count; ++i)
        GANTRY__TRY(gantry_graph_set_metadata(graph, function->texts.metadata[i].key,
                                              function->texts.metadata[i].text));
    gantry__id_map_init(&call.aliases.places, &function->runtime->heap);
    gantry__id_map_init(&call.aliases.apart, &function->runtime->heap);
    const gantry_status_t status =
        gantry__function_trace_again(function, &observer, describe_shown, &call);
    end_aliases(&call.aliases);
    return status;
}

gantry_status_t gantry_function_get_graph(gantry_function_t *function, gantry_graph_t **out_graph) {
    GANTRY__OWN_FP_MODE(fp);
    gantry_graph_t *graph;
    if (!out_graph)
        return gantry__refuse(
            "gantry_function_get_graph: out_graph is NULL; an address is accepted");
    *out_graph = NULL;
    if (!function)
        return gantry__refuse("gantry_function_get_graph: the function is NULL; one is accepted");
    GANTRY__TRY(gantry__runtime_check_well(function->runtime));
    const gantry__function_origin_t *origin = function->body.origin;
    if (origin && gantry__function_body_is_whole(&function->body)) {
        GANTRY__TRY(origin->describe(function->body.user, out_graph));
        *out_graph = gantry_graph_retain(*out_graph);
        return GANTRY_OK;
    }
    GANTRY__TRY(gantry_graph_create(function->runtime, function->name, &graph));
    const gantry_status_t status = describe_function(function, graph);
    if (status == GANTRY_OK)
        *out_graph = graph;
    else
        gantry_graph_release(graph);
    return status;
}
