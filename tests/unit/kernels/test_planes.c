/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A pool of images whose channels come first has the bits of the pool of the transposed
 * images, of every type, size, step, dilation and padding, on the CPU.
 * Promise: So has a convolution of their single pixels, by Gantry's own products and by a
 * library's, in a batch and for rows that keep their bits.
 * Promise: Neither of them is a transpose in an eager call, nor is a convolution of at most 4
 * channels.
 *
 * Arguments: how many pools, and convolutions, of each type. */
#define _XOPEN_SOURCE 700

#include "pool_planes_case.h"
#include "runtime_fixture.h"
#include "sanitized.h"
#include "test.h"

static uint32_t count = FEWER_FOR_SANITIZERS(300, 40);

TEST(pools_of_planes_have_the_bits_of_pools_of_pixels) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (size_t i = 0; i < sizeof pool_planes_types / sizeof pool_planes_types[0]; ++i)
        pool_planes_check(f.runtime, "cpu:0", pool_planes_types[i], count);
    runtime_fixture_close(&f);
}

static const gantry_tensor_t *make(images_net_t *net, gantry_dtype_t dtype, gantry_shape_t shape) {
    const gantry_tensor_t *eight = gantry_scalar_f32(net->scope, 8.0f);
    return gantry_cast(net->scope, gantry_mul(net->scope, images_numbers(net, shape), eight),
                       dtype);
}

static void check_pixels(gantry_runtime_t *runtime, gantry_dtype_t dtype, uint32_t index) {
    images_net_t net = {.state = 5 + index, .scope = gantry_scope_begin(runtime, NULL)};
    gantry_window_options_t options = {.struct_size = sizeof options, .channels_first = true};
    const int64_t images = 1 + images_below(&net, 3), channels = 1 + images_below(&net, 300),
                  outputs = 1 + images_below(&net, 40), height = 1 + images_below(&net, 20),
                  width = 1 + images_below(&net, 20);
    const gantry_tensor_t *x = make(&net, dtype, GANTRY_SHAPE(images, channels, height, width)),
                          *filter = make(&net, dtype, GANTRY_SHAPE(1, 1, channels, outputs)), *y[2];
    if (index % 3 == 0)
        assert_int_equal(gantry_scope_set_batch_invariant(net.scope, GANTRY_ON), GANTRY_OK);
    y[0] = gantry_conv2d(net.scope, x, filter, &options);
    options.channels_first = false;
    y[1] = images_turn(&net,
                       gantry_conv2d(net.scope, images_turn(&net, x, 0, 2, 3, 1), filter, &options),
                       0, 3, 1, 2);
    if (!y[0] || !y[1]) fail_msg("%s", gantry_scope_message(net.scope));
    const size_t bytes = gantry_tensor_bytes(y[0]);
    char *data[] = {malloc(bytes), malloc(bytes)};
    for (int k = 0; k < 2; ++k) {
        assert_non_null(data[k]);
        assert_int_equal(gantry_tensor_read(y[k], data[k], bytes), GANTRY_OK);
    }
    if (memcmp(data[0], data[1], bytes) != 0)
        fail_msg("%s: %d x %d x %d x %d to %d: other bits than with channels last",
                 gantry_dtype_name(dtype), (int)images, (int)channels, (int)height, (int)width,
                 (int)outputs);
    for (int k = 0; k < 2; ++k) free(data[k]);
    expect_ended_well(net.scope);
}

TEST(convolutions_of_pixels_have_the_bits_of_those_with_channels_last) {
    static const gantry_dtype_t types[] = {GANTRY_FLOAT32, GANTRY_FLOAT64, GANTRY_FLOAT16,
                                           GANTRY_INT32, GANTRY_INT64};
    for (int own = 0; own < 2; ++own) {
        runtime_fixture_t f;
        assert_int_equal(setenv("GANTRY_CPU_MATMUL", own ? "own" : "auto", 1), 0);
        runtime_fixture_open(&f, 0);
        for (uint32_t i = 0; i < count; ++i)
            check_pixels(f.runtime, types[i % (sizeof types / sizeof types[0])], i);
        runtime_fixture_close(&f);
    }
    assert_int_equal(unsetenv("GANTRY_CPU_MATMUL"), 0);
}

/* ---- eager calls ---- */

static size_t profiled_transposes(gantry_runtime_t *runtime) {
    size_t found = 0;
    for (size_t i = 0; i < gantry_profile_row_count(runtime); ++i) {
        gantry_profile_row_t row = {.struct_size = sizeof row};
        assert_int_equal(gantry_profile_read(runtime, i, &row), GANTRY_OK);
        found += strcmp(row.op, "Transpose") == 0;
    }
    return found;
}

TEST(eager_calls_are_no_transposes) {
    const gantry_window_options_t options = {.struct_size = sizeof options, .channels_first = true};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    images_net_t net = {.state = 3, .scope = runtime_fixture_scope(&f, NULL)};
    const gantry_tensor_t *x = images_numbers(&net, GANTRY_SHAPE(2, 24, 13, 11)),
                          *few = images_numbers(&net, GANTRY_SHAPE(2, 3, 13, 11));
    assert_int_equal(gantry_profile_start(f.runtime, GANTRY_PROFILE_ON), GANTRY_OK);
    (void)gantry_conv2d(net.scope, x, images_numbers(&net, GANTRY_SHAPE(1, 1, 24, 16)), &options);
    (void)gantry_conv2d(net.scope, few, images_numbers(&net, GANTRY_SHAPE(3, 3, 3, 16)), &options);
    (void)gantry_max_pool2d(net.scope, x, 3, 3, &options);
    (void)gantry_avg_pool2d(net.scope, x, 3, 3, &options);
    assert_int_equal(profiled_transposes(f.runtime), 0);
    assert_int_equal(gantry_profile_stop(f.runtime), GANTRY_OK);
    expect_ended_well(net.scope);
    runtime_fixture_close(&f);
}

int main(int argc, char **argv) {
    if (argc > 1) count = (uint32_t)strtoul(argv[1], NULL, 10);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
