/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A model of an ONNX file computes what its nodes compute one by one, on the CPU and on
 * OpenCL.
 * Promise: A model is traced once for each combination of sizes; shape arithmetic and what is made
 * of constants are no nodes of the trace.
 * Promise: Named dimensions have one size in all inputs of a run, and a wrong input names itself,
 * its value and what is accepted.
 * Promise: An input that the caller leaves out has its value of the file. */
#define _GNU_SOURCE

#include "need_opencl.h"
#include "onnx_fixture.h"

/* ---- graphs ---- */

/* relu(x + b), x [batch,2]. */
static onnx_wire_t add_and_relu(void) {
    onnx_wire_t graph = {0};
    onnx_put_node(&graph, "Add", "x b", "sum", NULL);
    onnx_put_node(&graph, "Relu", "sum", "y", NULL);
    onnx_put_floats(&graph, "b", (const int64_t[]){2}, 1, (const float[]){1, -2});
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "batch,2");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, "batch,2");
    return graph;
}

/* x [n,m] as [m * 2, n / 2], by sizes that nodes compute. */
static onnx_wire_t reshape_by_arithmetic(void) {
    onnx_wire_t graph = {0}, attrs = {0};
    onnx_put_node(&graph, "Shape", "x", "shape", NULL);
    onnx_put_node(&graph, "Gather", "shape order", "turned", NULL);
    onnx_put_node(&graph, "Mul", "turned times", "times2", NULL);
    onnx_put_node(&graph, "Div", "times2 by", "sizes", NULL);
    onnx_put_node(&graph, "Reshape", "x sizes", "y", &attrs);
    onnx_put_ints(&graph, "order", (const int64_t[]){1, 0}, 2);
    onnx_put_ints(&graph, "times", (const int64_t[]){2, 1}, 2);
    onnx_put_ints(&graph, "by", (const int64_t[]){1, 2}, 2);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "n,m");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, NULL);
    return graph;
}

/* ---- values ---- */

static void expect_sums_on(const char *device, bool runs_eagerly) {
    onnx_wire_t graph = add_and_relu();
    const gantry_function_options_t function = {.struct_size = sizeof function,
                                                .runs_eagerly = runs_eagerly};
    const gantry_onnx_options_t options = {.struct_size = sizeof options, .function = &function};
    onnx_loaded_t m = onnx_begin_with(&graph, &options, device);
    for (int64_t rows = 1; rows <= 3; ++rows) {
        tensor *x = onnx_floats(m.scope, GANTRY_SHAPE(rows, 2), (const float[]){1, 1, 2, 3, -4, 5});
        tensor *y = onnx_run(&m, &x, 1);
        onnx_expect_floats(y, GANTRY_SHAPE(rows, 2), (const float[]){2, 0, 3, 1, 0, 3});
        assert_non_null(strstr(gantry_logical_device_name(gantry_tensor_device(y)), device));
    }
    onnx_end(&m);
}

TEST(a_model_computes_its_nodes_on_the_cpu) { expect_sums_on("CPU:0", false); }

TEST(a_model_computes_its_nodes_on_opencl) {
    need_opencl();
    expect_sums_on("GPU:0", false);
    expect_sums_on("GPU:0", true);
}

TEST(sizes_are_computed_in_the_trace) {
    onnx_wire_t graph = reshape_by_arithmetic();
    onnx_loaded_t m = onnx_begin(&graph);
    const float values[] = {1, 2, 3, 4, 5, 6, 7, 8};
    gantry_function_t *function = NULL;
    char text[4096];
    tensor *x = onnx_floats(m.scope, GANTRY_SHAPE(2, 3), values);
    onnx_expect_floats(onnx_run(&m, &x, 1), GANTRY_SHAPE(6, 1), values);
    x = onnx_floats(m.scope, GANTRY_SHAPE(4, 2), values);
    onnx_expect_floats(onnx_run(&m, &x, 1), GANTRY_SHAPE(4, 2), values);
    assert_int_equal(gantry_onnx_model_get_function(m.model, &function), GANTRY_OK);
    assert_int_equal(
        gantry_function_explain(function, GANTRY_EXPLAIN_TEXT, text, sizeof text, NULL), GANTRY_OK);
    assert_non_null(strstr(text, "argument"));
    assert_null(strstr(text, "Gather"));
    assert_null(strstr(text, "Mul"));
    onnx_end(&m);
}

/* y = x w^T, where nodes make w^T; the weights are the output, too. */
TEST(nodes_of_constants_are_computed_once_and_may_be_outputs) {
    onnx_wire_t graph = {0}, attrs = {0};
    onnx_put_node(&graph, "Transpose", "w", "turned", &attrs);
    onnx_put_node(&graph, "Identity", "turned", "same", NULL);
    onnx_put_node(&graph, "MatMul", "x same", "y", NULL);
    onnx_put_floats(&graph, "w", (const int64_t[]){2, 3}, 2, (const float[]){1, 2, 3, 4, 5, 6});
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "n,3");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, "n,2");
    onnx_put_value(&graph, ONNX_OUTPUT, "same", ONNX_FLOAT, "3,2");
    onnx_loaded_t m = onnx_begin(&graph);
    for (int64_t n = 1; n <= 2; ++n) {
        tensor *x = onnx_floats(m.scope, GANTRY_SHAPE(n, 3), (const float[]){1, 0, 0, 0, 1, 1});
        tensor *outputs[2] = {NULL, NULL};
        assert_int_equal(gantry_onnx_model_run(m.model, m.scope, &x, 1, outputs, 2), GANTRY_OK);
        onnx_expect_floats(outputs[0], GANTRY_SHAPE(n, 2), (const float[]){1, 4, 5, 11});
        onnx_expect_floats(outputs[1], GANTRY_SHAPE(3, 2), (const float[]){1, 4, 2, 5, 3, 6});
    }
    onnx_end(&m);
}

TEST(outputs_outlive_their_model) {
    onnx_wire_t graph = {0};
    onnx_put_node(&graph, "Identity", "x", "y", NULL);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "2");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, "2");
    onnx_loaded_t m = onnx_begin(&graph);
    tensor *x = onnx_floats(m.scope, GANTRY_SHAPE(2), (const float[]){1, 2});
    tensor *y = onnx_run(&m, &x, 1);
    gantry_onnx_model_release(m.model);
    m.model = NULL;
    onnx_expect_floats(y, GANTRY_SHAPE(2), (const float[]){1, 2});
    onnx_end(&m);
}

/* ---- inputs ---- */

TEST(an_input_with_a_value_may_be_left_out) {
    onnx_wire_t graph = {0};
    onnx_put_node(&graph, "Mul", "x scale", "y", NULL);
    onnx_put_floats(&graph, "scale", (const int64_t[]){1}, 1, (const float[]){10});
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "2");
    onnx_put_value(&graph, ONNX_INPUT, "scale", ONNX_FLOAT, "1");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, "2");
    onnx_loaded_t m = onnx_begin(&graph);
    tensor *inputs[] = {onnx_floats(m.scope, GANTRY_SHAPE(2), (const float[]){1, 2}), NULL};
    gantry_onnx_value_t value = {.struct_size = sizeof value};
    onnx_expect_floats(onnx_run(&m, inputs, 2), GANTRY_SHAPE(2), (const float[]){10, 20});
    inputs[1] = onnx_floats(m.scope, GANTRY_SHAPE(1), (const float[]){-1});
    onnx_expect_floats(onnx_run(&m, inputs, 2), GANTRY_SHAPE(2), (const float[]){-1, -2});
    assert_int_equal(gantry_onnx_model_get_input(m.model, 1, &value), GANTRY_OK);
    assert_true(value.is_optional);
    assert_string_equal(value.name, "scale");
    onnx_end(&m);
}

/* x + y, both [batch,n]. */
static onnx_wire_t two_inputs(void) {
    onnx_wire_t graph = {0};
    onnx_put_node(&graph, "Add", "x y", "z", NULL);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "batch,2");
    onnx_put_value(&graph, ONNX_INPUT, "y", ONNX_FLOAT, "batch,2");
    onnx_put_value(&graph, ONNX_OUTPUT, "z", ONNX_FLOAT, "batch,2");
    return graph;
}

TEST(a_wrong_input_names_itself_and_what_is_accepted) {
    onnx_wire_t graph = two_inputs();
    onnx_loaded_t m = onnx_begin(&graph);
    const float values[] = {1, 2, 3, 4};
    tensor *one = onnx_floats(m.scope, GANTRY_SHAPE(1, 2), values);
    tensor *two = onnx_floats(m.scope, GANTRY_SHAPE(2, 2), values);
    tensor *wide = onnx_floats(m.scope, GANTRY_SHAPE(1, 4), values);
    tensor *ints = onnx_of(m.scope, GANTRY_INT32, GANTRY_SHAPE(1, 2), values);
    const gantry_status_t invalid = GANTRY_INVALID_ARGUMENT;
    onnx_expect_failure(&m, (tensor *[]){one, two}, 2, invalid,
                        "dimension 'batch' is 1 in input 'x'", "2 in input 'y'");
    onnx_expect_failure(&m, (tensor *[]){one, wide}, 2, invalid, "input 'y' has the shape [1,4]",
                        "[batch,2] is accepted");
    onnx_expect_failure(&m, (tensor *[]){ints, one}, 2, invalid, "input 'x' has elements of int32",
                        "float32 is accepted");
    onnx_expect_failure(&m, (tensor *[]){one, NULL}, 2, invalid, "input 'y' is NULL",
                        "no value for it");
    onnx_expect_failure(&m, (tensor *[]){one}, 1, invalid, "has 2 inputs", "1 are given");
    onnx_expect_floats(onnx_run(&m, (tensor *[]){two, two}, 2), GANTRY_SHAPE(2, 2),
                       (const float[]){2, 4, 6, 8});
    onnx_end(&m);
}

TEST(sizes_of_the_options_are_those_of_named_dimensions) {
    onnx_wire_t graph = two_inputs();
    const gantry_onnx_dim_t dim = {"batch", 2};
    const gantry_onnx_options_t options = {
        .struct_size = sizeof options, .dims = &dim, .dim_count = 1};
    onnx_loaded_t m = onnx_begin_with(&graph, &options, "/CPU:0");
    gantry_onnx_value_t value = {.struct_size = sizeof value};
    const float values[] = {1, 2, 3, 4};
    assert_int_equal(gantry_onnx_model_get_input(m.model, 0, &value), GANTRY_OK);
    assert_int_equal(value.shape.dims[0], 2);
    assert_string_equal(value.dim_names[0], "batch");
    tensor *one = onnx_floats(m.scope, GANTRY_SHAPE(1, 2), values);
    onnx_expect_failure(&m, (tensor *[]){one, one}, 2, GANTRY_INVALID_ARGUMENT,
                        "input 'x' has the shape [1,2]", "[2,2] is accepted");
    onnx_end(&m);
}

/* ---- failures of nodes ---- */

TEST(a_failure_of_an_op_names_file_node_op_and_version) {
    onnx_wire_t graph = {0};
    onnx_put_node(&graph, "MatMul", "x w", "product", NULL);
    onnx_put_floats(&graph, "w", (const int64_t[]){3, 1}, 2, (const float[]){1, 2, 3});
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "n,m");
    onnx_put_value(&graph, ONNX_OUTPUT, "product", ONNX_FLOAT, NULL);
    onnx_loaded_t m = onnx_begin(&graph);
    tensor *x = onnx_floats(m.scope, GANTRY_SHAPE(1, 2), (const float[]){1, 2});
    onnx_expect_failure(&m, &x, 1, GANTRY_INVALID_ARGUMENT, "made.onnx: node 'product'",
                        "(MatMul, opset 17): ");
    onnx_end(&m);
}

static void expect_refused(onnx_wire_t *graph, gantry_status_t status, const char *text) {
    onnx_wire_t wire = onnx_model(graph, 17);
    gantry_onnx_model_t *model = NULL;
    const gantry_status_t got =
        gantry_onnx_model_load_bytes(onnx_runtime, "made.onnx", wire.data, wire.size, NULL, &model);
    if (got != status || !strstr(gantry_last_message(), text))
        fail_msg("%s: %s; wanted '%s'", gantry_status_name(got), gantry_last_message(), text);
    assert_null(model);
    free(wire.data);
}

TEST(what_the_library_lacks_is_refused_at_loading) {
    onnx_wire_t graph = {0}, attrs = {0};
    onnx_put_node(&graph, "Fft3D", "x", "y", NULL);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "2");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, "2");
    expect_refused(&graph, GANTRY_UNIMPLEMENTED,
                   "made.onnx: node 'y' (Fft3D, opset 17): this library has no op Fft3D");
    onnx_put_attr_float(&attrs, "axsi", 1);
    onnx_put_node(&graph, "Softmax", "x", "y", &attrs);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "2");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, "2");
    expect_refused(&graph, GANTRY_INVALID_ARGUMENT, "attribute 'axsi' is none of Softmax");
    onnx_put_attr_float(&attrs, "axis", 1);
    onnx_put_node(&graph, "Softmax", "x", "y", &attrs);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "2");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, "2");
    expect_refused(&graph, GANTRY_INVALID_ARGUMENT, "attribute 'axis' is a float; an integer is");
    onnx_put_node(&graph, "Add", "x", "y", NULL);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "2");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, "2");
    expect_refused(&graph, GANTRY_INVALID_ARGUMENT, "it has 1 inputs; 2 to 2 are accepted");
    onnx_put_text(&attrs, 7, "com.microsoft");
    onnx_put_attr_text(&attrs, "activation", "Cube");
    onnx_put_node(&graph, "FusedGemm", "x x", "y", &attrs);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "2,2");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, "2,2");
    expect_refused(&graph, GANTRY_UNIMPLEMENTED,
                   "made.onnx: node 'y' (com.microsoft.FusedGemm, opset 1): activation \"Cube\"");
}

int main(void) {
    (void)setenv("GANTRY_OPENCL_CPU", "gpu", 1);
    (void)setenv("POCL_DEVICES", "pthread", 1);
    return test_main_with(onnx_open, onnx_close, NULL, NULL);
}
