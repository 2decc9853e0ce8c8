/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator's calls: each takes the lock, and changes the books (bfc.c). If they have no
 * room, the ladder (ladder.c) continues, with the lock held between its waits. */
#include "memory/allocator.h"

#include <stdio.h>

#include "base/failure.h"
#include "memory/ladder.h"

gantry_status_t gantry__allocator_init(gantry__allocator_t *allocator, const gantry__heap_t *heap,
                                       const gantry__allocator_options_t *options,
                                       const gantry__region_source_t *source, const char *name) {
    *allocator = (gantry__allocator_t){.source = *source, .options = *options};
    (void)snprintf(allocator->name, sizeof allocator->name, "%s", name);
    GANTRY__TRY(gantry__bfc_init(&allocator->bfc, heap, &options->bfc));
    if (gantry__mutex_init(&allocator->lock) != 0)
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
    if (gantry__condition_init(&allocator->freed) != 0) {
        gantry__mutex_deinit(&allocator->lock);
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a condition variable");
    }
    return GANTRY_OK;
}

void gantry__allocator_deinit(gantry__allocator_t *allocator) {
    allocator->source.wait(allocator->source.user);
    const gantry__bfc_region_t *region = gantry__bfc_first_region(&allocator->bfc);
    for (; region; region = region->next)
        allocator->source.give_back(allocator->source.user, region->handle, region->bytes);
    gantry__heap_free(allocator->bfc.heap, allocator->oom_report, sizeof *allocator->oom_report);
    gantry__bfc_deinit(&allocator->bfc);
    gantry__condition_deinit(&allocator->freed);
    gantry__mutex_deinit(&allocator->lock);
}

gantry_status_t gantry__allocator_allocate(gantry__allocator_t *allocator,
                                           const gantry__allocation_t *request,
                                           gantry__bfc_chunk_t **out_chunk) {
    gantry__mutex_lock(&allocator->lock);
    gantry_status_t status = gantry__ladder_reuse(allocator, request, out_chunk);
    if (status == GANTRY_OK && !*out_chunk)
        status = gantry__ladder_climb(allocator, request, out_chunk);
    gantry__bfc_chunk_t *chunk = *out_chunk;
    if (chunk) {
        chunk->owner = request->owner;
        chunk->tag = request->tag;
        chunk->temporary = request->temporary;
        if (request->temporary) {
            ++allocator->temporaries;
            allocator->temporary_bytes += chunk->bytes;
        }
    }
    gantry__mutex_unlock(&allocator->lock);
    if (chunk && allocator->source.changed) allocator->source.changed(allocator->source.user);
    return status;
}

void gantry__allocator_free(gantry__allocator_t *allocator, gantry__bfc_chunk_t *chunk) {
    gantry__mutex_lock(&allocator->lock);
    if (chunk->temporary) {
        --allocator->temporaries;
        allocator->temporary_bytes -= chunk->bytes;
    }
    gantry__bfc_free(&allocator->bfc, chunk);
    gantry__ladder_wake(allocator);
    gantry__mutex_unlock(&allocator->lock);
    if (allocator->source.changed) allocator->source.changed(allocator->source.user);
}

bool gantry__allocator_charge(gantry__allocator_t *allocator, uint64_t bytes) {
    gantry__mutex_lock(&allocator->lock);
    gantry__bfc_t *bfc = &allocator->bfc;
    bool fits = gantry__bfc_charge(bfc, bytes);
    if (!fits && allocator->options.garbage_collection && bytes <= bfc->stats.bytes_limit) {
        /* less than bytes, or nearly as much */
        uint64_t available = gantry__bfc_available_bytes(bfc);
        uint64_t missing = bytes > available ? bytes - available : 0;
        if (missing <= gantry__bfc_empty_region_bytes(bfc)) {
            (void)gantry__ladder_give_back(allocator, bfc->stats.pool_bytes - missing, NULL);
            fits = gantry__bfc_charge(bfc, bytes);
        }
    }
    gantry__mutex_unlock(&allocator->lock);
    return fits;
}

bool gantry__allocator_reserve(gantry__allocator_t *allocator, uint64_t bytes) {
    if (!gantry__allocator_charge(allocator, bytes)) return false;
    gantry__mutex_lock(&allocator->lock);
    gantry__bfc_discharge(&allocator->bfc, bytes);
    allocator->bfc.stats.reserved_bytes += bytes;
    gantry__mutex_unlock(&allocator->lock);
    return true;
}

void gantry__allocator_discharge(gantry__allocator_t *allocator, uint64_t bytes) {
    gantry__mutex_lock(&allocator->lock);
    gantry__bfc_discharge(&allocator->bfc, bytes);
    gantry__ladder_wake(allocator);
    gantry__mutex_unlock(&allocator->lock);
}

void gantry__allocator_trim(gantry__allocator_t *allocator, uint64_t target_bytes,
                            uint64_t *out_pool_bytes) {
    allocator->source.wait(allocator->source.user);
    if (allocator->source.release_idle)
        (void)allocator->source.release_idle(allocator->source.user);
    gantry__mutex_lock(&allocator->lock);
    (void)gantry__ladder_give_back(allocator, target_bytes, NULL);
    if (out_pool_bytes) *out_pool_bytes = allocator->bfc.stats.pool_bytes;
    gantry__mutex_unlock(&allocator->lock);
}

void gantry__allocator_stats(gantry__allocator_t *allocator, gantry__bfc_stats_t *out_stats) {
    gantry__mutex_lock(&allocator->lock);
    gantry__bfc_get_stats(&allocator->bfc, out_stats);
    gantry__mutex_unlock(&allocator->lock);
}

uint64_t gantry__allocator_bytes_in_use(gantry__allocator_t *allocator) {
    gantry__mutex_lock(&allocator->lock);
    const uint64_t bytes = allocator->bfc.stats.bytes_in_use;
    gantry__mutex_unlock(&allocator->lock);
    return bytes;
}

void gantry__allocator_clear_stats(gantry__allocator_t *allocator) {
    gantry__mutex_lock(&allocator->lock);
    gantry__bfc_clear_stats(&allocator->bfc);
    gantry__mutex_unlock(&allocator->lock);
}

void gantry__allocator_counts(gantry__allocator_t *allocator, gantry__ladder_counts_t *out_counts) {
    gantry__mutex_lock(&allocator->lock);
    *out_counts = allocator->counts;
    gantry__mutex_unlock(&allocator->lock);
}

/* ---- reports ---- */

gantry_status_t gantry__allocator_report(gantry__allocator_t *allocator,
                                         gantry__memory_report_t **out_report) {
    gantry__memory_report_t *report = gantry__heap_alloc(allocator->bfc.heap, sizeof *report);
    *out_report = report;
    if (!report) return GANTRY_RESOURCE_EXHAUSTED;
    gantry__mutex_lock(&allocator->lock);
    gantry__memory_report_take(report, &allocator->bfc, allocator->name);
    report->counts = allocator->counts;
    report->stats.foreign_bytes = atomic_load(&allocator->foreign_bytes);
    gantry__mutex_unlock(&allocator->lock);
    return GANTRY_OK;
}

gantry_status_t gantry__allocator_oom_report(gantry__allocator_t *allocator,
                                             gantry__memory_report_t **out_report) {
    *out_report = NULL;
    gantry__memory_report_t *report = gantry__heap_alloc(allocator->bfc.heap, sizeof *report);
    if (!report) return GANTRY_RESOURCE_EXHAUSTED;
    gantry__mutex_lock(&allocator->lock);
    bool is_kept = allocator->oom_report != NULL, happened = allocator->counts.out_of_memory > 0;
    if (is_kept) *report = *allocator->oom_report;
    gantry__mutex_unlock(&allocator->lock);
    if (is_kept) {
        *out_report = report;
        return GANTRY_OK;
    }
    gantry__heap_free(allocator->bfc.heap, report, sizeof *report);
    if (happened)
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED,
                            "the report of allocator %s could not be kept: host memory had run out",
                            allocator->name);
    return gantry__fail(GANTRY_NOT_FOUND, "allocator %s has never run out of memory",
                        allocator->name);
}
