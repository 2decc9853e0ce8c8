/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: After gantry_runtime_release, calls on unbuilt models, built optimizers, metrics and
 * stateful layers are FailedPrecondition, and the objects can be released.
 *
 * test_train_null_calls does the same with every function. */
#include <string.h>

#include "test.h"
#include "train_heap.h"

#include <gantry_train/train.h>

static gantry_runtime_t *open_runtime(void) {
    gantry_runtime_t *runtime = NULL;
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .cpu_threads = 1};
    train_heap_reset(-1);
    assert_int_equal(gantry_runtime_create(&options, &runtime), GANTRY_OK);
    return runtime;
}

static void expect_refused(gantry_status_t status) {
    if (status != GANTRY_FAILED_PRECONDITION ||
        !strstr(gantry_last_message(), "the runtime was released"))
        fail_msg("%s: %s", gantry_status_name(status), gantry_last_message());
}

static gantry_dataset_t *make_batches(void) {
    static const float inputs[8] = {1, 2, 3}, labels[2] = {1};
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(2, 2, 2), inputs},
                                     {GANTRY_FLOAT32, GANTRY_SHAPE(2, 1), labels}};
    return gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, true), 2, false);
}

static const gantry_compile_options_t *options(void) {
    static gantry_compile_options_t made;
    made = (gantry_compile_options_t){.optimizer = gantry_sgd(NULL),
                                      .loss = GANTRY_MEAN_SQUARED_ERROR};
    return &made;
}

TEST(model_that_is_not_built_is_refused) {
    double value;
    gantry_runtime_t *runtime = open_runtime();
    gantry_dataset_t *batches = make_batches();
    gantry_model_t *model = gantry_sequential(runtime, NULL),
                   *other = gantry_functional(runtime, NULL);
    assert_int_equal(gantry_model_add(model, gantry_flatten(NULL)), GANTRY_OK);
    assert_int_equal(gantry_model_add(model, gantry_dense(1, GANTRY_LINEAR, NULL)), GANTRY_OK);
    assert_int_equal(gantry_model_compile(model, options()), GANTRY_OK);
    gantry_runtime_release(runtime);
    expect_refused(gantry_model_add(model, gantry_flatten(NULL)));
    expect_refused(gantry_model_compile(model, options()));
    expect_refused(gantry_model_fit(model, batches, NULL));
    expect_refused(gantry_model_evaluate(model, batches, &value, 1));
    expect_refused(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2)));
    assert_int_equal(gantry_model_input(other, GANTRY_FLOAT32, GANTRY_SHAPE(2)), -1);
    expect_refused(gantry_model_save(other, "/tmp/gantry_never"));
    gantry_model_release(model);
    gantry_model_release(other);
    gantry_dataset_release(batches);
    assert_int_equal(train_heap_live(), 0);
}

TEST(stateful_layer_is_refused) {
    gantry_runtime_t *runtime = open_runtime();
    gantry_model_t *model = gantry_sequential(runtime, &(gantry_model_options_t){.batch_size = 2});
    gantry_layer_t *layer = gantry_lstm(1, &(gantry_recurrent_options_t){.stateful = true});
    (void)gantry_model_add(model, layer);
    assert_int_equal(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2)), GANTRY_OK);
    gantry_runtime_release(runtime);
    expect_refused(gantry_layer_reset_states(layer));
    expect_refused(gantry_model_reset_states(model));
    gantry_model_release(model);
    assert_int_equal(train_heap_live(), 0);
}

TEST(optimizer_and_metric_are_refused) {
    double rate;
    const float one = 1;
    gantry_runtime_t *runtime = open_runtime();
    gantry_optimizer_t *optimizer = gantry_adam(NULL);
    gantry_metric_t *metric = gantry_mean_metric(NULL);
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    const gantry_tensor_t *value =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SCALAR, &one, sizeof one);
    gantry_variable_t *variable = gantry_variable_create(scope, value, "w");
    assert_int_equal(gantry_optimizer_build(optimizer, scope, &variable, 1), GANTRY_OK);
    assert_int_equal(gantry_metric_build(metric, scope), GANTRY_OK);
    gantry_runtime_release(runtime);
    expect_refused(gantry_optimizer_set_learning_rate(optimizer, 0.5));
    expect_refused(gantry_optimizer_get_learning_rate(optimizer, &rate));
    expect_refused(gantry_metric_update(metric, scope, NULL, value, NULL));
    expect_refused(gantry_optimizer_apply(optimizer, scope, &variable, &value, 1));
    assert_null(gantry_metric_result(metric, scope));
    assert_null(gantry_schedule_rate(scope, NULL, value, GANTRY_FLOAT32));
    (void)gantry_scope_end(scope);
    gantry_metric_release(metric);
    gantry_optimizer_release(optimizer);
    gantry_variable_release(variable);
    assert_int_equal(train_heap_live(), 0);
}

int main(void) { return test_main(); }
