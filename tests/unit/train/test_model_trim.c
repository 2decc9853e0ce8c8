/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: gantry_model_trim frees all that a model keeps between steps, in a callback of a
 * training, too, and changes no weight. */
#include <string.h>

#include "test.h"
#include "thread_workers.h"

#include <gantry_train/train.h>

enum { ROWS = 64, WEIGHTS = 32 * 16 };

static gantry_runtime_t *open_runtime(void) {
    gantry_runtime_t *runtime = NULL;
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .cpu_threads = 1};
    assert_int_equal(gantry_runtime_create(&options, &runtime), GANTRY_OK);
    return runtime;
}

static uint64_t bytes_in_use(gantry_runtime_t *runtime) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    assert_int_equal(gantry_get_memory_info(runtime, "CPU:0", &info), GANTRY_OK);
    return info.current_bytes;
}

static gantry_dataset_t *make_batches(void) {
    static float inputs[ROWS * 32];
    static int32_t labels[ROWS];
    for (int i = 0; i < ROWS * 32; ++i) inputs[i] = (float)(i % 13) / 13;
    for (int i = 0; i < ROWS; ++i) labels[i] = i % 4;
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, 32), inputs},
                                     {GANTRY_INT32, GANTRY_SHAPE(ROWS), labels}};
    return gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), 24, false);
}

static gantry_model_t *make_model(gantry_runtime_t *runtime, const gantry_strategy_t *strategy) {
    gantry_model_t *model =
        gantry_sequential(runtime, &(gantry_model_options_t){.seed = 3, .strategy = strategy});
    (void)gantry_model_add(model, gantry_dense(16, GANTRY_TANH, NULL));
    (void)gantry_model_add(model, gantry_dense(4, GANTRY_SOFTMAX, NULL));
    (void)gantry_model_compile(
        model, &(gantry_compile_options_t){.optimizer = gantry_adam(NULL),
                                           .loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY});
    return model;
}

static gantry_status_t trim_step(gantry_model_t *model, int64_t step, bool *stop, void *user) {
    uint64_t bytes = 0, *all = user;
    (void)step, (void)stop;
    const gantry_status_t status = gantry_model_trim(model, &bytes);
    *all += bytes;
    return status;
}

static void use_all(gantry_model_t *model, bool trims) {
    double value;
    float out[ROWS * 4];
    uint64_t bytes = 0;
    gantry_dataset_t *batches = make_batches();
    const gantry_callback_t trimming = {
        .struct_size = sizeof trimming, .user = &bytes, .step_end = trim_step};
    const gantry_callback_t *const callbacks[] = {&trimming};
    const gantry_fit_options_t options = {
        .epochs = 2, .callbacks = callbacks, .callback_count = trims ? 1 : 0};
    if (gantry_model_fit(model, batches, &options) != GANTRY_OK ||
        gantry_model_evaluate(model, batches, &value, 1) != GANTRY_OK ||
        gantry_model_predict(model, batches, out, sizeof out, NULL) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_int_equal(bytes > 0, trims);
    gantry_dataset_release(batches);
}

static void read_weights(gantry_runtime_t *runtime, const gantry_model_t *model,
                         float out[WEIGHTS]) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    const gantry_tensor_t *value =
        gantry_variable_read(scope, gantry_model_variable(model, 0, NULL));
    assert_int_equal(gantry_tensor_read(value, out, WEIGHTS * sizeof *out), GANTRY_OK);
    (void)gantry_scope_end(scope);
}

TEST(trim_frees_what_steps_keep) {
    static float weights[WEIGHTS], trimmed[WEIGHTS];
    uint64_t bytes = 7;
    gantry_runtime_t *runtime = open_runtime();
    gantry_model_t *model = make_model(runtime, NULL), *other = make_model(runtime, NULL);
    assert_int_equal(gantry_model_trim(model, &bytes), GANTRY_OK);
    assert_int_equal(bytes, 0);
    use_all(model, false);
    const uint64_t before = bytes_in_use(runtime);
    assert_int_equal(gantry_model_trim(model, &bytes), GANTRY_OK);
    assert_true(bytes > 0);
    assert_true(bytes_in_use(runtime) <= before - bytes); /* chunks are larger than blocks */
    assert_int_equal(gantry_model_trim(model, &bytes), GANTRY_OK);
    assert_int_equal(bytes, 0);
    use_all(other, true);
    read_weights(runtime, model, weights);
    read_weights(runtime, other, trimmed);
    assert_memory_equal(weights, trimmed, sizeof weights);
    use_all(model, false); /* goes on */
    gantry_model_release(model);
    gantry_model_release(other);
    gantry_runtime_release(runtime);
}

/* ---- processes: the function that applies the sum keeps memory, too ---- */

static gantry_status_t run_process(thread_worker_t *worker) {
    uint64_t bytes = 0;
    gantry_runtime_t *runtime = open_runtime();
    gantry_strategy_t *strategy =
        gantry_multi_worker_strategy(runtime, NULL, 0, &worker->communicator);
    gantry_model_t *model = make_model(runtime, strategy);
    gantry_dataset_t *batches = make_batches();
    gantry_status_t status = gantry_model_fit(model, batches, NULL);
    const uint64_t before = bytes_in_use(runtime);
    if (status == GANTRY_OK) status = gantry_model_trim(model, &bytes);
    if (status == GANTRY_OK && (bytes == 0 || bytes_in_use(runtime) > before - bytes))
        status = GANTRY_INTERNAL;
    if (status == GANTRY_OK) status = gantry_model_fit(model, batches, NULL);
    gantry_dataset_release(batches);
    gantry_model_release(model);
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
    return status;
}

TEST(trim_of_processes_frees_what_they_keep) {
    static thread_workers_t group;
    thread_workers_run(&group, 2, -1, run_process, NULL);
    for (size_t r = 0; r < 2; ++r) assert_int_equal(group.workers[r].status, GANTRY_OK);
}

int main(void) { return test_main(); }
