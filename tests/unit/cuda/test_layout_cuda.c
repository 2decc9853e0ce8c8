/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Nets over images whose channels come first have the same bits with the layout pass and
 * without on CUDA, where convolutions are products of patches; on the stand-in for NVIDIA's
 * driver. */
#define _XOPEN_SOURCE 700
#include "cuda_fixture.h"
#include "random_images.h"
#include "test.h"

#define MODULES GANTRY_TEST_MODULES "/../gantry"

TEST(nets_have_the_same_bits) {
    static const char *const libraries[][2] = {{"GANTRY_CUDA_LIBRARY", STAND_IN("libcuda")},
                                               {"GANTRY_CUDA_NVRTC", STAND_IN("libnvrtc")},
                                               {"GANTRY_CUDA_CUBLAS", STAND_IN("libcublas")},
                                               {"GANTRY_CUDA_NVML", STAND_IN("libnvml")}};
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backend_path = MODULES,
                                              .backends = "cpu,cuda",
                                              .kernel_cache = ""};
    gantry_runtime_t *runtime;
    uint32_t with = 0, without = 0;
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; ++i)
        assert_int_equal(setenv(libraries[i][0], libraries[i][1], 1), 0);
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    for (uint64_t seed = 3; seed <= 4; ++seed) {
        images_net_t net = {.seed = seed, .only_windows = true};
        images_check(runtime, "GPU:0", &net, &with, &without);
    }
    print_message("%u transposes, %u without the pass\n", with, without);
    assert_true(with < without);
    gantry_runtime_release(runtime);
}

int main(void) {
    const int code = skip_without_pocl();
    if (code != 0) return code;
    return test_main();
}
