/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator of one logical device: BFC books under a lock, regions from a source, a limit, and
 * a ladder of retries before it refuses.
 *
 * Hands out chunks; knows no tensors, streams or backends. Owner: the logical device. A chunk
 * belongs to the caller that allocated it until it is freed; all chunks are freed and all charges
 * discharged before deinit. Thread-safe; the lock is released while the source works and while an
 * allocation waits. */
#ifndef GANTRY_MEMORY_ALLOCATOR_H
#define GANTRY_MEMORY_ALLOCATOR_H

#include "memory/allocator_state.h"

gantry_status_t gantry__allocator_init(gantry__allocator_t *allocator, const gantry__heap_t *heap,
                                       const gantry__allocator_options_t *options,
                                       const gantry__region_source_t *source, const char *name);
/* Gives every region back. */
void gantry__allocator_deinit(gantry__allocator_t *allocator);

/* Allocates a chunk of at least request->bytes. ResourceExhausted names the request, the memory in
 * use, the largest free chunk, the limit, and the steps that were tried. Hold no lock that the
 * source's functions take. */
gantry_status_t gantry__allocator_allocate(gantry__allocator_t *allocator,
                                           const gantry__allocation_t *request,
                                           gantry__bfc_chunk_t **out_chunk);
void gantry__allocator_free(gantry__allocator_t *allocator, gantry__bfc_chunk_t *chunk);

/* Counts memory outside the pool (staging, a library's workspace) against the limit; false if there
 * is no room even after empty regions went back. Does not call release_idle. Hold no lock that the
 * source's other functions take. */
bool gantry__allocator_charge(gantry__allocator_t *allocator, uint64_t bytes);
/* The same for memory that is never given back: it counts as the reserved bytes of the options. */
bool gantry__allocator_reserve(gantry__allocator_t *allocator, uint64_t bytes);
void gantry__allocator_discharge(gantry__allocator_t *allocator, uint64_t bytes);

/* Waits for pending work, then gives back idle staging and free regions, the largest first, until
 * the pool has at most target_bytes. *out_pool_bytes (may be NULL) is the size afterwards. Hold no
 * lock that the source's functions take. */
void gantry__allocator_trim(gantry__allocator_t *allocator, uint64_t target_bytes,
                            uint64_t *out_pool_bytes);

void gantry__allocator_stats(gantry__allocator_t *allocator, gantry__bfc_stats_t *out_stats);
uint64_t gantry__allocator_bytes_in_use(gantry__allocator_t *allocator);
void gantry__allocator_clear_stats(gantry__allocator_t *allocator);
/* Counts of the ladder's outcomes. */
void gantry__allocator_counts(gantry__allocator_t *allocator, gantry__ladder_counts_t *out_counts);

/* A snapshot of now, from the allocator's heap; the caller must free it (sizeof **out_report). */
gantry_status_t gantry__allocator_report(gantry__allocator_t *allocator,
                                         gantry__memory_report_t **out_report);
/* The snapshot of the last refusal. NotFound: there was none; ResourceExhausted: no memory to keep
 * it, or to copy it. */
gantry_status_t gantry__allocator_oom_report(gantry__allocator_t *allocator,
                                             gantry__memory_report_t **out_report);

#endif
