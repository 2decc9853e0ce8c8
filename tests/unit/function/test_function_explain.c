/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The explanation of a function names each node's device with the reason, each copy with
 * its bytes and each device's memory: as text, as JSON that parses, and as a drawing that dot
 * accepts.
 * Promise: In the explanation of a function, names of nodes are unique without regard to case, as
 * in TensorFlow.
 * Promise: Line breaks in a name break no line of the explanation of a function.
 * Promise: The explanation of a function gives the lifetime and the offset of each value before the
 * first call, and a query gives the memory of a call. */
#define _XOPEN_SOURCE 700

#include "json_reader.h"
#include "runtime_fixture.h"
#include "planned.h"
#include "test.h"

#define SPEC_F32(name, ...) \
    (gantry_input_spec_t) { name, GANTRY_FLOAT32, GANTRY_SHAPE(__VA_ARGS__) }

/* Constants on one device, a product on another, an order without a value, a variable, and a node
 * that nothing uses. */
static void crossing(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    gantry_variable_t *variable = user;
    gantry_scope_t *cpu = gantry_scope_begin_in(scope, "/CPU:0");
    (void)gantry_scope_name_next(cpu, "doubled");
    const gantry_tensor_t *doubled = gantry_scope_keep(cpu, gantry_add(cpu, inputs[0], inputs[0]));
    (void)gantry_scope_end(cpu);
    const gantry_tensor_t *value = gantry_variable_read(scope, variable);
    (void)gantry_scope_name_next(scope, "product");
    outputs[0] = gantry_mul(scope, doubled, value);
    (void)gantry_scope_name_next(scope, "dead");
    (void)gantry_exp(scope, inputs[0]);
    gantry_scope_t *after = gantry_scope_begin_after(scope, outputs, 1);
    (void)gantry_scope_name_next(after, "root");
    outputs[1] = gantry_scope_keep(after, gantry_sqrt(after, doubled));
    (void)gantry_variable_assign_add(after, variable, outputs[0]);
    (void)gantry_scope_end(after);
}

typedef struct world_t {
    runtime_fixture_t f;
    gantry_scope_t *scope;
    gantry_variable_t *variable;
    gantry_function_t *function;
} world_t;

/* All nodes as the body calls them: passes drop, join and fuse some. */
static const gantry_function_options_t as_written = {.struct_size = sizeof as_written,
                                                     .passes_off = GANTRY_PASS_ALL};

static void open_world(world_t *w) {
    const gantry_input_spec_t input = SPEC_F32("x", 40);
    runtime_fixture_open(&w->f, 1);
    w->scope = runtime_fixture_scope(&w->f, "GPU:0");
    w->variable = gantry_variable_create(
        w->scope, gantry_ones(w->scope, GANTRY_FLOAT32, GANTRY_SHAPE(40)), "a");
    if (gantry_function_trace(w->f.runtime, "f \"1\"", crossing, w->variable, &input, 1, 2, NULL,
                              &w->function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
}

static void close_world(world_t *w) {
    gantry_function_release(w->function);
    gantry_variable_release(w->variable);
    expect_ended_well(w->scope);
    runtime_fixture_close(&w->f);
}

/* The explanation; the caller frees it. */
static char *explain(gantry_function_t *function, gantry_explain_form_t form) {
    size_t needed = 0;
    assert_int_equal(gantry_function_explain(function, form, NULL, 0, &needed), GANTRY_OK);
    char *text = malloc(needed + 1);
    assert_non_null(text);
    assert_int_equal(gantry_function_explain(function, form, text, needed + 1, NULL), GANTRY_OK);
    assert_int_equal(strlen(text), needed);
    return text;
}

TEST(text_has_nodes_copies_and_memory) {
    world_t w;
    open_world(&w);
    char *text = explain(w.function, GANTRY_EXPLAIN_TEXT);
    assert_string_equal(
        text,
        "function f \"1\": 6 nodes on 2 devices; 160 bytes copied between devices in each call\n"
        "node     op                   type         device  reason\n"
        "x        argument             float32[40]  CPU:0   where it is used\n"
        "doubled  Add                  float32[40]  CPU:0   the requested device\n"
        "a/read   ReadVariableOp       float32[40]  GPU:0   where its variable lives\n"
        "product  Mul                  float32[40]  GPU:0   a GPU has a kernel\n"
        "root     Sqrt                 float32[40]  CPU:0   no GPU has a kernel for this\n"
        "    not GPU:0: no kernel for the op\n"
        "    after product\n"
        "a/Add    AssignAddVariableOp  float32[40]  GPU:0   where its variable lives\n"
        "    after a/read, product\n"
        "\n"
        "left out, since no result or assignment needs them: dead\n"
        "\n"
        "copies\n"
        "doubled from CPU:0 to GPU:0: 160 bytes\n"
        "\n"
        "bytes          planned     unplanned     constants       results\n"
        "CPU:0                0             0             0           320\n"
        "GPU:0                0             0             0           480\n");
    free(text);
    close_world(&w);
}

TEST(json_parses_and_has_the_same) {
    static const char *const expected[][2] = {
        {"function", "\"f \\\"1\\\"\""},
        {"copied_bytes", "160"},
        {"nodes.0.kind", "\"input\""},
        {"nodes.1.name", "\"doubled\""},
        {"nodes.1.asked", "\"/job:localhost/replica:0/task:0/device:CPU:0\""},
        {"nodes.1.reason", "\"the requested device\""},
        {"nodes.1.kernel", "\"cpu\""},
        {"nodes.2.kind", "\"read\""},
        {"nodes.3.inputs.1", "\"a/read\""},
        {"nodes.3.outputs.0.shape.0", "40"},
        {"nodes.3.outputs.0.bytes", "160"},
        {"nodes.4.used", "true"},
        {"nodes.4.after.0", "\"product\""},
        {"nodes.4.refused.0.device", "\"/job:localhost/replica:0/task:0/device:GPU:0\""},
        {"nodes.4.refused.0.why", "\"no kernel for the op\""},
        {"nodes.5.kind", "\"assign\""},
        {"left_out.0", "\"dead\""},
        {"results.1", "\"root\""},
        {"copies.0.value", "\"doubled\""},
        {"copies.0.from", "\"/job:localhost/replica:0/task:0/device:CPU:0\""},
        {"copies.0.to", "\"/job:localhost/replica:0/task:0/device:GPU:0\""},
        {"copies.0.bytes", "160"},
        {"copies.0.once", "false"},
        {"memory.1.device", "\"/job:localhost/replica:0/task:0/device:GPU:0\""},
        {"memory.1.result_bytes", "480"}};
    world_t w;
    open_world(&w);
    char *text = explain(w.function, GANTRY_EXPLAIN_JSON);
    assert_true(json_is_valid(text));
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; ++i) {
        if (!json_has(text, expected[i][0], expected[i][1]))
            fail_msg("%s is not %s in %s", expected[i][0], expected[i][1], text);
    }
    assert_int_equal(json_count(text, "nodes"), 6);
    assert_int_equal(json_count(text, "copies"), 1);
    assert_int_equal(json_count(text, "memory"), 2);
    free(text);
    close_world(&w);
}

TEST(drawing_has_colours_and_bold_copies) {
    static const char *const lines[] = {
        "digraph \"f \\\"1\\\"\" {\n",
        "label=\"CPU:0\\n0 bytes planned\"",
        "n1 [shape=box, style=\"filled,rounded\", fillcolor=\"#cfe3f7\", label=\"doubled\\nAdd",
        "n3 [shape=box, style=\"filled,rounded\", fillcolor=\"#fbdcb5\", label=\"product\\nMul",
        "n1 -> c0 [style=bold, penwidth=3, color=\"#b3261e\", arrowhead=none, label=\" 160 bytes to GPU:0\"];",
        "c0 -> n3 ",
        "n3 -> n4 [style=dotted];",
        "n4 -> r1;\n}\n"};
    world_t w;
    open_world(&w);
    char *text = explain(w.function, GANTRY_EXPLAIN_GRAPHVIZ);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; ++i) {
        if (!strstr(text, lines[i])) fail_msg("no \"%s\" in %s", lines[i], text);
    }
    assert_null(strstr(text, "dead"));
    free(text);
    close_world(&w);
}

/* dot draws it, and the drawing holds the label; nothing where there is no dot. */
static bool expect_dot_accepts(const char *text, const char *label) {
    char command[160];
    if (system("dot -V >/dev/null 2>&1") != 0) return false;
    (void)snprintf(command, sizeof command, "dot -Tsvg | grep '%s' >/dev/null", label);
    FILE *dot = popen(command, "w");
    assert_non_null(dot);
    assert_int_equal(fwrite(text, 1, strlen(text), dot), strlen(text));
    assert_int_equal(pclose(dot), 0);
    return true;
}

TEST(drawing_is_accepted_by_dot) {
    world_t w;
    open_world(&w);
    char *text = explain(w.function, GANTRY_EXPLAIN_GRAPHVIZ);
    const bool has_dot = expect_dot_accepts(text, "160 bytes to GPU:0");
    free(text);
    close_world(&w);
    if (has_dot) return;
    print_message("skipped: there is no dot (Debian: graphviz)\n");
    skip();
}

/* ---- constants, host inputs, parts of composed ops, planned memory ---- */

static void composed(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *captured = user;
    const gantry_tensor_t *product = gantry_mul(scope, inputs[0], captured);
    (void)gantry_scope_name_next(scope, "total");
    outputs[0] = gantry_log_sum_exp(scope, product, NULL);
}

TEST(memory_is_told_before_a_call) {
    const gantry_input_spec_t input = SPEC_F32(NULL, 40);
    gantry_function_memory_t memory[4] = {{.struct_size = sizeof memory[0]}};
    gantry_function_t *function;
    size_t count;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *captured = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(40));
    gantry_scope_t *gpu = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *there = gantry_identity(gpu, captured);
    if (gantry_function_trace(f.runtime, "g", composed, (void *)(uintptr_t)there, &input, 1, 1,
                              &as_written, &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_int_equal(gantry_function_get_memory(function, 0, NULL, &count), GANTRY_OK);
    assert_int_equal(count, 2);
    assert_int_equal(gantry_function_get_memory(function, 4, memory, &count), GANTRY_OK);
    assert_string_equal(memory[0].device, "/job:localhost/replica:0/task:0/device:CPU:0");
    assert_int_equal(memory[0].planned_bytes, 64); /* of two values of 4 bytes, never at a time */
    assert_int_equal(memory[0].unplanned_bytes, 64);
    assert_int_equal(memory[0].constant_bytes, 8);
    assert_int_equal(memory[1].constant_bytes, 160); /* the captured tensor */
    assert_int_equal(memory[1].planned_bytes, 0);    /* all its values cross */
    assert_in_range(memory[1].result_bytes, 320, 1000);
    char *text = explain(function, GANTRY_EXPLAIN_TEXT);
    assert_non_null(strstr(text, "\ntotal/Max      Max of LogSumExp      float32[1]   CPU:0   "));
    assert_non_null(strstr(text, "\ntotal/Sub_1 from GPU:0 to CPU:0: 160 bytes\n"));
    free(text);
    text = explain(function, GANTRY_EXPLAIN_JSON);
    assert_true(json_is_valid(text));
    assert_true(json_has(text, "nodes.5.name", "\"total/Max\""));
    assert_true(json_has(text, "nodes.5.part_of", "\"LogSumExp\""));
    free(text);
    gantry_function_release(function);
    expect_ended_well(gpu);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static void colocated(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    (void)user;
    gantry_scope_t *cpu = gantry_scope_begin_in(scope, "/CPU:0");
    (void)gantry_scope_name_next(cpu, "anchor");
    const gantry_tensor_t *anchor = gantry_scope_keep(cpu, gantry_add(cpu, inputs[0], inputs[0]));
    (void)gantry_scope_end(cpu);
    gantry_scope_t *with = gantry_scope_begin_with(scope, anchor);
    outputs[0] = gantry_scope_keep(with, gantry_mul(with, inputs[0], inputs[0]));
    (void)gantry_scope_end(with);
    outputs[1] = anchor;
}

TEST(colocation_is_told) {
    const gantry_input_spec_t input = SPEC_F32(NULL, 40);
    gantry_function_t *function;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    assert_int_equal(
        gantry_function_trace(f.runtime, "c", colocated, NULL, &input, 1, 2, NULL, &function),
        GANTRY_OK);
    char *text = explain(function, GANTRY_EXPLAIN_TEXT);
    if (!strstr(text, "\nMul          Mul       float32[40]  CPU:0   ")) fail_msg("%s", text);
    assert_non_null(strstr(text, "\n    with anchor\n"));
    free(text);
    text = explain(function, GANTRY_EXPLAIN_JSON);
    assert_true(json_has(text, "nodes.2.with", "\"anchor\""));
    assert_true(json_has(text, "nodes.0.with", "\"\""));
    free(text);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* ---- names of any bytes, several threads ---- */

static void doubling(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    (void)gantry_scope_name_next(scope, "a\\b\"c\n\xff");
    outputs[0] = gantry_add(scope, inputs[0], inputs[0]);
    outputs[1] = gantry_mul(scope, inputs[0], inputs[0]);
}

/* Names that differ behind the 127 bytes that are kept. */
TEST(long_names_are_cut_and_differ) {
    char first[200], second[200], expected[140];
    memset(first, 'n', sizeof first);
    first[sizeof first - 1] = '\0';
    memcpy(second, first, sizeof second);
    second[sizeof second - 2] = 'm';
    const gantry_input_spec_t inputs[] = {SPEC_F32(first, 2), SPEC_F32(second, 2)};
    gantry_function_t *function;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    assert_int_equal(
        gantry_function_trace(f.runtime, "f", doubling, NULL, inputs, 2, 2, NULL, &function),
        GANTRY_OK);
    char *text = explain(function, GANTRY_EXPLAIN_JSON);
    (void)snprintf(expected, sizeof expected, "\"%.127s\"", first);
    assert_true(json_has(text, "nodes.0.name", expected));
    (void)snprintf(expected, sizeof expected, "\"%.100s_1\"", first);
    assert_true(json_has(text, "nodes.1.name", expected));
    free(text);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

static void naming_alike(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                         const gantry_tensor_t **outputs, void *user) {
    static const char *const names[] = {"a", "A", "a_1", "p/q/a", "P/q/A"};
    (void)user;
    outputs[0] = inputs[0];
    for (int i = 0; i < 5; ++i) {
        (void)gantry_scope_name_next(scope, names[i]);
        outputs[0] = gantry_sub(scope, outputs[0], inputs[0]);
    }
}

/* TensorFlow's names for the same calls. */
TEST(names_are_made_unique_as_in_tensorflow) {
    static const char *const expected[] = {"\"A\"",     "\"a_1\"",   "\"A_2\"",
                                           "\"a_1_1\"", "\"p/q/a\"", "\"P/q/A_1\""};
    const gantry_input_spec_t input = SPEC_F32("A", 2);
    gantry_function_t *function;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    assert_int_equal(gantry_function_trace(f.runtime, "f", naming_alike, NULL, &input, 1, 1,
                                           &as_written, &function),
                     GANTRY_OK);
    char *text = explain(function, GANTRY_EXPLAIN_JSON);
    for (int i = 0; i < 6; ++i) {
        char path[32];
        (void)snprintf(path, sizeof path, "nodes.%d.name", i);
        assert_true(json_has(text, path, expected[i]));
    }
    free(text);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

TEST(names_of_any_bytes_are_written_safely) {
    const gantry_input_spec_t input = SPEC_F32("x", 1 << 20);
    const gantry_function_options_t options = {
        .struct_size = sizeof options, .inter_op_threads = 2, .passes_off = GANTRY_PASS_ALL};
    gantry_function_t *function;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    assert_int_equal(gantry_function_trace(f.runtime, "\"\xc3\n", doubling, NULL, &input, 1, 2,
                                           &options, &function),
                     GANTRY_OK);
    char *text = explain(function, GANTRY_EXPLAIN_JSON);
    assert_true(json_is_valid(text));
    assert_true(json_has(text, "function", "\"\\\"\\ufffd?\""));
    assert_true(json_has(text, "nodes.1.name", "\"a\\\\b\\\"c?\\ufffd\""));
    assert_true(json_has(text, "threads", "2"));
    free(text);
    text = explain(function, GANTRY_EXPLAIN_TEXT);
    assert_ptr_equal(strstr(text, "function \"\xc3?: 3 nodes on 1 device and 2 threads;"), text);
    assert_non_null(strstr(text, "\na\\b\"c?")); /* one line */
    free(text);
    text = explain(function, GANTRY_EXPLAIN_GRAPHVIZ);
    assert_int_equal(strncmp(text, "digraph \"\\\"??\" {\n", 17), 0);
    assert_non_null(strstr(text, "label=\"a\\\\b\\\"c??\\nAdd\\n"));
    (void)expect_dot_accepts(text, "Mul");
    free(text);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* ---- passes, branches and loops ---- */

static void chain(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                  const gantry_tensor_t **outputs, void *user) {
    (void)user;
    (void)gantry_scope_name_next(scope, "first");
    const gantry_tensor_t *first = gantry_square(scope, inputs[0]);
    (void)gantry_scope_name_next(scope, "second");
    outputs[0] = gantry_add(scope, first, inputs[0]);
}

TEST(fused_nodes_name_their_members) {
    const gantry_input_spec_t input = SPEC_F32("x", 4000);
    gantry_function_t *function;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    if (gantry_function_trace(f.runtime, "c", chain, NULL, &input, 1, 1, NULL, &function) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    char *text = explain(function, GANTRY_EXPLAIN_TEXT);
    if (!strstr(text, "\n    one pass over first, second\n")) fail_msg("%s", text);
    free(text);
    text = explain(function, GANTRY_EXPLAIN_JSON);
    assert_true(json_has(text, "nodes.1.fused.1", "\"second\""));
    free(text);
    text = explain(function, GANTRY_EXPLAIN_GRAPHVIZ);
    assert_non_null(strstr(text, "\\none pass: first, second\\n"));
    free(text);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

static void negating(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_neg(scope, inputs[0]);
}

static void branching(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *zero = gantry_scalar_f32(scope, 0);
    const gantry_tensor_t *is_less = gantry_less(scope, gantry_sum(scope, inputs[0], NULL), zero);
    (void)user;
    (void)gantry_scope_name_next(scope, "choice");
    (void)gantry_cond(scope, is_less, negating, chain, NULL, inputs, 1, outputs, 1);
}

TEST(bodies_are_explained) {
    const gantry_input_spec_t input = SPEC_F32("x", 40);
    gantry_function_t *function;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    if (gantry_function_trace(f.runtime, "b", branching, NULL, &input, 1, 1, NULL, &function) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    char *text = explain(function, GANTRY_EXPLAIN_TEXT);
    if (!strstr(text, "\nthen of choice\nnode ") || !strstr(text, "\nelse of choice\nnode ") ||
        !strstr(text, "\nNeg "))
        fail_msg("%s", text);
    free(text);
    text = explain(function, GANTRY_EXPLAIN_JSON);
    assert_true(json_is_valid(text));
    const char *choice = strstr(text, "\"kind\":\"branch\"");
    assert_non_null(choice);
    assert_non_null(strstr(choice, "\"bodies\":[{\"name\":\"then\","));
    free(text);
    text = explain(function, GANTRY_EXPLAIN_GRAPHVIZ);
    assert_non_null(strstr(text, "shape=diamond"));
    assert_non_null(strstr(text, "label=\"then of choice\";"));
    assert_non_null(strstr(text, "label=\"else of choice\";"));
    expect_dot_accepts(text, "else of choice");
    free(text);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* ---- errors ---- */

TEST(bad_calls_are_refused) {
    const gantry_input_spec_t input = SPEC_F32(NULL, -1);
    const gantry_function_options_t eager = {.struct_size = sizeof eager, .runs_eagerly = true};
    gantry_function_t *open, *eagerly;
    gantry_function_memory_t memory = {.struct_size = 1};
    char text[24];
    size_t needed, count;
    world_t w;
    open_world(&w);
    assert_int_equal(gantry_function_explain(w.function, (gantry_explain_form_t)7, text, 4, NULL),
                     GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry_last_message(), "form is 7; GANTRY_EXPLAIN_TEXT"));
    assert_int_equal(gantry_function_explain(w.function, GANTRY_EXPLAIN_TEXT, NULL, 4, NULL),
                     GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry_last_message(), "out is NULL, but out_bytes is 4"));
    assert_int_equal(
        gantry_function_explain(w.function, GANTRY_EXPLAIN_TEXT, text, sizeof text, &needed),
        GANTRY_OK);
    assert_string_equal(text, "function f \"1\": 6 nodes"); /* cut, and ended */
    assert_true(needed > 400);
    assert_int_equal(gantry_function_get_memory(w.function, 1, &memory, &count),
                     GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry_last_message(), "struct_size is 1"));
    assert_int_equal(
        gantry_function_trace(w.f.runtime, "open", crossing, w.variable, &input, 1, 2, NULL, &open),
        GANTRY_OK);
    assert_int_equal(gantry_function_explain(open, GANTRY_EXPLAIN_TEXT, text, 4, NULL),
                     GANTRY_FAILED_PRECONDITION);
    assert_non_null(strstr(gantry_last_message(), "function open has no trace yet; its signature"));
    assert_int_equal(gantry_function_trace(w.f.runtime, "eager", crossing, w.variable, &input, 1, 2,
                                           &eager, &eagerly),
                     GANTRY_OK);
    assert_int_equal(gantry_function_get_memory(eagerly, 0, NULL, &count),
                     GANTRY_FAILED_PRECONDITION);
    assert_non_null(strstr(gantry_last_message(), "runs_eagerly"));
    gantry_function_release(eagerly);
    gantry_function_release(open);
    close_world(&w);
}

TEST(nothing_leaks_when_memory_runs_out) {
    static char text[8192];
    world_t w;
    open_world(&w);
    (void)planned(w.function);
    long failed = 0;
    for (int form = GANTRY_EXPLAIN_TEXT; form <= GANTRY_EXPLAIN_GRAPHVIZ; ++form) {
        for (long n = 0;; ++n) {
            runtime_fixture_starve(&w.f, n);
            gantry_status_t status = gantry_function_explain(
                w.function, (gantry_explain_form_t)form, text, sizeof text, NULL);
            w.f.heap.inner.fail_at = -1;
            if (status == GANTRY_OK) break;
            assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
            assert_in_range(++failed, 1, 100);
        }
    }
    assert_in_range(failed, 3, 100);
    close_world(&w);
}

int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
