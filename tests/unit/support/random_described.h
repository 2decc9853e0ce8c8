/* SPDX-License-Identifier: Apache-2.0 */
/* A check that the graph of a random traced function (random_graph.h), and a copy of that graph
 * (graph_copy.h), give functions with the bits of the body run op by op. Header only. */
#ifndef TESTS_RANDOM_DESCRIBED_H
#define TESTS_RANDOM_DESCRIBED_H

#include "graph_copy.h"
#include "random_graph.h"

static inline gantry_function_t *described_function(gantry_graph_t *graph, uint32_t passes_off,
                                                    bool eager) {
    const gantry_function_options_t options = {
        .struct_size = sizeof options, .passes_off = passes_off, .runs_eagerly = eager};
    gantry_function_t *function;
    if (gantry_function_from_graph(graph, &options, &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return function;
}

static inline void described_check_function(gantry_runtime_t *runtime, random_graph_t *graph,
                                            const char *device, uint32_t passes_off,
                                            gantry_function_t *function,
                                            random_result_t eager[2][RANDOM_GRAPH_RESULTS]) {
    for (uint32_t k = 0; k < 4; ++k) {
        random_result_t got[RANDOM_GRAPH_RESULTS];
        random_call(runtime, graph, function, device, graph->seed + k % 2, got);
        random_expect_same(graph, passes_off, got, eager[k % 2]);
        random_free(got);
    }
    gantry_function_release(function);
}

/* The names of nodes, as explanations have them. */
static inline char *described_names(gantry_function_t *function) {
    const gantry__graph_t *graph = &planned(function)->graph;
    char *names = calloc(graph->node_count + 1, GANTRY__NODE_NAME_BYTES + 1);
    assert_non_null(names);
    for (size_t i = 0; i < graph->node_count; ++i) {
        strcat(names, graph->nodes[i].name);
        strcat(names, "\n");
    }
    return names;
}

static inline void described_check_with(gantry_runtime_t *runtime, random_graph_t *graph,
                                        const char *device,
                                        random_result_t eager[2][RANDOM_GRAPH_RESULTS]) {
    gantry_graph_t *described;
    gantry_function_t *traced = random_trace(runtime, graph, GANTRY_PASS_ALL, false);
    graph_expect_ok(gantry_function_get_graph(traced, &described));
    gantry_function_t *again = described_function(described, GANTRY_PASS_ALL, false);
    char *names = described_names(traced), *same = described_names(again);
    assert_string_equal(names, same);
    free(names);
    free(same);
    gantry_function_release(traced);
    gantry_function_release(again);
    gantry_graph_t *copy = graph_copy(runtime, described);
    described_check_function(runtime, graph, device, 0, described_function(described, 0, false),
                             eager);
    gantry_graph_release(described);
    described_check_function(runtime, graph, device, 0, described_function(copy, 0, false), eager);
    described_check_function(runtime, graph, device, GANTRY_PASS_ALL,
                             described_function(copy, GANTRY_PASS_ALL, false), eager);
    described_check_function(runtime, graph, device, 0, described_function(copy, 0, true), eager);
    gantry_graph_release(copy);
}

/* The graph with this number. */
static inline void described_check(gantry_runtime_t *runtime, uint64_t number, bool any_nan) {
    static const char *const devices[] = {NULL, "CPU:0", "GPU:0"};
    const char *device = devices[number % 3];
    random_result_t eager[2][RANDOM_GRAPH_RESULTS];
    random_graph_t graph;
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    random_graph_init(&graph, scope, number, NULL);
    graph.any_nan = any_nan;
    gantry_function_t *function = random_trace(runtime, &graph, 0, true);
    for (uint32_t k = 0; k < 2; ++k)
        random_call(runtime, &graph, function, device, graph.seed + k, eager[k]);
    gantry_function_release(function);
    described_check_with(runtime, &graph, device, eager);
    for (uint32_t k = 0; k < 2; ++k) random_free(eager[k]);
    random_graph_deinit(&graph);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

#endif
