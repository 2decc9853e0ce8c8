/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Random chains of transformations give the same elements from rows of arrays and from a
 * callback, and their cardinality is right where it is known. */
#include "dataset_case.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#include <gantry/gantry.h>

#include "train/data/dataset_random.h"
#include "train_heap.h"

#define CHAINS 400
#define MOST_LINKS 6
#define ROWS 60

typedef enum link_t {
    LINK_SHUFFLE,
    LINK_TAKE,
    LINK_SKIP,
    LINK_REPEAT,
    LINK_CACHE,
    LINK_PREFETCH,
    LINK_MAP,
    LINK_FILTER,
    LINK_CONCATENATE,
    LINK_BATCH,
    LINK_COUNT
} link_t;

/* A chain; the last link is a batch, or none is. */
typedef struct chain_t {
    size_t count;
    link_t links[MOST_LINKS];
    int64_t numbers[MOST_LINKS];
    bool flags[MOST_LINKS];
} chain_t;

static gantry_status_t map_same(void *user, const gantry_array_t *input, size_t count,
                                gantry_element_t *output) {
    (void)user;
    for (size_t i = 0; i < count; ++i) {
        void *data = gantry_element_component(output, i, input[i].dtype, &input[i].shape);
        const size_t bytes = (size_t)gantry_shape_elements(&input[i].shape) * 4;
        if (!data) return GANTRY_RESOURCE_EXHAUSTED;
        memcpy(data, input[i].data, bytes);
    }
    return GANTRY_OK;
}

/* Drops each fifth label. */
static gantry_status_t keep_most(void *user, const gantry_array_t *input, size_t count,
                                 bool *out_keep) {
    (void)user, (void)count;
    *out_keep = *(const int32_t *)input[0].data % 5 != 0;
    return GANTRY_OK;
}

static chain_t make_chain(gantry__train_random_t *random) {
    chain_t chain = {.count = (size_t)gantry__train_random_below(random, MOST_LINKS) + 1};
    bool repeats = false;
    for (size_t i = 0; i < chain.count; ++i) {
        const bool is_last = i + 1 == chain.count;
        chain.links[i] =
            (link_t)gantry__train_random_below(random, is_last ? LINK_COUNT : (uint64_t)LINK_BATCH);
        /* one repetition, so that the elements fit into the case's arrays */
        if (chain.links[i] == LINK_REPEAT && repeats) chain.links[i] = LINK_TAKE;
        repeats = repeats || chain.links[i] == LINK_REPEAT;
        chain.numbers[i] = (int64_t)gantry__train_random_below(random, ROWS + 10);
        chain.flags[i] = gantry__train_random_below(random, 2) == 1;
    }
    return chain;
}

static gantry_dataset_t *add_link(gantry_dataset_t *input, link_t link, int64_t number, bool flag) {
    switch (link) {
        case LINK_SHUFFLE: return gantry_dataset_shuffle(input, number + 1, 5, flag);
        case LINK_TAKE: return gantry_dataset_take(input, flag ? number : -1);
        case LINK_SKIP: return gantry_dataset_skip(input, number / 3);
        case LINK_REPEAT: return gantry_dataset_repeat(input, number % 4);
        case LINK_CACHE: return gantry_dataset_cache(input);
        case LINK_PREFETCH: return gantry_dataset_prefetch(input, number + 1);
        case LINK_MAP: return gantry_dataset_map(input, map_same, NULL, (int32_t)(number % 4) + 1);
        case LINK_FILTER: return gantry_dataset_filter(input, keep_most, NULL);
        case LINK_CONCATENATE: {
            /* of one source: rows stay rows */
            gantry_dataset_t *again = gantry_dataset_retain(input);
            return gantry_dataset_concatenate(gantry_dataset_take(input, number), again);
        }
        case LINK_BATCH: return gantry_dataset_batch(input, number + 1, flag);
        default: return NULL;
    }
}

static gantry_dataset_t *build_chain(const chain_t *chain, gantry_dataset_t *dataset) {
    for (size_t i = 0; i < chain->count; ++i)
        dataset = add_link(dataset, chain->links[i], chain->numbers[i], chain->flags[i]);
    assert_non_null(dataset);
    return dataset;
}

TEST(rows_and_elements_give_the_same) {
    static int32_t of_rows[CASE_MOST], of_elements[CASE_MOST];
    gantry__train_random_t random;
    size_t most = 0;
    gantry__train_random_init(&random, 20, 26);
    train_heap_reset(-1);
    for (int i = 0; i < CHAINS; ++i) {
        const chain_t chain = make_chain(&random);
        int64_t rows = (int64_t)gantry__train_random_below(&random, ROWS);
        gantry_dataset_t *first = build_chain(&chain, case_rows(rows)),
                         *second = build_chain(&chain, case_elements(&rows));
        for (int pass = 0; pass < 2; ++pass) {
            size_t counts[2], elements[2];
            assert_int_equal(case_pass(first, of_rows, &counts[0], &elements[0]), GANTRY_OK);
            assert_int_equal(case_pass(second, of_elements, &counts[1], &elements[1]), GANTRY_OK);
            assert_int_equal(counts[0], counts[1]);
            assert_int_equal(elements[0], elements[1]);
            assert_memory_equal(of_rows, of_elements, counts[0] * sizeof of_rows[0]);
            if (gantry_dataset_cardinality(first) != GANTRY_UNKNOWN_CARDINALITY)
                assert_int_equal(gantry_dataset_cardinality(first), elements[0]);
            if (counts[0] > most) most = counts[0];
        }
        gantry_dataset_release(first);
        gantry_dataset_release(second);
    }
    assert_true(most > ROWS); /* some repeat */
    assert_int_equal(train_heap_live(), 0);
}

int main(void) { return test_main(); }
