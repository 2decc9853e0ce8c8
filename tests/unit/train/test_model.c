/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Models are put together, built, trained, saved and loaded; what does not fit is refused,
 * and nothing is lost where memory runs out.
 * Promise: A training that is saved and loaded takes the same steps as one that goes on, bit for
 * bit.
 * Promise: Whichever allocation of a training fails, nothing leaks.
 * Promise: A training takes labels and weights of samples of another type and shape than the first
 * batch had, if the loss does, with the same numbers.
 * Promise: Labels of each number type that name no class of a loss or metric are refused before the
 * step.
 *
 * test_trajectory.c compares their numbers with Keras's. */
#define _XOPEN_SOURCE 700

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "function_fixture.h"
#include "test.h"
#include "train_heap.h"
#include "turkish.h"

#include <gantry_train/train.h>

enum { ROWS = 64, BATCH = 16 };

static runtime_fixture_t fixture;
static float points[ROWS * 2];
static int32_t labels[ROWS];

static int set_up(void **state) {
    (void)runtime_fixture_set_up(state);
    train_heap_reset(-1);
    runtime_fixture_open(&fixture, 0);
    for (int i = 0; i < ROWS; ++i) {
        points[2 * i] = (float)(i % 8) / 4 - 1;
        points[2 * i + 1] = (float)(i / 8) / 4 - 1;
        labels[i] = points[2 * i] * points[2 * i + 1] > 0;
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    runtime_fixture_close(&fixture);
    assert_int_equal(train_heap_live(), 0);
    return 0;
}

static gantry_dataset_t *make_batches(void) {
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, 2), points},
                                     {GANTRY_INT32, GANTRY_SHAPE(ROWS), labels}};
    return gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), BATCH, false);
}

static gantry_model_t *make_model(void) {
    gantry_metric_t *metrics[] = {gantry_sparse_categorical_accuracy(NULL)};
    gantry_model_t *model =
        gantry_sequential(fixture.runtime, &(gantry_model_options_t){.seed = 3});
    (void)gantry_model_add(model, gantry_dense(16, GANTRY_TANH, NULL));
    (void)gantry_model_add(model, gantry_batch_normalization(NULL));
    (void)gantry_model_add(model, gantry_dense(2, GANTRY_SOFTMAX, NULL));
    (void)gantry_model_compile(
        model, &(gantry_compile_options_t){
                   .optimizer = gantry_adam(&(gantry_adam_options_t){.learning_rate = 0.02}),
                   .loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY,
                   .metrics = metrics,
                   .metric_count = 1});
    return model;
}

static void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

/* ---- what works ---- */

TEST(model_learns) {
    gantry_model_t *model = make_model();
    gantry_dataset_t *batches = make_batches();
    double values[2];
    float outputs[ROWS * 2];
    size_t needed;
    must(gantry_model_fit(model, batches, &(gantry_fit_options_t){.epochs = 200}));
    must(gantry_model_evaluate(model, batches, values, 2));
    if (!(values[1] > 0.9)) fail_msg("accuracy %g, loss %g", values[1], values[0]);
    assert_string_equal(gantry_model_value_name(model, 0), "loss");
    assert_string_equal(gantry_model_value_name(model, 1), "sparse_categorical_accuracy");
    must(gantry_model_predict(model, batches, outputs, sizeof outputs, &needed));
    assert_int_equal(needed, sizeof outputs);
    for (int i = 0; i < ROWS; ++i) assert_float_equal(outputs[2 * i] + outputs[2 * i + 1], 1, 1e-5);
    gantry_dataset_release(batches);
    gantry_model_release(model);
}

static void train_on(gantry_dtype_t dtype, const void *data, bool builds, double *out_loss,
                     float *out_outputs) {
    const gantry_array_t arrays[] = {{dtype, GANTRY_SHAPE(ROWS, 2), data},
                                     {GANTRY_INT32, GANTRY_SHAPE(ROWS), labels}};
    gantry_dataset_t *batches =
        gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), BATCH, false);
    gantry_model_t *model = make_model();
    double values[2];
    if (builds) must(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(2)));
    must(gantry_model_fit(model, batches, NULL));
    must(gantry_model_measure_replicas(model, batches, values, 1));
    must(gantry_model_evaluate(model, batches, values, 2));
    must(gantry_model_predict(model, batches, out_outputs, ROWS * 2 * sizeof(float), NULL));
    *out_loss = values[0];
    gantry_model_release(model);
    gantry_dataset_release(batches);
}

/* As in Keras, floats of a batch become the model's type, and where that is known other numbers,
 * too: of .npy files, which have float64, and of images, which have bytes. */
TEST(numbers_of_other_types_are_converted) {
    double doubles[ROWS * 2], loss, wanted_loss;
    float floats[ROWS * 2], outputs[ROWS * 2], wanted[ROWS * 2];
    uint8_t bytes[ROWS * 2];
    for (int i = 0; i < ROWS * 2; ++i) {
        bytes[i] = (uint8_t)(i * 37 % 256);
        doubles[i] = floats[i] = bytes[i];
    }
    train_on(GANTRY_FLOAT32, floats, false, &wanted_loss, wanted);
    assert_true(isfinite(wanted_loss));
    train_on(GANTRY_FLOAT64, doubles, false, &loss, outputs);
    assert_true(loss == wanted_loss);
    assert_memory_equal(outputs, wanted, sizeof wanted);
    train_on(GANTRY_FLOAT64, doubles, true, &loss, outputs);
    assert_memory_equal(outputs, wanted, sizeof wanted);
    train_on(GANTRY_UINT8, bytes, true, &loss, outputs);
    assert_true(loss == wanted_loss);
    assert_memory_equal(outputs, wanted, sizeof wanted);
}

/* Two inputs, a layer that is used twice, and a sum: x W + y W, by hand and by the model. */
TEST(functional_model_shares_a_layer) {
    gantry_model_t *model = gantry_functional(fixture.runtime, NULL);
    gantry_layer_t *shared = gantry_dense(2, GANTRY_LINEAR, NULL);
    const float kernel[] = {1, 2, 3, 4};
    const int32_t x = gantry_model_input(model, GANTRY_FLOAT32, GANTRY_SHAPE(2)),
                  y = gantry_model_input(model, GANTRY_FLOAT32, GANTRY_SHAPE(2));
    const int32_t sides[] = {gantry_model_apply(model, shared, &x, 1),
                             gantry_model_apply(model, shared, &y, 1)};
    (void)gantry_model_set_output(model,
                                  gantry_model_apply(model, gantry_add_layer(NULL), sides, 2));
    must(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SCALAR));
    assert_int_equal(gantry_model_variable_count(model), 2);
    must(gantry_model_set_variable(model, 0, kernel, sizeof kernel));
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    const gantry_tensor_t *inputs[] = {
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1, 2), (float[]){1, 0}, 8),
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1, 2), (float[]){0, 1}, 8)};
    float out[2];
    must(gantry_tensor_read(gantry_model_call(model, scope, inputs, 2, false), out, sizeof out));
    assert_float_equal(out[0], 4, 0);
    assert_float_equal(out[1], 6, 0);
    must(gantry_scope_end(scope));
    gantry_model_release(model);
}

TEST(summary_is_a_table) {
    gantry_model_t *model = make_model();
    char text[4096];
    size_t needed;
    must(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(2)));
    must(gantry_model_summary(model, text, sizeof text, &needed));
    assert_int_equal(strlen(text), needed);
    const char *row = strstr(text, " dense_1 (Dense) ");
    assert_non_null(row);
    assert_int_equal(strncmp(strchr(row, '\n') - 4, "  34", 4), 0);
    assert_non_null(strstr(text, "Total params: 146 (584.00 B)"));
    assert_non_null(strstr(text, "Non-trainable params: 32 (128.00 B)"));
    gantry_model_release(model);
}

/* A name of the program's is no name of the model's, and leaves no gap. */
TEST(layers_get_the_first_free_name) {
    char name[32];
    gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
    must(gantry_model_add(
        model, gantry_dense(1, GANTRY_LINEAR, &(gantry_kernel_options_t){.name = "dense_1"})));
    for (int i = 0; i < 3; ++i) must(gantry_model_add(model, gantry_dense(1, GANTRY_LINEAR, NULL)));
    must(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(2)));
    for (size_t i = 0; i < 4; ++i) {
        static const char *const wanted[] = {"dense_1", "dense", "dense_2", "dense_3"};
        (void)snprintf(name, sizeof name, "%s/kernel", wanted[i]);
        assert_string_equal(gantry_variable_name(gantry_model_variable(model, 2 * i, NULL)), name);
    }
    gantry_model_release(model);
}

/* Saved after one epoch, and trained on from the file: the weights of two epochs, bit for bit. */
TEST(loaded_training_takes_the_same_steps) {
    char path[] = "/tmp/gantry_model_XXXXXX";
    float wanted[32], got[32];
    gantry_dataset_t *batches = make_batches();
    (void)close(mkstemp(path));
    gantry_model_t *model = make_model();
    must(gantry_model_fit(model, batches, NULL));
    must(gantry_model_save(model, path));
    must(gantry_model_fit(model, batches, NULL));
    gantry_model_t *second = make_model();
    must(gantry_model_build(second, GANTRY_FLOAT32, GANTRY_SHAPE(2)));
    must(gantry_model_load(second, path));
    must(gantry_model_fit(second, batches, NULL));
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    for (size_t i = 0; i < gantry_model_variable_count(model); ++i) {
        const gantry_tensor_t *a =
            gantry_variable_read(scope, gantry_model_variable(model, i, NULL));
        const gantry_tensor_t *b =
            gantry_variable_read(scope, gantry_model_variable(second, i, NULL));
        must(gantry_tensor_read(a, wanted, gantry_tensor_bytes(a)));
        must(gantry_tensor_read(b, got, gantry_tensor_bytes(b)));
        assert_memory_equal(wanted, got, gantry_tensor_bytes(a));
    }
    must(gantry_scope_end(scope));
    gantry_model_release(second);
    gantry_model_release(model);
    gantry_dataset_release(batches);
    (void)unlink(path);
}

/* ---- progress and callbacks ---- */

static void keep_text(const char *text, void *user) {
    char *all = user;
    const size_t used = strlen(all);
    (void)snprintf(all + used, 4096 - used, "%s", text);
}

TEST(progress_is_written) {
    static char text[4096];
    gantry_model_t *model = make_model();
    gantry_dataset_t *batches = make_batches();
    text[0] = '\0';
    must(gantry_model_fit(
        model, batches,
        &(gantry_fit_options_t){
            .epochs = 2, .validation = batches, .write = keep_text, .write_user = text}));
    assert_non_null(strstr(text, "Epoch 1/2\n4/4 - "));
    assert_non_null(strstr(text, " - loss: "));
    assert_non_null(strstr(text, " - val_sparse_categorical_accuracy: "));
    gantry_dataset_release(batches);
    gantry_model_release(model);
}

static double halve(int64_t epoch, double rate, void *user) {
    ++*(int *)user;
    return epoch == 0 ? rate : rate / 2;
}

TEST(callbacks_act) {
    char path[] = "/tmp/gantry_log_XXXXXX", line[256];
    int calls = 0, lines = 0;
    gantry_model_t *model = make_model();
    gantry_dataset_t *batches = make_batches();
    (void)close(mkstemp(path));
    gantry_callback_t *callbacks[] = {gantry_early_stopping(&(gantry_early_stopping_options_t){
                                          .monitor = "loss", .min_delta = 100, .patience = 2}),
                                      gantry_csv_logger(path),
                                      gantry_learning_rate_scheduler(halve, &calls)};
    must(
        gantry_model_fit(model, batches,
                         &(gantry_fit_options_t){.epochs = 10,
                                                 .callbacks = (const gantry_callback_t **)callbacks,
                                                 .callback_count = 3}));
    assert_int_equal(calls, 3); /* the first epoch is the best one, and two are waited for */
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (lines++ == 0) assert_string_equal(line, "epoch,loss,sparse_categorical_accuracy\n");
    }
    (void)fclose(file);
    assert_int_equal(lines, 4);
    for (size_t i = 0; i < 3; ++i) gantry_callback_release(callbacks[i]);
    gantry_dataset_release(batches);
    gantry_model_release(model);
    (void)unlink(path);
}

TEST(logs_and_states_are_those_of_the_c_locale) {
    char path[] = "/tmp/gantry_log_XXXXXX", line[256], kept[256], again[256];
    if (!turkish_begin()) {
        print_message("SKIP: no Turkish locale, and localedef cannot make it\n");
        skip();
    }
    gantry_model_t *model = make_model();
    gantry_dataset_t *batches = make_batches();
    (void)close(mkstemp(path));
    gantry_callback_t *callbacks[] = {
        gantry_early_stopping(&(gantry_early_stopping_options_t){.monitor = "loss"}),
        gantry_csv_logger(path)};
    must(gantry_model_fit(
        model, batches,
        &(gantry_fit_options_t){
            .epochs = 1, .callbacks = (const gantry_callback_t **)callbacks, .callback_count = 2}));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    double loss, accuracy;
    assert_non_null(fgets(line, sizeof line, file));
    assert_non_null(fgets(line, sizeof line, file));
    (void)fclose(file);
    const gantry_callback_t *stopping = callbacks[0];
    must(stopping->get_state(kept, sizeof kept, stopping->user));
    assert_null(strchr(kept, ','));
    must(stopping->set_state(kept, stopping->user));
    must(stopping->get_state(again, sizeof again, stopping->user));
    assert_string_equal(kept, again);
    turkish_end();
    assert_int_equal(sscanf(line, "0,%lf,%lf\n", &loss, &accuracy), 2);
    must(stopping->set_state(kept, stopping->user));
    for (size_t i = 0; i < 2; ++i) gantry_callback_release(callbacks[i]);
    gantry_dataset_release(batches);
    gantry_model_release(model);
    (void)unlink(path);
}

static gantry_status_t give_up(gantry_model_t *model, int64_t step, bool *stop, void *user) {
    (void)model, (void)stop, (void)user;
    return step == 1 ? gantry_fail(GANTRY_DATA_LOSS, "the callback gives up") : GANTRY_OK;
}

TEST(failing_callback_ends_the_training) {
    const gantry_callback_t callback = {.struct_size = sizeof callback, .step_end = give_up};
    const gantry_callback_t *const list[] = {&callback};
    gantry_model_t *model = make_model();
    gantry_dataset_t *batches = make_batches();
    expect_refusal(
        gantry_model_fit(model, batches,
                         &(gantry_fit_options_t){.callbacks = list, .callback_count = 1}),
        GANTRY_DATA_LOSS, "the callback gives up");
    must(gantry_model_fit(model, batches, NULL)); /* the model stays usable */
    gantry_dataset_release(batches);
    gantry_model_release(model);
}

/* ---- bad input ---- */

TEST(failed_layer_is_the_models_error) {
    gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
    expect_refusal(gantry_model_add(model, gantry_dense(0, GANTRY_RELU, NULL)),
                   GANTRY_INVALID_ARGUMENT,
                   "layer Dense: the number of outputs is 0; a positive number is accepted");
    expect_refusal(gantry_model_add(model, gantry_flatten(NULL)), GANTRY_INVALID_ARGUMENT,
                   "layer Dense: the number of outputs is 0");
    expect_refusal(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(2)),
                   GANTRY_INVALID_ARGUMENT, "the number of outputs is 0");
    gantry_model_release(model);
}

TEST(wrong_rank_names_the_layer) {
    gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
    must(gantry_model_add(model, gantry_conv1d_layer(4, 3, GANTRY_RELU, NULL)));
    expect_refusal(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(2)),
                   GANTRY_INVALID_ARGUMENT,
                   "layer Conv1D: the input has shape [-1,2]; rank 3 is accepted");
    gantry_model_release(model);
}

TEST(empty_data_and_missing_labels_are_refused) {
    const gantry_array_t array = {GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, 2), points};
    gantry_dataset_t *lone =
        gantry_dataset_batch(gantry_dataset_from_arrays(&array, 1, false), BATCH, false);
    gantry_dataset_t *none = gantry_dataset_take(make_batches(), 0);
    gantry_model_t *model = make_model();
    expect_refusal(gantry_model_fit(model, none, NULL), GANTRY_INVALID_ARGUMENT,
                   "the data set is empty");
    expect_refusal(gantry_model_fit(model, lone, NULL), GANTRY_INVALID_ARGUMENT,
                   "a batch has 1 components; 1 inputs, and labels, are accepted");
    gantry_dataset_release(none);
    gantry_dataset_release(lone);
    gantry_model_release(model);
}

TEST(labels_out_of_range_are_refused) {
    gantry_model_t *model = make_model();
    gantry_dataset_t *batches = make_batches();
    labels[5] = 7;
    expect_refusal(gantry_model_fit(model, batches, NULL), GANTRY_INVALID_ARGUMENT, "7");
    labels[5] = 1;
    must(gantry_model_fit(model, batches, NULL));
    gantry_dataset_release(batches);
    gantry_model_release(model);
}

/* Labels of any number type: refused before a step, so that the model stays as it was. */
static void expect_refused_label(gantry_dtype_t dtype, const void *given, const char *text) {
    gantry_model_t *model = make_model();
    gantry_dataset_t *good = make_batches();
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(2, 2), points},
                                     {dtype, GANTRY_SHAPE(2), given}};
    gantry_dataset_t *data =
        gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), 2, false);
    expect_refusal(gantry_model_fit(model, data, NULL), GANTRY_INVALID_ARGUMENT, text);
    must(gantry_model_fit(model, good, NULL));
    gantry_dataset_release(data);
    gantry_dataset_release(good);
    gantry_model_release(model);
}

TEST(labels_of_any_type_are_checked) {
    expect_refused_label(GANTRY_FLOAT32, (float[]){1, 7.5F}, "a label value of 7.5");
    expect_refused_label(GANTRY_FLOAT32, (float[]){NAN, 1}, "nan");
    expect_refused_label(GANTRY_FLOAT64, (double[]){0, -1}, "a label value of -1");
    expect_refused_label(GANTRY_UINT64, (uint64_t[]){0, UINT64_MAX},
                         "a label value of 18446744073709551615");
    expect_refused_label(GANTRY_INT8, (int8_t[]){0, -3}, "a label value of -3");
    expect_refused_label(GANTRY_FLOAT16, (uint16_t[]){0x3c00, 0x4880},
                         "labels[1]: Received a label value of 9");
    expect_refused_label(GANTRY_FLOAT16, (uint16_t[]){0xbc00, 0},
                         "labels[0]: Received a label value of -1");
    expect_refused_label(GANTRY_BFLOAT16, (uint16_t[]){0, 0x4110},
                         "labels[1]: Received a label value of 9");
    expect_refused_label(GANTRY_BFLOAT16, (uint16_t[]){0x7fc0, 0}, "a label value of nan");
    expect_refused_label(GANTRY_FLOAT8_E5M2, (uint8_t[]){0x3c, 0x42}, "a label value of 3");
    expect_refused_label(GANTRY_FLOAT8_E5M2, (uint8_t[]){0x7c, 0}, "a label value of inf");
    expect_refused_label(GANTRY_FLOAT8_E4M3FN, (uint8_t[]){0, 0x7e}, "a label value of 448");
    expect_refused_label(GANTRY_FLOAT8_E4M3FN, (uint8_t[]){0x7f, 0}, "a label value of nan");
}

/* Fits and evaluates on the rows with labels of this type and width, 0: none, and returns the
 * loss. */
static double go_on(gantry_model_t *model, gantry_dtype_t dtype, int64_t width,
                    gantry_dtype_t weights) {
    double made[2][ROWS], numbers[2];
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, "/CPU:0");
    const gantry_tensor_t *given =
        gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(ROWS), labels, sizeof labels);
    const gantry_dtype_t types[] = {dtype, weights};
    for (size_t i = 0; i < 2; ++i) {
        const gantry_tensor_t *cast = gantry_cast(
            scope, i ? gantry_add(scope, given, gantry_ones_like(scope, given)) : given, types[i]);
        must(gantry_tensor_read(cast, made[i], gantry_tensor_bytes(cast)));
    }
    must(gantry_scope_end(scope));
    const gantry_array_t arrays[] = {
        {GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, 2), points},
        {dtype, width ? GANTRY_SHAPE(ROWS, width) : GANTRY_SHAPE(ROWS), made[0]},
        {weights, GANTRY_SHAPE(ROWS), made[1]}};
    gantry_dataset_t *data =
        gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 3, true), BATCH, false);
    must(gantry_model_fit(model, data, NULL));
    must(gantry_model_evaluate(model, data, numbers, 2));
    gantry_dataset_release(data);
    return numbers[0];
}

TEST(labels_and_weights_of_another_type_are_accepted) {
    static const gantry_dtype_t types[] = {
        GANTRY_INT64,    GANTRY_UINT8,       GANTRY_INT8,    GANTRY_UINT16,  GANTRY_INT16,
        GANTRY_UINT32,   GANTRY_UINT64,      GANTRY_FLOAT32, GANTRY_FLOAT64, GANTRY_FLOAT16,
        GANTRY_BFLOAT16, GANTRY_FLOAT8_E5M2, GANTRY_BOOL};
    gantry_model_t *model = make_model(), *same = make_model();
    gantry_dataset_t *batches = make_batches();
    must(gantry_model_fit(model, batches, NULL));
    must(gantry_model_fit(same, batches, NULL));
    for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
        const double usual = go_on(same, GANTRY_INT32, 0, GANTRY_FLOAT32);
        const gantry_dtype_t weights = types[i] == GANTRY_BOOL ? GANTRY_INT32 : types[i];
        assert_true(go_on(model, types[i], i % 2, weights) == usual);
    }
    gantry_dataset_release(batches);
    gantry_model_release(model);
    gantry_model_release(same);
}

static const gantry_tensor_t *first_of(gantry_scope_t *scope, const gantry_tensor_t *given,
                                       const gantry_tensor_t *predictions, void *user) {
    (void)given, (void)user;
    return gantry_sum(scope, predictions, NULL);
}

TEST(labels_of_a_metric_alone_are_checked) {
    const gantry_loss_options_t own = {.function = first_of};
    gantry_metric_t *metrics[] = {
        gantry_loss_metric(GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY, NULL, NULL)};
    gantry_model_t *model = make_model();
    must(gantry_model_compile(model, &(gantry_compile_options_t){.optimizer = gantry_sgd(NULL),
                                                                 .loss = GANTRY_OWN_LOSS,
                                                                 .loss_options = &own,
                                                                 .metrics = metrics,
                                                                 .metric_count = 1}));
    gantry_dataset_t *batches = make_batches();
    labels[5] = 7;
    expect_refusal(gantry_model_fit(model, batches, NULL), GANTRY_INVALID_ARGUMENT,
                   "model sequential: labels[5]: Received a label value of 7");
    labels[5] = 1;
    must(gantry_model_fit(model, batches, NULL));
    gantry_dataset_release(batches);
    gantry_model_release(model);
}

TEST(options_that_a_step_cannot_follow_are_refused) {
    const gantry_loss_options_t none = {.struct_size = sizeof none,
                                        .reduction = GANTRY_REDUCTION_NONE};
    const gantry_callback_t *const list[] = {NULL};
    gantry_model_t *model = make_model(), *refused = make_model();
    gantry_dataset_t *batches = make_batches();
    expect_refusal(
        gantry_model_compile(refused, &(gantry_compile_options_t){.optimizer = gantry_sgd(NULL),
                                                                  .loss = GANTRY_HUBER,
                                                                  .loss_options = &none}),
        GANTRY_INVALID_ARGUMENT, "loss_options have GANTRY_REDUCTION_NONE");
    expect_refusal(
        gantry_model_fit(model, batches,
                         &(gantry_fit_options_t){.callbacks = list, .callback_count = 1}),
        GANTRY_INVALID_ARGUMENT, "callback 0 is NULL");
    gantry_dataset_release(batches);
    gantry_model_release(refused);
    gantry_model_release(model);
}

TEST(steps_and_weights_of_classes_that_do_not_fit_are_refused) {
    static const double weights[] = {1, 2};
    const struct {
        gantry_fit_options_t options;
        const char *text;
    } cases[] = {
        {{.steps_per_epoch = -1}, "-1 steps_per_epoch and validation_freq 0; 0 and more"},
        {{.validation_freq = -2}, "0 steps_per_epoch and validation_freq -2; 0 and more"},
        {{.steps_per_epoch = 2, .backup = "backup"}, "steps_per_epoch 2 with a backup"},
        {{.class_weights = weights}, "0 class_weights in an array; an array of 1 and more"},
        {{.class_weight_count = 2}, "2 class_weights at NULL; an array of 1 and more"},
        {{.class_weights = weights, .class_weight_count = 1},
         "labels[0] is 1; class_weights has 1 classes, and a label from 0 to 0 is accepted"}};
    gantry_model_t *model = make_model();
    gantry_dataset_t *batches = make_batches();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
        expect_refusal(gantry_model_fit(model, batches, &cases[i].options), GANTRY_INVALID_ARGUMENT,
                       cases[i].text);
    gantry_dataset_release(batches);
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, 2), points},
                                     {GANTRY_INT32, GANTRY_SHAPE(ROWS), labels},
                                     {GANTRY_FLOAT32, GANTRY_SHAPE(ROWS), points}};
    batches = gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 3, false), BATCH, false);
    expect_refusal(gantry_model_fit(
                       model, batches,
                       &(gantry_fit_options_t){.class_weights = weights, .class_weight_count = 2}),
                   GANTRY_INVALID_ARGUMENT, "which has weights of samples; 2 are accepted");
    gantry_dataset_release(batches);
    const gantry_array_t without_classes[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, 2), points},
                                              {GANTRY_INT32, GANTRY_SHAPE(ROWS, 0), labels}};
    batches =
        gantry_dataset_batch(gantry_dataset_from_arrays(without_classes, 2, false), BATCH, false);
    expect_refusal(gantry_model_fit(
                       model, batches,
                       &(gantry_fit_options_t){.class_weights = weights, .class_weight_count = 2}),
                   GANTRY_INVALID_ARGUMENT, "class_weights with labels of shape [");
    gantry_dataset_release(batches);
    gantry_model_release(model);
}

/* As in Keras. Weights of 1 change no number. */
TEST(batches_may_have_weights_in_one_training_alone) {
    static const double ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    static float same[ROWS];
    for (int i = 0; i < ROWS; ++i) same[i] = 1;
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, 2), points},
                                     {GANTRY_INT32, GANTRY_SHAPE(ROWS), labels},
                                     {GANTRY_FLOAT32, GANTRY_SHAPE(ROWS), same}};
    gantry_dataset_t *plain = make_batches(),
                     *weighted = gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 3, false),
                                                      BATCH, false);
    double values[2][2][2]; /* loss and accuracy */
    for (int k = 0; k < 2; ++k) {
        gantry_model_t *model = make_model();
        gantry_dataset_t *first = k == 0 ? plain : weighted, *second = k == 0 ? weighted : plain;
        must(gantry_model_fit(model, first, NULL));
        must(gantry_model_fit(model, second, &(gantry_fit_options_t){.validation = first}));
        must(gantry_model_fit(
            model, plain,
            &(gantry_fit_options_t){.class_weights = ones, .class_weight_count = 10}));
        must(gantry_model_evaluate(model, first, values[k][0], 2));
        must(gantry_model_evaluate(model, second, values[k][1], 2));
        assert_float_equal(values[k][0][0], values[k][1][0], 1e-6);
        gantry_model_release(model);
    }
    assert_float_equal(values[0][0][0], values[1][0][0], 1e-6);
    gantry_dataset_release(plain);
    gantry_dataset_release(weighted);
}

TEST(endless_data_sets_are_refused) {
    gantry_model_t *model = make_model();
    gantry_dataset_t *batches = gantry_dataset_repeat(make_batches(), -1);
    double values[2];
    expect_refusal(gantry_model_fit(model, batches, NULL), GANTRY_INVALID_ARGUMENT,
                   "the data set never ends; steps_per_epoch or gantry_dataset_take is accepted");
    must(gantry_model_fit(model, batches, &(gantry_fit_options_t){.steps_per_epoch = 3}));
    expect_refusal(gantry_model_evaluate(model, batches, values, 2), GANTRY_INVALID_ARGUMENT,
                   "gantry_model_evaluate: the data set never ends; gantry_dataset_take is");
    expect_refusal(gantry_model_predict(model, batches, NULL, 0, NULL), GANTRY_INVALID_ARGUMENT,
                   "gantry_model_predict: the data set never ends; gantry_dataset_take is");
    gantry_dataset_release(batches);
    gantry_model_release(model);
}

TEST(other_layers_do_not_load) {
    char path[] = "/tmp/gantry_model_XXXXXX";
    gantry_model_t *model = make_model(), *second = gantry_sequential(fixture.runtime, NULL);
    (void)close(mkstemp(path));
    must(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(2)));
    must(gantry_model_save(model, path));
    (void)gantry_model_add(second, gantry_dense(3, GANTRY_RELU, NULL));
    must(gantry_model_build(second, GANTRY_FLOAT32, GANTRY_SHAPE(2)));
    assert_int_equal(gantry_model_load(second, path), GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry_last_message(), "dense/kernel"));
    gantry_model_release(second);
    gantry_model_release(model);
    (void)unlink(path);
}

TEST(devices_of_a_strategy_are_checked) {
    assert_null(gantry_mirrored_strategy(fixture.runtime, (const char *[]){"CPU:0", "CPU:0"}, 2));
    assert_non_null(strstr(gantry_last_message(), "No duplicates allowed in `devices` argument"));
    assert_null(gantry_mirrored_strategy(fixture.runtime, (const char *[]){"CPU:0"}, 0));
    assert_string_equal(gantry_last_message(), "Must specify at least one device.");
    assert_null(gantry_mirrored_strategy(fixture.runtime, (const char *[]){"CPU:7"}, 1));
    assert_non_null(strstr(gantry_last_message(), "CPU:7"));
}

/* ---- memory ---- */

static gantry_status_t train_once(void) {
    gantry_dataset_t *batches = make_batches();
    gantry_model_t *model = make_model();
    gantry_status_t status = gantry_model_fit(model, batches, NULL);
    gantry_model_release(model);
    gantry_dataset_release(batches);
    return status;
}

TEST(failing_allocations_leak_nothing) {
    must(train_once());
    const long count = train_heap_count();
    assert_true(count > 100);
    for (long i = 0; i < count; i += i < 200 ? 1 : 7) {
        train_heap_reset(i);
        (void)train_once();
        if (train_heap_live() != 0) fail_msg("allocation %ld of %ld leaks", i, count);
    }
}

int main(void) { return test_main_each(set_up, tear_down); }
