/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of the BFC's tests: a pool with a driver that only counts, a host heap that can
 * fail, and a check of all invariants. Each test program that includes it has its own copy. */
#ifndef GANTRY_TESTS_UNIT_BFC_POOL_H
#define GANTRY_TESTS_UNIT_BFC_POOL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/failure.h"
#include "memory/bfc.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* A heap that counts, and refuses the call with number fail_at (from 1; 0: none). */
typedef struct counting_heap_t {
    uint64_t calls;
    uint64_t fail_at;
    size_t live_bytes;
} counting_heap_t;

typedef struct pool_t {
    gantry__bfc_t bfc;
    gantry__heap_t host;
    counting_heap_t heap;
    uint64_t driver_limit; /* the driver's total */
    uint64_t driver_bytes;
    uint64_t driver_regions;
    uint64_t random;
} pool_t;

static inline void *counting_reallocate(void *user, void *ptr, size_t old_bytes, size_t new_bytes) {
    counting_heap_t *heap = user;
    if (new_bytes != 0 && ++heap->calls == heap->fail_at) return NULL;
    void *moved = gantry__heap_default.reallocate(NULL, ptr, old_bytes, new_bytes);
    if (moved || new_bytes == 0) heap->live_bytes += new_bytes - old_bytes;
    return moved;
}

static inline void open_pool(pool_t *pool, gantry__bfc_options_t options) {
    *pool = (pool_t){.driver_limit = UINT64_MAX, .random = 88172645463325252u};
    pool->host = (gantry__heap_t){counting_reallocate, &pool->heap};
    assert_int_equal(gantry__bfc_init(&pool->bfc, &pool->host, &options), GANTRY_OK);
    assert_int_equal(pool->heap.calls, 0);
}

static inline void close_pool(pool_t *pool) {
    gantry__bfc_deinit(&pool->bfc);
    assert_int_equal(pool->heap.live_bytes, 0);
}

/* xorshift64 */
static inline uint64_t draw(pool_t *pool) {
    pool->random ^= pool->random << 13;
    pool->random ^= pool->random >> 7;
    pool->random ^= pool->random << 17;
    return pool->random >> 11;
}

/* The caller's loop of bfc.h. *out_region is NULL with OK if growth is forbidden or the driver
 * refused. */
static inline gantry_status_t try_extend(pool_t *pool, uint64_t bytes,
                                         gantry__bfc_region_t **out_region) {
    gantry__bfc_region_t *region;
    *out_region = NULL;
    GANTRY__TRY(gantry__bfc_begin_region(&pool->bfc, bytes, &region));
    if (!region) return GANTRY_OK;
    while (region->bytes > pool->driver_limit ||
           pool->driver_bytes > pool->driver_limit - region->bytes) {
        if (!gantry__bfc_shrink_region(&pool->bfc, region)) {
            gantry__bfc_end_region(&pool->bfc, region);
            return GANTRY_OK;
        }
    }
    pool->driver_bytes += region->bytes;
    gantry__bfc_attach_region(&pool->bfc, region, ++pool->driver_regions * 1000);
    *out_region = region;
    return GANTRY_OK;
}

static inline bool extend(pool_t *pool, uint64_t bytes) {
    gantry__bfc_region_t *region;
    assert_int_equal(try_extend(pool, bytes, &region), GANTRY_OK);
    return region != NULL;
}

static inline gantry_status_t try_get(pool_t *pool, uint64_t bytes,
                                      gantry__bfc_chunk_t **out_chunk) {
    gantry__bfc_region_t *region;
    GANTRY__TRY(gantry__bfc_allocate(&pool->bfc, bytes, out_chunk));
    if (*out_chunk) return GANTRY_OK;
    GANTRY__TRY(try_extend(pool, bytes, &region));
    return region ? gantry__bfc_allocate(&pool->bfc, bytes, out_chunk) : GANTRY_OK;
}

static inline gantry__bfc_chunk_t *get(pool_t *pool, uint64_t bytes) {
    gantry__bfc_chunk_t *chunk;
    assert_int_equal(try_get(pool, bytes, &chunk), GANTRY_OK);
    return chunk;
}

static inline gantry__bfc_chunk_t *must_get(pool_t *pool, uint64_t bytes) {
    gantry__bfc_chunk_t *chunk = get(pool, bytes);
    assert_non_null(chunk);
    assert_true(chunk->in_use);
    assert_true(chunk->bytes >= bytes);
    return chunk;
}

/* Returns all empty regions if a request of this size could then extend. */
static inline bool collect(pool_t *pool, uint64_t bytes) {
    gantry__bfc_t *bfc = &pool->bfc;
    uint64_t most = gantry__bfc_available_bytes(bfc) + gantry__bfc_empty_region_bytes(bfc);
    if (gantry__bfc_round(bfc, bytes) > most) return false;
    gantry__bfc_region_t *region;
    while ((region = gantry__bfc_next_empty_region(bfc, NULL)) != NULL) {
        assert_true(gantry__bfc_detach_region(bfc, region));
        assert_true(region->handle % 1000 == 0 && region->handle > 0);
        pool->driver_bytes -= region->bytes;
        pool->driver_regions--;
        gantry__bfc_end_region(bfc, region);
    }
    return true;
}

static inline void expect_stats(const pool_t *pool, uint64_t allocs, uint64_t in_use, uint64_t peak,
                                uint64_t largest) {
    gantry__bfc_stats_t stats;
    gantry__bfc_get_stats(&pool->bfc, &stats);
    assert_int_equal(stats.num_allocs, allocs);
    assert_int_equal(stats.bytes_in_use, in_use);
    assert_int_equal(stats.peak_bytes_in_use, peak);
    assert_int_equal(stats.largest_alloc_bytes, largest);
    assert_int_equal(stats.pool_bytes, pool->driver_bytes);
    assert_int_equal(stats.bytes_limit, pool->bfc.options.limit_bytes);
}

static inline void check_tree(const gantry__bfc_chunk_t *chunk, unsigned bin_class,
                              const gantry__bfc_chunk_t **last, uint64_t *count) {
    assert_false(chunk->in_use);
    assert_int_equal(chunk->bin_class, bin_class);
    assert_int_equal(gantry__bfc_bins_class(chunk->bytes), bin_class);
    assert_true(!chunk->up || chunk->up->priority >= chunk->priority);
    if (chunk->left) {
        assert_ptr_equal(chunk->left->up, chunk);
        check_tree(chunk->left, bin_class, last, count);
    }
    assert_true(!*last || (*last)->bytes < chunk->bytes ||
                ((*last)->bytes == chunk->bytes && (*last)->order < chunk->order));
    *last = chunk;
    ++*count;
    if (chunk->right) {
        assert_ptr_equal(chunk->right->up, chunk);
        check_tree(chunk->right, bin_class, last, count);
    }
}

/* The number of chunks in the index. Checks that masks agree with trees, and that trees are in
 * order. */
static inline uint64_t check_bins(const gantry__bfc_bins_t *bins) {
    const gantry__bfc_chunk_t *last = NULL; /* sizes rise from class to class */
    uint64_t count = 0;
    for (unsigned i = 0; i < GANTRY__BFC_ROWS * GANTRY__BFC_CLASSES; ++i) {
        unsigned row = i / GANTRY__BFC_CLASSES;
        assert_int_equal(bins->classes[row] >> i % GANTRY__BFC_CLASSES & 1, bins->roots[i] != NULL);
        assert_int_equal(bins->rows >> row & 1, bins->classes[row] != 0);
        if (!bins->roots[i]) continue;
        assert_null(bins->roots[i]->up);
        check_tree(bins->roots[i], i, &last, &count);
    }
    assert_int_equal(gantry__bfc_bins_largest(bins), last ? last->bytes : 0);
    return count;
}

/* Checks that the chunks of one region tile it; adds the used bytes, and returns the number of free
 * chunks. */
static inline uint64_t check_region(const gantry__bfc_region_t *region, uint64_t alignment,
                                    gantry__bfc_stats_t *sum) {
    uint64_t end = 0, free_chunks = 0;
    const gantry__bfc_chunk_t *previous = NULL;
    for (const gantry__bfc_chunk_t *chunk = &region->first; chunk; chunk = chunk->next) {
        assert_ptr_equal(chunk->region, region);
        assert_ptr_equal(chunk->previous, previous);
        assert_int_equal(chunk->offset, end);
        assert_int_equal(chunk->order, region->base + chunk->offset);
        assert_true(chunk->bytes > 0 && chunk->bytes % alignment == 0);
        assert_false(previous && !previous->in_use && !chunk->in_use);
        if (chunk->in_use) {
            assert_true(chunk->requested_bytes <= chunk->bytes);
            sum->bytes_in_use += chunk->bytes;
            sum->requested_bytes_in_use += chunk->requested_bytes;
        } else {
            assert_int_equal(chunk->requested_bytes, 0);
            free_chunks++;
        }
        end += chunk->bytes;
        previous = chunk;
    }
    assert_int_equal(end, region->bytes);
    sum->pool_bytes += region->bytes;
    return free_chunks;
}

/* Checks every invariant of bfc.c. */
static inline void check_pool(const gantry__bfc_t *bfc) {
    gantry__bfc_stats_t sum = {0};
    uint64_t free_chunks = 0;
    const gantry__bfc_region_t *previous = NULL;
    for (const gantry__bfc_region_t *region = gantry__bfc_first_region(bfc); region;
         region = region->next) {
        assert_true(region->attached);
        assert_ptr_equal(region->previous, previous);
        assert_true(!previous ||
                    (previous->number < region->number && previous->base < region->base));
        free_chunks += check_region(region, bfc->options.alignment, &sum);
        previous = region;
    }
    assert_int_equal(check_bins(&bfc->bins), free_chunks);
    gantry__bfc_stats_t stats;
    gantry__bfc_get_stats(bfc, &stats);
    assert_int_equal(stats.bytes_in_use, sum.bytes_in_use);
    assert_int_equal(stats.requested_bytes_in_use, sum.requested_bytes_in_use);
    assert_int_equal(stats.pool_bytes, sum.pool_bytes);
    assert_true(stats.bytes_in_use <= stats.peak_bytes_in_use &&
                stats.pool_bytes <= stats.peak_pool_bytes);
    assert_true(stats.pool_bytes + stats.pending_bytes + stats.charged_bytes +
                    stats.reserved_bytes <=
                stats.bytes_limit);
}

#endif
