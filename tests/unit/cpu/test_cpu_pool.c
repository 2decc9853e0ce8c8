/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The CPU backend's parallel loop runs every index once, for any caller and however busy
 * the threads are.
 * Promise: A series of short loops wakes the CPU's workers; gaps, several callers and wakes in vain
 * hold it back. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "base/os/thread.h"
#include "cpu_kernel_call.h"
#include "test.h"

/* The pool's requests to the system, which refuses them if a test says so. */
typedef enum refusal_t { NONE, THREADS } refusal_t;

static refusal_t refused;
static int threads_before; /* the number of refused requests */

static int start_thread(gantry__thread_t *thread, size_t stack_bytes, void *(*fn)(void *),
                        void *argument) {
    return refused == THREADS && threads_before-- == 0
               ? EAGAIN
               : gantry__thread_start(thread, stack_bytes, fn, argument);
}

/* The pool's clock and its calls to workers: a test sets the one and counts the others. */
static bool is_clock_set;
static int64_t clock_ns;
static gantry__condition_t *_Atomic lost_calls; /* nobody leaves this condition */
static _Atomic int calls_to_workers;

static uint64_t read_clock(void) { return is_clock_set ? (uint64_t)clock_ns : gantry__now_ns(); }

static void signal_condition(gantry__condition_t *condition) {
    ++calls_to_workers;
    if (condition != lost_calls) gantry__condition_wake_one(condition);
}

/* A wait may also end without a call: it does in valgrind. */
static void wait_for_condition(gantry__condition_t *condition, gantry__mutex_t *lock) {
    do gantry__condition_await(condition, lock);
    while (condition == lost_calls);
}

#define gantry__now_ns read_clock
#define gantry__condition_await wait_for_condition
#define gantry__condition_wake_one signal_condition
#define gantry__thread_start start_thread
#include "cpu/cpu_pool.c" /* some tests read the pool's fields */
#undef gantry__now_ns
#undef gantry__condition_await
#undef gantry__condition_wake_one
#undef gantry__thread_start

/* A worker counts itself as a sleeper before it waits, and holds the lock until it does. */
static void await_sleepers(gantry__cpu_pool_t *pool, int count) {
    while (atomic_load(&pool->sleepers) != count) {
        pause_core();
    }
    pthread_mutex_lock(&pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

#define MOST 200000

typedef struct marks_t {
    atomic_uchar seen[MOST];
    atomic_int parts;
    int64_t grain;
    atomic_int odd_begins;
} marks_t;

static marks_t marks;

static void mark(void *context, int64_t begin, int64_t end) {
    marks_t *m = context;
    atomic_fetch_add(&m->parts, 1);
    if (begin % m->grain != 0) {
        atomic_fetch_add(&m->odd_begins, 1);
    }
    for (int64_t i = begin; i < end; ++i) {
        atomic_fetch_add(&m->seen[i], 1);
    }
}

TEST(pool_any_count_and_grain_covers_each_index_once) {
    static const int64_t counts[] = {1, 2, 7, 8, 63, 64, 65, 1000, 99999, MOST};
    static const int64_t grains[] = {1, 2, 3, 64, 1000, 65536, MOST * 2};
    for (uint32_t threads = 1; threads <= 3; ++threads) {
        cpu_call_t device;
        cpu_call_open(&device, 0, threads);
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; ++c) {
            for (size_t g = 0; g < sizeof grains / sizeof grains[0]; ++g) {
                memset(&marks, 0, sizeof marks);
                marks.grain = grains[g];
                gantry__cpu_parallel_for(&device.device, counts[c], grains[g], mark, &marks);
                for (int64_t i = 0; i < MOST; ++i) {
                    assert_int_equal(marks.seen[i], i < counts[c]);
                }
                assert_int_equal(marks.odd_begins, 0);
                if (counts[c] <= grains[g] || threads == 1) {
                    assert_int_equal(marks.parts, 1);
                }
            }
        }
        cpu_call_close(&device);
    }
}

static void count_calls(void *context, int64_t begin, int64_t end) {
    (void)begin;
    (void)end;
    atomic_fetch_add((atomic_int *)context, 1);
}

TEST(pool_empty_range_calls_nothing) {
    cpu_call_t device;
    atomic_int calls = 0;
    cpu_call_open(&device, 0, 2);
    gantry__cpu_parallel_for(&device.device, 0, 1, count_calls, &calls);
    assert_int_equal(calls, 0);
    /* a grain of 0 means 1 */
    gantry__cpu_parallel_for(&device.device, 100, 0, count_calls, &calls);
    assert_true(calls > 0);
    cpu_call_close(&device);
}

/* ---- nested loops ---- */

typedef struct nest_t {
    gantry_backend_device_t *device;
    atomic_llong sum;
} nest_t;

static void add_range(void *context, int64_t begin, int64_t end) {
    atomic_fetch_add(&((nest_t *)context)->sum, end - begin);
}

static void inner_loop(void *context, int64_t begin, int64_t end) {
    nest_t *nest = context;
    for (int64_t i = begin; i < end; ++i) {
        gantry__cpu_parallel_for(nest->device, 100, 1, add_range, nest);
    }
}

TEST(pool_nested_loop_runs_on_its_callers_thread) {
    cpu_call_t device;
    nest_t nest;
    cpu_call_open(&device, 0, 2);
    nest.device = &device.device;
    atomic_init(&nest.sum, 0);
    gantry__cpu_parallel_for(&device.device, 64, 1, inner_loop, &nest);
    assert_true(nest.sum == 6400);
    cpu_call_close(&device);
}

/* ---- several callers ---- */

typedef struct caller_t {
    gantry_backend_device_t *device;
    int64_t values[3000];
    int64_t wrong;
} caller_t;

static void square_values(void *context, int64_t begin, int64_t end) {
    caller_t *caller = context;
    for (int64_t i = begin; i < end; ++i) {
        caller->values[i] = i * i;
    }
}

/* The memory is plain, not atomic: the sanitizer must see that the loop orders its accesses. */
static void *call_often(void *context) {
    caller_t *caller = context;
    for (int round = 0; round < 300; ++round) {
        memset(caller->values, 0, sizeof caller->values);
        gantry__cpu_parallel_for(caller->device, 3000, 10, square_values, caller);
        for (int64_t i = 0; i < 3000; ++i) {
            caller->wrong += caller->values[i] != i * i;
        }
    }
    return NULL;
}

TEST(pool_several_callers_at_once_all_get_their_results) {
    enum { CALLERS = 4 };
    static caller_t callers[CALLERS];
    pthread_t threads[CALLERS];
    cpu_call_t device;
    cpu_call_open(&device, 0, 2);
    for (int c = 0; c < CALLERS; ++c) {
        callers[c].device = &device.device;
        callers[c].wrong = 0;
        assert_int_equal(pthread_create(&threads[c], NULL, call_often, &callers[c]), 0);
    }
    for (int c = 0; c < CALLERS; ++c) {
        pthread_join(threads[c], NULL);
        assert_int_equal(callers[c].wrong, 0);
    }
    cpu_call_close(&device);
}

/* ---- creating a pool ---- */

TEST(pool_one_thread_says_so) {
    cpu_call_t device;
    cpu_call_open(&device, 0, 1);
    assert_int_equal(gantry__cpu_pool_threads(device.device.pool), 1);
    assert_non_null(strstr(gantry__cpu_pool_description(device.device.pool), "one thread"));
    cpu_call_close(&device);
}

TEST(pool_description_tells_threads) {
    cpu_call_t device;
    cpu_call_open(&device, 0, 2);
    assert_string_equal(gantry__cpu_pool_description(device.device.pool), "2 threads");
    assert_int_equal(gantry__cpu_pool_threads(device.device.pool), 2);
    cpu_call_close(&device);
}

static void *no_memory(void *self, void *ptr, uint64_t old_bytes, uint64_t new_bytes) {
    (void)self;
    (void)ptr;
    (void)old_bytes;
    (void)new_bytes;
    return NULL;
}

TEST(pool_without_memory_is_resource_exhausted) {
    cpu_call_t device;
    gantry__cpu_pool_t *pool = (void *)&device;
    cpu_call_open(&device, 0, 1);
    gantry_host_t host = device.host;
    host.reallocate = no_memory;
    assert_int_equal(gantry__cpu_pool_create(&host, 2, &pool), GANTRY_RESOURCE_EXHAUSTED);
    assert_null(pool);
    assert_non_null(strstr(device.message, "thread pool"));
    gantry__cpu_pool_release(NULL);
    cpu_call_close(&device);
}

/* The stack size that start() requests. */
TEST(pool_without_memory_for_threads_runs_on_one) {
    cpu_call_t device;
    cpu_call_open(&device, 0, 3);
    memset(&marks, 0, sizeof marks);
    marks.grain = 1;
    device.host.reallocate = no_memory;
    gantry__cpu_parallel_for(&device.device, 1000, 1, mark, &marks);
    device.host.reallocate = cpu_call_reallocate;
    assert_int_equal(marks.parts, 1);
    for (int64_t i = 0; i < 1000; ++i) {
        assert_int_equal(marks.seen[i], 1);
    }
    cpu_call_close(&device);
}

static void keep_line(void *self, int32_t level, const char *text) {
    cpu_call_t *owner = self;
    assert_int_equal(level, GANTRY_LEVEL_WARNING);
    snprintf(owner->message, sizeof owner->message, "%s", text);
}

TEST(pool_runs_on_the_threads_that_could_be_started) {
    static const struct {
        refusal_t refused;
        int threads_before;
        uint32_t workers;
        const char *line;
    } cases[] = {
        {THREADS, 0, 0, "only 0 of 2 threads could be started; loops run on 1"},
        {THREADS, 1, 1, "only 1 of 2 threads could be started; loops run on 2"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        cpu_call_t device;
        cpu_call_open(&device, 0, 3);
        device.host.log = keep_line;
        memset(&marks, 0, sizeof marks);
        marks.grain = 1;
        refused = cases[c].refused;
        threads_before = cases[c].threads_before;
        gantry__cpu_parallel_for(&device.device, 1000, 1, mark, &marks);
        refused = NONE;
        assert_int_equal(device.device.pool->worker_count, cases[c].workers);
        assert_string_equal(device.message, cases[c].line);
        for (int64_t i = 0; i < 1000; ++i) {
            assert_int_equal(marks.seen[i], 1);
        }
        cpu_call_close(&device);
    }
}

/* Some C libraries give threads a small stack by default. */
TEST(pool_threads_have_room_for_kernels_on_their_stacks) {
    pthread_attr_t before, little, own;
    size_t bytes;
    cpu_call_t device;
    atomic_int calls = 0;
    assert_int_equal(pthread_getattr_default_np(&before), 0);
    assert_int_equal(pthread_attr_init(&little), 0);
    assert_int_equal(pthread_attr_setstacksize(&little, 131072), 0);
    assert_int_equal(pthread_setattr_default_np(&little), 0);
    cpu_call_open(&device, 0, 2);
    gantry__cpu_parallel_for(&device.device, 2, 1, count_calls, &calls);
    assert_int_equal(pthread_setattr_default_np(&before), 0);
    assert_int_equal(device.device.pool->worker_count, 1);
    assert_int_equal(pthread_getattr_np(device.device.pool->workers[0].thread, &own), 0);
    assert_int_equal(pthread_attr_getstacksize(&own, &bytes), 0);
    assert_in_range(bytes, STACK_BYTES / 2, STACK_BYTES * 2);
    pthread_attr_destroy(&own);
    pthread_attr_destroy(&little);
    pthread_attr_destroy(&before);
    cpu_call_close(&device);
}

/* Workers that sleep and are not woken stand for threads that the system does not schedule. The
 * loop ends without them. */
TEST(pool_loop_does_not_wait_for_threads_that_have_not_begun) {
    cpu_call_t device;
    gantry__cpu_pool_t *pool;
    cpu_call_open(&device, 0, 3);
    pool = device.device.pool;
    memset(&marks, 0, sizeof marks);
    marks.grain = 1;
    gantry__cpu_parallel_for(&device.device, 3, 1, mark, &marks); /* starts the workers */
    await_sleepers(pool, 2);
    atomic_store(&pool->sleepers, 0); /* the caller sees this while workers start */
    for (int round = 1; round <= 100; ++round) {
        memset(&marks, 0, sizeof marks);
        marks.grain = 10;
        gantry__cpu_parallel_for(&device.device, 1000, 10, mark, &marks);
        for (int64_t i = 0; i < 1000; ++i) {
            assert_int_equal(marks.seen[i], 1);
        }
    }
    assert_true(marks.parts > 1); /* the loop was cut into parts for threads */
    atomic_store(&pool->sleepers, 2);
    cpu_call_close(&device);
}

/* ---- series of short loops ---- */

#define LOOP_NS 20000

static int loops_alone; /* loops that ran in one call of their function */

static void take_time(void *context, int64_t begin, int64_t end) {
    loops_alone += begin == 0 && end == *(int64_t *)context;
    clock_ns += LOOP_NS;
}

/* A pool of two threads. Its worker sleeps; calls that would wake it are only counted. This holds
 * for the first loop, too: a worker that sleeps before that loop begins would be called, and wake
 * later. */
static void open_asleep(cpu_call_t *device) {
    atomic_int calls = 0;
    cpu_call_open(device, 0, 2);
    lost_calls = &device->device.pool->work;
    gantry__cpu_parallel_for(&device->device, 2, 1, count_calls, &calls);
    await_sleepers(device->device.pool, 1);
    is_clock_set = true;
    clock_ns = INT64_C(1000000000);
    calls_to_workers = 0;
}

static void close_asleep(cpu_call_t *device) {
    is_clock_set = false;
    lost_calls = NULL;
    cpu_call_close(device);
}

/* The number of the first loop that calls the worker, if `gap` follows each; most + 1 if none of
 * `most` loops calls it. */
static int loops_before_a_call(cpu_call_t *device, int64_t gap, int most) {
    int64_t count = 2;
    const int before = calls_to_workers;
    loops_alone = 0;
    for (int i = 1; i <= most; ++i) {
        gantry__cpu_parallel_for_short(&device->device, count, take_time, &count);
        if (calls_to_workers > before) {
            assert_int_equal(loops_alone, i - 1);
            return i;
        }
        clock_ns += gap;
    }
    assert_int_equal(loops_alone, most);
    return most + 1;
}

TEST(series_as_long_as_one_long_loop_wakes_workers) {
    cpu_call_t device;
    open_asleep(&device);
    assert_int_equal(loops_before_a_call(&device, 0, 1000), WORTH_WAKING_NS / LOOP_NS + 1);
    close_asleep(&device);
    /* each loop counts for 20 microseconds, less a gap of 10, but for the first */
    open_asleep(&device);
    assert_int_equal(loops_before_a_call(&device, LOOP_NS / 2, 1000),
                     2 * WORTH_WAKING_NS / LOOP_NS + 1);
    close_asleep(&device);
}

TEST(series_with_gaps_as_long_as_its_loops_wakes_nobody) {
    cpu_call_t device;
    open_asleep(&device);
    assert_int_equal(loops_before_a_call(&device, LOOP_NS, 1000), 1001);
    /* bursts that are too short, far apart */
    for (int burst = 0; burst < 100; ++burst) {
        assert_int_equal(loops_before_a_call(&device, 0, 4), 5);
        clock_ns += 1000000;
    }
    close_asleep(&device);
}

TEST(series_of_loops_of_unknown_length_counts_what_its_first_grain_tells) {
    cpu_call_t device;
    int64_t count = 4000; /* 4 grains, the first of which takes 20 microseconds */
    open_asleep(&device);
    gantry__cpu_parallel_for(&device.device, count, 1000, take_time, &count);
    assert_int_equal(calls_to_workers, 0);
    assert_true(device.device.pool->series_ns == 4 * LOOP_NS);
    clock_ns = device.device.pool->series_end;
    gantry__cpu_parallel_for(&device.device, count, 1000, take_time, &count);
    assert_int_equal(calls_to_workers, 0);
    clock_ns = device.device.pool->series_end;
    gantry__cpu_parallel_for(&device.device, count, 1000, take_time, &count);
    assert_int_equal(calls_to_workers, 1);
    close_asleep(&device);
}

TEST(series_of_several_callers_wakes_nobody) {
    cpu_call_t device;
    open_asleep(&device);
    for (int i = 0; i < 100; ++i) {
        assert_int_equal(loops_before_a_call(&device, 0, 3), 4);
        /* a caller that finds the workers taken */
        int64_t count = 2;
        atomic_store(&device.device.pool->is_busy, true);
        gantry__cpu_parallel_for(&device.device, count, 1, take_time, &count);
        atomic_store(&device.device.pool->is_busy, false);
    }
    close_asleep(&device);
}

/* A long loop, which wakes the worker unless another caller has its core. */
static int calls_of_a_long_loop(cpu_call_t *device) {
    int64_t count = 2;
    const int before = calls_to_workers;
    gantry__cpu_parallel_for(&device->device, count, 1, take_time, &count);
    return calls_to_workers - before;
}

TEST(loops_beside_other_callers_wake_nobody) {
    cpu_call_t device;
    int64_t count = 2;
    open_asleep(&device);
    gantry__cpu_pool_t *pool = device.device.pool;
    assert_int_equal(calls_of_a_long_loop(&device), 1);
    atomic_store(&pool->alone, 1); /* a caller at work */
    assert_int_equal(calls_of_a_long_loop(&device), 0);
    atomic_store(&pool->alone, 0);
    assert_int_equal(calls_of_a_long_loop(&device), 1);
    atomic_store(&pool->is_busy, true); /* a caller that finds the workers taken */
    gantry__cpu_parallel_for(&device.device, count, 1, take_time, &count);
    atomic_store(&pool->is_busy, false);
    assert_int_equal(atomic_load(&pool->alone), 0);
    assert_int_equal(calls_of_a_long_loop(&device), 0); /* it is between two loops */
    clock_ns += RECENT_NS;
    assert_int_equal(calls_of_a_long_loop(&device), 1);
    close_asleep(&device);
}

TEST(series_that_woke_workers_in_vain_must_be_longer_next_time) {
    const int first = WORTH_WAKING_NS / LOOP_NS;
    cpu_call_t device;
    open_asleep(&device);
    gantry__cpu_pool_t *pool = device.device.pool;
    assert_int_equal(loops_before_a_call(&device, 0, 100000), first + 1);
    for (int doubled = 1; doubled <= MOST_DOUBLINGS + 2; ++doubled) {
        const int times = 1 << (doubled < MOST_DOUBLINGS ? doubled : MOST_DOUBLINGS);
        clock_ns = pool->series_end;
        assert_int_equal(loops_before_a_call(&device, 0, 100000), times * first + 1);
    }
    /* one that pays */
    atomic_store(&pool->sleepers, 0); /* the caller takes the worker for awake */
    for (int i = 1; i < PAYING_LOOPS; ++i) {
        gantry__cpu_parallel_for_short(&device.device, 2, take_time, &(int64_t){0});
    }
    atomic_store(&pool->sleepers, 1);
    clock_ns = pool->series_end;
    assert_int_equal(loops_before_a_call(&device, 0, 100000), first + 1);
    close_asleep(&device);
}

TEST(series_starts_threads_when_it_is_long) {
    cpu_call_t device;
    atomic_int calls = 0;
    cpu_call_open(&device, 0, 2);
    is_clock_set = true;
    int64_t count = 2;
    for (int i = 0; i < WORTH_WAKING_NS / LOOP_NS; ++i) {
        gantry__cpu_parallel_for_short(&device.device, count, take_time, &count);
        assert_false(device.device.pool->is_started);
    }
    gantry__cpu_parallel_for_short(&device.device, count, count_calls, &calls);
    is_clock_set = false;
    assert_true(device.device.pool->is_started);
    cpu_call_close(&device);
}

static void *await_any_loop(void *pool) {
    await_loop(pool, 0);
    return NULL;
}

/* The loop that calls a worker may end before the worker runs. The worker then polls for the next
 * loop, and does not go back to sleep at once. */
TEST(series_worker_that_is_called_ends_its_sleep_without_a_loop) {
    cpu_call_t device;
    pthread_t thread;
    cpu_call_open(&device, 0, 2);
    gantry__cpu_pool_t *pool = device.device.pool;
    assert_int_equal(pthread_create(&thread, NULL, await_any_loop, pool), 0);
    await_sleepers(pool, 1);
    pool->worker_count = 1;
    wake_workers(pool, 1);
    pthread_join(thread, NULL);
    pool->worker_count = 0;
    assert_int_equal(atomic_load(&pool->sleepers), 0);
    cpu_call_close(&device);
}

TEST(pool_loop_of_few_tiles_calls_only_workers_that_it_lacks) {
    cpu_call_t device;
    cpu_call_open(&device, 0, 8);
    gantry__cpu_pool_t *pool = device.device.pool;
    static const struct {
        int sleepers, most, calls;
    } cases[] = {{7, 7, 7}, {7, 3, 3}, {7, 9, 7}, {5, 3, 1}, {4, 3, 0}, {2, 7, 2}, {0, 7, 0}};
    pool->worker_count = 7; /* none is started */
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        atomic_store(&pool->sleepers, cases[c].sleepers);
        calls_to_workers = 0;
        wake_workers(pool, cases[c].most);
        assert_int_equal(calls_to_workers, cases[c].calls);
    }
    pool->worker_count = 0;
    atomic_store(&pool->sleepers, 0);
    cpu_call_close(&device);
}

int main(void) { return test_main(); }
