/* SPDX-License-Identifier: Apache-2.0 */
/* The text classifier follows Keras's losses and weights, step by step: on the CPU backend, on
 * PoCL, and mirrored over two devices. */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "train_case.h"
#include "train_trajectory.inc"

#include <gantry_train/train.h>

enum { STEPS = 20, BATCH = 8, LENGTH = 60, WORDS = 500, CLASSES = 10, WEIGHTS = 8 };

/* ---- data: the generator of make_train_trajectory.py ---- */

static uint32_t draw(uint32_t *state, uint32_t limit) {
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % limit;
}

static void make_data(int32_t *words, int32_t *labels) {
    uint32_t state = 1;
    for (int i = 0; i < STEPS * BATCH; ++i) {
        labels[i] = (int32_t)draw(&state, CLASSES);
        for (int k = 0; k < LENGTH; ++k)
            words[i * LENGTH + k] =
                draw(&state, 4) == 0 ? 10 + labels[i] : (int32_t)draw(&state, WORDS);
    }
}

/* ---- the model ---- */

static const gantry_initializer_t uniform = {
    .struct_size = sizeof uniform, .kind = GANTRY_INIT_RANDOM_UNIFORM, .seed = 1};
static const gantry_initializer_t glorot[] = {
    {.struct_size = sizeof uniform, .kind = GANTRY_INIT_GLOROT_UNIFORM, .seed = 2},
    {.struct_size = sizeof uniform, .kind = GANTRY_INIT_GLOROT_UNIFORM, .seed = 3},
    {.struct_size = sizeof uniform, .kind = GANTRY_INIT_GLOROT_UNIFORM, .seed = 4}};

static gantry_model_t *make_model(gantry_runtime_t *runtime,
                                  const gantry_model_options_t *options) {
    gantry_kernel_options_t kernel = {.kernel_initializer = &glorot[0]};
    gantry_model_t *model = gantry_sequential(runtime, options);
    if (!model) fail_msg("%s", gantry_last_message());
    (void)gantry_model_add(model, gantry_embedding(WORDS, 7, &uniform, NULL));
    (void)gantry_model_add(model, gantry_conv1d_layer(64, 5, GANTRY_RELU, &kernel));
    (void)gantry_model_add(model, gantry_max_pool1d_layer(2, NULL));
    kernel.kernel_initializer = &glorot[1];
    (void)gantry_model_add(model, gantry_conv1d_layer(32, 3, GANTRY_RELU, &kernel));
    (void)gantry_model_add(model, gantry_max_pool1d_layer(2, NULL));
    (void)gantry_model_add(model, gantry_flatten(NULL));
    kernel.kernel_initializer = &glorot[2];
    (void)gantry_model_add(model, gantry_dense(CLASSES, GANTRY_SOFTMAX, &kernel));
    if (gantry_model_compile(
            model, &(gantry_compile_options_t){.optimizer = gantry_nadam(NULL),
                                               .loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY}) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return model;
}

/* ---- one run ---- */

static void train_one(gantry_model_t *model, int32_t *words, int32_t *labels, double *out_loss) {
    const gantry_array_t arrays[] = {{GANTRY_INT32, GANTRY_SHAPE(BATCH, LENGTH), words},
                                     {GANTRY_INT32, GANTRY_SHAPE(BATCH), labels}};
    gantry_dataset_t *batch =
        gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), BATCH, false);
    double before[1];
    /* the loss of the weights before the step */
    if (gantry_model_evaluate(model, batch, before, 1) != GANTRY_OK ||
        gantry_model_fit(model, batch, NULL) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    *out_loss = before[0];
    gantry_dataset_release(batch);
}

static double element(const void *data, gantry_dtype_t dtype, size_t i) {
    return dtype == GANTRY_FLOAT64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static void expect_near(double given, double wanted, double bound, const char *what, size_t i) {
    const double size = wanted < 0 ? -wanted : wanted;
    const double error = given > wanted ? given - wanted : wanted - given;
    if (!(error <= bound * (size > 1 ? size : 1)))
        fail_msg("%s %zu is %.17g; Keras has %.17g", what, i, given, wanted);
}

/* The sum, the sum of absolute values, and one element of each weight. */
static void check_weight(gantry_model_t *model, gantry_runtime_t *runtime, size_t index,
                         const double *wanted, double bound) {
    gantry_variable_t *variable = gantry_model_variable(model, index, NULL);
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    const gantry_tensor_t *value = gantry_variable_read(scope, variable);
    const size_t bytes = gantry_tensor_bytes(value), count = (size_t)gantry_tensor_elements(value);
    void *data = malloc(bytes);
    double sum = 0, size = 0;
    assert_non_null(data);
    assert_int_equal(gantry_tensor_read(value, data, bytes), GANTRY_OK);
    for (size_t i = 0; i < count; ++i) {
        const double x = element(data, gantry_tensor_dtype(value), i);
        sum += x;
        size += x < 0 ? -x : x;
    }
    expect_near(sum, wanted[0], bound * 100, "the sum of weight", index);
    expect_near(size, wanted[1], bound * 100, "the size of weight", index);
    expect_near(element(data, gantry_tensor_dtype(value), count / 3), wanted[2], bound * 10,
                "an element of weight", index);
    free(data);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

static void follow(gantry_runtime_t *runtime, const gantry_model_options_t *options,
                   const double *losses, const double *weights, double bound) {
    static int32_t words[STEPS * BATCH * LENGTH], labels[STEPS * BATCH];
    gantry_model_t *model = make_model(runtime, options);
    double loss;
    make_data(words, labels);
    for (int i = 0; i < STEPS; ++i) {
        if (i == 0 && gantry_model_build(model, GANTRY_INT32, GANTRY_SHAPE(LENGTH)) != GANTRY_OK)
            fail_msg("%s", gantry_last_message());
        train_one(model, words + i * BATCH * LENGTH, labels + i * BATCH, &loss);
        expect_near(loss, losses[i], bound, "the loss of step", (size_t)i);
    }
    assert_int_equal(gantry_model_variable_count(model), 7);
    for (size_t i = 0; i < 7; ++i) check_weight(model, runtime, i, weights + 3 * i, bound);
    gantry_model_release(model);
}

static void follow_both_types(gantry_runtime_t *runtime, gantry_model_options_t options) {
    options.dtype = GANTRY_FLOAT64;
    follow(runtime, &options, trajectory_losses_float64, trajectory_weights_float64, 1e-9);
    options.dtype = GANTRY_FLOAT32;
    follow(runtime, &options, trajectory_losses_float32, trajectory_weights_float32, 1e-4);
}

/* ---- the tests ---- */

static gantry_runtime_t *open_cpus(size_t count) {
    gantry_runtime_t *runtime;
    const gantry_runtime_options_t options = {.struct_size = sizeof options, .backends = "cpu"};
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    if (count > 1) assert_int_equal(gantry_set_logical_cpu_devices(runtime, count), GANTRY_OK);
    return runtime;
}

static void on_the_cpu(void **state) {
    gantry_runtime_t *runtime = open_cpus(1);
    (void)state;
    follow_both_types(runtime, (gantry_model_options_t){.device = "/CPU:0"});
    gantry_runtime_release(runtime);
}

static void on_two_virtual_cpus(void **state) {
    static const char *const devices[] = {"CPU:0", "CPU:1"};
    gantry_runtime_t *runtime = open_cpus(2);
    gantry_strategy_t *strategy = gantry_mirrored_strategy(runtime, devices, 2);
    (void)state;
    if (!strategy) fail_msg("%s", gantry_last_message());
    follow_both_types(runtime, (gantry_model_options_t){.strategy = strategy});
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
}

/* Replicas of unlike sizes: 8 rows on 3 devices. */
static void on_three_virtual_cpus(void **state) {
    gantry_runtime_t *runtime = open_cpus(3);
    gantry_strategy_t *strategy = gantry_mirrored_strategy(runtime, NULL, 0);
    (void)state;
    if (!strategy) fail_msg("%s", gantry_last_message());
    assert_int_equal(gantry_strategy_replica_count(strategy), 3);
    follow_both_types(runtime, (gantry_model_options_t){.strategy = strategy});
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
}

static void on_pocl(void **state) {
    gantry_runtime_t *runtime = train_open_opencl();
    (void)state;
    follow_both_types(runtime, (gantry_model_options_t){.device = "/GPU:0"});
    gantry_runtime_release(runtime);
}

/* Unlike devices in one strategy. */
static void on_cpu_and_pocl_together(void **state) {
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    gantry_runtime_t *runtime = train_open_opencl();
    gantry_strategy_t *strategy = gantry_mirrored_strategy(runtime, devices, 2);
    (void)state;
    if (!strategy) fail_msg("%s", gantry_last_message());
    follow_both_types(runtime, (gantry_model_options_t){.strategy = strategy});
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_the_cpu), cmocka_unit_test(on_two_virtual_cpus),
        cmocka_unit_test(on_three_virtual_cpus), cmocka_unit_test(on_pocl),
        cmocka_unit_test(on_cpu_and_pocl_together)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
