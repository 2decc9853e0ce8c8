/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Long rows with many runs and chunks sort stably on the CPU, and sums in that order have
 * equal bits. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "test.h"

#include <math.h>

enum { LENGTH = 50021, KEPT = 777, SEGMENTS = 300 };

static uint32_t next(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Floats with many equal ones and some NaN. */
static float *make_values(void) {
    float *values = malloc(LENGTH * sizeof *values);
    uint32_t state = 7;
    assert_non_null(values);
    for (int i = 0; i < LENGTH; ++i) {
        const uint32_t number = next(&state);
        values[i] = number % 1000 == 0 ? NAN : (float)(number % 5000) / 7 - 300;
    }
    return values;
}

static const gantry_tensor_t *put(gantry_scope_t *scope, gantry_dtype_t dtype, const void *values) {
    return gantry_constant(scope, dtype, GANTRY_SHAPE(LENGTH), values,
                           LENGTH * gantry_dtype_size(dtype));
}

static void *fetch(const gantry_tensor_t *tensor, size_t bytes) {
    void *data = malloc(bytes);
    assert_non_null(data);
    if (!tensor || gantry_tensor_read(tensor, data, bytes) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return data;
}

/* Whether a precedes b in ascending order; NaN is the largest. */
static bool is_before(const float *values, int32_t a, int32_t b, bool descending) {
    const float x = values[descending ? b : a], y = values[descending ? a : b];
    const bool smaller = x < y || (x == x && y != y), larger = y < x || (y == y && x != x);
    return smaller || (!larger && a < b);
}

TEST(argsort_of_a_long_row_is_the_stable_order) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    float *values = make_values();
    for (int descending = 0; descending < 2; ++descending) {
        int32_t *order =
            fetch(gantry_argsort(scope, put(scope, GANTRY_FLOAT32, values), 0, descending != 0),
                  LENGTH * sizeof *order);
        for (int i = 1; i < LENGTH; ++i) { /* strictly, so no position repeats */
            if (!is_before(values, order[i - 1], order[i], descending != 0))
                fail_msg("wrong at %d", i);
        }
        free(order);
    }
    free(values);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(top_k_of_a_long_row_begins_its_descending_order) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    float *values = make_values();
    const gantry_tensor_t *x = put(scope, GANTRY_FLOAT32, values), *indices = NULL;
    assert_non_null(gantry_top_k(scope, x, KEPT, &indices));
    int32_t *kept = fetch(indices, KEPT * sizeof *kept);
    int32_t *all = fetch(gantry_argsort(scope, x, 0, true), LENGTH * sizeof *all);
    assert_memory_equal(kept, all, KEPT * sizeof *kept);
    free(values);
    free(kept);
    free(all);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(segment_sums_add_in_the_order_of_positions) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    float *values = make_values(), expected[SEGMENTS] = {0};
    int32_t *ids = malloc(LENGTH * sizeof *ids);
    uint32_t random = 3;
    assert_non_null(ids);
    for (int i = 0; i < LENGTH; ++i) {
        if (values[i] != values[i]) values[i] = 1e30f;
        ids[i] = (int32_t)(next(&random) % (SEGMENTS + 1)) - 1;
        if (ids[i] >= 0) expected[ids[i]] += values[i];
    }
    float *sums = fetch(gantry_unsorted_segment_sum(scope, put(scope, GANTRY_FLOAT32, values),
                                                    put(scope, GANTRY_INT32, ids), SEGMENTS),
                        sizeof expected);
    assert_memory_equal(sums, expected, sizeof expected);
    free(sums);
    free(ids);
    free(values);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(unique_of_a_long_row_numbers_values_by_their_first_coming) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    int32_t *x = malloc(LENGTH * sizeof *x), seen = 0;
    uint32_t random = 9;
    const gantry_tensor_t *idx = NULL;
    assert_non_null(x);
    for (int i = 0; i < LENGTH; ++i) x[i] = (int32_t)(next(&random) % 9000);
    const gantry_tensor_t *y = gantry_unique(scope, put(scope, GANTRY_INT32, x), &idx, NULL);
    assert_non_null(y);
    const int64_t count = gantry_tensor_shape(y)->dims[0];
    int32_t *values = fetch(y, (size_t)count * sizeof *values),
            *numbers = fetch(idx, LENGTH * sizeof *numbers);
    int32_t number_of[9000];
    for (int i = 0; i < 9000; ++i) number_of[i] = -1;
    for (int i = 0; i < LENGTH; ++i) {
        if (number_of[x[i]] < 0) number_of[x[i]] = seen++;
        assert_int_equal(numbers[i], number_of[x[i]]);
        assert_int_equal(values[numbers[i]], x[i]);
    }
    assert_int_equal(seen, count);
    free(values);
    free(numbers);
    free(x);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
