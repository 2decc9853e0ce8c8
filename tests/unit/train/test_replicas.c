/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The losses of a model on several replicas are those of one device, to rounding;
 * gradients are reduced in buckets while the backward pass runs.
 * Promise: The losses of a model on 1 to 4 virtual CPUs are those of one CPU to 1e-11 in float64,
 * and those on parts of PoCL to 1e-9. */
#define _XOPEN_SOURCE 700

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gantry_train/train.h>

#include "need_opencl.h"
#include "sanitized.h"
#include "test.h"
#include "train/model/model_state.h"
#include "train_heap.h"

/* A weight of WIDTH * WIDTH float64 is a bucket of its own. */
enum { WIDTH = 544, ROWS = 21, BATCH = 8, LAYERS = 3, MOST_REPLICAS = 4 };
/* The second epoch repeats the first one's work. */
enum { EPOCHS = FEWER_FOR_THREAD_SANITIZER(2, 1) };

static gantry_runtime_t *runtime;
static int reductions; /* lines of the log that tell of four buckets */
static double points[ROWS * WIDTH], targets[ROWS];

static void count_reductions(void *user, gantry_log_level_t level, const char *text) {
    (void)user;
    if (level == GANTRY_LEVEL_INFO &&
        strcmp(text, "batch_all_reduce: 8 all-reduces with algorithm = copy, num_packs = 4") == 0)
        ++reductions;
}

static int set_up(void **state) {
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .log_level = GANTRY_LEVEL_INFO,
                                              .log = count_reductions,
                                              .backends = "cpu"};
    (void)state;
    train_heap_reset(-1);
    reductions = 0;
    assert_int_equal(gantry_runtime_create(&options, &runtime), GANTRY_OK);
    assert_int_equal(gantry_set_logical_cpu_devices(runtime, MOST_REPLICAS), GANTRY_OK);
    for (int i = 0; i < ROWS * WIDTH; ++i) points[i] = (double)((i * 7919) % 1009) / 1009 - 0.5;
    for (int i = 0; i < ROWS; ++i) targets[i] = (double)(i % 5) - 2;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    gantry_runtime_release(runtime);
    assert_int_equal(train_heap_live(), 0);
    return 0;
}

static void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

static gantry_dataset_t *make_batches(int width, int rows) {
    const gantry_array_t arrays[] = {{GANTRY_FLOAT64, GANTRY_SHAPE(rows, width), points},
                                     {GANTRY_FLOAT64, GANTRY_SHAPE(rows, 1), targets}};
    return gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), BATCH, false);
}

/* ---- losses ---- */

typedef struct losses_t {
    double values[EPOCHS];
} losses_t;

static gantry_status_t keep_loss(gantry_model_t *model, int64_t epoch, const gantry_logs_t *logs,
                                 bool *stop, void *user) {
    losses_t *losses = user;
    (void)model;
    (void)stop;
    losses->values[epoch] = logs->values[0];
    return GANTRY_OK;
}

/* Without BatchNormalization's statistics, which are of each replica's part, in the way. */
static gantry_model_t *make_plain(const gantry_strategy_t *strategy, int width) {
    gantry_model_options_t options = {.dtype = GANTRY_FLOAT64, .seed = 5, .strategy = strategy};
    if (!strategy) options.device = "/CPU:0";
    gantry_model_t *model = gantry_sequential(runtime, &options);
    for (int i = 0; i < LAYERS; ++i)
        (void)gantry_model_add(model, gantry_dense(width, GANTRY_TANH, NULL));
    (void)gantry_model_add(model, gantry_dense(1, 0, NULL));
    (void)gantry_model_compile(model,
                               &(gantry_compile_options_t){.optimizer = gantry_adam(NULL),
                                                           .loss = GANTRY_MEAN_SQUARED_ERROR});
    return model;
}

static losses_t train(gantry_model_t *model, int width) {
    losses_t losses = {{0}};
    const gantry_callback_t callback = {
        .struct_size = sizeof callback, .user = &losses, .epoch_end = keep_loss};
    const gantry_callback_t *const callbacks[] = {&callback};
    gantry_dataset_t *batches = make_batches(width, ROWS);
    must(gantry_model_fit(
        model, batches,
        &(gantry_fit_options_t){.epochs = EPOCHS, .callbacks = callbacks, .callback_count = 1}));
    gantry_dataset_release(batches);
    return losses;
}

static gantry_strategy_t *make_strategy(size_t count) {
    static const char *const cpus[] = {"CPU:0", "CPU:1", "CPU:2", "CPU:3"};
    gantry_strategy_t *strategy = gantry_mirrored_strategy(runtime, cpus, count);
    if (!strategy) fail_msg("%s", gantry_last_message());
    return strategy;
}

static void expect_near(const losses_t *given, const losses_t *wanted) {
    for (int i = 0; i < EPOCHS; ++i) {
        if (!(fabs(given->values[i] - wanted->values[i]) <= 1e-11 * fabs(wanted->values[i])))
            fail_msg("epoch %d: %.17g, not %.17g", i, given->values[i], wanted->values[i]);
    }
}

static losses_t train_on(size_t replicas, const double *weights, int width) {
    gantry_strategy_t *strategy = make_strategy(replicas);
    gantry_model_t *model = make_plain(strategy, width);
    if (weights) must(gantry_model_set_replica_weights(model, weights, replicas));
    const losses_t losses = train(model, width);
    gantry_model_release(model);
    gantry_strategy_release(strategy);
    return losses;
}

static losses_t train_alone(int width) {
    gantry_model_t *model = make_plain(NULL, width);
    const losses_t losses = train(model, width);
    gantry_model_release(model);
    return losses;
}

/* The last batch has 5 rows. */
TEST(losses_are_those_of_one_device) {
    const losses_t alone = train_alone(WIDTH);
    for (size_t count = 1; count <= MOST_REPLICAS; ++count) {
        const losses_t first = train_on(count, NULL, WIDTH);
        expect_near(&first, &alone);
        if (HAS_THREAD_SANITIZER) continue; /* it has seen this training */
        const losses_t second = train_on(count, NULL, WIDTH);
        assert_memory_equal(&first, &second, sizeof first);
    }
}

TEST(small_models_have_these_losses_too) {
    const losses_t alone = train_alone(8);
    for (size_t count = 1; count <= MOST_REPLICAS; ++count) {
        const losses_t losses = train_on(count, NULL, 8);
        expect_near(&losses, &alone);
    }
}

/* Two parts of PoCL's device, or of a card; then a CPU between them, whose work comes last. */
static void train_on_parts_of_a_gpu(const losses_t *alone) {
    static const char *const devices[] = {"GPU:0", "CPU:0", "GPU:1"}, *const gpus[] = {"GPU:0",
                                                                                       "GPU:1"};
    for (size_t count = 2; count <= 3; ++count) {
        gantry_strategy_t *strategy =
            gantry_mirrored_strategy(runtime, count == 2 ? gpus : devices, count);
        if (!strategy) fail_msg("%s", gantry_last_message());
        gantry_model_t *model = make_plain(strategy, WIDTH);
        const losses_t losses = train(model, WIDTH);
        for (int i = 0; i < EPOCHS; ++i) {
            if (!(fabs(losses.values[i] - alone->values[i]) <= 1e-9 * fabs(alone->values[i])))
                fail_msg("epoch %d: %.17g, not %.17g", i, losses.values[i], alone->values[i]);
        }
        gantry_model_release(model);
        gantry_strategy_release(strategy);
    }
}

TEST(parts_of_a_gpu_have_these_losses_too) {
    need_opencl();
    const losses_t alone = train_alone(WIDTH);
    const char *backends = getenv("GANTRY_TEST_BACKENDS");
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backend_path = GANTRY_TEST_MODULES "/../gantry",
                                              .backends = backends ? backends : "cpu,opencl",
                                              .opencl_cpu_as_gpu = GANTRY_ON};
    gantry_logical_device_config_t parts[2] = {{.struct_size = sizeof parts[0]},
                                               {.struct_size = sizeof parts[0]}};
    const gantry_physical_device_t *gpu;
    size_t count = 0;
    gantry_runtime_t *cpus = runtime;
    parts[0].memory_limit_bytes = parts[1].memory_limit_bytes = UINT64_C(256) << 20;
    must(gantry_runtime_create(&options, &runtime));
    must(gantry_list_physical_devices(runtime, "GPU", 1, &gpu, &count));
    assert_true(count > 0);
    must(gantry_set_logical_device_configuration(runtime, gpu, parts, 2));
    train_on_parts_of_a_gpu(&alone);
    gantry_runtime_release(runtime);
    runtime = cpus;
}

/* ---- buckets ---- */

static char *explain(gantry_model_t *model) {
    size_t needed;
    gantry_function_t *function = model->program.steps[GANTRY__STEP_TRAIN];
    must(gantry_function_explain(function, GANTRY_EXPLAIN_TEXT, NULL, 0, &needed));
    char *text = malloc(needed + 1);
    assert_non_null(text);
    must(gantry_function_explain(function, GANTRY_EXPLAIN_TEXT, text, needed + 1, NULL));
    return text;
}

static int count_lines(const char *text, const char *begin) {
    int count = 0;
    for (; (text = strchr(text, '\n')) != NULL; ++text)
        count += strncmp(text + 1, begin, strlen(begin)) == 0;
    return count;
}

TEST(reduction_begins_while_the_backward_pass_runs) {
    gantry_strategy_t *strategy = make_strategy(2);
    gantry_model_t *model = make_plain(strategy, WIDTH);
    (void)train(model, WIDTH);
    char *text = explain(model);
    const char *first = strstr(text, "\nall_reduce "), *last = first;
    assert_non_null(first);
    for (const char *at = first; (at = strstr(at + 1, "\nall_reduce")) != NULL;) last = at;
    /* products of the backward pass stand between the first and the last one */
    const char *product = strstr(first, "\nMatMul");
    assert_true(product && product < last);
    /* a weight of each of three layers, and all that is small */
    assert_int_equal(count_lines(text, "all_reduce"), 2 * (LAYERS + 1));
    assert_true(reductions > 0);
    free(text);
    gantry_model_release(model);
    gantry_strategy_release(strategy);
}

TEST(small_model_has_one_bucket) {
    gantry_strategy_t *strategy = make_strategy(2);
    gantry_model_t *model = make_plain(strategy, 8);
    (void)train(model, 8);
    char *text = explain(model);
    assert_int_equal(count_lines(text, "all_reduce"), 2);
    free(text);
    gantry_model_release(model);
    gantry_strategy_release(strategy);
}

/* More gradients than Concat takes tensors: 40 kernels and biases, and zeros between them. */
TEST(many_gradients_are_joined) {
    double first[EPOCHS];
    for (size_t count = 1; count <= 3; count += 2) {
        gantry_strategy_t *strategy = make_strategy(count);
        gantry_model_t *model = gantry_sequential(
            runtime,
            &(gantry_model_options_t){.dtype = GANTRY_FLOAT64, .seed = 5, .strategy = strategy});
        for (int i = 0; i < 40; ++i)
            (void)gantry_model_add(model, gantry_dense(i < 39 ? 4 : 1, GANTRY_TANH, NULL));
        must(gantry_model_compile(model,
                                  &(gantry_compile_options_t){.optimizer = gantry_sgd(NULL),
                                                              .loss = GANTRY_MEAN_SQUARED_ERROR}));
        const losses_t losses = train(model, 8);
        if (count == 1) memcpy(first, losses.values, sizeof first);
        for (int i = 0; i < EPOCHS; ++i)
            assert_true(fabs(losses.values[i] - first[i]) <= 1e-11 * fabs(first[i]));
        gantry_model_release(model);
        gantry_strategy_release(strategy);
    }
}

/* ---- weights ---- */

TEST(parts_by_weights_give_the_same_losses) {
    static const double weights[][MOST_REPLICAS] = {{3, 1}, {1, 1000}, {1, 1e-9, 1}, {1, 2, 3, 4}};
    static const size_t counts[] = {2, 2, 3, 4};
    const losses_t alone = train_alone(8);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
        const losses_t losses = train_on(counts[i], weights[i], 8);
        expect_near(&losses, &alone);
    }
}

/* 8 rows by 3 and 1: six of them are replica 0's. */
TEST(parts_follow_weights) {
    gantry_strategy_t *strategy = make_strategy(2);
    gantry_model_t *model = make_plain(strategy, 8);
    gantry_dataset_t *batches = make_batches(8, BATCH);
    must(gantry_model_set_replica_weights(model, (const double[]){3, 1}, 2));
    must(gantry_model_fit(model, batches, NULL));
    char *text = explain(model);
    assert_non_null(strstr(text, "float64[6,8]"));
    assert_non_null(strstr(text, "float64[2,8]"));
    free(text);
    must(gantry_model_set_replica_weights(model, NULL, 0));
    must(gantry_model_fit(model, batches, NULL));
    text = explain(model);
    assert_null(strstr(text, "float64[6,8]"));
    assert_non_null(strstr(text, "float64[4,8]"));
    free(text);
    gantry_dataset_release(batches);
    gantry_model_release(model);
    gantry_strategy_release(strategy);
}

TEST(measured_weights_leave_the_training_as_it_is) {
    double weights[3];
    const losses_t alone = train_alone(8);
    gantry_strategy_t *strategy = make_strategy(3);
    gantry_model_t *model = make_plain(strategy, 8);
    gantry_dataset_t *batches = make_batches(8, ROWS);
    must(gantry_model_measure_replicas(model, batches, weights, 3));
    assert_true(weights[0] > 0 && weights[1] > 0 && weights[2] > 0);
    assert_true(fabs(weights[0] + weights[1] + weights[2] - 3) < 1e-9);
    const losses_t losses = train(model, 8);
    expect_near(&losses, &alone);
    gantry_dataset_release(batches);
    gantry_model_release(model);
    gantry_strategy_release(strategy);
}

static void expect_refused(gantry_status_t status, const char *text) {
    assert_int_not_equal(status, GANTRY_OK);
    if (!strstr(gantry_last_message(), text))
        fail_msg("\"%s\" has no \"%s\"", gantry_last_message(), text);
}

TEST(bad_weights_are_refused) {
    gantry_strategy_t *strategy = make_strategy(2);
    gantry_model_t *model = make_plain(strategy, 8);
    gantry_dataset_t *batches = make_batches(8, ROWS);
    double weights[3];
#define SET(...)                                                           \
    gantry_model_set_replica_weights(model, (const double[]){__VA_ARGS__}, \
                                     sizeof((const double[]){__VA_ARGS__}) / sizeof(double))
    expect_refused(SET(1, 0), "the weight of replica 1 is 0; numbers above 0 are accepted");
    expect_refused(SET(-1, 1), "the weight of replica 0 is -1");
    expect_refused(SET(1, NAN), "the weight of replica 1 is");
    expect_refused(SET(1, INFINITY), "the weight of replica 1 is");
    expect_refused(SET(1, 1, 1), "3 weights of replicas; it has 2 replicas");
    expect_refused(gantry_model_set_replica_weights(NULL, weights, 2), "NULL");
    expect_refused(gantry_model_measure_replicas(NULL, batches, weights, 2), "NULL");
    expect_refused(gantry_model_measure_replicas(model, batches, weights, 3),
                   "room for 3 weights; 2 are accepted");
    expect_refused(gantry_model_measure_replicas(model, NULL, weights, 2), "NULL");
    gantry_model_t *open =
        gantry_sequential(runtime, &(gantry_model_options_t){.strategy = strategy});
    expect_refused(gantry_model_measure_replicas(open, batches, weights, 2), "is not compiled");
    gantry_model_release(open);
    gantry_dataset_release(batches);
    gantry_model_release(model);
    gantry_strategy_release(strategy);
}

/* ---- memory ---- */

static size_t nulls_seen;

static const gantry_tensor_t *see_input(const gantry_layer_call_t *call, void *user) {
    (void)user;
    nulls_seen += !call->inputs[0];
    return gantry_identity(call->scope, call->inputs[0]);
}

/* Its first layer counts the inputs that do not exist: no layer is called behind a failure. */
static gantry_model_t *make_watched(const gantry_strategy_t *strategy, int width) {
    static const gantry_layer_kind_t kind = {
        .struct_size = sizeof kind, .name = "Seen", .call = see_input};
    gantry_model_t *model = gantry_sequential(
        runtime,
        &(gantry_model_options_t){.dtype = GANTRY_FLOAT64, .seed = 5, .strategy = strategy});
    (void)gantry_model_add(model, gantry_layer_create(&kind, NULL, NULL));
    for (int i = 0; i < LAYERS; ++i)
        (void)gantry_model_add(model, gantry_dense(width, GANTRY_TANH, NULL));
    (void)gantry_model_add(model, gantry_batch_normalization(NULL));
    (void)gantry_model_add(model, gantry_dense(1, 0, NULL));
    (void)gantry_model_compile(model,
                               &(gantry_compile_options_t){.optimizer = gantry_adam(NULL),
                                                           .loss = GANTRY_MEAN_SQUARED_ERROR});
    return model;
}

static void train_and_measure(int width) {
    gantry_strategy_t *strategy = gantry_mirrored_strategy(runtime, NULL, 0);
    gantry_model_t *model = strategy ? make_watched(strategy, width) : NULL;
    gantry_dataset_t *batches = make_batches(width, BATCH);
    (void)gantry_model_measure_replicas(model, batches, NULL, 0);
    (void)gantry_model_fit(model, batches, NULL);
    gantry_dataset_release(batches);
    gantry_model_release(model);
    gantry_strategy_release(strategy);
}

static void fail_each(int width, long step) {
    train_heap_reset(-1);
    train_and_measure(width);
    const long count = train_heap_count();
    assert_true(count > 100);
    for (long i = 0; i < count; i += step) {
        train_heap_reset(i);
        train_and_measure(width);
        if (train_heap_live() != 0) fail_msg("allocation %ld of %ld leaks", i, count);
        if (nulls_seen > 0) fail_msg("allocation %ld of %ld: a layer got no input", i, count);
    }
}

TEST(failing_allocations_leak_nothing) {
    fail_each(4, FEWER_FOR_THREAD_SANITIZER(5, 101));
    if (!HAS_THREAD_SANITIZER) fail_each(WIDTH, 331);
}

int main(void) { return test_main_each(set_up, tear_down); }
