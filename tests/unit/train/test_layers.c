/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Layers have Keras's outputs, gradients, moving statistics and first weights, at once and
 * in functions; dropout has its rate and its scale.
 * Promise: The first weights that the seed of a model gives are those of Keras after
 * keras.utils.set_random_seed. */
#define _XOPEN_SOURCE 700

#include <string.h>

#include "test.h"
#include "train_layer_case.h"
#include "train_fixture.h"

TEST(layers_are_those_of_keras) { train_layer_check(fixture.runtime, NULL, 1, train_layer_eager); }

TEST(layers_in_functions_are_those_of_keras) {
    train_layer_check(fixture.runtime, NULL, 1, train_layer_captured);
}

/* ---- dropout ---- */

enum { ROWS = 100, COLUMNS = 100 };

static gantry_model_t *make_model_of(gantry_layer_t *layer, gantry_shape_t sample) {
    gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
    (void)gantry_model_add(model, layer);
    if (gantry_model_build(model, GANTRY_FLOAT32, sample) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return model;
}

typedef struct dropping_t {
    gantry_model_t *model;
    size_t input_count;
} dropping_t;

/* The gradient of the sum with regard to the last input, after the output. */
static void drop(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                 const gantry_tensor_t **outputs, void *user) {
    const dropping_t *d = user;
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    const gantry_source_t source = {.tensor = inputs[d->input_count - 1]};
    (void)gantry_tape_watch(tape, source.tensor);
    outputs[0] = gantry_model_call(d->model, scope, inputs, d->input_count, true);
    (void)gantry_tape_gradient(tape, outputs[0], NULL, &source, 1, NULL, outputs + 1);
    gantry_tape_end(tape);
}

/* Elements are 0 at the rate, within 6 standard deviations, else scaled. */
static void expect_dropped(const gantry_tensor_t *const *outputs, float *y) {
    static float dy[ROWS * COLUMNS];
    size_t dropped = 0;
    assert_int_equal(gantry_tensor_read(outputs[0], y, sizeof dy), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(outputs[1], dy, sizeof dy), GANTRY_OK);
    for (size_t i = 0; i < ROWS * COLUMNS; ++i) {
        assert_true(y[i] == 0 || y[i] == 4);
        assert_true(dy[i] == y[i] / 3);
        dropped += y[i] == 0 ? 1 : 0;
    }
    assert_in_range(dropped, 2500 - 260, 2500 + 260);
}

/* The model's output is its last input, dropped: at once and in a function, each call anew. The
 * last input is 3, the one before it 0. */
static void expect_drops(gantry_model_t *model, const gantry_input_spec_t *specs, size_t count) {
    static float first[ROWS * COLUMNS], second[ROWS * COLUMNS];
    dropping_t dropping = {model, count};
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    const gantry_tensor_t *outputs[2], *inputs[2];
    for (size_t i = 0; i < count; ++i)
        inputs[i] =
            gantry_fill(scope, specs[i].shape, gantry_scalar_f32(scope, i + 1 == count ? 3 : 0));
    drop(scope, inputs, outputs, &dropping);
    expect_dropped(outputs, first);
    drop(scope, inputs, outputs, &dropping);
    expect_dropped(outputs, second);
    assert_memory_not_equal(first, second, sizeof first);
    gantry_function_t *function =
        function_fixture_trace(fixture.runtime, drop, &dropping, specs, count, 2, NULL);
    function_fixture_call(scope, function, inputs, count, outputs, 2);
    expect_dropped(outputs, first);
    function_fixture_call(scope, function, inputs, count, outputs, 2);
    expect_dropped(outputs, second);
    assert_memory_not_equal(first, second, sizeof first);
    gantry_function_release(function);
    gantry_model_release(model);
    expect_ended_well(scope);
}

TEST(dropout_has_its_rate_and_its_scale) {
    const gantry_input_spec_t spec = SPEC_F32(ROWS, COLUMNS);
    expect_drops(make_model_of(gantry_dropout_layer(0.25, NULL), GANTRY_SHAPE(COLUMNS)), &spec, 1);
}

/* A cell that adds its input and its state. */
static gantry_layer_t *make_adder(double dropout, double recurrent_dropout) {
    static const gantry_initializer_t identity = {.kind = GANTRY_INIT_IDENTITY, .gain = 1};
    static const gantry_activation_t linear = GANTRY_LINEAR;
    return gantry_simple_rnn(COLUMNS,
                             &(gantry_recurrent_options_t){.activation = &linear,
                                                           .kernel_initializer = &identity,
                                                           .recurrent_initializer = &identity,
                                                           .dropout = dropout,
                                                           .recurrent_dropout = recurrent_dropout});
}

TEST(recurrent_dropout_has_its_rate_and_its_scale) {
    const gantry_input_spec_t spec = SPEC_F32(ROWS, 1, COLUMNS),
                              both[] = {SPEC_F32(ROWS, 1, COLUMNS), SPEC_F32(ROWS, COLUMNS)};
    expect_drops(make_model_of(make_adder(0.25, 0), GANTRY_SHAPE(1, COLUMNS)), &spec, 1);
    gantry_model_t *model = gantry_functional(fixture.runtime, NULL);
    (void)gantry_model_input(model, GANTRY_FLOAT32, GANTRY_SHAPE(1, COLUMNS));
    (void)gantry_model_input(model, GANTRY_FLOAT32, GANTRY_SHAPE(COLUMNS));
    (void)gantry_model_apply(model, make_adder(0, 0.25), (int32_t[]){0, 1}, 2);
    if (gantry_model_build(model, GANTRY_DTYPE_NONE, GANTRY_SCALAR) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    expect_drops(model, both, 2);
}

TEST(attention_drops_in_training_alone) {
    float y[3][10];
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    gantry_model_t *model = make_model_of(
        gantry_multi_head_attention(2, 3, &(gantry_attention_options_t){.dropout = 0.5}),
        GANTRY_SHAPE(5, 2));
    uint32_t draws = 1;
    const gantry_tensor_t *x =
        train_layer_tensor(scope, &draws, GANTRY_FLOAT32, GANTRY_SHAPE(1, 5, 2), 1024);
    for (size_t i = 0; i < 3; ++i)
        assert_int_equal(
            gantry_tensor_read(gantry_model_call(model, scope, &x, 1, i == 2), y[i], sizeof y[i]),
            GANTRY_OK);
    assert_memory_equal(y[0], y[1], sizeof y[0]);
    assert_memory_not_equal(y[0], y[2], sizeof y[0]);
    gantry_model_release(model);
    expect_ended_well(scope);
}

/* ---- names ---- */

TEST(global_pools_have_the_class_of_their_rank) {
    const struct {
        gantry_layer_t *layer;
        gantry_shape_t sample;
        const char *class_name;
    } cases[] = {
        {gantry_global_max_pool("pool"), GANTRY_SHAPE(3, 2), "(GlobalMaxPooling1D)"},
        {gantry_global_max_pool("pool"), GANTRY_SHAPE(3, 3, 2), "(GlobalMaxPooling2D)"},
        {gantry_global_avg_pool("pool"), GANTRY_SHAPE(3, 2), "(GlobalAveragePooling1D)"},
        {gantry_global_avg_pool("pool"), GANTRY_SHAPE(3, 3, 2), "(GlobalAveragePooling2D)"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char text[4096];
        gantry_model_t *model = make_model_of(cases[i].layer, cases[i].sample);
        assert_int_equal(gantry_model_summary(model, text, sizeof text, NULL), GANTRY_OK);
        if (!strstr(text, cases[i].class_name)) fail_msg("%s", text);
        gantry_model_release(model);
    }
}

/* ---- first weights ---- */

/* The model of make_layer_cases.py. */
static gantry_model_t *make_seeded(const gantry_model_options_t *options) {
    static const gantry_initializer_t uniform = {.kind = GANTRY_INIT_RANDOM_UNIFORM},
                                      normal = {.kind = GANTRY_INIT_RANDOM_NORMAL},
                                      he = {.kind = GANTRY_INIT_HE_NORMAL},
                                      seeded = {.kind = GANTRY_INIT_HE_UNIFORM, .seed = 3},
                                      orthogonal = {.kind = GANTRY_INIT_ORTHOGONAL};
    const gantry_recurrent_options_t all = {.return_sequences = true},
                                     biased = {.return_sequences = true,
                                               .bias_initializer = &uniform},
                                     unbiased = {.return_sequences = true,
                                                 .no_unit_forget_bias = true};
    const gantry_kernel_options_t same = {.same_padding = true};
    const gantry_attention_options_t dropping = {.dropout = 0.125},
                                     of_orthogonal = {.kernel_initializer = &orthogonal},
                                     of_seed = {.kernel_initializer = &seeded};
    gantry_model_t *model = gantry_functional(fixture.runtime, options);
    int32_t x = gantry_model_input(model, GANTRY_INT32, GANTRY_SHAPE(6));
    gantry_layer_t *const layers[] = {
        gantry_embedding(TRAIN_LAYER_TABLE, 4, NULL, NULL),
        gantry_conv1d_layer(5, 2, GANTRY_LINEAR, NULL),
        gantry_dropout_layer(0.25, NULL),
        gantry_dropout_layer(0, NULL),
        gantry_multi_head_attention(2, 3, &dropping),
        gantry_multi_head_attention(2, 2, &of_orthogonal),
        gantry_multi_head_attention(1, 2, &of_seed),
        gantry_simple_rnn(3, &all),
        gantry_lstm(3, &all),
        gantry_lstm(2, &biased),
        gantry_lstm(2, &unbiased),
        gantry_bidirectional(gantry_simple_rnn(2, &all), GANTRY_MERGE_CONCAT, NULL),
        gantry_bidirectional(gantry_lstm(2, &all), GANTRY_MERGE_CONCAT, NULL),
        gantry_separable_conv1d_layer(4, 2, GANTRY_LINEAR, &same),
        gantry_conv1d_transpose_layer(4, 1, GANTRY_LINEAR, NULL),
        gantry_reshape_layer(GANTRY_SHAPE(5, 2, 2), NULL),
        gantry_time_distributed(
            gantry_bidirectional(gantry_lstm(1, NULL), GANTRY_MERGE_CONCAT, NULL), NULL),
        gantry_gru(2, NULL),
        gantry_dense(
            3, GANTRY_LINEAR,
            &(gantry_kernel_options_t){.kernel_initializer = &he, .bias_initializer = &normal}),
        gantry_dense(2, GANTRY_LINEAR, NULL)};
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; ++i)
        x = gantry_model_apply(model, layers[i], (int32_t[]){x, x},
                               i == 4 ? 2 : 1); /* query and value */
    if (gantry_model_build(model, GANTRY_DTYPE_NONE, GANTRY_SCALAR) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return model;
}

static size_t read_weights(gantry_model_t *model, float *out) {
    size_t at = 0;
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    for (size_t i = 0; i < gantry_model_variable_count(model); ++i) {
        const gantry_tensor_t *value =
            gantry_variable_read(scope, gantry_model_variable(model, i, NULL));
        assert_int_equal(gantry_tensor_read(value, out + at, gantry_tensor_bytes(value)),
                         GANTRY_OK);
        at += (size_t)gantry_tensor_elements(value);
    }
    expect_ended_well(scope);
    return at;
}

TEST(first_weights_of_a_seed_are_those_of_keras) {
    static float given[1024];
    golden_file_t file;
    golden_file_open("keras/layer_seeds.json", &file);
    for (size_t c = 0; c < file.case_count; ++c) {
        const int64_t *seed = file.cases[c].inputs[0].data;
        const golden_tensor_t *expected = &file.cases[c].outputs[0];
        const float *numbers = expected->data;
        gantry_model_t *model = make_seeded(&(gantry_model_options_t){.seed = *seed});
        assert_int_equal(read_weights(model, given), expected->bytes / sizeof(float));
        for (size_t i = 0; i < expected->bytes / sizeof(float); ++i) {
            if (!(fabs((double)given[i] - (double)numbers[i]) <= 2e-6))
                fail_msg("seed %s: number %zu is %.9g; Keras has %.9g", file.cases[c].name, i,
                         (double)given[i], (double)numbers[i]);
        }
        gantry_model_release(model);
    }
    golden_free(&file);
}

TEST(first_weights_without_a_seed_repeat) {
    static float given[2][1024];
    size_t count = 0;
    for (size_t i = 0; i < 2; ++i) {
        gantry_model_t *model = make_seeded(NULL);
        count = read_weights(model, given[i]);
        gantry_model_release(model);
    }
    assert_memory_equal(given[0], given[1], count * sizeof given[0][0]);
}

int main(void) { return test_main_each(set_up, tear_down); }
