/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Reductions of few columns on a GPU have the CPU's bits in groups of 1024 and of 256
 * work-items, around the borders of groups, lanes and chunks. */
#define _XOPEN_SOURCE 700

#include "hostile_gpu.h"
#include "test.h"

static const int64_t shapes[][3] = {
    /* outer, length, columns */
    {1, 65, 32},   {1, 100, 33},  {1, 1000, 64}, {1, 4096, 40},
    {1, 4097, 63}, {1, 9000, 32}, {3, 300, 70},  {2, 2048, 127},
};
static const gantry_dtype_t types[] = {GANTRY_FLOAT32, GANTRY_FLOAT64, GANTRY_FLOAT16, GANTRY_INT8};

static const gantry_tensor_t *make_values(gantry_scope_t *scope, const int64_t *shape,
                                          gantry_dtype_t dtype) {
    const size_t count = (size_t)(shape[0] * shape[1] * shape[2]);
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; ++i) /* sums depend on the order */
        values[i] = (float)(i * 7919 % 1009) * 0.037f - 18.0f;
    const gantry_tensor_t *data =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(shape[0], shape[1], shape[2]), values,
                        count * sizeof *values);
    free(values);
    return dtype == GANTRY_FLOAT32 ? data : gantry_cast(scope, data, dtype);
}

static size_t compute(gantry_runtime_t *runtime, const char *device, const int64_t *shape,
                      gantry_dtype_t dtype, bool is_max, unsigned char *out, size_t most) {
    const int32_t axis = 1;
    const gantry_reduce_options_t options = {
        .struct_size = sizeof options, .axes = &axis, .axis_count = 1};
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *x = make_values(scope, shape, dtype);
    const gantry_tensor_t *result =
        is_max ? gantry_max(scope, x, &options) : gantry_sum(scope, x, &options);
    const size_t bytes = result ? gantry_tensor_bytes(result) : 0;
    assert_true(bytes <= most);
    if (!result || gantry_tensor_read(result, out, bytes) != GANTRY_OK)
        fail_msg("%s", result ? gantry_last_message() : gantry_scope_message(scope));
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    return bytes;
}

static void compare(gantry_runtime_t *runtime, const int64_t *shape, gantry_dtype_t dtype,
                    bool is_max) {
    static unsigned char wanted[1 << 16], got[1 << 16];
    const size_t bytes = compute(runtime, "/CPU:0", shape, dtype, is_max, wanted, sizeof wanted);
    assert_int_equal(compute(runtime, "/GPU:0", shape, dtype, is_max, got, sizeof got), bytes);
    if (memcmp(got, wanted, bytes) != 0)
        fail_msg("%s of %s [%d, %d, %d]: the bits are not the CPU's", is_max ? "max" : "sum",
                 gantry_dtype_name(dtype), (int)shape[0], (int)shape[1], (int)shape[2]);
}

/* Compares all shapes and types on a GPU with these settings, and gives its launches. */
static void compare_all(const char *settings, char *launches, size_t launches_bytes) {
    gantry_runtime_t *runtime = hostile_open(settings);
    hostile_take_launches(launches, launches_bytes);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i)
        for (size_t t = 0; t < sizeof types / sizeof types[0]; ++t)
            for (int is_max = 0; is_max < 2; ++is_max)
                compare(runtime, shapes[i], types[t], is_max != 0);
    hostile_take_launches(launches, launches_bytes);
    gantry_runtime_release(runtime);
}

TEST(groups_that_read_lines_have_the_bits_of_the_processor) {
    static char launches[1 << 18];
    compare_all("gpu=1;units=1;log=1", launches, sizeof launches);
    assert_non_null(strstr(launches, "reduce_block32_lines"));
    assert_null(strstr(launches, "reduce_block32 "));
}

TEST(a_gpu_that_allows_256_has_the_same_bits) {
    static char launches[1 << 18];
    compare_all("gpu=1;units=1;group=256;log=1", launches, sizeof launches);
    assert_non_null(strstr(launches, "reduce_block32 "));
    assert_null(strstr(launches, "reduce_block32_lines"));
}

int main(void) {
    const int code = hostile_prepare();
    if (code != 0) return code;
    return test_main();
}
