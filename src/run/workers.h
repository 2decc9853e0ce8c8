/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that run the parts of one job at the same time, kept between jobs.
 *
 * Made on first need; they sleep in between. Owner: the runtime. Thread-safe. */
#ifndef GANTRY_RUN_WORKERS_H
#define GANTRY_RUN_WORKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fp_mode.h"
#include "base/heap.h"
#include "base/os/thread.h"

typedef void (*gantry__work_fn)(void *context, uint32_t part);

typedef struct gantry__workers_t {
    const gantry__heap_t *heap;
    gantry__mutex_t lock;
    struct gantry__worker_t *idle; /* under lock */
    struct gantry__worker_t *all;  /* under lock */
    uint32_t count;                /* under lock */
} gantry__workers_t;

/* A job that runs. In the caller's memory; not moved before wait returns. */
typedef struct gantry__work_t {
    gantry__work_fn fn;
    void *context;
    gantry__fp_program_t program; /* the mode of callbacks */
    gantry__mutex_t lock;
    gantry__condition_t changed;
    uint32_t pending; /* parts; under lock */
} gantry__work_t;

/* Returns 0, or an errno value. */
int gantry__workers_init(gantry__workers_t *workers, const gantry__heap_t *heap);
/* Ends the threads; no job runs. */
void gantry__workers_deinit(gantry__workers_t *workers);

/* Whether the calling thread is one of them. */
bool gantry__workers_are_here(gantry__workers_t *workers);
/* Starts fn(context, part) for the parts 1 to count, each on a thread of its own. False, and
 * nothing runs, where there are not as many threads: a part may wait for another. */
bool gantry__workers_start(gantry__workers_t *workers, uint32_t count, gantry__work_fn fn,
                           void *context, gantry__work_t *out_work);
/* Blocks until all parts have returned. */
void gantry__workers_wait(gantry__work_t *work);

#endif
