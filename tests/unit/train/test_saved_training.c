/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A loaded training step, with optimizer and dropout, goes on with the saved one's bits.
 *
 * The times of tracing and loading are printed. */
#define _XOPEN_SOURCE 700

#include <time.h>

#include <gantry_train/train.h>

#include "train_fixture.h"
/* after the fixture, which has cmocka */
#include "saved_file.h"
#include "test.h"

enum { BATCH = 8, PIXELS = 64, CLASSES = 4, MOST_VARIABLES = 16, STEPS = 4 };

typedef struct trainer_t {
    gantry_model_t *model;
    gantry_optimizer_t *optimizer;
    gantry_variable_t *variables[MOST_VARIABLES];
    size_t count;
    saved_file_t step_file, predict_file;
} trainer_t;

static void take_step(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    trainer_t *trainer = user;
    gantry_source_t sources[MOST_VARIABLES];
    const gantry_tensor_t *gradients[MOST_VARIABLES] = {NULL};
    for (size_t i = 0; i < trainer->count; ++i)
        sources[i] = (gantry_source_t){.variable = trainer->variables[i]};
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    const gantry_tensor_t *logits = gantry_model_call(trainer->model, scope, inputs, 1, true);
    outputs[0] = gantry_loss(scope, GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY, inputs[1], logits,
                             &(gantry_loss_options_t){.from_logits = true});
    (void)gantry_tape_gradient(tape, outputs[0], NULL, sources, trainer->count, NULL, gradients);
    gantry_tape_end(tape);
    (void)gantry_optimizer_apply(trainer->optimizer, scope, trainer->variables, gradients,
                                 trainer->count);
}

static void predict(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    const trainer_t *trainer = user;
    outputs[0] = gantry_model_call(trainer->model, scope, inputs, 1, false);
}

static void open_trainer(trainer_t *trainer) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    *trainer =
        (trainer_t){.optimizer = gantry_adam(&(gantry_adam_options_t){.learning_rate = 0.01})};
    trainer->model = gantry_sequential(fixture.runtime, &(gantry_model_options_t){.seed = 1});
    (void)gantry_model_add(trainer->model, gantry_dense(32, GANTRY_RELU, NULL));
    (void)gantry_model_add(trainer->model, gantry_dropout_layer(0.5, NULL));
    (void)gantry_model_add(trainer->model, gantry_dense(32, GANTRY_RELU, NULL));
    (void)gantry_model_add(trainer->model, gantry_dense(CLASSES, GANTRY_LINEAR, NULL));
    if (gantry_model_build(trainer->model, GANTRY_FLOAT32, GANTRY_SHAPE(PIXELS)) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    trainer->count = gantry_model_variable_count(trainer->model);
    for (size_t i = 0; i < trainer->count; ++i)
        trainer->variables[i] = gantry_model_variable(trainer->model, i, NULL);
    (void)gantry_optimizer_build(trainer->optimizer, scope, trainer->variables, trainer->count);
    expect_ended_well(scope);
    saved_file_init(&trainer->step_file);
    saved_file_init(&trainer->predict_file);
    strcat(trainer->predict_file.path, ".predict");
}

static void close_trainer(trainer_t *trainer) {
    gantry_optimizer_release(trainer->optimizer);
    gantry_model_release(trainer->model);
    saved_file_deinit(&trainer->step_file);
    saved_file_deinit(&trainer->predict_file);
}

static gantry_function_t *trace(trainer_t *trainer, gantry_function_body_fn body, size_t inputs) {
    static const gantry_input_spec_t specs[] = {{"pixels", GANTRY_FLOAT32, {2, {BATCH, PIXELS}}},
                                                {"labels", GANTRY_INT32, {1, {BATCH}}}};
    gantry_function_t *function;
    if (gantry_function_trace(fixture.runtime, "step", body, trainer, specs, inputs, 1, NULL,
                              &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return function;
}

static void call_with(gantry_function_t *function, int step, size_t inputs, void *out,
                      size_t bytes) {
    float pixels[BATCH * PIXELS];
    int32_t labels[BATCH];
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    for (int i = 0; i < BATCH * PIXELS; ++i) pixels[i] = (float)((i * 7 + step * 13) % 23) / 23;
    for (int i = 0; i < BATCH; ++i) labels[i] = (i + step) % CLASSES;
    const gantry_tensor_t *output,
        *given[] = {
            gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(BATCH, PIXELS), pixels,
                            sizeof pixels),
            gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(BATCH), labels, sizeof labels)};
    if (gantry_function_call(scope, function, given, inputs, &output, 1) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    assert_int_equal(gantry_tensor_read(output, out, bytes), GANTRY_OK);
    expect_ended_well(scope);
}

static double now_ns(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* The shortest of several: loading, or tracing. */
static double shortest(trainer_t *trainer, gantry_function_body_fn body, size_t inputs,
                       const saved_file_t *file) {
    double best = 1e18;
    for (int i = 0; i < 20; ++i) {
        const double begin = now_ns();
        gantry_function_t *function =
            file ? saved_file_load(fixture.runtime, file, NULL) : trace(trainer, body, inputs);
        const double taken = now_ns() - begin;
        if (taken < best) best = taken;
        gantry_function_release(function);
    }
    return best;
}

TEST(saved_step_goes_on_with_the_trajectory) {
    trainer_t trainer;
    float wanted[STEPS], got[STEPS], predicted[BATCH * CLASSES], again[BATCH * CLASSES];
    open_trainer(&trainer);
    gantry_function_t *step = trace(&trainer, take_step, 2);
    gantry_function_t *function = trace(&trainer, predict, 1);
    for (int i = 0; i < STEPS; ++i) call_with(step, i, 2, &wanted[i], sizeof wanted[i]);
    saved_file_save(step, &trainer.step_file);
    saved_file_save(function, &trainer.predict_file);
    call_with(function, 0, 1, predicted, sizeof predicted);
    for (int i = 0; i < STEPS; ++i) call_with(step, STEPS + i, 2, &wanted[i], sizeof wanted[i]);
    gantry_function_release(step);
    gantry_function_release(function);
    step = saved_file_load(fixture.runtime, &trainer.step_file, NULL);
    for (int i = 0; i < STEPS; ++i) call_with(step, STEPS + i, 2, &got[i], sizeof got[i]);
    assert_memory_equal(got, wanted, sizeof got);
    gantry_function_release(step);
    function = saved_file_load(fixture.runtime, &trainer.predict_file, NULL);
    call_with(function, 0, 1, again, sizeof again);
    assert_memory_equal(again, predicted, sizeof again);
    gantry_function_release(function);
    print_message("step: traced in %.0f us, loaded in %.0f us; predict: %.0f us and %.0f us\n",
                  shortest(&trainer, take_step, 2, NULL) / 1e3,
                  shortest(&trainer, NULL, 0, &trainer.step_file) / 1e3,
                  shortest(&trainer, predict, 1, NULL) / 1e3,
                  shortest(&trainer, NULL, 0, &trainer.predict_file) / 1e3);
    close_trainer(&trainer);
}

int main(void) { return test_main_each(set_up, tear_down); }
