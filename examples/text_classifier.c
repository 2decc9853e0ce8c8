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
 * have 50 texts or more, or those of another folder, --texts FOLDER. A line "%" ends a text. The
 * model's file has the weights, the topics and the vocabulary, so that they belong together. */
#define _POSIX_C_SOURCE 200809L
#include "example.h"

#include <dirent.h>
#include <gantry_train/train.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef EXAMPLE_HAS_MPI
#include <gantry_train/mpi.h>
#endif

#include "example_interrupt.h"
#include "text_words.h"

#define LARGEST_REPLICAS 64
#define PART_BYTES (UINT64_C(512) << 20) /* of a GPU that replicas share */

enum { LENGTH = 300, VOCABULARY = 10000, LEAST_TEXTS = 50, SHOWN_TOPICS = 3, SKIPPED = 77 };

typedef struct options_t {
    const char *device, *save, *load, *texts;
    bool classify;
    int64_t epochs, batch;
    size_t replicas, limit; /* 0: no strategy, all texts */
    uint64_t seed;
    char **files; /* the arguments LABEL=FILE */
    int file_count;
} options_t;

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

static _Noreturn void stop(const char *text) {
    (void)fprintf(stderr, "text_classifier: %s\n", text);
    exit(1);
}

static void *allocate(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size);
    if (!memory) stop("memory is out");
    return memory;
}

/* ---- options ---- */

static _Noreturn void show_usage(const char *wrong) {
    (void)fprintf(
        stderr,
        "text_classifier: \"%s\" is not understood\n"
        "usage: text_classifier [--device NAME] [--replicas N] [--epochs N] [--batch N] [--seed N] [--limit TEXTS]\n"
        "                       [--save FOLDER] [--load FOLDER] [--classify] [--texts FOLDER | LABEL=FILE ...]\n"
        "--load needs --classify. Without LABEL=FILE: the topics of Debian's packages fortunes and fortunes-min.\n",
        wrong);
    exit(2);
}

static long read_number(const char *text, long least, long most) {
    char *end;
    const long value = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || value < least || value > most) show_usage(text);
    return value;
}

static void read_option(options_t *options, const char *word, const char *value) {
    if (strcmp(word, "--device") == 0)
        options->device = value;
    else if (strcmp(word, "--save") == 0)
        options->save = value;
    else if (strcmp(word, "--load") == 0)
        options->load = value;
    else if (strcmp(word, "--texts") == 0)
        options->texts = value;
    else if (strcmp(word, "--replicas") == 0)
        options->replicas = (size_t)read_number(value, 1, LARGEST_REPLICAS);
    else if (strcmp(word, "--epochs") == 0)
        options->epochs = read_number(value, 1, 10000);
    else if (strcmp(word, "--batch") == 0)
        options->batch = read_number(value, 1, 65536);
    else if (strcmp(word, "--seed") == 0)
        options->seed = (uint64_t)read_number(value, 0, 1000000000);
    else if (strcmp(word, "--limit") == 0)
        options->limit = (size_t)read_number(value, 10, 1000000000);
    else
        show_usage(word);
}

static options_t read_options(int argc, char **argv) {
    options_t options = {.texts = "/usr/share/games/fortunes", .epochs = 5, .batch = 32, .seed = 1};
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; ++i) {
        if (strcmp(argv[i], "--classify") == 0) {
            options.classify = true;
        } else {
            if (i + 1 == argc) show_usage(argv[i]);
            read_option(&options, argv[i], argv[i + 1]);
            ++i;
        }
    }
    options.files = argv + i;
    options.file_count = argc - i;
    if (options.load && !options.classify) show_usage("--load");
    return options;
}

/* ---- devices ---- */

/* Makes N devices of a type: the first N GPUs, or N parts of the first one; without a GPU, or with
 * --device CPU:0, N virtual CPUs. Returns the type. */
static const char *make_devices(gantry_runtime_t *runtime, const options_t *options) {
    const gantry_physical_device_t *gpu;
    gantry_logical_device_config_t parts[LARGEST_REPLICAS] = {{0}};
    size_t gpus = 0;
    example_check(gantry_list_physical_devices(runtime, "GPU", 1, &gpu, &gpus), "the GPUs");
    if (gpus == 0 || (options->device && strstr(options->device, "CPU"))) {
        example_check(gantry_set_logical_cpu_devices(runtime, options->replicas),
                      "the virtual CPUs");
        return "CPU";
    }
    for (size_t i = 0; i < options->replicas; ++i) parts[i].memory_limit_bytes = PART_BYTES;
    if (gpus < options->replicas)
        example_check(
            gantry_set_logical_device_configuration(runtime, gpu, parts, options->replicas),
            "the virtual GPUs");
    return "GPU";
}

/* Joins the processes that mpirun started. The first one prints and saves for all. */
static void join_processes(classifier_t *all) {
#ifdef EXAMPLE_HAS_MPI
    if (!gantry_mpi_is_launched()) return;
    all->processes = gantry_mpi_communicator(NULL);
    if (!all->processes) stop(gantry_last_message());
    if (all->processes->rank > 0 && !freopen("/dev/null", "w", stdout)) stop("/dev/null");
    (void)printf("%zu processes; process 0 prints\n", all->processes->size);
#else
    (void)all;
#endif
}

static void leave_processes(classifier_t *all) {
#ifdef EXAMPLE_HAS_MPI
    gantry_mpi_communicator_release(all->processes);
#else
    (void)all;
#endif
}

static bool is_first_process(const classifier_t *all) {
    return !all->processes || all->processes->rank == 0;
}

static gantry_strategy_t *make_strategy(const classifier_t *all, const char *const *devices,
                                        size_t count) {
    return all->processes
               ? gantry_multi_worker_strategy(all->runtime, devices, count, all->processes)
               : gantry_mirrored_strategy(all->runtime, devices, count);
}

/* Several replicas; or one device of this process among others: NULL lets each have its own. */
static void open_strategy(classifier_t *all, const options_t *options) {
    char names[LARGEST_REPLICAS][32];
    const char *devices[LARGEST_REPLICAS] = {options->device};
    const char *type = options->replicas ? make_devices(all->runtime, options) : NULL;
    for (size_t i = 0; i < options->replicas; ++i) {
        (void)snprintf(names[i], sizeof names[i], "%s:%zu", type, i);
        devices[i] = names[i];
    }
    all->strategy =
        make_strategy(all, devices[0] ? devices : NULL, options->replicas ? options->replicas : 1);
    if (!all->strategy) stop(gantry_last_message());
    for (size_t i = 0; i < gantry_strategy_replica_count(all->strategy); ++i)
        (void)printf("replica %zu: %s\n", i, gantry_strategy_device(all->strategy, i));
}

static void open_runtime(classifier_t *all, const options_t *options) {
    const gantry_runtime_options_t settings = {
        .struct_size = sizeof settings, .log = example_log, .log_level = GANTRY_LEVEL_WARNING};
    example_check(gantry_runtime_create(&settings, &all->runtime), "gantry_runtime_create");
    if (options->replicas > 0 || all->processes) open_strategy(all, options);
}

/* ---- texts ---- */

static int compare_names(const void *left, const void *right) {
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Whether a file of the folder has texts: NAME.dat is an index, NAME.u8 a link. */
static bool is_topic(const char *name) { return !strchr(name, '.'); }

static void read_folder(texts_t *texts, const char *name) {
    char path[1024], *names[LARGEST_TOPICS];
    size_t count = 0;
    DIR *folder = opendir(name);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (!is_topic(entry->d_name) || count == LARGEST_TOPICS) continue;
        names[count] = allocate(strlen(entry->d_name) + 1, 1);
        memcpy(names[count++], entry->d_name, strlen(entry->d_name));
    }
    if (folder) (void)closedir(folder);
    qsort((void *)names, count, sizeof *names, compare_names);
    for (size_t i = 0; i < count; ++i) {
        (void)snprintf(path, sizeof path, "%s/%s", name, names[i]);
        if (!read_topic(texts, names[i], path, LEAST_TEXTS)) stop("a topic cannot be read");
        free(names[i]);
    }
    if (texts->topic_count > 1) return;
    (void)printf(
        "text_classifier: no texts in %s; install Debian's packages by\n"
        "    apt-get install fortunes fortunes-min\n"
        "or name files of your own: text_classifier LABEL=FILE LABEL=FILE ...\n",
        name);
    exit(SKIPPED);
}

static void read_files(texts_t *texts, char *const *files, int count) {
    for (int i = 0; i < count; ++i) {
        const char *equals = strchr(files[i], '=');
        char label[TOPIC_BYTES], why[1024];
        if (!equals || equals == files[i] || (size_t)(equals - files[i]) >= sizeof label)
            show_usage(files[i]);
        (void)snprintf(label, sizeof label, "%.*s", (int)(equals - files[i]), files[i]);
        if (read_topic(texts, label, equals + 1, 1)) continue;
        (void)snprintf(why, sizeof why, "the topic %s=%.900s cannot be read", label, equals + 1);
        stop(why);
    }
    if (texts->topic_count < 2) stop("fewer than two topics with texts; two or more are accepted");
}

static void read_texts(classifier_t *all, const options_t *options) {
    texts_t *texts = &all->texts;
    if (options->file_count > 0)
        read_files(texts, options->files, options->file_count);
    else
        read_folder(texts, options->texts);
    shuffle_texts(texts, options->seed);
    if (options->limit > 0 && options->limit < texts->count) texts->count = options->limit;
    all->held_out = texts->count / 10;
    if (all->held_out == 0) stop("fewer than ten texts; longer files are needed");
}

/* ---- texts to numbers ---- */

/* Makes rows of LENGTH numbers: zeros stand in front of a shorter text, and a longer one loses its
 * beginning. */
static void encode_texts(const vocabulary_t *vocabulary, const text_t *texts, size_t count,
                         int32_t *rows) {
    gantry_array_t *sequences = allocate(count, sizeof *sequences);
    size_t room = 0, used = 0;
    for (size_t i = 0; i < count; ++i) room += strlen(texts[i].bytes);
    int32_t *numbers = allocate(room, sizeof *numbers);
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
        stop("the texts have no words, or memory is out");
    all->rows = allocate(texts->count * LENGTH, sizeof *all->rows);
    all->labels = allocate(texts->count, sizeof *all->labels);
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

static void make_model(classifier_t *all, const options_t *options) {
    gantry_model_t *model = gantry_sequential(
        all->runtime, &(gantry_model_options_t){.device = all->strategy ? NULL : options->device,
                                                .seed = (int64_t)options->seed,
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

/* Times the steps of each epoch, without validation. The first epoch also plans the step. */
typedef struct stopwatch_t {
    gantry_runtime_t *runtime;
    int64_t steps; /* of an epoch */
    double begin, best;
    bool is_whole; /* the epoch's steps are all of this run */
} stopwatch_t;

static double now(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static gantry_status_t start_watch(gantry_model_t *model, int64_t epoch, void *user) {
    stopwatch_t *watch = user;
    (void)model, (void)epoch;
    watch->begin = now();
    watch->is_whole = false;
    return GANTRY_OK;
}

static gantry_status_t read_watch(gantry_model_t *model, int64_t step, bool *stops, void *user) {
    stopwatch_t *watch = user;
    (void)model, (void)stops;
    if (step == 0) watch->is_whole = true;
    if (step + 1 < watch->steps || !watch->is_whole) return GANTRY_OK;
    const gantry_status_t status = gantry_runtime_synchronize(watch->runtime);
    const double seconds = now() - watch->begin;
    if (watch->best == 0 || seconds < watch->best) watch->best = seconds;
    return status;
}

static void write_text(const char *text, void *user) {
    (void)user;
    (void)fputs(text, stdout);
    (void)fflush(stdout);
}

static void name_file(const char *folder, const char *name, char *path, size_t bytes) {
    if ((size_t)snprintf(path, bytes, "%s/%s", folder, name) >= bytes)
        stop("the folder's name is too long");
}

/* Trains, or ends the program after Ctrl-C. */
static void fit(classifier_t *all, gantry_dataset_t *batches, gantry_fit_options_t options,
                const char *folder) {
    char backup[1024];
    if (folder) (void)mkdir(folder, 0777); /* it may exist; the save tells if it cannot be made */
    if (folder && !all->processes) {
        name_file(folder, "training.safetensors", backup, sizeof backup);
        options.backup = backup;
    }
    example_catch_interrupts(all->model);
    const gantry_status_t status = gantry_model_fit(all->model, batches, &options);
    example_release_interrupts();
    if (status != GANTRY_CANCELLED) {
        example_check(status, "gantry_model_fit");
        return;
    }
    (void)printf("%s\n", gantry_last_message());
    exit(EXAMPLE_INTERRUPTED);
}

static void train(classifier_t *all, const options_t *options) {
    const size_t used = all->texts.count - all->held_out;
    stopwatch_t watch = {.runtime = all->runtime,
                         .steps = ((int64_t)used - 1) / options->batch + 1};
    const gantry_callback_t timing = {.struct_size = sizeof timing,
                                      .user = &watch,
                                      .epoch_begin = start_watch,
                                      .step_end = read_watch};
    const gantry_callback_t *const callbacks[] = {&timing};
    gantry_dataset_t *batches = make_dataset(all, 0, used);
    batches = gantry_dataset_shuffle(batches, 1000, options->seed, true);
    batches = gantry_dataset_batch(batches, options->batch, false);
    batches = gantry_dataset_prefetch(batches, GANTRY_AUTOTUNE);
    gantry_dataset_t *held_out =
        gantry_dataset_batch(make_dataset(all, used, all->held_out), options->batch, false);
    if (!batches || !held_out) stop(gantry_last_message());
    fit(all, batches,
        (gantry_fit_options_t){.epochs = options->epochs,
                               .validation = held_out,
                               .callbacks = callbacks,
                               .callback_count = 1,
                               .write = write_text,
                               .is_terminal = isatty(STDOUT_FILENO) == 1},
        options->save);
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
    const size_t count = gantry_model_variable_count(all->model);
    gantry_checkpoint_entry_t *entries = allocate(count, sizeof *entries);
    char *topics = join_topics(&all->texts),
         *words = join_lines(all->vocabulary.words + 1, (size_t)all->vocabulary.word_count - 1);
    if (!topics || !words) stop("memory is out");
    for (size_t i = 0; i < count; ++i) {
        entries[i].variable = gantry_model_variable(all->model, i, NULL);
        entries[i].name = gantry_variable_name(entries[i].variable);
    }
    const gantry_checkpoint_text_t texts[] = {{"topics", topics}, {"vocabulary", words}};
    name_file(folder, "model.safetensors", path, sizeof path);
    gantry_scope_t *scope = gantry_scope_begin(all->runtime, NULL);
    (void)gantry_checkpoint_save(scope, path, entries, count, texts, 2);
    example_check(gantry_scope_end(scope), "saving the model");
    (void)printf("saved %s\n", path);
    free(words);
    free(topics);
    free(entries);
}

static void load_lists(classifier_t *all, const gantry_checkpoint_t *file) {
    const char *topics = gantry_checkpoint_text(file, "topics"),
               *words = gantry_checkpoint_text(file, "vocabulary");
    texts_t *texts = &all->texts;
    if (!topics || !words || !read_vocabulary(&all->vocabulary, words) ||
        all->vocabulary.word_count > VOCABULARY)
        stop("the model's file has no topics or no vocabulary: another program wrote it");
    while (texts->topic_count < LARGEST_TOPICS &&
           (topics = next_line(topics, texts->topics[texts->topic_count], TOPIC_BYTES)))
        ++texts->topic_count;
}

static void load(classifier_t *all, const options_t *options) {
    char path[1024];
    gantry_checkpoint_t *file;
    name_file(options->load, "model.safetensors", path, sizeof path);
    example_check(gantry_checkpoint_open(path, &file), "loading the model");
    load_lists(all, file);
    make_model(all, options);
    for (size_t i = 0; i < gantry_model_variable_count(all->model); ++i) {
        gantry_variable_t *variable = gantry_model_variable(all->model, i, NULL);
        const gantry_shape_t *shape = gantry_variable_shape(variable);
        const size_t bytes = (size_t)gantry_shape_elements(shape) * sizeof(float);
        float *numbers = allocate(bytes, 1);
        example_check(gantry_checkpoint_read(file, gantry_variable_name(variable), GANTRY_FLOAT32,
                                             shape, numbers, bytes),
                      "loading the model");
        example_check(gantry_model_set_variable(all->model, i, numbers, bytes),
                      "gantry_model_set_variable");
        free(numbers);
    }
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
    const options_t options = read_options(argc, argv);
    static classifier_t all; /* zero-filled */
    join_processes(&all);
    open_runtime(&all, &options);
    if (options.load) {
        load(&all, &options);
    } else {
        read_texts(&all, &options);
        prepare_texts(&all);
        make_model(&all, &options);
        compile_model(all.model);
        print_summary(all.model);
        train(&all, &options);
        if (options.save && is_first_process(&all)) save(&all, options.save);
    }
    if (options.classify && is_first_process(&all)) classify(&all);
    gantry_model_release(all.model);
    gantry_strategy_release(all.strategy);
    gantry_runtime_release(all.runtime);
    leave_processes(&all);
    free(all.rows);
    free(all.labels);
    free_vocabulary(&all.vocabulary);
    free_texts(&all.texts);
    return 0;
}
