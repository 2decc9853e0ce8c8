/* SPDX-License-Identifier: Apache-2.0 */
/* Taking the snapshot: one walk over all chunks, under the allocator's lock.
 *
 * Owners are counted by the text of (op, tag). A small direct-mapped cache by addresses avoids most
 * hashing, because programs use the same few constants for all chunks. Sizes go through an
 * open-addressed table that is sorted at the end. Cost: some ten nanoseconds a chunk; 10,000 chunks
 * take a small part of a millisecond. */
#include "memory/memory_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

typedef gantry__memory_report_t report_t;

#define SEEN_PAIRS 1024 /* a power of two */
#define NAME_SLOTS 1024 /* a power of two, more than twice the names */
#define SIZE_SLOTS 512  /* a power of two, twice the sizes */

typedef struct tally_t {
    report_t *report;
    struct {
        const char *op, *tag;
        uint16_t name;
        bool is_set;
    } seen[SEEN_PAIRS];
    uint64_t hashes[GANTRY__REPORT_NAMES];
    uint16_t name_slots[NAME_SLOTS]; /* position in names + 1, by hash; 0: empty */
    uint16_t size_slots[SIZE_SLOTS]; /* position in sizes + 1; 0: empty */
    uint64_t pool_offset;            /* offset of the present region among all attached ones */
    uint32_t cell;                   /* the cell of the map that was coloured last */
    uint64_t starts[GANTRY__REPORT_MAP + 1]; /* of the cells */
    uint64_t used[GANTRY__REPORT_MAP];       /* bytes in use in each */
} tally_t;

void gantry__report_copy_text(char *out, size_t out_bytes, const char *text) {
    size_t length = text ? strlen(text) : 0;
    if (length >= out_bytes) {
        length = out_bytes - 1;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) --length;
    }
    if (length > 0) memcpy(out, text, length);
    out[length] = '\0';
}

/* ---- owners ---- */

static uint64_t hash_text(const char *text, size_t most, uint64_t seed) {
    size_t length = text ? strlen(text) : 0;
    return gantry__hash64(text ? text : "", length < most ? length : most, seed);
}

/* Compares the texts as far as they are kept. */
static uint16_t memory_report_find_name(tally_t *tally, const char *op, const char *tag) {
    report_t *report = tally->report;
    uint64_t hash =
        hash_text(op, GANTRY__REPORT_OP_BYTES - 1, hash_text(tag, GANTRY__REPORT_TAG_BYTES - 1, 0));
    size_t slot = (size_t)hash % NAME_SLOTS;
    for (; tally->name_slots[slot]; slot = (slot + 1) % NAME_SLOTS) {
        uint16_t position = (uint16_t)(tally->name_slots[slot] - 1);
        /* equal 64-bit hashes are taken as equal texts */
        if (tally->hashes[position] == hash) return position;
    }
    if (report->name_count == GANTRY__REPORT_NAMES) return GANTRY__REPORT_NAMES - 1;
    tally->name_slots[slot] = (uint16_t)(report->name_count + 1);
    gantry__report_name_t *name = &report->names[report->name_count];
    if (report->name_count == GANTRY__REPORT_NAMES - 1) {
        op = "(others)";
        tag = NULL;
    }
    gantry__report_copy_text(name->op, sizeof name->op, op);
    gantry__report_copy_text(name->tag, sizeof name->tag, tag);
    tally->hashes[report->name_count] = hash;
    return (uint16_t)report->name_count++;
}

static uint16_t name_of(tally_t *tally, const gantry__bfc_chunk_t *chunk) {
    uint64_t key = (uint64_t)(uintptr_t)chunk->owner * UINT64_C(0x9e3779b97f4a7c15) +
                   (uint64_t)(uintptr_t)chunk->tag * UINT64_C(0xc2b2ae3d27d4eb4f);
    size_t slot = (size_t)(key >> 40) % SEEN_PAIRS;
    if (!tally->seen[slot].is_set || tally->seen[slot].op != chunk->owner ||
        tally->seen[slot].tag != chunk->tag) {
        tally->seen[slot].name = memory_report_find_name(tally, chunk->owner, chunk->tag);
        tally->seen[slot].op = chunk->owner;
        tally->seen[slot].tag = chunk->tag;
        tally->seen[slot].is_set = true;
    }
    return tally->seen[slot].name;
}

/* Takes the largest of the remaining ones, sixteen times. The names without a place in the table
 * are not among them. */
static void choose_owners(report_t *report) {
    bool taken[GANTRY__REPORT_NAMES] = {false};
    uint32_t count =
        report->name_count < GANTRY__REPORT_NAMES ? report->name_count : GANTRY__REPORT_NAMES - 1;
    while (report->owner_count < GANTRY__REPORT_OWNERS && report->owner_count < count) {
        uint32_t best = GANTRY__REPORT_NAMES;
        for (uint32_t i = 0; i < count; ++i) {
            if (!taken[i] && (best == GANTRY__REPORT_NAMES ||
                              report->names[i].bytes > report->names[best].bytes))
                best = i;
        }
        taken[best] = true;
        report->owners[report->owner_count++] = (uint16_t)best;
    }
}

/* ---- sizes ---- */

static void count_size(tally_t *tally, uint64_t bytes) {
    report_t *report = tally->report;
    size_t slot = (size_t)((bytes >> 8) * UINT64_C(0x9e3779b97f4a7c15) >> 32) % SIZE_SLOTS;
    while (tally->size_slots[slot] && report->sizes[tally->size_slots[slot] - 1].bytes != bytes)
        slot = (slot + 1) % SIZE_SLOTS;
    if (!tally->size_slots[slot]) {
        if (report->size_count < GANTRY__REPORT_SIZES - 1) {
            report->sizes[report->size_count].bytes = bytes;
            tally->size_slots[slot] = (uint16_t)++report->size_count;
        } else { /* the slot stays empty: an empty slot must end each search */
            report->size_count = GANTRY__REPORT_SIZES;
        }
    }
    gantry__report_size_t *size =
        &report->sizes[tally->size_slots[slot] ? tally->size_slots[slot] - 1
                                               : GANTRY__REPORT_SIZES - 1];
    size->chunks++;
    size->total_bytes += bytes;
}

static int compare_sizes(const void *a, const void *b) {
    uint64_t x = ((const gantry__report_size_t *)a)->bytes,
             y = ((const gantry__report_size_t *)b)->bytes;
    return (x > y) - (x < y);
}

static void sort_sizes(report_t *report) {
    bool has_rest = report->size_count == GANTRY__REPORT_SIZES; /* stays at the end */
    qsort(report->sizes, report->size_count - has_rest, sizeof report->sizes[0], compare_sizes);
}

/* ---- the map ---- */

static void place_cells(tally_t *tally, uint64_t pool_bytes) {
    for (uint64_t i = 0; i <= GANTRY__REPORT_MAP; ++i) {
        tally->starts[i] = pool_bytes / GANTRY__REPORT_MAP * i +
                           pool_bytes % GANTRY__REPORT_MAP * i / GANTRY__REPORT_MAP;
    }
}

/* Chunks come in order, so the search begins at the last one's cell. */
static void colour_cells(tally_t *tally, uint64_t start, uint64_t bytes) {
    uint64_t end = start + bytes;
    while (start < end) {
        while (tally->starts[tally->cell + 1] <= start) ++tally->cell;
        uint64_t to = tally->starts[tally->cell + 1] < end ? tally->starts[tally->cell + 1] : end;
        tally->used[tally->cell] += to - start;
        start = to;
    }
}

static void draw_map(const tally_t *tally) {
    if (tally->report->stats.pool_bytes == 0) return;
    for (uint32_t i = 0; i < GANTRY__REPORT_MAP; ++i) {
        uint64_t length = tally->starts[i + 1] - tally->starts[i];
        tally->report->map[i] = tally->used[i] == 0 ? '_' : tally->used[i] == length ? '*' : 'x';
    }
}

/* ---- the walk ---- */

static void count_chunk(tally_t *tally, const gantry__bfc_chunk_t *chunk, uint32_t region,
                        gantry__report_region_t *sum) {
    report_t *report = tally->report;
    gantry__report_chunk_t entry = {.offset = chunk->offset,
                                    .bytes = chunk->bytes,
                                    .requested_bytes = chunk->requested_bytes,
                                    .region = region,
                                    .in_use = chunk->in_use};
    gantry__bfc_bin_summary_t *bin = &report->bins[gantry__bfc_bin(chunk->bytes)];
    bin->chunks++;
    bin->bytes += chunk->bytes;
    sum->chunks++;
    if (chunk->in_use) {
        entry.name = name_of(tally, chunk);
        gantry__report_name_t *name = &report->names[entry.name];
        name->chunks++;
        name->bytes += chunk->bytes;
        name->requested_bytes += chunk->requested_bytes;
        bin->chunks_in_use++;
        bin->bytes_in_use += chunk->bytes;
        bin->requested_bytes_in_use += chunk->requested_bytes;
        sum->bytes_in_use += chunk->bytes;
        count_size(tally, chunk->bytes);
        colour_cells(tally, tally->pool_offset + chunk->offset, chunk->bytes);
        report->chunks_in_use++;
    } else {
        if (chunk->bytes > sum->largest_free_bytes) sum->largest_free_bytes = chunk->bytes;
        report->free_chunks++;
    }
    if (report->chunks_kept < GANTRY__REPORT_CHUNKS) report->chunks[report->chunks_kept++] = entry;
}

static uint32_t fragmentation_of(const gantry__bfc_stats_t *stats) {
    uint64_t free_bytes = stats->pool_bytes - stats->bytes_in_use;
    if (free_bytes == 0) return 0;
    return (uint32_t)((double)(free_bytes - stats->largest_free_block_bytes) / (double)free_bytes *
                          10000.0 +
                      0.5);
}

void gantry__memory_report_take(report_t *report, const gantry__bfc_t *bfc, const char *allocator) {
    memset(report, 0, sizeof *report);
    gantry__report_copy_text(report->allocator, sizeof report->allocator, allocator);
    gantry__bfc_get_stats(bfc, &report->stats);
    report->available_bytes = gantry__bfc_available_bytes(bfc);
    report->next_region_bytes = bfc->next_region_bytes;
    tally_t tally = {.report = report};
    place_cells(&tally, report->stats.pool_bytes);
    uint32_t position = 0;
    for (const gantry__bfc_region_t *region = gantry__bfc_first_region(bfc); region;
         region = region->next) {
        gantry__report_region_t sum = {.number = region->number, .bytes = region->bytes};
        for (const gantry__bfc_chunk_t *chunk = &region->first; chunk; chunk = chunk->next)
            count_chunk(&tally, chunk, position, &sum);
        if (position < GANTRY__REPORT_REGIONS) report->regions[report->regions_kept++] = sum;
        tally.pool_offset += region->bytes;
        ++position;
    }
    report->fragmentation = fragmentation_of(&report->stats);
    choose_owners(report);
    sort_sizes(report);
    draw_map(&tally);
}
