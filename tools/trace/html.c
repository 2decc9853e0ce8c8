/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a trace as one page: the text of page.html, with the data in the middle.
 *
 * The data is JSON in a <script> that no browser runs. "<" could be the script's end there, so each
 * one must be written as \u003c. The page puts texts into the document as text, never as HTML. */
#define _XOPEN_SOURCE 700 /* open_memstream */

#include "trace/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/tool.h"

extern const char gantry_trace_page[];

/* Writes JSON, in which "<" occurs only in strings. */
static void write_json(const char *json, FILE *file) {
    for (; *json; ++json) {
        if (*json == '<') {
            (void)fputs("\\u003c", file);
        } else {
            (void)fputc(*json, file);
        }
    }
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

static void write_page(const gantry_trace_report_t *report, const char *json, FILE *file) {
    static const char mark[] = "@data@";
    const gantry_trace_t *trace = report->trace;
    const char *at = strstr(gantry_trace_page, mark);
    const size_t before = at ? (size_t)(at - gantry_trace_page) : 0;
    (void)fwrite(gantry_trace_page, 1, before, file);
    (void)fputs("{\"report\":", file);
    write_json(json, file);
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
}

/* The report; free it. NULL: no memory. */
static char *report_json(const gantry_trace_report_t *report) {
    char *json = NULL;
    size_t bytes;
    FILE *file = open_memstream(&json, &bytes);
    if (!file) return NULL;
    gantry_trace_write_json(report, file);
    const bool is_bad = ferror(file) != 0;
    if (fclose(file) == 0 && !is_bad) return json;
    free(json);
    return NULL;
}

bool gantry_trace_write_html(const gantry_trace_report_t *report, const char *path) {
    gantry_new_file_t page;
    char *json = report_json(report);
    if (!json) return gantry_tool_fail("\"%s\" cannot be written: no memory", path) == 0;
    FILE *file = gantry_tool_file_open(&page, path);
    if (file) write_page(report, json, file);
    free(json);
    return file && gantry_tool_file_close(&page, file);
}
