/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the traces through all subjects, and prints the results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "trace_replay.h"

/* The bounds apply to the first subject. The last one is the model. */
#define SUBJECTS 3
#define RULES (SUBJECTS - 1)
#define MIB 1048576.0

static const subject_t *const subjects[SUBJECTS] = {&subject_gantry, &subject_gantry_split,
                                                    &subject_rules};

typedef struct outcome_t {
    trace_figures_t figures;
    /* allocations refused under 1.1 and 1.25 times the trace's peak */
    uint64_t failed_at_110, failed_at_125;
    double median_ns, best_ns; /* per pair of allocate and free; 0: not timed */
} outcome_t;

typedef struct traced_t {
    const trace_recipe_t *recipe;
    size_t allocations;
    outcome_t outcomes[SUBJECTS];
} traced_t;

struct bench_traces_t {
    traced_t traced[TRACE_RECIPES];
};

/* ---- running ---- */

static void measure_time(const memory_trace_t *trace, const subject_t *subject, int rounds,
                         outcome_t *outcome) {
    double taken[BENCH_MAX_ROUNDS], pairs = (double)trace->id_count;
    for (int i = 0; i < rounds; ++i)
        taken[i] = (double)trace_replay_time_ns(trace, subject) / pairs;
    outcome->median_ns = bench_median(taken, (size_t)rounds); /* sorts them */
    outcome->best_ns = taken[0];
}

static bool run_subject(const memory_trace_t *trace, const subject_t *subject, int rounds,
                        outcome_t *outcome) {
    trace_figures_t tight;
    if (!trace_replay(trace, subject, TRACE_NO_LIMIT, &outcome->figures)) return false;
    uint64_t peak = outcome->figures.trace_peak_bytes;
    if (!trace_replay(trace, subject, peak + peak / 10, &tight)) return false;
    outcome->failed_at_110 = tight.failed;
    if (!trace_replay(trace, subject, peak + peak / 4, &tight)) return false;
    outcome->failed_at_125 = tight.failed;
    if (subject->is_timed) measure_time(trace, subject, rounds, outcome);
    return true;
}

static bool run_trace(traced_t *traced, const trace_recipe_t *recipe, int rounds) {
    memory_trace_t trace;
    memory_trace_init(&trace, recipe->name);
    recipe->make(&trace, recipe->seed);
    traced->recipe = recipe;
    traced->allocations = trace.id_count;
    bool ok = !trace.broken;
    for (int i = 0; ok && i < SUBJECTS; ++i)
        ok = run_subject(&trace, subjects[i], rounds, &traced->outcomes[i]);
    memory_trace_deinit(&trace);
    return ok;
}

bench_traces_t *bench_traces_run(int rounds) {
    bench_traces_t *traces = calloc(1, sizeof *traces);
    bool ok = traces;
    for (int i = 0; ok && i < TRACE_RECIPES; ++i)
        ok = run_trace(&traces->traced[i], &trace_recipes[i], rounds);
    if (ok) return traces;
    (void)fprintf(stderr, "traces: no host memory for them\n");
    free(traces);
    return NULL;
}

void bench_traces_release(bench_traces_t *traces) { free(traces); }

/* ---- bounds ---- */

/* Whether the subject is within its bound; -1 if it has none. */
static int is_within_bound(const traced_t *traced, int subject, const char **out_bound) {
    *out_bound = "";
    const trace_figures_t *figures = &traced->outcomes[subject].figures;
    if (subject != 0 || traced->recipe->kind == TRACE_OTHER) return -1;
    if (traced->recipe->kind == TRACE_BOUNDED) {
        *out_bound = "<= bound";
        return figures->worst_bound <= 1;
    }
    *out_bound = "<= rules'";
    return figures->peak_pool_bytes <= traced->outcomes[RULES].figures.peak_pool_bytes;
}

/* ---- the table ---- */

/* Peak pool over twice the peak needed and the largest region. */
static double part_of_bound(const trace_figures_t *figures) {
    return (double)figures->peak_pool_bytes /
           (2.0 * (double)figures->trace_peak_bytes + (double)figures->largest_region_bytes);
}

static void print_outcome(const traced_t *traced, int i) {
    const outcome_t *outcome = &traced->outcomes[i];
    const trace_figures_t *figures = &outcome->figures;
    (void)printf("%-17s %-17s %8.1f %8.1f %8.1f %7.2f %6.2f %6.0f %5.0f %5.0f %7llu %7llu %7llu",
                 i == 0 ? traced->recipe->name : "", subjects[i]->name,
                 (double)figures->trace_peak_bytes / MIB, (double)figures->peak_in_use_bytes / MIB,
                 (double)figures->peak_pool_bytes / MIB,
                 (double)figures->peak_pool_bytes / (double)figures->trace_peak_bytes,
                 part_of_bound(figures), figures->worst_fragmentation * 100,
                 figures->mean_fragmentation * 100, figures->end_fragmentation * 100,
                 (unsigned long long)figures->regions, (unsigned long long)outcome->failed_at_110,
                 (unsigned long long)outcome->failed_at_125);
    if (outcome->median_ns > 0) {
        (void)printf(" %6.1f", outcome->median_ns);
    } else {
        (void)printf(" %6s", "");
    }
    const char *bound;
    int within = is_within_bound(traced, i, &bound);
    if (within >= 0) (void)printf("  %s: %s", bound, within ? "reached" : "MISSED");
    (void)printf("\n");
}

void bench_traces_print(const bench_traces_t *traces) {
    (void)printf("\n%-17s %-17s %8s %8s %8s %7s %6s %18s %7s %15s %6s\n", "", "", "needed",
                 "in use", "pool", "pool/", "pool/", "fragmentation, %", "", "refused under",
                 "ns per");
    (void)printf("%-17s %-17s %8s %8s %8s %7s %6s %6s %5s %5s %7s %7s %7s %6s  %s\n", "trace",
                 "held by", "MiB", "MiB", "MiB", "needed", "bound", "worst", "mean", "end",
                 "regions", "1.1 x", "1.25 x", "pair", "target");
    for (int i = 0; i < TRACE_RECIPES; ++i) {
        for (int k = 0; k < SUBJECTS; ++k) print_outcome(&traces->traced[i], k);
    }
}

/* ---- rows ---- */

static void add(bench_report_t *report, const traced_t *traced, int subject, const char *what,
                const char *unit, double value) {
    bench_row_t row = {.subject = "trace", .median = value, .best = value, .reached = -1};
    (void)snprintf(row.work, sizeof row.work, "%s, %s", traced->recipe->name, what);
    (void)snprintf(row.on, sizeof row.on, "%s", subjects[subject]->name);
    (void)snprintf(row.unit, sizeof row.unit, "%s", unit);
    const char *bound;
    int within = is_within_bound(traced, subject, &bound);
    if (within >= 0 && strcmp(what, "peak pool") == 0) {
        (void)snprintf(row.target, sizeof row.target, "%s", bound);
        row.reached = within;
    }
    bench_report_add(report, &row);
}

static void report_outcome(bench_report_t *report, const traced_t *traced, int i) {
    const outcome_t *outcome = &traced->outcomes[i];
    const trace_figures_t *figures = &outcome->figures;
    add(report, traced, i, "allocations", "", (double)traced->allocations);
    add(report, traced, i, "needed", "MiB", (double)figures->trace_peak_bytes / MIB);
    add(report, traced, i, "peak in use", "MiB", (double)figures->peak_in_use_bytes / MIB);
    add(report, traced, i, "peak pool", "MiB", (double)figures->peak_pool_bytes / MIB);
    add(report, traced, i, "largest region", "MiB", (double)figures->largest_region_bytes / MIB);
    add(report, traced, i, "of 2 x peak + region", "", part_of_bound(figures));
    add(report, traced, i, "of it at any moment", "", figures->worst_bound);
    add(report, traced, i, "worst fragmentation", "", figures->worst_fragmentation);
    add(report, traced, i, "mean fragmentation", "", figures->mean_fragmentation);
    add(report, traced, i, "end fragmentation", "", figures->end_fragmentation);
    add(report, traced, i, "regions", "", (double)figures->regions);
    add(report, traced, i, "failed at 1.1 x", "", (double)outcome->failed_at_110);
    add(report, traced, i, "failed at 1.25 x", "", (double)outcome->failed_at_125);
    if (outcome->median_ns > 0) add(report, traced, i, "time per pair", "ns", outcome->median_ns);
}

void bench_traces_report(const bench_traces_t *traces, bench_report_t *report) {
    for (int i = 0; i < TRACE_RECIPES; ++i) {
        for (int k = 0; k < SUBJECTS; ++k) report_outcome(report, &traces->traced[i], k);
    }
}
