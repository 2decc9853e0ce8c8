/* gantry_bench_internal: the allocator's hit, an allocate and a free that the pool serves. No public call does
 * only this, so the program is linked with the library's own objects, as unit tests are.
 *
 *   gantry_bench_internal [calls] */
#define _POSIX_C_SOURCE 200809L
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/heap.h"
#include "memory/allocator.h"

#define BLOCKS 1000
#define MOST_NS 200.0
#define LIVE 512 /* chunks in use around the one that is measured */

static gantry_status_t take(void *user, uint64_t size_bytes, uint64_t *out_handle) {
    (void)size_bytes;
    *out_handle = ++*(uint64_t *)user;
    return GANTRY_OK;
}

static void give_back(void *user, uint64_t handle, uint64_t size_bytes) {
    (void)user;
    (void)handle;
    (void)size_bytes;
}

static void no_wait(void *user) { (void)user; }

static double now_ns(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static gantry__bfc_chunk_t *allocate(gantry__allocator_t *allocator, uint64_t bytes) {
    gantry__bfc_chunk_t *chunk = NULL;
    const gantry__allocation_t request = {.bytes = bytes, .owner = "Bench"};
    return gantry__allocator_allocate(allocator, &request, &chunk) == GANTRY_OK ? chunk : NULL;
}

/* Every other one of LIVE mixed chunks is freed, so that the books have free chunks of many sizes to choose from. */
static bool fill_pool(gantry__allocator_t *allocator, gantry__bfc_chunk_t **chunks) {
    for (size_t i = 0; i < LIVE; ++i) {
        chunks[i] = allocate(allocator, 256 + i * 7919 % 65536);
        if (!chunks[i]) return false;
    }
    for (size_t i = 0; i < LIVE; i += 2) gantry__allocator_free(allocator, chunks[i]);
    return true;
}

/* Nanoseconds of one allocate and free: the middle and the least of BLOCKS blocks of calls. */
static bool measure(gantry__allocator_t *allocator, uint64_t bytes, size_t calls) {
    static double blocks[BLOCKS];
    size_t each = calls / BLOCKS ? calls / BLOCKS : 1;
    for (size_t block = 0; block < BLOCKS; ++block) {
        double start = now_ns();
        for (size_t i = 0; i < each; ++i) {
            gantry__bfc_chunk_t *chunk = allocate(allocator, bytes);
            if (!chunk) return false;
            gantry__allocator_free(allocator, chunk);
        }
        blocks[block] = (now_ns() - start) / (double)each;
    }
    qsort(blocks, BLOCKS, sizeof blocks[0], compare);
    (void)printf("%-12s %-32s %8llu B %8.1f ns %8.1f ns  <= %.0f ns: %s\n", "allocation", "allocate and free, hit",
                 (unsigned long long)bytes, blocks[BLOCKS / 2], blocks[0], MOST_NS,
                 blocks[BLOCKS / 2] <= MOST_NS ? "reached" : "MISSED");
    return true;
}

int main(int argc, char **argv) {
    size_t calls = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 1000000;
    uint64_t handles = 0;
    gantry__allocator_options_t options = {.bfc = {.limit_bytes = UINT64_C(4) << 30, .growth = true}};
    gantry__region_source_t source = {.user = &handles, .take = take, .give_back = give_back, .wait = no_wait};
    gantry__allocator_t allocator;
    if (gantry__allocator_init(&allocator, &gantry__heap_default, &options, &source, "bench_bfc") != GANTRY_OK)
        return 1;
    static gantry__bfc_chunk_t *chunks[LIVE];
    bool ok = fill_pool(&allocator, chunks);
    const uint64_t sizes[] = {16, 4096, UINT64_C(1) << 20, UINT64_C(64) << 20};
    (void)printf("%-12s %-32s %10s %11s %11s\n", "case", "work", "size", "median", "best");
    for (size_t i = 0; ok && i < sizeof sizes / sizeof sizes[0]; ++i) ok = measure(&allocator, sizes[i], calls);
    for (size_t i = 1; ok && i < LIVE; i += 2) gantry__allocator_free(&allocator, chunks[i]);
    gantry__allocator_deinit(&allocator);
    return ok ? 0 : 1;
}
