/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Nets over images whose channels come first have the same bits with the layout pass and
 * without on CUDA, where convolutions are products of patches; on the stand-in for NVIDIA's
 * driver. */
#define _XOPEN_SOURCE 700
#include "cuda_fixture.h"
#include "random_images.h"
#include "test.h"

TEST(nets_have_the_same_bits) {
    gantry_runtime_t *runtime = fixture_runtime(GANTRY_DEFAULT);
    uint32_t with = 0, without = 0;
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
