/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Ops with indices give the bits of plain loops with any number of threads, on sizes that
 * several threads share. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"

#include <math.h>

enum { COUNT = 70001, ROWS = 900 };

static uint32_t next(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void *take(size_t bytes) {
    void *data = calloc(1, bytes);
    assert_non_null(data);
    return data;
}

static float *make_values(int64_t count) {
    float *values = take((size_t)count * sizeof *values);
    uint32_t random = 7;
    for (int64_t i = 0; i < count; ++i) values[i] = (float)next(&random) / 1000.0f - 8000.0f;
    return values;
}

static int32_t *make_ids(int64_t count, uint32_t most, bool sorted) {
    int32_t *ids = take((size_t)count * sizeof *ids);
    uint32_t random = 3;
    for (int64_t i = 0; i < count; ++i)
        ids[i] = sorted ? (int32_t)((uint64_t)i * most / (uint64_t)count)
                        : (int32_t)(next(&random) % most);
    return ids;
}

static void expect_bits(const gantry_tensor_t *tensor, const void *expected, size_t bytes) {
    char *data = take(bytes);
    if (!tensor || gantry_tensor_read(tensor, data, bytes) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    for (size_t i = 0; i < bytes; ++i) {
        if (data[i] != ((const char *)expected)[i]) fail_msg("byte %zu of %zu differs", i, bytes);
    }
    free(data);
}

static const gantry_tensor_t *put(gantry_scope_t *scope, gantry_dtype_t dtype, gantry_shape_t shape,
                                  const void *data) {
    int64_t count = 1;
    for (int32_t d = 0; d < shape.rank; ++d) count *= shape.dims[d];
    return gantry_constant(scope, dtype, shape, data, (size_t)count * gantry_dtype_size(dtype));
}

/* Segment sums of slices of `inner` columns, with ids below `most`. If ids are sorted, a sum begins
 * with its first slice. */
static void check_sums(gantry_scope_t *scope, int64_t count, int64_t inner, uint32_t most,
                       bool sorted) {
    float *values = make_values(count * inner),
          *expected = take((size_t)(most * inner) * sizeof *expected);
    int32_t *ids = make_ids(count, most, sorted);
    for (int64_t i = 0; i < count; ++i) {
        for (int64_t e = 0; e < inner; ++e) {
            float *at = &expected[ids[i] * inner + e];
            *at = sorted && (i == 0 || ids[i - 1] != ids[i]) ? values[i * inner + e]
                                                             : *at + values[i * inner + e];
        }
    }
    const gantry_tensor_t *x = put(scope, GANTRY_FLOAT32, GANTRY_SHAPE(count, inner), values);
    const gantry_tensor_t *segments = put(scope, GANTRY_INT32, GANTRY_SHAPE(count), ids);
    const size_t bytes = (size_t)(most * inner) * sizeof *expected;
    expect_bits(sorted ? gantry_segment_sum(scope, x, segments)
                       : gantry_unsorted_segment_sum(scope, x, segments, most),
                expected, bytes);
    if (!sorted) {
        expect_bits(gantry_scatter_nd(scope, put(scope, GANTRY_INT32, GANTRY_SHAPE(count, 1), ids),
                                      x, GANTRY_SHAPE(most, inner)),
                    expected, bytes);
    }
    free(values);
    free(expected);
    free(ids);
}

static void sums_in(gantry_scope_t *scope) {
    for (int sorted = 0; sorted < 2; ++sorted) {
        check_sums(scope, COUNT, 1, 5000, sorted != 0);
        check_sums(scope, COUNT, 1, 3, sorted != 0);
        check_sums(scope, 5000, 3, 40, sorted != 0);
        check_sums(scope, ROWS, 100, 37, sorted != 0);
        check_sums(scope, ROWS, 100, 1, sorted != 0);
    }
}

static void updates_in(gantry_scope_t *scope) {
    float *values = make_values(COUNT), *larger = take(ROWS * sizeof *larger),
          *last = take(ROWS * sizeof *last);
    int32_t *ids = make_ids(COUNT, ROWS, false);
    for (int i = 0; i < COUNT; ++i) {
        larger[ids[i]] = larger[ids[i]] < values[i] ? values[i] : larger[ids[i]];
        last[ids[i]] = values[i];
    }
    const gantry_tensor_t *zeros =
        put(scope, GANTRY_FLOAT32, GANTRY_SHAPE(ROWS), (const float[ROWS]){0});
    const gantry_tensor_t *indices = put(scope, GANTRY_INT32, GANTRY_SHAPE(COUNT, 1), ids);
    const gantry_tensor_t *x = put(scope, GANTRY_FLOAT32, GANTRY_SHAPE(COUNT), values);
    expect_bits(gantry_tensor_scatter_max(scope, zeros, indices, x), larger, ROWS * sizeof *larger);
    expect_bits(gantry_tensor_scatter_update(scope, zeros, indices, x), last, ROWS * sizeof *last);
    free(values);
    free(larger);
    free(last);
    free(ids);
}

/* Some numbers lie outside the bins. */
static void check_counts(gantry_scope_t *scope, int32_t bins) {
    int32_t *ids = make_ids(COUNT, (uint32_t)bins + 5, false),
            *expected = take((size_t)bins * sizeof *expected);
    for (int i = 0; i < COUNT; ++i) {
        if (ids[i] < bins) expected[ids[i]]++;
    }
    const gantry_tensor_t *x = put(scope, GANTRY_INT32, GANTRY_SHAPE(COUNT), ids);
    const gantry_tensor_t *none = gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(0), NULL, 0);
    expect_bits(gantry_bincount(scope, x, bins, none), expected, (size_t)bins * sizeof *expected);
    for (int32_t b = 0; b < bins; ++b) expected[b] = expected[b] > 0;
    expect_bits(gantry_dense_bincount(scope, x, bins, none, true), expected,
                (size_t)bins * sizeof *expected);
    free(ids);
    free(expected);
}

static void counts_in(gantry_scope_t *scope) {
    check_counts(scope, 1);
    check_counts(scope, 1000);
    check_counts(scope, COUNT); /* as many bins as numbers, then more */
    check_counts(scope, COUNT + 1);
}

/* Each NaN counts as a value of its own. */
static void unique_in(gantry_scope_t *scope) {
    float *x = take(COUNT * sizeof *x), *values = take(COUNT * sizeof *values);
    int32_t *numbers = take(COUNT * sizeof *numbers), *counts = take(COUNT * sizeof *counts),
            seen = 0, of[3000];
    uint32_t random = 9;
    for (int i = 0; i < 3000; ++i) of[i] = -1;
    for (int i = 0; i < COUNT; ++i) {
        const uint32_t number = next(&random) % 3000;
        x[i] = number == 77  ? NAN
               : number == 0 ? (i % 2 ? -0.0f : 0.0f)
                             : (float)number / 7 - 200.25f;
        if (number == 77 || of[number] < 0) {
            of[number] = seen;
            values[seen++] = x[i];
        }
        numbers[i] = of[number];
        counts[numbers[i]]++;
    }
    const gantry_tensor_t *idx = NULL, *count = NULL;
    const gantry_tensor_t *y =
        gantry_unique(scope, put(scope, GANTRY_FLOAT32, GANTRY_SHAPE(COUNT), x), &idx, &count);
    assert_non_null(y);
    assert_int_equal(gantry_tensor_shape(y)->dims[0], seen);
    expect_bits(y, values, (size_t)seen * sizeof *values);
    expect_bits(idx, numbers, COUNT * sizeof *numbers);
    expect_bits(count, counts, (size_t)seen * sizeof *counts);
    free(x);
    free(values);
    free(numbers);
    free(counts);
}

static void gather_in(gantry_scope_t *scope) {
    float *values = make_values(ROWS), *expected = take(COUNT * sizeof *expected);
    int32_t *ids = make_ids(COUNT, ROWS, false);
    for (int i = 0; i < COUNT; ++i) expected[i] = values[ids[i]];
    expect_bits(gantry_gather(scope, put(scope, GANTRY_FLOAT32, GANTRY_SHAPE(ROWS), values),
                              put(scope, GANTRY_INT32, GANTRY_SHAPE(COUNT), ids), 0),
                expected, COUNT * sizeof *expected);
    free(values);
    free(expected);
    free(ids);
}

static void bad_numbers_in(gantry_scope_t *scope) {
    int32_t *ids = make_ids(COUNT, 50, false);
    ids[COUNT - 7] = -1;
    const gantry_tensor_t *x = put(scope, GANTRY_INT32, GANTRY_SHAPE(COUNT), ids);
    const gantry_tensor_t *none = gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(0), NULL, 0);
    assert_null(gantry_bincount(scope, x, 50, none));
    assert_int_equal(gantry_scope_status(scope), GANTRY_INVALID_ARGUMENT);
    gantry_scope_clear(scope);
    free(ids);
}

static void with_threads(int32_t threads, void (*check)(gantry_scope_t *scope)) {
    runtime_fixture_t f;
    fake->set_device_count(0);
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    options.cpu_threads = threads;
    runtime_fixture_open_with(&f, &options);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    check(scope);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

#define EACH(name, check)                                      \
    static void name(void **state) {                           \
        (void)state;                                           \
        for (int32_t threads = 1; threads < 8; threads += 3) { \
            with_threads(threads, check);                      \
        }                                                      \
    }

EACH(sums_are_made_in_the_updates_order, sums_in)
EACH(updates_of_a_place_come_one_after_the_other, updates_in)
EACH(counts_of_parts_are_joined, counts_in)
EACH(unique_numbers_values_by_their_first_coming, unique_in)
EACH(gather_picks_single_elements, gather_in)
EACH(bincount_of_a_negative_number_is_refused, bad_numbers_in)

int main(void) {
#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, runtime_fixture_set_up, runtime_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(sums_are_made_in_the_updates_order), TEST(updates_of_a_place_come_one_after_the_other),
        TEST(counts_of_parts_are_joined),         TEST(unique_numbers_values_by_their_first_coming),
        TEST(gather_picks_single_elements),       TEST(bincount_of_a_negative_number_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
