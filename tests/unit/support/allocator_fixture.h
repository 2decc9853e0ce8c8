/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator over a driver that only counts, for unit tests of the allocator and its ladder.
 * Header only. */
#ifndef TESTS_ALLOCATOR_FIXTURE_H
#define TESTS_ALLOCATOR_FIXTURE_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/failure.h"
#include "locked_heap.h"
#include "memory/allocator.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define MOST_TAKES 64

/* A driver with a given number of bytes; it keeps its requests in order. */
typedef struct driver_t {
    pthread_mutex_t lock;
    uint64_t capacity, held;
    uint64_t largest;       /* refuses a larger piece; 0: no bound */
    gantry_status_t broken; /* not OK: refuses every request with this status */
    uint64_t next_handle;
    int regions, takes, gives, waits;
    uint64_t asked[MOST_TAKES];
    gantry__allocator_t *must_be_unlocked; /* this lock must be free during a driver call */
    int found_locked;
    /* freed while the first region is returned, as another thread would do */
    gantry__bfc_chunk_t *to_free;
    /* of its region, whose work no wait has covered since; 0: none */
    uint64_t freed_handle;
    int given_too_early;
    uint64_t idle_bytes; /* charged, and returned on request */
    int releases;
    /* chunks that nobody uses, freed on request */
    gantry__bfc_chunk_t *kept[4];
    int kept_count;
    atomic_int kept_asked;
} driver_t;

static inline void check_unlocked(driver_t *driver) {
    if (!driver->must_be_unlocked) return;
    if (gantry__mutex_try_lock(&driver->must_be_unlocked->lock))
        gantry__mutex_unlock(&driver->must_be_unlocked->lock);
    else
        ++driver->found_locked;
}

static inline gantry_status_t take(void *user, uint64_t size_bytes, uint64_t *out_handle) {
    driver_t *driver = user;
    gantry_status_t status = GANTRY_OK;
    check_unlocked(driver);
    (void)pthread_mutex_lock(&driver->lock);
    if (driver->takes < MOST_TAKES) driver->asked[driver->takes] = size_bytes;
    ++driver->takes;
    if (driver->broken != GANTRY_OK) {
        status = gantry__fail(driver->broken, "the driver is broken");
    } else if (size_bytes > driver->capacity - driver->held ||
               (driver->largest && size_bytes > driver->largest)) {
        status = gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "the driver has no more");
    } else {
        driver->held += size_bytes;
        ++driver->regions;
        *out_handle = ++driver->next_handle;
    }
    (void)pthread_mutex_unlock(&driver->lock);
    return status;
}

static inline void give_back(void *user, uint64_t handle, uint64_t size_bytes) {
    driver_t *driver = user;
    check_unlocked(driver);
    (void)pthread_mutex_lock(&driver->lock);
    if (driver->to_free) {
        driver->freed_handle = driver->to_free->region->handle;
        gantry__allocator_free(driver->must_be_unlocked, driver->to_free);
        driver->to_free = NULL;
    }
    driver->given_too_early += driver->freed_handle == handle;
    driver->held -= size_bytes;
    --driver->regions;
    ++driver->gives;
    (void)pthread_mutex_unlock(&driver->lock);
}

static inline void wait_for_work(void *user) {
    driver_t *driver = user;
    check_unlocked(driver);
    (void)pthread_mutex_lock(&driver->lock);
    ++driver->waits;
    driver->freed_handle = 0;
    (void)pthread_mutex_unlock(&driver->lock);
}

static inline uint64_t release_idle(void *user) {
    driver_t *driver = user;
    check_unlocked(driver);
    (void)pthread_mutex_lock(&driver->lock);
    uint64_t bytes = driver->idle_bytes;
    driver->idle_bytes = 0;
    ++driver->releases;
    (void)pthread_mutex_unlock(&driver->lock);
    if (bytes > 0) gantry__allocator_discharge(driver->must_be_unlocked, bytes);
    return bytes;
}

static inline uint64_t take_kept(void *user) {
    driver_t *driver = user;
    uint64_t bytes = 0;
    check_unlocked(driver);
    ++driver->kept_asked;
    while (driver->kept_count > 0) {
        gantry__bfc_chunk_t *chunk = driver->kept[--driver->kept_count];
        bytes += chunk->bytes;
        gantry__allocator_free(driver->must_be_unlocked, chunk);
    }
    return bytes;
}

typedef struct fixture_t {
    locked_heap_t heap;
    driver_t driver;
    gantry__allocator_t allocator;
} fixture_t;

static inline void open_with(fixture_t *f, gantry__allocator_options_t options) {
    memset(f, 0, sizeof *f);
    locked_heap_init(&f->heap, -1);
    (void)pthread_mutex_init(&f->driver.lock, NULL);
    f->driver.capacity = UINT64_MAX;
    gantry__region_source_t source = {.user = &f->driver,
                                      .take = take,
                                      .give_back = give_back,
                                      .wait = wait_for_work,
                                      .release_idle = release_idle,
                                      .take_kept = take_kept};
    assert_int_equal(
        gantry__allocator_init(&f->allocator, &f->heap.heap, &options, &source, "GPU_0_bfc"),
        GANTRY_OK);
    f->driver.must_be_unlocked = &f->allocator;
}

static inline void open_all(fixture_t *f, gantry__bfc_options_t bfc) {
    open_with(f, (gantry__allocator_options_t){
                     .bfc = bfc, .garbage_collection = true, .retry_ms = 10000});
}

static inline void close_all(fixture_t *f) {
    f->heap.inner.fail_at = -1;
    f->driver.must_be_unlocked = NULL;
    assert_int_equal(f->driver.found_locked, 0);
    gantry__allocator_deinit(&f->allocator);
    assert_int_equal(f->driver.regions, 0);
    assert_int_equal(f->driver.held, 0);
    assert_int_equal(f->heap.inner.live_blocks, 0);
    assert_false(f->heap.inner.wrong_size);
    (void)pthread_mutex_destroy(&f->driver.lock);
    locked_heap_deinit(&f->heap);
}

static inline gantry_status_t allocate(fixture_t *f, uint64_t bytes,
                                       gantry__bfc_chunk_t **out_chunk) {
    const gantry__allocation_t request = {.bytes = bytes, .owner = "Test"};
    return gantry__allocator_allocate(&f->allocator, &request, out_chunk);
}

static inline gantry__bfc_chunk_t *get(fixture_t *f, uint64_t bytes) {
    gantry__bfc_chunk_t *chunk;
    gantry_status_t status = allocate(f, bytes, &chunk);
    if (status != GANTRY_OK) fail_msg("%s", gantry__message());
    assert_non_null(chunk);
    assert_true(chunk->bytes >= bytes);
    return chunk;
}

static inline void put(fixture_t *f, gantry__bfc_chunk_t *chunk) {
    gantry__allocator_free(&f->allocator, chunk);
}

static inline void expect_refusal(fixture_t *f, uint64_t bytes, const char *tried) {
    gantry__bfc_chunk_t *chunk;
    assert_int_equal(allocate(f, bytes, &chunk), GANTRY_RESOURCE_EXHAUSTED);
    assert_null(chunk);
    if (!strstr(gantry__message(), tried)) fail_msg("message: %s", gantry__message());
}

static inline gantry__bfc_stats_t stats_of(fixture_t *f) {
    gantry__bfc_stats_t stats;
    gantry__allocator_stats(&f->allocator, &stats);
    return stats;
}

#endif
