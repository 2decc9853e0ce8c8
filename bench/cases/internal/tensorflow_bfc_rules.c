/* SPDX-License-Identifier: Apache-2.0 */
/* The rules, in the order in which they apply to a request:
 *
 *   round     up to a multiple of 256
 *   find      from its bin upward, the first by (size, address) that fits; bin b holds chunks of at
 *             least 256 << b bytes
 *   split     if the chunk is at least twice the request, or at least 128 MiB would be left over
 *   extend    double the current region size until it covers the request; take a region of that
 *             size, or of the rest of the limit; while the driver refuses, try nine tenths of it;
 *             if this request did not double the size, double it for the next region
 *   collect   free all empty regions, if that leaves enough, and extend again
 *
 * Freed chunks merge with free neighbours in their region at once. Nothing else is ever freed, and
 * the current region size never decreases. */
#include "tensorflow_bfc_rules.h"

#include <stdlib.h>
#include <string.h>

void tensorflow_bfc_rules_init(tensorflow_bfc_rules_t *rules, const rules_options_t *options) {
    *rules = (tensorflow_bfc_rules_t){.options = *options};
    uint64_t first = options->limit_bytes;
    if (options->growth && first > RULES_FIRST_REGION_BYTES) first = RULES_FIRST_REGION_BYTES;
    rules->current_region_bytes = (first + RULES_UNIT - 1) / RULES_UNIT * RULES_UNIT;
    rules->next_address = RULES_UNIT;
}

static void free_region(rules_region_t *region) {
    for (rules_chunk_t *chunk = region->first; chunk;) {
        rules_chunk_t *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    free(region);
}

void tensorflow_bfc_rules_deinit(tensorflow_bfc_rules_t *rules) {
    for (rules_region_t *region = rules->regions; region;) {
        rules_region_t *next = region->next;
        free_region(region);
        region = next;
    }
    for (int i = 0; i < RULES_BINS; ++i) free(rules->bins[i].chunks);
    *rules = (tensorflow_bfc_rules_t){0};
}

/* ---- bins ---- */

unsigned tensorflow_bfc_rules_bin(uint64_t bytes) {
    unsigned bin = 0;
    while (bin < RULES_BINS - 1 && bytes >= RULES_UNIT << (bin + 1)) ++bin;
    return bin;
}

/* The number of chunks of the bin before (bytes, address). */
static size_t position(const rules_bin_t *bin, uint64_t bytes, uint64_t address) {
    size_t low = 0, high = bin->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const rules_chunk_t *chunk = bin->chunks[middle];
        bool before = chunk->bytes < bytes || (chunk->bytes == bytes && chunk->address < address);
        *(before ? &low : &high) = before ? middle + 1 : middle;
    }
    return low;
}

static void insert(tensorflow_bfc_rules_t *rules, rules_chunk_t *chunk) {
    rules_bin_t *bin = &rules->bins[tensorflow_bfc_rules_bin(chunk->bytes)];
    if (bin->count == bin->capacity) {
        size_t capacity = bin->capacity ? bin->capacity * 2 : 64;
        rules_chunk_t **chunks = realloc(bin->chunks, capacity * sizeof(rules_chunk_t *));
        if (!chunks) {
            rules->broken = true;
            return;
        }
        bin->chunks = chunks;
        bin->capacity = capacity;
    }
    size_t at = position(bin, chunk->bytes, chunk->address);
    memmove(&bin->chunks[at + 1], &bin->chunks[at], (bin->count - at) * sizeof(rules_chunk_t *));
    bin->chunks[at] = chunk;
    ++bin->count;
}

static void take_out(tensorflow_bfc_rules_t *rules, const rules_chunk_t *chunk) {
    rules_bin_t *bin = &rules->bins[tensorflow_bfc_rules_bin(chunk->bytes)];
    size_t at = position(bin, chunk->bytes, chunk->address);
    if (at == bin->count) return; /* only after host memory ran out */
    --bin->count;
    memmove(&bin->chunks[at], &bin->chunks[at + 1], (bin->count - at) * sizeof(rules_chunk_t *));
}

/* ---- allocate ---- */

static void split(tensorflow_bfc_rules_t *rules, rules_chunk_t *chunk, uint64_t bytes) {
    rules_chunk_t *rest = calloc(1, sizeof *rest);
    if (!rest) {
        rules->broken = true;
        return;
    }
    *rest = (rules_chunk_t){.address = chunk->address + bytes,
                            .bytes = chunk->bytes - bytes,
                            .next = chunk->next,
                            .previous = chunk,
                            .region = chunk->region};
    if (rest->next) rest->next->previous = rest;
    chunk->next = rest;
    chunk->bytes = bytes;
    insert(rules, rest);
}

static rules_chunk_t *find(tensorflow_bfc_rules_t *rules, uint64_t rounded, uint64_t requested) {
    for (unsigned b = tensorflow_bfc_rules_bin(rounded); b < RULES_BINS; ++b) {
        rules_bin_t *bin = &rules->bins[b];
        size_t at = position(bin, rounded, 0);
        if (at == bin->count) continue;
        rules_chunk_t *chunk = bin->chunks[at];
        take_out(rules, chunk);
        if (chunk->bytes >= rounded * 2 || chunk->bytes - rounded >= RULES_SPLIT_BYTES)
            split(rules, chunk, rounded);
        chunk->in_use = true;
        chunk->requested_bytes = requested;
        rules_stats_t *stats = &rules->stats;
        ++stats->num_allocs;
        stats->bytes_in_use += chunk->bytes;
        if (stats->bytes_in_use > stats->peak_bytes_in_use)
            stats->peak_bytes_in_use = stats->bytes_in_use;
        if (chunk->bytes > stats->largest_alloc_bytes) stats->largest_alloc_bytes = chunk->bytes;
        return chunk;
    }
    return NULL;
}

static bool add_region(tensorflow_bfc_rules_t *rules, uint64_t bytes) {
    rules_region_t *region = calloc(1, sizeof *region);
    rules_chunk_t *chunk = calloc(1, sizeof *chunk);
    if (!region || !chunk) {
        rules->broken = true;
        free(region);
        free(chunk);
        return false;
    }
    *chunk = (rules_chunk_t){.address = rules->next_address, .bytes = bytes, .region = region};
    *region = (rules_region_t){.bytes = bytes, .first = chunk};
    rules->next_address += bytes;
    rules_region_t **end = &rules->regions;
    while (*end) end = &(*end)->next;
    *end = region;
    insert(rules, chunk);
    rules->stats.pool_bytes += bytes;
    if (rules->stats.pool_bytes > rules->stats.peak_pool_bytes)
        rules->stats.peak_pool_bytes = rules->stats.pool_bytes;
    return true;
}

static bool driver_has(const tensorflow_bfc_rules_t *rules, uint64_t bytes) {
    return !rules->options.driver_bytes ||
           rules->stats.pool_bytes + bytes <= rules->options.driver_bytes;
}

static bool extend(tensorflow_bfc_rules_t *rules, uint64_t rounded) {
    uint64_t available =
        (rules->options.limit_bytes - rules->stats.pool_bytes) / RULES_UNIT * RULES_UNIT;
    if (rounded > available) return false;
    bool was_doubled = false;
    while (rounded > rules->current_region_bytes) {
        rules->current_region_bytes *= 2;
        was_doubled = true;
    }
    uint64_t bytes =
        rules->current_region_bytes < available ? rules->current_region_bytes : available;
    while (!driver_has(rules, bytes)) {
        bytes = (uint64_t)((double)bytes * 0.9) / RULES_UNIT * RULES_UNIT;
        if (bytes < rounded) return false;
    }
    if (!was_doubled) rules->current_region_bytes *= 2;
    return add_region(rules, bytes);
}

rules_chunk_t *tensorflow_bfc_rules_allocate(tensorflow_bfc_rules_t *rules, uint64_t bytes) {
    if (bytes == 0 || bytes > INT64_MAX) return NULL;
    uint64_t rounded = (bytes + RULES_UNIT - 1) / RULES_UNIT * RULES_UNIT;
    rules_chunk_t *chunk = find(rules, rounded, bytes);
    if (!chunk && extend(rules, rounded)) chunk = find(rules, rounded, bytes);
    if (!chunk && rules->options.collection && tensorflow_bfc_rules_collect(rules, rounded) &&
        extend(rules, rounded))
        chunk = find(rules, rounded, bytes);
    return chunk;
}

/* ---- free ---- */

/* Merges the right one of two neighbours into the left one. Neither is in a bin. */
static void merge(rules_chunk_t *left, rules_chunk_t *right) {
    left->bytes += right->bytes;
    left->next = right->next;
    if (left->next) left->next->previous = left;
    free(right);
}

void tensorflow_bfc_rules_free(tensorflow_bfc_rules_t *rules, rules_chunk_t *chunk) {
    rules->stats.bytes_in_use -= chunk->bytes;
    chunk->in_use = false;
    chunk->requested_bytes = 0;
    rules_chunk_t *next = chunk->next, *previous = chunk->previous;
    if (next && !next->in_use) {
        take_out(rules, next);
        merge(chunk, next);
    }
    if (previous && !previous->in_use) {
        take_out(rules, previous);
        merge(previous, chunk);
        chunk = previous;
    }
    insert(rules, chunk);
}

/* ---- collection ---- */

static bool is_empty(const rules_region_t *region) {
    return !region->first->in_use && !region->first->next;
}

bool tensorflow_bfc_rules_collect(tensorflow_bfc_rules_t *rules, uint64_t bytes) {
    uint64_t empty = 0;
    for (const rules_region_t *region = rules->regions; region; region = region->next)
        empty += is_empty(region) ? region->bytes : 0;
    if (empty == 0 || bytes > rules->options.limit_bytes - rules->stats.pool_bytes + empty)
        return false;
    for (rules_region_t **link = &rules->regions; *link;) {
        rules_region_t *region = *link;
        if (!is_empty(region)) {
            link = &region->next;
            continue;
        }
        take_out(rules, region->first);
        *link = region->next;
        free_region(region);
    }
    rules->stats.pool_bytes -= empty;
    ++rules->stats.collections;
    return true;
}

/* ---- the view ---- */

void tensorflow_bfc_rules_stats(const tensorflow_bfc_rules_t *rules, rules_stats_t *out_stats) {
    *out_stats = rules->stats;
    for (int i = RULES_BINS - 1; i >= 0 && out_stats->largest_free_bytes == 0; --i) {
        const rules_bin_t *bin = &rules->bins[i];
        if (bin->count > 0) out_stats->largest_free_bytes = bin->chunks[bin->count - 1]->bytes;
    }
    for (const rules_region_t *region = rules->regions; region; region = region->next) {
        ++out_stats->region_count;
        if (region->bytes > out_stats->largest_region_bytes)
            out_stats->largest_region_bytes = region->bytes;
    }
}

void tensorflow_bfc_rules_bins(const tensorflow_bfc_rules_t *rules,
                               rules_bin_report_t out_bins[RULES_BINS]) {
    memset(out_bins, 0, RULES_BINS * sizeof out_bins[0]);
    for (const rules_region_t *region = rules->regions; region; region = region->next) {
        for (const rules_chunk_t *chunk = region->first; chunk; chunk = chunk->next) {
            rules_bin_report_t *bin = &out_bins[tensorflow_bfc_rules_bin(chunk->bytes)];
            ++bin->chunks;
            bin->bytes += chunk->bytes;
            if (!chunk->in_use) continue;
            ++bin->chunks_in_use;
            bin->bytes_in_use += chunk->bytes;
            bin->requested_bytes_in_use += chunk->requested_bytes;
        }
    }
}
