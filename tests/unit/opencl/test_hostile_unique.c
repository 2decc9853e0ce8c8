/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Unique and UniqueWithCounts have the CPU's results on a GPU, of every type, with NaN and
 * both zeros, in five launches, none of which sorts.
 * Promise: Keys that all have one place in the table are found by a sort, with the same results. */
#define _XOPEN_SOURCE 700

#include <math.h>

#include "hostile_gpu.h"
#include "test.h"

enum { MOST = 70000 };

typedef struct case_t {
    int count, values;
    gantry_dtype_t dtype, indices;
    bool has_odd; /* NaN and both zeros */
} case_t;

static const case_t cases[] = {
    {1, 1, GANTRY_FLOAT32, GANTRY_INT32, false},
    {2, 1, GANTRY_INT32, GANTRY_INT64, false},
    {1000, 1000, GANTRY_FLOAT32, GANTRY_INT32, true},
    {1025, 3, GANTRY_FLOAT64, GANTRY_INT64, true},
    {MOST, 50000, GANTRY_INT32, GANTRY_INT32, false},
    {MOST, 70, GANTRY_INT64, GANTRY_INT64, false},
    {MOST, 1, GANTRY_FLOAT32, GANTRY_INT32, false},
    {5000, 300, GANTRY_BFLOAT16, GANTRY_INT32, true},
    {5000, 90, GANTRY_INT8, GANTRY_INT32, false},
    {5000, 2, GANTRY_BOOL, GANTRY_INT32, false},
};

static const gantry_tensor_t *make_values(gantry_scope_t *scope, const case_t *one) {
    static float values[MOST];
    for (int i = 0; i < one->count; ++i) {
        const uint32_t number = (uint32_t)i * 2654435761u >> 5;
        values[i] = (float)(number % (uint32_t)one->values) - (float)(one->values / 2);
        if (one->has_odd && i % 7 == 3) values[i] = i % 3 == 0 ? NAN : i % 2 == 0 ? 0.0f : -0.0f;
    }
    const gantry_tensor_t *x = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(one->count),
                                               values, (size_t)one->count * sizeof *values);
    return one->dtype == GANTRY_FLOAT32 ? x : gantry_cast(scope, x, one->dtype);
}

typedef struct found_t {
    unsigned char bytes[3][MOST * 8];
    size_t sizes[3];
    char launches[1 << 12];
} found_t;

static void call_unique(gantry_runtime_t *runtime, const char *device, const gantry_tensor_t *x,
                        gantry_dtype_t indices, bool counts, found_t *found) {
    const gantry_attr_value_t attr = {.name = "out_idx", .kind = GANTRY_ATTR_TYPE, .i = indices};
    const gantry_tensor_t *outputs[3] = {NULL};
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *here = gantry_identity(scope, x);
    hostile_take_launches(found->launches, sizeof found->launches);
    size_t output_count = 3;
    if (gantry_op_call(scope, counts ? "UniqueWithCounts" : "Unique", &here, 1, &attr, 1, outputs,
                       &output_count) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    hostile_take_launches(found->launches, sizeof found->launches);
    for (int k = 0; k < (counts ? 3 : 2); ++k) {
        found->sizes[k] = gantry_tensor_bytes(outputs[k]);
        assert_true(found->sizes[k] <= sizeof found->bytes[k]);
        assert_int_equal(gantry_tensor_read(outputs[k], found->bytes[k], found->sizes[k]),
                         GANTRY_OK);
    }
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

static int count_lines(const char *text) {
    int count = 0;
    for (; *text; ++text) count += *text == '\n';
    return count;
}

/* Compares the results of both devices, and gives the launches of the GPU. */
static const char *compare(gantry_runtime_t *runtime, const gantry_tensor_t *x,
                           gantry_dtype_t indices, bool counts) {
    static found_t wanted, got;
    call_unique(runtime, "/CPU:0", x, indices, counts, &wanted);
    call_unique(runtime, "/GPU:0", x, indices, counts, &got);
    for (int k = 0; k < (counts ? 3 : 2); ++k) {
        if (wanted.sizes[k] != got.sizes[k] ||
            memcmp(wanted.bytes[k], got.bytes[k], got.sizes[k]) != 0)
            fail_msg("%d elements of %s, output %d: not the CPU's\n%s",
                     (int)gantry_tensor_shape(x)->dims[0],
                     gantry_dtype_name(gantry_tensor_dtype(x)), k, got.launches);
    }
    return got.launches;
}

static void compare_all(const char *settings) {
    gantry_runtime_t *runtime = hostile_open(settings);
    for (size_t k = 0; k < 2 * (sizeof cases / sizeof cases[0]); ++k) {
        const case_t *one = &cases[k / 2];
        gantry_scope_t *scope = gantry_scope_begin(runtime, "/CPU:0");
        const char *launches = compare(runtime, make_values(scope, one), one->indices, k % 2 != 0);
        if (strstr(launches, "sort_") || count_lines(launches) != 5) fail_msg("%s", launches);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    }
    gantry_runtime_release(runtime);
}

TEST(values_are_the_processors) { compare_all("gpu=1;units=3;log=1"); }
TEST(values_are_the_processors_in_small_groups) { compare_all("gpu=1;units=48;group=64;log=1"); }

/* ---- one place for all keys ---- */

static uint32_t inverse(uint32_t odd) {
    uint32_t out = odd;
    for (int round = 0; round < 5; ++round) out *= 2 - odd * out;
    return out;
}

/* The key that unique_hash of kernels/index/unique.cl turns into `hash`. */
static uint32_t key_of(uint32_t hash) {
    hash ^= hash >> 16;
    hash *= inverse(0xc2b2ae35u);
    hash ^= hash >> 13 ^ hash >> 26;
    hash *= inverse(0x85ebca6bu);
    return hash ^ hash >> 16;
}

TEST(keys_of_one_place_are_sorted) {
    enum { COUNT = 2000 };
    static int32_t numbers[COUNT];
    gantry_runtime_t *runtime = hostile_open("gpu=1;units=48;log=1");
    gantry_scope_t *scope = gantry_scope_begin(runtime, "/CPU:0");
    for (uint32_t i = 0; i < COUNT; ++i)
        numbers[i] = (int32_t)(key_of(i % 700 << 12 | 5) ^ 0x80000000u);
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(COUNT), numbers, sizeof numbers);
    for (int counts = 0; counts < 2; ++counts) {
        const char *launches = compare(runtime, x, GANTRY_INT32, counts != 0);
        if (!strstr(launches, "sort_tile") || !strstr(launches, "heads_")) fail_msg("%s", launches);
    }
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    gantry_runtime_release(runtime);
}

int main(void) {
    const int code = hostile_prepare();
    if (code != 0) return code;
    return test_main();
}
