/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator of one logical device: BFC books under a lock, regions from a source, a limit that
 * binds, a ladder before it refuses.
 *
 * Hands out chunks; does not know tensors, streams or backends. Owner: the logical device. A chunk
 * belongs to whoever allocated it until it is freed; all chunks are freed and all charges
 * discharged before deinit.
 * Thread-safe; the lock is not held while the source works or while an allocation waits. */
#ifndef GANTRY_MEMORY_ALLOCATOR_H
#define GANTRY_MEMORY_ALLOCATOR_H

#include "base/thread.h"
#include "memory/bfc.h"
#include "memory/memory_report.h"
#include "memory/region_source.h"

typedef struct gantry__allocator_options_t {
    gantry__bfc_options_t bfc;
    bool garbage_collection; /* empty regions may go back when memory is short */
    /* wait for any free; else only while ops that run elsewhere hold temporary memory */
    bool explicit_retry;
    uint32_t retry_ms; /* how long an allocation waits at most; 0: never */
} gantry__allocator_options_t;

/* What is asked for. Zero-filled but for bytes and owner is a plain request. */
typedef struct gantry__allocation_t {
    uint64_t bytes;
    const char *owner; /* for reports: constant text, the op's name */
    const char *tag;   /* the user's word, or NULL; outlives the chunk */
    /* scratch, copies of inputs: freed when the running op ends, so that others may wait for it */
    bool temporary;
    /* temporaries of this allocator that the asking op holds itself: it does not wait for those */
    uint32_t held;
    /* For each stream of the device the number of the last submission that is known to have ended,
     * UINT64_MAX for the stream that will write first: among free chunks of one size one that
     * nobody has to wait for is preferred. NULL: does not matter. */
    const uint64_t *completed;
} gantry__allocation_t;

typedef struct gantry__allocator_t {
    gantry__mutex_t lock;
    gantry__bfc_t bfc;
    gantry__region_source_t source;
    gantry__allocator_options_t options;
    char name[64]; /* "GPU_0_bfc" */
    /* under lock */
    uint64_t temporaries, temporary_bytes; /* alive */
    uint32_t waiters;                      /* allocations that wait for memory */
    uint64_t waiters_held;                 /* temporaries that these hold */
    /* while there were waiters: tells them that something changed */
    uint64_t frees;
    gantry__condition_t freed;
    gantry__ladder_counts_t counts;
    /* of the last refusal; NULL: none yet, or no host memory for it */
    gantry__memory_report_t *oom_report;
} gantry__allocator_t;

gantry_status_t gantry__allocator_init(gantry__allocator_t *allocator, const gantry__heap_t *heap,
                                       const gantry__allocator_options_t *options,
                                       const gantry__region_source_t *source, const char *name);
/* Gives every region back. */
void gantry__allocator_deinit(gantry__allocator_t *allocator);

/* A chunk of at least request->bytes. ResourceExhausted says what was asked, what is in use, the
 * largest free chunk, the limit, and what was tried. Hold no lock that the source's functions
 * take. */
gantry_status_t gantry__allocator_allocate(gantry__allocator_t *allocator,
                                           const gantry__allocation_t *request,
                                           gantry__bfc_chunk_t **out_chunk);
void gantry__allocator_free(gantry__allocator_t *allocator, gantry__bfc_chunk_t *chunk);

/* Counts memory taken outside the pool (staging, a library's workspace) against the limit; false
 * when there is no room, not even after empty regions went back. Hold no lock that the source's
 * functions take, but release_idle, which this does not call. */
bool gantry__allocator_charge(gantry__allocator_t *allocator, uint64_t bytes);
/* The same for what is never given back: it counts as the reserved bytes of the options. */
bool gantry__allocator_reserve(gantry__allocator_t *allocator, uint64_t bytes);
void gantry__allocator_discharge(gantry__allocator_t *allocator, uint64_t bytes);

/* Waits for pending work, then gives back idle staging, and wholly free regions, the largest first,
 * until the pool is at most target_bytes. *out_pool_bytes (may be NULL) is what is held
 * afterwards. Hold no lock that the source's functions take. */
void gantry__allocator_trim(gantry__allocator_t *allocator, uint64_t target_bytes,
                            uint64_t *out_pool_bytes);

void gantry__allocator_stats(gantry__allocator_t *allocator, gantry__bfc_stats_t *out_stats);
void gantry__allocator_clear_stats(gantry__allocator_t *allocator);
/* How often each outcome of the ladder came about. */
void gantry__allocator_counts(gantry__allocator_t *allocator, gantry__ladder_counts_t *out_counts);

/* A snapshot of now, heap memory of the allocator's heap that the caller frees (sizeof
 * **out_report). */
gantry_status_t gantry__allocator_report(gantry__allocator_t *allocator,
                                         gantry__memory_report_t **out_report);
/* The snapshot of the last refusal. NotFound: there was none; ResourceExhausted: it could not be
 * kept, or not be copied. */
gantry_status_t gantry__allocator_oom_report(gantry__allocator_t *allocator,
                                             gantry__memory_report_t **out_report);

#endif
