/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Trainings by the options of fit, by callbacks, and with layers that are not trained or
 * that are applied twice have Keras's losses, metrics and weights.
 * Promise: Trainings with steps_per_epoch, validation_freq, weights of classes and samples, early
 * stopping and plateaus have Keras's numbers. */
#define _XOPEN_SOURCE 700

#include <string.h>

#include <math.h>

#include "test.h"
#include "train_given.h"

#include <gantry_train/train.h>

enum { ROWS = 20, TESTED = 7, FEATURES = 3, BATCH = 6 };

static double x[ROWS * FEATURES], tested_x[TESTED * FEATURES];
static int32_t y[ROWS], tested_y[TESTED];

/* ---- data and models: those of make_fit_cases.py ---- */

static void make_points(double *out, int rows, int factor) {
    for (int i = 0; i < rows * FEATURES; ++i) out[i] = (double)(i * factor % 64 - 32) / 32;
}

static void make_labels(int32_t *out, int rows, int factor) {
    for (int i = 0; i < rows; ++i) out[i] = (i * factor + i / 3) % 3;
}

static gantry_dataset_t *make_rows(const double *points, const int32_t *labels, int64_t rows) {
    const gantry_array_t arrays[] = {{GANTRY_FLOAT64, GANTRY_SHAPE(rows, FEATURES), points},
                                     {GANTRY_INT32, GANTRY_SHAPE(rows), labels}};
    return gantry_dataset_from_arrays(arrays, 2, false);
}

static const gantry_model_options_t wide = {.dtype = GANTRY_FLOAT64, .seed = 7};

static gantry_model_t *make_model(gantry_layer_t *first, gantry_layer_t *middle) {
    gantry_model_t *model = gantry_sequential(fixture.runtime, &wide);
    (void)gantry_model_add(model, first ? first : gantry_dense(5, GANTRY_TANH, NULL));
    if (middle) (void)gantry_model_add(model, middle);
    (void)gantry_model_add(model, gantry_dense(3, GANTRY_SOFTMAX, NULL));
    return model;
}

static gantry_model_t *compiled_with(gantry_model_t *model, gantry_optimizer_t *optimizer,
                                     bool is_weighted) {
    const gantry_metric_options_t options = {.dtype = GANTRY_FLOAT64};
    gantry_metric_t *metrics[] = {gantry_sparse_categorical_accuracy(&options)},
                    *weighted[] = {is_weighted ? gantry_sparse_categorical_accuracy(&options)
                                               : NULL};
    must(gantry_model_compile(
        model, &(gantry_compile_options_t){.optimizer = optimizer,
                                           .loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY,
                                           .metrics = metrics,
                                           .metric_count = 1,
                                           .weighted_metrics = weighted,
                                           .weighted_metric_count = is_weighted ? 1 : 0}));
    return model;
}

static gantry_model_t *compiled(gantry_model_t *model, double rate, bool is_weighted) {
    return compiled_with(model, gantry_sgd(&(gantry_sgd_options_t){.learning_rate = rate}),
                         is_weighted);
}

/* Takes the data set over. */
static void fit_to(gantry_model_t *model, gantry_dataset_t *batches, gantry_callback_t *callback,
                   gantry_fit_options_t options) {
    const gantry_callback_t recorder = {.struct_size = sizeof recorder, .epoch_end = record};
    const gantry_callback_t *callbacks[] = {&recorder, callback};
    options.callbacks = callbacks;
    options.callback_count = callback ? 2 : 1;
    must(gantry_model_fit(model, batches, &options));
    gantry_dataset_release(batches);
}

static void fit(gantry_model_t *model, gantry_callback_t *callback, gantry_fit_options_t options) {
    options.validation = gantry_dataset_batch(make_rows(tested_x, tested_y, TESTED), BATCH, false);
    fit_to(model, gantry_dataset_batch(make_rows(x, y, ROWS), BATCH, false), callback, options);
    gantry_dataset_release(options.validation);
}

static void end(gantry_model_t *model, gantry_callback_t *callback) {
    double values[MOST];
    for (size_t i = 0; i < gantry_model_variable_count(model); ++i) {
        gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
        const gantry_tensor_t *value =
            gantry_variable_read(scope, gantry_model_variable(model, i, NULL));
        must(gantry_tensor_read(value, values, gantry_tensor_bytes(value)));
        for (int64_t k = 0; k < gantry_tensor_elements(value); ++k) give(values[k]);
        expect_ended_well(scope);
    }
    gantry_callback_release(callback);
    gantry_model_release(model);
}

/* ---- trainings ---- */

static void train_for(gantry_model_t *model, gantry_callback_t *callback, int64_t epochs) {
    fit(model, callback, (gantry_fit_options_t){.epochs = epochs});
}

static void best_weights(void) {
    gantry_model_t *model = compiled(make_model(NULL, NULL), 2, false);
    gantry_callback_t *stopping = gantry_early_stopping(&(gantry_early_stopping_options_t){
        .patience = 2, .min_delta = 0.001, .restore_best_weights = true});
    train_for(model, stopping, 12);
    end(model, stopping);
}

/* Of an accuracy, more is better. */
static void best_of_all(void) {
    gantry_model_t *model = compiled(make_model(NULL, NULL), 2, false);
    gantry_callback_t *stopping = gantry_early_stopping(&(gantry_early_stopping_options_t){
        .monitor = "val_sparse_categorical_accuracy", .patience = 4, .restore_best_weights = true});
    train_for(model, stopping, 4);
    end(model, stopping);
}

static void baseline(void) {
    gantry_model_t *model = compiled(make_model(NULL, NULL), 0.1, false);
    gantry_callback_t *stopping = gantry_early_stopping(&(gantry_early_stopping_options_t){
        .patience = 3, .baseline = &(double){1.0}, .start_from_epoch = 2});
    train_for(model, stopping, 12);
    end(model, stopping);
}

static void twice(void) {
    gantry_model_t *model = compiled(make_model(NULL, NULL), 2, false);
    gantry_callback_t *stopping =
        gantry_early_stopping(&(gantry_early_stopping_options_t){.patience = 2});
    train_for(model, stopping, 12);
    train_for(model, stopping, 12);
    end(model, stopping);
}

static void plateau(void) {
    gantry_model_t *model = compiled(make_model(NULL, NULL), 4, false);
    gantry_callback_t *lowering = gantry_reduce_lr_on_plateau(&(
        gantry_reduce_lr_on_plateau_options_t){
        .factor = 0.5, .patience = 1, .cooldown = 1, .min_learning_rate = 0.75, .min_delta = 0.01});
    train_for(model, lowering, 12);
    end(model, lowering);
}

static void class_weights(void) {
    gantry_model_t *model = compiled(make_model(NULL, NULL), 0.5, true);
    fit(model, NULL,
        (gantry_fit_options_t){
            .epochs = 3, .class_weights = (double[]){1, 2.5, 0.5}, .class_weight_count = 3});
    end(model, NULL);
}

static void steps(void) {
    gantry_model_t *model = compiled(make_model(NULL, NULL), 2, false);
    fit_to(model, gantry_dataset_batch(make_rows(x, y, ROWS), BATCH, false), NULL,
           (gantry_fit_options_t){.epochs = 5, .steps_per_epoch = 3});
    end(model, NULL);
}

static void endless(void) {
    gantry_model_t *model = compiled(make_model(NULL, NULL), 2, false);
    gantry_dataset_t *batches = gantry_dataset_repeat(make_rows(x, y, ROWS), -1);
    fit_to(model, gantry_dataset_batch(batches, BATCH, false), NULL,
           (gantry_fit_options_t){.epochs = 3, .steps_per_epoch = 4});
    end(model, NULL);
}

static void every_second(void) {
    gantry_model_t *model = compiled(make_model(NULL, NULL), 2, false);
    gantry_callback_t *stopping =
        gantry_early_stopping(&(gantry_early_stopping_options_t){.patience = 2});
    fit(model, stopping, (gantry_fit_options_t){.epochs = 9, .validation_freq = 2});
    end(model, stopping);
}

static void frozen(void) {
    gantry_layer_t *first = gantry_dense(5, GANTRY_TANH, NULL),
                   *norm = gantry_batch_normalization(&(gantry_norm_options_t){.momentum = 0.5});
    gantry_model_t *model = make_model(first, norm);
    for (int i = 0; i < 2; ++i) {
        must(gantry_layer_set_trainable(first, i == 1));
        must(gantry_layer_set_trainable(norm, i == 1));
        train_for(compiled(model, 2, false), NULL, 2);
    }
    end(model, NULL);
}

/* The optimizer stays, and has moments of weights that are not trained any more. */
static void frozen_later(void) {
    gantry_layer_t *first = gantry_dense(5, GANTRY_TANH, NULL),
                   *norm = gantry_batch_normalization(&(gantry_norm_options_t){.momentum = 0.5});
    gantry_optimizer_t *sgd =
        gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 0.5, .momentum = 0.5});
    gantry_model_t *model = make_model(first, norm);
    for (int i = 0; i < 2; ++i) {
        must(gantry_layer_set_trainable(first, i == 0));
        train_for(compiled_with(model, sgd, false), NULL, 2);
    }
    end(model, NULL);
}

/* A BatchNormalization that is applied twice keeps both statistics. */
static void shared(void) {
    gantry_model_t *model = gantry_functional(fixture.runtime, &wide);
    gantry_layer_t *norm = gantry_batch_normalization(&(gantry_norm_options_t){.momentum = 0.5});
    int32_t v = gantry_model_input(model, GANTRY_FLOAT64, GANTRY_SHAPE(FEATURES));
    v = gantry_model_apply(model, norm, &v, 1);
    v = gantry_model_apply(model, gantry_dense(FEATURES, GANTRY_TANH, NULL), &v, 1);
    v = gantry_model_apply(model, norm, &v, 1);
    (void)gantry_model_apply(model, gantry_dense(3, GANTRY_SOFTMAX, NULL), &v, 1);
    train_for(compiled(model, 0.5, false), NULL, 3);
    end(model, NULL);
}

static const struct {
    const char *name;
    void (*run)(void);
    size_t count;
    double numbers[MOST];
} cases[] = {
#include "train_fit_cases.inc"
};

TEST(fit_follows_keras) {
    make_points(x, ROWS, 37);
    make_points(tested_x, TESTED, 23);
    make_labels(y, ROWS, 5);
    make_labels(tested_y, TESTED, 7);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        given_count = 0;
        cases[c].run();
        if (given_count != cases[c].count)
            fail_msg("%s: %zu numbers; Keras has %zu", cases[c].name, given_count, cases[c].count);
        for (size_t i = 0; i < given_count; ++i) {
            if (!(fabs(given[i] - cases[c].numbers[i]) <= 1e-9 + 1e-9 * fabs(given[i])))
                fail_msg("%s: number %zu is %.12g; Keras has %.12g", cases[c].name, i, given[i],
                         cases[c].numbers[i]);
        }
    }
}

int main(void) { return test_main_each(set_up, tear_down); }
