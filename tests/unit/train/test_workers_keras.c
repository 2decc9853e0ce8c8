/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The text classifier follows Keras in several processes, which are threads here, and
 * wrong communicators are refused. */
#define _XOPEN_SOURCE 700

#include "test.h"
#include "thread_workers.h"
#include "train_trajectory.h"

static gantry_runtime_t *open_runtime(size_t devices) {
    gantry_runtime_t *runtime = NULL;
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .cpu_threads = 1};
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK) return NULL;
    if (devices > 1) (void)gantry_set_logical_cpu_devices(runtime, devices);
    return runtime;
}

/* ---- Keras's trajectory ---- */

typedef struct follow_t {
    size_t replicas;
} follow_t;

static gantry_status_t follow_keras(thread_worker_t *worker) {
    static const char *const devices[] = {"CPU:0", "CPU:1"};
    const follow_t *follow = worker->user;
    gantry_runtime_t *runtime = open_runtime(follow->replicas);
    gantry_strategy_t *strategy =
        gantry_multi_worker_strategy(runtime, devices, follow->replicas, &worker->communicator);
    const bool is_good =
        strategy && trajectory_follow(runtime, (gantry_model_options_t){.strategy = strategy});
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
    return is_good ? GANTRY_OK : gantry_fail(GANTRY_DATA_LOSS, "Keras goes another way");
}

static void expect_all_good(thread_workers_t *group) {
    for (size_t r = 0; r < group->size; ++r) {
        if (group->workers[r].status != GANTRY_OK)
            fail_msg("rank %zu: %s", r, group->workers[r].text);
    }
    assert_int_equal(group->mixed, 0);
}

static void processes_follow_keras(size_t size, size_t replicas) {
    thread_workers_t group;
    follow_t follow = {replicas};
    thread_workers_run(&group, size, -1, follow_keras, &follow);
    expect_all_good(&group);
}

TEST(two_processes_follow_keras) { processes_follow_keras(2, 1); }

/* 8 rows: 3, 3 and 2, and the last process splits them again. */
TEST(three_processes_of_two_replicas_follow_keras) { processes_follow_keras(3, 2); }

/* ---- the communicator ---- */

TEST(wrong_communicators_are_refused) {
    gantry_runtime_t *runtime = open_runtime(1);
    thread_worker_t worker = {.group = NULL};
    gantry_communicator_t c = {.struct_size = sizeof c,
                               .user = &worker,
                               .size = 2,
                               .all_reduce = thread_workers_all_reduce,
                               .broadcast = thread_workers_broadcast};
    gantry_strategy_t *strategy = gantry_multi_worker_strategy(runtime, NULL, 0, &c);
    assert_string_equal(gantry_strategy_device(strategy, 0),
                        "/job:localhost/replica:0/task:0/device:CPU:0");
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    const gantry_tensor_t *one = gantry_scalar_f32(scope, 1), *sum;
    assert_int_equal(gantry_strategy_reduce(strategy, scope, GANTRY_REDUCE_SUM, &one, &sum),
                     GANTRY_UNIMPLEMENTED);
    assert_non_null(strstr(gantry_scope_message(scope), "the strategy has 2 processes"));
    (void)gantry_scope_end(scope);
    gantry_strategy_release(strategy);
    assert_null(gantry_multi_worker_strategy(runtime, NULL, 0, NULL));
    assert_non_null(strstr(gantry_last_message(), "the communicator is NULL"));
    c.rank = 2;
    assert_null(gantry_multi_worker_strategy(runtime, NULL, 0, &c));
    assert_non_null(strstr(gantry_last_message(), "rank 2, local rank 0, of 2 processes"));
    c.rank = 0;
    assert_null(gantry_multi_worker_strategy(NULL, NULL, 0, &c));
    assert_non_null(strstr(gantry_last_message(), "the runtime is NULL"));
    c.broadcast = NULL;
    assert_null(gantry_multi_worker_strategy(runtime, NULL, 0, &c));
    assert_non_null(strstr(gantry_last_message(), "broadcast is NULL"));
    gantry_runtime_release(runtime);
}

int main(void) { return test_main(); }
