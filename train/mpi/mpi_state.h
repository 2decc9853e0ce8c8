/* SPDX-License-Identifier: Apache-2.0 */
/* A communicator of MPI as its own files see it: its communicators of processes, the memory that
 * the processes of a machine share, and the watch. Owner: the program has the communicator, and
 * must release it. Threads: externally synchronised. */
#ifndef GANTRY_TRAIN_MPI_STATE_H
#define GANTRY_TRAIN_MPI_STATE_H

#include <gantry_train/mpi.h>
#include <mpi.h>

#include "train/base/fail.h"
#include "train/mpi/machine.h"
#include "train/mpi/watch.h"

/* The process of a rank. */
typedef struct gantry__mpi_rank_t {
    char text[112]; /* "host, pid 4711" */
    char host[64];
} gantry__mpi_rank_t;

typedef struct gantry__mpi_t {
    gantry_communicator_t communicator; /* first: the caller's pointer */
    MPI_Comm world, leaders; /* all processes; the first of each machine, else MPI_COMM_NULL */
    gantry__machine_t machine;
    int machine_count;
    gantry__mpi_rank_t *ranks;
    gantry__watch_t watch;
    double timeout; /* seconds that a call waits; 0: without end */
    bool is_watched, finalizes;
    /* a copy of broadcast bytes: MPI may still touch it after a call that was given up */
    void *staging;
    bool is_broken;
    char why[GANTRY__TRAIN_MESSAGE_BYTES];
} gantry__mpi_t;

/* Waits until all processes have made this call, for at most `timeout` seconds, or without end if
 * that is 0. Rank 0 names those that did not come. It is in meet.c. */
gantry_status_t gantry__mpi_meet(double timeout);

gantry_status_t gantry__mpi_all_reduce(void *user, void *elements, size_t count,
                                       gantry_dtype_t dtype, const char *what);
gantry_status_t gantry__mpi_broadcast(void *user, void *data, size_t bytes, size_t root,
                                      const char *what);

#endif
