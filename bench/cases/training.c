/* SPDX-License-Identifier: Apache-2.0 */
/* How long the text classifier's training step takes to compile, in a fresh process each time: its
 * weights are made, the step is traced, placed and planned, and runs twice. Where programs are
 * built, once with an empty cache and then with a filled one. */
#define _XOPEN_SOURCE 700
#include "bench.h"

#include <ftw.h>
#include <gantry_train/train.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "child.h"

#define MOST_MS 50.0
#define ROUNDS 9
#define QUICK_ROUNDS 2
#define ROWS 32
#define LENGTH 300
#define LABELS 39
#define WORDS 10000
#define MOST_VARIABLES 16

enum { BUILD, TRACE, FIRST, SECOND, PARTS };

/* ---- in the child ---- */

typedef struct training_t {
    gantry_runtime_t *runtime;
    gantry_model_t *model;
    gantry_optimizer_t *optimizer;
    gantry_function_t *step;
    gantry_variable_t *variables[MOST_VARIABLES];
    gantry_source_t sources[MOST_VARIABLES];
    size_t variable_count;
} training_t;

static void step_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    training_t *training = user;
    const gantry_loss_options_t logits = {.struct_size = sizeof logits, .from_logits = true};
    const gantry_tensor_t *gradients[MOST_VARIABLES];
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    const gantry_tensor_t *y = gantry_model_call(training->model, scope, inputs, 1, true);
    outputs[0] = gantry_loss(scope, GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY, inputs[1], y, &logits);
    (void)gantry_tape_gradient(tape, outputs[0], NULL, training->sources, training->variable_count,
                               NULL, gradients);
    gantry_tape_end(tape);
    (void)gantry_optimizer_apply(training->optimizer, scope, training->variables, gradients,
                                 training->variable_count);
}

static gantry_status_t build_training(training_t *t, const char *device, gantry_scope_t *scope) {
    const gantry_model_options_t options = {
        .struct_size = sizeof options, .device = device, .seed = 1};
    t->model = gantry_sequential(t->runtime, &options);
    (void)gantry_model_add(t->model, gantry_embedding(WORDS, 7, NULL, NULL));
    (void)gantry_model_add(t->model, gantry_conv1d_layer(64, 5, GANTRY_RELU, NULL));
    (void)gantry_model_add(t->model, gantry_max_pool1d_layer(2, NULL));
    (void)gantry_model_add(t->model, gantry_conv1d_layer(32, 3, GANTRY_RELU, NULL));
    (void)gantry_model_add(t->model, gantry_max_pool1d_layer(2, NULL));
    (void)gantry_model_add(t->model, gantry_flatten(NULL));
    (void)gantry_model_add(t->model, gantry_dense(LABELS, GANTRY_LINEAR, NULL));
    gantry_status_t status = gantry_model_build(t->model, GANTRY_INT32, GANTRY_SHAPE(LENGTH));
    if (status != GANTRY_OK) return status;
    t->variable_count = gantry_model_variable_count(t->model);
    for (size_t i = 0; i < t->variable_count && i < MOST_VARIABLES; ++i)
        t->variables[i] = t->sources[i].variable = gantry_model_variable(t->model, i, NULL);
    t->optimizer = gantry_nadam(NULL);
    return gantry_optimizer_build(t->optimizer, scope, t->variables, t->variable_count);
}

static gantry_status_t trace_training(training_t *t) {
    const gantry_input_spec_t inputs[] = {{"ids", GANTRY_INT32, GANTRY_SHAPE(ROWS, LENGTH)},
                                          {"labels", GANTRY_INT32, GANTRY_SHAPE(ROWS)}};
    return gantry_function_trace(t->runtime, "step", step_body, t, inputs, 2, 1, NULL, &t->step);
}

/* A step on made-up texts; the loss of untrained weights is near that of equal chances. */
static gantry_status_t call_step(training_t *t, gantry_scope_t *scope, bool *out_is_right) {
    static int32_t ids[ROWS * LENGTH], labels[ROWS];
    const gantry_tensor_t *inputs[2], *loss;
    float value = 0;
    for (int i = 0; i < ROWS * LENGTH; ++i) ids[i] = i * 7919 % WORDS;
    for (int i = 0; i < ROWS; ++i) labels[i] = i % LABELS;
    inputs[0] = gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(ROWS, LENGTH), ids, sizeof ids);
    inputs[1] = gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(ROWS), labels, sizeof labels);
    gantry_status_t status = gantry_function_call(scope, t->step, inputs, 2, &loss, 1);
    if (status == GANTRY_OK) status = gantry_tensor_read(loss, &value, sizeof value);
    if (status == GANTRY_OK) status = gantry_runtime_synchronize(t->runtime);
    *out_is_right = fabs((double)value / log(LABELS) - 1) < 0.05;
    return status;
}

static gantry_status_t time_parts(training_t *t, const char *device, gantry_scope_t *scope,
                                  uint64_t *out_ns, bool *out_is_right) {
    gantry_status_t status = GANTRY_OK;
    for (int part = 0; part < PARTS && status == GANTRY_OK; ++part) {
        const uint64_t start = bench_now_ns();
        status = part == BUILD   ? build_training(t, device, scope)
                 : part == TRACE ? trace_training(t)
                                 : call_step(t, scope, out_is_right);
        out_ns[part] = bench_now_ns() - start;
    }
    return status;
}

int bench_training_child(const char *device, const char *cache) {
    training_t t = {.runtime = NULL};
    uint64_t ns[PARTS] = {0};
    bool is_right = false;
    char name[80];
    (void)snprintf(name, sizeof name, "/%s", device);
    (void)setenv("XDG_CACHE_HOME", cache, 1);
    (void)unsetenv("POCL_CACHE_DIR");
    (void)unsetenv("GANTRY_KERNEL_CACHE");
    gantry_status_t status = gantry_runtime_create(NULL, &t.runtime);
    gantry_scope_t *scope = status == GANTRY_OK ? gantry_scope_begin(t.runtime, name) : NULL;
    if (scope) status = time_parts(&t, name, scope, ns, &is_right);
    const bool is_good = scope && status == GANTRY_OK && is_right;
    if (!is_good) (void)fprintf(stderr, "training on %s: %s\n", device, gantry_last_message());
    for (int part = 0; part < PARTS; ++part) (void)printf("%llu ", (unsigned long long)ns[part]);
    (void)puts("");
    if (scope) (void)gantry_scope_end(scope);
    gantry_function_release(t.step);
    gantry_optimizer_release(t.optimizer);
    gantry_model_release(t.model);
    gantry_runtime_release(t.runtime);
    return fflush(stdout) == 0 && is_good ? 0 : 1;
}

/* ---- in the parent ---- */

static const char *const works[PARTS] = {"the model and its weights", "trace, placing and plan",
                                         "the first step", "the second step"};

static void add_rows(bench_t *bench, const char *on, bool is_cpu, double ms[PARTS][ROUNDS],
                     size_t count) {
    for (int part = 0; part < PARTS && count > 0; ++part) {
        bench_row_t row = {.subject = "training", .unit = "ms", .reached = -1};
        (void)snprintf(row.work, sizeof row.work, "%s", works[part]);
        (void)snprintf(row.on, sizeof row.on, "%s", on);
        row.median = bench_median(ms[part], count); /* sorts */
        row.best = ms[part][0];
        if (part == TRACE && is_cpu) {
            (void)snprintf(row.target, sizeof row.target, "<= %g ms", MOST_MS);
            row.reached = row.median <= MOST_MS;
        }
        bench_report_add(&bench->report, &row);
    }
}

static void measure_rounds(bench_t *bench, const char *device, const char *folder, const char *on,
                           int rounds) {
    double ms[PARTS][ROUNDS];
    size_t count = 0;
    for (int i = 0; i < rounds; ++i) {
        const char *const arguments[] = {"--training-child", device, folder, NULL};
        double ns[PARTS];
        if (!bench_child_run(bench->program, arguments, ns, PARTS)) {
            bench_report_note(&bench->report, "training_compile, %s: the child failed", on);
            bench->is_wrong = true;
            break;
        }
        for (int part = 0; part < PARTS; ++part) ms[part][count] = ns[part] * 1e-6;
        ++count;
    }
    add_rows(bench, on, strncmp(device, "cpu:", 4) == 0, ms, count);
}

static int remove_one(const char *path, const struct stat *what, int kind, struct FTW *place) {
    (void)what;
    (void)kind;
    (void)place;
    return remove(path);
}

static void measure_on(bench_t *bench, const bench_device_t *device, const char *folder) {
    const int rounds = bench->quick ? QUICK_ROUNDS : ROUNDS;
    const bool is_cpu = strncmp(device->alias, "cpu:", 4) == 0;
    char on[sizeof((bench_row_t *)0)->on];
    (void)snprintf(on, sizeof on, "%.11s, empty cache", device->alias);
    if (!is_cpu) measure_rounds(bench, device->alias, folder, on, 1);
    (void)snprintf(on, sizeof on, "%.23s", device->alias);
    measure_rounds(bench, device->alias, folder, on, rounds);
}

void bench_training(bench_t *bench) {
    for (size_t i = 0; i < bench->device_count; ++i) {
        char folder[] = "/tmp/gantry_bench_XXXXXX";
        if (!mkdtemp(folder)) {
            bench_report_note(&bench->report,
                              "training_compile: left out, no folder can be made in /tmp");
            return;
        }
        measure_on(bench, &bench->devices[i], folder);
        if (nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) != 0)
            (void)fprintf(stderr, "%s is left behind\n", folder);
    }
}
