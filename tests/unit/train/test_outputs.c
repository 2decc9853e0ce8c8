/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Models of several outputs, and losses and metrics that are functions of the program,
 * have Keras's names, losses, metrics, predictions and weights. */
#define _XOPEN_SOURCE 700

#include <string.h>

#include <math.h>

#include "test.h"
#include "thread_workers.h"
#include "train_case.h"
#include "train_given.h"

#include <gantry_train/train.h>

enum { ROWS = 20, FEATURES = 3, BATCH = 6, EPOCHS = 3, MOST_NAMES = 8 };

static double x[ROWS * FEATURES], values[ROWS * 2], weights[ROWS], others[ROWS];
static int32_t classes[ROWS];

/* ---- data and models: those of make_output_cases.py ---- */

static void make_data(void) {
    for (int i = 0; i < ROWS * FEATURES; ++i) x[i] = (double)(i * 37 % 64 - 32) / 32;
    for (int i = 0; i < ROWS * 2; ++i) values[i] = (double)(i * 23 % 32 - 16) / 16;
    for (int i = 0; i < ROWS; ++i) {
        classes[i] = (i * 5 + i / 3) % 3;
        weights[i] = (double)(i % 4 + 1) / 2;
        others[i] = (double)(i % 3 + 1) / 4;
    }
}

static gantry_dataset_t *make_batches(size_t weight_count) {
    const gantry_array_t arrays[] = {{GANTRY_FLOAT64, GANTRY_SHAPE(ROWS, FEATURES), x},
                                     {GANTRY_INT32, GANTRY_SHAPE(ROWS), classes},
                                     {GANTRY_FLOAT64, GANTRY_SHAPE(ROWS, 2), values},
                                     {GANTRY_FLOAT64, GANTRY_SHAPE(ROWS), weights},
                                     {GANTRY_FLOAT64, GANTRY_SHAPE(ROWS), others}};
    return gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 3 + weight_count, false), BATCH,
                                false);
}

static gantry_model_t *make_model(gantry_runtime_t *runtime, gantry_model_options_t options) {
    options.dtype = GANTRY_FLOAT64;
    options.seed = 7;
    gantry_model_t *model = gantry_functional(runtime, &options);
    int32_t v = gantry_model_input(model, GANTRY_FLOAT64, GANTRY_SHAPE(FEATURES)), outputs[2];
    v = gantry_model_apply(model, gantry_dense(5, GANTRY_TANH, NULL), &v, 1);
    outputs[0] = gantry_model_apply(
        model, gantry_dense(3, GANTRY_SOFTMAX, &(gantry_kernel_options_t){.name = "a"}), &v, 1);
    outputs[1] = gantry_model_apply(
        model, gantry_dense(2, GANTRY_LINEAR, &(gantry_kernel_options_t){.name = "b"}), &v, 1);
    must(gantry_model_set_outputs(model, outputs, 2));
    return model;
}

static gantry_metric_t *make_metric(const char *name) {
    const gantry_metric_options_t options = {.name = name, .dtype = GANTRY_FLOAT64};
    return strcmp(name, "accuracy") == 0
               ? gantry_sparse_categorical_accuracy(&options)
               : gantry_loss_metric(GANTRY_MEAN_ABSOLUTE_ERROR, NULL, &options);
}

/* ---- functions ---- */

static const gantry_tensor_t *quartic(gantry_scope_t *scope, const gantry_tensor_t *labels,
                                      const gantry_tensor_t *predictions, void *user) {
    const gantry_reduce_options_t last = {
        .struct_size = sizeof last, .axes = (const int32_t[]){-1}, .axis_count = 1};
    *(int *)user += 1;
    return gantry_mean(
        scope, gantry_square(scope, gantry_square(scope, gantry_sub(scope, labels, predictions))),
        &last);
}

static const gantry_tensor_t *largest(gantry_scope_t *scope, const gantry_tensor_t *labels,
                                      const gantry_tensor_t *predictions, void *user) {
    (void)user;
    return gantry_max(scope, gantry_abs(scope, gantry_sub(scope, labels, predictions)), NULL);
}

static int quartic_calls;
static const gantry_loss_options_t quartic_options = {.function = quartic, .user = &quartic_calls},
                                   largest_options = {.function = largest};

/* ---- trainings ---- */

static void compile(gantry_model_t *model, const gantry_compile_output_t outputs[2],
                    const double *loss_weights) {
    const gantry_sgd_options_t sgd = {.learning_rate = 0.05};
    must(gantry_model_compile(
        model, &(gantry_compile_options_t){.optimizer = gantry_sgd(&sgd),
                                           .outputs = outputs,
                                           .output_count = 2,
                                           .loss_weights = loss_weights,
                                           .loss_weight_count = loss_weights ? 2 : 0}));
}

static size_t two(gantry_model_t *model) {
    gantry_metric_t *a[] = {make_metric("accuracy")}, *b[] = {make_metric("mae")};
    const gantry_compile_output_t outputs[] = {
        {.loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY, .metrics = a, .metric_count = 1},
        {.loss = GANTRY_MEAN_SQUARED_ERROR, .metrics = b, .metric_count = 1}};
    compile(model, outputs, NULL);
    return 0;
}

static size_t weighted(gantry_model_t *model) {
    gantry_metric_t *a[] = {make_metric("accuracy")}, *weighted_a[] = {make_metric("accuracy")},
                    *b[] = {make_metric("mae"), make_metric("mae")};
    const gantry_compile_output_t outputs[] = {
        {.loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY,
         .metrics = a,
         .metric_count = 1,
         .weighted_metrics = weighted_a,
         .weighted_metric_count = 1},
        {.loss = GANTRY_MEAN_SQUARED_ERROR, .weighted_metrics = b, .weighted_metric_count = 2}};
    compile(model, outputs, (const double[]){0.5, 2});
    return 1;
}

static size_t weights_of_each(gantry_model_t *model) {
    gantry_metric_t *a[] = {make_metric("accuracy")}, *b[] = {make_metric("mae")};
    const gantry_compile_output_t outputs[] = {
        {.loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY,
         .weighted_metrics = a,
         .weighted_metric_count = 1},
        {.loss = GANTRY_MEAN_SQUARED_ERROR, .weighted_metrics = b, .weighted_metric_count = 1}};
    compile(model, outputs, (const double[]){1, 0.25});
    return 2;
}

static size_t functions(gantry_model_t *model) {
    const gantry_metric_options_t options = {.name = "quartic", .dtype = GANTRY_FLOAT64};
    gantry_metric_t *a[] = {make_metric("accuracy")},
                    *b[] = {gantry_loss_metric(GANTRY_OWN_LOSS, &quartic_options, &options)};
    const gantry_compile_output_t outputs[] = {
        {.loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY, .metrics = a, .metric_count = 1},
        {.loss = GANTRY_OWN_LOSS,
         .loss_options = &quartic_options,
         .metrics = b,
         .metric_count = 1}};
    compile(model, outputs, (const double[]){1, 3});
    return 0;
}

static size_t one_number(gantry_model_t *model) {
    const gantry_compile_output_t outputs[] = {
        {.loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY},
        {.loss = GANTRY_OWN_LOSS, .loss_options = &largest_options}};
    compile(model, outputs, (const double[]){1, 0.5});
    return 0;
}

typedef struct case_t {
    size_t (*compile)(gantry_model_t *model); /* returns the number of weights' components */
    size_t name_count;
    const char *names[MOST_NAMES];
    size_t count;
    double numbers[MOST];
} case_t;

static const case_t cases[] = {
#include "train_output_cases.inc"
};

/* ---- a case ---- */

static void give_predictions(gantry_model_t *model, gantry_dataset_t *batches) {
    double a[ROWS * 3], b[ROWS * 2];
    void *const outs[] = {a, b};
    const size_t bytes[] = {sizeof a, sizeof b};
    size_t needed[2];
    must(gantry_model_predict_outputs(model, batches, outs, bytes, 2, needed));
    assert_int_equal(needed[0], sizeof a);
    assert_int_equal(needed[1], sizeof b);
    for (int i = 0; i < ROWS * 3; ++i) give(a[i]);
    for (int i = 0; i < ROWS * 2; ++i) give(b[i]);
}

static void compare(const case_t *c, size_t number) {
    assert_int_equal(given_count, c->count);
    for (size_t i = 0; i < given_count; ++i) {
        if (!(fabs(given[i] - c->numbers[i]) <= 1e-9 + 1e-9 * fabs(given[i])))
            fail_msg("case %zu: number %zu is %.12g; Keras has %.12g", number, i, given[i],
                     c->numbers[i]);
    }
}

static void train_one(gantry_runtime_t *runtime, gantry_model_options_t options, size_t number) {
    const case_t *c = &cases[number];
    double tested[MOST_NAMES];
    const gantry_callback_t recorder = {.struct_size = sizeof recorder, .epoch_end = record},
                            *callbacks[] = {&recorder};
    gantry_model_t *model = make_model(runtime, options);
    gantry_dataset_t *batches = make_batches(c->compile(model));
    given_count = 0;
    must(gantry_model_fit(
        model, batches,
        &(gantry_fit_options_t){.epochs = EPOCHS, .callbacks = callbacks, .callback_count = 1}));
    must(gantry_model_evaluate(model, batches, tested, MOST_NAMES));
    for (size_t i = 0; i < c->name_count; ++i) {
        assert_string_equal(gantry_model_value_name(model, i), c->names[i]);
        give(tested[i]);
    }
    assert_null(gantry_model_value_name(model, c->name_count));
    give_predictions(model, batches);
    give_variables(runtime, model);
    gantry_dataset_release(batches);
    gantry_model_release(model);
    compare(c, number);
}

/* ---- the tests ---- */

TEST(outputs_follow_keras) {
    make_data();
    quartic_calls = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
        train_one(fixture.runtime, (gantry_model_options_t){.name = NULL}, i);
    assert_in_range(quartic_calls, 1, 8); /* traced, not called in each step */
}

/* The largest error of parts is not that of all. */
TEST(mirrored_outputs_follow_keras) {
    static const char *const devices[] = {"CPU:0", "CPU:1"};
    gantry_runtime_t *runtime;
    const gantry_runtime_options_t options = {.struct_size = sizeof options, .backends = "cpu"};
    must(gantry_runtime_create(&options, &runtime));
    must(gantry_set_logical_cpu_devices(runtime, 2));
    gantry_strategy_t *strategy = gantry_mirrored_strategy(runtime, devices, 2);
    make_data();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        if (cases[i].compile != one_number)
            train_one(runtime, (gantry_model_options_t){.strategy = strategy}, i);
    }
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
}

static gantry_status_t train_worker(thread_worker_t *worker) {
    gantry_runtime_t *runtime = NULL;
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .cpu_threads = 1};
    must(gantry_runtime_create(&options, &runtime));
    gantry_strategy_t *strategy = gantry_multi_worker_strategy(
        runtime, (const char *const[]){"CPU:0"}, 1, &worker->communicator);
    for (size_t i = 0; i < 3; ++i)
        train_one(runtime, (gantry_model_options_t){.strategy = strategy}, i);
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
    return GANTRY_OK;
}

TEST(outputs_in_processes_follow_keras) {
    thread_workers_t group;
    make_data();
    thread_workers_run(&group, 2, -1, train_worker, NULL);
    for (size_t r = 0; r < group.size; ++r) assert_int_equal(group.workers[r].status, GANTRY_OK);
    assert_int_equal(group.mixed, 0);
}

TEST(outputs_on_pocl_follow_keras) {
    gantry_runtime_t *runtime = train_open_gpu();
    make_data();
    train_one(runtime, (gantry_model_options_t){.device = "/GPU:0"}, 1);
    train_one(runtime, (gantry_model_options_t){.device = "/GPU:0"}, 3);
    gantry_runtime_release(runtime);
}

/* Keras's order: by name. */
static char written[4096];

static void write_text(const char *text, void *user) {
    (void)user;
    (void)strncat(written, text, sizeof written - strlen(written) - 1);
}

TEST(progress_has_the_names_of_outputs) {
    make_data();
    gantry_model_t *model = make_model(fixture.runtime, (gantry_model_options_t){.name = NULL});
    gantry_dataset_t *batches = make_batches(two(model));
    written[0] = '\0';
    must(gantry_model_fit(model, batches, &(gantry_fit_options_t){.write = write_text}));
    const char *a = strstr(written, " - a_accuracy: 0.3500 - a_loss: "),
               *b = strstr(written, " - b_loss: "), *mae = strstr(written, " - b_mae: "),
               *loss = strstr(written, " - loss: ");
    assert_true(a && b && mae && loss && a < b && b < mae && mae < loss);
    gantry_dataset_release(batches);
    gantry_model_release(model);
}

TEST(a_call_gives_all_outputs) {
    make_data();
    gantry_model_t *model = make_model(fixture.runtime, (gantry_model_options_t){.name = NULL});
    must(gantry_model_build(model, GANTRY_FLOAT64, GANTRY_SHAPE(FEATURES)));
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    const gantry_tensor_t *outputs[3],
        *input = gantry_constant(scope, GANTRY_FLOAT64, GANTRY_SHAPE(ROWS, FEATURES), x, sizeof x);
    must(gantry_model_call_outputs(model, scope, &input, 1, false, outputs, 2));
    assert_int_equal(gantry_tensor_shape(outputs[0])->dims[1], 3);
    assert_int_equal(gantry_tensor_shape(outputs[1])->dims[1], 2);
    assert_int_equal(
        gantry_tensor_shape(gantry_model_call(model, scope, &input, 1, false))->dims[1], 3);
    assert_int_equal(gantry_model_call_outputs(model, scope, &input, 1, false, outputs, 3),
                     GANTRY_INVALID_ARGUMENT);
    assert_null(outputs[0]);
    assert_non_null(strstr(gantry_scope_message(scope), "room for 3 outputs"));
    (void)gantry_scope_end(scope);
    gantry_model_release(model);
}

/* ---- bad input ---- */

static void refuse(gantry_status_t status, gantry_status_t wanted, const char *text) {
    assert_int_equal(status, wanted);
    if (!strstr(gantry_last_message(), text)) fail_msg("%s", gantry_last_message());
}

/* A model keeps its first error, so that each has its own. */
static void refuse_compile(const gantry_compile_options_t *options, gantry_status_t wanted,
                           const char *text) {
    gantry_model_t *model = make_model(fixture.runtime, (gantry_model_options_t){.name = NULL});
    gantry_compile_options_t o = *options;
    o.optimizer = gantry_sgd(NULL);
    refuse(gantry_model_compile(model, &o), wanted, text);
    gantry_model_release(model);
}

TEST(bad_options_are_refused) {
    const gantry_compile_output_t good[3] = {
        {.loss = GANTRY_MEAN_SQUARED_ERROR}, {.loss = GANTRY_MEAN_SQUARED_ERROR}, {.loss = 0}};
    const gantry_compile_output_t none[2] = {{.loss = 0}};
    const gantry_compile_output_t function[2] = {{.loss = GANTRY_OWN_LOSS}};
    const gantry_compile_output_t large[1] = {{.struct_size = sizeof large[0] + 8}};
    gantry_metric_t *given_metric[] = {make_metric("mae")};
    const gantry_compile_output_t with_metric[2] = {
        {.loss = GANTRY_MEAN_SQUARED_ERROR, .metrics = given_metric, .metric_count = 1}};
    const double infinite[] = {1, HUGE_VAL};
    refuse_compile(&(gantry_compile_options_t){.outputs = good, .output_count = 3},
                   GANTRY_FAILED_PRECONDITION, "3 outputs are given, and model functional has 2");
    refuse_compile(&(gantry_compile_options_t){.outputs = good, .output_count = 17},
                   GANTRY_INVALID_ARGUMENT, "17 outputs; 1 to 16");
    refuse_compile(&(gantry_compile_options_t){.outputs = none, .output_count = 2},
                   GANTRY_INVALID_ARGUMENT, "no output has a loss");
    refuse_compile(&(gantry_compile_options_t){.outputs = function, .output_count = 2},
                   GANTRY_INVALID_ARGUMENT, "function is NULL");
    refuse_compile(&(gantry_compile_options_t){.outputs = large, .output_count = 1},
                   GANTRY_INVALID_ARGUMENT, "struct_size is ");
    refuse_compile(
        &(gantry_compile_options_t){
            .outputs = with_metric, .output_count = 2, .loss = GANTRY_MEAN_SQUARED_ERROR},
        GANTRY_INVALID_ARGUMENT, "a loss or metrics are given together with outputs");
    refuse_compile(
        &(gantry_compile_options_t){
            .outputs = good, .output_count = 2, .loss_weights = infinite, .loss_weight_count = 2},
        GANTRY_INVALID_ARGUMENT, "loss_weights[1] is inf");
    refuse_compile(
        &(gantry_compile_options_t){
            .outputs = good, .output_count = 2, .loss_weights = infinite, .loss_weight_count = 1},
        GANTRY_INVALID_ARGUMENT, "1 loss_weights; one for each of 2 outputs");
    refuse_compile(
        &(gantry_compile_options_t){.loss = GANTRY_HUBER,
                                    .loss_options = &(gantry_loss_options_t){.function = quartic}},
        GANTRY_INVALID_ARGUMENT, "huber: function is given");
    gantry_metric_t *named[] = {make_metric("mae")};
    refuse_compile(
        &(gantry_compile_options_t){
            .loss = GANTRY_MEAN_SQUARED_ERROR, .metrics = named, .metric_count = 1},
        GANTRY_INVALID_ARGUMENT, "metrics name none");
}

TEST(bad_outputs_are_refused) {
    for (int i = 0; i < 2; ++i) {
        gantry_model_t *model = make_model(fixture.runtime, (gantry_model_options_t){.name = NULL});
        refuse(gantry_model_set_outputs(model, (const int32_t[]){1, i == 0 ? 9 : 0}, 2),
               GANTRY_INVALID_ARGUMENT, i == 0 ? "value 9 is none of" : "value 0 is an input");
        gantry_model_release(model);
    }
}

TEST(bad_batches_are_refused) {
    double room[8];
    make_data();
    gantry_model_t *model = make_model(fixture.runtime, (gantry_model_options_t){.name = NULL});
    gantry_dataset_t *batches = make_batches(two(model));
    classes[4] = 3;
    refuse(gantry_model_fit(model, batches, NULL), GANTRY_INVALID_ARGUMENT,
           "a: labels[4]: Received a label value of 3");
    classes[4] = 0;
    refuse(gantry_model_fit(model, batches,
                            &(gantry_fit_options_t){.class_weights = (const double[]){1, 1, 1},
                                                    .class_weight_count = 3}),
           GANTRY_INVALID_ARGUMENT, "class_weights with labels of 2 outputs");
    refuse(gantry_model_predict(model, batches, NULL, 0, NULL), GANTRY_INVALID_ARGUMENT,
           "room for 1 output, and model functional has 2");
    const gantry_array_t arrays[] = {{GANTRY_FLOAT64, GANTRY_SHAPE(ROWS, FEATURES), x},
                                     {GANTRY_INT32, GANTRY_SHAPE(ROWS), classes}};
    gantry_dataset_t *few =
        gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, true), BATCH, false);
    refuse(gantry_model_evaluate(model, few, room, 8), GANTRY_INVALID_ARGUMENT,
           "1 inputs, and labels of 2 outputs, are accepted");
    gantry_dataset_release(few);
    gantry_dataset_release(batches);
    gantry_model_release(model);
}

static const gantry_tensor_t *returns_null(gantry_scope_t *scope, const gantry_tensor_t *labels,
                                           const gantry_tensor_t *predictions, void *user) {
    (void)scope, (void)labels, (void)predictions, (void)user;
    return NULL;
}

static const gantry_tensor_t *returns_labels(gantry_scope_t *scope, const gantry_tensor_t *labels,
                                             const gantry_tensor_t *predictions, void *user) {
    (void)predictions, (void)user;
    return gantry_cast(scope, labels, GANTRY_INT32);
}

TEST(bad_functions_are_refused) {
    const gantry_loss_fn all[] = {returns_null, returns_labels};
    static const char *const texts[] = {"the program's function returns NULL",
                                        "the program's function returns int32"};
    make_data();
    for (int i = 0; i < 2; ++i) {
        const gantry_loss_options_t options = {.function = all[i]};
        const gantry_compile_output_t outputs[] = {
            {.loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY},
            {.loss = GANTRY_OWN_LOSS, .loss_options = &options}};
        gantry_model_t *model = make_model(fixture.runtime, (gantry_model_options_t){.name = NULL});
        compile(model, outputs, NULL);
        gantry_dataset_t *batches = make_batches(0);
        refuse(gantry_model_fit(model, batches, NULL), GANTRY_INVALID_ARGUMENT, texts[i]);
        gantry_dataset_release(batches);
        gantry_model_release(model);
    }
}

/* Puts a model together and compiles it; every allocation may fail. */
static gantry_status_t compile_all(void *user) {
    (void)user;
    gantry_metric_t *a[] = {make_metric("accuracy")}, *b[] = {make_metric("mae")};
    gantry_optimizer_t *sgd = gantry_sgd(NULL);
    gantry_status_t status = GANTRY_RESOURCE_EXHAUSTED;
    if (!a[0] || !b[0] || !sgd) {
        gantry_metric_release(a[0]);
        gantry_metric_release(b[0]);
        gantry_optimizer_release(sgd);
        return status;
    }
    const gantry_compile_output_t outputs[] = {
        {.loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY, .metrics = a, .metric_count = 1},
        {.loss = GANTRY_MEAN_SQUARED_ERROR, .weighted_metrics = b, .weighted_metric_count = 1}};
    gantry_model_t *model = gantry_functional(fixture.runtime, NULL);
    int32_t v = gantry_model_input(model, GANTRY_FLOAT32, GANTRY_SHAPE(FEATURES)), values_of[2];
    values_of[0] = gantry_model_apply(model, gantry_dense(3, GANTRY_SOFTMAX, NULL), &v, 1);
    values_of[1] = gantry_model_apply(model, gantry_dense(2, GANTRY_LINEAR, NULL), &v, 1);
    (void)gantry_model_set_outputs(model, values_of, 2);
    status = gantry_model_compile(
        model,
        &(gantry_compile_options_t){.optimizer = sgd, .outputs = outputs, .output_count = 2});
    gantry_model_release(model);
    return status == GANTRY_INVALID_ARGUMENT ? GANTRY_RESOURCE_EXHAUSTED : status; /* of no model */
}

TEST(memory_may_be_out) { assert_true(train_heap_fail_each("compile", compile_all, NULL) > 20); }

int main(void) { return test_main_each(set_up, tear_down); }
