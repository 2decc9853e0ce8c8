/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Float8 is cast and moved by OpenCL with the bits that test_float8 has on the CPU. */
#define _XOPEN_SOURCE 700

#include "float8_case.h"
#include "need_opencl.h"
#include "test.h"

#define MODULES GANTRY_TEST_MODULES "/../gantry"

TEST(opencl_casts_and_moves_it) {
    gantry_runtime_options_t options = {.struct_size = sizeof options,
                                        .backend_path = MODULES,
                                        .backends = "cpu,opencl",
                                        .soft_placement = GANTRY_OFF};
    gantry_runtime_t *runtime;
    need_opencl();
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    float8_check(runtime, "opencl:0", true);
    gantry_runtime_release(runtime);
}

int main(void) { return test_main(); }
