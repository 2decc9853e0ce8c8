/* SPDX-License-Identifier: Apache-2.0 */
/* A communicator of MPI inside. */
#ifndef GANTRY_TRAIN_MPI_STATE_H
#define GANTRY_TRAIN_MPI_STATE_H

#include <gantry_train/mpi.h>
#include <mpi.h>

#include "train/base/fail.h"
#include "train/mpi/watch.h"

#define GANTRY__MPI_STAGING_BYTES ((size_t)8 << 20)

/* Who a rank is. */
typedef struct gantry__mpi_rank_t {
    char text[112]; /* "host, pid 4711" */
    char host[64];
} gantry__mpi_rank_t;

typedef struct gantry__mpi_t {
    gantry_communicator_t communicator; /* first: the caller's pointer */
    /* all processes; those of a machine; the first of each machine (else MPI_COMM_NULL) */
    MPI_Comm world, machine, leaders;
    int machine_rank, machine_count;
    gantry__mpi_rank_t *ranks;
    gantry__watch_t watch;
    bool is_watched, finalizes;
    /* a copy of some numbers: MPI may still touch it after a call that was given up */
    void *staging;
    bool is_broken;
    char why[GANTRY__TRAIN_MESSAGE_BYTES];
} gantry__mpi_t;

gantry_status_t gantry__mpi_all_reduce(void *user, void *elements, size_t count,
                                       gantry_dtype_t dtype, const char *what);
gantry_status_t gantry__mpi_broadcast(void *user, void *data, size_t bytes, size_t root,
                                      const char *what);

#endif
