/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Placements are recorded in a ring, counted per (op, reason, device), passed to the
 * callback and logged, with each warning once. */
#define _XOPEN_SOURCE 700

#include <pthread.h>

#include "runtime_fixture.h"
#include "test.h"

#define LOCAL(device) "/job:localhost/replica:0/task:0/device:" device

static gantry_placement_record_t records[GANTRY__PLACEMENTS + 8];

static size_t read_records(const runtime_fixture_t *f, size_t capacity) {
    size_t count = 0;
    records[0].struct_size = sizeof records[0];
    assert_int_equal(gantry_get_placements(f->runtime, capacity, records, &count), GANTRY_OK);
    return count;
}

/* Counts on all devices together. */
static uint64_t count_of(const runtime_fixture_t *f, const char *op,
                         gantry_placement_reason_t reason) {
    gantry_placement_count_t counts[32] = {{.struct_size = sizeof counts[0]}};
    size_t count = 0;
    uint64_t found = 0;
    assert_int_equal(gantry_get_placement_counts(f->runtime, 32, counts, &count), GANTRY_OK);
    assert_in_range(count, 0, 32);
    for (size_t i = 0; i < count; ++i) {
        if (strcmp(counts[i].op, op) != 0 || counts[i].reason != reason) continue;
        for (size_t k = 0; k < i; ++k) { /* one row per op, reason and device */
            assert_false(strcmp(counts[k].op, op) == 0 && counts[k].reason == reason &&
                         strcmp(counts[k].device, counts[i].device) == 0);
        }
        found += counts[i].count;
    }
    return found;
}

TEST(record_tells_all_about_a_placement) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    assert_int_equal(read_records(&f, 4), 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "gpu:1"),
                   *plain = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x = F32(plain, 1, 2);
    (void)gantry_add(scope, x, x);
    assert_int_equal(read_records(&f, 8), 2);
    assert_string_equal(records[0].op, "Const");
    assert_string_equal(records[0].asked, "");
    assert_string_equal(records[0].device, LOCAL("GPU:0"));
    assert_string_equal(records[0].kernel, "core");
    assert_int_equal(records[0].reason, GANTRY_PLACED_GPU_PREFERRED);
    assert_int_equal(records[0].sequence, 1);
    assert_int_equal(records[1].struct_size, sizeof records[1]);
    assert_string_equal(records[1].op, "Add");
    assert_string_equal(records[1].asked, LOCAL("GPU:1"));
    assert_string_equal(records[1].device, LOCAL("GPU:1"));
    assert_string_equal(records[1].kernel, "fake");
    assert_int_equal(records[1].dtype, GANTRY_FLOAT32);
    assert_int_equal(records[1].reason, GANTRY_PLACED_EXPLICIT);
    assert_int_equal(records[1].sequence, 2);
    assert_int_equal(records[1].bytes_copied, 16);
    assert_int_equal(records[1].refusal_count, 0);
    expect_ended_well(scope);
    expect_ended_well(plain);
    runtime_fixture_close(&f);
}

TEST(fallback_is_recorded_with_its_refusals) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:1"),
                   *missing = runtime_fixture_scope(&f, "GPU:5");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    (void)gantry_exp(scope, x); /* the fake backend has no Exp */
    gantry_placement_record_t record = last_placement(&f);
    assert_int_equal(record.reason, GANTRY_PLACED_SOFT_OTHER_TYPE);
    assert_string_equal(record.device, LOCAL("CPU:0"));
    assert_string_equal(record.kernel, "cpu");
    assert_int_equal(record.refusal_count, 2);
    assert_string_equal(record.refusals[0].device, LOCAL("GPU:1"));
    assert_int_equal(record.refusals[0].why, GANTRY_REFUSED_NO_KERNEL);
    assert_string_equal(record.refusals[1].device, LOCAL("GPU:0"));
    (void)gantry_add(missing, x, x);
    record = last_placement(&f);
    assert_int_equal(record.reason, GANTRY_PLACED_SOFT_SAME_TYPE);
    assert_string_equal(record.device, LOCAL("GPU:0"));
    assert_string_equal(record.refusals[0].device, LOCAL("GPU:5"));
    assert_int_equal(record.refusals[0].why, GANTRY_REFUSED_NO_SUCH_DEVICE);
    assert_int_equal(gantry_set_soft_device_placement(f.runtime, false), GANTRY_OK);
    assert_null(gantry_add(missing, x, x));
    record = last_placement(&f);
    assert_int_equal(record.reason, GANTRY_PLACED_REFUSED);
    assert_string_equal(record.op, "Add");
    assert_string_equal(record.device, "");
    gantry_scope_clear(missing);
    assert_null(gantry_add(missing, x, x)); /* refused again: each refusal has a record */
    assert_int_equal(last_placement(&f).sequence, record.sequence + 1);
    assert_int_equal(count_of(&f, "Add", GANTRY_PLACED_REFUSED), 2);
    assert_int_equal(gantry_scope_end(missing), GANTRY_INVALID_ARGUMENT);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(ring_keeps_the_newest_in_order) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    uint64_t made = 0;
    for (int i = 0; i < GANTRY__PLACEMENTS + 100; ++i, ++made)
        gantry_tensor_drop(scope, gantry_scalar_i32(scope, i));
    assert_int_equal(read_records(&f, GANTRY__PLACEMENTS + 8), GANTRY__PLACEMENTS);
    for (size_t i = 0; i < GANTRY__PLACEMENTS; ++i)
        assert_int_equal(records[i].sequence, made - GANTRY__PLACEMENTS + 1 + i);
    assert_int_equal(read_records(&f, 3), 3); /* the three newest */
    assert_int_equal(records[2].sequence, made);
    assert_int_equal(records[0].sequence, made - 2);
    assert_int_equal(read_records(&f, 0), 0);
    size_t count;
    expect_failure(gantry_get_placements(f.runtime, 1, NULL, &count), GANTRY_INVALID_ARGUMENT,
                   "NULL");
    expect_failure(gantry_get_placements(f.runtime, 1, records, NULL), GANTRY_INVALID_ARGUMENT,
                   "NULL");
    assert_int_equal(count_of(&f, "Const", GANTRY_PLACED_EXPLICIT), made); /* counts continue */
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(counts_are_kept_per_op_reason_and_device) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    static const char *const devices[] = {"GPU:0", "GPU:1", "CPU:0", NULL};
    for (size_t d = 0; d < 4; ++d) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, devices[d]);
        const gantry_tensor_t *x = F32(scope, 1, 2), *n = I32(scope, 1, 2);
        for (int i = 0; i < 3; ++i) (void)gantry_add(scope, x, x);
        (void)gantry_add(scope, n, n);
        expect_ended_well(scope);
    }
    assert_int_equal(count_of(&f, "Add", GANTRY_PLACED_EXPLICIT), 12);
    assert_int_equal(count_of(&f, "Add", GANTRY_PLACED_GPU_PREFERRED), 4);
    assert_int_equal(count_of(&f, "Const", GANTRY_PLACED_EXPLICIT), 6);
    assert_int_equal(count_of(&f, "Const", GANTRY_PLACED_GPU_PREFERRED), 2);
    gantry_placement_count_t list[8] = {{.struct_size = sizeof list[0]}};
    size_t count = 0;
    assert_int_equal(gantry_get_placement_counts(f.runtime, 0, NULL, &count), GANTRY_OK);
    assert_int_equal(count, 8);
    assert_int_equal(gantry_get_placement_counts(f.runtime, 1, list, &count), GANTRY_OK);
    assert_int_equal(count, 8); /* the full number, for any size of the list */
    assert_int_equal(gantry_get_placement_counts(f.runtime, 8, list, &count), GANTRY_OK);
    uint64_t on_second = 0;
    for (size_t i = 0; i < count; ++i) {
        assert_int_equal(list[i].struct_size, sizeof list[i]);
        if (strcmp(list[i].op, "Add") == 0 && strcmp(list[i].device, LOCAL("GPU:1")) == 0)
            on_second += list[i].count;
    }
    assert_int_equal(on_second, 4);
    expect_failure(gantry_get_placement_counts(f.runtime, 1, NULL, &count), GANTRY_INVALID_ARGUMENT,
                   "NULL");
    runtime_fixture_close(&f);
}

typedef struct calls_t {
    int count;
    gantry_placement_record_t last;
} calls_t;

static void take_call(void *user, const gantry_placement_record_t *record) {
    calls_t *calls = user;
    ++calls->count;
    calls->last = *record;
}

TEST(callback_sees_every_placement_until_it_is_removed) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    calls_t calls = {.count = 0};
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    assert_int_equal(gantry_set_placement_callback(f.runtime, take_call, &calls), GANTRY_OK);
    (void)gantry_mul(scope, x, x);
    assert_int_equal(calls.count, 1);
    assert_string_equal(calls.last.op, "Mul");
    assert_string_equal(calls.last.device, LOCAL("GPU:0"));
    assert_int_equal(calls.last.sequence, last_placement(&f).sequence);
    (void)gantry_reshape(scope, x, GANTRY_SHAPE(2, 1));
    assert_int_equal(calls.count, 2);
    assert_string_equal(calls.last.kernel, "core");
    assert_int_equal(gantry_set_placement_callback(f.runtime, NULL, NULL), GANTRY_OK);
    (void)gantry_mul(scope, x, x);
    assert_int_equal(calls.count, 2);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(log_has_tensorflows_line_when_it_is_asked_for) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    assert_int_equal(log_lines_with(&f.log, "Executing op", ""), 0);
    assert_int_equal(gantry_set_log_device_placement(f.runtime, true), GANTRY_OK);
    const float values[] = {1, 2, 3, 4};
    const gantry_tensor_t *m =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2), values, sizeof values);
    (void)gantry_matmul(scope, m, m, NULL);
    gantry_variable_t *v = gantry_variable_create(scope, x, NULL);
    (void)gantry_variable_assign_add(scope, v, x);
    assert_int_equal(
        log_lines_with(&f.log, "Executing op _EagerConst in device " LOCAL("GPU:0"), ""), 1);
    assert_int_equal(log_lines_with(&f.log, "Executing op MatMul in device " LOCAL("GPU:0"), ""),
                     1);
    assert_int_equal(
        log_lines_with(&f.log, "Executing op VarHandleOp in device " LOCAL("GPU:0"), ""), 1);
    assert_int_equal(
        log_lines_with(&f.log, "Executing op AssignVariableOp in device " LOCAL("GPU:0"), ""), 1);
    assert_int_equal(
        log_lines_with(&f.log, "Executing op AssignAddVariableOp in device " LOCAL("GPU:0"), ""),
        1);
    assert_int_equal(gantry_set_log_device_placement(f.runtime, false), GANTRY_OK);
    (void)gantry_matmul(scope, m, m, NULL);
    assert_int_equal(log_lines_with(&f.log, "Executing op MatMul", ""), 1);
    gantry_variable_release(v);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(warning_comes_once_per_op_and_reason) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    assert_int_equal(gantry_set_placement_mode(f.runtime, GANTRY_PLACEMENT_WARN_ONCE), GANTRY_OK);
    static const char *const devices[] = {"GPU:0", "GPU:1", "GPU:9"};
    for (size_t d = 0; d < 3; ++d) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, devices[d]);
        const gantry_tensor_t *x = F32(scope, 1, 2);
        for (int i = 0; i < 3; ++i) (void)gantry_exp(scope, x); /* no GPU has a kernel */
        (void)gantry_tanh(scope, x);
        expect_ended_well(scope);
    }
    assert_int_equal(
        log_lines_with(&f.log, "Op Exp runs on " LOCAL("CPU:0"), "another type of device"), 1);
    assert_int_equal(log_lines_with(&f.log, "Op Tanh runs on", ""), 1);
    assert_int_equal(
        log_lines_with(&f.log, "Op Const runs on", "another device of the requested type"), 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    (void)gantry_exp(scope, F32(scope, 1, 2)); /* another reason gives another warning */
    assert_int_equal(log_lines_with(&f.log, "Op Exp runs on", "no GPU has a kernel for this"), 1);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

typedef struct placer_t {
    gantry_runtime_t *runtime;
    gantry_status_t status;
} placer_t;

static void *place_many(void *user) {
    placer_t *placer = user;
    gantry_scope_t *scope = gantry_scope_begin(placer->runtime, "CPU:0");
    for (int32_t i = 0; i < 3000; ++i) gantry_tensor_drop(scope, gantry_scalar_i32(scope, i));
    placer->status = gantry_scope_end(scope);
    return NULL;
}

TEST(records_of_many_threads_are_whole) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    placer_t placers[3];
    pthread_t threads[3];
    for (int i = 0; i < 3; ++i) {
        placers[i] = (placer_t){f.runtime, GANTRY_UNKNOWN};
        assert_int_equal(pthread_create(&threads[i], NULL, place_many, &placers[i]), 0);
    }
    for (int round = 0; round < 50; ++round) {
        size_t count = read_records(&f, GANTRY__PLACEMENTS);
        for (size_t i = 0; i < count; ++i) {
            assert_string_equal(records[i].op, "Const");
            if (i > 0) assert_true(records[i].sequence > records[i - 1].sequence);
        }
    }
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(placers[i].status, GANTRY_OK);
    }
    assert_int_equal(count_of(&f, "Const", GANTRY_PLACED_EXPLICIT), 9000);
    runtime_fixture_close(&f);
}

int main(int argc, char **argv) {
    /* an argument runs one test: the leftovers of a failed test fail the next ones */
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
