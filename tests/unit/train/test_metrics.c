/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Metrics have Keras's values after each batch, updated at once and inside functions; a
 * refused batch leaves the state; and what does not fit is refused with a text that says so.
 * Promise: The options class_id and a list of thresholds give precision, recall and counts the
 * values that they have in Keras. */
#define _XOPEN_SOURCE 700

#include <string.h>

#define TRAIN_FIXTURE_GPUS 1
#include "test.h"
#include "train_fixture.h"
#include "train_metric_case.h"

#include <gantry_train/train.h>

/* ---- values ---- */

TEST_WITH(metrics_are_those_of_keras, set_up, tear_down) {
    train_metric_check(fixture.runtime, "CPU:0", 1, train_update_eager);
}

TEST_WITH(metrics_in_functions_are_those_of_keras, set_up, tear_down) {
    train_metric_check(fixture.runtime, "CPU:0", 1, train_update_captured);
}

static size_t variables_of(train_metric_kind_t kind) {
    if (kind == TRAIN_F1_SCORE || kind == TRAIN_FBETA_SCORE) return 4;
    if (kind >= TRAIN_IOU && kind <= TRAIN_ONE_HOT_MEAN_IOU) return 1;
    return kind >= TRAIN_TRUE_POSITIVES && kind <= TRAIN_FALSE_NEGATIVES ? 1 : 2;
}

TEST_WITH(result_before_the_first_batch_is_zero, set_up, tear_down) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    for (train_metric_kind_t kind = TRAIN_ACCURACY; kind < TRAIN_METRIC_KINDS; ++kind) {
        gantry_metric_t *metric = train_metric_make(kind, 2, NULL);
        assert_int_equal(gantry_metric_variable_count(metric), 0);
        assert_null(gantry_metric_variable(metric, 0));
        assert_int_equal(gantry_metric_reset(metric, scope), GANTRY_OK);
        EXPECT_F32(gantry_metric_result(metric, scope), 0);
        assert_int_equal(gantry_metric_build(metric, scope), GANTRY_OK);
        EXPECT_F32(gantry_metric_result(metric, scope), 0);
        assert_int_equal(gantry_metric_variable_count(metric), variables_of(kind));
        gantry_metric_release(metric);
    }
    expect_ended_well(scope);
}

/* The state lies where the first update or the build asks for it, and has names. */
TEST_WITH(variables_live_on_the_scope_s_device, set_up, tear_down) {
    gantry_scope_t *cpu = runtime_fixture_scope(&fixture, "CPU:0");
    gantry_scope_t *gpu = runtime_fixture_scope(&fixture, "GPU:0");
    gantry_metric_t *here = gantry_mean_metric(NULL), *there = gantry_auc(0, NULL);
    assert_int_equal(gantry_metric_update(here, cpu, NULL, F32(cpu, 1, 3), NULL), GANTRY_OK);
    assert_int_equal(gantry_metric_build(there, gpu), GANTRY_OK);
    for (size_t i = 0; i < 2; ++i) {
        const gantry_variable_t *a = gantry_metric_variable(here, i),
                                *b = gantry_metric_variable(there, i);
        assert_string_equal(gantry_logical_device_name(gantry_variable_device(a)), "/device:CPU:0");
        assert_string_equal(gantry_logical_device_name(gantry_variable_device(b)), "/device:GPU:0");
        assert_int_equal(gantry_variable_shape(a)->rank, 0);
        assert_int_equal(gantry_variable_shape(b)->dims[0], 200);
    }
    assert_string_equal(gantry_variable_name(gantry_metric_variable(here, 0)), "mean/total");
    assert_string_equal(gantry_variable_name(gantry_metric_variable(here, 1)), "mean/count");
    assert_null(gantry_metric_variable(here, 2));
    gantry_metric_release(here);
    gantry_metric_release(there);
    expect_ended_well(gpu);
    expect_ended_well(cpu);
}

/* One function, called for each batch: nothing is read between the calls. */
TEST_WITH(one_function_updates_for_many_batches, set_up, tear_down) {
    gantry_metric_t *metric = gantry_sparse_categorical_accuracy(NULL);
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, "CPU:0");
    assert_int_equal(gantry_metric_build(metric, scope), GANTRY_OK);
    train_captured_t captured = {metric, true, false};
    const gantry_input_spec_t specs[] = {SPEC_F32(2, 3), SPEC_I32(2)};
    gantry_function_t *function =
        function_fixture_trace(fixture.runtime, train_update_body, &captured, specs, 2, 1, NULL);
    const float scores[] = {0, 1, 2, 2, 1, 0};
    const gantry_tensor_t *result,
        *inputs[2] = {
            gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3), scores, sizeof scores)};
    for (int32_t i = 0; i < 8; ++i) {
        inputs[1] = I32(scope, 2, i % 2); /* right, and right in every second batch */
        function_fixture_call(scope, function, inputs, 2, &result, 1);
    }
    EXPECT_F32(result, 0.75F);
    EXPECT_F32(gantry_metric_result(metric, scope), 0.75F);
    gantry_metric_release(metric); /* the function keeps its variables */
    function_fixture_call(scope, function, inputs, 2, &result, 1);
    EXPECT_F32(result, 13 / 18.0F);
    gantry_function_release(function);
    expect_ended_well(scope);
}

/* The rows whose label is not -1: as many as the data says. */
static void masked(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                   const gantry_tensor_t **outputs, void *user) {
    gantry_metric_t *const *metrics = user;
    const gantry_tensor_t *is_valid =
        gantry_greater_equal(scope, inputs[0], gantry_scalar_i32(scope, 0));
    const gantry_tensor_t *labels = gantry_boolean_mask(scope, inputs[0], is_valid, 0);
    const gantry_tensor_t *scores = gantry_boolean_mask(scope, inputs[1], is_valid, 0);
    const int32_t last = 1;
    const gantry_reduce_options_t over_last = {.axes = &last, .axis_count = 1};
    (void)gantry_metric_update(metrics[0], scope, labels, scores, labels);
    (void)gantry_metric_update(metrics[1], scope, labels, scores, NULL);
    (void)gantry_metric_update(metrics[2], scope, labels, gantry_max(scope, scores, &over_last),
                               labels);
    (void)gantry_metric_update(metrics[4], scope, labels, scores, labels);
    (void)gantry_metric_update(metrics[3], scope, NULL, scores,
                               gantry_expand_dims(scope, labels, -1));
    outputs[0] = gantry_metric_result(metrics[0], scope);
    outputs[1] = gantry_metric_result(metrics[1], scope);
    outputs[2] = gantry_metric_result(metrics[2], scope);
    outputs[3] = gantry_metric_result(metrics[3], scope);
    outputs[4] = gantry_metric_result(metrics[4], scope);
}

TEST_WITH(sizes_that_depend_on_data_are_counted, set_up, tear_down) {
    static const float scores[] = {0, 0.9F, 1, 0, 0.75F, 0, 0, 0};
    const gantry_input_spec_t specs[] = {SPEC_I32(4), SPEC_F32(4, 2)};
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, "CPU:0");
    gantry_metric_t *metrics[] = {
        gantry_sparse_categorical_accuracy(NULL), gantry_sparse_top_k_categorical_accuracy(1, NULL),
        gantry_auc(0, NULL), gantry_mean_metric(NULL),
        gantry_mean_iou(2, &(gantry_metric_options_t){.dense_predictions = true})};
    for (size_t i = 0; i < 5; ++i)
        assert_int_equal(gantry_metric_build(metrics[i], scope), GANTRY_OK);
    gantry_function_t *function =
        function_fixture_trace(fixture.runtime, masked, metrics, specs, 2, 5, NULL);
    const gantry_tensor_t *got[5],
        *inputs[] = {
            I32(scope, 1, -1, 1, -1),
            gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(4, 2), scores, sizeof scores)};
    function_fixture_call(scope, function, inputs, 2, got, 5);
    EXPECT_F32(got[0], 0.5F);
    EXPECT_F32(got[1], 0.5F);
    EXPECT_F32(got[4], 0.25F); /* 1 of 2 of class 1, 0 of 1 of class 0 */
    EXPECT_F32(got[2], 0);
    EXPECT_F32(got[3], (0.45F + 0.375F) / 2);
    inputs[0] = I32(scope, -1, 0, -1, -1);
    function_fixture_call(scope, function, inputs, 2, got, 5);
    EXPECT_F32(got[0], 0.5F); /* its weight is its label, 0 */
    EXPECT_F32(got[1], 2 / 3.0F);
    gantry_function_release(function);
    for (size_t i = 0; i < 5; ++i) gantry_metric_release(metrics[i]);
    expect_ended_well(scope);
}

enum { THREAD_UPDATES = 50 };

static void *update_often(void *user) {
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, "CPU:0");
    for (int i = 0; i < THREAD_UPDATES; ++i)
        (void)gantry_metric_update(user, scope, NULL, F32(scope, 1, 2), NULL);
    return gantry_scope_end(scope) == GANTRY_OK ? user : NULL;
}

TEST_WITH(threads_update_a_built_metric, set_up, tear_down) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, "CPU:0");
    gantry_metric_t *metric = gantry_mean_metric(NULL);
    pthread_t threads[3];
    assert_int_equal(gantry_metric_build(metric, scope), GANTRY_OK);
    for (size_t i = 0; i < 3; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, update_often, metric), 0);
    for (size_t i = 0; i < 3; ++i) {
        void *done;
        assert_int_equal(pthread_join(threads[i], &done), 0);
        assert_ptr_equal(done, metric);
    }
    EXPECT_F32(gantry_variable_read(scope, gantry_metric_variable(metric, 0)),
               3 * 3 * THREAD_UPDATES);
    EXPECT_F32(gantry_variable_read(scope, gantry_metric_variable(metric, 1)),
               3 * 2 * THREAD_UPDATES);
    gantry_metric_release(metric);
    expect_ended_well(scope);
}

/* Variables of two metrics add up to the state of both. */
TEST_WITH(states_add_up, set_up, tear_down) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, "CPU:0");
    gantry_metric_t *a = gantry_mean_metric(NULL), *b = gantry_mean_metric(NULL);
    (void)gantry_metric_update(a, scope, NULL, F32(scope, 1, 2, 3), NULL);
    (void)gantry_metric_update(b, scope, NULL, F32(scope, 10), NULL);
    for (size_t i = 0; i < 2; ++i)
        (void)gantry_variable_assign_add(scope, gantry_metric_variable(a, i),
                                         gantry_variable_read(scope, gantry_metric_variable(b, i)));
    EXPECT_F32(gantry_metric_result(a, scope), 4);
    gantry_metric_release(a);
    gantry_metric_release(b);
    expect_ended_well(scope);
}

/* A cross-entropy as a metric: log(2) for even shares. */
TEST_WITH(losses_are_metrics_too, set_up, tear_down) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, "CPU:0");
    gantry_metric_t *metric = gantry_loss_metric(
        GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY,
        &(gantry_loss_options_t){.from_logits = true, .reduction = GANTRY_REDUCTION_SUM}, NULL);
    float got;
    assert_string_equal(gantry_metric_name(metric), "sparse_categorical_crossentropy");
    for (int i = 0; i < 2; ++i)
        (void)gantry_metric_update(metric, scope, I32(scope, 0, 1, 1),
                                   gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3, 2)), NULL);
    assert_int_equal(gantry_tensor_read(gantry_metric_result(metric, scope), &got, sizeof got),
                     GANTRY_OK);
    assert_float_equal(got, 0.6931472F, 1e-6F);
    gantry_metric_release(metric);
    expect_ended_well(scope);
}

TEST_WITH(tape_records_no_update, set_up, tear_down) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, "CPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2), *gradient;
    gantry_metric_t *metric = gantry_mean_metric(NULL);
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    (void)gantry_tape_watch(tape, x);
    (void)gantry_metric_update(metric, scope, NULL, x, NULL);
    const gantry_tensor_t *result = gantry_metric_result(metric, scope);
    EXPECT_F32(result, 1.5F);
    assert_int_equal(gantry_tape_gradient(tape, result, NULL, &(gantry_source_t){.tensor = x}, 1,
                                          NULL, &gradient),
                     GANTRY_OK);
    assert_null(gradient);
    gantry_tape_end(tape);
    gantry_metric_release(metric);
    expect_ended_well(scope);
}

TEST_WITH(metrics_have_names, set_up, tear_down) {
    static const char *const names[] = {"accuracy",
                                        "binary_accuracy",
                                        "categorical_accuracy",
                                        "sparse_categorical_accuracy",
                                        "top_k_categorical_accuracy",
                                        "sparse_top_k_categorical_accuracy",
                                        "auc",
                                        "mean",
                                        "mean_squared_error",
                                        "mean_absolute_error",
                                        "root_mean_squared_error",
                                        "precision",
                                        "recall",
                                        "true_positives",
                                        "true_negatives",
                                        "false_positives",
                                        "false_negatives",
                                        "f1_score",
                                        "fbeta_score",
                                        "cosine_similarity",
                                        "kl_divergence",
                                        "io_u",
                                        "mean_io_u",
                                        "binary_io_u",
                                        "one_hot_io_u",
                                        "one_hot_mean_io_u",
                                        "dice"};
    for (train_metric_kind_t kind = TRAIN_ACCURACY; kind < TRAIN_METRIC_KINDS; ++kind) {
        gantry_metric_t *metric = train_metric_make(kind, 2, NULL);
        assert_string_equal(gantry_metric_name(metric), names[kind]);
        gantry_metric_release(metric);
        char given[] = "mine";
        metric = train_metric_make(kind, 2, &(gantry_metric_options_t){.name = given});
        given[0] = 'w';
        assert_string_equal(gantry_metric_name(metric), "mine");
        gantry_metric_release(metric);
    }
    assert_string_equal(gantry_metric_name(NULL), "");
    gantry_metric_release(NULL);
}

/* ---- bad input ---- */

static void expect_not_made(gantry_metric_t *metric, const char *text) {
    assert_null(metric);
    if (!strstr(gantry_last_message(), text)) fail_msg("message: %s", gantry_last_message());
}

TEST_WITH(bad_options_make_no_metric, set_up, tear_down) {
    const gantry_loss_options_t smooth = {.label_smoothing = 2};
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    expect_not_made(
        gantry_top_k_categorical_accuracy(0, NULL),
        "gantry_top_k_categorical_accuracy: k is 0; a number of at least 1 is accepted");
    expect_not_made(gantry_sparse_top_k_categorical_accuracy(-5, NULL), "k is -5");
    expect_not_made(gantry_auc(1, NULL), "gantry_auc: 1 thresholds; at least 2, or 0 for 200");
    expect_not_made(gantry_auc(-1, NULL), "-1 thresholds");
    expect_not_made(gantry_accuracy(&(gantry_metric_options_t){.dtype = GANTRY_INT32}),
                    "gantry_accuracy: dtype is int32; float16, bfloat16, float32 and float64 are");
    expect_not_made(gantry_mean_metric(&(gantry_metric_options_t){.struct_size = 4096}),
                    "gantry_mean_metric: options: struct_size is 4096");
    expect_not_made(gantry_loss_metric(0, NULL, NULL), "0 is no loss");
    expect_not_made(gantry_loss_metric(GANTRY_BINARY_CROSSENTROPY, &smooth, NULL),
                    "label_smoothing is 2");
    const gantry_loss_options_t weighted = {.sample_weights = F32(scope, 1)};
    expect_not_made(gantry_loss_metric(GANTRY_HUBER, &weighted, NULL),
                    "gantry_metric_update takes them");
    expect_ended_well(scope);
}

TEST_WITH(bad_options_make_no_count, set_up, tear_down) {
    const gantry_metric_options_t bad_k = {.struct_size = sizeof bad_k, .top_k = -1};
    const gantry_metric_options_t bad_curve = {.struct_size = sizeof bad_curve, .curve = 2};
    expect_not_made(gantry_precision(1.5, NULL),
                    "gantry_precision: threshold is 1.5; a number from 0 to 1, or -INFINITY for "
                    "none, is accepted");
    expect_not_made(gantry_recall((double)NAN, NULL), "gantry_recall: threshold is ");
    expect_not_made(gantry_true_positives(-0.5, NULL), "gantry_true_positives: threshold is -0.5");
    expect_not_made(gantry_precision(0.5, &bad_k),
                    "gantry_precision: top_k is -1; a number of at least 1, or 0 for all classes,");
    expect_not_made(gantry_auc(0, &bad_curve),
                    "gantry_auc: 2 is no curve; GANTRY_CURVE_ROC and GANTRY_CURVE_PR are");
    expect_not_made(gantry_f1_score(0, GANTRY_AVERAGE_MACRO, 0.5, NULL),
                    "gantry_f1_score: classes is 0; 1 to 2147483647 are accepted");
    expect_not_made(gantry_f1_score(3, 4, 0.5, NULL),
                    "gantry_f1_score: 4 is no average; GANTRY_AVERAGE_NONE, ..._MICRO,");
    expect_not_made(gantry_f1_score(3, GANTRY_AVERAGE_MACRO, 1.5, NULL),
                    "threshold is 1.5; a number above 0, up to 1, or 0 for the largest");
    expect_not_made(gantry_fbeta_score(3, 0, GANTRY_AVERAGE_MACRO, 0.5, NULL),
                    "gantry_fbeta_score: beta is 0; a number above 0 is accepted");
}

TEST_WITH(bad_classes_and_thresholds_are_refused, set_up, tear_down) {
    const double two[] = {0.5, 1.5};
    expect_not_made(
        gantry_precision(0.5, &(gantry_metric_options_t){.class_id = &(const int32_t){-1}}),
        "gantry_precision: class_id is -1; a place of the last dimension, from 0 on, is accepted");
    expect_not_made(
        gantry_recall(0.5, &(gantry_metric_options_t){.thresholds = two, .threshold_count = 2}),
        "gantry_recall: threshold 1 is 1.5; a number from 0 to 1 is accepted");
    expect_not_made(gantry_true_negatives(0.5, &(gantry_metric_options_t){.threshold_count = 2}),
                    "2 thresholds at NULL; an array of 1 and more, or NULL and 0, are accepted");
    expect_not_made(gantry_true_negatives(0.5, &(gantry_metric_options_t){.thresholds = two}),
                    "0 thresholds in an array");
}

TEST_WITH(classes_beyond_the_predictions_are_refused, set_up, tear_down) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, "CPU:0");
    gantry_metric_t *metric =
        gantry_recall(0.5, &(gantry_metric_options_t){.class_id = &(const int32_t){2}});
    const gantry_tensor_t *row = F32(scope, 0, 1, 1),
                          *matrix = gantry_reshape(scope, F32(scope, 0, 1), GANTRY_SHAPE(1, 2));
    assert_int_equal(gantry_metric_update(metric, scope, row, row, NULL), GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "recall: class_id is 2 for predictions of shape [3]; two dimensions or "
                         "more, and a place of the last one are accepted");
    (void)gantry_metric_update(metric, scope, matrix, matrix, NULL);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "predictions of shape [1,2]");
    expect_ended_well(scope);
    gantry_metric_release(metric);
}

/* fit shows a number for each metric. */
TEST_WITH(scores_of_each_class_are_not_for_fit, set_up, tear_down) {
    gantry_metric_t *metric = gantry_f1_score(3, GANTRY_AVERAGE_NONE, 0.5, NULL);
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    EXPECT_F32(gantry_metric_result(metric, scope), 0, 0, 0);
    expect_ended_well(scope);
    gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
    (void)gantry_model_add(model, gantry_dense(3, GANTRY_SIGMOID, NULL));
    expect_refusal(
        gantry_model_compile(model, &(gantry_compile_options_t){.optimizer = gantry_sgd(NULL),
                                                                .loss = GANTRY_HUBER,
                                                                .metrics = &metric,
                                                                .metric_count = 1}),
        GANTRY_INVALID_ARGUMENT,
        "gantry_model_compile: metric f1_score has a number for each class or threshold; one with "
        "an average, or one threshold, is accepted");
    gantry_model_release(model);
}

TEST_WITH(several_thresholds_are_not_for_fit, set_up, tear_down) {
    const double two[] = {0.25, 0.5};
    gantry_metric_t *metric =
        gantry_recall(0.5, &(gantry_metric_options_t){.thresholds = two, .threshold_count = 2});
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    EXPECT_F32(gantry_metric_result(metric, scope), 0, 0);
    expect_ended_well(scope);
    gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
    (void)gantry_model_add(model, gantry_dense(3, GANTRY_SIGMOID, NULL));
    expect_refusal(
        gantry_model_compile(model, &(gantry_compile_options_t){.optimizer = gantry_sgd(NULL),
                                                                .loss = GANTRY_HUBER,
                                                                .metrics = &metric,
                                                                .metric_count = 1}),
        GANTRY_INVALID_ARGUMENT, "metric recall has a number for each class or threshold;");
    gantry_model_release(model);
}

static void expect_update_refused(gantry_scope_t *scope, train_metric_kind_t kind,
                                  const gantry_tensor_t *labels, const gantry_tensor_t *predictions,
                                  const gantry_tensor_t *weights, const char *text) {
    gantry_metric_t *metric = train_metric_make(kind, 2, NULL);
    assert_int_equal(gantry_metric_build(metric, scope), GANTRY_OK);
    assert_int_equal(gantry_metric_update(metric, scope, labels, predictions, weights),
                     GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, text);
    EXPECT_F32(gantry_metric_result(metric, scope), 0);
    gantry_metric_release(metric);
}

TEST_WITH(shapes_that_do_not_fit_are_refused, set_up, tear_down) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, "CPU:0");
    const gantry_tensor_t *p = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3));
    const gantry_tensor_t *turned = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3, 2));
    const gantry_tensor_t *two = I32(scope, 0, 1), *three = I32(scope, 0, 1, 2);
    const gantry_tensor_t *scalar = gantry_scalar_f32(scope, 1);
    static const train_metric_kind_t dense[] = {TRAIN_ACCURACY,  TRAIN_CATEGORICAL_ACCURACY,
                                                TRAIN_TOP_K,     TRAIN_BINARY_ACCURACY,
                                                TRAIN_AUC,       TRAIN_MEAN_SQUARED_ERROR,
                                                TRAIN_RECALL,    TRAIN_ROOT_MEAN_SQUARED_ERROR,
                                                TRAIN_F1_SCORE,  TRAIN_IOU,
                                                TRAIN_BINARY_IOU};
    static const train_metric_kind_t sparse[] = {TRAIN_ACCURACY, TRAIN_SPARSE_CATEGORICAL_ACCURACY,
                                                 TRAIN_SPARSE_TOP_K};
    for (size_t i = 0; i < sizeof dense / sizeof dense[0]; ++i)
        expect_update_refused(scope, dense[i], turned, p, NULL,
                              ": labels of shape [3,2] do not fit predictions of shape [2,3]; that "
                              "shape is accepted");
    for (size_t i = 0; i < sizeof sparse / sizeof sparse[0]; ++i) {
        expect_update_refused(scope, sparse[i], three, p, NULL,
                              ": labels of shape [3] do not fit predictions of shape [2,3]; the "
                              "shape without the classes, or with 1 in their place, is accepted");
        expect_update_refused(scope, sparse[i], two, p, three,
                              ": sample_weights of shape [3] do not fit values of shape [2]; a "
                              "shape that broadcasts is accepted");
    }
    expect_update_refused(scope, TRAIN_SPARSE_CATEGORICAL_ACCURACY, scalar, scalar, NULL,
                          "predictions are a scalar");
    expect_update_refused(scope, TRAIN_TOP_K, scalar, scalar, NULL, "predictions are a scalar");
    expect_update_refused(scope, TRAIN_AUC, two, F32(scope, 0, 1), three,
                          "auc: sample_weights of shape [3] do not fit predictions of shape [2]; "
                          "one for each sample is accepted");
    expect_update_refused(scope, TRAIN_PRECISION, two, F32(scope, 0, 1), three,
                          "precision: sample_weights of shape [3] do not fit predictions of shape "
                          "[2]; one for each sample is accepted");
    expect_update_refused(scope, TRAIN_F1_SCORE, turned, turned, NULL,
                          "f1_score: predictions have shape [3,2]; [n,3] is accepted, as the "
                          "metric was made");
    expect_update_refused(scope, TRAIN_MEAN, NULL, F32(scope, 0, 1), turned,
                          "mean: sample_weights of shape [3,2] do not fit values of shape [2]");
    expect_ended_well(scope);
}

TEST_WITH(top_k_beyond_the_classes_is_refused, set_up, tear_down) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, "CPU:0");
    const gantry_metric_options_t options = {.struct_size = sizeof options, .top_k = 3};
    gantry_metric_t *metric = gantry_recall(-INFINITY, &options);
    const gantry_tensor_t *p = F32(scope, 0, 1);
    assert_int_equal(gantry_metric_update(metric, scope, p, p, NULL), GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "recall: top_k is 3 for predictions of shape [2]; a number up to their "
                         "last dimension is accepted");
    expect_ended_well(scope);
    gantry_metric_release(metric);
}

TEST_WITH(missing_arguments_are_refused, set_up, tear_down) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, "CPU:0");
    const gantry_tensor_t *x = F32(scope, 1);
    expect_update_refused(scope, TRAIN_AUC, NULL, x, NULL, "auc: the labels are NULL");
    expect_update_refused(scope, TRAIN_AUC, x, NULL, NULL, "auc: the predictions are NULL");
    expect_update_refused(scope, TRAIN_MEAN, x, x, NULL, "mean: labels are given");
    expect_update_refused(scope, TRAIN_MEAN, NULL, NULL, NULL, "mean: the predictions are NULL");
    assert_int_equal(gantry_metric_update(NULL, scope, x, x, NULL), GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "gantry_metric_update: the metric is NULL");
    assert_null(gantry_metric_result(NULL, scope));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "gantry_metric_result: the metric is");
    assert_int_equal(gantry_metric_reset(NULL, scope), GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "gantry_metric_reset: the metric is");
    assert_int_equal(gantry_metric_build(NULL, scope), GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "gantry_metric_build: the metric is");
    gantry_metric_t *metric = gantry_mean_metric(NULL);
    expect_refusal(gantry_metric_update(metric, NULL, NULL, x, NULL), GANTRY_INVALID_ARGUMENT,
                   "gantry_metric_update: the scope is NULL");
    expect_refusal(gantry_metric_build(metric, NULL), GANTRY_INVALID_ARGUMENT, "scope is NULL");
    expect_refusal(gantry_metric_reset(metric, NULL), GANTRY_INVALID_ARGUMENT, "scope is NULL");
    assert_null(gantry_metric_result(metric, NULL));
    gantry_metric_release(metric);
    expect_ended_well(scope);
}

TEST_WITH(update_in_a_trace_needs_variables, set_up, tear_down) {
    gantry_metric_t *metric = gantry_mean_metric(NULL);
    train_captured_t captured = {metric, false, false};
    const gantry_input_spec_t spec = SPEC_F32(2);
    gantry_function_t *function;
    expect_refusal(gantry_function_trace(fixture.runtime, "step", train_update_body, &captured,
                                         &spec, 1, 1, NULL, &function),
                   GANTRY_FAILED_PRECONDITION, "metric mean: call gantry_metric_build first");
    assert_int_equal(gantry_metric_variable_count(metric), 0);
    gantry_metric_release(metric);
}

/* ---- memory runs out ---- */

static gantry_status_t metric_program(gantry_scope_t *scope) {
    const gantry_tensor_t *p = F32(scope, 0.25F, 0.75F, 0.5F), *weights = F32(scope, 1, 2, 3);
    gantry_metric_t *auc = gantry_auc(0, NULL), *accuracy = gantry_accuracy(NULL);
    (void)gantry_metric_update(auc, scope, p, p, weights);
    (void)gantry_metric_update(accuracy, scope, I32(scope, 0, 1, 1), p, weights);
    (void)gantry_metric_result(auc, scope);
    (void)gantry_metric_result(accuracy, scope);
    (void)gantry_metric_reset(auc, scope);
    gantry_status_t status = gantry_scope_status(scope);
    gantry_metric_release(auc);
    gantry_metric_release(accuracy);
    return status;
}

TEST_WITH(metrics_without_memory_leak_nothing, runtime_fixture_set_up, NULL) {
    runtime_fixture_starve_each(0, NULL, metric_program);
}

TEST_WITH(metric_without_memory_is_not_made, set_up, tear_down) {
    for (train_metric_kind_t kind = TRAIN_ACCURACY; kind < TRAIN_METRIC_KINDS; ++kind) {
        for (long n = 0; n < 2; ++n) {
            train_heap_reset(n);
            expect_not_made(train_metric_make(kind, 2, NULL), "out of host memory");
            assert_int_equal(train_heap_live(), 0);
        }
    }
    train_heap_reset(-1);
}

int main(void) { return test_main(); }
