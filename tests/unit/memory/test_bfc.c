/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The BFC allocator gives TensorFlow's figures, grows within limits, and splits and merges
 * chunks, over a driver that only counts.
 *
 * test_bfc_host_memory.c tests failing host memory, and test_bfc_model.c long random sequences
 * against a model. All use bfc_pool.h. */
#include "bfc_pool.h"
#include "test.h"

#include <string.h>

/* ---- TensorFlow's allocator test, as far as it concerns chunks and regions ---- */

TEST(allocate_every_size_to_1023_counts_as_tensorflow) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = GIB});
    gantry__bfc_chunk_t *chunks[1023];
    /* each size once, in mixed order */
    for (uint64_t i = 0; i < 1023; ++i) chunks[i] = must_get(&pool, i * 512 % 1023 + 1);
    check_pool(&pool.bfc);
    expect_stats(&pool, 1023, 654336, 654336, 1024);
    for (size_t i = 0; i < 1023; ++i) gantry__bfc_free(&pool.bfc, chunks[i]);
    check_pool(&pool.bfc);
    expect_stats(&pool, 1023, 0, 654336, 1024);
    gantry__bfc_clear_stats(&pool.bfc);
    expect_stats(&pool, 0, 0, 0, 0);
    close_pool(&pool);
}

TEST(allocate_4_bytes_gives_256_and_0_counts_as_1) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = GIB});
    gantry__bfc_chunk_t *four = must_get(&pool, 4);
    assert_int_equal(four->requested_bytes, 4);
    assert_int_equal(four->bytes, 256);
    assert_null(four->owner);
    assert_int_equal(must_get(&pool, 0)->bytes, 256);
    assert_int_equal(must_get(&pool, 257)->bytes, 512);
    gantry__bfc_stats_t stats;
    gantry__bfc_get_stats(&pool.bfc, &stats);
    assert_int_equal(stats.requested_bytes_in_use, 261);
    close_pool(&pool);
}

TEST(allocate_beyond_limit_finds_nothing) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = 2 * MIB});
    assert_non_null(get(&pool, 256));
    assert_null(get(&pool, 8 * MIB));
    assert_null(get(&pool, UINT64_MAX));
    assert_null(get(&pool, (uint64_t)INT64_MAX));
    check_pool(&pool.bfc);
    close_pool(&pool);
}

TEST(rounds_of_four_sizes_come_back_to_the_first_address) {
    static const uint64_t sizes[] = {4096, 8 * MIB, 16384, 41943040};
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = GIB});
    gantry__bfc_chunk_t *first = must_get(&pool, 4096);
    const gantry__bfc_region_t *region = first->region;
    uint64_t offset = first->offset;
    gantry__bfc_free(&pool.bfc, first);
    for (int round = 0; round < 1024; ++round) {
        gantry__bfc_chunk_t *chunks[4];
        for (int i = 0; i < 4; ++i) chunks[i] = must_get(&pool, sizes[i]);
        for (int i = 0; i < 4; ++i) gantry__bfc_free(&pool.bfc, chunks[i]);
    }
    expect_stats(&pool, 4097, 0, 4096 + 8 * MIB + 16384 + 41943040, 41943040);
    first = must_get(&pool, 4096);
    assert_ptr_equal(first->region, region);
    assert_int_equal(first->offset, offset);
    close_pool(&pool);
}

TEST(request_above_the_whole_limit_disturbs_nothing) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = GIB});
    gantry__bfc_chunk_t *chunks[510];
    for (size_t i = 0; i < 255; ++i) chunks[i] = must_get(&pool, 100 + draw(&pool) % (MIB - 100));
    for (size_t i = 0; i < 255; i += 2) gantry__bfc_free(&pool.bfc, chunks[i]);
    assert_null(get(&pool, GIB + 1));
    check_pool(&pool.bfc);
    for (size_t i = 255; i < 510; ++i) chunks[i] = must_get(&pool, 100 + draw(&pool) % (MIB - 100));
    check_pool(&pool.bfc);
    close_pool(&pool);
}

TEST(bin_of_a_size_is_its_power_of_two_up_to_20) {
    static const struct {
        uint64_t bytes;
        unsigned bin;
    } cases[] = {{0, 0},
                 {255, 0},
                 {256, 0},
                 {511, 0},
                 {512, 1},
                 {MIB, 12},
                 {2 * MIB - 256, 12},
                 {2 * MIB, 13},
                 {256 * MIB - 256, 19},
                 {256 * MIB, 20},
                 {GIB, 20},
                 {UINT64_MAX, 20}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_int_equal(gantry__bfc_bin(cases[i].bytes), cases[i].bin);
    }
}

TEST(regions_do_not_join_so_508_of_512_mib_is_refused) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = 512 * MIB, .growth = true});
    gantry__bfc_chunk_t *chunks[128];
    for (int i = 0; i < 128; ++i) chunks[i] = must_get(&pool, 4 * MIB);
    for (int i = 0; i < 127; ++i) gantry__bfc_free(&pool.bfc, chunks[i]);
    assert_null(get(&pool, 508 * MIB));
    assert_false(collect(&pool, 508 * MIB)); /* the last chunk's region is not empty */
    check_pool(&pool.bfc);
    close_pool(&pool);
}

TEST(collection_leaves_the_one_region_in_use) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = 2 * GIB, .growth = true});
    gantry__bfc_chunk_t *chunks[128];
    for (int i = 0; i < 128; ++i) chunks[i] = must_get(&pool, 4 * MIB);
    for (int i = 0; i < 127; ++i) gantry__bfc_free(&pool.bfc, chunks[i]);
    assert_true(pool.driver_regions > 1);
    assert_true(collect(&pool, 0));
    check_pool(&pool.bfc);
    assert_int_equal(pool.driver_regions, 1);
    assert_int_equal(pool.driver_bytes, 256 * MIB);
    uint64_t free_chunks = 0;
    const gantry__bfc_region_t *region = gantry__bfc_first_region(&pool.bfc);
    for (const gantry__bfc_chunk_t *chunk = &region->first; chunk; chunk = chunk->next)
        free_chunks += !chunk->in_use;
    assert_int_equal(free_chunks, 1);
    close_pool(&pool);
}

/* ---- regions: growth, limit, back-off ---- */

/* Uses the whole pool once, as a program does that needs more. */
static void fill_once(pool_t *pool) {
    gantry__bfc_chunk_t *chunks[64];
    size_t count = 0;
    for (uint64_t bytes; (bytes = gantry__bfc_bins_largest(&pool->bfc.bins)) > 0; ++count) {
        assert_in_range(count, 0, 63);
        assert_int_equal(gantry__bfc_allocate(&pool->bfc, bytes, &chunks[count]), GANTRY_OK);
    }
    while (count > 0) gantry__bfc_free(&pool->bfc, chunks[--count]);
}

/* Begins and attaches one region for a request that the full pool cannot serve; returns its length,
 * or 0 if refused. */
static uint64_t extend_once(pool_t *pool, uint64_t bytes) {
    uint64_t before = pool->driver_bytes;
    fill_once(pool);
    return extend(pool, bytes) ? pool->driver_bytes - before : 0;
}

TEST(growth_with_tiny_requests_doubles_regions) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = GIB, .growth = true});
    for (uint64_t expected = 2 * MIB; expected <= 512 * MIB; expected *= 2) {
        assert_int_equal(extend_once(&pool, 1), expected);
    }
    assert_int_equal(extend_once(&pool, 1), 2 * MIB); /* the rest under the limit */
    assert_int_equal(extend_once(&pool, 1), 0);
    check_pool(&pool.bfc);
    close_pool(&pool);
}

TEST(growth_with_first_request_of_3_mib_makes_4_and_again_4) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = GIB, .growth = true});
    assert_int_equal(extend_once(&pool, 3 * MIB), 4 * MIB);
    assert_int_equal(extend_once(&pool, 1), 4 * MIB);
    assert_int_equal(extend_once(&pool, 1), 8 * MIB);
    assert_int_equal(extend_once(&pool, 100 * MIB), 128 * MIB);
    assert_int_equal(extend_once(&pool, 100 * MIB), 128 * MIB);
    close_pool(&pool);
}

TEST(growth_steps_end_at_the_cap_but_for_one_request_that_needs_more) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = 64 * GIB, .growth = true});
    for (uint64_t expected = 2 * MIB; expected <= GIB; expected *= 2)
        assert_int_equal(extend_once(&pool, 1), expected);
    assert_int_equal(extend_once(&pool, 1), GIB);
    assert_int_equal(extend_once(&pool, GIB + 100 * MIB + 1), GIB + 100 * MIB + 256);
    assert_int_equal(extend_once(&pool, GIB), GIB);
    assert_int_equal(extend_once(&pool, 1), GIB);
    check_pool(&pool.bfc);
    close_pool(&pool);
    open_pool(&pool,
              (gantry__bfc_options_t){.limit_bytes = GIB, .max_step_bytes = MIB, .growth = true});
    /* the first region, too */
    for (int i = 0; i < 4; ++i) assert_int_equal(extend_once(&pool, 1), MIB);
    close_pool(&pool);
    /* without growth it is no doubling step */
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = GIB, .max_step_bytes = MIB});
    assert_int_equal(extend_once(&pool, 1), GIB);
    close_pool(&pool);
}

TEST(pool_beyond_the_peak_grows_with_care) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = GIB, .growth = true});
    /* 126, all in use */
    for (uint64_t bytes = 2 * MIB; bytes <= 64 * MIB; bytes *= 2) (void)must_get(&pool, bytes);
    gantry__bfc_chunk_t *last = must_get(&pool, 40 * MIB);
    gantry__bfc_chunk_t *rest = must_get(&pool, 44 * MIB); /* the region of 128 holds both */
    assert_int_equal(pool.driver_bytes, 254 * MIB);
    gantry__bfc_free(&pool.bfc, last);
    gantry__bfc_free(&pool.bfc, rest);
    assert_int_equal(gantry__bfc_fair_pool_bytes(&pool.bfc, 130 * MIB), 2 * (126 + 130) * MIB);
    gantry__bfc_clear_stats(&pool.bfc); /* clearing the statistics keeps the 210 MiB */
    assert_int_equal(gantry__bfc_fair_pool_bytes(&pool.bfc, 1), 2 * 210 * MIB);
    uint64_t before = pool.driver_bytes;
    assert_true(extend(&pool, 1)); /* 254 is at most 2 * 210: doubling continues */
    assert_int_equal(pool.driver_bytes - before, 256 * MIB);
    before = pool.driver_bytes;
    assert_true(extend(&pool, 1)); /* no longer fair: a region of the first length */
    assert_int_equal(pool.driver_bytes - before, 2 * MIB);
    before = pool.driver_bytes;
    assert_true(extend(&pool, 30 * MIB)); /* or the requested size */
    assert_int_equal(pool.driver_bytes - before, 30 * MIB);
    check_pool(&pool.bfc);
    close_pool(&pool);
}

TEST(growth_off_takes_the_whole_limit_at_once) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = 100 * MIB + 255});
    assert_int_equal(extend_once(&pool, 0), 100 * MIB);
    assert_int_equal(extend_once(&pool, 0), 0);
    close_pool(&pool);
    /* limit below the first region */
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = MIB, .growth = true});
    assert_int_equal(extend_once(&pool, 0), MIB);
    close_pool(&pool);
    /* the limit is below one chunk */
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = 255});
    assert_int_equal(extend_once(&pool, 0), 0);
    close_pool(&pool);
}

TEST(unbounded_limit_grows_as_any_other) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){
                         .limit_bytes = UINT64_MAX, .max_step_bytes = UINT64_MAX, .growth = true});
    for (uint64_t expected = 2 * MIB; expected < UINT64_C(1) << 62; expected *= 2) {
        assert_int_equal(extend_once(&pool, 1), expected);
    }
    assert_true(extend_once(&pool, 1) > 0);
    assert_true(extend_once(&pool, 1) > 0);
    assert_int_equal(extend_once(&pool, 1), 0);
    check_pool(&pool.bfc);
    close_pool(&pool);
}

TEST(driver_refusal_backs_off_by_tenths_to_the_request) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = 1000 * 256});
    gantry__bfc_region_t *region;
    assert_int_equal(gantry__bfc_begin_region(&pool.bfc, 700 * 256, &region), GANTRY_OK);
    static const uint64_t expected[] = {1000, 900, 810, 729, 700};
    for (size_t i = 0; i < 5; ++i) {
        assert_int_equal(region->bytes, expected[i] * 256);
        assert_int_equal(gantry__bfc_available_bytes(&pool.bfc), (1000 - expected[i]) * 256);
        assert_int_equal(gantry__bfc_shrink_region(&pool.bfc, region), i < 4);
    }
    gantry__bfc_end_region(&pool.bfc, region);
    assert_int_equal(gantry__bfc_available_bytes(&pool.bfc), 1000 * 256);

    pool.driver_limit = 800 * 256;
    assert_int_equal(extend_once(&pool, 256), 729 * 256);
    pool.driver_limit = 0; /* the smallest requests end the loop, too */
    assert_int_equal(extend_once(&pool, 1), 0);
    check_pool(&pool.bfc);
    close_pool(&pool);
}

TEST(refused_region_leaves_growth_alone) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = GIB, .growth = true});
    pool.driver_limit = 32 * MIB;
    assert_int_equal(extend_once(&pool, 64 * MIB), 0);
    assert_int_equal(extend_once(&pool, 1), 2 * MIB);
    close_pool(&pool);
}

TEST(largest_region_bounds_regions_and_requests) {
    pool_t pool;
    open_pool(&pool,
              (gantry__bfc_options_t){.limit_bytes = 100 * MIB, .max_region_bytes = 40 * MIB + 7});
    assert_int_equal(extend_once(&pool, 40 * MIB + 1), 0);
    assert_int_equal(extend_once(&pool, 40 * MIB), 40 * MIB);
    assert_int_equal(extend_once(&pool, 0), 40 * MIB);
    assert_int_equal(extend_once(&pool, 21 * MIB), 0);
    assert_int_equal(extend_once(&pool, 0), 20 * MIB);
    assert_int_equal(extend_once(&pool, 0), 0);
    close_pool(&pool);
}

TEST(regions_in_flight_count_against_the_limit) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = 10 * MIB, .growth = true});
    gantry__bfc_region_t *one, *two, *three;
    assert_int_equal(gantry__bfc_begin_region(&pool.bfc, 6 * MIB, &one), GANTRY_OK);
    assert_int_equal(one->bytes, 8 * MIB);
    assert_int_equal(gantry__bfc_begin_region(&pool.bfc, 6 * MIB, &two), GANTRY_OK);
    assert_null(two);
    assert_int_equal(gantry__bfc_begin_region(&pool.bfc, MIB, &two), GANTRY_OK);
    assert_int_equal(two->bytes, 2 * MIB);
    gantry__bfc_attach_region(&pool.bfc, two, 2);
    gantry__bfc_attach_region(&pool.bfc, one, 1);
    check_pool(&pool.bfc);
    assert_ptr_equal(gantry__bfc_first_region(&pool.bfc), two);
    assert_true(gantry__bfc_detach_region(&pool.bfc, one));
    assert_false(gantry__bfc_detach_region(&pool.bfc, one));
    assert_int_equal(gantry__bfc_begin_region(&pool.bfc, MIB, &three), GANTRY_OK);
    assert_null(three); /* until the driver has it back */
    gantry__bfc_end_region(&pool.bfc, one);
    assert_int_equal(gantry__bfc_begin_region(&pool.bfc, MIB, &three), GANTRY_OK);
    assert_non_null(three);
    gantry__bfc_end_region(&pool.bfc, three);
    check_pool(&pool.bfc);
    close_pool(&pool);
}

TEST(growth_keeps_the_larger_of_two_regions_in_flight) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = GIB, .growth = true});
    gantry__bfc_region_t *small, *large;
    assert_int_equal(gantry__bfc_begin_region(&pool.bfc, 1, &small), GANTRY_OK);
    assert_int_equal(gantry__bfc_begin_region(&pool.bfc, 50 * MIB, &large), GANTRY_OK);
    gantry__bfc_attach_region(&pool.bfc, large, 1);
    gantry__bfc_attach_region(&pool.bfc, small, 2);
    assert_int_equal(extend_once(&pool, 1), 64 * MIB);
    close_pool(&pool);
}

TEST(pool_statistics_follow_regions_and_clear) {
    pool_t pool;
    gantry__bfc_stats_t stats;
    open_pool(&pool, (gantry__bfc_options_t){
                         .limit_bytes = GIB, .split_bytes = 128 * MIB, .growth = true});
    gantry__bfc_get_stats(&pool.bfc, &stats);
    assert_int_equal(stats.pool_bytes + stats.largest_free_block_bytes, 0);
    gantry__bfc_free(&pool.bfc, must_get(&pool, 6 * MIB));
    (void)must_get(&pool, 7 * MIB); /* the whole region of 8 */
    assert_int_equal(extend_once(&pool, 1), 8 * MIB);
    assert_int_equal(extend_once(&pool, 1), 16 * MIB);
    assert_true(collect(&pool, 0));
    gantry__bfc_get_stats(&pool.bfc, &stats);
    assert_int_equal(stats.pool_bytes, 8 * MIB);
    assert_int_equal(stats.peak_pool_bytes, 32 * MIB);
    assert_int_equal(stats.pending_bytes, 0);
    assert_int_equal(stats.largest_free_block_bytes, 0);
    gantry__bfc_clear_stats(&pool.bfc);
    gantry__bfc_get_stats(&pool.bfc, &stats);
    assert_int_equal(stats.peak_pool_bytes, 8 * MIB);
    expect_stats(&pool, 0, 8 * MIB, 8 * MIB, 0);
    assert_int_equal(extend_once(&pool, 1), 16 * MIB);
    gantry__bfc_get_stats(&pool.bfc, &stats);
    assert_int_equal(stats.largest_free_block_bytes, 16 * MIB);
    close_pool(&pool);
}

TEST(charges_outside_the_pool_count_against_the_limit) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = 10 * MIB});
    assert_true(gantry__bfc_charge(&pool.bfc, 3 * MIB + 1));
    assert_false(gantry__bfc_charge(&pool.bfc, 7 * MIB));
    assert_int_equal(gantry__bfc_available_bytes(&pool.bfc), 7 * MIB - 256);
    assert_int_equal(extend_once(&pool, 1), 7 * MIB - 256);
    assert_true(gantry__bfc_charge(&pool.bfc, 255));
    assert_false(gantry__bfc_charge(&pool.bfc, 1));
    gantry__bfc_discharge(&pool.bfc, 3 * MIB + 256);
    assert_int_equal(extend_once(&pool, 1), 3 * MIB + 256);
    check_pool(&pool.bfc);
    close_pool(&pool);
}

TEST(region_with_a_chunk_in_use_is_not_detached) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = GIB, .growth = true});
    gantry__bfc_chunk_t *chunk = must_get(&pool, 2 * MIB);
    gantry__bfc_region_t *region = chunk->region;
    assert_int_equal(extend_once(&pool, 1), 4 * MIB);
    assert_false(gantry__bfc_detach_region(&pool.bfc, region));
    assert_int_equal(gantry__bfc_empty_region_bytes(&pool.bfc), 4 * MIB);
    assert_ptr_equal(gantry__bfc_next_empty_region(&pool.bfc, NULL), region->next);
    gantry__bfc_free(&pool.bfc, chunk);
    assert_int_equal(gantry__bfc_empty_region_bytes(&pool.bfc), 6 * MIB);
    chunk = must_get(&pool, 256); /* a partly used region is not empty, either */
    assert_int_equal(gantry__bfc_empty_region_bytes(&pool.bfc), 4 * MIB);
    assert_false(gantry__bfc_detach_region(&pool.bfc, chunk->region));
    check_pool(&pool.bfc);
    close_pool(&pool);
}

TEST(collected_pool_grows_from_where_its_size_belongs) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = GIB, .growth = true});
    for (int i = 0; i < 4; ++i) assert_int_equal(extend_once(&pool, 1), (2 * MIB) << i);
    gantry__bfc_chunk_t *chunk = must_get(&pool, 2 * MIB);
    assert_true(collect(&pool, 0));
    assert_int_equal(pool.driver_bytes, 2 * MIB);
    assert_int_equal(extend_once(&pool, 1), 4 * MIB);
    gantry__bfc_free(&pool.bfc, chunk);
    assert_true(collect(&pool, 0));
    assert_int_equal(pool.driver_bytes, 0);
    assert_int_equal(extend_once(&pool, 1), 2 * MIB);
    check_pool(&pool.bfc);
    close_pool(&pool);
}

/* ---- chunks: choice, splitting, merging, last uses ---- */

TEST(chunk_is_split_at_twice_the_request_or_at_the_threshold) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = 4096});
    /* 2304: 1792 would be left over, which is less than the request */
    gantry__bfc_chunk_t *chunk = must_get(&pool, 2049);
    assert_int_equal(chunk->bytes, 4096);
    gantry__bfc_free(&pool.bfc, chunk);
    assert_int_equal(must_get(&pool, 2048)->bytes, 2048);
    close_pool(&pool);

    for (int i = 0; i < 2; ++i) { /* the default is 64 KiB; TensorFlow's 128 MiB on request */
        uint64_t split_bytes = i == 0 ? 64 * 1024 : 128 * MIB;
        open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = 300 * MIB,
                                                 .split_bytes = i == 0 ? 0 : split_bytes});
        chunk = must_get(&pool, 300 * MIB - split_bytes);
        assert_int_equal(chunk->bytes, 300 * MIB - split_bytes);
        gantry__bfc_free(&pool.bfc, chunk);
        assert_int_equal(must_get(&pool, 300 * MIB - split_bytes + 1)->bytes, 300 * MIB);
        close_pool(&pool);
    }

    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = 4096, .split_bytes = 256});
    assert_int_equal(must_get(&pool, 3840)->bytes, 3840);
    assert_int_equal(must_get(&pool, 256)->bytes, 256);
    check_pool(&pool.bfc);
    close_pool(&pool);
}

TEST(best_fit_is_least_size_then_oldest_region_then_offset) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){
                         .limit_bytes = GIB, .initial_region_bytes = 16384, .growth = true});
    gantry__bfc_chunk_t *c[32];
    for (int i = 0; i < 16; ++i) c[i] = must_get(&pool, 1024);
    assert_int_equal(extend_once(&pool, 1), 32768);
    for (int i = 16; i < 32; ++i) c[i] = must_get(&pool, 1024);
    static const int freed[] = {20, 9, 4, 13, 14, 1, 30, 29}; /* 13-14 and 29-30 merge */
    for (size_t i = 0; i < 8; ++i) gantry__bfc_free(&pool.bfc, c[freed[i]]);
    static const struct {
        uint64_t bytes;
        int place;
    } expected[] = {{1024, 1}, {1024, 4}, {2048, 13}, {700, 9}, {2048, 29}, {1000, 20}};
    for (size_t i = 0; i < 6; ++i) {
        gantry__bfc_chunk_t *chunk = must_get(&pool, expected[i].bytes);
        assert_int_equal(chunk->region->number, expected[i].place / 16);
        assert_int_equal(chunk->offset, expected[i].place % 16 * 1024);
    }
    check_pool(&pool.bfc);
    close_pool(&pool);
}

TEST(freed_chunk_merges_with_next_and_previous) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = 5 * 1024});
    static const int orders[6][3] = {{1, 2, 3}, {1, 3, 2}, {2, 1, 3},
                                     {2, 3, 1}, {3, 1, 2}, {3, 2, 1}};
    for (int i = 0; i < 6; ++i) {
        gantry__bfc_chunk_t *c[5];
        for (int k = 0; k < 5; ++k) c[k] = must_get(&pool, 1024);
        for (int k = 0; k < 3; ++k) {
            gantry__bfc_free(&pool.bfc, c[orders[i][k]]);
            check_pool(&pool.bfc);
        }
        assert_ptr_equal(c[0]->next->next, c[4]);
        gantry__bfc_chunk_t *merged = must_get(&pool, 3072);
        assert_int_equal(merged->offset, 1024);
        assert_int_equal(merged->bytes, 3072);
        gantry__bfc_free(&pool.bfc, c[4]);
        gantry__bfc_free(&pool.bfc, merged);
        gantry__bfc_free(&pool.bfc, c[0]);
        assert_int_equal(gantry__bfc_empty_region_bytes(&pool.bfc), 5 * 1024);
    }
    close_pool(&pool);
}

TEST(alignment_of_4096_binds_offsets_sizes_and_regions) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = 10 * MIB - 1, .alignment = 4096});
    for (uint64_t i = 1; i < 100; ++i) {
        gantry__bfc_chunk_t *chunk = must_get(&pool, i * 100);
        assert_int_equal(chunk->offset % 4096, 0);
        assert_int_equal(chunk->bytes, (i * 100 + 4095) / 4096 * 4096);
    }
    check_pool(&pool.bfc);
    assert_int_equal(pool.driver_bytes, 10 * MIB - 4096);
    close_pool(&pool);
}

TEST(reserved_bytes_are_never_regions) {
    pool_t pool;
    gantry__bfc_stats_t stats;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = 10 * MIB, .reserved_bytes = 4 * MIB});
    assert_int_equal(gantry__bfc_available_bytes(&pool.bfc), 6 * MIB);
    assert_false(gantry__bfc_charge(&pool.bfc, 6 * MIB + 1));
    assert_true(gantry__bfc_charge(&pool.bfc, MIB));
    assert_int_equal(extend_once(&pool, 1), 5 * MIB); /* without growth: all remaining memory */
    gantry__bfc_get_stats(&pool.bfc, &stats);
    assert_int_equal(stats.bytes_limit, 10 * MIB);
    assert_int_equal(stats.reserved_bytes, 4 * MIB);
    assert_int_equal(stats.charged_bytes, MIB);
    check_pool(&pool.bfc);
    close_pool(&pool);
}

TEST(last_use_is_kept_by_split_and_maximum_by_merge) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = 4096});
    gantry__bfc_chunk_t *a = must_get(&pool, 2048), *b = must_get(&pool, 2048);
    for (int i = 0; i < GANTRY__BFC_STREAMS; ++i) assert_int_equal(a->last_use[i], 0);
    const uint64_t used_a[GANTRY__BFC_STREAMS] = {7, 1, 0, 9},
                   used_b[GANTRY__BFC_STREAMS] = {3, 5, 0, 10};
    const uint64_t both[GANTRY__BFC_STREAMS] = {7, 5, 0, 10};
    memcpy(a->last_use, used_a, sizeof used_a);
    memcpy(b->last_use, used_b, sizeof used_b);
    a->owner = "MatMul";
    a->tag = "tower 1";
    gantry__bfc_free(&pool.bfc, b);
    gantry__bfc_free(&pool.bfc, a);
    a = must_get(&pool, 256);
    b = must_get(&pool, 512);
    assert_memory_equal(a->last_use, both, sizeof both);
    assert_memory_equal(b->last_use, both, sizeof both);
    assert_null(a->owner);
    assert_null(a->tag);
    close_pool(&pool);
}

TEST(allocate_ready_prefers_a_finished_chunk_of_the_same_size) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = MIB});
    gantry__bfc_chunk_t *c[40], *chunk;
    for (int i = 0; i < 40; ++i) c[i] = must_get(&pool, i == 39 ? 2048 : 1024);
    uint64_t completed[GANTRY__BFC_STREAMS] = {UINT64_MAX, 5, 0, 0};
    for (uint64_t i = 0; i < 40; i += 2) c[i]->last_use[1] = i == 6 ? 5 : i + 10;
    c[6]->last_use[0] = 1000; /* the requesting stream */
    c[39]->last_use[1] = 1;
    for (int i = 0; i < 8; i += 2) gantry__bfc_free(&pool.bfc, c[i]);
    assert_int_equal(gantry__bfc_allocate_ready(&pool.bfc, 1000, completed, &chunk), GANTRY_OK);
    assert_ptr_equal(chunk, c[6]);
    gantry__bfc_free(&pool.bfc, c[39]); /* its work is done, but it is larger */
    assert_int_equal(gantry__bfc_allocate_ready(&pool.bfc, 1000, completed, &chunk), GANTRY_OK);
    assert_ptr_equal(chunk, c[0]);
    assert_int_equal(gantry__bfc_allocate_ready(&pool.bfc, MIB, completed, &chunk), GANTRY_OK);
    assert_null(chunk);
    check_pool(&pool.bfc);
    close_pool(&pool);
}

int main(void) { return test_main(); }
