/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Models of several outputs train with a mask for each output as in Keras, go on from a
 * backup to the same bits, and errors name the output. */
#define _XOPEN_SOURCE 700

#include <string.h>

#include <math.h>
#include <unistd.h>

#include "test.h"
#include "train_case.h"
#include "train_given.h"

#include <gantry_train/train.h>

enum { ROWS = 10, STEPS = 5, BATCH = 4, EPOCHS = 2, WORDS = 6, VALUES = 5 };

/* ---- data and model: those of make_masked_outputs.py ---- */

static int32_t words[ROWS * STEPS], classes[ROWS * STEPS];
static double values[ROWS * 2], weights[ROWS * STEPS], others[ROWS];

static void make_data(void) {
    for (int i = 0; i < ROWS * STEPS; ++i) {
        words[i] = i * 7 % 11 % 6;
        classes[i] = (i * 5 + i / 3) % 3;
        weights[i] = (double)(i % 4 + 1) / 2;
    }
    for (int i = 0; i < ROWS * 2; ++i) values[i] = (double)(i * 23 % 32 - 16) / 16;
    for (int i = 0; i < ROWS; ++i) others[i] = (double)(i % 3 + 1) / 4;
}

/* columns: of the values; 2 fits. */
static gantry_dataset_t *make_batches(size_t weight_count, int64_t steps, int64_t columns) {
    const gantry_array_t arrays[] = {{GANTRY_INT32, GANTRY_SHAPE(ROWS, STEPS), words},
                                     {GANTRY_INT32, GANTRY_SHAPE(ROWS, steps), classes},
                                     {GANTRY_FLOAT64, GANTRY_SHAPE(ROWS, columns), values},
                                     {GANTRY_FLOAT64, GANTRY_SHAPE(ROWS, STEPS), weights},
                                     {GANTRY_FLOAT64, GANTRY_SHAPE(ROWS), others}};
    return gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 3 + weight_count, false), BATCH,
                                false);
}

static gantry_model_t *make_layers(const gantry_model_options_t *wanted) {
    gantry_model_options_t options = *wanted;
    const gantry_recurrent_options_t all = {.return_sequences = true};
    options.dtype = GANTRY_FLOAT64;
    options.seed = 7;
    gantry_model_t *model = gantry_functional(fixture.runtime, &options);
    int32_t v = gantry_model_input(model, GANTRY_INT32, GANTRY_SHAPE(STEPS)), outputs[2];
    v = gantry_model_apply(model, gantry_masked_embedding(WORDS, 3, NULL, NULL), &v, 1);
    v = gantry_model_apply(model, gantry_simple_rnn(2, &all), &v, 1);
    outputs[0] = gantry_model_apply(
        model, gantry_dense(3, GANTRY_SOFTMAX, &(gantry_kernel_options_t){.name = "a"}), &v, 1);
    v = gantry_model_apply(model, gantry_simple_rnn(2, NULL), &v, 1);
    outputs[1] = gantry_model_apply(
        model, gantry_dense(2, GANTRY_LINEAR, &(gantry_kernel_options_t){.name = "b"}), &v, 1);
    must(gantry_model_set_outputs(model, outputs, 2));
    return model;
}

typedef struct compiled_t {
    bool is_weighted, checks;
    gantry_optimizer_t *optimizer; /* NULL: SGD */
} compiled_t;

static gantry_model_t *make_model(const gantry_model_options_t *options, compiled_t how) {
    const gantry_metric_options_t of_a = {.name = "accuracy", .dtype = GANTRY_FLOAT64},
                                  of_b = {.name = "mae", .dtype = GANTRY_FLOAT64};
    gantry_metric_t *a[] = {gantry_sparse_categorical_accuracy(&of_a)},
                    *b[] = {gantry_loss_metric(GANTRY_MEAN_ABSOLUTE_ERROR, NULL, &of_b)};
    gantry_compile_output_t outputs[] = {{.loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY},
                                         {.loss = GANTRY_MEAN_SQUARED_ERROR}};
    gantry_metric_t *const *lists[] = {a, b};
    for (int i = 0; i < 2; ++i) {
        if (how.is_weighted) {
            outputs[i].weighted_metrics = lists[i];
            outputs[i].weighted_metric_count = 1;
        } else {
            outputs[i].metrics = lists[i];
            outputs[i].metric_count = 1;
        }
    }
    gantry_model_t *model = make_layers(options);
    must(gantry_model_compile(
        model,
        &(gantry_compile_options_t){
            .optimizer = how.optimizer ? how.optimizer
                                       : gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 0.05}),
            .outputs = outputs,
            .output_count = 2,
            .loss_weights = (const double[]){1, 0.5},
            .loss_weight_count = 2,
            .check_numerics = how.checks}));
    return model;
}

static void give_weights(gantry_model_t *model) {
    double numbers[MOST];
    for (size_t i = 0; i < gantry_model_variable_count(model); ++i) {
        gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
        const gantry_tensor_t *value =
            gantry_variable_read(scope, gantry_model_variable(model, i, NULL));
        must(gantry_tensor_read(value, numbers, gantry_tensor_bytes(value)));
        for (int64_t k = 0; k < gantry_tensor_elements(value); ++k) give(numbers[k]);
        must(gantry_scope_end(scope));
    }
}

/* ---- masks ---- */

typedef struct masked_output_case_t {
    size_t weight_count, count;
    double numbers[MOST]; /* of each epoch, of evaluate, all weights */
} masked_output_case_t;

static const masked_output_case_t masked_cases[] = {
#include "train_masked_output_cases.inc"
};

static void follow(const masked_output_case_t *c, bool checks) {
    const gantry_model_options_t options = {.name = NULL};
    const gantry_callback_t recorder = {.struct_size = sizeof recorder, .epoch_end = record},
                            *callbacks[] = {&recorder};
    double tested[VALUES];
    gantry_model_t *model =
        make_model(&options, (compiled_t){.is_weighted = c->weight_count > 0, .checks = checks});
    gantry_dataset_t *batches = make_batches(c->weight_count, STEPS, 2);
    given_count = 0;
    must(gantry_model_fit(
        model, batches,
        &(gantry_fit_options_t){.epochs = EPOCHS, .callbacks = callbacks, .callback_count = 1}));
    must(gantry_model_evaluate(model, batches, tested, VALUES));
    for (size_t i = 0; i < VALUES; ++i) give(tested[i]);
    give_weights(model);
    assert_int_equal(given_count, c->count);
    for (size_t i = 0; i < given_count; ++i) {
        if (!(fabs(given[i] - c->numbers[i]) <= 1e-9 * (1 + fabs(given[i]))))
            fail_msg("%zu weights: number %zu is %.12g; Keras has %.12g", c->weight_count, i,
                     given[i], c->numbers[i]);
    }
    gantry_dataset_release(batches);
    gantry_model_release(model);
}

TEST(masks_of_outputs_are_those_of_keras) {
    make_data();
    for (size_t i = 0; i < 2; ++i) follow(&masked_cases[i], false);
    for (size_t i = 0; i < 2; ++i) follow(&masked_cases[i], true);
}

/* ---- backups and tables ---- */

static int steps_left; /* before the training stops; 0: it does not */

static gantry_status_t count_step(gantry_model_t *model, int64_t step, bool *stop, void *user) {
    (void)step, (void)stop, (void)user;
    if (steps_left > 0 && --steps_left == 0) gantry_model_stop(model);
    return GANTRY_OK;
}

static gantry_status_t train(gantry_model_t *model, const char *backup, const char *log) {
    const gantry_callback_t counter = {.struct_size = sizeof counter, .step_end = count_step};
    gantry_callback_t *logger = gantry_csv_logger(log);
    const gantry_callback_t *callbacks[] = {logger, &counter};
    gantry_dataset_t *batches = make_batches(2, STEPS, 2);
    gantry_dataset_t *validation = gantry_dataset_take(make_batches(2, STEPS, 2), 2);
    const gantry_fit_options_t options = {.epochs = 3,
                                          .validation = validation,
                                          .callbacks = callbacks,
                                          .callback_count = 2,
                                          .backup = backup};
    const gantry_status_t status = gantry_model_fit(model, batches, &options);
    gantry_dataset_release(validation);
    gantry_dataset_release(batches);
    gantry_callback_release(logger);
    return status;
}

static void read_text(const char *path, char *out, size_t bytes) {
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    out[fread(out, 1, bytes - 1, file)] = '\0';
    (void)fclose(file);
}

/* Stops in the middle of an epoch, goes on in another model, and writes the table of one training
 * that nothing disturbed. */
TEST(backup_goes_on_to_the_same_bits) {
    const gantry_model_options_t options = {.name = NULL};
    const compiled_t how = {.is_weighted = true};
    char whole_log[] = "/tmp/gantry_whole_XXXXXX", log[] = "/tmp/gantry_part_XXXXXX",
         backup[] = "/tmp/gantry_backup_XXXXXX", texts[2][4096];
    double wanted[MOST];
    make_data();
    (void)close(mkstemp(whole_log));
    (void)close(mkstemp(log));
    (void)close(mkstemp(backup));
    (void)unlink(backup);
    gantry_model_t *model = make_model(&options, how);
    must(train(model, NULL, whole_log));
    given_count = 0;
    give_weights(model);
    memcpy(wanted, given, sizeof wanted);
    gantry_model_release(model);

    model = make_model(&options, how);
    steps_left = 5; /* of 9 */
    assert_int_equal(train(model, backup, log), GANTRY_CANCELLED);
    gantry_model_release(model);
    model = make_model(&options, how);
    must(train(model, backup, log));
    given_count = 0;
    give_weights(model);
    assert_memory_equal(wanted, given, given_count * sizeof *given);
    gantry_model_release(model);

    read_text(whole_log, texts[0], sizeof texts[0]);
    read_text(log, texts[1], sizeof texts[1]);
    assert_string_equal(texts[0], texts[1]);
    assert_non_null(strstr(texts[0],
                           "epoch,loss,a_loss,b_loss,a_accuracy,b_mae,val_loss,val_a_loss,"
                           "val_b_loss,val_a_accuracy,val_b_mae\n0,"));
    (void)unlink(whole_log);
    (void)unlink(log);
    assert_int_not_equal(unlink(backup), 0); /* a complete training removes it */
}

/* ---- errors name the output ---- */

static void expect_refused(gantry_model_t *model, gantry_dataset_t *batches, const char *text) {
    double numbers[VALUES];
    for (int i = 0; i < 2; ++i) {
        const gantry_status_t status = i == 0
                                           ? gantry_model_fit(model, batches, NULL)
                                           : gantry_model_evaluate(model, batches, numbers, VALUES);
        assert_int_equal(status, GANTRY_INVALID_ARGUMENT);
        if (!strstr(gantry_last_message(), text))
            fail_msg("\"%s\" lacks \"%s\"", gantry_last_message(), text);
    }
    gantry_dataset_release(batches);
}

TEST(labels_that_do_not_fit_name_their_output) {
    const gantry_model_options_t options = {.name = NULL};
    double numbers[VALUES];
    make_data();
    gantry_model_t *model = make_model(&options, (compiled_t){.is_weighted = true});
    expect_refused(model, make_batches(0, 3, 2),
                   "output a: sparse_categorical_crossentropy: labels of shape [4,3] do not fit");
    expect_refused(model, make_batches(0, STEPS, 1),
                   "output b: mean_squared_error: labels of shape [4,1] do not fit");
    gantry_dataset_t *good = make_batches(0, STEPS, 2);
    must(gantry_model_fit(model, good, NULL));
    must(gantry_model_evaluate(model, good, numbers, VALUES));
    gantry_dataset_release(good);
    expect_refused(model, make_batches(0, STEPS, 1),
                   "output b: mean_squared_error: labels of shape [4,1] do not fit");
    good = make_batches(0, STEPS, 2);
    must(gantry_model_fit(model, good, NULL));
    gantry_dataset_release(good);
    gantry_model_release(model);
}

TEST(weights_that_do_not_fit_name_their_output) {
    const gantry_model_options_t options = {.name = NULL};
    const gantry_array_t arrays[] = {{GANTRY_INT32, GANTRY_SHAPE(ROWS, STEPS), words},
                                     {GANTRY_INT32, GANTRY_SHAPE(ROWS, STEPS), classes},
                                     {GANTRY_FLOAT64, GANTRY_SHAPE(ROWS, 2), values},
                                     {GANTRY_FLOAT64, GANTRY_SHAPE(ROWS, STEPS), weights},
                                     {GANTRY_FLOAT64, GANTRY_SHAPE(ROWS, STEPS), weights}};
    make_data();
    gantry_model_t *model = make_model(&options, (compiled_t){.is_weighted = true});
    expect_refused(
        model, gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 5, false), BATCH, false),
        "output b: mean_squared_error: sample_weights of shape [4,5] do not fit losses of shape "
        "[4]");
    gantry_model_release(model);
}

TEST(numbers_that_are_not_finite_name_their_output) {
    const gantry_model_options_t options = {.name = NULL};
    make_data();
    gantry_model_t *model = make_model(&options, (compiled_t){.checks = true});
    values[3] = NAN;
    expect_refused(model, make_batches(0, STEPS, 2),
                   "the labels of b of the batch: 1 NaN, 0 +Inf and 0 -Inf");
    values[3] = 1e300; /* its square is no number */
    expect_refused(model, make_batches(0, STEPS, 2), "output b: the loss: op ");
    make_data();
    others[2] = INFINITY;
    expect_refused(model, make_batches(2, STEPS, 2),
                   "sample weights of b of the batch: 0 NaN, 1 +Inf");
    make_data();
    gantry_dataset_t *good = make_batches(0, STEPS, 2);
    must(gantry_model_fit(model, good, NULL));
    gantry_dataset_release(good);
    gantry_model_release(model);
}

int main(void) { return test_main_each(set_up, tear_down); }
