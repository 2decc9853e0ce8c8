/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A training that SIGINT interrupts at a random step and that is resumed has the bits of
 * an undisturbed one, on the CPU, on two virtual CPUs and on PoCL.
 * Promise: A training that is killed while it saves leaves a whole backup.
 *
 * A child process trains and is stopped by real signals at random steps, then goes on in another
 * process, until it is done: its weights, its optimizer and its logs have the bits of a training
 * that nothing disturbed, on the CPU backend, on PoCL, and mirrored. */
#define _XOPEN_SOURCE 700

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test.h"
#include "train_case.h"
#include "train_heap.h"

#include <gantry_train/train.h>

enum { ROWS = 90, FEATURES = 6, CLASSES = 3, BATCH = 8, STEPS = 12, EPOCHS = 9, INTERRUPTED = 130 };

static void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

/* ---- the training ---- */

/* What has a state: dropout, moving means, Nadam, a rate of epochs, a watched value, shuffles of
 * both data sets, one of them in front of a cache, and the metrics of an epoch. */
typedef struct training_t {
    gantry_runtime_t *runtime;
    gantry_strategy_t *strategy;
    gantry_model_t *model;
    gantry_dataset_t *batches, *validation;
} training_t;

static float points[ROWS * FEATURES];
static int32_t labels[ROWS];
static int steps_out = -1; /* a byte for each step */
static int steps_left;     /* before a child waits for its signal; 0: it does not */
static volatile sig_atomic_t has_signal;

static void make_points(void) {
    uint32_t state = 11;
    for (size_t i = 0; i < sizeof points / sizeof points[0]; ++i) {
        state = state * 1664525u + 1013904223u;
        points[i] = (float)(state >> 16) / 65536 - 0.5f;
    }
    for (size_t i = 0; i < ROWS; ++i) labels[i] = (int32_t)(i % CLASSES);
}

static gantry_dataset_t *make_rows(void) {
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, FEATURES), points},
                                     {GANTRY_INT32, GANTRY_SHAPE(ROWS), labels}};
    return gantry_dataset_from_arrays(arrays, 2, false);
}

static gantry_model_t *make_model(const training_t *t, const char *device) {
    gantry_metric_t *metrics[] = {gantry_sparse_categorical_accuracy(NULL)};
    const gantry_model_options_t options = {.seed = 5, .device = device, .strategy = t->strategy};
    gantry_model_t *model = gantry_sequential(t->runtime, &options);
    (void)gantry_model_add(model, gantry_dense(16, GANTRY_TANH, NULL));
    (void)gantry_model_add(model, gantry_dropout_layer(0.3, NULL));
    (void)gantry_model_add(model, gantry_batch_normalization(NULL));
    (void)gantry_model_add(model, gantry_dense(8, GANTRY_RELU, NULL));
    (void)gantry_model_add(model, gantry_dropout_layer(0.2, NULL));
    (void)gantry_model_add(model, gantry_dense(CLASSES, GANTRY_SOFTMAX, NULL));
    (void)gantry_model_compile(
        model, &(gantry_compile_options_t){.optimizer = gantry_nadam(NULL),
                                           .loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY,
                                           .metrics = metrics,
                                           .metric_count = 1});
    return model;
}

/* where: "cpu", "mirrored" or "gpu". */
static void training_open(training_t *t, const char *where) {
    const gantry_runtime_options_t options = {.struct_size = sizeof options, .backends = "cpu"};
    const bool is_gpu = strcmp(where, "gpu") == 0, is_mirrored = strcmp(where, "mirrored") == 0;
    *t = (training_t){.runtime = is_gpu ? train_open_gpu() : NULL};
    if (!is_gpu) must(gantry_runtime_create(&options, &t->runtime));
    if (is_mirrored) {
        must(gantry_set_logical_cpu_devices(t->runtime, 2));
        t->strategy = gantry_mirrored_strategy(t->runtime, NULL, 0);
    }
    make_points();
    t->model = make_model(t, is_gpu ? "/GPU:0" : is_mirrored ? NULL : "/CPU:0");
    t->batches = gantry_dataset_shuffle(make_rows(), ROWS, 3, true);
    t->batches = gantry_dataset_cache(t->batches);
    t->batches = gantry_dataset_shuffle(t->batches, 20, 4, true);
    t->batches = gantry_dataset_batch(t->batches, BATCH, false);
    t->batches = gantry_dataset_prefetch(t->batches, 2);
    t->validation = gantry_dataset_shuffle(gantry_dataset_take(make_rows(), 21), ROWS, 8, true);
    t->validation = gantry_dataset_batch(t->validation, 5, false);
}

static void training_close(training_t *t) {
    gantry_dataset_release(t->batches);
    gantry_dataset_release(t->validation);
    gantry_model_release(t->model);
    gantry_strategy_release(t->strategy);
    gantry_runtime_release(t->runtime);
}

static double lower_rate(int64_t epoch, double rate, void *user) {
    (void)epoch, (void)user;
    return rate * 0.875;
}

static gantry_status_t tell_step(gantry_model_t *model, int64_t step, bool *stop, void *user) {
    (void)model, (void)step, (void)stop, (void)user;
    if (steps_out >= 0 && write(steps_out, "s", 1) < 0) return gantry_fail(GANTRY_INTERNAL, "pipe");
    if (steps_left > 0 && --steps_left == 0) {
        while (!has_signal) (void)nanosleep(&(struct timespec){0, 100000}, NULL);
    }
    return GANTRY_OK;
}

/* Early stopping waits from the second epoch on, and ends the training before the last. */
static gantry_status_t training_run(training_t *t, const char *backup, const char *log,
                                    int64_t backup_steps) {
    const gantry_callback_t told = {.struct_size = sizeof told, .step_end = tell_step};
    gantry_callback_t *own[] = {gantry_learning_rate_scheduler(lower_rate, NULL),
                                gantry_csv_logger(log),
                                gantry_early_stopping(&(gantry_early_stopping_options_t){
                                    .monitor = "loss", .min_delta = 100, .patience = EPOCHS - 2})};
    const gantry_callback_t *const callbacks[] = {own[0], own[1], own[2], &told};
    const gantry_status_t status =
        gantry_model_fit(t->model, t->batches,
                         &(gantry_fit_options_t){.epochs = EPOCHS,
                                                 .validation = t->validation,
                                                 .callbacks = callbacks,
                                                 .callback_count = 4,
                                                 .backup = backup,
                                                 .backup_steps = backup_steps});
    for (size_t i = 0; i < 3; ++i) gantry_callback_release(own[i]);
    return status;
}

/* ---- the child ---- */

static gantry_model_t *interrupted_model;

static void interrupt(int number) {
    (void)number;
    has_signal = 1;
    gantry_model_stop(interrupted_model);
}

/* child WHERE BACKUP-STEPS BACKUP LOG RESULT MOST: exits 0 when the training is done, 130 when a
 * signal stopped it. Steps are told on descriptor 3. After MOST steps it waits for the signal, so
 * that a parent that is late interrupts it, too. */
static int child_main(char **arguments) {
    training_t t;
    steps_out = 3;
    steps_left = atoi(arguments[7]);
    training_open(&t, arguments[2]);
    interrupted_model = t.model;
    const struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
    (void)sigaction(SIGINT, &action, NULL);
    gantry_status_t status = training_run(&t, arguments[4], arguments[5], atoi(arguments[3]));
    if (status == GANTRY_OK) status = gantry_model_save(t.model, arguments[6]);
    const bool is_stopped = status == GANTRY_CANCELLED &&
                            strstr(gantry_last_message(), "was stopped in epoch ") &&
                            strstr(gantry_last_message(), " after step ");
    if (status != GANTRY_OK && !is_stopped) (void)fprintf(stderr, "%s\n", gantry_last_message());
    training_close(&t);
    return status == GANTRY_OK ? 0 : is_stopped ? INTERRUPTED : 1;
}

/* ---- the parent ---- */

#define MOST_STEPS "30"

typedef struct paths_t {
    char folder[64], backup[96], log[96], result[96];
} paths_t;

static void make_paths(paths_t *paths) {
    (void)snprintf(paths->folder, sizeof paths->folder, "/tmp/gantry_stops_XXXXXX");
    assert_non_null(mkdtemp(paths->folder));
    (void)snprintf(paths->backup, sizeof paths->backup, "%s/backup", paths->folder);
    (void)snprintf(paths->log, sizeof paths->log, "%s/log", paths->folder);
    (void)snprintf(paths->result, sizeof paths->result, "%s/result", paths->folder);
}

static void remove_paths(const paths_t *paths) {
    char path[512];
    DIR *folder = opendir(paths->folder);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        (void)snprintf(path, sizeof path, "%s/%s", paths->folder, entry->d_name);
        (void)unlink(path);
    }
    if (folder) (void)closedir(folder);
    assert_int_equal(rmdir(paths->folder), 0);
}

/* Runs the child up to `steps` steps, then sends the signal. Returns its wait status. */
static int run_child(const char *where, const paths_t *paths, const char *backup_steps, int steps,
                     int number) {
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        char *arguments[] = {"test_stops",
                             "child",
                             (char *)where,
                             (char *)backup_steps,
                             (char *)paths->backup,
                             (char *)paths->log,
                             (char *)paths->result,
                             number ? MOST_STEPS : "0",
                             NULL};
        char self[4096] = "";
        (void)dup2(ends[1], 3);
        /* the link itself leads to valgrind, where that runs the test */
        if (readlink("/proc/self/exe", self, sizeof self - 1) > 0) (void)execv(self, arguments);
        _exit(99);
    }
    assert_true(child > 0);
    (void)close(ends[1]);
    for (char byte; steps > 0 && read(ends[0], &byte, 1) == 1;) --steps;
    if (number && steps == 0) (void)kill(child, number);
    while (waitpid(child, &status, 0) < 0) assert_int_equal(errno, EINTR);
    (void)close(ends[0]);
    return status;
}

/* The whole file; the caller frees it. */
static char *read_file(const char *path, size_t *out_bytes) {
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("%s cannot be opened", path);
    char *data = calloc(1, 1 << 20);
    assert_non_null(data);
    *out_bytes = fread(data, 1, (1 << 20) - 1, file);
    assert_true(*out_bytes > 0);
    (void)fclose(file);
    return data;
}

static void expect_same_file(const char *wanted_path, const char *path) {
    size_t wanted_bytes, bytes;
    char *wanted = read_file(wanted_path, &wanted_bytes), *got = read_file(path, &bytes);
    assert_int_equal(bytes, wanted_bytes);
    assert_memory_equal(got, wanted, bytes);
    free(got);
    free(wanted);
}

static bool exists(const char *path) { return access(path, F_OK) == 0; }

static void expect_whole(const char *path) {
    gantry_checkpoint_t *file;
    must(gantry_checkpoint_open(path, &file));
    assert_non_null(gantry_checkpoint_text(file, "epoch"));
    gantry_checkpoint_release(file);
}

static void run_undisturbed(const char *where, const paths_t *paths) {
    const int status = run_child(where, paths, "0", 0, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_false(exists(paths->backup)); /* the training is complete */
}

static int draw(uint32_t *state, int limit) {
    *state = *state * 1664525u + 1013904223u;
    return (int)((*state >> 8) % (uint32_t)limit);
}

/* Interrupts each run after 1 to 25 steps; the signal arrives some steps later, in a step, between
 * epochs or in a validation. */
static void interrupt_until_done(const char *where) {
    paths_t calm, stopped;
    uint32_t state = 3;
    int interruptions = 0, status;
    make_paths(&calm);
    make_paths(&stopped);
    run_undisturbed(where, &calm);
    for (;;) {
        status = run_child(where, &stopped, "0", 1 + draw(&state, 25), SIGINT);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) != INTERRUPTED) break;
        ++interruptions;
        expect_whole(stopped.backup);
    }
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_in_range(interruptions, 2, EPOCHS * STEPS);
    expect_same_file(calm.result, stopped.result);
    expect_same_file(calm.log, stopped.log);
    assert_false(exists(stopped.backup));
    remove_paths(&calm);
    remove_paths(&stopped);
}

TEST(interrupted_on_the_cpu) { interrupt_until_done("cpu"); }

TEST(interrupted_on_two_virtual_cpus) { interrupt_until_done("mirrored"); }

TEST(interrupted_on_pocl) {
    need_opencl();
    interrupt_until_done("gpu");
}

/* A kill leaves the backup of an earlier step, whole; the log may have a line twice. */
TEST(killed_while_it_saves) {
    paths_t calm, killed;
    uint32_t random = 1;
    int kills = 0, status;
    make_paths(&calm);
    make_paths(&killed);
    run_undisturbed("cpu", &calm);
    for (;;) {
        status = run_child("cpu", &killed, "1", 3 + draw(&random, 20), SIGKILL);
        if (!WIFSIGNALED(status)) break;
        ++kills;
        expect_whole(killed.backup);
    }
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_in_range(kills, 2, EPOCHS * STEPS);
    expect_same_file(calm.result, killed.result);
    remove_paths(&calm);
    remove_paths(&killed);
}

/* ---- in this process ---- */

static gantry_status_t stop_it(gantry_model_t *model, int64_t step, bool *stop, void *user) {
    (void)stop, (void)user;
    if (step == 4) gantry_model_stop(model);
    return GANTRY_OK;
}

static gantry_status_t fit_and_stop(training_t *t, const char *backup) {
    const gantry_callback_t stopping = {.struct_size = sizeof stopping, .step_end = stop_it};
    const gantry_callback_t *const callbacks[] = {&stopping};
    return gantry_model_fit(
        t->model, t->batches,
        &(gantry_fit_options_t){
            .epochs = 2, .callbacks = callbacks, .callback_count = 1, .backup = backup});
}

TEST(stopped_training_names_epoch_and_step) {
    training_t t;
    paths_t paths;
    make_paths(&paths);
    training_open(&t, "cpu");
    assert_int_equal(fit_and_stop(&t, NULL), GANTRY_CANCELLED);
    assert_string_equal(gantry_last_message(),
                        "gantry_model_fit: model sequential was stopped in epoch 1 of 2 after "
                        "step 5; there is no backup");
    gantry_model_stop(t.model); /* the next one ends before its first step */
    assert_int_equal(fit_and_stop(&t, NULL), GANTRY_CANCELLED);
    assert_non_null(strstr(gantry_last_message(), "epoch 1 of 2 after step 0"));
    assert_int_equal(fit_and_stop(&t, paths.backup), GANTRY_CANCELLED);
    assert_non_null(strstr(gantry_last_message(), "/backup has its state"));
    must(gantry_model_load(t.model, paths.backup)); /* it is a model's file, too */
    training_close(&t);
    remove_paths(&paths);
}

static gantry_model_t *validated_model; /* which its validation stops; NULL: it does not */

static gantry_status_t hand_on(void *user, const gantry_array_t *input, size_t input_count,
                               gantry_element_t *output) {
    (void)user;
    gantry_model_stop(validated_model);
    for (size_t i = 0; i < input_count; ++i) {
        void *out = gantry_element_component(output, i, input[i].dtype, &input[i].shape);
        if (!out) return GANTRY_RESOURCE_EXHAUSTED;
        memcpy(out, input[i].data,
               (size_t)gantry_shape_elements(&input[i].shape) * gantry_dtype_size(input[i].dtype));
    }
    return GANTRY_OK;
}

/* Trains, and is stopped `times` times while it validates. */
static void stop_in_validations(const paths_t *paths, int times) {
    for (int i = 0; i <= times; ++i) {
        training_t t;
        training_open(&t, "cpu");
        gantry_dataset_release(t.validation);
        t.validation = gantry_dataset_map(gantry_dataset_take(make_rows(), 20), hand_on, NULL, 1);
        t.validation =
            gantry_dataset_batch(gantry_dataset_shuffle(t.validation, 9, 2, true), 5, false);
        validated_model = i < times ? t.model : NULL;
        const gantry_status_t status = training_run(&t, paths->backup, paths->log, 0);
        assert_int_equal(status, i < times ? GANTRY_CANCELLED : GANTRY_OK);
        if (i < times) assert_non_null(strstr(gantry_last_message(), " of 9 after step 12; "));
        if (i == times) must(gantry_model_save(t.model, paths->result));
        training_close(&t);
    }
}

/* The steps of the epoch are done, and its metrics are kept while others are computed. */
TEST(stopped_validation_begins_anew) {
    paths_t calm, stopped;
    make_paths(&calm);
    make_paths(&stopped);
    stop_in_validations(&calm, 0);
    stop_in_validations(&stopped, 2);
    expect_same_file(calm.result, stopped.result);
    expect_same_file(calm.log, stopped.log);
    remove_paths(&calm);
    remove_paths(&stopped);
}

static void refuses(training_t *t, const char *backup, const char *text) {
    expect_refusal(gantry_model_fit(t->model, t->batches,
                                    &(gantry_fit_options_t){.epochs = 2, .backup = backup}),
                   GANTRY_INVALID_ARGUMENT, text);
}

TEST(other_files_are_no_backups) {
    training_t t;
    paths_t paths;
    make_paths(&paths);
    training_open(&t, "cpu");
    must(gantry_model_build(t.model, GANTRY_FLOAT32, GANTRY_SHAPE(FEATURES)));
    must(gantry_model_save(t.model, paths.result));
    refuses(&t, "", "backup is \"\", after 0 steps; NULL or the name of a file");
    refuses(&t, paths.result,
            "is no backup of a training: its text \"epoch\" is missing; a number");
    assert_int_equal(fit_and_stop(&t, paths.backup), GANTRY_CANCELLED);
    gantry_dataset_release(t.batches);
    t.batches = gantry_dataset_batch(make_rows(), BATCH, false);
    refuses(&t, paths.backup, "the data sets have 0 shuffles; ");
    training_close(&t);
    remove_paths(&paths);
}

/* The data set is shorter than the training was. */
TEST(shorter_data_are_refused) {
    training_t t;
    paths_t paths;
    make_paths(&paths);
    training_open(&t, "cpu");
    assert_int_equal(fit_and_stop(&t, paths.backup), GANTRY_CANCELLED);
    t.batches = gantry_dataset_take(t.batches, 3);
    refuses(&t, paths.backup, "the data set has 3 batches; ");
    training_close(&t);
    remove_paths(&paths);
}

TEST(backup_that_cannot_be_written_is_an_error) {
    training_t t;
    paths_t paths;
    char lost[160];
    make_paths(&paths);
    training_open(&t, "cpu");
    (void)snprintf(lost, sizeof lost, "%s/none/backup", paths.folder);
    const gantry_status_t status =
        gantry_model_fit(t.model, t.batches, &(gantry_fit_options_t){.epochs = 2, .backup = lost});
    assert_int_equal(status, GANTRY_NOT_FOUND);
    assert_non_null(strstr(gantry_last_message(), "/none/backup"));
    training_close(&t);
    remove_paths(&paths);
}

static gantry_status_t stop_and_go_on(const char *backup) {
    training_t t;
    training_open(&t, "cpu");
    gantry_status_t status = fit_and_stop(&t, backup);
    if (status == GANTRY_CANCELLED)
        status = gantry_model_fit(t.model, t.batches,
                                  &(gantry_fit_options_t){.epochs = 2, .backup = backup});
    training_close(&t);
    return status;
}

TEST(failing_allocations_leak_nothing) {
    paths_t paths;
    make_paths(&paths);
    train_heap_reset(-1);
    must(stop_and_go_on(paths.backup));
    const long count = train_heap_count();
    assert_int_equal(train_heap_live(), 0);
    for (long i = 0; i < count; i += 29) {
        train_heap_reset(i);
        (void)stop_and_go_on(paths.backup);
        if (train_heap_live() != 0) fail_msg("allocation %ld of %ld leaks", i, count);
        (void)unlink(paths.backup);
    }
    train_heap_reset(-1);
    remove_paths(&paths);
}

int main(int count, char **arguments) {
    if (count == 8 && strcmp(arguments[1], "child") == 0) return child_main(arguments);
    return test_main();
}
