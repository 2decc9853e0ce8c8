/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs of compare_random_models.py share: a model is trained, and its numbers are
 * compared with Keras's in data.bin. Numbers agree to 1e-9 of 1 and their size, those of metrics,
 * whose state is float32, to 1e-6. Header only. */
#ifndef TESTS_GOLDEN_COMPARE_RANDOM_MODELS_H
#define TESTS_GOLDEN_COMPARE_RANDOM_MODELS_H

#include <gantry_train/train.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NUMBERS = 100000, MOST_VALUES = 16 };

typedef struct options_t {
    const char *device; /* NULL with a strategy */
    const gantry_strategy_t *strategy;
} options_t;

/* What a model is given; the places of its weights are those in data. */
typedef struct given_t {
    const char *name;
    const gantry_array_t *arrays;
    size_t array_count;
    int64_t batch, epochs;
    const size_t *weights;
    size_t weight_count;
} given_t;

static unsigned char *data;
static gantry_runtime_t *runtime;
static double numbers[MOST_NUMBERS];
static size_t number_count, passed, failed;

static inline gantry_model_t *make_model(const options_t *options) {
    return gantry_functional(runtime, &(gantry_model_options_t){.dtype = GANTRY_FLOAT64,
                                                                .device = options->device,
                                                                .strategy = options->strategy});
}

static inline void keep(const double *values, size_t count) {
    if (number_count + count > MOST_NUMBERS) abort();
    memcpy(numbers + number_count, values, count * sizeof *values);
    number_count += count;
}

static inline gantry_status_t keep_epoch(gantry_model_t *model, int64_t epoch,
                                         const gantry_logs_t *logs, bool *stop, void *user) {
    (void)model, (void)epoch, (void)stop, (void)user;
    keep(logs->values, logs->count);
    return GANTRY_OK;
}

static inline gantry_status_t set_weights(gantry_model_t *model, const given_t *given) {
    gantry_status_t status = GANTRY_OK;
    if (gantry_model_variable_count(model) != given->weight_count)
        return gantry_fail(GANTRY_INTERNAL, "the number of weights is not Keras's");
    for (size_t i = 0; i < given->weight_count && status == GANTRY_OK; ++i) {
        const gantry_shape_t *shape = gantry_variable_shape(gantry_model_variable(model, i, NULL));
        status = gantry_model_set_variable(model, i, data + given->weights[i],
                                           (size_t)gantry_shape_elements(shape) * sizeof(double));
    }
    return status;
}

static inline gantry_status_t keep_weights(gantry_model_t *model) {
    gantry_status_t status = GANTRY_OK;
    for (size_t i = 0; i < gantry_model_variable_count(model) && status == GANTRY_OK; ++i) {
        gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
        const gantry_tensor_t *weight =
            gantry_variable_read(scope, gantry_model_variable(model, i, NULL));
        const size_t count = (size_t)gantry_tensor_elements(weight);
        double *values = malloc(count * sizeof *values + 1);
        status = gantry_tensor_read(weight, values, count * sizeof *values);
        keep(values, count);
        free(values);
        (void)gantry_scope_end(scope);
    }
    return status;
}

/* `count` predictions */
static inline gantry_status_t keep_predictions(gantry_model_t *model, const given_t *given,
                                               size_t count) {
    gantry_dataset_t *rows =
        gantry_dataset_batch(gantry_dataset_from_arrays(given->arrays, 1, false), 32, false);
    double *values = calloc(count + 1, sizeof *values);
    const gantry_status_t status =
        gantry_model_predict(model, rows, values, count * sizeof *values, NULL);
    keep(values, count);
    free(values);
    gantry_dataset_release(rows);
    return status;
}

static inline gantry_status_t train(gantry_model_t *model, const given_t *given, size_t expected) {
    const gantry_callback_t callback = {.struct_size = sizeof callback, .epoch_end = keep_epoch};
    const gantry_callback_t *callbacks[] = {&callback};
    double values[MOST_VALUES];
    size_t count = 0;
    gantry_dataset_t *batches = gantry_dataset_batch(
        gantry_dataset_from_arrays(given->arrays, given->array_count, false), given->batch, false);
    gantry_status_t status = set_weights(model, given);
    if (status == GANTRY_OK)
        status = gantry_model_fit(
            model, batches,
            &(gantry_fit_options_t){
                .epochs = given->epochs, .callbacks = callbacks, .callback_count = 1});
    if (status == GANTRY_OK) status = gantry_model_evaluate(model, batches, values, MOST_VALUES);
    while (status == GANTRY_OK && gantry_model_value_name(model, count)) ++count;
    keep(values, count);
    if (status == GANTRY_OK) status = keep_weights(model);
    if (status == GANTRY_OK && number_count <= expected)
        status = keep_predictions(model, given, expected - number_count);
    gantry_dataset_release(batches);
    return status;
}

/* The first values are a loss and its metrics, epoch by epoch and of the evaluation. */
static inline bool has_keras_numbers(const gantry_model_t *model, const given_t *given,
                                     const double *expected, size_t count) {
    size_t values = 0;
    while (gantry_model_value_name(model, values)) ++values;
    if (number_count != count)
        return printf("%s: %zu numbers, Keras has %zu\n", given->name, number_count, count) < 0;
    for (size_t i = 0; i < count; ++i) {
        const bool is_metric = i < values * (size_t)(given->epochs + 1) && i % values != 0;
        const double bound = (is_metric ? 1e-6 : 1e-9) * (1 + fabs(expected[i]));
        if (!(fabs(numbers[i] - expected[i]) <= bound))
            return printf("%s: number %zu of %zu is %.12g, Keras has %.12g\n", given->name, i,
                          count, numbers[i], expected[i]) < 0;
    }
    return true;
}

/* expected: Keras's numbers. Releases the model. */
static inline void compare(gantry_model_t *model, const gantry_compile_options_t *compiled,
                           const given_t *given, const void *expected, size_t count) {
    number_count = 0;
    gantry_status_t status = gantry_model_compile(model, compiled);
    if (status == GANTRY_OK) status = gantry_model_build(model, 0, (gantry_shape_t){0});
    if (status == GANTRY_OK) status = train(model, given, count);
    if (status != GANTRY_OK) (void)printf("%s: %s\n", given->name, gantry_last_message());
    const bool is_good =
        status == GANTRY_OK && has_keras_numbers(model, given, (const double *)expected, count);
    ++*(is_good ? &passed : &failed);
    gantry_model_release(model);
}

static inline bool read_data(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) return false;
    const long bytes = ftell(file);
    rewind(file);
    data = bytes > 0 ? malloc((size_t)bytes) : NULL;
    const bool is_read = data && fread(data, 1, (size_t)bytes, file) == (size_t)bytes;
    (void)fclose(file);
    return is_read;
}

/* Runs the models of `each` on a device, or mirrored. */
static inline int compare_models(int count, char **arguments, void (*each)(const options_t *)) {
    static const char *const devices[] = {"CPU:0", "CPU:1"};
    const gantry_runtime_options_t chosen = {.struct_size = sizeof chosen,
                                             .opencl_cpu_as_gpu = GANTRY_ON};
    gantry_strategy_t *strategy = NULL;
    if (count != 3 || !read_data(arguments[1])) return 2;
    const bool is_mirrored = strcmp(arguments[2], "mirrored") == 0;
    if (gantry_runtime_create(&chosen, &runtime) != GANTRY_OK ||
        (is_mirrored && gantry_set_logical_cpu_devices(runtime, 2) != GANTRY_OK) ||
        (is_mirrored && !(strategy = gantry_mirrored_strategy(runtime, devices, 2)))) {
        (void)fprintf(stderr, "%s\n", gantry_last_message());
        return 2;
    }
    each(&(options_t){.device = is_mirrored ? NULL : arguments[2], .strategy = strategy});
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
    free(data);
    (void)printf("%zu passed, %zu failed, 0 skipped\n", passed, failed);
    return failed > 0 || passed == 0;
}

#define COMPARE_MAIN \
    int main(int count, char **arguments) { return compare_models(count, arguments, compare_all); }

#endif
