/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Training steps of a net whose images have their channels first give the same weights
 * with the layout pass and without, by fewer than half as many transposes.
 * Promise: A step in which the layout pass would move more bytes keeps its transposes. */
#define _XOPEN_SOURCE 700

#include <string.h>

#include <gantry_train/train.h>

#include "test.h"
#include "train_case.h"

enum { WEIGHTS = 8, STEPS = 3, MOST = 4096 };

typedef struct net_t {
    bool has_groups; /* it normalises groups of channels */
    gantry_optimizer_t *optimizer;
    gantry_variable_t *list[WEIGHTS];
} net_t;

static int set_up(void **state) {
    *state = train_open_gpu();
    return 0;
}

static int tear_down(void **state) {
    gantry_runtime_release(*state);
    return 0;
}

static const gantry_tensor_t *wave(gantry_scope_t *scope, gantry_shape_t shape, int first) {
    static float values[MOST];
    const int64_t count = gantry_shape_elements(&shape);
    for (int64_t i = 0; i < count; ++i)
        values[i] = (float)((i * 7919 + first * 31) % 2001 - 1000) / 2048;
    return gantry_constant(scope, GANTRY_FLOAT32, shape, values, (size_t)count * sizeof *values);
}

static const gantry_tensor_t *bias(gantry_scope_t *scope, const gantry_tensor_t *x,
                                   gantry_variable_t *vector) {
    const gantry_attr_value_t format = {
        .name = "data_format", .kind = GANTRY_ATTR_STRING, .s = "NCHW"};
    const gantry_tensor_t *inputs[] = {x, gantry_variable_read(scope, vector)}, *made = NULL;
    size_t one = 1;
    (void)gantry_op_call(scope, "BiasAdd", inputs, 2, &format, 1, &made, &one);
    return made;
}

/* Convolution, bias, Relu, pool, depthwise convolution, batch norm, residual, pool, product. */
static const gantry_tensor_t *forward(gantry_scope_t *scope, const net_t *net,
                                      const gantry_tensor_t *x) {
    const gantry_window_options_t same = {.struct_size = sizeof same, .channels_first = true},
                                  step = {.struct_size = sizeof step,
                                          .strides = {2, 2},
                                          .channels_first = true};
    const gantry_fused_batch_norm_options_t norm = {.struct_size = sizeof norm,
                                                    .channels_first = true};
    const gantry_reduce_options_t over = {
        .struct_size = sizeof over, .axes = (const int32_t[]){2, 3}, .axis_count = 2};
    const gantry_tensor_t *w[WEIGHTS], *normed[3];
    for (int i = 0; i < WEIGHTS; ++i) w[i] = gantry_variable_read(scope, net->list[i]);
    x = gantry_relu(scope, bias(scope, gantry_conv2d(scope, x, w[0], &same), net->list[1]));
    x = gantry_max_pool2d(scope, x, 2, 2, &step);
    const gantry_tensor_t *y = gantry_depthwise_conv2d(scope, x, w[2], &same);
    (void)gantry_fused_batch_norm(scope, y, w[3], w[4], gantry_zeros_like(scope, w[3]),
                                  gantry_ones_like(scope, w[3]), &norm, normed);
    x = gantry_add(scope, x, gantry_relu(scope, normed[0]));
    x = gantry_relu(scope, bias(scope, gantry_conv2d(scope, x, w[5], &same), net->list[6]));
    return gantry_matmul(scope, gantry_mean(scope, x, &over), w[7], NULL);
}

static const gantry_tensor_t *norm_groups(gantry_scope_t *scope, const gantry_tensor_t *x,
                                          const gantry_tensor_t *scale,
                                          const gantry_tensor_t *offset) {
    const gantry_attr_value_t attrs[] = {
        {.name = "num_groups", .kind = GANTRY_ATTR_INT, .i = 2},
        {.name = "data_format", .kind = GANTRY_ATTR_STRING, .s = "NCHW"}};
    const gantry_tensor_t *inputs[] = {x, scale, offset}, *made = NULL;
    size_t one = 1;
    (void)gantry_op_call(scope, "GroupNorm", inputs, 3, attrs, 2, &made, &one);
    return made;
}

static const gantry_tensor_t *forward_groups(gantry_scope_t *scope, const net_t *net,
                                             const gantry_tensor_t *x) {
    const gantry_window_options_t same = {.struct_size = sizeof same, .channels_first = true};
    const gantry_reduce_options_t over = {
        .struct_size = sizeof over, .axes = (const int32_t[]){2, 3}, .axis_count = 2};
    const gantry_tensor_t *w[WEIGHTS];
    for (int i = 0; i < WEIGHTS; ++i) w[i] = gantry_variable_read(scope, net->list[i]);
    x = gantry_relu(scope, bias(scope, gantry_conv2d(scope, x, w[0], &same), net->list[1]));
    x = gantry_mul(scope, x, gantry_mean(scope, w[2], NULL));
    x = norm_groups(scope, x, w[3], w[4]);
    x = gantry_conv2d(scope, gantry_relu(scope, x), w[5], &same);
    x = gantry_relu(scope, norm_groups(scope, x, w[6], w[6]));
    return gantry_matmul(scope, gantry_mean(scope, x, &over), w[7], NULL);
}

static void step_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    const net_t *net = user;
    gantry_source_t sources[WEIGHTS];
    const gantry_tensor_t *gradients[WEIGHTS];
    for (int i = 0; i < WEIGHTS; ++i) sources[i] = (gantry_source_t){.variable = net->list[i]};
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    const gantry_tensor_t *y = (net->has_groups ? forward_groups : forward)(scope, net, inputs[0]);
    const gantry_tensor_t *loss = gantry_mean(scope, gantry_square(scope, y), NULL);
    (void)gantry_tape_gradient(tape, loss, NULL, sources, WEIGHTS, NULL, gradients);
    gantry_tape_end(tape);
    (void)gantry_optimizer_apply(net->optimizer, scope, net->list, gradients, WEIGHTS);
    outputs[0] = loss;
}

static size_t count_transposes(gantry_function_t *function) {
    static char text[1 << 18];
    size_t count = 0;
    assert_int_equal(
        gantry_function_explain(function, GANTRY_EXPLAIN_JSON, text, sizeof text, NULL), GANTRY_OK);
    for (const char *at = text; (at = strstr(at, "\"op\":\"Transpose\"")); ++at) ++count;
    return count;
}

/* Trains, and returns how many transposes a step has. out: the losses, then all weights. */
static size_t train(gantry_runtime_t *runtime, const char *device, bool has_groups,
                    uint32_t passes_off, float *out) {
    const gantry_shape_t shapes[WEIGHTS] = {GANTRY_SHAPE(3, 3, 3, 8), GANTRY_SHAPE(8),
                                            GANTRY_SHAPE(3, 3, 8, 1), GANTRY_SHAPE(8),
                                            GANTRY_SHAPE(8),          GANTRY_SHAPE(3, 3, 8, 6),
                                            GANTRY_SHAPE(6),          GANTRY_SHAPE(6, 4)};
    const gantry_input_spec_t input = {NULL, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3, 8, 6)};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = passes_off};
    net_t net = {.has_groups = has_groups, .optimizer = gantry_sgd(NULL)};
    gantry_function_t *function;
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    for (int i = 0; i < WEIGHTS; ++i)
        net.list[i] = gantry_variable_create(scope, wave(scope, shapes[i], i), "w");
    assert_int_equal(gantry_optimizer_build(net.optimizer, scope, net.list, WEIGHTS), GANTRY_OK);
    if (gantry_function_trace(runtime, "step", step_body, &net, &input, 1, 1, &options,
                              &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    for (int k = 0; k < STEPS; ++k) {
        const gantry_tensor_t *x = wave(scope, input.shape, 40 + k), *loss;
        if (gantry_function_call(scope, function, &x, 1, &loss, 1) != GANTRY_OK)
            fail_msg("%s", gantry_scope_message(scope));
        assert_int_equal(gantry_tensor_read(loss, out++, sizeof *out), GANTRY_OK);
    }
    const size_t transposes = count_transposes(function);
    for (int i = 0; i < WEIGHTS; ++i) {
        const gantry_tensor_t *value = gantry_variable_read(scope, net.list[i]);
        const size_t bytes = gantry_tensor_bytes(value);
        assert_int_equal(gantry_tensor_read(value, out, bytes), GANTRY_OK);
        out += bytes / sizeof *out;
    }
    gantry_function_release(function);
    gantry_optimizer_release(net.optimizer);
    for (int i = 0; i < WEIGHTS; ++i) gantry_variable_release(net.list[i]);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    return transposes;
}

static void check(gantry_runtime_t *runtime, const char *device, bool has_groups) {
    static float with[MOST], without[MOST];
    memset(with, 0, sizeof with);
    memset(without, 0, sizeof without);
    const size_t left = train(runtime, device, has_groups, 0, with),
                 all = train(runtime, device, has_groups, GANTRY_PASS_LAYOUT, without);
    print_message("%s: %zu transposes, %zu without the pass\n", device, left, all);
    assert_memory_equal(with, without, sizeof with);
    if (has_groups) {
        assert_true(left <= all);
    } else {
        assert_true(2 * left < all);
    }
}

TEST(the_cpu_trains_with_the_same_bits) { check(*state, "CPU:0", false); }

TEST(groups_are_not_moved_more_than_before) { check(*state, "CPU:0", true); }

TEST(a_gpu_trains_with_the_same_bits) { check(*state, "GPU:0", false); }

int main(void) {
    const int code = skip_without_opencl();
    if (code != 0) return code;
    return test_main_each(set_up, tear_down);
}
