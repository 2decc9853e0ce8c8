/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder of one allocation.
 *
 *   reuse      a free chunk of the pool, merged with its neighbours as it was freed
 *   extend     a new region of the length growth prescribes, less and less of it while the driver
 *              refuses
 *   wait       while another thread will free: see below; a moment only, when giving back would do
 *   give back  idle staging and, once the device is idle, the wholly free regions; extend again;
 *              only when by the books that is enough
 *   free kept  chunks that functions keep between calls, on every request that could fit an empty
 *              pool; give back again
 *   wait       for the whole time
 *   refuse     ResourceExhausted with the numbers; the report keeps who held what
 *
 * Waiting. Memory that a tensor frees is available at once, even with work in flight, because
 * streams keep the order. So only another thread can bring memory, and only two events are certain:
 * the end of an op that holds temporary memory, and a region on its way from or to the driver.
 * Unless the user requested more (explicit_retry: any free may come), an allocation waits while
 *
 *     the request would fit, were no temporary alive
 *         in use - temporary bytes + charged + reserved + request <= limit
 *     and something will come
 *         pending bytes > 0, or temporaries > what all waiters hold
 *
 * Two ops that hold temporaries and wait for each other would wait forever. The second one sees
 * that all temporaries belong to waiters, does not wait, and is refused; the memory that its op
 * then frees serves the first. The rule is the same for all waiters. A wait ends by a free or a
 * region's arrival, which wake all waiters, or by one more waiter, which then decides.
 *
 * The lock guards the books only. While a driver works for a region, the region is begun but not
 * attached (or detached but not ended), so that it counts against the limit and nobody else can use
 * it. Other threads may free memory meanwhile, so each rung begins by looking for a free chunk.
 *
 * Cost of a refusal with nothing to wait for and nothing to give back: only the driver calls that
 * are needed to know, and one walk over the chunks for the report. */
#include "memory/ladder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/failure.h"

/* How long to wait for ops of other threads when giving back regions, which stops the device, would
 * suffice. */
#define PATIENCE_NS UINT64_C(1000000)

typedef struct climb_t {
    gantry__allocator_t *allocator;
    const gantry__allocation_t *request;
    gantry__bfc_chunk_t *chunk; /* NULL: none yet */
    uint64_t rounded;
    /* room under the limit when the driver last refused; with more room the request is repeated */
    uint64_t refused_room;
    bool is_waiting; /* rungs are recorded outside of waits */
    uint32_t rung_count;
    gantry__rung_t rungs[GANTRY__REPORT_RUNGS];
    char driver_text[sizeof((gantry__memory_report_t *)0)->driver_text];
} climb_t;

static void ladder_record(climb_t *climb, gantry__rung_t rung) {
    if (!climb->is_waiting && climb->rung_count < GANTRY__REPORT_RUNGS)
        climb->rungs[climb->rung_count++] = rung;
}

static gantry_status_t reuse(climb_t *climb) {
    return gantry__ladder_reuse(climb->allocator, climb->request, &climb->chunk);
}

/* ---- regions ---- */

/* Regions out of use and chained by next, until the pool is small enough. */
static gantry__bfc_region_t *detach_empty_regions(gantry__bfc_t *bfc, uint64_t target_bytes) {
    gantry__bfc_region_t *chain = NULL;
    while (bfc->stats.pool_bytes > target_bytes) {
        gantry__bfc_region_t *region = gantry__bfc_largest_empty_region(bfc);
        if (!region || !gantry__bfc_detach_region(bfc, region)) break;
        region->next = chain;
        chain = region;
    }
    return chain;
}

/* Detaches regions before the wait, so that none of them can be used between the wait and the
 * driver's free. */
uint64_t gantry__ladder_give_back(gantry__allocator_t *allocator, uint64_t target_bytes,
                                  uint64_t *out_count) {
    uint64_t bytes = 0, count = 0;
    gantry__bfc_region_t *chain = detach_empty_regions(&allocator->bfc, target_bytes);
    if (out_count) *out_count = 0;
    if (!chain) return 0;
    gantry__mutex_unlock(&allocator->lock);
    allocator->source.wait(allocator->source.user);
    for (const gantry__bfc_region_t *region = chain; region; region = region->next) {
        allocator->source.give_back(allocator->source.user, region->handle, region->bytes);
        bytes += region->bytes;
        ++count;
    }
    gantry__mutex_lock(&allocator->lock);
    while (chain) {
        gantry__bfc_region_t *region = chain;
        chain = region->next;
        gantry__bfc_end_region(&allocator->bfc, region);
    }
    gantry__ladder_wake(allocator);
    if (out_count) *out_count = count;
    return bytes;
}

/* Takes a begun region from the driver, with ever shorter lengths: attaches it, or ends it. Counts
 * refusals. */
static gantry_status_t ladder_take_region(gantry__allocator_t *allocator,
                                          gantry__bfc_region_t *region, bool *out_attached,
                                          uint64_t *out_refusals) {
    *out_attached = false;
    for (;;) {
        uint64_t handle = 0;
        gantry__mutex_unlock(&allocator->lock);
        gantry_status_t status =
            allocator->source.take(allocator->source.user, region->bytes, &handle);
        gantry__mutex_lock(&allocator->lock);
        if (status == GANTRY_OK) {
            gantry__bfc_attach_region(&allocator->bfc, region, handle);
            *out_attached = true;
        } else {
            ++*out_refusals;
            if (status == GANTRY_RESOURCE_EXHAUSTED &&
                gantry__bfc_shrink_region(&allocator->bfc, region))
                continue;
            gantry__bfc_end_region(&allocator->bfc, region);
        }
        gantry__ladder_wake(allocator);
        return status == GANTRY_RESOURCE_EXHAUSTED ? GANTRY_OK : status;
    }
}

/* Takes the whole limit at once, without growth: further regions if one cannot be that long. Later
 * requests take what the driver refuses now. */
static void ladder_take_all(gantry__allocator_t *allocator) {
    gantry__bfc_t *bfc = &allocator->bfc;
    bool attached = true;
    while (attached) {
        uint64_t most = gantry__bfc_available_bytes(bfc), refusals = 0;
        if (most > bfc->options.max_region_bytes) most = bfc->options.max_region_bytes;
        gantry__bfc_region_t *region; /* a quarter of it is useful */
        if (gantry__bfc_begin_region(bfc, most / 4, &region) != GANTRY_OK || !region) return;
        if (ladder_take_region(allocator, region, &attached, &refusals) != GANTRY_OK) return;
    }
}

/* The chunk stays NULL when the limit or the driver forbids a region. */
static gantry_status_t extend(climb_t *climb) {
    gantry__allocator_t *allocator = climb->allocator;
    gantry__bfc_t *bfc = &allocator->bfc;
    uint64_t fair = gantry__bfc_fair_pool_bytes(bfc, climb->request->bytes);
    if (allocator->options.garbage_collection && bfc->stats.pool_bytes > fair)
        (void)gantry__ladder_give_back(allocator, fair, NULL);
    gantry__rung_t rung = {.kind = GANTRY__RUNG_EXTEND, .other = gantry__bfc_available_bytes(bfc)};
    bool is_first = bfc->regions_attached == 0, attached = false;
    gantry__bfc_region_t *region;
    GANTRY__TRY(gantry__bfc_begin_region(bfc, climb->request->bytes, &region));
    if (region) {
        rung.bytes = region->bytes;
        GANTRY__TRY(ladder_take_region(allocator, region, &attached, &rung.count));
    }
    gantry_status_t status = GANTRY_OK;
    if (region && !attached) {
        climb->refused_room = rung.other;
        gantry__report_copy_text(climb->driver_text, sizeof climb->driver_text, gantry__message());
        status = reuse(climb); /* other threads had the lock meanwhile */
    }
    if (attached) status = reuse(climb);
    if (!climb->chunk) ladder_record(climb, rung);
    if (attached && is_first && !bfc->options.growth) ladder_take_all(allocator);
    return status;
}

/* ---- giving back ---- */

/* Whether idle staging and empty regions could make room, according to the books. */
static bool can_give_back(const climb_t *climb) {
    const gantry__allocator_t *allocator = climb->allocator;
    uint64_t most =
        allocator->options.garbage_collection ? gantry__bfc_empty_region_bytes(&allocator->bfc) : 0;
    if (allocator->source.release_idle) most += allocator->bfc.stats.charged_bytes;
    return most > 0 && climb->rounded <= allocator->bfc.options.max_region_bytes &&
           climb->rounded <= gantry__bfc_available_bytes(&allocator->bfc) + most;
}

static gantry_status_t give_back(climb_t *climb) {
    gantry__allocator_t *allocator = climb->allocator;
    gantry__bfc_t *bfc = &allocator->bfc;
    gantry__rung_t rung = {.kind = GANTRY__RUNG_GIVE_BACK};
    if (allocator->source.release_idle && bfc->stats.charged_bytes > 0) {
        gantry__mutex_unlock(&allocator->lock);
        rung.other = allocator->source.release_idle(allocator->source.user);
        gantry__mutex_lock(&allocator->lock);
    }
    if (allocator->options.garbage_collection &&
        climb->rounded <= gantry__bfc_available_bytes(bfc) + gantry__bfc_empty_region_bytes(bfc))
        rung.bytes = gantry__ladder_give_back(allocator, 0, &rung.count);
    ladder_record(climb, rung);
    gantry_status_t status = reuse(climb);
    if (status != GANTRY_OK || climb->chunk || rung.bytes + rung.other == 0) return status;
    return extend(climb);
}

/* ---- waiting ---- */

static bool may_come(const climb_t *climb, bool any) {
    const gantry__allocator_t *allocator = climb->allocator;
    const gantry__bfc_stats_t *stats = &allocator->bfc.stats;
    uint64_t stays =
        stats->reserved_bytes +
        (any ? 0 : stats->charged_bytes + stats->bytes_in_use - allocator->temporary_bytes);
    if (climb->rounded > allocator->bfc.options.max_region_bytes ||
        climb->rounded > stats->bytes_limit - stays)
        return false;
    return any || stats->pending_bytes > 0 || allocator->temporaries > allocator->waiters_held;
}

/* Tries the rungs below again after a change, as far as the change may have made them possible. */
static gantry_status_t look_again(climb_t *climb) {
    GANTRY__TRY(reuse(climb));
    uint64_t available = gantry__bfc_available_bytes(&climb->allocator->bfc);
    if (!climb->chunk && climb->rounded <= available && available > climb->refused_room)
        GANTRY__TRY(extend(climb));
    return GANTRY_OK;
}

static gantry_status_t wait_for_memory(climb_t *climb, uint64_t deadline_ns, bool any) {
    gantry__allocator_t *allocator = climb->allocator;
    gantry_status_t status = GANTRY_OK;
    uint64_t start_ns = gantry__now_ns(), now_ns = start_ns, seen = allocator->frees;
    gantry__rung_t rung = {.kind = GANTRY__RUNG_WAIT};
    ++allocator->waiters;
    allocator->waiters_held += climb->request->held;
    climb->is_waiting = true;
    while (status == GANTRY_OK && !climb->chunk && now_ns < deadline_ns && may_come(climb, any)) {
        if (allocator->frees == seen) {
            gantry__condition_wait(&allocator->freed, &allocator->lock, deadline_ns);
            now_ns = gantry__now_ns();
            if (allocator->frees == seen) continue;
        }
        seen = allocator->frees;
        ++rung.count;
        status = look_again(climb);
    }
    climb->is_waiting = false;
    --allocator->waiters;
    allocator->waiters_held -= climb->request->held;
    rung.bytes = now_ns - start_ns;
    if (rung.bytes > 0) ladder_record(climb, rung);
    return status;
}

/* ---- memory that is kept between calls ---- */

/* Other threads may have freed it meanwhile, so that the pool is looked at even if none is left. */
static gantry_status_t take_kept(climb_t *climb) {
    gantry__allocator_t *allocator = climb->allocator;
    gantry__rung_t rung = {.kind = GANTRY__RUNG_TAKE_KEPT};
    if (!allocator->source.take_kept || !may_come(climb, true)) return GANTRY_OK;
    gantry__mutex_unlock(&allocator->lock);
    rung.bytes = allocator->source.take_kept(allocator->source.user);
    gantry__mutex_lock(&allocator->lock);
    if (rung.bytes > 0) ladder_record(climb, rung);
    GANTRY__TRY(reuse(climb));
    return !climb->chunk && can_give_back(climb) ? give_back(climb) : GANTRY_OK;
}

/* ---- refusing ---- */

/* Takes the snapshot, in memory that the next one reuses; NULL without such memory. */
static const gantry__memory_report_t *keep_report(const climb_t *climb) {
    gantry__allocator_t *allocator = climb->allocator;
    if (!allocator->oom_report)
        allocator->oom_report =
            gantry__heap_alloc(allocator->bfc.heap, sizeof *allocator->oom_report);
    gantry__memory_report_t *report = allocator->oom_report;
    if (!report) return NULL;
    gantry__memory_report_take(report, &allocator->bfc, allocator->name);
    report->out_of_memory = true;
    report->asked_bytes = climb->request->bytes;
    report->rounded_bytes = climb->rounded;
    gantry__report_copy_text(report->op, sizeof report->op, climb->request->owner);
    gantry__report_copy_text(report->tag, sizeof report->tag, climb->request->tag);
    memcpy(report->rungs, climb->rungs, sizeof report->rungs);
    report->rung_count = climb->rung_count;
    gantry__report_copy_text(report->driver_text, sizeof report->driver_text, climb->driver_text);
    report->counts = allocator->counts;
    report->stats.foreign_bytes = atomic_load(&allocator->foreign_bytes);
    return report;
}

static void format_rungs(const climb_t *climb, char *out, size_t out_bytes) {
    static const char *const names[] = {"reuse", "extend", "wait", "give back empty regions",
                                        "free idle blocks of functions"};
    size_t length = 0;
    for (uint32_t i = 0; i < climb->rung_count && length < out_bytes; ++i)
        length += (size_t)snprintf(out + length, out_bytes - length, "%s%s", i ? ", " : "",
                                   names[climb->rungs[i].kind]);
}

static gantry_status_t ladder_refuse(const climb_t *climb) {
    gantry__allocator_t *allocator = climb->allocator;
    gantry__bfc_stats_t stats;
    gantry__bfc_get_stats(&allocator->bfc, &stats);
    ++allocator->counts.out_of_memory;
    const gantry__memory_report_t *report = keep_report(climb);
    char tried[224] = "", owner[256] = "", context[64] = "";
    format_rungs(climb, tried, sizeof tried);
    if (stats.reserved_bytes > 0)
        (void)snprintf(context, sizeof context, " (%" PRIu64 " of it the driver's context)",
                       stats.reserved_bytes);
    if (report && report->owner_count > 0) {
        const gantry__report_name_t *name = &report->names[report->owners[0]];
        (void)snprintf(owner, sizeof owner, "; biggest owner %s%s%s%s with %" PRIu64, name->op,
                       *name->tag ? " [" : "", name->tag, *name->tag ? "]" : "", name->bytes);
    }
    return gantry__fail(
        GANTRY_RESOURCE_EXHAUSTED,
        "Allocator (%s) ran out of memory trying to allocate %" PRIu64 " bytes: %" PRIu64
        " in use, %" PRIu64 " held from the driver, largest free chunk %" PRIu64 ", limit %" PRIu64
        "%s; tried: %s%s%s%s; %s",
        allocator->name, climb->request->bytes, stats.bytes_in_use, stats.pool_bytes,
        stats.largest_free_block_bytes, stats.bytes_limit, context, tried, owner,
        *climb->driver_text ? "; driver: " : "", climb->driver_text,
        report ? "gantry_get_oom_report shows who holds what"
               : "there was no host memory to keep a report");
}

/* ---- the ladder ---- */

static gantry_status_t climb_up(climb_t *climb) {
    gantry__allocator_t *allocator = climb->allocator;
    gantry__ladder_counts_t *counts = &allocator->counts;
    uint64_t start_ns = gantry__now_ns(),
             retry_ns = allocator->options.retry_ms * UINT64_C(1000000);
    ladder_record(climb, (gantry__rung_t){.kind = GANTRY__RUNG_REUSE,
                                          .bytes = gantry__bfc_bins_largest(&allocator->bfc.bins)});
    GANTRY__TRY(extend(climb));
    if (climb->chunk) ++counts->extended;
    if (!climb->chunk && can_give_back(climb)) {
        uint64_t patience_ns = retry_ns < PATIENCE_NS ? retry_ns : PATIENCE_NS;
        GANTRY__TRY(wait_for_memory(climb, start_ns + patience_ns, false));
        if (climb->chunk) {
            ++counts->waited;
        } else {
            GANTRY__TRY(give_back(climb));
            if (climb->chunk) ++counts->collected;
        }
    }
    if (!climb->chunk) {
        GANTRY__TRY(take_kept(climb));
        if (climb->chunk) ++counts->collected;
    }
    if (!climb->chunk) {
        GANTRY__TRY(wait_for_memory(climb, start_ns + retry_ns, allocator->options.explicit_retry));
        if (climb->chunk) ++counts->waited;
    }
    return climb->chunk ? GANTRY_OK : ladder_refuse(climb);
}

gantry_status_t gantry__ladder_climb(gantry__allocator_t *allocator,
                                     const gantry__allocation_t *request,
                                     gantry__bfc_chunk_t **out_chunk) {
    climb_t climb = {.allocator = allocator,
                     .request = request,
                     .rounded = gantry__bfc_round(&allocator->bfc, request->bytes)};
    const uint32_t before = gantry__failures();
    gantry_status_t status = climb_up(&climb);
    /* a later rung solved the driver's refusal */
    if (status == GANTRY_OK) gantry__forget_since(before);
    *out_chunk = climb.chunk;
    return status;
}
