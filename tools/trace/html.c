/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a trace as one page: the text of page.html, with the data in the middle.
 *
 * The data is JSON in a <script> that no browser runs. "<" could be the script's end there, so each
 * one must be written as \u003c. The page puts texts into the document as text, never as HTML. */
#include "trace/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/tool.h"

extern const char gantry_trace_page[];

/* Writes JSON, in which "<" occurs only in strings. */
static bool write_json(void *file, const void *json, size_t size) {
    const char *bytes = json;
    for (size_t i = 0; i < size; ++i) {
        if (bytes[i] == '<') {
            (void)fputs("\\u003c", file);
        } else {
            (void)fputc(bytes[i], file);
        }
    }
    return !ferror((FILE *)file);
}

static void write_string(const char *text, FILE *file) {
    (void)fputc('"', file);
    for (; *text; ++text) {
        const unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == '"' || c == '\\' || c == '<' || c == 0x7f) {
            (void)fprintf(file, "\\u%04x", c);
        } else {
            (void)fputc(c, file);
        }
    }
    (void)fputc('"', file);
}

static void write_tracks(const gantry_trace_t *trace, FILE *file) {
    (void)fputs(",\"processes\":[", file);
    for (size_t i = 0; i < trace->process_count; ++i) {
        const gantry_trace_process_t *process = &trace->processes[i];
        (void)fprintf(file, "%s[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]", i > 0 ? "," : "",
                      process->name, process->device, process->times);
    }
    (void)fputs("],\"tracks\":[", file);
    for (size_t i = 0; i < trace->track_count; ++i) {
        const gantry_trace_track_t *track = &trace->tracks[i];
        (void)fprintf(file, "%s[%" PRIu32 ",%.0f,%" PRIu32 "]", i > 0 ? "," : "", track->process,
                      track->tid, track->name);
    }
    (void)fputc(']', file);
}

/* Eight numbers for an event, times from the beginning of the trace. */
static void trace_html_write_events(const gantry_trace_t *trace, FILE *file) {
    (void)fputs(",\"events\":[", file);
    for (size_t i = 0; i < trace->event_count; ++i) {
        const gantry_trace_event_t *event = &trace->events[i];
        (void)fprintf(file,
                      "%s%" PRIu32 ",%" PRId64 ",%" PRId64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32
                      ",%" PRIu32 ",%" PRIu64,
                      i > 0 ? "," : "", event->track, event->begin_ns - trace->begin_ns,
                      event->duration_ns, event->name, event->device, event->reason, event->node,
                      event->bytes);
    }
    (void)fputs("],\"levels\":[", file);
    for (size_t i = 0; i < trace->level_count; ++i) {
        const gantry_trace_level_t *level = &trace->levels[i];
        (void)fprintf(file, "%s%" PRIu32 ",%" PRId64 ",%" PRIu64, i > 0 ? "," : "", level->process,
                      level->at_ns - trace->begin_ns, level->bytes);
    }
    (void)fputc(']', file);
}

/* Returns false if there is no memory, or the file cannot be written. */
static bool write_page(const gantry_trace_report_t *report, FILE *file) {
    static const char mark[] = "@data@";
    const gantry_trace_t *trace = report->trace;
    const char *at = strstr(gantry_trace_page, mark);
    const size_t before = at ? (size_t)(at - gantry_trace_page) : 0;
    gantry__os_sink_t sink = {write_json, file};
    FILE *json = gantry__os_sink_open(&sink);
    if (!json) return false;
    (void)fwrite(gantry_trace_page, 1, before, file);
    (void)fputs("{\"report\":", file);
    gantry_trace_write_json(report, json);
    const bool is_good = gantry__os_sink_close(&sink, json);
    (void)fputs(",\"texts\":[", file);
    for (size_t i = 0; i < trace->text_count; ++i) {
        if (i > 0) (void)fputc(',', file);
        write_string(trace->texts[i], file);
    }
    (void)fputc(']', file);
    write_tracks(trace, file);
    trace_html_write_events(trace, file);
    (void)fputc('}', file);
    (void)fputs(gantry_trace_page + before + (sizeof mark - 1), file);
    return is_good;
}

bool gantry_trace_write_html(const gantry_trace_report_t *report, const char *path) {
    gantry_tool_file_t page;
    FILE *file = gantry_tool_file_open(&page, path);
    if (!file) return false;
    if (write_page(report, file) || ferror(file)) return gantry_tool_file_close(&page, file);
    gantry_tool_file_drop(&page, file);
    return gantry_tool_fail("\"%s\" cannot be written: no memory", path) == 0;
}
