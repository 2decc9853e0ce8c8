/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of the option batch_invariant: products of few and of many rows, and a convolution, with
 * the option and without. Without it is the reference. */
#include "bench.h"

typedef struct subject_t {
    gantry_scope_t *scope;
    const gantry_tensor_t *x, *weights;
} subject_t;

typedef struct work_t {
    const char *name;
    gantry_shape_t x, weights;
    double operations;
} work_t;

static bool run(void *argument, int calls) {
    subject_t *subject = argument;
    for (int i = 0; i < calls; ++i) {
        const bool is_product = gantry_tensor_shape(subject->x)->rank == 2;
        const gantry_tensor_t *y =
            is_product ? gantry_matmul(subject->scope, subject->x, subject->weights, NULL)
                       : gantry_conv2d(subject->scope, subject->x, subject->weights, NULL);
        if (!y || gantry_tensor_wait(y) != GANTRY_OK) return false;
        gantry_tensor_drop(subject->scope, y);
    }
    return true;
}

static bool open_subject(const bench_t *bench, const char *device, const work_t *work,
                         gantry_choice_t choice, subject_t *subject) {
    subject->scope = bench_scope(bench, device);
    if (!subject->scope) return false;
    subject->x = bench_random(subject->scope, work->x, 1);
    subject->weights = bench_random(subject->scope, work->weights, 2);
    return subject->x && subject->weights &&
           gantry_scope_set_batch_invariant(subject->scope, choice) == GANTRY_OK;
}

static void measure_on(bench_t *bench, const char *device, const work_t *work) {
    subject_t subjects[2] = {{.scope = NULL}, {.scope = NULL}};
    char name[24];
    (void)snprintf(name, sizeof name, "%.11s, invariant", device);
    bench_contender_t contenders[] = {{.name = name, .run = run, .subject = &subjects[0]},
                                      {.name = device, .run = run, .subject = &subjects[1]}};
    const bench_measure_t shown = {.subject = "batch_invariant",
                                   .work = work->name,
                                   .unit = "GFLOP/s",
                                   .amount = work->operations * 1e-9,
                                   .reference = &contenders[1]};
    if (open_subject(bench, device, work, GANTRY_ON, &subjects[0]) &&
        open_subject(bench, device, work, GANTRY_OFF, &subjects[1])) {
        bench_interleave(contenders, 2, bench->rounds, bench_calls_for(contenders, 2, 20, 2000));
        bench_report_contenders(&bench->report, &shown, contenders, 2, 1);
    }
    for (int i = 0; i < 2; ++i)
        if (subjects[i].scope) (void)gantry_scope_end(subjects[i].scope);
}

void bench_batch_invariant(bench_t *bench) {
    static const work_t works[] = {
        {"[1,1024] x [1024,1024]", {2, {1, 1024}}, {2, {1024, 1024}}, 2.0 * 1 * 1024 * 1024},
        {"[8,1024] x [1024,1024]", {2, {8, 1024}}, {2, {1024, 1024}}, 2.0 * 8 * 1024 * 1024},
        {"[64,1024] x [1024,1024]", {2, {64, 1024}}, {2, {1024, 1024}}, 2.0 * 64 * 1024 * 1024},
        {"[1024,1024] x [1024,1024]",
         {2, {1024, 1024}},
         {2, {1024, 1024}},
         2.0 * 1024 * 1024 * 1024},
        {"conv [32,14,14,64] 3x3 to 64",
         {4, {32, 14, 14, 64}},
         {4, {3, 3, 64, 64}},
         2.0 * 32 * 14 * 14 * 64 * 9 * 64},
    };
    for (size_t i = 0; i < bench->device_count; ++i) {
        for (size_t w = 0; w < sizeof works / sizeof works[0]; ++w)
            measure_on(bench, bench->devices[i].alias, &works[w]);
    }
}
