/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a trace for people. Texts of the file are shown without control characters. */
#include "common/tool.h"
#include "trace/report.h"
#include "shared/printable.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Prints a text of the file in `width` columns, cut. */
static void print_text(const gantry_trace_t *trace, uint32_t text, int width) {
    int used = 0;
    const char *at = gantry_trace_text(trace, text);
    for (size_t length; *at && used<width; at += length> 0 ? length : 1, ++used) {
        length = gantry__utf8_bytes(at);
        if (length > 0 && gantry__utf8_command(at, length) == 0)
            (void)fwrite(at, 1, length, stdout);
        else
            (void)putchar('?');
    }
    for (; used < width; ++used) (void)putchar(' ');
}

/* "GPU:0" of "/device:GPU:0". */
static void print_device(const gantry_trace_t *trace, uint32_t text, int width) {
    const char *name = gantry_trace_text(trace, text);
    if (strncmp(name, "/device:", 8) != 0 || strlen(name + 8) > (size_t)width) {
        print_text(trace, text, width);
    } else {
        (void)printf("%-*.*s", width, width, name + 8);
    }
}

static double ms(int64_t ns) { return (double)ns * 1e-6; }

static double percent(int64_t part, int64_t whole) {
    return whole > 0 ? (double)part * 100 / (double)whole : 0;
}

static void trace_text_print_head(const gantry_trace_report_t *report) {
    const gantry_trace_t *trace = report->trace;
    (void)printf("%zu events in %.3f ms", trace->event_count, ms(trace->end_ns - trace->begin_ns));
    if (trace->version != GANTRY_TRACE_NO_TEXT) {
        (void)printf(" of ");
        print_text(trace, trace->program, (int)strlen(gantry_trace_text(trace, trace->program)));
        (void)printf(", process %.0f, Gantry %.20s", trace->process,
                     gantry_trace_text(trace, trace->version));
    }
    (void)printf("%s\n",
                 trace->is_open_ended ? "; the file has no end: the program ended early" : "");
    if (trace->ignored > 0)
        (void)printf("%" PRIu64 " events of other kinds are left out\n", trace->ignored);
}

static void print_ops(const gantry_trace_report_t *report, size_t most) {
    (void)printf("\nTop ops by time\n%-28s %-9s %9s %11s %11s %11s\n", "op", "on", "calls",
                 "host ms", "device ms", "longest ms");
    for (size_t i = 0; i < report->ops.count && i < most; ++i) {
        const gantry_trace_row_t *row = &report->ops.rows[i];
        print_text(report->trace, row->keys[0], 28);
        (void)putchar(' ');
        print_device(report->trace, row->keys[1], 9);
        (void)printf(" %9" PRIu64 " %11.3f %11.3f %11.3f\n", row->count, ms(row->host_ns),
                     ms(row->device_ns), ms(row->longest_ns));
    }
    if (report->ops.count > most)
        (void)printf("and %zu more; --top N shows N\n", report->ops.count - most);
}

static void print_devices(const gantry_trace_report_t *report) {
    const gantry_trace_t *trace = report->trace;
    (void)printf("\nDevices\n%-10s %-18s %9s %11s %6s %11s %7s %12s %s\n", "device", "alias",
                 "works", "busy ms", "%", "idle ms", "gaps", "most MB", "times");
    for (size_t i = 0; i < report->device_count; ++i) {
        const gantry_trace_device_t *device = &report->devices[i];
        const gantry_trace_process_t *process = &trace->processes[device->process];
        print_device(trace, process->device, 10);
        (void)putchar(' ');
        print_text(trace, process->alias, 18);
        (void)printf(" %9" PRIu64 " %11.3f %6.1f %11.3f %7" PRIu64 " %12.3f ", device->works,
                     ms(device->busy_ns), percent(device->busy_ns, trace->end_ns - trace->begin_ns),
                     ms(device->idle_ns), device->gaps, (double)device->most_bytes * 1e-6);
        print_text(trace, process->times, 6);
        (void)putchar('\n');
    }
}

static void print_gaps(const gantry_trace_report_t *report) {
    const gantry_trace_t *trace = report->trace;
    if (report->gap_count == 0) return;
    (void)printf("\nLongest idle gaps\n%-10s %13s %11s  %s\n", "device", "from ms", "length ms",
                 "the host meanwhile");
    for (size_t i = 0; i < report->gap_count; ++i) {
        const gantry_trace_gap_t *gap = &report->gaps[i];
        print_device(trace, trace->processes[gap->process].device, 10);
        (void)printf(" %13.3f %11.3f  ", ms(gap->begin_ns - trace->begin_ns),
                     ms(gap->end_ns - gap->begin_ns));
        if (gap->meanwhile == GANTRY_TRACE_NO_TEXT) {
            (void)printf("outside Gantry");
        } else {
            print_text(trace, gap->meanwhile,
                       (int)strlen(gantry_trace_text(trace, gap->meanwhile)));
        }
        (void)putchar('\n');
    }
}

static void print_copies(const gantry_trace_report_t *report, size_t most) {
    if (report->copies.count == 0) return;
    (void)printf("\nCopies\n%-10s %-18s %9s %12s %11s %8s\n", "device", "way", "count", "MB", "ms",
                 "GB/s");
    for (size_t i = 0; i < report->copies.count && i < most; ++i) {
        const gantry_trace_row_t *row = &report->copies.rows[i];
        print_device(report->trace, row->keys[0], 10);
        (void)putchar(' ');
        print_text(report->trace, row->keys[1], 18);
        (void)printf(" %9" PRIu64 " %12.3f %11.3f %8.2f\n", row->count, (double)row->bytes * 1e-6,
                     ms(row->device_ns),
                     row->device_ns > 0 ? (double)row->bytes / (double)row->device_ns : 0);
    }
}

static void print_fallbacks(const gantry_trace_report_t *report, size_t most) {
    const gantry_trace_t *trace = report->trace;
    (void)printf("\nPlacements that fell back%s\n", report->fallbacks.count > 0 ? "" : ": none");
    for (size_t i = 0; i < report->fallbacks.count && i < most; ++i) {
        const gantry_trace_row_t *row = &report->fallbacks.rows[i];
        print_text(trace, row->keys[0], 28);
        (void)putchar(' ');
        print_device(trace, row->keys[1], 9);
        (void)printf(" %9" PRIu64 "  ", row->count);
        print_text(trace, row->keys[3], (int)strlen(gantry_trace_text(trace, row->keys[3])));
        if (row->keys[4] != GANTRY_TRACE_NO_TEXT) {
            (void)printf("; ");
            print_device(trace, row->keys[4], (int)strlen(gantry_trace_text(trace, row->keys[4])));
            (void)printf(": ");
            print_text(trace, row->keys[5], (int)strlen(gantry_trace_text(trace, row->keys[5])));
        }
        (void)putchar('\n');
    }
}

void gantry_trace_print_text(const gantry_trace_report_t *report, size_t most_rows) {
    trace_text_print_head(report);
    print_ops(report, most_rows);
    print_devices(report);
    print_gaps(report);
    print_copies(report, most_rows);
    print_fallbacks(report, most_rows);
}
