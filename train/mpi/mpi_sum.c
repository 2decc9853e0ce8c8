/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over all processes, in three stages, so that each machine sends a number once:
 *
 *     machine A: ranks 0 1 2 3 ── add ──> rank 0 ─┐                ┌─> rank 0 ── hand back ──>
 *                                                 ├── all-reduce ──┤
 *     machine B: ranks 4 5 6 7 ── add ──> rank 4 ─┘                └─> rank 4 ── hand back ──>
 *
 * Every stage is one of MPI's calls that do not wait; between its tests the watch is asked. A call
 * that was given up stays with MPI for ever, and with it the staging memory. */
#define _POSIX_C_SOURCE 200809L
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "train/mpi/mpi_state.h"

#define GRACE_SECONDS 1.0

static double now(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

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

static gantry_status_t fail_of_rank(gantry__mpi_t *mpi, size_t rank, const char *what) {
    return break_off(
        mpi, gantry__train_fail(
                 GANTRY_ABORTED, "rank %zu (%s) %s during %s", rank, mpi->ranks[rank].text,
                 atomic_load(&mpi->watch.is_lost) ? "ended" : "released its communicator", what));
}

/* ---- waiting ---- */

/* Tests often at first; a process that waits for long leaves the processor to others. */
static void pause_between(unsigned tests) {
    const struct timespec nap = {.tv_nsec = 50000};
    if (tests < 2000) return;
    if (tests < 4000)
        (void)sched_yield();
    else
        (void)nanosleep(&nap, NULL);
}

/* A process that ended right behind its part of a call may have left all that the call needs, so
 * the call gets some more time. */
static gantry_status_t wait_for(gantry__mpi_t *mpi, int error, MPI_Request *request,
                                const char *what) {
    double give_up = 0;
    int is_done = 0;
    for (unsigned tests = 0; error == MPI_SUCCESS; ++tests) {
        error = MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
        if (is_done) return GANTRY_OK;
        const size_t gone = atomic_load(&mpi->watch.gone);
        if (gone && give_up == 0) give_up = now() + GRACE_SECONDS;
        if (gone && now() > give_up) return fail_of_rank(mpi, gone - 1, what);
        pause_between(tests);
    }
    return fail_of_mpi(mpi, error, what);
}

/* ---- sums ---- */

static MPI_Datatype type_of(gantry_dtype_t dtype) {
    if (dtype == GANTRY_FLOAT32) return MPI_FLOAT;
    return dtype == GANTRY_FLOAT64 ? MPI_DOUBLE : MPI_UINT64_T;
}

static gantry_status_t sum_chunk(gantry__mpi_t *mpi, int count, MPI_Datatype type,
                                 const char *what) {
    const bool leads = mpi->machine_rank == 0;
    void *data = mpi->staging;
    MPI_Request request;
    int error;
    if (mpi->machine_count < (int)mpi->communicator.size) {
        error = MPI_Ireduce(leads ? MPI_IN_PLACE : data, leads ? data : NULL, count, type, MPI_SUM,
                            0, mpi->machine, &request);
        GANTRY__TRAIN_TRY(wait_for(mpi, error, &request, what));
    }
    if (leads && mpi->machine_count > 1) {
        error = MPI_Iallreduce(MPI_IN_PLACE, data, count, type, MPI_SUM, mpi->leaders, &request);
        GANTRY__TRAIN_TRY(wait_for(mpi, error, &request, what));
    }
    error = MPI_Ibcast(data, count, type, 0, mpi->machine, &request);
    return wait_for(mpi, error, &request, what);
}

static gantry_status_t check_whole(const gantry__mpi_t *mpi) {
    return mpi->is_broken ? gantry_fail(GANTRY_ABORTED, mpi->why) : GANTRY_OK;
}

gantry_status_t gantry__mpi_all_reduce(void *user, void *elements, size_t count,
                                       gantry_dtype_t dtype, const char *what) {
    gantry__mpi_t *mpi = user;
    const size_t each = gantry_dtype_size(dtype);
    unsigned char *at = elements;
    if (dtype != GANTRY_FLOAT32 && dtype != GANTRY_FLOAT64 && dtype != GANTRY_UINT64)
        return gantry__train_fail(
            GANTRY_INVALID_ARGUMENT,
            "gantry_mpi_communicator: a sum of %s; float32, float64 and uint64 are accepted",
            gantry_dtype_name(dtype));
    if (mpi->communicator.size == 1) return GANTRY_OK;
    GANTRY__TRAIN_TRY(check_whole(mpi));
    const size_t most = GANTRY__MPI_STAGING_BYTES / each;
    for (size_t done = 0; done < count; done += most) {
        const size_t some = count - done < most ? count - done : most;
        memcpy(mpi->staging, at, some * each);
        GANTRY__TRAIN_TRY(sum_chunk(mpi, (int)some, type_of(dtype), what));
        memcpy(at, mpi->staging, some * each);
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
    GANTRY__TRAIN_TRY(check_whole(mpi));
    const size_t most = GANTRY__MPI_STAGING_BYTES;
    for (size_t done = 0; done < bytes; done += most) {
        const size_t some = bytes - done < most ? bytes - done : most;
        MPI_Request request;
        memcpy(mpi->staging, at, some);
        const int error =
            MPI_Ibcast(mpi->staging, (int)some, MPI_BYTE, (int)root, mpi->world, &request);
        GANTRY__TRAIN_TRY(wait_for(mpi, error, &request, what));
        memcpy(at, mpi->staging, some);
        at += some;
    }
    return GANTRY_OK;
}
