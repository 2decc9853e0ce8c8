/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: gantry_function_trace opens no device where its placement cannot be refused: a function
 * that is only called on the CPU opens no GPU.
 * Promise: What a placement refuses, a trace refuses at once, as an op does.
 *
 * The body runs once for each request, also where the plan waits for the first call. */
#define _GNU_SOURCE
#include <string.h>

#include "planned.h"
#include "runtime_fixture.h"
#include "test.h"

typedef struct body_t {
    const char *device; /* of the scope of its op; NULL: none */
    int runs;
} body_t;

static int count_opened(const runtime_fixture_t *f, const char *device) {
    return log_lines_with(&f->log, "Created device ", device);
}

static void halve(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                  const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_mul(scope, inputs[0], gantry_scalar_f32(scope, 0.5f));
}

static void twice(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                  const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_add(scope, inputs[0], inputs[0]);
}

/* With a branch, a constant and elementwise ops that a pass joins. */
static void run_body(gantry_scope_t *outer, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    body_t *body = user;
    gantry_scope_t *scope = gantry_scope_begin_in(outer, body->device);
    ++body->runs;
    const gantry_tensor_t *x =
        gantry_add(scope, gantry_mul(scope, inputs[0], inputs[0]), gantry_scalar_f32(scope, 1));
    const gantry_tensor_t *is_more =
        gantry_greater(scope, gantry_sum(scope, x, NULL), gantry_scalar_f32(scope, 0));
    (void)gantry_cond(scope, is_more, twice, halve, NULL, &x, 1, &x, 1);
    outputs[0] = gantry_scope_keep(scope, x);
    (void)gantry_scope_end(scope);
}

static gantry_status_t trace(const runtime_fixture_t *f, body_t *body,
                             gantry_function_t **out_function) {
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(2)};
    return gantry_function_trace(f->runtime, "f", run_body, body, &input, 1, 1, NULL, out_function);
}

static void call(runtime_fixture_t *f, gantry_function_t *function, const char *device) {
    gantry_scope_t *scope = runtime_fixture_scope(f, device);
    const gantry_tensor_t *x = F32(scope, 1, 2), *y = NULL;
    (void)gantry_function_call(scope, function, &x, 1, &y, 1);
    EXPECT_F32(y, 4, 10);
    expect_ended_well(scope);
}

TEST(only_devices_of_calls_are_opened) {
    runtime_fixture_t f;
    body_t body = {NULL, 0};
    gantry_function_t *function;
    runtime_fixture_open(&f, 1);
    assert_int_equal(trace(&f, &body, &function), GANTRY_OK);
    assert_int_equal(body.runs, 1);
    call(&f, function, "CPU:0");
    assert_int_equal(body.runs, 2);
    assert_int_equal(count_opened(&f, "GPU:0"), 0);
    call(&f, function, NULL);
    assert_int_equal(body.runs, 2); /* its trace waited for it */
    assert_int_equal(count_opened(&f, "GPU:0"), 1);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

TEST(an_explanation_has_the_plan) {
    runtime_fixture_t f;
    body_t body = {NULL, 0};
    gantry_function_t *function;
    size_t needed = 0;
    runtime_fixture_open(&f, 1);
    assert_int_equal(trace(&f, &body, &function), GANTRY_OK);
    assert_int_equal(gantry_function_explain(function, GANTRY_EXPLAIN_TEXT, NULL, 0, &needed),
                     GANTRY_OK);
    assert_true(needed > 100);
    assert_int_equal(body.runs, 1);
    call(&f, function, NULL);
    assert_int_equal(body.runs, 1);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

TEST(refusals_come_with_the_trace) {
    static const char text[] = "Make sure the device specification refers to a valid device";
    runtime_fixture_t f;
    body_t body = {"/GPU:7", 0};
    gantry_function_t *function;
    runtime_fixture_open(&f, 1);
    assert_int_equal(gantry_set_soft_device_placement(f.runtime, false), GANTRY_OK);
    assert_int_equal(trace(&f, &body, &function), GANTRY_INVALID_ARGUMENT);
    if (!strstr(gantry_last_message(), text)) fail_msg("%s", gantry_last_message());
    assert_int_equal(gantry_set_soft_device_placement(f.runtime, true), GANTRY_OK);
    assert_int_equal(gantry_set_placement_mode(f.runtime, GANTRY_PLACEMENT_REQUIRE), GANTRY_OK);
    assert_int_equal(trace(&f, &body, &function), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_set_placement_mode(f.runtime, GANTRY_PLACEMENT_PREFER), GANTRY_OK);
    assert_int_equal(trace(&f, &body, &function), GANTRY_OK);
    call(&f, function, NULL);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* A plan that fails is made anew by the next call. */
TEST(a_plan_that_finds_no_memory_is_made_again) {
    runtime_fixture_t f;
    body_t body = {NULL, 0};
    gantry_function_t *function;
    gantry__specialization_t *traced;
    bool has_failed = true;
    runtime_fixture_open(&f, 0);
    for (long n = 0; has_failed; ++n) {
        assert_int_equal(trace(&f, &body, &function), GANTRY_OK);
        runtime_fixture_starve(&f, n);
        const gantry_status_t status = plan_newest(function, &traced);
        has_failed = runtime_fixture_feed(&f);
        if (status != GANTRY_OK) assert_true(has_failed && status == GANTRY_RESOURCE_EXHAUSTED);
        call(&f, function, NULL);
        gantry_function_release(function);
    }
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
