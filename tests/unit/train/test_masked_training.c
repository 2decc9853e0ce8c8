/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Masks of padded sequences reach losses, metrics and gradients as in Keras; a program's
 * own layer sees masks, makes them and has several outputs. */
#define _XOPEN_SOURCE 700

#include <string.h>

#include "test.h"
#include "train_fixture.h"
#include "train_layer_case.h"

enum { ROWS = 8, STEPS = 5, BATCH = 4, MOST_NUMBERS = 128 };

typedef struct masked_case_t {
    gantry_loss_t loss;
    gantry_activation_t activation;
    int64_t outputs;
    gantry_reduction_t reduction;
    bool is_weighted;
    size_t count;
    double numbers[MOST_NUMBERS]; /* of evaluate, then all weights after an epoch */
} masked_case_t;

static const masked_case_t masked_cases[] = {
#include "train_masked_cases.inc"
};

enum { CASES = sizeof masked_cases / sizeof masked_cases[0] };

static void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

/* ---- a case ---- */

/* Data, by the generator of make_layer_cases.py. */
static int64_t words[ROWS * STEPS];
static double labels[ROWS * STEPS], weights[ROWS * STEPS];

static uint32_t make_data(const masked_case_t *c, size_t index) {
    uint32_t state = 100 + (uint32_t)index;
    const gantry_shape_t shape = GANTRY_SHAPE(ROWS, STEPS);
    (void)train_layer_fill(&state, GANTRY_INT64, shape, 1, words);
    if (c->loss == GANTRY_MEAN_SQUARED_ERROR)
        (void)train_layer_fill(&state, GANTRY_FLOAT64, shape, 1024, labels);
    else
        for (size_t i = 0; i < ROWS * STEPS; ++i)
            labels[i] = train_layer_draw(&state, c->outputs > 1 ? (uint32_t)c->outputs : 2);
    if (!c->is_weighted) return state;
    (void)train_layer_fill(&state, GANTRY_FLOAT64, shape, 1024, weights);
    for (size_t i = 0; i < ROWS * STEPS; ++i) weights[i] = fabs(weights[i]);
    return state;
}

static gantry_dataset_t *make_batches(const masked_case_t *c, int64_t rows) {
    const gantry_array_t arrays[] = {{GANTRY_INT64, GANTRY_SHAPE(ROWS, STEPS), words},
                                     {GANTRY_FLOAT64, GANTRY_SHAPE(ROWS, STEPS, 1), labels},
                                     {GANTRY_FLOAT64, GANTRY_SHAPE(ROWS, STEPS), weights}};
    return gantry_dataset_batch(gantry_dataset_from_arrays(arrays, c->is_weighted ? 3 : 2, false),
                                rows, false);
}

static size_t make_metrics(const masked_case_t *c, gantry_metric_t **out) {
    const gantry_metric_options_t wide = {.dtype = GANTRY_FLOAT64};
    if (c->loss == GANTRY_MEAN_SQUARED_ERROR) {
        out[0] = gantry_loss_metric(GANTRY_MEAN_ABSOLUTE_ERROR, NULL, &wide);
        return 1;
    }
    out[0] = c->outputs > 1 ? gantry_sparse_categorical_accuracy(&wide)
                            : gantry_binary_accuracy(0.5, &wide);
    out[1] = c->outputs > 1 ? gantry_loss_metric(c->loss, NULL, &wide) : gantry_auc(0, &wide);
    return 2;
}

static gantry_model_t *make_model(const masked_case_t *c, const gantry_strategy_t *strategy,
                                  size_t *out_values) {
    gantry_metric_t *metrics[2];
    const size_t count = make_metrics(c, metrics);
    const gantry_recurrent_options_t all = {.return_sequences = true};
    const gantry_model_options_t options = {.dtype = GANTRY_FLOAT64, .strategy = strategy};
    gantry_model_t *model = gantry_sequential(fixture.runtime, &options);
    (void)gantry_model_add(model, gantry_masked_embedding(TRAIN_LAYER_TABLE, 3, NULL, NULL));
    (void)gantry_model_add(model, gantry_lstm(2, &all));
    (void)gantry_model_add(model, gantry_dense(c->outputs, c->activation, NULL));
    must(gantry_model_build(model, GANTRY_INT64, GANTRY_SHAPE(STEPS)));
    must(gantry_model_compile(
        model, &(gantry_compile_options_t){
                   .optimizer = gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 0.5}),
                   .loss = c->loss,
                   .loss_options = &(gantry_loss_options_t){.reduction = c->reduction},
                   .weighted_metrics = metrics,
                   .weighted_metric_count = count}));
    *out_values = 1 + count;
    return model;
}

static void set_weights(gantry_model_t *model, uint32_t *state) {
    static double bytes[MOST_NUMBERS];
    for (size_t i = 0; i < gantry_model_variable_count(model); ++i) {
        const gantry_variable_t *variable = gantry_model_variable(model, i, NULL);
        const size_t count =
            train_layer_fill(state, GANTRY_FLOAT64, *gantry_variable_shape(variable), 4096, bytes);
        must(gantry_model_set_variable(model, i, bytes, count));
    }
}

static void expect_numbers(const masked_case_t *c, const double *got, size_t from, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const double wanted = c->numbers[from + i];
        if (!(fabs(got[i] - wanted) <= 1e-10 * (1 + fabs(wanted))))
            fail_msg("case %zu: number %zu is %.15g; Keras has %.15g", (size_t)(c - masked_cases),
                     from + i, got[i], wanted);
    }
}

static void expect_weights(const masked_case_t *c, gantry_model_t *model, size_t at) {
    double values[MOST_NUMBERS];
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    for (size_t i = 0; i < gantry_model_variable_count(model); ++i) {
        const gantry_tensor_t *value =
            gantry_variable_read(scope, gantry_model_variable(model, i, NULL));
        must(gantry_tensor_read(value, values, gantry_tensor_bytes(value)));
        expect_numbers(c, values, at, (size_t)gantry_tensor_elements(value));
        at += (size_t)gantry_tensor_elements(value);
    }
    assert_int_equal(at, c->count);
    expect_ended_well(scope);
}

static void follow(size_t index, const gantry_strategy_t *strategy) {
    const masked_case_t *c = &masked_cases[index];
    double values[3];
    size_t count;
    uint32_t state = make_data(c, index);
    gantry_dataset_t *batches = make_batches(c, BATCH);
    gantry_model_t *model = make_model(c, strategy, &count);
    set_weights(model, &state);
    must(gantry_model_evaluate(model, batches, values, count));
    expect_numbers(c, values, 0, count);
    must(gantry_model_fit(model, batches, NULL));
    expect_weights(c, model, count);
    gantry_model_release(model);
    gantry_dataset_release(batches);
}

/* ---- tests ---- */

TEST(losses_metrics_and_weights_are_those_of_keras) {
    for (size_t i = 0; i < CASES; ++i) follow(i, NULL);
}

/* A sum has no number of places, so that two devices have the loss of one. */
TEST(sums_on_two_devices_are_those_of_one) {
    static const char *const devices[] = {"CPU:0", "CPU:1"};
    assert_int_equal(gantry_set_logical_cpu_devices(fixture.runtime, 2), GANTRY_OK);
    gantry_strategy_t *strategy = gantry_mirrored_strategy(fixture.runtime, devices, 2);
    if (!strategy) fail_msg("%s", gantry_last_message());
    for (size_t i = 0; i < CASES; ++i) {
        if (masked_cases[i].reduction == GANTRY_REDUCTION_SUM) follow(i, strategy);
    }
    gantry_strategy_release(strategy);
}

static double loss_of(size_t index, const gantry_strategy_t *strategy, int64_t rows) {
    const masked_case_t *c = &masked_cases[index];
    double values[3];
    size_t count;
    uint32_t state = make_data(c, index);
    gantry_dataset_t *batches = make_batches(c, rows);
    gantry_model_t *model = make_model(c, strategy, &count);
    set_weights(model, &state);
    must(gantry_model_evaluate(model, batches, values, count));
    gantry_model_release(model);
    gantry_dataset_release(batches);
    return values[0];
}

/* As in Keras, each part of a batch has the mean over its own steps: two devices have the loss of
 * batches of half the size. */
TEST(each_part_has_its_own_mean) {
    static const char *const devices[] = {"CPU:0", "CPU:1"};
    assert_int_equal(gantry_set_logical_cpu_devices(fixture.runtime, 2), GANTRY_OK);
    gantry_strategy_t *strategy = gantry_mirrored_strategy(fixture.runtime, devices, 2);
    for (size_t i = 0; i < CASES; ++i) {
        if (masked_cases[i].reduction == GANTRY_REDUCTION_SUM) continue;
        const double together = loss_of(i, strategy, BATCH), apart = loss_of(i, NULL, BATCH / 2);
        if (!(fabs(together - apart) <= 1e-12))
            fail_msg("case %zu: %.15g, and in halves %.15g", i, together, apart);
    }
    gantry_strategy_release(strategy);
}

TEST(weights_that_do_not_fit_a_mask_are_refused) {
    const masked_case_t *c = &masked_cases[1];
    size_t count;
    double values[3];
    (void)make_data(c, 1);
    const gantry_array_t arrays[] = {{GANTRY_INT64, GANTRY_SHAPE(ROWS, STEPS), words},
                                     {GANTRY_FLOAT64, GANTRY_SHAPE(ROWS, STEPS, 1), labels},
                                     {GANTRY_FLOAT64, GANTRY_SHAPE(ROWS, 3), weights}};
    gantry_dataset_t *batches =
        gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 3, false), BATCH, false);
    gantry_model_t *model = make_model(c, NULL, &count);
    assert_int_equal(gantry_model_evaluate(model, batches, values, count), GANTRY_INVALID_ARGUMENT);
    if (!strstr(gantry_last_message(), "sample weights of shape"))
        fail_msg("%s", gantry_last_message());
    gantry_model_release(model);
    gantry_dataset_release(batches);
}

/* ---- a program's own layer ---- */

/* Outputs x and its number of steps that count; the mask is turned round. */
static const gantry_tensor_t *turn_call(const gantry_layer_call_t *call, void *user) {
    const int32_t axis = 1;
    const gantry_reduce_options_t over = {.axes = &axis, .axis_count = 1};
    gantry_scope_t *s = call->scope;
    (void)user;
    if (!call->masks[0] || *call->mask != call->masks[0]) return NULL;
    call->more_outputs[0] = gantry_sum(s, gantry_cast(s, call->masks[0], GANTRY_FLOAT32), &over);
    *call->mask = gantry_logical_not(s, call->masks[0]);
    return gantry_identity(s, call->inputs[0]);
}

static gantry_layer_t *make_turn(void) {
    const gantry_layer_kind_t kind = {.struct_size = sizeof kind,
                                      .name = "Turn",
                                      .call = turn_call,
                                      .passes_masks = true,
                                      .output_count = 2};
    return gantry_layer_create(&kind, NULL, NULL);
}

/* Steps of 0, 2 and 4, of which the first is padding: the mean of the turned mask's is 0. */
TEST(own_layers_have_masks_and_several_outputs) {
    for (size_t part = 0; part < 2; ++part) {
        float y = -1;
        gantry_model_t *model = gantry_functional(fixture.runtime, NULL);
        int32_t v = gantry_model_input(model, GANTRY_FLOAT32, GANTRY_SHAPE(3, 1));
        v = gantry_model_apply(model, gantry_masking_layer(0, NULL), &v, 1);
        v = gantry_model_apply(model, make_turn(), &v, 1);
        const int32_t sum = v + 1,
                      mean = gantry_model_apply(model, gantry_global_avg_pool(NULL), &v, 1);
        must(gantry_model_set_output(model, part == 0 ? mean : sum));
        must(gantry_model_build(model, GANTRY_DTYPE_NONE, GANTRY_SCALAR));
        gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
        const gantry_tensor_t *x =
            gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1, 3, 1), (float[]){0, 2, 4}, 12);
        must(gantry_tensor_read(gantry_model_call(model, scope, &x, 1, false), &y, sizeof y));
        assert_true(y == (part == 0 ? 0 : 2));
        gantry_model_release(model);
        expect_ended_well(scope);
    }
}

/* The default output is the first one of the last layer. */
TEST(several_outputs_belong_to_functional_models) {
    const gantry_recurrent_options_t o = {.return_sequences = true, .return_state = true};
    gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
    (void)gantry_model_add(model, gantry_lstm(2, &o));
    assert_int_equal(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(3, 1)),
                     GANTRY_INVALID_ARGUMENT);
    if (!strstr(gantry_last_message(), "layer lstm has 3 outputs; a sequential model accepts 1"))
        fail_msg("%s", gantry_last_message());
    gantry_model_release(model);
    model = gantry_functional(fixture.runtime, NULL);
    const int32_t x = gantry_model_input(model, GANTRY_FLOAT32, GANTRY_SHAPE(3, 1));
    assert_int_equal(gantry_model_apply(model, gantry_lstm(2, &o), &x, 1), 1);
    must(gantry_model_build(model, GANTRY_DTYPE_NONE, GANTRY_SCALAR));
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    const gantry_tensor_t *zeros = gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(4, 3, 1));
    const gantry_tensor_t *y = gantry_model_call(model, scope, &zeros, 1, false);
    const gantry_shape_t wanted = GANTRY_SHAPE(4, 3, 2);
    assert_true(gantry_shape_equal(gantry_tensor_shape(y), &wanted));
    gantry_model_release(model);
    expect_ended_well(scope);
}

int main(void) { return test_main_each(set_up, tear_down); }
