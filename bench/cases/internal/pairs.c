/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of allocate and free that the pool serves, among 512 chunks of mixed sizes, half of them
 * free. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>

#include "internal.h"
#include "counting_source.h"

#define LIVE 512
#define LIMIT_BYTES (UINT64_C(4) << 30)
#define MOST_THREADS 4
#define ONE_THREAD_CALLS 200000
#define THREADS_CALLS 400000
#define MOST_NS 100.0
#define LEAST_PAIRS 2.0 /* million pairs a second, of two threads together */

typedef struct pool_t {
    counted_allocator_t counted;
    gantry__bfc_chunk_t *chunks[LIVE];
} pool_t;

/* Frees every other chunk, so that the pool has free chunks of many sizes. */
static bool open_pool(pool_t *pool) {
    if (counted_allocator_init(&pool->counted, LIMIT_BYTES, 0) != GANTRY_OK) return false;
    for (size_t i = 0; i < LIVE; ++i) {
        pool->chunks[i] = counted_allocate(&pool->counted, 256 + i * 7919 % 65536);
        if (!pool->chunks[i]) return false;
    }
    for (size_t i = 0; i < LIVE; i += 2) counted_free(&pool->counted, pool->chunks[i]);
    return true;
}

static void close_pool(pool_t *pool) {
    for (size_t i = 1; i < LIVE; i += 2) counted_free(&pool->counted, pool->chunks[i]);
    counted_allocator_deinit(&pool->counted);
}

/* ---- one thread ---- */

typedef struct pairs_t {
    pool_t *pool;
    uint64_t bytes;
    int threads;
} pairs_t;

static bool run_pairs(counted_allocator_t *counted, uint64_t bytes, int calls) {
    for (int i = 0; i < calls; ++i) {
        gantry__bfc_chunk_t *chunk = counted_allocate(counted, bytes);
        if (!chunk) return false;
        counted_free(counted, chunk);
    }
    return true;
}

static bool run_one(void *subject, int calls) {
    const pairs_t *pairs = subject;
    return run_pairs(&pairs->pool->counted, pairs->bytes, calls);
}

static void measure_sizes(bench_report_t *report, pool_t *pool, int rounds) {
    static const struct {
        uint64_t bytes;
        const char *text;
    } sizes[] = {{16, "16 B"},
                 {4096, "4 KiB"},
                 {UINT64_C(1) << 20, "1 MiB"},
                 {UINT64_C(64) << 20, "64 MiB"}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        pairs_t pairs = {.pool = pool, .bytes = sizes[i].bytes};
        char work[48];
        (void)snprintf(work, sizeof work, "allocate and free, hit, %s", sizes[i].text);
        bench_contender_t contender = {.name = "1 thread", .run = run_one, .subject = &pairs};
        bench_interleave(&contender, 1, rounds, ONE_THREAD_CALLS);
        const bench_measure_t measure = {.subject = "allocation",
                                         .work = work,
                                         .unit = "ns",
                                         .per_second = 1e9,
                                         .most = MOST_NS};
        bench_report_contenders(report, &measure, &contender, 1, 1);
    }
}

/* ---- several threads on one allocator ---- */

typedef struct worker_t {
    pthread_t thread;
    counted_allocator_t *counted;
    uint64_t bytes;
    int calls;
    bool ok;
} worker_t;

static void *work(void *argument) {
    worker_t *worker = argument;
    worker->ok = run_pairs(worker->counted, worker->bytes, worker->calls);
    return NULL;
}

/* Shares `calls` pairs out to the threads; the time includes starting them. */
static bool run_threads(void *subject, int calls) {
    static const uint64_t bytes[MOST_THREADS] = {16, 4096, 20000, UINT64_C(1) << 20};
    const pairs_t *pairs = subject;
    worker_t workers[MOST_THREADS];
    int started = 0;
    for (; started < pairs->threads; ++started) {
        worker_t *worker = &workers[started];
        *worker = (worker_t){.counted = &pairs->pool->counted,
                             .bytes = bytes[started],
                             .calls = calls / pairs->threads + 1};
        if (pthread_create(&worker->thread, NULL, work, worker) != 0) break;
    }
    bool ok = started == pairs->threads;
    for (int i = 0; i < started; ++i) {
        (void)pthread_join(workers[i].thread, NULL);
        ok &= workers[i].ok;
    }
    return ok;
}

static void add_rate(bench_report_t *report, const bench_contender_t *contender, bool has_target) {
    if (contender->failed) return;
    bench_row_t row = {.subject = "allocation",
                       .work = "allocate and free, hit, one allocator",
                       .unit = "M pairs/s",
                       .reached = -1};
    (void)snprintf(row.on, sizeof row.on, "%s", contender->name);
    row.median = 1e-6 / bench_median_seconds(contender);
    row.best = 1e-6 / bench_best_seconds(contender);
    if (has_target) {
        (void)snprintf(row.target, sizeof row.target, ">= %g", LEAST_PAIRS);
        row.reached = row.median >= LEAST_PAIRS;
    }
    bench_report_add(report, &row);
}

static void measure_threads(bench_report_t *report, pool_t *pool, int rounds) {
    pairs_t one = {.pool = pool, .threads = 1}, two = {.pool = pool, .threads = 2},
            four = {.pool = pool, .threads = 4};
    bench_contender_t contenders[] = {
        {.name = "1 thread", .run = run_threads, .subject = &one},
        {.name = "2 threads", .run = run_threads, .subject = &two},
        {.name = "4 threads", .run = run_threads, .subject = &four},
    };
    bench_interleave(contenders, 3, rounds, THREADS_CALLS);
    for (int i = 0; i < 3; ++i) add_rate(report, &contenders[i], i == 1);
}

void bench_pairs(bench_report_t *report, int rounds) {
    static pool_t pool;
    if (!open_pool(&pool)) {
        (void)fprintf(stderr, "allocation: the pool could not be filled\n");
        return;
    }
    measure_sizes(report, &pool, rounds);
    measure_threads(report, &pool, rounds);
    close_pool(&pool);
}
