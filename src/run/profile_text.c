/* SPDX-License-Identifier: Apache-2.0 */
/* A profile for people: a line for each op, the longest first, the parts of a composed op below it.
 *
 * The line of a composed op is the sum of its parts and of its own work, so that the outdented
 * lines add up to the last one. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "run/profile.h"

/* The position of a row in the table. */
typedef struct place_t {
    uint64_t group_ns; /* the time of the op that the program called */
    size_t head;       /* its row */
    bool is_part;
    gantry_profile_row_t row;
} place_t;

/* ---- order ---- */

static bool is_part_of(const gantry_profile_row_t *row, const gantry_profile_row_t *head) {
    return *row->part_of && !*head->part_of && !*head->device &&
           strcmp(row->part_of, head->op) == 0;
}

/* The row of the op that the program called; a part whose op has not ended yet is its own head. */
static size_t head_of(const gantry__profile_snapshot_t *snapshot, size_t index) {
    if (!*snapshot->rows[index].part_of) return index;
    for (size_t i = 0; i < snapshot->count; ++i) {
        if (is_part_of(&snapshot->rows[index], &snapshot->rows[i])) return i;
    }
    return index;
}

static int compare(const void *left, const void *right) {
    const place_t *a = left, *b = right;
    if (a->group_ns != b->group_ns) return a->group_ns < b->group_ns ? 1 : -1;
    if (a->head != b->head) return a->head > b->head ? 1 : -1;
    if (a->is_part != b->is_part) return a->is_part ? 1 : -1;
    if (a->row.total_ns != b->row.total_ns) return a->row.total_ns < b->row.total_ns ? 1 : -1;
    return 0;
}

static void put_in_order(const gantry__profile_snapshot_t *snapshot, place_t *places) {
    for (size_t i = 0; i < snapshot->count; ++i)
        places[i] = (place_t){.head = head_of(snapshot, i), .row = snapshot->rows[i]};
    for (size_t i = 0; i < snapshot->count; ++i) {
        places[i].is_part = places[i].head != i;
        for (size_t k = 0; k < snapshot->count; ++k) {
            if (places[k].head == places[i].head) places[i].group_ns += places[k].row.total_ns;
        }
    }
    qsort(places, snapshot->count, sizeof *places, compare);
}

/* ---- lines ---- */

static void write_ms(uint64_t ns, gantry__text_t *out) {
    if (ns == 0) {
        gantry__text_append(out, " %8s", "-");
    } else {
        gantry__text_append(out, " %8.2f", (double)ns * 1e-6);
    }
}

static void write_count(uint64_t count, int width, gantry__text_t *out) {
    if (count == 0) {
        gantry__text_append(out, " %*s", width, "-");
    } else {
        gantry__text_append(out, " %*" PRIu64, width, count);
    }
}

/* The short name "GPU:0" of "/device:GPU:0". */
static const char *short_name(const char *device) {
    return strncmp(device, "/device:", 8) == 0 ? device + 8 : device;
}

static void profile_text_write_line(const char *indent, const char *name,
                                    const gantry_profile_row_t *row, uint64_t all_ns,
                                    gantry__text_t *out) {
    gantry__text_append(out, "%s%-*s %-9s %9" PRIu64, indent, (int)(26 - strlen(indent)), name,
                        short_name(row->device), row->calls);
    gantry__text_append(out, " %9.2f %9.2f %5.1f",
                        row->calls ? (double)row->total_ns * 1e-3 / (double)row->calls : 0,
                        (double)row->total_ns * 1e-6,
                        all_ns ? (double)row->total_ns * 100 / (double)all_ns : 0);
    const uint64_t steps[] = {row->scope_ns,      row->placement_ns, row->copy_ns,
                              row->allocation_ns, row->program_ns,   row->launch_ns,
                              row->kernel_ns,     row->wait_ns};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; ++i) write_ms(steps[i], out);
    write_count(row->launches, 9, out);
    if (row->kernel_ns) {
        gantry__text_append(out, " %7.2f", (double)row->argument_bytes / (double)row->kernel_ns);
    } else {
        gantry__text_append(out, " %7s", "-");
    }
    gantry__text_append(out, " %10.3f", (double)row->bytes_moved * 1e-6);
    write_count(row->allocations, 9, out);
    write_count(row->driver_allocations, 7, out);
    gantry__text_append(out, "\n");
}

static void profile_text_write_head(const gantry_profile_row_t *sum, gantry_profile_mode_t mode,
                                    gantry__text_t *out) {
    gantry__text_append(out, "Profile of %.2f ms, %.2f ms of it in Gantry",
                        (double)sum->elapsed_ns * 1e-6, (double)sum->total_ns * 1e-6);
    gantry__text_append(out, "%s; milliseconds of all calls together. %s\n",
                        sum->total_ns > sum->elapsed_ns ? " (of several threads, added up)" : "",
                        mode == GANTRY_PROFILE_WAIT
                            ? "Every op was waited for: kernel is known on all devices."
                            : "Kernels of asynchronous devices show as wait.");
    gantry__text_append(
        out, "%-26s %-9s %9s %9s %9s %5s %8s %8s %8s %8s %8s %8s %8s %8s %9s %7s %10s %9s %7s\n",
        "op", "on", "calls", "us/call", "ms", "%", "scope", "placing", "copies", "memory",
        "program", "launch", "kernel", "wait", "launches", "GB/s", "MB moved", "allocated",
        "driver");
}

static void add_row(gantry_profile_row_t *sum, const gantry_profile_row_t *row) {
    sum->launches += row->launches;
    sum->bytes_moved += row->bytes_moved;
    sum->argument_bytes += row->argument_bytes;
    sum->allocations += row->allocations;
    sum->driver_allocations += row->driver_allocations;
    sum->total_ns += row->total_ns;
    sum->scope_ns += row->scope_ns;
    sum->placement_ns += row->placement_ns;
    sum->copy_ns += row->copy_ns;
    sum->allocation_ns += row->allocation_ns;
    sum->program_ns += row->program_ns;
    sum->launch_ns += row->launch_ns;
    sum->kernel_ns += row->kernel_ns;
    sum->wait_ns += row->wait_ns;
}

/* Writes the line of a called op, and those of its parts after it; returns the number of rows. */
static size_t write_group(const place_t *places, size_t left, uint64_t all_ns,
                          gantry__text_t *out) {
    size_t count = 1;
    gantry_profile_row_t sum = places[0].row;
    while (count < left && places[count].is_part && places[count].head == places[0].head)
        add_row(&sum, &places[count++].row);
    profile_text_write_line("", sum.op, &sum, all_ns, out);
    if (count > 1) profile_text_write_line("  ", "(itself)", &places[0].row, all_ns, out);
    for (size_t i = 1; i < count; ++i)
        profile_text_write_line("  ", places[i].row.op, &places[i].row, all_ns, out);
    return count;
}

void gantry__profile_write_text(const gantry__profile_snapshot_t *snapshot, gantry__text_t *out) {
    const gantry_profile_row_t *sum = &snapshot->rows[snapshot->count];
    place_t *places = gantry__heap_alloc(snapshot->heap, (snapshot->count + 1) * sizeof *places);
    if (!places) {
        out->failed = true;
        return;
    }
    put_in_order(snapshot, places);
    profile_text_write_head(sum, snapshot->mode, out);
    for (size_t i = 0; i < snapshot->count;)
        i += write_group(places + i, snapshot->count - i, sum->total_ns, out);
    profile_text_write_line("", "all", sum, sum->total_ns, out);
    gantry__heap_free(snapshot->heap, places, (snapshot->count + 1) * sizeof *places);
}

/* ---- JSON: names of ops and devices need no escapes ---- */

static void write_object(const gantry_profile_row_t *row, gantry__text_t *out) {
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {{"calls", row->calls},
                   {"launches", row->launches},
                   {"bytes_moved", row->bytes_moved},
                   {"argument_bytes", row->argument_bytes},
                   {"allocations", row->allocations},
                   {"allocated_bytes", row->allocated_bytes},
                   {"driver_allocations", row->driver_allocations},
                   {"total_ns", row->total_ns},
                   {"scope_ns", row->scope_ns},
                   {"placement_ns", row->placement_ns},
                   {"copy_ns", row->copy_ns},
                   {"allocation_ns", row->allocation_ns},
                   {"program_ns", row->program_ns},
                   {"launch_ns", row->launch_ns},
                   {"kernel_ns", row->kernel_ns},
                   {"wait_ns", row->wait_ns},
                   {"elapsed_ns", row->elapsed_ns}};
    gantry__text_append(out, "{\"op\":\"%s\",\"part_of\":\"%s\",\"device\":\"%s\"", row->op,
                        row->part_of, row->device);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i)
        gantry__text_append(out, ",\"%s\":%" PRIu64, numbers[i].name, numbers[i].value);
    gantry__text_append(out, "}");
}

void gantry__profile_write_json(const gantry__profile_snapshot_t *snapshot, gantry__text_t *out) {
    gantry__text_append(out, "{\"mode\":\"%s\",\"rows\":[",
                        snapshot->mode == GANTRY_PROFILE_WAIT ? "wait" : "on");
    for (size_t i = 0; i < snapshot->count; ++i) {
        if (i > 0) gantry__text_append(out, ",");
        write_object(&snapshot->rows[i], out);
    }
    gantry__text_append(out, "],\"sum\":");
    write_object(&snapshot->rows[snapshot->count], out);
    gantry__text_append(out, "}\n");
}
