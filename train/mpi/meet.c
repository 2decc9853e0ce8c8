/* SPDX-License-Identifier: Apache-2.0 */
/* The first meeting of the processes, with an end: MPI's calls that make communicators wait for all
 * processes without one. Rank 0 also gathers a byte from each, to say who is missing. */
#include <stdio.h>

#include "train/mpi/mpi_state.h"
#include "base/os/thread.h"

enum { BARRIER = 0, GATHER = 1, REQUESTS = 2, MOST_RANKS = 4096, MOST_NAMED = 8 };

/* A meeting that was given up stays with MPI, so that its memory lasts; it must not allocate,
 * because the others would wait if memory is out. */
static struct {
    int rank, size;
    bool is_given_up;
    unsigned char mine, came[MOST_RANKS]; /* came: of rank 0, 1 for each rank that has come */
    MPI_Request requests[REQUESTS];
} meeting;

static gantry_status_t fail_of(int error) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    (void)MPI_Error_string(error, text, &length);
    return gantry__train_fail(GANTRY_UNAVAILABLE, "gantry_mpi_communicator: %s", text);
}

/* "rank 2, 5": their bytes are not there, and MPI writes none while it is not called. */
static void name_missing(char *out, size_t room) {
    size_t used = 0, count = 0;
    for (int r = 0; meeting.rank == 0 && r < meeting.size && r < MOST_RANKS; ++r) {
        if (meeting.came[r] == 1 || ++count > MOST_NAMED) continue;
        used += (size_t)snprintf(out + used, room - used, "%s%d", count == 1 ? "rank " : ", ", r);
    }
    if (count > MOST_NAMED)
        (void)snprintf(out + used, room - used, " and %zu more", count - MOST_NAMED);
    if (count == 0) (void)snprintf(out, room, "a rank, which rank 0 names,");
}

static gantry_status_t give_up(double timeout) {
    char who[160];
    meeting.is_given_up = true;
    name_missing(who, sizeof who);
    return gantry__train_fail(
        GANTRY_DEADLINE_EXCEEDED,
        "gantry_mpi_communicator: %s of %d ranks did not come within %g seconds (timeout_seconds): its process is stopped, or does other work",
        who, meeting.size, timeout);
}

static gantry_status_t wait_for_all(double timeout) {
    const double begin = gantry__now_seconds();
    for (;;) {
        int is_done;
        const int error = MPI_Testall(REQUESTS, meeting.requests, &is_done, MPI_STATUSES_IGNORE);
        if (error != MPI_SUCCESS) return fail_of(error);
        if (is_done) return GANTRY_OK;
        if (timeout > 0 && gantry__now_seconds() - begin > timeout) return give_up(timeout);
        gantry__os_sleep_ns(200000);
    }
}

gantry_status_t gantry__mpi_meet(double timeout) {
    if (meeting.is_given_up) /* its answers would be taken for those of this one */
        return gantry__train_fail(
            GANTRY_FAILED_PRECONDITION,
            "gantry_mpi_communicator: an earlier call of this process did not end within its timeout_seconds; a new process is accepted");
    meeting.mine = 1;
    meeting.requests[GATHER] = MPI_REQUEST_NULL;
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &meeting.rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &meeting.size);
    for (int r = 0; r < MOST_RANKS; ++r) meeting.came[r] = 0;
    int error = MPI_Ibarrier(MPI_COMM_WORLD, &meeting.requests[BARRIER]);
    if (error == MPI_SUCCESS && meeting.size <= MOST_RANKS)
        error = MPI_Igather(&meeting.mine, 1, MPI_BYTE, meeting.came, 1, MPI_BYTE, 0,
                            MPI_COMM_WORLD, &meeting.requests[GATHER]);
    return error == MPI_SUCCESS ? wait_for_all(timeout) : fail_of(error);
}
