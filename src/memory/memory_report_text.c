/* SPDX-License-Identifier: Apache-2.0 */
/* The report for people: the request and the steps tried, then bins, regions and chunks, sizes,
 * totals, owners, the map. */
#include <inttypes.h>
#include <stdio.h>

#include "memory/memory_report.h"

typedef gantry__memory_report_t report_t;

typedef struct amount_t {
    char text[32];
} amount_t;

/* Writes an amount such as "18.00MiB", in whole numbers, so that the locale does not matter. */
static amount_t amount(uint64_t bytes) {
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    amount_t out;
    if (bytes < 1024) {
        (void)snprintf(out.text, sizeof out.text, "%uB", (unsigned)bytes);
        return out;
    }
    unsigned unit = 0;
    while (unit < 5 && bytes >> 10 * (unit + 2) != 0) ++unit;
    unsigned shift = 10 * (unit + 1);
    uint64_t part = (bytes & ((UINT64_C(1) << shift) - 1)) >> (shift - 10); /* of 1024 */
    (void)snprintf(out.text, sizeof out.text, "%" PRIu64 ".%02u%s", bytes >> shift,
                   (unsigned)(part * 100 / 1024), units[unit]);
    return out;
}

static void write_name(const char *op, const char *tag, gantry__text_t *out) {
    gantry__text_append(out, "%s", *op ? op : "(unknown)");
    if (*tag) gantry__text_append(out, " [%s]", tag);
}

/* ---- what happened ---- */

static void memory_report_text_write_rung(const report_t *report, const gantry__rung_t *rung,
                                          gantry__text_t *out) {
    switch (rung->kind) {
        case GANTRY__RUNG_REUSE:
            gantry__text_append(out, "  reuse: the largest free chunk has %s\n",
                                amount(rung->bytes).text);
            break;
        case GANTRY__RUNG_EXTEND:
            if (rung->bytes == 0) {
                gantry__text_append(out, "  extend: limit and largest region leave %s\n",
                                    amount(rung->other).text);
            } else {
                gantry__text_append(
                    out, "  extend: the driver refused %" PRIu64 " times, first %s%s%s\n",
                    rung->count, amount(rung->bytes).text, *report->driver_text ? ": " : "",
                    report->driver_text);
            }
            break;
        case GANTRY__RUNG_WAIT:
            gantry__text_append(
                out, "  wait: memory came free %" PRIu64 " times in %" PRIu64 " us, never enough\n",
                rung->count, rung->bytes / 1000);
            break;
        case GANTRY__RUNG_GIVE_BACK:
            gantry__text_append(
                out, "  give back: %" PRIu64 " empty regions of %s in all, %s of idle staging\n",
                rung->count, amount(rung->bytes).text, amount(rung->other).text);
            break;
        case GANTRY__RUNG_TAKE_KEPT:
            gantry__text_append(out, "  free idle blocks of functions: %s in all\n",
                                amount(rung->bytes).text);
            break;
    }
}

static void memory_report_text_write_head(const report_t *report, gantry__text_t *out) {
    if (!report->out_of_memory) {
        gantry__text_append(out, "Memory of allocator %s.\n", report->allocator);
        return;
    }
    gantry__text_append(out, "Allocator %s ran out of memory: ", report->allocator);
    write_name(report->op, report->tag, out);
    gantry__text_append(out, " requested %s (%" PRIu64 " bytes, rounded to %" PRIu64 ").\nTried:\n",
                        amount(report->asked_bytes).text, report->asked_bytes,
                        report->rounded_bytes);
    for (uint32_t i = 0; i < report->rung_count; ++i)
        memory_report_text_write_rung(report, &report->rungs[i], out);
    uint64_t free_bytes = report->stats.pool_bytes - report->stats.bytes_in_use;
    if (free_bytes + report->available_bytes >= report->rounded_bytes) {
        gantry__text_append(out,
                            "There is enough memory, but not in one piece: %s free in %" PRIu64
                            " chunks, %s more under the limit.\n",
                            amount(free_bytes).text, report->free_chunks,
                            amount(report->available_bytes).text);
    }
}

/* ---- the books ---- */

static void memory_report_text_write_bins(const report_t *report, gantry__text_t *out) {
    gantry__text_append(out, "Bins of %s (chunks of this size up to the next bin's):\n",
                        report->allocator);
    for (unsigned i = 0; i < GANTRY__BFC_BINS; ++i) {
        const gantry__bfc_bin_summary_t *bin = &report->bins[i];
        gantry__text_append(out,
                            "Bin (%" PRIu64 "): \tchunks: %" PRIu64 ", in use: %" PRIu64
                            ". %s in chunks. %s in use. %s of that requested.\n",
                            UINT64_C(256) << i, bin->chunks, bin->chunks_in_use,
                            amount(bin->bytes).text, amount(bin->bytes_in_use).text,
                            amount(bin->requested_bytes_in_use).text);
    }
}

/* The free chunks in the bin of the request. */
static void write_request_bin(const report_t *report, gantry__text_t *out) {
    if (!report->out_of_memory) return;
    unsigned bin = gantry__bfc_bin(report->rounded_bytes);
    gantry__text_append(
        out, "The request's bin is %s; its free chunks:", amount(UINT64_C(256) << bin).text);
    unsigned listed = 0;
    for (uint32_t i = 0; i < report->chunks_kept && listed < 16; ++i) {
        const gantry__report_chunk_t *chunk = &report->chunks[i];
        if (chunk->in_use || gantry__bfc_bin(chunk->bytes) != bin) continue;
        gantry__text_append(out, "%s %" PRIu64, listed++ ? "," : "", chunk->bytes);
    }
    gantry__text_append(out, "%s\n", listed ? "" : " none");
}

static void write_chunk(const report_t *report, const gantry__report_chunk_t *chunk,
                        gantry__text_t *out) {
    gantry__text_append(out, "%s at %" PRIx64 " of size %" PRIu64,
                        chunk->in_use ? "InUse" : "Free ", chunk->offset, chunk->bytes);
    if (chunk->in_use) {
        gantry__text_append(out, " (asked %" PRIu64 ") by ", chunk->requested_bytes);
        write_name(report->names[chunk->name].op, report->names[chunk->name].tag, out);
    }
    gantry__text_append(out, "\n");
}

static void memory_report_text_write_regions(const report_t *report, gantry__text_t *out) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < report->regions_kept; ++i) {
        const gantry__report_region_t *region = &report->regions[i];
        gantry__text_append(out,
                            "Region %" PRIu64 " of size %" PRIu64 ": %" PRIu64
                            " chunks, %s in use, largest free %s\n",
                            region->number, region->bytes, region->chunks,
                            amount(region->bytes_in_use).text,
                            amount(region->largest_free_bytes).text);
        for (; at < report->chunks_kept && report->chunks[at].region == i; ++at)
            write_chunk(report, &report->chunks[at], out);
    }
    uint64_t chunks = report->free_chunks + report->chunks_in_use;
    if (report->stats.region_count > report->regions_kept || chunks > at) {
        gantry__text_append(out,
                            "and %" PRIu64 " regions and %" PRIu64 " chunks that are not listed\n",
                            report->stats.region_count - report->regions_kept, chunks - at);
    }
}

static void memory_report_text_write_sizes(const report_t *report, gantry__text_t *out) {
    gantry__text_append(out, "Chunks in use by size:\n");
    for (uint32_t i = 0; i < report->size_count; ++i) {
        const gantry__report_size_t *size = &report->sizes[i];
        if (size->bytes) {
            gantry__text_append(out, "%" PRIu64 " of size %" PRIu64 ": %s\n", size->chunks,
                                size->bytes, amount(size->total_bytes).text);
        } else {
            gantry__text_append(out, "%" PRIu64 " of other sizes: %s\n", size->chunks,
                                amount(size->total_bytes).text);
        }
    }
    gantry__text_append(out, "All chunks in use: %s\n", amount(report->stats.bytes_in_use).text);
}

static void write_totals(const report_t *report, gantry__text_t *out) {
    const gantry__bfc_stats_t *stats = &report->stats;
    gantry__text_append(out,
                        "Pool: %" PRIu64 " bytes of a limit of %" PRIu64 "; room for more: %" PRIu64
                        "; counted apart from the pool: %" PRIu64 "; the driver's context: %" PRIu64
                        "; in transit: %" PRIu64 "; next region: %" PRIu64
                        "; the program's own: %" PRIu64 "\n",
                        stats->pool_bytes, stats->bytes_limit, report->available_bytes,
                        stats->charged_bytes, stats->reserved_bytes, stats->pending_bytes,
                        report->next_region_bytes, stats->foreign_bytes);
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"Limit", stats->bytes_limit},
                {"InUse", stats->bytes_in_use},
                {"Asked", stats->requested_bytes_in_use},
                {"MaxInUse", stats->peak_bytes_in_use},
                {"NumAllocs", stats->num_allocs},
                {"MaxAllocSize", stats->largest_alloc_bytes},
                {"Pool", stats->pool_bytes},
                {"PeakPool", stats->peak_pool_bytes},
                {"Regions", stats->region_count},
                {"LargestFreeBlock", stats->largest_free_block_bytes},
                {"Extended", report->counts.extended},
                {"Waited", report->counts.waited},
                {"Collected", report->counts.collected},
                {"OutOfMemory", report->counts.out_of_memory}};
    gantry__text_append(out, "Stats:\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
        gantry__text_append(out, "%-18s%20" PRIu64 "\n", rows[i].name, rows[i].value);
    gantry__text_append(out, "%-18s%18" PRIu32 ".%02" PRIu32 "%%\n", "Fragmentation",
                        report->fragmentation / 100, report->fragmentation % 100);
}

static void memory_report_text_write_owners(const report_t *report, gantry__text_t *out) {
    gantry__text_append(out, "Biggest owners:\n");
    for (uint32_t i = 0; i < report->owner_count; ++i) {
        const gantry__report_name_t *name = &report->names[report->owners[i]];
        gantry__text_append(out, "%10s in %" PRIu64 " chunks: ", amount(name->bytes).text,
                            name->chunks);
        write_name(name->op, name->tag, out);
        gantry__text_append(out, "\n");
    }
}

void gantry__memory_report_write_text(const report_t *report, gantry__text_t *out) {
    memory_report_text_write_head(report, out);
    memory_report_text_write_bins(report, out);
    write_request_bin(report, out);
    memory_report_text_write_regions(report, out);
    memory_report_text_write_sizes(report, out);
    write_totals(report, out);
    memory_report_text_write_owners(report, out);
    gantry__text_append(out, "%s\n", *report->map ? report->map : "<allocator contains no memory>");
}
