/* SPDX-License-Identifier: Apache-2.0 */
/* The training library's memory, for the headers of checkpoints. Owner: constant data. Threads:
 * thread-safe. */
#ifndef GANTRY_TRAIN_CHECKPOINT_MEMORY_H
#define GANTRY_TRAIN_CHECKPOINT_MEMORY_H

#include "shared/safetensors.h"

extern const gantry__safetensors_memory_t gantry__checkpoint_memory;

#endif
