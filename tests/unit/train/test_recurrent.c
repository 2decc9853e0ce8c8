/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers run as loops with Keras's numbers and the unrolled form's bits, and keep their
 * states from batch to batch as Keras's stateful layers. */
#define _XOPEN_SOURCE 700

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <gantry_train/train.h>

/* The golden cases' layers get this option. */
static gantry_choice_t chosen_unroll;

static const gantry_recurrent_options_t *with_unroll(const gantry_recurrent_options_t *given) {
    static gantry_recurrent_options_t options;
    options = given ? *given : (gantry_recurrent_options_t){.name = NULL};
    options.unroll = chosen_unroll;
    return &options;
}

#define gantry_simple_rnn(units, ...) gantry_simple_rnn(units, with_unroll(__VA_ARGS__))
#define gantry_lstm(units, ...) gantry_lstm(units, with_unroll(__VA_ARGS__))
#define gantry_gru(units, ...) gantry_gru(units, with_unroll(__VA_ARGS__))

#include "train_layer_case.h"
#include "train_fixture.h"

enum { MOST = 1024, SOURCES = 16, BATCH = 2, STEPS = 4, FEATURES = 3, UNITS = 2, LONG = 50 };

static void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

static void expect_message(gantry_status_t got, gantry_status_t wanted, const char *text) {
    if (got != wanted || !strstr(gantry_last_message(), text))
        fail_msg("status %d: %s", (int)got, gantry_last_message());
}

/* ---- loops ---- */

static void short_loops_are_those_of_keras(void **state) {
    size_t count = 0;
    (void)state;
    chosen_unroll = GANTRY_OFF;
    for (size_t i = 0; i < TRAIN_LAYER_CASES; ++i) {
        const char *name = train_layer_cases[i].name;
        if (!strstr(name, "RNN") && !strstr(name, "LSTM") && !strstr(name, "GRU")) continue;
        train_layer_check_one(fixture.runtime, NULL, i, GANTRY_FLOAT64,
                              ++count % 4 ? train_layer_captured : train_layer_eager);
    }
    assert_in_range(count, 60, 400);
}

typedef struct recurrent_case_t {
    bool is_masked;
    size_t count;
    const double *numbers;
} recurrent_case_t;

#define NUMBERS(...) \
    sizeof((const double[]){__VA_ARGS__}) / sizeof(double), (const double[]) { __VA_ARGS__ }
#define STATEFUL(index, ...)
#define LONG(index, layer, ...) {false, NUMBERS(__VA_ARGS__)},
static const recurrent_case_t long_cases[] = {
#include "train_recurrent_cases.inc"
};
#undef LONG
#undef STATEFUL
#define LONG(index, ...)
#define STATEFUL(index, masked, layer, ...) {masked, NUMBERS(__VA_ARGS__)},
static const recurrent_case_t stateful_cases[] = {
#include "train_recurrent_cases.inc"
};
#undef LONG
#undef STATEFUL

enum {
    LONG_CASES = sizeof long_cases / sizeof long_cases[0],
    STATEFUL_CASES = sizeof stateful_cases / sizeof stateful_cases[0]
};

static gantry_layer_t *make_long(size_t at) {
#define LONG(index, layer, ...) \
    if (at == (index)) return layer;
#define STATEFUL(index, masked, layer, ...)
#include "train_recurrent_cases.inc"
#undef LONG
#undef STATEFUL
    return NULL;
}

static gantry_layer_t *make_stateful(size_t at) {
#define LONG(index, layer, ...)
#define STATEFUL(index, masked, layer, ...) \
    if (at == (index)) return layer;
#include "train_recurrent_cases.inc"
#undef LONG
#undef STATEFUL
    return NULL;
}

static void longer_sequences_are_those_of_keras(void **state) {
    (void)state;
    assert_int_equal(LONG_CASES, 7);
    for (size_t i = 0; i < 2 * LONG_CASES; ++i) {
        const recurrent_case_t *of = &long_cases[i / 2];
        const gantry_tensor_t *x, *outputs[1 + TRAIN_LAYER_SOURCES];
        const train_layer_case_t c = {.name = "long",
                                      .seed = 500 + (uint32_t)(i / 2),
                                      .dtype = GANTRY_FLOAT64,
                                      .input_count = 1,
                                      .number_count = of->count,
                                      .shapes = {GANTRY_SHAPE(BATCH, LONG, FEATURES)},
                                      .numbers = of->numbers};
        train_layer_run_t run = {
            .c = &c, .dtype = i % 2 ? GANTRY_FLOAT32 : GANTRY_FLOAT64, .state = c.seed};
        gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
        x = train_layer_tensor(scope, &run.state, run.dtype, c.shapes[0], 1024);
        run.model =
            gantry_sequential(fixture.runtime, &(gantry_model_options_t){.dtype = run.dtype});
        chosen_unroll = GANTRY_OFF;
        (void)gantry_model_add(run.model, make_long(i / 2));
        must(gantry_model_build(run.model, run.dtype, GANTRY_SHAPE(LONG, FEATURES)));
        train_layer_set_weights(&run);
        train_layer_captured(scope, &run, &x, outputs);
        gantry_model_release(run.model);
        expect_ended_well(scope);
    }
}

/* ---- a loop and the unrolled form ---- */

/* A layer over [batch, 37, 3]; of all outputs, a second one over them. */
typedef struct form_t {
    gantry_layer_t *(*make)(int64_t units, const gantry_recurrent_options_t *options);
    gantry_recurrent_options_t options;
    bool is_masked, has_states, is_bidirectional, is_second_order;
} form_t;

static gantry_layer_t *make_rnn(int64_t units, const gantry_recurrent_options_t *options) {
    return gantry_simple_rnn(units, options);
}
static gantry_layer_t *make_lstm(int64_t units, const gantry_recurrent_options_t *options) {
    return gantry_lstm(units, options);
}
static gantry_layer_t *make_gru(int64_t units, const gantry_recurrent_options_t *options) {
    return gantry_gru(units, options);
}

static gantry_layer_t *make_form(const form_t *f) {
    gantry_layer_t *layer = f->make(UNITS, &f->options);
    return f->is_bidirectional ? gantry_bidirectional(layer, GANTRY_MERGE_SUM, NULL) : layer;
}

enum { FORM_STEPS = 37 };

typedef struct form_run_t {
    const form_t *form;
    gantry_model_t *model;
    size_t output_count;
} form_run_t;

static gantry_model_t *make_form_model(const form_t *f) {
    gantry_model_t *m = gantry_functional(
        fixture.runtime, &(gantry_model_options_t){.dtype = GANTRY_FLOAT64, .seed = 3});
    int32_t v[3] = {gantry_model_input(m, GANTRY_FLOAT64, GANTRY_SHAPE(FORM_STEPS, FEATURES))};
    const bool is_lstm = f->make == make_lstm;
    for (size_t i = 0; f->has_states && i < 1 + (size_t)is_lstm; ++i)
        v[1 + i] = gantry_model_input(m, GANTRY_FLOAT64, GANTRY_SHAPE(UNITS));
    if (f->is_masked) v[0] = gantry_model_apply(m, gantry_masking_layer(0, NULL), v, 1);
    int32_t y = gantry_model_apply(m, make_form(f), v, f->has_states ? 2 + is_lstm : 1);
    if (f->options.return_state) {
        int32_t all[] = {y, y + 1, y + 2};
        y = gantry_model_apply(m, gantry_concatenate_layer(-1, NULL), all, 2 + is_lstm);
    } else if (f->options.return_sequences) {
        y = gantry_model_apply(m, make_form(f), &y, 1);
    }
    must(gantry_model_set_output(m, y));
    must(gantry_model_build(m, GANTRY_DTYPE_NONE, GANTRY_SCALAR));
    return m;
}

static size_t list_sources(const form_run_t *run, const gantry_tensor_t *const *inputs,
                           size_t input_count, gantry_source_t *sources) {
    size_t count = 0;
    for (size_t i = 0; i < input_count; ++i)
        sources[count++] = (gantry_source_t){.tensor = inputs[i]};
    for (size_t i = 0; i < gantry_model_variable_count(run->model); ++i)
        sources[count++] =
            (gantry_source_t){.variable = gantry_model_variable(run->model, i, NULL)};
    return count;
}

static size_t count_inputs(const form_t *f) {
    return f->has_states ? f->make == make_lstm ? 3 : 2 : 1;
}

/* The output and the gradients of the sum of its squares; of second order: those of the sum of the
 * squares of the gradient of x. */
static void form_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    form_run_t *run = user;
    gantry_source_t sources[SOURCES];
    const size_t input_count = count_inputs(run->form),
                 count = list_sources(run, inputs, input_count, sources);
    gantry_tape_t *outer = gantry_tape_begin(scope, NULL);
    for (size_t i = 0; i < input_count; ++i) (void)gantry_tape_watch(outer, inputs[i]);
    gantry_tape_t *tape = run->form->is_second_order ? gantry_tape_begin(scope, NULL) : NULL;
    if (tape) (void)gantry_tape_watch(tape, inputs[0]);
    train_dropout_begin(77);
    const gantry_tensor_t *y =
        gantry_model_call(run->model, scope, inputs, input_count, run->form->options.dropout > 0);
    train_dropout_end();
    outputs[0] = y;
    const gantry_tensor_t *sum = gantry_sum(scope, gantry_square(scope, y), NULL);
    if (tape) {
        const gantry_tensor_t *gradient = NULL;
        (void)gantry_tape_gradient(tape, sum, NULL, sources, 1, NULL, &gradient);
        gantry_tape_end(tape);
        sum = gantry_sum(scope, gantry_square(scope, gradient), NULL);
    }
    (void)gantry_tape_gradient(outer, sum, NULL, sources, count,
                               &(gantry_gradient_options_t){.zeros_where_unconnected = true},
                               outputs + 1);
    gantry_tape_end(outer);
    run->output_count = 1 + count;
}

static void make_form_inputs(gantry_scope_t *scope, const form_t *f,
                             const gantry_tensor_t **inputs) {
    static double x[BATCH * FORM_STEPS * FEATURES], first[BATCH * UNITS];
    uint32_t state = 11;
    const gantry_shape_t shape = GANTRY_SHAPE(BATCH, FORM_STEPS, FEATURES),
                         of_state = GANTRY_SHAPE(BATCH, UNITS);
    (void)train_layer_fill(&state, GANTRY_FLOAT64, shape, 1024, x);
    for (size_t i = 0; i < BATCH * FORM_STEPS; ++i) {
        if (i % 3 == 1) memset(x + i * FEATURES, 0, FEATURES * sizeof *x);
    }
    inputs[0] = gantry_constant(scope, GANTRY_FLOAT64, shape, x, sizeof x);
    for (size_t i = 1; i < count_inputs(f); ++i) {
        (void)train_layer_fill(&state, GANTRY_FLOAT64, of_state, 1024, first);
        inputs[i] = gantry_constant(scope, GANTRY_FLOAT64, of_state, first, sizeof first);
    }
}

/* Returns the output's count of numbers; all of them are in out. */
static size_t run_form(const form_t *f, gantry_choice_t unroll, double *out, size_t *out_count) {
    const gantry_tensor_t *inputs[3], *outputs[1 + SOURCES];
    gantry_input_spec_t specs[3];
    chosen_unroll = unroll;
    form_run_t run = {.form = f, .model = make_form_model(f)};
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    make_form_inputs(scope, f, inputs);
    const size_t input_count = count_inputs(f),
                 count = 1 + input_count + gantry_model_variable_count(run.model);
    for (size_t i = 0; i < input_count; ++i)
        specs[i] = (gantry_input_spec_t){NULL, GANTRY_FLOAT64, *gantry_tensor_shape(inputs[i])};
    gantry_function_t *function =
        function_fixture_trace(fixture.runtime, form_body, &run, specs, input_count, count, NULL);
    function_fixture_call(scope, function, inputs, input_count, outputs, count);
    size_t at = 0;
    for (size_t i = 0; i < count; ++i) {
        assert_in_range(at + (size_t)gantry_tensor_elements(outputs[i]), 0, MOST);
        must(gantry_tensor_read(outputs[i], out + at, gantry_tensor_bytes(outputs[i])));
        at += (size_t)gantry_tensor_elements(outputs[i]);
    }
    *out_count = at;
    const size_t first = (size_t)gantry_tensor_elements(outputs[0]);
    gantry_function_release(function);
    gantry_model_release(run.model);
    expect_ended_well(scope);
    return first;
}

#define OPTIONS(...) .options = {__VA_ARGS__}
static const form_t forms[] = {
    {make_rnn, OPTIONS(.return_sequences = true)},
    {make_rnn, OPTIONS(.go_backwards = true), .is_masked = true},
    {make_rnn, OPTIONS(.dropout = 0.25, .recurrent_dropout = 0.25, .return_sequences = true)},
    {make_lstm, OPTIONS(.return_sequences = true), .is_masked = true},
    {make_lstm, OPTIONS(.return_sequences = true, .go_backwards = true)},
    {make_lstm, OPTIONS(.return_state = true), .has_states = true},
    {make_lstm, OPTIONS(.dropout = 0.25, .recurrent_dropout = 0.25), .is_masked = true},
    {make_lstm, OPTIONS(.return_sequences = true), .is_masked = true, .is_bidirectional = true},
    {make_gru, OPTIONS(.return_sequences = true), .is_masked = true},
    {make_gru, OPTIONS(.return_state = true, .go_backwards = true), .has_states = true},
    {make_gru, OPTIONS(.reset_before = true, .return_sequences = true, .go_backwards = true)},
    {make_gru, OPTIONS(.reset_before = true, .dropout = 0.25, .recurrent_dropout = 0.25)},
    {make_gru, OPTIONS(.no_bias = true, .dropout = 0.25, .return_sequences = true)},
    {make_rnn, OPTIONS(.return_sequences = true), .is_second_order = true},
    {make_lstm, OPTIONS(.go_backwards = true), .is_masked = true, .is_second_order = true},
    {make_gru, OPTIONS(.return_state = true), .is_second_order = true, .has_states = true},
};

static void loops_are_the_unrolled_form(void **state) {
    static double looped[MOST], unrolled[MOST];
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; ++i) {
        size_t count, same;
        const size_t first = run_form(&forms[i], GANTRY_OFF, looped, &count);
        assert_int_equal(run_form(&forms[i], GANTRY_ON, unrolled, &same), first);
        assert_int_equal(same, count);
        for (size_t k = 0; k < count; ++k) {
            const double bound = k < first ? 0 : 1e-11 * (1 + fabs(unrolled[k]));
            if (!(fabs(looped[k] - unrolled[k]) <= bound))
                fail_msg("form %zu: number %zu of %zu is %.17g, unrolled %.17g", i, k, first,
                         looped[k], unrolled[k]);
        }
    }
}

/* The length of the text that explains a step over a sequence. */
static size_t measure_trace(gantry_choice_t unroll, int64_t steps) {
    size_t needed;
    chosen_unroll = unroll;
    gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
    (void)gantry_model_add(model, gantry_lstm(UNITS, NULL));
    must(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(steps, FEATURES)));
    const train_layer_case_t c = {.dtype = GANTRY_FLOAT32, .input_count = 1};
    train_layer_run_t run = {.c = &c, .model = model, .dtype = GANTRY_FLOAT32, .state = 1};
    const gantry_input_spec_t spec = {NULL, GANTRY_FLOAT32, GANTRY_SHAPE(1, steps, FEATURES)};
    gantry_function_t *function =
        function_fixture_trace(fixture.runtime, train_layer_body, &run, &spec, 1, 5, NULL);
    must(gantry_function_explain(function, GANTRY_EXPLAIN_TEXT, NULL, 0, &needed));
    gantry_function_release(function);
    gantry_model_release(model);
    return needed;
}

static void traces_do_not_grow_with_the_sequence(void **state) {
    (void)state;
    const size_t looped = measure_trace(GANTRY_OFF, 160), unrolled = measure_trace(GANTRY_ON, 160);
    assert_in_range(unrolled, 3 * looped, SIZE_MAX);
    assert_in_range(measure_trace(GANTRY_DEFAULT, 4000), looped / 2, looped + looped / 8);
    assert_in_range(measure_trace(GANTRY_DEFAULT, 160), unrolled, unrolled);
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
    const recurrent_case_t *c = &stateful_cases[index];
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
    const recurrent_case_t *c = &stateful_cases[index];
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

static void kept_states_are_those_of_keras(void **state) {
    (void)state;
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

static void loops_train_on_two_devices_as_on_one(void **state) {
    static const char *const devices[] = {"CPU:0", "CPU:1"};
    static double one[MOST], two[MOST];
    (void)state;
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
static void numbers_that_are_not_finite_name_their_op(void **state) {
    uint32_t data = 9;
    double kernel[FEATURES * 4 * UNITS], loss;
    (void)state;
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

static void another_batch_size_is_refused(void **state) {
    static const char text[] = "the layer is stateful for batches of 2 rows; the batch has";
    const gantry_recurrent_options_t o = {.stateful = true};
    double loss;
    (void)state;
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

static void states_need_one_batch_size_and_one_device(void **state) {
    static const char *const devices[] = {"CPU:0", "CPU:1"};
    (void)state;
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
    gantry_status_t status = gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(2, 1));
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

static void failed_allocations_are_errors(void **state) {
    (void)state;
    runtime_fixture_starve_each(0, NULL, train_looped);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(short_loops_are_those_of_keras, set_up, tear_down),
        cmocka_unit_test_setup_teardown(longer_sequences_are_those_of_keras, set_up, tear_down),
        cmocka_unit_test_setup_teardown(loops_are_the_unrolled_form, set_up, tear_down),
        cmocka_unit_test_setup_teardown(traces_do_not_grow_with_the_sequence, set_up, tear_down),
        cmocka_unit_test_setup_teardown(kept_states_are_those_of_keras, set_up, tear_down),
        cmocka_unit_test_setup_teardown(loops_train_on_two_devices_as_on_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_that_are_not_finite_name_their_op, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(another_batch_size_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(states_need_one_batch_size_and_one_device, set_up,
                                        tear_down),
        cmocka_unit_test_setup(failed_allocations_are_errors, runtime_fixture_set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
