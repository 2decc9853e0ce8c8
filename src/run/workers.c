/* SPDX-License-Identifier: Apache-2.0 */
#include "run/workers.h"

#include "base/failure.h"

#define MOST_WORKERS 64
/* of a thread's stack: an op needs GANTRY_STACK_BYTES, and drivers more */
#define STACK_BYTES (2u << 20)
#define FOREVER UINT64_MAX

typedef struct gantry__worker_t {
    struct gantry__worker_t *next_idle, *next;
    gantry__thread_t thread;
    gantry__mutex_t lock;
    gantry__condition_t changed;
    gantry__work_t *work; /* NULL: none; under lock */
    uint32_t part;
    bool ends; /* under lock */
    gantry__workers_t *workers;
} worker_t;

int gantry__workers_init(gantry__workers_t *workers, const gantry__heap_t *heap) {
    *workers = (gantry__workers_t){.heap = heap};
    return gantry__mutex_init(&workers->lock);
}

/* ---- a thread ---- */

static gantry__work_t *worker_wait(worker_t *worker) {
    gantry__mutex_lock(&worker->lock);
    while (!worker->work && !worker->ends)
        gantry__condition_wait(&worker->changed, &worker->lock, FOREVER);
    gantry__work_t *work = worker->work;
    worker->work = NULL;
    gantry__mutex_unlock(&worker->lock);
    return work;
}

static void worker_put_idle(worker_t *worker) {
    gantry__workers_t *workers = worker->workers;
    gantry__mutex_lock(&workers->lock);
    worker->next_idle = workers->idle;
    workers->idle = worker;
    gantry__mutex_unlock(&workers->lock);
}

static void *work_on(void *argument) {
    worker_t *worker = argument;
    for (gantry__work_t *work; (work = worker_wait(worker)) != NULL;) {
        *gantry__fp_slot() = work->program;
        work->fn(work->context, worker->part);
        *gantry__fp_slot() = NULL;
        worker_put_idle(worker);
        gantry__mutex_lock(&work->lock);
        if (--work->pending == 0) gantry__condition_wake_all(&work->changed);
        gantry__mutex_unlock(&work->lock);
    }
    return NULL;
}

/* ---- the threads ---- */

static void free_worker(const gantry__workers_t *workers, worker_t *worker) {
    gantry__condition_deinit(&worker->changed);
    gantry__mutex_deinit(&worker->lock);
    gantry__heap_free(workers->heap, worker, sizeof *worker);
}

/* Adds an idle worker. The caller must hold the lock. */
static bool add_worker(gantry__workers_t *workers) {
    const uint32_t before = gantry__failures();
    worker_t *worker =
        workers->count < MOST_WORKERS ? gantry__heap_zalloc(workers->heap, sizeof *worker) : NULL;
    gantry__forget_since(before);
    if (!worker) return false;
    worker->workers = workers;
    if (gantry__mutex_init(&worker->lock) != 0) {
        gantry__heap_free(workers->heap, worker, sizeof *worker);
        return false;
    }
    if (gantry__condition_init(&worker->changed) != 0) {
        gantry__mutex_deinit(&worker->lock);
        gantry__heap_free(workers->heap, worker, sizeof *worker);
        return false;
    }
    if (gantry__thread_start(&worker->thread, STACK_BYTES, work_on, worker) != 0) {
        free_worker(workers, worker);
        return false;
    }
    worker->next = workers->all;
    workers->all = worker;
    ++workers->count;
    worker->next_idle = workers->idle;
    workers->idle = worker;
    return true;
}

/* Takes `count` idle workers as a list, or none. */
static worker_t *take_workers(gantry__workers_t *workers, uint32_t count) {
    gantry__mutex_lock(&workers->lock);
    uint32_t found = 0;
    for (const worker_t *at = workers->idle; at && found < count; at = at->next_idle) ++found;
    while (found < count && add_worker(workers)) ++found;
    worker_t *taken = NULL;
    for (uint32_t i = 0; found == count && i < count; ++i) {
        worker_t *worker = workers->idle;
        workers->idle = worker->next_idle;
        worker->next_idle = taken;
        taken = worker;
    }
    gantry__mutex_unlock(&workers->lock);
    return taken;
}

bool gantry__workers_are_here(gantry__workers_t *workers) {
    bool is_here = false;
    gantry__mutex_lock(&workers->lock);
    for (const worker_t *at = workers->all; at && !is_here; at = at->next)
        is_here = gantry__thread_is_self(at->thread);
    gantry__mutex_unlock(&workers->lock);
    return is_here;
}

static void hand_out(worker_t *worker, gantry__work_t *work, uint32_t part) {
    gantry__mutex_lock(&worker->lock);
    worker->work = work;
    worker->part = part;
    gantry__condition_wake_all(&worker->changed);
    gantry__mutex_unlock(&worker->lock);
}

bool gantry__workers_start(gantry__workers_t *workers, uint32_t count, gantry__work_fn fn,
                           void *context, gantry__work_t *out_work) {
    *out_work = (gantry__work_t){
        .fn = fn, .context = context, .program = *gantry__fp_slot(), .pending = count};
    if (gantry__mutex_init(&out_work->lock) != 0) return false;
    if (gantry__condition_init(&out_work->changed) != 0) {
        gantry__mutex_deinit(&out_work->lock);
        return false;
    }
    worker_t *taken = take_workers(workers, count);
    if (!taken) {
        gantry__condition_deinit(&out_work->changed);
        gantry__mutex_deinit(&out_work->lock);
        return false;
    }
    for (uint32_t part = 1; taken; ++part) {
        worker_t *worker = taken;
        taken = worker->next_idle; /* before it runs: then the link is its own */
        hand_out(worker, out_work, part);
    }
    return true;
}

void gantry__workers_wait(gantry__work_t *work) {
    gantry__mutex_lock(&work->lock);
    while (work->pending > 0) gantry__condition_wait(&work->changed, &work->lock, FOREVER);
    gantry__mutex_unlock(&work->lock);
    gantry__condition_deinit(&work->changed);
    gantry__mutex_deinit(&work->lock);
}

void gantry__workers_deinit(gantry__workers_t *workers) {
    while (workers->all) {
        worker_t *worker = workers->all;
        workers->all = worker->next;
        gantry__mutex_lock(&worker->lock);
        worker->ends = true;
        gantry__condition_wake_all(&worker->changed);
        gantry__mutex_unlock(&worker->lock);
        gantry__thread_join(worker->thread);
        free_worker(workers, worker);
    }
    gantry__mutex_deinit(&workers->lock);
}
