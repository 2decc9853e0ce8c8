/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Sorts on a GPU, in tiles of local memory, give the CPU's elements and positions, with
 * many equal elements, NaN and both orders.
 * Promise: A GPU sorts rows of up to 2048 elements, and takes the first of them, in one launch. */
#define _XOPEN_SOURCE 700

#include <math.h>

#include "hostile_gpu.h"
#include "test.h"

static const int64_t shapes[][3] = {
    /* outer, length, inner */
    {1, 513, 1},
    {3, 1000, 1},
    {1, 2047, 1},
    {2, 2048, 1},
    {1, 2049, 1},
    {2, 4097, 1},
    {2, 700, 5},
    {1, 2500, 17},
    {1, 20000, 1},
    {5, 512, 1},
    /* several rows to a tile */
    {900, 1, 1},
    {700, 2, 1},
    {500, 3, 1},
    {300, 8, 1},
    {230, 9, 1},
    {9, 255, 1},
    {8, 256, 1},
    {9, 257, 1},
    {3, 40, 33},
    {1, 1024, 3},
};
static const gantry_dtype_t types[] = {GANTRY_FLOAT32, GANTRY_FLOAT64, GANTRY_FLOAT16, GANTRY_INT8,
                                       GANTRY_UINT16};

/* Few different numbers, zeros of both signs, and for floats NaN. */
static const gantry_tensor_t *make_values(gantry_scope_t *scope, const int64_t *shape,
                                          gantry_dtype_t dtype) {
    const bool is_float = dtype != GANTRY_INT8 && dtype != GANTRY_UINT16;
    const size_t count = (size_t)(shape[0] * shape[1] * shape[2]);
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; ++i)
        values[i] = is_float && i % 53 == 52   ? NAN
                    : is_float && i % 31 == 30 ? -0.0f
                                               : (float)(i * 7919 % 101);
    const gantry_tensor_t *data =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(shape[0], shape[1], shape[2]), values,
                        count * sizeof *values);
    free(values);
    return dtype == GANTRY_FLOAT32 ? data : gantry_cast(scope, data, dtype);
}

static size_t sort(gantry_runtime_t *runtime, const char *device, const int64_t *shape,
                   gantry_dtype_t dtype, int way, unsigned char *out, size_t most) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *x = make_values(scope, shape, dtype);
    const gantry_tensor_t *result = (way & 2) != 0 ? gantry_argsort(scope, x, 1, (way & 1) != 0)
                                                   : gantry_sort(scope, x, 1, (way & 1) != 0);
    const size_t bytes = result ? gantry_tensor_bytes(result) : 0;
    assert_true(bytes <= most);
    if (!result || gantry_tensor_read(result, out, bytes) != GANTRY_OK)
        fail_msg("%s", result ? gantry_last_message() : gantry_scope_message(scope));
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    return bytes;
}

/* way: bit 0 descending, bit 1 positions. */
static void compare(gantry_runtime_t *runtime, const int64_t *shape, gantry_dtype_t dtype,
                    int way) {
    static unsigned char wanted[1 << 19], got[1 << 19];
    const size_t bytes = sort(runtime, "/CPU:0", shape, dtype, way, wanted, sizeof wanted);
    assert_int_equal(sort(runtime, "/GPU:0", shape, dtype, way, got, sizeof got), bytes);
    if (memcmp(got, wanted, bytes) != 0)
        fail_msg("%s of %s [%d, %d, %d], descending %d: the bits are not the CPU's",
                 (way & 2) != 0 ? "ArgSort" : "Sort", gantry_dtype_name(dtype), (int)shape[0],
                 (int)shape[1], (int)shape[2], way & 1);
}

/* Compares all shapes and `type_count` types on a GPU with these settings; gives its launches. */
static void compare_all(const char *settings, size_t type_count, char *launches,
                        size_t launches_bytes) {
    gantry_runtime_t *runtime = hostile_open(settings);
    hostile_take_launches(launches, launches_bytes);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i)
        for (size_t t = 0; t < type_count; ++t)
            for (int way = 0; way < 4; ++way) compare(runtime, shapes[i], types[t], way);
    hostile_take_launches(launches, launches_bytes);
    gantry_runtime_release(runtime);
}

TEST(tiles_sort_as_the_processor) {
    static char launches[1 << 18];
    compare_all("gpu=1;units=8;log=1", sizeof types / sizeof types[0], launches, sizeof launches);
    assert_non_null(strstr(launches, "sort_tile"));
    assert_null(strstr(launches, "sort_runs"));
    assert_non_null(strstr(launches, "sort_merge_tile"));
}

TEST(a_gpu_without_room_for_tiles_sorts_the_same) {
    static char launches[1 << 18];
    compare_all("gpu=1;units=8;local=8192;log=1", 1, launches, sizeof launches);
    assert_null(strstr(launches, "sort_tile"));
    compare_all("gpu=1;units=8;group=128;log=1", 1, launches, sizeof launches);
    assert_null(strstr(launches, "sort_tile"));
}

typedef struct top_t {
    int64_t shape[3];
    int32_t kept;
    int launches; /* 0: any number */
} top_t;

static const top_t tops[] = {
    {{1, 2, 5000}, 10, 2},     {{1, 2, 5000}, 1024, 0}, {{1, 2, 5000}, 1025, 0},
    {{1, 2, 5000}, 2047, 0},   {{1, 2, 5000}, 2100, 0}, {{1, 2, 5000}, 5000, 0},
    {{3, 30, 700}, 10, 1},     {{3, 30, 700}, 700, 1},  {{1, 500, 3}, 2, 1},
    {{1, 1, 2048}, 2048, 1},   {{1, 1, 2049}, 1, 2},    {{2, 1, 150000}, 100, 3},
    {{1, 1, 300000}, 1000, 0},
};

/* Reads the first of each row and their positions, one after the other. */
static size_t take_top(gantry_runtime_t *runtime, const char *device, const top_t *top,
                       gantry_dtype_t dtype, unsigned char *out) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *indices = NULL;
    const gantry_tensor_t *x = make_values(scope, top->shape, dtype);
    hostile_take_launches((char[1 << 12]){0}, 1 << 12);
    const gantry_tensor_t *values = gantry_top_k(scope, x, top->kept, &indices);
    if (!values) fail_msg("%s", gantry_scope_message(scope));
    const size_t first = gantry_tensor_bytes(values), second = gantry_tensor_bytes(indices);
    assert_int_equal(gantry_tensor_read(values, out, first), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(indices, out + first, second), GANTRY_OK);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    return first + second;
}

static int count_lines(const char *text) {
    int count = 0;
    for (; *text; ++text) count += *text == '\n';
    return count;
}

TEST(the_first_of_each_row_are_the_processors) {
    static unsigned char wanted[1 << 20], got[1 << 20];
    static char launches[1 << 16];
    gantry_runtime_t *runtime = hostile_open("gpu=1;units=8;log=1");
    for (size_t i = 0; i < sizeof tops / sizeof tops[0]; ++i) {
        for (size_t t = 0; t < 2; ++t) {
            const size_t bytes = take_top(runtime, "/CPU:0", &tops[i], types[t], wanted);
            assert_int_equal(take_top(runtime, "/GPU:0", &tops[i], types[t], got), bytes);
            hostile_take_launches(launches, sizeof launches);
            if (memcmp(got, wanted, bytes) != 0) fail_msg("top %zu: not the CPU's", i);
            if (tops[i].launches != 0 && count_lines(launches) != tops[i].launches)
                fail_msg("top %zu:\n%s", i, launches);
        }
    }
    gantry_runtime_release(runtime);
}

int main(void) {
    const int code = hostile_prepare();
    if (code != 0) return code;
    return test_main();
}
