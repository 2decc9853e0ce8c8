/* SPDX-License-Identifier: Apache-2.0 */
/* A frame of gantry top as lines. A table shows as many columns as fit, the most important first;
 * the last one has the rest of the line. Text ends at a word, and a note goes on in the next line.
 * A word, or a cell, that has no room even so is cut, and ends with "+", as in ps. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/os/process.h"
#include "top/top.h"

#define MOST_CELLS 12
#define CELL_BYTES 200
#define LEAST_REST 6  /* columns below which the last cell is left out */
#define LEAST_NOTE 16 /* columns below which notes are left out */

typedef struct column_t {
    const char *title;
    int width;
    bool is_left;
} column_t;

typedef struct row_t {
    char cells[MOST_CELLS][CELL_BYTES];
} row_t;

/* ---- lines ---- */

/* How many characters of the text are shown in that room: whole words if one fits. */
static size_t fit_words(const char *text, size_t room) {
    if (strlen(text) <= room) return strlen(text);
    size_t end = room;
    while (end > 0 && text[end] != ' ') --end;
    while (end > 0 && text[end - 1] == ' ') --end;
    return end > 0 ? end : room;
}

static void cut_words(char *text, size_t room) {
    const size_t length = strlen(text), end = fit_words(text, room);
    const bool is_cut = end < length && text[end] != ' ' && end > 0;
    text[end] = '\0';
    if (is_cut) text[end - 1] = '+';
}

static void cut_cell(char *text, int width) {
    if (strlen(text) <= (size_t)width) return;
    text[width] = '\0';
    text[width - 1] = '+';
}

static void add_line(gantry_top_frame_t *frame, gantry_top_style_t style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Cuts the line, and replaces characters of other scripts, whose width is not known here. */
static void add_line(gantry_top_frame_t *frame, gantry_top_style_t style, const char *format, ...) {
    char text[2 * GANTRY_TOP_COLUMNS];
    if (frame->count == GANTRY_TOP_LINES) return;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *c = text; *c != '\0'; ++c)
        if (*c < ' ' || *c > '~') *c = '?';
    cut_words(text, frame->columns);
    (void)snprintf(frame->text[frame->count], sizeof frame->text[0], "%.*s", GANTRY_TOP_COLUMNS,
                   text);
    frame->style[frame->count++] = style;
}

/* A text below a device, in as many lines as it takes. */
static void add_note(gantry_top_frame_t *frame, gantry_top_style_t style, const char *text) {
    const int indent = frame->columns < 40 ? 1 : 9;
    while (*text != '\0' && frame->columns >= LEAST_NOTE) {
        const size_t length = fit_words(text, frame->columns - (size_t)indent);
        add_line(frame, style, "%*s%.*s", indent, "", (int)length, text);
        text += length;
        text += strspn(text, " ");
    }
}

/* count columns, and one more cell with the rest of the line. */
static void top_text_add_row(gantry_top_frame_t *frame, gantry_top_style_t style,
                             const column_t *columns, size_t count, const row_t *row) {
    char text[GANTRY_TOP_COLUMNS + 1] = "";
    size_t used = 0, i = 0;
    for (; i < count; ++i) {
        const size_t wanted = (size_t)columns[i].width + (i > 0 ? 1 : 0);
        if (used + wanted > frame->columns) break;
        char cell[CELL_BYTES];
        (void)snprintf(cell, sizeof cell, "%s", row->cells[i]);
        cut_cell(cell, columns[i].width);
        (void)snprintf(text + used, sizeof text - used, columns[i].is_left ? "%s%-*s" : "%s%*s",
                       i > 0 ? " " : "", columns[i].width, cell);
        used += wanted;
    }
    if (i == count && used + 1 + LEAST_REST <= frame->columns) {
        char rest[CELL_BYTES];
        (void)snprintf(rest, sizeof rest, "%s", row->cells[count]);
        cut_words(rest, frame->columns - used - 1);
        (void)snprintf(text + used, sizeof text - used, " %s", rest);
    }
    add_line(frame, style, "%s", text);
}

static void add_header(gantry_top_frame_t *frame, const column_t *columns, size_t count,
                       const char *rest) {
    row_t row = {{""}};
    for (size_t i = 0; i < count; ++i)
        (void)snprintf(row.cells[i], CELL_BYTES, "%s", columns[i].title);
    (void)snprintf(row.cells[count], CELL_BYTES, "%s", rest);
    top_text_add_row(frame, GANTRY_TOP_HEADER, columns, count, &row);
}

/* "1023K", "12.3G", "141G": at most 5 characters. */
static void write_bytes(char *out, uint64_t bytes) {
    static const char units[] = "BKMGTPE";
    double number = (double)bytes;
    size_t unit = 0;
    for (; number >= 1023.5 && unit + 2 < sizeof units; ++unit) number /= 1024.0;
    (void)snprintf(out, CELL_BYTES, unit > 0 && number < 99.95 ? "%.1f%c" : "%.0f%c", number,
                   units[unit]);
}

static void write_dash(char *out) { (void)snprintf(out, CELL_BYTES, "-"); }

/* ---- devices ---- */

static const column_t device_columns[] = {
    {"DEVICE", 8, true}, {"CLAIM", 8, true}, {"USED", 5, false}, {"FREE", 5, false},
    {"TOTAL", 5, false}, {"UTIL", 4, false}, {"TEMP", 4, false}, {"POWER", 9, false},
    {"MHZ", 4, false},   {"ECC", 5, false}};
enum { CELL_DEVICE, CELL_CLAIM, CELL_USED, CELL_FREE, CELL_TOTAL, CELL_UTIL, CELL_TEMP };
enum { CELL_POWER = CELL_TEMP + 1, CELL_MHZ, CELL_ECC, CELL_NAME, DEVICE_CELLS = CELL_NAME };

static bool knows(const gantry_device_telemetry_t *figures, uint32_t bit) {
    return (figures->known & bit) != 0;
}

static void write_power(char *out, const gantry_device_telemetry_t *figures) {
    if (knows(figures, GANTRY_TELEMETRY_POWER_LIMIT)) {
        (void)snprintf(out, CELL_BYTES, "%.0f/%.0fW", figures->power_milliwatts * 1e-3,
                       figures->power_limit_milliwatts * 1e-3);
    } else {
        (void)snprintf(out, CELL_BYTES, "%.0fW", figures->power_milliwatts * 1e-3);
    }
}

/* "2/0": corrected and uncorrected errors. */
static void write_ecc(char *out, const gantry_device_telemetry_t *figures) {
    if (figures->ecc_enabled && knows(figures, GANTRY_TELEMETRY_ECC_ERRORS)) {
        (void)snprintf(out, CELL_BYTES, "%" PRIu64 "/%" PRIu64, figures->ecc_corrected,
                       figures->ecc_uncorrected);
    } else {
        (void)snprintf(out, CELL_BYTES, "%s", figures->ecc_enabled ? "on" : "off");
    }
}

/* The user who holds the device; "free" or "unknown". */
static void write_claim(char *out, const gantry_tool_claim_t *claim) {
    const bool is_held = claim->state == GANTRY_TOOL_CLAIM_HELD;
    (void)snprintf(out, CELL_BYTES, "%s", is_held ? claim->user : gantry_tool_claim_state(claim));
}

static void top_text_fill_device(const gantry_top_device_t *device, row_t *out) {
    const gantry_device_telemetry_t *figures = &device->figures;
    for (size_t i = 0; i < DEVICE_CELLS; ++i) write_dash(out->cells[i]);
    (void)snprintf(out->cells[CELL_DEVICE], CELL_BYTES, "%s", device->name);
    write_claim(out->cells[CELL_CLAIM], &device->claim);
    (void)snprintf(out->cells[CELL_NAME], CELL_BYTES, "%.190s", device->details.hardware_name);
    if (knows(figures, GANTRY_TELEMETRY_MEMORY)) {
        write_bytes(out->cells[CELL_USED], figures->used_bytes);
        write_bytes(out->cells[CELL_FREE], figures->free_bytes);
    }
    write_bytes(out->cells[CELL_TOTAL], knows(figures, GANTRY_TELEMETRY_MEMORY)
                                            ? figures->total_bytes
                                            : device->details.total_bytes);
    if (knows(figures, GANTRY_TELEMETRY_UTILIZATION | GANTRY_TELEMETRY_PROCESSOR))
        (void)snprintf(out->cells[CELL_UTIL], CELL_BYTES, "%u%%",
                       knows(figures, GANTRY_TELEMETRY_UTILIZATION) ? figures->utilization_percent
                                                                    : figures->processor_percent);
    if (knows(figures, GANTRY_TELEMETRY_TEMPERATURE))
        (void)snprintf(out->cells[CELL_TEMP], CELL_BYTES, "%dC", (int)figures->temperature_celsius);
    if (knows(figures, GANTRY_TELEMETRY_POWER)) write_power(out->cells[CELL_POWER], figures);
    if (knows(figures, GANTRY_TELEMETRY_CLOCK))
        (void)snprintf(out->cells[CELL_MHZ], CELL_BYTES, "%u", figures->clock_mhz);
    if (knows(figures, GANTRY_TELEMETRY_ECC_MODE)) write_ecc(out->cells[CELL_ECC], figures);
}

static void top_text_add_slowed(gantry_top_frame_t *frame, const gantry_top_device_t *device) {
    static const struct {
        uint32_t bit;
        const char *text;
    } rows[] = {{GANTRY_SLOWED_SETTING, "a clock setting"},
                {GANTRY_SLOWED_POWER, "the power limit"},
                {GANTRY_SLOWED_TEMPERATURE, "heat"},
                {GANTRY_SLOWED_HARDWARE, "the hardware's protection"},
                {GANTRY_SLOWED_SYNC, "other cards"},
                {GANTRY_SLOWED_DISPLAY, "the display"},
                {GANTRY_SLOWED_OTHER, "an unknown reason"}};
    char text[200] = "";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        const size_t length = strlen(text);
        if (device->figures.slowed_by & rows[i].bit)
            (void)snprintf(text + length, sizeof text - length, "%s%s", length > 0 ? ", " : "",
                           rows[i].text);
    }
    if (*text) {
        char note[sizeof text + 16];
        (void)snprintf(note, sizeof note, "slowed by %s", text);
        add_note(frame, GANTRY_TOP_WARNING, note);
    }
}

/* Whether a figure is missing that a device of this kind has where all is well. */
static bool lacks_figures(const gantry_top_device_t *device) {
    const uint32_t wanted = device->is_cpu ? GANTRY_TELEMETRY_MEMORY | GANTRY_TELEMETRY_PROCESSOR |
                                                 GANTRY_TELEMETRY_CLOCK
                                           : GANTRY_TELEMETRY_UTILIZATION;
    return (device->figures.known & wanted) != wanted;
}

static void add_notes(gantry_top_frame_t *frame, const gantry_top_device_t *device) {
    top_text_add_slowed(frame, device);
    if (device->figures.ecc_uncorrected > 0)
        add_note(frame, GANTRY_TOP_WARNING, "memory errors that ECC did not correct");
    if (lacks_figures(device)) add_note(frame, GANTRY_TOP_PLAIN, device->figures.reason);
    if (device->claim.state == GANTRY_TOOL_CLAIM_UNKNOWN) {
        char note[GANTRY_TOP_COLUMNS];
        (void)snprintf(note, sizeof note, "the claim is unknown: %s", device->claim.reason);
        add_note(frame, GANTRY_TOP_WARNING, note);
    }
}

static void add_devices(gantry_top_frame_t *frame, const gantry_top_t *top) {
    add_header(frame, device_columns, DEVICE_CELLS, "NAME");
    for (size_t i = 0; i < top->device_count; ++i) {
        row_t row = {{""}};
        top_text_fill_device(&top->devices[i], &row);
        top_text_add_row(frame, GANTRY_TOP_PLAIN, device_columns, DEVICE_CELLS, &row);
        add_notes(frame, &top->devices[i]);
    }
}

/* ---- claims, processes and programs ---- */

/* "3s", "12m", "5h", "9d". */
static void write_age(char *out, double seconds) {
    if (seconds < 100.0) {
        (void)snprintf(out, CELL_BYTES, "%.0fs", seconds);
    } else if (seconds < 6000.0) {
        (void)snprintf(out, CELL_BYTES, "%.0fm", seconds / 60.0);
    } else if (seconds < 360000.0) {
        (void)snprintf(out, CELL_BYTES, "%.0fh", seconds / 3600.0);
    } else {
        (void)snprintf(out, CELL_BYTES, "%.0fd", seconds / 86400.0);
    }
}

/* Fills the claim's cells. The numbers of processes in other containers mean nothing here, so their
 * host is shown. */
static void fill_claim(const gantry_top_device_t *device, row_t *out) {
    const gantry_claim_info_t *info = &device->claim.info;
    char host[65] = "";
    gantry__os_host_name(host, sizeof host);
    (void)snprintf(out->cells[0], CELL_BYTES, "%" PRId64, info->process);
    (void)snprintf(out->cells[1], CELL_BYTES, "%s", device->name);
    write_age(out->cells[2], (double)info->held_seconds);
    (void)snprintf(out->cells[3], CELL_BYTES, "%s", device->claim.user);
    (void)snprintf(out->cells[4], CELL_BYTES, "%s%s%s%.120s",
                   strcmp(info->host, host) == 0 ? "" : "on ",
                   strcmp(info->host, host) == 0 ? "" : info->host,
                   strcmp(info->host, host) == 0 ? "" : ": ", info->command);
}

static void add_claims(gantry_top_frame_t *frame, const gantry_top_t *top) {
    static const column_t columns[] = {
        {"PID", 8, false}, {"DEVICE", 8, true}, {"FOR", 6, false}, {"USER", 10, true}};
    bool has_header = false;
    for (size_t i = 0; i < top->device_count; ++i) {
        row_t row = {{""}};
        if (top->devices[i].claim.state != GANTRY_TOOL_CLAIM_HELD) continue;
        if (!has_header) {
            add_line(frame, GANTRY_TOP_PLAIN, "%s", "");
            add_header(frame, columns, 4, "CLAIMED BY");
        }
        has_header = true;
        fill_claim(&top->devices[i], &row);
        top_text_add_row(frame, GANTRY_TOP_PLAIN, columns, 4, &row);
    }
}

static void top_text_add_processes(gantry_top_frame_t *frame, const gantry_top_t *top) {
    static const column_t columns[] = {
        {"PID", 8, false}, {"DEVICE", 8, true}, {"MEMORY", 6, false}, {"USER", 10, true}};
    bool has_header = false;
    for (size_t d = 0; d < top->device_count; ++d) {
        for (size_t i = 0; i < top->devices[d].process_count; ++i) {
            const gantry_top_process_t *process = &top->devices[d].processes[i];
            row_t row = {{""}};
            if (!has_header) {
                add_line(frame, GANTRY_TOP_PLAIN, "%s", "");
                add_header(frame, columns, 4, "PROCESS");
            }
            has_header = true;
            (void)snprintf(row.cells[0], CELL_BYTES, "%" PRIu32, process->pid);
            (void)snprintf(row.cells[1], CELL_BYTES, "%s", top->devices[d].name);
            write_dash(row.cells[2]);
            if (process->used_bytes != UINT64_MAX) write_bytes(row.cells[2], process->used_bytes);
            (void)snprintf(row.cells[3], CELL_BYTES, "%s", *process->user ? process->user : "-");
            (void)snprintf(row.cells[4], CELL_BYTES, "%s%s", *process->name ? process->name : "?",
                           process->is_graphics ? " (graphics)" : "");
            top_text_add_row(frame, GANTRY_TOP_PLAIN, columns, 4, &row);
        }
    }
}

static void add_pools(gantry_top_frame_t *frame, const gantry_top_t *top) {
    static const column_t columns[] = {
        {"PID", 8, false},     {"DEVICE", 8, true}, {"IN USE", 6, false},
        {"POOL", 6, false},    {"PEAK", 6, false},  {"LIMIT", 6, false},
        {"FOREIGN", 7, false}, {"AGE", 4, false},   {"USER", 10, true}};
    if (top->program_count == 0) return;
    add_line(frame, GANTRY_TOP_PLAIN, "%s", "");
    add_header(frame, columns, 9, "GANTRY PROGRAM");
    for (size_t p = 0; p < top->program_count; ++p) {
        const gantry_top_program_t *program = &top->programs[p];
        for (size_t i = 0; i < program->pool_count; ++i) {
            const gantry_top_pool_t *pool = &program->pools[i];
            row_t row = {{""}};
            (void)snprintf(row.cells[0], CELL_BYTES, "%" PRIu32, program->pid);
            (void)snprintf(row.cells[1], CELL_BYTES, "%s", pool->device);
            write_bytes(row.cells[2], pool->in_use_bytes);
            write_bytes(row.cells[3], pool->pool_bytes);
            write_bytes(row.cells[4], pool->peak_bytes);
            write_bytes(row.cells[5], pool->limit_bytes);
            write_bytes(row.cells[6], pool->foreign_bytes);
            write_age(row.cells[7], program->age_seconds);
            (void)snprintf(row.cells[8], CELL_BYTES, "%s", program->user);
            (void)snprintf(row.cells[9], CELL_BYTES, "%s", program->name);
            top_text_add_row(frame, GANTRY_TOP_PLAIN, columns, 9, &row);
        }
    }
}

/* ---- the frame ---- */

static void add_title(gantry_top_frame_t *frame, const gantry_top_t *top, double interval_seconds) {
    char host[65] = "", clock[GANTRY__OS_DATE_BYTES], load[48] = "", every[64] = "";
    gantry__os_host_name(host, sizeof host);
    gantry__os_local_text(top->now, clock);
    for (size_t i = 0; i < top->device_count && !*load; ++i) {
        if (top->devices[i].is_cpu && knows(&top->devices[i].figures, GANTRY_TELEMETRY_LOAD))
            (void)snprintf(load, sizeof load, "  load %.2f", top->devices[i].figures.load_average);
    }
    if (interval_seconds > 0.0)
        (void)snprintf(every, sizeof every, "  every %g s, q ends", interval_seconds);
    add_line(frame, GANTRY_TOP_TITLE, "gantry top  %s%s%s  %s", clock, every, load, host);
}

void gantry_top_compose(const gantry_top_t *top, double interval_seconds, size_t columns,
                        gantry_top_frame_t *out_frame) {
    out_frame->columns = columns < GANTRY_TOP_COLUMNS ? columns : GANTRY_TOP_COLUMNS;
    out_frame->count = 0;
    add_title(out_frame, top, interval_seconds);
    add_devices(out_frame, top);
    add_claims(out_frame, top);
    top_text_add_processes(out_frame, top);
    add_pools(out_frame, top);
}
