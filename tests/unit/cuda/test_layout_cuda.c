/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Nets over images whose channels come first have the same bits with the layout pass and
 * without on CUDA, where convolutions are products of patches; on the stand-in for NVIDIA's
 * driver.
 * Promise: A net of 16 units like those of ShuffleNet takes at most four transposes a call on
 * CUDA's stand-in, with the bits that it has without the layout pass. */
#define _XOPEN_SOURCE 700
#include "cuda_fixture.h"
#include "shuffle_nets.h"
#include "test.h"

TEST(nets_have_the_same_bits) {
    gantry_runtime_t *runtime = fixture_open_runtime(GANTRY_DEFAULT);
    uint32_t with = 0, without = 0;
    for (uint64_t seed = 3; seed <= 4; ++seed) {
        images_net_t net = {.seed = seed, .only_windows = true};
        images_check(runtime, "GPU:0", &net, &with, &without);
    }
    print_message("%u transposes, %u without the pass\n", with, without);
    assert_true(with < without);
    gantry_runtime_release(runtime);
}

TEST(a_net_like_shufflenet_is_four_transposes_at_most) {
    gantry_runtime_t *runtime = fixture_open_runtime(GANTRY_DEFAULT);
    shuffle_check_net(runtime, "GPU:0", shuffle_net_1);
    gantry_runtime_release(runtime);
}

int main(void) {
    const int code = skip_without_pocl();
    if (code != 0) return code;
    return test_main();
}
