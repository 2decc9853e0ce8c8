/* SPDX-License-Identifier: Apache-2.0 */
/* What an allocator (allocator.h) and the ladder of its requests (ladder.h) share: the options, a
 * request, and the state. Owner: the logical device owns the state; a request is the caller's.
 * Threads: the state's lock must be held for all that is marked so. */
#ifndef GANTRY_MEMORY_ALLOCATOR_STATE_H
#define GANTRY_MEMORY_ALLOCATOR_STATE_H

#include <stdatomic.h>

#include "memory/bfc.h"
#include "memory/memory_report.h"
#include "memory/region_source.h"
#include "base/os/thread.h"

typedef struct gantry__allocator_options_t {
    gantry__bfc_options_t bfc;
    bool garbage_collection; /* gives empty regions back when memory is short */
    /* waits for any free; otherwise only while ops of other threads hold temporary memory */
    bool explicit_retry;
    uint32_t retry_ms; /* longest wait of an allocation; 0: never waits */
} gantry__allocator_options_t;

/* A request. Zero-filled except for bytes and owner, it is a plain one. */
typedef struct gantry__allocation_t {
    uint64_t bytes;
    const char *owner; /* constant text for reports: the op's name */
    const char *tag;   /* the user's name for the memory, or NULL; must outlive the chunk */
    /* scratch and copies of inputs: freed when the running op ends, so that other threads may wait
     * for it */
    bool temporary;
    /* temporaries of this allocator that the requesting op holds itself: it does not wait for
     * those */
    uint32_t held;
    /* For each stream of the device, the number of the last submission known to have ended;
     * UINT64_MAX for the stream that will write first. Among free chunks of one size, the allocator
     * prefers one without pending uses. NULL: no preference. */
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
    uint64_t waiters_held;                 /* temporaries that the waiters hold */
    /* while there were waiters: shows them that something changed */
    uint64_t frees;
    gantry__condition_t freed;
    atomic_uint_fast64_t foreign_bytes; /* the program's memory in tensors: not in the books */
    gantry__ladder_counts_t counts;
    /* the report of the last refusal; NULL: none yet, or no host memory for it */
    gantry__memory_report_t *oom_report;
} gantry__allocator_t;

#endif
