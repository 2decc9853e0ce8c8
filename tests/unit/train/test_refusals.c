/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: After a failed gantry_model_compile, a training is refused with the failure, and the
 * next valid call of gantry_model_compile succeeds.
 * Promise: A text about an optimizer, a metric, a data set, a callback or a communicator that is
 * NULL says why its constructor failed.
 * Promise: A data set that a model refuses does not make it refuse the next data set, which
 * fits. */
#include <string.h>

#include "test.h"
#include "train_heap.h"

#include <gantry_train/train.h>

static gantry_runtime_t *runtime;

static int open_runtime(void **state) {
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .cpu_threads = 1};
    (void)state;
    train_heap_reset(-1);
    return gantry_runtime_create(&options, &runtime) == GANTRY_OK ? 0 : -1;
}

static int close_runtime(void **state) {
    (void)state;
    gantry_runtime_release(runtime);
    assert_int_equal(train_heap_live(), 0);
    return 0;
}

static void expect_refusal(gantry_status_t status, gantry_status_t wanted, const char *text) {
    if (status != wanted || !strstr(gantry_last_message(), text))
        fail_msg("%s: \"%s\"; \"%s\" is expected", gantry_status_name(status),
                 gantry_last_message(), text);
}

static void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

static gantry_model_t *make_model(void) {
    gantry_model_t *model = gantry_sequential(runtime, NULL);
    must(gantry_model_add(model, gantry_dense(3, GANTRY_SOFTMAX, NULL)));
    return model;
}

static gantry_dataset_t *make_batches(int64_t steps) {
    static const float inputs[24] = {1, 2, 3}, labels[6] = {1};
    gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(2, 4), inputs},
                               {GANTRY_FLOAT32, GANTRY_SHAPE(2, 3), labels}};
    if (steps > 1) arrays[0].shape = GANTRY_SHAPE(2, steps, 4);
    return gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), 2, false);
}

static gantry_optimizer_t *bad_optimizer(void) {
    return gantry_sgd(&(gantry_sgd_options_t){.learning_rate = -1});
}

static gantry_status_t compile(gantry_model_t *model, gantry_optimizer_t *optimizer,
                               gantry_loss_t loss) {
    return gantry_model_compile(model,
                                &(gantry_compile_options_t){.optimizer = optimizer, .loss = loss});
}

/* ---- compile ---- */

TEST(failed_compile_does_not_fail_the_next) {
    gantry_model_t *model = make_model();
    gantry_dataset_t *batches = make_batches(1);
    expect_refusal(
        compile(model, bad_optimizer(), GANTRY_MEAN_SQUARED_ERROR), GANTRY_INVALID_ARGUMENT,
        "gantry_model_compile: the optimizer is NULL; one from gantry_sgd or another "
        "constructor is accepted; the last failure of this thread: gantry_sgd: learning_rate is -1");
    expect_refusal(compile(model, gantry_sgd(NULL), (gantry_loss_t)77), GANTRY_INVALID_ARGUMENT,
                   "the loss is 77");
    must(compile(model, gantry_sgd(NULL), GANTRY_MEAN_SQUARED_ERROR));
    must(gantry_model_fit(model, batches, NULL));
    gantry_dataset_release(batches);
    gantry_model_release(model);
}

/* Also where an earlier call was valid: the newest one says what the program wants. */
TEST(training_is_told_why_compile_failed) {
    double value;
    gantry_model_t *model = make_model();
    gantry_dataset_t *batches = make_batches(1);
    must(compile(model, gantry_sgd(NULL), GANTRY_MEAN_SQUARED_ERROR));
    (void)compile(model, bad_optimizer(), GANTRY_MEAN_SQUARED_ERROR);
    must(gantry_model_add(model, gantry_dense(3, GANTRY_LINEAR, NULL)));
    expect_refusal(gantry_model_fit(model, batches, NULL), GANTRY_INVALID_ARGUMENT,
                   "learning_rate is -1");
    expect_refusal(gantry_model_evaluate(model, batches, &value, 1), GANTRY_INVALID_ARGUMENT,
                   "learning_rate is -1");
    gantry_dataset_release(batches);
    gantry_model_release(model);
}

/* What failed while the model was put together stays. */
TEST(bad_layer_still_fails_compile) {
    gantry_model_t *model = make_model();
    (void)gantry_model_add(model, gantry_dense(-3, GANTRY_LINEAR, NULL));
    expect_refusal(compile(model, gantry_sgd(NULL), GANTRY_MEAN_SQUARED_ERROR),
                   GANTRY_INVALID_ARGUMENT, "-3");
    expect_refusal(compile(model, gantry_sgd(NULL), GANTRY_MEAN_SQUARED_ERROR),
                   GANTRY_INVALID_ARGUMENT, "-3");
    gantry_model_release(model);
}

/* ---- constructors that failed ---- */

TEST(failure_of_a_metric_is_told) {
    gantry_model_t *model = make_model();
    gantry_metric_t *metrics[] = {gantry_top_k_categorical_accuracy(-2, NULL)};
    assert_null(metrics[0]);
    expect_refusal(
        gantry_model_compile(model, &(gantry_compile_options_t){.optimizer = gantry_sgd(NULL),
                                                                .loss = GANTRY_MEAN_SQUARED_ERROR,
                                                                .metrics = metrics,
                                                                .metric_count = 1}),
        GANTRY_INVALID_ARGUMENT,
        "metrics[0] is NULL; a metric is accepted; the last failure of this thread: ");
    gantry_model_release(model);
}

TEST(failures_of_data_sets_and_callbacks_are_told) {
    double value;
    gantry_model_t *model = make_model();
    must(compile(model, gantry_sgd(NULL), GANTRY_MEAN_SQUARED_ERROR));
    expect_refusal(gantry_model_fit(model, gantry_dataset_batch(make_batches(1), 0, false), NULL),
                   GANTRY_INVALID_ARGUMENT,
                   "the data set is NULL; one is accepted; the last failure of this thread: "
                   "gantry_dataset_batch: ");
    expect_refusal(
        gantry_model_evaluate(model, gantry_dataset_batch(make_batches(1), 0, false), &value, 1),
        GANTRY_INVALID_ARGUMENT, "; the last failure of this thread: gantry_dataset_batch: ");
    gantry_dataset_t *batches = make_batches(1);
    const gantry_callback_t *callbacks[] = {
        gantry_early_stopping(&(gantry_early_stopping_options_t){.patience = -3})};
    assert_null(callbacks[0]);
    expect_refusal(
        gantry_model_fit(model, batches,
                         &(gantry_fit_options_t){.callbacks = callbacks, .callback_count = 1}),
        GANTRY_INVALID_ARGUMENT,
        "callback 0 is NULL; one is accepted; the last failure of this thread: gantry_early_stopping: ");
    gantry_dataset_release(batches);
    gantry_model_release(model);
}

/* ---- data sets ---- */

/* A Flatten after them takes both; the Dense of the labels does not take the first one. */
TEST(data_that_do_not_fit_do_not_fail_the_next) {
    gantry_model_t *model = gantry_sequential(runtime, NULL), *block = make_model();
    gantry_dataset_t *bad = make_batches(3), *good = make_batches(1);
    must(gantry_model_add_model(model, block));
    gantry_model_release(block);
    must(gantry_model_add(model, gantry_dense(3, GANTRY_LINEAR, NULL)));
    must(gantry_model_add(model, gantry_repeat_vector_layer(1, NULL)));
    must(gantry_model_add(model, gantry_flatten(NULL)));
    must(compile(model, gantry_sgd(NULL), GANTRY_MEAN_SQUARED_ERROR));
    for (int i = 0; i < 2; ++i)
        expect_refusal(gantry_model_fit(model, bad, NULL), GANTRY_INVALID_ARGUMENT, "RepeatVector");
    must(gantry_model_fit(model, good, NULL));
    assert_int_equal(gantry_model_variable_count(model), 4);
    gantry_dataset_release(bad);
    gantry_dataset_release(good);
    gantry_model_release(model);
}

int main(void) { return test_main_each(open_runtime, close_runtime); }
