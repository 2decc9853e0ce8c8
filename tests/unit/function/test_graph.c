/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A graph of ops, constants, variables, branches and loops gives a function of them. */
#define _XOPEN_SOURCE 700

#include "graph_copy.h"
#include "runtime_fixture.h"
#include "test.h"

static gantry_graph_t *begin(runtime_fixture_t *f, const char *name) {
    gantry_graph_t *graph;
    runtime_fixture_open(f, 0);
    graph_expect_ok(gantry_graph_create(f->runtime, name, &graph));
    return graph;
}

static gantry_graph_value_t add_input(gantry_graph_t *graph, const char *name,
                                      gantry_shape_t shape) {
    gantry_graph_value_t value;
    graph_expect_ok(
        gantry_graph_add_input(graph, &(gantry_input_spec_t){name, GANTRY_FLOAT32, shape}, &value));
    return value;
}

static gantry_graph_value_t add_op(gantry_graph_t *graph, const char *op, const char *name,
                                   const gantry_graph_value_t *inputs, size_t count) {
    gantry_graph_value_t value;
    size_t outputs = 1;
    graph_expect_ok(
        gantry_graph_add_node(graph,
                              &(gantry_graph_node_t){.struct_size = sizeof(gantry_graph_node_t),
                                                     .op = op,
                                                     .name = name,
                                                     .inputs = inputs,
                                                     .input_count = count},
                              &value, &outputs));
    assert_int_equal(outputs, 1);
    return value;
}

#define OP(graph, op, name, ...)                                         \
    add_op(graph, op, name, (const gantry_graph_value_t[]){__VA_ARGS__}, \
           sizeof((const gantry_graph_value_t[]){__VA_ARGS__}) / sizeof(gantry_graph_value_t))

TEST(ops_of_a_graph_run) {
    runtime_fixture_t f;
    gantry_graph_t *graph = begin(&f, "affine");
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    gantry_graph_value_t x = add_input(graph, "x", GANTRY_SHAPE(2)), w;
    graph_expect_ok(gantry_graph_add_constant(graph, "w", F32(scope, 10, 20), &w));
    const gantry_graph_value_t y = OP(graph, "Add", "sum", OP(graph, "Mul", NULL, x, w), x);
    graph_expect_ok(gantry_graph_add_output(graph, "y", y));
    gantry_function_t *function;
    graph_expect_ok(gantry_function_from_graph(graph, NULL, &function));
    gantry_graph_release(graph);
    const gantry_tensor_t *in = F32(scope, 1, 2), *out;
    graph_expect_ok(gantry_function_call(scope, function, &in, 1, &out, 1));
    EXPECT_F32(out, 11, 42);
    char text[4096];
    graph_expect_ok(
        gantry_function_explain(function, GANTRY_EXPLAIN_TEXT, text, sizeof text, NULL));
    print_message("%s\n", text);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
