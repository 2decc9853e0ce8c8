/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A model that Keras saved through safetensors loads under Keras's paths, with the state
 * of each optimizer, and its training goes on as in Keras.
 * Promise: gantry_model_save_keras gives weights and slots the paths of Keras's variables.
 * Promise: A scalar of an optimizer of Keras that has another type is converted where its number
 * stays, and refused elsewhere.
 * Promise: Files whose weights or slots have one path, whose optimizer is another one, or which
 * lack a weight are refused by names.
 *
 * As a program, test_keras_files CASE GIVEN MADE: loads, trains on, and saves for Keras; for the
 * test keras_files, which runs Keras itself. */
#define _XOPEN_SOURCE 700

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "golden_file.h"
#include "test.h"
#include "train_case.h"
#include "train_fixture.h"

#include <gantry_train/train.h>

enum { ROWS = 8, FEATURES = 3, STEPS = 4, OUTPUTS = 2, EPOCHS = 2, BATCH = 4, MOST = 16384 };

static void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

/* ---- the models of make_keras_files.py ---- */

static gantry_layer_t *dense(int64_t units, gantry_activation_t activation, const char *name) {
    return gantry_dense(units, activation, &(gantry_kernel_options_t){.name = name});
}

static gantry_model_t *sequential(gantry_runtime_t *runtime, const char *name) {
    return gantry_sequential(runtime, &(gantry_model_options_t){.name = name, .seed = 3});
}

static gantry_model_t *plain(gantry_runtime_t *runtime) {
    gantry_model_t *model = sequential(runtime, NULL);
    must(gantry_model_add(model, dense(4, GANTRY_TANH, NULL)));
    must(gantry_model_add(model, gantry_batch_normalization(NULL)));
    must(gantry_model_add(model, dense(OUTPUTS, GANTRY_LINEAR, NULL)));
    must(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(FEATURES)));
    return model;
}

static gantry_model_t *small(gantry_runtime_t *runtime) {
    gantry_model_t *model = sequential(runtime, NULL);
    must(gantry_model_add(model, dense(OUTPUTS, GANTRY_LINEAR, NULL)));
    must(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(FEATURES)));
    return model;
}

static gantry_model_t *large(gantry_runtime_t *runtime) {
    gantry_model_t *model = sequential(runtime, NULL);
    must(gantry_model_add(model, dense(2740, GANTRY_TANH, NULL)));
    must(gantry_model_add(model, dense(OUTPUTS, GANTRY_LINEAR, NULL)));
    must(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(FEATURES)));
    return model;
}

static gantry_model_t *functional_of(gantry_runtime_t *runtime, const char *second) {
    gantry_model_t *block = sequential(runtime, "block"),
                   *aside = gantry_functional(runtime, &(gantry_model_options_t){.name = "other"}),
                   *model = gantry_functional(runtime, NULL);
    must(gantry_model_add(block, dense(3, GANTRY_TANH, "first")));
    must(gantry_model_build(block, GANTRY_FLOAT32, GANTRY_SHAPE(FEATURES)));
    int32_t x = gantry_model_input(aside, GANTRY_FLOAT32, GANTRY_SHAPE(FEATURES)), both[2];
    (void)gantry_model_apply(aside, dense(3, GANTRY_LINEAR, second), &x, 1);
    x = gantry_model_input(model, GANTRY_FLOAT32, GANTRY_SHAPE(FEATURES));
    must(gantry_model_apply_model(model, block, &x, 1, &both[0], 1));
    must(gantry_model_apply_model(model, aside, &x, 1, &both[1], 1));
    const int32_t sum = gantry_model_apply(model, gantry_add_layer(NULL), both, 2);
    (void)gantry_model_apply(model, dense(OUTPUTS, GANTRY_LINEAR, "head"), &sum, 1);
    must(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SCALAR));
    gantry_model_release(block);
    gantry_model_release(aside);
    return model;
}

static gantry_model_t *functional(gantry_runtime_t *runtime) {
    return functional_of(runtime, "second");
}

static gantry_model_t *nested(gantry_runtime_t *runtime) {
    gantry_model_t *inside = sequential(runtime, "inside"), *model = sequential(runtime, "outer");
    must(gantry_model_add(inside, dense(3, GANTRY_TANH, NULL)));
    must(gantry_model_add_model(model, inside));
    must(gantry_model_add(model, dense(OUTPUTS, GANTRY_LINEAR, NULL)));
    must(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(FEATURES)));
    gantry_model_release(inside);
    return model;
}

/* Adds a block, which it releases, and a layer. */
static gantry_model_t *wrap(gantry_runtime_t *runtime, const char *name, gantry_model_t *block,
                            gantry_layer_t *layer) {
    gantry_model_t *model = sequential(runtime, name);
    must(gantry_model_add_model(model, block));
    if (layer) must(gantry_model_add(model, layer));
    gantry_model_release(block);
    return model;
}

static gantry_model_t *built(gantry_runtime_t *runtime, const char *name, gantry_layer_t *layer,
                             gantry_layer_t *next) {
    gantry_model_t *model = sequential(runtime, name);
    must(gantry_model_add(model, layer));
    if (next) must(gantry_model_add(model, next));
    must(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(FEATURES)));
    return model;
}

static gantry_layer_t *three(void) { return dense(3, GANTRY_LINEAR, NULL); }

static gantry_model_t *blocks(gantry_runtime_t *runtime) {
    gantry_model_t *one = built(runtime, "one", dense(3, GANTRY_TANH, NULL), three()),
                   *two = built(runtime, "two", three(), NULL),
                   *model = gantry_functional(runtime, NULL);
    int32_t both[2];
    const int32_t x = gantry_model_input(model, GANTRY_FLOAT32, GANTRY_SHAPE(FEATURES));
    must(gantry_model_apply_model(model, one, &x, 1, &both[0], 1));
    must(gantry_model_apply_model(model, two, &x, 1, &both[1], 1));
    const int32_t sum = gantry_model_apply(model, gantry_add_layer(NULL), both, 2);
    (void)gantry_model_apply(model, dense(OUTPUTS, GANTRY_LINEAR, NULL), &sum, 1);
    must(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SCALAR));
    gantry_model_release(one);
    gantry_model_release(two);
    return model;
}

/* Each block begins with one that is built, and is not built by the program. */
static gantry_model_t *wrapped(gantry_runtime_t *runtime, gantry_layer_t *second) {
    gantry_model_t *model = built(runtime, "first", three(), NULL);
    model = wrap(runtime, "third", wrap(runtime, "second", model, second), three());
    model = wrap(runtime, "outer", model, dense(OUTPUTS, GANTRY_LINEAR, NULL));
    must(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(FEATURES)));
    return model;
}

static gantry_model_t *begun(gantry_runtime_t *runtime) { return wrapped(runtime, three()); }
static gantry_model_t *single(gantry_runtime_t *runtime) { return wrapped(runtime, NULL); }

static gantry_model_t *with_double(gantry_runtime_t *runtime) {
    gantry_model_t *model =
        gantry_sequential(runtime, &(gantry_model_options_t){.seed = 3, .dtype = GANTRY_FLOAT64});
    must(gantry_model_add(model, dense(OUTPUTS, GANTRY_LINEAR, NULL)));
    must(gantry_model_build(model, GANTRY_FLOAT64, GANTRY_SHAPE(FEATURES)));
    return model;
}

static gantry_model_t *recurrent(gantry_runtime_t *runtime) {
    const gantry_recurrent_options_t sequences = {.return_sequences = true};
    gantry_model_t *model = sequential(runtime, NULL);
    must(gantry_model_add(
        model, gantry_bidirectional(gantry_lstm(2, &sequences), GANTRY_MERGE_CONCAT, NULL)));
    must(gantry_model_add(model, gantry_time_distributed(dense(2, GANTRY_LINEAR, NULL), NULL)));
    must(gantry_model_add(model, gantry_lstm(2, &sequences)));
    must(gantry_model_add(model, gantry_gru(2, NULL)));
    must(gantry_model_add(model, dense(OUTPUTS, GANTRY_LINEAR, NULL)));
    must(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(STEPS, FEATURES)));
    return model;
}

static void chain(gantry_model_t *model, int32_t *value, gantry_layer_t *layer) {
    *value = gantry_model_apply(model, layer, value, 1);
}

/* A layer of each kind that has weights. */
static gantry_model_t *many(gantry_runtime_t *runtime) {
    const gantry_kernel_options_t same = {.same_padding = true};
    gantry_model_t *m = gantry_functional(runtime, NULL);
    int32_t y = gantry_model_input(m, GANTRY_FLOAT32, GANTRY_SHAPE(STEPS, FEATURES));
    chain(m, &y, gantry_conv1d_layer(4, 3, GANTRY_LINEAR, &same));
    chain(m, &y, gantry_separable_conv1d_layer(4, 3, GANTRY_LINEAR, &same));
    chain(m, &y, gantry_conv1d_transpose_layer(4, 3, GANTRY_LINEAR, &same));
    chain(m, &y, gantry_prelu_layer(NULL, NULL, 0, NULL));
    chain(m, &y, gantry_layer_normalization(NULL));
    chain(m, &y, gantry_group_normalization(2, NULL));
    chain(m, &y, gantry_rms_normalization(NULL));
    chain(m, &y,
          gantry_multi_head_attention(2, 3, &(gantry_attention_options_t){.name = "attention"}));
    chain(m, &y,
          gantry_bidirectional(
              gantry_simple_rnn(
                  2, &(gantry_recurrent_options_t){.return_sequences = true, .name = "mine"}),
              GANTRY_MERGE_CONCAT, "both"));
    chain(m, &y, gantry_reshape_layer(GANTRY_SHAPE(STEPS, 4, 1), NULL));
    chain(m, &y,
          gantry_time_distributed(
              gantry_bidirectional(
                  gantry_gru(1, &(gantry_recurrent_options_t){.return_sequences = true}),
                  GANTRY_MERGE_CONCAT, NULL),
              NULL));
    chain(m, &y, gantry_conv2d_layer(2, 3, GANTRY_LINEAR, &same));
    chain(m, &y, gantry_depthwise_conv2d_layer(3, GANTRY_LINEAR, &same));
    chain(m, &y, gantry_separable_conv2d_layer(2, 3, GANTRY_LINEAR, &same));
    chain(m, &y, gantry_conv2d_transpose_layer(2, 3, GANTRY_LINEAR, &same));
    chain(m, &y, gantry_flatten(NULL));
    chain(m, &y, dense(OUTPUTS, GANTRY_LINEAR, NULL));
    must(gantry_model_build(m, GANTRY_FLOAT32, GANTRY_SCALAR));
    return m;
}

/* ---- the cases ---- */

static gantry_optimizer_t *falling_ftrl(void) {
    gantry_schedule_t *schedule = gantry_exponential_decay(&(gantry_exponential_decay_options_t){
        .initial_learning_rate = 0.25, .decay_steps = 3, .decay_rate = 0.5});
    gantry_optimizer_t *made = gantry_ftrl(&(gantry_ftrl_options_t){.schedule = schedule});
    gantry_schedule_release(schedule);
    return made;
}

#define OPTIMIZER(name, kind, ...)                                       \
    static gantry_optimizer_t *name(void) {                              \
        return gantry_##kind(&(gantry_##kind##_options_t){__VA_ARGS__}); \
    }
OPTIMIZER(adam, adam, .learning_rate = 0.0625, .amsgrad = true)
OPTIMIZER(plain_adam, adam, .learning_rate = 0.0625)
OPTIMIZER(averaged_adam, adam, .learning_rate = 0.0625, .use_ema = true, .ema_momentum = 0.75,
          .gradient_accumulation_steps = 3)
OPTIMIZER(slow_adam, adam, .learning_rate = 0.0078125)
OPTIMIZER(nadam, nadam, .learning_rate = 0.0625)
OPTIMIZER(rmsprop, rmsprop, .learning_rate = 0.03125, .momentum = 0.5, .centered = true)
OPTIMIZER(adamw, adamw, .learning_rate = 0.03125)
OPTIMIZER(slow_sgd, sgd, .learning_rate = 0.03125)
OPTIMIZER(sgd, sgd, .learning_rate = 0.125)
OPTIMIZER(moved_sgd, sgd, .learning_rate = 0.125, .momentum = 0.5)
OPTIMIZER(adagrad, adagrad, .learning_rate = 0.125)
OPTIMIZER(adadelta, adadelta, .learning_rate = 0.5)
OPTIMIZER(adamax, adamax, .learning_rate = 0.0625)
OPTIMIZER(lion, lion, .learning_rate = 0.03125)

typedef struct keras_case_t {
    const char *name;
    gantry_model_t *(*make)(gantry_runtime_t *runtime);
    gantry_optimizer_t *(*optimizer)(void); /* NULL: the file has none */
} keras_case_t;

static const keras_case_t cases[] = {
    {"plain, Adam", plain, adam},
    {"functional, Nadam", functional, nadam},
    {"nested, RMSprop", nested, rmsprop},
    {"recurrent, AdamW", recurrent, adamw},
    {"many, SGD", many, slow_sgd},
    {"small, SGD", small, sgd},
    {"small, SGD, momentum", small, moved_sgd},
    {"small, Adagrad", small, adagrad},
    {"small, Adadelta", small, adadelta},
    {"small, Adamax", small, adamax},
    {"small, Lion", small, lion},
    {"small, Ftrl, schedule", small, falling_ftrl},
    {"small, Adam, averages", small, averaged_adam},
    {"small, no optimizer", small, NULL},
    {"blocks, Adam", blocks, plain_adam},
    {"begun, SGD", begun, sgd},
    {"single, SGD", single, sgd},
    {"double, Nadam", with_double, nadam},
    {"small, Adam, JAX", small, plain_adam},
    {"large, Adam", large, slow_adam},
};

static const keras_case_t *find_case(const char *name) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        if (strcmp(cases[i].name, name) == 0) return &cases[i];
    }
    fail_msg("there is no case %s", name);
    return NULL;
}

static void compile(gantry_model_t *model, gantry_optimizer_t *optimizer) {
    must(gantry_model_compile(
        model,
        &(gantry_compile_options_t){.optimizer = optimizer, .loss = GANTRY_MEAN_SQUARED_ERROR}));
}

static gantry_status_t train(gantry_model_t *model, bool has_steps) {
    static float x[ROWS * STEPS * FEATURES], y[ROWS * OUTPUTS];
    for (int i = 0; i < ROWS * STEPS * FEATURES; ++i) x[i] = (float)(i * 37 % 64 - 32) / 32;
    for (int i = 0; i < ROWS * OUTPUTS; ++i) y[i] = (float)(i * 23 % 64 - 32) / 32;
    const gantry_array_t arrays[] = {
        {GANTRY_FLOAT32,
         has_steps ? GANTRY_SHAPE(ROWS, STEPS, FEATURES) : GANTRY_SHAPE(ROWS, FEATURES), x},
        {GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, OUTPUTS), y}};
    gantry_dataset_t *batches =
        gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), BATCH, false);
    const gantry_status_t status =
        gantry_model_fit(model, batches, &(gantry_fit_options_t){.epochs = EPOCHS});
    gantry_dataset_release(batches);
    return status;
}

/* Loads Keras's file, trains on, and saves for Keras. */
static void go_on(gantry_runtime_t *runtime, const keras_case_t *c, const char *given,
                  const char *made) {
    gantry_model_t *model = c->make(runtime);
    compile(model, c->optimizer ? c->optimizer() : gantry_sgd(NULL));
    must(gantry_model_load(model, given));
    must(train(model, c->make == recurrent || c->make == many));
    if (!c->optimizer) { /* as the file has none */
        gantry_model_t *bare = c->make(runtime);
        must(gantry_model_save(model, made));
        must(gantry_model_load(bare, made));
        gantry_model_release(model);
        model = bare;
    }
    must(gantry_model_save_keras(model, made));
    gantry_model_release(model);
}

/* ---- golden files ---- */

static golden_file_t files; /* of tests/golden/keras_files.json */

static int load_files(void **state) {
    (void)state;
    golden_file_open("keras_files.json", &files);
    return 0;
}

static int free_files(void **state) {
    (void)state;
    golden_free(&files);
    return 0;
}

static const golden_case_t *find_file(const char *name) {
    size_t i = 0;
    while (i < files.case_count && strcmp(files.cases[i].name, name) != 0) ++i;
    assert_true(i < files.case_count);
    return &files.cases[i];
}

static void write_file(const char *path, const void *bytes, size_t count) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

typedef struct paths_t {
    char given[48], made[48], wanted[48];
} paths_t;

static void open_paths(paths_t *paths) {
    *paths = (paths_t){"/tmp/gantry_given_XXXXXX", "/tmp/gantry_made_XXXXXX",
                       "/tmp/gantry_wanted_XXXXXX"};
    (void)close(mkstemp(paths->given));
    (void)close(mkstemp(paths->made));
    (void)close(mkstemp(paths->wanted));
}

static void close_paths(const paths_t *paths) {
    (void)unlink(paths->given);
    (void)unlink(paths->made);
    (void)unlink(paths->wanted);
}

/* Writes the file that is given, and the one that is wanted, which has the same header. */
static void write_golden(const golden_case_t *file, const paths_t *paths) {
    static unsigned char bytes[MOST];
    const golden_tensor_t *before = &file->inputs[0], *after = &file->outputs[0];
    assert_int_equal(before->sample_count + after->sample_count, 0);
    assert_true(before->bytes < MOST);
    write_file(paths->given, before->data, before->bytes);
    memcpy(bytes, before->data, before->bytes);
    memcpy(bytes + before->bytes - after->bytes, after->data, after->bytes);
    write_file(paths->wanted, bytes, before->bytes);
}

/* Reads a tensor as doubles, of which there is room for MOST / 4, and returns their number. */
static size_t read_numbers(const gantry_checkpoint_t *file, const char *name, double *out) {
    static union {
        float floats[MOST / 4];
        double doubles[MOST / 8];
        int32_t ints[1];
        int64_t longs[1];
    } raw;
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    must(gantry_checkpoint_find(file, name, &dtype, &shape));
    const size_t count = (size_t)gantry_shape_elements(&shape);
    must(gantry_checkpoint_read(file, name, dtype, &shape, &raw, count * gantry_dtype_size(dtype)));
    assert_true(dtype == GANTRY_FLOAT32 || dtype == GANTRY_FLOAT64 || count == 1);
    for (size_t i = 0; i < count; ++i)
        out[i] = dtype == GANTRY_FLOAT32   ? raw.floats[i]
                 : dtype == GANTRY_FLOAT64 ? raw.doubles[i]
                 : dtype == GANTRY_INT32   ? raw.ints[i]
                                           : (double)raw.longs[i];
    return count;
}

static void compare_tensor(const char *what, const gantry_checkpoint_t *got,
                           const gantry_checkpoint_t *want, const char *name) {
    static double a[MOST / 4], b[MOST / 4];
    const size_t count = read_numbers(want, name, b);
    assert_int_equal(read_numbers(got, name, a), count);
    for (size_t i = 0; i < count; ++i) {
        if (!(fabs(a[i] - b[i]) <= 1e-4 * fabs(b[i]) + 1e-6))
            fail_msg("%s: %s: element %zu is %.9g, not %.9g", what, name, i, a[i], b[i]);
    }
}

static void compare_files(const char *what, const char *got_path, const char *want_path) {
    gantry_checkpoint_t *got, *want;
    must(gantry_checkpoint_open(got_path, &got));
    must(gantry_checkpoint_open(want_path, &want));
    for (size_t i = 0; i < gantry_checkpoint_count(want); ++i)
        compare_tensor(what, got, want, gantry_checkpoint_name(want, i));
    assert_int_equal(gantry_checkpoint_count(got), gantry_checkpoint_count(want));
    gantry_checkpoint_release(got);
    gantry_checkpoint_release(want);
}

static void follow(gantry_runtime_t *runtime, const golden_case_t *file) {
    paths_t paths;
    open_paths(&paths);
    write_golden(file, &paths);
    go_on(runtime, find_case(file->name), paths.given, paths.made);
    compare_files(file->name, paths.made, paths.wanted);
    close_paths(&paths);
}

TEST(models_of_keras_train_on_and_go_back) {
    for (size_t i = 0; i < files.case_count; ++i) follow(fixture.runtime, &files.cases[i]);
}

TEST(models_of_keras_train_on_on_pocl) {
    gantry_runtime_t *runtime = train_open_gpu();
    for (size_t i = 0; i < 3; ++i) follow(runtime, &files.cases[i]);
    gantry_runtime_release(runtime);
}

TEST(models_of_keras_train_on_on_two_devices) {
    must(gantry_set_logical_cpu_devices(fixture.runtime, 2));
    gantry_strategy_t *strategy = gantry_mirrored_strategy(fixture.runtime, NULL, 0);
    paths_t paths;
    open_paths(&paths);
    write_golden(find_file("small, SGD"), &paths);
    gantry_model_t *model = gantry_sequential(
        fixture.runtime, &(gantry_model_options_t){.name = "sequential", .strategy = strategy});
    must(gantry_model_add(model, dense(OUTPUTS, GANTRY_LINEAR, NULL)));
    must(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(FEATURES)));
    compile(model, sgd());
    must(gantry_model_load(model, paths.given));
    must(train(model, false));
    must(gantry_model_save_keras(model, paths.made));
    compare_files("two devices", paths.made, paths.wanted);
    gantry_model_release(model);
    gantry_strategy_release(strategy);
    close_paths(&paths);
}

TEST(a_layer_in_one_of_its_kind_is_counted_first) {
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    gantry_checkpoint_t *file;
    gantry_model_t *model = sequential(fixture.runtime, NULL);
    paths_t paths;
    open_paths(&paths);
    must(gantry_model_add(model,
                          gantry_time_distributed(gantry_time_distributed(three(), NULL), NULL)));
    must(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(2, STEPS, FEATURES)));
    must(gantry_model_save_keras(model, paths.made));
    must(gantry_checkpoint_open(paths.made, &file));
    must(gantry_checkpoint_find(file, "sequential/time_distributed_1/time_distributed/dense/kernel",
                                &dtype, &shape));
    gantry_checkpoint_release(file);
    gantry_model_release(model);
    close_paths(&paths);
}

/* ---- refusals ---- */

static void expect_refused(gantry_status_t status, gantry_status_t wanted, const char *text) {
    assert_int_equal(status, wanted);
    if (!strstr(gantry_last_message(), text)) fail_msg("%s", gantry_last_message());
}

TEST(weights_of_one_path_are_refused) {
    gantry_model_t *model = functional_of(fixture.runtime, "head");
    expect_refused(
        gantry_model_save_keras(model, "/tmp/gantry_never"), GANTRY_INVALID_ARGUMENT,
        "weights other/head/kernel and head/kernel have one path in Keras, 'head/kernel'");
    assert_int_equal(access("/tmp/gantry_never", F_OK), -1);
    gantry_model_release(model);
}

/* A model of which Keras names two slots alike. */
static gantry_model_t *like_slots(gantry_runtime_t *runtime, gantry_optimizer_t *optimizer) {
    gantry_model_t *block = built(runtime, "one", dense(OUTPUTS, GANTRY_TANH, "two"), NULL),
                   *model = gantry_functional(runtime, NULL);
    int32_t both[2];
    const int32_t x = gantry_model_input(model, GANTRY_FLOAT32, GANTRY_SHAPE(FEATURES));
    must(gantry_model_apply_model(model, block, &x, 1, &both[0], 1));
    both[1] = gantry_model_apply(model, dense(OUTPUTS, GANTRY_LINEAR, "one_two"), &x, 1);
    (void)gantry_model_apply(model, gantry_add_layer(NULL), both, 2);
    must(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SCALAR));
    compile(model, optimizer);
    gantry_model_release(block);
    return model;
}

TEST(slots_of_one_path_are_refused) {
    static const char text[] =
        "the optimizer's slots of weights one/two/kernel and one_two/kernel have one path in Keras, 'sgd/one_two_kernel_momentum', which has _ in place of /";
    gantry_model_t *bare = like_slots(fixture.runtime, sgd()),
                   *moved = like_slots(fixture.runtime, moved_sgd());
    paths_t paths;
    open_paths(&paths);
    must(train(bare, false));
    must(gantry_model_save_keras(bare, paths.made)); /* there are no slots */
    must(gantry_model_load(bare, paths.made));
    expect_refused(gantry_model_load(moved, paths.made), GANTRY_INVALID_ARGUMENT, text);
    must(train(moved, false));
    expect_refused(gantry_model_save_keras(moved, paths.made), GANTRY_INVALID_ARGUMENT, text);
    must(gantry_model_save(moved, paths.made));
    must(gantry_model_load(moved, paths.made));
    gantry_model_release(bare);
    gantry_model_release(moved);
    close_paths(&paths);
}

/* Loads a file of "small, SGD" that has another learning rate. */
static gantry_status_t load_rate(const paths_t *paths, gantry_array_t rate, float *out_rate) {
    gantry_checkpoint_t *file;
    gantry_checkpoint_entry_t entries[8] = {{.name = "sgd/learning_rate", .array = rate}};
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    size_t count = 1;
    must(gantry_checkpoint_open(paths->given, &file));
    for (size_t i = 0; i < gantry_checkpoint_count(file); ++i) {
        const char *name = gantry_checkpoint_name(file, i);
        if (strcmp(name, entries[0].name) != 0)
            entries[count++] = (gantry_checkpoint_entry_t){
                .name = name, .tensor = gantry_checkpoint_load(scope, file, name)};
    }
    must(gantry_checkpoint_save(scope, paths->made, entries, count, NULL, 0));
    must(gantry_scope_end(scope));
    gantry_checkpoint_release(file);
    gantry_model_t *model = small(fixture.runtime);
    compile(model, sgd());
    const gantry_status_t status = gantry_model_load(model, paths->made);
    if (status == GANTRY_OK) {
        double kept;
        must(gantry_model_save_keras(model, paths->made));
        must(gantry_checkpoint_open(paths->made, &file));
        assert_int_equal(read_numbers(file, entries[0].name, &kept), 1);
        *out_rate = (float)kept;
        gantry_checkpoint_release(file);
    }
    gantry_model_release(model);
    return status;
}

TEST(scalars_are_converted_exactly) {
    static const uint16_t half = 0x3400; /* 0.25 */
    static const double quarter = 0.25, tenth = 0.1, pair[] = {0.25, 0.25};
    static const int32_t one = 1;
    float rate;
    paths_t paths;
    open_paths(&paths);
    write_golden(find_file("small, SGD"), &paths);
    must(load_rate(&paths, (gantry_array_t){GANTRY_FLOAT64, GANTRY_SCALAR, &quarter}, &rate));
    assert_true(rate == 0.25F);
    must(load_rate(&paths, (gantry_array_t){GANTRY_FLOAT16, GANTRY_SCALAR, &half}, &rate));
    assert_true(rate == 0.25F);
    expect_refused(load_rate(&paths, (gantry_array_t){GANTRY_FLOAT64, GANTRY_SCALAR, &tenth}, NULL),
                   GANTRY_INVALID_ARGUMENT,
                   "tensor 'sgd/learning_rate' is float64 0.10000000000000001, which float32 does "
                   "not have; a number of float32 is accepted");
    expect_refused(load_rate(&paths, (gantry_array_t){GANTRY_INT32, GANTRY_SCALAR, &one}, NULL),
                   GANTRY_INVALID_ARGUMENT, "is int32 []; float32 [] is accepted here");
    expect_refused(load_rate(&paths, (gantry_array_t){GANTRY_FLOAT64, GANTRY_SHAPE(2), pair}, NULL),
                   GANTRY_INVALID_ARGUMENT, "is float64 [2]; float32 [] is accepted here");
    close_paths(&paths);
}

TEST(files_of_others_are_refused) {
    paths_t paths;
    open_paths(&paths);
    write_golden(&files.cases[0], &paths);
    gantry_model_t *unlike = sequential(fixture.runtime, "mine"), *wrong = plain(fixture.runtime);
    must(gantry_model_add(unlike, dense(4, GANTRY_TANH, NULL)));
    must(gantry_model_build(unlike, GANTRY_FLOAT32, GANTRY_SHAPE(FEATURES)));
    expect_refused(gantry_model_load(unlike, paths.given), GANTRY_NOT_FOUND,
                   "has no tensor 'dense/kernel'; it has ");
    expect_refused(gantry_model_load(unlike, paths.given), GANTRY_NOT_FOUND,
                   "(and no 'mine/dense/kernel', which is Keras's path)");
    compile(wrong, rmsprop());
    expect_refused(gantry_model_load(wrong, paths.given), GANTRY_INVALID_ARGUMENT,
                   "has the state of optimizer adam; model sequential accepts that of rm_sprop");
    compile(wrong, averaged_adam());
    expect_refused(gantry_model_load(wrong, paths.given), GANTRY_NOT_FOUND,
                   "has no tensor 'adam/sequential_dense_kernel_gradient_accumulator'");
    gantry_model_release(unlike);
    gantry_model_release(wrong);
    close_paths(&paths);
}

int main(int count, char **arguments) {
    gantry_runtime_t *runtime;
    if (count != 4) return test_main_with(load_files, free_files, set_up, tear_down);
    must(gantry_runtime_create(NULL, &runtime));
    go_on(runtime, find_case(arguments[1]), arguments[2], arguments[3]);
    gantry_runtime_release(runtime);
    return 0;
}
