/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Nets over images whose channels come first have the same bits with the layout pass and
 * without on CUDA, where convolutions are products of patches; on the stand-in for NVIDIA's
 * driver.
 * Promise: A net of 16 units like those of ShuffleNet takes at most four transposes a call on
 * CUDA's stand-in, with the bits that it has without the layout pass.
 * Promise: Two convolutions with bias and Relu take no transpose there, of images of at most 4
 * channels and of every type whose products are Gantry's own, with the same bits.
 * Promise: The explanation says where cuBLASLt keeps a transpose of products of patches. */
#define _XOPEN_SOURCE 700
#include "cuda_fixture.h"
#include "planes_case.h"
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

static void expect_transposes(gantry_runtime_t *runtime, const planes_case_t *c,
                              uint32_t expected) {
    const uint32_t is = planes_check(runtime, "GPU:0", *c);
    if (is != expected)
        fail_msg("%s: %u transposes, not %u", gantry_dtype_name(c->dtype), is, expected);
}

TEST(the_last_convolution_writes_channels_first) {
    static const gantry_dtype_t types[] = {GANTRY_FLOAT32, GANTRY_FLOAT64, GANTRY_FLOAT16,
                                           GANTRY_BFLOAT16, GANTRY_INT32};
    gantry_runtime_t *runtime = fixture_open_runtime(GANTRY_DEFAULT);
    for (uint32_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
        const planes_case_t c = {.dtype = types[i],
                                 .channels = 4,
                                 .outputs = i % 2 ? 70 : 6,
                                 .size = i % 2 ? 1 : 3,
                                 .is_bare = i == 1,
                                 .is_invariant = GANTRY_ON};
        expect_transposes(runtime, &c, 0);
    }
    gantry_runtime_release(runtime);
    const planes_case_t library = {
        .dtype = GANTRY_FLOAT32, .channels = 4, .outputs = 6, .size = 3, .is_explained = true};
    setenv("GANTRY_CUDA_CUDNN", "/nonexistent/libcudnn_graph.so.9", 1);
    runtime = fixture_open_named(GANTRY_DEFAULT, NULL, NULL);
    expect_transposes(runtime, &library, 1);
    gantry_runtime_release(runtime);
}

int main(void) {
    const int code = skip_without_pocl();
    if (code != 0) return code;
    return test_main();
}
