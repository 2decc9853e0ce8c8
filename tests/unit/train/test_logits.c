/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: For cross-entropies of outputs that are exactly 0 and 1, a model finds the logits before
 * its softmax or sigmoid and follows Keras on TensorFlow. */
#define _XOPEN_SOURCE 700

#include "test.h"
#include "train_case.h"

#include <gantry_train/train.h>

enum { ROWS = 6, FEATURES = 3, CLASSES = 4, STEPS = 4 };

typedef struct logits_case_t {
    const char *name;
    int loss;
    bool is_deep; /* rows of rows */
    gantry_dtype_t dtype;
    const double *wanted; /* losses of the steps, then the weights */
} logits_case_t;

#include "train_logits.inc"

static void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

static bool is_one_bit(const logits_case_t *c) { return strcmp(c->name, "one_bit") == 0; }

static int64_t units_of(const logits_case_t *c) { return is_one_bit(c) ? 1 : CLASSES; }

/* ---- data: the generator of make_logits_cases.py ---- */

static void put(void *out, gantry_dtype_t dtype, size_t i, double value) {
    if (dtype == GANTRY_FLOAT64)
        ((double *)out)[i] = value;
    else
        ((float *)out)[i] = (float)value;
}

static void make_numbers(void *out, gantry_dtype_t dtype, size_t count, double scale) {
    uint32_t state = 7;
    for (size_t i = 0; i < count; ++i) {
        state = state * 1664525u + 1013904223u;
        put(out, dtype, i, ((double)((state >> 8) % 129) - 64) / 64 * scale);
    }
}

static gantry_dataset_t *make_data(const logits_case_t *c) {
    double x[2 * ROWS * FEATURES], y[2 * ROWS * CLASSES] = {0};
    int32_t classes[2 * ROWS];
    const size_t rows = c->is_deep ? 2 * ROWS : ROWS;
    gantry_array_t arrays[] = {{c->dtype, GANTRY_SHAPE(ROWS, FEATURES), x},
                               {c->dtype, GANTRY_SHAPE(ROWS, CLASSES), y}};
    make_numbers(x, c->dtype, rows * FEATURES, 4);
    for (size_t i = 0; i < rows; ++i) {
        classes[i] = (int32_t)(i * 3 % CLASSES);
        if (is_one_bit(c))
            put(y, c->dtype, i, classes[i] % 2);
        else
            put(y, c->dtype, i * CLASSES + (size_t)classes[i], 1);
    }
    if (c->is_deep) arrays[0].shape = GANTRY_SHAPE(ROWS, 2, FEATURES);
    if (c->is_deep) arrays[1].shape = GANTRY_SHAPE(ROWS, 2, CLASSES);
    if (is_one_bit(c)) arrays[1].shape = c->is_deep ? GANTRY_SHAPE(ROWS, 2) : GANTRY_SHAPE(ROWS);
    if (c->loss == GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY) {
        arrays[1] = (gantry_array_t){GANTRY_INT32, GANTRY_SHAPE(ROWS), classes};
        if (c->is_deep) arrays[1].shape = GANTRY_SHAPE(ROWS, 2);
    }
    return gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, true), ROWS, false);
}

/* ---- the models of make_logits_cases.py ---- */

static void add_layers(gantry_model_t *model, const logits_case_t *c) {
    const bool is_sigmoid = strcmp(c->name, "dense_sigmoid") == 0 ||
                            strcmp(c->name, "sigmoid_of_classes") == 0 || is_one_bit(c);
    const bool is_apart = strcmp(c->name, "activation_softmax") == 0;
    (void)gantry_model_add(model, gantry_dense(units_of(c),
                                               is_sigmoid ? GANTRY_SIGMOID
                                               : is_apart ? GANTRY_LINEAR
                                                          : GANTRY_SOFTMAX,
                                               NULL));
    if (is_apart) (void)gantry_model_add(model, gantry_activation_layer(GANTRY_SOFTMAX, NULL));
    if (strcmp(c->name, "behind_a_reshape") == 0)
        (void)gantry_model_add(model, gantry_reshape_layer(GANTRY_SHAPE(CLASSES), NULL));
}

static gantry_model_t *make_model(gantry_runtime_t *runtime, gantry_model_options_t options,
                                  const logits_case_t *c) {
    double kernel[FEATURES * CLASSES], bias[CLASSES];
    options.dtype = c->dtype;
    gantry_model_t *model = gantry_sequential(runtime, &options);
    add_layers(model, c);
    must(gantry_model_compile(
        model, &(gantry_compile_options_t){
                   .optimizer = gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 0.5}),
                   .loss = (gantry_loss_t)c->loss}));
    must(gantry_model_build(model, c->dtype,
                            c->is_deep ? GANTRY_SHAPE(2, FEATURES) : GANTRY_SHAPE(FEATURES)));
    const size_t units = (size_t)units_of(c), bytes = units * gantry_dtype_size(c->dtype);
    make_numbers(kernel, c->dtype, FEATURES * units, 64);
    make_numbers(bias, c->dtype, units, 1);
    must(gantry_model_set_variable(model, 0, kernel, FEATURES * bytes));
    must(gantry_model_set_variable(model, 1, bias, bytes));
    return model;
}

static void expect_near(const logits_case_t *c, double given, size_t i) {
    const double bound = c->dtype == GANTRY_FLOAT64 ? 1e-12 : 1e-5, wanted = c->wanted[i];
    if (!(fabs(given - wanted) <= bound * (1 + fabs(wanted))))
        fail_msg("%s%s, %s: number %zu is %.17g; Keras has %.17g", c->name,
                 c->is_deep ? ", rows of rows" : "", gantry_dtype_name(c->dtype), i, given, wanted);
}

static void expect_weights(gantry_runtime_t *runtime, gantry_model_t *model,
                           const logits_case_t *c) {
    double data[FEATURES * CLASSES];
    size_t at = STEPS;
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    for (size_t v = 0; v < 2; ++v) {
        const gantry_tensor_t *value =
            gantry_variable_read(scope, gantry_model_variable(model, v, NULL));
        must(gantry_tensor_read(value, data, gantry_tensor_bytes(value)));
        for (int64_t i = 0; i < gantry_tensor_elements(value); ++i)
            expect_near(c, train_number(data, c->dtype, (size_t)i), at++);
    }
    must(gantry_scope_end(scope));
    assert_int_equal(at, STEPS + (FEATURES + 1) * units_of(c));
}

static void follow(gantry_runtime_t *runtime, gantry_model_options_t options,
                   const logits_case_t *c) {
    gantry_model_t *model = make_model(runtime, options, c);
    gantry_dataset_t *data = make_data(c);
    for (size_t i = 0; i < STEPS; ++i) {
        double loss;
        must(gantry_model_evaluate(model, data, &loss, 1));
        expect_near(c, loss, i);
        must(gantry_model_fit(model, data, NULL));
    }
    expect_weights(runtime, model, c);
    gantry_dataset_release(data);
    gantry_model_release(model);
}

static void follow_all(gantry_runtime_t *runtime, gantry_model_options_t options) {
    for (size_t i = 0; i < sizeof logits_cases / sizeof logits_cases[0]; ++i)
        follow(runtime, options, &logits_cases[i]);
}

/* ---- the tests ---- */

static gantry_runtime_t *open_cpus(size_t count) {
    gantry_runtime_t *runtime;
    const gantry_runtime_options_t options = {.struct_size = sizeof options, .backends = "cpu"};
    must(gantry_runtime_create(&options, &runtime));
    must(gantry_set_logical_cpu_devices(runtime, count));
    return runtime;
}

TEST(on_the_cpu) {
    gantry_runtime_t *runtime = open_cpus(1);
    follow_all(runtime, (gantry_model_options_t){.device = "/CPU:0"});
    gantry_runtime_release(runtime);
}

TEST(on_two_virtual_cpus) {
    gantry_runtime_t *runtime = open_cpus(2);
    gantry_strategy_t *strategy = gantry_mirrored_strategy(runtime, NULL, 0);
    if (!strategy) fail_msg("%s", gantry_last_message());
    follow_all(runtime, (gantry_model_options_t){.strategy = strategy});
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
}

TEST(on_pocl) {
    gantry_runtime_t *runtime = train_open_gpu();
    follow_all(runtime, (gantry_model_options_t){.device = "/GPU:0"});
    gantry_runtime_release(runtime);
}

int main(void) { return test_main(); }
