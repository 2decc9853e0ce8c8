/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The joined gradient of a max pool and a Relu gives the bits of the ops one by one on a
 * device that builds programs: in the form for processors and in that for cards, on PoCL. */
#define _XOPEN_SOURCE 700

#include "need_opencl.h"
#include "pool_gradient_case.h"
#include "test.h"

#define MODULES GANTRY_TEST_MODULES "/../gantry"

static gantry_runtime_t *open_runtime(void) {
    gantry_runtime_options_t options = {.struct_size = sizeof options,
                                        .backend_path = MODULES,
                                        .backends = "cpu,opencl",
                                        .opencl_cpu_as_gpu = GANTRY_ON,
                                        .soft_placement = GANTRY_OFF,
                                        .kernel_cache = ""};
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return runtime;
}

TEST(joined_gradients_have_the_ops_bits) {
    gantry_runtime_t *runtime = open_runtime();
    pool_gradient_check_all(runtime, "/GPU:0");
    gantry_runtime_release(runtime);
}

/* A part of the processor that imitates a card runs the kernels' forms for cards. */
TEST(joined_gradients_have_the_ops_bits_in_forms_for_cards) {
    const gantry_logical_device_config_t part = {.max_work_group_size = 256};
    const gantry_physical_device_t *device = NULL;
    gantry_runtime_t *runtime = open_runtime();
    size_t count = 0;
    assert_int_equal(gantry_list_physical_devices(runtime, "GPU", 1, &device, &count), GANTRY_OK);
    assert_true(count > 0);
    assert_int_equal(gantry_set_logical_device_configuration(runtime, device, &part, 1), GANTRY_OK);
    pool_gradient_check_all(runtime, "/GPU:0");
    gantry_runtime_release(runtime);
}

int main(void) {
    const int code = skip_without_opencl();
    if (code != 0) return code;
    return test_main();
}
