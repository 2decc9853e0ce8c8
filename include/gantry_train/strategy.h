/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Strategies: training on several devices, as TensorFlow's MirroredStrategy.
 *
 * Each device, a replica, has a copy of all variables and computes the gradients of its part of
 * each batch. The gradients of all are added, and every copy is updated by the sum. The order of
 * the additions depends on the number of replicas only. A model has an option for it
 * (gantry_train/model.h). A loop of a program's own is written with the calls of this header:
 *
 *     gantry_mirrored_variable_t *w = gantry_mirrored_variable(strategy, scope, initial, "w",
 *                                                              GANTRY_AGGREGATION_MEAN);
 *     gantry_strategy_run(strategy, scope, compute_gradient, &job);   // fills job.gradients
 *     gantry_strategy_reduce(strategy, scope, GANTRY_REDUCE_MEAN, job.gradients, job.means);
 *     gantry_strategy_run(strategy, scope, update_by_mean, &job);
 *
 * All of that works where ops run at once and in the body of a function, in which the replicas run
 * at the same time. The runtime's log gets TensorFlow's lines: the devices of a strategy, and how
 * the gradients of a step are reduced.
 *
 * Several processes, on one machine or on many, train one model by gantry_multi_worker_strategy, as
 * TensorFlow's MultiWorkerMirroredStrategy. gantry_train/mpi.h connects them by MPI. The calls for
 * loops of a program's own work in one process only. The caller that made a strategy or a mirrored
 * variable must release it. Threads: externally synchronised. */
#ifndef GANTRY_TRAIN_STRATEGY_H
#define GANTRY_TRAIN_STRATEGY_H

#include <gantry/gantry.h>
#include <gantry_train/optimizer.h>

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
 * gantry_train/mpi.h. Every process makes the same calls in the same order, from one thread at a
 * time. A function that fails must return a status, with a text by gantry_fail that names the
 * process that is gone; then all later calls must fail, in every process. No function may wait for
 * a process that has ended. `what` names the work in such a text: "step 17". */
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
 * GPUs, or the CPU if there is none. The communicator is copied; its user must outlive the
 * strategy.
 *
 * All processes must read the same data set, and each takes its part of each batch, as TensorFlow's
 * AutoShardPolicy.DATA: with batches of 32 and 4 processes, 8 rows each. So losses, metrics and
 * weights are those of one process, but for rounding. The first weights are those of process 0.
 *
 * All processes must train alike: gantry_model_fit and gantry_model_evaluate compare the layers,
 * what is trained, loss, metrics, optimizer and options before they begin. gantry_model_fit then
 * compares learning rate, number of steps and the bits of all weights after its first step, after
 * each 64th, and after each epoch. A difference is InvalidArgument in all processes, and names the
 * first rank that differs from rank 0, and in what. Of functions of the program's own (layers,
 * losses, schedules, callbacks) only the results are compared. */
GANTRY_API gantry_strategy_t *gantry_multi_worker_strategy(
    gantry_runtime_t *runtime, const char *const *devices, size_t count,
    const gantry_communicator_t *communicator);
/** Releases a strategy; NULL does no harm. */
GANTRY_API void gantry_strategy_release(gantry_strategy_t *strategy);
/** Compares what the processes of a strategy train, for loops of a program's own: the optimizer's
 * kind, settings, learning rate and number of steps, and of each variable the place in the list,
 * the name, the type, the shape and the bits. optimizer may be NULL: it is not compared. All
 * processes must call it at the same place, before the first step and now and then; it reads all of
 * the variables. InvalidArgument in all processes names the first rank that differs from rank 0,
 * and in what. A failure of one process is one of all. With one process it only checks the
 * arguments. Returns the scope's status. gantry_model_fit compares by itself. */
GANTRY_API gantry_status_t gantry_strategy_check_alike(const gantry_strategy_t *strategy,
                                                       gantry_scope_t *scope,
                                                       gantry_optimizer_t *optimizer,
                                                       gantry_variable_t *const *variables,
                                                       size_t count);
/** The number of replicas in this process; 0 for NULL. */
GANTRY_API size_t gantry_strategy_replica_count(const gantry_strategy_t *strategy);
/** The full name of a replica's device; the strategy owns it. NULL for no such replica. */
GANTRY_API const char *gantry_strategy_device(const gantry_strategy_t *strategy, size_t replica);

/* ---- loops of a program's own ---- */

/** Computes for one replica in a scope on its device. A result that is needed after the call must
 * be kept: gantry_scope_keep moves a tensor to the scope of gantry_strategy_run. It must not end
 * the scope: FailedPrecondition. */
typedef void (*gantry_replica_fn)(gantry_scope_t *scope, size_t replica, void *user);
/** Calls a function for each replica, in order, each with a scope of its own in `scope`. The first
 * failure ends it. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_strategy_run(const gantry_strategy_t *strategy,
                                               gantry_scope_t *scope, gantry_replica_fn run,
                                               void *user);

/** How values of replicas become one. */
typedef enum gantry_reduce_op_t {
    GANTRY_REDUCE_SUM = 0, /**< Their sum, in the order of the replicas. */
    GANTRY_REDUCE_MEAN = 1 /**< Their sum, divided by the number of replicas. */
} gantry_reduce_op_t;
/** Reduces a tensor of each replica, all of one type and shape, and writes the result for each
 * replica, on its device. The scope owns the results, which are NULL after a failure. MEAN refuses
 * types that are not floating. Unimplemented for a strategy of several processes, whose numbers the
 * communicator's all_reduce adds. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_strategy_reduce(const gantry_strategy_t *strategy,
                                                  gantry_scope_t *scope, gantry_reduce_op_t op,
                                                  const gantry_tensor_t *const *values,
                                                  const gantry_tensor_t **out_values);

/** How values that replicas assign to a mirrored variable become one. */
typedef enum gantry_aggregation_t {
    GANTRY_AGGREGATION_NONE = 0, /**< Not at all: gantry_mirrored_variable_assign is refused. */
    GANTRY_AGGREGATION_SUM = 1,  /**< Their sum. */
    GANTRY_AGGREGATION_MEAN = 2, /**< Their mean; not of a type that is not floating. */
    GANTRY_AGGREGATION_ONLY_FIRST_REPLICA = 3 /**< Replica 0's. */
} gantry_aggregation_t;

/** A variable with a copy on each replica. The caller that made it releases it. */
typedef struct gantry_mirrored_variable_t gantry_mirrored_variable_t;

/** Makes a variable on each replica, all with initial's value; they are named "w", "w/replica_1"
 * and so on. The strategy must outlive it. NULL after a failure, which the scope keeps:
 * InvalidArgument for MEAN of a type that is not floating. name may be NULL. */
GANTRY_API gantry_mirrored_variable_t *gantry_mirrored_variable(const gantry_strategy_t *strategy,
                                                                gantry_scope_t *scope,
                                                                const gantry_tensor_t *initial,
                                                                const char *name,
                                                                gantry_aggregation_t aggregation);
/** Releases a mirrored variable; NULL does no harm. */
GANTRY_API void gantry_mirrored_variable_release(gantry_mirrored_variable_t *variable);
/** The copy of a replica; the mirrored variable owns it. NULL for no such replica. */
GANTRY_API gantry_variable_t *gantry_mirrored_variable_copy(
    const gantry_mirrored_variable_t *variable, size_t replica);
/** Aggregates a value of each replica and assigns the result to every copy. Returns the scope's
 * status. */
GANTRY_API gantry_status_t gantry_mirrored_variable_assign(gantry_mirrored_variable_t *variable,
                                                           gantry_scope_t *scope,
                                                           const gantry_tensor_t *const *values);

#ifdef __cplusplus
}
#endif
#endif
