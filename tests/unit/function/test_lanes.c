/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Parts of a function that do not depend on each other run at the same time, on one device
 * by request and on several always, with the values of the ops run one by one.
 * Promise: A runtime's number of threads between ops, by call, option or environment, holds for
 * each function whose own is 0; a negative one takes only the caller's thread. */
#define _XOPEN_SOURCE 700

#include <pthread.h>

#include "function/call/function.h"
#include "runtime_fixture.h"
#include "sanitized.h"
#include "test.h"

enum { WIDTH = 6, DEPTH = 20, ELEMENTS = 40000, CALLERS = 3 };
enum { ROUNDS = FEWER_FOR_SANITIZERS(20, 2) };

#define SPEC_F32(...) \
    (gantry_input_spec_t) { NULL, GANTRY_FLOAT32, GANTRY_SHAPE(__VA_ARGS__) }

/* WIDTH chains, each step of which uses its neighbour too, on the devices in turn. */
static void weave(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                  const gantry_tensor_t **outputs, void *user) {
    const char *const *devices = user;
    const gantry_tensor_t *at[WIDTH], *next[WIDTH];
    gantry_scope_t *scopes[2];
    for (int d = 0; d < 2; ++d) scopes[d] = gantry_scope_begin_in(scope, devices[d]);
    for (int i = 0; i < WIDTH; ++i)
        at[i] = gantry_mul(scopes[i % 2], inputs[0], gantry_scalar_f32(scope, (float)i));
    for (int step = 0; step < DEPTH; ++step) {
        for (int i = 0; i < WIDTH; ++i) {
            const gantry_tensor_t *with = at[(i + (step % 3 == 0)) % WIDTH];
            const gantry_tensor_t *sum = gantry_add(scopes[i % 2], at[i], with);
            next[i] = gantry_mul(scopes[i % 2], sum, gantry_scalar_f32(scope, 0.375f));
        }
        for (int i = 0; i < WIDTH; ++i) at[i] = next[i];
    }
    for (int i = 0; i < WIDTH; ++i) outputs[i] = gantry_identity(scope, at[i]);
    for (int d = 1; d >= 0; --d) (void)gantry_scope_end(scopes[d]);
}

static gantry_function_t *trace(gantry_runtime_t *runtime, gantry_function_body_fn body,
                                const void *user, size_t outputs, int32_t threads, bool is_eager) {
    const gantry_input_spec_t input = SPEC_F32(ELEMENTS);
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .inter_op_threads = threads,
                                               .runs_eagerly = is_eager,
                                               .passes_off = GANTRY_PASS_ELEMENTWISE_FUSION};
    gantry_function_t *function;
    void *given;
    memcpy(&given, &user, sizeof given);
    if (gantry_function_trace(runtime, "woven", body, given, &input, 1, outputs, &options,
                              &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return function;
}

static const gantry_tensor_t *ramp(gantry_scope_t *scope) {
    static float values[ELEMENTS];
    for (int i = 0; i < ELEMENTS; ++i) values[i] = (float)(i % 1000) * 0.01f;
    return gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(ELEMENTS), values, sizeof values);
}

static void expect_same(const gantry_tensor_t *a, const gantry_tensor_t *b) {
    static float left[ELEMENTS], right[ELEMENTS];
    assert_int_equal(gantry_tensor_read(a, left, sizeof left), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(b, right, sizeof right), GANTRY_OK);
    assert_memory_equal(left, right, sizeof left);
}

static uint32_t lanes_of(gantry_function_t *function) {
    gantry__specialization_t *traced;
    assert_int_equal(gantry__function_newest(function, &traced), GANTRY_OK);
    const uint32_t lanes = traced->schedule.lane_count;
    gantry__function_leave(function, traced);
    return lanes;
}

static void check_weave(gantry_runtime_t *runtime, const char *const *devices, int32_t threads,
                        uint32_t lanes) {
    gantry_function_t *eager = trace(runtime, weave, devices, WIDTH, -1, true),
                      *function = trace(runtime, weave, devices, WIDTH, threads, false);
    gantry_scope_t *scope = gantry_scope_begin(runtime, "CPU:0");
    const gantry_tensor_t *given = ramp(scope), *expected[WIDTH], *got[WIDTH];
    assert_int_equal(gantry_function_call(scope, eager, &given, 1, expected, WIDTH), GANTRY_OK);
    for (int round = 0; round < ROUNDS; ++round) {
        assert_int_equal(gantry_function_call(scope, function, &given, 1, got, WIDTH), GANTRY_OK);
        for (int i = 0; i < WIDTH; ++i) {
            expect_same(got[i], expected[i]);
            gantry_tensor_drop(scope, got[i]);
        }
    }
    assert_int_equal(lanes_of(function), lanes);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    gantry_function_release(function);
    gantry_function_release(eager);
}

TEST(chains_on_one_device_run_on_as_many_threads_as_asked) {
    static const char *const devices[] = {"CPU:0", "CPU:0"};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    check_weave(f.runtime, devices, -1, 1);
    check_weave(f.runtime, devices, 0, 1);
    check_weave(f.runtime, devices, 1, 1);
    check_weave(f.runtime, devices, 2, 2);
    check_weave(f.runtime, devices, 4, 4);
    runtime_fixture_close(&f);
}

TEST(parts_of_the_cpu_run_at_the_same_time_unasked) {
    static const char *const devices[] = {"CPU:0", "CPU:1"};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    assert_int_equal(gantry_set_logical_cpu_devices(f.runtime, 2), GANTRY_OK);
    check_weave(f.runtime, devices, 0, 2);
    check_weave(f.runtime, devices, -1, 1);
    runtime_fixture_close(&f);
}

/* By the environment, an option over it, and a call over both; then a function's own number. */
TEST(threads_of_the_runtime_hold_where_a_function_has_none) {
    static const char *const devices[] = {"CPU:0", "CPU:1"};
    static const struct {
        const char *environment;
        int32_t option;
        bool calls;
        int32_t call;
        uint32_t lanes;
    } cases[] = {{NULL, 0, false, 0, 2}, {"4", 0, false, 0, 4},  {"-1", 0, false, 0, 1},
                 {"4", 3, false, 0, 3},  {"4", -7, false, 0, 1}, {"4", 3, true, 0, 2},
                 {"4", 3, true, -2, 1},  {"-1", 1, true, 5, 5}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        runtime_fixture_t f;
        gantry_runtime_options_t options = runtime_fixture_options(&f);
        options.inter_op_threads = cases[i].option;
        if (cases[i].environment) (void)setenv("GANTRY_INTER_OP_THREADS", cases[i].environment, 1);
        runtime_fixture_open_with(&f, &options);
        (void)unsetenv("GANTRY_INTER_OP_THREADS");
        if (cases[i].calls)
            assert_int_equal(gantry_set_inter_op_parallelism_threads(f.runtime, cases[i].call),
                             GANTRY_OK);
        assert_int_equal(gantry_set_logical_cpu_devices(f.runtime, 2), GANTRY_OK);
        check_weave(f.runtime, devices, 0, cases[i].lanes);
        check_weave(f.runtime, devices, -1, 1);
        check_weave(f.runtime, devices, 6, 6);
        runtime_fixture_close(&f);
    }
}

TEST(function_has_the_threads_of_the_one_that_it_was_made_for) {
    static const char *const devices[] = {"CPU:0", "CPU:0"};
    static const int32_t own[] = {0, -1, 2};
    static const uint32_t lanes[] = {4, 1, 2};
    const gantry_input_spec_t input = SPEC_F32(ELEMENTS);
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *first = trace(f.runtime, weave, devices, WIDTH, 4, false);
    for (size_t i = 0; i < 3; ++i) {
        const gantry_function_options_t options = {.struct_size = sizeof options,
                                                   .inter_op_threads = own[i],
                                                   .passes_off = GANTRY_PASS_ELEMENTWISE_FUSION,
                                                   .trimmed_with = first};
        gantry_function_t *made;
        assert_int_equal(gantry_function_trace(f.runtime, "made", weave, (void *)(uintptr_t)devices,
                                               &input, 1, WIDTH, &options, &made),
                         GANTRY_OK);
        assert_int_equal(lanes_of(made), lanes[i]);
        gantry_function_release(made);
    }
    gantry_function_release(first);
    runtime_fixture_close(&f);
}

/* Kernels of one part read the other's values where they lie. */
TEST(parts_of_the_cpu_copy_nothing_for_each_other) {
    static const char *const devices[] = {"CPU:0", "CPU:1"};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    assert_int_equal(gantry_set_logical_cpu_devices(f.runtime, 2), GANTRY_OK);
    gantry_function_t *function = trace(f.runtime, weave, devices, WIDTH, 0, false);
    gantry__specialization_t *traced;
    assert_int_equal(gantry__function_newest(function, &traced), GANTRY_OK);
    assert_int_equal(traced->schedule.copied_bytes, 0);
    gantry__function_leave(function, traced);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

TEST(cpu_and_gpu_exchange_values_between_lanes) {
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    check_weave(f.runtime, devices, 0, 1);
    check_weave(f.runtime, devices, 3, 3);
    runtime_fixture_close(&f);
}

/* ---- variables ---- */

typedef struct own_t {
    gantry_variable_t *own[2], *shared; /* a variable of each part, and one of both */
} own_t;

/* Each part changes its variable; the shared one is doubled, raised by 1 on the other part, and
 * read. */
static void update_own(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user) {
    const own_t *o = user;
    gantry_scope_t *scopes[2];
    for (int d = 0; d < 2; ++d) scopes[d] = gantry_scope_begin_in(scope, d ? "CPU:1" : "CPU:0");
    const gantry_tensor_t *count = gantry_variable_read(scopes[0], o->shared);
    (void)gantry_variable_assign(scopes[0], o->shared, gantry_add(scopes[0], count, count));
    for (int d = 0; d < 2; ++d) {
        const gantry_tensor_t *x = inputs[0];
        for (int i = 0; i < DEPTH; ++i)
            x = gantry_mul(scopes[d], gantry_add(scopes[d], x, inputs[0]),
                           gantry_scalar_f32(scope, 0.25f));
        const gantry_tensor_t *now = gantry_variable_read(scopes[d], o->own[d]);
        (void)gantry_variable_assign(scopes[d], o->own[d], gantry_sub(scopes[d], now, x));
    }
    count = gantry_variable_read(scopes[1], o->shared);
    (void)gantry_variable_assign(scopes[1], o->shared,
                                 gantry_add(scopes[1], count, gantry_scalar_f32(scope, 1)));
    outputs[0] = gantry_identity(scope, gantry_variable_read(scopes[0], o->shared));
    for (int d = 1; d >= 0; --d) (void)gantry_scope_end(scopes[d]);
}

static void make_own(gantry_scope_t *scope, own_t *o) {
    for (int d = 0; d < 2; ++d) {
        gantry_scope_t *on = gantry_scope_begin_in(scope, d ? "CPU:1" : "CPU:0");
        const gantry_tensor_t *zeros = gantry_zeros(on, GANTRY_FLOAT32, GANTRY_SHAPE(ELEMENTS));
        o->own[d] = gantry_variable_create(on, zeros, d ? "second" : "first");
        (void)gantry_scope_end(on);
    }
    o->shared = gantry_variable_create(scope, gantry_scalar_f32(scope, 1), "shared");
}

static void release_own(own_t *o) {
    for (int d = 0; d < 2; ++d) gantry_variable_release(o->own[d]);
    gantry_variable_release(o->shared);
}

/* The other part's assignments are none of its waits. */
static void expect_free_assigns(const gantry__schedule_t *schedule, const own_t *o) {
    uint32_t found = 0;
    assert_int_equal(schedule->lane_count, 2);
    assert_int_equal(schedule->overwrite_count, 3); /* own ones, and the shared one once */
    for (uint32_t i = 0; i < schedule->action_count; ++i) {
        const gantry__action_t *action = &schedule->actions[i];
        const gantry_variable_t *variable = schedule->graph->nodes[action->node].variable;
        if (action->kind != GANTRY__ACTION_ASSIGN ||
            (variable != o->own[0] && variable != o->own[1]))
            continue;
        assert_int_equal(action->wait_count, 0);
        ++found;
    }
    assert_int_equal(found, 2);
}

static void check_updates(int32_t threads) {
    runtime_fixture_t f;
    own_t lanes, eager;
    runtime_fixture_open(&f, 0);
    assert_int_equal(gantry_set_logical_cpu_devices(f.runtime, 2), GANTRY_OK);
    gantry_scope_t *scope = gantry_scope_begin(f.runtime, "CPU:0");
    make_own(scope, &lanes);
    make_own(scope, &eager);
    gantry_function_t *function = trace(f.runtime, update_own, &lanes, 1, threads, false);
    gantry__specialization_t *traced;
    assert_int_equal(gantry__function_newest(function, &traced), GANTRY_OK);
    if (threads == 0) expect_free_assigns(&traced->schedule, &lanes);
    gantry__function_leave(function, traced);
    const gantry_tensor_t *given = ramp(scope), *out;
    float expected = 1;
    for (int round = 0; round < ROUNDS; ++round) {
        assert_int_equal(gantry_function_call(scope, function, &given, 1, &out, 1), GANTRY_OK);
        expected = 2 * expected + 1;
        EXPECT_F32(out, expected);
        update_own(scope, &given, &out, &eager);
        for (int d = 0; d < 2; ++d)
            expect_same(gantry_variable_read(scope, lanes.own[d]),
                        gantry_variable_read(scope, eager.own[d]));
    }
    gantry_function_release(function);
    release_own(&lanes);
    release_own(&eager);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(parts_update_their_variables_at_the_same_time) { check_updates(0); }

TEST(lanes_on_request_keep_the_order_of_a_variables_uses) {
    check_updates(2);
    check_updates(5);
}

/* ---- several callers ---- */

typedef struct caller_t {
    gantry_runtime_t *runtime;
    gantry_function_t *function;
    int wrong;
} caller_t;

static void *call_often(void *argument) {
    caller_t *caller = argument;
    gantry_scope_t *scope = gantry_scope_begin(caller->runtime, "CPU:0");
    for (int round = 0; round < ROUNDS; ++round) {
        float first = 0;
        const gantry_tensor_t *given = gantry_fill(scope, GANTRY_SHAPE(ELEMENTS),
                                                   gantry_scalar_f32(scope, (float)round)),
                              *got[WIDTH];
        if (gantry_function_call(scope, caller->function, &given, 1, got, WIDTH) != GANTRY_OK ||
            gantry_tensor_read(gantry_sum(scope, got[0], NULL), &first, sizeof first) != GANTRY_OK)
            ++caller->wrong;
        if (round == 0 && (first < 0 || first > 0)) ++caller->wrong;
    }
    if (gantry_scope_end(scope) != GANTRY_OK) ++caller->wrong;
    return NULL;
}

TEST(several_threads_call_one_function) {
    static const char *const devices[] = {"CPU:0", "CPU:0"};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function = trace(f.runtime, weave, devices, WIDTH, 2, false);
    pthread_t threads[CALLERS];
    caller_t callers[CALLERS];
    for (int i = 0; i < CALLERS; ++i) {
        callers[i] = (caller_t){f.runtime, function, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < CALLERS; ++i) {
        (void)pthread_join(threads[i], NULL);
        assert_int_equal(callers[i].wrong, 0);
    }
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* ---- a failure ---- */

/* One chain gathers with an index from a variable, which is bad when it is 9. */
static void gather_beside(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                          const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *index = gantry_variable_read(scope, user), *x = inputs[0];
    for (int step = 0; step < DEPTH; ++step) x = gantry_add(scope, x, inputs[0]);
    outputs[0] = x;
    (void)gantry_scope_name_next(scope, "picked");
    const gantry_tensor_t *few =
        gantry_range(scope, gantry_scalar_i32(scope, 0), gantry_scalar_i32(scope, 5),
                     gantry_scalar_i32(scope, 1));
    const gantry_tensor_t *floats = gantry_cast(scope, few, GANTRY_FLOAT32);
    outputs[1] = gantry_gather(scope, floats, index, 0);
}

TEST(first_failure_stops_all_lanes) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    gantry_variable_t *index = gantry_variable_create(scope, I32(scope, 3), "index");
    gantry_function_t *function = trace(f.runtime, gather_beside, index, 2, 2, false);
    const gantry_tensor_t *given = ramp(scope), *got[2];
    assert_int_equal(gantry_function_call(scope, function, &given, 1, got, 2), GANTRY_OK);
    EXPECT_F32(got[1], 3);
    assert_int_equal(gantry_variable_assign(scope, index, I32(scope, 9)), GANTRY_OK);
    gantry_scope_t *inner = gantry_scope_begin_in(scope, NULL);
    gantry_status_t status = gantry_function_call(inner, function, &given, 1, got, 2);
    float value;
    if (status == GANTRY_OK) status = gantry_tensor_read(got[1], &value, sizeof value);
    assert_int_equal(status, GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry_last_message(), "indices[0] = 9 is not in [0, 5)"));
    gantry_scope_clear(inner);
    expect_ended_well(inner);
    assert_int_equal(gantry_variable_assign(scope, index, I32(scope, 4)), GANTRY_OK);
    assert_int_equal(gantry_function_call(scope, function, &given, 1, got, 2), GANTRY_OK);
    EXPECT_F32(got[1], 4);
    gantry_function_release(function);
    gantry_variable_release(index);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* The control input is a view: what makes its elements comes first. */
static void assign_behind_a_view(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                 const gantry_tensor_t **outputs, void *user) {
    gantry_variable_t *const *variables = user; /* index, done */
    gantry_scope_t *left = gantry_scope_begin_in(scope, "/CPU:0");
    const gantry_tensor_t *slow = inputs[0];
    for (int i = 0; i < DEPTH; ++i) slow = gantry_sin(left, slow);
    slow = gantry_gather(left, slow, gantry_variable_read(left, variables[0]), 0);
    slow = gantry_scope_keep(left, gantry_reshape(left, slow, GANTRY_SHAPE(1, 1)));
    (void)gantry_scope_end(left);
    gantry_scope_t *right = gantry_scope_begin_in(scope, "/CPU:1");
    const gantry_tensor_t *quick = inputs[0];
    for (int i = 0; i < 4; ++i) quick = gantry_sin(right, quick);
    outputs[1] = quick = gantry_scope_keep(right, gantry_max(right, quick, NULL));
    gantry_scope_t *after = gantry_scope_begin_after(right, &slow, 1);
    (void)gantry_variable_assign(after, variables[1], gantry_ones_like(after, quick));
    (void)gantry_scope_end(after);
    (void)gantry_scope_end(right);
    outputs[0] = slow;
}

TEST(lanes_keep_control_inputs_that_are_views) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    assert_int_equal(gantry_set_logical_cpu_devices(f.runtime, 2), GANTRY_OK);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:1");
    gantry_variable_t *variables[] = {
        gantry_variable_create(scope, I32(scope, ELEMENTS), "index"),
        gantry_variable_create(scope, gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SCALAR), "done")};
    gantry_function_t *function = trace(f.runtime, assign_behind_a_view, variables, 2, 0, false);
    assert_int_equal(lanes_of(function), 2);
    const gantry_tensor_t *given = ramp(scope), *got[2];
    for (int round = 0; round < ROUNDS; ++round) {
        gantry_scope_t *inner = gantry_scope_begin_in(scope, NULL);
        assert_int_equal(gantry_function_call(inner, function, &given, 1, got, 2),
                         GANTRY_INVALID_ARGUMENT);
        gantry_scope_clear(inner);
        expect_ended_well(inner);
        EXPECT_F32(gantry_variable_read(scope, variables[1]), 0); /* the gather failed before */
    }
    gantry_function_release(function);
    for (int i = 0; i < 2; ++i) gantry_variable_release(variables[i]);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(int argc, char **argv) {
    /* an argument runs one test: the leftovers of a failed test fail the next ones */
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
