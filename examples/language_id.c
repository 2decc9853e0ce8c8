/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the language of a word, by softmax regression on hashed character n-grams, trained on the
 * device of your choice.
 *
 *   language_id [options] [LABEL=FILE ...]        trains, and tests on held-out words
 *   language_id --load FOLDER --classify          reads words from standard input
 *   language_id --profile on|wait ...             prints the profile of the training
 *   language_id --function ...                    trains by calls of one function
 *   language_id --compare ...                     trains some steps both ways: bits and times
 *
 * The model is logits = x w + b. The host makes x [batch, features]. A tape computes the gradients,
 * and Adam applies them. The weights, Adam's moments and the mean loss are variables on the device.
 * The training reads back only the loss that it prints. One training step is a body of ops, which
 * runs op by op, or is traced once and then called. */
#define _POSIX_C_SOURCE 200809L
#include "example_options.h"
#include "example_training.h"
#include "language_words.h"

static struct {
    const char *device, *save, *load, *profile; /* the profile of the training */
    bool log_placement, classify, uses_function, compares;
    int64_t epochs, batch, features, words_each, seed;
    double learning_rate;
    languages_t languages;
} options;

typedef struct model_t {
    gantry_runtime_t *runtime;
    gantry_variable_t *weights[2]; /* w [features, languages] and b [languages] */
    gantry_optimizer_t *adam;
    gantry_metric_t *loss;   /* the mean of the epoch */
    gantry_function_t *step; /* NULL: its body runs op by op */
    float *rows;             /* host side of one batch */
    int32_t *labels;
} model_t;

static const char usage[] =
    "usage: language_id [--device NAME] [--log-placement] [--epochs N] [--batch N] [--features N] [--words N] [--rate X]\n"
    "                   [--seed N] [--save FOLDER] [--load FOLDER] [--classify] [--profile on|wait] [--function] [--compare]\n"
    "                   [LABEL=FILE ...]\n"
    "Without LABEL=FILE: en, fr, de, es and it from Debian's packages wamerican wfrench wngerman wspanish witalian.\n";

static void read_options(int argc, char **argv) {
    static const example_option_t list[] = {
        {"--device", EXAMPLE_TEXT, &options.device, 0, 0, 0},
        {"--save", EXAMPLE_TEXT, &options.save, 0, 0, 0},
        {"--load", EXAMPLE_TEXT, &options.load, 0, 0, 0},
        {"--profile", EXAMPLE_TEXT, &options.profile, 0, 0, 0},
        {"--log-placement", EXAMPLE_FLAG, &options.log_placement, 0, 0, 0},
        {"--classify", EXAMPLE_FLAG, &options.classify, 0, 0, 0},
        {"--function", EXAMPLE_FLAG, &options.uses_function, 0, 0, 0},
        {"--compare", EXAMPLE_FLAG, &options.compares, 0, 0, 0},
        {"--epochs", EXAMPLE_NUMBER, &options.epochs, 6, 0, 10000},
        {"--batch", EXAMPLE_NUMBER, &options.batch, 256, 1, 65536},
        {"--features", EXAMPLE_NUMBER, &options.features, 4096, 16, 1 << 20},
        {"--words", EXAMPLE_NUMBER, &options.words_each, 20000, 20, 10000000},
        {"--seed", EXAMPLE_NUMBER, &options.seed, 1, 0, 1000000000},
        {"--rate", EXAMPLE_REAL, &options.learning_rate, 0.02, 0, 1000}};
    const example_command_t command = {"language_id", usage, list, sizeof list / sizeof list[0]};
    argc = example_read_options(&command, argc, argv);
    const char *wrong = read_languages(&options.languages, argv + 1, argc - 1);
    if (wrong) example_refuse(&command, wrong);
    if (options.profile && strcmp(options.profile, "on") && strcmp(options.profile, "wait"))
        example_refuse(&command, options.profile);
}

/* ---- the model and its training step ---- */

static void open_model(model_t *model, gantry_runtime_t *runtime) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, options.device);
    *model = (model_t){.runtime = runtime};
    const gantry_shape_t shapes[] = {GANTRY_SHAPE(options.features, options.languages.count),
                                     GANTRY_SHAPE(options.languages.count)};
    for (int i = 0; i < 2; ++i)
        model->weights[i] = gantry_variable_create(
            scope, gantry_zeros(scope, GANTRY_FLOAT32, shapes[i]), i ? "b" : "w");
    model->adam = gantry_adam(&(gantry_adam_options_t){.learning_rate = options.learning_rate});
    model->loss = gantry_mean_metric(NULL);
    (void)gantry_optimizer_build(model->adam, scope, model->weights, 2);
    (void)gantry_metric_build(model->loss, scope);
    example_check(gantry_scope_end(scope), "making the model");
    model->rows = example_allocate((size_t)(options.batch * options.features), sizeof *model->rows);
    model->labels = example_allocate((size_t)options.batch, sizeof *model->labels);
}

static void close_model(model_t *model) {
    gantry_function_release(model->step);
    gantry_metric_release(model->loss);
    gantry_optimizer_release(model->adam);
    gantry_variable_release(model->weights[0]);
    gantry_variable_release(model->weights[1]);
    free(model->rows);
    free(model->labels);
}

/* Makes x [count, features] and labels [count] of these words. */
static void make_batch(model_t *model, gantry_scope_t *scope, const word_t *words, size_t count,
                       const gantry_tensor_t *batch[2]) {
    const gantry_shape_t shape = GANTRY_SHAPE((int64_t)count, options.features);
    fill_batch(words, count, (uint32_t)options.features, model->rows, model->labels);
    batch[0] = gantry_constant(scope, GANTRY_FLOAT32, shape, model->rows,
                               count * (size_t)options.features * sizeof(float));
    batch[1] = gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE((int64_t)count), model->labels,
                               count * sizeof(int32_t));
}

static const gantry_tensor_t *compute_logits(const model_t *model, gantry_scope_t *scope,
                                             const gantry_tensor_t *x) {
    const gantry_tensor_t *w = gantry_variable_read(scope, model->weights[0]);
    return gantry_bias_add(scope, gantry_matmul(scope, x, w, NULL),
                           gantry_variable_read(scope, model->weights[1]));
}

/* The step: inputs are x [count, features] and labels [count]; its results are the variables. Adds
 * the losses of the batch to the mean on the device. */
static void take_step(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    model_t *model = user;
    const gantry_source_t sources[] = {{.variable = model->weights[0]},
                                       {.variable = model->weights[1]}};
    const gantry_tensor_t *gradients[2] = {NULL, NULL};
    (void)outputs;
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    const gantry_tensor_t *losses = gantry_loss(
        scope, GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY, inputs[1],
        compute_logits(model, scope, inputs[0]),
        &(gantry_loss_options_t){.from_logits = true, .reduction = GANTRY_REDUCTION_NONE});
    (void)gantry_tape_gradient(tape, gantry_mean(scope, losses, NULL), NULL, sources, 2, NULL,
                               gradients);
    gantry_tape_end(tape);
    (void)gantry_optimizer_apply(model->adam, scope, model->weights, gradients, 2);
    (void)gantry_metric_update(model->loss, scope, NULL, losses, NULL);
}

/* Traces the step. The last batch of an epoch is smaller: a size that is not known, -1, is traced
 * once for each size. */
static void trace_step(model_t *model) {
    const gantry_input_spec_t inputs[] = {{"x", GANTRY_FLOAT32, GANTRY_SHAPE(-1, options.features)},
                                          {"labels", GANTRY_INT32, GANTRY_SHAPE(-1)}};
    example_check(gantry_function_trace(model->runtime, "step", take_step, model, inputs, 2, 0,
                                        NULL, &model->step),
                  "tracing the step");
}

static void train_batch(model_t *model, const word_t *words, size_t count) {
    const gantry_tensor_t *batch[2];
    gantry_scope_t *scope = gantry_scope_begin(model->runtime, options.device);
    make_batch(model, scope, words, count, batch);
    if (model->step)
        (void)gantry_function_call(scope, model->step, batch, 2, NULL, 0);
    else
        take_step(scope, batch, NULL, model);
    example_check(gantry_scope_end(scope), "training");
}

/* The mean loss since it was forgotten; waits for it. */
static double read_loss(model_t *model, bool forgets) {
    float loss = 0;
    gantry_scope_t *scope = gantry_scope_begin(model->runtime, options.device);
    const gantry_tensor_t *mean = gantry_metric_result(model->loss, scope);
    if (forgets) (void)gantry_metric_reset(model->loss, scope);
    example_read(scope, mean, &loss, sizeof loss);
    return (double)loss;
}

/* ---- training and testing ---- */

static void train_epoch(model_t *model, int64_t epoch, word_t *words, size_t count,
                        uint64_t *random) {
    const size_t batch = (size_t)options.batch;
    shuffle_words(words, count, random);
    const double start = example_now();
    for (size_t done = 0, batches = 1; done < count; ++batches) {
        const size_t size = count - done < batch ? count - done : batch;
        train_batch(model, words + done, size);
        done += size;
        if (batches % 50 == 0 || done == count)
            example_show_progress(epoch, options.epochs, done, count,
                                  read_loss(model, done == count), example_now() - start);
    }
}

/* Reads the logits of words, or with GANTRY_SOFTMAX their probabilities. */
static void predict(model_t *model, const word_t *words, size_t count,
                    gantry_activation_t activation, float *out) {
    const gantry_tensor_t *batch[2];
    const size_t bytes = count * (size_t)options.languages.count * sizeof *out;
    gantry_scope_t *scope = gantry_scope_begin(model->runtime, options.device);
    make_batch(model, scope, words, count, batch);
    const gantry_tensor_t *logits = compute_logits(model, scope, batch[0]);
    example_read(scope, gantry_activate(scope, activation, logits), out, bytes);
}

static double test(model_t *model, const word_t *words, size_t count) {
    const size_t batch = (size_t)options.batch, languages = (size_t)options.languages.count;
    float *logits = example_allocate(count * languages, sizeof *logits);
    for (size_t done = 0; done < count; done += batch)
        predict(model, words + done, count - done < batch ? count - done : batch, GANTRY_LINEAR,
                logits + done * languages);
    const double accuracy = print_confusion(&options.languages, words, count, logits);
    free(logits);
    return accuracy;
}

static void train(model_t *model) {
    uint64_t random = (uint64_t)options.seed * 2 + 1;
    words_t words = read_all_words(&options.languages, options.words_each, &random);
    const size_t held_out = words.count / 10, used = words.count - held_out;
    if (held_out == 0) example_stop("fewer than ten words in all; longer lists are needed");
    (void)printf("%zu words of %d languages: %zu to learn from, %zu held out; %lld features\n",
                 words.count, options.languages.count, used, held_out, (long long)options.features);
    example_start_profile(model->runtime, options.profile);
    for (int64_t epoch = 1; epoch <= options.epochs; ++epoch)
        train_epoch(model, epoch, words.items, used, &random);
    example_end_profile(model->runtime, options.profile);
    const double accuracy = test(model, words.items + used, held_out);
    const gantry_logical_device_t *device = gantry_variable_device(model->weights[0]);
    (void)printf("weights on %s\nheld-out accuracy: %.4f\n",
                 gantry_logical_device_full_name(device), accuracy);
    free(words.items);
}

/* Takes steps on one batch, op by op and as a function; returns whether all bits agree. */
static bool compare(model_t *eager) {
    model_t traced;
    const gantry_tensor_t *batch[2];
    uint64_t random = (uint64_t)options.seed * 2 + 1;
    words_t words = read_all_words(&options.languages, options.words_each, &random);
    const size_t count = words.count < (size_t)options.batch ? words.count : (size_t)options.batch;
    open_model(&traced, eager->runtime);
    trace_step(&traced);
    gantry_variable_t *const variables[][3] = {
        {eager->weights[0], eager->weights[1], gantry_metric_variable(eager->loss, 0)},
        {traced.weights[0], traced.weights[1], gantry_metric_variable(traced.loss, 0)}};
    gantry_scope_t *scope = gantry_scope_begin(eager->runtime, options.device);
    make_batch(eager, scope, words.items, count, batch);
    const example_ways_t ways = {
        take_step, eager, traced.step, batch, 2, {variables[0], variables[1]}, 3};
    const bool agrees = example_compare_ways(scope, &ways, count, "words");
    example_check(gantry_scope_end(scope), "comparing");
    free(words.items);
    close_model(&traced);
    return agrees;
}

static void classify(model_t *model) {
    char line[256];
    word_t word;
    float chances[LARGEST_LANGUAGES];
    while (read_line(line, sizeof line, &word)) {
        predict(model, &word, 1, GANTRY_SOFTMAX, chances);
        print_languages(&options.languages, line, chances);
    }
}

int main(int argc, char **argv) {
    bool agrees = true;
    gantry_runtime_t *runtime;
    model_t model;
    read_options(argc, argv);
    const gantry_runtime_options_t settings = {
        .struct_size = sizeof settings,
        .log = example_log,
        .log_level = options.log_placement ? GANTRY_LEVEL_INFO : GANTRY_LEVEL_WARNING,
        .log_placement = options.log_placement ? GANTRY_ON : GANTRY_DEFAULT};
    example_check(gantry_runtime_create(&settings, &runtime), "gantry_runtime_create");
    open_model(&model, runtime);
    if (options.uses_function) trace_step(&model);
    if (options.load) example_load_npy(runtime, options.load, model.weights, 2);
    if (options.compares)
        agrees = compare(&model);
    else if (!options.classify)
        train(&model);
    if (options.save) example_save_npy(runtime, options.save, model.weights, 2);
    if (options.classify) classify(&model);
    close_model(&model);
    gantry_runtime_release(runtime);
    return agrees ? 0 : 1;
}
