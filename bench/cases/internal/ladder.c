/* SPDX-License-Identifier: Apache-2.0 */
/* The time that the ladder takes to refuse: 10,000 chunks are in use under 400 names, no work is in
 * flight, and nothing can be freed. It includes making the report of the refusal. */
#include <stdio.h>

#include "internal.h"
#include "counting_source.h"

#define CHUNKS 10000
#define CHUNK_BYTES (UINT64_C(64) << 10)
#define CALLS 200
#define OWNERS 20 /* each with as many tags */
#define MOST_US 1000.0

typedef struct full_pool_t {
    counted_allocator_t counted;
    gantry__bfc_chunk_t *chunks[CHUNKS * 2];
    size_t count;
    char owners[OWNERS][16], tags[OWNERS][16];
} full_pool_t;

static gantry__bfc_chunk_t *allocate_named(full_pool_t *pool, size_t number) {
    gantry__bfc_chunk_t *chunk = NULL;
    const gantry__allocation_t request = {.bytes = CHUNK_BYTES,
                                          .owner = pool->owners[number % OWNERS],
                                          .tag = pool->tags[number / OWNERS % OWNERS]};
    return gantry__allocator_allocate(&pool->counted.allocator, &request, &chunk) == GANTRY_OK
               ? chunk
               : NULL;
}

/* Allocates CHUNKS chunks; with_holes, as many free ones are between them. They fill the limit. */
static bool fill(full_pool_t *pool, bool with_holes) {
    pool->count = with_holes ? CHUNKS * 2 : CHUNKS;
    if (counted_allocator_init(&pool->counted, CHUNK_BYTES * pool->count, 0) != GANTRY_OK)
        return false;
    for (int i = 0; i < OWNERS; ++i) {
        (void)snprintf(pool->owners[i], sizeof pool->owners[i], "Op%d", i);
        (void)snprintf(pool->tags[i], sizeof pool->tags[i], "layer %d", i);
    }
    for (size_t i = 0; i < pool->count; ++i) {
        /* i / 2, so that the names are the same with and without holes */
        pool->chunks[i] = allocate_named(pool, i / 2);
        if (!pool->chunks[i]) return false;
    }
    for (size_t i = 0; with_holes && i < pool->count; i += 2) {
        counted_free(&pool->counted, pool->chunks[i]);
        pool->chunks[i] = NULL;
    }
    return true;
}

static void empty(full_pool_t *pool) {
    for (size_t i = 0; i < pool->count; ++i) {
        if (pool->chunks[i]) counted_free(&pool->counted, pool->chunks[i]);
    }
    counted_allocator_deinit(&pool->counted);
}

static bool ask(void *subject, int calls) {
    full_pool_t *pool = subject;
    for (int i = 0; i < calls; ++i) {
        /* this must be refused */
        if (counted_allocate(&pool->counted, CHUNK_BYTES * 2)) return false;
    }
    return true;
}

static void measure(bench_report_t *report, full_pool_t *pool, const char *work, int rounds) {
    bench_contender_t contender = {.name = "1 thread", .run = ask, .subject = pool};
    bench_interleave(&contender, 1, rounds, CALLS);
    const bench_measure_t measure = {
        .subject = "ladder", .work = work, .unit = "us", .per_second = 1e6, .most = MOST_US};
    bench_report_contenders(report, &measure, &contender, 1, 1);
}

void bench_ladder(bench_report_t *report, int rounds) {
    static full_pool_t pool;
    for (int with_holes = 0; with_holes < 2; ++with_holes) {
        if (!fill(&pool, with_holes)) {
            (void)fprintf(stderr, "ladder: the pool could not be filled\n");
            return;
        }
        measure(
            report, &pool,
            with_holes ? "refusal, 10000 chunks, 10000 holes" : "refusal, 10000 chunks, no hole",
            rounds);
        empty(&pool);
    }
}
