/* SPDX-License-Identifier: Apache-2.0 */
/* The cases of gantry_bench_internal. They use the library's own objects, because no public call
 * does only this work. Owner: the report has the rows. Threads: externally synchronised. */
#ifndef GANTRY_BENCH_INTERNAL_H
#define GANTRY_BENCH_INTERNAL_H

#include "report.h"

/* Pairs of allocate and free that the pool serves: on one thread by size, and on several
 * threads. */
void bench_pairs(bench_report_t *report, int rounds);
/* The time of a refusal when nothing can be freed. */
void bench_ladder(bench_report_t *report, int rounds);

/* A chain of elementwise ops as one fused program and one by one. */
void bench_fused(bench_report_t *report, int rounds);
/* The placement and the plan of functions with many nodes. */
void bench_placing(bench_report_t *report, int rounds);

typedef struct bench_traces_t bench_traces_t;

/* Runs all traces through Gantry's allocator and the model of TensorFlow's rules. NULL: host memory
 * ran out. */
bench_traces_t *bench_traces_run(int rounds);
void bench_traces_release(bench_traces_t *traces);
/* Prints both side by side, on two lines for each trace. */
void bench_traces_print(const bench_traces_t *traces);
/* Adds a row for each figure, for the JSON. */
void bench_traces_report(const bench_traces_t *traces, bench_report_t *report);

#endif
