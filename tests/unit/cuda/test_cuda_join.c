/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Elements are joined by a body in the same order by the CUDA text on the stand-in. */
#define _XOPEN_SOURCE 700
#include "cuda_fixture.h"
#include "test.h"

#include "join_case.h"
#include "join_scan_case.h"

TEST(elements_are_joined_on_the_stand_in) {
    gantry_runtime_t *runtime = fixture_open_runtime(GANTRY_OFF);
    join_check_device(runtime, "GPU:0");
    join_check_few(runtime, "GPU:0");
    gantry_runtime_release(runtime);
}

int main(void) {
    const int code = skip_without_pocl();
    if (code != 0) return code;
    return test_main();
}
