/* SPDX-License-Identifier: Apache-2.0 */
#include "counting_source.h"

static gantry_status_t take(void *user, uint64_t size_bytes, uint64_t *out_handle) {
    (void)size_bytes;
    *out_handle = atomic_fetch_add(&((counting_source_t *)user)->regions, 1) + 1;
    return GANTRY_OK;
}

static void give_back(void *user, uint64_t handle, uint64_t size_bytes) {
    (void)user;
    (void)handle;
    (void)size_bytes;
}

static void count_wait(void *user) { atomic_fetch_add(&((counting_source_t *)user)->waits, 1); }

gantry_status_t counted_allocator_init(counted_allocator_t *counted, uint64_t limit_bytes,
                                       uint64_t split_bytes) {
    atomic_init(&counted->source.regions, 0);
    atomic_init(&counted->source.waits, 0);
    const gantry__allocator_options_t options = {
        .bfc = {.limit_bytes = limit_bytes, .split_bytes = split_bytes, .growth = true},
        .garbage_collection = true};
    const gantry__region_source_t source = {
        .user = &counted->source, .take = take, .give_back = give_back, .wait = count_wait};
    return gantry__allocator_init(&counted->allocator, &gantry__heap_default, &options, &source,
                                  "bench_bfc");
}

void counted_allocator_deinit(counted_allocator_t *counted) {
    gantry__allocator_deinit(&counted->allocator);
}

gantry__bfc_chunk_t *counted_allocate(counted_allocator_t *counted, uint64_t bytes) {
    gantry__bfc_chunk_t *chunk = NULL;
    const gantry__allocation_t request = {.bytes = bytes, .owner = "Bench"};
    return gantry__allocator_allocate(&counted->allocator, &request, &chunk) == GANTRY_OK ? chunk
                                                                                          : NULL;
}

void counted_free(counted_allocator_t *counted, gantry__bfc_chunk_t *chunk) {
    gantry__allocator_free(&counted->allocator, chunk);
}
