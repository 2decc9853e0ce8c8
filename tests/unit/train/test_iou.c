/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Intersections over unions keep a confusion matrix, count weights of samples and of
 * places, have one result on one device and on several, and refuse what does not fit.
 *
 * test_metrics.c has Keras's values. */
#define _XOPEN_SOURCE 700

#include <math.h>
#include <string.h>

#include "function_fixture.h"
#include "test.h"
#include "train_fixture.h"

#include <gantry_train/train.h>

typedef const gantry_tensor_t tensor;

TEST(the_variable_is_the_confusion_matrix) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    gantry_metric_t *metric = gantry_mean_iou(2, NULL);
    assert_int_equal(gantry_metric_update(metric, scope, I32(scope, 0, 0, 1, 1, 1),
                                          I32(scope, 0, 1, 1, 1, 2), NULL),
                     GANTRY_OK);
    assert_int_equal(gantry_metric_variable_count(metric), 1);
    gantry_variable_t *matrix = gantry_metric_variable(metric, 0);
    assert_string_equal(gantry_variable_name(matrix), "mean_io_u/total_confusion_matrix");
    assert_true(gantry_shape_equal(gantry_variable_shape(matrix), &GANTRY_SHAPE(2, 2)));
    EXPECT_F32(gantry_variable_read(scope, matrix), 1, 1, 0, 2);
    assert_int_equal(gantry_metric_reset(metric, scope), GANTRY_OK);
    EXPECT_F32(gantry_variable_read(scope, matrix), 0, 0, 0, 0);
    gantry_metric_release(metric);
    expect_ended_well(scope);
}

/* What Keras refuses: a weight for each image is that of all its places. */
TEST(weights_of_samples_count_for_all_their_places) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    tensor *labels = gantry_reshape(scope, I32(scope, 0, 1, 1, 0, 0, 1), GANTRY_SHAPE(2, 3, 1));
    tensor *predicted = gantry_reshape(scope, I32(scope, 0, 1, 0, 0, 1, 1), GANTRY_SHAPE(2, 3));
    tensor *weights[] = {
        F32(scope, 2, 0.5F), gantry_reshape(scope, F32(scope, 2, 0.5F), GANTRY_SHAPE(2, 1)),
        gantry_reshape(scope, F32(scope, 2, 2, 2, 0.5F, 0.5F, 0.5F), GANTRY_SHAPE(2, 3, 1))};
    for (size_t i = 0; i < 3; ++i) {
        gantry_metric_t *metric = gantry_mean_iou(2, NULL);
        (void)gantry_metric_update(metric, scope, labels, predicted, weights[i]);
        EXPECT_F32(gantry_variable_read(scope, gantry_metric_variable(metric, 0)), 2.5F, 0.5F, 2,
                   2.5F);
        gantry_metric_release(metric);
    }
    expect_ended_well(scope);
}

/* float16 has not every class number above 2048; labels are compared in float32. */
TEST(states_of_halves_have_all_classes) {
    static const gantry_dtype_t halves[] = {GANTRY_FLOAT16, GANTRY_BFLOAT16};
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    for (size_t i = 0; i < 2; ++i) {
        gantry_metric_t *metric = gantry_iou(2052, (const int32_t[]){2049, 2050}, 2,
                                             &(gantry_metric_options_t){.dtype = halves[i]});
        (void)gantry_metric_update(metric, scope, I32(scope, 2049, 2050, 2050),
                                   I32(scope, 2049, 2050, 2051), NULL);
        tensor *result = gantry_metric_result(metric, scope);
        assert_int_equal(gantry_tensor_dtype(result), halves[i]);
        EXPECT_F32(gantry_cast(scope, result, GANTRY_FLOAT32), 0.75F);
        gantry_metric_release(metric);
    }
    expect_ended_well(scope);
}

/* ---- several devices ---- */

static gantry_dataset_t *make_pixels(void) {
    static float x[6 * 4], y[6 * 4];
    for (int i = 0; i < 24; ++i) {
        x[i] = (float)(i * 7 % 11) / 11;
        y[i] = (float)(i * 5 % 3 == 0);
    }
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(6, 4), x},
                                     {GANTRY_FLOAT32, GANTRY_SHAPE(6, 4), y}};
    return gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), 3, false);
}

/* Trains on the first `count` CPUs, and evaluates: loss, both metrics. The parts of a batch have 2
 * rows and 1. */
static void train_on(size_t count, double out[3]) {
    static const char *const cpus[] = {"CPU:0", "CPU:1"};
    static const gantry_loss_options_t of_rows = {.axes = {-1}, .axis_count = 1};
    gantry_metric_t *metrics[] = {gantry_binary_iou(NULL, 0, 0.5, NULL),
                                  gantry_loss_metric(GANTRY_DICE, &of_rows, NULL)};
    gantry_strategy_t *strategy = gantry_mirrored_strategy(fixture.runtime, cpus, count);
    gantry_model_t *model = gantry_sequential(
        fixture.runtime, &(gantry_model_options_t){.strategy = strategy, .seed = 3});
    gantry_dataset_t *data = make_pixels();
    (void)gantry_model_add(model, gantry_dense(4, GANTRY_SIGMOID, NULL));
    const gantry_compile_options_t compiled = {
        .optimizer = gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 0.5}),
        .loss = GANTRY_DICE,
        .loss_options = &of_rows,
        .metrics = metrics,
        .metric_count = 2};
    if (gantry_model_compile(model, &compiled) != GANTRY_OK ||
        gantry_model_fit(model, data, &(gantry_fit_options_t){.epochs = 3}) != GANTRY_OK ||
        gantry_model_evaluate(model, data, out, 3) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_string_equal(gantry_model_value_name(model, 1), "binary_io_u");
    assert_string_equal(gantry_model_value_name(model, 2), "dice");
    gantry_dataset_release(data);
    gantry_model_release(model);
    gantry_strategy_release(strategy);
}

TEST(two_devices_have_the_values_of_one) {
    double one[3], two[3];
    assert_int_equal(gantry_set_logical_cpu_devices(fixture.runtime, 2), GANTRY_OK);
    train_on(1, one);
    train_on(2, two);
    for (int i = 0; i < 3; ++i) assert_float_equal(one[i], two[i], 1e-6);
    assert_float_equal(one[0], one[2], 1e-6);
    assert_true(one[1] > 0 && one[1] < 1);
}

/* ---- bad input ---- */

static void expect_not_made(gantry_metric_t *metric, const char *text) {
    assert_null(metric);
    if (!strstr(gantry_last_message(), text)) fail_msg("message: %s", gantry_last_message());
}

TEST(bad_classes_make_no_metric) {
    const int32_t some[] = {0, 3}, negative[] = {-1};
    expect_not_made(gantry_mean_iou(0, NULL),
                    "gantry_mean_iou: classes is 0; 1 to 46340 are accepted");
    expect_not_made(gantry_one_hot_mean_iou(46341, NULL), "classes is 46341; 1 to 46340 are");
    expect_not_made(gantry_iou(3, NULL, 0, NULL),
                    "gantry_iou: target_class_ids is NULL; an array of 1 and more is accepted");
    expect_not_made(gantry_one_hot_iou(3, NULL, 1, NULL),
                    "gantry_one_hot_iou: target_class_ids is NULL; an array of 1 and more");
    expect_not_made(gantry_iou(3, some, 0, NULL),
                    "gantry_iou: 0 target classes in an array; an array of 1 and more is accepted");
    expect_not_made(gantry_binary_iou(NULL, 2, 0.5, NULL),
                    "gantry_binary_iou: 2 target classes at NULL; an array of 1 and more is");
    expect_not_made(gantry_iou(3, some, 2, NULL),
                    "gantry_iou: target class 1 is 3; 0 to 2 are accepted, as the classes are 3");
    expect_not_made(gantry_one_hot_iou(3, negative, 1, NULL), "target class 0 is -1; 0 to 2 are");
    expect_not_made(gantry_binary_iou(NULL, 0, (double)NAN, NULL),
                    "gantry_binary_iou: threshold is nan; a number is accepted");
    expect_not_made(gantry_mean_iou(3, &(gantry_metric_options_t){.dtype = GANTRY_INT32}),
                    "gantry_mean_iou: dtype is int32; float16, bfloat16, float32 and float64 are");
    train_heap_reset(2);
    expect_not_made(gantry_iou(3, some, 1, NULL), "out of host memory");
    train_heap_reset(-1);
}

static void expect_refused(gantry_scope_t *scope, gantry_metric_t *metric, tensor *labels,
                           tensor *predictions, tensor *weights, const char *text) {
    assert_int_equal(gantry_metric_update(metric, scope, labels, predictions, weights),
                     GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, text);
    EXPECT_F32(gantry_metric_result(metric, scope), 0);
}

TEST(batches_that_do_not_fit_are_refused) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    gantry_metric_t *metric = gantry_mean_iou(3, NULL), *dense = gantry_one_hot_mean_iou(3, NULL);
    tensor *two = I32(scope, 0, 1), *three = I32(scope, 0, 1, 2),
           *one = gantry_scalar_i32(scope, 1);
    expect_refused(scope, metric, two, three, NULL,
                   "mean_io_u: labels of shape [2] do not fit predictions of shape [3]; that "
                   "shape is accepted");
    expect_refused(scope, metric, two, two, three,
                   "mean_io_u: sample_weights of shape [3] do not fit labels of shape [2]; one for "
                   "each sample or place is accepted");
    expect_refused(scope, dense, one, one, NULL,
                   "one_hot_mean_io_u: a number for each class is a scalar; one dimension or more "
                   "is accepted");
    gantry_metric_release(metric);
    gantry_metric_release(dense);
    expect_ended_well(scope);
}

/* ---- memory runs out ---- */

static gantry_status_t iou_program(gantry_scope_t *scope) {
    gantry_metric_t *metric =
        gantry_iou(3, (const int32_t[]){0, 2}, 2,
                   &(gantry_metric_options_t){.ignore_class = &(const int32_t){1}});
    (void)gantry_metric_update(metric, scope, I32(scope, 0, 1, 2), I32(scope, 0, 2, 2),
                               F32(scope, 1, 2, 3));
    (void)gantry_metric_result(metric, scope);
    gantry_status_t status = gantry_scope_status(scope);
    gantry_metric_release(metric);
    return status;
}

TEST_WITH(metrics_without_memory_leak_nothing, runtime_fixture_set_up, NULL) {
    runtime_fixture_starve_each(0, NULL, iou_program);
}

int main(void) { return test_main_each(set_up, tear_down); }
