/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A word that an embedding does not have is refused before the step and keeps the weights,
 * also where built-in layers moved or computed it, on the CPU and on a GPU.
 * Promise: A word that layers leave out, or bring into the range, is accepted.
 * Promise: Words that a Dropout would scale are refused in training.
 * Promise: Whichever allocation of the check of words fails, nothing leaks. */
#define _XOPEN_SOURCE 700

#include "test.h"
#include "train_runtime.h"

#include <gantry_train/train.h>
#include <string.h>

enum { ROWS = 4, LENGTH = 6, WORDS = 10 };

static int32_t words[ROWS * LENGTH];
static float labels[ROWS];

static void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

/* ---- what is between the words and the embedding ---- */

typedef int32_t (*chain_fn)(gantry_model_t *model, int32_t words);

static int32_t apply(gantry_model_t *model, gantry_layer_t *layer, int32_t value) {
    const int32_t made = gantry_model_apply(model, layer, &value, 1);
    if (made < 0) fail_msg("%s", gantry_last_message());
    return made;
}

static int32_t as_matrix(gantry_model_t *model, int32_t value) {
    return apply(model, gantry_reshape_layer(GANTRY_SHAPE(2, 3), NULL), value);
}

static int32_t flatten_matrix(gantry_model_t *model, int32_t value) {
    return apply(model, gantry_flatten(NULL), as_matrix(model, value));
}

static int32_t permute_matrix(gantry_model_t *model, int32_t value) {
    return apply(model, gantry_permute_layer((int32_t[]){2, 1}, 2, NULL), as_matrix(model, value));
}

static int32_t repeat_vector(gantry_model_t *model, int32_t value) {
    return apply(model, gantry_repeat_vector_layer(2, NULL), value);
}

static int32_t up_sample(gantry_model_t *model, int32_t value) {
    return apply(model, gantry_up_sampling1d_layer(2, NULL), as_matrix(model, value));
}

static int32_t pad_zeros(gantry_model_t *model, int32_t value) {
    return apply(model, gantry_zero_padding1d_layer(1, 0, NULL), as_matrix(model, value));
}

/* Leaves out the first three words of each sample. */
static int32_t crop(gantry_model_t *model, int32_t value) {
    return apply(model, gantry_cropping1d_layer(1, 0, NULL), as_matrix(model, value));
}

static int32_t flatten_steps(gantry_model_t *model, int32_t value) {
    value = apply(model, gantry_reshape_layer(GANTRY_SHAPE(2, 3, 1), NULL), value);
    return apply(model, gantry_time_distributed(gantry_flatten(NULL), NULL), value);
}

static int32_t join_both(gantry_model_t *model, int32_t value) {
    const int32_t both[] = {value, apply(model, gantry_activation_layer(GANTRY_RELU, NULL), value)};
    return gantry_model_apply(model, gantry_concatenate_layer(1, NULL), both, 2);
}

static int32_t add_both(gantry_model_t *model, int32_t value) {
    const int32_t both[] = {value, value};
    return gantry_model_apply(model, gantry_add_layer(NULL), both, 2);
}

/* Negative words become 0. */
static int32_t rectify(gantry_model_t *model, int32_t value) {
    return apply(model, gantry_activation_layer(GANTRY_RELU, NULL), value);
}

static const struct {
    const char *name;
    chain_fn make;
    size_t place; /* of the word */
    int32_t word;
    const char *text; /* of the error; NULL: the word is accepted */
} rows[] = {
    {"Reshape", as_matrix, 16, WORDS, "indices[2,1,1] = 10 is not in [0, 10)"},
    {"Reshape, Flatten", flatten_matrix, 16, -1, "indices[2,4] = -1 is not in [0, 10)"},
    {"Reshape, Permute", permute_matrix, 16, WORDS, "indices[2,1,1] = 10 is not in [0, 10)"},
    {"RepeatVector", repeat_vector, 7, 99, "indices[1,0,1] = 99 is not in [0, 10)"},
    {"UpSampling1D", up_sample, 16, WORDS, "indices[2,2,1] = 10 is not in [0, 10)"},
    {"ZeroPadding1D", pad_zeros, 16, WORDS, "indices[2,2,1] = 10 is not in [0, 10)"},
    {"Cropping1D, of another word", crop, 16, WORDS, "indices[2,0,1] = 10 is not in [0, 10)"},
    {"Cropping1D, of this word", crop, 13, WORDS, NULL},
    {"TimeDistributed", flatten_steps, 16, WORDS, "indices[2,1,1] = 10 is not in [0, 10)"},
    {"Concatenate", join_both, 16, WORDS, "indices[2,4] = 10 is not in [0, 10)"},
    {"Add", add_both, 16, 5, "indices[2,4] = 10 is not in [0, 10)"},
    {"Activation, a large word", rectify, 16, WORDS, "indices[2,4] = 10 is not in [0, 10)"},
    {"Activation, a negative word", rectify, 16, -3, NULL},
};

static gantry_model_t *make_model(const char *device, chain_fn chain) {
    gantry_model_t *model = gantry_functional(
        runtime, &(gantry_model_options_t){.name = "model", .seed = 3, .device = device});
    int32_t value = chain(model, gantry_model_input(model, GANTRY_INT32, GANTRY_SHAPE(LENGTH)));
    value = apply(model, gantry_embedding(WORDS, 2, NULL, "words"), value);
    value = apply(model, gantry_flatten(NULL), value);
    (void)apply(model, gantry_dense(1, GANTRY_LINEAR, NULL), value);
    must(gantry_model_compile(model,
                              &(gantry_compile_options_t){.optimizer = gantry_sgd(NULL),
                                                          .loss = GANTRY_MEAN_SQUARED_ERROR}));
    return model;
}

static void make_words(size_t place, int32_t word) {
    for (size_t i = 0; i < ROWS * LENGTH; ++i) words[i] = (int32_t)(i * 7 % (WORDS / 2));
    for (size_t i = 0; i < ROWS; ++i) labels[i] = (float)i;
    words[place] = word;
}

static gantry_dataset_t *make_data(void) {
    const gantry_array_t arrays[] = {{GANTRY_INT32, GANTRY_SHAPE(ROWS, LENGTH), words},
                                     {GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, 1), labels}};
    return gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, true), ROWS, false);
}

static void read_words(const gantry_model_t *model, float *out) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    must(gantry_tensor_read(gantry_variable_read(scope, gantry_model_variable(model, 0, 0)), out,
                            sizeof(float) * WORDS * 2));
    must(gantry_scope_end(scope));
}

static void fit(gantry_model_t *model, const char *name, const char *text) {
    gantry_dataset_t *data = make_data();
    const gantry_status_t status = gantry_model_fit(model, data, NULL);
    if (text && (status != GANTRY_INVALID_ARGUMENT || !strstr(gantry_last_message(), text)))
        fail_msg("%s: \"%s\" lacks \"%s\"", name, gantry_last_message(), text);
    if (!text && status != GANTRY_OK) fail_msg("%s: %s", name, gantry_last_message());
    gantry_dataset_release(data);
}

static void check_rows(const char *device) {
    float before[WORDS * 2], after[WORDS * 2];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        gantry_model_t *model = make_model(device, rows[i].make);
        make_words(0, 1);
        fit(model, rows[i].name, NULL);
        read_words(model, before);
        make_words(rows[i].place, rows[i].word);
        fit(model, rows[i].name, rows[i].text);
        read_words(model, after);
        assert_int_equal(memcmp(before, after, sizeof before) == 0, rows[i].text != NULL);
        make_words(0, 1);
        fit(model, rows[i].name, NULL);
        gantry_model_release(model);
    }
}

TEST(moved_words_are_checked_on_the_cpu) { check_rows("/CPU:0"); }

TEST(moved_words_are_checked_on_a_gpu) {
    need_opencl();
    check_rows("/GPU:0");
}

static int32_t drop_some(gantry_model_t *model, int32_t value) {
    return apply(model, gantry_dropout_layer(0.5, NULL), value);
}

/* Scaled words are others, and each step draws anew, so that no check before the step sees them. */
TEST(dropped_words_are_refused) {
    make_words(0, 1);
    gantry_model_t *model = make_model("/CPU:0", drop_some);
    fit(model, "Dropout", "layer Dropout: the input is int32; floats are accepted");
    size_t needed;
    gantry_dataset_t *data = make_data();
    must(gantry_model_predict(model, data, NULL, 0, &needed)); /* nothing is dropped */
    gantry_dataset_release(data);
    gantry_model_release(model);
}

static gantry_status_t predict_once(void *user) {
    size_t needed;
    gantry_dataset_t *data = make_data();
    const gantry_status_t status =
        data ? gantry_model_predict(user, data, NULL, 0, &needed) : GANTRY_RESOURCE_EXHAUSTED;
    gantry_dataset_release(data);
    return status;
}

/* The model is built, so that what fails is the check and the step. */
TEST(failing_allocations_of_a_check_leak_nothing) {
    make_words(0, 1);
    gantry_model_t *model = make_model("/CPU:0", join_both);
    fit(model, "Concatenate", NULL);
    must(predict_once(model));
    const long live = train_heap_live();
    train_heap_reset(-1);
    assert_in_range(train_heap_fail_each("predict", predict_once, model), 10, 1000);
    gantry_model_release(model);
    assert_int_equal(train_heap_live(), -live);
    train_heap_reset(-1);
}

int main(void) { return test_main_with(open_runtime, close_runtime, NULL, NULL); }
