/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: An op that does not fit on its device runs on a CPU if the user allows it, and the
 * record says so.
 *
 * The fallback is the ladder's last rung. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "test.h"

#define ELEMENTS 40000 /* 160 kB: the limit has room for two, not for three */

static float values[ELEMENTS], got[ELEMENTS];

/* A fake GPU of 384 KiB. */
static gantry_scope_t *begin(runtime_fixture_t *f, gantry_choice_t fallback, const char *device) {
    gantry_runtime_options_t options = runtime_fixture_options(f);
    static const char *const extra[] = {"GANTRY_MEMORY_LIMIT=GPU:0=384K", NULL};
    options.extra = extra;
    options.oom_fallback = fallback;
    fake->set_device_count(1);
    runtime_fixture_open_with(f, &options);
    for (int i = 0; i < ELEMENTS; ++i) values[i] = (float)(i % 100);
    return runtime_fixture_scope(f, device);
}

static const gantry_tensor_t *make_large(gantry_scope_t *scope) {
    const gantry_tensor_t *tensor = make_f32(scope, ELEMENTS, values);
    if (!tensor) fail_msg("%s", gantry_scope_message(scope));
    return tensor;
}

static void expect_doubled(const gantry_tensor_t *tensor) {
    if (gantry_tensor_read(tensor, got, sizeof got) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    for (int i = 0; i < ELEMENTS; ++i) assert_true(got[i] == 2 * values[i]);
}

TEST(op_without_memory_is_an_error_by_default) {
    runtime_fixture_t f;
    gantry_scope_t *scope = begin(&f, GANTRY_DEFAULT, "/GPU:0");
    const gantry_tensor_t *a = make_large(scope), *b = make_large(scope);
    assert_null(gantry_add(scope, a, b));
    expect_scope_failure(
        scope, GANTRY_RESOURCE_EXHAUSTED,
        "OOM when allocating tensor with shape[40000] and type float on /job:localhost");
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(op_without_memory_runs_on_the_cpu_when_allowed) {
    runtime_fixture_t f;
    gantry_scope_t *scope = begin(&f, GANTRY_ON, "/GPU:0");
    const gantry_tensor_t *a = make_large(scope), *b = make_large(scope);
    expect_on(b, "/device:GPU:0");
    const gantry_tensor_t *sum = gantry_add(scope, a, b);
    if (!sum) fail_msg("%s", gantry_scope_message(scope));
    assert_string_equal(gantry_last_message(), ""); /* the first error has been cleared */
    expect_on(sum, "/device:CPU:0");
    expect_doubled(sum);
    gantry_placement_record_t record = last_placement(&f);
    assert_string_equal(record.op, "Add");
    assert_int_equal(record.reason, GANTRY_PLACED_OUT_OF_MEMORY);
    assert_int_equal(record.refusal_count, 1);
    assert_int_equal(record.refusals[0].why, GANTRY_REFUSED_OUT_OF_MEMORY);
    assert_non_null(strstr(record.refusals[0].device, "GPU:0"));
    assert_int_equal(record.bytes_copied, 2 * sizeof values);
    gantry_tensor_drop(scope, a); /* with room again, the requested device serves */
    expect_on(gantry_add(scope, b, b), "/device:GPU:0");
    assert_int_equal(last_placement(&f).reason, GANTRY_PLACED_EXPLICIT);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(op_that_the_policy_keeps_in_place_fails_with_both_reasons) {
    runtime_fixture_t f;
    gantry_scope_t *scope = begin(&f, GANTRY_ON, "/GPU:0");
    const gantry_tensor_t *a = make_large(scope), *b = make_large(scope);
    assert_int_equal(gantry_set_device_policy(f.runtime, GANTRY_POLICY_EXPLICIT), GANTRY_OK);
    assert_null(gantry_add(scope, a, b));
    assert_non_null(strstr(gantry_scope_message(scope), "OOM when allocating tensor"));
    expect_scope_failure(scope, GANTRY_RESOURCE_EXHAUSTED,
                         "moving op Add to a CPU failed: Tensors on conflicting devices");
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(op_on_a_variable_is_never_moved) {
    runtime_fixture_t f;
    gantry_scope_t *scope = begin(&f, GANTRY_ON, "/GPU:0");
    const gantry_tensor_t *a = make_large(scope);
    gantry_variable_t *variable = gantry_variable_create(scope, a, "v");
    assert_non_null(variable);
    const gantry_tensor_t *b = make_large(scope);
    assert_int_not_equal(gantry_variable_assign_add(scope, variable, b), GANTRY_OK);
    expect_scope_failure(scope, GANTRY_RESOURCE_EXHAUSTED, "OOM");
    gantry_variable_release(variable);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
