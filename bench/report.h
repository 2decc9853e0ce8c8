/* SPDX-License-Identifier: Apache-2.0 */
/* The measurements, the machine and the versions, as a table for people and as JSON for programs.
 *
 * A report only checks whether stated targets are reached; a missed target is printed, and must
 * never be an error. Owner: a report owns its rows, and must end with deinit. Threads: externally
 * synchronised. */
#ifndef GANTRY_BENCH_REPORT_H
#define GANTRY_BENCH_REPORT_H

#include <stdio.h>

#include "timer.h"

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
    char notes[BENCH_MAX_NOTES][256]; /* the parts that did not run, with their reasons */
    size_t note_count;
    bool is_without_targets; /* meaningless figures neither reach nor miss a target */
    uint64_t started_ns;
    double load_at_start;
    double busy_at_start, own_at_start; /* processor seconds, of the machine and of this process */
} bench_report_t;

/* The form in which a time per call is shown. */
typedef struct bench_measure_t {
    const char *subject, *work, *unit;
    /* per call, in the unit's numerator (GB, GFLOP); 0: the unit is a time */
    double amount;
    double per_second;                  /* of a time unit: 1e6 for us */
    const bench_contender_t *reference; /* NULL: none */
    double least_ratio;                 /* target of against_reference for devices; 0: none */
    double most;                        /* target of the median, for times; 0: none */
    bool spares_cpu;                    /* the CPU backend has no target */
} bench_measure_t;

void bench_report_init(bench_report_t *report);
void bench_report_deinit(bench_report_t *report);

/* Adds a row. Prints an error if there is no memory for it. */
void bench_report_add(bench_report_t *report, const bench_row_t *row);
/* Adds a sentence to the end of the report, unless it has it already, and prints it to standard
 * error. */
void bench_report_note(bench_report_t *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds a row for each contender that did not fail. The first device_count contenders are devices.
 * Contender 0 is the baseline if its name is "cpu:0". */
void bench_report_contenders(bench_report_t *report, const bench_measure_t *measure,
                             const bench_contender_t *contenders, size_t count,
                             size_t device_count);

/* Prints the report; devices are the lines of its head, one for each device. */
void bench_report_print(const bench_report_t *report, const char *const *devices,
                        size_t device_count);
/* Returns false if the file cannot be written. */
bool bench_report_write_json(const bench_report_t *report, const char *path,
                             const char *const *devices, size_t device_count);

#endif
