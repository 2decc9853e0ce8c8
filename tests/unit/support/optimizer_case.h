/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers in tests: variables and gradients of numbers, in a runtime with a fake GPU, and a
 * training step to trace. Header only. */
#ifndef TESTS_OPTIMIZER_CASE_H
#define TESTS_OPTIMIZER_CASE_H

#include "runtime_fixture.h"
#include "train_heap.h"

#include <gantry_train/train.h>

typedef const gantry_tensor_t tensor;

static runtime_fixture_t fixture;
static gantry_scope_t *scope;

static inline int set_up(void **state) {
    (void)runtime_fixture_set_up(state);
    train_heap_reset(-1);
    runtime_fixture_open(&fixture, 1);
    scope = runtime_fixture_scope(&fixture, "CPU:0");
    return 0;
}

static inline int tear_down(void **state) {
    (void)state;
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    runtime_fixture_close(&fixture);
    assert_int_equal(train_heap_live(), 0);
    return 0;
}

/* `count` elements that differ, from `first` on. */
static inline tensor *numbers(gantry_scope_t *in, gantry_dtype_t dtype, int64_t count,
                              double first) {
    static float values[20000];
    for (int64_t i = 0; i < count; ++i) values[i] = (float)first + (float)(i % 9) / 8;
    tensor *wide = gantry_constant(in, GANTRY_FLOAT32, GANTRY_SHAPE(count), values,
                                   (size_t)count * sizeof *values);
    return dtype == GANTRY_FLOAT32 ? wide : gantry_cast(in, wide, dtype);
}

static inline gantry_variable_t *make(gantry_dtype_t dtype, int64_t count, double first) {
    gantry_variable_t *variable =
        gantry_variable_create(scope, numbers(scope, dtype, count, first), "w");
    assert_non_null(variable);
    return variable;
}

static inline void read_all(gantry_variable_t *variable, int64_t count, float *out) {
    tensor *value = gantry_cast(scope, gantry_variable_read(scope, variable), GANTRY_FLOAT32);
    assert_int_equal(gantry_tensor_read(value, out, (size_t)count * sizeof *out), GANTRY_OK);
}

static inline float read_first(gantry_variable_t *variable) {
    static float values[20000];
    read_all(variable, gantry_shape_elements(gantry_variable_shape(variable)), values);
    return values[0];
}

static inline void expect_message(const char *text) {
    if (!strstr(gantry_last_message(), text)) fail_msg("message: %s", gantry_last_message());
}

/* Plain SGD: a gradient of 1 takes 0.5 off. */
static inline gantry_optimizer_t *half_sgd(void) {
    return gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 0.5});
}

typedef struct training_t {
    gantry_optimizer_t *optimizer;
    gantry_variable_t *weights[4];
    size_t count;
} training_t;

static inline void apply_inputs(gantry_scope_t *in, tensor *const *inputs, tensor **outputs,
                                void *user) {
    training_t *training = user;
    (void)gantry_optimizer_apply(training->optimizer, in, training->weights, inputs,
                                 training->count);
    outputs[0] = gantry_identity(in, inputs[0]);
}

/* Expects that a constructor returns NULL, and this text. */
#define EXPECT_REFUSED(call, text) \
    do {                           \
        assert_null(call);         \
        expect_message(text);      \
    } while (0)

#endif
