/* SPDX-License-Identifier: Apache-2.0 */
/* Adds a trace up. Rows are made by sorting: the events become items with the texts that name their
 * row, equal items are added, and the rows sorted by what counts in their table. So a file with a
 * million names takes no longer than one with ten. */
#include "trace/report.h"

#include <stdlib.h>
#include <string.h>

#include <gantry/gantry.h>

enum { MOST_DEVICES = 64 };

/* ---- rows ---- */

static int compare_keys(const void *left, const void *right) {
    const gantry_trace_row_t *a = left, *b = right;
    for (int i = 0; i < GANTRY_TRACE_KEYS; ++i)
        if (a->keys[i] != b->keys[i]) return a->keys[i] < b->keys[i] ? -1 : 1;
    return 0;
}

static int64_t weight_of(const gantry_trace_row_t *row) {
    return row->host_ns > row->device_ns ? row->host_ns : row->device_ns;
}

static int compare_weight(const void *left, const void *right) {
    const gantry_trace_row_t *a = left, *b = right;
    if (weight_of(a) != weight_of(b)) return weight_of(a) < weight_of(b) ? 1 : -1;
    if (a->count != b->count) return a->count < b->count ? 1 : -1;
    return compare_keys(a, b);
}

/* Adds equal items, and sorts the sums. */
static void sum_up(gantry_trace_rows_t *rows) {
    size_t kept = 0;
    if (rows->count > 0) qsort(rows->rows, rows->count, sizeof *rows->rows, compare_keys);
    for (size_t i = 0; i < rows->count; ++i) {
        const gantry_trace_row_t *item = &rows->rows[i];
        gantry_trace_row_t *sum = kept > 0 ? &rows->rows[kept - 1] : NULL;
        if (!sum || compare_keys(sum, item) != 0) {
            rows->rows[kept++] = *item;
            continue;
        }
        sum->count += item->count;
        sum->bytes += item->bytes;
        sum->host_ns += item->host_ns;
        sum->device_ns += item->device_ns;
        if (sum->longest_ns < item->longest_ns) sum->longest_ns = item->longest_ns;
    }
    rows->count = kept;
    if (kept > 0) qsort(rows->rows, kept, sizeof *rows->rows, compare_weight);
}

static bool add_item(gantry_trace_rows_t *rows, const gantry_trace_row_t *item) {
    if (!gantry_trace_grow(&rows->rows, rows->count, &rows->room, sizeof *rows->rows)) return false;
    rows->rows[rows->count++] = *item;
    return true;
}

static bool is_text(const gantry_trace_t *trace, uint32_t text, const char *wanted) {
    return strcmp(gantry_trace_text(trace, text), wanted) == 0;
}

static bool fell_back(const gantry_trace_t *trace, const gantry_trace_event_t *event) {
    static const gantry_placement_reason_t reasons[] = {
        GANTRY_PLACED_SOFT_SAME_TYPE, GANTRY_PLACED_SOFT_OTHER_TYPE, GANTRY_PLACED_ONLY_CPU_KERNEL,
        GANTRY_PLACED_OUT_OF_MEMORY};
    if (event->reason == GANTRY_TRACE_NO_TEXT) return false;
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; ++i)
        if (is_text(trace, event->reason, gantry_placement_reason_text(reasons[i]))) return true;
    return false;
}

static bool add_host_event(gantry_trace_report_t *report, const gantry_trace_event_t *event) {
    const gantry_trace_row_t op = {.keys = {event->name, event->device},
                                   .count = 1,
                                   .host_ns = event->duration_ns,
                                   .longest_ns = event->duration_ns};
    if (!add_item(&report->ops, &op)) return false;
    if (!fell_back(report->trace, event)) return true;
    gantry_trace_row_t fallback = op;
    const uint32_t rest[] = {event->requested, event->reason, event->refused, event->refusal};
    memcpy(&fallback.keys[2], rest, sizeof rest);
    return add_item(&report->fallbacks, &fallback);
}

static bool add_device_event(gantry_trace_report_t *report, const gantry_trace_event_t *event,
                             uint32_t device) {
    const bool is_copy = is_text(report->trace, event->category, "copy");
    const gantry_trace_row_t item = {
        .keys = {is_copy ? device : event->name, is_copy ? event->name : device},
        .count = is_copy, /* the calls of ops are counted on the host */
        .bytes = is_copy ? event->bytes : 0,
        .device_ns = event->duration_ns,
        .longest_ns = event->duration_ns};
    return add_item(is_copy ? &report->copies : &report->ops, &item);
}

static bool trace_report_make_rows(gantry_trace_report_t *report) {
    const gantry_trace_t *trace = report->trace;
    for (size_t i = 0; i < trace->event_count; ++i) {
        const gantry_trace_event_t *event = &trace->events[i];
        const uint32_t device = trace->processes[trace->tracks[event->track].process].device;
        const bool is_added = device != GANTRY_TRACE_NO_TEXT
                                  ? add_device_event(report, event, device)
                                  : add_host_event(report, event);
        if (!is_added) return false;
    }
    sum_up(&report->ops);
    sum_up(&report->copies);
    sum_up(&report->fallbacks);
    return true;
}

/* ---- devices and their gaps ---- */

typedef struct work_t {
    uint32_t process;
    int64_t begin_ns, end_ns;
} work_t;

static int compare_works(const void *left, const void *right) {
    const work_t *a = left, *b = right;
    if (a->process != b->process) return a->process < b->process ? -1 : 1;
    if (a->begin_ns != b->begin_ns) return a->begin_ns < b->begin_ns ? -1 : 1;
    return 0;
}

static int compare_gaps_by_length(const void *left, const void *right) {
    const gantry_trace_gap_t *a = left, *b = right;
    const int64_t one = a->end_ns - a->begin_ns, other = b->end_ns - b->begin_ns;
    return one != other ? (one < other ? 1 : -1) : (a->begin_ns < b->begin_ns ? -1 : 1);
}

static int compare_gaps_by_time(const void *left, const void *right) {
    const gantry_trace_gap_t *a = left, *b = right;
    return a->begin_ns != b->begin_ns ? (a->begin_ns < b->begin_ns ? -1 : 1) : 0;
}

/* The call of the host that covers most of the gap; of several, the shortest. */
static uint32_t meanwhile(const gantry_trace_t *trace, const gantry_trace_gap_t *gap) {
    const gantry_trace_event_t *best = NULL;
    int64_t best_ns = 0;
    for (size_t i = 0; i < trace->event_count; ++i) {
        const gantry_trace_event_t *event = &trace->events[i];
        const int64_t end_ns = event->begin_ns + event->duration_ns;
        if (event->begin_ns >= gap->end_ns || end_ns <= gap->begin_ns ||
            gantry_trace_is_device(trace, event))
            continue;
        const int64_t begin_ns = event->begin_ns > gap->begin_ns ? event->begin_ns : gap->begin_ns,
                      overlap_ns = (end_ns < gap->end_ns ? end_ns : gap->end_ns) - begin_ns;
        if (overlap_ns < best_ns ||
            (best && overlap_ns == best_ns && event->duration_ns >= best->duration_ns))
            continue;
        best = event;
        best_ns = overlap_ns;
    }
    return best ? best->name : GANTRY_TRACE_NO_TEXT;
}

/* Keeps the longest of the gaps after `first`. */
static void keep_longest(gantry_trace_report_t *report, size_t first, size_t most) {
    gantry_trace_gap_t *gaps = report->gaps + first;
    size_t count = report->gap_count - first;
    if (count == 0) return;
    if (most == 0) {
        report->gap_count = first;
        return;
    }
    qsort(gaps, count, sizeof *gaps, compare_gaps_by_length);
    if (count > most) count = most;
    qsort(gaps, count, sizeof *gaps, compare_gaps_by_time);
    for (size_t i = 0; i < count; ++i) gaps[i].meanwhile = meanwhile(report->trace, &gaps[i]);
    report->gap_count = first + count;
}

static bool add_gap(gantry_trace_report_t *report, gantry_trace_device_t *device, int64_t begin_ns,
                    int64_t end_ns) {
    if (!gantry_trace_grow(&report->gaps, report->gap_count, &report->gap_room,
                           sizeof *report->gaps))
        return false;
    report->gaps[report->gap_count++] =
        (gantry_trace_gap_t){.process = device->process, .begin_ns = begin_ns, .end_ns = end_ns};
    ++device->gaps;
    device->idle_ns += end_ns - begin_ns;
    return true;
}

static void find_most_bytes(const gantry_trace_t *trace, gantry_trace_device_t *device) {
    for (size_t i = 0; i < trace->level_count; ++i) {
        const gantry_trace_level_t *level = &trace->levels[i];
        if (level->process == device->process && level->bytes > device->most_bytes)
            device->most_bytes = level->bytes;
    }
}

/* One device's works, in the order of their beginning; *out_count is their number. */
static bool trace_report_add_device(gantry_trace_report_t *report, const work_t *works, size_t left,
                                    size_t most_gaps, size_t *out_count) {
    const size_t first_gap = report->gap_count;
    gantry_trace_device_t device = {.process = works[0].process, .begin_ns = works[0].begin_ns};
    size_t count = 0;
    int64_t end_ns = works[0].begin_ns;
    for (; count < left && works[count].process == device.process; ++count) {
        const work_t *work = &works[count];
        if (work->begin_ns > end_ns && !add_gap(report, &device, end_ns, work->begin_ns))
            return false;
        if (work->begin_ns > end_ns) end_ns = work->begin_ns;
        if (work->end_ns <= end_ns) continue;
        device.busy_ns += work->end_ns - end_ns;
        end_ns = work->end_ns;
    }
    device.works = count;
    device.end_ns = end_ns;
    const bool is_early = report->device_count < MOST_DEVICES; /* no machine has more */
    if (is_early) find_most_bytes(report->trace, &device);
    keep_longest(report, first_gap, is_early ? most_gaps : 0);
    *out_count = count;
    if (!gantry_trace_grow(&report->devices, report->device_count, &report->device_room,
                           sizeof *report->devices))
        return false;
    report->devices[report->device_count++] = device;
    return true;
}

static bool make_devices(gantry_trace_report_t *report, size_t most_gaps) {
    const gantry_trace_t *trace = report->trace;
    work_t *works = malloc((trace->event_count + 1) * sizeof *works);
    if (!works) return false;
    size_t count = 0, taken = 0;
    for (size_t i = 0; i < trace->event_count; ++i) {
        const gantry_trace_event_t *event = &trace->events[i];
        if (gantry_trace_is_device(trace, event))
            works[count++] = (work_t){trace->tracks[event->track].process, event->begin_ns,
                                      event->begin_ns + event->duration_ns};
    }
    if (count > 0) qsort(works, count, sizeof *works, compare_works);
    bool is_made = true;
    for (size_t i = 0; i < count && is_made; i += taken)
        is_made = trace_report_add_device(report, works + i, count - i, most_gaps, &taken);
    free(works);
    return is_made;
}

bool gantry_trace_report_make(const gantry_trace_t *trace, size_t most_gaps,
                              gantry_trace_report_t *report) {
    *report = (gantry_trace_report_t){.trace = trace};
    return trace_report_make_rows(report) && make_devices(report, most_gaps);
}

void gantry_trace_report_free(gantry_trace_report_t *report) {
    free(report->ops.rows);
    free(report->copies.rows);
    free(report->fallbacks.rows);
    free(report->devices);
    free(report->gaps);
}
