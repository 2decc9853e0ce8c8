/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of the BFC: how much to take from the driver, what may be given back, and reading all of
 * it.
 *
 * A region's life, and where its bytes count:
 *
 *     begin --> shrink* --> attach ............ detach --> end
 *        pending            pool                pending     none
 *          \--> end (the driver refused)
 *
 * At every moment limit >= pool + pending + charged + reserved.
 *
 * The caller may call its driver without a lock during both pending spans. Bytes are counted before
 * the driver gives them and until the driver has them back, so that the limit holds at every
 * moment, even if other threads extend meanwhile.
 *
 * Growth: next_region_bytes begins at 2 MiB (the whole limit when growth is off). A larger request
 * doubles it until the request fits. Otherwise it is doubled for the next region: tiny requests
 * make regions of 2, 4, 8, 16 MiB; a first request of 3 MiB makes one of 4 MiB, and the next region
 * has 4 MiB too. The request to the driver is the least of that length, the room under the limit,
 * and the device's largest allocation. So each region about doubles the pool, and their number
 * stays logarithmic.
 *
 * Doubling is for a program that needs more. Let K be the most that the program ever had in use,
 * including the present request. A pool P larger than K needs another region only because its free
 * memory is in pieces; then
 *
 *     P <= 2K   the doubled length: afterwards 2K and one region are held at most
 *     P > 2K    what the request needs; the ladder first gives empty regions back, until P <= 2K
 *
 * So growth holds at most 2K and one region, if collection is on and no chunk in use pins a nearly
 * empty region. To hold back earlier, above K, was measured (bench/results/allocator.md): short
 * regions fragment, and programs that grow end with more memory than with doubling.
 *
 * Further differences from TensorFlow: steps end at max_step_bytes, and a larger request gets
 * exactly its own length. A refused region leaves next_region_bytes unchanged. The last try after a
 * refusal is exactly the needed length. Detaching a region steps next_region_bytes back to the
 * value of a pool of the remaining size, so that a small request does not restore a pool that was
 * given back.
 *
 * Cost: begin and shrink are O(log limit) at most, attach and end O(1), detach O(1); a walk is
 * linear in the objects that it visits. */
#include "memory/bfc.h"

static uint64_t round_down(const gantry__bfc_t *bfc, uint64_t bytes) {
    return bytes & ~(bfc->options.alignment - 1);
}

static uint64_t doubled(const gantry__bfc_t *bfc, uint64_t bytes) {
    uint64_t most = bfc->options.limit_bytes; /* growth beyond the limit is useless */
    if (bfc->options.growth && bfc->options.max_step_bytes < most)
        most = bfc->options.max_step_bytes;
    return bytes > most / 2 ? most : bytes * 2;
}

/* The room under the limit; never negative, because only bytes that fit are counted. */
static uint64_t room(const gantry__bfc_t *bfc) {
    const gantry__bfc_stats_t *stats = &bfc->stats;
    return bfc->options.limit_bytes - stats->pool_bytes - stats->pending_bytes -
           stats->charged_bytes - stats->reserved_bytes;
}

uint64_t gantry__bfc_available_bytes(const gantry__bfc_t *bfc) {
    return round_down(bfc, room(bfc));
}

bool gantry__bfc_charge(gantry__bfc_t *bfc, uint64_t bytes) {
    if (bytes > room(bfc)) return false;
    bfc->stats.charged_bytes += bytes;
    return true;
}

void gantry__bfc_discharge(gantry__bfc_t *bfc, uint64_t bytes) {
    bfc->stats.charged_bytes -= bytes;
}

/* The most that was ever in use, including a request of this rounded length. */
static uint64_t peak_with(const gantry__bfc_t *bfc, uint64_t rounded) {
    const gantry__bfc_stats_t *stats = &bfc->stats;
    uint64_t peak = stats->bytes_in_use + rounded; /* both at most INT64_MAX */
    if (peak < stats->peak_bytes_in_use) peak = stats->peak_bytes_in_use;
    return peak < bfc->most_in_use ? bfc->most_in_use : peak;
}

uint64_t gantry__bfc_fair_pool_bytes(const gantry__bfc_t *bfc, uint64_t bytes) {
    uint64_t rounded = gantry__bfc_round(bfc, bytes);
    if (!bfc->options.growth || rounded == UINT64_MAX) return UINT64_MAX;
    uint64_t peak = peak_with(bfc, rounded);
    return peak > INT64_MAX ? UINT64_MAX : peak * 2;
}

/* The length for a pool larger than twice the program's peak: a part of the doubled one. */
static uint64_t temper(const gantry__bfc_t *bfc, uint64_t wanted, uint64_t least) {
    uint64_t pool = bfc->stats.pool_bytes + bfc->stats.pending_bytes;
    uint64_t fair = gantry__bfc_fair_pool_bytes(bfc, least);
    if (pool <= fair || wanted <= bfc->options.initial_region_bytes) return wanted;
    return least > bfc->options.initial_region_bytes ? least : bfc->options.initial_region_bytes;
}

gantry_status_t gantry__bfc_begin_region(gantry__bfc_t *bfc, uint64_t bytes,
                                         gantry__bfc_region_t **out_region) {
    *out_region = NULL;
    uint64_t least = gantry__bfc_round(bfc, bytes);
    uint64_t most = gantry__bfc_available_bytes(bfc);
    if (most > bfc->options.max_region_bytes) most = round_down(bfc, bfc->options.max_region_bytes);
    if (least > most) return GANTRY_OK;
    uint64_t wanted = bfc->next_region_bytes, next = wanted;
    if (bfc->options.growth && least > bfc->options.max_step_bytes) {
        wanted = least;
    } else {
        while (wanted < least) wanted = doubled(bfc, wanted);
        uint64_t tempered = temper(bfc, wanted, least);
        if (tempered == wanted) next = wanted == next ? doubled(bfc, wanted) : wanted;
        wanted = tempered;
    }
    gantry__bfc_region_t *region = gantry__heap_zalloc(bfc->heap, sizeof *region);
    if (!region) return GANTRY_RESOURCE_EXHAUSTED;
    region->bytes = wanted < most ? wanted : most;
    region->least_bytes = least;
    region->next_region_bytes = next;
    region->first.priority = gantry__bfc_bins_draw(&bfc->bins);
    bfc->stats.pending_bytes += region->bytes;
    *out_region = region;
    return GANTRY_OK;
}

bool gantry__bfc_shrink_region(gantry__bfc_t *bfc, gantry__bfc_region_t *region) {
    if (region->bytes <= region->least_bytes) return false;
    /* at least one alignment less */
    uint64_t smaller = round_down(bfc, region->bytes - region->bytes / 10);
    if (smaller < region->least_bytes) smaller = region->least_bytes;
    bfc->stats.pending_bytes -= region->bytes - smaller;
    region->bytes = smaller;
    return true;
}

void gantry__bfc_attach_region(gantry__bfc_t *bfc, gantry__bfc_region_t *region, uint64_t handle) {
    region->handle = handle;
    region->number = bfc->regions_attached++;
    region->base = bfc->next_base;
    bfc->next_base += region->bytes;
    region->next = NULL;
    region->previous = bfc->last_region;
    *(region->previous ? &region->previous->next : &bfc->first_region) = region;
    bfc->last_region = region;
    region->attached = true;
    region->first.region = region;
    region->first.bytes = region->bytes;
    region->first.order = region->base;
    gantry__bfc_bins_insert(&bfc->bins, &region->first);

    gantry__bfc_stats_t *stats = &bfc->stats;
    stats->pending_bytes -= region->bytes;
    stats->pool_bytes += region->bytes;
    stats->region_count++;
    if (stats->pool_bytes > stats->peak_pool_bytes) stats->peak_pool_bytes = stats->pool_bytes;
    if (region->next_region_bytes > bfc->next_region_bytes)
        bfc->next_region_bytes = region->next_region_bytes;
}

static bool is_empty(const gantry__bfc_region_t *region) {
    return !region->first.in_use && !region->first.next;
}

/* The region size that a pool of this many bytes has reached when it grew for small requests. */
static void step_growth_back(gantry__bfc_t *bfc) {
    uint64_t bytes = bfc->options.initial_region_bytes;
    while (bytes <= bfc->stats.pool_bytes && bytes < bfc->next_region_bytes)
        bytes = doubled(bfc, bytes);
    if (bytes < bfc->next_region_bytes) bfc->next_region_bytes = bytes;
}

bool gantry__bfc_detach_region(gantry__bfc_t *bfc, gantry__bfc_region_t *region) {
    if (!region->attached || !is_empty(region)) return false;
    gantry__bfc_bins_remove(&bfc->bins, &region->first);
    *(region->previous ? &region->previous->next : &bfc->first_region) = region->next;
    *(region->next ? &region->next->previous : &bfc->last_region) = region->previous;
    region->next = NULL;
    region->previous = NULL;
    region->attached = false;
    bfc->stats.pool_bytes -= region->bytes;
    bfc->stats.region_count--;
    bfc->stats.pending_bytes += region->bytes;
    step_growth_back(bfc);
    return true;
}

void gantry__bfc_end_region(gantry__bfc_t *bfc, gantry__bfc_region_t *region) {
    bfc->stats.pending_bytes -= region->bytes;
    gantry__heap_free(bfc->heap, region, sizeof *region);
}

const gantry__bfc_region_t *gantry__bfc_first_region(const gantry__bfc_t *bfc) {
    return bfc->first_region;
}

gantry__bfc_region_t *gantry__bfc_next_empty_region(const gantry__bfc_t *bfc,
                                                    const gantry__bfc_region_t *after) {
    gantry__bfc_region_t *region = after ? after->next : bfc->first_region;
    while (region && !is_empty(region)) region = region->next;
    return region;
}

gantry__bfc_region_t *gantry__bfc_largest_empty_region(const gantry__bfc_t *bfc) {
    gantry__bfc_region_t *largest = NULL;
    for (gantry__bfc_region_t *region = gantry__bfc_next_empty_region(bfc, NULL); region;
         region = gantry__bfc_next_empty_region(bfc, region)) {
        if (!largest || region->bytes > largest->bytes) largest = region;
    }
    return largest;
}

uint64_t gantry__bfc_empty_region_bytes(const gantry__bfc_t *bfc) {
    uint64_t bytes = 0;
    for (const gantry__bfc_region_t *region = gantry__bfc_next_empty_region(bfc, NULL); region;
         region = gantry__bfc_next_empty_region(bfc, region)) {
        bytes += region->bytes;
    }
    return bytes;
}

void gantry__bfc_get_stats(const gantry__bfc_t *bfc, gantry__bfc_stats_t *out_stats) {
    *out_stats = bfc->stats;
    out_stats->largest_free_block_bytes = gantry__bfc_bins_largest(&bfc->bins);
}

void gantry__bfc_clear_stats(gantry__bfc_t *bfc) {
    if (bfc->stats.peak_bytes_in_use > bfc->most_in_use)
        bfc->most_in_use = bfc->stats.peak_bytes_in_use;
    bfc->stats.num_allocs = 0;
    bfc->stats.largest_alloc_bytes = 0;
    bfc->stats.peak_bytes_in_use = bfc->stats.bytes_in_use;
    bfc->stats.peak_pool_bytes = bfc->stats.pool_bytes;
}

unsigned gantry__bfc_bin(uint64_t bytes) {
    if (bytes < GANTRY__BFC_LEAST_ALIGNMENT) return 0;
    unsigned row = gantry__bfc_bins_class(bytes) / GANTRY__BFC_CLASSES;
    return row < GANTRY__BFC_BINS - 1 ? row : GANTRY__BFC_BINS - 1;
}
