/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: An error that a kernel of a function finds after the call has returned names function,
 * node, op, types, shapes and device, wherever it is reported.
 * Promise: It says of what the program made the op, if the program says that, for a trace and for a
 * function whose body each call runs; a trace keeps a copy, and ops after the next text have that.
 * Promise: When a device's work fails after a function has returned, the error names the functions
 * that were still at work, and none that had ended. */
#define _XOPEN_SOURCE 700

#include "device/fault.h"
#include "function_fixture.h"
#include "test.h"

#define GATHER "(Gather) of float32[3], " TAKEN
#define TAKEN "int32[2], int32[] on /device:GPU:0: "
#define PLACE(node) "function f: node " node " " GATHER
#define WORDS(index) "indices[1]" index " is not in [0, 3)"
#define FULL_WORDS WORDS(" = 7")

/* The message begins so. */
static void expect_beginning(gantry_status_t status, const char *text) {
    assert_int_equal(status, GANTRY_INVALID_ARGUMENT);
    if (strncmp(gantry_last_message(), text, strlen(text)) != 0)
        fail_msg("message: %s", gantry_last_message());
}

/* The message is this, and nothing follows. */
static void expect_whole(gantry_status_t status, const char *text) {
    expect_beginning(status, text);
    assert_string_equal(gantry_last_message(), text);
}

static void expect_read_fails(const gantry_tensor_t *tensor, const char *text) {
    float values[16];
    assert_non_null(tensor);
    assert_in_range(gantry_tensor_bytes(tensor), 1, sizeof values);
    expect_beginning(gantry_tensor_read(tensor, values, gantry_tensor_bytes(tensor)), text);
}

/* Of an array and indices, both of the caller's. */
static void picking(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    (void)user;
    gantry_scope_name_next(scope, "pick");
    const gantry_tensor_t *rows = gantry_gather(scope, inputs[0], inputs[1], 0);
    outputs[0] = gantry_add(scope, rows, rows);
}

static const gantry_input_spec_t specs[] = {
    {"rows", GANTRY_FLOAT32, {.rank = 1, .dims = {3}}},
    {"indices", GANTRY_INT32, {.rank = 1, .dims = {2}}},
};

static gantry_function_t *trace(runtime_fixture_t *f, gantry_function_body_fn body,
                                const gantry_function_options_t *options) {
    gantry_function_t *function;
    if (gantry_function_trace(f->runtime, "f", body, f, specs, 2, 1, options, &function) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return function;
}

static const gantry_tensor_t *call(gantry_scope_t *scope, gantry_function_t *function,
                                   int32_t second) {
    const gantry_tensor_t *inputs[] = {F32(scope, 10, 20, 30), I32(scope, 0, second)}, *output;
    function_fixture_call(scope, function, inputs, 2, &output, 1);
    return output;
}

TEST(errors_name_function_and_node) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    gantry_function_t *function = trace(&f, picking, NULL);
    const gantry_tensor_t *good = call(scope, function, 2), *bad = call(scope, function, 7),
                          *third = call(scope, function, -1), *later = call(scope, function, 1);
    assert_int_equal(gantry_scope_status(scope), GANTRY_OK);
    EXPECT_F32(later, 20, 40);
    expect_read_fails(third, PLACE("pick") WORDS(" = -1"));
    expect_read_fails(bad, PLACE("pick") FULL_WORDS);
    expect_whole(gantry_tensor_wait(bad), PLACE("pick") FULL_WORDS); /* and once more */
    EXPECT_F32(good, 20, 60);
    EXPECT_F32(call(scope, function, 2), 20, 60); /* it stays usable */
    expect_read_fails(gantry_neg(scope, bad), PLACE("pick") FULL_WORDS);
    /* an eager op has its number, as before */
    expect_failure(
        gantry_tensor_wait(gantry_gather(scope, F32(scope, 1, 2, 3), I32(scope, 0, 7), 0)),
        GANTRY_INVALID_ARGUMENT, "= 7 is not in [0, 3): op Gather (number ");
    expect_ended_well(scope);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

TEST(errors_outlive_the_function) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    gantry_function_t *function = trace(&f, picking, NULL);
    const gantry_tensor_t *bad = call(scope, function, 7);
    gantry_function_release(function);
    expect_read_fails(bad, PLACE("pick") FULL_WORDS);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(synchronize_tells_the_earliest_call) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0"),
                   *there = runtime_fixture_scope(&f, "GPU:1");
    gantry_function_t *function = trace(&f, picking, NULL);
    (void)call(there, function, 7);
    (void)call(scope, function, 8);
    (void)gantry_gather(scope, F32(scope, 1, 2, 3), I32(scope, 5), 0);
    expect_beginning(gantry_runtime_synchronize(f.runtime),
                     "function f: node pick (Gather) of float32[3], int32[2], int32[] on "
                     "/device:GPU:1: indices[1]");
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
    (void)gantry_gather(there, F32(there, 1, 2, 3), I32(there, 5), 0);
    (void)call(scope, function, 8);
    expect_beginning(gantry_runtime_synchronize(f.runtime),
                     "indices[0] = 5 is not in [0, 3): op Gather (number ");
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
    expect_ended_well(there);
    expect_ended_well(scope);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* ---- nodes in other bodies ---- */

static void stepping(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *places = gantry_broadcast_to(scope, inputs[0], GANTRY_SHAPE(3));
    outputs[0] = gantry_add(scope, inputs[0], gantry_scalar_i32(scope, 1));
    gantry_scope_name_next(scope, "pick_by_step");
    outputs[1] = gantry_gather(scope, inputs[1], places, 0);
}

static void going_on(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_less(scope, inputs[0], gantry_scalar_i32(scope, 4));
}

static void looping(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *values[] = {gantry_scalar_i32(scope, 0), inputs[0]};
    gantry_scope_name_next(scope, "loop");
    (void)gantry_while(scope, going_on, stepping, user, values, 2, NULL, values);
    outputs[0] = values[1];
}

static const gantry_tensor_t *is_small(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_less(scope, gantry_max(scope, x, NULL), gantry_scalar_f32(scope, 100));
}

static void branching(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *predicate = is_small(scope, inputs[0]);
    gantry_scope_name_next(scope, "choice");
    (void)gantry_cond(scope, predicate, looping, looping, user, inputs, 2, outputs, 1);
}

/* The loop reads its condition, and so finds the error within the call. */
static void expect_call_fails(gantry_scope_t *scope, gantry_function_t *function, int32_t second,
                              const char *beginning) {
    const gantry_tensor_t *inputs[] = {F32(scope, 10, 20, 30), I32(scope, 0, second)}, *output;
    expect_beginning(gantry_function_call(scope, function, inputs, 2, &output, 1), beginning);
    assert_null(output);
    gantry_scope_clear(scope);
}

TEST(nodes_in_branches_and_loops_are_named) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    gantry_function_t *function = trace(&f, looping, NULL);
    expect_call_fails(scope, function, 0,
                      "function f: node loop (While) on /device:GPU:0: body: node pick_by_step "
                      "(Gather) of float32[3], int32[3], int32[] on /device:GPU:0: indices[0] is "
                      "not in [0, 3)");
    gantry_function_release(function);
    function = trace(&f, branching, NULL);
    expect_call_fails(
        scope, function, 0,
        "function f: node choice (If) on /device:GPU:0: then_body: node loop (While) on "
        "/device:GPU:0: body: node pick_by_step (Gather) of float32[3], int32[3], int32[] on "
        "/device:GPU:0: indices[0] is not in [0, 3)");
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static void asking_and_picking(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                               const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *predicate = is_small(scope, inputs[0]);
    gantry_scope_name_next(scope, "choice");
    (void)gantry_cond(scope, predicate, picking, picking, user, inputs, 2, outputs, 1);
}

TEST(nodes_of_branches_are_named_after_the_call) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    gantry_function_t *function = trace(&f, asking_and_picking, NULL);
    const gantry_tensor_t *bad = call(scope, function, 7), *good = call(scope, function, 1);
    gantry_function_release(function);
    expect_read_fails(
        bad,
        "function f: node choice (If) on /device:GPU:0: then_body: node pick " GATHER FULL_WORDS);
    EXPECT_F32(good, 20, 40);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- origins ---- */

/* The text of the origin is gone, or another one, when the failure is reported. */
static void picking_for(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    char origin[] = "file: line\n1";
    assert_int_equal(gantry_scope_set_origin(scope, origin), GANTRY_OK);
    picking(scope, inputs, outputs, user);
    assert_int_equal(gantry_scope_set_origin(scope, "file: line 2"), GANTRY_OK);
    outputs[0] = gantry_gather(scope, outputs[0], inputs[1], 0);
    assert_int_equal(gantry_scope_set_origin(scope, NULL), GANTRY_OK);
    memset(origin, 'x', sizeof origin - 1);
}

TEST(errors_say_of_what_an_op_was_made) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    gantry_function_t *function = trace(&f, picking_for, NULL);
    expect_read_fails(call(scope, function, 7),
                      "function f: file: line?1: node pick " GATHER FULL_WORDS);
    expect_read_fails(call(scope, function, 2),
                      "function f: file: line 2: node Gather (Gather) of float32[2], " TAKEN
                      "indices[1] = 2 is not in [0, 2)");
    gantry_function_release(function);
    const gantry_function_options_t options = {.struct_size = sizeof options, .runs_eagerly = true};
    function = trace(&f, picking_for, &options);
    expect_read_fails(call(scope, function, 7),
                      "function f: file: line\n1: op Gather of float32[3], " TAKEN FULL_WORDS);
    expect_read_fails(call(scope, function, 2),
                      "function f: file: line 2: op Gather of float32[2], ");
    gantry_function_release(function);
    assert_int_equal(gantry_scope_set_origin(NULL, "file"), GANTRY_INVALID_ARGUMENT);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- other ways through a function ---- */

static void calling_another(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                            const gantry_tensor_t **outputs, void *user) {
    (void)gantry_function_call(scope, user, inputs, 2, outputs, 1);
}

TEST(functions_inside_name_the_outer_one) {
    runtime_fixture_t f;
    gantry_function_t *outer;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    gantry_function_t *inner = trace(&f, picking, NULL);
    if (gantry_function_trace(f.runtime, "g", calling_another, inner, specs, 2, 1, NULL, &outer) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    expect_read_fails(call(scope, outer, 7), "function g: node pick " GATHER);
    gantry_function_release(inner);
    gantry_function_release(outer);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* The number of picked rows depends on data, so that Gather runs by the eager path. */
static void picking_some(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                         const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *limit = gantry_scalar_i32(scope, 3),
                          *high = gantry_less(scope, limit, inputs[1]),
                          *some = gantry_boolean_mask(scope, inputs[1], high, 0);
    gantry_scope_name_next(scope, "pick_some");
    outputs[0] = gantry_gather(scope, inputs[0], some, 0);
}

TEST(nodes_of_the_eager_path_are_named) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    gantry_function_t *function = trace(&f, picking_some, NULL);
    const gantry_tensor_t *bad = call(scope, function, 7);
    gantry_function_release(function);
    expect_read_fails(bad,
                      "function f: node pick_some (Gather) of float32[3], int32[1], int32[] on "
                      "/device:GPU:0: indices[0] = 7 is not in [0, 3)");
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(bodies_that_run_eagerly_name_their_function) {
    const gantry_function_options_t options = {.struct_size = sizeof options, .runs_eagerly = true};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    gantry_function_t *function = trace(&f, picking, &options);
    const gantry_tensor_t *bad = call(scope, function, 7);
    gantry_function_release(function);
    expect_read_fails(bad, "function f: op Gather of float32[3], " TAKEN FULL_WORDS);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* Half of the chains on each device. */
static void picking_on_two(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                           const gantry_tensor_t **outputs, void *user) {
    (void)user;
    gantry_scope_t *first = gantry_scope_begin_in(scope, "GPU:0"),
                   *second = gantry_scope_begin_in(scope, "GPU:1");
    const gantry_tensor_t *rows = gantry_gather(first, inputs[0], I32(scope, 2, 1), 0);
    gantry_scope_name_next(second, "pick_there");
    const gantry_tensor_t *there = gantry_gather(second, inputs[0], inputs[1], 0);
    outputs[0] = gantry_identity(scope, gantry_add(first, rows, there));
    (void)gantry_scope_end(second);
    (void)gantry_scope_end(first);
}

TEST(nodes_of_several_devices_and_threads_are_named) {
    static const int32_t threads[] = {-1, 2};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    for (size_t i = 0; i < 2; ++i) {
        const gantry_function_options_t options = {.struct_size = sizeof options,
                                                   .inter_op_threads = threads[i]};
        gantry_function_t *function = trace(&f, picking_on_two, &options);
        const gantry_tensor_t *bad = call(scope, function, 7), *good = call(scope, function, 0);
        EXPECT_F32(good, 40, 30);
        expect_read_fails(bad,
                          "function f: node pick_there (Gather) of float32[3], int32[2], int32[] "
                          "on /device:GPU:1: indices[1]");
        gantry_function_release(function);
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static void doubling_once(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                          const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_add(scope, inputs[0], gantry_scalar_i32(scope, 4));
    outputs[1] = gantry_add(scope, inputs[1], inputs[1]);
}

/* The condition is read on the host. */
static void asking(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                   const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *values[] = {gantry_scalar_i32(scope, 0), inputs[0]};
    gantry_scope_name_next(scope, "loop");
    (void)gantry_while(scope, going_on, doubling_once, user, values, 2, NULL, values);
    outputs[0] = values[1];
}

TEST(an_argument_that_an_earlier_call_made_bad_is_told) {
    runtime_fixture_t f;
    gantry_function_t *asker;
    const gantry_input_spec_t spec = SPEC_F32(2);
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    gantry_function_t *function = trace(&f, picking, NULL);
    if (gantry_function_trace(f.runtime, "g", asking, NULL, &spec, 1, 1, NULL, &asker) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    const gantry_tensor_t *bad = call(scope, function, 7), *good = call(scope, function, 1), *none;
    expect_beginning(gantry_function_call(scope, asker, &bad, 1, &none, 1),
                     "function g: " PLACE("pick") FULL_WORDS);
    assert_null(none);
    gantry_scope_clear(scope);
    function_fixture_call(scope, asker, &good, 1, &none, 1);
    EXPECT_F32(none, 40, 80);
    expect_ended_well(scope);
    gantry_function_release(asker);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* An op on the host gets numbers that a bad index left. */
static void shaping(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *sizes[] = {gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(3),
                                                      (int32_t[]){3, 1, 1}, 3 * sizeof(int32_t)),
                                      inputs[1]};
    (void)user;
    gantry_scope_name_next(scope, "pick");
    const gantry_tensor_t *shape = gantry_gather(scope, sizes[0], sizes[1], 0),
                          *taken[] = {inputs[0], shape};
    size_t count = 1;
    gantry_scope_name_next(scope, "shaped");
    (void)gantry_op_call(scope, "Reshape", taken, 2, NULL, 0, outputs, &count);
}

TEST(what_a_bad_value_leads_to_is_told_by_its_cause) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    gantry_function_t *function = trace(&f, shaping, NULL);
    expect_call_fails(scope, function, 7,
                      "function f: node pick (Gather) of int32[3], " TAKEN FULL_WORDS);
    EXPECT_F32(call(scope, function, 1), 10, 20, 30);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* Values of variables and of steps in between are overwritten by then: the text has no value. */
static void assigning(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *places = gantry_add(scope, inputs[1], inputs[1]);
    gantry_scope_name_next(scope, "pick");
    const gantry_tensor_t *rows = gantry_gather(scope, inputs[0], places, 0);
    (void)gantry_variable_assign(scope, user, rows);
    outputs[0] = gantry_identity(scope, inputs[0]);
}

TEST(variables_with_bad_values_name_the_node) {
    runtime_fixture_t f;
    gantry_function_t *function;
    gantry_variable_t *variable;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    variable = gantry_variable_create(scope, F32(scope, 1, 2), NULL);
    assert_non_null(variable);
    if (gantry_function_trace(f.runtime, "f", assigning, variable, specs, 2, 1, NULL, &function) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    (void)call(scope, function, 7);
    gantry_function_release(function);
    expect_read_fails(gantry_variable_read(scope, variable), PLACE("pick") WORDS(""));
    gantry_variable_release(variable);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- captured tensors ---- */

typedef struct captured_t {
    const gantry_tensor_t *rows;
    gantry_variable_t *variable;
} captured_t;

static void adding_rows(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    outputs[0] = gantry_add(scope, inputs[0], ((const captured_t *)user)->rows);
}

static void adding_rows_in_a_branch(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                    const gantry_tensor_t **outputs, void *user) {
    (void)gantry_cond(scope, is_small(scope, inputs[0]), adding_rows, adding_rows, user, inputs, 1,
                      outputs, 1);
}

static void assigning_rows(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                           const gantry_tensor_t **outputs, void *user) {
    const captured_t *captured = user;
    gantry_variable_assign(scope, captured->variable, gantry_add(scope, inputs[0], captured->rows));
    outputs[0] = gantry_neg(scope, inputs[0]);
}

static gantry_function_t *trace_captured(runtime_fixture_t *f, gantry_function_body_fn body,
                                         captured_t *captured) {
    const gantry_input_spec_t spec = {"x", GANTRY_FLOAT32, {.rank = 1, .dims = {2}}};
    gantry_function_t *function;
    if (gantry_function_trace(f->runtime, "f", body, captured, &spec, 1, 1, NULL, &function) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return function;
}

/* Whether the kernel has ended before the trace does not matter. */
TEST(a_captured_tensor_with_bad_data_is_told) {
    static const gantry_function_body_fn bodies[] = {adding_rows, adding_rows_in_a_branch};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    captured_t captured = {.variable = gantry_variable_create(scope, F32(scope, 1, 2), "v")};
    for (int i = 0; i < 8; ++i) {
        const bool is_bad = i % 2 == 1, waits = i % 4 >= 2;
        captured.rows = gantry_gather(scope, F32(scope, 1, 2, 3), I32(scope, 0, is_bad ? 9 : 1), 0);
        if (waits) (void)gantry_tensor_wait(captured.rows);
        gantry_function_t *function = trace_captured(&f, bodies[i / 4], &captured);
        const gantry_tensor_t *input = F32(scope, 10, 20), *output;
        for (int k = 0; k < 2; ++k) {
            function_fixture_call(scope, function, &input, 1, &output, 1);
            if (is_bad)
                expect_read_fails(output, "indices[1] = 9 is not in [0, 3): op Gather");
            else
                EXPECT_F32(output, 11, 22);
        }
        gantry_function_release(function);
        function = trace_captured(&f, assigning_rows, &captured);
        function_fixture_call(scope, function, &input, 1, &output, 1);
        gantry_function_release(function);
        if (is_bad)
            expect_read_fails(gantry_variable_read(scope, captured.variable), "indices[1] = 9");
        else
            EXPECT_F32(gantry_variable_read(scope, captured.variable), 11, 22);
    }
    gantry_variable_release(captured.variable);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- work that fails as a whole ---- */

/* The driver tells it when something waits, and does not say which kernel it was. */
TEST(failed_work_is_told_with_its_function) {
    static const char text[] = "the card coughed; not known to have ended: function f";
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    gantry_function_t *function = trace(&f, picking, NULL);
    const gantry_tensor_t *good = call(scope, function, 2), *rows = F32(scope, 10, 20, 30);
    EXPECT_F32(good, 20, 60);
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
    const gantry_tensor_t *inputs[] = {rows, I32(scope, 0, 1)}, *bad[2];
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
    fake->close_gate(0, RUNTIME_FIXTURE_GATE);
    assert_true(fake->fail_calls("work", 1, 1, GANTRY_INTERNAL, "the card coughed"));
    for (int i = 0; i < 2; ++i) function_fixture_call(scope, function, inputs, 2, &bad[i], 1);
    fake->open_gate(0, RUNTIME_FIXTURE_GATE);
    for (int i = 0; i < 4; ++i) {
        float values[2];
        assert_int_equal(gantry_tensor_read(bad[i % 2], values, sizeof values), GANTRY_INTERNAL);
        assert_string_equal(gantry_last_message(), text);
    }
    EXPECT_F32(good, 20, 60);
    EXPECT_F32(call(scope, function, 2), 20, 60); /* it stays usable */
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- long names ---- */

TEST(long_names_are_cut) {
    char name[1000], beginning[120];
    runtime_fixture_t f;
    gantry_function_t *function;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    memset(name, 'f', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    if (gantry_function_trace(f.runtime, name, picking, NULL, specs, 2, 1, NULL, &function) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    const gantry_tensor_t *bad = call(scope, function, 7);
    gantry_function_release(function);
    (void)snprintf(beginning, sizeof beginning, "function %.100s: ", name);
    expect_read_fails(bad, beginning);
    assert_non_null(strstr(gantry_last_message(), "fff: ...: node pick " GATHER FULL_WORDS));
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* Of a long origin the end is said. */
static void picking_for_long(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                             const gantry_tensor_t **outputs, void *user) {
    char origin[700];
    memset(origin, 'o', sizeof origin);
    (void)snprintf(origin + 600, sizeof origin - 600, "/net: node 'last'");
    assert_int_equal(gantry_scope_set_origin(scope, origin), GANTRY_OK);
    picking(scope, inputs, outputs, user);
    assert_int_equal(gantry_scope_set_origin(scope, NULL), GANTRY_OK);
}

TEST(long_origins_keep_their_ends) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    gantry_function_t *function = trace(&f, picking_for_long, NULL);
    expect_read_fails(call(scope, function, 7), "function f: ...: ooo");
    assert_non_null(
        strstr(gantry_last_message(), "ooo/net: node 'last': node pick " GATHER FULL_WORDS));
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(int argc, char **argv) {
    /* an argument runs one test: the leftovers of a failed test fail the next ones */
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
