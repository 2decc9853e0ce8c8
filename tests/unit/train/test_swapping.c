/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: SwapEMAWeights shows callbacks the averages of weights where Keras does, and puts the
 * weights back after failures.
 *
 * Keras's numbers are in test_programs.c. */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"
#include "train_case.h"

#include <gantry_train/train.h>

enum { ROWS = 24, FEATURES = 3, WEIGHTS = FEATURES * 4 + 4 + 4 + 1 };

typedef struct world_t {
    gantry_runtime_t *runtime;
    gantry_dataset_t *data;
    int ended; /* calls of test_end */
} world_t;

static world_t world;

static void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

static int set_up(void **state) {
    static float x[ROWS * FEATURES], y[ROWS];
    const gantry_runtime_options_t options = {.struct_size = sizeof options, .backends = "cpu"};
    (void)state;
    for (int i = 0; i < ROWS * FEATURES; ++i) x[i] = (float)(i * 37 % 64 - 32) / 32;
    for (int i = 0; i < ROWS; ++i) y[i] = (float)(i * 11 % 16) / 16;
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, FEATURES), x},
                                     {GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, 1), y}};
    world = (world_t){.runtime = NULL};
    must(gantry_runtime_create(&options, &world.runtime));
    world.data = gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), 5, false);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    gantry_dataset_release(world.data);
    gantry_runtime_release(world.runtime);
    return 0;
}

static gantry_model_t *make_model(bool use_ema) {
    const gantry_model_options_t options = {.seed = 3, .device = "/CPU:0"};
    gantry_model_t *model = gantry_sequential(world.runtime, &options);
    (void)gantry_model_add(model, gantry_dense(4, GANTRY_TANH, NULL));
    (void)gantry_model_add(model, gantry_dense(1, GANTRY_LINEAR, NULL));
    must(gantry_model_compile(
        model, &(gantry_compile_options_t){.optimizer = gantry_sgd(&(gantry_sgd_options_t){
                                               .learning_rate = 0.25, .use_ema = use_ema}),
                                           .loss = GANTRY_MEAN_SQUARED_ERROR}));
    return model;
}

static gantry_status_t fit(gantry_model_t *model, const gantry_callback_t *first,
                           const gantry_callback_t *second) {
    const gantry_callback_t *const callbacks[] = {first, second};
    return gantry_model_fit(model, world.data,
                            &(gantry_fit_options_t){.epochs = 2,
                                                    .validation = world.data,
                                                    .callbacks = first ? callbacks : callbacks + 1,
                                                    .callback_count = first    ? 2
                                                                      : second ? 1
                                                                               : 0});
}

static void read_weights(gantry_model_t *model, float *out) {
    gantry_scope_t *scope = gantry_scope_begin(world.runtime, NULL);
    for (size_t i = 0; i < gantry_model_variable_count(model); ++i) {
        const gantry_tensor_t *value =
            gantry_variable_read(scope, gantry_model_variable(model, i, NULL));
        must(gantry_tensor_read(value, out, gantry_tensor_bytes(value)));
        out += gantry_tensor_elements(value);
    }
    must(gantry_scope_end(scope));
}

TEST(an_optimizer_without_averages_is_refused) {
    gantry_model_t *model = make_model(false);
    gantry_callback_t *swap = gantry_swap_ema_weights(false);
    assert_int_equal(fit(model, NULL, swap), GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry_last_message(), "one with use_ema is accepted"));
    gantry_callback_release(swap);
    gantry_model_release(model);
}

/* The weights that a checkpoint behind the callback saved last. */
static void train_and_load(bool swap_on_epoch, float *trained, float *saved) {
    char path[] = "/tmp/gantry_swapping_XXXXXX";
    (void)close(mkstemp(path));
    gantry_model_t *model = make_model(true), *second = make_model(true);
    gantry_callback_t *swap = gantry_swap_ema_weights(swap_on_epoch),
                      *checkpoint = gantry_model_checkpoint(path, NULL);
    must(fit(model, swap, checkpoint));
    must(gantry_model_build(second, GANTRY_FLOAT32, GANTRY_SHAPE(FEATURES)));
    must(gantry_model_load(second, path));
    read_weights(model, trained);
    read_weights(second, saved);
    (void)unlink(path);
    gantry_callback_release(swap);
    gantry_callback_release(checkpoint);
    gantry_model_release(model);
    gantry_model_release(second);
}

TEST(checkpoints_between_epochs_have_the_averages) {
    float trained[WEIGHTS], saved[WEIGHTS], plain[WEIGHTS];
    train_and_load(true, trained, saved);
    assert_memory_equal(trained, saved, sizeof saved);
    train_and_load(false, plain, saved);
    assert_memory_equal(trained, plain, sizeof plain);
    assert_memory_not_equal(plain, saved, sizeof saved);
}

/* ---- failures ---- */

static gantry_status_t fail_epoch(gantry_model_t *model, int64_t epoch, const gantry_logs_t *logs,
                                  bool *stop, void *user) {
    (void)model, (void)epoch, (void)logs, (void)stop, (void)user;
    return gantry_fail(GANTRY_ABORTED, "epoch");
}

static gantry_status_t fail_test(gantry_model_t *model, void *user) {
    (void)model, (void)user;
    return gantry_fail(GANTRY_ABORTED, "test");
}

static gantry_status_t count_end(gantry_model_t *model, void *user) {
    (void)model, (void)user;
    ++world.ended;
    return GANTRY_OK;
}

/* A training that fails, and another one, with and without the callback. */
static void expect_same(bool swap_on_epoch, const gantry_callback_t *failing) {
    float weights[2][WEIGHTS];
    for (int k = 0; k < 2; ++k) {
        gantry_model_t *model = make_model(true);
        gantry_callback_t *swap = gantry_swap_ema_weights(swap_on_epoch);
        assert_int_equal(fit(model, k ? swap : NULL, failing), GANTRY_ABORTED);
        must(fit(model, NULL, NULL));
        read_weights(model, weights[k]);
        gantry_callback_release(swap);
        gantry_model_release(model);
    }
    assert_memory_equal(weights[0], weights[1], sizeof weights[0]);
}

TEST(a_training_after_a_failed_one_has_the_weights) {
    const gantry_callback_t epoch = {.struct_size = sizeof epoch, .epoch_end = fail_epoch},
                            test = {.struct_size = sizeof test,
                                    .test_begin = fail_test,
                                    .test_end = count_end};
    expect_same(true, &epoch);
    expect_same(false, &test);
    assert_int_equal(world.ended, 2);
}

int main(void) { return test_main_each(set_up, tear_down); }
