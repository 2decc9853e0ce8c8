/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The weights of whole models are updated by one launch on each device, on the CPU and on
 * PoCL as a GPU, with the bits of one launch for each weight. */
#define _XOPEN_SOURCE 700

#include <stdlib.h>
#include <string.h>

#include <gantry_train/train.h>

#include "test.h"
#include "train_case.h"

enum { MOST_WEIGHTS = 40, STEPS = 3, LONGEST = 100000 };

typedef struct weights_t {
    gantry_optimizer_t *optimizer;
    gantry_variable_t *list[MOST_WEIGHTS];
    size_t count;
    const char *device;
} weights_t;

static int set_up(void **state) {
    *state = train_open_gpu();
    return 0;
}

static int tear_down(void **state) {
    gantry_runtime_release(*state);
    return 0;
}

static const gantry_tensor_t *wave(gantry_scope_t *scope, const gantry_shape_t *shape, int first) {
    static float values[LONGEST];
    const int64_t count = gantry_shape_elements(shape);
    for (int64_t i = 0; i < count; ++i)
        values[i] = (float)((i * 7919 + first * 31) % 2001 - 1000) / 1024;
    return gantry_constant(scope, GANTRY_FLOAT32, *shape, values, (size_t)count * sizeof *values);
}

static void add(gantry_scope_t *scope, weights_t *weights, gantry_shape_t shape) {
    gantry_variable_t *variable =
        gantry_variable_create(scope, wave(scope, &shape, (int)weights->count), "w");
    assert_non_null(variable);
    weights->list[weights->count++] = variable;
}

/* The text classifier of the examples. */
static void add_classifier(gantry_scope_t *scope, weights_t *weights) {
    add(scope, weights, GANTRY_SHAPE(10000, 7));
    add(scope, weights, GANTRY_SHAPE(5, 7, 64));
    add(scope, weights, GANTRY_SHAPE(64));
    add(scope, weights, GANTRY_SHAPE(3, 64, 32));
    add(scope, weights, GANTRY_SHAPE(32));
    add(scope, weights, GANTRY_SHAPE(2336, 39));
    add(scope, weights, GANTRY_SHAPE(39));
}

/* Ten Dense layers, whose kernels are not joined before. */
static void add_twenty(gantry_scope_t *scope, weights_t *weights) {
    for (int i = 0; i < 10; ++i) {
        add(scope, weights, GANTRY_SHAPE(100 + i, 101));
        add(scope, weights, GANTRY_SHAPE(101));
    }
}

static void step(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                 const gantry_tensor_t **outputs, void *user) {
    const weights_t *weights = user;
    const gantry_tensor_t *gradients[MOST_WEIGHTS];
    gantry_scope_t *in = gantry_scope_begin_in(scope, weights->device);
    for (size_t i = 0; i < weights->count; ++i)
        gradients[i] = gantry_mul(
            in, wave(in, gantry_variable_shape(weights->list[i]), (int)i + 50), inputs[0]);
    (void)gantry_optimizer_apply(weights->optimizer, in, weights->list, gradients, weights->count);
    assert_int_equal(gantry_scope_end(in), GANTRY_OK);
    outputs[0] = gantry_identity(scope, inputs[0]);
}

static size_t count_of(const char *text, const char *word) {
    size_t count = 0;
    for (text = strstr(text, word); text; text = strstr(text + 1, word)) ++count;
    return count;
}

/* Trains, and returns how many launches of _FusedParts a step has. out: all weights. */
static size_t train(gantry_runtime_t *runtime, const char *device,
                    void (*add_weights)(gantry_scope_t *scope, weights_t *weights),
                    gantry_optimizer_t *optimizer, uint32_t passes_off, float *out) {
    static char text[1 << 18];
    const gantry_input_spec_t input = {NULL, GANTRY_FLOAT32, GANTRY_SCALAR};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = passes_off};
    weights_t weights = {.optimizer = optimizer, .device = device};
    gantry_function_t *function;
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    add_weights(scope, &weights);
    assert_int_equal(gantry_optimizer_build(optimizer, scope, weights.list, weights.count),
                     GANTRY_OK);
    if (gantry_function_trace(runtime, "step", step, &weights, &input, 1, 1, &options, &function) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_int_equal(
        gantry_function_explain(function, GANTRY_EXPLAIN_TEXT, text, sizeof text, NULL), GANTRY_OK);
    for (int k = 0; k < STEPS; ++k) {
        const gantry_tensor_t *x = gantry_scalar_f32(scope, (float)(k - 1)), *y;
        assert_int_equal(gantry_function_call(scope, function, &x, 1, &y, 1), GANTRY_OK);
    }
    for (size_t i = 0; i < weights.count; ++i) {
        const gantry_tensor_t *value = gantry_variable_read(scope, weights.list[i]);
        const size_t bytes = gantry_tensor_bytes(value);
        assert_int_equal(gantry_tensor_read(value, out, bytes), GANTRY_OK);
        out += bytes / sizeof *out;
    }
    gantry_function_release(function);
    gantry_optimizer_release(optimizer);
    for (size_t i = 0; i < weights.count; ++i) gantry_variable_release(weights.list[i]);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    return count_of(text, "_FusedParts  ");
}

static gantry_optimizer_t *nadam(void) { return gantry_nadam(NULL); }
static gantry_optimizer_t *sgd(void) {
    return gantry_sgd(&(gantry_sgd_options_t){.weight_decay = 0.5, .clipvalue = 0.25});
}
static gantry_optimizer_t *averaged(void) {
    return gantry_adam(&(gantry_adam_options_t){.use_ema = true, .ema_overwrite_frequency = 2});
}

static void check(gantry_runtime_t *runtime, const char *device,
                  void (*add_weights)(gantry_scope_t *scope, weights_t *weights),
                  gantry_optimizer_t *(*make)(void), size_t most) {
    static float apart[4 * LONGEST], joined[4 * LONGEST];
    memset(apart, 0, sizeof apart);
    memset(joined, 0, sizeof joined);
    assert_int_equal(train(runtime, device, add_weights, make(), GANTRY_PASS_JOINED_UPDATES, apart),
                     0);
    assert_in_range(train(runtime, device, add_weights, make(), 0, joined), 1, most);
    assert_memory_equal(apart, joined, sizeof apart);
}

TEST(the_cpu_updates_a_model_by_one_launch) {
    check(*state, "CPU:0", add_classifier, nadam, 1);
    check(*state, "CPU:0", add_twenty, nadam, 1);
    check(*state, "CPU:0", add_twenty, sgd, 1);
    check(*state, "CPU:0", add_twenty, averaged, 1);
}

TEST(a_gpu_updates_a_model_by_one_launch) {
    check(*state, "GPU:0", add_classifier, nadam, 1);
    check(*state, "GPU:0", add_twenty, sgd, 1);
}

/* PoCL's kernels have 1024 bytes of parameters. */
TEST(parameters_of_a_device_part_updates) { check(*state, "GPU:0", add_twenty, nadam, 2); }

int main(void) {
    const int code = skip_without_opencl();
    if (code != 0) return code;
    return test_main_each(set_up, tear_down);
}
