/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a trace as JSON. */
#include "common/tool.h"
#include "trace/report.h"

static void put_text(gantry_json_t *json, const char *name, const gantry_trace_t *trace,
                     uint32_t text) {
    gantry_json_text(json, name, gantry_trace_text(trace, text));
}

static void put_rows(gantry_json_t *json, const char *table, const gantry_trace_t *trace,
                     const gantry_trace_rows_t *rows, const char *const *keys) {
    gantry_json_array(json, table);
    for (size_t i = 0; i < rows->count; ++i) {
        const gantry_trace_row_t *row = &rows->rows[i];
        gantry_json_object(json, NULL);
        for (int k = 0; k < GANTRY_TRACE_KEYS && keys[k]; ++k)
            put_text(json, keys[k], trace, row->keys[k]);
        gantry_json_unsigned(json, "count", row->count);
        gantry_json_integer(json, "host_ns", row->host_ns);
        gantry_json_integer(json, "device_ns", row->device_ns);
        gantry_json_integer(json, "longest_ns", row->longest_ns);
        gantry_json_unsigned(json, "moved_bytes", row->bytes);
        gantry_json_end(json);
    }
    gantry_json_end(json);
}

static void put_devices(gantry_json_t *json, const gantry_trace_report_t *report) {
    const gantry_trace_t *trace = report->trace;
    gantry_json_array(json, "devices");
    for (size_t i = 0; i < report->device_count; ++i) {
        const gantry_trace_device_t *device = &report->devices[i];
        const gantry_trace_process_t *process = &trace->processes[device->process];
        gantry_json_object(json, NULL);
        put_text(json, "device", trace, process->device);
        put_text(json, "alias", trace, process->alias);
        put_text(json, "hardware", trace, process->hardware);
        put_text(json, "backend", trace, process->backend);
        put_text(json, "times", trace, process->times);
        gantry_json_unsigned(json, "works", device->works);
        gantry_json_integer(json, "busy_ns", device->busy_ns);
        gantry_json_integer(json, "idle_ns", device->idle_ns);
        gantry_json_unsigned(json, "gaps", device->gaps);
        gantry_json_unsigned(json, "most_in_use_bytes", device->most_bytes);
        gantry_json_end(json);
    }
    gantry_json_end(json);
}

static void put_gaps(gantry_json_t *json, const gantry_trace_report_t *report) {
    const gantry_trace_t *trace = report->trace;
    gantry_json_array(json, "idle_gaps");
    for (size_t i = 0; i < report->gap_count; ++i) {
        const gantry_trace_gap_t *gap = &report->gaps[i];
        gantry_json_object(json, NULL);
        put_text(json, "device", trace, trace->processes[gap->process].device);
        gantry_json_integer(json, "begin_ns", gap->begin_ns - trace->begin_ns);
        gantry_json_integer(json, "duration_ns", gap->end_ns - gap->begin_ns);
        put_text(json, "host_meanwhile", trace, gap->meanwhile);
        gantry_json_end(json);
    }
    gantry_json_end(json);
}

void gantry_trace_write_json(const gantry_trace_report_t *report, FILE *file) {
    static const char *const ops[] = {"op", "device", NULL},
                             *const copies[] = {"device", "way", NULL},
                             *const fallbacks[] = {"op",     "device",  "requested",
                                                   "reason", "refused", "refusal"};
    const gantry_trace_t *trace = report->trace;
    gantry_json_t json;
    gantry_json_init(&json, file);
    gantry_json_object(&json, NULL);
    put_text(&json, "program", trace, trace->program);
    put_text(&json, "version", trace, trace->version);
    gantry_json_number(&json, "process", trace->process);
    gantry_json_unsigned(&json, "events", trace->event_count);
    gantry_json_unsigned(&json, "ignored_events", trace->ignored);
    gantry_json_bool(&json, "ended_early", trace->is_open_ended);
    gantry_json_integer(&json, "begin_ns", trace->begin_ns);
    gantry_json_integer(&json, "duration_ns", trace->end_ns - trace->begin_ns);
    put_rows(&json, "ops", trace, &report->ops, ops);
    put_devices(&json, report);
    put_gaps(&json, report);
    put_rows(&json, "copies", trace, &report->copies, copies);
    put_rows(&json, "fallbacks", trace, &report->fallbacks, fallbacks);
    gantry_json_end(&json);
}
