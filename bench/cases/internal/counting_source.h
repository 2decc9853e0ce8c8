/* SPDX-License-Identifier: Apache-2.0 */
/* A region source without memory: regions are only numbers. It isolates the cost and the memory of
 * an allocator. Threads: thread-safe. */
#ifndef GANTRY_BENCH_COUNTING_SOURCE_H
#define GANTRY_BENCH_COUNTING_SOURCE_H

#include <stdatomic.h>

#include "memory/allocator.h"

typedef struct counting_source_t {
    _Atomic uint64_t regions; /* taken so far */
    _Atomic uint64_t waits;
} counting_source_t;

/* A Gantry allocator over such a source, with growth and collection. It never waits. */
typedef struct counted_allocator_t {
    counting_source_t source;
    gantry__allocator_t allocator;
} counted_allocator_t;

/* split_bytes is the allocator's option; 0: its default. */
gantry_status_t counted_allocator_init(counted_allocator_t *counted, uint64_t limit_bytes,
                                       uint64_t split_bytes);
void counted_allocator_deinit(counted_allocator_t *counted);

/* Returns NULL if the allocator refuses. */
gantry__bfc_chunk_t *counted_allocate(counted_allocator_t *counted, uint64_t bytes);
void counted_free(counted_allocator_t *counted, gantry__bfc_chunk_t *chunk);

#endif
