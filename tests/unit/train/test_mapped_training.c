/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A training of which rows and first weights are mapped files takes the steps of one that
 * read them, bit for bit, and leaves the files as they are.
 * Promise: A training reads rows and first weights in memory that cannot be written, and releases
 * that memory. */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include <stdio.h>

#include "locked_memory.h"
#include "test.h"
#include "train_fixture.h"

#include <gantry_train/train.h>

enum { ROWS = 64, WIDTH = 6, MOST_FILE = 1 << 16 };

static char rows_path[] = "/tmp/gantry_mapped_rows.XXXXXX",
            model_path[] = "/tmp/gantry_mapped_model.XXXXXX";
static float rows[ROWS * WIDTH];
static int32_t labels[ROWS];

/* The model's variables, as its file names them. */
static const char *const weights[] = {"dense/kernel",
                                      "dense/bias",
                                      "batch_normalization/gamma",
                                      "batch_normalization/beta",
                                      "batch_normalization/moving_mean",
                                      "batch_normalization/moving_variance",
                                      "dense_1/kernel",
                                      "dense_1/bias"};

static void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

static gantry_model_t *make_model(void) {
    gantry_model_t *model =
        gantry_sequential(fixture.runtime, &(gantry_model_options_t){.seed = 3});
    (void)gantry_model_add(model, gantry_dense(16, GANTRY_TANH, NULL));
    (void)gantry_model_add(model, gantry_batch_normalization(NULL));
    (void)gantry_model_add(model, gantry_dropout_layer(0.25, NULL));
    (void)gantry_model_add(model, gantry_dense(3, GANTRY_SOFTMAX, NULL));
    must(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(WIDTH)));
    must(gantry_model_compile(
        model, &(gantry_compile_options_t){
                   .optimizer = gantry_adam(&(gantry_adam_options_t){.learning_rate = 0.02}),
                   .loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY}));
    return model;
}

/* Trains, and gives what the model predicts then. */
static void train(gantry_model_t *model, const gantry_array_t *given, float *out) {
    const gantry_array_t arrays[] = {*given, {GANTRY_INT32, GANTRY_SHAPE(ROWS), labels}};
    gantry_dataset_t *batches =
        gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), 16, false);
    must(gantry_model_fit(model, batches, &(gantry_fit_options_t){.epochs = 3}));
    must(gantry_model_predict(model, batches, out, ROWS * 3 * sizeof *out, NULL));
    gantry_dataset_release(batches);
}

static gantry_array_t array_of(const gantry_tensor_t *tensor) {
    gantry_array_t array = {gantry_tensor_dtype(tensor), *gantry_tensor_shape(tensor), NULL};
    must(gantry_tensor_map(tensor, &array.data));
    return array;
}

static void expect_foreign(const gantry_tensor_t *tensor) {
    gantry_tensor_memory_t memory = {.struct_size = sizeof memory};
    must(gantry_get_tensor_memory(tensor, &memory));
    assert_true(memory.is_foreign);
}

/* The file's weights, by the calls that read. */
static void train_on_copies(float *out) {
    gantry_model_t *model = make_model();
    const gantry_array_t given = {GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, WIDTH), rows};
    must(gantry_model_load(model, model_path));
    train(model, &given, out);
    gantry_model_release(model);
}

typedef const gantry_tensor_t *value_fn(gantry_scope_t *scope,
                                        const gantry_checkpoint_t *checkpoint, const char *name);

/* Gives each variable of the model a value over other memory than Gantry's. */
static void set_weights(gantry_model_t *model, gantry_scope_t *scope, value_fn *value) {
    gantry_checkpoint_t *checkpoint;
    must(gantry_checkpoint_open(model_path, &checkpoint));
    assert_int_equal(gantry_model_variable_count(model), sizeof weights / sizeof *weights);
    for (size_t i = 0; i < gantry_model_variable_count(model); ++i) {
        gantry_variable_t *variable = gantry_model_variable(model, i, NULL);
        const gantry_tensor_t *weight = value(scope, checkpoint, weights[i]);
        if (!weight) fail_msg("%s", gantry_scope_message(scope));
        expect_foreign(weight);
        must(gantry_variable_assign(scope, variable, weight));
        gantry_tensor_drop(scope, weight);
    }
    gantry_checkpoint_release(checkpoint);
}

/* ---- mapped files ---- */

static size_t read_file(const char *path, unsigned char *out) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t size = fread(out, 1, MOST_FILE, file);
    assert_in_range(size, 1, MOST_FILE - 1);
    assert_int_equal(fclose(file), 0);
    return size;
}

TEST(a_training_on_mapped_files_takes_the_same_steps) {
    static unsigned char before[2][MOST_FILE], after[MOST_FILE];
    float wanted[ROWS * 3], got[ROWS * 3];
    const char *const paths[] = {rows_path, model_path};
    size_t sizes[2];
    for (int i = 0; i < 2; ++i) sizes[i] = read_file(paths[i], before[i]);
    train_on_copies(wanted);
    gantry_model_t *model = make_model();
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, "CPU:0");
    set_weights(model, scope, gantry_checkpoint_map);
    const gantry_tensor_t *mapped = gantry_map_npy(scope, rows_path);
    const gantry_array_t given = array_of(mapped);
    train(model, &given, got);
    assert_memory_equal(got, wanted, sizeof wanted);
    must(gantry_tensor_unmap(mapped));
    gantry_model_release(model);
    expect_ended_well(scope);
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(read_file(paths[i], after), sizes[i]);
        assert_memory_equal(after, before[i], sizes[i]);
    }
}

/* ---- memory that cannot be written ---- */

static const gantry_tensor_t *locked_weight(gantry_scope_t *scope,
                                            const gantry_checkpoint_t *checkpoint,
                                            const char *name) {
    unsigned char bytes[1024];
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    must(gantry_checkpoint_find(checkpoint, name, &dtype, &shape));
    const size_t size = (size_t)gantry_shape_elements(&shape) * gantry_dtype_size(dtype);
    assert_in_range(size, 1, sizeof bytes);
    must(gantry_checkpoint_read(checkpoint, name, dtype, &shape, bytes, size));
    return locked_constant(scope, dtype, shape, bytes, size);
}

TEST(a_training_writes_nothing_into_the_programs_memory) {
    float wanted[ROWS * 3], got[ROWS * 3];
    train_on_copies(wanted);
    gantry_model_t *model = make_model();
    locked_memory_t *locked = locked_copy(rows, sizeof rows);
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, "CPU:0");
    set_weights(model, scope, locked_weight);
    const gantry_array_t given = {GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, WIDTH), locked->data};
    train(model, &given, got);
    assert_memory_equal(got, wanted, sizeof wanted);
    gantry_model_release(model);
    expect_ended_well(scope);
    locked_free(locked);
    assert_int_equal(atomic_load(&locked_live), 0);
}

/* ---- files ---- */

static int make_paths(void **state) {
    (void)state;
    const int files[] = {mkstemp(rows_path), mkstemp(model_path)};
    return files[0] < 0 || files[1] < 0 || close(files[0]) != 0 || close(files[1]) != 0 ? -1 : 0;
}

static int remove_paths(void **state) {
    (void)state;
    return unlink(rows_path) | unlink(model_path);
}

static int make_files(void **state) {
    (void)set_up(state);
    for (int i = 0; i < ROWS * WIDTH; ++i) rows[i] = (float)(i * 37 % 64) / 32 - 1;
    for (int i = 0; i < ROWS; ++i) labels[i] = i * 7 % 3;
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, "CPU:0");
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, WIDTH), rows, sizeof rows);
    must(gantry_save_npy(scope, x, rows_path));
    expect_ended_well(scope);
    gantry_model_t *model = make_model();
    must(gantry_model_save(model, model_path));
    gantry_model_release(model);
    return 0;
}

int main(void) { return test_main_with(make_paths, remove_paths, make_files, tear_down); }
