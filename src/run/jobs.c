/* SPDX-License-Identifier: Apache-2.0 */
#include "run/jobs.h"

#define FOREVER UINT64_MAX

int gantry__jobs_init(gantry__jobs_t *jobs, const gantry__heap_t *heap) {
    *jobs = (gantry__jobs_t){.is_closed = false};
    for (uint32_t i = 0; i < GANTRY__MOST_RUNNERS; ++i) jobs->runners[i].jobs = jobs;
    int code = gantry__workers_init(&jobs->workers, heap);
    if (code != 0) return code;
    code = gantry__mutex_init(&jobs->lock);
    if (code == 0) {
        code = gantry__condition_init(&jobs->changed);
        if (code == 0) return 0;
        gantry__mutex_deinit(&jobs->lock);
    }
    gantry__workers_deinit(&jobs->workers);
    return code;
}

void gantry__jobs_deinit(gantry__jobs_t *jobs) {
    for (uint32_t i = 0; i < GANTRY__MOST_RUNNERS; ++i) {
        if (jobs->runners[i].has_begun) gantry__workers_wait(&jobs->runners[i].work);
    }
    gantry__condition_deinit(&jobs->changed);
    gantry__mutex_deinit(&jobs->lock);
    gantry__workers_deinit(&jobs->workers);
}

bool gantry__jobs_are_here(gantry__jobs_t *jobs) {
    return gantry__workers_are_here(&jobs->workers);
}

/* ---- one job ---- */

static void set_stage(gantry__jobs_t *jobs, gantry__job_t *job, gantry__job_stage_t stage) {
    gantry__mutex_lock(&jobs->lock);
    job->stage = stage;
    if (stage == GANTRY__JOB_RUNNING) job->thread = gantry__thread_self();
    gantry__condition_wake_all(&jobs->changed);
    gantry__mutex_unlock(&jobs->lock);
}

static void job_run(gantry__jobs_t *jobs, gantry__job_t *job) {
    set_stage(jobs, job, GANTRY__JOB_RUNNING);
    job->run(job);
    set_stage(jobs, job, GANTRY__JOB_OVER);
    job->notify(job);
    set_stage(jobs, job, GANTRY__JOB_ENDED);
    job->drop(job);
}

/* The lock is held. is_here: on a thread of the workers, which must not wait for what the program
 * does in its callback. */
static bool may_look(const gantry__job_t *job, bool is_here) {
    if (job->stage != GANTRY__JOB_OVER) return job->stage == GANTRY__JOB_ENDED;
    return is_here || gantry__thread_is_self(job->thread);
}

bool gantry__job_is_over(gantry__jobs_t *jobs, const gantry__job_t *job) {
    const bool is_here = gantry__jobs_are_here(jobs);
    gantry__mutex_lock(&jobs->lock);
    const bool is_over = may_look(job, is_here);
    gantry__mutex_unlock(&jobs->lock);
    return is_over;
}

gantry_status_t gantry__job_wait(gantry__jobs_t *jobs, const gantry__job_t *job) {
    const bool is_here = gantry__jobs_are_here(jobs);
    gantry__mutex_lock(&jobs->lock);
    while (!is_here && !may_look(job, false))
        gantry__condition_wait(&jobs->changed, &jobs->lock, FOREVER);
    const bool is_over = may_look(job, is_here);
    gantry__mutex_unlock(&jobs->lock);
    if (is_over) return GANTRY_OK;
    return gantry__fail(
        GANTRY_FAILED_PRECONDITION,
        "a callback waits for a call that has not ended, which may wait for the callback's thread; a call that has ended is accepted");
}

/* ---- runners ---- */

static gantry__job_t *take_first(gantry__jobs_t *jobs) {
    gantry__job_t *job = jobs->first;
    if (job) jobs->first = job->next;
    if (!jobs->first) jobs->last = NULL;
    return job;
}

/* Each job brings the floating-point mode of its own program. */
static void run_all(void *context, uint32_t part) {
    gantry__runner_t *runner = context;
    gantry__jobs_t *jobs = runner->jobs;
    (void)part;
    *gantry__fp_slot() = NULL;
    gantry__mutex_lock(&jobs->lock);
    for (gantry__job_t *job; (job = take_first(jobs)) != NULL;) {
        gantry__mutex_unlock(&jobs->lock);
        job_run(jobs, job);
        gantry__mutex_lock(&jobs->lock);
    }
    runner->is_running = false;
    --jobs->running;
    gantry__condition_wake_all(&jobs->changed);
    gantry__mutex_unlock(&jobs->lock);
}

/* Adds a runner. The lock is held: a runner that ended needs it no more, so that its thread can be
 * waited for. */
static bool add_runner(gantry__jobs_t *jobs) {
    gantry__runner_t *runner = jobs->runners;
    while (runner->is_running) ++runner;
    if (runner->has_begun) gantry__workers_wait(&runner->work);
    runner->has_begun = gantry__workers_start(&jobs->workers, 1, run_all, runner, &runner->work);
    runner->is_running = runner->has_begun;
    jobs->running += runner->has_begun;
    return runner->has_begun;
}

static gantry_status_t check_open(const gantry__jobs_t *jobs) {
    if (!jobs->is_closed) return GANTRY_OK;
    return gantry__fail(GANTRY_FAILED_PRECONDITION,
                        "the runtime is being released; no call can be started any more");
}

/* The lock is held. Jobs that wait have a runner: one that cannot be added is missed only where
 * there is none. */
static gantry_status_t add_job(gantry__jobs_t *jobs, gantry__job_t *job, uint32_t most) {
    GANTRY__TRY(check_open(jobs));
    if (jobs->running < most && !add_runner(jobs) && jobs->running == 0)
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a thread for a started call");
    job->next = NULL;
    if (jobs->last)
        jobs->last->next = job;
    else
        jobs->first = job;
    jobs->last = job;
    return GANTRY_OK;
}

gantry_status_t gantry__jobs_post(gantry__jobs_t *jobs, gantry__job_t *job, int32_t threads) {
    const uint32_t wanted = threads == 0 ? GANTRY__RUNNERS : (uint32_t)threads;
    gantry__mutex_lock(&jobs->lock);
    job->stage = GANTRY__JOB_WAITING;
    const gantry_status_t status =
        threads < 0
            ? check_open(jobs)
            : add_job(jobs, job, wanted < GANTRY__MOST_RUNNERS ? wanted : GANTRY__MOST_RUNNERS);
    gantry__mutex_unlock(&jobs->lock);
    if (status == GANTRY_OK && threads < 0) job_run(jobs, job);
    return status;
}

/* ---- all jobs ---- */

static void drain_locked(gantry__jobs_t *jobs) {
    while (jobs->first || jobs->running > 0)
        gantry__condition_wait(&jobs->changed, &jobs->lock, FOREVER);
}

void gantry__jobs_drain(gantry__jobs_t *jobs) {
    gantry__mutex_lock(&jobs->lock);
    drain_locked(jobs);
    gantry__mutex_unlock(&jobs->lock);
}

void gantry__jobs_close(gantry__jobs_t *jobs) {
    gantry__mutex_lock(&jobs->lock);
    jobs->is_closed = true;
    drain_locked(jobs);
    gantry__mutex_unlock(&jobs->lock);
}
