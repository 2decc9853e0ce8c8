/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Products of what DequantizeLinear made of bytes run as products of integers, and the
 * weights stay bytes.
 * Promise: An If whose condition depends on elements is one node with two branches, of which a run
 * takes one; where one branch does not fit the inputs, the condition's value decides.
 * Promise: An LSTM of one step is two products and one fused pass, and one of many steps a loop.
 * Promise: A function of the model is called by its name, also where an op has this name.
 * Promise: Nodes of a function may have one graph, which the function's caller gives; it runs also
 * where nobody needs the first of them.
 * Promise: NonZero of a scalar that is not 0 is its one index, and of 0 nothing.
 * Promise: Causal attention of a first prompt takes at most 2.2 times the memory for twice the
 * length, with lengths of the batch's elements and a mask of keys, from 1,024 steps on.
 * Promise: An output that a lowering does not compute is refused where another node reads it. */
#define _GNU_SOURCE

#include "onnx_fixture.h"

/* The explanation of the newest trace. */
static void explain_trace(const onnx_loaded_t *m, char *text, size_t bytes) {
    gantry_function_t *function = NULL;
    assert_int_equal(gantry_onnx_model_get_function(m->model, &function), GANTRY_OK);
    assert_int_equal(gantry_function_explain(function, GANTRY_EXPLAIN_TEXT, text, bytes, NULL),
                     GANTRY_OK);
}

/* How often a text is in another one. */
static size_t count_text(const char *text, const char *part) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) ++count;
    return count;
}

/* ---- quantised ---- */

TEST(products_of_dequantised_bytes_are_products_of_integers) {
    static const int8_t weights[] = {1, -2, 3, 4, 5, -6};
    const float scale = 0.5f, small = 0.25f;
    const uint8_t zero = 128;
    onnx_wire_t graph = {0};
    onnx_put_tensor(&graph, ONNX_TENSOR, "xs", ONNX_FLOAT, NULL, 0, &scale, sizeof scale);
    onnx_put_tensor(&graph, ONNX_TENSOR, "xz", ONNX_UINT8, NULL, 0, &zero, 1);
    onnx_put_tensor(&graph, ONNX_TENSOR, "ws", ONNX_FLOAT, NULL, 0, &small, sizeof small);
    onnx_put_tensor(&graph, ONNX_TENSOR, "w", 3, (const int64_t[]){3, 2}, 2, weights, 6);
    onnx_put_node(&graph, "QuantizeLinear", "x xs xz", "xq", NULL);
    onnx_put_node(&graph, "DequantizeLinear", "xq xs xz", "xd", NULL);
    onnx_put_node(&graph, "DequantizeLinear", "w ws", "wd", NULL);
    onnx_put_node(&graph, "MatMul", "xd wd", "y", NULL);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "n,3");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, "n,2");
    onnx_loaded_t m = onnx_begin(&graph);
    char text[8192];
    for (int64_t n = 1; n <= 2; ++n) {
        tensor *x = onnx_floats(m.scope, GANTRY_SHAPE(n, 3), (const float[]){1, 2, -1, 0, 1, 1.2f});
        onnx_expect_floats(onnx_run(&m, &x, 1), GANTRY_SHAPE(n, 2),
                           (const float[]){0.5f, 3, 2, -0.5f});
    }
    explain_trace(&m, text, sizeof text);
    assert_non_null(strstr(text, "MatMulInteger"));
    assert_null(strstr(text, "float32[3,2]"));
    onnx_end(&m);
}

/* ---- If ---- */

/* A branch of one node. */
static void put_branch(onnx_wire_t *attrs, const char *name, const char *op, const char *inputs) {
    onnx_wire_t branch = {0};
    onnx_put_node(&branch, op, inputs, name, NULL);
    onnx_put_value(&branch, ONNX_OUTPUT, name, ONNX_FLOAT, NULL);
    onnx_put_attr_graph(attrs, name, &branch);
}

/* If of the sign of the first element of x, or of an input. */
static onnx_wire_t branching(const char *op, const char *inputs, bool is_computed) {
    onnx_wire_t graph = {0}, attrs = {0};
    onnx_put_floats(&graph, "zero", (const int64_t[]){1}, 1, (const float[]){0});
    onnx_put_floats(&graph, "wide", (const int64_t[]){3}, 1, (const float[]){1, 1, 1});
    onnx_put_ints(&graph, "first", (const int64_t[]){0}, 1);
    if (is_computed) {
        onnx_put_node(&graph, "Gather", "x first", "head", NULL);
        onnx_put_node(&graph, "Greater", "head zero", "cond", NULL);
    } else {
        onnx_put_value(&graph, ONNX_INPUT, "cond", ONNX_BOOL, "1");
    }
    put_branch(&attrs, "then_branch", "Neg", "x");
    put_branch(&attrs, "else_branch", op, inputs);
    onnx_put_node(&graph, "If", "cond", "y", &attrs);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "2");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, NULL);
    return graph;
}

TEST(a_condition_of_elements_chooses_a_branch_in_each_run) {
    onnx_wire_t graph = branching("Add", "x x", true);
    onnx_loaded_t m = onnx_begin(&graph);
    tensor *x = onnx_floats(m.scope, GANTRY_SHAPE(2), (const float[]){1, 2});
    onnx_expect_floats(onnx_run(&m, &x, 1), GANTRY_SHAPE(2), (const float[]){-1, -2});
    x = onnx_floats(m.scope, GANTRY_SHAPE(2), (const float[]){-1, 2});
    onnx_expect_floats(onnx_run(&m, &x, 1), GANTRY_SHAPE(2), (const float[]){-2, 4});
    char text[8192];
    explain_trace(&m, text, sizeof text);
    assert_non_null(strstr(text, "If"));
    onnx_end(&m);
}

TEST(a_branch_that_does_not_fit_is_left_out_by_the_value_of_the_condition) {
    onnx_wire_t graph = branching("Add", "x wide", false);
    onnx_loaded_t m = onnx_begin(&graph);
    const bool yes = true, no = false;
    tensor *inputs[2] = {onnx_of(m.scope, GANTRY_BOOL, GANTRY_SHAPE(1), &yes),
                         onnx_floats(m.scope, GANTRY_SHAPE(2), (const float[]){1, 2})};
    onnx_expect_floats(onnx_run(&m, inputs, 2), GANTRY_SHAPE(2), (const float[]){-1, -2});
    inputs[0] = onnx_of(m.scope, GANTRY_BOOL, GANTRY_SHAPE(1), &no);
    onnx_expect_failure(&m, inputs, 2, GANTRY_INVALID_ARGUMENT, "else_branch", "Add");
    onnx_end(&m);
}

/* ---- LSTM ---- */

/* The text of a trace of an LSTM of so many steps, of 1 unit. */
static void trace_lstm(int64_t steps, char *text, size_t bytes) {
    onnx_wire_t graph = {0}, attrs = {0};
    const float w[4] = {1, 1, 1, 1}, x[64] = {0};
    onnx_put_floats(&graph, "w", (const int64_t[]){1, 4, 1}, 3, w);
    onnx_put_attr_int(&attrs, "hidden_size", 1);
    onnx_put_node(&graph, "LSTM", "x w w - - h c", "y y_h y_c", &attrs);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "t,1,1");
    onnx_put_value(&graph, ONNX_INPUT, "h", ONNX_FLOAT, "1,1,1");
    onnx_put_value(&graph, ONNX_INPUT, "c", ONNX_FLOAT, "1,1,1");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, NULL);
    onnx_put_value(&graph, ONNX_OUTPUT, "y_h", ONNX_FLOAT, NULL);
    onnx_put_value(&graph, ONNX_OUTPUT, "y_c", ONNX_FLOAT, NULL);
    onnx_loaded_t m = onnx_begin(&graph);
    tensor *outputs[3] = {NULL};
    tensor *inputs[3] = {onnx_floats(m.scope, GANTRY_SHAPE(steps, 1, 1), x),
                         onnx_floats(m.scope, GANTRY_SHAPE(1, 1, 1), x),
                         onnx_floats(m.scope, GANTRY_SHAPE(1, 1, 1), x)};
    assert_int_equal(gantry_onnx_model_run(m.model, m.scope, inputs, 3, outputs, 3), GANTRY_OK);
    explain_trace(&m, text, bytes);
    onnx_end(&m);
}

TEST(an_lstm_of_one_step_is_two_products_and_a_fused_pass) {
    char text[16384];
    trace_lstm(1, text, sizeof text);
    assert_null(strstr(text, "While"));
    assert_int_equal(count_text(text, " MatMul ") + count_text(text, " _FusedMatMul "), 2);
    assert_int_equal(count_text(text, "_FusedElementwise"), 1);
}

TEST(an_lstm_of_many_steps_is_a_loop) {
    char text[16384];
    trace_lstm(60, text, sizeof text);
    assert_non_null(strstr(text, "While"));
}

/* ---- NonZero ---- */

TEST(non_zero_of_a_scalar_is_one_index_or_none) {
    onnx_wire_t graph = {0};
    onnx_put_node(&graph, "NonZero", "x", "y", NULL);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_INT64, NULL);
    onnx_loaded_t m = onnx_begin(&graph);
    for (int64_t count = 0; count < 2; ++count) {
        int64_t index = 7;
        tensor *x = onnx_floats(m.scope, GANTRY_SCALAR, &(float){(float)count});
        tensor *y = onnx_run(&m, &x, 1);
        const gantry_shape_t *shape = gantry_tensor_shape(y);
        assert_true(shape->rank == 2 && shape->dims[0] == 1 && shape->dims[1] == count);
        assert_int_equal(gantry_tensor_read(y, &index, gantry_tensor_bytes(y)), GANTRY_OK);
        assert_int_equal(index, count ? 0 : 7);
    }
    onnx_end(&m);
}

/* ---- functions of the model ---- */

/* y = NAME(x), which a function of the model says is Neg. */
static onnx_wire_t calling(const char *name, const char *domain) {
    onnx_wire_t graph = {0}, node = {0}, function = {0}, import = {0};
    onnx_put_text(&node, 1, "x");
    onnx_put_text(&node, 2, "y");
    onnx_put_text(&node, 4, name);
    onnx_put_text(&node, 7, domain);
    onnx_put_message(&graph, ONNX_NODE, &node);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "2");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, "2");
    onnx_wire_t model = onnx_model(&graph, 17);
    onnx_put_text(&function, 1, name);
    onnx_put_text(&function, 4, "a");
    onnx_put_text(&function, 5, "b");
    onnx_put_text(&node, 1, "a");
    onnx_put_text(&node, 2, "b");
    onnx_put_text(&node, 4, "Neg");
    onnx_put_message(&function, 7, &node);
    onnx_put_int(&import, 2, 17);
    onnx_put_message(&function, 9, &import);
    onnx_put_text(&function, 10, domain);
    onnx_put_message(&model, 25, &function);
    return model;
}

TEST(a_function_of_the_model_takes_the_place_of_an_op) {
    static const char *const domains[] = {"com.microsoft", ""};
    for (size_t i = 0; i < 2; ++i) {
        onnx_loaded_t m = {.wire = calling(i == 0 ? "Gelu" : "Relu", domains[i])};
        assert_int_equal(gantry_onnx_model_load_bytes(onnx_runtime, "made.onnx", m.wire.data,
                                                      m.wire.size, NULL, &m.model),
                         GANTRY_OK);
        m.scope = gantry_scope_begin(onnx_runtime, "/CPU:0");
        tensor *x = onnx_floats(m.scope, GANTRY_SHAPE(2), (const float[]){-1, 2});
        onnx_expect_floats(onnx_run(&m, &x, 1), GANTRY_SHAPE(2), (const float[]){1, -2});
        onnx_end(&m);
    }
}

/* An If of the condition c, whose branches are the function's attribute "branch". */
static void put_if_of_branch(onnx_wire_t *function, const char *output) {
    static const char *const names[] = {"then_branch", "else_branch"};
    onnx_wire_t node = {0}, attr = {0};
    onnx_put_text(&node, 1, "c");
    onnx_put_text(&node, 2, output);
    onnx_put_text(&node, 4, "If");
    for (int i = 0; i < 2; ++i) {
        onnx_attr_begin(&attr, names[i], 5);
        onnx_put_text(&attr, 21, "branch");
        onnx_put_message(&node, 5, &attr);
    }
    onnx_put_message(function, 7, &node);
}

/* Nobody needs the first node that has the graph. */
TEST(nodes_of_a_function_share_a_graph) {
    onnx_wire_t graph = {0}, branch = {0}, attrs = {0}, node = {0}, function = {0}, import = {0};
    onnx_put_node(&branch, "Neg", "x", "r", NULL);
    onnx_put_value(&branch, ONNX_OUTPUT, "r", ONNX_FLOAT, "2");
    onnx_put_attr_graph(&attrs, "branch", &branch);
    onnx_put_text(&node, 1, "condition");
    onnx_put_text(&node, 2, "y");
    onnx_put_text(&node, 4, "Choose");
    onnx_put_text(&node, 7, "own");
    onnx_put_raw(&node, attrs.data, attrs.size);
    free(attrs.data);
    onnx_put_message(&graph, ONNX_NODE, &node);
    onnx_put_value(&graph, ONNX_INPUT, "condition", ONNX_BOOL, "");
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "2");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, "2");
    onnx_loaded_t m = {.wire = onnx_model(&graph, 17)};
    onnx_put_text(&function, 1, "Choose");
    onnx_put_text(&function, 4, "c");
    onnx_put_text(&function, 5, "b");
    onnx_put_text(&function, 6, "branch");
    put_if_of_branch(&function, "unused");
    put_if_of_branch(&function, "b");
    onnx_put_int(&import, 2, 17);
    onnx_put_message(&function, 9, &import);
    onnx_put_text(&function, 10, "own");
    onnx_put_message(&m.wire, 25, &function);
    onnx_put_text(&import, 1, "own");
    onnx_put_int(&import, 2, 1);
    onnx_put_message(&m.wire, 8, &import);
    if (gantry_onnx_model_load_bytes(onnx_runtime, "choose.onnx", m.wire.data, m.wire.size, NULL,
                                     &m.model) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    m.scope = gantry_scope_begin(onnx_runtime, "/CPU:0");
    for (uint8_t condition = 0; condition < 2; ++condition) {
        tensor *const inputs[2] = {onnx_of(m.scope, GANTRY_BOOL, GANTRY_SCALAR, &condition),
                                   onnx_floats(m.scope, GANTRY_SHAPE(2), (const float[]){1, -2})};
        onnx_expect_floats(onnx_run(&m, inputs, 2), GANTRY_SHAPE(2), (const float[]){-1, 2});
    }
    onnx_end(&m);
}

/* ---- outputs that are not computed ---- */

/* y = x - mean, of which com.microsoft's op has the name only. A constant one must not be computed
 * again and again. */
static void expect_no_mean(bool is_constant) {
    onnx_wire_t graph = {0}, attrs = {0};
    const float ones[] = {1, 1, 1, 1};
    onnx_put_text(&attrs, 7, "com.microsoft"); /* the node's domain */
    onnx_put_node(&graph, "SkipSimplifiedLayerNormalization", is_constant ? "c c s" : "x c s",
                  "normal mean", &attrs);
    onnx_put_node(&graph, "Neg", "mean", "less", NULL);
    onnx_put_node(&graph, "Add", "x less", "y", NULL);
    onnx_put_floats(&graph, "c", (const int64_t[]){1, 4}, 2, ones);
    onnx_put_floats(&graph, "s", (const int64_t[]){4}, 1, ones);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "1,4");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, NULL);
    onnx_loaded_t m = onnx_begin(&graph);
    tensor *x = onnx_floats(m.scope, GANTRY_SHAPE(1, 4), ones);
    onnx_expect_failure(&m, &x, 1, GANTRY_UNIMPLEMENTED, "node 'normal'", "output 1 is used");
    onnx_end(&m);
}

TEST(an_output_that_is_not_computed_is_refused_where_it_is_used) {
    expect_no_mean(false);
    expect_no_mean(true);
}

/* ---- attention ---- */

enum { TOKENS_MOST = 2048, PROMPTS = 2, WIDTH = 8 };

/* A causal node for PROMPTS prompts of `count` tokens, which takes their lengths, or a mask. */
static onnx_wire_t attending(bool is_grouped, int64_t count) {
    const int32_t total = (int32_t)count;
    onnx_wire_t graph = {0}, attrs = {0};
    onnx_put_text(&attrs, 7, "com.microsoft");
    onnx_put_attr_int(&attrs, "num_heads", 2);
    onnx_put_attr_int(&attrs, is_grouped ? "kv_num_heads" : "unidirectional", 1);
    onnx_put_tensor(&graph, ONNX_TENSOR, "total", ONNX_INT32, NULL, 0, &total, sizeof total);
    onnx_put_node(&graph, is_grouped ? "GroupQueryAttention" : "MultiHeadAttention",
                  is_grouped ? "q k k   last total" : "q q q  last", "y", &attrs);
    onnx_put_value(&graph, ONNX_INPUT, "q", ONNX_FLOAT, "b,n,8");
    onnx_put_value(&graph, ONNX_INPUT, "k", ONNX_FLOAT, "b,n,4");
    onnx_put_value(&graph, ONNX_INPUT, "last", ONNX_INT32, "b");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, "b,n,8");
    return graph;
}

/* The most bytes that a run holds. */
static uint64_t peak_of_prompts(bool is_grouped, int64_t count) {
    static const float zeros[PROMPTS * TOKENS_MOST * WIDTH];
    const int32_t last[PROMPTS] = {(int32_t)count - 1, (int32_t)count / 2};
    gantry_memory_info_t info = {.struct_size = sizeof info};
    onnx_wire_t graph = attending(is_grouped, count);
    onnx_loaded_t m = onnx_begin(&graph);
    tensor *inputs[] = {onnx_floats(m.scope, GANTRY_SHAPE(PROMPTS, count, WIDTH), zeros),
                        onnx_floats(m.scope, GANTRY_SHAPE(PROMPTS, count, WIDTH / 2), zeros),
                        onnx_of(m.scope, GANTRY_INT32, GANTRY_SHAPE(PROMPTS), last)};
    assert_int_equal(gantry_reset_memory_stats(onnx_runtime, "CPU:0"), GANTRY_OK);
    assert_int_equal(gantry_tensor_wait(onnx_run(&m, inputs, 3)), GANTRY_OK);
    assert_int_equal(gantry_get_memory_info(onnx_runtime, "CPU:0", &info), GANTRY_OK);
    onnx_end(&m);
    return info.peak_bytes;
}

TEST(causal_prompts_take_memory_of_their_length) {
    for (int is_grouped = 0; is_grouped < 2; ++is_grouped) {
        const uint64_t one = peak_of_prompts(is_grouped, TOKENS_MOST / 2),
                       two = peak_of_prompts(is_grouped, TOKENS_MOST);
        if (two * 10 > one * 22)
            fail_msg("%d: %llu bytes, and %llu for twice the length", is_grouped,
                     (unsigned long long)one, (unsigned long long)two);
    }
}

int main(void) { return test_main_with(onnx_open, onnx_close, NULL, NULL); }
