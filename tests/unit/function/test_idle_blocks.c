/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Calls of functions whose memory fits one at a time fit one after the other, because a
 * device that runs out frees the blocks that functions keep on it between calls.
 * Promise: When a device runs out of memory, idle blocks on other devices stay, and a request that
 * no memory could serve frees none.
 * Promise: Several threads may run out of device memory at the same time while others call, trim
 * and release functions.
 * Promise: gantry_function_trim also frees the blocks of functions whose option trimmed_with names
 * the function.
 * Promise: A value that is alive within the free memory is not moved: what fits in no piece around
 * it is refused with the largest piece, and fits once the value ends. */
#define _XOPEN_SOURCE 700

#include <pthread.h>
#include <stdatomic.h>

#include "function_fixture.h"
#include "sanitized.h"
#include "test.h"

#define LIMIT (UINT64_C(4) << 20)

static const gantry_function_options_t unfused = {
    .struct_size = sizeof unfused,
    .most_traces = 64,
    .passes_off = GANTRY_PASS_ELEMENTWISE_FUSION | GANTRY_PASS_IN_PLACE};
static const gantry_input_spec_t any_length = {NULL, GANTRY_FLOAT32, {.rank = 1, .dims = {-1}}};

/* 4 sum(x), with x + x and the like between. */
static void in_between(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *twice = gantry_add(scope, inputs[0], inputs[0]);
    outputs[0] = gantry_sum(scope, gantry_add(scope, twice, twice), NULL);
}

static void open_limited(runtime_fixture_t *f, uint32_t gpus, uint64_t limit_bytes) {
    fake->set_device_count(gpus);
    gantry_runtime_options_t options = runtime_fixture_options(f);
    options.memory_limit_bytes = limit_bytes;
    runtime_fixture_open_with(f, &options);
}

static gantry_memory_info_t memory_of(runtime_fixture_t *f, const char *device) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    if (gantry_get_memory_info(f->runtime, device, &info) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return info;
}

/* Of `length` ones; the failure's status. */
static gantry_status_t call(gantry_runtime_t *runtime, const char *device,
                            gantry_function_t *function, int64_t length) {
    float got = 0;
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *x = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(length)), *y;
    if (gantry_function_call(scope, function, &x, 1, &y, 1) == GANTRY_OK)
        (void)gantry_tensor_read(y, &got, sizeof got);
    const gantry_status_t status = gantry_scope_end(scope);
    return status == GANTRY_OK && (int64_t)got != 4 * length ? GANTRY_INTERNAL : status;
}

static void expect_call(runtime_fixture_t *f, const char *device, gantry_function_t *function,
                        int64_t length) {
    if (call(f->runtime, device, function, length) != GANTRY_OK)
        fail_msg("%s, length %d: %s", device, (int)length, gantry_last_message());
}

TEST(lengths_that_fit_one_at_a_time_fit_one_after_the_other) {
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    for (size_t i = 0; i < 2; ++i) {
        runtime_fixture_t f;
        open_limited(&f, 1, LIMIT);
        gantry_function_t *function =
            function_fixture_trace(f.runtime, in_between, NULL, &any_length, 1, 1, &unfused);
        for (int64_t length = 50000; length <= 250000; length += 10000)
            expect_call(&f, devices[i], function, length);
        const gantry_memory_info_t info = memory_of(&f, devices[i]);
        assert_true(info.collected_count > 0);
        assert_int_equal(info.out_of_memory_count, 0);
        gantry_function_release(function);
        assert_int_equal(memory_of(&f, devices[i]).requested_bytes, 0);
        runtime_fixture_close(&f);
    }
}

/* An op outside, too, takes what functions keep, and any function's. */
TEST(an_op_takes_the_blocks_of_all_functions) {
    runtime_fixture_t f;
    gantry_function_t *functions[4];
    open_limited(&f, 0, LIMIT);
    for (int i = 0; i < 4; ++i) {
        functions[i] =
            function_fixture_trace(f.runtime, in_between, NULL, &any_length, 1, 1, &unfused);
        expect_call(&f, "CPU:0", functions[i], 100000); /* some 800 KB each */
    }
    assert_true(memory_of(&f, "CPU:0").requested_bytes > LIMIT / 2);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *large = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(800000));
    assert_non_null(large);
    assert_int_equal(memory_of(&f, "CPU:0").requested_bytes, 3200000);
    expect_ended_well(scope);
    for (int i = 0; i < 4; ++i) {
        expect_call(&f, "CPU:0", functions[i], 100000);
        gantry_function_release(functions[i]);
    }
    runtime_fixture_close(&f);
}

TEST(what_is_of_no_use_stays) {
    runtime_fixture_t f;
    open_limited(&f, 1, LIMIT);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, in_between, NULL, &any_length, 1, 1, &unfused);
    expect_call(&f, "GPU:0", function, 100000);
    expect_call(&f, "CPU:0", function, 100000);
    const uint64_t on_gpu = memory_of(&f, "GPU:0").requested_bytes,
                   on_cpu = memory_of(&f, "CPU:0").requested_bytes;
    assert_true(on_gpu >= 800000 && on_cpu >= 800000);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    assert_null(gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2000000))); /* above the limit */
    assert_null(strstr(gantry_scope_message(scope), "idle blocks"));
    assert_int_equal(memory_of(&f, "CPU:0").requested_bytes, on_cpu);
    gantry_scope_clear(scope);
    assert_non_null(gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(900000)));
    assert_int_equal(memory_of(&f, "CPU:0").requested_bytes, 3600000);
    assert_null(gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(900000)));
    assert_int_equal(memory_of(&f, "GPU:0").requested_bytes, on_gpu);
    gantry_scope_clear(scope);
    expect_ended_well(scope);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* The step is told where the report of a failure lists what was tried. */
TEST(the_report_names_the_step) {
    static char report[1 << 17];
    runtime_fixture_t f;
    open_limited(&f, 0, LIMIT);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, in_between, NULL, &any_length, 1, 1, &unfused);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    assert_non_null(gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(300000)));
    expect_call(&f, "CPU:0", function, 50000);
    assert_null(gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1000000)));
    if (!strstr(gantry_scope_message(scope), "free idle blocks of functions"))
        fail_msg("%s", gantry_scope_message(scope));
    assert_int_equal(
        gantry_get_oom_report(f.runtime, "CPU:0", GANTRY_REPORT_TEXT, report, sizeof report, NULL),
        GANTRY_OK);
    assert_non_null(strstr(report, "  free idle blocks of functions: "));
    gantry_scope_clear(scope);
    expect_ended_well(scope);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* ---- threads ---- */

enum { CALLERS = 4, LENGTHS = 48, CALLS = FEWER_FOR_THREAD_SANITIZER(300, 96) };

typedef struct caller_t {
    gantry_runtime_t *runtime;
    gantry_function_t *shared;
    const char *device;
    int first, wrong;
} caller_t;

/* Together they fit four times over; with the idle blocks of all lengths they do not. */
static void *call_many_lengths(void *argument) {
    caller_t *caller = argument;
    gantry_function_t *own =
        function_fixture_trace(caller->runtime, in_between, NULL, &any_length, 1, 1, &unfused);
    for (int i = 0; i < CALLS; ++i) {
        const int64_t length = 16000 + 400 * ((caller->first + i * (1 + i % 5)) % LENGTHS);
        gantry_function_t *function = i % 2 ? own : caller->shared;
        if (call(caller->runtime, caller->device, function, length) != GANTRY_OK) ++caller->wrong;
        if (i % 32 == 7 && gantry_function_trim(caller->shared, NULL) != GANTRY_OK) ++caller->wrong;
        if (i % 32 != 21) continue;
        gantry_function_release(own);
        own =
            function_fixture_trace(caller->runtime, in_between, NULL, &any_length, 1, 1, &unfused);
    }
    gantry_function_release(own);
    return NULL;
}

TEST(threads_that_run_out_at_a_time_go_on) {
    pthread_t threads[CALLERS];
    caller_t callers[CALLERS];
    runtime_fixture_t f;
    open_limited(&f, 1, LIMIT);
    gantry_function_t *shared =
        function_fixture_trace(f.runtime, in_between, NULL, &any_length, 1, 1, &unfused);
    for (int i = 0; i < CALLERS; ++i) {
        callers[i] = (caller_t){f.runtime, shared, i % 2 ? "GPU:0" : "CPU:0", 11 * i, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, call_many_lengths, &callers[i]), 0);
    }
    for (int i = 0; i < CALLERS; ++i) {
        (void)pthread_join(threads[i], NULL);
        assert_int_equal(callers[i].wrong, 0);
    }
    assert_true(memory_of(&f, "CPU:0").collected_count > 0);
    gantry_function_release(shared);
    runtime_fixture_close(&f);
}

/* ---- trim ---- */

TEST(trim_reaches_functions_that_were_made_for_it) {
    runtime_fixture_t f;
    gantry_runtime_t *elsewhere;
    gantry_function_t *chain[3] = {NULL}, *apart;
    uint64_t freed;
    open_limited(&f, 0, 4 * LIMIT);
    for (int i = 0; i < 3; ++i) {
        gantry_function_options_t options = unfused;
        options.trimmed_with = i > 0 ? chain[i - 1] : NULL;
        chain[i] = function_fixture_trace(f.runtime, in_between, NULL, &any_length, 1, 1, &options);
    }
    apart = function_fixture_trace(f.runtime, in_between, NULL, &any_length, 1, 1, &unfused);
    expect_call(&f, "CPU:0", apart, 100000);
    const uint64_t one = memory_of(&f, "CPU:0").requested_bytes;
    for (int i = 0; i < 3; ++i) expect_call(&f, "CPU:0", chain[i], 100000);
    assert_int_equal(memory_of(&f, "CPU:0").requested_bytes, 4 * one);
    assert_int_equal(gantry_function_trim(chain[1], &freed), GANTRY_OK);
    assert_int_equal(freed, 2 * one);
    assert_int_equal(gantry_function_trim(chain[0], &freed), GANTRY_OK);
    assert_int_equal(freed, one);
    for (int i = 0; i < 3; ++i) expect_call(&f, "CPU:0", chain[i], 100000);
    gantry_function_release(chain[1]); /* then the last is nobody's */
    assert_int_equal(gantry_function_trim(chain[0], &freed), GANTRY_OK);
    assert_int_equal(freed, one);
    assert_int_equal(memory_of(&f, "CPU:0").requested_bytes, 2 * one);

    gantry_function_t *refused = apart;
    gantry_function_options_t foreign = {.struct_size = sizeof foreign, .trimmed_with = apart};
    const gantry_runtime_options_t plain = {.struct_size = sizeof plain, .backends = "cpu"};
    assert_int_equal(gantry_runtime_create(&plain, &elsewhere), GANTRY_OK);
    expect_refusal(gantry_function_trace(elsewhere, "g", in_between, NULL, &any_length, 1, 1,
                                         &foreign, &refused),
                   GANTRY_INVALID_ARGUMENT,
                   "gantry_function_trace: trimmed_with is function f of another runtime");
    assert_null(refused);
    gantry_runtime_release(elsewhere);
    gantry_function_release(chain[0]);
    gantry_function_release(chain[2]);
    gantry_function_release(apart);
    runtime_fixture_close(&f);
}

/* ---- a value within the free memory ---- */

/* Asked for is more than a region, which is half of the limit: with the value in it, the first one
 * is not given back for a longer one. */
TEST(a_value_that_is_alive_is_not_moved) {
    runtime_fixture_t f;
    open_limited(&f, 0, LIMIT);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_shape_t eighth = GANTRY_SHAPE((int64_t)(LIMIT / 8 / sizeof(float)));
    const gantry_shape_t five = GANTRY_SHAPE(5 * eighth.dims[0]);
    const gantry_tensor_t *before = gantry_zeros(scope, GANTRY_FLOAT32, eighth),
                          *alive = gantry_zeros(scope, GANTRY_FLOAT32, eighth),
                          *after = gantry_zeros(scope, GANTRY_FLOAT32, eighth);
    gantry_tensor_drop(scope, before);
    gantry_tensor_drop(scope, after);
    assert_null(gantry_zeros(scope, GANTRY_FLOAT32, five));
    expect_scope_failure(scope, GANTRY_RESOURCE_EXHAUSTED, "largest free chunk");
    assert_true(memory_of(&f, "CPU:0").current_bytes + 5 * LIMIT / 8 <= LIMIT);
    gantry_tensor_drop(scope, alive);
    assert_non_null(gantry_zeros(scope, GANTRY_FLOAT32, five));
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
