/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the topic of a text, by the guides' network of embeddings and convolutions, trained on one
 * device or on several.
 *
 *   text_classifier [options] [LABEL=FILE ...]    trains, and tests on held-out texts
 *   text_classifier --save FOLDER ...             keeps the model in FOLDER; Ctrl-C ends the
 *                                                 training, and the same line goes on with it
 *   text_classifier --load FOLDER --classify      reads texts from standard input, one a line
 *   text_classifier --replicas N ...              trains on N GPUs, or on N virtual devices
 *   mpirun -n N text_classifier ...               trains in N processes, on one machine or on many
 *
 * Without LABEL=FILE, the topics are the files of Debian's packages fortunes and fortunes-min that
 * have 50 texts or more, or those of another folder, --texts FOLDER, with --least texts. A line "%"
 * ends a text. The model's file has the weights, the topics and the vocabulary, so that they belong
 * together. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <sys/stat.h>
#if defined(_WIN32)
#include <direct.h>
#define mkdir(path, mode) _mkdir(path)
#endif

#include "example_interrupt.h"
#include "example_options.h"
#include "example_processes.h"
#include "text_words.h"

enum { LENGTH = 300, VOCABULARY = 10000, SHOWN_TOPICS = 3, SKIPPED = 77 };

static struct {
    const char *device, *save, *load, *texts;
    bool classify;
    int64_t epochs, batch, replicas, seed, limit, least; /* 0 replicas: one device; 0: all texts */
    char **files;                                        /* the arguments LABEL=FILE */
    int file_count;
} options;

/* All that the program makes. */
typedef struct classifier_t {
    gantry_runtime_t *runtime;
    gantry_communicator_t *processes; /* NULL: there is one */
    gantry_strategy_t *strategy;
    gantry_model_t *model;
    texts_t texts;
    vocabulary_t vocabulary;
    int32_t *rows, *labels; /* [texts, LENGTH] and [texts] */
    size_t held_out;        /* the last texts */
} classifier_t;

/* ---- options ---- */

static const char usage[] =
    "usage: text_classifier [--device NAME] [--replicas N] [--epochs N] [--batch N] [--seed N] [--limit TEXTS]\n"
    "                       [--save FOLDER] [--load FOLDER] [--classify] [--texts FOLDER [--least N] | LABEL=FILE ...]\n"
    "--load needs --classify. Without LABEL=FILE: the topics of Debian's packages fortunes and fortunes-min.\n";

static void read_options(int argc, char **argv) {
    static const example_option_t list[] = {
        {"--device", EXAMPLE_TEXT, &options.device, 0, 0, 0},
        {"--save", EXAMPLE_TEXT, &options.save, 0, 0, 0},
        {"--load", EXAMPLE_TEXT, &options.load, 0, 0, 0},
        {"--texts", EXAMPLE_TEXT, &options.texts, 0, 0, 0},
        {"--classify", EXAMPLE_FLAG, &options.classify, 0, 0, 0},
        {"--replicas", EXAMPLE_NUMBER, &options.replicas, 0, 1, EXAMPLE_MOST_REPLICAS},
        {"--epochs", EXAMPLE_NUMBER, &options.epochs, 5, 1, 10000},
        {"--batch", EXAMPLE_NUMBER, &options.batch, 32, 1, 65536},
        {"--seed", EXAMPLE_NUMBER, &options.seed, 1, 0, 1000000000},
        {"--limit", EXAMPLE_NUMBER, &options.limit, 0, 10, 1000000000},
        {"--least", EXAMPLE_NUMBER, &options.least, 50, 1, 1000000000}};
    const example_command_t command = {"text_classifier", usage, list,
                                       sizeof list / sizeof list[0]};
    options.file_count = example_read_options(&command, argc, argv) - 1;
    options.files = argv + 1;
    for (int i = 0; i < options.file_count; ++i) {
        const size_t length = strcspn(options.files[i], "=");
        if (length == 0 || length >= TOPIC_BYTES || !options.files[i][length])
            example_refuse(&command, options.files[i]);
    }
    if (options.load && !options.classify) example_refuse(&command, "--load");
    if (!options.texts) options.texts = "/usr/share/games/fortunes";
}

/* ---- texts ---- */

static int compare_names(const void *left, const void *right) {
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Whether a file of the folder has texts: NAME.dat is an index, NAME.u8 a link. */
static bool is_topic(const char *name) { return !strchr(name, '.'); }

static _Noreturn void stop_at_topic(const char *label, const char *path) {
    char why[1024];
    (void)snprintf(why, sizeof why, "the topic %s=%.900s cannot be read", label, path);
    example_stop(why);
}

static void read_folder(texts_t *texts, const char *name) {
    char path[1024], *names[LARGEST_TOPICS];
    size_t count = 0;
    DIR *folder = opendir(name);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (!is_topic(entry->d_name) || count == LARGEST_TOPICS) continue;
        names[count] = example_allocate(strlen(entry->d_name) + 1, 1);
        memcpy(names[count++], entry->d_name, strlen(entry->d_name));
    }
    if (folder) (void)closedir(folder);
    qsort((void *)names, count, sizeof *names, compare_names);
    for (size_t i = 0; i < count; ++i) {
        (void)snprintf(path, sizeof path, "%s/%s", name, names[i]);
        if (!read_topic(texts, names[i], path, (size_t)options.least))
            stop_at_topic(names[i], path);
        free(names[i]);
    }
    if (texts->topic_count > 1) return;
    (void)printf(
        "text_classifier: fewer than two topics of %lld texts or more in %s; install Debian's packages by\n"
        "    apt-get install fortunes fortunes-min\n"
        "or name files of your own: text_classifier LABEL=FILE LABEL=FILE ...\n",
        (long long)options.least, name);
    exit(SKIPPED);
}

static void read_files(texts_t *texts, char *const *files, int count) {
    for (int i = 0; i < count; ++i) {
        const char *equals = strchr(files[i], '=');
        char label[TOPIC_BYTES];
        (void)snprintf(label, sizeof label, "%.*s", (int)(equals - files[i]), files[i]);
        if (!read_topic(texts, label, equals + 1, 1)) stop_at_topic(label, equals + 1);
    }
    if (texts->topic_count < 2)
        example_stop("fewer than two topics with texts; two or more are accepted");
}

static void read_texts(classifier_t *all) {
    texts_t *texts = &all->texts;
    if (options.file_count > 0)
        read_files(texts, options.files, options.file_count);
    else
        read_folder(texts, options.texts);
    shuffle_texts(texts, (uint64_t)options.seed);
    if (options.limit > 0 && (size_t)options.limit < texts->count)
        texts->count = (size_t)options.limit;
    all->held_out = texts->count / 10;
    if (all->held_out == 0) example_stop("fewer than ten texts; longer files are needed");
}

/* ---- texts to numbers ---- */

/* Makes rows of LENGTH numbers: zeros are in front of a shorter text, and a longer one loses its
 * beginning. */
static void encode_texts(const vocabulary_t *vocabulary, const text_t *texts, size_t count,
                         int32_t *rows) {
    gantry_array_t *sequences = example_allocate(count, sizeof *sequences);
    size_t room = 0, used = 0;
    for (size_t i = 0; i < count; ++i) room += strlen(texts[i].bytes);
    int32_t *numbers = example_allocate(room, sizeof *numbers);
    for (size_t i = 0; i < count; ++i) {
        const size_t words = encode_text(vocabulary, texts[i].bytes, numbers + used);
        sequences[i] = (gantry_array_t){GANTRY_INT32, GANTRY_SHAPE((int64_t)words), numbers + used};
        used += words;
    }
    example_check(gantry_pad_sequences(sequences, count, LENGTH, GANTRY_INT32, NULL, rows,
                                       count * LENGTH * sizeof *rows),
                  "gantry_pad_sequences");
    free(numbers);
    free(sequences);
}

/* Numbers the words of the texts to learn from, and then writes all texts as numbers. */
static void prepare_texts(classifier_t *all) {
    const texts_t *texts = &all->texts;
    bool is_good = true;
    for (size_t i = 0; i < texts->count - all->held_out && is_good; ++i)
        is_good = count_words(&all->vocabulary, texts->items[i].bytes);
    if (!is_good || all->vocabulary.count == 0 || !number_words(&all->vocabulary, VOCABULARY))
        example_stop("the texts have no words, or memory is out");
    all->rows = example_allocate(texts->count * LENGTH, sizeof *all->rows);
    all->labels = example_allocate(texts->count, sizeof *all->labels);
    encode_texts(&all->vocabulary, texts->items, texts->count, all->rows);
    for (size_t i = 0; i < texts->count; ++i) all->labels[i] = texts->items[i].topic;
    (void)printf("%zu texts of %d topics: %zu to learn from, %zu held out; %d words\n",
                 texts->count, texts->topic_count, texts->count - all->held_out, all->held_out,
                 all->vocabulary.word_count - 1);
}

static gantry_dataset_t *make_dataset(const classifier_t *all, size_t first, size_t count) {
    const int64_t rows = (int64_t)count;
    const gantry_array_t arrays[] = {
        {GANTRY_INT32, GANTRY_SHAPE(rows, LENGTH), all->rows + first * LENGTH},
        {GANTRY_INT32, GANTRY_SHAPE(rows), all->labels + first}};
    return gantry_dataset_from_arrays(arrays, 2, false);
}

/* ---- the model ---- */

static void make_model(classifier_t *all) {
    gantry_model_t *model = gantry_sequential(
        all->runtime, &(gantry_model_options_t){.device = all->strategy ? NULL : options.device,
                                                .seed = options.seed,
                                                .strategy = all->strategy});
    (void)gantry_model_add(model, gantry_embedding(VOCABULARY, 7, NULL, NULL));
    (void)gantry_model_add(model, gantry_conv1d_layer(64, 5, GANTRY_RELU, NULL));
    (void)gantry_model_add(model, gantry_max_pool1d_layer(2, NULL));
    (void)gantry_model_add(model, gantry_conv1d_layer(32, 3, GANTRY_RELU, NULL));
    (void)gantry_model_add(model, gantry_max_pool1d_layer(2, NULL));
    (void)gantry_model_add(model, gantry_flatten(NULL));
    (void)gantry_model_add(model, gantry_dense(all->texts.topic_count, GANTRY_SOFTMAX, NULL));
    example_check(gantry_model_build(model, GANTRY_INT32, GANTRY_SHAPE(LENGTH)), "the model");
    all->model = model;
}

static void compile_model(gantry_model_t *model) {
    gantry_metric_t *metrics[] = {gantry_sparse_categorical_accuracy(NULL),
                                  gantry_sparse_top_k_categorical_accuracy(5, NULL)};
    example_check(
        gantry_model_compile(
            model, &(gantry_compile_options_t){.optimizer = gantry_nadam(NULL),
                                               .loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY,
                                               .metrics = metrics,
                                               .metric_count = 2}),
        "gantry_model_compile");
}

static void print_summary(const gantry_model_t *model) {
    char text[8192];
    example_check(gantry_model_summary(model, text, sizeof text, NULL), "gantry_model_summary");
    (void)printf("%s", text);
}

/* ---- training ---- */

static void name_file(const char *folder, const char *name, char *path, size_t bytes) {
    if ((size_t)snprintf(path, bytes, "%s/%s", folder, name) >= bytes)
        example_stop("the folder's name is too long");
}

/* Trains, or ends the program after Ctrl-C. */
static void fit(classifier_t *all, gantry_dataset_t *batches, gantry_fit_options_t fit_options) {
    char backup[1024];
    if (options.save) {
        (void)mkdir(options.save, 0777); /* it may exist; the save reports a failure */
        name_file(options.save, "training.safetensors", backup, sizeof backup);
        fit_options.backup = backup;
    }
    example_catch_interrupts(all->model);
    const gantry_status_t status = gantry_model_fit(all->model, batches, &fit_options);
    example_release_interrupts();
    if (status != GANTRY_CANCELLED) {
        example_check(status, "gantry_model_fit");
        return;
    }
    (void)printf("%s\n", gantry_last_message());
    exit(EXAMPLE_INTERRUPTED);
}

static void train(classifier_t *all) {
    const size_t used = all->texts.count - all->held_out;
    example_watch_t watch = {.runtime = all->runtime,
                             .steps = ((int64_t)used - 1) / options.batch + 1};
    const gantry_callback_t timing = example_watch(&watch);
    const gantry_callback_t *const callbacks[] = {&timing};
    gantry_dataset_t *batches = make_dataset(all, 0, used);
    batches = gantry_dataset_shuffle(batches, 1000, (uint64_t)options.seed, true);
    batches = gantry_dataset_batch(batches, options.batch, false);
    batches = gantry_dataset_prefetch(batches, GANTRY_AUTOTUNE);
    gantry_dataset_t *held_out =
        gantry_dataset_batch(make_dataset(all, used, all->held_out), options.batch, false);
    if (!batches || !held_out) example_stop(gantry_last_message());
    fit(all, batches,
        (gantry_fit_options_t){.epochs = options.epochs,
                               .validation = held_out,
                               .callbacks = callbacks,
                               .callback_count = 1,
                               .write = example_write,
                               .is_terminal = isatty(STDOUT_FILENO) == 1});
    double values[3]; /* the loss and the metrics */
    example_check(gantry_model_evaluate(all->model, held_out, values, 3), "gantry_model_evaluate");
    if (watch.best > 0)
        (void)printf("%.0f texts/s in the fastest epoch\n", (double)used / watch.best);
    (void)printf("held-out accuracy: %.4f, among the first five: %.4f\n", values[1], values[2]);
    gantry_dataset_release(batches);
    gantry_dataset_release(held_out);
}

/* ---- saving and loading ---- */

static char *join_topics(const texts_t *texts) {
    const char *names[LARGEST_TOPICS];
    for (int32_t i = 0; i < texts->topic_count; ++i) names[i] = texts->topics[i];
    return join_lines(names, (size_t)texts->topic_count);
}

static void save(const classifier_t *all, const char *folder) {
    char path[1024];
    char *topics = join_topics(&all->texts),
         *words = join_lines(all->vocabulary.words + 1, (size_t)all->vocabulary.word_count - 1);
    if (!topics || !words) example_stop("memory is out");
    const gantry_checkpoint_text_t texts[] = {{"topics", topics}, {"vocabulary", words}};
    name_file(folder, "model.safetensors", path, sizeof path);
    example_save_weights(all->model, all->runtime, path, texts, 2);
    (void)printf("saved %s\n", path);
    free(words);
    free(topics);
}

static void load_lists(classifier_t *all, const gantry_checkpoint_t *file) {
    const char *topics = gantry_checkpoint_text(file, "topics"),
               *words = gantry_checkpoint_text(file, "vocabulary");
    texts_t *texts = &all->texts;
    if (!topics || !words || !read_vocabulary(&all->vocabulary, words) ||
        all->vocabulary.word_count > VOCABULARY)
        example_stop("the model's file has no topics or no vocabulary: another program wrote it");
    while (texts->topic_count < LARGEST_TOPICS &&
           (topics = next_line(topics, texts->topics[texts->topic_count], TOPIC_BYTES)))
        ++texts->topic_count;
}

static void load(classifier_t *all) {
    char path[1024];
    gantry_checkpoint_t *file;
    name_file(options.load, "model.safetensors", path, sizeof path);
    example_check(gantry_checkpoint_open(path, &file), "loading the model");
    load_lists(all, file);
    make_model(all);
    example_load_weights(all->model, file);
    gantry_checkpoint_release(file);
}

/* ---- classifying ---- */

static void print_topics(const classifier_t *all, const char *line) {
    const text_t text = {line, 0};
    const int32_t shown =
        all->texts.topic_count < SHOWN_TOPICS ? all->texts.topic_count : SHOWN_TOPICS;
    int32_t row[LENGTH], topics[SHOWN_TOPICS] = {0};
    float chances[SHOWN_TOPICS] = {0};
    encode_texts(&all->vocabulary, &text, 1, row);
    gantry_scope_t *scope = gantry_scope_begin(all->runtime, NULL);
    const gantry_tensor_t *x = gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(1, LENGTH), row,
                                               sizeof row),
                          *places = NULL;
    const gantry_tensor_t *best =
        gantry_top_k(scope, gantry_model_call(all->model, scope, &x, 1, false), shown, &places);
    (void)gantry_tensor_read(best, chances, (size_t)shown * sizeof *chances);
    (void)gantry_tensor_read(places, topics, (size_t)shown * sizeof *topics);
    example_check(gantry_scope_end(scope), "classifying");
    for (int32_t i = 0; i < shown; ++i)
        (void)printf("%s%s %.2f", i ? ", " : "", all->texts.topics[topics[i]], (double)chances[i]);
    (void)printf(": %s\n", line);
}

static void classify(const classifier_t *all) {
    char line[8192];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[strspn(line, " \t")]) print_topics(all, line);
    }
}

int main(int argc, char **argv) {
    static classifier_t all; /* zero-filled */
    read_options(argc, argv);
    all.processes = example_join_processes();
    all.runtime = example_runtime();
    all.strategy =
        example_mirror_in(all.processes, all.runtime, options.device, (size_t)options.replicas);
    if (options.load) {
        load(&all);
    } else {
        read_texts(&all);
        prepare_texts(&all);
        make_model(&all);
        compile_model(all.model);
        print_summary(all.model);
        train(&all);
        if (options.save && example_is_first(all.processes)) save(&all, options.save);
    }
    if (options.classify && example_is_first(all.processes)) classify(&all);
    gantry_model_release(all.model);
    gantry_strategy_release(all.strategy);
    gantry_runtime_release(all.runtime);
    example_leave_processes(all.processes);
    free(all.rows);
    free(all.labels);
    free_vocabulary(&all.vocabulary);
    free_texts(&all.texts);
    return 0;
}
