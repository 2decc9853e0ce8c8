/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a trace file, in this order: memory and texts, what an event says, the scanner.
 *
 * The scanner cuts the file into events without understanding them: it counts brackets outside
 * strings, and knows the line. cJSON then parses one event at a time, so that memory is that of the
 * numbers and of each text once, and a broken event has a line. */
#include "trace/read.h"
#include "base/os/files.h"
#include "common/tool.h"
#include "shared/printable.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

enum { MOST_EVENT_BYTES = 1 << 20, MOST_DEPTH = 32, MOST_TRACKS = 4096, BLOCK_BYTES = 1 << 16 };
#define MOST_EVENTS ((size_t)100000000)
#define MOST_TIME_US 4e15 /* nanoseconds must fit */

typedef struct scan_t {
    FILE *file;
    gantry_trace_t *trace;
    char block[BLOCK_BYTES];
    size_t used, count; /* of block */
    uint64_t line;      /* of the next character */
    uint64_t event_line;
    char *event;
    size_t event_bytes, event_room;
    bool is_cut; /* the file ends inside an event */
} scan_t;

static bool trace_fail(gantry_trace_t *trace, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool trace_fail(gantry_trace_t *trace, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(trace->failure, sizeof trace->failure, format, arguments);
    va_end(arguments);
    return false;
}

static bool line_fail(const scan_t *scan, const char *what) {
    return trace_fail(scan->trace, "line %llu: %s", (unsigned long long)scan->event_line, what);
}

/* ---- memory and texts ---- */

bool gantry_trace_grow(void *items_ptr, size_t count, size_t *room, size_t item_bytes) {
    void **items = items_ptr;
    if (count < *room) return true;
    const size_t more = *room ? *room * 2 : 64;
    void *grown = more < SIZE_MAX / item_bytes ? realloc(*items, more * item_bytes) : NULL;
    if (!grown) return false;
    *items = grown;
    *room = more;
    return true;
}

static uint64_t hash_of(const char *text) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *text; ++text) hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash ^ hash >> 29;
}

static bool grow_table(gantry_trace_t *trace) {
    const size_t size = trace->text_table_size ? trace->text_table_size * 2 : 1024;
    uint32_t *table = calloc(size, sizeof *table);
    if (!table) return false;
    for (size_t i = 0; i < trace->text_count; ++i) {
        size_t at = (size_t)hash_of(trace->texts[i]) & (size - 1);
        while (table[at]) at = (at + 1) & (size - 1);
        table[at] = (uint32_t)i + 1;
    }
    free(trace->text_table);
    trace->text_table = table;
    trace->text_table_size = size;
    return true;
}

/* The position of the text; UINT32_MAX: no memory. */
static uint32_t trace_read_text_of(gantry_trace_t *trace, const char *text) {
    if (trace->text_count * 2 >= trace->text_table_size && !grow_table(trace)) return UINT32_MAX;
    size_t at = (size_t)hash_of(text) & (trace->text_table_size - 1);
    for (; trace->text_table[at]; at = (at + 1) & (trace->text_table_size - 1))
        if (strcmp(trace->texts[trace->text_table[at] - 1], text) == 0)
            return trace->text_table[at] - 1;
    char *copy = trace->text_count < UINT32_MAX / 2 ? gantry_tool_copy(text) : NULL;
    if (!copy ||
        !gantry_trace_grow(&trace->texts, trace->text_count, &trace->text_room, sizeof copy)) {
        free(copy);
        return UINT32_MAX;
    }
    trace->texts[trace->text_count++] = copy;
    trace->text_table[at] = (uint32_t)trace->text_count;
    return (uint32_t)trace->text_count - 1;
}

void gantry_trace_free(gantry_trace_t *trace) {
    for (size_t i = 0; i < trace->text_count; ++i) free(trace->texts[i]);
    free(trace->texts);
    free(trace->text_table);
    free(trace->events);
    free(trace->levels);
    free(trace->processes);
    free(trace->tracks);
}

/* ---- one event ---- */

/* Reads text members; a member of another type is "". */
static bool trace_read_text(scan_t *scan, const cJSON *object, const char *name,
                            uint32_t *out_text) {
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
    *out_text = trace_read_text_of(scan->trace, cJSON_IsString(member) ? member->valuestring : "");
    return *out_text != UINT32_MAX || line_fail(scan, "no memory for its texts");
}

static bool trace_read_number(scan_t *scan, const cJSON *object, const char *name, double least,
                              double most, double *out_number) {
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
    char what[128];
    *out_number = cJSON_IsNumber(member) ? member->valuedouble : 0;
    if (cJSON_IsNumber(member) && *out_number >= least && *out_number <= most) return true;
    (void)snprintf(what, sizeof what,
                   "the event's \"%s\" is %s; a number from %g to %g is accepted", name,
                   cJSON_IsNumber(member) ? "out of range" : "missing or no number", least, most);
    return line_fail(scan, what);
}

static bool find_process(scan_t *scan, double pid, uint32_t *out_process) {
    gantry_trace_t *trace = scan->trace;
    for (size_t i = 0; i < trace->process_count; ++i) {
        *out_process = (uint32_t)i;
        if (!(trace->processes[i].pid < pid) && !(trace->processes[i].pid > pid)) return true;
    }
    if (trace->process_count >= MOST_TRACKS) return line_fail(scan, "the file has over 4096 pids");
    if (!gantry_trace_grow(&trace->processes, trace->process_count, &trace->process_room,
                           sizeof *trace->processes))
        return line_fail(scan, "no memory for its process");
    *out_process = (uint32_t)trace->process_count;
    trace->processes[trace->process_count++] = (gantry_trace_process_t){.pid = pid};
    return true;
}

static bool find_track(scan_t *scan, uint32_t process, double tid, uint32_t *out_track) {
    gantry_trace_t *trace = scan->trace;
    for (size_t i = 0; i < trace->track_count; ++i) {
        const gantry_trace_track_t *track = &trace->tracks[i];
        *out_track = (uint32_t)i;
        if (track->process == process && !(track->tid < tid) && !(track->tid > tid)) return true;
    }
    if (trace->track_count >= MOST_TRACKS) return line_fail(scan, "the file has over 4096 tids");
    if (!gantry_trace_grow(&trace->tracks, trace->track_count, &trace->track_room,
                           sizeof *trace->tracks))
        return line_fail(scan, "no memory for its thread");
    *out_track = (uint32_t)trace->track_count;
    trace->tracks[trace->track_count++] = (gantry_trace_track_t){.tid = tid, .process = process};
    return true;
}

static bool trace_read_program(scan_t *scan, const cJSON *args) {
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(args, "process");
    scan->trace->process = cJSON_IsNumber(number) ? number->valuedouble : 0;
    return trace_read_text(scan, args, "version", &scan->trace->version) &&
           trace_read_text(scan, args, "name", &scan->trace->program);
}

static bool read_metadata(scan_t *scan, const char *name, const cJSON *args, uint32_t process,
                          uint32_t track) {
    gantry_trace_process_t *at = &scan->trace->processes[process];
    if (strcmp(name, "thread_name") == 0)
        return trace_read_text(scan, args, "name", &scan->trace->tracks[track].name);
    if (strcmp(name, "process_name") != 0) return true;
    if (!trace_read_text(scan, args, "name", &at->name)) return false;
    if (cJSON_GetObjectItemCaseSensitive(args, "clock")) return trace_read_program(scan, args);
    if (!cJSON_GetObjectItemCaseSensitive(args, "backend")) return true;
    at->device = at->name;
    return trace_read_text(scan, args, "alias", &at->alias) &&
           trace_read_text(scan, args, "hardware", &at->hardware) &&
           trace_read_text(scan, args, "backend", &at->backend) &&
           trace_read_text(scan, args, "times", &at->times);
}

/* Extends the time that the file covers. */
static void cover(gantry_trace_t *trace, int64_t begin_ns, int64_t end_ns) {
    const bool is_first = trace->event_count + trace->level_count == 0;
    if (is_first || begin_ns < trace->begin_ns) trace->begin_ns = begin_ns;
    if (is_first || end_ns > trace->end_ns) trace->end_ns = end_ns;
}

static uint64_t trace_read_bytes_of(const cJSON *args, const char *name) {
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(args, name);
    const bool is_good =
        cJSON_IsNumber(member) && member->valuedouble >= 0 && member->valuedouble < 9e15;
    return is_good ? (uint64_t)member->valuedouble : 0;
}

static bool read_level(scan_t *scan, const cJSON *args, uint32_t process, int64_t at_ns) {
    gantry_trace_t *trace = scan->trace;
    if (!gantry_trace_grow(&trace->levels, trace->level_count, &trace->level_room,
                           sizeof *trace->levels))
        return line_fail(scan, "no memory for it");
    cover(trace, at_ns, at_ns);
    trace->levels[trace->level_count++] =
        (gantry_trace_level_t){at_ns, trace_read_bytes_of(args, "bytes"), process};
    return true;
}

static bool read_slice(scan_t *scan, const cJSON *event, const cJSON *args, uint32_t track,
                       int64_t begin_ns) {
    gantry_trace_t *trace = scan->trace;
    gantry_trace_event_t slice = {.begin_ns = begin_ns, .track = track};
    double duration;
    if (!trace_read_number(scan, event, "dur", 0, MOST_TIME_US, &duration)) return false;
    slice.duration_ns = llround(duration * 1e3);
    slice.bytes = trace_read_bytes_of(args, "bytes");
    const bool is_read = trace_read_text(scan, event, "name", &slice.name) &&
                         trace_read_text(scan, event, "cat", &slice.category) &&
                         trace_read_text(scan, args, "device", &slice.device) &&
                         trace_read_text(scan, args, "part_of", &slice.part_of) &&
                         trace_read_text(scan, args, "node", &slice.node) &&
                         trace_read_text(scan, args, "requested", &slice.requested) &&
                         trace_read_text(scan, args, "reason", &slice.reason) &&
                         trace_read_text(scan, args, "refused", &slice.refused) &&
                         trace_read_text(scan, args, "refusal", &slice.refusal) &&
                         trace_read_text(scan, args, "times", &slice.times);
    if (!is_read) return false;
    if (trace->event_count >= MOST_EVENTS) return line_fail(scan, "the file has too many events");
    if (!gantry_trace_grow(&trace->events, trace->event_count, &trace->event_room,
                           sizeof *trace->events))
        return line_fail(scan, "no memory for it");
    cover(trace, begin_ns, begin_ns + slice.duration_ns);
    trace->events[trace->event_count++] = slice;
    return true;
}

static bool read_event(scan_t *scan, const cJSON *event) {
    const cJSON *phase = cJSON_GetObjectItemCaseSensitive(event, "ph"),
                *args = cJSON_GetObjectItemCaseSensitive(event, "args"),
                *name = cJSON_GetObjectItemCaseSensitive(event, "name");
    if (!cJSON_IsString(phase)) return line_fail(scan, "the event has no \"ph\"");
    const char kind = phase->valuestring[0];
    if (kind == '\0' || phase->valuestring[1] || !strchr("XMC", kind)) {
        ++scan->trace->ignored;
        return true;
    }
    if (!cJSON_IsString(name)) return line_fail(scan, "the event has no \"name\"");
    double pid, tid = 0, at;
    uint32_t process = 0, track = 0;
    if (!trace_read_number(scan, event, "pid", -1e15, 1e15, &pid)) return false;
    if (cJSON_GetObjectItemCaseSensitive(event, "tid") &&
        !trace_read_number(scan, event, "tid", -1e19, 1e19, &tid))
        return false;
    if (!find_process(scan, pid, &process) || !find_track(scan, process, tid, &track)) return false;
    if (kind == 'M') return read_metadata(scan, name->valuestring, args, process, track);
    if (!trace_read_number(scan, event, "ts", -MOST_TIME_US, MOST_TIME_US, &at)) return false;
    const int64_t at_ns = llround(at * 1e3);
    return kind == 'C' ? read_level(scan, args, process, at_ns)
                       : read_slice(scan, event, args, track, at_ns);
}

/* Parses an event, after which there must be a zero byte. */
static bool parse_event(scan_t *scan) {
    cJSON *event = cJSON_ParseWithLength(scan->event, scan->event_bytes);
    if (!event) {
        const char *at = cJSON_GetErrorPtr();
        const bool is_inside = at && at >= scan->event && at < scan->event + scan->event_bytes;
        for (const char *c = scan->event; is_inside && c < at; ++c) scan->event_line += *c == '\n';
        char what[128];
        (void)snprintf(what, sizeof what, "not JSON: %.40s", is_inside ? at : "an event");
        gantry__make_printable(what, '\n');
        what[strcspn(what, "\n")] = '\0';
        return line_fail(scan, what);
    }
    const bool is_read = read_event(scan, event);
    cJSON_Delete(event);
    return is_read;
}

/* ---- the scanner ---- */

/* The next character, or EOF. */
static int next(scan_t *scan) {
    if (scan->used == scan->count) {
        scan->count = fread(scan->block, 1, sizeof scan->block, scan->file);
        scan->used = 0;
        if (scan->count == 0) return EOF;
    }
    const int character = (unsigned char)scan->block[scan->used++];
    scan->line += character == '\n';
    return character;
}

static int next_visible(scan_t *scan) {
    int character = next(scan);
    while (character == ' ' || character == '\t' || character == '\n' || character == '\r')
        character = next(scan);
    scan->event_line = scan->line;
    return character;
}

static bool keep_character(scan_t *scan, int character) {
    if (scan->event_bytes >= MOST_EVENT_BYTES)
        return line_fail(scan, "an event is longer than 1 MiB");
    if (!gantry_trace_grow(&scan->event, scan->event_bytes, &scan->event_room, 1))
        return line_fail(scan, "no memory for an event");
    scan->event[scan->event_bytes++] = (char)character;
    return true;
}

static bool cut_fail(scan_t *scan) {
    scan->is_cut = true;
    return line_fail(scan, "the file ends inside an event");
}

/* The rest of a string, whose quotation mark was kept. */
static bool scan_string(scan_t *scan) {
    bool is_escaped = false;
    for (;;) {
        const int character = next(scan);
        if (character == EOF) return cut_fail(scan);
        if (character == '\0') return line_fail(scan, "not JSON: a zero byte");
        if (!keep_character(scan, character)) return false;
        if (character == '"' && !is_escaped) return true;
        is_escaped = character == '\\' && !is_escaped;
    }
}

/* An object whose first bracket was read. */
static bool scan_object(scan_t *scan) {
    int depth = 1;
    scan->event_bytes = 0;
    if (!keep_character(scan, '{')) return false;
    while (depth > 0) {
        const int character = next(scan);
        if (character == EOF) return cut_fail(scan);
        if (character == '\0') return line_fail(scan, "not JSON: a zero byte");
        if (!keep_character(scan, character)) return false;
        if (character == '"' && !scan_string(scan)) return false;
        if (character == '{' || character == '[') ++depth;
        if (character == '}' || character == ']') --depth;
        if (depth > MOST_DEPTH) return line_fail(scan, "an event is nested deeper than 32");
    }
    if (!keep_character(scan, '\0')) return false;
    --scan->event_bytes;
    return true;
}

/* Ends early, where the program was killed while it wrote: what is before the cut event is good. */
static bool scan_end_early(const scan_t *scan) {
    scan->trace->is_open_ended = true;
    return true;
}

/* The events of an array whose first bracket was read. */
static bool scan_array(scan_t *scan) {
    int character = next_visible(scan);
    if (character == ']') return true;
    for (;;) {
        if (character == EOF) return scan_end_early(scan);
        if (character != '{') return line_fail(scan, "an event, '{', is expected here");
        if (!scan_object(scan))
            return scan->is_cut && scan->trace->process_count > 0 && scan_end_early(scan);
        if (!parse_event(scan)) return false;
        character = next_visible(scan);
        if (character == ']') return true;
        if (character == ',') {
            character = next_visible(scan);
            continue;
        }
        if (character != EOF) return line_fail(scan, "',' or ']' is expected here");
    }
}

/* Leaves the scanner after "traceEvents": [ of the object form. */
static bool find_array(scan_t *scan) {
    int depth = 1;
    while (depth > 0) {
        const int character = next_visible(scan);
        if (character == EOF) return line_fail(scan, "the file ends before \"traceEvents\"");
        if (character == '{' || character == '[') ++depth;
        if (character == '}' || character == ']') --depth;
        if (depth > MOST_DEPTH) return line_fail(scan, "the file is nested deeper than 32");
        if (character != '"') continue;
        scan->event_bytes = 0;
        if (!scan_string(scan)) return false;
        const bool is_name =
            depth == 1 && scan->event_bytes == 12 && memcmp(scan->event, "traceEvents\"", 12) == 0;
        if (is_name && next_visible(scan) == ':' && next_visible(scan) == '[') return true;
    }
    return line_fail(scan, "no array \"traceEvents\" is in the file");
}

static bool scan_file(scan_t *scan) {
    const int first = next_visible(scan);
    if (first == EOF) return line_fail(scan, "the file is empty");
    if (first == '{') return find_array(scan) && scan_array(scan);
    if (first != '[')
        return line_fail(scan, "no trace of events: '[' or '{' is expected at the beginning");
    if (!scan_array(scan)) return false;
    const int last = scan->trace->is_open_ended ? EOF : next_visible(scan);
    return last == EOF || line_fail(scan, "the file goes on after its last bracket");
}

bool gantry_trace_read(const char *path, gantry_trace_t *trace) {
    *trace = (gantry_trace_t){.version = GANTRY_TRACE_NO_TEXT};
    gantry__os_info_t info;
    const int error = gantry__os_path_info(path, &info);
    if (error) return trace_fail(trace, "%s", strerror(error));
    if (info.kind == GANTRY__OS_FOLDER) return trace_fail(trace, "it is a directory");
    if (info.kind != GANTRY__OS_PLAIN) return trace_fail(trace, "it is no plain file");
    const int opened = gantry__os_open(path, GANTRY__OS_READ, 0);
    FILE *file = opened >= 0 ? gantry__os_stream(opened) : NULL;
    if (!file) return trace_fail(trace, "%s", strerror(errno));
    scan_t *scan = calloc(1, sizeof *scan);
    bool is_read = scan && trace_read_text_of(trace, "") == GANTRY_TRACE_NO_TEXT;
    if (!is_read) (void)trace_fail(trace, "no memory");
    if (is_read) {
        scan->file = file;
        scan->trace = trace;
        scan->line = scan->event_line = 1;
        is_read = scan_file(scan);
    }
    if (is_read && ferror(file)) is_read = trace_fail(trace, "it cannot be read");
    if (scan) free(scan->event);
    free(scan);
    (void)fclose(file);
    return is_read;
}
