/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The C functions of ops_index.h and ops_sort.h do on the CPU what their headers say, and
 * every refusal has a reason.
 *
 * Golden files check the ops in detail. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "test.h"

static gantry_scope_t *begin(runtime_fixture_t *f) {
    runtime_fixture_open(f, 0);
    return runtime_fixture_scope(f, "CPU:0");
}

static void end(runtime_fixture_t *f, gantry_scope_t *scope) {
    expect_ended_well(scope);
    runtime_fixture_close(f);
}

static const gantry_tensor_t *ints(gantry_scope_t *scope, gantry_shape_t shape,
                                   const int32_t *values) {
    return gantry_constant(scope, GANTRY_INT32, shape, values,
                           (size_t)gantry_shape_elements(&shape) * sizeof *values);
}

static const gantry_tensor_t *longs(gantry_scope_t *scope, gantry_shape_t shape,
                                    const int64_t *values) {
    return gantry_constant(scope, GANTRY_INT64, shape, values,
                           (size_t)gantry_shape_elements(&shape) * sizeof *values);
}

static const gantry_tensor_t *floats(gantry_scope_t *scope, gantry_shape_t shape,
                                     const float *values) {
    return gantry_constant(scope, GANTRY_FLOAT32, shape, values,
                           (size_t)gantry_shape_elements(&shape) * sizeof *values);
}

static void expect(const gantry_tensor_t *tensor, gantry_dtype_t dtype, gantry_shape_t shape,
                   const void *values, size_t bytes) {
    unsigned char actual[256];
    if (!tensor) fail_msg("%s", gantry_last_message());
    assert_int_equal(gantry_tensor_dtype(tensor), dtype);
    assert_true(gantry_shape_equal(gantry_tensor_shape(tensor), &shape));
    assert_true(bytes <= sizeof actual);
    assert_int_equal(gantry_tensor_read(tensor, actual, bytes), GANTRY_OK);
    assert_memory_equal(actual, values, bytes);
}

#define EXPECT_INTS(tensor, shape, ...)                                 \
    expect(tensor, GANTRY_INT32, shape, (const int32_t[]){__VA_ARGS__}, \
           sizeof((const int32_t[]){__VA_ARGS__}))
#define EXPECT_LONGS(tensor, shape, ...)                                \
    expect(tensor, GANTRY_INT64, shape, (const int64_t[]){__VA_ARGS__}, \
           sizeof((const int64_t[]){__VA_ARGS__}))
#define EXPECT_FLOATS(tensor, shape, ...)                               \
    expect(tensor, GANTRY_FLOAT32, shape, (const float[]){__VA_ARGS__}, \
           sizeof((const float[]){__VA_ARGS__}))
#define EXPECT_BOOLS(tensor, shape, ...)                            \
    expect(tensor, GANTRY_BOOL, shape, (const bool[]){__VA_ARGS__}, \
           sizeof((const bool[]){__VA_ARGS__}))

/* ---- sorting ---- */

TEST(sort_and_argsort_order_along_the_axis) {
    runtime_fixture_t f;
    gantry_scope_t *scope = begin(&f);
    const gantry_tensor_t *x =
        ints(scope, GANTRY_SHAPE(2, 3), (const int32_t[]){3, 1, 2, -1, 1, 5});
    EXPECT_INTS(gantry_sort(scope, x, -1, false), GANTRY_SHAPE(2, 3), 1, 2, 3, -1, 1, 5);
    EXPECT_INTS(gantry_sort(scope, x, 0, true), GANTRY_SHAPE(2, 3), 3, 1, 5, -1, 1, 2);
    EXPECT_INTS(gantry_argsort(scope, x, 1, true), GANTRY_SHAPE(2, 3), 0, 2, 1, 2, 1, 0);
    EXPECT_INTS(gantry_argsort(scope, x, 0, false), GANTRY_SHAPE(2, 3), 1, 0, 0, 0, 1, 1);
    end(&f, scope);
}

TEST(top_k_gives_values_and_where_they_stand) {
    runtime_fixture_t f;
    gantry_scope_t *scope = begin(&f);
    const gantry_tensor_t *x = floats(scope, GANTRY_SHAPE(5), (const float[]){2, 7, 1, 7, 3}),
                          *indices = NULL;
    EXPECT_FLOATS(gantry_top_k(scope, x, 3, &indices), GANTRY_SHAPE(3), 7, 7, 3);
    EXPECT_INTS(indices, GANTRY_SHAPE(3), 1, 3, 4);
    EXPECT_FLOATS(gantry_top_k(scope, x, 1, NULL), GANTRY_SHAPE(1), 7);
    end(&f, scope);
}

TEST(in_top_k_takes_both_types_of_targets) {
    runtime_fixture_t f;
    gantry_scope_t *scope = begin(&f);
    const gantry_tensor_t *x = floats(scope, GANTRY_SHAPE(2, 3), (const float[]){1, 2, 3, 3, 2, 1});
    const gantry_tensor_t *narrow = ints(scope, GANTRY_SHAPE(2), (const int32_t[]){1, 2});
    const gantry_tensor_t *wide = longs(scope, GANTRY_SHAPE(2), (const int64_t[]){2, 1});
    EXPECT_BOOLS(gantry_in_top_k(scope, x, narrow, 2), GANTRY_SHAPE(2), true, false);
    EXPECT_BOOLS(gantry_in_top_k(scope, x, wide, 1), GANTRY_SHAPE(2), true, false);
    end(&f, scope);
}

TEST(bounds_lie_around_equal_elements) {
    runtime_fixture_t f;
    gantry_scope_t *scope = begin(&f);
    const gantry_tensor_t *sorted =
        ints(scope, GANTRY_SHAPE(1, 5), (const int32_t[]){1, 3, 3, 3, 9});
    const gantry_tensor_t *values = ints(scope, GANTRY_SHAPE(1, 3), (const int32_t[]){3, 0, 10});
    EXPECT_INTS(gantry_lower_bound(scope, sorted, values), GANTRY_SHAPE(1, 3), 1, 0, 5);
    EXPECT_INTS(gantry_upper_bound(scope, sorted, values), GANTRY_SHAPE(1, 3), 4, 0, 5);
    end(&f, scope);
}

/* ---- gathering and scattering ---- */

TEST(gather_nd_and_scatter_nd_go_by_rows_of_indices) {
    runtime_fixture_t f;
    gantry_scope_t *scope = begin(&f);
    const gantry_tensor_t *x = floats(scope, GANTRY_SHAPE(2, 2), (const float[]){1, 2, 3, 4});
    const gantry_tensor_t *at =
        ints(scope, GANTRY_SHAPE(3, 2), (const int32_t[]){1, 0, 0, 0, 1, 0});
    const gantry_tensor_t *wide = longs(scope, GANTRY_SHAPE(3, 1), (const int64_t[]){2, 0, 2});
    const gantry_tensor_t *updates = floats(scope, GANTRY_SHAPE(3), (const float[]){1, 2, 4});
    EXPECT_FLOATS(gantry_gather_nd(scope, x, at), GANTRY_SHAPE(3), 3, 1, 3);
    EXPECT_FLOATS(gantry_scatter_nd(scope, at, updates, GANTRY_SHAPE(2, 2)), GANTRY_SHAPE(2, 2), 2,
                  0, 5, 0);
    EXPECT_FLOATS(gantry_scatter_nd(scope, wide, updates, GANTRY_SHAPE(4)), GANTRY_SHAPE(4), 2, 0,
                  5, 0);
    end(&f, scope);
}

TEST(tensor_scatter_ops_take_updates_in_their_order) {
    runtime_fixture_t f;
    gantry_scope_t *scope = begin(&f);
    const gantry_tensor_t *x = ints(scope, GANTRY_SHAPE(3), (const int32_t[]){10, 20, 30});
    const gantry_tensor_t *at = ints(scope, GANTRY_SHAPE(3, 1), (const int32_t[]){2, 0, 2});
    const gantry_tensor_t *updates = ints(scope, GANTRY_SHAPE(3), (const int32_t[]){50, 5, 7});
    EXPECT_INTS(gantry_tensor_scatter_update(scope, x, at, updates), GANTRY_SHAPE(3), 5, 20, 7);
    EXPECT_INTS(gantry_tensor_scatter_add(scope, x, at, updates), GANTRY_SHAPE(3), 15, 20, 87);
    EXPECT_INTS(gantry_tensor_scatter_sub(scope, x, at, updates), GANTRY_SHAPE(3), 5, 20, -27);
    EXPECT_INTS(gantry_tensor_scatter_max(scope, x, at, updates), GANTRY_SHAPE(3), 10, 20, 50);
    EXPECT_INTS(gantry_tensor_scatter_min(scope, x, at, updates), GANTRY_SHAPE(3), 5, 20, 7);
    EXPECT_INTS(x, GANTRY_SHAPE(3), 10, 20, 30);
    end(&f, scope);
}

TEST(index_outside_the_tensor_is_refused) {
    runtime_fixture_t f;
    gantry_scope_t *scope = begin(&f);
    const gantry_tensor_t *x = floats(scope, GANTRY_SHAPE(3), (const float[]){1, 2, 3});
    const gantry_tensor_t *at = ints(scope, GANTRY_SHAPE(2, 1), (const int32_t[]){2, 3});
    assert_null(gantry_tensor_scatter_add(scope, x, at,
                                          floats(scope, GANTRY_SHAPE(2), (const float[]){1, 2})));
    assert_int_equal(gantry_scope_status(scope), GANTRY_INVALID_ARGUMENT);
    assert_non_null(
        strstr(gantry_scope_message(scope), "indices[1] = [3] does not index into shape [3]"));
    (void)gantry_scope_end(scope);
    runtime_fixture_close(&f);
}

/* ---- segments and counts ---- */

TEST(segment_ops_combine_the_rows_of_each_segment) {
    runtime_fixture_t f;
    gantry_scope_t *scope = begin(&f);
    const gantry_tensor_t *x = ints(scope, GANTRY_SHAPE(4), (const int32_t[]){2, 4, 5, 7});
    const gantry_tensor_t *ids = ints(scope, GANTRY_SHAPE(4), (const int32_t[]){0, 0, 2, 2});
    EXPECT_INTS(gantry_segment_sum(scope, x, ids), GANTRY_SHAPE(3), 6, 0, 12);
    EXPECT_INTS(gantry_segment_mean(scope, x, ids), GANTRY_SHAPE(3), 3, 0, 6);
    EXPECT_INTS(gantry_segment_max(scope, x, ids), GANTRY_SHAPE(3), 4, 0, 7);
    EXPECT_INTS(gantry_segment_min(scope, x, ids), GANTRY_SHAPE(3), 2, 0, 5);
    EXPECT_INTS(gantry_segment_prod(scope, x, ids), GANTRY_SHAPE(3), 8, 1, 35);
    end(&f, scope);
}

TEST(segment_id_that_no_tensor_can_hold_is_refused) {
    runtime_fixture_t f;
    gantry_scope_t *scope = begin(&f);
    const gantry_tensor_t *x = ints(scope, GANTRY_SHAPE(2, 2), (const int32_t[]){1, 2, 3, 4});
    static const int64_t lasts[] = {INT64_MAX, INT64_MAX - 1, INT64_MAX / 8};
    for (size_t i = 0; i < sizeof lasts / sizeof lasts[0]; ++i) {
        assert_null(gantry_segment_sum(
            scope, x, longs(scope, GANTRY_SHAPE(2), (const int64_t[]){0, lasts[i]})));
        expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                             "more elements than a tensor can have");
    }
    const gantry_tensor_t *rows_of_none = ints(scope, GANTRY_SHAPE(2, 2, 0), (const int32_t[]){0});
    assert_null(gantry_segment_sum(
        scope, rows_of_none, longs(scope, GANTRY_SHAPE(2), (const int64_t[]){0, INT64_MAX / 2})));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "more elements than a tensor can have");
    end(&f, scope);
}

TEST(unsorted_segment_ops_take_ids_in_any_order) {
    runtime_fixture_t f;
    gantry_scope_t *scope = begin(&f);
    const gantry_tensor_t *x = floats(scope, GANTRY_SHAPE(4), (const float[]){2, 4, 5, 7});
    const gantry_tensor_t *ids = longs(scope, GANTRY_SHAPE(4), (const int64_t[]){2, 0, -1, 2});
    const float lowest = -3.40282346638528859812e38f;
    EXPECT_FLOATS(gantry_unsorted_segment_sum(scope, x, ids, 3), GANTRY_SHAPE(3), 4, 0, 9);
    EXPECT_FLOATS(gantry_unsorted_segment_mean(scope, x, ids, 3), GANTRY_SHAPE(3), 4, 0, 4.5f);
    EXPECT_FLOATS(gantry_unsorted_segment_max(scope, x, ids, 3), GANTRY_SHAPE(3), 4, lowest, 7);
    EXPECT_FLOATS(gantry_unsorted_segment_min(scope, x, ids, 3), GANTRY_SHAPE(3), 4, -lowest, 2);
    EXPECT_FLOATS(gantry_unsorted_segment_prod(scope, x, ids, 3), GANTRY_SHAPE(3), 4, 1, 14);
    end(&f, scope);
}

TEST(bincount_counts_or_adds_weights) {
    runtime_fixture_t f;
    gantry_scope_t *scope = begin(&f);
    const gantry_tensor_t *x = ints(scope, GANTRY_SHAPE(4), (const int32_t[]){1, 9, 1, 0});
    const gantry_tensor_t *rows = longs(scope, GANTRY_SHAPE(2, 2), (const int64_t[]){1, 1, 0, 2});
    const gantry_tensor_t *weights = floats(scope, GANTRY_SHAPE(4), (const float[]){1, 2, 4, 8});
    const gantry_tensor_t *none = gantry_zeros(scope, GANTRY_INT32, GANTRY_SHAPE(0));
    EXPECT_INTS(gantry_bincount(scope, x, 3, none), GANTRY_SHAPE(3), 1, 2, 0);
    EXPECT_FLOATS(gantry_bincount(scope, x, 3, weights), GANTRY_SHAPE(3), 8, 5, 0);
    EXPECT_INTS(gantry_dense_bincount(scope, rows, 2, none, false), GANTRY_SHAPE(2, 2), 0, 2, 1, 0);
    EXPECT_INTS(gantry_dense_bincount(scope, rows, 2, none, true), GANTRY_SHAPE(2, 2), 0, 1, 1, 0);
    end(&f, scope);
}

/* ---- results whose length depends on data ---- */

TEST(where_and_unique_make_results_of_the_datas_length) {
    runtime_fixture_t f;
    gantry_scope_t *scope = begin(&f);
    const gantry_tensor_t *x = ints(scope, GANTRY_SHAPE(5), (const int32_t[]){4, 0, 4, 7, 0}),
                          *idx = NULL, *count = NULL;
    EXPECT_LONGS(gantry_where(scope, x), GANTRY_SHAPE(3, 1), 0, 2, 3);
    EXPECT_INTS(gantry_unique(scope, x, &idx, NULL), GANTRY_SHAPE(3), 4, 0, 7);
    EXPECT_INTS(idx, GANTRY_SHAPE(5), 0, 1, 0, 2, 1);
    EXPECT_INTS(gantry_unique(scope, x, NULL, &count), GANTRY_SHAPE(3), 4, 0, 7);
    EXPECT_INTS(count, GANTRY_SHAPE(3), 2, 2, 1);
    end(&f, scope);
}

TEST(failing_allocation_leaves_nothing_behind) {
    bool reached = true;
    for (long n = 0; reached; ++n) {
        runtime_fixture_t f;
        gantry_scope_t *scope = begin(&f);
        const gantry_tensor_t *x = ints(scope, GANTRY_SHAPE(5), (const int32_t[]){4, 0, 4, 7, 0}),
                              *count = NULL;
        runtime_fixture_starve(&f, n);
        const gantry_tensor_t *y = gantry_unique(scope, x, NULL, &count);
        reached = runtime_fixture_feed(&f);
        if (!y) expect_scope_failure(scope, GANTRY_RESOURCE_EXHAUSTED, "");
        if (!y) assert_null(count);
        if (!reached) assert_non_null(y);
        end(&f, scope);
        assert_true(n < 1000);
    }
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
