/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The calls, launches, bytes, allocations and times of steps that a profile reports are
 * those of known sequences, on the CPU backend and on fake GPUs.
 *
 * Nothing is recorded while profiling is off, steps add up, and threads are counted. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime_fixture.h"
#include "test.h"

#define LARGE 4096 /* elements: more than a tensor's object can hold */

/* ---- helpers ---- */

static gantry_profile_row_t read_row(runtime_fixture_t *f, size_t index) {
    gantry_profile_row_t row = {.struct_size = sizeof row};
    if (gantry_profile_read(f->runtime, index, &row) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return row;
}

/* The row of an op; calls is 0 if there is none. device NULL: any device. */
static gantry_profile_row_t find_row(runtime_fixture_t *f, const char *op, const char *part_of,
                                     const char *device) {
    for (size_t i = 0; i < gantry_profile_row_count(f->runtime); ++i) {
        gantry_profile_row_t row = read_row(f, i);
        if (strcmp(row.op, op) == 0 && strcmp(row.part_of, part_of) == 0 &&
            (!device || strcmp(row.device, device) == 0))
            return row;
    }
    return (gantry_profile_row_t){.calls = 0};
}

static uint64_t steps_of(const gantry_profile_row_t *row) {
    return row->scope_ns + row->placement_ns + row->copy_ns + row->allocation_ns + row->program_ns +
           row->launch_ns + row->kernel_ns + row->wait_ns;
}

static const gantry_tensor_t *make_large(gantry_scope_t *scope) {
    static float values[LARGE];
    return make_f32(scope, LARGE, values);
}

/* A runtime with one GPU or none, and a scope on the device; close_with ends both. */
static gantry_scope_t *open_on(runtime_fixture_t *f, const char *device) {
    runtime_fixture_open(f, strncmp(device, "GPU", 3) == 0 ? 1 : 0);
    return runtime_fixture_scope(f, device);
}

static void close_with(runtime_fixture_t *f, gantry_scope_t *scope) {
    expect_ended_well(scope);
    runtime_fixture_close(f);
}

static void start(runtime_fixture_t *f, gantry_profile_mode_t mode) {
    assert_int_equal(gantry_profile_start(f->runtime, mode), GANTRY_OK);
}

static void stop_profile(runtime_fixture_t *f) {
    assert_int_equal(gantry_profile_stop(f->runtime), GANTRY_OK);
}

/* ---- tests ---- */

TEST(profile_never_started_is_refused) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_on(&f, "CPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2, 3, 4);
    EXPECT_F32(gantry_add(scope, x, x), 2, 4, 6, 8);
    gantry_profile_row_t row = {.struct_size = sizeof row};
    char text[64];
    expect_failure(gantry_profile_read(f.runtime, 0, &row), GANTRY_FAILED_PRECONDITION,
                   "no profile was recorded");
    expect_failure(gantry_profile_format(f.runtime, GANTRY_REPORT_TEXT, text, sizeof text, NULL),
                   GANTRY_FAILED_PRECONDITION, "gantry_profile_start");
    expect_failure(gantry_profile_stop(f.runtime), GANTRY_FAILED_PRECONDITION,
                   "nothing is recorded");
    assert_int_equal(gantry_profile_row_count(f.runtime), 0);
    close_with(&f, scope);
}

TEST(profile_bad_arguments_are_refused) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_profile_row_t row = {.struct_size = 2};
    size_t needed;
    expect_failure(gantry_profile_start(f.runtime, GANTRY_PROFILE_OFF), GANTRY_INVALID_ARGUMENT,
                   "mode is 1");
    expect_failure(gantry_profile_start(f.runtime, (gantry_profile_mode_t)4),
                   GANTRY_INVALID_ARGUMENT, "mode is 4");
    expect_failure(gantry_profile_start(NULL, GANTRY_PROFILE_ON), GANTRY_INVALID_ARGUMENT,
                   "runtime is NULL");
    start(&f, GANTRY_PROFILE_ON);
    expect_failure(gantry_profile_read(f.runtime, GANTRY_PROFILE_TOTAL, NULL),
                   GANTRY_INVALID_ARGUMENT, "NULL");
    expect_failure(gantry_profile_read(f.runtime, GANTRY_PROFILE_TOTAL, &row),
                   GANTRY_INVALID_ARGUMENT, "struct_size");
    row.struct_size = sizeof row;
    expect_failure(gantry_profile_read(f.runtime, 0, &row), GANTRY_OUT_OF_RANGE, "there are 0");
    expect_failure(gantry_profile_format(f.runtime, (gantry_report_format_t)7, NULL, 0, &needed),
                   GANTRY_INVALID_ARGUMENT, "format is 7");
    expect_failure(gantry_profile_format(f.runtime, GANTRY_REPORT_TEXT, NULL, 9, &needed),
                   GANTRY_INVALID_ARGUMENT, "out is NULL");
    runtime_fixture_close(&f);
}

TEST(cpu_ops_are_counted_as_they_ran) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_on(&f, "CPU:0");
    const gantry_tensor_t *before = make_large(scope);
    (void)gantry_add(scope, before, before); /* not recorded */
    start(&f, GANTRY_PROFILE_ON);
    const gantry_tensor_t *x = make_large(scope);
    const gantry_tensor_t *sum = gantry_add(scope, x, gantry_add(scope, x, x));
    static float got[LARGE];
    assert_int_equal(gantry_tensor_read(sum, got, sizeof got), GANTRY_OK);
    stop_profile(&f);
    (void)gantry_add(scope, x, x); /* not recorded either */
    gantry_profile_row_t add = find_row(&f, "Add", "", "/device:CPU:0"),
                         constant = find_row(&f, "Const", "", NULL);
    assert_int_equal(add.calls, 2);
    assert_int_equal(add.launches, 2);
    assert_int_equal(add.allocations, 2);
    assert_int_equal(add.allocated_bytes, 2 * sizeof got);
    assert_int_equal(add.argument_bytes, 6 * sizeof got);
    assert_int_equal(add.bytes_moved, 0);
    assert_true(add.kernel_ns > 0 && add.launch_ns == 0 && add.wait_ns == 0 && add.program_ns == 0);
    assert_int_equal(constant.calls, 1);
    assert_int_equal(constant.bytes_moved, sizeof got);
    assert_int_equal(constant.launches, 0);
    gantry_profile_row_t read = find_row(&f, "(read)", "", "/device:CPU:0");
    assert_int_equal(read.calls, 1);
    assert_int_equal(read.bytes_moved, sizeof got);
    close_with(&f, scope);
}

TEST(small_tensors_on_the_cpu_take_no_memory) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_on(&f, "CPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2, 3, 4);
    start(&f, GANTRY_PROFILE_ON);
    for (int i = 0; i < 10; ++i) (void)gantry_add(scope, x, x);
    gantry_profile_row_t add = find_row(&f, "Add", "", NULL);
    assert_int_equal(add.calls, 10);
    assert_int_equal(add.allocations, 0);
    assert_int_equal(add.argument_bytes, 10 * 3 * 16);
    close_with(&f, scope);
}

TEST(rows_and_steps_add_up_to_the_sum) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    start(&f, GANTRY_PROFILE_ON);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = make_large(scope);
    assert_non_null(gantry_layer_norm(scope, x, x, x, -1, 1e-3));
    assert_int_equal(gantry_tensor_wait(gantry_exp(scope, x)), GANTRY_OK);
    expect_ended_well(scope);
    stop_profile(&f);
    gantry_profile_row_t all = read_row(&f, GANTRY_PROFILE_TOTAL);
    uint64_t calls = 0, ns = 0, moved = 0;
    for (size_t i = 0; i < gantry_profile_row_count(f.runtime); ++i) {
        gantry_profile_row_t row = read_row(&f, i);
        assert_int_equal(row.total_ns, steps_of(&row));
        assert_int_equal(row.elapsed_ns, 0);
        calls += row.calls;
        ns += row.total_ns;
        moved += row.bytes_moved;
    }
    assert_string_equal(all.op, "");
    assert_int_equal(all.calls, calls);
    assert_int_equal(all.total_ns, ns);
    assert_int_equal(all.bytes_moved, moved);
    assert_int_equal(all.total_ns, steps_of(&all));
    assert_true(all.total_ns <= all.elapsed_ns); /* one thread: no moment counts twice */
    runtime_fixture_close(&f);
}

TEST(parts_of_composed_ops_have_rows_of_their_own) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_on(&f, "CPU:0");
    const float values[] = {1, 2, 3, 4};
    const gantry_tensor_t *x = make_f32(scope, 4, values), *ones = F32(scope, 1, 1, 1, 1);
    start(&f, GANTRY_PROFILE_ON);
    const gantry_tensor_t *y = gantry_var(scope, x, NULL);
    assert_non_null(y);
    (void)gantry_sub(scope, x, ones);
    gantry_profile_row_t whole = find_row(&f, "Var", "", NULL),
                         mean = find_row(&f, "Mean", "Var", NULL);
    gantry_profile_row_t part = find_row(&f, "Sub", "Var", NULL),
                         alone = find_row(&f, "Sub", "", NULL);
    assert_int_equal(whole.calls, 1);
    assert_int_equal(whole.launches, 0);
    assert_string_equal(whole.device, "");
    assert_true(whole.kernel_ns == 0);
    assert_int_equal(mean.calls, 2);
    assert_true(part.calls >= 1);
    assert_int_equal(alone.calls, 1);
    close_with(&f, scope);
}

TEST(copies_between_devices_are_counted_once) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *gpu = runtime_fixture_scope(&f, "GPU:0"),
                   *second = runtime_fixture_scope(&f, "GPU:1");
    const gantry_tensor_t *x = make_large(gpu);
    start(&f, GANTRY_PROFILE_ON);
    const gantry_tensor_t *moved = gantry_identity(second, x);
    assert_int_equal(gantry_tensor_wait(moved), GANTRY_OK);
    gantry_profile_row_t identity = find_row(&f, "Identity", "", "/device:GPU:1");
    assert_int_equal(identity.calls, 1);
    assert_int_equal(identity.bytes_moved, LARGE * sizeof(float));
    assert_true(identity.copy_ns > 0);
    assert_int_equal(find_row(&f, "(wait)", "", "/device:GPU:1").calls, 1);
    expect_ended_well(second);
    expect_ended_well(gpu);
    runtime_fixture_close(&f);
}

/* The fake GPU's kernels are launches of its programs; a thread does its work. */
TEST(kernels_of_a_gpu_show_when_they_are_waited_for) {
    for (int mode = GANTRY_PROFILE_ON; mode <= GANTRY_PROFILE_WAIT; ++mode) {
        runtime_fixture_t f;
        gantry_scope_t *scope = open_on(&f, "GPU:0");
        const gantry_tensor_t *x = make_large(scope);
        start(&f, (gantry_profile_mode_t)mode);
        assert_int_equal(gantry_tensor_wait(gantry_add(scope, x, x)), GANTRY_OK);
        gantry_profile_row_t add = find_row(&f, "Add", "", "/device:GPU:0");
        assert_int_equal(add.calls, 1);
        assert_true(add.launches >= 1 && add.launch_ns > 0);
        assert_int_equal(add.kernel_ns > 0, mode == GANTRY_PROFILE_WAIT);
        assert_int_equal(add.allocations, 1);
        close_with(&f, scope);
    }
}

TEST(memory_from_the_driver_is_told_from_the_pools) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_on(&f, "GPU:0");
    start(&f, GANTRY_PROFILE_ON);
    for (int i = 0; i < 3; ++i) (void)make_large(scope);
    gantry_profile_row_t constant = find_row(&f, "Const", "", "/device:GPU:0");
    assert_int_equal(constant.allocations, 3);
    assert_int_equal(constant.driver_allocations, 1);
    assert_true(constant.allocation_ns > 0);
    close_with(&f, scope);
}

TEST(failed_calls_count) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_on(&f, "CPU:0");
    start(&f, GANTRY_PROFILE_ON);
    assert_null(gantry_add(scope, F32(scope, 1, 2), F32(scope, 1, 2, 3)));
    assert_int_equal(find_row(&f, "Add", "", "").calls, 1);
    gantry_scope_clear(scope);
    close_with(&f, scope);
}

TEST(starting_again_forgets) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_on(&f, "CPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    start(&f, GANTRY_PROFILE_ON);
    (void)gantry_add(scope, x, x);
    start(&f, GANTRY_PROFILE_WAIT);
    assert_int_equal(gantry_profile_row_count(f.runtime), 0);
    (void)gantry_mul(scope, x, x);
    assert_int_equal(gantry_profile_row_count(f.runtime), 1);
    stop_profile(&f);
    uint64_t elapsed = read_row(&f, GANTRY_PROFILE_TOTAL).elapsed_ns;
    assert_int_equal(read_row(&f, GANTRY_PROFILE_TOTAL).elapsed_ns, elapsed);
    close_with(&f, scope);
}

TEST(variables_have_rows_and_their_sums_too) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_on(&f, "CPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    start(&f, GANTRY_PROFILE_ON);
    gantry_variable_t *v = gantry_variable_create(scope, x, "v");
    assert_int_equal(gantry_variable_assign_add(scope, v, x), GANTRY_OK);
    assert_int_equal(gantry_variable_assign(scope, v, x), GANTRY_OK);
    EXPECT_F32(gantry_variable_read(scope, v), 1, 2);
    static const char *const once[] = {"VarHandleOp", "AssignAddVariableOp", "Add",
                                       "AssignVariableOp", "ReadVariableOp"};
    for (size_t i = 0; i < sizeof once / sizeof once[0]; ++i)
        assert_int_equal(find_row(&f, once[i], "", NULL).calls, 1);
    gantry_variable_release(v);
    close_with(&f, scope);
}

/* ---- settings ---- */

TEST(the_environment_and_the_option_start_it) {
    runtime_fixture_t f;
    assert_int_equal(setenv("GANTRY_PROFILE", "wait", 1), 0);
    runtime_fixture_open(&f, 0);
    gantry_setting_t setting = {.struct_size = sizeof setting};
    assert_int_equal(gantry_get_setting(f.runtime, "profile", NULL, &setting), GANTRY_OK);
    assert_string_equal(setting.value, "wait");
    assert_string_equal(setting.set_by, "GANTRY_PROFILE");
    assert_int_equal(read_row(&f, GANTRY_PROFILE_TOTAL).calls, 0);
    stop_profile(&f);
    runtime_fixture_close(&f);
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    options.profile = GANTRY_PROFILE_OFF;
    runtime_fixture_open_with(&f, &options);
    expect_failure(gantry_profile_stop(f.runtime), GANTRY_FAILED_PRECONDITION,
                   "nothing is recorded");
    runtime_fixture_close(&f);
    assert_int_equal(setenv("GANTRY_PROFILE", "maybe", 1), 0);
    options = runtime_fixture_options(&f);
    expect_failure(gantry_runtime_create(&options, &f.runtime), GANTRY_INVALID_ARGUMENT,
                   "GANTRY_PROFILE");
    runtime_fixture_expect_no_leak(&f);
    locked_heap_deinit(&f.heap);
}

/* ---- texts ---- */

TEST(formats_tell_rows_and_their_length) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_on(&f, "CPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2, 3, 4);
    start(&f, GANTRY_PROFILE_ON);
    (void)gantry_var(scope, x, NULL);
    stop_profile(&f);
    static char text[16384];
    size_t needed;
    assert_int_equal(
        gantry_profile_format(f.runtime, GANTRY_REPORT_TEXT, text, sizeof text, &needed),
        GANTRY_OK);
    assert_int_equal(strlen(text), needed);
    assert_non_null(strstr(text, "\nVar "));
    assert_non_null(strstr(text, "\n  (itself) "));
    assert_non_null(strstr(text, "\n  Mean "));
    assert_non_null(strstr(text, "\nall "));
    char small[9];
    assert_int_equal(
        gantry_profile_format(f.runtime, GANTRY_REPORT_TEXT, small, sizeof small, &needed),
        GANTRY_OK);
    assert_string_equal(small, "Profile ");
    assert_int_equal(
        gantry_profile_format(f.runtime, GANTRY_REPORT_JSON, text, sizeof text, &needed),
        GANTRY_OK);
    assert_int_equal(strlen(text), needed);
    assert_non_null(strstr(
        text, "{\"op\":\"Mean\",\"part_of\":\"Var\",\"device\":\"/device:CPU:0\",\"calls\":2,"));
    close_with(&f, scope);
}

/* ---- threads ---- */

#define THREADS 4
#define CALLS 500

static void *add_often(void *argument) {
    gantry_runtime_t *runtime = argument;
    gantry_scope_t *scope = gantry_scope_begin(runtime, "CPU:0");
    const float values[] = {1, 2, 3, 4};
    const gantry_tensor_t *x = make_f32(scope, 4, values);
    for (int i = 0; i < CALLS; ++i) gantry_tensor_drop(scope, gantry_add(scope, x, x));
    gantry_status_t status = gantry_scope_end(scope);
    return status == GANTRY_OK ? NULL : argument;
}

TEST(threads_are_added_up) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    assert_int_equal(gantry_runtime_initialize(f.runtime), GANTRY_OK);
    start(&f, GANTRY_PROFILE_ON);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, add_often, f.runtime), 0);
    for (int i = 0; i < 20; ++i) (void)read_row(&f, GANTRY_PROFILE_TOTAL);
    for (int i = 0; i < THREADS; ++i) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    stop_profile(&f);
    assert_int_equal(find_row(&f, "Add", "", "/device:CPU:0").calls, THREADS * CALLS);
    assert_int_equal(find_row(&f, "Const", "", NULL).calls, THREADS);
    runtime_fixture_close(&f);
}

/* Without memory for rows, the numbers are still counted. */
TEST(rows_without_memory_are_added_to_others) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_on(&f, "CPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    /* the op's own memory is allocated before */
    gantry_tensor_drop(scope, gantry_add(scope, x, x));
    start(&f, GANTRY_PROFILE_ON);
    f.heap.inner.fail_at = 0;
    gantry_tensor_drop(scope, gantry_add(scope, x, x));
    f.heap.inner.fail_at = -1;
    assert_int_equal(find_row(&f, "(others)", "", "").calls, 2);
    assert_int_equal(read_row(&f, GANTRY_PROFILE_TOTAL).calls, 2);
    close_with(&f, scope);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
