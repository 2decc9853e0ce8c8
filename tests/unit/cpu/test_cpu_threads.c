/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: An option, the environment or a call sets the CPU backend's number of threads, until the
 * runtime is initialised. */
#define _XOPEN_SOURCE 700

#include <dirent.h>
#include <stdio.h>

#include "runtime_fixture.h"
#include "test.h"

/* The process's threads; the backend's threads have a name. */
static int workers_now(void) {
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    for (struct dirent *task; tasks && (task = readdir(tasks)) != NULL;) {
        char path[300], name[32] = "";
        (void)snprintf(path, sizeof path, "/proc/self/task/%.200s/comm", task->d_name);
        FILE *file = fopen(path, "r");
        if (file && fgets(name, sizeof name, file)) count += strcmp(name, "gantry-cpu\n") == 0;
        if (file) (void)fclose(file);
    }
    if (tasks) (void)closedir(tasks);
    return count;
}

/* A loop that is long enough for all threads. */
static void work(runtime_fixture_t *f) {
    gantry_scope_t *scope = runtime_fixture_scope(f, "CPU:0");
    const gantry_tensor_t *x = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1 << 20));
    float sum = 0;
    assert_int_equal(
        gantry_tensor_read(gantry_sum(scope, gantry_exp(scope, x), NULL), &sum, sizeof sum),
        GANTRY_OK);
    expect_ended_well(scope);
}

static const char *libraries(const runtime_fixture_t *f) {
    gantry_backend_status_t status = {.struct_size = sizeof status};
    assert_int_equal(gantry_backend_status(f->runtime, 0, &status), GANTRY_OK);
    assert_string_equal(status.name, "cpu");
    return status.libraries;
}

static gantry_setting_t setting_of(const runtime_fixture_t *f) {
    gantry_setting_t setting = {.struct_size = sizeof setting};
    assert_int_equal(gantry_get_setting(f->runtime, "cpu_threads", NULL, &setting), GANTRY_OK);
    return setting;
}

TEST(call_before_initialisation_takes_effect) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1); /* by option: 2 */
    const char *before = libraries(&f);
    assert_memory_equal(before, "2 threads;", 10);
    assert_int_equal(gantry_set_intra_op_parallelism_threads(f.runtime, 3), GANTRY_OK);
    /* the last call holds */
    assert_int_equal(gantry_set_intra_op_parallelism_threads(f.runtime, 4), GANTRY_OK);
    assert_int_equal(gantry_get_intra_op_parallelism_threads(f.runtime), 4);
    assert_memory_equal(libraries(&f), "4 threads;", 10);
    assert_memory_equal(before, "2 threads;", 10); /* a returned text stays valid */
    work(&f);
    assert_int_equal(workers_now(), 3); /* plus the caller */
    assert_memory_equal(libraries(&f), "4 threads;", 10);
    gantry_setting_t setting = setting_of(&f);
    assert_string_equal(setting.value, "4");
    assert_string_equal(setting.set_by, "gantry_set_intra_op_parallelism_threads");
    assert_int_equal(setting.source, GANTRY_FROM_CALL);
    assert_string_equal(setting.overruled, "option cpu_threads=2");
    assert_true(setting.frozen);
    runtime_fixture_close(&f);
    assert_int_equal(workers_now(), 0);
}

TEST(call_after_initialisation_may_only_confirm) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    assert_false(setting_of(&f).frozen);
    assert_int_equal(gantry_runtime_initialize(f.runtime), GANTRY_OK);
    assert_int_equal(gantry_set_intra_op_parallelism_threads(f.runtime, 2), GANTRY_OK);
    expect_failure(
        gantry_set_intra_op_parallelism_threads(f.runtime, 3), GANTRY_FAILED_PRECONDITION,
        "cannot be modified after initialization (initialized by gantry_runtime_initialize): it is 2 (0: all cores), 3 is given");
    work(&f);
    assert_int_equal(workers_now(), 1);
    runtime_fixture_close(&f);
}

TEST(number_out_of_range_is_refused) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    expect_failure(gantry_set_intra_op_parallelism_threads(f.runtime, -1), GANTRY_INVALID_ARGUMENT,
                   "0 (all cores) to 1024");
    expect_failure(gantry_set_intra_op_parallelism_threads(f.runtime, 1025),
                   GANTRY_INVALID_ARGUMENT, "is 1025");
    assert_int_equal(gantry_set_intra_op_parallelism_threads(f.runtime, 1), GANTRY_OK);
    work(&f);
    assert_int_equal(workers_now(), 0);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
