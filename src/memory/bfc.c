/* SPDX-License-Identifier: Apache-2.0 */
/* Best fit with coalescing.
 *
 *     region 0: handle, 2 MiB                       region 1: handle, 4 MiB
 *     +--------+----------+-------+-----------+     +-----------------------------------+
 *     | in use | free     | in use| free      |     | free: an empty region             |
 *     +--------+----------+-------+-----------+     +-----------------------------------+
 *       first <-> next <-> next <-> next              first
 *                  \________________\___________________\____ index of free chunks (bfc_bins.c)
 *
 * Invariants
 * 1. The chunks of an attached region, linked by offset, cover it without gap or overlap.
 * 2. Offsets and sizes are multiples of the alignment.
 * 3. Two neighbours are never both free. Chunks of different regions are never neighbours, because
 *   no driver promises that two of its allocations can be used as one.
 * 4. Exactly the free chunks are in the index.
 * 5. A chunk keeps, for each stream, the latest use of any of its bytes.
 * 6. pool + pending + charged <= limit (bfc_regions.c).
 * After a split the struct stays with the left part, and after a merge the left struct stays. So
 * the struct at offset 0 lives as long as its region and is a member of it: attaching a region
 * needs no memory, and freeing never does.
 *
 * Choice: the least size that fits, then the oldest region, then the lowest offset. Young regions
 * thus empty first and can be given back. A chunk is split if it is at least twice the needed size,
 * or if too much would be left over. Otherwise the request gets the whole chunk: that wastes
 * memory, but keeps small splinters from pinning it.
 *
 * Cost: allocate and free are O(log n) expected in the number of free chunks of one size class, a
 * few tens of nanoseconds. Chunk structs come from a list that slabs refill, so that heap calls are
 * rare.
 *
 * Source: the idea is Doug Lea's allocator ("A memory allocator", 1996), the constants and the
 * growth of regions are those of TensorFlow's BFC allocator as observed from its documents and
 * tests. The memory of last uses follows the death frontiers of stream-ordered allocators. */
#include "memory/bfc.h"

#include <assert.h>
#include <string.h>

#include "base/failure.h"

#define FIRST_SLAB_CHUNKS 32u
#define LARGEST_SLAB_CHUNKS 1024u
/* The number of chunks of one size that allocate_ready tries. */
#define READY_PROBES 8

struct gantry__bfc_slab_t {
    gantry__bfc_slab_t *next;
    size_t count;
    gantry__bfc_chunk_t chunks[];
};

static gantry_status_t complete_options(gantry__bfc_options_t *options) {
    if (options->alignment == 0) options->alignment = GANTRY__BFC_LEAST_ALIGNMENT;
    if (options->alignment < GANTRY__BFC_LEAST_ALIGNMENT ||
        (options->alignment & (options->alignment - 1)) != 0 ||
        options->alignment > UINT64_C(1) << 40) {
        return gantry__refuse(
            "alignment of a memory pool is %llu bytes; accepted are powers of two from 256 to 2^40",
            (unsigned long long)options->alignment);
    }
    if (options->limit_bytes == 0) {
        return gantry__refuse("limit of a memory pool is 0 bytes; it must be at least 1");
    }
    if (options->limit_bytes > INT64_MAX) options->limit_bytes = INT64_MAX;
    if (options->reserved_bytes >= options->limit_bytes) {
        return gantry__refuse("limit of a memory pool is %llu bytes, and %llu of it are reserved",
                              (unsigned long long)options->limit_bytes,
                              (unsigned long long)options->reserved_bytes);
    }
    if (options->initial_region_bytes == 0)
        options->initial_region_bytes = GANTRY__BFC_FIRST_REGION_BYTES;
    if (!options->growth || options->initial_region_bytes > options->limit_bytes) {
        options->initial_region_bytes = options->limit_bytes;
    }
    if (options->max_step_bytes == 0) options->max_step_bytes = GANTRY__BFC_STEP_BYTES;
    if (options->growth && options->initial_region_bytes > options->max_step_bytes)
        options->initial_region_bytes = options->max_step_bytes;
    if (options->max_region_bytes == 0) options->max_region_bytes = INT64_MAX;
    if (options->split_bytes == 0) options->split_bytes = GANTRY__BFC_SPLIT_BYTES;
    return GANTRY_OK;
}

gantry_status_t gantry__bfc_init(gantry__bfc_t *bfc, const gantry__heap_t *heap,
                                 const gantry__bfc_options_t *options) {
    memset(bfc, 0, sizeof *bfc);
    bfc->heap = heap;
    bfc->options = *options;
    GANTRY__TRY(complete_options(&bfc->options));
    bfc->stats.bytes_limit = bfc->options.limit_bytes;
    bfc->stats.reserved_bytes = bfc->options.reserved_bytes;
    bfc->options.initial_region_bytes = gantry__bfc_round(bfc, bfc->options.initial_region_bytes);
    bfc->options.max_step_bytes = gantry__bfc_round(bfc, bfc->options.max_step_bytes);
    bfc->next_region_bytes = bfc->options.initial_region_bytes;
    return GANTRY_OK;
}

static size_t slab_bytes(size_t count) {
    return sizeof(gantry__bfc_slab_t) + count * sizeof(gantry__bfc_chunk_t);
}

void gantry__bfc_deinit(gantry__bfc_t *bfc) {
    for (gantry__bfc_region_t *region = bfc->first_region; region;) {
        gantry__bfc_region_t *next = region->next;
        gantry__heap_free(bfc->heap, region, sizeof *region);
        region = next;
    }
    for (gantry__bfc_slab_t *slab = bfc->slabs; slab;) {
        gantry__bfc_slab_t *next = slab->next;
        gantry__heap_free(bfc->heap, slab, slab_bytes(slab->count));
        slab = next;
    }
    memset(bfc, 0, sizeof *bfc);
}

uint64_t gantry__bfc_round(const gantry__bfc_t *bfc, uint64_t bytes) {
    if (bytes > INT64_MAX) return UINT64_MAX;
    uint64_t mask = bfc->options.alignment - 1;
    return ((bytes ? bytes : 1) + mask) & ~mask;
}

/* Refills the list of unused chunk structs; each slab is twice as long as the one before. */
static bool stock_chunks(gantry__bfc_t *bfc) {
    size_t count = bfc->slabs ? bfc->slabs->count * 2 : FIRST_SLAB_CHUNKS;
    if (count > LARGEST_SLAB_CHUNKS) count = LARGEST_SLAB_CHUNKS;
    gantry__bfc_slab_t *slab = gantry__heap_zalloc(bfc->heap, slab_bytes(count));
    if (!slab) return false;
    slab->next = bfc->slabs;
    slab->count = count;
    bfc->slabs = slab;
    for (size_t i = count; i-- > 0;) {
        slab->chunks[i].priority = gantry__bfc_bins_draw(&bfc->bins);
        slab->chunks[i].next = bfc->spare;
        bfc->spare = &slab->chunks[i];
    }
    return true;
}

/* Splits a chunk that is in no index: the part beyond bytes becomes a free chunk of its own. */
static void split_chunk(gantry__bfc_t *bfc, gantry__bfc_chunk_t *chunk, uint64_t bytes) {
    gantry__bfc_chunk_t *rest = bfc->spare;
    bfc->spare = rest->next;
    rest->bytes = chunk->bytes - bytes;
    rest->offset = chunk->offset + bytes;
    rest->order = chunk->order + bytes;
    rest->region = chunk->region;
    rest->requested_bytes = 0;
    rest->owner = NULL;
    rest->tag = NULL;
    rest->in_use = false;
    memcpy(rest->last_use, chunk->last_use, sizeof rest->last_use);
    rest->previous = chunk;
    rest->next = chunk->next;
    if (rest->next) rest->next->previous = rest;
    chunk->next = rest;
    chunk->bytes = bytes;
    gantry__bfc_bins_insert(&bfc->bins, rest);
}

static void count_allocation(gantry__bfc_stats_t *stats, uint64_t bytes, uint64_t requested_bytes) {
    stats->num_allocs++;
    stats->bytes_in_use += bytes;
    stats->requested_bytes_in_use += requested_bytes;
    if (stats->bytes_in_use > stats->peak_bytes_in_use)
        stats->peak_bytes_in_use = stats->bytes_in_use;
    if (bytes > stats->largest_alloc_bytes) stats->largest_alloc_bytes = bytes;
}

/* Puts the found chunk (NULL: none) into use. */
static gantry_status_t take_chunk(gantry__bfc_t *bfc, gantry__bfc_chunk_t *chunk,
                                  uint64_t rounded_bytes, uint64_t bytes,
                                  gantry__bfc_chunk_t **out_chunk) {
    *out_chunk = NULL;
    if (!chunk) return GANTRY_OK;
    uint64_t left_over = chunk->bytes - rounded_bytes;
    bool split =
        left_over >= rounded_bytes || (left_over > 0 && left_over >= bfc->options.split_bytes);
    if (split && !bfc->spare && !stock_chunks(bfc)) return GANTRY_RESOURCE_EXHAUSTED;
    gantry__bfc_bins_remove(&bfc->bins, chunk);
    if (split) split_chunk(bfc, chunk, rounded_bytes);
    chunk->in_use = true;
    chunk->requested_bytes = bytes;
    count_allocation(&bfc->stats, chunk->bytes, bytes);
    *out_chunk = chunk;
    return GANTRY_OK;
}

gantry_status_t gantry__bfc_allocate(gantry__bfc_t *bfc, uint64_t bytes,
                                     gantry__bfc_chunk_t **out_chunk) {
    uint64_t rounded = gantry__bfc_round(bfc, bytes);
    return take_chunk(bfc, gantry__bfc_bins_find(&bfc->bins, rounded), rounded, bytes, out_chunk);
}

static bool is_ready(const gantry__bfc_chunk_t *chunk,
                     const uint64_t completed[GANTRY__BFC_STREAMS]) {
    for (int i = 0; i < GANTRY__BFC_STREAMS; ++i) {
        if (chunk->last_use[i] > completed[i]) return false;
    }
    return true;
}

gantry_status_t gantry__bfc_allocate_ready(gantry__bfc_t *bfc, uint64_t bytes,
                                           const uint64_t completed[GANTRY__BFC_STREAMS],
                                           gantry__bfc_chunk_t **out_chunk) {
    uint64_t rounded = gantry__bfc_round(bfc, bytes);
    gantry__bfc_chunk_t *found = gantry__bfc_bins_find(&bfc->bins, rounded);
    gantry__bfc_chunk_t *candidate = found;
    for (int i = 0; i < READY_PROBES && candidate && candidate->bytes == found->bytes; ++i) {
        if (is_ready(candidate, completed)) {
            found = candidate;
            break;
        }
        candidate = gantry__bfc_bins_next(candidate);
    }
    return take_chunk(bfc, found, rounded, bytes, out_chunk);
}

/* Joins two free neighbours that are in no index. */
static void absorb_next(gantry__bfc_t *bfc, gantry__bfc_chunk_t *chunk) {
    gantry__bfc_chunk_t *gone = chunk->next;
    chunk->bytes += gone->bytes;
    for (int i = 0; i < GANTRY__BFC_STREAMS; ++i) {
        if (gone->last_use[i] > chunk->last_use[i]) chunk->last_use[i] = gone->last_use[i];
    }
    chunk->next = gone->next;
    if (chunk->next) chunk->next->previous = chunk;
    gone->next = bfc->spare;
    bfc->spare = gone;
}

void gantry__bfc_free(gantry__bfc_t *bfc, gantry__bfc_chunk_t *chunk) {
    assert(chunk->in_use);
    if (!chunk->in_use) return;
    bfc->stats.bytes_in_use -= chunk->bytes;
    bfc->stats.requested_bytes_in_use -= chunk->requested_bytes;
    chunk->in_use = false;
    chunk->requested_bytes = 0;
    chunk->owner = NULL;
    chunk->tag = NULL;
    if (chunk->next && !chunk->next->in_use) {
        gantry__bfc_bins_remove(&bfc->bins, chunk->next);
        absorb_next(bfc, chunk);
    }
    if (chunk->previous && !chunk->previous->in_use) {
        chunk = chunk->previous;
        gantry__bfc_bins_remove(&bfc->bins, chunk);
        absorb_next(bfc, chunk);
    }
    gantry__bfc_bins_insert(&bfc->bins, chunk);
}
