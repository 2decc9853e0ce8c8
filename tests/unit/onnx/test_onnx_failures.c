/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A failure in a run of a model names the model's file, the node, its op with its
 * domain, and the version of its operator set, in a trace and op by op alike.
 * Promise: A function of the program that runs a model in its body names the model's node, too. */
#define _GNU_SOURCE

#include "onnx_fixture.h"

/* Runs the model both ways. Each fails with all these texts, NULL at the end. */
static void expect_words(onnx_wire_t *graph, tensor *(*make)(gantry_scope_t *, size_t),
                         size_t count, const char *const *words) {
    onnx_wire_t copy = {0};
    onnx_put_raw(&copy, graph->data, graph->size);
    for (int is_eager = 0; is_eager < 2; ++is_eager) {
        const gantry_function_options_t function = {.struct_size = sizeof function,
                                                    .runs_eagerly = is_eager};
        const gantry_onnx_options_t options = {.struct_size = sizeof options,
                                               .function = &function};
        onnx_loaded_t m = onnx_begin_with(is_eager ? &copy : graph, &options, "/CPU:0");
        tensor *inputs[3];
        for (size_t i = 0; i < count; ++i) inputs[i] = make(m.scope, i);
        for (const char *const *word = words; *word; ++word)
            onnx_expect_failure(&m, inputs, count, GANTRY_INVALID_ARGUMENT, *word, "made.onnx: ");
        onnx_end(&m);
    }
}

static tensor *make_wrong_sizes(gantry_scope_t *scope, size_t i) {
    static const float values[20] = {0};
    return onnx_floats(scope, i ? GANTRY_SHAPE(4, 5) : GANTRY_SHAPE(2, 3), values);
}

TEST(sizes_that_do_not_fit_name_the_node) {
    onnx_wire_t graph = {0};
    onnx_put_node(&graph, "MatMul", "x w", "y", NULL);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "a,b");
    onnx_put_value(&graph, ONNX_INPUT, "w", ONNX_FLOAT, "c,d");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, NULL);
    expect_words(&graph, make_wrong_sizes, 2,
                 (const char *const[]){"(MatMul, opset 17): ", "In[0]: [2,3], In[1]: [4,5]", NULL});
}

/* Values, indices, and a condition. */
static tensor *make_wrong_index(gantry_scope_t *scope, size_t i) {
    static const float values[] = {1, 2, 3};
    static const int64_t indices[] = {0, 7};
    static const bool is_true = true;
    if (i == 0) return onnx_floats(scope, GANTRY_SHAPE(3), values);
    return i == 1 ? onnx_of(scope, GANTRY_INT64, GANTRY_SHAPE(2), indices)
                  : onnx_of(scope, GANTRY_BOOL, GANTRY_SCALAR, &is_true);
}

static void put_index_values(onnx_wire_t *graph) {
    onnx_put_value(graph, ONNX_INPUT, "x", ONNX_FLOAT, "n");
    onnx_put_value(graph, ONNX_INPUT, "i", ONNX_INT64, "m");
    onnx_put_value(graph, ONNX_OUTPUT, "y", ONNX_FLOAT, NULL);
}

/* Gather counts some indices from the end before the op that finds the wrong one. */
TEST(an_index_outside_names_the_node) {
    onnx_wire_t graph = {0};
    onnx_put_node(&graph, "Gather", "x i", "y", NULL);
    put_index_values(&graph);
    expect_words(&graph, make_wrong_index, 2,
                 (const char *const[]){"node 'y' (Gather, opset 17): ", " 7 ", NULL});
}

TEST(a_failure_in_a_branch_names_its_node) {
    onnx_wire_t graph = {0}, attrs = {0};
    for (int k = 0; k < 2; ++k) {
        onnx_wire_t branch = {0};
        onnx_put_node(&branch, "Gather", "x i", k ? "b" : "a", NULL);
        onnx_put_value(&branch, ONNX_OUTPUT, k ? "b" : "a", ONNX_FLOAT, NULL);
        onnx_put_attr_graph(&attrs, k ? "else_branch" : "then_branch", &branch);
    }
    onnx_put_node(&graph, "If", "c", "y", &attrs);
    put_index_values(&graph);
    onnx_put_value(&graph, ONNX_INPUT, "c", ONNX_BOOL, "");
    expect_words(&graph, make_wrong_index, 3,
                 (const char *const[]){"node 'a' (Gather, opset 17): ", " 7 ", NULL});
}

TEST(an_op_of_another_domain_has_it_in_its_name) {
    onnx_wire_t graph = {0}, attrs = {0};
    onnx_put_text(&attrs, 7, "com.microsoft");
    onnx_put_node(&graph, "FusedMatMul", "x w", "y", &attrs);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "a,b");
    onnx_put_value(&graph, ONNX_INPUT, "w", ONNX_FLOAT, "c,d");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, NULL);
    expect_words(&graph, make_wrong_sizes, 2,
                 (const char *const[]){"node 'y' (com.microsoft.FusedMatMul, opset 1): ", NULL});
}

static void run_model(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    (void)gantry_onnx_model_run(user, scope, inputs, 2, outputs, 1);
}

TEST(a_function_around_a_model_names_its_node) {
    const gantry_input_spec_t specs[] = {{"x", GANTRY_FLOAT32, {.rank = 1, .dims = {3}}},
                                         {"i", GANTRY_INT64, {.rank = 1, .dims = {2}}}};
    onnx_wire_t graph = {0};
    gantry_function_t *function;
    onnx_put_node(&graph, "Gather", "x i", "y", NULL);
    put_index_values(&graph);
    onnx_loaded_t m = onnx_begin(&graph);
    tensor *y, *inputs[] = {make_wrong_index(m.scope, 0), make_wrong_index(m.scope, 1)};
    assert_int_equal(gantry_function_trace(onnx_runtime, "outer", run_model, m.model, specs, 2, 1,
                                           NULL, &function),
                     GANTRY_OK);
    assert_int_equal(gantry_function_call(m.scope, function, inputs, 2, &y, 1),
                     GANTRY_INVALID_ARGUMENT);
    const char *text = gantry_scope_message(m.scope);
    if (!strstr(text, "function outer: made.onnx: ") || !strstr(text, "(Gather, opset 17): "))
        fail_msg("%s", text);
    gantry_scope_clear(m.scope);
    gantry_function_release(function);
    onnx_end(&m);
}

int main(void) { return test_main_with(onnx_open, onnx_close, NULL, NULL); }
