/* SPDX-License-Identifier: Apache-2.0 */
/* A check that a random traced function (random_graph.h) that is saved and loaded has the bits of
 * the body run op by op. Header only. */
#ifndef TESTS_RANDOM_SAVED_H
#define TESTS_RANDOM_SAVED_H

#include "random_graph.h"
#include "runtime_fixture.h"
#include "saved_file.h"

/* The variables of the loaded function take the place of those of the traced one. */
static inline void saved_take_variables(random_graph_t *graph, gantry_function_t *traced,
                                        gantry_function_t *loaded, gantry_variable_t **kept) {
    gantry_graph_t *from, *to;
    assert_int_equal(gantry_function_get_graph(traced, &from), GANTRY_OK);
    assert_int_equal(gantry_function_get_graph(loaded, &to), GANTRY_OK);
    assert_int_equal(gantry_graph_variable_count(to), gantry_graph_variable_count(from));
    for (uint32_t i = 0; i < RANDOM_GRAPH_VARIABLES; ++i) {
        kept[i] = graph->variables[i];
        for (size_t k = 0; k < gantry_graph_variable_count(from); ++k) {
            if (gantry_graph_get_variable(from, k) == kept[i])
                graph->variables[i] = gantry_graph_get_variable(to, k);
        }
    }
    gantry_graph_release(from);
    gantry_graph_release(to);
}

/* A loaded function has a stream of its own, where the generator was when it was saved. */
static inline void saved_check_loaded(gantry_runtime_t *runtime, random_graph_t *graph,
                                      const char *device, uint32_t passes_off,
                                      gantry_function_t *traced, const saved_file_t *file,
                                      random_result_t eager[2][RANDOM_GRAPH_RESULTS]) {
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = passes_off};
    const gantry_function_load_options_t load = {.struct_size = sizeof load, .function = &options};
    for (uint32_t k = 0; k < 2; ++k) {
        gantry_variable_t *kept[RANDOM_GRAPH_VARIABLES];
        random_result_t got[RANDOM_GRAPH_RESULTS];
        gantry_function_t *loaded = saved_file_load(runtime, file, &load);
        saved_take_variables(graph, traced, loaded, kept);
        random_call(runtime, graph, loaded, device, graph->seed + k, got);
        random_expect_same(graph, passes_off, got, eager[k]);
        memcpy(graph->variables, kept, sizeof kept);
        random_free(got);
        gantry_function_release(loaded);
    }
}

static inline char *saved_explanation_of(gantry_function_t *function) {
    size_t needed;
    assert_int_equal(gantry_function_explain(function, GANTRY_EXPLAIN_TEXT, NULL, 0, &needed),
                     GANTRY_OK);
    char *text = malloc(needed + 1);
    assert_non_null(text);
    assert_int_equal(
        gantry_function_explain(function, GANTRY_EXPLAIN_TEXT, text, needed + 1, &needed),
        GANTRY_OK);
    return text;
}

/* The rows of a file give the trace that its description gives. */
static inline void saved_check_explained(gantry_runtime_t *runtime, const saved_file_t *file) {
    gantry_graph_t *graph;
    gantry_function_t *rows = saved_file_load(runtime, file, NULL), *described;
    assert_int_equal(gantry_function_get_graph(rows, &graph), GANTRY_OK);
    assert_int_equal(gantry_function_from_graph(graph, NULL, &described), GANTRY_OK);
    gantry_graph_release(graph);
    char *got = saved_explanation_of(rows), *wanted = saved_explanation_of(described);
    assert_string_equal(got, wanted);
    free(got);
    free(wanted);
    gantry_function_release(rows);
    gantry_function_release(described);
}

static inline void saved_check(gantry_runtime_t *runtime, uint64_t number, bool any_nan) {
    static const char *const devices[] = {NULL, "CPU:0", "GPU:0"};
    const char *device = devices[number % 3];
    random_result_t eager[2][RANDOM_GRAPH_RESULTS];
    random_graph_t graph;
    saved_file_t file;
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    random_graph_init(&graph, scope, number, NULL);
    graph.any_nan = any_nan;
    gantry_function_t *function = random_trace(runtime, &graph, 0, true);
    for (uint32_t k = 0; k < 2; ++k)
        random_call(runtime, &graph, function, device, graph.seed + k, eager[k]);
    gantry_function_release(function);
    saved_file_init(&file);
    function = random_trace(runtime, &graph, 0, false);
    assert_int_equal(gantry_generator_reset_from_seed(graph.generator, 7), GANTRY_OK);
    saved_file_save(function, &file);
    saved_check_loaded(runtime, &graph, device, 0, function, &file, eager);
    saved_check_loaded(runtime, &graph, device, GANTRY_PASS_ALL, function, &file, eager);
    saved_check_explained(runtime, &file);
    gantry_function_release(function);
    for (uint32_t k = 0; k < 2; ++k) random_free(eager[k]);
    random_graph_deinit(&graph);
    saved_file_deinit(&file);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

#endif
