/* SPDX-License-Identifier: Apache-2.0 */
/* Saved functions: a function loaded from its file, against one traced from its body, whose weights
 * are there. Loading also makes the weights and reads their bytes; the file is in the system's
 * cache. */
#define _XOPEN_SOURCE 700

#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST_WEIGHTS 50
#define WEIGHT_FLOATS 4096
#define LEAST_SPEED 3.0 /* loading, relative to tracing */

typedef struct saved_subject_t {
    gantry_runtime_t *runtime;
    gantry_scope_t *scope;
    gantry_variable_t *weights[MOST_WEIGHTS];
    int nodes, weight_count;
    char path[32];
} saved_subject_t;

/* Adds a weight or the input to the sum of the nodes before. */
static void saved_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user) {
    const saved_subject_t *subject = user;
    outputs[0] = inputs[0];
    for (int i = 0; i < subject->nodes; ++i) {
        const gantry_tensor_t *term = inputs[0];
        if (i < subject->weight_count) term = gantry_variable_read(scope, subject->weights[i]);
        outputs[0] = gantry_add(scope, outputs[0], term);
    }
}

static gantry_status_t trace(saved_subject_t *subject, gantry_function_t **out_function) {
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(WEIGHT_FLOATS)};
    return gantry_function_trace(subject->runtime, "sums", saved_body, subject, &input, 1, 1, NULL,
                                 out_function);
}

static bool trace_often(void *argument, int calls) {
    for (int i = 0; i < calls; ++i) {
        gantry_function_t *function;
        if (trace(argument, &function) != GANTRY_OK) return false;
        gantry_function_release(function);
    }
    return true;
}

static bool load_often(void *argument, int calls) {
    const saved_subject_t *subject = argument;
    for (int i = 0; i < calls; ++i) {
        gantry_function_t *function;
        if (gantry_function_load(subject->runtime, subject->path, NULL, &function) != GANTRY_OK)
            return false;
        gantry_function_release(function);
    }
    return true;
}

static bool make_weights(saved_subject_t *subject) {
    for (int i = 0; i < subject->weight_count; ++i) {
        const gantry_tensor_t *value =
            bench_random(subject->scope, GANTRY_SHAPE(WEIGHT_FLOATS), i + 1);
        if (!value) return false;
        subject->weights[i] = gantry_variable_create(subject->scope, value, NULL);
        if (!subject->weights[i]) return false;
    }
    return true;
}

/* Makes an empty file, under a name that no other process has. */
static bool make_file(saved_subject_t *subject) {
    (void)snprintf(subject->path, sizeof subject->path, "/tmp/gantry_bench_XXXXXX");
    const int file = mkstemp(subject->path);
    if (file >= 0) return close(file) == 0;
    subject->path[0] = '\0';
    (void)fprintf(stderr, "saved: no file can be made in /tmp\n");
    return false;
}

static bool save(saved_subject_t *subject) {
    gantry_function_t *function;
    if (!bench_is_ok(trace(subject, &function), "cpu:0", "trace")) return false;
    const bool is_saved = bench_is_ok(gantry_function_save(function, subject->path, NULL), "cpu:0",
                                      "gantry_function_save");
    gantry_function_release(function);
    return is_saved;
}

static void measure_load(bench_t *bench, int nodes, int weight_count) {
    saved_subject_t subject = {.runtime = bench->runtime,
                               .scope = bench_scope(bench, "cpu:0"),
                               .nodes = nodes,
                               .weight_count = weight_count};
    char work[64];
    (void)snprintf(work, sizeof work, "%d nodes, %d weights of 16 KiB", nodes, weight_count);
    bench_contender_t contenders[] = {{.name = "cpu:0", .run = load_often, .subject = &subject},
                                      {.name = "trace", .run = trace_often, .subject = &subject}};
    const bench_measure_t shown = {.subject = "saved",
                                   .work = work,
                                   .unit = "us",
                                   .per_second = 1e6,
                                   .reference = &contenders[1],
                                   .least_ratio = LEAST_SPEED};
    if (subject.scope && make_weights(&subject) && make_file(&subject) && save(&subject)) {
        bench_interleave(contenders, 2, bench->rounds, 50);
        bench_report_contenders(&bench->report, &shown, contenders, 2, 1);
    }
    if (subject.path[0] != '\0') (void)unlink(subject.path);
    for (int i = 0; i < weight_count; ++i) gantry_variable_release(subject.weights[i]);
    (void)gantry_scope_end(subject.scope);
}

void bench_saved(bench_t *bench) {
    measure_load(bench, 240, 0);
    measure_load(bench, 960, 1);
    measure_load(bench, 960, 50);
}
