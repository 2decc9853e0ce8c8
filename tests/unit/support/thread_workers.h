/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that are threads: a communicator over memory, for tests without MPI. Sums are in the
 * order of the ranks. A thread that has ended is a process that is gone. Calls of unlike kind, size
 * or type are counted in `mixed`: the library must never make them. Header only. */
#ifndef TESTS_THREAD_WORKERS_H
#define TESTS_THREAD_WORKERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gantry_train/strategy.h>

enum { THREAD_WORKERS_MOST = 16 };

typedef struct thread_workers_t thread_workers_t;

typedef struct thread_worker_t {
    thread_workers_t *group;
    gantry_communicator_t communicator;
    gantry_status_t (*run)(struct thread_worker_t *worker);
    gantry_status_t status; /* of run */
    char text[1024];        /* its message */
    char name[64];
    void *user;
} thread_worker_t;

struct thread_workers_t {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t size, arrived;
    uint64_t round; /* even: threads bring their numbers; odd: they take the sum */
    size_t mixed, calls;
    long dies_at;            /* rank 1 ends at this call of its own, from 0; -1: never */
    size_t gone, first_gone; /* how many threads have ended, and which was the first */
    const void *sent[THREAD_WORKERS_MOST];
    size_t bytes[THREAD_WORKERS_MOST];
    int kinds[THREAD_WORKERS_MOST]; /* a type, or -1 - root */
    unsigned char *sum;
    thread_worker_t workers[THREAD_WORKERS_MOST];
};

static inline gantry_status_t thread_workers_lost(const thread_workers_t *g, const char *what) {
    char text[256];
    (void)snprintf(text, sizeof text, "rank %zu (%s) ended during %s", g->first_gone,
                   g->workers[g->first_gone].name, what);
    return gantry_fail(GANTRY_ABORTED, text);
}

static inline void thread_workers_add(unsigned char *sum, const void *data, size_t bytes,
                                      int dtype) {
    for (size_t i = 0; dtype == GANTRY_FLOAT64 && i < bytes / 8; ++i)
        ((double *)(void *)sum)[i] += ((const double *)data)[i];
    for (size_t i = 0; dtype == GANTRY_FLOAT32 && i < bytes / 4; ++i)
        ((float *)(void *)sum)[i] += ((const float *)data)[i];
    for (size_t i = 0; dtype == GANTRY_UINT64 && i < bytes / 8; ++i)
        ((uint64_t *)(void *)sum)[i] += ((const uint64_t *)data)[i];
}

/* By the thread that comes last. */
static inline void thread_workers_combine(thread_workers_t *g) {
    ++g->calls;
    for (size_t r = 1; r < g->size; ++r) {
        if (g->kinds[r] == g->kinds[0] && g->bytes[r] == g->bytes[0]) continue;
        ++g->mixed;
        return;
    }
    g->sum = realloc(g->sum, g->bytes[0] + 1);
    memset(g->sum, 0, g->bytes[0]);
    if (g->kinds[0] < 0) {
        memcpy(g->sum, g->sent[-1 - g->kinds[0]], g->bytes[0]);
        return;
    }
    for (size_t r = 0; r < g->size; ++r)
        thread_workers_add(g->sum, g->sent[r], g->bytes[r], g->kinds[r]);
}

/* Waits for all threads; false: one is gone. */
static inline bool thread_workers_wait(thread_workers_t *g) {
    const uint64_t round = g->round;
    if (g->gone == 0 && ++g->arrived == g->size) {
        if (round % 2 == 0) thread_workers_combine(g);
        g->arrived = 0;
        ++g->round;
        (void)pthread_cond_broadcast(&g->changed);
    }
    while (g->round == round && g->gone == 0) (void)pthread_cond_wait(&g->changed, &g->mutex);
    return g->round != round;
}

static inline void thread_workers_leave(thread_worker_t *worker) {
    if (worker->group->gone++ == 0) worker->group->first_gone = worker->communicator.rank;
    (void)pthread_cond_broadcast(&worker->group->changed);
}

static inline gantry_status_t thread_workers_meet(thread_worker_t *worker, void *data, size_t bytes,
                                                  int kind, const char *what) {
    thread_workers_t *g = worker->group;
    const size_t rank = worker->communicator.rank;
    gantry_status_t status = GANTRY_OK;
    (void)pthread_mutex_lock(&g->mutex);
    if (rank == 1 && g->dies_at >= 0 && g->dies_at-- == 0) thread_workers_leave(worker);
    g->sent[rank] = data;
    g->bytes[rank] = bytes;
    g->kinds[rank] = kind;
    if (thread_workers_wait(g)) {
        if (g->mixed == 0) memcpy(data, g->sum, bytes);
        (void)thread_workers_wait(g); /* until all have copied it */
    } else {
        status = thread_workers_lost(g, what);
    }
    (void)pthread_mutex_unlock(&g->mutex);
    return status;
}

static inline gantry_status_t thread_workers_all_reduce(void *user, void *elements, size_t count,
                                                        gantry_dtype_t dtype, const char *what) {
    return thread_workers_meet(user, elements, count * gantry_dtype_size(dtype), (int)dtype, what);
}

static inline gantry_status_t thread_workers_broadcast(void *user, void *data, size_t bytes,
                                                       size_t root, const char *what) {
    return thread_workers_meet(user, data, bytes, -1 - (int)root, what);
}

static inline const char *thread_workers_describe(void *user, size_t rank) {
    const thread_worker_t *worker = user;
    return worker->group->workers[rank].name;
}

static inline void *thread_workers_begin(void *user) {
    thread_worker_t *worker = user;
    worker->status = worker->run(worker);
    (void)snprintf(worker->text, sizeof worker->text, "%s",
                   worker->status == GANTRY_OK ? "" : gantry_last_message());
    (void)pthread_mutex_lock(&worker->group->mutex);
    thread_workers_leave(worker);
    (void)pthread_mutex_unlock(&worker->group->mutex);
    return NULL;
}

static inline void thread_workers_fill(thread_worker_t *worker, size_t rank) {
    (void)snprintf(worker->name, sizeof worker->name, "thread %zu", rank);
    worker->communicator = (gantry_communicator_t){.struct_size = sizeof worker->communicator,
                                                   .user = worker,
                                                   .rank = rank,
                                                   .size = worker->group->size,
                                                   .local_rank = rank,
                                                   .all_reduce = thread_workers_all_reduce,
                                                   .broadcast = thread_workers_broadcast,
                                                   .describe = thread_workers_describe};
}

/* Runs the function in `size` threads, rank 1 of which dies at a call; -1: none. The results are in
 * g->workers. */
static inline void thread_workers_run(thread_workers_t *g, size_t size, long dies_at,
                                      gantry_status_t (*run)(thread_worker_t *worker), void *user) {
    pthread_t threads[THREAD_WORKERS_MOST];
    memset(g, 0, sizeof *g);
    (void)pthread_mutex_init(&g->mutex, NULL);
    (void)pthread_cond_init(&g->changed, NULL);
    g->size = size;
    g->dies_at = dies_at;
    for (size_t r = 0; r < size; ++r) {
        g->workers[r].group = g;
        g->workers[r].run = run;
        g->workers[r].user = user;
        thread_workers_fill(&g->workers[r], r);
    }
    for (size_t r = 0; r < size; ++r)
        (void)pthread_create(&threads[r], NULL, thread_workers_begin, &g->workers[r]);
    for (size_t r = 0; r < size; ++r) (void)pthread_join(threads[r], NULL);
    (void)pthread_mutex_destroy(&g->mutex);
    (void)pthread_cond_destroy(&g->changed);
    free(g->sum);
    g->sum = NULL;
}

#endif
