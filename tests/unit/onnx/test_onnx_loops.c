/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A Loop ends at its first false condition, also one whose own condition is left out, in a
 * trace and op by op.
 * Promise: A negative number of steps is none.
 * Promise: A Loop of a known number of steps whose body hands its condition on is part of the
 * trace, with outputs of one row for each step.
 * Promise: Loops in loops of so many steps that a trace of them is too large run op by op.
 * Promise: A Loop or Scan that runs op by op holds the tensors of one step, and what steps hand on
 * and set.
 * Promise: A Loop of no steps whose body does not run on what it begins with has outputs of the
 * types and shapes that the file declares. */
#define _GNU_SOURCE

#include "onnx_fixture.h"

/* y = a + 1 in each step. The body hands on the value `condition`; with `rows` it has an output of
 * the values before the steps, too. M is an input or `steps`. */
static onnx_wire_t looping(const char *inputs, const char *condition, int64_t steps, bool rows) {
    onnx_wire_t graph = {0}, body = {0}, attrs = {0};
    const bool no = false, yes = true;
    onnx_put_value(&body, ONNX_INPUT, "i", ONNX_INT64, "");
    onnx_put_value(&body, ONNX_INPUT, "c_in", ONNX_BOOL, "");
    onnx_put_value(&body, ONNX_INPUT, "a_in", ONNX_FLOAT, "2");
    onnx_put_node(&body, "Identity", condition, "c_out", NULL);
    onnx_put_node(&body, "Add", "a_in one", "a_out", NULL);
    onnx_put_value(&body, ONNX_OUTPUT, "c_out", ONNX_BOOL, "");
    onnx_put_value(&body, ONNX_OUTPUT, "a_out", ONNX_FLOAT, "2");
    if (rows) onnx_put_node(&body, "Identity", "a_in", "row", NULL);
    if (rows) onnx_put_value(&body, ONNX_OUTPUT, "row", ONNX_FLOAT, "2");
    onnx_put_attr_graph(&attrs, "body", &body);
    onnx_put_floats(&graph, "one", (const int64_t[]){1}, 1, (const float[]){1});
    onnx_put_tensor(&graph, ONNX_TENSOR, "no", ONNX_BOOL, NULL, 0, &no, 1);
    onnx_put_tensor(&graph, ONNX_TENSOR, "yes", ONNX_BOOL, NULL, 0, &yes, 1);
    onnx_put_node(&graph, "Loop", inputs, rows ? "last y" : "y", &attrs);
    onnx_put_value(&graph, ONNX_INPUT, "a", ONNX_FLOAT, "2");
    if (steps < 0) onnx_put_value(&graph, ONNX_INPUT, "M", ONNX_INT64, "");
    if (steps >= 0)
        onnx_put_tensor(&graph, ONNX_TENSOR, "M", ONNX_INT64, NULL, 0, &steps, sizeof steps);
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, NULL);
    if (rows) onnx_put_value(&graph, ONNX_OUTPUT, "last", ONNX_FLOAT, NULL);
    return graph;
}

/* ---- conditions ---- */

/* Runs three steps at most on zeros; y is `want`. */
static void expect_steps(onnx_wire_t graph, bool is_eager, size_t inputs, float want) {
    const gantry_onnx_options_t options = {
        .struct_size = sizeof options,
        .function = &(const gantry_function_options_t){
            .struct_size = sizeof(gantry_function_options_t), .runs_eagerly = is_eager}};
    onnx_loaded_t m = onnx_begin_with(&graph, &options, "/CPU:0");
    tensor *given[] = {onnx_floats(m.scope, GANTRY_SHAPE(2), (const float[]){0, 0}),
                       gantry_scalar_i64(m.scope, 3)};
    onnx_expect_floats(onnx_run(&m, given, inputs), GANTRY_SHAPE(2), (const float[]){want, want});
    onnx_end(&m);
}

TEST(a_loop_without_a_condition_ends_where_its_body_says) {
    for (int is_eager = 0; is_eager < 2; ++is_eager) {
        expect_steps(looping("M - a", "no", -1, false), is_eager, 2, 1);
        expect_steps(looping("M - a", "no", 3, false), is_eager, 1, 1);
        expect_steps(looping("- - a", "no", 3, false), is_eager, 1, 1);
        expect_steps(looping("M - a", "c_in", -1, false), is_eager, 2, 3);
        expect_steps(looping("M - a", "c_in", 3, false), is_eager, 1, 3);
        expect_steps(looping("M no a", "c_in", -1, false), is_eager, 2, 0);
    }
}

TEST(a_negative_number_of_steps_is_none) {
    for (int is_eager = 0; is_eager < 2; ++is_eager)
        for (int rows = 0; rows < 2; ++rows) {
            const gantry_onnx_options_t options = {
                .struct_size = sizeof options,
                .function = &(const gantry_function_options_t){
                    .struct_size = sizeof(gantry_function_options_t), .runs_eagerly = is_eager}};
            onnx_wire_t graph = looping("M - a", "c_in", -1, rows);
            onnx_loaded_t m = onnx_begin_with(&graph, &options, "/CPU:0");
            tensor *given[] = {onnx_floats(m.scope, GANTRY_SHAPE(2), (const float[]){5, 6}),
                               gantry_scalar_i64(m.scope, -1)};
            onnx_expect_floats(onnx_run(&m, given, 2), rows ? GANTRY_SHAPE(0, 2) : GANTRY_SHAPE(2),
                               (const float[]){5, 6});
            onnx_end(&m);
        }
}

/* ---- rows ---- */

/* The text of the model after a run of `steps` steps on zeros, whose rows are 0, 1, 2, ... */
static void expect_rows(const char *inputs, int64_t steps, char *text, size_t bytes) {
    onnx_wire_t graph = looping(inputs, "c_in", steps, true);
    float rows[80], got[80];
    for (int i = 0; i < 80; ++i) rows[i] = (float)(i / 2);
    onnx_loaded_t m = onnx_begin(&graph);
    tensor *a = onnx_floats(m.scope, GANTRY_SHAPE(2), (const float[]){0, 0});
    tensor *y = onnx_run(&m, &a, 1);
    assert_true(gantry_shape_equal(gantry_tensor_shape(y), &GANTRY_SHAPE(steps, 2)));
    assert_int_equal(gantry_tensor_read(y, got, gantry_tensor_bytes(y)), GANTRY_OK);
    assert_memory_equal(got, rows, gantry_tensor_bytes(y));
    assert_int_equal(gantry_onnx_model_explain(m.model, GANTRY_EXPLAIN_TEXT, text, bytes, NULL),
                     GANTRY_OK);
    onnx_end(&m);
}

TEST(a_loop_of_known_steps_with_rows_is_traced) {
    static const char *const inputs[] = {"M - a", "M yes a"};
    char text[65536];
    for (size_t i = 0; i < 2; ++i) {
        expect_rows(inputs[i], 3, text, sizeof text);
        assert_null(strstr(text, "op by op"));
        assert_null(strstr(text, "While"));
        expect_rows(inputs[i], 40, text, sizeof text); /* more than are unrolled */
        assert_null(strstr(text, "op by op"));
        assert_non_null(strstr(text, "While"));
    }
}

/* One row of x in each step; x may have none. declared: the row's dimensions; NULL: none. */
static onnx_loaded_t begin_rows_of_input(const char *declared, bool is_eager) {
    onnx_wire_t graph = {0}, body = {0}, attrs = {0};
    const gantry_onnx_options_t options = {
        .struct_size = sizeof options,
        .function = &(const gantry_function_options_t){
            .struct_size = sizeof(gantry_function_options_t), .runs_eagerly = is_eager}};
    onnx_put_value(&body, ONNX_INPUT, "i", ONNX_INT64, "");
    onnx_put_value(&body, ONNX_INPUT, "c_in", ONNX_BOOL, "");
    onnx_put_node(&body, "Gather", "x i", "row", NULL);
    onnx_put_value(&body, ONNX_OUTPUT, "c_in", ONNX_BOOL, "");
    onnx_put_value(&body, ONNX_OUTPUT, "row", ONNX_FLOAT, declared);
    onnx_put_attr_graph(&attrs, "body", &body);
    onnx_put_ints(&graph, "first", (const int64_t[]){0}, 1);
    onnx_put_node(&graph, "Shape", "x", "shape", NULL);
    onnx_put_node(&graph, "Gather", "shape first", "M", NULL);
    onnx_put_node(&graph, "Loop", "M -", "y", &attrs);
    onnx_put_node(&graph, "Neg", "y", "z", NULL);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "n,2");
    onnx_put_value(&graph, ONNX_OUTPUT, "z", ONNX_FLOAT, NULL);
    return onnx_begin_with(&graph, &options, "/CPU:0");
}

TEST(a_loop_of_no_steps_has_the_declared_rows) {
    for (int is_eager = 0; is_eager < 2; ++is_eager) {
        onnx_loaded_t m = begin_rows_of_input("2", is_eager);
        tensor *x = gantry_zeros(m.scope, GANTRY_FLOAT32, GANTRY_SHAPE(0, 2));
        onnx_expect_floats(onnx_run(&m, &x, 1), GANTRY_SHAPE(0, 2), NULL);
        x = onnx_floats(m.scope, GANTRY_SHAPE(1, 2), (const float[]){-3, 4});
        onnx_expect_floats(onnx_run(&m, &x, 1), GANTRY_SHAPE(1, 2), (const float[]){3, -4});
        onnx_end(&m);
        m = begin_rows_of_input("?", is_eager);
        x = gantry_zeros(m.scope, GANTRY_FLOAT32, GANTRY_SHAPE(0, 2));
        onnx_expect_floats(onnx_run(&m, &x, 1), GANTRY_SHAPE(0, 0), NULL);
        onnx_end(&m);
    }
    onnx_loaded_t m = begin_rows_of_input(NULL, false);
    tensor *x = gantry_zeros(m.scope, GANTRY_FLOAT32, GANTRY_SHAPE(0, 2));
    onnx_expect_failure(&m, &x, 1, GANTRY_INVALID_ARGUMENT, "Gather", "index 0");
    onnx_end(&m);
}

/* ---- loops in loops ---- */

/* v + 1 in each of 16 steps, of loops in `depth` loops. */
static void put_nested(onnx_wire_t *graph, int depth, const char *from, const char *to) {
    static const char *const names[] = {"v0", "w0", "v1", "w1", "v2", "w2", "v3", "w3"};
    onnx_wire_t body = {0}, attrs = {0};
    char inputs[64], name[16];
    if (depth < 0) {
        (void)snprintf(inputs, sizeof inputs, "%s one", from);
        onnx_put_node(graph, "Add", inputs, to, NULL);
        return;
    }
    (void)snprintf(name, sizeof name, "i%d", depth);
    onnx_put_value(&body, ONNX_INPUT, name, ONNX_INT64, "");
    (void)snprintf(name, sizeof name, "c%d", depth);
    onnx_put_value(&body, ONNX_INPUT, name, ONNX_BOOL, "");
    onnx_put_value(&body, ONNX_INPUT, names[2 * depth], ONNX_FLOAT, "1");
    put_nested(&body, depth - 1, names[2 * depth], names[2 * depth + 1]);
    onnx_put_value(&body, ONNX_OUTPUT, name, ONNX_BOOL, "");
    onnx_put_value(&body, ONNX_OUTPUT, names[2 * depth + 1], ONNX_FLOAT, "1");
    onnx_put_attr_graph(&attrs, "body", &body);
    (void)snprintf(inputs, sizeof inputs, "M - %s", from);
    onnx_put_node(graph, "Loop", inputs, to, &attrs);
}

TEST(loops_in_loops_do_not_fill_a_trace) {
    onnx_wire_t graph = {0};
    const int64_t steps = 16;
    char text[65536];
    onnx_put_tensor(&graph, ONNX_TENSOR, "M", ONNX_INT64, NULL, 0, &steps, sizeof steps);
    onnx_put_floats(&graph, "one", (const int64_t[]){1}, 1, (const float[]){1});
    put_nested(&graph, 3, "x", "y");
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "1");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, NULL);
    onnx_loaded_t m = onnx_begin(&graph);
    tensor *x = onnx_floats(m.scope, GANTRY_SHAPE(1), (const float[]){0});
    onnx_expect_floats(onnx_run(&m, &x, 1), GANTRY_SHAPE(1), (const float[]){65536});
    assert_int_equal(
        gantry_onnx_model_explain(m.model, GANTRY_EXPLAIN_TEXT, text, sizeof text, NULL),
        GANTRY_OK);
    assert_non_null(strstr(text, "op by op"));
    onnx_end(&m);
}

/* ---- op by op ---- */

#define WIDE 4096
#define WIDE_BYTES (WIDE * sizeof(float))
#define WIDE_STEPS 64

/* y = x + 64 in steps of five nodes, of which the condition ends the last one; rows has an element
 * of each step. */
static onnx_wire_t wide_loop(void) {
    onnx_wire_t graph = {0}, body = {0}, attrs = {0};
    const int64_t last = WIDE_STEPS - 1;
    onnx_put_value(&body, ONNX_INPUT, "i", ONNX_INT64, "");
    onnx_put_value(&body, ONNX_INPUT, "c_in", ONNX_BOOL, "");
    onnx_put_value(&body, ONNX_INPUT, "a_in", ONNX_FLOAT, "4096");
    onnx_put_node(&body, "Neg", "a_in", "b", NULL);
    onnx_put_node(&body, "Sub", "b one", "d", NULL);
    onnx_put_node(&body, "Neg", "d", "a_out", NULL);
    onnx_put_node(&body, "Less", "i end", "c_out", NULL);
    onnx_put_node(&body, "Gather", "a_in first", "row", NULL);
    onnx_put_value(&body, ONNX_OUTPUT, "c_out", ONNX_BOOL, "");
    onnx_put_value(&body, ONNX_OUTPUT, "a_out", ONNX_FLOAT, "4096");
    onnx_put_value(&body, ONNX_OUTPUT, "row", ONNX_FLOAT, "1");
    onnx_put_attr_graph(&attrs, "body", &body);
    onnx_put_floats(&graph, "one", (const int64_t[]){1}, 1, (const float[]){1});
    onnx_put_ints(&graph, "first", (const int64_t[]){0}, 1);
    onnx_put_tensor(&graph, ONNX_TENSOR, "end", ONNX_INT64, NULL, 0, &last, sizeof last);
    onnx_put_node(&graph, "Loop", "- - x", "y rows", &attrs);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "4096");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, NULL);
    onnx_put_value(&graph, ONNX_OUTPUT, "rows", ONNX_FLOAT, NULL);
    return graph;
}

static gantry_memory_info_t memory_of_cpu(void) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    assert_int_equal(gantry_get_memory_info(onnx_runtime, "/CPU:0", &info), GANTRY_OK);
    return info;
}

TEST(a_loop_op_by_op_holds_one_step) {
    const gantry_onnx_options_t options = {
        .struct_size = sizeof options,
        .function = &(const gantry_function_options_t){
            .struct_size = sizeof(gantry_function_options_t), .runs_eagerly = true}};
    onnx_wire_t graph = wide_loop();
    onnx_loaded_t m = onnx_begin_with(&graph, &options, "/CPU:0");
    tensor *x = gantry_zeros(m.scope, GANTRY_FLOAT32, GANTRY_SHAPE(WIDE)), *y[2];
    float got[WIDE];
    assert_int_equal(gantry_reset_memory_stats(onnx_runtime, "/CPU:0"), GANTRY_OK);
    const uint64_t before = memory_of_cpu().current_bytes;
    if (gantry_onnx_model_run(m.model, m.scope, &x, 1, y, 2) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(m.scope));
    const gantry_memory_info_t after = memory_of_cpu();
    /* the value before the step, the body's three, and small ones */
    assert_in_range(after.peak_bytes - before, 3 * WIDE_BYTES, 6 * WIDE_BYTES);
    assert_true(after.current_bytes - before < 2 * WIDE_BYTES);
    assert_int_equal(gantry_tensor_read(y[0], got, sizeof got), GANTRY_OK);
    for (int i = 0; i < WIDE; ++i) assert_true(got[i] == WIDE_STEPS);
    assert_true(gantry_shape_equal(gantry_tensor_shape(y[1]), &GANTRY_SHAPE(WIDE_STEPS, 1)));
    assert_int_equal(gantry_tensor_read(y[1], got, WIDE_STEPS * sizeof *got), GANTRY_OK);
    for (int i = 0; i < WIDE_STEPS; ++i) assert_true(got[i] == (float)i);
    onnx_end(&m);
}

int main(void) { return test_main_with(onnx_open, onnx_close, NULL, NULL); }
