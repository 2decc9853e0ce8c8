/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Complex128 is moved by the CUDA text on the stand-in, bit for bit. */
#define _XOPEN_SOURCE 700
#include "cuda_fixture.h"
#include "test.h"

#include "complex128_case.h"

#define MODULES GANTRY_TEST_MODULES "/../gantry"

TEST(cuda_moves_it) {
    static const char *const libraries[][2] = {{"GANTRY_CUDA_LIBRARY", STAND_IN("libcuda")},
                                               {"GANTRY_CUDA_NVRTC", STAND_IN("libnvrtc")},
                                               {"GANTRY_CUDA_CUBLAS", STAND_IN("libcublas")},
                                               {"GANTRY_CUDA_NVML", STAND_IN("libnvml")}};
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backend_path = MODULES,
                                              .backends = "cpu,cuda",
                                              .soft_placement = GANTRY_OFF,
                                              .kernel_cache = ""};
    gantry_runtime_t *runtime;
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; ++i)
        assert_int_equal(setenv(libraries[i][0], libraries[i][1], 1), 0);
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    complex128_check(runtime, "GPU:0");
    gantry_runtime_release(runtime);
}

int main(void) {
    const int code = skip_without_pocl();
    if (code != 0) return code;
    return test_main();
}
