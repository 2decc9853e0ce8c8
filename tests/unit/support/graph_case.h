/* SPDX-License-Identifier: Apache-2.0 */
/* Short calls for tests of graphs. Header only. */
#ifndef TESTS_GRAPH_CASE_H
#define TESTS_GRAPH_CASE_H

#include "graph_copy.h"
#include "runtime_fixture.h"

static inline gantry_graph_t *graph_case_begin(runtime_fixture_t *f, const char *name) {
    gantry_graph_t *graph;
    runtime_fixture_open(f, 0);
    graph_expect_ok(gantry_graph_create(f->runtime, name, &graph));
    return graph;
}

static inline gantry_graph_value_t graph_case_input(gantry_graph_t *graph, const char *name,
                                                    gantry_shape_t shape) {
    gantry_graph_value_t value;
    graph_expect_ok(
        gantry_graph_add_input(graph, &(gantry_input_spec_t){name, GANTRY_FLOAT32, shape}, &value));
    return value;
}

static inline gantry_graph_node_t graph_case_node(const char *op, const char *name,
                                                  const gantry_graph_value_t *inputs,
                                                  size_t count) {
    return (gantry_graph_node_t){.struct_size = sizeof(gantry_graph_node_t),
                                 .op = op,
                                 .name = name,
                                 .inputs = inputs,
                                 .input_count = count};
}

/* An op of one output. */
static inline gantry_graph_value_t graph_case_op(gantry_graph_t *graph, const char *op,
                                                 const char *name,
                                                 const gantry_graph_value_t *inputs, size_t count) {
    const gantry_graph_node_t node = graph_case_node(op, name, inputs, count);
    gantry_graph_value_t value;
    size_t outputs = 1;
    graph_expect_ok(gantry_graph_add_node(graph, &node, &value, &outputs));
    assert_int_equal(outputs, 1);
    return value;
}

#define GRAPH_VALUES(...)                        \
    (const gantry_graph_value_t[]){__VA_ARGS__}, \
        sizeof((const gantry_graph_value_t[]){__VA_ARGS__}) / sizeof(gantry_graph_value_t)
#define GRAPH_OP(graph, op, name, ...) graph_case_op(graph, op, name, GRAPH_VALUES(__VA_ARGS__))

static inline gantry_graph_value_t graph_case_constant(gantry_graph_t *graph, const char *name,
                                                       const gantry_tensor_t *tensor) {
    gantry_graph_value_t value;
    graph_expect_ok(gantry_graph_add_constant(graph, name, tensor, &value));
    return value;
}

static inline gantry_graph_t *graph_case_subgraph(gantry_graph_t *graph, const char *name) {
    gantry_graph_t *subgraph;
    graph_expect_ok(gantry_graph_add_subgraph(graph, name, &subgraph));
    return subgraph;
}

static inline gantry_graph_value_t graph_case_any(gantry_graph_t *graph, const char *name) {
    gantry_graph_value_t value;
    graph_expect_ok(gantry_graph_add_input(graph, &(gantry_input_spec_t){.name = name}, &value));
    return value;
}

static inline void graph_case_output(gantry_graph_t *graph, const char *name,
                                     gantry_graph_value_t value) {
    graph_expect_ok(gantry_graph_add_output(graph, name, value));
}

static inline gantry_function_t *graph_case_function(gantry_graph_t *graph, bool runs_eagerly) {
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .runs_eagerly = runs_eagerly};
    gantry_function_t *function;
    graph_expect_ok(gantry_function_from_graph(graph, &options, &function));
    return function;
}

static inline void graph_expect(gantry_status_t got, gantry_status_t wanted, const char *text) {
    if (got != wanted || !strstr(gantry_last_message(), text))
        fail_msg("%s: %s; not %s: %s", gantry_status_name(got), gantry_last_message(),
                 gantry_status_name(wanted), text);
}

#endif
