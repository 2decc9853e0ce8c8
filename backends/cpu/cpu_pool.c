/* SPDX-License-Identifier: Apache-2.0 */
/* A thread pool whose caller never waits for a worker that has not started. On a busy machine a
 * woken thread starts milliseconds later, and by then the caller has done the work itself.
 *
 * A loop is cut into tiles, and the tiles into one run of neighbours for each thread. The caller
 * takes the tiles of the first run, and each worker those of another. A thread that has finished
 * its run helps with the next one:
 *
 *     run 0            run 1            run 2
 *     |t|t|t|t|        |t|t|t|t|        |t|t|t|t|
 *      caller ->        worker 1 ->      worker 2 ->
 *
 * A run's `next` is its first tile that no thread has taken.
 *
 * The word `gate` counts the workers inside a loop: number of the loop | OPEN | workers inside. A
 * worker enters an open gate by adding 1. The caller shuts the gate when no tile is left, and then
 * waits only for the workers inside, each of which is computing a tile. So the loop may live on the
 * caller's stack, because no thread reads it after the gate is shut.
 *
 * Workers poll the gate for some microseconds after a loop, then sleep. To wake them costs as much
 * as a short loop, so a short loop runs on its caller's thread while all workers sleep. A series of
 * short loops counts as one long loop: it wakes them when it has run on one thread for as long as
 * waking is worth, less the gaps. They then poll from loop to loop:
 *
 *     caller  [loop]-[loop]-[loop]-[loop]-[loo]-[lo]-[lo]-[lo]
 *     worker   sleeps              wake ..polls..[lo]-[lo]-[lo]..polls..sleeps
 *
 * If the workers then sleep again after few loops, because the series ended or another program has
 * the cores, the next series must be twice as long.
 *
 * One caller at a time has the workers. A caller that finds them taken (another thread, or a loop
 * inside a loop) does its work by itself, because waiting would leave its core idle. It also ends
 * the series, because the workers would take the cores of callers. Where as many callers work by
 * themselves as there are workers, or did so just before, the one that has the workers works by
 * itself, too: two parts of a CPU with two cores, each with a part of a batch, compute side by
 * side. */
#include "cpu/cpu_pool.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/os/thread.h"
#include "cpu/cpu_fail.h"

/* The tiles of each thread: enough that one slow core does not hold up the rest, few enough that a
 * tile is long. */
#define TILES_PER_THREAD 4
/* Waking a thread costs the caller up to tens of microseconds, most of all in virtual machines. A
 * loop or a series of this length pays for it. */
#define WORTH_WAKING_NS INT64_C(100000)
/* Waking workers for a series has paid after so many loops on several threads. If not, the next
 * series must be twice as long; this doubles at most so often. */
#define PAYING_LOOPS 10
#define MOST_DOUBLINGS 10
/* Callers that were at work so short a time ago are between two loops. */
#define RECENT_NS INT64_C(100000)
#define FEW_UNITS 16 /* fewer iterations, with a grain of 1, are long: stripes of a product */
/* bytes of a worker's stack: items use about 50 KB of it, and the rest is for libraries */
#define STACK_BYTES (2 << 20)
/* polls of a worker for the next loop, and of a caller for its workers: about 40 microseconds */
#define POLLS_BEFORE_SLEEP 4000

#define OPEN (UINT64_C(1) << 16)
#define LOOP (OPEN << 1)
#define INSIDE (OPEN - 1)

typedef struct loop_t {
    gantry__cpu_range_fn fn;
    void *context;
    int64_t first, count, tile, tiles; /* [first, count) is cut into tiles */
} loop_t;

/* Padded to a cache line of its own, because all threads write `next`. */
typedef struct run_t {
    atomic_int_fast64_t next;
    int64_t end;
    char padding[48];
} run_t;

typedef struct worker_t {
    struct gantry__cpu_pool_t *pool;
    gantry__thread_t thread;
    uint32_t run; /* the run that is the worker's own */
} worker_t;

struct gantry__cpu_pool_t {
    const gantry_host_t *host;
    uint32_t limit;
    uint32_t worker_count;          /* workers that were started */
    atomic_bool is_busy;            /* a caller has the workers */
    atomic_bool is_contended;       /* another caller found the workers taken */
    atomic_uint alone;              /* such callers, while they work */
    atomic_int_fast64_t crowded_ns; /* when as many of them as workers last worked; 0: long ago */
    /* Only the caller that has the workers reads and writes the next five and `loop`. */
    bool is_started;
    int64_t series_ns;    /* time of short loops on one thread, less the gaps; at least 0 */
    int64_t series_end;   /* when the last of them ended */
    int64_t series_worth; /* the length at which a series wakes workers */
    int64_t shared_loops; /* loops since a series woke workers */
    loop_t loop;
    run_t *runs;
    worker_t *workers;
    gantry__mutex_t lock; /* for sleeping */
    gantry__condition_t work, idle;
    atomic_int sleepers;    /* sleeping workers */
    atomic_bool is_waiting; /* the caller sleeps until no worker is inside */
    atomic_bool is_ending;
    char description[64]; /* also keeps the gate on another cache line */
    atomic_uint_fast64_t gate;
};

static inline void pause_core(void) {
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

/* Takes tiles from the run `own` first, and goes on with the others in turn. */
static void take_tiles(gantry__cpu_pool_t *pool, uint32_t own) {
    for (uint32_t i = 0; i <= pool->worker_count; ++i) {
        run_t *run = &pool->runs[(own + i) % (pool->worker_count + 1)];
        for (int64_t tile;
             (tile = atomic_fetch_add_explicit(&run->next, 1, memory_order_relaxed)) < run->end;)
            run_tile(&pool->loop, tile);
    }
}

/* ---- workers ---- */

static bool is_new(uint64_t gate, uint64_t done) {
    return (gate & OPEN) != 0 && gate / LOOP != done;
}

/* Returns when the gate is open for another loop than `done`, when the pool ends, or when a caller
 * has woken this worker. In the last case the loop may be over, and the next one of its series
 * near. */
static void await_loop(gantry__cpu_pool_t *pool, uint64_t done) {
    for (int poll = 0; poll < POLLS_BEFORE_SLEEP; ++poll) {
        if (is_new(atomic_load_explicit(&pool->gate, memory_order_relaxed), done)) return;
        pause_core();
    }
    gantry__mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleepers, 1);
    if (!is_new(atomic_load(&pool->gate), done) && !atomic_load(&pool->is_ending))
        gantry__condition_await(&pool->work, &pool->lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    gantry__mutex_unlock(&pool->lock);
}

static bool pool_enter(gantry__cpu_pool_t *pool, uint64_t *io_done) {
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

static void pool_leave(gantry__cpu_pool_t *pool) {
    const uint64_t gate = atomic_fetch_sub(&pool->gate, 1) - 1;
    if ((gate & (OPEN | INSIDE)) == 0 && atomic_load(&pool->is_waiting)) {
        gantry__mutex_lock(&pool->lock);
        gantry__condition_wake_one(&pool->idle);
        gantry__mutex_unlock(&pool->lock);
    }
}

static void *run_worker(void *argument) {
    const worker_t *worker = argument;
    gantry__cpu_pool_t *pool = worker->pool;
    uint64_t done = 0;
    while (!atomic_load(&pool->is_ending)) {
        await_loop(pool, done);
        if (pool_enter(pool, &done)) {
            take_tiles(pool, worker->run);
            pool_leave(pool);
        }
    }
    return NULL;
}

/* ---- starting and ending ---- */

static bool start_worker(gantry__cpu_pool_t *pool, worker_t *worker, uint32_t run) {
    *worker = (worker_t){.pool = pool, .run = run};
    if (gantry__thread_start(&worker->thread, STACK_BYTES, run_worker, worker) != 0) return false;
    gantry__thread_name(worker->thread, "gantry-cpu");
    return true;
}

/* Starts `wanted` workers, or as many as the system grants; returns their number. */
static uint32_t start_workers(gantry__cpu_pool_t *pool, uint32_t wanted) {
    uint32_t started = 0;
    while (started < wanted && start_worker(pool, &pool->workers[started], started + 1)) ++started;
    return started;
}

/* The first loop that needs workers must call this, while its caller has the pool. worker_count
 * stays 0 if no worker could be started. */
static void cpu_pool_start(gantry__cpu_pool_t *pool) {
    const gantry_host_t *host = pool->host;
    const uint32_t wanted = pool->limit - 1;
    pool->is_started = true;
    pool->workers = host->reallocate(host->self, NULL, 0, wanted * sizeof *pool->workers);
    uint32_t started = pool->workers ? start_workers(pool, wanted) : 0;
    pool->worker_count = started;
    if (started < wanted) {
        char text[128];
        snprintf(text, sizeof text, "only %u of %u threads could be started; loops run on %u",
                 started, wanted, started + 1);
        host->log(host->self, GANTRY_LEVEL_WARNING, text);
    }
}

static void end_workers(gantry__cpu_pool_t *pool) {
    gantry__mutex_lock(&pool->lock);
    atomic_store(&pool->is_ending, true);
    gantry__condition_wake_all(&pool->work);
    gantry__mutex_unlock(&pool->lock);
    for (uint32_t i = 0; i < pool->worker_count; ++i) gantry__thread_join(pool->workers[i].thread);
}

static int32_t fail_memory(const gantry_host_t *host, uint64_t bytes) {
    return gantry__cpu_fail(host, GANTRY_RESOURCE_EXHAUSTED, 0,
                            "No memory for the CPU backend's thread pool (%llu bytes)",
                            (unsigned long long)bytes);
}

static bool make_locks(gantry__cpu_pool_t *pool) {
    if (gantry__mutex_init(&pool->lock) != 0) return false;
    if (gantry__condition_init(&pool->work) == 0) {
        if (gantry__condition_init(&pool->idle) == 0) return true;
        gantry__condition_deinit(&pool->work);
    }
    gantry__mutex_deinit(&pool->lock);
    return false;
}

int32_t gantry__cpu_pool_create(const gantry_host_t *host, uint32_t threads,
                                gantry__cpu_pool_t **out_pool) {
    gantry__cpu_pool_t *pool = host->reallocate(host->self, NULL, 0, sizeof *pool);
    *out_pool = NULL;
    if (!pool) return fail_memory(host, sizeof *pool);
    memset(pool, 0, sizeof *pool);
    pool->host = host;
    pool->series_worth = WORTH_WAKING_NS;
    pool->limit = threads < 1                          ? 1
                  : threads < GANTRY__CPU_MOST_THREADS ? threads
                                                       : GANTRY__CPU_MOST_THREADS;
    pool->runs = host->reallocate(host->self, NULL, 0, pool->limit * sizeof *pool->runs);
    if (!pool->runs || !make_locks(pool)) {
        const uint64_t bytes = pool->limit * sizeof *pool->runs;
        if (pool->runs) host->reallocate(host->self, pool->runs, bytes, 0);
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
    if (!pool) return;
    const gantry_host_t *host = pool->host;
    end_workers(pool);
    if (pool->workers)
        host->reallocate(host->self, pool->workers, (pool->limit - 1) * sizeof *pool->workers, 0);
    gantry__condition_deinit(&pool->idle);
    gantry__condition_deinit(&pool->work);
    gantry__mutex_deinit(&pool->lock);
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

/* Wakes so many workers that `most` are awake. */
static void wake_workers(gantry__cpu_pool_t *pool, int64_t most) {
    const int64_t sleepers = atomic_load(&pool->sleepers);
    int64_t wanted = most - (pool->worker_count - sleepers);
    if (sleepers == 0 || wanted <= 0) return;
    gantry__mutex_lock(&pool->lock);
    for (wanted = wanted < sleepers ? wanted : sleepers; wanted > 0; --wanted)
        gantry__condition_wake_one(&pool->work);
    gantry__mutex_unlock(&pool->lock);
}

static int64_t now_ns(void) { return (int64_t)gantry__now_ns(); }

/* Whether the loop that begins now must wake workers, because its series has run on one thread for
 * so long. */
static bool is_series_long(gantry__cpu_pool_t *pool, int64_t now) {
    const int64_t gap = now - pool->series_end;
    const bool is_over = atomic_load_explicit(&pool->is_contended, memory_order_relaxed);
    if (is_over) atomic_store_explicit(&pool->is_contended, false, memory_order_relaxed);
    pool->series_ns = gap < pool->series_ns && !is_over ? pool->series_ns - gap : 0;
    if (pool->series_ns < pool->series_worth) return false;
    pool->series_ns = 0;
    pool->shared_loops = 0;
    if (pool->series_worth < WORTH_WAKING_NS << MOST_DOUBLINGS) pool->series_worth *= 2;
    return true;
}

static void add_to_series(gantry__cpu_pool_t *pool, int64_t start, int64_t ns) {
    pool->series_ns += ns;
    pool->series_end = start + ns;
}

/* Whether the loop must wake the workers, all of which sleep. If the caller does not know that the
 * loop is short, the loop's first grain runs here, and the time that it takes decides. */
static bool is_worth_waking(gantry__cpu_pool_t *pool, loop_t *loop, int64_t grain, bool is_short) {
    const int64_t grains = (loop->count - 1) / grain + 1;
    if (!is_short && grain == 1 && grains < FEW_UNITS) return true;
    const int64_t start = now_ns();
    if (is_series_long(pool, start)) return true;
    loop->fn(loop->context, 0, is_short ? loop->count : grain);
    loop->first = is_short ? loop->count : grain;
    const int64_t ns = now_ns() - start;
    if (!is_short && ns * (grains - 1) > WORTH_WAKING_NS) return true;
    add_to_series(pool, start, is_short ? ns : ns * grains);
    return false;
}

static void await_workers(gantry__cpu_pool_t *pool) {
    for (int poll = 0; poll < POLLS_BEFORE_SLEEP; ++poll) {
        if ((atomic_load_explicit(&pool->gate, memory_order_acquire) & INSIDE) == 0) return;
        pause_core();
    }
    gantry__mutex_lock(&pool->lock);
    atomic_store(&pool->is_waiting, true);
    while ((atomic_load(&pool->gate) & INSIDE) != 0)
        gantry__condition_await(&pool->idle, &pool->lock);
    atomic_store(&pool->is_waiting, false);
    gantry__mutex_unlock(&pool->lock);
}

/* Opens the gate for the rest of the loop. */
static void run_on_threads(gantry__cpu_pool_t *pool, int64_t grain, loop_t *loop) {
    const int64_t parts = ((int64_t)pool->worker_count + 1) * TILES_PER_THREAD;
    const int64_t grains = (loop->count - loop->first - 1) / grain + 1;
    loop->tile = ((grains - 1) / parts + 1) * grain;
    loop->tiles = (loop->count - loop->first - 1) / loop->tile + 1;
    cpu_pool_cut(pool, loop);
    if (++pool->shared_loops == PAYING_LOOPS) pool->series_worth = WORTH_WAKING_NS;
    atomic_store(
        &pool->gate,
        (atomic_load_explicit(&pool->gate, memory_order_relaxed) / LOOP + 1) * LOOP | OPEN);
    wake_workers(pool, loop->tiles - 1);
    take_tiles(pool, 0);
    atomic_fetch_and(&pool->gate, ~OPEN);
    await_workers(pool);
}

static bool do_all_sleep(gantry__cpu_pool_t *pool) {
    return (uint32_t)atomic_load_explicit(&pool->sleepers, memory_order_relaxed) ==
           pool->worker_count;
}

/* Runs a loop. The caller must have the workers. A short loop starts none before its series is
 * long. */
static void pool_run_loop(gantry__cpu_pool_t *pool, int64_t grain, loop_t *loop, bool is_short) {
    const bool is_alone = pool->is_started ? do_all_sleep(pool) : is_short;
    if (!is_alone || is_worth_waking(pool, loop, grain, is_short)) {
        if (!pool->is_started) cpu_pool_start(pool);
        if (pool->worker_count > 0) {
            run_on_threads(pool, grain, loop);
            return;
        }
    }
    if (loop->first < loop->count) loop->fn(loop->context, loop->first, loop->count);
}

/* Whether the caller got the workers; it then has them until it returns them. */
static bool pool_take_workers(gantry__cpu_pool_t *pool) {
    if (!atomic_exchange_explicit(&pool->is_busy, true, memory_order_acquire)) return true;
    atomic_store_explicit(&pool->is_contended, true, memory_order_relaxed);
    return false;
}

static void run_beside_others(gantry__cpu_pool_t *pool, const loop_t *loop) {
    const bool is_full =
        atomic_fetch_add_explicit(&pool->alone, 1, memory_order_relaxed) + 1 >= pool->limit - 1;
    loop->fn(loop->context, 0, loop->count);
    if (is_full) atomic_store_explicit(&pool->crowded_ns, now_ns(), memory_order_relaxed);
    atomic_fetch_sub_explicit(&pool->alone, 1, memory_order_relaxed);
}

/* Whether other callers have the cores of the workers. */
static bool is_crowded(gantry__cpu_pool_t *pool) {
    if (atomic_load_explicit(&pool->alone, memory_order_relaxed) >= pool->limit - 1) return true;
    const int64_t last = atomic_load_explicit(&pool->crowded_ns, memory_order_relaxed);
    if (last == 0) return false;
    if (now_ns() - last < RECENT_NS) return true;
    atomic_store_explicit(&pool->crowded_ns, 0, memory_order_relaxed);
    return false;
}

static void cpu_pool_run(gantry__cpu_pool_t *pool, int64_t grain, loop_t loop, bool is_short) {
    if (loop.count <= 0) return;
    if (loop.count <= grain || !pool || pool->limit == 1) {
        loop.fn(loop.context, 0, loop.count);
        return;
    }
    if (!pool_take_workers(pool)) {
        run_beside_others(pool, &loop);
        return;
    }
    if (is_crowded(pool))
        loop.fn(loop.context, 0, loop.count);
    else
        pool_run_loop(pool, grain, &loop, is_short);
    atomic_store_explicit(&pool->is_busy, false, memory_order_release);
}

void gantry__cpu_parallel_for(gantry_backend_device_t *device, int64_t count, int64_t grain,
                              gantry__cpu_range_fn fn, void *context) {
    if (count > 0 && count <= grain) /* most calls are such; the loop needs no structure */
        fn(context, 0, count);
    else
        cpu_pool_run(device->pool, grain > 0 ? grain : 1,
                     (loop_t){.fn = fn, .context = context, .count = count}, false);
}

void gantry__cpu_parallel_for_short(gantry_backend_device_t *device, int64_t count,
                                    gantry__cpu_range_fn fn, void *context) {
    cpu_pool_run(device->pool, 1, (loop_t){.fn = fn, .context = context, .count = count}, true);
}
