/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Strategies: training on several devices, as TensorFlow's MirroredStrategy.
 *
 * Each device, a replica, has a copy of all variables and computes the gradients of its part of
 * each batch. The gradients of all are added, each device adding one part, and every copy is
 * updated by the sum. The order of the additions depends on the number of replicas alone.
 *
 * Several processes, on one machine or on many, train one model by gantry_multi_worker_strategy,
 * as TensorFlow's MultiWorkerMirroredStrategy. gantry_train_mpi/mpi.h connects them by MPI. */
#ifndef GANTRY_TRAIN_STRATEGY_H
#define GANTRY_TRAIN_STRATEGY_H

#include <gantry/gantry.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A strategy. The caller that made it releases it. */
typedef struct gantry_strategy_t gantry_strategy_t;

/** Mirrors over these devices: "GPU:0", "GPU:1". devices NULL: all GPUs, or all CPUs if there is
 * none. NULL after a failure, with its text in gantry_last_message: InvalidArgument for an unknown
 * device, one that occurs twice, or an empty list. */
GANTRY_API gantry_strategy_t *gantry_mirrored_strategy(gantry_runtime_t *runtime,
                                                       const char *const *devices, size_t count);
/** How the processes of a training reach each other. A program fills it in, or takes that of
 * gantry_train_mpi/mpi.h. Every process makes the same calls in the same order, from one thread at
 * a time. A call that fails returns a status with the text of gantry_fail, which names the process
 * that is gone; then all later calls fail, in every process. No call waits for a process that
 * has ended. `what` names the work in such a text: "step 17". */
typedef struct gantry_communicator_t {
    uint32_t struct_size; /**< Its sizeof; 0: that of version 0.1. */
    void *user;           /**< First argument of the functions. */
    size_t rank;          /**< The number of this process, from 0. */
    size_t size;          /**< How many processes there are. */
    size_t local_rank;    /**< The number of this process among those of its machine, from 0. */
    /** Replaces count elements by the sums over all processes, with the same bits in each. dtype:
     * GANTRY_FLOAT32, GANTRY_FLOAT64, or GANTRY_UINT64, whose sums wrap around. */
    gantry_status_t (*all_reduce)(void *user, void *elements, size_t count, gantry_dtype_t dtype,
                                  const char *what);
    /** Replaces the bytes by those of process root. */
    gantry_status_t (*broadcast)(void *user, void *data, size_t bytes, size_t root,
                                 const char *what);
    /** A process in a text: "host, pid 4711". May be NULL. */
    const char *(*describe)(void *user, size_t rank);
} gantry_communicator_t;

/** Mirrors over the devices of this process, and over those of all other processes. devices as for
 * gantry_mirrored_strategy, but NULL means one device: GPU number local_rank modulo the number of
 * GPUs, or the CPU if there is none. The communicator is copied; its user outlives the strategy.
 *
 * All processes read the same data set, and each takes its part of each batch, as TensorFlow's
 * AutoShardPolicy.DATA: with batches of 32 and 4 processes, 8 rows each. So losses, metrics and
 * weights are those of one process, but for rounding. The first weights are those of process 0. */
GANTRY_API gantry_strategy_t *gantry_multi_worker_strategy(
    gantry_runtime_t *runtime, const char *const *devices, size_t count,
    const gantry_communicator_t *communicator);
/** Releases a strategy; NULL does no harm. */
GANTRY_API void gantry_strategy_release(gantry_strategy_t *strategy);
/** The number of replicas in this process; 0 for NULL. */
GANTRY_API size_t gantry_strategy_replica_count(const gantry_strategy_t *strategy);
/** The full name of a replica's device; the strategy owns it. NULL for no such replica. */
GANTRY_API const char *gantry_strategy_device(const gantry_strategy_t *strategy, size_t replica);

#ifdef __cplusplus
}
#endif
#endif
