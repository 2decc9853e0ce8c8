/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Variables change while their values are read, stay on their device, and follow
 * TensorFlow's rules for integers. */
#define _XOPEN_SOURCE 700

#include <pthread.h>

#include "runtime_fixture.h"
#include "test.h"

#define LOCAL(device) "/job:localhost/replica:0/task:0/device:" device

static gantry_variable_t *make_variable(gantry_scope_t *scope, const gantry_tensor_t *initial,
                                        const char *name) {
    gantry_variable_t *variable = gantry_variable_create(scope, initial, name);
    if (!variable) fail_msg("%s", gantry_scope_message(scope));
    return variable;
}

/* ---- values ---- */

TEST(variable_is_assigned_added_to_and_taken_from) {
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    for (size_t d = 0; d < 2; ++d) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, devices[d]);
        gantry_variable_t *v = make_variable(scope, F32(scope, 1, 2, 3), "weights");
        assert_string_equal(gantry_variable_name(v), "weights");
        assert_int_equal(gantry_variable_dtype(v), GANTRY_FLOAT32);
        assert_int_equal(gantry_variable_shape(v)->dims[0], 3);
        assert_string_equal(gantry_logical_device_name(gantry_variable_device(v)),
                            d ? "/device:GPU:0" : "/device:CPU:0");
        EXPECT_F32(gantry_variable_read(scope, v), 1, 2, 3);
        assert_int_equal(gantry_variable_assign(scope, v, F32(scope, 10, 20, 30)), GANTRY_OK);
        EXPECT_F32(gantry_variable_read(scope, v), 10, 20, 30);
        assert_int_equal(gantry_variable_assign_add(scope, v, F32(scope, 1, 1, 1)), GANTRY_OK);
        EXPECT_F32(gantry_variable_read(scope, v), 11, 21, 31);
        assert_int_equal(gantry_variable_assign_sub(scope, v, F32(scope, 1, 2, 3)), GANTRY_OK);
        EXPECT_F32(gantry_variable_read(scope, v), 10, 19, 28);
        expect_ended_well(scope);
        gantry_variable_release(v);
    }
    runtime_fixture_close(&f);
}

static void read_and_negate(gantry_scope_t *s, const gantry_tensor_t *const *inputs,
                            const gantry_tensor_t **outputs, void *user) {
    (void)gantry_variable_assign_add(s, user, inputs[0]);
    outputs[0] = gantry_neg(s, inputs[0]);
}

/* In a trace, what it recorded counts, also in bodies; else what ran. */
static void count_in_a_trace(gantry_scope_t *s, const gantry_tensor_t *const *inputs,
                             const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *is_positive =
        gantry_greater(s, gantry_sum(s, inputs[0], NULL), gantry_scalar_f32(s, 0));
    assert_int_equal(gantry_variable_assignments(s, user), 0);
    (void)gantry_variable_assign(s, user, inputs[0]);
    assert_int_equal(gantry_variable_assignments(s, user), 1);
    (void)gantry_cond(s, is_positive, read_and_negate, read_and_negate, user, inputs, 1, outputs,
                      1);
    assert_int_equal(gantry_variable_assignments(s, user), 3);
}

TEST(assignments_are_counted) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, {.rank = 1, .dims = {2}}};
    gantry_function_t *function;
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x = F32(scope, 1, 2), *y;
    gantry_variable_t *v = make_variable(scope, x, NULL);
    assert_int_equal(gantry_variable_assignments(scope, v), 0);
    assert_int_equal(gantry_variable_assign(scope, v, x), GANTRY_OK);
    assert_int_equal(gantry_variable_assign_add(scope, v, x), GANTRY_OK);
    (void)gantry_variable_read(scope, v);
    assert_int_equal(gantry_variable_assignments(NULL, v), 2);
    assert_int_equal(
        gantry_function_trace(f.runtime, "f", count_in_a_trace, v, &input, 1, 1, NULL, &function),
        GANTRY_OK);
    assert_int_equal(gantry_variable_assignments(scope, v), 2);
    const uint64_t before = gantry_variable_assignments(scope, v);
    assert_int_equal(gantry_function_call(scope, function, &x, 1, &y, 1), GANTRY_OK);
    assert_int_equal(gantry_variable_assignments(scope, v), before + 2);
    assert_int_equal(gantry_variable_assignments(scope, NULL), 0);
    gantry_function_release(function);
    gantry_variable_release(v);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(later_assignments_do_not_change_what_was_read) {
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    for (size_t d = 0; d < 2; ++d) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, devices[d]);
        const gantry_tensor_t *initial = F32(scope, 1, 2), *one = F32(scope, 1, 1);
        gantry_variable_t *v = make_variable(scope, initial, NULL);
        assert_string_equal(gantry_variable_name(v), "Variable");
        const gantry_tensor_t *first = gantry_variable_read(scope, v);
        assert_int_equal(gantry_variable_assign_add(scope, v, one), GANTRY_OK);
        const gantry_tensor_t *second = gantry_variable_read(scope, v);
        assert_int_equal(gantry_variable_assign(scope, v, F32(scope, -1, -1)), GANTRY_OK);
        EXPECT_F32(first, 1, 2);
        EXPECT_F32(second, 2, 3);
        EXPECT_F32(initial, 1, 2);
        EXPECT_F32(gantry_variable_read(scope, v), -1, -1);
        gantry_tensor_drop(scope, initial);
        gantry_variable_release(v);
        EXPECT_F32(second, 2, 3); /* also after the variable's release */
        expect_ended_well(scope);
    }
    runtime_fixture_close(&f);
}

TEST(updates_are_asynchronous_and_in_order) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *one = F32(scope, 1, 1);
    gantry_variable_t *v = make_variable(scope, F32(scope, 0, 10), NULL);
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
    fake->close_gate(0, RUNTIME_FIXTURE_GATE);
    for (int i = 0; i < 10; ++i)
        assert_int_equal(gantry_variable_assign_add(scope, v, one), GANTRY_OK);
    const gantry_tensor_t *middle = gantry_variable_read(scope, v);
    for (int i = 0; i < 5; ++i)
        assert_int_equal(gantry_variable_assign_sub(scope, v, one), GANTRY_OK);
    assert_int_equal(fake->waiting(0), 15);
    fake->open_gate(0, RUNTIME_FIXTURE_GATE);
    EXPECT_F32(gantry_variable_read(scope, v), 5, 15);
    EXPECT_F32(middle, 10, 20);
    expect_ended_well(scope);
    gantry_variable_release(v);
    runtime_fixture_close(&f);
}

typedef struct counter_t {
    gantry_runtime_t *runtime;
    gantry_variable_t *variable;
    const char *device;
    int steps;
    gantry_status_t status;
} counter_t;

static void *count_up(void *user) {
    counter_t *counter = user;
    gantry_scope_t *scope = gantry_scope_begin(counter->runtime, counter->device);
    const gantry_tensor_t *one = gantry_scalar_i64(scope, 1);
    for (int i = 0; i < counter->steps; ++i)
        (void)gantry_variable_assign_add(scope, counter->variable, one);
    counter->status = gantry_scope_end(scope);
    return NULL;
}

TEST(additions_of_two_threads_both_count) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    static const char *const homes[] = {"GPU:0", "CPU:0"};
    for (size_t h = 0; h < 2; ++h) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, homes[h]);
        gantry_variable_t *v = make_variable(scope, gantry_scalar_i64(scope, 0), "steps");
        counter_t counters[] = {{f.runtime, v, "GPU:0", 300, GANTRY_OK},
                                {f.runtime, v, "GPU:1", 200, GANTRY_OK},
                                {f.runtime, v, "CPU:0", 100, GANTRY_OK}};
        pthread_t threads[3];
        for (size_t i = 0; i < 3; ++i)
            assert_int_equal(pthread_create(&threads[i], NULL, count_up, &counters[i]), 0);
        for (size_t i = 0; i < 3; ++i) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
            assert_int_equal(counters[i].status, GANTRY_OK);
        }
        int64_t value = 0;
        assert_int_equal(gantry_tensor_read(gantry_variable_read(scope, v), &value, sizeof value),
                         GANTRY_OK);
        assert_int_equal(value, 600);
        expect_ended_well(scope);
        gantry_variable_release(v);
    }
    runtime_fixture_close(&f);
}

/* ---- devices of variables ---- */

TEST(ops_on_a_variable_run_where_it_lives) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *home = runtime_fixture_scope(&f, "GPU:1"),
                   *elsewhere = runtime_fixture_scope(&f, "CPU:0");
    gantry_variable_t *v = make_variable(home, F32(elsewhere, 1, 2), NULL);
    assert_int_equal(gantry_variable_assign_add(elsewhere, v, F32(elsewhere, 1, 1)), GANTRY_OK);
    gantry_placement_record_t record = last_placement(&f);
    assert_string_equal(record.op, "AssignAddVariableOp");
    assert_string_equal(record.device, LOCAL("GPU:1"));
    assert_int_equal(record.reason, GANTRY_PLACED_WITH_VARIABLE);
    assert_int_equal(record.bytes_copied, 8);
    const gantry_tensor_t *value = gantry_variable_read(elsewhere, v);
    expect_on(value, "/device:GPU:1");
    record = last_placement(&f);
    assert_string_equal(record.op, "ReadVariableOp");
    assert_int_equal(record.reason, GANTRY_PLACED_WITH_VARIABLE);
    assert_int_equal(gantry_variable_assign(elsewhere, v, F32(elsewhere, 7, 8)), GANTRY_OK);
    value = gantry_variable_read(elsewhere, v);
    expect_on(value, "/device:GPU:1");
    EXPECT_F32(value, 7, 8);
    /* a read value is an ordinary input */
    expect_on(gantry_add(elsewhere, value, value), "/device:CPU:0");
    expect_ended_well(home);
    expect_ended_well(elsewhere);
    gantry_variable_release(v);
    runtime_fixture_close(&f);
}

TEST(integer_variable_falls_to_the_cpu_under_soft_placement) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    static const char *const wishes[] = {"GPU:0", NULL};
    for (size_t i = 0; i < 2; ++i) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, wishes[i]);
        gantry_variable_t *v = make_variable(scope, I32(scope, 1, 2), NULL);
        assert_string_equal(gantry_logical_device_name(gantry_variable_device(v)), "/device:CPU:0");
        assert_int_equal(gantry_variable_assign_add(scope, v, I32(scope, 10, 10)), GANTRY_OK);
        const gantry_tensor_t *value = gantry_variable_read(scope, v);
        EXPECT_I32(value, 11, 12);
        expect_on(value, "/device:CPU:0");
        /* integer arithmetic has GPU kernels */
        expect_on(gantry_add(scope, value, value), "/device:GPU:0");
        expect_ended_well(scope);
        gantry_variable_release(v);
    }
    runtime_fixture_close(&f);
}

TEST(integer_variable_on_a_gpu_is_the_guides_error_without_soft_placement) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    assert_int_equal(gantry_set_soft_device_placement(f.runtime, false), GANTRY_OK);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *initial = I32(scope, 1, 2);
    assert_null(gantry_variable_create(scope, initial, NULL));
    expect_scope_failure(
        scope, GANTRY_INVALID_ARGUMENT,
        "Cannot assign a device for operation VarHandleOp: Could not satisfy explicit device specification '" LOCAL(
            "GPU:0") "' because no supported kernel for GPU devices is available for a variable of type int32.");
    gantry_placement_record_t record = last_placement(&f);
    assert_int_equal(record.reason, GANTRY_PLACED_REFUSED);
    assert_string_equal(record.device, "");
    assert_string_equal(record.asked, LOCAL("GPU:0"));
    assert_int_equal(record.refusals[0].why, GANTRY_REFUSED_INTEGER_VARIABLE);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(integer_variable_is_made_and_updated_where_placement_is_required) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    assert_int_equal(gantry_set_placement_mode(f.runtime, GANTRY_PLACEMENT_REQUIRE), GANTRY_OK);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    gantry_variable_t *v = make_variable(scope, gantry_scalar_i32(scope, 7), NULL);
    assert_string_equal(gantry_logical_device_name(gantry_variable_device(v)), "/device:CPU:0");
    gantry_placement_record_t records[2] = {{.struct_size = sizeof records[0]}};
    size_t count = 0;
    assert_int_equal(gantry_get_placements(f.runtime, 2, records, &count), GANTRY_OK);
    assert_string_equal(records[0].op, "VarHandleOp");
    assert_int_equal(records[0].reason, GANTRY_PLACED_ONLY_CPU_KERNEL);
    assert_int_equal(records[0].refusals[0].why, GANTRY_REFUSED_INTEGER_VARIABLE);
    assert_int_equal(gantry_variable_assign_add(scope, v, gantry_scalar_i32(scope, 1)), GANTRY_OK);
    int32_t value = 0;
    assert_int_equal(gantry_tensor_read(gantry_variable_read(scope, v), &value, sizeof value),
                     GANTRY_OK);
    assert_int_equal(value, 8);
    gantry_variable_release(v);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(long_integer_variable_lives_on_the_gpu) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    assert_int_equal(gantry_set_soft_device_placement(f.runtime, false), GANTRY_OK);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    gantry_variable_t *v = make_variable(scope, gantry_scalar_i64(scope, INT64_MAX), NULL);
    assert_string_equal(gantry_logical_device_name(gantry_variable_device(v)), "/device:GPU:0");
    assert_int_equal(gantry_variable_assign_add(scope, v, gantry_scalar_i64(scope, 1)), GANTRY_OK);
    int64_t value = 0;
    assert_int_equal(gantry_tensor_read(gantry_variable_read(scope, v), &value, sizeof value),
                     GANTRY_OK);
    assert_true(value == INT64_MIN); /* integers wrap around */
    expect_ended_well(scope);
    gantry_variable_release(v);
    runtime_fixture_close(&f);
}

/* ---- errors ---- */

TEST(wrong_values_are_refused_and_change_nothing) {
    runtime_fixture_t f, g;
    runtime_fixture_open(&f, 1);
    gantry_runtime_options_t options = runtime_fixture_options(&g);
    runtime_fixture_open_with(&g, &options);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0"),
                   *foreign = runtime_fixture_scope(&g, NULL);
    gantry_variable_t *v = make_variable(scope, F32(scope, 1, 2), "w");
    assert_int_equal(gantry_variable_assign(scope, v, F32(scope, 1, 2, 3)),
                     GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(
        scope, GANTRY_INVALID_ARGUMENT,
        "Cannot update variable w with shape [2] using a Tensor with shape [3], shapes must be equal.");
    assert_int_equal(gantry_variable_assign_add(scope, v, gantry_scalar_f32(scope, 1)),
                     GANTRY_INVALID_ARGUMENT);
    /* assignment does not broadcast */
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "shapes must be equal");
    assert_int_equal(gantry_variable_assign_sub(scope, v, I32(scope, 1, 2)),
                     GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(
        scope, GANTRY_INVALID_ARGUMENT,
        "Trying to assign variable w with wrong dtype. Expected float32 got int32");
    assert_int_equal(gantry_variable_assign(scope, v, NULL), GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "the value for variable w is NULL");
    assert_int_equal(gantry_variable_assign(scope, NULL, NULL), GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "the variable is NULL");
    assert_null(gantry_variable_read(scope, NULL));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "the variable is NULL");
    assert_null(gantry_variable_create(scope, NULL, "empty"));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "variable empty: the initial value is NULL");
    assert_int_equal(gantry_variable_assign(scope, v, F32(foreign, 1, 2)), GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "belongs to another runtime");
    assert_null(gantry_variable_read(foreign, v));
    expect_scope_failure(foreign, GANTRY_INVALID_ARGUMENT, "variable w belongs to another runtime");
    assert_int_equal(gantry_variable_assign_add(foreign, v, F32(foreign, 1, 2)),
                     GANTRY_INVALID_ARGUMENT);
    gantry_scope_clear(foreign);
    EXPECT_F32(gantry_variable_read(scope, v), 1, 2);
    gantry_variable_release(v);
    gantry_variable_release(NULL);
    expect_ended_well(scope);
    expect_ended_well(foreign);
    gantry_runtime_release(g.runtime);
    assert_int_equal(g.heap.inner.live_blocks, 0);
    runtime_fixture_close(&f);
}

TEST(questions_about_no_variable_have_plain_answers) {
    assert_int_equal(gantry_variable_dtype(NULL), GANTRY_DTYPE_NONE);
    assert_int_equal(gantry_variable_shape(NULL)->rank, 0);
    assert_null(gantry_variable_device(NULL));
    assert_string_equal(gantry_variable_name(NULL), "");
}

TEST(bad_value_poisons_the_variable_until_the_next_assignment) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    gantry_variable_t *v = make_variable(scope, F32(scope, 1, 2), NULL);
    const gantry_tensor_t *before = gantry_variable_read(scope, v);
    const gantry_tensor_t *bad = gantry_gather(scope, F32(scope, 1, 2, 3), I32(scope, 0, 9), 0);
    assert_int_equal(gantry_variable_assign_add(scope, v, bad), GANTRY_OK);
    const gantry_tensor_t *after = gantry_variable_read(scope, v);
    float values[2];
    expect_failure(gantry_tensor_read(after, values, sizeof values), GANTRY_INVALID_ARGUMENT,
                   "indices[1] = 9 is not in [0, 3)");
    EXPECT_F32(before, 1, 2);
    assert_int_equal(gantry_variable_assign(scope, v, F32(scope, 3, 4)), GANTRY_OK);
    EXPECT_F32(gantry_variable_read(scope, v), 3, 4);
    expect_ended_well(scope);
    gantry_variable_release(v);
    runtime_fixture_close(&f);
}

TEST(memory_short_during_an_update_changes_nothing) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *one = F32(scope, 1, 1);
    gantry_variable_t *v = make_variable(scope, F32(scope, 1, 2), NULL);
    int failures = 0;
    float expected = 1;
    for (long n = 0; n < 40; ++n) {
        gantry_scope_t *step = gantry_scope_begin_in(scope, NULL);
        runtime_fixture_starve(&f, n);
        gantry_status_t status = gantry_variable_assign_add(step, v, one);
        f.heap.inner.fail_at = -1;
        if (status == GANTRY_OK) expected += 1;
        if (status != GANTRY_OK) {
            ++failures;
            assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
        }
        assert_int_equal(gantry_scope_end(step), status);
        EXPECT_F32(gantry_variable_read(scope, v), expected, expected + 1);
    }
    assert_in_range(failures, 1, 39);
    expect_ended_well(scope);
    gantry_variable_release(v);
    runtime_fixture_close(&f);
}

int main(int argc, char **argv) {
    /* an argument runs one test: the leftovers of a failed test fail the next ones */
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
