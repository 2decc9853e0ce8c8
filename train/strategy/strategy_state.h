/* SPDX-License-Identifier: Apache-2.0 */
/* A strategy inside. */
#ifndef GANTRY_TRAIN_STRATEGY_STATE_H
#define GANTRY_TRAIN_STRATEGY_STATE_H

#include <gantry_train/strategy.h>

struct gantry_strategy_t {
    char **devices; /* full names */
    size_t count;
};

/* Writes the line of TensorFlow's batch_all_reduce to the log. */
void gantry__strategy_log_reduction(gantry_runtime_t *runtime, size_t values, size_t packs);

#endif
