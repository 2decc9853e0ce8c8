/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The bench's model of TensorFlow's allocator rules gives the figures of TensorFlow's own
 * tests.
 *
 * Back-off and growth follow the rules' text. */
#include <stdlib.h>

#include "tensorflow_bfc_rules.h"
#include "test.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static tensorflow_bfc_rules_t *open_rules(tensorflow_bfc_rules_t *rules, uint64_t limit_bytes,
                                          bool growth) {
    tensorflow_bfc_rules_init(
        rules,
        &(rules_options_t){.limit_bytes = limit_bytes, .growth = growth, .collection = true});
    return rules;
}

static rules_chunk_t *get(tensorflow_bfc_rules_t *rules, uint64_t bytes) {
    rules_chunk_t *chunk = tensorflow_bfc_rules_allocate(rules, bytes);
    assert_non_null(chunk);
    return chunk;
}

static void check_stats(const tensorflow_bfc_rules_t *rules, uint64_t allocs, uint64_t in_use,
                        uint64_t peak, uint64_t largest) {
    rules_stats_t stats;
    tensorflow_bfc_rules_stats(rules, &stats);
    assert_false(rules->broken);
    assert_int_equal(stats.num_allocs, allocs);
    assert_int_equal(stats.bytes_in_use, in_use);
    assert_int_equal(stats.peak_bytes_in_use, peak);
    assert_int_equal(stats.largest_alloc_bytes, largest);
}

static int by_address(const void *a, const void *b) {
    const rules_chunk_t *x = *(const rules_chunk_t *const *)a,
                        *y = *(const rules_chunk_t *const *)b;
    return (x->address > y->address) - (x->address < y->address);
}

static void check_no_overlap(rules_chunk_t **chunks, size_t count) {
    qsort(chunks, count, sizeof(rules_chunk_t *), by_address);
    for (size_t i = 1; i < count; ++i)
        assert_true(chunks[i - 1]->address + chunks[i - 1]->bytes <= chunks[i]->address);
}

TEST(rules_sizes_1_to_1023_give_the_stated_numbers) {
    tensorflow_bfc_rules_t rules;
    open_rules(&rules, GIB, false);
    rules_chunk_t *chunks[1023];
    for (uint64_t bytes = 1; bytes < 1024; ++bytes) chunks[bytes - 1] = get(&rules, bytes);
    check_no_overlap(chunks, 1023);
    check_stats(&rules, 1023, 654336, 654336, 1024);
    for (size_t i = 0; i < 1023; ++i) tensorflow_bfc_rules_free(&rules, chunks[i]);
    check_stats(&rules, 1023, 0, 654336, 1024);
    tensorflow_bfc_rules_deinit(&rules);
}

TEST(rules_4_bytes_take_256_and_0_bytes_nothing) {
    tensorflow_bfc_rules_t rules;
    open_rules(&rules, GIB, false);
    const rules_chunk_t *chunk = get(&rules, 4);
    assert_int_equal(chunk->requested_bytes, 4);
    assert_int_equal(chunk->bytes, 256);
    assert_null(tensorflow_bfc_rules_allocate(&rules, 0));
    tensorflow_bfc_rules_deinit(&rules);
}

TEST(rules_a_request_beyond_the_limit_fails) {
    tensorflow_bfc_rules_t rules;
    open_rules(&rules, 2 * MIB, false);
    (void)get(&rules, 256);
    assert_null(tensorflow_bfc_rules_allocate(&rules, 8 * MIB));
    tensorflow_bfc_rules_deinit(&rules);
}

TEST(rules_rounds_of_four_sizes_reuse_the_first_address) {
    static const uint64_t sizes[] = {1024 * 4, 1048576 * 8, 2048 * 8, 10485760 * 4};
    tensorflow_bfc_rules_t rules;
    open_rules(&rules, GIB, false);
    rules_chunk_t *warm_up = get(&rules, 4096);
    uint64_t first_address = warm_up->address;
    tensorflow_bfc_rules_free(&rules, warm_up);
    for (int round = 0; round < 1024; ++round) {
        rules_chunk_t *chunks[4];
        for (int i = 0; i < 4; ++i) chunks[i] = get(&rules, sizes[i]);
        for (int i = 0; i < 4; ++i) tensorflow_bfc_rules_free(&rules, chunks[i]);
    }
    check_stats(&rules, 4097, 0, 4096 + 8388608 + 16384 + 41943040, 41943040);
    assert_int_equal(get(&rules, 4096)->address, first_address);
    tensorflow_bfc_rules_deinit(&rules);
}

TEST(rules_random_sizes_survive_a_request_that_is_too_large) {
    tensorflow_bfc_rules_t rules;
    open_rules(&rules, GIB, false);
    rules_chunk_t *chunks[255 + 128];
    uint32_t random = 1;
    for (int i = 0; i < 255; ++i) {
        random = random * 1664525u + 1013904223u;
        chunks[i] = get(&rules, 100 + random % (MIB - 100));
    }
    for (int i = 128; i < 255; ++i) tensorflow_bfc_rules_free(&rules, chunks[i]);
    assert_null(tensorflow_bfc_rules_allocate(&rules, GIB + 1));
    for (int i = 128; i < 128 + 255; ++i) {
        random = random * 1664525u + 1013904223u;
        chunks[i] = get(&rules, 100 + random % (MIB - 100));
    }
    check_no_overlap(chunks, 128 + 255);
    tensorflow_bfc_rules_deinit(&rules);
}

TEST(rules_bins_hold_two_chunks_each_and_the_rest_is_in_the_last) {
    tensorflow_bfc_rules_t rules;
    open_rules(&rules, GIB, false);
    for (unsigned i = 0; i < 5; ++i) {
        (void)get(&rules, UINT64_C(256) << i);
        (void)get(&rules, UINT64_C(256) << i);
    }
    rules_bin_report_t bins[RULES_BINS];
    tensorflow_bfc_rules_bins(&rules, bins);
    for (unsigned i = 0; i < RULES_BINS; ++i) {
        bool small = i < 5, last = i == RULES_BINS - 1;
        assert_int_equal(bins[i].chunks, small ? 2 : last ? 1 : 0);
        assert_int_equal(bins[i].chunks_in_use, small ? 2 : 0);
        assert_int_equal(bins[i].bytes_in_use, small ? UINT64_C(512) << i : 0);
        assert_int_equal(bins[i].requested_bytes_in_use, bins[i].bytes_in_use);
    }
    tensorflow_bfc_rules_deinit(&rules);
}

TEST(rules_regions_do_not_join) {
    tensorflow_bfc_rules_t rules;
    open_rules(&rules, 512 * MIB, true);
    rules_chunk_t *chunks[128];
    for (int i = 0; i < 128; ++i) chunks[i] = get(&rules, 4 * MIB);
    for (int i = 0; i < 127; ++i) tensorflow_bfc_rules_free(&rules, chunks[i]);
    assert_null(tensorflow_bfc_rules_allocate(&rules, 508 * MIB));
    tensorflow_bfc_rules_deinit(&rules);
}

TEST(rules_collection_leaves_the_region_in_use) {
    tensorflow_bfc_rules_t rules;
    open_rules(&rules, 2 * GIB, true);
    rules_chunk_t *chunks[128];
    for (int i = 0; i < 128; ++i) chunks[i] = get(&rules, 4 * MIB);
    rules_stats_t stats;
    tensorflow_bfc_rules_stats(&rules, &stats);
    assert_true(stats.region_count > 1);
    for (int i = 0; i < 127; ++i) tensorflow_bfc_rules_free(&rules, chunks[i]);
    assert_true(tensorflow_bfc_rules_collect(&rules, 0));
    tensorflow_bfc_rules_stats(&rules, &stats);
    assert_int_equal(stats.region_count, 1);
    size_t free_chunks = 0;
    for (int i = 0; i < RULES_BINS; ++i) free_chunks += rules.bins[i].count;
    assert_int_equal(free_chunks, 1);
    assert_false(tensorflow_bfc_rules_collect(&rules, 0));
    tensorflow_bfc_rules_deinit(&rules);
}

TEST(rules_first_region_follows_growth) {
    for (int growth = 0; growth < 2; ++growth) {
        tensorflow_bfc_rules_t rules;
        open_rules(&rules, GIB, growth);
        (void)get(&rules, 256);
        assert_int_equal(rules.stats.pool_bytes, growth ? 2 * MIB : GIB);
        tensorflow_bfc_rules_deinit(&rules);
    }
}

/* Small requests: 2, 4, 8, 16 MiB; a first request of 3 MiB: 4 MiB, and 4 MiB again. */
TEST(rules_regions_double) {
    static const uint64_t tiny[] = {2, 6, 14, 30}, three[] = {4, 8, 16};
    tensorflow_bfc_rules_t rules;
    open_rules(&rules, GIB, true);
    for (int i = 0; i < 4; ++i) {
        uint64_t room = tiny[i] * MIB - rules.stats.bytes_in_use;
        for (uint64_t used = 0; used < room; used += MIB) (void)get(&rules, MIB);
        assert_int_equal(rules.stats.pool_bytes, tiny[i] * MIB);
    }
    tensorflow_bfc_rules_deinit(&rules);
    open_rules(&rules, GIB, true);
    for (int i = 0; i < 3; ++i) {
        (void)get(&rules, 3 * MIB);
        assert_int_equal(rules.stats.pool_bytes, three[i] * MIB);
    }
    tensorflow_bfc_rules_deinit(&rules);
}

TEST(rules_back_off_when_the_driver_refuses) {
    tensorflow_bfc_rules_t rules;
    rules_options_t options = {.limit_bytes = 100 * MIB, .driver_bytes = 85 * MIB, .growth = false};
    tensorflow_bfc_rules_init(&rules, &options);
    (void)get(&rules, 256);
    assert_int_equal(rules.stats.pool_bytes, 81 * MIB); /* 100, 90, 81 */
    assert_null(tensorflow_bfc_rules_allocate(&rules, 81 * MIB));
    tensorflow_bfc_rules_deinit(&rules);
}

/* A whole chunk below twice the request, unless 128 MiB are left over. */
TEST(rules_split_at_twice_the_request_or_128_mib) {
    static const struct {
        uint64_t hole, request, chunk;
    } cases[] = {
        {2 * MIB - 256, MIB, 2 * MIB - 256},
        {2 * MIB, MIB, MIB},
        {400 * MIB, 300 * MIB, 400 * MIB},
        {428 * MIB, 300 * MIB, 300 * MIB},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        tensorflow_bfc_rules_t rules;
        open_rules(&rules, 2 * GIB, false);
        rules_chunk_t *hole = get(&rules, cases[i].hole);
        (void)get(&rules, 256);
        tensorflow_bfc_rules_free(&rules, hole);
        assert_int_equal(get(&rules, cases[i].request)->bytes, cases[i].chunk);
        tensorflow_bfc_rules_deinit(&rules);
    }
}

int main(void) { return test_main(); }
