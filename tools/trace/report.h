/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a trace: ops, devices, idle gaps, copies, placements that fell back.
 *
 * Owner: the report owns its rows, and the trace must outlive it. Threads: externally
 * synchronised. */
#ifndef GANTRY_TOOLS_TRACE_REPORT_H
#define GANTRY_TOOLS_TRACE_REPORT_H

#include <stdio.h>

#include "trace/read.h"

enum { GANTRY_TRACE_KEYS = 6 };

/* Events with the same texts, added up. */
typedef struct gantry_trace_row_t {
    /* ops: op, device. Copies: device, way. Fallbacks: op, device, requested, reason, refused,
     * refusal. */
    uint32_t keys[GANTRY_TRACE_KEYS];
    uint64_t count, bytes;
    int64_t host_ns, device_ns, longest_ns;
} gantry_trace_row_t;

typedef struct gantry_trace_rows_t {
    gantry_trace_row_t *rows; /* the most important first */
    size_t count, room;
} gantry_trace_rows_t;

typedef struct gantry_trace_gap_t {
    uint32_t process;
    int64_t begin_ns, end_ns;
    uint32_t meanwhile; /* the host's innermost call that covers most of it; "": none */
} gantry_trace_gap_t;

/* A device: when one of its streams or more worked. */
typedef struct gantry_trace_device_t {
    uint32_t process;
    uint64_t works, gaps, most_bytes;
    int64_t busy_ns, idle_ns; /* idle_ns: in gaps, between its first and last work */
    int64_t begin_ns, end_ns;
} gantry_trace_device_t;

typedef struct gantry_trace_report_t {
    const gantry_trace_t *trace;
    gantry_trace_rows_t ops, copies, fallbacks;
    gantry_trace_device_t *devices;
    size_t device_count, device_room;
    gantry_trace_gap_t *gaps; /* of each device the longest, in order of time */
    size_t gap_count, gap_room;
} gantry_trace_report_t;

/* Makes the report, with at most `most_gaps` gaps of each device. It returns false if there is no
 * memory. */
bool gantry_trace_report_make(const gantry_trace_t *trace, size_t most_gaps,
                              gantry_trace_report_t *report);
void gantry_trace_report_free(gantry_trace_report_t *report);

/* most_rows limits each table. */
void gantry_trace_print_text(const gantry_trace_report_t *report, size_t most_rows);
void gantry_trace_write_json(const gantry_trace_report_t *report, FILE *file);
/* Writes the page; it returns false after a message on standard error. */
bool gantry_trace_write_html(const gantry_trace_report_t *report, const char *path);

#endif
