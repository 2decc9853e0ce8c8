/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "report.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gantry/gantry.h>

#include "machine.h"

void bench_report_init(bench_report_t *report) {
    memset(report, 0, sizeof *report);
    report->started_ns = bench_now_ns();
    report->load_at_start = bench_machine_load();
    report->busy_at_start = bench_machine_busy_seconds();
    report->own_at_start = bench_machine_own_seconds();
}

void bench_report_deinit(bench_report_t *report) {
    free(report->rows);
    memset(report, 0, sizeof *report);
}

void bench_report_add(bench_report_t *report, const bench_row_t *row) {
    if (report->count == report->capacity) {
        size_t capacity = report->capacity ? report->capacity * 2 : 64;
        bench_row_t *rows = realloc(report->rows, capacity * sizeof *rows);
        if (!rows) {
            (void)fprintf(stderr, "no memory for the row %s, %s\n", row->subject, row->work);
            return;
        }
        report->rows = rows;
        report->capacity = capacity;
    }
    report->rows[report->count++] = *row;
}

void bench_report_note(bench_report_t *report, const char *format, ...) {
    char *note = report->notes[report->note_count];
    va_list arguments;
    if (report->note_count == BENCH_MAX_NOTES) return;
    va_start(arguments, format);
    (void)vsnprintf(note, sizeof report->notes[0], format, arguments);
    va_end(arguments);
    for (size_t i = 0; i < report->note_count; ++i) {
        if (strcmp(report->notes[i], note) == 0) return;
    }
    ++report->note_count;
    (void)fprintf(stderr, "%s\n", note);
}

/* ---- from contenders to rows ---- */

static double shown(const bench_measure_t *measure, double seconds) {
    return measure->amount > 0 ? measure->amount / seconds : seconds * measure->per_second;
}

static void set_target(bench_row_t *row, const bench_measure_t *measure) {
    if (measure->most > 0) {
        (void)snprintf(row->target, sizeof row->target, "<= %g %s", measure->most, measure->unit);
        row->reached = row->median <= measure->most;
    } else if (measure->least_ratio > 0 && row->against_reference > 0) {
        (void)snprintf(row->target, sizeof row->target, ">= %.3g x", measure->least_ratio);
        row->reached = row->against_reference >= measure->least_ratio;
    }
}

static bool usable(const bench_contender_t *contender) {
    return contender && !contender->failed && contender->rounds > 0;
}

void bench_report_contenders(bench_report_t *report, const bench_measure_t *measure,
                             const bench_contender_t *contenders, size_t count,
                             size_t device_count) {
    const bench_contender_t *cpu =
        count > 0 && strcmp(contenders[0].name, "cpu:0") == 0 ? &contenders[0] : NULL;
    const bench_contender_t *reference = measure->reference;
    for (size_t i = 0; i < count; ++i) {
        const bench_contender_t *contender = &contenders[i];
        if (!usable(contender)) continue;
        bench_row_t row = {.reached = -1};
        (void)snprintf(row.subject, sizeof row.subject, "%s", measure->subject);
        (void)snprintf(row.work, sizeof row.work, "%s", measure->work);
        (void)snprintf(row.on, sizeof row.on, "%s", contender->name);
        (void)snprintf(row.unit, sizeof row.unit, "%s", measure->unit);
        row.median = shown(measure, bench_median_seconds(contender));
        row.best = shown(measure, bench_best_seconds(contender));
        if (usable(cpu)) row.against_cpu = bench_median_speedup(contender, cpu);
        if (usable(reference) && reference != contender) {
            row.against_reference = bench_median_speedup(contender, reference);
            row.best_against_reference =
                bench_best_seconds(reference) / bench_best_seconds(contender);
            (void)snprintf(row.reference, sizeof row.reference, "%s", reference->name);
        }
        if (i < device_count && !report->is_without_targets &&
            !(measure->spares_cpu && contender == cpu))
            set_target(&row, measure);
        bench_report_add(report, &row);
    }
}

/* ---- the head ---- */

typedef struct head_t {
    char date[32], processor[128], system[160];
    int cores;
    double others; /* share of the cores' time that other processes used meanwhile */
} head_t;

static head_t make_head(const bench_report_t *report, double wall_seconds) {
    head_t head;
    time_t now = time(NULL);
    struct tm utc;
    if (!gmtime_r(&now, &utc) ||
        strftime(head.date, sizeof head.date, "%Y-%m-%d %H:%M UTC", &utc) == 0)
        head.date[0] = '\0';
    bench_machine_processor(head.processor, sizeof head.processor);
    bench_machine_system(head.system, sizeof head.system);
    head.cores = bench_machine_cores();
    double others = (bench_machine_busy_seconds() - report->busy_at_start) -
                    (bench_machine_own_seconds() - report->own_at_start);
    head.others = wall_seconds > 0 && others > 0 ? others / (wall_seconds * head.cores) : 0;
    return head;
}

static double wall_seconds(const bench_report_t *report) {
    return (double)(bench_now_ns() - report->started_ns) * 1e-9;
}

/* ---- the table ---- */

static void print_ratio(double ratio) {
    if (ratio > 0) {
        (void)printf(" %8.2f", ratio);
    } else {
        (void)printf(" %8s", "");
    }
}

static void print_row(const bench_row_t *row, const bench_row_t *previous) {
    bool same_subject = previous && strcmp(row->subject, previous->subject) == 0;
    bool same_work = same_subject && strcmp(row->work, previous->work) == 0;
    (void)printf("%-13s %-40s %-18s %10.4g %10.4g %-8s", same_subject ? "" : row->subject,
                 same_work ? "" : row->work, row->on, row->median, row->best, row->unit);
    print_ratio(row->against_cpu);
    print_ratio(row->against_reference);
    (void)printf(" %-18s", row->reference);
    if (row->reached >= 0)
        (void)printf(" %s: %s", row->target, row->reached ? "reached" : "MISSED");
    (void)printf("\n");
}

void bench_report_print(const bench_report_t *report, const char *const *devices,
                        size_t device_count) {
    head_t head = make_head(report, wall_seconds(report));
    (void)printf("%s, %d cores, %s\n", head.processor, head.cores, head.system);
    (void)printf("%s; gantry %s; compiler %s\n", head.date, gantry_version(),
                 bench_machine_compiler());
    for (size_t i = 0; i < device_count; ++i) (void)printf("%s\n", devices[i]);
    (void)printf("load %.2f at start; other processes had %.0f %% of the cores meanwhile%s\n\n",
                 report->load_at_start, head.others * 100,
                 head.others > 0.1 ? ": BUSY, the figures are too low" : "");
    (void)printf("%-13s %-40s %-18s %10s %10s %-8s %8s %8s %-18s %s\n", "case", "work", "on",
                 "median", "best", "unit", "x cpu:0", "x ref", "ref", "target");
    for (size_t i = 0; i < report->count; ++i)
        print_row(&report->rows[i], i > 0 ? &report->rows[i - 1] : NULL);
    for (size_t i = 0; i < report->note_count; ++i)
        (void)printf("%s%s\n", i == 0 ? "\n" : "", report->notes[i]);
}

/* ---- JSON ---- */

static void write_text(FILE *file, const char *text) {
    (void)fputc('"', file);
    for (const unsigned char *c = (const unsigned char *)text; *c; ++c) {
        if (*c == '"' || *c == '\\') {
            (void)fprintf(file, "\\%c", *c);
        } else if (*c < 0x20) {
            (void)fprintf(file, "\\u%04x", *c);
        } else {
            (void)fputc(*c, file);
        }
    }
    (void)fputc('"', file);
}

static void write_member(FILE *file, const char *name, const char *text) {
    (void)fprintf(file, "\"%s\": ", name);
    write_text(file, text);
}

static void write_row(FILE *file, const bench_row_t *row) {
    (void)fprintf(file, "    {");
    write_member(file, "case", row->subject);
    (void)fprintf(file, ", ");
    write_member(file, "work", row->work);
    (void)fprintf(file, ", ");
    write_member(file, "on", row->on);
    (void)fprintf(file, ", ");
    write_member(file, "unit", row->unit);
    (void)fprintf(file, ", \"median\": %.9g, \"best\": %.9g", row->median, row->best);
    if (row->against_cpu > 0) (void)fprintf(file, ", \"against_cpu\": %.6g", row->against_cpu);
    if (row->against_reference > 0) {
        (void)fprintf(file, ", ");
        write_member(file, "reference", row->reference);
        (void)fprintf(file, ", \"against_reference\": %.6g, \"best_against_reference\": %.6g",
                      row->against_reference, row->best_against_reference);
    }
    if (row->reached >= 0) {
        (void)fprintf(file, ", ");
        write_member(file, "target", row->target);
        (void)fprintf(file, ", \"reached\": %s", row->reached ? "true" : "false");
    }
    (void)fprintf(file, "}");
}

static void print_report(FILE *file, const bench_report_t *report, const char *const *devices,
                         size_t device_count) {
    head_t head = make_head(report, wall_seconds(report));
    const struct {
        const char *name, *text;
    } members[] = {
        {"date", head.date},          {"processor", head.processor},
        {"system", head.system},      {"compiler", bench_machine_compiler()},
        {"gantry", gantry_version()},
    };
    (void)fprintf(file, "{\n");
    for (size_t i = 0; i < sizeof members / sizeof members[0]; ++i) {
        (void)fprintf(file, "  ");
        write_member(file, members[i].name, members[i].text);
        (void)fprintf(file, ",\n");
    }
    (void)fprintf(
        file,
        "  \"cores\": %d,\n  \"load_at_start\": %.2f,\n  \"share_of_other_processes\": %.3f,\n  \"devices\": [",
        head.cores, report->load_at_start, head.others);
    for (size_t i = 0; i < device_count; ++i) {
        (void)fprintf(file, "%s", i ? ", " : "");
        write_text(file, devices[i]);
    }
    (void)fprintf(file, "],\n  \"notes\": [");
    for (size_t i = 0; i < report->note_count; ++i) {
        (void)fprintf(file, "%s", i ? ", " : "");
        write_text(file, report->notes[i]);
    }
    (void)fprintf(file, "],\n  \"rows\": [\n");
    for (size_t i = 0; i < report->count; ++i) {
        write_row(file, &report->rows[i]);
        (void)fprintf(file, "%s\n", i + 1 < report->count ? "," : "");
    }
    (void)fprintf(file, "  ]\n}\n");
}

bool bench_report_write_json(const bench_report_t *report, const char *path,
                             const char *const *devices, size_t device_count) {
    char *text = NULL;
    size_t bytes;
    gantry_new_file_t written;
    FILE *file = open_memstream(&text, &bytes);
    if (!file) return false;
    print_report(file, report, devices, device_count);
    bool good = ferror(file) == 0;
    good = fclose(file) == 0 && good && gantry_file_begin(path, &written) == GANTRY_OK;
    if (good) {
        good = gantry_file_write(&written, text, bytes) == GANTRY_OK &&
               gantry_file_end(&written) == GANTRY_OK;
        gantry_file_abandon(&written);
    }
    free(text);
    return good;
}
