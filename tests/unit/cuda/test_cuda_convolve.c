/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: On CUDA, convolutions of float32, float16 and bfloat16 are cuDNN's, channels last or
 * first, with every stride, dilation and padding, and without patches.
 * Promise: float32 convolutions by cuDNN are rounded to TF32 only if the precision of products lets
 * them, and never take an engine whose sums have another order in each run.
 * Promise: Without cuDNN, with another version, a part of it, or a plan, a run or a workspace that
 * fails, convolutions on CUDA are computed by patches and products or by the portable kernel, with
 * a line of the log that says why.
 *
 * The stand-in checks descriptors as cuDNN does and computes in plain loops; only a card can show
 * the speed and accuracy of NVIDIA's. */
#define _XOPEN_SOURCE 700
#include <math.h>

#include "cuda_fixture.h"
#include "log_lines.h"
#include "test.h"

/* ---- one convolution ---- */

typedef struct convolve_case_t {
    gantry_dtype_t dtype;
    gantry_shape_t images, filter;
    gantry_window_options_t options;
} convolve_case_t;

#define SIZES(...) {.rank = 4, .dims = {__VA_ARGS__}}
static const convolve_case_t cases[] = {
    {.images = SIZES(2, 7, 6, 5), .filter = SIZES(3, 3, 5, 4)},
    {.images = SIZES(1, 8, 9, 3),
     .filter = SIZES(3, 2, 3, 8),
     .options = {.strides = {2, 2}}},
    {.images = SIZES(2, 9, 9, 2),
     .filter = SIZES(2, 3, 2, 3),
     .options = {.dilations = {2, 3}, .padding = GANTRY_PADDING_VALID}},
    {.images = SIZES(1, 6, 5, 4),
     .filter = SIZES(4, 3, 4, 2),
     .options = {.strides = {3, 1},
                 .padding = GANTRY_PADDING_EXPLICIT,
                 .explicit_paddings = {1, 3, 0, 2}}},
    {.images = SIZES(3, 1, 12, 2),
     .filter = SIZES(1, 5, 2, 6),
     .options = {.strides = {1, 2}}},
};
#define CASES (sizeof cases / sizeof cases[0])

/* Whole numbers of few bits, so that each sum is exact in every type and order. */
static const gantry_tensor_t *make_input(gantry_scope_t *scope, gantry_dtype_t dtype,
                                         gantry_shape_t shape, uint32_t seed) {
    float values[4096];
    const size_t count = (size_t)gantry_shape_elements(&shape);
    assert_true(count <= sizeof values / sizeof values[0]);
    for (size_t i = 0; i < count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)((int)(seed >> 28) - 8) / 4;
    }
    return gantry_cast(
        scope, gantry_constant(scope, GANTRY_FLOAT32, shape, values, count * sizeof *values), dtype);
}

static gantry_shape_t planar(gantry_shape_t s) {
    return GANTRY_SHAPE(s.dims[0], s.dims[3], s.dims[1], s.dims[2]);
}

/* Runs the case on the device. Returns the number of elements of `out`. */
static size_t convolve(gantry_runtime_t *runtime, const char *device, const convolve_case_t *c,
                       float *out, size_t room) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const gantry_shape_t images = c->options.channels_first ? planar(c->images) : c->images;
    const gantry_tensor_t *result =
        gantry_conv2d(scope, make_input(scope, c->dtype, images, 1),
                      make_input(scope, c->dtype, c->filter, 2), &c->options);
    const gantry_tensor_t *wide = gantry_cast(scope, result, GANTRY_FLOAT32);
    if (!wide) fail_msg("%s", gantry_scope_message(scope));
    const size_t count = (size_t)gantry_tensor_elements(wide);
    assert_true(count <= room);
    if (gantry_tensor_read(wide, out, count * sizeof *out) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    return count;
}

/* All sums are exact, so the results are equal. */
static void check(gantry_runtime_t *runtime, const convolve_case_t *c) {
    static float got[4096], expected[4096];
    const size_t count = convolve(runtime, "GPU:0", c, got, 4096);
    assert_int_equal(convolve(runtime, "CPU:0", c, expected, 4096), count);
    for (size_t i = 0; i < count; ++i) {
        if (got[i] != expected[i])
            fail_msg("%s, images of %lld channels: element %zu is %g, not %g",
                     gantry_dtype_name(c->dtype), (long long)c->images.dims[3], i, (double)got[i],
                     (double)expected[i]);
    }
}

static uint64_t runs(int engine) {
    char name[32];
    (void)snprintf(name, sizeof name, "engine %d", engine);
    return fixture_control()->calls(name);
}

/* ---- right results ---- */

static void check_all(gantry_dtype_t dtype, int engine) {
    gantry_runtime_t *runtime = fixture_open_runtime(GANTRY_OFF);
    const uint64_t before = runs(engine);
    for (size_t i = 0; i < 2 * CASES; ++i) {
        convolve_case_t c = cases[i / 2];
        c.dtype = dtype;
        c.options.channels_first = i % 2 == 1;
        check(runtime, &c);
    }
    assert_int_equal(runs(engine) - before, 2 * CASES);
    gantry_runtime_release(runtime);
    fixture_expect_nothing_lives();
}

TEST(float32_convolutions_are_exact) { check_all(GANTRY_FLOAT32, 2); }
TEST(halves_are_convolved_by_tensor_cores) {
    check_all(GANTRY_FLOAT16, 0);
    check_all(GANTRY_BFLOAT16, 0);
}

int main(void) {
    const int code = skip_without_pocl();
    if (code != 0) return code;
    setenv("GANTRY_STAND_IN_CUDA", "memory=256M;cc=9.0", 1);
    return test_main();
}
