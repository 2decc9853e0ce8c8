/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Models that share layers train as in Keras, each with an optimizer of its own: a
 * generator with a discriminator, an encoder that gets another head.
 * Promise: Layers, blocks, metrics and optimizers that models share are released once, in any
 * order, also if an allocation fails.
 *
 * Files, devices, releases and failures. */
#define _XOPEN_SOURCE 700

#include <string.h>

#include <math.h>
#include <unistd.h>

#include "test.h"
#include "train_layer_case.h"

#include "train_given.h"

#include <gantry_train/train.h>

#include "train_shared_cases.inc"

enum { ROWS = 8, FEATURES = 3, LATENT = 2, STEPS = 6 };

/* ---- parts: those of make_shared_cases.py ---- */

static void fill(double *out, int count, int factor, int step) {
    for (int i = 0; i < count; ++i) out[i] = (double)((i * factor + step * 11) % 64 - 32) / 32;
}

static gantry_model_t *named(gantry_runtime_t *runtime, const char *name, bool is_sequential,
                             const gantry_strategy_t *strategy) {
    const gantry_model_options_t options = {
        .name = name, .dtype = GANTRY_FLOAT64, .strategy = strategy};
    return is_sequential ? gantry_sequential(runtime, &options)
                         : gantry_functional(runtime, &options);
}

static int32_t block_of_one(gantry_model_t *model, gantry_model_t *block, int32_t value) {
    int32_t out = -1;
    (void)gantry_model_apply_model(model, block, &value, 1, &out, 1);
    return out;
}

static int32_t input_of(gantry_model_t *model, int64_t size) {
    return gantry_model_input(model, GANTRY_FLOAT64, GANTRY_SHAPE(size));
}

static gantry_status_t compile_for(gantry_model_t *model, gantry_optimizer_t *optimizer,
                                   gantry_loss_t loss) {
    return gantry_model_compile(model,
                                &(gantry_compile_options_t){.optimizer = optimizer, .loss = loss});
}

static gantry_optimizer_t *adam(double rate) {
    return gantry_adam(&(gantry_adam_options_t){
        .learning_rate = rate, .beta_1 = 0.875, .beta_2 = 0.9375, .epsilon = 0x1p-20});
}

static gantry_optimizer_t *sgd(double rate) {
    return gantry_sgd(&(gantry_sgd_options_t){.learning_rate = rate});
}

/* A batch of rows, which is one step of a training. */
static gantry_dataset_t *batch_of(const double *x, int64_t xs, const double *y, int64_t ys) {
    const gantry_array_t arrays[] = {{GANTRY_FLOAT64, GANTRY_SHAPE(ROWS, xs), x},
                                     {GANTRY_FLOAT64, GANTRY_SHAPE(ROWS, ys), y}};
    return gantry_dataset_batch(gantry_dataset_from_arrays(arrays, y ? 2 : 1, false), ROWS, false);
}

static gantry_status_t train(gantry_model_t *model, const double *x, int64_t xs, const double *y,
                             int64_t ys) {
    const gantry_callback_t recorder = {.struct_size = sizeof recorder, .epoch_end = record},
                            *callbacks[] = {&recorder};
    gantry_dataset_t *batch = batch_of(x, xs, y, ys);
    gantry_status_t status = gantry_model_fit(
        model, batch, &(gantry_fit_options_t){.callbacks = callbacks, .callback_count = 1});
    gantry_dataset_release(batch);
    return status;
}

static gantry_status_t predict(gantry_model_t *model, const double *x, int64_t xs, double *out,
                               size_t bytes) {
    gantry_dataset_t *batch = batch_of(x, xs, NULL, 0);
    gantry_status_t status = gantry_model_predict(model, batch, out, bytes, NULL);
    gantry_dataset_release(batch);
    return status;
}

static void set_weights(gantry_model_t *model, uint32_t *state) {
    for (size_t i = 0; i < gantry_model_variable_count(model); ++i) {
        double numbers[MOST];
        bool trained;
        const gantry_variable_t *variable = gantry_model_variable(model, i, &trained);
        const char *name = strrchr(gantry_variable_name(variable), '/');
        const size_t bytes = train_layer_fill(state, GANTRY_FLOAT64,
                                              *gantry_variable_shape(variable), 4096, numbers);
        for (size_t k = 0; strncmp(name, "/moving", 7) == 0 && k < bytes / 8; ++k)
            numbers[k] = fabs(numbers[k]) + 0.5;
        must(gantry_model_set_variable(model, i, numbers, bytes));
    }
}

static void expect_given(const char *name, const double *wanted, size_t count) {
    assert_int_equal(given_count, count);
    for (size_t i = 0; i < count; ++i) {
        if (!(fabs(given[i] - wanted[i]) <= 1e-9 * (1 + fabs(wanted[i]))))
            fail_msg("%s: number %zu is %.12g; Keras has %.12g", name, i, given[i], wanted[i]);
    }
}

/* ---- a generator and a discriminator ---- */

typedef struct gan_t {
    gantry_model_t *generator, *judge, *both;
} gan_t;

static gantry_model_t *make_half(gantry_runtime_t *runtime, const gantry_strategy_t *strategy,
                                 const char *name, bool has_norm, gantry_layer_t *last) {
    const gantry_norm_options_t norm = {.momentum = 0.5};
    gantry_model_t *model = named(runtime, name, true, strategy);
    (void)gantry_model_add(model, gantry_dense(4, GANTRY_TANH, NULL));
    if (has_norm) (void)gantry_model_add(model, gantry_batch_normalization(&norm));
    (void)gantry_model_add(model, last);
    return model;
}

/* No model is built yet. */
static gan_t make_gan(gantry_runtime_t *runtime, const gantry_strategy_t *strategy, bool has_norm) {
    gan_t gan = {
        .generator = make_half(runtime, strategy, "generator", has_norm,
                               gantry_dense(FEATURES, GANTRY_LINEAR, NULL)),
        .judge = make_half(runtime, strategy, "discriminator", has_norm,
                           gantry_dense(1, GANTRY_SIGMOID, NULL)),
        .both = named(runtime, "both", false, strategy),
    };
    (void)compile_for(gan.judge, adam(1. / 64), GANTRY_BINARY_CROSSENTROPY);
    (void)gantry_model_set_trainable(gan.judge, false);
    (void)block_of_one(gan.both, gan.judge,
                       block_of_one(gan.both, gan.generator, input_of(gan.both, LATENT)));
    (void)compile_for(gan.both, adam(1. / 32), GANTRY_BINARY_CROSSENTROPY);
    return gan;
}

static gantry_status_t build_gan(const gan_t *gan, bool begins_with_halves) {
    gantry_status_t status = GANTRY_OK;
    for (int i = 0; i < 2 && status == GANTRY_OK; ++i) {
        if ((i == 0) != begins_with_halves)
            status = gantry_model_build(gan->both, GANTRY_DTYPE_NONE, GANTRY_SCALAR);
        else if ((status = gantry_model_build(gan->generator, GANTRY_FLOAT64,
                                              GANTRY_SHAPE(LATENT))) == GANTRY_OK)
            status = gantry_model_build(gan->judge, GANTRY_FLOAT64, GANTRY_SHAPE(FEATURES));
    }
    return status;
}

static void release_gan(const gan_t *gan) {
    gantry_model_release(gan->generator);
    gantry_model_release(gan->judge);
    gantry_model_release(gan->both);
}

static gantry_status_t train_gan(const gan_t *gan, int step) {
    double real[ROWS * FEATURES], made[ROWS * FEATURES], noise[ROWS * LATENT], ones[ROWS],
        zeros[ROWS] = {0};
    for (int i = 0; i < ROWS; ++i) ones[i] = 1;
    fill(real, ROWS * FEATURES, 37, step);
    fill(noise, ROWS * LATENT, 29, step);
    gantry_status_t status = train(gan->judge, real, FEATURES, ones, 1);
    if (status == GANTRY_OK) status = predict(gan->generator, noise, LATENT, made, sizeof made);
    if (status == GANTRY_OK) status = train(gan->judge, made, FEATURES, zeros, 1);
    return status == GANTRY_OK ? train(gan->both, noise, LATENT, ones, 1) : status;
}

static void give_both(const gan_t *gan, gantry_runtime_t *runtime) {
    double noise[ROWS * LATENT], out[ROWS];
    fill(noise, ROWS * LATENT, 29, STEPS - 1);
    must(predict(gan->both, noise, LATENT, out, sizeof out));
    for (int i = 0; i < ROWS; ++i) give(out[i]);
    give_variables(runtime, gan->both);
}

static void follow_gan(gantry_runtime_t *runtime, bool begins_with_halves) {
    const gan_t gan = make_gan(runtime, NULL, true);
    uint32_t state = 11;
    must(build_gan(&gan, begins_with_halves));
    set_weights(gan.both, &state);
    given_count = 0;
    for (int step = 0; step < STEPS; ++step) must(train_gan(&gan, step));
    give_both(&gan, runtime);
    release_gan(&gan);
    expect_given("gan", gan_numbers, sizeof gan_numbers / sizeof *gan_numbers);
}

TEST(a_gan_trains_as_in_keras) {
    follow_gan(fixture.runtime, true);
    follow_gan(fixture.runtime, false);
}

TEST(a_gan_on_pocl_trains_as_in_keras) {
    gantry_runtime_t *runtime = train_open_gpu();
    follow_gan(runtime, true);
    gantry_runtime_release(runtime);
}

TEST(what_is_trained_is_each_models_own) {
    const gan_t gan = make_gan(fixture.runtime, NULL, true);
    size_t trained_alone = 0, trained_together = 0;
    bool trained;
    must(build_gan(&gan, false));
    for (size_t i = 0; gantry_model_variable(gan.judge, i, &trained); ++i) trained_alone += trained;
    for (size_t i = 0; gantry_model_variable(gan.both, i, &trained); ++i)
        trained_together += trained;
    assert_int_equal(trained_alone, 6);    /* two kernels, two biases, gamma and beta */
    assert_int_equal(trained_together, 6); /* the generator's */
    release_gan(&gan);
}

/* ---- an encoder with two heads ---- */

typedef struct transfer_t {
    gantry_model_t *encoder, *whole, *judge;
} transfer_t;

static transfer_t make_transfer(gantry_runtime_t *runtime) {
    const gantry_norm_options_t norm = {.momentum = 0.5};
    transfer_t t = {.encoder = named(runtime, "encoder", true, NULL),
                    .whole = named(runtime, "whole", false, NULL),
                    .judge = named(runtime, "judge", false, NULL)};
    (void)gantry_model_add(t.encoder, gantry_dense(LATENT, GANTRY_TANH, NULL));
    (void)gantry_model_add(t.encoder, gantry_batch_normalization(&norm));
    for (int i = 0; i < 2; ++i) {
        gantry_model_t *model = i == 0 ? t.whole : t.judge;
        const int32_t codes = block_of_one(model, t.encoder, input_of(model, FEATURES));
        (void)gantry_model_apply(model, gantry_dense(i == 0 ? FEATURES : 2, GANTRY_LINEAR, NULL),
                                 &codes, 1);
    }
    return t;
}

static void train_transfer(const transfer_t *t) {
    double x[ROWS * FEATURES], y[ROWS * 2], codes[ROWS * LATENT];
    fill(x, ROWS * FEATURES, 37, 0);
    fill(y, ROWS * 2, 23, 0);
    must(compile_for(t->whole, sgd(0.1), GANTRY_MEAN_SQUARED_ERROR));
    for (int i = 0; i < STEPS; ++i) must(train(t->whole, x, FEATURES, x, FEATURES));
    must(gantry_model_set_trainable(t->encoder, false));
    must(compile_for(t->judge, sgd(0.1), GANTRY_MEAN_SQUARED_ERROR));
    for (int i = 0; i < STEPS; ++i) must(train(t->judge, x, FEATURES, y, 2));
    must(gantry_model_set_trainable(t->encoder, true));
    must(compile_for(t->judge, adam(1. / 64), GANTRY_MEAN_SQUARED_ERROR));
    for (int i = 0; i < STEPS; ++i) must(train(t->judge, x, FEATURES, y, 2));
    must(train(t->whole, x, FEATURES, x, FEATURES));
    must(predict(t->encoder, x, FEATURES, codes, sizeof codes));
    for (int i = 0; i < ROWS * LATENT; ++i) give(codes[i]);
}

/* The weights of the head, which is the last layer of its model. */
static void give_head(gantry_runtime_t *runtime, gantry_model_t *judge) {
    const size_t before = given_count;
    give_variables(runtime, judge);
    const size_t count = given_count - before, head = LATENT * 2 + 2;
    memmove(given + before, given + before + count - head, head * sizeof *given);
    given_count = before + head;
}

static void follow_transfer(gantry_runtime_t *runtime) {
    const transfer_t t = make_transfer(runtime);
    uint32_t state = 11;
    must(gantry_model_build(t.whole, GANTRY_DTYPE_NONE, GANTRY_SCALAR));
    set_weights(t.whole, &state);
    must(gantry_model_build(t.judge, GANTRY_DTYPE_NONE, GANTRY_SCALAR));
    for (size_t i = gantry_model_variable_count(t.judge) - 2, k = 0; k < 2; ++k) {
        double numbers[MOST];
        const size_t bytes = train_layer_fill(
            &state, GANTRY_FLOAT64,
            *gantry_variable_shape(gantry_model_variable(t.judge, i + k, NULL)), 4096, numbers);
        must(gantry_model_set_variable(t.judge, i + k, numbers, bytes));
    }
    given_count = 0;
    train_transfer(&t);
    give_variables(runtime, t.whole);
    give_head(runtime, t.judge);
    gantry_model_release(t.whole);
    gantry_model_release(t.judge);
    gantry_model_release(t.encoder);
    expect_given("transfer", transfer_numbers, sizeof transfer_numbers / sizeof *transfer_numbers);
}

TEST(an_encoder_gets_another_head_as_in_keras) { follow_transfer(fixture.runtime); }

TEST(an_encoder_on_pocl_gets_another_head_as_in_keras) {
    gantry_runtime_t *runtime = train_open_gpu();
    follow_transfer(runtime);
    gantry_runtime_release(runtime);
}

/* ---- several devices ---- */

static gantry_runtime_t *open_two_cpus(void) {
    gantry_runtime_t *runtime;
    const gantry_runtime_options_t options = {.struct_size = sizeof options, .backends = "cpu"};
    must(gantry_runtime_create(&options, &runtime));
    must(gantry_set_logical_cpu_devices(runtime, 2));
    return runtime;
}

TEST(mirrored_models_share_layers) {
    static double wanted[MOST];
    gantry_runtime_t *runtime = open_two_cpus();
    const char *const devices[] = {"/CPU:0", "/CPU:1"};
    gantry_strategy_t *strategy = gantry_mirrored_strategy(runtime, devices, 2);
    for (int i = 0; i < 2; ++i) {
        const gan_t gan = make_gan(runtime, i == 0 ? NULL : strategy, false);
        uint32_t draws = 11;
        must(build_gan(&gan, i == 1));
        set_weights(gan.both, &draws);
        given_count = 0;
        for (int step = 0; step < STEPS; ++step) must(train_gan(&gan, step));
        give_both(&gan, runtime);
        release_gan(&gan);
        if (i == 0) memcpy(wanted, given, sizeof given);
    }
    for (size_t i = 0; i < given_count; ++i)
        assert_true(fabs(given[i] - wanted[i]) <= 1e-10 * (1 + fabs(wanted[i])));
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
}

/* ---- files ---- */

static void expect_tensor(const char *path, const char *name) {
    gantry_checkpoint_t *file;
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    must(gantry_checkpoint_open(path, &file));
    if (gantry_checkpoint_find(file, name, &dtype, &shape) != GANTRY_OK)
        fail_msg("the file has no %s", name);
    gantry_checkpoint_release(file);
}

/* Each model's file has all of its weights, under its own names. */
TEST(files_have_each_models_weights) {
    char path[] = "/tmp/gantry_shared_XXXXXX";
    double first[MOST];
    const gan_t gan = make_gan(fixture.runtime, NULL, true),
                loaded = make_gan(fixture.runtime, NULL, true);
    (void)close(mkstemp(path));
    must(build_gan(&gan, true));
    must(build_gan(&loaded, false));
    for (int step = 0; step < 2; ++step) must(train_gan(&gan, step));
    must(gantry_model_save(gan.judge, path));
    expect_tensor(path, "dense_1/kernel");
    expect_tensor(path, "optimizer/dense_1/kernel/momentum");
    must(gantry_model_load(loaded.judge, path));
    must(gantry_model_save(gan.both, path));
    expect_tensor(path, "discriminator/dense_1/kernel");
    expect_tensor(path, "generator/batch_normalization/moving_mean");
    must(gantry_model_load(loaded.both, path));
    given_count = 0;
    must(train_gan(&gan, 2));
    give_both(&gan, fixture.runtime);
    const size_t count = given_count;
    memcpy(first, given, sizeof given);
    given_count = 0;
    must(train_gan(&loaded, 2));
    give_both(&loaded, fixture.runtime);
    assert_int_equal(given_count, count);
    assert_memory_equal(given, first, count * sizeof *given);
    (void)unlink(path);
    release_gan(&gan);
    release_gan(&loaded);
}

/* ---- releases ---- */

TEST(models_are_released_in_any_order) {
    for (int first = 0; first < 3; ++first) {
        const gan_t gan = make_gan(fixture.runtime, NULL, true);
        gantry_model_t *const models[] = {gan.generator, gan.judge, gan.both};
        double noise[ROWS * LATENT], out[ROWS * FEATURES];
        fill(noise, ROWS * LATENT, 29, 0);
        must(build_gan(&gan, true));
        gantry_model_release(models[first]);
        if (first != 0) must(predict(gan.generator, noise, LATENT, out, sizeof out));
        if (first != 2) must(predict(gan.both, noise, LATENT, out, sizeof out));
        gantry_model_release(models[(first + 1) % 3]);
        gantry_model_release(models[(first + 2) % 3]);
    }
}

TEST(a_layer_is_in_two_models) {
    gantry_layer_t *layer = gantry_dense(2, GANTRY_LINEAR, NULL);
    gantry_model_t *one = named(fixture.runtime, "one", true, NULL),
                   *two = named(fixture.runtime, "two", true, NULL);
    const double numbers[] = {1, 2, 3, 4};
    must(gantry_model_add(one, layer));
    must(gantry_model_add(two, gantry_dense(2, GANTRY_LINEAR, NULL)));
    must(gantry_model_add(two, layer));
    gantry_layer_release(layer); /* it is theirs: nothing happens */
    must(gantry_model_build(one, GANTRY_FLOAT64, GANTRY_SHAPE(2)));
    must(gantry_model_build(two, GANTRY_FLOAT64, GANTRY_SHAPE(2)));
    must(gantry_model_set_variable(one, 0, numbers, sizeof numbers));
    gantry_model_release(one);
    assert_string_equal(gantry_layer_name(layer), "dense");
    given_count = 0;
    give_variables(fixture.runtime, two);
    assert_memory_equal(given + 6, numbers, sizeof numbers);
    gantry_model_release(two);
}

/* ---- failures ---- */

static void expect_status(gantry_status_t status, gantry_status_t wanted, const char *text) {
    assert_int_equal(status, wanted);
    if (!strstr(gantry_last_message(), text))
        fail_msg("\"%s\" lacks \"%s\"", gantry_last_message(), text);
}

/* The layer of a built model in one that does not fit it. */
static void refuse_sharing(gantry_layer_t *layer, const gantry_model_options_t *options,
                           int64_t features, const char *text) {
    gantry_model_t *model = gantry_sequential(fixture.runtime, options);
    must(gantry_model_add(model, layer));
    const gantry_dtype_t dtype = options->dtype ? options->dtype : GANTRY_FLOAT32;
    expect_status(
        gantry_model_build(model, dtype, GANTRY_SHAPE(features)),
        strstr(text, "weights of another") ? GANTRY_FAILED_PRECONDITION : GANTRY_INVALID_ARGUMENT,
        text);
    gantry_model_release(model);
}

TEST(what_does_not_fit_is_refused) {
    gantry_strategy_t *strategy =
        gantry_mirrored_strategy(fixture.runtime, (const char *const[]){"/CPU:0"}, 1);
    gantry_layer_t *layer = gantry_dense(2, GANTRY_LINEAR, NULL);
    gantry_model_t *model = named(fixture.runtime, "first", true, NULL);
    must(gantry_model_add(model, layer));
    must(gantry_model_build(model, GANTRY_FLOAT64, GANTRY_SHAPE(3)));
    refuse_sharing(layer, &(gantry_model_options_t){.name = "second"}, 3,
                   "model second: layer dense has the weights of another model, which has another "
                   "type");
    refuse_sharing(layer, &(gantry_model_options_t){.dtype = GANTRY_FLOAT64}, 4, "layer dense");
    gantry_model_t *third = gantry_sequential(
        fixture.runtime, &(gantry_model_options_t){.dtype = GANTRY_FLOAT64, .strategy = strategy});
    must(gantry_model_add(third, layer)); /* one device is like another */
    must(gantry_model_build(third, GANTRY_FLOAT64, GANTRY_SHAPE(3)));
    expect_status(gantry_model_set_trainable(NULL, true), GANTRY_INVALID_ARGUMENT, "NULL");
    gantry_model_release(model);
    gantry_model_release(third);
    gantry_strategy_release(strategy);
}

TEST(other_devices_are_refused) {
    gantry_runtime_t *runtime = open_two_cpus();
    const char *const devices[] = {"/CPU:0", "/CPU:1"}, *const turned[] = {"/CPU:1", "/CPU:0"};
    gantry_strategy_t *strategies[] = {gantry_mirrored_strategy(runtime, devices, 2),
                                       gantry_mirrored_strategy(runtime, turned, 2), NULL};
    static const char *const texts[] = {NULL, "another order of devices",
                                        "another number of devices"};
    gantry_layer_t *layer = gantry_dense(2, GANTRY_LINEAR, NULL);
    gantry_model_t *models[3];
    for (int i = 0; i < 3; ++i) {
        models[i] = named(runtime, "m", true, strategies[i]);
        must(gantry_model_add(models[i], layer));
        const gantry_status_t status =
            gantry_model_build(models[i], GANTRY_FLOAT64, GANTRY_SHAPE(3));
        if (i == 0) must(status);
        if (i > 0) expect_status(status, GANTRY_FAILED_PRECONDITION, texts[i]);
    }
    for (int i = 0; i < 3; ++i) gantry_model_release(models[i]);
    for (int i = 0; i < 2; ++i) gantry_strategy_release(strategies[i]);
    gantry_runtime_release(runtime);
}

/* Compiles with an optimizer and a list of metrics, which the program may have given before. */
static gantry_status_t compile_with(gantry_model_t *model, gantry_optimizer_t *optimizer,
                                    gantry_loss_t loss, gantry_metric_t *const *metrics,
                                    size_t count) {
    return gantry_model_compile(
        model,
        &(gantry_compile_options_t){
            .optimizer = optimizer, .loss = loss, .metrics = metrics, .metric_count = count});
}

static gantry_model_t *make_plain(void) {
    gantry_model_t *model = named(fixture.runtime, "plain", true, NULL);
    must(gantry_model_add(model, gantry_dense(FEATURES, GANTRY_LINEAR, NULL)));
    return model;
}

TEST(optimizers_and_metrics_are_released_once) {
    double x[ROWS * FEATURES];
    gantry_model_t *one = make_plain(), *two = make_plain(), *three = make_plain();
    gantry_optimizer_t *optimizer = sgd(0.1);
    gantry_metric_t *metric = gantry_loss_metric(GANTRY_MEAN_ABSOLUTE_ERROR, NULL, NULL),
                    *const twice[] = {metric, metric},
                    *const lone = gantry_loss_metric(GANTRY_MEAN_ABSOLUTE_ERROR, NULL, NULL),
                    *const lost[] = {lone, lone};
    const gantry_loss_t mse = GANTRY_MEAN_SQUARED_ERROR;
    fill(x, ROWS * FEATURES, 37, 0);
    for (int i = 0; i < 2; ++i) must(compile_with(one, optimizer, mse, twice, 1));
    must(compile_with(two, sgd(0.1), mse, twice, 1)); /* the metric of the first one */
    gantry_metric_release(metric);                    /* it is theirs: nothing happens */
    gantry_optimizer_release(optimizer);
    must(train(one, x, FEATURES, x, FEATURES));
    must(train(two, x, FEATURES, x, FEATURES));
    expect_status(compile_with(two, optimizer, mse, twice, 1), GANTRY_FAILED_PRECONDITION,
                  "the optimizer is that of another model");
    expect_status(compile_with(three, sgd(0.1), mse, lost, 2), GANTRY_INVALID_ARGUMENT,
                  "metric mean_absolute_error is given twice");
    must(train(one, x, FEATURES, x, FEATURES));
    expect_status(compile_with(one, optimizer, (gantry_loss_t)9999, twice, 2),
                  GANTRY_INVALID_ARGUMENT, "the loss is 9999");
    gantry_model_release(two);
    gantry_model_release(one);
    gantry_model_release(three);
}

/* As in Keras after `trainable = False` and compile, but for the training, which Keras only warns
 * of. The model can be tested, and trained when it is compiled again. */
TEST(a_model_that_trains_nothing_is_refused) {
    double x[ROWS * FEATURES], loss;
    fill(x, ROWS * FEATURES, 37, 0);
    gantry_model_t *model = named(fixture.runtime, "still", true, NULL);
    gantry_dataset_t *batch = batch_of(x, FEATURES, x, FEATURES);
    must(gantry_model_add(model, gantry_dense(FEATURES, GANTRY_LINEAR, NULL)));
    must(gantry_model_set_trainable(model, false));
    must(compile_for(model, sgd(0.1), GANTRY_MEAN_SQUARED_ERROR));
    expect_status(train(model, x, FEATURES, x, FEATURES), GANTRY_FAILED_PRECONDITION,
                  "model still has no weight that is trained");
    must(gantry_model_evaluate(model, batch, &loss, 1));
    must(gantry_model_set_trainable(model, true));
    must(compile_for(model, sgd(0.1), GANTRY_MEAN_SQUARED_ERROR));
    must(train(model, x, FEATURES, x, FEATURES));
    gantry_dataset_release(batch);
    gantry_model_release(model);
}

/* A layer that a failed model got is applied again, and in other models. */
static gantry_status_t apply_again(void *user) {
    gantry_model_t *models[2];
    gantry_layer_t *layer;
    (void)user;
    for (int i = 0; i < 2; ++i) models[i] = named(fixture.runtime, "m", false, NULL);
    layer = gantry_dense(2, GANTRY_LINEAR, NULL);
    gantry_status_t status =
        models[0] && models[1] && layer ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
    for (int i = 0; i < 2 && status == GANTRY_OK; ++i) {
        const int32_t x = input_of(models[i], 2);
        const int32_t a = gantry_model_apply(models[i], layer, &x, 1);
        (void)gantry_model_apply(models[i], layer, &a, 1);
        (void)gantry_model_apply(models[i], layer, &a, 1);
    }
    for (int i = 0; i < 2 && status == GANTRY_OK; ++i)
        status = gantry_model_build(models[i], GANTRY_DTYPE_NONE, GANTRY_SCALAR);
    gantry_layer_release(layer); /* unless a model has it */
    for (int i = 0; i < 2; ++i) gantry_model_release(models[i]);
    return status == GANTRY_OK ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

static gantry_status_t make_and_train(void *user) {
    (void)user;
    const gan_t gan = make_gan(fixture.runtime, NULL, true);
    given_count = 0;
    gantry_status_t status = build_gan(&gan, true);
    if (status == GANTRY_OK) status = train_gan(&gan, 0);
    release_gan(&gan);
    return status == GANTRY_OK ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

TEST(memory_may_be_out) {
    assert_true(train_heap_fail_each("apply again", apply_again, NULL) > 20);
    assert_true(train_heap_fail_each("gan", make_and_train, NULL) > 100);
}

TEST(a_failed_model_gets_a_layer_again) {
    gantry_model_t *model = named(fixture.runtime, "m", false, NULL);
    gantry_layer_t *layer = gantry_dense(2, GANTRY_LINEAR, NULL);
    const int32_t none = 7;
    (void)input_of(model, 2);
    assert_int_equal(gantry_model_apply(model, gantry_dense(0, GANTRY_LINEAR, NULL), &none, 1), -1);
    for (int i = 0; i < 3; ++i) assert_int_equal(gantry_model_apply(model, layer, &none, 1), -1);
    (void)gantry_model_add(model, layer);
    gantry_layer_release(layer); /* the model's, though it failed */
    gantry_model_release(model);
}

int main(void) { return test_main_each(set_up, tear_down); }
