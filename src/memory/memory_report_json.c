/* SPDX-License-Identifier: Apache-2.0 */
/* The report for programs: the facts of the text form, as one JSON object on one line. */
#include <inttypes.h>

#include "base/json_text.h"
#include "memory/memory_report.h"

typedef gantry__memory_report_t report_t;

/* ---- pieces ---- */

static void write_named_string(const char *name, const char *text, gantry__text_t *out) {
    gantry__text_append(out, ",\"%s\":", name);
    gantry__json_string(text, out);
}

static void write_number(const char *name, uint64_t value, gantry__text_t *out) {
    gantry__text_append(out, ",\"%s\":%" PRIu64, name, value);
}

/* ---- parts; each begins with a comma ---- */

static void memory_report_json_write_rung(const report_t *report, const gantry__rung_t *rung,
                                          gantry__text_t *out) {
    switch (rung->kind) {
        case GANTRY__RUNG_REUSE:
            gantry__text_append(out, "{\"rung\":\"reuse\",\"largest_free_bytes\":%" PRIu64,
                                rung->bytes);
            break;
        case GANTRY__RUNG_EXTEND:
            gantry__text_append(out,
                                "{\"rung\":\"extend\",\"asked_bytes\":%" PRIu64
                                ",\"refusals\":%" PRIu64 ",\"available_bytes\":%" PRIu64,
                                rung->bytes, rung->count, rung->other);
            if (rung->bytes) write_named_string("driver", report->driver_text, out);
            break;
        case GANTRY__RUNG_WAIT:
            gantry__text_append(out,
                                "{\"rung\":\"wait\",\"nanoseconds\":%" PRIu64 ",\"frees\":%" PRIu64,
                                rung->bytes, rung->count);
            break;
        case GANTRY__RUNG_GIVE_BACK:
            gantry__text_append(out,
                                "{\"rung\":\"give_back\",\"region_bytes\":%" PRIu64
                                ",\"regions\":%" PRIu64 ",\"staging_bytes\":%" PRIu64,
                                rung->bytes, rung->count, rung->other);
            break;
    }
    gantry__text_append(out, "}");
}

static void write_request(const report_t *report, gantry__text_t *out) {
    gantry__text_append(out, ",\"request\":");
    if (!report->out_of_memory) {
        gantry__text_append(out, "null");
        return;
    }
    gantry__text_append(out, "{\"bytes\":%" PRIu64, report->asked_bytes);
    write_number("rounded_bytes", report->rounded_bytes, out);
    write_named_string("op", report->op, out);
    write_named_string("tag", report->tag, out);
    gantry__text_append(out, ",\"tried\":[");
    for (uint32_t i = 0; i < report->rung_count; ++i) {
        if (i > 0) gantry__text_append(out, ",");
        memory_report_json_write_rung(report, &report->rungs[i], out);
    }
    gantry__text_append(out, "]}");
}

static void write_stats(const report_t *report, gantry__text_t *out) {
    const gantry__bfc_stats_t *stats = &report->stats;
    gantry__text_append(out, ",\"stats\":{\"limit_bytes\":%" PRIu64, stats->bytes_limit);
    write_number("in_use_bytes", stats->bytes_in_use, out);
    write_number("requested_bytes", stats->requested_bytes_in_use, out);
    write_number("peak_bytes", stats->peak_bytes_in_use, out);
    write_number("allocation_count", stats->num_allocs, out);
    write_number("largest_allocation_bytes", stats->largest_alloc_bytes, out);
    write_number("pool_bytes", stats->pool_bytes, out);
    write_number("peak_pool_bytes", stats->peak_pool_bytes, out);
    write_number("pending_bytes", stats->pending_bytes, out);
    write_number("charged_bytes", stats->charged_bytes, out);
    write_number("context_bytes", stats->reserved_bytes, out);
    write_number("available_bytes", report->available_bytes, out);
    write_number("next_region_bytes", report->next_region_bytes, out);
    write_number("largest_free_bytes", stats->largest_free_block_bytes, out);
    write_number("region_count", stats->region_count, out);
    write_number("chunks_in_use", report->chunks_in_use, out);
    write_number("free_chunks", report->free_chunks, out);
    gantry__text_append(out, ",\"fragmentation\":%" PRIu32 ".%04" PRIu32,
                        report->fragmentation / 10000, report->fragmentation % 10000);
    write_number("extended_count", report->counts.extended, out);
    write_number("waited_count", report->counts.waited, out);
    write_number("collected_count", report->counts.collected, out);
    write_number("out_of_memory_count", report->counts.out_of_memory, out);
    gantry__text_append(out, "}");
}

static void memory_report_json_write_bins(const report_t *report, gantry__text_t *out) {
    gantry__text_append(out, ",\"bins\":[");
    for (unsigned i = 0; i < GANTRY__BFC_BINS; ++i) {
        const gantry__bfc_bin_summary_t *bin = &report->bins[i];
        gantry__text_append(out, "%s{\"least_bytes\":%" PRIu64, i > 0 ? "," : "",
                            UINT64_C(256) << i);
        write_number("chunks", bin->chunks, out);
        write_number("chunks_in_use", bin->chunks_in_use, out);
        write_number("bytes", bin->bytes, out);
        write_number("in_use_bytes", bin->bytes_in_use, out);
        write_number("requested_bytes", bin->requested_bytes_in_use, out);
        gantry__text_append(out, "}");
    }
    gantry__text_append(out, "]");
}

static void memory_report_json_write_owners(const report_t *report, gantry__text_t *out) {
    gantry__text_append(out, ",\"owners\":[");
    for (uint32_t i = 0; i < report->owner_count; ++i) {
        const gantry__report_name_t *name = &report->names[report->owners[i]];
        gantry__text_append(out, "%s{\"op\":", i > 0 ? "," : "");
        gantry__json_string(name->op, out);
        write_named_string("tag", name->tag, out);
        write_number("chunks", name->chunks, out);
        write_number("bytes", name->bytes, out);
        write_number("requested_bytes", name->requested_bytes, out);
        gantry__text_append(out, "}");
    }
    gantry__text_append(out, "]");
}

static void memory_report_json_write_sizes(const report_t *report, gantry__text_t *out) {
    gantry__text_append(out, ",\"sizes\":[");
    for (uint32_t i = 0; i < report->size_count; ++i) {
        const gantry__report_size_t *size = &report->sizes[i];
        gantry__text_append(out, "%s{\"bytes\":", i > 0 ? "," : "");
        if (size->bytes) {
            gantry__text_append(out, "%" PRIu64, size->bytes);
        } else {
            gantry__text_append(out, "null"); /* all others */
        }
        write_number("chunks", size->chunks, out);
        write_number("total_bytes", size->total_bytes, out);
        gantry__text_append(out, "}");
    }
    gantry__text_append(out, "]");
}

static void memory_report_json_write_regions(const report_t *report, gantry__text_t *out) {
    gantry__text_append(out, ",\"regions\":[");
    for (uint32_t i = 0; i < report->regions_kept; ++i) {
        const gantry__report_region_t *region = &report->regions[i];
        gantry__text_append(out, "%s{\"number\":%" PRIu64, i > 0 ? "," : "", region->number);
        write_number("bytes", region->bytes, out);
        write_number("in_use_bytes", region->bytes_in_use, out);
        write_number("largest_free_bytes", region->largest_free_bytes, out);
        write_number("chunks", region->chunks, out);
        gantry__text_append(out, "}");
    }
    gantry__text_append(out, "]");
}

static void write_chunks(const report_t *report, gantry__text_t *out) {
    gantry__text_append(out, ",\"chunks\":[");
    for (uint32_t i = 0; i < report->chunks_kept; ++i) {
        const gantry__report_chunk_t *chunk = &report->chunks[i];
        gantry__text_append(out, "%s{\"region\":%" PRIu32, i > 0 ? "," : "", chunk->region);
        write_number("offset", chunk->offset, out);
        write_number("bytes", chunk->bytes, out);
        gantry__text_append(out, ",\"in_use\":%s", chunk->in_use ? "true" : "false");
        if (chunk->in_use) {
            write_number("requested_bytes", chunk->requested_bytes, out);
            write_named_string("op", report->names[chunk->name].op, out);
            write_named_string("tag", report->names[chunk->name].tag, out);
        }
        gantry__text_append(out, "}");
    }
    gantry__text_append(out, "]");
    write_number("chunks_left_out",
                 report->free_chunks + report->chunks_in_use - report->chunks_kept, out);
}

void gantry__memory_report_write_json(const report_t *report, gantry__text_t *out) {
    gantry__text_append(out, "{\"allocator\":");
    gantry__json_string(report->allocator, out);
    gantry__text_append(out, ",\"out_of_memory\":%s", report->out_of_memory ? "true" : "false");
    write_request(report, out);
    write_stats(report, out);
    memory_report_json_write_bins(report, out);
    memory_report_json_write_owners(report, out);
    memory_report_json_write_sizes(report, out);
    memory_report_json_write_regions(report, out);
    write_chunks(report, out);
    write_named_string("map", report->map, out);
    gantry__text_append(out, "}");
}
