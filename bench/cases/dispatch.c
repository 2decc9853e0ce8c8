/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatch: an add of 4 elements, from the call to its result on the host and the release. Every
 * call is timed by itself, and the figure includes reading the clock. The devices take turns in ten
 * rounds. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#define DISPATCH_ROUNDS 10
#define DISPATCH_CALLS_CPU 1000000
#define DISPATCH_CALLS_OTHERS 100000
#define DISPATCH_COUNTED_CALLS 100
#define DISPATCH_MOST_US 0.5
#define DISPATCH_WORK "add of 4 elements and read"

typedef struct subject_t {
    const char *device;
    gantry_scope_t *scope;
    const gantry_tensor_t *x, *y;
    uint32_t *nanoseconds;
    size_t calls, done;
} subject_t;

static bool open_subject(bench_t *bench, const char *device, subject_t *subject) {
    const float x[4] = {1, 2, 3, 4}, y[4] = {10, 20, 30, 40};
    memset(subject, 0, sizeof *subject);
    subject->device = device;
    subject->calls = strcmp(device, "cpu:0") == 0 ? DISPATCH_CALLS_CPU : DISPATCH_CALLS_OTHERS;
    if (bench->quick) subject->calls /= 10;
    subject->nanoseconds = malloc(subject->calls * sizeof *subject->nanoseconds);
    subject->scope = bench_scope(bench, device);
    if (!subject->nanoseconds || !subject->scope) return false;
    subject->x = gantry_constant(subject->scope, GANTRY_FLOAT32, GANTRY_SHAPE(4), x, sizeof x);
    subject->y = gantry_constant(subject->scope, GANTRY_FLOAT32, GANTRY_SHAPE(4), y, sizeof y);
    return subject->x && subject->y;
}

static bool one_call(const subject_t *subject) {
    float result[4];
    const gantry_tensor_t *sum = gantry_add(subject->scope, subject->x, subject->y);
    if (!sum || gantry_tensor_read(sum, result, sizeof result) != GANTRY_OK) return false;
    gantry_tensor_drop(subject->scope, sum);
    return result[3] > 43.0f;
}

static bool run_calls(void *argument, int calls) {
    for (int i = 0; i < calls; ++i) {
        if (!one_call(argument)) return false;
    }
    return true;
}

/* Counts instructions in place of timing calls one by one. */
static void count_calls(bench_t *bench, subject_t *subjects) {
    const bench_measure_t shown = {"dispatch", DISPATCH_WORK, "us", 0, 1e6, NULL, 0, 0, false};
    bench_contender_t contenders[BENCH_MAX_DEVICES] = {0};
    size_t count = 0;
    for (size_t i = 0; i < bench->device_count; ++i) {
        if (subjects[i].calls == 0) continue;
        contenders[count++] = (bench_contender_t){
            .name = subjects[i].device, .run = run_calls, .subject = &subjects[i]};
    }
    bench_interleave(contenders, count, bench->rounds, DISPATCH_COUNTED_CALLS);
    bench_report_contenders(&bench->report, &shown, contenders, count, count);
}

static void run_round(subject_t *subject) {
    bench_pause_ms(BENCH_PAUSE_MS);
    for (int i = 0; i < 100; ++i) (void)one_call(subject);
    for (size_t i = 0; i < subject->calls / DISPATCH_ROUNDS; ++i) {
        uint64_t start = bench_now_ns();
        bool ok = one_call(subject);
        uint64_t took = bench_now_ns() - start;
        if (!ok) {
            (void)bench_is_ok(gantry_scope_status(subject->scope), subject->device, "add");
            return;
        }
        subject->nanoseconds[subject->done++] = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
    }
}

static void add_row(bench_t *bench, subject_t *subject, double cpu_us) {
    if (subject->done == 0) return;
    bool is_cpu = strcmp(subject->device, "cpu:0") == 0;
    double median = bench_median_ns(subject->nanoseconds, subject->done) * 1e-3;
    bench_row_t row = {.subject = "dispatch", .work = DISPATCH_WORK, .unit = "us", .reached = -1};
    (void)snprintf(row.on, sizeof row.on, "%s", subject->device);
    row.median = median;
    row.best = (double)subject->nanoseconds[0] * 1e-3;
    if (cpu_us > 0) row.against_cpu = cpu_us / median;
    if (is_cpu) {
        (void)snprintf(row.target, sizeof row.target, "<= %g us", DISPATCH_MOST_US);
        row.reached = median <= DISPATCH_MOST_US;
    }
    bench_report_add(&bench->report, &row);
}

void bench_dispatch(bench_t *bench) {
    subject_t subjects[BENCH_MAX_DEVICES];
    for (size_t i = 0; i < bench->device_count; ++i) {
        if (!open_subject(bench, bench->devices[i].alias, &subjects[i])) subjects[i].calls = 0;
    }
    if (bench_counts_only()) count_calls(bench, subjects);
    for (int round = 0; round < DISPATCH_ROUNDS && !bench_counts_only(); ++round) {
        for (size_t i = 0; i < bench->device_count; ++i) {
            if (subjects[i].calls > 0) run_round(&subjects[i]);
        }
    }
    double cpu_us = 0;
    for (size_t i = 0; i < bench->device_count; ++i) {
        if (strcmp(subjects[i].device, "cpu:0") == 0)
            cpu_us = bench_median_ns(subjects[i].nanoseconds, subjects[i].done) * 1e-3;
        add_row(bench, &subjects[i], cpu_us);
        free(subjects[i].nanoseconds);
        if (subjects[i].scope) (void)gantry_scope_end(subjects[i].scope);
    }
}
