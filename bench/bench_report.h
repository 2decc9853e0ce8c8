/* SPDX-License-Identifier: Apache-2.0 */
/* What was measured, as a table for people and as JSON for programs; on which machine, with which
 * versions.
 *
 * Owns its rows (init, deinit). Judges nothing but whether a stated target was reached; a missed
 * one is printed, never an error. Externally synchronised. */
#ifndef GANTRY_BENCH_REPORT_H
#define GANTRY_BENCH_REPORT_H

#include <stdio.h>

#include "bench_timer.h"

typedef struct bench_row_t {
    char subject[16];
    char work[48];
    char on[24]; /* device alias or library */
    char unit[12];
    double median, best;
    /* speed as a multiple of the CPU backend's in the same rounds; 0: not compared */
    double against_cpu;
    double against_reference;      /* as a multiple of the reference's; 0: not compared */
    double best_against_reference; /* the same, of both sides' best rounds */
    char reference[24];
    char target[24]; /* "" when none is set */
    int reached;     /* -1: none set */
} bench_row_t;

#define BENCH_MAX_NOTES 32

typedef struct bench_report_t {
    bench_row_t *rows;
    size_t count, capacity;
    char notes[BENCH_MAX_NOTES][256]; /* what was left out, and why */
    size_t note_count;
    bool is_without_targets; /* figures that are none miss and reach nothing */
    uint64_t started_ns;
    double load_at_start;
    double busy_at_start, own_at_start; /* processor seconds, of the machine and of this process */
} bench_report_t;

/* How a time per call is shown. */
typedef struct bench_measure_t {
    const char *subject, *work, *unit;
    /* per call, in the unit's numerator (GB, GFLOP); 0: the unit is a time */
    double amount;
    double per_second;                  /* of a time unit: 1e6 for us */
    const bench_contender_t *reference; /* NULL: none */
    double least_ratio;                 /* target of against_reference for devices; 0: none */
    double most;                        /* target of the median, for times; 0: none */
    bool spares_cpu;                    /* the target is not for the CPU backend */
} bench_measure_t;

void bench_report_init(bench_report_t *report);
void bench_report_deinit(bench_report_t *report);

/* One row; a report without memory for it says so on standard error. */
void bench_report_add(bench_report_t *report, const bench_row_t *row);
/* A sentence for the report's end, also on standard error; one that is there already is not
 * repeated. */
void bench_report_note(bench_report_t *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* One row per contender that did not fail. device_count: the first so many contenders are devices;
 * contender 0 is the baseline when it is called "cpu:0". */
void bench_report_contenders(bench_report_t *report, const bench_measure_t *measure,
                             const bench_contender_t *contenders, size_t count,
                             size_t device_count);

/* Device lines for the head: one text per device. */
void bench_report_print(const bench_report_t *report, const char *const *devices,
                        size_t device_count);
/* false when the file cannot be written. */
bool bench_report_write_json(const bench_report_t *report, const char *path,
                             const char *const *devices, size_t device_count);

#endif
