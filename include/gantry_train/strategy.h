/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Strategies: training on several devices, as TensorFlow's MirroredStrategy.
 *
 * Each device, a replica, has a copy of all variables and computes the gradients of its part of
 * each batch. The gradients of all are added, each device adding one part, and every copy is
 * updated by the sum. The order of the additions depends on the number of replicas alone. */
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
/** Releases a strategy; NULL does no harm. */
GANTRY_API void gantry_strategy_release(gantry_strategy_t *strategy);
/** The number of replicas; 0 for NULL. */
GANTRY_API size_t gantry_strategy_replica_count(const gantry_strategy_t *strategy);
/** The full name of a replica's device; the strategy owns it. NULL for no such replica. */
GANTRY_API const char *gantry_strategy_device(const gantry_strategy_t *strategy, size_t replica);

#ifdef __cplusplus
}
#endif
#endif
