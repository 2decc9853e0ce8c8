/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Softmax, LogSoftmax and LayerNorm of few long rows on a GPU have the CPU's bits around
 * the borders of lanes, parts and tiles. */
#define _XOPEN_SOURCE 700

#include <math.h>

#include "hostile_gpu.h"
#include "test.h"

#define MOST_ELEMENTS 1300000

enum { SOFTMAX, LOG_SOFTMAX, LAYER_NORM, OPS };

static const int64_t shapes[][2] = {
    {1, 513},  {2, 600},  {1, 1000}, {3, 1024},  {2, 1025},  {1, 3333},   {2, 4095},
    {1, 4096}, {1, 4097}, {3, 8192}, {1, 12289}, {2, 70000}, {1, 300000}, {1, 1200001},
};
static const gantry_dtype_t types[] = {GANTRY_FLOAT32, GANTRY_FLOAT64, GANTRY_FLOAT16};

/* Results depend on the order of additions. Softmax also gets -infinity and zeros of both signs. */
static const gantry_tensor_t *make_values(gantry_scope_t *scope, int64_t rows, int64_t length,
                                          gantry_dtype_t dtype, bool has_infinity) {
    const size_t count = (size_t)(rows * length);
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; ++i)
        values[i] = has_infinity && i % 101 == 100 ? -INFINITY
                    : i % 97 == 96                 ? -0.0f
                                                   : (float)(i * 7919 % 1009) * 0.013f - 9.0f;
    const gantry_tensor_t *data = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(rows, length),
                                                  values, count * sizeof *values);
    free(values);
    return dtype == GANTRY_FLOAT32 ? data : gantry_cast(scope, data, dtype);
}

static const gantry_tensor_t *call(gantry_scope_t *scope, int op, const int64_t *shape,
                                   gantry_dtype_t dtype) {
    const gantry_tensor_t *x = make_values(scope, shape[0], shape[1], dtype, op != LAYER_NORM);
    if (op == SOFTMAX) return gantry_softmax(scope, x);
    if (op == LOG_SOFTMAX) return gantry_log_softmax(scope, x);
    const gantry_tensor_t *scale = gantry_reshape(
        scope, make_values(scope, 1, shape[1], dtype, false), GANTRY_SHAPE(shape[1]));
    return gantry_layer_norm(scope, x, scale, scale, 1, 0.001);
}

static size_t compute(gantry_runtime_t *runtime, const char *device, int op, const int64_t *shape,
                      gantry_dtype_t dtype, unsigned char *out, size_t most) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *result = call(scope, op, shape, dtype);
    const size_t bytes = result ? gantry_tensor_bytes(result) : 0;
    assert_true(bytes <= most);
    if (!result || gantry_tensor_read(result, out, bytes) != GANTRY_OK)
        fail_msg("%s", result ? gantry_last_message() : gantry_scope_message(scope));
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    return bytes;
}

static void compare(gantry_runtime_t *runtime, int op, const int64_t *shape, gantry_dtype_t dtype) {
    static unsigned char wanted[MOST_ELEMENTS * 4], got[MOST_ELEMENTS * 4];
    const size_t bytes = compute(runtime, "/CPU:0", op, shape, dtype, wanted, sizeof wanted);
    assert_int_equal(compute(runtime, "/GPU:0", op, shape, dtype, got, sizeof got), bytes);
    if (memcmp(got, wanted, bytes) != 0)
        fail_msg("op %d of %s [%d, %d]: the bits are not the CPU's", op, gantry_dtype_name(dtype),
                 (int)shape[0], (int)shape[1]);
}

/* All ops and shapes in the first `type_count` types, but the longest rows in float32 alone. */
static void compare_all(gantry_runtime_t *runtime, size_t type_count) {
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) {
        const size_t count = shapes[i][1] > 100000 ? 1 : type_count;
        for (size_t t = 0; t < count; ++t)
            for (int op = 0; op < OPS; ++op) compare(runtime, op, shapes[i], types[t]);
    }
}

TEST(few_long_rows_have_the_bits_of_the_processor) {
    static char launches[1 << 20];
    static const char *const kernels[] = {"softmax_few", "softmax_tile_most", "softmax_tile_sum",
                                          "softmax_tile_result", "norm_few"};
    gantry_runtime_t *runtime = hostile_open("gpu=1;units=48;log=1");
    hostile_take_launches(launches, sizeof launches);
    compare_all(runtime, sizeof types / sizeof types[0]);
    hostile_take_launches(launches, sizeof launches);
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; ++i)
        if (!strstr(launches, kernels[i])) fail_msg("%s did not run", kernels[i]);
    assert_null(strstr(launches, "softmax_group"));
    assert_null(strstr(launches, "norm_group"));
    gantry_runtime_release(runtime);
}

/* Groups on two threads have a local array each: a shared one is seen in one of 300 calls. */
TEST(groups_side_by_side_keep_their_local_memory) {
    static const int64_t shape[] = {8, 600};
    gantry_runtime_t *runtime = hostile_open("gpu=1;units=48");
    for (int i = 0; i < 1000; ++i)
        compare(runtime, i % 2 ? SOFTMAX : LAYER_NORM, shape, GANTRY_FLOAT32);
    gantry_runtime_release(runtime);
}

TEST(a_gpu_that_allows_small_groups_has_the_same_bits) {
    static char launches[1 << 20];
    gantry_runtime_t *runtime = hostile_open("gpu=1;units=48;group=128;log=1");
    hostile_take_launches(launches, sizeof launches);
    compare_all(runtime, 1);
    hostile_take_launches(launches, sizeof launches);
    assert_non_null(strstr(launches, "softmax_group"));
    assert_non_null(strstr(launches, "softmax_terms"));
    assert_non_null(strstr(launches, "norm_group"));
    assert_null(strstr(launches, "softmax_tile"));
    assert_null(strstr(launches, "_few"));
    gantry_runtime_release(runtime);
}

int main(void) {
    const int code = hostile_prepare();
    if (code != 0) return code;
    return test_main();
}
