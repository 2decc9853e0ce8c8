/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Recurrent layers run as loops with Keras's numbers and the bits of the unrolled form,
 * also in gradients of second order and over lengths that depend on data. */
#define _XOPEN_SOURCE 700

#include "test.h"
#include "train_recurrent_case.h"

#include "train_fixture.h"

/* ---- loops ---- */

TEST(short_loops_are_those_of_keras) {
    size_t count = 0;
    chosen_unroll = GANTRY_OFF;
    for (size_t i = 0; i < TRAIN_LAYER_CASES; ++i) {
        const char *name = train_layer_cases[i].name;
        if (!strstr(name, "RNN") && !strstr(name, "LSTM") && !strstr(name, "GRU")) continue;
        train_layer_check_one(fixture.runtime, NULL, i, GANTRY_FLOAT64,
                              ++count % 4 ? train_layer_captured : train_layer_eager);
    }
    assert_in_range(count, 60, 400);
}

TEST(longer_sequences_are_those_of_keras) {
    for (size_t i = 0; i < 2 * LONG_CASES; ++i) {
        const recurrent_case_t of = recurrent_case_read("long", i / 2);
        const gantry_tensor_t *x, *outputs[1 + TRAIN_LAYER_SOURCES];
        const train_layer_case_t c = {.name = "long",
                                      .seed = 500 + (uint32_t)(i / 2),
                                      .dtype = GANTRY_FLOAT64,
                                      .input_count = 1,
                                      .number_count = of.count,
                                      .shapes = {GANTRY_SHAPE(BATCH, LONG, FEATURES)},
                                      .numbers = of.numbers};
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

TEST(loops_are_the_unrolled_form) {
    static double looped[MOST], unrolled[MOST];
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

TEST(traces_do_not_grow_with_the_sequence) {
    const size_t looped = measure_trace(GANTRY_OFF, 160), unrolled = measure_trace(GANTRY_ON, 160);
    assert_in_range(unrolled, 3 * looped, SIZE_MAX);
    assert_in_range(measure_trace(GANTRY_DEFAULT, 4000), looped / 2, looped + looped / 8);
    assert_in_range(measure_trace(GANTRY_DEFAULT, 160), unrolled, unrolled);
}

/* ---- lengths that depend on data ---- */

enum { ROOM = 40, LENGTH = 23 };

typedef struct length_run_t {
    gantry_model_t *model;
    bool is_known;
} length_run_t;

/* The model over the steps for which inputs[1] is true: the loss, and its gradients. */
static void length_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    const length_run_t *run = user;
    gantry_source_t sources[SOURCES] = {{.tensor = inputs[0]}};
    const size_t variables = gantry_model_variable_count(run->model);
    for (size_t i = 0; i < variables; ++i)
        sources[1 + i].variable = gantry_model_variable(run->model, i, NULL);
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    (void)gantry_tape_watch(tape, inputs[0]);
    const gantry_tensor_t *x = run->is_known ? gantry_slice(scope, inputs[0], (int64_t[]){0, 0, 0},
                                                            (int64_t[]){BATCH, LENGTH, FEATURES})
                                             : gantry_boolean_mask(scope, inputs[0], inputs[1], 1),
                          *y = gantry_model_call(run->model, scope, &x, 1, true);
    outputs[0] = gantry_sum(scope, gantry_square(scope, y), NULL);
    (void)gantry_tape_gradient(tape, outputs[0], NULL, sources, 1 + variables, NULL, outputs + 1);
    gantry_tape_end(tape);
}

static size_t run_length(gantry_layer_t *layer, bool is_known, double *out) {
    static double x[BATCH * ROOM * FEATURES];
    const gantry_tensor_t *outputs[SOURCES], *inputs[2];
    const gantry_input_spec_t specs[] = {
        {NULL, GANTRY_FLOAT64, GANTRY_SHAPE(BATCH, ROOM, FEATURES)},
        {NULL, GANTRY_BOOL, GANTRY_SHAPE(ROOM)}};
    bool counts[ROOM];
    uint32_t state = 5;
    size_t at = 0;
    for (size_t i = 0; i < ROOM; ++i) counts[i] = i < LENGTH;
    (void)train_layer_fill(&state, GANTRY_FLOAT64, specs[0].shape, 1024, x);
    length_run_t run = {
        gantry_sequential(fixture.runtime,
                          &(gantry_model_options_t){.dtype = GANTRY_FLOAT64, .seed = 3}),
        is_known};
    (void)gantry_model_add(run.model, layer);
    must(gantry_model_build(run.model, GANTRY_FLOAT64, GANTRY_SHAPE(ROOM, FEATURES)));
    const size_t count = 2 + gantry_model_variable_count(run.model);
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    inputs[0] = gantry_constant(scope, GANTRY_FLOAT64, specs[0].shape, x, sizeof x);
    inputs[1] = gantry_constant(scope, GANTRY_BOOL, specs[1].shape, counts, sizeof counts);
    gantry_function_t *function =
        function_fixture_trace(fixture.runtime, length_body, &run, specs, 2, count, NULL);
    function_fixture_call(scope, function, inputs, 2, outputs, count);
    for (size_t i = 0; i < count; ++i) {
        must(gantry_tensor_read(outputs[i], out + at, gantry_tensor_bytes(outputs[i])));
        at += (size_t)gantry_tensor_elements(outputs[i]);
    }
    gantry_function_release(function);
    gantry_model_release(run.model);
    expect_ended_well(scope);
    return at;
}

TEST(lengths_that_depend_on_data_are_loops) {
    static double open[MOST], known[MOST];
    for (size_t i = 0; i < LONG_CASES; ++i) {
        chosen_unroll = GANTRY_DEFAULT;
        const size_t count = run_length(make_long(i), false, open);
        assert_int_equal(run_length(make_long(i), true, known), count);
        for (size_t k = 0; k < count; ++k) {
            if (!(fabs(open[k] - known[k]) <= 1e-11 * (1 + fabs(known[k]))))
                fail_msg("case %zu: number %zu is %.15g, of a known length %.15g", i, k, open[k],
                         known[k]);
        }
    }
}

int main(void) { return test_main_each(set_up, tear_down); }
