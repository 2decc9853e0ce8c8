/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Small training programs follow Keras on one device, on several, and in several processes
 * (here threads), and an interruption that is resumed changes no bit.
 * Promise: SwapEMAWeights, also between epochs, gives small programs Keras's numbers.
 * Promise: The small programs that follow Keras have accumulated gradients, averages of weights,
 * regularizers, constraints, several inputs and several outputs among them. */
#define _XOPEN_SOURCE 700
#include <stdlib.h>
#include <unistd.h>

#include "test.h"
#include "thread_workers.h"
#include "train_case.h"
#include "train_programs.h"

static gantry_runtime_t *open_cpus(size_t count) {
    gantry_runtime_t *runtime = NULL;
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .cpu_threads = 1};
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK) return NULL;
    if (count > 1) (void)gantry_set_logical_cpu_devices(runtime, count);
    return runtime;
}

/* Every program whose number is a multiple of `each`; on several devices those that parts of a
 * batch do not change. */
static void run_each(size_t each, gantry_runtime_t *runtime, const char *device,
                     const gantry_strategy_t *strategy) {
    size_t failed = 0;
    for (size_t i = 0; i < PROGRAM_CASES; i += each) {
        program_t p = {.runtime = runtime, .device = device, .strategy = strategy};
        if (!strategy || program_has_parts(i)) failed += !program_run(&p, i);
    }
    assert_int_equal(failed, 0);
}

static void run_on(size_t each, gantry_runtime_t *runtime, const char *const *devices,
                   size_t count) {
    gantry_strategy_t *strategy = gantry_mirrored_strategy(runtime, devices, count);
    if (!strategy) fail_msg("%s", gantry_last_message());
    run_each(each, runtime, NULL, strategy);
    gantry_strategy_release(strategy);
}

TEST(on_the_cpu) {
    gantry_runtime_t *runtime = open_cpus(1);
    run_each(1, runtime, "/CPU:0", NULL);
    gantry_runtime_release(runtime);
}

TEST(on_two_virtual_cpus) {
    static const char *const devices[] = {"CPU:0", "CPU:1"};
    gantry_runtime_t *runtime = open_cpus(2);
    run_on(1, runtime, devices, 2);
    gantry_runtime_release(runtime);
}

TEST(on_pocl) {
    gantry_runtime_t *runtime = train_open_gpu();
    run_each(1, runtime, "/GPU:0", NULL);
    gantry_runtime_release(runtime);
}

/* Unlike devices in one strategy: a few, for smaller parts have programs of their own. */
TEST(on_cpu_and_pocl_together) {
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    gantry_runtime_t *runtime = train_open_gpu();
    run_on(3, runtime, devices, 2);
    gantry_runtime_release(runtime);
}

/* ---- several processes ---- */

static gantry_status_t run_worker(thread_worker_t *worker) {
    gantry_runtime_t *runtime = open_cpus(1);
    static const char *const device = "CPU:0";
    gantry_strategy_t *strategy =
        gantry_multi_worker_strategy(runtime, &device, 1, &worker->communicator);
    bool is_good = strategy != NULL;
    for (size_t i = 0; i < PROGRAM_CASES && is_good; ++i) {
        program_t *p = calloc(1, sizeof *p);
        if (!p) return GANTRY_RESOURCE_EXHAUSTED;
        p->runtime = runtime;
        p->strategy = strategy;
        is_good = !program_has_parts(i) || program_run(p, i);
        free(p);
    }
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
    return is_good ? GANTRY_OK : gantry_fail(GANTRY_DATA_LOSS, "a program goes another way");
}

TEST(in_two_processes) {
    thread_workers_t group;
    thread_workers_run(&group, 2, -1, run_worker, NULL);
    for (size_t r = 0; r < group.size; ++r) {
        if (group.workers[r].status != GANTRY_OK)
            fail_msg("rank %zu: %s", r, group.workers[r].text);
    }
    assert_int_equal(group.mixed, 0);
}

/* ---- interrupted ---- */

/* In the first epoch, and in the second, where sums of gradients wait for more. */
static void interrupt_all(gantry_runtime_t *runtime, const gantry_strategy_t *strategy) {
    char folder[] = "/tmp/gantry_programs_XXXXXX", backup[64];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(backup, sizeof backup, "%s/backup", folder);
    for (size_t i = 0; i < PROGRAM_CASES; ++i) {
        if (strategy && !program_has_parts(i)) continue;
        program_t whole = {.runtime = runtime, .strategy = strategy};
        assert_true(program_run(&whole, i));
        for (long stop = 2; stop <= 7; stop += 5) {
            program_t p = {
                .runtime = runtime, .strategy = strategy, .backup = backup, .stop_after = stop};
            if (stop > 4 && !program_goes_on(i)) continue;
            assert_true(program_run(&p, i));
            if (memcmp(p.numbers, whole.numbers, p.count * sizeof *p.numbers) != 0)
                fail_msg("program %s has other bits after step %ld", program_cases[i].name, stop);
        }
    }
    assert_int_equal(rmdir(folder), 0); /* a training that is complete has no backup */
}

TEST(interrupted_on_the_cpu) {
    gantry_runtime_t *runtime = open_cpus(1);
    interrupt_all(runtime, NULL);
    gantry_runtime_release(runtime);
}

TEST(interrupted_on_two_virtual_cpus) {
    static const char *const devices[] = {"CPU:0", "CPU:1"};
    gantry_runtime_t *runtime = open_cpus(2);
    gantry_strategy_t *strategy = gantry_mirrored_strategy(runtime, devices, 2);
    interrupt_all(runtime, strategy);
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
}

int main(void) { return test_main(); }
