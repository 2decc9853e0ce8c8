/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of our own, since the caller of a loop must not wait for a thread that has not begun:
 * where more programs run than there are cores, a thread that was woken comes milliseconds later,
 * when the caller has long done the work itself.
 *
 * A loop is cut into tiles, and the tiles into as many runs of neighbours as there are threads. The
 * caller takes the tiles of the first run, each worker that comes those of another; who has
 * finished helps with the next run:
 *
 *     run 0            run 1            run 2
 *     |t|t|t|t|        |t|t|t|t|        |t|t|t|t|
 *      caller ->        worker 1 ->      worker 2 ->
 *
 * next[run] is a run's first tile that is not yet taken.
 *
 * `gate` is the one word that workers come and go through: number of the loop | OPEN | workers
 * inside. A worker enters an open gate by adding itself; the caller shuts the gate when no tile is
 * left and then waits only for who is inside, each of whom has a tile in hand. So the loop may live
 * on the caller's stack: behind a shut gate nobody looks at it.
 *
 * Workers look at the gate for some microseconds after a loop, then sleep. One caller at a time has
 * the workers. Whoever finds them taken (another thread, or a loop within a loop) does its work
 * itself: it has the data at hand and would otherwise wait for exactly the cores it runs on. */
#define _GNU_SOURCE
#include "cpu/cpu_pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cpu/cpu_fail.h"
#include "kernels/common/kernel_types.h"

/* Tiles per thread: enough that one slow core does not hold up the rest, few enough that a tile
 * is long. */
#define TILES_PER_THREAD 4
#define MOST_THREADS 1024
/* to wake a thread costs its caller up to tens of microseconds, in virtual machines above all */
#define WORTH_WAKING_NS 100000
#define FEW_UNITS 16 /* grains of 1 and not more of them: long ones, as stripes of a product */
/* of a worker: items keep some 50 KB there; what a library keeps is its own affair */
#define STACK_BYTES (2 << 20)
/* of a worker at the gate, and of a caller at who is inside: some 40 microseconds */
#define LOOKS_BEFORE_SLEEP 4000

#define OPEN (UINT64_C(1) << 16)
#define LOOP (OPEN << 1)
#define INSIDE (OPEN - 1)

typedef struct loop_t {
    gantry__cpu_range_fn fn;
    void *context;
    int64_t first, count, tile, tiles; /* [first, count) is cut into tiles */
} loop_t;

/* Apart, so that no two are on one line of the caches: threads write them all the time. */
typedef struct run_t {
    atomic_int_fast64_t next;
    int64_t end;
    char apart[48];
} run_t;

typedef struct worker_t {
    struct gantry__cpu_pool_t *pool;
    pthread_t thread;
    uint32_t run; /* its own */
} worker_t;

struct gantry__cpu_pool_t {
    const gantry_host_t *host;
    uint32_t limit;
    uint32_t worker_count; /* started */
    atomic_int busy;       /* a caller has the workers */
    int is_started;        /* by a caller that has them */
    loop_t loop;
    run_t *runs;
    worker_t *workers;
    pthread_mutex_t lock; /* for sleeping */
    pthread_cond_t work, idle;
    atomic_int sleepers; /* workers */
    atomic_int waits;    /* the caller sleeps till nobody is inside */
    atomic_int is_ending;
    char description[64]; /* keeps the gate apart, too */
    atomic_uint_fast64_t gate;
};

static inline void rest_a_little(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* ---- tiles ---- */

static void run_tile(const loop_t *loop, int64_t tile) {
    const int64_t begin = loop->first + tile * loop->tile, end = begin + loop->tile;

    loop->fn(loop->context, begin, end < loop->count ? end : loop->count);
}

/* From the run `own` on, round to the one before it. */
static void take_tiles(gantry__cpu_pool_t *pool, uint32_t own) {
    for (uint32_t i = 0; i <= pool->worker_count; ++i) {
        run_t *run = &pool->runs[(own + i) % (pool->worker_count + 1)];

        for (int64_t tile;
             (tile = atomic_fetch_add_explicit(&run->next, 1, memory_order_relaxed)) < run->end;) {
            run_tile(&pool->loop, tile);
        }
    }
}

/* ---- workers ---- */

static int is_new(uint64_t gate, uint64_t done) {
    return (gate & OPEN) != 0 && gate / LOOP != done;
}

/* Returns when the gate is open for another loop than `done`, or the pool ends. */
static void await_loop(gantry__cpu_pool_t *pool, uint64_t done) {
    for (int look = 0; look < LOOKS_BEFORE_SLEEP; ++look) {
        if (is_new(atomic_load_explicit(&pool->gate, memory_order_relaxed), done)) {
            return;
        }
        rest_a_little();
    }
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleepers, 1);
    while (!is_new(atomic_load(&pool->gate), done) && !atomic_load(&pool->is_ending)) {
        pthread_cond_wait(&pool->work, &pool->lock);
    }
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->lock);
}

static int enter(gantry__cpu_pool_t *pool, uint64_t *io_done) {
    uint64_t gate = atomic_load_explicit(&pool->gate, memory_order_relaxed);

    while (is_new(gate, *io_done)) {
        if (atomic_compare_exchange_weak_explicit(&pool->gate, &gate, gate + 1,
                                                  memory_order_acquire, memory_order_relaxed)) {
            *io_done = gate / LOOP;
            return 1;
        }
    }
    return 0;
}

static void leave(gantry__cpu_pool_t *pool) {
    const uint64_t gate = atomic_fetch_sub(&pool->gate, 1) - 1;

    if ((gate & (OPEN | INSIDE)) == 0 && atomic_load(&pool->waits)) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_signal(&pool->idle);
        pthread_mutex_unlock(&pool->lock);
    }
}

static void *work(void *argument) {
    const worker_t *worker = argument;
    gantry__cpu_pool_t *pool = worker->pool;
    uint64_t done = 0;

    while (!atomic_load(&pool->is_ending)) {
        await_loop(pool, done);
        if (enter(pool, &done)) {
            take_tiles(pool, worker->run);
            leave(pool);
        }
    }
    return NULL;
}

/* ---- starting and ending ---- */

/* The program's signals are its own threads'. */
static int start_worker(gantry__cpu_pool_t *pool, const pthread_attr_t *attributes,
                        worker_t *worker, uint32_t run) {
    sigset_t all, before;
    int code;

    *worker = (worker_t){.pool = pool, .run = run};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    code = pthread_create(&worker->thread, attributes, work, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code == 0) {
        (void)pthread_setname_np(worker->thread, "gantry-cpu");
    }
    return code == 0;
}

/* Returns how many of the workers, `wanted` of them, could be started. */
static uint32_t start_workers(gantry__cpu_pool_t *pool, uint32_t wanted) {
    pthread_attr_t attributes;
    uint32_t started = 0;

    if (pthread_attr_init(&attributes) != 0) {
        return 0;
    }
    if (pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0) {
        while (started < wanted &&
               start_worker(pool, &attributes, &pool->workers[started], started + 1)) {
            started++;
        }
    }
    pthread_attr_destroy(&attributes);
    return started;
}

/* By the first loop that needs them, whose caller has the pool. worker_count stays 0 where none
 * could be started. */
static void cpu_pool_start(gantry__cpu_pool_t *pool) {
    const gantry_host_t *host = pool->host;
    const uint32_t wanted = pool->limit - 1;
    uint32_t started;

    pool->is_started = 1;
    pool->workers = host->reallocate(host->self, NULL, 0, wanted * sizeof *pool->workers);
    started = pool->workers != NULL ? start_workers(pool, wanted) : 0;
    pool->worker_count = started;
    if (started < wanted) {
        char text[128];

        snprintf(text, sizeof text, "only %u of %u threads could be started; loops run on %u",
                 started, wanted, started + 1);
        host->log(host->self, GANTRY_LEVEL_WARNING, text);
    }
}

static void end_workers(gantry__cpu_pool_t *pool) {
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->is_ending, 1);
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t i = 0; i < pool->worker_count; ++i) {
        pthread_join(pool->workers[i].thread, NULL);
    }
}

static int32_t fail_memory(const gantry_host_t *host, uint64_t bytes) {
    return gantry__cpu_fail(host, GANTRY_RESOURCE_EXHAUSTED, 0,
                            "No memory for the CPU backend's thread pool (%llu bytes)",
                            (unsigned long long)bytes);
}

static int make_locks(gantry__cpu_pool_t *pool) {
    if (pthread_mutex_init(&pool->lock, NULL) != 0) {
        return 0;
    }
    if (pthread_cond_init(&pool->work, NULL) == 0) {
        if (pthread_cond_init(&pool->idle, NULL) == 0) {
            return 1;
        }
        pthread_cond_destroy(&pool->work);
    }
    pthread_mutex_destroy(&pool->lock);
    return 0;
}

int32_t gantry__cpu_pool_create(const gantry_host_t *host, uint32_t threads,
                                gantry__cpu_pool_t **out_pool) {
    gantry__cpu_pool_t *pool = host->reallocate(host->self, NULL, 0, sizeof *pool);

    *out_pool = NULL;
    if (pool == NULL) {
        return fail_memory(host, sizeof *pool);
    }
    memset(pool, 0, sizeof *pool);
    pool->host = host;
    pool->limit = threads < 1 ? 1 : threads < MOST_THREADS ? threads : MOST_THREADS;
    pool->runs = host->reallocate(host->self, NULL, 0, pool->limit * sizeof *pool->runs);
    if (pool->runs == NULL || !make_locks(pool)) {
        const uint64_t bytes = pool->limit * sizeof *pool->runs;

        if (pool->runs != NULL) {
            host->reallocate(host->self, pool->runs, bytes, 0);
        }
        host->reallocate(host->self, pool, sizeof *pool, 0);
        return fail_memory(host, bytes);
    }
    memset(pool->runs, 0, pool->limit * sizeof *pool->runs);
    snprintf(pool->description, sizeof pool->description,
             pool->limit == 1 ? "one thread" : "%u threads", pool->limit);
    *out_pool = pool;
    return GANTRY_OK;
}

void gantry__cpu_pool_release(gantry__cpu_pool_t *pool) {
    const gantry_host_t *host = pool != NULL ? pool->host : NULL;

    if (pool == NULL) {
        return;
    }
    end_workers(pool);
    if (pool->workers != NULL) {
        host->reallocate(host->self, pool->workers, (pool->limit - 1) * sizeof *pool->workers, 0);
    }
    pthread_cond_destroy(&pool->idle);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    host->reallocate(host->self, pool->runs, pool->limit * sizeof *pool->runs, 0);
    host->reallocate(host->self, pool, sizeof *pool, 0);
}

uint32_t gantry__cpu_pool_threads(gantry__cpu_pool_t *pool) { return pool->limit; }

const char *gantry__cpu_pool_description(gantry__cpu_pool_t *pool) { return pool->description; }

/* ---- loops ---- */

static void cpu_pool_cut(gantry__cpu_pool_t *pool, const loop_t *loop) {
    const int64_t threads = (int64_t)pool->worker_count + 1;

    pool->loop = *loop;
    for (int64_t i = 0; i < threads; ++i) {
        atomic_store_explicit(&pool->runs[i].next, loop->tiles * i / threads, memory_order_relaxed);
        pool->runs[i].end = loop->tiles * (i + 1) / threads;
    }
}

static void wake(gantry__cpu_pool_t *pool, int64_t most) {
    int64_t sleepers = atomic_load(&pool->sleepers);

    if (sleepers == 0) {
        return;
    }
    pthread_mutex_lock(&pool->lock);
    for (sleepers = sleepers < most ? sleepers : most; sleepers > 0; --sleepers) {
        pthread_cond_signal(&pool->work);
    }
    pthread_mutex_unlock(&pool->lock);
}

static int64_t now_ns(void) {
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Whether what is left of the loop pays for waking workers, all of which sleep: does the first
 * grain and times it, unless that may be a large part of all. */
static int is_worth_waking(loop_t *loop, int64_t grain, int64_t grains) {
    int64_t start;

    if (grain == 1 && grains < FEW_UNITS) {
        return 1;
    }
    start = now_ns();
    loop->fn(loop->context, 0, grain);
    loop->first = grain;
    return (now_ns() - start) * (grains - 1) > WORTH_WAKING_NS;
}

static void await_workers(gantry__cpu_pool_t *pool) {
    for (int look = 0; look < LOOKS_BEFORE_SLEEP; ++look) {
        if ((atomic_load_explicit(&pool->gate, memory_order_acquire) & INSIDE) == 0) {
            return;
        }
        rest_a_little();
    }
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->waits, 1);
    while ((atomic_load(&pool->gate) & INSIDE) != 0) {
        pthread_cond_wait(&pool->idle, &pool->lock);
    }
    atomic_store(&pool->waits, 0);
    pthread_mutex_unlock(&pool->lock);
}

static void run_on_threads(gantry__cpu_pool_t *pool, int64_t grain, loop_t *loop) {
    const int64_t parts = ((int64_t)pool->worker_count + 1) * TILES_PER_THREAD;
    int64_t grains = (loop->count - 1) / grain + 1;

    if ((uint32_t)atomic_load_explicit(&pool->sleepers, memory_order_relaxed) ==
            pool->worker_count &&
        !is_worth_waking(loop, grain, grains)) {
        loop->fn(loop->context, loop->first, loop->count);
        return;
    }
    grains = (loop->count - loop->first - 1) / grain + 1;
    loop->tile = ((grains - 1) / parts + 1) * grain;
    loop->tiles = (loop->count - loop->first - 1) / loop->tile + 1;
    cpu_pool_cut(pool, loop);
    atomic_store(
        &pool->gate,
        (atomic_load_explicit(&pool->gate, memory_order_relaxed) / LOOP + 1) * LOOP | OPEN);
    wake(pool, loop->tiles - 1);
    take_tiles(pool, 0);
    atomic_fetch_and(&pool->gate, ~OPEN);
    await_workers(pool);
}

void gantry__cpu_parallel_for(gantry_backend_device_t *device, int64_t count, int64_t grain,
                              gantry__cpu_range_fn fn, void *context) {
    gantry__cpu_pool_t *pool = device->pool;
    loop_t loop = {.fn = fn, .context = context, .count = count};

    if (count <= 0) {
        return;
    }
    grain = grain > 0 ? grain : 1;
    if (count <= grain || pool == NULL || pool->limit == 1 ||
        atomic_exchange_explicit(&pool->busy, 1, memory_order_acquire)) {
        fn(context, 0, count);
        return;
    }
    if (!pool->is_started) {
        cpu_pool_start(pool);
    }
    if (pool->worker_count > 0) {
        run_on_threads(pool, grain, &loop);
    } else {
        fn(context, 0, count);
    }
    atomic_store_explicit(&pool->busy, 0, memory_order_release);
}
