/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and releases a communicator. Each step that may fail in one process must end with an
 * exchange of the result, so that it fails in all, and none waits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/process.h"
#include "train/base/fp_mode.h"
#include "shared/memory.h"
#include "train/mpi/mpi_state.h"

#define DEFAULT_TIMEOUT_SECONDS 600.0

bool gantry_mpi_is_launched(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        if (getenv(names[i])) return true;
    }
    return false;
}

static const char *mpi_communicator_describe(void *user, size_t rank) {
    const gantry__mpi_t *mpi = user;
    return mpi->ranks[rank].text;
}

/* ---- MPI itself ---- */

static gantry_status_t check_mpi(int error, const char *call) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (error == MPI_SUCCESS) return GANTRY_OK;
    (void)MPI_Error_string(error, text, &length);
    return gantry__train_fail(GANTRY_UNAVAILABLE, "gantry_mpi_communicator: %s: %s", call, text);
}

static gantry_status_t start_mpi(bool *out_finalizes) {
    int is_initialized, is_finalized, level;
    (void)MPI_Initialized(&is_initialized);
    (void)MPI_Finalized(&is_finalized);
    *out_finalizes = false;
    if (is_finalized)
        return gantry__train_fail(
            GANTRY_FAILED_PRECONDITION,
            "gantry_mpi_communicator: MPI is finalised already, which is for ever; a program that makes several communicators initialises MPI itself");
    if (is_initialized) return GANTRY_OK;
    GANTRY__TRY(
        check_mpi(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread"));
    *out_finalizes = true;
    return GANTRY_OK;
}

/* ---- exchanges of results ---- */

/* The first failed process's error in all processes. */
static gantry_status_t mpi_communicator_agree(const gantry__mpi_t *mpi, gantry_status_t status) {
    char text[GANTRY__TRAIN_MESSAGE_BYTES] = "";
    const int rank = (int)mpi->communicator.rank, size = (int)mpi->communicator.size;
    int first = status == GANTRY_OK ? size : rank, code = (int)status;
    if (status != GANTRY_OK) (void)snprintf(text, sizeof text, "%s", gantry_last_message());
    GANTRY__TRY(check_mpi(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, mpi->world),
                          "MPI_Allreduce"));
    if (first == size) return GANTRY_OK;
    GANTRY__TRY(check_mpi(MPI_Bcast(&code, 1, MPI_INT, first, mpi->world), "MPI_Bcast"));
    GANTRY__TRY(check_mpi(MPI_Bcast(text, sizeof text, MPI_BYTE, first, mpi->world), "MPI_Bcast"));
    if (first == rank) return gantry_fail(status, text);
    return gantry__train_fail((gantry_status_t)code, "rank %d failed: %s", first, text);
}

/* ---- the processes ---- */

static gantry_status_t join_world(gantry__mpi_t *mpi) {
    int rank, size;
    GANTRY__TRY(check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &mpi->world), "MPI_Comm_dup"));
    (void)MPI_Comm_set_errhandler(mpi->world, MPI_ERRORS_RETURN);
    GANTRY__TRY(check_mpi(MPI_Comm_rank(mpi->world, &rank), "MPI_Comm_rank"));
    GANTRY__TRY(check_mpi(MPI_Comm_size(mpi->world, &size), "MPI_Comm_size"));
    mpi->communicator = (gantry_communicator_t){.struct_size = sizeof mpi->communicator,
                                                .user = mpi,
                                                .rank = (size_t)rank,
                                                .size = (size_t)size,
                                                .all_reduce = gantry__mpi_all_reduce,
                                                .broadcast = gantry__mpi_broadcast,
                                                .describe = mpi_communicator_describe};
    return GANTRY_OK;
}

static gantry_status_t name_ranks(gantry__mpi_t *mpi) {
    const size_t size = mpi->communicator.size;
    gantry__mpi_rank_t own = {.text = ""};
    mpi->ranks = gantry__alloc(size, sizeof *mpi->ranks);
    GANTRY__TRY(mpi_communicator_agree(mpi, mpi->ranks ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED));
    gantry__os_host_name(own.host, sizeof own.host);
    (void)snprintf(own.text, sizeof own.text, "%s, pid %ld", own.host, (long)gantry__os_process());
    return check_mpi(
        MPI_Allgather(&own, sizeof own, MPI_BYTE, mpi->ranks, sizeof own, MPI_BYTE, mpi->world),
        "MPI_Allgather");
}

static void free_comm(MPI_Comm *comm) {
    if (*comm != MPI_COMM_NULL) (void)MPI_Comm_free(comm);
}

/* The processes of `machine` open their memory, or none does. */
static gantry_status_t share_memory(gantry__mpi_t *mpi, MPI_Comm machine) {
    char name[GANTRY__OS_SHARED_NAME_BYTES] = "";
    int rank, size;
    (void)MPI_Comm_rank(machine, &rank);
    (void)MPI_Comm_size(machine, &size);
    gantry_status_t status =
        rank == 0 ? gantry__machine_make(&mpi->machine, (size_t)size, name) : GANTRY_OK;
    (void)MPI_Bcast(name, sizeof name, MPI_BYTE, 0, machine);
    if (rank > 0) status = gantry__machine_open(&mpi->machine, (size_t)rank, (size_t)size, name);
    status = mpi_communicator_agree(mpi, status);
    if (rank == 0) gantry__machine_unlink(name);
    if (status != GANTRY_OK) gantry__machine_close(&mpi->machine);
    return status;
}

static gantry_status_t join_leaders(gantry__mpi_t *mpi) {
    const int leads = mpi->machine.rank == 0, rank = (int)mpi->communicator.rank;
    GANTRY__TRY(
        check_mpi(MPI_Comm_split(mpi->world, leads ? 0 : MPI_UNDEFINED, rank, &mpi->leaders),
                  "MPI_Comm_split"));
    if (mpi->leaders != MPI_COMM_NULL)
        (void)MPI_Comm_set_errhandler(mpi->leaders, MPI_ERRORS_RETURN);
    return check_mpi(MPI_Allreduce(&leads, &mpi->machine_count, 1, MPI_INT, MPI_SUM, mpi->world),
                     "MPI_Allreduce");
}

/* `each` is how many ranks a machine has; if it is 0, MPI says which ranks share one. */
static gantry_status_t join_machine(gantry__mpi_t *mpi, size_t each) {
    const int rank = (int)mpi->communicator.rank;
    MPI_Comm machine = MPI_COMM_NULL;
    int local;
    GANTRY__TRY(check_mpi(
        each ? MPI_Comm_split(mpi->world, rank / (int)each, rank, &machine)
             : MPI_Comm_split_type(mpi->world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine),
        "MPI_Comm_split"));
    (void)MPI_Comm_rank(machine, &local);
    if (each != 1) mpi->communicator.local_rank = (size_t)local;
    const gantry_status_t status = share_memory(mpi, machine);
    free_comm(&machine);
    return status;
}

/* Processes that cannot share memory (containers of one machine) are machines of their own. */
static gantry_status_t split_machines(gantry__mpi_t *mpi, size_t each) {
    gantry_status_t status = join_machine(mpi, each);
    if (status == GANTRY_UNAVAILABLE && each != 1) status = join_machine(mpi, 1);
    return status == GANTRY_OK ? join_leaders(mpi) : status;
}

static bool is_one_host(const gantry__mpi_t *mpi) {
    for (size_t r = 1; r < mpi->communicator.size; ++r) {
        if (strcmp(mpi->ranks[r].host, mpi->ranks[0].host) != 0) return false;
    }
    return true;
}

static gantry_status_t start_watch(gantry__mpi_t *mpi) {
    const size_t rank = mpi->communicator.rank;
    gantry__watch_place_t place = {.count = 0};
    mpi->is_watched = true;
    gantry_status_t status =
        gantry__watch_init(&mpi->watch, rank, mpi->communicator.size, mpi->timeout);
    if (status == GANTRY_OK && rank == 0)
        status = gantry__watch_open(&mpi->watch, is_one_host(mpi), &place);
    GANTRY__TRY(mpi_communicator_agree(mpi, status));
    GANTRY__TRY(check_mpi(MPI_Bcast(&place, sizeof place, MPI_BYTE, 0, mpi->world), "MPI_Bcast"));
    return mpi_communicator_agree(mpi, gantry__watch_connect(&mpi->watch, &place));
}

/* ---- begin and end ---- */

static double timeout_of(const gantry_mpi_options_t *o) {
    return o->timeout_seconds == 0  ? DEFAULT_TIMEOUT_SECONDS
           : o->timeout_seconds > 0 ? o->timeout_seconds
                                    : 0;
}

/* Options that are refused are refused in all processes, when they have met. */
static gantry_status_t mpi_communicator_meet(const gantry_mpi_options_t *options) {
    gantry_mpi_options_t o = {.timeout_seconds = 0};
    (void)gantry__struct_read(options, sizeof o, &o, sizeof o, "options");
    return gantry__mpi_meet(timeout_of(&o));
}

static gantry_status_t mpi_communicator_begin(gantry__mpi_t *mpi,
                                              const gantry_mpi_options_t *options) {
    gantry_mpi_options_t o;
    gantry_status_t status =
        gantry__struct_read(options, sizeof o, &o, sizeof o, "gantry_mpi_communicator: options");
    if (status == GANTRY_OK && !(mpi->staging = gantry__alloc(GANTRY__MACHINE_CHUNK, 1)))
        status = GANTRY_RESOURCE_EXHAUSTED;
    if (status == GANTRY_OK && isnan(o.timeout_seconds))
        status = gantry__train_refuse(
            NULL,
            "gantry_mpi_communicator: timeout_seconds is NaN; seconds, 0 for %g, and negative numbers for no end are accepted",
            DEFAULT_TIMEOUT_SECONDS);
    GANTRY__TRY(mpi_communicator_agree(mpi, status));
    mpi->timeout = timeout_of(&o);
    GANTRY__TRY(name_ranks(mpi));
    GANTRY__TRY(split_machines(mpi, o.ranks_per_machine));
    return o.is_unwatched ? GANTRY_OK : start_watch(mpi);
}

/* Leaves MPI. With a lost process, MPI's calls must not be made, because they would wait for it. */
static void leave_mpi(gantry__mpi_t *mpi) {
    if (mpi->is_broken) return;
    free_comm(&mpi->leaders);
    free_comm(&mpi->world);
    if (mpi->finalizes) (void)MPI_Finalize();
}

static void mpi_release(gantry__mpi_t *mpi) {
    if (mpi->is_watched) gantry__watch_deinit(&mpi->watch);
    if (!mpi->is_broken) {
        gantry__free(mpi->staging);
        gantry__machine_close(&mpi->machine);
    }
    leave_mpi(mpi);
    gantry__free(mpi->ranks);
    gantry__free(mpi);
}

gantry_communicator_t *gantry_mpi_communicator(const gantry_mpi_options_t *options) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    gantry__mpi_t first = {.world = MPI_COMM_NULL};
    if (start_mpi(&first.finalizes) != GANTRY_OK || mpi_communicator_meet(options) != GANTRY_OK ||
        join_world(&first) != GANTRY_OK)
        return NULL;
    gantry__mpi_t *mpi = gantry__alloc(1, sizeof *mpi);
    gantry_status_t status =
        mpi_communicator_agree(&first, mpi ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED);
    if (!mpi || status != GANTRY_OK) {
        first.leaders = MPI_COMM_NULL;
        leave_mpi(&first);
        gantry__free(mpi);
        return NULL;
    }
    memcpy(mpi, &first, sizeof first);
    mpi->leaders = MPI_COMM_NULL;
    mpi->communicator.user = mpi;
    if (mpi_communicator_begin(mpi, options) == GANTRY_OK) return &mpi->communicator;
    mpi_release(mpi);
    return NULL;
}

void gantry_mpi_communicator_release(gantry_communicator_t *communicator) {
    if (communicator) mpi_release(communicator->user);
}
