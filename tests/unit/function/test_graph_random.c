/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The graph of a random traced function, and a copy of it made node by node by the public
 * Promise: calls, give functions with the bits of the body run op by op, with all passes and none.
 */
#define _XOPEN_SOURCE 700

#include "graph_copy.h"
#include "random_graph.h"
#include "runtime_fixture.h"
#include "sanitized.h"
#include "test.h"

static uint64_t first = 1, count = FEWER_FOR_SANITIZERS(100, 20);

static gantry_function_t *function_of(gantry_graph_t *graph, uint32_t passes_off, bool eager) {
    const gantry_function_options_t options = {
        .struct_size = sizeof options, .passes_off = passes_off, .runs_eagerly = eager};
    gantry_function_t *function;
    if (gantry_function_from_graph(graph, &options, &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return function;
}

static void check_function(gantry_runtime_t *runtime, random_graph_t *graph, const char *device,
                           uint32_t passes_off, gantry_function_t *function,
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
static char *names_of(gantry_function_t *function) {
    const gantry__graph_t *graph = &planned(function)->graph;
    char *names = calloc(graph->node_count + 1, GANTRY__NODE_NAME_BYTES + 1);
    assert_non_null(names);
    for (size_t i = 0; i < graph->node_count; ++i) {
        strcat(names, graph->nodes[i].name);
        strcat(names, "\n");
    }
    return names;
}

static void check_described(gantry_runtime_t *runtime, random_graph_t *graph, const char *device,
                            random_result_t eager[2][RANDOM_GRAPH_RESULTS]) {
    gantry_graph_t *described;
    gantry_function_t *traced = random_trace(runtime, graph, GANTRY_PASS_ALL, false);
    graph_expect_ok(gantry_function_get_graph(traced, &described));
    gantry_function_t *again = function_of(described, GANTRY_PASS_ALL, false);
    char *names = names_of(traced), *same = names_of(again);
    assert_string_equal(names, same);
    free(names);
    free(same);
    gantry_function_release(traced);
    gantry_function_release(again);
    gantry_graph_t *copy = graph_copy(runtime, described);
    check_function(runtime, graph, device, 0, function_of(described, 0, false), eager);
    gantry_graph_release(described);
    check_function(runtime, graph, device, 0, function_of(copy, 0, false), eager);
    check_function(runtime, graph, device, GANTRY_PASS_ALL,
                   function_of(copy, GANTRY_PASS_ALL, false), eager);
    check_function(runtime, graph, device, 0, function_of(copy, 0, true), eager);
    gantry_graph_release(copy);
}

static void check_graph(gantry_runtime_t *runtime, uint64_t number) {
    static const char *const devices[] = {NULL, "CPU:0", "GPU:0"};
    const char *device = devices[number % 3];
    random_result_t eager[2][RANDOM_GRAPH_RESULTS];
    random_graph_t graph;
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    random_graph_init(&graph, scope, number, NULL);
    gantry_function_t *function = random_trace(runtime, &graph, 0, true);
    for (uint32_t k = 0; k < 2; ++k)
        random_call(runtime, &graph, function, device, graph.seed + k, eager[k]);
    gantry_function_release(function);
    check_described(runtime, &graph, device, eager);
    for (uint32_t k = 0; k < 2; ++k) random_free(eager[k]);
    random_graph_deinit(&graph);
    expect_ended_well(scope);
}

static void check_graphs(uint32_t gpus, uint64_t graphs) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, gpus);
    for (uint64_t number = first; number < first + graphs; ++number) check_graph(f.runtime, number);
    runtime_fixture_close(&f);
}

TEST(graphs_of_random_functions_give_their_bits) { check_graphs(0, count); }

TEST(graphs_of_random_functions_give_their_bits_across_devices) { check_graphs(1, count); }

int main(int argc, char **argv) {
    /* arguments: how many graphs, and the number of the first */
    if (argc > 1) count = strtoull(argv[1], NULL, 10);
    if (argc > 2) first = strtoull(argv[2], NULL, 10);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
