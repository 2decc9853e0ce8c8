/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A model's file has the optimizer's state under names, optimizer/<weight>/<slot>, each of
 * its weight's type and shape, whatever weights share a slot in memory.
 * Promise: Files of former versions, whose optimizer has numbers, load and train on with the same
 * bits; those of an optimizer with more variables are refused.
 * Promise: A file that lacks a slot, or has one of another shape, is refused by its name, and
 * changes nothing; no failing allocation leaks. */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "test.h"
#include "train_fixture.h"

#include <gantry_train/train.h>

/* The first Dense has a kernel that is updated by itself, and 3 weights are joined. */
enum { ROWS = 8, FEATURES = 3, UNITS = 2740, MOST = FEATURES * UNITS, WEIGHTS = 4 };

static void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

static void expect_refused_by(gantry_status_t status, gantry_status_t wanted, const char *text) {
    assert_int_equal(status, wanted);
    if (!strstr(gantry_last_message(), text)) fail_msg("%s", gantry_last_message());
}

static gantry_model_t *make_model(gantry_optimizer_t *optimizer) {
    gantry_model_t *model =
        gantry_sequential(fixture.runtime, &(gantry_model_options_t){.seed = 3});
    (void)gantry_model_add(model, gantry_dense(UNITS, GANTRY_TANH, NULL));
    (void)gantry_model_add(model, gantry_dense(1, GANTRY_LINEAR, NULL));
    (void)gantry_model_compile(
        model,
        &(gantry_compile_options_t){.optimizer = optimizer, .loss = GANTRY_MEAN_SQUARED_ERROR});
    (void)gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(FEATURES));
    return model;
}

static gantry_status_t train(gantry_model_t *model) {
    static float x[ROWS * FEATURES], y[ROWS];
    for (int i = 0; i < ROWS * FEATURES; ++i) x[i] = (float)(i * 37 % 64 - 32) / 32;
    for (int i = 0; i < ROWS; ++i) y[i] = (float)(i * 23 % 64 - 32) / 32;
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, FEATURES), x},
                                     {GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, 1), y}};
    gantry_dataset_t *batches =
        gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), ROWS / 2, false);
    const gantry_status_t status = gantry_model_fit(model, batches, NULL);
    gantry_dataset_release(batches);
    return status;
}

static gantry_optimizer_t *adam(void) {
    return gantry_adam(&(gantry_adam_options_t){.learning_rate = 0.02});
}

static gantry_optimizer_t *wide_adam(void) {
    return gantry_adam(&(gantry_adam_options_t){.learning_rate = 0.02, .amsgrad = true});
}

static void read_weight(gantry_model_t *model, size_t index, float *out, size_t *bytes) {
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    const gantry_tensor_t *value =
        gantry_variable_read(scope, gantry_model_variable(model, index, NULL));
    *bytes = gantry_tensor_bytes(value);
    must(gantry_tensor_read(value, out, *bytes));
    must(gantry_scope_end(scope));
}

static void expect_same_weights(gantry_model_t *a, gantry_model_t *b) {
    static float left[MOST], right[MOST];
    size_t bytes;
    for (size_t i = 0; i < WEIGHTS; ++i) {
        read_weight(a, i, left, &bytes);
        read_weight(b, i, right, &bytes);
        assert_memory_equal(left, right, bytes);
    }
}

/* Both train on, by steps of the same bits. */
static void expect_same_training(gantry_model_t *a, gantry_model_t *b) {
    must(train(a));
    must(train(b));
    expect_same_weights(a, b);
}

/* ---- names ---- */

static void expect_tensor(const gantry_checkpoint_t *file, const char *name, gantry_dtype_t dtype,
                          gantry_shape_t shape) {
    gantry_dtype_t got_dtype;
    gantry_shape_t got;
    must(gantry_checkpoint_find(file, name, &got_dtype, &got));
    assert_int_equal(got_dtype, dtype);
    assert_true(gantry_shape_equal(&got, &shape));
}

TEST(state_has_names) {
    char path[] = "/tmp/gantry_state_XXXXXX";
    gantry_checkpoint_t *file;
    gantry_model_t *model = make_model(adam()), *loaded = make_model(adam());
    (void)close(mkstemp(path));
    must(train(model));
    must(gantry_model_save(model, path));
    must(gantry_checkpoint_open(path, &file));
    assert_int_equal(gantry_checkpoint_count(file), WEIGHTS + 2 + 2 * WEIGHTS);
    expect_tensor(file, "optimizer/iteration", GANTRY_INT64, GANTRY_SCALAR);
    expect_tensor(file, "optimizer/learning_rate", GANTRY_FLOAT32, GANTRY_SCALAR);
    expect_tensor(file, "optimizer/dense/kernel/momentum", GANTRY_FLOAT32,
                  GANTRY_SHAPE(FEATURES, UNITS));
    expect_tensor(file, "optimizer/dense/bias/velocity", GANTRY_FLOAT32, GANTRY_SHAPE(UNITS));
    expect_tensor(file, "optimizer/dense_1/kernel/momentum", GANTRY_FLOAT32,
                  GANTRY_SHAPE(UNITS, 1));
    expect_tensor(file, "optimizer/dense_1/bias/velocity", GANTRY_FLOAT32, GANTRY_SHAPE(1));
    gantry_checkpoint_release(file);
    must(gantry_model_load(loaded, path));
    expect_same_training(model, loaded);
    (void)unlink(path);
    gantry_model_release(model);
    gantry_model_release(loaded);
}

/* ---- files of former versions ---- */

static void save_numbered(gantry_model_t *model, gantry_optimizer_t *optimizer, const char *path) {
    static const char *const names[WEIGHTS] = {"dense/kernel", "dense/bias", "dense_1/kernel",
                                               "dense_1/bias"};
    const gantry_checkpoint_text_t text = {"optimizer", "adam"};
    gantry_variable_t *state[16];
    char numbers[16][16];
    gantry_checkpoint_entry_t entries[WEIGHTS + 16] = {{.name = NULL}};
    size_t count;
    must(gantry_optimizer_get_variables(optimizer, 16, state, &count));
    for (size_t i = 0; i < WEIGHTS; ++i)
        entries[i] = (gantry_checkpoint_entry_t){.name = names[i],
                                                 .variable = gantry_model_variable(model, i, NULL)};
    for (size_t i = 0; i < count; ++i) {
        (void)snprintf(numbers[i], sizeof numbers[i], "optimizer/%zu", i);
        entries[WEIGHTS + i] =
            (gantry_checkpoint_entry_t){.name = numbers[i], .variable = state[i]};
    }
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    must(gantry_checkpoint_save(scope, path, entries, WEIGHTS + count, &text, 1));
    must(gantry_scope_end(scope));
}

TEST(numbered_state_loads) {
    char path[] = "/tmp/gantry_state_XXXXXX";
    gantry_optimizer_t *optimizer = wide_adam();
    gantry_model_t *model = make_model(optimizer), *loaded = make_model(wide_adam()),
                   *narrow = make_model(adam());
    (void)close(mkstemp(path));
    must(train(model));
    save_numbered(model, optimizer, path);
    must(gantry_model_load(loaded, path));
    expect_refused_by(gantry_model_load(narrow, path), GANTRY_INVALID_ARGUMENT,
                      "has 'optimizer/6': it was saved by an optimizer of other options");
    expect_same_training(model, loaded);
    (void)unlink(path);
    gantry_model_release(model);
    gantry_model_release(loaded);
    gantry_model_release(narrow);
}

/* ---- refusals ---- */

/* Copies a file with another tensor in place of the one with this name, or without it. */
static void change_file(const char *from, const char *to, const char *name, bool is_kept) {
    gantry_checkpoint_t *file;
    gantry_checkpoint_entry_t entries[32] = {{.name = NULL}};
    size_t count = 0;
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    must(gantry_checkpoint_open(from, &file));
    for (size_t i = 0; i < gantry_checkpoint_count(file); ++i) {
        const char *other_name = gantry_checkpoint_name(file, i);
        const bool is_it = strcmp(other_name, name) == 0;
        if (is_it && !is_kept) continue;
        entries[count++] = (gantry_checkpoint_entry_t){
            .name = other_name,
            .tensor = is_it ? gantry_scalar_f32(scope, 1)
                            : gantry_checkpoint_load(scope, file, other_name)};
    }
    must(gantry_checkpoint_save(scope, to, entries, count, NULL, 0));
    must(gantry_scope_end(scope));
    gantry_checkpoint_release(file);
}

TEST(wrong_slots_are_refused_by_name) {
    static const char *const slots[] = {"optimizer/dense/kernel/momentum",
                                        "optimizer/dense_1/bias/velocity"};
    char path[] = "/tmp/gantry_state_XXXXXX", changed[] = "/tmp/gantry_state_XXXXXX", text[128];
    gantry_model_t *model = make_model(adam()), *other_model = make_model(adam()),
                   *same = make_model(adam()), *wide = make_model(wide_adam());
    (void)close(mkstemp(path));
    (void)close(mkstemp(changed));
    must(train(model));
    must(gantry_model_save(model, path));
    for (size_t i = 0; i < sizeof slots / sizeof *slots; ++i) {
        change_file(path, changed, slots[i], false);
        (void)snprintf(text, sizeof text, "has no tensor '%s'", slots[i]);
        expect_refused_by(gantry_model_load(other_model, changed), GANTRY_NOT_FOUND, text);
        change_file(path, changed, slots[i], true);
        (void)snprintf(text, sizeof text, "tensor '%s' of the checkpoint", slots[i]);
        expect_refused_by(gantry_model_load(other_model, changed), GANTRY_INVALID_ARGUMENT, text);
    }
    expect_refused_by(gantry_model_load(wide, path), GANTRY_NOT_FOUND,
                      "has no tensor 'optimizer/dense/kernel/velocity_hat'");
    expect_same_training(other_model, same);
    (void)unlink(path);
    (void)unlink(changed);
    gantry_model_release(model);
    gantry_model_release(other_model);
    gantry_model_release(same);
    gantry_model_release(wide);
}

/* A state with more slots than the optimizer has is read by names. */
TEST(more_slots_than_needed_are_left_out) {
    char path[] = "/tmp/gantry_state_XXXXXX";
    gantry_model_t *wide = make_model(wide_adam()), *a = make_model(adam()),
                   *b = make_model(adam());
    (void)close(mkstemp(path));
    must(train(wide));
    must(gantry_model_save(wide, path));
    must(gantry_model_load(a, path));
    must(gantry_model_save(a, path));
    must(gantry_model_load(b, path));
    expect_same_weights(a, wide);
    expect_same_training(a, b);
    (void)unlink(path);
    gantry_model_release(wide);
    gantry_model_release(a);
    gantry_model_release(b);
}

/* An optimizer that the program built for a variable of its own, too: the file has the model's. */
TEST(variables_of_the_program_are_left_out) {
    char path[] = "/tmp/gantry_state_XXXXXX";
    gantry_checkpoint_t *file;
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    gantry_variable_t *all[WEIGHTS + 1] = {
        gantry_variable_create(scope, gantry_scalar_f32(scope, 1), "own")};
    gantry_optimizer_t *optimizer = adam(), *foreign = adam();
    gantry_model_t *model = make_model(optimizer), *loaded = make_model(adam()),
                   *unfit = make_model(foreign);
    (void)close(mkstemp(path));
    for (size_t i = 0; i < WEIGHTS; ++i) all[i + 1] = gantry_model_variable(model, i, NULL);
    must(gantry_optimizer_build(optimizer, scope, all, WEIGHTS + 1));
    must(gantry_optimizer_build(foreign, scope, all, 1));
    must(gantry_model_save(unfit, path));
    must(gantry_checkpoint_open(path, &file));
    assert_int_equal(gantry_checkpoint_count(file), WEIGHTS);
    gantry_checkpoint_release(file);
    must(train(model));
    must(gantry_model_save(model, path));
    must(gantry_model_load(loaded, path));
    must(gantry_checkpoint_open(path, &file));
    assert_int_equal(gantry_checkpoint_count(file), WEIGHTS + 2 + 2 * WEIGHTS);
    gantry_checkpoint_release(file);
    expect_same_training(model, loaded);
    must(gantry_scope_end(scope));
    (void)unlink(path);
    gantry_model_release(model);
    gantry_model_release(loaded);
    gantry_model_release(unfit);
    gantry_variable_release(all[0]);
}

/* ---- memory ---- */

typedef struct copying_t {
    gantry_model_t *model, *loaded;
    const char *path;
} copying_t;

static gantry_status_t copy_by_file(void *user) {
    const copying_t *copying = user;
    const gantry_status_t status = gantry_model_save_keras(copying->model, copying->path);
    return status == GANTRY_OK ? gantry_model_load(copying->loaded, copying->path) : status;
}

TEST(failing_allocations_leak_nothing) {
    char path[] = "/tmp/gantry_state_XXXXXX";
    gantry_model_t *model = make_model(adam()), *loaded = make_model(adam());
    copying_t copying = {model, loaded, path};
    (void)close(mkstemp(path));
    must(train(model));
    must(train(loaded));
    const long runs = train_heap_fail_each("save and load", copy_by_file, &copying);
    assert_true(runs > 20);
    expect_same_training(model, loaded);
    (void)unlink(path);
    gantry_model_release(model);
    gantry_model_release(loaded);
    train_heap_reset(-1);
}

int main(void) { return test_main_each(set_up, tear_down); }
