/* SPDX-License-Identifier: Apache-2.0 */
/* What memory and its cells both know. Owner: memory_create makes it, and memory_destroy ends it.
 * Threads: as memory.h says. */
#ifndef GANTRY_TENSORFLOW_MEMORY_STATE_H
#define GANTRY_TENSORFLOW_MEMORY_STATE_H

#include <stdint.h>

/* The addresses of all devices of the process. */
typedef struct memory_t memory_t;

/* The figures of one device's addresses. */
typedef struct memory_figures_t {
    int64_t bytes;       /* the bytes of live allocations */
    int64_t most_bytes;  /* the most since the start */
    int64_t largest;     /* the largest allocation since the start */
    int64_t allocations; /* since the start */
} memory_figures_t;

#endif
