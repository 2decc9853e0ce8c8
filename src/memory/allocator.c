/* The ladder of one allocation.
 *
 *   reuse      a free chunk of the pool, merged with its neighbours as it was freed
 *   extend     a new region of the length growth prescribes, less and less of it while the driver refuses
 *   give back  when limit or driver forbid that: wait for pending work, return the wholly free regions, extend again
 *   refuse     ResourceExhausted with the numbers
 *
 * The lock guards the books only. While a driver works for a region, the region is begun but not attached (or detached but not ended),
 * so that it counts against the limit and nobody else can use it. */
#include "memory/allocator.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/failure.h"

gantry_status_t gantry__allocator_init(gantry__allocator_t *allocator, const gantry__heap_t *heap,
                                       const gantry__allocator_options_t *options, const gantry__region_source_t *source,
                                       const char *name) {
    *allocator = (gantry__allocator_t){.source = *source, .options = *options};
    (void)snprintf(allocator->name, sizeof allocator->name, "%s", name);
    GANTRY__TRY(gantry__bfc_init(&allocator->bfc, heap, &options->bfc));
    if (gantry__mutex_init(&allocator->lock) != 0)
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
    return GANTRY_OK;
}

void gantry__allocator_deinit(gantry__allocator_t *allocator) {
    allocator->source.wait(allocator->source.user);
    const gantry__bfc_region_t *region = gantry__bfc_first_region(&allocator->bfc);
    for (; region; region = region->next)
        allocator->source.give_back(allocator->source.user, region->handle, region->bytes);
    gantry__bfc_deinit(&allocator->bfc);
    gantry__mutex_deinit(&allocator->lock);
}

/* Called and returns with the lock held. *out_chunk stays NULL when the limit or the driver forbids a region. */
static gantry_status_t extend(gantry__allocator_t *allocator, uint64_t bytes, gantry__bfc_chunk_t **out_chunk) {
    gantry__bfc_t *bfc = &allocator->bfc;
    gantry__bfc_region_t *region;
    GANTRY__TRY(gantry__bfc_begin_region(bfc, bytes, &region));
    while (region) {
        uint64_t handle = 0;
        gantry__mutex_unlock(&allocator->lock);
        gantry_status_t status = allocator->source.take(allocator->source.user, region->bytes, &handle);
        gantry__mutex_lock(&allocator->lock);
        if (status == GANTRY_OK) {
            gantry__bfc_attach_region(bfc, region, handle);
            return gantry__bfc_allocate(bfc, bytes, out_chunk);
        }
        if (status == GANTRY_RESOURCE_EXHAUSTED && gantry__bfc_shrink_region(bfc, region)) continue;
        gantry__bfc_end_region(bfc, region);
        return status == GANTRY_RESOURCE_EXHAUSTED ? GANTRY_OK : status;
    }
    return GANTRY_OK;
}

/* All wholly free regions, out of use and chained by next; the lock is held. */
static gantry__bfc_region_t *detach_empty_regions(gantry__bfc_t *bfc) {
    gantry__bfc_region_t *chain = NULL;
    for (gantry__bfc_region_t *region; (region = gantry__bfc_next_empty_region(bfc, NULL)) != NULL;) {
        if (!gantry__bfc_detach_region(bfc, region)) break;
        region->next = chain;
        chain = region;
    }
    return chain;
}

/* Called and returns with the lock held. True when at least one region went back. Regions are detached before the wait, so that none of them
 * can be used between it and the driver's free. */
static bool give_back_empty_regions(gantry__allocator_t *allocator) {
    gantry__bfc_region_t *chain = detach_empty_regions(&allocator->bfc);
    if (!chain) return false;
    gantry__mutex_unlock(&allocator->lock);
    allocator->source.wait(allocator->source.user);
    for (const gantry__bfc_region_t *region = chain; region; region = region->next) {
        allocator->source.give_back(allocator->source.user, region->handle, region->bytes);
    }
    gantry__mutex_lock(&allocator->lock);
    while (chain) {
        gantry__bfc_region_t *region = chain;
        chain = region->next;
        gantry__bfc_end_region(&allocator->bfc, region);
    }
    return true;
}

static gantry_status_t refuse(const gantry__allocator_t *allocator, uint64_t bytes, bool gave_back) {
    gantry__bfc_stats_t stats;
    gantry__bfc_get_stats(&allocator->bfc, &stats);
    return gantry__fail(GANTRY_RESOURCE_EXHAUSTED,
                        "Allocator (%s) ran out of memory trying to allocate %" PRIu64 " bytes: %" PRIu64
                        " in use, %" PRIu64 " held from the driver, largest free chunk %" PRIu64 ", limit %" PRIu64
                        "; tried: reuse, extend%s",
                        allocator->name, bytes, stats.bytes_in_use, stats.pool_bytes, stats.largest_free_block_bytes,
                        stats.bytes_limit, gave_back ? ", give back empty regions and extend again" : "");
}

static gantry_status_t allocate_slowly(gantry__allocator_t *allocator, uint64_t bytes,
                                       gantry__bfc_chunk_t **out_chunk) {
    GANTRY__TRY(extend(allocator, bytes, out_chunk));
    if (*out_chunk) return GANTRY_OK;
    bool gave_back = give_back_empty_regions(allocator);
    if (gave_back) GANTRY__TRY(extend(allocator, bytes, out_chunk));
    return *out_chunk ? GANTRY_OK : refuse(allocator, bytes, gave_back);
}

gantry_status_t gantry__allocator_allocate(gantry__allocator_t *allocator, const gantry__allocation_t *request,
                                           gantry__bfc_chunk_t **out_chunk) {
    *out_chunk = NULL;
    gantry__mutex_lock(&allocator->lock);
    gantry_status_t status = gantry__bfc_allocate(&allocator->bfc, request->bytes, out_chunk);
    if (status == GANTRY_OK && !*out_chunk) status = allocate_slowly(allocator, request->bytes, out_chunk);
    if (*out_chunk) {
        (*out_chunk)->owner = request->owner;
        (*out_chunk)->tag = request->tag;
    }
    gantry__mutex_unlock(&allocator->lock);
    return status;
}

void gantry__allocator_free(gantry__allocator_t *allocator, gantry__bfc_chunk_t *chunk) {
    gantry__mutex_lock(&allocator->lock);
    gantry__bfc_free(&allocator->bfc, chunk);
    gantry__mutex_unlock(&allocator->lock);
}

bool gantry__allocator_charge(gantry__allocator_t *allocator, uint64_t bytes) {
    gantry__mutex_lock(&allocator->lock);
    bool fits = gantry__bfc_charge(&allocator->bfc, bytes);
    gantry__mutex_unlock(&allocator->lock);
    return fits;
}

void gantry__allocator_discharge(gantry__allocator_t *allocator, uint64_t bytes) {
    gantry__mutex_lock(&allocator->lock);
    gantry__bfc_discharge(&allocator->bfc, bytes);
    gantry__mutex_unlock(&allocator->lock);
}

void gantry__allocator_trim(gantry__allocator_t *allocator, uint64_t target_bytes, uint64_t *out_pool_bytes) {
    (void)target_bytes;
    gantry__mutex_lock(&allocator->lock);
    (void)give_back_empty_regions(allocator);
    if (out_pool_bytes) *out_pool_bytes = allocator->bfc.stats.pool_bytes;
    gantry__mutex_unlock(&allocator->lock);
}

void gantry__allocator_stats(gantry__allocator_t *allocator, gantry__bfc_stats_t *out_stats) {
    gantry__mutex_lock(&allocator->lock);
    gantry__bfc_get_stats(&allocator->bfc, out_stats);
    gantry__mutex_unlock(&allocator->lock);
}

void gantry__allocator_clear_stats(gantry__allocator_t *allocator) {
    gantry__mutex_lock(&allocator->lock);
    gantry__bfc_clear_stats(&allocator->bfc);
    gantry__mutex_unlock(&allocator->lock);
}
