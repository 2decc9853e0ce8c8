/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk: the struct that the books of a device's memory (bfc.h), their index of free chunks
 * (bfc_bins.h) and the allocator's callers share. Owner: the books, which take the structs from
 * their heap. Threads: externally synchronised, as the books. */
#ifndef GANTRY_MEMORY_BFC_CHUNK_H
#define GANTRY_MEMORY_BFC_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

/* Streams of one device whose last use a chunk remembers. */
#define GANTRY__BFC_STREAMS 4

/* A piece of a region, in use or free. All may read it; a field says what others may write. */
typedef struct gantry__bfc_chunk_t {
    uint64_t bytes;           /* a multiple of the alignment */
    uint64_t offset;          /* the offset in the region */
    uint64_t requested_bytes; /* requested bytes; 0 while free */
    struct gantry__bfc_region_t *region;
    /* neighbours in the region, by offset; NULL at its ends */
    struct gantry__bfc_chunk_t *next, *previous;
    /* Number of the last submission on each stream of the device that uses these bytes. After
     * allocate: uses by former owners, for which the new one must wait, except on its own stream.
     * The caller raises or resets them while it owns the chunk; free keeps them. Merged chunks have
     * the maximum, split ones the same. */
    uint64_t last_use[GANTRY__BFC_STREAMS];
    /* for reports, must be set by the caller after allocate: the op's name, ... */
    const char *owner;
    /* ... and the user's name for it. NULL after allocate; must outlive the use of the chunk */
    const char *tag;
    bool in_use;
    bool temporary; /* the allocator's own */

    /* The index's own: */
    uint16_t bin_class;
    uint32_t priority;
    uint64_t order; /* place in the row of all regions: region->base + offset */
    struct gantry__bfc_chunk_t *left, *right, *up;
} gantry__bfc_chunk_t;

#endif
