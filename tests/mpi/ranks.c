/* SPDX-License-Identifier: Apache-2.0 */
/* What tests/mpi/ranks.sh starts in several processes:
 *
 *   ranks follow EACH              Keras's trajectory; EACH ranks are a machine, 0: as MPI says
 *   ranks programs BACKUP          small programs, whole and interrupted with BACKUP as file
 *   ranks sums EACH                sums and broadcasts of many sizes, the same bits in all ranks
 *   ranks train FILE FROM TO KILL  trains epochs FROM to TO, with FILE as checkpoint; the last
 *                                  rank kills itself after step KILL, -1: never
 *   ranks differ                   rank 1 has another model
 *   ranks unlike                   rank 1 has another learning rate
 *   ranks leave                    rank 1 releases its communicator before the others
 *   ranks late WHO HOW EACH        rank WHO is stopped (HOW "stop"), or does other work ("work")
 *   ranks absent WHO               rank WHO comes to the start too late
 *   ranks shared                   whether they share memory
 *   ranks apart                    sums of processes that cannot share memory
 *   ranks heap                     allocations of rank 1 fail, one at a time */
#define _XOPEN_SOURCE 700
#include <mpi.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "train_heap.h"
#include "train_programs.h"
#include "train_trajectory.h"

#include <gantry_train/mpi.h>

static gantry_communicator_t *processes;

/* One write for a line, else mpirun may mix those of several ranks. */
static void say(const char *text) {
    char line[4096];
    const int bytes = snprintf(line, sizeof line, "at rank %zu: %.4000s\n",
                               processes ? processes->rank : 99, text);
    if (write(STDERR_FILENO, line, (size_t)bytes) < 0) abort();
}

/* mpirun of Open MPI 5 ends all ranks when one ends with an error, so each waits until the others
 * have told, too. */
static void await_others(void) { (void)sleep(1); }

static int fail(void) {
    say(gantry_last_message());
    return 1;
}

static gantry_runtime_t *open_runtime(void) {
    gantry_runtime_t *runtime = NULL;
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .cpu_threads = 1};
    (void)gantry_runtime_create(&options, &runtime);
    return runtime;
}

/* ---- follow ---- */

static int follow(void) {
    gantry_runtime_t *runtime = open_runtime();
    gantry_strategy_t *strategy = gantry_multi_worker_strategy(runtime, NULL, 0, processes);
    const bool is_good =
        strategy && trajectory_follow(runtime, (gantry_model_options_t){.strategy = strategy});
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
    if (is_good) say("follows Keras");
    return is_good ? 0 : 1;
}

/* ---- sums ---- */

static uint64_t checksum(const void *data, size_t bytes) {
    const unsigned char *at = data;
    uint64_t sum = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < bytes; ++i) sum = (sum ^ at[i]) * UINT64_C(1099511628211);
    return sum;
}

static bool is_in_all(uint64_t number) {
    uint64_t first = number;
    return processes->broadcast(processes->user, &first, sizeof first, 0, "a number") ==
               GANTRY_OK &&
           first == number;
}

/* Numbers whose sum depends on the order of the additions. */
static bool sum_doubles(double *numbers, size_t count) {
    const double mine = 1.0 / (double)(processes->rank + 3);
    double all = 0;
    for (size_t i = 0; i < count; ++i) numbers[i] = mine * (double)(i % 97 + 1);
    if (processes->all_reduce(processes->user, numbers, count, GANTRY_FLOAT64, "doubles") !=
        GANTRY_OK)
        return false;
    for (size_t r = 0; r < processes->size; ++r) all += 1.0 / (double)(r + 3);
    for (size_t i = 0; i < count; ++i) {
        const double wanted = all * (double)(i % 97 + 1), error = numbers[i] - wanted;
        if (!(error < 1e-12 * wanted && error > -1e-12 * wanted)) return false;
    }
    return is_in_all(checksum(numbers, count * sizeof *numbers));
}

static bool sum_floats(float *numbers, size_t count) {
    for (size_t i = 0; i < count; ++i) numbers[i] = (float)(i % 7 + processes->rank);
    if (processes->all_reduce(processes->user, numbers, count, GANTRY_FLOAT32, "floats") !=
        GANTRY_OK)
        return false;
    const size_t size = processes->size, ranks = size * (size - 1) / 2;
    for (size_t i = 0; i < count; ++i) {
        if (numbers[i] != (float)(i % 7 * size + ranks)) return false;
    }
    return true;
}

static bool send_bytes(unsigned char *bytes, size_t count) {
    const size_t root = processes->size - 1;
    for (size_t i = 0; i < count; ++i)
        bytes[i] = (unsigned char)(processes->rank == root ? i * 31 : 0);
    if (processes->broadcast(processes->user, bytes, count, root, "bytes") != GANTRY_OK)
        return false;
    for (size_t i = 0; i < count; ++i) {
        if (bytes[i] != (unsigned char)(i * 31)) return false;
    }
    return true;
}

static int sums(void) {
    static const size_t counts[] = {0, 1, 13, 1000, 65537, 3000001};
    double *room = malloc(counts[5] * sizeof *room);
    uint64_t wraps = UINT64_MAX;
    bool is_good = room;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0] && is_good; ++i)
        is_good = sum_doubles(room, counts[i]) && sum_floats((float *)(void *)room, counts[i]) &&
                  send_bytes((unsigned char *)(void *)room, counts[i] * 8);
    is_good =
        is_good &&
        processes->all_reduce(processes->user, &wraps, 1, GANTRY_UINT64, "one") == GANTRY_OK &&
        wraps == 0 - (uint64_t)processes->size;
    is_good = is_good && processes->all_reduce(processes->user, &wraps, 1, GANTRY_INT32, "one") ==
                             GANTRY_INVALID_ARGUMENT;
    free(room);
    say(is_good ? "sums are right" : gantry_last_message());
    return is_good ? 0 : 1;
}

/* ---- programs ---- */

/* All ranks have the same bits; so has an interrupted training, but for the metrics of its epochs,
 * whose sums are added in another order. */
static bool program_is_in_all(program_t *p, size_t index) {
    const size_t weights = 12; /* the last numbers of each program are weights */
    if (!program_run(p, index)) return false;
    return is_in_all(checksum(p->numbers + p->count - weights, weights * sizeof *p->numbers)) ||
           program_fail(p, "ranks have different weights");
}

static bool run_program(const program_t *given, size_t index, const char *backup) {
    static program_t whole, stopped;
    whole = stopped = *given;
    stopped.backup = backup;
    stopped.stop_after = program_goes_on(index) ? 7 : 2;
    if (!program_is_in_all(&whole, index) || !program_is_in_all(&stopped, index)) return false;
    const size_t last = whole.count - 12;
    return memcmp(whole.numbers + last, stopped.numbers + last, 12 * sizeof(double)) == 0;
}

static int programs(const char *backup) {
    gantry_runtime_t *runtime = open_runtime();
    gantry_strategy_t *strategy = gantry_multi_worker_strategy(runtime, NULL, 0, processes);
    const program_t given = {.runtime = runtime, .strategy = strategy};
    bool is_good = strategy != NULL;
    for (size_t i = 0; i < PROGRAM_CASES && is_good; ++i) {
        is_good = !program_has_parts(i) || run_program(&given, i, backup);
        if (!is_good) say(program_cases[i].name);
    }
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
    if (is_good) say("programs follow Keras");
    return is_good ? 0 : 1;
}

/* ---- train ---- */

enum { ROWS = 44, BATCH = 6 };

static gantry_status_t end_at(gantry_model_t *model, int64_t step, bool *stop, void *user) {
    long *left = user;
    (void)model, (void)step, (void)stop;
    if (*left >= 0 && (*left)-- == 0) (void)kill(getpid(), SIGKILL);
    return GANTRY_OK;
}

static gantry_dataset_t *make_batches(void) {
    static float inputs[ROWS * 3];
    static int32_t labels[ROWS];
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, 3), inputs},
                                     {GANTRY_INT32, GANTRY_SHAPE(ROWS), labels}};
    for (int i = 0; i < ROWS * 3; ++i) inputs[i] = (float)((i * 37) % 23) / 11 - 1;
    for (int i = 0; i < ROWS; ++i) labels[i] = (i * 5) % 4;
    gantry_dataset_t *data = gantry_dataset_from_arrays(arrays, 2, false);
    return gantry_dataset_batch(gantry_dataset_shuffle(data, ROWS, 7, true), BATCH, false);
}

static gantry_model_t *make_model(gantry_runtime_t *runtime, const gantry_strategy_t *strategy,
                                  int64_t units, double rate) {
    gantry_model_t *model = gantry_sequential(
        runtime,
        &(gantry_model_options_t){.seed = (int64_t)processes->rank + 1, .strategy = strategy});
    (void)gantry_model_add(model, gantry_dense(units, GANTRY_TANH, NULL));
    (void)gantry_model_add(model, gantry_batch_normalization(NULL));
    (void)gantry_model_add(model, gantry_dense(4, GANTRY_SOFTMAX, NULL));
    (void)gantry_model_compile(
        model, &(gantry_compile_options_t){
                   .optimizer = gantry_adam(&(gantry_adam_options_t){.learning_rate = rate}),
                   .loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY});
    (void)gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(3));
    return model;
}

static gantry_status_t say_weights(gantry_runtime_t *runtime, const gantry_model_t *model) {
    uint64_t sum = 0;
    char text[64];
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    for (size_t i = 0; i < gantry_model_variable_count(model); ++i) {
        unsigned char bytes[4096];
        const gantry_tensor_t *value =
            gantry_variable_read(scope, gantry_model_variable(model, i, NULL));
        (void)gantry_tensor_read(value, bytes, gantry_tensor_bytes(value));
        sum = sum * 31 + checksum(bytes, gantry_tensor_bytes(value));
    }
    (void)snprintf(text, sizeof text, "weights %016llx", (unsigned long long)sum);
    say(text);
    return gantry_scope_end(scope);
}

static gantry_status_t train_model(gantry_model_t *model, char **arguments) {
    const int64_t from = strtoll(arguments[1], NULL, 10), to = strtoll(arguments[2], NULL, 10);
    long left = processes->rank + 1 == processes->size ? strtol(arguments[3], NULL, 10) : -1;
    const gantry_callback_t end = {.struct_size = sizeof end, .user = &left, .step_end = end_at};
    gantry_callback_t *saving = gantry_model_checkpoint(arguments[0], NULL);
    const gantry_callback_t *const callbacks[] = {&end, saving};
    gantry_dataset_t *batches = make_batches();
    gantry_status_t status = from > 0 ? gantry_model_load(model, arguments[0]) : GANTRY_OK;
    (void)gantry_dataset_set_iteration(batches, (uint64_t)from);
    if (status == GANTRY_OK)
        status = gantry_model_fit(
            model, batches,
            &(gantry_fit_options_t){
                .epochs = to, .initial_epoch = from, .callbacks = callbacks, .callback_count = 2});
    gantry_dataset_release(batches);
    gantry_callback_release(saving);
    return status;
}

static int train(char **arguments, int64_t units, double rate) {
    char text[1024];
    gantry_runtime_t *runtime = open_runtime();
    gantry_strategy_t *strategy = gantry_multi_worker_strategy(runtime, NULL, 0, processes);
    gantry_model_t *model = make_model(runtime, strategy, units, rate);
    gantry_status_t status = train_model(model, arguments);
    if (status == GANTRY_OK) status = say_weights(runtime, model);
    (void)snprintf(text, sizeof text, "%s", gantry_last_message());
    gantry_model_release(model);
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
    if (status != GANTRY_OK) say(text);
    return status == GANTRY_OK ? 0 : 3;
}

static int differ(void) {
    char *arguments[] = {"/no/such/folder/model", "0", "1", "-1"};
    return train(arguments, processes->rank == 1 ? 6 : 5, 0) == 3 ? 0 : 1;
}

static int unlike(void) {
    char *arguments[] = {"/no/such/folder/model", "0", "1", "-1"};
    return train(arguments, 5, processes->rank == 1 ? 0.5 : 0.25) == 3 ? 0 : 1;
}

/* ---- leave and heap ---- */

static int leave(void) {
    double number = 1;
    if (processes->rank == 1) {
        gantry_mpi_communicator_release(processes);
        processes = NULL;
        return 0;
    }
    if (processes->all_reduce(processes->user, &number, 1, GANTRY_FLOAT64, "a sum") == GANTRY_OK)
        return 1;
    say(gantry_last_message());
    return processes->all_reduce(processes->user, &number, 1, GANTRY_FLOAT64, "a sum") == GANTRY_OK;
}

#define LATE_SECONDS 1.0

/* Rank `who` is late by far. */
static void be_late(bool stops) {
    if (stops)
        (void)raise(SIGSTOP);
    else
        (void)sleep((unsigned)LATE_SECONDS * 5);
}

static double processor_seconds(void) {
    struct rusage used;
    (void)getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static int late(size_t who, bool stops) {
    double number = 1;
    uint64_t pid = processes->rank == who ? (uint64_t)getpid() : 0;
    if (processes->all_reduce(processes->user, &pid, 1, GANTRY_UINT64, "pids") != GANTRY_OK)
        return fail();
    if (processes->rank == who) be_late(stops);
    const double before = processor_seconds();
    const gantry_status_t status =
        processes->all_reduce(processes->user, &number, 1, GANTRY_FLOAT64, "a sum");
    say(gantry_last_message());
    if (processor_seconds() - before < 0.5 * LATE_SECONDS) say("sleeps while it waits");
    if (stops) await_others();
    /* mpirun would wait for a stopped process */
    if (stops && processes->rank == (who == 1 ? 2 : 1)) (void)kill((pid_t)pid, SIGKILL);
    return status == GANTRY_DEADLINE_EXCEEDED ? 3 : 1;
}

static int heap(int rank) {
    bool has_failed = true;
    for (long i = 0; has_failed; ++i) {
        train_heap_reset(rank == 1 ? i : -1);
        processes = gantry_mpi_communicator(NULL);
        has_failed = !processes;
        if (has_failed && !strstr(gantry_last_message(), "out of host memory")) return fail();
        gantry_mpi_communicator_release(processes);
        processes = NULL;
        if (train_heap_live() != 0 || i > 100) return 1;
        if (rank == 1 && !has_failed) (void)fprintf(stderr, "%ld allocations have failed\n", i);
    }
    return 0;
}

static bool shares_memory(void) {
    char line[512];
    bool is_found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) is_found |= strstr(line, "/gantry_") != NULL;
    if (maps) (void)fclose(maps);
    return is_found;
}

/* Memory to share is a file, and none may be larger than 6 MiB. */
static int apart(void) {
    const struct rlimit limit = {6 << 20, 6 << 20};
    (void)MPI_Init(NULL, NULL);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    processes = gantry_mpi_communicator(NULL);
    if (!processes) return fail();
    const int result = shares_memory() ? 1 : sums();
    gantry_mpi_communicator_release(processes);
    (void)MPI_Finalize();
    return result;
}

static int heap_with_mpi(void) {
    int rank;
    (void)MPI_Init(NULL, NULL);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int result = heap(rank);
    (void)MPI_Finalize();
    return result;
}

/* This rank initialises MPI, and does other work; the others do not wait for it without end. */
static int absent(int absent_rank) {
    int rank;
    (void)MPI_Init(NULL, NULL);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const gantry_mpi_options_t options = {.timeout_seconds = LATE_SECONDS};
    if (rank == absent_rank) (void)sleep(4);
    processes = gantry_mpi_communicator(&options);
    if (processes) return 1;
    (void)fail();
    const bool is_refused = !gantry_mpi_communicator(&options);
    (void)fail();
    await_others();
    _exit(is_refused ? 3 : 1);
}

int main(int count, char **arguments) {
    const char *mode = count > 1 ? arguments[1] : "";
    int result = 2;
    if (strcmp(mode, "heap") == 0) return heap_with_mpi();
    if (strcmp(mode, "apart") == 0) return apart();
    if (strcmp(mode, "absent") == 0 && count == 3) return absent(atoi(arguments[2]));
    const bool is_late = strcmp(mode, "late") == 0 && count == 5;
    const gantry_mpi_options_t options = {
        .ranks_per_machine = count == 3 || is_late ? strtoul(arguments[count - 1], NULL, 10) : 0,
        .timeout_seconds = is_late ? LATE_SECONDS : 0};
    processes = gantry_mpi_communicator(&options);
    if (!processes) return fail();
    if (strcmp(mode, "follow") == 0) result = follow();
    if (strcmp(mode, "programs") == 0 && count == 3) result = programs(arguments[2]);
    if (strcmp(mode, "sums") == 0) result = sums();
    if (strcmp(mode, "shared") == 0) result = shares_memory() ? 0 : 1;
    if (strcmp(mode, "train") == 0 && count == 6) result = train(arguments + 2, 5, 0);
    if (strcmp(mode, "differ") == 0) result = differ();
    if (strcmp(mode, "unlike") == 0) result = unlike();
    if (strcmp(mode, "leave") == 0) result = leave();
    if (is_late) result = late(strtoul(arguments[2], NULL, 10), strcmp(arguments[3], "stop") == 0);
    /* after a failure MPI_Finalize could wait for ever, and mpirun ends the others by itself */
    if (result == 0)
        gantry_mpi_communicator_release(processes);
    else
        await_others();
    return result;
}
