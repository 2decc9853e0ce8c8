/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A call that is started gives its outputs to the scope that waits for it, whatever its
 * starter released or ended meanwhile.
 * Promise: The callback of a started call comes once, when the devices have ended its work, and may
 * call Gantry; a wait returns after it.
 * Promise: Started calls run on at most as many threads as the runtime has between ops; with a
 * negative number the starter runs them.
 * Promise: Errors of a started call reach its wait and its callback, with function and node.
 * Promise: Without memory, a started call fails, and leaks nothing. */
#define _XOPEN_SOURCE 700

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "fork_child.h"
#include "fp_modes.h"
#include "function_fixture.h"
#include "sanitized.h"
#include "test.h"

/* ---- bodies ---- */

static void adding(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                   const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_add(scope, inputs[0], inputs[1]);
    outputs[1] = gantry_mul(scope, inputs[0], inputs[0]);
}

static const gantry_input_spec_t two[] = {{"a", GANTRY_FLOAT32, {.rank = 1, .dims = {2}}},
                                          {"b", GANTRY_FLOAT32, {.rank = 1, .dims = {2}}}};

static gantry_function_t *trace_adding(runtime_fixture_t *f,
                                       const gantry_function_options_t *options) {
    return function_fixture_trace(f->runtime, adding, NULL, two, 2, 2, options);
}

static gantry_call_t *start(gantry_scope_t *scope, gantry_function_t *function,
                            const gantry_tensor_t *const *inputs, size_t count,
                            gantry_call_fn callback, void *user) {
    const gantry_start_options_t options = {
        .struct_size = sizeof options, .callback = callback, .user = user};
    gantry_call_t *call;
    if (gantry_function_start(scope, function, inputs, count, &options, &call) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    return call;
}

/* ---- results ---- */

static void check_results(const char *device, bool is_eager, int32_t threads) {
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .runs_eagerly = is_eager};
    const gantry_tensor_t *y[2];
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    assert_int_equal(gantry_set_inter_op_parallelism_threads(f.runtime, threads), GANTRY_OK);
    gantry_function_t *function = trace_adding(&f, &options);
    gantry_scope_t *scope = runtime_fixture_scope(&f, device);
    const gantry_tensor_t *x[] = {F32(scope, 1, 2), F32(scope, 10, 20)};
    gantry_call_t *call = start(scope, function, x, 2, NULL, NULL);
    expect_ended_well(scope); /* its device is that of the call */
    gantry_function_release(function);
    gantry_scope_t *first = runtime_fixture_scope(&f, NULL);
    assert_int_equal(gantry_call_wait(call, NULL, NULL, 0), GANTRY_OK);
    bool is_done = false;
    assert_int_equal(gantry_call_is_done(call, &is_done), GANTRY_OK);
    assert_true(is_done);
    for (int again = 0; again < 2; ++again) { /* as often as the program likes */
        assert_int_equal(gantry_call_wait(call, first, y, 2), GANTRY_OK);
        EXPECT_F32(y[0], 11, 22);
        EXPECT_F32(y[1], 1, 4);
        expect_on(y[0], device);
    }
    gantry_call_release(call);
    EXPECT_F32(gantry_add(first, y[0], y[1]), 12, 26);
    expect_ended_well(first);
    runtime_fixture_close(&f);
}

TEST(results_are_those_of_a_call) {
    for (int is_eager = 0; is_eager < 2; ++is_eager) {
        for (int32_t threads = -1; threads < 3; ++threads) {
            check_results("/device:CPU:0", is_eager, threads);
            check_results("/device:GPU:0", is_eager, threads);
        }
    }
}

TEST(a_call_that_nobody_waits_for_is_run) {
    const gantry_input_spec_t input = SPEC_F32(2);
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, negating, NULL, &input, 1, 1, NULL);
    for (int i = 0; i < 20; ++i) {
        const gantry_tensor_t *x = F32(scope, 1, 2);
        gantry_call_release(start(scope, function, &x, 1, NULL, NULL));
        gantry_tensor_drop(scope, x);
    }
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- callbacks ---- */

typedef struct outcome_t {
    runtime_fixture_t *f;
    gantry_call_t *call;
    gantry_function_t *function;
    atomic_int count;
    uint64_t unended; /* work of the card when it was called */
    gantry_status_t status, other;
    char message[512];
    float got[2];
    gantry_call_t *next;
} outcome_t;

static void note_outcome(gantry_call_t *call, void *user) {
    outcome_t *outcome = user;
    const gantry_tensor_t *y[2];
    bool is_done = false;
    outcome->unended = fake->waiting(0);
    gantry_scope_t *scope = gantry_scope_begin(outcome->f->runtime, NULL);
    outcome->status = gantry_call_is_done(call, &is_done);
    if (outcome->status == GANTRY_OK && !is_done) outcome->status = GANTRY_INTERNAL;
    if (outcome->status == GANTRY_OK) outcome->status = gantry_call_wait(call, scope, y, 2);
    (void)snprintf(outcome->message, sizeof outcome->message, "%s", gantry_scope_message(scope));
    if (outcome->status == GANTRY_OK)
        outcome->status = gantry_tensor_read(y[0], outcome->got, sizeof outcome->got);
    (void)gantry_scope_end(scope);
    ++outcome->count;
}

TEST(the_callback_comes_when_the_device_has_ended) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    outcome_t outcome = {.f = &f};
    gantry_function_t *function = trace_adding(&f, NULL);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x[] = {F32(scope, 1, 2), F32(scope, 10, 20)}, *y[2];
    function_fixture_call(scope, function, x, 2, y, 2); /* programs are built */
    EXPECT_F32(y[0], 11, 22);
    fake->close_gate(0, RUNTIME_FIXTURE_GATE);
    gantry_call_t *call = start(scope, function, x, 2, note_outcome, &outcome);
    while (fake->waiting(0) == 0) sched_yield(); /* it is submitted */
    bool is_done = true;
    for (int i = 0; i < 100; ++i) {
        assert_int_equal(gantry_call_is_done(call, &is_done), GANTRY_OK);
        assert_false(is_done);
        assert_int_equal(outcome.count, 0);
        sched_yield();
    }
    fake->open_gate(0, RUNTIME_FIXTURE_GATE);
    assert_int_equal(gantry_call_wait(call, scope, y, 2), GANTRY_OK);
    assert_int_equal(outcome.count, 1); /* the wait is after it */
    assert_int_equal(outcome.unended, 0);
    assert_int_equal(outcome.status, GANTRY_OK);
    assert_true(outcome.got[0] > 10 && outcome.got[1] > 21);
    EXPECT_F32(y[0], 11, 22);
    gantry_call_release(call);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* A call without outputs: its work is an assignment. */
static void keeping(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    (void)outputs;
    (void)gantry_variable_assign_add(scope, user, inputs[0]);
}

static void count_call(gantry_call_t *call, void *user) {
    atomic_int *count = user;
    (void)call;
    ++*count;
}

TEST(a_call_without_outputs_ends_with_its_work) {
    const gantry_input_spec_t input = SPEC_F32(2);
    atomic_int count = 0;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    gantry_variable_t *sum = gantry_variable_create(scope, F32(scope, 1, 2), "sum");
    gantry_function_t *function =
        function_fixture_trace(f.runtime, keeping, sum, &input, 1, 0, NULL);
    const gantry_tensor_t *x = F32(scope, 3, 5);
    EXPECT_F32(gantry_variable_read(scope, sum), 1, 2);
    fake->close_gate(0, RUNTIME_FIXTURE_GATE);
    gantry_call_t *call = start(scope, function, &x, 1, count_call, &count);
    while (fake->waiting(0) == 0) sched_yield();
    for (int i = 0; i < 100; ++i) {
        assert_int_equal(count, 0);
        sched_yield();
    }
    fake->open_gate(0, RUNTIME_FIXTURE_GATE);
    assert_int_equal(gantry_call_wait(call, NULL, NULL, 0), GANTRY_OK);
    assert_int_equal(count, 1);
    EXPECT_F32(gantry_variable_read(scope, sum), 4, 7);
    gantry_call_release(call);
    gantry_function_release(function);
    gantry_variable_release(sum);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* Starts the next call, calls a function, and does what is refused. */
static void go_on(gantry_call_t *call, void *user) {
    outcome_t *outcome = user;
    const gantry_tensor_t *y[2], *z[2];
    gantry_scope_t *scope = gantry_scope_begin(outcome->f->runtime, NULL);
    if (gantry_call_wait(call, scope, y, 2) != GANTRY_OK ||
        gantry_function_call(scope, outcome->function, y, 2, z, 2) != GANTRY_OK ||
        gantry_tensor_read(z[0], outcome->got, sizeof outcome->got) != GANTRY_OK)
        outcome->status = gantry_scope_status(scope);
    (void)gantry_function_start(scope, outcome->function, y, 2, NULL, &outcome->next);
    outcome->other = gantry_call_wait(outcome->next, NULL, NULL, 0);
    (void)snprintf(outcome->message, sizeof outcome->message, "%s", gantry_last_message());
    (void)gantry_fail(GANTRY_OK, "");
    gantry_runtime_release(outcome->f->runtime);
    if (!strstr(gantry_last_message(), "a callback of a started call releases the runtime"))
        outcome->status = GANTRY_INTERNAL;
    if (gantry_runtime_synchronize(outcome->f->runtime) != GANTRY_OK)
        outcome->status = GANTRY_INTERNAL;
    if (gantry_scope_end(scope) != GANTRY_OK) outcome->status = GANTRY_INTERNAL;
    gantry_call_release(call); /* the starter's reference */
    atomic_store(&outcome->count, 1);
}

TEST(a_callback_may_call_gantry) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    assert_int_equal(gantry_set_inter_op_parallelism_threads(f.runtime, 1), GANTRY_OK);
    gantry_function_t *function = trace_adding(&f, NULL);
    outcome_t outcome = {.f = &f, .function = function};
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x[] = {F32(scope, 1, 2), F32(scope, 10, 20)}, *y[2];
    (void)start(scope, function, x, 2, go_on, &outcome);
    while (!atomic_load(&outcome.count)) sched_yield();
    assert_int_equal(outcome.status, GANTRY_OK);
    assert_true(outcome.got[0] > 11 && outcome.got[0] < 13); /* 11 + 1 */
    assert_int_equal(outcome.other, GANTRY_FAILED_PRECONDITION);
    assert_string_equal(outcome.message,
                        "function f: a callback waits for a call that has not ended, which may "
                        "wait for the callback's thread; a call that has ended is accepted");
    assert_int_equal(gantry_call_wait(outcome.next, scope, y, 2), GANTRY_OK);
    EXPECT_F32(y[0], 12, 26);
    gantry_call_release(outcome.next);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

typedef struct in_mode_t {
    gantry__fp_mode_t wanted;
    int wrong, calls;
} in_mode_t;

static void check_mode(gantry_call_t *call, void *user) {
    in_mode_t *mode = user;
    (void)call;
    mode->wrong += !gantry__fp_equal(gantry__fp_read(), mode->wanted);
    ++mode->calls;
}

TEST(a_callback_has_the_floating_point_mode_of_the_starter) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function = trace_adding(&f, NULL);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x[] = {F32(scope, 1, 2), F32(scope, 10, 20)};
    in_mode_t mode = {.wrong = 0};
    for (size_t m = 0; m < FP_MODES; ++m) {
        const gantry__fp_mode_t before = fp_mode_set(&fp_modes[m]);
        mode.wanted = gantry__fp_read();
        gantry_call_t *call = start(scope, function, x, 2, check_mode, &mode);
        const gantry_status_t status = gantry_call_wait(call, NULL, NULL, 0);
        gantry_call_release(call);
        gantry__fp_write(before);
        assert_int_equal(status, GANTRY_OK);
    }
    assert_int_equal(mode.calls, FP_MODES);
    assert_int_equal(mode.wrong, 0);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- errors ---- */

static void picking(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    (void)user;
    gantry_scope_name_next(scope, "pick");
    outputs[0] = gantry_gather(scope, inputs[0], inputs[1], 0);
    outputs[1] = gantry_neg(scope, outputs[0]);
}

static void check_error(const char *device) {
    const gantry_input_spec_t inputs[] = {SPEC_F32(3), SPEC_I32(2)};
    char text[256];
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    outcome_t outcome = {.f = &f};
    gantry_scope_t *scope = runtime_fixture_scope(&f, device);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, picking, NULL, inputs, 2, 2, NULL);
    const gantry_tensor_t *x[] = {F32(scope, 1, 2, 3), I32(scope, 0, 7)}, *y[2];
    gantry_call_t *call = start(scope, function, x, 2, note_outcome, &outcome);
    (void)snprintf(text, sizeof text,
                   "function f: node pick (Gather) of float32[3], int32[2], int32[] on %s: "
                   "indices[1] = 7 is not in [0, 3)",
                   device);
    for (int again = 0; again < 2; ++again) {
        assert_int_equal(gantry_call_wait(call, scope, y, 2), GANTRY_INVALID_ARGUMENT);
        assert_null(y[0]);
        assert_string_equal(gantry_scope_message(scope), text);
        gantry_scope_clear(scope);
    }
    expect_refusal(gantry_call_wait(call, NULL, NULL, 0), GANTRY_INVALID_ARGUMENT, text);
    assert_int_equal(outcome.status, GANTRY_INVALID_ARGUMENT);
    assert_string_equal(outcome.message, text);
    gantry_call_release(call);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(errors_reach_wait_and_callback) {
    check_error("/device:CPU:0");
    check_error("/device:GPU:0");
}

TEST(a_lost_device_ends_the_call) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    outcome_t outcome = {.f = &f};
    gantry_function_t *function = trace_adding(&f, NULL);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x[] = {F32(scope, 1, 2), F32(scope, 10, 20)}, *y[2];
    function_fixture_call(scope, function, x, 2, y, 2);
    assert_int_equal(gantry_tensor_wait(y[0]), GANTRY_OK);
    fake->close_gate(0, RUNTIME_FIXTURE_GATE);
    gantry_call_t *call = start(scope, function, x, 2, note_outcome, &outcome);
    while (fake->waiting(0) == 0) sched_yield();
    fake->set_lost(0, 1);
    assert_int_equal(gantry_call_wait(call, NULL, NULL, 0), GANTRY_UNAVAILABLE);
    assert_non_null(strstr(gantry_last_message(), "function f: "));
    assert_int_equal(outcome.status, GANTRY_UNAVAILABLE);
    gantry_call_release(call);
    gantry_function_release(function);
    (void)gantry_scope_end(scope);
    fake->set_lost(0, 0);
    runtime_fixture_close(&f);
}

/* ---- threads ---- */

enum { MANY = 24 };

typedef struct crowd_t {
    atomic_int inside, most, ended;
    pthread_t starter;
    int on_starter;
    int order[MANY];
} crowd_t;

typedef struct member_t {
    crowd_t *crowd;
    int number;
} member_t;

static void crowd(gantry_call_t *call, void *user) {
    member_t *member = user;
    crowd_t *all = member->crowd;
    (void)call;
    const int inside = atomic_fetch_add(&all->inside, 1) + 1;
    for (int seen = atomic_load(&all->most); seen < inside;)
        if (atomic_compare_exchange_weak(&all->most, &seen, inside)) break;
    for (int i = 0; i < 50; ++i) sched_yield();
    if (pthread_equal(all->starter, pthread_self())) ++all->on_starter;
    all->order[atomic_fetch_add(&all->ended, 1)] = member->number;
    atomic_fetch_sub(&all->inside, 1);
}

static void check_threads(int32_t threads, int most) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    assert_int_equal(gantry_set_inter_op_parallelism_threads(f.runtime, threads), GANTRY_OK);
    gantry_function_t *function = trace_adding(&f, NULL);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x[] = {F32(scope, 1, 2), F32(scope, 10, 20)};
    crowd_t all = {.starter = pthread_self()};
    member_t members[MANY];
    for (int i = 0; i < MANY; ++i) {
        members[i] = (member_t){&all, i};
        gantry_call_release(start(scope, function, x, 2, crowd, &members[i]));
        if (threads < 0) assert_int_equal(all.ended, i + 1);
    }
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK); /* waits for them */
    assert_int_equal(all.ended, MANY);
    assert_in_range(all.most, 1, most);
    assert_int_equal(all.on_starter, threads < 0 ? MANY : 0);
    for (int i = 0; most == 1 && i < MANY; ++i) assert_int_equal(all.order[i], i);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(threads_are_those_between_ops) {
    check_threads(0, 4);
    check_threads(1, 1);
    check_threads(2, 2);
    check_threads(-1, 1);
}

TEST(the_release_of_the_runtime_waits_for_calls) {
    for (uint32_t round = 0; round < FEWER_FOR_SANITIZERS(20, 5); ++round) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, round % 2);
        gantry_function_t *function = trace_adding(&f, NULL);
        gantry_scope_t *scope = runtime_fixture_scope(&f, round % 2 ? "GPU:0" : "CPU:0");
        const gantry_tensor_t *x[] = {F32(scope, 1, 2), F32(scope, 10, 20)};
        atomic_int count = 0;
        for (int i = 0; i < MANY; ++i)
            gantry_call_release(start(scope, function, x, 2, count_call, &count));
        gantry_function_release(function);
        expect_ended_well(scope);
        runtime_fixture_close(&f);
        assert_int_equal(count, MANY);
    }
}

TEST(a_call_outlives_the_runtime) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function = trace_adding(&f, NULL);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x[] = {F32(scope, 1, 2), F32(scope, 10, 20)}, *y[2];
    gantry_call_t *call = start(scope, function, x, 2, NULL, NULL);
    gantry_runtime_release(f.runtime);
    expect_refusal(gantry_call_wait(call, NULL, NULL, 0), GANTRY_FAILED_PRECONDITION,
                   "the runtime was released");
    expect_refusal(gantry_call_wait(call, scope, y, 2), GANTRY_FAILED_PRECONDITION,
                   "the runtime was released");
    gantry_call_t *late = call;
    expect_refusal(gantry_function_start(scope, function, x, 2, NULL, &late),
                   GANTRY_FAILED_PRECONDITION, "the runtime was released");
    assert_null(late);
    gantry_function_release(function);
    (void)gantry_scope_end(scope);
    gantry_call_release(call); /* the last object */
    runtime_fixture_expect_no_leak(&f);
    locked_heap_deinit(&f.heap);
}

enum { STARTERS = 4, STARTS = FEWER_FOR_THREAD_SANITIZER(200, 40) };

typedef struct starter_t {
    runtime_fixture_t *f;
    gantry_function_t *function;
    atomic_int *outcome;
    const char *device;
    int wrong;
} starter_t;

static void *start_many(void *argument) {
    starter_t *me = argument;
    for (int i = 0; i < STARTS; ++i) {
        gantry_scope_t *scope = gantry_scope_begin(me->f->runtime, me->device);
        const gantry_tensor_t *x[] = {F32(scope, 1, 2), F32(scope, (float)i, 20)}, *y[2];
        const gantry_start_options_t options = {sizeof options, count_call, me->outcome};
        gantry_call_t *call;
        float got[2] = {0};
        if (gantry_function_start(scope, me->function, x, 2, &options, &call) != GANTRY_OK)
            ++me->wrong;
        gantry_tensor_drop(scope, x[0]);
        if (i % 4 == 3) { /* nobody waits */
            gantry_call_release(call);
            if (gantry_scope_end(scope) != GANTRY_OK) ++me->wrong;
            continue;
        }
        if (i % 4 == 2 && gantry_function_trim(me->function, NULL) != GANTRY_OK) ++me->wrong;
        if (gantry_call_wait(call, scope, y, 2) != GANTRY_OK ||
            gantry_tensor_read(y[0], got, sizeof got) != GANTRY_OK || got[0] < (float)(i + 1) ||
            got[0] > (float)(i + 1))
            ++me->wrong;
        gantry_call_release(call);
        if (gantry_scope_end(scope) != GANTRY_OK) ++me->wrong;
    }
    return NULL;
}

TEST(several_threads_start_calls) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    atomic_int outcome = 0;
    gantry_function_t *function = trace_adding(&f, NULL);
    pthread_t threads[STARTERS];
    starter_t starters[STARTERS];
    for (int i = 0; i < STARTERS; ++i) {
        starters[i] = (starter_t){&f, function, &outcome, i % 2 ? "GPU:0" : "CPU:0", 0};
        assert_int_equal(pthread_create(&threads[i], NULL, start_many, &starters[i]), 0);
    }
    for (int i = 0; i < STARTERS; ++i) {
        (void)pthread_join(threads[i], NULL);
        assert_int_equal(starters[i].wrong, 0);
    }
    gantry_function_release(function);
    runtime_fixture_close(&f);
    assert_int_equal(outcome, STARTERS * STARTS);
}

/* ---- what is refused ---- */

static gantry_status_t see_nothing(gantry_scope_t *scope, const gantry_observation_t *observation,
                                   void *user) {
    (void)scope, (void)observation, (void)user;
    return GANTRY_OK;
}

typedef struct starting_t {
    gantry_function_t *function;
    gantry_status_t status;
} starting_t;

static void starting(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    starting_t *given = user;
    const gantry_tensor_t *x[] = {inputs[0], inputs[0]};
    gantry_call_t *call;
    given->status = gantry_function_start(scope, given->function, x, 2, NULL, &call);
    outputs[0] = inputs[0];
}

TEST(bad_starts_are_refused) {
    runtime_fixture_t f, g;
    runtime_fixture_open(&f, 0);
    gantry_runtime_options_t options = runtime_fixture_options(&g);
    runtime_fixture_open_with(&g, &options);
    gantry_function_t *function = trace_adding(&f, NULL), *foreign = trace_adding(&g, NULL);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *right[] = {F32(scope, 1, 2), F32(scope, 10, 20)},
                          *wrong[] = {right[0], F32(scope, 1, 2, 3)}, *none[] = {right[0], NULL};
    const struct {
        gantry_function_t *function;
        const gantry_tensor_t *const *inputs;
        size_t count;
        const char *text;
    } cases[] = {
        {NULL, right, 2, "gantry_function_start: the function is NULL; one from"},
        {foreign, right, 2, "function f belongs to another runtime than the scope"},
        {function, right, 1, "function f is called with 1 inputs and 2 outputs; 2 and 2 are"},
        {function, NULL, 2, "function f: the array of inputs is NULL; an array of 2 is accepted"},
        {function, none, 2, "function f: input 1 is NULL; a tensor of its runtime is accepted"},
        {function, wrong, 2, "input 1 is float32[3]; its signature accepts float32[2]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        gantry_call_t *call = (gantry_call_t *)(void *)&f;
        assert_int_equal(gantry_function_start(scope, cases[i].function, cases[i].inputs,
                                               cases[i].count, NULL, &call),
                         GANTRY_INVALID_ARGUMENT);
        expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, cases[i].text);
        assert_null(call);
    }
    (void)gantry_function_start(scope, function, right, 2, NULL, NULL);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "out_call is NULL");
    gantry_observer_t observer = {.observe = see_nothing};
    gantry_call_t *call;
    assert_int_equal(gantry_scope_observe(scope, &observer), GANTRY_OK);
    (void)gantry_function_start(scope, function, right, 2, NULL, &call);
    gantry_scope_unobserve(scope, &observer);
    expect_scope_failure(scope, GANTRY_FAILED_PRECONDITION,
                         "function f is started in a scope with an observer, such as a tape");
    starting_t given = {.function = function};
    expect_refusal(function_fixture_try(&f, starting, &given), GANTRY_FAILED_PRECONDITION,
                   "function f is started in the body of a function that is traced; "
                   "gantry_function_call is accepted there");
    assert_int_equal(given.status, GANTRY_FAILED_PRECONDITION);
    expect_ended_well(scope);
    gantry_function_release(function);
    gantry_function_release(foreign);
    gantry_runtime_release(g.runtime);
    runtime_fixture_close(&f);
    runtime_fixture_expect_no_leak(&g);
    locked_heap_deinit(&g.heap);
}

TEST(bad_waits_are_refused) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function = trace_adding(&f, NULL);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x[] = {F32(scope, 1, 2), F32(scope, 10, 20)}, *y[3];
    gantry_call_t *call = start(scope, function, x, 2, NULL, NULL);
    (void)gantry_call_wait(call, scope, y, 3);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "function f: gantry_call_wait gets room for 3 outputs; 2 and 0 are");
    (void)gantry_call_wait(call, scope, NULL, 2);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "function f: the array of outputs is NULL; an array of 2 is accepted");
    expect_refusal(gantry_call_wait(call, NULL, y, 2), GANTRY_INVALID_ARGUMENT,
                   "gantry_call_wait: the scope is NULL");
    (void)gantry_call_wait(NULL, scope, y, 2);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "the call is NULL");
    expect_refusal(gantry_call_is_done(call, NULL), GANTRY_INVALID_ARGUMENT,
                   "gantry_call_is_done: out_is_done is NULL");
    /* a scope that has failed keeps its error, and the wait waits */
    (void)gantry_scope_fail(scope, GANTRY_ABORTED, "before");
    assert_int_equal(gantry_call_wait(call, scope, y, 2), GANTRY_ABORTED);
    assert_null(y[0]);
    gantry_scope_clear(scope);
    assert_int_equal(gantry_call_wait(call, scope, y, 2), GANTRY_OK);
    EXPECT_F32(y[0], 11, 22);
    gantry_call_release(call);
    gantry_call_release(NULL);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(a_child_of_fork_is_refused) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function = trace_adding(&f, NULL);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x[] = {F32(scope, 1, 2), F32(scope, 10, 20)}, *y[2];
    gantry_call_t *call = start(scope, function, x, 2, NULL, NULL);
    assert_int_equal(gantry_call_wait(call, NULL, NULL, 0), GANTRY_OK);
    wait_until_threads_sleep();
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(HANG_SECONDS);
        bool is_done;
        gantry_call_t *second;
        CHECK(gantry_call_wait(call, NULL, NULL, 0) == GANTRY_FAILED_PRECONDITION);
        CHECK(gantry_call_wait(call, scope, y, 2) == GANTRY_FAILED_PRECONDITION);
        CHECK(gantry_call_is_done(call, &is_done) == GANTRY_FAILED_PRECONDITION);
        CHECK(gantry_function_start(scope, function, x, 2, NULL, &second) ==
              GANTRY_FAILED_PRECONDITION);
        gantry_call_release(call);
        gantry_runtime_release(f.runtime);
        _exit(0);
    }
    fork_child_expect_success(child);
    assert_int_equal(gantry_call_wait(call, scope, y, 2), GANTRY_OK);
    EXPECT_F32(y[0], 11, 22);
    gantry_call_release(call);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- memory ---- */

static gantry_status_t start_and_wait(gantry_scope_t *scope) {
    gantry_function_t *function = NULL;
    gantry_call_t *call = NULL;
    const gantry_tensor_t *x[] = {F32(scope, 1, 2), F32(scope, 10, 20)}, *y[2];
    atomic_int count = 0;
    const gantry_start_options_t options = {sizeof options, count_call, &count};
    float got[2];
    gantry_status_t status = gantry_scope_status(scope);
    if (status == GANTRY_OK)
        status = gantry_function_trace(gantry_scope_runtime(scope), "f", adding, NULL, two, 2, 2,
                                       NULL, &function);
    if (status == GANTRY_OK) status = gantry_function_start(scope, function, x, 2, &options, &call);
    const bool is_started = status == GANTRY_OK;
    if (status == GANTRY_OK) status = gantry_call_wait(call, scope, y, 2);
    assert_int_equal(count, is_started);
    if (status == GANTRY_OK) status = gantry_tensor_read(y[0], got, sizeof got);
    if (status == GANTRY_OK) assert_true(got[0] > 10 && got[1] > 21);
    gantry_call_release(call);
    gantry_function_release(function);
    return status;
}

TEST(without_memory_calls_fail) {
    runtime_fixture_starve_each(0, "CPU:0", start_and_wait);
    runtime_fixture_starve_each(1, "GPU:0", start_and_wait);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
