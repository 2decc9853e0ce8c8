/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Random nets over images whose channels come first have the same bits with the layout
 * pass and without, on the CPU and a fake GPU.
 * Promise: Two convolutions with a Relu, channels first, are two transposes and two nodes.
 */
#define _XOPEN_SOURCE 700

#include "random_images.h"
#include "runtime_fixture.h"
#include "sanitized.h"
#include "test.h"

static uint64_t first = 1, count = FEWER_FOR_SANITIZERS(120, 20);

static void check_nets(uint32_t gpus, uint64_t nets) {
    runtime_fixture_t f;
    uint32_t with = 0, without = 0;
    runtime_fixture_open(&f, gpus);
    for (uint64_t seed = first; seed < first + nets; ++seed) {
        images_net_t net = {.seed = seed};
        images_check(f.runtime, NULL, &net, &with, &without);
    }
    print_message("%u transposes, %u without the pass\n", with, without);
    assert_true(with * 2 < without);
    runtime_fixture_close(&f);
}

TEST(random_nets_have_the_same_bits_on_the_cpu) { check_nets(0, count); }

TEST(random_nets_have_the_same_bits_across_devices) { check_nets(1, count / 4); }

int main(int argc, char **argv) {
    /* arguments: how many nets, and the number of the first */
    if (argc > 1) count = strtoull(argv[1], NULL, 10);
    if (argc > 2) first = strtoull(argv[2], NULL, 10);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
