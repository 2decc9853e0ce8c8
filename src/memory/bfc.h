/* SPDX-License-Identifier: Apache-2.0 */
/* Best fit with coalescing: the books of a device's memory, in offsets only.
 *
 * Takes regions (an opaque handle and a length, which the caller gets from a driver) and hands out
 * chunks of them, with TensorFlow's constants for bins, splitting and growth. Does not call a
 * driver, touch the memory, lock, wait, or write reports. If nothing fits, the caller's ladder
 * decides.
 *
 * Ownership: a gantry__bfc_t lives inside its owner (init, deinit) and owns the structs of chunks
 * and regions, taken from the heap given at init; the memory that a region's handle names stays the
 * caller's. A chunk's pointer is valid from allocate to free, a region's from begin_region to
 * end_region. Threads: externally synchronised. The caller may release its lock while a driver
 * works for a region between begin and attach, or between detach and end: such a region counts
 * against the limit but is not used.
 *
 * The caller's loop:
 *     gantry__bfc_allocate(bfc, bytes, &chunk)                  chunk not NULL: done
 *     gantry__bfc_begin_region(bfc, bytes, &region)             region NULL: limit or largest
 *                                                               region forbids it
 *     while (driver refuses region->bytes)
 *         if (!gantry__bfc_shrink_region(bfc, region))          smallest useful size refused:
 *             gantry__bfc_end_region(bfc, region), fail
 *     gantry__bfc_attach_region(bfc, region, handle)            allocate again
 * and for giving back: next_empty_region, detach_region, driver frees region->handle,
 * end_region. */
#ifndef GANTRY_MEMORY_BFC_H
#define GANTRY_MEMORY_BFC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gantry/status.h>

#include "base/heap.h"
#include "memory/bfc_bins.h"

/* Bins as reported: bin b holds 256 << b bytes and more, the last one all larger sizes. */
#define GANTRY__BFC_BINS 21
#define GANTRY__BFC_LEAST_ALIGNMENT 256u
#define GANTRY__BFC_FIRST_REGION_BYTES (UINT64_C(2) << 20)
#define GANTRY__BFC_STEP_BYTES (UINT64_C(1) << 30)
#define GANTRY__BFC_SPLIT_BYTES (UINT64_C(64) << 10)

typedef struct gantry__bfc_options_t {
    /* limit of all regions together; must not be 0; above INT64_MAX: no limit */
    uint64_t limit_bytes;
    /* memory other than regions that is taken of the limit for good (a driver's context) */
    uint64_t reserved_bytes;
    uint64_t alignment; /* the alignment of offsets and sizes: a power of two >= 256; 0: 256 */
    uint64_t initial_region_bytes; /* first region when growing; 0: 2 MiB */
    uint64_t max_region_bytes;     /* the device's largest allocation; 0: no limit */
    /* growth takes no longer region unless one request needs it, and then exactly that length; 0: 1
     * GiB */
    uint64_t max_step_bytes;
    /* a chunk is split if this much would be left over, or if it is twice the needed size; 0: 64
     * KiB; alignment: always split */
    uint64_t split_bytes;
    bool growth; /* false: the first region is the whole limit */
} gantry__bfc_options_t;

/* A length of device memory that the driver gave in one piece. All may read it. */
typedef struct gantry__bfc_region_t {
    uint64_t handle; /* never interpreted; 0 until attached */
    uint64_t bytes;
    uint64_t number;           /* the number of regions attached before; never used again */
    gantry__bfc_chunk_t first; /* the chunk at offset 0; the others follow by next */
    struct gantry__bfc_region_t *next, *previous; /* attached regions, oldest first */
    uint64_t base;              /* sum of the lengths of all regions attached before */
    uint64_t least_bytes;       /* bytes that the request that began it needs */
    uint64_t next_region_bytes; /* the growth step after this region is attached */
    bool attached;
} gantry__bfc_region_t;

typedef struct gantry__bfc_stats_t {
    uint64_t num_allocs;
    uint64_t bytes_in_use; /* sizes of the chunks, not of the requests */
    uint64_t peak_bytes_in_use;
    uint64_t requested_bytes_in_use; /* sizes of the requests */
    uint64_t largest_alloc_bytes;
    uint64_t bytes_limit;
    uint64_t pool_bytes; /* attached regions */
    uint64_t peak_pool_bytes;
    uint64_t pending_bytes;  /* regions between begin and attach, or between detach and end */
    uint64_t charged_bytes;  /* see gantry__bfc_charge */
    uint64_t reserved_bytes; /* the option's, and bytes reserved later */
    uint64_t region_count;   /* attached */
    uint64_t largest_free_block_bytes;
    uint64_t foreign_bytes; /* the program's memory in tensors; 0 from the books */
} gantry__bfc_stats_t;

typedef struct gantry__bfc_bin_summary_t {
    uint64_t chunks, chunks_in_use;
    uint64_t bytes, bytes_in_use, requested_bytes_in_use;
} gantry__bfc_bin_summary_t;

typedef struct gantry__bfc_slab_t gantry__bfc_slab_t;

/* Private except for its size: read it through the functions. */
typedef struct gantry__bfc_t {
    gantry__bfc_options_t options; /* the options as completed by init */
    const gantry__heap_t *heap;
    gantry__bfc_bins_t bins;
    gantry__bfc_chunk_t *spare; /* unused chunk structs, by next */
    gantry__bfc_slab_t *slabs;
    gantry__bfc_region_t *first_region, *last_region;
    gantry__bfc_stats_t stats; /* everything except largest_free_block_bytes */
    uint64_t next_region_bytes;
    /* over its whole life; clearing the stats lowers only stats.peak_bytes_in_use */
    uint64_t most_in_use;
    uint64_t next_base;
    uint64_t regions_attached;
} gantry__bfc_t;

/* heap must outlive bfc. Allocates nothing yet. InvalidArgument for a bad alignment, and for a
 * limit of 0 or one that is wholly reserved. */
gantry_status_t gantry__bfc_init(gantry__bfc_t *bfc, const gantry__heap_t *heap,
                                 const gantry__bfc_options_t *options);
/* Forgets everything, including chunks in use; the caller must have freed the handles and ended all
 * regions in flight. */
void gantry__bfc_deinit(gantry__bfc_t *bfc);

/* The bytes that a request counts for: up to a multiple of the alignment, 0 as 1; UINT64_MAX for a
 * request that can never fit. */
uint64_t gantry__bfc_round(const gantry__bfc_t *bfc, uint64_t bytes);

/* The best fitting free chunk, split if that is worth it. *out_chunk is NULL with OK if no chunk
 * fits: extend and try again. ResourceExhausted, with nothing changed: out of host memory. An empty
 * tensor needs no chunk: bytes 0 counts as 1. */
gantry_status_t gantry__bfc_allocate(gantry__bfc_t *bfc, uint64_t bytes,
                                     gantry__bfc_chunk_t **out_chunk);
/* A chunk of the same size, but among several of that size one whose last_use is not beyond
 * completed[stream] for any stream (UINT64_MAX for the requesting stream). Tries a few of them
 * only, then takes the first. */
gantry_status_t gantry__bfc_allocate_ready(gantry__bfc_t *bfc, uint64_t bytes,
                                           const uint64_t completed[GANTRY__BFC_STREAMS],
                                           gantry__bfc_chunk_t **out_chunk);
/* Frees a chunk, and merges it with free neighbours; it cannot fail. chunk must be in use, and its
 * last_use must be up to date. */
void gantry__bfc_free(gantry__bfc_t *bfc, gantry__bfc_chunk_t *chunk);

/* Bytes left for new regions: the limit less pool, pending, charged and reserved, in multiples of
 * alignment. */
uint64_t gantry__bfc_available_bytes(const gantry__bfc_t *bfc);
/* Counts bytes outside the regions (a library's workspace) against the limit; false if they exceed
 * it. */
bool gantry__bfc_charge(gantry__bfc_t *bfc, uint64_t bytes);
void gantry__bfc_discharge(gantry__bfc_t *bfc, uint64_t bytes);

/* Twice the most that was ever in use, including this request: a larger pool should lose an empty
 * region rather than gain one. No limit (UINT64_MAX) without growth. */
uint64_t gantry__bfc_fair_pool_bytes(const gantry__bfc_t *bfc, uint64_t bytes);

/* Begins a region that can hold bytes (0: any), of the length that growth prescribes. The caller
 * must then request region->bytes from the driver. NULL with OK if limit_bytes or max_region_bytes
 * forbids it; ResourceExhausted if host memory is out. Growth advances only when the region is
 * attached. */
gantry_status_t gantry__bfc_begin_region(gantry__bfc_t *bfc, uint64_t bytes,
                                         gantry__bfc_region_t **out_region);
/* Shrinks a region that the driver refused: to 0.9 times the length, and at last to exactly the
 * needed length. False if the driver refused that one. */
bool gantry__bfc_shrink_region(gantry__bfc_t *bfc, gantry__bfc_region_t *region);
/* Makes the region's memory available. Cannot fail. */
void gantry__bfc_attach_region(gantry__bfc_t *bfc, gantry__bfc_region_t *region, uint64_t handle);
/* Takes a free region out of use; its bytes count as pending until end_region. False, and nothing
 * is done, if a chunk of it is in use. region->first.last_use says which work the driver must
 * finish first; region->next is the caller's until end_region. */
bool gantry__bfc_detach_region(gantry__bfc_t *bfc, gantry__bfc_region_t *region);
/* Ends a region that is not attached and releases the struct. */
void gantry__bfc_end_region(gantry__bfc_t *bfc, gantry__bfc_region_t *region);

/* Walking in order: for (r = first_region(bfc); r; r = r->next) for (c = &r->first; c; c =
 * c->next). */
const gantry__bfc_region_t *gantry__bfc_first_region(const gantry__bfc_t *bfc);
/* The next free region after the given one (NULL: from the start); NULL at the end. */
gantry__bfc_region_t *gantry__bfc_next_empty_region(const gantry__bfc_t *bfc,
                                                    const gantry__bfc_region_t *after);
/* The longest free region; NULL if there is none. */
gantry__bfc_region_t *gantry__bfc_largest_empty_region(const gantry__bfc_t *bfc);
/* Bytes of all free regions: the bytes that giving them back would add to those available. */
uint64_t gantry__bfc_empty_region_bytes(const gantry__bfc_t *bfc);

void gantry__bfc_get_stats(const gantry__bfc_t *bfc, gantry__bfc_stats_t *out_stats);
/* Sets num_allocs and largest to 0, and both peaks to the present values. */
void gantry__bfc_clear_stats(gantry__bfc_t *bfc);
/* The reported bin of a size. */
unsigned gantry__bfc_bin(uint64_t bytes);

#endif
