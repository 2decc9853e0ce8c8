/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A graph refuses what cannot be a node, names it and what is accepted, and stays as it
 * was; what only a trace can know is refused with the node's name. */
#define _XOPEN_SOURCE 700

#include "graph_case.h"
#include "test.h"

typedef const gantry_tensor_t tensor;

typedef struct bad_t {
    runtime_fixture_t f;
    gantry_graph_t *graph, *subgraph;
    gantry_scope_t *scope;
    gantry_graph_value_t x, inner; /* of the graph, of the subgraph */
} bad_t;

static void begin(bad_t *b) {
    b->graph = graph_case_begin(&b->f, "bad");
    b->scope = runtime_fixture_scope(&b->f, NULL);
    b->x = graph_case_input(b->graph, "x", GANTRY_SHAPE(2));
    b->subgraph = graph_case_subgraph(b->graph, "sub");
    b->inner = graph_case_any(b->subgraph, "inner");
}

/* Nothing was added by what was refused. */
static void end(bad_t *b) {
    assert_int_equal(gantry_graph_node_count(b->graph), 1);
    assert_int_equal(gantry_graph_node_count(b->subgraph), 1);
    assert_int_equal(gantry_graph_output_count(b->graph), 0);
    gantry_scope_clear(b->scope);
    expect_ended_well(b->scope);
    gantry_graph_release(b->graph);
    runtime_fixture_close(&b->f);
}

static void refuse_node(bad_t *b, const gantry_graph_node_t *node, size_t room,
                        gantry_status_t status, const char *text) {
    gantry_graph_value_t outputs[4];
    graph_expect(gantry_graph_add_node(b->graph, node, outputs, &room), status, text);
    assert_int_equal(room, 0);
}

TEST(nodes_that_cannot_be_are_refused) {
    bad_t b;
    begin(&b);
    const gantry_graph_value_t two[] = {b.x, b.x}, none[] = {99}, ended[] = {b.inner};
    gantry_graph_node_t node = graph_case_node("Nope", "n\n1", two, 2);
    refuse_node(&b, &node, 1, GANTRY_NOT_FOUND,
                "gantry_graph_add_node: node \"n?1\": Op type not registered 'Nope'");
    node.op = NULL;
    refuse_node(&b, &node, 1, GANTRY_INVALID_ARGUMENT, "the op's name is NULL");
    node.op = "Const";
    refuse_node(&b, &node, 1, GANTRY_INVALID_ARGUMENT, "gantry_graph_add_constant");
    node.op = "AssignVariableOp";
    refuse_node(&b, &node, 1, GANTRY_INVALID_ARGUMENT, "gantry_graph_add_assign");
    node.op = "Neg";
    refuse_node(&b, &node, 1, GANTRY_INVALID_ARGUMENT, "Neg takes 1 input (x), got 2");
    node.input_count = 1;
    refuse_node(&b, &node, 0, GANTRY_INVALID_ARGUMENT, "op Neg has 1 outputs; there is room for 0");
    node.inputs = none;
    refuse_node(&b, &node, 1, GANTRY_INVALID_ARGUMENT, "inputs is 99; the graph has 2 values");
    node.inputs = ended;
    refuse_node(&b, &node, 1, GANTRY_INVALID_ARGUMENT,
                "of the subgraph \"sub\", which ends before");
    node.inputs = NULL;
    refuse_node(&b, &node, 1, GANTRY_INVALID_ARGUMENT, "1 inputs are given at NULL");
    node.inputs = two;
    node.controls = none;
    node.control_count = 1;
    refuse_node(&b, &node, 1, GANTRY_INVALID_ARGUMENT, "controls is 99");
    node.control_count = 0;
    node.device = "/GPU:x:y";
    refuse_node(&b, &node, 1, GANTRY_INVALID_ARGUMENT, "GPU:x:y");
    node.device = NULL;
    node.struct_size = sizeof node + 1;
    refuse_node(&b, &node, 1, GANTRY_INVALID_ARGUMENT, "node: struct_size is ");
    end(&b);
}

TEST(attributes_that_cannot_be_are_refused) {
    static const struct {
        gantry_attr_value_t attr;
        const char *text;
    } cases[] = {
        {{.name = "nope", .kind = GANTRY_ATTR_BOOL}, "attribute 'nope' does not exist"},
        {{.name = NULL, .kind = GANTRY_ATTR_BOOL}, "an attribute's name is NULL"},
        {{.name = "keep_dims", .kind = GANTRY_ATTR_INT}, "expecting bool value for attr keep_dims"},
        {{.name = "keep_dims", .kind = GANTRY_ATTR_BOOL, .i = 2}, "'keep_dims' is 2"},
        {{.name = "T", .kind = GANTRY_ATTR_TYPE, .i = 99}, "value for attr 'T'"},
    };
    bad_t b;
    begin(&b);
    const gantry_graph_value_t two[] = {b.x, b.x};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        gantry_graph_node_t node = graph_case_node("Sum", "s", two, 2);
        node.attrs = &cases[i].attr;
        node.attr_count = 1;
        refuse_node(&b, &node, 1, GANTRY_INVALID_ARGUMENT, cases[i].text);
    }
    end(&b);
}

TEST(values_and_texts_that_cannot_be_are_refused) {
    static char text[GANTRY_MAX_GRAPH_TEXT + 2];
    bad_t b;
    gantry_graph_value_t value;
    memset(text, 'a', sizeof text - 1);
    begin(&b);
    graph_expect(gantry_graph_add_output(b.graph, NULL, 7), GANTRY_INVALID_ARGUMENT, "value is 7");
    graph_expect(gantry_graph_add_output(b.graph, text, b.x), GANTRY_INVALID_ARGUMENT,
                 "is too long; 0 to 65535 bytes");
    graph_expect(gantry_graph_set_metadata(b.graph, "", "x"), GANTRY_INVALID_ARGUMENT,
                 "is too short; 1 to 65535 bytes");
    graph_expect(gantry_graph_set_metadata(b.graph, text, "x"), GANTRY_INVALID_ARGUMENT,
                 "too long");
    graph_expect(gantry_graph_set_metadata(b.subgraph, "x", "y"), GANTRY_INVALID_ARGUMENT,
                 "the subgraph \"sub\" has no metadata");
    graph_expect(gantry_graph_add_constant(b.graph, text, F32(b.scope, 1), &value),
                 GANTRY_INVALID_ARGUMENT, "too long");
    graph_expect(
        gantry_graph_add_input(
            b.graph, &(gantry_input_spec_t){"x", GANTRY_DTYPE_NONE, GANTRY_SCALAR}, &value),
        GANTRY_INVALID_ARGUMENT, "input 1 has type 0");
    graph_expect(gantry_graph_add_input(
                     b.graph, &(gantry_input_spec_t){"x", GANTRY_INT8, {.rank = 9}}, &value),
                 GANTRY_INVALID_ARGUMENT, "a shape of rank 9 that is not possible");
    gantry_variable_t *variable = gantry_variable_create(b.scope, F32(b.scope, 1), NULL);
    graph_expect(gantry_graph_add_assign(b.graph, NULL, variable, (gantry_assign_mode_t)3, b.x),
                 GANTRY_INVALID_ARGUMENT, "mode is 3");
    graph_expect(gantry_graph_add_assign(b.graph, NULL, variable, GANTRY_ASSIGN_SET, 9),
                 GANTRY_INVALID_ARGUMENT, "inputs is 9");
    gantry_variable_release(variable);
    end(&b);
}

TEST(objects_of_another_runtime_are_refused) {
    bad_t b;
    gantry_runtime_t *another;
    gantry_graph_value_t value;
    begin(&b);
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .kernel_cache = ""};
    graph_expect_ok(gantry_runtime_create(&options, &another));
    gantry_scope_t *scope = gantry_scope_begin(another, NULL);
    gantry_variable_t *variable = gantry_variable_create(scope, F32(scope, 1), NULL);
    graph_expect(gantry_graph_add_constant(b.graph, NULL, F32(scope, 1), &value),
                 GANTRY_INVALID_ARGUMENT, "the tensor is of another runtime");
    graph_expect(gantry_graph_add_read(b.graph, NULL, variable, &value), GANTRY_INVALID_ARGUMENT,
                 "the variable is of another runtime");
    gantry_variable_release(variable);
    expect_ended_well(scope);
    gantry_runtime_release(another);
    end(&b);
}

/* ---- subgraphs ---- */

TEST(subgraphs_that_do_not_fit_are_refused) {
    bad_t b;
    gantry_graph_value_t out[2];
    begin(&b);
    gantry_graph_t *another = graph_case_subgraph(b.subgraph, "deep"),
                   *two[] = {b.subgraph, another};
    gantry_graph_node_t node = graph_case_node(NULL, "c", GRAPH_VALUES(b.x, b.x));
    graph_expect(gantry_graph_add_case(b.graph, &node, two, 2, out, 0), GANTRY_INVALID_ARGUMENT,
                 "node \"c\": a subgraph is no subgraph of this graph");
    two[1] = b.subgraph;
    graph_expect(gantry_graph_add_case(b.graph, &node, two, 2, out, 0), GANTRY_INVALID_ARGUMENT,
                 "subgraphs 0 and 1 are one");
    graph_expect(gantry_graph_add_case(b.graph, &node, two, 1, out, 1), GANTRY_INVALID_ARGUMENT,
                 "there is room for 1 outputs; 0 are accepted");
    graph_expect(gantry_graph_add_case(b.graph, &node, two, 65, out, 0), GANTRY_INVALID_ARGUMENT,
                 "65 subgraphs; 1 to 64");
    node.input_count = 1;
    graph_expect(gantry_graph_add_case(b.graph, &node, two, 1, out, 0), GANTRY_INVALID_ARGUMENT,
                 "has 1 inputs and 0 outputs; 0 and 0 are accepted");
    graph_expect(gantry_graph_add_while(b.graph, &node, b.subgraph, b.subgraph, 0, out),
                 GANTRY_INVALID_ARGUMENT,
                 "condition, \"sub\", has 1 inputs and 0 outputs; 1 and 1");
    node.op = "If";
    graph_expect(gantry_graph_add_while(b.graph, &node, b.subgraph, b.subgraph, 0, out),
                 GANTRY_INVALID_ARGUMENT, "node has an op");
    end(&b);
}

TEST(graphs_are_not_too_deep) {
    bad_t b;
    begin(&b);
    gantry_graph_t *at = b.subgraph;
    for (int i = 1; i < GANTRY_MAX_NESTING; ++i) at = graph_case_subgraph(at, NULL);
    graph_expect(gantry_graph_add_subgraph(at, NULL, &at), GANTRY_RESOURCE_EXHAUSTED,
                 "inside 16 subgraphs");
    assert_null(at);
    end(&b);
}

TEST(graphs_do_not_change_once_they_are_used) {
    runtime_fixture_t f;
    gantry_graph_t *graph = graph_case_begin(&f, "used");
    gantry_graph_value_t x, value, out;
    graph_expect_ok(gantry_graph_add_input(
        graph, &(gantry_input_spec_t){"x", GANTRY_INT32, GANTRY_SCALAR}, &x));
    gantry_graph_t *subgraph = graph_case_subgraph(graph, "sub");
    gantry_function_t *function;
    graph_expect(gantry_function_from_graph(subgraph, NULL, &function), GANTRY_INVALID_ARGUMENT,
                 "\"sub\" is a subgraph");
    graph_expect(gantry_function_from_graph(graph, NULL, &function), GANTRY_INVALID_ARGUMENT,
                 "no branch or loop has the subgraph \"sub\"");
    graph_case_output(subgraph, NULL, x);
    const gantry_graph_node_t node = graph_case_node(NULL, NULL, &x, 1);
    graph_expect_ok(gantry_graph_add_case(graph, &node, &subgraph, 1, &out, 1));
    graph_expect(gantry_graph_add_input(subgraph, &(gantry_input_spec_t){.name = "late"}, &value),
                 GANTRY_FAILED_PRECONDITION, "a branch or a loop has the subgraph \"sub\"");
    graph_expect(gantry_graph_add_case(graph, &node, &subgraph, 1, &out, 1),
                 GANTRY_INVALID_ARGUMENT, "of another branch or loop");
    function = graph_case_function(graph, false);
    graph_expect(gantry_graph_add_output(graph, NULL, x), GANTRY_FAILED_PRECONDITION,
                 "a function was made of the graph \"used\"");
    gantry_function_release(function);
    gantry_graph_release(graph);
    runtime_fixture_close(&f);
}

/* ---- what a trace finds ---- */

TEST(nodes_that_a_trace_refuses_are_named) {
    runtime_fixture_t f;
    gantry_graph_t *graph = graph_case_begin(&f, "wrong");
    gantry_function_t *function;
    const gantry_graph_value_t x = graph_case_input(graph, "x", GANTRY_SHAPE(2)),
                               y = graph_case_input(graph, "y", GANTRY_SHAPE(3));
    gantry_graph_t *yes = graph_case_subgraph(graph, "yes");
    graph_case_output(yes, NULL, GRAPH_OP(yes, "Add", "in \"a\" branch", x, y));
    gantry_graph_value_t at, out;
    graph_expect_ok(gantry_graph_add_input(
        graph, &(gantry_input_spec_t){"at", GANTRY_INT32, GANTRY_SCALAR}, &at));
    const gantry_graph_node_t node = graph_case_node(NULL, "choice", &at, 1);
    graph_expect_ok(gantry_graph_add_case(graph, &node, &yes, 1, &out, 1));
    graph_expect(gantry_function_from_graph(graph, NULL, &function), GANTRY_INVALID_ARGUMENT,
                 "function wrong: node choice (Case): node \"in \"a\" branch\" (Add): Add: ");
    assert_null(function);
    /* it may be mended, and is no function's */
    graph_case_output(graph, NULL, x);
    gantry_graph_release(graph);
    runtime_fixture_close(&f);
}

TEST(inputs_of_subgraphs_are_checked) {
    runtime_fixture_t f;
    gantry_graph_t *graph = graph_case_begin(&f, NULL);
    gantry_function_t *function;
    gantry_graph_value_t at, out;
    const gantry_graph_value_t x = graph_case_input(graph, "x", GANTRY_SHAPE(2));
    graph_expect_ok(gantry_graph_add_input(
        graph, &(gantry_input_spec_t){"at", GANTRY_INT32, GANTRY_SCALAR}, &at));
    gantry_graph_t *yes = graph_case_subgraph(graph, "yes");
    graph_case_output(yes, NULL, graph_case_input(yes, "given", GANTRY_SHAPE(3)));
    const gantry_graph_node_t node = graph_case_node(NULL, "choice", GRAPH_VALUES(at, x));
    graph_expect_ok(gantry_graph_add_case(graph, &node, &yes, 1, &out, 1));
    graph_expect(gantry_function_from_graph(graph, NULL, &function), GANTRY_INVALID_ARGUMENT,
                 "node \"given\" (input): it is given float32[2]; float32[3] is accepted");
    gantry_graph_release(graph);
    runtime_fixture_close(&f);
}

TEST(what_is_not_there_is_not_read) {
    bad_t b;
    gantry_graph_node_info_t info = {.struct_size = sizeof info};
    gantry_graph_value_t value;
    gantry_function_value_t of = {.struct_size = sizeof of};
    gantry_metadata_t text;
    begin(&b);
    graph_expect(gantry_graph_get_node(b.graph, 1, &info), GANTRY_OUT_OF_RANGE, "node 1 of 1");
    graph_expect(gantry_graph_get_input(b.graph, 1, NULL, &value), GANTRY_OUT_OF_RANGE, "1 of 1");
    graph_expect(gantry_graph_get_output(b.graph, 0, NULL, &value), GANTRY_OUT_OF_RANGE, "0 of 0");
    graph_expect(gantry_graph_get_metadata(b.graph, 0, NULL, NULL), GANTRY_OUT_OF_RANGE, "0 of 0");
    info.struct_size = 2;
    graph_expect(gantry_graph_get_node(b.graph, 0, &info), GANTRY_INVALID_ARGUMENT, "struct_size");
    gantry_graph_t *graph;
    gantry_function_t *function;
    graph_expect_ok(gantry_graph_create(b.f.runtime, NULL, &graph));
    (void)graph_case_input(graph, "x", GANTRY_SHAPE(-1));
    graph_expect_ok(gantry_function_from_graph(graph, NULL, &function));
    graph_expect(gantry_function_get_input(function, 1, &of), GANTRY_OUT_OF_RANGE,
                 "function graph has 1 inputs; 1 is not below");
    graph_expect(gantry_function_get_output(function, 0, &of), GANTRY_OUT_OF_RANGE, "0 outputs");
    graph_expect(gantry_function_get_metadata(function, 0, &text), GANTRY_OUT_OF_RANGE, "0 texts");
    gantry_function_release(function);
    gantry_graph_release(graph);
    end(&b);
}

static void negate(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_neg(scope, inputs[0]);
}

TEST(function_without_a_trace_has_no_graph) {
    const gantry_input_spec_t spec = {"x", GANTRY_FLOAT32, {.rank = 1, .dims = {-1}}};
    runtime_fixture_t f;
    gantry_function_t *function;
    gantry_graph_t *graph;
    runtime_fixture_open(&f, 0);
    graph_expect_ok(
        gantry_function_trace(f.runtime, "f", negate, NULL, &spec, 1, 1, NULL, &function));
    graph_expect(gantry_function_get_graph(function, &graph), GANTRY_FAILED_PRECONDITION,
                 "function f: it has no trace");
    assert_null(graph);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
