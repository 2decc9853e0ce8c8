/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: An input on whose elements shapes depend is bound by its value, with a trace for each
 * set of values, of which few are kept.
 * Promise: A model whose shapes depend on what it computes runs op by op, with the reason in its
 * explanation.
 * Promise: A function of given sizes is made without a run, with its memory, and outlives its
 * model.
 * Promise: A memory budget of the options refuses sizes that take more, with the numbers.
 * Promise: A run in the body of a traced function becomes a part of it, and the function of a run
 * is saved as a file that needs no model.
 * Promise: A branch whose condition is known is the only one that is lowered.
 * Promise: The explanation of a model that keeps its refused nodes has the value of an attribute
 * that the library lacks.
 * Promise: A Slice that begins in front of the first element begins with it, also where elements
 * decide the size. */
#define _GNU_SOURCE

#include <unistd.h>

#include "onnx_fixture.h"

/* y = reshape(x, sizes + 0), both inputs. */
static onnx_wire_t reshape_by_input(void) {
    onnx_wire_t graph = {0};
    onnx_put_node(&graph, "Add", "sizes zero", "sum", NULL);
    onnx_put_node(&graph, "Reshape", "x sum", "y", NULL);
    onnx_put_ints(&graph, "zero", (const int64_t[]){0}, 1);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "n");
    onnx_put_value(&graph, ONNX_INPUT, "sizes", ONNX_INT64, "rank");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, NULL);
    return graph;
}

static char *explain(gantry_onnx_model_t *model, gantry_explain_form_t form) {
    size_t needed = 0;
    assert_int_equal(gantry_onnx_model_explain(model, form, NULL, 0, &needed), GANTRY_OK);
    char *text = malloc(needed + 1);
    assert_int_equal(gantry_onnx_model_explain(model, form, text, needed + 1, &needed), GANTRY_OK);
    assert_int_equal(strlen(text), needed);
    return text;
}

static void expect_reshaped(onnx_loaded_t *m, int64_t rows, int64_t columns) {
    float values[64];
    for (int i = 0; i < 64; ++i) values[i] = (float)i;
    tensor *inputs[] = {
        onnx_floats(m->scope, GANTRY_SHAPE(rows * columns), values),
        onnx_of(m->scope, GANTRY_INT64, GANTRY_SHAPE(2), (const int64_t[]){rows, columns})};
    onnx_expect_floats(onnx_run(m, inputs, 2), GANTRY_SHAPE(rows, columns), values);
}

TEST(an_input_that_decides_shapes_is_bound_by_its_value) {
    onnx_wire_t graph = reshape_by_input();
    onnx_loaded_t m = onnx_begin(&graph);
    expect_reshaped(&m, 2, 3);
    expect_reshaped(&m, 3, 2);
    expect_reshaped(&m, 2, 3);
    char *text = explain(m.model, GANTRY_EXPLAIN_TEXT);
    assert_null(strstr(text, "op by op"));
    free(text);
    for (int64_t i = 1; i <= 30; ++i) expect_reshaped(&m, i, 2); /* more than are kept */
    expect_reshaped(&m, 2, 3);
    onnx_end(&m);
}

TEST(values_that_do_not_fit_are_refused_and_the_next_run_works) {
    onnx_wire_t graph = reshape_by_input();
    onnx_loaded_t m = onnx_begin(&graph);
    tensor *inputs[] = {onnx_floats(m.scope, GANTRY_SHAPE(2), (const float[]){1, 2}),
                        onnx_of(m.scope, GANTRY_INT64, GANTRY_SHAPE(2), (const int64_t[]){3, 2})};
    onnx_expect_failure(&m, inputs, 2, GANTRY_INVALID_ARGUMENT, "made.onnx: node 'y'", "Reshape");
    expect_reshaped(&m, 2, 3);
    onnx_end(&m);
}

/* The sum of x, as a size. */
TEST(shapes_of_computed_values_make_a_model_run_op_by_op) {
    onnx_wire_t graph = {0}, attrs = {0};
    onnx_put_attr_int(&attrs, "keepdims", 1);
    onnx_put_node(&graph, "ReduceSum", "x", "sum", &attrs);
    onnx_put_attr_int(&attrs, "to", ONNX_INT64);
    onnx_put_node(&graph, "Cast", "sum", "size", &attrs);
    onnx_put_node(&graph, "ConstantOfShape", "size", "zeros", NULL);
    onnx_put_node(&graph, "Add", "zeros one", "ones", NULL);
    onnx_put_floats(&graph, "one", (const int64_t[]){1}, 1, (const float[]){1});
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "100");
    onnx_put_value(&graph, ONNX_OUTPUT, "ones", ONNX_FLOAT, NULL);
    onnx_loaded_t m = onnx_begin(&graph);
    float values[100] = {2};
    const float ones[] = {1, 1, 1, 1, 1};
    gantry_function_t *function = NULL;
    for (int i = 0; i < 3; ++i) {
        values[1] = (float)i;
        tensor *x = onnx_floats(m.scope, GANTRY_SHAPE(100), values);
        onnx_expect_floats(onnx_run(&m, &x, 1), GANTRY_SHAPE(2 + i), ones);
    }
    char *text = explain(m.model, GANTRY_EXPLAIN_TEXT), *json;
    assert_non_null(strstr(text, "runs op by op: made.onnx: node 'zeros' (ConstantOfShape, opset"));
    json = explain(m.model, GANTRY_EXPLAIN_JSON);
    assert_non_null(strstr(json, "\"op_by_op\":\"made.onnx: node 'zeros'"));
    assert_int_equal(gantry_onnx_model_get_function(m.model, &function),
                     GANTRY_FAILED_PRECONDITION);
    free(text);
    free(json);
    onnx_end(&m);
}

/* if (flag) y = x + x else y = x * x, the flag an initializer or an input. */
static onnx_wire_t branches(bool flag_is_input) {
    onnx_wire_t graph = {0}, attrs = {0}, then_graph = {0}, else_graph = {0};
    onnx_put_node(&then_graph, "Add", "x x", "sum", NULL);
    onnx_put_value(&then_graph, ONNX_OUTPUT, "sum", ONNX_FLOAT, "2");
    onnx_put_node(&else_graph, "Mul", "x x", "product", NULL);
    onnx_put_value(&else_graph, ONNX_OUTPUT, "product", ONNX_FLOAT, "2");
    onnx_put_attr_graph(&attrs, "then_branch", &then_graph);
    onnx_put_attr_graph(&attrs, "else_branch", &else_graph);
    onnx_put_node(&graph, "If", "flag", "y", &attrs);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "2");
    if (flag_is_input) {
        onnx_put_value(&graph, ONNX_INPUT, "flag", ONNX_BOOL, "");
    } else {
        onnx_put_tensor(&graph, ONNX_TENSOR, "flag", ONNX_BOOL, NULL, 0, &(uint8_t){1}, 1);
    }
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, "2");
    return graph;
}

TEST(branches_see_values_of_the_graph_around_them) {
    onnx_wire_t graph = branches(true);
    onnx_loaded_t m = onnx_begin(&graph);
    const float x[] = {3, 4};
    for (uint8_t flag = 0; flag < 2; ++flag) {
        tensor *inputs[] = {onnx_floats(m.scope, GANTRY_SHAPE(2), x),
                            onnx_of(m.scope, GANTRY_BOOL, GANTRY_SCALAR, &flag)};
        onnx_expect_floats(onnx_run(&m, inputs, 2), GANTRY_SHAPE(2),
                           flag ? (const float[]){6, 8} : (const float[]){9, 16});
    }
    onnx_end(&m);
    graph = branches(false);
    m = onnx_begin(&graph);
    tensor *input = onnx_floats(m.scope, GANTRY_SHAPE(2), x);
    onnx_expect_floats(onnx_run(&m, &input, 1), GANTRY_SHAPE(2), (const float[]){6, 8});
    char *text = explain(m.model, GANTRY_EXPLAIN_TEXT);
    assert_non_null(strstr(text, "product  Mul  17  unknown"));
    free(text);
    onnx_end(&m);
}

TEST(a_function_of_given_sizes_is_made_without_a_run) {
    onnx_wire_t graph = {0};
    onnx_put_node(&graph, "Exp", "x", "e", NULL);
    onnx_put_node(&graph, "MatMul", "e e", "y", NULL);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "n,n");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, "n,n");
    onnx_loaded_t m = onnx_begin(&graph);
    gantry_function_t *function = NULL;
    gantry_function_memory_t memory = {.struct_size = sizeof memory};
    size_t count = 0;
    const gantry_shape_t shape = GANTRY_SHAPE(16, 16), wrong = GANTRY_SHAPE(16, 8);
    assert_int_equal(gantry_onnx_model_trace(m.model, &wrong, 1, NULL, &function),
                     GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry_last_message(), "dimension 'n' is 16 in input 'x' and 8"));
    assert_int_equal(gantry_onnx_model_trace(m.model, &shape, 1, "/CPU:0", &function), GANTRY_OK);
    gantry_onnx_model_release(m.model);
    m.model = NULL;
    assert_int_equal(gantry_function_get_memory(function, 1, &memory, &count), GANTRY_OK);
    assert_int_equal(count, 1);
    assert_int_equal(memory.result_bytes, 1024);
    assert_true(memory.planned_bytes >= 1024);
    gantry_function_release(function);
    onnx_end(&m);
}

/* exp(x) x, [n,n]. */
static onnx_wire_t exponent_and_product(void) {
    onnx_wire_t graph = {0};
    onnx_put_node(&graph, "Exp", "x", "e", NULL);
    onnx_put_node(&graph, "MatMul", "e x", "y", NULL);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "n,n");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, "n,n");
    return graph;
}

TEST(a_memory_budget_refuses_sizes_that_take_more) {
    onnx_wire_t graph = exponent_and_product();
    const gantry_function_options_t function = {.struct_size = sizeof function,
                                                .memory_budget_bytes = 4096};
    const gantry_onnx_options_t options = {
        .struct_size = sizeof options, .device = "/CPU:0", .function = &function};
    onnx_loaded_t m = onnx_begin_with(&graph, &options, NULL);
    float values[64 * 64] = {0};
    tensor *small = onnx_floats(m.scope, GANTRY_SHAPE(4, 4), values);
    tensor *large = onnx_floats(m.scope, GANTRY_SHAPE(64, 64), values);
    onnx_expect_failure(&m, &large, 1, GANTRY_RESOURCE_EXHAUSTED, "made.onnx", "4096");
    onnx_expect_floats(onnx_run(&m, &small, 1), GANTRY_SHAPE(4, 4), values);
    onnx_end(&m);
}

/* y = 2 model(x), as a function around the model. */
static void twice_model(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                        void *user) {
    tensor *y = NULL;
    (void)gantry_onnx_model_run(user, scope, inputs, 1, &y, 1);
    outputs[0] = gantry_add(scope, y, y);
}

TEST(a_run_in_a_traced_body_becomes_a_part_of_the_trace) {
    onnx_wire_t graph = exponent_and_product();
    onnx_loaded_t m = onnx_begin(&graph);
    const gantry_input_spec_t spec = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(-1, 1)};
    gantry_function_t *function = NULL;
    assert_int_equal(gantry_function_trace(onnx_runtime, "twice", twice_model, m.model, &spec, 1, 1,
                                           NULL, &function),
                     GANTRY_OK);
    tensor *x = onnx_floats(m.scope, GANTRY_SHAPE(1, 1), (const float[]){0}), *y = NULL;
    assert_int_equal(gantry_function_call(m.scope, function, &x, 1, &y, 1), GANTRY_OK);
    onnx_expect_floats(y, GANTRY_SHAPE(1, 1), (const float[]){0});
    gantry_function_release(function);
    onnx_end(&m);
}

TEST(the_function_of_a_run_is_saved_and_runs_without_the_model) {
    onnx_wire_t graph = exponent_and_product();
    onnx_loaded_t m = onnx_begin(&graph);
    char path[] = "/tmp/gantry_onnx_XXXXXX";
    gantry_function_t *function = NULL, *loaded = NULL;
    tensor *x = onnx_floats(m.scope, GANTRY_SHAPE(1, 1), (const float[]){0}), *y = NULL;
    (void)close(mkstemp(path));
    assert_int_equal(gantry_onnx_model_get_function(m.model, &function),
                     GANTRY_FAILED_PRECONDITION);
    (void)onnx_run(&m, &x, 1);
    assert_int_equal(gantry_onnx_model_get_function(m.model, &function), GANTRY_OK);
    if (gantry_function_save(function, path, NULL) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    gantry_onnx_model_release(m.model);
    m.model = NULL;
    assert_int_equal(gantry_function_load(onnx_runtime, path, NULL, &loaded), GANTRY_OK);
    assert_int_equal(gantry_function_call(m.scope, loaded, &x, 1, &y, 1), GANTRY_OK);
    onnx_expect_floats(y, GANTRY_SHAPE(1, 1), (const float[]){0});
    gantry_function_release(loaded);
    (void)unlink(path);
    onnx_end(&m);
}

/* ---- Slice ---- */

TEST(a_slice_of_an_open_size_begins_with_the_first_element) {
    static const float x[4] = {1, 2, 3, 4}, back[4] = {2, 1};
    onnx_wire_t graph = {0};
    onnx_put_ints(&graph, "begin", (const int64_t[]){-3}, 1);
    onnx_put_ints(&graph, "end", (const int64_t[]){INT64_MIN}, 1);
    onnx_put_ints(&graph, "axis", (const int64_t[]){0}, 1);
    onnx_put_ints(&graph, "step", (const int64_t[]){-1}, 1);
    onnx_put_node(&graph, "Compress", "x mask", "some", NULL);
    onnx_put_node(&graph, "Slice", "some begin end axis step", "y", NULL);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "4");
    onnx_put_value(&graph, ONNX_INPUT, "mask", ONNX_BOOL, "4");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, NULL);
    onnx_loaded_t m = onnx_begin(&graph);
    for (int64_t kept = 0; kept <= 4; ++kept) {
        const bool mask[4] = {kept > 0, kept > 1, kept > 2, kept > 3};
        tensor *inputs[] = {onnx_floats(m.scope, GANTRY_SHAPE(4), x),
                            onnx_of(m.scope, GANTRY_BOOL, GANTRY_SHAPE(4), mask)};
        const int64_t count = kept < 3 ? kept != 0 : kept - 2;
        onnx_expect_floats(onnx_run(&m, inputs, 2), GANTRY_SHAPE(count), back + 2 - count);
    }
    onnx_end(&m);
}

TEST(a_value_that_the_library_lacks_is_explained) {
    const gantry_onnx_options_t options = {.struct_size = sizeof options, .keeps_refused = true};
    onnx_wire_t graph = {0}, attrs = {0};
    onnx_put_text(&attrs, 7, "com.microsoft");
    onnx_put_attr_int(&attrs, "is_packed_batching", 1);
    onnx_put_node(&graph, "RotaryEmbedding", "x places cos sin", "y", &attrs);
    for (int i = 0; i < 4; ++i)
        onnx_put_value(&graph, ONNX_INPUT, (const char *[]){"x", "places", "cos", "sin"}[i],
                       i == 1 ? ONNX_INT64 : ONNX_FLOAT, NULL);
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, NULL);
    onnx_loaded_t m = onnx_begin_with(&graph, &options, "/CPU:0");
    char *text = explain(m.model, GANTRY_EXPLAIN_TEXT);
    if (!strstr(text, "1 nodes, 1 refused") || !strstr(text, "refused  is_packed_batching"))
        fail_msg("%s", text);
    free(text);
    onnx_end(&m);
}

int main(void) { return test_main_with(onnx_open, onnx_close, NULL, NULL); }
