/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Zip, concatenate, filter and enumerate give tf.data's elements, cardinalities and ends.
 *
 * The expected values are those of TensorFlow 2.21. */
#include "dataset_case.h"
#include "test.h"

#include <string.h>

#include <gantry/gantry.h>

#include "train/data/iterations.h"
#include "train_heap.h"

#define UNKNOWN GANTRY_UNKNOWN_CARDINALITY
#define INFINITE GANTRY_INFINITE_CARDINALITY

static int32_t labels[CASE_MOST];

static void expect_message(const char *part) {
    if (!strstr(gantry_last_message(), part))
        fail_msg("the message is '%s'; '%s' is expected in it", gantry_last_message(), part);
}

static void expect_labels(gantry_dataset_t *dataset, const int32_t *wanted, size_t count) {
    size_t found, elements;
    assert_non_null(dataset);
    assert_int_equal(case_pass(dataset, labels, &found, &elements), GANTRY_OK);
    assert_int_equal(found, count);
    if (count > 0) assert_memory_equal(labels, wanted, count * sizeof labels[0]);
    gantry_dataset_release(dataset);
}

static void expect_failure(gantry_dataset_t *dataset, gantry_status_t status, size_t before,
                           const char *message) {
    gantry_dataset_iterator_t *iterator;
    const gantry_array_t *components;
    size_t count;
    bool ends;
    assert_int_equal(gantry_dataset_iterator_create(dataset, &iterator), GANTRY_OK);
    for (size_t i = 0; i < before; ++i) {
        assert_int_equal(gantry_dataset_iterator_next(iterator, &components, &count, &ends),
                         GANTRY_OK);
        assert_false(ends);
    }
    for (int again = 0; again < 2; ++again) {
        assert_int_equal(gantry_dataset_iterator_next(iterator, &components, &count, &ends),
                         status);
        expect_message(message);
    }
    gantry_dataset_iterator_release(iterator);
    gantry_dataset_release(dataset);
}

static gantry_dataset_t *zip2(gantry_dataset_t *a, gantry_dataset_t *b) {
    return gantry_dataset_zip((gantry_dataset_t *[]){a, b}, 2);
}

/* One component, by a callback that fails for the element `fails_at`; counts its calls. */
typedef struct numbers_t {
    int64_t count, fails_at;
    int64_t asked, at;
} numbers_t;

static gantry_status_t begin_numbers(void *user, void **out_state) {
    ((numbers_t *)user)->at = 0;
    *out_state = user;
    return GANTRY_OK;
}

static gantry_status_t next_number(void *state, gantry_element_t *element, bool *out_end) {
    numbers_t *numbers = state;
    const gantry_shape_t scalar = GANTRY_SCALAR;
    ++numbers->asked;
    if (numbers->at == numbers->fails_at)
        return gantry_element_fail(element, GANTRY_DATA_LOSS, "the number is damaged");
    *out_end = numbers->at == numbers->count;
    if (*out_end) return GANTRY_OK;
    int64_t *number = gantry_element_component(element, 0, GANTRY_INT64, &scalar);
    if (!number) return GANTRY_RESOURCE_EXHAUSTED;
    *number = numbers->at++;
    return GANTRY_OK;
}

static gantry_dataset_t *make_numbers(numbers_t *numbers) {
    return gantry_dataset_from_callback(&(gantry_dataset_source_t){
        .struct_size = sizeof(gantry_dataset_source_t),
        .begin = begin_numbers,
        .next = next_number,
        .user = numbers,
    });
}

static gantry_status_t keep_even(void *user, const gantry_array_t *input, size_t count,
                                 bool *out_keep) {
    const int32_t label = *(const int32_t *)input[0].data;
    assert_int_equal(count, 2);
    assert_false(*out_keep);
    if (user && label == *(const int32_t *)user)
        return gantry_fail(GANTRY_DATA_LOSS, "the label is bad");
    if (label % 2 == 0) *out_keep = true;
    return GANTRY_OK;
}

/* ---- zip and enumerate ---- */

/* Expects elements: the label of the rows, and behind or before it a number, from `start` on. */
static void expect_numbered(gantry_dataset_t *dataset, size_t number_at, int64_t start,
                            int32_t first_label, int64_t wanted) {
    gantry_dataset_iterator_t *iterator;
    assert_non_null(dataset);
    assert_int_equal(gantry_dataset_iterator_create(dataset, &iterator), GANTRY_OK);
    for (int64_t i = 0;; ++i) {
        const gantry_array_t *c;
        size_t count;
        bool ends;
        assert_int_equal(gantry_dataset_iterator_next(iterator, &c, &count, &ends), GANTRY_OK);
        assert_int_equal(ends, i == wanted);
        if (ends) break;
        assert_int_equal(count, 3);
        assert_int_equal(c[number_at].dtype, GANTRY_INT64);
        assert_int_equal(c[number_at].shape.rank, 0);
        assert_true(*(const int64_t *)c[number_at].data == start + i);
        const gantry_array_t *rows = number_at == 0 ? c + 1 : c;
        assert_int_equal(case_labels_of(rows, 2, labels), 1);
        assert_int_equal(labels[0], first_label + (int32_t)i);
    }
    gantry_dataset_iterator_release(iterator);
    gantry_dataset_release(dataset);
}

TEST(zip_joins_components_and_ends_with_the_shorter) {
    int64_t seven = 7;
    for (int kind = 0; kind < 3; ++kind) {
#define SOURCE()                         \
    (kind == 0   ? case_rows(7)          \
     : kind == 1 ? case_elements(&seven) \
                 : gantry_dataset_prefetch(case_elements(&seven), 2))
        numbers_t five = {.count = 5, .fails_at = -1}, nine = {.count = 9, .fails_at = -1},
                  none = {.count = 0, .fails_at = -1};
        expect_numbered(zip2(SOURCE(), make_numbers(&five)), 2, 0, 0, 5);
        expect_numbered(zip2(SOURCE(), make_numbers(&nine)), 2, 0, 0, 7);
        expect_numbered(zip2(make_numbers(&nine), SOURCE()), 0, 0, 0, 7);
        expect_numbered(zip2(make_numbers(&none), SOURCE()), 0, 0, 0, 0);
        expect_numbered(gantry_dataset_shuffle(zip2(make_numbers(&nine), SOURCE()), 1, 1, false), 0,
                        0, 0, 7);
        expect_numbered(gantry_dataset_enumerate(gantry_dataset_skip(SOURCE(), 2), -3), 0, -3, 2,
                        5);
        expect_numbered(gantry_dataset_enumerate(SOURCE(), INT64_MAX - 2), 0, INT64_MAX - 2, 0, 2);
        gantry_dataset_t *cached = gantry_dataset_cache(gantry_dataset_enumerate(SOURCE(), 0));
        expect_numbered(gantry_dataset_retain(cached), 0, 0, 0, 7);
        expect_numbered(cached, 0, 0, 0, 7);
#undef SOURCE
    }
    gantry_dataset_t *one = case_rows(3);
    expect_labels(gantry_dataset_zip(&one, 1), (int32_t[]){0, 1, 2}, 3);
}

/* As tf.data, so that a cache in the second place is filled. */
TEST(zip_asks_the_others_once_behind_the_first_end) {
    numbers_t one = {.count = 1, .fails_at = -1}, fails = {.count = 3, .fails_at = 1},
              three = {.count = 3, .fails_at = -1};
    gantry_dataset_t *list[] = {make_numbers(&one), make_numbers(&fails), make_numbers(&three)};
    gantry_dataset_t *dataset = gantry_dataset_zip(list, 3);
    gantry_dataset_iterator_t *iterator;
    const gantry_array_t *components;
    size_t count;
    bool ends;
    assert_int_equal(gantry_dataset_iterator_create(dataset, &iterator), GANTRY_OK);
    assert_int_equal(gantry_dataset_iterator_next(iterator, &components, &count, &ends), GANTRY_OK);
    assert_int_equal(count, 3);
    assert_int_equal(gantry_dataset_iterator_next(iterator, &components, &count, &ends), GANTRY_OK);
    assert_true(ends);
    assert_int_equal(one.asked, 2);
    assert_int_equal(fails.asked, 2);
    assert_int_equal(three.asked, 2);
    gantry_dataset_iterator_release(iterator);
    gantry_dataset_release(dataset);
    /* in front of the end, a failure counts */
    three.asked = 0;
    expect_failure(zip2(make_numbers(&three), make_numbers(&fails)), GANTRY_DATA_LOSS, 1,
                   "next failed for element 1 with DataLoss: the number is damaged");
}

TEST(cardinality_follows_tf_data) {
    int64_t count = 7;
#define ENDLESS() gantry_dataset_repeat(case_rows(10), -1)
#define OPEN() case_elements(&count)
#define KEPT(input) gantry_dataset_filter(input, keep_even, NULL)
    const struct {
        gantry_dataset_t *dataset;
        int64_t wanted;
    } rows[] = {
        {zip2(case_rows(5), case_rows(3)), 3},
        {zip2(case_rows(5), ENDLESS()), 5},
        {zip2(ENDLESS(), ENDLESS()), INFINITE},
        {zip2(case_rows(5), OPEN()), UNKNOWN},
        {zip2(OPEN(), ENDLESS()), UNKNOWN},
        {zip2(case_rows(0), ENDLESS()), 0},
        {gantry_dataset_concatenate(case_rows(5), case_rows(3)), 8},
        {gantry_dataset_concatenate(case_rows(5), ENDLESS()), INFINITE},
        {gantry_dataset_concatenate(ENDLESS(), OPEN()), INFINITE},
        {gantry_dataset_concatenate(case_rows(5), OPEN()), UNKNOWN},
        {gantry_dataset_concatenate(case_rows(0), case_rows(0)), 0},
        {KEPT(case_rows(0)), UNKNOWN},
        {KEPT(ENDLESS()), UNKNOWN},
        {gantry_dataset_enumerate(case_rows(5), 0), 5},
        {gantry_dataset_enumerate(ENDLESS(), 0), INFINITE},
        {gantry_dataset_enumerate(OPEN(), 3), UNKNOWN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        assert_int_equal(gantry_dataset_cardinality(rows[i].dataset), rows[i].wanted);
        gantry_dataset_release(rows[i].dataset);
    }
}

/* ---- filter and concatenate ---- */

TEST(filter_keeps_what_the_function_keeps) {
    int64_t seven = 7;
    int32_t bad = 5;
    const int32_t even[] = {0, 2, 4, 6}, twice[] = {0, 2, 0, 2};
    for (int callback = 0; callback < 2; ++callback) {
#define SOURCE() (callback ? case_elements(&seven) : case_rows(7))
        expect_labels(gantry_dataset_filter(SOURCE(), keep_even, NULL), even, 4);
        expect_labels(
            gantry_dataset_batch(gantry_dataset_filter(SOURCE(), keep_even, NULL), 3, false), even,
            4);
        expect_labels(
            gantry_dataset_repeat(
                gantry_dataset_filter(gantry_dataset_take(SOURCE(), 4), keep_even, NULL), 2),
            twice, 4);
        expect_labels(
            gantry_dataset_filter(gantry_dataset_skip(gantry_dataset_take(SOURCE(), 2), 1),
                                  keep_even, NULL),
            NULL, 0);
        expect_failure(
            gantry_dataset_filter(SOURCE(), keep_even, &bad), GANTRY_DATA_LOSS, 3,
            "gantry_dataset_filter: the function failed for element 5 with DataLoss: the "
            "label is bad");
#undef SOURCE
    }
}

TEST(concatenate_gives_one_behind_the_other) {
    int64_t two = 2, none = 0;
    const int32_t wanted[] = {0, 1, 2, 0, 1};
    expect_labels(gantry_dataset_concatenate(case_rows(3), case_rows(2)), wanted, 5);
    expect_labels(gantry_dataset_concatenate(case_rows(3), case_elements(&two)), wanted, 5);
    expect_labels(gantry_dataset_batch(
                      gantry_dataset_concatenate(case_rows(3), case_elements(&two)), 4, false),
                  wanted, 5);
    expect_labels(gantry_dataset_concatenate(case_elements(&none), case_rows(2)), wanted, 2);
    expect_labels(gantry_dataset_concatenate(case_rows(3), case_elements(&none)), wanted, 3);
    /* halves of one source change places */
    gantry_dataset_t *source = case_rows(5);
    gantry_dataset_t *back = gantry_dataset_skip(gantry_dataset_retain(source), 3);
    expect_labels(gantry_dataset_batch(
                      gantry_dataset_concatenate(back, gantry_dataset_take(source, 3)), 2, false),
                  (int32_t[]){3, 4, 0, 1, 2}, 5);
}

/* ---- shuffles of both sides ---- */

static gantry_dataset_t *shuffled(void) {
    return gantry_dataset_shuffle(case_rows(40), 40, 7, true);
}

/* A training that resumes gets the orders that it would have got. */
TEST(iterations_of_both_sides_are_kept) {
    static int32_t wanted[CASE_MOST];
    size_t count, elements;
    uint64_t counts[4] = {0};
    gantry_dataset_t *dataset = gantry_dataset_concatenate(
        shuffled(), gantry_dataset_repeat(gantry_dataset_shuffle(shuffled(), 9, 8, true), 2));
    assert_int_equal(case_pass(dataset, wanted, &count, &elements), GANTRY_OK);
    assert_int_equal(gantry__train_get_iterations(dataset, counts, 4), 3);
    assert_int_equal(counts[0], 2);
    assert_int_equal(counts[1], 2);
    assert_int_equal(counts[2], 1);
    assert_int_equal(gantry__train_get_iterations(dataset, counts, 1), 3);
    assert_int_equal(case_pass(dataset, wanted, &count, &elements), GANTRY_OK);
    assert_int_equal(count, 120);
    gantry__train_set_iterations(dataset, counts);
    expect_labels(gantry_dataset_retain(dataset), wanted, count);
    /* one number for all */
    assert_int_equal(gantry_dataset_set_iteration(dataset, 5), GANTRY_OK);
    assert_int_equal(gantry__train_get_iterations(dataset, counts, 4), 3);
    for (int i = 0; i < 3; ++i) assert_int_equal(counts[i], 5);
    gantry_dataset_release(dataset);
}

/* ---- bad input ---- */

TEST(wrong_arguments_release_the_inputs) {
    train_heap_reset(-1);
    assert_null(gantry_dataset_zip(NULL, 2));
    expect_message("gantry_dataset_zip: inputs is NULL; 1 data set and more are accepted");
    assert_null(gantry_dataset_zip((gantry_dataset_t *[]){NULL}, 0));
    expect_message("gantry_dataset_zip: count is 0; 1 data set and more are accepted");
    assert_null(gantry_dataset_filter(case_rows(5), NULL, NULL));
    expect_message("gantry_dataset_filter: the function is NULL");
    /* a chain leaves the text of its first failure */
    gantry_dataset_t *none = gantry_dataset_batch(case_rows(5), 0, true);
    assert_null(zip2(case_rows(5), none));
    assert_null(gantry_dataset_zip((gantry_dataset_t *[]){none, case_rows(5), case_rows(5)}, 3));
    assert_null(gantry_dataset_concatenate(case_rows(5), none));
    assert_null(gantry_dataset_concatenate(none, case_rows(5)));
    assert_null(gantry_dataset_enumerate(gantry_dataset_filter(none, keep_even, NULL), 0));
    expect_message("gantry_dataset_batch: batch_size is 0");
    /* a data set joined with itself counts twice */
    gantry_dataset_t *dataset = case_rows(5);
    for (int i = 0; i < 7; ++i)
        dataset = gantry_dataset_concatenate(gantry_dataset_retain(dataset), dataset);
    assert_non_null(dataset);
    assert_null(gantry_dataset_concatenate(gantry_dataset_retain(dataset), dataset));
    expect_message("gantry_dataset_concatenate: the chain has 511 data sets; at most 256");
    assert_int_equal(train_heap_live(), 0);
}

TEST(components_that_do_not_fit_end_the_iteration) {
    numbers_t numbers = {.count = 3, .fails_at = -1};
    const double halves[] = {0.5};
    const gantry_array_t other[] = {{GANTRY_INT32, GANTRY_SHAPE(1), case_labels},
                                    {GANTRY_FLOAT64, GANTRY_SHAPE(1), halves}};
    expect_failure(gantry_dataset_concatenate(case_rows(2), make_numbers(&numbers)),
                   GANTRY_INVALID_ARGUMENT, 2,
                   "the second data set has 1 components; the first one has 2");
    expect_failure(
        gantry_dataset_concatenate(case_rows(2), gantry_dataset_from_arrays(other, 2, true)),
        GANTRY_INVALID_ARGUMENT, 2,
        "component 1 of the second data set is float64; that of the first one is float32");
    gantry_dataset_t *many[9];
    for (int i = 0; i < 9; ++i) many[i] = case_rows(2);
    expect_failure(
        gantry_dataset_zip(many, 9), GANTRY_INVALID_ARGUMENT, 0,
        "gantry_dataset_zip: 16 and 2 components are given; at most 16 together are accepted");
}

/* Two passes over all of this room's kinds. */
static gantry_status_t join_everything(void *user) {
    (void)user;
    int64_t six = 6;
    const gantry_array_t rows[] = {{GANTRY_INT32, GANTRY_SHAPE(9), case_labels},
                                   {GANTRY_FLOAT32, GANTRY_SHAPE(9, 2), case_features}};
    gantry_dataset_source_t source = {.struct_size = sizeof source,
                                      .begin = case_begin,
                                      .next = case_next,
                                      .end = case_end,
                                      .user = &six};
    gantry_dataset_t *first = gantry_dataset_from_arrays(rows, 2, false);
    first = gantry_dataset_concatenate(gantry_dataset_filter(first, keep_even, NULL),
                                       gantry_dataset_from_callback(&source));
    gantry_dataset_t *numbered = gantry_dataset_enumerate(gantry_dataset_retain(first), 1);
    gantry_dataset_t *dataset =
        gantry_dataset_cache(zip2(numbered, gantry_dataset_shuffle(first, 4, 3, true)));
    gantry_status_t status = dataset ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
    for (int pass = 0; status == GANTRY_OK && pass < 2; ++pass) {
        gantry_dataset_iterator_t *iterator;
        bool ends = false;
        size_t elements = 0;
        status = gantry_dataset_iterator_create(dataset, &iterator);
        while (status == GANTRY_OK && !ends) {
            const gantry_array_t *components;
            size_t count;
            status = gantry_dataset_iterator_next(iterator, &components, &count, &ends);
            if (status != GANTRY_OK || ends) continue;
            ++elements;
            assert_int_equal(count, 5);
            assert_true(*(const int64_t *)components[0].data == (int64_t)elements);
        }
        if (status == GANTRY_OK) assert_int_equal(elements, 11);
        gantry_dataset_iterator_release(iterator);
    }
    gantry_dataset_release(dataset);
    return status;
}

TEST(failing_allocations_leave_nothing) {
    gantry_dataset_release(case_rows(1)); /* fills the arrays */
    assert_true(train_heap_fail_each("joins", join_everything, NULL) >= 30);
}

int main(void) { return test_main(); }
