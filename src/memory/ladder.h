/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of an allocator when no free chunk fits, and giving regions back.
 *
 * This is part of the allocator, in a file of its own; what it makes belongs to the allocator.
 * Threads: the caller must hold the allocator's lock. Every function returns with it, and releases
 * it while the source works or an allocation waits. */
#ifndef GANTRY_MEMORY_LADDER_H
#define GANTRY_MEMORY_LADDER_H

#include "memory/allocator_state.h"

/* Extends, waits and gives back memory; *out_chunk or ResourceExhausted, with the report kept. */
gantry_status_t gantry__ladder_climb(gantry__allocator_t *allocator,
                                     const gantry__allocation_t *request,
                                     gantry__bfc_chunk_t **out_chunk);

/* A free chunk for the request; *out_chunk NULL with OK when none fits. */
static inline gantry_status_t gantry__ladder_reuse(gantry__allocator_t *allocator,
                                                   const gantry__allocation_t *request,
                                                   gantry__bfc_chunk_t **out_chunk) {
    if (request->completed)
        return gantry__bfc_allocate_ready(&allocator->bfc, request->bytes, request->completed,
                                          out_chunk);
    return gantry__bfc_allocate(&allocator->bfc, request->bytes, out_chunk);
}

/* Waits for pending work and gives free regions back, the largest first, until the pool has at most
 * target_bytes. Returns their bytes; out_count may be NULL. Does nothing, and does not wait, if
 * there is none. */
uint64_t gantry__ladder_give_back(gantry__allocator_t *allocator, uint64_t target_bytes,
                                  uint64_t *out_count);

/* Must be called when memory came free, so that waiters look again. */
static inline void gantry__ladder_wake(gantry__allocator_t *allocator) {
    if (allocator->waiters == 0) return;
    ++allocator->frees;
    gantry__condition_wake_all(&allocator->freed);
}

#endif
