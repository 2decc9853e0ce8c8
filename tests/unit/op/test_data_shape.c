/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: An op whose result's shape depends on data waits for the kernel's count and for nothing
 * after it, then makes the result.
 *
 * The op is the test's own; its kernel is the fake backend's (fake_test_ops.c). */
#define _XOPEN_SOURCE 700

#include <pthread.h>

#include "runtime_fixture.h"
#include "test.h"

#include "op/op_infer.h"
#include "run/eager.h"

#define COMPUTE (1u << GANTRY_STREAM_COMPUTE)

static gantry_status_t infer_positive(gantry__infer_t *call) {
    call->out_shapes[0] = GANTRY_SHAPE(-1);
    call->out_shapes[1] = *call->shapes[0];
    return GANTRY_OK;
}

static const gantry__op_def_t positive = {
    .name = "TestPositive",
    .flags = GANTRY__OP_DATA_SHAPE,
    .input_count = 1,
    .output_count = 2,
    .attr_count = 2,
    .inputs =
        (const gantry__op_arg_t[]){
            {"x", 0, 0}, {"y", 0, 0}, {"marks", GANTRY__TYPE_FIXED(GANTRY_INT32), 0}},
    .attrs =
        (const gantry__op_attr_t[]){
            {.name = "T", .kind = GANTRY_ATTR_TYPE, .dtype_mask = ~UINT64_C(0)},
            {.name = "wrong", .kind = GANTRY_ATTR_INT}},
    .infer = infer_positive,
    .id = GANTRY__OP_COUNT,
};

static gantry_status_t run_wrong(gantry_scope_t *scope, const gantry_tensor_t *x, int64_t wrong,
                                 const gantry_tensor_t **outputs) {
    const gantry_attr_value_t attr = {.name = "wrong", .kind = GANTRY_ATTR_INT, .i = wrong};
    return gantry__run_op(scope,
                          &(gantry__op_request_t){.op = &positive,
                                                  .inputs = &x,
                                                  .input_count = 1,
                                                  .attrs = &attr,
                                                  .attr_count = 1,
                                                  .outputs = outputs,
                                                  .room = positive.output_count},
                          NULL);
}

static gantry_status_t run_positive(gantry_scope_t *scope, const gantry_tensor_t *x,
                                    const gantry_tensor_t **outputs) {
    return run_wrong(scope, x, 0, outputs);
}

/* ---- results ---- */

TEST(result_has_the_size_the_data_give_it) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *out[2], *x = F32(scope, -1, 2, 0, 3, -4, 5);
    assert_int_equal(run_positive(scope, x, out), GANTRY_OK);
    EXPECT_F32(out[0], 2, 3, 5);
    EXPECT_I32(out[1], 0, 1, 0, 1, 0, 1);
    assert_int_equal(gantry_tensor_elements(out[0]), 3);
    expect_on(out[0], "/device:GPU:0");
    const gantry_tensor_t *second[2]; /* and later ops use it as any other tensor */
    assert_int_equal(run_positive(scope, gantry_sub(scope, out[0], F32(scope, 2, 2, 2)), second),
                     GANTRY_OK);
    EXPECT_F32(second[0], 1, 3);
    assert_string_equal(last_placement(&f).op, "TestPositive");
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(synchronous_device_needs_no_wait) {
    runtime_fixture_t f;
    gantry_fake_device_t settings;
    fake->get_device(0, &settings);
    settings.flags = GANTRY_DEVICE_SYNCHRONOUS;
    fake->set_device(0, &settings);
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *out[2];
    assert_int_equal(run_positive(scope, F32(scope, 7, -1, 8), out), GANTRY_OK);
    EXPECT_F32(out[0], 7, 8);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(empty_results_and_inputs_are_results_too) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *out[2];
    assert_int_equal(run_positive(scope, F32(scope, -1, -2), out), GANTRY_OK);
    assert_int_equal(gantry_tensor_elements(out[0]), 0);
    EXPECT_I32(out[1], 0, 0);
    assert_int_equal(run_positive(scope, gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(0)), out),
                     GANTRY_OK);
    assert_int_equal(gantry_tensor_elements(out[0]), 0);
    assert_int_equal(gantry_tensor_elements(out[1]), 0);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(input_elsewhere_is_brought_to_the_device) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0"),
                   *there = gantry_scope_begin_in(scope, "GPU:1");
    const gantry_tensor_t *out[2], *x = F32(scope, 1, -1, 2);
    assert_int_equal(run_positive(there, x, out), GANTRY_OK);
    EXPECT_F32(out[0], 1, 2);
    expect_on(out[0], "/device:GPU:1");
    assert_int_equal(last_placement(&f).bytes_copied, 12);
    expect_ended_well(there);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- waiting ---- */

typedef struct held_call_t {
    gantry_scope_t *scope;
    const gantry_tensor_t *x;
    gantry_status_t status;
    atomic_bool has_returned;
} held_call_t;

static void *call_held(void *user) {
    held_call_t *self = user;
    const gantry_tensor_t *out[2];
    self->status = run_positive(self->scope, self->x, out);
    atomic_store(&self->has_returned, true);
    return NULL;
}

TEST(call_waits_for_the_count_and_for_nothing_behind_it) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    held_call_t call = {.scope = scope, .x = F32(scope, 3, -3)};
    atomic_init(&call.has_returned, false);
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
    uint64_t finished = fake->finished(0);
    fake->close_gate(0, COMPUTE);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, call_held, &call), 0);
    /* the counting kernel, and the copy of the count */
    while (fake->waiting(0) < 2) (void)sched_yield();
    assert_false(atomic_load(&call.has_returned));
    fake->let_pass(0, 2);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(call.status, GANTRY_OK);
    /* the kernel that fills the result is held, and the call has returned */
    assert_int_equal(fake->finished(0) - finished, 2);
    assert_int_equal(fake->waiting(0), 1);
    fake->open_gate(0, COMPUTE);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- kernels that break the rules ---- */

TEST(kernel_that_breaks_a_rule_is_an_internal_error) {
    static const char *const texts[] = {
        NULL,
        "makes output 0 as [2,1]; by the op's definition it is [-1]",
        "succeeded without making output 0",
        "makes output 0, which is there already",
        "makes output 1, which is there already",
        "makes output 2, which does not exist",
        "reads 1048576 bytes of a span of",
        "a copy of 4 bytes into 8: both must be of one size",
        "of the same region: they must not overlap",
        "a fill pattern of 3 bytes: 1, 2, 4 and 8 are accepted",
        "both must be multiples of the pattern's 8 bytes"};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *out[2], *x = F32(scope, 1, -1, 2);
    for (int64_t wrong = 1; wrong < (int64_t)(sizeof texts / sizeof texts[0]); ++wrong) {
        assert_int_equal(run_wrong(scope, x, wrong, out), GANTRY_INTERNAL);
        assert_null(out[0]);
        assert_null(out[1]);
        expect_scope_failure(scope, GANTRY_INTERNAL, texts[wrong]);
    }
    assert_int_equal(run_positive(scope, x, out), GANTRY_OK);
    EXPECT_F32(out[0], 1, 2);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(size_left_open_without_the_flag_is_refused) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    gantry__op_def_t unmarked = positive;
    unmarked.flags = 0;
    const gantry_tensor_t *out[2], *x = F32(scope, 1);
    const gantry__op_request_t request = {.op = &unmarked,
                                          .inputs = &x,
                                          .input_count = 1,
                                          .outputs = out,
                                          .room = unmarked.output_count};
    assert_int_equal(gantry__run_op(scope, &request, NULL), GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "[-1]");
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- memory ---- */

TEST(result_beyond_the_limit_is_refused_with_its_shape) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    options.memory_limit_bytes = 1 << 20;
    fake->set_device_count(1);
    runtime_fixture_open_with(&f, &options);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *out[2];
    float *values = malloc(400000);
    assert_non_null(values);
    for (int i = 0; i < 100000; ++i) values[i] = 1;
    /* the marks take as much memory, so the result does not fit */
    const gantry_tensor_t *x = make_f32(scope, 100000, values);
    assert_int_equal(run_positive(scope, x, out), GANTRY_RESOURCE_EXHAUSTED);
    expect_scope_failure(scope, GANTRY_RESOURCE_EXHAUSTED,
                         "OOM when allocating tensor with shape[100000] and type float");
    for (int i = 10; i < 100000; ++i) values[i] = -1;
    x = (gantry_tensor_drop(scope, x), make_f32(scope, 100000, values));
    assert_int_equal(run_positive(scope, x, out), GANTRY_OK);
    EXPECT_F32(out[0], 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
    free(values);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- every call fails once ---- */

static gantry_status_t small_program(gantry_scope_t *scope) {
    const gantry_tensor_t *out[2];
    float got[2] = {0};
    (void)run_positive(scope, F32(scope, 1, -1, 2), out);
    gantry_status_t status = gantry_scope_status(scope);
    if (status == GANTRY_OK) status = gantry_tensor_read(out[0], got, sizeof got);
    if (status == GANTRY_OK && (got[0] < 1 || got[1] < 2))
        fail_msg("%g %g", (double)got[0], (double)got[1]);
    return status;
}

TEST(failing_slot_is_told_and_leaves_nothing_behind) {
    static const char *const slots[] = {"to_host",      "compute",      "work",
                                        "event_create", "event_record", "region_alloc"};
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; ++i) {
        bool reached = true;
        for (uint64_t n = 1; reached; ++n) {
            runtime_fixture_t f;
            char message[1024];
            runtime_fixture_open(&f, 1);
            uint64_t before = fake->calls(slots[i]);
            assert_true(fake->fail_calls(slots[i], n, 1, GANTRY_INTERNAL, "injected here"));
            gantry_status_t status = runtime_fixture_run(&f, "GPU:0", small_program, message);
            reached = fake->calls(slots[i]) - before >= n;
            if (status != GANTRY_OK && !strstr(message, "injected here"))
                fail_msg("%s: %s", slots[i], message);
            (void)gantry_runtime_synchronize(f.runtime);
            if (reached)
                assert_int_equal(runtime_fixture_run(&f, "GPU:0", small_program, message),
                                 GANTRY_OK);
            runtime_fixture_close(&f);
            fake->reset();
        }
    }
}

TEST(failing_allocation_leaves_nothing_behind) {
    runtime_fixture_starve_each(1, "GPU:0", small_program);
}

int main(int argc, char **argv) {
    /* an argument runs one test: the leftovers of a failed test fail the next ones */
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
