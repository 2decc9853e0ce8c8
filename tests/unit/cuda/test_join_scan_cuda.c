/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Scans and scatters with a body have the same bits on CUDA; on the stand-in for NVIDIA's
 * driver. */
#define _XOPEN_SOURCE 700
#include "cuda_fixture.h"
#include "join_scan_case.h"
#include "test.h"

TEST(scans_and_scatters_have_the_bits_on_the_stand_in) {
    gantry_runtime_t *runtime = fixture_open_runtime(GANTRY_DEFAULT);
    join_check_few(runtime, "/GPU:0");
    gantry_runtime_release(runtime);
}

int main(void) {
    const int code = skip_without_pocl();
    if (code != 0) return code;
    return test_main();
}
