/* SPDX-License-Identifier: Apache-2.0 */
/* The cases of gantry_bench_internal: what no public call does alone, on the library's own
 * objects. Externally synchronised. */
#ifndef GANTRY_BENCH_INTERNAL_H
#define GANTRY_BENCH_INTERNAL_H

#include "bench_report.h"

/* Allocate and free that the pool serves: one thread by size, several threads on one allocator. */
void bench_pairs(bench_report_t *report, int rounds);
/* How long the allocator takes to refuse when nothing can be freed. */
void bench_ladder(bench_report_t *report, int rounds);

typedef struct bench_traces_t bench_traces_t;

/* All traces through Gantry's allocator and the model of TensorFlow's rules. NULL: host memory
 * ran out. */
bench_traces_t *bench_traces_run(int rounds);
void bench_traces_release(bench_traces_t *traces);
/* Both side by side, two lines per trace. */
void bench_traces_print(const bench_traces_t *traces);
/* One row per figure, for the JSON. */
void bench_traces_report(const bench_traces_t *traces, bench_report_t *report);

#endif
