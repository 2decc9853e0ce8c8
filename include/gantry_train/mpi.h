/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Training in several processes by MPI: the library gantry_train_mpi, which is built where MPI is
 * installed. Link Gantry::gantry_train_mpi, or `pkg-config --libs gantry_train_mpi`.
 *
 *     gantry_communicator_t *processes = gantry_mpi_communicator(NULL);
 *     gantry_strategy_t *strategy = gantry_multi_worker_strategy(runtime, NULL, 0, processes);
 *     ... train; a program that failed ends without the release ...
 *     gantry_strategy_release(strategy);
 *     gantry_mpi_communicator_release(processes);
 *
 * and then `mpirun -n 4 program`. Sums are added within each machine, then between machines, then
 * handed back, so each machine sends every number once.
 *
 * A watch by TCP, from every process to rank 0, notices a process that has ended: calls that wait
 * for it fail within seconds, with its rank, machine and process number. Each process must then end
 * without MPI_Finalize, which would wait for it. The library itself ends no process.
 *
 * The caller that made a communicator must release it, after the strategies and models that use it.
 * Threads: externally synchronised. */
#ifndef GANTRY_TRAIN_MPI_H
#define GANTRY_TRAIN_MPI_H

#include <gantry_train/strategy.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Options of a communicator. */
typedef struct gantry_mpi_options_t {
    uint32_t struct_size; /**< Its sizeof; 0: that of version 0.1. */
    /** The number of neighboring ranks that count as one machine, to try several machines on one.
     * 0: MPI says which share a machine. */
    size_t ranks_per_machine;
    /** Leaves out the watch, where machines cannot reach each other by TCP. Then calls wait for a
     * process that has ended, until mpirun ends all. */
    bool is_unwatched;
    /** How long a call waits for other processes. Then it is DeadlineExceeded in all processes that
     * wait, with the rank, machine and process number of the one that did not come: it is stopped,
     * its machine does not answer, or it does other work for so long. So it must be longer than the
     * work that one process may do by itself between two steps: a first trace, a checkpoint on a
     * slow disk. 0: 600 seconds; negative: without end. gantry_mpi_communicator itself waits so
     * long until all processes have come to it. */
    double timeout_seconds;
} gantry_mpi_options_t;

/** Whether mpirun, or another starter of MPI, has started this process. */
GANTRY_API bool gantry_mpi_is_launched(void);
/** Joins the processes that were started together; all of them must call it with the same options.
 * Initialises MPI, unless the program has done so. options may be NULL. NULL after a failure, with
 * its text in gantry_last_message; it is then NULL in all processes.
 *
 * DeadlineExceeded if a process does not come within timeout_seconds; rank 0 names it. The process
 * must then end without MPI_Finalize, which would wait. Two waits have no end but that of the
 * starter, `mpirun --timeout SECONDS`: MPI_Init, in which Open MPI waits until all processes have
 * called it, and a process that is stopped in the middle of this call, after all have met. */
GANTRY_API gantry_communicator_t *gantry_mpi_communicator(const gantry_mpi_options_t *options);
/** Leaves the processes; NULL does no harm. Finalises MPI if gantry_mpi_communicator initialised
 * it, and no process was lost. Models and strategies that use it must be released before. */
GANTRY_API void gantry_mpi_communicator_release(gantry_communicator_t *communicator);

#ifdef __cplusplus
}
#endif
#endif
