/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over all processes, in three stages, so that each machine sends a number once:
 *
 *     machine A: ranks 0 1 2 3 ── shared memory ── rank 0 ─┐                ┌─ all read the sum
 *                                                          ├── all-reduce ──┤
 *     machine B: ranks 4 5 6 7 ── shared memory ── rank 4 ─┘                └─ all read the sum
 *
 * Between machines MPI's calls are those that do not wait; there, and at the barriers of a machine,
 * the watch is read again and again. A call that was given up stays with MPI for ever, and with it
 * its memory. */
#include <stdio.h>
#include <string.h>

#include "base/os/thread.h"
#include "train/base/fp_mode.h"
#include "train/mpi/mpi_state.h"

#define GRACE_SECONDS 1.0
#define SHORT_SECONDS 0.0005
#define LONG_SECONDS 0.1
#define NAP_SHARE 0.002 /* of the time waited, which counts as a second at most */

/* ---- errors ---- */

/* Leaves the watch, so that nobody waits for this process. */
static gantry_status_t break_off(gantry__mpi_t *mpi, gantry_status_t status) {
    mpi->is_broken = true;
    (void)snprintf(mpi->why, sizeof mpi->why, "%s", gantry_last_message());
    if (mpi->is_watched) gantry__watch_deinit(&mpi->watch);
    mpi->is_watched = false;
    return status;
}

static gantry_status_t fail_of_mpi(gantry__mpi_t *mpi, int error, const char *what) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    (void)MPI_Error_string(error, text, &length);
    return break_off(mpi, gantry__train_fail(GANTRY_ABORTED, "MPI: %s during %s", text, what));
}

/* A rank that is late, or without a watch (NULL) all of them. */
static gantry_status_t fail_late(gantry__mpi_t *mpi, const char *who, const char *why,
                                 const char *what) {
    return break_off(
        mpi,
        gantry__train_fail(
            GANTRY_DEADLINE_EXCEEDED,
            "%s did not come to %s within %g seconds (timeout_seconds of the communicator): %s",
            who, what, mpi->timeout, why));
}

static gantry_status_t fail_of_rank(gantry__mpi_t *mpi, size_t rank, const char *what) {
    const unsigned reason = atomic_load(&mpi->watch.reason);
    char who[160];
    (void)snprintf(who, sizeof who, "rank %zu (%s)", rank, mpi->ranks[rank].text);
    if (reason == GANTRY__WATCH_SILENT)
        return fail_late(mpi, who, "its process is stopped, or its machine does not answer", what);
    if (reason == GANTRY__WATCH_LATE)
        return fail_late(mpi, who, "its process runs, and does other work", what);
    return break_off(
        mpi, gantry__train_fail(
                 GANTRY_ABORTED, "%s %s during %s", who,
                 reason == GANTRY__WATCH_LOST ? "ended" : "released its communicator", what));
}

/* ---- waiting ---- */

typedef struct waiting_t {
    unsigned tests;
    bool is_long;
    double begin, give_up; /* 0: not yet */
} waiting_t;

/* Tests often; a process that waits for long leaves the processor to others. Where they have work,
 * it gets the processor back after a time slice, 4 ms, so it does not yield at once. A nap is short
 * compared with the time waited, because a sum may take several rounds of messages. Returns how
 * long it has waited, or 0 if it has not looked. */
static double pause_between(waiting_t *waiting) {
    if (!waiting->is_long && ++waiting->tests % 64 > 0) return 0;
    if (waiting->begin == 0) waiting->begin = gantry__now_seconds();
    const double seconds = gantry__now_seconds() - waiting->begin;
    if (seconds < SHORT_SECONDS) return 0;
    waiting->is_long = seconds >= LONG_SECONDS;
    if (waiting->is_long) {
        const double nap = seconds < 1 ? seconds * NAP_SHARE : NAP_SHARE;
        gantry__os_sleep_ns((uint64_t)(nap * 1e9));
    } else {
        gantry__thread_yield();
    }
    return seconds;
}

/* Returns OK while a call must wait on. A process that ended directly after its part of a call may
 * have left all that the call needs, so the call gets some more time. */
static gantry_status_t keep_waiting(gantry__mpi_t *mpi, waiting_t *waiting, const char *what) {
    const size_t gone = atomic_load(&mpi->watch.gone);
    if (gone && waiting->give_up == 0) waiting->give_up = gantry__now_seconds() + GRACE_SECONDS;
    if (gone && gantry__now_seconds() > waiting->give_up) return fail_of_rank(mpi, gone - 1, what);
    const double waited = pause_between(waiting);
    if (waited == 0 || mpi->timeout == 0) return GANTRY_OK;
    if (!mpi->is_watched && waited > mpi->timeout)
        return fail_late(mpi, "a process", "which one is not known, since is_unwatched is set",
                         what);
    gantry__watch_wait(&mpi->watch, waited);
    gantry__watch_doubt_root(&mpi->watch, waited);
    return GANTRY_OK;
}

static gantry_status_t mpi_sum_wait_for(gantry__mpi_t *mpi, int error, MPI_Request *request,
                                        const char *what) {
    waiting_t waiting = {0};
    int is_done = 0;
    gantry__watch_begin_call(&mpi->watch);
    while (error == MPI_SUCCESS) {
        error = MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
        if (is_done) break;
        GANTRY__TRY(keep_waiting(mpi, &waiting, what));
    }
    gantry__watch_wait(&mpi->watch, 0);
    if (error == MPI_SUCCESS) return GANTRY_OK;
    return fail_of_mpi(mpi, error, what);
}

static gantry_status_t pass_barrier(gantry__mpi_t *mpi, const char *what) {
    waiting_t waiting = {0};
    gantry__watch_begin_call(&mpi->watch);
    gantry__machine_arrive(&mpi->machine);
    while (!gantry__machine_is_complete(&mpi->machine))
        GANTRY__TRY(keep_waiting(mpi, &waiting, what));
    gantry__watch_wait(&mpi->watch, 0);
    return GANTRY_OK;
}

/* ---- sums ---- */

static MPI_Datatype mpi_sum_type_of(gantry_dtype_t dtype) {
    if (dtype == GANTRY_FLOAT32) return MPI_FLOAT;
    return dtype == GANTRY_FLOAT64 ? MPI_DOUBLE : MPI_UINT64_T;
}

static gantry_status_t sum_between_machines(gantry__mpi_t *mpi, size_t count, gantry_dtype_t dtype,
                                            const char *what) {
    MPI_Request request;
    if (mpi->machine.rank == 0) {
        const int error =
            MPI_Iallreduce(MPI_IN_PLACE, gantry__machine_sum(&mpi->machine), (int)count,
                           mpi_sum_type_of(dtype), MPI_SUM, mpi->leaders, &request);
        GANTRY__TRY(mpi_sum_wait_for(mpi, error, &request, what));
    }
    return pass_barrier(mpi, what);
}

static gantry_status_t sum_chunk(gantry__mpi_t *mpi, void *elements, size_t count,
                                 gantry_dtype_t dtype, const char *what) {
    const size_t bytes = count * gantry_dtype_size(dtype);
    memcpy(gantry__machine_slot(&mpi->machine), elements, bytes);
    GANTRY__TRY(pass_barrier(mpi, what));
    gantry__machine_add(&mpi->machine, count, dtype);
    GANTRY__TRY(pass_barrier(mpi, what));
    if (mpi->machine_count > 1) GANTRY__TRY(sum_between_machines(mpi, count, dtype, what));
    memcpy(elements, gantry__machine_sum(&mpi->machine), bytes);
    return GANTRY_OK;
}

static gantry_status_t check_whole(const gantry__mpi_t *mpi) {
    return mpi->is_broken ? gantry_fail(GANTRY_ABORTED, mpi->why) : GANTRY_OK;
}

gantry_status_t gantry__mpi_all_reduce(void *user, void *elements, size_t count,
                                       gantry_dtype_t dtype, const char *what) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    gantry__mpi_t *mpi = user;
    const size_t each = gantry_dtype_size(dtype);
    unsigned char *at = elements;
    if (dtype != GANTRY_FLOAT32 && dtype != GANTRY_FLOAT64 && dtype != GANTRY_UINT64)
        return gantry__train_refuse(
            NULL, "gantry_mpi_communicator: a sum of %s; float32, float64 and uint64 are accepted",
            gantry_dtype_name(dtype));
    if (mpi->communicator.size == 1) return GANTRY_OK;
    GANTRY__TRY(check_whole(mpi));
    const size_t most = GANTRY__MACHINE_CHUNK / each;
    for (size_t done = 0; done < count; done += most) {
        const size_t some = count - done < most ? count - done : most;
        GANTRY__TRY(sum_chunk(mpi, at, some, dtype, what));
        at += some * each;
    }
    return GANTRY_OK;
}

/* ---- broadcasts ---- */

gantry_status_t gantry__mpi_broadcast(void *user, void *data, size_t bytes, size_t root,
                                      const char *what) {
    gantry__mpi_t *mpi = user;
    unsigned char *at = data;
    if (mpi->communicator.size == 1) return GANTRY_OK;
    GANTRY__TRY(check_whole(mpi));
    const size_t most = GANTRY__MACHINE_CHUNK;
    for (size_t done = 0; done < bytes; done += most) {
        const size_t some = bytes - done < most ? bytes - done : most;
        MPI_Request request;
        memcpy(mpi->staging, at, some);
        const int error =
            MPI_Ibcast(mpi->staging, (int)some, MPI_BYTE, (int)root, mpi->world, &request);
        GANTRY__TRY(mpi_sum_wait_for(mpi, error, &request, what));
        memcpy(at, mpi->staging, some);
        at += some;
    }
    return GANTRY_OK;
}
