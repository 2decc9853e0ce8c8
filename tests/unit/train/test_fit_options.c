/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Trainings with metrics that keep their own state, with regularizers and with constraints
 * have Keras's losses, metrics and weights, in fit and evaluate.
 * Promise: Precision, recall, F scores, the PR curve and RMSE in fit and evaluate are Keras's, with
 * weights and with a smaller last batch. */
#define _XOPEN_SOURCE 700
#include <string.h>

#include <math.h>

#include "test.h"
#include "train_case.h"

#include <gantry_train/train.h>

enum { ROWS = 20, FEATURES = 3, LABELS = 3, BATCH = 6, EPOCHS = 3, MOST = 128 };

/* Where a case runs, and what it has given. */
typedef struct world_t {
    gantry_runtime_t *runtime;
    gantry_model_options_t options;
    double given[MOST];
    size_t given_count;
} world_t;

static double x[ROWS * FEATURES], weights[ROWS];
static int32_t y[ROWS * LABELS];

static void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

static void give(world_t *w, double value) {
    assert_true(w->given_count < MOST);
    w->given[w->given_count++] = value;
}

/* ---- data and models: those of make_option_cases.py ---- */

static void make_data(void) {
    for (int i = 0; i < ROWS * FEATURES; ++i) x[i] = (double)(i * 37 % 64 - 32) / 32;
    for (int i = 0; i < ROWS * LABELS; ++i) y[i] = i * 29 % 47 % 2;
    for (int i = 0; i < ROWS; ++i) weights[i] = (double)(i % 4 + 1) / 2;
}

static gantry_dataset_t *make_batches(void) {
    const gantry_array_t arrays[] = {{GANTRY_FLOAT64, GANTRY_SHAPE(ROWS, FEATURES), x},
                                     {GANTRY_INT32, GANTRY_SHAPE(ROWS, LABELS), y},
                                     {GANTRY_FLOAT64, GANTRY_SHAPE(ROWS), weights}};
    return gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 3, false), BATCH, false);
}

static gantry_model_t *make_model(const world_t *w, const gantry_kernel_options_t *first,
                                  const gantry_kernel_options_t *last) {
    gantry_model_t *model = gantry_sequential(w->runtime, &w->options);
    (void)gantry_model_add(model, gantry_dense(5, GANTRY_TANH, first));
    (void)gantry_model_add(model, gantry_dense(LABELS, GANTRY_SIGMOID, last));
    return model;
}

/* ---- a training ---- */

static gantry_status_t record_epoch(gantry_model_t *model, int64_t epoch, const gantry_logs_t *logs,
                                    bool *stop, void *user) {
    (void)model, (void)epoch, (void)stop;
    for (size_t i = 0; i < logs->count; ++i) give(user, logs->values[i]);
    return GANTRY_OK;
}

static void give_weights(world_t *w, gantry_model_t *model) {
    for (size_t i = 0; i < gantry_model_variable_count(model); ++i) {
        double values[MOST];
        gantry_scope_t *scope = gantry_scope_begin(w->runtime, NULL);
        const gantry_tensor_t *value =
            gantry_variable_read(scope, gantry_model_variable(model, i, NULL));
        must(gantry_tensor_read(value, values, gantry_tensor_bytes(value)));
        for (int64_t k = 0; k < gantry_tensor_elements(value); ++k) give(w, values[k]);
        must(gantry_scope_end(scope));
    }
}

/* Trains a model, which is released. */
static void train(world_t *w, gantry_model_t *model, gantry_compile_options_t options,
                  int64_t epochs) {
    double tested[16];
    const gantry_callback_t recorder = {
        .struct_size = sizeof recorder, .user = w, .epoch_end = record_epoch};
    const gantry_callback_t *const callbacks[] = {&recorder};
    gantry_dataset_t *batches = make_batches();
    const size_t count = 1 + options.metric_count + options.weighted_metric_count;
    options.loss = GANTRY_BINARY_CROSSENTROPY;
    must(gantry_model_compile(model, &options));
    must(gantry_model_fit(
        model, batches,
        &(gantry_fit_options_t){.epochs = epochs, .callbacks = callbacks, .callback_count = 1}));
    must(gantry_model_evaluate(model, batches, tested, count));
    for (size_t i = 0; i < count; ++i) give(w, tested[i]);
    give_weights(w, model);
    gantry_dataset_release(batches);
    gantry_model_release(model);
}

static gantry_optimizer_t *sgd(void) {
    return gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 0.5});
}

/* ---- the cases ---- */

enum { JUDGES = 7 };

static void make_judges(gantry_metric_t **out) {
    const gantry_metric_options_t plain = {.struct_size = sizeof plain, .dtype = GANTRY_FLOAT64};
    gantry_metric_options_t top = plain, curve = plain;
    top.top_k = 2;
    curve.curve = GANTRY_CURVE_PR;
    out[0] = gantry_precision(0.5, &plain);
    out[1] = gantry_recall(0.25, &top);
    out[2] = gantry_f1_score(LABELS, GANTRY_AVERAGE_MACRO, 0.5, &plain);
    out[3] = gantry_fbeta_score(LABELS, 2, GANTRY_AVERAGE_WEIGHTED, 0, &plain);
    out[4] = gantry_auc(50, &curve);
    out[5] = gantry_root_mean_squared_error(&plain);
    out[6] = gantry_false_negatives(0.5, &plain);
}

static void judged(world_t *w) {
    gantry_metric_t *metrics[JUDGES], *weighted[JUDGES];
    make_judges(metrics);
    make_judges(weighted);
    train(w, make_model(w, NULL, NULL),
          (gantry_compile_options_t){.optimizer = sgd(),
                                     .metrics = metrics,
                                     .metric_count = JUDGES,
                                     .weighted_metrics = weighted,
                                     .weighted_metric_count = JUDGES},
          EPOCHS);
}

static void regularized(world_t *w) {
    const gantry_regularizer_t both = {.l1 = 0.015625, .l2 = 0.03125}, one = {.l1 = 0.0625},
                               two = {.l2 = 0.125};
    train(w,
          make_model(w,
                     &(gantry_kernel_options_t){.struct_size = sizeof(gantry_kernel_options_t),
                                                .kernel_regularizer = &both,
                                                .bias_regularizer = &one},
                     &(gantry_kernel_options_t){.struct_size = sizeof(gantry_kernel_options_t),
                                                .kernel_regularizer = &two}),
          (gantry_compile_options_t){.optimizer = sgd()}, EPOCHS);
}

/* Weights that are not trained have no loss. */
static void frozen(world_t *w) {
    const gantry_regularizer_t two = {.l2 = 0.125};
    gantry_model_t *model = gantry_sequential(w->runtime, &w->options);
    gantry_layer_t *first = gantry_dense(5, GANTRY_TANH, NULL),
                   *last = gantry_dense(LABELS, GANTRY_SIGMOID, NULL);
    must(gantry_layer_set_regularizer(first, "kernel", &two));
    must(gantry_layer_set_regularizer(last, "bias", &two));
    must(gantry_layer_set_trainable(first, false));
    (void)gantry_model_add(model, first);
    (void)gantry_model_add(model, last);
    train(w, model, (gantry_compile_options_t){.optimizer = sgd()}, EPOCHS);
}

static void constrained(world_t *w) {
    const gantry_constraint_t most = {.kind = GANTRY_MAX_NORM, .max_value = 0.5},
                              positive = {.kind = GANTRY_NON_NEG},
                              between = {.kind = GANTRY_MIN_MAX_NORM,
                                         .min_value = 0.2,
                                         .max_value = 0.6,
                                         .rate = 0.5,
                                         .axes = {1},
                                         .axis_count = 1},
                              unit = {.kind = GANTRY_UNIT_NORM};
    train(w,
          make_model(w,
                     &(gantry_kernel_options_t){.struct_size = sizeof(gantry_kernel_options_t),
                                                .kernel_constraint = &most,
                                                .bias_constraint = &positive},
                     &(gantry_kernel_options_t){.struct_size = sizeof(gantry_kernel_options_t),
                                                .kernel_constraint = &between,
                                                .bias_constraint = &unit}),
          (gantry_compile_options_t){.optimizer = sgd()}, EPOCHS);
}

static void both(world_t *w) {
    const gantry_regularizer_t two = {.l2 = 0.125};
    const gantry_constraint_t unit = {.kind = GANTRY_UNIT_NORM, .axes = {0, 1}, .axis_count = 2},
                              most = {.kind = GANTRY_MAX_NORM};
    gantry_optimizer_t *optimizer = gantry_sgd(
        &(gantry_sgd_options_t){.learning_rate = 0.5, .momentum = 0.5, .weight_decay = 0.0078125});
    train(w,
          make_model(w,
                     &(gantry_kernel_options_t){.struct_size = sizeof(gantry_kernel_options_t),
                                                .kernel_regularizer = &two,
                                                .kernel_constraint = &unit},
                     &(gantry_kernel_options_t){.struct_size = sizeof(gantry_kernel_options_t),
                                                .kernel_constraint = &most}),
          (gantry_compile_options_t){.optimizer = optimizer}, EPOCHS);
}

static const struct {
    const char *name;
    void (*run)(world_t *w);
    size_t count;
    double numbers[MOST];
} cases[] = {
#include "train_option_cases.inc"
};

static void follow(gantry_runtime_t *runtime, gantry_model_options_t options) {
    options.dtype = GANTRY_FLOAT64;
    options.seed = 7;
    make_data();
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        world_t w = {.runtime = runtime, .options = options};
        cases[c].run(&w);
        if (w.given_count != cases[c].count)
            fail_msg("%s: %zu numbers; Keras has %zu", cases[c].name, w.given_count,
                     cases[c].count);
        for (size_t i = 0; i < w.given_count; ++i) {
            const double wanted = cases[c].numbers[i];
            if (!(fabs(w.given[i] - wanted) <= 1e-9 + 1e-9 * fabs(wanted)))
                fail_msg("%s: number %zu is %.12g; Keras has %.12g", cases[c].name, i, w.given[i],
                         wanted);
        }
    }
}

/* ---- where they run ---- */

static void follow_on(gantry_runtime_t *runtime, const char *first, const char *second) {
    const char *const devices[] = {first, second};
    gantry_strategy_t *strategy = gantry_mirrored_strategy(runtime, devices, 2);
    if (!strategy) fail_msg("%s", gantry_last_message());
    follow(runtime, (gantry_model_options_t){.strategy = strategy});
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
}

static gantry_runtime_t *open_cpus(size_t count) {
    gantry_runtime_t *runtime;
    const gantry_runtime_options_t options = {.struct_size = sizeof options, .backends = "cpu"};
    must(gantry_runtime_create(&options, &runtime));
    if (count > 1) must(gantry_set_logical_cpu_devices(runtime, count));
    return runtime;
}

TEST(options_follow_keras) {
    gantry_runtime_t *runtime = open_cpus(1);
    follow(runtime, (gantry_model_options_t){.device = "CPU:0"});
    gantry_runtime_release(runtime);
}

TEST(on_two_virtual_cpus) { follow_on(open_cpus(2), "CPU:0", "CPU:1"); }

TEST(on_pocl) {
    gantry_runtime_t *runtime = train_open_gpu();
    follow(runtime, (gantry_model_options_t){.device = "GPU:0"});
    gantry_runtime_release(runtime);
}

TEST(on_cpu_and_pocl_together) { follow_on(train_open_gpu(), "CPU:0", "GPU:0"); }

int main(void) { return test_main(); }
