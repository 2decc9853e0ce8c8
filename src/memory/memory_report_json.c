/* SPDX-License-Identifier: Apache-2.0 */
/* The report for programs: the facts of the text form, as one JSON object on one line. */
#include <inttypes.h>

#include "base/json_text.h"
#include "memory/memory_report.h"

typedef gantry__memory_report_t report_t;

/* ---- pieces ---- */

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
            if (rung->bytes) gantry__json_text_member("driver", report->driver_text, out);
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
        case GANTRY__RUNG_TAKE_KEPT:
            gantry__text_append(out, "{\"rung\":\"free_idle_blocks\",\"bytes\":%" PRIu64,
                                rung->bytes);
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
    gantry__json_number_member("rounded_bytes", report->rounded_bytes, out);
    gantry__json_text_member("op", report->op, out);
    gantry__json_text_member("tag", report->tag, out);
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
    gantry__json_number_member("in_use_bytes", stats->bytes_in_use, out);
    gantry__json_number_member("requested_bytes", stats->requested_bytes_in_use, out);
    gantry__json_number_member("peak_bytes", stats->peak_bytes_in_use, out);
    gantry__json_number_member("allocation_count", stats->num_allocs, out);
    gantry__json_number_member("largest_allocation_bytes", stats->largest_alloc_bytes, out);
    gantry__json_number_member("pool_bytes", stats->pool_bytes, out);
    gantry__json_number_member("peak_pool_bytes", stats->peak_pool_bytes, out);
    gantry__json_number_member("pending_bytes", stats->pending_bytes, out);
    gantry__json_number_member("charged_bytes", stats->charged_bytes, out);
    gantry__json_number_member("context_bytes", stats->reserved_bytes, out);
    gantry__json_number_member("foreign_bytes", stats->foreign_bytes, out);
    gantry__json_number_member("available_bytes", report->available_bytes, out);
    gantry__json_number_member("next_region_bytes", report->next_region_bytes, out);
    gantry__json_number_member("largest_free_bytes", stats->largest_free_block_bytes, out);
    gantry__json_number_member("region_count", stats->region_count, out);
    gantry__json_number_member("chunks_in_use", report->chunks_in_use, out);
    gantry__json_number_member("free_chunks", report->free_chunks, out);
    gantry__text_append(out, ",\"fragmentation\":%" PRIu32 ".%04" PRIu32,
                        report->fragmentation / 10000, report->fragmentation % 10000);
    gantry__json_number_member("extended_count", report->counts.extended, out);
    gantry__json_number_member("waited_count", report->counts.waited, out);
    gantry__json_number_member("collected_count", report->counts.collected, out);
    gantry__json_number_member("out_of_memory_count", report->counts.out_of_memory, out);
    gantry__text_append(out, "}");
}

static void memory_report_json_write_bins(const report_t *report, gantry__text_t *out) {
    gantry__text_append(out, ",\"bins\":[");
    for (unsigned i = 0; i < GANTRY__BFC_BINS; ++i) {
        const gantry__bfc_bin_summary_t *bin = &report->bins[i];
        gantry__text_append(out, "%s{\"least_bytes\":%" PRIu64, i > 0 ? "," : "",
                            UINT64_C(256) << i);
        gantry__json_number_member("chunks", bin->chunks, out);
        gantry__json_number_member("chunks_in_use", bin->chunks_in_use, out);
        gantry__json_number_member("bytes", bin->bytes, out);
        gantry__json_number_member("in_use_bytes", bin->bytes_in_use, out);
        gantry__json_number_member("requested_bytes", bin->requested_bytes_in_use, out);
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
        gantry__json_text_member("tag", name->tag, out);
        gantry__json_number_member("chunks", name->chunks, out);
        gantry__json_number_member("bytes", name->bytes, out);
        gantry__json_number_member("requested_bytes", name->requested_bytes, out);
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
        gantry__json_number_member("chunks", size->chunks, out);
        gantry__json_number_member("total_bytes", size->total_bytes, out);
        gantry__text_append(out, "}");
    }
    gantry__text_append(out, "]");
}

static void memory_report_json_write_regions(const report_t *report, gantry__text_t *out) {
    gantry__text_append(out, ",\"regions\":[");
    for (uint32_t i = 0; i < report->regions_kept; ++i) {
        const gantry__report_region_t *region = &report->regions[i];
        gantry__text_append(out, "%s{\"number\":%" PRIu64, i > 0 ? "," : "", region->number);
        gantry__json_number_member("bytes", region->bytes, out);
        gantry__json_number_member("in_use_bytes", region->bytes_in_use, out);
        gantry__json_number_member("largest_free_bytes", region->largest_free_bytes, out);
        gantry__json_number_member("chunks", region->chunks, out);
        gantry__text_append(out, "}");
    }
    gantry__text_append(out, "]");
}

static void write_chunks(const report_t *report, gantry__text_t *out) {
    gantry__text_append(out, ",\"chunks\":[");
    for (uint32_t i = 0; i < report->chunks_kept; ++i) {
        const gantry__report_chunk_t *chunk = &report->chunks[i];
        gantry__text_append(out, "%s{\"region\":%" PRIu32, i > 0 ? "," : "", chunk->region);
        gantry__json_number_member("offset", chunk->offset, out);
        gantry__json_number_member("bytes", chunk->bytes, out);
        gantry__text_append(out, ",\"in_use\":%s", chunk->in_use ? "true" : "false");
        if (chunk->in_use) {
            gantry__json_number_member("requested_bytes", chunk->requested_bytes, out);
            gantry__json_text_member("op", report->names[chunk->name].op, out);
            gantry__json_text_member("tag", report->names[chunk->name].tag, out);
        }
        gantry__text_append(out, "}");
    }
    gantry__text_append(out, "]");
    gantry__json_number_member(
        "chunks_left_out", report->free_chunks + report->chunks_in_use - report->chunks_kept, out);
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
    gantry__json_text_member("map", report->map, out);
    gantry__text_append(out, "}");
}
