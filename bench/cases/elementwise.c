/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise ops on 16 Mi float32. Add counts 12 bytes per element (two read, one written); the
 * others count 8. Add is compared with a plain C loop on all cores, which shows the bandwidth of
 * the machine. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

#define ELEMENTS ((int64_t)16 << 20)
#define ADD_LEAST_RATIO 0.8
#define MOST_THREADS 64

/* ---- the plain loop ---- */

typedef struct loop_t {
    float *a, *b, *c;
    int threads;
} loop_t;

typedef struct part_t {
    const loop_t *loop;
    size_t begin, end;
} part_t;

static void *add_part(void *argument) {
    const part_t *part = argument;
    const float *restrict a = part->loop->a, *restrict b = part->loop->b;
    float *restrict c = part->loop->c;
    for (size_t i = part->begin; i < part->end; ++i) c[i] = a[i] + b[i];
    return NULL;
}

static bool plain_add(void *argument, int calls) {
    const loop_t *loop = argument;
    pthread_t threads[MOST_THREADS];
    part_t parts[MOST_THREADS];
    size_t count = (size_t)loop->threads;
    for (int call = 0; call < calls; ++call) {
        for (size_t t = 0; t < count; ++t) {
            parts[t] =
                (part_t){loop, (size_t)ELEMENTS * t / count, (size_t)ELEMENTS * (t + 1) / count};
            if (t > 0 && pthread_create(&threads[t], NULL, add_part, &parts[t]) != 0) return false;
        }
        (void)add_part(&parts[0]);
        for (size_t t = 1; t < count; ++t) (void)pthread_join(threads[t], NULL);
    }
    return true;
}

static float *filled(float value) {
    float *values = aligned_alloc((size_t)2 << 20, (size_t)ELEMENTS * sizeof *values);
    for (int64_t i = 0; values && i < ELEMENTS; ++i) values[i] = value + (float)(i & 1023);
    return values;
}

static bool open_loop(loop_t *loop) {
    int cores = bench_machine_cores();
    *loop = (loop_t){filled(1), filled(2), filled(0), cores < MOST_THREADS ? cores : MOST_THREADS};
    return loop->a && loop->b && loop->c;
}

static void close_loop(loop_t *loop) {
    free(loop->a);
    free(loop->b);
    free(loop->c);
}

/* ---- Gantry's ---- */

typedef enum work_t { WORK_ADD, WORK_TANH, WORK_EXP, WORK_COUNT } work_t;

static const struct {
    const char *text;
    double bytes;
} works[WORK_COUNT] = {{"a + b, 16 Mi float32, 12 B each", 12},
                       {"tanh(a), 16 Mi float32, 8 B each", 8},
                       {"exp(a), 16 Mi float32, 8 B each", 8}};

typedef struct subject_t {
    gantry_scope_t *scope;
    const gantry_tensor_t *a, *b;
    work_t work;
} subject_t;

static bool run(void *argument, int calls) {
    subject_t *subject = argument;
    for (int i = 0; i < calls; ++i) {
        const gantry_tensor_t *c =
            subject->work == WORK_ADD    ? gantry_add(subject->scope, subject->a, subject->b)
            : subject->work == WORK_TANH ? gantry_tanh(subject->scope, subject->a)
                                         : gantry_exp(subject->scope, subject->a);
        if (!c || gantry_tensor_wait(c) != GANTRY_OK) return false;
        gantry_tensor_drop(subject->scope, c);
    }
    return true;
}

static void measure(bench_t *bench, subject_t *subjects, loop_t *loop, work_t work) {
    bench_contender_t contenders[BENCH_MAX_DEVICES + 1] = {0};
    size_t count = bench->device_count;
    for (size_t i = 0; i < count; ++i) {
        subjects[i].work = work;
        contenders[i] = (bench_contender_t){
            .name = bench->devices[i].alias, .run = run, .subject = &subjects[i]};
    }
    bench_measure_t shown = {"elementwise",
                             works[work].text,
                             "GB/s",
                             works[work].bytes * (double)ELEMENTS * 1e-9,
                             0,
                             NULL,
                             0,
                             0,
                             false};
    if (work == WORK_ADD) {
        contenders[count] =
            (bench_contender_t){.name = "plain C loop", .run = plain_add, .subject = loop};
        shown.reference = &contenders[count++];
        shown.least_ratio = ADD_LEAST_RATIO;
    }
    bench_interleave(contenders, count, bench->rounds * 2, 2);
    bench_report_contenders(&bench->report, &shown, contenders, count, bench->device_count);
}

void bench_elementwise(bench_t *bench) {
    subject_t subjects[BENCH_MAX_DEVICES] = {0};
    loop_t loop;
    bool ready = open_loop(&loop);
    for (size_t i = 0; i < bench->device_count; ++i) {
        subject_t *subject = &subjects[i];
        subject->scope = bench_scope(bench, bench->devices[i].alias);
        if (subject->scope) subject->a = bench_random(subject->scope, GANTRY_SHAPE(ELEMENTS), 1);
        if (subject->scope) subject->b = bench_random(subject->scope, GANTRY_SHAPE(ELEMENTS), 2);
        ready &= subject->scope && subject->a && subject->b;
    }
    for (work_t work = WORK_ADD; ready && work < WORK_COUNT; ++work)
        measure(bench, subjects, &loop, work);
    for (size_t i = 0; i < bench->device_count; ++i) {
        if (subjects[i].scope) (void)gantry_scope_end(subjects[i].scope);
    }
    close_loop(&loop);
}
