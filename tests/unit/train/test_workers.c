/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A training in several processes, which are threads here, takes uneven batches, gives one
 * error in all processes, and waits for none that has ended.
 * Promise: Processes of a training may have batches of different sizes or none, and have the same
 * weights bit for bit.
 * Promise: A process that ends early is named to the other processes of its training, and
 * interrupted processes go on from their backup to the same bits.
 * Promise: An error of shapes in one process says how many of the batch's rows it has.
 * Promise: A model, data or a call that differs in one process, and a callback, a file or an
 * allocation that fails in one, is an error in all processes of the training. */
#define _XOPEN_SOURCE 700
#include <math.h>
#include <unistd.h>

#include "test.h"
#include "thread_workers.h"
#include "train_heap.h"

#include <gantry_train/train.h>

enum { ROWS = 21, BATCH = 6, EPOCHS = 3, WEIGHT_BYTES = 2048, MOST_LOGS = 64 };

/* What one process is told to do, and what it has then. */
typedef struct job_t {
    size_t replicas; /* of each process; 0: without a communicator */
    int64_t rows, epochs, seed, units;
    bool fits, loads, saves, is_summed, is_plain, drops_out;
    const char *path, *backup;
    int64_t interrupts_at; /* this step of the run; 0: none */
    const gantry_callback_t *callback;
    int64_t done_epochs;
    /* results */
    unsigned char weights[WEIGHT_BYTES];
    size_t weight_bytes, log_count;
    double logs[MOST_LOGS];
    size_t written; /* bytes of progress */
    int64_t steps;
    bool stops_here;
} job_t;

static gantry_runtime_t *open_runtime(size_t devices) {
    gantry_runtime_t *runtime = NULL;
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .cpu_threads = 1};
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK) return NULL;
    if (devices > 1) (void)gantry_set_logical_cpu_devices(runtime, devices);
    return runtime;
}

static void expect_all_good(thread_workers_t *group) {
    for (size_t r = 0; r < group->size; ++r) {
        if (group->workers[r].status != GANTRY_OK)
            fail_msg("rank %zu: %s", r, group->workers[r].text);
    }
    assert_int_equal(group->mixed, 0);
}

/* ---- a small model ---- */

static double inputs[ROWS * 3];
static int32_t labels[ROWS];
static bool has_own_loss;    /* whose labels only its op checks */
static bool has_wide_labels; /* which fit no loss */

static int make_data(void **state) {
    (void)state;
    has_own_loss = false;
    has_wide_labels = false;
    train_heap_reset(-1);
    for (int i = 0; i < ROWS * 3; ++i) inputs[i] = (double)((i * 37) % 23) / 11 - 1;
    for (int i = 0; i < ROWS; ++i) labels[i] = (i * 5) % 4;
    return 0;
}

static gantry_dataset_t *make_batches(int64_t rows) {
    static int32_t wide[ROWS * 2];
    gantry_array_t arrays[] = {{GANTRY_FLOAT64, GANTRY_SHAPE(rows, 3), inputs},
                               {GANTRY_INT32, GANTRY_SHAPE(rows), labels}};
    if (has_wide_labels) arrays[1] = (gantry_array_t){GANTRY_INT32, GANTRY_SHAPE(rows, 2), wide};
    gantry_dataset_t *data = gantry_dataset_from_arrays(arrays, 2, false);
    return gantry_dataset_batch(gantry_dataset_shuffle(data, ROWS, 7, true), BATCH, false);
}

static const gantry_tensor_t *own_loss(gantry_scope_t *scope, const gantry_tensor_t *given,
                                       const gantry_tensor_t *predictions, void *user) {
    (void)user;
    return gantry_loss(scope, GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY, given, predictions,
                       &(gantry_loss_options_t){.reduction = GANTRY_REDUCTION_NONE});
}

static gantry_model_t *make_model(gantry_runtime_t *runtime, const gantry_strategy_t *strategy,
                                  const job_t *job) {
    const gantry_metric_options_t wide = {.dtype = GANTRY_FLOAT64};
    gantry_metric_t *metrics[] = {gantry_sparse_categorical_accuracy(&wide)};
    gantry_model_t *model = gantry_sequential(
        runtime, &(gantry_model_options_t){
                     .seed = job->seed, .dtype = GANTRY_FLOAT64, .strategy = strategy});
    const gantry_loss_options_t loss = {
        .reduction = job->is_summed ? GANTRY_REDUCTION_SUM : GANTRY_REDUCTION_SUM_OVER_BATCH_SIZE,
        .function = has_own_loss ? own_loss : NULL};
    (void)gantry_model_add(model, gantry_dense(job->units, GANTRY_TANH, NULL));
    if (!job->is_plain) (void)gantry_model_add(model, gantry_batch_normalization(NULL));
    if (job->drops_out) (void)gantry_model_add(model, gantry_dropout_layer(0.3, NULL));
    (void)gantry_model_add(model, gantry_dense(4, GANTRY_SOFTMAX, NULL));
    (void)gantry_model_compile(
        model, &(gantry_compile_options_t){
                   .optimizer = gantry_adam(&(gantry_adam_options_t){.learning_rate = 0.02}),
                   .loss = has_own_loss ? GANTRY_OWN_LOSS : GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY,
                   .loss_options = &loss,
                   .metrics = metrics,
                   .metric_count = 1});
    return model;
}

/* ---- what a process does ---- */

static gantry_status_t keep_logs(gantry_model_t *model, int64_t epoch, const gantry_logs_t *logs,
                                 bool *stop, void *user) {
    job_t *job = user;
    (void)model, (void)epoch, (void)stop;
    for (size_t i = 0; i < logs->count && job->log_count < MOST_LOGS; ++i)
        job->logs[job->log_count++] = logs->values[i];
    return GANTRY_OK;
}

static gantry_status_t count_step(gantry_model_t *model, int64_t step, bool *stop, void *user) {
    job_t *job = user;
    (void)step;
    ++job->steps;
    if (job->steps == job->interrupts_at) gantry_model_stop(model);
    if (job->stops_here && job->steps == 2) *stop = true;
    return GANTRY_OK;
}

static void count_written(const char *text, void *user) {
    job_t *job = user;
    job->written += strlen(text);
}

static gantry_status_t keep_weights(gantry_runtime_t *runtime, const gantry_model_t *model,
                                    job_t *job) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    for (size_t i = 0; i < gantry_model_variable_count(model); ++i) {
        const gantry_tensor_t *value =
            gantry_variable_read(scope, gantry_model_variable(model, i, NULL));
        const size_t bytes = gantry_tensor_bytes(value);
        if (job->weight_bytes + bytes > WEIGHT_BYTES) break;
        (void)gantry_tensor_read(value, job->weights + job->weight_bytes, bytes);
        job->weight_bytes += bytes;
    }
    return gantry_scope_end(scope);
}

static gantry_status_t fit(gantry_model_t *model, job_t *job) {
    const gantry_callback_t own = {
        .struct_size = sizeof own, .user = job, .epoch_end = keep_logs, .step_end = count_step};
    const gantry_callback_t *const callbacks[] = {&own, job->callback};
    gantry_dataset_t *batches = make_batches(job->rows), *tests = make_batches(ROWS);
    (void)gantry_dataset_set_iteration(batches, (uint64_t)job->done_epochs);
    const gantry_status_t status =
        gantry_model_fit(model, batches,
                         &(gantry_fit_options_t){.epochs = job->epochs,
                                                 .initial_epoch = job->done_epochs,
                                                 .validation = tests,
                                                 .callbacks = callbacks,
                                                 .callback_count = job->callback ? 2 : 1,
                                                 .backup = job->backup,
                                                 .write = count_written,
                                                 .write_user = job,
                                                 .is_terminal = true});
    gantry_dataset_release(batches);
    gantry_dataset_release(tests);
    return status;
}

static gantry_status_t evaluate(gantry_model_t *model, const job_t *job) {
    double values[2];
    gantry_dataset_t *tests = make_batches(job->rows);
    const gantry_status_t status = gantry_model_evaluate(model, tests, values, 2);
    gantry_dataset_release(tests);
    return status;
}

static gantry_status_t do_job(gantry_runtime_t *runtime, gantry_model_t *model, job_t *job) {
    gantry_status_t status = gantry_model_build(model, GANTRY_FLOAT64, GANTRY_SHAPE(3));
    if (status == GANTRY_OK && job->loads) status = gantry_model_load(model, job->path);
    if (status == GANTRY_OK) status = job->fits ? fit(model, job) : evaluate(model, job);
    if (status == GANTRY_OK && job->saves) status = gantry_model_save(model, job->path);
    return status == GANTRY_OK ? keep_weights(runtime, model, job) : status;
}

static gantry_status_t run_job(job_t *job, const gantry_communicator_t *communicator) {
    static const char *const devices[] = {"CPU:0", "CPU:1", "CPU:2", "CPU:3"};
    char text[1024];
    gantry_runtime_t *runtime = open_runtime(job->replicas);
    gantry_strategy_t *strategy =
        communicator ? gantry_multi_worker_strategy(runtime, devices, job->replicas, communicator)
                     : gantry_mirrored_strategy(runtime, devices, job->replicas);
    gantry_model_t *model = strategy ? make_model(runtime, strategy, job) : NULL;
    gantry_status_t status = model ? do_job(runtime, model, job) : GANTRY_RESOURCE_EXHAUSTED;
    (void)snprintf(text, sizeof text, "%s", gantry_last_message());
    gantry_model_release(model);
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
    return status == GANTRY_OK ? status : gantry_fail(status, text);
}

static gantry_status_t run_thread(thread_worker_t *worker) {
    return run_job((job_t *)worker->user + worker->communicator.rank, &worker->communicator);
}

/* ---- many processes ---- */

static job_t jobs[THREAD_WORKERS_MOST];
static thread_workers_t group;

static const job_t usual = {
    .replicas = 1, .rows = ROWS, .epochs = EPOCHS, .seed = 4, .units = 5, .fits = true};

static void give_jobs(size_t size, const job_t *job) {
    for (size_t r = 0; r < size; ++r) jobs[r] = *job;
}

static void run_group(size_t size, long dies_at) {
    thread_workers_run(&group, size, dies_at, run_thread, jobs);
    assert_int_equal(group.mixed, 0);
}

/* The same bits in all processes. */
static void expect_alike(size_t size) {
    for (size_t r = 1; r < size; ++r) {
        assert_int_equal(jobs[r].weight_bytes, jobs[0].weight_bytes);
        assert_memory_equal(jobs[r].weights, jobs[0].weights, jobs[0].weight_bytes);
        assert_int_equal(jobs[r].log_count, jobs[0].log_count);
        assert_memory_equal(jobs[r].logs, jobs[0].logs, sizeof jobs[0].logs);
    }
}

static void expect_close(const double *given, const double *wanted, size_t count,
                         const char *what) {
    for (size_t i = 0; i < count; ++i) {
        if (!(fabs(given[i] - wanted[i]) <= 1e-11 * (1 + fabs(wanted[i]))))
            fail_msg("%s %zu is %.17g; one process has %.17g", what, i, given[i], wanted[i]);
    }
}

/* Against one process with as many replicas: losses, metrics and weights, but for rounding. */
static void expect_as_one_process(size_t size, job_t job) {
    give_jobs(size, &job);
    run_group(size, -1);
    expect_all_good(&group);
    expect_alike(size);
    job.replicas *= size;
    if (run_job(&job, NULL) != GANTRY_OK) fail_msg("%s", gantry_last_message());
    assert_int_equal(job.weight_bytes, jobs[0].weight_bytes);
    expect_close((const double *)(const void *)jobs[0].weights,
                 (const double *)(const void *)job.weights, job.weight_bytes / sizeof(double),
                 "number of the weights");
    assert_int_equal(job.log_count, jobs[0].log_count);
    expect_close(jobs[0].logs, job.logs, job.log_count, "value of the logs");
    assert_int_equal(job.steps, jobs[size - 1].steps);
}

/* 21 rows in batches of 6: the last has 3. */
TEST(uneven_batches_count_by_rows) {
    expect_as_one_process(2, usual);
    assert_int_equal(jobs[0].log_count, 4 * EPOCHS);
}

TEST(processes_without_rows_take_part) { expect_as_one_process(4, usual); }

TEST(replicas_of_processes_count_by_rows) {
    job_t job = usual;
    job.is_plain = true; /* the parts are not those of four replicas of one process */
    job.replicas = 2;
    expect_as_one_process(2, job);
}

TEST(sums_of_losses_add_up) {
    job_t job = usual;
    job.is_summed = true;
    expect_as_one_process(2, job);
}

TEST(first_weights_are_those_of_rank_0) {
    give_jobs(3, &usual);
    jobs[1].seed = 5;
    jobs[2].seed = 6;
    run_group(3, -1);
    expect_all_good(&group);
    expect_alike(3);
}

TEST(rank_0_alone_writes) {
    give_jobs(2, &usual);
    run_group(2, -1);
    expect_all_good(&group);
    assert_true(jobs[0].written > 0);
    assert_int_equal(jobs[1].written, 0);
}

/* The stop of one process ends all after the same step. */
TEST(stop_of_one_process_stops_all) {
    give_jobs(3, &usual);
    jobs[1].stops_here = true;
    run_group(3, -1);
    expect_all_good(&group);
    for (size_t r = 0; r < 3; ++r) assert_int_equal(jobs[r].steps, 2);
    expect_alike(3);
}

/* ---- files ---- */

static void make_path(char path[64]) {
    (void)snprintf(path, 64, "/tmp/gantry_workers_XXXXXX");
    (void)close(mkstemp(path));
}

static void expect_error(size_t rank, gantry_status_t status, const char *text) {
    if (group.workers[rank].status != status || !strstr(group.workers[rank].text, text))
        fail_msg("rank %zu: status %d, %s", rank, (int)group.workers[rank].status,
                 group.workers[rank].text);
}

/* Two epochs, a new start, and the third: the bits of three epochs that were saved alike. */
static void go_on_from_file(size_t size, job_t job) {
    char path[64];
    static unsigned char wanted[WEIGHT_BYTES];
    make_path(path);
    gantry_callback_t *saving = gantry_model_checkpoint(path, NULL);
    job.path = path;
    job.callback = saving;
    give_jobs(size, &job);
    run_group(size, -1);
    expect_all_good(&group);
    memcpy(wanted, jobs[0].weights, sizeof wanted);
    job.epochs = 2;
    give_jobs(size, &job);
    run_group(size, -1);
    expect_all_good(&group);
    job.loads = true;
    job.epochs = EPOCHS;
    job.done_epochs = 2;
    give_jobs(size, &job);
    run_group(size, -1);
    expect_all_good(&group);
    expect_alike(size);
    assert_memory_equal(jobs[0].weights, wanted, jobs[0].weight_bytes);
    gantry_callback_release(saving);
    (void)unlink(path);
}

TEST(loaded_training_takes_the_same_steps) { go_on_from_file(2, usual); }

/* Also where a process has no rows, and so draws no numbers. */
TEST(loaded_dropout_draws_the_same_numbers) {
    job_t job = usual;
    job.drops_out = true;
    go_on_from_file(2, job);
    go_on_from_file(4, job);
}

/* Each run is stopped by another process, after another step, and the next run goes on. The weights
 * have the bits of a training that nothing disturbed; metrics are added in another order. */
static void interrupt_until_done(size_t size) {
    char path[64];
    static unsigned char wanted[WEIGHT_BYTES];
    double logs[4];
    job_t job = usual;
    int64_t runs = 0;
    make_path(path);
    (void)unlink(path);
    job.drops_out = true;
    job.backup = path;
    give_jobs(size, &job);
    run_group(size, -1);
    expect_all_good(&group);
    memcpy(wanted, jobs[0].weights, WEIGHT_BYTES);
    memcpy(logs, jobs[0].logs + jobs[0].log_count - 4, sizeof logs);
    assert_int_not_equal(access(path, F_OK), 0);
    for (;; ++runs) {
        give_jobs(size, &job);
        jobs[runs % (int64_t)size].interrupts_at = 1 + runs % 3;
        run_group(size, -1);
        if (group.workers[0].status != GANTRY_CANCELLED) break;
        for (size_t r = 0; r < size; ++r) expect_error(r, GANTRY_CANCELLED, "/gantry_workers_");
    }
    expect_all_good(&group);
    expect_alike(size);
    assert_in_range(runs, 4, 12);
    assert_memory_equal(jobs[0].weights, wanted, jobs[0].weight_bytes);
    expect_close(jobs[0].logs + jobs[0].log_count - 4, logs, 4, "value of the last logs");
    assert_int_not_equal(access(path, F_OK), 0);
}

TEST(interrupted_processes_go_on_from_their_backup) {
    job_t job = usual;
    job.backup = "/no/such/folder/backup";
    give_jobs(2, &job);
    run_group(2, -1);
    expect_error(0, GANTRY_NOT_FOUND, "/no/such/folder/backup");
    expect_error(1, GANTRY_NOT_FOUND, "rank 0 (thread 0) failed: ");
    interrupt_until_done(2);
    interrupt_until_done(4); /* one has no rows in a last batch of 3 */
}

TEST(backup_of_one_process_is_refused) {
    char path[64];
    make_path(path);
    (void)unlink(path);
    give_jobs(2, &usual);
    jobs[1].backup = path;
    run_group(2, -1);
    for (size_t r = 0; r < 2; ++r)
        expect_error(r, GANTRY_FAILED_PRECONDITION, "rank 1 (thread 1) is at a backup, and rank 0");
}

TEST(rank_0_alone_reads_and_writes_files) {
    char path[64];
    job_t job = usual;
    make_path(path);
    job.path = path;
    job.saves = true;
    give_jobs(2, &job);
    jobs[1].path = "/no/such/folder/model";
    run_group(2, -1);
    expect_all_good(&group);
    job.saves = false;
    job.loads = true;
    give_jobs(2, &job);
    jobs[1].path = "/no/such/folder/model";
    run_group(2, -1);
    expect_all_good(&group);
    expect_alike(2);
    give_jobs(3, &job);
    run_group(3, -1);
    expect_error(0, GANTRY_FAILED_PRECONDITION,
                 "was saved by a training in 2 processes, and this one has 3");
    expect_error(2, GANTRY_FAILED_PRECONDITION,
                 "rank 0 (thread 0) failed: gantry_model_load: /tmp/gantry_workers_");
    if (run_job(&job, NULL) != GANTRY_OK) fail_msg("%s", gantry_last_message());
    (void)unlink(path);
}

TEST(failed_file_is_an_error_everywhere) {
    job_t job = usual;
    job.path = "/no/such/folder/model";
    job.saves = true;
    give_jobs(2, &job);
    run_group(2, -1);
    assert_int_not_equal(group.workers[0].status, GANTRY_OK);
    expect_error(1, group.workers[0].status, "rank 0 (thread 0) failed: ");
    job.saves = false;
    job.loads = true;
    give_jobs(2, &job);
    run_group(2, -1);
    expect_error(0, GANTRY_NOT_FOUND, "/no/such/folder/model");
    expect_error(1, GANTRY_NOT_FOUND, "rank 0 (thread 0) failed: ");
}

/* ---- differences and failures ---- */

static void expect_everywhere(size_t size, gantry_status_t status, const char *text) {
    run_group(size, -1);
    for (size_t r = 0; r < size; ++r) expect_error(r, status, text);
}

TEST(another_model_is_named) {
    give_jobs(3, &usual);
    jobs[1].units = 6;
    expect_everywhere(3, GANTRY_INVALID_ARGUMENT,
                      "rank 1 (thread 1) has 76 numbers in its weights; rank 0 (thread 0) has 64");
}

TEST(other_data_are_named) {
    give_jobs(3, &usual);
    jobs[2].rows = 12;
    expect_everywhere(
        3, GANTRY_INVALID_ARGUMENT,
        "rank 2 (thread 2) has 2 batches in an epoch; rank 0 (thread 0) has 4; each trains alike");
    jobs[2].rows = 20; /* as many batches; the order is another one */
    expect_everywhere(3, GANTRY_INVALID_ARGUMENT, "rank 2 (thread 2) has");
    if (!strstr(group.workers[1].text, "each reads the same data set in the same order"))
        fail_msg("%s", group.workers[1].text);
    jobs[2].rows = ROWS;
    jobs[2].epochs = 2;
    expect_everywhere(3, GANTRY_INVALID_ARGUMENT, "rank 2 (thread 2) has 2 epochs");
}

TEST(tested_rows_are_compared) {
    job_t job = usual;
    job.fits = false;
    give_jobs(2, &job);
    jobs[1].rows = 12;
    expect_everywhere(2, GANTRY_INVALID_ARGUMENT,
                      "rank 1 (thread 1) has 2 tested batches; rank 0 (thread 0) has 4");
}

TEST(another_call_is_named) {
    give_jobs(2, &usual);
    jobs[1].fits = false;
    expect_everywhere(
        2, GANTRY_FAILED_PRECONDITION,
        "rank 1 (thread 1) begins gantry_model_evaluate, and rank 0 (thread 0) begins "
        "gantry_model_fit; all processes make the same calls");
}

static gantry_status_t refuse_epoch(gantry_model_t *model, int64_t epoch, const gantry_logs_t *logs,
                                    bool *stop, void *user) {
    (void)model, (void)logs, (void)stop, (void)user;
    return epoch < EPOCHS - 1 ? GANTRY_OK : gantry_fail(GANTRY_ABORTED, "enough is enough");
}

static gantry_status_t refuse_step(gantry_model_t *model, int64_t step, bool *stop, void *user) {
    (void)model, (void)stop, (void)user;
    return step < 2 ? GANTRY_OK : gantry_fail(GANTRY_ABORTED, "enough is enough");
}

TEST(failed_callback_is_an_error_everywhere) {
    const gantry_callback_t last = {.struct_size = sizeof last, .epoch_end = refuse_epoch},
                            third = {.struct_size = sizeof third, .step_end = refuse_step};
    give_jobs(3, &usual);
    jobs[1].callback = &last;
    run_group(3, -1);
    expect_error(1, GANTRY_ABORTED, "enough is enough");
    expect_error(0, GANTRY_ABORTED, "rank 1 (thread 1) failed: enough is enough");
    expect_error(2, GANTRY_ABORTED, "rank 1 (thread 1) failed: enough is enough");
    give_jobs(3, &usual);
    jobs[2].callback = &third;
    run_group(3, -1);
    expect_error(0, GANTRY_ABORTED, "rank 2 (thread 2) failed: enough is enough");
}

/* Each process sees the whole batch. */
TEST(wrong_label_is_an_error_everywhere) {
    labels[3] = 9;
    give_jobs(2, &usual);
    run_group(2, -1);
    for (size_t r = 0; r < 2; ++r)
        expect_error(r, GANTRY_INVALID_ARGUMENT, "Received a label value of 9 which is outside");
}

TEST(labels_that_do_not_fit_name_the_rows_of_the_process) {
    has_wide_labels = true;
    give_jobs(2, &usual);
    run_group(2, -1);
    for (size_t r = 0; r < 2; ++r) {
        expect_error(r, GANTRY_INVALID_ARGUMENT, "labels of shape [3,2] do not fit");
        expect_error(r, GANTRY_INVALID_ARGUMENT, "(this process has 3 of the batch's 6 rows)");
    }
}

/* A label without a class fails the gradients of the process that has its row. */
TEST(failed_step_is_an_error_everywhere) {
    labels[3] = 9;
    has_own_loss = true;
    give_jobs(2, &usual);
    run_group(2, -1);
    const size_t owner = strstr(group.workers[0].text, "failed: ") ? 1 : 0;
    expect_error(owner, GANTRY_INVALID_ARGUMENT, "9");
    expect_error(1 - owner, GANTRY_INVALID_ARGUMENT, "failed: ");
}

/* Rank 1 ends at each of its calls in turn; the others learn it and end. The line of progress is
 * shown at certain times and needs calls, so that a run may end before the call. */
TEST(dead_process_ends_the_others) {
    give_jobs(3, &usual);
    run_group(3, -1);
    const size_t calls = group.calls;
    size_t ended = 0;
    assert_true(calls > 40);
    for (size_t at = 0; at < calls; at += 3) {
        give_jobs(3, &usual);
        run_group(3, (long)at);
        if (group.dies_at >= 0) {
            expect_all_good(&group);
            continue;
        }
        ++ended;
        expect_error(0, GANTRY_ABORTED, "rank 1 (thread 1) ended during ");
        expect_error(2, GANTRY_ABORTED, "rank 1 (thread 1) ended during ");
    }
    assert_true(ended > 10);
}

TEST(failing_allocations_leak_nothing) {
    job_t job = usual;
    job.epochs = 1;
    give_jobs(2, &job);
    train_heap_reset(-1);
    run_group(2, -1);
    expect_all_good(&group);
    assert_int_equal(train_heap_live(), 0);
    const long count = train_heap_count();
    for (long i = 0; i < count; i += i < 200 ? 7 : 31) {
        give_jobs(2, &job);
        train_heap_reset(i);
        run_group(2, -1);
        if (train_heap_live() != 0) fail_msg("allocation %ld of %ld leaks", i, count);
    }
}

int main(void) { return test_main_each(make_data, NULL); }
