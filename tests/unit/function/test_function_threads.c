/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Several threads call one function with more shapes than it keeps traces of, while others
 * explain it, trim it and release it. */
#define _XOPEN_SOURCE 700

#include <pthread.h>
#include <stdatomic.h>

#include "function_fixture.h"
#include "sanitized.h"
#include "test.h"

enum { CALLERS = 4, SIZES = 7, CALLS = FEWER_FOR_THREAD_SANITIZER(400, 60) };

/* The sum of x + 1, over and over, and a variable that counts the calls. */
static void counting(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *one = gantry_scalar_f32(scope, 1), *x = inputs[0];
    for (int i = 0; i < 8; ++i) x = gantry_add(scope, x, one);
    outputs[0] = gantry_sum(scope, x, NULL);
    (void)gantry_variable_assign_add(scope, user, one);
}

typedef struct caller_t {
    gantry_runtime_t *runtime;
    gantry_function_t *function;
    const char *device;
    int first, wrong;
} caller_t;

static void *call_each_size(void *argument) {
    caller_t *caller = argument;
    for (int call = 0; call < CALLS; ++call) {
        const int size = 1 + (caller->first + call * (1 + call % 3)) % SIZES;
        const float expected = (float)(size * 10);
        float got = 0;
        gantry_scope_t *scope = gantry_scope_begin(caller->runtime, caller->device);
        const gantry_tensor_t *x = gantry_fill(scope, GANTRY_SHAPE(size),
                                               gantry_scalar_f32(scope, 2)),
                              *y;
        if (gantry_function_call(scope, caller->function, &x, 1, &y, 1) != GANTRY_OK ||
            gantry_tensor_read(y, &got, sizeof got) != GANTRY_OK || got < expected ||
            got > expected)
            ++caller->wrong;
        if (gantry_scope_end(scope) != GANTRY_OK) ++caller->wrong;
        if (call % 16 != 5) continue;
        char text[256];
        uint64_t bytes;
        if (gantry_function_explain(caller->function, GANTRY_EXPLAIN_TEXT, text, sizeof text,
                                    NULL) != GANTRY_OK ||
            gantry_function_trim(caller->function, &bytes) != GANTRY_OK)
            ++caller->wrong;
    }
    return NULL;
}

static void check_many_sizes(uint32_t gpus, uint32_t most_traces, int32_t threads) {
    const gantry_input_spec_t input = SPEC_F32(-1);
    const gantry_function_options_t options = {
        .struct_size = sizeof options, .most_traces = most_traces, .inter_op_threads = threads};
    runtime_fixture_t f;
    runtime_fixture_open(&f, gpus);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    gantry_variable_t *count = gantry_variable_create(scope, gantry_scalar_f32(scope, 0), "count");
    gantry_function_t *function =
        function_fixture_trace(f.runtime, counting, count, &input, 1, 1, &options);
    pthread_t callers[CALLERS];
    caller_t given[CALLERS];
    for (int i = 0; i < CALLERS; ++i) {
        given[i] = (caller_t){f.runtime, function, gpus && i % 2 ? "GPU:0" : "CPU:0", i, 0};
        assert_int_equal(pthread_create(&callers[i], NULL, call_each_size, &given[i]), 0);
    }
    for (int i = 0; i < CALLERS; ++i) {
        (void)pthread_join(callers[i], NULL);
        assert_int_equal(given[i].wrong, 0);
    }
    EXPECT_F32(gantry_variable_read(scope, count), CALLERS * CALLS);
    gantry_function_release(function);
    gantry_variable_release(count);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(calls_of_more_shapes_than_traces_are_kept) {
    check_many_sizes(0, 1, 0);
    check_many_sizes(0, 3, 2);
    check_many_sizes(1, 2, 0);
}

/* ---- release ---- */

typedef struct meeting_t {
    gantry_runtime_t *runtime;
    gantry_function_t *function;
    atomic_int is_in_body, is_released;
    int wrong;
} meeting_t;

/* Waits in the body until the function is released. */
static void meeting(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    meeting_t *m = user;
    atomic_store(&m->is_in_body, 1);
    while (!atomic_load(&m->is_released)) sched_yield();
    outputs[0] = gantry_neg(scope, inputs[0]);
}

static void *call_and_meet(void *argument) {
    meeting_t *m = argument;
    float got[2] = {0};
    gantry_scope_t *scope = gantry_scope_begin(m->runtime, NULL);
    const gantry_tensor_t *x = F32(scope, 3, 4), *y;
    if (gantry_function_call(scope, m->function, &x, 1, &y, 1) != GANTRY_OK ||
        gantry_tensor_read(y, got, sizeof got) != GANTRY_OK || got[0] > -3 || got[1] > -4)
        ++m->wrong;
    if (gantry_scope_end(scope) != GANTRY_OK) ++m->wrong;
    return NULL;
}

TEST(a_release_ends_no_call_of_another_thread) {
    const gantry_input_spec_t input = SPEC_F32(-1);
    for (int is_eager = 0; is_eager < 2; ++is_eager) {
        const gantry_function_options_t options = {.struct_size = sizeof options,
                                                   .runs_eagerly = is_eager != 0};
        runtime_fixture_t f;
        pthread_t caller;
        runtime_fixture_open(&f, 0);
        meeting_t m = {.runtime = f.runtime};
        m.function = function_fixture_trace(f.runtime, meeting, &m, &input, 1, 1, &options);
        assert_int_equal(pthread_create(&caller, NULL, call_and_meet, &m), 0);
        while (!atomic_load(&m.is_in_body)) sched_yield();
        gantry_function_release(m.function);
        atomic_store(&m.is_released, 1);
        (void)pthread_join(caller, NULL);
        assert_int_equal(m.wrong, 0);
        runtime_fixture_close(&f);
    }
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
