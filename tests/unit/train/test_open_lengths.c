/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Models with open sizes train on batches of different lengths as Keras's, with the bits
 * of models that are built for each length; what a length does not fit is refused.
 * Promise: A layer that needs a known size is refused by name where its input has an open one, and
 * nothing changes. */
#define _XOPEN_SOURCE 700

#include <string.h>

#include "test.h"
#include "train_fixture.h"
#include "train_layer_case.h"

enum { MOST_NUMBERS = 320, MOST_BATCHES = 24, MOST_ELEMENTS = 128 };

typedef struct open_case_t {
    size_t count;
    double numbers[MOST_NUMBERS]; /* evaluate, outputs, losses of two epochs, weights */
} open_case_t;

static const open_case_t open_cases[] = {
#include "train_open_cases.inc"
};

static void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

static void expect_invalid(gantry_status_t status, const char *text) {
    assert_int_equal(status, GANTRY_INVALID_ARGUMENT);
    if (!strstr(gantry_last_message(), text))
        fail_msg("\"%s\" has no \"%s\"", gantry_last_message(), text);
}

/* ---- batches of different lengths ---- */

typedef struct batch_t {
    gantry_array_t x, y;
    double x_elements[MOST_ELEMENTS], y_elements[MOST_ELEMENTS];
} batch_t;

static struct {
    batch_t list[MOST_BATCHES];
    int64_t count, next;
} batches;

static gantry_status_t begin_batches(void *user, void **out_state) {
    (void)user;
    batches.next = 0;
    *out_state = NULL;
    return GANTRY_OK;
}

static void give(gantry_element_t *element, size_t index, const gantry_array_t *array) {
    const size_t bytes =
        (size_t)gantry_shape_elements(&array->shape) * gantry_dtype_size(array->dtype);
    void *to = gantry_element_component(element, index, array->dtype, &array->shape);
    assert_non_null(to);
    if (bytes > 0) memcpy(to, array->data, bytes);
}

static gantry_status_t next_batch(void *state, gantry_element_t *element, bool *out_end) {
    (void)state;
    *out_end = batches.next == batches.count;
    if (*out_end) return GANTRY_OK;
    give(element, 0, &batches.list[batches.next].x);
    give(element, 1, &batches.list[batches.next++].y);
    return GANTRY_OK;
}

static gantry_dataset_t *open_batches(void) {
    const gantry_dataset_source_t source = {
        .struct_size = sizeof source, .begin = begin_batches, .next = next_batch};
    return gantry_dataset_from_callback(&source);
}

static void fill(gantry_array_t *array, double *elements, gantry_dtype_t dtype,
                 gantry_shape_t shape, double scale, uint32_t *state) {
    assert_in_range(gantry_shape_elements(&shape), 0, MOST_ELEMENTS);
    *array = (gantry_array_t){dtype, shape, elements};
    (void)train_layer_fill(state, dtype, shape, scale, elements);
}

static void add_words(int64_t rows, int64_t steps, uint32_t *state) {
    batch_t *batch = &batches.list[batches.count++];
    fill(&batch->x, batch->x_elements, GANTRY_INT64, GANTRY_SHAPE(rows, steps), 1, state);
    batch->y = (gantry_array_t){GANTRY_INT64, GANTRY_SHAPE(rows), batch->y_elements};
    for (int64_t i = 0; i < rows; ++i)
        ((int64_t *)batch->y_elements)[i] = train_layer_draw(state, 3);
}

static void add_steps(int64_t rows, int64_t steps, uint32_t *state) {
    batch_t *batch = &batches.list[batches.count++];
    const gantry_shape_t shape = GANTRY_SHAPE(rows, steps, 2);
    fill(&batch->x, batch->x_elements, GANTRY_FLOAT64, shape, 1024, state);
    fill(&batch->y, batch->y_elements, GANTRY_FLOAT64, shape, 4096, state);
}

/* One sequence and its label, which gantry_dataset_padded_batch joins with others. */
static void add_sequence(int64_t rows, int64_t steps, uint32_t *state) {
    batch_t *batch = &batches.list[batches.count];
    assert_int_equal(rows, 1);
    add_words(1, steps, state);
    batch->x.shape = GANTRY_SHAPE(steps);
    batch->y.shape = GANTRY_SCALAR;
}

/* ---- the models of make_open_cases.py ---- */

static void compile(gantry_model_t *m, gantry_loss_t loss, gantry_metric_t *metric) {
    must(gantry_model_compile(
        m, &(gantry_compile_options_t){
               .optimizer = gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 0.5}),
               .loss = loss,
               .metrics = &metric,
               .metric_count = metric ? 1 : 0}));
}

static gantry_model_t *make_words(const gantry_strategy_t *strategy) {
    gantry_model_t *m = gantry_sequential(
        fixture.runtime, &(gantry_model_options_t){.dtype = GANTRY_FLOAT64, .strategy = strategy});
    (void)gantry_model_add(m, gantry_embedding(TRAIN_LAYER_TABLE, 3, NULL, NULL));
    (void)gantry_model_add(m, gantry_conv1d_layer(4, 3, GANTRY_RELU, NULL));
    (void)gantry_model_add(m, gantry_max_pool1d_layer(2, NULL));
    (void)gantry_model_add(m, gantry_global_max_pool(NULL));
    (void)gantry_model_add(m, gantry_dense(3, GANTRY_SOFTMAX, NULL));
    must(gantry_model_build(m, GANTRY_INT64, GANTRY_SHAPE(-1)));
    compile(
        m, GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY,
        gantry_sparse_categorical_accuracy(&(gantry_metric_options_t){.dtype = GANTRY_FLOAT64}));
    return m;
}

static gantry_model_t *make_steps(const gantry_strategy_t *strategy) {
    const gantry_recurrent_options_t all = {.return_sequences = true};
    gantry_model_t *m = gantry_sequential(
        fixture.runtime, &(gantry_model_options_t){.dtype = GANTRY_FLOAT64, .strategy = strategy});
    (void)gantry_model_add(m, gantry_lstm(3, &all));
    (void)gantry_model_add(m, gantry_dense(2, GANTRY_TANH, NULL));
    must(gantry_model_build(m, GANTRY_FLOAT64, GANTRY_SHAPE(-1, 2)));
    compile(m, GANTRY_MEAN_SQUARED_ERROR, NULL);
    return m;
}

static gantry_model_t *make_padded(const gantry_strategy_t *strategy) {
    gantry_model_t *m = gantry_sequential(
        fixture.runtime, &(gantry_model_options_t){.dtype = GANTRY_FLOAT64, .strategy = strategy});
    (void)gantry_model_add(m, gantry_masked_embedding(TRAIN_LAYER_TABLE, 3, NULL, NULL));
    (void)gantry_model_add(m, gantry_gru(2, NULL));
    (void)gantry_model_add(m, gantry_dense(3, GANTRY_SOFTMAX, NULL));
    must(gantry_model_build(m, GANTRY_INT64, GANTRY_SHAPE(-1)));
    compile(m, GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY, NULL);
    return m;
}

static const struct {
    gantry_model_t *(*make)(const gantry_strategy_t *strategy);
    void (*add)(int64_t rows, int64_t steps, uint32_t *state);
    size_t values; /* of evaluate */
    int64_t sizes[8][2];
    int64_t padded; /* sequences of a batch; 0: elements are batches */
} programs[] = {
    {make_words, add_words, 2, {{4, 5}, {4, 8}, {4, 5}, {3, 12}}, 0},
    {make_steps, add_steps, 1, {{4, 5}, {4, 8}, {4, 5}, {3, 12}}, 0},
    {make_padded, add_sequence, 1, {{1, 3}, {1, 5}, {1, 2}, {1, 4}, {1, 6}, {1, 1}, {1, 7}}, 3},
};

enum { PROGRAMS = sizeof programs / sizeof programs[0] };

static void set_weights(gantry_model_t *model, uint32_t *state) {
    static double bytes[MOST_NUMBERS];
    for (size_t i = 0; i < gantry_model_variable_count(model); ++i) {
        const gantry_shape_t *shape = gantry_variable_shape(gantry_model_variable(model, i, NULL));
        const size_t count = train_layer_fill(state, GANTRY_FLOAT64, *shape, 4096, bytes);
        must(gantry_model_set_variable(model, i, bytes, count));
    }
}

/* ---- Keras's numbers ---- */

static size_t expect_numbers(const open_case_t *c, size_t at, const double *got, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const double wanted = c->numbers[at + i];
        if (!(fabs(got[i] - wanted) <= 1e-10 * (1 + fabs(wanted))))
            fail_msg("case %zu: number %zu is %.15g; Keras has %.15g", (size_t)(c - open_cases),
                     at + i, got[i], wanted);
    }
    return at + count;
}

static size_t read_weights(gantry_model_t *model, double *out) {
    size_t count = 0;
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    for (size_t i = 0; i < gantry_model_variable_count(model); ++i) {
        const gantry_tensor_t *value =
            gantry_variable_read(scope, gantry_model_variable(model, i, NULL));
        must(gantry_tensor_read(value, out + count, gantry_tensor_bytes(value)));
        count += (size_t)gantry_tensor_elements(value);
    }
    expect_ended_well(scope);
    return count;
}

typedef struct losses_t {
    double list[2];
    size_t count;
} losses_t;

static gantry_status_t note_loss(gantry_model_t *model, int64_t epoch, const gantry_logs_t *logs,
                                 bool *stop, void *user) {
    losses_t *losses = user;
    (void)model, (void)epoch, (void)stop;
    losses->list[losses->count++] = logs->values[0];
    return GANTRY_OK;
}

static void train_two_epochs(gantry_model_t *model, gantry_dataset_t *data, losses_t *losses) {
    const gantry_callback_t noting = {
        .struct_size = sizeof noting, .user = losses, .epoch_end = note_loss};
    const gantry_callback_t *const list[] = {&noting};
    must(gantry_model_fit(
        model, data, &(gantry_fit_options_t){.epochs = 2, .callbacks = list, .callback_count = 1}));
}

static void follow(size_t index, const gantry_strategy_t *strategy) {
    const open_case_t *c = &open_cases[index];
    double numbers[MOST_NUMBERS];
    size_t bytes, at;
    losses_t losses = {.count = 0};
    uint32_t state = 300 + (uint32_t)index;
    batches.count = 0;
    for (const int64_t(*size)[2] = programs[index].sizes; (*size)[0] > 0; ++size)
        programs[index].add((*size)[0], (*size)[1], &state);
    gantry_model_t *model = programs[index].make(strategy);
    gantry_dataset_t *data = open_batches();
    if (programs[index].padded > 0)
        data = gantry_dataset_padded_batch(data, programs[index].padded, NULL);
    set_weights(model, &state);
    must(gantry_model_evaluate(model, data, numbers, programs[index].values));
    at = expect_numbers(c, 0, numbers, programs[index].values);
    must(gantry_model_predict(model, data, numbers, sizeof numbers, &bytes));
    at = expect_numbers(c, at, numbers, bytes / sizeof *numbers);
    train_two_epochs(model, data, &losses);
    at = expect_numbers(c, at, losses.list, losses.count);
    at = expect_numbers(c, at, numbers, read_weights(model, numbers));
    assert_int_equal(at, c->count);
    gantry_dataset_release(data);
    gantry_model_release(model);
}

TEST(losses_outputs_and_weights_are_those_of_keras) {
    for (size_t i = 0; i < PROGRAMS; ++i) follow(i, NULL);
}

TEST(two_devices_have_the_numbers_of_one) {
    static const char *const devices[] = {"CPU:0", "CPU:1"};
    assert_int_equal(gantry_set_logical_cpu_devices(fixture.runtime, 2), GANTRY_OK);
    gantry_strategy_t *strategy = gantry_mirrored_strategy(fixture.runtime, devices, 2);
    for (size_t i = 0; i < PROGRAMS; ++i) follow(i, strategy);
    gantry_strategy_release(strategy);
}

/* ---- the bits of a model of one length ---- */

static int32_t apply(gantry_model_t *m, gantry_layer_t *layer, int32_t value) {
    return gantry_model_apply(m, layer, &value, 1);
}

static int32_t join(gantry_model_t *m, int32_t a, int32_t b) {
    return gantry_model_apply(m, gantry_concatenate_layer(-1, NULL), (int32_t[]){a, b}, 2);
}

/* Each kind of layer that takes open sizes. */
static gantry_model_t *make_all(int64_t steps) {
    const gantry_kernel_options_t same = {.same_padding = true};
    const gantry_recurrent_options_t all = {.return_sequences = true};
    gantry_model_t *m = gantry_functional(
        fixture.runtime, &(gantry_model_options_t){.dtype = GANTRY_FLOAT32, .seed = 7});
    const int32_t words = gantry_model_input(m, GANTRY_INT64, GANTRY_SHAPE(steps));
    const int32_t e = apply(m, gantry_masked_embedding(TRAIN_LAYER_TABLE, 4, NULL, NULL), words);
    int32_t x = apply(m, gantry_conv1d_layer(4, 3, GANTRY_RELU, &same), e);
    x = gantry_model_apply(m, gantry_add_layer(NULL), (int32_t[]){e, x}, 2);
    x = apply(m, gantry_layer_normalization(NULL), x);
    x = apply(m, gantry_multi_head_attention(2, 2, NULL), x);
    x = apply(m, gantry_dropout_layer(0.25, NULL), x);
    x = apply(m, gantry_activation_layer(GANTRY_TANH, NULL), x);
    x = apply(m, gantry_dense(4, GANTRY_RELU, NULL), x);
    x = apply(m, gantry_bidirectional(gantry_gru(3, &all), GANTRY_MERGE_CONCAT, NULL), x);
    x = apply(m, gantry_batch_normalization(NULL), x);
    const int32_t y = apply(m, gantry_lstm(3, NULL), x);
    int32_t z = apply(m, gantry_simple_rnn(3, &all), x);
    z = apply(m, gantry_avg_pool1d_layer(2, NULL), z);
    z = join(m, apply(m, gantry_global_max_pool(NULL), z),
             apply(m, gantry_global_avg_pool(NULL), z));
    x = apply(m, gantry_reshape_layer(GANTRY_SHAPE(-1, 2), NULL), x);
    z = join(m, z, apply(m, gantry_global_avg_pool(NULL), x));
    (void)apply(m, gantry_dense(3, GANTRY_SOFTMAX, NULL), join(m, y, z));
    must(gantry_model_build(m, GANTRY_DTYPE_NONE, GANTRY_SCALAR));
    compile(m, GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY, NULL);
    return m;
}

typedef struct result_t {
    float outputs[64];
    size_t output_bytes;
    float weights[2048];
    size_t weight_count;
} result_t;

static void read_floats(gantry_model_t *model, result_t *out) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    out->weight_count = 0;
    for (size_t i = 0; i < gantry_model_variable_count(model); ++i) {
        const gantry_tensor_t *value =
            gantry_variable_read(scope, gantry_model_variable(model, i, NULL));
        must(gantry_tensor_read(value, out->weights + out->weight_count,
                                gantry_tensor_bytes(value)));
        out->weight_count += (size_t)gantry_tensor_elements(value);
    }
    expect_ended_well(scope);
}

static void train_all(int64_t steps, result_t *out) {
    gantry_model_t *model = make_all(steps);
    gantry_dataset_t *data = open_batches();
    must(gantry_model_fit(model, data, NULL));
    must(gantry_model_predict(model, data, out->outputs, sizeof out->outputs, &out->output_bytes));
    read_floats(model, out);
    gantry_dataset_release(data);
    gantry_model_release(model);
}

TEST(a_length_has_the_bits_of_a_model_built_for_it) {
    static result_t open, fixed;
    for (int64_t steps = 2; steps < 20; steps += 11) {
        uint32_t draws = (uint32_t)steps;
        batches.count = 0;
        for (size_t i = 0; i < 2; ++i) add_words(4, steps, &draws);
        train_all(-1, &open);
        train_all(steps, &fixed);
        assert_int_equal(open.weight_count, fixed.weight_count);
        assert_int_equal(open.output_bytes, fixed.output_bytes);
        assert_memory_equal(open.weights, fixed.weights, 4 * open.weight_count);
        assert_memory_equal(open.outputs, fixed.outputs, open.output_bytes);
    }
}

/* A function keeps 16 traces; one that made room is made again. */
TEST(more_lengths_than_traces_have_the_same_bits_again) {
    static double first[MOST_BATCHES * 6], again[MOST_BATCHES * 6];
    uint32_t draws = 1;
    size_t bytes;
    batches.count = 0;
    for (int64_t steps = 4; steps < 24; ++steps) add_words(2, steps, &draws);
    gantry_model_t *model = make_words(NULL);
    gantry_dataset_t *data = open_batches();
    set_weights(model, &draws);
    must(gantry_model_predict(model, data, first, sizeof first, &bytes));
    assert_int_equal(bytes, 20 * 6 * sizeof *first);
    must(gantry_model_predict(model, data, again, sizeof again, &bytes));
    assert_memory_equal(first, again, bytes);
    gantry_dataset_release(data);
    gantry_model_release(model);
}

/* A first try with 960 and 1,920 steps is too short for the window. */
TEST(wide_windows_have_open_lengths) {
    char text[4096];
    gantry_model_t *m = gantry_sequential(fixture.runtime, NULL);
    (void)gantry_model_add(m, gantry_dense(2, GANTRY_LINEAR, NULL));
    (void)gantry_model_add(m, gantry_max_pool1d_layer(5000, NULL));
    must(gantry_model_build(m, GANTRY_FLOAT32, GANTRY_SHAPE(-1, 3)));
    assert_int_equal(gantry_model_variable_count(m), 2);
    must(gantry_model_summary(m, text, sizeof text, NULL));
    assert_non_null(strstr(text, " max_pooling1d (MaxPooling1D)  (None, None, 2) "));
    gantry_model_release(m);
}

/* ---- bad input ---- */

static void expect_no_build(gantry_layer_t *first, gantry_layer_t *second, gantry_shape_t sample,
                            const char *text) {
    gantry_model_t *m = gantry_sequential(fixture.runtime, NULL);
    (void)gantry_model_add(m, first);
    if (second) (void)gantry_model_add(m, second);
    expect_invalid(gantry_model_build(m, GANTRY_FLOAT32, sample), text);
    gantry_model_release(m);
}

static gantry_layer_t *dense(void) { return gantry_dense(2, GANTRY_LINEAR, NULL); }

TEST(layers_that_need_a_size_are_named) {
    const gantry_recurrent_options_t unrolled = {.unroll = GANTRY_ON};
    expect_no_build(gantry_flatten(NULL), dense(), GANTRY_SHAPE(-1, 4),
                    "layer dense: gantry_layer_add_weight: weight kernel has shape [-1,2], in "
                    "which a dimension is not known");
    expect_no_build(dense(), NULL, GANTRY_SHAPE(-1),
                    "layer dense: gantry_layer_add_weight: weight");
    expect_no_build(gantry_conv1d_layer(2, 3, GANTRY_LINEAR, NULL), NULL, GANTRY_SHAPE(4, -1),
                    "layer conv1d: gantry_layer_add_weight: weight kernel has shape [3,-1,2]");
    expect_no_build(gantry_lstm(2, NULL), NULL, GANTRY_SHAPE(4, -1),
                    "layer lstm: gantry_layer_add_weight: weight kernel has shape [-1,8]");
    expect_no_build(gantry_layer_normalization(NULL), NULL, GANTRY_SHAPE(4, -1),
                    "layer layer_normalization: gantry_layer_add_weight: weight gamma has shape");
    expect_no_build(gantry_reshape_layer(GANTRY_SHAPE(5, 4), NULL), NULL, GANTRY_SHAPE(-1, 4),
                    "layer reshape: layer Reshape: the input has shape [-1,-1,4], whose elements "
                    "are not known; a shape with a size of -1 is accepted");
    expect_no_build(gantry_lstm(2, &unrolled), NULL, GANTRY_SHAPE(-1, 4),
                    "layer lstm: layer LSTM: the number of time steps is not known;");
    expect_no_build(gantry_reshape_layer(GANTRY_SHAPE(-1, 7), NULL), NULL, GANTRY_SHAPE(-1, 4),
                    "(960 and 1920 stand for sizes that are not known)");
    expect_no_build(dense(), NULL, GANTRY_SHAPE(-2, 4),
                    "dimension 0 of an input is -2; a size, or -1 for any, is accepted");
}

static void expect_bad_batch(gantry_model_t *model, gantry_array_t x, const char *text) {
    const gantry_array_t kept = batches.list[0].x;
    gantry_dataset_t *data = open_batches();
    double before[MOST_NUMBERS], after[MOST_NUMBERS];
    const size_t count = read_weights(model, before);
    batches.list[0].x = x;
    expect_invalid(gantry_model_fit(model, data, NULL), text);
    expect_invalid(gantry_model_predict(model, data, NULL, 0, NULL), text);
    assert_int_equal(read_weights(model, after), count);
    assert_memory_equal(before, after, count * sizeof *before);
    batches.list[0].x = kept;
    must(gantry_model_fit(model, data, NULL));
    gantry_dataset_release(data);
}

TEST(lengths_that_do_not_fit_are_refused_and_change_nothing) {
    uint32_t draws = 1;
    static const int64_t zeros[MOST_ELEMENTS];
    batches.count = 0;
    add_words(2, 6, &draws);
    gantry_model_t *m = make_words(NULL);
    expect_bad_batch(m, (gantry_array_t){GANTRY_INT64, GANTRY_SHAPE(2, 0), zeros},
                     "component 0 of a batch has shape [2,0]; [-1,-1] is accepted, where -1 is any "
                     "size from 1 on");
    expect_bad_batch(m, (gantry_array_t){GANTRY_INT64, GANTRY_SHAPE(2, 3), zeros},
                     "layer max_pooling1d: layer MaxPooling1D: the window is 2 wide, the input 1;");
    expect_bad_batch(m, (gantry_array_t){GANTRY_INT64, GANTRY_SHAPE(2, 1), zeros},
                     "layer conv1d: layer Conv1D: the window is 3 wide, the input 1;");
    expect_bad_batch(m, (gantry_array_t){GANTRY_INT64, GANTRY_SHAPE(2, 6, 1), zeros},
                     "has shape [2,6,1]; [-1,-1] is accepted");
    gantry_model_release(m);
}

TEST(known_sizes_of_an_open_input_are_checked) {
    static const double zeros[MOST_ELEMENTS];
    uint32_t draws = 1;
    batches.count = 0;
    add_steps(2, 6, &draws);
    gantry_model_t *m = make_steps(NULL);
    expect_bad_batch(m, (gantry_array_t){GANTRY_FLOAT64, GANTRY_SHAPE(2, 6, 3), zeros},
                     "has shape [2,6,3]; [-1,-1,2] is accepted");
    batches.list[0].x = (gantry_array_t){GANTRY_FLOAT64, GANTRY_SHAPE(2, 5, 2), zeros};
    gantry_dataset_t *data = open_batches();
    expect_invalid(gantry_model_fit(m, data, NULL), "labels of shape [2,6,2]");
    gantry_dataset_release(data);
    gantry_model_release(m);
}

/* Labels of the batches are the second input. */
TEST(inputs_whose_lengths_disagree_are_refused) {
    uint32_t draws = 1;
    gantry_model_t *m =
        gantry_functional(fixture.runtime, &(gantry_model_options_t){.dtype = GANTRY_FLOAT64});
    const int32_t a = gantry_model_input(m, GANTRY_FLOAT64, GANTRY_SHAPE(-1, 2)),
                  b = gantry_model_input(m, GANTRY_FLOAT64, GANTRY_SHAPE(-1, 2));
    (void)join(m, a, b);
    must(gantry_model_build(m, GANTRY_DTYPE_NONE, GANTRY_SCALAR));
    batches.count = 0;
    add_steps(2, 3, &draws);
    add_steps(2, 5, &draws);
    gantry_dataset_t *data = open_batches();
    const gantry_array_t kept = batches.list[0].y;
    batches.list[0].y = batches.list[1].y;
    batches.count = 1;
    expect_invalid(gantry_model_predict(m, data, NULL, 0, NULL), "layer concatenate: Concat: ");
    batches.list[0].y = kept;
    size_t bytes;
    must(gantry_model_predict(m, data, NULL, 0, &bytes));
    assert_int_equal(bytes, 2 * 3 * 4 * sizeof(double));
    gantry_dataset_release(data);
    gantry_model_release(m);
}

static gantry_status_t build_open(void *user) {
    (void)user;
    gantry_model_t *m = gantry_sequential(fixture.runtime, NULL);
    if (!m) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_layer_t *layer = gantry_gru(2, NULL);
    gantry_status_t status = layer ? gantry_model_add(m, layer) : GANTRY_RESOURCE_EXHAUSTED;
    if (status == GANTRY_OK) status = gantry_model_build(m, GANTRY_FLOAT32, GANTRY_SHAPE(-1, 4));
    gantry_model_release(m);
    return status;
}

TEST(building_without_memory_leaks_nothing) {
    assert_true(train_heap_fail_each("open", build_open, NULL) > 20);
}

int main(void) { return test_main_each(set_up, tear_down); }
