/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that their poster does not wait for. Threads of the workers run them, in the order in which
 * they came.
 *
 *     waiting -> running -> over: waiters may look -> notified -> ended -> dropped
 *
 * At most GANTRY__MOST_RUNNERS threads run jobs. They come with the first job and go back to the
 * workers when none is left. Owner: the poster has the memory of a job until its drop.
 * Thread-safe. */
#ifndef GANTRY_RUN_JOBS_H
#define GANTRY_RUN_JOBS_H

#include "base/failure.h"
#include "run/workers.h"

/* Half of the workers: functions need some for their lanes. */
#define GANTRY__MOST_RUNNERS 32
/* Threads that run jobs where the program chose no number. */
#define GANTRY__RUNNERS 4

typedef enum gantry__job_stage_t {
    GANTRY__JOB_WAITING,
    GANTRY__JOB_RUNNING,
    GANTRY__JOB_OVER, /* its result is there */
    GANTRY__JOB_ENDED /* the callback has returned, too */
} gantry__job_stage_t;

typedef struct gantry__job_t {
    struct gantry__job_t *next; /* in the queue; under lock, as the next two */
    gantry__job_stage_t stage;
    gantry__thread_t thread; /* that runs it, once it is running */
    void (*run)(struct gantry__job_t *job);
    void (*notify)(struct gantry__job_t *job); /* calls the program */
    void (*drop)(struct gantry__job_t *job);   /* nothing looks at the job afterwards */
} gantry__job_t;

typedef struct gantry__runner_t {
    struct gantry__jobs_t *jobs;
    gantry__work_t work;
    bool has_begun;  /* work must be waited for before it is used again; under lock */
    bool is_running; /* under lock */
} gantry__runner_t;

typedef struct gantry__jobs_t {
    gantry__workers_t workers; /* also for functions whose parts run at the same time */
    gantry__mutex_t lock;
    gantry__condition_t changed; /* the stage of a job, or the number of runners */
    gantry__job_t *first, *last; /* that wait; under lock */
    uint32_t running;            /* runners; under lock */
    bool is_closed;              /* under lock */
    gantry__runner_t runners[GANTRY__MOST_RUNNERS];
} gantry__jobs_t;

/* Returns 0, or an errno value. */
int gantry__jobs_init(gantry__jobs_t *jobs, const gantry__heap_t *heap);
/* The jobs must be closed, or none was posted; the workers end, too. */
void gantry__jobs_deinit(gantry__jobs_t *jobs);

/* Posts a job. threads: the most that run jobs; 0: GANTRY__RUNNERS; negative: none does, and the
 * job runs here, to its end. ResourceExhausted if there is no thread; FailedPrecondition once the
 * jobs are closed. After a failure the job is the caller's, and nothing of it ran. */
gantry_status_t gantry__jobs_post(gantry__jobs_t *jobs, gantry__job_t *job, int32_t threads);
/* Whether a wait for the job returns at once. */
bool gantry__job_is_over(gantry__jobs_t *jobs, const gantry__job_t *job);
/* Blocks until the job has ended; on a thread of the workers, where the job may wait for this very
 * thread, it only looks whether it is over: else FailedPrecondition. */
gantry_status_t gantry__job_wait(gantry__jobs_t *jobs, const gantry__job_t *job);
/* Whether the calling thread is one of the workers. */
bool gantry__jobs_are_here(gantry__jobs_t *jobs);
/* Blocks until no job waits or runs. It must not be called on a thread of the workers. */
void gantry__jobs_drain(gantry__jobs_t *jobs);
/* The same; no job may be posted any more. */
void gantry__jobs_close(gantry__jobs_t *jobs);

#endif
