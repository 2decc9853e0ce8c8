/* Threads come from pthreadpool, opened at run time. Three states, each reached from the one before:
 *
 *     UNOPENED --first question--> OPENED (library and symbols) --first loop that needs it--> RUNNING (threads)
 *                          \-----> ABSENT (the reason kept)                          \------> ABSENT
 *
 * One caller at a time is inside. Whoever finds the pool taken (another thread, or a loop within a loop) does its work
 * itself: it has the data at hand and would otherwise wait for exactly the cores it runs on.
 *
 * Debian's library is not instrumented for the thread sanitizer, which then cannot see that a loop's parts happen after
 * the call and before its return; under that sanitizer the two edges are stated by hand. */
#define _GNU_SOURCE
#include "cpu/cpu_pool.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "cpu/cpu_backend.h"

#if defined(__SANITIZE_THREAD__)
#define POOL_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define POOL_TSAN 1
#endif
#endif

#ifdef POOL_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define HAPPENS_AFTER(address) __tsan_acquire(address)
#define HAPPENS_BEFORE(address) __tsan_release(address)
#else
#define HAPPENS_AFTER(address) ((void)(address))
#define HAPPENS_BEFORE(address) ((void)(address))
#endif

/* Parts per thread: enough that one slow core does not hold up the rest, few enough that a part is long. */
#define PARTS_PER_THREAD 4

typedef void (*pool_task_fn)(void *context, size_t begin, size_t length);

/* The library's functions that are used: result, name after "pthreadpool_", parameters. */
#define POOL_SYMBOLS(X)                 \
    X(void *, create, (size_t threads)) \
    X(void, destroy, (void *threads))   \
    X(void, parallelize_1d_tile_1d,     \
      (void *threads, pool_task_fn task, void *context, size_t range, size_t tile, uint32_t flags))

typedef struct pool_symbols_t {
#define X(result, name, parameters) result(*name) parameters;
    POOL_SYMBOLS(X)
#undef X
} pool_symbols_t;

enum { POOL_UNOPENED = 0, POOL_OPENED, POOL_RUNNING, POOL_ABSENT };

struct gantry__cpu_pool_t {
    const gantry_host_t *host;
    uint32_t limit;
    atomic_int state;
    atomic_int busy;
    pthread_mutex_t lock; /* guards the steps from state to state */
    void *library;
    void *threads;
    pool_symbols_t symbols;
    char description[256];
};

int32_t gantry__cpu_pool_create(const gantry_host_t *host, uint32_t threads, gantry__cpu_pool_t **out_pool)
{
    gantry__cpu_pool_t *pool = host->reallocate(host->self, NULL, 0, sizeof *pool);

    *out_pool = NULL;
    if (pool == NULL) {
        return gantry__cpu_fail(host, GANTRY_K_RESOURCE_EXHAUSTED, 0,
                                "No memory for the CPU backend's thread pool (%zu bytes)", sizeof *pool);
    }
    memset(pool, 0, sizeof *pool);
    pool->host = host;
    pool->limit = threads > 0 ? threads : 1;
    atomic_init(&pool->state, POOL_UNOPENED);
    atomic_init(&pool->busy, 0);
    if (pthread_mutex_init(&pool->lock, NULL) != 0) {
        host->reallocate(host->self, pool, sizeof *pool, 0);
        return gantry__cpu_fail(host, GANTRY_K_RESOURCE_EXHAUSTED, 0, "No mutex for the CPU backend's thread pool");
    }
    *out_pool = pool;
    return GANTRY_K_OK;
}

void gantry__cpu_pool_release(gantry__cpu_pool_t *pool)
{
    if (pool == NULL) {
        return;
    }
    if (pool->threads != NULL) {
        pool->symbols.destroy(pool->threads);
    }
    /* The library itself stays loaded, as every library that Gantry opens does. */
    pthread_mutex_destroy(&pool->lock);
    pool->host->reallocate(pool->host->self, pool, sizeof *pool, 0);
}

static int absent(gantry__cpu_pool_t *pool, const char *why, const char *detail)
{
    snprintf(pool->description, sizeof pool->description, "%s%s; loops run on one thread", why, detail);
    return POOL_ABSENT;
}

static int open_library(gantry__cpu_pool_t *pool)
{
    static const char *const names[] = {"libpthreadpool.so.0", "libpthreadpool.so"};

    if (pool->limit == 1) {
        return absent(pool, "pthreadpool not needed", "");
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0] && pool->library == NULL; i++) {
        pool->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
    if (pool->library == NULL) {
        return absent(pool, "libpthreadpool.so.0 not found", "");
    }
#define X(result, name, parameters)                                          \
    {                                                                        \
        void *symbol = dlsym(pool->library, "pthreadpool_" #name);           \
        if (symbol == NULL) {                                                \
            return absent(pool, "libpthreadpool lacks pthreadpool_", #name); \
        }                                                                    \
        memcpy(&pool->symbols.name, &symbol, sizeof symbol);                 \
    }
    POOL_SYMBOLS(X)
#undef X
    snprintf(pool->description, sizeof pool->description, "pthreadpool, %u threads", pool->limit);
    return POOL_OPENED;
}

static int start_threads(gantry__cpu_pool_t *pool)
{
    pool->threads = pool->symbols.create(pool->limit);
    if (pool->threads == NULL) {
        /* The description may be in a reader's hands by now: it keeps what was true when the library was opened. */
        pool->host->log(pool->host->self, GANTRY_LOG_WARNING,
                        "pthreadpool could not start its threads; loops run on one thread");
        return POOL_ABSENT;
    }
    return POOL_RUNNING;
}

/* Brings the pool to at least `wanted`, or ABSENT; returns the state reached. */
static int reach(gantry__cpu_pool_t *pool, int wanted)
{
    int state = atomic_load_explicit(&pool->state, memory_order_acquire);

    if (state >= wanted) {
        return state;
    }
    pthread_mutex_lock(&pool->lock);
    state = atomic_load_explicit(&pool->state, memory_order_relaxed);
    if (state == POOL_UNOPENED) {
        state = open_library(pool);
    }
    if (state == POOL_OPENED && wanted == POOL_RUNNING) {
        state = start_threads(pool);
    }
    atomic_store_explicit(&pool->state, state, memory_order_release);
    pthread_mutex_unlock(&pool->lock);
    return state;
}

uint32_t gantry__cpu_pool_threads(gantry__cpu_pool_t *pool)
{
    return reach(pool, POOL_OPENED) == POOL_ABSENT ? 1 : pool->limit;
}

const char *gantry__cpu_pool_library(gantry__cpu_pool_t *pool)
{
    reach(pool, POOL_OPENED);
    return pool->description;
}

typedef struct pool_job_t {
    gantry__cpu_range_fn fn;
    void *context;
} pool_job_t;

static void run_part(void *context, size_t begin, size_t length)
{
    pool_job_t *job = context;

    HAPPENS_AFTER(job);
    job->fn(job->context, (int64_t)begin, (int64_t)(begin + length));
    HAPPENS_BEFORE(job);
}

static void run_on_threads(gantry__cpu_pool_t *pool, int64_t count, int64_t grain, gantry__cpu_range_fn fn,
                           void *context)
{
    pool_job_t job = {fn, context};
    int64_t parts = (int64_t)pool->limit * PARTS_PER_THREAD;
    int64_t grains = (count - 1) / grain + 1;
    int64_t tile = ((grains - 1) / parts + 1) * grain;

    HAPPENS_BEFORE(&job);
    pool->symbols.parallelize_1d_tile_1d(pool->threads, run_part, &job, (size_t)count, (size_t)tile, 0);
    HAPPENS_AFTER(&job);
}

void gantry__cpu_parallel_for(gantry_backend_device_t *device, int64_t count, int64_t grain, gantry__cpu_range_fn fn,
                              void *context)
{
    gantry__cpu_pool_t *pool = device->pool;

    if (count <= 0) {
        return;
    }
    grain = grain > 0 ? grain : 1;
    if (count <= grain || pool == NULL || pool->limit == 1 ||
        atomic_exchange_explicit(&pool->busy, 1, memory_order_acquire)) {
        fn(context, 0, count);
        return;
    }
    if (reach(pool, POOL_RUNNING) == POOL_RUNNING) {
        run_on_threads(pool, count, grain, fn, context);
        atomic_store_explicit(&pool->busy, 0, memory_order_release);
    } else {
        atomic_store_explicit(&pool->busy, 0, memory_order_release);
        fn(context, 0, count);
    }
}
