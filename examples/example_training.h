/* SPDX-License-Identifier: Apache-2.0 */
/* The examples that train share this: replicas on GPUs or on virtual devices, the lines of `fit`
 * and a watch of its epochs, and for steps of their own a line of progress, and a comparison of a
 * step that runs op by op with the same step as a function. A program that includes it must define
 * _POSIX_C_SOURCE before. Threads: externally synchronised. */
#ifndef GANTRY_EXAMPLES_EXAMPLE_TRAINING_H
#define GANTRY_EXAMPLES_EXAMPLE_TRAINING_H

#include <gantry_train/train.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "example.h"

#define EXAMPLE_MOST_REPLICAS 64
#define EXAMPLE_PART_BYTES (UINT64_C(512) << 20) /* of a GPU that replicas share */

/* Returns the seconds of a clock that is never set. */
static inline double example_now(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static inline gantry_runtime_t *example_runtime(void) {
    const gantry_runtime_options_t settings = {
        .struct_size = sizeof settings, .log = example_log, .log_level = GANTRY_LEVEL_WARNING};
    gantry_runtime_t *runtime;
    example_check(gantry_runtime_create(&settings, &runtime), "gantry_runtime_create");
    return runtime;
}

/* Reads a tensor of a scope, and ends the scope. */
static inline void example_read(gantry_scope_t *scope, const gantry_tensor_t *tensor, void *out,
                                size_t bytes) {
    if (tensor) example_check(gantry_tensor_read(tensor, out, bytes), "reading a result");
    example_check(gantry_scope_end(scope), "computing a result");
}

/* ---- replicas ---- */

/* Makes devices of a type: the first GPUs, or parts of the first one; without a GPU, or if `device`
 * (may be NULL) names a CPU, virtual CPUs. Returns the type. */
static inline const char *example_make_devices(gantry_runtime_t *runtime, const char *device,
                                               size_t replicas) {
    const gantry_physical_device_t *gpu;
    gantry_logical_device_config_t parts[EXAMPLE_MOST_REPLICAS] = {{0}};
    size_t gpus = 0;
    example_check(gantry_list_physical_devices(runtime, "GPU", 1, &gpu, &gpus), "the GPUs");
    if (gpus == 0 || (device && strstr(device, "CPU"))) {
        example_check(gantry_set_logical_cpu_devices(runtime, replicas), "the virtual CPUs");
        return "CPU";
    }
    for (size_t i = 0; i < replicas; ++i) parts[i].memory_limit_bytes = EXAMPLE_PART_BYTES;
    if (gpus < replicas)
        example_check(gantry_set_logical_device_configuration(runtime, gpu, parts, replicas),
                      "the virtual GPUs");
    return "GPU";
}

/* Mirrors over that many devices, in this process and in others (may be NULL). 0 replicas: one
 * device without a strategy; in several processes each has a device, `device` or its own. */
static inline gantry_strategy_t *example_mirror_in(gantry_communicator_t *processes,
                                                   gantry_runtime_t *runtime, const char *device,
                                                   size_t replicas) {
    char names[EXAMPLE_MOST_REPLICAS][32];
    const char *devices[EXAMPLE_MOST_REPLICAS] = {device};
    if (replicas == 0 && !processes) return NULL;
    const char *type = replicas ? example_make_devices(runtime, device, replicas) : NULL;
    for (size_t i = 0; i < replicas; ++i) {
        (void)snprintf(names[i], sizeof names[i], "%s:%zu", type, i);
        devices[i] = names[i];
    }
    const char *const *list = devices[0] ? devices : NULL;
    const size_t count = replicas ? replicas : 1;
    gantry_strategy_t *strategy =
        processes ? gantry_multi_worker_strategy(runtime, list, count, processes)
                  : gantry_mirrored_strategy(runtime, list, count);
    if (!strategy) example_check(GANTRY_INVALID_ARGUMENT, "making the strategy");
    for (size_t i = 0; i < gantry_strategy_replica_count(strategy); ++i)
        (void)printf("replica %zu: %s\n", i, gantry_strategy_device(strategy, i));
    return strategy;
}

static inline gantry_strategy_t *example_mirror(gantry_runtime_t *runtime, const char *device,
                                                size_t replicas) {
    return example_mirror_in(NULL, runtime, device, replicas);
}

/* ---- fit ---- */

static inline void example_write(const char *text, void *user) {
    (void)user;
    (void)fputs(text, stdout);
    (void)fflush(stdout);
}

/* Times the steps of each epoch, without validation. The first epoch also plans the step. */
typedef struct example_watch_t {
    gantry_runtime_t *runtime;
    int64_t steps; /* of an epoch */
    double begin, best;
    bool is_whole; /* the epoch's steps are all of this run */
} example_watch_t;

static inline gantry_status_t example_start_watch(gantry_model_t *model, int64_t epoch,
                                                  void *user) {
    example_watch_t *watch = user;
    (void)model, (void)epoch;
    watch->begin = example_now();
    watch->is_whole = false;
    return GANTRY_OK;
}

static inline gantry_status_t example_read_watch(gantry_model_t *model, int64_t step, bool *stops,
                                                 void *user) {
    example_watch_t *watch = user;
    (void)model, (void)stops;
    if (step == 0) watch->is_whole = true;
    if (step + 1 < watch->steps || !watch->is_whole) return GANTRY_OK;
    const gantry_status_t status = gantry_runtime_synchronize(watch->runtime);
    const double seconds = example_now() - watch->begin;
    if (watch->best == 0 || seconds < watch->best) watch->best = seconds;
    return status;
}

/* The callback of a watch. */
static inline gantry_callback_t example_watch(example_watch_t *watch) {
    return (gantry_callback_t){.struct_size = sizeof(gantry_callback_t),
                               .user = watch,
                               .epoch_begin = example_start_watch,
                               .step_end = example_read_watch};
}

/* ---- files with a model's weights and texts that belong to them ---- */

static inline void example_save_weights(const gantry_model_t *model, gantry_runtime_t *runtime,
                                        const char *path, const gantry_checkpoint_text_t *texts,
                                        size_t text_count) {
    const size_t count = gantry_model_variable_count(model);
    gantry_checkpoint_entry_t *entries = calloc(count, sizeof *entries);
    if (!entries) example_check(GANTRY_RESOURCE_EXHAUSTED, "host memory");
    for (size_t i = 0; i < count; ++i) {
        entries[i].variable = gantry_model_variable(model, i, NULL);
        entries[i].name = gantry_variable_name(entries[i].variable);
    }
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    (void)gantry_checkpoint_save(scope, path, entries, count, texts, text_count);
    example_check(gantry_scope_end(scope), "saving the model");
    free(entries);
}

/* Sets the weights of a model that is built, on all devices. */
static inline void example_load_weights(gantry_model_t *model, const gantry_checkpoint_t *file) {
    for (size_t i = 0; i < gantry_model_variable_count(model); ++i) {
        const gantry_variable_t *variable = gantry_model_variable(model, i, NULL);
        const gantry_shape_t *shape = gantry_variable_shape(variable);
        const size_t bytes = (size_t)gantry_shape_elements(shape) * sizeof(float);
        float *numbers = malloc(bytes);
        if (!numbers) example_check(GANTRY_RESOURCE_EXHAUSTED, "host memory");
        example_check(gantry_checkpoint_read(file, gantry_variable_name(variable), GANTRY_FLOAT32,
                                             shape, numbers, bytes),
                      "loading the model");
        example_check(gantry_model_set_variable(model, i, numbers, bytes),
                      "gantry_model_set_variable");
        free(numbers);
    }
}

/* ---- steps of a program's own ---- */

/* Prints how far an epoch is: again and again on a terminal, else at its end. */
static inline void example_show_progress(int64_t epoch, int64_t epochs, size_t done, size_t total,
                                         double loss, double seconds) {
    enum { WIDTH = 30 };
    static const char full[] = "==============================";
    static const char rest[] = "..............................";
    const bool is_terminal = isatty(STDOUT_FILENO) == 1;
    const int filled = (int)(done * WIDTH / total);
    if (!is_terminal && done < total) return;
    (void)printf("%sEpoch %lld/%lld [%.*s%.*s] %zu words, %.0f words/s, loss %.4f%s",
                 is_terminal ? "\r" : "", (long long)epoch, (long long)epochs, filled, full,
                 WIDTH - filled, rest, done, (double)done / seconds, loss,
                 done == total ? "\n" : "");
    (void)fflush(stdout);
}

/* Begins a profile: "on" or "wait"; NULL: none. */
static inline void example_start_profile(gantry_runtime_t *runtime, const char *mode) {
    if (!mode) return;
    example_check(gantry_profile_start(
                      runtime, strcmp(mode, "wait") == 0 ? GANTRY_PROFILE_WAIT : GANTRY_PROFILE_ON),
                  "starting the profile");
}

static inline void example_end_profile(gantry_runtime_t *runtime, const char *mode) {
    if (!mode) return;
    example_check(gantry_profile_stop(runtime), "stopping the profile");
    example_print_profile(runtime);
}

/* The file of a variable: PREFIX.NAME.npy. */
static inline void example_name_npy(const char *prefix, const gantry_variable_t *variable,
                                    char path[1024]) {
    const int length = snprintf(path, 1024, "%s.%s.npy", prefix, gantry_variable_name(variable));
    if (length < 1024) return;
    (void)fprintf(stderr, "the path of the model is too long: %s\n", prefix);
    exit(1);
}

static inline void example_save_npy(gantry_runtime_t *runtime, const char *prefix,
                                    gantry_variable_t *const *variables, size_t count) {
    char path[1024];
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    for (size_t i = 0; i < count; ++i) {
        example_name_npy(prefix, variables[i], path);
        if (gantry_save_npy(scope, gantry_variable_read(scope, variables[i]), path) == GANTRY_OK)
            (void)printf("%s%s", i ? " and " : "saved ", path);
    }
    example_check(gantry_scope_end(scope), "saving the model");
    (void)printf("\n");
}

static inline void example_load_npy(gantry_runtime_t *runtime, const char *prefix,
                                    gantry_variable_t *const *variables, size_t count) {
    char path[1024];
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    for (size_t i = 0; i < count; ++i) {
        example_name_npy(prefix, variables[i], path);
        (void)gantry_variable_assign(scope, variables[i], gantry_load_npy(scope, path));
    }
    example_check(gantry_scope_end(scope), "loading the model");
}

/* A step that runs op by op, with the first user, or as a traced function of the second user. */
typedef struct example_ways_t {
    gantry_function_body_fn body;
    void *user;
    gantry_function_t *function;
    const gantry_tensor_t *const *inputs;
    size_t input_count;
    gantry_variable_t *const *variables[2]; /* of each way */
    size_t variable_count;
} example_ways_t;

enum { EXAMPLE_COMPARED_STEPS = 20, EXAMPLE_TIMED_STEPS = 50, EXAMPLE_TIMED_ROUNDS = 10 };

static inline bool example_are_equal(gantry_scope_t *scope, gantry_variable_t *a,
                                     gantry_variable_t *b) {
    const gantry_tensor_t *x = gantry_variable_read(scope, a), *y = gantry_variable_read(scope, b);
    const size_t bytes = gantry_tensor_bytes(x);
    char *left = malloc(bytes), *right = malloc(bytes);
    if (!left || !right) example_check(GANTRY_RESOURCE_EXHAUSTED, "host memory");
    example_check(gantry_tensor_read(x, left, bytes), "reading a variable");
    example_check(gantry_tensor_read(y, right, bytes), "reading a variable");
    const bool are_equal = memcmp(left, right, bytes) == 0;
    free(left);
    free(right);
    return are_equal;
}

static inline void example_step(gantry_scope_t *scope, const example_ways_t *ways, int way) {
    if (way == 0)
        ways->body(scope, ways->inputs, NULL, ways->user);
    else
        (void)gantry_function_call(scope, ways->function, ways->inputs, ways->input_count, NULL, 0);
}

/* Measures the seconds for one step, the fastest of several rounds. The two ways must take turns,
 * because other programs then disturb both alike. */
static inline void example_time_ways(gantry_scope_t *scope, const example_ways_t *ways,
                                     double best[2]) {
    gantry_runtime_t *runtime = gantry_scope_runtime(scope);
    best[0] = best[1] = 1e9;
    for (int i = 0; i < 2 * EXAMPLE_TIMED_ROUNDS; ++i) {
        example_check(gantry_runtime_synchronize(runtime), "waiting");
        const double start = example_now();
        for (int k = 0; k < EXAMPLE_TIMED_STEPS; ++k) {
            gantry_scope_t *inner = gantry_scope_begin_in(scope, NULL);
            example_step(inner, ways, i % 2);
            example_check(gantry_scope_end(inner), "a step");
        }
        example_check(gantry_runtime_synchronize(runtime), "waiting");
        const double seconds = (example_now() - start) / EXAMPLE_TIMED_STEPS;
        if (seconds < best[i % 2]) best[i % 2] = seconds;
    }
}

/* Runs the step both ways; returns whether all variables agree in all bits after each step. */
static inline bool example_compare_ways(gantry_scope_t *scope, const example_ways_t *ways,
                                        size_t count, const char *samples) {
    bool agrees = true;
    double best[2];
    for (int i = 0; i < EXAMPLE_COMPARED_STEPS && agrees; ++i) {
        gantry_scope_t *inner = gantry_scope_begin_in(scope, NULL);
        for (int way = 0; way < 2; ++way) example_step(inner, ways, way);
        for (size_t k = 0; k < ways->variable_count && agrees; ++k)
            agrees = example_are_equal(inner, ways->variables[0][k], ways->variables[1][k]);
        example_check(gantry_scope_end(inner), "a step");
    }
    example_time_ways(scope, ways, best);
    (void)printf("a step of %zu %s: %.0f us op by op, %.0f us as a function: %.2f times as fast\n",
                 count, samples, best[0] * 1e6, best[1] * 1e6, best[0] / best[1]);
    (void)printf("losses and weights after each of %d steps: %s\n", EXAMPLE_COMPARED_STEPS,
                 agrees ? "equal bit for bit" : "they differ");
    return agrees;
}

#endif
