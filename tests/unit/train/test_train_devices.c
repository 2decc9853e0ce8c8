/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A model, a strategy and the processes of a training open no device but their own and the
 * CPU, which holds the program's data.
 * Promise: A model finds shapes without placing an op: no record lists an op that never ran, and a
 * model on the CPU can be made where GPUs are required and there is none.
 *
 * The log says which devices are opened, of a CPU and two PoCL devices as GPUs. */
#define _XOPEN_SOURCE 700
#include <pthread.h>

#include "need_opencl.h"
#include "test.h"
#include "thread_workers.h"

#include <gantry_train/train.h>

enum { ROWS = 8, STEPS = 3 };

/* ---- what is opened ---- */

typedef struct opened_t {
    int cpus, firsts, seconds; /* CPU:0, GPU:0, GPU:1 */
} opened_t;

static void count_device(void *user, gantry_log_level_t level, const char *text) {
    opened_t *opened = user;
    (void)level;
    if (!strstr(text, "Created device")) return;
    opened->cpus += strstr(text, "device:CPU:") != NULL;
    opened->firsts += strstr(text, "device:GPU:0") != NULL;
    opened->seconds += strstr(text, "device:GPU:1") != NULL;
}

static gantry_runtime_t *open_runtime(opened_t *opened) {
    gantry_runtime_t *runtime = NULL;
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backend_path = GANTRY_TEST_MODULES "/../gantry",
                                              .backends = "cpu,opencl",
                                              .opencl_cpu_as_gpu = GANTRY_ON,
                                              .log = count_device,
                                              .log_user = opened};
    size_t count = 0;
    *opened = (opened_t){0};
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_int_equal(gantry_list_physical_devices(runtime, "GPU", 0, NULL, &count), GANTRY_OK);
    assert_int_equal(count, 2);
    return runtime;
}

static void expect_opened(const opened_t *opened, const char *device, const char *what) {
    const int wanted = strstr(device, "GPU:1") != NULL;
    if (opened->firsts != 0 || opened->seconds != wanted || opened->cpus > 1)
        fail_msg("%s on %s opens CPU:0 %d times, GPU:0 %d times, GPU:1 %d times", what, device,
                 opened->cpus, opened->firsts, opened->seconds);
}

/* ---- models ---- */

static gantry_model_t *dense_model(gantry_runtime_t *runtime, const gantry_model_options_t *o) {
    gantry_model_t *model = gantry_sequential(runtime, o);
    (void)gantry_model_add(model, gantry_flatten(NULL));
    (void)gantry_model_add(model, gantry_dense(4, GANTRY_TANH, NULL));
    (void)gantry_model_add(model, gantry_dropout_layer(0.25, NULL));
    (void)gantry_model_add(model, gantry_batch_normalization(NULL));
    (void)gantry_model_add(model, gantry_dense(2, GANTRY_SOFTMAX, NULL));
    return model;
}

static gantry_model_t *recurrent_model(gantry_runtime_t *runtime, const gantry_model_options_t *o) {
    gantry_model_t *model = gantry_sequential(runtime, o);
    (void)gantry_model_add(model,
                           gantry_lstm(3, &(gantry_recurrent_options_t){.unroll = GANTRY_OFF}));
    (void)gantry_model_add(model, gantry_dense(2, GANTRY_SOFTMAX, NULL));
    return model;
}

/* A block in a model of open length. */
static gantry_model_t *open_model(gantry_runtime_t *runtime, const gantry_model_options_t *o) {
    gantry_model_t *block = gantry_sequential(runtime, o), *model = gantry_functional(runtime, o);
    (void)gantry_model_add(block, gantry_conv1d_layer(3, 2, GANTRY_RELU, NULL));
    (void)gantry_model_add(block, gantry_global_max_pool(NULL));
    const int32_t input = gantry_model_input(model, GANTRY_FLOAT32, GANTRY_SHAPE(-1, 2));
    int32_t pooled = -1;
    (void)gantry_model_apply_model(model, block, &input, 1, &pooled, 1);
    (void)gantry_model_apply(model, gantry_dense(2, GANTRY_SOFTMAX, NULL), &pooled, 1);
    gantry_model_release(block);
    return model;
}

typedef gantry_model_t *(*make_fn)(gantry_runtime_t *runtime, const gantry_model_options_t *o);

static gantry_dataset_t *make_batches(void) {
    static float inputs[ROWS * STEPS * 2];
    static int32_t labels[ROWS];
    for (int i = 0; i < ROWS * STEPS * 2; ++i) inputs[i] = (float)(i % 7) / 7;
    for (int i = 0; i < ROWS; ++i) labels[i] = i % 2;
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, STEPS, 2), inputs},
                                     {GANTRY_INT32, GANTRY_SHAPE(ROWS), labels}};
    return gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), 4, false);
}

static gantry_status_t use_model(gantry_model_t *model) {
    double values[2];
    float out[ROWS * 2];
    gantry_metric_t *metrics[] = {gantry_sparse_categorical_accuracy(NULL)};
    gantry_dataset_t *batches = make_batches();
    gantry_status_t status = gantry_model_compile(
        model, &(gantry_compile_options_t){.optimizer = gantry_adam(NULL),
                                           .loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY,
                                           .metrics = metrics,
                                           .metric_count = 1});
    if (status == GANTRY_OK) status = gantry_model_fit(model, batches, NULL);
    if (status == GANTRY_OK) status = gantry_model_evaluate(model, batches, values, 2);
    if (status == GANTRY_OK) status = gantry_model_predict(model, batches, out, sizeof out, NULL);
    if (status == GANTRY_OK) status = gantry_model_measure_replicas(model, batches, NULL, 0);
    gantry_dataset_release(batches);
    return status;
}

static void use_on(const char *device, make_fn make, bool has_strategy, const char *what) {
    opened_t opened;
    gantry_runtime_t *runtime = open_runtime(&opened);
    gantry_strategy_t *strategy =
        has_strategy ? gantry_mirrored_strategy(runtime, &device, 1) : NULL;
    const gantry_model_options_t options = {.device = has_strategy ? NULL : device,
                                            .strategy = strategy};
    gantry_model_t *model = make(runtime, &options);
    if (use_model(model) != GANTRY_OK) fail_msg("%s: %s", what, gantry_last_message());
    gantry_model_release(model);
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
    expect_opened(&opened, device, what);
}

TEST(models_open_their_own_device) {
    use_on("CPU:0", dense_model, false, "a model of dense layers");
    use_on("CPU:0", recurrent_model, false, "a recurrent model");
    use_on("CPU:0", open_model, false, "a model of open sizes");
    use_on("GPU:1", dense_model, false, "a model of dense layers");
}

TEST(strategies_open_their_own_devices) {
    use_on("CPU:0", dense_model, true, "a strategy");
    use_on("GPU:1", dense_model, true, "a strategy");
}

/* ---- processes: threads, one of which has GPU:1. Their models are alike, though a convolution has
 * other parts on another device ---- */

static opened_t opened_by[2];
static const char *const devices_of[] = {"CPU:0", "GPU:1"};
static make_fn made_by;

static gantry_status_t run_process(thread_worker_t *worker) {
    char text[1024];
    const size_t rank = worker->communicator.rank;
    gantry_runtime_t *runtime = open_runtime(&opened_by[rank]);
    gantry_strategy_t *strategy =
        gantry_multi_worker_strategy(runtime, &devices_of[rank], 1, &worker->communicator);
    gantry_model_t *model = made_by(runtime, &(gantry_model_options_t){.strategy = strategy});
    const gantry_status_t status = use_model(model);
    (void)snprintf(text, sizeof text, "%s", gantry_last_message());
    gantry_model_release(model);
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
    return status == GANTRY_OK ? status : gantry_fail(status, text);
}

static void run_processes(make_fn make) {
    static thread_workers_t group;
    made_by = make;
    thread_workers_run(&group, 2, -1, run_process, NULL);
    for (size_t r = 0; r < 2; ++r) {
        if (group.workers[r].status != GANTRY_OK)
            fail_msg("rank %zu: %s", r, group.workers[r].text);
        expect_opened(&opened_by[r], devices_of[r], "a process");
    }
}

TEST(processes_open_their_own_device) {
    run_processes(dense_model);
    run_processes(open_model);
}

/* ---- records ---- */

TEST(built_model_has_no_record_of_its_layers) {
    static gantry_placement_count_t counts[256];
    opened_t opened;
    size_t count = 0;
    gantry_runtime_t *runtime = open_runtime(&opened);
    gantry_model_t *model = dense_model(runtime, &(gantry_model_options_t){.device = "CPU:0"});
    assert_int_equal(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(STEPS, 2)), GANTRY_OK);
    counts[0].struct_size = sizeof counts[0];
    assert_int_equal(gantry_get_placement_counts(runtime, 256, counts, &count), GANTRY_OK);
    for (size_t i = 0; i < count && i < 256; ++i) {
        for (const char *const *op =
                 (const char *const[]){"MatMul", "Tanh", "Softmax", "Reshape", "BiasAdd", NULL};
             *op; ++op)
            assert_string_not_equal(counts[i].op, *op);
    }
    gantry_model_release(model);
    gantry_runtime_release(runtime);
    expect_opened(&opened, "CPU:0", "a build");
}

TEST(cpu_model_is_made_where_gpus_are_required) {
    gantry_runtime_t *runtime = NULL;
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backends = "cpu",
                                              .placement_mode = GANTRY_PLACEMENT_REQUIRE};
    assert_int_equal(gantry_runtime_create(&options, &runtime), GANTRY_OK);
    gantry_model_t *model = dense_model(runtime, &(gantry_model_options_t){.device = "CPU:0"});
    if (use_model(model) != GANTRY_OK) fail_msg("%s", gantry_last_message());
    gantry_model_release(model);
    gantry_runtime_release(runtime);
}

int main(void) {
    (void)setenv("POCL_DEVICES", "pthread pthread", 1);
    const int code = skip_without_opencl();
    if (code != 0) return code;
    return test_main();
}
