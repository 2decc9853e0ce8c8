/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A node of a graph whose elements a subgraph joins gives what the call does, with its
 * inputs, attributes and values from outside, also in a copy and in a saved function.
 * Promise: A joining node with a wrong call, attribute, list or subgraph is refused by name.
 * Promise: A graph without joining nodes is saved in format 1, one with them in format 2. */
#define _XOPEN_SOURCE 700

#include "function_fixture.h"
#include "graph_copy.h"
#include "saved_file.h"
#include "test.h"

typedef const gantry_tensor_t tensor;

static gantry_attr_value_t ints(const char *name, const int64_t *list, int64_t count) {
    return (gantry_attr_value_t){.name = name, .kind = GANTRY_ATTR_INTS, .i = count, .list = list};
}

static gantry_attr_value_t flag(const char *name) {
    return (gantry_attr_value_t){.name = name, .kind = GANTRY_ATTR_BOOL, .i = 1};
}

static gantry_graph_value_t graph_join_op(gantry_graph_t *graph, const char *op,
                                          gantry_graph_value_t a, gantry_graph_value_t b) {
    const gantry_graph_value_t in[] = {a, b};
    const gantry_graph_node_t node = {
        .struct_size = sizeof node, .op = op, .inputs = in, .input_count = 2};
    gantry_graph_value_t made = 0;
    size_t count = 1;
    graph_expect_ok(gantry_graph_add_node(graph, &node, &made, &count));
    return made;
}

/* left + right * scale, where scale is a value from outside. */
static gantry_graph_t *scaled_sum(gantry_graph_t *graph, gantry_graph_value_t scale) {
    const gantry_input_spec_t any = {NULL, GANTRY_DTYPE_NONE, GANTRY_SCALAR};
    gantry_graph_value_t in[2];
    gantry_graph_t *body;
    graph_expect_ok(gantry_graph_add_subgraph(graph, "joining", &body));
    for (int i = 0; i < 2; ++i) graph_expect_ok(gantry_graph_add_input(body, &any, &in[i]));
    const gantry_graph_value_t product = graph_join_op(body, "Mul", in[1], scale);
    graph_expect_ok(
        gantry_graph_add_output(body, NULL, graph_join_op(body, "AddV2", in[0], product)));
    return body;
}

typedef struct joining_t {
    gantry_graph_value_t x, init, scale, indices, updates, places;
} joining_t;

static void add_joined(gantry_graph_t *graph, const joining_t *from, const char *op,
                       const gantry_graph_value_t *in, size_t in_count,
                       const gantry_attr_value_t *attrs, size_t attr_count) {
    const gantry_graph_node_t node = {.struct_size = sizeof node,
                                      .op = op,
                                      .name = op,
                                      .inputs = in,
                                      .input_count = in_count,
                                      .attrs = attrs,
                                      .attr_count = attr_count};
    gantry_graph_value_t made;
    graph_expect_ok(gantry_graph_add_join(graph, &node, scaled_sum(graph, from->scale), &made));
    graph_expect_ok(gantry_graph_add_output(graph, op, made));
}

enum { INPUTS = 6, OUTPUTS = 6 };

static gantry_graph_t *make_joining(gantry_runtime_t *runtime) {
    static const int64_t axes[] = {-1}, window[] = {2, 2}, strides[] = {1, 2};
    static const int64_t paddings[] = {0, 1, 1, 0}, dilations[] = {1, 2}, apart[] = {2, 1};
    gantry_graph_t *graph;
    joining_t g;
    graph_expect_ok(gantry_graph_create(runtime, "joined", &graph));
    const struct {
        gantry_input_spec_t spec;
        gantry_graph_value_t *value;
    } inputs[] = {{{"x", GANTRY_FLOAT32, GANTRY_SHAPE(3, 4)}, &g.x},
                  {{"init", GANTRY_FLOAT32, GANTRY_SCALAR}, &g.init},
                  {{"scale", GANTRY_FLOAT32, GANTRY_SCALAR}, &g.scale},
                  {{"indices", GANTRY_INT32, GANTRY_SHAPE(2, 1)}, &g.indices},
                  {{"updates", GANTRY_FLOAT32, GANTRY_SHAPE(2, 4)}, &g.updates},
                  {{"places", GANTRY_INT32, GANTRY_SHAPE(2, 4)}, &g.places}};
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; ++i)
        graph_expect_ok(gantry_graph_add_input(graph, &inputs[i].spec, inputs[i].value));
    const gantry_graph_value_t two[] = {g.x, g.init}, three[] = {g.x, g.indices, g.updates},
                               elements[] = {g.x, g.places, g.updates};
    add_joined(graph, &g, "Reduce", two, 2,
               (gantry_attr_value_t[]){ints("axes", axes, 1), flag("in_order"), flag("keep_dims")},
               3);
    add_joined(
        graph, &g, "ReduceWindow", two, 2,
        (gantry_attr_value_t[]){ints("window", window, 2), ints("strides", strides, 2),
                                ints("base_dilations", dilations, 2),
                                ints("window_dilations", apart, 2), ints("paddings", paddings, 4)},
        5);
    const gantry_attr_value_t axis = {.name = "axis", .kind = GANTRY_ATTR_INT, .i = 1};
    add_joined(graph, &g, "Scan", two, 1, (gantry_attr_value_t[]){axis, flag("reverse")}, 2);
    add_joined(graph, &g, "Scan", two, 2, (gantry_attr_value_t[]){axis, flag("exclusive")}, 2);
    add_joined(graph, &g, "Scatter", three, 3, NULL, 0);
    const gantry_attr_value_t ignore = {
        .name = "bad_indices_policy", .kind = GANTRY_ATTR_STRING, .s = "IGNORE"};
    add_joined(graph, &g, "ScatterElements", elements, 3, (gantry_attr_value_t[]){axis, ignore}, 2);
    return graph;
}

/* ---- the same by calls ---- */

static void scaled(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    out[0] = gantry_add(s, in[0], gantry_mul(s, in[1], *(tensor *const *)user));
}

static void by_calls(gantry_scope_t *s, tensor *const *in, tensor **out) {
    static const int32_t axes[] = {-1};
    static const int64_t window[] = {2, 2}, strides[] = {1, 2}, paddings[] = {0, 1, 1, 0};
    static const int64_t dilations[] = {1, 2}, apart[] = {2, 1};
    tensor *scale = in[2];
    const gantry_reduce_body_options_t reduce = {.struct_size = sizeof reduce,
                                                 .axes = axes,
                                                 .axis_count = 1,
                                                 .keep_dims = true,
                                                 .in_order = true};
    const gantry_window_body_options_t windows = {.struct_size = sizeof windows,
                                                  .strides = strides,
                                                  .base_dilations = dilations,
                                                  .window_dilations = apart,
                                                  .paddings = paddings};
    const gantry_scan_body_options_t back = {.struct_size = sizeof back, .reverse = true};
    const gantry_scan_body_options_t before = {.struct_size = sizeof before, .exclusive = true};
    const gantry_scatter_body_options_t ignore = {.struct_size = sizeof ignore,
                                                  .bad_indices_policy = "IGNORE"};
    (void)gantry_reduce_with_body(s, in, in + 1, 1, scaled, &scale, &reduce, out);
    (void)gantry_reduce_window_with_body(s, in, in + 1, 1, scaled, &scale, window, &windows,
                                         out + 1);
    (void)gantry_scan_with_body(s, in, NULL, 1, 1, scaled, &scale, &back, out + 2);
    (void)gantry_scan_with_body(s, in, in + 1, 1, 1, scaled, &scale, &before, out + 3);
    (void)gantry_scatter_with_body(s, in, in[3], in + 4, 1, scaled, &scale, NULL, out + 4);
    (void)gantry_scatter_elements_with_body(s, in, in[5], in + 4, 1, 1, scaled, &scale, &ignore,
                                            out + 5);
    if (gantry_scope_status(s) != GANTRY_OK) fail_msg("%s", gantry_scope_message(s));
}

static void expect_same(gantry_scope_t *s, gantry_function_t *function) {
    const float values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    tensor *in[] = {
        gantry_constant(s, GANTRY_FLOAT32, GANTRY_SHAPE(3, 4), values, sizeof values),
        gantry_scalar_f32(s, 100),
        gantry_scalar_f32(s, 0.5f),
        gantry_reshape(s, I32(s, 2, 0), GANTRY_SHAPE(2, 1)),
        gantry_constant(s, GANTRY_FLOAT32, GANTRY_SHAPE(2, 4), values, 8 * sizeof *values),
        gantry_reshape(s, I32(s, 3, 0, 3, 9, 1, 1, 2, 0), GANTRY_SHAPE(2, 4))};
    tensor *got[OUTPUTS], *wanted[OUTPUTS];
    by_calls(s, in, wanted);
    function_fixture_call(s, function, in, INPUTS, got, OUTPUTS);
    for (int i = 0; i < OUTPUTS; ++i) {
        float elements[24];
        const size_t bytes = gantry_tensor_bytes(wanted[i]);
        assert_in_range(bytes, sizeof(float), sizeof elements);
        assert_true(
            gantry_shape_equal(gantry_tensor_shape(got[i]), gantry_tensor_shape(wanted[i])));
        assert_int_equal(gantry_tensor_read(wanted[i], elements, bytes), GANTRY_OK);
        expect_f32(got[i], bytes / sizeof(float), elements);
    }
}

static gantry_function_t *function_of(gantry_graph_t *graph) {
    gantry_function_t *function;
    graph_expect_ok(gantry_function_from_graph(graph, NULL, &function));
    return function;
}

TEST(nodes_give_what_calls_do) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, NULL);
    gantry_graph_t *graph = make_joining(f.runtime), *copy = graph_copy(f.runtime, graph);
    gantry_graph_t *const graphs[] = {graph, copy};
    for (int i = 0; i < 2; ++i) {
        gantry_function_t *function = function_of(graphs[i]);
        expect_same(s, function);
        gantry_function_release(function);
        gantry_graph_release(graphs[i]);
    }
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

TEST(saved_nodes_give_the_same) {
    runtime_fixture_t f;
    saved_file_t file;
    runtime_fixture_open(&f, 0);
    saved_file_init(&file);
    gantry_scope_t *s = runtime_fixture_scope(&f, NULL);
    gantry_graph_t *graph = make_joining(f.runtime);
    gantry_function_t *function = function_of(graph), *loaded;
    expect_same(s, function);
    graph_expect_ok(gantry_function_save(function, file.path, NULL));
    graph_expect_ok(gantry_function_load(f.runtime, file.path, NULL, &loaded));
    expect_same(s, loaded);
    saved_file_read(&file);
    assert_true(saved_file_find(&file, "gantry_format\":\"2", 17) > 0);
    gantry_function_release(loaded);
    gantry_function_release(function);
    gantry_graph_release(graph);
    expect_ended_well(s);
    saved_file_deinit(&file);
    runtime_fixture_close(&f);
}

/* ---- bad input ---- */

typedef struct joined_bad_t {
    const char *op;
    size_t inputs;
    gantry_attr_value_t attr;
    const char *text;
} joined_bad_t;

TEST(wrong_nodes_are_refused) {
    static const int64_t three[] = {1, 1, 1};
    const joined_bad_t bad[] = {
        {NULL, 2, flag("in_order"), "op NULL; Reduce, ReduceWindow"},
        {"MatMul", 2, flag("in_order"), "op MatMul; Reduce, ReduceWindow"},
        {"Reduce", 2, flag("reverse"), "Reduce has no attribute 'reverse'"},
        {"Reduce", 2, flag("axes"), "attribute 'axes' is of kind"},
        {"Reduce", 2, flag("in_order"), "attribute 'in_order' is given twice"},
        {"Reduce", 2, ints("axes", three, 17), "attribute 'axes' has 17 entries; 0 to 16"},
        {"Reduce", 1, flag("in_order"), "the number of inputs is 1; 2 is accepted"},
        {"Scatter",
         2,
         {.name = "bad_indices_policy", .kind = GANTRY_ATTR_STRING, .s = ""},
         "the number of inputs is 2; 3 is accepted"},
    };
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        gantry_graph_t *graph, *empty;
        gantry_graph_value_t in[2], made;
        graph_expect_ok(gantry_graph_create(f.runtime, NULL, &graph));
        for (int k = 0; k < 2; ++k)
            graph_expect_ok(gantry_graph_add_input(graph, &SPEC_F32(2), &in[k]));
        const gantry_attr_value_t attrs[] = {bad[i].attr, bad[i].attr};
        const gantry_graph_node_t node = {.struct_size = sizeof node,
                                          .op = bad[i].op,
                                          .inputs = in,
                                          .input_count = bad[i].inputs,
                                          .attrs = attrs,
                                          .attr_count = strstr(bad[i].text, "given twice") ? 2 : 1};
        expect_refusal(gantry_graph_add_join(graph, &node, scaled_sum(graph, in[1]), &made),
                       GANTRY_INVALID_ARGUMENT, bad[i].text);
        expect_refusal(gantry_graph_add_join(graph, &node, graph, &made), GANTRY_INVALID_ARGUMENT,
                       "body is no subgraph of this graph");
        graph_expect_ok(gantry_graph_add_subgraph(graph, "empty", &empty));
        for (int k = 0; k < 2; ++k)
            graph_expect_ok(gantry_graph_add_input(empty, &SPEC_F32(2), &made));
        expect_refusal(gantry_graph_add_join(graph, &node, empty, &made), GANTRY_INVALID_ARGUMENT,
                       "has 2 inputs and 0 outputs; 2 and 1 are accepted");
        gantry_graph_release(graph);
    }
    runtime_fixture_close(&f);
}

/* An axis that no int32 holds is refused as it is. */
static void expect_axis_refused(gantry_runtime_t *runtime, gantry_graph_node_t *node) {
    static const int64_t far[] = {(int64_t)1 << 32};
    const gantry_attr_value_t axes = ints("axes", far, 1);
    gantry_graph_t *graph;
    gantry_graph_value_t in[2], made;
    gantry_function_t *function;
    graph_expect_ok(gantry_graph_create(runtime, NULL, &graph));
    graph_expect_ok(gantry_graph_add_input(graph, &SPEC_F32(2), &in[0]));
    graph_expect_ok(gantry_graph_add_input(
        graph, &(gantry_input_spec_t){NULL, GANTRY_FLOAT32, GANTRY_SCALAR}, &in[1]));
    node->op = "Reduce";
    node->inputs = in;
    node->attrs = &axes;
    graph_expect_ok(gantry_graph_add_join(graph, node, scaled_sum(graph, in[1]), &made));
    graph_expect_ok(gantry_graph_add_output(graph, NULL, made));
    expect_refusal(gantry_function_from_graph(graph, NULL, &function), GANTRY_INVALID_ARGUMENT,
                   "attribute 'axes' has 4294967296; an axis of operand 0, of rank 1");
    gantry_graph_release(graph);
}

TEST(lists_of_a_wrong_length_are_refused_in_a_trace) {
    static const int64_t three[] = {1, 1, 1};
    runtime_fixture_t f;
    gantry_graph_t *graph;
    gantry_graph_value_t in[2], made;
    gantry_function_t *function;
    runtime_fixture_open(&f, 0);
    graph_expect_ok(gantry_graph_create(f.runtime, NULL, &graph));
    graph_expect_ok(gantry_graph_add_input(graph, &SPEC_F32(2), &in[0]));
    graph_expect_ok(gantry_graph_add_input(
        graph, &(gantry_input_spec_t){NULL, GANTRY_FLOAT32, GANTRY_SCALAR}, &in[1]));
    const gantry_attr_value_t window = ints("window", three, 3);
    gantry_graph_node_t node = {.struct_size = sizeof node,
                                .op = "ReduceWindow",
                                .name = "pool",
                                .inputs = in,
                                .input_count = 2,
                                .attrs = &window,
                                .attr_count = 1};
    graph_expect_ok(gantry_graph_add_join(graph, &node, scaled_sum(graph, in[1]), &made));
    graph_expect_ok(gantry_graph_add_output(graph, NULL, made));
    expect_refusal(gantry_function_from_graph(graph, NULL, &function), GANTRY_INVALID_ARGUMENT,
                   "node \"pool\" (ReduceWindow): attribute 'window' has 3 entries; 1 are");
    gantry_graph_release(graph);
    expect_axis_refused(f.runtime, &node);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
