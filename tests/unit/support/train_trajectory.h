/* SPDX-License-Identifier: Apache-2.0 */
/* The text classifier follows Keras's losses and weights, step by step. Returns false with a text
 * instead of assertions, so that threads and processes without cmocka can follow, too. Header
 * only. */
#ifndef TESTS_TRAIN_TRAJECTORY_H
#define TESTS_TRAIN_TRAJECTORY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <gantry_train/train.h>

#include "train_trajectory.inc"

enum {
    TRAJECTORY_STEPS = 20,
    TRAJECTORY_BATCH = 8,
    TRAJECTORY_LENGTH = 60,
    TRAJECTORY_WORDS = 500,
    TRAJECTORY_CLASSES = 10
};

typedef struct trajectory_t {
    gantry_runtime_t *runtime;
    gantry_model_t *model;
    const double *losses, *weights; /* Keras's */
    double bound;
    int32_t words[TRAJECTORY_STEPS * TRAJECTORY_BATCH * TRAJECTORY_LENGTH];
    int32_t labels[TRAJECTORY_STEPS * TRAJECTORY_BATCH];
    char text[1024]; /* of a failure */
} trajectory_t;

static inline bool trajectory_fail(trajectory_t *t, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(t->text, sizeof t->text, format, arguments);
    va_end(arguments);
    return false;
}

static inline bool trajectory_must(trajectory_t *t, gantry_status_t status) {
    return status == GANTRY_OK || trajectory_fail(t, "%s", gantry_last_message());
}

/* ---- data: the generator of make_train_trajectory.py ---- */

static inline uint32_t trajectory_draw(uint32_t *state, uint32_t limit) {
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % limit;
}

static inline void trajectory_make_data(trajectory_t *t) {
    uint32_t state = 1;
    for (int i = 0; i < TRAJECTORY_STEPS * TRAJECTORY_BATCH; ++i) {
        t->labels[i] = (int32_t)trajectory_draw(&state, TRAJECTORY_CLASSES);
        for (int k = 0; k < TRAJECTORY_LENGTH; ++k)
            t->words[i * TRAJECTORY_LENGTH + k] =
                trajectory_draw(&state, 4) == 0
                    ? 10 + t->labels[i]
                    : (int32_t)trajectory_draw(&state, TRAJECTORY_WORDS);
    }
}

/* ---- the model ---- */

static inline bool trajectory_make_model(trajectory_t *t, const gantry_model_options_t *options) {
    static const gantry_initializer_t
        uniform = {.struct_size = sizeof uniform, .kind = GANTRY_INIT_RANDOM_UNIFORM, .seed = 1},
        glorot[] = {{.struct_size = sizeof uniform, .kind = GANTRY_INIT_GLOROT_UNIFORM, .seed = 2},
                    {.struct_size = sizeof uniform, .kind = GANTRY_INIT_GLOROT_UNIFORM, .seed = 3},
                    {.struct_size = sizeof uniform, .kind = GANTRY_INIT_GLOROT_UNIFORM, .seed = 4}};
    gantry_kernel_options_t kernel = {.kernel_initializer = &glorot[0]};
    gantry_model_t *model = t->model = gantry_sequential(t->runtime, options);
    if (!model) return trajectory_fail(t, "%s", gantry_last_message());
    (void)gantry_model_add(model, gantry_embedding(TRAJECTORY_WORDS, 7, &uniform, NULL));
    (void)gantry_model_add(model, gantry_conv1d_layer(64, 5, GANTRY_RELU, &kernel));
    (void)gantry_model_add(model, gantry_max_pool1d_layer(2, NULL));
    kernel.kernel_initializer = &glorot[1];
    (void)gantry_model_add(model, gantry_conv1d_layer(32, 3, GANTRY_RELU, &kernel));
    (void)gantry_model_add(model, gantry_max_pool1d_layer(2, NULL));
    (void)gantry_model_add(model, gantry_flatten(NULL));
    kernel.kernel_initializer = &glorot[2];
    (void)gantry_model_add(model, gantry_dense(TRAJECTORY_CLASSES, GANTRY_SOFTMAX, &kernel));
    return trajectory_must(
               t, gantry_model_compile(model,
                                       &(gantry_compile_options_t){
                                           .optimizer = gantry_nadam(NULL),
                                           .loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY})) &&
           trajectory_must(
               t, gantry_model_build(model, GANTRY_INT32, GANTRY_SHAPE(TRAJECTORY_LENGTH)));
}

/* ---- one run ---- */

static inline bool trajectory_near(trajectory_t *t, double given, double wanted, double bound,
                                   const char *what, size_t i) {
    const double size = wanted < 0 ? -wanted : wanted;
    const double error = given > wanted ? given - wanted : wanted - given;
    if (error <= bound * (size > 1 ? size : 1)) return true;
    return trajectory_fail(t, "%s %zu is %.17g; Keras has %.17g", what, i, given, wanted);
}

/* The loss is that of the weights before the step. */
static inline bool trajectory_step(trajectory_t *t, size_t step) {
    const gantry_array_t arrays[] = {
        {GANTRY_INT32, GANTRY_SHAPE(TRAJECTORY_BATCH, TRAJECTORY_LENGTH),
         t->words + step * TRAJECTORY_BATCH * TRAJECTORY_LENGTH},
        {GANTRY_INT32, GANTRY_SHAPE(TRAJECTORY_BATCH), t->labels + step * TRAJECTORY_BATCH}};
    gantry_dataset_t *batch =
        gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), TRAJECTORY_BATCH, false);
    double loss[1] = {0};
    const bool is_good = trajectory_must(t, gantry_model_evaluate(t->model, batch, loss, 1)) &&
                         trajectory_must(t, gantry_model_fit(t->model, batch, NULL));
    gantry_dataset_release(batch);
    return is_good &&
           trajectory_near(t, loss[0], t->losses[step], t->bound, "the loss of step", step);
}

static inline double trajectory_element(const void *data, gantry_dtype_t dtype, size_t i) {
    return dtype == GANTRY_FLOAT64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static inline bool trajectory_check_values(trajectory_t *t, const void *data, gantry_dtype_t dtype,
                                           size_t count, size_t index) {
    const double *wanted = t->weights + 3 * index;
    double sum = 0, size = 0;
    for (size_t i = 0; i < count; ++i) {
        const double x = trajectory_element(data, dtype, i);
        sum += x;
        size += x < 0 ? -x : x;
    }
    return trajectory_near(t, sum, wanted[0], t->bound * 100, "the sum of weight", index) &&
           trajectory_near(t, size, wanted[1], t->bound * 100, "the size of weight", index) &&
           trajectory_near(t, trajectory_element(data, dtype, count / 3), wanted[2], t->bound * 10,
                           "an element of weight", index);
}

/* The sum, the sum of absolute values, and one element of a weight. */
static inline bool trajectory_check_weight(trajectory_t *t, size_t index) {
    gantry_scope_t *scope = gantry_scope_begin(t->runtime, NULL);
    const gantry_tensor_t *value =
        gantry_variable_read(scope, gantry_model_variable(t->model, index, NULL));
    const size_t bytes = gantry_tensor_bytes(value);
    void *data = malloc(bytes);
    const bool is_good = data && trajectory_must(t, gantry_tensor_read(value, data, bytes)) &&
                         trajectory_check_values(t, data, gantry_tensor_dtype(value),
                                                 (size_t)gantry_tensor_elements(value), index);
    free(data);
    return trajectory_must(t, gantry_scope_end(scope)) && is_good;
}

static inline bool trajectory_run(trajectory_t *t, const gantry_model_options_t *options) {
    bool is_good = trajectory_make_model(t, options);
    for (size_t i = 0; i < TRAJECTORY_STEPS && is_good; ++i) is_good = trajectory_step(t, i);
    if (is_good && gantry_model_variable_count(t->model) != 7)
        is_good = trajectory_fail(t, "the model has no 7 weights");
    for (size_t i = 0; i < 7 && is_good; ++i) is_good = trajectory_check_weight(t, i);
    gantry_model_release(t->model);
    return is_good;
}

/* float64 to 1e-9, float32 to 1e-4. Prints and returns false where Keras is lost. */
static inline bool trajectory_follow(gantry_runtime_t *runtime, gantry_model_options_t options) {
    trajectory_t *t = calloc(1, sizeof *t);
    if (!t) return false;
    t->runtime = runtime;
    trajectory_make_data(t);
    options.dtype = GANTRY_FLOAT64;
    t->losses = trajectory_losses_float64;
    t->weights = trajectory_weights_float64;
    t->bound = 1e-9;
    bool is_good = trajectory_run(t, &options);
    options.dtype = GANTRY_FLOAT32;
    t->losses = trajectory_losses_float32;
    t->weights = trajectory_weights_float32;
    t->bound = 1e-4;
    is_good = is_good && trajectory_run(t, &options);
    if (!is_good) (void)fprintf(stderr, "%s\n", t->text);
    free(t);
    return is_good;
}

#endif
