/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Training a large embedding needs no dense gradient under SGD and Adagrad, by fit and in
 * a loop of the program's own; the weights are those of dense gradients, on one device and on
 * several. */
#define _XOPEN_SOURCE 700
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"
#include "train_case.h"

#include <gantry_train/train.h>

enum { BATCH = 32, LENGTH = 10, WIDTH = 64, WORDS = BATCH * LENGTH };

/* Beyond weights, slots and what a step leaves: far below the table's gradient. */
#define MOST_BYTES (UINT64_C(4) << 20)

static const gantry_initializer_t zeros = {.struct_size = sizeof zeros, .kind = GANTRY_INIT_ZEROS};

static gantry_optimizer_t *optimizer_of(int kind) {
    if (kind == 0) return gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 0.1});
    return gantry_adagrad(&(gantry_adagrad_options_t){.learning_rate = 0.1});
}

/* A third of the words occurs twice and more. */
static void make_words(int64_t rows, int32_t *words) {
    for (int64_t i = 0; i < WORDS; ++i) words[i] = (int32_t)(i % 3 == 0 ? i % 7 : i * 7919 % rows);
}

static gantry_runtime_t *open_cpus(size_t count) {
    gantry_runtime_t *runtime;
    const gantry_runtime_options_t options = {.struct_size = sizeof options, .backends = "cpu"};
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    if (count > 1) assert_int_equal(gantry_set_logical_cpu_devices(runtime, count), GANTRY_OK);
    return runtime;
}

/* ---- memory ---- */

static gantry_memory_info_t memory_of(gantry_runtime_t *runtime, const char *device) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    assert_int_equal(gantry_get_memory_info(runtime, device, &info), GANTRY_OK);
    return info;
}

static void expect_lean(gantry_runtime_t *runtime, const char *device, uint64_t table_bytes,
                        uint64_t tables) {
    const gantry_memory_info_t info = memory_of(runtime, device);
    if (info.peak_bytes > tables * table_bytes + MOST_BYTES || info.peak_bytes < table_bytes)
        fail_msg("%s: at most %llu bytes were in use; %llu tables have %llu", device,
                 (unsigned long long)info.peak_bytes, (unsigned long long)tables,
                 (unsigned long long)(tables * table_bytes));
}

/* ---- by fit ---- */

static gantry_model_t *make_model(gantry_runtime_t *runtime, int64_t rows, int kind,
                                  const gantry_model_options_t *options) {
    gantry_model_t *model = gantry_sequential(runtime, options);
    (void)gantry_model_add(model, gantry_embedding(rows, WIDTH, &zeros, NULL));
    (void)gantry_model_add(model, gantry_flatten(NULL));
    (void)gantry_model_add(model, gantry_dense(1, GANTRY_LINEAR, NULL));
    if (gantry_model_compile(
            model, &(gantry_compile_options_t){.optimizer = optimizer_of(kind),
                                               .loss = GANTRY_MEAN_SQUARED_ERROR}) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return model;
}

static void fit(gantry_model_t *model, int64_t rows, int epochs) {
    static int32_t words[WORDS];
    static double wide[BATCH];
    static float narrow[BATCH];
    const bool is_wide =
        gantry_variable_dtype(gantry_model_variable(model, 0, NULL)) == GANTRY_FLOAT64;
    make_words(rows, words);
    for (int i = 0; i < BATCH; ++i) narrow[i] = (float)(wide[i] = i % 5);
    const gantry_array_t arrays[] = {{GANTRY_INT32, GANTRY_SHAPE(BATCH, LENGTH), words},
                                     {is_wide ? GANTRY_FLOAT64 : GANTRY_FLOAT32,
                                      GANTRY_SHAPE(BATCH, 1), is_wide ? (void *)wide : narrow}};
    gantry_dataset_t *batch =
        gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), BATCH, false);
    if (gantry_model_fit(model, batch,
                         &(gantry_fit_options_t){.struct_size = sizeof(gantry_fit_options_t),
                                                 .epochs = epochs}) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    gantry_dataset_release(batch);
}

static void fit_leanly(gantry_runtime_t *runtime, const char *device, int64_t rows) {
    for (int kind = 0; kind < 2; ++kind) {
        gantry_model_t *model =
            make_model(runtime, rows, kind, &(gantry_model_options_t){.device = device});
        if (gantry_model_build(model, GANTRY_INT32, GANTRY_SHAPE(LENGTH)) != GANTRY_OK)
            fail_msg("%s", gantry_last_message());
        fit(model, rows, 1);
        assert_int_equal(gantry_reset_memory_stats(runtime, device), GANTRY_OK);
        fit(model, rows, 3);
        expect_lean(runtime, device, (uint64_t)rows * WIDTH * sizeof(float), 1 + (uint64_t)kind);
        assert_true(memory_of(runtime, device).largest_allocation_bytes < MOST_BYTES);
        gantry_model_release(model);
    }
}

/* 256 MB of weights, and as many of accumulators. */
TEST(fit_needs_no_dense_gradient_on_the_cpu) {
    gantry_runtime_t *runtime = open_cpus(1);
    fit_leanly(runtime, "/CPU:0", 1000000);
    gantry_runtime_release(runtime);
}

TEST(fit_needs_no_dense_gradient_on_pocl) {
    gantry_runtime_t *runtime = train_open_gpu();
    fit_leanly(runtime, "/GPU:0", 200000);
    gantry_runtime_release(runtime);
}

/* ---- by a loop of the program's own ---- */

/* The gradient outlives the scope of the tape: no tensor then holds the value of the table, and the
 * update takes place in its memory. Other devices than the CPU check indices later, and get a
 * copy. */
static void step_eagerly(gantry_scope_t *scope, gantry_optimizer_t *optimizer,
                         gantry_variable_t *table, const int32_t *words) {
    gantry_scope_t *forward = gantry_scope_begin_in(scope, NULL);
    gantry_tape_t *tape = gantry_tape_begin(forward, NULL);
    const gantry_source_t source = {.variable = table};
    gantry_gradient_t gradient;
    const gantry_tensor_t *rows = gantry_gather(
        forward, gantry_variable_read(forward, table),
        gantry_constant(forward, GANTRY_INT32, GANTRY_SHAPE(WORDS), words, WORDS * sizeof *words),
        0);
    const gantry_tensor_t *loss = gantry_sum(
        forward, gantry_square(forward, gantry_sub(forward, rows, gantry_scalar_f32(forward, 1))),
        NULL);
    if (gantry_tape_gradient_slices(tape, loss, NULL, &source, 1, NULL, &gradient) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    gantry_tape_end(tape);
    gradient.values = gantry_scope_keep(forward, gradient.values);
    gradient.indices = gantry_scope_keep(forward, gradient.indices);
    assert_int_equal(gantry_scope_end(forward), GANTRY_OK);
    if (gantry_optimizer_apply_slices(optimizer, scope, &table, &gradient, 1) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
}

static void loop_leanly(gantry_runtime_t *runtime, const char *device, int64_t rows) {
    static int32_t words[WORDS];
    make_words(rows, words);
    for (int kind = 0; kind < 2; ++kind) {
        gantry_scope_t *outer = gantry_scope_begin(runtime, device);
        gantry_optimizer_t *optimizer = optimizer_of(kind);
        gantry_scope_t *first = gantry_scope_begin_in(outer, NULL);
        gantry_variable_t *table = gantry_variable_create(
            first, gantry_zeros(first, GANTRY_FLOAT32, GANTRY_SHAPE(rows, WIDTH)), "table");
        assert_int_equal(gantry_optimizer_build(optimizer, first, &table, 1), GANTRY_OK);
        assert_int_equal(gantry_scope_end(first), GANTRY_OK);
        assert_int_equal(gantry_reset_memory_stats(runtime, device), GANTRY_OK);
        for (int k = 0; k < 3; ++k) {
            gantry_scope_t *scope = gantry_scope_begin_in(outer, NULL);
            step_eagerly(scope, optimizer, table, words);
            assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
        }
        expect_lean(runtime, device, (uint64_t)rows * WIDTH * sizeof(float), 1 + (uint64_t)kind);
        gantry_variable_release(table);
        gantry_optimizer_release(optimizer);
        assert_int_equal(gantry_scope_end(outer), GANTRY_OK);
    }
}

TEST(a_loop_needs_no_dense_gradient_on_the_cpu) {
    gantry_runtime_t *runtime = open_cpus(1);
    loop_leanly(runtime, "/CPU:0", 1000000);
    gantry_runtime_release(runtime);
}

/* ---- the same weights ---- */

static double *read_table(gantry_runtime_t *runtime, gantry_model_t *model, size_t *out_count) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    const gantry_tensor_t *value =
        gantry_variable_read(scope, gantry_model_variable(model, 0, NULL));
    double *data = malloc(gantry_tensor_bytes(value));
    assert_non_null(data);
    *out_count = (size_t)gantry_tensor_elements(value);
    assert_int_equal(gantry_tensor_read(value, data, gantry_tensor_bytes(value)), GANTRY_OK);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    return data;
}

static double *fit_table(gantry_runtime_t *runtime, int kind, gantry_model_options_t options,
                         size_t *out_count) {
    enum { ROWS = 20000 };
    options.dtype = GANTRY_FLOAT64;
    options.seed = 1;
    gantry_model_t *model = make_model(runtime, ROWS, kind, &options);
    if (gantry_model_build(model, GANTRY_INT32, GANTRY_SHAPE(LENGTH)) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    fit(model, ROWS, 5);
    double *table = read_table(runtime, model, out_count);
    gantry_model_release(model);
    return table;
}

/* Two replicas add dense gradients. */
TEST(slices_give_the_weights_of_dense_gradients) {
    gantry_runtime_t *runtime = open_cpus(2);
    gantry_strategy_t *strategy = gantry_mirrored_strategy(runtime, NULL, 0);
    assert_int_equal(gantry_strategy_replica_count(strategy), 2);
    for (int kind = 0; kind < 2; ++kind) {
        size_t count, moved = 0;
        double *dense =
            fit_table(runtime, kind, (gantry_model_options_t){.strategy = strategy}, &count);
        double *sparse =
            fit_table(runtime, kind, (gantry_model_options_t){.device = "/CPU:0"}, &count);
        for (size_t i = 0; i < count; ++i) {
            moved += fabs(sparse[i]) > 0;
            if (!(fabs(sparse[i] - dense[i]) <= 1e-12))
                fail_msg("optimizer %d, element %zu: %.17g, and %.17g by dense gradients", kind, i,
                         sparse[i], dense[i]);
        }
        assert_in_range(moved, 100 * WIDTH, WORDS * WIDTH);
        free(dense);
        free(sparse);
    }
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
}

int main(void) { return test_main(); }
