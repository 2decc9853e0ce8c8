/* The allocator of one logical device: BFC books under a lock, regions from a source, a limit that binds, statistics.
 *
 * Hands out chunks; does not know tensors, streams or backends. Owner: the logical device. A chunk belongs to whoever allocated it
 * until it is freed; all chunks are freed before deinit.
 * Thread-safe; the lock is not held while the source works. */
#ifndef GANTRY_MEMORY_ALLOCATOR_H
#define GANTRY_MEMORY_ALLOCATOR_H

#include "base/thread.h"
#include "memory/bfc.h"
#include "memory/region_source.h"

typedef struct gantry__allocator_t {
    gantry__mutex_t lock;
    gantry__bfc_t bfc;
    gantry__region_source_t source;
    char name[64]; /* "GPU_0_bfc" */
} gantry__allocator_t;

gantry_status_t gantry__allocator_init(gantry__allocator_t *allocator, const gantry__heap_t *heap, const gantry__bfc_options_t *options,
                                       const gantry__region_source_t *source, const char *name);
/* Gives every region back. */
void gantry__allocator_deinit(gantry__allocator_t *allocator);

/* A chunk of at least bytes. Climbs: reuse, extend, give back empty regions and extend again. ResourceExhausted says what was asked, what
 * is in use, the largest free chunk, the limit, and what was tried. owner is constant text for reports (an op's name). */
gantry_status_t gantry__allocator_allocate(gantry__allocator_t *allocator, uint64_t bytes, const char *owner,
                                           gantry__bfc_chunk_t **out_chunk);
void gantry__allocator_free(gantry__allocator_t *allocator, gantry__bfc_chunk_t *chunk);

void gantry__allocator_stats(gantry__allocator_t *allocator, gantry__bfc_stats_t *out_stats);
void gantry__allocator_clear_stats(gantry__allocator_t *allocator);

#endif
