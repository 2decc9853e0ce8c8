/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Float8 is cast and moved by the CUDA text on the stand-in with the bits of the CPU. */
#define _XOPEN_SOURCE 700
#include "cuda_fixture.h"
#include "test.h"

#include "float8_case.h"

TEST(cuda_casts_and_moves_it) {
    gantry_runtime_t *runtime = fixture_runtime(GANTRY_OFF);
    float8_check(runtime, "GPU:0", true);
    gantry_runtime_release(runtime);
}

int main(void) {
    const int code = skip_without_pocl();
    if (code != 0) return code;
    return test_main();
}
