/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: An allocation climbs the ladder to more memory or a refusal, over a driver that only
 * counts.
 * Promise: The allocator takes regions as the pool grows, or all at once without growth, and its
 * limit binds before the driver is asked.
 *
 * test_bfc.c tests the chunks and regions themselves. */
#define _XOPEN_SOURCE 700

#include "allocator_fixture.h"
#include "test.h"

/* ---- reuse and growth ---- */

TEST(nothing_is_taken_before_the_first_request) {
    fixture_t f;
    open_all(&f, (gantry__bfc_options_t){.limit_bytes = 64 * MIB, .growth = true});
    assert_int_equal(f.driver.takes, 0);
    assert_int_equal(stats_of(&f).pool_bytes, 0);
    close_all(&f);
    assert_int_equal(f.driver.waits, 1); /* before regions are returned */
}

TEST(regions_double_as_the_pool_grows) {
    fixture_t f;
    open_all(&f, (gantry__bfc_options_t){.limit_bytes = 1024 * MIB, .growth = true});
    gantry__bfc_chunk_t *chunks[14];
    for (size_t i = 0; i < 14; ++i) chunks[i] = get(&f, MIB);
    assert_int_equal(f.driver.takes, 3);
    for (size_t i = 0; i < 3; ++i) assert_int_equal(f.driver.asked[i], (2 * MIB) << i);
    for (size_t i = 0; i < 14; ++i) put(&f, chunks[i]);
    assert_int_equal(f.driver.held, 14 * MIB); /* the pool keeps it */
    assert_int_equal(f.driver.gives, 0);
    put(&f, get(&f, 8 * MIB)); /* merged chunks serve a larger request */
    assert_int_equal(f.driver.takes, 3);
    close_all(&f);
}

TEST(freed_chunk_is_used_again) {
    fixture_t f;
    open_all(&f, (gantry__bfc_options_t){.limit_bytes = 64 * MIB, .growth = true});
    gantry__bfc_chunk_t *chunk = get(&f, 1000);
    uint64_t handle = chunk->region->handle, offset = chunk->offset;
    assert_string_equal(chunk->owner, "Test");
    for (int i = 0; i < 100; ++i) {
        put(&f, chunk);
        chunk = get(&f, 900);
        assert_int_equal(chunk->region->handle, handle);
        assert_int_equal(chunk->offset, offset);
    }
    put(&f, chunk);
    assert_int_equal(f.driver.takes, 1);
    assert_int_equal(stats_of(&f).num_allocs, 101);
    close_all(&f);
}

TEST(without_growth_all_is_taken_at_once) {
    fixture_t f;
    open_all(&f, (gantry__bfc_options_t){.limit_bytes = 64 * MIB, .growth = false});
    put(&f, get(&f, 1));
    assert_int_equal(f.driver.takes, 1);
    assert_int_equal(f.driver.asked[0], 64 * MIB);
    close_all(&f);
}

/* ---- the limit ---- */

TEST(limit_binds_before_the_driver_is_asked) {
    fixture_t f;
    open_all(&f, (gantry__bfc_options_t){.limit_bytes = 8 * MIB, .growth = true});
    gantry__bfc_chunk_t *chunk = get(&f, 4 * MIB);
    int takes = f.driver.takes;
    expect_refusal(
        &f, 5 * MIB,
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 5242880 bytes: 4194304 in use, 4194304 held from the driver, largest free chunk 0, limit 8388608; tried: reuse, extend");
    assert_int_equal(f.driver.takes, takes);
    assert_true(f.driver.held <= 8 * MIB);
    gantry__bfc_chunk_t *rest = get(&f, 4 * MIB); /* the limit is reached exactly */
    assert_int_equal(f.driver.held, 8 * MIB);
    put(&f, chunk);
    put(&f, rest);
    close_all(&f);
}

TEST(request_beyond_all_bounds_is_refused) {
    static const uint64_t sizes[] = {8 * MIB + 1, UINT64_C(1) << 62, UINT64_MAX - 255, UINT64_MAX};
    fixture_t f;
    open_all(&f, (gantry__bfc_options_t){.limit_bytes = 8 * MIB, .growth = true});
    for (size_t i = 0; i < 4; ++i) expect_refusal(&f, sizes[i], "tried: reuse, extend");
    assert_int_equal(f.driver.takes, 0);
    close_all(&f);
}

TEST(region_never_exceeds_the_largest_allocation) {
    fixture_t f;
    open_all(&f, (gantry__bfc_options_t){
                     .limit_bytes = 64 * MIB, .max_region_bytes = 3 * MIB, .growth = true});
    gantry__bfc_chunk_t *chunks[12];
    f.driver.largest = 3 * MIB;
    for (size_t i = 0; i < 12; ++i) chunks[i] = get(&f, 3 * MIB / 2);
    for (int i = 0; i < f.driver.takes; ++i) assert_true(f.driver.asked[i] <= 3 * MIB);
    expect_refusal(&f, 3 * MIB + 1, "ran out of memory");
    for (size_t i = 0; i < 12; ++i) put(&f, chunks[i]);
    close_all(&f);
}

/* ---- the driver refuses ---- */

TEST(refused_region_is_tried_smaller) {
    fixture_t f;
    open_all(&f, (gantry__bfc_options_t){.limit_bytes = 64 * MIB, .growth = true});
    f.driver.capacity = 3 * MIB / 2;
    gantry__bfc_chunk_t *chunk = get(&f, MIB);
    assert_true(f.driver.takes > 1);
    assert_int_equal(f.driver.asked[0], 2 * MIB);
    for (int i = 1; i < f.driver.takes; ++i)
        assert_true(f.driver.asked[i] < f.driver.asked[i - 1] && f.driver.asked[i] >= MIB);
    assert_true(f.driver.held >= 3 * MIB / 2 - 3 * MIB / 20); /* at most a tenth less */
    put(&f, chunk);
    close_all(&f);
}

TEST(driver_with_just_enough_is_enough) {
    fixture_t f;
    open_all(&f, (gantry__bfc_options_t){.limit_bytes = 64 * MIB, .growth = true});
    f.driver.capacity = MIB;
    gantry__bfc_chunk_t *chunk = get(&f, MIB);
    assert_int_equal(f.driver.held, MIB);
    expect_refusal(&f, 256, "tried: reuse, extend");
    put(&f, chunk);
    close_all(&f);
}

TEST(broken_driver_is_not_a_lack_of_memory) {
    fixture_t f;
    gantry__bfc_chunk_t *chunk;
    open_all(&f, (gantry__bfc_options_t){.limit_bytes = 64 * MIB, .growth = true});
    f.driver.broken = GANTRY_UNAVAILABLE;
    assert_int_equal(allocate(&f, MIB, &chunk), GANTRY_UNAVAILABLE);
    assert_null(chunk);
    assert_string_equal(gantry__message(), "the driver is broken");
    assert_int_equal(f.driver.takes, 1); /* the driver is not asked for less */
    assert_int_equal(stats_of(&f).pending_bytes, 0);
    f.driver.broken = GANTRY_OK;
    put(&f, get(&f, MIB));
    close_all(&f);
}

/* ---- returning regions ---- */

TEST(empty_regions_go_back_for_a_larger_one) {
    fixture_t f;
    open_all(&f, (gantry__bfc_options_t){.limit_bytes = 16 * MIB, .growth = true});
    gantry__bfc_chunk_t *chunks[3];
    for (size_t i = 0; i < 3; ++i) chunks[i] = get(&f, (2 * MIB) << i); /* 2 + 4 + 8 of 16 MiB */
    assert_int_equal(f.driver.held, 14 * MIB);
    for (size_t i = 0; i < 3; ++i) put(&f, chunks[i]);
    gantry__bfc_chunk_t *large = get(&f, 15 * MIB); /* no region is large enough */
    assert_true(f.driver.gives >= 2);
    assert_int_equal(f.driver.waits, 1); /* one wait, before the first region is returned */
    assert_true(f.driver.held <= 16 * MIB);
    put(&f, large);
    close_all(&f);
}

TEST(region_emptied_after_the_wait_is_waited_for_again) {
    fixture_t f;
    open_all(&f, (gantry__bfc_options_t){.limit_bytes = 16 * MIB, .growth = true});
    gantry__bfc_chunk_t *small = get(&f, 2 * MIB), *middle = get(&f, 4 * MIB),
                        *large = get(&f, 8 * MIB);
    put(&f, small);
    f.driver.to_free = large; /* its work is still in flight when another thread frees the chunk */
    put(&f, get(&f, 3 * MIB));
    assert_int_equal(f.driver.gives, 1);
    gantry__bfc_chunk_t *largest = get(&f, 12 * MIB);
    assert_int_equal(f.driver.gives, 2);
    assert_int_equal(f.driver.given_too_early, 0);
    f.driver.freed_handle = 0;
    put(&f, largest);
    put(&f, middle);
    close_all(&f);
}

TEST(regions_in_use_stay) {
    fixture_t f;
    open_all(&f, (gantry__bfc_options_t){.limit_bytes = 16 * MIB, .growth = true});
    gantry__bfc_chunk_t *small = get(&f, 2 * MIB), *middle = get(&f, 4 * MIB),
                        *large = get(&f, 8 * MIB);
    uint64_t handle = middle->region->handle;
    put(&f, small);
    put(&f, large);
    expect_refusal(&f, 13 * MIB, "tried: reuse, extend; ");
    /* all regions together would not suffice: the pool keeps them */
    assert_int_equal(f.driver.gives, 0);
    gantry__bfc_chunk_t *fits = get(&f, 12 * MIB);
    assert_int_equal(f.driver.gives, 2);
    assert_int_equal(middle->region->handle, handle);
    put(&f, fits);
    put(&f, middle);
    close_all(&f);
}

TEST(driver_s_refusal_also_gives_back) {
    fixture_t f;
    open_all(&f, (gantry__bfc_options_t){.limit_bytes = 1024 * MIB, .growth = true});
    f.driver.capacity = 10 * MIB; /* the card's memory is smaller than the limit */
    put(&f, get(&f, 2 * MIB));
    put(&f, get(&f, 4 * MIB));
    gantry__bfc_chunk_t *large = get(&f, 9 * MIB);
    assert_int_equal(f.driver.gives, 2);
    put(&f, large);
    close_all(&f);
}

TEST(refusal_leaves_the_pool_usable) {
    fixture_t f;
    open_all(&f, (gantry__bfc_options_t){.limit_bytes = 16 * MIB, .growth = true});
    for (int i = 0; i < 20; ++i) {
        gantry__bfc_chunk_t *chunk = get(&f, MIB);
        expect_refusal(&f, 16 * MIB, "ran out of memory");
        put(&f, chunk);
        put(&f, get(&f, 16 * MIB));
    }
    assert_int_equal(stats_of(&f).bytes_in_use, 0);
    assert_int_equal(stats_of(&f).pending_bytes, 0);
    close_all(&f);
}

/* ---- statistics ---- */

TEST(statistics_are_cleared_to_the_present) {
    fixture_t f;
    open_all(&f, (gantry__bfc_options_t){.limit_bytes = 64 * MIB, .growth = true});
    gantry__bfc_chunk_t *small = get(&f, 1000), *large = get(&f, 5000);
    put(&f, large);
    gantry__bfc_stats_t stats = stats_of(&f);
    assert_int_equal(stats.bytes_in_use, 1024);
    assert_int_equal(stats.requested_bytes_in_use, 1000);
    assert_int_equal(stats.peak_bytes_in_use, 1024 + 5120);
    assert_int_equal(stats.largest_alloc_bytes, 5120);
    assert_int_equal(stats.bytes_limit, 64 * MIB);
    gantry__allocator_clear_stats(&f.allocator);
    stats = stats_of(&f);
    assert_int_equal(stats.num_allocs, 0);
    assert_int_equal(stats.peak_bytes_in_use, 1024);
    put(&f, small);
    close_all(&f);
}

/* ---- host memory ---- */

TEST(bad_options_are_refused) {
    driver_t driver = {.capacity = MIB};
    gantry__region_source_t source = {
        .user = &driver, .take = take, .give_back = give_back, .wait = wait_for_work};
    gantry__allocator_t allocator;
    gantry__allocator_options_t options = {.bfc = {.limit_bytes = 0, .growth = true}};
    assert_int_equal(
        gantry__allocator_init(&allocator, &gantry__heap_default, &options, &source, "x"),
        GANTRY_INVALID_ARGUMENT);
    options.bfc = (gantry__bfc_options_t){.limit_bytes = MIB, .alignment = 1000};
    assert_int_equal(
        gantry__allocator_init(&allocator, &gantry__heap_default, &options, &source, "x"),
        GANTRY_INVALID_ARGUMENT);
}

TEST(host_memory_running_out_changes_nothing) {
    int failures = 0;
    for (long at = 0; at < 40; ++at) {
        fixture_t f;
        gantry__bfc_chunk_t *chunks[40] = {NULL};
        open_all(&f, (gantry__bfc_options_t){.limit_bytes = 64 * MIB, .growth = true});
        f.heap.inner.fail_at = at;
        for (size_t i = 0; i < 40; ++i) {
            gantry_status_t status = allocate(&f, 64 * KIB, &chunks[i]);
            assert_int_equal(status == GANTRY_OK, chunks[i] != NULL);
            if (status == GANTRY_OK) continue;
            assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
            ++failures;
        }
        gantry__bfc_stats_t stats = stats_of(&f);
        assert_int_equal(stats.pool_bytes, f.driver.held);
        assert_int_equal(stats.pending_bytes, 0);
        f.heap.inner.fail_at = -1;
        for (size_t i = 0; i < 40; ++i) {
            if (!chunks[i]) chunks[i] = get(&f, 64 * KIB); /* and now it works */
        }
        for (size_t i = 0; i < 40; ++i) put(&f, chunks[i]);
        close_all(&f);
    }
    assert_true(failures > 0);
}

/* ---- threads ---- */

typedef struct worker_t {
    fixture_t *f;
    uint64_t random;
    int refusals, overlaps;
} worker_t;

static uint64_t draw(worker_t *self) {
    self->random ^= self->random << 13;
    self->random ^= self->random >> 7;
    self->random ^= self->random << 17;
    return self->random >> 11;
}

/* Allocates and frees at random. Each chunk carries a signature in last_use, which shows a chunk
 * that two threads own. */
static void *hammer(void *user) {
    worker_t *self = user;
    gantry__bfc_chunk_t *held[16] = {NULL};
    for (int i = 0; i < 20000; ++i) {
        size_t slot = draw(self) % 16;
        if (held[slot]) {
            self->overlaps += held[slot]->last_use[0] != (uint64_t)(uintptr_t)self;
            gantry__allocator_free(&self->f->allocator, held[slot]);
            held[slot] = NULL;
            continue;
        }
        uint64_t bytes = draw(self) % 8 ? draw(self) % (64 * KIB) : draw(self) % (4 * MIB);
        if (allocate(self->f, bytes, &held[slot]) != GANTRY_OK) {
            ++self->refusals;
            continue;
        }
        held[slot]->last_use[0] = (uint64_t)(uintptr_t)self;
    }
    for (size_t slot = 0; slot < 16; ++slot) {
        if (held[slot]) gantry__allocator_free(&self->f->allocator, held[slot]);
    }
    return NULL;
}

TEST(threads_share_one_allocator) {
    fixture_t f;
    open_all(&f, (gantry__bfc_options_t){.limit_bytes = 24 * MIB, .growth = true});
    f.driver.must_be_unlocked = NULL; /* the other thread may hold it */
    /* so that the limit, the driver and returned regions all take part */
    f.driver.capacity = 20 * MIB;
    pthread_t threads[2];
    worker_t workers[2];
    for (size_t i = 0; i < 2; ++i) {
        workers[i] = (worker_t){.f = &f, .random = UINT64_C(88172645463325252) + i};
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, &workers[i]), 0);
    }
    for (size_t i = 0; i < 2; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(workers[i].overlaps, 0);
    }
    gantry__bfc_stats_t stats = stats_of(&f);
    assert_int_equal(stats.bytes_in_use, 0);
    assert_int_equal(stats.pending_bytes, 0);
    assert_int_equal(stats.pool_bytes, f.driver.held);
    assert_true(stats.peak_pool_bytes <= 20 * MIB);
    close_all(&f);
}

int main(void) { return test_main(); }
