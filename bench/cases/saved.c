/* SPDX-License-Identifier: Apache-2.0 */
/* Saved functions: a function loaded from its file, its weights read or mapped, against one traced
 * from its body, whose weights are there, and against one whose weights are read from the file
 * before, without a header, which is less than what a program without saved functions does. The
 * file is in the system's cache. */
#define _XOPEN_SOURCE 700

#include "bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void release_weights(saved_subject_t *subject) {
    for (int i = 0; i < subject->weight_count; ++i) gantry_variable_release(subject->weights[i]);
    memset(subject->weights, 0, sizeof subject->weights);
}

/* Makes variables of as many bytes of the file as the weights have. */
static bool read_weights(saved_subject_t *subject) {
    const int file = open(subject->path, O_RDONLY);
    bool is_read = file >= 0;
    for (int i = 0; is_read && i < subject->weight_count; ++i) {
        const gantry_tensor_t *value = gantry_load_elements(
            subject->scope, file, subject->path, (int64_t)sizeof(float) * WEIGHT_FLOATS * i,
            GANTRY_FLOAT32, GANTRY_SHAPE(WEIGHT_FLOATS));
        subject->weights[i] = gantry_variable_create(subject->scope, value, NULL);
        is_read = subject->weights[i] != NULL;
    }
    return file >= 0 && close(file) == 0 && is_read;
}

static bool trace_loaded_often(void *argument, int calls) {
    const saved_subject_t *subject = argument;
    for (int i = 0; i < calls; ++i) {
        saved_subject_t own = *subject;
        gantry_function_t *function = NULL;
        memset(own.weights, 0, sizeof own.weights);
        own.scope = gantry_scope_begin_in(subject->scope, NULL);
        const bool is_traced =
            own.scope && read_weights(&own) && trace(&own, &function) == GANTRY_OK;
        gantry_function_release(function);
        release_weights(&own);
        if (gantry_scope_end(own.scope) != GANTRY_OK || !is_traced) return false;
    }
    return true;
}

static bool load_with(const saved_subject_t *subject, bool maps, int calls) {
    const gantry_function_load_options_t options = {.struct_size = sizeof options, .maps = maps};
    for (int i = 0; i < calls; ++i) {
        gantry_function_t *function;
        if (gantry_function_load(subject->runtime, subject->path, &options, &function) != GANTRY_OK)
            return false;
        gantry_function_release(function);
    }
    return true;
}

static bool load_often(void *argument, int calls) { return load_with(argument, false, calls); }

static bool map_often(void *argument, int calls) { return load_with(argument, true, calls); }

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
    bench_contender_t contenders[] = {
        {.name = "cpu:0", .run = load_often, .subject = &subject},
        {.name = "trace", .run = trace_often, .subject = &subject},
        {.name = "cpu:0, mapped", .run = map_often, .subject = &subject},
        {.name = "read, trace", .run = trace_loaded_often, .subject = &subject}};
    const size_t count = weight_count > 0 ? 4 : 2;
    const bench_measure_t shown = {.subject = "saved",
                                   .work = work,
                                   .unit = "us",
                                   .per_second = 1e6,
                                   .reference = &contenders[1],
                                   .least_ratio = LEAST_SPEED};
    if (subject.scope && make_weights(&subject) && make_file(&subject) && save(&subject)) {
        bench_interleave(contenders, count, bench->rounds, 50);
        bench_report_contenders(&bench->report, &shown, contenders, count, 1);
    }
    if (subject.path[0] != '\0') (void)unlink(subject.path);
    release_weights(&subject);
    (void)gantry_scope_end(subject.scope);
}

void bench_saved(bench_t *bench) {
    measure_load(bench, 240, 0);
    measure_load(bench, 960, 1);
    measure_load(bench, 960, 50);
}
