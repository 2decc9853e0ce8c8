/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Nets over images whose channels come first have the same bits with the layout pass and
 * without on a real driver (PoCL as GPU:0).
 *
 * GANTRY_TEST_BACKENDS names other backends, for a card, and GANTRY_TEST_NETS how many nets. */
#define _XOPEN_SOURCE 700

#include "need_opencl.h"
#include "random_images.h"
#include "test.h"

#define MODULES GANTRY_TEST_MODULES "/../gantry"

TEST(nets_have_the_same_bits) {
    const char *backends = getenv("GANTRY_TEST_BACKENDS"), *nets = getenv("GANTRY_TEST_NETS");
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backend_path = MODULES,
                                              .backends = backends ? backends : "cpu,opencl",
                                              .opencl_cpu_as_gpu = GANTRY_ON,
                                              .kernel_cache = ""};
    gantry_runtime_t *runtime;
    uint32_t with = 0, without = 0;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    for (uint64_t seed = 1; seed <= (nets ? strtoull(nets, NULL, 10) : 3); ++seed) {
        images_net_t net = {.seed = seed, .only_windows = true};
        images_check(runtime, "GPU:0", &net, &with, &without);
    }
    print_message("%u transposes, %u without the pass\n", with, without);
    assert_true(with < without);
    gantry_runtime_release(runtime);
}

int main(void) {
    const int code = skip_without_opencl();
    if (code != 0) return code;
    return test_main();
}
