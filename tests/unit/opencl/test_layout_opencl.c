/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Nets over images whose channels come first have the same bits with the layout pass and
 * without on a real driver (PoCL as GPU:0).
 * Promise: Nets of 16 units like those of ShuffleNet, of both versions, take at most four
 * transposes a call on PoCL, with the bits that they have without the layout pass.
 * Promise: Two convolutions with bias and Relu, of floating type, take at most one transpose a call
 * there, with the bits that they have without the layout pass.
 * Promise: An eager convolution writes channels first there, with the bits of one that has them
 * last.
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
    static const gantry_dtype_t types[] = {GANTRY_FLOAT32, GANTRY_FLOAT64, GANTRY_FLOAT16};
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
    for (size_t i = 0; i < 3; ++i) /* float32, float64 and a half */
        pool_planes_check(runtime, "GPU:0", pool_planes_types[i], 40);
    gantry_runtime_release(runtime);
}

/* How often the profile has the op. */
static uint64_t calls_of(gantry_runtime_t *runtime, const char *op) {
    uint64_t calls = 0;
    for (size_t i = 0; i < gantry_profile_row_count(runtime); ++i) {
        gantry_profile_row_t row = {.struct_size = sizeof row};
        assert_int_equal(gantry_profile_read(runtime, i, &row), GANTRY_OK);
        calls += strcmp(row.op, op) == 0 ? row.calls : 0;
    }
    return calls;
}

TEST(an_eager_convolution_writes_channels_first) {
    gantry_runtime_t *runtime = module_runtime_open();
    images_net_t net = {.state = 3, .scope = gantry_scope_begin(runtime, "GPU:0")};
    gantry_window_options_t options = {.struct_size = sizeof options, .channels_first = true};
    const gantry_tensor_t *x = images_numbers(&net, GANTRY_SHAPE(2, 5, 13, 11)),
                          *filter = images_numbers(&net, GANTRY_SHAPE(3, 3, 5, 22)), *y, *z;
    static float results[2][2 * 22 * 13 * 11];
    assert_int_equal(gantry_profile_start(runtime, GANTRY_PROFILE_ON), GANTRY_OK);
    y = gantry_conv2d(net.scope, x, filter, &options);
    assert_int_equal(gantry_tensor_read(y, results[0], sizeof results[0]), GANTRY_OK);
    assert_int_equal(calls_of(runtime, "Transpose"), 1);
    assert_int_equal(gantry_profile_stop(runtime), GANTRY_OK);
    options.channels_first = false;
    z = gantry_conv2d(net.scope, images_turn(&net, x, 0, 2, 3, 1), filter, &options);
    z = images_turn(&net, z, 0, 3, 1, 2);
    assert_int_equal(gantry_tensor_read(z, results[1], sizeof results[1]), GANTRY_OK);
    assert_memory_equal(results[0], results[1], sizeof results[0]);
    assert_int_equal(gantry_scope_end(net.scope), GANTRY_OK);
    gantry_runtime_release(runtime);
}

int main(void) { return test_main(); }
