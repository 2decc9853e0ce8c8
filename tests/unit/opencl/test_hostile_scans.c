/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Scans of few columns on a GPU, which go through local memory, have the CPU's bits around
 * the borders of pieces, chunks and groups, forwards and in reverse.
 * Promise: A scan of a long sequence on a GPU is one launch where work-groups go on while others
 * wait, and three elsewhere, for a reason that a program reads; both have the CPU's bits. */
#define _XOPEN_SOURCE 700

#include "hostile_gpu.h"
#include "test.h"

#define MOST_BYTES (1 << 20)

enum { SUM, PRODUCT, LOG_SUM };

static const int64_t shapes[][3] = {
    /* outer, length, columns */
    {1000, 1, 1},  {300, 5, 1},   {70, 31, 1},  {67, 33, 1},  {65, 100, 1},  {9, 127, 1},
    {5, 128, 1},   {130, 129, 1}, {3, 1000, 1}, {1, 9000, 1}, {2, 20000, 1}, {40, 3, 2},
    {7, 300, 2},   {5, 257, 3},   {3, 500, 7},  {2, 640, 11}, {4, 140, 15},  {3, 400, 16},
    {3, 140, 17},  {0, 9000, 1},  {4, 0, 1},    {3, 8064, 1}, {3, 8065, 1},  {2, 16383, 1},
    {2, 16384, 1}, {3, 16385, 1},
};
static const gantry_dtype_t types[] = {GANTRY_FLOAT32, GANTRY_FLOAT64, GANTRY_FLOAT16, GANTRY_INT8,
                                       GANTRY_INT64};

static const gantry_tensor_t *make_values(gantry_scope_t *scope, const int64_t *shape,
                                          gantry_dtype_t dtype, bool is_product) {
    size_t count = (size_t)(shape[0] * shape[1] * shape[2]);
    float *values = malloc((count + 1) * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; ++i) /* results of these depend on the order */
        values[i] = is_product ? 1.0f + (float)(i * 7919 % 1009 - 504) * 1e-4f
                               : (float)(i * 7919 % 1009) * 0.037f - 18.0f;
    const gantry_tensor_t *data =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(shape[0], shape[1], shape[2]), values,
                        count * sizeof *values);
    free(values);
    return dtype == GANTRY_FLOAT32 ? data : gantry_cast(scope, data, dtype);
}

static size_t compute(gantry_scope_t *scope, const int64_t *shape, gantry_dtype_t dtype, int op,
                      const gantry_scan_options_t *options, unsigned char *out, size_t most) {
    const gantry_tensor_t *x = make_values(scope, shape, dtype, op == PRODUCT);
    const gantry_tensor_t *result = op == SUM ? gantry_cumsum(scope, x, 1, options)
                                    : op == PRODUCT
                                        ? gantry_cumprod(scope, x, 1, options)
                                        : gantry_cumulative_logsumexp(scope, x, 1, options);
    size_t bytes = result ? gantry_tensor_bytes(result) : 0;
    assert_true(bytes <= most);
    if (!result || gantry_tensor_read(result, out, bytes) != GANTRY_OK)
        fail_msg("%s", result ? gantry_last_message() : gantry_scope_message(scope));
    return bytes;
}

static void compare(gantry_runtime_t *runtime, const int64_t *shape, gantry_dtype_t dtype, int op,
                    const gantry_scan_options_t *options) {
    static unsigned char wanted[MOST_BYTES], got[MOST_BYTES];
    gantry_scope_t *cpu = gantry_scope_begin(runtime, "/CPU:0");
    size_t bytes = compute(cpu, shape, dtype, op, options, wanted, sizeof wanted);
    assert_int_equal(gantry_scope_end(cpu), GANTRY_OK);
    gantry_scope_t *gpu = gantry_scope_begin(runtime, "/GPU:0");
    assert_int_equal(compute(gpu, shape, dtype, op, options, got, sizeof got), bytes);
    assert_int_equal(gantry_scope_end(gpu), GANTRY_OK);
    if (memcmp(got, wanted, bytes) != 0)
        fail_msg("scan %d of %s [%d, %d, %d], exclusive %d, reverse %d: the bits are not the CPU's",
                 op, gantry_dtype_name(dtype), (int)shape[0], (int)shape[1], (int)shape[2],
                 options->exclusive, options->reverse);
}

static void compare_all(gantry_runtime_t *runtime) {
    for (size_t i = 0; i < 4 * (sizeof shapes / sizeof shapes[0]); ++i) {
        const gantry_scan_options_t options = {
            .struct_size = sizeof options, .exclusive = i % 2 != 0, .reverse = i / 2 % 2 != 0};
        for (size_t t = 0; t < sizeof types / sizeof types[0]; ++t)
            compare(runtime, shapes[i / 4], types[t], SUM, &options);
        compare(runtime, shapes[i / 4], GANTRY_FLOAT32, PRODUCT, &options);
        compare(runtime, shapes[i / 4], GANTRY_FLOAT32, LOG_SUM, &options);
    }
}

TEST(tiles_have_the_bits_of_the_processor) {
    static char launches[1 << 20];
    const char *const settings[] = {"gpu=1;units=1;log=1", "gpu=1;units=48;log=1"};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; ++i) {
        gantry_runtime_t *runtime = hostile_open(settings[i]);
        hostile_take_launches(launches, sizeof launches);
        compare_all(runtime);
        hostile_take_launches(launches, sizeof launches);
        assert_non_null(strstr(launches, "scan_totals_tile"));
        assert_non_null(strstr(launches, "scan_rows_tile"));
        gantry_runtime_release(runtime);
    }
}

TEST(a_gpu_without_room_for_tiles_has_the_same_bits) {
    static char launches[1 << 20];
    gantry_runtime_t *runtime = hostile_open("gpu=1;units=48;local=8192;log=1");
    hostile_take_launches(launches, sizeof launches);
    compare_all(runtime);
    hostile_take_launches(launches, sizeof launches);
    assert_non_null(strstr(launches, "scan_rows"));
    assert_null(strstr(launches, "_tile"));
    gantry_runtime_release(runtime);
}

/* ---- long sequences ---- */

/* 128 chunks of chunks, one element more, and many more */
enum { FULL = 128 * 128 * 128, LENGTH = 128 * 128 * 150 + 77 };

typedef struct long_case_t {
    gantry_dtype_t dtype;
    int op;
    bool exclusive, reverse;
    int length;
} long_case_t;

static const long_case_t long_cases[] = {
    {GANTRY_FLOAT32, SUM, false, false, LENGTH},   {GANTRY_FLOAT32, PRODUCT, true, true, LENGTH},
    {GANTRY_FLOAT16, SUM, false, true, LENGTH},    {GANTRY_FLOAT64, SUM, true, false, LENGTH},
    {GANTRY_INT8, SUM, false, false, LENGTH},      {GANTRY_INT64, PRODUCT, false, true, LENGTH},
    {GANTRY_FLOAT32, LOG_SUM, true, true, LENGTH}, {GANTRY_FLOAT32, SUM, true, false, FULL + 1},
    {GANTRY_FLOAT32, SUM, false, true, FULL + 1},
};

/* Compares with the CPU's bits, and checks that `kernel` was one of the launches on the GPU. */
static void compare_long(gantry_runtime_t *runtime, const long_case_t *one, int wanted,
                         const char *kernel) {
    const int64_t shape[] = {1, one->length, 1};
    static char launches[1 << 12];
    const gantry_scan_options_t options = {
        .struct_size = sizeof options, .exclusive = one->exclusive, .reverse = one->reverse};
    unsigned char *out[2] = {malloc(LENGTH * sizeof(double)), malloc(LENGTH * sizeof(double))};
    size_t bytes = 0;
    int lines = 0;
    assert_true(out[0] && out[1]);
    for (int on_gpu = 0; on_gpu < 2; ++on_gpu) {
        gantry_scope_t *scope = gantry_scope_begin(runtime, on_gpu ? "/GPU:0" : "/CPU:0");
        bytes = compute(scope, shape, one->dtype, one->op, &options, out[on_gpu],
                        LENGTH * sizeof(double));
        hostile_take_launches(launches, sizeof launches);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    }
    assert_memory_equal(out[0], out[1], bytes);
    for (const char *at = launches; (at = strstr(at, "scan_")) != NULL; ++at) lines++;
    if (lines != wanted || !strstr(launches, kernel)) fail_msg("%s", launches);
    free(out[0]);
    free(out[1]);
}

static const char *reason_of(gantry_runtime_t *runtime) {
    const gantry_physical_device_t *device;
    assert_int_equal(gantry_find_physical_device(runtime, "GPU:0", &device), GANTRY_OK);
    return gantry_device_three_launches(device);
}

TEST(a_long_sequence_takes_one_launch_with_the_same_bits) {
    gantry_runtime_t *runtime = hostile_open("gpu=1;units=48;log=1");
    assert_string_equal(reason_of(runtime), "");
    for (size_t k = 0; k < sizeof long_cases / sizeof long_cases[0]; ++k) {
        const bool is_log = long_cases[k].op == LOG_SUM;
        compare_long(runtime, &long_cases[k], is_log ? 3 : 1, is_log ? "scan_upper" : "scan_once");
    }
    gantry_runtime_release(runtime);
}

TEST(where_groups_may_wait_for_ever_it_takes_three) {
    gantry_runtime_t *runtime = hostile_open("gpu=1;units=48;intel=0;log=1");
    assert_non_null(strstr(reason_of(runtime), "does not promise"));
    for (size_t k = 0; k < sizeof long_cases / sizeof long_cases[0]; ++k)
        compare_long(runtime, &long_cases[k], 3, "scan_upper");
    gantry_runtime_release(runtime);
}

int main(void) {
    const int code = hostile_prepare();
    if (code != 0) return code;
    return test_main();
}
