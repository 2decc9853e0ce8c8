/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Complex128 is moved by the CUDA text on the stand-in, bit for bit. */
#define _XOPEN_SOURCE 700
#include "cuda_fixture.h"
#include "test.h"

#include "complex128_case.h"

TEST(cuda_moves_it) {
    gantry_runtime_t *runtime = fixture_runtime(GANTRY_OFF);
    complex128_check(runtime, "GPU:0");
    gantry_runtime_release(runtime);
}

int main(void) {
    const int code = skip_without_pocl();
    if (code != 0) return code;
    return test_main();
}
