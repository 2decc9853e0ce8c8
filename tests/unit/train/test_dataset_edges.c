/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: No kind of batch checks a remainder that drop_remainder drops, and each kind checks a
 * remainder that is kept, and every whole batch.
 * Promise: Counts near INT64_MAX and INT64_MIN are accepted or refused without overflow, and a
 * cardinality that is known is the number of elements that are delivered. */
#include <inttypes.h>
#include <string.h>

#include "test.h"
#include "train_heap.h"

#include <gantry_train/dataset.h>

static float numbers[32];

static int set_up(void **state) {
    (void)state;
    train_heap_reset(-1);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    assert_int_equal(train_heap_live(), 0);
    return 0;
}

static gantry_dataset_t *rows(int64_t count) {
    const gantry_array_t array = {GANTRY_FLOAT32, GANTRY_SHAPE(count), numbers};
    return gantry_dataset_from_arrays(&array, 1, false);
}

/* Counts at most `most` elements; releases the data set. */
static int64_t count_elements(gantry_dataset_t *data, int64_t most, gantry_status_t *out_status) {
    gantry_dataset_iterator_t *iterator;
    const gantry_array_t *components;
    size_t count;
    int64_t elements = 0;
    bool end = false;
    assert_int_equal(gantry_dataset_iterator_create(data, &iterator), GANTRY_OK);
    *out_status = gantry_dataset_iterator_next(iterator, &components, &count, &end);
    while (*out_status == GANTRY_OK && !end && elements < most) {
        ++elements;
        *out_status = gantry_dataset_iterator_next(iterator, &components, &count, &end);
    }
    gantry_dataset_iterator_release(iterator);
    gantry_dataset_release(data);
    return elements;
}

/* ---- remainders ---- */

static void expect_batches(gantry_dataset_t *data, int64_t batches, gantry_status_t status) {
    gantry_status_t given;
    const int64_t count = count_elements(data, 100, &given);
    if (count != batches || given != status)
        fail_msg("%" PRId64 " batches, then %s: %s", count, gantry_status_name(given),
                 gantry_last_message());
}

/* Batches of 5 of 22 elements: the last one has 2. */
static gantry_dataset_t *fives(void) { return gantry_dataset_batch(rows(22), 5, false); }

TEST(dropped_remainder_is_not_checked) {
    expect_batches(gantry_dataset_batch(fives(), 3, true), 1, GANTRY_OK);
    expect_batches(gantry_dataset_batch(fives(), 6, true), 0, GANTRY_OK);
    /* a whole batch, or one that is kept, is checked */
    expect_batches(gantry_dataset_batch(fives(), 5, true), 0, GANTRY_INVALID_ARGUMENT);
    expect_batches(gantry_dataset_batch(fives(), 3, false), 1, GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry_last_message(), "component 0 of element 4"));
}

typedef struct source_t {
    int64_t at, odd_at; /* the element that is unlike the others */
    bool has_more;      /* it has two components, else another type */
    int32_t rank;       /* of all */
} source_t;

static gantry_status_t next_element(void *state, gantry_element_t *element, bool *out_end) {
    source_t *source = state;
    gantry_shape_t shape = {.rank = source->rank};
    for (int32_t d = 0; d < shape.rank; ++d) shape.dims[d] = 1;
    const bool is_odd = source->at == source->odd_at;
    *out_end = source->at == 8;
    if (*out_end) return GANTRY_OK;
    ++source->at;
    for (size_t i = 0; i < (is_odd && source->has_more ? 2u : 1u); ++i) {
        void *data = gantry_element_component(
            element, i, is_odd && !source->has_more ? GANTRY_INT32 : GANTRY_FLOAT32, &shape);
        if (!data) return GANTRY_INTERNAL;
        memset(data, 0, 4);
    }
    return GANTRY_OK;
}

static gantry_dataset_t *made(source_t *source) {
    return gantry_dataset_from_callback(
        &(gantry_dataset_source_t){.next = next_element, .user = source});
}

/* Eight elements in batches of 3: elements 6 and 7 are the remainder. */
TEST(dropped_types_and_components_are_not_checked) {
    for (int padded = 0; padded < 2; ++padded) {
        for (int more = 0; more < 2; ++more) {
            for (int64_t odd = 5; odd < 8; ++odd) {
                source_t source = {.odd_at = odd, .has_more = more};
                gantry_dataset_t *data =
                    padded ? gantry_dataset_padded_batch(
                                 made(&source), 3,
                                 &(gantry_padded_batch_options_t){.drop_remainder = true})
                           : gantry_dataset_batch(made(&source), 3, true);
                expect_batches(data, odd == 5 ? 1 : 2,
                               odd == 5 ? GANTRY_INVALID_ARGUMENT : GANTRY_OK);
            }
        }
    }
}

/* A batch of elements of the highest rank has no shape. */
TEST(dropped_ranks_are_not_checked) {
    source_t source = {.odd_at = -1, .rank = GANTRY_MAX_RANK};
    expect_batches(gantry_dataset_batch(made(&source), 9, true), 0, GANTRY_OK);
    source.at = 0;
    expect_batches(gantry_dataset_batch(made(&source), 8, true), 0, GANTRY_INVALID_ARGUMENT);
    source.at = 0;
    expect_batches(gantry_dataset_batch(made(&source), 9, false), 0, GANTRY_INVALID_ARGUMENT);
}

/* ---- counts ---- */

static const int64_t edges[] = {
    INT64_MIN,     INT64_MIN + 1, -3,       -2, -1, 0, 1, 2, 3, 4, INT64_MAX / 2, INT64_MAX / 2 + 1,
    INT64_MAX - 2, INT64_MAX - 1, INT64_MAX};
enum { EDGES = sizeof edges / sizeof edges[0], MOST = 40 };

typedef gantry_dataset_t *(*make_fn)(gantry_dataset_t *input, int64_t count);

static gantry_dataset_t *shuffle(gantry_dataset_t *input, int64_t count) {
    return gantry_dataset_shuffle(input, count, 1, true);
}
static gantry_dataset_t *batch(gantry_dataset_t *input, int64_t count) {
    return gantry_dataset_batch(input, count, false);
}
static gantry_dataset_t *whole_batch(gantry_dataset_t *input, int64_t count) {
    return gantry_dataset_batch(input, count, true);
}
static gantry_dataset_t *padded(gantry_dataset_t *input, int64_t count) {
    return gantry_dataset_padded_batch(input, count, NULL);
}

/* What is known ahead is what comes; what never ends gives MOST elements at least. */
static void expect_cardinality(gantry_dataset_t *data, const char *what, int64_t count) {
    const int64_t said = gantry_dataset_cardinality(data);
    gantry_status_t status;
    if (!data) return; /* refused */
    const int64_t given = count_elements(data, MOST, &status);
    if (status != GANTRY_OK) fail_msg("%s %" PRId64 ": %s", what, count, gantry_last_message());
    if ((said >= 0 && given != (said < MOST ? said : MOST)) ||
        (said == GANTRY_INFINITE_CARDINALITY && given < MOST))
        fail_msg("%s %" PRId64 " has cardinality %" PRId64 ", and gives %" PRId64, what, count,
                 said, given);
}

/* Counts below the lowest are refused, others are not. */
static void expect_edges(make_fn make, const char *what, int64_t lowest) {
    for (size_t i = 0; i < EDGES; ++i) {
        gantry_dataset_t *data = make(rows(3), edges[i]);
        if ((data != NULL) != (edges[i] >= lowest))
            fail_msg("%s %" PRId64 " is %s", what, edges[i], data ? "accepted" : "refused");
        if (!data) assert_non_null(strstr(gantry_last_message(), "accepted"));
        expect_cardinality(data, what, edges[i]);
    }
}

TEST(counts_at_their_edges_do_not_overflow) {
    expect_edges(gantry_dataset_take, "take", -1);
    expect_edges(gantry_dataset_skip, "skip", -1);
    expect_edges(gantry_dataset_repeat, "repeat", -1);
    expect_edges(gantry_dataset_enumerate, "enumerate", INT64_MIN);
    expect_edges(shuffle, "shuffle", 1);
    expect_edges(batch, "batch", 1);
    expect_edges(whole_batch, "batch that drops", 1);
    expect_edges(padded, "padded_batch", 1);
}

/* Two of them: of data sets that never end, of none, and of as many elements as there can be. */
TEST(cardinalities_of_pairs_are_what_is_delivered) {
    static const make_fn makes[] = {gantry_dataset_take, gantry_dataset_repeat,
                                    gantry_dataset_enumerate, gantry_dataset_skip};
    for (size_t i = 0; i < EDGES * 3; ++i) {
        for (size_t k = 0; k < EDGES * 4; ++k) {
            const make_fn first = makes[i / EDGES], second = makes[k / EDGES];
            if (second == gantry_dataset_skip && edges[k % EDGES] > 4 && first != makes[0])
                continue; /* skips a data set of 2^62 elements, or without end */
            expect_cardinality(second(first(rows(3), edges[i % EDGES]), edges[k % EDGES]),
                               "a pair with", edges[k % EDGES]);
        }
    }
}

TEST(numbers_end_before_the_largest) {
    for (size_t i = 0; i < EDGES; ++i) {
        gantry_dataset_t *data =
            gantry_dataset_enumerate(gantry_dataset_repeat(rows(3), -1), edges[i]);
        assert_int_equal(gantry_dataset_cardinality(data), edges[i] > INT64_MAX / 2
                                                               ? INT64_MAX - edges[i]
                                                               : GANTRY_INFINITE_CARDINALITY);
        expect_cardinality(data, "enumerate", edges[i]);
    }
}

TEST(none_of_an_unknown_number_is_known) {
    source_t source = {.odd_at = -1};
    gantry_dataset_t *data = gantry_dataset_take(made(&source), 0);
    assert_int_equal(gantry_dataset_cardinality(data), 0);
    gantry_dataset_release(data);
    data = gantry_dataset_skip(made(&source), -1);
    assert_int_equal(gantry_dataset_cardinality(data), 0);
    gantry_dataset_release(data);
}

int main(void) { return test_main_each(set_up, tear_down); }
