/* SPDX-License-Identifier: Apache-2.0 */
/* A strategy as its own files see it: the devices of this process, and the communicator with the
 * other processes. Owner: the program has a strategy, which owns its texts; a model copies what it
 * needs. Threads: externally synchronised. */
#ifndef GANTRY_TRAIN_STRATEGY_STATE_H
#define GANTRY_TRAIN_STRATEGY_STATE_H

#include <gantry_train/strategy.h>

struct gantry_strategy_t {
    char **devices; /* full names, of this process */
    size_t count;
    bool has_nccl;                      /* for gradients of all replicas */
    gantry_communicator_t communicator; /* size 0: there is one process */
};

/* Returns the communicator with the other processes; NULL if there is one process. */
const gantry_communicator_t *gantry__strategy_communicator(const gantry_strategy_t *strategy);

/* Writes the line of TensorFlow's batch_all_reduce to the log. */
void gantry__strategy_log_reduction(gantry_runtime_t *runtime, bool has_nccl, size_t values,
                                    size_t packs);

#endif
