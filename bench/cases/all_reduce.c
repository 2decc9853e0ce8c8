/* SPDX-License-Identifier: Apache-2.0 */
/* All-reduce of 64 MB over 2 and 4 parts of the CPU, of the first GPU, and over all GPUs, compared
 * with copies of as many bytes between the same devices. No all-reduce moves fewer: each of n
 * devices receives 2 (n - 1) / n of the vector. Sums are checked. */
#include "bench.h"

#include <gantry_train/train.h>

#define BYTES (64 << 20)
#define ELEMENTS ((int64_t)(BYTES / 4))
#define MOST_DEVICES 8

typedef struct subject_t {
    gantry_runtime_t *runtime;
    gantry_strategy_t *strategy;
    gantry_scope_t *scope;
    gantry_function_t *reduce, *copies;
    const gantry_tensor_t *values[MOST_DEVICES];
    size_t count, output_count; /* devices; results of copies */
} subject_t;

/* ---- the two functions ---- */

static void reduce_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    const subject_t *subject = user;
    (void)gantry_strategy_reduce(subject->strategy, scope, GANTRY_REDUCE_SUM, inputs, outputs);
}

/* Every device copies 2 / n of each other's vector. */
static void copies_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    const subject_t *subject = user;
    const int64_t begin = 0, size = ELEMENTS * 2 / (int64_t)subject->count;
    size_t made = 0;
    for (size_t from = 0; from < subject->count; ++from) {
        gantry_scope_t *source =
            gantry_scope_begin_in(scope, gantry_strategy_device(subject->strategy, from));
        const gantry_tensor_t *piece =
            gantry_scope_keep(source, gantry_slice(source, inputs[from], &begin, &size));
        (void)gantry_scope_end(source);
        for (size_t to = 0; to < subject->count; ++to) {
            if (to == from) continue;
            gantry_scope_t *target =
                gantry_scope_begin_in(scope, gantry_strategy_device(subject->strategy, to));
            outputs[made++] = gantry_scope_keep(target, gantry_identity(target, piece));
            (void)gantry_scope_end(target);
        }
    }
}

static bool call(subject_t *subject, gantry_function_t *function, size_t outputs, int calls) {
    const gantry_tensor_t *results[MOST_DEVICES * MOST_DEVICES];
    for (int i = 0; i < calls; ++i) {
        if (gantry_function_call(subject->scope, function, subject->values, subject->count, results,
                                 outputs) != GANTRY_OK ||
            gantry_runtime_synchronize(subject->runtime) != GANTRY_OK)
            return false;
        for (size_t k = 0; k < outputs; ++k) gantry_tensor_drop(subject->scope, results[k]);
    }
    return true;
}

static bool call_reduce(void *argument, int calls) {
    subject_t *subject = argument;
    return call(subject, subject->reduce, subject->count, calls);
}

static bool call_copies(void *argument, int calls) {
    subject_t *subject = argument;
    return call(subject, subject->copies, subject->output_count, calls);
}

/* ---- a subject ---- */

static void make_value(gantry_scope_t *scope, size_t replica, void *user) {
    subject_t *subject = user;
    subject->values[replica] = gantry_scope_keep(
        scope,
        gantry_fill(scope, GANTRY_SHAPE(ELEMENTS), gantry_scalar_f32(scope, (float)replica + 1)));
}

/* 1 + 2 + ... everywhere. */
static bool is_right(subject_t *subject) {
    const gantry_tensor_t *results[MOST_DEVICES];
    const float wanted = (float)(subject->count * (subject->count + 1)) / 2;
    if (gantry_function_call(subject->scope, subject->reduce, subject->values, subject->count,
                             results, subject->count) != GANTRY_OK)
        return false;
    bool right = true;
    for (size_t r = 0; r < subject->count; ++r) {
        float range[2];
        const gantry_tensor_t *least = gantry_min(subject->scope, results[r], NULL),
                              *most = gantry_max(subject->scope, results[r], NULL);
        right &= gantry_tensor_read(least, &range[0], sizeof range[0]) == GANTRY_OK &&
                 gantry_tensor_read(most, &range[1], sizeof range[1]) == GANTRY_OK &&
                 range[0] >= wanted && range[1] <= wanted;
        gantry_tensor_drop(subject->scope, results[r]);
    }
    return right;
}

static bool trace_both(subject_t *subject, const char *name) {
    gantry_input_spec_t inputs[MOST_DEVICES];
    for (size_t r = 0; r < subject->count; ++r)
        inputs[r] = (gantry_input_spec_t){NULL, GANTRY_FLOAT32, GANTRY_SHAPE(ELEMENTS)};
    subject->output_count = subject->count * (subject->count - 1);
    return bench_is_ok(
               gantry_function_trace(subject->runtime, "all_reduce", reduce_body, subject, inputs,
                                     subject->count, subject->count, NULL, &subject->reduce),
               name, "all-reduce") &&
           bench_is_ok(
               gantry_function_trace(subject->runtime, "copies", copies_body, subject, inputs,
                                     subject->count, subject->output_count, NULL, &subject->copies),
               name, "copies");
}

static bool open_subject(subject_t *subject, const char *name, const char *const *devices) {
    subject->strategy = gantry_mirrored_strategy(subject->runtime, devices, subject->count);
    subject->scope = gantry_scope_begin(subject->runtime, NULL);
    if (!subject->strategy || !subject->scope) {
        (void)fprintf(stderr, "%s: %s\n", name, gantry_last_message());
        return false;
    }
    return bench_is_ok(gantry_strategy_run(subject->strategy, subject->scope, make_value, subject),
                       name, "values") &&
           trace_both(subject, name);
}

static void close_subject(subject_t *subject) {
    gantry_function_release(subject->reduce);
    gantry_function_release(subject->copies);
    gantry_strategy_release(subject->strategy);
    if (subject->scope) (void)gantry_scope_end(subject->scope);
}

static void measure_over(bench_t *bench, gantry_runtime_t *runtime, const char *name,
                         const char *const *devices, size_t count) {
    subject_t subject = {.runtime = runtime, .count = count};
    if (open_subject(&subject, name, devices)) {
        bench_contender_t contenders[] = {
            {.name = name, .run = call_reduce, .subject = &subject},
            {.name = "copies", .run = call_copies, .subject = &subject}};
        const bench_measure_t shown = {.subject = "all_reduce",
                                       .work = "64 MB of float32",
                                       .unit = "ms",
                                       .per_second = 1e3,
                                       .reference = &contenders[1],
                                       .least_ratio = 0.7};
        if (!is_right(&subject)) {
            bench->is_wrong = true;
            bench_report_note(&bench->report, "all_reduce over %s: WRONG RESULT", name);
        }
        bench_interleave(contenders, 2, bench->rounds, 2);
        bench_report_contenders(&bench->report, &shown, contenders, 2, 1);
    }
    close_subject(&subject);
}

/* ---- the devices ---- */

static void measure_parts(bench_t *bench, size_t count) {
    static const char *const cpus[] = {"CPU:0", "CPU:1", "CPU:2", "CPU:3"};
    char name[24];
    gantry_runtime_t *runtime = bench_runtime(NULL);
    if (!runtime) return;
    (void)snprintf(name, sizeof name, "%zu x cpu:0", count);
    if (bench_is_ok(gantry_set_logical_cpu_devices(runtime, count), name, "parts"))
        measure_over(bench, runtime, name, cpus, count);
    gantry_runtime_release(runtime);
}

/* Of the first GPU, which is PoCL's processor on a machine without one. */
static void measure_gpu_parts(bench_t *bench, size_t count) {
    static const char *const gpus[] = {"GPU:0", "GPU:1", "GPU:2", "GPU:3"};
    const char *const extra[] = {"GANTRY_OPENCL_CPU=gpu", NULL};
    gantry_logical_device_config_t parts[4] = {{.struct_size = 0}};
    const gantry_physical_device_t *gpu;
    char name[24];
    size_t found = 0;
    gantry_runtime_t *runtime = bench_runtime(extra);
    if (!runtime) return;
    (void)snprintf(name, sizeof name, "%zu x GPU:0", count);
    for (size_t i = 0; i < count; ++i) {
        parts[i].struct_size = sizeof parts[i];
        parts[i].memory_limit_bytes = UINT64_C(800) << 20;
    }
    if (bench_is_ok(gantry_list_physical_devices(runtime, "GPU", 1, &gpu, &found), name, "list") &&
        found > 0 &&
        bench_is_ok(gantry_set_logical_device_configuration(runtime, gpu, parts, count), name,
                    "parts"))
        measure_over(bench, runtime, name, gpus, count);
    gantry_runtime_release(runtime);
}

static void measure_gpus(bench_t *bench) {
    const gantry_logical_device_t *gpus[MOST_DEVICES];
    const char *names[MOST_DEVICES];
    char name[24];
    size_t count = 0;
    if (!bench_is_ok(gantry_list_logical_devices(bench->runtime, "GPU", MOST_DEVICES, gpus, &count),
                     "GPU", "list"))
        return;
    if (count > MOST_DEVICES) count = MOST_DEVICES;
    if (count < 2) return;
    for (size_t i = 0; i < count; ++i) names[i] = gantry_logical_device_full_name(gpus[i]);
    (void)snprintf(name, sizeof name, "%zu GPUs", count);
    measure_over(bench, bench->runtime, name, names, count);
}

void bench_all_reduce(bench_t *bench) {
    measure_parts(bench, 2);
    measure_parts(bench, 4);
    measure_gpu_parts(bench, 2);
    measure_gpu_parts(bench, 4);
    measure_gpus(bench);
}
