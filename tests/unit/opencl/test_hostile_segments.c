/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Reductions of segments of many rows on a GPU have the CPU's bits, and no launch gives
 * one work-item more rows than the backend's bound.
 * Promise: Sums, products and extremes of long sorted segments are one launch on a GPU, with the
 * CPU's bits.
 *
 * The CPU adds all rows at once. */
#define _XOPEN_SOURCE 700

#include <math.h>

#include "hostile_gpu.h"
#include "test.h"

#define MOST_UPDATES (1 << 20) /* from kernels/index/segment_items.c */
#define MOST_ROWS (2 * MOST_UPDATES + 4321)
#define SOME_ROWS (MOST_UPDATES / 4 + 4321)

typedef struct {
    const char *name;
    gantry_dtype_t dtype;
    int rows;
    int width;   /* elements of a row */
    int segment; /* rows of one segment; its ids are sorted */
    bool is_mean;
    int segments; /* unsorted ids cycle through so many; 0: sorted ids */
    bool is_one_launch;
} case_t;

static const case_t cases[] = {
    {"sum of one segment", GANTRY_FLOAT32, SOME_ROWS, 1, SOME_ROWS, false, 0, true},
    {"sum of one segment of halves", GANTRY_FLOAT16, SOME_ROWS, 1, SOME_ROWS, false, 0, true},
    {"mean of one segment", GANTRY_FLOAT32, MOST_ROWS, 1, MOST_ROWS, true, 0, false},
    {"mean of one segment of integers", GANTRY_INT32, MOST_UPDATES + 9, 1, MOST_UPDATES + 9, true,
     0, false},
    {"sums of three segments of pairs", GANTRY_FLOAT32, SOME_ROWS, 2, SOME_ROWS / 3 + 1, false, 0,
     true},
    {"means of segments of a range each", GANTRY_FLOAT32, MOST_UPDATES + 9, 1, MOST_UPDATES, true,
     0, false},
    {"sums of segments of 1000", GANTRY_FLOAT32, SOME_ROWS, 1, 1000, false, 0, true},
    {"sums of segments of 16", GANTRY_FLOAT32, SOME_ROWS, 1, 16, false, 0, false},
    {"unsorted sums of one segment", GANTRY_FLOAT32, MOST_ROWS, 1, 1, false, 1, false},
    {"unsorted sums of three segments", GANTRY_FLOAT32, SOME_ROWS, 1, 1, false, 3, false},
};

static const gantry_tensor_t *make_data(gantry_scope_t *scope, const case_t *one) {
    size_t count = (size_t)one->rows * (size_t)one->width;
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; ++i) /* the order of addition changes these sums */
        values[i] = (float)(i * 7919 % 1009) * (one->dtype == GANTRY_FLOAT16 ? 1e-4f : 0.37f);
    const gantry_tensor_t *data = gantry_constant(
        scope, GANTRY_FLOAT32, GANTRY_SHAPE(one->rows, one->width), values, count * sizeof *values);
    free(values);
    return one->dtype == GANTRY_FLOAT32 ? data : gantry_cast(scope, data, one->dtype);
}

static const gantry_tensor_t *make_ids(gantry_scope_t *scope, const case_t *one) {
    int32_t *ids = malloc((size_t)one->rows * sizeof *ids);
    assert_non_null(ids);
    for (int i = 0; i < one->rows; ++i)
        ids[i] = one->segments ? i % one->segments : i / one->segment;
    const gantry_tensor_t *tensor = gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(one->rows),
                                                    ids, (size_t)one->rows * sizeof *ids);
    free(ids);
    return tensor;
}

static size_t compute(gantry_runtime_t *runtime, const char *device, const case_t *one,
                      unsigned char *out, size_t out_bytes) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *data = make_data(scope, one), *ids = make_ids(scope, one);
    const gantry_tensor_t *result =
        one->segments  ? gantry_unsorted_segment_sum(scope, data, ids, one->segments)
        : one->is_mean ? gantry_segment_mean(scope, data, ids)
                       : gantry_segment_sum(scope, data, ids);
    size_t bytes = result ? gantry_tensor_bytes(result) : 0;
    assert_true(bytes <= out_bytes);
    if (!result || gantry_tensor_read(result, out, bytes) != GANTRY_OK)
        fail_msg("%s on %s: %s", one->name, device,
                 result ? gantry_last_message() : gantry_scope_message(scope));
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    return bytes;
}

static int count_lines(const char *text, const char *part) {
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; ++at) count += 1;
    return count;
}

TEST(long_segments_go_over_several_launches_with_the_same_bits) {
    static char launches[1 << 16];
    static unsigned char wanted[1 << 18], got[1 << 18];
    gantry_runtime_t *runtime = hostile_open("gpu=1;units=48;log=1");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const case_t *one = &cases[i];
        hostile_take_launches(launches, sizeof launches);
        size_t bytes = compute(runtime, "/GPU:0", one, got, sizeof got);
        hostile_take_launches(launches, sizeof launches);
        assert_int_equal(compute(runtime, "/CPU:0", one, wanted, sizeof wanted), bytes);
        if (memcmp(got, wanted, bytes) != 0) fail_msg("%s: the bits are not the CPU's", one->name);
        const int wanted_launches =
            one->is_one_launch ? 1 : (one->rows + MOST_UPDATES - 1) / MOST_UPDATES;
        const char *kernel = one->is_one_launch ? "segment_tile"
                             : one->is_mean     ? "combine_mean"
                                                : "combine_sum";
        if (count_lines(launches, kernel) != wanted_launches ||
            (one->is_one_launch && strstr(launches, "combine")))
            fail_msg("%s:\n%s", one->name, launches);
    }
    gantry_runtime_release(runtime);
}

/* ---- one launch ---- */

typedef const gantry_tensor_t *(*reduce_fn)(gantry_scope_t *scope, const gantry_tensor_t *data,
                                            const gantry_tensor_t *ids);
static const reduce_fn reductions[] = {gantry_segment_sum, gantry_segment_prod, gantry_segment_max,
                                       gantry_segment_min};
static const int widths[] = {1, 2, 3, 31, 64, 65, 200};
static const gantry_dtype_t types[] = {GANTRY_FLOAT64, GANTRY_BFLOAT16, GANTRY_INT8};
enum { FEW_ROWS = 1000, FEW_SEGMENTS = 30 };

/* Some segments are empty, one has most of the rows; some floats are NaN. */
static const gantry_tensor_t *reduce(gantry_scope_t *scope, reduce_fn call, int width,
                                     gantry_dtype_t dtype, bool is_wide) {
    static float values[FEW_ROWS * 200];
    int32_t ids[FEW_ROWS];
    for (int i = 0; i < FEW_ROWS; ++i)
        ids[i] = i < 3 ? 2 : i < 700 ? 5 : 6 + (i - 700) * (FEW_SEGMENTS - 6) / 300;
    for (int i = 0; i < FEW_ROWS * width; ++i)
        values[i] =
            dtype != GANTRY_INT8 && i % 997 == 0 ? NAN : (float)(i * 7919 % 1009) * 0.0037f - 1.7f;
    const gantry_tensor_t *data =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(FEW_ROWS, width), values,
                        (size_t)(FEW_ROWS * width) * sizeof *values);
    const gantry_tensor_t *numbers =
        gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(FEW_ROWS), ids, sizeof ids);
    if (is_wide) numbers = gantry_cast(scope, numbers, GANTRY_INT64);
    if (dtype != GANTRY_FLOAT32) data = gantry_cast(scope, data, dtype);
    hostile_take_launches((char[1 << 12]){0}, 1 << 12);
    return call(scope, data, numbers);
}

static void compare_one(gantry_runtime_t *runtime, size_t r, int width, gantry_dtype_t dtype) {
    static unsigned char out[2][FEW_SEGMENTS * 200 * 8];
    static char launches[1 << 12];
    size_t bytes = 0;
    for (int on_gpu = 0; on_gpu < 2; ++on_gpu) {
        gantry_scope_t *scope = gantry_scope_begin(runtime, on_gpu ? "/GPU:0" : "/CPU:0");
        const gantry_tensor_t *result = reduce(scope, reductions[r], width, dtype, width % 2 == 0);
        if (!result) fail_msg("%s", gantry_scope_message(scope));
        hostile_take_launches(launches, sizeof launches);
        bytes = gantry_tensor_bytes(result);
        assert_int_equal(bytes, gantry_dtype_size(dtype) * (size_t)(FEW_SEGMENTS * width));
        assert_int_equal(gantry_tensor_read(result, out[on_gpu], bytes), GANTRY_OK);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    }
    if (memcmp(out[0], out[1], bytes) != 0 || count_lines(launches, "\n") != 1)
        fail_msg("reduction %zu of %s, %d columns:\n%s", r, gantry_dtype_name(dtype), width,
                 launches);
}

TEST(long_segments_are_one_launch_with_the_same_bits) {
    gantry_runtime_t *runtime = hostile_open("gpu=1;units=48;log=1");
    for (size_t r = 0; r < sizeof reductions / sizeof reductions[0]; ++r)
        for (size_t w = 0; w < sizeof widths / sizeof widths[0]; ++w)
            for (size_t t = 0; t < sizeof types / sizeof types[0]; ++t)
                compare_one(runtime, r, widths[w], types[t]);
    gantry_runtime_release(runtime);
}

int main(void) {
    const int code = hostile_prepare();
    if (code != 0) return code;
    return test_main();
}
