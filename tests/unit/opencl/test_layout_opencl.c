/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Nets over images whose channels come first have the same bits with the layout pass and
 * without on a real driver (PoCL as GPU:0).
 * Promise: Nets of 16 units like those of ShuffleNet, of both versions, take at most four
 * transposes a call on PoCL, with the bits that they have without the layout pass.
 *
 * GANTRY_TEST_BACKENDS names other backends, for a card, and GANTRY_TEST_NETS how many nets. */
#define _XOPEN_SOURCE 700

#include "module_runtime.h"
#include "shuffle_nets.h"
#include "test.h"

TEST(nets_have_the_same_bits) {
    const char *nets = getenv("GANTRY_TEST_NETS");
    gantry_runtime_t *runtime = module_runtime_open();
    uint32_t with = 0, without = 0;
    for (uint64_t seed = 1; seed <= (nets ? strtoull(nets, NULL, 10) : 3); ++seed) {
        images_net_t net = {.seed = seed, .only_windows = true};
        images_check(runtime, "GPU:0", &net, &with, &without);
    }
    print_message("%u transposes, %u without the pass\n", with, without);
    assert_true(with < without);
    gantry_runtime_release(runtime);
}

TEST(nets_like_shufflenet_are_four_transposes_at_most) {
    gantry_runtime_t *runtime = module_runtime_open();
    shuffle_check_net(runtime, "GPU:0", shuffle_net_1);
    shuffle_check_net(runtime, "GPU:0", shuffle_net_2);
    gantry_runtime_release(runtime);
}

int main(void) { return test_main(); }
