/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the lanes of a schedule at the same time: lane 0 on the caller's thread, each other one on a
 * worker.
 *
 * Each lane publishes how many of its actions have ended. An action that needs another lane polls
 * that number for some microseconds, then sleeps. The first failure stops all lanes; its text is
 * carried to the caller's thread. */
#include <stdatomic.h>
#include <stdio.h>

#include "base/os/clock.h"
#include "function/frame/frame.h"

#define POLLS_BEFORE_SLEEP 4000
#define SLEEP_NS 20000

/* The progress of a lane, padded because each lane writes its own number often. */
typedef struct lane_progress_t {
    atomic_uint ended;
    char padding[60];
} lane_progress_t;

typedef struct lanes_run_t {
    gantry__frame_t *frame;
    const gantry_tensor_t *const *arguments;
    lane_progress_t lanes[GANTRY__MOST_LANES];
    atomic_bool has_failed;
    gantry_status_t status; /* the first failure; under the frame's lock */
    char message[GANTRY__MESSAGE_BYTES];
} lanes_run_t;

static bool has_ended(const lanes_run_t *run, const gantry__lane_wait_t *wait) {
    return atomic_load_explicit(&run->lanes[wait->lane].ended, memory_order_acquire) >= wait->count;
}

/* Waits until the other lane is as far as the wait says. False: another lane failed. */
static bool wait_for_lane(const lanes_run_t *run, const gantry__lane_wait_t *wait) {
    for (uint32_t polls = 0; !has_ended(run, wait); ++polls) {
        if (atomic_load_explicit(&run->has_failed, memory_order_relaxed)) return false;
        if (polls >= POLLS_BEFORE_SLEEP) gantry__os_sleep_ns(SLEEP_NS);
    }
    return true;
}

static void lanes_keep_failure(lanes_run_t *run, gantry_status_t status) {
    gantry__mutex_lock(&run->frame->shared->faults);
    if (run->status == GANTRY_OK) {
        run->status = status;
        (void)snprintf(run->message, sizeof run->message, "%s", gantry__message());
    }
    gantry__mutex_unlock(&run->frame->shared->faults);
    atomic_store_explicit(&run->has_failed, true, memory_order_release);
}

static void run_lane(void *context, uint32_t lane) {
    lanes_run_t *run = context;
    const gantry__schedule_t *schedule = run->frame->schedule;
    for (uint32_t i = 0; i < schedule->lane_sizes[lane]; ++i) {
        const gantry__action_t *action = &schedule->actions[schedule->lanes[lane][i]];
        for (uint32_t k = 0; k < action->wait_count; ++k) {
            if (!wait_for_lane(run, &action->waits[k])) return;
        }
        if (atomic_load_explicit(&run->has_failed, memory_order_relaxed)) return;
        gantry_status_t status = gantry__frame_do(run->frame, action, run->arguments);
        if (status != GANTRY_OK) {
            lanes_keep_failure(run, status);
            return;
        }
        atomic_store_explicit(&run->lanes[lane].ended, i + 1, memory_order_release);
    }
}

bool gantry__frame_run_lanes(gantry__frame_t *frame, const gantry_tensor_t *const *arguments,
                             gantry_status_t *out_status) {
    lanes_run_t run = {.frame = frame, .arguments = arguments};
    gantry__work_t work;
    if (!gantry__workers_start(&frame->schedule->runtime->jobs.workers,
                               frame->schedule->lane_count - 1, run_lane, &run, &work))
        return false;
    run_lane(&run, 0);
    gantry__workers_wait(&work);
    *out_status = run.status == GANTRY_OK ? GANTRY_OK : gantry__fail(run.status, "%s", run.message);
    return true;
}
