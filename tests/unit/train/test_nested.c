/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Models that are layers of other ones train, predict and have weights as in Keras; files
 * have their names; what does not fit is refused, and nothing leaks. */
#define _XOPEN_SOURCE 700

#include <string.h>

#include <math.h>
#include <unistd.h>

#include "test.h"
#include "train_layer_case.h"

#include "train_given.h"

#include <gantry_train/train.h>

enum { ROWS = 20, FEATURES = 3, BATCH = 6, EPOCHS = 2 };

/* ---- data and models: those of make_nested_cases.py ---- */

static double x[ROWS * FEATURES], x2[ROWS * FEATURES], y[ROWS * 2];

static gantry_dataset_t *make_batches(size_t input_count) {
    const gantry_array_t arrays[] = {{GANTRY_FLOAT64, GANTRY_SHAPE(ROWS, FEATURES), x},
                                     {GANTRY_FLOAT64, GANTRY_SHAPE(ROWS, FEATURES), x2},
                                     {GANTRY_FLOAT64, GANTRY_SHAPE(ROWS, 2), y}};
    const gantry_array_t one[] = {arrays[0], arrays[2]};
    for (int i = 0; i < ROWS * FEATURES; ++i) {
        x[i] = (double)(i * 37 % 64 - 32) / 32;
        x2[i] = (double)(i * 29 % 64 - 32) / 32;
    }
    for (int i = 0; i < ROWS * 2; ++i) y[i] = (double)(i * 23 % 32 - 16) / 16;
    return gantry_dataset_batch(
        gantry_dataset_from_arrays(input_count == 1 ? one : arrays, 1 + input_count, false), BATCH,
        false);
}

static gantry_model_t *named(gantry_runtime_t *runtime, const char *name, bool is_sequential) {
    const gantry_model_options_t options = {.name = name};
    return is_sequential ? gantry_sequential(runtime, &options)
                         : gantry_functional(runtime, &options);
}

static int32_t apply_one(gantry_model_t *model, gantry_layer_t *layer, int32_t value) {
    return gantry_model_apply(model, layer, &value, 1);
}

static int32_t block_of_one(gantry_model_t *model, gantry_model_t *block, int32_t value) {
    int32_t out;
    (void)gantry_model_apply_model(model, block, &value, 1, &out, 1);
    return out;
}

static gantry_model_t *make_mixer(gantry_runtime_t *runtime) {
    gantry_model_t *mixer = named(runtime, "mixer", false), *inner = named(runtime, "inner", true);
    const int32_t p = gantry_model_input(mixer, GANTRY_FLOAT64, GANTRY_SHAPE(4)),
                  q = gantry_model_input(mixer, GANTRY_FLOAT64, GANTRY_SHAPE(4));
    (void)gantry_model_add(inner, gantry_dense(3, GANTRY_TANH, NULL));
    const int32_t parts[] = {block_of_one(mixer, inner, p), block_of_one(mixer, inner, q)};
    const int32_t total = gantry_model_apply(mixer, gantry_add_layer(NULL), parts, 2);
    const int32_t outputs[] = {apply_one(mixer, gantry_dense(2, GANTRY_LINEAR, NULL), total),
                               total};
    (void)gantry_model_set_outputs(mixer, outputs, 2);
    gantry_model_release(inner);
    return mixer;
}

static gantry_model_t *make_twins(gantry_runtime_t *runtime,
                                  const gantry_model_options_t *options) {
    const gantry_norm_options_t norm = {.momentum = 0.5};
    gantry_model_t *model = gantry_functional(runtime, options),
                   *block = named(runtime, "block", true);
    const int32_t first = gantry_model_input(model, GANTRY_FLOAT64, GANTRY_SHAPE(FEATURES)),
                  second = gantry_model_input(model, GANTRY_FLOAT64, GANTRY_SHAPE(FEATURES));
    (void)gantry_model_add(block, gantry_dense(4, GANTRY_TANH, NULL));
    (void)gantry_model_add(block, gantry_batch_normalization(&norm));
    const int32_t pair[] = {block_of_one(model, block, first), block_of_one(model, block, second)};
    int32_t mixed[2];
    gantry_model_t *mixer = make_mixer(runtime);
    (void)gantry_model_apply_model(model, mixer, pair, 2, mixed, 2);
    gantry_model_release(mixer);
    gantry_model_release(block);
    const int32_t joined = gantry_model_apply(model, gantry_concatenate_layer(-1, NULL), mixed, 2);
    (void)apply_one(model, gantry_dense(2, GANTRY_LINEAR, NULL), joined);
    (void)gantry_model_build(model, GANTRY_DTYPE_NONE, GANTRY_SCALAR);
    return model;
}

static gantry_model_t *make_chain(gantry_runtime_t *runtime,
                                  const gantry_model_options_t *options) {
    gantry_model_t *model = gantry_sequential(runtime, options),
                   *block = named(runtime, "block", true);
    (void)gantry_model_add(block, gantry_dense(4, GANTRY_TANH, NULL));
    (void)gantry_model_add(block, gantry_dense(3, GANTRY_LINEAR, NULL));
    (void)gantry_model_add(model, gantry_dense(5, GANTRY_TANH, NULL));
    (void)gantry_model_add_model(model, block);
    gantry_model_release(block);
    (void)gantry_model_add(model, gantry_dense(2, GANTRY_LINEAR, NULL));
    (void)gantry_model_build(model, GANTRY_FLOAT64, GANTRY_SHAPE(FEATURES));
    return model;
}

typedef struct nested_case_t {
    gantry_model_t *(*make)(gantry_runtime_t *runtime, const gantry_model_options_t *options);
    size_t count;
    double numbers[MOST];
} nested_case_t;

static const nested_case_t nested_cases[] = {
#include "train_nested_cases.inc"
};

/* ---- a case ---- */

static gantry_model_t *make_model(gantry_runtime_t *runtime, const nested_case_t *c,
                                  const gantry_strategy_t *strategy) {
    const gantry_model_options_t options = {.dtype = GANTRY_FLOAT64, .strategy = strategy};
    gantry_model_t *model = c->make(runtime, &options);
    must(gantry_model_compile(
        model, &(gantry_compile_options_t){
                   .optimizer = gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 0.05}),
                   .loss = GANTRY_MEAN_SQUARED_ERROR}));
    return model;
}

static void set_weights(gantry_model_t *model) {
    uint32_t state = 11;
    for (size_t i = 0; i < gantry_model_variable_count(model); ++i) {
        double numbers[MOST];
        bool trained;
        const gantry_variable_t *variable = gantry_model_variable(model, i, &trained);
        const size_t bytes = train_layer_fill(&state, GANTRY_FLOAT64,
                                              *gantry_variable_shape(variable), 4096, numbers);
        for (size_t k = 0; !trained && k < bytes / 8; ++k) numbers[k] = fabs(numbers[k]) + 0.5;
        must(gantry_model_set_variable(model, i, numbers, bytes));
    }
}

static void expect_given(const nested_case_t *c, size_t first) {
    assert_int_equal(given_count + first, c->count);
    for (size_t i = 0; i < given_count; ++i) {
        const double wanted = c->numbers[first + i];
        if (!(fabs(given[i] - wanted) <= 1e-9 * (1 + fabs(wanted))))
            fail_msg("case %zu: number %zu is %.12g; Keras has %.12g", (size_t)(c - nested_cases),
                     first + i, given[i], wanted);
    }
}

static void give_predictions(gantry_model_t *model, gantry_dataset_t *batches) {
    double out[ROWS * 2];
    must(gantry_model_predict(model, batches, out, sizeof out, NULL));
    for (int i = 0; i < ROWS * 2; ++i) give(out[i]);
}

/* Trains, then gives all to another model by a file. */
static void follow(gantry_runtime_t *runtime, size_t number) {
    const nested_case_t *c = &nested_cases[number];
    const gantry_callback_t recorder = {.struct_size = sizeof recorder, .epoch_end = record},
                            *callbacks[] = {&recorder};
    char path[] = "/tmp/gantry_nested_XXXXXX";
    double loss;
    gantry_model_t *model = make_model(runtime, c, NULL), *loaded = make_model(runtime, c, NULL);
    gantry_dataset_t *batches = make_batches(number == 0 ? 2 : 1);
    set_weights(model);
    given_count = 0;
    must(gantry_model_fit(
        model, batches,
        &(gantry_fit_options_t){.epochs = EPOCHS, .callbacks = callbacks, .callback_count = 1}));
    must(gantry_model_evaluate(model, batches, &loss, 1));
    give(loss);
    give_predictions(model, batches);
    give_variables(runtime, model);
    expect_given(c, 0);
    (void)close(mkstemp(path));
    must(gantry_model_save(model, path));
    must(gantry_model_load(loaded, path));
    given_count = 0;
    give_predictions(loaded, batches);
    give_variables(runtime, loaded);
    expect_given(c, EPOCHS + 1);
    (void)unlink(path);
    gantry_dataset_release(batches);
    gantry_model_release(model);
    gantry_model_release(loaded);
}

TEST(blocks_train_as_in_keras) {
    for (size_t i = 0; i < 2; ++i) follow(fixture.runtime, i);
}

TEST(blocks_on_pocl_train_as_in_keras) {
    gantry_runtime_t *runtime = train_open_gpu();
    for (size_t i = 0; i < 2; ++i) follow(runtime, i);
    gantry_runtime_release(runtime);
}

TEST(weights_are_named_by_their_blocks) {
    static const char *const names[] = {"block/dense/kernel", "block/batch_normalization/gamma",
                                        "mixer/inner/dense/kernel", "mixer/dense/kernel",
                                        "dense/kernel"};
    size_t found = 0;
    gantry_model_t *model = make_model(fixture.runtime, &nested_cases[0], NULL);
    for (size_t i = 0; i < gantry_model_variable_count(model); ++i) {
        const char *name = gantry_variable_name(gantry_model_variable(model, i, NULL));
        if (found < 5 && strcmp(name, names[found]) == 0) ++found;
    }
    assert_int_equal(found, 5);
    gantry_model_release(model);
}

/* ---- bad input ---- */

static void expect_status(gantry_status_t status, gantry_status_t wanted_status, const char *text) {
    assert_int_equal(status, wanted_status);
    if (!strstr(gantry_last_message(), text))
        fail_msg("\"%s\" lacks \"%s\"", gantry_last_message(), text);
}

static gantry_model_t *make_block(void) {
    gantry_model_t *block = named(fixture.runtime, "block", true);
    (void)gantry_model_add(block, gantry_dense(2, GANTRY_LINEAR, NULL));
    return block;
}

/* A model keeps its first error, so that each has its own. */
static void refuse_application(gantry_model_t *block, int32_t value, size_t count, size_t outputs,
                               gantry_status_t status, const char *text) {
    int32_t out[2], values[] = {value, value};
    gantry_model_t *model = named(fixture.runtime, "outer", false);
    (void)gantry_model_input(model, GANTRY_FLOAT32, GANTRY_SHAPE(3));
    expect_status(gantry_model_apply_model(model, block, values, count, out, outputs), status,
                  text);
    assert_int_equal(out[0], -1);
    gantry_model_release(block);
    gantry_model_release(model);
}

static void refuse_chain(gantry_model_t *block, gantry_model_t *outer, gantry_status_t status,
                         const char *text) {
    expect_status(gantry_model_add_model(outer, block), status, text);
    if (block != outer) gantry_model_release(block);
    gantry_model_release(outer);
}

TEST(what_does_not_fit_is_refused) {
    gantry_model_t *inside = make_block(), *outer = named(fixture.runtime, "outer", true);
    refuse_application(make_block(), 0, 2, 1, GANTRY_INVALID_ARGUMENT,
                       "2 values and room for 1 outputs; block block has 1 inputs and 1 outputs");
    refuse_application(make_block(), 0, 1, 2, GANTRY_INVALID_ARGUMENT, "room for 2 outputs");
    refuse_application(make_block(), 7, 1, 1, GANTRY_INVALID_ARGUMENT,
                       "value 7 is none of the model's; 0 to 0 are accepted");
    refuse_application(named(fixture.runtime, "none", true), 0, 1, 1, GANTRY_FAILED_PRECONDITION,
                       "block none has no layers");
    refuse_chain(make_mixer(fixture.runtime), named(fixture.runtime, "outer", true),
                 GANTRY_FAILED_PRECONDITION, "model mixer is functional");
    must(gantry_model_add_model(outer, inside));
    expect_status(gantry_model_add(inside, gantry_dense(2, GANTRY_LINEAR, NULL)),
                  GANTRY_FAILED_PRECONDITION, "model block is a layer of another model");
    gantry_model_release(inside);
    refuse_chain(outer, outer, GANTRY_FAILED_PRECONDITION, "itself");
}

TEST(a_chain_has_a_block_once) {
    gantry_model_t *inside = make_block(), *outer = named(fixture.runtime, "outer", true);
    must(gantry_model_add_model(outer, inside));
    refuse_chain(inside, outer, GANTRY_INVALID_ARGUMENT,
                 "layer block/dense of block block is in model outer");
}

TEST(a_block_does_not_have_its_model) {
    gantry_model_t *inside = make_block(), *outer = named(fixture.runtime, "outer", true);
    must(gantry_model_add_model(outer, inside));
    refuse_chain(outer, inside, GANTRY_FAILED_PRECONDITION,
                 "model block is a layer of another model; layers are added before");
}

/* Two blocks of one name get numbers. */
TEST(names_of_blocks_get_numbers) {
    gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
    for (int i = 0; i < 2; ++i) {
        gantry_model_t *block = make_block();
        (void)gantry_model_add_model(model, block);
        gantry_model_release(block);
    }
    must(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(3)));
    assert_string_equal(gantry_variable_name(gantry_model_variable(model, 2, NULL)),
                        "block_1/dense/kernel");
    gantry_model_release(model);
}

static gantry_status_t make_all(void *user) {
    char text[8192];
    (void)user;
    const gantry_model_options_t options = {.dtype = GANTRY_FLOAT64};
    gantry_status_t status = GANTRY_OK;
    for (size_t i = 0; i < 2 && status == GANTRY_OK; ++i) {
        gantry_model_t *model = nested_cases[i].make(fixture.runtime, &options);
        status = gantry_model_summary(model, text, sizeof text, NULL);
        gantry_model_release(model);
    }
    /* without memory there is no layer, or no model */
    return status == GANTRY_OK ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

TEST(memory_may_be_out) { assert_true(train_heap_fail_each("blocks", make_all, NULL) > 20); }

int main(void) { return test_main_each(set_up, tear_down); }
