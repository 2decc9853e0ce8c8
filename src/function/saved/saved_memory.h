/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's heap as memory for headers of safetensors. Owner: the caller's; the heap must
 * outlive the headers. Threads: as the heap. */
#ifndef GANTRY_FUNCTION_SAVED_MEMORY_H
#define GANTRY_FUNCTION_SAVED_MEMORY_H

#include "base/heap.h"
#include "shared/safetensors.h"

gantry__safetensors_memory_t gantry__saved_memory(const gantry__heap_t *heap);

#endif
