/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Kernels of a function are replayed as a graph of the device with the values of the body,
 * whatever call of the backend fails, and run one by one where there is no graph.
 * Promise: A graph that is replayed overwrites a variable in place, a value that was read before
 * stays, and a step that fails leaves the variable whole. */
#define _XOPEN_SOURCE 700

#include <pthread.h>

#include "function_fixture.h"
#include "test.h"

#define CALLS 4 /* the second one records */

/* ((x + y) * x - y) + x, twice over: 8 kernels. */
static void eight(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                  const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *y = inputs[0];
    for (int i = 0; i < 2; ++i) {
        y = gantry_mul(scope, gantry_add(scope, y, inputs[0]), inputs[0]);
        y = gantry_add(scope, gantry_sub(scope, y, inputs[0]), inputs[0]);
    }
    outputs[0] = y;
}

static gantry_function_t *trace_eight(runtime_fixture_t *f, gantry_choice_t graphs) {
    const gantry_input_spec_t input = SPEC_F32(2);
    const gantry_function_options_t options = {
        .struct_size = sizeof options, .passes_off = GANTRY_PASS_ALL, .device_graphs = graphs};
    return function_fixture_trace(f->runtime, eight, NULL, &input, 1, 1, &options);
}

/* A call in a scope of its own; y NULL: its value is not asked for. */
static gantry_status_t call_eight(runtime_fixture_t *f, gantry_function_t *function, float *y) {
    gantry_scope_t *scope = gantry_scope_begin(f->runtime, "GPU:0");
    if (!scope) return GANTRY_RESOURCE_EXHAUSTED;
    const gantry_tensor_t *given = F32(scope, 2, 3), *got = NULL;
    gantry_status_t status = gantry_function_call(scope, function, &given, 1, &got, 1);
    if (status == GANTRY_OK && y) status = gantry_tensor_read(got, y, 2 * sizeof *y);
    gantry_status_t ended = gantry_scope_end(scope);
    return status == GANTRY_OK ? ended : status;
}

static void expect_eight(runtime_fixture_t *f, gantry_function_t *function) {
    float y[2] = {0, 0};
    if (call_eight(f, function, y) != GANTRY_OK) fail_msg("%s", gantry_last_message());
    assert_int_equal((int)y[0], 20); /* 2, 8, 20 */
    assert_int_equal((int)y[1], 63); /* 3, 18, 63 */
}

static const char *explanation(gantry_function_t *function) {
    static char text[16384];
    assert_int_equal(
        gantry_function_explain(function, GANTRY_EXPLAIN_TEXT, text, sizeof text, NULL), GANTRY_OK);
    return text;
}

static void expect_explained(gantry_function_t *function, const char *part) {
    if (!strstr(explanation(function), part))
        fail_msg("\"%s\" is not in \"%s\"", part, explanation(function));
}

TEST(later_calls_launch_the_graph) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_function_t *function = trace_eight(&f, GANTRY_DEFAULT);
    for (int k = 0; k < 20; ++k) expect_eight(&f, function);
    assert_int_equal(fake->calls("begin_capture"), 1);
    assert_int_equal(fake->calls("graph_launch"), 19);
    expect_explained(function,
                     "Add to Add_3 on GPU:0: 8 kernels, replayed as one graph: recorded 1 "
                     "time, launched 19 times");
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

TEST(a_graph_may_be_off_or_impossible) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_function_t *off = trace_eight(&f, GANTRY_OFF), *on = trace_eight(&f, GANTRY_ON);
    assert_true(fake->fail_calls("begin_capture", 1, 100, GANTRY_UNIMPLEMENTED, "not here"));
    for (int k = 0; k < 5; ++k) expect_eight(&f, off);
    assert_int_equal(fake->calls("begin_capture"), 0);
    for (int k = 0; k < 5; ++k) expect_eight(&f, on);
    assert_int_equal(fake->calls("begin_capture"), 1);
    assert_int_equal(fake->calls("graph_launch"), 0);
    expect_explained(off, "GPU:0: launched one by one: the option device_graphs is off");
    expect_explained(on, "launched one by one: the device refused to record them: not here");
    gantry_function_release(off);
    gantry_function_release(on);
    runtime_fixture_close(&f);
}

/* No part of the CPU's explanation is about launches. */
TEST(devices_without_a_queue_have_no_graphs) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function = trace_eight(&f, GANTRY_DEFAULT);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *given = F32(scope, 2, 3), *got;
    for (int k = 0; k < 3; ++k) {
        function_fixture_call(scope, function, &given, 1, &got, 1);
        EXPECT_F32(got, 20, 63);
    }
    expect_ended_well(scope);
    assert_null(strstr(explanation(function), "launches"));
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* ---- threads ---- */

typedef struct caller_t {
    runtime_fixture_t *f;
    gantry_function_t *function;
    pthread_t thread;
} caller_t;

static void *call_often(void *self) {
    const caller_t *caller = self;
    for (int k = 0; k < 100; ++k) expect_eight(caller->f, caller->function);
    return NULL;
}

/* Each has a frame with a graph of its own; both note what they find at one place. */
TEST(threads_replay_at_the_same_time) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_function_t *function = trace_eight(&f, GANTRY_DEFAULT);
    caller_t callers[2] = {{&f, function, 0}, {&f, function, 0}};
    for (int i = 0; i < 2; ++i)
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_often, &callers[i]), 0);
    for (int k = 0; k < 20; ++k) (void)explanation(function);
    for (int i = 0; i < 2; ++i) assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
    assert_in_range(fake->calls("graph_launch"), 1, 199);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* ---- failures ---- */

static uint64_t watched, failing;

static int32_t fail_one(const char *slot) {
    (void)slot;
    return ++watched == failing ? GANTRY_RESOURCE_EXHAUSTED : GANTRY_OK;
}

/* Number `first` of the slots' calls and pieces of work fails, in calls of which the second
 * records. */
static uint64_t run_with_failure(runtime_fixture_t *f, uint64_t first) {
    gantry_function_t *function = trace_eight(f, GANTRY_DEFAULT);
    watched = 0;
    failing = first;
    fake->set_watch(fail_one);
    for (int k = 0; k < CALLS; ++k) {
        float y[2];
        gantry_status_t status = call_eight(f, function, y);
        if (status != GANTRY_OK) assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
    }
    fake->set_watch(NULL);
    for (int k = 0; k < 3; ++k) expect_eight(f, function);
    gantry_function_release(function);
    return watched;
}

TEST(every_call_of_the_backend_may_fail) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_function_t *warm = trace_eight(&f, GANTRY_OFF);
    expect_eight(&f, warm);
    gantry_function_release(warm);
    uint64_t most = 1;
    for (uint64_t first = 1; first <= most; ++first) most = run_with_failure(&f, first);
    assert_in_range(most, 8 * 2, 1000);
    runtime_fixture_close(&f);
}

TEST(no_call_needs_the_memory_of_a_graph) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    long failed = 0;
    for (long n = 0;; ++n) {
        gantry_function_t *function = trace_eight(&f, GANTRY_DEFAULT);
        float y[2];
        bool is_well = true;
        runtime_fixture_starve(&f, n);
        for (int k = 0; k < CALLS; ++k) {
            gantry_status_t status = call_eight(&f, function, y);
            if (status != GANTRY_OK) assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
            is_well = is_well && status == GANTRY_OK;
        }
        const bool is_over = !runtime_fixture_feed(&f);
        for (int k = 0; k < 3; ++k) expect_eight(&f, function);
        gantry_function_release(function);
        assert_in_range(++failed, 1, 2000);
        if (is_well && is_over) break;
    }
    assert_in_range(failed, 10, 2000);
    runtime_fixture_close(&f);
}

TEST(a_lost_device_ends_its_graphs) {
    float y[2];
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_function_t *function = trace_eight(&f, GANTRY_DEFAULT);
    for (int k = 0; k < CALLS; ++k) expect_eight(&f, function);
    fake->set_lost(0, 1);
    assert_int_not_equal(call_eight(&f, function, y), GANTRY_OK);
    gantry_function_release(function);
    fake->set_lost(0, 0);
    runtime_fixture_close(&f);
}

/* ---- variables ---- */

typedef struct trainee_t {
    runtime_fixture_t f;
    gantry_scope_t *scope;
    gantry_variable_t *w;
    gantry_function_t *step;
} trainee_t;

/* w = w - (x * x + x) * x: 4 kernels, of which the last overwrites w. */
static void step_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *x = inputs[0];
    const trainee_t *t = user;
    outputs[0] = gantry_mul(scope, gantry_add(scope, gantry_mul(scope, x, x), x), x);
    (void)gantry_variable_assign(scope, t->w,
                                 gantry_sub(scope, gantry_variable_read(scope, t->w), outputs[0]));
}

static void trainee_open(trainee_t *t) {
    runtime_fixture_open(&t->f, 1);
    gantry_scope_t *scope = gantry_scope_begin(t->f.runtime, "GPU:0");
    const gantry_input_spec_t input = SPEC_F32(2);
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = GANTRY_PASS_ELEMENTWISE_FUSION};
    t->w = gantry_variable_create(scope, F32(scope, 0, 0), "w");
    t->step = function_fixture_trace(t->f.runtime, step_body, t, &input, 1, 1, &options);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

static void trainee_close(trainee_t *t) {
    gantry_function_release(t->step);
    gantry_variable_release(t->w);
    runtime_fixture_close(&t->f);
}

static gantry_status_t trainee_step(trainee_t *t) {
    gantry_scope_t *scope = gantry_scope_begin(t->f.runtime, "GPU:0");
    const gantry_tensor_t *given = F32(scope, 1, 2), *got;
    gantry_status_t status = gantry_function_call(scope, t->step, &given, 1, &got, 1);
    const gantry_status_t ended = gantry_scope_end(scope);
    return status == GANTRY_OK ? ended : status;
}

static void expect_steps(const gantry_tensor_t *w, int count) {
    float values[2];
    if (gantry_tensor_read(w, values, sizeof values) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_int_equal((int)values[0], -2 * count);
    assert_int_equal((int)values[1], -12 * count);
}

/* One graph serves all calls, because the new value has the address of the former one. A value that
 * the program holds stays. */
TEST(a_graph_overwrites_a_variable) {
    trainee_t t;
    trainee_open(&t);
    for (int k = 0; k < 20; ++k) assert_int_equal(trainee_step(&t), GANTRY_OK);
    expect_explained(t.step, "recorded 1 time, launched 19 times");
    gantry_scope_t *scope = gantry_scope_begin(t.f.runtime, "GPU:0");
    const gantry_tensor_t *held = gantry_variable_read(scope, t.w);
    expect_steps(held, 20);
    for (int k = 0; k < 3; ++k) assert_int_equal(trainee_step(&t), GANTRY_OK);
    expect_steps(held, 20);
    expect_steps(gantry_variable_read(scope, t.w), 23);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    trainee_close(&t);
}

/* Whether the variable has the value of a number of steps. Else it says what its kernel failed
 * with, and a new value heals it. */
static bool has_whole_steps(trainee_t *t, int least) {
    float values[2] = {0, 0};
    gantry_scope_t *scope = gantry_scope_begin(t->f.runtime, "GPU:0");
    const gantry_status_t status =
        gantry_tensor_read(gantry_variable_read(scope, t->w), values, sizeof values);
    if (status == GANTRY_OK) {
        assert_int_equal((int)values[1], 6 * (int)values[0]);
        assert_in_range(-(int)values[0] / 2, least, CALLS);
    } else {
        assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
        assert_int_equal(gantry_variable_assign(scope, t->w, F32(scope, 0, 0)), GANTRY_OK);
    }
    (void)gantry_scope_end(scope);
    return status == GANTRY_OK;
}

static uint64_t train_with_failure(uint64_t first, int *whole) {
    trainee_t t;
    int done = 0;
    trainee_open(&t);
    watched = 0;
    failing = first;
    fake->set_watch(fail_one);
    for (int k = 0; k < CALLS; ++k) done += trainee_step(&t) == GANTRY_OK;
    fake->set_watch(NULL);
    *whole += has_whole_steps(&t, done);
    for (int k = 0; k < 3; ++k) assert_int_equal(trainee_step(&t), GANTRY_OK);
    trainee_close(&t);
    return watched;
}

TEST(a_failed_step_keeps_the_variable) {
    uint64_t calls = 1, runs = 0; /* the number of calls differs a little between runs */
    int whole = 0;
    while (runs < calls) calls = train_with_failure(++runs, &whole);
    assert_in_range(runs, 8, 1000);
    assert_in_range(whole, 4, runs);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
