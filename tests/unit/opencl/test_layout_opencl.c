/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Nets over images whose channels come first have the same bits with the layout pass and
 * without on a real driver (PoCL as GPU:0).
 *
 * GANTRY_TEST_BACKENDS names other backends, for a card, and GANTRY_TEST_NETS how many nets. */
#define _XOPEN_SOURCE 700

#include "module_runtime.h"
#include "random_images.h"
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

int main(void) { return test_main(); }
