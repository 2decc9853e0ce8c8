/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Layers that resize, merge, normalise and activate have Keras's names, take rows and
 * columns of open size, and refuse bad input.
 *
 * Their numbers are cases of test_layers.c. */
#define _XOPEN_SOURCE 700

#include <string.h>

#include <math.h>

#include "function_fixture.h"
#include "test.h"
#include "train_given.h"
#include "train_fixture.h"

#include <gantry_train/train.h>

/* ---- names ---- */

TEST(layers_have_the_names_of_keras) {
    const int32_t two_one[] = {2, 1};
    const int64_t edges[] = {1, 1, 1, 1};
    const struct {
        gantry_layer_t *layer;
        gantry_shape_t sample;
        const char *name, *class_name;
    } cases[] = {
        {gantry_conv1d_transpose_layer(2, 2, GANTRY_RELU, NULL), GANTRY_SHAPE(3, 2),
         "conv1d_transpose", "(Conv1DTranspose)"},
        {gantry_conv2d_transpose_layer(2, 2, GANTRY_RELU, NULL), GANTRY_SHAPE(3, 3, 2),
         "conv2d_transpose", "(Conv2DTranspose)"},
        {gantry_separable_conv1d_layer(2, 2, GANTRY_RELU, NULL), GANTRY_SHAPE(3, 2),
         "separable_conv1d", "(SeparableConv1D)"},
        {gantry_separable_conv2d_layer(2, 2, GANTRY_RELU, NULL), GANTRY_SHAPE(3, 3, 2),
         "separable_conv2d", "(SeparableConv2D)"},
        {gantry_time_distributed(gantry_flatten(NULL), NULL), GANTRY_SHAPE(3, 2, 2),
         "time_distributed", "(TimeDistributed)"},
        {gantry_permute_layer(two_one, 2, NULL), GANTRY_SHAPE(3, 2), "permute", "(Permute)"},
        {gantry_repeat_vector_layer(2, NULL), GANTRY_SHAPE(3), "repeat_vector", "(RepeatVector)"},
        {gantry_up_sampling1d_layer(2, NULL), GANTRY_SHAPE(3, 2), "up_sampling1d",
         "(UpSampling1D)"},
        {gantry_up_sampling2d_layer(2, 2, NULL), GANTRY_SHAPE(3, 3, 2), "up_sampling2d",
         "(UpSampling2D)"},
        {gantry_zero_padding1d_layer(1, 1, NULL), GANTRY_SHAPE(3, 2), "zero_padding1d",
         "(ZeroPadding1D)"},
        {gantry_zero_padding2d_layer(edges, NULL), GANTRY_SHAPE(3, 3, 2), "zero_padding2d",
         "(ZeroPadding2D)"},
        {gantry_cropping1d_layer(1, 1, NULL), GANTRY_SHAPE(3, 2), "cropping1d", "(Cropping1D)"},
        {gantry_cropping2d_layer(edges, NULL), GANTRY_SHAPE(3, 3, 2), "cropping2d", "(Cropping2D)"},
        {gantry_leaky_relu_layer(0.5, NULL), GANTRY_SHAPE(3), "leaky_re_lu", "(LeakyReLU)"},
        {gantry_prelu_layer(NULL, NULL, 0, NULL), GANTRY_SHAPE(3), "p_re_lu", "(PReLU)"},
        {gantry_rescaling_layer(2, 1, NULL), GANTRY_SHAPE(3), "rescaling", "(Rescaling)"},
        {gantry_group_normalization(-1, NULL), GANTRY_SHAPE(3), "group_normalization",
         "(GroupNormalization)"},
        {gantry_rms_normalization(NULL), GANTRY_SHAPE(3), "rms_normalization",
         "(RMSNormalization)"},
        {gantry_unit_normalization(NULL), GANTRY_SHAPE(3), "unit_normalization",
         "(UnitNormalization)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char text[4096];
        gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
        must(gantry_model_add(model, cases[i].layer));
        must(gantry_model_build(model, GANTRY_FLOAT32, cases[i].sample));
        must(gantry_model_summary(model, text, sizeof text, NULL));
        assert_string_equal(gantry_layer_name(cases[i].layer), cases[i].name);
        if (!strstr(text, cases[i].class_name)) fail_msg("%s", text);
        gantry_model_release(model);
    }
}

TEST(merges_have_the_names_of_keras) {
    const struct {
        gantry_layer_t *layer;
        const char *name;
    } cases[] = {
        {gantry_subtract_layer(NULL), "subtract"}, {gantry_multiply_layer(NULL), "multiply"},
        {gantry_average_layer(NULL), "average"},   {gantry_maximum_layer(NULL), "maximum"},
        {gantry_minimum_layer(NULL), "minimum"},   {gantry_dot_layer(1, 1, false, NULL), "dot"}};
    gantry_model_t *model = gantry_functional(fixture.runtime, NULL);
    const int32_t x = gantry_model_input(model, GANTRY_FLOAT32, GANTRY_SHAPE(3));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        (void)gantry_model_apply(model, cases[i].layer, (int32_t[]){x, x}, 2);
        assert_string_equal(gantry_layer_name(cases[i].layer), cases[i].name);
    }
    gantry_model_release(model);
}

/* ---- rows and columns that are open ---- */

enum { ROWS = 5, COLUMNS = 4, SAMPLES = 3 };

static gantry_model_t *make_images(int64_t rows, int64_t columns) {
    const gantry_kernel_options_t large = {.strides = {2, 3}}, same = {.same_padding = true};
    gantry_model_t *model =
        gantry_functional(fixture.runtime, &(gantry_model_options_t){.seed = 3});
    int32_t x = gantry_model_input(model, GANTRY_FLOAT32, GANTRY_SHAPE(rows, columns, 2));
    gantry_layer_t *const layers[] = {gantry_zero_padding2d_layer((int64_t[]){1, 0, 2, 0}, NULL),
                                      gantry_conv2d_transpose_layer(4, 3, GANTRY_TANH, &large),
                                      gantry_group_normalization(2, NULL),
                                      gantry_cropping2d_layer((int64_t[]){1, 1, 0, 2}, NULL),
                                      gantry_up_sampling2d_layer(2, 1, NULL),
                                      gantry_separable_conv2d_layer(3, 2, GANTRY_LINEAR, &same),
                                      gantry_prelu_layer(NULL, (int32_t[]){1, 2}, 2, NULL),
                                      gantry_permute_layer((int32_t[]){2, 1, 3}, 3, NULL),
                                      gantry_global_avg_pool(NULL),
                                      gantry_repeat_vector_layer(3, NULL)};
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; ++i)
        x = gantry_model_apply(model, layers[i], &x, 1);
    must(gantry_model_build(model, GANTRY_DTYPE_NONE, GANTRY_SCALAR));
    return model;
}

static void predict_images(gantry_model_t *model, float *out, size_t bytes) {
    static float pixels[SAMPLES * ROWS * COLUMNS * 2];
    for (size_t i = 0; i < sizeof pixels / sizeof pixels[0]; ++i)
        pixels[i] = (float)(i * 37 % 64) / 32 - 1;
    const gantry_array_t images = {GANTRY_FLOAT32, GANTRY_SHAPE(SAMPLES, ROWS, COLUMNS, 2), pixels};
    gantry_dataset_t *data =
        gantry_dataset_batch(gantry_dataset_from_arrays(&images, 1, false), SAMPLES, false);
    must(gantry_model_predict(model, data, out, bytes, NULL));
    gantry_dataset_release(data);
}

TEST(open_sizes_give_the_bits_of_known_ones) {
    float known[SAMPLES * 3 * 3], open[SAMPLES * 3 * 3];
    gantry_model_t *model = make_images(ROWS, COLUMNS), *opened = make_images(-1, -1);
    predict_images(model, known, sizeof known);
    predict_images(opened, open, sizeof open);
    assert_memory_equal(known, open, sizeof known);
    assert_true(known[0] != 0);
    gantry_model_release(model);
    gantry_model_release(opened);
}

TEST(an_open_size_that_is_cropped_away_is_refused) {
    const float pixels[4] = {1, 2, 3, 4};
    float out[4];
    const gantry_array_t lines = {GANTRY_FLOAT32, GANTRY_SHAPE(1, 2, 2), pixels};
    gantry_dataset_t *data =
        gantry_dataset_batch(gantry_dataset_from_arrays(&lines, 1, false), 1, false);
    gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
    must(gantry_model_add(model, gantry_cropping1d_layer(1, 1, NULL)));
    must(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(-1, 2)));
    expect_refusal(gantry_model_predict(model, data, out, sizeof out, NULL),
                   GANTRY_INVALID_ARGUMENT,
                   "layer Cropping1D: 1 and 1 of the 2 elements of dimension 1 are cropped; fewer");
    gantry_model_release(model);
    gantry_dataset_release(data);
}

/* ---- bad input ---- */

static void expect_no_layer(gantry_layer_t *layer, const char *text) {
    assert_null(layer);
    if (!strstr(gantry_last_message(), text))
        fail_msg("\"%s\" has no \"%s\"", gantry_last_message(), text);
}

TEST(constructors_check_their_numbers) {
    const gantry_kernel_options_t causal = {.causal_padding = true}, groups = {.groups = 2},
                                  flat = {.depth_multiplier = -1};
    const gantry_kernel_options_t padded = {.strides = {2, 2},
                                            .output_padding = (const int64_t[]){1, 2}},
                                  even = {.strides = {2, 2},
                                          .same_padding = true,
                                          .output_padding = (const int64_t[]){0, 1}};
    const gantry_norm_options_t two = {.axes = (int32_t[]){1, 2}, .axis_count = 2},
                                no_epsilon = {.epsilon = -1};
    const int64_t negative[] = {0, 0, -1, 0};
    expect_no_layer(gantry_conv1d_transpose_layer(0, 2, GANTRY_LINEAR, NULL),
                    "layer Conv1DTranspose: the number of outputs is 0");
    expect_no_layer(gantry_conv1d_transpose_layer(1, 2, GANTRY_LINEAR, &causal),
                    "layer Conv1DTranspose has causal_padding; only Conv1D accepts it");
    expect_no_layer(gantry_conv2d_transpose_layer(2, 2, GANTRY_LINEAR, &groups),
                    "layer Conv2DTranspose: 2 filters in 2 groups; Conv1D and Conv2D accept");
    expect_no_layer(gantry_conv2d_transpose_layer(2, 2, GANTRY_LINEAR, &padded),
                    "layer Conv2DTranspose: output_padding[1] is 2; a number from 0 on, below the "
                    "stride 2, is accepted");
    expect_no_layer(gantry_conv1d_transpose_layer(2, 2, GANTRY_LINEAR, &even),
                    "layer Conv1DTranspose: output_padding[0] is 0; a number from 1 on, below");
    expect_no_layer(gantry_conv2d_layer(2, 2, GANTRY_LINEAR, &padded),
                    "layer Conv2D has output_padding; only Conv1DTranspose and Conv2DTranspose");
    expect_no_layer(gantry_conv2d_layer(2, INT64_MAX, GANTRY_LINEAR, NULL),
                    "the kernel's size is 9223372036854775807; a positive number below 2**31 is");
    expect_no_layer(gantry_separable_conv1d_layer(2, 0, GANTRY_LINEAR, NULL),
                    "layer SeparableConv1D: the kernel's size is 0");
    expect_no_layer(gantry_separable_conv2d_layer(2, 2, GANTRY_LINEAR, &flat),
                    "layer SeparableConv2D: depth_multiplier is -1");
    expect_no_layer(gantry_repeat_vector_layer(0, NULL),
                    "layer RepeatVector: 0 times; a positive number is accepted");
    expect_no_layer(gantry_up_sampling1d_layer(-2, NULL), "layer UpSampling1D: -2 times");
    expect_no_layer(gantry_up_sampling2d_layer(2, 0, NULL), "layer UpSampling2D: 0 times");
    expect_no_layer(gantry_zero_padding1d_layer(0, -3, NULL),
                    "layer ZeroPadding1D: an amount is -3; numbers from 0 on are accepted");
    expect_no_layer(gantry_zero_padding2d_layer(NULL, NULL),
                    "layer ZeroPadding2D: the amounts are NULL; 4 numbers are accepted");
    expect_no_layer(gantry_cropping1d_layer(-1, 0, NULL), "layer Cropping1D: an amount is -1");
    expect_no_layer(gantry_cropping2d_layer(negative, NULL), "layer Cropping2D: an amount is -1");
    expect_no_layer(gantry_permute_layer(NULL, 2, NULL), "layer Permute: 2 dims at NULL; an array");
    expect_no_layer(gantry_permute_layer((int32_t[]){1, 1}, 2, NULL),
                    "layer Permute: dims[1] is 1; each of");
    expect_no_layer(gantry_permute_layer((int32_t[]){0, 1}, 2, NULL),
                    "dims[0] is 0; each of the numbers from 1 to 2");
    expect_no_layer(gantry_permute_layer((int32_t[]){1}, 0, NULL), "an array of 1 to 7");
    expect_no_layer(gantry_permute_layer((int32_t[]){1}, SIZE_MAX, NULL), "an array of 1 to 7");
    expect_no_layer(gantry_leaky_relu_layer(-0.5, NULL),
                    "the negative slope is -0.5; numbers from");
    expect_no_layer(gantry_leaky_relu_layer((double)NAN, NULL), "layer LeakyReLU: the negative");
    expect_no_layer(gantry_prelu_layer(NULL, NULL, 1, NULL), "layer PReLU: 1 shared axes at NULL");
    expect_no_layer(gantry_prelu_layer(NULL, (int32_t[]){0}, 1, NULL),
                    "shared axis 0; numbers from 1 to 7");
    expect_no_layer(gantry_group_normalization(-2, NULL), "layer GroupNormalization: -2 groups; 0");
    expect_no_layer(gantry_group_normalization(1, &two), "layer GroupNormalization: 2 axes; an");
    expect_no_layer(gantry_rms_normalization(&no_epsilon), "layer RMSNormalization: epsilon -1");
    expect_no_layer(gantry_unit_normalization(&no_epsilon), "layer UnitNormalization: epsilon -1");
}

TEST(time_distributed_checks_its_layer) {
    const gantry_recurrent_options_t several = {.return_state = true}, kept = {.stateful = true};
    gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
    gantry_layer_t *taken = gantry_dense(2, GANTRY_LINEAR, NULL);
    must(gantry_model_add(model, taken));
    expect_no_layer(gantry_time_distributed(taken, NULL),
                    "gantry_time_distributed: the Dense belongs to a model; a new layer of one");
    gantry_model_release(model);
    expect_no_layer(gantry_time_distributed(gantry_dense(0, GANTRY_LINEAR, NULL), NULL),
                    "layer Dense: the number of outputs is 0");
    expect_no_layer(gantry_time_distributed(gantry_lstm(2, &several), NULL),
                    "gantry_time_distributed: the LSTM has several outputs");
    expect_no_layer(gantry_time_distributed(gantry_gru(2, &kept), NULL), "the GRU is stateful");
    expect_no_layer(gantry_time_distributed(gantry_activity_regularization(1, 1, NULL), NULL),
                    "the ActivityRegularization has an activity regularizer, which");
}

/* A regularizer and a constraint reach the weights, given before or after. */
TEST(time_distributed_keeps_rules_of_weights) {
    const gantry_regularizer_t squares = {.l2 = 1};
    const gantry_initializer_t ones = {.kind = GANTRY_INIT_ONES};
    const float zeros[2 * 3] = {0}, no[2 * 2] = {0};
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(1, 2, 3), zeros},
                                     {GANTRY_FLOAT32, GANTRY_SHAPE(1, 2, 2), no}};
    gantry_dataset_t *data =
        gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), 1, false);
    for (int i = 0; i < 2; ++i) {
        double loss;
        gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
        gantry_layer_t *layer = gantry_time_distributed(
            gantry_dense(
                2, GANTRY_LINEAR,
                &(gantry_kernel_options_t){.kernel_initializer = &ones,
                                           .kernel_regularizer = i == 0 ? &squares : NULL}),
            NULL);
        if (i == 1) must(gantry_layer_set_regularizer(layer, "kernel", &squares));
        must(gantry_model_add(model, layer));
        must(gantry_model_compile(model,
                                  &(gantry_compile_options_t){.optimizer = gantry_sgd(NULL),
                                                              .loss = GANTRY_MEAN_SQUARED_ERROR}));
        must(gantry_model_evaluate(model, data, &loss, 1));
        assert_true(loss == 6); /* 3 x 2 ones */
        gantry_model_release(model);
    }
    gantry_dataset_release(data);
}

/* As gantry_model_fit does, a call converts its inputs, and says what shape it takes. */
TEST(calls_convert_their_inputs_and_check_shapes) {
    gantry_model_t *model =
        gantry_functional(fixture.runtime, &(gantry_model_options_t){.dtype = GANTRY_FLOAT64});
    int32_t x = gantry_model_input(model, GANTRY_FLOAT64, GANTRY_SHAPE(2));
    (void)gantry_model_apply(model, gantry_rescaling_layer(2, 1, NULL), &x, 1);
    must(gantry_model_build(model, GANTRY_DTYPE_NONE, GANTRY_SCALAR));
    const gantry_dtype_t dtypes[] = {GANTRY_FLOAT32, GANTRY_FLOAT64, GANTRY_INT32};
    for (size_t i = 0; i < 3; ++i) {
        double out[2];
        gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
        const gantry_tensor_t *input =
            gantry_cast(scope, gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1, 2)), dtypes[i]);
        must(
            gantry_tensor_read(gantry_model_call(model, scope, &input, 1, false), out, sizeof out));
        assert_true(out[0] == 3 && out[1] == 3);
        expect_ended_well(scope);
    }
    const gantry_shape_t shapes[] = {GANTRY_SHAPE(2), GANTRY_SHAPE(1, 3)};
    for (size_t i = 0; i < 2; ++i) {
        gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
        const gantry_tensor_t *input = gantry_ones(scope, GANTRY_FLOAT64, shapes[i]);
        assert_null(gantry_model_call(model, scope, &input, 1, false));
        if (!strstr(gantry_scope_message(scope), "; [-1,2] is accepted"))
            fail_msg("%s", gantry_scope_message(scope));
        gantry_scope_clear(scope);
        must(gantry_scope_end(scope));
    }
    gantry_model_release(model);
}

/* Bytes of images become floats; other layers of floats refuse integers. */
TEST(integers_are_rescaled_or_refused) {
    const uint8_t bytes[] = {0, 51, 102, 255};
    float out[4];
    const gantry_array_t images = {GANTRY_UINT8, GANTRY_SHAPE(1, 4), bytes};
    gantry_dataset_t *data =
        gantry_dataset_batch(gantry_dataset_from_arrays(&images, 1, false), 1, false);
    gantry_model_t *model = gantry_functional(fixture.runtime, NULL);
    int32_t x = gantry_model_input(model, GANTRY_UINT8, GANTRY_SHAPE(4));
    (void)gantry_model_apply(model, gantry_rescaling_layer(1.0 / 255, 0, NULL), &x, 1);
    must(gantry_model_predict(model, data, out, sizeof out, NULL));
    for (int i = 0; i < 4; ++i) assert_true(fabsf(out[i] - (float)bytes[i] / 255) < 1e-6f);
    gantry_model_release(model);
    gantry_dataset_release(data);
    gantry_layer_t *const layers[] = {
        gantry_average_layer(NULL),       gantry_dot_layer(1, 1, false, NULL),
        gantry_leaky_relu_layer(1, NULL), gantry_prelu_layer(NULL, NULL, 0, NULL),
        gantry_batch_normalization(NULL), gantry_layer_normalization(NULL),
        gantry_rms_normalization(NULL),   gantry_group_normalization(-1, NULL),
        gantry_unit_normalization(NULL)};
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; ++i) {
        model = gantry_functional(fixture.runtime, NULL);
        x = gantry_model_input(model, GANTRY_INT32, GANTRY_SHAPE(4));
        (void)gantry_model_apply(model, layers[i], (int32_t[]){x, x}, i < 2 ? 2 : 1);
        expect_refusal(gantry_model_build(model, GANTRY_DTYPE_NONE, GANTRY_SCALAR),
                       GANTRY_INVALID_ARGUMENT, ": the input is int32; floats are accepted");
        gantry_model_release(model);
    }
}

static void expect_no_build(gantry_layer_t *layer, const gantry_shape_t *samples, size_t count,
                            const char *text) {
    int32_t values[3];
    gantry_model_t *model = gantry_functional(fixture.runtime, NULL);
    if (!layer) fail_msg("%s", gantry_last_message());
    for (size_t i = 0; i < count; ++i)
        values[i] = gantry_model_input(model, GANTRY_FLOAT32, samples[i]);
    (void)gantry_model_apply(model, layer, values, count);
    expect_refusal(gantry_model_build(model, GANTRY_DTYPE_NONE, GANTRY_SCALAR),
                   GANTRY_INVALID_ARGUMENT, text);
    gantry_model_release(model);
}

TEST(builds_check_their_inputs) {
    const gantry_shape_t lines[] = {GANTRY_SHAPE(4, 3), GANTRY_SHAPE(3, 4), GANTRY_SHAPE(4, 3)},
                         images[] = {GANTRY_SHAPE(1, 1, 1, 1), GANTRY_SHAPE(1, 1, 1, 1, 1, 1)};
    const int32_t far[] = {3}, one[] = {1};
    const gantry_shape_t vector = GANTRY_SHAPE(4);
    const gantry_kernel_options_t far_apart = {.strides = {INT32_MAX}, .dilations = {INT32_MAX}};
    expect_no_build(gantry_conv1d_transpose_layer(1, 2, GANTRY_LINEAR, NULL), images, 1,
                    "layer Conv1DTranspose: the input has shape [-1,1,1,1,1]; rank 3 is accepted");
    expect_no_build(gantry_conv2d_transpose_layer(1, 2, GANTRY_LINEAR, NULL), lines, 1,
                    "layer Conv2DTranspose: the input has shape [-1,4,3]; rank 4 is accepted");
    expect_no_build(gantry_separable_conv1d_layer(1, 5, GANTRY_LINEAR, NULL), lines, 1,
                    "layer SeparableConv1D: the window is 5 wide, the input 4;");
    expect_no_build(gantry_separable_conv2d_layer(1, 2, GANTRY_LINEAR, NULL), lines, 2,
                    "layer SeparableConv2D has 2 inputs; 1 is accepted");
    expect_no_build(gantry_up_sampling2d_layer(2, 2, NULL), lines, 1, "rank 4 is accepted");
    expect_no_build(
        gantry_up_sampling1d_layer(INT64_MAX, NULL), lines, 1,
        "layer UpSampling1D: a dimension of 4 would be 9223372036854775807 times as large");
    expect_no_build(gantry_repeat_vector_layer(INT64_MAX, NULL), &vector, 1, "layer repeat_vector");
    expect_no_build(gantry_zero_padding1d_layer(INT64_MAX, INT64_MAX, NULL), lines, 1,
                    "layer zero_padding1d");
    expect_no_build(gantry_conv1d_transpose_layer(1, INT32_MAX, GANTRY_LINEAR, &far_apart), lines,
                    1, "layer conv1d_transpose");
    expect_no_build(gantry_repeat_vector_layer(2, NULL), lines, 1, "rank 2 is accepted");
    expect_no_build(gantry_zero_padding1d_layer(2, 2, NULL), images, 1, "rank 3 is accepted");
    expect_no_build(
        gantry_cropping1d_layer(2, 2, NULL), lines, 1,
        "layer Cropping1D: 2 and 2 of the 4 elements of dimension 1 are cropped; fewer");
    expect_no_build(gantry_cropping1d_layer(INT64_MAX, INT64_MAX, NULL), lines, 1, "are cropped");
    expect_no_build(gantry_permute_layer(one, 1, NULL), lines, 1, "layer Permute: the input has");
    expect_no_build(gantry_prelu_layer(NULL, far, 1, NULL), lines, 1,
                    "layer PReLU: axis 3 of an input of rank 3 is shared; 1 to 2 are accepted");
    expect_no_build(
        gantry_group_normalization(2, NULL), lines, 1,
        "layer GroupNormalization: 2 groups of a dimension of 3; a number that divides");
    expect_no_build(gantry_group_normalization(0, NULL), lines, 1, "32 groups of a dimension of 3");
    expect_no_build(
        gantry_rms_normalization(&(gantry_norm_options_t){.axes = far, .axis_count = 1}), lines, 1,
        "layer RMSNormalization: axis 3 of an input of rank 3");
    expect_no_build(gantry_time_distributed(gantry_flatten(NULL), NULL), &vector, 1,
                    "layer TimeDistributed: the input has shape [-1,4]; rank 3 to 8 is accepted");
    expect_no_build(gantry_time_distributed(gantry_conv1d_layer(1, 2, GANTRY_LINEAR, NULL), NULL),
                    lines, 1, "layer Conv1D: the input has shape [-1,3]; rank 3 is accepted");
    expect_no_build(gantry_subtract_layer(NULL), lines, 3, "layer Subtract has 3 inputs; 2 are");
    expect_no_build(gantry_multiply_layer(NULL), lines, 1,
                    "layer Multiply has 1 inputs; 2 or more are accepted");
    expect_no_build(gantry_average_layer(NULL), lines, 2, "layer average");
    expect_no_build(gantry_dot_layer(1, 1, false, NULL), lines, 1, "layer Dot has 1 inputs; 2 are");
    expect_no_build(gantry_dot_layer(1, 1, false, NULL), lines, 2,
                    "layer Dot: the axes have sizes 4 and 3; equal ones are accepted");
    expect_no_build(
        gantry_dot_layer(0, 1, false, NULL), lines, 2,
        "layer Dot: axis 0 of an input of rank 3; 1 to 2, or from the end, are accepted");
    expect_no_build(gantry_dot_layer(1, -4, false, NULL), lines, 2, "layer Dot: axis -4");
    expect_no_build(gantry_dot_layer(1, 1, false, NULL), images, 2,
                    "layer Dot: inputs of rank 5 and 7 give rank 9; up to 8 is accepted");
}

int main(void) { return test_main_each(set_up, tear_down); }
