/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Data sets give the right elements in the right order, count them, and refuse wrong
 * arguments.
 * Promise: A data set of .npy files holds their elements once, and outlives the runtime. */
#include "dataset_case.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gantry/gantry.h>

#include "train/data/dataset_random.h"
#include "shuffle_orders.inc"
#include "train_heap.h"

#define UNKNOWN GANTRY_UNKNOWN_CARDINALITY
#define INFINITE GANTRY_INFINITE_CARDINALITY

static int32_t labels[CASE_MOST];

/* Expects one pass over the data set to give these labels, in `elements` elements, and releases
 * it. */
static void expect_labels(gantry_dataset_t *dataset, const int32_t *wanted, size_t count,
                          size_t elements) {
    size_t found, found_elements;
    assert_non_null(dataset);
    assert_int_equal(case_pass(dataset, labels, &found, &found_elements), GANTRY_OK);
    assert_int_equal(found, count);
    assert_int_equal(found_elements, elements);
    if (count > 0) assert_memory_equal(labels, wanted, count * sizeof labels[0]);
    gantry_dataset_release(dataset);
}

static void expect_range(gantry_dataset_t *dataset, int32_t first, size_t count, size_t elements) {
    int32_t wanted[CASE_MOST];
    for (size_t i = 0; i < count; ++i) wanted[i] = first + (int32_t)i;
    expect_labels(dataset, wanted, count, elements);
}

static void expect_message(const char *part) {
    if (!strstr(gantry_last_message(), part))
        fail_msg("the message is '%s'; '%s' is expected in it", gantry_last_message(), part);
}

/* ---- order and number ---- */

TEST(transformations_give_the_elements_of_tf_data) {
    int64_t seven = 7, none = 0;
    for (int callback = 0; callback < 2; ++callback) {
#define SOURCE() (callback ? case_elements(&seven) : case_rows(7))
        expect_range(SOURCE(), 0, 7, 7);
        expect_range(gantry_dataset_take(SOURCE(), 3), 0, 3, 3);
        expect_range(gantry_dataset_take(SOURCE(), 9), 0, 7, 7);
        expect_range(gantry_dataset_take(SOURCE(), -1), 0, 7, 7);
        expect_range(gantry_dataset_take(SOURCE(), 0), 0, 0, 0);
        expect_range(gantry_dataset_skip(SOURCE(), 3), 3, 4, 4);
        expect_range(gantry_dataset_skip(SOURCE(), 9), 0, 0, 0);
        expect_range(gantry_dataset_skip(SOURCE(), -1), 0, 0, 0);
        expect_range(gantry_dataset_batch(SOURCE(), 3, false), 0, 7, 3);
        expect_range(gantry_dataset_batch(SOURCE(), 3, true), 0, 6, 2);
        expect_range(gantry_dataset_batch(SOURCE(), 7, true), 0, 7, 1);
        expect_range(gantry_dataset_batch(SOURCE(), INT64_MAX, false), 0, 7, 1);
        expect_range(gantry_dataset_batch(SOURCE(), INT64_MAX, true), 0, 0, 0);
        expect_range(gantry_dataset_batch(gantry_dataset_batch(SOURCE(), 2, true), 2, false), 0, 6,
                     2);
        const int32_t twice[] = {0, 1, 0, 1};
        expect_labels(gantry_dataset_repeat(gantry_dataset_take(SOURCE(), 2), 2), twice, 4, 4);
        expect_labels(
            gantry_dataset_take(gantry_dataset_repeat(gantry_dataset_take(SOURCE(), 2), -1), 4),
            twice, 4, 4);
        const int32_t across[] = {5, 6, 0, 1, 2, 3, 4};
        expect_labels(
            gantry_dataset_take(
                gantry_dataset_skip(
                    gantry_dataset_batch(gantry_dataset_repeat(SOURCE(), -1), 1, false), 5),
                7),
            across, 7, 7);
        expect_range(gantry_dataset_repeat(SOURCE(), 0), 0, 0, 0);
        expect_range(gantry_dataset_cache(SOURCE()), 0, 7, 7);
        expect_range(gantry_dataset_prefetch(SOURCE(), 1), 0, 7, 7);
        expect_range(gantry_dataset_prefetch(SOURCE(), 100), 0, 7, 7);
        expect_range(gantry_dataset_batch(gantry_dataset_prefetch(SOURCE(), 2), 2, false), 0, 7, 4);
#undef SOURCE
        gantry_dataset_t *empty = callback ? case_elements(&none) : case_rows(0);
        expect_range(
            gantry_dataset_repeat(
                gantry_dataset_batch(gantry_dataset_shuffle(empty, 5, 1, true), 2, false), -1),
            0, 0, 0);
    }
}

/* Of unknown number, so that the batch's buffers grow. */
TEST(a_batch_of_elements_grows_to_their_number) {
    int64_t many = 3000;
    expect_range(gantry_dataset_batch(case_elements(&many), INT64_MAX, false), 0, 3000, 1);
    expect_range(gantry_dataset_batch(case_elements(&many), 2900, false), 0, 3000, 2);
}

TEST(cardinality_follows_tf_data) {
    int64_t count = 10;
    const struct {
        gantry_dataset_t *dataset;
        int64_t wanted;
    } rows[] = {
        {case_rows(10), 10},
        {case_elements(&count), UNKNOWN},
        {gantry_dataset_take(case_rows(10), 4), 4},
        {gantry_dataset_take(case_rows(10), 40), 10},
        {gantry_dataset_take(case_rows(10), -1), 10},
        {gantry_dataset_take(case_elements(&count), 4), UNKNOWN},
        {gantry_dataset_take(gantry_dataset_repeat(case_rows(10), -1), 25), 25},
        {gantry_dataset_skip(case_rows(10), 4), 6},
        {gantry_dataset_skip(case_rows(10), 40), 0},
        {gantry_dataset_skip(case_rows(10), -1), 0},
        {gantry_dataset_skip(gantry_dataset_repeat(case_rows(10), -1), 25), INFINITE},
        {gantry_dataset_repeat(case_rows(10), 3), 30},
        {gantry_dataset_repeat(case_rows(10), -1), INFINITE},
        {gantry_dataset_repeat(case_rows(0), -1), 0},
        {gantry_dataset_repeat(case_elements(&count), 3), UNKNOWN},
        {gantry_dataset_repeat(case_rows(10), INT64_MAX), INFINITE},
        {gantry_dataset_batch(case_rows(10), 4, false), 3},
        {gantry_dataset_batch(case_rows(10), 4, true), 2},
        {gantry_dataset_batch(case_rows(10), INT64_MAX, false), 1},
        {gantry_dataset_batch(gantry_dataset_repeat(case_rows(10), -1), 4, false), INFINITE},
        {gantry_dataset_prefetch(gantry_dataset_cache(gantry_dataset_shuffle(
                                     gantry_dataset_batch(case_rows(10), 4, false), 8, 0, true)),
                                 GANTRY_AUTOTUNE),
         3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        assert_int_equal(gantry_dataset_cardinality(rows[i].dataset), rows[i].wanted);
        gantry_dataset_release(rows[i].dataset);
    }
    assert_int_equal(gantry_dataset_cardinality(NULL), 0);
}

TEST(batches_of_rows_reuse_a_buffer_or_point_at_the_rows) {
    gantry_dataset_iterator_t *iterator;
    const gantry_array_t *components;
    size_t count;
    bool ends;
    gantry_dataset_t *plain = gantry_dataset_batch(case_rows(10), 4, false);
    assert_int_equal(gantry_dataset_iterator_create(plain, &iterator), GANTRY_OK);
    assert_int_equal(gantry_dataset_iterator_next(iterator, &components, &count, &ends), GANTRY_OK);
    assert_ptr_equal(components[0].data, case_labels);
    gantry_dataset_iterator_release(iterator);
    gantry_dataset_release(plain);
    gantry_dataset_t *mixed =
        gantry_dataset_batch(gantry_dataset_shuffle(case_rows(400), 400, 3, true), 100, false);
    assert_int_equal(gantry_dataset_iterator_create(mixed, &iterator), GANTRY_OK);
    const void *buffer = NULL;
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(gantry_dataset_iterator_next(iterator, &components, &count, &ends),
                         GANTRY_OK);
        assert_true(!buffer || buffer == components[1].data);
        buffer = components[1].data;
        assert_int_equal((uintptr_t)buffer % 64, 0);
    }
    gantry_dataset_iterator_release(iterator);
    gantry_dataset_release(mixed);
}

TEST(a_copy_of_arrays_survives_them) {
    int32_t numbers[] = {4, 5, 6};
    const gantry_array_t array = {GANTRY_INT32, GANTRY_SHAPE(3), numbers};
    gantry_dataset_t *dataset = gantry_dataset_from_arrays(&array, 1, true);
    memset(numbers, 0, sizeof numbers);
    gantry_dataset_iterator_t *iterator;
    const gantry_array_t *components;
    size_t count;
    bool ends;
    assert_int_equal(gantry_dataset_iterator_create(dataset, &iterator), GANTRY_OK);
    gantry_dataset_release(dataset); /* the iterator keeps it */
    for (int32_t i = 4; i < 7; ++i) {
        assert_int_equal(gantry_dataset_iterator_next(iterator, &components, &count, &ends),
                         GANTRY_OK);
        assert_int_equal(count, 1);
        assert_int_equal(components[0].shape.rank, 0);
        assert_int_equal(*(const int32_t *)components[0].data, i);
    }
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(gantry_dataset_iterator_next(iterator, &components, &count, &ends),
                         GANTRY_OK);
        assert_true(ends);
        assert_null(components);
        assert_int_equal(count, 0);
    }
    gantry_dataset_iterator_release(iterator);
}

/* ---- shuffle ---- */

static void assert_permutation(const int32_t *order, size_t count) {
    bool seen[CASE_MOST] = {false};
    for (size_t i = 0; i < count; ++i) {
        assert_in_range(order[i], 0, count - 1);
        assert_false(seen[order[i]]);
        seen[order[i]] = true;
    }
}

TEST(shuffle_has_this_order_on_every_machine) {
    gantry_dataset_t *rows = gantry_dataset_shuffle(case_rows(10), 4, 7, true);
    size_t count, elements;
    for (int iteration = 0; iteration < 2; ++iteration) {
        assert_int_equal(case_pass(rows, labels, &count, &elements), GANTRY_OK);
        assert_memory_equal(labels, shuffle_orders[iteration], sizeof shuffle_orders[iteration]);
    }
    gantry_dataset_release(rows);
    /* elements of a callback have the order of rows */
    int64_t ten = 10;
    expect_labels(gantry_dataset_shuffle(case_elements(&ten), 4, 7, true), shuffle_orders[0], 10,
                  10);
}

TEST(shuffle_gives_each_iteration_an_order_or_all_the_same) {
    int32_t first[100], second[100];
    size_t count, elements;
    for (int reshuffle = 0; reshuffle < 2; ++reshuffle) {
        gantry_dataset_t *dataset = gantry_dataset_shuffle(case_rows(100), 100, 5, reshuffle);
        assert_int_equal(case_pass(dataset, first, &count, &elements), GANTRY_OK);
        assert_permutation(first, 100);
        assert_int_equal(case_pass(dataset, second, &count, &elements), GANTRY_OK);
        assert_permutation(second, 100);
        assert_true((memcmp(first, second, sizeof first) == 0) == !reshuffle);
        assert_int_equal(gantry_dataset_set_iteration(dataset, 0), GANTRY_OK);
        assert_int_equal(case_pass(dataset, second, &count, &elements), GANTRY_OK);
        assert_memory_equal(first, second, sizeof first);
        gantry_dataset_release(dataset);
    }
    gantry_dataset_t *repeated =
        gantry_dataset_repeat(gantry_dataset_shuffle(case_rows(100), 100, 5, true), 2);
    assert_int_equal(case_pass(repeated, labels, &count, &elements), GANTRY_OK);
    assert_int_equal(count, 200);
    assert_memory_equal(labels, first, sizeof first);
    assert_memory_not_equal(labels + 100, first, sizeof first);
    gantry_dataset_release(repeated);
}

/* An element leaves the buffer at the earliest when it has entered it. */
TEST(shuffle_moves_an_element_forward_less_than_its_buffer) {
    size_t count, elements;
    gantry_dataset_t *dataset = gantry_dataset_shuffle(case_rows(1000), 16, 2, true);
    assert_int_equal(case_pass(dataset, labels, &count, &elements), GANTRY_OK);
    assert_permutation(labels, 1000);
    for (int32_t i = 0; i < 1000; ++i) assert_true(labels[i] - i < 16);
    gantry_dataset_release(dataset);
    expect_range(gantry_dataset_shuffle(case_rows(50), 1, 2, true), 0, 50, 50);
}

/* All 24 orders of 4 elements, 2400 times: chi-square with 23 degrees of freedom is below 49.7 with
 * probability 0.999; the seed is fixed. */
TEST(shuffle_gives_all_orders_equally_often) {
    int seen[256] = {0};
    size_t count, elements;
    gantry_dataset_t *dataset = gantry_dataset_shuffle(case_rows(4), 10, 1, true);
    for (int i = 0; i < 2400; ++i) {
        assert_int_equal(case_pass(dataset, labels, &count, &elements), GANTRY_OK);
        assert_int_equal(count, 4);
        ++seen[labels[0] << 6 | labels[1] << 4 | labels[2] << 2 | labels[3]];
    }
    gantry_dataset_release(dataset);
    double chi_square = 0;
    int orders = 0;
    for (int i = 0; i < 256; ++i) {
        if (seen[i] == 0) continue;
        ++orders;
        chi_square += (seen[i] - 100.0) * (seen[i] - 100.0) / 100.0;
    }
    assert_int_equal(orders, 24);
    assert_true(chi_square < 49.7);
}

/* The authors' known answers: counter and key of zeros, and of pi's digits. */
TEST(random_numbers_are_philox) {
    gantry__train_random_t random;
    gantry__train_random_init(&random, 0, 0);
    assert_true(gantry__train_random_next(&random) == UINT64_C(0xe169c58d6627e8d5));
    assert_true(gantry__train_random_next(&random) == UINT64_C(0x9b00dbd8bc57ac4c));
    gantry__train_random_init(&random, UINT64_C(0x299f31d0a4093822), UINT64_C(0x0370734413198a2e));
    random.block = UINT64_C(0x85a308d3243f6a88);
    assert_true(gantry__train_random_next(&random) == UINT64_C(0x94fdccebd16cfe09));
    assert_true(gantry__train_random_next(&random) == UINT64_C(0x24126ea15001e420));
}

/* ---- cache ---- */

TEST(cache_keeps_the_first_complete_iteration) {
    int32_t first[30], second[30];
    size_t count, elements;
    gantry_dataset_t *cached = gantry_dataset_cache(gantry_dataset_prefetch(
        gantry_dataset_batch(gantry_dataset_shuffle(case_rows(30), 30, 9, true), 4, false), 2));
    gantry_dataset_t *dataset = gantry_dataset_take(gantry_dataset_retain(cached), 3);
    assert_int_equal(case_pass(dataset, first, &count, &elements), GANTRY_OK);
    assert_int_equal(count, 12); /* given up: nothing is kept */
    assert_int_equal(case_pass(cached, second, &count, &elements), GANTRY_OK);
    assert_int_equal(count, 30);
    assert_memory_not_equal(first, second, 12 * sizeof first[0]);
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(case_pass(cached, first, &count, &elements), GANTRY_OK);
        assert_int_equal(elements, 8);
        assert_memory_equal(first, second, sizeof first);
    }
    gantry_dataset_release(dataset);
    gantry_dataset_release(cached);
}

/* Elements that were kept by an iteration that is given up are not used behind its end. */
TEST(nested_caches_outlive_what_they_gave_up) {
    int64_t seven = 7;
    gantry_dataset_t *dataset = gantry_dataset_cache(gantry_dataset_prefetch(
        gantry_dataset_repeat(gantry_dataset_take(gantry_dataset_cache(case_elements(&seven)), 3),
                              2),
        6));
    const int32_t wanted[] = {0, 1, 2, 0, 1, 2};
    size_t count, elements;
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(case_pass(dataset, labels, &count, &elements), GANTRY_OK);
        assert_int_equal(count, 6);
        assert_memory_equal(labels, wanted, sizeof wanted);
    }
    gantry_dataset_release(dataset);
}

/* ---- bad input ---- */

TEST(wrong_arrays_are_refused) {
    float data[12] = {0};
    const gantry_array_t good = {GANTRY_FLOAT32, GANTRY_SHAPE(3, 2), data};
    const gantry_array_t list[] = {good, {GANTRY_FLOAT32, GANTRY_SHAPE(4), data}};
    gantry_array_t bad = good;
    assert_null(gantry_dataset_from_arrays(NULL, 1, false));
    expect_message("1 arrays are given at NULL");
    assert_null(gantry_dataset_from_arrays(&good, 0, false));
    expect_message("0 arrays are given; 1 to 16 are accepted");
    assert_null(gantry_dataset_from_arrays(&good, 17, false));
    expect_message("17 arrays are given; 1 to 16 are accepted");
    assert_null(gantry_dataset_from_arrays(list, 2, true));
    expect_message("array 1 has 4 rows, and array 0 has 3");
    bad.shape = GANTRY_SCALAR;
    assert_null(gantry_dataset_from_arrays(&bad, 1, false));
    expect_message("array 0 is a scalar");
    bad.shape = GANTRY_SHAPE(3, -1);
    assert_null(gantry_dataset_from_arrays(&bad, 1, false));
    expect_message("array 0 is float32 [3,-1]");
    bad.shape.rank = 9;
    assert_null(gantry_dataset_from_arrays(&bad, 1, false));
    expect_message("array 0 is float32 of rank 9");
    bad = (gantry_array_t){(gantry_dtype_t)77, GANTRY_SHAPE(3), data};
    assert_null(gantry_dataset_from_arrays(&bad, 1, false));
    expect_message("array 0 is invalid [3]");
    bad = (gantry_array_t){GANTRY_FLOAT32, GANTRY_SHAPE(3), NULL};
    assert_null(gantry_dataset_from_arrays(&bad, 1, false));
    expect_message("the data of array 0 is NULL; the address of 12 bytes");
}

static gantry_status_t map_never(void *user, const gantry_array_t *input, size_t count,
                                 gantry_element_t *output) {
    (void)user, (void)input, (void)count, (void)output;
    return GANTRY_INTERNAL;
}

TEST(wrong_arguments_of_transformations_release_the_input) {
    train_heap_reset(-1);
    assert_null(gantry_dataset_shuffle(case_rows(5), 0, 1, true));
    expect_message("gantry_dataset_shuffle: buffer_size is 0; 1 and more are accepted");
    assert_null(gantry_dataset_batch(case_rows(5), -3, true));
    expect_message("gantry_dataset_batch: batch_size is -3; 1 and more are accepted");
    assert_null(gantry_dataset_take(case_rows(5), -2));
    expect_message("gantry_dataset_take: the count is -2");
    assert_null(gantry_dataset_skip(case_rows(5), -2));
    expect_message("gantry_dataset_skip: the count is -2");
    assert_null(gantry_dataset_repeat(case_rows(5), INT64_MIN));
    expect_message("gantry_dataset_repeat: the count is -9223372036854775808");
    assert_null(gantry_dataset_map(case_rows(5), NULL, NULL, 1));
    expect_message("gantry_dataset_map: the function is NULL");
    assert_null(gantry_dataset_map(case_rows(5), map_never, NULL, 0));
    expect_message("parallel_calls is 0; 1 to 1024 are accepted");
    assert_null(gantry_dataset_map(case_rows(5), map_never, NULL, 1025));
    expect_message("parallel_calls is 1025");
    assert_null(gantry_dataset_prefetch(case_rows(5), 0));
    expect_message("gantry_dataset_prefetch: elements is 0");
    assert_null(gantry_dataset_prefetch(case_rows(5), INT64_MAX));
    expect_message("1 to 1048576 are accepted");
    assert_int_equal(train_heap_live(), 0);
    /* behind a failure, the chain leaves the text of its first failure */
    gantry_dataset_t *chain = gantry_dataset_batch(case_rows(5), 0, true);
    chain = gantry_dataset_shuffle(chain, 0, 1, true);
    chain = gantry_dataset_map(chain, NULL, NULL, 0);
    chain = gantry_dataset_take(gantry_dataset_skip(gantry_dataset_repeat(chain, -9), -9), -9);
    chain = gantry_dataset_prefetch(gantry_dataset_cache(chain), 0);
    assert_null(chain);
    expect_message("gantry_dataset_batch: batch_size is 0");
}

TEST(a_chain_is_bounded) {
    gantry_dataset_t *dataset = case_rows(3);
    for (int i = 1; i < 256; ++i) dataset = gantry_dataset_repeat(dataset, 1);
    expect_range(gantry_dataset_retain(dataset), 0, 3, 3);
    assert_null(gantry_dataset_take(dataset, 1));
    expect_message("gantry_dataset_take: the chain has 257 data sets; at most 256 are accepted");
}

TEST(null_is_refused_where_an_iterator_is_needed) {
    gantry_dataset_iterator_t *iterator;
    const gantry_array_t *components;
    size_t count;
    bool ends;
    assert_int_equal(gantry_dataset_iterator_create(NULL, &iterator), GANTRY_INVALID_ARGUMENT);
    assert_null(iterator);
    gantry_dataset_t *dataset = case_rows(3);
    assert_int_equal(gantry_dataset_iterator_create(dataset, NULL), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_dataset_iterator_create(dataset, &iterator), GANTRY_OK);
    assert_int_equal(gantry_dataset_iterator_next(NULL, &components, &count, &ends),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_dataset_iterator_next(iterator, NULL, &count, &ends),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_dataset_iterator_next(iterator, &components, NULL, &ends),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_dataset_iterator_next(iterator, &components, &count, NULL),
                     GANTRY_INVALID_ARGUMENT);
    expect_message("out_end is NULL");
    assert_int_equal(gantry_dataset_iterator_next(iterator, &components, &count, &ends), GANTRY_OK);
    assert_int_equal(gantry_dataset_set_iteration(NULL, 3), GANTRY_INVALID_ARGUMENT);
    gantry_dataset_iterator_release(iterator);
    gantry_dataset_iterator_release(NULL);
    gantry_dataset_release(dataset);
    gantry_dataset_release(NULL);
    assert_null(gantry_dataset_retain(NULL));
    assert_null(gantry_dataset_from_callback(NULL));
    assert_null(gantry_dataset_from_npy(NULL, NULL, 0));
    expect_message("gantry_dataset_from_npy: the scope is NULL");
}

TEST(a_batch_of_rank_8_is_refused) {
    float one = 1;
    const gantry_array_t array = {GANTRY_FLOAT32, GANTRY_SHAPE(1, 1, 1, 1, 1, 1, 1, 1), &one};
    gantry_dataset_t *dataset = gantry_dataset_batch(
        gantry_dataset_batch(gantry_dataset_from_arrays(&array, 1, false), 1, false), 1, false);
    size_t count, elements;
    assert_int_equal(case_pass(dataset, labels, &count, &elements), GANTRY_INVALID_ARGUMENT);
    expect_message("component 0 has 8 dimensions; at most 7 are accepted");
    gantry_dataset_release(dataset);
}

/* ---- .npy files ---- */

/* The rows of Keras's fit with validation_split. */
TEST(a_split_leaves_the_last_rows) {
    static const struct {
        int64_t rows, left;
        double split;
    } cases[] = {{10, 9, 0.1}, {10, 7, 0.25}, {7, 5, 0.2}, {3, 1, 0.5}, {1000, 299, 0.7001}};
    static int32_t x[1000], y[3000];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const gantry_array_t arrays[] = {{GANTRY_INT32, GANTRY_SHAPE(cases[i].rows), x},
                                         {GANTRY_INT32, GANTRY_SHAPE(cases[i].rows, 3), y}};
        gantry_array_t left[2], right[2];
        assert_int_equal(gantry_arrays_split(arrays, 2, cases[i].split, left, right), GANTRY_OK);
        for (int k = 0; k < 2; ++k) {
            assert_int_equal(left[k].shape.dims[0], cases[i].left);
            assert_int_equal(right[k].shape.dims[0], cases[i].rows - cases[i].left);
            assert_ptr_equal(left[k].data, arrays[k].data);
        }
        assert_ptr_equal(right[0].data, x + cases[i].left);
        assert_ptr_equal(right[1].data, y + 3 * cases[i].left);
        assert_int_equal(right[1].shape.dims[1], 3);
    }
}

TEST(wrong_splits_are_refused) {
    static const double splits[] = {0, 1, -0.5, NAN};
    static int32_t x[2];
    const gantry_array_t pair = {GANTRY_INT32, GANTRY_SHAPE(2), x},
                         scalar = {GANTRY_INT32, GANTRY_SCALAR, x};
    gantry_array_t left[1], right[1];
    for (size_t i = 0; i < 4; ++i) {
        assert_int_equal(gantry_arrays_split(&pair, 1, splits[i], left, right),
                         GANTRY_INVALID_ARGUMENT);
        expect_message("gantry_arrays_split: validation_split is ");
    }
    assert_int_equal(gantry_arrays_split(&pair, 1, 0.9, left, right), GANTRY_INVALID_ARGUMENT);
    expect_message("validation_split 0.9 of 2 rows leaves 0 to train; 1 row and more");
    assert_int_equal(gantry_arrays_split(&scalar, 1, 0.5, left, right), GANTRY_INVALID_ARGUMENT);
    expect_message("gantry_arrays_split: array 0 is a scalar");
    assert_int_equal(gantry_arrays_split(&pair, 17, 0.5, left, right), GANTRY_INVALID_ARGUMENT);
    expect_message("17 arrays are given");
    assert_int_equal(gantry_arrays_split(&pair, 1, 0.5, left, NULL), GANTRY_INVALID_ARGUMENT);
    expect_message("out_validation is NULL");
}

TEST(npy_files_are_sources) {
    gantry_runtime_t *runtime;
    const gantry_runtime_options_t options = {.struct_size = sizeof options, .backends = "cpu"};
    assert_int_equal(gantry_runtime_create(&options, &runtime), GANTRY_OK);
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    const char *const paths[] = {"test_dataset_x.npy", "test_dataset_y.npy"};
    const int32_t x[] = {0, 1, 2};
    const float y[] = {0, 0, 1, -1, 2, -2};
    assert_int_equal(
        gantry_save_npy(scope, gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(3), x, sizeof x),
                        paths[0]),
        GANTRY_OK);
    assert_int_equal(
        gantry_save_npy(scope,
                        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3, 2), y, sizeof y),
                        paths[1]),
        GANTRY_OK);
    gantry_dataset_t *dataset = gantry_dataset_from_npy(scope, paths, 2);
    assert_int_equal(remove(paths[0]), 0);
    assert_int_equal(remove(paths[1]), 0);
    expect_range(gantry_dataset_batch(dataset, 2, false), 0, 3, 2);
    assert_null(gantry_dataset_from_npy(scope, paths, 2));
    assert_int_equal(gantry_scope_status(scope), GANTRY_NOT_FOUND);
    assert_non_null(strstr(gantry_scope_message(scope), "test_dataset_x.npy"));
    gantry_scope_clear(scope);
    assert_null(gantry_dataset_from_npy(scope, paths, 17));
    assert_non_null(strstr(gantry_scope_message(scope), "17 paths are given"));
    (void)gantry_scope_end(scope);
    gantry_runtime_release(runtime);
}

TEST(npy_files_are_held_once) {
    enum { ROWS = 1 << 18 }; /* of 4 bytes */
    gantry_runtime_t *runtime;
    const gantry_runtime_options_t options = {.struct_size = sizeof options, .backends = "cpu"};
    gantry_memory_info_t info = {.struct_size = sizeof info};
    const char *const paths[] = {"test_dataset_large.npy", "test_dataset_none.npy"};
    int64_t first = -1;
    assert_int_equal(gantry_runtime_create(&options, &runtime), GANTRY_OK);
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    const gantry_tensor_t *zeros = gantry_zeros(scope, GANTRY_INT32, GANTRY_SHAPE(ROWS));
    assert_int_equal(gantry_save_npy(scope, zeros, paths[0]), GANTRY_OK);
    gantry_tensor_drop(scope, zeros);
    train_heap_reset(-1);
    assert_null(gantry_dataset_from_npy(scope, paths, 2)); /* the second file is missing */
    gantry_scope_clear(scope);
    assert_int_equal(gantry_get_memory_info(runtime, "CPU:0", &info), GANTRY_OK);
    assert_true(info.current_bytes < ROWS);
    gantry_dataset_t *dataset = gantry_dataset_from_npy(scope, paths, 1);
    assert_non_null(dataset);
    assert_int_equal(remove(paths[0]), 0);
    assert_int_equal(gantry_get_memory_info(runtime, "CPU:0", &info), GANTRY_OK);
    assert_true(info.current_bytes < 4 * ROWS + 4096);
    assert_true(train_heap_peak_bytes() < ROWS);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    gantry_runtime_release(runtime);
    gantry_dataset_iterator_t *iterator;
    assert_int_equal(gantry_dataset_iterator_create(dataset, &iterator), GANTRY_OK);
    for (int64_t row = 0; row < ROWS; ++row) {
        const gantry_array_t *components;
        size_t count = 0;
        bool end;
        assert_int_equal(gantry_dataset_iterator_next(iterator, &components, &count, &end),
                         GANTRY_OK);
        assert_false(end);
        first = *(const int32_t *)components[0].data;
        if (first != 0) break;
    }
    assert_int_equal(first, 0);
    gantry_dataset_iterator_release(iterator);
    gantry_dataset_release(dataset);
    assert_int_equal(train_heap_live(), 0);
}

int main(void) { return test_main(); }
