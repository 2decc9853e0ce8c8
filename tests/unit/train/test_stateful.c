/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Stateful recurrent layers keep their states from batch to batch as Keras's do; loops
 * train on two devices, and name an op that makes a number that is not finite. */
#define _XOPEN_SOURCE 700

#include "test.h"
#include "train_recurrent_case.h"

#include "train_fixture.h"

static void expect_message(gantry_status_t got, gantry_status_t wanted, const char *text) {
    if (got != wanted || !strstr(gantry_last_message(), text))
        fail_msg("status %d: %s", (int)got, gantry_last_message());
}

/* ---- kept states ---- */

static double x_data[3 * BATCH * STEPS * FEATURES], y_data[3 * BATCH];

static void make_stateful_data(bool is_masked, uint32_t *state) {
    static const int padded[][2] = {{1, 2}, {4, 0}, {3, 3}};
    const gantry_shape_t shape = GANTRY_SHAPE(3 * BATCH, STEPS, FEATURES);
    (void)train_layer_fill(state, GANTRY_FLOAT64, shape, 1024, x_data);
    for (size_t i = 0; is_masked && i < 3; ++i)
        memset(x_data + (padded[i][0] * STEPS + padded[i][1]) * FEATURES, 0,
               FEATURES * sizeof *x_data);
    (void)train_layer_fill(state, GANTRY_FLOAT64, GANTRY_SHAPE(3 * BATCH, 1), 1024, y_data);
}

static gantry_dataset_t *make_batches(int64_t rows) {
    const gantry_array_t arrays[] = {
        {GANTRY_FLOAT64, GANTRY_SHAPE(3 * BATCH, STEPS, FEATURES), x_data},
        {GANTRY_FLOAT64, GANTRY_SHAPE(3 * BATCH, 1), y_data}};
    return gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), rows, false);
}

static gantry_model_t *make_stateful_model(gantry_layer_t *layer, int64_t batch_size) {
    gantry_model_t *model = gantry_sequential(
        fixture.runtime,
        &(gantry_model_options_t){.dtype = GANTRY_FLOAT64, .batch_size = batch_size});
    (void)gantry_model_add(model, gantry_masking_layer(0, NULL));
    (void)gantry_model_add(model, layer);
    (void)gantry_model_add(model, gantry_dense(1, GANTRY_LINEAR, NULL));
    (void)gantry_model_compile(
        model, &(gantry_compile_options_t){
                   .optimizer = gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 0.5}),
                   .loss = GANTRY_MEAN_SQUARED_ERROR});
    return model;
}

static void expect_numbers(size_t index, const double *got, size_t count, size_t *at) {
    const recurrent_case_t given = recurrent_case_read("stateful", index), *c = &given;
    for (size_t i = 0; i < count; ++i, ++*at) {
        assert_in_range(*at, 0, c->count - 1);
        if (!(fabs(got[i] - c->numbers[*at]) <= 1e-10 * (1 + fabs(c->numbers[*at]))))
            fail_msg("case %zu: number %zu is %.15g; Keras has %.15g", index, *at, got[i],
                     c->numbers[*at]);
    }
}

static void expect_predictions(size_t index, gantry_model_t *model, gantry_dataset_t *batches,
                               size_t *at) {
    double values[3 * BATCH];
    size_t needed;
    must(gantry_model_predict(model, batches, values, sizeof values, &needed));
    assert_int_equal(needed, sizeof values);
    expect_numbers(index, values, 3 * BATCH, at);
}

static void expect_weights(size_t index, gantry_model_t *model, size_t *at) {
    double values[MOST];
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    for (size_t i = 0; i < gantry_model_variable_count(model); ++i) {
        const gantry_tensor_t *value =
            gantry_variable_read(scope, gantry_model_variable(model, i, NULL));
        must(gantry_tensor_read(value, values, gantry_tensor_bytes(value)));
        expect_numbers(index, values, (size_t)gantry_tensor_elements(value), at);
    }
    expect_ended_well(scope);
}

static void set_weights(gantry_model_t *model, uint32_t *state) {
    static double bytes[MOST];
    for (size_t i = 0; i < gantry_model_variable_count(model); ++i) {
        const gantry_variable_t *variable = gantry_model_variable(model, i, NULL);
        const size_t count =
            train_layer_fill(state, GANTRY_FLOAT64, *gantry_variable_shape(variable), 4096, bytes);
        must(gantry_model_set_variable(model, i, bytes, count));
    }
}

static void follow_stateful(size_t index) {
    const recurrent_case_t given = recurrent_case_read("stateful", index), *c = &given;
    uint32_t state = 700 + (uint32_t)index;
    size_t at = 0;
    double loss;
    make_stateful_data(c->is_masked, &state);
    gantry_dataset_t *batches = make_batches(BATCH);
    gantry_layer_t *layer = make_stateful(index);
    gantry_model_t *model = make_stateful_model(layer, BATCH);
    must(gantry_model_build(model, GANTRY_FLOAT64, GANTRY_SHAPE(STEPS, FEATURES)));
    set_weights(model, &state);
    expect_predictions(index, model, batches, &at);
    must(gantry_model_evaluate(model, batches, &loss, 1));
    expect_numbers(index, &loss, 1, &at);
    must(gantry_model_fit(model, batches, NULL));
    expect_weights(index, model, &at);
    expect_predictions(index, model, batches, &at);
    must(index % 2 ? gantry_model_reset_states(model) : gantry_layer_reset_states(layer));
    expect_predictions(index, model, batches, &at);
    assert_int_equal(at, c->count);
    gantry_model_release(model);
    gantry_dataset_release(batches);
}

TEST_WITH(kept_states_are_those_of_keras, set_up, tear_down) {
    assert_int_equal(STATEFUL_CASES, 7);
    for (size_t i = 0; i < 2 * STATEFUL_CASES; ++i) {
        chosen_unroll = i % 2 ? GANTRY_OFF : GANTRY_DEFAULT;
        follow_stateful(i / 2);
    }
}

/* ---- loops in trainings ---- */

/* Trains a loop, and writes the loss of each of two epochs and the weights. */
static size_t train_loop(const gantry_strategy_t *strategy, double *out) {
    uint32_t state = 9;
    size_t at = 0;
    const gantry_model_options_t options = {
        .dtype = GANTRY_FLOAT64, .seed = 4, .strategy = strategy};
    make_stateful_data(true, &state);
    gantry_dataset_t *batches = make_batches(BATCH);
    chosen_unroll = GANTRY_OFF;
    gantry_model_t *model = gantry_sequential(fixture.runtime, &options);
    (void)gantry_model_add(model, gantry_masking_layer(0, NULL));
    (void)gantry_model_add(model, gantry_gru(UNITS, NULL));
    (void)gantry_model_add(model, gantry_dense(1, GANTRY_LINEAR, NULL));
    must(gantry_model_compile(model,
                              &(gantry_compile_options_t){.optimizer = gantry_adam(NULL),
                                                          .loss = GANTRY_MEAN_SQUARED_ERROR}));
    for (size_t epoch = 0; epoch < 2; ++epoch) {
        must(gantry_model_fit(model, batches, NULL));
        must(gantry_model_evaluate(model, batches, out + at++, 1));
    }
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    for (size_t i = 0; i < gantry_model_variable_count(model); ++i) {
        const gantry_tensor_t *value =
            gantry_variable_read(scope, gantry_model_variable(model, i, NULL));
        must(gantry_tensor_read(value, out + at, gantry_tensor_bytes(value)));
        at += (size_t)gantry_tensor_elements(value);
    }
    expect_ended_well(scope);
    gantry_model_release(model);
    gantry_dataset_release(batches);
    return at;
}

TEST_WITH(loops_train_on_two_devices_as_on_one, set_up, tear_down) {
    static const char *const devices[] = {"CPU:0", "CPU:1"};
    static double one[MOST], two[MOST];
    assert_int_equal(gantry_set_logical_cpu_devices(fixture.runtime, 2), GANTRY_OK);
    gantry_strategy_t *strategy = gantry_mirrored_strategy(fixture.runtime, devices, 2);
    const size_t count = train_loop(NULL, one);
    assert_int_equal(train_loop(strategy, two), count);
    for (size_t i = 0; i < count; ++i) {
        if (!(fabs(one[i] - two[i]) <= 1e-10 * (1 + fabs(one[i]))))
            fail_msg("number %zu is %.15g, on two devices %.15g", i, one[i], two[i]);
    }
    assert_true(one[1] < one[0]);
    gantry_strategy_release(strategy);
}

/* Where numbers are checked, steps are unrolled. */
TEST_WITH(numbers_that_are_not_finite_name_their_op, set_up, tear_down) {
    uint32_t data = 9;
    double kernel[FEATURES * 4 * UNITS], loss;
    for (size_t i = 0; i < FEATURES * 4 * UNITS; ++i) kernel[i] = 1.7e308;
    make_stateful_data(false, &data);
    gantry_dataset_t *batches = make_batches(BATCH);
    chosen_unroll = GANTRY_OFF;
    gantry_model_t *model = make_stateful_model(gantry_lstm(UNITS, NULL), 0);
    must(gantry_model_compile(model, &(gantry_compile_options_t){.optimizer = gantry_sgd(NULL),
                                                                 .loss = GANTRY_MEAN_SQUARED_ERROR,
                                                                 .check_numerics = true}));
    must(gantry_model_build(model, GANTRY_FLOAT64, GANTRY_SHAPE(STEPS, FEATURES)));
    must(gantry_model_set_variable(model, 0, kernel, sizeof kernel));
    const gantry_status_t status = gantry_model_evaluate(model, batches, &loss, 1);
    assert_int_not_equal(status, GANTRY_OK);
    if (!strstr(gantry_last_message(), "layer lstm: forward: op MatMul made"))
        fail_msg("%s", gantry_last_message());
    gantry_model_release(model);
    gantry_dataset_release(batches);
}

/* ---- what is refused ---- */

TEST_WITH(another_batch_size_is_refused, set_up, tear_down) {
    static const char text[] = "the layer is stateful for batches of 2 rows; the batch has";
    const gantry_recurrent_options_t o = {.stateful = true};
    double loss;
    chosen_unroll = GANTRY_DEFAULT;
    gantry_dataset_t *twos = make_batches(2), *threes = make_batches(3), *fours = make_batches(4);
    gantry_model_t *model = make_stateful_model(gantry_lstm(UNITS, &o), 2);
    expect_message(gantry_model_evaluate(model, threes, &loss, 1), GANTRY_INVALID_ARGUMENT, text);
    gantry_model_release(model);
    model = make_stateful_model(gantry_gru(UNITS, &o), 0); /* takes that of its first batch */
    must(gantry_model_fit(model, twos, NULL));
    expect_message(gantry_model_fit(model, fours, NULL), GANTRY_INVALID_ARGUMENT, text);
    gantry_model_release(model);
    gantry_dataset_release(twos);
    gantry_dataset_release(threes);
    gantry_dataset_release(fours);
}

static gantry_status_t build_stateful(const gantry_model_options_t *options, bool is_functional) {
    const gantry_recurrent_options_t o = {.stateful = true};
    gantry_status_t status;
    if (is_functional) {
        gantry_model_t *model = gantry_functional(fixture.runtime, options);
        const int32_t x = gantry_model_input(model, GANTRY_FLOAT32, GANTRY_SHAPE(STEPS, FEATURES));
        (void)gantry_model_apply(model, gantry_lstm(UNITS, &o), &x, 1);
        status = gantry_model_build(model, GANTRY_DTYPE_NONE, GANTRY_SCALAR);
        gantry_model_release(model);
        return status;
    }
    gantry_model_t *model = gantry_sequential(fixture.runtime, options);
    (void)gantry_model_add(model, gantry_lstm(UNITS, &o));
    status = gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(STEPS, FEATURES));
    gantry_model_release(model);
    return status;
}

TEST_WITH(states_need_one_batch_size_and_one_device, set_up, tear_down) {
    static const char *const devices[] = {"CPU:0", "CPU:1"};
    chosen_unroll = GANTRY_DEFAULT;
    assert_int_equal(gantry_set_logical_cpu_devices(fixture.runtime, 2), GANTRY_OK);
    expect_message(build_stateful(NULL, true), GANTRY_INVALID_ARGUMENT,
                   "layer lstm is stateful, and model functional takes batches of any size");
    expect_message(build_stateful(NULL, false), GANTRY_INVALID_ARGUMENT,
                   "a batch_size in gantry_model_options_t is accepted");
    must(build_stateful(&(gantry_model_options_t){.batch_size = 3}, true));
    gantry_strategy_t *strategy = gantry_mirrored_strategy(fixture.runtime, devices, 2);
    const gantry_model_options_t mirrored = {.strategy = strategy, .batch_size = 2};
    expect_message(build_stateful(&mirrored, true), GANTRY_UNIMPLEMENTED,
                   "has a strategy of several devices; one device is accepted");
    gantry_strategy_release(strategy);
    assert_null(gantry_sequential(fixture.runtime, &(gantry_model_options_t){.batch_size = -1}));
    assert_non_null(strstr(gantry_last_message(), "the model's batch_size is -1"));
    chosen_unroll = (gantry_choice_t)7;
    assert_null(gantry_lstm(UNITS, NULL));
    assert_non_null(strstr(gantry_last_message(), "layer LSTM: unroll is 7; GANTRY_DEFAULT"));
}

/* ---- memory ---- */

static gantry_status_t train_looped(gantry_scope_t *scope) {
    gantry_runtime_t *runtime = gantry_scope_runtime(scope);
    const gantry_recurrent_options_t o = {.stateful = true};
    chosen_unroll = GANTRY_OFF;
    gantry_model_t *model = gantry_sequential(runtime, &(gantry_model_options_t){.batch_size = 2});
    (void)gantry_model_add(model, gantry_lstm(1, &o));
    gantry_status_t status = model ? gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(2, 1))
                                   : GANTRY_RESOURCE_EXHAUSTED;
    if (status == GANTRY_OK) {
        const gantry_tensor_t *x = gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2, 1));
        const gantry_source_t source = {.variable = gantry_model_variable(model, 0, NULL)};
        const gantry_tensor_t *gradient;
        gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
        const gantry_tensor_t *y = x ? gantry_model_call(model, scope, &x, 1, true) : NULL;
        if (y) (void)gantry_tape_gradient(tape, y, NULL, &source, 1, NULL, &gradient);
        gantry_tape_end(tape);
        status = gantry_scope_status(scope);
    }
    gantry_model_release(model);
    return status;
}

TEST_WITH(failed_allocations_are_errors, runtime_fixture_set_up, NULL) {
    runtime_fixture_starve_each(0, NULL, train_looped);
}

int main(void) { return test_main(); }
