/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Whichever allocation of the BFC allocator's own host memory fails, nothing changes, and
 * freed host memory is used again. */
#include "bfc_pool.h"
#include "test.h"

#include <string.h>

/* Needs several slabs and regions, and frees all that it got. Returns how many host allocations
 * failed. */
static int work_with_failures(pool_t *pool) {
    int failures = 0;
    gantry__bfc_chunk_t *chunks[300] = {NULL};
    for (int i = 0; i < 900; ++i) {
        gantry__bfc_chunk_t **slot = &chunks[draw(pool) % 300];
        if (*slot) {
            gantry__bfc_free(&pool->bfc, *slot);
            *slot = NULL;
            continue;
        }
        gantry_status_t status = try_get(pool, 1 + draw(pool) % 40000, slot);
        if (status != GANTRY_OK) {
            assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
            assert_non_null(strstr(gantry__message(), "host memory"));
            assert_null(*slot);
            check_pool(&pool->bfc);
            failures++;
        }
    }
    check_pool(&pool->bfc);
    for (int i = 0; i < 300; ++i) {
        if (chunks[i]) gantry__bfc_free(&pool->bfc, chunks[i]);
    }
    check_pool(&pool->bfc);
    return failures;
}

TEST(host_memory_failing_once_anywhere_changes_nothing) {
    for (uint64_t nth = 1;; ++nth) {
        pool_t pool;
        open_pool(&pool, (gantry__bfc_options_t){
                             .limit_bytes = GIB, .initial_region_bytes = 65536, .growth = true});
        pool.heap.fail_at = nth;
        int failures = work_with_failures(&pool);
        uint64_t calls = pool.heap.calls;
        close_pool(&pool); /* checks for leaks */
        if (failures == 0) {
            /* several allocations of regions and slabs were refused once */
            assert_true(nth > 8 && calls < nth);
            break;
        }
        assert_int_equal(failures, 1);
    }
}

TEST(chunks_and_regions_reuse_host_memory) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){
                         .limit_bytes = GIB, .initial_region_bytes = 65536, .growth = true});
    assert_int_equal(work_with_failures(&pool), 0);
    uint64_t calls = pool.heap.calls;
    for (int i = 0; i < 20; ++i) assert_int_equal(work_with_failures(&pool), 0);
    assert_true(pool.heap.calls < calls + 5);
    close_pool(&pool);
}

int main(void) { return test_main(); }
