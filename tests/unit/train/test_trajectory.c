/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The text classifier follows Keras's losses and weights, step by step: on the CPU
 * backend, on PoCL, and mirrored over two devices.
 * Promise: The text classifier mirrored over virtual and over unlike devices has the losses of one
 * device. */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"
#include "train_case.h"
#include "train_trajectory.h"

/* ---- the tests ---- */

static gantry_runtime_t *open_cpus(size_t count) {
    gantry_runtime_t *runtime;
    const gantry_runtime_options_t options = {.struct_size = sizeof options, .backends = "cpu"};
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    if (count > 1) assert_int_equal(gantry_set_logical_cpu_devices(runtime, count), GANTRY_OK);
    return runtime;
}

TEST(on_the_cpu) {
    gantry_runtime_t *runtime = open_cpus(1);
    assert_true(trajectory_follow(runtime, (gantry_model_options_t){.device = "/CPU:0"}));
    gantry_runtime_release(runtime);
}

TEST(on_two_virtual_cpus) {
    static const char *const devices[] = {"CPU:0", "CPU:1"};
    gantry_runtime_t *runtime = open_cpus(2);
    gantry_strategy_t *strategy = gantry_mirrored_strategy(runtime, devices, 2);
    if (!strategy) fail_msg("%s", gantry_last_message());
    assert_true(trajectory_follow(runtime, (gantry_model_options_t){.strategy = strategy}));
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
}

/* Replicas of unlike sizes: 8 rows on 3 devices. */
TEST(on_three_virtual_cpus) {
    gantry_runtime_t *runtime = open_cpus(3);
    gantry_strategy_t *strategy = gantry_mirrored_strategy(runtime, NULL, 0);
    if (!strategy) fail_msg("%s", gantry_last_message());
    assert_int_equal(gantry_strategy_replica_count(strategy), 3);
    assert_true(trajectory_follow(runtime, (gantry_model_options_t){.strategy = strategy}));
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
}

TEST(on_pocl) {
    gantry_runtime_t *runtime = train_open_gpu();
    assert_true(trajectory_follow(runtime, (gantry_model_options_t){.device = "/GPU:0"}));
    gantry_runtime_release(runtime);
}

/* Unlike devices in one strategy. */
TEST(on_cpu_and_pocl_together) {
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    gantry_runtime_t *runtime = train_open_gpu();
    gantry_strategy_t *strategy = gantry_mirrored_strategy(runtime, devices, 2);
    if (!strategy) fail_msg("%s", gantry_last_message());
    assert_true(trajectory_follow(runtime, (gantry_model_options_t){.strategy = strategy}));
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
}

int main(void) { return test_main(); }
