/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: In the body of a function, a branch or a loop, nodes between gantry_device_begin and
 * gantry_device_end are on the requested device, with the values of the body run op by op.
 * Promise: The log and the explanation name the device that a block requested.
 * Promise: A body that leaves a gantry_device_begin without its end, or ends one that it did not
 * begin, is refused with FailedPrecondition, traced or run op by op. */
#define _XOPEN_SOURCE 700

#include "function_fixture.h"
#include "test.h"

#define LOCAL(device) "/job:localhost/replica:0/task:0/device:" device

typedef const gantry_tensor_t tensor;

static gantry_function_t *trace(const runtime_fixture_t *f, gantry_function_body_fn body,
                                void *user, bool is_eager) {
    const gantry_function_options_t options = {
        .struct_size = sizeof options, .runs_eagerly = is_eager, .passes_off = GANTRY_PASS_ALL};
    const gantry_input_spec_t input = SPEC_F32(2);
    return function_fixture_trace(f->runtime, body, user, &input, 1, 1, &options);
}

/* The explanation of the function that is traced from the body and called with {1, 2} in the scope;
 * the caller frees it. */
static char *run_and_explain(const runtime_fixture_t *f, gantry_scope_t *scope,
                             gantry_function_body_fn body, float first, float second) {
    gantry_function_t *function = trace(f, body, NULL, false), *eager = trace(f, body, NULL, true);
    tensor *x = F32(scope, 1, 2), *y, *z;
    size_t needed = 0;
    function_fixture_call(scope, eager, &x, 1, &z, 1);
    EXPECT_F32(z, first, second);
    function_fixture_call(scope, function, &x, 1, &y, 1);
    EXPECT_F32(y, first, second);
    (void)gantry_function_explain(function, GANTRY_EXPLAIN_TEXT, NULL, 0, &needed);
    char *text = malloc(needed + 1);
    assert_non_null(text);
    assert_int_equal(gantry_function_explain(function, GANTRY_EXPLAIN_TEXT, text, needed + 1, NULL),
                     GANTRY_OK);
    gantry_function_release(function);
    gantry_function_release(eager);
    return text;
}

/* Expects the node's line, with the spaces of its columns taken as one, to be in the text. */
static void expect_node(const char *text, const char *line) {
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        const char *a = at, *b = line;
        for (; *b && *a == *b; ++a, ++b)
            if (*a == ' ') a += strspn(a, " ") - 1;
        if (!*b && *a == '\n') return;
    }
    fail_msg("no \"%s\" in:\n%s", line, text);
}

static tensor *named(gantry_scope_t *scope, const char *name, tensor *a, tensor *b) {
    (void)gantry_scope_name_next(scope, name);
    return gantry_add(scope, a, b);
}

/* ---- a body ---- */

/* 2 x, 3 x, 5 x, 10 x, 15 x */
static void in_turn(gantry_scope_t *scope, tensor *const *x, tensor **y, void *user) {
    (void)user;
    (void)gantry_device_begin(scope, "/GPU:1");
    tensor *one = named(scope, "one", x[0], x[0]);
    (void)gantry_device_begin(scope, "/CPU:0");
    tensor *two = named(scope, "two", one, x[0]);
    (void)gantry_device_end(scope);
    tensor *three = named(scope, "three", two, one);
    (void)gantry_device_begin(scope, "");
    tensor *free_one = named(scope, "free", three, three);
    (void)gantry_device_end(scope);
    (void)gantry_device_end(scope);
    y[0] = named(scope, "after", free_one, three);
}

TEST(nodes_are_where_their_block_requests) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    assert_int_equal(gantry_set_log_device_placement(f.runtime, true), GANTRY_OK);
    char *text = run_and_explain(&f, scope, in_turn, 15, 30);
    expect_node(text, "one Add float32[2] GPU:1 the requested device");
    expect_node(text, "two Add float32[2] CPU:0 the requested device");
    expect_node(text, "three Add float32[2] GPU:1 the requested device");
    expect_node(text, "free Add float32[2] GPU:0 a GPU has a kernel");
    expect_node(text, "after Add float32[2] GPU:0 a GPU has a kernel");
    assert_int_equal(log_lines_with(&f.log, "three: (Add): " LOCAL("GPU:1"), ""), 1);
    free(text);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(request_of_the_call_is_around_those_of_the_body) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    (void)gantry_device_begin(scope, "/CPU:0");
    char *text = run_and_explain(&f, scope, in_turn, 15, 30);
    (void)gantry_device_end(scope);
    expect_node(text, "one Add float32[2] GPU:1 the requested device");
    expect_node(text, "free Add float32[2] GPU:0 a GPU has a kernel"); /* "" cancels it */
    expect_node(text, "after Add float32[2] CPU:0 the requested device");
    free(text);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static void on_missing(gantry_scope_t *scope, tensor *const *x, tensor **y, void *user) {
    (void)user;
    (void)gantry_device_begin(scope, "/GPU:9");
    y[0] = named(scope, "far", x[0], x[0]);
    (void)gantry_device_end(scope);
}

TEST(explanation_names_a_missing_device) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    char *text = run_and_explain(&f, scope, on_missing, 2, 4);
    if (!strstr(text, "    asked for " LOCAL("GPU:9") "\n")) fail_msg("%s", text);
    free(text);
    expect_ended_well(scope);
    assert_int_equal(gantry_set_soft_device_placement(f.runtime, false), GANTRY_OK);
    expect_refusal(function_fixture_try(&f, on_missing, NULL), GANTRY_INVALID_ARGUMENT,
                   "operation far: {{node far}} was explicitly assigned to " LOCAL("GPU:9"));
    runtime_fixture_close(&f);
}

/* ---- branches and loops ---- */

static void double_there(gantry_scope_t *scope, tensor *const *x, tensor **y, void *user) {
    (void)user;
    tensor *around = named(scope, "around", x[0], x[0]);
    (void)gantry_device_begin(scope, "/GPU:1");
    y[0] = named(scope, "there", around, x[0]);
    (void)gantry_device_end(scope);
}

static void is_small(gantry_scope_t *scope, tensor *const *x, tensor **y, void *user) {
    (void)user;
    (void)gantry_device_begin(scope, "/CPU:0");
    y[0] = gantry_less(scope, gantry_sum(scope, x[0], NULL), gantry_scalar_f32(scope, 30));
    (void)gantry_device_end(scope);
}

static void branching(gantry_scope_t *scope, tensor *const *x, tensor **y, void *user) {
    tensor *is_less;
    is_small(scope, x, &is_less, NULL);
    (void)gantry_device_begin(scope, "/CPU:0");
    (void)gantry_cond(scope, is_less, double_there, double_there, user, x, 1, y, 1);
    (void)gantry_device_end(scope);
}

static void looping(gantry_scope_t *scope, tensor *const *x, tensor **y, void *user) {
    (void)gantry_device_begin(scope, "/CPU:0");
    (void)gantry_while(scope, is_small, double_there, user, x, 1, NULL, y);
    (void)gantry_device_end(scope);
}

TEST(blocks_hold_in_and_around_branches_and_loops) {
    static const struct {
        gantry_function_body_fn body;
        float first;
    } cases[] = {{branching, 3}, {looping, 27}};
    for (size_t i = 0; i < 2; ++i) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 2);
        gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
        char *text = run_and_explain(&f, scope, cases[i].body, cases[i].first, 2 * cases[i].first);
        expect_node(text, "around Add float32[2] CPU:0 the requested device");
        expect_node(text, "there Add float32[2] GPU:1 the requested device");
        free(text);
        expect_ended_well(scope);
        runtime_fixture_close(&f);
    }
}

/* ---- pairs that are none ---- */

static void leaving_open(gantry_scope_t *scope, tensor *const *x, tensor **y, void *user) {
    (void)user;
    (void)gantry_device_begin(scope, "/CPU:0");
    y[0] = gantry_add(scope, x[0], x[0]);
}

static void ending_too_much(gantry_scope_t *scope, tensor *const *x, tensor **y, void *user) {
    (void)user;
    (void)gantry_device_end(scope);
    y[0] = gantry_add(scope, x[0], x[0]);
}

/* user: the scope of the call. */
static void ending_the_callers(gantry_scope_t *scope, tensor *const *x, tensor **y, void *user) {
    (void)gantry_device_end(*(gantry_scope_t **)user);
    y[0] = gantry_add(scope, x[0], x[0]);
}

static void leaving_the_callers(gantry_scope_t *scope, tensor *const *x, tensor **y, void *user) {
    (void)gantry_device_begin(*(gantry_scope_t **)user, "/CPU:0");
    y[0] = gantry_add(scope, x[0], x[0]);
}

static void branching_to_open(gantry_scope_t *scope, tensor *const *x, tensor **y, void *user) {
    tensor *is_less;
    is_small(scope, x, &is_less, NULL);
    (void)gantry_cond(scope, is_less, leaving_open, leaving_open, user, x, 1, y, 1);
}

static void looping_to_open(gantry_scope_t *scope, tensor *const *x, tensor **y, void *user) {
    (void)gantry_while(scope, is_small, leaving_open, user, x, 1, NULL, y);
}

TEST(unbalanced_bodies_are_refused) {
    static const struct {
        gantry_function_body_fn body;
        const char *message;
    } cases[] = {{leaving_open,
                  "function f: Exiting device scope without proper scope nesting: a "
                  "gantry_device_begin has no gantry_device_end, and requests " LOCAL("CPU:0")},
                 {branching_to_open, "has no gantry_device_end, and requests " LOCAL("CPU:0")},
                 {looping_to_open, "has no gantry_device_end, and requests " LOCAL("CPU:0")},
                 {ending_too_much, "function f: gantry_device_end: the scope has no open"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 2);
        expect_refusal(function_fixture_try(&f, cases[i].body, NULL), GANTRY_FAILED_PRECONDITION,
                       cases[i].message);
        gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
        gantry_function_t *eager = trace(&f, cases[i].body, NULL, true);
        tensor *x = F32(scope, 1, 2), *y;
        (void)gantry_function_call(scope, eager, &x, 1, &y, 1);
        expect_scope_failure(scope, GANTRY_FAILED_PRECONDITION, cases[i].message);
        gantry_function_release(eager);
        expect_on(gantry_add(scope, x, x), "/device:GPU:0");
        expect_ended_well(scope);
        runtime_fixture_close(&f);
    }
}

TEST(block_around_a_call_is_not_the_bodys) {
    static const struct {
        gantry_function_body_fn body;
        const char *message;
    } cases[] = {{ending_the_callers, "gantry_device_end: a body ends a gantry_device_begin"},
                 {leaving_the_callers, "has no gantry_device_end, and requests " LOCAL("CPU:0")}};
    for (size_t i = 0; i < 4; ++i) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 2);
        gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
        const gantry_input_spec_t open = SPEC_F32(-1);
        const gantry_function_options_t options = {.struct_size = sizeof options,
                                                   .runs_eagerly = i % 2};
        gantry_function_t *function =
            function_fixture_trace(f.runtime, cases[i / 2].body, &scope, &open, 1, 1, &options);
        tensor *x = F32(scope, 1, 2), *y;
        (void)gantry_device_begin(scope, "/GPU:1");
        (void)gantry_function_call(scope, function, &x, 1, &y, 1);
        expect_scope_failure(scope, GANTRY_FAILED_PRECONDITION, cases[i / 2].message);
        expect_on(gantry_add(scope, x, x), "/device:GPU:1");
        assert_int_equal(gantry_device_end(scope), GANTRY_OK);
        gantry_function_release(function);
        expect_ended_well(scope);
        runtime_fixture_close(&f);
    }
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
