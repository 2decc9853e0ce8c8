/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions: the sum of 16 Mi float32, which reads 4 bytes per element. */
#include "bench.h"

#include <string.h>

#define ELEMENTS ((int64_t)16 << 20)

typedef struct subject_t {
    gantry_scope_t *scope;
    const gantry_tensor_t *a;
} subject_t;

static bool run(void *argument, int calls) {
    subject_t *subject = argument;
    for (int i = 0; i < calls; ++i) {
        const gantry_tensor_t *sum = gantry_sum(subject->scope, subject->a, NULL);
        if (!sum || gantry_tensor_wait(sum) != GANTRY_OK) return false;
        gantry_tensor_drop(subject->scope, sum);
    }
    return true;
}

void bench_reduce(bench_t *bench) {
    subject_t subjects[BENCH_MAX_DEVICES];
    bench_contender_t contenders[BENCH_MAX_DEVICES] = {0};
    size_t count = 0;
    for (size_t i = 0; i < bench->device_count; ++i) {
        subject_t *subject = &subjects[count];
        subject->scope = bench_scope(bench, bench->devices[i].alias);
        if (!subject->scope) continue;
        subject->a = bench_random(subject->scope, GANTRY_SHAPE(ELEMENTS), 3);
        contenders[count++] =
            (bench_contender_t){.name = bench->devices[i].alias, .run = run, .subject = subject};
    }
    bench_measure_t shown = {"reduce", "sum, 16 Mi float32, 4 B each",
                             "GB/s",   4 * (double)ELEMENTS * 1e-9,
                             0,        NULL,
                             0,        0,
                             false};
    bench_interleave(contenders, count, bench->rounds * 2, 4);
    bench_report_contenders(&bench->report, &shown, contenders, count, count);
    for (size_t i = 0; i < count; ++i) (void)gantry_scope_end(subjects[i].scope);
}
