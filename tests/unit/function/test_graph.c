/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A graph of ops, constants, variables, branches and loops, with names, devices,
 * colocations, control inputs and open sizes, gives a function of them, traced and op by op.
 * Promise: What was put into a graph is read from it, and from its function.
 * Promise: A name of a node may be long, doubled, and have quotes and control characters. */
#define _XOPEN_SOURCE 700

#include "function/call/function.h"
#include "graph_case.h"
#include "planned.h"
#include "test.h"

typedef const gantry_tensor_t tensor;

/* Calls the function of a graph twice, traced and op by op, and releases both. */
typedef void (*check_fn)(gantry_scope_t *scope, gantry_function_t *function);

static void check_both(runtime_fixture_t *f, gantry_graph_t *graph, check_fn check) {
    for (int is_eager = 0; is_eager < 2; ++is_eager) {
        gantry_scope_t *scope = runtime_fixture_scope(f, NULL);
        gantry_function_t *function = graph_case_function(graph, is_eager);
        check(scope, function);
        check(scope, function);
        gantry_function_release(function);
        expect_ended_well(scope);
    }
    gantry_graph_release(graph);
}

static void call_one(gantry_scope_t *scope, gantry_function_t *function, tensor *x, tensor **out) {
    if (gantry_function_call(scope, function, &x, 1, out, 1) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
}

/* ---- ops, constants, variables ---- */

static void expect_affine(gantry_scope_t *scope, gantry_function_t *function) {
    tensor *out;
    call_one(scope, function, F32(scope, 1, 2), &out);
    EXPECT_F32(out, 11, 42);
}

TEST(ops_and_constants_run) {
    runtime_fixture_t f;
    gantry_graph_t *graph = graph_case_begin(&f, "affine");
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_graph_value_t x = graph_case_input(graph, "x", GANTRY_SHAPE(2)),
                               w = graph_case_constant(graph, "w", F32(scope, 10, 20));
    expect_ended_well(scope); /* the graph holds the constant */
    const gantry_graph_value_t product = GRAPH_OP(graph, "Mul", NULL, x, w);
    graph_case_output(graph, "y", GRAPH_OP(graph, "AddV2", "sum", product, x));
    check_both(&f, graph, expect_affine);
    runtime_fixture_close(&f);
}

static void expect_split(gantry_scope_t *scope, gantry_function_t *function) {
    tensor *x = F32(scope, 1, 2, 3, 4), *out[2];
    graph_expect_ok(gantry_function_call(scope, function, &x, 1, out, 2));
    EXPECT_F32(out[0], 3, 4);
    EXPECT_F32(out[1], 1, 2);
}

/* The number of outputs follows from an attribute. */
TEST(attribute_counts_outputs) {
    runtime_fixture_t f;
    gantry_graph_t *graph = graph_case_begin(&f, NULL);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_graph_value_t x = graph_case_input(graph, "x", GANTRY_SHAPE(4)),
                               axis = graph_case_constant(graph, NULL, gantry_scalar_i32(scope, 0));
    const gantry_attr_value_t attr = {.name = "num_split", .kind = GANTRY_ATTR_INT, .i = 2};
    gantry_graph_value_t parts[3];
    size_t count = 3;
    gantry_graph_node_t node = graph_case_node("Split", NULL, GRAPH_VALUES(axis, x));
    node.attrs = &attr;
    node.attr_count = 1;
    graph_expect_ok(gantry_graph_add_node(graph, &node, parts, &count));
    assert_int_equal(count, 2);
    graph_case_output(graph, NULL, parts[1]);
    graph_case_output(graph, NULL, parts[0]);
    expect_ended_well(scope);
    check_both(&f, graph, expect_split);
    runtime_fixture_close(&f);
}

static gantry_variable_t *counter;

static void expect_counted(gantry_scope_t *scope, gantry_function_t *function) {
    tensor *x = F32(scope, 1, 2), *out[2];
    (void)gantry_variable_assign(scope, counter, F32(scope, 10, 20));
    graph_expect_ok(gantry_function_call(scope, function, &x, 1, out, 2));
    EXPECT_F32(out[0], 10, 20);
    EXPECT_F32(out[1], 11, 22);
    EXPECT_F32(gantry_variable_read(scope, counter), 9, 18);
}

TEST(variables_are_read_and_assigned_in_order) {
    runtime_fixture_t f;
    gantry_graph_t *graph = graph_case_begin(&f, "counter");
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    counter = gantry_variable_create(scope, F32(scope, 0, 0), "counter");
    gantry_graph_value_t x = graph_case_input(graph, "x", GANTRY_SHAPE(2)), before, after;
    graph_expect_ok(gantry_graph_add_read(graph, "before", counter, &before));
    graph_expect_ok(gantry_graph_add_assign(graph, NULL, counter, GANTRY_ASSIGN_ADD, x));
    graph_expect_ok(gantry_graph_add_read(graph, NULL, counter, &after));
    graph_expect_ok(gantry_graph_add_assign(graph, "back", counter, GANTRY_ASSIGN_SET, before));
    graph_expect_ok(gantry_graph_add_assign(graph, NULL, counter, GANTRY_ASSIGN_SUB, x));
    graph_case_output(graph, "before", before);
    graph_case_output(graph, "after", after);
    expect_ended_well(scope);
    check_both(&f, graph, expect_counted);
    gantry_variable_release(counter);
    runtime_fixture_close(&f);
}

static void expect_stepped(gantry_scope_t *scope, gantry_function_t *function) {
    tensor *x = F32(scope, 1, 2);
    (void)gantry_variable_assign(scope, counter, F32(scope, 10, 20));
    graph_expect_ok(gantry_function_call(scope, function, &x, 1, NULL, 0));
    EXPECT_F32(gantry_variable_read(scope, counter), 9.5F, 19);
}

/* An op of variables takes the value and makes the new one. */
TEST(optimizers_ops_make_new_values) {
    runtime_fixture_t f;
    gantry_graph_t *graph = graph_case_begin(&f, "step");
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    counter = gantry_variable_create(scope, F32(scope, 0, 0), "counter");
    gantry_graph_value_t x = graph_case_input(graph, "x", GANTRY_SHAPE(2)), before,
                         rate = graph_case_constant(graph, NULL, gantry_scalar_f32(scope, 0.5F));
    graph_expect_ok(gantry_graph_add_read(graph, NULL, counter, &before));
    graph_expect_ok(gantry_graph_add_assign(
        graph, NULL, counter, GANTRY_ASSIGN_SET,
        GRAPH_OP(graph, "ResourceApplyGradientDescent", "step", before, rate, x)));
    expect_ended_well(scope);
    check_both(&f, graph, expect_stepped);
    gantry_variable_release(counter);
    runtime_fixture_close(&f);
}

static void take_step(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    tensor *const given[] = {gantry_scalar_f32(scope, 0.5F), inputs[0]};
    (void)user, (void)outputs;
    (void)gantry_variable_update(scope, "ResourceApplyGradientDescent", &counter, 1, given, 2, NULL,
                                 0);
}

TEST(traced_steps_of_optimizers_are_described) {
    const gantry_input_spec_t spec = {"x", GANTRY_FLOAT32, {.rank = 1, .dims = {2}}};
    runtime_fixture_t f;
    gantry_function_t *function;
    gantry_graph_t *graph;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    counter = gantry_variable_create(scope, F32(scope, 0, 0), "counter");
    expect_ended_well(scope);
    graph_expect_ok(
        gantry_function_trace(f.runtime, "f", take_step, NULL, &spec, 1, 0, NULL, &function));
    graph_expect_ok(gantry_function_get_graph(function, &graph));
    gantry_function_release(function);
    check_both(&f, graph, expect_stepped);
    gantry_variable_release(counter);
    runtime_fixture_close(&f);
}

/* ---- branches and loops ---- */

/* x < 0 ? -x * w : loop of x = x + w until x >= w, both with a capture of two levels. */
static gantry_graph_t *make_control(runtime_fixture_t *f) {
    gantry_graph_t *graph = graph_case_begin(f, "control");
    gantry_scope_t *scope = runtime_fixture_scope(f, NULL);
    const gantry_graph_value_t x = graph_case_input(graph, "x", GANTRY_SCALAR),
                               w = graph_case_constant(graph, "w", gantry_scalar_f32(scope, 5)),
                               doubled = GRAPH_OP(graph, "Add", NULL, w, w),
                               zero = graph_case_constant(graph, NULL, gantry_scalar_f32(scope, 0)),
                               is_less = GRAPH_OP(graph, "Less", "is_less", x, zero);
    gantry_graph_t *yes = graph_case_subgraph(graph, "yes"), *no = graph_case_subgraph(graph, "no");
    const gantry_graph_value_t given = graph_case_any(yes, "given");
    graph_case_output(yes, NULL, GRAPH_OP(yes, "Mul", NULL, GRAPH_OP(yes, "Neg", NULL, given), w));
    const gantry_graph_value_t first = graph_case_any(no, "first");
    gantry_graph_t *condition = graph_case_subgraph(no, "condition"),
                   *body = graph_case_subgraph(no, "body");
    graph_case_output(condition, NULL,
                      GRAPH_OP(condition, "Less", NULL, graph_case_any(condition, NULL), doubled));
    graph_case_output(body, NULL, GRAPH_OP(body, "Add", NULL, graph_case_any(body, NULL), first));
    gantry_graph_node_t node = graph_case_node(NULL, "loop", GRAPH_VALUES(first));
    gantry_graph_value_t last, result;
    graph_expect_ok(gantry_graph_add_while(no, &node, condition, body, 100, &last));
    graph_case_output(no, NULL, last);
    node = graph_case_node(NULL, "choice", GRAPH_VALUES(is_less, x));
    graph_expect_ok(
        gantry_graph_add_case(graph, &node, (gantry_graph_t *[]){yes, no}, 2, &result, 1));
    graph_case_output(graph, "result", result);
    expect_ended_well(scope);
    return graph;
}

static void expect_control(gantry_scope_t *scope, gantry_function_t *function) {
    tensor *out;
    call_one(scope, function, gantry_scalar_f32(scope, -2), &out);
    EXPECT_F32(out, 10);
    call_one(scope, function, gantry_scalar_f32(scope, 3), &out);
    EXPECT_F32(out, 12);
}

TEST(branches_and_loops_use_outer_values) {
    runtime_fixture_t f;
    check_both(&f, make_control(&f), expect_control);
    runtime_fixture_close(&f);
}

/* The graph of its function is the graph itself; that of a trace of it is another one. */
static void call_it(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    (void)gantry_function_call(scope, user, inputs, 1, outputs, 1);
}

TEST(graph_of_a_function_of_a_graph) {
    runtime_fixture_t f;
    gantry_graph_t *graph = make_control(&f), *same, *deep;
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    gantry_function_t *inner = graph_case_function(graph, false), *outer;
    const gantry_input_spec_t spec = {"x", GANTRY_FLOAT32, {.rank = 0}};
    graph_expect_ok(gantry_function_get_graph(inner, &same));
    assert_ptr_equal(same, graph);
    graph_expect_ok(
        gantry_function_trace(f.runtime, "outer", call_it, inner, &spec, 1, 1, NULL, &outer));
    graph_expect_ok(gantry_function_get_graph(outer, &deep));
    assert_string_equal(gantry_graph_name(deep), "outer");
    gantry_function_release(outer);
    gantry_function_release(inner);
    gantry_graph_release(same);
    gantry_graph_release(graph);
    expect_ended_well(scope);
    check_both(&f, deep, expect_control);
    runtime_fixture_close(&f);
}

/* int32: the number of a subgraph; too large: the last one. */
static void expect_numbered(gantry_scope_t *scope, gantry_function_t *function) {
    for (int32_t i = -1; i < 66; ++i) {
        tensor *at = gantry_scalar_i32(scope, i), *out;
        call_one(scope, function, at, &out);
        EXPECT_F32(out, i < 0 || i > 63 ? 63.0F : (float)i);
    }
}

TEST(branch_has_64_subgraphs) {
    runtime_fixture_t f;
    gantry_graph_t *graph = graph_case_begin(&f, NULL), *subgraphs[64];
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    gantry_graph_value_t at, out;
    graph_expect_ok(gantry_graph_add_input(
        graph, &(gantry_input_spec_t){"at", GANTRY_INT32, GANTRY_SCALAR}, &at));
    for (int i = 0; i < 64; ++i) {
        subgraphs[i] = graph_case_subgraph(graph, NULL);
        graph_case_output(
            subgraphs[i], NULL,
            graph_case_constant(subgraphs[i], NULL, gantry_scalar_f32(scope, (float)i)));
    }
    const gantry_graph_node_t node = graph_case_node(NULL, NULL, &at, 1);
    graph_expect_ok(gantry_graph_add_case(graph, &node, subgraphs, 64, &out, 1));
    graph_case_output(graph, NULL, out);
    expect_ended_well(scope);
    check_both(&f, graph, expect_numbered);
    runtime_fixture_close(&f);
}

/* ---- open sizes ---- */

static void expect_open(gantry_scope_t *scope, gantry_function_t *function) {
    tensor *out;
    call_one(scope, function, F32(scope, 1, 2, 3), &out);
    EXPECT_F32(out, 2, 4, 6);
    call_one(scope, function, F32(scope, 5), &out);
    EXPECT_F32(out, 10);
}

TEST(open_sizes_take_any_size) {
    for (int64_t open = -2; open < 0; ++open) {
        runtime_fixture_t f;
        gantry_graph_t *graph = graph_case_begin(&f, NULL);
        const gantry_graph_value_t x = graph_case_input(graph, "x", GANTRY_SHAPE(open));
        graph_case_output(graph, NULL, GRAPH_OP(graph, "Add", NULL, x, x));
        check_both(&f, graph, expect_open);
        runtime_fixture_close(&f);
    }
}

/* ---- requests ---- */

static const gantry__node_t *find_node(gantry_function_t *function, const char *name) {
    const gantry__graph_t *graph = &planned(function)->graph;
    for (size_t i = 0; i < graph->node_count; ++i) {
        if (strcmp(graph->nodes[i].name, name) == 0) return &graph->nodes[i];
    }
    fail_msg("there is no node %s", name);
    return NULL;
}

TEST(nodes_have_devices_colocations_and_controls) {
    runtime_fixture_t f;
    gantry_graph_t *graph = graph_case_begin(&f, NULL);
    const gantry_graph_value_t x = graph_case_input(graph, "x", GANTRY_SHAPE(2));
    gantry_graph_value_t first, second;
    size_t count = 1;
    gantry_graph_node_t node = graph_case_node("Neg", "first", &x, 1);
    node.device = "/CPU:0";
    graph_expect_ok(gantry_graph_add_node(graph, &node, &first, &count));
    node = graph_case_node("Abs", "second", &x, 1);
    node.colocated = node.controls = &first;
    node.colocated_count = node.control_count = 1;
    graph_expect_ok(gantry_graph_add_node(graph, &node, &second, &count));
    graph_case_output(graph, NULL, GRAPH_OP(graph, "Add", "sum", first, second));
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = GANTRY_PASS_ALL};
    gantry_function_t *function;
    graph_expect_ok(gantry_function_from_graph(graph, &options, &function));
    const gantry__node_t *made = find_node(function, "second");
    assert_int_equal(made->colocated_count, 1);
    assert_int_equal(made->control_count, 1);
    assert_null(made->wish);
    assert_non_null(strstr(find_node(function, "first")->wish->text, "/device:CPU:0"));
    assert_null(find_node(function, "sum")->wish);
    assert_int_equal(find_node(function, "sum")->control_count, 0);
    gantry_function_release(function);
    gantry_graph_release(graph);
    runtime_fixture_close(&f);
}

/* ---- names and metadata ---- */

TEST(names_and_metadata_are_read) {
    runtime_fixture_t f;
    gantry_graph_t *graph = graph_case_begin(&f, "named");
    const gantry_graph_value_t x = graph_case_input(graph, "an \"x\"\n", GANTRY_SHAPE(-1, 2));
    graph_case_output(graph, "y\t", x);
    graph_case_output(graph, NULL, x);
    graph_expect_ok(gantry_graph_set_metadata(graph, "producer", "test"));
    graph_expect_ok(gantry_graph_set_metadata(graph, "removed", "soon"));
    graph_expect_ok(gantry_graph_set_metadata(graph, "license", ""));
    graph_expect_ok(gantry_graph_set_metadata(graph, "producer", "this test"));
    graph_expect_ok(gantry_graph_set_metadata(graph, "removed", NULL));
    assert_int_equal(gantry_graph_metadata_count(graph), 2);
    const gantry_metadata_t more[] = {{"producer", "an option"}, {"domain", "d"}};
    const gantry_function_options_t options = {
        .struct_size = sizeof options, .metadata = more, .metadata_count = 2};
    gantry_function_t *function;
    graph_expect_ok(gantry_function_from_graph(graph, &options, &function));
    gantry_graph_release(graph);
    gantry_function_value_t value = {.struct_size = sizeof value};
    graph_expect_ok(gantry_function_get_input(function, 0, &value));
    assert_string_equal(value.name, "an \"x\"\n");
    assert_int_equal(value.shape.dims[0], -1);
    graph_expect_ok(gantry_function_get_output(function, 0, &value));
    assert_string_equal(value.name, "y\t");
    assert_int_equal(value.dtype, GANTRY_DTYPE_NONE);
    graph_expect_ok(gantry_function_get_output(function, 1, &value));
    assert_string_equal(value.name, "");
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    tensor *in = gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3, 2)), *out[2];
    graph_expect_ok(gantry_function_call(scope, function, &in, 1, out, 2));
    expect_ended_well(scope);
    graph_expect_ok(gantry_function_get_output(function, 1, &value));
    assert_int_equal(value.dtype, GANTRY_FLOAT32);
    assert_int_equal(value.shape.dims[0], 3);
    gantry_metadata_t text;
    static const char *const expected[][2] = {
        {"producer", "an option"}, {"domain", "d"}, {"license", ""}};
    assert_int_equal(gantry_function_metadata_count(function), 3);
    for (size_t i = 0; i < 3; ++i) {
        graph_expect_ok(gantry_function_get_metadata(function, i, &text));
        assert_string_equal(text.key, expected[i][0]);
        assert_string_equal(text.text, expected[i][1]);
    }
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* Names are kept as they are; the nodes of the trace have unique ones of one line. */
TEST(names_of_nodes_may_be_any_text) {
    static char long_name[2001];
    for (size_t i = 0; i + 2 < sizeof long_name; i += 2) memcpy(long_name + i, "\xc3\xa9", 2);
    const char *const names[] = {"a\"b\"",      "line\none", "",        "twice",
                                 "twice",       long_name,   long_name, "bad \xff utf8",
                                 "\x1b[31mred", "a/b:0"};
    enum { NAMES = sizeof names / sizeof names[0] };
    runtime_fixture_t f;
    gantry_graph_t *graph = graph_case_begin(&f, long_name);
    gantry_graph_value_t x = graph_case_input(graph, long_name, GANTRY_SHAPE(1));
    for (size_t i = 0; i < NAMES; ++i) x = GRAPH_OP(graph, "Sin", names[i], x);
    graph_case_output(graph, long_name, x);
    for (size_t i = 0; i < NAMES; ++i) {
        gantry_graph_node_info_t info = {.struct_size = sizeof info};
        graph_expect_ok(gantry_graph_get_node(graph, i + 1, &info));
        assert_string_equal(info.node.name, names[i]);
    }
    gantry_function_t *function = graph_case_function(graph, false);
    gantry_function_value_t value = {.struct_size = sizeof value};
    graph_expect_ok(gantry_function_get_output(function, 0, &value));
    assert_string_equal(value.name, long_name);
    const gantry__graph_t *traced = &planned(function)->graph;
    for (size_t i = 0; i < traced->node_count; ++i) {
        for (const char *at = traced->nodes[i].name; *at; ++at)
            assert_true((unsigned char)*at >= 0x20 && *at != 0x7f);
        for (size_t k = 0; k < i; ++k)
            assert_string_not_equal(traced->nodes[i].name, traced->nodes[k].name);
    }
    char text[16384];
    for (int form = GANTRY_EXPLAIN_TEXT; form <= GANTRY_EXPLAIN_GRAPHVIZ; ++form)
        graph_expect_ok(gantry_function_explain(function, (gantry_explain_form_t)form, text,
                                                sizeof text, NULL));
    gantry_function_release(function);
    gantry_graph_release(graph);
    runtime_fixture_close(&f);
}

TEST(outputs_of_a_traced_function_have_names) {
    const char *const names[] = {"y", NULL};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .output_names = names};
    const gantry_input_spec_t spec = {"x", GANTRY_FLOAT32, {.rank = 0}};
    runtime_fixture_t f;
    gantry_graph_t *graph = make_control(&f);
    gantry_function_t *inner = graph_case_function(graph, false), *function;
    graph_expect_ok(
        gantry_function_trace(f.runtime, "f", call_it, inner, &spec, 1, 1, &options, &function));
    gantry_function_value_t value = {.struct_size = sizeof value};
    graph_expect_ok(gantry_function_get_output(function, 0, &value));
    assert_string_equal(value.name, "y");
    assert_int_equal(value.dtype, GANTRY_FLOAT32);
    gantry_graph_t *described;
    const char *name;
    graph_expect_ok(gantry_function_get_graph(function, &described));
    graph_expect_ok(gantry_graph_get_output(described, 0, &name, NULL));
    assert_string_equal(name, "y");
    gantry_graph_release(described);
    gantry_function_release(function);
    gantry_function_release(inner);
    gantry_graph_release(graph);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
