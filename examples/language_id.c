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
#include "example.h"

#include <gantry_train/train.h>
#include <time.h>
#include <unistd.h>

#include "language_words.h"

typedef struct options_t {
    const char *device, *save, *load;
    bool log_placement, classify, uses_function, compares;
    gantry_profile_mode_t profile; /* of the training */
    int epochs;
    uint32_t batch, features, words_each;
    double learning_rate;
    uint64_t seed;
    const char *files[LARGEST_LANGUAGES];
    char labels[LARGEST_LANGUAGES][32];
    int32_t language_count;
} options_t;

typedef struct model_t {
    gantry_runtime_t *runtime;
    const options_t *options;
    gantry_variable_t *weights[2]; /* w [features, languages] and b [languages] */
    gantry_optimizer_t *adam;
    gantry_metric_t *loss;   /* the mean of the epoch */
    gantry_function_t *step; /* NULL: its body runs op by op */
    float *rows;             /* host side of one batch */
    int32_t *targets;
} model_t;

static double now(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static _Noreturn void stop(const char *text) {
    (void)fprintf(stderr, "language_id: %s\n", text);
    exit(1);
}

/* ---- options ---- */

static _Noreturn void show_usage(const char *wrong) {
    if (wrong) (void)fprintf(stderr, "language_id: \"%s\" is not understood\n", wrong);
    (void)fprintf(
        stderr,
        "usage: language_id [--device NAME] [--log-placement] [--epochs N] [--batch N] [--features N] [--words N] [--rate X]\n"
        "                   [--seed N] [--save FOLDER] [--load FOLDER] [--classify] [--profile on|wait] [--function] [--compare]\n"
        "                   [LABEL=FILE ...]\n"
        "Without LABEL=FILE: en, fr, de, es and it from Debian's packages wamerican wfrench wngerman wspanish witalian.\n");
    exit(2);
}

static long read_number(const char *text, long least, long most) {
    char *end;
    long value = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || value < least || value > most) show_usage(text);
    return value;
}

static void add_language(options_t *options, const char *word) {
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : 0;
    if (length == 0 || length >= sizeof options->labels[0] ||
        options->language_count == LARGEST_LANGUAGES)
        show_usage(word);
    memcpy(options->labels[options->language_count], word, length);
    options->labels[options->language_count][length] = '\0';
    options->files[options->language_count++] = equals + 1;
}

static options_t read_options(int argc, char **argv) {
    options_t options = {.epochs = 6,
                         .batch = 256,
                         .features = 4096,
                         .words_each = 20000,
                         .learning_rate = 0.02,
                         .seed = 1};
    for (int i = 1; i < argc; ++i) {
        const char *word = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(word, "--log-placement") == 0) {
            options.log_placement = true;
        } else if (strcmp(word, "--classify") == 0) {
            options.classify = true;
        } else if (strcmp(word, "--function") == 0) {
            options.uses_function = true;
        } else if (strcmp(word, "--compare") == 0) {
            options.compares = true;
        } else if (word[0] != '-') {
            add_language(&options, word);
        } else if (!value) {
            show_usage(word);
        } else {
            ++i;
            if (strcmp(word, "--device") == 0)
                options.device = value;
            else if (strcmp(word, "--save") == 0)
                options.save = value;
            else if (strcmp(word, "--load") == 0)
                options.load = value;
            else if (strcmp(word, "--epochs") == 0)
                options.epochs = (int)read_number(value, 0, 10000);
            else if (strcmp(word, "--batch") == 0)
                options.batch = (uint32_t)read_number(value, 1, 65536);
            else if (strcmp(word, "--features") == 0)
                options.features = (uint32_t)read_number(value, 16, 1 << 20);
            else if (strcmp(word, "--words") == 0)
                options.words_each = (uint32_t)read_number(value, 20, 10000000);
            else if (strcmp(word, "--seed") == 0)
                options.seed = (uint64_t)read_number(value, 0, 1000000000);
            else if (strcmp(word, "--profile") == 0 && strcmp(value, "on") == 0)
                options.profile = GANTRY_PROFILE_ON;
            else if (strcmp(word, "--profile") == 0 && strcmp(value, "wait") == 0)
                options.profile = GANTRY_PROFILE_WAIT;
            else if (strcmp(word, "--rate") == 0)
                options.learning_rate = strtod(value, NULL);
            else
                show_usage(word);
        }
    }
    if (options.language_count == 0) {
        static const char *const lists[] = {
            "en=/usr/share/dict/american-english", "fr=/usr/share/dict/french",
            "de=/usr/share/dict/ngerman", "es=/usr/share/dict/spanish",
            "it=/usr/share/dict/italian"};
        for (size_t i = 0; i < 5; ++i) add_language(&options, lists[i]);
    }
    return options;
}

/* ---- the model ---- */

static gantry_variable_t *make_zeros(gantry_scope_t *scope, gantry_shape_t shape,
                                     const char *name) {
    gantry_variable_t *variable =
        gantry_variable_create(scope, gantry_zeros(scope, GANTRY_FLOAT32, shape), name);
    if (!variable) stop(gantry_scope_message(scope));
    return variable;
}

static void open_model(model_t *model, gantry_runtime_t *runtime, const options_t *options) {
    int64_t features = options->features, languages = options->language_count;
    *model = (model_t){.runtime = runtime, .options = options};
    gantry_scope_t *scope = gantry_scope_begin(runtime, options->device);
    if (!scope) stop(gantry_last_message());
    model->weights[0] = make_zeros(scope, GANTRY_SHAPE(features, languages), "w");
    model->weights[1] = make_zeros(scope, GANTRY_SHAPE(languages), "b");
    model->adam = gantry_adam(&(gantry_adam_options_t){.learning_rate = options->learning_rate});
    model->loss = gantry_mean_metric(NULL);
    (void)gantry_optimizer_build(model->adam, scope, model->weights, 2);
    (void)gantry_metric_build(model->loss, scope);
    example_check(gantry_scope_end(scope), "making the model");
    model->rows = malloc((size_t)options->batch * options->features * sizeof *model->rows);
    model->targets = malloc((size_t)options->batch * sizeof *model->targets);
    if (!model->rows || !model->targets) stop("memory is out");
}

static void close_model(model_t *model) {
    gantry_function_release(model->step);
    gantry_metric_release(model->loss);
    gantry_optimizer_release(model->adam);
    gantry_variable_release(model->weights[0]);
    gantry_variable_release(model->weights[1]);
    free(model->rows);
    free(model->targets);
}

/* Makes x [count, features] of these words. */
static const gantry_tensor_t *make_inputs(model_t *model, gantry_scope_t *scope,
                                          const word_t *words, size_t count) {
    uint32_t features = model->options->features;
    size_t bytes = count * features * sizeof(float);
    memset(model->rows, 0, bytes);
    for (size_t i = 0; i < count; ++i) {
        fill_features(words[i].text, features, model->rows + i * features);
        model->targets[i] = words[i].label;
    }
    return gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE((int64_t)count, (int64_t)features),
                           model->rows, bytes);
}

/* Those of the words whose inputs were made last. */
static const gantry_tensor_t *make_labels(model_t *model, gantry_scope_t *scope, size_t count) {
    return gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE((int64_t)count), model->targets,
                           count * sizeof *model->targets);
}

static const gantry_tensor_t *compute_logits(model_t *model, gantry_scope_t *scope,
                                             const gantry_tensor_t *x) {
    const gantry_tensor_t *w = gantry_variable_read(scope, model->weights[0]);
    return gantry_bias_add(scope, gantry_matmul(scope, x, w, NULL),
                           gantry_variable_read(scope, model->weights[1]));
}

/* One training step: inputs are x [count, features] and labels [count]. Adds the losses of the
 * batch to the mean on the device. */
static void take_step(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    model_t *model = user;
    const gantry_source_t sources[] = {{.variable = model->weights[0]},
                                       {.variable = model->weights[1]}};
    const gantry_tensor_t *gradients[2] = {NULL, NULL};
    (void)outputs; /* it has none: its results are the variables */
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
    const gantry_input_spec_t inputs[] = {
        {"x", GANTRY_FLOAT32, GANTRY_SHAPE(-1, (int64_t)model->options->features)},
        {"labels", GANTRY_INT32, GANTRY_SHAPE(-1)}};
    example_check(gantry_function_trace(model->runtime, "step", take_step, model, inputs, 2, 0,
                                        NULL, &model->step),
                  "tracing the step");
}

/* Trains one step on inputs of the scope. */
static void train_on(model_t *model, gantry_scope_t *scope, const gantry_tensor_t *x,
                     const gantry_tensor_t *labels) {
    const gantry_tensor_t *const inputs[] = {x, labels};
    if (model->step) {
        (void)gantry_function_call(scope, model->step, inputs, 2, NULL, 0);
    } else {
        take_step(scope, inputs, NULL, model);
    }
}

static void train_batch(model_t *model, const word_t *words, size_t count) {
    gantry_scope_t *scope = gantry_scope_begin(model->runtime, model->options->device);
    const gantry_tensor_t *x = make_inputs(model, scope, words, count);
    train_on(model, scope, x, make_labels(model, scope, count));
    example_check(gantry_scope_end(scope), "training");
}

/* The mean loss of the words so far in this epoch; waits for it. */
static double read_loss(model_t *model) {
    float loss = 0;
    gantry_scope_t *scope = gantry_scope_begin(model->runtime, model->options->device);
    const gantry_tensor_t *mean = gantry_metric_result(model->loss, scope);
    if (mean) example_check(gantry_tensor_read(mean, &loss, sizeof loss), "reading the loss");
    example_check(gantry_scope_end(scope), "reading the loss");
    return (double)loss;
}

static void forget_loss(model_t *model) {
    gantry_scope_t *scope = gantry_scope_begin(model->runtime, model->options->device);
    (void)gantry_metric_reset(model->loss, scope);
    example_check(gantry_scope_end(scope), "forgetting the loss");
}

/* ---- training and testing ---- */

static void show_progress(int epoch, int epochs, size_t done, size_t total, double loss,
                          double seconds, bool last) {
    bool is_terminal = isatty(STDOUT_FILENO) == 1;
    if (!is_terminal && !last) return;
    enum { WIDTH = 30 };
    char bar[WIDTH + 1];
    size_t filled = total ? done * WIDTH / total : WIDTH;
    for (size_t i = 0; i < WIDTH; ++i) bar[i] = i < filled ? '=' : i == filled ? '>' : '.';
    bar[WIDTH] = '\0';
    (void)printf("%sEpoch %d/%d [%s] %zu words, %.0f words/s, loss %.4f%s", is_terminal ? "\r" : "",
                 epoch, epochs, bar, done, (double)done / seconds, loss, last ? "\n" : "");
    (void)fflush(stdout);
}

static void train_epoch(model_t *model, int epoch, word_t *words, size_t count, uint64_t *random) {
    const options_t *options = model->options;
    shuffle_words(words, count, random);
    forget_loss(model);
    const double start = now();
    size_t batches = 0, done = 0;
    while (done < count) {
        size_t size = count - done < options->batch ? count - done : options->batch;
        train_batch(model, words + done, size);
        done += size;
        if (++batches % 50 == 0 || done == count) {
            const double loss = read_loss(model);
            show_progress(epoch, options->epochs, done, count, loss, now() - start, done == count);
        }
    }
}

static void predict(model_t *model, const word_t *words, size_t count, int64_t *out_labels) {
    gantry_scope_t *scope = gantry_scope_begin(model->runtime, model->options->device);
    const gantry_tensor_t *best = gantry_argmax(
        scope, compute_logits(model, scope, make_inputs(model, scope, words, count)), 1);
    if (best)
        example_check(gantry_tensor_read(best, out_labels, count * sizeof *out_labels),
                      "reading predictions");
    example_check(gantry_scope_end(scope), "predicting");
}

static double test(model_t *model, const word_t *words, size_t count) {
    const options_t *options = model->options;
    static size_t confusion[LARGEST_LANGUAGES][LARGEST_LANGUAGES];
    int64_t *labels = malloc(options->batch * sizeof *labels);
    if (!labels) stop("memory is out");
    size_t right = 0;
    for (size_t done = 0; done < count; done += options->batch) {
        size_t size = count - done < options->batch ? count - done : options->batch;
        predict(model, words + done, size, labels);
        for (size_t i = 0; i < size; ++i) {
            ++confusion[words[done + i].label][labels[i]];
            right += words[done + i].label == labels[i];
        }
    }
    free(labels);
    (void)printf("\nConfusion (rows: language, columns: answer)\n      ");
    for (int32_t j = 0; j < options->language_count; ++j) (void)printf("%8s", options->labels[j]);
    for (int32_t i = 0; i < options->language_count; ++i) {
        (void)printf("\n%6s", options->labels[i]);
        for (int32_t j = 0; j < options->language_count; ++j) (void)printf("%8zu", confusion[i][j]);
    }
    return (double)right / (double)count;
}

static void read_all_words(const options_t *options, words_t *words, uint64_t *random) {
    for (int32_t i = 0; i < options->language_count; ++i) {
        char why[512];
        if (!read_words(words, options->files[i], i, options->words_each, random, why, sizeof why))
            stop(why);
    }
    shuffle_words(words->items, words->count, random);
}

static void train(model_t *model) {
    const options_t *options = model->options;
    words_t words = {NULL, 0, 0};
    uint64_t random = options->seed * 2 + 1;
    read_all_words(options, &words, &random);
    size_t held_out = words.count / 10;
    size_t used = words.count - held_out;
    if (held_out == 0) stop("fewer than ten words in all; longer lists are needed");
    (void)printf("%zu words of %d languages: %zu to learn from, %zu held out; %u features\n",
                 words.count, options->language_count, used, held_out, options->features);
    if (options->profile)
        example_check(gantry_profile_start(model->runtime, options->profile),
                      "starting the profile");
    for (int epoch = 1; epoch <= options->epochs; ++epoch)
        train_epoch(model, epoch, words.items, used, &random);
    if (options->profile) {
        example_check(gantry_profile_stop(model->runtime), "stopping the profile");
        example_print_profile(model->runtime);
    }
    double accuracy = test(model, words.items + used, held_out);
    (void)printf("\nweights on %s\nheld-out accuracy: %.4f\n",
                 gantry_logical_device_full_name(gantry_variable_device(model->weights[0])),
                 accuracy);
    free(words.items);
}

/* ---- the step both ways ---- */

enum { COMPARED_STEPS = 20, TIMED_STEPS = 50, TIMED_ROUNDS = 10 };

static bool have_equal_bits(gantry_scope_t *scope, const model_t *a, const model_t *b) {
    gantry_variable_t *const pairs[][2] = {
        {gantry_metric_variable(a->loss, 0), gantry_metric_variable(b->loss, 0)},
        {a->weights[0], b->weights[0]},
        {a->weights[1], b->weights[1]}};
    for (size_t i = 0; i < 3; ++i) {
        const gantry_tensor_t *x = gantry_variable_read(scope, pairs[i][0]),
                              *y = gantry_variable_read(scope, pairs[i][1]);
        const size_t bytes = gantry_tensor_bytes(x);
        void *left = malloc(bytes), *right = malloc(bytes);
        if (!left || !right) stop("memory is out");
        example_check(gantry_tensor_read(x, left, bytes), "reading a variable");
        example_check(gantry_tensor_read(y, right, bytes), "reading a variable");
        const bool is_equal = memcmp(left, right, bytes) == 0;
        free(left);
        free(right);
        if (!is_equal) return false;
    }
    return true;
}

/* Seconds for one step on the same words each time. */
static double time_steps(model_t *model, const gantry_tensor_t *x, const gantry_tensor_t *labels) {
    (void)read_loss(model); /* waits */
    const double start = now();
    for (int i = 0; i < TIMED_STEPS; ++i) {
        gantry_scope_t *scope = gantry_scope_begin(model->runtime, model->options->device);
        train_on(model, scope, x, labels);
        example_check(gantry_scope_end(scope), "training");
    }
    (void)read_loss(model);
    return (now() - start) / TIMED_STEPS;
}

/* Prints the fastest of several rounds, in turns: other programs disturb both ways alike. */
static void print_times(model_t *eager, model_t *function, const gantry_tensor_t *x,
                        const gantry_tensor_t *labels) {
    double best[2] = {1e9, 1e9};
    for (int round = 0; round < TIMED_ROUNDS; ++round) {
        for (int way = 0; way < 2; ++way) {
            const double seconds = time_steps(way ? function : eager, x, labels);
            if (seconds < best[way]) best[way] = seconds;
        }
    }
    (void)printf(
        "a step of %lld words: %.0f us op by op, %.0f us as a function: %.2f times as fast\n",
        (long long)gantry_tensor_elements(labels), best[0] * 1e6, best[1] * 1e6, best[0] / best[1]);
}

/* Trains two models, op by op and as a function; returns whether all bits agree after each step. */
static bool compare_ways(model_t *eager, model_t *function, const word_t *words, size_t count) {
    bool agrees = true;
    gantry_scope_t *scope = gantry_scope_begin(eager->runtime, eager->options->device);
    const gantry_tensor_t *x = make_inputs(eager, scope, words, count),
                          *labels = make_labels(eager, scope, count);
    for (int i = 0; i < COMPARED_STEPS && agrees; ++i) {
        gantry_scope_t *inner = gantry_scope_begin_in(scope, NULL);
        train_on(eager, inner, x, labels);
        train_on(function, inner, x, labels);
        agrees = have_equal_bits(inner, eager, function);
        example_check(gantry_scope_end(inner), "training");
    }
    print_times(eager, function, x, labels);
    (void)printf("losses and weights after each of %d steps: %s\n", COMPARED_STEPS,
                 agrees ? "equal bit for bit" : "they differ");
    example_check(gantry_scope_end(scope), "comparing");
    return agrees;
}

static bool compare(gantry_runtime_t *runtime, const options_t *options) {
    model_t eager, function;
    words_t words = {NULL, 0, 0};
    uint64_t random = options->seed * 2 + 1;
    open_model(&eager, runtime, options);
    open_model(&function, runtime, options);
    trace_step(&function);
    read_all_words(options, &words, &random);
    const bool agrees = compare_ways(&eager, &function, words.items,
                                     words.count < options->batch ? words.count : options->batch);
    free(words.items);
    close_model(&eager);
    close_model(&function);
    return agrees;
}

/* ---- saving, loading, classifying ---- */

static void join(char *out, size_t out_bytes, const char *folder, const char *name) {
    if ((size_t)snprintf(out, out_bytes, "%s.%s", folder, name) >= out_bytes)
        stop("the model's path is too long");
}

static void save_model(model_t *model) {
    char path[1024];
    gantry_scope_t *scope = gantry_scope_begin(model->runtime, model->options->device);
    join(path, sizeof path, model->options->save, "w.npy");
    (void)gantry_save_npy(scope, gantry_variable_read(scope, model->weights[0]), path);
    join(path, sizeof path, model->options->save, "b.npy");
    (void)gantry_save_npy(scope, gantry_variable_read(scope, model->weights[1]), path);
    example_check(gantry_scope_end(scope), "saving the model");
    (void)printf("saved %s.w.npy and %s.b.npy\n", model->options->save, model->options->save);
}

static void load_model(model_t *model) {
    char path[1024];
    gantry_scope_t *scope = gantry_scope_begin(model->runtime, model->options->device);
    join(path, sizeof path, model->options->load, "w.npy");
    (void)gantry_variable_assign(scope, model->weights[0], gantry_load_npy(scope, path));
    join(path, sizeof path, model->options->load, "b.npy");
    (void)gantry_variable_assign(scope, model->weights[1], gantry_load_npy(scope, path));
    example_check(gantry_scope_end(scope), "loading the model");
}

static void classify(model_t *model) {
    const options_t *options = model->options;
    char line[256];
    while (fgets(line, sizeof line, stdin)) {
        word_t word = {.label = 0};
        line[strcspn(line, "\r\n")] = '\0';
        (void)snprintf(word.text, sizeof word.text, "%.*s", WORD_BYTES - 1, line);
        lower_case(word.text);
        if (!*word.text) continue;
        float p[LARGEST_LANGUAGES];
        gantry_scope_t *scope = gantry_scope_begin(model->runtime, options->device);
        const gantry_tensor_t *all = gantry_softmax(
            scope, compute_logits(model, scope, make_inputs(model, scope, &word, 1)));
        if (all)
            example_check(gantry_tensor_read(all, p, (size_t)options->language_count * sizeof *p),
                          "classifying");
        example_check(gantry_scope_end(scope), "classifying");
        int32_t best = 0;
        for (int32_t i = 1; i < options->language_count; ++i) best = p[i] > p[best] ? i : best;
        (void)printf("%-20s %s ", line, options->labels[best]);
        for (int32_t i = 0; i < options->language_count; ++i)
            (void)printf("  %s %.2f", options->labels[i], (double)p[i]);
        (void)printf("\n");
    }
}

int main(int argc, char **argv) {
    options_t options = read_options(argc, argv);
    gantry_runtime_options_t settings = {
        .struct_size = sizeof settings,
        .log = example_log,
        .log_level = options.log_placement ? GANTRY_LEVEL_INFO : GANTRY_LEVEL_WARNING,
        .log_placement = options.log_placement ? GANTRY_ON : GANTRY_DEFAULT};
    gantry_runtime_t *runtime;
    example_check(gantry_runtime_create(&settings, &runtime), "gantry_runtime_create");
    if (options.compares) {
        const bool agrees = compare(runtime, &options);
        gantry_runtime_release(runtime);
        return agrees ? 0 : 1;
    }
    model_t model;
    open_model(&model, runtime, &options);
    if (options.uses_function) trace_step(&model);
    if (options.load) load_model(&model);
    if (!options.classify) train(&model);
    if (options.save) save_model(&model);
    if (options.classify) classify(&model);
    close_model(&model);
    gantry_runtime_release(runtime);
    return 0;
}
