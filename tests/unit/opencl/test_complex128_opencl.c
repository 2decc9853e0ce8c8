/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Complex128 is moved by OpenCL, bit for bit. */
#define _XOPEN_SOURCE 700

#include "complex128_case.h"
#include "need_opencl.h"
#include "test.h"

#define MODULES GANTRY_TEST_MODULES "/../gantry"

TEST(opencl_moves_it) {
    gantry_runtime_options_t options = {.struct_size = sizeof options,
                                        .backend_path = MODULES,
                                        .backends = "cpu,opencl",
                                        .soft_placement = GANTRY_OFF};
    gantry_runtime_t *runtime;
    need_opencl();
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    complex128_check(runtime, "opencl:0");
    gantry_runtime_release(runtime);
}

int main(void) { return test_main(); }
