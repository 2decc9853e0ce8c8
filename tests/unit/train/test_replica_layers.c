/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: BatchNormalization on two devices has the losses and weights of Keras's
 * MirroredStrategy, and dropout draws other numbers on each. */
#define _XOPEN_SOURCE 700

#include <string.h>

#include <math.h>

#include "test.h"
#include "train_case.h"
#include "train_given.h"

#include <gantry_train/train.h>

enum { ROWS = 24, FEATURES = 3, BATCH = 6, EPOCHS = 2, WIDTH = 64 };

static const double wanted[] = {
#include "train_replica_cases.inc"
};

/* ---- BatchNormalization: data and model of make_replica_cases.py ---- */

static gantry_dataset_t *make_batches(void) {
    static double x[ROWS * FEATURES], y[ROWS * 2];
    const gantry_array_t arrays[] = {{GANTRY_FLOAT64, GANTRY_SHAPE(ROWS, FEATURES), x},
                                     {GANTRY_FLOAT64, GANTRY_SHAPE(ROWS, 2), y}};
    for (int i = 0; i < ROWS * FEATURES; ++i) x[i] = (double)(i * 37 % 64 - 32) / 32;
    for (int i = 0; i < ROWS * 2; ++i) y[i] = (double)(i * 23 % 32 - 16) / 16;
    return gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, true), BATCH, false);
}

static gantry_model_t *make_model(gantry_runtime_t *runtime, const gantry_strategy_t *strategy) {
    const gantry_norm_options_t norm = {.momentum = 0.75};
    gantry_model_t *model = gantry_sequential(
        runtime,
        &(gantry_model_options_t){.dtype = GANTRY_FLOAT64, .seed = 7, .strategy = strategy});
    (void)gantry_model_add(model, gantry_dense(4, GANTRY_LINEAR, NULL));
    (void)gantry_model_add(model, gantry_batch_normalization(&norm));
    (void)gantry_model_add(model, gantry_activation_layer(GANTRY_TANH, NULL));
    (void)gantry_model_add(model, gantry_dense(2, GANTRY_LINEAR, NULL));
    must(gantry_model_compile(
        model, &(gantry_compile_options_t){
                   .optimizer = gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 0.125}),
                   .loss = GANTRY_MEAN_SQUARED_ERROR}));
    return model;
}

static void follow(gantry_runtime_t *runtime, const char *const devices[2]) {
    const gantry_callback_t recorder = {.struct_size = sizeof recorder, .epoch_end = record},
                            *callbacks[] = {&recorder};
    double loss;
    gantry_strategy_t *strategy = gantry_mirrored_strategy(runtime, devices, 2);
    gantry_model_t *model = make_model(runtime, strategy);
    gantry_dataset_t *batches = make_batches();
    given_count = 0;
    must(gantry_model_fit(
        model, batches,
        &(gantry_fit_options_t){.epochs = EPOCHS, .callbacks = callbacks, .callback_count = 1}));
    must(gantry_model_evaluate(model, batches, &loss, 1));
    give(loss);
    give_variables(runtime, model);
    gantry_dataset_release(batches);
    gantry_model_release(model);
    gantry_strategy_release(strategy);
    assert_int_equal(given_count, sizeof wanted / sizeof wanted[0]);
    for (size_t i = 0; i < given_count; ++i) {
        if (!(fabs(given[i] - wanted[i]) <= 1e-9 * (1 + fabs(wanted[i]))))
            fail_msg("number %zu is %.12g; Keras has %.12g", i, given[i], wanted[i]);
    }
}

static gantry_runtime_t *open_two_cpus(void) {
    gantry_runtime_t *runtime;
    const gantry_runtime_options_t options = {.struct_size = sizeof options, .backends = "cpu"};
    must(gantry_runtime_create(&options, &runtime));
    must(gantry_set_logical_cpu_devices(runtime, 2));
    return runtime;
}

TEST(batch_normalization_follows_keras) {
    gantry_runtime_t *runtime = open_two_cpus();
    follow(runtime, (const char *const[]){"CPU:0", "CPU:1"});
    gantry_runtime_release(runtime);
}

TEST(batch_normalization_beside_pocl_follows_keras) {
    gantry_runtime_t *runtime = train_open_gpu();
    follow(runtime, (const char *const[]){"CPU:0", "GPU:0"});
    gantry_runtime_release(runtime);
}

/* ---- dropout ---- */

static gantry_status_t build_sum(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                 size_t input_count, void *user) {
    static const gantry_initializer_t zeros = {.struct_size = sizeof zeros};
    (void)inputs, (void)input_count, (void)user;
    return gantry_layer_add_weight(layer, "sum", GANTRY_SHAPE(WIDTH), &zeros, false);
}

/* Its weight becomes the mean over the devices of each one's row. */
static const gantry_tensor_t *call_sum(const gantry_layer_call_t *call, void *user) {
    static const int32_t rows[] = {0};
    const gantry_reduce_options_t over = {
        .struct_size = sizeof over, .axes = rows, .axis_count = 1};
    (void)user;
    call->updates[0] = gantry_sum(call->scope, call->inputs[0], &over);
    return call->inputs[0];
}

/* A batch has the row 1 for one device and the row 2 for the other one. At a rate of a half, the
 * mean is a + 2 b, where a and b say whether an element is left on either device. */
TEST(dropout_draws_on_each_device) {
    static const gantry_layer_kind_t kind = {
        .struct_size = sizeof kind, .name = "Sum", .build = build_sum, .call = call_sum};
    static float x[2 * WIDTH], sums[WIDTH];
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(2, WIDTH), x},
                                     {GANTRY_FLOAT32, GANTRY_SHAPE(2, WIDTH), x}};
    int counts[4] = {0};
    gantry_runtime_t *runtime = open_two_cpus();
    for (int i = 0; i < 2 * WIDTH; ++i) x[i] = i < WIDTH ? 1 : 2;
    gantry_strategy_t *strategy = gantry_mirrored_strategy(runtime, NULL, 0);
    gantry_model_t *model =
        gantry_sequential(runtime, &(gantry_model_options_t){.seed = 3, .strategy = strategy});
    (void)gantry_model_add(model, gantry_dropout_layer(0.5, NULL));
    (void)gantry_model_add(model, gantry_layer_create(&kind, NULL, NULL));
    (void)gantry_model_add(model, gantry_dense(WIDTH, GANTRY_LINEAR, NULL));
    must(gantry_model_compile(model,
                              &(gantry_compile_options_t){.optimizer = gantry_sgd(NULL),
                                                          .loss = GANTRY_MEAN_SQUARED_ERROR}));
    gantry_dataset_t *batches =
        gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), 2, false);
    must(gantry_model_fit(model, batches, NULL));
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    must(gantry_tensor_read(gantry_variable_read(scope, gantry_model_variable(model, 0, NULL)),
                            sums, sizeof sums));
    must(gantry_scope_end(scope));
    for (int i = 0; i < WIDTH; ++i) {
        assert_in_range((int)sums[i], 0, 3);
        ++counts[(int)sums[i]];
    }
    for (int i = 0; i < 4; ++i) assert_in_range(counts[i], 4, WIDTH - 4);
    gantry_dataset_release(batches);
    gantry_model_release(model);
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
}

int main(void) { return test_main_each(set_up, tear_down); }
