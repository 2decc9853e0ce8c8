/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Nets over images whose channels come first have the same bits with the layout pass and
 * without on a real driver (PoCL as GPU:0).
 * Promise: Nets of 16 units like those of ShuffleNet, of both versions, take at most four
 * transposes a call on PoCL, with the bits that they have without the layout pass.
 * Promise: Two convolutions with bias and Relu take at most one transpose a call there, of every
 * type, with the bits that they have without the layout pass.
 * Promise: A pool of images whose channels come first has the bits of the pool of the transposed
 * images there.
 *
 * GANTRY_TEST_BACKENDS names other backends, for a card, and GANTRY_TEST_NETS how many nets. */
#define _XOPEN_SOURCE 700

#include "module_runtime.h"
#include "planes_case.h"
#include "pool_planes_case.h"
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

TEST(the_last_convolution_writes_channels_first) {
    static const gantry_dtype_t types[] = {GANTRY_FLOAT32, GANTRY_FLOAT64, GANTRY_FLOAT16,
                                           GANTRY_BFLOAT16, GANTRY_INT32};
    gantry_runtime_t *runtime = module_runtime_open();
    for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
        planes_case_t c = {.dtype = types[i], .channels = 4, .outputs = 22, .size = 3};
        if (planes_check(runtime, "GPU:0", c) > 1) fail_msg("type %d: transposes", types[i]);
        c = (planes_case_t){
            .dtype = types[i], .channels = 6, .outputs = 2, .size = 3, .is_bare = i < 2};
        if (planes_check(runtime, "GPU:0", c) > 1) fail_msg("type %d: transposes", types[i]);
    }
    gantry_runtime_release(runtime);
}

TEST(pools_of_planes_have_the_bits_of_pools_of_pixels) {
    gantry_runtime_t *runtime = module_runtime_open();
    for (size_t i = 0; i < sizeof pool_planes_types / sizeof pool_planes_types[0]; ++i)
        pool_planes_check(runtime, "GPU:0", pool_planes_types[i], 40);
    gantry_runtime_release(runtime);
}

int main(void) { return test_main(); }
