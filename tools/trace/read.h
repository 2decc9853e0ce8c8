/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a trace file, read one by one.
 *
 * Takes both forms of the format: an array of events, whose bracket may be missing, and an object
 * with "traceEvents". Any text of the file may be hostile; a failure names the line. Owner: the
 * caller has the trace, which owns its texts and events. Threads: externally synchronised. */
#ifndef GANTRY_TOOLS_TRACE_READ_H
#define GANTRY_TOOLS_TRACE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GANTRY_TRACE_NO_TEXT 0u /* the position of "" */

/* A slice of time on a track. Texts are positions in trace->texts. */
typedef struct gantry_trace_event_t {
    int64_t begin_ns, duration_ns;
    uint64_t bytes;
    uint32_t track, name, category;
    uint32_t device, part_of, node, requested, reason, refused, refusal, times;
} gantry_trace_event_t;

typedef struct gantry_trace_level_t {
    int64_t at_ns;
    uint64_t bytes;
    uint32_t process; /* position in trace->processes */
} gantry_trace_level_t;

typedef struct gantry_trace_process_t {
    double pid;
    uint32_t name;
    /* of a device of Gantry's; else "" */
    uint32_t device, alias, hardware, backend, times;
} gantry_trace_process_t;

typedef struct gantry_trace_track_t {
    double tid;
    uint32_t process, name;
} gantry_trace_track_t;

typedef struct gantry_trace_t {
    gantry_trace_event_t *events;
    gantry_trace_level_t *levels;
    gantry_trace_process_t *processes;
    gantry_trace_track_t *tracks;
    char **texts;
    size_t event_count, level_count, process_count, track_count, text_count;
    size_t event_room, level_room, process_room, track_room, text_room;
    uint32_t *text_table; /* of text_table_size, a power of 2; position + 1; 0: free */
    size_t text_table_size;
    uint32_t version, program; /* "": not a file of Gantry's */
    double process;            /* the program's number */
    uint64_t ignored;          /* events of other kinds */
    bool is_open_ended;        /* the last bracket is missing */
    int64_t begin_ns, end_ns;  /* of all events */
    char failure[512];
} gantry_trace_t;

/* Reads the file. It returns false with trace->failure: "line 12: ...", or what the system says of
 * the file. */
bool gantry_trace_read(const char *path, gantry_trace_t *trace);
void gantry_trace_free(gantry_trace_t *trace);

static inline const char *gantry_trace_text(const gantry_trace_t *trace, uint32_t text) {
    return trace->texts[text];
}
static inline bool gantry_trace_is_device(const gantry_trace_t *trace,
                                          const gantry_trace_event_t *event) {
    return trace->processes[trace->tracks[event->track].process].device != GANTRY_TRACE_NO_TEXT;
}

/* Grows an array of items for one more; it returns false if there is no memory. */
bool gantry_trace_grow(void *items_ptr, size_t count, size_t *room, size_t item_bytes);

#endif
