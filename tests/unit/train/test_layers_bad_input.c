/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Layers refuse bad numbers and inputs, when they are made or built, with a text that says
 * so; without memory they leak nothing. */
#define _XOPEN_SOURCE 700

#include <string.h>

#include "test.h"
#include "train_layer_case.h"
#include "train_fixture.h"

/* ---- constructors ---- */

static void expect_no_layer(gantry_layer_t *layer, const char *text) {
    assert_null(layer);
    if (!strstr(gantry_last_message(), text))
        fail_msg("\"%s\" has no \"%s\"", gantry_last_message(), text);
}

static void expect_no_model(gantry_layer_t *layer, gantry_dtype_t dtype,
                            const gantry_shape_t *samples, size_t count, const char *text) {
    int32_t values[4];
    gantry_model_t *model = gantry_functional(fixture.runtime, NULL);
    if (!layer) fail_msg("%s", gantry_last_message());
    for (size_t i = 0; i < count; ++i) values[i] = gantry_model_input(model, dtype, samples[i]);
    (void)gantry_model_apply(model, layer, values, count);
    if (gantry_model_build(model, GANTRY_DTYPE_NONE, GANTRY_SCALAR) == GANTRY_OK)
        fail_msg("built; expected \"%s\"", text);
    if (!strstr(gantry_last_message(), text))
        fail_msg("\"%s\" has no \"%s\"", gantry_last_message(), text);
    gantry_model_release(model);
}

static const gantry_activation_t no_activation = (gantry_activation_t)99;
static const gantry_initializer_t no_initializer = {.struct_size = 4096};

TEST_WITH(options_without_a_use_are_refused, set_up, tear_down) {
    gantry_kernel_options_t o = {.kernel_columns = 3};
    expect_no_layer(
        gantry_conv1d_layer(1, 2, GANTRY_LINEAR, &o),
        "layer Conv1D: kernel_columns is 3, but a layer of this kind has no use for it; 0 and 1");
    o = (gantry_kernel_options_t){.kernel_columns = 2};
    expect_no_layer(gantry_conv1d_transpose_layer(1, 2, GANTRY_LINEAR, &o),
                    "layer Conv1DTranspose: kernel_columns is 2");
    o = (gantry_kernel_options_t){.depth_multiplier = 2};
    expect_no_layer(gantry_conv2d_layer(1, 2, GANTRY_LINEAR, &o), "Conv2D: depth_multiplier is 2");
    o = (gantry_kernel_options_t){.same_padding = true};
    expect_no_layer(gantry_dense(1, GANTRY_LINEAR, &o), "same_padding is 1, but a layer of this");
    o = (gantry_kernel_options_t){.strides = {2}};
    expect_no_layer(gantry_dense(1, GANTRY_LINEAR, &o), "layer Dense: strides[0] is 2");
    o = (gantry_kernel_options_t){.dilations = {2}};
    expect_no_layer(gantry_dense(1, GANTRY_LINEAR, &o), "layer Dense: dilations[0] is 2");
    o = (gantry_kernel_options_t){
        .strides = {1, 1}, .dilations = {1, 1}, .kernel_columns = 1, .depth_multiplier = 1};
    gantry_layer_t *layer = gantry_conv1d_layer(1, 2, GANTRY_LINEAR, &o);
    if (!layer) fail_msg("%s", gantry_last_message());
    gantry_layer_release(layer);
    expect_no_layer(gantry_max_pool1d_layer(2, &(gantry_pool_options_t){.pool_columns = 2}),
                    "layer MaxPooling1D: pool_columns is 2");
    expect_no_layer(gantry_avg_pool1d_layer(2, &(gantry_pool_options_t){.column_strides = 1}),
                    "column_strides is 1, but a layer of this kind has no use for it; 0 is");
}

TEST_WITH(kernels_and_embeddings_check_their_numbers, set_up, tear_down) {
    gantry_kernel_options_t o = {.strides = {-1}};
    expect_no_layer(gantry_dense(0, GANTRY_LINEAR, NULL),
                    "layer Dense: the number of outputs is 0; a positive number is accepted");
    expect_no_layer(gantry_dense(-3, GANTRY_LINEAR, NULL), "outputs is -3");
    expect_no_layer(gantry_dense(1, no_activation, NULL), "layer Dense: the activation is 99");
    expect_no_layer(gantry_conv1d_layer(0, 1, GANTRY_LINEAR, NULL), "layer Conv1D: the number of");
    expect_no_layer(gantry_conv1d_layer(1, 0, GANTRY_LINEAR, NULL), "the kernel's size is 0");
    expect_no_layer(gantry_conv2d_layer(1, -2, GANTRY_LINEAR, NULL), "layer Conv2D: the kernel's");
    expect_no_layer(gantry_conv2d_layer(1, 2, GANTRY_LINEAR, &o), "layer Conv2D: a stride is -1");
    o = (gantry_kernel_options_t){.dilations = {1, -4}};
    expect_no_layer(gantry_conv2d_layer(1, 2, GANTRY_LINEAR, &o), "a dilation is -4");
    o = (gantry_kernel_options_t){.depth_multiplier = -1};
    expect_no_layer(gantry_depthwise_conv2d_layer(2, GANTRY_LINEAR, &o), "depth_multiplier is -1");
    expect_no_layer(gantry_depthwise_conv2d_layer(0, GANTRY_LINEAR, NULL), "size is 0");
    o = (gantry_kernel_options_t){.kernel_columns = -5};
    expect_no_layer(gantry_conv2d_layer(1, 2, GANTRY_LINEAR, &o), "kernel_columns is -5");
    o = (gantry_kernel_options_t){.causal_padding = true};
    expect_no_layer(gantry_conv2d_layer(1, 2, GANTRY_LINEAR, &o),
                    "layer Conv2D has causal_padding; only Conv1D accepts it, without");
    o = (gantry_kernel_options_t){.causal_padding = true, .same_padding = true};
    expect_no_layer(gantry_conv1d_layer(1, 2, GANTRY_LINEAR, &o),
                    "layer Conv1D has causal_padding and same_padding");
    o = (gantry_kernel_options_t){.struct_size = 4096};
    expect_no_layer(gantry_dense(1, GANTRY_LINEAR, &o), "gantry_kernel_options_t: struct_size is");
    o = (gantry_kernel_options_t){.kernel_initializer = &no_initializer};
    expect_no_layer(gantry_dense(1, GANTRY_LINEAR, &o), "initializer: struct_size is 4096");
    o = (gantry_kernel_options_t){.bias_initializer = &no_initializer};
    expect_no_layer(gantry_dense(1, GANTRY_LINEAR, &o), "initializer: struct_size is 4096");
    expect_no_layer(gantry_embedding(0, 2, NULL, NULL), "gantry_embedding: 0 to 2; positive");
    expect_no_layer(gantry_embedding(2, -1, NULL, NULL), "gantry_embedding: 2 to -1");
    expect_no_layer(gantry_embedding(2, 1, &no_initializer, NULL), "struct_size is 4096");
    expect_no_layer(gantry_masked_embedding(0, 2, NULL, NULL), "gantry_masked_embedding: 0 to 2;");
}

TEST_WITH(pools_and_norms_check_their_numbers, set_up, tear_down) {
    static const int32_t descending[] = {2, 1}, batch[] = {0}, far[] = {3};
    const gantry_pool_options_t back = {.strides = -1}, large = {.struct_size = 4096},
                                narrow = {.pool_columns = -2};
    const gantry_shape_t line = GANTRY_SHAPE(2, 3);
    gantry_norm_options_t o = {.epsilon = -1};
    expect_no_layer(gantry_max_pool2d_layer(2, &narrow),
                    "layer MaxPooling2D: columns of size -2 with strides 0; positive numbers");
    o = (gantry_norm_options_t){.axes = descending, .axis_count = 2};
    expect_no_layer(gantry_batch_normalization(&o),
                    "layer BatchNormalization: 2 axes; an array of 1 to 1 is accepted");
    expect_no_model(gantry_layer_normalization(&o), GANTRY_FLOAT32, &line, 1,
                    "axis 1 of an input of rank 3; ascending ones from 1 to 2 are accepted");
    o = (gantry_norm_options_t){.axis_count = 1};
    expect_no_layer(gantry_layer_normalization(&o), "1 axes at NULL; an array of 1 to 7");
    o = (gantry_norm_options_t){.axes = batch, .axis_count = 1};
    expect_no_model(gantry_batch_normalization(&o), GANTRY_FLOAT32, &line, 1,
                    "layer BatchNormalization: axis 0 of an input of rank 3");
    o = (gantry_norm_options_t){.axes = far, .axis_count = 1};
    expect_no_model(gantry_batch_normalization(&o), GANTRY_FLOAT32, &line, 1,
                    "axis 3 of an input of rank 3; ascending ones from 1 to 2 are accepted");
    o = (gantry_norm_options_t){.epsilon = -1};
    expect_no_layer(gantry_max_pool1d_layer(0, NULL), "layer MaxPooling1D: size 0");
    expect_no_layer(gantry_max_pool2d_layer(-1, NULL), "layer MaxPooling2D: size -1");
    expect_no_layer(gantry_avg_pool1d_layer(2, &back), "size 2 with strides -1; positive numbers");
    expect_no_layer(gantry_avg_pool2d_layer(2, &large), "gantry_pool_options_t: struct_size is");
    expect_no_layer(gantry_batch_normalization(&o), "layer BatchNormalization: epsilon -1");
    o.epsilon = (double)NAN;
    expect_no_layer(gantry_layer_normalization(&o), "layer LayerNormalization: epsilon");
    o = (gantry_norm_options_t){.momentum = 1};
    expect_no_layer(gantry_batch_normalization(&o), "momentum 1; a positive number and [0, 1)");
    o.momentum = -0.5;
    expect_no_layer(gantry_batch_normalization(&o), "momentum -0.5");
    o.struct_size = 4096;
    expect_no_layer(gantry_batch_normalization(&o), "gantry_norm_options_t: struct_size is");
}

TEST_WITH(layers_without_weights_check_their_numbers, set_up, tear_down) {
    expect_no_layer(gantry_dropout_layer(1, NULL), "the rate is 1; [0, 1) is accepted");
    expect_no_layer(gantry_dropout_layer(-0.1, NULL), "the rate is -0.1");
    expect_no_layer(gantry_dropout_layer((double)NAN, NULL), "gantry_dropout_layer: the rate");
    expect_no_layer(gantry_activation_layer(no_activation, NULL),
                    "layer Activation: the activation is 99");
    expect_no_layer(gantry_reshape_layer((gantry_shape_t){.rank = -1}, NULL), "the rank is -1");
    expect_no_layer(gantry_reshape_layer((gantry_shape_t){.rank = GANTRY_MAX_RANK}, NULL),
                    "gantry_reshape_layer: the rank is 8; 0 to 7 are accepted");
    assert_string_equal(gantry_activation_name(no_activation), "");
    assert_string_equal(gantry_layer_name(NULL), "");
    gantry_layer_release(NULL);
}

TEST_WITH(groups_noise_and_attention_masks_are_checked, set_up, tear_down) {
    const gantry_shape_t image = GANTRY_SHAPE(6, 5, 4), steps = GANTRY_SHAPE(4, 3),
                         attended[] = {GANTRY_SHAPE(4, 3), GANTRY_SHAPE(4, 5)};
    const gantry_attention_options_t masked = {.attention_mask = true};
    gantry_kernel_options_t o = {.groups = -1};
    expect_no_layer(gantry_conv2d_layer(2, 1, GANTRY_LINEAR, &o), "layer Conv2D: groups is -1");
    o.groups = 3;
    expect_no_layer(gantry_conv1d_layer(4, 1, GANTRY_LINEAR, &o),
                    "layer Conv1D: 4 filters in 3 groups; Conv1D and Conv2D accept up to 63");
    expect_no_layer(gantry_dense(3, GANTRY_LINEAR, &o), "layer Dense: 3 filters in 3 groups");
    o.groups = 64;
    expect_no_layer(gantry_conv1d_layer(64, 1, GANTRY_LINEAR, &o), "64 filters in 64 groups");
    o.groups = 3;
    expect_no_model(gantry_conv2d_layer(3, 1, GANTRY_LINEAR, &o), GANTRY_FLOAT32, &image, 1,
                    "layer Conv2D: 4 channels in 3 groups; a number that divides the channels");
    expect_no_layer(gantry_shaped_dropout_layer(2, GANTRY_SHAPE(-1), NULL),
                    "gantry_shaped_dropout_layer: the rate is 2");
    expect_no_model(gantry_shaped_dropout_layer(0.5, GANTRY_SHAPE(-1, 1), NULL), GANTRY_FLOAT32,
                    &steps, 1,
                    "layer Dropout: noise_shape is [-1,1], the input has shape [-1,4,3]");
    expect_no_model(gantry_shaped_dropout_layer(0.5, GANTRY_SHAPE(-1, 2, 3), NULL), GANTRY_FLOAT32,
                    &steps, 1, "that rank, and 1, -1 or the input's size are accepted");
    expect_no_model(gantry_multi_head_attention(2, 2, &masked), GANTRY_FLOAT32, attended, 2,
                    "the attention mask has shape [-1,4,5]; a shape that repeats to [-1,2,4,4]");
    expect_no_model(gantry_multi_head_attention(2, 2, &masked), GANTRY_FLOAT32, attended, 1,
                    "layer MultiHeadAttention has 1 inputs; 2 to 4 are accepted");
}

TEST_WITH(recurrent_layers_and_attention_check_their_numbers, set_up, tear_down) {
    gantry_recurrent_options_t o = {.activation = &no_activation};
    gantry_attention_options_t a = {.value_dim = -1};
    expect_no_layer(gantry_simple_rnn(0, NULL), "layer SimpleRNN: units is 0; a positive number");
    expect_no_layer(gantry_lstm(-1, NULL), "layer LSTM: units is -1");
    expect_no_layer(gantry_gru(0, NULL), "layer GRU: units is 0");
    expect_no_layer(gantry_lstm(1, &o), "layer LSTM: the activation is 99");
    o = (gantry_recurrent_options_t){.recurrent_activation = &no_activation};
    expect_no_layer(gantry_gru(1, &o), "layer GRU: the activation is 99");
    o = (gantry_recurrent_options_t){.recurrent_initializer = &no_initializer};
    expect_no_layer(gantry_simple_rnn(1, &o), "initializer: struct_size is 4096");
    o = (gantry_recurrent_options_t){.dropout = 1};
    expect_no_layer(gantry_lstm(1, &o), "layer LSTM: dropout is 1; [0, 1) is accepted");
    o = (gantry_recurrent_options_t){.recurrent_dropout = (double)NAN};
    expect_no_layer(gantry_gru(1, &o), "layer GRU: recurrent_dropout is nan");
    o = (gantry_recurrent_options_t){.go_backwards = true};
    expect_no_layer(gantry_bidirectional(gantry_gru(1, &o), GANTRY_MERGE_SUM, NULL),
                    "gantry_bidirectional: the layer has go_backwards");
    expect_no_layer(gantry_bidirectional(gantry_gru(1, NULL), (gantry_merge_t)4, NULL),
                    "gantry_bidirectional: merge is 4; GANTRY_MERGE_CONCAT to GANTRY_MERGE_AVE");
    expect_no_layer(gantry_bidirectional(gantry_flatten(NULL), GANTRY_MERGE_SUM, NULL),
                    "gantry_bidirectional: the layer is a Flatten; SimpleRNN, LSTM and GRU are");
    expect_no_layer(gantry_bidirectional(gantry_gru(-5, NULL), GANTRY_MERGE_SUM, NULL),
                    "layer GRU: units is -5");
    o = (gantry_recurrent_options_t){.struct_size = 2};
    expect_no_layer(gantry_gru(1, &o), "gantry_recurrent_options_t: struct_size is 2");
    expect_no_layer(gantry_multi_head_attention(0, 1, NULL),
                    "0 heads of key_dim 1 and value_dim 1; positive numbers are accepted");
    expect_no_layer(gantry_multi_head_attention(1, -1, NULL), "1 heads of key_dim -1");
    expect_no_layer(gantry_multi_head_attention(1, 2, &a), "value_dim -1");
    a = (gantry_attention_options_t){.dropout = 1};
    expect_no_layer(gantry_multi_head_attention(1, 2, &a), "dropout is 1; [0, 1) is accepted");
    a = (gantry_attention_options_t){.kernel_initializer = &no_initializer};
    expect_no_layer(gantry_multi_head_attention(1, 2, &a), "initializer: struct_size is 4096");
    a = (gantry_attention_options_t){.struct_size = 4096};
    expect_no_layer(gantry_multi_head_attention(1, 2, &a), "gantry_attention_options_t: struct_");
}

static const gantry_tensor_t *call_nothing(const gantry_layer_call_t *call, void *user) {
    (void)call, (void)user;
    return NULL;
}

TEST_WITH(own_layers_check_their_kinds_and_weights, set_up, tear_down) {
    gantry_layer_kind_t kind = {.struct_size = 4, .name = "Own", .call = call_nothing};
    expect_no_layer(gantry_layer_create(NULL, NULL, NULL), "gantry_layer_create: the kind is NULL");
    expect_no_layer(gantry_layer_create(&kind, NULL, NULL), "of another struct_size");
    kind = (gantry_layer_kind_t){.struct_size = sizeof kind, .call = call_nothing};
    expect_no_layer(gantry_layer_create(&kind, NULL, NULL), "the kind has no name");
    kind.name = "";
    expect_no_layer(gantry_layer_create(&kind, NULL, NULL), "the kind has no name");
    kind = (gantry_layer_kind_t){.struct_size = sizeof kind, .name = "Own"};
    expect_no_layer(gantry_layer_create(&kind, NULL, NULL), "the kind has no call");
    kind.call = call_nothing;
    kind.struct_size = sizeof kind + 8;
    expect_no_layer(gantry_layer_create(&kind, NULL, NULL), "of another struct_size");
    kind.struct_size = offsetof(gantry_layer_kind_t, passes_masks); /* that of version 0.1 */
    gantry_layer_t *layer = gantry_layer_create(&kind, NULL, "mine");
    assert_string_equal(gantry_layer_name(layer), "mine");
    expect_refusal(gantry_layer_add_weight(NULL, "w", GANTRY_SHAPE(1), NULL, true),
                   GANTRY_INVALID_ARGUMENT, "gantry_layer_add_weight: the layer is NULL");
    expect_refusal(gantry_layer_add_weight(layer, NULL, GANTRY_SHAPE(1), NULL, true),
                   GANTRY_INVALID_ARGUMENT, "the name is NULL");
    expect_refusal(gantry_layer_add_weight(layer, "w", GANTRY_SHAPE(2, -1), NULL, true),
                   GANTRY_INVALID_ARGUMENT, "a dimension is not known");
    expect_refusal(gantry_layer_add_weight(layer, "w", GANTRY_SHAPE(2), &no_initializer, true),
                   GANTRY_INVALID_ARGUMENT, "initializer: struct_size is 4096");
    gantry_layer_release(layer);
}

static gantry_status_t fail_silently(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                     size_t input_count, void *user) {
    (void)layer, (void)inputs, (void)input_count, (void)user;
    return GANTRY_ABORTED;
}

/* The text of an earlier failure does not stand for it. */
TEST_WITH(own_build_that_fails_without_a_text_is_told, set_up, tear_down) {
    const gantry_layer_kind_t kind = {
        .struct_size = sizeof kind, .name = "Own", .build = fail_silently, .call = call_nothing};
    gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
    (void)gantry_model_add(model, gantry_layer_create(&kind, NULL, "mine"));
    (void)gantry_fail(GANTRY_INTERNAL, "an earlier failure");
    expect_refusal(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(2)), GANTRY_ABORTED,
                   "layer mine: build failed with Aborted: it left no text by gantry_fail");
    gantry_model_release(model);
}

/* Sizes of a build stand in the text only if the op's text has them. */
TEST_WITH(open_sizes_are_explained_where_they_stand, set_up, tear_down) {
    gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
    (void)gantry_model_add(model, gantry_flatten(NULL));
    (void)gantry_model_add(model, gantry_dense(3, GANTRY_LINEAR, NULL));
    expect_refusal(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(-1, 2)),
                   GANTRY_INVALID_ARGUMENT, "has shape [-1,3], in which a dimension is not known");
    assert_null(strstr(gantry_last_message(), "stand for sizes"));
    gantry_model_release(model);
}

TEST_WITH(activations_check_their_number_and_input, set_up, tear_down) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    const gantry_tensor_t *x = gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2));
    assert_null(gantry_activate(scope, no_activation, x));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "gantry_activate: the activation is 99; 0 to 18 are accepted");
    assert_null(gantry_activate(scope, GANTRY_RELU, NULL));
    assert_int_not_equal(gantry_scope_status(scope), GANTRY_OK);
    gantry_scope_clear(scope);
    expect_ended_well(scope);
}

/* ---- inputs ---- */

TEST_WITH(ranks_are_checked, set_up, tear_down) {
    static const gantry_shape_t samples[] = {{.rank = 0},
                                             {.rank = 1, .dims = {4}},
                                             {.rank = 2, .dims = {4, 4}},
                                             {.rank = 3, .dims = {4, 4, 4}},
                                             {.rank = 4, .dims = {2, 2, 2, 2}}};
    const struct {
        gantry_layer_t *layer;
        int32_t rank; /* of the sample */
        const char *text;
    } cases[] = {
        {gantry_dense(1, GANTRY_LINEAR, NULL), 0,
         "layer Dense: the input has shape [-1]; rank 2 to 8 is accepted"},
        {gantry_conv1d_layer(1, 2, GANTRY_LINEAR, NULL), 1, "layer Conv1D: the input has shape"},
        {gantry_conv1d_layer(1, 2, GANTRY_LINEAR, NULL), 3, "layer Conv1D: the input has shape"},
        {gantry_conv2d_layer(1, 2, GANTRY_LINEAR, NULL), 2, "layer Conv2D: the input has shape"},
        {gantry_depthwise_conv2d_layer(2, GANTRY_LINEAR, NULL), 4, "layer DepthwiseConv2D: the"},
        {gantry_max_pool1d_layer(2, NULL), 1, "layer MaxPooling1D: the input has shape"},
        {gantry_avg_pool1d_layer(2, NULL), 3, "layer AveragePooling1D: the input has shape"},
        {gantry_max_pool2d_layer(2, NULL), 2, "layer MaxPooling2D: the input has shape"},
        {gantry_avg_pool2d_layer(2, NULL), 4, "layer AveragePooling2D: the input has shape"},
        {gantry_global_max_pool(NULL), 1, "layer GlobalMaxPooling: the input has shape"},
        {gantry_global_avg_pool(NULL), 4, "layer GlobalAveragePooling: the input has shape"},
        {gantry_batch_normalization(NULL), 0, "layer BatchNormalization: the input has shape"},
        {gantry_layer_normalization(NULL), 0, "layer LayerNormalization: the input has shape"},
        {gantry_simple_rnn(2, NULL), 1, "layer SimpleRNN: the input has shape"},
        {gantry_lstm(2, NULL), 3, "layer LSTM: the input has shape"},
        {gantry_gru(2, NULL), 1, "layer GRU: the input has shape"},
        {gantry_multi_head_attention(2, 2, NULL), 1, "layer MultiHeadAttention: the input has"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
        expect_no_model(cases[i].layer, GANTRY_FLOAT32, &samples[cases[i].rank], 1, cases[i].text);
}

TEST_WITH(sizes_and_types_are_checked, set_up, tear_down) {
    const gantry_shape_t vector = GANTRY_SHAPE(6), line = GANTRY_SHAPE(2, 3),
                         image = GANTRY_SHAPE(2, 3, 1), long_line = GANTRY_SHAPE(3601, 1),
                         empty = GANTRY_SHAPE(0, 2);
    expect_no_model(gantry_conv1d_layer(1, 3, GANTRY_LINEAR, NULL), GANTRY_FLOAT32, &line, 1,
                    "layer Conv1D: the window is 3 wide, the input 2; \"valid\" padding");
    const gantry_kernel_options_t dilated = {.dilations = {2}};
    expect_no_model(gantry_conv1d_layer(1, 2, GANTRY_LINEAR, &dilated), GANTRY_FLOAT32, &line, 1,
                    "layer Conv1D: the window is 3 wide, the input 2;");
    expect_no_model(gantry_conv2d_layer(1, 3, GANTRY_LINEAR, NULL), GANTRY_FLOAT32, &image, 1,
                    "layer Conv2D: the window is 3 wide, the input 2;");
    expect_no_model(gantry_max_pool1d_layer(3, NULL), GANTRY_FLOAT32, &line, 1,
                    "layer MaxPooling1D: the window is 3 wide, the input 2;");
    expect_no_model(gantry_reshape_layer(GANTRY_SHAPE(4), NULL), GANTRY_FLOAT32, &vector, 1,
                    "layer Reshape: the input has shape [-1,6], whose samples do not fit [4]");
    expect_no_model(gantry_reshape_layer(GANTRY_SHAPE(4, -1), NULL), GANTRY_FLOAT32, &vector, 1,
                    "the input has shape [-1,6], whose samples do not fit [4,-1]");
    expect_no_model(gantry_reshape_layer(GANTRY_SHAPE(-1, -1), NULL), GANTRY_FLOAT32, &vector, 1,
                    "layer reshape");
    const gantry_recurrent_options_t unrolled = {.unroll = GANTRY_ON};
    expect_no_model(gantry_lstm(1, &unrolled), GANTRY_FLOAT32, &long_line, 1,
                    "the input has 3601 time steps; 1 to 3600 are accepted if they are unrolled");
    expect_no_model(gantry_gru(1, NULL), GANTRY_FLOAT32, &empty, 1, "the input has 0 time steps");
    expect_no_model(gantry_embedding(3, 2, NULL, NULL), GANTRY_FLOAT32, &vector, 1,
                    "layer embedding: the input is float32; int32 and int64 are accepted");
    expect_no_model(gantry_dense(2, GANTRY_LINEAR, NULL), GANTRY_INT32, &vector, 1, "layer dense");
    expect_no_model(gantry_lstm(2, NULL), GANTRY_FLOAT64, &line, 1, "layer lstm");
    expect_no_model(gantry_concatenate_layer(5, NULL), GANTRY_FLOAT32,
                    (gantry_shape_t[]){line, line}, 2, "layer concatenate");
    expect_no_model(gantry_concatenate_layer(-1, NULL), GANTRY_FLOAT32,
                    (gantry_shape_t[]){line, vector}, 2, "layer concatenate");
    expect_no_model(gantry_add_layer(NULL), GANTRY_FLOAT32, (gantry_shape_t[]){line, vector}, 2,
                    "layer add");
    expect_no_model(gantry_multi_head_attention(1, 2, NULL), GANTRY_FLOAT32,
                    (gantry_shape_t[]){line, line, GANTRY_SHAPE(3, 3)}, 3,
                    "layer MultiHeadAttention: 2 values with 3 keys; as many keys are accepted");
}

TEST_WITH(input_counts_are_checked, set_up, tear_down) {
    const gantry_shape_t inputs[] = {GANTRY_SHAPE(2, 2), GANTRY_SHAPE(2, 2), GANTRY_SHAPE(2, 2),
                                     GANTRY_SHAPE(2, 2)};
    gantry_layer_t *const of_one[] = {gantry_dense(1, GANTRY_LINEAR, NULL),
                                      gantry_embedding(2, 2, NULL, NULL),
                                      gantry_conv1d_layer(1, 1, GANTRY_LINEAR, NULL),
                                      gantry_max_pool1d_layer(1, NULL),
                                      gantry_global_avg_pool(NULL),
                                      gantry_flatten(NULL),
                                      gantry_reshape_layer(GANTRY_SHAPE(4), NULL),
                                      gantry_dropout_layer(0.5, NULL),
                                      gantry_activation_layer(GANTRY_RELU, NULL),
                                      gantry_batch_normalization(NULL),
                                      gantry_masking_layer(0, NULL)};
    for (size_t i = 0; i < sizeof of_one / sizeof of_one[0]; ++i)
        expect_no_model(of_one[i], GANTRY_FLOAT32, inputs, 2, "has 2 inputs; 1 is accepted");
    expect_no_model(gantry_lstm(2, NULL), GANTRY_FLOAT32, inputs, 2,
                    "layer LSTM has 2 inputs; 1, or 3 with the first states, are accepted");
    expect_no_model(gantry_gru(2, NULL), GANTRY_FLOAT32, inputs, 3,
                    "layer GRU has 3 inputs; 1, or 2 with the first states, are accepted");
    expect_no_model(gantry_gru(2, NULL), GANTRY_FLOAT32, inputs, 2,
                    "layer GRU: first state 0 has shape [-1,2,2]; [batch, 2] is accepted");
    expect_no_model(gantry_bidirectional(gantry_gru(2, NULL), GANTRY_MERGE_SUM, NULL),
                    GANTRY_FLOAT32, inputs, 2,
                    "layer Bidirectional has 2 inputs; 1, or 3 with the first states");
    expect_no_model(gantry_add_layer(NULL), GANTRY_FLOAT32, inputs, 1,
                    "layer Add has 1 inputs; 2 or more are accepted");
    expect_no_model(gantry_concatenate_layer(-1, NULL), GANTRY_FLOAT32, inputs, 1,
                    "layer Concatenate has 1 inputs; 2 or more are accepted");
    expect_no_model(
        gantry_multi_head_attention(1, 1, NULL), GANTRY_FLOAT32, inputs, 4,
        "layer MultiHeadAttention has 4 inputs; 1 to 3 are accepted: query, value, key");
}

/* A layer that failed is not the model's only error: the text reaches gantry_model_build. */
TEST_WITH(a_missing_layer_is_the_models_first_error, set_up, tear_down) {
    gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
    (void)gantry_model_add(model, gantry_lstm(0, NULL));
    (void)gantry_model_add(model, gantry_dense(1, GANTRY_LINEAR, NULL));
    expect_refusal(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2)),
                   GANTRY_INVALID_ARGUMENT, "layer LSTM: units is 0");
    gantry_model_release(model);
}

/* ---- memory runs out ---- */

static gantry_status_t build_and_call(void *user) {
    const size_t index = *(const size_t *)user;
    const train_layer_case_t *c = &train_layer_cases[index];
    int32_t values[TRAIN_LAYER_INPUTS];
    const gantry_tensor_t *inputs[TRAIN_LAYER_INPUTS];
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    gantry_model_t *model = gantry_functional(fixture.runtime, NULL);
    const gantry_dtype_t dtype = c->dtype == GANTRY_INT64 ? c->dtype : GANTRY_FLOAT32;
    uint32_t state = c->seed;
    for (size_t i = 0; i < c->input_count; ++i) {
        gantry_shape_t sample = {.rank = c->shapes[i].rank - 1};
        for (int32_t d = 0; d < sample.rank; ++d) sample.dims[d] = c->shapes[i].dims[d + 1];
        values[i] = gantry_model_input(model, dtype, sample);
        inputs[i] = train_layer_tensor(scope, &state, dtype, c->shapes[i], 1024);
    }
    (void)gantry_model_set_output(model, train_layer_apply(index, model, values));
    const bool is_done = gantry_model_build(model, GANTRY_DTYPE_NONE, GANTRY_SCALAR) == GANTRY_OK &&
                         gantry_model_call(model, scope, inputs, c->input_count, c->training);
    gantry_model_release(model);
    gantry_scope_clear(scope);
    (void)gantry_scope_end(scope);
    return is_done ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED; /* a NULL is refused by what takes it */
}

/* Every 5th case; each allocation of the training library fails once, and is seen. */
TEST_WITH(layers_without_host_memory_leak_nothing, set_up, tear_down) {
    for (size_t index = 0; index < TRAIN_LAYER_CASES; index += 5)
        assert_true(train_heap_fail_each(train_layer_cases[index].name, build_and_call, &index) >
                    0);
}

/* Builds a model of one layer that takes sequences, and calls it in training, with gradients. */
static gantry_status_t train_once(gantry_scope_t *scope, gantry_layer_t *layer) {
    const gantry_tensor_t *gradient, *y = NULL;
    const gantry_tensor_t *x = gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3, 2));
    gantry_model_t *model = gantry_sequential(gantry_scope_runtime(scope), NULL);
    (void)gantry_model_add(model, layer);
    gantry_status_t status = model ? gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(3, 2))
                                   : GANTRY_RESOURCE_EXHAUSTED;
    if (status == GANTRY_OK) status = gantry_scope_status(scope);
    if (status == GANTRY_OK) {
        gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
        const gantry_source_t source = {.tensor = x};
        (void)gantry_tape_watch(tape, x);
        y = gantry_model_call(model, scope, &x, 1, true);
        (void)gantry_tape_gradient(tape, y, NULL, &source, 1, NULL, &gradient);
        gantry_tape_end(tape);
        status = gantry_scope_status(scope);
    }
    gantry_model_release(model);
    return status;
}

static gantry_status_t train_lstm(gantry_scope_t *scope) {
    return train_once(scope, gantry_lstm(2, NULL));
}

static gantry_status_t train_gru(gantry_scope_t *scope) {
    return train_once(scope, gantry_gru(2, NULL));
}

static gantry_status_t train_attention(gantry_scope_t *scope) {
    const gantry_attention_options_t options = {.dropout = 0.5, .causal = true};
    return train_once(scope, gantry_multi_head_attention(2, 2, &options));
}

TEST_WITH(layers_without_memory_of_the_runtime_leak_nothing, runtime_fixture_set_up, NULL) {
    runtime_fixture_starve_each(0, NULL, train_lstm);
    runtime_fixture_starve_each(0, NULL, train_gru);
    runtime_fixture_starve_each(0, NULL, train_attention);
}

int main(void) { return test_main(); }
