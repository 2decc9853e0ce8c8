/* SPDX-License-Identifier: Apache-2.0 */
/* Examples that train in several processes, which mpirun starts. The first one prints and saves for
 * all. Without the library gantry_train_mpi there is one process. */
#ifndef GANTRY_EXAMPLES_EXAMPLE_PROCESSES_H
#define GANTRY_EXAMPLES_EXAMPLE_PROCESSES_H

#ifdef EXAMPLE_HAS_MPI
#include <gantry_train/mpi.h>
#endif

#include "example_training.h"

/* Joins the processes that mpirun started. It returns NULL if there is one. */
static inline gantry_communicator_t *example_join_processes(void) {
    gantry_communicator_t *processes = NULL;
#ifdef EXAMPLE_HAS_MPI
    if (!gantry_mpi_is_launched()) return NULL;
    processes = gantry_mpi_communicator(NULL);
    if (!processes) example_check(GANTRY_UNAVAILABLE, "gantry_mpi_communicator");
    if (processes->rank > 0 && !freopen("/dev/null", "w", stdout))
        example_check(GANTRY_UNAVAILABLE, "/dev/null");
    (void)printf("%zu processes; process 0 prints\n", processes->size);
#endif
    return processes;
}

static inline void example_leave_processes(gantry_communicator_t *processes) {
#ifdef EXAMPLE_HAS_MPI
    gantry_mpi_communicator_release(processes);
#else
    (void)processes;
#endif
}

static inline bool example_is_first(const gantry_communicator_t *processes) {
    return !processes || processes->rank == 0;
}

#endif
